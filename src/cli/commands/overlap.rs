//! `scholareval overlap`: short answers and ROUGE against gold, without a judge.

use std::sync::Arc;

use super::Context;
use super::per_item::{Measurement, explain_items, load};
use crate::cli::ExitCode;
use crate::cli::args::OverlapArgs;
use crate::cli::terminal::write_text;
use crate::dataset::Predictions;
use crate::domain::{ComponentKind, Mode, Prediction, ScoredAnswer};
use crate::error::{Error, InputFault, Result};
use crate::report::visible;
use crate::scorer::answer_match::normalize;
use crate::scorer::overlap::{COMPONENTS, Measure, OverlapScorer, first_words, overlap, rouge_references};
use crate::scorer::rouge::{rouge_best, rouge_tokens};
use crate::text::citation_markers::without_citations;
use crate::text::stems::Stems;

pub(super) fn run(args: &OverlapArgs, context: &Context<'_>) -> Result<ExitCode> {
    let mode = if args.compat { Mode::Compat } else { Mode::Default };
    let metrics = match args.metrics.is_empty() {
        true => Measure::ALL.to_vec(),
        false => args.metrics.clone(),
    };
    let systems = load(&args.files, args.references.as_deref(), args.items.quiet)?;
    refuse_empty_golds(&systems, &metrics, mode)?;
    let scorer = OverlapScorer { metrics: metrics.clone(), mode, max_words: args.max_words };
    if let Some(id) = &args.items.explain {
        let explain = |item: &Prediction| explained(item, args.max_words, mode);
        write_text(&explain_items(&systems, id, explain)?)?;
        return Ok(ExitCode::Ok);
    }
    let references = args.references.as_deref();
    let measurement = Measurement { args: &args.items, references, scorer: &scorer, mode };
    measurement.run(systems, |scored| notes(&metrics, scored), context)
}

/// An empty gold answer matches every output, so it is a fault for matching.
fn refuse_empty_golds(systems: &[Predictions], metrics: &[Measure], mode: Mode) -> Result<()> {
    if mode == Mode::Compat || !metrics.contains(&Measure::Match) {
        return Ok(());
    }
    let is_empty =
        |item: &&Prediction| item.gold.answer.as_deref().is_some_and(|gold| without_citations(gold).is_empty());
    let faults: Vec<InputFault> = systems
        .iter()
        .flat_map(|system| {
            system.items.iter().filter(is_empty).map(|item| {
                let fault = InputFault::new(&system.path, "the gold answer is empty");
                fault.at_line(item.line).of_case(&*item.id).hint("give an answer, or leave match out of --metrics")
            })
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(Error::Input(faults)) }
}

/// What was left out, with reasons.
fn notes(metrics: &[Measure], scored: &[Arc<ScoredAnswer>]) -> Vec<&'static str> {
    let is_missing = |metric: Measure, name: &str| {
        metrics.contains(&metric) && !scored.iter().any(|answer| answer.score.component(name).is_some())
    };
    [
        (Measure::Match, "match", "no answer in the input or by --references: no match, exact match and token F1"),
        (Measure::ShortAnswers, "str_em", "no qa_pairs: no str_em and str_hit"),
        (Measure::Rouge, "rouge_l", "no annotations and no answer: no ROUGE"),
    ]
    .into_iter()
    .filter(|(metric, name, _)| is_missing(*metric, name))
    .map(|(_, _, note)| note)
    .collect()
}

fn explained(item: &Prediction, max_words: Option<usize>, mode: Mode) -> String {
    let stems = Stems::new();
    let cut = |output: &str| max_words.map_or(output, |limit| first_words(output, limit)).into();
    let item = &Prediction { output: item.output.as_deref().map(cut), ..item.clone() };
    let output = item.output();
    let mut out = String::new();
    let mut line = |name: &str, text: &str| out.push_str(&format!("  {name:12} {}\n", visible(text)));
    if let Some(answer) = &item.gold.answer {
        line("gold", &normalize(answer));
        line("output", &normalize(output));
    }
    for set in &item.gold.short_answers {
        line("one of", &set.join(" | "));
    }
    let references = rouge_references(item);
    if let Some((best, _)) = rouge_best(&references, output, &stems)
        && let Some(reference) = references.get(best)
    {
        let (theirs, ours) = (rouge_tokens(reference, &stems), rouge_tokens(output, &stems));
        line("reference", reference);
        let shared: Vec<&str> = ours.iter().filter(|token| theirs.contains(token)).map(|token| &**token).collect();
        line("shared", &shared.join(" "));
    }
    for ((name, kind), value) in COMPONENTS.iter().zip(overlap(item, &Measure::ALL, mode, &stems)) {
        let decimals = if *kind == ComponentKind::Count { 0 } else { 3 };
        line(name, &value.map_or_else(|| "-".to_owned(), |value| format!("{value:.decimals$}")));
    }
    out
}

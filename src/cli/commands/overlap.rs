//! `scholareval overlap`: short answers and ROUGE against gold, without a judge.

use clap::ValueEnum;
use rayon::prelude::*;

use super::Context;
use super::per_item::{explain_items, load, score_lines, show, write_files};
use crate::aggregate::{Column, Means, Unit};
use crate::cli::ExitCode;
use crate::cli::args::{OverlapArgs, OverlapMetric};
use crate::cli::terminal::write_stdout;
use crate::dataset::Predictions;
use crate::domain::{Mode, Prediction};
use crate::error::{Error, InputFault, Result};
use crate::report::visible;
use crate::scorer::answer_match::normalise;
use crate::scorer::overlap::{Overlap, first_words, overlap, rouge_references};
use crate::scorer::rouge::{common_subsequence, rouge_best, rouge_tokens, shared_ngrams};
use crate::text::citation_markers::without_citations;
use crate::text::stems::Stems;

/// The columns with the measure that each belongs to.
const COLUMNS: [(OverlapMetric, Column); 9] = [
    (OverlapMetric::Words, Column { name: "words", unit: Unit::Count }),
    (OverlapMetric::Match, Column { name: "match", unit: Unit::Share }),
    (OverlapMetric::Exact, Column { name: "exact_match", unit: Unit::Share }),
    (OverlapMetric::F1, Column { name: "token_f1", unit: Unit::Share }),
    (OverlapMetric::StrEm, Column { name: "str_em", unit: Unit::Share }),
    (OverlapMetric::StrEm, Column { name: "str_hit", unit: Unit::Share }),
    (OverlapMetric::Rouge, Column { name: "rouge_1", unit: Unit::Share }),
    (OverlapMetric::Rouge, Column { name: "rouge_2", unit: Unit::Share }),
    (OverlapMetric::Rouge, Column { name: "rouge_l", unit: Unit::Share }),
];

/// The values in the order of [`COLUMNS`].
fn values(found: &Overlap) -> [Option<f64>; 9] {
    let rouge = |at: usize| found.rouge.and_then(|rouge| rouge.get(at).copied());
    [
        Some(found.words as f64),
        found.matches,
        found.exact,
        found.token_f1,
        found.str_em,
        found.str_hit,
        rouge(0),
        rouge(1),
        rouge(2),
    ]
}

pub(super) fn run(args: &OverlapArgs, context: &Context<'_>) -> Result<ExitCode> {
    let mode = if args.compat { Mode::Compat } else { Mode::Default };
    let metrics = match args.metrics.is_empty() {
        true => OverlapMetric::value_variants(),
        false => args.metrics.as_slice(),
    };
    let mut systems = load(&args.files, args.references.as_deref(), args.items.quiet)?;
    refuse_empty_golds(&systems, metrics, mode)?;
    if let Some(limit) = args.max_words {
        for item in systems.iter_mut().flat_map(|system| &mut system.items) {
            item.output = item.output.as_deref().map(|output| first_words(output, limit).to_owned());
        }
    }
    if let Some(id) = &args.items.explain {
        write_stdout(explain_items(&systems, id, |item| explained(item, mode))?.as_bytes())?;
        return Ok(ExitCode::Ok);
    }
    let kept: Vec<usize> = (0..COLUMNS.len()).filter(|at| metrics.contains(&COLUMNS[*at].0)).collect();
    let columns: Vec<Column> = kept.iter().map(|at| COLUMNS[*at].1).collect();
    let with_rouge = metrics.contains(&OverlapMetric::Rouge);
    let of_item = |stems: &mut Stems, item: &Prediction| {
        let values = values(&overlap(item, mode, with_rouge, stems));
        kept.iter().map(|at| values[*at]).collect::<Vec<_>>()
    };
    let rows: Vec<_> = systems
        .iter()
        .map(|system| {
            (system.system.clone(), system.items.par_iter().map_init(Stems::new, of_item).collect::<Vec<_>>())
        })
        .collect();
    let means = Means::of(&columns, &rows, args.items.seed);
    let notes = notes(metrics, &means);
    if let Some(dir) = &args.items.out {
        write_files(dir, &score_lines("overlap", &columns, &systems, &rows), &means, &notes)?;
    }
    show(args.items.format, &means, &notes, context)
}

/// An empty gold answer stands in every output: it says nothing, so it is a fault where it would be matched.
fn refuse_empty_golds(systems: &[Predictions], metrics: &[OverlapMetric], mode: Mode) -> Result<()> {
    if mode == Mode::Compat || !metrics.contains(&OverlapMetric::Match) {
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

/// What was left out, and why.
fn notes(metrics: &[OverlapMetric], means: &Means) -> Vec<String> {
    let lacks = |metric: OverlapMetric| {
        let mut own = COLUMNS.iter().filter(|(of, _)| *of == metric);
        metrics.contains(&metric) && own.all(|(_, column)| !means.columns.contains(column))
    };
    [
        (OverlapMetric::Match, "no answer in the input or by --references: no match, exact match and token F1"),
        (OverlapMetric::StrEm, "no qa_pairs: no str_em and str_hit"),
        (OverlapMetric::Rouge, "no annotations and no answer: no ROUGE"),
    ]
    .into_iter()
    .filter(|(metric, _)| lacks(*metric))
    .map(|(_, note)| note.to_owned())
    .collect()
}

fn explained(item: &Prediction, mode: Mode) -> String {
    let stems = Stems::new();
    let output = item.output();
    let mut out = String::new();
    let mut line = |name: &str, text: &str| out.push_str(&format!("  {name:12} {}\n", visible(text)));
    if let Some(answer) = &item.gold.answer {
        line("gold", &normalise(answer));
        line("output", &normalise(output));
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
        for (n, name) in [(1, "1-grams"), (2, "2-grams")] {
            let shared = shared_ngrams(&theirs, &ours, n);
            line(name, &shared.iter().map(|gram| gram.join(" ")).collect::<Vec<_>>().join(", "));
        }
        let common: Vec<&str> =
            common_subsequence(&theirs, &ours).into_iter().filter_map(|(at, _)| theirs.get(at)).map(|t| &**t).collect();
        line("in common", &common.join(" "));
    }
    for ((_, column), value) in COLUMNS.iter().zip(values(&overlap(item, mode, true, &stems))) {
        line(column.name, &value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}")));
    }
    out
}

//! `scholareval citations`: what is cited, and which markers point to no source; with --entail also whether sources support the claims.

use std::sync::Arc;

use clap::parser::ValueSource;

use super::Context;
use super::per_item::{Measurement, explain_items, load};
use crate::cli::ExitCode;
use crate::cli::args::{CitationsArgs, DisplayOptions, ScoreArgs};
use crate::cli::terminal::write_text;
use crate::dataset::Predictions;
use crate::domain::{Mode, Prediction, ScoredAnswer};
use crate::error::{Error, Result};
use crate::evaluation::options::{
    EvaluationOptions, InputOptions, OutputOptions, ScorerName, ScorerOptions, ScoringOptions,
};
use crate::report::visible;
use crate::scorer::citation::{CitationAuditScorer, IndexBase, audit, names_gold_sources};

/// The arguments of `score` for the audit with a judge.
pub(super) fn entailment_args(args: &CitationsArgs) -> ScoreArgs {
    let (scoring, scorers) = (ScoringOptions::default(), ScorerOptions::default());
    ScoreArgs {
        config: args.config.clone(),
        options: EvaluationOptions {
            input: InputOptions { answers: args.files.clone(), ..InputOptions::default() },
            scoring: ScoringOptions {
                samples: args.samples.unwrap_or(scoring.samples),
                compat: args.compat,
                seed: args.items.seed,
                prompts: args.prompts.clone(),
                ..scoring
            },
            scorers: ScorerOptions {
                scorers: vec![ScorerName::Entailment, ScorerName::CitationAudit],
                references: args.references.clone(),
                index_base: args.index_base.unwrap_or(scorers.index_base),
                entail: args.entail.unwrap_or(scorers.entail),
                at_most: args.at_most.unwrap_or(scorers.at_most),
                ..scorers
            },
            judge: args.judge.clone(),
            limits: args.limits.clone(),
            cache: args.cache.clone(),
            output: OutputOptions { out: args.items.out.clone(), ..OutputOptions::default() },
            ..EvaluationOptions::default()
        },
        display: DisplayOptions { format: args.items.format.unwrap_or_default(), quiet: args.items.quiet },
        ..ScoreArgs::default()
    }
}

/// Rejects options of a judge without --entail.
pub(super) fn refuse_judge(context: &Context<'_>) -> Result<()> {
    let is_given = |id: &&&str| context.matches.value_source(id) == Some(ValueSource::CommandLine);
    match ["model", "base_url", "kind"].iter().find(is_given) {
        Some(id) => {
            let flag = if *id == "kind" { "judge".to_owned() } else { id.replace('_', "-") };
            Err(Error::Usage(format!("--{flag} has no effect without --entail long or --entail short")))
        }
        None => Ok(()),
    }
}

pub(super) fn run(args: &CitationsArgs, context: &Context<'_>) -> Result<ExitCode> {
    let systems = load(&args.files, args.references.as_deref(), args.items.quiet)?;
    let base = args.index_base.unwrap_or_default();
    if let Some(id) = &args.items.explain {
        write_text(&explain(&systems, id, base)?)?;
        return Ok(ExitCode::Ok);
    }
    let with_gold = systems.iter().flat_map(|system| &system.items).any(names_gold_sources);
    let scorer = CitationAuditScorer { index_base: base, with_gold };
    let references = args.references.as_deref();
    Measurement { args: &args.items, references, scorer: &scorer, mode: Mode::Default }.run(systems, notes, context)
}

fn notes(scored: &[Arc<ScoredAnswer>]) -> Vec<&'static str> {
    let notes = [
        ("dangling", "no sources (ctxs or docs) in the input: dangling and unused citations are unknown"),
        (
            "precision",
            "no gold sources (gold_ctxs, or markers in answer) in the input or by --references: no precision, recall and F1",
        ),
    ];
    let is_missing = |name: &str| !scored.iter().any(|answer| answer.score.component(name).is_some());
    notes.into_iter().filter(|(name, _)| is_missing(name)).map(|(_, note)| note).collect()
}

/// Every sentence of the item with its citations and their problems.
fn explain(systems: &[Predictions], id: &str, base: IndexBase) -> Result<String> {
    explain_items(systems, id, |item| explained(item, base))
}

fn explained(item: &Prediction, base: IndexBase) -> String {
    let found = audit(item, base);
    let mut sentences: Vec<_> = found.cited_sentences.iter().map(|range| (range, "cited  ")).collect();
    sentences.extend(found.uncited_sentences.iter().map(|range| (range, "uncited")));
    sentences.sort_by_key(|(range, _)| range.start);
    let mut out = String::new();
    for (range, state) in sentences {
        out.push_str(&format!("  {state}  {}\n", visible(&item.output()[range.clone()])));
    }
    let list = |name: &str, numbers: Vec<String>| match numbers.is_empty() {
        true => format!("  {name}: none\n"),
        false => format!("  {name}: {}\n", numbers.join(", ")),
    };
    out.push_str(&list("cites", found.distinct.iter().map(ToString::to_string).collect()));
    if item.sources.is_empty() {
        out.push_str("  no sources in the input: dangling citations are unknown\n");
    } else {
        out.push_str(&list("dangling", found.dangling.iter().map(ToString::to_string).collect()));
        out.push_str(&list("never cited", found.unused.iter().map(ToString::to_string).collect()));
    }
    if let Some(coverage) = found.coverage {
        out.push_str(&format!(
            "  gold: {} cited, {} gold, precision {:.3}, recall {:.3}, F1 {:.3}\n",
            coverage.cited, coverage.gold, coverage.precision, coverage.recall, coverage.f1
        ));
    }
    out
}

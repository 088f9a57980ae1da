//! `scholareval citations`: what can be told of citations without a judge.

use rayon::prelude::*;

use super::Context;
use super::per_item::{explain_items, load, score_lines, show, write_files};
use crate::aggregate::{Column, Means, Unit};
use crate::cli::ExitCode;
use crate::cli::args::CitationsArgs;
use crate::cli::terminal::write_stdout;
use crate::dataset::Predictions;
use crate::domain::Prediction;
use crate::error::Result;
use crate::report::visible;
use crate::scorer::citation::{CitationAudit, IndexBase, audit};

const fn column(name: &'static str, unit: Unit) -> Column {
    Column { name, unit }
}

const COLUMNS: [Column; 12] = [
    column("words", Unit::Count),
    column("markers", Unit::Count),
    column("sources", Unit::Count),
    column("dangling", Unit::Count),
    column("unused", Unit::Count),
    column("duplicates", Unit::Count),
    column("cited_sentences", Unit::Share),
    column("valid", Unit::Share),
    column("gold_cited", Unit::Count),
    column("precision", Unit::Share),
    column("recall", Unit::Share),
    column("f1", Unit::Share),
];

/// The values of one answer, in the order of [`COLUMNS`].
fn values(item: &Prediction, found: &CitationAudit) -> Vec<Option<f64>> {
    let count = |count: usize| Some(count as f64);
    let of_sources = |number: usize| if item.sources.is_empty() { None } else { count(number) };
    let coverage = found.coverage;
    vec![
        count(found.words),
        count(found.markers),
        count(found.distinct.len()),
        of_sources(found.dangling.len()),
        of_sources(found.unused.len()),
        count(found.duplicates),
        found.cited_share(),
        if item.sources.is_empty() { None } else { found.valid_share() },
        coverage.map(|coverage| coverage.cited as f64),
        coverage.map(|coverage| coverage.precision),
        coverage.map(|coverage| coverage.recall),
        coverage.map(|coverage| coverage.f1),
    ]
}

pub(super) fn run(args: &CitationsArgs, context: &Context<'_>) -> Result<ExitCode> {
    let systems = load(&args.files, args.references.as_deref(), args.items.quiet)?;
    let base = IndexBase::from(args.index_base);
    if let Some(id) = &args.items.explain {
        write_stdout(explain(&systems, id, base)?.as_bytes())?;
        return Ok(ExitCode::Ok);
    }
    let rows: Vec<_> = systems
        .iter()
        .map(|system| {
            let items = system.items.par_iter().map(|item| values(item, &audit(item, base))).collect::<Vec<_>>();
            (system.system.clone(), items)
        })
        .collect();
    let means = Means::of(&COLUMNS, &rows, args.items.seed);
    let notes = notes(&means);
    if let Some(dir) = &args.items.out {
        write_files(dir, &score_lines("citation_audit", &COLUMNS, &systems, &rows), &means, &notes)?;
    }
    show(args.items.format, &means, &notes, context)
}

fn notes(means: &Means) -> Vec<String> {
    let has = |name: &str| means.columns.iter().any(|column| column.name == name);
    let mut notes = Vec::new();
    if !has("dangling") {
        notes.push("no sources (ctxs or docs) in the input: dangling and unused citations cannot be told".to_owned());
    }
    if !has("precision") {
        notes.push(
            "no gold (gold_ctxs or answer) in the input or by --references: no precision, recall and F1".to_owned(),
        );
    }
    notes
}

/// Every sentence of the item with what it cites, and what is wrong.
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
        out.push_str("  no sources in the input: what dangles cannot be told\n");
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

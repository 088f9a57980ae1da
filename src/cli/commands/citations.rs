//! `scholareval citations`: what can be told of citations without a judge.

use std::path::Path;

use rayon::prelude::*;
use serde_json::{Map, Value, json};

use super::Context;
use crate::aggregate::{Column, Means, Unit};
use crate::cli::ExitCode;
use crate::cli::args::CitationsArgs;
use crate::cli::origin::escape_controls;
use crate::cli::settings::OutputFormat;
use crate::cli::terminal::{note, stdout_width, write_stdout};
use crate::dataset::{Predictions, load_predictions, load_references};
use crate::domain::Prediction;
use crate::error::{Error, InputFault, Result};
use crate::report::{TableStyle, render_means_csv, render_means_json, render_means_table, visible};
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
    let systems = load(args)?;
    let base = IndexBase::from(args.index_base);
    if let Some(id) = &args.explain {
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
    let means = Means::of(&COLUMNS, &rows, args.seed);
    let notes = notes(&means);
    if let Some(dir) = &args.out {
        let lines = systems.iter().zip(&rows).flat_map(|(system, (_, items))| {
            system.items.iter().zip(items).map(|(item, values)| score_line(system, item, values))
        });
        write_files(dir, &lines.collect::<String>(), &means, &notes)?;
    }
    let text = match args.format.unwrap_or(OutputFormat::Table) {
        OutputFormat::Table => {
            let style = TableStyle { width: stdout_width().unwrap_or(80), color: context.color };
            render_means_table(&means, &notes, &style)
        }
        OutputFormat::Json => render_means_json(&means, &notes)?,
        OutputFormat::Csv => render_means_csv(&means),
    };
    write_stdout(text.as_bytes())?;
    Ok(ExitCode::Ok)
}

/// The predictions with their golds; an item without an output is a fault.
fn load(args: &CitationsArgs) -> Result<Vec<Predictions>> {
    let mut systems = load_predictions(&args.files)?;
    let references = args.references.as_deref().map(load_references).transpose()?;
    let mut warnings: Vec<InputFault> = references.iter().flat_map(|read| read.warnings.clone()).collect();
    let mut faults = Vec::new();
    for system in &mut systems {
        warnings.append(&mut system.warnings);
        warnings.extend(references.as_ref().and_then(|references| references.join(system)));
        let missing = system.items.iter().filter(|item| item.output.is_none());
        faults.extend(missing.map(|item| {
            let fault = InputFault::new(&system.path, "output is missing").at_line(item.line).of_case(&*item.id);
            fault.hint("write \"\" for an empty answer")
        }));
    }
    if !faults.is_empty() {
        return Err(Error::Input(faults));
    }
    if !args.quiet {
        for warning in &warnings {
            note(&format!("warning: {}", escape_controls(&warning.to_string())));
        }
    }
    Ok(systems)
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

/// A line of `scores.jsonl`.
fn score_line(system: &Predictions, item: &Prediction, values: &[Option<f64>]) -> String {
    let components: Map<String, Value> =
        COLUMNS.iter().zip(values).map(|(column, value)| (column.name.to_owned(), Value::from(*value))).collect();
    let line = json!({
        "v": 1, "system": system.system.as_str(), "case_id": item.id, "scorer": "citation_audit",
        "components": components,
    });
    format!("{line}\n")
}

fn write_files(dir: &Path, lines: &str, means: &Means, notes: &[String]) -> Result<()> {
    std::fs::create_dir_all(dir).map_err(Error::io(dir, "create"))?;
    if dir.join("manifest.json").exists() {
        return Err(InputFault::new(dir, "holds the record of a run").hint("name another directory with --out").into());
    }
    let files = [
        ("scores.jsonl", lines.to_owned()),
        ("summary.json", render_means_json(means, notes)?),
        ("summary.csv", render_means_csv(means)),
    ];
    for (name, text) in files {
        let path = dir.join(name);
        std::fs::write(&path, text).map_err(Error::io(&path, "write"))?;
    }
    Ok(())
}

/// Every sentence of the item with what it cites, and what is wrong.
fn explain(systems: &[Predictions], id: &str, base: IndexBase) -> Result<String> {
    let mut out = String::new();
    for system in systems {
        for item in system.items.iter().filter(|item| item.id == id) {
            out.push_str(&format!("{} {}\n", visible(system.system.as_str()), visible(id)));
            out.push_str(&explained(item, base));
        }
    }
    if out.is_empty() {
        let path = systems.first().map(|system| system.path.clone()).unwrap_or_default();
        let fault = InputFault::new(path, format!("no item has the id {id}"));
        return Err(fault.hint("items without an id or case_id are called by their place, from 1").into());
    }
    Ok(out)
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

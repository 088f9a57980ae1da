//! What the commands have in common that give values an item and means a system.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::Context;
use crate::aggregate::{Column, Means};
use crate::cli::ExitCode;
use crate::cli::origin::escape_controls;
use crate::cli::settings::OutputFormat;
use crate::cli::terminal::{note, stdout_width, write_stdout};
use crate::dataset::{Predictions, load_predictions, load_references};
use crate::domain::{Prediction, SystemName};
use crate::error::{Error, InputFault, Result};
use crate::report::{TableStyle, render_means_csv, render_means_json, render_means_table, visible};

/// Values of the items of a system: a value (or none) a column.
pub(super) type SystemValues = (SystemName, Vec<Vec<Option<f64>>>);

/// The predictions with their golds; an item without an output is a fault.
pub(super) fn load(files: &[PathBuf], references: Option<&Path>, quiet: bool) -> Result<Vec<Predictions>> {
    let mut systems = load_predictions(files)?;
    let references = references.map(load_references).transpose()?;
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
    if !quiet {
        for warning in &warnings {
            note(&format!("warning: {}", escape_controls(&warning.to_string())));
        }
    }
    Ok(systems)
}

/// The lines of `scores.jsonl`.
pub(super) fn score_lines(scorer: &str, columns: &[Column], systems: &[Predictions], rows: &[SystemValues]) -> String {
    let line = |system: &Predictions, item: &Prediction, values: &[Option<f64>]| {
        let components: Map<String, Value> =
            columns.iter().zip(values).map(|(column, value)| (column.name.to_owned(), Value::from(*value))).collect();
        let line = json!({
            "v": 1, "system": system.system.as_str(), "case_id": item.id, "scorer": scorer, "components": components,
        });
        format!("{line}\n")
    };
    let of_system = |(system, (_, items)): (&Predictions, &SystemValues)| {
        system.items.iter().zip(items).map(|(item, values)| line(system, item, values)).collect::<String>()
    };
    systems.iter().zip(rows).map(of_system).collect()
}

/// Writes `scores.jsonl`, `summary.json` and `summary.csv`.
pub(super) fn write_files(dir: &Path, lines: &str, means: &Means, notes: &[String]) -> Result<()> {
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

/// Prints the means.
pub(super) fn show(
    format: Option<OutputFormat>,
    means: &Means,
    notes: &[String],
    context: &Context<'_>,
) -> Result<ExitCode> {
    let text = match format.unwrap_or(OutputFormat::Table) {
        OutputFormat::Table => {
            let style = TableStyle { width: stdout_width().unwrap_or(80), color: context.color };
            render_means_table(means, notes, &style)
        }
        OutputFormat::Json => render_means_json(means, notes)?,
        OutputFormat::Csv => render_means_csv(means),
    };
    write_stdout(text.as_bytes())?;
    Ok(ExitCode::Ok)
}

/// What is to be told of the items with this id, system by system.
pub(super) fn explain_items(
    systems: &[Predictions],
    id: &str,
    explained: impl Fn(&Prediction) -> String,
) -> Result<String> {
    let mut out = String::new();
    for system in systems {
        for item in system.items.iter().filter(|item| item.id == id) {
            out.push_str(&format!("{} {}\n", visible(system.system.as_str()), visible(id)));
            out.push_str(&explained(item));
        }
    }
    if out.is_empty() {
        let path = systems.first().map(|system| system.path.clone()).unwrap_or_default();
        let fault = InputFault::new(path, format!("no item has the id {id}"));
        return Err(fault.hint("items without an id or case_id are called by their place, from 1").into());
    }
    Ok(out)
}

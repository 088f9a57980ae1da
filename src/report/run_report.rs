//! The report of one run in every format: output of `score`, `rescore` and `import`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Bench, CsvText, ReportContext, Table, bench_csv, bench_json, bench_table, write_items_csv};
use super::{scorecard, scorecard_csv, scorecard_json};
use crate::analysis::{Summary, agreement};
use crate::domain::{Note, ScoredAnswer};
use crate::error::{Error, Result};
use crate::evaluation::record::{IMPORTED, Manifest, RoleEntry, RunDir};
use crate::evaluation::summary;
use crate::files::write_whole;

/// The scorecard of a run, or the row of a benchmark instead.
pub struct RunReport {
    /// Means with intervals and ranks.
    pub summary: Summary,
    /// Table for people.
    pub tables: Vec<Table>,
    /// JSON.
    pub json: String,
    /// CSV.
    pub csv: String,
    /// `summary.json`, `summary.csv` and, for a benchmark, `bench.json` and `bench.csv`.
    files: Vec<(&'static str, String)>,
}

impl RunReport {
    /// The report of these scores; `remarks` are further warnings, without a full stop.
    ///
    /// # Errors
    /// When numbers cannot be written as JSON or CSV.
    pub fn new(
        manifest: &Manifest,
        run: &str,
        scored: &[Arc<ScoredAnswer>],
        bench: Option<&Bench>,
        remarks: &[&str],
        texts: CsvText,
    ) -> Result<Self> {
        let summary = summary(manifest, scored);
        let context = context(manifest, run, scored, remarks);
        let (json, csv) = (scorecard_json(&summary, &context)?, scorecard_csv(&summary, texts)?);
        let mut files = vec![("summary.json", json.clone()), ("summary.csv", csv.clone())];
        let Some(bench) = bench else {
            return Ok(Self { tables: scorecard(&summary, &context), summary, json, csv, files });
        };
        let (json, csv) = (bench_json(&summary, bench, &context)?, bench_csv(&summary, bench, texts)?);
        files.extend([("bench.json", json.clone()), ("bench.csv", csv.clone())]);
        Ok(Self { tables: vec![bench_table(&summary, bench, &context)], summary, json, csv, files })
    }

    /// Writes the files of the report into the directory of the run.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, dir: &RunDir) -> Result<()> {
        self.files.iter().try_for_each(|(name, text)| dir.write_file(name, text.as_bytes()))
    }
}

/// Writes `items.csv`, answers in the given order.
///
/// # Errors
/// When the file cannot be written.
pub fn write_items(dir: &RunDir, run: &str, scored: &[Arc<ScoredAnswer>], texts: CsvText) -> Result<()> {
    let path = dir.path().join("items.csv");
    write_whole(&path, |out| {
        write_items_csv(out, run, scored.iter().map(AsRef::as_ref), texts).map_err(Error::io(&path, "write"))
    })
}

fn context(manifest: &Manifest, run: &str, scored: &[Arc<ScoredAnswer>], remarks: &[&str]) -> ReportContext {
    // An imported results file does not name its prompts.
    let unnamed = if manifest.is_set(IMPORTED) { "unknown (imported)" } else { "none" };
    let prompts = manifest.prompts.as_ref();
    let comparable = prompts.is_none_or(|prompts| prompts.comparable_with_published);
    let prompts = prompts.map_or(unnamed, |prompts| &prompts.label).to_owned();
    let mut notes = role_notes(&manifest.roles);
    notes.extend(remarks.iter().map(|line| Note::warning(format!("{line}."))));
    if !comparable && !manifest.roles.contains_key("rubric") {
        notes.push(Note::warning(format!("Prompts {prompts}: not comparable with published numbers.")));
    }
    // The rubric's judge, or the whole panel.
    let judges = match manifest.roles.get("rubric") {
        Some(entry) => entry.judges.iter().collect(),
        None => Vec::from_iter(&manifest.judge),
    };
    let judges = judges.into_iter().map(|judge| judge.model.as_deref().unwrap_or(&judge.id)).collect::<Vec<_>>();
    let slice = manifest.settings.get("score.slice").and_then(|slice| slice.as_str());
    ReportContext {
        run: run.to_owned(),
        judge: judges.join(" and "),
        prompts,
        slice: slice.map(str::to_owned),
        notes,
        agreement: manifest.is_set("score.agreement").then(|| agreement(scored, manifest.mode)),
        endpoints: manifest.endpoints.clone(),
    }
}

/// The judges and prompts of the roles, and whether the numbers are comparable with published ones; equal roles share a
/// note.
fn role_notes(roles: &BTreeMap<String, RoleEntry>) -> Vec<Note> {
    let mut lines: Vec<(Vec<&str>, &RoleEntry)> = Vec::new();
    for (role, entry) in roles {
        match lines.iter_mut().find(|(_, same)| same.summary() == entry.summary()) {
            Some((names, _)) => names.push(role),
            None => lines.push((vec![role], entry)),
        }
    }
    let note = |(names, entry): (Vec<&str>, &RoleEntry)| {
        let line = format!("{}: {}.", names.join(", "), entry.summary());
        let comparable = entry.prompts.as_ref().is_none_or(|prompts| prompts.comparable_with_published);
        if comparable { Note::info(line) } else { Note::warning(line) }
    };
    lines.into_iter().map(note).collect()
}

//! The report of one run in every format: output of `score`, `bench`, `probe`, `rescore` and `import`.

use std::sync::Arc;

use super::comparison::{judge_lines, unpublished, verdicts};
use super::scorecard::{notes as scorecard_notes, scorer_tables};
use super::{
    Bench, CsvText, ReportContext, Table, TableStyle, probe, render_json, write_items_csv,
};
use super::{scorecard, scorecard_csv, scorecard_json, visible, wrapped};
use crate::analysis::comparison::{ComparisonOptions, SEED};
use crate::analysis::{self, Summary, agreement, distinct};
use crate::domain::{Note, ScoredAnswer};
use crate::error::{Error, Result};
use crate::evaluation::summary;
use crate::files::write_whole;
use crate::record::{AnsweredJudge, IMPORTED, JudgeEntry, Manifest, RunDir, RunStatus};
use crate::runs::{RunSet, judged_by};

/// Pairs of systems times cases, over all headline metrics, up to which a report compares the systems: about a second.
const MOST_COMPARED: usize = 2_000;

/// The scorecard of a run, or the row of a benchmark or the probe of a judge instead.
pub struct RunReport {
    /// Means with intervals and ranks.
    pub summary: Summary,
    /// Tables for people.
    pub tables: Vec<Table>,
    /// Further tables for people, on request: one per scorer.
    pub details: Vec<Table>,
    /// Which systems differ significantly, as `compare` reports it; empty for one system and a large run.
    pub verdict: Vec<String>,
    /// Notes, most important first.
    pub notes: Vec<Note>,
    /// Whether the verdict comes before the tables.
    verdict_first: bool,
    /// `summary.json`, `summary.csv` and, for a benchmark, `bench.json` and `bench.csv`, for a probe `probe.json` and
    /// `probe.csv`.
    files: Vec<(&'static str, String)>,
}

impl RunReport {
    /// The report of these scores.
    ///
    /// # Errors
    /// When numbers cannot be written as JSON or CSV.
    pub fn new(
        manifest: &Manifest,
        run: &str,
        scored: &[Arc<ScoredAnswer>],
        bench: Option<&Bench>,
        texts: CsvText,
    ) -> Result<Self> {
        let summary = summary(manifest, scored);
        let mut context = context(manifest, run, scored);
        let both = |[json, csv]: [&'static str; 2],
                    summary: &Summary,
                    context: &ReportContext|
         -> Result<_> {
            Ok([
                (json, scorecard_json(summary, context)?),
                (csv, scorecard_csv(summary, texts)?),
            ])
        };
        let mut files = both(["summary.json", "summary.csv"], &summary, &context)?.to_vec();
        let mut shown = summary.clone();
        if let Some(bench) = bench {
            shown = bench.row(&summary);
            context.bench = Some(bench.clone());
            files.extend(both(["bench.json", "bench.csv"], &shown, &context)?);
        }
        let perturbations = manifest.perturbations();
        if !perturbations.is_empty() {
            let probed = analysis::probe(scored, &perturbations, manifest.seed);
            files.push(("probe.json", render_json(&probed)?));
            files.push(("probe.csv", probe::tidy(&probed).csv(texts)?));
            let mut tables = probe::tables(&probed);
            let details = tables.split_off(probed.headline.len());
            let notes = context
                .answer_warnings()
                .chain(probe::notes(&probed))
                .chain(context.notes.iter().cloned())
                .collect();
            let (verdict, verdict_first) = (probe::verdicts(&probed), true);
            return Ok(Self {
                summary,
                tables,
                details,
                verdict,
                notes,
                verdict_first,
                files,
            });
        }
        let (tables, notes) = (
            scorecard(&shown, &context),
            scorecard_notes(&shown, &context),
        );
        let (details, verdict) = (
            scorer_tables(&summary, context.unfinished),
            verdict(manifest, run, scored, &summary)?,
        );
        Ok(Self {
            summary,
            tables,
            details,
            verdict,
            notes,
            verdict_first: false,
            files,
        })
    }

    /// The report for a terminal: tables, verdict, notes.
    pub fn terminal(&self, style: &TableStyle) -> String {
        let details = self.details.iter().filter(|_| style.all_notes);
        let mut blocks: Vec<String> = self
            .tables
            .iter()
            .chain(details)
            .map(|table| table.terminal(style))
            .collect();
        let verdict = self
            .verdict
            .iter()
            .map(|line| wrapped(&visible(line), style.columns()) + "\n");
        let verdict = Some(verdict.collect::<String>()).filter(|lines| !lines.is_empty());
        let place = if self.verdict_first { 0 } else { blocks.len() };
        blocks.splice(place..place, verdict);
        blocks.join("\n") + &style.notes(&self.notes)
    }

    /// The last of its files with this ending, which has what the tables have; empty without one.
    pub fn file(&self, ending: &str) -> &str {
        self.files
            .iter()
            .rfind(|(name, _)| name.ends_with(ending))
            .map_or("", |(_, text)| text)
    }

    /// Writes the files of the report into the directory of the run.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, dir: &RunDir) -> Result<()> {
        self.files
            .iter()
            .try_for_each(|(name, text)| dir.write_file(name, text.as_bytes()))
    }
}

/// Writes `items.csv`, answers in the given order.
///
/// # Errors
/// When the file cannot be written.
pub fn write_items(
    dir: &RunDir,
    run: &str,
    scored: &[Arc<ScoredAnswer>],
    texts: CsvText,
) -> Result<()> {
    let path = dir.path().join("items.csv");
    write_whole(&path, |out| {
        write_items_csv(out, run, scored.iter().map(AsRef::as_ref), texts)
            .map_err(Error::io(&path, "write"))
    })
}

/// The verdict of `compare` on this run, if it is quick and about the same means.
fn verdict(
    manifest: &Manifest,
    run: &str,
    scored: &[Arc<ScoredAnswer>],
    summary: &Summary,
) -> Result<Vec<String>> {
    let systems = summary
        .scorers
        .iter()
        .map(|scorer| scorer.rows.len())
        .max()
        .unwrap_or(0);
    if systems < 2 {
        return Ok(Vec::new());
    }
    // The tables of a large run need more memory than its scores.
    let size = summary.scorers.len() * systems * (systems - 1) / 2 * summary.cases;
    if size > MOST_COMPARED {
        return Ok(Vec::new());
    }
    let set = RunSet::single(run, manifest, scored);
    let mut observations = set.observe()?;
    let headline = observations.headline();
    observations.metrics = headline
        .into_iter()
        .map(|at| observations.metrics[at].clone())
        .collect();
    if observations.metrics.is_empty() {
        return Ok(Vec::new());
    }
    Ok(verdicts(
        &set.compare(&observations, &ComparisonOptions::seeded(SEED)),
    ))
}

fn context(manifest: &Manifest, run: &str, scored: &[Arc<ScoredAnswer>]) -> ReportContext {
    // An imported results file does not name its prompts.
    let unnamed = if manifest.is_set(IMPORTED) {
        "unknown (imported)"
    } else {
        "none"
    };
    let prompts = manifest
        .roles
        .get("rubric")
        .and_then(|entry| entry.prompts.as_ref());
    let prompts = prompts.map_or(unnamed, |prompts| &prompts.label).to_owned();
    let judges = distinct(
        manifest
            .roles
            .values()
            .flat_map(|entry| &entry.judges)
            .map(JudgeEntry::name),
    );
    let judged = judged_by(&[(run, manifest)]);
    let judged: Vec<_> = judged.iter().collect();
    let mut notes = Vec::from_iter(unpublished(&judged).map(Note::warning));
    notes.extend(judge_lines(&judged).into_iter().map(Note::info));
    let answered = manifest.answered_judges();
    let fingerprints = answered.iter().flat_map(AnsweredJudge::fingerprints);
    notes.extend(fingerprints.map(|line| Note::info(format!("{line}."))));
    let is_answered = answered.iter().any(AnsweredJudge::is_named);
    let slice = manifest
        .settings
        .get("score.slice")
        .and_then(|slice| slice.as_str());
    ReportContext {
        run: run.to_owned(),
        judge: judges.join(" and "),
        answered_by: if is_answered { answered } else { Vec::new() },
        prompts,
        row: manifest.row().map(str::to_owned),
        bench: None,
        slice: slice.map(str::to_owned),
        unfinished: manifest.status != RunStatus::Complete,
        notes,
        agreement: manifest
            .is_set("score.agreement")
            .then(|| agreement(scored, manifest.mode)),
        endpoints: manifest.endpoints.clone(),
    }
}

//! The report of one run in every format: output of `score`, `bench`, `probe`, `rescore` and `import`.

use std::sync::Arc;

use super::comparison::{
    all_notes, check_lines, comparison_table, judge_lines, orders_table, pairs_table,
    systems_table, unpublished, verdicts,
};
use super::legend::legend_notes;
use super::looks::look_lines;
use super::scorecard::{notes as scorecard_notes, scorer_tables, unscored_note};
use super::{
    Bench, CitedWorksReport, CsvText, ReportContext, Table, TableStyle, probe, render_json,
    write_items_csv,
};
use super::{scorecard, scorecard_csv, scorecard_json, visible, wrapped};
use crate::analysis::comparison::{ComparisonDepth, ComparisonOptions, SEED};
use crate::analysis::{self, Probe, Summary, agreement, distinct};
use crate::domain::{Note, ScoredAnswer, SubjectKind};
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
    /// `probe.csv`, for pairs `pairs.json` and `pairs.csv`.
    files: Vec<(&'static str, String)>,
    /// The works that the answers cite, and whether they are all that is shown.
    works: Option<(CitedWorksReport, bool)>,
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
        let files = vec![
            // Of the whole run, also for a benchmark: its row leaves out what the benchmark does
            // not report.
            ("summary.json", scorecard_json(&summary, &context)?),
            ("summary.csv", scorecard_csv(&summary, texts)?),
        ];
        let mut report = Self {
            summary,
            tables: Vec::new(),
            details: Vec::new(),
            verdict: Vec::new(),
            notes: Vec::new(),
            verdict_first: true,
            files,
            works: None,
        };
        let perturbations = manifest.perturbations();
        let on_unscored = manifest.policy.on_unscored;
        if !perturbations.is_empty() {
            let probed = analysis::probe(scored, &perturbations, manifest.seed, on_unscored);
            report.show_probe(&context, &probed, texts)?;
        } else if manifest.subject == SubjectKind::Pair {
            report.show_pairs(&context, &RunSet::single(run, manifest, scored), texts)?;
        } else {
            report.verdict_first = false;
            report.verdict = verdict(manifest, run, scored, &report.summary)?;
            report.show_scorecard(&mut context, bench, texts)?;
        }
        Ok(report)
    }

    /// Shows the headline metrics of the run, or the row of a benchmark.
    fn show_scorecard(
        &mut self,
        context: &mut ReportContext,
        bench: Option<&Bench>,
        texts: CsvText,
    ) -> Result<()> {
        let mut shown = self.summary.clone();
        if let Some(bench) = bench {
            shown = bench.row(&self.summary);
            context.bench = Some(bench.clone());
            self.files
                .push(("bench.json", scorecard_json(&shown, context)?));
            self.files
                .push(("bench.csv", scorecard_csv(&shown, texts)?));
        }
        self.tables = scorecard(&shown, context);
        self.details = scorer_tables(&self.summary, context.unfinished);
        self.notes = scorecard_notes(&shown, context);
        Ok(())
    }

    /// Shows a probe: its verdict is the result, before the tables of the headline metrics.
    fn show_probe(
        &mut self,
        context: &ReportContext,
        probed: &Probe,
        texts: CsvText,
    ) -> Result<()> {
        self.files.push(("probe.json", render_json(probed)?));
        self.files
            .push(("probe.csv", probe::tidy(probed).csv(texts)?));
        self.tables = probe::tables(probed);
        self.details = self.tables.split_off(probed.headline.len());
        self.verdict = probe::verdicts(probed);
        self.notes = self.warnings(context);
        self.notes.extend(probe::notes(probed));
        self.notes.extend(context.notes.iter().cloned());
        Ok(())
    }

    /// Shows what `compare` says of a run of pairs.
    fn show_pairs(&mut self, context: &ReportContext, set: &RunSet, texts: CsvText) -> Result<()> {
        // The seed of `compare`, so that both commands report the same.
        let comparison = set.compare(&set.observe()?, &ComparisonOptions::seeded(SEED));
        let csv = comparison_table(&comparison, false).csv(texts)?;
        self.files.push(("pairs.json", render_json(&comparison)?));
        self.files.push(("pairs.csv", csv));
        for metric in &comparison.metrics {
            self.tables.push(systems_table(&comparison, metric));
            self.details.extend(pairs_table(&comparison, metric, false));
        }
        self.tables.extend(orders_table(&comparison));
        self.verdict = match &context.looks {
            Some(looks) => look_lines(looks),
            None => verdicts(&comparison),
        };
        self.notes = self.warnings(context);
        self.notes.extend(all_notes(&comparison, Vec::new()));
        self.notes.extend(legend_notes(&self.tables));
        Ok(())
    }

    /// Who answered in place of the judges, and what was not scored.
    fn warnings(&self, context: &ReportContext) -> Vec<Note> {
        let mut warnings: Vec<Note> = context.answer_warnings().collect();
        for scorer in &self.summary.scorers {
            let unscored = unscored_note(scorer, self.summary.on_unscored);
            warnings.extend(unscored.map(Note::warning));
        }
        warnings
    }

    /// The report with the works that the answers cite, which replace the scorecard or follow it.
    #[must_use]
    pub fn with_works(mut self, works: CitedWorksReport, replace_scorecard: bool) -> Self {
        self.works = Some((works, replace_scorecard));
        self
    }

    /// The report for a terminal: tables, verdict, notes.
    pub fn terminal(&self, style: &TableStyle) -> String {
        match &self.works {
            Some((works, true)) => works.text(style),
            Some((works, false)) => self.scorecard_text(style) + "\n" + &works.summary(style),
            None => self.scorecard_text(style),
        }
    }

    /// The report as JSON.
    ///
    /// # Errors
    /// When it cannot be rendered.
    pub fn json(&self) -> Result<String> {
        match &self.works {
            Some((works, true)) => render_json(works),
            _ => Ok(self.file(".json").to_owned()),
        }
    }

    /// The report as CSV.
    ///
    /// # Errors
    /// When it cannot be rendered.
    pub fn csv(&self, texts: CsvText) -> Result<String> {
        match &self.works {
            Some((works, true)) => works.table().csv(texts),
            _ => Ok(self.file(".csv").to_owned()),
        }
    }

    fn scorecard_text(&self, style: &TableStyle) -> String {
        let mut verdict = String::new();
        for line in &self.verdict {
            verdict += &wrapped(&visible(line), style.columns());
            verdict.push('\n');
        }
        let mut tables: Vec<&Table> = self.tables.iter().collect();
        if style.all_notes {
            tables.extend(&self.details);
        }
        let tables = tables.into_iter();
        let mut blocks: Vec<String> = tables.map(|table| table.terminal(style)).collect();
        if !verdict.is_empty() {
            let place = if self.verdict_first { 0 } else { blocks.len() };
            blocks.insert(place, verdict);
        }
        blocks.join("\n") + &style.notes(&self.notes)
    }

    /// The last of its files with this ending, which has what the tables have; empty without one.
    pub fn file(&self, ending: &str) -> &str {
        let mut files = self.files.iter();
        let file = files.rfind(|(name, _)| name.ends_with(ending));
        file.map_or("", |(_, text)| text)
    }

    /// Writes the files of the report into the directory of the run.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, dir: &RunDir) -> Result<()> {
        for (name, text) in &self.files {
            dir.write_file(name, text.as_bytes())?;
        }
        Ok(())
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
    if let Some(looks) = &manifest.looks {
        return Ok(look_lines(looks));
    }
    let rows = summary.scorers.iter().map(|scorer| scorer.rows.len());
    let systems = rows.max().unwrap_or(0);
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
    let headline = headline.into_iter();
    let metrics = headline.map(|at| observations.metrics[at].clone());
    observations.metrics = metrics.collect();
    if observations.metrics.is_empty() {
        return Ok(Vec::new());
    }
    // The seed of `compare`, so that both commands report the same p.
    let mut options = ComparisonOptions::seeded(SEED);
    options.depth = ComparisonDepth::Verdicts;
    Ok(verdicts(&set.compare(&observations, &options)))
}

/// What the manifest says of the run.
fn context(manifest: &Manifest, run: &str, scored: &[Arc<ScoredAnswer>]) -> ReportContext {
    let judges = manifest.roles.values().flat_map(|entry| &entry.judges);
    let judges = distinct(judges.map(JudgeEntry::name));
    let answered = manifest.answered_judges();
    let mut notes = judge_notes(manifest, run);
    let families = manifest.shared_families(scored).into_iter();
    notes.extend(families.map(|sentence| Note::warning(format!("{sentence}."))));
    let is_answered = answered.iter().any(AnsweredJudge::is_named);
    ReportContext {
        run: run.to_owned(),
        judge: judges.join(" and "),
        answered_by: if is_answered { answered } else { Vec::new() },
        prompts: prompts(manifest).to_owned(),
        row: manifest.row().map(str::to_owned),
        bench: None,
        part: part(manifest),
        unfinished: manifest.status != RunStatus::Complete,
        notes,
        agreement: manifest
            .is_set("score.agreement")
            .then(|| agreement(scored, manifest.mode)),
        looks: manifest.looks.clone(),
        endpoints: manifest.endpoints.clone(),
    }
}

/// The part of the answers that the run scored.
fn part(manifest: &Manifest) -> Option<String> {
    if let Some(selection) = manifest.selection() {
        return Some(selection.sentence());
    }
    let slice = manifest.settings.get("score.slice")?.as_str()?;
    Some(format!("slice {slice}"))
}

/// The label of the rubric's prompts. An imported results file does not name them.
fn prompts(manifest: &Manifest) -> &str {
    let rubric = manifest.roles.get("rubric");
    match rubric.and_then(|entry| entry.prompts.as_ref()) {
        Some(prompts) => &prompts.label,
        None if manifest.is_set(IMPORTED) => "unknown (imported)",
        None => "none",
    }
}

/// What differs from the published judges, and each judge with its roles.
fn judge_notes(manifest: &Manifest, run: &str) -> Vec<Note> {
    let judged = judged_by(&[(run, manifest)]);
    let judged: Vec<_> = judged.iter().collect();
    let mut notes = Vec::new();
    notes.extend(unpublished(&judged).map(Note::warning));
    notes.extend(check_lines(&judged).into_iter().map(Note::warning));
    notes.extend(judge_lines(&judged).into_iter().map(Note::info));
    notes
}

//! The report of one run in every format: output of `score`, `bench`, `probe`, `rescore` and `import`.

use std::sync::Arc;

use super::comparison::{comparison_page, comparison_table, judge_lines, unpublished, verdicts};
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
        let mut files = vec![
            // Of the whole run, also for a benchmark: its row leaves out what the benchmark does
            // not report.
            ("summary.json", scorecard_json(&summary, &context)?),
            ("summary.csv", scorecard_csv(&summary, texts)?),
        ];
        let perturbations = manifest.perturbations();
        if !perturbations.is_empty() {
            let probed = analysis::probe(
                scored,
                &perturbations,
                manifest.seed,
                manifest.policy.on_unscored,
            );
            return Self::of_probe(summary, &context, &probed, files, texts);
        }
        if manifest.subject == SubjectKind::Pair {
            return Self::of_pairs(summary, &context, (manifest, run, scored), files, texts);
        }
        let mut shown = summary.clone();
        if let Some(bench) = bench {
            shown = bench.row(&summary);
            context.bench = Some(bench.clone());
            files.push(("bench.json", scorecard_json(&shown, &context)?));
            files.push(("bench.csv", scorecard_csv(&shown, texts)?));
        }
        Ok(Self {
            tables: scorecard(&shown, &context),
            details: scorer_tables(&summary, context.unfinished),
            verdict: verdict(manifest, run, scored, &summary)?,
            notes: scorecard_notes(&shown, &context),
            verdict_first: false,
            files,
            works: None,
            summary,
        })
    }

    /// The report of a probe: its verdict is the result, before the tables of the headline metrics.
    fn of_probe(
        summary: Summary,
        context: &ReportContext,
        probed: &Probe,
        mut files: Vec<(&'static str, String)>,
        texts: CsvText,
    ) -> Result<Self> {
        files.push(("probe.json", render_json(probed)?));
        files.push(("probe.csv", probe::tidy(probed).csv(texts)?));
        let mut tables = probe::tables(probed);
        let details = tables.split_off(probed.headline.len());
        let mut notes: Vec<Note> = context.answer_warnings().collect();
        for scorer in &summary.scorers {
            notes.extend(unscored_note(scorer, summary.on_unscored).map(Note::warning));
        }
        notes.extend(probe::notes(probed));
        notes.extend(context.notes.iter().cloned());
        Ok(Self {
            summary,
            tables,
            details,
            verdict: probe::verdicts(probed),
            notes,
            verdict_first: true,
            files,
            works: None,
        })
    }

    /// The report of a run of pairs: what `compare` says of it.
    fn of_pairs(
        summary: Summary,
        context: &ReportContext,
        (manifest, run, scored): (&Manifest, &str, &[Arc<ScoredAnswer>]),
        mut files: Vec<(&'static str, String)>,
        texts: CsvText,
    ) -> Result<Self> {
        let set = RunSet::single(run, manifest, scored);
        // The seed of `compare`, so that both commands report the same.
        let comparison = set.compare(&set.observe()?, &ComparisonOptions::seeded(SEED));
        files.push(("pairs.json", render_json(&comparison)?));
        files.push((
            "pairs.csv",
            comparison_table(&comparison, false).csv(texts)?,
        ));
        let mut notes: Vec<Note> = context.answer_warnings().collect();
        for scorer in &summary.scorers {
            notes.extend(unscored_note(scorer, summary.on_unscored).map(Note::warning));
        }
        let page = comparison_page(&comparison);
        notes.extend(page.notes);
        Ok(Self {
            summary,
            tables: page.tables,
            details: page.details,
            verdict: match &manifest.looks {
                Some(looks) => look_lines(looks),
                None => verdicts(&comparison),
            },
            notes,
            verdict_first: true,
            files,
            works: None,
        })
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
        let mut blocks: Vec<String> = self
            .tables
            .iter()
            .map(|table| table.terminal(style))
            .collect();
        if style.all_notes {
            blocks.extend(self.details.iter().map(|table| table.terminal(style)));
        }
        if !verdict.is_empty() {
            let place = if self.verdict_first { 0 } else { blocks.len() };
            blocks.insert(place, verdict);
        }
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
    let notes = judge_notes(manifest, run);
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
    notes.extend(judge_lines(&judged).into_iter().map(Note::info));
    notes
}

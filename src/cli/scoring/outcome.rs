//! What a run ends with: the summary, the tables, the exit code.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::analysis::{self, AggregateOptions, OnUnscored, Summary};
use crate::cli::ExitCode;
use crate::cli::args::OutputFormat;
use crate::cli::commands::IMPORTED;
use crate::cli::terminal;
use crate::domain::{CaseId, Mode, Note, ScoredAnswer, SystemName, UnscoredKind};
use crate::error::{Error, Result};
use crate::evaluation::Job;
use crate::evaluation::record::{Manifest, RoleEntry, RunDir};
use crate::report::{self, Bench, ReportContext, Table, TableStyle};

/// Width of the table where standard output is no terminal.
const PLAIN_WIDTH: u16 = 100;

/// How a summary is made and shown.
pub(in crate::cli) struct Presentation<'a> {
    /// The run's manifest: judge, prompts, what is missing.
    pub(in crate::cli) manifest: &'a Manifest,
    /// The run's name.
    pub(in crate::cli) run: String,
    /// What to do with components that have no value.
    pub(in crate::cli) on_unscored: OnUnscored,
    /// Tolerated share of unscored answers.
    pub(in crate::cli) max_unscored: f64,
    /// Seed of the intervals.
    pub(in crate::cli) seed: u64,
    /// Whether two annotators' rubrics are compared.
    pub(in crate::cli) agreement: bool,
    /// Arithmetic and parser.
    pub(in crate::cli) mode: Mode,
    /// What goes to standard output.
    pub(in crate::cli) format: OutputFormat,
    /// Whether it may be coloured.
    pub(in crate::cli) color: bool,
    /// The table of a benchmark, which is shown in place of the scorecard.
    pub(in crate::cli) bench: Option<Bench>,
    /// What else a reader must know.
    pub(in crate::cli) remarks: Vec<String>,
}

/// Puts scores into the order of the input: job by job, systems in name order, cases in file order.
pub(in crate::cli) fn in_input_order(scored: &mut [Arc<ScoredAnswer>], jobs: &[Job]) {
    let mut order: HashMap<(&str, &SystemName, &CaseId), usize> = HashMap::new();
    for job in jobs {
        for item in job.items.iter() {
            let place = order.len();
            order.entry((job.scorer.name(), &item.answer.system, &item.case.case_id)).or_insert(place);
        }
    }
    let place =
        |answer: &ScoredAnswer| order.get(&(answer.score.scorer, &answer.system, &answer.case.case_id)).copied();
    scored.sort_by_key(|answer| place(answer).unwrap_or(usize::MAX));
}

impl Presentation<'_> {
    /// Sums up, writes `summary.json` and `summary.csv` into `dir`, prints, and gives the exit code.
    ///
    /// # Errors
    /// When a file or standard output cannot be written.
    pub(in crate::cli) fn conclude(&self, scored: &[Arc<ScoredAnswer>], dir: Option<&RunDir>) -> Result<ExitCode> {
        let missing: Vec<(SystemName, CaseId)> = self
            .manifest
            .missing
            .iter()
            .map(|(system, case_id)| (system.as_str().into(), case_id.as_str().into()))
            .collect();
        let options = AggregateOptions {
            mode: self.mode,
            on_unscored: self.on_unscored,
            seed: self.seed,
            lexical: self.manifest.is_lexical(),
        };
        let missing = if self.manifest.judge.is_some() { missing } else { Vec::new() };
        let summary = analysis::summarize(scored, &missing, options);
        let context = self.context(scored);
        let json = report::scorecard_json(&summary, &context)?;
        let csv = report::scorecard_csv(&summary)?;
        if let Some(dir) = dir {
            dir.write_file("summary.json", json.as_bytes())?;
            dir.write_file("summary.csv", csv.as_bytes())?;
        }
        let (json, csv, tables) = match &self.bench {
            None => (json, csv, report::scorecard(&summary, &context)),
            Some(bench) => {
                let json = report::bench_json(&summary, bench, &context)?;
                let csv = report::bench_csv(&summary, bench)?;
                if let Some(dir) = dir {
                    dir.write_file("bench.json", json.as_bytes())?;
                    dir.write_file("bench.csv", csv.as_bytes())?;
                }
                (json, csv, vec![report::bench_table(&summary, bench, &context)])
            }
        };
        let width = terminal::stdout_width().unwrap_or(PLAIN_WIDTH);
        let style = TableStyle { width, color: self.color, ..TableStyle::default() };
        let shown = match self.format {
            OutputFormat::Json => json,
            OutputFormat::Csv => csv,
            OutputFormat::Table => Table::terminal_all(&tables, &style),
        };
        terminal::write_form(&shown, self.format)?;
        Ok(self.exit_code(&summary))
    }

    fn context(&self, scored: &[Arc<ScoredAnswer>]) -> ReportContext {
        let prompts = self.manifest.prompts.as_ref();
        let comparable = prompts.is_none_or(|prompts| prompts.comparable_with_published);
        // An imported results file does not name its prompts.
        let imported = self.manifest.settings.get(IMPORTED).is_some_and(|imported| *imported == true);
        let unnamed = if imported { "unknown (imported)" } else { "none" };
        let prompts = prompts.map_or_else(|| unnamed.to_owned(), |prompts| prompts.label.clone());
        let mut notes: Vec<Note> = role_lines(&self.manifest.roles)
            .into_iter()
            .map(|(line, comparable)| if comparable { Note::info(line) } else { Note::warning(line) })
            .collect();
        notes.extend(self.remarks.iter().map(|line| Note::warning(format!("{line}."))));
        if !comparable && !self.manifest.roles.contains_key("rubric") {
            notes.push(Note::warning(format!("Prompts {prompts}: not comparable with published numbers.")));
        }
        let slice = self.manifest.settings.get("score.slice").and_then(|slice| slice.as_str());
        ReportContext {
            run: self.run.clone(),
            judge: self.rubric_judges(),
            prompts,
            slice: slice.map(str::to_owned),
            notes,
            agreement: self.agreement.then(|| analysis::agreement(scored, self.mode)),
            endpoints: self.manifest.endpoints.clone(),
        }
    }

    /// The rubric's judge, or all of its panel.
    fn rubric_judges(&self) -> String {
        let judges = match self.manifest.roles.get("rubric") {
            Some(entry) => entry.judges.iter().collect(),
            None => Vec::from_iter(&self.manifest.judge),
        };
        judges.into_iter().map(|judge| judge.model.as_deref().unwrap_or(&judge.id)).collect::<Vec<_>>().join(" and ")
    }

    fn exit_code(&self, summary: &Summary) -> ExitCode {
        if summary.unscored_share <= self.max_unscored {
            return ExitCode::Ok;
        }
        let kinds: BTreeSet<UnscoredKind> = summary.unscored_kinds().collect();
        let remedies: Vec<&str> = kinds.into_iter().filter_map(remedy).collect();
        terminal::note(&format!(
            "error: {} of the answers are unscored, more than the {} that --max-unscored tolerates{}",
            percent(summary.unscored_share),
            percent(self.max_unscored),
            remedies.iter().map(|remedy| format!("; {remedy}")).collect::<String>()
        ));
        ExitCode::TooManyUnscored
    }
}

/// Who had which roles, with which prompts, and whether the numbers compare with published ones; equal roles share a line.
fn role_lines(roles: &BTreeMap<String, RoleEntry>) -> Vec<(String, bool)> {
    let mut lines: Vec<(Vec<&str>, String, bool)> = Vec::new();
    for (role, entry) in roles {
        let line = entry.summary();
        match lines.iter_mut().find(|(_, same, _)| *same == line) {
            Some((names, ..)) => names.push(role),
            None => {
                let comparable = entry.prompts.as_ref().is_none_or(|prompts| prompts.comparable_with_published);
                lines.push((vec![role], line, comparable));
            }
        }
    }
    let line =
        |(names, line, comparable): (Vec<&str>, String, bool)| (format!("{}: {line}.", names.join(", ")), comparable);
    lines.into_iter().map(line).collect()
}

/// `25.0%`, `1.04%`: a second decimal only where it says something.
fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    format!("{}%", text.strip_suffix('0').unwrap_or(&text))
}

/// What may bring a verdict where there is none.
fn remedy(kind: UnscoredKind) -> Option<&'static str> {
    match kind {
        UnscoredKind::Unreadable => Some("replies that cannot be read are asked again with --retry-unscored"),
        UnscoredKind::Cut => Some("replies that were cut need more room: --max-tokens KIND=N"),
        UnscoredKind::ContextOverflow => Some("prompts that do not fit need a judge with a longer context"),
        UnscoredKind::Unreachable => Some("calls that found no server are asked again by the same command"),
        UnscoredKind::Refused => Some("calls that the server refused are asked again by the same command"),
        UnscoredKind::NeedsOtherCalls => Some("score --compat asks the calls that this run did not"),
        UnscoredKind::DependsOnUnscored | UnscoredKind::Exception | UnscoredKind::NotAsked | UnscoredKind::NoJudge => {
            None
        }
    }
}

/// The run's name: the last part of its directory.
pub(in crate::cli) fn run_name(path: &Path) -> String {
    path.canonicalize()
        .unwrap_or_else(|_| path.to_path_buf())
        .file_name()
        .map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// What to do with a run next: its systems against each other, and everything on a page.
pub(in crate::cli) fn next_steps(path: &Path, scored: &[Arc<ScoredAnswer>]) -> String {
    let shown = path.display().to_string();
    let is_plain = |character: char| character.is_alphanumeric() || "/._-".contains(character);
    let run = if shown.chars().all(is_plain) { shown } else { format!("'{}'", shown.replace('\'', r"'\''")) };
    let systems: HashSet<&SystemName> = scored.iter().map(|answer| &answer.system).collect();
    let compare = if systems.len() > 1 { format!("scholareval compare {run}; ") } else { String::new() };
    format!("next: {compare}scholareval report {run} --out report.html")
}

/// How many answers have the scores of all their scorers, of how many.
pub(in crate::cli) fn answers_through(scored: &[Arc<ScoredAnswer>], jobs: &[Job]) -> (usize, usize) {
    let mut left: HashMap<(&SystemName, &CaseId), usize> = HashMap::new();
    for item in jobs.iter().flat_map(|job| job.items.iter()) {
        *left.entry((&item.answer.system, &item.case.case_id)).or_default() += 1;
    }
    for answer in scored {
        if let Some(left) = left.get_mut(&(&answer.system, &answer.case.case_id)) {
            *left = left.saturating_sub(1);
        }
    }
    (left.values().filter(|left| **left == 0).count(), left.len())
}

/// How a run that was stopped is told about.
pub(in crate::cli) fn stopped(reason: &str, (scored, answers): (usize, usize), cached: bool) -> Error {
    let kept = if cached { "every reply that arrived is in the cache" } else { "every reply that arrived is recorded" };
    Error::Stopped(format!(
        "stopped: {reason}; {scored} of {answers} answers are scored, {kept}; the same command goes on from there, \
         and rescore with the run's directory shows what is scored so far"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_told_as_per_cent_one_way() {
        assert_eq!([0.25, 0.0104, 0.01, 0.07, 0.0005].map(percent), ["25.0%", "1.04%", "1.0%", "7.0%", "0.05%"]);
    }
}

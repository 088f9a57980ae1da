//! What a run ends with: the summary, the tables, the exit code.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use crate::aggregate::{self, AggregateOptions, Scorecard};
use crate::cli::ExitCode;
use crate::cli::settings::{OnUnscored, OutputFormat};
use crate::cli::terminal;
use crate::domain::{CaseId, Mode, ScoredAnswer, SystemName, UnscoredKind};
use crate::error::{Error, Result};
use crate::pipeline::Item;
use crate::pipeline::record::{Manifest, RunDir};
use crate::report::{self, ReportContext, TableStyle};

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
}

/// Puts answers into the order of the input: systems in name order, cases in file order.
pub(in crate::cli) fn in_input_order(scored: &mut [Arc<ScoredAnswer>], items: &[Item]) {
    let order: HashMap<(&SystemName, &CaseId), usize> =
        items.iter().enumerate().map(|(i, item)| ((&item.answer.system, &item.case.case_id), i)).collect();
    scored.sort_by_key(|answer| order.get(&(&answer.system, &answer.case.case_id)).copied().unwrap_or(usize::MAX));
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
            on_unscored: match self.on_unscored {
                OnUnscored::Exclude => aggregate::OnUnscored::Exclude,
                OnUnscored::Zero => aggregate::OnUnscored::Zero,
            },
            seed: self.seed,
            lexical: self.manifest.is_lexical(),
        };
        let missing = if self.manifest.judge.is_some() { missing } else { Vec::new() };
        let card = aggregate::scorecard(scored, &missing, options);
        let context = self.context(scored);
        let json = report::render_scorecard_json(&card, &context)?;
        let csv = report::render_scorecard_csv(&card);
        if let Some(dir) = dir {
            dir.write_file("summary.json", json.as_bytes())?;
            dir.write_file("summary.csv", csv.as_bytes())?;
        }
        match self.format {
            OutputFormat::Json => terminal::write_stdout(json.as_bytes())?,
            OutputFormat::Csv => terminal::write_stdout(csv.as_bytes())?,
            OutputFormat::Table => {
                let style = TableStyle { width: terminal::stdout_width().unwrap_or(PLAIN_WIDTH), color: self.color };
                terminal::write_stdout(report::render_scorecard_table(&card, &context, &style).as_bytes())?;
            }
        }
        Ok(self.exit_code(&card))
    }

    fn context(&self, scored: &[Arc<ScoredAnswer>]) -> ReportContext {
        let prompts = self.manifest.prompts.as_ref();
        let comparable = prompts.is_some_and(|prompts| prompts.comparable_with_published);
        ReportContext {
            run: self.run.clone(),
            judge_label: self.manifest.judge_id().to_owned(),
            prompts_label: prompts.map_or_else(|| "none".to_owned(), |prompts| prompts.label.clone()),
            comparability_note: (!comparable).then(|| "not comparable with published numbers".to_owned()),
            remarks: if self.mode == Mode::Default { self.manifest.pairing_differences.clone() } else { Vec::new() },
            agreement: self.agreement.then(|| aggregate::agreement(scored)),
        }
    }

    fn exit_code(&self, card: &Scorecard) -> ExitCode {
        if card.unscored_share() <= self.max_unscored {
            return ExitCode::Ok;
        }
        let kinds: BTreeSet<UnscoredKind> = card.unscored_kinds().collect();
        let remedies: Vec<&str> = kinds.into_iter().filter_map(remedy).collect();
        let share = 100.0 * card.unscored_share();
        terminal::note(&format!(
            "error: {share:.1}% of the answers are unscored, more than --max-unscored {} tolerates{}",
            self.max_unscored,
            remedies.iter().map(|remedy| format!("; {remedy}")).collect::<String>()
        ));
        ExitCode::TooManyUnscored
    }
}

/// What may bring a verdict where there is none.
fn remedy(kind: UnscoredKind) -> Option<&'static str> {
    match kind {
        UnscoredKind::Unreadable => Some("replies that cannot be read are asked again with --retry-unscored"),
        UnscoredKind::Cut => Some("replies that were cut need more room: --max-tokens KIND=N"),
        UnscoredKind::ContextOverflow => Some("prompts that do not fit need a judge with a longer context"),
        UnscoredKind::Unreachable => Some("calls that found no server are asked again by the same command"),
        UnscoredKind::Refused => Some("calls that the server refused are asked again by the same command"),
        UnscoredKind::DependsOnUnscored | UnscoredKind::Exception | UnscoredKind::NotAsked => None,
    }
}

/// The run's name: the last part of its directory.
pub(in crate::cli) fn run_name(path: &Path) -> String {
    path.canonicalize()
        .unwrap_or_else(|_| path.to_path_buf())
        .file_name()
        .map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// How a run that was stopped is told about.
pub(in crate::cli) fn stopped(reason: &str, scored: usize, answers: usize, cached: bool) -> Error {
    let kept = if cached { "every reply that arrived is in the cache" } else { "every reply that arrived is recorded" };
    Error::Stopped(format!(
        "stopped: {reason}; {scored} of {answers} answers are scored, {kept}; the same command goes on from there, \
         and rescore with the run's directory shows what is scored so far"
    ))
}

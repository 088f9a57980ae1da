//! `scholareval bench`: the rows of ScholarQABench's table, each as a preset over `score`.
//!
//! A row sets the scorers, gold and reference answers, instruction, number of sources, form of the claims and aspects;
//! judges come from the settings as for `score`. Its data set the questions: one that a system did not answer is an
//! error, unless allowed.

mod data;
mod rows;

use std::num::NonZeroUsize;
use std::path::Path;

use super::CommandContext;
use super::score::run_preset;
use crate::analysis::ASPECT_MEAN;
use crate::cli::ExitCode;
use crate::cli::args::BenchArgs;
use crate::cli::origin::Origin;
use crate::cli::settings::Settings;
use crate::domain::Role;
use crate::error::{Error, Result};
use crate::evaluation::Preset;
use crate::evaluation::options::{EvaluationOptions, ScorerOptions};
use crate::judge::kind::JudgeKind;
use crate::report::{Bench, BenchBlank};
use crate::scorer::prometheus::PROMETHEUS;
use crate::scorer::rubric::RUBRIC;
use rows::{ASPECTS, AT_MOST, BenchData, BenchRow, INSTRUCTION, TOP_N};

/// The options of `score` that the row determines, by argument.
const OF_THE_ROW: [&str; 12] = [
    "tests",
    "cases",
    "limit",
    "slice",
    "scorers",
    "references",
    "aspects",
    "no_reference",
    "instruction",
    "top_n",
    "entail",
    "at_most",
];

/// Runs the command.
///
/// # Errors
/// [`Error::Input`] when the row's data are missing or a system does not answer every question; else as `score`.
pub(super) fn run(args: &BenchArgs, context: &CommandContext<'_>) -> Result<ExitCode> {
    // A row with other settings has the benchmark's name and not its meaning; ignoring the flag
    // would hide that it had no effect.
    if let Some(id) = OF_THE_ROW.into_iter().find(|id| context.is_flag(id)) {
        return Err(Error::Usage(format!(
            "--{}: the row decides this; leave it out",
            id.replace('_', "-")
        )));
    }
    let row = BenchRow::of(&args.name)
        .ok_or_else(|| Error::Usage(format!("no row is called {}", args.name)))?;
    let path = data::find(row, &args.data)?;
    let mut score = args.score.clone();
    // Also before the settings are merged, since their checks ask which scorers run.
    set(row, &path, &mut score.options);
    let mut settings = Settings::load(&score, context.matches, context.environment)?;
    let blank = settle(row, &path, &mut settings)?;
    context.warn(&settings.warnings);
    let questions = data::load(row, &path, settings.options.scoring.mode())?;
    let table = Bench {
        name: row.id,
        data: path.display().to_string(),
        asked: questions.count(),
        coverage: Vec::new(),
        blank,
        legend: row.legends(),
    };
    let preset = Preset {
        asked: questions,
        allow_missing: args.allow_missing,
        name: row.id,
    };
    run_preset(&settings, context, preset, table)
}

/// Sets what the row determines. Of the scorers' options, the user keeps those that no row has.
fn set(row: &BenchRow, data: &Path, options: &mut EvaluationOptions) {
    let is_reference = row.data == BenchData::ReferenceAnswers;
    let is_test = row.data == BenchData::TestCases;
    // From nothing, so that an option that is added to scorers later does not leak into rows.
    let given = std::mem::take(&mut options.scorers);
    options.input.tests = is_test.then(|| data.to_path_buf());
    options.scorers = ScorerOptions {
        scorers: row.scorers(),
        references: is_reference.then(|| data.to_path_buf()),
        index_base: given.index_base,
        truncate: given.truncate,
        aspects: ASPECTS.iter().map(|aspect| (*aspect).to_owned()).collect(),
        aspect_rubrics: given.aspect_rubrics,
        instruction: INSTRUCTION.to_owned(),
        top_n: TOP_N,
        no_reference: *row.scorer == PROMETHEUS && !is_reference,
        entail: row.form,
        at_most: NonZeroUsize::new(AT_MOST).unwrap_or(given.at_most),
        ..ScorerOptions::default()
    };
}

/// Sets what the row determines again, in place of the config file's values, and drops scorers without a judge; returns
/// their columns with the reasons.
///
/// # Errors
/// [`Error::Settings`] if the config file restricts the cases.
fn settle(row: &BenchRow, data: &Path, settings: &mut Settings) -> Result<Vec<BenchBlank>> {
    let options = &mut settings.options;
    if !options.input.cases.is_empty() || options.input.limit.is_some() {
        let message = "bench scores whole rows; take cases and limit out of [score], or give it a config file without them";
        return Err(Error::Settings(message.to_owned()));
    }
    set(row, data, options);
    let mut judged = Vec::new();
    let mut without = Vec::new();
    for aspect in ASPECTS {
        if options.has_role(&Role::Aspect((*aspect).into())) {
            judged.push((*aspect).to_owned());
        } else {
            without.push(*aspect);
        }
    }
    let mut blank = Vec::new();
    if *row.scorer == PROMETHEUS && !judged.is_empty() && !without.is_empty() {
        let roles = without.join(", aspect.");
        // Their mean would be that of other aspects than published.
        without.push(ASPECT_MEAN);
        blank.push(BenchBlank {
            columns: without,
            reason: format!("no judge has the roles aspect.{roles}"),
        });
    }
    if !judged.is_empty() {
        options.scorers.aspects = judged;
    }
    if *row.scorer == RUBRIC && baseline_by_default(settings) {
        settings
            .options
            .scorers
            .scorers
            .retain(|scorer| **scorer != RUBRIC);
        let why = "no LLM has the role rubric; give --model or --base-url, or --judge lexical for the built-in baseline";
        settings.warnings.push(format!("score stays blank: {why}"));
        blank.push(BenchBlank {
            columns: vec!["score"],
            reason: why.to_owned(),
        });
    }
    Ok(blank)
}

/// True if the built-in baseline would judge the rubric only because no other judge is configured: its numbers must not
/// appear in a column for LLMs.
fn baseline_by_default(settings: &Settings) -> bool {
    if settings.options.judge.kind() != JudgeKind::Lexical {
        return false;
    }
    let has_other_judge = settings.options.roles.judges.contains_key("rubric");
    let is_default = settings
        .lines
        .iter()
        .any(|line| line.key == "judge.kind" && line.origin == Origin::Default);
    is_default && !has_other_judge
}

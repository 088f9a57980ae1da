//! `scholareval bench`: the rows of ScholarQABench's own table, each as a preset over `score`.
//!
//! A row sets the scorers, gold and reference answers, instruction, number of sources, form of the claims and aspects;
//! judges come from the settings as for `score`. Its data set the questions: one that a system did not answer is an
//! error, unless allowed.

mod data;
mod rows;

use std::num::NonZeroUsize;
use std::path::Path;

use super::score::run_preset;
use super::{Context, warn};
use crate::cli::ExitCode;
use crate::cli::args::{BenchArgs, ScoreArgs};
use crate::cli::origin::{Origin, SettingLine};
use crate::cli::settings::Settings;
use crate::domain::Role;
use crate::error::{Error, Result};
use crate::evaluation::Preset;
use crate::evaluation::options::{EvaluationOptions, InputOptions, ScorerName, ScorerOptions};
use crate::judge::kind::JudgeKind;
use crate::report::{Bench, BenchBlank};
use rows::{ASPECTS, AT_MOST, Data, INSTRUCTION, Row, TOP_N};

/// Runs the command.
///
/// # Errors
/// [`Error::Input`] when the row's data are missing or a system does not answer every question; else as `score`.
pub(super) fn run(args: &BenchArgs, context: &Context<'_>) -> Result<ExitCode> {
    let row = Row::of(&args.name).ok_or_else(|| Error::Usage(format!("no row is called {}", args.name)))?;
    let path = data::find(row, &args.data)?;
    let score_args = score_args(row, args, &path);
    let mut settings = Settings::load(&score_args, context.matches, context.environment)?;
    let blank = settle(row, &mut settings, &score_args.options)?;
    warn(&settings);
    let asked = data::load(row, &path, settings.options.scoring.mode())?;
    let table = Bench {
        name: row.id,
        data: path.display().to_string(),
        asked: asked.count(),
        columns: row.all_columns(),
        coverage: Vec::new(),
        blank,
        legend: row.legends(),
    };
    let preset = Preset { asked, allow_missing: args.allow_missing, name: row.id };
    run_preset(&settings, context, preset, table)
}

/// The row as the arguments of `score`.
fn score_args(row: &Row, args: &BenchArgs, data: &Path) -> ScoreArgs {
    let given = |wanted: bool| wanted.then(|| data.to_path_buf());
    let default = ScorerOptions::default();
    ScoreArgs {
        config: args.config.clone(),
        options: EvaluationOptions {
            input: InputOptions {
                answers: args.predictions.clone(),
                tests: given(row.data == Data::TestCases),
                systems: args.systems.clone(),
                strict: args.strict,
                ..InputOptions::default()
            },
            scoring: args.scoring.clone(),
            scorers: ScorerOptions {
                scorers: row.scorers(),
                references: given(row.data == Data::ReferenceAnswers),
                index_base: args.index_base.unwrap_or_default(),
                truncate: args.truncate,
                aspects: ASPECTS.iter().map(|aspect| (*aspect).to_owned()).collect(),
                aspect_rubrics: args.aspect_rubrics.clone(),
                instruction: INSTRUCTION.to_owned(),
                top_n: TOP_N,
                no_reference: row.scorer == ScorerName::Prometheus && row.data != Data::ReferenceAnswers,
                entail: row.form,
                at_most: NonZeroUsize::new(AT_MOST).unwrap_or(default.at_most),
                ..default
            },
            judge: args.judge.clone(),
            limits: args.limits.clone(),
            cache: args.cache.clone(),
            output: args.output.clone(),
            ..EvaluationOptions::default()
        },
        display: args.display.clone(),
        ..ScoreArgs::default()
    }
}

/// Resets config file settings that the row determines, and drops scorers without a judge; returns their columns with
/// the reasons.
///
/// # Errors
/// [`Error::Settings`] if the config file restricts the cases.
fn settle(row: &Row, settings: &mut Settings, of_row: &EvaluationOptions) -> Result<Vec<BenchBlank>> {
    let options = &mut settings.options;
    if !options.input.cases.is_empty() || options.input.limit.is_some() {
        let what =
            "bench scores whole rows; take cases and limit out of [score], or give it a config file without them";
        return Err(Error::Settings(what.to_owned()));
    }
    options.input.tests.clone_from(&of_row.input.tests);
    let ScorerOptions { truncate, aspect_rubrics, .. } = options.scorers.clone();
    options.scorers = ScorerOptions { truncate, aspect_rubrics, ..of_row.scorers.clone() };
    let has_judge = |aspect: &str| options.has_role(&Role::Aspect(aspect.into()));
    let (judged, without): (Vec<&'static str>, Vec<&'static str>) = ASPECTS.iter().partition(|a| has_judge(a));
    let mut blank = Vec::new();
    if row.scorer == ScorerName::Prometheus && !judged.is_empty() && !without.is_empty() {
        let reason = format!("no judge has the roles aspect.{}", without.join(", aspect."));
        blank.push(BenchBlank { columns: without.into_iter().chain(["llm"]).collect(), reason });
    }
    if !judged.is_empty() {
        options.scorers.aspects = judged.into_iter().map(str::to_owned).collect();
    }
    if row.scorer == ScorerName::Rubric && baseline_by_default(settings) {
        settings.options.scorers.scorers.retain(|scorer| *scorer != ScorerName::Rubric);
        let why =
            "no LLM has the role rubric; give --model or --base-url, or --judge lexical for the built-in baseline";
        settings.warnings.push(format!("rub stays blank: {why}"));
        blank.push(BenchBlank { columns: vec!["rub"], reason: why.to_owned() });
    }
    Ok(blank)
}

/// True if the built-in baseline would judge the rubric only because no other judge is configured: its numbers must not
/// appear in a column for LLMs.
fn baseline_by_default(settings: &Settings) -> bool {
    let by_default = |line: &SettingLine| line.key == "judge.kind" && line.origin == Origin::Default;
    settings.options.judge.kind() == JudgeKind::Lexical
        && !settings.options.roles.judges.contains_key("rubric")
        && settings.describe().iter().any(by_default)
}

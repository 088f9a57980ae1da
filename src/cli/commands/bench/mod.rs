//! `scholareval bench`: the rows of ScholarQABench's own table, each as a preset over `score`.
//!
//! A row decides the scorers, golds and reference answers, instruction, number of sources, form of the claims and
//! aspects; judges come from the settings as for `score`. Its data decide which questions there are: whatever a system
//! did not answer is an error, unless it is allowed.

mod data;
mod rows;

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use super::score::score_with;
use super::{Context, told};
use crate::cli::ExitCode;
use crate::cli::args::{BenchArgs, BudgetArgs, InputArgs, ScoreArgs, ScorerArgs};
use crate::cli::origin::Origin;
use crate::cli::scoring::preset::Preset;
use crate::cli::settings::value::{FirstIndex, Names, ScorerNames};
use crate::cli::settings::{JudgeKind, ScorerName, Settings, keys};
use crate::cli::terminal;
use crate::domain::Role;
use crate::error::{Error, Result};
use crate::report::{Bench, BenchBlank};
use rows::{ASPECTS, AT_MOST, Data, INSTRUCTION, ROWS, Row, TOP_N};

/// Runs the command.
///
/// # Errors
/// [`Error::Input`] where the row's data are not there or a system does not answer every question; else as `score`.
pub(super) fn run(args: &BenchArgs, context: &Context<'_>) -> Result<ExitCode> {
    if args.list {
        terminal::write_text(&list(args.data.as_deref()))?;
        return Ok(ExitCode::Ok);
    }
    let (Some(row), Some(data)) = (args.name.as_deref().and_then(Row::of), &args.data) else {
        return Err(Error::Usage(
            "name a row and its data: scholareval bench NAME PREDICTIONS.. --data DIR".to_owned(),
        ));
    };
    let path = data::find(row, data)?;
    let mut settings = Settings::load(&score_args(row, args, &path), context.environment)?;
    let blank = settle(row, &mut settings, &path)?;
    let settings = told(settings);
    let asked = data::load(row, &path, settings.score.mode)?;
    let table = Bench {
        name: row.id,
        data: path.display().to_string(),
        asked: asked.len(),
        columns: row.all_columns(),
        coverage: Vec::new(),
        blank,
        legend: row.legends(),
    };
    let preset = Preset { asked, allow_missing: args.allow_missing, table };
    score_with(&settings, context, Some(&preset))
}

/// The row as the arguments of `score`.
fn score_args(row: &Row, args: &BenchArgs, data: &Path) -> ScoreArgs {
    let given = |wanted: bool| wanted.then(|| data.to_path_buf());
    ScoreArgs {
        input: InputArgs {
            answers: args.predictions.clone(),
            tests: given(row.data == Data::TestCases),
            systems: args.systems.clone(),
            config: args.config.clone(),
            strict: args.strict,
            ..InputArgs::default()
        },
        scoring: args.scoring.clone(),
        scorers: ScorerArgs {
            scorers: Some(ScorerNames(row.scorers())),
            references: given(row.data == Data::ReferenceAnswers),
            index_base: Some(args.index_base.unwrap_or(FirstIndex(0))),
            truncate: args.truncate,
            aspects: Some(Names(ASPECTS.iter().map(|aspect| (*aspect).to_owned()).collect())),
            aspect_rubrics: args.aspect_rubrics.clone(),
            instruction: Some(INSTRUCTION.to_owned()),
            top_n: Some(TOP_N),
            entail: Some(row.form),
            at_most: NonZeroUsize::new(AT_MOST),
            ..ScorerArgs::default()
        },
        judge: args.judge.clone(),
        limits: args.limits.clone(),
        budget: BudgetArgs::default(),
        cache: args.cache.clone(),
        output: args.output.clone(),
    }
}

/// Takes back what a config file says of matters that the row decides, and leaves out what nobody judges: the
/// columns with the reasons.
///
/// # Errors
/// [`Error::Settings`] where the config file narrows the cases.
fn settle(row: &Row, settings: &mut Settings, data: &Path) -> Result<Vec<BenchBlank>> {
    if settings.score.cases.is_some() || settings.score.limit.is_some() {
        let what =
            "bench scores whole rows; take cases and limit out of [score], or give it a config file without them";
        return Err(Error::Settings(what.to_owned()));
    }
    let given = |wanted: bool| -> Option<PathBuf> { wanted.then(|| data.to_path_buf()) };
    settings.score.tests = given(row.data == Data::TestCases);
    settings.scorers.references = given(row.data == Data::ReferenceAnswers);
    settings.scorers.no_reference = row.scorer == ScorerName::Prometheus && row.data != Data::ReferenceAnswers;
    settings.scorers.max_words = None;
    let has_judge = |aspect: &str| settings.has_role(&Role::Aspect(aspect.into()));
    let (judged, without): (Vec<&'static str>, Vec<&'static str>) = ASPECTS.iter().partition(|a| has_judge(a));
    let mut blank = Vec::new();
    if row.scorer == ScorerName::Prometheus && !judged.is_empty() && !without.is_empty() {
        let reason = format!("no judge has the roles aspect.{}", without.join(", aspect."));
        blank.push(BenchBlank { columns: without.into_iter().chain(["llm"]).collect(), reason });
    }
    if !judged.is_empty() {
        settings.scorers.aspects = Some(judged.into_iter().map(str::to_owned).collect());
    }
    if row.scorer == ScorerName::Rubric && baseline_by_default(settings) {
        let names = settings.scorers.names.get_or_insert_default();
        names.retain(|scorer| *scorer != ScorerName::Rubric);
        let why =
            "no LLM has the role rubric; give --model or --base-url, or --judge lexical for the built-in baseline";
        settings.warnings.push(format!("rub stays blank: {why}"));
        blank.push(BenchBlank { columns: vec!["rub"], reason: why.to_owned() });
    }
    Ok(blank)
}

/// True if the built-in baseline would judge the rubric only because nobody else was named: its numbers are not to stand
/// in a column that is an LLM's.
fn baseline_by_default(settings: &Settings) -> bool {
    let by_default =
        |line: &crate::cli::origin::SettingLine| line.key == keys::KIND.name && line.origin == Origin::Default;
    settings.judge.kind == JudgeKind::Lexical
        && !settings.roles.contains_key(&Role::Rubric)
        && settings.describe().iter().any(by_default)
}

/// The rows with what each needs; with a data directory also what is there.
fn list(data: Option<&Path>) -> String {
    let mut out = String::from("Rows of ScholarQABench, scored by: scholareval bench NAME PREDICTIONS.. --data DIR\n");
    for row in &ROWS {
        let columns: Vec<&str> = row.all_columns().iter().map(|column| column.name).collect();
        let roles: Vec<String> = row.roles().iter().map(|role| role.name().into_owned()).collect();
        let corr = if row.scorer == ScorerName::Overlap { "; corr needs none" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "\n{}: {}\n  columns  {}\n  judges   {}{corr}\n  data     {}\n",
            row.id,
            row.task,
            columns.join(", "),
            roles.join(", "),
            row.places().join(" or "),
        );
        if let Some(data) = data {
            let found = match data::find(row, data) {
                Ok(path) => path.display().to_string(),
                Err(_) => "nothing".to_owned(),
            };
            let _ = writeln!(out, "  found    {}", terminal::escaped_lines(&found));
        }
    }
    out
}

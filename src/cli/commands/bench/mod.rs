//! `scholareval bench`: the rows of ScholarQABench's table, each as a preset over `score`.
//!
//! A row sets the scorers, gold and reference answers, instruction, number of sources, form of the claims and aspects;
//! judges come from the settings as for `score`. Its data set the questions: one that a system did not answer is an
//! error, unless allowed.

mod data;
mod rows;

use std::path::Path;

use super::score::{RunTable, evaluation, score};
use super::{CommandContext, runtime};
use crate::analysis::ASPECT_MEAN;
use crate::cli::ExitCode;
use crate::cli::args::BenchArgs;
use crate::cli::origin::Origin;
use crate::cli::settings::Settings;
use crate::domain::Role;
use crate::error::{Error, Result};
use crate::evaluation::Preset;
use crate::evaluation::options::EvaluationOptions;
use crate::judge::kind::JudgeKind;
use crate::report::{Bench, BenchBlank};
use crate::scorer::entailment::EntailmentOptions;
use crate::scorer::prometheus::{AspectOptions, PROMETHEUS};
use crate::scorer::rubric::RUBRIC;
use rows::{ASPECTS, AT_MOST, BenchData, BenchRow, INSTRUCTION, TOP_N};

/// Runs the command.
///
/// # Errors
/// [`Error::Input`] when the row's data are missing or a system does not answer every question; else as `score`.
pub(super) fn run(args: &BenchArgs, context: &CommandContext<'_>) -> Result<ExitCode> {
    let row = BenchRow::of(&args.name)
        .ok_or_else(|| Error::Usage(format!("no row is called {}", args.name)))?;
    let path = data::find(row, &args.data)?;
    let decide = |options: &mut EvaluationOptions| set(row, &path, options);
    let mut settings = Settings::load(args, decide, context.matches, context.environment)?;
    let blank = settle(row, &mut settings);
    context.warn(&settings.warnings);
    let questions = data::load(row, &path, settings.options.scoring.mode())?;
    let mut table = Bench {
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
    let evaluation = evaluation(&settings, context).preset(preset);
    runtime()?.block_on(async {
        let prepared = evaluation.prepare().await?;
        table.coverage.clone_from(&prepared.inputs.coverage);
        for (scorer, why) in &prepared.choice.left_out {
            table.leave_out(scorer.name, why);
        }
        let shown = RunTable {
            bench: Some(&table),
            ..RunTable::default()
        };
        score(prepared, &settings, context, shown).await
    })
}

/// Sets what the row determines. Of the scorers' options, the user keeps those that no row has.
fn set(row: &BenchRow, data: &Path, options: &mut EvaluationOptions) {
    let is_reference = row.data == BenchData::ReferenceAnswers;
    let is_test = row.data == BenchData::TestCases;
    options.cases.tests = is_test.then(|| data.to_path_buf());
    let scorers = &mut options.scorers;
    scorers.scorers = row.scorers();
    scorers.gold.references = is_reference.then(|| data.to_path_buf());
    scorers.built_in.aspects = AspectOptions {
        aspects: ASPECTS.iter().map(|aspect| (*aspect).to_owned()).collect(),
        no_reference: *row.scorer == PROMETHEUS && !is_reference,
        instruction: INSTRUCTION.to_owned(),
        top_n: TOP_N,
    };
    scorers.built_in.entailment = EntailmentOptions {
        entail: row.form,
        at_most: AT_MOST,
    };
}

/// Drops aspects and scorers without a judge; returns their columns with the reasons.
fn settle(row: &BenchRow, settings: &mut Settings) -> Vec<BenchBlank> {
    let options = &mut settings.options;
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
        options.scorers.built_in.aspects.aspects = judged;
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
    blank
}

/// True if the built-in baseline would judge the rubric only because no other judge is configured: its numbers must not
/// appear in a column for LLMs.
fn baseline_by_default(settings: &Settings) -> bool {
    if settings.options.judge.kind() != JudgeKind::Lexical {
        return false;
    }
    let has_other_judge = settings.options.roles.judges.contains_key("rubric");
    let mut lines = settings.lines.iter();
    let is_default = lines.any(|line| line.key == "judge.kind" && line.origin == Origin::Default);
    is_default && !has_other_judge
}

//! Reads, checks and pairs the input files of a run.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use serde_json::Value;

use crate::dataset::{
    self, AnswerOptions, InputFile, PairOptions, ReferencesBlock, ScorableOptions, Support,
    SystemAnswers,
};
use crate::domain::{
    BatchSize, CaseId, IndexBase, Item, Mode, ReplyForm, Report, RubricProfile, SystemName,
    TestCase,
};
use crate::error::{Error, Result};
use crate::text::perturbation::Perturbation;

use super::options::{EvaluationOptions, ScorerName};
use super::preset::{Checked, Coverage, Preset};
use crate::record::THINKING;

/// All input of a run.
pub struct LoadedInputs {
    /// Answers paired with their test cases, systems in name order, cases in file order; empty without tests. Texts of
    /// large files are [left there](crate::domain::Answer::left_in).
    pub rubric: Arc<[Item]>,
    /// Every answer once, for scorers that need no rubric.
    pub plain: Arc<[Item]>,
    /// How criteria are read, asked and counted.
    pub profile: RubricProfile,
    /// How many answers have what each scorer needs.
    pub support: Support,
    /// Every test case of the file: the lexical judge's corpus.
    pub all_cases: Vec<Arc<TestCase>>,
    /// Ids of the cases in use, in file order.
    pub kept_cases: Vec<CaseId>,
    /// Systems and cases without an answer.
    pub missing: Vec<(SystemName, CaseId)>,
    /// Files with hashes.
    pub files: Vec<InputFile>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Which fields were guessed, what was removed or joined, and by which field.
    pub notes: Vec<String>,
    /// Run settings: fields of answers with other names than expected, and whether `<think>` blocks are kept.
    pub settings: BTreeMap<String, Value>,
    /// Share of a benchmark's questions that each system answered; empty without a benchmark.
    pub coverage: Vec<Coverage>,
}

impl LoadedInputs {
    /// Reads, checks and pairs all input files. For a row of a benchmark, only answers to its questions are kept.
    /// Perturbed answers are those of further systems.
    ///
    /// # Errors
    /// Every fault of every file at once where they can be found independently; see `dataset`. When a system does not
    /// answer every question of the row.
    pub(super) fn load(
        settings: &EvaluationOptions,
        preset: Option<&Preset>,
        perturbations: &[Perturbation],
    ) -> Result<Self> {
        let (input, mode) = (&settings.input, settings.scoring.mode());
        check_given(settings)?;
        let rubric = settings.scorers.rubric.as_deref();
        let (tests, profile) = match &input.tests {
            Some(path) => dataset::load_tests(path, mode, rubric, input.partial_logs)
                .map(|(tests, profile)| (Some(tests), profile))?,
            None => (None, dataset::rubric_profile(rubric)?),
        };
        let profile = with_batch(profile, settings)?;
        let reading = AnswerOptions {
            mode,
            fields: input.fields.clone(),
            id_field: profile.case.id.clone(),
            keep_thinking: input.keep_thinking,
            leave_texts: preset.is_none(),
            reports: profile.report,
            partial_logs: input.partial_logs,
            systems: input.systems.clone(),
        };
        let (systems, read_notes) = reading.load(&input.answers)?;
        let Checked {
            systems,
            coverage,
            warnings,
            notes,
        } = match preset {
            Some(preset) => preset.check(systems, input.strict)?,
            None => Checked {
                systems,
                ..Checked::default()
            },
        };
        let references = settings
            .scorers
            .references
            .as_deref()
            .map(dataset::load_references)
            .transpose()?;
        // The sources of a report are not part of its text.
        let appended =
            settings.scorers.references_block == ReferencesBlock::Append && !profile.report;
        let index_base = settings.scorers.index_base;
        let options = ScorableOptions {
            pairing: PairOptions {
                agreement: settings.scoring.agreement,
                compat: mode == Mode::Compat,
                cases: (!input.cases.is_empty()).then(|| input.cases.clone()),
                limit: input.limit.map(NonZeroUsize::get),
                strict: input.strict,
            },
            block: appended.then_some(index_base),
        };
        let mut made = dataset::scorable(tests.as_ref(), &systems, references.as_ref(), &options)?;
        if profile.report {
            made.notes.extend(as_reports(&mut made.rubric, index_base));
        }
        let is_scored = |read: &&SystemAnswers| {
            made.files
                .iter()
                .any(|file| file.name == read.system.as_str())
        };
        let mut settings: BTreeMap<String, Value> = BTreeMap::new();
        for read in systems.iter().filter(is_scored) {
            if read.thinking > 0 {
                let what = if reading.keeps_thinking() {
                    "kept"
                } else {
                    "removed"
                };
                settings.insert(THINKING.to_owned(), what.into());
            }
            if !read.renamed.is_empty() {
                settings.insert(
                    format!("score.fields.{}", read.system),
                    read.renamed.as_str().into(),
                );
            }
        }
        let questions = preset
            .map(|preset| &preset.asked)
            .filter(|asked| !asked.are_test_cases);
        let questions =
            questions.map(|asked| InputFile::new("questions", &asked.path, asked.blake3));
        let mut support = dataset::supports(&made);
        if profile.report && mode == Mode::Compat {
            // The reference scores reports of cases without ingredients as well.
            support.criteria = made.rubric.len();
        }
        let holds = |system: &SystemName, case: &CaseId| {
            input.slice.is_none_or(|slice| slice.holds(system, case))
        };
        made.rubric
            .retain(|item| holds(&item.answer.system, &item.case.case_id));
        made.plain
            .retain(|item| holds(&item.answer.system, &item.case.case_id));
        made.missing.retain(|(system, case)| holds(system, case));
        add_perturbed(&mut made.rubric, perturbations)?;
        add_perturbed(&mut made.plain, perturbations)?;
        let rubric: Arc<[Item]> = made.rubric.into();
        // An answer in both lists is the same in both.
        let is_same = |(one, other): (&Item, &Item)| {
            Arc::ptr_eq(&one.case, &other.case) && one.answer.system == other.answer.system
        };
        let are_same =
            rubric.len() == made.plain.len() && rubric.iter().zip(&made.plain).all(is_same);
        Ok(Self {
            profile,
            support,
            plain: if are_same {
                Arc::clone(&rubric)
            } else {
                made.plain.into()
            },
            rubric,
            all_cases: tests.map(|tests| tests.cases).unwrap_or_default(),
            kept_cases: made.kept_cases,
            missing: made.missing,
            files: made.files.into_iter().chain(questions).collect(),
            warnings: once(warnings.into_iter().chain(made.warnings).collect()),
            notes: read_notes
                .into_iter()
                .chain(notes)
                .chain(made.notes)
                .collect(),
            settings,
            coverage,
        })
    }
}

/// Gives plain texts a report that cites the sources of their predictions; a note counts them.
fn as_reports(items: &mut [Item], index_base: IndexBase) -> Option<String> {
    let mut plain = 0;
    for answer in items
        .iter_mut()
        .map(|item| &mut item.answer)
        .filter(|answer| answer.report.is_none())
    {
        plain += 1;
        if let Some(prediction) = answer
            .prediction
            .as_deref()
            .filter(|own| !own.sources.is_empty())
        {
            let report = Report::of_text(answer.own_text(), Some((prediction, index_base)));
            answer.report = Some(report.into());
        }
    }
    let what =
        "answers are plain texts, each judged as one section that cites its sources by number";
    (plain > 0).then(|| format!("{plain} of {} {what}", items.len()))
}

/// Adds each answer with each of the perturbations that changes it.
///
/// # Errors
/// When a system has the name of perturbed answers, or a text cannot be read.
fn add_perturbed(items: &mut Vec<Item>, perturbations: &[Perturbation]) -> Result<()> {
    let systems: HashSet<SystemName> = items
        .iter()
        .map(|item| item.answer.system.clone())
        .collect();
    let mut added = Vec::new();
    for perturbation in perturbations {
        for item in items.iter() {
            added.extend(dataset::perturbed(item, *perturbation)?);
        }
    }
    if let Some(item) = added
        .iter()
        .find(|item| systems.contains(&item.answer.system))
    {
        let name = item.answer.system.as_str();
        return Err(Error::Settings(format!(
            "the system {name:?} has the name of perturbed answers; rename its file"
        )));
    }
    items.extend(added);
    Ok(())
}

/// The profile with the number of criteria a call of the options.
fn with_batch(profile: RubricProfile, settings: &EvaluationOptions) -> Result<RubricProfile> {
    let batch = settings
        .scorers
        .criteria_per_call
        .map_or(profile.batch, |BatchSize(size)| size);
    let profile = RubricProfile { batch, ..profile };
    let of_reference = usize::from(!profile.report && profile.reply.second.is_empty());
    if settings.scoring.compat
        && profile.batch != of_reference
        && profile.reply.form == ReplyForm::Object
    {
        let what = "--compat asks as many criteria a call as the reference of this rubric; leave --criteria-per-call out";
        return Err(Error::Usage(what.to_owned()));
    }
    Ok(profile)
}

/// Rejects a run without answers, and a rubric without test cases.
fn check_given(settings: &EvaluationOptions) -> Result<()> {
    let usage = |what: &str| Err(Error::Usage(what.to_owned()));
    if settings.input.answers.is_empty() {
        return usage(
            "no answers given; name JSONL files or a directory of them: scholareval score ANSWERS..",
        );
    }
    let needs_tests = [ScorerName::Rubric, ScorerName::Criteria]
        .iter()
        .any(|name| settings.scorers.names(*name));
    if settings.input.tests.is_none() && needs_tests {
        return usage(
            "no test cases given; add --tests FILE, or tests = \"FILE\" under [score] in the config file",
        );
    }
    Ok(())
}

/// A file may be read twice, as answers and as references; its warnings are shown once.
fn once(mut warnings: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    warnings.retain(|warning| seen.insert(warning.clone()));
    warnings
}

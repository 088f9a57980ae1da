//! Reads, checks and pairs the input files of a run.
//!
//! Options name files; files are read in parallel, answers are paired with cases, and the items are
//! the order in which everything later works.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::dataset::{
    self, AnswerOptions, InputFile, PairOptions, ReferencesBlock, ScorableOptions, SelectedAnswers,
    SelectedItems, Support, SystemAnswers, TestCases, load_selected,
};
use crate::domain::{
    BatchSize, CaseId, IndexBase, Item, Mode, ReplyForm, Report, Role, RubricProfile, SubjectKind,
    SystemName, TestCase,
};
use crate::error::{Error, InputFault, Result};

use super::options::EvaluationOptions;
use super::pairs::{PairOrders, PairTerms};
use super::preset::{CheckedSystems, Preset, QuestionCoverage};
use super::scorers::needs_rubric;
use crate::prompt::PromptSet;
use crate::question::{CITATION_GROUP, CRITERIA};
use crate::record::{KEPT_ERRORS, PAIRS_SETTING, SELECTED_SETTING, THINKING};
use crate::scorer::Scorer;

/// A note on pairs whose second order could only be left out at a look.
const NO_LOOKS: &str = "--orders auto shows every pair in both orders without --until, which decides where one order suffices";

/// The setting with the label of the prompts about cited groups.
pub(super) const CITATION_PROMPTS: &str = "scorer.criteria.prompts";

/// The run setting of reasoning that is not judged.
pub(super) const REMOVED: &str = "removed";

/// All input of a run.
pub struct LoadedInputs {
    /// What is scored.
    pub subject: SubjectKind,
    /// Answers paired with their test cases, systems in name order, cases in file order; empty without tests. Texts of
    /// large files are [left there](crate::domain::Answer::left_in).
    pub rubric: Arc<[Item]>,
    /// Every answer once, for scorers that need no rubric; of pairs these.
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
    /// Sentences about test cases and answers that were read and do not count.
    pub uncounted: Vec<String>,
    /// Which fields were guessed, what was removed or joined, and by which field.
    pub notes: Vec<String>,
    /// Run settings: fields of answers with other names than expected, and whether reasoning is kept.
    pub settings: BTreeMap<String, Value>,
    /// Records in the files of works in which references were looked up, by source; empty without such files.
    pub work_records: Vec<(String, u64)>,
    /// The items of each answer that the judge is asked for; empty if for all of them.
    pub selected_items: Arc<SelectedItems>,
    /// Share of a benchmark's questions that each system answered; empty without a benchmark.
    pub coverage: Vec<QuestionCoverage>,
}

impl LoadedInputs {
    /// Reads, checks and pairs all input files. For a row of a benchmark, only answers to its questions are kept.
    ///
    /// # Errors
    /// Every fault of every file at once where they can be found independently; see `dataset`. When a system does not
    /// answer every question of the row.
    pub(super) fn load(options: &EvaluationOptions, preset: Option<&Preset>) -> Result<Self> {
        check_given(options)?;
        let input = &options.input;
        let mode = options.scoring.mode();
        let (tests, profile) = load_tests(options)?;
        let profile = with_batch(profile, options)?;
        let reading = answer_options(options, &profile, preset.is_none());
        let (systems, read_notes) = reading.load(&input.answers)?;
        let checked = match preset {
            Some(preset) => preset.check(systems, input.strict)?,
            None => CheckedSystems {
                systems,
                ..CheckedSystems::default()
            },
        };
        let references = match &options.scorers.gold.references {
            Some(path) => Some(dataset::load_references(path)?),
            None => None,
        };
        let systems = checked.systems;
        let pairing = scorable_options(options, &profile);
        let mut scorable =
            dataset::scorable(tests.as_ref(), &systems, references.as_ref(), &pairing)?;
        if profile.report {
            let index_base = options.scorers.built_in.markers.index_base;
            scorable
                .notes
                .extend(as_reports(&mut scorable.rubric, index_base));
        }
        let mut settings = reading_settings(&systems, &scorable.files, &reading);
        settings.extend(preset.map(|preset| ("bench".to_owned(), preset.name.into())));
        // Support counts whole files: a slice runs the same scorers as all slices together.
        let mut support = dataset::supports(&scorable);
        if profile.report && mode == Mode::Compat {
            // The reference scores reports of cases without ingredients as well.
            support.criteria = scorable.rubric.len();
        }
        let (rubric, plain) = shared(scorable.rubric, scorable.plain);
        let mut files = scorable.files;
        files.extend(preset.and_then(questions_file));
        let mut warnings = checked.warnings;
        warnings.extend(scorable.warnings);
        let mut notes = read_notes;
        notes.extend(checked.notes);
        notes.extend(scorable.notes);
        Ok(Self {
            subject: SubjectKind::Answer,
            rubric,
            plain,
            profile,
            support,
            all_cases: tests.map(|tests| tests.cases).unwrap_or_default(),
            kept_cases: scorable.kept_cases,
            missing: scorable.missing,
            files,
            warnings: once(warnings),
            uncounted: scorable.uncounted,
            notes,
            settings,
            work_records: Vec::new(),
            selected_items: Arc::default(),
            coverage: checked.coverage,
        })
    }

    /// The answers that this scorer scores.
    pub(super) fn items(&self, scorer: &dyn Scorer) -> &Arc<[Item]> {
        if needs_rubric(scorer) && self.has_tests() {
            &self.rubric
        } else {
            &self.plain
        }
    }

    /// The number of answers of a run by these scorers, whose first one has every answer.
    pub(super) fn answers(&self, scorers: &[Arc<dyn Scorer>]) -> u64 {
        let items = scorers.first().map(|scorer| self.items(&**scorer));
        items.unwrap_or(&self.plain).len() as u64
    }

    /// Names of the systems and cases without an answer, for the manifest.
    pub(super) fn missing_names(&self) -> Vec<(String, String)> {
        let mut names = Vec::new();
        for (system, case) in &self.missing {
            names.push((system.to_string(), case.to_string()));
        }
        names
    }

    /// Whether there are test cases.
    pub(super) fn has_tests(&self) -> bool {
        !self.all_cases.is_empty()
    }

    /// Keeps the answers for which `keep` is true.
    pub(super) fn retain(&mut self, keep: impl Fn(&Item) -> bool) {
        let kept = |items: &[Item]| items.iter().filter(|item| keep(item)).cloned().collect();
        // One list again: after a filter the two would be separate copies of every text.
        (self.rubric, self.plain) = shared(kept(&self.rubric), kept(&self.plain));
    }

    /// Keeps the answers that a file names, and records which they are.
    ///
    /// # Errors
    /// As [`load_selected`]; for answers that are not among those to score.
    fn keep_selected(&mut self, path: &Path) -> Result<()> {
        let SelectedAnswers {
            answers,
            items,
            recorded,
            ..
        } = load_selected(path)?;
        let mut unknown = answers.clone();
        for item in self.rubric.iter().chain(self.plain.iter()) {
            unknown.remove(&(item.system(), item.case.case_id.clone()));
        }
        if let Some((system, case)) = unknown.iter().min() {
            let what = format!(
                "{} of its {} answers are not among the given ones, the first by {system}",
                unknown.len(),
                answers.len()
            );
            let fault = InputFault::new(path, what).of_case(case.as_str());
            return Err(fault.refuse("give the run, or the files, that they were selected from"));
        }
        self.retain(|item| answers.contains(&(item.system(), item.case.case_id.clone())));
        self.selected_items = items.into();
        // They were not asked for.
        self.missing.clear();
        self.settings
            .insert(SELECTED_SETTING.to_owned(), json!(recorded));
        Ok(())
    }

    /// The inputs with the selected answers only, if the options select any.
    ///
    /// # Errors
    /// As [`load_selected`]; for answers that are not among those to score.
    pub(super) fn selected(mut self, options: &EvaluationOptions) -> Result<Self> {
        if let Some(path) = &options.cases.selected {
            self.keep_selected(path)?;
        }
        Ok(self)
    }

    /// Puts the answers together in pairs, which then are what is scored, if they are to be compared.
    ///
    /// # Errors
    /// When the answers make no pairs.
    pub(super) fn pair_up(&mut self, options: &EvaluationOptions) -> Result<()> {
        let Some(choice) = &options.pairs else {
            return Ok(());
        };
        let has_looks = options.bounds.until.is_some();
        let terms = PairTerms {
            baseline: options.bounds.baseline.as_deref(),
            has_looks,
            seed: options.scoring.seed,
        };
        let known: HashSet<&CaseId> = self.all_cases.iter().map(|case| &case.case_id).collect();
        let mut answers = self.plain.to_vec();
        // With test cases only the answers to these.
        answers.retain(|item| known.is_empty() || known.contains(&item.case.case_id));
        let (pairs, chosen) = choice.pairs_of(&answers, terms)?;
        if chosen.orders == PairOrders::Auto && !has_looks {
            self.notes.push(NO_LOOKS.to_owned());
        }
        self.settings
            .insert(PAIRS_SETTING.to_owned(), json!(chosen));
        self.support.pairs = pairs.len();
        self.subject = SubjectKind::Pair;
        self.rubric = Arc::default();
        self.plain = pairs.into();
        Ok(())
    }

    /// # Errors
    /// When prompts have no place for fields of the case that the profile shows to the judge.
    pub(super) fn check_prompts(&self, prompts: Option<&PromptSet>) -> Result<()> {
        let shown = prompts.zip(self.profile.shown_paths().next());
        match shown.filter(|(prompts, _)| !prompts.shows(&CRITERIA, "question")) {
            None => Ok(()),
            Some((_, path)) => Err(Error::Settings(format!(
                "the profile shows {path} to the judge behind the question, but these prompts for criteria show no {{{{question}}}}; add it"
            ))),
        }
    }

    /// Takes from the prompts what concerns reports: the marker of a title is part of the imported wording of ScholarQA-CS2, and
    /// other rubrics have no titles to mark.
    pub(super) fn use_prompts(&mut self, prompts: Option<&PromptSet>) {
        let Some(prompts) = prompts.filter(|_| self.profile.report) else {
            self.profile.title_marker = String::new();
            return;
        };
        self.profile.title_marker = prompts.title_marker().to_owned();
        if let Some(family) = prompts.family(&CITATION_GROUP) {
            let label = family.label().into();
            self.settings.insert(CITATION_PROMPTS.to_owned(), label);
        }
    }

    /// Replaces both lists of answers.
    pub(super) fn set_lists(&mut self, rubric: Vec<Item>, plain: Vec<Item>) {
        (self.rubric, self.plain) = shared(rubric, plain);
    }
}

/// Both lists; one list where both are the same, so that texts and scores are not held twice.
fn shared(rubric: Vec<Item>, plain: Vec<Item>) -> (Arc<[Item]>, Arc<[Item]>) {
    let rubric: Arc<[Item]> = rubric.into();
    let plain = if are_same(&rubric, &plain) {
        Arc::clone(&rubric)
    } else {
        plain.into()
    };
    (rubric, plain)
}

/// The test cases, if there are any, with the profile of their rubrics.
fn load_tests(options: &EvaluationOptions) -> Result<(Option<TestCases>, RubricProfile)> {
    let rubric = options.cases.rubric.as_deref();
    let Some(path) = &options.cases.tests else {
        return Ok((None, dataset::rubric_profile(rubric)?));
    };
    let mode = options.scoring.mode();
    let (tests, profile) = dataset::load_tests(path, mode, rubric, options.input.partial_logs)?;
    Ok((Some(tests), profile))
}

/// How answer files are read; with `leave_texts`, the texts of large ones stay in their files.
fn answer_options(
    options: &EvaluationOptions,
    profile: &RubricProfile,
    leave_texts: bool,
) -> AnswerOptions {
    let input = &options.input;
    AnswerOptions {
        mode: options.scoring.mode(),
        fields: input.fields.clone(),
        id_field: profile.case.id.clone(),
        keep_thinking: input.keep_thinking,
        keep_errors: input.keep_errors,
        reasoning_tags: input.reasoning_tags.clone().unwrap_or_default(),
        leave_texts,
        reports: profile.report,
        partial_logs: input.partial_logs,
        systems: input.systems.clone(),
    }
}

/// How answers are paired with their cases.
fn scorable_options(options: &EvaluationOptions, profile: &RubricProfile) -> ScorableOptions {
    let cases = &options.cases;
    let built_in = &options.scorers.built_in;
    // The sources of a report are not part of its text.
    let appends_sources =
        options.asking.references_block == ReferencesBlock::Append && !profile.report;
    ScorableOptions {
        pairing: PairOptions {
            agreement: built_in.rubric.agreement,
            compat: options.scoring.mode() == Mode::Compat,
            cases: (!cases.cases.is_empty()).then(|| cases.cases.clone()),
            limit: cases.limit.map(NonZeroUsize::get),
            strict: options.input.strict,
        },
        block: appends_sources.then_some(built_in.markers.index_base),
    }
}

/// Run settings that come from reading: fields of answers that have other names than expected, and whether reasoning and
/// error texts were kept. Only files with an answer to score count.
fn reading_settings(
    systems: &[SystemAnswers],
    scored_files: &[InputFile],
    options: &AnswerOptions,
) -> BTreeMap<String, Value> {
    let mut settings = BTreeMap::new();
    for read in systems {
        let name = read.system.as_str();
        if !scored_files.iter().any(|file| file.name == name) {
            continue;
        }
        if read.thinking > 0 {
            let thinking = if options.keeps_thinking() {
                "kept"
            } else {
                REMOVED
            };
            settings.insert(THINKING.to_owned(), thinking.into());
        }
        if !read.error_texts.is_empty() {
            settings.insert(KEPT_ERRORS.to_owned(), options.keep_errors.into());
        }
        if !read.renamed.is_empty() {
            let renamed = read.renamed.as_str();
            settings.insert(format!("score.fields.{name}"), renamed.into());
        }
    }
    settings
}

/// The file of a benchmark's questions, unless it is the file of test cases, which is listed already.
fn questions_file(preset: &Preset) -> Option<InputFile> {
    let questions = &preset.asked;
    if questions.are_test_cases {
        return None;
    }
    Some(InputFile::new(
        "questions",
        &questions.path,
        questions.blake3,
    ))
}

/// Whether both lists have the same answers in the same order; an answer that is in both is equal in both.
fn are_same(rubric: &[Item], plain: &[Item]) -> bool {
    rubric.len() == plain.len()
        && rubric.iter().zip(plain).all(|(one, other)| {
            Arc::ptr_eq(&one.case, &other.case) && one.answer.system == other.answer.system
        })
}

/// Gives plain texts a report that cites the sources of their predictions; a note counts them.
fn as_reports(items: &mut [Item], index_base: IndexBase) -> Option<String> {
    let mut plain = 0;
    for item in items.iter_mut() {
        let answer = &mut item.answer;
        // Answers of one run may mix both forms, such as reports and a plain baseline.
        if answer.report.is_some() {
            continue;
        }
        plain += 1;
        if let Some(prediction) = answer.prediction.as_deref()
            && !prediction.sources.is_empty()
        {
            let report = Report::of_text(answer.own_text(), Some((prediction, index_base)));
            answer.report = Some(report.into());
        }
    }
    if plain == 0 {
        return None;
    }
    Some(format!(
        "{plain} of {} answers are plain texts, each judged as one section that cites its sources by number",
        items.len()
    ))
}

/// The profile with the number of criteria a call of the options.
fn with_batch(mut profile: RubricProfile, options: &EvaluationOptions) -> Result<RubricProfile> {
    // A decision model is asked criterion by criterion, whatever stands in one request.
    if options.is_decided(&Role::Criteria) {
        profile.batch = 1;
        return Ok(profile);
    }
    if let Some(BatchSize(size)) = options.scorers.built_in.rubric.criteria_per_call {
        profile.batch = size;
    }
    // ScholarQA-CS2 and RACE ask about all criteria of a case in one call (0), the other references about one.
    // A reply about eight criteria is another measurement than eight replies: the reference's
    // number needs its batches.
    let of_reference = usize::from(!profile.report && profile.reply.second.is_empty());
    let is_object = profile.reply.form == ReplyForm::Object;
    if options.scoring.compat && is_object && profile.batch != of_reference {
        let message = "--compat asks as many criteria a call as the reference of this rubric; leave --criteria-per-call out";
        return Err(Error::Usage(message.to_owned()));
    }
    Ok(profile)
}

/// Rejects a run without answers, and a rubric without test cases.
fn check_given(options: &EvaluationOptions) -> Result<()> {
    if options.input.answers.is_empty() {
        let message = "no answers given; name JSONL files or a directory of them: scholareval score ANSWERS..";
        return Err(Error::Usage(message.to_owned()));
    }
    let mut scorers = options.scorers.scorers.iter();
    let needs_tests = scorers.any(|scorer| scorer.scores_test_cases());
    if needs_tests && options.cases.tests.is_none() {
        let message = "no test cases given; add --tests FILE, or tests = \"FILE\" under [score] in the config file";
        return Err(Error::Usage(message.to_owned()));
    }
    Ok(())
}

/// A file may be read twice, as answers and as references; its warnings are shown once.
fn once(mut warnings: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    warnings.retain(|warning| seen.insert(warning.clone()));
    warnings
}

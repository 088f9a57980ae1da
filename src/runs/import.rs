//! Imports the reference script's results file as a run. Scores are taken unchanged, and checked against the rubrics. Logs of
//! Inspect become runs in `import_logs`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde_json::Value;

use crate::dataset::{
    self, AnswerOptions, InputFile, PairOptions, Pairing, RecordedAnswer, ResultsFile,
    ScorableOptions, SystemAnswers, TestCases, load_results, load_test_cases, no_faults, pair,
    scorable,
};
use crate::domain::{
    Answer, CaseId, Component, Item, Mode, RubricParts, Score, ScoredAnswer, SystemName, TestCase,
    UnscoredKind, UnscoredReason,
};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::options::ScoringOptions;
use crate::prompt::injection;
use crate::record::{
    IMPORTED, Inputs, JudgeEntry, Manifest, RoleEntry, RunDir, RunRecord, RunStatus,
};
use crate::scorer::citation::IndexBase;
use crate::scorer::rubric::RubricScorer;

/// Tolerance between a recorded number and that of its components; other summation orders differ by far less.
pub(super) const TOLERANCE: f64 = 1e-9;

const MODE_UNKNOWN: &str = "mode unknown, taken as compat (the reference script's); --mode default for files of scholareval's default mode";

/// Files to import, and the output directory.
#[derive(Debug, Clone, Args)]
pub struct ImportOptions {
    /// Results files, as rubric_eval.py and score --output write them, or logs of ScholarQA-CS2 (.eval, .json); several of
    /// different systems become one run
    #[arg(required = true, value_name = "RESULTS")]
    pub files: Vec<PathBuf>,
    /// Test cases that the answers were scored by [default for logs: those in the first]
    #[arg(long, value_name = "FILE")]
    pub tests: Option<PathBuf>,
    /// Directory of the new run
    #[arg(long, short, value_name = "DIR")]
    pub out: PathBuf,
    /// The answers, files or directories as for score: reports then show the texts behind the numbers
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub answers: Vec<PathBuf>,
    /// The judge's name, recorded as imported:NAME [default: a hash of the files]
    #[arg(long, value_name = "NAME")]
    pub judge: Option<String>,
    /// How the scores were computed: compat (the reference script's) or default (ours) [default: compat, unless a
    /// score is null or the lexical baseline's, which the script never writes]
    #[arg(long, value_enum, value_name = "MODE", hide_possible_values = true)]
    pub mode: Option<Mode>,
    /// Take what unfinished logs hold, and the first epoch of several
    #[arg(long)]
    pub partial_logs: bool,
    /// The run's name [default: that of its directory]
    #[arg(long, value_name = "NAME")]
    pub run_label: Option<String>,
    /// Replace the run record of another run in --out
    #[arg(long)]
    pub overwrite: bool,
}

/// An imported run.
pub struct ImportedRun {
    /// Its record.
    pub record: RunRecord,
    /// Systems in name order, cases in file order.
    pub scored: Vec<Arc<ScoredAnswer>>,
}

/// Imports recorded scores as a run.
///
/// # Errors
/// [`Error::Input`] with every fault of the files; [`Error::Io`] when the run cannot be written.
pub(super) fn import_results(options: &ImportOptions) -> Result<ImportedRun> {
    let Some(tests) = &options.tests else {
        let message = "results files need their test cases: add --tests FILE";
        return Err(Error::Usage(message.to_owned()));
    };
    let files = read_all(&options.files)?;
    let lexical = is_lexical(&files)?;
    let mode = options.mode.unwrap_or_else(|| mode_of(&files));
    let tests = load_test_cases(tests, mode)?;
    let recorded = recorded_answers(&files);
    let (pairing, agreement) = paired(&files, &recorded, &tests)?;
    let mut warnings = Vec::from_iter(left_out(&pairing, &tests));
    let parts = parts_of(&pairing.items, &recorded);
    let scorer = RubricScorer::new(parts, mode).judged_by_baseline(lexical);
    let mut scored = scored_answers(&pairing.items, &recorded, &scorer, &mut warnings)?;
    let (items, answer_files) = match options.answers.as_slice() {
        [] => (Vec::new(), Vec::new()),
        paths => answers_of(paths, &tests, &mut scored, mode, &mut warnings)?,
    };
    let mut inputs = vec![InputFile::new("tests", &tests.path, tests.blake3)];
    for file in &files {
        inputs.push(InputFile::new("results", &file.path, file.blake3));
    }
    inputs.extend(answer_files);
    let mut manifest_warnings = pairing.warnings;
    manifest_warnings.extend(warnings.iter().map(ToString::to_string));
    if options.mode.is_none() && mode == Mode::Compat {
        manifest_warnings.push(MODE_UNKNOWN.to_owned());
    }
    let manifest = Manifest {
        label: options.run_label.clone(),
        settings: settings(parts, agreement, mode),
        inputs,
        roles: roles(options, &files, lexical),
        scorers: vec!["rubric".to_owned()],
        seed: ScoringOptions::default().seed,
        answers: scored.len() as u64,
        missing: pairing
            .missing
            .iter()
            .map(|(system, case)| (system.to_string(), case.to_string()))
            .collect(),
        kept_cases: pairing.kept_cases.iter().map(CaseId::to_string).collect(),
        warnings: manifest_warnings,
        uncounted: pairing.second_cases.into_iter().collect(),
        ..Manifest::begin(mode)
    }
    .with_reference();
    let dir = RunDir::open(&options.out)?;
    dir.claim(&manifest, options.overwrite)?;
    let mut inputs = Inputs::new(items);
    let mut kept_cases = tests.cases;
    kept_cases.retain(|case| pairing.kept_cases.contains(&case.case_id));
    inputs.cases = kept_cases;
    inputs.write(&dir.path().join("inputs.jsonl"))?;
    // Nothing is lost without flushing each line: an import can be repeated from its files.
    let mut record = RunRecord::open(dir, manifest, false)?;
    let scored: Vec<Arc<ScoredAnswer>> = scored.into_iter().map(Arc::new).collect();
    record.finish(RunStatus::Complete, &scored)?;
    Ok(ImportedRun { record, scored })
}

/// The settings of a run that `score` would have recorded.
fn settings(parts: RubricParts, agreement: bool, mode: Mode) -> BTreeMap<String, Value> {
    let settings = [
        ("score.rubrics", parts.rubrics),
        ("score.snippets", parts.snippets),
        ("score.agreement", agreement),
        ("score.compat", mode == Mode::Compat),
        (IMPORTED, true),
    ];
    settings
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
}

/// The judge of the rubric: files do not name theirs, so that other files have another judge unless the user names one.
fn roles(
    options: &ImportOptions,
    files: &[ResultsFile],
    lexical: bool,
) -> BTreeMap<String, RoleEntry> {
    let name = options.judge.clone().unwrap_or_else(|| hash_of(files));
    let judge = JudgeEntry {
        // The prefix keeps it apart from a model that is really called so: the import cannot know
        // who judged.
        id: format!("imported:{name}"),
        lexical,
        samples: 1,
        ..JudgeEntry::default()
    };
    let role = RoleEntry {
        judges: vec![judge],
        ..RoleEntry::default()
    };
    BTreeMap::from([("rubric".to_owned(), role)])
}

/// The recorded scores of these items as scores of a run.
///
/// # Errors
/// Every fault of every answer.
fn scored_answers(
    items: &[Item],
    recorded: &RecordedAnswers<'_>,
    scorer: &RubricScorer,
    warnings: &mut Vec<InputFault>,
) -> Result<Vec<ScoredAnswer>> {
    dataset::all(items.iter().map(|item| {
        let case = &item.case;
        let scores = &recorded[&(&item.answer.system, &case.case_id)];
        let score = scores.score(case, scorer.unjudged(case), warnings)?;
        let system = item.answer.system.clone();
        Ok(ScoredAnswer::new(system, Arc::clone(case), score))
    }))
}

/// Every file, no system in two of them.
fn read_all(paths: &[PathBuf]) -> Result<Vec<ResultsFile>> {
    let files: Vec<ResultsFile> = paths
        .iter()
        .map(|path| load_results(path))
        .collect::<Result<_>>()?;
    let mut faults = Vec::new();
    let mut seen: HashMap<&SystemName, &Path> = HashMap::new();
    for file in &files {
        for system in &file.systems {
            if let Some(other) = seen.insert(&system.system, &file.path) {
                let what = format!("system \"{}\" is in {} too", system.system, other.display());
                faults.push(
                    InputFault::new(&file.path, what)
                        .hint("import one of the two, or each into its own run"),
                );
            }
        }
    }
    no_faults(faults).map(|()| files)
}

/// 16 digits that differ for other files.
fn hash_of(files: &[ResultsFile]) -> String {
    let mut hasher = blake3::Hasher::new();
    for file in files {
        hasher.update(file.blake3.as_bytes());
    }
    // 64 bits distinguish the files of any project, and fit in a table.
    hasher.finalize().to_hex().chars().take(16).collect()
}

fn answers(file: &ResultsFile) -> impl Iterator<Item = (&SystemName, &RecordedAnswer)> {
    file.systems
        .iter()
        .flat_map(|system| system.answers.iter().map(|answer| (&system.system, answer)))
}

/// Whether the lexical baseline was the judge.
///
/// # Errors
/// When it judged only some answers: such numbers are never mixed.
fn is_lexical(files: &[ResultsFile]) -> Result<bool> {
    if !files.iter().any(|file| has_judge(file, true)) {
        return Ok(false);
    }
    match files.iter().find(|file| has_judge(file, false)) {
        Some(file) => {
            let what = "scores of a judge beside scores of the lexical baseline (lexical_score)";
            Err(InputFault::new(&file.path, what).refuse("import them into runs of their own"))
        }
        None => Ok(true),
    }
}

/// Whether the file has an answer that the lexical baseline judged, or one that another judge did.
fn has_judge(file: &ResultsFile, lexical: bool) -> bool {
    answers(file).any(|(_, answer)| answer.lexical == lexical)
}

/// Our mode if the file holds what the reference script never writes: a null, or the baseline's scores.
fn mode_of(files: &[ResultsFile]) -> Mode {
    for file in files {
        for (_, answer) in answers(file) {
            if answer.lexical || has_null(answer) {
                return Mode::Default;
            }
        }
    }
    Mode::Compat
}

fn has_null(answer: &RecordedAnswer) -> bool {
    answer.score.is_none()
        || answer.ann_score.is_none()
        || answer.components.values().any(Option::is_none)
}

/// The recorded scores of one answer, and their file.
struct RecordedScores<'a> {
    path: &'a Path,
    system: &'a SystemName,
    answer: &'a RecordedAnswer,
}

/// The recorded scores by system and case.
type RecordedAnswers<'a> = HashMap<(&'a SystemName, &'a CaseId), RecordedScores<'a>>;

const HINT: &str = "name the test cases that the answers were scored by";

/// The recorded scores of all files.
fn recorded_answers(files: &[ResultsFile]) -> RecordedAnswers<'_> {
    let mut recorded = RecordedAnswers::new();
    for file in files {
        for (system, answer) in answers(file) {
            let scores = RecordedScores {
                path: &file.path,
                system,
                answer,
            };
            recorded.insert((system, &answer.case_id), scores);
        }
    }
    recorded
}

/// The scored answers, without their texts, paired with the cases that any system has scores for (others were excluded
/// by --limit or --cases), and whether a system has scores under two annotators' rubrics of one question.
fn paired(
    files: &[ResultsFile],
    recorded: &RecordedAnswers<'_>,
    tests: &TestCases,
) -> Result<(Pairing, bool)> {
    let systems = systems_without_texts(files);
    let mut questions = HashSet::new();
    let mut cases = Vec::new();
    let mut agreement = false;
    for case in &tests.cases {
        let mut has_scores = false;
        for system in &systems {
            if recorded.contains_key(&(&system.system, &case.case_id)) {
                has_scores = true;
                // Two cases with one question are the rubrics of two annotators.
                agreement |= !questions.insert((&system.system, &case.initial_prompt));
            }
        }
        if has_scores {
            cases.push(case.case_id.to_string());
        }
    }
    let options = PairOptions {
        agreement,
        // Without agreement, one annotator's rubric represents the question.
        compat: !agreement,
        cases: if cases.is_empty() { None } else { Some(cases) },
        ..PairOptions::default()
    };
    Ok((pair(tests, &systems, &options)?, agreement))
}

/// The systems of the files in name order, their answers without texts.
fn systems_without_texts(files: &[ResultsFile]) -> Vec<SystemAnswers> {
    let mut systems = Vec::new();
    for file in files {
        for results in &file.systems {
            let name = &results.system;
            let mut system = SystemAnswers::new(name.clone(), &file.path, file.blake3);
            for answer in &results.answers {
                let case_id = answer.case_id.clone();
                system.answers.push(Answer::new(name.clone(), case_id, ""));
            }
            systems.push(system);
        }
    }
    systems.sort_by(|one, other| one.system.cmp(&other.system));
    systems
}

/// The warning about questions without scores of any system.
fn left_out(pairing: &Pairing, tests: &TestCases) -> Option<InputFault> {
    let mut questions: HashSet<&str> = HashSet::new();
    questions.extend(tests.cases.iter().map(|case| case.initial_prompt.as_str()));
    let mut scored: HashSet<&str> = HashSet::new();
    for item in &pairing.items {
        scored.insert(&item.case.initial_prompt);
    }
    if scored.len() == questions.len() {
        return None;
    }
    let what = format!(
        "{} of {} questions have no scores of any system",
        questions.len() - scored.len(),
        questions.len()
    );
    Some(InputFault::new(&tests.path, what).hint("left out"))
}

/// Which halves the components belong to; both where no case has a property.
fn parts_of(items: &[Item], recorded: &RecordedAnswers<'_>) -> RubricParts {
    let mut parts = RubricParts {
        rubrics: false,
        snippets: false,
    };
    for item in items {
        let case = &item.case;
        let components = &recorded[&(&item.answer.system, &case.case_id)]
            .answer
            .components;
        for criterion in &case.rubric.criteria {
            // The reference's name of the component for a criterion's snippets.
            let evidence = format!("{}_evidence", criterion.name);
            parts.rubrics |= components.contains_key(&criterion.name);
            parts.snippets |= components.contains_key(&evidence);
        }
    }
    if parts.rubrics || parts.snippets {
        parts
    } else {
        RubricParts::BOTH
    }
}

impl RecordedScores<'_> {
    fn fault(&self, what: &str) -> InputFault {
        let case_id = self.answer.case_id.as_str();
        InputFault::new(self.path, format!("system \"{}\": {what}", self.system)).of_case(case_id)
    }

    /// The recorded numbers as the values of `score`, an unjudged score of this case.
    fn score(
        &self,
        case: &TestCase,
        mut score: Score,
        warnings: &mut Vec<InputFault>,
    ) -> Result<Score> {
        let answer = self.answer;
        if let Some(question) = &answer.question
            && question.trim() != case.initial_prompt.trim()
        {
            let fault = self.fault("its question is not that of the test case");
            warnings.push(fault.hint(HINT));
        }
        let mut faults = Vec::new();
        for component in &mut score.components {
            let name = component.name.escape_debug().to_string();
            match answer.components.get(&component.name) {
                Some(value) => {
                    let warning = set_value(component, *value);
                    warnings.extend(warning.map(|what| self.fault(&what)));
                }
                None => faults.push(format!("component \"{name}\" of its rubric is missing")),
            }
        }
        for name in answer.components.keys() {
            if score.component(name).is_none() {
                let name = name.escape_debug();
                faults.push(format!("\"{name}\" is not a component of its rubric"));
            }
        }
        let faults = faults.iter().map(|what| self.fault(what).hint(HINT));
        no_faults(faults.collect())?;
        score.value = finite(answer.score);
        score.ann_score = finite(answer.ann_score);
        for what in sums_that_differ(&score) {
            warnings.push(self.fault(&what));
        }
        Ok(score)
    }
}

/// Python writes NaN and infinities into JSON; they are not scores.
fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

/// Sets a component to its recorded value; returns a warning, if any.
fn set_value(component: &mut Component, value: Option<f64>) -> Option<String> {
    let name = component.name.escape_debug().to_string();
    component.value = finite(value);
    let (kind, message) = match value {
        Some(number) if number.is_finite() => {
            component.reason = None;
            // A warning and no error: the reference's arithmetic leaves the range, and the file has
            // its number.
            let is_outside = !(0.0..=1.0).contains(&number);
            return is_outside.then(|| {
                format!("component \"{name}\" is {number}, outside 0..1; taken as it is")
            });
        }
        Some(number) => (
            UnscoredKind::Exception,
            format!("{number} in the results file"),
        ),
        None => (
            UnscoredKind::NotAsked,
            "null in the results file".to_owned(),
        ),
    };
    component.reason = Some(UnscoredReason::new(kind, message).into());
    value.map(|number| format!("component \"{name}\" is {number}; unscored here"))
}

/// Recorded sums that differ from those of the components.
fn sums_that_differ(score: &Score) -> Vec<String> {
    // How a sum counts what is missing depends on the policy of whoever computed it.
    if !score.is_complete() {
        return Vec::new();
    }
    let (all, annotated) = score.filled(0.0);
    let hint = " (whose arithmetic made it: add --mode default for ours, --mode compat for the reference's)";
    let sums = [
        ("score", score.value, Some(all), ""),
        ("ann_score", score.ann_score, annotated, hint),
    ];
    let mut lines = Vec::new();
    for (name, recorded, sum, hint) in sums {
        let Some(sum) = sum else { continue };
        if recorded.is_none_or(|recorded| (recorded - sum).abs() > TOLERANCE) {
            let recorded = recorded.map_or("no number".to_owned(), |value| value.to_string());
            let basis = "with the rubric's weights; taken as it is";
            lines.push(format!(
                "{name} is {recorded}, its components make {sum} {basis}{hint}"
            ));
        }
    }
    lines
}

/// The scored answers with their texts, and the files of these. Injection signs are flagged; scores without an answer
/// and systems without a score are warnings.
fn answers_of(
    paths: &[PathBuf],
    tests: &TestCases,
    scored: &mut [ScoredAnswer],
    mode: Mode,
    warnings: &mut Vec<InputFault>,
) -> Result<(Vec<Item>, Vec<InputFile>)> {
    // The imported scores are of whole answers.
    let reading = AnswerOptions {
        mode,
        keep_thinking: true,
        keep_errors: true,
        ..AnswerOptions::default()
    };
    let (mut systems, notes) = reading.load(paths)?;
    for note in notes {
        warnings.push(InputFault::new(&paths[0], note));
    }
    let with_scores: HashSet<&SystemName> = scored.iter().map(|answer| &answer.system).collect();
    for system in systems.extract_if(.., |system| !with_scores.contains(&system.system)) {
        let what = format!("no scores of {}: its answers are left out", system.system);
        warnings.push(InputFault::new(&system.path, what));
    }
    let options = ScorableOptions {
        // Cases of every annotator: the scores decide which count.
        pairing: PairOptions {
            agreement: true,
            ..PairOptions::default()
        },
        // As the reference's pipeline numbers sources.
        block: Some(IndexBase::Zero),
    };
    let with_texts = scorable(Some(tests), &systems, None, &options)?;
    let mut answers: HashMap<(SystemName, CaseId), Item> = HashMap::new();
    for item in with_texts.rubric {
        let key = (item.answer.system.clone(), item.case.case_id.clone());
        answers.insert(key, item);
    }
    let mut items = Vec::new();
    for scored in scored.iter_mut() {
        let Some(item) = answers.remove(&(scored.system.clone(), scored.case.case_id.clone()))
        else {
            continue;
        };
        scored.injection = injection::signs(&item.answer.answer_text);
        items.push(item);
    }
    if items.len() < scored.len() {
        let what = format!(
            "{} of {} scored answers have no text here",
            scored.len() - items.len(),
            scored.len()
        );
        warnings.push(InputFault::new(&paths[0], what));
    }
    // The first file holds the test cases.
    Ok((items, with_texts.files.into_iter().skip(1).collect()))
}

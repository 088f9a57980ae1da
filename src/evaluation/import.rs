//! Imports the reference script's results file as a run. Scores are taken unchanged, and checked against the rubrics.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::options::ScoringOptions;
use super::record::{IMPORTED, InputFile, Inputs, JudgeEntry, Manifest, RunDir, RunRecord, RunStatus};
use crate::dataset::{
    PairOptions, RecordedAnswer, ReferencesBlock, ResultsFile, ScorableOptions, TestCases, load_answers, load_results,
    load_test_cases, scorable,
};
use crate::domain::{
    CaseId, Component, Item, Mode, Prediction, RubricParts, Score, ScoredAnswer, SystemName, TestCase, UnscoredKind,
    UnscoredReason,
};
use crate::error::{Error, InputFault, Result};
use crate::prompt::injection;
use crate::scorer::citation::IndexBase;
use crate::scorer::convert::references_block;
use crate::scorer::rubric::RubricScorer;

/// Tolerance between a recorded sum and that of its components; other summation orders differ by far less.
const SUM_TOLERANCE: f64 = 1e-9;

/// Files to import, and the output directory.
#[derive(Debug, Clone, Args)]
pub struct ImportOptions {
    /// Results files, as rubric_eval.py and score --output write them; several of different systems become one run
    #[arg(required = true, value_name = "RESULTS")]
    pub files: Vec<PathBuf>,
    /// Test cases that the answers were scored by
    #[arg(long, value_name = "FILE")]
    pub tests: PathBuf,
    /// Directory of the new run
    #[arg(long, value_name = "DIR")]
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
    /// The run's name [default: that of its directory]
    #[arg(long, value_name = "NAME")]
    pub run_label: Option<String>,
    /// Treat warnings about the input as errors
    #[arg(long)]
    pub strict: bool,
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
    /// True if the files do not show whose arithmetic computed the scores.
    pub is_mode_guessed: bool,
    /// All warnings, also in the manifest.
    pub warnings: Vec<InputFault>,
}

/// Imports recorded scores as a run.
///
/// # Errors
/// [`Error::Input`] with every fault of the files; [`Error::Io`] when the run cannot be written.
pub fn import(options: &ImportOptions) -> Result<ImportedRun> {
    let files = read_all(&options.files)?;
    let lexical = is_lexical(&files)?;
    let mode = options.mode.unwrap_or_else(|| mode_of(&files));
    let tests = load_test_cases(&options.tests, mode)?;
    let mut warnings = tests.warnings.clone();
    let (mut scored, parts) = scored_answers(&files, &tests, (mode, lexical), &mut warnings)?;
    let Coverage { kept, missing, agreement } = coverage(&scored, &tests);
    warnings.extend(gaps(&files, &tests, &kept, &missing));
    let (items, answer_files) = match options.answers.as_slice() {
        [] => (Vec::new(), Vec::new()),
        paths => answers_of(paths, &tests, &mut scored, mode, &mut warnings)?,
    };
    if options.strict && !warnings.is_empty() {
        return Err(Error::Input(warnings));
    }
    let input =
        |name: &str, path: &Path, blake3| InputFile { name: name.to_owned(), path: path.display().to_string(), blake3 };
    let mut inputs = vec![input("tests", &tests.path, tests.blake3)];
    inputs.extend(files.iter().map(|file| input("results", &file.path, file.blake3)));
    inputs.extend(answer_files);
    let settings = [
        ("score.rubrics", parts.rubrics),
        ("score.snippets", parts.snippets),
        ("score.agreement", agreement),
        ("score.compat", mode == Mode::Compat),
        (IMPORTED, true),
    ];
    let manifest = Manifest {
        label: options.run_label.clone(),
        settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
        inputs,
        judge: Some(JudgeEntry {
            id: format!("imported:{}", options.judge.clone().unwrap_or_else(|| hash_of(&files))),
            model: None,
            base_url: None,
            served: None,
            lexical,
        }),
        scorers: vec!["rubric".to_owned()],
        seed: ScoringOptions::default().seed,
        answers: scored.len() as u64,
        missing: missing.iter().map(|(system, case)| (system.to_string(), case.to_string())).collect(),
        kept_cases: kept.iter().map(|case| case.case_id.to_string()).collect(),
        warnings: warnings.iter().map(ToString::to_string).collect(),
        ..Manifest::begin(mode)
    };
    let dir = RunDir::open(&options.out)?;
    dir.claim(&manifest, options.overwrite)?;
    let mut inputs = Inputs::new(items);
    inputs.cases = kept;
    inputs.write(&dir.path().join("inputs.jsonl"))?;
    let mut record = RunRecord::open(dir, manifest, false)?;
    record.finish(RunStatus::Complete, &scored)?;
    let is_mode_guessed = options.mode.is_none() && mode == Mode::Compat;
    Ok(ImportedRun { record, scored, is_mode_guessed, warnings })
}

/// Every file, no system in two of them.
fn read_all(paths: &[PathBuf]) -> Result<Vec<ResultsFile>> {
    let files: Vec<ResultsFile> = paths.iter().map(|path| load_results(path)).collect::<Result<_>>()?;
    let mut faults = Vec::new();
    let mut seen: HashMap<&SystemName, &Path> = HashMap::new();
    for file in &files {
        for system in &file.systems {
            if let Some(other) = seen.insert(&system.system, &file.path) {
                let what = format!("system \"{}\" is in {} too", system.system, other.display());
                faults.push(InputFault::new(&file.path, what).hint("import one of the two, or each into its own run"));
            }
        }
    }
    if faults.is_empty() { Ok(files) } else { Err(Error::Input(faults)) }
}

/// 16 digits that differ for other files.
fn hash_of(files: &[ResultsFile]) -> String {
    let mut hasher = blake3::Hasher::new();
    for file in files {
        hasher.update(file.blake3.as_bytes());
    }
    hasher.finalize().to_hex().chars().take(16).collect()
}

fn answers(file: &ResultsFile) -> impl Iterator<Item = (&SystemName, &RecordedAnswer)> {
    file.systems.iter().flat_map(|system| system.answers.iter().map(|answer| (&system.system, answer)))
}

/// Whether the lexical baseline was the judge.
///
/// # Errors
/// When it judged only some answers: such numbers are never mixed.
fn is_lexical(files: &[ResultsFile]) -> Result<bool> {
    let of = |file: &ResultsFile, lexical: bool| answers(file).any(|(_, answer)| answer.lexical == lexical);
    let lexical = files.iter().any(|file| of(file, true));
    match files.iter().find(|file| of(file, false)) {
        Some(file) if lexical => {
            let what = "scores of a judge beside scores of the lexical baseline (lexical_score)";
            Err(InputFault::new(&file.path, what).hint("import them into runs of their own").into())
        }
        _ => Ok(lexical),
    }
}

/// Our mode if the file holds what the reference script never writes: a null, or the baseline's scores.
fn mode_of(files: &[ResultsFile]) -> Mode {
    let has_null = |answer: &RecordedAnswer| {
        let mut values = answer.components.iter().map(|(_, value)| *value).chain([answer.score, answer.ann_score]);
        values.any(|value| value.is_none())
    };
    let ours = files.iter().flat_map(answers).any(|(_, answer)| answer.lexical || has_null(answer));
    if ours { Mode::Default } else { Mode::Compat }
}

/// Position of an answer's scores.
struct Place<'a> {
    path: &'a Path,
    system: &'a SystemName,
    case_id: &'a CaseId,
}

impl Place<'_> {
    fn fault(&self, what: &str) -> InputFault {
        InputFault::new(self.path, format!("system \"{}\": {what}", self.system)).of_case(self.case_id.as_str())
    }
}

/// The recorded scores in the rubrics of their cases, and the halves of the rubrics that were scored.
fn scored_answers(
    files: &[ResultsFile],
    tests: &TestCases,
    (mode, lexical): (Mode, bool),
    warnings: &mut Vec<InputFault>,
) -> Result<(Vec<Arc<ScoredAnswer>>, RubricParts)> {
    let cases: HashMap<&CaseId, (usize, &Arc<TestCase>)> =
        tests.cases.iter().enumerate().map(|(at, case)| (&case.case_id, (at, case))).collect();
    let mut found = Vec::new();
    for (path, (system, answer)) in files.iter().flat_map(|file| answers(file).map(|answer| (&*file.path, answer))) {
        let place = Place { path, system, case_id: &answer.case_id };
        match cases.get(&answer.case_id) {
            Some((at, case)) => found.push((place, answer, *at, *case)),
            None => {
                let what = format!("no test case in {} has this case_id; left out", tests.path.display());
                warnings.push(place.fault(&what));
            }
        }
    }
    if found.is_empty() {
        let what = format!("no answer has a test case in {}", tests.path.display());
        return Err(InputFault::new(first_path(files, tests), what).hint(HINT).into());
    }
    found.sort_by_key(|(place, _, at, _)| (place.system.clone(), *at));
    let parts = parts_of(found.iter().map(|(_, answer, _, case)| (*answer, case.as_ref())));
    let scorer = RubricScorer::new(parts, mode).lexical(lexical);
    let (mut scored, mut faults) = (Vec::with_capacity(found.len()), Vec::new());
    for (place, answer, _, case) in found {
        if answer.question.as_ref().is_some_and(|asked| asked.trim() != case.initial_prompt.trim()) {
            warnings.push(place.fault("its question is not that of the test case").hint(HINT));
        }
        match score_of(answer, scorer.unjudged(case), &place, warnings) {
            Ok(score) => scored.push(Arc::new(ScoredAnswer::new(place.system.clone(), Arc::clone(case), score))),
            Err(wrong) => faults.extend(wrong),
        }
    }
    if faults.is_empty() { Ok((scored, parts)) } else { Err(Error::Input(faults)) }
}

const HINT: &str = "name the test cases that the answers were scored by";

fn first_path<'a>(files: &'a [ResultsFile], tests: &'a TestCases) -> &'a Path {
    files.first().map_or(&tests.path, |file| &file.path)
}

/// Which halves the components belong to; both where no case has a property.
fn parts_of<'a>(answers: impl Iterator<Item = (&'a RecordedAnswer, &'a TestCase)>) -> RubricParts {
    let mut parts = RubricParts { rubrics: false, snippets: false };
    for (answer, case) in answers {
        let names: HashSet<&str> = answer.components.iter().map(|(name, _)| name.as_str()).collect();
        for criterion in &case.rubric.criteria {
            parts.rubrics |= names.contains(criterion.name.as_str());
            parts.snippets |= names.contains(format!("{}_evidence", criterion.name).as_str());
        }
    }
    if parts.rubrics || parts.snippets { parts } else { RubricParts::BOTH }
}

/// The recorded numbers matched to the rubric.
fn score_of(
    answer: &RecordedAnswer,
    mut score: Score,
    place: &Place<'_>,
    warnings: &mut Vec<InputFault>,
) -> Result<Score, Vec<InputFault>> {
    let mut faults = Vec::new();
    let recorded: HashMap<&str, Option<f64>> =
        answer.components.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    for component in &mut score.components {
        match recorded.get(component.name.as_str()) {
            Some(value) => warnings.extend(set_value(component, *value).map(|what| place.fault(&what))),
            None => {
                let what = format!("component \"{}\" of its rubric is missing", component.name.escape_debug());
                faults.push(place.fault(&what).hint(HINT));
            }
        }
    }
    for (name, _) in answer.components.iter().filter(|(name, _)| score.component(name).is_none()) {
        let what = format!("\"{}\" is no component of its rubric", name.escape_debug());
        faults.push(place.fault(&what).hint(HINT));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    (score.value, score.ann_score) = (finite(answer.score), finite(answer.ann_score));
    warnings.extend(sums_that_differ(&score).into_iter().map(|what| place.fault(&what)));
    Ok(score)
}

/// Sets a component to its recorded value; returns a warning, if any.
fn set_value(component: &mut Component, value: Option<f64>) -> Option<String> {
    let name = component.name.escape_debug().to_string();
    component.value = value.filter(|value| value.is_finite());
    let (kind, message) = match value {
        Some(number) if number.is_finite() => {
            component.reason = None;
            let is_outside = !(0.0..=1.0).contains(&number);
            return is_outside.then(|| format!("component \"{name}\" is {number}, outside 0..1; taken as it is"));
        }
        Some(number) => (UnscoredKind::Exception, format!("{number} in the results file")),
        None => (UnscoredKind::NotAsked, "null in the results file".to_owned()),
    };
    component.reason = Some(UnscoredReason::new(kind, message));
    value.map(|number| format!("component \"{name}\" is {number}; unscored here"))
}

/// Recorded sums that differ from those of the components.
fn sums_that_differ(score: &Score) -> Vec<String> {
    if !score.is_complete() {
        return Vec::new();
    }
    let (all, annotated) = score.filled(0.0);
    let shown = |value: Option<f64>| value.map_or("no number".to_owned(), |value| value.to_string());
    let hint = " (whose arithmetic made it: add --mode default for ours, --mode compat for the reference's)";
    let mut lines = Vec::new();
    for (name, recorded, sum, hint) in
        [("score", score.value, Some(all), ""), ("ann_score", score.ann_score, annotated, hint)]
    {
        let is_equal = matches!((recorded, sum), (Some(one), Some(other)) if (one - other).abs() <= SUM_TOLERANCE);
        if sum.is_some() && !is_equal {
            let (recorded, sum) = (shown(recorded), shown(sum));
            let what = "with the rubric's weights; taken as it is";
            lines.push(format!("{name} is {recorded}, its components make {sum} {what}{hint}"));
        }
    }
    lines
}

/// The cases in use, and the missing answers.
struct Coverage {
    /// Cases that any system has scores for, in file order: others were excluded (--limit, --cases).
    kept: Vec<Arc<TestCase>>,
    missing: Vec<(SystemName, CaseId)>,
    /// True if a system has scores under two annotators' rubrics of one question.
    agreement: bool,
}

fn coverage(scored: &[Arc<ScoredAnswer>], tests: &TestCases) -> Coverage {
    let has: HashSet<(&SystemName, &CaseId)> =
        scored.iter().map(|answer| (&answer.system, &answer.case.case_id)).collect();
    let systems: BTreeSet<&SystemName> = scored.iter().map(|answer| &answer.system).collect();
    let is_kept = |case: &&Arc<TestCase>| systems.iter().any(|system| has.contains(&(*system, &case.case_id)));
    let kept: Vec<Arc<TestCase>> = tests.cases.iter().filter(is_kept).cloned().collect();
    let mut questions: HashMap<&str, Vec<&CaseId>> = HashMap::new();
    for case in &kept {
        questions.entry(&case.initial_prompt).or_default().push(&case.case_id);
    }
    let missing_of = |system: &SystemName, cases: &[&CaseId]| -> Vec<CaseId> {
        cases.iter().filter(|case| !has.contains(&(system, **case))).map(|case| (*case).clone()).collect()
    };
    let agreement =
        systems.iter().any(|system| questions.values().any(|cases| cases.len() - missing_of(system, cases).len() > 1));
    let mut missing = Vec::new();
    for system in systems {
        for cases in questions.values() {
            let own = missing_of(system, cases);
            // Without agreement, one annotator's rubric represents the question.
            if agreement || own.len() == cases.len() {
                missing.extend(own.into_iter().map(|case| (system.clone(), case)));
            }
        }
    }
    missing.sort();
    Coverage { kept, missing, agreement }
}

/// Missing scores: of some systems, and of all.
fn gaps(
    files: &[ResultsFile],
    tests: &TestCases,
    kept: &[Arc<TestCase>],
    missing: &[(SystemName, CaseId)],
) -> Vec<InputFault> {
    let fault = |what: String| InputFault::new(first_path(files, tests), what);
    let mut faults = Vec::new();
    if !missing.is_empty() {
        let what = "scores of systems and cases are missing; the summary names them";
        faults.push(fault(format!("{} {what}", missing.len())));
    }
    let questions =
        |cases: &[Arc<TestCase>]| cases.iter().map(|case| case.initial_prompt.as_str()).collect::<HashSet<_>>().len();
    let (all, scored) = (questions(&tests.cases), questions(kept));
    if scored < all {
        let path = tests.path.display();
        faults.push(fault(format!(
            "{} of {all} questions of {path} have no scores of any system; left out",
            all - scored
        )));
    }
    faults
}

/// The texts of the scored answers and their files. Injection signs are flagged; answers without scores and scores
/// without answers are warnings.
fn answers_of(
    paths: &[PathBuf],
    tests: &TestCases,
    scored: &mut [Arc<ScoredAnswer>],
    mode: Mode,
    warnings: &mut Vec<InputFault>,
) -> Result<(Vec<Item>, Vec<InputFile>)> {
    let systems = load_answers(paths, mode)?;
    let block = |prediction: &Prediction| references_block(prediction, IndexBase::Zero, mode);
    let options = ScorableOptions {
        // Cases of every annotator: the scores decide which count.
        pairing: PairOptions { agreement: true, ..PairOptions::default() },
        block: Some(&block as ReferencesBlock<'_>),
    };
    let made = scorable(Some(tests), &systems, None, &options)?;
    let known: HashSet<SystemName> = scored.iter().map(|answer| answer.system.clone()).collect();
    for system in systems.iter().filter(|system| !known.contains(&system.system)) {
        let what = "no scores of this system in the results; its answers are left out";
        warnings.push(InputFault::new(&system.path, what));
    }
    let files = made.files.iter().filter(|file| known.contains(&SystemName::from(file.name.as_str())));
    let files = files.map(|file| InputFile {
        name: file.name.clone(),
        path: file.path.display().to_string(),
        blake3: file.blake3,
    });
    let mut answers: HashMap<_, _> = made
        .rubric
        .into_iter()
        .map(|paired| ((paired.answer.system.clone(), paired.case.case_id.clone()), paired.answer))
        .collect();
    let mut items = Vec::new();
    for scored in scored.iter_mut() {
        let Some(answer) = answers.remove(&(scored.system.clone(), scored.case.case_id.clone())) else { continue };
        Arc::make_mut(scored).injection = injection::signs(&answer.answer_text);
        items.push(Item { case: Arc::clone(&scored.case), answer });
    }
    if items.len() < scored.len() {
        let what = format!("{} of {} scored answers have no text here", scored.len() - items.len(), scored.len());
        warnings.push(InputFault::new(&paths[0], what));
    }
    Ok((items, files.collect()))
}

//! Imports the reference script's results file as a run. Scores are taken unchanged, and checked against the rubrics. Logs of
//! Inspect become runs in `import_logs`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::dataset::{
    self, AnswerOptions, InputFile, PairOptions, Pairing, RecordedAnswer, ResultsFile,
    ScorableOptions, SystemAnswers, SystemResults, TestCases, load_results, load_test_cases,
    no_faults, pair, scorable,
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
    let missing =
        || Error::Usage("results files need their test cases: add --tests FILE".to_owned());
    let tests = options.tests.as_ref().ok_or_else(missing)?;
    let files = read_all(&options.files)?;
    let lexical = is_lexical(&files)?;
    let mode = options.mode.unwrap_or_else(|| mode_of(&files));
    let tests = load_test_cases(tests, mode)?;
    let all = files
        .iter()
        .flat_map(|file| answers(file).map(|answer| (&*file.path, answer)));
    let recorded: RecordedAnswers<'_> = all
        .map(|(path, (system, answer))| {
            (
                (system, &answer.case_id),
                Recorded {
                    path,
                    system,
                    answer,
                },
            )
        })
        .collect();
    let (pairing, agreement) = paired(&files, &recorded, &tests)?;
    let mut warnings = Vec::from_iter(left_out(&pairing, &tests));
    let scores = || {
        pairing
            .items
            .iter()
            .map(|item| (item, &recorded[&(&item.answer.system, &item.case.case_id)]))
    };
    let parts = parts_of(scores().map(|(item, recorded)| (recorded.answer, &*item.case)));
    let scorer = RubricScorer::new(parts, mode).lexical(lexical);
    let mut scored = dataset::all(scores().map(|(item, recorded)| {
        let score = recorded.score(&item.case, scorer.unjudged(&item.case), &mut warnings)?;
        Ok(ScoredAnswer::new(
            item.answer.system.clone(),
            Arc::clone(&item.case),
            score,
        ))
    }))?;
    let (items, answer_files) = match options.answers.as_slice() {
        [] => (Vec::new(), Vec::new()),
        paths => answers_of(paths, &tests, &mut scored, mode, &mut warnings)?,
    };
    let mut inputs = vec![InputFile::new("tests", &tests.path, tests.blake3)];
    inputs.extend(
        files
            .iter()
            .map(|file| InputFile::new("results", &file.path, file.blake3)),
    );
    inputs.extend(answer_files);
    let settings = [
        ("score.rubrics", parts.rubrics),
        ("score.snippets", parts.snippets),
        ("score.agreement", agreement),
        ("score.compat", mode == Mode::Compat),
        (IMPORTED, true),
    ];
    let judge = options.judge.clone().unwrap_or_else(|| hash_of(&files));
    let judge = JudgeEntry {
        id: format!("imported:{judge}"),
        lexical,
        samples: 1,
        ..JudgeEntry::default()
    };
    let unknown = (options.mode.is_none() && mode == Mode::Compat).then(|| MODE_UNKNOWN.to_owned());
    let manifest = Manifest {
        label: options.run_label.clone(),
        settings: settings
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect(),
        inputs,
        roles: BTreeMap::from([(
            "rubric".to_owned(),
            RoleEntry {
                judges: vec![judge],
                ..RoleEntry::default()
            },
        )]),
        scorers: vec!["rubric".to_owned()],
        seed: ScoringOptions::default().seed,
        answers: scored.len() as u64,
        missing: pairing
            .missing
            .iter()
            .map(|(system, case)| (system.to_string(), case.to_string()))
            .collect(),
        kept_cases: pairing.kept_cases.iter().map(CaseId::to_string).collect(),
        warnings: pairing
            .warnings
            .into_iter()
            .chain(warnings.iter().map(ToString::to_string))
            .chain(unknown)
            .collect(),
        ..Manifest::begin(mode)
    }
    .with_reference();
    let dir = RunDir::open(&options.out)?;
    dir.claim(&manifest, options.overwrite)?;
    let mut inputs = Inputs::new(items);
    let is_kept = |case: &&Arc<TestCase>| pairing.kept_cases.contains(&case.case_id);
    inputs.cases = tests.cases.iter().filter(is_kept).cloned().collect();
    inputs.write(&dir.path().join("inputs.jsonl"))?;
    let mut record = RunRecord::open(dir, manifest, false)?;
    let scored: Vec<Arc<ScoredAnswer>> = scored.into_iter().map(Arc::new).collect();
    record.finish(RunStatus::Complete, &scored)?;
    Ok(ImportedRun { record, scored })
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
    let of = |file: &ResultsFile, lexical: bool| {
        answers(file).any(|(_, answer)| answer.lexical == lexical)
    };
    let lexical = files.iter().any(|file| of(file, true));
    match files.iter().find(|file| of(file, false)) {
        Some(file) if lexical => {
            let what = "scores of a judge beside scores of the lexical baseline (lexical_score)";
            Err(InputFault::new(&file.path, what)
                .hint("import them into runs of their own")
                .into())
        }
        _ => Ok(lexical),
    }
}

/// Our mode if the file holds what the reference script never writes: a null, or the baseline's scores.
fn mode_of(files: &[ResultsFile]) -> Mode {
    let has_null = |answer: &RecordedAnswer| {
        let mut values = answer
            .components
            .values()
            .copied()
            .chain([answer.score, answer.ann_score]);
        values.any(|value| value.is_none())
    };
    let ours = files
        .iter()
        .flat_map(answers)
        .any(|(_, answer)| answer.lexical || has_null(answer));
    if ours { Mode::Default } else { Mode::Compat }
}

/// The recorded scores of one answer, and their file.
struct Recorded<'a> {
    path: &'a Path,
    system: &'a SystemName,
    answer: &'a RecordedAnswer,
}

/// The recorded scores by system and case.
type RecordedAnswers<'a> = HashMap<(&'a SystemName, &'a CaseId), Recorded<'a>>;

const HINT: &str = "name the test cases that the answers were scored by";

/// The scored answers, without their texts, paired with the cases that any system has scores for (others were excluded
/// by --limit or --cases), and whether a system has scores under two annotators' rubrics of one question.
fn paired(
    files: &[ResultsFile],
    recorded: &RecordedAnswers<'_>,
    tests: &TestCases,
) -> Result<(Pairing, bool)> {
    let of_file = |file: &ResultsFile| {
        let system = |results: &SystemResults| {
            let answer = |answer: &RecordedAnswer| {
                Answer::new(results.system.clone(), answer.case_id.clone(), "")
            };
            SystemAnswers {
                answers: results.answers.iter().map(answer).collect(),
                ..SystemAnswers::new(results.system.clone(), &file.path, file.blake3)
            }
        };
        file.systems.iter().map(system).collect::<Vec<_>>()
    };
    let mut systems: Vec<SystemAnswers> = files.iter().flat_map(of_file).collect();
    systems.sort_by(|one, other| one.system.cmp(&other.system));
    let (mut asked, mut cases, mut agreement) = (HashSet::new(), Vec::new(), false);
    for case in &tests.cases {
        let has_scores =
            |system: &&SystemAnswers| recorded.contains_key(&(&system.system, &case.case_id));
        for system in systems.iter().filter(has_scores) {
            agreement |= !asked.insert((&system.system, &case.initial_prompt));
        }
        cases.extend(
            systems
                .iter()
                .any(|system| has_scores(&system))
                .then(|| case.case_id.to_string()),
        );
    }
    // Without agreement, one annotator's rubric represents the question.
    let cases = (!cases.is_empty()).then_some(cases);
    let options = PairOptions {
        agreement,
        compat: !agreement,
        cases,
        ..PairOptions::default()
    };
    Ok((pair(tests, &systems, &options)?, agreement))
}

/// The warning about questions without scores of any system.
fn left_out(pairing: &Pairing, tests: &TestCases) -> Option<InputFault> {
    let asked: HashSet<&str> = tests
        .cases
        .iter()
        .map(|case| case.initial_prompt.as_str())
        .collect();
    let scored: HashSet<&str> = pairing
        .items
        .iter()
        .map(|item| item.case.initial_prompt.as_str())
        .collect();
    let what = format!(
        "{} of {} questions have no scores of any system",
        asked.len() - scored.len(),
        asked.len()
    );
    (scored.len() < asked.len()).then(|| InputFault::new(&tests.path, what).hint("left out"))
}

/// Which halves the components belong to; both where no case has a property.
fn parts_of<'a>(answers: impl Iterator<Item = (&'a RecordedAnswer, &'a TestCase)>) -> RubricParts {
    let mut parts = RubricParts {
        rubrics: false,
        snippets: false,
    };
    for (answer, case) in answers {
        let has = |name: &str| answer.components.contains_key(name);
        for criterion in &case.rubric.criteria {
            parts.rubrics |= has(&criterion.name);
            parts.snippets |= has(&format!("{}_evidence", criterion.name));
        }
    }
    if parts.rubrics || parts.snippets {
        parts
    } else {
        RubricParts::BOTH
    }
}

impl Recorded<'_> {
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
        if answer
            .question
            .as_ref()
            .is_some_and(|asked| asked.trim() != case.initial_prompt.trim())
        {
            warnings.push(
                self.fault("its question is not that of the test case")
                    .hint(HINT),
            );
        }
        let mut faults = Vec::new();
        for component in &mut score.components {
            match answer.components.get(&component.name) {
                Some(value) => {
                    warnings.extend(set_value(component, *value).map(|what| self.fault(&what)))
                }
                None => faults.push(format!(
                    "component \"{}\" of its rubric is missing",
                    component.name.escape_debug()
                )),
            }
        }
        let unknown = answer
            .components
            .keys()
            .filter(|name| score.component(name).is_none());
        faults.extend(unknown.map(|name| {
            format!(
                "\"{}\" is not a component of its rubric",
                name.escape_debug()
            )
        }));
        no_faults(
            faults
                .iter()
                .map(|what| self.fault(what).hint(HINT))
                .collect(),
        )?;
        let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
        (score.value, score.ann_score) = (finite(answer.score), finite(answer.ann_score));
        warnings.extend(sums_that_differ(&score).iter().map(|what| self.fault(what)));
        Ok(score)
    }
}

/// Sets a component to its recorded value; returns a warning, if any.
fn set_value(component: &mut Component, value: Option<f64>) -> Option<String> {
    let name = component.name.escape_debug().to_string();
    component.value = value.filter(|value| value.is_finite());
    let (kind, message) = match value {
        Some(number) if number.is_finite() => {
            component.reason = None;
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
            let what = "with the rubric's weights; taken as it is";
            lines.push(format!(
                "{name} is {recorded}, its components make {sum} {what}{hint}"
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
        ..AnswerOptions::default()
    };
    let (mut systems, notes) = reading.load(paths)?;
    warnings.extend(
        notes
            .into_iter()
            .map(|note| InputFault::new(&paths[0], note)),
    );
    let unscored = systems.extract_if(.., |system| {
        !scored.iter().any(|answer| answer.system == system.system)
    });
    warnings.extend(unscored.map(|system| {
        InputFault::new(
            &system.path,
            format!("no scores of {}: its answers are left out", system.system),
        )
    }));
    let options = ScorableOptions {
        // Cases of every annotator: the scores decide which count.
        pairing: PairOptions {
            agreement: true,
            ..PairOptions::default()
        },
        block: Some(IndexBase::Zero),
    };
    let made = scorable(Some(tests), &systems, None, &options)?;
    let key = |item: Item| {
        (
            (item.answer.system.clone(), item.case.case_id.clone()),
            item,
        )
    };
    let mut answers: HashMap<_, Item> = made.rubric.into_iter().map(key).collect();
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
    Ok((items, made.files.into_iter().skip(1).collect()))
}

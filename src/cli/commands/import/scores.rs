//! Recorded scores to scored answers: taken as they are, checked against the rubric.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::dataset::{RecordedAnswer, ResultsFile, TestCases};
use crate::domain::{
    CaseId, Component, Mode, RubricParts, Score, ScoredAnswer, SystemName, TestCase, UnscoredKind, UnscoredReason,
};
use crate::error::{Error, InputFault, Result};
use crate::scorer::rubric::RubricScorer;

/// So many warnings are told one by one.
pub(super) const WARNINGS_TOLD: usize = 20;

/// A recorded sum may differ by so much from that of its components: other orders of adding differ by far less.
const SUM_TOLERANCE: f64 = 1e-9;

/// What becomes of the files.
pub(super) struct Imported {
    /// Systems in name order, cases in file order.
    pub(super) scored: Vec<Arc<ScoredAnswer>>,
    /// Case ids that count, in file order.
    pub(super) kept_cases: Vec<CaseId>,
    /// Systems and cases without scores.
    pub(super) missing: Vec<(SystemName, CaseId)>,
    /// True if a system has scores under two annotators' rubrics of one question.
    pub(super) agreement: bool,
    /// Which halves of the rubrics were asked.
    pub(super) parts: RubricParts,
    /// Whose arithmetic.
    pub(super) mode: Mode,
    /// True if the lexical baseline judged.
    pub(super) lexical: bool,
    /// Everything odd.
    pub(super) warnings: Vec<InputFault>,
}

/// Where an answer's scores stand.
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

/// Whether the baseline judged.
///
/// # Errors
/// Where it judged some answers and not others: such numbers are never put side by side.
pub(super) fn is_lexical(files: &[ResultsFile]) -> Result<bool> {
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

/// What is told where the results do not say whose arithmetic made them.
pub(super) const MODE_UNKNOWN: &str =
    "mode unknown, taken as compat (the reference script's); --mode default for files of scholareval's default mode";

/// Ours where the file holds what the reference script never writes: a null, or the baseline's scores.
pub(super) fn mode_of(files: &[ResultsFile]) -> Mode {
    let has_null = |answer: &RecordedAnswer| {
        answer.score.is_none()
            || answer.ann_score.is_none()
            || answer.components.iter().any(|(_, value)| value.is_none())
    };
    let ours = files.iter().flat_map(answers).any(|(_, answer)| answer.lexical || has_null(answer));
    if ours { Mode::Default } else { Mode::Compat }
}

fn answers(file: &ResultsFile) -> impl Iterator<Item = (&SystemName, &RecordedAnswer)> {
    file.systems.iter().flat_map(|system| system.answers.iter().map(|answer| (&system.system, answer)))
}

/// Lays the recorded scores into the rubrics of their cases.
///
/// # Errors
/// [`Error::Input`] where components are not those of the rubric, or no answer has a test case.
pub(super) fn import(files: &[ResultsFile], tests: &TestCases, (mode, lexical): (Mode, bool)) -> Result<Imported> {
    let cases: HashMap<&CaseId, &Arc<TestCase>> = tests.cases.iter().map(|case| (&case.case_id, case)).collect();
    let mut found: Vec<(&Path, &SystemName, &RecordedAnswer, &Arc<TestCase>)> = Vec::new();
    let (mut warnings, mut faults) = (tests.warnings.clone(), Vec::new());
    for file in files {
        for (system, answer) in answers(file) {
            match cases.get(&answer.case_id) {
                Some(case) => found.push((&file.path, system, answer, case)),
                None => {
                    let place = Place { path: &file.path, system, case_id: &answer.case_id };
                    let what = format!("no test case in {} has this case_id; left out", tests.path.display());
                    warnings.push(place.fault(&what));
                }
            }
        }
    }
    if found.is_empty() {
        let path = files.first().map_or(tests.path.as_path(), |file| &file.path);
        let what = format!("no answer has a test case in {}", tests.path.display());
        return Err(InputFault::new(path, what).hint("name the test cases that the answers were scored by").into());
    }
    let parts = parts_of(found.iter().map(|(_, _, answer, case)| (*answer, case.as_ref())));
    let scorer = RubricScorer::new(parts, mode).lexical(lexical);
    let mut scored = Vec::with_capacity(found.len());
    for (path, system, answer, case) in found {
        let place = Place { path, system, case_id: &answer.case_id };
        warnings.extend(strangers(answer, case, &place));
        match score_of(answer, scorer.unjudged(case), &place, &mut warnings) {
            Ok(score) => scored.push(Arc::new(ScoredAnswer::new(system.clone(), Arc::clone(case), score))),
            Err(wrong) => faults.extend(wrong),
        }
    }
    if !faults.is_empty() {
        return Err(Error::Input(faults));
    }
    let order: HashMap<&CaseId, usize> = tests.cases.iter().enumerate().map(|(at, case)| (&case.case_id, at)).collect();
    scored.sort_by_key(|answer| (answer.system.clone(), order.get(&answer.case.case_id).copied()));
    let (kept_cases, missing, agreement) = coverage(&scored, tests);
    if !missing.is_empty() {
        let what = format!("{} scores of systems and cases are missing; the summary names them", missing.len());
        warnings.push(InputFault::new(files.first().map_or(tests.path.as_path(), |file| &file.path), what));
    }
    warnings.extend(left_out(&scored, files, tests));
    Ok(Imported { scored, kept_cases, missing, agreement, parts, mode, lexical, warnings })
}

/// Which halves the components are of; both where no case has a property.
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

/// What the file says of the case that the test cases do not.
fn strangers(answer: &RecordedAnswer, case: &TestCase, place: &Place<'_>) -> Option<InputFault> {
    let other = |told: &Option<String>, known: &str| told.as_ref().is_some_and(|told| told.trim() != known.trim());
    let what = if other(&answer.question, &case.initial_prompt) {
        "its question is not that of the test case"
    } else if other(&answer.annotator, &case.annotator) {
        "its annotator is not that of the test case"
    } else {
        return None;
    };
    Some(place.fault(what).hint("name the test cases that the answers were scored by"))
}

/// The recorded numbers in the places of the rubric.
fn score_of(
    answer: &RecordedAnswer,
    mut score: Score,
    place: &Place<'_>,
    warnings: &mut Vec<InputFault>,
) -> Result<Score, Vec<InputFault>> {
    let mut faults = Vec::new();
    let recorded: HashMap<&str, Option<f64>> =
        answer.components.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let hint = "name the test cases that the answers were scored by";
    for component in &mut score.components {
        match recorded.get(component.name.as_str()) {
            Some(value) => warnings.extend(lay(component, *value).map(|what| place.fault(&what))),
            None => {
                let what = format!("component \"{}\" of its rubric is missing", component.name.escape_debug());
                faults.push(place.fault(&what).hint(hint));
            }
        }
    }
    for (name, _) in &answer.components {
        if score.component(name).is_none() {
            let what = format!("\"{}\" is no component of its rubric", name.escape_debug());
            faults.push(place.fault(&what).hint(hint));
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    (score.value, score.ann_score) = (finite(answer.score), finite(answer.ann_score));
    warnings.extend(sums_that_differ(&score).into_iter().map(|what| place.fault(&what)));
    Ok(score)
}

/// Gives a component its recorded value; what is odd about it.
fn lay(component: &mut Component, value: Option<f64>) -> Option<String> {
    let name = component.name.escape_debug().to_string();
    component.value = value.filter(|value| value.is_finite());
    component.reason = match value {
        Some(number) if number.is_finite() => {
            let outside = !(0.0..=1.0).contains(&number);
            component.reason = None;
            return outside.then(|| format!("component \"{name}\" is {number}, outside 0..1; taken as it is"));
        }
        Some(number) => {
            let message = format!("{number} in the results file");
            component.reason = Some(UnscoredReason::new(UnscoredKind::Exception, message));
            return Some(format!("component \"{name}\" is {number}; unscored here"));
        }
        None => Some(UnscoredReason::new(UnscoredKind::NotAsked, "null in the results file")),
    };
    None
}

/// Where the recorded sums are not those of the components.
fn sums_that_differ(score: &Score) -> Vec<String> {
    if !score.is_complete() {
        return Vec::new();
    }
    let (all, annotated) = score.filled(0.0);
    let check = |name: &str, recorded: Option<f64>, sum: Option<f64>| match (recorded, sum) {
        (Some(recorded), Some(sum)) if (recorded - sum).abs() <= SUM_TOLERANCE => None,
        (None, None) => None,
        (recorded, sum) => {
            let shown = |value: Option<f64>| value.map_or("no number".to_owned(), |value| value.to_string());
            let (recorded, sum) = (shown(recorded), shown(sum));
            Some(format!("{name} is {recorded}, its components make {sum} with the rubric's weights; taken as it is"))
        }
    };
    let mut told: Vec<String> = check("score", score.value, Some(all)).into_iter().collect();
    if annotated.is_some() {
        told.extend(check("ann_score", score.ann_score, annotated).map(|what| {
            what + " (whose arithmetic made it: add --mode default for ours, --mode compat for the reference's)"
        }));
    }
    told
}

/// Tells of questions that no system has scores for: whether they were asked, the results do not say.
fn left_out(scored: &[Arc<ScoredAnswer>], files: &[ResultsFile], tests: &TestCases) -> Option<InputFault> {
    let asked: HashSet<&str> = scored.iter().map(|answer| answer.case.initial_prompt.as_str()).collect();
    let all: HashSet<&str> = tests.cases.iter().map(|case| case.initial_prompt.as_str()).collect();
    let absent = all.len() - all.intersection(&asked).count();
    let path = files.first().map_or(tests.path.as_path(), |file| &file.path);
    let what = format!(
        "{absent} of {} questions of {} have no scores of any system; left out",
        all.len(),
        tests.path.display()
    );
    (absent > 0).then(|| InputFault::new(path, what))
}

/// The cases that count, what lacks, and whether questions count under several rubrics.
fn coverage(scored: &[Arc<ScoredAnswer>], tests: &TestCases) -> (Vec<CaseId>, Vec<(SystemName, CaseId)>, bool) {
    let mut systems: BTreeMap<&SystemName, HashSet<&CaseId>> = BTreeMap::new();
    for answer in scored {
        systems.entry(&answer.system).or_default().insert(&answer.case.case_id);
    }
    let mut questions: Vec<Vec<&CaseId>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for case in &tests.cases {
        match places.get(case.initial_prompt.as_str()).and_then(|place| questions.get_mut(*place)) {
            Some(question) => question.push(&case.case_id),
            None => {
                places.insert(&case.initial_prompt, questions.len());
                questions.push(vec![&case.case_id]);
            }
        }
    }
    let count =
        |question: &[&CaseId], cases: &HashSet<&CaseId>| question.iter().filter(|case| cases.contains(*case)).count();
    let agreement = systems.values().any(|cases| questions.iter().any(|question| count(question, cases) > 1));
    let (mut kept, mut missing) = (HashSet::new(), Vec::new());
    for question in &questions {
        // A question that no system has scores for was not asked (--limit, --cases): nobody lacks it.
        let scored: Vec<&CaseId> =
            question.iter().filter(|case| systems.values().any(|cases| cases.contains(*case))).copied().collect();
        for (system, cases) in &systems {
            let lacks: Vec<&CaseId> = scored.iter().filter(|case| !cases.contains(*case)).copied().collect();
            // Without agreement one annotator's rubric stands for the question.
            let stands = !agreement && lacks.len() < scored.len();
            if !stands {
                missing.extend(lacks.into_iter().map(|case| ((*system).clone(), case.clone())));
            }
        }
        kept.extend(scored);
    }
    missing.sort();
    let kept_cases = tests.cases.iter().map(|case| &case.case_id).filter(|case| kept.contains(case)).cloned().collect();
    (kept_cases, missing, agreement)
}

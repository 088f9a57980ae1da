//! One system's file made ready for pairing: predictions as answers, golds and reference answers joined.

use std::collections::HashMap;
use std::sync::Arc;

use crate::domain::{Answer, CaseId, Mode, Prediction, TestCase};
use crate::error::{Error, InputFault, Result};

use super::conversion::{Conversion, ReferencesBlock, Written, convert_items, no_case_asks};
use super::references::JoinedBy;
use super::{JoinedAnswers, PairOptions, Predictions, References, SystemAnswers, SystemFile, TestCases};

/// How files become items.
#[derive(Clone, Default)]
pub struct ScorableOptions<'a> {
    /// What is paired, and how. Without test cases `cases` are ids of predictions and `limit` counts questions.
    pub pairing: PairOptions,
    /// What is appended to the outputs of predictions, as `convert` does; `None`: nothing.
    pub block: Option<ReferencesBlock<'a>>,
}

impl ScorableOptions<'_> {
    pub(super) fn mode(&self) -> Mode {
        if self.pairing.compat { Mode::Compat } else { Mode::Default }
    }
}

/// Predictions that nobody asks are told one by one in each file up to this many; the rest are counted.
const UNASKED_SHOWN: usize = 5;

/// A system's file made ready.
pub(super) struct Prepared<'a> {
    file: &'a SystemFile,
    /// What is paired with test cases: of predictions those that are asked.
    pub(super) answers: SystemAnswers,
    /// Every prediction, in file order; empty for answers of `{case_id, answer_text}`.
    pub(super) written: Vec<Written>,
    /// What was joined.
    pub(super) notes: Vec<String>,
}

impl Prepared<'_> {
    /// True for a file of predictions.
    pub(super) fn is_predictions(&self) -> bool {
        matches!(self.file, SystemFile::Predictions(_))
    }
}

/// What every system is made ready with.
#[derive(Clone, Copy)]
struct With<'a> {
    tests: Option<&'a TestCases>,
    references: Option<&'a References>,
    options: &'a ScorableOptions<'a>,
}

/// Makes all files ready.
///
/// # Errors
/// [`Error::Input`] with every fault of every file.
pub(super) fn prepare<'a>(
    tests: Option<&TestCases>,
    systems: &'a [SystemFile],
    references: Option<&References>,
    options: &ScorableOptions<'_>,
) -> Result<Vec<Prepared<'a>>> {
    let with = With { tests, references, options };
    let (mut prepared, mut faults) = (Vec::new(), Vec::new());
    for file in systems {
        let made = match file {
            SystemFile::Answers(answers) => of_answers(answers, &with),
            SystemFile::Predictions(predictions) => of_predictions(predictions, &with),
        };
        match made {
            Ok((answers, written, notes)) => prepared.push(Prepared { file, answers, written, notes }),
            Err(Error::Input(more)) => faults.extend(more),
            Err(other) => return Err(other),
        }
    }
    if faults.is_empty() { Ok(prepared) } else { Err(Error::Input(faults)) }
}

type Made = (SystemAnswers, Vec<Written>, Vec<String>);

/// Answers of `{case_id, answer_text}`: those with a test case become predictions of its question.
fn of_answers(answers: &SystemAnswers, with: &With<'_>) -> Result<Made> {
    let mut answers = answers.clone();
    let known: HashMap<&CaseId, &Arc<TestCase>> =
        with.tests.iter().flat_map(|tests| &tests.cases).map(|case| (&case.case_id, case)).collect();
    for answer in &mut answers.answers {
        let Some(case) = known.get(&answer.case_id) else { continue };
        answer.prediction = Some(Arc::new(Prediction {
            id: answer.case_id.to_string(),
            input: case.initial_prompt.clone(),
            output: Some(answer.own_text_shared()),
            line: answer.line,
            ..Prediction::default()
        }));
    }
    let mut notes = Vec::new();
    if let Some(references) = with.references {
        let (mut joined, mut without) = (0, Vec::new());
        for prediction in answers.answers.iter_mut().filter_map(|answer| answer.prediction.as_mut()) {
            match references.gold(&prediction.input) {
                Some(gold) => {
                    Arc::make_mut(prediction).gold = gold.clone();
                    joined += 1;
                }
                None => without.push(prediction.id.clone()),
            }
        }
        if references.has_golds() {
            notes.push(joined_note(&answers.path, references, "golds", (joined, joined + without.len())));
            answers.warnings.extend(references.without_gold(&answers.path, &without));
        }
        if references.has_answers() {
            let inputs: Vec<String> =
                answers.answers.iter().map(|a| a.prediction.as_ref().map_or("", |p| &p.input).to_owned()).collect();
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            // Two annotations of one question are no two questions.
            let found = match references.questions_are_distinct() {
                true => JoinedAnswers { answers: references.answers_by_question(&inputs), by: JoinedBy::Input },
                false => references.answers_for(&inputs, &answers.path)?,
            };
            let (note, warning) = reference_notes(&answers.path, references, &found);
            notes.push(note);
            answers.warnings.extend(warning);
            for (answer, reference) in answers.answers.iter_mut().zip(found.answers) {
                answer.reference_answer = reference;
            }
        }
    }
    Ok((answers, Vec::new(), notes))
}

/// Predictions: with golds and reference answers joined, and those that test cases ask converted.
fn of_predictions(predictions: &Predictions, with: &With<'_>) -> Result<Made> {
    let missing = predictions.items.iter().filter(|item| item.output.is_none());
    let faults: Vec<InputFault> = missing
        .map(|item| {
            let fault = InputFault::new(&predictions.path, "output is missing").at_line(item.line).of_case(&*item.id);
            fault.hint("write \"\" for an empty answer")
        })
        .collect();
    if !faults.is_empty() {
        return Err(Error::Input(faults));
    }
    let (written, mut warnings, notes) = joined(predictions, with)?;
    warnings.splice(0..0, predictions.warnings.iter().cloned());
    let empty = predictions.items.iter().filter(|item| item.output().trim().is_empty());
    warnings.extend(
        empty.map(|item| {
            InputFault::new(&predictions.path, "the output is empty").at_line(item.line).of_case(&*item.id)
        }),
    );
    let mut answers = Vec::new();
    if let Some(tests) = with.tests {
        let how = Conversion { block: with.options.block, mode: with.options.mode() };
        let of = (&predictions.system, predictions.path.as_path());
        let converted = convert_items(&written, of, tests, &how)?;
        answers = each_case_once(converted.answers, predictions, how.mode, &mut warnings);
        let unasked = converted.unasked.iter().filter_map(|place| predictions.items.get(*place));
        let told = unasked.take(UNASKED_SHOWN);
        let path = predictions.path.as_path();
        warnings.extend(told.map(|item| no_case_asks(item, path, "it is not scored by a rubric")));
        if let Some(more) = converted.unasked.len().checked_sub(UNASKED_SHOWN).filter(|more| *more > 0) {
            warnings.push(InputFault::new(path, format!("{more} more questions are asked by no test case")));
        }
    }
    let (system, path) = (predictions.system.clone(), predictions.path.clone());
    Ok((SystemAnswers { system, path, blake3: predictions.blake3, answers, warnings }, written, notes))
}

fn joined(predictions: &Predictions, with: &With<'_>) -> Result<(Vec<Written>, Vec<InputFault>, Vec<String>)> {
    let mut predictions = predictions.clone();
    let (mut warnings, mut notes) = (Vec::new(), Vec::new());
    let mut answers: Vec<Option<Arc<str>>> = vec![None; predictions.items.len()];
    if let Some(references) = with.references {
        if references.has_golds() {
            let found = predictions.items.iter().filter(|item| references.gold(&item.input).is_some()).count();
            let share = (found, predictions.items.len());
            notes.push(joined_note(&predictions.path, references, "golds", share));
            warnings.extend(references.join(&mut predictions));
        }
        if references.has_answers() {
            let inputs: Vec<&str> = predictions.items.iter().map(|item| item.input.as_str()).collect();
            let found = references.answers_for(&inputs, &predictions.path)?;
            let (note, warning) = reference_notes(&predictions.path, references, &found);
            notes.push(note);
            warnings.extend(warning);
            answers = found.answers;
        }
    }
    let written = predictions.items.into_iter().zip(answers);
    let written =
        written.map(|(item, reference_answer)| Written { prediction: Arc::new(item), reference_answer }).collect();
    Ok((written, warnings, notes))
}

/// `a.json: golds from r.json for 3 of 4 answers, by input`.
fn joined_note(path: &std::path::Path, references: &References, what: &str, share: (usize, usize)) -> String {
    let (found, of) = share;
    let note = format!("{what} from {} for {found} of {of} answers, by input", references.path().display());
    InputFault::new(path, note).to_string()
}

/// What was joined, and a warning where something was not.
fn reference_notes(
    path: &std::path::Path,
    references: &References,
    joined: &JoinedAnswers,
) -> (String, Option<InputFault>) {
    let all = joined.answers.len();
    let found = joined.answers.iter().flatten().count();
    let how = match joined.by {
        JoinedBy::Input => "by input",
        JoinedBy::Place => "by place, as not every input is there once",
    };
    let from = references.path().display();
    let note = format!("reference answers from {from} for {found} of {all} answers, {how}");
    let warning = (found < all).then(|| {
        let what = format!("{} answers without a reference answer in {from}", all - found);
        InputFault::new(path, what).hint("their aspects are judged without one")
    });
    (InputFault::new(path, note).to_string(), warning)
}

/// In compat mode the last of several answers to one case counts, as where answers are read.
fn each_case_once(
    answers: Vec<Answer>,
    predictions: &Predictions,
    mode: Mode,
    warnings: &mut Vec<InputFault>,
) -> Vec<Answer> {
    if mode == Mode::Default {
        return answers;
    }
    let mut kept: Vec<Answer> = Vec::with_capacity(answers.len());
    let mut places: HashMap<CaseId, usize> = HashMap::new();
    for answer in answers {
        match places.get(&answer.case_id).and_then(|place| kept.get_mut(*place)) {
            Some(first) => {
                let what = format!("the question is answered twice, first on line {}; this one counts", first.line);
                let fault = InputFault::new(&predictions.path, what).at_line(answer.line);
                warnings.push(fault.of_case(answer.case_id.as_str()));
                *first = answer;
            }
            None => {
                places.insert(answer.case_id.clone(), kept.len());
                kept.push(answer);
            }
        }
    }
    kept
}

//! Predictions to answers: by the question they find their test cases.
//!
//! Source: ScholarQABench's `scripts/convert_answer_scholar_cs.py`, which takes the last of two cases of a question.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::domain::{Answer, CaseId, Mode, Prediction, SystemName};
use crate::error::{Error, InputFault, Result};

use super::{Predictions, TestCases};

/// Makes the text that is appended to a prediction's output: its cited sources as a list. The error is the name of the
/// exception that the reference script raises there.
pub type ReferencesBlock<'a> = &'a (dyn Fn(&Prediction) -> Result<String, &'static str> + Sync);

/// How predictions become answers.
#[derive(Clone, Copy)]
pub struct Conversion<'a> {
    /// What is appended to outputs; `None`: nothing.
    pub block: Option<ReferencesBlock<'a>>,
    /// In compat mode a question that two test cases ask is answered for the last alone.
    pub mode: Mode,
}

/// What came of a conversion.
#[derive(Debug, Clone, PartialEq)]
pub struct Converted {
    /// In the order of the predictions, one for each test case of the question; each carries its prediction.
    pub answers: Vec<Answer>,
    /// Places, from 0, of the predictions whose question no test case asks.
    pub unasked: Vec<usize>,
}

/// A prediction with what was joined to it.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) prediction: Arc<Prediction>,
    pub(super) reference_answer: Option<Arc<str>>,
}

/// Converts the predictions of a file.
///
/// # Errors
/// [`Error::Input`] for every prediction that is asked for and has no output, or of which the block cannot be made; by
/// default also where a question is answered twice.
pub fn convert(predictions: &Predictions, tests: &TestCases, how: &Conversion<'_>) -> Result<Converted> {
    let written = |item: &Prediction| Written { prediction: Arc::new(item.clone()), reference_answer: None };
    let items: Vec<Written> = predictions.items.iter().map(written).collect();
    convert_items(&items, (&predictions.system, &predictions.path), tests, how)
}

/// See [`convert`]; `of` is the system and its file.
pub(super) fn convert_items(
    items: &[Written],
    of: (&SystemName, &Path),
    tests: &TestCases,
    how: &Conversion<'_>,
) -> Result<Converted> {
    let (system, path) = of;
    let cases = cases_by_question(tests, how.mode);
    let (mut answers, mut unasked, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    let mut answered: HashSet<&CaseId> = HashSet::new();
    for (place, item) in items.iter().enumerate() {
        let Some(ids) = cases.get(item.prediction.input.trim()) else {
            unasked.push(place);
            continue;
        };
        let fault =
            |what: String| InputFault::new(path, what).at_line(item.prediction.line).of_case(&*item.prediction.id);
        match (&item.prediction.output, item.block(how.block)) {
            (None, _) => faults.push(fault("output is missing".to_owned())),
            (Some(_), Err(exception)) => {
                faults.push(fault(format!("the reference script raises {exception} here")));
            }
            (Some(_), Ok(block)) => {
                let answer = item.answer(system, block.as_deref());
                answers.extend(ids.iter().map(|id| Answer { case_id: id.clone(), ..answer.clone() }));
            }
        }
        if how.mode == Mode::Default && !ids.iter().all(|id| answered.insert(id)) {
            faults.push(fault("the question is answered twice".to_owned()).hint("keep one of the two"));
        }
    }
    if faults.is_empty() { Ok(Converted { answers, unasked }) } else { Err(Error::Input(faults)) }
}

impl Written {
    /// The block that is appended to this output, if any is.
    pub(super) fn block(&self, block: Option<ReferencesBlock<'_>>) -> Result<Option<String>, &'static str> {
        block.map(|block| block(&self.prediction)).transpose()
    }

    /// The answer with this block, under the prediction's id.
    pub(super) fn answer(&self, system: &SystemName, block: Option<&str>) -> Answer {
        let output = self.prediction.output();
        let own_bytes = block.map(|_| output.len());
        let text = format!("{output}{}", block.unwrap_or_default());
        Answer {
            own_bytes,
            prediction: Some(Arc::clone(&self.prediction)),
            reference_answer: self.reference_answer.clone(),
            line: self.prediction.line,
            ..Answer::new(system.clone(), self.prediction.id.as_str().into(), text)
        }
    }
}

/// The cases of each question; in compat mode only the last.
fn cases_by_question(tests: &TestCases, mode: Mode) -> HashMap<&str, Vec<CaseId>> {
    let mut cases: HashMap<&str, Vec<CaseId>> = HashMap::new();
    for case in &tests.cases {
        let ids = cases.entry(case.initial_prompt.trim()).or_default();
        if mode == Mode::Compat {
            ids.clear();
        }
        ids.push(case.case_id.clone());
    }
    cases
}

/// The warning that nobody asks this prediction's question; `consequence` says what becomes of it.
pub fn no_case_asks(item: &Prediction, path: &Path, consequence: &str) -> InputFault {
    let what = format!("no test case asks \"{}\"", item.input.chars().take(60).collect::<String>().escape_debug());
    InputFault::new(path, what).at_line(item.line).of_case(&*item.id).hint(consequence)
}

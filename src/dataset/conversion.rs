//! Converts predictions to answers: joins them to test cases by question.
//!
//! Source: ScholarQABench's `scripts/convert_answer_scholar_cs.py`, which takes the last of two cases with one
//! question.

use std::collections::HashMap;

use crate::domain::{Answer, CaseId, Mode, Prediction};
use crate::error::{Error, InputFault, Result};

use super::{SystemAnswers, TestCases};

/// Builds the text appended to a prediction's output: the list of cited sources. The error is the name of the exception
/// that the reference script raises.
pub type ReferencesBlock<'a> = &'a (dyn Fn(&Prediction) -> Result<String, &'static str> + Sync);

/// Options of a conversion.
#[derive(Clone, Copy)]
pub struct Conversion<'a> {
    /// Text appended to outputs; `None`: nothing.
    pub block: Option<ReferencesBlock<'a>>,
    /// In compat mode a question of two test cases is answered for the last one only, and may be answered twice.
    pub mode: Mode,
}

/// Result of a conversion.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Converted {
    /// In the order of the predictions, one per test case of the question; each carries its prediction.
    pub answers: Vec<Answer>,
    /// Predictions whose question is in no test case.
    pub unasked: Vec<InputFault>,
    /// In compat mode, repeated answers to a question: the last counts.
    pub repeated: Vec<InputFault>,
}

/// Converts the predictions of a file.
///
/// # Errors
/// [`Error::Input`] for every prediction whose block cannot be built; by default also if a question is answered twice.
pub fn convert(system: &SystemAnswers, tests: &TestCases, how: &Conversion<'_>) -> Result<Converted> {
    let mut cases: HashMap<&str, Vec<&CaseId>> = HashMap::new();
    for case in &tests.cases {
        let ids = cases.entry(case.initial_prompt.trim()).or_default();
        if how.mode == Mode::Compat {
            ids.clear();
        }
        ids.push(&case.case_id);
    }
    let (mut converted, mut faults) = (Converted::default(), Vec::new());
    let mut first_lines: HashMap<&str, usize> = HashMap::new();
    for answer in &system.answers {
        let fault =
            |what: String| InputFault::new(&system.path, what).at_line(answer.line).of_case(answer.case_id.as_str());
        let question = answer.question();
        let Some(ids) = cases.get(question) else {
            let shown: String = question.chars().take(60).collect();
            converted.unasked.push(fault(format!("no test case asks \"{}\"", shown.escape_debug())));
            continue;
        };
        match how.append(answer) {
            Err(exception) => faults.push(fault(format!("the reference script raises {exception} here"))),
            Ok(answer) => {
                converted.answers.extend(ids.iter().map(|id| Answer { case_id: (*id).clone(), ..answer.clone() }));
            }
        }
        if let Some(first) = first_lines.insert(question, answer.line) {
            let what = format!("the question is answered twice, first on line {first}");
            match how.mode {
                Mode::Default => faults.push(fault(what).hint("keep one of the two")),
                Mode::Compat => converted.repeated.push(fault(what).hint("this one counts")),
            }
        }
    }
    if faults.is_empty() { Ok(converted) } else { Err(Error::Input(faults)) }
}

impl Conversion<'_> {
    /// The answer with its block of references.
    pub(super) fn append(&self, answer: &Answer) -> Result<Answer, &'static str> {
        let (Some(block), Some(prediction)) = (self.block, &answer.prediction) else { return Ok(answer.clone()) };
        let own = &answer.answer_text;
        let text = format!("{own}{}", block(prediction)?);
        Ok(Answer { own_bytes: Some(own.len()), answer_text: text.into(), ..answer.clone() })
    }
}

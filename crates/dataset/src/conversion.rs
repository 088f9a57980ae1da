//! Converts predictions to answers: joins them to test cases by question and appends the list of cited sources.
//!
//! Source: ScholarQABench's `scripts/convert_answer_scholar_cs.py`, which takes the last of two cases with one
//! question.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use scholareval_core::domain::{Answer, CaseId, IndexBase, Mode, Prediction, Source};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::text::names::start_of;

use super::{SystemAnswers, TestCases};

/// Options of a conversion.
#[derive(Debug, Clone, Copy)]
pub struct Conversion {
    /// Appends the list of cited sources, numbered from this base; `None`: nothing.
    pub block: Option<IndexBase>,
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
pub fn convert(system: &SystemAnswers, tests: &TestCases, how: &Conversion) -> Result<Converted> {
    let cases = cases_by_question(tests, how.mode);
    let (mut converted, mut faults) = (Converted::default(), Vec::new());
    let mut first_lines: HashMap<(&str, Option<&CaseId>), usize> = HashMap::new();
    let repeated = repeated_with_ids(&system.answers);
    for answer in &system.answers {
        let fault = |what: String| {
            InputFault::new(&system.path, what)
                .at_line(answer.line)
                .of_case(answer.case_id.as_str())
        };
        let question = answer.question();
        let Some(ids) = cases.get(question) else {
            converted.unasked.push(fault(format!(
                "no test case asks \"{}\"",
                start_of(question).escape_debug()
            )));
            continue;
        };
        // Of several answers to one question each belongs to the case whose id it has.
        let is_by_id = how.mode == Mode::Default
            && repeated.contains(question)
            && ids.contains(&&answer.case_id);
        let id_of_answer = is_by_id.then_some(&answer.case_id);
        let ids = match id_of_answer {
            Some(id) => vec![id],
            None => ids.clone(),
        };
        match how.append(answer) {
            Err(exception) => faults.push(fault(format!(
                "the reference script raises {exception} here"
            ))),
            Ok(answer) => {
                // Two annotators' rubrics of one question both judge the one answer; pairing later
                // decides which of them count.
                converted.answers.extend(ids.iter().map(|id| Answer {
                    case_id: (*id).clone(),
                    ..answer.clone()
                }));
            }
        }
        if let Some(first) = first_lines.insert((question, id_of_answer), answer.line) {
            let shown = start_of(question);
            let what = format!(
                "the question \"{}\" is answered twice, first on line {first}",
                shown.escape_debug()
            );
            match how.mode {
                Mode::Default => faults.push(fault(what).hint("keep one of the two")),
                Mode::Compat => converted.repeated.push(fault(what).hint("this one counts")),
            }
        }
    }
    if faults.is_empty() {
        Ok(converted)
    } else {
        Err(Error::Input(faults))
    }
}

/// The ids of the cases of each question.
fn cases_by_question(tests: &TestCases, mode: Mode) -> HashMap<&str, Vec<&CaseId>> {
    let mut cases: HashMap<&str, Vec<&CaseId>> = HashMap::new();
    for case in &tests.cases {
        let ids = cases.entry(case.initial_prompt.trim()).or_default();
        if mode == Mode::Compat {
            // The script builds a dict by question, in which a later case overwrites an earlier
            // one.
            ids.clear();
        }
        ids.push(&case.case_id);
    }
    cases
}

/// The questions that several of these answers are to, where they have ids: those without have their position as an id.
pub(super) fn repeated_with_ids(answers: &[Answer]) -> HashSet<&str> {
    let mut places = (1..).zip(answers);
    if places.all(|(place, answer)| answer.case_id.as_str() == format!("{place}")) {
        return HashSet::new();
    }
    let mut seen = HashSet::new();
    let questions = answers.iter().map(Answer::question);
    questions
        .filter(|question| !seen.insert(*question))
        .collect()
}

impl Conversion {
    /// How the answers of this system are converted: those of a file without sources get no list of them.
    pub(super) fn of(&self, system: &SystemAnswers) -> Self {
        Self {
            // An empty heading `References:` below every answer would be judged as part of it.
            block: self
                .block
                .filter(|_| system.by_question && !system.without_id),
            ..*self
        }
    }

    /// The answer with its block of references.
    pub(super) fn append(&self, answer: &Answer) -> Result<Answer, &'static str> {
        let (Some(base), Some(prediction)) = (self.block, &answer.prediction) else {
            return Ok(answer.clone());
        };
        let text_of_system = &answer.answer_text;
        let text = format!(
            "{text_of_system}{}",
            references_block(prediction, base, self.mode)?
        );
        Ok(Answer {
            // The list is not the system's text: lengths and perturbations stop before it.
            own_bytes: Some(text_of_system.len()),
            answer_text: text.into(),
            ..answer.clone()
        })
    }
}

/// Whether an answer made from a prediction ends with a list of its cited sources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum ReferencesBlock {
    /// Append the list; length scores ignore it.
    #[default]
    Append,
    /// Append nothing.
    None,
}

/// The appended text: a line break, `References:`, and for each cited source `[n] title text` and an empty line.
///
/// By default `n` is the number used in the output. In [`Mode::Compat`], as in the reference, cited sources are
/// numbered 0, 1, .., a bare `NaN` text becomes `nan`, and for an object of sources the second and first character of
/// each *key* are title and text.
///
/// # Errors
/// In compat mode, the name of the exception that the reference raises.
pub fn references_block(
    prediction: &Prediction,
    base: IndexBase,
    mode: Mode,
) -> Result<String, &'static str> {
    let mut block = String::from("\nReferences:\n");
    for (order, place) in prediction.cited_sources(base, mode).into_iter().enumerate() {
        let Some(source) = prediction.sources.get(place) else {
            continue;
        };
        let (number, title, text) = match mode {
            Mode::Default => {
                let title = source.title.clone().unwrap_or_default();
                let text = source.text.clone().unwrap_or_default();
                (base.number_of(place), title, text)
            }
            Mode::Compat => {
                let (title, text) = reference_title_and_text(source)?;
                (order, title, text)
            }
        };
        block.push_str(&format!("[{number}] {title} {text}\n\n"));
    }
    Ok(block)
}

fn reference_title_and_text(source: &Source) -> Result<(String, String), &'static str> {
    // Iterating over a dict yields its keys, and the script then indexes each key as if it were a
    // pair; so letters of the key stand for text and title.
    if let Some(key) = &source.key {
        let mut characters = key.chars();
        return match (characters.next(), characters.next()) {
            (Some(text), Some(title)) => Ok((title.to_string(), text.to_string())),
            _ => Err("IndexError"),
        };
    }
    // A missing title is empty, a missing text is not.
    let title = source.title.clone().unwrap_or_default();
    match &source.text {
        Some(text) => Ok((title, text.clone())),
        None if source.text_is_nan => Ok((title, "nan".to_owned())),
        None => Err("KeyError"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(title: &str, text: &str) -> Source {
        Source {
            title: Some(title.to_owned()),
            text: Some(text.to_owned()),
            ..Source::default()
        }
    }

    fn prediction(output: &str, sources: Vec<Source>) -> Prediction {
        Prediction {
            output: Some(output.into()),
            sources,
            ..Prediction::default()
        }
    }

    fn block(prediction: &Prediction, base: IndexBase, mode: Mode) -> Result<String, &'static str> {
        references_block(prediction, base, mode)
    }

    #[test]
    fn cited_sources_keep_their_numbers_and_compat_numbers_them_anew() {
        let sources = (0..4)
            .map(|i| source(&format!("T{i}"), &format!("X{i}")))
            .collect();
        let answer = prediction("a [3, 9] b [1] [3]", sources);
        assert_eq!(answer.cited_sources(IndexBase::Zero, Mode::Default), [1, 3]);
        let ours = block(&answer, IndexBase::Zero, Mode::Default).unwrap();
        assert_eq!(ours, "\nReferences:\n[1] T1 X1\n\n[3] T3 X3\n\n");
        let theirs = block(&answer, IndexBase::Zero, Mode::Compat).unwrap();
        assert_eq!(theirs, "\nReferences:\n[0] T1 X1\n\n[1] T3 X3\n\n");
        let from_one = block(&answer, IndexBase::One, Mode::Default).unwrap();
        assert_eq!(from_one, "\nReferences:\n[1] T0 X0\n\n[3] T2 X2\n\n");
    }

    #[test]
    fn missing_text_is_empty_by_default_and_nan_in_compat() {
        let nan = Source {
            title: Some("T".into()),
            text_is_nan: true,
            ..Source::default()
        };
        let answer = prediction("a [0]", vec![nan]);
        assert_eq!(
            block(&answer, IndexBase::Zero, Mode::Default).unwrap(),
            "\nReferences:\n[0] T \n\n"
        );
        assert_eq!(
            block(&answer, IndexBase::Zero, Mode::Compat).unwrap(),
            "\nReferences:\n[0] T nan\n\n"
        );
    }

    #[test]
    fn a_missing_title_is_empty_and_a_missing_text_stops_compat() {
        let without_title = Source {
            text: Some("X".into()),
            ..Source::default()
        };
        let answer = prediction("a [0]", vec![without_title]);
        for mode in [Mode::Default, Mode::Compat] {
            let ours = block(&answer, IndexBase::Zero, mode);
            assert_eq!(ours.unwrap(), "\nReferences:\n[0]  X\n\n");
        }
        let without_text = Source {
            title: Some("T".into()),
            ..Source::default()
        };
        let answer = prediction("a [0]", vec![without_text]);
        let theirs = block(&answer, IndexBase::Zero, Mode::Compat);
        assert_eq!(theirs, Err("KeyError"));
    }

    #[test]
    fn an_object_of_sources_is_read_by_key_in_compat_and_by_value_here() {
        let keyed = |key: &str| Source {
            key: Some(key.to_owned()),
            ..source("title", "text")
        };
        let answer = prediction("a [0]", vec![keyed("ab")]);
        assert_eq!(
            block(&answer, IndexBase::Zero, Mode::Default).unwrap(),
            "\nReferences:\n[0] title text\n\n"
        );
        assert_eq!(
            block(&answer, IndexBase::Zero, Mode::Compat).unwrap(),
            "\nReferences:\n[0] b a\n\n"
        );
        assert_eq!(
            block(
                &prediction("a [0]", vec![keyed("a")]),
                IndexBase::Zero,
                Mode::Compat
            ),
            Err("IndexError")
        );
    }

    #[test]
    fn an_output_that_cites_nothing_has_an_empty_list() {
        let answer = prediction("none", vec![source("T", "X")]);
        assert_eq!(
            block(&answer, IndexBase::Zero, Mode::Default).unwrap(),
            "\nReferences:\n"
        );
    }
}

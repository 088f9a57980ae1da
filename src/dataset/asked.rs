//! The questions that a benchmark asks, and what of a system's file answers them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::domain::{CaseId, Fingerprint, Gold, Mode, Prediction};
use crate::error::{Error, InputFault, Result};

use super::names::list;
use super::{Predictions, SystemAnswers, SystemFile, TestCases};

/// Questions and predictions that are named; the rest are counted.
const SHOWN: usize = 5;

/// Characters of a question in a message.
const QUESTION_SHOWN: usize = 60;

/// One question of the data.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    /// Without white space around it.
    question: String,
    /// The test cases that ask it and whose answer counts; empty where the data are no test cases.
    cases: Vec<CaseId>,
    /// How messages call it.
    name: String,
    gold: Gold,
}

/// The questions of one data file, each as often as the file asks it.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedQuestions {
    path: PathBuf,
    blake3: Fingerprint,
    items: Vec<Asked>,
    has_cases: bool,
    mode: Mode,
}

/// A system's file held against the questions.
#[derive(Debug, Clone, PartialEq)]
pub struct Covered {
    /// What is scored: in default mode the first answer to every question and nothing else, with the data's golds.
    pub system: SystemFile,
    /// How many questions have an answer.
    pub answered: usize,
    /// True if any answer came with sources that it could cite.
    pub has_sources: bool,
    /// The questions without one, as one fault; `None` if there are none.
    pub missing: Option<InputFault>,
    /// Predictions that answer a question again, and those whose question is not asked.
    pub odd: Vec<InputFault>,
}

impl AskedQuestions {
    /// The questions of a data file in the form of predictions: a line a question. One that stands there twice is asked
    /// twice.
    pub fn of_predictions(data: Predictions, mode: Mode) -> Self {
        let names = names_of(&data.items);
        let asked = |(item, name): (Prediction, String)| {
            let question = item.input.trim().to_owned();
            Asked { question, cases: Vec::new(), name, gold: item.gold }
        };
        Self {
            path: data.path,
            blake3: data.blake3,
            items: data.items.into_iter().zip(names).map(asked).collect(),
            has_cases: false,
            mode,
        }
    }

    /// The different questions of a file of test cases. Of several annotators' cases of a question answers to the first
    /// count (in compat mode to any), as pairing has it.
    pub fn of_test_cases(tests: &TestCases, mode: Mode) -> Self {
        let mut items: Vec<Asked> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for case in &tests.cases {
            let question = case.initial_prompt.trim();
            match places.get(question).and_then(|place| items.get_mut(*place)) {
                Some(asked) if mode == Mode::Compat => asked.cases.push(case.case_id.clone()),
                Some(_) => {}
                None => {
                    places.insert(question, items.len());
                    let name = format!("{} {}", case.case_id, shown(question));
                    let cases = vec![case.case_id.clone()];
                    items.push(Asked { question: question.to_owned(), cases, name, gold: Gold::default() });
                }
            }
        }
        Self { path: tests.path.clone(), blake3: tests.blake3, items, has_cases: true, mode }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True without any.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The data file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// blake3 of its bytes.
    pub fn blake3(&self) -> Fingerprint {
        self.blake3
    }

    /// True for a file of test cases.
    pub fn are_test_cases(&self) -> bool {
        self.has_cases
    }

    /// How many questions stand there several times with unequal gold answers: their predictions are told apart by
    /// their order alone.
    pub fn ambiguous(&self) -> usize {
        let mut golds: HashMap<&str, (&Option<String>, bool)> = HashMap::new();
        for asked in &self.items {
            let known = golds.entry(&asked.question).or_insert((&asked.gold.answer, false));
            known.1 |= *known.0 != asked.gold.answer;
        }
        golds.values().filter(|(_, differs)| *differs).count()
    }

    /// Holds a system's file against the questions. The n-th prediction to a question belongs to the n-th place where
    /// the data ask it, and gets that place's gold.
    ///
    /// In compat mode nothing is left out: the reference scores whatever the file holds.
    ///
    /// # Errors
    /// [`Error::Input`] for a file that answers none of them, and for answers of `{case_id, answer_text}` where the
    /// data have no test cases.
    pub fn cover(&self, system: SystemFile) -> Result<Covered> {
        let covered = match system {
            SystemFile::Answers(answers) => self.cover_answers(answers)?,
            SystemFile::Predictions(predictions) => self.cover_predictions(predictions),
        };
        if covered.answered == 0 {
            let what = format!("no question of {} is answered", self.path.display());
            let hint = "its input must equal a question of the data; is this the right benchmark?";
            return Err(InputFault::new(covered.system.path(), what).hint(hint).into());
        }
        Ok(covered)
    }

    fn cover_answers(&self, answers: SystemAnswers) -> Result<Covered> {
        if !self.has_cases {
            let what = "answers of {case_id, answer_text} do not say their question";
            let hint = "give predictions: {\"input\": .., \"output\": .., \"ctxs\": [..]}";
            return Err(Error::from(InputFault::new(&answers.path, what).hint(hint)));
        }
        let answered = |asked: &&Asked| answers.answers.iter().any(|answer| asked.cases.contains(&answer.case_id));
        let missing: Vec<&Asked> = self.items.iter().filter(|asked| !answered(asked)).collect();
        let missing_fault = self.missing(&answers.path, &missing);
        let answered = self.items.len() - missing.len();
        let system = SystemFile::Answers(answers);
        Ok(Covered { system, answered, has_sources: false, missing: missing_fault, odd: Vec::new() })
    }

    fn cover_predictions(&self, predictions: Predictions) -> Covered {
        // Places of each question, the next one last.
        let mut open: HashMap<&str, Vec<&Asked>> = HashMap::new();
        for asked in self.items.iter().rev() {
            open.entry(&asked.question).or_default().push(asked);
        }
        let (mut kept, mut again, mut unasked) = (Vec::new(), Vec::new(), Vec::new());
        let mut answered = 0;
        let names = names_of(&predictions.items);
        for (mut item, name) in predictions.items.into_iter().zip(names) {
            match open.get_mut(item.input.trim()).map(Vec::pop) {
                Some(Some(asked)) => {
                    take_gold(&mut item.gold, &asked.gold);
                    answered += 1;
                    kept.push(item);
                    continue;
                }
                Some(None) => again.push(name),
                None => unasked.push(name),
            }
            if self.mode == Mode::Compat {
                kept.push(item);
            }
        }
        let left: std::collections::HashSet<*const Asked> =
            open.into_values().flatten().map(std::ptr::from_ref).collect();
        let missing: Vec<&Asked> =
            self.items.iter().filter(|asked| left.contains(&std::ptr::from_ref(*asked))).collect();
        let missing = self.missing(&predictions.path, &missing);
        let odd = self.odd(&predictions.path, &again, &unasked);
        let has_sources = kept.iter().any(|item| !item.sources.is_empty());
        let system = SystemFile::Predictions(Predictions { items: kept, ..predictions });
        Covered { system, answered, has_sources, missing, odd }
    }

    fn missing(&self, path: &Path, missing: &[&Asked]) -> Option<InputFault> {
        (!missing.is_empty()).then(|| {
            let names = list(missing.iter().map(|asked| asked.name.as_str()), SHOWN);
            let (count, all) = (missing.len(), self.items.len());
            let of = self.path.display();
            InputFault::new(path, format!("{count} of {all} questions of {of} have no prediction: {names}"))
        })
    }

    fn odd(&self, path: &Path, again: &[String], unasked: &[String]) -> Vec<InputFault> {
        let scored = |otherwise: &'static str| match self.mode {
            Mode::Default => otherwise,
            Mode::Compat => "it counts all the same, as the reference has it",
        };
        let told = |items: &[String], what: &str, hint| {
            let what = format!("{} {what}: {}", items.len(), list(items.iter().map(String::as_str), SHOWN));
            (!items.is_empty()).then(|| InputFault::new(path, what).hint(hint))
        };
        let of = self.path.display();
        let twice = told(
            again,
            &format!("predictions answer a question more often than {of} asks it"),
            scored("the first counts, these are not scored"),
        );
        let strange =
            told(unasked, &format!("predictions to questions that {of} does not ask"), scored("they are not scored"));
        twice.into_iter().chain(strange).collect()
    }
}

/// What the data say is gold; ids of gold sources are the prediction's own where the data have none.
fn take_gold(own: &mut Gold, data: &Gold) {
    if *data != Gold::default() {
        let gold_ctxs = data.gold_ctxs.clone().or_else(|| own.gold_ctxs.take());
        *own = Gold { gold_ctxs, ..data.clone() };
    }
}

/// What messages call the items of a file: by line, or by place (from 1) where several stand on one line.
fn names_of(items: &[Prediction]) -> Vec<String> {
    let is_a_line_each = items.windows(2).all(|two| two[0].line < two[1].line);
    let name = |(index, item): (usize, &Prediction)| {
        let (what, number) = if is_a_line_each { ("line", item.line) } else { ("item", index + 1) };
        format!("{what} {number} {}", shown(item.input.trim()))
    };
    items.iter().enumerate().map(name).collect()
}

/// A question in quotes, cut.
fn shown(question: &str) -> String {
    let mut short: String = question.chars().take(QUESTION_SHOWN).collect();
    if short.len() < question.len() {
        short.push('…');
    }
    format!("\u{201c}{short}\u{201d}")
}

#[cfg(test)]
mod tests;

//! Questions of a benchmark and how a system's file covers them.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use scholareval_core::domain::{CaseId, Fingerprint, Gold, Mode};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::text::names::{list, start_of};

use super::{Predictions, SystemAnswers, TestCases};

/// Maximum number of questions and predictions to list; the rest are counted.
const SHOWN: usize = 5;

/// One question of the data.
#[derive(Debug, Clone, PartialEq)]
struct AskedQuestion {
    /// Trimmed.
    question: String,
    /// Test cases of this question whose answers count; empty without test cases.
    cases: Vec<CaseId>,
    /// Its name in messages.
    name: String,
    gold: Gold,
}

/// The questions of one data file, with repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedQuestions {
    /// The data file.
    pub path: PathBuf,
    /// blake3 of its bytes.
    pub blake3: Fingerprint,
    /// Whether this is a file of test cases.
    pub are_test_cases: bool,
    items: Vec<AskedQuestion>,
    mode: Mode,
}

/// Coverage of the questions by a system's file.
#[derive(Debug, Clone, PartialEq)]
pub struct Covered {
    /// The answers to score: in default mode the first answer to every question, with the data's gold answers.
    pub system: SystemAnswers,
    /// Number of answered questions.
    pub answered: usize,
    /// Whether any answer has sources that it could cite.
    pub has_sources: bool,
    /// The unanswered questions as one fault; `None` if there are none.
    pub missing: Option<InputFault>,
    /// Predictions that answer a question again or whose question is not in the data.
    pub odd: Vec<InputFault>,
}

impl AskedQuestions {
    /// The questions of a data file of predictions, one per line. A repeated question must be answered as often.
    pub fn of_predictions(data: Predictions, mode: Mode) -> Self {
        let names = names_of(
            &data
                .items
                .iter()
                .map(|item| (item.line, item.input.trim()))
                .collect::<Vec<_>>(),
        );
        let questions = data.items.into_iter().zip(names).map(|(item, name)| {
            // Trimmed, as systems often add or lose a final line feed when they copy the question.
            let question = item.input.trim().to_owned();
            AskedQuestion {
                question,
                cases: Vec::new(),
                name,
                gold: item.gold,
            }
        });
        Self {
            items: questions.collect(),
            path: data.path,
            blake3: data.blake3,
            are_test_cases: false,
            mode,
        }
    }

    /// The distinct questions of a file of test cases. If several annotators' cases share a question, answers to the
    /// first count (in compat mode to any), as in pairing.
    pub fn of_test_cases(tests: &TestCases, mode: Mode) -> Self {
        let mut items: Vec<AskedQuestion> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for case in &tests.cases {
            let question = case.initial_prompt.trim();
            let place = *places.entry(question).or_insert(items.len());
            if place == items.len() {
                let name = format!("{} \u{201c}{}\u{201d}", case.case_id, start_of(question));
                items.push(AskedQuestion {
                    question: question.to_owned(),
                    cases: Vec::new(),
                    name,
                    gold: Gold::default(),
                });
            }
            let cases = &mut items[place].cases;
            if cases.is_empty() || mode == Mode::Compat {
                cases.push(case.case_id.clone());
            }
        }
        Self {
            path: tests.path.clone(),
            blake3: tests.blake3,
            are_test_cases: true,
            items,
            mode,
        }
    }

    /// Number of questions.
    pub fn count(&self) -> usize {
        self.items.len()
    }

    /// Number of repeated questions with unequal gold answers: only the order matches predictions to them.
    pub fn ambiguous(&self) -> usize {
        let mut golds: HashMap<&str, (&Option<String>, bool)> = HashMap::new();
        for question in &self.items {
            let known = golds
                .entry(&question.question)
                .or_insert((&question.gold.answer, false));
            known.1 |= *known.0 != question.gold.answer;
        }
        golds.values().filter(|(_, differs)| *differs).count()
    }

    /// Finds the answers to the questions in a system's file. The n-th prediction for a question gets the gold answers
    /// of its n-th occurrence in the data.
    ///
    /// In compat mode nothing is left out: the reference scores everything in the file.
    ///
    /// # Errors
    /// [`Error::Input`](scholareval_core::Error::Input) for a file that answers none of them, and for answers of `{case_id,
    /// answer_text}` if the data has no test cases.
    pub fn cover(&self, mut system: SystemAnswers) -> Result<Covered> {
        let mut is_answered = vec![false; self.items.len()];
        let mut odd = Vec::new();
        let has_questions = || {
            system
                .answers
                .iter()
                .all(|answer| !answer.question().is_empty())
        };
        if system.by_question || (!self.are_test_cases && has_questions()) {
            odd = self.take_predictions(&mut system, &mut is_answered);
        } else if self.are_test_cases {
            for (question, is_answered) in self.items.iter().zip(&mut is_answered) {
                *is_answered = system
                    .answers
                    .iter()
                    .any(|answer| question.cases.contains(&answer.case_id));
            }
        } else {
            let what = "answers of {case_id, answer_text} have no question";
            let hint = "give predictions: {\"input\": .., \"output\": .., \"ctxs\": [..]}";
            return Err(InputFault::new(&system.path, what).refuse(hint));
        }
        let missing = self
            .items
            .iter()
            .zip(&is_answered)
            .filter(|(_, is_answered)| !**is_answered);
        let missing: Vec<&str> = missing
            .map(|(question, _)| question.name.as_str())
            .collect();
        let (of, all) = (self.path.display(), self.items.len());
        // With nothing answered this is the wrong file or the wrong benchmark, and a run of zeros
        // would hide that.
        if missing.len() == all {
            let hint = "its input must equal a question of the data; is this the right benchmark?";
            return Err(
                InputFault::new(&system.path, format!("no question of {of} is answered"))
                    .refuse(hint),
            );
        }
        let fault = (!missing.is_empty()).then(|| {
            let (count, names) = (missing.len(), list(missing.iter().copied(), SHOWN));
            InputFault::new(
                &system.path,
                format!("{count} of {all} questions of {of} have no prediction: {names}"),
            )
        });
        let mut predictions = system
            .answers
            .iter()
            .filter_map(|answer| answer.prediction.as_ref());
        let has_sources = predictions.any(|prediction| !prediction.sources.is_empty());
        Ok(Covered {
            answered: all - missing.len(),
            system,
            has_sources,
            missing: fault,
            odd,
        })
    }

    /// Keeps the predictions that count, with their gold answers, and flags the questions they answer; returns warnings
    /// for the others.
    fn take_predictions(
        &self,
        system: &mut SystemAnswers,
        is_answered: &mut [bool],
    ) -> Vec<InputFault> {
        // A queue, since benchmarks such as QASA ask one question about several papers: equal
        // questions are matched in order.
        let mut open: HashMap<&str, VecDeque<usize>> = HashMap::new();
        for (place, question) in self.items.iter().enumerate() {
            open.entry(&question.question).or_default().push_back(place);
        }
        let names = names_of(
            &system
                .answers
                .iter()
                .map(|answer| (answer.line, answer.question()))
                .collect::<Vec<_>>(),
        );
        let mut kept = Vec::new();
        let mut again = Vec::new();
        let mut unasked = Vec::new();
        for (mut answer, name) in std::mem::take(&mut system.answers).into_iter().zip(names) {
            match open.get_mut(answer.question()).map(VecDeque::pop_front) {
                Some(Some(place)) => {
                    is_answered[place] = true;
                    if let Some(prediction) = &mut answer.prediction {
                        let gold = &mut Arc::make_mut(prediction).gold;
                        take_gold(gold, &self.items[place].gold);
                    }
                    kept.push(answer);
                    continue;
                }
                Some(None) => again.push(name),
                None => unasked.push(name),
            }
            if self.mode == Mode::Compat {
                kept.push(answer);
            }
        }
        system.answers = kept;
        self.odd_predictions(&system.path, &again, &unasked)
    }

    /// The warnings about predictions that repeat a question, or whose question is not asked.
    fn odd_predictions(
        &self,
        path: &Path,
        again: &[String],
        unasked: &[String],
    ) -> Vec<InputFault> {
        let of = self.path.display();
        let (repeated, strange) = match self.mode {
            Mode::Default => (
                "the first counts, these are not scored",
                "they are not scored",
            ),
            Mode::Compat => (
                "they count as in the reference",
                "they count as in the reference",
            ),
        };
        let odd = [
            (
                again,
                format!("predictions repeat a question more often than {of} does"),
                repeated,
            ),
            (
                unasked,
                format!("predictions for questions that are not in {of}"),
                strange,
            ),
        ];
        let odd = odd.into_iter().filter(|(names, ..)| !names.is_empty());
        odd.map(|(names, what, hint)| {
            let shown = list(names.iter().map(String::as_str), SHOWN);
            InputFault::new(path, format!("{} {what}: {shown}", names.len())).hint(hint)
        })
        .collect()
    }
}

/// Names of items in messages: the line, or the position (from 1) if several share a line.
fn names_of(items: &[(usize, &str)]) -> Vec<String> {
    let is_a_line_each = items.windows(2).all(|two| two[0].0 < two[1].0);
    let mut names = Vec::new();
    for (index, (line, question)) in items.iter().enumerate() {
        let (what, number) = if is_a_line_each {
            ("line", *line)
        } else {
            ("item", index + 1)
        };
        names.push(format!(
            "{what} {number} \u{201c}{}\u{201d}",
            start_of(question)
        ));
    }
    names
}

/// The benchmark's gold answers replace those in the system's file, which the system's author could have edited. The
/// prediction's ids of gold sources remain if the data has none.
fn take_gold(gold: &mut Gold, data: &Gold) {
    if *data == Gold::default() {
        return;
    }
    let gold_ctxs = data.gold_ctxs.clone().or_else(|| gold.gold_ctxs.take());
    *gold = Gold {
        gold_ctxs,
        ..data.clone()
    };
}

#[cfg(test)]
mod tests;

//! Groups cases by question: intervals resample whole questions.

use std::collections::{BTreeMap, BTreeSet};

use scholareval_core::domain::{CaseId, ScoredAnswer};

/// The question of every case of a run, as a number in the order of case ids. A case without a known question has a
/// separate one.
#[derive(Debug, Clone, Default)]
pub(super) struct Questions<'a> {
    of_case: BTreeMap<&'a CaseId, usize>,
}

impl<'a> Questions<'a> {
    pub(super) fn of(answers: impl Iterator<Item = &'a ScoredAnswer>) -> Self {
        Self::of_texts(
            answers.map(|answer| (&answer.case.case_id, answer.case.initial_prompt.as_str())),
        )
    }

    /// Builds from cases with their questions, empty if unknown.
    pub(super) fn of_texts(cases: impl Iterator<Item = (&'a CaseId, &'a str)>) -> Self {
        let mut texts: BTreeMap<&CaseId, &str> = BTreeMap::new();
        for (case, question) in cases {
            let text = texts.entry(case).or_default();
            if text.is_empty() {
                *text = question.trim();
            }
        }
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        // A case without a text is a separate question: treating all of them as one would leave a
        // single cluster, and no interval.
        let number = |(fresh, (case, text)): (usize, (&'a CaseId, &'a str))| {
            (
                case,
                if text.is_empty() {
                    fresh
                } else {
                    *numbers.entry(text).or_insert(fresh)
                },
            )
        };
        Self {
            of_case: texts.into_iter().enumerate().map(number).collect(),
        }
    }

    pub(super) fn number(&self, case: &CaseId) -> usize {
        self.of_case.get(case).copied().unwrap_or(usize::MAX)
    }

    /// Number of cases and of their questions.
    pub(super) fn counts(&self) -> (usize, usize) {
        (
            self.of_case.len(),
            self.of_case.values().collect::<BTreeSet<_>>().len(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{answer_to, case, simple_score};

    fn answer_to_question(case_id: &str, question: &str) -> ScoredAnswer {
        answer_to(
            "s",
            case(case_id, question, "Annotator 1", false),
            simple_score(Some(1.0)),
        )
    }

    #[test]
    fn cases_of_one_question_have_its_number_and_cases_without_one_their_own() {
        let answers = [
            answer_to_question("c", "why"),
            answer_to_question("a", "how"),
            answer_to_question("b", " why "),
            answer_to_question("e", ""),
            answer_to_question("d", ""),
        ];
        let questions = Questions::of(answers.iter());
        let number = |case: &str| questions.number(&CaseId::from(case));
        assert_eq!(["a", "b", "c", "d", "e"].map(number), [0, 1, 1, 3, 4]);
        assert_eq!(questions.counts(), (5, 4));
    }
}

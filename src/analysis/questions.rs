//! Groups cases by question: intervals resample whole questions.

use std::collections::{BTreeMap, BTreeSet};

use super::quantity::unit_range;
use crate::domain::{CaseId, ScoredAnswer, Unit};
use crate::stats::{BootstrapOptions, Interval, mean_interval};

/// The question of every case of a run, as a number in the order of case ids. A case without a known question has its
/// own.
#[derive(Debug, Clone, Default)]
pub(super) struct Questions<'a> {
    of_case: BTreeMap<&'a CaseId, usize>,
}

impl<'a> Questions<'a> {
    pub(super) fn of(answers: impl Iterator<Item = &'a ScoredAnswer>) -> Self {
        Self::of_texts(answers.map(|answer| (&answer.case.case_id, answer.case.initial_prompt.as_str())))
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
        let number = |(fresh, (case, text)): (usize, (&'a CaseId, &'a str))| {
            (case, if text.is_empty() { fresh } else { *numbers.entry(text).or_insert(fresh) })
        };
        Self { of_case: texts.into_iter().enumerate().map(number).collect() }
    }

    pub(super) fn number(&self, case: &CaseId) -> usize {
        self.of_case.get(case).copied().unwrap_or(usize::MAX)
    }

    /// Number of cases and of their questions.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.of_case.len(), self.of_case.values().collect::<BTreeSet<_>>().len())
    }
}

/// Values of one quantity with the question of each, ordered by case id: a seed's draws depend on the order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sample {
    pub(crate) values: Vec<f64>,
    pub(crate) questions: Vec<usize>,
}

impl FromIterator<(usize, f64)> for Sample {
    fn from_iter<T: IntoIterator<Item = (usize, f64)>>(pairs: T) -> Self {
        let (questions, values) = pairs.into_iter().unzip();
        Self { values, questions }
    }
}

impl Sample {
    /// The interval of the mean over questions, by the unit of the values.
    pub(crate) fn interval(&self, unit: Unit, options: BootstrapOptions) -> Option<Interval> {
        mean_interval(&self.values, Some(&self.questions), unit_range(unit), options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_support::{answer_to, case, simple_score};

    fn asked(case_id: &str, question: &str) -> ScoredAnswer {
        answer_to("s", case(case_id, question, "Annotator 1", false), simple_score(Some(1.0)))
    }

    #[test]
    fn cases_of_one_question_have_its_number_and_cases_without_one_their_own() {
        let answers = [asked("c", "why"), asked("a", "how"), asked("b", " why "), asked("e", ""), asked("d", "")];
        let questions = Questions::of(answers.iter());
        let number = |case: &str| questions.number(&CaseId::from(case));
        assert_eq!(["a", "b", "c", "d", "e"].map(number), [0, 1, 1, 3, 4]);
        assert_eq!(questions.counts(), (5, 4));
    }

    #[test]
    fn a_question_is_drawn_with_all_its_cases() {
        let options = BootstrapOptions { resamples: 500, ..BootstrapOptions::seeded(1) };
        let values = [0.0, 0.0, 1.0, 1.0, 0.5, 0.5];
        let by_case: Sample = values.iter().copied().enumerate().collect();
        let by_question: Sample = values.iter().enumerate().map(|(at, value)| (at / 2, *value)).collect();
        let [alone, together] = [by_case, by_question].map(|sample| sample.interval(Unit::Share, options));
        let wide = |interval: Option<Interval>| interval.map_or(0.0, |interval| interval.high - interval.low);
        // Three questions carry less information than six cases would.
        assert!(wide(together) > wide(alone), "{together:?} {alone:?}");
        // One question says nothing about others.
        let one: Sample = [(7, 0.25), (7, 0.75)].into_iter().collect();
        assert_eq!([one, Sample::default()].map(|sample| sample.interval(Unit::Share, options)), [None, None]);
    }
}

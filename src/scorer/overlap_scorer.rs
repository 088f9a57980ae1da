//! Overlap with gold as a scorer: no judge, done at once.

use std::borrow::Cow;

use crate::domain::{Answer, ComponentKind, Mode, Prediction, Score, TestCase};
use crate::text::stems::Stems;

use super::measured::measured;
use super::overlap::{first_words, overlap};
use super::predicted::prediction_of;
use super::{Scorer, Step, Verdicts};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Words of the output.
    Words,
    /// The gold stands in the output.
    Match,
    /// Both are the same when normalised.
    ExactMatch,
    /// F1 of the normalised tokens.
    TokenF1,
    /// Short answers: the share of sets of which one is present, and whether of every set one is.
    ShortAnswers,
    /// ROUGE-1, ROUGE-2 and ROUGE-L.
    Rouge,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Words, Self::Match, Self::ExactMatch, Self::TokenF1, Self::ShortAnswers, Self::Rouge];
}

/// The components, in this order; one without gold, or that is not measured, is left out.
pub const COMPONENTS: &[(&str, ComponentKind)] = &[
    ("words", ComponentKind::Count),
    ("match", ComponentKind::Share),
    ("exact_match", ComponentKind::Share),
    ("token_f1", ComponentKind::Share),
    ("str_em", ComponentKind::Share),
    ("str_hit", ComponentKind::Share),
    ("rouge_1", ComponentKind::Share),
    ("rouge_2", ComponentKind::Share),
    ("rouge_l", ComponentKind::Share),
];

thread_local! {
    /// One memory of stems a thread: shared, every thread would wait for the others' locks.
    static STEMS: Stems = Stems::new();
}

/// Compares an answer with its gold. It gives components only: which of them is the score is the benchmark's choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlapScorer {
    /// What is measured.
    pub metrics: Vec<Measure>,
    /// Whose rules.
    pub mode: Mode,
    /// The output is cut behind so many words.
    pub max_words: Option<usize>,
}

impl Default for OverlapScorer {
    fn default() -> Self {
        Self { metrics: Measure::ALL.to_vec(), mode: Mode::Default, max_words: None }
    }
}

impl OverlapScorer {
    fn cut<'a>(&self, prediction: Cow<'a, Prediction>) -> Cow<'a, Prediction> {
        let Some(limit) = self.max_words else { return prediction };
        let output = Some(first_words(prediction.output(), limit).into());
        // Sources are not looked at and may be long.
        Cow::Owned(Prediction { output, gold: prediction.gold.clone(), ..Prediction::default() })
    }
}

impl Scorer for OverlapScorer {
    fn name(&self) -> &'static str {
        "overlap"
    }

    fn step(&self, _case: &TestCase, answer: &Answer, _verdicts: &Verdicts) -> Step {
        let prediction = self.cut(prediction_of(answer));
        let wants = |measure| self.metrics.contains(&measure);
        let found = STEMS.with(|stems| overlap(&prediction, self.mode, wants(Measure::Rouge), stems));
        let of = |measure, value: Option<f64>| value.filter(|_| wants(measure));
        let rouge = |at: usize| found.rouge.and_then(|rouge| rouge.get(at).copied());
        let values = [
            of(Measure::Words, Some(found.words as f64)),
            of(Measure::Match, found.matches),
            of(Measure::ExactMatch, found.exact),
            of(Measure::TokenF1, found.token_f1),
            of(Measure::ShortAnswers, found.str_em),
            of(Measure::ShortAnswers, found.str_hit),
            rouge(0),
            rouge(1),
            rouge(2),
        ];
        Step::Done(Score { scorer: self.name(), components: measured(COMPONENTS, &values), ..Score::default() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::domain::{CaseId, Gold};

    fn components(scorer: &OverlapScorer, output: &str, gold: &str) -> Vec<(String, Option<f64>)> {
        let case = TestCase::without_rubric(CaseId::from("1"), "Why?");
        let gold = Gold { answer: Some(gold.to_owned()), ..Gold::default() };
        let prediction = Prediction { output: Some(output.into()), gold, ..Prediction::default() };
        let mut answer = Answer::new("mine".into(), CaseId::from("1"), output);
        answer.prediction = Some(Arc::new(prediction));
        let Step::Done(score) = scorer.step(&case, &answer, &Verdicts::new()) else { panic!("asked") };
        score.components.into_iter().map(|c| (c.name, c.value)).collect()
    }

    #[test]
    fn only_what_is_measured_and_has_gold_is_a_component() {
        let scorer = OverlapScorer { metrics: vec![Measure::Match, Measure::ShortAnswers], ..Default::default() };
        assert_eq!(components(&scorer, "Yes, red fish.", "yes"), [("match".to_owned(), Some(1.0))]);
        let names: Vec<String> = components(&OverlapScorer::default(), "a", "b").into_iter().map(|c| c.0).collect();
        assert_eq!(names, ["words", "match", "exact_match", "token_f1", "rouge_1", "rouge_2", "rouge_l"]);
    }

    #[test]
    fn the_output_is_cut_behind_its_first_words() {
        let cut =
            OverlapScorer { metrics: vec![Measure::Words, Measure::Match], max_words: Some(2), ..Default::default() };
        assert_eq!(
            components(&cut, "one two yes", "yes"),
            [("words".to_owned(), Some(2.0)), ("match".to_owned(), Some(0.0))]
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_every_share_is_a_share(output in "\\PC{0,30}", gold in "\\PC{0,30}") {
            for (name, value) in components(&OverlapScorer::default(), &output, &gold) {
                prop_assert!(name == "words" || value.is_some_and(|value| (0.0..=1.0).contains(&value)));
            }
        }
    }
}

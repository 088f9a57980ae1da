//! Which of two answers to a question is better, as a whole or by each criterion of its rubric.
//!
//! The subject is a pair in the order in which the judge sees it; the other order is another subject. The score is the value
//! of the answer shown first: 1 if it is better, 0 if the other one is, 1/2 for a tie, and by criteria the mean over them by
//! their weights. What systems make of these values is in `scholareval_analysis::comparison`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::values::{self, ComponentValue};
use super::{InputNeed, Scorer, ScorerInfo, ScorerReference, ScorerRoles, Step, Subject, Verdicts};
use crate::built_in::built_in_scorer;
use scholareval_core::domain::{
    Answer, AnswerPreference, Component, ComponentKind, Preference, Role, Score, TestCase, Unit,
};
use scholareval_core::question::{BetterAnswer, JudgeCall, PairForm, preference};
use scholareval_core::text::words::word_count;

/// The name of the component of a comparison as a whole.
pub const PREFERENCE: &str = "preference";
/// The name of the share of verdicts that call an answer much better.
pub const MUCH_BETTER: &str = "much_better";

/// The names of the counts of words of the answer shown first, and of the other one.
pub const WORDS: [&str; 2] = ["words", "words_of_other"];

/// The scorer of pairs.
pub static PAIRS: ScorerInfo = ScorerInfo {
    name: "pairs",
    help: "Which of two answers is better, as a whole or by criteria (scholareval pairs)",
    roles: ScorerRoles::One(Role::Pair),
    needs: InputNeed::Pairs,
    unit: Unit::Share,
    score_name: Some("win_rate"),
    headline: &["win_rate"],
    binary: &[],
    means_named: &[],
    optional: &[],
    directions: &[],
    reference: ScorerReference::InSettings,
    make: |new| {
        Arc::new(PairScorer {
            by_criteria: new.by_criteria,
            form: new.pair_form,
            is_baseline: new.is_baseline,
        })
    },
    restore: |recorded| {
        Ok(Arc::new(PairScorer {
            is_baseline: recorded.is_baseline,
            ..recorded.scorer()?
        }))
    },
};

/// Asks which answer of a pair is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairScorer {
    /// Whether each criterion of the case is asked about, in place of the answers as a whole.
    pub by_criteria: bool,
    /// How a reply names the better one.
    pub form: PairForm,
    /// Whether the built-in baseline judges.
    #[serde(skip)]
    pub is_baseline: bool,
}

/// What a pair is compared by.
struct ComparedBy {
    name: String,
    /// `None`: the answers as a whole.
    text: Option<Arc<str>>,
    /// Share of the score.
    weight: f64,
    /// Whether the answer that does more of it is the worse one.
    is_fault: bool,
}

impl PairScorer {
    /// What the answers to this case are compared by; nothing for a case without criteria, if these are asked for.
    fn compared_by(self, case: &TestCase) -> Vec<ComparedBy> {
        if !self.by_criteria {
            return vec![ComparedBy {
                name: PREFERENCE.to_owned(),
                text: None,
                weight: 1.0,
                is_fault: false,
            }];
        }
        let mut all = Vec::new();
        for (name, text, weight) in criteria_of(case) {
            all.push(ComparedBy {
                name,
                text: Some(text),
                weight: weight.abs(),
                is_fault: weight < 0.0,
            });
        }
        let total: f64 = all.iter().map(|criterion| criterion.weight).sum();
        for criterion in &mut all {
            criterion.weight /= total;
        }
        all
    }

    /// The score of a pair with these results, in the order of `compared_by`.
    fn score(self, compared_by: &[ComparedBy], results: Vec<ComponentValue>) -> Score {
        let mut sum = Some(0.0);
        let mut components = Vec::with_capacity(results.len());
        for (criterion, result) in compared_by.iter().zip(results) {
            let value = result.as_ref().ok().map(|(value, _)| *value);
            sum = sum
                .zip(value)
                .map(|(sum, value)| sum + criterion.weight * value);
            let component = Component::new(&criterion.name, ComponentKind::Criterion)
                .with_text(criterion.text.as_deref().unwrap_or_default())
                .with_weight(criterion.weight)
                .with(result);
            components.push(component);
        }
        Score {
            scorer: PAIRS.score_id(self.is_baseline),
            value: sum.filter(|_| !compared_by.is_empty()),
            components,
            ..Score::default()
        }
    }

    /// The score of a pair, with how often the judge calls an answer much better where the form says so.
    fn judged(self, compared_by: &[ComparedBy], verdicts: &Verdicts) -> Score {
        let mut results = Vec::with_capacity(compared_by.len());
        let mut strong = 0.0;
        let mut read = 0.0;
        for criterion in compared_by {
            let result = values::reading(verdicts, &criterion.name).and_then(|reading| {
                let preference = preference(reading)?;
                strong += f64::from(u8::from(preference.is_strong));
                read += 1.0;
                values::value_of(reading, Some(of_first(preference, criterion)))
            });
            results.push(result);
        }
        let mut score = self.score(compared_by, results);
        if self.form == PairForm::Arrows && read > 0.0 {
            let share = Component::new(MUCH_BETTER, ComponentKind::Share);
            score.components.push(share.with(Ok((strong / read, None))));
        }
        score
    }
}

/// The score with the lengths of both answers, which judges follow more than they should.
fn with_words(mut score: Score, answers: [&Answer; 2]) -> Score {
    for (name, answer) in WORDS.into_iter().zip(answers) {
        let words = word_count(answer.own_text()) as f64;
        score
            .components
            .push(Component::new(name, ComponentKind::Count).with(Ok((words, None))));
    }
    score
}

/// The value of the answer shown first: having less of a fault is better.
fn of_first(preference: AnswerPreference, by: &ComparedBy) -> f64 {
    if by.is_fault {
        1.0 - preference.value
    } else {
        preference.value
    }
}

/// Name, text and weight of each criterion of a case that counts.
fn criteria_of(case: &TestCase) -> Vec<(String, Arc<str>, f64)> {
    let listed = case.criteria.iter();
    let listed = listed.map(|criterion| {
        (
            criterion.name.clone(),
            Arc::clone(&criterion.text),
            criterion.weight,
        )
    });
    let of_rubric = case.rubric.criteria.iter();
    let of_rubric = of_rubric.map(|criterion| {
        (
            criterion.name.clone(),
            Arc::<str>::from(&*criterion.criterion),
            criterion.weight,
        )
    });
    listed
        .chain(of_rubric)
        .filter(|(_, _, weight)| *weight != 0.0)
        .collect()
}

impl Scorer for PairScorer {
    built_in_scorer!(PAIRS, [Role::Pair]);

    fn step(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Step {
        let compared_by = self.compared_by(subject.case);
        let Some(other) = subject.other else {
            return Step::Done(self.score(&[], Vec::new()));
        };
        // Nobody has to be paid to see that they are the same.
        if subject.answer.answer_text == other.answer_text {
            let same = Some("both answers are the same text".to_owned());
            let tie = Ok((Preference::Tie.points(), same));
            let results = vec![tie; compared_by.len()];
            let score = self.score(&compared_by, results);
            return Step::Done(with_words(score, [subject.answer, other]));
        }
        let mut calls = Vec::new();
        for criterion in &compared_by {
            let question = BetterAnswer {
                question: Arc::clone(&subject.case.rubric.question),
                first: Arc::clone(&subject.answer.answer_text),
                second: Arc::clone(&other.answer_text),
                criterion: criterion.text.clone(),
                form: self.form,
            };
            calls.push(JudgeCall::new(
                criterion.name.as_str(),
                Role::Pair,
                question,
            ));
        }
        let open = values::without_verdict(calls, verdicts);
        values::ask_or_score(open, || {
            with_words(self.judged(&compared_by, verdicts), [subject.answer, other])
        })
    }

    fn template(&self, case: &TestCase) -> Option<Score> {
        let compared_by = self.compared_by(case);
        let results = vec![Err(values::not_judged()); compared_by.len()];
        Some(self.score(&compared_by, results))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::domain::{CaseCriterion, Reading, UnscoredKind, UnscoredReason, Verdict};

    const WHOLE: PairScorer = PairScorer {
        by_criteria: false,
        form: PairForm::Winner,
        is_baseline: false,
    };

    fn case() -> TestCase {
        let criterion = |name: &str, weight: f64| CaseCriterion {
            name: name.to_owned(),
            text: name.into(),
            weight,
            ..CaseCriterion::default()
        };
        TestCase {
            criteria: vec![criterion("cause", 3.0), criterion("error", -1.0)],
            ..TestCase::without_rubric("c".into(), "Why?")
        }
    }

    fn answer(system: &str, text: &str) -> Answer {
        Answer::new(system.into(), "c".into(), text)
    }

    fn step(scorer: PairScorer, texts: [&str; 2], verdicts: &Verdicts) -> Step {
        let case = case();
        let first = answer("a", texts[0]);
        let second = answer("b", texts[1]);
        scorer.step(&Subject::pair(&case, &first, &second), verdicts)
    }

    fn said(items: &[(&str, AnswerPreference)]) -> Verdicts {
        let mut verdicts = Verdicts::new();
        for (item, preference) in items {
            let reading = Reading::new(Verdict::Preference(*preference));
            verdicts.insert((*item).into(), Ok(reading));
        }
        verdicts
    }

    #[test]
    fn a_pair_is_one_question_and_its_verdict_the_score() {
        let Step::Ask(calls) = step(WHOLE, ["x", "y"], &Verdicts::new()) else {
            panic!("nothing is asked");
        };
        assert_eq!(calls.len(), 1);
        let Step::Done(score) = step(
            WHOLE,
            ["x", "y"],
            &said(&[(PREFERENCE, Preference::Second.into())]),
        ) else {
            panic!("it is not done");
        };
        // The verdict, and the words of both.
        assert_eq!((score.value, score.components.len()), (Some(0.0), 3));
    }

    #[test]
    fn equal_texts_tie_without_a_call() {
        let Step::Done(score) = step(WHOLE, ["x", "x"], &Verdicts::new()) else {
            panic!("a call for nothing");
        };
        assert_eq!(score.value, Some(0.5));
    }

    #[test]
    fn criteria_count_by_weight_and_having_less_of_a_fault_wins() {
        let by_criteria = PairScorer {
            by_criteria: true,
            ..WHOLE
        };
        let verdicts = said(&[
            ("cause", Preference::First.into()),
            ("error", Preference::First.into()),
        ]);
        let Step::Done(score) = step(by_criteria, ["x", "y"], &verdicts) else {
            panic!("it is not done");
        };
        // 3/4 for the cause; the first has more of the error: 0 of 1/4.
        assert_eq!(score.value, Some(0.75));
        assert_eq!(score.components[1].value, Some(0.0));
    }

    #[test]
    fn an_open_criterion_leaves_the_pair_unscored_between_bounds() {
        let by_criteria = PairScorer {
            by_criteria: true,
            ..WHOLE
        };
        let mut verdicts = said(&[("cause", Preference::First.into())]);
        let reason = UnscoredReason::new(UnscoredKind::Refused, "no");
        verdicts.insert("error".into(), Err(reason));
        let Step::Done(score) = step(by_criteria, ["x", "y"], &verdicts) else {
            panic!("it is not done");
        };
        assert_eq!(score.value, None);
        assert_eq!((score.filled(0.0).0, score.filled(1.0).0), (0.75, 1.0));
    }

    #[test]
    fn much_better_is_counted_where_the_form_says_it() {
        let arrows = PairScorer {
            form: PairForm::Arrows,
            ..WHOLE
        };
        let much = AnswerPreference {
            is_strong: true,
            ..Preference::First.into()
        };
        let Step::Done(score) = step(arrows, ["x", "y"], &said(&[(PREFERENCE, much)])) else {
            panic!("it is not done");
        };
        assert_eq!(score.value, Some(1.0));
        assert_eq!(
            score
                .component(MUCH_BETTER)
                .and_then(|component| component.value),
            Some(1.0)
        );
    }
}

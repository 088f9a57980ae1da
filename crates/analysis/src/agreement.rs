//! Agreement of two annotators' rubrics on the order of systems.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use serde::Serialize;

use scholareval_core::domain::{CaseId, Mode, ScoredAnswer, SystemName};
use scholareval_stats::{Correlation, mean};

/// Agreement over the questions with two annotations.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// Mean Kendall's tau-b over the questions where it is defined.
    pub kendall_tau_b: Option<f64>,
    /// Questions where Kendall's tau-b is defined.
    pub kendall_questions: usize,
    /// Mean Pearson correlation over the questions where it is defined.
    pub pearson: Option<f64>,
    /// Questions where Pearson's correlation is defined.
    pub pearson_questions: usize,
    /// Questions where either is undefined: fewer than two systems with a score under both annotators, or no
    /// differences between systems.
    pub undefined: usize,
    /// Every question, in order of first appearance.
    pub questions: Vec<QuestionAgreement>,
}

/// A question with two annotations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionAgreement {
    /// The question.
    pub question: String,
    /// Systems with an `ann_score` under both annotators.
    pub systems: usize,
    /// Kendall's tau-b of the systems' `ann_score`s.
    pub kendall_tau_b: Option<f64>,
    /// Pearson's correlation of the systems' `ann_score`s.
    pub pearson: Option<f64>,
}

/// Compares, per question, the systems' `ann_score`s under its two annotators.
///
/// Only cases with `agreement` count, at most the first two per question. Questions keep the order of the answers. In
/// compat mode the numbers are the reference script's, and the order of the answers breaks ties: pass them by system,
/// in the order the systems were named.
pub fn agreement<A: Borrow<ScoredAnswer>>(scored: &[A], mode: Mode) -> Agreement {
    let questions = by_question(scored);
    let details = questions.iter().map(|question| compared(question, mode));
    let details: Vec<QuestionAgreement> = details.collect();
    let taus: Vec<f64> = details.iter().filter_map(|q| q.kendall_tau_b).collect();
    let correlations: Vec<f64> = details.iter().filter_map(|q| q.pearson).collect();
    let questions = details.iter();
    let undefined = questions.filter(|q| q.kendall_tau_b.is_none() || q.pearson.is_none());
    Agreement {
        kendall_tau_b: mean(&taus),
        kendall_questions: taus.len(),
        pearson: mean(&correlations),
        pearson_questions: correlations.len(),
        undefined: undefined.count(),
        questions: details,
    }
}

/// A question with the answers to each of its cases.
type QuestionAnswers<'a> = (&'a str, Vec<(&'a CaseId, Vec<&'a ScoredAnswer>)>);

fn by_question<A: Borrow<ScoredAnswer>>(scored: &[A]) -> Vec<QuestionAnswers<'_>> {
    let mut questions: Vec<QuestionAnswers<'_>> = Vec::new();
    let answers = scored.iter().map(Borrow::borrow);
    // Only cases that the data marks: two cases may share a question without being annotated twice on purpose.
    for answer in answers.filter(|answer| answer.case.agreement) {
        let cases = entry(&mut questions, answer.case.initial_prompt.as_str());
        entry(cases, &answer.case.case_id).push(answer);
    }
    questions
}

/// The value of this key; inserts a default at the end if missing.
fn entry<K: PartialEq, V: Default>(list: &mut Vec<(K, V)>, key: K) -> &mut V {
    let known = list.iter().position(|(known, _)| *known == key);
    let at = known.unwrap_or_else(|| {
        list.push((key, V::default()));
        list.len() - 1
    });
    &mut list[at].1
}

fn compared((question, cases): &QuestionAnswers<'_>, mode: Mode) -> QuestionAgreement {
    let answers = [0, 1].map(|at| cases.get(at).map_or(&[][..], |(_, answers)| &**answers));
    let (x, y) = if mode == Mode::Compat {
        orders(answers)
    } else {
        scores(answers)
    };
    let mut tau = Correlation::KendallTauB.of(&x, &y);
    let mut pearson = Correlation::Pearson.of(&x, &y);
    if mode == Mode::Compat {
        tau = tau.map(f64::abs);
        pearson = pearson.map(f64::abs);
    }
    QuestionAgreement {
        question: (*question).to_owned(),
        systems: x.len(),
        kendall_tau_b: tau,
        pearson,
    }
}

/// The scores of the systems with a score under both annotators.
fn scores(answers: [&[&ScoredAnswer]; 2]) -> (Vec<f64>, Vec<f64>) {
    let [first, second] = answers.map(|answers_of_one| {
        let answers = answers_of_one.iter();
        let scores = answers.filter_map(|answer| Some((&answer.system, answer.score.ann_score?)));
        scores.collect::<BTreeMap<&SystemName, f64>>()
    });
    let first = first.iter();
    let both = first.filter_map(|(system, score)| Some((*score, *second.get(system)?)));
    both.unzip()
}

/// The reference script correlates the orders from `numpy.argsort(-scores)`, not ranks, and takes absolute values, so
/// that perfect disagreement counts as perfect agreement. Empty where the script raises: a question without a score, or
/// lists of unequal length.
fn orders(answers: [&[&ScoredAnswer]; 2]) -> (Vec<f64>, Vec<f64>) {
    let orders = order_of(answers[0]).zip(order_of(answers[1]));
    let equally_long = orders.filter(|(x, y)| x.len() == y.len());
    equally_long.unwrap_or_default()
}

/// The descending order of the scores, as numbers; `None` if one is missing.
fn order_of(answers: &[&ScoredAnswer]) -> Option<Vec<f64>> {
    let mut scores = Vec::new();
    for answer in answers {
        scores.push(answer.score.ann_score?);
    }
    let order = descending_order(&scores).into_iter();
    Some(order.map(|index| index as f64).collect())
}

/// The indices of the scores from best to worst, as `numpy.argsort(-scores)` orders them.
///
/// NumPy's default sort is not stable, so ties depend on its build. The golden numbers come from NumPy 1.26 on AVX-512,
/// which sorts short lists with a bitonic network over a power of two of lanes, at least 8, padded with infinity. Equal
/// keys are never exchanged, which fixes the order of ties; this is the same network. (NumPy partitions lists of more
/// than 256 first, which is beyond the number of systems here.)
fn descending_order(scores: &[f64]) -> Vec<usize> {
    // The vector unit that NumPy sorts with has eight lanes of doubles; lists that are not as long
    // are filled up with infinity, and the order of ties follows from this network.
    let places = scores.len().next_power_of_two().max(8);
    let mut lanes: Vec<(f64, usize)> = Vec::with_capacity(places);
    for index in 0..places {
        let key = scores.get(index).map_or(f64::INFINITY, |score| -score);
        lanes.push((key, index));
    }
    let mut block = 2;
    while block <= places {
        merge_halves(&mut lanes, block);
        block *= 2;
    }
    let mut order: Vec<usize> = lanes.into_iter().map(|(_, index)| index).collect();
    order.retain(|index| *index < scores.len());
    order
}

/// Merges the sorted halves of every block: first each lane with its mirror image, then at falling distances.
fn merge_halves(lanes: &mut [(f64, usize)], block: usize) {
    for start in (0..lanes.len()).step_by(block) {
        for i in 0..block / 2 {
            exchange(lanes, start + i, start + block - 1 - i);
        }
    }
    let mut distance = block / 4;
    while distance > 0 {
        for i in (0..lanes.len()).filter(|i| i & distance == 0) {
            exchange(lanes, i, i + distance);
        }
        distance /= 2;
    }
}

fn exchange(lanes: &mut [(f64, usize)], low: usize, high: usize) {
    if lanes[low].0 > lanes[high].0 {
        lanes.swap(low, high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{answer_to, case, simple_score};

    fn answer(system: &str, annotator: u8, question: &str, ann_score: Option<f64>) -> ScoredAnswer {
        let mut score = simple_score(Some(0.5));
        score.ann_score = ann_score;
        answer_to(
            system,
            case(
                &format!("{question}{annotator}"),
                question,
                &format!("Annotator {annotator}"),
                true,
            ),
            score,
        )
    }

    /// Two annotators' scores of systems a, b, c, ..
    fn question(name: &str, first: &[f64], second: &[f64]) -> Vec<ScoredAnswer> {
        let of = |annotator, scores: &[f64]| -> Vec<ScoredAnswer> {
            let systems = ["a", "b", "c", "d"].iter().zip(scores);
            systems
                .map(|(system, score)| answer(system, annotator, name, Some(*score)))
                .collect()
        };
        [of(1, first), of(2, second)].concat()
    }

    #[test]
    fn opposite_orders_disagree_by_default_and_agree_in_compat() {
        let answers = question("q", &[0.1, 0.2, 0.3], &[0.3, 0.2, 0.1]);
        let result = agreement(&answers, Mode::Default);
        assert_eq!(result.kendall_tau_b, Some(-1.0));
        assert!((result.pearson.unwrap() + 1.0).abs() < 1e-12);
        // the orders are [2, 1, 0] and [0, 1, 2]; |-1| = 1
        assert_eq!(agreement(&answers, Mode::Compat).kendall_tau_b, Some(1.0));
    }

    #[test]
    fn an_undefined_question_is_counted_and_left_out_of_the_mean() {
        let mut answers = question("q", &[0.1, 0.2, 0.3], &[0.1, 0.2, 0.3]);
        answers.extend(question("flat", &[0.5, 0.5, 0.5], &[0.1, 0.2, 0.3]));
        let result = agreement(&answers, Mode::Default);
        assert_eq!(
            (
                result.kendall_tau_b,
                result.kendall_questions,
                result.undefined
            ),
            (Some(1.0), 1, 1)
        );
        assert_eq!(result.questions[1].pearson, None);
    }

    #[test]
    fn a_system_without_a_score_under_one_annotator_is_left_out_of_that_question() {
        let mut answers = question("q", &[0.1, 0.2, 0.3, 0.4], &[0.1, 0.2, 0.3]);
        answers.push(answer("d", 2, "q", None));
        let result = agreement(&answers, Mode::Default);
        assert_eq!(
            (result.questions[0].systems, result.kendall_tau_b),
            (3, Some(1.0))
        );
        let compat = agreement(&answers, Mode::Compat);
        assert_eq!((compat.kendall_tau_b, compat.undefined), (None, 1));
    }

    #[test]
    fn cases_not_meant_for_agreement_do_not_count() {
        let mut answer_of_one = answer("a", 1, "q", Some(0.5));
        answer_of_one.case = case("x", "q", "Annotator 1", false);
        assert_eq!(
            agreement(&[answer_of_one], Mode::Default),
            Agreement::default()
        );
    }

    #[test]
    fn ties_are_ordered_as_numpy_leaves_them() {
        // numpy.argsort(-numpy.array(scores)) of NumPy 1.26.4 on AVX-512
        let (a, b) = (1.0, 0.5);
        assert_eq!(descending_order(&[0.0, 1.0, 1.0, 0.78]), [1, 2, 3, 0]);
        assert_eq!(descending_order(&[b, b, a, 0.0, a]), [2, 4, 1, 0, 3]);
        assert_eq!(descending_order(&[b; 9]), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(
            descending_order(&[a, b, a, b, a, b, a, b, a, 0.2]),
            [0, 2, 6, 4, 8, 3, 5, 1, 7, 9]
        );
    }
}

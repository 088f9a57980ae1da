//! How far two annotators' rubrics agree on the systems.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use serde::Serialize;

use super::reference_order::descending_order;
use crate::domain::{CaseId, ScoredAnswer, SystemName};
use crate::stats::{kendall_tau_b, mean, pearson};

/// Agreement over the questions that were annotated twice.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// Mean of Kendall's tau-b over the questions where it is defined.
    pub kendall_tau_b: Option<f64>,
    /// Questions where Kendall's tau-b is defined.
    pub kendall_questions: usize,
    /// Mean of Pearson's correlation over the questions where it is defined.
    pub pearson: Option<f64>,
    /// Questions where Pearson's correlation is defined.
    pub pearson_questions: usize,
    /// Questions where one of the two is undefined: fewer than two systems with a score under both annotators, or no
    /// differences between systems.
    pub undefined: usize,
    /// Every question, in order of first appearance.
    pub questions: Vec<QuestionAgreement>,
    /// What the reference script computes.
    pub reference: ReferenceAgreement,
}

/// One question annotated twice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionAgreement {
    /// The question.
    pub question: String,
    /// Systems with an `ann_score` under both annotators.
    pub systems: usize,
    /// Kendall's tau-b of the systems' `ann_score`s.
    pub kendall_tau_b: Option<f64>,
    /// Pearson's correlation of the same.
    pub pearson: Option<f64>,
}

/// The reference script's figures: absolute correlations of the orders that `numpy.argsort(-scores)` gives (not of
/// ranks), of the scores in compat mode. Perfect disagreement of annotators counts as perfect agreement there.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ReferenceAgreement {
    /// One value a question.
    pub kendall_per_question: Vec<f64>,
    /// One value a question.
    pub pearson_per_question: Vec<f64>,
    /// Their mean (the script prints three decimals).
    pub kendall: Option<f64>,
    /// Their mean.
    pub pearson: Option<f64>,
    /// Why there is nothing: the name of the exception the script dies with.
    pub exception: Option<String>,
}

/// Compares, question by question, the `ann_score`s that systems get under the two annotators of a question.
///
/// Only cases marked `agreement` count; of more than two cases of a question the first two. The order of the answers
/// is the order of questions in the result, and in `reference` it decides ties between systems: give the answers
/// system by system as the systems were named.
pub fn agreement<A: Borrow<ScoredAnswer>>(scored: &[A]) -> Agreement {
    let questions = by_question(scored);
    let details: Vec<QuestionAgreement> = questions.iter().map(proper).collect();
    let defined = |value: fn(&QuestionAgreement) -> Option<f64>| details.iter().filter_map(value).collect::<Vec<_>>();
    let (taus, correlations) = (defined(|q| q.kendall_tau_b), defined(|q| q.pearson));
    Agreement {
        kendall_tau_b: mean(&taus),
        kendall_questions: taus.len(),
        pearson: mean(&correlations),
        pearson_questions: correlations.len(),
        undefined: details.iter().filter(|q| q.kendall_tau_b.is_none() || q.pearson.is_none()).count(),
        reference: reference(&questions),
        questions: details,
    }
}

/// One annotation of a question: the answers to its case.
struct Annotation<'a> {
    case_id: &'a CaseId,
    answers: Vec<&'a ScoredAnswer>,
}

struct Question<'a> {
    question: &'a str,
    annotations: Vec<Annotation<'a>>,
}

fn by_question<A: Borrow<ScoredAnswer>>(scored: &[A]) -> Vec<Question<'_>> {
    let mut questions: Vec<Question<'_>> = Vec::new();
    for answer in scored.iter().map(Borrow::borrow).filter(|answer| answer.case.agreement) {
        let asked = answer.case.initial_prompt.as_str();
        let at = questions.iter().position(|known| known.question == asked).unwrap_or_else(|| {
            questions.push(Question { question: asked, annotations: Vec::new() });
            questions.len() - 1
        });
        let annotations = &mut questions[at].annotations;
        match annotations.iter_mut().find(|known| *known.case_id == answer.case.case_id) {
            Some(known) => known.answers.push(answer),
            None => annotations.push(Annotation { case_id: &answer.case.case_id, answers: vec![answer] }),
        }
    }
    questions
}

fn proper(question: &Question<'_>) -> QuestionAgreement {
    let scores = |index: usize| -> BTreeMap<&SystemName, f64> {
        let answers = question.annotations.get(index).map_or(&[][..], |annotation| annotation.answers.as_slice());
        answers.iter().filter_map(|answer| Some((&answer.system, answer.score.ann_score?))).collect()
    };
    let (first, second) = (scores(0), scores(1));
    let (x, y): (Vec<f64>, Vec<f64>) =
        first.iter().filter_map(|(system, score)| Some((*score, *second.get(system)?))).unzip();
    QuestionAgreement {
        question: question.question.to_owned(),
        systems: x.len(),
        kendall_tau_b: kendall_tau_b(&x, &y),
        pearson: pearson(&x, &y),
    }
}

fn reference(questions: &[Question<'_>]) -> ReferenceAgreement {
    let mut result = ReferenceAgreement::default();
    for question in questions {
        match reference_of(question) {
            Ok((kendall, pearson)) => {
                result.kendall_per_question.push(kendall);
                result.pearson_per_question.push(pearson);
            }
            Err(exception) => {
                return ReferenceAgreement { exception: Some(exception.to_owned()), ..ReferenceAgreement::default() };
            }
        }
    }
    result.kendall = mean(&result.kendall_per_question);
    result.pearson = mean(&result.pearson_per_question);
    result
}

/// Lists of unequal length and lists of one raise there, as do scores that are not there.
fn reference_of(question: &Question<'_>) -> Result<(f64, f64), &'static str> {
    let orders = question
        .annotations
        .iter()
        .take(2)
        .map(|annotation| {
            let scores = annotation.answers.iter().map(|a| a.reference.as_ref().unwrap_or(&a.score).ann_score);
            scores.collect::<Option<Vec<f64>>>().map(|scores| order_of(&scores)).ok_or("TypeError")
        })
        .collect::<Result<Vec<_>, _>>()?;
    let [x, y] = orders.as_slice() else { return Err("ValueError") };
    let kendall = kendall_tau_b(x, y).ok_or("ValueError")?;
    let pearson = pearson(x, y).ok_or("ValueError")?;
    Ok((kendall.abs(), pearson.abs()))
}

/// The order of the systems as numbers, which is what the script correlates.
fn order_of(scores: &[f64]) -> Vec<f64> {
    descending_order(scores).into_iter().map(|index| index as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::made::{case, simple_score};

    fn answer(system: &str, annotator: u8, question: &str, ann_score: Option<f64>) -> ScoredAnswer {
        let mut score = simple_score(Some(0.5));
        score.ann_score = ann_score;
        ScoredAnswer {
            system: SystemName::from(system),
            case: case(&format!("{question}{annotator}"), question, &format!("Annotator {annotator}"), true),
            score,
            reference: None,
            members: std::collections::BTreeMap::new(),
            steering: Vec::new(),
        }
    }

    /// Two annotators' scores of systems a, b, c, ..
    fn question(name: &str, first: &[f64], second: &[f64]) -> Vec<ScoredAnswer> {
        let of = |annotator, scores: &[f64]| -> Vec<ScoredAnswer> {
            let systems = ["a", "b", "c", "d"].iter().zip(scores);
            systems.map(|(system, score)| answer(system, annotator, name, Some(*score))).collect()
        };
        [of(1, first), of(2, second)].concat()
    }

    #[test]
    fn opposite_orders_disagree_here_and_agree_in_the_reference() {
        let result = agreement(&question("q", &[0.1, 0.2, 0.3], &[0.3, 0.2, 0.1]));
        assert_eq!(result.kendall_tau_b, Some(-1.0));
        assert!((result.pearson.unwrap() + 1.0).abs() < 1e-12);
        // the orders are [2, 1, 0] and [0, 1, 2]; |-1| = 1
        assert_eq!(result.reference.kendall, Some(1.0));
    }

    #[test]
    fn an_undefined_question_is_counted_and_left_out_of_the_mean() {
        let mut answers = question("q", &[0.1, 0.2, 0.3], &[0.1, 0.2, 0.3]);
        answers.extend(question("flat", &[0.5, 0.5, 0.5], &[0.1, 0.2, 0.3]));
        let result = agreement(&answers);
        assert_eq!((result.kendall_tau_b, result.kendall_questions, result.undefined), (Some(1.0), 1, 1));
        assert_eq!(result.questions[1].pearson, None);
    }

    #[test]
    fn a_system_without_a_score_under_one_annotator_is_left_out_of_that_question() {
        let mut answers = question("q", &[0.1, 0.2, 0.3, 0.4], &[0.1, 0.2, 0.3]);
        answers.push(answer("d", 2, "q", None));
        let result = agreement(&answers);
        assert_eq!((result.questions[0].systems, result.kendall_tau_b), (3, Some(1.0)));
        assert_eq!(result.reference.exception.as_deref(), Some("TypeError"));
    }

    #[test]
    fn cases_not_meant_for_agreement_do_not_count() {
        let mut one = answer("a", 1, "q", Some(0.5));
        one.case = case("x", "q", "Annotator 1", false);
        assert_eq!(agreement(&[one]), Agreement::default());
    }
}

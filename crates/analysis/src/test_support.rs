//! Small scores for the tests of `analysis` and `report`.

use std::sync::Arc;

use crate::{AggregateOptions, Summary, summarize};
use scholareval_core::domain::{
    CaseId, Component, ComponentKind, Rater, RaterKind, Rating, Score, ScoredAnswer, SystemName,
    TestCase, UnscoredKind, UnscoredReason,
};

pub fn component(name: &str, kind: ComponentKind, weight: f64, value: Option<f64>) -> Component {
    let reason = value
        .is_none()
        .then(|| UnscoredReason::new(UnscoredKind::Unreadable, "no JSON object").into());
    Component {
        value,
        reason,
        ..Component::new(name, kind)
            .with_text(&format!("text of {name}"))
            .with_weight(weight)
    }
}

/// A score whose `value` and `ann_score` follow from its components, as the rubric scorer makes them.
pub fn score(components: Vec<Component>) -> Score {
    let sum = |annotated_only: bool| {
        let mut total = (0.0, 0.0);
        for component in components
            .iter()
            .filter(|c| !annotated_only || c.kind.is_annotated())
        {
            total = (
                total.0 + component.weight * component.value?,
                total.1 + component.weight,
            );
        }
        Some(total)
    };
    let (value, ann_score) = (
        sum(false).map(|(sum, _)| sum),
        sum(true)
            .filter(|(_, weight)| *weight > 0.0)
            .map(|(sum, weight)| sum / weight),
    );
    let annotated = components.iter().filter(|c| c.kind.is_annotated());
    let ann_divisor = annotated.map(|c| c.weight).sum();
    Score {
        scorer: "rubric".into(),
        value,
        ann_score,
        ann_divisor,
        components,
        ..Score::default()
    }
}

/// length 0.1, expertise 0.1, citations 0.1, excerpts 0.1, one property 0.6; all but the property have the value 0.5.
pub fn simple_score(property: Option<f64>) -> Score {
    score(vec![
        component("length", ComponentKind::Length, 0.1, Some(0.5)),
        component("expertise", ComponentKind::Expertise, 0.1, Some(0.5)),
        component("citations", ComponentKind::Citations, 0.1, Some(0.5)),
        component("excerpts", ComponentKind::Excerpts, 0.1, Some(0.5)),
        component(
            "most_important_item_0",
            ComponentKind::Property,
            0.6,
            property,
        ),
    ])
}

pub fn case(case_id: &str, question: &str, annotator: &str, agreement: bool) -> Arc<TestCase> {
    let case = TestCase::without_rubric(case_id.into(), question);
    Arc::new(TestCase {
        annotator: annotator.to_owned(),
        agreement,
        ..case
    })
}

pub fn answer(system: &str, case_id: &str, score: Score) -> ScoredAnswer {
    let case = case(
        case_id,
        &format!("question of {case_id}"),
        "Annotator 1",
        false,
    );
    answer_to(system, case, score)
}

pub(crate) fn answer_to(system: &str, case: Arc<TestCase>, score: Score) -> ScoredAnswer {
    ScoredAnswer {
        score,
        ..ScoredAnswer::new(SystemName::from(system), case, Score::default())
    }
}

/// The summary of answers that nothing else holds.
pub fn summary_of(
    scored: &[ScoredAnswer],
    missing: &[(SystemName, CaseId)],
    options: AggregateOptions,
) -> Summary {
    let scored: Vec<Arc<ScoredAnswer>> = scored.iter().cloned().map(Arc::new).collect();
    summarize(&scored, missing, options)
}

/// A rater of whole answers of the system `s`, in the cases c0, c1, ..
pub fn rater(name: &str, kind: RaterKind, values: &[f64]) -> Rater {
    let mut rater = Rater::new(name, kind);
    for (case, value) in values.iter().enumerate() {
        rater.ratings.push(Rating {
            system: "s".into(),
            case_id: format!("c{case}").into(),
            item: None,
            value: *value,
        });
    }
    rater
}

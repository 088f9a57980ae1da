use std::sync::Arc;

use serde_json::json;

use super::*;
use scholareval_core::domain::{Answer, CriterionVerdict, Judgment};
use scholareval_dataset::rubric_profile;

fn case(weights: &[f64]) -> TestCase {
    let criterion = |(at, weight): (usize, &f64)| CaseCriterion {
        name: format!("c{}", at + 1),
        text: "t".into(),
        weight: *weight,
        ..CaseCriterion::default()
    };
    let criteria = weights.iter().enumerate().map(criterion).collect();
    TestCase {
        criteria,
        ..TestCase::without_rubric("c".into(), "q")
    }
}

fn answer() -> Answer {
    Answer::new("s".into(), "c".into(), "a")
}

fn judged(credits: &[(&str, Option<f64>)]) -> Verdicts {
    let verdict = |credit| {
        Ok(Reading::new(Verdict::Criteria(
            [CriterionVerdict {
                credit,
                ..CriterionVerdict::default()
            }]
            .into(),
        )))
    };
    credits
        .iter()
        .map(|(name, credit)| (Arc::from(*name), verdict(*credit)))
        .collect()
}

fn scorer(batch: usize) -> CriteriaScorer {
    let profile = RubricProfile {
        batch,
        ..rubric_profile(None).unwrap()
    };
    CriteriaScorer {
        profile,
        mode: Mode::Default,
        is_baseline: false,
    }
}

fn done(case: &TestCase, verdicts: &Verdicts) -> Score {
    match scorer(1).step(&Subject::new(case, &answer()), verdicts) {
        Step::Done(score) => score,
        Step::Ask(calls) => panic!("{calls:?}"),
    }
}

fn unreadable() -> Judgment {
    Err(UnscoredReason::new(UnscoredKind::Unreadable, "no JSON"))
}

#[test]
fn negative_criteria_take_points_away_and_the_score_may_be_below_zero() {
    // (3 x 0 + 1 x 1 - 5 x 1) / (3 + 1)
    let score = done(
        &case(&[3.0, 1.0, -5.0]),
        &judged(&[("c1", Some(0.0)), ("c2", Some(1.0)), ("c3", Some(1.0))]),
    );
    assert_eq!(score.value, Some(-1.0));
    let weights: Vec<f64> = score
        .components
        .iter()
        .map(|component| component.weight)
        .collect();
    assert_eq!(weights, [0.75, 0.25, -1.25]);
}

#[test]
fn an_unreadable_verdict_leaves_the_answer_unscored_and_counts_as_the_worst_in_bounds() {
    let mut verdicts = judged(&[("c1", Some(1.0))]);
    verdicts.insert("c2".into(), unreadable());
    // (2 x 1 - 1 x ?) / 2: 0.5 if the fault is there, 1 if not
    let score = done(&case(&[2.0, -1.0]), &verdicts);
    assert_eq!(
        (score.value, score.filled(0.0).0, score.filled(1.0).0),
        (None, 0.5, 1.0)
    );
    assert!(!score.is_complete());
}

#[test]
fn what_the_judge_cannot_assess_does_not_count() {
    let score = done(
        &case(&[3.0, 1.0]),
        &judged(&[("c1", None), ("c2", Some(1.0))]),
    );
    assert_eq!(score.value, Some(1.0));
    assert!(score.is_complete() && score.components[0].is_abstained());
    assert_eq!(
        score.notes,
        ["criteria that the judge cannot assess do not count"]
    );
    // Nothing is left that could be earned.
    let score = done(
        &case(&[3.0, -1.0]),
        &judged(&[("c1", None), ("c2", Some(1.0))]),
    );
    assert_eq!(score.value, None);
}

#[test]
fn a_batch_without_a_usable_reply_is_asked_one_by_one() {
    let items = |step: Step| match step {
        Step::Ask(calls) => calls
            .iter()
            .map(|call| call.item.to_string())
            .collect::<Vec<_>>(),
        Step::Done(score) => vec![format!("{:?}", score.value)],
    };
    let case = case(&[1.0; 5]);
    let step = |verdicts: &Verdicts, mode| {
        items(CriteriaScorer { mode, ..scorer(2) }.step(&Subject::new(&case, &answer()), verdicts))
    };
    let mut verdicts = Verdicts::new();
    assert_eq!(step(&verdicts, Mode::Default), ["c1..c2", "c3..c4", "c5"]);
    verdicts.extend(judged(&[
        ("c1", Some(1.0)),
        ("c2", Some(1.0)),
        ("c5", Some(1.0)),
    ]));
    verdicts.insert("c3..c4".into(), unreadable());
    assert_eq!(step(&verdicts, Mode::Compat), ["None"]);
    assert_eq!(step(&verdicts, Mode::Default), ["c3", "c4"]);
    verdicts.extend(judged(&[("c3", Some(0.0)), ("c4", Some(0.0))]));
    // 3 of 5
    assert_eq!(step(&verdicts, Mode::Default), ["Some(0.6)"]);
}

#[test]
fn without_a_positive_weight_nothing_is_asked() {
    let score = done(&case(&[0.0, -1.0]), &Verdicts::new());
    assert_eq!(score.value, None);
    let why = score.components[0].reason.as_ref().unwrap();
    assert_eq!(
        why.message,
        "no criterion has a positive weight, so that no point can be earned"
    );
}

#[test]
fn beside_a_reference_a_criterion_without_points_counts_only_where_nothing_else_does() {
    let race = CriteriaScorer {
        profile: rubric_profile(Some("race")).unwrap(),
        mode: Mode::Default,
        is_baseline: false,
    };
    let scored = |points: [(f64, f64); 2]| {
        let verdict = |(credit, second)| CriterionVerdict {
            credit: Some(credit),
            second: Some(second),
            ..CriterionVerdict::default()
        };
        let judged = |points| Ok(Reading::new(Verdict::Criteria([verdict(points)].into())));
        let verdicts = points
            .into_iter()
            .zip(["c1", "c2"])
            .map(|(points, name)| (Arc::from(name), judged(points)));
        let (case, verdicts) = (case(&[0.5, 0.5]), verdicts.collect());
        let credit = |criterion| race.credit(criterion, std::slice::from_ref(criterion), &verdicts);
        weighted::score(
            &race,
            &case,
            None,
            case.criteria.iter().map(credit).collect(),
        )
    };
    // 0.5 x 3 / (0.5 x (3 + 1))
    let partial = scored([(3.0, 1.0), (0.0, 0.0)]);
    assert_eq!(
        (partial.value, partial.components[0].weight),
        (Some(0.75), 1.0)
    );
    assert!(0.0 < partial.components[1].weight && partial.components[1].weight < 1e-29);
    let none = scored([(0.0, 0.0), (0.0, 0.0)]);
    assert_eq!((none.value, none.components[1].weight), (Some(0.0), 0.5));
}

#[test]
fn shares_from_negative_points_are_the_references_with_a_note() {
    let race = CriteriaScorer {
        profile: rubric_profile(Some("race")).unwrap(),
        mode: Mode::Compat,
        is_baseline: false,
    };
    let scored = |points: [(f64, f64); 2]| {
        let mut verdicts = Verdicts::new();
        for ((credit, second), name) in points.into_iter().zip(["c1", "c2"]) {
            let verdict = CriterionVerdict {
                credit: Some(credit),
                second: Some(second),
                ..CriterionVerdict::default()
            };
            let verdict = Verdict::Criteria([verdict].into());
            verdicts.insert(Arc::from(name), Ok(Reading::new(verdict)));
        }
        let case = case(&[0.5, 0.5]);
        let credit = |criterion| race.credit(criterion, std::slice::from_ref(criterion), &verdicts);
        let credits = case.criteria.iter().map(credit).collect();
        weighted::score(&race, &case, None, credits)
    };
    // T + R = 0: the reference has 0, whatever T is.
    let opposite = scored([(-0.8, 0.8), (-0.8, 0.8)]);
    assert_eq!(opposite.value, Some(0.0));
    assert_eq!(opposite.notes, [weighted::OUT_OF_RANGE]);
    // T = -0.8 + 0.5, T + R = 1
    let partly = scored([(-0.8, 0.8), (0.5, 0.5)]);
    assert!((partly.value.unwrap() + 0.3).abs() < 1e-12, "{partly:?}");
    assert_eq!(partly.notes, [weighted::OUT_OF_RANGE]);
    assert!(scored([(0.3, 0.1), (0.5, 0.5)]).notes.is_empty());
}

/// A profile with these metrics, cut to 0..=1.
fn with_metrics(metrics: &Value) -> CriteriaScorer {
    let met = json!({"level": 1, "credit": 1, "means": "", "also": {"strict": 1}});
    let not_met = json!({"level": 0, "credit": 0, "means": ""});
    let profile = json!({
        "name": "n", "about": "a", "clip": true, "round_in_compat": 2, "metrics": metrics,
        "reply": {"levels": [met, not_met]},
    });
    CriteriaScorer {
        profile: serde_json::from_value(profile).unwrap(),
        ..scorer(1)
    }
}

fn metric(score: &Score, name: &str) -> Option<f64> {
    score.component(name).unwrap().value
}

#[test]
fn metrics_stand_beside_a_score_that_is_cut() {
    let scorer = with_metrics(&json!([
        {"name": "right", "right": true}, {"name": "passed", "pass": 0.7}, {"name": "strict", "also": "strict"},
        {"name": "strict_vital", "also": "strict", "tag": "vital"}, {"name": "none", "also": "strict", "tag": "none"},
        {"name": "normalized", "normalized": true},
        {"name": "adjusted", "length": {"center": 2, "per": 4, "lose": 0.5}},
    ]));
    let mut case = case(&[3.0, 1.0, -5.0]);
    case.criteria[0].tags = vec!["vital".to_owned()];
    let verdict = |credit, strict| {
        let verdict = CriterionVerdict {
            credit: Some(credit),
            also: [("strict".to_owned(), strict)].into(),
            ..CriterionVerdict::default()
        };
        Ok(Reading::new(Verdict::Criteria([verdict].into())))
    };
    let verdicts: Verdicts = [
        (Arc::from("c1"), verdict(1.0, 1.0)),
        (Arc::from("c2"), verdict(0.5, 0.0)),
        (Arc::from("c3"), verdict(1.0, 1.0)),
    ]
    .into();
    let done = |scorer: &CriteriaScorer| {
        let step = scorer.step(&Subject::new(&case, &answer()), &verdicts);
        match step {
            Step::Done(score) => score,
            Step::Ask(calls) => panic!("{calls:?}"),
        }
    };
    // (3 + .5 - 5) / 4 is below 0; so are not the bounds.
    let score = done(&scorer);
    assert_eq!(
        (score.value, score.filled(0.0).0, score.unit()),
        (Some(0.0), 0.0, Unit::Share)
    );
    // Met, half met, and a fault that is there.
    assert_eq!(metric(&score, "right"), Some(0.5));
    assert_eq!(metric(&score, "passed"), Some(0.0));
    // Of the points before they are cut: (3 + .5 - 5 + 5) / (4 + 5).
    assert_eq!(metric(&score, "normalized"), Some(3.5 / 9.0));
    // The weights of faults do not count.
    assert_eq!(metric(&score, "strict"), Some(0.75));
    assert_eq!(metric(&score, "strict_vital"), Some(1.0));
    assert!(score.component("none").is_none());
    // One character: half of .5 x (1 - 2) / 4 is given.
    assert_eq!(metric(&score, "adjusted"), Some(0.125));
    let compat = CriteriaScorer {
        mode: Mode::Compat,
        ..scorer
    };
    assert_eq!(metric(&done(&compat), "none"), Some(0.0));
    // An unreadable verdict leaves them all open.
    let mut open = verdicts.clone();
    open.insert("c2".into(), unreadable());
    let Step::Done(score) = with_metrics(&json!([{"name": "right", "right": true}]))
        .step(&Subject::new(&case, &answer()), &open)
    else {
        panic!("asked again");
    };
    assert_eq!((score.value, metric(&score, "right")), (None, None));
}

#[test]
fn compat_rounds_as_python_does() {
    let scorer = CriteriaScorer {
        mode: Mode::Compat,
        ..with_metrics(&json!([]))
    };
    // 1/8 is between .12 and .13: the even one.
    let case = case(&[1.0; 8]);
    let credits: Vec<(String, Option<f64>)> = (1..=8)
        .map(|at| (format!("c{at}"), Some(f64::from(u8::from(at == 1)))))
        .collect();
    let credits: Vec<(&str, Option<f64>)> = credits
        .iter()
        .map(|(name, credit)| (name.as_str(), *credit))
        .collect();
    let step = scorer.step(&Subject::new(&case, &answer()), &judged(&credits));
    let Step::Done(score) = step else {
        panic!("asked")
    };
    assert_eq!(score.value, Some(0.12));
}

#[test]
fn scores_that_are_cut_and_marks_are_those_of_each_pass() {
    let mut draco = CriteriaScorer {
        profile: rubric_profile(Some("draco")).unwrap(),
        mode: Mode::Default,
        is_baseline: false,
    };
    draco.profile.metrics = rubric_profile(Some("frontierscience-research"))
        .unwrap()
        .metrics;
    // The first criterion is met in both passes; the fault, of twice the weight, in the second.
    let scored = |passes: [&[f64]; 2]| {
        let credits = passes.map(|passes| {
            Credit::of(&CriterionVerdict {
                credit: Some(passes.iter().sum::<f64>() / passes.len() as f64),
                passes: passes.to_vec(),
                ..CriterionVerdict::default()
            })
        });
        let score = weighted::score(&draco, &case(&[1.0, -2.0]), None, credits.to_vec());
        (score.value, score.components[2].value)
    };
    // 1 and max(0, -1), where the mean credits give 1 - 2 / 2 = 0.
    assert_eq!(scored([&[1.0, 1.0], &[0.0, 1.0]]), (Some(0.5), Some(0.5)));
    // A pass without a verdict on one of them: by the mean credits.
    assert_eq!(scored([&[1.0, 1.0], &[1.0]]), (Some(0.0), Some(0.0)));
}

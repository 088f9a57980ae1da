//! Behavior of the rubric scorer that the golden numbers do not show.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use scholareval_core::domain::{ClaimShares, ComponentKind, Criterion, Judgment, Reading};
use scholareval_core::question::{JudgeCall, SnippetEvidence};

fn criterion(name: &str, text: &str, weight: f64, snippets: usize) -> Criterion {
    let snippets = (0..snippets)
        .map(|i| format!("{name} {i}"))
        .collect::<Vec<_>>()
        .into();
    Criterion {
        name: name.into(),
        criterion: text.into(),
        weight,
        snippets,
    }
}

fn case(criteria: Vec<Criterion>) -> TestCase {
    let rubric = Rubric {
        question: "q".into(),
        criteria,
        ..Rubric::default()
    };
    TestCase {
        case_id: "c".into(),
        initial_prompt: "q".into(),
        annotator: String::new(),
        agreement: false,
        rubric,
        criteria: Vec::new(),
        reference: None,
        shown: Default::default(),
        group: None,
    }
}

fn answer(text: &str) -> Answer {
    Answer::new("s".into(), "c".into(), text)
}

fn points(value: f64) -> Judgment {
    Ok(Reading::new(Verdict::Points(value)))
}

fn reason(kind: UnscoredKind) -> Judgment {
    Err(UnscoredReason::new(kind, "r"))
}

/// Runs a scorer to its end; returns the items of each round and the score.
fn run(
    scorer: RubricScorer,
    case: &TestCase,
    judge: impl Fn(&JudgeCall) -> Judgment,
) -> (Vec<Vec<String>>, Score) {
    let (mut verdicts, mut rounds) = (Verdicts::new(), Vec::new());
    loop {
        match scorer.step(&Subject::new(case, &answer("one two")), &verdicts) {
            Step::Done(score) => return (rounds, score),
            Step::Ask(calls) => {
                assert!(!calls.is_empty());
                rounds.push(calls.iter().map(|call| call.item.to_string()).collect());
                for call in calls {
                    let earlier = verdicts.insert(Arc::clone(&call.item), judge(&call));
                    assert_eq!(earlier, None, "{} was asked twice", call.item);
                }
            }
        }
    }
}

/// Half of everything: 5 points, half the snippets, half of claims and citations.
fn half_marks(call: &JudgeCall) -> Judgment {
    let evidence = call.question.downcast_ref::<SnippetEvidence>();
    let verdict = match call.question.info().name {
        "evidence" => Verdict::Count(evidence.unwrap().snippets.len() as f64 / 2.0),
        "citations" => Verdict::Claims(ClaimShares {
            citations: 0.5,
            excerpts: 0.5,
            claim_count: 2,
            citation_count: 2,
        }),
        _ => Verdict::Points(5.0),
    };
    Ok(Reading {
        verdict,
        feedback: Some(format!("about {}", call.item)),
        belief: None,
    })
}

const DEFAULT: RubricScorer = RubricScorer {
    parts: RubricParts::BOTH,
    mode: Mode::Default,
    is_baseline: false,
};
const COMPAT: RubricScorer = RubricScorer {
    parts: RubricParts::BOTH,
    mode: Mode::Compat,
    is_baseline: false,
};

fn close(actual: Option<f64>, expected: f64) -> bool {
    actual.is_some_and(|actual| (actual - expected).abs() < 1e-12)
}

#[test]
fn snippets_are_asked_in_a_second_round_and_only_where_the_criterion_earned_something() {
    let case = case(vec![
        criterion("a", "x", 0.2, 2),
        criterion("b", "y", 0.2, 2),
        criterion("c", "", 0.2, 1),
    ]);
    let (rounds, score) = run(DEFAULT, &case, |call| match &*call.item {
        "a" => points(0.0),
        _ => half_marks(call),
    });
    assert_eq!(
        rounds,
        [
            vec!["expertise", "citations", "a", "b", "c_evidence"],
            vec!["b_evidence"]
        ]
    );
    let values: Vec<_> = score
        .components
        .iter()
        .map(|c| (&*c.name, c.weight, c.value))
        .collect();
    assert_eq!(
        values,
        [
            ("length", 0.05, Some(1.0)),
            ("expertise", 0.05, Some(0.5)),
            ("citations", 0.2, Some(0.5)),
            ("excerpts", 0.1, Some(0.5)),
            ("a", 0.1, Some(0.0)),
            ("a_evidence", 0.1, Some(0.0)),
            ("b", 0.1, Some(0.5)),
            ("b_evidence", 0.1, Some(0.5)),
            ("c_evidence", 0.2, Some(0.5)),
        ]
    );
    // 0.05 + 0.025 + 0.1 + 0.05 + 0 + 0 + 0.05 + 0.05 + 0.1 = 0.425; annotated 0.2 of 0.6.
    assert!(
        close(score.value, 0.425) && close(score.ann_score, 0.2 / 0.6),
        "{score:?}"
    );
    assert_eq!(
        score
            .component("b")
            .unwrap()
            .feedback
            .as_ref()
            .map(|text| text.as_str()),
        Some("about b")
    );
}

#[test]
fn an_unscored_criterion_leaves_its_snippets_unasked_and_the_score_null() {
    let case = case(vec![
        criterion("a", "x", 0.3, 2),
        criterion("b", "y", 0.3, 0),
    ]);
    let (rounds, score) = run(DEFAULT, &case, |call| match &*call.item {
        "a" => reason(UnscoredKind::Unreadable),
        _ => half_marks(call),
    });
    assert_eq!(rounds.len(), 1);
    let kind = |name: &str| {
        score
            .component(name)
            .unwrap()
            .reason
            .as_ref()
            .map(|reason| reason.kind)
    };
    assert_eq!(kind("a"), Some(UnscoredKind::Unreadable));
    assert_eq!(kind("a_evidence"), Some(UnscoredKind::DependsOnUnscored));
    assert_eq!((score.value, score.ann_score), (None, None));
    // Bounds: 0.05 + 0.025 + 0.1 + 0.05 + 0.3 * 0.5 = 0.375 without a's 0.3, which is 0.15 + 0.15.
    let (low, high) = (score.filled(0.0), score.filled(1.0));
    assert!((low.0 - 0.375).abs() < 1e-12 && (high.0 - 0.675).abs() < 1e-12);
    assert!(
        (low.1.unwrap() - 0.15 / 0.6).abs() < 1e-12 && (high.1.unwrap() - 0.45 / 0.6).abs() < 1e-12
    );
}

#[test]
fn an_unscored_static_component_leaves_ann_score_standing() {
    let case = case(vec![criterion("a", "x", 0.6, 0)]);
    let (_, score) = run(DEFAULT, &case, |call| match call.question.info().name {
        "citations" => reason(UnscoredKind::Cut),
        _ => half_marks(call),
    });
    assert_eq!(score.value, None);
    assert!(close(score.ann_score, 0.5));
    assert_eq!(score.component("excerpts").unwrap().value, None);
    // In compat mode the script would have failed as a whole.
    let (_, score) = run(COMPAT, &case, |call| match call.question.info().name {
        "citations" => reason(UnscoredKind::Exception),
        _ => half_marks(call),
    });
    assert_eq!((score.value, score.ann_score), (None, None));
}

#[test]
fn properties_left_without_a_part_give_their_weight_to_the_others_with_a_note() {
    let case = case(vec![
        criterion("a", "x", 0.2, 0),
        criterion("b", "y", 0.4, 2),
    ]);
    let snippets = RubricParts {
        rubrics: false,
        snippets: true,
    };
    let (_, score) = run(
        RubricScorer::new(snippets, Mode::Default),
        &case,
        half_marks,
    );
    assert_eq!(score.component("a"), None);
    // b alone carries 0.4 * 0.6 / 0.4 = 0.6.
    assert!((score.component("b_evidence").unwrap().weight - 0.6).abs() < 1e-12);
    assert!(close(score.ann_score, 0.5));
    assert!(
        score.notes[0].starts_with("1 of 2 properties have nothing to judge in this mode"),
        "{:?}",
        score.notes
    );
    let (rounds, score) = run(RubricScorer::new(snippets, Mode::Compat), &case, half_marks);
    assert!(rounds.is_empty());
    assert!(score.components.iter().all(|c| {
        c.reason
            .as_ref()
            .is_some_and(|r| r.message == "the reference refuses weights whose sum is not 1")
    }));
}

#[test]
fn a_mode_that_leaves_nothing_to_judge_is_unscored_with_a_reason_and_asks_nothing() {
    let case = case(vec![criterion("a", "x", 0.6, 0)]);
    let scorer = RubricScorer::new(
        RubricParts {
            rubrics: false,
            snippets: true,
        },
        Mode::Default,
    );
    let (rounds, score) = run(scorer, &case, half_marks);
    assert!(rounds.is_empty() && scorer.all_calls(&case, &answer("x")).is_empty());
    assert_eq!((score.value, score.ann_score), (None, None));
    assert_eq!(
        score
            .component("a")
            .unwrap()
            .reason
            .as_ref()
            .map(|r| r.kind),
        Some(UnscoredKind::NotAsked)
    );
    assert_eq!(score.notes.len(), 1);
    // The missing property still has its weight in the bounds.
    assert!(
        (score.filled(1.0).0 - 1.0).abs() < 1e-12
            && (score.filled(1.0).1.unwrap() - 1.0).abs() < 1e-12
    );
}

#[test]
fn a_rubric_without_properties_has_a_score_but_no_ann_score() {
    let mut case = case(vec![]);
    case.rubric.expertise_weight = 0.65;
    let (_, score) = run(DEFAULT, &case, half_marks);
    // 0.05 + 0.325 + 0.1 + 0.05 = 0.525.
    assert!(close(score.value, 0.525));
    assert_eq!(score.ann_score, None);
    assert_eq!(
        score.notes,
        ["no property has a weight: ann_score is undefined"]
    );
}

#[test]
fn equal_length_bounds_are_a_step_and_in_compat_an_exception() {
    let mut case = case(vec![criterion("a", "x", 0.6, 0)]);
    for (bound, value) in [(2, 1.0), (1, 0.0)] {
        (case.rubric.low_length, case.rubric.high_length) = (bound, bound);
        let (_, score) = run(DEFAULT, &case, half_marks);
        assert_eq!(score.component("length").unwrap().value, Some(value));
        let (rounds, score) = run(COMPAT, &case, half_marks);
        assert!(rounds.is_empty() && score.value.is_none());
        assert_eq!(
            score.components[4].reason.as_ref().unwrap().kind,
            UnscoredKind::Exception
        );
    }
}

#[test]
fn appended_references_do_not_count_as_length_and_in_compat_do() {
    // 450 words of the system: 1 - (450 - 300) / (600 - 300) = 0.5; with 150 words of references 1 - (600 - 300) / 300 = 0
    let (text, block) = ("w ".repeat(450), "r ".repeat(150));
    let whole = Answer {
        own_bytes: Some(text.len()),
        ..answer(&format!("{text}{block}"))
    };
    let case = case(vec![criterion("p", "c", 0.6, 0)]);
    for (scorer, expected) in [(DEFAULT, 0.5), (COMPAT, 0.0)] {
        let mut verdicts = Verdicts::new();
        let score = loop {
            match scorer.step(&Subject::new(&case, &whole), &verdicts) {
                Step::Done(score) => break score,
                Step::Ask(calls) => verdicts.extend(
                    calls
                        .iter()
                        .map(|call| (Arc::clone(&call.item), half_marks(call))),
                ),
            }
        };
        assert_eq!(score.component("length").unwrap().value, Some(expected));
    }
}

#[test]
fn extreme_length_bounds_do_not_overflow() {
    let mut case = case(vec![criterion("a", "x", 0.6, 0)]);
    (case.rubric.low_length, case.rubric.high_length) = (i64::MIN, i64::MAX);
    let (_, score) = run(DEFAULT, &case, half_marks);
    assert!(close(score.component("length").unwrap().value, 0.5));
}

#[test]
fn compat_takes_numbers_as_they_are_and_nan_opens_the_gate() {
    let case = case(vec![criterion("a", "x", 0.6, 3)]);
    let with = |a: f64, evidence: f64| {
        run(COMPAT, &case, |call| match &*call.item {
            "a" => points(a),
            "a_evidence" => Ok(Reading::new(Verdict::Count(evidence))),
            _ => half_marks(call),
        })
    };
    let (_, score) = with(11.0, -3.0);
    assert_eq!(score.component("a").unwrap().value, Some(1.1));
    assert_eq!(score.component("a_evidence").unwrap().value, Some(-1.0));
    let (rounds, score) = with(f64::NAN, 4.0);
    assert_eq!(rounds.len(), 2);
    assert!(score.value.is_some_and(f64::is_nan));
    assert_eq!(score.component("a_evidence").unwrap().value, Some(1.0));
    // min(NaN, 1.0) is NaN in Python.
    assert!(
        with(1.0, f64::NAN)
            .1
            .component("a_evidence")
            .unwrap()
            .value
            .is_some_and(f64::is_nan)
    );
}

#[test]
fn in_compat_colliding_names_collapse_to_the_last_but_each_is_asked() {
    // Weights: a = 0.6 (twice, collapsed), citations 0.2 overwritten by a property's 0.2, so the sum is 1.2 - 0.2 = 1.
    let case = case(vec![
        criterion("a", "x", 0.6, 0),
        criterion("a", "y", 0.6, 0),
        criterion("citations", "z", 0.2, 0),
    ]);
    let (rounds, score) = run(COMPAT, &case, |call| match &*call.item {
        "a#5" => points(10.0),
        "citations#6" => points(1.0),
        _ => half_marks(call),
    });
    assert_eq!(
        rounds,
        [["expertise", "citations", "a", "a#5", "citations#6"]]
    );
    let values: Vec<_> = score
        .components
        .iter()
        .map(|c| (&*c.name, c.kind, c.value))
        .collect();
    assert_eq!(
        values[2..],
        [
            ("citations", ComponentKind::Citations, Some(0.1)),
            ("excerpts", ComponentKind::Excerpts, Some(0.5)),
            ("a", ComponentKind::Property, Some(1.0)),
        ]
    );
    // 0.05 + 0.025 + 0.02 + 0.05 + 0.6 = 0.745; annotated is a alone: 0.6 / 0.6.
    assert!(
        close(score.value, 0.745) && close(score.ann_score, 1.0),
        "{score:?}"
    );
}

#[test]
fn a_verdict_of_another_kind_is_unscored_and_no_panic() {
    let case = case(vec![criterion("a", "x", 0.6, 0)]);
    let (_, score) = run(DEFAULT, &case, |_| Ok(Reading::new(Verdict::Count(3.0))));
    assert_eq!(score.value, None);
    assert_eq!(
        score
            .component("citations")
            .unwrap()
            .reason
            .as_ref()
            .unwrap()
            .kind,
        UnscoredKind::Unreadable
    );
}

fn judged_in_range() -> impl Strategy<Value = (f64, f64, f64, f64, bool)> {
    (
        0.0..=10.0_f64,
        0.0..20.0_f64,
        0.0..=1.0_f64,
        0.0..=1.0_f64,
        prop::bool::weighted(0.1),
    )
}

proptest! {
    #[test]
    fn scores_and_bounds_stay_within_0_and_1(
        weights in prop::collection::vec((0.01..1.0_f64, 0_usize..4, any::<bool>()), 1..6),
        judged in prop::collection::vec(judged_in_range(), 20),
        rubrics in any::<bool>(),
        words in 0_usize..900,
    ) {
        let total: f64 = weights.iter().map(|(weight, ..)| weight).sum();
        let criteria = weights.iter().enumerate().map(|(i, (weight, snippets, text))| {
            let text = if *text || *snippets == 0 { "t" } else { "" };
            criterion(&format!("p{i}"), text, weight / total * 0.6, *snippets)
        });
        let case = case(criteria.collect());
        let scorer = RubricScorer::new(RubricParts { rubrics, snippets: true }, Mode::Default);
        let answer = answer(&"w ".repeat(words));
        let mut verdicts = Verdicts::new();
        let mut next = judged.into_iter().cycle();
        let score = loop {
            match scorer.step(&Subject::new(&case, &answer), &verdicts) {
                Step::Done(score) => break score,
                Step::Ask(calls) => for call in calls {
                    let (points, count, citations, excerpts, fails) = next.next().unwrap();
                    let verdict = match call.question.info().name {
                        "evidence" => Verdict::Count(count),
                        "citations" =>
                            Verdict::Claims(ClaimShares { citations, excerpts, claim_count: 1, citation_count: 1 }),
                        _ => Verdict::Points(points),
                    };
                    let judged = if fails { reason(UnscoredKind::Refused) } else { Ok(Reading::new(verdict)) };
                    verdicts.insert(call.item, judged);
                },
            }
        };
        let (low, high) = (score.filled(0.0), score.filled(1.0));
        for value in [score.value, score.ann_score, Some(low.0), low.1, Some(high.0), high.1] {
            prop_assert!(value.is_none_or(|value| (0.0..=1.0 + 1e-9).contains(&value)), "{score:?}");
        }
        if let Some(value) = score.value {
            prop_assert!((value - low.0).abs() < 1e-12 && (value - high.0).abs() < 1e-12);
        }
        prop_assert!(low.0 <= high.0 && low.1 <= high.1);
        let total: f64 = score.components.iter().map(|component| component.weight).sum();
        prop_assert!((total - 1.0).abs() < 1e-9, "weights sum to {total}");
        for component in &score.components {
            prop_assert!(component.value.is_none_or(|value| (0.0..=1.0).contains(&value)));
            prop_assert_eq!(component.value.is_none(), component.reason.is_some());
        }
    }
}

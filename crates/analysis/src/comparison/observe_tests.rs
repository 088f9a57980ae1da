//! Tables built from scored answers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::{
    ComparisonOptions, MetricTable, Observation, Observations, RunAnswers, compare, observe,
};
use crate::OnUnscored;
use crate::test_support::{answer, component, score, simple_score};
use scholareval_core::domain::{
    CaseId, ComponentKind, MemberValues, Score, ScoredAnswer, ScorerId, SystemName, Unit,
};
use scholareval_stats::Interval;

fn run<'a>(name: &'a str, scored: &'a [Arc<ScoredAnswer>]) -> RunAnswers<'a> {
    RunAnswers {
        name,
        scored,
        ..RunAnswers::default()
    }
}

fn arcs(answers: Vec<ScoredAnswer>) -> Vec<Arc<ScoredAnswer>> {
    answers.into_iter().map(Arc::new).collect()
}

fn table<'a>(observed: &'a Observations, name: &str) -> &'a MetricTable {
    observed
        .metrics
        .iter()
        .find(|table| table.metric.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

fn names(observed: &Observations) -> Vec<&str> {
    observed
        .metrics
        .iter()
        .map(|table| table.metric.name.as_str())
        .collect()
}

fn labels(observed: &Observations) -> Vec<&str> {
    observed
        .systems
        .iter()
        .map(|system| system.label.as_str())
        .collect()
}

fn of_scorer(scorer: &'static str, parts: Vec<(&str, ComponentKind, Option<f64>)>) -> Score {
    let components = parts
        .into_iter()
        .map(|(name, kind, value)| component(name, kind, 0.0, value))
        .collect();
    Score {
        scorer: scorer.into(),
        components,
        ..Score::default()
    }
}

fn said(judge: &str, samples: &[Option<f64>]) -> MemberValues {
    MemberValues {
        stops_early: false,
        judge: judge.into(),
        value: None,
        samples: samples.to_vec(),
        spread: None,
    }
}

#[test]
fn a_rubric_gives_six_metrics_and_what_is_unscored_has_the_bounds_of_its_known_parts() {
    let scored = arcs(vec![
        answer("a", "1", simple_score(Some(1.0))),
        answer("b", "2", simple_score(None)),
    ]);
    let tables = observe(&[run("r", &scored)]);
    assert_eq!(
        names(&tables),
        [
            "score",
            "ann_score",
            "length",
            "expertise",
            "citations",
            "excerpts"
        ]
    );
    let scores = table(&tables, "score");
    // 0.4 * 0.5 + 0.6 * 1 = 0.8; without the property 0.2 to 0.8.
    let Observation::Value(value) = scores.values[0][0] else {
        panic!("{:?}", scores.values)
    };
    assert!((value - 0.8).abs() < 1e-12);
    let Observation::Unscored(Interval { low, high }) = scores.values[1][1] else {
        panic!("{:?}", scores.values)
    };
    assert!((low - 0.2).abs() < 1e-12 && (high - 0.8).abs() < 1e-12);
    assert_eq!(
        (scores.values[0][1], scores.values[1][0]),
        (Observation::Missing, Observation::Missing)
    );
    assert_eq!(
        table(&tables, "ann_score").values[1][1],
        Observation::Unscored(Interval {
            low: 0.0,
            high: 1.0
        })
    );
    assert_eq!(
        table(&tables, "length").values[1][1],
        Observation::Value(0.5)
    );
    assert_eq!(&*tables.cases[1].question, "question of 2");
    assert!(tables.words.is_none() && scores.samples.is_none());
}

#[test]
fn nan_of_compat_mode_is_unscored() {
    let score = of_scorer("match", vec![("f1", ComponentKind::Share, Some(f64::NAN))]);
    let observed = observe(&[run("r", &arcs(vec![answer("a", "1", score)]))]);
    assert_eq!(
        table(&observed, "f1").values[0],
        [Observation::Unscored(Interval {
            low: 0.0,
            high: 1.0
        })]
    );
}

#[test]
fn the_sums_of_the_lexical_baseline_have_names_of_their_own() {
    let lexical = Score {
        scorer: ScorerId::baseline("rubric"),
        ..simple_score(Some(0.5))
    };
    let tables = observe(&[run("lexical", &arcs(vec![answer("b", "1", lexical)]))]);
    let expected = [
        "lexical_score",
        "lexical_ann_score",
        "length",
        "expertise",
        "citations",
        "excerpts",
    ];
    assert_eq!(names(&tables), expected);
    assert_eq!(table(&tables, "citations").metric.scorer, "lexical_rubric");
}

#[test]
fn systems_of_one_name_are_distinguished_by_their_runs() {
    let scored = arcs(vec![
        answer("same", "1", simple_score(Some(1.0))),
        answer("own", "1", simple_score(Some(1.0))),
    ]);
    let tables = observe(&[run("r", &scored), run("s", &scored[..1])]);
    assert_eq!(labels(&tables), ["r/same", "own", "s/same"]);
    assert_eq!(tables.systems[2].run, 1);
}

#[test]
fn cases_of_two_runs_are_joined_by_id_and_a_question_that_one_run_hides_comes_from_the_other() {
    let mut hidden = answer("a", "1", simple_score(Some(1.0)));
    hidden.case = Arc::new(scholareval_core::domain::TestCase::without_rubric(
        "1".into(),
        "",
    ));
    let (first, second) = (
        arcs(vec![hidden]),
        arcs(vec![
            answer("b", "2", simple_score(None)),
            answer("b", "1", simple_score(None)),
        ]),
    );
    let tables = observe(&[run("x", &first), run("y", &second)]);
    let cases: Vec<(&str, &str)> = tables
        .cases
        .iter()
        .map(|case| (case.case_id.as_str(), &*case.question))
        .collect();
    assert_eq!(cases, [("1", "question of 1"), ("2", "question of 2")]);
}

#[test]
fn words_stand_where_the_answers_do() {
    let scored = arcs(vec![
        answer("a", "1", simple_score(Some(1.0))),
        answer("b", "1", simple_score(Some(1.0))),
    ]);
    let words = HashMap::from([
        (("b".into(), "1".into()), 120),
        (("b".into(), "unknown".into()), 3),
    ]);
    let tables = observe(&[RunAnswers {
        words,
        ..run("r", &scored)
    }]);
    assert_eq!(tables.words, Some(vec![vec![None], vec![Some(120.0)]]));
}

#[test]
fn the_policy_of_a_run_holds_for_means_and_the_bounds_stay() {
    // With 0 for its property, b's answer to case 2 has 0.4 * 0.5 = 0.2, at most 0.8; all others have 0.8.
    let scored = arcs(vec![
        answer("a", "1", simple_score(Some(1.0))),
        answer("a", "2", simple_score(Some(1.0))),
        answer("b", "1", simple_score(Some(1.0))),
        answer("b", "2", simple_score(None)),
    ]);
    let of_b = |on_unscored: OnUnscored| {
        let observed = observe(&[RunAnswers {
            on_unscored,
            ..run("r", &scored)
        }]);
        let compared = compare(&observed, &ComparisonOptions::seeded(1));
        let metric = compared.metrics[0].clone();
        let mean_of_b = metric
            .systems
            .iter()
            .find(|mean_of_b| mean_of_b.label == "b")
            .cloned();
        (
            metric.cases.len(),
            mean_of_b.unwrap(),
            metric.pairs[0].clone(),
        )
    };
    let (cases, excluded, _) = of_b(OnUnscored::Exclude);
    assert_eq!((cases, excluded.own_cases, excluded.unscored), (1, 1, 1));
    assert!((excluded.mean.unwrap() - 0.8).abs() < 1e-12);
    let (cases, zero, pair) = of_b(OnUnscored::Zero);
    assert_eq!((cases, zero.own_cases, zero.unscored), (2, 2, 1));
    assert!((zero.mean.unwrap() - 0.5).abs() < 1e-12);
    assert_eq!(zero.bounds, excluded.bounds);
    // The difference is 0 with b's property met, and (0 + 0.6) / 2 as it counts.
    let bounds = pair.bounds.unwrap();
    assert!((pair.difference - 0.3).abs() < 1e-12);
    assert!(bounds.low.abs() < 1e-12 && (bounds.high - 0.3).abs() < 1e-12);
}

#[test]
fn aspects_have_a_mean_where_all_are_there_and_the_bounds_of_their_scale() {
    let aspects = |values: [Option<f64>; 2]| {
        of_scorer(
            "prometheus",
            vec![
                ("x", ComponentKind::Aspect, values[0]),
                ("y", ComponentKind::Aspect, values[1]),
            ],
        )
    };
    let only_x = of_scorer("prometheus", vec![("x", ComponentKind::Aspect, Some(5.0))]);
    let scored = arcs(vec![
        answer("a", "1", aspects([Some(4.0), Some(2.0)])),
        answer("a", "2", aspects([Some(4.0), None])),
        answer("a", "3", only_x),
    ]);
    let tables = observe(&[run("r", &scored)]);
    assert_eq!(names(&tables), ["x", "y", "aspect_mean"]);
    // (4 + 2) / 2; (4 + 1) / 2 and (4 + 5) / 2; the mean of one aspect of two is another quantity.
    let expected = [
        Observation::Value(3.0),
        Observation::Unscored(Interval {
            low: 2.5,
            high: 4.5,
        }),
        Observation::NotApplicable,
    ];
    assert_eq!(table(&tables, "aspect_mean").values[0], expected);
    assert_eq!(
        table(&tables, "y").values[0][1],
        Observation::Unscored(Interval {
            low: 1.0,
            high: 5.0
        })
    );
    assert_eq!(table(&tables, "x").metric.unit, Unit::Grade);
}

#[test]
fn citation_f1_is_the_answers_own_and_counts_are_not_better_when_higher() {
    let entailment = of_scorer(
        "entailment",
        vec![
            ("citation_recall", ComponentKind::Share, Some(0.5)),
            ("citation_precision", ComponentKind::Share, Some(1.0)),
            ("citation_f1", ComponentKind::Share, Some(2.0 / 3.0)),
            ("sentences", ComponentKind::Count, Some(4.0)),
        ],
    );
    let tables = observe(&[run("r", &arcs(vec![answer("a", "1", entailment)]))]);
    assert_eq!(
        names(&tables),
        [
            "citation_recall",
            "citation_precision",
            "citation_f1_macro",
            "sentences"
        ]
    );
    assert!(table(&tables, "citation_f1_macro").metric.higher_is_better);
    assert!(!table(&tables, "sentences").metric.higher_is_better);
}

#[test]
fn each_sample_gives_the_score_it_would_have_made() {
    // length 0.5 and excerpts 0.5 counted or merged; a property (4 points, then 8) and its 4 snippets (2, then 6 counted).
    let mut evidence = component("p_evidence", ComponentKind::Evidence, 0.2, Some(0.75));
    evidence.text = "4 snippets".into();
    let parts = vec![
        component("length", ComponentKind::Length, 0.1, Some(0.5)),
        component("citations", ComponentKind::Citations, 0.1, Some(0.6)),
        component("excerpts", ComponentKind::Excerpts, 0.1, Some(0.5)),
        component("p", ComponentKind::Property, 0.5, Some(0.6)),
        evidence,
    ];
    let mut judged = answer("a", "1", score(parts));
    let values = [
        ("p", [4.0, 8.0]),
        ("p_evidence", [2.0, 6.0]),
        ("citations", [0.4, 0.8]),
    ];
    judged.members = values
        .map(|(item, samples)| (item.into(), vec![said("j", &samples.map(Some))]))
        .into();
    let tables = observe(&[run("r", &arcs(vec![judged]))]);
    let drawn = |name: &str| {
        table(&tables, name)
            .samples
            .clone()
            .map(|samples| samples[0][0][0].clone())
    };
    let close = |name: &str, expected: [f64; 2]| {
        let factors = drawn(name).unwrap_or_default();
        assert!(
            factors
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-12)
                && factors.len() == 2,
            "{name} {factors:?}"
        );
    };
    // 0.05 + 0.04 + 0.05 + 0.5 * 0.4 + 0.2 * 0.5 = 0.44; 0.05 + 0.08 + 0.05 + 0.5 * 0.8 + 0.2 * 1 = 0.78.
    close("score", [0.44, 0.78]);
    // 0.3 / 0.7 and 0.6 / 0.7
    close("ann_score", [3.0 / 7.0, 6.0 / 7.0]);
    close("citations", [0.4, 0.8]);
    assert_eq!((drawn("length"), drawn("excerpts")), (None, None));
}

#[test]
fn only_samples_that_give_the_whole_metric_count_and_a_closed_gate_stays_closed() {
    let parts = || {
        vec![
            component("p", ComponentKind::Property, 0.5, Some(0.4)),
            component("q", ComponentKind::Property, 0.25, Some(0.0)),
            component("q_evidence", ComponentKind::Evidence, 0.25, Some(0.0)),
        ]
    };
    let mut judged = answer("a", "1", score(parts()));
    judged.members = BTreeMap::from([
        (
            "p".into(),
            vec![
                said("j", &[Some(2.0), Some(6.0), Some(4.0)]),
                said("k", &[Some(4.0), None, None]),
            ],
        ),
        (
            "q".into(),
            vec![
                said("j", &[Some(0.0), None, Some(0.0)]),
                said("k", &[Some(0.0), Some(0.0), Some(0.0)]),
            ],
        ),
    ]);
    let once = answer("a", "2", score(parts()));
    let tables = observe(&[run("r", &arcs(vec![judged, once]))]);
    let samples = table(&tables, "score").samples.clone().expect("samples");
    // Judge j: 0.5 * 0.2, nothing, 0.5 * 0.4; judge k: 0.5 * 0.4. The other answer was not drawn.
    assert_eq!(
        samples,
        [[vec![vec![0.1, 0.2], vec![0.2]], vec![vec![], vec![]]]]
    );
}

/// Missing values by system of the metric `name`, and all cases, as a comparison counts them.
fn missing(runs: &[RunAnswers<'_>], name: &str) -> (Vec<usize>, usize) {
    let options = ComparisonOptions {
        resamples: 100,
        ..ComparisonOptions::seeded(1)
    };
    let comparison = compare(&observe(runs), &options);
    let metric = comparison
        .metrics
        .iter()
        .find(|metric| metric.metric.name == name)
        .expect("compared");
    let mut by_system: Vec<(usize, usize)> = metric
        .systems
        .iter()
        .map(|system_mean| (system_mean.system, system_mean.missing))
        .collect();
    by_system.sort_unstable();
    (
        by_system.into_iter().map(|(_, missing)| missing).collect(),
        metric.cases_in_all,
    )
}

fn unanswered(pairs: &[(&str, &str)]) -> Option<HashSet<(SystemName, CaseId)>> {
    Some(
        pairs
            .iter()
            .map(|(system, case)| ((*system).into(), (*case).into()))
            .collect(),
    )
}

#[test]
fn a_case_without_any_answer_is_missing_for_all() {
    let rubric = |system: &str, case: &str| answer(system, case, simple_score(Some(1.0)));
    // Of four cases a has 1 and 2, b has 2; without the run's list only those two are known.
    let scored = arcs(vec![rubric("a", "1"), rubric("a", "2"), rubric("b", "2")]);
    assert_eq!(missing(&[run("r", &scored)], "score"), (vec![0, 1], 2));
    let pairs = [("a", "3"), ("a", "4"), ("b", "1"), ("b", "3"), ("b", "4")];
    let listed = RunAnswers {
        unanswered: unanswered(&pairs),
        ..run("r", &scored)
    };
    assert_eq!(
        missing(std::slice::from_ref(&listed), "score"),
        (vec![2, 3], 4)
    );
    let tables = observe(std::slice::from_ref(&listed));
    let cases: Vec<&str> = tables
        .cases
        .iter()
        .map(|case| case.case_id.as_str())
        .collect();
    assert_eq!(cases, ["1", "2", "3", "4"]);
    // A slice holds some of the pairs only.
    let slice = RunAnswers {
        unanswered: unanswered(&[("b", "1"), ("a", "3")]),
        ..run("r", &scored)
    };
    assert_eq!(missing(&[slice], "score"), (vec![1, 1], 3));
    // A case of one run is not missing for another run's system; a run without a list misses what others answered.
    let other = arcs(vec![rubric("c", "1")]);
    let none = RunAnswers {
        unanswered: unanswered(&[]),
        ..run("s", &other)
    };
    assert_eq!(
        missing(&[listed.clone(), none], "score"),
        (vec![2, 3, 0], 4)
    );
    assert_eq!(
        missing(&[listed, run("s", &other)], "score"),
        (vec![2, 3, 1], 4)
    );
}

#[test]
fn a_metric_is_missing_unless_other_answers_show_that_the_case_does_not_have_it() {
    let share = |name: &str| of_scorer("match", vec![(name, ComponentKind::Share, Some(0.5))]);
    let scored = arcs(vec![
        answer("a", "1", share("x")),
        answer("a", "2", share("y")),
        answer("b", "2", share("y")),
    ]);
    let listed = RunAnswers {
        unanswered: unanswered(&[("a", "3"), ("b", "3"), ("b", "1")]),
        ..run("r", &scored)
    };
    // b has no x for case 1; case 2 has no x; case 3 may have it, so no gate passes by leaving it out.
    assert_eq!(missing(&[listed], "x"), (vec![1, 2], 2));
}

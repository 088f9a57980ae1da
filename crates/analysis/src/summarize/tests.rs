use super::*;
use crate::ASPECT_MEAN;
use crate::OnUnscored;
use crate::quantity::unit_range;
use crate::test_support::{answer, component, score, simple_score, summary_of};
use scholareval_core::domain::{Component, ComponentKind, Score};
use scholareval_stats::{Interval, mean, mean_interval};

const EXCLUDE: AggregateOptions = AggregateOptions {
    mode: Mode::Default,
    on_unscored: OnUnscored::Exclude,
    seed: 1,
    clip: false,
};
const ZERO: AggregateOptions = AggregateOptions {
    on_unscored: OnUnscored::Zero,
    ..EXCLUDE
};

/// Answers of one system to cases c0, c1, .. with these values of their one property; the score is
/// 4 * 0.1 * 0.5 + 0.6 * value = 0.2 + 0.6 * value.
fn answers(system: &str, values: &[Option<f64>]) -> Vec<ScoredAnswer> {
    let numbered = values.iter().enumerate();
    numbered
        .map(|(i, value)| answer(system, &format!("c{i}"), simple_score(*value)))
        .collect()
}

fn rubric(scored: &[ScoredAnswer], options: AggregateOptions) -> ScorerSummary {
    summary_of(scored, &[], options).scorers.remove(0)
}

fn row(scored: &[ScoredAnswer], options: AggregateOptions) -> SystemSummary {
    rubric(scored, options).rows.remove(0)
}

fn close(value: Option<f64>, expected: f64) {
    assert!(
        value.is_some_and(|value| (value - expected).abs() < 1e-12),
        "{value:?} is not {expected}"
    );
}

fn ends(bounds: Option<Interval>) -> (f64, f64) {
    bounds.map(|bounds| (bounds.low, bounds.high)).unwrap()
}

fn scored(
    system: &str,
    case: &str,
    scorer: &'static str,
    components: Vec<Component>,
) -> ScoredAnswer {
    let grades: Vec<f64> = components
        .iter()
        .filter_map(|component| component.value)
        .collect();
    answer(
        system,
        case,
        Score {
            scorer: scorer.into(),
            value: mean(&grades),
            components,
            ..Score::default()
        },
    )
}

fn grade(name: &str, value: Option<f64>) -> Component {
    component(name, ComponentKind::Aspect, 0.0, value)
}

fn share(name: &str, value: f64) -> Component {
    component(name, ComponentKind::Share, 0.0, Some(value))
}

#[test]
fn an_unscored_answer_is_left_out_of_the_score_and_counted() {
    let summary = summary_of(&answers("a", &[Some(1.0), Some(0.5), None]), &[], EXCLUDE);
    let row = &summary.scorers[0].rows[0];
    // (0.8 + 0.5) / 2
    close(row.metrics["score"].estimate, 0.65);
    assert_eq!(
        (row.metrics["score"].n, row.metrics["score"].unscored),
        (2, 1)
    );
    // the parts that could be judged still count: 3 values of length
    assert_eq!(
        (row.metrics["length"].n, row.metrics["length"].unscored),
        (3, 0)
    );
    assert_eq!((row.answers, row.unscored), (3, 1));
    assert_eq!(row.unscored_reasons[0].example, "no JSON object");
    close(Some(summary.unscored_share), 1.0 / 3.0);
}

#[test]
fn a_nan_that_compat_mode_let_pass_is_counted_and_left_out() {
    let row = row(&answers("a", &[Some(1.0), Some(f64::NAN)]), EXCLUDE);
    close(row.metrics["score"].estimate, 0.8);
    assert_eq!(
        (
            row.metrics["score"].n,
            row.metrics["score"].unscored,
            row.unscored
        ),
        (1, 1, 1)
    );
}

#[test]
fn bounds_put_0_and_1_for_each_missing_value() {
    let metrics = row(&answers("a", &[Some(1.0), None]), EXCLUDE).metrics;
    // scores 0.8 and 0.2..0.8; ann_score 1 and 0..1
    let (low, high) = ends(metrics["score"].bounds);
    close(Some(low), 0.5);
    close(Some(high), 0.8);
    let (low, high) = ends(metrics["ann_score"].bounds);
    close(Some(low), 0.5);
    close(Some(high), 1.0);
    assert_eq!(
        row(&answers("a", &[Some(1.0)]), EXCLUDE).metrics["score"].bounds,
        None
    );
}

#[test]
fn the_zero_policy_fills_the_component_and_counts_the_answer() {
    let row = row(&answers("a", &[Some(1.0), None]), ZERO);
    // (0.8 + 0.2) / 2; ann_score (1 + 0) / 2
    close(row.metrics["score"].estimate, 0.5);
    close(row.metrics["ann_score"].estimate, 0.5);
    assert_eq!((row.unscored, row.metrics["score"].n), (1, 2));
}

#[test]
fn the_zero_policy_fills_a_mean_of_components_too() {
    let expertise = |value| {
        score(vec![component(
            "expertise",
            ComponentKind::Expertise,
            1.0,
            value,
        )])
    };
    let scored = [
        answer("a", "c0", expertise(Some(0.8))),
        answer("a", "c1", expertise(None)),
    ];
    // (0.8 + 0) / 2 against 0.8
    close(row(&scored, ZERO).metrics["expertise"].estimate, 0.4);
    close(row(&scored, EXCLUDE).metrics["expertise"].estimate, 0.8);
    // nothing annotated: nothing to fill
    assert_eq!(row(&scored, ZERO).metrics["ann_score"], Metric::default());
}

#[test]
fn systems_are_ranked_over_the_cases_scored_for_all() {
    // a: mean over all cases (1 + 0 + 0) / 3, over c0 alone 1; b: only c0, 0.9
    let mut scored = answers("a", &[Some(1.0), Some(0.0), Some(0.0)]);
    scored.extend(answers("b", &[Some(0.9), None, None]));
    let rows = rubric(&scored, EXCLUDE).rows;
    let order: Vec<(&str, Option<usize>)> = rows
        .iter()
        .map(|row| (row.system.as_str(), row.rank))
        .collect();
    assert_eq!(order, [("a", Some(1)), ("b", Some(2))]);
    let shared = rows[0].metrics["score"].shared.unwrap();
    close(Some(shared.estimate), 0.8);
    assert_eq!(shared.n, 1);
    assert!(
        rows[0].metrics["score"].estimate < rows[1].metrics["score"].estimate,
        "b's own mean is the higher one"
    );
}

#[test]
fn equal_means_share_a_rank() {
    let mut scored = answers("b", &[Some(0.5)]);
    scored.extend(answers("a", &[Some(0.5)]));
    scored.extend(answers("c", &[Some(0.4)]));
    let ranks: Vec<_> = rubric(&scored, EXCLUDE)
        .rows
        .iter()
        .map(|row| row.rank)
        .collect();
    assert_eq!(ranks, [Some(1), Some(1), Some(3)]);
}

#[test]
fn a_system_without_any_score_comes_last_and_does_not_empty_the_comparison() {
    let mut scored = answers("a", &[None, None]);
    scored.extend(answers("b", &[Some(0.1), Some(0.2)]));
    let missing = [(SystemName::from("zz"), CaseId::from("c0"))];
    let summary = summary_of(&scored, &missing, EXCLUDE);
    let rows = &summary.scorers[0].rows;
    assert_eq!(
        rows[0].metrics["score"].shared.map(|shared| shared.n),
        Some(2)
    );
    assert_eq!(rows[0].system.as_str(), "b");
    assert_eq!((rows[1].rank, rows[2].rank), (None, None));
    assert_eq!((rows[2].answers, rows[2].missing), (0, 1));
    assert_eq!(summary.missing[0].case_id.as_str(), "c0");
}

#[test]
fn the_order_of_the_answers_does_not_change_the_summary() {
    let mut scored = answers("a", &[Some(0.1), Some(0.9), Some(0.4), None]);
    scored.extend(answers("b", &[Some(0.3), Some(0.2), Some(0.8), Some(0.7)]));
    let forward = summary_of(&scored, &[], EXCLUDE);
    scored.reverse();
    assert_eq!(forward, summary_of(&scored, &[], EXCLUDE));
}

#[test]
fn injections_and_notes_are_counted_and_listed() {
    let mut scored = answers("a", &[Some(1.0), Some(0.0)]);
    scored[1].injection = vec!["a forged tag".to_owned()];
    scored[0].score.notes = vec!["weights scaled".to_owned()];
    let summary = summary_of(&scored, &[], EXCLUDE);
    assert_eq!(summary.scorers[0].rows[0].injections, 1);
    assert_eq!(
        (
            summary.injections.len(),
            summary.injections[0].case_id.as_str()
        ),
        (1, "c1")
    );
    assert_eq!(
        summary.scorers[0].notes,
        [NoteCount {
            note: "weights scaled".to_owned(),
            answers: 1
        }]
    );
}

#[test]
fn a_lexical_score_is_never_called_score() {
    let mut scored = answers("a", &[Some(1.0)]);
    scored
        .iter_mut()
        .for_each(|answer| answer.score.scorer = ScorerId::baseline("rubric"));
    let metrics = row(&scored, EXCLUDE).metrics;
    assert!(
        metrics["lexical_score"].estimate.is_some() && metrics.contains_key("lexical_ann_score")
    );
    assert!(!metrics.contains_key("score") && !metrics.contains_key("ann_score"));
}

#[test]
fn nothing_scored_gives_no_rows_and_no_share() {
    let summary = summary_of(&[], &[], EXCLUDE);
    assert!(summary.scorers.is_empty() && summary.unscored_share == 0.0);
}

#[test]
fn a_metric_without_values_has_no_estimate() {
    let answers = [scored(
        "x",
        "1",
        "overlap",
        vec![component("match", ComponentKind::Share, 0.0, None)],
    )];
    let metric = row(&answers, EXCLUDE).metrics["match"];
    assert_eq!(
        (metric.estimate, metric.interval, metric.n, metric.unscored),
        (None, None, 0, 1)
    );
    let json = serde_json::to_value(metric).unwrap();
    assert!(json["estimate"].is_null() && json["low"].is_null());
    assert_eq!(json["bounds"], serde_json::json!({"low": 0.0, "high": 1.0}));
}

#[test]
fn every_scorer_has_its_columns_and_the_systems_one_order() {
    let words = |system, count| {
        scored(
            system,
            "c1",
            "overlap",
            vec![component("words", ComponentKind::Count, 0.0, Some(count))],
        )
    };
    let scored = [
        answer("worse", "c1", simple_score(Some(0.1))),
        answer("better", "c1", simple_score(Some(0.9))),
        words("worse", 7.0),
        words("better", 5.0),
        words("unjudged", 3.0),
    ];
    let summary = summary_of(&scored, &[], EXCLUDE);
    let overlap = summary.scorer("overlap").unwrap();
    let rows: Vec<_> = overlap
        .rows
        .iter()
        .map(|row| (row.system.as_str(), row.metrics["words"].estimate))
        .collect();
    assert_eq!(
        rows,
        [
            ("better", Some(5.0)),
            ("worse", Some(7.0)),
            ("unjudged", Some(3.0))
        ]
    );
    assert_eq!(
        summary.scorer("rubric").map(|rubric| rubric.rows.len()),
        Some(2)
    );
    assert_eq!(summary.unscored_share, 0.0);
    assert!(
        summary_of(&scored[2..], &[], EXCLUDE)
            .scorer("rubric")
            .is_none()
    );
}

#[test]
fn the_aspect_mean_is_the_mean_of_the_aspects_means() {
    let answers = [
        scored(
            "x",
            "1",
            "prometheus",
            vec![grade("coverage", Some(5.0)), grade("relevance", Some(1.0))],
        ),
        scored(
            "x",
            "2",
            "prometheus",
            vec![grade("coverage", None), grade("relevance", Some(4.0))],
        ),
    ];
    let row = row(&answers, EXCLUDE);
    let coverage = row.metrics["coverage"];
    assert_eq!(
        (coverage.estimate, coverage.n, coverage.unscored),
        (Some(5.0), 1, 1)
    );
    // one of two is missing: (5 + 1) / 2 to (5 + 5) / 2
    assert_eq!(ends(coverage.bounds), (3.0, 5.0));
    // (5 + 2.5) / 2; bounds (3 + 2.5) / 2 and (5 + 2.5) / 2
    let mean = row.metrics[ASPECT_MEAN];
    assert_eq!(
        (mean.estimate, ends(mean.bounds)),
        (Some(3.75), (2.75, 3.75))
    );
    assert_eq!((row.answers, row.unscored), (2, 1));
}

#[test]
fn an_aspect_without_a_grade_is_left_out_of_the_mean_and_undoes_it_in_compat() {
    let answers = [scored(
        "x",
        "1",
        "prometheus",
        vec![grade("coverage", None), grade("relevance", Some(4.0))],
    )];
    let of =
        |mode| row(&answers, AggregateOptions { mode, ..EXCLUDE }).metrics[ASPECT_MEAN].estimate;
    assert_eq!((of(Mode::Default), of(Mode::Compat)), (Some(4.0), None));
}

#[test]
fn a_net_share_at_its_ceiling_has_an_interval_within_the_range_of_its_rubric() {
    let perfect = |case: &str| {
        let criterion = |name: &str, weight: f64, value: f64| {
            component(name, ComponentKind::Criterion, weight, Some(value))
        };
        let components = vec![criterion("merit", 1.0, 1.0), criterion("fault", -0.5, 0.0)];
        answer("a", case, score(components))
    };
    let scored: Vec<ScoredAnswer> = (0..20)
        .map(|case| perfect(&format!("c{case:02}")))
        .collect();
    let summary = summary_of(&scored, &[], AggregateOptions::default());
    let metric = summary.scorers[0].rows[0].metrics["score"];
    let interval = metric.interval.unwrap();
    // The lower end of 20 of 20 is 0.81303 of the way from -0.5 to 1.
    let low = -0.5 + 1.5 * 0.81303;
    assert!((interval.low - low).abs() < 1e-4, "{interval:?}");
    assert_eq!((metric.estimate, interval.high), (Some(1.0), 1.0));
}

#[test]
fn a_missing_grade_that_counts_as_the_lowest_does_so_in_the_means_interval_too() {
    let answers = [
        scored(
            "x",
            "1",
            "prometheus",
            vec![grade("coverage", Some(5.0)), grade("relevance", Some(1.0))],
        ),
        scored(
            "x",
            "2",
            "prometheus",
            vec![grade("coverage", None), grade("relevance", Some(4.0))],
        ),
    ];
    let mean = row(&answers, ZERO).metrics[ASPECT_MEAN];
    // the mean of each answer (5 + 1) / 2 and (1 + 4) / 2
    assert_eq!(mean.estimate, Some(2.75));
    let of_values = mean_interval(
        &[3.0, 2.5],
        None,
        unit_range(Unit::Grade),
        BootstrapOptions::seeded(42),
    );
    assert_eq!(ends(mean.interval), ends(of_values));
}

#[test]
fn citation_f1_is_of_the_means_and_the_mean_of_the_answers_stands_behind_it() {
    let of = |case, p, r, f| {
        let parts = vec![
            share("citation_precision", p),
            share("citation_recall", r),
            share("citation_f1", f),
        ];
        scored("x", case, "entailment", parts)
    };
    let summary = rubric(
        &[of("1", 1.0, 0.5, 2.0 / 3.0), of("2", 0.0, 0.5, 0.0)],
        EXCLUDE,
    );
    let names: Vec<&str> = summary
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "citation_precision",
            "citation_recall",
            "citation_f1",
            "citation_f1_macro"
        ]
    );
    let estimate = |name: &str| summary.rows[0].metrics[name].estimate;
    // means 1/2 and 1/2; of the F1 of each answer: (2/3 + 0) / 2
    close(estimate("citation_f1"), 0.5);
    close(estimate("citation_f1_macro"), 1.0 / 3.0);
}

#[test]
fn systems_with_different_cases_have_means_over_those_that_all_have() {
    let share = |system, case, value| scored(system, case, "overlap", vec![share("match", value)]);
    let answers = [
        share("a", "1", 1.0),
        share("a", "2", 0.0),
        share("b", "2", 0.5),
        share("b", "3", 1.0),
    ];
    // only case 2 is of both
    let shared: Vec<_> = rubric(&answers, EXCLUDE)
        .rows
        .iter()
        .filter_map(|row| row.metrics["match"].shared)
        .collect();
    assert_eq!(
        shared,
        [
            SharedMean {
                estimate: 0.0,
                n: 1
            },
            SharedMean {
                estimate: 0.5,
                n: 1
            }
        ]
    );
}

#[test]
fn what_does_not_apply_is_no_value_and_not_unscored() {
    let count = |name| component(name, ComponentKind::Count, 0.0, Some(2.0));
    let answers = [
        scored(
            "x",
            "1",
            "citation_audit",
            vec![count("words"), count("dangling")],
        ),
        scored("x", "2", "citation_audit", vec![count("words")]),
    ];
    let row = row(&answers, EXCLUDE);
    let dangling = row.metrics["dangling"];
    assert_eq!(
        (dangling.n, dangling.unscored, dangling.bounds, row.unscored),
        (1, 0, None, 0)
    );
}

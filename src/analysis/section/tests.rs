use super::*;
use crate::analysis::made::{answer, component};
use crate::domain::{ComponentKind, Score, UnscoredReason};

fn section_of(
    scorer: &'static str,
    systems: &[(&SystemName, Vec<&ScoredAnswer>)],
    options: AggregateOptions,
) -> Section {
    let answers = systems.iter().flat_map(|(_, answers)| answers.iter().copied());
    Section::of(scorer, systems, &Questions::of(answers), options)
}

fn scored(system: &str, case: &str, scorer: &'static str, components: Vec<Component>) -> ScoredAnswer {
    let grades: Vec<f64> = components.iter().filter_map(|component| component.value).collect();
    answer(system, case, Score { scorer, value: mean(&grades), components, ..Score::default() })
}

fn section(scorer: &'static str, answers: &[ScoredAnswer]) -> Section {
    let system = SystemName::from("x");
    section_of(scorer, &[(&system, answers.iter().collect())], AggregateOptions::default())
}

#[test]
fn the_aspect_mean_is_the_mean_of_the_aspects_means() {
    let grade = |name, value| component(name, ComponentKind::Aspect, 0.0, value);
    let answers = [
        scored("x", "1", "prometheus", vec![grade("coverage", Some(5.0)), grade("relevance", Some(1.0))]),
        scored("x", "2", "prometheus", vec![grade("coverage", None), grade("relevance", Some(4.0))]),
    ];
    let section = section("prometheus", &answers);
    let metrics = &section.rows[0].metrics;
    assert_eq!((metrics[0].metric.estimate, metrics[0].metric.n, metrics[0].metric.unscored), (Some(5.0), 1, 1));
    // one of two is missing: (5 + 1) / 2 to (5 + 5) / 2
    assert_eq!(metrics[0].bounds, Some((3.0, 5.0)));
    // (5 + 2.5) / 2; bounds (3 + 2.5) / 2 and (5 + 2.5) / 2
    let mean = metrics[section.place(ASPECT_MEAN).unwrap()];
    assert_eq!((mean.metric.estimate, mean.bounds), (Some(3.75), Some((2.75, 3.75))));
    assert_eq!((section.rows[0].items, section.rows[0].unscored), (2, 1));
}

#[test]
fn an_aspect_without_a_grade_is_left_out_of_the_mean_and_undoes_it_in_compat() {
    let grade = |name, value| component(name, ComponentKind::Aspect, 0.0, value);
    let answers = [scored("x", "1", "prometheus", vec![grade("coverage", None), grade("relevance", Some(4.0))])];
    let system = SystemName::from("x");
    let of = |mode| {
        let options = AggregateOptions { mode, ..AggregateOptions::default() };
        let section = section_of("prometheus", &[(&system, answers.iter().collect())], options);
        section.rows[0].metrics[section.place(ASPECT_MEAN).unwrap()].metric.estimate
    };
    assert_eq!((of(Mode::Default), of(Mode::Compat)), (Some(4.0), None));
}

#[test]
fn a_missing_grade_that_counts_as_the_lowest_does_so_in_the_means_interval_too() {
    let grade = |name, value| component(name, ComponentKind::Aspect, 0.0, value);
    let answers = [
        scored("x", "1", "prometheus", vec![grade("coverage", Some(5.0)), grade("relevance", Some(1.0))]),
        scored("x", "2", "prometheus", vec![grade("coverage", None), grade("relevance", Some(4.0))]),
    ];
    let options = AggregateOptions { on_unscored: OnUnscored::Zero, ..AggregateOptions::default() };
    let system = SystemName::from("x");
    let section = section_of("prometheus", &[(&system, answers.iter().collect())], options);
    let mean = section.rows[0].metrics[section.place(ASPECT_MEAN).unwrap()].metric;
    // the answers' own means (5 + 1) / 2 and (1 + 4) / 2
    assert_eq!(mean.estimate, Some(2.75));
    let (low, high) = mean.interval.unwrap();
    assert!((2.5..=2.75).contains(&low) && (2.75..=3.0).contains(&high), "{low}..{high}");
}

#[test]
fn a_column_that_no_judge_has_the_role_for_is_blank_for_all() {
    let unjudged = |name| {
        let reason = UnscoredReason::new(UnscoredKind::NoJudge, "no judge has the role citation");
        Component { reason: Some(reason), ..component(name, ComponentKind::Share, 0.0, None) }
    };
    let recall = |value| component("citation_recall", ComponentKind::Share, 0.0, Some(value));
    // The second answer cites nothing: nobody is needed to tell that it has no support.
    let answers = [
        scored("x", "1", "entailment", vec![unjudged("citation_recall")]),
        scored("x", "2", "entailment", vec![recall(0.0)]),
    ];
    let row = &section("entailment", &answers).rows[0];
    assert_eq!((row.metrics[0].metric.estimate, row.metrics[0].bounds), (None, None));
    assert_eq!((row.unscored, row.unjudged), (1, 1));
}

#[test]
fn citation_f1_is_of_the_means_and_the_mean_of_the_answers_stands_beside_it() {
    let share = |name, value| component(name, ComponentKind::Share, 0.0, Some(value));
    let of = |case, p, r, f| {
        let parts = vec![share("citation_precision", p), share("citation_recall", r), share("citation_f1", f)];
        scored("x", case, "entailment", parts)
    };
    let section = section("entailment", &[of("1", 1.0, 0.5, 2.0 / 3.0), of("2", 0.0, 0.5, 0.0)]);
    let names: Vec<&str> = section.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["citation_precision", "citation_recall", "citation_f1", "citation_f1_macro"]);
    let estimate = |at: usize| section.rows[0].metrics[at].metric.estimate.unwrap();
    // means 1/2 and 1/2; the answers' own: (2/3 + 0) / 2
    assert!((estimate(2) - 0.5).abs() < 1e-12 && (estimate(3) - 1.0 / 3.0).abs() < 1e-12);
}

#[test]
fn systems_with_different_cases_are_also_told_over_those_that_all_have() {
    let share = |system, case, value| {
        scored(system, case, "overlap", vec![component("match", ComponentKind::Share, 0.0, Some(value))])
    };
    let (a, b) = ([share("a", "1", 1.0), share("a", "2", 0.0)], [share("b", "2", 0.5), share("b", "3", 1.0)]);
    let names = [SystemName::from("a"), SystemName::from("b")];
    let of = |second: &[ScoredAnswer]| {
        let systems = [(&names[0], a.iter().collect()), (&names[1], second.iter().collect::<Vec<_>>())];
        section_of("overlap", &systems, AggregateOptions::default())
    };
    let section = of(&b);
    // only case 2 is of both
    let shared: Vec<_> = section.rows.iter().map(|row| row.metrics[0].shared).collect();
    assert_eq!(shared, [Some((0.0, 1)), Some((0.5, 1))]);
    let same = [share("b", "1", 0.5), share("b", "2", 1.0)];
    assert_eq!(of(&same).rows[0].metrics[0].shared, None, "the means compare as they are");
}

#[test]
fn what_does_not_apply_is_no_value_and_not_unscored() {
    let count = |name| component(name, ComponentKind::Count, 0.0, Some(2.0));
    let answers = [
        scored("x", "1", "citation_audit", vec![count("words"), count("dangling")]),
        scored("x", "2", "citation_audit", vec![count("words")]),
    ];
    let section = section("citation_audit", &answers);
    let dangling = section.rows[0].metrics[1];
    assert_eq!((dangling.metric.n, dangling.metric.unscored, dangling.bounds), (1, 0, None));
    assert_eq!(section.rows[0].unscored, 0);
}

//! Statistics of small rubrics, by hand.

use super::*;
use crate::test_support::{answer_to, case, component, score};
use scholareval_core::domain::{MemberValues, Rating};

/// An answer with these criteria, all of weight 0.1.
fn answer(system: &str, case_id: &str, values: &[(&str, ComponentKind, f64)]) -> ScoredAnswer {
    let components = values
        .iter()
        .map(|(name, kind, value)| component(name, *kind, 0.1, Some(*value)));
    answer_to(
        system,
        case(case_id, &format!("why {case_id}?"), "A", false),
        score(components.collect()),
    )
}

fn of(answers: Vec<ScoredAnswer>, raters: &[Rater]) -> Criteria {
    let answers: Vec<Arc<ScoredAnswer>> = answers.into_iter().map(Arc::new).collect();
    criteria(&[&answers], raters)
}

#[track_caller]
fn row<'a>(criteria: &'a Criteria, name: &str) -> &'a CriterionStatistics {
    criteria
        .criteria
        .iter()
        .find(|row| row.name == name)
        .unwrap()
}

#[track_caller]
fn assert_close(ours: Option<f64>, expected: f64) {
    assert!(
        ours.is_some_and(|ours| (ours - expected).abs() < 1e-9),
        "{ours:?}, expected {expected}"
    );
}

use ComponentKind::{Aspect, Evidence, Expertise, Length, Property};

#[test]
fn criteria_with_equal_answers_come_first_and_the_group_pools_all() {
    let values = |last: f64| {
        [("i_3", last), ("i_2", 0.5), ("i_1", 1.0), ("i_0", 0.0)]
            .map(|(name, value)| (name, Property, value))
    };
    let criteria = of(
        vec![
            answer("a", "c", &values(0.2)),
            answer("b", "c", &values(0.8)),
        ],
        &[],
    );
    let names: Vec<_> = criteria
        .criteria
        .iter()
        .map(|row| (row.name.as_str(), row.finding))
        .collect();
    let expected = [
        ("i_0", Some(Finding::NeverMet)),
        ("i_1", Some(Finding::AlwaysMet)),
        ("i_2", Some(Finding::OneValue)),
        ("i_3", None),
        ("i", None),
    ];
    assert_eq!(names, expected);
    let group = row(&criteria, "i");
    assert_eq!(
        (group.group_of, group.answers, &group.case_id),
        (4, 8, &None)
    );
    // 0, 0, 1, 1, 0.5, 0.5, 0.2, 0.8; within criteria 2 * 0.3^2 over 8 - 4
    assert_close(group.mean, 0.5);
    assert_close(group.at_lowest, 0.25);
    assert_close(group.at_full, 0.25);
    assert_close(group.variance, 0.045);
    // 1 - 0.05^(1/2) = 0.776
    assert!(
        criteria.notes[0].text.contains("at most 2 answers")
            && criteria.notes[0].text.contains("78%"),
        "{criteria:?}"
    );
}

/// A fault (weight -0.5) of this value, beside a criterion that every answer meets; a judge that cannot assess the fault
/// leaves it without weight and value.
fn with_fault(system: &str, value: Option<f64>) -> ScoredAnswer {
    let weight = if value.is_some() { -0.5 } else { 0.0 };
    let components = vec![
        component("c_1", ComponentKind::Criterion, 1.0, Some(1.0)),
        component("c_2", ComponentKind::Criterion, weight, value),
    ];
    answer_to(system, case("c", "why?", "A", false), score(components))
}

#[test]
fn the_mean_of_a_fault_has_a_minus_sign_and_its_findings_name_it() {
    let of_all = |values: [Option<f64>; 2]| {
        let [first, second] = values;
        of(vec![with_fault("a", first), with_fault("b", second)], &[])
    };
    let never = of_all([Some(0.0), Some(0.0)]);
    let fault = row(&never, "c_2");
    assert_eq!(
        (fault.fault, fault.finding, fault.mean, fault.at_full),
        (true, Some(Finding::FaultNeverMet), Some(0.0), Some(1.0))
    );

    let always = of_all([Some(1.0), Some(1.0)]);
    let fault = row(&always, "c_2");
    assert_eq!(
        (fault.finding, fault.mean, fault.at_lowest),
        (Some(Finding::FaultAlwaysMet), Some(-1.0), Some(1.0))
    );

    let half = of_all([Some(0.0), Some(1.0)]);
    assert_close(row(&half, "c_2").mean, -0.5);
    assert_eq!(row(&half, "c_2").finding, None);
}

#[test]
fn an_answer_whose_fault_cannot_be_assessed_belongs_to_the_same_row() {
    let answers = [
        with_fault("a", None),
        with_fault("b", Some(1.0)),
        with_fault("d", Some(0.0)),
    ];
    let criteria = of(answers.to_vec(), &[]);
    let faults: Vec<_> = criteria.criteria.iter().filter(|row| row.fault).collect();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].answers, 2);
}

#[test]
fn a_group_of_faults_is_apart_from_the_other_criteria() {
    let answer = |case_id: &str, value| {
        let components = [("c_1", 1.0, 1.0), ("c_2", -1.0, value)].map(|(name, weight, value)| {
            component(name, ComponentKind::Criterion, weight, Some(value))
        });
        answer_to(
            "a",
            case(case_id, case_id, "A", false),
            score(components.to_vec()),
        )
    };
    let criteria = of(vec![answer("x", 1.0), answer("y", 0.0)], &[]);
    let groups = criteria.criteria.iter().filter(|row| row.group_of > 0);
    let means: Vec<_> = groups
        .map(|row| (row.fault, row.group_of, row.mean))
        .collect();
    assert_eq!(means, [(false, 2, Some(1.0)), (true, 2, Some(-0.5))]);
}

#[test]
fn one_answer_is_no_finding_and_has_no_variance() {
    let criteria = of(vec![answer("a", "c", &[("p", Property, 0.0)])], &[]);
    assert_eq!(
        (row(&criteria, "p").finding, row(&criteria, "p").variance),
        (None, None)
    );
}

#[test]
fn the_share_of_systems_is_epsilon_squared_within_questions() {
    let length = |value| [("length", Length, value)];
    let answers = [
        ("a", "c1", 0.6),
        ("b", "c1", 0.2),
        ("a", "c2", 0.8),
        ("b", "c2", 0.0),
    ];
    let criteria = of(
        answers
            .map(|(system, case, value)| answer(system, case, &length(value)))
            .to_vec(),
        &[],
    );
    // Deviations 0.2, -0.2, 0.4, -0.4: total 0.4; between 2 * 0.6^2 / 2 = 0.36; rest 0.04 over 2 - 1: (0.36 - 0.04) / 0.4
    assert_close(row(&criteria, "length").system_share, 0.8);
    assert_close(row(&criteria, "length").variance, 0.2);
}

#[test]
fn grades_count_as_shares_of_their_scale() {
    let graded = |system, grade| answer(system, "c", &[("coverage", Aspect, grade)]);
    // (2 - 1) / 4 and (5 - 1) / 4
    assert_close(
        row(
            &of(vec![graded("a", 2.0), graded("b", 5.0)], &[]),
            "coverage",
        )
        .mean,
        0.625,
    );
}

#[test]
fn the_rest_of_the_score_is_without_the_own_snippets_and_a_reversed_criterion_is_found() {
    // x rises and y falls, with one exchange of neighbors: 12 ranks with a sum of squared differences of 2 from the
    // reverse order, so r = -(1 - 6 * 2 / (12 * 143)).
    let answers = (0..12_u32).map(|at| {
        let (x, y) = (
            f64::from(at) / 20.0,
            f64::from(11 - if at < 2 { 1 - at } else { at }) / 20.0,
        );
        answer(
            &format!("s{at:02}"),
            "c",
            &[
                ("p_0", Property, x),
                ("p_0_evidence", Evidence, x),
                ("q", Property, y),
            ],
        )
    });
    let criteria = of(answers.collect(), &[]);
    let criterion = row(&criteria, "p_0");
    assert_close(criterion.item_rest.estimate, -(1.0 - 12.0 / 1716.0));
    assert_eq!(criterion.finding, Some(Finding::Reversed), "{criterion:?}");
}

#[test]
fn correlations_are_within_questions() {
    // Within each of two questions both rise together; between them one falls while the other rises.
    let answers = (0..10_u32).map(|at| {
        let (base, shift) = (f64::from(at % 5) / 10.0, f64::from(at / 5) * 0.4);
        let case = format!("c{}", at / 5);
        answer(
            &format!("s{}", at % 5),
            &case,
            &[
                ("expertise", Expertise, base + shift),
                ("p", Property, base + 0.4 - shift),
            ],
        )
    });
    let criteria = of(answers.collect(), &[]);
    assert_close(row(&criteria, "expertise").item_rest.estimate, 1.0);
    assert_eq!(
        row(&criteria, "expertise").item_rest.interval(),
        None,
        "two questions are too few"
    );
}

#[test]
fn a_judge_whose_samples_differ_as_much_as_the_answers_is_noisy() {
    let sampled = |system: &str, samples: [f64; 2]| {
        let mut answer = answer(
            system,
            "c",
            &[("expertise", Expertise, (samples[0] + samples[1]) / 20.0)],
        );
        let samples = samples.map(Some).to_vec();
        let member = MemberValues {
            stops_early: false,
            judge: "m".into(),
            value: None,
            samples,
            spread: None,
        };
        answer.members.insert("expertise".into(), vec![member]);
        answer
    };
    let criteria_with = |last| of(vec![sampled("a", [4.0, 6.0]), sampled("b", last)], &[]);
    let (near, far) = (criteria_with([5.0, 7.0]), criteria_with([8.0, 10.0]));
    // Samples 0.4, 0.6 and 0.5, 0.7: variance 0.02 each, 0.01 of a mean of two. The answers 0.5 and 0.6 vary by 0.005.
    assert_close(row(&near, "expertise").noise, 0.02_f64.sqrt());
    assert_eq!(row(&near, "expertise").finding, Some(Finding::Noisy));
    // 0.5 and 0.9 vary by 0.08.
    assert_close(row(&far, "expertise").reliability, 1.0 - 0.01 / 0.08);
    assert_eq!(row(&far, "expertise").finding, None);
}

#[test]
fn labels_of_people_are_averaged_and_those_of_judges_ignored() {
    let systems: Vec<String> = (0..10).map(|at| format!("s{at}")).collect();
    let answers = systems
        .iter()
        .enumerate()
        .map(|(at, system)| answer(system, "c", &[("p", Property, at as f64 / 10.0)]));
    let rater = |name: &str, kind, values: [f64; 10]| {
        let rating = |(system, value): (&String, f64)| Rating {
            system: system.as_str().into(),
            case_id: "c".into(),
            item: Some("p".into()),
            value,
        };
        Rater {
            ratings: systems.iter().zip(values).map(rating).collect(),
            ..Rater::new(name, kind)
        }
    };
    let ann = rater(
        "ann",
        RaterKind::Human,
        [1.0, 0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
    );
    let bob = rater(
        "bob",
        RaterKind::Human,
        [1.0, 0.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
    );
    let judge = rater(
        "model",
        RaterKind::Judge,
        [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0],
    );
    let criteria = of(answers.collect(), &[ann, bob, judge]);
    // One of 45 pairs is discordant: (44 - 1) / 45
    assert_eq!(row(&criteria, "p").labels, 10);
    assert_close(row(&criteria, "p").people.estimate, 43.0 / 45.0);
}

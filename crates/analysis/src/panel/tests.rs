//! Tests of `panel_agreement`.

use super::*;
use crate::test_support::{answer, component, simple_score};

fn agreed(scored: &[ScoredAnswer]) -> (Vec<PanelAgreement>, Vec<SampleNoise>) {
    panel_agreement(scored, &Questions::of(scored.iter()), 0.95)
}

fn said(judge: &str, samples: &[Option<f64>]) -> MemberValues {
    let readable: Vec<f64> = samples.iter().flatten().copied().collect();
    let value = if let [only] = readable[..] {
        Some(only)
    } else {
        mean(&readable)
    };
    MemberValues {
        stops_early: false,
        judge: judge.into(),
        value,
        samples: samples.to_vec(),
        spread: sd(&readable),
    }
}

/// An answer of one judged item, with one sample of each judge `a`, `b`, ..
fn judged(
    system: &str,
    case: &str,
    score: Score,
    item: &str,
    values: &[Option<f64>],
) -> ScoredAnswer {
    let mut scored = answer(system, case, score);
    let members = ["a", "b", "c"]
        .iter()
        .zip(values)
        .map(|(judge, value)| said(judge, &[*value]))
        .collect();
    scored.members.insert(item.into(), members);
    scored
}

fn grades(names: &[&str]) -> Score {
    let components = names
        .iter()
        .map(|name| component(name, ComponentKind::Aspect, 0.0, Some(3.0)))
        .collect();
    Score {
        scorer: "prometheus".into(),
        components,
        ..Score::default()
    }
}

/// Grades of coverage by a panel, one answer a case: (a, b, ..).
fn coverage(rows: &[&[Option<f64>]]) -> Vec<ScoredAnswer> {
    let answer_of_row = |(at, row): (usize, &&[Option<f64>])| {
        judged(
            "s",
            &format!("c{at}"),
            grades(&["coverage"]),
            "coverage",
            row,
        )
    };
    rows.iter().enumerate().map(answer_of_row).collect()
}

fn close(value: Option<f64>, expected: f64) {
    assert!(
        value.is_some_and(|value| (value - expected).abs() < 1e-12),
        "{value:?} is not {expected}"
    );
}

#[test]
fn two_judges_of_an_aspect_by_hand() {
    let rows: [&[Option<f64>]; 4] = [
        &[Some(1.0), Some(2.0)],
        &[Some(2.0), Some(2.0)],
        &[Some(4.0), Some(5.0)],
        &[Some(5.0), Some(5.0)],
    ];
    let (panels, noise) = agreed(&coverage(&rows));
    assert!(noise.is_empty());
    let panel = &panels[0];
    assert_eq!(
        (
            panel.scorer.as_str(),
            panel.group.name.as_str(),
            panel.group.scale
        ),
        ("prometheus", "coverage", Scale::Grade)
    );
    assert_eq!(
        (
            panel.units,
            panel.pairable,
            panel.judged_by_all,
            panel.cases
        ),
        (4, 4, 4, 4)
    );
    let judges: Vec<_> = panel
        .judges
        .iter()
        .map(|judge| (&*judge.judge, judge.rated, judge.mean))
        .collect();
    // (1 + 2 + 4 + 5) / 4 and (2 + 2 + 5 + 5) / 4
    assert_eq!(judges, [("a", 4, Some(3.0)), ("b", 4, Some(3.5))]);
    // Ordinal: ratings 1 2 2 2 4 5 5 5 have the mean ranks 0.5, 2.5, 4.5, 6.5 (counted from 0), mean 4.
    // Expected: 2 * 8 * (3.5^2 + 3 * 1.5^2 + 0.5^2 + 3 * 2.5^2) / 7 = 16 * 38 / 7; observed: two units with two
    // ordered pairs of distance 2^2 each: 16.
    close(panel.alpha.estimate, 1.0 - 16.0 / (16.0 * 38.0 / 7.0));
    // Quadratic: observed (1 + 0 + 1 + 0) / 4 = 0.5; expected: the mean of (x - y)^2 over all 16 combinations:
    // x=1: 1 1 16 16 = 34; x=2: 0 0 9 9 = 18; x=4: 4 4 1 1 = 10; x=5: 9 9 0 0 = 18; 80 / 16 = 5.
    close(panel.kappa.estimate, 1.0 - 0.5 / 5.0);
    let interval = panel.alpha.interval().unwrap();
    assert!(interval.low < interval.high && interval.high <= 1.0);
}

#[test]
fn alpha_takes_means_of_samples_as_they_are_and_kappa_rounds_them() {
    let score = || simple_score(Some(0.5));
    let item = "most_important_item_0";
    let rows = [("c0", 2.4, 2.0), ("c1", 6.6, 7.0), ("c2", 4.0, 4.0)];
    let scored = rows.map(|(case, a, b)| judged("s", case, score(), item, &[Some(a), Some(b)]));
    let (panels, _) = agreed(&scored);
    assert_eq!(
        (panels[0].group.name.as_str(), panels[0].group.scale),
        ("points", Scale::Points)
    );
    // 2, 7, 4 against 2, 7, 4
    close(panels[0].kappa.estimate, 1.0);
    // Observed: 2 * 0.4^2 + 2 * 0.4^2 = 0.64. Sum of the six 26, of their squares 5.76 + 4 + 43.56 + 49 + 32 = 134.32;
    // expected: 2 * (6 * 134.32 - 26^2) / 5 = 2 * 129.92 / 5.
    close(panels[0].alpha.estimate, 1.0 - 0.64 / (2.0 * 129.92 / 5.0));
}

#[test]
fn points_of_criteria_and_expertise_stand_together_and_groups_in_the_order_of_the_score() {
    let mut scored = answer("s", "c", simple_score(Some(0.5)));
    scored.score.components.push(component(
        "p_evidence",
        ComponentKind::Evidence,
        0.0,
        Some(0.5),
    ));
    for item in [
        "citations",
        "expertise",
        "p_evidence",
        "most_important_item_0",
        "most_important_item_0#1",
    ] {
        scored.members.insert(
            item.into(),
            vec![said("a", &[Some(1.0)]), said("b", &[Some(0.0)])],
        );
    }
    let mut aspects = answer("s", "c", grades(&["relevance", "coverage"]));
    for item in ["coverage", "relevance"] {
        aspects.members.insert(
            item.into(),
            vec![said("a", &[Some(1.0)]), said("b", &[Some(2.0)])],
        );
    }
    let recall = component("citation_recall", ComponentKind::Share, 0.0, Some(1.0));
    let entailment = Score {
        scorer: "entailment".into(),
        components: vec![recall],
        ..Score::default()
    };
    let cited = judged("s", "c", entailment, "s1[0]", &[Some(1.0), Some(0.0)]);
    let (panels, _) = agreed(&[scored, aspects, cited]);
    let counts: Vec<_> = panels
        .iter()
        .map(|panel| {
            (
                panel.scorer.as_str(),
                panel.group.name.as_str(),
                panel.group.scale,
                panel.units,
            )
        })
        .collect();
    assert_eq!(
        counts,
        [
            ("rubric", "points", Scale::Points, 3),
            ("rubric", "evidence", Scale::Count, 1),
            ("rubric", "claims", Scale::Share, 1),
            ("prometheus", "relevance", Scale::Grade, 1),
            ("prometheus", "coverage", Scale::Grade, 1),
            ("entailment", "labels", Scale::Label, 1),
        ]
    );
    // One case carries no information on the choice of cases.
    assert!(
        panels
            .iter()
            .all(|panel| panel.cases == 1 && panel.alpha.low.is_none())
    );
}

#[test]
fn a_judge_without_a_rating_is_missing_and_means_are_over_what_all_judged() {
    let rows: [&[Option<f64>]; 4] = [
        &[Some(1.0), Some(2.0), Some(1.0)],
        &[Some(5.0), Some(5.0), None],
        &[Some(3.0), None, None],
        &[Some(4.0), Some(f64::NAN), Some(3.0)],
    ];
    let (panels, _) = agreed(&coverage(&rows));
    let panel = &panels[0];
    // Two ratings or more: the first, the second, the fourth. All three: the first alone.
    assert_eq!(
        (
            panel.units,
            panel.pairable,
            panel.judged_by_all,
            panel.cases
        ),
        (4, 3, 1, 3)
    );
    let judges: Vec<_> = panel
        .judges
        .iter()
        .map(|judge| (judge.rated, judge.mean))
        .collect();
    assert_eq!(judges, [(4, Some(1.0)), (2, Some(2.0)), (2, Some(1.0))]);
    // b and c share one unit, where they differ (2 and 1): every pair has a kappa.
}

#[test]
fn judges_who_never_vary_have_no_agreement_and_judges_who_never_meet_neither() {
    let same: [&[Option<f64>]; 2] = [&[Some(4.0), Some(4.0)], &[Some(4.0), Some(4.0)]];
    let apart: [&[Option<f64>]; 2] = [&[Some(4.0), None], &[None, Some(2.0)]];
    for (rows, pairable) in [(same, 2), (apart, 0)] {
        let (panels, _) = agreed(&coverage(&rows));
        assert_eq!(
            (panels[0].alpha.estimate, panels[0].kappa.estimate),
            (None, None)
        );
        assert_eq!((panels[0].pairable, panels[0].cases), (pairable, pairable));
    }
    let json = serde_json::to_value(&agreed(&coverage(&apart)).0).unwrap();
    assert!(json[0]["alpha"]["estimate"].is_null() && json[0]["judges"][0]["mean"].is_null());
}

#[test]
fn numbers_too_large_to_square_are_no_agreement_and_never_infinite() {
    // Compat mode does not cap the number of snippets.
    let rows: [&[Option<f64>]; 2] = [&[Some(1e300), Some(-1e300)], &[Some(1.0), Some(2.0)]];
    let (panels, _) = agreed(&coverage(&rows));
    let numbers = [&panels[0].alpha, &panels[0].kappa].map(|of| [of.estimate, of.low, of.high]);
    assert!(
        numbers
            .iter()
            .flatten()
            .all(|number| number.is_none_or(f64::is_finite))
    );
}

#[test]
fn the_order_of_answers_changes_nothing() {
    let grade = |at: u32, step: u32| Some(f64::from(1 + at * step % 5));
    let rows: Vec<[Option<f64>; 2]> = (0..30)
        .map(|at| [grade(at, 7), grade(at + at / 9, 7)])
        .collect();
    let mut scored = coverage(&rows.iter().map(|row| row.as_slice()).collect::<Vec<_>>());
    let forth = agreed(&scored);
    scored.reverse();
    assert_eq!(forth, agreed(&scored));
}

#[test]
fn the_answers_to_one_case_are_drawn_together() {
    // Systems s and t got the same grades in each case: copies do not add evidence.
    // Fewer units that are each in another case would have another interval.
    let rows: Vec<[Option<f64>; 2]> = (0..120_u32)
        .map(|at| {
            [
                Some(f64::from(at % 5)),
                Some(f64::from((at + at * at % 3) % 5)),
            ]
        })
        .collect();
    let of = |system: &str| -> Vec<ScoredAnswer> {
        let answer_of_row = |(at, row): (usize, &[Option<f64>; 2])| {
            judged(
                system,
                &format!("c{at}"),
                grades(&["coverage"]),
                "coverage",
                row,
            )
        };
        rows.iter().enumerate().map(answer_of_row).collect()
    };
    let once = agreed(&of("s")).0.remove(0);
    let twice = agreed(&[of("s"), of("t")].concat()).0.remove(0);
    assert_eq!(
        (once.units, twice.units, once.cases, twice.cases),
        (120, 240, 120, 120)
    );
    let (once, twice) = (
        once.kappa.interval().unwrap(),
        twice.kappa.interval().unwrap(),
    );
    assert!(
        (once.low - twice.low).abs() < 1e-12 && (once.high - twice.high).abs() < 1e-12,
        "{once:?} {twice:?}"
    );
}

#[test]
fn noise_is_the_mean_spread_of_readable_samples_and_the_share_of_units_where_all_agree() {
    let mut scored = coverage(&[&[], &[], &[], &[]]);
    let samples: [&[Option<f64>]; 4] = [
        &[Some(1.0), Some(2.0), Some(3.0)],
        &[Some(4.0), None, Some(4.0)],
        &[None, Some(5.0), None],
        &[Some(3.0), Some(5.0), None],
    ];
    for (answer, samples) in scored.iter_mut().zip(samples) {
        answer.members.insert(
            "coverage".into(),
            vec![said("a", samples), said("b", &[Some(3.0)])],
        );
    }
    let (panels, noise) = agreed(&scored);
    assert_eq!(
        (panels.len(), noise.len()),
        (1, 1),
        "b was asked once: nothing is known of its noise"
    );
    let noise = &noise[0];
    assert_eq!((&*noise.judge, noise.samples, noise.units), ("a", 3, 3));
    // 1 2 3: 1; 4 4: 0; 3 5: the square root of (1 + 1) / 1; one readable sample: none
    close(noise.mean_sd, (1.0 + 2.0_f64.sqrt()) / 3.0);
    close(noise.all_equal, 1.0 / 3.0);
}

#[test]
fn one_judge_asked_twice_is_no_panel_and_one_judge_asked_once_is_nothing() {
    let mut scored = coverage(&[&[]]);
    scored[0]
        .members
        .insert("coverage".into(), vec![said("a", &[None, Some(1.0)])]);
    let (panels, noise) = agreed(&scored);
    assert!(panels.is_empty());
    assert_eq!(
        (
            noise[0].samples,
            noise[0].units,
            noise[0].mean_sd,
            noise[0].all_equal
        ),
        (2, 0, None, None)
    );
    let plain = [answer("s", "c", simple_score(Some(1.0)))];
    assert_eq!(agreed(&plain), (vec![], vec![]));
}

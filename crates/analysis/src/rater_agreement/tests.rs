use proptest::prelude::*;

use std::collections::HashMap;
use std::sync::Arc;

use super::*;
use scholareval_core::domain::{ComparedPair, Note, Preference, Rater, RaterKind, Rating, Unit};

const SYSTEMS: [&str; 4] = ["a", "b", "c", "d"];

fn options() -> AgreementOptions {
    AgreementOptions {
        resamples: 200,
        ..AgreementOptions::seeded(7)
    }
}

/// A rater of whole answers: a row a case, a column a system.
fn rater(name: &str, kind: RaterKind, rows: &[&[Option<f64>]]) -> Rater {
    let mut rater = Rater::new(name, kind);
    for (case, row) in rows.iter().enumerate() {
        for (system, value) in SYSTEMS.iter().zip(*row) {
            let rating = |value| Rating {
                system: (*system).into(),
                case_id: format!("c{case}").into(),
                item: None,
                value,
            };
            rater.ratings.extend(value.map(rating));
        }
    }
    rater
}

fn human(name: &str, rows: &[&[f64]]) -> Rater {
    of(name, RaterKind::Human, rows)
}

fn judge(name: &str, rows: &[&[f64]]) -> Rater {
    of(name, RaterKind::Judge, rows)
}

fn of(name: &str, kind: RaterKind, rows: &[&[f64]]) -> Rater {
    let rows: Vec<Vec<Option<f64>>> = rows
        .iter()
        .map(|row| row.iter().copied().map(Some).collect())
        .collect();
    rater(
        name,
        kind,
        &rows.iter().map(Vec::as_slice).collect::<Vec<_>>(),
    )
}

fn agree(raters: &[Rater], options: &AgreementOptions) -> RaterAgreement {
    rater_agreement(
        &Labeled {
            raters: raters.to_vec(),
            questions: HashMap::new(),
            ..Labeled::default()
        },
        options,
    )
}

fn close(estimate: &Estimate, expected: f64) {
    assert!(
        estimate
            .estimate
            .is_some_and(|value| (value - expected).abs() < 1e-12),
        "{estimate:?} is not {expected}"
    );
}

#[test]
fn agreement_on_pairs_is_counted_by_hand() {
    // c0: a>b for both. c1: tie, a>b. c2: a>b, b>a. c3: tie, tie.
    let first = human("x", &[&[2.0, 1.0], &[1.0, 1.0], &[3.0, 1.0], &[2.0, 2.0]]);
    let second = human("y", &[&[3.0, 1.0], &[2.0, 1.0], &[1.0, 2.0], &[1.0, 1.0]]);
    let agreement = agree(&[first, second], &options());
    let pairs = agreement.pairs[0].overall.comparisons.as_ref().unwrap();
    assert_eq!(
        (pairs.n, pairs.first_ties, pairs.second_ties, pairs.decided),
        (4, 2, 1, 2)
    );
    close(&pairs.strict, 2.0 / 4.0); // c0, c3
    close(&pairs.half_credit, 2.5 / 4.0); // and half of c1
    close(&pairs.decided_agreement, 1.0 / 2.0); // c0 of c0, c2
    // outcomes 1 0 1 0 and 1 1 -1 0, and each pair the other way round: 4/8 agree. The first has 2 4 2 of -1 0 1, the second
    // 3 2 3: by chance (2 * 3 + 4 * 2 + 2 * 3) / 64 = 5/16. (1/2 - 5/16) / (11/16) = 3/11
    close(&pairs.kappa, 3.0 / 11.0);
    assert!(agreement.pairs[0].tie_threshold.is_none());
}

#[test]
fn raw_agreement_ac1_and_shift_are_counted_by_hand() {
    // 40 answers to 40 cases: both 1 but for two, to which the judge alone gives 0, and one, to which the person does.
    let mut rows = vec![[1.0]; 40];
    (rows[3], rows[8]) = ([0.0], [0.0]);
    let judged: Vec<&[f64]> = rows.iter().map(|row| &row[..]).collect();
    let mut people = vec![[1.0]; 40];
    people[5] = [0.0];
    let people: Vec<&[f64]> = people.iter().map(|row| &row[..]).collect();
    let agreement = agree(&[judge("m", &judged), human("p", &people)], &options());
    let measures = &agreement.pairs[0].overall;
    close(&measures.raw_agreement, 37.0 / 40.0);
    // The share of ones over both is 77 / 80: chance agreement 2 * 77/80 * 3/80.
    let chance = 2.0 * 77.0 * 3.0 / 6400.0;
    close(&measures.ac1, (37.0 / 40.0 - chance) / (1.0 - chance));
    close(&measures.shift, -1.0 / 40.0);
    for estimate in [&measures.raw_agreement, &measures.ac1, &measures.shift] {
        let interval = estimate.interval().unwrap();
        assert!(interval.holds(estimate.estimate.unwrap()), "{estimate:?}");
    }
    let keys: Vec<&str> = measures.estimates().iter().map(|(key, ..)| *key).collect();
    for key in ["raw_agreement", "ac1", "shift"] {
        assert!(keys.contains(&key), "{keys:?}");
    }
}

#[test]
fn the_threshold_gives_a_judge_as_many_ties_as_the_person_has() {
    // The person ties two of four pairs; the judge's differences are 0.5, 0.125, -0.375, 0.25: up to 0.25 are two ties.
    let person = human("p", &[&[2.0, 1.0], &[1.0, 1.0], &[1.0, 2.0], &[2.0, 2.0]]);
    let model = judge(
        "m",
        &[&[0.75, 0.25], &[0.5, 0.375], &[0.25, 0.625], &[0.5, 0.25]],
    );
    let agreement = agree(&[person.clone(), model.clone()], &options());
    let threshold = agreement.pairs[0].tie_threshold.as_ref().unwrap();
    assert_eq!(
        (&*threshold.rater, threshold.value, threshold.chosen),
        ("m", 0.25, true)
    );
    // outcomes of the judge: 1, 0, -1, 0; of the person the same
    close(
        &agreement.pairs[0]
            .overall
            .comparisons
            .as_ref()
            .unwrap()
            .strict,
        1.0,
    );
    let given = agree(
        &[person, model],
        &AgreementOptions {
            tie_threshold: Some(0.0),
            ..options()
        },
    );
    // judge 1, 1, -1, 1: two of four
    close(
        &given.pairs[0].overall.comparisons.as_ref().unwrap().strict,
        0.5,
    );
    assert_eq!(
        given.pairs[0]
            .tie_threshold
            .as_ref()
            .map(|threshold| threshold.chosen),
        Some(false)
    );
}

#[test]
fn a_threshold_comes_as_near_to_the_wanted_ties_as_equal_differences_allow() {
    use super::comparisons::threshold_for;
    // sorted 0 0.1 0.1 0.1 0.4: thresholds 0, 0.1, 0.4 give 1, 4 and 5 ties
    let differences = vec![0.1, 0.4, 0.1, 0.0, 0.1];
    assert_eq!(
        [0, 1, 2, 3, 4, 5].map(|wanted| threshold_for(wanted, differences.clone())),
        [0.0, 0.0, 0.0, 0.1, 0.1, 0.4]
    );
    assert_eq!(threshold_for(3, Vec::new()), 0.0);
}

#[test]
fn a_missing_rating_is_missing_and_no_zero() {
    let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
    let rows = [some(&[1.0, 2.0]), vec![Some(3.0), None], some(&[4.0, 5.0])];
    let holes = rater(
        "h",
        RaterKind::Human,
        &rows.iter().map(Vec::as_slice).collect::<Vec<_>>(),
    );
    let whole = human("w", &[&[1.0, 2.0], &[3.0, 1.0], &[4.0, 5.0]]);
    let agreement = agree(&[holes, whole], &options());
    let overall = &agreement.pairs[0].overall;
    // 1 2 3 4 5 by both: the second 1 has no partner
    assert_eq!((overall.n, overall.questions), (5, 3));
    close(&overall.pearson, 1.0);
    close(&overall.kappa, 1.0);
    assert_eq!(overall.comparisons.as_ref().unwrap().n, 2);
    let group = &agreement.groups[0];
    assert_eq!((group.n, group.complete), (5, 5));
    close(&group.icc_2_1, 1.0);
}

#[test]
fn what_is_constant_is_undefined_and_says_who() {
    let flat = human("flat", &[&[2.0, 2.0], &[2.0, 2.0]]);
    let other = human("other", &[&[1.0, 2.0], &[2.0, 3.0]]);
    let agreement = agree(&[flat.clone(), other], &options());
    let overall = &agreement.pairs[0].overall;
    assert_eq!(overall.pearson.estimate, None);
    assert_eq!(
        overall.pearson.undefined.as_deref(),
        Some("flat gave all the same value")
    );
    // two who always say the same one value: no kappa, no alpha, no ICC either
    let both = agree(
        &[
            flat.clone(),
            Rater {
                name: "twin".into(),
                ..flat
            },
        ],
        &options(),
    );
    assert_eq!(
        both.pairs[0].overall.kappa.undefined.as_deref(),
        Some("flat gave all the same value")
    );
    assert_eq!(
        both.groups[0].alpha_ordinal.undefined.as_deref(),
        Some("all ratings are one value")
    );
    assert!(both.groups[0].icc_2_1.undefined.is_some());
    let json = serde_json::to_string(&both).unwrap();
    assert!(!json.contains("NaN"), "{json}");
}

#[test]
fn a_rater_with_ties_only_has_no_agreement_on_which_is_better() {
    let model = judge("m", &[&[0.75, 0.25], &[0.5, 0.375], &[0.25, 0.625]]);
    // one value throughout, and one value within each case: all pairs are ties
    for rows in [
        [[3.0, 3.0], [3.0, 3.0], [3.0, 3.0]],
        [[1.0, 1.0], [2.0, 2.0], [5.0, 5.0]],
    ] {
        let rows: Vec<&[f64]> = rows.iter().map(<[f64; 2]>::as_slice).collect();
        let agreement = agree(&[model.clone(), human("flat", &rows)], &options());
        let pair = &agreement.pairs[0];
        let pairs = pair.overall.comparisons.as_ref().unwrap();
        // no threshold can be learnt of it: the judge keeps its preferences
        assert_eq!((pairs.n, pairs.first_ties, pairs.second_ties), (3, 0, 3));
        assert!(pair.tie_threshold.is_none());
        for estimate in [
            &pairs.strict,
            &pairs.half_credit,
            &pairs.decided_agreement,
            &pairs.kappa,
        ] {
            assert_eq!(estimate.undefined.as_deref(), Some("no preference by flat"));
            assert_eq!((estimate.estimate, estimate.low), (None, None));
        }
    }
    // a threshold given that is above every difference of the judge
    let person = human("p", &[&[2.0, 1.0], &[1.0, 1.0], &[1.0, 2.0]]);
    let wide = AgreementOptions {
        tie_threshold: Some(9.0),
        ..options()
    };
    let agreement = agree(&[model, person.clone()], &wide);
    let pairs = agreement.pairs[0].overall.comparisons.as_ref().unwrap();
    assert_eq!(
        pairs.strict.undefined.as_deref(),
        Some("no preference by m")
    );
    let flat = human("flat", &[&[3.0, 3.0], &[3.0, 3.0], &[3.0, 3.0]]);
    let twins = agree(
        &[
            flat.clone(),
            Rater {
                name: "twin".into(),
                ..flat
            },
        ],
        &options(),
    );
    let pairs = twins.pairs[0].overall.comparisons.as_ref().unwrap();
    assert_eq!(
        pairs.strict.undefined.as_deref(),
        Some("no preference by flat and twin")
    );
}

#[test]
fn several_people_are_also_taken_as_their_mean() {
    let people = [
        human("x", &[&[1.0, 2.0], &[3.0, 4.0]]),
        human("y", &[&[3.0, 2.0], &[5.0, 4.0]]),
    ];
    let model = judge("m", &[&[2.0, 2.0], &[4.0, 4.5]]);
    let agreement = agree(&[people[0].clone(), people[1].clone(), model], &options());
    let names: Vec<(&str, &str)> = agreement
        .pairs
        .iter()
        .map(|pair| (&*pair.first, &*pair.second))
        .collect();
    assert_eq!(names, [("m", "humans"), ("m", "x"), ("m", "y"), ("x", "y")]);
    // means 2 2 4 4 against 2 2 4 4.5: the sum of products 4.5, squares 4 and 5.1875 around 3 and 3.125
    close(
        &agreement.pairs[0].overall.pearson,
        4.5 / (4.0_f64 * 5.1875).sqrt(),
    );
    let groups: Vec<&str> = agreement
        .groups
        .iter()
        .map(|group| group.name.as_str())
        .collect();
    assert_eq!(groups, ["all raters", "people"]);
}

#[test]
fn systems_are_ranked_by_both_over_what_both_rated() {
    let person = human("p", &[&[5.0, 1.0, 3.0], &[4.0, 2.0, 3.0]]);
    let model = judge("m", &[&[4.0, 1.0, 5.0], &[4.0, 2.0, 5.0]]);
    let agreement = agree(&[model, person], &options());
    let pair = &agreement.pairs[0];
    let ranking = pair.ranking.as_ref().unwrap();
    let rows: Vec<(&str, usize, usize)> = ranking
        .systems
        .iter()
        .map(|row| (row.system.as_str(), row.first_rank, row.second_rank))
        .collect();
    // person: a 4.5, c 3, b 1.5; judge: c 5, a 4, b 1.5
    assert_eq!(rows, [("a", 2, 1), ("c", 1, 2), ("b", 3, 3)]);
    assert!(
        ranking
            .kendall_tau_b
            .undefined
            .as_ref()
            .unwrap()
            .contains("at least 4 systems"),
        "{ranking:?}"
    );
    // with a fourth system that both have last, five of six pairs agree: (5 - 1) / 6
    let person = human("p", &[&[5.0, 1.0, 3.0, 0.0], &[4.0, 2.0, 3.0, 0.0]]);
    let model = judge("m", &[&[4.0, 1.0, 5.0, 0.0], &[4.0, 2.0, 5.0, 0.0]]);
    let agreement = agree(&[model, person], &options());
    close(
        &agreement.pairs[0].ranking.as_ref().unwrap().kendall_tau_b,
        4.0 / 6.0,
    );
}

/// Two people, `cases` cases of two systems; the person `y` is one off on every third.
fn two_people(cases: u32) -> [Rater; 2] {
    let row = |at: u32, off: f64| [f64::from(at % 5) + off, f64::from(at * 3 % 4)];
    let of = |name: &str, off: &dyn Fn(u32) -> f64| {
        let rows: Vec<[f64; 2]> = (0..cases).map(|at| row(at, off(at))).collect();
        human(
            name,
            &rows.iter().map(<[f64; 2]>::as_slice).collect::<Vec<_>>(),
        )
    };
    [
        of("x", &|_| 0.0),
        of("y", &|at| if at % 3 == 0 { 1.0 } else { 0.0 }),
    ]
}

#[test]
fn a_number_of_fewer_than_ten_units_stands_without_an_interval() {
    let few = |agreement: &RaterAgreement| {
        agreement
            .notes
            .iter()
            .any(|note| note.text.contains("at least 10 units"))
    };
    // 4 cases of two systems: 8 answers, 4 pairs
    let agreement = agree(&two_people(4), &options());
    let overall = &agreement.pairs[0].overall;
    let pairs = overall.comparisons.as_ref().unwrap();
    for estimate in [
        &overall.pearson,
        &overall.kendall_tau_b,
        &overall.kappa,
        &pairs.strict,
        &pairs.kappa,
    ] {
        assert!(estimate.estimate.is_some(), "{estimate:?}");
        assert_eq!((estimate.low, estimate.high), (None, None));
    }
    assert!(
        agreement.groups[0].alpha_ordinal.low.is_none()
            && agreement.groups[0].icc_2_1.low.is_none()
    );
    assert!(few(&agreement), "{:?}", agreement.notes);
    // 5 cases: 10 answers are enough, 5 pairs are not
    let agreement = agree(&two_people(5), &options());
    let overall = &agreement.pairs[0].overall;
    assert!(overall.pearson.low.is_some() && agreement.groups[0].icc_2_1.low.is_some());
    assert_eq!(overall.comparisons.as_ref().unwrap().strict.low, None);
    assert!(few(&agreement), "{:?}", agreement.notes);
    // 20 cases are enough for everything; two systems are few, but it is questions that are drawn
    let agreement = agree(&two_people(20), &options());
    assert!(
        agreement.pairs[0]
            .overall
            .comparisons
            .as_ref()
            .unwrap()
            .strict
            .low
            .is_some()
    );
    assert!(!few(&agreement), "{:?}", agreement.notes);
}

fn preferring(name: &str, outcomes: &[(&str, &str, Preference)]) -> Rater {
    let mut rater = Rater::new(name, RaterKind::Human);
    for (case, (a, b, preference)) in outcomes.iter().enumerate() {
        let case_id = format!("c{case}").into();
        let (a, b) = ((*a).into(), (*b).into());
        let preferring = ComparedPair::preferring(case_id, a, b, *preference);
        rater.preferences.extend(preferring);
    }
    rater
}

#[test]
fn preferences_are_compared_with_a_judges_ratings() {
    use Preference::{First, Second, Tie};
    let person = preferring(
        "p",
        &[
            ("a", "b", First),
            ("b", "a", First),
            ("a", "c", Tie),
            ("b", "c", Second),
        ],
    );
    // differences by the judge, in the order of names: c0 a-b 0.5, c1 a-b 0.5, c2 a-c 0, c3 b-c -0.25
    let model = judge(
        "m",
        &[
            &[0.75, 0.25, 0.0],
            &[0.75, 0.25, 0.0],
            &[0.5, 0.0, 0.5],
            &[0.0, 0.25, 0.5],
        ],
    );
    let agreement = agree(&[person, model], &options());
    let pair = &agreement.pairs[0];
    let pairs = pair.overall.comparisons.as_ref().unwrap();
    // c1 is opposite; the one tie of the person asks for one of the judge: threshold 0
    assert_eq!((pairs.n, pairs.first_ties, pairs.second_ties), (4, 1, 1));
    close(&pairs.strict, 3.0 / 4.0);
    assert_eq!(pair.overall.n, 0);
    let wins = pair.wins.as_ref().unwrap();
    let rates: Vec<(&str, usize, f64, f64)> = wins
        .systems
        .iter()
        .map(|row| (row.system.as_str(), row.n, row.first_mean, row.second_mean))
        .collect();
    // by the person c 1.5 of 2, a 1.5 of 3, b 1 of 3; by the judge c 1.5 of 2, a 2.5 of 3, b 0
    assert_eq!(
        rates,
        [
            ("c", 2, 0.75, 0.75),
            ("a", 3, 2.5 / 3.0, 0.5),
            ("b", 3, 0.0, 1.0 / 3.0)
        ]
    );
    assert!(
        wins.kendall_tau_b.undefined.is_some(),
        "three systems: {wins:?}"
    );
}

#[test]
fn two_peoples_preferences_have_alpha_and_kappa() {
    use Preference::{First, Second};
    let x = preferring(
        "x",
        &[("a", "b", First), ("a", "b", Second), ("a", "b", First)],
    );
    let y = preferring(
        "y",
        &[("a", "b", First), ("a", "b", Second), ("a", "b", Second)],
    );
    let agreement = agree(&[x, y], &options());
    // 4 of 6 agree, as each pair counts both ways, half of all outcomes are 1: (2/3 - 1/2) / (1/2) = 1/3
    close(
        &agreement.pairs[0]
            .overall
            .comparisons
            .as_ref()
            .unwrap()
            .kappa,
        1.0 / 3.0,
    );
    let group = agreement
        .groups
        .iter()
        .find(|group| group.of == "preferences")
        .unwrap();
    // twelve outcomes, six of each: D_o = 1/12 * 4, D_e = 1/132 * 72: 1 - (1/3) / (6/11) = 7/18
    close(&group.alpha_nominal, 7.0 / 18.0);
    assert_eq!((group.n, group.complete, group.questions), (3, 3, 3));
}

#[test]
fn a_judge_in_shares_and_a_person_in_grades_are_not_on_one_scale() {
    let person = human("p", &[&[1.0, 5.0], &[3.0, 4.0]]);
    let mut model = judge("m", &[&[0.0, 1.0], &[0.5, 0.75]]);
    model.units.insert(None, Unit::Share);
    let agreement = agree(&[person, model], &options());
    let overall = &agreement.pairs[0].overall;
    // 0 1 0.5 0.75 is (1 5 3 4) - 1 over 4: a perfect line
    close(&overall.pearson, 1.0);
    let why = "not on one scale: p is outside of 0..1, the scale of m";
    assert_eq!(overall.kappa.undefined.as_deref(), Some(why));
    assert!(
        agreement.groups[0]
            .icc_2_1
            .undefined
            .as_deref()
            .is_some_and(|reason| reason.starts_with("not on one scale"))
    );
}

#[test]
fn raters_who_used_different_parts_of_a_scale_are_on_one() {
    // Of the grades from 1 to 5 one used 1 and 2 only; and of 0 to 2, a scale that nobody knows, 0 and 1.
    for (least, unit) in [(1.0, Some(Unit::Grade)), (0.0, None)] {
        let person = human("p", &[&[least, least + 1.0], &[least + 2.0, least + 1.0]]);
        let mut model = judge("m", &[&[least, least + 1.0], &[least + 1.0, least + 1.0]]);
        model.units.extend(unit.map(|unit| (None, unit)));
        let agreement = agree(&[person, model], &options());
        // 3 of 4 agree; by chance 1/4 * 1/4 + 1/2 * 3/4 = 7/16: (3/4 - 7/16) / (9/16).
        close(&agreement.pairs[0].overall.kappa, 5.0 / 9.0);
        let mut notes = agreement.notes.iter();
        let note = notes.find(|note| note.text.starts_with("The scale of these ratings"));
        assert_eq!(note.is_some(), unit.is_none(), "{:?}", agreement.notes);
        assert!(note.is_none_or(|note| *note == Note::warning(&*note.text)));
    }
}

#[test]
fn items_on_several_scales_are_not_thrown_together() {
    let mut raters = [
        Rater::new("x", RaterKind::Human),
        Rater::new("y", RaterKind::Human),
    ];
    for (at, rater) in raters.iter_mut().enumerate() {
        for case in 0..4_u32 {
            for (item, value) in [
                ("grade", f64::from(1 + case)),
                ("share", f64::from(case) / 4.0),
            ] {
                let value = if at == 1 && item == "share" {
                    1.0 - value
                } else {
                    value
                };
                let case_id = format!("c{case}").into();
                rater.ratings.push(Rating {
                    system: "a".into(),
                    case_id,
                    item: Some(item.into()),
                    value,
                });
            }
        }
    }
    let agreement = agree(
        &raters,
        &AgreementOptions {
            level: AgreementLevel::Item,
            ..options()
        },
    );
    let pair = &agreement.pairs[0];
    assert_eq!(
        pair.overall.pearson.undefined.as_deref(),
        Some("items on several scales: see each item, or choose one with --metric")
    );
    close(&pair.items[0].measures.spearman, 1.0);
    close(&pair.items[1].measures.spearman, -1.0);
    let grade_only = AgreementOptions {
        level: AgreementLevel::Item,
        metric: Some("grade".to_owned()),
        ..options()
    };
    close(&agree(&raters, &grade_only).pairs[0].overall.pearson, 1.0);
}

#[test]
fn few_labels_and_many_verdicts_give_a_mean_on_the_human_scale() {
    // The judge is always 1 too mild; four labels, eight verdicts.
    let verdicts = [2.0, 4.0, 3.0, 5.0, 4.0, 5.0, 5.0, 4.0];
    let rows: Vec<[f64; 1]> = verdicts.iter().map(|value| [*value]).collect();
    let model = judge(
        "m",
        &rows.iter().map(<[f64; 1]>::as_slice).collect::<Vec<_>>(),
    );
    let person = human("p", &[&[1.0], &[3.0], &[2.0], &[4.0]]);
    let agreement = agree(&[model.clone(), person.clone()], &options());
    let mean = &agreement.powered[0];
    assert_eq!((mean.labeled, mean.unlabeled), (4, 4));
    close(&mean.labels_only, 2.5);
    // lambda = cov / ((1 + 4/4) var) with cov = 5/4 and var the n - 1 variance of all eight verdicts: sum of squares 8 around 4
    let lambda = 1.25 / (2.0 * (8.0 / 7.0));
    assert!((mean.lambda.unwrap() - lambda).abs() < 1e-12);
    // lambda * 4.5 + mean(y - lambda f) = 2.5 + lambda * (4.5 - 3.5)
    close(&mean.powered, 2.5 + lambda);
    let all = agree(
        &[
            model,
            human(
                "p",
                &rows.iter().map(<[f64; 1]>::as_slice).collect::<Vec<_>>(),
            ),
        ],
        &options(),
    );
    assert_eq!(
        all.powered[0].powered.undefined.as_deref(),
        Some("every answer that was judged has a label")
    );
    assert_eq!(
        all.powered_notes[0].text,
        "No prediction-powered mean of a: every answer that was judged has a label."
    );
}

#[test]
fn many_raters_leave_out_judges_by_two_and_say_so() {
    let rows: [&[f64]; 2] = [&[1.0, 2.0], &[2.0, 3.0]];
    let people = (0..5).map(|at| human(&format!("p{at}"), &rows));
    let raters: Vec<Rater> = people
        .chain((0..2).map(|at| judge(&format!("j{at}"), &rows)))
        .collect();
    let agreement = agree(&raters, &options());
    // two judges with five people and their mean, and ten pairs of people
    assert_eq!(agreement.pairs.len(), 2 * 6 + 10);
    assert!(
        agreement
            .notes
            .iter()
            .any(|note| note.text.contains("two judges are not compared")),
        "{:?}",
        agreement.notes
    );
    assert_eq!(agree(&raters[4..], &options()).pairs.len(), 3);
}

#[test]
fn cases_of_one_question_are_one_piece_of_evidence() {
    let rows: Vec<[f64; 2]> = (0..8)
        .map(|case| [f64::from(case * case % 5), f64::from(case * 3 % 7)])
        .collect();
    let rows: Vec<&[f64]> = rows.iter().map(<[f64; 2]>::as_slice).collect();
    let turned: Vec<&[f64]> = rows.iter().rev().copied().collect();
    let questions = (0..8)
        .map(|case| {
            (
                format!("c{case}").into(),
                Arc::from(format!("q{}", case / 2)),
            )
        })
        .collect();
    let raters = vec![human("x", &rows), human("y", &turned)];
    let agreement = rater_agreement(
        &Labeled {
            raters,
            questions,
            ..Labeled::default()
        },
        &options(),
    );
    assert_eq!(
        (
            agreement.pairs[0].overall.n,
            agreement.pairs[0].overall.questions
        ),
        (16, 4)
    );
    assert_eq!(agreement.groups[0].questions, 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_number_is_within_its_bounds_and_the_order_of_raters_does_not_matter(
        x in prop::collection::vec(prop::collection::vec(1..4_u8, 3), 2..7),
        y in prop::collection::vec(prop::collection::vec(1..4_u8, 3), 2..7),
    ) {
        let floats = |rows: &[Vec<u8>]| -> Vec<Vec<f64>> {
            rows.iter().map(|row| row.iter().copied().map(f64::from).collect()).collect()
        };
        let (x, y) = (floats(&x), floats(&y));
        let slices = |rows: &[Vec<f64>]| -> Rater {
            human("", &rows.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        let (x, y) = (Rater { name: "x".into(), ..slices(&x) }, Rater { name: "y".into(), ..slices(&y) });
        let few = AgreementOptions { resamples: 20, ..AgreementOptions::seeded(1) };
        let (forward, backward) = (agree(&[x.clone(), y.clone()], &few), agree(&[y, x], &few));
        let (forward, backward) = (&forward.pairs[0].overall, &backward.pairs[0].overall);
        let numbers = |of: &Measures| {
            let pairs = of.comparisons.as_ref().unwrap();
            let all = [&of.pearson, &of.spearman, &of.kendall_tau_b, &of.kappa, &of.quadratic_kappa, &pairs.kappa,
                       &pairs.strict, &pairs.half_credit, &pairs.decided_agreement];
            all.map(|estimate| estimate.estimate)
        };
        for (a, b) in numbers(forward).into_iter().zip(numbers(backward)) {
            prop_assert_eq!(a.is_some(), b.is_some());
            if let (Some(a), Some(b)) = (a, b) {
                prop_assert!((a - b).abs() < 1e-12 && (-1.0..=1.0 + 1e-12).contains(&a), "{} {}", a, b);
            }
        }
        let pairs = forward.comparisons.as_ref().unwrap();
        prop_assert!(pairs.strict.estimate <= pairs.half_credit.estimate);
    }
}

#[test]
fn a_rater_of_few_answers_is_not_in_the_mean_and_each_number_says_what_it_rests_on() {
    let rows: Vec<Vec<f64>> = (0..14).map(|at| vec![f64::from(at % 5), 1.0]).collect();
    let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    let few: Vec<&[f64]> = rows[..2].to_vec();
    let raters = [judge("j", &rows), human("ann", &rows), human("ben", &few)];
    let summary = agree(&raters, &options()).summary;
    // ann and ben share 2 cases of 2 answers; of ann and ben the judge shares 28 and 4 answers: 2 * 4 < 28.
    assert_eq!((summary[0].pairs, summary[0].kendall_tau_b.n), (1, Some(4)));
    let judge = &summary[1];
    assert_eq!((judge.pairs, judge.left_out), (1, 1));
    assert_eq!(judge.kendall_tau_b.n, Some(28));
    // Each case has one pair of answers.
    assert_eq!(judge.half_credit.n, Some(14));
    let notes = agree(&raters, &options()).notes;
    assert!(
        notes
            .iter()
            .any(|note| note.text.contains("1 pair of raters with fewer than half")),
        "{notes:?}"
    );
}

/// The measures of a judge with the people together.
fn with_people(judge: Rater, people: &[Rater]) -> Measures {
    let raters = [&[judge][..], people].concat();
    let agreement = agree(&raters, &options());
    let mut pairs = agreement.pairs.into_iter();
    pairs
        .find(|pair| &*pair.second == "humans")
        .unwrap()
        .overall
}

#[test]
fn people_who_say_yes_or_no_count_as_their_majority_without_splits() {
    let ann = human("ann", &[&[1.0, 0.0], &[1.0, 0.0], &[1.0, 0.0]]);
    let ben = human("ben", &[&[1.0, 0.0], &[0.0, 0.0], &[1.0, 1.0]]);
    let cem = human("cem", &[&[1.0, 0.0], &[1.0, 1.0], &[0.0, 0.0]]);
    // Means 1 0, 2/3 1/3, 2/3 1/3: the majority is the judge's value everywhere.
    let rows: [&[f64]; 3] = [&[1.0, 0.0], &[1.0, 0.0], &[1.0, 0.0]];
    let measures = with_people(judge("m", &rows), &[ann.clone(), ben.clone(), cem]);
    for estimate in [
        &measures.kappa,
        &measures.quadratic_kappa,
        &measures.ac1,
        &measures.raw_agreement,
    ] {
        close(estimate, 1.0);
    }
    assert_eq!(measures.most_frequent, Some(0.5));
    // The shift stays that of means: the judge's 1/2 - (1 + 0 + 2/3 + 1/3 + 2/3 + 1/3) / 6 = 0, and tau-b has ties of means.
    close(&measures.shift, 0.0);
    assert!(measures.kendall_tau_b.estimate.unwrap() < 1.0);
    // Ann and ben are split on the 3rd and the 6th answer: 4 are left, all alike.
    let split = with_people(judge("m", &rows), &[ann, ben]);
    close(&split.kappa, 1.0);
    assert_eq!(
        (split.n, split.kappa.n, split.ac1.n, split.raw_agreement.n),
        (6, Some(4), Some(4), Some(4))
    );
    let estimates = split.estimates();
    let kappa = estimates.iter().find(|(key, ..)| *key == "kappa").unwrap();
    assert_eq!(kappa.1[0], 4);
}

#[test]
fn labels_of_three_values_stay_means() {
    let ann = human("ann", &[&[1.0, 0.0], &[2.0, 0.0]]);
    let ben = human("ben", &[&[1.0, 0.0], &[1.0, 0.0]]);
    let measures = with_people(judge("m", &[&[1.0, 0.0], &[2.0, 0.0]]), &[ann, ben]);
    // 1 0 1.5 0 against 1 0 2 0: three of four are equal.
    close(&measures.raw_agreement, 3.0 / 4.0);
}

#[test]
fn a_judges_mean_of_an_item_counts_as_the_nearer_label_unless_its_scale_has_a_middle() {
    let of_items = |mut rater: Rater| {
        for rating in &mut rater.ratings {
            rating.item = Some("c".into());
        }
        rater
    };
    let ann = of_items(human("ann", &[&[1.0, 0.0], &[1.0, 0.0]]));
    let panel = of_items(judge("m", &[&[0.75, 0.25], &[0.5, 0.0]]));
    let level = |name: &str, value| (name.to_owned(), value);
    let mut levels = vec![level("unmet", 0.0), level("met", 1.0)];
    // 0.75 is 1 and 0.25 is 0; the judge is split on the third label. With a level between them these are other values.
    for (units, equal) in [(3, 1.0), (4, 1.0 / 4.0)] {
        let items = ann.ratings.iter().map(|rating| LabeledItem {
            system: rating.system.clone(),
            case_id: rating.case_id.clone(),
            item: "c".into(),
        });
        let labeled = Labeled {
            raters: vec![ann.clone(), panel.clone()],
            scales: vec![ItemScale {
                levels: levels.clone(),
                items: items.collect(),
            }],
            ..Labeled::default()
        };
        let at_items = AgreementOptions {
            level: AgreementLevel::Item,
            ..options()
        };
        let agreement = rater_agreement(&labeled, &at_items);
        let raw = &agreement.pairs[0].overall.raw_agreement;
        assert_eq!(raw.n, Some(units));
        close(raw, equal);
        levels.insert(1, level("partial", 0.5));
    }
}

#[test]
fn one_skewed_rater_is_skew_and_a_rater_of_one_value_has_no_kappa() {
    // Nine of ten labels are 1; of the judge's values six.
    let rows = |ones: u32| -> Vec<[f64; 1]> {
        (0..10)
            .map(|at| [if at < ones { 1.0 } else { 0.0 }])
            .collect()
    };
    let rater = |kind, ones| {
        let rows = rows(ones);
        let rows: Vec<&[f64]> = rows.iter().map(<[f64; 1]>::as_slice).collect();
        of(
            if kind == RaterKind::Judge { "m" } else { "p" },
            kind,
            &rows,
        )
    };
    let of = |ones| {
        let raters = [rater(RaterKind::Judge, 6), rater(RaterKind::Human, ones)];
        agree(&raters, &options()).pairs[0].overall.clone()
    };
    assert_eq!(of(9).most_frequent, Some(0.9));
    let constant = of(10);
    let reason = Some("p gave all the same value");
    assert_eq!(constant.kappa.undefined.as_deref(), reason);
    assert_eq!(constant.quadratic_kappa.undefined.as_deref(), reason);
    close(&constant.raw_agreement, 0.6);
    // The share of ones over both is 0.8: (0.6 - 2 * 0.8 * 0.2) / (1 - 0.32).
    close(&constant.ac1, 0.28 / 0.68);
}

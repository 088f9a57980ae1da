use super::*;
use crate::domain::Level;

fn shape(form: ReplyForm) -> ReplyShape {
    let level = |word: &str, credit| Level {
        also: Default::default(),
        level: word.into(),
        credit,
        means: String::new(),
    };
    let levels = vec![level("met", 1.0), level("not met", 0.0)];
    ReplyShape {
        form,
        key: "verdict".to_owned(),
        levels,
        abstain: "cannot assess".to_owned(),
        ..ReplyShape::default()
    }
}

/// The credits, or what is wrong.
fn read(text: &str, form: ReplyForm, count: usize) -> Result<Vec<Option<f64>>, String> {
    match verdicts(
        &JudgeReply::of_text(text),
        &shape(form),
        &vec![CaseCriterion::default(); count],
        Mode::Default,
    ) {
        Ok(all) => Ok(all.iter().map(|verdict| verdict.credit).collect()),
        Err(unreadable) => Err(unreadable.what),
    }
}

#[test]
fn verdicts_are_matched_by_number_each_exactly_once() {
    let of = |text: &str| read(text, ReplyForm::Object, 2);
    let entry = |number: u32, verdict: &str| {
        format!("{{\"criterion\": {number}, \"verdict\": \"{verdict}\"}}")
    };
    let both = |a: String, b: String| of(&format!("{{\"verdicts\": [{a}, {b}]}}"));
    assert_eq!(
        both(entry(2, "Met."), entry(1, "not_met")),
        Ok(vec![Some(0.0), Some(1.0)])
    );
    assert_eq!(
        both(entry(1, "cannot assess"), entry(2, "met")),
        Ok(vec![None, Some(1.0)])
    );
    assert_eq!(
        both(entry(1, "met"), entry(1, "met")).unwrap_err(),
        "criterion 1 has two verdicts"
    );
    assert_eq!(
        both(entry(1, "met"), entry(3, "met")).unwrap_err(),
        "a verdict is on criterion 3 of 2"
    );
    assert_eq!(
        of(&format!("{{\"verdicts\": [{}]}}", entry(1, "met"))).unwrap_err(),
        "criterion 2 of 2 has no verdict"
    );
    assert_eq!(
        both(entry(1, "met"), entry(2, "unmet")).unwrap_err(),
        "\"unmet\" is not a level of the scale"
    );
    assert_eq!(
        read("{\"verdict\": NaN}", ReplyForm::Object, 1).unwrap_err(),
        "\"NaN\" is not a level of the scale"
    );
}

#[test]
fn one_criterion_needs_no_number_and_lines_may_have_theirs() {
    assert_eq!(
        read("{\"verdict\": \"met\"}", ReplyForm::Object, 1),
        Ok(vec![Some(1.0)])
    );
    assert_eq!(
        read(
            "{\"verdict\": \"met\", \"quotes\": [\"a\"]}",
            ReplyForm::Object,
            1
        ),
        Ok(vec![Some(1.0)])
    );
    assert_eq!(
        read(
            "{\"criterion\": \"names it\", \"verdict\": \"met\"}",
            ReplyForm::Object,
            1
        ),
        Ok(vec![Some(1.0)])
    );
    assert_eq!(
        read("1. Met\n\n2) not met\n", ReplyForm::Lines, 2),
        Ok(vec![Some(1.0), Some(0.0)])
    );
    assert_eq!(
        read("2. met\n1. met", ReplyForm::Lines, 2).unwrap_err(),
        "line 1 is numbered 2"
    );
    assert_eq!(
        read("met", ReplyForm::Lines, 2).unwrap_err(),
        "1 lines for 2 criteria"
    );
}

#[test]
fn a_level_may_begin_with_a_number() {
    let levels = [0.5, 1.5, 2.5, 5.0].map(|level| Level {
        also: Default::default(),
        level: level.into(),
        credit: level / 5.0,
        means: String::new(),
    });
    let shape = ReplyShape {
        levels: levels.into(),
        ..shape(ReplyForm::Lines)
    };
    // 1.5 of whole numbers is not level 5 of the first criterion.
    let mut whole = shape.clone();
    whole.levels.retain(|level| level.level == 5.0);
    let criteria = vec![CaseCriterion::default()];
    let half = verdicts(
        &JudgeReply::of_text("1.5"),
        &whole,
        &criteria,
        Mode::Default,
    );
    assert!(half.is_err());
    let read = verdicts(
        &JudgeReply::of_text("0.5\n2.5\n3. 1.5"),
        &shape,
        &vec![CaseCriterion::default(); 3],
        Mode::Default,
    )
    .unwrap();
    let all = read;
    assert_eq!(
        all.iter().map(|verdict| verdict.credit).collect::<Vec<_>>(),
        [Some(0.1), Some(0.5), Some(0.3)]
    );
}

#[test]
fn a_continuous_scale_takes_numbers_between_its_ends_and_compat_any() {
    let level = |level: f64| Level {
        also: Default::default(),
        level: level.into(),
        credit: level / 10.0,
        means: String::new(),
    };
    let levels = vec![level(0.0), level(5.0), level(10.0)];
    let points = ReplyShape {
        key: "score".to_owned(),
        levels,
        continuous: true,
        ..ReplyShape::default()
    };
    let of = |score: &str, mode| match verdicts(
        &JudgeReply::of_text(score),
        &points,
        &[CaseCriterion::default()],
        mode,
    ) {
        Ok(all) => all[0].credit,
        _ => None,
    };
    for (score, default, compat) in [
        ("7.5", Some(0.75), Some(0.75)),
        ("10", Some(1.0), Some(1.0)),
        ("12", None, Some(1.2)),
    ] {
        let reply = format!("{{\"score\": {score}}}");
        assert_eq!(
            [Mode::Default, Mode::Compat].map(|mode| of(&reply, mode)),
            [default, compat],
            "{score}"
        );
    }
    let two = ReplyShape {
        second: "reference".to_owned(),
        ..points.clone()
    };
    let read = |text: &str, mode| {
        verdicts(
            &JudgeReply::of_text(text),
            &two,
            &[CaseCriterion::default()],
            mode,
        )
    };
    let Ok(both) = read("{\"score\": 6, \"reference\": \"8\"}", Mode::Default) else {
        panic!()
    };
    assert_eq!((both[0].credit, both[0].second), (Some(0.6), Some(0.8)));
    assert_eq!(
        read("{\"score\": 6}", Mode::Default).unwrap_err().what,
        "no \"reference\" in a verdict"
    );
}

/// The scale of ScholarQA-CS2 with its keys, or with other ones.
fn ingredients() -> ReplyShape {
    ReplyShape {
        list: Some(("scores".to_owned(), "criteria_idx".to_owned())),
        ..shape(ReplyForm::Object)
    }
}

/// The credits of two criteria in default mode, or what is wrong.
fn read_two(text: &str, shape: &ReplyShape) -> Result<Vec<Option<f64>>, String> {
    let criteria = vec![CaseCriterion::default(); 2];
    match verdicts(&JudgeReply::of_text(text), shape, &criteria, Mode::Default) {
        Ok(all) => Ok(all.iter().map(|verdict| verdict.credit).collect()),
        Err(unreadable) => {
            assert!(unreadable.ask_again, "{unreadable:?}");
            Err(unreadable.what)
        }
    }
}

#[test]
fn the_number_is_read_under_the_key_that_was_asked_for() {
    let both = r#"{"scores": [{"index": 2, "criteria_idx": 1, "verdict": "met"},
                              {"index": 1, "criteria_idx": 2, "verdict": "not met"}]}"#;
    let met = vec![Some(1.0), Some(0.0)];
    assert_eq!(read_two(both, &ingredients()), Ok(met.clone()));
    // Where no verdict has the key, another is as good.
    let other = both
        .replace("criteria_idx", "number")
        .replace("\"index\"", "\"place\"");
    assert_eq!(read_two(&other, &ingredients()), Ok(met));
    let some = both.replacen("criteria_idx", "at", 1);
    assert_eq!(
        read_two(&some, &ingredients()).unwrap_err(),
        "a verdict has no number of its criterion"
    );
    let two = both.replace("criteria_idx", "number");
    assert_eq!(
        read_two(&two, &ingredients()).unwrap_err(),
        "a verdict on criterion 2 has two numbers"
    );
}

#[test]
fn a_number_may_be_written_with_a_fraction_of_zero() {
    let of = |first: &str| {
        let text = format!(
            r#"{{"scores": [{{"criteria_idx": {first}, "verdict": "met"}}, {{"criteria_idx": 2, "verdict": "met"}}]}}"#
        );
        read_two(&text, &ingredients())
    };
    for number in ["1.0", "\"1\"", "\" 1.0\""] {
        assert_eq!(of(number), Ok(vec![Some(1.0); 2]), "{number}");
    }
    for number in ["1.5", "0", "true", "null"] {
        let what = of(number).unwrap_err();
        assert_eq!(what, format!("a verdict is on criterion {number} of 2"));
    }
}

#[test]
fn lists_of_verdicts_that_contradict_each_other_are_unreadable_and_equal_ones_are_one() {
    let list = |first: &str, second: &str| {
        format!(
            r#"[{{"criterion": 1, "verdict": "{first}"}}, {{"criterion": 2, "verdict": "{second}"}}]"#
        )
    };
    let of = |text: String| read_two(&text, &shape(ReplyForm::Object));
    let draft = list("met", "met");
    let last = list("met", "not met");
    assert_eq!(
        of(format!(r#"{{"draft": {draft}, "final": {last}}}"#)).unwrap_err(),
        "the reply has verdicts that contradict each other"
    );
    let both = Ok(vec![Some(1.0), Some(0.0)]);
    assert_eq!(of(format!(r#"{{"draft": {last}, "final": {last}}}"#)), both);
    // The key that was asked for, and lists of other things, leave no doubt.
    assert_eq!(
        of(format!(r#"{{"draft": {draft}, "verdicts": {last}}}"#)),
        both
    );
    assert_eq!(
        of(format!(
            r#"{{"quotes": ["a", {{"b": 1}}], "final": {last}}}"#
        )),
        both
    );
}

#[test]
fn one_criterion_has_its_verdict_in_the_object_or_in_a_list_that_agrees() {
    let of = |text: &str| read(text, ReplyForm::Object, 1);
    let agreeing = r#"{"verdict": "met", "verdicts": [{"criterion": 1, "verdict": "Met"}]}"#;
    assert_eq!(of(agreeing), Ok(vec![Some(1.0)]));
    let contradiction = agreeing.replace("Met", "not met");
    assert_eq!(
        of(&contradiction).unwrap_err(),
        "the reply has verdicts that contradict each other"
    );
}

#[test]
fn the_credit_of_a_number_lies_between_those_of_the_levels_around_it() {
    let level = |level: f64, credit| Level {
        also: Default::default(),
        level: level.into(),
        credit,
        means: String::new(),
    };
    let bent = ReplyShape {
        key: "score".to_owned(),
        levels: vec![level(0.0, 0.0), level(5.0, 0.9), level(10.0, 1.0)],
        continuous: true,
        ..ReplyShape::default()
    };
    let falling = ReplyShape {
        levels: bent.levels.iter().rev().cloned().collect(),
        ..bent.clone()
    };
    for (score, expected) in [
        ("0", Some(0.0)),
        // 2/5 of 0.9
        ("2", Some(0.36)),
        ("5", Some(0.9)),
        ("5.0", Some(0.9)),
        // 0.9 + 1/5 of 0.1
        ("6", Some(0.92)),
        ("10", Some(1.0)),
        ("10.5", None),
        ("-1", None),
    ] {
        for shape in [&bent, &falling] {
            let reply = JudgeReply::of_text(format!("{{\"score\": {score}}}"));
            let read = verdicts(&reply, shape, &[CaseCriterion::default()], Mode::Default);
            let credit = read.ok().and_then(|all| all[0].credit);
            let is_close = match (credit, expected) {
                (Some(credit), Some(expected)) => (credit - expected).abs() < 1e-15,
                (credit, expected) => credit == expected,
            };
            assert!(is_close, "{score}: {credit:?}, not {expected:?}");
        }
    }
}

#[test]
fn the_level_that_is_written_exactly_so_comes_before_one_of_another_form() {
    let level = |word: &str, credit| Level {
        also: Default::default(),
        level: word.into(),
        credit,
        means: String::new(),
    };
    // Profiles in files are refused with such levels; programs can make them.
    let twins = ReplyShape {
        levels: vec![level("Yes", 1.0), level("yes", 0.5), level("1", 0.0)],
        ..shape(ReplyForm::Lines)
    };
    let criteria = vec![CaseCriterion::default(); 3];
    let reply = JudgeReply::of_text("yes\nYES\n1.0");
    let read = verdicts(&reply, &twins, &criteria, Mode::Default).unwrap();
    let all = read;
    let credits: Vec<_> = all.iter().map(|verdict| verdict.credit).collect();
    assert_eq!(credits, [Some(0.5), Some(1.0), Some(0.0)]);
}

#[test]
fn true_is_the_number_1_in_compat_mode_where_levels_are_numbers() {
    let level = |number: f64| Level {
        also: Default::default(),
        level: number.into(),
        credit: number,
        means: String::new(),
    };
    let scores = ReplyShape {
        key: "score".to_owned(),
        levels: vec![level(1.0), level(0.5), level(0.0)],
        ..ReplyShape::default()
    };
    let of = |text: &str, mode| {
        let criteria = [CaseCriterion::default()];
        let read = verdicts(&JudgeReply::of_text(text), &scores, &criteria, mode);
        read.ok().and_then(|all| all[0].credit)
    };
    assert_eq!(of("{\"score\": true}", Mode::Compat), Some(1.0));
    assert_eq!(of("{\"score\": false}", Mode::Compat), Some(0.0));
    assert_eq!(of("{\"score\": true}", Mode::Default), None);
}

#[test]
fn race_needs_a_readable_score_in_every_dimension() {
    let level = |level: f64| Level {
        also: Default::default(),
        level: level.into(),
        credit: level / 10.0,
        means: String::new(),
    };
    let race = ReplyShape {
        key: "one".to_owned(),
        second: "two".to_owned(),
        levels: vec![level(0.0), level(10.0)],
        continuous: true,
        ..ReplyShape::default()
    };
    let criterion = |dimension: &str| CaseCriterion {
        tags: vec![dimension.to_owned()],
        ..CaseCriterion::default()
    };
    let criteria = [criterion("depth"), criterion("depth"), criterion("style")];
    let of = |text: &str| {
        let read = verdicts(&JudgeReply::of_text(text), &race, &criteria, Mode::Compat);
        read.map(|all| {
            all.iter()
                .map(|criterion| criterion.credit)
                .collect::<Vec<_>>()
        })
    };
    let partial =
        r#"{"verdicts": [{"criterion": 2, "one": 5, "two": 5}, {"criterion": 3, "one": "x"}]}"#;
    let unreadable = of(partial).unwrap_err();
    assert_eq!(
        (unreadable.what.as_str(), unreadable.ask_again),
        ("no readable score in style", true)
    );
    assert_eq!(
        of("{\"verdicts\": []}").unwrap_err().what,
        "no readable score in any dimension"
    );
    assert_eq!(
        of(&partial.replace("\"x\"", "true")).unwrap(),
        [None, Some(0.5), Some(0.1)]
    );
}

#[test]
fn a_verdict_that_stands_twice_is_unreadable_unless_both_are_equal() {
    let object = |text: &str| read(text, ReplyForm::Object, 1);
    let two = r#"{"verdict": "met", "verdict": "not met"}"#;
    assert_eq!(
        object(two),
        Err("verdict has two different values".to_owned())
    );
    let same = r#"{"explanation": "a", "verdict": "met", "explanation": "b", "verdict": "met"}"#;
    assert_eq!(object(same), Ok(vec![Some(1.0)]));
    let lists = r#"{"verdict": "met", "verdicts": [{"verdict": "met"}], "verdicts": [{"verdict": "not met"}]}"#;
    assert_eq!(
        object(lists),
        Err("what holds verdict has two different values".to_owned())
    );
}

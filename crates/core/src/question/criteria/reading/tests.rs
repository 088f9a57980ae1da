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

/// The scale of a form, with credits for a further metric.
fn scale(form: ReplyForm, levels: &[(Value, f64, f64)]) -> ReplyShape {
    let level = |(level, credit, strict): &(Value, f64, f64)| Level {
        level: level.clone(),
        credit: *credit,
        also: (*strict != 0.0)
            .then(|| ("strict".to_owned(), *strict))
            .into_iter()
            .collect(),
        means: String::new(),
    };
    ReplyShape {
        form,
        key: "score".to_owned(),
        levels: levels.iter().map(level).collect(),
        ..ReplyShape::default()
    }
}

/// A credit and the one for the further metric.
type Credits = (Option<f64>, Option<f64>);

/// Credits and further credits in both modes, or what is wrong.
fn read_alike(text: &str, shape: &ReplyShape, criteria: &[&str]) -> Result<Vec<Credits>, String> {
    let mut all = Vec::new();
    for text in criteria {
        all.push(CaseCriterion {
            text: (*text).into(),
            ..CaseCriterion::default()
        });
    }
    let [default, compat] = [Mode::Default, Mode::Compat].map(|mode| {
        let read = verdicts(&JudgeReply::of_text(text), shape, &all, mode);
        read.map_err(|unreadable| {
            assert!(unreadable.ask_again, "{unreadable:?}");
            unreadable.what
        })
    });
    assert_eq!(default, compat, "{text}");
    let pair = |verdict: &CriterionVerdict| (verdict.credit, verdict.also.get("strict").copied());
    default.map(|all| all.iter().map(pair).collect())
}

#[test]
fn a_list_has_one_level_for_each_criterion() {
    let nuggets = scale(
        ReplyForm::List,
        &[
            ("support".into(), 1.0, 1.0),
            ("partial_support".into(), 0.5, 0.0),
            ("not_support".into(), 0.0, 0.0),
        ],
    );
    let of = |text: &str| read_alike(text, &nuggets, &["a", "b"]);
    let both = Ok(vec![(Some(1.0), Some(1.0)), (Some(0.5), Some(0.0))]);
    for text in [
        r#"["support", "partial_support"]"#,
        "['support', 'Partial_Support']",
        "Labels:\n```python\n['support','partial_support',]\n```",
        "<think>[\"not_support\"]</think>[\"support\",\"partial support\"]",
    ] {
        assert_eq!(of(text), both, "{text}");
    }
    assert_eq!(of("['support']").unwrap_err(), "1 levels for 2 criteria");
    assert_eq!(
        of("['support', 'support', 'support']").unwrap_err(),
        "3 levels for 2 criteria"
    );
    assert_eq!(
        of("['support', 'mostly']").unwrap_err(),
        "\"mostly\" is not a level of the scale"
    );
    for text in [
        "['support', 'support'] or ['not_support', 'support']",
        r#"{"draft": ["support", "support"]}"#,
        r#"["support", "support"] {"b": "not_support"}"#,
        "[support, support]",
        "",
    ] {
        assert!(of(text).is_err(), "{text}");
    }
}

#[test]
fn a_map_has_an_entry_for_each_number_and_no_other() {
    let coverage = ReplyShape {
        list: Some(("evaluations".to_owned(), "q".to_owned())),
        ..scale(
            ReplyForm::Map,
            &[(1.into(), 1.0, 0.0), (0.into(), 0.0, 0.0)],
        )
    };
    let of = |text: &str| read_alike(text, &coverage, &["a", "b"]);
    let both = Ok(vec![(Some(0.0), None), (Some(1.0), None)]);
    let compact = r#"{"evaluations":{"q2":{"score":1,"justification":"j"},"q1":{"score":0}}}"#;
    assert_eq!(of(compact), both);
    assert_eq!(of(&format!("```json\n{compact}\n```")), both);
    let inner = compact.trim_start_matches("{\"evaluations\":");
    assert_eq!(of(&inner[..inner.len() - 1]), both, "without its key");
    for (from, to, what) in [
        ("q2", "p2", "q2 of 2 has no verdict"),
        ("q2", "q3", "q2 of 2 has no verdict"),
        ("q2", "q0", "q2 of 2 has no verdict"),
        (
            "}}}",
            "},\"q3\":{\"score\":1}}}",
            "3 verdicts for 2 criteria",
        ),
        (
            "}}}",
            "},\"p1\":{\"score\":1}}}",
            "3 verdicts for 2 criteria",
        ),
        (":1,", ":2,", "\"2\" is not a level of the scale"),
        (":1,", ":0.5,", "\"0.5\" is not a level of the scale"),
        (":1,", ":null,", "\"null\" is not a level of the scale"),
        ("\"score\":1,", "", "no \"score\" in a verdict"),
        ("{\"score\":0}", "1", "no \"score\" in a verdict"),
        (
            "{\"score\":0}",
            "{\"score\":0,\"score\":1}",
            "score has two different values",
        ),
        (
            "{\"q2\"",
            "{\"q1\":{\"score\":1},\"q2\"",
            "what holds score has two different values",
        ),
    ] {
        let text = compact.replacen(from, to, 1);
        assert_eq!(of(&text).unwrap_err(), what, "{text}");
    }
    let two = format!("{compact}\n{compact}");
    assert!(of(&two).is_err());
}

#[test]
fn a_first_word_is_a_whole_word_whatever_stands_around_it() {
    let answer = scale(
        ReplyForm::FirstWord,
        &[("Yes".into(), 1.0, 0.0), ("No".into(), 0.0, 0.0)],
    );
    let of = |text: &str| read_alike(text, &answer, &["a"]);
    for text in [
        "Yes",
        " yes: made",
        "**Yes**, it is",
        "\"YES\"",
        "`yes`",
        "_Yes_",
        "- Yes, no doubt",
        "Yes.\nNo is wrong",
        "1. Yes",
        "yes\u{2014}it does",
        "<think>no</think>Yes",
        "(Yes)",
    ] {
        assert_eq!(of(text), Ok(vec![(Some(1.0), None)]), "{text}");
    }
    for text in [
        "no",
        "NO, made",
        "No, but yesterday it did",
        "\u{201c}no\u{201d}",
    ] {
        assert_eq!(of(text), Ok(vec![(Some(0.0), None)]), "{text}");
    }
    for text in [
        "yesterday",
        "Neither yes nor no",
        "eyes",
        "Yes/No",
        "yes-and-no",
        "Not covered",
        "nobody",
        "2. Yes",
        "unclear",
        "{\"verdict\": \"Yes\"}",
        "",
        "**",
    ] {
        assert!(of(text).is_err(), "{text}");
    }
    assert!(read_alike("Yes", &answer, &["a", "b"]).is_err());

    let longer = scale(
        ReplyForm::FirstWord,
        &[
            ("not".into(), 0.2, 0.0),
            ("not at all".into(), 0.0, 0.0),
            ("wholly".into(), 1.0, 0.0),
        ],
    );
    let of = |text: &str| read_alike(text, &longer, &["a"]).map(|all| all[0].0);
    assert_eq!(of("Not at all. It"), Ok(Some(0.0)));
    assert_eq!(of("Not at home"), Ok(Some(0.2)));
}

#[test]
fn the_level_behind_the_last_mark_counts() {
    let points = ReplyShape {
        marks: vec!["VERDICT:".to_owned(), "[RESULT]".to_owned()],
        continuous: true,
        ..scale(
            ReplyForm::Mark,
            &[(0.into(), 0.0, 0.0), (10.into(), 1.0, 0.5)],
        )
    };
    let of = |text: &str| read_alike(text, &points, &["a"]).map(|all| all[0]);
    for (text, number) in [
        ("Reasons.\nVERDICT: 7.5", 7.5),
        ("**VERDICT: 6**", 6.0),
        ("**VERDICT**: 6", 6.0),
        ("VERDICT: `4`", 4.0),
        ("verdict: **8**.", 8.0),
        ("VERDICT:\n10", 10.0),
        ("VERDICT: 7\n- 2 points lost", 7.0),
        ("VERDICT: 3\nOn second thought\nVERDICT: 5 points", 5.0),
        ("VERDICT: 2\n[RESULT] 9", 2.0),
        ("so [RESULT] (9)", 9.0),
        ("VERDICT: 3\u{5206}", 3.0),
    ] {
        let read = of(text).unwrap();
        assert!((read.0.unwrap() - number / 10.0).abs() < 1e-12, "{text}");
        assert!((read.1.unwrap() - number / 20.0).abs() < 1e-12, "{text}");
    }
    for text in [
        "VERDICT: 12",
        "VERDICT: -1",
        "VERDICT: \u{2212}1",
        "VERDICT: 7.5.1",
        "VERDICT: 7,5",
        "VERDICT: 7/10",
        "VERDICT: 7 / 10",
        "VERDICT: 6-7",
        "VERDICT: 6 or 7",
        "VERDICT: 70%",
        "VERDICT: 7th",
        "VERDICT: 1e1",
        "VERDICT: seven",
        "VERDICT:",
        "I award seven points.",
        "7",
        "VERDICT: 7\nVERDICT:",
        "VERDICT: NaN",
        "VERDICT: inf",
    ] {
        assert!(of(text).is_err(), "{text}");
    }
    let word = ReplyShape {
        continuous: false,
        levels: shape(ReplyForm::Mark).levels,
        abstain: "N/A".to_owned(),
        ..points
    };
    let of = |text: &str| read_alike(text, &word, &["a"]).map(|all| all[0].0);
    assert_eq!(of("met, I thought. VERDICT: **not met**."), Ok(Some(0.0)));
    assert_eq!(of("VERDICT: N/A"), Ok(None));
    assert!(of("VERDICT: metal").is_err());
}

#[test]
fn entries_may_name_their_criterion_by_its_text() {
    let by_text = ReplyShape {
        by_text: true,
        list: Some(("results".to_owned(), "rubric_item".to_owned())),
        ..scale(
            ReplyForm::Object,
            &[
                (1.into(), 1.0, 0.0),
                (0.into(), 0.0, 0.0),
                ((-1).into(), 0.0, 1.0),
            ],
        )
    };
    let of = |entries: &[(&str, i32)], criteria: &[&str]| {
        let mut list = Vec::new();
        for (text, score) in entries {
            list.push(serde_json::json!({"rubric_item": text, "score": score}));
        }
        let text = serde_json::json!({ "results": list }).to_string();
        read_alike(&text, &by_text, criteria)
    };
    let met = (Some(1.0), Some(0.0));
    let blocked = (Some(0.0), Some(1.0));
    let criteria = ["Says  \"a\": 5\nrows", "Names <response> b"];
    assert_eq!(
        of(
            &[
                ("Names \u{2039}response> b", -1),
                ("Says \"a\": 5 rows ", 1)
            ],
            &criteria
        ),
        Ok(vec![met, blocked])
    );
    assert_eq!(
        of(
            &[("2. Names <response> b", -1), ("1. Says \"a\": 5 rows", 1)],
            &criteria
        ),
        Ok(vec![met, blocked])
    );
    assert_eq!(
        of(&[("same", 1), ("same", -1)], &["same"; 2]),
        Ok(vec![met, blocked])
    );
    for (entries, texts, what) in [
        (
            &[("a", 1)][..],
            &["a", "b"][..],
            "criterion 2 of 2 has no verdict",
        ),
        (
            &[("a", 1), ("a", 0)],
            &["a", "b"],
            "criterion 1 has two verdicts",
        ),
        (
            &[("a", 1), ("A", 0)],
            &["a", "b"],
            "a verdict is on \"A\", which is not the text of a criterion",
        ),
        (
            &[("2. a", 1), ("b", 0)],
            &["a", "b"],
            "a verdict is on \"2. a\", which is not the text of a criterion",
        ),
        (
            &[("same", 1)],
            &["same", "same"],
            "criterion 2 of 2 has no verdict",
        ),
        (
            &[("same", 1), ("same", 1), ("same", 1)],
            &["same", "same"],
            "criterion 2 has two verdicts",
        ),
        (
            &[("b", 1)],
            &["a"],
            "a verdict is on \"b\", which is not the text of a criterion",
        ),
        (&[("a", 2)], &["a"], "\"2\" is not a level of the scale"),
    ] {
        assert_eq!(of(entries, texts).unwrap_err(), what);
    }
    let number = r#"{"results": [{"criterion": 1, "score": 1}, {"criterion": 2, "score": 1}]}"#;
    assert_eq!(
        read_alike(number, &by_text, &["a", "b"]).unwrap_err(),
        "a verdict has no text of its criterion"
    );
    // The same credit, but not the same verdict.
    let two =
        r#"{"a": [{"rubric_item": "a", "score": 0}], "b": [{"rubric_item": "a", "score": -1}]}"#;
    assert_eq!(
        read_alike(two, &by_text, &["a"]).unwrap_err(),
        "the reply has verdicts that contradict each other"
    );
}

#[test]
fn cut_replies_count_only_where_their_json_is_whole() {
    let cut = |text: &str, form| {
        let reply = JudgeReply {
            finish_reason: Some("length".to_owned()),
            ..JudgeReply::of_text(text)
        };
        let shape = ReplyShape {
            marks: vec!["VERDICT:".to_owned()],
            ..shape(form)
        };
        let criteria = [CaseCriterion::default()];
        let read = [Mode::Default, Mode::Compat]
            .map(|mode| verdicts(&reply, &shape, &criteria, mode).is_ok());
        assert_eq!(read[0], read[1], "{text}");
        read[0]
    };
    assert!(cut("[\"met\"]", ReplyForm::List));
    assert!(cut(
        "{\"verdicts\": {\"criterion1\": {\"verdict\": \"met\"}}}",
        ReplyForm::Map
    ));
    assert!(!cut("Thus [\"met\"] since", ReplyForm::List));
    assert!(!cut("met, since", ReplyForm::FirstWord));
    assert!(!cut("VERDICT: met", ReplyForm::Mark));
}

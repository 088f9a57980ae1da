use super::*;
use crate::domain::Level;

fn shape(form: ReplyForm) -> ReplyShape {
    let level = |word: &str, credit| Level {
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
        Ok((Verdict::Criteria(all), None)) => Ok(all.iter().map(|one| one.credit).collect()),
        Ok(other) => Err(format!("{other:?}")),
        Err(unreadable) => Err(unreadable.what),
    }
}

#[test]
fn verdicts_are_matched_by_number_each_exactly_once() {
    let of = |text: &str| read(text, ReplyForm::Object, 2);
    let one = |number: u32, verdict: &str| {
        format!("{{\"criterion\": {number}, \"verdict\": \"{verdict}\"}}")
    };
    let both = |a: String, b: String| of(&format!("{{\"verdicts\": [{a}, {b}]}}"));
    assert_eq!(
        both(one(2, "Met."), one(1, "not_met")),
        Ok(vec![Some(0.0), Some(1.0)])
    );
    assert_eq!(
        both(one(1, "cannot assess"), one(2, "met")),
        Ok(vec![None, Some(1.0)])
    );
    assert_eq!(
        both(one(1, "met"), one(1, "met")).unwrap_err(),
        "criterion 1 has two verdicts"
    );
    assert_eq!(
        both(one(1, "met"), one(3, "met")).unwrap_err(),
        "a verdict is on criterion 3 of 2"
    );
    assert_eq!(
        of(&format!("{{\"verdicts\": [{}]}}", one(1, "met"))).unwrap_err(),
        "criterion 2 of 2 has no verdict"
    );
    assert_eq!(
        both(one(1, "met"), one(2, "unmet")).unwrap_err(),
        "\"unmet\" is not a level of the scale"
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
        level: level.into(),
        credit: level / 5.0,
        means: String::new(),
    });
    let shape = ReplyShape {
        levels: levels.into(),
        ..shape(ReplyForm::Lines)
    };
    let read = verdicts(
        &JudgeReply::of_text("0.5\n2.5\n3. 1.5"),
        &shape,
        &vec![CaseCriterion::default(); 3],
        Mode::Default,
    )
    .unwrap()
    .0;
    let Verdict::Criteria(all) = read else {
        panic!("{read:?}")
    };
    assert_eq!(
        all.iter().map(|one| one.credit).collect::<Vec<_>>(),
        [Some(0.1), Some(0.5), Some(0.3)]
    );
}

#[test]
fn a_continuous_scale_takes_numbers_between_its_ends_and_compat_any() {
    let level = |level: f64| Level {
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
        Ok((Verdict::Criteria(all), None)) => all[0].credit,
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
    let Ok((Verdict::Criteria(both), _)) =
        read("{\"score\": 6, \"reference\": \"8\"}", Mode::Default)
    else {
        panic!()
    };
    assert_eq!((both[0].credit, both[0].second), (Some(0.6), Some(0.8)));
    assert_eq!(
        read("{\"score\": 6}", Mode::Default).unwrap_err().what,
        "no \"reference\" in a verdict"
    );
}

use proptest::prelude::*;

use super::*;

const GRADES: RangeInclusive<u32> = 1..=5;
const POINTS: RangeInclusive<u32> = 0..=10;

/// A token with alternatives, given by their probabilities.
fn token(text: &str, top: &[(&str, f64)]) -> TokenLogprob {
    let top: Vec<_> = top
        .iter()
        .map(|(text, p)| ((*text).to_owned(), p.ln()))
        .collect();
    let logprob = top
        .iter()
        .find(|(listed, _)| listed == text)
        .map_or(-0.01, |(_, logprob)| *logprob);
    TokenLogprob {
        token: text.to_owned(),
        logprob,
        top,
    }
}

fn plain(texts: &[&str]) -> Vec<TokenLogprob> {
    texts.iter().map(|text| token(text, &[])).collect()
}

fn reply(content: &str, tokens: Vec<TokenLogprob>) -> JudgeReply {
    JudgeReply {
        logprobs: Some(tokens),
        ..JudgeReply::of_text(content)
    }
}

fn assert_expected(expected: Result<Expected, WhyNot>, value: f64, mass: f64) {
    let expected = expected.unwrap();
    assert!(
        (expected.value - value).abs() < 1e-12 && (expected.mass - mass).abs() < 1e-12,
        "{expected:?}, not {value}, {mass}"
    );
}

#[test]
fn a_grade_is_the_mean_of_its_alternatives() {
    let mut tokens = plain(&["Feed", "back: good 5.", " [", "RES", "ULT", "]"]);
    tokens.push(token(
        " 4",
        &[
            (" 4", 0.6),
            (" 5", 0.2),
            ("4", 0.1),
            (" 3", 0.05),
            (" good", 0.05),
        ],
    ));
    tokens.extend(plain(&["\n"]));
    let reply = reply("Feedback: good 5. [RESULT] 4", tokens);
    // (4 x 0.7 + 5 x 0.2 + 3 x 0.05) / 0.95 = 3.95 / 0.95
    assert_expected(
        expected_value(&reply, GRADES, ScoreLocation::AfterResult),
        3.95 / 0.95,
        0.95,
    );
}

#[test]
fn a_repeated_scale_is_not_the_grade() {
    let mut tokens = plain(&["[RESULT]", " (", "1", "-", "5", "):"]);
    tokens.push(token(" 4", &[(" 4", 0.5), (" 5", 0.5)]));
    // 4 x 0.5 + 5 x 0.5
    assert_expected(
        expected_value(
            &reply("[RESULT] (1-5): 4", tokens),
            GRADES,
            ScoreLocation::AfterResult,
        ),
        4.5,
        1.0,
    );
}

#[test]
fn numbers_outside_the_range_are_no_scores() {
    let mut tokens = plain(&["[RESULT]", " ("]);
    tokens.push(token(
        "5",
        &[("5", 0.5), ("6", 0.2), ("0", 0.1), ("4", 0.1), ("45", 0.1)],
    ));
    let reply = reply("[RESULT] (5)", tokens);
    // 5 x 0.5 + 4 x 0.1 over 0.6
    assert_expected(
        expected_value(&reply, GRADES, ScoreLocation::AfterResult),
        2.9 / 0.6,
        0.6,
    );
}

#[test]
fn points_are_found_behind_a_fence_missing_from_the_content() {
    let mut tokens = plain(&[
        "```",
        "json",
        "\n{\"feedback",
        "\": \"9 of 10\"",
        ", \"score",
        "\":",
        " ",
    ]);
    tokens.push(token("7", &[("7", 0.75), ("8", 0.25)]));
    tokens.extend(plain(&["}", "\n```"]));
    let content = r#"{"feedback": "9 of 10", "score": 7}"#;
    assert_expected(
        expected_value(&reply(content, tokens), 0..=9, ScoreLocation::JsonScore),
        7.0 * 0.75 + 8.0 * 0.25,
        1.0,
    );
}

#[test]
fn a_score_inside_a_text_or_a_deeper_object_is_not_the_score() {
    let content = r#"<think>{"score": 1}</think> {"a": {"score": 2}, "feedback": "say \"score\": 3", "score": 6, "b": "\"score\": 6"}"#;
    let before = &content[..content.find("6, \"b").unwrap()];
    let mut tokens = plain(&[before]);
    tokens.push(token("6", &[("6", 0.5), ("5", 0.5)]));
    tokens.extend(plain(&[&content[before.len() + 1..]]));
    assert_expected(
        expected_value(&reply(content, tokens), 0..=9, ScoreLocation::JsonScore),
        5.5,
        1.0,
    );
}

#[test]
fn the_score_is_found_where_the_reply_repeats_it_behind() {
    let content = "[RESULT] 4 because [result] 2";
    let mut tokens = plain(&["[RESULT]", " 4", " because", " [", "result", "]"]);
    tokens.push(token(" 2", &[(" 2", 1.0)]));
    assert_expected(
        expected_value(&reply(content, tokens), GRADES, ScoreLocation::AfterResult),
        2.0,
        1.0,
    );
}

#[test]
fn tokens_with_halves_of_characters_and_marks_for_spaces_do_not_hide_the_score() {
    let mut tokens = plain(&["\u{2581}caf", "\u{fffd}", "\u{fffd}", "\u{120}[", "RESULT]"]);
    tokens.push(token(
        "\u{2581}3",
        &[("\u{2581}3", 0.9), ("\u{2581}2", 0.1)],
    ));
    let reply = reply("caf\u{e9} [RESULT] 3", tokens);
    assert_expected(
        expected_value(&reply, GRADES, ScoreLocation::AfterResult),
        2.9,
        1.0,
    );
}

#[test]
fn a_token_that_is_not_among_its_alternatives_counts_too() {
    let mut score = token("4", &[("3", 0.25)]);
    score.logprob = 0.5_f64.ln();
    let reply = reply("[RESULT]4", vec![token("[RESULT]", &[]), score]);
    // (4 x 0.5 + 3 x 0.25) / 0.75
    assert_expected(
        expected_value(&reply, GRADES, ScoreLocation::AfterResult),
        2.75 / 0.75,
        0.75,
    );
}

/// Tokens of a tokenizer with one token per digit.
fn ten(next: &[(&str, f64)]) -> JudgeReply {
    let mut tokens = plain(&["{\"score\": "]);
    tokens.push(token("1", &[("1", 0.5), ("9", 0.3), ("8", 0.2)]));
    tokens.push(token("0", next));
    tokens.push(token("}", &[]));
    reply("{\"score\": 10}", tokens)
}

#[test]
fn ten_in_two_tokens_takes_its_share_of_the_first_digit() {
    let reply = ten(&[("0", 0.8), ("}", 0.1), (".", 0.06), ("2", 0.04)]);
    // 1: 0.5, of which 10: 0.4, 1: 0.05, 1.x and 12: nothing; 9: 0.3; 8: 0.2
    let value = (10.0 * 0.4 + 0.05 + 9.0 * 0.3 + 8.0 * 0.2) / 0.95;
    assert_expected(
        expected_value(&reply, POINTS, ScoreLocation::JsonScore),
        value,
        0.95,
    );
}

#[test]
fn a_one_that_might_have_become_ten_is_split_by_the_token_behind() {
    let mut tokens = plain(&["{\"score\": "]);
    tokens.push(token("1", &[("1", 0.8), ("2", 0.2)]));
    tokens.push(token("}", &[("}", 0.75), ("0", 0.25)]));
    // 10: 0.8 x 0.25 = 0.2, 1: 0.6, 2: 0.2
    let expected = expected_value(
        &reply("{\"score\": 1}", tokens),
        POINTS,
        ScoreLocation::JsonScore,
    );
    assert_expected(expected, 2.0 + 0.6 + 0.4, 1.0);
}

#[test]
fn a_one_that_was_not_taken_is_left_out_unless_ten_is_one_token() {
    let nine = |one_or_ten: &str, p: f64| {
        let mut tokens = plain(&["{\"score\": "]);
        tokens.push(token("9", &[("9", 0.7), ("1", 0.2), (one_or_ten, p)]));
        tokens.push(token("}", &[("}", 1.0)]));
        expected_value(
            &reply("{\"score\": 9}", tokens),
            POINTS,
            ScoreLocation::JsonScore,
        )
    };
    // 9: 0.7, 8: 0.1; the 1 may be 1 or 10
    assert_expected(nine("8", 0.1), 7.1 / 0.8, 0.8);
    // 9: 0.7, 1: 0.2, 10: 0.1
    assert_expected(nine("10", 0.1), 6.3 + 0.2 + 1.0, 1.0);
}

#[test]
fn too_little_probability_is_reported_and_not_rescaled() {
    let mut tokens = plain(&["[RESULT] "]);
    tokens.push(token("4", &[("4", 0.3), ("four", 0.6), ("5", 0.1)]));
    let why = expected_value(
        &reply("[RESULT] 4", tokens),
        GRADES,
        ScoreLocation::AfterResult,
    )
    .unwrap_err();
    assert!(
        matches!(why, WhyNot::Covers(mass) if (mass - 0.4).abs() < 1e-12),
        "{why:?}"
    );
    assert_eq!(why.to_string(), "the listed alternatives cover only 40%");
}

#[test]
fn what_cannot_be_known_says_why() {
    let why = |content: &str, tokens: Vec<TokenLogprob>, location| {
        expected_value(&reply(content, tokens), POINTS, location).unwrap_err()
    };
    let (result, json) = (ScoreLocation::AfterResult, ScoreLocation::JsonScore);
    assert_eq!(
        expected_value(&JudgeReply::of_text("[RESULT] 4"), POINTS, result),
        Err(WhyNot::NoLogprobs)
    );
    assert_eq!(why("[RESULT] 4", vec![], result), WhyNot::NoLogprobs);
    assert_eq!(
        why("[RESULT] 4", plain(&["[RESULT]", " 4"]), result),
        WhyNot::NoLogprobs,
        "no alternatives"
    );
    assert_eq!(
        why("[RESULT] 4", plain(&["another", " 4"]), result),
        WhyNot::NotFound
    );
    for content in [
        "4",
        "[RESULT] four",
        "[RESULT] 4.5",
        "[RESULT] 11",
        "{\"score\": 4}",
    ] {
        assert_eq!(
            why(content, plain(&[content]), result),
            WhyNot::NotFound,
            "{content}"
        );
    }
    for content in [
        "4",
        "{\"score\": \"4\"}",
        "{\"score\": 4.5}",
        "{\"score\": 4e1}",
        "{\"x\": {\"score\": 4}}",
        "{",
    ] {
        assert_eq!(
            why(content, plain(&[content]), json),
            WhyNot::NotFound,
            "{content}"
        );
    }
    let glued = vec![token("[RESULT] 4", &[("[RESULT] 4", 1.0)])];
    assert_eq!(why("[RESULT] 4", glued, result), WhyNot::SeveralTokens);
    let hundreds = plain(&["[RESULT]", "1", "0", "0"]);
    let whole = expected_value(&reply("[RESULT]100", hundreds), 0..=100, result);
    assert_eq!(whole, Err(WhyNot::SeveralTokens));
}

proptest! {
    #[test]
    fn an_expected_score_lies_within_its_range(
        taken in 0_u32..=10,
        others in prop::collection::vec((0_u32..12, -12.0_f64..3.0), 0..8),
        next in prop::collection::vec(("[0-9]|\\}|\\.", -9.0_f64..1.0), 0..4),
    ) {
        let content = format!("{{\"score\": {taken}}}");
        let number = taken.to_string();
        let (first, rest) = number.split_at(1);
        let top = others.iter().map(|(number, logprob)| (number.to_string(), *logprob)).collect();
        let mut tokens = plain(&["{\"score\":", " "]);
        tokens.push(TokenLogprob { token: first.to_owned(), logprob: -0.5, top });
        let behind = if rest.is_empty() { "}" } else { rest };
        tokens.push(TokenLogprob { token: behind.to_owned(), logprob: -0.1, top: next });
        if let Ok(Expected { value, mass }) = expected_value(&reply(&content, tokens), POINTS, ScoreLocation::JsonScore) {
            prop_assert!((0.0..=10.0).contains(&value), "{}", value);
            prop_assert!((LEAST_MASS..=1.0).contains(&mass), "{}", mass);
        }
    }
}

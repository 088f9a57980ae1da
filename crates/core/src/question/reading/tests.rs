//! Default parsing; compat parsing is tested in its module and against CPython.

use super::*;
use std::sync::Arc;

use crate::domain::{ClaimShares, Reading, UnscoredKind, Usage, Verdict};
use crate::question::{Citations, Expertise, Property, Question, SnippetEvidence};
use proptest::prelude::*;

fn questions() -> [Box<dyn Question>; 4] {
    let question: Arc<str> = "q".into();
    let answer: Arc<str> = "a".into();
    [
        Box::new(Expertise {
            question: question.clone(),
            answer: answer.clone(),
        }),
        Box::new(Property {
            question: question.clone(),
            answer: answer.clone(),
            criterion: "c".into(),
        }),
        Box::new(SnippetEvidence {
            question: question.clone(),
            answer: answer.clone(),
            snippets: vec!["s".to_owned(); 3].into(),
        }),
        Box::new(Citations { question, answer }),
    ]
}

fn read(question: usize, text: &str) -> Result<Reading, String> {
    questions()[question]
        .parse(&JudgeReply::of_text(text), Mode::Default)
        .map_err(|unreadable| {
            assert!(unreadable.ask_again, "{unreadable:?}");
            assert_eq!(unreadable.kind, UnscoredKind::Unreadable);
            unreadable.what
        })
}

fn points_of(text: &str) -> Result<f64, String> {
    match read(1, text)? {
        Reading {
            verdict: Verdict::Points(points),
            ..
        } => Ok(points),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_object_is_found_bare_fenced_in_prose_and_after_thinking() {
    for text in [
        "{\"score\": 7}",
        " {\"score\": 7.0} \n",
        "```json\n{\"score\": 7}\n```",
        "Here you go: {\"score\": 7}. Done",
        "<think>maybe {\"score\": 2}? no</think>{\"score\": 7}",
        "\n<think>\n</think>\n\n{\"score\": 7}",
        "maybe {2}, no </think> {\"score\": 7}",
        "[THINK]maybe {\"score\": 2}[/THINK]{\"score\": 7}",
        "<|channel|>analysis<|message|>{2}<|end|><|start|>assistant<|channel|>final<|message|>{\"score\": 7}",
        "{\"score\": 7, \"feedback\": \"the answer says </think>{\"}",
    ] {
        assert_eq!(points_of(text), Ok(7.0), "{text}");
    }
}

#[test]
fn what_is_no_single_object_is_unreadable() {
    for text in [
        "",
        " ",
        "7",
        "[]",
        "} {",
        "{\"score\": 7",
        "{\"score\": 7} {\"score\": 8}",
        "{\"score\": 007}",
        "<think>{\"score\": 7}",
        "<think>x</think>",
        "I give 7 out of 10",
    ] {
        assert!(points_of(text).is_err(), "{text}");
    }
    assert_eq!(
        points_of("<think>{\"score\": 7}"),
        Err("the reply has nothing behind its reasoning".into())
    );
}

#[test]
fn only_numbers_within_range_are_points() {
    assert_eq!(points_of("{\"score\": 0}"), Ok(0.0));
    assert_eq!(points_of("{\"score\": 10}"), Ok(10.0));
    assert_eq!(points_of("{\"score\": 7.5}"), Ok(7.5));
    for (text, what) in [
        ("{\"score\": 11}", "score 11 is outside 0..10"),
        ("{\"score\": -3}", "score -3 is outside 0..10"),
        ("{\"score\": 1e999}", "score inf is outside 0..10"),
        ("{\"score\": NaN}", "score is NaN"),
        ("{\"score\": true}", "score is a boolean, not a number"),
        (
            "{\"score\": \"7\"}",
            "score is the string \"7\", not a number",
        ),
        ("{\"score\": null}", "score is null, not a number"),
        ("{\"score\": [7]}", "score is a list, not a number"),
        ("{\"rating\": 7}", "no \"score\" in the reply's object"),
        ("{}", "no \"score\" in the reply's object"),
    ] {
        assert_eq!(points_of(text), Err(what.to_owned()), "{text}");
    }
}

#[test]
fn claims_are_counted_where_every_list_is_a_list() {
    let text = r#"{"claims": [{"citations": [{"excerpts": ["e"]}, {"excerpts": []}]}, {"citations": []}]}"#;
    // 1 of 2 claims cited; 1 of 2 citations quoted.
    let shares = ClaimShares {
        citations: 0.5,
        excerpts: 0.5,
        claim_count: 2,
        citation_count: 2,
    };
    assert_eq!(read(3, text), Ok(Reading::new(Verdict::Claims(shares))));
    let none = ClaimShares {
        citations: 0.0,
        excerpts: 0.0,
        claim_count: 0,
        citation_count: 0,
    };
    assert_eq!(
        read(3, "{\"claims\": []}"),
        Ok(Reading::new(Verdict::Claims(none)))
    );
}

#[test]
fn claims_of_another_shape_are_unreadable_and_say_where() {
    for (text, what) in [
        ("{}", "claims is missing"),
        ("{\"claims\": null}", "claims is null, not a list"),
        ("{\"claims\": [1]}", "claims[0] is a number, not an object"),
        ("{\"claims\": [{}]}", "claims[0].citations is missing"),
        (
            "{\"claims\": [{\"citations\": \"x\"}]}",
            "claims[0].citations is a string, not a list",
        ),
        (
            "{\"claims\": [{\"citations\": [\"x\"]}]}",
            "claims[0].citations[0] is a string, not an object",
        ),
        (
            "{\"claims\": [{\"citations\": [{}]}]}",
            "claims[0].citations[0].excerpts is missing",
        ),
        (
            "{\"claims\": [{\"citations\": [{\"excerpts\": 1}]}]}",
            "claims[0].citations[0].excerpts is a number, not a list",
        ),
    ] {
        assert_eq!(read(3, text), Err(what.to_owned()), "{text}");
    }
}

#[test]
fn feedback_comes_along_where_it_is_a_string() {
    let Reading { feedback, .. } =
        read(1, "{\"reason\": \"b\", \"feedback\": \"a\", \"score\": 1}").unwrap();
    assert_eq!(feedback.as_deref(), Some("a"));
    let Reading { feedback, .. } =
        read(1, "{\"explanation\": \"c\", \"feedback\": 3, \"score\": 1}").unwrap();
    assert_eq!(feedback.as_deref(), Some("c"));
}

#[test]
fn a_cut_reply_is_never_read_nor_asked_again() {
    let usage = Usage {
        completion_tokens: 100,
        ..Usage::default()
    };
    let mut reply = JudgeReply {
        usage,
        ..JudgeReply::of_text("{\"score\": 7} {")
    };
    reply.finish_reason = Some("length".into());
    for question in questions() {
        let unreadable = question.parse(&reply, Mode::Default).unwrap_err();
        assert_eq!(unreadable.what, "reply cut at 100 tokens");
        assert_eq!(
            (unreadable.ask_again, unreadable.kind),
            (false, UnscoredKind::Cut)
        );
    }
    reply.usage.completion_tokens = 0;
    assert_eq!(
        questions()[1]
            .parse(&reply, Mode::Default)
            .unwrap_err()
            .what,
        "reply cut at the token limit"
    );
    let points = Ok(Reading::new(Verdict::Points(7.0)));
    for whole in [
        "{\"score\": 7}",
        "{\"score\": 7}\n\n\n",
        "```json\n{\"score\": 7}\n```",
        "<think>{2}</think>{\"score\": 7}",
    ] {
        reply.content = whole.to_owned();
        assert_eq!(
            questions()[1].parse(&reply, Mode::Default),
            points,
            "{whole}"
        );
    }
    reply.content = "{\"score\": 7}".to_owned();
    assert_eq!(questions()[1].parse(&reply, Mode::Compat), points);
}

#[test]
fn nearly_json_is_read_in_default_mode_where_it_has_one_reading() {
    for text in [
        "{'score': 7}",
        "{\"score\": 7,}",
        "Verdict: {\"score\": 7, \"feedback\": \"one\ntwo \\alpha\"}.",
        "{\"result\": {\"score\": 7}}",
        "{\"response\": {'score': 7, 'feedback': None}}",
        "```json\n[{\"score\": 7,}]\n```",
        "<think>{'score': 2}</think>{'score': 7}",
    ] {
        assert_eq!(points_of(text), Ok(7.0), "{text}");
        let reply = JudgeReply::of_text(text);
        let property = &questions()[1];
        let compat = property.parse(&reply, Mode::Compat);
        assert_eq!(compat, property.read(&reply, Mode::Compat), "{text}");
    }
    for text in [
        "{'feedback': 'it's 7', 'score': 7}",
        "{'score': 7, \"score\": 8}",
        "{'score': 11}",
        "{'score': '7'}",
        "{\"score\": {\"score\": 7}}",
        "{\"a\": {\"score\": 7}, \"b\": {\"score\": 8}}",
        "{\"notes\": [{\"score\": 3}], \"total\": 7}",
        "{'score': 7",
        "{'score': 7, 'feedback': 'abc",
        "{'score': 7} {'score': 7}",
    ] {
        points_of(text).unwrap_err();
    }
    let cut = JudgeReply {
        finish_reason: Some("length".into()),
        ..JudgeReply::of_text("{'score': 7}")
    };
    let unreadable = questions()[1].parse(&cut, Mode::Default).unwrap_err();
    assert_eq!(unreadable.kind, UnscoredKind::Cut);
}

#[test]
fn messages_quote_little_of_a_hostile_reply() {
    let what = points_of(
        &format!("{{\"score\": \"\u{1b}[2J{}\"}}", "x".repeat(9000)).replace('\u{1b}', "\\u001b"),
    );
    let what = what.unwrap_err();
    assert!(what.len() < 120 && !what.contains('\u{1b}'), "{what}");
    assert!(
        points_of(&format!("{{\"score\": {}}}", "9".repeat(4000)))
            .unwrap_err()
            .len()
            < 120
    );
    assert!(
        points_of(&format!("{{\"score\": {}}}", "9".repeat(300)))
            .unwrap_err()
            .len()
            < 400
    );
}

proptest! {
    #[test]
    fn no_text_panics_in_either_mode(text in prop_oneof![
        ".{0,120}",
        "(\\{|\\}|\\[|\\]|,|:|\"score\"|\"claims\"|\"citations\"|\"excerpts\"|1|-2.5|NaN|true| |<think>|</think>){0,20}",
    ]) {
        for question in questions() {
            let reply = JudgeReply::of_text(text.clone());
            if let Ok(Reading { verdict, .. }) = question.parse(&reply, Mode::Default) {
                let in_range = match verdict {
                    Verdict::Points(points) => (0.0..=10.0).contains(&points),
                    Verdict::Grade(grade) => (1.0..=5.0).contains(&grade),
                    Verdict::Attribution(_) | Verdict::Criteria(_) | Verdict::Irrelevant(_)
                    | Verdict::CitedClaims(_) | Verdict::Statements(_) | Verdict::Support(_)
                    | Verdict::Kept(_) | Verdict::Decided(_) => true,
                    Verdict::Count(count) => count >= 0.0 && count.is_finite(),
                    Verdict::Preference(preference) => (0.0..=1.0).contains(&preference.value),
                    Verdict::Claims(shares) => {
                        (0.0..=1.0).contains(&shares.citations) && (0.0..=1.0).contains(&shares.excerpts)
                    }
                };
                prop_assert!(in_range, "{text:?} gave {verdict:?}");
            }
            let _ = question.parse(&reply, Mode::Compat);
        }
    }
}

#[test]
fn a_score_that_stands_twice_is_unreadable_and_other_keys_may() {
    let read = |text: &str| {
        score(&object(&JudgeReply::of_text(text)).unwrap()).map_err(|unreadable| unreadable.what)
    };
    assert_eq!(
        read(r#"{"score": 3, "score": 9}"#),
        Err("score has two different values".to_owned())
    );
    assert_eq!(
        read(r#"{"thought": "a", "score": 3, "thought": "b", "score": 3.0}"#),
        Ok(3.0)
    );
}

//! Parsing of grades and labels.

use proptest::prelude::*;

use super::*;
use crate::domain::Usage;

fn cut_reply(content: &str) -> JudgeReply {
    let usage = Usage {
        completion_tokens: 9,
        ..Usage::default()
    };
    JudgeReply {
        finish_reason: Some("length".to_owned()),
        usage,
        ..JudgeReply::of_text(content)
    }
}

fn graded(content: &str) -> Result<(f64, Option<String>), Unreadable> {
    match grade(&JudgeReply::of_text(content), Mode::Default)? {
        Reading {
            verdict: Verdict::Grade(grade),
            feedback,
        } => Ok((grade, feedback)),
        other => panic!("{other:?}"),
    }
}

fn labeled(content: &str) -> Result<(Attribution, Option<String>), Unreadable> {
    match label(&JudgeReply::of_text(content), Mode::Default)? {
        Reading {
            verdict: Verdict::Attribution(label),
            feedback,
        } => Ok((label, feedback)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_last_marker_counts_and_what_stands_before_it_is_feedback() {
    let feedback = "First [RESULT] 2, no.".to_owned();
    assert_eq!(
        graded("### Feedback: First [RESULT] 2, no. [result]\n(5) ok"),
        Ok((5.0, Some(feedback)))
    );
    assert_eq!(graded("[RESULT][3]"), Ok((3.0, None)));
    assert_eq!(
        graded("<think>[RESULT] 1</think>Fine [RESULT] 4/5"),
        Ok((4.0, Some("Fine".to_owned())))
    );
}

#[test]
fn only_a_single_digit_from_1_to_5_is_a_grade() {
    for (content, what) in [
        ("Fine.", "no [RESULT] in the reply"),
        (
            "Feedback: the overall score is 4",
            "no [RESULT] in the reply",
        ),
        ("<think>[RESULT] 1</think>Fine", "no [RESULT] in the reply"),
        (
            "<think>[RESULT] 1",
            "the reply ends inside its <think> block",
        ),
        (
            "x [RESULT] 4 [RESULT]",
            "behind [RESULT] stands \"\", not a grade 1 to 5",
        ),
        (
            "x [RESULT] 4.5",
            "behind [RESULT] stands \"4.5\", not a grade 1 to 5",
        ),
        (
            "x [RESULT] 12",
            "behind [RESULT] stands \"12\", not a grade 1 to 5",
        ),
        (
            "x [RESULT] 0",
            "behind [RESULT] stands \"0\", not a grade 1 to 5",
        ),
        (" ", "the reply is empty"),
    ] {
        assert_eq!(graded(content), Err(Unreadable::new(what)), "{content}");
    }
}

#[test]
fn a_cut_reply_is_read_only_where_the_digit_cannot_go_on() {
    let read = |content| grade(&cut_reply(content), Mode::Default);
    // 1 may be the beginning of 10, `4.` that of 4.5; nothing is asked again.
    for content in ["x", "x [RESULT]", "x [RESULT] 1", "x [RESULT] 4."] {
        assert_eq!(
            read(content),
            Err(Unreadable::cut(&cut_reply(content))),
            "{content}"
        );
    }
    assert_eq!(
        read("x [RESULT] 4\nAnd").unwrap().verdict,
        Verdict::Grade(4.0)
    );
}

#[test]
fn in_compat_the_first_marker_counts_and_only_an_exact_digit_is_a_grade() {
    let read = |content: &str| grade(&JudgeReply::of_text(content), Mode::Compat);
    assert_eq!(
        read("x [RESULT] 5\nagain [RESULT] 1").unwrap().verdict,
        Verdict::Grade(5.0)
    );
    // The text after the first 8 characters is 4.
    assert_eq!(read("Rating: 4").unwrap().verdict, Verdict::Grade(4.0));
    let dropped = read("x [RESULT] 4.").unwrap_err();
    assert_eq!(
        (dropped.what.as_str(), dropped.ask_again),
        ("the reference drops \"4.\"", false)
    );
    assert_eq!(
        grade(&cut_reply("x [RESULT] 1"), Mode::Compat)
            .unwrap()
            .verdict,
        Verdict::Grade(1.0)
    );
}

#[test]
fn pythons_int_takes_spaces_signs_underscores_and_every_script() {
    let read = |text| python_int(text);
    assert_eq!(
        [" 4\t", "+4", "-1", "1_0", "٤", "\u{1c}3"].map(read),
        [
            Some(4.0),
            Some(4.0),
            Some(-1.0),
            Some(10.0),
            Some(4.0),
            Some(3.0)
        ]
    );
    assert_eq!(
        ["", "4.0", "1__0", "_1", "²", "- 1", "+-1", "0x1"].map(read),
        [None; 8]
    );
    assert_eq!(read(&"1".repeat(4301)), None);
}

#[test]
fn a_label_alone_may_have_any_case_quotes_and_punctuation() {
    for content in [
        "Attributable",
        " attributable.\n",
        "**\"ATTRIBUTABLE\"**",
        "<think>Contradictory?</think>Attributable",
    ] {
        assert_eq!(
            labeled(content),
            Ok((Attribution::Attributable, None)),
            "{content}"
        );
    }
}

#[test]
fn else_the_last_line_with_one_label_decides_and_the_rest_is_feedback() {
    let one =
        "Is it Attributable or Contradictory?\nIt says otherwise.\nLabel: Contradictory\nDone.";
    let rest = "Is it Attributable or Contradictory?\nIt says otherwise.\nDone.".to_owned();
    assert_eq!(labeled(one), Ok((Attribution::Contradictory, Some(rest))));
    let line = "{\"label\": \"Extrapolatory\"}";
    assert_eq!(
        labeled(line),
        Ok((Attribution::Extrapolatory, Some(line.to_owned())))
    );
}

#[test]
fn what_holds_no_label_or_denies_one_is_asked_again() {
    for content in [
        "Supported.",
        "attributable or contradictory",
        "non-attributable",
        "It is not Attributable.",
        "",
    ] {
        let unread = labeled(content).unwrap_err();
        assert!(unread.ask_again, "{content}");
    }
    let cut = cut_reply("Attributable");
    assert_eq!(label(&cut, Mode::Default), Err(Unreadable::cut(&cut)));
}

#[test]
fn in_compat_only_the_literal_label_is_support() {
    let read = |content: &str| {
        label(&JudgeReply::of_text(content), Mode::Compat)
            .unwrap()
            .verdict
    };
    assert_eq!(
        read("Attributable"),
        Verdict::Attribution(Attribution::Attributable)
    );
    assert_eq!(
        read("Contradictory"),
        Verdict::Attribution(Attribution::Contradictory)
    );
    for content in ["attributable", "Attributable.", " Attributable", ""] {
        assert_eq!(
            read(content),
            Verdict::Attribution(Attribution::Extrapolatory),
            "{content}"
        );
    }
}

#[test]
fn the_reference_merges_by_text() {
    // 4 and 4\t are different texts, each once: the first seen, which is a grade.
    let samples = ["x [RESULT] 4", "x [RESULT] 4\t", "x [RESULT] 5.0"];
    assert_eq!(merge_as_reference(&samples), Some(4.0));
}

proptest! {
    #[test]
    fn no_reply_makes_reading_panic_and_every_grade_is_1_to_5(
        content in "(\\[RESULT\\]|\\[result\\] |Feedback: |the overall score is |[0-9]|[.()\\[\\] ٤]|attributable|not |\\n|</think>|\\PC){0,12}"
    ) {
        for reply in [JudgeReply::of_text(content.as_str()), cut_reply(&content)] {
            for mode in [Mode::Default, Mode::Compat] {
                if let Ok(Reading { verdict: Verdict::Grade(grade), .. }) = grade(&reply, mode) {
                    prop_assert!((1.0..=5.0).contains(&grade) && grade.fract() == 0.0);
                }
                let _ = label(&reply, mode);
            }
        }
    }
}

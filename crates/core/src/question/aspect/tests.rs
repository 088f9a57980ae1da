//! Parsing of grades.

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

fn question() -> AspectGrade {
    AspectGrade {
        aspect: Arc::default(),
        instruction: "".into(),
        question: "q".into(),
        answer: "a".into(),
        reference: None,
    }
}

fn grade(reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
    question().read(reply, mode)
}

fn graded(content: &str) -> Result<(f64, Option<String>), Unreadable> {
    match grade(&JudgeReply::of_text(content), Mode::Default)? {
        Reading {
            verdict: Verdict::Grade(grade),
            feedback,
            ..
        } => Ok((grade, feedback)),
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
        ("[THINK][RESULT] 1[/THINK]Fine", "no [RESULT] in the reply"),
        (
            "<think>[RESULT] 1",
            "the reply has nothing behind its reasoning",
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
fn a_digit_that_another_number_follows_is_not_a_grade() {
    for grade in [
        "3-4",
        "3 - 4",
        "3–4",
        "3 — 4",
        "3−4",
        "3 to 4",
        "3 TO 4",
        "4 or 5",
        "4,5",
        "4, 5",
        "4 and 5",
        "4~5",
        "4..5",
        "4½",
        "4 1/2",
        "4/10",
        "4 out of 10",
        "4 of 10",
        "4,\n5",
        "4 -\n\n5",
        "4->5",
        "4; 5",
        "4 through 5",
        "4 or five",
        "4/5 or 5/5",
        "**4** or **5**",
        "(4) - (5)",
        "(1-5)",
        "(3-4): 4",
        "(15) 4",
    ] {
        let reply = format!("Fine. [RESULT] {grade}");
        assert!(graded(&reply).is_err(), "{reply}");
    }
    for grade in [
        "(1-5): 4",
        "[1-5] 4",
        "(1 to 5) 4",
        "(an integer number between 1 and 5): [4]",
        "4, because",
        "4/5",
        "4 / 5.",
        "4 out of 5",
        "4 of 5",
        "4 (four)",
        "4 out of five",
        "4 - \n5 claims are right",
        "4 /\n5",
        "4; because",
        "4.",
        "4-",
        "4 - good",
        "4 (good)",
        "4**",
        "4. 5 claims are right",
        "4\n- 5 claims are right",
        "4 to be fair",
    ] {
        let reply = format!("Fine. [RESULT] {grade}");
        let read = graded(&reply).map(|(grade, _)| grade);
        assert_eq!(read, Ok(4.0), "{reply}");
    }
    let compat = grade(&JudgeReply::of_text("x [RESULT] 4,5"), Mode::Compat);
    assert!(compat.is_err_and(|unreadable| !unreadable.ask_again));
}

#[test]
fn a_cut_reply_is_read_only_where_the_digit_cannot_go_on() {
    let read = |content| grade(&cut_reply(content), Mode::Default);
    // 1 may be the beginning of 10, `4.` that of 4.5; nothing is asked again.
    for content in [
        "x",
        "x [RESULT]",
        "x [RESULT] 1",
        "x [RESULT] 4.",
        "x [RESULT] 4 or",
    ] {
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
fn the_reference_merges_by_text() {
    // 4 and 4\t are different texts, each once: the first seen, which is a grade.
    let samples = ["x [RESULT] 4", "x [RESULT] 4\t", "x [RESULT] 5.0"];
    assert_eq!(merge_as_reference(&samples), Some(4.0));
}

#[test]
fn several_grades_are_merged_by_text_as_the_reference_does() {
    let sample = |text: &str| Sample {
        judgment: grade(&JudgeReply::of_text(text), Mode::Compat).map_err(UnscoredReason::from),
        text: Some(text.to_owned()),
    };
    let texts = [
        "Feedback: a [RESULT] 4 ",
        "Feedback: b [RESULT] 4 ",
        "Feedback: c [RESULT] 2",
    ];
    let samples = texts.map(sample);
    let merge = |samples: &[Sample], rule| question().merge(samples, rule, Mode::Compat);
    // "4 " is the most common text and not a valid grade there; ours would be 4
    assert!(merge(&samples, GradeMerge::MostCommon).is_err());
    let reason = merge(&samples, GradeMerge::Mean).unwrap_err();
    assert_eq!(reason.kind, UnscoredKind::Exception);

    let twice = ["Feedback: c [RESULT] 2", "Feedback: d [RESULT] 2"].map(sample);
    let merged = merge(&twice, GradeMerge::MostCommon).unwrap();
    assert_eq!(merged.verdict, Verdict::Grade(2.0));
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
            }
        }
    }
}

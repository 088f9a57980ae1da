//! Parsing and merging of labels.

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

fn question() -> SourceSupport {
    SourceSupport {
        claim: "c".into(),
        document: "d".into(),
    }
}

fn label(reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
    question().read(reply, mode)
}

fn labeled(content: &str) -> Result<(Attribution, Option<String>), Unreadable> {
    match label(&JudgeReply::of_text(content), Mode::Default)? {
        Reading {
            verdict: Verdict::Attribution(label),
            feedback,
            ..
        } => Ok((label, feedback)),
        other => panic!("{other:?}"),
    }
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
    let reply =
        "Is it Attributable or Contradictory?\nIt says otherwise.\nLabel: Contradictory\nDone.";
    let rest = "Is it Attributable or Contradictory?\nIt says otherwise.\nDone.".to_owned();
    assert_eq!(labeled(reply), Ok((Attribution::Contradictory, Some(rest))));
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
fn labels_are_voted_on_and_a_tie_is_no_support() {
    let vote = |labels: &[Attribution]| {
        let mut samples: Vec<Sample> = Vec::new();
        for label in labels {
            let reading = Reading::new(Verdict::Attribution(*label));
            samples.push(Ok(reading).into());
        }
        let merged = question().merge(&samples, GradeMerge::Mean, Mode::Default);
        merged.unwrap().verdict
    };
    use Attribution::{Attributable, Contradictory, Extrapolatory};
    let mostly = vote(&[Attributable, Extrapolatory, Attributable]);
    assert_eq!(mostly, Verdict::Attribution(Attributable));
    let tie = vote(&[Attributable, Contradictory]);
    assert_eq!(tie, Verdict::Attribution(Contradictory));
    let tie = vote(&[Contradictory, Extrapolatory]);
    assert_eq!(tie, Verdict::Attribution(Extrapolatory));
}

//! Grades of aspects against the numbers of the reference script.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use scholareval::domain::{Aspect, GradeMerge, JudgeReply, Mode, Reading, Verdict};
use scholareval::question::{AspectGrade, Question, merge_as_reference, reference_score};
use serde::Deserialize;
use serde_json::{Map, Value};

fn golden() -> Option<File> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let dir = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
    let path = dir.join("golden/prometheus_parse.json");
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).unwrap()),
        Err(_) => {
            eprintln!("skipped: no golden numbers in {}", dir.display());
            None
        }
    }
}

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
    groups: Vec<Group>,
    self_consistency: Vec<Samples>,
}

#[derive(Deserialize)]
struct Case {
    model_output: String,
    score_text: String,
    feedback: String,
    score: Option<f64>,
}

#[derive(Deserialize)]
struct Group {
    i: u64,
    outputs: Map<String, Value>,
    means: Map<String, Value>,
}

#[derive(Deserialize)]
struct Samples {
    i: u64,
    outputs: Vec<String>,
    most_common: String,
    summary_most_common: Value,
}

fn grade(output: &str, mode: Mode) -> Option<f64> {
    let aspect = Arc::new(Aspect::default());
    let text = || Arc::<str>::from("x");
    let task = AspectGrade {
        aspect,
        instruction: text(),
        question: text(),
        answer: text(),
        reference: None,
    };
    match task.parse(&JudgeReply::of_text(output), mode) {
        Ok(Reading {
            verdict: Verdict::Grade(grade),
            ..
        }) => Some(grade),
        Ok(other) => panic!("{other:?}"),
        Err(unreadable) => {
            assert_eq!(
                unreadable.ask_again,
                mode == Mode::Default,
                "{unreadable:?}"
            );
            None
        }
    }
}

/// Replies that only compat reads as the reference does (or that only it does not read), with what the default makes
/// of them.
const READ_OTHERWISE: [(&str, Option<f64>); 16] = [
    ("Feedback: Good. [RESULT] 3 ", Some(3.0)),
    ("Feedback: Good. [RESULT]  3", Some(3.0)),
    ("Feedback: Good. [RESULT]\n3", Some(3.0)),
    ("Feedback: x [RESULT] 4.", Some(4.0)),
    ("Feedback: x [RESULT] 4 out of 5", Some(4.0)),
    ("Feedback: So the overall score is 4. [RESULT] N/A", None),
    ("Feedback: the overall score is 3.5", None),
    ("Feedback: a [RESULT] 2 and [RESULT] 5", Some(5.0)),
    ("Feedback: a [RESULT] 5\nFeedback: b [RESULT] 1", Some(1.0)),
    ("Feedback: a [result] 4", Some(4.0)),
    ("Rating: 4", None),
    ("Score = 3", None),
    ("Feedback: x [RESULT] 4\t", Some(4.0)),
    ("Feedback: x [RESULT] [4]", Some(4.0)),
    ("Feedback: x [RESULT] 4, because", Some(4.0)),
    ("Feedback: the overall score is 4 [RESULT] 4.5", None),
];

#[test]
fn every_golden_grade_is_the_references_in_compat_and_by_default_but_for_a_stated_table() {
    let Some(file) = golden() else { return };
    assert!(file.cases.len() >= 30);
    for case in file.cases {
        let output = case.model_output.as_str();
        let read = reference_score(output);
        assert_eq!(
            (read.text.as_str(), read.feedback),
            (case.score_text.as_str(), case.feedback.as_str()),
            "{output}"
        );
        assert_eq!(grade(output, Mode::Compat), case.score, "{output}");
        let own = READ_OTHERWISE
            .iter()
            .find(|(of, _)| *of == output)
            .map(|(_, own)| *own);
        assert_eq!(
            grade(output, Mode::Default),
            own.unwrap_or(case.score),
            "{output}"
        );
        assert!(
            own.is_none_or(|own| own != case.score),
            "not needed in the table: {output}"
        );
    }
}

/// What the default makes of the groups: sum and number of readable grades for each aspect.
type Sums = &'static [(f64, f64)];
const GROUPS: [(u64, Sums); 12] = [
    (1, &[(11.0, 3.0), (11.0, 3.0), (8.0, 3.0)]),
    (2, &[(17.0, 4.0), (13.0, 4.0), (9.0, 2.0)]),
    (4, &[(23.0, 8.0), (17.0, 5.0), (25.0, 7.0)]),
    (8, &[(19.0, 8.0), (17.0, 8.0), (23.0, 6.0)]),
    (9, &[(18.0, 5.0)]),
    (11, &[(9.0, 4.0), (20.0, 5.0), (10.0, 3.0)]),
    (12, &[(6.0, 2.0)]),
    (13, &[(7.0, 4.0), (18.0, 4.0), (13.0, 4.0)]),
    (14, &[(6.0, 2.0), (3.0, 1.0), (7.0, 2.0)]),
    (15, &[(8.0, 3.0)]),
    (22, &[(21.0, 7.0), (28.0, 7.0), (17.0, 6.0)]),
    (23, &[(19.0, 6.0), (27.0, 8.0), (21.0, 5.0)]),
];

#[track_caller]
fn assert_close(found: Option<f64>, expected: Option<f64>) {
    match (found, expected) {
        (Some(found), Some(expected)) => assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        ),
        (found, expected) => assert_eq!(found, expected),
    }
}

#[test]
fn every_golden_group_has_the_references_means_in_compat_and_its_own_by_default() {
    let Some(file) = golden() else { return };
    for group in file.groups {
        let outputs = |name: &str| {
            group.outputs[name]
                .as_array()
                .unwrap()
                .iter()
                .map(|text| text.as_str().unwrap())
        };
        let means = |mode| -> Vec<Option<f64>> {
            let grades = |name| {
                outputs(name)
                    .filter_map(|text| grade(text, mode))
                    .collect::<Vec<f64>>()
            };
            group
                .outputs
                .keys()
                .map(|name| GradeMerge::Mean.of(&grades(name)))
                .collect()
        };
        let compat = means(Mode::Compat);
        for (name, mean) in group.outputs.keys().zip(&compat) {
            assert_close(*mean, group.means[name].as_f64());
        }
        // Where an aspect has no grade, the reference's average is NaN.
        let all: Option<Vec<f64>> = compat.into_iter().collect();
        assert_close(
            all.and_then(|means| GradeMerge::Mean.of(&means)),
            group.means["average"].as_f64(),
        );
        let Some((_, sums)) = GROUPS.iter().find(|(i, _)| *i == group.i) else {
            continue;
        };
        let expected: Vec<_> = sums.iter().map(|(sum, count)| Some(sum / count)).collect();
        assert_eq!(means(Mode::Default), expected);
    }
}

/// What the default makes of the samples: the readable grades.
const SAMPLES: [(u64, [Option<f64>; 3]); 8] = [
    (0, [Some(4.0), Some(4.0), None]),
    (1, [Some(3.0), Some(3.0), None]),
    (4, [Some(4.0), None, Some(4.0)]),
    (7, [Some(4.0), None, Some(3.0)]),
    (9, [None, Some(4.0), Some(1.0)]),
    (11, [None, Some(3.0), None]),
    (12, [Some(1.0), None, None]),
    (15, [Some(3.0), None, Some(4.0)]),
];

#[test]
fn every_golden_self_consistency_merge_is_the_references_in_compat() {
    let Some(file) = golden() else { return };
    for samples in file.self_consistency {
        let replies: Vec<&str> = samples.outputs.iter().map(String::as_str).collect();
        assert_eq!(
            merge_as_reference(&replies),
            samples.summary_most_common.as_f64()
        );
        assert!(
            replies
                .iter()
                .any(|reply| reference_score(reply).text == samples.most_common)
        );
        let Some((_, own)) = SAMPLES.iter().find(|(i, _)| *i == samples.i) else {
            continue;
        };
        let graded: Vec<Option<f64>> = replies
            .iter()
            .map(|reply| grade(reply, Mode::Default))
            .collect();
        assert_eq!(graded, own);
        let valid: Vec<f64> = own.iter().copied().flatten().collect();
        assert_close(
            GradeMerge::Mean.of(&valid),
            Some(valid.iter().sum::<f64>() / valid.len() as f64),
        );
        // Of two different grades the first seen; two equal ones are the first, too.
        assert_eq!(GradeMerge::MostCommon.of(&valid), valid.first().copied());
    }
}

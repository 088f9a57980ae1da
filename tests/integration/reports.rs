//! Aggregation against the reference's numbers, and reports through the public interface.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use scholareval::aggregate::agreement;
use scholareval::domain::{CaseId, Rubric, Score, ScoredAnswer, SystemName, TestCase};
use scholareval::stats::intraclass_correlation;
use serde_json::Value;

/// The directory of golden numbers, or why there is none.
fn shared() -> Result<PathBuf, String> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let dir = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
    if dir.join("golden").is_dir() { Ok(dir) } else { Err(format!("no golden numbers in {}", dir.display())) }
}

fn golden(name: &str) -> Option<Value> {
    match shared() {
        Ok(dir) => {
            Some(serde_json::from_str(&std::fs::read_to_string(dir.join("golden").join(name)).unwrap()).unwrap())
        }
        Err(reason) => {
            eprintln!("skipped: {reason}");
            None
        }
    }
}

/// One line `[case_id, annotator, agreement, question, score, ann_score]` of the golden file.
fn answer(system: &str, line: &Value) -> ScoredAnswer {
    let question = line[3].as_str().unwrap();
    let rubric = Rubric {
        question: Arc::from(question),
        low_length: 300,
        high_length: 600,
        length_weight: 0.05,
        expertise_weight: 0.05,
        citations_weight: 0.2,
        excerpts_weight: 0.1,
        criteria: Vec::new(),
    };
    let case = TestCase {
        case_id: CaseId::from(line[0].as_str().unwrap()),
        initial_prompt: question.to_owned(),
        annotator: line[1].as_str().unwrap().to_owned(),
        agreement: line[2].as_bool().unwrap(),
        rubric,
    };
    let score = Score {
        scorer: "rubric",
        value: line[4].as_f64(),
        ann_score: line[5].as_f64(),
        components: Vec::new(),
        notes: Vec::new(),
    };
    ScoredAnswer { system: SystemName::from(system), case: Arc::new(case), score, reference: None, steering: vec![] }
}

fn expect_numbers(expected: &Value, got: &[Option<f64>], what: &str) {
    let expected = expected.as_array().unwrap();
    assert_eq!(expected.len(), got.len(), "{what}");
    for (expected, got) in expected.iter().zip(got) {
        match (expected.as_f64(), got) {
            (Some(expected), Some(got)) => assert!((expected - got).abs() < 1e-12, "{what}: {expected} {got}"),
            // NaN and exceptions of SciPy are `None` here
            (expected, got) => assert_eq!(expected, *got, "{what}"),
        }
    }
}

#[test]
fn agreement_is_the_references_in_compat_and_scipys_by_default() {
    let Some(golden) = golden("agreement.json") else { return };
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len() as u64, golden["counts"]["cases"].as_u64().unwrap());
    for (i, case) in cases.iter().enumerate() {
        let what = format!("case {i} ({}, {})", case["tag"], case["name"]);
        let systems = case["results_by_src"].as_object().unwrap();
        let scored: Vec<ScoredAnswer> = systems
            .iter()
            .flat_map(|(system, lines)| lines.as_array().unwrap().iter().map(move |line| answer(system, line)))
            .collect();
        let result = agreement(&scored);
        let proper = &case["proper"];
        let per_question = |value: fn(&scholareval::aggregate::QuestionAgreement) -> Option<f64>| {
            result.questions.iter().map(value).collect::<Vec<_>>()
        };
        expect_numbers(&proper["kendall_tau_b"], &per_question(|q| q.kendall_tau_b), &what);
        expect_numbers(&proper["pearson"], &per_question(|q| q.pearson), &what);
        let reference = &case["reference"];
        assert_eq!(reference["exception"].as_str(), result.reference.exception.as_deref(), "{what}");
        if reference["exception"].is_null() {
            let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
            expect_numbers(&reference["kendall_per_question"], &some(&result.reference.kendall_per_question), &what);
            expect_numbers(&reference["pearson_per_question"], &some(&result.reference.pearson_per_question), &what);
            let names: Vec<&str> = result.questions.iter().map(|q| q.question.as_str()).collect();
            assert_eq!(serde_json::json!(names), reference["questions"], "{what}");
            for (printed, ours) in
                [("printed_kendall", result.reference.kendall), ("printed_pearson", result.reference.pearson)]
            {
                // printed with three decimals
                assert!((reference[printed].as_f64().unwrap() - ours.unwrap()).abs() <= 5.001e-4, "{what}: {printed}");
            }
        }
    }
}

#[test]
fn the_intraclass_correlation_is_the_references() {
    let Some(golden) = golden("agreement.json") else { return };
    let cases = golden["icc"].as_array().unwrap();
    assert_eq!(cases.len() as u64, golden["counts"]["icc"].as_u64().unwrap());
    for case in cases {
        let list = |key: &str| -> Vec<f64> { case[key].as_array().unwrap().iter().filter_map(Value::as_f64).collect() };
        let ours = intraclass_correlation(&list("scores1"), &list("scores2"));
        // "Infinity" and exceptions are `None` here
        match (case["icc"].as_f64(), ours) {
            (Some(expected), Some(ours)) => assert!((expected - ours).abs() < 1e-12, "{case}: {ours}"),
            (expected, ours) => assert_eq!(expected, ours, "{case}"),
        }
    }
}

//! Aggregation against the reference's numbers, and reports through the public interface.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scholareval::analysis::{AggregateOptions, agreement, summarize};
use scholareval::domain::{
    CaseId, Component, ComponentKind, Mode, Rubric, Score, ScoredAnswer, SystemName, TestCase,
};
use scholareval::report::{
    CsvText, ReportContext, TableStyle, scorecard, scorecard_csv, scorecard_json,
};
use scholareval::stats::intraclass_correlation;
use serde_json::Value;

/// The directory of golden numbers, or why there is none.
fn shared() -> Result<PathBuf, String> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let dir = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
    if dir.join("golden").is_dir() {
        Ok(dir)
    } else {
        Err(format!("no golden numbers in {}", dir.display()))
    }
}

fn golden(name: &str) -> Option<Value> {
    match shared() {
        Ok(dir) => Some(
            serde_json::from_str(&std::fs::read_to_string(dir.join("golden").join(name)).unwrap())
                .unwrap(),
        ),
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
        ..Rubric::default()
    };
    let case = TestCase {
        criteria: Vec::new(),
        reference: None,
        shown: Default::default(),
        group: None,
        case_id: CaseId::from(line[0].as_str().unwrap()),
        initial_prompt: question.to_owned(),
        annotator: line[1].as_str().unwrap().to_owned(),
        agreement: line[2].as_bool().unwrap(),
        rubric,
    };
    let score = Score {
        scorer: "rubric".into(),
        value: line[4].as_f64(),
        ann_score: line[5].as_f64(),
        ann_divisor: 0.6,
        components: vec![Component {
            value: line[4].as_f64(),
            ..Component::new("p0", ComponentKind::Property).with_weight(1.0)
        }],
        ..Score::default()
    };
    ScoredAnswer {
        system: SystemName::from(system),
        systems: None,
        case: Arc::new(case),
        score,
        members: Default::default(),
        injection: vec![],
    }
}

fn expect_numbers(expected: &Value, got: &[Option<f64>], what: &str) {
    let expected = expected.as_array().unwrap();
    assert_eq!(expected.len(), got.len(), "{what}");
    for (expected, got) in expected.iter().zip(got) {
        match (expected.as_f64(), got) {
            (Some(expected), Some(got)) => {
                assert!((expected - got).abs() < 1e-12, "{what}: {expected} {got}")
            }
            // NaN and exceptions of SciPy are `None` here
            (expected, got) => assert_eq!(expected, *got, "{what}"),
        }
    }
}

#[test]
fn agreement_is_the_references_in_compat_and_scipys_by_default() {
    let Some(golden) = golden("agreement.json") else {
        return;
    };
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(
        cases.len() as u64,
        golden["counts"]["cases"].as_u64().unwrap()
    );
    for (i, case) in cases.iter().enumerate() {
        let what = format!("case {i} ({}, {})", case["tag"], case["name"]);
        let systems = case["results_by_src"].as_object().unwrap();
        let scored: Vec<ScoredAnswer> = systems
            .iter()
            .flat_map(|(system, lines)| {
                lines
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(move |line| answer(system, line))
            })
            .collect();
        let result = agreement(&scored, Mode::Default);
        let proper = &case["proper"];
        let expect =
            |expected: &Value, result: &scholareval::analysis::Agreement, names: [&str; 2]| {
                let taus: Vec<_> = result.questions.iter().map(|q| q.kendall_tau_b).collect();
                let correlations: Vec<_> = result.questions.iter().map(|q| q.pearson).collect();
                expect_numbers(&expected[names[0]], &taus, &what);
                expect_numbers(&expected[names[1]], &correlations, &what);
            };
        expect(proper, &result, ["kendall_tau_b", "pearson"]);
        let reference = &case["reference"];
        let compat = agreement(&scored, Mode::Compat);
        assert_eq!(
            !reference["exception"].is_null(),
            compat.undefined > 0 || compat.questions.is_empty(),
            "{what}"
        );
        if reference["exception"].is_null() {
            expect(
                reference,
                &compat,
                ["kendall_per_question", "pearson_per_question"],
            );
            let names: Vec<&str> = compat
                .questions
                .iter()
                .map(|q| q.question.as_str())
                .collect();
            assert_eq!(serde_json::json!(names), reference["questions"], "{what}");
            for (printed, ours) in [
                ("printed_kendall", compat.kendall_tau_b),
                ("printed_pearson", compat.pearson),
            ] {
                // printed with three decimals
                assert!(
                    (reference[printed].as_f64().unwrap() - ours.unwrap()).abs() <= 5.001e-4,
                    "{what}: {printed}"
                );
            }
        }
    }
}

#[test]
fn the_intraclass_correlation_is_the_references() {
    let Some(golden) = golden("agreement.json") else {
        return;
    };
    let cases = golden["icc"].as_array().unwrap();
    assert_eq!(
        cases.len() as u64,
        golden["counts"]["icc"].as_u64().unwrap()
    );
    for case in cases {
        let list = |key: &str| -> Vec<f64> {
            case[key]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_f64)
                .collect()
        };
        let ours = intraclass_correlation(&list("scores1"), &list("scores2"));
        // "Infinity" and exceptions are `None` here
        match (case["icc"].as_f64(), ours) {
            (Some(expected), Some(ours)) => {
                assert!((expected - ours).abs() < 1e-12, "{case}: {ours}")
            }
            (expected, ours) => assert_eq!(expected, ours, "{case}"),
        }
    }
}

fn sample(name: &str) -> String {
    std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("data")
            .join(name),
    )
    .unwrap()
}

fn sample_answers(system: &str) -> Vec<(String, String)> {
    let text = sample(&format!("answers/{system}.jsonl"));
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text_of = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    lines
        .map(|line| (text_of(&line, "case_id"), text_of(&line, "answer_text")))
        .collect()
}

#[test]
fn the_sample_rubrics_have_the_released_weights_and_names() {
    let cases: Value = serde_json::from_str(&sample("test_cases.json")).unwrap();
    let cases = cases.as_array().unwrap();
    assert_eq!(cases.len(), 8);
    let questions: BTreeSet<&str> = cases
        .iter()
        .map(|case| case["initial_prompt"].as_str().unwrap())
        .collect();
    assert_eq!(questions.len(), 8, "a question is there twice");
    for case in cases {
        let config = &case["metric_config"]["config"];
        assert_eq!(case["initial_prompt"], config["question"]);
        let properties = config["other_properties"].as_array().unwrap();
        assert!((3..=5).contains(&properties.len()));
        let total: f64 = properties
            .iter()
            .map(|p| p["weight"].as_f64().unwrap())
            .sum();
        assert!((total - 0.6).abs() < 1e-9, "{}: {total}", case["case_id"]);
        let weight_of = |prefix: &str| {
            let found = properties
                .iter()
                .find(|p| p["name"].as_str().unwrap().starts_with(prefix))
                .unwrap();
            found["weight"].as_f64().unwrap()
        };
        assert!(
            (weight_of("most_important_item_") - 2.0 * weight_of("nice_to_have_item_")).abs()
                < 1e-9
        );
        assert!(
            properties
                .iter()
                .all(|p| (1..=4).contains(&p["evidence"].as_array().unwrap().len()))
        );
    }
}

#[test]
fn every_sample_system_answers_every_sample_case() {
    let cases: Value = serde_json::from_str(&sample("test_cases.json")).unwrap();
    let ids: Vec<&str> = cases
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["case_id"].as_str().unwrap())
        .collect();
    for system in ["careful", "brief", "vague"] {
        let answers = sample_answers(system);
        assert_eq!(
            answers
                .iter()
                .map(|(id, _)| id.as_str())
                .collect::<Vec<_>>(),
            ids,
            "{system}"
        );
        assert!(
            answers
                .iter()
                .all(|(_, text)| (60..450).contains(&text.split_whitespace().count())),
            "{system}"
        );
    }
}

#[test]
fn the_sample_systems_cover_their_rubrics_to_clearly_different_degrees() {
    let words = |text: &str| -> BTreeSet<String> {
        let lower = text.to_lowercase();
        lower
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.len() > 4)
            .map(str::to_owned)
            .collect()
    };
    let cases: Value = serde_json::from_str(&sample("test_cases.json")).unwrap();
    let coverage = |system: &str| -> f64 {
        let shares = cases
            .as_array()
            .unwrap()
            .iter()
            .zip(sample_answers(system))
            .map(|(case, (_, text))| {
                let wanted =
                    words(&case["metric_config"]["config"]["other_properties"].to_string());
                wanted.intersection(&words(&text)).count() as f64 / wanted.len() as f64
            });
        shares.sum::<f64>() / 8.0
    };
    let [careful, brief, vague] = ["careful", "brief", "vague"].map(coverage);
    assert!(
        careful > 2.0 * brief && brief > 2.0 * vague,
        "{careful} {brief} {vague}"
    );
}

#[test]
fn a_summary_goes_through_every_renderer() {
    let scored: Vec<Arc<ScoredAnswer>> = [("b", 0.25, "c1"), ("a", 0.75, "c1"), ("a", 0.25, "c2")]
        .map(|(system, score, case)| {
            Arc::new(answer(
                system,
                &serde_json::json!([case, "x", false, case, score, score]),
            ))
        })
        .to_vec();
    let missing = [(SystemName::from("b"), CaseId::from("c2"))];
    let options = AggregateOptions {
        seed: 7,
        ..AggregateOptions::default()
    };
    let summary = summarize(&scored, &missing, options);
    let context = ReportContext {
        run: "runs/x".to_owned(),
        judge: "stub".to_owned(),
        ..ReportContext::default()
    };
    let table = scorecard(&summary, &context)[0].terminal(&TableStyle::default());
    // a: (0.75 + 0.25) / 2, ranked by c1 alone
    assert!(
        table
            .lines()
            .any(|line| line.starts_with("a ") && line.contains("50.0")),
        "{table}"
    );
    let json: Value = serde_json::from_str(&scorecard_json(&summary, &context).unwrap()).unwrap();
    assert!(
        json["notes"].to_string().contains("1 answer missing: b/c2"),
        "{json}"
    );
    let row = &json["scorers"][0]["rows"][0];
    assert_eq!(
        (&row["system"], &row["metrics"]["score"]["estimate"]),
        (&"a".into(), &0.5.into())
    );
    let csv = scorecard_csv(&summary, CsvText::Guarded).unwrap();
    assert!(
        csv.lines().nth(2).unwrap().starts_with("b,2,0.25,,,1,0,"),
        "{csv}"
    );
}

//! Benchmarks as data: rows of their forms read by the built-in profiles, replies of judges, and the numbers of the references.

use std::collections::BTreeMap;
use std::sync::Arc;

use scholareval::analysis::{AggregateOptions, Metric, summarize};
use scholareval::dataset::load_tests;
use scholareval::domain::{
    Answer, JudgeReply, Mode, Reading, Score, ScoredAnswer, TestCase, UnscoredKind, UnscoredReason,
    Verdict,
};
use scholareval::question::CriteriaLevels;
use scholareval::scorer::criteria::CriteriaScorer;
use scholareval::scorer::{Scorer, Step, Subject, Verdicts};
use serde_json::{Value, json};

use crate::text_golden::golden;

/// An answer of a benchmark.
struct Row {
    id: String,
    /// The rows of its case.
    rows: Vec<Value>,
    answer: String,
    /// The replies to each call, attempt by attempt.
    replies: Vec<Vec<Value>>,
    /// Values by metric; `score` is the score.
    expected: Vec<(&'static str, Option<f64>)>,
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The replies of a row in which each call has a list of attempts.
fn by_call(value: &Value) -> Vec<Vec<Value>> {
    let calls = list(value).iter();
    calls.map(|attempts| list(attempts).to_vec()).collect()
}

/// The case of these rows and the scorer of its profile in compat mode; `None` for rows that are refused.
fn read(rubric: &str, rows: &[Value]) -> Option<(Arc<TestCase>, CriteriaScorer)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.jsonl");
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    std::fs::write(&path, lines.join("\n")).unwrap();
    let (tests, profile) = load_tests(&path, Mode::Compat, Some(rubric), false).ok()?;
    let scorer = CriteriaScorer {
        profile,
        mode: Mode::Compat,
        is_baseline: false,
    };
    Some((Arc::clone(&tests.cases[0]), scorer))
}

/// Scores an answer, call after call; a call without a readable reply among its attempts is unreadable.
fn score(scorer: &CriteriaScorer, case: &TestCase, row: &Row) -> Score {
    let answer = Answer::new("s".into(), case.case_id.clone(), &*row.answer);
    let mut replies = row.replies.iter();
    let mut verdicts = Verdicts::new();
    loop {
        let calls = match scorer.step(&Subject::new(case, &answer), &verdicts) {
            Step::Done(score) => return score,
            Step::Ask(calls) => calls,
        };
        for call in calls {
            let attempts = replies.next().map_or(&[][..], Vec::as_slice);
            let texts = attempts.iter().filter_map(Value::as_str);
            let mut readings = texts.filter_map(|text| {
                let reply = JudgeReply::of_text(text);
                call.question.parse(&reply, Mode::Compat).ok()
            });
            let Some(reading) = readings.next() else {
                let reason = UnscoredReason::new(UnscoredKind::Unreadable, "no verdict");
                verdicts.insert(Arc::clone(&call.item), Err(reason));
                continue;
            };
            let asked: &CriteriaLevels = call.question.downcast_ref().unwrap();
            let Verdict::Criteria(all) = reading.verdict else {
                panic!("{:?}", reading.verdict)
            };
            for (criterion, of_one) in asked.criteria.iter().zip(all.iter()) {
                let verdict = Verdict::Criteria([of_one.clone()].into());
                let name = criterion.name.as_str().into();
                verdicts.insert(name, Ok(Reading::new(verdict)));
            }
        }
    }
}

/// The metrics of a system with these answers.
fn metrics(answers: Vec<ScoredAnswer>) -> BTreeMap<String, Metric> {
    let scored: Vec<Arc<ScoredAnswer>> = answers.into_iter().map(Arc::new).collect();
    let summary = summarize(&scored, &[], AggregateOptions::default());
    summary.scorers[0].rows[0].metrics.clone()
}

fn is_close(value: Option<f64>, expected: Option<f64>) -> bool {
    match (value, expected) {
        (Some(value), Some(expected)) => (value - expected).abs() < 1e-9,
        (value, expected) => value == expected,
    }
}

fn answer_of(rubric: &str, row: &Row) -> Option<ScoredAnswer> {
    let (case, scorer) = read(rubric, &row.rows)?;
    let score = score(&scorer, &case, row);
    Some(ScoredAnswer::new("s".into(), case, score))
}

/// Checks every row; those that differ are exactly `differing`, each by the rule next to it.
#[track_caller]
fn check(rubric: &str, rows: &[Row], differing: &[(&str, &str)]) {
    let mut different = Vec::new();
    for row in rows {
        let metrics =
            answer_of(rubric, row).map_or_else(BTreeMap::new, |answer| metrics(vec![answer]));
        for (name, expected) in &row.expected {
            let value = metrics.get(*name).and_then(|metric| metric.estimate);
            if !is_close(value, *expected) {
                different.push(format!("{} {name}: {value:?}, not {expected:?}", row.id));
                break;
            }
        }
    }
    let ids = different.iter().map(|row| row.split(' ').next().unwrap());
    let known: Vec<&str> = differing.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids.collect::<Vec<_>>(), known, "{rubric}: {different:#?}");
}

/// The rows of a benchmark.
fn rows_of(file: &str, name: &str, row: impl Fn(&Value) -> Option<Row>) -> Option<Vec<Row>> {
    let golden = golden(file)?;
    let rows: Vec<Row> = list(&golden[name]).iter().filter_map(row).collect();
    assert!(rows.len() > 5, "{name}");
    Some(rows)
}

fn id_of(example: &Value) -> String {
    example["id"].as_str().unwrap().to_owned()
}

fn row(example: &Value, replies: Vec<Vec<Value>>, expected: &[(&'static str, &Value)]) -> Row {
    let expected = expected.iter();
    Row {
        id: id_of(example),
        rows: vec![example["row"].clone()],
        answer: "An answer.".to_owned(),
        replies,
        expected: expected
            .map(|(name, value)| (*name, value.as_f64()))
            .collect(),
    }
}

#[test]
fn draco_is_that_of_its_package_and_of_the_judge_of_others() {
    let verdict = |digit: &Value| match digit.as_str() {
        Some("1") => json!({"criterion_status": "MET", "explanation": ""})
            .to_string()
            .into(),
        Some("0") => json!({"criterion_status": "UNMET", "explanation": ""})
            .to_string()
            .into(),
        _ => digit.clone(),
    };
    let rows = rows_of("bench.json", "draco", |example| {
        let pass = list(&example["passes"]).first()?;
        let replies = list(pass)
            .iter()
            .map(|digit| vec![verdict(digit)])
            .collect();
        let first = &example["expect"]["package"][0];
        Some(row(example, replies, &[("score", &first["score"])]))
    });
    let Some(rows) = rows else { return };
    check("draco", &rows, &[]);
    let rows = rows_of("bench2.json", "draco_valyu", |example| {
        let replies = list(&example["runs"][0]).iter().map(|reply| match reply {
            Value::Array(attempts) => attempts.clone(),
            reply => vec![reply.clone()],
        });
        let first = &example["expect"]["runs"][0];
        let expected = [
            ("score", &first["normalized_score"]),
            ("pass_rate", &first["pass_rate"]),
        ];
        Some(row(example, replies.collect(), &expected))
    });
    check("draco", &rows.unwrap(), &[]);
}

#[test]
fn deep_research_bench_2_is_its_references() {
    let rows = rows_of("bench.json", "deepresearch_bench_2", |example| {
        let averages = &example["expect"]["averages"];
        let expected = [
            ("score", &averages["total"]),
            ("blocked_rate", &averages["blocked_rate"]),
        ];
        Some(row(example, by_call(&example["replies"]), &expected))
    });
    let Some(rows) = rows else { return };
    check("deepresearch-bench-2", &rows, &[]);
}

#[test]
fn healthbench_professional_is_its_references() {
    let rows = rows_of("bench.json", "healthbench_professional", |example| {
        let metrics = &example["expect"]["metrics"];
        let adjusted = "overall_score_length_adjusted";
        let expected = [
            ("score", &metrics["overall_score"]),
            (adjusted, &metrics[adjusted]),
        ];
        let times = example["answer"]["times"].as_u64()? as usize;
        Some(Row {
            answer: example["answer"]["unit"].as_str()?.repeat(times),
            ..row(example, by_call(&example["replies"]), &expected)
        })
    });
    let Some(rows) = rows else { return };
    check("healthbench-professional", &rows, &[]);
}

#[test]
fn frontier_science_is_that_of_olmo_eval() {
    let rows = rows_of("bench2.json", "frontierscience_research", |example| {
        let expect = &example["expect"]["olmo_eval"];
        let expected = [
            ("score", &expect["rubric_score"]),
            ("success", &expect["success"]),
        ];
        Some(row(
            example,
            vec![vec![example["reply"].clone()]],
            &expected,
        ))
    });
    let Some(rows) = rows else { return };
    check("frontierscience-research", &rows, &[]);
}

#[test]
fn prbench_is_its_references() {
    let rows = rows_of("bench2.json", "prbench", |example| {
        let replies = list(&example["replies"]).iter().map(|reply| match reply {
            Value::Array(attempts) => attempts.clone(),
            reply => vec![reply.clone()],
        });
        let expect = &example["expect"];
        let expected = [
            ("score", &expect["clipped"]),
            ("normalized_score", &expect["normalized"]),
        ];
        Some(row(example, replies.collect(), &expected))
    });
    let Some(rows) = rows else { return };
    check("prbench", &rows, &[]);
}

#[test]
fn live_research_bench_is_its_references() {
    let rows = rows_of("bench.json", "liveresearchbench", |example| {
        let percent = example["expect"]["percent"].as_f64();
        let replies = vec![list(&example["replies"]).to_vec()];
        (example["kind"] == "coverage").then(|| Row {
            rows: list(&example["rows"]).to_vec(),
            expected: vec![("score", percent.map(|percent| percent / 100.0))],
            ..row(example, replies, &[])
        })
    });
    let Some(rows) = rows else { return };
    check("liveresearchbench", &rows, &[]);
}

#[test]
fn prof_bench_is_its_references() {
    let rows = rows_of("bench.json", "profbench", |example| {
        let expected = [("score", &example["expect"]["score"])];
        Some(row(example, by_call(&example["replies"]), &expected))
    });
    let Some(rows) = rows else { return };
    check("profbench", &rows, &[]);
}

#[test]
fn researcher_bench_is_its_references() {
    let rows = rows_of("bench.json", "researcherbench", |example| {
        let expected = [("score", &example["expect"]["recall"])];
        Some(row(example, by_call(&example["replies"]), &expected))
    });
    let Some(rows) = rows else { return };
    check("researcherbench", &rows, &[]);
}

#[test]
fn nuggets_are_those_of_the_nuggetizer() {
    let rows = rows_of("bench2.json", "nuggets", |example| {
        let both = &example["expect"];
        let expect = both.get("nuggetizer").unwrap_or(both);
        let expected = [
            ("score", &expect["all_score"]),
            ("strict_all_score", &expect["strict_all_score"]),
            ("vital_score", &expect["vital_score"]),
            ("strict_vital_score", &expect["strict_vital_score"]),
        ];
        let replies = list(&example["replies"]);
        let windows = list(&example["row"]["nuggets"]).len().div_ceil(10);
        let replies = match windows {
            1 => vec![replies.to_vec()],
            _ => replies.iter().map(|reply| vec![reply.clone()]).collect(),
        };
        Some(row(example, replies, &expected))
    });
    let Some(rows) = rows else { return };
    check("nuggets", &rows, &[]);
}

#[test]
fn biggen_and_sedareval_grades_are_their_references() {
    let rows = rows_of("bench.json", "biggen_bench", |example| {
        let grade = example["expect"]["score"].as_f64();
        Some(Row {
            expected: vec![("score", grade.map(|grade| (grade - 1.0) / 4.0))],
            ..row(example, vec![list(&example["replies"]).to_vec()], &[])
        })
    });
    let Some(rows) = rows else { return };
    check("biggen-bench", &rows, &[]);
    let rows = rows_of("bench.json", "sedareval", |example| {
        let points = example["expect"]["score"]
            .as_f64()
            .filter(|points| *points >= 0.0);
        Some(Row {
            expected: vec![("score", points.map(|points| points / 5.0))],
            ..row(example, vec![list(&example["replies"]).to_vec()], &[])
        })
    });
    check("sedareval", &rows.unwrap(), &[]);
}

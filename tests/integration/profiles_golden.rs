//! Benchmarks as data: rows of their forms read by the built-in profiles, replies of judges, and the numbers of the references.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use scholareval::analysis::{AggregateOptions, Metric, summarize};
use scholareval::dataset::load_tests;
use scholareval::domain::{
    Answer, GradeMerge, JudgeReply, Mode, Reading, Score, ScoredAnswer, TestCase, UnscoredKind,
    UnscoredReason, Verdict,
};
use scholareval::question::{CriteriaLevels, Sample};
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
    /// The replies to each call, attempt by attempt, or pass by pass.
    replies: Vec<Vec<Value>>,
    /// Whether the judge is asked several times, so that each reply counts.
    is_of_passes: bool,
    /// Criteria a call, where the reference's settings differ from the profile's.
    batch: Option<usize>,
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
            if row.is_of_passes {
                let samples: Vec<Sample> = readings.map(|reading| Ok(reading).into()).collect();
                let merged = call
                    .question
                    .merge(&samples, GradeMerge::Mean, Mode::Compat);
                verdicts.insert(Arc::clone(&call.item), merged);
                continue;
            }
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
    let (case, mut scorer) = read(rubric, &row.rows)?;
    scorer.profile.batch = row.batch.unwrap_or(scorer.profile.batch);
    let score = score(&scorer, &case, row);
    Some(ScoredAnswer::new("s".into(), case, score))
}

/// Checks every row; those that differ are exactly `differing`: their numbers behind the prefix of the benchmark, with the rule by which
/// they do (the replies that a judge may give, and what a case may hold, are the same for all profiles).
#[track_caller]
fn check(rubric: &str, rows: &[Row], differing: &[(&str, &str)]) {
    let mut different = Vec::new();
    for row in rows {
        let metrics =
            answer_of(rubric, row).map_or_else(BTreeMap::new, |answer| metrics(vec![answer]));
        for (name, expected) in &row.expected {
            let value = metrics.get(*name).and_then(|metric| metric.estimate);
            if !is_close(value, *expected) {
                different.push((
                    number_of(&row.id),
                    format!("{name}: {value:?}, not {expected:?}"),
                ));
                break;
            }
        }
    }
    let mut known: Vec<&str> = differing
        .iter()
        .flat_map(|(numbers, _)| numbers.split(' '))
        .collect();
    known.sort_unstable();
    let numbers: Vec<&str> = different.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, known, "{rubric}: {different:#?}");
}

/// `08` of `draco-d08`.
fn number_of(id: &str) -> &str {
    &id[id.len() - 2..]
}

/// The metrics of a system with the answers of these ids, means clipped where the profile does.
fn over(rubric: &str, rows: &[Row], ids: &Value) -> Option<BTreeMap<String, Metric>> {
    let mut answers = Vec::new();
    for id in list(ids) {
        let row = rows.iter().find(|row| *id == row.id)?;
        answers.push(Arc::new(answer_of(rubric, row)?));
    }
    let options = AggregateOptions {
        mode: Mode::Compat,
        clip: read(rubric, &rows[0].rows)?.1.profile.clip_in_compat,
        ..AggregateOptions::default()
    };
    let summary = summarize(&answers, &[], options);
    Some(summary.scorers[0].rows[0].metrics.clone())
}

/// The rows of a benchmark.
fn rows_of(file: &str, name: &str, row: impl Fn(&Value) -> Option<Row>) -> Option<Vec<Row>> {
    let golden = golden(file)?;
    let rows: Vec<Row> = list(&golden[name]).iter().filter_map(row).collect();
    assert!(!rows.is_empty(), "{name}");
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
        is_of_passes: false,
        batch: None,
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
    check(
        "draco",
        &rows,
        &[
            (
                "08",
                "without positive weights the score is 0, as in the judge of others",
            ),
            ("12", "without a verdict: 0, as in the judge of others"),
            (
                "13 14 16",
                "the case of a level and a fence do not matter; an empty reply counts 0",
            ),
        ],
    );
    let passes = rows_of("bench.json", "draco", |example| {
        let passes = list(&example["passes"]);
        let criteria = 0..list(passes.first()?).len();
        let replies = criteria.map(|at| passes.iter().map(|pass| verdict(&pass[at])).collect());
        let replies: Vec<Vec<Value>> = replies.collect();
        let protocol = &example["expect"]["protocol"];
        let mean = |name: &str| protocol[name].as_f64();
        protocol.is_object().then(|| Row {
            is_of_passes: true,
            expected: vec![
                ("score", mean("normalized_score")),
                ("pass_rate", mean("pass_rate")),
            ],
            ..row(example, replies, &[])
        })
    });
    // The protocol prints four places.
    for row in passes.unwrap() {
        let metrics = metrics(vec![answer_of("draco", &row).unwrap()]);
        for (name, expected) in &row.expected {
            let estimate = metrics[*name].estimate.unwrap();
            let is_close = (estimate - expected.unwrap()).abs() < 0.51e-4;
            // Without a verdict a criterion is 0, where the protocol leaves it out of both sums.
            assert!(
                is_close || row.id == "draco-d12",
                "{}: {name} {estimate}, {expected:?}",
                row.id
            );
        }
    }
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
    check(
        "draco",
        &rows.unwrap(),
        &[("04", "a level is written as asked, as HealthBench reads it")],
    );
}

#[test]
fn deep_research_bench_2_is_its_references() {
    let rows = rows_of("bench.json", "deepresearch_bench_2", |example| {
        let averages = &example["expect"]["averages"];
        let expected = [
            ("score", &averages["total"]),
            ("blocked_rate", &averages["blocked_rate"]),
        ];
        let size = example["chunk_size"].as_u64()? as usize;
        Some(Row {
            batch: Some(size),
            ..row(example, by_call(&example["replies"]), &expected)
        })
    });
    let Some(rows) = rows else { return };
    check(
        "deepresearch-bench-2",
        &rows,
        &[
            ("12", "compact JSON is read"),
            ("14", "a level as a text is a level"),
            (
                "15 16 17",
                "each point has one level of the scale, else the reply is unreadable",
            ),
            ("20 21", "a point that occurs twice counts twice"),
            ("24", "every group counts"),
        ],
    );
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
    let golden = golden("bench.json").unwrap();
    for example in list(&golden["healthbench_professional_over"]) {
        let metrics = over("healthbench-professional", &rows, &example["ids"]).unwrap();
        for (name, expected) in example["expect"]["metrics"].as_object().unwrap() {
            let name = if name == "overall_score" {
                "score"
            } else {
                name
            };
            if !name.contains(":n_samples") {
                let value = metrics[name].estimate;
                assert!(
                    is_close(value, expected.as_f64()),
                    "{name}: {value:?}, {expected}"
                );
            }
        }
    }
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
    check(
        "frontierscience-research",
        &rows,
        &[("06", "a number above the scale is unreadable")],
    );
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
    check(
        "prbench",
        &rows,
        &[
            ("06", "JSON is read as JSON"),
            (
                "08",
                "without positive weights the score is 0, not the end of the run",
            ),
            ("12", "a reply without JSON is unreadable"),
        ],
    );
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
    check(
        "liveresearchbench",
        &rows,
        &[
            (
                "13 26 29",
                "text and a fence around JSON, and an object without the outer key, are read",
            ),
            (
                "16 17 18 19 24",
                "exactly one verdict for each item, under its number",
            ),
            (
                "20 23",
                "a value that is not a level of the scale is unreadable",
            ),
            ("21", "a level as a text is a level"),
            ("27", "a text that is not JSON is unreadable"),
            ("30", "a case with an empty item is refused"),
        ],
    );
}

#[test]
fn prof_bench_is_its_references() {
    let rows = rows_of("bench.json", "profbench", |example| {
        let expected = [("score", &example["expect"]["score"])];
        Some(row(example, by_call(&example["replies"]), &expected))
    });
    let Some(rows) = rows else { return };
    check(
        "profbench",
        &rows,
        &[
            (
                "00 01 02 03 06 07 10 11 12 13 14",
                "of a first word case and marks do not matter, and it is a whole word",
            ),
            ("18 20", "a criterion without a reply counts 0"),
        ],
    );
    // Of means its parser is left out: the replies are what it read. Types are pooled; all is printed in percent with one place.
    let rows = rows_of("bench.json", "profbench", |example| {
        let fulfilled = list(&example["expect"]["fulfilled"]).iter();
        let replies =
            fulfilled.map(|met| Some(vec![if met.as_bool()? { "Yes" } else { "No" }.into()]));
        Some(row(example, replies.collect::<Option<Vec<_>>>()?, &[]))
    });
    let golden = golden("bench.json").unwrap();
    let mut equal = 0;
    for example in list(&golden["profbench_over"]) {
        let ids = list(&example["ids"]);
        let is_known = |id: &Value| rows.as_ref().unwrap().iter().any(|row| *id == row.id);
        // Here a system answers a case once.
        let is_repeated = example.get("same_task").is_some();
        if ids.is_empty() || is_repeated || !ids.iter().all(is_known) {
            continue;
        }
        let metrics = over("profbench", rows.as_ref().unwrap(), &example["ids"]).unwrap();
        for (name, expected) in example["expect"]["printed"].as_object().unwrap() {
            let name = match name.as_str() {
                "Overall" => "macro_score".to_owned(),
                "Style" | "Reasoning" | "Extraction (recall)" => format!("micro {name}"),
                domain if metrics.contains_key(domain) => domain.to_owned(),
                _ => continue,
            };
            let value = 100.0 * metrics[&name].estimate.unwrap();
            assert!(
                (value - expected.as_f64().unwrap()).abs() < 0.11,
                "{name}: {value}, {expected}"
            );
            equal += 1;
        }
    }
    assert!(equal > 0);
}

#[test]
fn researcher_bench_is_its_references() {
    let rows = rows_of("bench.json", "researcherbench", |example| {
        let expected = [("score", &example["expect"]["recall"])];
        Some(row(example, by_call(&example["replies"]), &expected))
    });
    let Some(rows) = rows else { return };
    check(
        "researcherbench",
        &rows,
        &[
            ("12", "yes is a first word, not a part of one"),
            ("15", "a point without a weight is refused"),
            ("17 18", "what can be earned are the positive weights"),
        ],
    );
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
    check("nuggets", &rows, &[("12", "another word is unreadable")]);
}

#[test]
fn gdpval_is_the_share_of_points() {
    let rows = rows_of("bench2.json", "gdpval", |example| {
        let reply = |credit: &Value| {
            let level = if credit.as_f64() == Some(1.0) {
                "met"
            } else {
                "not met"
            };
            vec![
                json!({"explanation": "", "verdict": level})
                    .to_string()
                    .into(),
            ]
        };
        let replies = list(&example["credits"]).iter().map(reply).collect();
        let expected = [("score", &example["expect"]["score"])];
        (example["kind"] == "per_criterion").then(|| row(example, replies, &expected))
    });
    let Some(rows) = rows else { return };
    check("gdpval", &rows, &[]);
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
    check(
        "biggen-bench",
        &rows,
        &[
            (
                "00 13 15",
                "marks around a grade, and words behind it, do not matter",
            ),
            (
                "07 08 14 19 21",
                "the mark is the one that the prompt asks for",
            ),
        ],
    );
    let rows = rows_of("bench.json", "sedareval", |example| {
        let points = example["expect"]["score"]
            .as_f64()
            .filter(|points| *points >= 0.0);
        Some(Row {
            expected: vec![("score", points.map(|points| points / 5.0))],
            ..row(example, vec![list(&example["replies"]).to_vec()], &[])
        })
    });
    check(
        "sedareval",
        &rows.unwrap(),
        &[
            ("08", "a number above the scale is unreadable"),
            ("13", "marks around a number do not matter"),
            ("15", "a fraction is not read as a number"),
            ("18", "an empty answer is asked about like others"),
            (
                "19 20 21 22",
                "several votes are samples (--samples), here the first one counts",
            ),
        ],
    );
}

#[test]
fn categories_of_sedareval_make_its_total() {
    let rows = rows_of("bench.json", "sedareval", |example| {
        let points = example["expect"]["score"].as_f64()?;
        let reply = Value::from(format!("最终得分：{points}"));
        (points <= 5.0).then(|| row(example, vec![vec![reply]], &[]))
    });
    let Some(rows) = rows else { return };
    let golden = golden("bench.json").unwrap();
    let mut compared = 0;
    for example in list(&golden["sedareval_over"]) {
        let ids = list(&example["ids"]).iter();
        let known = ids.filter(|id| rows.iter().any(|row| **id == row.id));
        if known.count() < list(&example["ids"]).len() || list(&example["ids"]).is_empty() {
            continue;
        }
        let metrics = over("sedareval", &rows, &example["ids"]).unwrap();
        let percent = |name: &str| metrics[name].estimate.map(|estimate| 100.0 * estimate);
        let expect = &example["expect"];
        let categories = expect["by_category"].as_object().unwrap();
        for (name, expected) in categories {
            assert!(
                is_close(percent(name), expected.as_f64()),
                "{name}: {:?}, {expected}",
                percent(name)
            );
        }
        // The total takes maths, code and logic for one category of six; where others do not occur they still count five sixths there,
        // and here each as much as these three.
        let reasoning = expect["reasoning_group"].as_f64().unwrap();
        let nested = ["数学", "代码", "推理"];
        let others = categories
            .iter()
            .filter(|(name, _)| !nested.contains(&name.as_str()));
        let others: Vec<f64> = others
            .map(|(_, percent)| percent.as_f64().unwrap())
            .collect();
        let sum: f64 = others.iter().sum();
        let count = others.len() as f64;
        let total = (reasoning + 5.0 * sum / count) / 6.0;
        assert!(
            is_close(Some(total), expect["total"].as_f64()),
            "{total}, {expect}"
        );
        let expected = (reasoning + sum) / (1.0 + count);
        assert!(
            is_close(percent("macro_score"), Some(expected)),
            "{:?}, {expected}",
            percent("macro_score")
        );
        compared += 1;
    }
    assert!(compared > 0);
}

/// A leaf's category by the letter of a shape.
fn category(letter: &Value) -> &'static str {
    match letter.as_str() {
        Some("D") => "Code Development",
        Some("E") => "Code Execution",
        _ => "Result Analysis",
    }
}

/// The tree of a shape: `[weight, letter or list of children]`.
fn tree_of(shape: &Value, id: &str) -> Value {
    let below = &shape[1];
    let children: Vec<Value> = (1..)
        .zip(list(below))
        .map(|(at, child)| tree_of(child, &format!("{id}-{at}")))
        .collect();
    let category = below.is_string().then(|| category(below));
    json!({
        "id": id, "requirements": format!("made {id}"), "weight": shape[0], "sub_tasks": children,
        "task_category": category,
    })
}

/// The ids of leaves in order.
fn leaves(node: &Value) -> Vec<&str> {
    match list(&node["sub_tasks"]) {
        [] => Vec::from_iter(node["id"].as_str()),
        children => children.iter().flat_map(leaves).collect(),
    }
}

/// The names of the metrics of inner nodes below a node, depth first.
fn inner_names(node: &Value, name: &str) -> Vec<String> {
    let separator = if name.contains(' ') { '.' } else { ' ' };
    let mut names = Vec::new();
    for (at, child) in (1..).zip(list(&node["sub_tasks"])) {
        if !list(&child["sub_tasks"]).is_empty() {
            let name = format!("{name}{separator}{at}");
            names.push(name.clone());
            names.extend(inner_names(child, &name));
        }
    }
    names
}

/// A row of PaperBench; `None` for those in which the reference drops or joins leaves.
fn paper_row(example: &Value) -> Option<Row> {
    if example["max_depth"].is_number() || example["code_only"].is_boolean() {
        return None;
    }
    let mut row = row(
        example,
        Vec::new(),
        &[("score", &example["expect"]["score"])],
    );
    if example["row"].is_null() {
        row.rows = vec![tree_of(&example["shape"], "root")];
    }
    let reply = |digit: char| vec![json!({"score": digit.to_digit(10)}).to_string().into()];
    row.replies = match &example["replies"] {
        Value::String(digits) => digits.chars().map(reply).collect(),
        Value::Object(by_id) => {
            let ids = leaves(&row.rows[0]).into_iter();
            ids.map(|id| vec![by_id[id].clone()]).collect()
        }
        texts => list(texts).iter().map(|text| vec![text.clone()]).collect(),
    };
    Some(row)
}

#[test]
fn paper_bench_is_its_references() {
    let Some(rows) = rows_of("bench.json", "paperbench", paper_row) else {
        return;
    };
    check(
        "paperbench",
        &rows,
        &[
            (
                "24 25",
                "a fence, and an object without its other fields, are read; true is no level",
            ),
            ("32 33", "a number as a text is a weight, true is none"),
            ("36", "any category is a tag"),
            ("38", "the weight of the root does not count"),
        ],
    );
}

#[test]
fn nodes_of_paper_bench_are_their_references() {
    let Some(golden) = golden("bench.json") else {
        return;
    };
    let mut nodes = 0;
    for example in list(&golden["paperbench"]) {
        let Some(row) = paper_row(example) else {
            continue;
        };
        let Some(answer) = answer_of("paperbench", &row) else {
            continue;
        };
        let tree = &row.rows[0];
        let root = tree["id"].as_str().unwrap();
        let metrics = metrics(vec![answer]);
        let value = |name: &str| metrics.get(name).and_then(|metric| metric.estimate);
        let inner = list(&example["expect"]["inner_scores"]).iter().skip(1);
        for (name, expected) in inner_names(tree, root).iter().zip(inner) {
            // Below the first child nothing has a weight: it has no value.
            if row.id == "pb-d30" {
                assert_eq!((value(name), expected.as_f64()), (None, Some(0.0)));
                continue;
            }
            assert!(
                is_close(value(name), expected.as_f64()),
                "{}: {name}",
                row.id
            );
            nodes += 1;
        }
        let children = list(&example["expect"]["children"]);
        let below = list(&tree["sub_tasks"]).iter().zip(children);
        for (at, (child, expected)) in (1..).zip(below) {
            if !list(&child["sub_tasks"]).is_empty() {
                let name = format!("{root} {at}");
                assert!(
                    is_close(value(&name), expected.as_f64()),
                    "{}: {name}",
                    row.id
                );
                nodes += 1;
            }
        }
    }
    assert!(nodes > 100, "{nodes}");
}

/// The profile of this name in the page of profiles to paste, in a directory.
fn documented(name: &str) -> tempfile::TempDir {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/formats/profiles-to-paste.md");
    let page = std::fs::read_to_string(page).unwrap();
    let first = format!("    name = \"{name}\"\n");
    let begin = page.find(&first).unwrap();
    let lines = page[begin..]
        .lines()
        .take_while(|line| line.starts_with("    "));
    let profile: Vec<&str> = lines.map(|line| &line[4..]).collect();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("profile.toml"), profile.join("\n")).unwrap();
    dir
}

#[test]
fn the_documented_profile_of_deer_has_its_means_but_for_their_rounding() {
    let Some(golden) = golden("bench.json") else {
        return;
    };
    let children = |value: Vec<Value>| json!({"text": "made", "children": value});
    let dir = documented("deer");
    let mut compared = 0;
    for example in list(&golden["deer"]) {
        let (mut replies, mut dimensions) = (Vec::new(), Vec::new());
        let mut is_on_scale = true;
        for (dimension, criteria) in golden["deer_items"].as_object().unwrap() {
            let mut of_dimension = Vec::new();
            for (criterion, elements) in criteria.as_object().unwrap() {
                let mut of_criterion = Vec::new();
                for (element, items) in elements.as_object().unwrap() {
                    let scores = list(&example["scores"][dimension][criterion][element]).iter();
                    let items = list(items).iter().map(|item| item.as_str().unwrap());
                    let mut kinds: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
                    for (item, score) in items.zip(scores) {
                        let on_scale = score
                            .as_i64()
                            .is_some_and(|level| (1..=10).contains(&level));
                        is_on_scale = is_on_scale && on_scale;
                        kinds
                            .entry(&item[..1])
                            .or_default()
                            .push(json!({"text": item, "children": []}));
                        replies.push(vec![json!({"score": score}).to_string().into()]);
                    }
                    of_criterion.push(children(kinds.into_values().map(children).collect()));
                }
                of_dimension.push(children(of_criterion));
            }
            dimensions.push(children(of_dimension));
        }
        let row = Row {
            rows: vec![json!({"id": "d", "query": "why?", "items": children(dimensions)})],
            ..row(example, replies, &[])
        };
        let answer = answer_of(dir.path().to_str().unwrap(), &row).unwrap();
        // The reference takes any number, and leaves out an item that is N/A among its neighbors; other replies are about its parser.
        if !is_on_scale || example.get("replies").is_some() {
            continue;
        }
        let score = 10.0 * answer.score.value.unwrap();
        let Some(expected) = example["expect"]["overall"].as_f64() else {
            continue;
        };
        assert!(
            (score - expected).abs() < 0.02,
            "{}: {score}, {expected}",
            row.id
        );
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
}

#[test]
fn the_documented_profile_of_advanced_if_has_its_micro_pass_rate() {
    let Some(golden) = golden("bench2.json") else {
        return;
    };
    let dir = documented("advancedif");
    let mut compared = 0;
    for example in list(&golden["advancedif"]) {
        let stats = &example["expect"]["one_answer_stats"];
        let Some(answers) = example["expect"]["answers"].as_object() else {
            continue;
        };
        let mut entries = serde_json::Map::new();
        for (question, text) in answers {
            let is_met = text.as_str().unwrap().to_lowercase().contains("yes");
            let word = if is_met { "yes" } else { "no" };
            entries.insert(question.clone(), json!({"answer": word}));
        }
        let reply = json!({"rubrics_check": entries}).to_string();
        let row = row(example, vec![vec![reply.into()]], &[]);
        let Some(answer) = answer_of(dir.path().to_str().unwrap(), &row) else {
            // Here the fields hold JSON in a text.
            assert!(
                !example["row"]["conversation_history"].is_string(),
                "{}",
                row.id
            );
            continue;
        };
        // One answer too many is ignored by its rate, counted by its pool, and unreadable here.
        if answers.len() != answer.case.criteria.len() {
            continue;
        }
        let metrics = metrics(vec![answer]);
        let expected = stats["micro_pass_rate"].as_f64();
        assert!(is_close(metrics["micro"].estimate, expected), "{}", row.id);
        let is_whole = expected == Some(1.0);
        assert_eq!(
            metrics["overall_pass"].estimate,
            Some(f64::from(u8::from(is_whole)))
        );
        compared += 1;
    }
    assert!(compared >= 4, "{compared}");
}

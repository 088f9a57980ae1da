//! Parity with the reference's rubric scores (`golden/rubric.json`), through the pure scorer with its stub judge.
//!
//! Compat must give every number of the file. In default mode the expected numbers come from `oracle`, which is the
//! default column of METRICS.md written a second time; where a row is on no fault of the reference, the oracle itself
//! must give the file's numbers.

mod oracle;
mod stub;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scholareval::Error;
use scholareval::dataset::{
    PairOptions, TestCases, load_answers, load_test_cases, pair, parse_test_cases,
};
use scholareval::domain::{
    Answer, JudgeReply, Mode, Reading, RubricParts, Score, TestCase, UnscoredKind, UnscoredReason,
    Verdict,
};
use scholareval::question::{Citations, Property, Question, SnippetEvidence};
use scholareval::scorer::rubric::RubricScorer;
use scholareval::scorer::{Scorer, Step, Subject, Verdicts};
use serde_json::Value;

use oracle::Expected;

/// The shared directory of inputs and golden numbers; `None`, with a printed reason, where there is none.
pub(crate) fn shared() -> Option<PathBuf> {
    let path = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
        PathBuf::from,
    );
    if path.join("golden/rubric.json").is_file() {
        return Some(path);
    }
    eprintln!(
        "skipped: no golden numbers at {}; set SCHOLAREVAL_SHARED",
        path.display()
    );
    None
}

fn golden(shared: &Path) -> Value {
    let text = std::fs::read_to_string(shared.join("golden/rubric.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn rows<'a>(golden: &'a Value, key: &str) -> &'a [Value] {
    let rows = golden[key].as_array().unwrap();
    assert!(!rows.is_empty(), "no {key} in the golden file");
    rows
}

fn cases(shared: &Path) -> TestCases {
    load_test_cases(
        &shared.join("data/scholarqa_cs/test_configs_snippets.json"),
        Mode::Default,
    )
    .unwrap()
}

fn answers(shared: &Path) -> Vec<scholareval::dataset::SystemAnswers> {
    load_answers(
        &[shared.join("data/scholarqa_cs/src_answers")],
        Mode::Default,
    )
    .unwrap()
}

/// A number of the file; `"NaN"` and infinities are written as strings.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    }
}

fn close(actual: f64, expected: f64) -> bool {
    (actual.is_nan() && expected.is_nan())
        || actual == expected
        || (actual - expected).abs() <= 1e-12
}

#[track_caller]
fn assert_close(actual: Option<f64>, expected: Option<f64>, what: &str) {
    let same = match (actual, expected) {
        (Some(actual), Some(expected)) => close(actual, expected),
        (actual, expected) => actual == expected,
    };
    assert!(same, "{what}: {actual:?}, expected {expected:?}");
}

/// How an answer came out, and how often each kind was asked.
struct Run {
    score: Score,
    calls: BTreeMap<String, u64>,
}

fn run(
    scorer: RubricScorer,
    mode: Mode,
    case: &TestCase,
    answer: &Answer,
    raw: Option<&str>,
) -> Run {
    let (mut verdicts, mut calls) = (Verdicts::new(), BTreeMap::new());
    loop {
        let asked = match scorer.step(&Subject::new(case, answer), &verdicts) {
            Step::Done(score) => return Run { score, calls },
            Step::Ask(asked) => asked,
        };
        for call in asked {
            *calls.entry(call.question.info().to_string()).or_default() += 1;
            let text = raw.map_or_else(|| stub::reply(&*call.question), str::to_owned);
            let read = call.question.parse(&JudgeReply::of_text(text), mode);
            let judged = read.map_err(UnscoredReason::from);
            assert_eq!(
                verdicts.insert(call.item, judged),
                None,
                "an item was asked twice"
            );
        }
    }
}

fn parts_of(row: &Value) -> RubricParts {
    match row["mode"].as_str().unwrap_or("rubrics+snippets") {
        "rubrics+snippets" => RubricParts::BOTH,
        "rubrics" => RubricParts {
            rubrics: true,
            snippets: false,
        },
        "snippets" => RubricParts {
            rubrics: false,
            snippets: true,
        },
        "neither" => RubricParts {
            rubrics: false,
            snippets: false,
        },
        other => panic!("unknown mode {other}"),
    }
}

fn calls_of(row: &Value) -> BTreeMap<String, u64> {
    let calls = row["calls"].as_object().unwrap();
    calls
        .iter()
        .map(|(kind, count)| (kind.clone(), count.as_u64().unwrap()))
        .collect()
}

/// Compat: every number of the row, or its exception.
fn check_compat(row: &Value, what: &str, case: &TestCase, answer: &Answer) {
    let scorer = RubricScorer::new(parts_of(row), Mode::Compat);
    let Run { score, calls } = run(
        scorer,
        Mode::Compat,
        case,
        answer,
        row["raw_answer_to_every_call"].as_str(),
    );
    if row["error"].is_string() {
        assert_eq!((score.value, score.ann_score), (None, None), "{what}");
        let mut reasons = score
            .components
            .iter()
            .filter_map(|component| component.reason.as_ref());
        assert!(
            reasons.any(|reason| reason.kind == UnscoredKind::Exception),
            "{what}: {score:?}"
        );
        // The reference asks one by one and dies at the first reply it cannot use; a round of ours is asked at once.
        for (kind, count) in calls_of(row) {
            assert!(
                calls.get(&kind).is_some_and(|asked| *asked >= count),
                "{what}: {calls:?}"
            );
        }
        if calls_of(row).is_empty() {
            assert!(calls.is_empty(), "{what}: asked {calls:?}");
        }
        return;
    }
    assert_close(score.value, number(&row["score"]), &format!("{what} score"));
    assert_close(
        score.ann_score,
        number(&row["ann_score"]),
        &format!("{what} ann_score"),
    );
    let components = row["components"].as_object().unwrap();
    for (name, value) in components {
        let component = score
            .component(name)
            .unwrap_or_else(|| panic!("{what}: no component {name}"));
        assert_close(component.value, number(value), &format!("{what} {name}"));
        assert_close(
            Some(component.weight),
            number(&row["weights"][name]),
            &format!("{what} weight of {name}"),
        );
    }
    assert_eq!(score.components.len(), components.len(), "{what}");
    let order: Vec<&str> = score
        .components
        .iter()
        .map(|component| &*component.name)
        .collect();
    assert_eq!(order, components.keys().collect::<Vec<_>>(), "{what}");
    assert_eq!(calls, calls_of(row), "{what}");
}

/// Default: what the oracle says; and where the reference is not at fault, what the file says.
fn check_default(row: &Value, what: &str, case: &TestCase, answer: &Answer) {
    let parts = parts_of(row);
    let raw = row["raw_answer_to_every_call"].as_str();
    let Run { score, calls } = run(
        RubricScorer::new(parts, Mode::Default),
        Mode::Default,
        case,
        answer,
        raw,
    );
    let expected = oracle::score(case, &answer.answer_text, parts, raw);
    assert_close(
        score.value,
        expected.score,
        &format!("{what} default score"),
    );
    assert_close(
        score.ann_score,
        expected.ann_score,
        &format!("{what} default ann_score"),
    );
    for component in &score.components {
        assert_eq!(
            component.value.is_none(),
            component.reason.is_some(),
            "{what}: {component:?}"
        );
        assert!(
            component
                .value
                .is_none_or(|value| (0.0..=1.0).contains(&value)),
            "{what}: {component:?}"
        );
    }
    if !is_on_a_fault(row, case) {
        assert_close(score.value, number(&row["score"]), &format!("{what} score"));
        assert_close(
            score.ann_score,
            number(&row["ann_score"]),
            &format!("{what} ann_score"),
        );
        assert_eq!(calls, calls_of(row), "{what}");
    }
}

/// The [compat] rows of METRICS.md section 1 that can change a whole score.
fn is_on_a_fault(row: &Value, case: &TestCase) -> bool {
    let total: f64 = case
        .rubric
        .criteria
        .iter()
        .map(|criterion| criterion.weight)
        .sum();
    row.get("error").is_some()
        || row.get("raw_answer_to_every_call").is_some()
        // The reference divides by 0.6 whatever the properties weigh.
        || (total - 0.6).abs() > 1e-9
}

#[test]
fn every_golden_case_has_the_references_numbers() {
    let Some(shared) = shared() else { return };
    let golden = golden(&shared);
    let (cases, systems) = (cases(&shared), answers(&shared));
    for row in rows(&golden, "cases") {
        let (case_id, system) = (
            row["case_id"].as_str().unwrap(),
            row["system"].as_str().unwrap(),
        );
        let case = cases
            .cases
            .iter()
            .find(|case| case.case_id.as_str() == case_id)
            .unwrap();
        let mut case = TestCase::clone(case);
        for index in row["evidence_emptied_for_items"]
            .as_array()
            .into_iter()
            .flatten()
        {
            case.rubric.criteria[index.as_u64().unwrap() as usize].snippets = Arc::new([]);
        }
        let answers = &systems
            .iter()
            .find(|answers| answers.system.as_str() == system)
            .unwrap()
            .answers;
        let answer = answers
            .iter()
            .find(|answer| answer.case_id.as_str() == case_id)
            .unwrap();
        assert_eq!(
            stub::sha256(&answer.answer_text),
            row["response_sha256"],
            "another answer than the golden one"
        );
        let what = format!("cases {} ({system} {case_id} {})", row["i"], row["mode"]);
        check_compat(row, &what, &case, answer);
        check_default(row, &what, &case, answer);
    }
}

/// Rows of `cases` on the fault "the weight sum raises", with the arithmetic of default mode by hand.
#[test]
fn snippets_mode_scales_what_the_reference_refuses() {
    let Some(shared) = shared() else { return };
    let golden = golden(&shared);
    let (cases, systems) = (cases(&shared), answers(&shared));
    for (case_id, emptied, score, ann_score) in [
        // 3 of 5 properties of 0.12 keep snippets: 0.12 * 0.6 / 0.36 = 0.2 each; counts 0, 5 of 4 (capped) and 2 of 4.
        // 0.05 * 0 + 0.05 * 0.8 + 0.2 * 0 + 0.1 * 0 + 0.2 * (0 + 1 + 0.5) = 0.34; annotated 0.3 / 0.6.
        (
            "fc927b39177cd2aad8a8cbcef75ab62c",
            [1, 3].as_slice(),
            0.34,
            0.5,
        ),
        // 2 of 5 keep snippets: 0.3 each; counts 3 of 4 and 0 of 1.
        // 0.05 * 0.3 + 0.2 * 0.5 + 0.1 * 0.5 + 0.3 * 0.75 = 0.39; annotated 0.225 / 0.6.
        ("a2a5c8079442e178f078869471697f48", &[0, 2, 4], 0.39, 0.375),
    ] {
        let mut case = TestCase::clone(
            cases
                .cases
                .iter()
                .find(|case| case.case_id.as_str() == case_id)
                .unwrap(),
        );
        emptied
            .iter()
            .for_each(|index| case.rubric.criteria[*index].snippets = Arc::new([]));
        let claude = systems
            .iter()
            .find(|answers| answers.system.as_str() == "claude")
            .unwrap();
        let answer = claude
            .answers
            .iter()
            .find(|answer| answer.case_id.as_str() == case_id)
            .unwrap();
        let snippets = RubricParts {
            rubrics: false,
            snippets: true,
        };
        let Run { score: actual, .. } = run(
            RubricScorer::new(snippets, Mode::Default),
            Mode::Default,
            &case,
            answer,
            None,
        );
        assert_close(actual.value, Some(score), case_id);
        assert_close(actual.ann_score, Some(ann_score), case_id);
        assert_eq!(actual.notes.len(), 1);
        // The reference has no number for it.
        let row = rows(&golden, "cases")
            .iter()
            .find(|row| row["case_id"] == case_id && row["mode"] == "snippets");
        assert!(row.is_none_or(|row| row["tag"] != "derived" || row["error"] == "AssertionError"));
    }
}

#[test]
fn every_synthetic_case_has_the_references_numbers() {
    let Some(shared) = shared() else { return };
    let golden = golden(&shared);
    let (mut scored, mut refused) = (0, 0);
    for row in rows(&golden, "synthetic") {
        let what = format!("synthetic {} ({})", row["i"], row["tag"]);
        let config = serde_json::json!({"case_id": "c", "initial_prompt": "Q?", "metric_config": {"config": row["config"]}});
        let text = Value::Array(vec![config]).to_string();
        let answer_text = row["response"].as_str().unwrap();
        let answer = Answer::new("s".into(), "c".into(), answer_text);
        let load = |mode| parse_test_cases(&text, Path::new("synthetic"), mode);
        let compat = match load(Mode::Compat) {
            Ok(compat) => compat,
            Err(error) => {
                // Refused for its types: then the reference must have refused it as well.
                assert!(
                    row["error"].is_string() && load(Mode::Default).is_err(),
                    "{what}: {error}"
                );
                continue;
            }
        };
        check_compat(row, &what, &compat.cases[0], &answer);
        match (oracle::input(&row["config"]), load(Mode::Default)) {
            (Expected::Usable, Ok(cases)) => {
                check_default(row, &what, &cases.cases[0], &answer);
                scored += 1;
            }
            (Expected::Fault(says), Err(Error::Input(faults))) => {
                assert!(
                    faults.iter().any(|fault| fault.what.contains(says)),
                    "{what}: {faults:?}"
                );
                refused += 1;
            }
            (expected, loaded) => panic!("{what}: {expected:?}, but {loaded:?}"),
        }
    }
    assert!(
        scored > 0 && refused > 0,
        "{scored} scored, {refused} refused"
    );
}

fn parse(kind: &str, raw: &str, mode: Mode) -> Result<Value, String> {
    let (question, answer) = (Arc::from("q"), Arc::from("a"));
    let task: Box<dyn Question> = match kind {
        "property" => Box::new(Property {
            question,
            answer,
            criterion: "c".into(),
        }),
        "evidence3" => Box::new(SnippetEvidence {
            question,
            answer,
            snippets: vec!["s".to_owned(); 3].into(),
        }),
        _ => Box::new(Citations { question, answer }),
    };
    let number = |value: f64| {
        if value.is_finite() {
            Value::from(value)
        } else {
            Value::from(value.to_string())
        }
    };
    match task.parse(&JudgeReply::of_text(raw), mode) {
        Ok(Reading {
            verdict: Verdict::Points(points),
            ..
        }) => Ok(number(points / 10.0)),
        // Python's min(count / 3, 1.0), NaN included.
        Ok(Reading {
            verdict: Verdict::Count(count),
            ..
        }) => Ok(number(if count / 3.0 > 1.0 { 1.0 } else { count / 3.0 })),
        Ok(Reading {
            verdict: Verdict::Claims(shares),
            ..
        }) => Ok(serde_json::json!({"citations": shares.citations, "excerpts": shares.excerpts})),
        Ok(_) => panic!("the rubric does not ask this"),
        Err(unreadable) => Err(unreadable.what),
    }
}

fn same_value(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && b.iter()
                    .all(|(key, value)| a.get(key).is_some_and(|a| same_value(a, value)))
        }
        (a, b) => number(a).zip(number(b)).is_some_and(|(a, b)| close(a, b)),
    }
}

#[test]
fn every_golden_reply_is_parsed_as_the_reference_parses_it() {
    let Some(shared) = shared() else { return };
    for row in rows(&golden(&shared), "parse") {
        let raw = row["raw"].as_str().unwrap();
        for kind in ["property", "evidence3", "citations_excerpts"] {
            let actual = parse(kind, raw, Mode::Compat);
            let same = match (&actual, row[kind]["exception"].as_str()) {
                (Ok(actual), None) => same_value(actual, &row[kind]),
                (Err(what), Some(_)) => what.contains("exception"),
                _ => false,
            };
            assert!(same, "{kind} of {raw}: {actual:?}, expected {}", row[kind]);
        }
    }
}

/// Golden replies that default mode reads although they are no JSON, and what each one means.
const NEARLY_JSON: [(&str, &str); 2] = [
    ("{'score': 7}", "{\"score\": 7}"),
    ("{\"score\": 7,}", "{\"score\": 7}"),
];

#[test]
fn in_default_mode_golden_replies_are_read_or_unreadable_and_never_zero_by_default() {
    let Some(shared) = shared() else { return };
    let mut agreed = 0;
    for row in rows(&golden(&shared), "parse") {
        let raw = row["raw"].as_str().unwrap();
        for kind in ["property", "evidence3", "citations_excerpts"] {
            let actual = parse(kind, raw, Mode::Default);
            let nearly_json = NEARLY_JSON.iter().find(|(written, _)| *written == raw);
            let expected = oracle::reading(kind, nearly_json.map_or(raw, |(_, meant)| *meant));
            match (&actual, &expected) {
                (Ok(actual), Some(expected)) => {
                    assert!(
                        same_value(actual, expected),
                        "{kind} of {raw}: {actual}, expected {expected}"
                    );
                    // What default mode reads, the reference reads alike, unless thinking was in its way or it is no JSON.
                    let alike = same_value(actual, &row[kind])
                        || raw.contains("</think>")
                        || nearly_json.is_some();
                    assert!(alike, "{kind} of {raw}: {actual}, golden {}", row[kind]);
                    agreed += 1;
                }
                (Err(_), None) => {}
                // serde_json refuses lone surrogates, bare NaN and numbers beyond range; Python and we do not.
                (Ok(actual), None) if oracle::is_foreign(raw) => {
                    assert!(same_value(actual, &row[kind]), "{raw}: {actual}")
                }
                _ => panic!("{kind} of {raw}: {actual:?}, expected {expected:?}"),
            }
        }
    }
    assert!(agreed > 0);
}

/// The dev rows of `parse` that are on a fault of the reference, each with what default mode says instead.
#[test]
fn faulty_replies_say_what_is_wrong() {
    for (kind, raw, what) in [
        ("property", "{\"score\": 11}", "score 11 is outside 0..10"),
        ("property", "{\"score\": -3}", "score -3 is outside 0..10"),
        ("evidence3", "{\"score\": -3}", "count -3 is negative"),
        (
            "property",
            "{\"score\": true}",
            "score is a boolean, not a number",
        ),
        (
            "property",
            "{\"score\": [7]}",
            "score is a list, not a number",
        ),
        (
            "property",
            "{\"rating\": 7}",
            "no \"score\" in the reply's object",
        ),
        ("property", "[]", "no JSON object in the reply"),
        ("property", "{\"score\": 7", "no JSON object in the reply"),
        ("property", "{\"score\": NaN}", "score is NaN"),
        ("property", "} {", "no JSON object in the reply"),
        (
            "property",
            "{\"score\": 7} {\"score\": 8}",
            "no JSON object in the reply: trailing characters at line 1 column 14",
        ),
        (
            "citations",
            "{\"claims\": null}",
            "claims is null, not a list",
        ),
        (
            "citations",
            "{\"claims\": [1, 2]}",
            "claims[0] is a number, not an object",
        ),
        (
            "citations",
            "{\"claims\": [{\"claim_text\":\"x\",\"citations\":null}]}",
            "claims[0].citations is null, not a list",
        ),
    ] {
        assert_eq!(
            parse(kind, raw, Mode::Default),
            Err(what.to_owned()),
            "{raw}"
        );
    }
}

#[test]
fn the_reference_scores_the_golden_configs_in_snippets_only_mode() {
    let Some(shared) = shared() else { return };
    let (golden, cases) = (golden(&shared), cases(&shared));
    let scorer = RubricScorer::new(
        RubricParts {
            rubrics: false,
            snippets: true,
        },
        Mode::Compat,
    );
    let expected = rows(&golden, "snippets_only_ok");
    assert_eq!(expected.len(), cases.cases.len());
    for (row, case) in expected.iter().zip(&cases.cases) {
        assert_eq!(row[0], case.case_id.as_str());
        let answer = Answer::new("s".into(), case.case_id.clone(), "x");
        let is_asked = matches!(
            scorer.step(&Subject::new(case, &answer), &Verdicts::new()),
            Step::Ask(_)
        );
        assert_eq!(row[1], is_asked, "{}", case.case_id);
    }
}

#[test]
fn pairing_keeps_the_test_cases_the_reference_makes() {
    let Some(shared) = shared() else { return };
    let (golden, tests, systems) = (golden(&shared), cases(&shared), answers(&shared));
    for row in rows(&golden, "make_test_cases") {
        let skips = row["skip_duplicate_annotations"].as_bool().unwrap();
        let mut gpt = systems
            .iter()
            .find(|answers| answers.system.as_str() == "gpt")
            .unwrap()
            .clone();
        let says = row["responses_for"].as_str().unwrap();
        match says.split(' ').collect::<Vec<_>>()[..] {
            ["all", ..] => {}
            ["first", count, ..] => gpt.answers.truncate(count.parse().unwrap()),
            ["last", count, ..] => {
                gpt.answers
                    .drain(..gpt.answers.len() - count.parse::<usize>().unwrap());
            }
            _ => panic!("responses for {says}: teach this test which those are"),
        }
        let options = PairOptions {
            compat: true,
            agreement: !skips,
            ..PairOptions::default()
        };
        let pairing = pair(&tests, &[gpt], &options).unwrap();
        let ids: Vec<&str> = pairing
            .items
            .iter()
            .map(|item| item.case.case_id.as_str())
            .collect();
        assert_eq!(ids.len() as u64, row["n"].as_u64().unwrap(), "{says}");
        let expected: Vec<&str> = row["case_ids"]
            .as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_str().unwrap())
            .collect();
        assert_eq!(ids[..expected.len()], expected, "{says}");
    }
}

//! FACT's scripts item by item, with what they gave (`golden/fact.json`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::cited;
use super::compat::{FactPage, grouped};
use scholareval_core::domain::{
    CitedStatement, JudgeReply, Mode, PageVerdict, ReportLanguage, Verdict,
};
use scholareval_core::question::fact::{self, FactExtraction, FactListFault};
use scholareval_core::question::{
    CitedStatements, DistinctStatements, NamedStatement, PageSupport, Question,
};
use scholareval_core::text::markdown_links::{without_addresses, without_passages};
use scholareval_judge::prompt::PromptSet;

/// The rows of a section; none, with a reason, without the file.
pub(super) fn rows(section: &str) -> Vec<Value> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
    let Ok(text) = std::fs::read_to_string(shared.join("golden/fact.json")) else {
        eprintln!("skipped: no golden numbers in {}", shared.display());
        return Vec::new();
    };
    let golden: Value = serde_json::from_str(&text).unwrap();
    let rows = golden[section].as_array().unwrap().clone();
    assert_eq!(golden["counts"][section], rows.len(), "{section}");
    rows
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap()
}

/// The published wording, if a checkout has it.
fn wording() -> Option<PromptSet> {
    let Some(checkout) = std::env::var_os("SCHOLAREVAL_FACT") else {
        eprintln!(
            "skipped: the hashes of prompts; SCHOLAREVAL_FACT names no checkout of deep_research_bench"
        );
        return None;
    };
    Some(PromptSet::import_fact(Path::new(&checkout)).unwrap())
}

fn language(row: &Value) -> ReportLanguage {
    if row["language"] == "zh" {
        ReportLanguage::Chinese
    } else {
        ReportLanguage::English
    }
}

/// Checks the hash of a whole prompt, where the wording is there.
fn check_hash(wording: Option<&PromptSet>, question: &dyn Question, expected: &Value, tag: &str) {
    let Some(wording) = wording else {
        return;
    };
    let messages = wording.render(question);
    let digest = Sha256::digest(messages.user.as_bytes());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((messages.system, &json!(hash)), (None, expected), "{tag}");
}

#[test]
fn texts_are_cleaned_as_the_scripts_do() {
    for row in rows("clean") {
        let given = text(&row, "text");
        assert_eq!(without_passages(given), text(&row, "clean_urls"), "{row}");
        assert_eq!(without_addresses(given), text(&row, "remove_urls"), "{row}");
        assert_eq!(
            fact::without_escapes(given),
            text(&row, "clean_escape"),
            "{row}"
        );
    }
}

#[test]
fn extractions_are_those_of_the_reference() {
    let wording = wording();
    for row in rows("extract") {
        let tag = text(&row, "tag");
        let result = &row["result"];
        if !fact::is_asked(&row["item"]["id"], row["language"].as_str()) {
            assert_eq!(*result, json!({"written": false, "calls": 0}), "{tag}");
            continue;
        }
        let reply = text(&row, "reply");
        let expected = match fact::extraction(reply) {
            FactExtraction::Citations(citations) => Some(Value::Array(citations)),
            FactExtraction::Failed => Some(json!("extraction failed")),
            FactExtraction::NotWritten => None,
        };
        assert_eq!(result.get("citations"), expected.as_ref(), "{tag}");
        assert_eq!(result["written"], expected.is_some(), "{tag}");
        let question = CitedStatements {
            report: text(&row["item"], "article").into(),
            language: language(&row),
        };
        check_hash(wording.as_ref(), &question, &result["prompt_sha256"], tag);
        // The question reads the same, and never asks again: the one call is that of the reference.
        let read = question.parse(&JudgeReply::of_text(reply), Mode::Compat);
        match (read, &expected) {
            (Ok(reading), Some(Value::Array(citations))) => {
                let Verdict::Statements(statements) = reading.verdict else {
                    panic!("{tag}");
                };
                assert_eq!(statements.len(), citations.len(), "{tag}");
            }
            (Err(unreadable), _) => assert!(!unreadable.ask_again, "{tag}"),
            other => panic!("{tag}: {other:?}"),
        }
        let by_default = question.parse(&JudgeReply::of_text(reply), Mode::Default);
        match row.get("default").and_then(Value::as_str) {
            Some("unreadable: asked again") => assert!(by_default.unwrap_err().ask_again, "{tag}"),
            _ => assert!(by_default.is_ok(), "{tag}: {by_default:?}"),
        }
    }
}

fn citations(row: &Value) -> Vec<Value> {
    row["item"]["citations"].as_array().unwrap().clone()
}

/// The statements of citations as compat reads them.
fn statements_of(citations: &[Value]) -> Vec<CitedStatement> {
    let mut statements = Vec::new();
    for citation in citations {
        statements.push(CitedStatement {
            text: text(citation, "fact").to_owned(),
            urls: vec![fact::address(&citation["url"])],
        });
    }
    statements
}

/// What the deduplication of a page gives with the next replies, and how many it takes.
fn deduplicated(
    page: &FactPage,
    replies: &mut impl Iterator<Item = String>,
) -> (Result<Vec<usize>, fact::PythonException>, usize) {
    let count = page.statements.len();
    for attempt in 1..=3 {
        match fact::kept_statements(&replies.next().unwrap(), count) {
            Ok(kept) => return (Ok(kept), attempt),
            Err(FactListFault::Raised(raised)) => return (Err(raised), attempt),
            Err(FactListFault::Unreadable(_)) => {}
        }
    }
    (Ok((0..count).collect()), 3)
}

#[test]
fn deduplications_are_those_of_the_reference() {
    let wording = wording();
    for row in rows("deduplicate") {
        let tag = text(&row, "tag");
        let result = &row["result"];
        let all = citations(&row);
        if !all.is_empty() && !fact::is_asked(&row["item"]["id"], row["language"].as_str()) {
            assert_eq!(
                (&result["written"], &result["calls"]),
                (&json!(false), &json!(0)),
                "{tag}"
            );
            check_default(&row, &all);
            continue;
        }
        let replies = row["replies"].as_array().unwrap().clone();
        let mut replies = replies
            .into_iter()
            .map(|reply| reply.as_str().unwrap().to_owned());
        let mut pages = Map::new();
        let mut calls = 0;
        let mut raised = None;
        for page in grouped(&statements_of(&all)) {
            let mut kept: Vec<usize> = (0..page.statements.len()).collect();
            if page.statements.len() > 1 {
                let question = DistinctStatements::new(page.statements.clone(), language(&row));
                let hash = result.get("prompts_sha256").map(|hashes| &hashes[calls]);
                if let Some(hash) = hash {
                    check_hash(wording.as_ref(), &question, hash, tag);
                }
                let (outcome, attempts) = deduplicated(&page, &mut replies);
                calls += attempts;
                match outcome {
                    Ok(places) => kept = places,
                    Err(error) => raised = Some(error),
                }
            }
            let facts: Vec<&str> = kept.iter().map(|place| &*page.statements[*place]).collect();
            pages.insert(page.url, json!({"facts": facts, "url_content": null}));
        }
        assert_eq!(result["calls"], calls, "{tag}");
        match raised {
            Some(raised) => {
                assert_eq!(result["exception"], raised.name, "{tag}");
                assert_eq!(result["message"], raised.message, "{tag}");
            }
            None => assert_eq!(result["citations_deduped"], Value::Object(pages), "{tag}"),
        }
        check_default(&row, &all);
    }
}

/// By our rules equal statements of a page are one, and no judge is asked.
fn check_default(row: &Value, citations: &[Value]) {
    let Some(expected) = row.get("default") else {
        return;
    };
    let mut statements = Vec::new();
    for citation in citations {
        statements.push(fact::statement(citation).unwrap());
    }
    let mut pages = BTreeMap::new();
    for page in cited::grouped(&statements) {
        if !page.url.is_empty() {
            let texts: Vec<String> = page
                .statements
                .iter()
                .map(|statement| statement.to_string())
                .collect();
            pages.insert(page.url, texts);
        }
    }
    assert_eq!(json!(pages), *expected, "{row}");
}

fn support_question(row: &Value) -> PageSupport {
    let facts = row["value"]["facts"].as_array().unwrap();
    let mut statements = Vec::new();
    for (place, fact) in facts.iter().enumerate() {
        statements.push(NamedStatement {
            item: format!("s{place}").into(),
            text: fact.as_str().unwrap().into(),
        });
    }
    PageSupport {
        page: row["value"]["url_content"]
            .as_str()
            .unwrap_or_default()
            .into(),
        statements: statements.into(),
        language: language(row),
    }
}

/// What the reference writes next to a page after these replies, and how many it takes.
fn validated(row: &Value, count: usize) -> (Value, Value, usize) {
    let mut error = String::new();
    for (place, reply) in row["replies"].as_array().unwrap().iter().enumerate() {
        // A call that fails has the message of the stub.
        let read = reply.as_str().ok_or_else(|| "stub".to_owned());
        match read.and_then(|reply| fact::validation(reply, count)) {
            Ok(verdicts) => return (Value::Array(verdicts), Value::Null, place + 1),
            Err(message) => error = message,
        }
    }
    (json!([]), json!(error), 3)
}

#[test]
fn validations_are_those_of_the_reference() {
    let wording = wording();
    for row in rows("validate") {
        let tag = text(&row, "tag");
        let value = &row["value"];
        let content = value["url_content"].as_str();
        let question = support_question(&row);
        let is_asked = fact::is_asked(&value["article_id"], row["language"].as_str());
        if content.is_none() || !is_asked {
            assert_eq!(row["result"]["calls"], 0, "{tag}");
            assert_eq!(row["result"]["validate_res"], json!([]), "{tag}");
            continue;
        }
        let (verdicts, error, calls) = validated(&row, question.statements.len());
        assert_eq!(row["result"]["validate_res"], verdicts, "{tag}");
        assert_eq!(row["result"]["validate_error"], error, "{tag}");
        assert_eq!(row["result"]["calls"], calls, "{tag}");
        let hash = &row["result"]["prompt_sha256"];
        check_hash(wording.as_ref(), &question, hash, tag);
        check_compat_reading(&row, &question, &verdicts);
        check_own_reading(&row, &question);
    }
}

/// The question reads the last reply as the reference counts it.
fn check_compat_reading(row: &Value, question: &PageSupport, verdicts: &Value) {
    let replies = row["replies"].as_array().unwrap();
    let Some(reply) = replies.last().and_then(Value::as_str) else {
        return;
    };
    let read = question.parse(&JudgeReply::of_text(reply), Mode::Compat);
    let expected = verdicts.as_array().unwrap();
    match read {
        Ok(reading) => {
            let Verdict::Support(all) = reading.verdict else {
                panic!("{row}");
            };
            let labels: Vec<PageVerdict> = all.iter().map(|support| support.verdict).collect();
            let counted = expected
                .iter()
                .map(|row_of_statement| fact::counted_as(&row_of_statement["result"]));
            assert_eq!(labels, counted.collect::<Vec<_>>(), "{row}");
        }
        Err(unreadable) => assert!(unreadable.ask_again && expected.is_empty(), "{row}"),
    }
}

/// By our rules each statement has its verdict or is asked alone.
fn check_own_reading(row: &Value, question: &PageSupport) {
    let Some(expected) = row.get("default").and_then(Value::as_array) else {
        return;
    };
    if expected[0] == "open: page_empty" {
        // No judge is asked: see the rules for states.
        let content = row["value"]["url_content"].as_str().unwrap();
        assert_eq!(content.trim(), "", "{row}");
        return;
    }
    let reply = row["replies"][0].as_str().unwrap();
    let reading = question.parse(&JudgeReply::of_text(reply), Mode::Default);
    let judgments = question.split(&reading.map_err(Into::into));
    let mut states: Vec<Arc<str>> = Vec::new();
    for place in 0..question.statements.len() {
        let judgment = judgments
            .get(place)
            .and_then(|judgment| judgment.as_ref().ok());
        let state = match judgment.and_then(|reading| reading.verdict.number()) {
            Some(1.0) => "supported",
            Some(_) => "unsupported",
            None => "asked alone",
        };
        states.push(state.into());
    }
    assert_eq!(json!(states), row["default"], "{row}");
}

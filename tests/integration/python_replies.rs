//! Replies as CPython reads them: `fixtures/python_replies.json`, made by `fixtures/python_replies.py` with Python's own
//! `json` and arithmetic. `SCHOLAREVAL_PYTHON_REPLIES` names another, larger file of the same make.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use scholareval::domain::{JudgeReply, Mode, UnscoredKind, Verdict};
use scholareval::question::{Citations, Property, Question, SnippetEvidence};
use serde_json::Value;

/// Python's `repr` of a float, read back.
fn python_float(text: &Value) -> f64 {
    text.as_str().unwrap().parse().unwrap()
}

fn same(actual: f64, expected: f64) -> bool {
    actual == expected || (actual.is_nan() && expected.is_nan())
}

/// The number or numbers that compat mode makes of a reply, or that Python raises an exception.
fn read(task: &dyn Question, raw: &str) -> Result<Vec<f64>, UnscoredKind> {
    let read = task.parse(&JudgeReply::of_text(raw), Mode::Compat);
    match read.map(|reading| reading.verdict) {
        Ok(Verdict::Points(points)) => Ok(vec![points / 10.0]),
        Ok(Verdict::Count(count)) => Ok(vec![if count / 3.0 > 1.0 { 1.0 } else { count / 3.0 }]),
        Ok(Verdict::Claims(shares)) => Ok(vec![shares.citations, shares.excerpts]),
        Ok(_) => panic!("the rubric does not ask this"),
        Err(unreadable) => Err(unreadable.kind),
    }
}

#[test]
fn compat_reads_nasty_replies_as_python_does() {
    let path = std::env::var_os("SCHOLAREVAL_PYTHON_REPLIES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/python_replies.json"),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert!(rows.len() >= 300);
    let (q, a) = (|| Arc::from("q"), || Arc::from("a"));
    let tasks: [(&str, Box<dyn Question>); 3] = [
        (
            "property",
            Box::new(Property {
                question: q(),
                answer: a(),
                criterion: "c".into(),
            }),
        ),
        (
            "evidence3",
            Box::new(SnippetEvidence {
                question: q(),
                answer: a(),
                snippets: vec!["s".to_owned(); 3].into(),
            }),
        ),
        (
            "citations_excerpts",
            Box::new(Citations {
                question: q(),
                answer: a(),
            }),
        ),
    ];
    let mut wrong = Vec::new();
    for row in &rows {
        let raw = row["raw"].as_str().unwrap();
        for (kind, task) in &tasks {
            let actual = read(&**task, raw);
            let agrees = match (&actual, &row[kind]) {
                (Err(kind), Value::Object(_)) => *kind == UnscoredKind::Exception,
                (Ok(actual), expected @ Value::String(_)) => {
                    same(actual[0], python_float(expected))
                }
                (Ok(actual), Value::Array(expected)) => actual
                    .iter()
                    .zip(expected)
                    .all(|(actual, expected)| same(*actual, python_float(expected))),
                _ => false,
            };
            if !agrees {
                wrong.push(format!(
                    "{kind} of {raw:?}: {actual:?}, Python {}",
                    row[kind]
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differences, the first:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n")
    );
}

//! Imported runs against the numbers of `stat.py` and of our rules (`golden/fact.json`).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;
use crate::analysis::{AggregateOptions, Metric, summarize};
use crate::domain::SupportCounts;

pub(super) fn golden(section: &str) -> Vec<Value> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
    let Ok(text) = fs::read_to_string(shared.join("golden/fact.json")) else {
        eprintln!("skipped: no golden numbers in {}", shared.display());
        return Vec::new();
    };
    let golden: Value = serde_json::from_str(&text).unwrap();
    let rows = golden[section].as_array().unwrap().clone();
    assert_eq!(golden["counts"][section], rows.len());
    rows
}

/// The files of a run with these lines, as a system `s`.
pub(super) fn run_of(items: &[Value], extracted: &[Value]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("s");
    fs::create_dir(&run).unwrap();
    let lines =
        |items: &[Value]| -> String { items.iter().map(|item| format!("{item}\n")).collect() };
    fs::write(run.join("validated.jsonl"), lines(items)).unwrap();
    if !extracted.is_empty() {
        fs::write(run.join("extracted.jsonl"), lines(extracted)).unwrap();
    }
    (dir, run)
}

pub(super) fn scored(runs: &[FactRun], mode: Mode) -> Result<Vec<Arc<ScoredAnswer>>> {
    scored_answers(runs, &cases_of(runs), mode)
}

/// A metric of the only system.
pub(super) fn metric(scored: &[Arc<ScoredAnswer>], name: &str) -> Metric {
    let summary = summarize(scored, &[], AggregateOptions::default());
    let metrics = summary
        .scorers
        .first()
        .map(|scorer| &scorer.rows[0].metrics);
    metrics
        .and_then(|own| own.get(name))
        .cloned()
        .unwrap_or_default()
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

#[test]
fn compat_numbers_are_those_of_the_reference() {
    for row in golden("stat") {
        let tag = row["tag"].as_str().unwrap();
        let (_dir, path) = run_of(row["items"].as_array().unwrap(), &[]);
        let runs = read_runs(&[path]).unwrap();
        let result = &row["result"];
        let stat = match counts::stat(&runs[0].reports) {
            Ok(stat) => stat,
            Err(raised) => {
                assert_eq!(result["exception"], raised.name, "{tag}");
                assert_eq!(result["message"], raised.message, "{tag}");
                continue;
            }
        };
        assert_eq!(result["total_citations"], stat.total_citations, "{tag}");
        assert_eq!(
            result["total_valid_citations"], stat.total_valid_citations,
            "{tag}"
        );
        assert_eq!(result["valid_rate"], stat.valid_rate, "{tag}");
        // The summary has the same numbers, to the last digit.
        let scored = scored(&runs, Mode::Compat).unwrap();
        let mean = |name: &str| metric(&scored, name).estimate;
        assert_eq!(mean("citations"), Some(stat.total_citations), "{tag}");
        assert_eq!(
            mean("effective_citations"),
            Some(stat.total_valid_citations),
            "{tag}"
        );
        assert_eq!(mean("citation_accuracy"), Some(stat.valid_rate), "{tag}");
    }
}

#[test]
fn our_numbers_count_open_pairs_and_reports_without_citations() {
    for row in golden("stat") {
        let tag = row["tag"].as_str().unwrap();
        let expected = &row["default"];
        let (_dir, path) = run_of(row["items"].as_array().unwrap(), &[]);
        let runs = read_runs(&[path]).unwrap();
        let scored = scored(&runs, Mode::Default).unwrap();
        let mut counts = SupportCounts::default();
        for answer in &scored {
            counts += SupportCounts::of(&answer.score.pages);
        }
        assert_eq!(expected["answers"], scored.len(), "{tag}");
        let sums = json!([counts.supported, counts.unsupported, counts.open]);
        let wanted = json!([
            expected["supported"],
            expected["unsupported"],
            expected["open"]
        ]);
        assert_eq!(sums, wanted, "{tag}");
        for name in [
            "citation_accuracy",
            "citation_accuracy_macro",
            "effective_citations",
            "citations",
        ] {
            let own = metric(&scored, name).estimate;
            let wanted = number(&expected[name]);
            assert_eq!(own.is_some(), wanted.is_some(), "{tag}: {name}");
            // Our means add up in another order than Python's.
            let difference = own.unwrap_or_default() - wanted.unwrap_or_default();
            assert!(difference.abs() < 1e-12, "{tag}: {name} {own:?}");
        }
        let macro_answers = metric(&scored, "citation_accuracy_macro").n;
        assert_eq!(expected["macro_answers"], macro_answers, "{tag}");
        if counts.open > 0 {
            let bounds = metric(&scored, "citation_accuracy").bounds.unwrap();
            let wanted = &expected["citation_accuracy_bounds"];
            assert_eq!(json!([bounds.low, bounds.high]), *wanted, "{tag}");
            let high = metric(&scored, "effective_citations").bounds.unwrap().high;
            assert_eq!(
                Some(high),
                number(&expected["effective_citations_high"]),
                "{tag}"
            );
        }
    }
}

/// A page with a verdict on its only statement.
fn page(content: &str, result: &str) -> Value {
    json!({"facts": ["Ice shrinks."], "url_content": content, "article_id": 1, "validate_error": null,
           "validate_res": [{"idx": 0, "result": result}]})
}

fn states(scored: &ScoredAnswer) -> Vec<String> {
    let statements = scored.score.pages.iter().flat_map(|page| &page.statements);
    let state = |own: &crate::domain::JudgedStatement| match own.open {
        Some(reason) => reason.name().to_owned(),
        None => format!("{:?}", own.verdict).to_lowercase(),
    };
    statements.map(state).collect()
}

#[test]
fn verdicts_on_walls_and_failures_are_open_by_our_rules_and_count_in_compat() {
    let wall = "Just a moment...\n\n\n\nVerify you are human before you continue.";
    let pages = json!({
        "https://a.example/": page("Title\n\n\n\nIce shrank by 13% per decade.", "supported"),
        "https://b.example/": page(wall, "unsupported"),
        "https://c.example/": page("scrape failed: 404", "unsupported"),
        "null": page("Title\n\n\n\nIce shrank by 13% per decade.", "Supported"),
    });
    let item = json!({"id": 7, "prompt": "q?", "article": "a", "citations": [1], "citations_deduped": pages});
    let (_dir, path) = run_of(&[item], &[]);
    let runs = read_runs(&[path]).unwrap();
    let own = scored(&runs, Mode::Default).unwrap();
    assert_eq!(own[0].case.initial_prompt, "q?");
    assert_eq!(
        states(&own[0]),
        ["supported", "page_blocked", "page_unreachable", "no_url"]
    );
    let passage = own[0].score.pages[0].statements[0].passage.as_deref();
    assert!(passage.unwrap().contains("Ice shrank"));
    let compat = scored(&runs, Mode::Compat).unwrap();
    assert_eq!(
        states(&compat[0]),
        ["supported", "unsupported", "unsupported", "unsupported"]
    );
}

#[test]
fn reports_that_were_lost_on_the_way_are_unscored_with_the_reason() {
    let item = json!({"id": 1, "citations": [], "citations_deduped": {}});
    let failed =
        json!({"id": 2, "prompt": "two?", "article": "b", "citations": "extraction failed"});
    let dropped = json!({"id": 3, "prompt": "three?", "article": "c", "citations": [{"fact": "f", "url": "u"}]});
    let first = json!({"id": 1, "prompt": "one?", "article": "a", "citations": []});
    let (_dir, path) = run_of(&[item], &[first, failed, dropped]);
    let runs = read_runs(&[path]).unwrap();
    for mode in [Mode::Compat, Mode::Default] {
        let scored = scored(&runs, mode).unwrap();
        assert_eq!(scored[0].case.initial_prompt, "one?");
        assert!(scored[0].score.is_complete());
        let reasons = scored[1..].iter().map(|answer| {
            let component = answer.score.component("citations").unwrap();
            component.reason.as_ref().unwrap().message.clone()
        });
        assert_eq!(
            reasons.collect::<Vec<_>>(),
            [
                "extraction failed",
                "the report is in extracted.jsonl, but not in validated.jsonl"
            ]
        );
    }
    // The report without citations counts 0 by our rules, and nothing in compat.
    let own = scored(&runs, Mode::Default).unwrap();
    assert_eq!(metric(&own, "effective_citations").estimate, Some(0.0));
    let compat = scored(&runs, Mode::Compat).unwrap();
    assert_eq!(metric(&compat, "effective_citations").estimate, None);
}

#[test]
fn faults_name_file_and_line_and_what_to_do() {
    let fault = |items: &[Value]| {
        let (dir, path) = run_of(items, &[]);
        let read = read_runs(&[path]).and_then(|runs| scored(&runs, Mode::Compat).map(|_| ()));
        let message = read.unwrap_err().to_string();
        message.replace(&dir.path().display().to_string(), "DIR")
    };
    let good = json!({"id": 1, "citations": [1], "citations_deduped": {}});
    let missing = fault(&[good.clone(), json!({"id": 2, "citations": []})]);
    assert!(
        missing.starts_with("DIR/s/validated.jsonl:2: citations_deduped is missing"),
        "{missing}"
    );
    let twice = fault(&[good.clone(), good]);
    assert!(
        twice.contains("validated.jsonl:2: duplicate id, first on line 1"),
        "{twice}"
    );
    let page = json!({"facts": ["x"], "url_content": "x", "validate_res": [{"idx": 0}], "validate_error": null});
    let item = json!({"id": 1, "citations": [1], "citations_deduped": {"u": page}});
    let raised = fault(&[item]);
    assert!(
        raised.contains(
            "validated.jsonl:1 (case 1): the reference script ends with KeyError: 'result'"
        ) && raised.contains("--mode default"),
        "{raised}"
    );
    let empty = tempfile::tempdir().unwrap();
    let message = is_fact_run_fault(empty.path());
    assert!(message.contains("has no validated.jsonl"), "{message}");
}

fn is_fact_run_fault(path: &Path) -> String {
    files::is_fact_run(path).unwrap_err().to_string()
}

//! Runs of FACT, scored and summed up, against the numbers of its scripts (`golden/fact.json` of the shared data).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod counts;
mod pipeline;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use scholareval_analysis::{AggregateOptions, Metric, summarize};
use scholareval_core::domain::ScoredAnswer;
use serde_json::Value;

/// The component that counts the pairs of a statement and a cited page.
const CITATIONS: &str = "citations";

/// The rows of a section; none, with a reason, without the file.
fn rows(section: &str) -> Vec<Value> {
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

/// A metric of the only system.
fn metric(scored: &[Arc<ScoredAnswer>], name: &str) -> Metric {
    let summary = summarize(scored, &[], AggregateOptions::default());
    let Some(scorer) = summary.scorers.first() else {
        return Metric::default();
    };
    let metrics = &scorer.rows[0].metrics;
    metrics.get(name).cloned().unwrap_or_default()
}

//! The reference script's results file: `{source: [{scores, case_id, annotator, agreement, question}]}`; a source is
//! the name of an answer file.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::domain::ScoredAnswer;
use crate::error::{Error, Result};

/// Checks that the file can be written, before any paid call. An existing file is not touched.
///
/// # Errors
/// When it cannot be opened for writing.
pub fn check_writable(path: &Path) -> Result<()> {
    let existed = path.exists();
    // For appending: an existing file keeps its content until the run has results.
    let opened = OpenOptions::new().append(true).create(true).open(path);
    let failed = "write the results file";
    drop(opened.map_err(Error::io(path, failed))?);
    if !existed {
        // An empty file would look like the result of a run that then fails.
        std::fs::remove_file(path).map_err(Error::io(path, failed))?;
    }
    Ok(())
}

/// Writes the weighted sums: answers of a system sorted by annotator and case, as the reference does; null if unscored.
///
/// # Errors
/// When it cannot be written.
pub fn write_results(path: &Path, scored: &[Arc<ScoredAnswer>]) -> Result<()> {
    let mut bytes = serde_json::to_vec(&results(scored))
        .map_err(|error| Error::Internal(format!("the results file cannot be made: {error}")))?;
    bytes.push(b'\n');
    std::fs::write(path, bytes).map_err(Error::io(path, "write"))
}

/// The content of the file.
fn results(scored: &[Arc<ScoredAnswer>]) -> Value {
    let mut sorted: Vec<&ScoredAnswer> = scored.iter().map(AsRef::as_ref).collect();
    // The script's file is about its rubric: other scorers have no `ann_score`.
    sorted.retain(|answer| answer.score.has_ann_score());
    sorted.sort_by_cached_key(|answer| {
        let case = &answer.case;
        (
            answer.system.clone(),
            case.annotator.clone(),
            case.case_id.clone(),
        )
    });
    let mut sources: Map<String, Value> = Map::new();
    for answers in sorted.chunk_by(|a, b| a.system == b.system) {
        let entries = answers.iter().map(|answer| entry(answer));
        sources.insert(format!("{}.jsonl", answers[0].system), entries.collect());
    }
    Value::Object(sources)
}

/// An answer as the script writes it: the sums under their names, then the components.
fn entry(answer: &ScoredAnswer) -> Value {
    let score = &answer.score;
    let mut scores = Map::new();
    let (name, ann_name) = score.sum_names();
    scores.insert(name.to_owned(), json!(score.value));
    scores.insert(ann_name.to_owned(), json!(score.ann_score));
    for component in &score.components {
        // The sums keep their names, whatever a criterion is called.
        let entry = scores.entry(&*component.name);
        entry.or_insert_with(|| json!(component.value));
    }
    json!({
        "scores": scores,
        "case_id": answer.case.case_id,
        "annotator": answer.case.annotator,
        "agreement": answer.case.agreement,
        "question": answer.case.initial_prompt,
    })
}

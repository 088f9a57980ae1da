//! The outputs of the three modules: retrieved abstracts, selected sentences, predicted labels.

use std::path::Path;

use serde_json::Value;

use super::lines::{Line, Spelled, by_abstract, claim_id, describe, doc_id, each_claim, label, sentences};
use crate::domain::Mode;
use crate::domain::scifact::{DocId, Label, LabelPrediction, Oddity, RationaleSelection, Retrieval};
use crate::error::{InputFault, Result};

/// Reads retrieved abstracts: `{"claim_id": 52, "doc_ids": [11, 15]}` a line. Ids written as text are counted; they
/// match nothing.
///
/// # Errors
/// Every fault of the file.
pub fn parse_retrievals(bytes: &[u8], path: &Path, mode: Mode) -> Result<Vec<Retrieval>> {
    each_claim(bytes, path, "{\"claim_id\": 52, \"doc_ids\": [11, 15]}", mode, |line| {
        let claim_id = claim_id(line, "claim_id")?;
        let mut faults = Vec::new();
        let mut found = Retrieval { claim_id, doc_ids: Vec::new(), text_ids: 0, line: line.number };
        match line.object.get("doc_ids") {
            Some(Value::Array(list)) => {
                for value in list {
                    match (value.as_i64(), value) {
                        (Some(id), _) => found.doc_ids.push(DocId(id)),
                        (None, Value::String(_)) => found.text_ids += 1,
                        (None, other) => faults.push(not_ids(line, other)),
                    }
                }
            }
            other => faults.push(not_ids(line, other.unwrap_or(&Value::Null))),
        }
        if faults.is_empty() { Ok(found) } else { Err(faults) }
    })
}

fn not_ids(line: &Line<'_>, value: &Value) -> InputFault {
    let fault = line.fault(format!("doc_ids: expected a list of whole numbers, found {}", describe(value)));
    fault.hint("write {\"claim_id\": 52, \"doc_ids\": [11, 15]}")
}

/// Reads selected sentences: `{"claim_id": 52, "evidence": {"11": [1, 11]}}` a line.
///
/// # Errors
/// Every fault of the file.
pub fn parse_rationales(bytes: &[u8], path: &Path, mode: Mode) -> Result<Vec<RationaleSelection>> {
    each_claim(bytes, path, "{\"claim_id\": 52, \"evidence\": {\"11\": [1, 11]}}", mode, |line| {
        let claim_id = claim_id(line, "claim_id")?;
        let mut faults = Vec::new();
        let mut evidence = Vec::new();
        for (key, value) in by_abstract(line, "evidence")? {
            let read = doc_id(line, key).and_then(|doc_id| Ok((doc_id, sentences(line, doc_id, Some(value))?)));
            match read {
                Ok(read) => evidence.push(read),
                Err(fault) => faults.push(fault),
            }
        }
        if faults.is_empty() { Ok(RationaleSelection { claim_id, evidence, line: line.number }) } else { Err(faults) }
    })
}

/// Reads predicted labels: `{"claim_id": 52, "labels": {"11": {"label": "SUPPORT", "confidence": 0.9}}}` a line; the
/// confidence is not used.
///
/// # Errors
/// Every fault of the file.
pub fn parse_labels(bytes: &[u8], path: &Path, mode: Mode) -> Result<Vec<LabelPrediction>> {
    each_claim(bytes, path, "{\"claim_id\": 52, \"labels\": {\"11\": {\"label\": \"SUPPORT\"}}}", mode, |line| {
        let claim_id = claim_id(line, "claim_id")?;
        let mut faults = Vec::new();
        let mut oddity = None;
        let mut labels = Vec::new();
        for (key, value) in by_abstract(line, "labels")? {
            let read = doc_id(line, key).and_then(|doc_id| {
                let unknown = Some(Oddity::UnknownLabel);
                match label(line, doc_id, value.get("label"))? {
                    Spelled::Plainly(label) => Ok((doc_id, label, None)),
                    Spelled::AsInFever(label) => Ok((doc_id, label, unknown.filter(|_| mode == Mode::Compat))),
                    Spelled::Unknown(_) if mode == Mode::Compat => Ok((doc_id, Label::NotEnoughInfo, unknown)),
                    Spelled::Unknown(fault) => Err(fault),
                }
            });
            match read {
                Ok((doc_id, label, odd)) => {
                    labels.push((doc_id, label));
                    oddity = oddity.or(odd);
                }
                Err(fault) => faults.push(fault),
            }
        }
        let line = line.number;
        if faults.is_empty() { Ok(LabelPrediction { claim_id, labels, line, oddity }) } else { Err(faults) }
    })
}

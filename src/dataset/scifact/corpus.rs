//! The corpus: how many sentences each abstract has, and whether it is structured.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::lines::{Line, describe, each_line};
use crate::domain::scifact::{Claim, ClaimId, DocId, Prediction};
use crate::error::{InputFault, Result};

/// What is kept of a corpus.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Corpus {
    abstracts: HashMap<DocId, (u32, bool)>,
}

impl Corpus {
    /// Sentences of an abstract; `None` if it is not in the corpus.
    pub fn sentences(&self, doc_id: DocId) -> Option<u32> {
        self.abstracts.get(&doc_id).map(|(sentences, _)| *sentences)
    }

    /// Whether the abstract has headed sections; `None` if it is not in the corpus.
    pub fn is_structured(&self, doc_id: DocId) -> Option<bool> {
        self.abstracts.get(&doc_id).map(|(_, structured)| *structured)
    }

    /// Faults of a submission: abstracts that are not in the corpus, sentences that the abstract has not.
    pub fn faults_of_predictions(&self, predictions: &[Prediction], path: &Path) -> Vec<InputFault> {
        let all = predictions.iter().flat_map(|prediction| prediction.evidence.iter().map(move |e| (prediction, e)));
        all.flat_map(|(line, e)| self.faults(path, line.line, &line.claim_id, e.doc_id, &e.sentences)).collect()
    }

    /// The same of gold evidence.
    pub fn faults_of_claims(&self, claims: &[Claim], path: &Path) -> Vec<InputFault> {
        let groups = claims.iter().flat_map(|claim| claim.groups().iter().map(move |group| (claim, group)));
        let rationales =
            groups.flat_map(|(claim, group)| group.rationales.iter().map(move |r| (claim, group.doc_id, r)));
        rationales.flat_map(|(claim, doc_id, r)| self.faults(path, claim.line, &claim.id, doc_id, &r.0)).collect()
    }

    fn faults(&self, path: &Path, line: usize, id: &ClaimId, doc_id: DocId, sentences: &[u32]) -> Option<InputFault> {
        let fault = |what: String| InputFault::new(path, what).at_line(line).of_case(id.to_string());
        let Some(length) = self.sentences(doc_id) else {
            return Some(fault(format!("abstract {doc_id} is not in the corpus")).hint("check the id, or the corpus"));
        };
        let outside = sentences.iter().find(|sentence| **sentence >= length)?;
        let hint = match length.checked_sub(1) {
            Some(last) => format!("its sentences are 0 to {last}"),
            None => "it has no sentences".to_owned(),
        };
        Some(fault(format!("abstract {doc_id} has no sentence {outside}")).hint(hint))
    }
}

/// Reads a corpus: `{"doc_id": 11, "abstract": ["..", ".."], "structured": false}` a line.
///
/// # Errors
/// Every fault of the file.
pub fn parse_corpus(bytes: &[u8], path: &Path) -> Result<Corpus> {
    let read = each_line(bytes, path, "{\"doc_id\": 11, \"abstract\": [\"..\"]}", |line| {
        abstract_of(line).map_err(|fault| vec![fault])
    })?;
    Ok(Corpus { abstracts: read.into_iter().collect() })
}

fn abstract_of(line: &Line<'_>) -> Result<(DocId, (u32, bool)), InputFault> {
    let expected = |key: &str, what: &str| {
        let found = line.object.get(key).map_or_else(|| "nothing".to_owned(), describe);
        line.fault(format!("{key}: expected {what}, found {found}"))
    };
    let doc_id = line.object.get("doc_id").and_then(Value::as_i64);
    let doc_id = doc_id.ok_or_else(|| expected("doc_id", "a whole number"))?;
    let sentences = line.object.get("abstract").and_then(Value::as_array).map(Vec::len);
    let sentences = sentences.ok_or_else(|| expected("abstract", "a list of sentences"))?;
    let structured = line.object.get("structured").and_then(Value::as_bool).unwrap_or(false);
    Ok((DocId(doc_id), (u32::try_from(sentences).unwrap_or(u32::MAX), structured)))
}

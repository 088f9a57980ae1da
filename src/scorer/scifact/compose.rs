//! Submissions that are made of other files: of the modules' outputs, or of the gold.

use std::collections::{HashMap, HashSet};

use super::counts::{SentenceCap, matched_rationale};
use crate::domain::scifact::{
    Claim, ClaimId, DocId, EvidenceGroup, Label, LabelPrediction, PredictedAbstract, Prediction, RationaleSelection,
};

/// A claim of the two module files that does not fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmerged {
    /// Sentences and no label line; with the line of the sentences.
    NoLabels(ClaimId, usize),
    /// Labels and no line with sentences; with the line of the labels.
    NoRationales(ClaimId, usize),
    /// This abstract has sentences and no label; with the line of the sentences.
    NoLabel(ClaimId, DocId, usize),
    /// This abstract has a label and no sentences; with the line of the labels.
    NoSentences(ClaimId, DocId, usize),
}

/// A submission out of selected sentences and predicted labels; abstracts labelled `NOT_ENOUGH_INFO` are left out.
/// Claims and abstracts keep the order of the rationale file.
///
/// # Errors
/// Every claim and abstract that is in one file only.
pub fn merge(rationales: &[RationaleSelection], labels: &[LabelPrediction]) -> Result<Vec<Prediction>, Vec<Unmerged>> {
    let by_claim: HashMap<_, _> = labels.iter().map(|line| (&line.claim_id, line)).collect();
    let selected: HashSet<_> = rationales.iter().map(|line| &line.claim_id).collect();
    let mut unmerged = Vec::new();
    let mut merged = Vec::with_capacity(rationales.len());
    for line in rationales {
        match by_claim.get(&line.claim_id) {
            Some(labels) => merged.push(merge_claim(line, labels, &mut unmerged)),
            None => unmerged.push(Unmerged::NoLabels(line.claim_id.clone(), line.line)),
        }
    }
    let alone = labels.iter().filter(|line| !selected.contains(&line.claim_id));
    unmerged.extend(alone.map(|line| Unmerged::NoRationales(line.claim_id.clone(), line.line)));
    if unmerged.is_empty() { Ok(merged) } else { Err(unmerged) }
}

fn merge_claim(line: &RationaleSelection, labels: &LabelPrediction, unmerged: &mut Vec<Unmerged>) -> Prediction {
    let mut by_doc: HashMap<DocId, Label> = labels.labels.iter().copied().collect();
    let mut evidence = Vec::new();
    let mut undecided = 0;
    for (doc_id, sentences) in &line.evidence {
        match by_doc.remove(doc_id) {
            None => unmerged.push(Unmerged::NoLabel(line.claim_id.clone(), *doc_id, line.line)),
            Some(Label::NotEnoughInfo) => undecided += 1,
            Some(label) => evidence.push(PredictedAbstract { doc_id: *doc_id, label, sentences: sentences.clone() }),
        }
    }
    let rest = labels.labels.iter().map(|(doc_id, _)| *doc_id).filter(|doc_id| by_doc.contains_key(doc_id));
    unmerged.extend(rest.map(|doc_id| Unmerged::NoSentences(line.claim_id.clone(), doc_id, labels.line)));
    Prediction { claim_id: line.claim_id.clone(), evidence, undecided, line: line.line, oddity: None }
}

/// The submission that scores 1: of each gold abstract its label and the sentences of all its rationales, those of the
/// shortest first, so that a whole rationale stands within the first 3 where one is that short (see [`never_rationalized`]).
pub fn oracle(claims: &[Claim]) -> Vec<Prediction> {
    let of_claim = |claim: &Claim| {
        let decided = claim.groups().iter().filter(|group| group.label != Label::NotEnoughInfo);
        let evidence: Vec<_> = decided.map(perfect).collect();
        Prediction { claim_id: claim.id.clone(), evidence, undecided: 0, line: claim.line, oddity: None }
    };
    claims.iter().map(of_claim).collect()
}

fn perfect(group: &EvidenceGroup) -> PredictedAbstract {
    let mut rationales: Vec<&[u32]> = group.rationales.iter().map(|rationale| rationale.0.as_slice()).collect();
    rationales.sort_by_key(|sentences| sentences.len());
    let mut seen = HashSet::new();
    let sentences = rationales.concat().into_iter().filter(|sentence| seen.insert(*sentence)).collect();
    PredictedAbstract { doc_id: group.doc_id, label: group.label, sentences }
}

/// Gold abstracts whose shortest rationale has more sentences than count: under this cap no submission gets them
/// *rationalized*.
pub fn never_rationalized(claims: &[Claim], cap: SentenceCap) -> Vec<(ClaimId, DocId)> {
    let missed = |group: &&EvidenceGroup| matched_rationale(group, &perfect(group), cap).is_none();
    let of_claim =
        |claim: &Claim| claim.groups().iter().filter(missed).map(|g| (claim.id.clone(), g.doc_id)).collect::<Vec<_>>();
    claims.iter().flat_map(of_claim).collect()
}

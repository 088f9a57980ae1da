//! Why a claim scored as it did.

use std::collections::HashSet;

use serde::Serialize;

use super::counts::{Counts, SentenceCap, count_claim, credited_sentences, matched_rationale};
use crate::domain::scifact::{Claim, ClaimId, DocId, EvidenceGroup, Label, PredictedAbstract, Prediction, Rationale};

/// Why one claim scored as it did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimExplanation {
    /// The claim.
    pub id: ClaimId,
    /// Its text.
    pub claim: String,
    /// Whether the submission has a line for it.
    pub predicted: bool,
    /// Its abstracts: the predicted ones in their order, then the gold ones that were missed.
    pub abstracts: Vec<AbstractExplanation>,
    /// What it contributes.
    pub counts: Counts,
}

/// What became of one abstract.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AbstractExplanation {
    /// The abstract.
    pub doc_id: DocId,
    /// The gold label; `None` if the abstract is not relevant.
    pub gold: Option<Label>,
    /// The predicted label; `None` if it was not predicted.
    pub predicted: Option<Label>,
    /// The gold rationales.
    pub rationales: Vec<Rationale>,
    /// How many of the predicted sentences count towards *rationalized*.
    pub sentences_counted: usize,
    /// The first rationale that is among them (position in `rationales`), whatever the label.
    pub matched: Option<usize>,
    /// Whether it counts as *label-only*.
    pub label_only: bool,
    /// Whether it counts as *rationalized*.
    pub rationalized: bool,
    /// The predicted sentences, in their order.
    pub sentences: Vec<SentenceCredit>,
}

/// What became of one predicted sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentenceCredit {
    /// Its position in the abstract.
    pub sentence: u32,
    /// Counts as *selection*.
    pub selection: bool,
    /// Counts as *label*.
    pub label: bool,
    /// Sentences that its rationale still lacks (of the rationale that lacks fewest); empty where it counts or is in
    /// no rationale.
    pub lacks: Vec<u32>,
    /// True if it is in a gold rationale.
    pub in_rationale: bool,
    /// True if it stood before in the same list; then only its first place counts.
    pub repeated: bool,
}

/// Why the claim scored as it did with this prediction.
pub fn explain(claim: &Claim, prediction: Option<&Prediction>, cap: SentenceCap) -> ClaimExplanation {
    let predicted = prediction.map_or(&[][..], |prediction| &prediction.evidence);
    let gold_of = |doc_id: DocId| claim.groups().iter().find(|group| group.doc_id == doc_id);
    let mut abstracts: Vec<_> = predicted.iter().map(|p| explain_abstract(gold_of(p.doc_id), p, cap)).collect();
    let missed = claim.groups().iter().filter(|group| predicted.iter().all(|p| p.doc_id != group.doc_id));
    abstracts.extend(missed.map(|group| AbstractExplanation {
        doc_id: group.doc_id,
        gold: Some(group.label),
        predicted: None,
        rationales: group.rationales.clone(),
        sentences_counted: 0,
        matched: None,
        label_only: false,
        rationalized: false,
        sentences: Vec::new(),
    }));
    ClaimExplanation {
        id: claim.id.clone(),
        claim: claim.text.clone(),
        predicted: prediction.is_some(),
        abstracts,
        counts: count_claim(claim, prediction, cap),
    }
}

fn explain_abstract(
    gold: Option<&EvidenceGroup>,
    predicted: &PredictedAbstract,
    cap: SentenceCap,
) -> AbstractExplanation {
    let label_only = gold.is_some_and(|group| group.label == predicted.label);
    let matched = gold.and_then(|group| matched_rationale(group, predicted, cap));
    let credited = gold.map(|group| credited_sentences(group, predicted)).unwrap_or_default();
    let mut seen = HashSet::new();
    let all: HashSet<u32> = predicted.sentences.iter().copied().collect();
    let credit = |sentence: &u32| {
        let repeated = !seen.insert(*sentence);
        let selection = credited.contains(sentence) && !repeated;
        let within = || gold.iter().flat_map(|g| &g.rationales).filter(|rationale| rationale.0.contains(sentence));
        let lacking = |r: &Rationale| r.0.iter().copied().filter(|s| !all.contains(s)).collect::<Vec<u32>>();
        SentenceCredit {
            sentence: *sentence,
            selection,
            label: selection && label_only,
            lacks: within().map(lacking).min_by_key(Vec::len).unwrap_or_default(),
            in_rationale: within().next().is_some(),
            repeated,
        }
    };
    AbstractExplanation {
        doc_id: predicted.doc_id,
        gold: gold.map(|group| group.label),
        predicted: Some(predicted.label),
        rationales: gold.map(|group| group.rationales.clone()).unwrap_or_default(),
        sentences_counted: gold.map_or(3, |group| cap.sentences(group)).min(predicted.sentences.len()),
        matched,
        label_only,
        rationalized: label_only && matched.is_some(),
        sentences: predicted.sentences.iter().map(credit).collect(),
    }
}

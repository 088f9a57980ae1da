//! The nouns of SciFact (Wadden et al., "Fact or Fiction: Verifying Scientific Claims", EMNLP 2020).
//!
//! A [`Claim`] is supported or contradicted by abstracts; of each abstract the gold data names one or more
//! [`Rationale`]s, sets of sentences that verify the claim together. A [`Prediction`] gives for a claim the abstracts that
//! a system found, each with one label and one list of sentences.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// The identifier of a claim: a number in the released files. A text is never equal to a number, as in the reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimId {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(Arc<str>),
}

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Serialize for ClaimId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_i64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// The S2ORC identifier of an abstract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct DocId(pub i64);

impl fmt::Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What an abstract says about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Label {
    /// The abstract contradicts it.
    Contradict,
    /// The abstract does not decide it.
    NotEnoughInfo,
    /// The abstract supports it.
    Support,
}

impl Label {
    /// All labels in the order of the reference's confusion matrix.
    pub const ALL: [Self; 3] = [Self::Contradict, Self::NotEnoughInfo, Self::Support];

    /// The label as the files write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Contradict => "CONTRADICT",
            Self::NotEnoughInfo => "NOT_ENOUGH_INFO",
            Self::Support => "SUPPORT",
        }
    }

    /// Reads `SUPPORT`, `CONTRADICT`, `NOT_ENOUGH_INFO`, nothing else.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|label| label.as_str() == name)
    }

    /// Reads FEVER's words for the two verdicts, `SUPPORTS` and `REFUTES`.
    pub fn from_alias(name: &str) -> Option<Self> {
        match name {
            "SUPPORTS" => Some(Self::Support),
            "REFUTES" => Some(Self::Contradict),
            _ => None,
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One evidence set: sentences (0-based positions in the abstract) that verify the claim together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Rationale(pub Vec<u32>);

/// What the gold data knows of one claim and one abstract. All its rationales have one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceGroup {
    /// The abstract.
    pub doc_id: DocId,
    /// What it says about the claim.
    pub label: Label,
    /// Each of them verifies the claim on its own.
    pub rationales: Vec<Rationale>,
}

/// A claim with its gold evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Its identifier.
    pub id: ClaimId,
    /// The sentence; empty where the file has none.
    pub text: String,
    /// By abstract, in file order; empty if no abstract decides the claim. `None` in a blind file.
    pub evidence: Option<Vec<EvidenceGroup>>,
    /// 1-based line of the file.
    pub line: usize,
    /// What the reference would have stumbled over; only noted in compat mode.
    pub oddity: Option<Oddity>,
}

impl Claim {
    /// The evidence; none for a blind claim.
    pub fn groups(&self) -> &[EvidenceGroup] {
        self.evidence.as_deref().unwrap_or_default()
    }
}

/// One abstract of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictedAbstract {
    /// The abstract.
    pub doc_id: DocId,
    /// The predicted label.
    pub label: Label,
    /// The predicted rationale sentences, best first.
    pub sentences: Vec<u32>,
}

/// One line of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction {
    /// The claim.
    pub claim_id: ClaimId,
    /// By abstract, in file order; may be empty.
    pub evidence: Vec<PredictedAbstract>,
    /// How many abstracts were left out because their label is `NOT_ENOUGH_INFO`.
    pub undecided: usize,
    /// 1-based line of the file.
    pub line: usize,
    /// What the reference would have stumbled over; only noted in compat mode.
    pub oddity: Option<Oddity>,
}

/// One line of a file of retrieved abstracts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrieval {
    /// The claim.
    pub claim_id: ClaimId,
    /// The retrieved abstracts. An id that is written as a text is not here: it matches nothing.
    pub doc_ids: Vec<DocId>,
    /// How many ids are written as text.
    pub text_ids: usize,
    /// 1-based line of the file.
    pub line: usize,
}

/// One line of a file of selected rationale sentences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RationaleSelection {
    /// The claim.
    pub claim_id: ClaimId,
    /// The sentences of each abstract, in file order.
    pub evidence: Vec<(DocId, Vec<u32>)>,
    /// 1-based line of the file.
    pub line: usize,
}

/// One line of a file of predicted labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelPrediction {
    /// The claim.
    pub claim_id: ClaimId,
    /// The label of each abstract, in file order.
    pub labels: Vec<(DocId, Label)>,
    /// 1-based line of the file.
    pub line: usize,
    /// What the reference would have stumbled over; only noted in compat mode.
    pub oddity: Option<Oddity>,
}

/// What default mode refuses or accepts where the reference raises an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oddity {
    /// A label that is none of the three words.
    UnknownLabel,
    /// A submission that holds `NOT_ENOUGH_INFO`.
    Undecided,
    /// A gold abstract with two labels.
    TwoLabels,
    /// A gold abstract without a rationale.
    NoRationale,
    /// A prediction without `evidence`, `label` or `sentences`.
    MissingKey,
    /// Sentences that are no list.
    NoList,
    /// An abstract whose id is no whole number.
    TextDocId,
}

/// The exception of the reference, by which compat has no score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Raised {
    /// Python's name of it.
    pub exception: &'static str,
    /// Where it would have come from.
    pub at: String,
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the reference raises {} ({})", self.exception, self.at)
    }
}

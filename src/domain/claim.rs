//! Claims of an answer, and whether their sources bear them out.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::UnscoredReason;

/// What a source says about a claim (AttributionScore, Yue et al. 2023); only the first counts as support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attribution {
    /// The source bears the claim out.
    Attributable,
    /// The source says too little to tell.
    Extrapolatory,
    /// The source says otherwise.
    Contradictory,
}

impl Attribution {
    /// All labels.
    pub const ALL: [Self; 3] = [Self::Attributable, Self::Extrapolatory, Self::Contradictory];

    /// The label as AttrScore writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attributable => "Attributable",
            Self::Extrapolatory => "Extrapolatory",
            Self::Contradictory => "Contradictory",
        }
    }

    /// True if the source bears the claim out.
    pub fn is_support(self) -> bool {
        self == Self::Attributable
    }
}

impl fmt::Display for Attribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One claim of an answer and what became of it; kept per answer in `scores.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimSupport {
    /// The claim: a sentence without its markers.
    pub claim: String,
    /// The numbers it is counted to cite (after inheritance and cutting), as written in the answer.
    pub citations: Vec<u64>,
    /// True if the numbers are those of an earlier sentence, since this one has none.
    pub inherited: bool,
    /// What all its sources together say; `None` if nothing was asked.
    pub label: Option<Attribution>,
    /// Whether the claim counts as supported; `None` if it could not be judged.
    pub supported: Option<bool>,
    /// How many of its citations earned their place (`None` if that could not be judged).
    pub precise_citations: Option<u64>,
    /// Why it is (not) supported where no judge says so: `no citation`, `[9] is out of range`, `skipped: under 50 characters`.
    pub why: Option<String>,
    /// What the judge said besides the label.
    pub feedback: Option<String>,
    /// Why it could not be judged.
    pub unscored: Option<UnscoredReason>,
}

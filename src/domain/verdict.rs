//! A reply that has been read, or the reason why there is none.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Which arithmetic and which parser: ours, or the reference scripts' to the last digit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The correct behaviour of `docs/metrics.md`.
    #[default]
    Default,
    /// The reference's pairing, parsing and arithmetic, its faults included.
    Compat,
}

/// How the claims of an answer are cited.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClaimShares {
    /// Claims with at least one citation / max(claims, 1).
    pub citations: f64,
    /// Citations with at least one excerpt / max(citations, 1).
    pub excerpts: f64,
    /// Claims found (summed over draws when merged).
    pub claim_count: u64,
    /// Citations found (summed over draws when merged).
    pub citation_count: u64,
}

impl ClaimShares {
    /// The shares `(cited, claims)` and `(quoted, citations)`, each a part and its whole; a whole of 0 gives 0.
    pub(super) fn of_counts((cited, claims): (usize, usize), (quoted, citations): (usize, usize)) -> Self {
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        Self {
            citations: share(cited, claims),
            excerpts: share(quoted, citations),
            claim_count: claims as u64,
            citation_count: citations as u64,
        }
    }
}

/// What a readable reply holds: the verdict, and the judge's feedback.
pub type Reading = (Verdict, Option<String>);

/// A reply that has been read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// 0..=10 for a criterion (any number in compat mode).
    Points(f64),
    /// How many snippets are present, >= 0 (any number in compat mode); not yet capped.
    Count(f64),
    /// Shares of cited claims and of quoted citations.
    Claims(ClaimShares),
    /// 1..=5 in an aspect; whole as a judge gives it, anything between when merged or expected.
    Grade(f64),
    /// Whether a document bears a claim out.
    Attribution(Attribution),
}

/// Why a whole reply could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// What was wrong: `no JSON object`, `score 11 is outside 0..10`.
    pub what: String,
    /// True if asking again may help (false for a reply cut by the token limit, and for compat exceptions).
    pub ask_again: bool,
    /// Which kind of unscored it becomes when it is not asked again.
    pub kind: UnscoredKind,
}

impl Unreadable {
    /// A reply that may be read when it is asked for again.
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), ask_again: true, kind: UnscoredKind::Unreadable }
    }

    /// A reply that the token limit cut after so many tokens (0: unknown).
    pub(super) fn cut(tokens: u64) -> Self {
        let at = if tokens > 0 { format!("{tokens} tokens") } else { "the token limit".to_owned() };
        Self { what: format!("reply cut at {at}"), ask_again: false, kind: UnscoredKind::Cut }
    }
}

/// Groups of reasons, for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnscoredKind {
    /// The reply came whole but could not be read.
    Unreadable,
    /// The reply was cut at the token limit.
    Cut,
    /// The prompt does not fit the model's context.
    ContextOverflow,
    /// The server refused the call (a 4xx that no retry helps).
    Refused,
    /// The server could not be reached or kept failing.
    Unreachable,
    /// It hangs on another component that is unscored.
    DependsOnUnscored,
    /// The reference script would have raised here (compat mode).
    Exception,
    /// It was never asked: the run was stopped, planned only, or nothing is left to judge.
    NotAsked,
    /// A run is scored again in another mode, which asks what this run did not ask.
    NeedsOtherCalls,
    /// No judge has the role: its columns stay blank by choice.
    NoJudge,
}

/// Why a component has no value. Never a silent 0, never NaN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnscoredReason {
    /// For counting.
    pub kind: UnscoredKind,
    /// For reading: the server's or the parser's words (at most a few hundred characters).
    pub message: String,
}

impl UnscoredReason {
    /// A reason of that kind.
    pub fn new(kind: UnscoredKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// A verdict that does not answer what was asked.
    pub(crate) fn other_kind() -> Self {
        Self::new(UnscoredKind::Unreadable, "the verdict is of another kind than was asked for")
    }
}

impl From<Unreadable> for UnscoredReason {
    fn from(unreadable: Unreadable) -> Self {
        Self::new(unreadable.kind, unreadable.what)
    }
}

impl fmt::Display for UnscoredReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

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

//! Verdicts parsed from replies, and reasons for missing ones.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CriterionVerdict, Preference};

/// Parser and arithmetic: ours, or the reference scripts' to the last digit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The correct behavior of `docs/metrics.md`.
    #[default]
    Default,
    /// The reference's pairing, parsing and arithmetic, including its faults.
    Compat,
}

impl Mode {
    /// The mode of a flag `--compat`.
    pub const fn of(is_compat: bool) -> Self {
        if is_compat {
            Self::Compat
        } else {
            Self::Default
        }
    }
}

/// Citation and excerpt shares of an answer's claims.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClaimShares {
    /// Claims with at least one citation / max(claims, 1).
    pub citations: f64,
    /// Citations with at least one excerpt / max(citations, 1).
    pub excerpts: f64,
    /// Claims found (summed over samples when merged).
    pub claim_count: u64,
    /// Citations found (summed over samples when merged).
    pub citation_count: u64,
}

impl ClaimShares {
    /// Shares from `(cited, claims)` and `(quoted, citations)`; a total of 0 gives 0.
    pub(crate) fn of_counts(
        (cited, claims): (usize, usize),
        (quoted, citations): (usize, usize),
    ) -> Self {
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        Self {
            citations: share(cited, claims),
            excerpts: share(quoted, citations),
            claim_count: claims as u64,
            citation_count: citations as u64,
        }
    }
}

/// What a judge's reply says: a verdict, with an explanation where the judge gives one.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The verdict.
    pub verdict: Verdict,
    /// The judge's explanation.
    pub feedback: Option<String>,
    /// What the probabilities of a decision model say beside it.
    pub belief: Option<Belief>,
}

/// What probabilities say beside the verdict, in units of its number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Belief {
    /// The mean credit over the options but an abstention.
    pub expected: f64,
    /// The variance of the credit over them, >= 0; `None` if the server gave no probabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<f64>,
    /// Whether other options were as probable as the verdict: the worst one for the answer counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_tie: bool,
}

impl Belief {
    /// The belief about a sum, whose parts are taken for independent.
    pub(crate) fn of_sum(parts: Vec<Self>) -> Self {
        let doubts: Option<Vec<f64>> = parts.iter().map(|part| part.doubt).collect();
        Self {
            expected: parts.iter().map(|part| part.expected).sum(),
            doubt: doubts.map(|doubts| doubts.iter().sum()),
            is_tie: parts.iter().any(|part| part.is_tie),
        }
    }

    /// The belief of several samples or judges together: the moments of their mixture; `None` without any.
    pub(crate) fn merged(beliefs: &[Self]) -> Option<Self> {
        if beliefs.is_empty() {
            return None;
        }
        let count = beliefs.len() as f64;
        let expected = beliefs.iter().map(|belief| belief.expected).sum::<f64>() / count;
        let doubts: Option<Vec<f64>> = beliefs
            .iter()
            .map(|belief| Some(belief.doubt? + (belief.expected - expected).powi(2)))
            .collect();
        Some(Self {
            expected,
            doubt: doubts.map(|doubts| doubts.iter().sum::<f64>() / count),
            is_tie: beliefs.iter().any(|belief| belief.is_tie),
        })
    }
}

impl Reading {
    /// A verdict without an explanation.
    pub fn new(verdict: Verdict) -> Self {
        Self {
            verdict,
            feedback: None,
            belief: None,
        }
    }

    /// The same verdict with this explanation.
    #[must_use]
    pub fn with_feedback(self, feedback: Option<String>) -> Self {
        Self { feedback, ..self }
    }
}

/// The result of one question, or of one of its samples: what the judge says, or why there is no verdict.
pub type Judgment = Result<Reading, UnscoredReason>;

/// A parsed reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// 0..=10 for a criterion (any number in compat mode).
    Points(f64),
    /// Number of snippets present, >= 0 (any number in compat mode); not yet capped.
    Count(f64),
    /// Shares of cited claims and of quoted citations.
    Claims(ClaimShares),
    /// 1..=5 in an aspect; fractional only when merged or expected.
    Grade(f64),
    /// Whether a document supports a claim.
    Attribution(Attribution),
    /// One verdict for each criterion of the call, in order; null in files: cannot assess.
    Criteria(Arc<[CriterionVerdict]>),
    /// Texts of the answer that are irrelevant to the question, as the judge quotes them.
    Irrelevant(Arc<[String]>),
    /// The claims of a section with their citations.
    CitedClaims(Arc<[CitedClaim]>),
    /// Which of two answers is better.
    Preference(AnswerPreference),
    /// The statements of a report that cite pages.
    Statements(Arc<[CitedStatement]>),
    /// One verdict for each statement of the call, in order.
    Support(Arc<[StatementSupport]>),
    /// The places of the statements that stay when those that say the same are left out, from 0.
    Kept(Arc<[usize]>),
    /// What a decision model says of each item of a request.
    Decided(Arc<[DecidedItem]>),
}

impl Verdict {
    /// Why a reply about several items has a verdict on none of them; `None` if it has one.
    pub fn failure(&self) -> Option<&UnscoredReason> {
        let Self::Decided(items) = self else {
            return None;
        };
        if items.iter().any(|item| item.verdict.is_some()) {
            return None;
        }
        items.first()?.unscored.as_ref()
    }

    /// Its number: for claims the cited or supported share, for irrelevant texts their count, for labels 1 for support,
    /// for one criterion its credit, for a preference its value; `None` if the judge cannot assess it.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Points(value) | Self::Count(value) | Self::Grade(value) => Some(*value),
            Self::Criteria(of_one) => of_one.first()?.credit,
            Self::Attribution(label) => Some(f64::from(u8::from(label.is_support()))),
            Self::Claims(shares) => Some(shares.citations),
            Self::Irrelevant(texts) => Some(texts.len() as f64),
            Self::Statements(statements) => Some(statements.len() as f64),
            Self::Kept(places) => Some(places.len() as f64),
            Self::Support(of_one) => of_one.first()?.verdict.number(),
            Self::Preference(preference) => Some(preference.value),
            Self::Decided(_) => None,
            Self::CitedClaims(claims) => {
                let supported = claims
                    .iter()
                    .filter(|claim| claim.is_fully_supported && !claim.supporting.is_empty());
                Some(supported.count() as f64 / claims.len().max(1) as f64)
            }
        }
    }

    /// The same points, count, grade, preference or credit of one criterion with another number; other verdicts stay as they
    /// are.
    #[must_use]
    pub fn with_number(self, number: f64) -> Self {
        match self {
            Self::Points(_) => Self::Points(number),
            Self::Count(_) => Self::Count(number),
            Self::Grade(_) => Self::Grade(number),
            Self::Preference(preference) => Self::Preference(AnswerPreference {
                value: number,
                ..preference
            }),
            Self::Criteria(of_one) if of_one.len() == 1 => Self::Criteria(
                [CriterionVerdict {
                    credit: Some(number),
                    ..of_one[0].clone()
                }]
                .into(),
            ),
            other => other,
        }
    }
}

/// What a decision model says of one item of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecidedItem {
    /// The item.
    pub item: Arc<str>,
    /// The verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Box<Verdict>>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unscored: Option<UnscoredReason>,
    /// What the probabilities say beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub belief: Option<Belief>,
}

impl DecidedItem {
    /// This judgment on an item.
    pub fn new(item: Arc<str>, judgment: Judgment) -> Self {
        let (verdict, unscored, belief) = match judgment {
            Ok(reading) => (Some(Box::new(reading.verdict)), None, reading.belief),
            Err(reason) => (None, Some(reason), None),
        };
        Self {
            item,
            verdict,
            unscored,
            belief,
        }
    }

    /// The judgment on it.
    pub fn judgment(&self) -> Judgment {
        match (&self.verdict, &self.unscored) {
            (Some(verdict), _) => Ok(Reading {
                belief: self.belief,
                ..Reading::new((**verdict).clone())
            }),
            (None, Some(reason)) => Err(reason.clone()),
            (None, None) => Err(UnscoredReason::other_kind()),
        }
    }
}

/// How far a judge prefers the first of two answers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AnswerPreference {
    /// The [points](Preference::points) of the answer shown first. A probability, or the merged value of samples, lies between
    /// them.
    pub value: f64,
    /// Whether the judge calls it much better, which counts no more than better.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_strong: bool,
}

impl AnswerPreference {
    /// The preference with this value for the answer shown first.
    pub const fn of_value(value: f64) -> Self {
        Self {
            value,
            is_strong: false,
        }
    }
}

impl From<Preference> for AnswerPreference {
    fn from(preference: Preference) -> Self {
        Self::of_value(preference.points())
    }
}

/// One claim of a section, as the judge divides it (ScholarQA-CS2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedClaim {
    /// Ids of the citations that support it; an id may be repeated or unknown.
    pub supporting: Vec<String>,
    /// Ids of those that do not.
    pub non_supporting: Vec<String>,
    /// Whether they support all of it.
    pub is_fully_supported: bool,
}

/// A statement of a report with the pages that it cites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedStatement {
    /// What the report says.
    pub text: String,
    /// The addresses, as the report writes them; empty where it gives none.
    pub urls: Vec<String>,
}

/// What a judge says about a statement and a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementSupport {
    /// The verdict.
    pub verdict: PageVerdict,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

impl StatementSupport {
    /// A verdict without an explanation.
    pub const fn of(verdict: PageVerdict) -> Self {
        Self {
            verdict,
            feedback: None,
        }
    }
}

/// Whether a page supports a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageVerdict {
    /// The page says it.
    Supported,
    /// It does not.
    Unsupported,
    /// The text is not that of a page.
    NoContent,
    /// The reply has no single verdict on the statement.
    Unreadable,
}

impl PageVerdict {
    /// The verdict that a label names, whatever its case. `unknown` is what a judge says in the words of FACT about a page
    /// without content.
    pub fn named(label: &str) -> Self {
        match label
            .trim()
            .to_lowercase()
            .replace(['_', '-'], " ")
            .as_str()
        {
            "supported" => Self::Supported,
            "unsupported" | "not supported" => Self::Unsupported,
            "unknown" => Self::NoContent,
            _ => Self::Unreadable,
        }
    }

    /// 1 for support, 0 for none; `None` without a judgment.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Supported => Some(1.0),
            Self::Unsupported => Some(0.0),
            Self::NoContent | Self::Unreadable => None,
        }
    }
}

/// Kinds of reasons, for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnscoredKind {
    /// The reply was complete but could not be parsed.
    Unreadable,
    /// The reply has no answer to the question, among answers to others.
    Missing,
    /// The reply was cut at the token limit.
    Cut,
    /// The prompt does not fit the model's context.
    ContextOverflow,
    /// The server refused the call (a 4xx that a retry cannot fix), or the judge refused to answer, or its content filter.
    Refused,
    /// The server refused the text of the call: a content filter or a usage policy. This does not concern other calls.
    Moderated,
    /// The server could not be reached or kept failing.
    Unreachable,
    /// It depends on another component that is unscored.
    DependsOnUnscored,
    /// The reference script would have raised an exception (compat mode).
    Exception,
    /// The judge says that it cannot assess the criterion.
    Abstained,
    /// There is no answer to judge: its text is null, or only the error text of a failed generation.
    NoAnswer,
    /// It was not asked: the run was stopped or only planned, or nothing is left to judge.
    NotAsked,
    /// A run is rescored in another mode, which needs calls that the run did not make.
    NeedsOtherCalls,
}

/// Why a component has no value. Never a silent 0 or NaN.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnscoredReason {
    /// For counting.
    pub kind: UnscoredKind,
    /// Message of the server or the parser (at most a few hundred characters).
    pub message: String,
}

impl UnscoredReason {
    /// A reason of this kind.
    pub fn new(kind: UnscoredKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// A verdict of another kind than the question.
    pub fn other_kind() -> Self {
        Self::new(
            UnscoredKind::Unreadable,
            "the verdict is of another kind than was asked for",
        )
    }
}

impl fmt::Display for UnscoredReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Relation of a source to a claim (AttributionScore, Yue et al. 2023); only the first counts as support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attribution {
    /// The source supports the claim.
    Attributable,
    /// The source neither supports nor contradicts the claim.
    Extrapolatory,
    /// The source contradicts the claim.
    Contradictory,
}

impl Attribution {
    /// All labels.
    pub const ALL: [Self; 3] = [Self::Attributable, Self::Extrapolatory, Self::Contradictory];

    /// The label as spelled by AttrScore.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attributable => "Attributable",
            Self::Extrapolatory => "Extrapolatory",
            Self::Contradictory => "Contradictory",
        }
    }

    /// Whether the source supports the claim.
    pub fn is_support(self) -> bool {
        self == Self::Attributable
    }
}

impl fmt::Display for Attribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One claim of an answer with its result; stored per answer in `scores.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimSupport {
    /// The claim: a sentence without its markers.
    pub claim: String,
    /// Its citation numbers (after inheritance and cutting), as written in the answer.
    pub citations: Vec<u64>,
    /// Whether the numbers come from an earlier sentence because this one has none.
    pub inherited: bool,
    /// Label of all its sources together; `None` if no call was made.
    pub label: Option<Attribution>,
    /// Whether the claim counts as supported; `None` if it could not be judged.
    pub supported: Option<bool>,
    /// Number of precise citations; `None` if that could not be judged.
    pub precise_citations: Option<u64>,
    /// Why it is (not) supported if no judge decided: `no citation`, `[9] is out of range`, `skipped: under 50
    /// characters`.
    pub why: Option<String>,
    /// The judge's feedback.
    pub feedback: Option<String>,
    /// Why it could not be judged.
    pub unscored: Option<UnscoredReason>,
}

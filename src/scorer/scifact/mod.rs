//! SciFact: abstract-level and sentence-level scores of a submission, and the scores of its three modules.
//!
//! Formulas: Wadden et al., EMNLP 2020, section 4 and `doc/evaluation.md` of `allenai/scifact`; compat repeats
//! `verisci/evaluate` at commit 68b98a5 and, with [`SentenceCap::ShortestRationale`], the leaderboard's
//! `allenai/scifact-evaluator`. Everything is linear in the number of claims.
//!
//! The worked example of the guidelines. The gold has evidence sets {0, 1} and {11} in abstract 11 and {4} in abstract
//! 15; predicted are sentences 1, 11, 13 of abstract 11 and 18, 20 of abstract 16:
//!
//! ```
//! use scholareval::dataset::scifact::{parse_claims, parse_predictions};
//! use scholareval::domain::Mode;
//! use scholareval::scorer::scifact::{Measures, ScoreOptions, score};
//!
//! # fn main() -> scholareval::Result<()> {
//! let gold = br#"{"id": 52, "claim": "c", "evidence": {
//!     "11": [{"sentences": [0, 1], "label": "SUPPORT"}, {"sentences": [11], "label": "SUPPORT"}],
//!     "15": [{"sentences": [4], "label": "SUPPORT"}]}, "cited_doc_ids": [11, 15]}"#;
//! let predicted = br#"{"id": 52, "evidence": {
//!     "11": {"sentences": [1, 11, 13], "label": "SUPPORT"}, "16": {"sentences": [18, 20], "label": "REFUTES"}}}"#;
//! let one_line = |json: &[u8]| -> Vec<u8> { json.iter().copied().filter(|byte| *byte != b'\n').collect() };
//! let claims = parse_claims(&one_line(gold), "gold.jsonl".as_ref(), Mode::Default)?;
//! let predictions = parse_predictions(&one_line(predicted), "mine.jsonl".as_ref(), Mode::Default)?;
//!
//! let Measures { abstract_rationalized, sentence_label, .. } =
//!     score(&claims, &predictions, ScoreOptions::default()).expect("default mode always scores").measures();
//! let of = |measure: scholareval::scorer::scifact::Prf| (measure.precision, measure.recall, measure.f1);
//! assert_eq!(of(abstract_rationalized), (1.0 / 2.0, 1.0 / 2.0, 1.0 / 2.0));
//! let (precision, recall, f1) = of(sentence_label);
//! assert_eq!((precision, recall), (1.0 / 5.0, 1.0 / 4.0));
//! assert!((f1 - 2.0 / 9.0).abs() < 1e-15);
//! # Ok(())
//! # }
//! ```

mod compat;
mod compose;
mod counts;
mod explain;
mod labels;
mod modules;
mod score;

pub use compose::{Unmerged, merge, never_rationalized, oracle};
pub use counts::{Counts, Measures, Prf, SentenceCap, count_claim};
pub use explain::{AbstractExplanation, ClaimExplanation, SentenceCredit, explain};
pub use labels::{ClassScores, LabelScores, score_labels};
pub use modules::{RationaleScores, RetrievalScores, score_rationales, score_retrieval};
pub use score::{ScoreOptions, Submission, score};

#[cfg(test)]
mod tests;

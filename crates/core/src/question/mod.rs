//! Questions to judges: one file for each kind, with everything that belongs to it.
//!
//! A kind says what it shows (the variables of its prompt templates, foreign text marked as such), the schema of its
//! reply and its limit, how a reply is read in both modes, how samples merge, what planning assumes, and what the built-in
//! baseline replies. Everything else asks the [`Question`]; what must know a kind without one reads its [`KindInfo`].
//!
//! A scorer puts questions into [`JudgeCall`]s; `prompt` renders one by its variables, a judge replies, and the
//! question [parses](Question::parse) the reply into a [`Reading`](crate::domain::Reading).
//!
//! To add a kind: its file here, its line in [`KINDS`], and its prompts under `rubrics/`. A kind about one answer to a
//! question takes from `answered.rs` what all of these share; `precision.rs` is the shortest. A kind may also be defined
//! outside this crate, as in `examples/custom_scorer.rs`; it brings its prompt itself ([`KindInfo::template`]).
//!
//! ```
//! use scholareval_core::domain::{JudgeReply, Mode, Verdict};
//! use scholareval_core::question::{Property, Question};
//!
//! let question: &dyn Question = &Property {
//!     question: "Why is the sky blue?".into(),
//!     answer: "Short wavelengths scatter more.".into(),
//!     criterion: "The answer names Rayleigh scattering.".into(),
//! };
//! let reply = JudgeReply::of_text("<think>no name</think> {\"score\": 4}");
//! let reading = question.parse(&reply, Mode::Default).expect("a number from 0 to 10");
//! assert_eq!(reading.verdict, Verdict::Points(4.0));
//!
//! let unreadable = question.parse(&JudgeReply::of_text("Fair."), Mode::Default).unwrap_err();
//! assert!(unreadable.ask_again);
//! ```

mod answered;
mod aspect;
mod astabench;
mod attribution;
mod call;
mod citation_group;
mod citations;
mod compat;
mod criteria;
mod decision;
mod decision_chunk;
mod deduplicate;
mod evidence;
pub mod fact;
mod interface;
mod kind;
mod merging;
mod pair;
mod points;
mod precision;
pub mod reading;
mod registry;
mod statements;
mod support;
mod variable;
mod words;

pub use aspect::{ASPECT, AspectGrade, ReferenceScore, merge_as_reference, reference_score};
pub use attribution::{ATTRIBUTION, SourceSupport};
pub use call::JudgeCall;
pub use citation_group::{CITATION_GROUP, SectionCitations};
pub use citations::{CITATIONS, Citations};
pub use criteria::{CRITERIA, CriteriaLevels};
pub use decision::{
    DecisionForm, DecisionOption, DecisionQuestion, DecisionShape, DecisionWording,
};
pub use decision_chunk::{ChunkItem, DecisionChunk, TOO_LONG};
pub use deduplicate::{DEDUPLICATE, DistinctStatements};
pub use evidence::{EVIDENCE, SnippetEvidence};
pub use interface::{EqualQuestion, Question};
pub use kind::{KindInfo, ReplyKind};
pub use merging::{Sample, merge_numbers, merge_readable, numbers_needed};
pub use pair::{BetterAnswer, PAIR, PairForm, preference};
pub use points::{EXPERTISE, Expertise, PROPERTY, Property};
pub use precision::{IrrelevantParagraphs, PRECISION};
pub use reading::Unreadable;
pub use registry::{KINDS, Kind};
pub use statements::{CitedStatements, STATEMENTS};
pub use support::{NamedStatement, PageSupport, SUPPORT};
pub use variable::{CriterionTemplate, Insert, Presence, Variable, one_line};
pub use words::Words;

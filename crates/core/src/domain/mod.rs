//! Domain types, without input or output.
//!
//! A [`TestCase`] holds a question and its [`Rubric`]; an [`Answer`] is the text of one system. A scorer asks
//! [questions](crate::question) about it, a judge returns a [`JudgeReply`], whose [`Reading`] has a [`Verdict`], and the
//! scorer folds verdicts into a [`Score`].

mod answer;
mod aspect;
mod blind_texts;
mod checked_reference;
mod citations;
mod cited_page;
mod criteria;
mod draw;
mod endpoint_stats;
mod error_text;
mod expected;
mod ids;
mod judge_reply;
mod label_sheet;
mod model_end;
pub mod nearly_json;
mod note;
mod preference;
pub mod python_json;
mod rater;
mod reference;
pub mod repeated_keys;
mod report;
mod report_language;
mod retrieval;
mod role;
mod rubric;
mod score;
mod scored_answer;
mod scorer_id;
mod test_case;
mod time_span;
mod verdict;
mod work;
mod work_counts;

pub use answer::{
    Answer, FieldInFile, Gold, IndexBase, Item, Prediction, Source, SourceWork, SubjectKind,
    TextInFile,
};
pub use aspect::{Aspect, GradeMerge, MAX_GRADE, MIN_GRADE};
pub use blind_texts::{BlindAnswer, BlindCitation, BlindSource, BlindTask, BlindTexts};
pub use checked_reference::{
    CheckedReference, CitedWork, DifferingField, RetractionStatus, UncheckedReason, WorkField,
    WorkState,
};
pub use citations::{
    Citation, CitedName, CitedSentence, citations, cited_claims, without_citations_of,
};
pub use cited_page::{
    CitedPage, JudgedStatement, OpenReason, PageKind, PageState, ReadPage, SavedPages,
    SupportCounts, SupportState,
};
pub use criteria::{
    BatchSize, CaseCriterion, CaseFields, CriterionFields, CriterionVerdict, FieldPaths,
    LengthRule, Level, ProfileMetric, REPORT_METRICS, ReplyForm, ReplyShape, RubricProfile,
    SHOWN_QUESTION, SHOWN_SIGN, SHOWN_WEIGHT, ShownFields, comparable_level, text_of,
};
pub use draw::{AnswerSelection, DrawProbabilities, RandomDraw, VerdictDraw};
pub use endpoint_stats::{EndpointStats, EndpointUse};
pub use error_text::is_error_text;
pub(crate) use expected::last_result;
pub use expected::{
    Expected, LEAST_MASS, RESULT, ScoreLocation, WhyNot, bare, expected_value, listed,
};
pub use ids::{CallId, CaseId, Digest, Fingerprint, SystemName};
pub(crate) use judge_reply::after_thinking;
pub use judge_reply::{JudgeReply, TokenLogprob, Usage};
pub use label_sheet::{
    ADJUDICATOR, EarlierLabel, FrameAnswer, GivenLabel, ItemLabel, LABEL_SCHEMA, LabelDraw,
    LabelFile, LabelKind, LabelLevel, LabelScale, LabelSheet, LabelUnit, PageItem, PairFrame,
    RaterPage, SheetItem,
};
pub use model_end::{EndStage, EndingModel, ModelEnd, today};
pub use note::{Note, Severity};
pub use preference::Preference;
pub use rater::{ComparedPair, Rater, RaterKind, Rating};
pub use reference::{PersonName, Reference, ReferenceKind};
pub use report::{CitationGroup, Report, ReportFault, ShownCitation, ShownText};
pub use report_language::ReportLanguage;
pub use retrieval::{AddressState, CitedAddress, RetrievalTrace};
pub use role::Role;
pub use rubric::{Criterion, Rubric, RubricParts};
pub use score::{
    Component, ComponentKind, Measure, Score, Unit, WeightedSums, is_amount, parse_amount,
    parse_inner_share, parse_share,
};
pub use scored_answer::{MemberValues, ScoredAnswer};
pub use scorer_id::ScorerId;
pub use test_case::{CaseGroup, CriteriaLayout, TestCase};
pub use time_span::{TimeSpan, timestamp};
pub use verdict::{
    AnswerPreference, Attribution, Belief, CitedClaim, CitedStatement, ClaimShares, ClaimSupport,
    DecidedItem, Judgment, Mode, PageVerdict, Reading, StatementSupport, UnscoredKind,
    UnscoredReason, Verdict,
};
pub use work::{Retraction, RetractionKind, WorkRecord, WorkSource};
pub use work_counts::{BoundedShare, WorkCounts};

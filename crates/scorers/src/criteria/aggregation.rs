//! How the credits of criteria make a score: the part in which families of rubrics differ.

use crate::{Subject, Verdicts};
use scholareval_core::domain::{Score, TestCase, UnscoredReason};
use scholareval_core::question::JudgeCall;

use super::CriteriaScorer;
use super::credit::CriterionCredit;

/// A way from credits to a score. A family that no profile describes is one more of these, and its line in
/// [`CriteriaScorer::aggregation`].
pub(super) trait Aggregation {
    /// The score of an answer that no judge needs to see; `None` if one is asked.
    fn score_without_judge(&self, scorer: &CriteriaScorer, subject: &Subject<'_>) -> Option<Score>;

    /// Calls other than those for criteria.
    fn calls(&self, _subject: &Subject<'_>) -> Vec<JudgeCall> {
        Vec::new()
    }

    /// The score of these credits, one for each criterion of the case, once all calls have verdicts.
    fn score(
        &self,
        scorer: &CriteriaScorer,
        subject: &Subject<'_>,
        credits: Vec<CriterionCredit>,
        verdicts: &Verdicts,
    ) -> Score;

    /// The score of a case without any value, for this reason.
    fn unscored(&self, scorer: &CriteriaScorer, case: &TestCase, reason: &UnscoredReason) -> Score;
}

//! Test cases: a question with its rubric.

use std::sync::Arc;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::{CaseCriterion, CaseId, Rubric};

/// A group of cases: its mean is one of those whose mean is a macro score.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CaseGroup {
    /// Its name.
    pub name: Arc<str>,
    /// Groups with the same outer one count as one group, by the mean of their means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Arc<str>>,
}

/// How the criteria of a case stand before its judge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CriteriaLayout {
    /// As in the case and its profile.
    #[default]
    AsWritten,
    /// The levels of the scale, or the options of a decision, in reverse.
    LevelsReversed,
    /// The criteria in another order.
    Reordered,
    /// Each criterion in a request without others.
    Alone,
}

impl CriteriaLayout {
    /// Whether it is that of the case.
    pub fn is_as_written(&self) -> bool {
        *self == Self::AsWritten
    }
}

/// A question with a rubric of ScholarQA-CS (`test_configs_snippets.json`), or with a list of criteria.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestCase {
    /// Joins answers to this case.
    pub case_id: CaseId,
    /// The question as given to the systems.
    pub initial_prompt: String,
    /// Who wrote the rubric.
    pub annotator: String,
    /// Whether another annotator wrote a rubric for the same question.
    pub agreement: bool,
    /// The rubric; with a list of criteria only its question.
    pub rubric: Rubric,
    /// The list of criteria, if the case has one in place of a rubric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CaseCriterion>,
    /// The article that answers are compared with, if its profile asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Arc<str>>,
    /// Its group, if its benchmark takes the mean of groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<CaseGroup>,
    /// Names and texts of further fields that the judge sees, as its profile says.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub shown: Arc<[(String, String)]>,
}

fn is_empty(shown: &[(String, String)]) -> bool {
    shown.is_empty()
}

impl TestCase {
    /// Whether it has a rubric or a list of criteria.
    pub fn has_rubric(&self) -> bool {
        !self.rubric.is_none() || !self.criteria.is_empty()
    }

    /// The same case with its criteria in another order, which its id decides.
    #[must_use]
    pub fn reordered(&self) -> Self {
        let mut case = self.clone();
        let mut rng = ChaCha8Rng::seed_from_u64(case.case_id.seed());
        case.criteria.shuffle(&mut rng);
        // Of two criteria every second shuffle changes nothing.
        if case.criteria == self.criteria && !case.criteria.is_empty() {
            case.criteria.rotate_left(1);
        }
        case
    }

    /// A question without a rubric, for scorers that need none.
    pub fn without_rubric(case_id: CaseId, question: &str) -> Self {
        let rubric = Rubric::none(Arc::from(question));
        Self {
            case_id,
            initial_prompt: question.to_owned(),
            annotator: String::new(),
            agreement: false,
            rubric,
            criteria: Vec::new(),
            reference: None,
            group: None,
            shown: Arc::default(),
        }
    }
}

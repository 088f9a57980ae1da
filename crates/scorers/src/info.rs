//! What is known of a built-in scorer without making one: its name, what it needs, what its scores are.
//!
//! Each scorer's file has its [`ScorerInfo`], and [`SCORERS`](super::SCORERS) lists them. The help of `--scorers`, the choice of
//! the scorers of a run, headline metrics, probes of a judge and rescoring read these facts, so that none of them has a list
//! of names.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use clap::Args;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::citation::MarkerOptions;
use crate::entailment::EntailmentOptions;
use crate::overlap::OverlapOptions;
use crate::pages::PageOptions;
use crate::prometheus::AspectOptions;
use crate::rubric::RubricOptions;
use crate::{SCORERS, Scorer, scorer_named};
use scholareval_core::domain::{
    Aspect, Item, Mode, Role, RubricParts, RubricProfile, SavedPages, ScorerId, Unit,
};
use scholareval_core::question::PairForm;

/// The facts of a built-in scorer.
pub struct ScorerInfo {
    /// Its name in options, files and columns.
    pub name: &'static str,
    /// What it scores, in one line.
    pub help: &'static str,
    /// The roles of the judges that it asks.
    pub roles: ScorerRoles,
    /// What the input must have.
    pub needs: InputNeed,
    /// Unit of its score, and with it the range.
    pub unit: Unit,
    /// The score's name in tables. `None` if one of the components has its value, or there is no score of the whole answer.
    pub score_name: Option<&'static str>,
    /// The metrics that a reader wants first: a summary shows the first one that a run has. Without any, it shows every share
    /// and grade.
    pub headline: &'static [&'static str],
    /// The metrics that are 0 or 1 for every answer: their comparisons have a special procedure.
    pub binary: &'static [&'static str],
    /// The components whose mean over answers has another name in tables, each with that name: the plain one is the name of a
    /// number of the whole system.
    pub means_named: &'static [(&'static str, &'static str)],
    /// The metrics that a whole score may not have, because an answer has nothing that they are about: nothing is missing then.
    pub optional: &'static [&'static str],
    /// Whether more of a metric is better, of metrics whose [unit](Unit) does not say it: of shares and grades more is better, of
    /// counts neither more nor less.
    pub directions: &'static [(&'static str, bool)],
    /// What compat mode reproduces.
    pub reference: ScorerReference,
    /// Makes the scorer of a new run.
    pub make: fn(&NewScorer<'_>) -> Arc<dyn Scorer>,
    /// Makes the scorer of a recorded run.
    pub restore: fn(&RecordedSetup<'_>) -> serde_json::Result<Arc<dyn Scorer>>,
}

/// The roles of the judges that a scorer asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScorerRoles {
    /// It asks no judge.
    None,
    /// One role.
    One(Role),
    /// The role of each aspect.
    Aspects,
}

/// What the input must have for a scorer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputNeed {
    /// Answers, which every input has: the scorer runs where `--scorers` names it.
    Answers,
    /// Test cases with a rubric of ScholarQA-CS.
    Rubric,
    /// Test cases with a list of criteria.
    Criteria,
    /// Questions.
    Questions,
    /// Sources of the answers.
    Sources,
    /// Sources, ids of gold sources, or traces of what was retrieved.
    SourcesOrGold,
    /// Gold answers.
    GoldAnswers,
    /// Answers whose references were looked up in files of works.
    Works,
    /// Pairs of answers, which the command `pairs` makes.
    Pairs,
    /// A store of saved pages.
    Pages,
}

/// The published scorer whose numbers compat mode reproduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScorerReference {
    /// The scripts of ScholarQABench.
    QaBench,
    /// The one that the scorer's settings name, if any.
    InSettings,
}

/// Options of the built-in scorers: those of each are defined where the scorer is.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
pub struct BuiltInOptions {
    /// Of the scorers of test cases.
    #[command(flatten)]
    #[serde(flatten)]
    pub rubric: RubricOptions,
    /// Of aspects.
    #[command(flatten)]
    #[serde(flatten)]
    pub aspects: AspectOptions,
    /// Of entailment.
    #[command(flatten)]
    #[serde(flatten)]
    pub entailment: EntailmentOptions,
    /// Of all that read markers.
    #[command(flatten)]
    #[serde(flatten)]
    pub markers: MarkerOptions,
    /// Of overlap.
    #[command(flatten)]
    #[serde(flatten)]
    pub overlap: OverlapOptions,
    /// Of saved pages.
    #[command(flatten)]
    #[serde(flatten)]
    pub pages: PageOptions,
}

/// What the scorers of a new run are made from: their options, and what the input and the judges decide.
#[derive(Clone, Copy)]
pub struct NewScorer<'a> {
    /// The options of all of them.
    pub options: &'a BuiltInOptions,
    /// Scoring rules.
    pub mode: Mode,
    /// How criteria are asked and counted.
    pub profile: &'a RubricProfile,
    /// The aspects to grade.
    pub aspects: &'a [Arc<Aspect>],
    /// Every answer of the run, of all slices.
    pub items: &'a [Item],
    /// Whether the built-in baseline judges rubrics and criteria.
    pub is_baseline: bool,
    /// Whether pairs of answers are compared by each criterion, and not as a whole.
    pub by_criteria: bool,
    /// How replies about pairs name the better answer.
    pub pair_form: PairForm,
    /// Saved pages.
    pub pages: Option<&'a Arc<dyn SavedPages>>,
}

/// What a scorer of a recorded run is made from.
#[derive(Clone, Copy)]
pub struct RecordedSetup<'a> {
    /// What [`Scorer::settings`] returned.
    pub settings: &'a Value,
    /// The scored halves of the rubrics.
    pub parts: RubricParts,
    /// The saved pages that the run read.
    pub pages: Option<&'a Arc<dyn SavedPages>>,
    /// Scoring rules.
    pub mode: Mode,
    /// Whether the built-in baseline judged rubrics and criteria.
    pub is_baseline: bool,
}

impl RecordedSetup<'_> {
    /// The settings as a scorer.
    pub(super) fn scorer<T: for<'de> Deserialize<'de>>(&self) -> serde_json::Result<T> {
        T::deserialize(self.settings)
    }
}

impl ScorerInfo {
    /// The id of its scores; those for which the built-in baseline judged have another one.
    pub(super) fn score_id(&self, is_baseline: bool) -> ScorerId {
        if is_baseline {
            ScorerId::baseline(self.name)
        } else {
            ScorerId::new(self.name)
        }
    }

    /// The name of the mean of a component over answers: the component's, unless that is the name of a number of the whole
    /// system.
    pub fn name_of_mean<'a>(&self, component: &'a str) -> &'a str {
        let mut named = self.means_named.iter();
        named
            .find(|(name, _)| *name == component)
            .map_or(component, |(_, mean)| mean)
    }

    /// Whether more of a metric is better.
    pub fn is_better_higher(&self, metric: &str, unit: Unit) -> bool {
        let mut directions = self.directions.iter();
        let direction = directions.find(|(name, _)| *name == metric);
        direction.map_or(unit != Unit::Count, |(_, higher)| *higher)
    }

    /// The roles in which it asks, where these aspects are graded.
    pub fn judge_roles(&self, aspects: &[Arc<Aspect>]) -> Vec<Role> {
        let graded = aspects
            .iter()
            .map(|aspect| Role::Aspect(Arc::clone(&aspect.name)));
        match &self.roles {
            ScorerRoles::None => Vec::new(),
            ScorerRoles::One(role) => vec![role.clone()],
            ScorerRoles::Aspects => graded.collect(),
        }
    }

    /// Whether it asks a judge.
    pub fn asks_judge(&self) -> bool {
        self.roles != ScorerRoles::None
    }

    /// Whether judges of this role give its values.
    pub fn has_role(&self, role: &Role) -> bool {
        match &self.roles {
            ScorerRoles::None => false,
            ScorerRoles::One(role_of_scorer) => role_of_scorer == role,
            ScorerRoles::Aspects => matches!(role, Role::Aspect(_)),
        }
    }

    /// Whether it scores answers by what test cases hold: a rubric, or a list of criteria. The others score every answer.
    pub fn scores_test_cases(&self) -> bool {
        matches!(self.needs, InputNeed::Rubric | InputNeed::Criteria)
    }

    /// Whether `--scorers` can name it; pairs have a separate command.
    pub fn is_offered(&self) -> bool {
        self.needs != InputNeed::Pairs
    }

    /// The lowest and the highest score; infinite where negative weights may exceed any limit.
    pub fn range(&self) -> (f64, f64) {
        self.unit.range()
    }
}

/// Scorers are compared by name: each has one static.
impl PartialEq for ScorerInfo {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ScorerInfo {}

impl Hash for ScorerInfo {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for ScorerInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Serialize for ScorerInfo {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for &'static ScorerInfo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        static NAMES: LazyLock<Vec<&'static str>> =
            LazyLock::new(|| SCORERS.iter().map(|scorer| scorer.name).collect());
        let name = String::deserialize(deserializer)?;
        scorer_named(&name).ok_or_else(|| D::Error::unknown_variant(&name, &NAMES))
    }
}

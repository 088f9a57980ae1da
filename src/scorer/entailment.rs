//! Citation entailment (AutoAIS): do the sources that a sentence cites bear it out?
//!
//! Formulas: `docs/metrics.md`; source: `compute_autoais` and `compute_autoais_short_form` of ScholarQABench's
//! `citation_correctness_eval.py` (95e6fc5), after ALCE (Gao et al. 2023).
//!
//! - *recall* = supported claims / claims: a claim is supported if all its citations together bear it out.
//! - *precision* = citations that earned their place / citations counted. The only citation of a supported claim earns
//!   it; of several each does that bears the claim out alone, or without which the others do not.
//!
//! Questions come in three rounds, each asked only where the one before leaves something open: all citations together;
//! each alone, where together they support and are several; the others without one, where that one alone does not.

mod claims;
mod fold;
mod reach;

use std::collections::HashMap;
use std::sync::Arc;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::{Answer, Attribution, JudgeCall, JudgeTask, Mode, Role, TestCase, UnscoredReason, Verdict};
use crate::scorer::citation::IndexBase;
use crate::scorer::{Judged, Possible, Scorer, Step, Verdicts};

use claims::{Claim, ClaimPlan, Refused};
use reach::Reach;

pub use fold::COMPONENTS;

/// Which texts of an answer are claims.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Every sentence of at least 50 characters.
    #[default]
    Long,
    /// The whole answer behind its question: one claim.
    Short,
}

/// Asks a judge of citations whether the cited sources bear an answer out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntailmentScorer {
    /// What the claims are.
    pub form: Form,
    /// So many citations of a claim count, the first ones; 0 counts as 1. The published number is 3.
    pub at_most: usize,
    /// Which number means the first source.
    pub index_base: IndexBase,
    /// Whose rules.
    #[serde(skip)]
    pub mode: Mode,
}

impl Default for EntailmentScorer {
    fn default() -> Self {
        Self { form: Form::Long, at_most: 3, index_base: IndexBase::Zero, mode: Mode::Default }
    }
}

/// What is known about whether some sources bear out a claim.
#[derive(Debug, Clone, PartialEq)]
enum Support {
    /// Whether they do, and the judge's label and words.
    Known { holds: bool, label: Option<Attribution>, feedback: Option<String> },
    /// It could not be judged.
    Unscored(UnscoredReason),
    /// It is being asked.
    Open,
}

impl Support {
    fn holds(&self) -> Option<bool> {
        match self {
            Self::Known { holds, .. } => Some(*holds),
            Self::Unscored(_) | Self::Open => None,
        }
    }
}

/// What became of one claim.
#[derive(Debug, Clone, PartialEq)]
struct Outcome {
    /// All its citations together; `None` if nothing was to ask.
    together: Option<Support>,
    /// Whether each citation earned its place; `None` if that could not be judged. Empty if nothing was to ask.
    earned: Vec<Option<bool>>,
    /// Why one of those could not be judged.
    unscored: Option<UnscoredReason>,
}

impl Scorer for EntailmentScorer {
    fn name(&self) -> &'static str {
        "entailment"
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::Citation]
    }

    fn settings(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn step(&self, case: &TestCase, answer: &Answer, verdicts: &Verdicts) -> Step {
        let plan = match ClaimPlan::new(self, case, answer) {
            Ok(plan) => plan,
            Err(Refused) => return Step::Done(fold::refused(self)),
        };
        let mut round = Round::new(&plan, verdicts);
        let outcomes: Vec<Outcome> = plan.claims.iter().map(|claim| round.outcome(claim)).collect();
        if round.calls.is_empty() { Step::Done(fold::score(self, &plan, outcomes)) } else { Step::Ask(round.calls) }
    }

    /// Claim by claim, as if no other claim asked the same: one reply cannot say yes to one of them and no to another,
    /// so that a run may stay below.
    fn possible(&self, case: &TestCase, answer: &Answer, verdicts: &Verdicts) -> Option<Vec<Possible>> {
        let Ok(plan) = ClaimPlan::new(self, case, answer) else { return Some(Vec::new()) };
        let mut reach = Reach::new(Round::new(&plan, verdicts));
        // A claim further down may bring a question nearer, and with it what hangs on it in a claim before.
        while reach.has_news() {
            plan.claims.iter().filter(|claim| claim.is_asked()).for_each(|claim| reach.claim(claim));
        }
        Some(reach.into_found())
    }
}

/// One question about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// Do all its citations together bear it out?
    Together,
    /// Does the citation at this place alone?
    Alone(usize),
    /// Do the others, without it?
    Others(usize),
}

impl Slot {
    /// Which of the claim's citations are asked about. Without one that is made twice its first mention is missing,
    /// whichever was meant: so does the reference, which alone counts them twice.
    fn kept(self, claim: &Claim) -> Vec<usize> {
        let all = 0..claim.places.len();
        match self {
            Self::Together => all.collect(),
            Self::Alone(at) => all.filter(|other| *other == at).collect(),
            Self::Others(at) => {
                let this = claim.places.get(at);
                let first = claim.places.iter().position(|place| Some(place) == this);
                all.filter(|other| Some(*other) != first).collect()
            }
        }
    }

    /// `s3[0,1]`: the sentence, counted from 1, and the citations, as written. Compat may read other citations out of
    /// the same sentence, and another text where there is none (`s3[0,1]nan`): the name tells the questions apart,
    /// since the verdicts of a default run are read again under the reference's rules.
    fn item(self, claim: &Claim, plan: &ClaimPlan) -> Arc<str> {
        let kept = self.kept(claim);
        let numbers = kept.iter().filter_map(|at| claim.citations.get(*at)).map(u64::to_string);
        let numbers = numbers.collect::<Vec<_>>().join(",");
        let nan = if plan.shows_nan(&self.places(claim)) { "nan" } else { "" };
        format!("s{}[{numbers}]{nan}", claim.number).into()
    }

    /// The sources that are asked about.
    fn places(self, claim: &Claim) -> Vec<usize> {
        self.kept(claim).into_iter().filter_map(|at| claim.places.get(at).copied()).collect()
    }
}

/// One step: what the verdicts decide, and what is asked next.
struct Round<'a> {
    plan: &'a ClaimPlan,
    calls: Vec<JudgeCall>,
    /// What is known or being asked of (claim, document).
    known: HashMap<(Arc<str>, Arc<str>), Support>,
}

impl<'a> Round<'a> {
    /// Finds every verdict under the question it was asked for, so that the same question of another claim has it too.
    fn new(plan: &'a ClaimPlan, verdicts: &Verdicts) -> Self {
        let mut known = HashMap::new();
        for claim in plan.claims.iter().filter(|claim| claim.is_asked()) {
            let each = (0..claim.places.len()).flat_map(|at| [Slot::Alone(at), Slot::Others(at)]);
            for slot in std::iter::once(Slot::Together).chain(each) {
                let Some(judged) = verdicts.get(&slot.item(claim, plan)) else { continue };
                let question = (Arc::clone(&claim.text), plan.document(&slot.places(claim)));
                known.insert(question, read(judged));
            }
        }
        Self { plan, calls: Vec::new(), known }
    }

    /// What is known of a question; one that is open is asked, once.
    fn support(&mut self, claim: &Claim, slot: &Slot) -> Support {
        let document = self.plan.document(&slot.places(claim));
        let question = (Arc::clone(&claim.text), Arc::clone(&document));
        if let Some(known) = self.known.get(&question) {
            return known.clone();
        }
        self.known.insert(question, Support::Open);
        self.calls.push(self.call(claim, slot, document));
        Support::Open
    }

    fn call(&self, claim: &Claim, slot: &Slot, document: Arc<str>) -> JudgeCall {
        let task = JudgeTask::Attribution { claim: Arc::clone(&claim.text), document };
        JudgeCall { item: slot.item(claim, self.plan), role: Role::Citation, task, draw: 0, member: 0 }
    }

    fn outcome(&mut self, claim: &Claim) -> Outcome {
        let mut outcome = Outcome { together: None, earned: Vec::new(), unscored: None };
        if !claim.is_asked() {
            return outcome;
        }
        let together = self.support(claim, &Slot::Together);
        outcome.earned = match (&together, claim.places.len()) {
            (Support::Known { holds: true, .. }, 2..) => (0..claim.places.len())
                .map(|at| {
                    let earned = self.earned(claim, at);
                    earned.unwrap_or_else(|reason| {
                        outcome.unscored = outcome.unscored.take().or(Some(reason));
                        None
                    })
                })
                .collect(),
            (support, count) => vec![support.holds(); count],
        };
        if let Support::Unscored(reason) = &together {
            outcome.unscored = Some(reason.clone());
        }
        outcome.together = Some(together);
        outcome
    }

    /// Whether the citation at this place earned it; `None` while that is open.
    fn earned(&mut self, claim: &Claim, at: usize) -> Result<Option<bool>, UnscoredReason> {
        match self.support(claim, &Slot::Alone(at)) {
            Support::Known { holds: true, .. } => Ok(Some(true)),
            Support::Known { holds: false, .. } => match self.support(claim, &Slot::Others(at)) {
                Support::Known { holds, .. } => Ok(Some(!holds)),
                Support::Unscored(reason) => Err(reason),
                Support::Open => Ok(None),
            },
            Support::Unscored(reason) => Err(reason),
            Support::Open => Ok(None),
        }
    }
}

fn read(judged: &Judged) -> Support {
    match judged {
        Judged::Verdict(Verdict::Attribution(label), feedback) => {
            Support::Known { holds: label.is_support(), label: Some(*label), feedback: feedback.clone() }
        }
        Judged::Verdict(..) => Support::Unscored(UnscoredReason::other_kind()),
        Judged::Unscored(reason) => Support::Unscored(reason.clone()),
    }
}

#[cfg(test)]
mod tests;

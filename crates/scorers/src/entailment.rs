//! Citation entailment (AutoAIS): do the cited sources support the sentence?
//!
//! Formulas: `docs/metrics.md`; source: `compute_autoais` and `compute_autoais_short_form` of ScholarQABench's
//! `citation_correctness_eval.py` (95e6fc5), after ALCE (Gao et al. 2023).
//!
//! - *recall* = supported claims / claims: a claim is supported if all its citations together support it.
//! - *precision* = precise citations / citations counted. The only citation of a supported claim is precise; of
//!   several, each is that supports the claim alone, or without which the others do not.
//!
//! Calls come in three rounds, each only as needed: all citations together; each citation alone, if there are several
//! and together they support the claim; the others without one citation, if that one alone does not support it.

mod claims;
mod fold;
mod reach;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::built_in::built_in_scorer;
use crate::citation::IndexBase;
use crate::{
    InputNeed, Possible, Scorer, ScorerInfo, ScorerReference, ScorerRoles, Step, Subject, Verdicts,
};
use scholareval_core::domain::{
    Attribution, Judgment, Mode, Reading, Role, Unit, UnscoredReason, Verdict,
};
use scholareval_core::question::{JudgeCall, SourceSupport};

use claims::{AnswerClaim, ClaimPlan, Refused};
use reach::ReachableCalls;

pub use fold::COMPONENTS;

/// The scorer by entailment.
pub static ENTAILMENT: ScorerInfo = ScorerInfo {
    name: "entailment",
    help: "Citation precision and recall by entailment",
    roles: ScorerRoles::One(Role::Citation),
    needs: InputNeed::Sources,
    unit: Unit::Share,
    score_name: None,
    headline: &["citation_f1"],
    binary: &[],
    means_named: &[("citation_f1", "citation_f1_macro")],
    optional: &[],
    directions: &[],
    reference: ScorerReference::QaBench,
    make: |new| {
        Arc::new(EntailmentScorer {
            form: new.options.entailment.entail,
            at_most: new.options.entailment.at_most.get(),
            index_base: new.options.markers.index_base,
            mode: new.mode,
        })
    },
    restore: |recorded| {
        Ok(Arc::new(EntailmentScorer {
            mode: recorded.mode,
            ..recorded.scorer()?
        }))
    },
};

/// Options of the scorer.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scorers")]
pub struct EntailmentOptions {
    /// Judge citations sentence by sentence (long), or the question with the whole answer (short)
    #[arg(
        long,
        value_name = "long|short",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub entail: Form,
    /// Count only the first N citations of a claim
    #[arg(long, value_name = "N", default_value = "3")]
    pub at_most: NonZeroUsize,
}

/// Which texts of an answer count as claims.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Every sentence of at least 50 characters.
    #[default]
    Long,
    /// The whole answer, prefixed by its question, is one claim.
    Short,
}

/// Asks a citation judge whether the cited sources support the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntailmentScorer {
    /// What counts as a claim.
    pub form: Form,
    /// Maximum number of citations per claim, the first ones; 0 counts as 1. The published number is 3.
    pub at_most: usize,
    /// Whether markers count sources from 0 or 1.
    pub index_base: IndexBase,
    /// Scoring rules.
    #[serde(skip)]
    pub mode: Mode,
}

impl Default for EntailmentScorer {
    fn default() -> Self {
        Self {
            form: Form::Long,
            at_most: 3,
            index_base: IndexBase::Zero,
            mode: Mode::Default,
        }
    }
}

/// Whether some sources support a claim.
#[derive(Debug, Clone, PartialEq)]
enum SupportVerdict {
    /// The verdict, with the judge's label and feedback.
    Known {
        holds: bool,
        label: Option<Attribution>,
        feedback: Option<String>,
    },
    /// Could not be judged.
    Unscored(UnscoredReason),
    /// Not judged yet.
    Open,
}

impl SupportVerdict {
    fn holds(&self) -> Option<bool> {
        match self {
            Self::Known { holds, .. } => Some(*holds),
            Self::Unscored(_) | Self::Open => None,
        }
    }
}

/// Result for one claim.
#[derive(Debug, Clone, PartialEq)]
struct ClaimOutcome {
    /// Support by all its citations together; `None` if no call was needed.
    together: Option<SupportVerdict>,
    /// Whether each citation counts as precise; `None` if it could not be judged. Empty if no call was needed.
    earned: Vec<Option<bool>>,
    /// Why one of them could not be judged.
    unscored: Option<UnscoredReason>,
}

impl ClaimOutcome {
    /// The number of its citations with this result: precise, not precise, or not judged.
    fn citation_count(&self, earned: Option<bool>) -> u64 {
        self.earned
            .iter()
            .filter(|result| **result == earned)
            .count() as u64
    }
}

impl Scorer for EntailmentScorer {
    built_in_scorer!(ENTAILMENT, [Role::Citation]);

    fn step(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Step {
        let Subject { case, answer, .. } = *subject;
        let plan = match ClaimPlan::new(self, case, answer) {
            Ok(plan) => plan,
            Err(Refused) => return Step::Done(fold::refused()),
        };
        let mut round = Round::new(&plan, verdicts);
        let outcomes: Vec<ClaimOutcome> = plan
            .claims
            .iter()
            .map(|claim| round.outcome(claim))
            .collect();
        if round.calls.is_empty() {
            Step::Done(fold::score(self, &plan, outcomes))
        } else {
            Step::Ask(round.calls)
        }
    }

    /// Counts calls claim by claim, ignoring that claims may share a question: an upper bound.
    fn possible(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Option<Vec<Possible>> {
        let Subject { case, answer, .. } = *subject;
        let Ok(plan) = ClaimPlan::new(self, case, answer) else {
            return Some(Vec::new());
        };
        let mut reach = ReachableCalls::new(Round::new(&plan, verdicts));
        // A later claim may answer a question of an earlier one, and so allow that claim's next round.
        while reach.has_news() {
            plan.claims
                .iter()
                .filter(|claim| claim.is_asked())
                .for_each(|claim| reach.claim(claim));
        }
        Some(reach.found)
    }
}

/// A question about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// Do all its citations together support it?
    Together,
    /// Does this citation alone support it?
    Alone(usize),
    /// Do the others support it without this one?
    Others(usize),
}

impl Slot {
    /// The citations that a question covers. Leaving out a citation made twice removes its first mention, as in the
    /// reference, which alone counts them twice.
    fn citations_of(self, claim: &AnswerClaim) -> Vec<usize> {
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

    /// `s3[0,1]`: the claim and the citations as written. Compat may read other citations from a
    /// sentence, and other text if there is none (`s3[0,1]nan`). The key separates the two, since compat scoring reuses
    /// the verdicts of a default run.
    fn item(self, claim: &AnswerClaim, plan: &ClaimPlan) -> Arc<str> {
        let kept = self.citations_of(claim);
        let numbers = kept
            .iter()
            .filter_map(|at| claim.citations.get(*at))
            .map(u64::to_string);
        let numbers = numbers.collect::<Vec<_>>().join(",");
        let nan = if plan.shows_nan(&self.places(claim)) {
            "nan"
        } else {
            ""
        };
        format!("{}[{numbers}]{nan}", claim.name).into()
    }

    /// Indices of the sources that the question covers.
    fn places(self, claim: &AnswerClaim) -> Vec<usize> {
        self.citations_of(claim)
            .into_iter()
            .filter_map(|at| claim.places.get(at).copied())
            .collect()
    }
}

/// One step: results of the verdicts so far, and the next calls.
struct Round<'a> {
    plan: &'a ClaimPlan,
    calls: Vec<JudgeCall>,
    /// Support by (claim, document).
    known: HashMap<(Arc<str>, Arc<str>), SupportVerdict>,
}

impl<'a> Round<'a> {
    /// Indexes every verdict by its question, so that equal questions of other claims share it.
    fn new(plan: &'a ClaimPlan, verdicts: &Verdicts) -> Self {
        let mut known = HashMap::new();
        for claim in plan.claims.iter().filter(|claim| claim.is_asked()) {
            let each = (0..claim.places.len()).flat_map(|at| [Slot::Alone(at), Slot::Others(at)]);
            for slot in std::iter::once(Slot::Together).chain(each) {
                let Some(judged) = verdicts.get(&slot.item(claim, plan)) else {
                    continue;
                };
                let question = (Arc::clone(&claim.text), plan.document(&slot.places(claim)));
                known.insert(question, read(judged));
            }
        }
        Self {
            plan,
            calls: Vec::new(),
            known,
        }
    }

    /// Support for a question; requests a call if there is no verdict yet, once.
    fn support(&mut self, claim: &AnswerClaim, slot: &Slot) -> SupportVerdict {
        let document = self.plan.document(&slot.places(claim));
        let question = (Arc::clone(&claim.text), Arc::clone(&document));
        if let Some(known) = self.known.get(&question) {
            return known.clone();
        }
        // Entered while it is open: a second claim of the same text and sources waits for this call
        // and makes none.
        self.known.insert(question, SupportVerdict::Open);
        self.calls.push(self.call(claim, slot, document));
        SupportVerdict::Open
    }

    fn call(&self, claim: &AnswerClaim, slot: &Slot, document: Arc<str>) -> JudgeCall {
        let question = SourceSupport {
            claim: Arc::clone(&claim.text),
            document,
        };
        JudgeCall::new(slot.item(claim, self.plan), Role::Citation, question)
    }

    fn outcome(&mut self, claim: &AnswerClaim) -> ClaimOutcome {
        let mut outcome = ClaimOutcome {
            together: None,
            earned: Vec::new(),
            unscored: None,
        };
        if !claim.is_asked() {
            return outcome;
        }
        let together = self.support(claim, &Slot::Together);
        outcome.earned = match (&together, claim.places.len()) {
            // Only a supported claim has citations that could be superfluous; of an unsupported one
            // none is precise, so nothing more is asked.
            (SupportVerdict::Known { holds: true, .. }, 2..) => (0..claim.places.len())
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
        if let SupportVerdict::Unscored(reason) = &together {
            outcome.unscored = Some(reason.clone());
        }
        outcome.together = Some(together);
        outcome
    }

    /// Whether the citation counts as precise; `None` while undecided.
    fn earned(&mut self, claim: &AnswerClaim, at: usize) -> Result<Option<bool>, UnscoredReason> {
        // Alone first: it settles the citation with one short document, and the others are asked
        // about only if it fails.
        match self.support(claim, &Slot::Alone(at)) {
            SupportVerdict::Known { holds: true, .. } => Ok(Some(true)),
            SupportVerdict::Known { holds: false, .. } => {
                match self.support(claim, &Slot::Others(at)) {
                    SupportVerdict::Known { holds, .. } => Ok(Some(!holds)),
                    SupportVerdict::Unscored(reason) => Err(reason),
                    SupportVerdict::Open => Ok(None),
                }
            }
            SupportVerdict::Unscored(reason) => Err(reason),
            SupportVerdict::Open => Ok(None),
        }
    }
}

fn read(judged: &Judgment) -> SupportVerdict {
    match judged {
        Ok(Reading {
            verdict: Verdict::Attribution(label),
            feedback,
            ..
        }) => SupportVerdict::Known {
            holds: label.is_support(),
            label: Some(*label),
            feedback: feedback.clone(),
        },
        Ok(_) => SupportVerdict::Unscored(UnscoredReason::other_kind()),
        Err(reason) => SupportVerdict::Unscored(reason.clone()),
    }
}

#[cfg(test)]
mod tests;

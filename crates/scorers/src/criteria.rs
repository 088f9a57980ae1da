//! Scores by a list of criteria, as a profile says: a user's criteria, HealthBench, ResearchRubrics, ResearchQA, RACE,
//! ScholarQA-CS2.
//!
//! Formulas: `docs/metrics.md`. The criteria are asked in batches; each verdict becomes a credit (`credit.rs`). An
//! aggregation makes the score of the credits: a weighted share (`weighted.rs`), or with further metrics the mean of a
//! report (`report.rs`). Components carry their weight as a share of what can be earned.

mod aggregation;
mod credit;
mod metrics;
mod report;
mod weighted;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::built_in::built_in_scorer;
use crate::{
    InputNeed, Scorer, ScorerInfo, ScorerReference, ScorerRoles, Step, Subject, Verdicts, values,
};
use scholareval_core::domain::{
    CaseCriterion, CriteriaLayout, Mode, Reading, Role, RubricProfile, Score, TestCase, Unit,
    UnscoredKind, UnscoredReason, Verdict,
};
use scholareval_core::question::{CriteriaLevels, JudgeCall};

use aggregation::Aggregation;
use credit::{Credit, CriterionCredit};
use report::ReportMean;
use weighted::WeightedCredits;

/// The scorer by a list of criteria.
pub static CRITERIA: ScorerInfo = ScorerInfo {
    name: "criteria",
    help: "The list of criteria of the test case, as a profile (--rubric) says",
    roles: ScorerRoles::One(Role::Criteria),
    needs: InputNeed::Criteria,
    unit: Unit::Net,
    score_name: Some("score"),
    // Every share: tags of criteria are as important as their sum.
    headline: &[],
    binary: &[],
    means_named: &[],
    optional: &[],
    directions: &[],
    reference: ScorerReference::InSettings,
    make: |new| {
        Arc::new(CriteriaScorer {
            profile: new.profile.clone(),
            mode: new.mode,
            is_baseline: new.is_baseline,
        })
    },
    restore: |recorded| {
        Ok(Arc::new(CriteriaScorer {
            mode: recorded.mode,
            is_baseline: recorded.is_baseline,
            ..recorded.scorer()?
        }))
    },
};

/// Asks for the level that an answer reaches on each criterion of its case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CriteriaScorer {
    /// How criteria are asked and counted.
    pub profile: RubricProfile,
    /// Scoring rules.
    #[serde(skip)]
    pub mode: Mode,
    /// Whether the built-in baseline judges.
    #[serde(skip)]
    pub is_baseline: bool,
}

impl CriteriaScorer {
    /// Every criterion of the case as a component without a value: a template for answers that were not judged.
    pub fn unjudged(&self, case: &TestCase) -> Score {
        self.aggregation()
            .unscored(self, case, &values::not_judged())
    }

    /// How credits make a score.
    fn aggregation(&self) -> &'static dyn Aggregation {
        if self.profile.report {
            &ReportMean
        } else {
            &WeightedCredits
        }
    }

    /// Whether what the judge leaves open counts as 0, as in the reference.
    fn counts_zero(&self) -> bool {
        self.mode == Mode::Compat && self.profile.zero_in_compat
    }

    /// The criteria of each call.
    fn batches<'a>(&self, subject: &Subject<'a>) -> std::slice::Chunks<'a, CaseCriterion> {
        let criteria = &subject.case.criteria;
        let size = match self.profile.batch {
            _ if subject.layout == CriteriaLayout::Alone => 1,
            0 => criteria.len(),
            size => size,
        };
        criteria.chunks(size.max(1))
    }

    /// The calls for criteria that can be made now: batch by batch. A batch whose reply cannot be used is asked one by one,
    /// except in compat mode.
    fn open_calls(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Vec<JudgeCall> {
        let mut calls = Vec::new();
        for batch in self.batches(subject) {
            let open: Vec<&CaseCriterion> = batch
                .iter()
                .filter(|criterion| !verdicts.contains_key(criterion.name.as_str()))
                .collect();
            match verdicts.get(item_of(batch).as_str()) {
                // The item stays that of the batch, by which a missing verdict is found.
                None if !open.is_empty() => {
                    let open: Vec<CaseCriterion> = open.into_iter().cloned().collect();
                    calls.push(JudgeCall {
                        item: item_of(batch).into(),
                        ..self.call(subject, &open)
                    });
                }
                Some(Err(reason))
                    // One unreadable reply would otherwise leave eight criteria open; asked one by
                    // one, at most the one at fault stays open. The references have no such second
                    // chance.
                    if self.mode == Mode::Default && is_worth_splitting(reason.kind) =>
                {
                    for criterion in open {
                        calls.push(self.call(subject, std::slice::from_ref(criterion)));
                    }
                }
                _ => {}
            }
        }
        calls
    }

    fn call(&self, subject: &Subject<'_>, batch: &[CaseCriterion]) -> JudgeCall {
        JudgeCall::new(
            item_of(batch),
            Role::Criteria,
            self.question(subject, batch),
        )
    }

    fn question(&self, subject: &Subject<'_>, batch: &[CaseCriterion]) -> CriteriaLevels {
        let case = subject.case;
        CriteriaLevels {
            question: Arc::clone(&case.rubric.question),
            answer: Arc::clone(&subject.answer.answer_text),
            criteria: batch.into(),
            shape: Arc::clone(&self.profile.reply),
            reference: case.reference.clone(),
            shown: self.profile.shown(&case.shown),
            layout: subject.layout,
        }
    }

    /// The credit for each criterion of the case.
    fn credits(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Vec<CriterionCredit> {
        let mut credits = Vec::with_capacity(subject.case.criteria.len());
        for batch in self.batches(subject) {
            for criterion in batch {
                credits.push(self.credit(criterion, batch, verdicts));
            }
        }
        credits
    }

    /// The credit for a criterion of this batch: by the verdict on it, else by that of the batch.
    fn credit(
        &self,
        criterion: &CaseCriterion,
        batch: &[CaseCriterion],
        verdicts: &Verdicts,
    ) -> CriterionCredit {
        let item = if verdicts.contains_key(criterion.name.as_str()) {
            criterion.name.clone()
        } else {
            item_of(batch)
        };
        match values::reading(verdicts, &item) {
            Ok(Reading {
                verdict: Verdict::Criteria(of_one),
                ..
            }) => Credit::of(of_one.first().ok_or_else(UnscoredReason::other_kind)?),
            Ok(_) => Err(UnscoredReason::other_kind()),
            Err(reason) if self.counts_zero() && reason.kind == UnscoredKind::Unreadable => {
                Ok(Credit::ZERO)
            }
            Err(reason) => Err(reason),
        }
    }
}

impl Scorer for CriteriaScorer {
    built_in_scorer!(CRITERIA, [Role::Criteria]);

    fn template(&self, case: &TestCase) -> Option<Score> {
        Some(self.unjudged(case))
    }

    fn depends_on_layout(&self, subject: &Subject<'_>, is_decided: bool) -> bool {
        let criteria = &subject.case.criteria;
        match subject.layout {
            CriteriaLayout::AsWritten => false,
            CriteriaLayout::LevelsReversed if is_decided => {
                self.question(subject, criteria).has_reversible_decision()
            }
            CriteriaLayout::LevelsReversed => self.profile.reply.levels.len() > 1,
            CriteriaLayout::Reordered | CriteriaLayout::Alone => {
                criteria.len() > 1 && (is_decided || self.profile.batch != 1)
            }
        }
    }

    fn step(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Step {
        let aggregation = self.aggregation();
        if let Some(score) = aggregation.score_without_judge(self, subject) {
            return Step::Done(score);
        }
        let mut calls = self.open_calls(subject, verdicts);
        calls.extend(values::without_verdict(
            aggregation.calls(subject),
            verdicts,
        ));
        values::ask_or_score(calls, || {
            let credits = self.credits(subject, verdicts);
            aggregation.score(self, subject, credits, verdicts)
        })
    }
}

/// The item of a call: the criterion, or the first and the last of several.
fn item_of(batch: &[CaseCriterion]) -> String {
    match batch {
        [first, .., last] => format!("{}..{}", first.name, last.name),
        _ => batch
            .first()
            .map_or_else(String::new, |only| only.name.clone()),
    }
}

/// Whether a call with fewer criteria could get a usable reply.
fn is_worth_splitting(kind: UnscoredKind) -> bool {
    matches!(
        kind,
        UnscoredKind::Unreadable
            | UnscoredKind::Cut
            | UnscoredKind::ContextOverflow
            | UnscoredKind::Refused
            | UnscoredKind::Moderated
    )
}

#[cfg(test)]
mod tests;

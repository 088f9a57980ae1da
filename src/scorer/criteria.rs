//! Scores by a list of criteria, as a profile says: the user's own, HealthBench, ResearchRubrics, ResearchQA, RACE,
//! ScholarQA-CS2.
//!
//! Formulas: `docs/metrics.md`. A score is the sum of credit x weight over the criteria, divided by the sum
//! of the positive weights; components carry their weight as a share of that sum. With a
//! reference article the score is T / (T + R), the weighted sums of both: a criterion's credit is t / (t + r), and its
//! weight counts t + r times.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::{
    Answer, CaseCriterion, Component, ComponentKind, Mode, Reading, Report, ReportFault, Role,
    RubricProfile, Score, ScorerId, TestCase, Unit, UnscoredKind, UnscoredReason, Verdict,
};
use crate::question::{CriteriaLevels, JudgeCall};
use crate::scorer::report::{self, Credit};
use crate::scorer::report_metrics::ingredient_shares;
use crate::scorer::{
    InputNeed, Scorer, ScorerInfo, ScorerReference, ScorerRoles, Step, Subject, Verdicts,
};

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
    reference: ScorerReference::InSettings,
    make: |setup| {
        Arc::new(CriteriaScorer {
            profile: setup.profile.clone(),
            mode: setup.mode,
            is_baseline: setup.is_baseline,
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

/// The factor of a weight where answer and reference article have no point: it counts only where nothing else does.
const WITHOUT_POINTS: f64 = 1e-30;

/// Note on shares of answer and reference article, which `--compat` computes from any numbers.
const OUT_OF_RANGE: &str = "shares outside 0..100%: the judge's points for the answer or the reference article are negative, \
                            and --compat computes with them as the reference does";

impl CriteriaScorer {
    /// Every criterion of the case as a component without a value: a template for answers that were not judged.
    pub fn unjudged(&self, case: &TestCase) -> Score {
        self.unscored(
            case,
            &UnscoredReason::new(UnscoredKind::NotAsked, "not judged"),
        )
    }

    /// The score of a case without any value, for this reason.
    fn unscored(&self, case: &TestCase, reason: &UnscoredReason) -> Score {
        let credits = case.criteria.iter().map(|_| Err(reason.clone())).collect();
        if !self.profile.report {
            return self.fold(case, credits);
        }
        let others = [(); 3].map(|()| Err(reason.clone()));
        report::fold(self.id(), case, self.mode, credits, others)
    }

    fn id(&self) -> ScorerId {
        if self.is_baseline {
            ScorerId::baseline(CRITERIA.name)
        } else {
            ScorerId::new(CRITERIA.name)
        }
    }

    /// The criteria of each call.
    fn batches<'a>(&self, case: &'a TestCase) -> std::slice::Chunks<'a, CaseCriterion> {
        let size = if self.profile.batch == 0 {
            case.criteria.len()
        } else {
            self.profile.batch
        };
        case.criteria.chunks(size.max(1))
    }

    /// The credit for a criterion of this batch.
    fn credit(
        &self,
        criterion: &CaseCriterion,
        batch: &[CaseCriterion],
        verdicts: &Verdicts,
    ) -> Credit {
        let judged = verdicts
            .get(criterion.name.as_str())
            .or_else(|| verdicts.get(item_of(batch).as_str()));
        match judged {
            Some(Ok(Reading {
                verdict: Verdict::Criteria(of_one),
                ..
            })) => {
                let verdict = of_one.first().ok_or_else(UnscoredReason::other_kind)?;
                let abstained =
                    || UnscoredReason::new(UnscoredKind::Abstained, "the judge cannot assess it");
                let credit = verdict.credit.ok_or_else(abstained)?;
                let both = verdict.second.map_or(1.0, |second| credit + second);
                let both = if both == 0.0 { WITHOUT_POINTS } else { both };
                Ok((credit / both, both, verdict.feedback.clone()))
            }
            Some(Err(reason)) if self.counts_zero() && reason.kind == UnscoredKind::Unreadable => {
                Ok((0.0, 1.0, None))
            }
            Some(Err(reason)) => Err(reason.clone()),
            Some(Ok(_)) => Err(UnscoredReason::other_kind()),
            None => Err(UnscoredReason::new(UnscoredKind::NotAsked, "not asked")),
        }
    }

    fn counts_zero(&self) -> bool {
        self.mode == Mode::Compat && self.profile.zero_in_compat
    }

    fn fold(&self, case: &TestCase, credits: Vec<Credit>) -> Score {
        let is_abstained = |credit: &Credit| {
            credit
                .as_ref()
                .is_err_and(|why| why.kind == UnscoredKind::Abstained)
        };
        // What the judge cannot assess has no weight.
        let weight = |(criterion, credit): (&CaseCriterion, &Credit)| match credit {
            Ok((_, factor, _)) => criterion.weight * factor,
            Err(_) if is_abstained(credit) => 0.0,
            Err(_) => criterion.weight,
        };
        let weights: Vec<f64> = case.criteria.iter().zip(&credits).map(weight).collect();
        let is_beside = !self.profile.reply.second.is_empty();
        let positive: f64 = weights
            .iter()
            .filter(|weight| is_beside || **weight > 0.0)
            .sum();
        let earned = |(weight, credit): (&f64, &Credit)| match credit {
            Ok((credit, ..)) => Some(weight * credit),
            Err(_) => is_abstained(credit).then_some(0.0),
        };
        let sum: Option<f64> = weights.iter().zip(&credits).map(earned).sum();
        let value = if is_without_points(&credits) {
            Some(0.0)
        } else if positive > 0.0 {
            sum.map(|sum| sum / positive)
        } else {
            // ResearchRubrics gives 0, and so does RACE where no points are left.
            sum.filter(|_| self.counts_zero() || (is_beside && self.mode == Mode::Compat))
                .map(|_| 0.0)
        };
        let mut notes = Vec::new();
        if credits.iter().any(is_abstained) {
            notes.push("criteria that the judge cannot assess do not count".to_owned());
        }
        if is_beside && has_share_out_of_range(value, &credits) {
            notes.push(OUT_OF_RANGE.to_owned());
        }
        // Without positive weights there is no share; the weights stay as they are.
        let whole = if positive > 0.0 { positive } else { 1.0 };
        let component = |((criterion, weight), credit): ((&CaseCriterion, f64), Credit)| {
            let mut component = Component::new(&criterion.name, ComponentKind::Criterion)
                .with_text(&criterion.text)
                .with_weight(weight / whole)
                .with(credit.map(|(credit, _, feedback)| (credit, feedback)));
            component.tags.clone_from(&criterion.tags);
            component
        };
        let components = case
            .criteria
            .iter()
            .zip(weights)
            .zip(credits)
            .map(component)
            .collect();
        Score {
            scorer: self.id(),
            value,
            components,
            notes,
            ..Score::default()
        }
    }
}

/// Whether answer and article have no points together on any criterion: then RACE has no share to give but 0.
fn is_without_points(credits: &[Credit]) -> bool {
    let mut all = credits.iter().peekable();
    all.peek().is_some()
        && all.all(|credit| matches!(credit, Ok((_, factor, _)) if *factor == WITHOUT_POINTS))
}

fn has_share_out_of_range(score: Option<f64>, credits: &[Credit]) -> bool {
    let of_criteria = credits.iter().flatten().map(|(share, ..)| *share);
    score
        .into_iter()
        .chain(of_criteria)
        .any(|share| !(0.0..=1.0).contains(&share))
}

impl Scorer for CriteriaScorer {
    fn name(&self) -> &str {
        CRITERIA.name
    }

    fn template(&self, case: &TestCase) -> Option<Score> {
        Some(self.unjudged(case))
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::Criteria]
    }

    fn settings(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Asks batch by batch. A batch whose reply cannot be used is asked one by one, except in compat mode.
    fn step(&self, subject: &Subject<'_>, verdicts: &Verdicts) -> Step {
        let Subject { case, answer, .. } = *subject;
        let report = self.profile.report.then(|| report::of(answer));
        let refused = match report.as_deref() {
            Some(Report {
                fault: Some(ReportFault::Nothing(what)),
                ..
            }) => {
                let zeros = case.criteria.iter().map(|_| Ok((0.0, 1.0, None))).collect();
                let mut score =
                    report::fold(self.id(), case, self.mode, zeros, [(); 3].map(|()| Ok(0.0)));
                score.notes.push(format!("{what}: 0"));
                return Step::Done(score);
            }
            Some(Report {
                fault: Some(ReportFault::Dropped(what)),
                ..
            }) => Some((UnscoredKind::Exception, what.as_str())),
            Some(_) if ingredient_shares(&case.criteria, self.mode).is_none() => Some((
                UnscoredKind::NotAsked,
                "the weights of the ingredients sum to 0",
            )),
            None if !self.counts_zero()
                && !case.criteria.iter().any(|criterion| criterion.weight > 0.0) =>
            {
                Some((
                    UnscoredKind::NotAsked,
                    "no criterion has a positive weight, so that no point can be earned",
                ))
            }
            _ => None,
        };
        if let Some((kind, what)) = refused {
            return Step::Done(self.unscored(case, &UnscoredReason::new(kind, what)));
        }
        let mut calls = Vec::new();
        for batch in self.batches(case) {
            let is_open =
                |criterion: &&CaseCriterion| !verdicts.contains_key(criterion.name.as_str());
            match verdicts.get(item_of(batch).as_str()) {
                None if batch.iter().any(|criterion| is_open(&criterion)) => {
                    calls.push(self.call(case, answer, batch))
                }
                Some(Err(reason))
                    if self.mode == Mode::Default && is_worth_splitting(reason.kind) =>
                {
                    let alone = batch.iter().filter(is_open).map(std::slice::from_ref);
                    calls.extend(alone.map(|one| self.call(case, answer, one)));
                }
                _ => {}
            }
        }
        let of_report = report
            .iter()
            .flat_map(|report| report::calls(case, answer, report));
        calls.extend(of_report.filter(|call| !verdicts.contains_key(&call.item)));
        if !calls.is_empty() {
            return Step::Ask(calls);
        }
        let of_batch = |batch: &[CaseCriterion]| -> Vec<Credit> {
            batch
                .iter()
                .map(|criterion| self.credit(criterion, batch, verdicts))
                .collect()
        };
        let credits: Vec<Credit> = self.batches(case).flat_map(of_batch).collect();
        Step::Done(match report {
            Some(report) => {
                let metrics = report::metrics(answer, &report, verdicts, &self.profile);
                report::fold(self.id(), case, self.mode, credits, metrics)
            }
            None => self.fold(case, credits),
        })
    }
}

impl CriteriaScorer {
    fn call(&self, case: &TestCase, answer: &Answer, batch: &[CaseCriterion]) -> JudgeCall {
        let question = CriteriaLevels {
            question: Arc::clone(&case.rubric.question),
            answer: Arc::clone(&answer.answer_text),
            criteria: batch.into(),
            shape: Arc::clone(&self.profile.reply),
            reference: case.reference.clone(),
        };
        JudgeCall::new(item_of(batch), Role::Criteria, question)
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

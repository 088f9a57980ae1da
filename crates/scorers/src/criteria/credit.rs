//! What an answer earns on one criterion of a list.

use std::collections::BTreeMap;

use scholareval_core::domain::{
    CaseCriterion, Component, ComponentKind, CriterionVerdict, TestCase, UnscoredKind,
    UnscoredReason,
};

/// The factor of a weight where answer and reference article have no point: it counts only where nothing else does.
const WITHOUT_POINTS: f64 = 1e-30;

/// What an answer earns on a criterion.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Credit {
    /// The share of the criterion's weight: the credit of a level, or with a reference article the answer's share of the
    /// points of both.
    pub(super) share: f64,
    /// How many times the weight counts: once, or with a reference article as many times as both have points.
    pub(super) factor: f64,
    /// The share in each pass of several whose mean it is; empty with a reference article.
    pub(super) passes: Vec<f64>,
    /// What the level earns in metrics beside the score.
    pub(super) also: BTreeMap<String, f64>,
    /// The judge's explanation.
    pub(super) feedback: Option<String>,
}

/// A credit, or why it is missing.
pub(super) type CriterionCredit = Result<Credit, UnscoredReason>;

impl Credit {
    /// Nothing of the full weight.
    pub(super) const ZERO: Self = Self {
        share: 0.0,
        factor: 1.0,
        passes: Vec::new(),
        also: BTreeMap::new(),
        feedback: None,
    };

    /// The credit by a verdict, if the judge can assess the criterion.
    pub(super) fn of(verdict: &CriterionVerdict) -> CriterionCredit {
        let Some(credit) = verdict.credit else {
            return Err(UnscoredReason::new(
                UnscoredKind::Abstained,
                "the judge cannot assess it",
            ));
        };
        let factor = match verdict.second.map(|second| credit + second) {
            None => 1.0,
            // Neither 0, which would divide by 0, nor 1, which would let a criterion that nobody
            // met pull the share toward 0.
            Some(0.0) => WITHOUT_POINTS,
            Some(both) => both,
        };
        Ok(Self {
            share: credit / factor,
            factor,
            passes: match verdict.second {
                None => verdict.passes.clone(),
                Some(_) => Vec::new(),
            },
            also: verdict.also.clone(),
            feedback: verdict.feedback.clone(),
        })
    }

    /// Whether neither the answer nor the reference article has points.
    pub(super) fn is_without_points(&self) -> bool {
        self.factor == WITHOUT_POINTS
    }
}

/// Whether the judge says that it cannot assess the criterion.
pub(super) fn is_abstained(credit: &CriterionCredit) -> bool {
    credit
        .as_ref()
        .is_err_and(|reason| reason.kind == UnscoredKind::Abstained)
}

/// No credit for any criterion of a case, for this reason.
pub(super) fn missing(case: &TestCase, reason: &UnscoredReason) -> Vec<CriterionCredit> {
    vec![Err(reason.clone()); case.criteria.len()]
}

/// The component of a criterion.
pub(super) fn component(
    criterion: &CaseCriterion,
    weight: f64,
    credit: CriterionCredit,
) -> Component {
    let mut component = Component::new(&criterion.name, ComponentKind::Criterion)
        .with_text(&criterion.text)
        .with_weight(weight)
        .with(credit.map(|credit| (credit.share, credit.feedback)));
    component.tags.clone_from(&criterion.tags);
    component
}

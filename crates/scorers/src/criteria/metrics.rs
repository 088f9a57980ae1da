//! Metrics beside the score, as a profile names them ([`ProfileMetric`]).
//!
//! `also` is the weighted share of other credits of the levels, over the positive weights; `right` the plain share of criteria that
//! are met or, of faults, avoided; `length` the score less what the length of the answer takes; `pass` whether the score reaches a
//! mark, `normalized` where the points lie between the fewest and the most. Each is a component without a weight. What the judge cannot
//! assess counts in none of them.

use scholareval_core::domain::{
    Answer, CaseCriterion, Component, ComponentKind, Mode, ProfileMetric, TestCase, UnscoredKind,
    UnscoredReason,
};

use super::CriteriaScorer;
use super::credit::{Credit, CriterionCredit, is_abstained};

/// The criteria of a case with their credits, and the score by them.
pub(super) struct Credited<'a> {
    pub(super) scorer: &'a CriteriaScorer,
    pub(super) case: &'a TestCase,
    /// `None` for a template.
    pub(super) answer: Option<&'a Answer>,
    pub(super) credits: &'a [CriterionCredit],
    pub(super) value: Option<f64>,
    /// The sum of weight x credit.
    pub(super) points: f64,
    /// The score in each pass of the judge; empty for one.
    pub(super) passes: &'a [f64],
}

impl Credited<'_> {
    /// The components of the profile's metrics. A metric of a tag that no criterion of the case has is none of the case; the
    /// references count it as 0.
    pub(super) fn metrics(&self) -> Vec<Component> {
        let mut components = Vec::new();
        let missing = self.first_missing();
        // Where the judge can assess nothing, there is no score, and no metric that could be unscored.
        if missing.is_none() && self.value.is_none() {
            return components;
        }
        for metric in &self.scorer.profile.metrics {
            let counted = self.counted(metric);
            if counted.is_empty() && self.scorer.mode == Mode::Default {
                continue;
            }
            let value = match &missing {
                Some(reason) => Err(reason.clone()),
                None => Ok((self.value(metric, &counted), None)),
            };
            // The length of an answer takes any amount.
            let kind = if metric.length.is_some() {
                ComponentKind::Net
            } else {
                ComponentKind::Share
            };
            components.push(Component::new(&metric.name, kind).with(value));
        }
        components
    }

    /// Why metrics have no value: a criterion without a credit.
    fn first_missing(&self) -> Option<UnscoredReason> {
        let mut missing = self.credits.iter().filter(|credit| !is_abstained(credit));
        missing.find_map(|credit| credit.as_ref().err())?;
        let kind = UnscoredKind::DependsOnUnscored;
        Some(UnscoredReason::new(kind, "a criterion is unscored"))
    }

    /// The criteria that a metric is about, with their credits.
    fn counted(&self, metric: &ProfileMetric) -> Vec<(&CaseCriterion, &Credit)> {
        let criteria = self.case.criteria.iter().zip(self.credits);
        let tagged = criteria
            .filter(|(criterion, _)| metric.tag.is_empty() || criterion.tags.contains(&metric.tag));
        tagged
            .filter_map(|(criterion, credit)| Some((criterion, credit.as_ref().ok()?)))
            .collect()
    }

    fn value(&self, metric: &ProfileMetric, counted: &[(&CaseCriterion, &Credit)]) -> f64 {
        let score = self.value.unwrap_or_default();
        if let Some(rule) = metric.length {
            let text = self.answer.map_or("", |answer| &answer.answer_text);
            let length = text.chars().count() as f64;
            return score - rule.lose * (length - rule.center) / rule.per;
        }
        if let Some(mark) = metric.pass {
            let all = if self.passes.is_empty() {
                &[score]
            } else {
                self.passes
            };
            let passed = all.iter().filter(|score| **score >= mark);
            return passed.count() as f64 / all.len() as f64;
        }
        if metric.normalized {
            let weights = counted.iter().map(|(criterion, _)| criterion.weight);
            let faults: f64 = weights.clone().map(|weight| weight.min(0.0)).sum();
            let positive: f64 = weights.map(|weight| weight.max(0.0)).sum();
            return (self.points - faults) / (positive - faults);
        }
        let mut sum = 0.0;
        let mut whole = 0.0;
        for (criterion, credit) in counted {
            let (weight, value) = if metric.right && criterion.weight < 0.0 {
                (1.0, 1.0 - credit.share)
            } else if metric.right {
                (1.0, credit.share)
            } else {
                let also = credit.also.get(&metric.also).copied();
                (criterion.weight.max(0.0), also.unwrap_or_default())
            };
            sum += weight * value;
            whole += weight;
        }
        if whole > 0.0 { sum / whole } else { 0.0 }
    }
}

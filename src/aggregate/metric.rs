//! A mean over answers with what is needed to judge it.

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::domain::{Mode, Score};
use crate::stats::{BcaOptions, bca_mean_interval, mean};

/// What the reference script divides `ann_score` by, whatever the weights of the properties sum to.
pub(crate) const REFERENCE_ANNOTATED_WEIGHT: f64 = 0.6;

/// The mean of one quantity over the answers of one system.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Metric {
    /// The mean, 0..=1; `None` where nothing could be scored.
    pub estimate: Option<f64>,
    /// 95% BCa bootstrap interval of the mean; `None` for fewer than two values.
    pub interval: Option<(f64, f64)>,
    /// How many values the mean is over.
    pub n: usize,
    /// How many answers could not be judged here (left out of the mean, or filled with 0 where the policy says so).
    pub unscored: usize,
}

impl Metric {
    /// The mean of the values that are there.
    pub(crate) fn of(values: &[f64], unscored: usize, options: BcaOptions) -> Self {
        let interval = bca_mean_interval(values, options).map(|interval| (interval.low, interval.high));
        Self { estimate: mean(values), interval, n: values.len(), unscored }
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Metric", 5)?;
        fields.serialize_field("estimate", &self.estimate)?;
        fields.serialize_field("low", &self.interval.map(|interval| interval.0))?;
        fields.serialize_field("high", &self.interval.map(|interval| interval.1))?;
        fields.serialize_field("n", &self.n)?;
        fields.serialize_field("unscored", &self.unscored)?;
        fields.end()
    }
}

/// `(score, ann_score)` with every component that has no value set to `fill`.
///
/// The sums of `docs/metrics.md` section 1: weight x value over all components; the same over the annotated ones
/// divided by their total weight (in compat mode by 0.6). `ann_score` is `None` without
/// annotated components.
pub fn filled(score: &Score, fill: f64, mode: Mode) -> (f64, Option<f64>) {
    let (mut total, mut annotated, mut annotated_weight) = (0.0, 0.0, 0.0);
    for component in &score.components {
        let part = component.weight * component.value.unwrap_or(fill);
        total += part;
        if component.kind.is_annotated() {
            annotated += part;
            annotated_weight += component.weight;
        }
    }
    let divisor = match mode {
        Mode::Default => annotated_weight,
        Mode::Compat => REFERENCE_ANNOTATED_WEIGHT,
    };
    (total, (annotated_weight > 0.0).then(|| annotated / divisor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::made::{component, score};
    use crate::domain::ComponentKind;

    #[test]
    fn a_filled_score_counts_each_null_as_told() {
        let score = score(vec![
            component("length", ComponentKind::Length, 0.1, Some(0.5)),
            component("a", ComponentKind::Property, 0.4, Some(1.0)),
            component("b", ComponentKind::Property, 0.4, None),
        ]);
        // 0.1 * 0.5 + 0.4 * 1 + 0.4 * f; annotated (0.4 + 0.4 f) / 0.8
        let (low, low_ann) = filled(&score, 0.0, Mode::Default);
        let (high, high_ann) = filled(&score, 1.0, Mode::Default);
        assert!((low - 0.45).abs() < 1e-12 && (low_ann.unwrap() - 0.5).abs() < 1e-12);
        assert!((high - 0.85).abs() < 1e-12 && (high_ann.unwrap() - 1.0).abs() < 1e-12);
        // compat: 0.8 / 0.6
        assert!((filled(&score, 1.0, Mode::Compat).1.unwrap() - 0.8 / 0.6).abs() < 1e-12);
    }

    #[test]
    fn without_annotated_components_there_is_no_ann_score_to_fill() {
        let score = score(vec![component("length", ComponentKind::Length, 0.1, None)]);
        assert_eq!(filled(&score, 1.0, Mode::Default), (0.1, None));
    }

    #[test]
    fn a_metric_without_values_has_no_estimate() {
        let metric = Metric::of(&[], 3, BcaOptions::seeded(1));
        assert_eq!(metric, Metric { estimate: None, interval: None, n: 0, unscored: 3 });
        assert_eq!(
            serde_json::to_string(&metric).unwrap(),
            r#"{"estimate":null,"low":null,"high":null,"n":0,"unscored":3}"#
        );
    }
}

//! Mean and standard error of what has a value.

use serde_json::{Map, Value, json};

/// The values of one score over the samples.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tally {
    values: Vec<f64>,
    unscored: usize,
}

impl Tally {
    /// Counts one sample.
    pub(super) fn add(&mut self, value: Option<f64>) {
        match value.filter(|value| value.is_finite()) {
            Some(value) => self.values.push(value),
            None => self.unscored += 1,
        }
    }

    /// The mean; `None` without a value.
    pub(super) fn mean(&self) -> Option<f64> {
        (!self.values.is_empty()).then(|| self.values.iter().sum::<f64>() / self.values.len() as f64)
    }

    /// Standard deviation (n - 1) over the root of n; `None` for fewer than two values.
    pub(super) fn standard_error(&self) -> Option<f64> {
        let (n, mean) = (self.values.len() as f64, self.mean()?);
        let squares: f64 = self.values.iter().map(|value| (value - mean).powi(2)).sum();
        (n >= 2.0).then(|| (squares / (n - 1.0) / n).sqrt())
    }

    /// An entry of `results.scores`.
    pub(super) fn entry(&self, name: &str, scorer: &str) -> Value {
        let metrics = [("mean", self.mean()), ("stderr", self.standard_error())];
        let metrics: Map<String, Value> = metrics
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), json!({"name": name, "value": value?, "params": {}}))))
            .collect();
        json!({
            "name": name,
            "scorer": scorer,
            "scored_samples": self.values.len(),
            "unscored_samples": self.unscored,
            "params": {},
            "metrics": metrics,
        })
    }
}

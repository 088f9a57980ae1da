//! A mean over answers with what is needed to judge it.

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::questions::{Sample, mean_intervals};
use crate::stats::{BcaOptions, mean};

/// The mean of one quantity over the answers of one system.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Metric {
    /// The mean, 0..=1; `None` where nothing could be scored.
    pub estimate: Option<f64>,
    /// 95% BCa bootstrap interval of the mean, cases of one question drawn together; `None` for fewer than two values or
    /// questions.
    pub interval: Option<(f64, f64)>,
    /// How many values the mean is over.
    pub n: usize,
    /// How many answers could not be judged here (left out of the mean, or filled with 0 where the policy says so).
    pub unscored: usize,
}

impl Metric {
    /// The means of several quantities: of each the values that are there, and how many are not.
    pub(crate) fn of_each<const N: usize>(quantities: [(Sample, usize); N], options: BcaOptions) -> [Self; N] {
        let samples = quantities.each_ref().map(|(sample, _)| sample);
        let mut intervals = mean_intervals(&samples, options).into_iter();
        quantities.map(|(Sample { values, .. }, unscored)| Self {
            estimate: mean(&values),
            interval: intervals.next().flatten(),
            n: values.len(),
            unscored,
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_without_values_has_no_estimate() {
        let [metric] = Metric::of_each([(Sample::default(), 3)], BcaOptions::seeded(1));
        assert_eq!(metric, Metric { estimate: None, interval: None, n: 0, unscored: 3 });
        assert_eq!(
            serde_json::to_string(&metric).unwrap(),
            r#"{"estimate":null,"low":null,"high":null,"n":0,"unscored":3}"#
        );
    }
}

//! Means of several quantities over the items of several systems: one row a system.

use serde::Serialize;

use super::Metric;
use crate::domain::SystemName;
use crate::stats::{BcaOptions, bca_mean_intervals, mean};

/// What the numbers of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// 0..=1, shown as per cent.
    Share,
    /// A count an item.
    Count,
}

/// One quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name in tables and files.
    pub name: &'static str,
    /// What its numbers are.
    pub unit: Unit,
}

/// The means of one system, in the order of the columns.
#[derive(Debug, Clone, PartialEq)]
pub struct MeansRow {
    /// Whose answers.
    pub system: SystemName,
    /// How many items.
    pub items: usize,
    /// A metric a column; `unscored` counts the items without a value.
    pub metrics: Vec<Metric>,
}

/// A table of means.
#[derive(Debug, Clone, PartialEq)]
pub struct Means {
    /// The quantities.
    pub columns: Vec<Column>,
    /// The systems, as given.
    pub rows: Vec<MeansRow>,
    /// What seeded the intervals (95%, BCa, 10,000 resamples).
    pub seed: u64,
}

impl Means {
    /// The means of systems whose items have a value (or none) a column. Columns without any value in any system are
    /// left out.
    pub fn of(columns: &[Column], systems: &[(SystemName, Vec<Vec<Option<f64>>>)], seed: u64) -> Self {
        let of_column = |items: &[Vec<Option<f64>>], at: usize| -> Vec<f64> {
            items.iter().filter_map(|item| item.get(at).copied().flatten()).collect()
        };
        let kept: Vec<usize> = (0..columns.len())
            .filter(|at| systems.iter().any(|(_, items)| !of_column(items, *at).is_empty()))
            .collect();
        let row = |(system, items): &(SystemName, Vec<Vec<Option<f64>>>)| {
            let samples: Vec<Vec<f64>> = kept.iter().map(|at| of_column(items, *at)).collect();
            let slices: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
            let intervals = bca_mean_intervals(&slices, BcaOptions::seeded(seed));
            let metric = |(values, interval): (&Vec<f64>, Option<crate::stats::Interval>)| Metric {
                estimate: mean(values),
                interval: interval.map(|interval| (interval.low, interval.high)),
                n: values.len(),
                unscored: items.len() - values.len(),
            };
            let metrics = samples.iter().zip(intervals).map(metric).collect();
            MeansRow { system: system.clone(), items: items.len(), metrics }
        };
        let rows = systems.iter().map(row).collect();
        Self { columns: kept.iter().filter_map(|at| columns.get(*at).copied()).collect(), rows, seed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_over_the_items_that_have_a_value_and_empty_columns_are_left_out() {
        let columns = ["a", "b", "c"].map(|name| Column { name, unit: Unit::Share });
        let systems = [
            (SystemName::from("x"), vec![vec![Some(0.5), None, None], vec![Some(1.0), Some(0.25), None]]),
            (SystemName::from("y"), vec![vec![None, None, None]]),
        ];
        let means = Means::of(&columns, &systems, 1);
        assert_eq!(means.columns.iter().map(|column| column.name).collect::<Vec<_>>(), ["a", "b"]);
        let (x, y) = (&means.rows[0], &means.rows[1]);
        // a: (0.5 + 1) / 2; b: one of two items
        assert_eq!((x.metrics[0].estimate, x.metrics[0].n), (Some(0.75), 2));
        assert_eq!((x.metrics[1].estimate, x.metrics[1].n, x.metrics[1].unscored), (Some(0.25), 1, 1));
        assert_eq!((y.metrics[0].estimate, y.metrics[0].unscored, y.items), (None, 1, 1));
    }
}

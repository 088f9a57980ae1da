//! Numbers within sentences and titles. Those in cells have the [`Format`] of their column.

use super::table::Format;
use crate::analysis::Estimate;
use crate::domain::Unit;
use crate::stats::Interval;

/// Decimals of correlations and other coefficients of agreement.
pub(super) const COEFFICIENT: Format = Format::Number(2);

/// The unit of a metric, in words.
pub(super) fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Share | Unit::Net => "%",
        Unit::Grade => "grades from 1 to 5",
        Unit::Count => "count per answer",
    }
}

/// `95%`, `97.5%`.
pub(super) fn percent(level: f64) -> String {
    format!("{}%", (1000.0 * level).round() / 10.0)
}

/// A size or a difference between means, with its unit: `3.1 points`.
pub(super) fn points(value: f64, unit: Unit) -> String {
    let name = match unit {
        Unit::Share | Unit::Net => " points",
        Unit::Grade => " grades",
        Unit::Count => "",
    };
    Format::of_mean(unit).show(value) + name
}

/// `+3.4 [0.2, 6.6]`. Only the difference has a sign for being positive: within brackets it would be noise.
pub(super) fn shown_difference(difference: f64, interval: Option<Interval>, unit: Unit) -> String {
    let difference = Format::of_difference(unit).show(difference);
    match interval {
        Some(interval) => {
            let interval = Format::of_mean(unit).show_interval(interval);
            format!("{difference} {interval}")
        }
        None => difference,
    }
}

/// `0.61 [0.50, 0.70] (n = 24)`, or why it is not defined.
pub(super) fn shown_coefficient(estimate: &Estimate) -> String {
    match (estimate.estimate, &estimate.undefined) {
        (Some(value), _) => {
            COEFFICIENT.show_estimate(value, estimate.interval()) + &units_of(estimate)
        }
        (None, Some(reason)) => format!("not defined ({reason})"),
        (None, None) => "not defined".to_owned(),
    }
}

/// ` (n = 24)`: what an estimate rests on, if it is known.
pub(super) fn units_of(estimate: &Estimate) -> String {
    let units = estimate.n.map(|n| format!(" (n = {n})"));
    units.unwrap_or_default()
}

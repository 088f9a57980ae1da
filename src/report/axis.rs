//! The axis of means and intervals.

use crate::domain::Unit;
use crate::report::table::Format;
use crate::stats::Interval;

/// A range of numbers, drawn from left (0) to right (100).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::report) struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    /// An axis with round ends around these numbers; `None` without numbers.
    pub(in crate::report) fn around(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut low = f64::INFINITY;
        let mut high = f64::NEG_INFINITY;
        for value in values {
            if value.is_finite() {
                low = low.min(value);
                high = high.max(value);
            }
        }
        if low > high {
            return None;
        }
        let is_single = high <= low;
        let width = if is_single {
            high.abs().max(0.1)
        } else {
            high - low
        };
        // Two to five steps between the ends: fewer make values hard to read, more leave no room
        // for labels.
        let step = round_step(width / 3.0);
        // A single number is in the middle.
        if is_single {
            low -= step;
            high += step;
        }
        Some(Self {
            low: (low / step).floor() * step,
            high: (high / step).ceil() * step,
            step,
        })
    }

    /// An axis around these estimates and their intervals.
    pub(in crate::report) fn around_estimates(
        estimates: impl IntoIterator<Item = (f64, Option<Interval>)>,
    ) -> Option<Self> {
        let mut values = Vec::new();
        for (estimate, interval) in estimates {
            values.push(estimate);
            values.extend(interval.iter().flat_map(|ends| [ends.low, ends.high]));
        }
        Self::around(values)
    }

    /// Position of a number, in percent of the width, clamped to the ends.
    pub(in crate::report) fn at(&self, value: f64) -> f64 {
        let at = (100.0 * (value - self.low) / (self.high - self.low)).clamp(0.0, 100.0);
        // Two digits are finer than a pixel.
        (100.0 * at).round() / 100.0
    }

    /// The grid lines, ends included: position in percent of the width, and label.
    pub(in crate::report) fn ticks(&self, unit: Unit) -> Vec<(f64, String)> {
        let count = ((self.high - self.low) / self.step).round() as usize;
        let mut ticks = Vec::new();
        // A guard against rounding in the step; there are at most about six.
        for line in 0..=count.min(12) {
            let value = self.low + line as f64 * self.step;
            let label = Format::of_mean(unit).show(value);
            ticks.push((self.at(value), label.trim_end_matches(".0").to_owned()));
        }
        ticks
    }
}

/// Rounds up to 1, 2 or 5 times a power of ten.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        // Without the tolerance, 0.1 computed as 0.100000001 would double the step.
        .find(|step| *step >= least * 0.999)
        .unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_round_numbers_around_all_values() {
        // Width 0.194, a third of it 0.065: steps of 0.1 from 0.3 to 0.5.
        let axis = Axis::around([0.306, 0.5, 0.35]).unwrap();
        let expected =
            [(0.0, "30"), (50.0, "40"), (100.0, "50")].map(|(at, text)| (at, text.to_owned()));
        assert_eq!(axis.ticks(Unit::Share), expected);
        assert_eq!(axis.at(0.4), 50.0);
        assert_eq!((axis.at(-3.0), axis.at(7.0)), (0.0, 100.0));
    }

    #[test]
    fn one_number_stands_inside_and_none_has_no_axis() {
        let axis = Axis::around([3.0]).unwrap();
        assert!((10.0..=90.0).contains(&axis.at(3.0)), "{axis:?}");
        assert_eq!(Axis::around([f64::NAN]), None);
    }
}

//! Ratings as categories, for kappa, AC1 and raw agreement: a mean of people who say 0 or 1 is not a third category.

use std::collections::BTreeSet;

use super::scales::items;
use super::units::{RatedByBoth, RatedUnit, RaterView};

/// Means in the middle of two values are off it by less.
const ROUNDING: f64 = 1e-9;

impl RatedByBoth<'_> {
    /// The ratings, where labels have two values with a mean between them as the nearer one (the majority), and without splits.
    pub(super) fn categories(&self) -> Self {
        let has_labels = self.first.is_human() || self.second.is_human();
        let Some(two) = self.two_values().filter(|_| has_labels) else {
            return self.only(|_| true);
        };
        let mut categories = self.only(|_| false);
        for (at, unit) in self.units.iter().enumerate() {
            let x = category(self.x[at], self.first, unit, two);
            let y = category(self.y[at], self.second, unit, two);
            if let Some((x, y)) = x.zip(y) {
                categories.push(unit, x, y);
            }
        }
        categories
    }

    /// The two values that labels of these items can have, the lower one first; `None` for more, or fewer.
    fn two_values(&self) -> Option<[f64; 2]> {
        let mut all: BTreeSet<u64> = BTreeSet::new();
        for item in items(&self.units) {
            all.extend(self.context.label_values.get(item).into_iter().flatten());
        }
        let values: Vec<f64> = all.into_iter().map(f64::from_bits).collect();
        match values[..] {
            [one, other] => Some([one.min(other), one.max(other)]),
            _ => None,
        }
    }
}

/// The nearer of the two values, `None` in the middle. A judge's score of a whole answer is a number and not a mean of two values.
fn category(value: f64, rater: &RaterView, unit: &RatedUnit, [low, high]: [f64; 2]) -> Option<f64> {
    let is_mean = rater.is_human() || unit.item.is_some();
    if !is_mean || value < low || value > high {
        return Some(value);
    }
    let above = value - f64::midpoint(low, high);
    if above.abs() < ROUNDING {
        None
    } else if above > 0.0 {
        Some(high)
    } else {
        Some(low)
    }
}

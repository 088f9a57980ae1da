//! Grades of which the lowest is the best: they run against what the same person prefers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::{CaseId, Preferred, Rater, SystemName};

/// Fewer pairs tell nothing.
const FEWEST_PAIRS: usize = 20;
/// The square of 1.96: the sign test at 5%, by the normal approximation.
const SQUARE_OF_Z: f64 = 3.84;

/// An item whose ratings run against the rater's own preferences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReversedItem {
    /// The item.
    pub item: Arc<str>,
    /// Pairs where the answer that the rater prefers has the lower number.
    pub against: usize,
    /// Pairs where it has the higher one.
    pub with: usize,
}

/// The items of which more is worse to this rater, as it seems: of at least 20 pairs that the rater prefers one of and gave
/// different numbers, significantly more than half have the lower number for the better answer (sign test, 5%).
pub fn reversed_items(rater: &Rater) -> Vec<ReversedItem> {
    let mut sums: BTreeMap<(&SystemName, &CaseId, &str), (f64, f64)> = BTreeMap::new();
    let mut items: BTreeSet<&Arc<str>> = BTreeSet::new();
    for rating in &rater.ratings {
        let Some(item) = &rating.item else { continue };
        items.insert(item);
        let sum = sums.entry((&rating.system, &rating.case_id, item)).or_default();
        *sum = (sum.0 + rating.value, sum.1 + 1.0);
    }
    let of_item = |item: &Arc<str>| {
        let value = |system, case| sums.get(&(system, case, &**item)).map(|(sum, count)| sum / count);
        let (mut with, mut against) = (0, 0);
        for made in &rater.preferences {
            let pair = &made.pair;
            let (better, worse) = match made.preferred {
                Preferred::First => (&pair.first, &pair.second),
                Preferred::Second => (&pair.second, &pair.first),
                Preferred::Tie => continue,
            };
            let Some((high, low)) = value(better, &pair.case_id).zip(value(worse, &pair.case_id)) else { continue };
            with += usize::from(high > low);
            against += usize::from(high < low);
        }
        let (all, more) = ((with + against) as f64, against as f64 - with as f64);
        let is_reversed = with + against >= FEWEST_PAIRS && more > 0.0 && more * more > SQUARE_OF_Z * all;
        is_reversed.then(|| ReversedItem { item: Arc::clone(item), against, with })
    };
    items.into_iter().filter_map(of_item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Preference, RaterKind, Rating};

    /// Prefers `a` in every case and gives it 1 of `citation`, `b` 2, in the first so many cases the other way round.
    fn person(cases: usize, with: usize) -> Rater {
        let mut rater = Rater::new("p", RaterKind::Human);
        for case in 0..cases {
            let rating = |system: &str, value: f64| Rating {
                system: system.into(),
                case_id: format!("c{case}").into(),
                item: Some("citation".into()),
                value,
            };
            let (a, b) = if case < with { (2.0, 1.0) } else { (1.0, 2.0) };
            rater.ratings.extend([rating("a", a), rating("b", b)]);
            let made = Preference::new(format!("c{case}").into(), "a".into(), "b".into(), Preferred::First);
            rater.preferences.extend(made);
        }
        rater
    }

    #[test]
    fn grades_of_which_one_is_the_best_are_noticed() {
        let found = reversed_items(&person(30, 5));
        assert_eq!(
            found.iter().map(|item| (&*item.item, item.against, item.with)).collect::<Vec<_>>(),
            [("citation", 25, 5)]
        );
        // 19 pairs are too few; 12 to 8 is chance ((12 - 8)^2 = 16 < 3.84 * 20); 25 to 5 the right way round is as it should be
        for (cases, with) in [(19, 0), (20, 8), (30, 25)] {
            assert_eq!(reversed_items(&person(cases, with)), []);
        }
    }
}

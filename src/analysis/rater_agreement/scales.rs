//! Why ratings cannot be compared value by value.

use std::collections::BTreeMap;

use super::result::RaterSummary;
use super::units::Unit;
use crate::analysis::ratings::Ratings;

/// More distinct values than this are no categories (0 to 10 are eleven).
const MOST_CATEGORIES: usize = 11;

/// Too many distinct values for categories.
pub(super) fn no_categories(ratings: &Ratings) -> Option<String> {
    let values = ratings.distinct_values();
    (values > MOST_CATEGORIES).then(|| format!("{values} distinct values are no categories"))
}

/// A judge and a person, one within 0..=1, the other beyond. `raters` are those of the rows.
pub(super) fn not_one_scale(raters: &[&RaterSummary], ratings: &Ratings) -> Option<String> {
    if raters.windows(2).all(|two| two[0].kind == two[1].kind) {
        return None;
    }
    let largest = |row: &Vec<Option<f64>>| row.iter().flatten().copied().reduce(f64::max);
    let rated: Vec<(&RaterSummary, f64)> =
        raters.iter().zip(&ratings.rows).filter_map(|(rater, row)| Some((*rater, largest(row)?))).collect();
    let (unit, _) = rated.iter().find(|(_, largest)| *largest <= 1.0)?;
    let (wide, largest) = rated.iter().find(|(_, largest)| *largest > 1.0)?;
    Some(format!("not on one scale: {} within 0..1, {} up to {largest}", unit.name, wide.name))
}

/// A rater with items within 0..=1 and items beyond. Each element holds one rater's ratings.
pub(super) fn mixed_items<'a>(
    raters: impl IntoIterator<Item = impl Iterator<Item = (&'a Unit, f64)>>,
) -> Option<String> {
    let is_mixed = |ratings: &mut dyn Iterator<Item = (&'a Unit, f64)>| {
        let mut largest: BTreeMap<&str, f64> = BTreeMap::new();
        for (unit, value) in ratings {
            if let Some(item) = unit.item.as_deref() {
                let own = largest.entry(item).or_insert(value);
                *own = own.max(value);
            }
        }
        largest.values().any(|value| *value <= 1.0) && largest.values().any(|value| *value > 1.0)
    };
    let mixed = raters.into_iter().any(|mut ratings| is_mixed(&mut ratings));
    mixed.then(|| "items on several scales: see each item, or choose one with --metric".to_owned())
}

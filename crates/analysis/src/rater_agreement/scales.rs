//! Detects ratings on different or reversed scales.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::result::{AgreementLevel, AgreementOptions};
use super::units::{Context, RatedUnit, RaterView};
use crate::ratings::Ratings;
use scholareval_core::domain::{CaseId, Note, Preference, Rater, SystemName};
use scholareval_stats::Interval;

/// Maximum number of distinct values for categories (0 to 10 are eleven).
// Grades from 0 to 10 are the finest scale on which people still choose categories.
pub(super) const MOST_CATEGORIES: usize = 11;
/// Usual scales, from 0 to these numbers.
const SCALES: [f64; 4] = [1.0, 5.0, 10.0, 100.0];
/// Minimum number of pairs to detect a reversed scale.
const FEWEST_PAIRS: usize = 20;
/// The square of 1.96: the sign test at 5%, by the normal approximation.
// 1.96^2: the sign test at 5%.
const SQUARE_OF_Z: f64 = 3.84;

/// Too many distinct values for categories.
pub(super) fn no_categories(ratings: &Ratings) -> Option<String> {
    let values = ratings.distinct_values();
    (values > MOST_CATEGORIES)
        .then(|| format!("{values} distinct values are too many for categories"))
}

/// Detects a rater with ratings outside of the scale of their question: of two ranges of numbers kappa, alpha and ICC measure mostly
/// the difference of the ranges. What raters gave does not show their scale: of 0, 1 and 2 one may have used 0 and 1.
pub(super) fn not_one_scale(
    raters: &[&RaterView],
    units: &[&RatedUnit],
    context: &Context<'_>,
) -> Option<String> {
    for item in items(units) {
        let Some((scale, owner)) = context.scales.get(item) else {
            continue;
        };
        let mut raters = raters.iter();
        let is_outside = |view: &&&RaterView| {
            let ends = view.ends.get(item);
            ends.is_some_and(|ends| !(scale.holds(ends.low) && scale.holds(ends.high)))
        };
        if let Some(other) = raters.find(is_outside) {
            let Interval { low, high } = scale;
            let name = &other.rater.name;
            return Some(format!(
                "not on one scale: {name} is outside of {low}..{high}, the scale of {owner}"
            ));
        }
    }
    None
}

/// A note where several raters rated an item whose scale no question says: a warning where their ratings look like those of
/// different scales.
pub(super) fn unknown_scale_note(views: &[RaterView], context: &Context<'_>) -> Option<Note> {
    let mut tops: BTreeMap<&Option<Arc<str>>, Vec<Option<f64>>> = BTreeMap::new();
    for (item, ends) in views.iter().flat_map(|view| &view.ends) {
        if !context.scales.contains_key(item) {
            tops.entry(item).or_default().push(top_of_scale(&[ends]));
        }
    }
    let mut shared = tops.values().filter(|tops| tops.len() > 1).peekable();
    shared.peek()?;
    let text = "The scale of these ratings is not known: kappa, alpha, ICC and shift take all raters to be on the same one.";
    let differ = shared.any(|tops| tops.iter().any(|top| *top != tops[0]));
    Some(if differ {
        Note::warning(text)
    } else {
        Note::info(text)
    })
}

/// The end of the smallest usual scale that holds all ratings; `None` for negative ones and those above 100.
pub(super) fn top_of_scale(ends: &[&Interval]) -> Option<f64> {
    SCALES.into_iter().find(|top| {
        ends.iter()
            .all(|interval| interval.low >= 0.0 && interval.high <= *top)
    })
}

/// Detects a rater with items within 0..=1 and items beyond, among those of these units.
pub(super) fn mixed_items(raters: &[&RaterView], units: &[&RatedUnit]) -> Option<String> {
    let items = items(units);
    let reason = "items on several scales: see each item, or choose one with --metric";
    let is_mixed = raters.iter().any(|view| is_mixed(view, &items));
    is_mixed.then(|| reason.to_owned())
}

/// Whether some of these items are shares by the rater's ratings, and others are not.
fn is_mixed(view: &RaterView, items: &BTreeSet<&Option<Arc<str>>>) -> bool {
    let ends = items.iter().filter_map(|item| view.ends.get(*item));
    let mut shares = ends.map(|ends| ends.high <= 1.0);
    let first = shares.next();
    shares.any(|is_share| Some(is_share) != first)
}

/// The items of these units.
pub(super) fn items<'a>(units: &[&'a RatedUnit]) -> BTreeSet<&'a Option<Arc<str>>> {
    units.iter().map(|unit| &unit.item).collect()
}

/// A note if a rater's ratings contradict the same rater's preferences, as with grades where 1 is the best; a warning if
/// these ratings are used.
pub(super) fn reversed_note(rater: &Rater, options: &AgreementOptions) -> Option<Note> {
    let items = reversed_items(rater);
    if items.is_empty() {
        return None;
    }
    let mut shown = Vec::new();
    for (item, against, with) in &items {
        shown.push(format!("{item} ({against} of {})", against + with));
    }
    let text = format!(
        "{} mostly prefers the answer with the lower number (in pairs): {}. If 1 is the best grade there, reverse these \
         grades before use: higher must be better.",
        rater.name,
        shown.join(", ")
    );
    let is_used = match &options.metric {
        Some(metric) => items.iter().any(|(item, ..)| **item == **metric),
        None => options.level == AgreementLevel::Item,
    };
    Some(if is_used {
        Note::warning(text)
    } else {
        Note::info(text)
    })
}

/// The rater's items where lower seems better, with the pairs in which the preferred answer has the lower and the
/// higher value: of at least 20 pairs, significantly more than half are lower (sign test, 5%).
fn reversed_items(rater: &Rater) -> Vec<(Arc<str>, usize, usize)> {
    let mut values: BTreeMap<(&str, &SystemName, &CaseId), f64> = BTreeMap::new();
    let mut items: BTreeSet<&Arc<str>> = BTreeSet::new();
    for rating in &rater.ratings {
        if let Some(item) = &rating.item {
            items.insert(item);
            values.insert((item, &rating.system, &rating.case_id), rating.value);
        }
    }
    let mut reversed = Vec::new();
    for item in items {
        let mut with = 0;
        let mut against = 0;
        for (pair, preference) in &rater.preferences {
            let first = values.get(&(&**item, &pair.first, &pair.case_id));
            let second = values.get(&(&**item, &pair.second, &pair.case_id));
            let (Some(first), Some(second)) = (first, second) else {
                continue;
            };
            let by_values = Preference::of_difference(first - second, 0.0);
            let agreement = by_values.sign() * preference.sign();
            with += usize::from(agreement > 0);
            against += usize::from(agreement < 0);
        }
        let all = (with + against) as f64;
        let more = against as f64 - with as f64;
        if with + against >= FEWEST_PAIRS && more > 0.0 && more * more > SQUARE_OF_Z * all {
            reversed.push((Arc::clone(item), against, with));
        }
    }
    reversed
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::domain::{ComparedPair, RaterKind, Rating};

    /// Prefers `a` in every case and gives it 1 for `citation`, `b` 2; in the first `with` cases the reverse.
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
            let case_id = format!("c{case}").into();
            let (pair, _) = ComparedPair::of(case_id, "a".into(), "b".into());
            rater.preferences.insert(pair, Preference::First);
        }
        rater
    }

    #[test]
    fn grades_of_which_one_is_the_best_are_noticed() {
        let reversed = reversed_items(&person(30, 5));
        assert_eq!(
            reversed
                .iter()
                .map(|(item, against, with)| (&**item, *against, *with))
                .collect::<Vec<_>>(),
            [("citation", 25, 5)]
        );
        // 19 pairs are too few; 12 to 8 is chance ((12 - 8)^2 = 16 < 3.84 * 20); 25 to 5 the right way round is as it should be
        for (cases, with) in [(19, 0), (20, 8), (30, 25)] {
            assert_eq!(reversed_items(&person(cases, with)), []);
        }
    }
}

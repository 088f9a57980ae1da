//! Agreement of several raters: Krippendorff's alpha and ICC(2,1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::result::{FEWEST_FOR_INTERVAL, RaterGroup};
use super::scales::{mixed_items, no_categories, not_one_scale};
use super::units::{Context, RaterView, Unit};
use crate::analysis::ratings::{Estimate, Ratings, distinct};
use crate::domain::{ComparedPair, RaterKind};
use crate::stats::MeasurementLevel;

/// All raters; with people and judges, also each group alone.
pub(super) fn groups(views: &[RaterView], context: &Context<'_>) -> Vec<RaterGroup> {
    let of = |kind: RaterKind| views.iter().filter(|view| view.rater.kind == kind).collect::<Vec<_>>();
    let (people, judges) = (of(RaterKind::Human), of(RaterKind::Judge));
    let mut members: Vec<(&str, Vec<&RaterView>)> = vec![("all raters", views.iter().collect())];
    if !people.is_empty() && !judges.is_empty() {
        members.extend([("people", people), ("judges", judges)]);
    }
    let rated = members.iter().map(|(name, views)| of_ratings(name, views, context));
    let compared = members.iter().map(|(name, views)| of_preferences(name, views, context));
    let mut groups: Vec<RaterGroup> = Vec::new();
    for group in rated.chain(compared).filter(|group| group.raters.len() >= 2) {
        // If only people compared, all raters are the people.
        if !groups.iter().any(|known| known.of == group.of && known.raters == group.raters) {
            groups.push(group);
        }
    }
    groups
}

fn of_ratings(name: &str, views: &[&RaterView], context: &Context<'_>) -> RaterGroup {
    let raters: Vec<&RaterView> = views.iter().copied().filter(|view| !view.values.is_empty()).collect();
    let mut counts: BTreeMap<&Unit, usize> = BTreeMap::new();
    raters.iter().flat_map(|view| view.values.keys()).for_each(|unit| *counts.entry(unit).or_default() += 1);
    let units: Vec<&Unit> = counts.into_iter().filter(|(_, count)| *count >= 2).map(|(unit, _)| unit).collect();
    let row = |view: &&RaterView| units.iter().map(|unit| view.values.get(unit).copied()).collect();
    let ratings = Ratings {
        rows: raters.iter().map(row).collect(),
        questions: units.iter().map(|unit| context.questions.number(&unit.case_id)).collect(),
    };
    let mixed = mixed_items(&units, &ratings.rows);
    group((name, "ratings"), &raters, &ratings, mixed, context)
}

/// Comparisons as ratings of pairs.
fn of_preferences(name: &str, views: &[&RaterView], context: &Context<'_>) -> RaterGroup {
    let raters: Vec<&RaterView> = views.iter().copied().filter(|view| !view.preferences.is_empty()).collect();
    let pairs: BTreeSet<&ComparedPair> = raters.iter().flat_map(|view| view.preferences.keys()).collect();
    let row = |view: &&RaterView| pairs.iter().map(|pair| view.preferences.get(*pair).copied()).collect();
    let ratings = Ratings {
        rows: raters.iter().map(row).collect(),
        questions: pairs.iter().map(|pair| context.questions.number(&pair.case_id)).collect(),
    };
    let group = group((name, "preferences"), &raters, &ratings, None, context);
    RaterGroup { icc_2_1: Estimate::undefined("outcomes are no scale"), ..group }
}

/// The coefficients of these ratings.
fn group(
    (name, of): (&str, &'static str),
    raters: &[&RaterView],
    ratings: &Ratings,
    mixed: Option<String>,
    context: &Context<'_>,
) -> RaterGroup {
    let summaries: Vec<_> = raters.iter().map(|view| &view.rater).collect();
    let unusable = not_one_scale(&summaries, ratings).or(mixed);
    let pairable = ratings.rated_by(2);
    let complete = ratings.rated_by(raters.len().max(2)).len();
    let alpha = |level: MeasurementLevel, unusable: Option<&String>| {
        Estimate::unless(unusable, || {
            ratings.alpha(level, context.bootstrap()).with_units(pairable.len(), FEWEST_FOR_INTERVAL)
        })
    };
    RaterGroup {
        name: name.to_owned(),
        of,
        raters: raters.iter().map(|view| Arc::clone(&view.rater.name)).collect(),
        n: pairable.len(),
        questions: distinct(pairable.iter().map(|unit| &ratings.questions[*unit])),
        alpha_nominal: alpha(MeasurementLevel::Nominal, no_categories(ratings).as_ref().or(unusable.as_ref())),
        alpha_ordinal: alpha(MeasurementLevel::Ordinal, unusable.as_ref()),
        alpha_interval: alpha(MeasurementLevel::Interval, unusable.as_ref()),
        complete,
        // ICC's interval uses no resampling, so few units are fine.
        icc_2_1: Estimate::unless(unusable.as_ref(), || {
            ratings.icc(context.options.confidence).with_units(complete, 0)
        }),
    }
}

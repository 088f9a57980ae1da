//! Agreement of several raters: Krippendorff's alpha and ICC(2,1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::result::RaterGroup;
use super::scales::{mixed_items, no_categories, not_one_scale};
use super::units::{Context, RaterView, Unit};
use crate::analysis::ratings::{Estimate, Ratings, distinct};
use crate::domain::{ComparedPair, RaterKind};
use crate::stats::{Coefficient, MeasurementLevel};

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
    let unusable = mixed_items(&raters, &units).or_else(|| not_one_scale(&raters, &units));
    let confidence = context.options.confidence;
    let complete = ratings.rated_by(raters.len().max(2)).len();
    let icc = || ratings.estimate(Coefficient::Icc, confidence).with_units(complete);
    RaterGroup {
        complete,
        icc_2_1: Estimate::unless(unusable.as_ref(), icc),
        ..group((name, "ratings"), &raters, &ratings, 1, unusable.as_ref(), confidence)
    }
}

/// Comparisons as ratings of pairs, each in both orders.
fn of_preferences(name: &str, views: &[&RaterView], context: &Context<'_>) -> RaterGroup {
    let raters: Vec<&RaterView> = views.iter().copied().filter(|view| !view.preferences.is_empty()).collect();
    let pairs: BTreeSet<&ComparedPair> = raters.iter().flat_map(|view| view.preferences.keys()).collect();
    let row = |view: &&RaterView| pairs.iter().map(|pair| view.preferences.get(*pair).copied()).collect();
    let ratings = Ratings {
        rows: raters.iter().map(row).collect(),
        questions: pairs.iter().map(|pair| context.questions.number(&pair.case_id)).collect(),
    };
    let complete = ratings.rated_by(raters.len().max(2)).len();
    let outcomes = ratings.in_both_orders();
    RaterGroup { complete, ..group((name, "preferences"), &raters, &outcomes, 2, None, context.options.confidence) }
}

/// Alpha of these ratings, which hold every unit `copies` times.
fn group(
    (name, of): (&str, &'static str),
    raters: &[&RaterView],
    ratings: &Ratings,
    copies: usize,
    unusable: Option<&String>,
    confidence: f64,
) -> RaterGroup {
    let pairable = ratings.rated_by(2);
    let n = pairable.len() / copies;
    let alpha = |level: MeasurementLevel, unusable: Option<&String>| {
        Estimate::unless(unusable, || ratings.estimate(Coefficient::Alpha(level), confidence).with_units(n))
    };
    RaterGroup {
        name: name.to_owned(),
        of,
        raters: raters.iter().map(|view| Arc::clone(&view.rater.name)).collect(),
        n,
        questions: distinct(pairable.iter().map(|unit| &ratings.questions[*unit])),
        alpha_nominal: alpha(MeasurementLevel::Nominal, unusable.or(no_categories(ratings).as_ref())),
        alpha_ordinal: alpha(MeasurementLevel::Ordinal, unusable),
        alpha_interval: alpha(MeasurementLevel::Interval, unusable),
        complete: n,
        icc_2_1: Estimate::undefined("outcomes are no scale"),
    }
}

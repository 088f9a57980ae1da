//! Agreement of several raters: Krippendorff's alpha and ICC(2,1).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::result::RaterGroup;
use super::scales::{mixed_items, no_categories, not_one_scale};
use super::units::{Context, RaterView};
use crate::analysis::ratings::{Estimate, Ratings, distinct};
use crate::domain::{CaseId, RaterKind};
use crate::stats::{Coefficient, MeasurementLevel};

const RATINGS: &str = "ratings";
const PREFERENCES: &str = "preferences";

/// All raters; with people and judges, also each group alone.
pub(super) fn groups(views: &[RaterView], context: &Context<'_>) -> Vec<RaterGroup> {
    let of = |kind: RaterKind| {
        views
            .iter()
            .filter(|view| view.rater.kind == kind)
            .collect::<Vec<_>>()
    };
    let (people, judges) = (of(RaterKind::Human), of(RaterKind::Judge));
    let mut members: Vec<(&str, Vec<&RaterView>)> = vec![("all raters", views.iter().collect())];
    if !people.is_empty() && !judges.is_empty() {
        members.extend([("people", people), ("judges", judges)]);
    }
    let mut groups: Vec<RaterGroup> = Vec::new();
    let kinds = [RATINGS, PREFERENCES]
        .into_iter()
        .flat_map(|of| members.iter().map(move |own| (of, own)));
    for group in kinds.map(|(of, (name, views))| group(name, of, views, context)) {
        // If only people compared, all raters are the people.
        let is_known = groups
            .iter()
            .any(|known| known.of == group.of && known.raters == group.raters);
        if group.raters.len() >= 2 && !is_known {
            groups.push(group);
        }
    }
    groups
}

/// Raters with ratings, or with comparisons as ratings of pairs, each in both orders.
fn group(name: &str, of: &'static str, views: &[&RaterView], context: &Context<'_>) -> RaterGroup {
    let is_of_pairs = of == PREFERENCES;
    let has_any = |view: &&&RaterView| {
        if is_of_pairs {
            !view.preferences.is_empty()
        } else {
            !view.values.is_empty()
        }
    };
    let raters: Vec<&RaterView> = views.iter().filter(has_any).copied().collect();
    let (rated, unusable) = if is_of_pairs {
        (
            rated(
                raters.iter().map(|view| &view.preferences),
                |pair| &pair.case_id,
                context,
            )
            .1,
            None,
        )
    } else {
        let (units, rated) = rated(
            raters.iter().map(|view| &view.values),
            |unit| &unit.case_id,
            context,
        );
        (
            rated,
            mixed_items(&raters, &units).or_else(|| not_one_scale(&raters, &units)),
        )
    };
    let (n, questions) = (rated.questions.len(), distinct(&rated.questions));
    let complete = rated.rated_by(raters.len().max(2)).len();
    let rated = if is_of_pairs {
        rated.in_both_orders()
    } else {
        rated
    };
    let estimate = |coefficient: Coefficient, units: usize, unusable: Option<String>| {
        Estimate::unless(unusable.as_ref(), || {
            rated
                .estimate(coefficient, context.options.confidence)
                .with_units(units)
        })
    };
    let alpha = |level: MeasurementLevel| estimate(Coefficient::Alpha(level), n, unusable.clone());
    let no_categories = unusable.clone().or_else(|| no_categories(&rated));
    let no_scale = is_of_pairs.then(|| "outcomes have no scale".to_owned());
    RaterGroup {
        name: name.to_owned(),
        of,
        raters: raters
            .iter()
            .map(|view| Arc::clone(&view.rater.name))
            .collect(),
        n,
        questions,
        alpha_nominal: estimate(
            Coefficient::Alpha(MeasurementLevel::Nominal),
            n,
            no_categories,
        ),
        alpha_ordinal: alpha(MeasurementLevel::Ordinal),
        alpha_interval: alpha(MeasurementLevel::Interval),
        complete,
        icc_2_1: estimate(
            Coefficient::Icc,
            complete,
            no_scale.or_else(|| unusable.clone()),
        ),
    }
}

/// The units that at least two rated, and their ratings.
fn rated<'a, K: Ord>(
    raters: impl Iterator<Item = &'a BTreeMap<K, f64>>,
    case: impl Fn(&K) -> &CaseId,
    context: &Context<'_>,
) -> (Vec<&'a K>, Ratings) {
    let raters: Vec<&BTreeMap<K, f64>> = raters.collect();
    let mut counts: BTreeMap<&K, usize> = BTreeMap::new();
    raters
        .iter()
        .flat_map(|own| own.keys())
        .for_each(|unit| *counts.entry(unit).or_default() += 1);
    let units: Vec<&K> = counts
        .into_iter()
        .filter(|(_, count)| *count >= 2)
        .map(|(unit, _)| unit)
        .collect();
    let row = |own: &&BTreeMap<K, f64>| units.iter().map(|unit| own.get(unit).copied()).collect();
    let rows = raters.iter().map(row).collect();
    let questions = units
        .iter()
        .map(|unit| context.questions.number(case(unit)))
        .collect();
    (units, Ratings { rows, questions })
}

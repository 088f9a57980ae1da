//! Agreement of several raters: Krippendorff's alpha and ICC(2,1).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::result::RaterGroup;
use super::scales::{mixed_items, no_categories, not_one_scale};
use super::units::{Context, RaterView};
use crate::ratings::{Estimate, Ratings, distinct};
use scholareval_core::domain::{CaseId, RaterKind};
use scholareval_stats::{Coefficient, MeasurementLevel};

const RATINGS: &str = "ratings";
const PREFERENCES: &str = "preferences";

/// All raters; with people and judges, also each group alone.
pub(super) fn groups(views: &[RaterView], context: &Context<'_>) -> Vec<RaterGroup> {
    let mut people: Vec<&RaterView> = Vec::new();
    let mut judges: Vec<&RaterView> = Vec::new();
    for view in views {
        match view.rater.kind {
            RaterKind::Human => people.push(view),
            RaterKind::Judge => judges.push(view),
        }
    }
    let mut members: Vec<(&str, Vec<&RaterView>)> = vec![("all raters", views.iter().collect())];
    if !people.is_empty() && !judges.is_empty() {
        members.push(("people", people));
        members.push(("judges", judges));
    }
    let mut groups: Vec<RaterGroup> = Vec::new();
    for of in [RATINGS, PREFERENCES] {
        for (name, views) in &members {
            let group = if of == RATINGS {
                group_of_ratings(name, views, context)
            } else {
                group_of_preferences(name, views, context)
            };
            // If only people compared, all raters are the people.
            let is_known = groups
                .iter()
                .any(|known| known.of == group.of && known.raters == group.raters);
            if group.raters.len() >= 2 && !is_known {
                groups.push(group);
            }
        }
    }
    groups
}

fn group_of_ratings(name: &str, views: &[&RaterView], context: &Context<'_>) -> RaterGroup {
    let mut raters = views.to_vec();
    raters.retain(|view| !view.values.is_empty());
    let values = raters.iter().map(|view| &view.values);
    let (units, ratings) = rated(values, |unit| &unit.case_id, context);
    let unusable = mixed_items(&raters, &units).or_else(|| not_one_scale(&raters, &units, context));
    let measured = GroupRatings {
        complete: ratings.rated_by(raters.len().max(2)).len(),
        n: ratings.questions.len(),
        no_icc: unusable.clone(),
        unusable,
        ratings,
        confidence: context.options.confidence,
    };
    measured.group(name, RATINGS, &raters)
}

/// Comparisons count as ratings of pairs, each in both orders.
fn group_of_preferences(name: &str, views: &[&RaterView], context: &Context<'_>) -> RaterGroup {
    let mut raters = views.to_vec();
    raters.retain(|view| !view.preferences.is_empty());
    let preferences = raters.iter().map(|view| &view.preferences);
    let (_, ratings) = rated(preferences, |pair| &pair.case_id, context);
    let measured = GroupRatings {
        complete: ratings.rated_by(raters.len().max(2)).len(),
        n: ratings.questions.len(),
        no_icc: Some("outcomes have no scale".to_owned()),
        unusable: None,
        // Which system is named first is arbitrary; in both orders the margins are even, and alpha
        // does not depend on it.
        ratings: ratings.in_both_orders(),
        confidence: context.options.confidence,
    };
    measured.group(name, PREFERENCES, &raters)
}

/// The ratings of a group.
struct GroupRatings {
    ratings: Ratings,
    /// Units that at least two rated.
    n: usize,
    /// Units that all rated.
    complete: usize,
    /// Why there are no coefficients.
    unusable: Option<String>,
    /// Why there is no ICC.
    no_icc: Option<String>,
    confidence: f64,
}

impl GroupRatings {
    fn group(&self, name: &str, of: &'static str, raters: &[&RaterView]) -> RaterGroup {
        let unusable = self.unusable.as_ref();
        let no_categories = match unusable {
            Some(reason) => Some(reason.clone()),
            None => no_categories(&self.ratings),
        };
        let names = raters.iter().map(|view| Arc::clone(&view.rater.name));
        RaterGroup {
            name: name.to_owned(),
            of,
            raters: names.collect(),
            n: self.n,
            questions: distinct(&self.ratings.questions),
            alpha_nominal: self.alpha(MeasurementLevel::Nominal, no_categories.as_ref()),
            alpha_ordinal: self.alpha(MeasurementLevel::Ordinal, unusable),
            alpha_interval: self.alpha(MeasurementLevel::Interval, unusable),
            complete: self.complete,
            icc_2_1: self.estimate(Coefficient::Icc, self.complete, self.no_icc.as_ref()),
        }
    }

    fn alpha(&self, level: MeasurementLevel, unusable: Option<&String>) -> Estimate {
        self.estimate(Coefficient::Alpha(level), self.n, unusable)
    }

    fn estimate(
        &self,
        coefficient: Coefficient,
        units: usize,
        unusable: Option<&String>,
    ) -> Estimate {
        Estimate::unless(unusable, || {
            let estimate = self.ratings.estimate(coefficient, self.confidence);
            estimate.with_units(units)
        })
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
    for unit in raters.iter().flat_map(|values| values.keys()) {
        *counts.entry(unit).or_default() += 1;
    }
    // A unit with one rating says nothing about agreement, but would be counted among the units of
    // it.
    counts.retain(|_, count| *count >= 2);
    let units: Vec<&K> = counts.into_keys().collect();
    let mut rows = Vec::new();
    for values in raters {
        rows.push(units.iter().map(|unit| values.get(unit).copied()).collect());
    }
    let questions = units
        .iter()
        .map(|unit| context.questions.number(case(unit)));
    let questions = questions.collect();
    (units, Ratings { rows, questions })
}

//! Agreement of two raters: correlations, kappas, comparisons, orders of systems.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::comparisons::Compared;
use super::result::{Measures, PartMeasures, RaterPair};
use super::scales::{items, mixed_items, no_categories, not_one_scale, top_of_scale};
use super::systems::{by_ratings, by_wins};
use super::units::{Context, RatedByBoth, RaterView};
use crate::ratings::{Estimate, Ratings, SHARE, distinct};
use scholareval_core::domain::SystemName;
use scholareval_stats::{
    Coefficient, Correlation, Interval, MetricValues, mean, mean_interval, paired_family, rounded,
};

/// The reason where two raters share no unit.
const NOT_SHARED: &str = "no unit has two ratings";

/// All measures of two raters.
pub(super) fn rater_pair(
    first: &RaterView,
    second: &RaterView,
    context: &Context<'_>,
) -> RaterPair {
    let shared = RatedByBoth::new(first, second, context);
    let compared = shared.compared();
    let (thresholds, tie_threshold) = shared.thresholds(&compared);
    let all: Vec<&Compared<'_>> = compared.iter().collect();
    RaterPair {
        first: Arc::clone(&first.rater.name),
        second: Arc::clone(&second.rater.name),
        overall: shared.measures(&all, thresholds),
        items: shared.items(),
        systems: shared.systems(&compared, thresholds),
        groups: shared.groups(&compared, thresholds),
        tie_threshold,
        ranking: if shared.mixed_items().is_some() {
            None
        } else {
            by_ratings(&shared)
        },
        wins: by_wins(&compared, thresholds, context),
    }
}

impl<'a> RatedByBoth<'a> {
    /// Correlations and kappas of the shared units, and agreement on these pairs.
    fn measures(&self, compared: &[&Compared<'_>], thresholds: [f64; 2]) -> Measures {
        let mixed = self.mixed_items();
        let (n, confidence) = (self.x.len(), self.context.options.confidence);
        let correlation = |kind: Correlation| {
            Estimate::unless(mixed.as_ref(), || {
                let interval =
                    || kind.clustered_interval(&self.x, &self.y, &self.questions, confidence);
                let reason = self.no_spread();
                let reason = reason.unwrap_or_else(|| "not defined for these values".to_owned());
                Estimate::new(kind.of(&self.x, &self.y), interval, reason).with_units(n)
            })
        };
        let categories = self.categories();
        let ratings = Ratings::of_two(&categories.x, &categories.y, &categories.questions);
        let scales = || not_one_scale(&[self.first, self.second], &self.units, self.context);
        let no_shift = mixed.clone().or_else(scales);
        let no_kappa = no_shift.clone().or_else(|| no_categories(&ratings));
        let coefficient = |kind: Coefficient, reason: Option<&String>| {
            Estimate::unless(reason, || {
                let estimate = ratings.estimate(kind, confidence);
                estimate.with_units(categories.x.len())
            })
        };
        // A rater of one value agrees no more than by chance, whatever the other one says: 0 would be no measurement.
        let constant = no_kappa.clone().or_else(|| categories.no_spread());
        Measures {
            n,
            questions: distinct(&self.questions),
            most_frequent: categories.most_frequent(),
            pearson: correlation(Correlation::Pearson),
            spearman: correlation(Correlation::Spearman),
            kendall_tau_b: correlation(Correlation::KendallTauB),
            within_question_tau_b: self.within_questions(compared),
            kappa: coefficient(Coefficient::Kappa, constant.as_ref()),
            quadratic_kappa: coefficient(Coefficient::QuadraticKappa, constant.as_ref()),
            raw_agreement: Estimate::unless(no_kappa.as_ref(), || categories.raw_agreement()),
            ac1: coefficient(
                Coefficient::Ac1 {
                    levels: self.context.levels,
                },
                no_kappa.as_ref(),
            ),
            shift: Estimate::unless(no_shift.as_ref(), || self.shift()),
            comparisons: self.comparisons(compared, thresholds),
        }
    }

    /// The share of units with equal ratings.
    fn raw_agreement(&self) -> Estimate {
        let mut equal = Vec::new();
        for (x, y) in self.x.iter().zip(&self.y) {
            let is_equal = rounded(*x) == rounded(*y);
            equal.push(if is_equal { 1.0 } else { 0.0 });
        }
        let bootstrap = self.context.bootstrap();
        let interval = || mean_interval(&equal, Some(&self.questions), Some(SHARE), bootstrap);
        Estimate::new(mean(&equal), interval, NOT_SHARED).with_units(equal.len())
    }

    /// The mean of the first rater's ratings minus the second's.
    fn shift(&self) -> Estimate {
        let mut differences = Vec::new();
        for (x, y) in self.x.iter().zip(&self.y) {
            differences.push(x - y);
        }
        let values = self.width().map_or(MetricValues::Any, MetricValues::Within);
        let bootstrap = self.context.bootstrap();
        let interval = || {
            let family = paired_family(&[&differences], Some(&self.questions), values, bootstrap);
            family?.pairs[0].interval
        };
        Estimate::new(mean(&differences), interval, NOT_SHARED).with_units(differences.len())
    }

    /// The width of the widest scale of the units: that of an item's question where it is known, else of the smallest usual scale
    /// that holds all ratings of the two; `None` if there is none for some item.
    fn width(&self) -> Option<f64> {
        let mut widest = None;
        for item in items(&self.units) {
            let width = match self.context.scales.get(item) {
                Some((scale, _)) => scale.high - scale.low,
                None => {
                    let raters = [self.first, self.second].into_iter();
                    let ends: Vec<&Interval> =
                        raters.filter_map(|rater| rater.ends.get(item)).collect();
                    top_of_scale(&ends)?
                }
            };
            widest = Some(width.max(widest.unwrap_or(width)));
        }
        widest
    }

    /// Measures of each item, if there are items; each with a tie threshold for that item.
    fn items(&self) -> Vec<PartMeasures> {
        let items = self.units.iter().filter_map(|unit| unit.item.as_ref());
        let names: BTreeSet<&Arc<str>> = items.collect();
        let mut parts = Vec::new();
        for item in names {
            let of_item = self.only(|unit| unit.item.as_ref() == Some(item));
            let compared = of_item.compared();
            let (thresholds, _) = of_item.thresholds(&compared);
            parts.push(of_item.part(item.to_string(), compared.iter(), thresholds));
        }
        parts
    }

    /// Measures of each system, if there are several.
    fn systems(&self, compared: &[Compared<'_>], thresholds: [f64; 2]) -> Vec<PartMeasures> {
        let rated = self.units.iter().map(|unit| &unit.system);
        let both = rated.chain(compared.iter().flat_map(|pair| pair.systems));
        let names: BTreeSet<&SystemName> = both.collect();
        let mut parts = Vec::new();
        if names.len() < 2 {
            return parts;
        }
        for system in names {
            let rated = self.only(|unit| unit.system == *system);
            let compared = compared.iter();
            let of_system = compared.filter(|pair| pair.systems.contains(&system));
            parts.push(rated.part(system.to_string(), of_system, thresholds));
        }
        parts
    }

    /// Measures of each group of cases, if there are several.
    fn groups(&self, compared: &[Compared<'_>], thresholds: [f64; 2]) -> Vec<PartMeasures> {
        let context = self.context;
        let rated = self.units.iter().map(|unit| &unit.case_id);
        let cases = rated.chain(compared.iter().map(|pair| pair.case));
        let names: BTreeSet<&Arc<str>> = cases.filter_map(|case| context.group(case)).collect();
        let mut parts = Vec::new();
        if names.len() < 2 {
            return parts;
        }
        for group in names {
            let rated = self.only(|unit| context.group(&unit.case_id) == Some(group));
            let pairs = compared.iter();
            let of_group = pairs.filter(|pair| context.group(pair.case) == Some(group));
            parts.push(rated.part(group.to_string(), of_group, thresholds));
        }
        parts
    }

    /// The measures of these units and comparisons.
    fn part<'c>(
        &self,
        name: String,
        compared: impl Iterator<Item = &'c Compared<'c>>,
        thresholds: [f64; 2],
    ) -> PartMeasures {
        let measures = self.measures(&compared.collect::<Vec<_>>(), thresholds);
        PartMeasures { name, measures }
    }

    /// The larger of the two raters' shares of their most frequent values.
    fn most_frequent(&self) -> Option<f64> {
        let mut most = 0;
        for values in [&self.x, &self.y] {
            let mut counts: HashMap<u64, usize> = HashMap::new();
            for value in values {
                *counts.entry(rounded(*value).to_bits()).or_default() += 1;
            }
            most = most.max(counts.into_values().max()?);
        }
        Some(most as f64 / self.x.len() as f64)
    }

    /// Why the ratings of a rater do not spread.
    fn no_spread(&self) -> Option<String> {
        if self.x.len() < 2 {
            return Some("fewer than two units rated by both".to_owned());
        }
        for (values, view) in [(&self.x, self.first), (&self.y, self.second)] {
            if values.windows(2).all(|two| two[0] == two[1]) {
                return Some(format!("{} gave all the same value", view.rater.name));
            }
        }
        None
    }

    /// Why the items of a rater cannot be measured together.
    fn mixed_items(&self) -> Option<String> {
        mixed_items(&[self.first, self.second], &self.units)
    }
}

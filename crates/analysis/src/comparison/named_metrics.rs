//! Comparison by metrics that are named, with numbers of whole sets of answers such as the citation F1 of each system.

use std::collections::BTreeSet;

use super::compare::{compare_metric, measure_set};
use super::shared::SharedCases;
use super::{ComparisonDepth, ComparisonOptions, MetricComparison, Observations, SystemMean};
use scholareval_core::error::Result;

/// Compares the systems by the metrics of these names, each once and in this order, or by the headline metrics without
/// names. A number of a whole set of answers, such as `citation_f1`, has no pairs.
///
/// # Errors
/// As [`Observations::metrics_named`].
pub fn compare_named(
    all: &Observations,
    names: &[String],
    options: &ComparisonOptions,
) -> Result<Vec<MetricComparison>> {
    // With the place of the number among those of the metric's table, or without one: the metric.
    let mut chosen: Vec<(usize, Option<usize>)> = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        match all.set_named(name) {
            Some((at, set)) => chosen.push((at, Some(set))),
            None => chosen.extend(all.metrics_named(name)?.into_iter().map(|at| (at, None))),
        }
    }
    if names.is_empty() {
        for at in all.headline() {
            chosen.push((at, all.headline_set(at)));
        }
    }
    let mut seen = BTreeSet::new();
    chosen.retain(|metric| seen.insert(*metric));
    let mut compared = Vec::new();
    for (at, set) in chosen {
        compared.push(match set {
            Some(set) => compare_set(all, at, set, options),
            None => compare_metric(all, &all.metrics[at], options),
        });
    }
    Ok(compared)
}

/// The systems by a number of their whole sets of answers: the one at this place of the metric's table.
fn compare_set(
    all: &Observations,
    at: usize,
    set: usize,
    options: &ComparisonOptions,
) -> MetricComparison {
    let table = &all.metrics[at];
    let without_tests = ComparisonOptions {
        depth: ComparisonDepth::Means,
        ..options.clone()
    };
    let set = &table.sets[set];
    let mut compared = MetricComparison {
        metric: set.metric.clone(),
        ..compare_metric(all, table, &without_tests)
    };
    let shared = SharedCases::of(all, table, options);
    measure_set(&shared, set, &mut compared.systems);
    let participants = &shared.order[..shared.participants];
    let cases = shared.by_id.iter();
    let counted = cases
        .copied()
        .filter(|case| set.has_shared_part(participants, *case));
    let counted: Vec<usize> = counted.collect();
    let questions: BTreeSet<usize> = counted.iter().map(|at| shared.question_of[*at]).collect();
    compared.questions = questions.len();
    compared.cases_in_all = compared.cases_in_all.max(counted.len());
    compared.cases = counted.iter().map(|at| all.cases[*at].clone()).collect();
    // Systems without a value come last.
    compared.systems.sort_by(|a, b| {
        let mean = |system: &SystemMean| system.mean.unwrap_or(f64::NEG_INFINITY);
        mean(b).total_cmp(&mean(a))
    });
    compared
}

/// The headline metric at this index as tables show it: where a number of the whole set is the headline, that one in place of the
/// metric of single answers that is tested. `None` where they are the same.
pub fn headline_number(
    all: &Observations,
    at: usize,
    options: &ComparisonOptions,
) -> Option<MetricComparison> {
    let set = all.headline_set(at)?;
    Some(compare_set(all, at, set, options))
}

//! Comparison by metrics that are named, with the citation F1 of each system, a measure of all its answers.

use std::collections::BTreeSet;

use super::compare::compare_metric;
use super::shared::SharedCases;
use super::{ComparisonOptions, MetricComparison, MetricId, MetricTable, Observations};
use crate::analysis::quantity::{
    CITATION_F1, CITATION_F1_MACRO, CITATION_PRECISION, CITATION_RECALL,
};
use crate::domain::Unit;
use crate::error::Result;
use crate::stats::{Interval, f1_of_means};

/// Compares the systems by the metrics of these names, each once and in this order, or by the headline metrics without
/// names. `citation_f1` is the F1 of each system's mean precision and mean recall, without pairs.
///
/// # Errors
/// As [`Observations::metrics_named`].
pub fn compare_named(
    all: &Observations,
    names: &[String],
    options: &ComparisonOptions,
) -> Result<Vec<MetricComparison>> {
    // Without an index: `citation_f1`.
    let mut chosen: Vec<Option<usize>> = Vec::new();
    let has_citations = !all.find_metrics(CITATION_F1_MACRO).is_empty();
    for name in names.iter().map(|name| name.trim()) {
        let is_f1 = name.rsplit('.').next() == Some(CITATION_F1);
        if is_f1 && has_citations {
            chosen.push(None);
        } else {
            chosen.extend(all.metrics_named(name)?.into_iter().map(Some));
        }
    }
    if names.is_empty() {
        for at in all.headline() {
            let is_mean = all.metrics[at].metric.name != CITATION_F1_MACRO;
            chosen.push(is_mean.then_some(at));
        }
    }
    let mut seen = BTreeSet::new();
    chosen.retain(|metric| seen.insert(*metric));
    let compared = chosen.into_iter().map(|metric| match metric {
        Some(at) => Some(compare_metric(all, &all.metrics[at], options)),
        None => citation_f1(all, options),
    });
    Ok(compared.flatten().collect())
}

/// The harmonic mean of each system's mean citation precision and mean citation recall over the shared cases. It is
/// not a mean over answers, so no pairs are tested. `None` if no answer has both.
fn citation_f1(all: &Observations, options: &ComparisonOptions) -> Option<MetricComparison> {
    let of_answers = table(all, CITATION_F1_MACRO)?;
    let precision = table(all, CITATION_PRECISION)?;
    let recall = table(all, CITATION_RECALL)?;
    let shared = SharedCases::of(all, of_answers, options);
    let mut comparison = compare_metric(all, of_answers, options);
    comparison.metric = MetricId::new(
        &of_answers.metric.scorer,
        CITATION_F1.to_owned(),
        Unit::Share,
    );
    // The tests were of the answers' own F1, another number than the one that is shown.
    (comparison.pairs, comparison.groups, comparison.ranks) = Default::default();
    for system in &mut comparison.systems {
        let measured = system
            .mean
            .and_then(|_| f1(&shared, system.system, [precision, recall]));
        (system.mean, system.interval) =
            measured.map_or((None, None), |(f1, interval)| (Some(f1), interval));
        (system.rank, system.own_mean, system.bounds) = (None, None, None);
        system.letters.clear();
    }
    // Systems without a value come last.
    comparison.systems.sort_by(|a, b| {
        let a = a.mean.unwrap_or(f64::NEG_INFINITY);
        let b = b.mean.unwrap_or(f64::NEG_INFINITY);
        b.total_cmp(&a)
    });
    Some(comparison)
}

/// The F1 of a system with its interval; `None` if a shared case has no value of a part.
fn f1(
    shared: &SharedCases<'_>,
    system: usize,
    parts: [&MetricTable; 2],
) -> Option<(f64, Option<Interval>)> {
    let mut cases: Vec<[Option<f64>; 2]> = Vec::new();
    for case in &shared.cases {
        cases.push(parts.map(|part| part.values[system][*case].value()));
    }
    if cases.iter().flatten().any(Option::is_none) {
        return None;
    }
    Some(f1_of_means(&cases, &shared.questions, shared.bootstrap()))
}

/// The first metric of this name.
fn table<'a>(all: &'a Observations, name: &str) -> Option<&'a MetricTable> {
    let found = all.find_metrics(name);
    found.first().map(|at| &all.metrics[*at])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::comparison::compare_tests::{quick, table};

    /// Observations of an entailment metric: two cases of `a` and of `b`.
    fn citations(name: &str, a: [f64; 2], b: [f64; 2]) -> Observations {
        let mut all = table(&[("a", &a), ("b", &b)]);
        all.metrics[0].metric = MetricId::new(&"entailment".into(), name.to_owned(), Unit::Share);
        all
    }

    #[test]
    fn citation_f1_is_that_of_the_means_and_has_no_pairs() {
        let mut all = citations(CITATION_PRECISION, [1.0, 0.5], [0.5, 0.5]);
        all.metrics
            .extend(citations(CITATION_RECALL, [0.5, 0.5], [1.0, 1.0]).metrics);
        all.metrics
            .extend(citations(CITATION_F1_MACRO, [2.0 / 3.0, 0.5], [2.0 / 3.0, 2.0 / 3.0]).metrics);
        let names = ["citation_f1", "entailment.citation_f1", "citation_recall"].map(str::to_owned);
        let found = compare_named(&all, &names, &quick()).unwrap();
        assert_eq!(
            found
                .iter()
                .map(|own| own.metric.name.as_str())
                .collect::<Vec<_>>(),
            ["citation_f1", "citation_recall"]
        );
        let means: Vec<(&str, f64)> = found[0]
            .systems
            .iter()
            .map(|own| (own.label.as_str(), own.mean.unwrap()))
            .collect();
        // a: P = 0.75, R = 0.5, F1 = 0.75 / 1.25 = 0.6. b: P = 0.5, R = 1, F1 = 1 / 1.5 = 2/3.
        assert_eq!((means[0].0, means[1].0), ("b", "a"));
        assert!(
            (means[0].1 - 2.0 / 3.0).abs() < 1e-12 && (means[1].1 - 0.6).abs() < 1e-12,
            "{means:?}"
        );
        assert!(
            found[0].pairs.is_empty() && found[0].systems.iter().all(|own| own.letters.is_empty())
        );
        assert!(compare_named(&all, &["citation_f2".to_owned()], &quick()).is_err());
    }
}

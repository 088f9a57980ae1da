//! Histograms of the values of each component, by system.

use serde::Serialize;

use super::HtmlReport;
use super::axis::rounded;
use crate::domain::{Component, ComponentKind, Unit};
use crate::report::table::Format;

/// The components of one scorer.
#[derive(Debug, Serialize)]
pub(super) struct ScorerView {
    scorer: &'static str,
    systems: Vec<SystemHead>,
    rows: Vec<ComponentRow>,
}

#[derive(Debug, Serialize)]
struct SystemHead {
    label: String,
    color: usize,
}

#[derive(Debug, Serialize)]
struct ComponentRow {
    name: String,
    /// Ends of the axis.
    low: String,
    high: String,
    unit: Unit,
    cells: Vec<Spread>,
}

#[derive(Debug, Serialize)]
struct Spread {
    /// The outline of the histogram in a box of 100 by 24; empty where there is nothing.
    path: String,
    mean: Option<String>,
    mean_at: f64,
    count: usize,
    unscored: usize,
    color: usize,
}

/// The group of a component. The criteria of a rubric have other names in every case, so their group is their kind; that
/// of everything else is its name.
fn group_of(component: &Component) -> (&str, Unit) {
    let name = match component.kind {
        ComponentKind::Property => "criteria",
        ComponentKind::Evidence => "snippets",
        kind if kind.is_weighted() => kind.as_str(),
        _ => &component.name,
    };
    (name, component.kind.unit())
}

/// The scorers in order of their first answer, each with its components.
pub(super) fn scorer_views(report: &HtmlReport<'_>) -> Vec<ScorerView> {
    let mut scorers: Vec<&'static str> = Vec::new();
    for answer in report.runs.iter().flat_map(|run| run.scored) {
        if !scorers.contains(&answer.score.scorer) {
            scorers.push(answer.score.scorer);
        }
    }
    let systems = &report.comparison.systems;
    let head = |at: usize| SystemHead { label: systems[at].label.clone(), color: at % 10 };
    let view = |scorer| ScorerView {
        scorer,
        systems: (0..systems.len()).map(head).collect(),
        rows: gather(scorer, report).into_iter().map(|(group, own)| component_row(group, &own)).collect(),
    };
    scorers.into_iter().map(view).collect()
}

/// Values by system, and how many are missing.
type Values = Vec<(Vec<f64>, usize)>;

fn gather<'a>(scorer: &str, report: &'a HtmlReport<'_>) -> Vec<((&'a str, Unit), Values)> {
    let systems = &report.comparison.systems;
    let mut groups: Vec<((&str, Unit), Values)> = Vec::new();
    for (run_at, run) in report.runs.iter().enumerate() {
        for answer in run.scored.iter().filter(|answer| answer.score.scorer == scorer) {
            let system = systems.iter().position(|system| system.run == run_at && system.system == answer.system);
            let Some(system) = system else { continue };
            for component in &answer.score.components {
                let group = group_of(component);
                let at = groups.iter().position(|(known, _)| *known == group).unwrap_or_else(|| {
                    groups.push((group, vec![(Vec::new(), 0); systems.len()]));
                    groups.len() - 1
                });
                let (values, unscored) = &mut groups[at].1[system];
                match component.value.filter(|value| value.is_finite()) {
                    Some(value) => values.push(value),
                    None => *unscored += 1,
                }
            }
        }
    }
    groups
}

fn component_row((name, unit): (&str, Unit), by_system: &Values) -> ComponentRow {
    let bins = Bins::of(unit, by_system.iter().flat_map(|(values, _)| values).copied());
    let end = |value: f64| Format::of_mean(unit).show(value).trim_end_matches(".0").to_owned();
    let cells = by_system.iter().enumerate();
    ComponentRow {
        name: name.to_owned(),
        low: end(bins.first),
        high: end(bins.last),
        unit,
        cells: cells.map(|(at, (values, unscored))| bins.spread(values, *unscored, at % 10, unit)).collect(),
    }
}

/// Bins of one width; what is outside (compat mode lets values leave 0..=1) counts in the bin at the end.
struct Bins {
    low: f64,
    width: f64,
    count: usize,
    /// The ends that the page names.
    first: f64,
    last: f64,
}

impl Bins {
    fn of(unit: Unit, values: impl Iterator<Item = f64>) -> Self {
        match unit {
            Unit::Share => Self { low: 0.0, width: 0.05, count: 20, first: 0.0, last: 1.0 },
            // Whole grades stand in the middle of a bin, and so do halves.
            Unit::Grade => Self { low: 0.75, width: 0.5, count: 9, first: 1.0, last: 5.0 },
            Unit::Count => {
                let most = values.fold(1.0_f64, f64::max).ceil();
                let width = (most / 20.0).ceil().max(1.0);
                let count = (most / width).floor() as usize + 1;
                Self { low: -0.5, width, count, first: 0.0, last: most }
            }
        }
    }

    fn place(&self, value: f64) -> usize {
        // A share that stands on a border belongs to the bin above it, in spite of rounding.
        let place = ((value - self.low) / self.width + 1e-9).floor();
        (place.max(0.0) as usize).min(self.count - 1)
    }

    fn spread(&self, values: &[f64], unscored: usize, color: usize, unit: Unit) -> Spread {
        let mut counts = vec![0_usize; self.count];
        for value in values {
            counts[self.place(*value)] += 1;
        }
        let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        let end = self.low + self.width * self.count as f64;
        Spread {
            path: outline(&counts),
            // The count of a single answer is whole.
            mean: mean.map(|mean| {
                if unit == Unit::Count && values.len() == 1 {
                    mean.to_string()
                } else {
                    Format::of_mean(unit).show(mean)
                }
            }),
            mean_at: rounded(mean.map_or(0.0, |mean| 100.0 * (mean - self.low) / (end - self.low)).clamp(0.0, 100.0)),
            count: values.len(),
            unscored,
            color,
        }
    }
}

/// Bars as one path, the highest of them 24 high.
fn outline(counts: &[usize]) -> String {
    use std::fmt::Write as _;
    let highest = counts.iter().copied().max().unwrap_or(0);
    let mut path = String::new();
    let width = 100.0 / counts.len().max(1) as f64;
    for (bin, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let height = (24.0 * *count as f64 / highest as f64).max(0.7);
        let _ = write!(
            path,
            "M{} 24v-{}h{}v{}z",
            rounded(bin as f64 * width),
            rounded(height),
            rounded(width * 0.9),
            rounded(height)
        );
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_bins_and_the_highest_bar_fills_the_box() {
        let bins = Bins::of(Unit::Share, std::iter::empty());
        // 0.15 is in the fourth bin (0.15..0.2), 1.0 and what lies beyond in the last.
        assert_eq!([0.0, 0.15, 1.0, 1.3, -0.2].map(|value| bins.place(value)), [0, 3, 19, 19, 0]);
        let spread = bins.spread(&[0.0, 0.0, 1.0], 1, 0, Unit::Share);
        assert_eq!(spread.path, "M0 24v-24h4.5v24zM95 24v-12h4.5v12z");
        // (0 + 0 + 1) / 3 = 33.3%.
        assert_eq!(
            (spread.mean.as_deref(), spread.mean_at, spread.count, spread.unscored),
            (Some("33.3"), 33.33, 3, 1)
        );
    }

    #[test]
    fn whole_grades_have_a_bin_each_and_counts_begin_at_zero() {
        let grades = Bins::of(Unit::Grade, std::iter::empty());
        assert_eq!([1.0, 1.5, 3.0, 5.0].map(|grade| grades.place(grade)), [0, 1, 4, 8]);
        let counts = Bins::of(Unit::Count, [3.0, 7.0].into_iter());
        assert_eq!([0.0, 3.0, 7.0].map(|count| counts.place(count)), [0, 3, 7]);
        let means = [&[207.0][..], &[207.0, 208.0]].map(|values| counts.spread(values, 0, 0, Unit::Count).mean);
        assert_eq!(means, [Some("207".to_owned()), Some("207.5".to_owned())]);
    }
}

//! The plots of results: means, differences of pairs, two judges, criteria, labels, planned studies.

use super::dots::{Dot, DotPlot, DotRow};
use super::heatmap::{HeatGroup, HeatRow, Heatmap};
use super::panels::{FigurePanel, PanelPlot, PanelRow};
use super::power::{PowerCurve, PowerPlot};
use crate::analysis::comparison::{
    JudgeChange, MetricComparison, MetricId, ObservedSystem, PairComparison, PlannedStudy,
    PowerPlan,
};
use crate::analysis::rater_agreement::{RaterAgreement, RaterPair, SummaryRow};
use crate::analysis::{CriteriaGrid, CriteriaGroup};
use crate::domain::{RaterKind, Unit};
use crate::report::layout::counted;
use crate::report::numbers::{percent, shown_coefficient, unit_name};
use crate::stats::Interval;

/// Rows of a heatmap at most: of three lines each, more do not fit a page. Where there are more, groups of criteria are a row.
const MOST_CRITERIA: usize = 24;
/// The size of a group that is a row before smaller ones are.
const MANY_CRITERIA: usize = 6;

/// The systems by their means with intervals, best first.
pub fn plot_of_means(metric: &MetricComparison) -> DotPlot {
    let mut rows = Vec::new();
    for system in &metric.systems {
        if let Some(value) = system.mean {
            rows.push(DotRow {
                label: system.label.clone(),
                less: None,
                dots: vec![Dot {
                    value,
                    interval: system.interval,
                    is_hollow: false,
                }],
            });
        }
    }
    DotPlot {
        axis: axis_of(&metric.metric),
        unit: metric.metric.unit,
        reference: None,
        series: Vec::new(),
        rows,
    }
}

/// The differences of pairs with simultaneous intervals; hollow dots are not significant. With a baseline each other system less
/// it, best first.
pub fn plot_of_pairs(metric: &MetricComparison, baseline: Option<&str>) -> DotPlot {
    let pairs = metric.pairs.iter();
    let mut rows: Vec<DotRow> = pairs
        .map(|pair| row_of_pair(metric, pair, baseline))
        .collect();
    rows.sort_by(|a, b| b.dots[0].value.total_cmp(&a.dots[0].value));
    let axis = match baseline {
        Some(baseline) => format!("{}, difference from {baseline}", axis_of(&metric.metric)),
        None => format!("{}, difference", axis_of(&metric.metric)),
    };
    DotPlot {
        axis,
        unit: metric.metric.unit,
        reference: Some(0.0),
        series: Vec::new(),
        rows,
    }
}

/// The difference of a pair: the better system less the other one, or the other system less the baseline.
fn row_of_pair(metric: &MetricComparison, pair: &PairComparison, baseline: Option<&str>) -> DotRow {
    let first = &metric.systems[pair.first].label;
    let second = &metric.systems[pair.second].label;
    let difference = Dot {
        value: pair.difference,
        interval: pair.interval,
        is_hollow: !pair.differs,
    };
    let (label, dot) = if baseline == Some(first) {
        (second, opposite(difference))
    } else {
        (first, difference)
    };
    DotRow {
        label: label.clone(),
        // The axis names the baseline.
        less: baseline.is_none().then(|| second.clone()),
        dots: vec![dot],
    }
}

/// The difference of the same pair in the other order.
fn opposite(dot: Dot) -> Dot {
    Dot {
        value: -dot.value,
        interval: dot.interval.map(|interval| Interval {
            low: -interval.high,
            high: -interval.low,
        }),
        ..dot
    }
}

/// The systems by their means by two judges, best by the old one first.
pub fn plot_of_judges(change: &JudgeChange) -> DotPlot {
    let mut rows = Vec::new();
    for system in &change.systems {
        let dots = system.means.map(|value| Dot {
            value,
            interval: None,
            is_hollow: false,
        });
        rows.push(DotRow {
            label: system.system.to_string(),
            less: None,
            dots: dots.to_vec(),
        });
    }
    DotPlot {
        axis: axis_of(&change.metric),
        unit: change.metric.unit,
        reference: None,
        series: vec![change.old.clone(), change.new.clone()],
        rows,
    }
}

/// `score (%)`
fn axis_of(metric: &MetricId) -> String {
    format!("{} ({})", metric.name, unit_name(metric.unit))
}

/// The criteria by system, in the order of this metric. Of more criteria than fit a page, groups are a row each.
pub fn plot_of_criteria(
    grid: &CriteriaGrid<'_>,
    systems: &[ObservedSystem],
    metric: &MetricComparison,
) -> Heatmap {
    let folded = folded_groups(grid);
    let mut groups = Vec::new();
    for (group, is_folded) in grid.groups.iter().zip(folded) {
        groups.push(if is_folded {
            // The row says which group it is.
            HeatGroup {
                heading: String::new(),
                is_fault: group.is_fault,
                rows: vec![row_of_group(group, systems.len())],
            }
        } else {
            HeatGroup {
                heading: heading_of(group),
                is_fault: group.is_fault,
                rows: rows_of_criteria(group, systems.len()),
            }
        });
    }
    let order: Vec<usize> = metric.systems.iter().map(|system| system.system).collect();
    for row in groups.iter_mut().flat_map(|group| &mut group.rows) {
        row.shares = order.iter().map(|system| row.shares[*system]).collect();
    }
    Heatmap {
        systems: order
            .iter()
            .map(|system| systems[*system].label.clone())
            .collect(),
        note: note_of_criteria(&groups),
        groups,
    }
}

/// Which groups are a single row: none if all criteria fit a page, else those of many criteria, and if that is not enough, all.
fn folded_groups(grid: &CriteriaGrid<'_>) -> Vec<bool> {
    let sizes: Vec<usize> = grid.groups.iter().map(|group| group.rows.len()).collect();
    for most in [usize::MAX, MANY_CRITERIA] {
        let rows: usize = sizes
            .iter()
            .map(|size| if *size > most { 1 } else { *size })
            .sum();
        if rows <= MOST_CRITERIA {
            return sizes.iter().map(|size| *size > most).collect();
        }
    }
    vec![true; sizes.len()]
}

fn heading_of(group: &CriteriaGroup<'_>) -> String {
    if group.is_fault {
        // The color of a fault says that it is bad, and its number how often it was found.
        format!("{}: found, less is better", group.heading)
    } else {
        group.heading.clone()
    }
}

/// `Nice to have item (11 criteria)`
fn row_of_group(group: &CriteriaGroup<'_>, systems: usize) -> HeatRow {
    let count = match group.count() {
        1 => "1 criterion".to_owned(),
        count => format!("{count} criteria"),
    };
    HeatRow {
        text: format!("{} ({count})", heading_of(group)),
        shares: group.means(systems),
    }
}

fn rows_of_criteria(group: &CriteriaGroup<'_>, systems: usize) -> Vec<HeatRow> {
    let mut rows = Vec::new();
    for row in &group.rows {
        rows.push(HeatRow {
            text: row.text.to_owned(),
            shares: row.means(systems),
        });
    }
    rows
}

fn note_of_criteria(groups: &[HeatGroup]) -> String {
    let mut note = "Mean credit, % of full marks".to_owned();
    if groups.iter().any(|group| group.is_fault) {
        note += "; of faults, how often they were found (%)";
    }
    let mut shares = groups
        .iter()
        .flat_map(|group| &group.rows)
        .flat_map(|row| &row.shares);
    if shares.any(Option::is_none) {
        note += "; –: not judged";
    }
    note + "."
}

/// The systems by people's mean labels and by the judge's, over the same answers, best by people first. `None` if no judge and people
/// rated answers of two systems or more.
pub fn plot_of_labels(agreement: &RaterAgreement) -> Option<PanelPlot> {
    // The pair with the people together comes before those with single people.
    let pair = agreement.pairs.iter().find(|pair| {
        is_rater(agreement, &pair.first, RaterKind::Judge)
            && is_rater(agreement, &pair.second, RaterKind::Human)
    })?;
    let (ranking, of) = match (&pair.ranking, &pair.wins) {
        (Some(ranking), _) => (ranking, "mean"),
        (None, wins) => (wins.as_ref()?, "share of wins"),
    };
    let mut rows = Vec::new();
    for system in &ranking.systems {
        rows.push(PanelRow {
            label: system.system.to_string(),
            values: [system.second_mean, system.first_mean],
        });
    }
    // The scales of people and judge are those of their files, as in the tables of agree.
    let panel = |axis: String| FigurePanel {
        axis,
        unit: Unit::Grade,
    };
    Some(PanelPlot {
        panels: [
            panel(format!("people, {of}")),
            panel(format!("judge, {of}")),
        ],
        rows,
        note: note_of_labels(agreement, pair),
    })
}

fn is_rater(agreement: &RaterAgreement, name: &str, kind: RaterKind) -> bool {
    agreement
        .raters
        .iter()
        .any(|rater| *rater.name == *name && rater.kind == kind)
}

/// How judge and people agree, and people with each other: no judge can be expected to agree more.
fn note_of_labels(agreement: &RaterAgreement, pair: &RaterPair) -> String {
    let name = format!("{} with people", pair.first);
    let row = agreement.summary.iter().find(|row| row.who == name);
    let mut parts = Vec::new();
    if let Some(row) = row {
        parts.push(format!("judge with people {}", tau_b_of(row)));
        if let Some(ceiling) = &row.ceiling {
            parts.push(format!("people with each other {}", tau_b_of(ceiling)));
        }
    }
    if let Some(ranking) = &pair.ranking
        && ranking.kendall_tau_b.estimate.is_some()
    {
        let order = shown_coefficient(&ranking.kendall_tau_b);
        parts.push(format!("order of the systems {order}"));
    }
    let labels = counted(pair.overall.n, "labeled answer");
    if parts.is_empty() {
        // Of preferences, for example.
        return format!("Over {labels}.");
    }
    format!("Over {labels}. Kendall's tau-b: {}.", parts.join("; "))
}

fn tau_b_of(row: &SummaryRow) -> String {
    shown_coefficient(&row.kendall_tau_b)
}

/// The differences that planned studies find, with the fewest samples and the most.
pub fn plot_of_power(plan: &PowerPlan) -> PowerPlot {
    let mut samples: Vec<Option<usize>> = plan.studies.iter().map(|study| study.samples).collect();
    samples.sort_unstable();
    samples.dedup();
    let mut curves = Vec::new();
    for count in samples
        .first()
        .into_iter()
        .chain(samples.iter().skip(1).last())
    {
        let has_count = |study: &&PlannedStudy| study.samples == *count;
        curves.push(PowerCurve {
            name: counted(count.unwrap_or(1), "sample"),
            points: points_of(plan.curve.iter().filter(has_count), |study| {
                study.questions as f64
            }),
            dots: points_of(plan.studies.iter().filter(has_count), |study| {
                study.questions as f64
            }),
        });
    }
    let first: Vec<&PlannedStudy> = plan
        .curve
        .iter()
        .filter(|study| samples.first() == Some(&study.samples))
        .collect();
    let limits = vec![
        points_of(first.iter().copied(), |study| study.interval.low),
        points_of(first.iter().copied(), |study| study.interval.high),
    ];
    let unit = match plan.metric.unit {
        Unit::Share | Unit::Net => "points",
        Unit::Grade => "grades",
        Unit::Count => "count per answer",
    };
    PowerPlot {
        axis: format!("difference in {} ({unit})", plan.metric.name),
        unit: plan.metric.unit,
        curves,
        limits,
        note: format!(
            "The difference between two of {} that is found with 80% power at level {}. Thin lines: what the pilot of {} leaves open.",
            counted(plan.systems, "system"),
            percent(plan.level),
            counted(plan.questions, "question"),
        ),
    }
}

/// Numbers of questions with differences. Where the fewest questions that are planned are enough, only the smallest difference counts.
fn points_of<'a>(
    studies: impl Iterator<Item = &'a PlannedStudy>,
    questions: impl Fn(&PlannedStudy) -> f64,
) -> Vec<[f64; 2]> {
    let mut points: Vec<[f64; 2]> = studies
        .map(|study| [questions(study), study.difference])
        .collect();
    points.dedup_by_key(|point| point[0]);
    points
}

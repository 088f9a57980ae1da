//! `plot --what criteria`: the mean credit of each criterion by system, as a heatmap.

use std::sync::Arc;

use super::heatmap::{HeatGroup, HeatRow, Heatmap};
use super::run_figure::{DrawnFigure, FigureOption, FigureRequest, RunFigure};
use crate::analysis::comparison::{MetricComparison, ObservedSystem};
use crate::analysis::{CriteriaGrid, CriteriaGroup, criteria_grid};
use crate::domain::ScoredAnswer;
use crate::error::Result;
use crate::report::criteria::criteria_count;
use crate::report::run_warnings;

/// Rows of a heatmap at most: of three lines each, more do not fit a page. Where there are more, groups of criteria are a row.
const MOST_CRITERIA: usize = 24;
/// The size of a group that is a row before smaller ones are.
const MANY_CRITERIA: usize = 6;

pub(super) const FIGURE: RunFigure = RunFigure {
    name: "criteria",
    help: "systems by criteria",
    options: &[FigureOption::Anyway],
    draw,
};

fn draw(request: &FigureRequest<'_>) -> Result<DrawnFigure> {
    let runs = request.open()?;
    let observations = request.observe(&runs)?;
    let scored: Vec<&[Arc<ScoredAnswer>]> =
        runs.runs.iter().map(|run| run.scored.as_slice()).collect();
    let grid = criteria_grid(&scored, &observations.systems);
    let comparison = request.compare_means(&runs, &observations);
    let plot = plot_of(&grid, &observations.systems, &comparison.metrics[0]);
    let figure = plot.figure(request.style).ok_or_else(|| {
        request.nothing(
            "no criteria: neither a rubric nor aspects were scored",
            "score with test cases (--tests), or aspects (--scorers prometheus)",
        )
    })?;
    Ok(DrawnFigure {
        figure,
        contents: "criteria by system".to_owned(),
        warnings: run_warnings(&comparison),
    })
}

/// The criteria by system, in the order of this metric. Of more criteria than fit a page, groups are a row each.
fn plot_of(
    grid: &CriteriaGrid<'_>,
    systems: &[ObservedSystem],
    metric: &MetricComparison,
) -> Heatmap {
    let folded = folded_groups(grid);
    let mut groups = Vec::new();
    for (group, is_folded) in grid.groups.iter().zip(folded) {
        let (heading, rows) = if is_folded {
            // The row says which group it is.
            (String::new(), vec![row_of_group(group, systems.len())])
        } else {
            (heading_of(group), rows_of_criteria(group, systems.len()))
        };
        groups.push(HeatGroup {
            heading,
            is_fault: group.is_fault,
            rows,
        });
    }
    let order: Vec<usize> = metric.systems.iter().map(|system| system.system).collect();
    for row in groups.iter_mut().flat_map(|group| &mut group.rows) {
        row.shares = order.iter().map(|system| row.shares[*system]).collect();
    }
    let labels = order.iter().map(|system| systems[*system].label.clone());
    Heatmap {
        systems: labels.collect(),
        note: note_of_criteria(&groups),
        groups,
    }
}

/// Which groups are a single row: none if all criteria fit a page, else those of many criteria, and if that is not enough, all.
fn folded_groups(grid: &CriteriaGrid<'_>) -> Vec<bool> {
    let sizes: Vec<usize> = grid.groups.iter().map(|group| group.rows.len()).collect();
    for most in [usize::MAX, MANY_CRITERIA] {
        let rows = sizes
            .iter()
            .map(|size| if *size > most { 1 } else { *size });
        if rows.sum::<usize>() <= MOST_CRITERIA {
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
    HeatRow {
        text: format!("{} ({})", heading_of(group), criteria_count(group)),
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
    let rows = groups.iter().flat_map(|group| &group.rows);
    let mut shares = rows.flat_map(|row| &row.shares);
    if shares.any(Option::is_none) {
        note += "; –: not judged";
    }
    note + "."
}

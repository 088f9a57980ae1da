//! Leaderboards of SciFact and FEVER as tables, and the texts of `--explain`.

use super::table::{Cell, Column, Format, Table};
use super::visible;
use crate::facts::{Explanation, Leaderboard, Measurement, Standing};

/// Maximum number of measures in one row.
// Five with intervals fit 80 columns.
const SIDE_BY_SIDE: usize = 5;

/// The leaderboard: one row per system or, for one system with many measures, one row per measure. With many measures and
/// several systems only the F1s are shown, that which ranks the systems first. With `all`, every measure by system.
pub(crate) fn leaderboard_table(board: &Leaderboard, all: bool) -> Table {
    let first = board.systems.first();
    let measures = first.map_or(0, |system| system.metrics.len());
    let is_wide = !all && measures > SIDE_BY_SIDE;
    let mut table = match &board.systems[..] {
        [only] if is_wide => measures_of_one(board, only),
        _ => systems_by_measure(board, is_wide),
    };
    table.notes.clone_from(&board.notes);
    table
}

/// A row for each measure of the only system.
fn measures_of_one(board: &Leaderboard, system: &Standing) -> Table {
    let format = Format::PercentTo(board.decimals);
    let columns = vec![
        Column::text("measure"),
        Column::headed("value", &system.system, format),
    ];
    let mut table = Table::new(board.title.clone(), columns);
    for metric in &system.metrics {
        let value = Cell::estimate(metric.estimate, metric.interval);
        table.rows.push(vec![Cell::text(&metric.name), value]);
    }
    table
}

/// A row for each system, with its F1s or with all measures.
fn systems_by_measure(board: &Leaderboard, only_f1: bool) -> Table {
    let systems = &board.systems;
    let mut table = Table::new(board.title.clone(), Vec::new());
    table.column(Column::text("system"), systems, |system| &system.system);
    table.column(Column::count("rank"), systems, |system| system.rank);
    let shown = systems
        .iter()
        .map(|system| shown_measures(board, system, only_f1));
    let by_system: Vec<Vec<&Measurement>> = shown.collect();
    for (at, metric) in by_system.first().into_iter().flatten().enumerate() {
        let column = Column {
            highest_is_best: true,
            is_kept: metric.name == board.ranked_by,
            ..Column::new(&metric.name, Format::PercentTo(board.decimals))
        };
        table.column(column, &by_system, |metrics| {
            let measurement = metrics.get(at)?;
            Some(Cell::estimate(measurement.estimate, measurement.interval))
        });
    }
    table.column(Column::count("claims"), systems, |system| {
        system.details.get("claims")?.as_f64()
    });
    table
}

/// The measures in their order, but for the one that ranks the systems, which comes first.
fn shown_measures<'a>(
    board: &Leaderboard,
    system: &'a Standing,
    only_f1: bool,
) -> Vec<&'a Measurement> {
    let mut shown: Vec<&Measurement> = system.metrics.iter().collect();
    if only_f1 {
        shown.retain(|metric| metric.name.ends_with("f1"));
    }
    shown.sort_by_key(|metric| metric.name != board.ranked_by);
    shown
}

/// How a claim was scored, for each system.
pub(crate) fn explanation(explained: &[Explanation]) -> String {
    let mut out = String::new();
    for claim in explained {
        out += &format!(
            "{}, claim {}\n",
            visible(&claim.system),
            visible(&claim.claim)
        );
        for finding in &claim.findings {
            out += &format!(
                "  {}: {}\n",
                visible(&finding.item),
                visible(&finding.finding)
            );
        }
    }
    out
}

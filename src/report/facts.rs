//! Leaderboards of SciFact and FEVER as tables, and the texts of `--explain`.

use std::fmt::Write as _;

use super::table::{Cell, Column, Format, Table};
use super::visible;
use crate::facts::{Explanation, Leaderboard, Standing};

/// Maximum number of measures in one row.
const SIDE_BY_SIDE: usize = 5;

/// The leaderboard: one row per system or, for one system with many measures, one row per measure. With many measures and
/// several systems only the F1s are shown, that which ranks the systems first. With `all`, every measure by system.
pub fn leaderboard_table(board: &Leaderboard, all: bool) -> Table {
    let format = Format::PercentTo(board.decimals);
    let is_wide = !all
        && board
            .systems
            .first()
            .is_some_and(|system| system.metrics.len() > SIDE_BY_SIDE);
    if let ([system], true) = (&board.systems[..], is_wide) {
        let columns = vec![
            Column::new("measure", Format::Text),
            Column::headed("value", &system.system, format),
        ];
        let mut table = Table {
            notes: board.notes.clone(),
            ..Table::new(board.title.clone(), columns)
        };
        for metric in &system.metrics {
            table.rows.push(vec![
                Cell::text(&metric.name),
                Cell::estimate(metric.estimate, metric.interval),
            ]);
        }
        return table;
    }
    let shown = |system: &Standing| {
        let metrics = system
            .metrics
            .iter()
            .filter(|metric| !is_wide || metric.name.ends_with("f1"));
        let mut shown: Vec<_> = metrics.cloned().collect();
        // Without change of order but for the measure that ranks the systems, which comes first.
        shown.sort_by_key(|metric| metric.name != board.ranked_by);
        shown
    };
    let (mut table, systems) = (Table::new(board.title.clone(), Vec::new()), &board.systems);
    table.push(
        Column::new("system", Format::Text),
        systems.iter().map(|own| Cell::text(&own.system)),
    );
    table.push(
        Column::new("rank", Format::Count),
        systems.iter().map(|own| Cell::count(own.rank)),
    );
    for (at, metric) in systems
        .first()
        .map(shown)
        .unwrap_or_default()
        .iter()
        .enumerate()
    {
        let column = Column {
            highest_is_best: true,
            is_kept: metric.name == board.ranked_by,
            ..Column::new(&metric.name, format)
        };
        let cell = |own: &Standing| {
            shown(own).get(at).map_or(Cell::Missing, |own| {
                Cell::estimate(own.estimate, own.interval)
            })
        };
        table.push(column, systems.iter().map(cell));
    }
    let claims = |own: &Standing| {
        own.details
            .get("claims")
            .and_then(serde_json::Value::as_f64)
    };
    table.push(
        Column::new("claims", Format::Count),
        systems.iter().map(|own| Cell::maybe(claims(own))),
    );
    Table {
        notes: board.notes.clone(),
        ..table
    }
}

/// How a claim was scored, for each system.
pub fn explanation(explained: &[Explanation]) -> String {
    let mut out = String::new();
    for Explanation {
        system,
        claim,
        findings,
    } in explained
    {
        let _ = writeln!(out, "{}, claim {}", visible(system), visible(claim));
        for found in findings {
            let _ = writeln!(
                out,
                "  {}: {}",
                visible(&found.item),
                visible(&found.finding)
            );
        }
    }
    out
}

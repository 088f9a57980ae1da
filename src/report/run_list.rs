//! A list of runs as a table.

use super::Table;
use super::table::{Cell, Column, Format};
use crate::analysis::OnUnscored;
use crate::domain::{Note, Unit};
use crate::runs::ListedRun;

/// One row per run. For people, names and times are short, and scores have the format of their unit.
pub fn run_list(runs: &[ListedRun], for_people: bool) -> Table {
    let columns = vec![
        Column::text("run"),
        Column::text("judge"),
        Column::text("status"),
        Column::new("lowest", Format::Number(3)),
        Column::new("highest", Format::Number(3)),
        Column::text("metric"),
        Column::count("systems"),
        Column::count("cases"),
        // Last, so that a narrow terminal shows the means rather than the time, by which the rows are ordered.
        Column::headed("started_at", "started", Format::Text),
    ];
    let title = "Runs, newest first, with the lowest and highest mean of a system";
    let mut table = Table::new(title, columns);
    for run in runs {
        table.rows.push(row(run, for_people));
        if run.on_unscored == OnUnscored::Zero {
            table.notes.push(Note::warning(format!(
                "{}: unscored answers count as the lowest value (--on-unscored zero).",
                run.run.display()
            )));
        }
        if let Some(problem) = &run.problem {
            table.notes.push(Note::warning(format!("{problem}.")));
        }
    }
    table
}

/// One run; what it does not have (a judge, a headline metric) is missing.
fn row(run: &ListedRun, for_people: bool) -> Vec<Cell> {
    let headline = run.headline.as_ref();
    let unit = headline.map(|headline| headline.unit);
    let lowest = headline.map(|headline| headline.lowest);
    let highest = headline.map(|headline| headline.highest);
    let (name, started) = if for_people {
        (short_name(run), to_the_minute(&run.started_at))
    } else {
        (run.run.display().to_string(), run.started_at.clone())
    };
    vec![
        Cell::text(name),
        text_or_missing(&run.judge),
        Cell::text(run.status),
        mean(lowest, unit.filter(|_| for_people)),
        mean(highest, unit.filter(|_| for_people)),
        text_or_missing(headline.map_or("", |headline| &headline.metric)),
        Cell::count(run.systems.len()),
        Cell::count(run.cases),
        Cell::text(started),
    ]
}

/// The name of the run's directory.
fn short_name(run: &ListedRun) -> String {
    match run.run.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => run.run.display().to_string(),
    }
}

/// `2026-01-02 03:04` of a timestamp; a text that is none stays as it is.
fn to_the_minute(timestamp: &str) -> String {
    match timestamp.get(..16) {
        Some(minute) => minute.replace('T', " "),
        None => timestamp.to_owned(),
    }
}

/// A mean; for people, whose unit is given, a share in percent.
fn mean(mean: Option<f64>, unit: Option<Unit>) -> Cell {
    match (mean, unit) {
        (Some(mean), Some(Unit::Share | Unit::Net)) => Cell::text(Format::Percent.show(mean) + "%"),
        (mean, _) => Cell::maybe(mean),
    }
}

fn text_or_missing(text: &str) -> Cell {
    if text.is_empty() {
        Cell::Missing
    } else {
        Cell::text(text)
    }
}

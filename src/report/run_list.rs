//! A list of runs as a table.

use super::Table;
use super::table::{Cell, Column, Format};
use crate::domain::{Note, Unit};
use crate::evaluation::ListedRun;

/// One row per run. For people, names, times and states are short, and scores have the format of their unit.
pub fn run_list(runs: &[ListedRun], for_people: bool) -> Table {
    let text = |key: &str, heading: &str| Column::headed(key, heading, Format::Text);
    let columns = vec![
        text("run", "run"),
        text("started_at", "started"),
        text("judge", "judge"),
        text("status", "status"),
        Column::new("score", if for_people { Format::Text } else { Format::Number(3) }),
        text("metric", "metric"),
        text("best_system", "best system"),
        Column::new("systems", Format::Count),
        Column::new("cases", Format::Count),
    ];
    let mut table = Table::new("Runs, newest first; the score is that of the best system", columns);
    for run in runs {
        let or_missing = |text: &Option<String>| text.as_deref().map_or(Cell::Missing, Cell::text);
        let (name, started, status, score) = match for_people {
            true => short(run),
            false => (run.run.display().to_string(), run.started_at.clone(), run.status, Cell::maybe(run.score)),
        };
        table.rows.push(vec![
            Cell::text(name),
            Cell::text(started),
            Cell::text(&run.judge),
            Cell::text(status),
            score,
            or_missing(&run.metric),
            or_missing(&run.best_system),
            Cell::count(run.systems.len()),
            Cell::maybe(run.cases.map(|cases| cases as f64)),
        ]);
        table.notes.extend(run.problem.as_ref().map(|problem| Note::warning(format!("{problem}."))));
    }
    table
}

/// Name, start, status and score for people.
fn short(run: &ListedRun) -> (String, String, &'static str, Cell) {
    let name =
        run.run.file_name().map_or_else(|| run.run.display().to_string(), |name| name.to_string_lossy().into_owned());
    let started = run.started_at.get(..16).unwrap_or_default().replace('T', " ");
    let status = match run.status {
        "complete" => "done",
        "damaged" => "damaged",
        _ => "not done",
    };
    let score = run.score.zip(run.unit).map_or(Cell::Missing, |(score, unit)| {
        let percent = if unit == Unit::Share { "%" } else { "" };
        Cell::text(Format::of_mean(unit).show(score) + percent)
    });
    (name, started, status, score)
}

//! A list of runs as a table.

use super::Table;
use super::table::{Cell, Column, Format};
use crate::domain::{Note, Unit};
use crate::evaluation::ListedRun;

/// One row per run. For people, names and times are short, and scores have the format of their unit.
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
        let path = run.run.display().to_string();
        let name = run.run.file_name().map(|name| name.to_string_lossy().into_owned());
        let score = match (run.score, run.unit) {
            (Some(score), Some(Unit::Share)) if for_people => Cell::text(Format::Percent.show(score) + "%"),
            (Some(score), Some(unit)) if for_people => Cell::text(Format::of_mean(unit).show(score)),
            (score, _) => Cell::maybe(score),
        };
        let minute = run.started_at.get(..16).map(|minute| minute.replace('T', " "));
        table.rows.push(vec![
            Cell::text(name.filter(|_| for_people).unwrap_or(path)),
            Cell::text(minute.filter(|_| for_people).unwrap_or(run.started_at.clone())),
            if run.judge.is_empty() { Cell::Missing } else { Cell::text(&run.judge) },
            Cell::text(run.status),
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

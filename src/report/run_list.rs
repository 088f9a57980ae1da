//! A list of runs as a table.

use super::Table;
use super::table::{Cell, Column, Format};
use crate::analysis::OnUnscored;
use crate::domain::{Note, Unit};
use crate::runs::ListedRun;

/// One row per run. For people, names and times are short, and scores have the format of their unit.
pub fn run_list(runs: &[ListedRun], for_people: bool) -> Table {
    let text = |key: &str, heading: &str| Column::headed(key, heading, Format::Text);
    let columns = vec![
        text("run", "run"),
        text("started_at", "started"),
        text("judge", "judge"),
        text("status", "status"),
        Column::new("lowest", Format::Number(3)),
        Column::new("highest", Format::Number(3)),
        text("metric", "metric"),
        Column::new("systems", Format::Count),
        Column::new("cases", Format::Count),
    ];
    let mut table = Table::new(
        "Runs, newest first, with the lowest and highest mean of a system",
        columns,
    );
    for run in runs {
        let path = run.run.display().to_string();
        if run.on_unscored == OnUnscored::Zero {
            table.notes.push(Note::warning(format!(
                "{path}: unscored answers count as the lowest value (--on-unscored zero)."
            )));
        }
        let name = run
            .run
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let minute = run
            .started_at
            .get(..16)
            .map(|minute| minute.replace('T', " "));
        let headline = run.headline.as_ref();
        let mean = |value: Option<f64>| match (value, headline.map(|headline| headline.unit)) {
            (Some(mean), Some(Unit::Share | Unit::Net)) if for_people => {
                Cell::text(Format::Percent.show(mean) + "%")
            }
            (mean, _) => Cell::maybe(mean),
        };
        let or_missing = |text: &str| {
            if text.is_empty() {
                Cell::Missing
            } else {
                Cell::text(text)
            }
        };
        table.rows.push(vec![
            Cell::text(name.filter(|_| for_people).unwrap_or(path)),
            Cell::text(
                minute
                    .filter(|_| for_people)
                    .unwrap_or(run.started_at.clone()),
            ),
            or_missing(&run.judge),
            Cell::text(run.status),
            mean(headline.map(|headline| headline.lowest)),
            mean(headline.map(|headline| headline.highest)),
            or_missing(headline.map_or("", |headline| &headline.metric)),
            Cell::count(run.systems.len()),
            Cell::count(run.cases),
        ]);
        table.notes.extend(
            run.problem
                .as_ref()
                .map(|problem| Note::warning(format!("{problem}."))),
        );
    }
    table
}

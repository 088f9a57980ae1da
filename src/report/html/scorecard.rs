//! The scorecard of the page: the main numbers of every scorer, a row a system, as `score` gives them.

use serde::Serialize;

use super::HtmlRun;
use super::figures::{number, range};
use crate::analysis::comparison::{Comparison, ObservedSystem};
use crate::analysis::{Metric, Scorecard};
use crate::domain::{SystemName, Unit};
use crate::report::comparison::unit_name;
use crate::report::headline::{is_main, name_of};
use crate::report::visible;

/// The table; without columns where one number is all there is: the leaderboard says it then.
#[derive(Debug, Default, Serialize)]
pub(super) struct ScorecardView {
    columns: Vec<Head>,
    rows: Vec<Row>,
    level: String,
    /// Values behind every number, where it is the same for all and nothing is unscored.
    count: Option<usize>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Head {
    name: String,
    unit: &'static str,
}

#[derive(Debug, Serialize)]
struct Row {
    label: String,
    colour: usize,
    cells: Vec<Option<Cell>>,
}

#[derive(Debug, Serialize)]
struct Cell {
    mean: String,
    interval: Option<String>,
    /// Values behind the mean.
    count: usize,
    unscored: usize,
}

/// A scorer's number of one run: what it is, and its value by system.
struct Column<'a> {
    /// Scorer and name: columns of two runs are one where both are equal.
    key: (&'a str, String),
    unit: Unit,
    values: Vec<(&'a SystemName, Metric)>,
}

/// The runs' scorecards in one table, systems in the order of the leaderboard that is shown first.
pub(super) fn scorecard_view(comparison: &Comparison, runs: &[HtmlRun<'_>], first: usize) -> ScorecardView {
    let of_runs: Vec<Vec<Column<'_>>> =
        runs.iter().map(|run| run.scorecard.as_ref().map(columns).unwrap_or_default()).collect();
    let mut heads: Vec<(&(&str, String), Unit)> = Vec::new();
    for column in of_runs.iter().flatten() {
        if !heads.iter().any(|(known, _)| **known == column.key) {
            heads.push((&column.key, column.unit));
        }
    }
    if heads.len() < 2 {
        return ScorecardView::default();
    }
    let row = |(place, system): (usize, &ObservedSystem)| {
        let own = of_runs.get(system.run).map_or(&[][..], Vec::as_slice);
        let cell = |(key, unit): &(&(&str, String), Unit)| {
            let column = own.iter().find(|column| column.key == **key)?;
            let (_, metric) = column.values.iter().find(|(name, _)| **name == system.system)?;
            cell(metric, *unit)
        };
        Row { label: visible(&system.label).into_owned(), colour: place % 10, cells: heads.iter().map(cell).collect() }
    };
    let rows = order(comparison, first).into_iter().filter_map(|place| Some((place, comparison.systems.get(place)?)));
    let rows: Vec<Row> = rows.map(row).collect();
    let mut counts = rows.iter().flat_map(|row| row.cells.iter().flatten()).map(|cell| (cell.count, cell.unscored));
    let least = counts.next().filter(|(_, unscored)| *unscored == 0);
    ScorecardView {
        count: least.filter(|one| counts.all(|other| other == *one)).map(|(count, _)| count),
        level: format!(
            "{:.0}%",
            100.0 * runs.iter().find_map(|run| run.scorecard.as_ref()).map_or(0.95, |card| card.level)
        ),
        rows,
        columns: heads
            .iter()
            .map(|((_, name), unit)| Head { name: visible(name).replace('_', " "), unit: unit_name(*unit) })
            .collect(),
    }
}

/// Places of the systems: those of the leaderboard, then the others.
fn order(comparison: &Comparison, first: usize) -> Vec<usize> {
    let ranked = comparison.metrics.get(first).into_iter().flat_map(|metric| &metric.systems).map(|row| row.system);
    let mut order: Vec<usize> = ranked.collect();
    for place in 0..comparison.systems.len() {
        if !order.contains(&place) {
            order.push(place);
        }
    }
    order
}

/// The main numbers of a scorecard, in its order.
fn columns(card: &Scorecard) -> Vec<Column<'_>> {
    let rubric = card.rubric.iter().map(|rubric| Column {
        key: ("rubric", rubric.score_name().replace("score", "rubric score")),
        unit: Unit::Share,
        values: rubric.rows.iter().map(|row| (&row.system, row.metrics.score)).collect(),
    });
    let others = card.sections.iter().flat_map(|section| {
        let main = section.columns.iter().enumerate().filter(|(_, column)| is_main(section, column));
        main.map(|(at, column)| Column {
            key: (section.scorer, name_of(section, column)),
            unit: column.unit,
            values: section.rows.iter().filter_map(|row| Some((&row.system, row.metrics.get(at)?.metric))).collect(),
        })
    });
    rubric.chain(others).collect()
}

/// A number with what it rests on; nothing where the scorer has nothing to do with the system.
fn cell(metric: &Metric, unit: Unit) -> Option<Cell> {
    let mean = match metric.estimate {
        Some(mean) => number(mean, unit),
        None if metric.unscored > 0 => "\u{2013}".to_owned(),
        None => return None,
    };
    Some(Cell {
        mean,
        interval: metric.interval.map(|ends| range(ends, unit)),
        count: metric.n,
        unscored: metric.unscored,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::comparison::ComparisonOptions;
    use crate::analysis::made::{answer, component, simple_score};
    use crate::analysis::{AggregateOptions, scorecard};
    use crate::domain::{ComponentKind, Score, ScoredAnswer};

    fn cited(system: &str, case: &str, precision: f64, recall: f64) -> ScoredAnswer {
        let part = |name, value| component(name, ComponentKind::Share, 0.0, Some(value));
        let components = vec![part("citation_precision", precision), part("citation_recall", recall)];
        answer(system, case, Score { scorer: "entailment", components, ..Score::default() })
    }

    fn view(scored: &[ScoredAnswer], labels: &[&str]) -> ScorecardView {
        let system = |label: &&str| ObservedSystem { label: (*label).into(), system: (*label).into(), run: 0 };
        let comparison = Comparison {
            schema_version: 1,
            runs: vec!["run".to_owned()],
            systems: labels.iter().map(system).collect(),
            options: ComparisonOptions::seeded(1),
            metrics: Vec::new(),
            marks: Vec::new(),
        };
        let run =
            HtmlRun { scorecard: Some(scorecard(scored, &[], AggregateOptions::default())), ..HtmlRun::default() };
        scorecard_view(&comparison, &[run], 0)
    }

    #[test]
    fn the_main_numbers_of_all_scorers_stand_in_one_table_with_their_own_counts() {
        let scored = [
            answer("a", "1", simple_score(Some(0.5))),
            cited("a", "1", 1.0, 0.5),
            cited("a", "2", 0.0, 0.5),
            cited("b", "1", 0.25, 0.25),
        ];
        let view = view(&scored, &["a", "b"]);
        let names: Vec<&str> = view.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["rubric score", "citation precision", "citation recall", "citation f1"]);
        assert!(view.columns.iter().all(|column| column.unit == "per cent"));
        let shown = |row: usize, column: usize| {
            view.rows[row].cells[column].as_ref().map(|cell| (cell.mean.as_str(), cell.count))
        };
        // precision (1 + 0) / 2, recall (0.5 + 0.5) / 2: their harmonic mean is 0.5, too
        assert_eq!([1, 2, 3].map(|column| shown(0, column).unwrap().0), ["50.0"; 3]);
        assert_eq!([0, 1].map(|column| shown(0, column).unwrap().1), [1, 2]);
        assert_eq!(view.count, None);
        // b was not asked by the rubric
        assert_eq!((shown(1, 0), shown(1, 1)), (None, Some(("25.0", 1))));
    }

    #[test]
    fn one_number_alone_is_left_to_the_leaderboard() {
        assert!(view(&[answer("a", "1", simple_score(Some(0.5)))], &["a"]).columns.is_empty());
    }
}

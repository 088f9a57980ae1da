//! Which criteria discriminate, as tables for people and CSV.

use super::TableStyle;
use super::layout::wrapped;
use super::numbers::COEFFICIENT;
use super::table::{Cell, Column, Format, Legend, Table, legend_notes};
use super::visible::without_middle;
use std::cmp::Ordering;

use crate::analysis::{Criteria, CriteriaGroup, CriterionStatistics, Estimate, Finding};
use crate::domain::ComponentKind;

/// Statistics for programs only.
const UNSHOWN: [&str; 7] = [
    "text", "scorer", "kind", "fault", "labels", "variance", "group_of",
];

/// Suspicious criteria of single cases, unless all are shown.
// A screen of them: whoever mends more than 20 criteria reads the CSV.
const SHOWN: usize = 20;

/// What the columns mean: one text for `--help`, `--notes` and the page's tooltips.
pub(crate) const CRITERIA_LEGEND: &[Legend] = &[
    Legend {
        key: "answers",
        heading: "n",
        meaning: "answers; for a group of criteria, answers of each",
    },
    Legend {
        key: "mean",
        heading: "mean",
        meaning: "mean value, from 0 (lowest mark) to 100 (full marks); of a fault, a criterion with a negative weight, \
                  from -100 (met) to 0 (not met)",
    },
    Legend {
        key: "at_lowest",
        heading: "lowest",
        meaning: "% of the answers with the lowest mark (a fault: met in full)",
    },
    Legend {
        key: "at_full",
        heading: "full",
        meaning: "% of the answers with full marks (a fault: not met)",
    },
    Legend {
        key: "item_rest",
        heading: "r",
        meaning: "correlation with the rest of the same answer's score, over answers to the same question",
    },
    Legend {
        key: "system_share",
        heading: "systems",
        meaning: "% of the variance that is between systems, less what chance gives",
    },
    Legend {
        key: "noise",
        heading: "noise",
        meaning: "standard deviation of a judge's repeated samples of one answer",
    },
    Legend {
        key: "reliability",
        heading: "reliable",
        meaning: "% of the variance that is not the judge's noise",
    },
    Legend {
        key: "people",
        heading: "people",
        meaning: "Kendall's tau-b with people's labels",
    },
    Legend {
        key: "people_gap",
        heading: "off by",
        meaning: "mean distance of the judge from people, % of the scale",
    },
];

/// Key and heading of a column, and its cells.
type Statistic = (
    &'static str,
    &'static str,
    Format,
    fn(&CriterionStatistics) -> Cell,
);

const STATISTICS: [Statistic; 20] = [
    ("finding", "finding", Format::Text, |row| {
        row.finding
            .map_or(Cell::Missing, |finding| Cell::text(words(finding).0))
    }),
    ("scorer", "scorer", Format::Text, |row| {
        Cell::text(row.scorer.as_str())
    }),
    ("name", "criterion", Format::Text, |row| {
        Cell::text(&row.name)
    }),
    ("text", "criterion", Format::Text, |row| {
        Cell::text(&row.text)
    }),
    ("case_id", "case", Format::Text, |row| {
        row.case_id
            .as_ref()
            .map_or(Cell::Missing, |case_id| Cell::text(case_id.as_str()))
    }),
    ("kind", "kind", Format::Text, |row| {
        Cell::text(row.kind.as_str())
    }),
    ("answers", "n", Format::Count, |row| {
        Cell::count(row.answers)
    }),
    ("mean", "mean", Format::Percent, |row| Cell::maybe(row.mean)),
    ("at_lowest", "lowest", Format::Percent, |row| {
        Cell::maybe(row.at_lowest)
    }),
    ("at_full", "full", Format::Percent, |row| {
        Cell::maybe(row.at_full)
    }),
    ("variance", "variance", Format::Number(3), |row| {
        Cell::maybe(row.variance)
    }),
    ("item_rest", "r", COEFFICIENT, |row| {
        estimate(&row.item_rest)
    }),
    ("system_share", "systems", Format::Percent, |row| {
        Cell::maybe(row.system_share)
    }),
    ("noise", "noise", Format::Percent, |row| {
        Cell::maybe(row.noise)
    }),
    ("reliability", "reliable", Format::Percent, |row| {
        Cell::maybe(row.reliability)
    }),
    ("labels", "labels", Format::Count, |row| {
        Cell::count(row.labels)
    }),
    ("people", "people", COEFFICIENT, |row| estimate(&row.people)),
    ("people_gap", "off by", Format::Percent, |row| {
        Cell::maybe(row.people_gap)
    }),
    ("group_of", "group of", Format::Count, |row| {
        Cell::maybe((row.group_of > 0).then_some(row.group_of as f64))
    }),
    ("fault", "fault", Format::Text, |row| {
        Cell::text(if row.fault { "yes" } else { "no" })
    }),
];

fn estimate(estimate: &Estimate) -> Cell {
    Cell::estimate(estimate.estimate, estimate.interval())
}

/// A finding and what it means.
fn words(finding: Finding) -> (&'static str, &'static str) {
    match finding {
        Finding::NeverMet => (
            "no marks",
            "no answer earns any: unreachable, or missing in all answers",
        ),
        Finding::AlwaysMet => (
            "full marks",
            "every answer has full marks: it separates nothing",
        ),
        Finding::FaultAlwaysMet => (
            "all at fault",
            "every answer has this fault: check its wording",
        ),
        Finding::FaultNeverMet => ("no fault", "no answer has this fault: it separates nothing"),
        Finding::OneValue => (
            "one value",
            "all answers to a question get the same: it separates nothing",
        ),
        Finding::Reversed => (
            "reversed",
            "answers that meet it score lower elsewhere: check its wording",
        ),
        Finding::Noisy => (
            "noisy",
            "samples of one answer differ as much as answers: too vague",
        ),
    }
}

/// How many criteria separate answers: what the author of a rubric asks first.
pub(super) fn criteria_verdict(criteria: &Criteria) -> String {
    let checked: Vec<_> = criteria
        .criteria
        .iter()
        .filter(|row| row.group_of == 0 && row.variance.is_some())
        .collect();
    let suspicious = checked.iter().filter(|row| row.finding.is_some()).count();
    match (checked.len(), suspicious) {
        (0, _) => "Each question has one answer: which criteria separate systems cannot be seen."
            .to_owned(),
        (1, 0) => "The only criterion separates the answers.".to_owned(),
        (1, _) => "The only criterion is suspicious.".to_owned(),
        (all, 0) => format!("All {all} criteria separate the answers."),
        (all, 1) => format!(
            "{} of {all} criteria separate the answers; 1 is suspicious.",
            all - 1
        ),
        (all, _) => {
            format!(
                "{} of {all} criteria separate the answers; {suspicious} are suspicious.",
                all - suspicious
            )
        }
    }
}

/// `1 criterion`, `8 criteria`
pub(super) fn criteria_count(group: &CriteriaGroup<'_>) -> String {
    match group.count() {
        1 => "1 criterion".to_owned(),
        count => format!("{count} criteria"),
    }
}

/// The findings; suspicious criteria of single cases (with `all`, every one); those over all cases. Texts have at most `width`
/// characters. Tables without rows are left out.
pub(super) fn criteria_tables(criteria: &Criteria, all: bool, width: usize) -> Vec<Table> {
    let mut single = Vec::new();
    let mut over_all = Vec::new();
    for row in &criteria.criteria {
        if row.case_id.is_none() {
            over_all.push(shown(row, width));
        } else if all || row.finding.is_some() {
            single.push(shown(row, width));
        }
    }
    let title = match single.len() {
        _ if all => "Criteria of single cases".to_owned(),
        count @ 0..=SHOWN => format!("Suspicious criteria of single cases ({count})"),
        count => format!(
            "Suspicious criteria of single cases ({SHOWN} of {count}; criteria --notes shows all)"
        ),
    };
    if !all {
        single.truncate(SHOWN);
    }
    let mut tables = vec![
        read_differently(criteria, all, width),
        findings_table(criteria),
        table(title, &single, &UNSHOWN),
        table("Over all cases".to_owned(), &over_all, &UNSHOWN),
    ];
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// The criteria that people and judge read differently, the worst first; without rows if nobody labeled.
fn read_differently(criteria: &Criteria, all: bool, width: usize) -> Table {
    let mut rows: Vec<&CriterionStatistics> = Vec::new();
    for row in &criteria.criteria {
        if row.group_of == 0 && row.people_gap.is_some_and(|gap| gap > 0.0) {
            rows.push(row);
        }
    }
    rows.sort_by(|a, b| {
        b.people_gap
            .partial_cmp(&a.people_gap)
            .unwrap_or(Ordering::Equal)
    });
    let count = rows.len();
    if !all {
        rows.truncate(SHOWN);
    }
    let rows: Vec<CriterionStatistics> = rows.into_iter().map(|row| shown(row, width)).collect();
    let title = if rows.len() < count {
        format!(
            "Read differently by people and judge ({SHOWN} of {count}; criteria --notes shows all)"
        )
    } else {
        format!("Read differently by people and judge ({count})")
    };
    let mut table = Table::new(title, Vec::new());
    for (key, heading, format, cell) in STATISTICS {
        if ["name", "case_id", "labels", "people_gap", "people"].contains(&key) {
            table.push(
                Column {
                    meaning: meaning(key),
                    // The rows are in its order.
                    is_kept: key == "people_gap",
                    ..Column::headed(key, heading, format)
                },
                rows.iter().map(cell),
            );
        }
    }
    table
}

/// How often each finding occurs, and what it means. A group of criteria counts by its members.
fn findings_table(criteria: &Criteria) -> Table {
    let columns = vec![
        Column::text("finding"),
        Column::count("count"),
        Column::text("meaning"),
    ];
    let mut table = Table::new("", columns);
    let findings: Vec<Finding> = criteria
        .criteria
        .iter()
        .filter(|row| row.group_of == 0)
        .filter_map(|row| row.finding)
        .collect();
    // Criteria come sorted by their finding.
    for same in findings.chunk_by(|a, b| a == b) {
        let (name, meaning) = words(same[0]);
        table.rows.push(vec![
            Cell::text(name),
            Cell::count(same.len()),
            Cell::text(meaning),
        ]);
    }
    table
}

/// The row for people: its name is the criterion's text, shortened, and says that a fault is one.
fn shown(row: &CriterionStatistics, width: usize) -> CriterionStatistics {
    let is_text = row.kind != ComponentKind::Evidence && row.case_id.is_some();
    let label = if is_text { &row.text } else { &row.name };
    let name = match (row.group_of, row.fault) {
        (0, false) => without_middle(label, width),
        (0, true) => format!("fault: {}", without_middle(label, width - "fault: ".len())),
        (count, false) => format!("{}* ({count} criteria)", without_middle(label, width)),
        (count, true) => format!("{}* ({count} faults)", without_middle(label, width)),
    };
    let mut shown = row.clone();
    shown.name = name;
    if let Some(case) = &row.case_id {
        shown.case_id = Some(without_middle(case.as_str(), width / 3).into());
    }
    shown
}

/// These rows without the columns of these keys. For people, who get some columns less, those without a value are also left
/// out.
fn table(title: String, rows: &[CriterionStatistics], without: &[&str]) -> Table {
    let mut table = Table::new(title, Vec::new());
    table.rows = vec![Vec::new(); rows.len()];
    for (key, heading, format, cell) in STATISTICS {
        let cells: Vec<Cell> = rows.iter().map(cell).collect();
        let is_empty = cells.iter().all(|cell| *cell == Cell::Missing);
        if !without.is_empty() && (without.contains(&key) || is_empty) {
            continue;
        }
        table.columns.push(Column {
            // Whether a coefficient is defined depends on the data; the columns of a CSV file must
            // not.
            has_interval: format == COEFFICIENT,
            meaning: meaning(key),
            ..Column::headed(key, heading, format)
        });
        for (row, cell) in table.rows.iter_mut().zip(cells) {
            row.push(cell);
        }
    }
    table
}

fn meaning(key: &str) -> &'static str {
    let entry = CRITERIA_LEGEND.iter().find(|entry| entry.key == key);
    entry.map_or("", |entry| entry.meaning)
}

/// The verdict, the tables, the notes.
pub fn criteria_text(criteria: &Criteria, style: &TableStyle) -> String {
    let verdict = wrapped(&criteria_verdict(criteria), style.columns());
    // The other columns take up to 54.
    let tables = criteria_tables(criteria, style.all_notes, style.columns() - 54);
    let mut notes = criteria.notes.clone();
    notes.extend(legend_notes(&tables));
    let tables: Vec<String> = tables.iter().map(|table| table.terminal(style)).collect();
    format!("{verdict}\n\n{}{}", tables.join("\n"), style.notes(&notes))
}

/// Every criterion and group with all statistics.
pub fn criteria_table(criteria: &Criteria) -> Table {
    table(String::new(), &criteria.criteria, &[])
}

//! Which criteria discriminate, as tables for people and CSV.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::TableStyle;
use super::layout::wrapped;
use super::legend::{CRITERIA_LEGEND, legend_notes};
use super::numbers::COEFFICIENT;
use super::table::{Cell, Column, Format, Table};
use super::visible::without_middle;
use crate::analysis::{Criteria, CriteriaGroup, CriterionStatistics, Finding};
use crate::domain::{CaseId, ComponentKind};
use crate::stats::mean;

/// Statistics for programs only.
const UNSHOWN: [&str; 8] = [
    "text", "scorer", "kind", "tags", "fault", "labels", "variance", "group_of",
];

/// Suspicious criteria of single cases, and tags, unless all are shown.
// A screen of them: whoever mends more than 20 criteria reads the CSV.
const SHOWN: usize = 20;

/// Key and format of a column, and its cells.
type Statistic = (&'static str, Format, fn(&CriterionStatistics) -> Cell);

const STATISTICS: [Statistic; 21] = [
    ("finding", Format::Text, |row| {
        row.finding.map(|finding| words(finding).0).into()
    }),
    ("scorer", Format::Text, |row| row.scorer.as_str().into()),
    ("name", Format::Text, |row| (&row.name).into()),
    ("text", Format::Text, |row| (&row.text).into()),
    ("case_id", Format::Text, |row| {
        row.case_id.as_ref().map(CaseId::as_str).into()
    }),
    ("kind", Format::Text, |row| row.kind.name().into()),
    ("answers", Format::Count, |row| row.answers.into()),
    ("mean", Format::Percent, |row| row.mean.into()),
    ("at_lowest", Format::Percent, |row| row.at_lowest.into()),
    ("at_full", Format::Percent, |row| row.at_full.into()),
    ("variance", Format::Number(3), |row| row.variance.into()),
    ("item_rest", COEFFICIENT, |row| (&row.item_rest).into()),
    ("system_share", Format::Percent, |row| {
        row.system_share.into()
    }),
    ("noise", Format::Percent, |row| row.noise.into()),
    ("reliability", Format::Percent, |row| row.reliability.into()),
    ("labels", Format::Count, |row| row.labels.into()),
    ("people", COEFFICIENT, |row| (&row.people).into()),
    ("people_gap", Format::Percent, |row| row.people_gap.into()),
    ("tags", Format::Text, |row| {
        Some(row.tags.join("; "))
            .filter(|tags| !tags.is_empty())
            .into()
    }),
    ("group_of", Format::Count, |row| {
        Some(row.group_of).filter(|count| *count > 0).into()
    }),
    ("fault", Format::Text, |row| {
        if row.fault { "yes" } else { "no" }.into()
    }),
];

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
    let mut checked: Vec<_> = criteria.criteria.iter().collect();
    checked.retain(|row| row.group_of == 0 && row.variance.is_some());
    let suspicious = checked.iter().filter(|row| row.finding.is_some()).count();
    match (checked.len(), suspicious) {
        (0, _) => "Each question has one answer: which criteria separate systems cannot be seen."
            .to_owned(),
        (1, 0) => "The only criterion separates the answers.".to_owned(),
        (1, _) => "The only criterion is suspicious.".to_owned(),
        (all, 0) => format!("All {all} criteria separate the answers."),
        (all, suspicious) => {
            let others = all - suspicious;
            let verb = if suspicious == 1 { "is" } else { "are" };
            format!(
                "{others} of {all} criteria separate the answers; {suspicious} {verb} suspicious."
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

/// The findings; the tags; suspicious criteria of single cases (with `all`, every one); those over all cases. Texts have at most `width`
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
        tags_table(criteria, all),
        table(title, &single, &UNSHOWN),
        table("Over all cases".to_owned(), &over_all, &UNSHOWN),
    ];
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// The criteria that people and judge read differently, the worst first; without rows if nobody labeled.
fn read_differently(criteria: &Criteria, all: bool, width: usize) -> Table {
    let mut rows: Vec<_> = criteria.criteria.iter().collect();
    rows.retain(|row| row.group_of == 0 && row.people_gap.is_some_and(|gap| gap > 0.0));
    rows.sort_by(|a, b| {
        let order = b.people_gap.partial_cmp(&a.people_gap);
        order.unwrap_or(Ordering::Equal)
    });
    let count = rows.len();
    if !all {
        rows.truncate(SHOWN);
    }
    let rows: Vec<CriterionStatistics> = rows.into_iter().map(|row| shown(row, width)).collect();
    let mut part = count.to_string();
    if rows.len() < count {
        part = format!("{SHOWN} of {count}; criteria --notes shows all");
    }
    let title = format!("Read differently by people and judge ({part})");
    let mut table = Table::new(title, Vec::new());
    for (key, format, cell) in STATISTICS {
        if ["name", "case_id", "labels", "people_gap", "people"].contains(&key) {
            let column = Column {
                // The rows are in its order.
                is_kept: key == "people_gap",
                ..CRITERIA_LEGEND.column(key, format)
            };
            table.column(column, &rows, cell);
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
    let single = criteria.criteria.iter().filter(|row| row.group_of == 0);
    let findings: Vec<Finding> = single.filter_map(|row| row.finding).collect();
    // Criteria come sorted by their finding.
    for same in findings.chunk_by(|a, b| a == b) {
        let (name, meaning) = words(same[0]);
        let count = Cell::count(same.len());
        table.rows.push(vec![name.into(), count, meaning.into()]);
    }
    table
}

/// The criteria of each tag that not all have, those with the largest suspicious share first, of equal ones the largest.
fn tags_table(criteria: &Criteria, all: bool) -> Table {
    let single = criteria.criteria.iter().filter(|row| row.case_id.is_some());
    let count = single.clone().count();
    let mut by_tag: BTreeMap<&str, Vec<&CriterionStatistics>> = BTreeMap::new();
    for row in single {
        for tag in &row.tags {
            by_tag.entry(tag).or_default().push(row);
        }
    }
    let mut tags: Vec<_> = by_tag.into_iter().collect();
    tags.retain(|(_, rows)| rows.len() < count);
    let suspicious = |rows: &[&CriterionStatistics]| {
        let suspicious = rows.iter().filter(|row| row.finding.is_some());
        suspicious.count()
    };
    let share = |rows: &[&CriterionStatistics]| suspicious(rows) as f64 / rows.len() as f64;
    tags.sort_by(|(_, a), (_, b)| {
        let by_share = share(b).total_cmp(&share(a));
        by_share.then(b.len().cmp(&a.len()))
    });
    let has_faults = tags
        .iter()
        .any(|(_, rows)| rows.iter().any(|row| row.fault));
    let faults = if has_faults {
        ", means without faults"
    } else {
        ""
    };
    let mut title = format!("By tag{faults}");
    if !all && tags.len() > SHOWN {
        title = format!(
            "By tag{faults} ({SHOWN} of {}; criteria --notes shows all)",
            tags.len()
        );
        tags.truncate(SHOWN);
    }
    let columns = vec![
        Column::text("tag"),
        Column::count("criteria"),
        Column::count("suspicious"),
        Column::new("mean", Format::Percent),
    ];
    let mut table = Table::new(title, columns);
    for (tag, rows) in tags {
        let merits = rows.iter().filter(|row| !row.fault);
        let means: Vec<f64> = merits.filter_map(|row| row.mean).collect();
        table.rows.push(vec![
            tag.into(),
            Cell::count(rows.len()),
            Cell::count(suspicious(&rows)),
            mean(&means).into(),
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
    for (key, format, cell) in STATISTICS {
        let is_empty = rows.iter().all(|row| cell(row) == Cell::Missing);
        if !without.is_empty() && (without.contains(&key) || is_empty) {
            continue;
        }
        let column = Column {
            // Whether a coefficient is defined depends on the data; the columns of a CSV file must
            // not.
            has_interval: format == COEFFICIENT,
            ..CRITERIA_LEGEND.column(key, format)
        };
        table.column(column, rows, cell);
    }
    table
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

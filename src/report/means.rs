//! Tables of means: for people, as JSON and as CSV.

use std::ops::Range;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table};
use serde_json::{Value, json};

use super::files::{csv_line, terminal_safe_json};
use super::layout::{per_cent, push_item};
use super::{TableStyle, visible};
use crate::aggregate::{Means, MeansRow, Metric, Unit};
use crate::error::{Error, Result};

/// Version of the shape of the JSON file.
const SCHEMA_VERSION: u32 = 1;

/// Where the intervals go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intervals {
    Beside,
    Below,
}

/// The table: shares in per cent with one decimal, counts with one decimal, 95% intervals beside the means where there
/// is room, else below them; columns that do not fit beside each other follow below. Then the notes.
pub fn render_means_table(means: &Means, notes: &[String], style: &TableStyle) -> String {
    let width = usize::from(style.width.max(80));
    let fits = |columns: Range<usize>, intervals| {
        draw(means, columns, intervals).lines().all(|line| line.chars().count() <= width)
    };
    let all = 0..means.columns.len();
    let mut out = String::from("Means an answer, shares (%) in per cent, 95% intervals\n\n");
    if fits(all.clone(), Intervals::Beside) {
        out.push_str(&draw(means, all, Intervals::Beside));
        out.push('\n');
    } else {
        let mut start = 0;
        while start < all.end {
            let end = (start + 1..=all.end).rev().find(|end| fits(start..*end, Intervals::Below)).unwrap_or(start + 1);
            out.push_str(if start > 0 { "\n" } else { "" });
            out.push_str(&draw(means, start..end, Intervals::Below));
            out.push('\n');
            start = end;
        }
    }
    if !notes.is_empty() {
        out.push('\n');
    }
    for note in notes {
        push_item(&mut out, note, width);
    }
    out
}

/// The systems with some of the columns.
fn draw(means: &Means, columns: Range<usize>, intervals: Intervals) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')));
    table.force_no_tty();
    let shown = means.columns.iter().skip(columns.start).take(columns.len());
    let mut header = vec!["system".to_owned(), "n".to_owned()];
    header.extend(shown.clone().map(|column| match column.unit {
        Unit::Share => format!("{} %", column.name.replace('_', " ")),
        Unit::Count => column.name.replace('_', " "),
    }));
    table.set_header(header);
    for row in &means.rows {
        let mut cells = vec![visible(row.system.as_str()).into_owned(), row.items.to_string()];
        let metrics = row.metrics.iter().skip(columns.start).take(columns.len());
        cells.extend(metrics.zip(shown.clone()).map(|(metric, column)| cell(metric, column.unit, intervals)));
        table.add_row(cells);
    }
    table.set_content_arrangement(ContentArrangement::Disabled);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.trim_fmt()
}

fn cell(metric: &Metric, unit: Unit, intervals: Intervals) -> String {
    let shown = |value: f64| match unit {
        Unit::Share => per_cent(value),
        Unit::Count => format!("{value:.1}"),
    };
    let Some(mean) = metric.estimate.map(shown) else { return "-".to_owned() };
    match (intervals, metric.interval) {
        (Intervals::Beside, Some((low, high))) => format!("{mean} [{}, {}]", shown(low), shown(high)),
        (Intervals::Below, Some((low, high))) => format!("{mean}\n{}–{}", shown(low), shown(high)),
        (_, None) => mean,
    }
}

/// The means as indented JSON with a line feed at the end: `{schema_version, seed, level, notes, rows: [{system, items,
/// <column>: {estimate, low, high, n, unscored}}]}`; shares are 0..=1.
///
/// # Errors
/// [`Error::Internal`] if they cannot be serialised.
pub fn render_means_json(means: &Means, notes: &[String]) -> Result<String> {
    let internal = |error: serde_json::Error| Error::Internal(format!("means as JSON: {error}"));
    let row = |row: &MeansRow| -> Result<Value> {
        let mut fields = serde_json::Map::new();
        fields.insert("system".to_owned(), row.system.as_str().into());
        fields.insert("items".to_owned(), row.items.into());
        for (column, metric) in means.columns.iter().zip(&row.metrics) {
            fields.insert(column.name.to_owned(), serde_json::to_value(metric).map_err(internal)?);
        }
        Ok(Value::Object(fields))
    };
    let rows: Vec<Value> = means.rows.iter().map(row).collect::<Result<_>>()?;
    let file =
        json!({"schema_version": SCHEMA_VERSION, "seed": means.seed, "level": 0.95, "notes": notes, "rows": rows});
    Ok(terminal_safe_json(&serde_json::to_string_pretty(&file).map_err(internal)?) + "\n")
}

/// The means as CSV, a row a system: `system, items`, then for each column itself and `_low, _high, _n, _unscored`;
/// shares are 0..=1, what is missing is empty.
pub fn render_means_csv(means: &Means) -> String {
    let mut csv = String::new();
    let mut header = vec!["system".into(), "items".into()];
    for column in &means.columns {
        header.push(column.name.into());
        header.extend(["low", "high", "n", "unscored"].map(|part| format!("{}_{part}", column.name).into()));
    }
    csv_line(&mut csv, &header);
    for row in &means.rows {
        let mut cells = vec![visible(row.system.as_str()), row.items.to_string().into()];
        for metric in &row.metrics {
            let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default().into();
            cells.extend([metric.estimate, metric.interval.map(|i| i.0), metric.interval.map(|i| i.1)].map(number));
            cells.extend([metric.n, metric.unscored].map(|count| count.to_string().into()));
        }
        csv_line(&mut csv, &cells);
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Column;
    use crate::domain::SystemName;

    fn means() -> Means {
        let columns =
            [Column { name: "markers", unit: Unit::Count }, Column { name: "cited_sentences", unit: Unit::Share }];
        let systems = [(SystemName::from("a\u{1b}"), vec![vec![Some(2.0), Some(0.5)], vec![Some(2.0), None]])];
        Means::of(&columns, &systems, 3)
    }

    #[test]
    fn shares_are_per_cent_in_the_table_which_never_is_too_wide_and_shares_in_files() {
        let table = render_means_table(&means(), &["a note".to_owned()], &TableStyle::default());
        assert!(table.contains("cited sentences %") && table.contains("2.0 [2.0, 2.0]"), "{table}");
        assert!(table.contains("50.0") && table.contains("a\\u{1b}") && table.ends_with("\n- a note\n"), "{table}");
        let names: &[&str] = &["one_quantity", "two_quantity", "three_quantity", "four_quantity", "five_quantity"];
        let columns: Vec<Column> = names.iter().map(|name| Column { name, unit: Unit::Share }).collect();
        let items = vec![vec![Some(0.25); 5], vec![Some(0.75); 5]];
        let table = render_means_table(&Means::of(&columns, &[("s".into(), items)], 1), &[], &TableStyle::default());
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        assert!(names.iter().all(|name| table.contains(&name.replace('_', " "))), "{table}");
        let csv = render_means_csv(&means());
        assert_eq!(csv.lines().nth(1), Some("a\\u{1b},2,2,2,2,2,0,0.5,,,1,1"));
        let json: Value = serde_json::from_str(&render_means_json(&means(), &[]).unwrap()).unwrap();
        assert_eq!(json["rows"][0]["cited_sentences"]["estimate"], 0.5);
    }
}

//! A leaderboard of any named numbers: a row a system, for people, as JSON and as CSV.

use std::borrow::Cow;

use comfy_table::{Attribute, Cell, CellAlignment};
use serde_json::{Map, Value, json};

use super::files::{csv_line, terminal_safe_json};
use super::layout::{NAME, name_lines, per_cent, plain_table, push_item, table_names};
use super::{TableStyle, visible};
use crate::error::{Error, Result};

/// Version of the shape of the JSON.
const SCHEMA_VERSION: u32 = 1;

/// Systems and their numbers, best first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScoreTable {
    /// What is scored and how, as the first line.
    pub title: String,
    /// Names of the numbers, in the order of each row's values.
    pub names: Vec<String>,
    /// Which of them a table of several systems shows (positions in `names`); files and one system's table have all.
    pub shown: Vec<usize>,
    /// The systems.
    pub rows: Vec<ScoreRow>,
    /// What else is to be said, one sentence each.
    pub notes: Vec<String>,
}

/// One system.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScoreRow {
    /// Its name.
    pub system: String,
    /// Its numbers, 0..=1; `None` where it has none.
    pub values: Vec<Option<f64>>,
    /// Their 95% intervals, where there are any.
    pub intervals: Vec<Option<(f64, f64)>>,
    /// Why it has no numbers.
    pub unscored: Option<String>,
    /// Further fields of its JSON object.
    pub more: Map<String, Value>,
}

impl ScoreRow {
    fn interval(&self, which: usize) -> Option<(f64, f64)> {
        self.intervals.get(which).copied().flatten()
    }

    fn value(&self, which: usize) -> Option<f64> {
        self.values.get(which).copied().flatten()
    }
}

/// The table for people, in per cent with 95% intervals: a row a system, or, for one system alone, a row a number.
pub fn render_score_table(scores: &ScoreTable, style: &TableStyle) -> String {
    let mut table = plain_table(style.color);
    let bold = |title: Cow<'_, str>| {
        let cell = Cell::new(title);
        if style.color { cell.add_attribute(Attribute::Bold) } else { cell }
    };
    if let [row] = &scores.rows[..] {
        table.set_header([bold(visible(&row.system)), bold("per cent".into()), bold("95% interval".into())]);
        for (which, name) in scores.names.iter().enumerate() {
            let interval = row.interval(which).map_or_else(String::new, |(low, high)| ends(low, high));
            table.add_row([readable(name), value_text(row.value(which)), interval]);
        }
    } else {
        let names = scores.shown.iter().map(|which| readable(&scores.names[*which]).replace(' ', "\n"));
        table.set_header(std::iter::once("system".to_owned()).chain(names).map(|name| bold(name.into())));
        let systems = table_names(scores.rows.iter().map(|row| row.system.as_str()));
        for (row, system) in scores.rows.iter().zip(systems) {
            let cell = |which: &usize| match row.interval(*which) {
                Some((low, high)) => format!("{}\n{}", value_text(row.value(*which)), ends(low, high)),
                None => value_text(row.value(*which)),
            };
            let system = name_lines(&system, NAME);
            table.add_row(std::iter::once(system).chain(scores.shown.iter().map(cell)));
        }
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut out = format!("{}\nPer cent with 95% intervals\n\n{}\n", visible(&scores.title), table.trim_fmt());
    let unscored = scores.rows.iter().filter_map(|row| Some(format!("{}: {}", row.system, row.unscored.as_ref()?)));
    for (at, note) in unscored.chain(scores.notes.iter().cloned()).enumerate() {
        out.push_str(if at == 0 { "\n" } else { "" });
        push_item(&mut out, &visible(&note), usize::from(style.width.max(80)));
    }
    out
}

/// A number's name for people: `sentence_label_f1` is `sentence label F1`.
fn readable(name: &str) -> String {
    let word = |word: &str| if word == "f1" { "F1".to_owned() } else { word.to_owned() };
    name.split('_').map(word).collect::<Vec<_>>().join(" ")
}

fn value_text(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), per_cent)
}

fn ends(low: f64, high: f64) -> String {
    format!("{}–{}", per_cent(low), per_cent(high))
}

/// The table as JSON: `{schema_version, title, systems: [{system, rank, unscored, metrics: {name: {estimate, low, high}},
/// ..}], notes}`; numbers are 0..=1, null where there is none.
///
/// # Errors
/// [`Error::Internal`] if it cannot be serialised.
pub fn render_score_json(scores: &ScoreTable) -> Result<String> {
    let system = |(at, row): (usize, &ScoreRow)| {
        let metric = |(which, name): (usize, &String)| {
            let (low, high) = row.interval(which).unzip();
            (name.clone(), json!({"estimate": row.value(which), "low": low, "high": high}))
        };
        let metrics: Map<String, Value> = scores.names.iter().enumerate().map(metric).collect();
        let mut object = Map::new();
        object.insert("system".to_owned(), row.system.as_str().into());
        object.insert("rank".to_owned(), (at + 1).into());
        object.insert("unscored".to_owned(), row.unscored.clone().into());
        object.insert("metrics".to_owned(), metrics.into());
        object.extend(row.more.clone());
        Value::Object(object)
    };
    let systems: Vec<Value> = scores.rows.iter().enumerate().map(system).collect();
    let file = json!({
        "schema_version": SCHEMA_VERSION, "title": scores.title, "systems": systems, "notes": scores.notes,
    });
    let json = serde_json::to_string_pretty(&file).map_err(|e| Error::Internal(format!("scores as JSON: {e}")))?;
    Ok(terminal_safe_json(&json) + "\n")
}

/// The table as CSV: `system`, `rank`, of each number itself, `_low` and `_high`, then `unscored`; empty where there is
/// none.
pub fn render_score_csv(scores: &ScoreTable) -> String {
    let mut header: Vec<Cow<'_, str>> = vec!["system".into(), "rank".into()];
    for name in &scores.names {
        header.extend([name.clone(), format!("{name}_low"), format!("{name}_high")].map(Cow::from));
    }
    header.push("unscored".into());
    let mut csv = String::new();
    csv_line(&mut csv, &header);
    let number = |value: Option<f64>| Cow::from(value.map_or_else(String::new, |value| value.to_string()));
    for (at, row) in scores.rows.iter().enumerate() {
        let mut cells = vec![visible(&row.system), Cow::from((at + 1).to_string())];
        for which in 0..scores.names.len() {
            let (low, high) = row.interval(which).unzip();
            cells.extend([row.value(which), low, high].map(number));
        }
        cells.push(visible(row.unscored.as_deref().unwrap_or_default()));
        csv_line(&mut csv, &cells);
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(systems: &[&str]) -> ScoreTable {
        let row = |system: &&str| ScoreRow {
            system: (*system).to_owned(),
            values: vec![Some(0.25), Some(0.5)],
            intervals: vec![None, Some((0.4, 0.625))],
            ..ScoreRow::default()
        };
        ScoreTable {
            title: "Things".to_owned(),
            names: vec!["left_p".to_owned(), "left_f1".to_owned()],
            shown: vec![1],
            rows: systems.iter().map(row).collect(),
            notes: vec!["that is all".to_owned()],
        }
    }

    #[test]
    fn one_system_has_a_row_a_number_and_several_have_a_row_a_system() {
        let one = render_score_table(&scores(&["a\u{1b}"]), &TableStyle::default());
        let lines: Vec<&str> = one.lines().map(str::trim_end).collect();
        assert!(lines[3].starts_with("a\\u{1b}") && lines[5].ends_with("25.0"), "{one}");
        assert!(
            lines[6].starts_with("left F1") && lines[6].ends_with("40.0–62.5") && lines[8] == "- that is all",
            "{one}"
        );
        let two = render_score_table(&scores(&["a", "b"]), &TableStyle::default());
        assert!(!two.contains("25.0") && two.matches("40.0–62.5").count() == 2, "{two}");
    }

    #[test]
    fn files_have_every_number_unrounded_and_reasons() {
        let mut scores = scores(&["a,b", "c"]);
        scores.rows[1] = ScoreRow { system: "c".into(), unscored: Some("KeyError".into()), ..ScoreRow::default() };
        let csv = render_score_csv(&scores);
        let expected = "system,rank,left_p,left_p_low,left_p_high,left_f1,left_f1_low,left_f1_high,unscored\n\
                        \"a,b\",1,0.25,,,0.5,0.4,0.625,\nc,2,,,,,,,KeyError\n";
        assert_eq!(csv, expected);
        let json: Value = serde_json::from_str(&render_score_json(&scores).unwrap()).unwrap();
        assert_eq!(json["systems"][0]["metrics"]["left_f1"], json!({"estimate": 0.5, "low": 0.4, "high": 0.625}));
        assert_eq!(json["systems"][1]["unscored"], "KeyError");
    }
}

//! `scholareval config`: the effective settings, each with its origin.

use serde_json::{Value, json};

use crate::cli::ExitCode;
use crate::cli::args::OutputFormat;
use crate::cli::origin::SettingLine;
use crate::cli::settings::Settings;
use crate::cli::terminal::{write_stdout, write_text};
use crate::error::Result;
use crate::report::Table;
use crate::report::table::{Cell, Column, Format};

pub(super) fn run(settings: &Settings) -> Result<ExitCode> {
    let lines = &settings.lines;
    match settings.format {
        OutputFormat::Table => write_text(&render_table(lines))?,
        OutputFormat::Json => write_stdout(render_json(lines).as_bytes())?,
        OutputFormat::Csv => write_stdout(render_csv(lines)?.as_bytes())?,
    }
    Ok(ExitCode::Ok)
}

/// Three aligned columns: key, value, origin. A long value shifts only its own origin.
fn render_table(lines: &[SettingLine]) -> String {
    const WIDEST_VALUE: usize = 40;
    let key_width = lines.iter().map(|line| line.key.chars().count()).max().unwrap_or(0);
    let widths = lines.iter().map(|line| line.value_text().chars().count());
    let value_width = widths.filter(|width| *width <= WIDEST_VALUE).max().unwrap_or(0);
    let row =
        |line: &SettingLine| format!("{:key_width$}  {:value_width$}  {}\n", line.key, line.value_text(), line.origin);
    lines.iter().map(row).collect()
}

/// An array of `{key, value, origin}`.
fn render_json(lines: &[SettingLine]) -> String {
    let row = |line: &SettingLine| json!({"key": line.key, "value": line.value, "origin": line.origin.to_string()});
    format!("{:#}\n", lines.iter().map(row).collect::<Value>())
}

fn render_csv(lines: &[SettingLine]) -> Result<String> {
    let mut table = Table::new("", ["key", "value", "origin"].map(|key| Column::new(key, Format::Text)).to_vec());
    let cells =
        |line: &SettingLine| [line.key.clone(), line.value_text(), line.origin.to_string()].map(Cell::Text).to_vec();
    table.rows = lines.iter().map(cells).collect();
    table.csv()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::origin::Origin;

    fn lines() -> Vec<SettingLine> {
        vec![
            SettingLine {
                key: "judge.model".to_owned(),
                value: json!("a,b"),
                origin: Origin::Flag("--model".to_owned()),
            },
            SettingLine { key: "limits.rpm".to_owned(), value: Value::Null, origin: Origin::Default },
        ]
    }

    #[test]
    fn the_table_aligns_key_value_and_origin() {
        assert_eq!(render_table(&lines()), "judge.model  a,b  flag --model\nlimits.rpm   -    default\n");
    }

    #[test]
    fn csv_quotes_cells_with_commas() {
        assert_eq!(
            render_csv(&lines()).unwrap(),
            "key,value,origin\njudge.model,\"a,b\",flag --model\nlimits.rpm,-,default\n"
        );
    }

    #[test]
    fn json_keeps_types() {
        let rows: Value = serde_json::from_str(&render_json(&lines())).unwrap();
        assert_eq!(rows[1], json!({"key": "limits.rpm", "value": null, "origin": "default"}));
    }
}

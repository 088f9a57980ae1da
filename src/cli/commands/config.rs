//! `scholareval config`: the effective settings, each with its origin.

use serde_json::{Value, json};

use super::Context;
use crate::cli::origin::SettingLine;
use crate::cli::settings::Settings;
use crate::error::Result;
use crate::report::table::{Cell, Column, Format, Table};
use crate::report::visible;

pub(super) fn run(settings: &Settings, context: &Context<'_>) -> Result<()> {
    let lines = &settings.lines;
    let row = |line: &SettingLine| json!({"key": line.key, "value": line.value, "origin": line.origin.to_string()});
    let rows: Vec<Value> = lines.iter().map(row).collect();
    context.show(
        settings.format,
        &rows,
        &[],
        |_| Ok(render_text(lines)),
        || table(lines),
    )
}

/// A line for each setting: key, value and where it comes from.
fn render_text(lines: &[SettingLine]) -> String {
    lines
        .iter()
        .map(|line| {
            format!(
                "{} = {}  # {}\n",
                line.key,
                line.value_text(),
                visible(&line.origin.to_string())
            )
        })
        .collect()
}

fn table(lines: &[SettingLine]) -> Table {
    let mut table = Table::new(
        "",
        ["key", "value", "origin"]
            .map(|key| Column::new(key, Format::Text))
            .to_vec(),
    );
    let cells = |line: &SettingLine| {
        [line.key.clone(), line.value_text(), line.origin.to_string()]
            .map(Cell::Text)
            .to_vec()
    };
    table.rows = lines.iter().map(cells).collect();
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::origin::Origin;
    use crate::report::CsvText;

    fn lines() -> Vec<SettingLine> {
        vec![
            SettingLine {
                key: "judge.model".to_owned(),
                value: json!("a,b"),
                origin: Origin::Flag("--model".to_owned()),
            },
            SettingLine {
                key: "limits.rpm".to_owned(),
                value: Value::Null,
                origin: Origin::Default,
            },
        ]
    }

    #[test]
    fn a_line_has_key_value_and_origin() {
        assert_eq!(
            render_text(&lines()),
            "judge.model = a,b  # flag --model\nlimits.rpm = -  # default\n"
        );
    }

    #[test]
    fn csv_quotes_cells_with_commas() {
        assert_eq!(
            table(&lines()).csv(CsvText::Guarded).unwrap(),
            "key,value,origin\njudge.model,\"a,b\",flag --model\nlimits.rpm,-,default\n"
        );
    }
}

//! `scholareval config`: the effective settings, each with its origin.

use serde_json::json;

use super::CommandContext;
use crate::cli::origin::SettingLine;
use crate::cli::settings::Settings;
use crate::error::Result;
use crate::report::table::{Cell, Column, Table};
use crate::report::visible;

/// Runs the command.
///
/// # Errors
/// When the settings cannot be written.
pub(super) fn run(settings: &Settings, context: &CommandContext<'_>) -> Result<()> {
    let lines = &settings.lines;
    let mut rows = Vec::new();
    for line in lines {
        rows.push(json!({
            "key": line.key,
            "value": line.value,
            "origin": line.origin.to_string(),
        }));
    }
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
    let mut text = String::new();
    for line in lines {
        text.push_str(&format!(
            "{} = {}  # {}\n",
            line.key,
            line.value_text(),
            visible(&line.origin.to_string())
        ));
    }
    text
}

fn table(lines: &[SettingLine]) -> Table {
    let mut table = Table::new("", ["key", "value", "origin"].map(Column::text).to_vec());
    for line in lines {
        table.rows.push(vec![
            Cell::text(&line.key),
            Cell::text(line.value_text()),
            Cell::text(line.origin.to_string()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

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

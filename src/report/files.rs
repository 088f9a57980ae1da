//! Summaries for programs: `summary.json` and `summary.csv`.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;

use super::visible::is_unseen;
use super::{ReportContext, visible};
use crate::analysis::{Agreement, Summary};
use crate::error::{Error, Result};

/// Version of the shape of `summary.json`.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct SummaryFile<'a> {
    schema_version: u32,
    run: &'a str,
    judge: &'a str,
    prompts: &'a str,
    comparability_note: Option<&'a str>,
    unscored_share: f64,
    #[serde(flatten)]
    summary: &'a Summary,
    remarks: &'a [String],
    agreement: Option<&'a Agreement>,
}

/// The summary as JSON, indented, with a line feed at the end; scores are 0..=1, null where there is none.
///
/// Control characters of names and messages are escaped also beyond what JSON asks for, so that the text can be
/// shown in a terminal.
///
/// # Errors
/// [`Error::Internal`] if the summary cannot be serialised.
pub fn render_json(summary: &Summary, context: &ReportContext) -> Result<String> {
    let json = serde_json::to_string_pretty(&file(summary, context)).map_err(internal)?;
    Ok(terminal_safe_json(&json) + "\n")
}

pub(super) fn internal(error: serde_json::Error) -> Error {
    Error::Internal(format!("summary as JSON: {error}"))
}

/// What `summary.json` says of the rubric.
pub(super) fn file<'a>(summary: &'a Summary, context: &'a ReportContext) -> impl Serialize + 'a {
    SummaryFile {
        schema_version: SCHEMA_VERSION,
        run: &context.run,
        judge: &context.judge_label,
        prompts: &context.prompts_label,
        comparability_note: context.comparability_note.as_deref(),
        unscored_share: summary.unscored_share(),
        summary,
        remarks: &context.remarks,
        agreement: context.agreement.as_ref(),
    }
}

/// Unseen characters other than the line feeds of the layout stand only within strings, where `\uXXXX` means the same.
pub fn terminal_safe_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        if character != '\n' && is_unseen(character) {
            // All of them lie in the basic plane: four digits are enough. Writing to a string cannot fail.
            let _ = write!(safe, "\\u{:04x}", u32::from(character));
        } else {
            safe.push(character);
        }
    }
    safe
}

/// The summary as CSV: a header, then one row a system, best first; scores are 0..=1, empty where there is none.
///
/// Each metric has five columns: itself, `_low` and `_high` (ends of the interval), `_n`, `_unscored`.
pub fn render_csv(summary: &Summary) -> String {
    let mut csv = String::new();
    let mut header: Vec<Cow<'_, str>> = vec!["system".into(), "rank".into()];
    for (name, _) in crate::analysis::Metrics::default().named(summary.lexical) {
        header.push(name.into());
        header.extend(["low", "high", "n", "unscored"].map(|part| format!("{name}_{part}").into()));
    }
    let (score, ann_score) = (summary.score_name(), summary.ann_score_name());
    header.extend(["cases_scored", "cases_kept", "missing", "unscored"].map(Cow::from));
    for name in [score, ann_score] {
        header.extend(["lower_bound", "upper_bound"].map(|part| format!("{name}_{part}").into()));
    }
    header.push("steering".into());
    csv_line(&mut csv, &header);
    for row in &summary.rows {
        let mut cells: Vec<Cow<'_, str>> = vec![visible(row.system.as_str()), cell(row.rank)];
        for (_, metric) in row.metrics.named(row.lexical) {
            cells.extend([
                cell(metric.estimate),
                cell(metric.interval.map(|i| i.0)),
                cell(metric.interval.map(|i| i.1)),
            ]);
            cells.extend([metric.n, metric.unscored].map(|count| cell(Some(count))));
        }
        cells.extend([row.cases_scored, row.cases_kept, row.missing, row.unscored].map(|count| cell(Some(count))));
        let bounds = row.bounds;
        cells.extend([cell(bounds.map(|b| b.score_low)), cell(bounds.map(|b| b.score_high))]);
        cells.extend([cell(bounds.and_then(|b| b.ann_score_low)), cell(bounds.and_then(|b| b.ann_score_high))]);
        cells.push(cell(Some(row.steering)));
        csv_line(&mut csv, &cells);
    }
    csv
}

fn cell<T: ToString>(value: Option<T>) -> Cow<'static, str> {
    value.map(|value| value.to_string()).unwrap_or_default().into()
}

/// Appends one line, cells quoted where RFC 4180 asks for it.
pub(super) fn csv_line(csv: &mut String, cells: &[Cow<'_, str>]) {
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            csv.push(',');
        }
        if cell.contains([',', '"', '\n', '\r']) {
            csv.push('"');
            csv.push_str(&cell.replace('"', "\"\""));
            csv.push('"');
        } else {
            csv.push_str(cell);
        }
    }
    csv.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::made::{answer, simple_score};
    use crate::analysis::{AggregateOptions, summarize};

    fn summary(lexical: bool) -> Summary {
        let scored = [
            answer("gpt", "c1", simple_score(Some(1.0))),
            answer("gpt", "c2", simple_score(Some(0.5))),
            answer("evil\u{1b}[2J\u{9b},\"", "c1", simple_score(None)),
        ];
        summarize(&scored, &[], AggregateOptions { lexical, ..AggregateOptions::default() })
    }

    #[test]
    fn the_csv_has_one_row_a_system_and_empty_cells_for_nulls() {
        let csv = render_csv(&summary(false));
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("system,rank,score,score_low,score_high,score_n,score_unscored,ann_score,"));
        // (0.8 + 0.5) / 2
        assert!(lines[1].starts_with("gpt,1,0.65,"), "{}", lines[1]);
        assert!(lines[2].starts_with(r#""evil\u{1b}[2J\u{9b},""",,,,,0,1,"#), "{}", lines[2]);
        assert_eq!(lines[0].matches(',').count(), lines[1].matches(',').count());
    }

    #[test]
    fn the_json_is_plain_numbers_and_safe_to_show() {
        let context = ReportContext { judge_label: "gpt-4o\u{9b}".to_owned(), ..ReportContext::default() };
        let json = render_json(&summary(false), &context).unwrap();
        assert!(!json.chars().any(|c| c != '\n' && c.is_control()));
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["judge"], "gpt-4o\u{9b}");
        assert_eq!(value["schema_version"], 1);
        assert_eq!(value["rows"][0]["score"]["estimate"], 0.65);
        assert_eq!(value["rows"][1]["system"], "evil\u{1b}[2J\u{9b},\"");
        assert!(value["rows"][1]["score"]["estimate"].is_null());
    }

    #[test]
    fn a_lexical_summary_has_no_column_called_score() {
        let summary = summary(true);
        let csv = render_csv(&summary);
        let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        assert!(header.contains(&"lexical_score") && header.contains(&"lexical_ann_score_upper_bound"));
        assert!(!header.contains(&"score") && !header.contains(&"ann_score"));
    }
}

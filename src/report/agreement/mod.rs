//! Agreement of raters: for people a verdict and tables, for programs one CSV.
//!
//! A person reads the summary, the verdict and the notes; `--by` adds the tables of raters, items or systems. The CSV has every
//! number of the result, one per row.

mod csv;
mod tables;
mod verdict;

pub use csv::render_agreement_csv;
pub use tables::{AgreementTables, label_plan_table};
pub(super) use tables::{confusion_table, is_skewed};

use super::comparison::gate_lines;
use super::table::note_lines;
use super::{TableStyle, visible, wrapped};
use crate::analysis::rater_agreement::{PoweredMean, RaterAgreement};

/// A space at which no line breaks: numbers and intervals stay together.
const UNBROKEN: &str = "\u{a0}";

/// The row of the ceiling for every judge.
const PEOPLE: &str = "people with people";

/// The summary, the verdict, the tables in `by` (with all notes: every table), then the notes.
pub fn render_agreement_table(
    agreement: &RaterAgreement,
    by: &[AgreementTables],
    style: &TableStyle,
) -> String {
    let mut out = tables::summary(agreement).terminal(style);
    out.push('\n');
    out += &line(&verdict::verdict(agreement), style);
    out += &gate_lines(&agreement.gates, style);
    for confusion in &agreement.confusions {
        out.push('\n');
        out += &tables::confusion_table(confusion).terminal(style);
    }
    for reliability in &agreement.reliability {
        out.push('\n');
        out += &tables::reliability_table(reliability).terminal(style);
    }
    for table in tables::tables(agreement, by, style.all_notes) {
        // A header above nothing would look like a result; the notes say why there is none.
        if table.rows.is_empty() {
            out += &style.notes(&table.notes);
        } else {
            out.push('\n');
            out += &table.terminal(style);
        }
    }
    out.push('\n');
    for note in note_lines(&agreement.notes, style.all_notes) {
        out += &line(&format!("- {note}"), style);
    }
    out
}

/// A wrapped line. It is escaped before its unbreakable spaces become plain ones again.
fn line(text: &str, style: &TableStyle) -> String {
    wrapped(&visible(text), style.columns()).replace(UNBROKEN, " ") + "\n"
}

/// `FIRST`, or `FIRST - SECOND`.
fn powered_name(mean: &PoweredMean) -> String {
    match &mean.minus {
        Some(minus) => format!("{} - {minus}", mean.system),
        None => mean.system.to_string(),
    }
}

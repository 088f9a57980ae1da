//! How many dear verdicts are drawn, for people and as a table.

use super::layout::{counted, wrapped};
use super::numbers::{percent, points};
use super::table::{Column, Format, Table};
use super::{TableStyle, visible};
use crate::domain::Unit;
use crate::runs::VerdictPlan;

/// The plan in a sentence, then the table.
pub fn verdict_plan_text(plan: &VerdictPlan, style: &TableStyle) -> String {
    let row = plan.fewest.as_ref().or(plan.rows.last());
    let sentence = row.map_or_else(String::new, |row| {
        format!(
            "{} of {} verdicts by the dear judge correct the mean of a system to ±{}.",
            row.drawn,
            plan.verdicts,
            points(row.half_width, Unit::Net)
        )
    });
    format!(
        "{}\n\n{}",
        wrapped(&visible(&sentence), style.columns()),
        verdict_plan_table(plan).terminal(style)
    )
}

/// A row for each number of drawn verdicts.
pub fn verdict_plan_table(plan: &VerdictPlan) -> Table {
    let title = format!(
        "{} interval of a system's corrected mean, half-width ({} of {}, by the cheap judge's probabilities)",
        percent(plan.level),
        counted(plan.verdicts, "verdict"),
        counted(plan.answers, "answer"),
    );
    let mut rows = plan.rows.clone();
    rows.extend(plan.fewest);
    rows.sort_by_key(|row| row.drawn);
    rows.dedup();
    let mut table = Table::new(title, Vec::new());
    table.column(Column::count("drawn"), &rows, |row| row.drawn);
    let share = Column::headed("share", "drawn (%)", Format::Percent);
    table.column(share, &rows, |row| row.drawn as f64 / plan.verdicts as f64);
    let corrected = Column::headed("half_width", "corrected", Format::of_mean(Unit::Net));
    table.column(corrected, &rows, |row| row.half_width);
    table
}

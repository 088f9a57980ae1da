//! How many anchors an old judge scores, for people and as a table.

use super::layout::{counted, wrapped};
use super::numbers::{percent, points};
use super::table::{Column, Format, Table};
use super::{TableStyle, visible};
use crate::analysis::comparison::AnchorPlan;

/// The plan in a sentence, then the table.
pub fn anchor_plan_text(plan: &AnchorPlan, style: &TableStyle) -> String {
    let sentence = wrapped(&visible(&sentence(plan)), style.columns());
    format!("{sentence}\n\n{}", anchor_plan_table(plan).terminal(style))
}

fn sentence(plan: &AnchorPlan) -> String {
    let name = &plan.metric.name;
    let Some(row) = plan.rows.first() else {
        return format!(
            "{name}: the old judge can score all {} answers of a system; there is nothing to estimate.",
            plan.answers
        );
    };
    format!(
        "{name}: if the old judge scores {} random ones of {} answers of a system, its mean of all is known to ±{}; the mean of \
         the {} alone to ±{}.",
        row.anchors,
        plan.answers,
        points(row.half_width, plan.metric.unit),
        row.anchors,
        points(row.alone, plan.metric.unit),
    )
}

/// A row for each number of anchors.
pub fn anchor_plan_table(plan: &AnchorPlan) -> Table {
    let title = format!(
        "{} interval of a system's mean on the scale of the old judge, half-width ({} answers a system; from {} by both judges)",
        percent(plan.level),
        plan.answers,
        counted(plan.pilot, "answer"),
    );
    let mut table = Table::new(title, Vec::new());
    let rows = &plan.rows;
    table.column(Column::count("anchors"), rows, |row| row.anchors);
    let format = Format::of_mean(plan.metric.unit);
    let corrected = Column::headed("half_width", "corrected", format);
    table.column(corrected, rows, |row| row.half_width);
    let alone = Column::headed("alone", "anchors alone", format);
    table.column(alone, rows, |row| row.alone);
    table
}

//! Means on the scale of an old judge, in a sentence and as a table.

use std::collections::BTreeMap;

use crate::analysis::comparison::{OldScale, OldScaleMean, ScaleBasis};
use crate::domain::Note;
use crate::report::layout::{counted, listed};
use crate::report::numbers::{percent, unit_name};
use crate::report::table::{Cell, Column, Format, Table};

/// `score: estimated on the scale of gpt-4o, which scored 30 of 100 answers of each system, drawn at random.`
pub(super) fn sentence(scale: &OldScale) -> String {
    let name = &scale.metric.name;
    let old = &scale.old;
    if scale.systems.iter().all(|system| system.estimate.is_none()) {
        return format!(
            "{name}: no mean on the scale of {old} can be estimated{}.",
            by_systems(scale)
        );
    }
    match &scale.basis {
        ScaleBasis::Anchors => format!(
            "{name}: estimated on the scale of {old}, which scored {}, drawn at random. These means are not ranked with measured \
             ones.",
            scored_part(&scale.systems)
        ),
        ScaleBasis::Systems(systems) => {
            let names = listed(systems.iter().map(ToString::to_string)).unwrap_or_default();
            format!(
                "{name}: estimated on the scale of {old}, which did not score these systems, by the shift of {} from {old} to {}: {names}{}. \
                 This assumes that the two judges differ on these systems as they do on those. The means are not ranked with \
                 measured ones.",
                counted(systems.len(), "system"),
                scale.new,
                means_between(scale)
            )
        }
    }
}

/// ` from 6 systems (means of 30.3 to 38.2 by new)`; empty where the old judge scored a part of the answers.
fn by_systems(scale: &OldScale) -> String {
    match &scale.basis {
        ScaleBasis::Anchors => String::new(),
        ScaleBasis::Systems(systems) => format!(
            " from {}{}",
            counted(systems.len(), "system"),
            means_between(scale)
        ),
    }
}

/// ` (means of 30.3 to 38.2 by new)`; empty where the old judge scored a part of the answers.
fn means_between(scale: &OldScale) -> String {
    let format = Format::of_mean(scale.metric.unit);
    scale.systems_range.map_or_else(String::new, |range| {
        format!(
            " (means of {} to {} by {})",
            format.show(range.low),
            format.show(range.high),
            scale.new
        )
    })
}

/// `30 of 100 answers of each system`; the range where systems differ.
fn scored_part(systems: &[OldScaleMean]) -> String {
    let anchors = systems.iter().map(|system| system.anchors);
    let least = anchors.clone().min().unwrap_or_default();
    let most = anchors.max().unwrap_or_default();
    let answers = systems.first().map_or(0, |system| system.answers);
    if least == most {
        format!("{least} of {answers} answers of each system")
    } else {
        format!("{least} to {most} of {answers} answers of each system")
    }
}

/// Why estimates and intervals are missing, each reason once.
pub(super) fn old_scale_notes(scale: &OldScale) -> Vec<Note> {
    let mut by_reason: BTreeMap<(bool, &str), Vec<String>> = BTreeMap::new();
    for mean in &scale.systems {
        if let Some(why) = &mean.why_not {
            let systems = by_reason.entry((mean.estimate.is_some(), why)).or_default();
            systems.push(mean.system.to_string());
        }
    }
    let mut notes = Vec::new();
    for ((has_estimate, why), systems) in by_reason {
        let number = if has_estimate {
            "interval for these answers"
        } else {
            "estimate"
        };
        let systems = listed(systems).unwrap_or_default();
        notes.push(Note::warning(format!(
            "{}: no {number} of {systems}: {why}.",
            scale.metric.name
        )));
    }
    notes
}

/// The systems with their means on the old scale.
pub(super) fn systems_on_old_scale(scale: &OldScale, level: f64) -> Table {
    let format = Format::of_mean(scale.metric.unit);
    let title = format!(
        "{} ({}) estimated on the scale of {} from scores by {}, {} intervals",
        scale.metric.name,
        unit_name(scale.metric.unit),
        scale.old,
        scale.new,
        percent(level),
    );
    let rows = &scale.systems;
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("system"), rows, |row| &row.system);
    let estimate = Column::headed("estimate", "these answers", format).kept();
    table.column(estimate, rows, |row| {
        Cell::estimate(row.estimate, row.interval)
    });
    let is_anchored = scale.basis == ScaleBasis::Anchors;
    if is_anchored {
        let of_questions = Column::headed("of_questions", "all such questions", format);
        table.column(of_questions, rows, |row| {
            Cell::estimate(row.estimate, row.of_questions)
        });
    }
    let new_mean = Column::headed("new_mean", "by new judge", format);
    table.column(new_mean, rows, |row| row.new_mean);
    if is_anchored {
        let alone = Column::headed("anchors_mean", "anchors alone", format);
        table.column(alone, rows, |row| {
            Cell::estimate(row.anchors_mean, row.anchors_interval)
        });
        table.column(Column::count("anchors"), rows, |row| row.anchors);
    }
    table.column(Column::count("answers"), rows, |row| row.answers);
    table
}

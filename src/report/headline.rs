//! The scorecard in one look: the main numbers of every scorer, a row a system.

use super::TableStyle;
use super::layout::push_item;
use super::section_table::{HEADLINE, fewer, section_table_of};
use crate::analysis::{Column, Metric, Scorecard, Section, SectionMetric, SectionRow};
use crate::domain::{SystemName, Unit};

/// The main columns of the scorers that count more than they judge; of a scorer that is not here all shares and grades.
const MAIN: [(&str, &[&str]); 3] = [
    ("entailment", &["citation_precision", "citation_recall", "citation_f1"]),
    ("citation_audit", &["valid", "precision", "recall", "f1"]),
    ("overlap", &["match", "exact_match", "token_f1", "str_em", "rouge_l"]),
];

/// The table, where more than one scorer has columns; what a system lacks is a dash.
pub(super) fn headline(card: &Scorecard, style: &TableStyle) -> Option<String> {
    let tables = card.sections.len() + usize::from(card.rubric.is_some());
    if tables < 2 {
        return None;
    }
    let systems = systems(card);
    let mut all = Section { scorer: HEADLINE, columns: Vec::new(), rows: Vec::new(), notes: Vec::new() };
    all.rows = systems.iter().map(|(system, items)| row(system, *items)).collect();
    if let Some(rubric) = &card.rubric {
        all.columns.push(Column { name: rubric.score_name().replace("score", "rubric score"), unit: Unit::Share });
        for row in &mut all.rows {
            let own = rubric.rows.iter().find(|of| of.system == row.system);
            row.metrics.push(own.map_or_else(SectionMetric::default, |own| bare(&own.metrics.score)));
        }
    }
    for section in &card.sections {
        for (at, column) in section.columns.iter().enumerate().filter(|(_, column)| is_main(section, column)) {
            all.columns.push(Column { name: name_of(section, column), unit: column.unit });
            for row in &mut all.rows {
                let own = section.rows.iter().find(|of| of.system == row.system);
                let metric = own.and_then(|own| own.metrics.get(at));
                row.metrics.push(metric.map_or_else(SectionMetric::default, |own| bare(&own.metric)));
            }
        }
    }
    let heading = "means (grades from 1 to 5, % in per cent); their intervals stand below";
    let mut table = section_table_of(&all, heading, style);
    // What stands first over a few answers is not the best.
    if let Some(note) = fewer(&all, true) {
        push_item(&mut table, &note, usize::from(style.width.max(80)));
    }
    Some(table)
}

/// A mean without its interval.
fn bare(metric: &Metric) -> SectionMetric {
    SectionMetric { metric: Metric { interval: None, ..*metric }, ..SectionMetric::default() }
}

fn row(system: &SystemName, items: usize) -> SectionRow {
    SectionRow {
        system: system.clone(),
        items,
        unscored: 0,
        unjudged: 0,
        unscored_reasons: Vec::new(),
        metrics: Vec::new(),
    }
}

/// Every system with its number of answers, in the order of the scorecard.
fn systems(card: &Scorecard) -> Vec<(SystemName, usize)> {
    let ranked =
        card.rubric.iter().flat_map(|rubric| &rubric.rows).map(|row| (&row.system, row.cases_kept - row.missing));
    let others = card.sections.iter().flat_map(|section| &section.rows).map(|row| (&row.system, row.items));
    let mut systems: Vec<(SystemName, usize)> = Vec::new();
    for (system, items) in ranked.chain(others) {
        match systems.iter_mut().find(|(known, _)| known == system) {
            Some((_, most)) => *most = items.max(*most),
            None => systems.push((system.clone(), items)),
        }
    }
    systems
}

pub(super) fn is_main(section: &Section, column: &Column) -> bool {
    match MAIN.iter().find(|(scorer, _)| *scorer == section.scorer) {
        Some((_, names)) => names.contains(&column.name.as_str()),
        None => column.unit != Unit::Count,
    }
}

/// Columns of the audit need its name: others have a precision, too.
pub(super) fn name_of(section: &Section, column: &Column) -> String {
    match (section.scorer, column.name.as_str()) {
        ("citation_audit", "valid") => "valid citations".to_owned(),
        ("citation_audit", name) => format!("gold {name}"),
        (_, name) => name.to_owned(),
    }
}

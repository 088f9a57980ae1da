//! Leaderboards of SciFact and FEVER as tables, and the texts of `--explain`.

use std::fmt::Write as _;

use super::table::{Cell, Column, Format, Table};
use super::visible;
use crate::facts::fever_board::FeverExplanation;
use crate::facts::scifact::{AbstractExplanation, SentenceExplanation};
use crate::facts::scifact_board::ScifactExplanation;
use crate::facts::{Leaderboard, Standing};

/// More measures than this are not shown side by side.
const SIDE_BY_SIDE: usize = 5;

/// The leaderboard for people: a row a system, or, for one system with many measures, a row a measure. Of many measures
/// of several systems only the F1s are shown.
pub fn leaderboard_table(board: &Leaderboard) -> Table {
    let format = board.decimals.map_or(Format::Percent, Format::Number);
    let names: Vec<&str> = board.systems.first().into_iter().flat_map(|s| &s.metrics).map(|m| m.name).collect();
    if let ([system], true) = (&board.systems[..], names.len() > SIDE_BY_SIDE) {
        let columns = vec![Column::new("measure", Format::Text), Column::headed("value", &system.system, format)];
        let mut table = Table { notes: board.notes.clone(), ..Table::new(board.title.clone(), columns) };
        for metric in &system.metrics {
            table.rows.push(vec![Cell::text(heading(metric.name)), Cell::estimate(metric.estimate, metric.interval)]);
        }
        return table;
    }
    let is_shown = |name: &str| names.len() <= SIDE_BY_SIDE || name.ends_with("f1");
    let mut table = system_table(board, &is_shown);
    if board.systems.iter().any(|system| system.published) {
        for (row, _) in table.rows.iter_mut().zip(&board.systems).filter(|(_, system)| !system.published) {
            row[1] = row[1].clone().flagged("*");
        }
        table.notes.insert(0, crate::domain::Note::warning("* your systems."));
    }
    table
}

/// The leaderboard with every measure and, where there are published rows, which they are.
pub fn leaderboard_csv(board: &Leaderboard) -> Table {
    let mut table = system_table(board, &|_| true);
    if board.systems.iter().any(|system| system.published) {
        table.columns.push(Column::new("published", Format::Text));
        for (row, system) in table.rows.iter_mut().zip(&board.systems) {
            row.push(Cell::text(system.published.to_string()));
        }
    }
    table
}

fn system_table(board: &Leaderboard, is_shown: &dyn Fn(&str) -> bool) -> Table {
    let format = board.decimals.map_or(Format::Percent, Format::Number);
    let has_teams = board.systems.iter().any(|system| !system.team.is_empty());
    let shown = |system: &Standing| {
        let metrics = system.metrics.iter().filter(|metric| is_shown(metric.name));
        metrics.cloned().collect::<Vec<_>>()
    };
    let mut columns = vec![Column::new("system", Format::Text), Column::new("rank", Format::Count)];
    columns.extend(has_teams.then(|| Column::new("team", Format::Text)));
    let measured = board.systems.first().map(shown).unwrap_or_default();
    columns.extend(measured.iter().map(|metric| Column::headed(metric.name, &heading(metric.name), format)));
    columns.push(Column::new("claims", Format::Count));
    let mut table = Table { notes: board.notes.clone(), ..Table::new(board.title.clone(), columns) };
    for system in &board.systems {
        let mut row = vec![Cell::text(&system.system), Cell::count(system.rank)];
        row.extend(has_teams.then(|| Cell::text(&system.team)));
        row.extend(shown(system).iter().map(|metric| Cell::estimate(metric.estimate, metric.interval)));
        row.push(Cell::maybe(system.details.get("claims").and_then(serde_json::Value::as_f64)));
        table.rows.push(row);
    }
    table
}

/// `sentence label F1`; FEVER's measures of evidence by their short names, so that a terminal shows all of them.
fn heading(name: &str) -> String {
    name.trim_start_matches("evidence_")
        .replace('_', " ")
        .replace("f1", "F1")
        .replace("fever", "FEVER")
        .replace("nei", "NEI")
}

/// Why a claim of SciFact scored as it did, for each system.
pub fn scifact_explanation(explained: &[ScifactExplanation]) -> String {
    let mut out = String::new();
    if let Some(first) = explained.first() {
        let _ = writeln!(out, "claim {}: {}", first.explanation.id, visible(&first.explanation.claim));
    }
    for ScifactExplanation { system, explanation } in explained {
        let counts = &explanation.counts;
        let _ = writeln!(out, "\n{}{}", visible(system), if explanation.predicted { "" } else { ": no prediction" });
        for found in &explanation.abstracts {
            let _ = writeln!(out, "  abstract {}: {}", found.doc_id, abstract_verdict(found));
            for sentence in &found.sentences {
                let _ = writeln!(out, "    sentence {}: {}", sentence.sentence, sentence_verdict(found, sentence));
            }
        }
        let _ = writeln!(
            out,
            "  abstracts: {} relevant, {} predicted, {} label-only, {} rationalized",
            counts.abstracts_relevant,
            counts.abstracts_retrieved,
            counts.abstracts_label_only,
            counts.abstracts_rationalized
        );
        let _ = writeln!(
            out,
            "  sentences: {} relevant, {} predicted, {} selection, {} label",
            counts.sentences_relevant, counts.sentences_retrieved, counts.sentences_selection, counts.sentences_label
        );
    }
    out
}

fn abstract_verdict(found: &AbstractExplanation) -> String {
    let rationales: Vec<String> = found.rationales.iter().map(|rationale| format!("{rationale:?}")).collect();
    let rationales = rationales.join(" ");
    let (predicted, gold) = match (found.predicted, found.gold) {
        (Some(predicted), Some(gold)) => (predicted, gold),
        (Some(predicted), None) => return format!("{predicted} predicted, but it is no evidence for this claim"),
        (None, Some(gold)) => return format!("missed; gold {gold}, rationales {rationales}"),
        (None, None) => return "neither predicted nor gold".to_owned(),
    };
    let label =
        if found.label_only { format!("{predicted} is right") } else { format!("{predicted} is wrong, gold {gold}") };
    let first = found.sentences_counted;
    match found.matched.map(|at| &found.rationales[at]) {
        Some(rationale) if found.label_only => {
            format!("{label}; rationalized: rationale {rationale:?} is within its first {first}")
        }
        Some(rationale) => format!("{label}, so rationale {rationale:?} does not help"),
        None => format!("{label}; not rationalized: none of the rationales {rationales} is within its first {first}"),
    }
}

fn sentence_verdict(found: &AbstractExplanation, sentence: &SentenceExplanation) -> String {
    let missing: Vec<String> = sentence.missing.iter().map(ToString::to_string).collect();
    let verdict = match sentence {
        _ if sentence.label => "counts",
        _ if sentence.selection => "counts for selection; not for label, which is wrong",
        _ if sentence.repeated => "listed before; counts in precision only",
        _ if found.gold.is_none() => "the abstract is not relevant",
        _ if !sentence.in_rationale => "in no rationale",
        _ => return format!("missing from its rationale: {}", missing.join(", ")),
    };
    verdict.to_owned()
}

/// Why a claim of FEVER scored as it did, for each file that predicts it.
pub fn fever_explanation(id: &str, explained: &[FeverExplanation]) -> String {
    let mut out = String::new();
    for FeverExplanation { file, line, explanation } in explained {
        let _ = writeln!(out, "{}:{line}, claim {}", visible(file), visible(id));
        let right = if explanation.label_correct { "right" } else { "wrong" };
        let (predicted, gold) = (visible(&explanation.predicted_label), visible(&explanation.gold_label));
        let _ = writeln!(out, "  label      predicted {predicted}, gold {gold}: {right}");
        for (at, group) in explanation.groups.iter().enumerate() {
            let state = if group.iter().all(|(_, is_predicted)| *is_predicted) { "whole" } else { "not whole" };
            let sentence = |(sentence, is_predicted): &(String, bool)| {
                format!("{} ({})", visible(sentence), if *is_predicted { "predicted" } else { "missing" })
            };
            let sentences: Vec<String> = group.iter().map(sentence).collect();
            let _ = writeln!(out, "  group {:<4} {state}: {}", at + 1, sentences.join(", "));
        }
        if explanation.groups.is_empty() {
            let _ = writeln!(out, "  groups     none in the gold");
        }
        for (at, sentence) in explanation.predicted.iter().enumerate() {
            let state = match (sentence.counts, sentence.in_a_group) {
                (false, _) => "beyond --max-evidence, not counted",
                (true, true) => "in a group",
                (true, false) => "in no group",
            };
            let _ = writeln!(out, "  sentence {} {}: {state}", at + 1, visible(&sentence.sentence));
        }
        if explanation.predicted.is_empty() {
            let _ = writeln!(out, "  sentences  none predicted");
        }
        let strict = u8::from(explanation.strictly_correct);
        let evidence = match (explanation.precision, explanation.recalled) {
            (Some(precision), Some(recalled)) => format!("precision {precision:.4}, recall {}", u8::from(recalled)),
            _ => "evidence does not count (NOT ENOUGH INFO)".to_owned(),
        };
        let _ = writeln!(out, "  score      strict {strict}, {evidence}");
    }
    out
}

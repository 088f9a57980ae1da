//! A probe of a judge: a verdict in words, and for each metric a table of the perturbations.

use super::comparison::{metric_notes, points, shown_difference, unit_name};
use super::table::{Cell, Column, Format, Table};
use crate::analysis::comparison::{MetricComparison, MetricId, PairComparison};
use crate::analysis::{Probe, Probed, UNCHANGED, distinct, may_move};
use crate::domain::{Note, Unit};
use crate::stats::Interval;
use crate::text::perturbation::Perturbation;

/// A perturbation by one metric.
struct Row<'a> {
    probed: &'a Probed,
    may_move: bool,
    /// `None` if it changes no answer with a value.
    metric: Option<&'a MetricComparison>,
    /// After minus before; `None` for a single question.
    pair: Option<PairComparison>,
}

/// What a judge does, in the order of a verdict.
const FINDINGS: [&str; 5] = [
    "The judge moves by more than chance when",
    "It moves, as it may, when",
    "It does not move measurably when",
    "It gives every answer the same score when",
    "Too few answers change to say what it does when",
];

/// Indices of findings.
const STILL: usize = 2;
const SAME: usize = 3;
const FEW: usize = 4;

impl Row<'_> {
    /// The index of the finding.
    fn finding(&self) -> usize {
        match &self.pair {
            None => FEW,
            Some(pair) if pair.differs => usize::from(self.may_move),
            Some(pair) if pair.wins + pair.losses == 0 => SAME,
            Some(pair) if pair.detectable.is_none() => FEW,
            Some(_) => STILL,
        }
    }

    /// What happens to the answers, with the difference if it is significant.
    fn clause(&self, unit: Unit) -> String {
        let clause = match self.probed.perturbation {
            Perturbation::Padded => "filler is added",
            Perturbation::Reformatted => "the layout changes",
            Perturbation::Bullets => "sentences become bullet points",
            Perturbation::Uncited => "citations are removed",
            Perturbation::Injected => "a verdict is planted",
            Perturbation::Shuffled => "sentences are shuffled",
        };
        match self.pair.as_ref().filter(|pair| pair.differs) {
            Some(pair) => {
                let difference = shown_difference(pair.difference, pair.interval, unit);
                format!("{clause} ({difference}, {})", pair.p_text())
            }
            None => clause.to_owned(),
        }
    }
}

fn rows<'a>(probe: &'a Probe, id: &MetricId) -> Vec<Row<'a>> {
    let row = |probed: &'a Probed| {
        let metric = probed
            .comparison
            .metrics
            .iter()
            .find(|metric| metric.metric == *id);
        let pair = metric.and_then(|metric| {
            let mut pair = metric
                .pairs
                .first()
                .filter(|pair| pair.p.is_some())?
                .clone();
            if metric.systems[pair.first].label == UNCHANGED {
                pair.difference = 0.0 - pair.difference;
                pair.interval = pair.interval.map(|own| Interval {
                    low: -own.high,
                    high: -own.low,
                });
            }
            Some(pair)
        });
        Row {
            probed,
            may_move: may_move(probed.perturbation, id),
            metric,
            pair,
        }
    };
    probe.perturbations.iter().map(row).collect()
}

/// The verdict on each headline metric.
pub(super) fn verdicts(probe: &Probe) -> Vec<String> {
    let of = |id: &MetricId| match probe.headline.len() {
        1 => verdict(&rows(probe, id), id.unit),
        _ => format!("{}: {}", id.name, verdict(&rows(probe, id), id.unit)),
    };
    if probe.headline.is_empty() {
        return vec![
            "Nothing is probed: no answer that changes has a score by a judge.".to_owned(),
        ];
    }
    probe.headline.iter().map(of).collect()
}

fn verdict(rows: &[Row<'_>], unit: Unit) -> String {
    let sentence = |(finding, start): (usize, &&str)| {
        let own = || rows.iter().filter(move |row| row.finding() == finding);
        let clauses: Vec<String> = own().map(|row| row.clause(unit)).collect();
        let (last, others) = clauses.split_last()?;
        let either = if others.is_empty() {
            String::new()
        } else {
            format!("{} or ", others.join(", "))
        };
        let still = own().filter(|_| finding == STILL);
        let detectable = still
            .filter_map(|row| row.pair.as_ref()?.detectable)
            .reduce(f64::max);
        let found = |most| format!(" ({} would be found with 80% power)", points(most, unit));
        let end = detectable.map_or_else(String::new, found);
        Some(format!("{start} {either}{last}{end}."))
    };
    let text = FINDINGS
        .iter()
        .enumerate()
        .filter_map(sentence)
        .collect::<Vec<_>>()
        .join(" ");
    if text.starts_with("It ") {
        text.replacen("It", "The judge", 1)
    } else {
        text
    }
}

/// All metrics, those of the headline first.
fn metrics(probe: &Probe) -> Vec<&MetricId> {
    let all = probe
        .perturbations
        .iter()
        .flat_map(|probed| &probed.comparison.metrics)
        .map(|own| &own.metric);
    distinct(probe.headline.iter().chain(all))
}

/// The tables of all metrics, those of the headline first.
pub(super) fn tables(probe: &Probe) -> Vec<Table> {
    metrics(probe)
        .into_iter()
        .map(|id| table(probe, id))
        .collect()
}

fn table(probe: &Probe, id: &MetricId) -> Table {
    let unit = unit_name(id.unit);
    let title = format!(
        "{} ({unit}), differences with simultaneous 95% intervals; * significant",
        id.name
    );
    let (mut table, rows) = (Table::new(title, Vec::new()), rows(probe, id));
    let text = |key: &str| Column::new(key, Format::Text);
    table.push(
        text("perturbation"),
        rows.iter()
            .map(|row| Cell::text(row.probed.perturbation.name())),
    );
    let answers = rows
        .iter()
        .map(|row| Cell::count(row.metric.map_or(0, |own| own.cases.len())));
    table.push(Column::new("answers", Format::Count), answers);
    for (key, is_before) in [("before", true), ("after", false)] {
        let mean = |row: &Row<'_>| {
            let mut systems = row.metric?.systems.iter();
            systems
                .find(|own| (own.label == UNCHANGED) == is_before)?
                .mean
        };
        table.push(
            Column::new(key, Format::of_mean(id.unit)),
            rows.iter().map(|row| Cell::maybe(mean(row))),
        );
    }
    let pairs = || rows.iter().map(|row| row.pair.as_ref());
    let flag = |pair: &PairComparison| if pair.differs { "*" } else { "" };
    let difference = |own: &PairComparison| {
        Cell::estimate(Some(own.difference), own.interval).flagged(flag(own))
    };
    let differences = pairs().map(|pair| pair.map_or(Cell::Missing, difference));
    table.push(
        Column::new("difference", Format::of_difference(id.unit)),
        differences,
    );
    table.push(
        Column::new("p", Format::PValue),
        pairs().map(|pair| Cell::maybe(pair.and_then(|pair| pair.p))),
    );
    let may_move = rows
        .iter()
        .map(|row| Cell::text(if row.may_move { "yes" } else { "no" }));
    table.push(
        Column::headed("may_move", "may move", Format::Text),
        may_move,
    );
    table
}

/// All metrics in one table for programs.
pub(super) fn tidy(probe: &Probe) -> Table {
    let mut all = Table::new(
        "",
        ["scorer", "metric"]
            .map(|key| Column::new(key, Format::Text))
            .to_vec(),
    );
    for id in metrics(probe) {
        all.append(&[&id.scorer, &id.name].map(Cell::text), &table(probe, id));
    }
    all
}

/// What a reader needs to use the numbers: the notes of each comparison, and what was left out.
pub(super) fn notes(probe: &Probe) -> Vec<Note> {
    let mut notes = Vec::from_iter(Note::of_baseline(
        probe.headline.iter().map(|id| id.scorer.as_str()),
    ));
    let left_out = probe
        .perturbations
        .iter()
        .filter(|probed| probed.unchanged > 0);
    let left_out: Vec<String> = left_out
        .map(|probed| format!("{} {}", probed.perturbation.name(), probed.unchanged))
        .collect();
    if !left_out.is_empty() {
        let left_out = left_out.join(", ");
        notes.push(Note::warning(format!(
            "Answers left out because nothing in them changes: {left_out}."
        )));
    }
    for id in &probe.headline {
        for row in rows(probe, id).iter().filter(|row| row.finding() != SAME) {
            let named = |note: Note| Note {
                text: format!(
                    "{}, {}: {}",
                    id.name,
                    row.probed.perturbation.name(),
                    note.text
                ),
                ..note
            };
            notes.extend(row.metric.into_iter().flat_map(metric_notes).map(named));
        }
    }
    notes.push(Note::info(
        "Differences are after minus before, over all systems, with questions resampled; intervals and p are adjusted for the \
         perturbations (Bonferroni), not for several metrics. The length component of a rubric is that of the unchanged answer.",
    ));
    notes
}

//! A probe of a judge: a verdict in words, and for each metric a table of the perturbations.

use super::comparison::{metric_notes, points, shown_difference, shown_p, unit_name};
use super::table::{Cell, Column, Format, Table};
use crate::analysis::comparison::{MetricComparison, MetricId, PairComparison};
use crate::analysis::{Probe, Probed, UNCHANGED, distinct, may_move};
use crate::domain::Note;
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

impl Row<'_> {
    fn moves(&self) -> bool {
        self.pair.as_ref().is_some_and(|pair| pair.differs)
    }

    fn is_same(&self) -> bool {
        self.pair.as_ref().is_some_and(|pair| pair.wins + pair.losses == 0)
    }

    /// What happens to the answers.
    fn clause(&self) -> String {
        let clause = match self.probed.perturbation {
            Perturbation::Padded => "filler is added",
            Perturbation::Reformatted => "the layout changes",
            Perturbation::Bullets => "sentences become bullet points",
            Perturbation::Uncited => "citations are removed",
            Perturbation::Injected => "a verdict is planted",
            Perturbation::Shuffled => "sentences are shuffled",
        };
        clause.to_owned()
    }
}

fn rows<'a>(probe: &'a Probe, id: &MetricId) -> Vec<Row<'a>> {
    let row = |probed: &'a Probed| {
        let metric = probed.comparison.metrics.iter().find(|metric| metric.metric == *id);
        let pair = metric.and_then(|metric| {
            let mut pair = metric.pairs.first().filter(|pair| pair.p.is_some())?.clone();
            if metric.systems[pair.first].label == UNCHANGED {
                pair.difference = -pair.difference;
                pair.interval = pair.interval.map(|own| Interval { low: -own.high, high: -own.low });
            }
            Some(pair)
        });
        Row { probed, may_move: may_move(probed.perturbation, id), metric, pair }
    };
    probe.perturbations.iter().map(row).collect()
}

/// The verdict on each headline metric.
pub(super) fn verdicts(probe: &Probe) -> Vec<String> {
    let of = |id: &MetricId| match probe.headline.len() {
        1 => verdict(&rows(probe, id), id),
        _ => format!("{}: {}", id.name, verdict(&rows(probe, id), id)),
    };
    if probe.headline.is_empty() {
        return vec!["Nothing is probed: no answer that changes has a score by a judge.".to_owned()];
    }
    probe.headline.iter().map(of).collect()
}

fn verdict(rows: &[Row<'_>], id: &MetricId) -> String {
    let list = |text: &dyn Fn(&Row<'_>) -> Option<String>| {
        let all: Vec<String> = rows.iter().filter_map(text).collect();
        let (last, first) = all.split_last()?;
        Some(if first.is_empty() { last.clone() } else { format!("{} or {last}", first.join(", ")) })
    };
    let moved = |may_move: bool| {
        list(&|row| {
            let pair = row.pair.as_ref().filter(|pair| pair.differs && row.may_move == may_move)?;
            let shown = shown_difference(pair.difference, pair.interval, id.unit);
            Some(format!("{} ({shown}, {})", row.clause(), shown_p(pair.p)))
        })
    };
    let is_still = |row: &Row<'_>| row.pair.is_some() && !row.moves() && !row.is_same();
    let detectable = rows.iter().filter(|row| is_still(row)).map(|row| row.pair.as_ref()?.detectable);
    let found = match detectable.collect::<Option<Vec<f64>>>().and_then(|all| all.into_iter().reduce(f64::max)) {
        Some(most) => format!("{} would be found with 80% power", points(most, id.unit)),
        None => "too few answers differ for a verdict".to_owned(),
    };
    let sentences = [
        moved(false).map(|when| format!("The judge moves by more than chance when {when}.")),
        moved(true).map(|when| format!("It moves, as it may, when {when}.")),
        list(&|row| is_still(row).then(|| row.clause()))
            .map(|when| format!("It does not move measurably when {when} ({found}).")),
        list(&|row| row.is_same().then(|| row.clause()))
            .map(|when| format!("It gives every answer the same score when {when}.")),
        list(&|row| row.pair.is_none().then(|| row.clause()))
            .map(|when| format!("Too few answers change to say what it does when {when}.")),
    ];
    let text = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if text.starts_with("It ") { text.replacen("It", "The judge", 1) } else { text }
}

/// All metrics, those of the headline first.
fn metrics(probe: &Probe) -> Vec<&MetricId> {
    let all = probe.perturbations.iter().flat_map(|probed| &probed.comparison.metrics).map(|own| &own.metric);
    distinct(probe.headline.iter().chain(all))
}

/// The tables of all metrics, those of the headline first.
pub(super) fn tables(probe: &Probe) -> Vec<Table> {
    metrics(probe).into_iter().map(|id| table(probe, id)).collect()
}

fn table(probe: &Probe, id: &MetricId) -> Table {
    let unit = unit_name(id.unit);
    let title = format!("{} ({unit}), differences with simultaneous 95% intervals; * significant", id.name);
    let mean = Format::of_mean(id.unit);
    let columns = vec![
        Column::new("perturbation", Format::Text),
        Column::new("answers", Format::Count),
        Column::new("before", mean),
        Column::new("after", mean),
        Column::new("difference", Format::of_difference(id.unit)),
        Column::new("p", Format::PValue),
        Column::headed("may_move", "may move", Format::Text),
    ];
    let cells = |row: Row<'_>| {
        let systems = || row.metric.iter().flat_map(|metric| &metric.systems);
        let mean =
            |before| Cell::maybe(systems().find(|own| (own.label == UNCHANGED) == before).and_then(|own| own.mean));
        let pair = row.pair.as_ref();
        let difference = Cell::estimate(pair.map(|pair| pair.difference), pair.and_then(|pair| pair.interval));
        vec![
            Cell::text(row.probed.perturbation.name()),
            Cell::count(row.metric.map_or(0, |metric| metric.cases.len())),
            mean(true),
            mean(false),
            difference.flagged(if row.moves() { "*" } else { "" }),
            Cell::maybe(pair.and_then(|pair| pair.p)),
            Cell::text(if row.may_move { "yes" } else { "no" }),
        ]
    };
    Table { rows: rows(probe, id).into_iter().map(cells).collect(), ..Table::new(title, columns) }
}

/// All metrics in one table for programs.
pub(super) fn tidy(probe: &Probe) -> Table {
    let mut all = Table::new("", ["scorer", "metric"].map(|key| Column::new(key, Format::Text)).to_vec());
    for id in metrics(probe) {
        all.append(&[&id.scorer, &id.name].map(Cell::text), &table(probe, id));
    }
    all
}

/// What a reader needs to use the numbers: the notes of each comparison, and what was left out.
pub(super) fn notes(probe: &Probe) -> Vec<Note> {
    let mut notes = Vec::new();
    if probe.headline.iter().any(|id| id.scorer.starts_with("lexical_")) {
        notes.push(Note::warning("Scored by the built-in lexical baseline, not by an LLM."));
    }
    let left_out = probe.perturbations.iter().filter(|probed| probed.unchanged > 0);
    let left_out = left_out.map(|probed| format!("{} {}", probed.perturbation.name(), probed.unchanged));
    let left_out = left_out.collect::<Vec<_>>().join(", ");
    notes.extend(
        (!left_out.is_empty())
            .then(|| Note::warning(format!("Answers left out because nothing in them changes: {left_out}."))),
    );
    for id in &probe.headline {
        for row in rows(probe, id).iter().filter(|row| !row.is_same()) {
            let named = |note: Note| Note {
                text: format!("{}, {}: {}", id.name, row.probed.perturbation.name(), note.text),
                ..note
            };
            notes.extend(row.metric.into_iter().flat_map(metric_notes).map(named));
            if row.moves() && !row.may_move && row.probed.perturbation == Perturbation::Shuffled {
                notes.push(Note::warning(
                    "Shuffled sentences lose coherence: a movement there is a sensitivity, not a fault.",
                ));
            }
        }
    }
    notes.push(Note::info(
        "Differences are after minus before, over all systems, with questions resampled; intervals and p are adjusted for the \
         perturbations (Bonferroni), not for several metrics. The length component of a rubric is that of the unchanged answer.",
    ));
    notes
}

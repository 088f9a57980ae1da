//! A probe of a judge: a verdict in words, and for each metric a table of the perturbations.
//!
//! Each perturbation is a row, from which the table has its numbers and the verdict its clause; rows with the same finding
//! share a sentence.

use super::comparison::metric_notes;
use super::numbers::{points, shown_difference, unit_name};
use super::table::{Cell, Column, Format, Table};
use crate::analysis::comparison::{MetricComparison, MetricId, PairComparison, SystemMean};
use crate::analysis::{
    ChangedVerdicts, Probe, Probed, after_minus_before, distinct, may_move, probed_system,
};
use crate::domain::{Note, Unit};
use crate::text::perturbation::Perturbation;

/// A perturbation by one metric.
struct ProbeRow<'a> {
    probed: &'a Probed,
    may_move: bool,
    /// `None` if it changes no answer with a value.
    metric: Option<&'a MetricComparison>,
    /// After minus before; `None` for a single question.
    pair: Option<PairComparison>,
    /// Of the main metric of a scorer all its verdicts; those of a tag or a component are a part of them.
    verdicts: Option<&'a ChangedVerdicts>,
}

/// What a judge does when an answer is perturbed. The order is that of a verdict.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProbeFinding {
    Moves,
    MovesAsItMay,
    Still,
    SameScore,
    TooFew,
}

impl ProbeFinding {
    const ALL: [Self; 5] = [
        Self::Moves,
        Self::MovesAsItMay,
        Self::Still,
        Self::SameScore,
        Self::TooFew,
    ];

    /// The start of the sentence on the perturbations with this finding.
    fn start(self) -> &'static str {
        match self {
            Self::Moves => "The judge moves by more than chance when",
            Self::MovesAsItMay => "It moves, as it may, when",
            Self::Still => "It does not move measurably when",
            Self::SameScore => "It gives every answer the same score when",
            Self::TooFew => "Too few answers change to say what it does when",
        }
    }
}

impl<'a> ProbeRow<'a> {
    fn new(probed: &'a Probed, id: &MetricId, is_main: bool) -> Self {
        let mut of_scorers = probed.verdicts.iter().filter(|_| is_main);
        let mut metrics = probed.comparison.metrics.iter();
        let metric = metrics.find(|metric| metric.metric == *id);
        Self {
            probed,
            may_move: may_move(probed.perturbation, id),
            metric,
            pair: metric.and_then(after_minus_before),
            verdicts: of_scorers.find(|verdicts| verdicts.scorer == id.scorer),
        }
    }

    fn finding(&self) -> ProbeFinding {
        match &self.pair {
            None => ProbeFinding::TooFew,
            Some(pair) if pair.differs && self.may_move => ProbeFinding::MovesAsItMay,
            Some(pair) if pair.differs => ProbeFinding::Moves,
            // Before the next case: a judge that gives the same score each time has no spread, and
            // thus no detectable difference.
            Some(pair) if pair.wins + pair.losses == 0 => ProbeFinding::SameScore,
            // "Not significant" says nothing where no difference could have been.
            Some(pair) if pair.detectable.is_none() => ProbeFinding::TooFew,
            Some(_) => ProbeFinding::Still,
        }
    }

    /// What happens to the answers or to the way of asking, with the difference if it is significant, and verdicts that change.
    fn clause(&self, unit: Unit) -> String {
        let clause = match self.probed.perturbation {
            Perturbation::Padded => "filler is added",
            Perturbation::Reformatted => "the layout changes",
            Perturbation::Bullets => "sentences become bullet points",
            Perturbation::Uncited => "citations are removed",
            Perturbation::Injected => "a verdict is planted",
            Perturbation::Shuffled => "sentences are shuffled",
            Perturbation::Bluffing => "answers only name the criteria",
            Perturbation::Reversed => "levels are listed in reverse",
            Perturbation::Reordered => "criteria stand in another order",
            Perturbation::Alone => "each criterion is asked alone",
        };
        let mut figures = Vec::new();
        if let Some(pair) = self.pair.as_ref().filter(|pair| pair.differs) {
            figures.extend(figures_of(pair, unit));
        }
        if self.probed.perturbation.is_of_criteria()
            && let Some(ChangedVerdicts { changed, total, .. }) = self.verdicts
        {
            figures.push(format!("{changed} of {total} verdicts change"));
        }
        if figures.is_empty() {
            return clause.to_owned();
        }
        format!("{clause} ({})", figures.join(", "))
    }

    /// The mean of the unchanged (`before`) or of the perturbed answers.
    fn mean(&self, before: bool) -> Option<f64> {
        self.system(before)?.mean
    }

    fn system(&self, before: bool) -> Option<&SystemMean> {
        probed_system(self.metric?, before)
    }

    /// Whether answers that only name the criteria earn less than the answers, and how much. What they earn is the number of
    /// interest, since every judge should move:
    /// `Bluffing earns 12.0 [8.1, 17.0] of 100 where the answers earn 61.0 (-49.0 [-55.0, -42.9], p < 0.001).`
    fn bluff_sentence(&self, unit: Unit) -> String {
        let too_few = "Too few answers change to say whether the judge can be bluffed";
        let Some(earnings) = self.earnings(unit) else {
            return format!("{too_few}.");
        };
        let pair = self.pair.as_ref();
        let Some(pair) = pair.filter(|_| self.finding() != ProbeFinding::TooFew) else {
            return format!("{too_few}: bluffing {earnings}.");
        };
        let figures = figures_of(pair, unit).join(", ");
        if pair.differs && pair.difference < 0.0 {
            format!("Bluffing {earnings} ({figures}).")
        } else {
            format!(
                "The judge can be bluffed: naming the words of the criteria without support {earnings} ({figures})."
            )
        }
    }

    /// `earns 12.0 [8.1, 17.0] of 100 where the answers earn 61.0`
    fn earnings(&self, unit: Unit) -> Option<String> {
        let after = self.system(false)?;
        let format = Format::of_mean(unit);
        let scale = match unit {
            Unit::Share | Unit::Net => " of 100",
            Unit::Grade => " of 5",
            Unit::Count => "",
        };
        Some(format!(
            "earns {}{scale} where the answers earn {}",
            format.show_estimate(after.mean?, after.interval),
            format.show(self.mean(true)?)
        ))
    }

    fn difference(&self) -> Option<Cell> {
        let pair = self.pair.as_ref()?;
        let flag = if pair.differs { "*" } else { "" };
        Some(Cell::from((pair.difference, pair.interval)).flagged(flag))
    }
}

/// The difference with its interval, and p.
fn figures_of(pair: &PairComparison, unit: Unit) -> [String; 2] {
    [
        shown_difference(pair.difference, pair.interval, unit),
        pair.p_text(),
    ]
}

fn rows<'a>(probe: &'a Probe, id: &MetricId) -> Vec<ProbeRow<'a>> {
    let mut headline = probe.headline.iter();
    let is_main = headline.find(|main| main.scorer == id.scorer) == Some(id);
    let probed = probe.perturbations.iter();
    probed
        .map(|probed| ProbeRow::new(probed, id, is_main))
        .collect()
}

/// The verdict on each headline metric.
pub(super) fn verdicts(probe: &Probe) -> Vec<String> {
    if probe.headline.is_empty() {
        return vec![
            "Nothing is probed: no answer that changes has a score by a judge.".to_owned(),
        ];
    }
    let mut verdicts = Vec::new();
    for id in &probe.headline {
        let verdict = verdict(&rows(probe, id), id.unit);
        verdicts.push(match probe.headline.len() {
            1 => verdict,
            _ => format!("{}: {verdict}", id.name),
        });
    }
    verdicts
}

/// A sentence for each finding that any row has, and one on bluffing. The first names the judge.
fn verdict(rows: &[ProbeRow<'_>], unit: Unit) -> String {
    let (bluffs, others): (Vec<&ProbeRow<'_>>, Vec<&ProbeRow<'_>>) = rows
        .iter()
        .partition(|row| row.probed.perturbation == Perturbation::Bluffing);
    let mut sentences = Vec::new();
    for finding in ProbeFinding::ALL {
        let mut with_finding = others.clone();
        with_finding.retain(|row| row.finding() == finding);
        if !with_finding.is_empty() {
            sentences.push(sentence(finding, &with_finding, unit));
        }
    }
    sentences.extend(bluffs.iter().map(|row| row.bluff_sentence(unit)));
    let text = sentences.join(" ");
    if text.starts_with("It ") {
        text.replacen("It", "The judge", 1)
    } else {
        text
    }
}

/// `It does not move measurably when filler is added or the layout changes (2.1 points would be found with 80% power).`
fn sentence(finding: ProbeFinding, rows: &[&ProbeRow<'_>], unit: Unit) -> String {
    let clauses: Vec<String> = rows.iter().map(|row| row.clause(unit)).collect();
    let clauses = match clauses.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => clauses.concat(),
    };
    let mut end = String::new();
    if finding == ProbeFinding::Still {
        // What the least sensitive of them would have found.
        let pairs = rows.iter().filter_map(|row| row.pair.as_ref());
        if let Some(most) = pairs.filter_map(|pair| pair.detectable).reduce(f64::max) {
            let most = points(most, unit);
            end = format!(" ({most} would be found with 80% power)");
        }
    }
    format!("{} {clauses}{end}.", finding.start())
}

/// All metrics, those of the headline first.
fn metrics(probe: &Probe) -> Vec<&MetricId> {
    let probed = probe.perturbations.iter();
    let all = probed.flat_map(|probed| &probed.comparison.metrics);
    distinct(
        probe
            .headline
            .iter()
            .chain(all.map(|metric| &metric.metric)),
    )
}

/// The tables of all metrics, those of the headline first.
pub(super) fn tables(probe: &Probe) -> Vec<Table> {
    let metrics = metrics(probe).into_iter();
    metrics.map(|id| table(probe, id)).collect()
}

/// One metric, a row for each perturbation.
fn table(probe: &Probe, id: &MetricId) -> Table {
    let title = format!(
        "{} ({}), differences with simultaneous 95% intervals; * significant",
        id.name,
        unit_name(id.unit)
    );
    let rows = &rows(probe, id);
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("perturbation"), rows, |row| {
        row.probed.perturbation.name()
    });
    table.column(Column::count("answers"), rows, |row| {
        row.metric.map_or(0, |metric| metric.cases.len())
    });
    for (key, before) in [("before", true), ("after", false)] {
        let column = Column::new(key, Format::of_mean(id.unit));
        table.column(column, rows, |row| row.mean(before));
    }
    let difference = Column::new("difference", Format::of_difference(id.unit));
    table.column(difference, rows, ProbeRow::difference);
    let p = Column::new("p", Format::PValue);
    table.column(p, rows, |row| row.pair.as_ref()?.p);
    let may_move = Column::headed("may_move", "may move", Format::Text);
    table.column(
        may_move,
        rows,
        |row| {
            if row.may_move { "yes" } else { "no" }
        },
    );
    if rows.iter().any(|row| row.verdicts.is_some()) {
        let verdicts = Column::count("verdicts");
        table.column(verdicts, rows, |row| Some(row.verdicts?.total));
        let changed = Column::count("changed");
        table.column(changed, rows, |row| Some(row.verdicts?.changed));
    }
    table
}

/// All metrics in one table for programs.
pub(super) fn tidy(probe: &Probe) -> Table {
    let mut all = Table::new("", ["scorer", "metric"].map(Column::text).to_vec());
    for id in metrics(probe) {
        let lead = [id.scorer.as_str(), &id.name].map(Cell::text);
        all.append(&lead, &table(probe, id));
    }
    all
}

/// What a reader needs to use the numbers: the notes of each comparison, and what was left out.
pub(super) fn notes(probe: &Probe) -> Vec<Note> {
    let scorers = probe.headline.iter().map(|id| &id.scorer);
    let mut notes = Vec::from_iter(Note::of_baseline(scorers));
    let mut left_out = Vec::new();
    for probed in &probe.perturbations {
        if probed.unchanged > 0 {
            let name = probed.perturbation.name();
            left_out.push(format!("{name} {}", probed.unchanged));
        }
    }
    if !left_out.is_empty() {
        let left_out = left_out.join(", ");
        notes.push(Note::warning(format!(
            "Answers left out because nothing in them changes: {left_out}."
        )));
    }
    for id in &probe.headline {
        for row in rows(probe, id) {
            let Some(metric) = row.metric else { continue };
            // Their notes are on differences, of which there are none.
            if row.finding() == ProbeFinding::SameScore {
                continue;
            }
            let subject = format!("{}, {}", id.name, row.probed.perturbation.name());
            let of_metric = metric_notes(metric).into_iter();
            notes.extend(of_metric.map(|note| note.about(&subject)));
        }
    }
    notes.push(Note::info(
        "Differences are after minus before, over all systems, with questions resampled; intervals and p are adjusted for the \
         perturbations (Bonferroni), not for several metrics. The length component of a rubric is that of the unchanged answer.",
    ));
    notes
}

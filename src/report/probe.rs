//! A probe of a judge: a verdict in words, and for each metric a table of the perturbations.

use super::comparison::{percent, points, shown_difference, shown_p, unit_name};
use super::layout::{counted, listed};
use super::table::{Cell, Column, Format, Table};
use crate::analysis::{Movement, Probe, ProbedMetric};
use crate::domain::Note;
use crate::text::perturbation::Perturbation;

/// What happens to the answers.
fn clause(perturbation: Perturbation) -> &'static str {
    match perturbation {
        Perturbation::Padded => "filler is added",
        Perturbation::Reformatted => "the layout changes",
        Perturbation::Bullets => "sentences become bullet points",
        Perturbation::Uncited => "citations are removed",
        Perturbation::Injected => "a verdict is planted",
        Perturbation::Shuffled => "sentences are shuffled",
    }
}

/// The verdict on each headline metric.
pub(super) fn verdicts(probe: &Probe) -> Vec<String> {
    let headline: Vec<&ProbedMetric> = probe.metrics.iter().filter(|metric| metric.is_headline).collect();
    let name =
        |metric: &ProbedMetric| if headline.len() > 1 { format!("{}: ", metric.metric.name) } else { String::new() };
    headline.iter().map(|metric| name(metric) + &verdict(metric)).collect()
}

fn verdict(metric: &ProbedMetric) -> String {
    let unit = metric.metric.unit;
    let list = |of: &dyn Fn(&Movement) -> Option<String>| {
        let all: Vec<String> = metric.perturbations.iter().filter_map(of).collect();
        let [first @ .., last] = &all[..] else { return None };
        Some(if first.is_empty() { last.clone() } else { format!("{} or {last}", first.join(", ")) })
    };
    let moved = |may_move: bool| {
        list(&|own| {
            let difference = own.difference.filter(|_| own.moves && own.may_move == may_move)?;
            let shown = shown_difference(difference, own.interval, unit);
            Some(format!("{} ({shown}, {})", clause(own.perturbation), shown_p(own.p)))
        })
    };
    let is_still = |own: &&Movement| own.p.is_some() && !own.moves && !own.is_same;
    let detectable: Vec<Option<f64>> = metric.perturbations.iter().filter(is_still).map(|own| own.detectable).collect();
    let detectable = detectable.into_iter().collect::<Option<Vec<f64>>>();
    let found = match detectable.and_then(|all| all.into_iter().reduce(f64::max)) {
        Some(most) => format!("{} would be found with 80% power", points(most, unit)),
        None => "too few answers for a verdict".to_owned(),
    };
    let named = |holds: &dyn Fn(&Movement) -> bool| {
        list(&|own| Some(clause(own.perturbation).to_owned()).filter(|_| holds(own)))
    };
    let sentences = [
        moved(false).map(|when| format!("The judge moves by more than chance when {when}.")),
        moved(true).map(|when| format!("It moves, as it may, when {when}.")),
        named(&|own| is_still(&own)).map(|when| format!("It does not move measurably when {when} ({found}).")),
        named(&|own| own.is_same).map(|when| format!("It gives every answer the same score when {when}.")),
        named(&|own| own.p.is_none()).map(|when| format!("Too few answers change to say what it does when {when}.")),
    ];
    let text = sentences.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if text.starts_with("It ") { text.replacen("It", "The judge", 1) } else { text }
}

/// The table of a metric.
pub(super) fn table(probe: &Probe, metric: &ProbedMetric) -> Table {
    let (name, unit) = (&metric.metric.name, metric.metric.unit);
    let level = percent(probe.level);
    let title = format!("{name} ({}), differences with simultaneous {level} intervals; * significant", unit_name(unit));
    let mean = Format::of_mean(unit);
    let columns = vec![
        Column::new("perturbation", Format::Text),
        Column::new("answers", Format::Count),
        Column::new("before", mean),
        Column::new("after", mean),
        Column::new("difference", Format::of_difference(unit)),
        Column::new("p", Format::PValue),
        Column::headed("may_move", "may move", Format::Text),
    ];
    let row = |own: &Movement| {
        vec![
            Cell::text(own.perturbation.as_str()),
            Cell::count(own.answers),
            Cell::maybe(own.before),
            Cell::maybe(own.after),
            Cell::estimate(own.difference, own.interval).flagged(if own.moves { "*" } else { "" }),
            Cell::maybe(own.p),
            Cell::text(if own.may_move { "yes" } else { "no" }),
        ]
    };
    Table { rows: metric.perturbations.iter().map(row).collect(), ..Table::new(title, columns) }
}

/// All metrics in one table for programs.
pub(super) fn tidy(probe: &Probe) -> Table {
    let mut all = Table::new("", ["scorer", "metric", "unit"].map(|key| Column::new(key, Format::Text)).to_vec());
    for metric in &probe.metrics {
        let (id, unit) = (&metric.metric, format!("{:?}", metric.metric.unit).to_lowercase());
        all.append(&[&id.scorer, &id.name, &unit].map(Cell::text), &table(probe, metric));
    }
    all
}

/// What a reader needs to use the numbers.
pub(super) fn notes(probe: &Probe) -> Vec<Note> {
    let headline = || probe.metrics.iter().filter(|metric| metric.is_headline);
    let mut notes = Vec::new();
    if headline().any(|metric| metric.metric.scorer.starts_with("lexical_")) {
        notes.push(Note::warning("Scored by the built-in lexical baseline, not by an LLM."));
    }
    for metric in headline() {
        let few = metric.perturbations.iter().filter(|own| !own.is_same && own.p.is_some() && own.detectable.is_none());
        let few = few.filter_map(|own| Some((own.perturbation.as_str(), Format::PValue.show(own.smallest_p?))));
        if let Some(few) = listed(few.map(|(name, p)| format!("{name} (no p below {p})"))) {
            notes.push(Note::warning(format!("{}: too few differences for a verdict: {few}.", metric.metric.name)));
        }
        let left_out = metric.perturbations.iter().filter(|own| own.unchanged + own.unscored > 0).map(|own| {
            let unchanged =
                (own.unchanged > 0).then(|| format!("{} that it does not change", counted(own.unchanged, "answer")));
            let unscored = (own.unscored > 0)
                .then(|| format!("{} without a value before or after", counted(own.unscored, "answer")));
            let what: Vec<String> = unchanged.into_iter().chain(unscored).collect();
            format!("{} ({})", own.perturbation.as_str(), what.join(", "))
        });
        if let Some(left_out) = listed(left_out) {
            notes.push(Note::warning(format!("{}: left out of {left_out}.", metric.metric.name)));
        }
    }
    if headline()
        .flat_map(|metric| &metric.perturbations)
        .any(|own| own.moves && own.perturbation == Perturbation::Shuffled)
    {
        notes.push(Note::warning("Shuffled sentences lose coherence: a movement there is a sensitivity, not a fault."));
    }
    notes.push(Note::info(format!(
        "Differences are after minus before, over all systems, with questions resampled ({} resamples, seed {}); intervals and \
         p are adjusted for the perturbations of a metric (Bonferroni), not for several metrics.",
        Format::Count.show(f64::from(probe.resamples)),
        probe.seed
    )));
    notes.push(Note::info("The length component of a rubric, which is counted, is that of the unchanged answer."));
    notes
}

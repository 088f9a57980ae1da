//! Notes of a comparison: warnings that a reader needs to use its numbers, and details on request.

use std::collections::{BTreeMap, BTreeSet};

use super::tables::{metric_name, percent, shown_difference};
use super::verdict::{labels, points};
use crate::analysis::comparison::{
    ComparedRun, Comparison, JudgedRole, LengthEffect, MIN_QUESTIONS, MetricComparison,
    PairComparison,
};
use crate::analysis::distinct;
use crate::domain::Note;
use crate::report::layout::{counted, listed};
use crate::report::table::Format;
use crate::stats::PairedMethod;

/// Warnings on the runs, for all metrics.
pub fn run_warnings(comparison: &Comparison) -> Vec<Note> {
    let differences = comparison
        .differences
        .iter()
        .map(|difference| format!("Not comparable: {difference}."));
    let unfinished = comparison
        .runs
        .iter()
        .filter_map(|run| run.unfinished.as_ref());
    let unfinished = unfinished.map(|unfinished| format!("Unfinished: {unfinished}."));
    let as_zero = comparison
        .runs
        .iter()
        .filter(|run| run.unscored_as_zero)
        .map(|run| {
            format!(
                "{}: unscored answers count as the lowest value (--on-unscored zero).",
                run.name
            )
        });
    let left_out = listed(comparison.left_out.iter().cloned());
    let left_out = left_out.map(|systems| format!("Left out, since not in every run: {systems}."));
    let answered = comparison.runs.iter().flat_map(answered_by_others);
    differences
        .chain(unfinished)
        .chain(answered)
        .chain(as_zero)
        .chain(left_out)
        .map(Note::warning)
        .collect()
}

/// Who answered in the run, where that is not the requested model.
fn answered_by_others(run: &ComparedRun) -> impl Iterator<Item = String> {
    let name = &run.name;
    let sentences = run.answered_by_others.iter();
    sentences.map(move |sentence| format!("{name}: {sentence}."))
}

/// The warning about numbers of the lexical baseline, if there are any.
pub(super) fn baseline(comparison: &Comparison) -> Option<Note> {
    Note::of_baseline(
        comparison
            .metrics
            .iter()
            .map(|metric| metric.metric.scorer.as_str()),
    )
}

/// Every note, prefixed with the metric's name if there are several.
pub(super) fn notes(comparison: &Comparison) -> Vec<Note> {
    let mut notes = run_warnings(comparison);
    notes.extend(baseline(comparison));
    for metric in &comparison.metrics {
        let name = metric_name(comparison, metric);
        let several = comparison.metrics.len() > 1;
        let named = |note: Note| {
            if several {
                Note {
                    text: format!("{name}: {}", note.text),
                    ..note
                }
            } else {
                note
            }
        };
        notes.extend(metric_notes(metric).into_iter().map(named));
    }
    let judged: Vec<&JudgedRole> = comparison.judged_by.iter().collect();
    notes.extend(
        unpublished(&judged)
            .into_iter()
            .chain(judge_lines(&judged))
            .map(Note::info),
    );
    notes.extend(method(comparison));
    notes
}

/// Notes on one metric.
pub(in crate::report) fn metric_notes(metric: &MetricComparison) -> Vec<Note> {
    let all = [
        too_small(metric),
        sensitive(metric),
        length_effects(
            metric,
            |length| length.changes_conclusion,
            "the conclusion changes",
        )
        .map(Note::warning),
        length_effects(
            metric,
            |length| length.less_precise,
            "the estimate is unchanged, less precise",
        )
        .map(Note::info),
        detectable(metric),
    ];
    all.into_iter()
        .flatten()
        .chain(metric.notes.iter().cloned())
        .collect()
}

/// A sentence on each judge, with its roles.
pub(in crate::report) fn judge_lines(judged: &[&JudgedRole]) -> Vec<String> {
    let line = |own: &JudgedRole| match own.runs.is_empty() {
        true => own.judge.clone(),
        false => format!("{} ({})", own.judge, own.runs.join(", ")),
    };
    let by_judge = by_text(judged.iter().map(|own| (line(own), own.role.as_str())));
    by_judge
        .into_iter()
        .map(|(judge, roles)| format!("Judge of {roles}: {judge}."))
        .collect()
}

/// A sentence on judges and prompts that are not those of the published numbers, if there are any.
pub(in crate::report) fn unpublished(judged: &[&JudgedRole]) -> Option<String> {
    let differ = judged
        .iter()
        .filter_map(|own| Some((own.differs_from_published.clone()?, own.role.as_str())));
    let differ = by_text(differ)
        .into_iter()
        .map(|(what, roles)| format!("{roles} ({what})"));
    let differ = differ.collect::<Vec<_>>().join("; ");
    (!differ.is_empty()).then(|| format!("Not comparable with published numbers: {differ}."))
}

/// Each text with its roles.
fn by_text<'a>(texts: impl Iterator<Item = (String, &'a str)>) -> Vec<(String, String)> {
    let mut by_text: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (text, role) in texts {
        by_text
            .entry(text)
            .or_default()
            .insert(role.strip_prefix("aspect.").unwrap_or(role));
    }
    by_text
        .into_iter()
        .map(|(text, roles)| (text, Vec::from_iter(roles).join(", ")))
        .collect()
}

fn pair_name(metric: &MetricComparison, pair: &PairComparison) -> String {
    labels(metric, pair).join(" – ")
}

/// With so few differences no verdict is possible.
fn too_small(metric: &MetricComparison) -> Option<Note> {
    let has_verdict = metric.pairs.iter().any(|pair| pair.detectable.is_some());
    let least = metric
        .smallest_p
        .filter(|least| !has_verdict && *least < 1.0)?;
    let (questions, p) = (
        counted(metric.questions, "question"),
        Format::PValue.show(least),
    );
    let text = format!(
        "Too few differences for a verdict: were all in favor of one system, p would be {p} ({questions})."
    );
    Some(Note::warning(text))
}

fn sensitive(metric: &MetricComparison) -> Option<Note> {
    let pairs = metric
        .pairs
        .iter()
        .filter(|pair| pair.sensitive)
        .map(|pair| {
            let format = Format::of_difference(metric.metric.unit);
            let range = pair
                .bounds
                .map(|bounds| format!(" (difference within {})", format.show_interval(bounds)));
            pair_name(metric, pair) + &range.unwrap_or_default()
        });
    let pairs = listed(pairs)?;
    Some(Note::warning(format!(
        "With all answers present and scored the verdict could change: {pairs}."
    )))
}

/// The pairs with this effect of length, after what it means.
fn length_effects(
    metric: &MetricComparison,
    has: fn(&LengthEffect) -> bool,
    meaning: &str,
) -> Option<String> {
    let unit = metric.metric.unit;
    let effect = |pair: &PairComparison| {
        let length = pair.length.as_ref().filter(|length| has(length))?;
        Some(format!(
            "{} {} instead of {} ({:+.0} words)",
            pair_name(metric, pair),
            shown_difference(length.adjusted, Some(length.interval), unit),
            shown_difference(pair.difference, pair.pointwise, unit),
            length.words
        ))
    };
    let pairs = listed(metric.pairs.iter().filter_map(effect))?;
    Some(format!(
        "Length-adjusted, each pair alone, {meaning}: {pairs}."
    ))
}

/// Why pairs have no length-adjusted difference though it was asked for; `None` if all have one.
pub(super) fn without_lengths(comparison: &Comparison) -> Option<Note> {
    let pairs = || comparison.metrics.iter().flat_map(|metric| &metric.pairs);
    let without = pairs().filter(|pair| pair.length.is_none()).count();
    if without == 0 {
        return None;
    }
    Some(Note::warning(format!(
        "Without a length-adjusted difference: {without} of {}. It takes {MIN_QUESTIONS} questions with recorded answers, in a \
         tenth of which the system with shorter answers has the longer one; counts and length have none.",
        counted(pairs().count(), "pair")
    )))
}

fn detectable(metric: &MetricComparison) -> Option<Note> {
    let most = metric
        .pairs
        .iter()
        .filter_map(|pair| pair.detectable)
        .reduce(f64::max)?;
    let (most, questions) = (
        points(most, metric.metric.unit),
        counted(metric.questions, "question"),
    );
    Some(Note::info(format!(
        "Detectable difference with {questions}: {most} (80% power)."
    )))
}

/// The methods, as a sentence for a paper.
fn method(comparison: &Comparison) -> Option<Note> {
    let options = &comparison.options;
    let over = |metric: &MetricComparison| {
        let name = metric_name(comparison, metric);
        format!(
            "{} of {} cases ({name})",
            metric.cases.len(),
            metric.cases_in_all
        )
    };
    let over = listed(
        comparison
            .metrics
            .iter()
            .filter(|metric| !metric.cases.is_empty())
            .map(over),
    )?;
    let family = if options.baseline.is_some() {
        "the pairs with the baseline"
    } else {
        "all pairs"
    };
    let tests = distinct(
        comparison
            .metrics
            .iter()
            .filter_map(|metric| metric.method)
            .map(|method| match method {
                PairedMethod::BootstrapT => "the bootstrap max-t",
                PairedMethod::SignFlip => "sign flips (max-t)",
            }),
    );
    let level = percent(options.level);
    let several = if comparison.metrics.len() > 1 {
        ", not for several metrics"
    } else {
        ""
    };
    Some(Note::info(format!(
        "For the paper: scholareval {}; means over {over} with {level} intervals over questions (Wilson's with an effective \
         number of questions for shares and grades, bootstrap-t for counts and net shares); differences with \
         simultaneous {level} intervals and p adjusted over {family} of a metric{several} by {} ({} resamples, seed {}).",
        env!("CARGO_PKG_VERSION"),
        tests.join(" and "),
        Format::Count.show(f64::from(options.resamples)),
        options.seed,
    )))
}

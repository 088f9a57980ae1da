//! Notes of a comparison: warnings that a reader must have to use its numbers, and details for those who ask.

use super::tables::{metric_name, percent, shown_difference};
use super::verdict::{labels, points, shown_p};
use crate::analysis::comparison::{
    Comparison, JudgeNoise, LengthOmitted, MetricComparison, PairComparison, SystemMean,
};
use crate::domain::Note;
use crate::report::layout::counted;
use crate::report::table::Format;

/// Listed entries of one kind before the rest is counted.
const LISTED: usize = 6;

/// Warnings about the runs, whatever the metric.
pub(in crate::report) fn run_warnings(comparison: &Comparison) -> Vec<Note> {
    let differences = comparison.differences.iter().map(|difference| format!("Not comparable: {difference}."));
    let unfinished = comparison.runs.iter().filter_map(|run| run.unfinished.as_ref());
    let unfinished = unfinished.map(|unfinished| format!("Unfinished: {unfinished}."));
    let as_zero = comparison.runs.iter().filter(|run| run.unscored_as_zero).map(|run| {
        format!("{} was scored with --on-unscored zero; here unscored answers are left out of the means.", run.name)
    });
    differences.chain(unfinished).chain(as_zero).map(Note::warning).collect()
}

/// Every note, with the metric's name before it where there are several.
pub(super) fn notes(comparison: &Comparison) -> Vec<Note> {
    let mut notes = run_warnings(comparison);
    if comparison.metrics.iter().any(|metric| metric.metric.scorer.starts_with("lexical_")) {
        notes.push(Note::warning("Scored by the built-in lexical baseline, not by an LLM."));
    }
    for metric in &comparison.metrics {
        let name = metric_name(comparison, metric);
        let several = comparison.metrics.len() > 1;
        let named = |note: Note| if several { Note { text: format!("{name}: {}", note.text), ..note } } else { note };
        notes.extend(metric_notes(metric).into_iter().map(named));
    }
    notes.extend(comparison.judged_by.iter().map(|judged| Note::info(format!("Judged: {judged}."))));
    notes.extend(method(comparison));
    notes
}

/// Notes about one metric.
pub(in crate::report) fn metric_notes(metric: &MetricComparison) -> Vec<Note> {
    let all = [
        sensitive(metric),
        pairwise(metric),
        length_changes(metric),
        missing(metric),
        own_means(metric),
        detectable(metric),
        metric.noise.as_ref().map(|noise| judge_noise(metric, noise)),
        length_correlations(metric),
        length_adjusted(metric),
        length_omitted(metric),
    ];
    all.into_iter().flatten().chain(metric.notes.iter().cloned()).collect()
}

/// The first of these, then how many more there are; `None` if there are none.
fn listed(parts: impl Iterator<Item = String>) -> Option<String> {
    let mut parts: Vec<String> = parts.collect();
    let more = parts.len().saturating_sub(LISTED);
    parts.truncate(LISTED);
    parts.extend((more > 0).then(|| format!("and {more} more")));
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn pair_name(metric: &MetricComparison, pair: &PairComparison) -> String {
    labels(metric, pair).join(" – ")
}

fn sensitive(metric: &MetricComparison) -> Option<Note> {
    let pairs = metric.pairs.iter().filter(|pair| pair.sensitive_to_unscored).map(|pair| {
        let format = Format::of_difference(metric.metric.unit);
        let range = pair.bounds.map(|bounds| format!(" (difference within {})", format.show_interval(bounds)));
        pair_name(metric, pair) + &range.unwrap_or_default()
    });
    listed(pairs).map(|pairs| Note::warning(format!("With all answers scored the verdict could change: {pairs}.")))
}

fn pairwise(metric: &MetricComparison) -> Option<Note> {
    let pairs = metric.pairs.iter().filter_map(|pair| {
        let own = pair.pairwise.filter(|own| own.changes_verdict)?;
        let shown = |difference| shown_difference(difference, None, metric.metric.unit);
        Some(format!(
            "{} {} in {} (Holm {}), not {}",
            pair_name(metric, pair),
            shown(own.difference),
            counted(own.cases, "case"),
            shown_p(own.p_holm),
            shown(pair.difference)
        ))
    });
    let pairs = listed(pairs)?;
    Some(Note::warning(format!(
        "Over all cases that a pair shares, whatever other systems lack, the verdict changes: {pairs}."
    )))
}

fn length_changes(metric: &MetricComparison) -> Option<Note> {
    let changes = |pair: &&PairComparison| pair.length.as_ref().is_some_and(|length| length.changes_conclusion);
    let pairs = listed(metric.pairs.iter().filter(changes).filter_map(|pair| length_effect(metric, pair)))?;
    Some(Note::warning(format!("Length-adjusted the conclusion changes: {pairs}.")))
}

fn length_adjusted(metric: &MetricComparison) -> Option<Note> {
    let pairs = listed(metric.pairs.iter().filter_map(|pair| length_effect(metric, pair)))?;
    Some(Note::info(format!("Length-adjusted differences: {pairs}.")))
}

fn length_effect(metric: &MetricComparison, pair: &PairComparison) -> Option<String> {
    let (length, unit) = (pair.length.as_ref()?, metric.metric.unit);
    Some(format!(
        "{} {} instead of {} ({:+.0} words)",
        pair_name(metric, pair),
        shown_difference(length.adjusted, Some(length.interval), unit),
        shown_difference(pair.difference, pair.interval, unit),
        length.words
    ))
}

fn length_correlations(metric: &MetricComparison) -> Option<Note> {
    let systems = metric.systems.iter().filter_map(|system| {
        let length = system.length_correlation?;
        Some(format!("{} {}", system.label, Format::Number(2).show_estimate(length.rho, length.interval)))
    });
    listed(systems).map(|systems| Note::info(format!("Spearman correlation of value and words: {systems}.")))
}

fn length_omitted(metric: &MetricComparison) -> Option<Note> {
    let why = |omitted: LengthOmitted, text: &str| {
        let pairs = metric.pairs.iter().filter(|pair| pair.length_omitted == Some(omitted));
        listed(pairs.map(|pair| pair_name(metric, pair))).map(|pairs| format!("{text} ({pairs})"))
    };
    let reasons = [
        why(LengthOmitted::FewQuestions, "fewer than 20 questions"),
        why(LengthOmitted::Extrapolated, "one system is longer throughout"),
    ];
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    (!reasons.is_empty()).then(|| Note::info(format!("No length-adjusted difference: {}.", reasons.join("; "))))
}

fn missing(metric: &MetricComparison) -> Option<Note> {
    let system = |system: &SystemMean| {
        let format = Format::of_mean(metric.metric.unit);
        let bounds = system.bounds.map(|bounds| format!(", mean within {} with them", format.show_interval(bounds)));
        format!(
            "{} {} unscored{}, {} of {} without an answer or value",
            system.label,
            system.unscored,
            bounds.unwrap_or_default(),
            system.missing,
            counted(metric.cases_in_all, "case")
        )
    };
    let lacking = metric.systems.iter().filter(|system| system.unscored > 0 || system.missing > 0);
    listed(lacking.map(system)).map(|systems| Note::info(format!("Missing: {systems}.")))
}

fn own_means(metric: &MetricComparison) -> Option<Note> {
    let others = metric.systems.iter().filter(|system| system.own_cases != metric.cases.len());
    let mean = |system: &SystemMean| {
        let mean = system.own_mean.map_or("-".to_owned(), |mean| Format::of_mean(metric.metric.unit).show(mean));
        format!("{} {mean} (n={})", system.label, system.own_cases)
    };
    listed(others.map(mean)).map(|means| Note::info(format!("All cases of each system (not comparable): {means}.")))
}

fn detectable(metric: &MetricComparison) -> Option<Note> {
    let all = || metric.pairs.iter().filter_map(|pair| pair.detectable);
    let unit = metric.metric.unit;
    let (least, most) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let least = Format::of_mean(unit).show(least);
    let most = points(most, unit);
    let range =
        if most.starts_with(&format!("{least} ")) || most == least { most } else { format!("{least} to {most}") };
    let questions = counted(metric.questions, "question");
    Some(Note::info(format!(
        "Detectable difference with {questions}: {range} (paired t test, 80% power, uncorrected)."
    )))
}

fn judge_noise(metric: &MetricComparison, noise: &JudgeNoise) -> Note {
    let (unit, parts) = (metric.metric.unit, &noise.components);
    let parts = [
        ("questions", Some(parts.question)),
        ("judges", parts.judge),
        ("questions x judges", parts.question_judge),
        ("samples", Some(parts.draw)),
    ];
    let total: f64 = parts.iter().filter_map(|(_, part)| *part).sum();
    let shares = parts.iter().filter_map(|(name, part)| Some(format!("{name} {:.1}%", 100.0 * (*part)? / total)));
    let shares = if total > 0.0 { shares.collect::<Vec<_>>().join(", ") } else { "none".to_owned() };
    let mut text = format!(
        "Judge noise ({}, at most {} each): variance of a judged value: {shares}",
        counted(noise.judges, "judge"),
        counted(noise.samples, "sample")
    );
    if let Some(error) = noise.standard_error {
        text += &format!("; standard error of a mean from sampling {error:.4}");
    }
    if let Some(detectable) = noise.detectable {
        text += &format!("; detectable difference {}", points(detectable, unit));
    }
    if let Some(needed) = &noise.needed {
        let count = |count: Option<usize>, noun: &str| {
            count.map_or(format!("no number of {noun}s"), |count| counted(count, noun))
        };
        text += &format!(
            "; a difference of {} takes {} on these questions, or {} with these samples",
            points(needed.difference, unit),
            count(needed.samples, "sample"),
            count(needed.questions, "question")
        );
    }
    Note::info(text + ".")
}

/// How the numbers were made, as a sentence for a paper.
fn method(comparison: &Comparison) -> Option<Note> {
    let options = &comparison.options;
    let over = |metric: &MetricComparison| {
        let name = metric_name(comparison, metric);
        format!("{} of {} cases ({name})", metric.cases.len(), metric.cases_in_all)
    };
    let over = listed(comparison.metrics.iter().filter(|metric| !metric.cases.is_empty()).map(over))?;
    let mut text = format!(
        "For the paper: scholareval {}; means over {over} with {} BCa bootstrap intervals over questions ({} resamples, seed \
         {})",
        env!("CARGO_PKG_VERSION"),
        percent(options.level),
        options.resamples,
        options.seed
    );
    if comparison.metrics.iter().any(|metric| !metric.pairs.is_empty()) {
        let family = if options.baseline.is_some() { "the pairs with the baseline" } else { "all pairs" };
        text += &format!(
            "; two-sided paired permutation test (all sign assignments of up to 20 differences, else {} random ones), \
             corrected by Holm over {family} of a metric (alpha {})",
            options.flips, options.alpha
        );
    }
    Some(Note::info(text + "."))
}

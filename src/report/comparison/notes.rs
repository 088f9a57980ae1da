//! Notes of a comparison: warnings that a reader needs to use its numbers, and details on request.

use std::collections::{BTreeMap, BTreeSet};

use super::old_scale::old_scale_notes;
use super::pairwise::comparison_notes;
use super::self_preference;
use super::tables::metric_name;
use crate::analysis::comparison::{
    Comparison, JudgedRole, LengthEffect, MIN_QUESTIONS, MetricComparison, PairComparison,
    VerdictCorrection,
};
use crate::analysis::distinct;
use crate::domain::Note;
use crate::report::layout::{counted, listed};
use crate::report::looks::look_warning;
use crate::report::numbers::{percent, points, shown_difference};
use crate::report::table::{Format, short_names};
use crate::stats::PairedMethod;

/// Warnings on the runs, for all metrics.
pub fn run_warnings(comparison: &Comparison) -> Vec<Note> {
    let mut warnings = Vec::new();
    for difference in &comparison.differences {
        warnings.push(format!("Not comparable: {difference}."));
    }
    for unfinished in comparison.runs.iter().flat_map(|run| &run.unfinished) {
        warnings.push(format!("Unfinished: {unfinished}."));
    }
    // Changes of the judge or between runs are not what the looks were about.
    let is_across = !comparison.judge_changes.is_empty()
        || !comparison.run_changes.is_empty()
        || !comparison.old_scales.is_empty();
    let looks = comparison.runs.iter().filter_map(|run| run.looks.as_ref());
    if !is_across {
        warnings.extend(looks.map(look_warning));
    }
    for run in &comparison.runs {
        for sentence in run.answered_by_others.iter().chain(&run.shared_families) {
            warnings.push(format!("{}: {sentence}.", run.name));
        }
    }
    for run in comparison.runs.iter().filter(|run| run.unscored_as_zero) {
        warnings.push(format!(
            "{}: unscored answers count as the lowest value (--on-unscored zero).",
            run.name
        ));
    }
    let noun = comparison.across.noun();
    for run in &comparison.runs {
        if let Some(same) = &run.same_judge_as {
            warnings.push(format!(
                "{} has the same {noun} as {same}, which counts once in the ranks.",
                run.name
            ));
        }
    }
    let uncounted = comparison.runs.iter().flat_map(|run| &run.uncounted);
    for sentence in distinct(uncounted) {
        warnings.push(format!("{sentence}."));
    }
    warnings.extend(comparison.correction.as_ref().map(correction_warning));
    if let Some(systems) = listed(comparison.left_out.iter().cloned()) {
        warnings.push(format!("Left out, since not in every run: {systems}."));
    }
    warnings.into_iter().map(Note::warning).collect()
}

/// By which judges `score` and `corrected` are.
fn correction_warning(correction: &VerdictCorrection) -> String {
    let VerdictCorrection {
        cheap,
        dear,
        drawn,
        of,
        missing,
        left_out,
    } = correction;
    let share = percent(*drawn as f64 / *of as f64);
    let mut text = format!(
        "score is by {cheap}; corrected estimates what {dear} would give, from {drawn} of {of} verdicts ({share}) drawn with known \
         probabilities."
    );
    if *missing > 0 {
        text += &format!(
            " {missing} of the drawn verdicts were not given; the others count for them, which is unbiased only if they are alike."
        );
    }
    if *left_out > 0 {
        text += &format!(
            " {} without a verdict on each criterion left out.",
            counted(*left_out, "answer")
        );
    }
    text
}

/// The warning about numbers of the lexical baseline, if there are any.
pub(super) fn baseline(comparison: &Comparison) -> Option<Note> {
    let compared = comparison.metrics.iter().map(|metric| &metric.metric);
    let changes = comparison.judge_changes.iter().map(|change| &change.metric);
    let estimated = comparison.old_scales.iter().map(|scale| &scale.metric);
    let metrics = compared.chain(changes).chain(estimated);
    Note::of_baseline(metrics.map(|metric| &metric.scorer))
}

/// Every note, prefixed with the metric's name if there are several. What the signs in the table of means mean comes before
/// the notes on single metrics, of which there may be more than are shown.
pub(in crate::report) fn all_notes(comparison: &Comparison, signs: Vec<Note>) -> Vec<Note> {
    let mut notes = run_warnings(comparison);
    notes.extend(baseline(comparison));
    notes.extend(comparison.old_scales.iter().flat_map(old_scale_notes));
    notes.extend(self_preference::notes(&comparison.self_preference));
    notes.extend(signs);
    if let [only] = &comparison.metrics[..] {
        notes.extend(metric_notes(only));
    } else {
        for metric in &comparison.metrics {
            let name = metric_name(comparison, metric);
            let of_metric = metric_notes(metric).into_iter();
            notes.extend(of_metric.map(|note| note.about(&name)));
        }
    }
    notes.extend(comparison_notes(comparison));
    let judged: Vec<&JudgedRole> = comparison.judged_by.iter().collect();
    notes.extend(check_lines(&judged).into_iter().map(Note::warning));
    notes.extend(unpublished(&judged).map(Note::info));
    notes.extend(judge_lines(&judged).into_iter().map(Note::info));
    notes.extend(method(comparison));
    notes
}

/// Notes on one metric.
pub(in crate::report) fn metric_notes(metric: &MetricComparison) -> Vec<Note> {
    let mut notes = Vec::new();
    notes.extend(too_small(metric));
    notes.extend(sensitive(metric));
    let changed = length_effects(
        metric,
        |length| length.changes_conclusion,
        "the conclusion changes",
    );
    notes.extend(changed.map(Note::warning));
    let less_precise = length_effects(
        metric,
        |length| length.less_precise,
        "the estimate is unchanged, less precise",
    );
    notes.extend(less_precise.map(Note::info));
    notes.extend(detectable(metric));
    notes.extend(metric.notes.iter().cloned());
    notes
}

/// A sentence on each judge, with its roles.
pub(in crate::report) fn judge_lines(judged: &[&JudgedRole]) -> Vec<String> {
    let judges = judged.iter();
    let by_judge = by_text(judges.map(|role| (judge_with_runs(role), role.role.as_str())));
    by_judge
        .into_iter()
        .map(|(judge, roles)| format!("Judge of {roles}: {judge}."))
        .collect()
}

/// The judge; where it is not that of all runs, with the runs that it is of.
fn judge_with_runs(judged: &JudgedRole) -> String {
    if judged.runs.is_empty() {
        judged.judge.clone()
    } else {
        format!("{} ({})", judged.judge, judged.runs.join(", "))
    }
}

/// Whether judges were checked against people: one sentence for all of them, or one for each result of the check.
pub(in crate::report) fn check_lines(judged: &[&JudgedRole]) -> Vec<String> {
    let mut by_check: BTreeMap<&str, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
    for role in judged {
        if let Some(check) = &role.check {
            let (roles, runs) = by_check.entry(check).or_default();
            roles.insert(role.role.strip_prefix("aspect.").unwrap_or(&role.role));
            runs.extend(role.runs.iter().map(String::as_str));
        }
    }
    let mut lines = Vec::new();
    for (check, (roles, runs)) in &by_check {
        let mut line = "Judge".to_owned();
        if by_check.len() > 1 {
            line += &format!(" of {}", Vec::from_iter(roles.iter().copied()).join(", "));
            if !runs.is_empty() {
                line += &format!(" ({})", Vec::from_iter(runs.iter().copied()).join(", "));
            }
        }
        lines.push(format!("{line} {check}."));
    }
    lines
}

/// A sentence on judges and prompts that are not those of the published numbers, if there are any.
pub(in crate::report) fn unpublished(judged: &[&JudgedRole]) -> Option<String> {
    let differing = judged.iter().filter_map(|role| {
        let difference = role.differs_from_published.clone()?;
        Some((difference, role.role.as_str()))
    });
    let mut differences = Vec::new();
    for (difference, roles) in by_text(differing) {
        differences.push(format!("{roles} ({difference})"));
    }
    let differences = differences.join("; ");
    (!differences.is_empty())
        .then(|| format!("Not comparable with published numbers: {differences}."))
}

/// Each text with its roles.
fn by_text<'a>(texts: impl Iterator<Item = (String, &'a str)>) -> Vec<(String, String)> {
    let mut by_text: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (text, role) in texts {
        let role = role.strip_prefix("aspect.").unwrap_or(role);
        by_text.entry(text).or_default().insert(role);
    }
    by_text
        .into_iter()
        .map(|(text, roles)| (text, Vec::from_iter(roles).join(", ")))
        .collect()
}

/// The names are as short as in tables: a list cuts long items, and would cut their numbers.
fn pair_name(metric: &MetricComparison, pair: &PairComparison) -> String {
    let names = short_names(metric.systems.iter().map(|system| system.label.as_str()));
    format!("{} – {}", names[pair.first], names[pair.second])
}

/// With so few differences no verdict is possible.
fn too_small(metric: &MetricComparison) -> Option<Note> {
    let least = metric.smallest_p?;
    let mut pairs = metric.pairs.iter();
    let has_verdict = pairs.any(|pair| pair.differs || pair.detectable.is_some());
    // Where some pair could have been significant, or nothing differs at all, the number of
    // questions is not what is missing.
    if has_verdict || least >= 1.0 {
        return None;
    }
    let p = Format::PValue.show(least);
    let questions = counted(metric.questions, "question");
    Some(Note::warning(format!(
        "Too few differences for a verdict: were all in favor of one system, p would be {p} ({questions})."
    )))
}

/// The pairs whose verdict depends on what is missing, with the bounds of their differences.
fn sensitive(metric: &MetricComparison) -> Option<Note> {
    let format = Format::of_difference(metric.metric.unit);
    let mut pairs = Vec::new();
    for pair in metric.pairs.iter().filter(|pair| pair.sensitive) {
        let mut text = pair_name(metric, pair);
        if let Some(bounds) = pair.bounds {
            text += &format!(" (difference within {})", format.show_interval(bounds));
        }
        pairs.push(text);
    }
    let pairs = listed(pairs)?;
    Some(Note::warning(format!(
        "With all answers present and scored the verdict could change: {pairs}."
    )))
}

/// The pairs with this effect of length, after what it means.
fn length_effects(
    metric: &MetricComparison,
    has_effect: fn(&LengthEffect) -> bool,
    meaning: &str,
) -> Option<String> {
    let unit = metric.metric.unit;
    let mut pairs = Vec::new();
    for pair in &metric.pairs {
        let Some(length) = pair.length.as_ref().filter(|length| has_effect(length)) else {
            continue;
        };
        pairs.push(format!(
            "{} {} instead of {} ({:+.0} words)",
            pair_name(metric, pair),
            shown_difference(length.adjusted, Some(length.interval), unit),
            shown_difference(pair.difference, pair.pointwise, unit),
            length.words
        ));
    }
    let pairs = listed(pairs)?;
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

/// The largest of the differences that the pairs could have shown.
fn detectable(metric: &MetricComparison) -> Option<Note> {
    let detectable = metric.pairs.iter().filter_map(|pair| pair.detectable);
    let most = points(detectable.reduce(f64::max)?, metric.metric.unit);
    let questions = counted(metric.questions, "question");
    Some(Note::info(format!(
        "Detectable difference with {questions}: {most} (80% power)."
    )))
}

/// The methods, as a sentence for a paper; none for a run that was looked at, whose tests are not these.
fn method(comparison: &Comparison) -> Option<Note> {
    if comparison.runs.iter().any(|run| run.looks.is_some()) {
        return None;
    }
    let options = &comparison.options;
    let over = listed(cases_by_metric(comparison))?;
    let family = if options.baseline.is_some() {
        "the pairs with the baseline"
    } else {
        "all pairs"
    };
    let tests = distinct(comparison.metrics.iter().filter_map(test_name)).join(" and ");
    let level = percent(options.level);
    // The adjustment covers the pairs of one metric; readers of several metrics must know that it
    // does not cover these.
    let several = if comparison.metrics.len() > 1 {
        ", not for several metrics"
    } else {
        ""
    };
    let corrected = if comparison.correction.is_some() {
        ", for corrected values Student's"
    } else {
        ""
    };
    Some(Note::info(format!(
        "For the paper: scholareval {}; means over {over} with {level} intervals over questions (Wilson's with an effective \
         number of questions for shares, net shares and grades, bootstrap-t for counts, below 6 questions Student's{corrected}); differences with \
         simultaneous {level} intervals and p adjusted over {family} of a metric{several} by {tests} ({} resamples, seed {}).",
        env!("CARGO_PKG_VERSION"),
        Format::Count.show(f64::from(options.resamples)),
        options.seed,
    )))
}

/// `98 of 100 cases (score)` for each metric with shared cases.
fn cases_by_metric(comparison: &Comparison) -> Vec<String> {
    let mut cases = Vec::new();
    for metric in &comparison.metrics {
        let (shared, all) = (metric.cases.len(), metric.cases_in_all);
        if shared > 0 {
            let name = metric_name(comparison, metric);
            cases.push(format!("{shared} of {all} cases ({name})"));
        }
    }
    cases
}

/// The test of a metric's pairs as a paper calls it.
fn test_name(metric: &MetricComparison) -> Option<&'static str> {
    Some(match metric.method? {
        PairedMethod::BootstrapT => "the bootstrap max-t",
        PairedMethod::SignFlip => "sign flips (max-t)",
        PairedMethod::Wilson => "Wilson's interval (Bonferroni)",
        PairedMethod::Student => "Student's t (Bonferroni)",
    })
}

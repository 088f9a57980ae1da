//! What a reader must know beside the numbers: one sentence or two per matter.

use super::ComparisonContext;
use super::length::{equal_length, left_out, length_correlations};
use super::numbers::{bracket, labels, level, p, points, signed, signed_bracket};
use super::paper::for_the_paper;
use crate::analysis::comparison::{
    Comparison, ComparisonOptions, JudgeNoise, MetricComparison, PairComparison, SystemMean,
};
use crate::report::layout::counted;
use crate::report::section_table::shown;
use crate::report::visible::{shortened, visible};

/// Listed entries of one kind before the rest is counted.
const LISTED: usize = 6;
/// The power that detectable differences stand for.
const POWER: &str = "80% power";

/// Sentences about one metric; the last are its own notes.
pub(super) fn of_metric(metric: &MetricComparison, options: &ComparisonOptions) -> Vec<String> {
    let mut told = Vec::new();
    told.extend(own_means(metric));
    told.extend(resolution(metric, options));
    told.extend(wanted(metric, options));
    told.extend(metric.noise.as_ref().map(|noise| judge_noise(metric, noise)));
    told.extend(missing(metric));
    told.extend(metric.pairs.iter().filter_map(|pair| hanging(metric, pair)));
    told.extend(metric.pairs.iter().filter_map(|pair| of_own_cases(metric, pair)));
    told.extend(length_correlations(metric, options));
    told.extend(equal_length(metric));
    told.extend(left_out(metric));
    told.extend(metric.notes.iter().map(|note| format!("{}.", shortened(note, 300).trim_end_matches('.'))));
    told
}

/// Sentences about all metrics.
pub(super) fn of_all(comparison: &Comparison, context: &ComparisonContext) -> Vec<String> {
    let options = &comparison.options;
    let mut told: Vec<String> =
        comparison.marks.iter().map(|mark| format!("{}{}.", kind_of(mark), shortened(mark, 400))).collect();
    told.extend(context.made.iter().map(|made| format!("{}.", shortened(made, 300))));
    let has_pairs = comparison.metrics.iter().any(|metric| !metric.pairs.is_empty());
    if comparison.metrics.iter().any(|metric| !metric.groups.is_empty()) && has_pairs {
        told.push(format!("systems that share a letter are not told apart at {}.", options.alpha));
    }
    if has_pairs {
        let of = match &options.baseline {
            Some(baseline) => format!("the pairs with {}", visible(baseline)),
            None => "all pairs".to_owned(),
        };
        told.push(format!(
            "p: paired permutation test (two-sided; every sign assignment where at most 20 differences are not 0, else {} \
             random ones), corrected by Holm for {of} of a metric; * told apart (p Holm below {}), ! with what is missing \
             the verdict could be another.",
            options.flips, options.alpha
        ));
        told.push(
            "W/T/L: cases where the first of the pair is better, equal, worse; d_z: Cohen's d of paired differences (their \
             mean by their standard deviation)."
                .to_owned(),
        );
    }
    if comparison.metrics.iter().any(|metric| metric.ranks.is_some() && metric.metric.higher_is_better) {
        told.push("% best: of the resamples, those in which the system has the highest mean.".to_owned());
    }
    told.push(format!(
        "intervals: {}, BCa bootstrap over questions, {} resamples, seed {}{}.",
        level(options.level),
        options.resamples,
        options.seed,
        if has_pairs { "; those of pairs are not corrected for how many there are, stars and p Holm are" } else { "" }
    ));
    told.extend(for_the_paper(comparison, context));
    told
}

/// What stands before a mark: runs that did not finish say so themselves.
fn kind_of(mark: &str) -> &'static str {
    if is_difference(mark) { "not made alike: " } else { "" }
}

/// Whether a mark tells something that is not the same in all runs, and not that one of them did not finish.
pub(super) fn is_difference(mark: &str) -> bool {
    mark.contains(" differs: ")
}

/// Means over what each system has, where that is more than what all have.
fn own_means(metric: &MetricComparison) -> Option<String> {
    let unit = metric.metric.unit;
    let others = metric.systems.iter().filter(|system| system.own_cases != metric.cases.len());
    let own = others.map(|system| {
        let mean = system.own_mean.map_or("no mean".to_owned(), |mean| shown(mean, unit));
        format!("{} {mean} (n {})", visible(&system.label), system.own_cases)
    });
    let own: Vec<String> = own.collect();
    (!own.is_empty())
        .then(|| format!("over all that each has a value for, which does not compare: {}.", several(&own, ", ")))
}

/// What these cases can resolve.
fn resolution(metric: &MetricComparison, options: &ComparisonOptions) -> Option<String> {
    let unit = metric.metric.unit;
    let differences: Vec<f64> = metric.pairs.iter().filter_map(|pair| pair.detectable).collect();
    let least = differences.iter().copied().reduce(f64::min)?;
    let most = differences.iter().copied().reduce(f64::max)?;
    let (least, most) = (shown(least, unit), shown(most, unit));
    let range = if least == most { least } else { format!("{least} to {most}") };
    let by_pair = if range.contains(' ') { ", depending on the pair" } else { "" };
    Some(format!(
        "{} resolve{} a difference of {range}{}{by_pair} (paired t test, {POWER} at {}, before correction).",
        counted(metric.questions, "question"),
        if metric.questions == 1 { "s" } else { "" },
        points(unit),
        options.alpha
    ))
}

/// How many questions it takes to find the wanted difference, as the pairs vary here.
fn wanted(metric: &MetricComparison, options: &ComparisonOptions) -> Option<String> {
    let difference = options.wanted_difference?;
    let unit = metric.metric.unit;
    let needed: Vec<usize> = metric.pairs.iter().filter_map(|pair| pair.questions_needed).collect();
    let (least, most) = (*needed.iter().min()?, *needed.iter().max()?);
    let range = if least == most { counted(most, "question") } else { format!("{least} to {most} questions") };
    let by_pair = if least == most { "" } else { ", depending on the pair" };
    Some(format!(
        "to find a difference of {}{}: {range} as judged here{by_pair} (paired t test, {POWER} at {}, before correction).",
        shown(difference, unit),
        points(unit),
        options.alpha
    ))
}

/// How noisy the judge is, and what that asks for.
fn judge_noise(metric: &MetricComparison, noise: &JudgeNoise) -> String {
    let unit = metric.metric.unit;
    let parts = &noise.components;
    let shares: Vec<(&str, f64)> = [
        ("questions", Some(parts.question)),
        ("judges", parts.judge),
        ("question x judge", parts.question_judge),
        ("draws", Some(parts.draw)),
    ]
    .into_iter()
    .filter_map(|(name, part)| Some((name, part?)))
    .collect();
    let total: f64 = shares.iter().map(|(_, part)| part).sum();
    let split = if total > 0.0 {
        let parts: Vec<String> =
            shares.iter().map(|(name, part)| format!("{name} {:.1}%", 100.0 * part / total)).collect();
        format!("variance of a judged value: {}", parts.join(", "))
    } else {
        "judged values do not vary".to_owned()
    };
    let mut text =
        format!("noise ({}, at most {} each): {split}", counted(noise.judges, "judge"), counted(noise.draws, "draw"));
    if let Some(error) = noise.draw_standard_error {
        text += &format!("; asking again moves a mean by a standard error of {}{}", fine(error, unit), points(unit));
    }
    if let Some(detectable) = noise.detectable {
        text += &format!(
            "; as judged, this set resolves {}{} ({POWER}, over the pairs compared)",
            shown(detectable, unit),
            points(unit)
        );
    }
    if let Some(needed) = &noise.needed {
        let enough = |count: Option<usize>, noun: &str| {
            count.map_or(format!("no number of {noun}s is enough"), |count| counted(count, noun))
        };
        text += &format!(
            "; to find a difference of {}{}{}: on these questions {}, or with these draws {}",
            shown(needed.difference, unit),
            points(unit),
            whose(metric, needed.pair),
            enough(needed.draws, "draw"),
            enough(needed.questions, "question")
        );
    }
    text + "."
}

/// Whose difference it is that is to be found.
fn whose(metric: &MetricComparison, pair: Option<(usize, usize)>) -> String {
    let label = |at: usize| metric.systems.get(at).map_or_else(|| "?".into(), |system| visible(&system.label));
    pair.map_or(String::new(), |(first, second)| format!(" (that of {} and {})", label(first), label(second)))
}

/// One decimal more than usual: such errors are small.
fn fine(value: f64, unit: crate::domain::Unit) -> String {
    match unit {
        crate::domain::Unit::Share => format!("{:.2}", 100.0 * value),
        _ => format!("{value:.3}"),
    }
}

/// What systems lack; those that lack alike together.
fn missing(metric: &MetricComparison) -> Option<String> {
    let mut alike: Vec<(String, Vec<String>)> = Vec::new();
    for system in metric.systems.iter().filter(|system| system.unscored > 0 || system.absent > 0) {
        let (lack, name) = (lack_of(metric, system), visible(&system.label).into_owned());
        match alike.iter_mut().find(|(known, _)| *known == lack) {
            Some((_, names)) => names.push(name),
            None => alike.push((lack, vec![name])),
        }
    }
    let part = |(lack, names): (String, Vec<String>)| {
        let count = names.len();
        let whose = match count == metric.systems.len() && count > 1 {
            true => "every system".to_owned(),
            false => several(&names, ", "),
        };
        format!("{whose} ({lack}{})", if count > 1 { " each" } else { "" })
    };
    let parts: Vec<String> = alike.into_iter().map(part).collect();
    (!parts.is_empty()).then(|| format!("missing: {}.", parts.join("; ")))
}

fn lack_of(metric: &MetricComparison, system: &SystemMean) -> String {
    let unit = metric.metric.unit;
    let bounds = system.bounds.filter(is_finite).map_or(String::new(), |(low, high)| {
        format!(
            ", mean {} to {} with the missing parts at their lowest or highest",
            shown(low, unit),
            shown(high, unit)
        )
    });
    let absent = match system.absent {
        0 => String::new(),
        absent => format!(", {absent} of {} without an answer or value", counted(metric.cases_in_all, "case")),
    };
    format!("{} unscored{bounds}{absent}", system.unscored)
}

/// The first of these, whole, then how many more there are.
pub(super) fn several(parts: &[String], between: &str) -> String {
    let more = parts.len().saturating_sub(LISTED);
    let shown = parts.iter().take(LISTED).cloned().collect::<Vec<_>>().join(between);
    if more > 0 { format!("{shown}{between}and {more} more") } else { shown }
}

/// What has no bounds has infinite ones.
pub(super) fn is_finite(bounds: &(f64, f64)) -> bool {
    bounds.0.is_finite() && bounds.1.is_finite()
}

/// A verdict that hangs on what is missing.
fn hanging(metric: &MetricComparison, pair: &PairComparison) -> Option<String> {
    let unit = metric.metric.unit;
    pair.depends_on_missing.then(|| {
        let [first, second] = labels(metric, pair).map(visible);
        let range = pair.missing_bounds.filter(is_finite).map_or(String::new(), |bounds| {
            let within = signed_bracket(bounds, unit);
            format!("the difference over all cases that both answered lies within {within} once all is scored: ")
        });
        format!("! {first} – {second}: {range}the verdict depends on what is missing.")
    })
}

/// A verdict, or an order, that other systems' gaps decide.
fn of_own_cases(metric: &MetricComparison, pair: &PairComparison) -> Option<String> {
    let own = pair.in_common.filter(|own| own.changes_verdict || own.difference * pair.difference < 0.0)?;
    let [first, second] = labels(metric, pair).map(visible);
    let unit = metric.metric.unit;
    let (mark, what) = if own.changes_verdict { ("! ", "verdict") } else { ("", "order of the two") };
    Some(format!(
        "{mark}{first} – {second}: over the {} that these two share the difference is {} (p Holm {}), not {}: the {what} \
         depends on what other systems lack.",
        counted(own.cases, "case"),
        signed(own.difference, unit),
        p_or_dash(own.p_holm),
        signed(pair.difference, unit),
    ))
}

/// How a metric's systems stand, as a line above its table.
pub(super) fn heading(metric: &MetricComparison, options: &ComparisonOptions) -> String {
    let order = if metric.metric.higher_is_better { "best first" } else { "highest first" };
    let shared = if metric.systems.len() > 1 { "shared case" } else { "case" };
    format!(
        "{} ({}), {} intervals, {order}: {}",
        visible(&metric.metric.name),
        super::numbers::unit_name(metric.metric.unit),
        level(options.level),
        of_all_cases(metric, &counted(metric.cases.len(), shared))
    )
}

/// How many of all cases those are, where they are not all.
pub(super) fn of_all_cases(metric: &MetricComparison, shared: &str) -> String {
    let all = metric.cases_in_all;
    if all == metric.cases.len() { shared.to_owned() } else { format!("{shared} of {all}") }
}

/// Whether a system lacks an answer or a value.
pub(super) fn has_absent(metric: &MetricComparison) -> bool {
    metric.systems.iter().any(|system| system.absent > 0)
}

/// `48.5 [47.0, 49.9]`, or a dash.
pub(super) fn mean_with_interval(mean: Option<f64>, interval: Option<(f64, f64)>, unit: crate::domain::Unit) -> String {
    match (mean, interval) {
        (None, _) => "-".to_owned(),
        (Some(mean), None) => shown(mean, unit),
        (Some(mean), Some(interval)) => format!("{} {}", shown(mean, unit), bracket(interval, unit)),
    }
}

/// A p value or a dash.
pub(super) fn p_or_dash(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), p)
}

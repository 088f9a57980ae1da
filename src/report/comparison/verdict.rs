//! The verdict of a comparison, in one or two sentences.

use super::tables::metric_name;
use crate::analysis::comparison::{Comparison, MetricComparison, PairComparison, SystemMean};
use crate::domain::SubjectKind;
use crate::report::numbers::shown_difference;
use crate::report::table::Format;
use crate::stats::Interval;

/// Significant pairs named before the rest is counted.
const NAMED: usize = 3;

/// A statement of a verdict.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::report) struct Statement {
    /// `careful scores higher than brief`.
    pub(in crate::report) words: String,
    /// `+3.4 [0.2, 6.6], p = 0.011`; empty for statements on several pairs.
    pub(in crate::report) evidence: String,
}

impl Statement {
    fn without_evidence(words: String) -> Self {
        Self {
            words,
            evidence: String::new(),
        }
    }

    fn as_text(&self) -> String {
        if self.evidence.is_empty() {
            return self.words.clone();
        }
        format!("{} ({})", self.words, self.evidence)
    }
}

/// The verdict on each metric, one line each, with the metric's name: a card may show other columns before it. Metrics without
/// a significant difference share a line.
pub(in crate::report) fn verdicts(comparison: &Comparison) -> Vec<String> {
    let is_only = comparison.metrics.len() == 1;
    let mut lines = Vec::new();
    let mut same = Vec::new();
    let mut is_of_all = true;
    for metric in &comparison.metrics {
        let tested = tested(metric);
        if tested.is_empty() {
            continue;
        }
        is_of_all &= tested.len() == metric.pairs.len();
        let name = metric_name(comparison, metric);
        // The only pair of the only metric is always worth its numbers.
        let has_evidence = is_only && tested.len() == 1;
        if has_evidence || metric.pairs.iter().any(|pair| pair.differs) {
            let words = VerdictWords::of(comparison, metric);
            lines.push(format!("{name}: {}", verdict(metric, words)));
        } else {
            same.push(name);
        }
    }
    if !same.is_empty() {
        let names = same.join(", ");
        // With a baseline, other pairs were not tested.
        lines.push(match &comparison.options.baseline {
            Some(baseline) => {
                format!("No system differs significantly from {baseline} in {names}.")
            }
            None if is_of_all => format!("No pair differs significantly in {names}."),
            None => format!("No pair that was looked at differs significantly in {names}."),
        });
    }
    lines
}

fn tested(metric: &MetricComparison) -> Vec<&PairComparison> {
    let pairs = metric.pairs.iter();
    pairs.filter(|pair| pair.is_tested()).collect()
}

/// What a significant difference is called, and how it is shown.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum VerdictWords {
    /// A mean is higher than another one.
    Higher,
    /// There is more of what is counted: "higher" would say "better".
    More,
    /// One system beats the other in more than half of their comparisons.
    Beats,
}

impl VerdictWords {
    pub(super) fn of(comparison: &Comparison, metric: &MetricComparison) -> Self {
        match comparison.subject {
            SubjectKind::Pair => Self::Beats,
            SubjectKind::Answer if metric.metric.higher_is_better => Self::Higher,
            SubjectKind::Answer => Self::More,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Higher => "scores higher than",
            Self::More => "has more than",
            Self::Beats => "beats",
        }
    }
}

/// Which systems differ significantly. Empty for one system.
pub(super) fn verdict(metric: &MetricComparison, words: VerdictWords) -> String {
    let statements = statements(metric, words);
    if statements.is_empty() {
        return String::new();
    }
    let texts: Vec<String> = statements.iter().map(Statement::as_text).collect();
    format!("{}.", texts.join("; "))
}

/// The statements of the verdict on a metric; of a single system its mean. Empty if nothing has a value.
pub(in crate::report) fn verdict_statements(
    comparison: &Comparison,
    metric: &MetricComparison,
) -> Vec<Statement> {
    if let [only] = &metric.systems[..] {
        return Vec::from_iter(mean_of(metric, only));
    }
    if metric.cases.is_empty() && !metric.systems.is_empty() {
        let words = "Nothing can be compared: no case has a value for every system".to_owned();
        return vec![Statement::without_evidence(words)];
    }
    statements(metric, VerdictWords::of(comparison, metric))
}

/// The mean of a system, `careful has a mean of 77.6%`.
fn mean_of(metric: &MetricComparison, system: &SystemMean) -> Option<Statement> {
    let format = Format::of_mean(metric.metric.unit);
    let mean = format.show(system.mean?);
    let sign = if format == Format::Percent { "%" } else { "" };
    let interval = system.interval;
    let ends = interval.map(|ends| format!("95% interval {}", format.show_interval(ends)));
    Some(Statement {
        words: format!("{} has a mean of {mean}{sign}", system.label),
        evidence: ends.unwrap_or_default(),
    })
}

fn statements(metric: &MetricComparison, words: VerdictWords) -> Vec<Statement> {
    let tested = tested(metric);
    let significant: Vec<&PairComparison> =
        tested.iter().copied().filter(|pair| pair.differs).collect();
    match (&significant[..], &tested[..]) {
        (_, []) => Vec::new(),
        ([], [only]) => {
            let [first, second] = labels(metric, only);
            vec![Statement {
                words: format!("{first} and {second} do not differ significantly"),
                evidence: evidence(metric, only, words),
            }]
        }
        ([], _) => {
            let words = "No pair differs significantly".to_owned();
            vec![Statement::without_evidence(words)]
        }
        (significant, tested) => differences(metric, significant, tested.len(), words),
    }
}

/// The first significant pairs, and what is to say of the others.
fn differences(
    metric: &MetricComparison,
    significant: &[&PairComparison],
    all: usize,
    words: VerdictWords,
) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut pairs = significant.to_vec();
    if let Some(closest) = closest_to_best(metric, significant) {
        let [best, second] = labels(metric, closest);
        statements.push(Statement {
            words: format!("{best} {} all others", words.as_str()),
            evidence: format!("closest: {second}, {}", evidence(metric, closest, words)),
        });
        pairs.retain(|pair| pair.first != closest.first);
    }
    let named = pairs.len().min(NAMED - statements.len());
    for pair in pairs.drain(..named) {
        let [first, second] = labels(metric, pair);
        statements.push(Statement {
            words: format!("{first} {} {second}", words.as_str()),
            evidence: evidence(metric, pair, words),
        });
    }
    let others = all - significant.len();
    let rest = match (pairs.len(), others) {
        (0, 0) => return statements,
        (0, 1) => "the other pair does not differ significantly".to_owned(),
        (0, _) => "no other pair differs significantly".to_owned(),
        (more, _) => format!("significant differences in {more} more of the {all} pairs"),
    };
    statements.push(Statement::without_evidence(rest));
    statements
}

/// The first of these pairs if all others of its system, of which there are several, are among them: the closest one, since the
/// systems are in the order of their means.
fn closest_to_best<'a>(
    metric: &MetricComparison,
    significant: &[&'a PairComparison],
) -> Option<&'a PairComparison> {
    let closest = *significant.first()?;
    let significant = significant.iter();
    let of_best = significant.filter(|pair| pair.first == closest.first);
    let systems = metric.systems.iter().filter(|system| system.mean.is_some());
    let others = systems.count() - 1;
    (others > 1 && of_best.count() == others).then_some(closest)
}

/// The labels of a pair.
fn labels<'a>(metric: &'a MetricComparison, pair: &PairComparison) -> [&'a str; 2] {
    [pair.first, pair.second].map(|rank| metric.systems[rank].label.as_str())
}

/// `+3.4 [0.2, 6.6], p = 0.011`; of pairs the win rate, `63.5% [55.1, 71.2], p = 0.004`.
fn evidence(metric: &MetricComparison, pair: &PairComparison, words: VerdictWords) -> String {
    let shown = if words == VerdictWords::Beats {
        shown_win_rate(pair)
    } else {
        shown_difference(pair.difference, pair.interval, metric.metric.unit)
    };
    if pair.is_at_look {
        return format!("{shown}, repeated interval");
    }
    format!("{shown}, {}", pair.p_text())
}

/// A win rate is half of what it is above that of the other system, and a half.
fn shown_win_rate(pair: &PairComparison) -> String {
    let win_rate = f64::midpoint(1.0, pair.difference);
    let mut text = format!("{}%", Format::Percent.show(win_rate));
    if let Some(interval) = pair.interval {
        let interval = Interval {
            low: f64::midpoint(1.0, interval.low),
            high: f64::midpoint(1.0, interval.high),
        };
        text += &format!(" {}", Format::Percent.show_interval(interval));
    }
    text
}

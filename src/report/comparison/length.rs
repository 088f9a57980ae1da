//! What length does to a comparison, in words.

use super::numbers::{coefficient, labels, level, signed, signed_bracket};
use super::told::several;
use crate::analysis::comparison::{
    ComparisonOptions, LengthChange, LengthEffect, LengthLeftOut, MetricComparison, PairComparison,
};
use crate::report::layout::counted;
use crate::report::visible::visible;

/// How values go with words, of each system.
pub(super) fn length_correlations(metric: &MetricComparison, options: &ComparisonOptions) -> Option<String> {
    let of = |system: &crate::analysis::comparison::SystemMean| {
        let (rho, interval) = system.length_correlation?;
        let interval =
            interval.map_or(String::new(), |(low, high)| format!(" [{}, {}]", coefficient(low), coefficient(high)));
        Some(format!("{} {}{interval}", visible(&system.label), coefficient(rho)))
    };
    let parts: Vec<String> = metric.systems.iter().filter_map(of).collect();
    let level = level(options.level);
    (!parts.is_empty())
        .then(|| format!("length: Spearman's correlation of value and words ({level}): {}.", parts.join(", ")))
}

/// Differences at equal length: where the interval stands otherwise to 0 only those, by how.
pub(super) fn equal_length(metric: &MetricComparison) -> Option<String> {
    let all: Vec<(&PairComparison, &LengthEffect)> =
        metric.pairs.iter().filter_map(|pair| Some((pair, pair.length.as_ref()?))).collect();
    let of = |change: Option<LengthChange>| -> Vec<String> {
        let those = all.iter().filter(|(_, length)| length.change == change);
        those.map(|(pair, length)| at_equal_length(metric, pair, length)).collect()
    };
    let changes = [
        (LengthChange::HoldsZero, "the interval at equal length holds 0"),
        (LengthChange::NoLongerHoldsZero, "the interval at equal length no longer holds 0"),
        (LengthChange::OtherSide, "the interval at equal length lies on the other side of 0"),
    ];
    let told: Vec<String> = changes
        .into_iter()
        .map(|(change, what)| (what, of(Some(change))))
        .filter(|(_, pairs)| !pairs.is_empty())
        .map(|(what, pairs)| format!("{what}: {}.", several(&pairs, "; ")))
        .collect();
    match (all.is_empty(), told.is_empty()) {
        (true, _) => None,
        (false, true) => {
            Some(format!("at equal length no interval comes to hold 0 or ceases to: {}.", several(&of(None), "; ")))
        }
        (false, false) => Some(told.join(" ")),
    }
}

fn at_equal_length(metric: &MetricComparison, pair: &PairComparison, length: &LengthEffect) -> String {
    let unit = metric.metric.unit;
    let [first, second] = labels(metric, pair).map(visible);
    let plain = pair.interval.map_or(String::new(), |interval| format!(" {}", signed_bracket(interval, unit)));
    format!(
        "{first} – {second} {} {} instead of {}{plain} ({:+.0} words)",
        signed(length.at_equal_length, unit),
        signed_bracket(length.interval, unit),
        signed(pair.difference, unit),
        length.words
    )
}

/// Pairs without a difference at equal length, by why.
pub(super) fn left_out(metric: &MetricComparison) -> Option<String> {
    let of = |why: LengthLeftOut| -> Vec<String> {
        let those = metric.pairs.iter().filter(|pair| pair.length_left_out == Some(why));
        those.map(|pair| labels(metric, pair).map(visible).join(" – ")).collect()
    };
    let (few, beyond) = (of(LengthLeftOut::FewQuestions), of(LengthLeftOut::Extrapolated));
    let mut why = Vec::new();
    if !few.is_empty() {
        why.push(format!("fewer than 20 questions ({})", counted(few.len(), "pair")));
    }
    if !beyond.is_empty() {
        let pairs = several(&beyond, ", ");
        why.push(format!("one of the two is longer throughout, so it would be extrapolated ({pairs})"));
    }
    (!why.is_empty()).then(|| format!("no difference at equal length: {}.", why.join("; ")))
}

//! Differences adjusted for length: judges tend to prefer long answers.

use std::collections::BTreeMap;

use super::LengthEffect;
use super::shared::SharedCases;
use crate::stats::{Interval, least_squares, mean};

/// A line through fewer differences is no estimate at equal length.
const MIN_QUESTIONS: usize = 20;

/// The pair's differences regressed on the differences in words, over the shared cases whose words are known; of a
/// question with several cases their means. `interval` is that of the unadjusted difference.
///
/// `None` for counts and for the length itself, below 20 questions with known words, and where one system's answers are
/// longer in every question: equal length would be extrapolated.
pub(super) fn length_effect(
    shared: &SharedCases<'_>,
    (first, second): (usize, usize),
    interval: Option<Interval>,
) -> Option<LengthEffect> {
    let metric = &shared.table.metric;
    let all_words = shared.all.words.as_ref().filter(|_| metric.higher_is_better && metric.name != "length")?;
    let [own_words, other_words] = [first, second].map(|rank| &all_words[shared.order[rank]]);
    let mut by_question: BTreeMap<usize, [Vec<f64>; 2]> = BTreeMap::new();
    for (at, case) in shared.cases.iter().enumerate() {
        if let Some((own, other)) = own_words[*case].zip(other_words[*case]) {
            let [words, values] = by_question.entry(shared.questions[at]).or_default();
            words.push(own - other);
            values.push(shared.values[first][at] - shared.values[second][at]);
        }
    }
    let means = by_question.values().filter_map(|[words, values]| mean(words).zip(mean(values)));
    let (words, values): (Vec<f64>, Vec<f64>) = means.unzip();
    let is_extrapolated = words.iter().all(|own| *own > 0.0) || words.iter().all(|own| *own < 0.0);
    if words.len() < MIN_QUESTIONS || is_extrapolated {
        return None;
    }
    let line = least_squares(&words, &values, shared.options.level)?;
    Some(LengthEffect {
        adjusted: line.intercept,
        interval: line.intercept_interval,
        words: mean(&words)?,
        changes_conclusion: interval.is_some_and(|interval| side(interval) != side(line.intercept_interval)),
    })
}

/// On which side of 0 an interval lies: -1 or 1, and 0 where it includes 0.
fn side(interval: Interval) -> i8 {
    i8::from(interval.low > 0.0) - i8::from(interval.high < 0.0)
}

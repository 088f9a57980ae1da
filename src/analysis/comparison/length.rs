//! Scores and words: judges like long answers, so what is left at equal length is told.

use std::collections::BTreeMap;

use super::compare::{Shared, value_of};
use super::{LengthChange, LengthEffect, LengthLeftOut};
use crate::stats::{Correlation, least_squares, mean};

/// Two answers always correlate perfectly.
const FEWEST: usize = 3;
/// Fewer differences make no line that says anything of equal length.
const FEWEST_OF_A_LINE: usize = 20;
/// Words in the unit of the slope.
const WORDS: f64 = 100.0;

/// Whether length can say anything about the metric: of a count, and of the component that length itself is, it cannot.
fn is_judged_by_length(shared: &Shared<'_>) -> bool {
    shared.observed.words.is_some()
        && shared.observed.metric.higher_is_better
        && shared.observed.metric.name != "length"
}

/// Spearman's correlation of value and words over a system's own answers, with its interval (questions drawn).
pub(super) fn length_correlation(shared: &Shared<'_>, place: usize) -> Option<(f64, Option<(f64, f64)>)> {
    if !is_judged_by_length(shared) {
        return None;
    }
    let own = shared.by_id.iter().filter_map(|case| {
        let value = value_of(shared.observation(place, *case))?;
        Some((value, (shared.words(place, *case)?, shared.question_of[*case])))
    });
    let (values, (words, questions)): (Vec<f64>, (Vec<f64>, Vec<usize>)) = own.unzip();
    if values.len() < FEWEST {
        return None;
    }
    let rho = Correlation::Spearman.of(&values, &words)?;
    let interval = Correlation::Spearman.clustered_interval(&values, &words, &questions, shared.bca());
    let is_one = interval.is_some_and(|interval| interval.low >= interval.high) || distinct(&questions) < FEWEST;
    Some((rho, interval.filter(|_| !is_one).map(|interval| (interval.low, interval.high))))
}

fn distinct(questions: &[usize]) -> usize {
    questions.iter().collect::<std::collections::BTreeSet<_>>().len()
}

/// The pair's differences regressed on the differences in words, over the shared cases whose words are known; of a
/// question with several cases their means. `interval` is that of the difference as it stands. `None` where length or words
/// are out of the question; the reason where the line would say nothing of equal length.
pub(super) fn length_effect(
    shared: &Shared<'_>,
    (first, second): (usize, usize),
    interval: Option<(f64, f64)>,
) -> Option<Result<LengthEffect, LengthLeftOut>> {
    if !is_judged_by_length(shared) {
        return None;
    }
    let mut by_question: BTreeMap<usize, [Vec<f64>; 2]> = BTreeMap::new();
    for (at, case) in shared.cases.iter().enumerate() {
        let words = shared.words(first, *case).zip(shared.words(second, *case));
        let Some((own, other)) = words else { continue };
        let lists = by_question.entry(shared.questions[at]).or_default();
        lists[0].push(own - other);
        lists[1].push(shared.values[first][at] - shared.values[second][at]);
    }
    let means = by_question.values().filter_map(|[words, values]| mean(words).zip(mean(values)));
    let (words, values): (Vec<f64>, Vec<f64>) = means.unzip();
    let range = words.iter().copied().reduce(f64::min)?..=words.iter().copied().reduce(f64::max)?;
    if words.len() < FEWEST_OF_A_LINE {
        return Some(Err(LengthLeftOut::FewQuestions));
    }
    if !range.contains(&0.0) {
        return Some(Err(LengthLeftOut::Extrapolated));
    }
    let line = least_squares(&words, &values, shared.options.level)?;
    let left = (line.intercept_interval.low, line.intercept_interval.high);
    Some(Ok(LengthEffect {
        at_equal_length: line.intercept,
        interval: left,
        per_100_words: WORDS * line.slope,
        per_100_words_interval: (WORDS * line.slope_interval.low, WORDS * line.slope_interval.high),
        words: mean(&words)?,
        change: interval.and_then(|interval| change(interval, left)),
    }))
}

fn change(plain: (f64, f64), left: (f64, f64)) -> Option<LengthChange> {
    match (side(plain), side(left)) {
        (before, after) if before == after => None,
        (_, 0) => Some(LengthChange::HoldsZero),
        (0, _) => Some(LengthChange::NoLongerHoldsZero),
        _ => Some(LengthChange::OtherSide),
    }
}

/// On which side of 0 an interval lies: -1 or 1, and 0 where it holds 0 and so tells nothing apart.
fn side((low, high): (f64, f64)) -> i8 {
    i8::from(low > 0.0) - i8::from(high < 0.0)
}

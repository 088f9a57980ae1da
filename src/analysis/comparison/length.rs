//! Scores and length: judges tend to prefer long answers, so differences are also adjusted for length.

use std::collections::{BTreeMap, BTreeSet};

use super::shared::Shared;
use super::{LengthCorrelation, LengthEffect, LengthOmitted};
use crate::stats::{Correlation, Interval, least_squares, mean};

/// Two answers always correlate perfectly.
const MIN_ANSWERS: usize = 3;
/// A line through fewer differences is no estimate at equal length.
const MIN_QUESTIONS: usize = 20;
/// Words in the unit of the slope.
const WORDS: f64 = 100.0;

/// Length says nothing about counts, nor about the component that length itself is.
fn applies(shared: &Shared<'_>) -> bool {
    let metric = &shared.table.metric;
    shared.all.words.is_some() && metric.higher_is_better && metric.name != "length"
}

/// Spearman's correlation of value and words over a system's own answers, with its interval (questions resampled).
pub(super) fn length_correlation(shared: &Shared<'_>, rank: usize) -> Option<LengthCorrelation> {
    if !applies(shared) {
        return None;
    }
    let own = shared.by_id.iter().filter_map(|case| {
        let value = shared.observation(rank, *case).value()?;
        Some((value, (shared.words(rank, *case)?, shared.question_of[*case])))
    });
    let (values, (words, questions)): (Vec<f64>, (Vec<f64>, Vec<usize>)) = own.unzip();
    if values.len() < MIN_ANSWERS {
        return None;
    }
    let rho = Correlation::Spearman.of(&values, &words)?;
    let is_known = questions.iter().collect::<BTreeSet<_>>().len() >= MIN_ANSWERS;
    let interval = Correlation::Spearman.clustered_interval(&values, &words, &questions, shared.bca());
    Some(LengthCorrelation { rho, interval: interval.filter(|interval| is_known && interval.low < interval.high) })
}

/// The pair's differences regressed on the differences in words, over the shared cases whose words are known; of a
/// question with several cases their means. `interval` is that of the unadjusted difference. `None` where length does not
/// apply or no words are known; the reason where a line would be no estimate at equal length.
pub(super) fn length_effect(
    shared: &Shared<'_>,
    (first, second): (usize, usize),
    interval: Option<Interval>,
) -> Option<Result<LengthEffect, LengthOmitted>> {
    if !applies(shared) {
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
    if words.len() < MIN_QUESTIONS {
        return Some(Err(LengthOmitted::FewQuestions));
    }
    if !range.contains(&0.0) {
        return Some(Err(LengthOmitted::Extrapolated));
    }
    let line = least_squares(&words, &values, shared.options.level)?;
    let slope = line.slope_interval;
    Some(Ok(LengthEffect {
        adjusted: line.intercept,
        interval: line.intercept_interval,
        per_100_words: WORDS * line.slope,
        per_100_words_interval: Interval { low: WORDS * slope.low, high: WORDS * slope.high },
        words: mean(&words)?,
        changes_conclusion: interval.is_some_and(|interval| side(interval) != side(line.intercept_interval)),
    }))
}

/// On which side of 0 an interval lies: -1 or 1, and 0 where it includes 0.
fn side(interval: Interval) -> i8 {
    i8::from(interval.low > 0.0) - i8::from(interval.high < 0.0)
}

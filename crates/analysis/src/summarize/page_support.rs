//! What open pairs of a statement and a page could make of the mean number of effective citations.

use super::{ScorerAnswers, ScorerSummary};
use scholareval_core::domain::{ScoredAnswer, SupportCounts};
use scholareval_scorers::pages::{EFFECTIVE, PAGES};
use scholareval_stats::Interval;

impl ScorerAnswers<'_> {
    /// Bounds the mean number of effective citations by what the open pairs could be: a count is unbounded otherwise.
    pub(super) fn bound_effective_citations(&self, summary: &mut ScorerSummary) {
        if summary.scorer.name() != PAGES.name {
            return;
        }
        for (row, (_, answers)) in summary.rows.iter_mut().zip(&self.systems) {
            if let Some(metric) = row.metrics.get_mut(EFFECTIVE) {
                metric.bounds = effective_bounds(answers);
            }
        }
    }
}

/// The mean number of effective citations with every open pair unsupported, and with every one supported; `None` if no pair
/// is open.
fn effective_bounds(answers: &[&ScoredAnswer]) -> Option<Interval> {
    let mut sums = SupportCounts::default();
    let mut scored = 0;
    for answer in answers {
        // In compat mode a report without citations has no number and is in no mean.
        let is_counted = answer.score.component(EFFECTIVE).is_some();
        if !is_counted || !answer.score.is_complete() {
            continue;
        }
        sums += SupportCounts::of(&answer.score.pages);
        scored += 1;
    }
    let low = sums.supported as f64 / f64::from(scored);
    let high = (sums.supported + sums.open) as f64 / f64::from(scored);
    (sums.open > 0).then_some(Interval { low, high })
}

//! Numbers of a whole system about the pages that its answers cite.
//!
//! An answer with many citations has as many votes: the accuracy of a system is over all its pairs of a statement and a page,
//! whatever answers they are from. The mean of the answers' own accuracies, which comparisons use, stands next to it.

use super::{Metric, MetricColumn, ScorerAnswers, ScorerSummary};
use crate::domain::{PageKind, ScoredAnswer, SupportCounts, Unit};
use crate::scorer::pages::{ACCURACY, EFFECTIVE, PAGES};
use crate::stats::{Interval, WeightedUnit, weighted_share};

impl ScorerAnswers<'_> {
    /// Adds the accuracy over all pairs of a system, and over those with each kind of page, if there are several.
    pub(super) fn add_page_support(&self, summary: &mut ScorerSummary) {
        if summary.scorer.name() != PAGES.name {
            return;
        }
        self.add_accuracy(summary, ACCURACY.to_owned(), None, 0);
        let kinds: Vec<PageKind> = PageKind::ALL
            .into_iter()
            .filter(|kind| self.has_kind(*kind))
            .collect();
        if kinds.len() > 1 {
            for kind in kinds {
                let name = format!("{ACCURACY}_{}", kind.name());
                self.add_accuracy(summary, name, Some(kind), summary.columns.len());
            }
        }
        for (row, (_, answers)) in summary.rows.iter_mut().zip(&self.systems) {
            if let Some(metric) = row.metrics.get_mut(EFFECTIVE) {
                metric.bounds = effective_bounds(answers);
            }
        }
    }

    /// Adds the accuracy over the pairs with one kind of page, or with any, as the column at a place.
    fn add_accuracy(
        &self,
        summary: &mut ScorerSummary,
        name: String,
        kind: Option<PageKind>,
        place: usize,
    ) {
        for (row, (_, answers)) in summary.rows.iter_mut().zip(&self.systems) {
            let metric = self.accuracy(answers, kind);
            row.metrics.insert(name.clone(), metric);
        }
        let unit = Unit::Share;
        summary.columns.insert(place, MetricColumn { name, unit });
    }

    fn has_kind(&self, kind: PageKind) -> bool {
        let mut answers = self.systems.iter().flat_map(|(_, answers)| answers);
        answers.any(|answer| counts(answer, Some(kind)).judged() > 0)
    }

    /// Supported pairs divided by judged pairs, of all answers of a system, with what open pairs could make of it.
    fn accuracy(&self, answers: &[&ScoredAnswer], kind: Option<PageKind>) -> Metric {
        let mut units = Vec::new();
        let mut sums = SupportCounts::default();
        let mut cited = 0;
        for answer in answers {
            let own = counts(answer, kind);
            sums += own;
            cited += usize::from(own.judged() > 0);
            let question = self.question(answer);
            for is_hit in verdicts(own) {
                units.push(WeightedUnit {
                    weight: 1.0,
                    is_hit,
                    question,
                });
            }
        }
        let share = weighted_share(&units, self.bootstrap().level);
        let all = sums.all() as f64;
        let bounds = Interval {
            low: sums.supported as f64 / all,
            high: (sums.supported + sums.open) as f64 / all,
        };
        Metric {
            estimate: share.map(|share| share.share),
            interval: share.and_then(|share| share.interval),
            n: cited,
            unscored: answers
                .iter()
                .filter(|answer| !answer.score.is_complete())
                .count(),
            bounds: (sums.open > 0).then_some(bounds),
            ..Metric::default()
        }
    }
}

/// Whether each judged pair is supported.
fn verdicts(counts: SupportCounts) -> impl Iterator<Item = bool> {
    (0..counts.judged()).map(move |place| place < counts.supported)
}

/// The pairs of an answer, with pages of one kind or of any.
fn counts(answer: &ScoredAnswer, kind: Option<PageKind>) -> SupportCounts {
    let pages = answer.score.pages.iter();
    SupportCounts::of(pages.filter(|page| {
        let own = page.read.as_ref().map(|read| read.page_kind);
        kind.is_none() || own == kind
    }))
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
        sums += counts(answer, None);
        scored += 1;
    }
    let low = sums.supported as f64 / f64::from(scored);
    let high = (sums.supported + sums.open) as f64 / f64::from(scored);
    (sums.open > 0).then_some(Interval { low, high })
}

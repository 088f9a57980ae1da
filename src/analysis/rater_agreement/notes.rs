//! Notes for the reader of an agreement.

use super::result::{ALL_PAIRS, EstimateRow, FEWEST_FOR_INTERVAL, HUMANS, RaterAgreement};
use crate::domain::{Note, RaterKind};

/// Warnings first.
pub(super) fn notes(agreement: &RaterAgreement) -> Vec<Note> {
    let estimates = agreement.estimates();
    let mut notes = Vec::new();
    let overall = estimates.iter().filter(|row| row.part == "overall" && row.estimate.low.is_some());
    let fewest = overall.map(|row| row.questions).min().unwrap_or(FEWEST_FOR_INTERVAL);
    if fewest < FEWEST_FOR_INTERVAL {
        notes.push(Note::warning(format!(
            "intervals of some pairs of raters rest on {fewest} questions only: those are likely too narrow."
        )));
    }
    if agreement.powered.iter().any(|mean| mean.powered.estimate.is_some()) {
        notes.push(Note::warning("prediction-powered means hold if the labelled answers were drawn at random."));
    }
    for rater in &agreement.raters {
        if rater.ratings == 0 && rater.preferences == 0 {
            let of = agreement.options.metric.as_deref().unwrap_or("that kind");
            notes.push(Note::warning(format!("{} rated nothing of {of} at this level.", rater.name)));
        }
    }
    let given = agreement.raters.iter().filter(|rater| rater.mean_of.is_empty());
    let judges = given.clone().filter(|rater| rater.kind == RaterKind::Judge).count();
    if judges >= 2 && given.count() > ALL_PAIRS {
        notes.push(Note::info(format!("more than {ALL_PAIRS} raters: two judges are not compared with each other.")));
    }
    if let Some(mean) = agreement.raters.iter().find(|rater| !rater.mean_of.is_empty()) {
        let people = mean.mean_of.len();
        notes.push(Note::info(format!(
            "{HUMANS}: the mean of {people} people's ratings of a unit, and what most of them preferred."
        )));
    }
    for pair in &agreement.pairs {
        let who = format!("{} and {}", pair.first, pair.second);
        if pair.overall.n == 0 && pair.overall.comparisons.is_none() {
            notes.push(Note::info(format!("{who} rated nothing in common.")));
        }
        if let Some(threshold) = &pair.tie_threshold {
            let how = if threshold.chosen { "chosen to give it as many ties as the other has" } else { "as given" };
            let (rater, value) = (&threshold.rater, threshold.value);
            notes.push(Note::info(format!("{who}: differences of {rater} up to {value:.4} count as ties ({how}).")));
        }
    }
    let is_few = |n: usize| n < FEWEST_FOR_INTERVAL;
    if estimates
        .iter()
        .any(|row| row.estimate.estimate.is_some() && row.estimate.low.is_none() && is_few(row.n.min(row.questions)))
    {
        notes.push(Note::info(format!(
            "intervals need at least {FEWEST_FOR_INTERVAL} units (answers, items, pairs; for numbers about systems the \
             questions), and resamples that differ."
        )));
    }
    notes.extend(undefined(&estimates));
    let options = &agreement.options;
    notes.push(Note::info(format!(
        "intervals: {:.0}%, BCa bootstrap over questions, {} resamples, seed {}; of ICC by F, of prediction-powered means by t.",
        100.0 * options.confidence,
        options.resamples,
        options.seed
    )));
    notes
}

/// Why overall numbers are not defined, each reason once.
fn undefined(estimates: &[EstimateRow<'_>]) -> Vec<Note> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    let parts = ["overall", "ratings", "preferences", "mean"];
    for row in estimates.iter().filter(|row| row.n > 0 && parts.contains(&row.part)) {
        let Some(why) = &row.estimate.undefined else { continue };
        let who =
            if row.second.is_empty() { row.first.to_owned() } else { format!("{} and {}", row.first, row.second) };
        let reason = format!("{who}: {why}");
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, measures)) if measures.contains(&row.measure) => {}
            Some((_, measures)) => measures.push(row.measure),
            None => reasons.push((reason, vec![row.measure])),
        }
    }
    reasons
        .into_iter()
        .map(|(reason, measures)| Note::info(format!("no {} of {reason}.", measures.join(", "))))
        .collect()
}

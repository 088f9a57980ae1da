//! What stands below the tables of an agreement: thresholds, why numbers are missing, what the columns are, how intervals
//! were made.

use crate::analysis::rater_agreement::{Estimate, RaterAgreement, RaterPair};
use crate::domain::RaterKind;

/// The notes, in their order.
pub(super) fn notes(agreement: &RaterAgreement) -> Vec<String> {
    let mut notes = Vec::new();
    for pair in &agreement.pairs {
        if pair.overall.n == 0 && pair.overall.comparisons.is_none() {
            notes.push(format!("{} – {}: nothing that both rated", pair.first, pair.second));
        }
        if let Some(threshold) = &pair.tie_threshold {
            let how = if threshold.chosen { "chosen to give it as many ties as the other has" } else { "as given" };
            notes.push(format!(
                "{} – {}: differences of {} up to {:.4} count as ties ({how})",
                pair.first, pair.second, threshold.rater, threshold.value
            ));
        }
    }
    notes.extend(undefined(agreement));
    notes.extend(legend(agreement));
    if agreement.pairs.iter().any(|pair| !is_detailed(agreement, pair)) {
        notes.push("of a judge and each single person the parts are in --format json and csv".to_owned());
    }
    notes.extend(agreement.notes.iter().cloned());
    let unlabelled = agreement.powered.iter().find(|mean| mean.powered.estimate.is_none());
    if let Some(why) = unlabelled.and_then(|mean| mean.powered.undefined.as_ref()) {
        notes.push(format!("no prediction-powered mean where {why}"));
    } else if !agreement.powered.is_empty() {
        notes.push("prediction-powered means hold where the labelled answers were drawn at random".to_owned());
    }
    let options = &agreement.options;
    notes.push(format!(
        "intervals: {:.0}%, BCa bootstrap over questions, {} resamples, seed {}; of ICC by F, of prediction-powered means by t",
        100.0 * options.confidence,
        options.resamples,
        options.seed
    ));
    notes
}

/// What the columns of comparisons and the counts in brackets are, where there are such.
fn legend(agreement: &RaterAgreement) -> Vec<String> {
    let mut legend = Vec::new();
    if agreement.pairs.iter().any(|pair| pair.overall.comparisons.is_some()) {
        legend.push(
            "which of two is better: an outcome is the first, the second, or a tie; below the pairs the ties of each of the two \
             raters; strict: share of pairs with the same outcome; half for ties: half a point where only one of the two \
             has a tie; decided: share with the same winner among the pairs that neither of them ties (how many in brackets)"
                .to_owned(),
        );
    }
    if agreement.groups.iter().any(|group| group.n > 0 && group.of == "ratings" && group.icc_2_1.estimate.is_some()) {
        legend.push("in brackets beside ICC(2,1): how many were rated by all".to_owned());
    }
    legend
}

/// Why numbers of the overall tables are not defined, each reason once.
fn undefined(agreement: &RaterAgreement) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    let mut add = |who: &str, measure: &'static str, estimate: &Estimate| {
        if let Some(why) = &estimate.undefined {
            let reason = format!("{who}: {why}");
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, measures)) => measures.push(measure),
                None => reasons.push((reason, vec![measure])),
            }
        }
    };
    for pair in agreement.pairs.iter().filter(|pair| pair.overall.n > 0) {
        let who = format!("{} – {}", pair.first, pair.second);
        add(&who, "Pearson", &pair.overall.pearson);
        add(&who, "Spearman", &pair.overall.spearman);
        add(&who, "Kendall", &pair.overall.kendall_tau_b);
        add(&who, "kappa", &pair.overall.kappa);
        add(&who, "weighted kappa", &pair.overall.quadratic_kappa);
    }
    for pair in &agreement.pairs {
        if let Some(compared) = &pair.overall.comparisons {
            let who = format!("{} – {}", pair.first, pair.second);
            add(&who, "agreement on which is better", &compared.strict);
        }
    }
    for group in agreement.groups.iter().filter(|group| group.n > 0) {
        add(&group.name, "nominal alpha", &group.alpha_nominal);
        add(&group.name, "ordinal alpha", &group.alpha_ordinal);
        add(&group.name, "interval alpha", &group.alpha_interval);
        if group.of == "ratings" {
            add(&group.name, "ICC", &group.icc_2_1);
        }
    }
    let sentence = |(reason, measures): (String, Vec<&str>)| format!("no {}, {reason}", measures.join(", "));
    reasons.into_iter().map(sentence).collect()
}

/// A judge beside one of several people is told overall only: the mean of the people stands for them.
pub(super) fn is_detailed(agreement: &RaterAgreement, pair: &RaterPair) -> bool {
    let mean = agreement.raters.iter().find(|rater| !rater.mean_of.is_empty());
    let is_judge =
        |name: &str| agreement.raters.iter().any(|rater| *rater.name == *name && rater.kind == RaterKind::Judge);
    mean.is_none_or(|mean| pair.second == mean.name || is_judge(&pair.first) == is_judge(&pair.second))
}

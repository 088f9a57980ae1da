//! What is told of numbers of few units.

use super::result::{
    AgreementLevel, Estimate, FEWEST_FOR_INTERVAL, Measures, PairAgreement, RaterAgreement, RaterPair,
};

/// That numbers of few units have no interval, and that intervals of few questions are too narrow, where there are such.
pub(super) fn notes(agreement: &RaterAgreement) -> Vec<String> {
    let mut notes = Vec::new();
    if has_few_units(agreement) {
        notes.push(format!(
            "intervals need at least {FEWEST_FOR_INTERVAL} units (answers, items, pairs; for numbers about systems the \
             questions): numbers of fewer stand alone"
        ));
    }
    let fewest = agreement.pairs.iter().filter_map(|pair| drawn(&pair.overall)).min();
    if let Some(questions) = fewest.filter(|questions| *questions < FEWEST_FOR_INTERVAL) {
        let these = if questions == 1 { "1 question only".to_owned() } else { format!("{questions} questions only") };
        notes.push(format!("intervals draw questions, of some pairs of raters {these}: those are likely too narrow"));
    }
    notes
}

/// The questions of the pairs that two raters compared.
fn questions_of_pairs(pair: &RaterPair) -> usize {
    pair.overall.comparisons.as_ref().map_or(0, |pairs| pairs.questions)
}

/// The questions behind the intervals of two raters; `None` where they have none.
fn drawn(measures: &Measures) -> Option<usize> {
    let has_interval = |estimate: &Estimate| estimate.low.is_some();
    let rated = [&measures.pearson, &measures.spearman, &measures.kendall_tau_b, &measures.kappa];
    let of_ratings = rated.into_iter().any(has_interval).then_some(measures.questions);
    let of_pairs =
        measures.comparisons.as_ref().filter(|pairs| has_interval(&pairs.strict)).map(|pairs| pairs.questions);
    of_ratings.into_iter().chain(of_pairs).min()
}

fn has_few_units(agreement: &RaterAgreement) -> bool {
    let few = |n: usize, estimates: &[&Estimate]| {
        n < FEWEST_FOR_INTERVAL && estimates.iter().any(|estimate| estimate.estimate.is_some())
    };
    let of_pairs = |pairs: &PairAgreement| {
        few(pairs.n, &[&pairs.strict, &pairs.kappa]) || few(pairs.decided, &[&pairs.decided_agreement])
    };
    let of_means = agreement.options.level == AgreementLevel::System;
    let of_measures = |measures: &Measures| {
        let units = if of_means { measures.questions } else { measures.n };
        few(units, &[&measures.pearson, &measures.spearman, &measures.kendall_tau_b, &measures.kappa])
            || measures.comparisons.as_ref().is_some_and(|pairs| !of_means && of_pairs(pairs))
    };
    let of_pair = |pair: &RaterPair| {
        let parts = pair.items.iter().chain(&pair.systems).map(|part| &part.measures);
        std::iter::once(&pair.overall).chain(parts).any(of_measures)
            || pair.ranking.as_ref().is_some_and(|ranking| few(pair.overall.questions, &[&ranking.kendall_tau_b]))
            || pair.wins.as_ref().is_some_and(|wins| {
                few(questions_of_pairs(pair), &[&wins.kendall_tau_b, &wins.first_means_second_wins])
            })
    };
    agreement.pairs.iter().any(of_pair)
        || agreement
            .groups
            .iter()
            .any(|group| few(group.n, &[&group.alpha_nominal, &group.alpha_ordinal, &group.alpha_interval]))
        || agreement.powered.iter().any(|mean| few(mean.labelled, &[&mean.labels_only, &mean.powered]))
}

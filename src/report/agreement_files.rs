//! How raters agree, for programs.

use std::borrow::Cow;

use super::files::{csv_line, terminal_safe_json};
use crate::analysis::rater_agreement::{Estimate, Measures, RaterAgreement};
use crate::error::{Error, Result};

/// The agreement as JSON: [`RaterAgreement`] as it stands.
///
/// # Errors
/// [`Error::Internal`] if it cannot be serialised.
pub fn render_agreement_json(agreement: &RaterAgreement) -> Result<String> {
    let json = serde_json::to_string_pretty(agreement)
        .map_err(|error| Error::Internal(format!("agreement as JSON: {error}")))?;
    Ok(terminal_safe_json(&json) + "\n")
}

/// The agreement as CSV, a row a number: `first`, `second` (of a group its name, and nothing), `part` (`overall`, `item`,
/// `system`, `ranking`, `wins`, `ratings`, `preferences`, `mean`), `name`, `measure`, `n`, `questions`, `estimate`, `low`,
/// `high`, `undefined`.
pub fn render_agreement_csv(agreement: &RaterAgreement) -> String {
    let mut csv = String::from("first,second,part,name,measure,n,questions,estimate,low,high,undefined\n");
    for pair in &agreement.pairs {
        let of = |part, name| Place { first: &pair.first, second: &pair.second, part, name };
        measures(&mut csv, of("overall", ""), &pair.overall);
        pair.items.iter().for_each(|item| measures(&mut csv, of("item", &item.name), &item.measures));
        pair.systems.iter().for_each(|system| measures(&mut csv, of("system", &system.name), &system.measures));
        let questions = pair.overall.questions;
        if let Some(ranking) = &pair.ranking {
            let counts = (ranking.systems.len(), questions);
            row(&mut csv, of("ranking", ""), "kendall_tau_b", counts, &ranking.kendall_tau_b);
            for system in &ranking.systems {
                let at = of("ranking", system.system.as_str());
                row(&mut csv, at, "first_mean", (system.n, questions), &plain(system.first_mean));
                row(&mut csv, at, "second_mean", (system.n, questions), &plain(system.second_mean));
            }
        }
        if let Some(wins) = &pair.wins {
            let counts = (wins.systems.len(), pair.overall.comparisons.as_ref().map_or(questions, |of| of.questions));
            row(&mut csv, of("wins", ""), "kendall_tau_b", counts, &wins.kendall_tau_b);
            row(&mut csv, of("wins", ""), "first_means_second_wins", counts, &wins.first_means_second_wins);
            for system in &wins.systems {
                let at = of("wins", system.system.as_str());
                row(&mut csv, at, "first_rate", (system.n, counts.1), &plain(system.first_rate));
                row(&mut csv, at, "second_rate", (system.n, counts.1), &plain(system.second_rate));
            }
        }
    }
    for group in &agreement.groups {
        let at = Place { first: &group.name, second: "", part: group.of, name: "" };
        let counts = (group.n, group.questions);
        row(&mut csv, at, "alpha_nominal", counts, &group.alpha_nominal);
        row(&mut csv, at, "alpha_ordinal", counts, &group.alpha_ordinal);
        row(&mut csv, at, "alpha_interval", counts, &group.alpha_interval);
        row(&mut csv, at, "icc_2_1", (group.complete, group.questions), &group.icc_2_1);
    }
    for mean in &agreement.powered {
        let at = Place { first: &mean.judge, second: &mean.human, part: "mean", name: mean.system.as_str() };
        row(&mut csv, at, "labels_only", (mean.labelled, mean.labelled), &mean.labels_only);
        row(&mut csv, at, "prediction_powered", (mean.labelled + mean.unlabelled, mean.labelled), &mean.powered);
    }
    csv
}

/// What a row is about.
#[derive(Clone, Copy)]
struct Place<'a> {
    first: &'a str,
    second: &'a str,
    part: &'a str,
    name: &'a str,
}

fn plain(value: f64) -> Estimate {
    Estimate { estimate: Some(value), ..Estimate::default() }
}

fn measures(csv: &mut String, at: Place<'_>, of: &Measures) {
    let counts = (of.n, of.questions);
    let numbers = [
        ("pearson", &of.pearson),
        ("spearman", &of.spearman),
        ("kendall_tau_b", &of.kendall_tau_b),
        ("kappa", &of.kappa),
        ("quadratic_kappa", &of.quadratic_kappa),
    ];
    numbers.into_iter().for_each(|(name, estimate)| row(csv, at, name, counts, estimate));
    if let Some(compared) = &of.comparisons {
        let counts = (compared.n, compared.questions);
        row(csv, at, "pairs_strict", counts, &compared.strict);
        row(csv, at, "pairs_half_credit", counts, &compared.half_credit);
        row(csv, at, "pairs_decided", (compared.decided, compared.questions), &compared.decided_agreement);
        row(csv, at, "pairs_kappa", counts, &compared.kappa);
    }
}

fn row(csv: &mut String, at: Place<'_>, measure: &str, (n, questions): (usize, usize), estimate: &Estimate) {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default().into();
    let cells: [Cow<'_, str>; 11] = [
        at.first.into(),
        at.second.into(),
        at.part.into(),
        at.name.into(),
        measure.into(),
        n.to_string().into(),
        questions.to_string().into(),
        number(estimate.estimate),
        number(estimate.low),
        number(estimate.high),
        estimate.undefined.as_deref().unwrap_or_default().into(),
    ];
    csv_line(csv, &cells.map(|cell| super::visible(&cell).into_owned().into()));
}

//! The agreement as CSV: every number of the result, one per row.

use super::powered_name;
use crate::analysis::Estimate;
use crate::analysis::rater_agreement::{
    Confusion, PoweredMean, RaterAgreement, RaterGroup, RaterPair, Reliability,
};
use crate::error::Result;
use crate::report::CsvText;
use crate::report::numbers::COEFFICIENT;
use crate::report::table::{Cell, Column, Table};

/// The agreement as CSV, one row per number. `part` is `overall`, `item`, `system`, `group`, `ranking` or `wins` for two raters,
/// `ratings` or `preferences` for a group (`first` is its name), `level` for a judge's levels against those of people,
/// `probability` for its probabilities (`name` is a range of them), `mean` for a prediction-powered mean, `difference` for one
/// of two systems (`name` is `FIRST - SECOND`), `met` for a share of met criteria.
///
/// # Errors
/// [`Error::Internal`](crate::error::Error::Internal) if it cannot be written.
pub fn render_agreement_csv(agreement: &RaterAgreement, texts: CsvText) -> Result<String> {
    let mut columns = Vec::new();
    columns.extend(["first", "second", "part", "name", "measure"].map(Column::text));
    columns.extend(["n", "questions"].map(Column::count));
    columns.extend(["estimate", "low", "high"].map(|key| Column::new(key, COEFFICIENT)));
    columns.push(Column::text("undefined"));
    let mut table = Table::new("", columns);
    for pair in &agreement.pairs {
        push_pair(&mut table, pair);
    }
    for group in &agreement.groups {
        push_group(&mut table, group);
    }
    for confusion in &agreement.confusions {
        push_confusion(&mut table, confusion);
    }
    for reliability in &agreement.reliability {
        push_reliability(&mut table, reliability);
    }
    for mean in &agreement.powered {
        push_mean(&mut table, mean);
    }
    for share in &agreement.rogan_gladen {
        let topic = [&*share.judge, "people", "met", share.system.as_str()];
        let counts = [share.verdicts, share.questions];
        let judged = number(share.judged_met);
        push(&mut table, topic, "judged_met", counts, &judged);
        push(&mut table, topic, "rogan_gladen", counts, &share.met);
    }
    table.csv(texts)
}

/// What the numbers of some rows are about: the first and the second rater, a part of the table and a name in it.
type Topic<'a> = [&'a str; 4];

/// Adds a number with the units and questions that it is over.
fn push(
    table: &mut Table,
    topic: Topic<'_>,
    measure: &str,
    counts: [usize; 2],
    estimate: &Estimate,
) {
    let mut cells = topic.map(Cell::text).to_vec();
    cells.push(Cell::text(measure));
    cells.extend(counts.map(Cell::count));
    cells.extend([estimate.estimate, estimate.low, estimate.high].map(Cell::maybe));
    let reason = estimate.undefined.as_deref().unwrap_or_default();
    cells.push(Cell::text(reason));
    table.rows.push(cells);
}

/// Two raters: over everything, by item, system and group, then the orders of systems.
fn push_pair(table: &mut Table, pair: &RaterPair) {
    let [first, second] = [&*pair.first, &*pair.second];
    let mut parts = vec![("overall", "", &pair.overall)];
    for (part, all) in [
        ("item", &pair.items),
        ("system", &pair.systems),
        ("group", &pair.groups),
    ] {
        parts.extend(all.iter().map(|one| (part, &*one.name, &one.measures)));
    }
    for (part, name, measures) in parts {
        let topic = [first, second, part, name];
        for (measure, counts, estimate) in measures.estimates() {
            push(table, topic, measure, counts, estimate);
        }
    }
    let rated = pair.overall.questions;
    let comparisons = pair.overall.comparisons.as_ref();
    let compared = comparisons.map_or(rated, |comparisons| comparisons.questions);
    for (part, order, questions) in [
        ("ranking", &pair.ranking, rated),
        ("wins", &pair.wins, compared),
    ] {
        if let Some(order) = order {
            let counts = [order.systems.len(), questions];
            let topic = [first, second, part, ""];
            push(table, topic, "kendall_tau_b", counts, &order.kendall_tau_b);
        }
    }
}

/// Several raters together.
fn push_group(table: &mut Table, group: &RaterGroup) {
    let topic = [&*group.name, "", group.of, ""];
    for (measure, units, estimate) in [
        ("alpha_nominal", group.n, &group.alpha_nominal),
        ("alpha_ordinal", group.n, &group.alpha_ordinal),
        ("alpha_interval", group.n, &group.alpha_interval),
        ("icc_2_1", group.complete, &group.icc_2_1),
    ] {
        push(table, topic, measure, [units, group.questions], estimate);
    }
}

/// The levels of a judge against those of people: each share of the table by its two levels, then how well levels are recognized.
fn push_confusion(table: &mut Table, confusion: &Confusion) {
    let counts = [confusion.items, confusion.questions];
    let judge = &*confusion.judge;
    for (row, human) in confusion.levels.iter().enumerate() {
        for (column, level) in confusion.levels.iter().enumerate() {
            let share = number(confusion.shares[row][column]);
            let measure = format!("share judged {level}");
            let topic = [judge, "people", "level", human];
            push(table, topic, &measure, counts, &share);
        }
    }
    for accuracy in &confusion.accuracy {
        let topic = [judge, "people", "level", &accuracy.level];
        push(table, topic, "sensitivity", counts, &accuracy.sensitivity);
        push(table, topic, "specificity", counts, &accuracy.specificity);
    }
}

/// The Brier score, and what people say of the criteria of each bin.
fn push_reliability(table: &mut Table, reliability: &Reliability) {
    let judge = &*reliability.judge;
    let topic = [judge, "people", "probability", ""];
    let brier = number(reliability.brier);
    push(table, topic, "brier", [reliability.items; 2], &brier);
    for bin in &reliability.bins {
        let name = format!("{}-{}", bin.range[0], bin.range[1]);
        let topic = [judge, "people", "probability", &name];
        let counts = [bin.items; 2];
        let probability = number(bin.mean_probability);
        push(table, topic, "mean_probability", counts, &probability);
        push(table, topic, "met", counts, &number(bin.met));
    }
}

/// A number without an interval.
fn number(value: f64) -> Estimate {
    Estimate {
        estimate: Some(value),
        ..Estimate::default()
    }
}

/// A system's mean on the human scale, or the difference of two with its p.
fn push_mean(table: &mut Table, mean: &PoweredMean) {
    let is_difference = mean.minus.is_some();
    let part = if is_difference { "difference" } else { "mean" };
    let name = powered_name(mean);
    let topic = [&*mean.judge, &*mean.human, part, &name];
    // The second count is that of the labels, on which the interval rests: unlabeled answers are not
    // evidence of people's judgment.
    let counts = [mean.labeled + mean.unlabeled, mean.labeled];
    let labels = [mean.labeled; 2];
    push(table, topic, "labels_only", labels, &mean.labels_only);
    push(table, topic, "prediction_powered", counts, &mean.powered);
    if is_difference {
        // A test has no interval; the column stays the same for every row.
        let p = Estimate::new(mean.p, || None, "no interval");
        push(table, topic, "p", counts, &p);
    }
}

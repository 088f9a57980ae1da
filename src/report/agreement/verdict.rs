//! The verdict on raters, in sentences: how close the best judge is to people, and to what people reach with each other.

use super::{PEOPLE, UNBROKEN};
use crate::analysis::Estimate;
use crate::analysis::rater_agreement::{RaterAgreement, SummaryRow};
use crate::report::numbers::{shown_coefficient, units_of};
use crate::report::table::Format;

/// Whether the judge that is closest to people agrees with them beyond chance; without judges, people with each other.
pub(super) fn verdict(agreement: &RaterAgreement) -> String {
    let mut people = None;
    let mut closest: Option<&SummaryRow> = None;
    let mut judges = 0;
    for row in &agreement.summary {
        let Some(value) = main_estimate(row).estimate else {
            continue;
        };
        if row.who == PEOPLE {
            people = people.or(Some(row));
            continue;
        }
        judges += 1;
        // By the estimate, although intervals may overlap: the sentence names the interval and
        // makes no claim about the others.
        if closest.is_none_or(|best| Some(value) > main_estimate(best).estimate) {
            closest = Some(row);
        }
    }
    match (closest, people) {
        (Some(judge), ceiling) => verdict_on_judge(judge, judges, ceiling),
        (None, Some(people)) => verdict_on_people(people),
        (None, None) => not_measured(agreement),
    }
}

/// The closest of so many judges, next to what people reach with each other.
fn verdict_on_judge(judge: &SummaryRow, judges: usize, ceiling: Option<&SummaryRow>) -> String {
    let mut text = ceiling.map_or_else(String::new, |people| beside_people(judge, people));
    text += &judge.who;
    if judges > 1 {
        text += &format!(" (closest of {judges} judges)");
    }
    text += &against_chance(judge);
    if let Some(people) = ceiling {
        text += &format!("; people with people: {}", shown_main(people));
    }
    text + &details(judge, ceiling)
}

/// Whether the judge agrees with people as these do with each other, by the interval of either; nothing without one, as of means over
/// several pairs of raters.
fn beside_people(judge: &SummaryRow, people: &SummaryRow) -> String {
    let [by_judge, by_people] = [judge, people].map(main_estimate);
    let (Some(value), Some(other)) = (by_judge.estimate, by_people.estimate) else {
        return String::new();
    };
    let (is_less, is_more) = match (by_judge.interval(), by_people.interval()) {
        (Some(interval), _) => (interval.high < other, interval.low > other),
        (None, Some(interval)) => (value < interval.low, value > interval.high),
        (None, None) => return String::new(),
    };
    let answer = match (is_less, is_more) {
        (true, _) => "Less than people agree with each other: ",
        (_, true) => "More than people agree with each other: ",
        _ => "No significant difference from people with each other: ",
    };
    answer.to_owned()
}

fn verdict_on_people(people: &SummaryRow) -> String {
    format!(
        "{}{}, and is the most that a judge can reach{}",
        people.who,
        against_chance(people),
        details(people, None)
    )
}

fn not_measured(agreement: &RaterAgreement) -> String {
    let mut rows = agreement.summary.iter();
    let reason = rows.find_map(|row| main_estimate(row).undefined.as_deref());
    let reason = reason.unwrap_or("no two raters share ratings");
    format!("No agreement can be measured: {reason}.")
}

/// `, on which of two answers is better: 71.2% [65.0, 77.1] is above chance (50%)`
fn against_chance(row: &SummaryRow) -> String {
    let relation = match main_estimate(row).interval() {
        Some(interval) if interval.low > row.chance => "is above chance",
        Some(interval) if interval.high < row.chance => "is below chance",
        Some(_) => "includes chance",
        // A mean over several pairs of raters has no interval, since the pairs share raters.
        None if row.is_above_chance => "is above chance for every pair of raters",
        None => "may be chance",
    };
    let agreement = shown_main(row);
    if row.half_credit.estimate.is_some() {
        let chance = 100.0 * row.chance;
        format!(", on which of two answers is better: {agreement} {relation} ({chance:.0}%)")
    } else {
        format!(", on ratings: {agreement} {relation} (0)")
    }
}

/// Answers to one question, and the order of systems: a judge can rank systems well that it cannot rank answers for.
fn details(row: &SummaryRow, ceiling: Option<&SummaryRow>) -> String {
    let within = tau_beside(
        &row.within_question_tau_b,
        ceiling.map(|people| &people.within_question_tau_b),
    );
    let order = tau_beside(&row.systems, ceiling.map(|people| &people.systems));
    let may_be_chance = row.systems.estimate.is_some() && row.systems.low <= Some(0.0);
    // A few systems can be in one order although their answers are not.
    let chance = if may_be_chance {
        ", which may be chance"
    } else {
        ""
    };
    format!(". Answers to one question: {within}. Order of systems: {order}{chance}.")
}

/// A coefficient with that of people in parentheses, unless it is not defined itself.
fn tau_beside(estimate: &Estimate, ceiling: Option<&Estimate>) -> String {
    match ceiling {
        Some(people) if estimate.estimate.is_some() => {
            format!("{} (people with people: {})", tau(estimate), tau(people))
        }
        _ => tau(estimate),
    }
}

/// Agreement on which of two answers is better, else on ratings.
fn main_estimate(row: &SummaryRow) -> &Estimate {
    if row.half_credit.estimate.is_some() {
        &row.half_credit
    } else {
        &row.kendall_tau_b
    }
}

/// `71.2% [65.0, 77.1]`, or the tau-b of ratings; on one line.
fn shown_main(row: &SummaryRow) -> String {
    let Some(share) = row.half_credit.estimate else {
        return tau(&row.kendall_tau_b);
    };
    let mut text = format!("{}%", Format::Percent.show(share));
    if let Some(interval) = row.half_credit.interval() {
        text += UNBROKEN;
        text += &Format::Percent
            .show_interval(interval)
            .replace(' ', UNBROKEN);
    }
    text + &units_of(&row.half_credit).replace(' ', UNBROKEN)
}

/// Kendall's tau-b within a sentence; only a reason for a missing one may break over lines.
fn tau(estimate: &Estimate) -> String {
    let text = format!("tau-b {}", shown_coefficient(estimate));
    if estimate.estimate.is_some() {
        text.replace(' ', UNBROKEN)
    } else {
        text
    }
}

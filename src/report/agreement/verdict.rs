//! The verdict on raters, in sentences: how close the best judge is to people, and to what people reach with each other.

use super::{PEOPLE, UNBROKEN};
use crate::analysis::Estimate;
use crate::analysis::rater_agreement::{RaterAgreement, SummaryRow};
use crate::report::layout::counted;
use crate::report::numbers::{shown_coefficient, units_of};
use crate::report::table::Format;
use crate::stats::Interval;

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

/// Whether the judge agrees with people as these do with each other, by the interval of the difference; nothing without any interval, as
/// of means over several pairs of raters.
fn beside_people(judge: &SummaryRow, people: &SummaryRow) -> String {
    let both = [judge, people].map(main_estimate);
    let [Some(value), Some(other)] = both.map(|estimate| estimate.estimate) else {
        return String::new();
    };
    let widths = both.map(|estimate| estimate.interval().map(Interval::half_width));
    let (by_judge, by_people) = match widths {
        [Some(by_judge), Some(by_people)] => (by_judge, by_people),
        // A missing interval is not narrower than the other one.
        [Some(only), None] | [None, Some(only)] => (only, only),
        [None, None] => return String::new(),
    };
    // Each interval alone excludes the other's estimate far too often, since that one varies, too.
    let half_width = by_judge.hypot(by_people);
    let answer = if value + half_width < other {
        "Less than people agree with each other: "
    } else if value - half_width > other {
        "More than people agree with each other: "
    } else {
        "No significant difference from people with each other: "
    };
    answer.to_owned()
}

fn verdict_on_people(people: &SummaryRow) -> String {
    format!(
        "{}{}, the most that a judge can reach{}",
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

/// ` prefer the same one of two answers in 71.2% [65.0, 77.1] of 126 pairs (chance 50%)`, and whether that is significant.
fn against_chance(row: &SummaryRow) -> String {
    let relation = match main_estimate(row).interval() {
        Some(interval) if interval.low > row.chance => "more than chance",
        Some(interval) if interval.high < row.chance => "less than chance",
        Some(_) => "not significantly different from chance",
        // A mean over several pairs of raters has no interval, since the pairs share raters.
        None if row.is_above_chance => "more than chance for every pair of raters",
        None => "may be chance",
    };
    let agreement = shown_main(row);
    if row.half_credit.estimate.is_some() {
        let chance = 100.0 * row.chance;
        format!(" prefer the same one of two answers in {agreement}, {relation} ({chance:.0}%)")
    } else {
        format!(" agree on ratings: {agreement}, {relation} (0)")
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

/// `71.2% [65.0, 77.1] of 126 pairs`, or the tau-b of ratings; on one line.
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
    let units = match row.half_credit.n {
        Some(n) if row.pairs == 1 => format!(" of {}", counted(n, "pair")),
        _ => units_of(&row.half_credit),
    };
    text + &units.replace(' ', UNBROKEN)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A row with this tau-b, and an interval of this half width.
    fn row(tau: f64, half_width: Option<f64>) -> SummaryRow {
        let interval = || half_width.map(|half| Interval::new(tau - half, tau + half));
        let missing = Estimate::undefined("missing");
        SummaryRow {
            who: "j with people".to_owned(),
            pairs: 1,
            left_out: 0,
            kendall_tau_b: Estimate::new(Some(tau), interval, ""),
            half_credit: missing.clone(),
            within_question_tau_b: missing.clone(),
            systems: missing,
            ceiling: None,
            chance: 0.0,
            is_above_chance: true,
        }
    }

    #[test]
    fn a_judge_differs_from_people_by_the_interval_of_the_difference() {
        let answer = |judge: &SummaryRow, people: f64, half_width: Option<f64>| {
            beside_people(judge, &row(people, half_width))
        };
        // sqrt(0.1^2 + 0.1^2) = 0.141, with both intervals and with one of them; 0.62 is above the judge's interval.
        for (judge, people) in [(0.1, 0.1), (0.1, 0.0), (0.0, 0.1)] {
            let [by_judge, by_people] = [judge, people].map(|half| (half > 0.0).then_some(half));
            let judge = row(0.5, by_judge);
            assert!(answer(&judge, 0.62, by_people).starts_with("No significant difference"));
            assert!(answer(&judge, 0.65, by_people).starts_with("Less than people"));
            assert!(answer(&judge, 0.35, by_people).starts_with("More than people"));
        }
        assert_eq!(answer(&row(0.5, None), 0.9, None), "");
    }
}

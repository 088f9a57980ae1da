//! What the looks at a run decided, in sentences.

use super::layout::counted;
use super::numbers::{points, shown_difference};
use crate::analysis::comparison::{Decision, PairDecision, RunLooks};
use crate::domain::Unit;

/// Pairs that are listed before the rest is counted.
const LISTED: usize = 10;

/// How the run ended, then a line for each pair.
pub(super) fn look_lines(looks: &RunLooks) -> Vec<String> {
    let mut lines = vec![ending(looks)];
    let metric = looks.metric.as_ref();
    let unit = metric.map_or(Unit::Share, |metric| metric.unit);
    for pair in looks.pairs.iter().take(LISTED) {
        lines.push(pair_line(pair, unit, looks.schedule.is_single()));
    }
    if looks.pairs.len() > LISTED {
        let more = counted(looks.pairs.len() - LISTED, "more pair");
        lines.push(format!("and {more}: looks in manifest.json has all"));
    }
    lines
}

/// `Ended at look 2 of 4, after 60 of 100 questions (--until new>=old-0.02): decided in score.`
fn ending(looks: &RunLooks) -> String {
    let [asked, all] = looks.questions();
    let count = looks.schedule.looks.len();
    let metric_clause = match &looks.metric {
        Some(metric) => format!(" in {}", metric.name),
        None => String::new(),
    };
    format!(
        "Ended at look {} of {count}, after {asked} of {}{} (--until {}): {}{metric_clause}.",
        looks.look,
        counted(all, "question"),
        orders(looks),
        looks.until,
        reason(looks),
    )
}

/// ` in one order`, if pairs were not shown in the other.
fn orders(looks: &RunLooks) -> &'static str {
    if looks.is_in_one_order() {
        " in one order"
    } else {
        ""
    }
}

fn reason(looks: &RunLooks) -> &'static str {
    if looks.decided_at.is_none() {
        return if looks.leaves_out() {
            "all that can matter is asked, not all is decided"
        } else {
            "all is asked, not all is decided"
        };
    }
    let has = |decision: Decision| looks.pairs.iter().any(|pair| pair.decision == decision);
    if has(Decision::Futile) {
        if has(Decision::Above) || has(Decision::Below) {
            "decided, or futile to go on,"
        } else {
            "futile to go on, the rest would hardly decide"
        }
    } else {
        "decided"
    }
}

/// `new - old: +3.1 [0.4, 5.8] (repeated 95% interval): above -2.0 points`
fn pair_line(pair: &PairDecision, unit: Unit, is_single: bool) -> String {
    let [first, second] = &pair.systems;
    let difference = match pair.difference {
        Some(difference) => shown_difference(difference, pair.interval, unit),
        None => "no difference".to_owned(),
    };
    let threshold = if pair.margin == 0.0 {
        "0".to_owned()
    } else {
        points(-pair.margin, unit)
    };
    let decision = match pair.decision {
        Decision::Above => format!("above {threshold}"),
        Decision::Below => format!("below {threshold}"),
        Decision::Futile => "undecided (futile)".to_owned(),
        _ => "undecided".to_owned(),
    };
    let interval = if is_single {
        "95% interval"
    } else {
        "repeated 95% interval"
    };
    format!("{first} - {second}: {difference} ({interval}): {decision}")
}

/// What a reader of other numbers of such a run must know.
pub(super) fn look_warning(looks: &RunLooks) -> String {
    let [asked, all] = looks.questions();
    let ended = if looks.is_early() {
        format!(
            "ended after {asked} of {}{}",
            counted(all, "question"),
            orders(looks)
        )
    } else {
        "was looked at before its end".to_owned()
    };
    format!(
        "The run {ended} (--until {}): p values, letters and plain intervals of differences do not hold and are left out; the \
         intervals shown are repeated ones, and means exaggerate differences after an early end.",
        looks.until
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::comparison::LookSchedule;
    use crate::stats::Interval;

    #[test]
    fn a_run_says_at_which_look_and_why_it_ended() {
        let mut looks = RunLooks::new("new>=old-0.02", &LookSchedule::of(100, 1), 1, None);
        looks.pairs.push(PairDecision {
            systems: ["new".to_owned(), "old".to_owned()],
            margin: 0.02,
            difference: Some(0.031),
            interval: Some(Interval {
                low: 0.004,
                high: 0.058,
            }),
            decision: Decision::Above,
        });
        looks.decided_at = Some(2);
        let lines = look_lines(&looks);
        assert_eq!(
            lines[0],
            "Ended at look 2 of 4, after 60 of 100 questions (--until new>=old-0.02): decided."
        );
        assert_eq!(
            lines[1],
            "new - old: +3.1 [0.4, 5.8] (repeated 95% interval): above -2.0 points"
        );
        assert!(look_warning(&looks).contains("ended after 60 of 100 questions"));
        looks.pairs[0].decision = Decision::Futile;
        assert!(look_lines(&looks)[0].contains("futile to go on"));
        looks.decided_at = None;
        assert!(look_lines(&looks)[0].contains("not all is decided"));
    }
}

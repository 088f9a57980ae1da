//! The gate on a shift between two judges, or the same judge at two times: `--margin M`.

use super::result::{GateOutcome, GateResult, GateSpread};
use crate::comparison::JudgeChange;
use scholareval_core::error::{Error, Result};
use scholareval_core::text::names::counted;
use scholareval_stats::{Interval, t_quantile};

/// Fewer questions cannot show that a judge is stable, even if all its scores are the same again: under a shift in
/// either direction with equal chances, 6 questions shift the same way with p = 2 / 2^6 = 0.031, 5 with 0.063.
const FEWEST_QUESTIONS: usize = 6;

/// Whether the shift of each change by the first metric lies within `margin`, in the unit of files.
///
/// # Errors
/// [`Error::Usage`] for a margin that no shift of the metric exceeds.
pub fn drift_gates(changes: &[JudgeChange], margin: f64, level: f64) -> Result<Vec<GateResult>> {
    let mut gates = Vec::new();
    for change in changes {
        if change.metric == changes[0].metric {
            check_margin(change, margin)?;
            gates.push(drift_gate(change, margin, level));
        }
    }
    Ok(gates)
}

/// # Errors
/// For `5` where scores lie between 0 and 1: most likely meant in points of 100, it could never be missed.
fn check_margin(change: &JudgeChange, margin: f64) -> Result<()> {
    let range = change.metric.range();
    if range.is_some_and(|range| margin >= range.high - range.low) {
        let message = format!(
            "--margin {margin}: no shift of {} is as large; 0.02 is 2 points of 100",
            change.metric.name
        );
        return Err(Error::Usage(message));
    }
    Ok(())
}

fn drift_gate(change: &JudgeChange, margin: f64, level: f64) -> GateResult {
    let shift = change.whole.shift;
    let is_enough = change.questions >= FEWEST_QUESTIONS;
    let constant = Interval::new(shift, shift);
    let interval = match change.whole.interval {
        Some(interval) => Some(interval),
        None if change.is_constant && is_enough => Some(constant),
        None => None,
    };
    let outcome = interval.map_or(GateOutcome::Undecided, |interval| {
        GateOutcome::between(interval, -margin, margin)
    });
    let questions_needed = match (outcome, interval) {
        (GateOutcome::Undecided, Some(interval)) => {
            questions_needed(interval, shift, margin, level, change.questions)
        }
        _ => None,
    };
    let verb = match outcome {
        GateOutcome::Met => "lies within",
        GateOutcome::Missed => "lies outside",
        _ => "is not decided to lie within",
    };
    let shown = interval.map_or_else(
        || "no interval".to_owned(),
        |interval| format!("[{:.4}, {:.4}]", interval.low, interval.high),
    );
    let mut message = format!(
        "the shift from {} to {} {verb} it: {shift:+.4} {shown} over {}",
        change.old,
        change.new,
        counted(change.questions, "question")
    );
    if let Some(needed) = questions_needed {
        let questions = counted(needed, "question");
        message += &format!("; about {questions} would decide");
    }
    let systems = change.systems.iter();
    GateResult {
        condition: format!("{} shifts by at most {margin}", change.metric.name),
        outcome,
        message,
        metric: change.metric.name.clone(),
        systems: systems.map(|shift| shift.system.to_string()).collect(),
        estimate: Some(shift),
        interval,
        threshold: margin,
        p: Some(change.whole.p),
        questions: change.questions,
        questions_needed,
        ..GateResult::default()
    }
}

/// About how many questions decide with 80% power if the shift is the observed one; `None` where no more than these come
/// out, and where the shift is at the margin.
fn questions_needed(
    interval: Interval,
    shift: f64,
    margin: f64,
    level: f64,
    questions: usize,
) -> Option<usize> {
    let side = f64::midpoint(1.0, level);
    let error = interval.half_width() / t_quantile(side, questions as f64 - 1.0)?;
    let spread = GateSpread {
        errors: Some([error; 2]),
        questions,
        pairs: 1,
    };
    spread.needed(margin - shift.abs(), 1.0 - level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_decides_where_it_lies_on_one_side_of_the_margin() {
        for (low, high, expected) in [
            (-0.01, 0.02, GateOutcome::Met),
            (-0.05, 0.05, GateOutcome::Met),
            (0.04, 0.06, GateOutcome::Undecided),
            (-0.2, 0.2, GateOutcome::Undecided),
            (0.051, 0.2, GateOutcome::Missed),
            (-0.2, -0.051, GateOutcome::Missed),
        ] {
            assert_eq!(
                GateOutcome::between(Interval { low, high }, -0.05, 0.05),
                expected,
                "{low} {high}"
            );
        }
    }

    #[test]
    fn the_questions_needed_grow_with_the_square_of_the_distance() {
        // a half-width of 0.0392 is an error of 0.01917 with t = 2.0452 of 29 degrees of freedom;
        // (0.01917 * (1.96 + 0.8416) / 0.03)^2 * 30 = 96.1, and the quantiles of t add 3
        let interval = Interval {
            low: -0.0192,
            high: 0.0592,
        };
        let needed = |margin| questions_needed(interval, 0.02, margin, 0.95, 30);
        assert_eq!(needed(0.05), Some(99));
        // a distance of 0.015 in place of 0.03: four times as many
        assert_eq!(needed(0.035), Some(387));
        assert_eq!(needed(0.02), None);
    }
}

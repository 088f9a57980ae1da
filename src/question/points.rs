//! Points from 0 to 10: what the questions that ask for them have in common.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::compat;
use super::merging::{Sample, merge_numbers};
use super::reading::{self, Unreadable};
use crate::domain::{GradeMerge, JudgeReply, Judgment, Mode, Reading, ScoreLocation, Verdict};

/// Maximum points.
pub(super) const MAX_POINTS: f64 = 10.0;

/// The schema of a reply.
pub(super) fn schema() -> Value {
    reading::object_schema(&json!({"score": {"type": "number"}}))
}

/// Reads the points under `score`: in default mode a number from 0 to 10, in compat mode what the reference makes of it.
pub(super) fn read(reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
    if mode == Mode::Compat {
        // An integer becomes a float before it is divided by the float 10.0.
        let points = compat::score(&reply.content, 1.0)?;
        return Ok(Reading::new(Verdict::Points(points)));
    }
    let object = reading::object(reply)?;
    let points = reading::score(&object)?;
    // Neither clipped nor scaled: a judge that gives 85 uses another scale, and 10 would be a gift.
    if !(0.0..=MAX_POINTS).contains(&points) {
        return Err(Unreadable::new(format!("score {points} is outside 0..10")));
    }
    let feedback = reading::feedback(&object);
    Ok(Reading::new(Verdict::Points(points)).with_feedback(feedback))
}

pub(super) fn merge(samples: &[Sample], rule: GradeMerge) -> Judgment {
    merge_numbers(samples, rule, Verdict::Points)
}

pub(super) fn expected() -> Option<(ScoreLocation, RangeInclusive<u32>)> {
    Some((ScoreLocation::JsonScore, 0..=10))
}

/// A reply with a score to one decimal, within the range.
pub(super) fn reply(score: f64) -> String {
    format!("{{\"score\": {:.1}}}", score.clamp(0.0, MAX_POINTS))
}

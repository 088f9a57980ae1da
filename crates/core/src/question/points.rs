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

/// The methods of [`Question`](super::Question) that are the same for every kind that is answered with points.
macro_rules! rated_in_points {
    () => {
        fn schema(&self) -> Option<serde_json::Value> {
            Some($crate::question::points::schema())
        }

        fn read(
            &self,
            reply: &$crate::domain::JudgeReply,
            mode: $crate::domain::Mode,
        ) -> Result<$crate::domain::Reading, $crate::question::reading::Unreadable> {
            $crate::question::points::read(reply, mode)
        }

        fn merge(
            &self,
            samples: &[$crate::question::merging::Sample],
            rule: $crate::domain::GradeMerge,
            _mode: $crate::domain::Mode,
        ) -> $crate::domain::Judgment {
            $crate::question::points::merge(samples, rule)
        }

        fn samples_needed(
            &self,
            samples: &[$crate::question::merging::Sample],
            left: usize,
            rule: $crate::domain::GradeMerge,
            _mode: $crate::domain::Mode,
        ) -> usize {
            $crate::question::merging::numbers_needed(samples, left, rule)
        }

        fn expected(
            &self,
        ) -> Option<($crate::domain::ScoreLocation, std::ops::RangeInclusive<u32>)> {
            $crate::question::points::expected()
        }

        fn opening(&self) -> $crate::domain::Verdict {
            $crate::domain::Verdict::Points($crate::question::points::MAX_POINTS)
        }
    };
}

pub(super) use rated_in_points;

//! Points from 0 to 10 for an answer: by a criterion of its case, or by the fixed one about the asker's expertise.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::{Value, json};

use super::answered::{self, ANSWER, QUESTION, about_answer};
use super::compat;
use super::decision::{DecisionForm, DecisionOption, DecisionQuestion, DecisionWording};
use super::interface::Question;
use super::kind::KindInfo;
use super::merging::{Sample, merge_numbers, numbers_needed};
use super::reading::{self, Unreadable};
use super::variable::{Insert, Presence, Variable};
use super::words::Words;
use crate::domain::{GradeMerge, JudgeReply, Judgment, Mode, Reading, ScoreLocation, Verdict};

/// Maximum points.
const MAX_POINTS: f64 = 10.0;

/// The methods of [`Question`] that are the same for every kind that is answered with points.
macro_rules! rated_in_points {
    () => {
        fn schema(&self) -> Option<Value> {
            Some(reading::object_schema(&json!({"score": {"type": "number"}})))
        }

        fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
            points(reply, mode)
        }

        fn merge(&self, samples: &[Sample], rule: GradeMerge, _mode: Mode) -> Judgment {
            merge_numbers(samples, rule, Verdict::Points)
        }

        fn samples_needed(
            &self,
            samples: &[Sample],
            left: usize,
            rule: GradeMerge,
            _mode: Mode,
        ) -> usize {
            numbers_needed(samples, left, rule)
        }

        fn expected(&self) -> Option<(ScoreLocation, RangeInclusive<u32>)> {
            Some((ScoreLocation::JsonScore, 0..=10))
        }

        fn opening(&self) -> Verdict {
            Verdict::Points(MAX_POINTS)
        }
    };
}

/// Points for one criterion.
pub static PROPERTY: KindInfo = KindInfo {
    name: "property",
    family: "rubric",
    variables: &[QUESTION, ANSWER, Variable::hostile("criterion")],
    reply_limit: Some(100),
    decided: Some(Variable::DECIDED),
    ..KindInfo::DEFAULT
};

/// Rates the answer 0-10 on one criterion.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// The question.
    pub question: Arc<str>,
    /// The answer.
    pub answer: Arc<str>,
    /// The criterion.
    pub criterion: Arc<str>,
}

impl Question for Property {
    about_answer!();
    rated_in_points!();

    fn info(&self) -> &'static KindInfo {
        &PROPERTY
    }

    fn value<'a>(&'a self, variable: &str, _insert: &Insert<'_>) -> Cow<'a, str> {
        match variable {
            "criterion" => Cow::Borrowed(&self.criterion),
            _ => answered::value(variable, &self.question, &self.answer),
        }
    }

    fn decisions(&self, wording: &dyn DecisionWording) -> Vec<Vec<DecisionQuestion>> {
        vec![vec![whole_points(wording, &self.criterion)]]
    }

    fn baseline(&self, words: &dyn Words) -> Option<String> {
        let covered = words.coverage(&self.criterion, &self.answer);
        Some(baseline_reply(MAX_POINTS * covered))
    }
}

/// Points for the expertise that an answer needs. The criterion is the same for every case; a prompt set may have it in a
/// file.
pub static EXPERTISE: KindInfo = KindInfo {
    name: "expertise",
    family: "rubric",
    variables: &[
        QUESTION,
        ANSWER,
        Variable::hostile("criterion").only(Presence::WithCriterionFile),
    ],
    has_criterion_file: true,
    reply_limit: Some(100),
    decided: Some(Variable::DECIDED.optional()),
    ..KindInfo::DEFAULT
};

/// Rates the answer 0-10 on the fixed criterion about the asker's expertise.
#[derive(Debug, Clone, PartialEq)]
pub struct Expertise {
    /// The question.
    pub question: Arc<str>,
    /// The answer.
    pub answer: Arc<str>,
}

impl Question for Expertise {
    about_answer!();
    rated_in_points!();

    fn info(&self) -> &'static KindInfo {
        &EXPERTISE
    }

    fn value<'a>(&'a self, variable: &str, insert: &Insert<'_>) -> Cow<'a, str> {
        match variable {
            "criterion" => insert.fixed_criterion(),
            _ => answered::value(variable, &self.question, &self.answer),
        }
    }

    fn decisions(&self, wording: &dyn DecisionWording) -> Vec<Vec<DecisionQuestion>> {
        vec![vec![whole_points(wording, "")]]
    }

    fn baseline(&self, words: &dyn Words) -> Option<String> {
        Some(baseline_reply(
            words.expertise(&self.question, &self.answer),
        ))
    }
}

/// Reads the points under `score`: in default mode a number from 0 to 10, in compat mode what the reference makes of it.
fn points(reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
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

/// A choice of eleven: a scale of a decision model ends at ten levels.
fn whole_points(wording: &dyn DecisionWording, criterion: &str) -> DecisionQuestion {
    let points = (0..=MAX_POINTS as u32)
        .map(|points| DecisionOption::new(points.to_string(), Verdict::Points(f64::from(points))));
    DecisionQuestion {
        instructions: wording.instructions(criterion, false),
        form: DecisionForm::Choice,
        options: points.collect(),
        is_fault: false,
    }
}

/// A reply with a score to one decimal, within the range.
fn baseline_reply(score: f64) -> String {
    format!("{{\"score\": {:.1}}}", score.clamp(0.0, MAX_POINTS))
}

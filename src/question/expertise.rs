//! Does the expertise that the answer needs match the asker's? 0 to 10.
//!
//! The criterion is the same for every case; a prompt set may have it in a file.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::Value;

use super::answered::{self, ANSWER, QUESTION, about_answer};
use super::interface::Question;
use super::kind::KindInfo;
use super::merging::{Sample, numbers_needed};
use super::points;
use super::reading::Unreadable;
use super::variable::{Insert, Presence, Variable};
use super::words::Words;
use crate::domain::{GradeMerge, JudgeReply, Judgment, Mode, Reading, ScoreLocation, Verdict};

/// Points for the expertise that an answer needs.
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

    fn info(&self) -> &'static KindInfo {
        &EXPERTISE
    }

    fn value<'a>(&'a self, variable: &str, insert: &Insert<'_>) -> Cow<'a, str> {
        match variable {
            "criterion" => insert.fixed_criterion(),
            _ => answered::value(variable, &self.question, &self.answer),
        }
    }

    fn schema(&self) -> Option<Value> {
        Some(points::schema())
    }

    fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        points::read(reply, mode)
    }

    fn merge(&self, samples: &[Sample], rule: GradeMerge, _mode: Mode) -> Judgment {
        points::merge(samples, rule)
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
        points::expected()
    }

    fn opening(&self) -> Verdict {
        Verdict::Points(points::MAX_POINTS)
    }

    fn baseline(&self, words: &dyn Words) -> Option<String> {
        Some(points::reply(words.expertise(&self.question, &self.answer)))
    }
}

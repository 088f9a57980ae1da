//! Does the answer meet one criterion? 0 to 10.

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
use super::variable::{Insert, Variable};
use super::words::Words;
use crate::domain::{GradeMerge, JudgeReply, Judgment, Mode, Reading, ScoreLocation, Verdict};

/// Points for one criterion.
pub static PROPERTY: KindInfo = KindInfo {
    name: "property",
    family: "rubric",
    variables: &[QUESTION, ANSWER, Variable::hostile("criterion")],
    reply_limit: Some(100),
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

    fn info(&self) -> &'static KindInfo {
        &PROPERTY
    }

    fn value<'a>(&'a self, variable: &str, _insert: &Insert<'_>) -> Cow<'a, str> {
        match variable {
            "criterion" => Cow::Borrowed(&self.criterion),
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
        let covered = words.coverage(&self.criterion, &self.answer);
        Some(points::reply(points::MAX_POINTS * covered))
    }
}

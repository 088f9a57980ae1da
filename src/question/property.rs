//! Does the answer meet one criterion? 0 to 10.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::Value;

use super::interface::Question;
use super::kind::KindInfo;
use super::merging::Sample;
use super::points;
use super::reading::Unreadable;
use super::variable::{Insert, Variable};
use super::words::Words;
use crate::domain::{GradeMerge, JudgeReply, Judgment, Mode, Reading, ScoreLocation, Verdict};

/// Points for one criterion.
pub static PROPERTY: KindInfo = KindInfo {
    name: "property",
    family: "rubric",
    variables: &[
        Variable::hostile("question").shared().optional(),
        Variable::hostile("response").shared(),
        Variable::hostile("criterion"),
    ],
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
    fn info(&self) -> &'static KindInfo {
        &PROPERTY
    }

    fn value<'a>(&'a self, variable: &str, _insert: &Insert<'_>) -> Cow<'a, str> {
        match variable {
            "question" => Cow::Borrowed(&self.question),
            "response" => Cow::Borrowed(&self.answer),
            "criterion" => Cow::Borrowed(&self.criterion),
            _ => Cow::Borrowed(""),
        }
    }

    fn shared_texts(&self) -> Vec<&str> {
        vec![&self.question, &self.answer]
    }

    fn judged(&self) -> &Arc<str> {
        &self.answer
    }

    fn with_judged(&self, answer: Arc<str>) -> Arc<dyn Question> {
        Arc::new(Self {
            answer,
            ..self.clone()
        })
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

    fn is_equal(&self, other: &dyn Question) -> bool {
        other.downcast_ref() == Some(self)
    }
}

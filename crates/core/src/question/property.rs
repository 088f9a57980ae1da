//! Does the answer meet one criterion? 0 to 10.

use std::borrow::Cow;
use std::sync::Arc;

use super::answered::{self, ANSWER, QUESTION, about_answer};
use super::interface::Question;
use super::kind::KindInfo;
use super::points::{self, rated_in_points};
use super::variable::{Insert, Variable};
use super::words::Words;

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

    fn baseline(&self, words: &dyn Words) -> Option<String> {
        let covered = words.coverage(&self.criterion, &self.answer);
        Some(points::reply(points::MAX_POINTS * covered))
    }
}

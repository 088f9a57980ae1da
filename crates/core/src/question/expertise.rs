//! Does the expertise that the answer needs match the asker's? 0 to 10.
//!
//! The criterion is the same for every case; a prompt set may have it in a file.

use std::borrow::Cow;
use std::sync::Arc;

use super::answered::{self, ANSWER, QUESTION, about_answer};
use super::interface::Question;
use super::kind::KindInfo;
use super::points::{self, rated_in_points};
use super::variable::{Insert, Presence, Variable};
use super::words::Words;

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

    fn baseline(&self, words: &dyn Words) -> Option<String> {
        Some(points::reply(words.expertise(&self.question, &self.answer)))
    }
}

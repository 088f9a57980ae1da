//! What a kind of question must say of itself.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::Value;

use super::decision::{DecisionQuestion, DecisionWording};
use super::kind::{KindInfo, ReplyKind};
use super::merging::{Sample, merge_lists};
use super::reading::{Unreadable, unusable};
use super::variable::Insert;
use super::words::Words;
use crate::domain::nearly_json;
use crate::domain::{
    CriteriaLayout, GradeMerge, JudgeReply, Judgment, Mode, Reading, ScoreLocation, UnscoredReason,
    Verdict,
};

/// One question to a judge: what it shows, and how a reply is read. Its texts are shared: the questions about one answer
/// hold one copy of it. A kind derives [`PartialEq`], by which questions behind `dyn Question` are compared.
pub trait Question: Any + fmt::Debug + Send + Sync + EqualQuestion {
    /// Its kind.
    fn info(&self) -> &'static KindInfo;

    /// The form of the user message that it needs, one of [`KindInfo::parts`].
    fn part(&self) -> &'static str {
        "user"
    }

    /// The value of a variable of its templates; empty for others, which prompts cannot have.
    fn value<'a>(&'a self, variable: &str, insert: &Insert<'_>) -> Cow<'a, str>;

    /// Further sections behind that of a variable between delimiters: their names and texts.
    fn sections_behind(&self, _variable: &str) -> Vec<(&'static str, Cow<'_, str>)> {
        Vec::new()
    }

    /// Every text of the shared variables, in an order that never changes: the id of their sections is a hash of these
    /// texts and occurs in none of them.
    fn shared_texts(&self) -> Vec<&str>;

    /// The text that it is about: the answer, a section of it, or the document that a claim cites. `--truncate` cuts it.
    fn judged(&self) -> &Arc<str>;

    /// The same question about another text.
    fn with_judged(&self, text: Arc<str>) -> Arc<dyn Question>;

    /// How it is laid out before a judge; only criteria of a case have another one than [`CriteriaLayout::AsWritten`].
    fn layout(&self) -> CriteriaLayout {
        CriteriaLayout::AsWritten
    }

    /// What the judged text is, in notes.
    fn judged_name(&self) -> &'static str {
        "answer"
    }

    /// The names of the items of a batch, which are asked, read and limited together; empty for a question about one
    /// thing.
    fn items(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// The JSON schema of a reply; `None` where it is not JSON.
    ///
    /// It has what OpenAI's strict mode demands: every property is required, and there are no others
    /// (see [`reading::object_schema`](super::reading::object_schema)).
    fn schema(&self) -> Option<Value> {
        None
    }

    /// Whether a reply is JSON; cheaper than [`Question::schema`].
    fn replies_in_json(&self) -> bool {
        self.info().reply == ReplyKind::Json
    }

    /// Reads a reply; callers use [`Question::parse`], which knows the replies that no question can read.
    ///
    /// # Errors
    /// In default mode, if the reply does not say exactly what was asked. In compat mode, if the reference cannot read
    /// it, or raises an exception.
    fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable>;

    /// Parses a reply to this question; kinds define [`Question::read`].
    ///
    /// In default mode the reply must say exactly what was asked; where [`Question::read`] cannot read it, what is nearly
    /// JSON, or JSON in a wrapper, is read if it has one reading. In compat mode it is read as the reference reads the text,
    /// in range or not.
    ///
    /// # Errors
    /// [`Unreadable`], with the reason and whether a retry may help: not for a reply cut at the token limit or stopped
    /// by a content filter (default mode only; compat parses both), nor for a refusal or a tool call in place of text,
    /// nor if the reference would have raised (compat).
    fn parse(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        if let Some(unusable) = unusable(reply, mode) {
            return Err(unusable);
        }
        let read = self.read(reply, mode);
        let is_final = read.is_ok() || mode == Mode::Compat || reply.is_cut();
        if is_final || !self.replies_in_json() || self.is_text_of_reply() {
            return read;
        }
        let values = nearly_json::values(&reply.content);
        let mut fault = None;
        for value in values {
            match self.read(&JudgeReply::of_text(value.to_string()), mode) {
                Ok(reading) => return Ok(reading),
                // What is wrong behind the form says more than the form.
                Err(unreadable) => fault = fault.or(Some(unreadable)),
            }
        }
        fault.map_or(read, Err)
    }

    /// Whether the verdict is made of the reply's texts: what a stray backslash in them stands for has several readings, so
    /// that nearly JSON is not read.
    fn is_text_of_reply(&self) -> bool {
        false
    }

    /// How many times the reply limit of its kind a reply may have: once for each item of a batch.
    fn unit_count(&self) -> u64 {
        self.items().len().max(1) as u64
    }

    /// How many times the limit of its kind a reply may need: once for each unit.
    fn reply_units(&self) -> u64 {
        self.unit_count()
    }

    /// The results of the items of a batch, in their order; a missing one is an error.
    fn split(&self, judgment: &Judgment) -> Vec<Judgment> {
        vec![judgment.clone()]
    }

    /// Whether [`Question::merge`] needs the texts of replies in this mode.
    fn merges_texts(&self, _mode: Mode) -> bool {
        false
    }

    /// Merges samples: of a batch, those of one item. By default as lists, which cannot be averaged: the sample with the median
    /// number counts as a whole.
    fn merge(&self, samples: &[Sample], _rule: GradeMerge, _mode: Mode) -> Judgment {
        merge_lists(samples)
    }

    /// The fewest further samples, of the `left` ones that may follow these, after which the rest cannot change what
    /// [`Question::merge`] gives; 0 if none can. `left` for kinds that are not merged by a vote: each of their samples
    /// counts. Of a batch, the samples are those of one item.
    fn samples_needed(
        &self,
        _samples: &[Sample],
        left: usize,
        _rule: GradeMerge,
        _mode: Mode,
    ) -> usize {
        left
    }

    /// Where a reply has its number and which numbers are possible, for scores weighted by token probabilities.
    fn expected(&self) -> Option<(ScoreLocation, RangeInclusive<u32>)> {
        None
    }

    /// The decisions that settle it, those of each of its items; none where options that are fixed before the reply cannot
    /// say what is asked. Their instructions are those of the prompt set.
    fn decisions(&self, _wording: &dyn DecisionWording) -> Vec<Vec<DecisionQuestion>> {
        Vec::new()
    }

    /// What the answers to the decisions about one item say of it.
    fn decided(&self, parts: Vec<Judgment>) -> Judgment {
        let first = parts.into_iter().next();
        first.unwrap_or_else(|| Err(UnscoredReason::other_kind()))
    }

    /// The verdict that planning assumes, so that it reaches the questions behind this one.
    fn opening(&self) -> Verdict;

    /// The reply of the built-in baseline; `None` where words say nothing about it.
    fn baseline(&self, _words: &dyn Words) -> Option<String> {
        None
    }
}

/// Equality behind `dyn Question`: every question that is [`PartialEq`] has it.
pub trait EqualQuestion {
    /// Whether another question is of the same kind and has the same values.
    fn is_equal(&self, other: &dyn Question) -> bool;
}

impl<Q: Question + PartialEq> EqualQuestion for Q {
    fn is_equal(&self, other: &dyn Question) -> bool {
        other.downcast_ref() == Some(self)
    }
}

impl dyn Question {
    /// The question as this type, if it is one.
    pub fn downcast_ref<Q: Question>(&self) -> Option<&Q> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}

impl PartialEq for dyn Question {
    fn eq(&self, other: &Self) -> bool {
        self.is_equal(other)
    }
}

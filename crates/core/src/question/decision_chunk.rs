//! Several questions about one text, asked of a decision model in one request.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::decision::{DecisionQuestion, DecisionShape};
use super::interface::Question;
use super::kind::KindInfo;
use super::merging::Sample;
use super::reading::{Unreadable, unusable};
use super::variable::Insert;
use crate::domain::{
    DecidedItem, GradeMerge, JudgeReply, Judgment, Mode, Reading, UnscoredKind, UnscoredReason,
    Verdict,
};

/// How the reply of a server ends that says that the request is too long: it is kept like a reply, so that it is not sent again.
pub const TOO_LONG: &str = "too_long";

/// One item of a chunk.
#[derive(Debug, Clone)]
pub struct ChunkItem {
    /// Its name.
    pub name: Arc<str>,
    /// The question that it belongs to, which may have several items.
    pub question: Arc<dyn Question>,
    /// What settles it; not empty.
    pub decisions: Vec<DecisionQuestion>,
}

impl PartialEq for ChunkItem {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && *self.question == *other.question
            && self.decisions == other.decisions
    }
}

/// Items of one kind about one text, which one request asks together.
///
/// It is a question like others: its items are sampled and merged by the questions that they belong to. Its verdict
/// ([`Verdict::Decided`]) has a verdict, or a reason for none, for each of them.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionChunk {
    /// How the request is written.
    pub shape: DecisionShape,
    /// Whether options are sent in reverse, to see how far a judge depends on their order.
    pub is_reversed: bool,
    /// Its items; not empty.
    pub items: Arc<[ChunkItem]>,
}

impl DecisionChunk {
    /// The decisions of all items, in the order in which they are sent.
    pub fn decisions(&self) -> Vec<DecisionQuestion> {
        let decisions = self.items.iter().flat_map(|item| &item.decisions);
        decisions.cloned().collect()
    }

    /// The questions of the request.
    pub fn questions(&self) -> Value {
        self.shape.written(&self.decisions(), self.is_reversed)
    }

    /// What the request is called in records: its item, or the first and the last of several.
    pub fn name(&self) -> Arc<str> {
        match &*self.items {
            [] => "".into(),
            [only] => Arc::clone(&only.name),
            [first, .., last] => format!("{}..{}", first.name, last.name).into(),
        }
    }

    /// The two halves of what was too long; `None` of one item.
    pub fn halves(&self) -> Option<[Self; 2]> {
        let (first, second) = self.items.split_at(self.items.len().div_ceil(2));
        (!second.is_empty()).then(|| [self.of(first), self.of(second)])
    }

    /// The item at this place, alone.
    pub fn alone(&self, place: usize) -> Option<Self> {
        let item = self.items.get(place..=place)?;
        Some(self.of(item))
    }

    /// The same request about these items.
    pub fn of(&self, items: &[ChunkItem]) -> Self {
        Self {
            shape: self.shape,
            is_reversed: self.is_reversed,
            items: items.into(),
        }
    }

    fn first(&self) -> &Arc<dyn Question> {
        &self.items[0].question
    }
}

impl Question for DecisionChunk {
    fn info(&self) -> &'static KindInfo {
        self.first().info()
    }

    fn part(&self) -> &'static str {
        self.first().part()
    }

    fn value<'a>(&'a self, variable: &str, insert: &Insert<'_>) -> Cow<'a, str> {
        self.first().value(variable, insert)
    }

    fn sections_behind(&self, variable: &str) -> Vec<(&'static str, Cow<'_, str>)> {
        self.first().sections_behind(variable)
    }

    fn shared_texts(&self) -> Vec<&str> {
        self.first().shared_texts()
    }

    fn judged(&self) -> &Arc<str> {
        self.first().judged()
    }

    /// The text is the same of all items.
    fn with_judged(&self, text: Arc<str>) -> Arc<dyn Question> {
        let mut items = self.items.to_vec();
        for item in &mut items {
            item.question = item.question.with_judged(Arc::clone(&text));
        }
        Arc::new(self.of(&items))
    }

    fn items(&self) -> Vec<Arc<str>> {
        let names = self.items.iter().map(|item| Arc::clone(&item.name));
        names.collect()
    }

    fn replies_in_json(&self) -> bool {
        false
    }

    /// Reads the answers in a reply, each for itself.
    fn read(&self, reply: &JudgeReply, _mode: Mode) -> Result<Reading, Unreadable> {
        let answers = serde_json::from_str(&reply.content)
            .map_err(|_| Unreadable::new("the reply has no answers"))?;
        let readings = self.shape.read(&self.decisions(), &answers)?;
        let mut readings = readings.into_iter();
        let mut decided: Vec<DecidedItem> = Vec::new();
        for item in &*self.items {
            let parts = readings.by_ref().take(item.decisions.len());
            let parts: Vec<Judgment> = parts
                .map(|part| part.map_err(UnscoredReason::from))
                .collect();
            let judgment = item.question.decided(parts);
            decided.push(DecidedItem::new(Arc::clone(&item.name), judgment));
        }
        Ok(Reading::new(Verdict::Decided(decided.into())))
    }

    fn parse(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        if reply.finish_reason.as_deref() == Some(TOO_LONG) {
            let what = format!("too long: {}", reply.content);
            return Err(Unreadable::lasting(UnscoredKind::ContextOverflow, what));
        }
        match unusable(reply, Mode::Default) {
            Some(unusable) => Err(unusable),
            None => self.read(reply, mode),
        }
    }

    fn split(&self, judgment: &Judgment) -> Vec<Judgment> {
        let count = self.items.len();
        let reading = match judgment {
            Ok(reading) => reading,
            Err(reason) => return vec![Err(reason.clone()); count],
        };
        let Verdict::Decided(decided) = &reading.verdict else {
            return vec![Err(UnscoredReason::other_kind()); count];
        };
        decided.iter().map(DecidedItem::judgment).collect()
    }

    fn merge(&self, samples: &[Sample], rule: GradeMerge, mode: Mode) -> Judgment {
        self.first().merge(samples, rule, mode)
    }

    fn opening(&self) -> Verdict {
        self.first().opening()
    }
}

#[cfg(test)]
mod tests;

//! Which paragraphs of the answer are irrelevant to the question? A list of texts (ScholarQA-CS2).

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::answered::{self, ANSWER, QUESTION, about_answer};
use super::astabench;
use super::interface::Question;
use super::kind::KindInfo;
use super::reading::{Unreadable, list_of, list_schema, object_schema, single, text_schema};
use super::variable::Insert;
use super::words::Words;
use crate::domain::python_json::kind;
use crate::domain::{JudgeReply, Mode, Reading, Verdict};

/// The key of the list.
const PARAGRAPHS: &str = "irrelevant_paragraphs";

/// Irrelevant paragraphs.
pub static PRECISION: KindInfo = KindInfo {
    name: "precision",
    family: "cs2",
    variables: &[QUESTION, ANSWER],
    ..KindInfo::DEFAULT
};

/// Lists the paragraphs of the answer that are irrelevant to the question.
#[derive(Debug, Clone, PartialEq)]
pub struct IrrelevantParagraphs {
    /// The question.
    pub question: Arc<str>,
    /// The answer.
    pub answer: Arc<str>,
}

impl Question for IrrelevantParagraphs {
    about_answer!();

    fn info(&self) -> &'static KindInfo {
        &PRECISION
    }

    fn value<'a>(&'a self, variable: &str, _insert: &Insert<'_>) -> Cow<'a, str> {
        answered::value(variable, &self.question, &self.answer)
    }

    fn schema(&self) -> Option<Value> {
        let paragraph =
            object_schema(&json!({"reason": text_schema(), "answer_text": text_schema()}));
        let list = list_schema(&paragraph);
        Some(object_schema(&json!({"irrelevant_paragraphs": list})))
    }

    /// Reads the texts: objects with an `answer_text`.
    fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        let object = astabench::object(reply, mode)?;
        let mut texts: Vec<String> = Vec::new();
        for entry in entries(&object, mode)? {
            let text = single(entry, "answer_text").map_err(|what| fault(&what, mode))?;
            let Some(text) = text
                .filter(|text| kind(text) == "a string")
                .and_then(Value::as_str)
            else {
                return Err(fault("an irrelevant paragraph has no answer_text", mode));
            };
            texts.push(text.to_owned());
        }
        Ok(Reading::new(Verdict::Irrelevant(texts.into())))
    }

    /// Nothing is behind it.
    fn opening(&self) -> Verdict {
        Verdict::Irrelevant(Arc::default())
    }

    /// The paragraphs without any content word of the question.
    fn baseline(&self, words: &dyn Words) -> Option<String> {
        let mut entries: Vec<Value> = Vec::new();
        for text in self.answer.split("\n\n") {
            if !text.trim().is_empty() && !words.is_related(text, &self.question) {
                entries.push(json!({"answer_text": text}));
            }
        }
        Some(json!({PARAGRAPHS: entries}).to_string())
    }
}

/// The entries of the list. Python iterates over an empty text or object, too.
fn entries(object: &Value, mode: Mode) -> Result<&[Value], Unreadable> {
    match object.get(PARAGRAPHS) {
        Some(Value::String(empty)) if mode == Mode::Compat && empty.is_empty() => Ok(&[]),
        Some(Value::Object(empty)) if mode == Mode::Compat && empty.is_empty() => Ok(&[]),
        _ => list_of(object, PARAGRAPHS, "").map_err(|what| fault(&what, mode)),
    }
}

/// A list of another shape. The reference raises an exception on it and does not ask again.
fn fault(what: &str, mode: Mode) -> Unreadable {
    match mode {
        Mode::Default => Unreadable::new(what),
        Mode::Compat => Unreadable::exception(what),
    }
}

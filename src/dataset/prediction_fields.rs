//! The fields of one prediction.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::{Gold, Prediction, Source};
use crate::error::InputFault;

use super::elements::is_nan;
use super::fields::{Findings, Place, describe};

/// Whether an element without a question is a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// It is.
    Required,
    /// It is not: its `input` is empty then.
    Optional,
}

/// The prediction of one object; `None` with faults pushed if it cannot be used.
pub(super) fn read_prediction(
    value: &Value,
    position: usize,
    question: Question,
    place: Place<'_>,
    found: &mut Findings,
) -> Option<Prediction> {
    let id = ["id", "case_id"].iter().find_map(|key| value.get(*key)).and_then(scalar);
    let place = Place { case_id: id.as_deref(), ..place };
    let Value::Object(map) = value else {
        found.faults.push(place.fault(format!("each element: expected an object, found {}", describe(value))));
        return None;
    };
    let faults_before = found.faults.len();
    let mut reader = Reader { map, place, found };
    let input = match question {
        Question::Required => reader.input(),
        Question::Optional => reader.given_input().or_else(|| Some(String::new())),
    };
    let output = reader.text("output");
    let sources = reader.sources();
    let gold = Gold {
        answer: reader.text("answer"),
        gold_ctxs: reader.gold_ids(),
        gold_texts: reader.gold_texts(),
        short_answers: reader.short_answers(),
        long_answers: reader.long_answers(),
    };
    let id_mapping = reader.id_mapping();
    let replaced_ctxs = reader.replaced_ctxs();
    let final_passages = reader.final_passages();
    if found.faults.len() > faults_before {
        return None;
    }
    let line = place.line;
    let output = output.map(Arc::from);
    let id = id.unwrap_or_else(|| position.to_string());
    Some(Prediction { id, input: input?, output, sources, replaced_ctxs, final_passages, id_mapping, gold, line })
}

/// The fault of an element that asks nothing.
pub(super) fn no_question(place: Place<'_>) -> InputFault {
    place.fault("neither input nor query").hint("give each element the question as input")
}

/// A string or a number as text.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

struct Reader<'a, 'f> {
    map: &'a Map<String, Value>,
    place: Place<'a>,
    found: &'f mut Findings,
}

impl<'a> Reader<'a, '_> {
    fn wrong(&mut self, name: &str, expected: &str, value: &Value) {
        let what = format!("{name}: expected {expected}, found {}", describe(value));
        self.found.faults.push(self.place.fault(what));
    }

    /// The value under `key`; null counts as absent.
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    /// The elements of the list under `key`; none where it is absent.
    fn list(&mut self, key: &str) -> &'a [Value] {
        match self.get(key) {
            None => &[],
            Some(Value::Array(list)) => list,
            Some(other) => {
                self.wrong(key, "a list", other);
                &[]
            }
        }
    }

    fn text(&mut self, key: &str) -> Option<String> {
        self.text_of(key, self.get(key)?)
    }

    /// A string; a bare `NaN` is missing, with a warning.
    fn text_of(&mut self, name: &str, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.clone()),
            other if is_nan(other) => {
                let what = format!("{name} is a bare NaN; read as missing");
                self.found.warnings.push(self.place.fault(what).hint("write a text or null"));
                None
            }
            other => {
                self.wrong(name, "a string", other);
                None
            }
        }
    }

    fn input(&mut self) -> Option<String> {
        if !["input", "query"].into_iter().any(|key| self.get(key).is_some()) {
            self.found.faults.push(no_question(self.place));
        }
        self.given_input()
    }

    fn given_input(&mut self) -> Option<String> {
        let key = ["input", "query"].into_iter().find(|key| self.get(key).is_some())?;
        self.text(key)
    }

    /// One text: as it is, or the parts of a list, a line each. Parts that are texts stay as they are (a pipeline has
    /// numbered them); objects become `[n] title text`, n being their place from 0, as ScholarQABench's files count.
    fn final_passages(&mut self) -> Option<String> {
        const KEY: &str = "final_passages";
        let value = self.get(KEY)?;
        let Value::Array(list) = value else { return self.text_of(KEY, value) };
        let mut lines = Vec::with_capacity(list.len());
        for (index, part) in list.iter().enumerate() {
            let name = format!("{KEY}[{index}]");
            match part {
                Value::Object(_) => {
                    let source = self.source(&name, part);
                    let texts = [source.title, source.text].into_iter().flatten().filter(|text| !text.is_empty());
                    lines.push(std::iter::once(format!("[{index}]")).chain(texts).collect::<Vec<_>>().join(" "));
                }
                text => lines.extend(self.text_of(&name, text)),
            }
        }
        Some(lines.join("\n"))
    }

    /// `docs` where present, else `ctxs`: a list of objects, or an object of `[text, title]`.
    fn sources(&mut self) -> Vec<Source> {
        let Some((key, value)) = ["docs", "ctxs"].into_iter().find_map(|key| Some((key, self.get(key)?))) else {
            return Vec::new();
        };
        match value {
            Value::Array(list) => {
                list.iter().enumerate().map(|(index, item)| self.source(&format!("{key}[{index}]"), item)).collect()
            }
            Value::Object(map) => map.iter().map(|(name, pair)| self.keyed_source(key, name, pair)).collect(),
            other => {
                self.wrong(key, "a list or an object", other);
                Vec::new()
            }
        }
    }

    /// How many `ctxs` there are beside `docs`.
    fn replaced_ctxs(&self) -> Option<usize> {
        self.get("docs")?;
        match self.get("ctxs")? {
            Value::Array(list) => Some(list.len()),
            Value::Object(map) => Some(map.len()),
            _ => None,
        }
    }

    fn source(&mut self, name: &str, value: &Value) -> Source {
        let Value::Object(map) = value else {
            self.wrong(name, "an object with title and text", value);
            return Source::default();
        };
        let key = if map.contains_key("sent") { "sent" } else { "text" };
        let text = map.get(key).filter(|text| !text.is_null());
        let title = map.get("title").map(|title| match title {
            Value::Null => String::new(),
            title => self.text_of(&format!("{name}.title"), title).unwrap_or_default(),
        });
        Source {
            title,
            text: text.and_then(|text| self.text_of(&format!("{name}.{key}"), text)),
            text_is_nan: text.is_some_and(is_nan),
            key: None,
        }
    }

    fn keyed_source(&mut self, key: &str, name: &str, pair: &Value) -> Source {
        let at = format!("{key}.{name}");
        match pair.as_array().map(Vec::as_slice) {
            Some([text, title]) => Source {
                title: self.text_of(&format!("{at}[1]"), title),
                text: self.text_of(&format!("{at}[0]"), text),
                text_is_nan: is_nan(text),
                key: Some(name.to_owned()),
            },
            _ => {
                self.wrong(&at, "[text, title]", pair);
                Source::default()
            }
        }
    }

    fn gold_ids(&mut self) -> Option<Vec<String>> {
        self.get("gold_ctxs")?;
        if self.has_gold_documents() {
            return None;
        }
        let mut ids = Vec::new();
        for (index, value) in self.list("gold_ctxs").iter().enumerate() {
            match scalar(value) {
                Some(id) => ids.push(id),
                None => self.wrong(&format!("gold_ctxs[{index}]"), "an id", value),
            }
        }
        Some(ids)
    }

    /// True where `gold_ctxs` are no ids but the gold documents themselves, as QASA's test file has them.
    fn has_gold_documents(&self) -> bool {
        let documents = self.get("gold_ctxs").and_then(Value::as_array);
        documents.is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_object))
    }

    fn id_mapping(&mut self) -> Option<BTreeMap<String, String>> {
        let value = self.get("id_mapping")?;
        let Value::Object(map) = value else {
            self.wrong("id_mapping", "an object", value);
            return None;
        };
        let mut mapping = BTreeMap::new();
        for (number, id) in map {
            match scalar(id) {
                Some(id) => {
                    mapping.insert(number.clone(), id);
                }
                None => self.wrong(&format!("id_mapping.{number}"), "an id", id),
            }
        }
        Some(mapping)
    }

    /// Texts of `gold_ctx`; a text may be an object `{contexts: [..]}`, which is joined by spaces.
    fn gold_texts(&mut self) -> Vec<String> {
        let mut texts = Vec::new();
        let key = if self.get("gold_ctx").is_none() && self.has_gold_documents() { "gold_ctxs" } else { "gold_ctx" };
        for (index, document) in self.list(key).iter().enumerate() {
            let name = format!("{key}[{index}].text");
            match document.get("text").unwrap_or(document) {
                Value::Object(text) => match text.get("contexts") {
                    Some(Value::Array(parts)) if parts.iter().all(Value::is_string) => {
                        texts.push(parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "));
                    }
                    _ => self.wrong(&name, "a string or {contexts: [..]}", document),
                },
                text => texts.extend(self.text_of(&name, text)),
            }
        }
        texts
    }

    fn short_answers(&mut self) -> Vec<Vec<String>> {
        let mut sets = Vec::new();
        for (index, pair) in self.list("qa_pairs").iter().enumerate() {
            let name = format!("qa_pairs[{index}].short_answers");
            match pair.get("short_answers") {
                Some(Value::Array(list)) => {
                    sets.push(list.iter().filter_map(|text| self.text_of(&name, text)).collect());
                }
                other => self.wrong(&name, "a list", other.unwrap_or(&Value::Null)),
            }
        }
        sets
    }

    fn long_answers(&mut self) -> Vec<String> {
        let mut answers = Vec::new();
        for (index, annotation) in self.list("annotations").iter().enumerate() {
            let name = format!("annotations[{index}].long_answer");
            match annotation.get("long_answer") {
                Some(answer) => answers.extend(self.text_of(&name, answer)),
                None => self.wrong(&name, "a string", &Value::Null),
            }
        }
        answers
    }
}

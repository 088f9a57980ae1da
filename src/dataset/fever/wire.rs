//! One line of a gold or prediction file.
//!
//! A line as it should be is read straight into borrowed text ([`scan`]). Whatever that refuses is read again as a JSON
//! value, to say what is wrong and, for compat, to see in it what Python would see.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::scan::scan;
use crate::dataset::fields::describe;
use crate::domain::fever::{ClaimId, Form, Gold, Label, PredictedSentence, Prediction, Raised, Sentence};

/// What a line says. Gold and prediction may stand in one line.
#[derive(Debug)]
pub(super) struct WireLine<'a> {
    pub(super) id: Option<ClaimId<'a>>,
    pub(super) label: Option<Label<'a>>,
    pub(super) evidence: Option<Evidence<'a>>,
    pub(super) prediction: Prediction<'a>,
    /// What is wrong with the prediction; the reference may read it all the same.
    pub(super) faults: Vec<String>,
}

/// Gold evidence: the sentences of all groups, and where each group ends among them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence<'a> {
    pub(super) sentences: Vec<Sentence<'a>>,
    pub(super) ends: Vec<usize>,
}

impl<'a> WireLine<'a> {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it, where nothing can be made of it in any mode.
    pub(super) fn read(text: &'a str) -> Result<Self, String> {
        let complete = |line: &Self| line.prediction.label.is_ok() && line.prediction.evidence.is_some();
        scan(text).filter(complete).map_or_else(|| Self::read_slowly(text), Ok)
    }

    /// Reads a line of gold, whatever it may predict.
    ///
    /// # Errors
    /// As [`WireLine::read`].
    pub(super) fn read_gold(text: &'a str) -> Result<Self, String> {
        scan(text).map_or_else(|| Self::read_slowly(text), Ok)
    }

    /// The gold of the line, where it has both parts.
    pub(super) fn take_gold(&mut self) -> Option<Gold<'a>> {
        if self.label.is_none() || self.evidence.is_none() {
            return None;
        }
        let Evidence { sentences, ends } = self.evidence.take()?;
        Some(Gold::from_flat(self.label.take()?, sentences, ends))
    }

    /// What default mode refuses besides the faults: labels that the task does not have.
    pub(super) fn unknown_labels(&self) -> Vec<String> {
        let predicted = self.prediction.label.as_ref().ok().map(|label| ("predicted_label", label));
        let gold = self.label.as_ref().map(|label| ("label", label));
        let unknown = predicted.into_iter().chain(gold).filter_map(|(field, label)| match label {
            Label::Other(text) => Some(format!(
                "{field}: expected one of {}, found \"{}\"",
                Label::NAMES.join(", "),
                text.chars().take(40).flat_map(char::escape_debug).collect::<String>()
            )),
            _ => None,
        });
        unknown.collect()
    }

    fn read_slowly(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("invalid JSON: {error}"))?;
        let Value::Object(map) = &value else {
            return Err(format!("expected an object, found {}", describe(&value)));
        };
        let label = match map.get("label") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(Label::read(text)),
            Some(other) => return Err(format!("label: expected a string, found {}", describe(other))),
        };
        let mut faults = Vec::new();
        let prediction =
            Prediction { label: predicted_label(map, &mut faults), evidence: predicted_evidence(map, &mut faults)? };
        Ok(Self { id: claim_id(map)?, label, evidence: gold_evidence(map)?, prediction, faults })
    }
}

/// The id of an object, if it has one.
fn claim_id(map: &Map<String, Value>) -> Result<Option<ClaimId<'static>>, String> {
    match map.get("id") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(ClaimId::read(text.clone()))),
        Some(Value::Number(number)) => Ok(Some(ClaimId::read(number.to_string()))),
        Some(other) => Err(format!("id: expected a number or a string, found {}", describe(other))),
    }
}

fn predicted_label(map: &Map<String, Value>, faults: &mut Vec<String>) -> Result<Label<'static>, Raised> {
    match map.get("predicted_label") {
        Some(Value::String(text)) => Ok(Label::read(text)),
        None => {
            faults.push("predicted_label is missing".to_owned());
            Err(Raised::Key)
        }
        Some(other) => {
            faults.push(format!("predicted_label: expected a string, found {}", describe(other)));
            Err(Raised::Attribute)
        }
    }
}

fn predicted_evidence(
    map: &Map<String, Value>,
    faults: &mut Vec<String>,
) -> Result<Option<Vec<PredictedSentence<'static>>>, String> {
    let list = match map.get("predicted_evidence") {
        Some(Value::Array(list)) => list,
        None => {
            faults.push("predicted_evidence is missing; write [] where there is none".to_owned());
            return Ok(None);
        }
        Some(other) => return Err(format!("predicted_evidence: expected a list, found {}", describe(other))),
    };
    let read = list.iter().enumerate().map(|(index, value)| {
        let predicted = predicted_sentence(value);
        if predicted.form != Form::Good {
            let shown: String = value.to_string().chars().take(60).collect();
            let wanted = "expected [page, line], a string and a whole number";
            faults.push(format!("predicted_evidence[{index}]: {wanted}, found {shown}"));
        }
        predicted
    });
    Ok(Some(read.collect()))
}

/// A predicted sentence and what Python's `==` would see in it: `true` is 1, 1.0 is 1.
fn predicted_sentence(value: &Value) -> PredictedSentence<'static> {
    let none = PredictedSentence { sentence: None, form: Form::Bad };
    let Some([page, line]) = value.as_array().map(Vec::as_slice) else { return none };
    let Some(page) = string_or_null(page) else { return none };
    let (line, form) = match line {
        Value::Bool(flag) => (Some(i64::from(*flag)), Form::Boolean),
        Value::Null => (None, Form::Bad),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => (Some(whole), Form::Good),
            (None, Some(float)) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                (Some(float as i64), Form::Bad)
            }
            // A whole number beyond 64 bits is no line of any page.
            _ => {
                return PredictedSentence {
                    sentence: None,
                    form: if number.is_f64() { Form::Bad } else { Form::Good },
                };
            }
        },
        _ => return none,
    };
    let form = if page.is_none() { Form::Bad } else { form };
    PredictedSentence { sentence: Some(Sentence { page: page.map(Cow::Owned), line }), form }
}

/// The groups of `evidence`: lists of `[annotation id, evidence id, page, line]`.
fn gold_evidence(map: &Map<String, Value>) -> Result<Option<Evidence<'static>>, String> {
    let groups = match map.get("evidence") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(groups)) => groups,
        Some(other) => return Err(format!("evidence: expected a list of groups, found {}", describe(other))),
    };
    let mut read = Evidence::default();
    for (at, group) in groups.iter().enumerate() {
        let sentences = group.as_array().ok_or_else(|| {
            format!("evidence[{at}]: expected a group, a list of sentences, found {}", describe(group))
        })?;
        let sentence = |(index, value): (usize, &Value)| {
            gold_sentence(value).ok_or_else(|| {
                let shown: String = value.to_string().chars().take(60).collect();
                format!("evidence[{at}][{index}]: expected [annotation id, evidence id, page, line], found {shown}")
            })
        };
        for sentence in sentences.iter().enumerate().map(sentence) {
            read.sentences.push(sentence?);
        }
        read.ends.push(read.sentences.len());
    }
    Ok(Some(read))
}

fn gold_sentence(value: &Value) -> Option<Sentence<'static>> {
    let [_, _, page, line, ..] = value.as_array()?.as_slice() else { return None };
    let line = if line.is_null() { None } else { Some(line.as_i64()?) };
    Some(Sentence { page: string_or_null(page)?.map(Cow::Owned), line })
}

/// `None` for anything else.
fn string_or_null(value: &Value) -> Option<Option<String>> {
    match value {
        Value::String(text) => Some(Some(text.clone())),
        Value::Null => Some(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

//! What all of SciFact's files have in common: objects on lines, claim ids, abstracts as keys, sentence lists, labels.

use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;
use serde_json::{Map, Value};

use super::super::names::suggest;
use super::super::text_file::as_text;
use crate::domain::Mode;
use crate::domain::scifact::{ClaimId, DocId, Label};
use crate::error::{Error, InputFault, Result};

/// One line's object and where it stands.
pub(super) struct Line<'a> {
    pub(super) path: &'a Path,
    pub(super) number: usize,
    pub(super) object: Map<String, Value>,
    /// The claim, once it is known.
    pub(super) claim: Option<ClaimId>,
}

impl Line<'_> {
    pub(super) fn fault(&self, what: impl Into<String>) -> InputFault {
        let fault = InputFault::new(self.path, what).at_line(self.number);
        match &self.claim {
            Some(claim) => fault.of_case(claim.to_string()),
            None => fault,
        }
    }
}

/// How many lines are one task.
const BLOCK_LINES: usize = 256;

/// What became of a line that is not blank.
struct LineRead<T> {
    number: usize,
    claim: Option<ClaimId>,
    item: Result<T, Vec<InputFault>>,
}

/// Reads every line that is not blank, in parallel; all faults are told together, in file order.
pub(super) fn each_line<T: Send>(
    bytes: &[u8],
    path: &Path,
    example: &str,
    read: impl Fn(&mut Line<'_>) -> Result<T, Vec<InputFault>> + Sync,
) -> Result<Vec<T>> {
    let lines = read_lines(bytes, path, example, read);
    collected(lines.into_iter().map(|line| line.item))
}

/// [`each_line`] of a file that holds each claim once. In compat one that stands twice is left to the scorer.
pub(super) fn each_claim<T: Send>(
    bytes: &[u8],
    path: &Path,
    example: &str,
    mode: Mode,
    read: impl Fn(&mut Line<'_>) -> Result<T, Vec<InputFault>> + Sync,
) -> Result<Vec<T>> {
    let lines = read_lines(bytes, path, example, read);
    let mut first_lines: HashMap<ClaimId, usize> = HashMap::with_capacity(lines.len());
    collected(lines.into_iter().map(|line| {
        let Some(id) = line.claim.filter(|_| mode == Mode::Default) else { return line.item };
        let Some(first) = first_lines.insert(id.clone(), line.number) else { return line.item };
        let what = format!("claim {id} stands twice, first on line {first}");
        let fault = InputFault::new(path, what).at_line(line.number).of_case(id.to_string());
        let mut faults = vec![fault.hint("keep one of the two lines")];
        faults.extend(line.item.err().into_iter().flatten());
        Err(faults)
    }))
}

fn read_lines<T: Send>(
    bytes: &[u8],
    path: &Path,
    example: &str,
    read: impl Fn(&mut Line<'_>) -> Result<T, Vec<InputFault>> + Sync,
) -> Vec<LineRead<T>> {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let one = |(index, bytes): (usize, &&[u8])| {
        let number = index + 1;
        match object(bytes, path, number, example) {
            Ok(None) => None,
            Ok(Some(object)) => {
                let mut line = Line { path, number, object, claim: None };
                let item = read(&mut line);
                Some(LineRead { number, claim: line.claim, item })
            }
            Err(fault) => Some(LineRead { number, claim: None, item: Err(vec![fault]) }),
        }
    };
    let read = lines.par_iter().enumerate().with_min_len(BLOCK_LINES).map(one);
    read.flatten_iter().collect()
}

fn collected<T>(read: impl Iterator<Item = Result<T, Vec<InputFault>>>) -> Result<Vec<T>> {
    let (mut items, mut faults) = (Vec::new(), Vec::new());
    for item in read {
        match item {
            Ok(item) => items.push(item),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() { Ok(items) } else { Err(Error::Input(faults)) }
}

fn object(bytes: &[u8], path: &Path, number: usize, example: &str) -> Result<Option<Map<String, Value>>, InputFault> {
    let text = as_text(bytes, path, number)?.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let fault =
        |what: String| InputFault::new(path, what).at_line(number).hint(format!("write one {example} per line"));
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(Some(object)),
        Ok(other) => Err(fault(format!("expected an object, found {}", describe(&other)))),
        Err(error) => {
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            Err(fault(format!("invalid JSON at column {}: {message}", error.column())))
        }
    }
}

/// What a value is, for messages.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => format!("{flag}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string {text:?}"),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// The claim id under `key`; from here on the line's faults name it.
pub(super) fn claim_id(line: &mut Line<'_>, key: &str) -> Result<ClaimId, Vec<InputFault>> {
    let id = match line.object.get(key) {
        Some(Value::Number(number)) => number.as_i64().map(ClaimId::Number),
        Some(Value::String(text)) => Some(ClaimId::Text(text.as_str().into())),
        _ => None,
    };
    line.claim.clone_from(&id);
    id.ok_or_else(|| {
        let found = line.object.get(key).map_or_else(|| "nothing".to_owned(), describe);
        vec![line.fault(format!("{key}: expected a whole number, found {found}"))]
    })
}

/// The object under `key`.
pub(super) fn by_abstract<'a>(line: &'a Line<'_>, key: &str) -> Result<&'a Map<String, Value>, Vec<InputFault>> {
    match line.object.get(key) {
        Some(Value::Object(map)) => Ok(map),
        other => {
            let found = other.map_or_else(|| "nothing".to_owned(), describe);
            let hint = format!("write {{\"{key}\": {{\"11\": ..}}}} with abstracts as keys, or {{}} for none");
            Err(vec![line.fault(format!("{key}: expected an object, found {found}")).hint(hint)])
        }
    }
}

/// An abstract's id that is a key.
pub(super) fn doc_id(line: &Line<'_>, key: &str) -> Result<DocId, InputFault> {
    key.trim().parse().map(DocId).map_err(|_| {
        line.fault(format!("evidence: abstract {key:?} is no whole number")).hint("use the S2ORC id of the corpus")
    })
}

/// A list of sentences: whole numbers from 0.
pub(super) fn sentences(line: &Line<'_>, doc_id: DocId, value: Option<&Value>) -> Result<Vec<u32>, InputFault> {
    let fault = |what: String| {
        let fault = line.fault(format!("abstract {doc_id}, sentences: {what}"));
        fault.hint("list the positions of the sentences, from 0, such as [0, 4]")
    };
    let Some(Value::Array(list)) = value else {
        return Err(fault(format!("expected a list, found {}", value.map_or_else(|| "nothing".to_owned(), describe))));
    };
    let index = |value: &Value| {
        let index = value.as_u64().and_then(|index| u32::try_from(index).ok());
        index.ok_or_else(|| fault(format!("expected a whole number from 0, found {}", describe(value))))
    };
    list.iter().map(index).collect()
}

/// A label: what the file says (`Err` for none of the known words).
pub(super) fn label(line: &Line<'_>, doc_id: DocId, value: Option<&Value>) -> Result<Spelled, InputFault> {
    let known = Label::ALL.map(Label::as_str);
    let Some(Value::String(name)) = value else {
        let found = value.map_or_else(|| "nothing".to_owned(), describe);
        return Err(line.fault(format!("abstract {doc_id}, label: expected a string, found {found}")));
    };
    if let Some(label) = Label::from_name(name) {
        return Ok(Spelled::Plainly(label));
    }
    if let Some(label) = Label::from_alias(name) {
        return Ok(Spelled::AsInFever(label));
    }
    let fault = line.fault(format!("abstract {doc_id}: unknown label {name:?}")).hint(suggest(name, known));
    Ok(Spelled::Unknown(fault))
}

/// How a label was written.
pub(super) enum Spelled {
    Plainly(Label),
    AsInFever(Label),
    Unknown(InputFault),
}

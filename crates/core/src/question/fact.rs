//! Reads replies to the questions of DeepResearch Bench's FACT as its scripts do, faults included
//! ([`Mode::Compat`]).
//!
//! Each function is one rule of the scripts, so that each can be compared with them alone.
//!
//! Source: `utils/extract.py`, `deduplicate.py`, `scrape.py` and `validate.py` (deep_research_bench 214741e). Follows Python's truthiness,
//! iteration and indexing: `true` is 1, an object iterates by its keys, -1 is the last place.

use serde_json::Value;

use super::reading::{is_cut_json, outermost_object};
use crate::domain::python_json::{self, PythonJsonFault, is_truthy};
use crate::domain::{CitedStatement, JudgeReply, Mode, PageVerdict, after_thinking, text_of};
use crate::text::markdown_links::without_addresses;

/// How often the extraction reads one reply. Each time it changes the text again, so that a later time may succeed.
const PARSES: usize = 3;

/// What the extraction makes of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum FactExtraction {
    /// The list of citations, each an object with a `fact` without addresses.
    Citations(Vec<Value>),
    /// The text `extraction failed` in place of the list, which the next step leaves out.
    Failed,
    /// No line in the file.
    NotWritten,
}

/// An exception of Python: its name and its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonException {
    /// The name of its class.
    pub name: &'static str,
    /// Its message.
    pub message: String,
}

/// Why the scripts do not use a list of statements to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FactListFault {
    /// They ask again.
    Unreadable(String),
    /// The run ends.
    Raised(PythonException),
}

impl PythonException {
    fn new(name: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { name, message }
    }

    /// A key that an object does not have.
    pub fn key(key: &str) -> Self {
        Self::new("KeyError", format!("'{key}'"))
    }

    /// A value that cannot be used like this.
    pub(crate) fn wrong_type(message: impl Into<String>) -> Self {
        Self::new("TypeError", message)
    }
}

impl std::fmt::Display for PythonException {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

/// The citations in a reply to the extraction.
pub fn extraction(reply: &str) -> FactExtraction {
    let mut text = reply.to_owned();
    for _ in 0..PARSES {
        // Also a text of which nothing but fences was there.
        if text.is_empty() {
            return FactExtraction::Failed;
        }
        text = without_escapes(&without_fences(&text));
        if let Some(citations) = citations(&text) {
            return FactExtraction::Citations(citations);
        }
    }
    FactExtraction::NotWritten
}

/// The places of the statements that a reply to the deduplication keeps, of `count`, from 0: all if it names none, a 0 or
/// more than there are.
///
/// # Errors
/// If the script asks again, or ends with an exception.
pub fn kept_statements(reply: &str, count: usize) -> Result<Vec<usize>, FactListFault> {
    let text = without_fences(reply);
    let list = python_json::parse(&text)
        .map_err(|fault| FactListFault::Unreadable(decode_message(&fault, &text)))?;
    if !is_truthy(&list) {
        return Ok((0..count).collect());
    }
    kept_places(&list, count).map_err(FactListFault::Raised)
}

/// The verdicts in a reply to the validation of `count` statements, each an object with an `idx` from 0 and mostly a
/// `result`. Nothing but their number is checked.
///
/// # Errors
/// The message of the exception, after which the script asks again.
pub fn validation(reply: &str, count: usize) -> Result<Vec<Value>, String> {
    let text = without_fences(reply);
    let list = python_json::parse(&text).map_err(|fault| decode_message(&fault, &text))?;
    let mut verdicts = match list {
        Value::Array(verdicts) => verdicts,
        Value::Object(fields) if fields.is_empty() => Vec::new(),
        // The script looks for `idx` in the first key, or in the first character.
        Value::Object(_) => return Err(no_string_index()),
        other if python_type(&other) == "str" => {
            if other.as_str().is_some_and(str::is_empty) {
                Vec::new()
            } else {
                return Err(no_string_index());
            }
        }
        other => return Err(not_iterable(&other)),
    };
    for verdict in &mut verdicts {
        count_from_zero(verdict)?;
    }
    if verdicts.len() != count {
        // The message of an assertion without one.
        return Err(String::new());
    }
    Ok(verdicts)
}

/// The places in a list of numbers from 1.
fn kept_places(list: &Value, count: usize) -> Result<Vec<usize>, PythonException> {
    let numbers = match list {
        Value::Array(numbers) => numbers,
        Value::Object(fields) if fields.len() > count => return Ok((0..count).collect()),
        Value::Object(_) => return Err(no_difference("str", "-")),
        other if python_type(other) == "str" => {
            return Err(PythonException::wrong_type(
                "'in <string>' requires string as left operand, not int",
            ));
        }
        other => {
            let message = format!("argument of type '{}' is not iterable", python_type(other));
            return Err(PythonException::wrong_type(message));
        }
    };
    if numbers.len() > count || numbers.iter().any(is_zero) {
        return Ok((0..count).collect());
    }
    numbers
        .iter()
        .map(|number| kept_place(number, count))
        .collect()
}

/// The place that a number means: one before it, from the end if that is negative.
fn kept_place(number: &Value, count: usize) -> Result<usize, PythonException> {
    let whole = match (python_type(number), number) {
        (_, Value::Bool(is_one)) => Some(i64::from(*is_one)),
        ("int", number) => number.as_i64(),
        ("float", _) => {
            return Err(PythonException::wrong_type(
                "list indices must be integers or slices, not float",
            ));
        }
        (other, _) => return Err(no_difference(other, "-")),
    };
    let out_of_range = || PythonException::new("IndexError", "list index out of range");
    let index = whole
        .and_then(|whole| whole.checked_sub(1))
        .ok_or_else(out_of_range)?;
    let count = count as i64;
    let place = if index < 0 { index + count } else { index };
    if (0..count).contains(&place) {
        usize::try_from(place).map_err(|_| out_of_range())
    } else {
        Err(out_of_range())
    }
}

/// Lets a verdict count from 0.
fn count_from_zero(verdict: &mut Value) -> Result<(), String> {
    let type_name = python_type(verdict);
    let Value::Object(fields) = verdict else {
        return Err(match type_name {
            "str" => no_string_index(),
            "list" => "list indices must be integers or slices, not str".to_owned(),
            other => format!("'{other}' object is not subscriptable"),
        });
    };
    let idx = fields.get("idx").ok_or_else(|| "'idx'".to_owned())?;
    let lowered = match (python_type(idx), idx) {
        (_, Value::Bool(is_one)) => Value::from(i64::from(*is_one) - 1),
        ("int", Value::Number(number)) => match number.as_i64() {
            Some(number) => Value::from(number.saturating_sub(1)),
            None => idx.clone(),
        },
        ("float", Value::Number(number)) => number
            .as_f64()
            .map_or(Value::Null, |it| Value::from(it - 1.0)),
        // Beyond the range of our numbers: one less is as far out of range.
        ("int" | "float", _) => idx.clone(),
        (other, _) => return Err(no_difference(other, "-=").message),
    };
    fields.insert("idx".to_owned(), lowered);
    Ok(())
}

/// The list of citations; `None` where the script raises an exception.
fn citations(text: &str) -> Option<Vec<Value>> {
    let mut citations = match python_json::parse(text).ok()? {
        Value::Array(citations) => citations,
        // Nothing to iterate: an empty list to all that follows.
        Value::Object(fields) if fields.is_empty() => Vec::new(),
        Value::String(text) if text.is_empty() => Vec::new(),
        _ => return None,
    };
    for citation in &mut citations {
        let fact = citation.as_object_mut()?.get_mut("fact")?;
        if python_type(fact) != "str" {
            return None;
        }
        *fact = Value::from(without_addresses(fact.as_str()?));
    }
    Some(citations)
}

/// The text of a page that could not be fetched.
pub fn failed_content(error: &str) -> String {
    format!("scrape failed: {error}")
}

/// Whether the scripts ask about a report: it has an id that counts as true, and its language is one of their two.
pub fn is_asked(id: &Value, language: Option<&str>) -> bool {
    is_truthy(id) && matches!(language, Some("zh" | "en"))
}

/// The list under a key of the object that our prompts ask for; `None` for other replies. With these prompts, compat mode
/// follows the steps of the scripts, too.
pub(super) fn list_of_ours(reply: &str, key: &str) -> Option<Vec<Value>> {
    let object = outermost_object(reply, Mode::Compat)
        .or_else(|_| outermost_object(&without_escapes(reply), Mode::Compat))
        .ok()?;
    object.get(key)?.as_array().cloned()
}

/// The list that a reply is, whatever stands around it, where a judge was asked in the words of the scripts and its reply is
/// read by our rules; `None` for other replies.
pub(super) fn list_in(reply: &JudgeReply) -> Option<Vec<Value>> {
    let text = after_thinking(&reply.content).ok()?;
    let start = text.find(['[', '{'])?;
    let list = text.get(start..=text.rfind(']')?)?;
    // An object with a list in it has the form that our prompts ask for.
    if is_cut_json(reply) || !list.starts_with('[') {
        return None;
    }
    let parsed = python_json::parse_distinct(list)
        .or_else(|_| python_json::parse_distinct(&without_escapes(list)));
    match parsed {
        Ok(Value::Array(list)) => Some(list),
        _ => None,
    }
}

/// A citation of a list as a statement, by our rules.
///
/// # Errors
/// Without a text as `fact`, or with something else than a text as `url`.
pub fn statement(citation: &Value) -> Result<CitedStatement, String> {
    let fact = citation
        .get("fact")
        .filter(|fact| python_type(fact) == "str");
    let text = fact.and_then(Value::as_str).map(str::trim);
    let text = text
        .filter(|text| !text.is_empty())
        .ok_or("a statement has no text")?;
    let url = match citation.get("url") {
        None | Some(Value::Null) => "",
        Some(url) => url.as_str().ok_or("an address is not a text")?.trim(),
    };
    Ok(CitedStatement {
        text: without_addresses(text),
        urls: if url.is_empty() {
            Vec::new()
        } else {
            vec![url.to_owned()]
        },
    })
}

/// What a label counts as: everything but `supported` and `unknown` as not supported.
pub fn counted_as(label: &Value) -> PageVerdict {
    match label.as_str() {
        Some("supported") => PageVerdict::Supported,
        Some("unknown") => PageVerdict::NoContent,
        _ => PageVerdict::Unsupported,
    }
}

/// The address of a citation as a key of the file of pages: null is the page `null`.
pub fn address(url: &Value) -> String {
    match (url, python_json::number(url)) {
        (Value::String(text), None) => text.clone(),
        _ => text_of(url),
    }
}

/// The text without the marks of a block of code.
fn without_fences(text: &str) -> String {
    text.replace("```json", "").replace("```", "")
}

/// The text without the backslashes that JSON does not allow and the script knows: not those before `%`, `_` or `$`.
pub fn without_escapes(text: &str) -> String {
    let mut text = text.to_owned();
    for sign in [">", "<", "+", "~"] {
        text = text.replace(&format!("\\{sign}"), sign);
    }
    text
}

fn is_zero(value: &Value) -> bool {
    value == &Value::Bool(false) || python_json::number(value) == Some(0.0)
}

fn no_string_index() -> String {
    "string indices must be integers, not 'str'".to_owned()
}

fn not_iterable(value: &Value) -> String {
    format!("'{}' object is not iterable", python_type(value))
}

fn no_difference(type_name: &str, operator: &str) -> PythonException {
    PythonException::wrong_type(format!(
        "unsupported operand type(s) for {operator}: '{type_name}' and 'int'"
    ))
}

/// The type of a value that Python parsed.
fn python_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "NoneType",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
        // Numbers beyond the range of ours are texts that begin with NUL.
        Value::String(text) => match text.strip_prefix('\0') {
            Some(digits)
                if digits
                    .trim_start_matches('-')
                    .bytes()
                    .all(|c| c.is_ascii_digit()) =>
            {
                "int"
            }
            Some(number) if number.parse::<f64>().is_ok() => "float",
            _ => "str",
        },
    }
}

/// The message of Python's parser for the two faults that replies mostly have; else that of ours.
fn decode_message(fault: &PythonJsonFault, text: &str) -> String {
    let body = text.trim_start_matches([' ', '\t', '\n', '\r']);
    let start = text.len() - body.len();
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    match values.next() {
        Some(Ok(_)) => {
            let rest = &body[values.byte_offset()..];
            let rest = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            at_place("Extra data", text, text.len() - rest.len())
        }
        Some(Err(_)) if body.starts_with(['{', '[', '"']) => fault.to_string(),
        _ => at_place("Expecting value", text, start),
    }
}

/// A message with the place in Python's words.
fn at_place(what: &str, text: &str, at: usize) -> String {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let in_line = before.rsplit('\n').next().unwrap_or_default();
    let column = in_line.chars().count() + 1;
    let position = before.chars().count();
    format!("{what}: line {line} column {column} (char {position})")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn facts(reply: &str) -> Option<Vec<String>> {
        match extraction(reply) {
            FactExtraction::Citations(all) => Some(
                all.iter()
                    .map(|citation| citation["fact"].as_str().unwrap().to_owned())
                    .collect(),
            ),
            _ => None,
        }
    }

    #[test]
    fn a_second_reading_may_succeed_where_the_first_one_broke_an_escape() {
        // `\\>` is a valid escape; the first reading leaves `\>`, which is none, the second one `>`.
        assert_eq!(
            facts(r#"[{"fact": "a \\> b"}]"#),
            Some(vec!["a > b".to_owned()])
        );
        assert_eq!(facts(r#"[{"fact": "50\% b"}]"#), None);
        // The first reading leaves nothing, which the second one calls failed.
        assert_eq!(extraction("```json```"), FactExtraction::Failed);
        assert_eq!(extraction("{}"), FactExtraction::Citations(Vec::new()));
        assert_eq!(extraction("null"), FactExtraction::NotWritten);
    }

    #[test]
    fn kept_places_are_pythons() {
        let kept = |reply: &str| kept_statements(reply, 3);
        assert_eq!(kept("[1, 1]"), Ok(vec![0, 0]));
        assert_eq!(kept("[-1, -2]"), Ok(vec![1, 0]));
        assert_eq!(kept("[0.0]"), Ok(vec![0, 1, 2]));
        assert_eq!(
            kept("{\"a\": 1, \"b\": 1, \"c\": 1, \"d\": 1}"),
            Ok(vec![0, 1, 2])
        );
        assert_eq!(kept("null"), Ok(vec![0, 1, 2]));
        for (reply, name) in [
            ("[9]", "IndexError"),
            ("[-3]", "IndexError"),
            ("[1.0]", "TypeError"),
        ] {
            match kept(reply) {
                Err(FactListFault::Raised(raised)) => assert_eq!(raised.name, name, "{reply}"),
                other => panic!("{reply}: {other:?}"),
            }
        }
        let unreadable = Err(FactListFault::Unreadable(
            "Extra data: line 1 column 5 (char 4)".to_owned(),
        ));
        assert_eq!(kept("[1] and"), unreadable);
    }

    #[test]
    fn a_verdict_has_an_index_that_is_a_number() {
        let error = |reply: &str| validation(reply, 1).unwrap_err();
        assert_eq!(error("no"), "Expecting value: line 1 column 1 (char 0)");
        assert_eq!(error("\n é"), "Expecting value: line 2 column 2 (char 2)");
        assert_eq!(error("3"), "'int' object is not iterable");
        assert_eq!(
            error("[[1]]"),
            "list indices must be integers or slices, not str"
        );
        assert_eq!(error("[1.5]"), "'float' object is not subscriptable");
        assert_eq!(
            error("[{\"idx\": null}]"),
            "unsupported operand type(s) for -=: 'NoneType' and 'int'"
        );
        assert_eq!(error("{}"), "");
        let verdicts = validation("```json\n[{\"idx\": true, \"x\": 1}]```", 1);
        assert_eq!(verdicts, Ok(vec![json!({"idx": 0, "x": 1})]));
    }

    proptest! {
        #[test]
        fn no_reply_panics(reply in "([\\[\\]{},: ]|\"|```|\\\\|idx|fact|1|-9|0|NaN|true|é|\n){0,24}") {
            let _ = extraction(&reply);
            let _ = kept_statements(&reply, 2);
            let _ = validation(&reply, 2);
        }
    }
}

//! The elements of a JSON file, whatever its shape: a list, `{"data": [..]}`, or one object after the other.

use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{InputFault, Result};

/// What stands for a bare `NaN` after reading: the number -0.0, three bytes long like the word (`-0 `), so that places
/// stay, and never a number that a text field could hold.
const NAN_STANDS_AS: &str = "-0 ";

/// True for the value that a bare `NaN` was read as.
pub(super) fn is_nan(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number == 0.0 && number.is_sign_negative())
}

/// One element with the 1-based line it begins on.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) line: usize,
    pub(super) value: Value,
}

/// The elements of a list, of the list under `data`, or of a stream of objects (JSON lines). Python's bare `NaN` is
/// read, see [`is_nan`].
///
/// # Errors
/// Where the text is no such JSON, at its line.
pub(super) fn elements(text: &str, path: &Path) -> Result<Vec<Element>> {
    let text = without_bare_nan(text);
    let raw = raw_elements(&text, path)?;
    let mut found = Vec::with_capacity(raw.len());
    let (mut line, mut counted) = (1, 0);
    for raw in raw {
        // An element is a slice of `text`: its address tells its line.
        let offset = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len());
        line += text.as_bytes()[counted..offset].iter().filter(|byte| **byte == b'\n').count();
        counted = offset;
        let value = serde_json::from_str(raw.get()).map_err(|error| invalid_json(path, line - 1, &error))?;
        found.push(Element { line, value });
    }
    Ok(found)
}

fn raw_elements<'a>(text: &'a str, path: &Path) -> Result<Vec<&'a RawValue>> {
    let fault = |error: serde_json::Error| invalid_json(path, 0, &error);
    let trimmed = text.trim_start();
    if trimmed.is_empty() {
        return Ok(Vec::new());
    }
    if !trimmed.starts_with('{') {
        return Ok(serde_json::from_str(text).map_err(fault)?);
    }
    let stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let objects: Vec<&RawValue> = stream.collect::<Result<_, _>>().map_err(fault)?;
    match objects.as_slice() {
        [only] => Ok(list_under_data(only).unwrap_or(objects)),
        _ => Ok(objects),
    }
}

/// The list under `data` of an object that has one.
fn list_under_data(object: &RawValue) -> Option<Vec<&RawValue>> {
    #[derive(serde::Deserialize)]
    struct Wrapped<'a> {
        #[serde(borrow)]
        data: Vec<&'a RawValue>,
    }
    serde_json::from_str::<Wrapped<'_>>(object.get()).ok().map(|wrapped| wrapped.data)
}

/// The text with every `NaN` outside strings replaced, length and lines unchanged.
pub(super) fn without_bare_nan(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains("NaN") {
        return text.into();
    }
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut copied, mut in_string) = (0, 0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'N' if !in_string && text[at..].starts_with("NaN") => {
                out.push_str(&text[copied..at]);
                out.push_str(NAN_STANDS_AS);
                at += 2;
                copied = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    out.push_str(&text[copied..]);
    out.into()
}

/// What serde_json says, at the file's own line (`lines_before` those that it did not see).
fn invalid_json(path: &Path, lines_before: usize, error: &serde_json::Error) -> InputFault {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    InputFault::new(path, format!("invalid JSON at column {}: {message}", error.column()))
        .at_line(lines_before + error.line())
        .hint("expected a JSON list, {\"data\": [..]}, or one object per line")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(usize, String)> {
        let found = elements(text, Path::new("p.json")).unwrap();
        found.into_iter().map(|element| (element.line, element.value.to_string())).collect()
    }

    #[test]
    fn a_list_a_list_under_data_and_lines_hold_the_same_elements() {
        let expected = ["{\"a\":1}", "{\"a\":2}"];
        for text in ["[{\"a\":1},\n{\"a\":2}]", "{\"x\":0,\"data\":[{\"a\":1},\n{\"a\":2}]}", "{\"a\":1}\n{\"a\":2}\n"]
        {
            let found = read(text);
            assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2], "{text}");
            assert_eq!(found.into_iter().map(|(_, value)| value).collect::<Vec<_>>(), expected, "{text}");
        }
        assert_eq!(read(" \n"), []);
        assert_eq!(read("{\"a\":1}"), [(1, "{\"a\":1}".to_owned())]);
    }

    #[test]
    fn a_bare_nan_is_told_from_one_in_a_text_and_from_zero() {
        let found = elements("[NaN, \"NaN \\\" NaN\", 0, {\"t\": NaN}]", Path::new("p")).unwrap();
        assert!(is_nan(&found[0].value) && is_nan(&found[3].value["t"]) && !is_nan(&found[2].value));
        assert_eq!(found[1].value, "NaN \" NaN");
    }

    #[test]
    fn broken_json_is_told_with_its_line() {
        let error = elements("{\"a\": 1}\n{\"a\": }\n", Path::new("p.jsonl")).unwrap_err().to_string();
        assert!(error.starts_with("p.jsonl:2: invalid JSON at column 7: "), "{error}");
    }
}

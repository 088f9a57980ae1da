//! Reading text, JSON and JSONL files: every fault names the file, the line, the case and the field.
//!
//! A text is cut into raw values, each with its line (`elements`); tables become JSON lines first,
//! and a bare `NaN` a number that JSON has. A value is parsed into its type only by who needs it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use scholareval_core::domain::repeated_keys::{
    TWO_VALUES, TWO_VALUES_NAME, has_two_values, settled,
};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::{newlines, not_utf8, read_bytes};
use scholareval_core::text::names::list;

/// Lines per parallel task.
const TASK_LINES: usize = 256;

/// Replacement for a bare word in [`without_bare_nan`]: the number -0.0, and spaces so that columns stay.
const NAN_STANDS_AS: &str = "-0";

/// What Python writes for floats that JSON does not have.
const NAN_WORDS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// One JSON value of a file: a line of JSONL, or an element of a list.
#[derive(Debug, Clone, Copy)]
pub struct JsonLine<'a> {
    /// The file.
    pub path: &'a Path,
    /// 1-based line on which it begins.
    pub number: usize,
    /// Position among the values of the file, from 0.
    pub index: usize,
    /// Its text, trimmed.
    pub text: &'a str,
}

impl<'a> JsonLine<'a> {
    /// A fault of this line.
    pub fn fault(&self, what: impl Into<String>) -> InputFault {
        InputFault::new(self.path, what).at_line(self.number)
    }

    /// Parses a value that a user wrote: [`parse`](Self::parse), with whole numbers of any size in ids.
    ///
    /// # Errors
    /// As [`parse`](Self::parse); also when a key that is read occurs twice in its object with different values.
    pub fn read<T: DeserializeOwned>(&self, example: &str) -> Result<T, InputFault> {
        let text = &*settled(self.text);
        let value = JsonLine { text, ..*self }.parse(example)?;
        // A type whose fields may all be missing takes the object that stands for two values; it takes no flag.
        if text.contains(TWO_VALUES) {
            let text = &text.replace(TWO_VALUES, "true");
            let is_read = |fault: InputFault| {
                let field = fault.what.split(": ").next().unwrap_or_default();
                self.fault(format!("{field} has {TWO_VALUES_NAME}"))
            };
            JsonLine { text, ..*self }
                .parse::<T>(example)
                .map_err(is_read)?;
        }
        Ok(value)
    }

    /// Parses the value. `example` shows a valid one in messages.
    ///
    /// # Errors
    /// What is wrong and in which field; the case if the value has one.
    pub fn parse<T: Deserialize<'a>>(&self, example: &str) -> Result<T, InputFault> {
        let hint = format!("write one {example} per line");
        // Serde would accept a list's elements as fields.
        if self.text.starts_with('[') && serde_json::from_str::<Value>(self.text).is_ok() {
            return Err(self.fault("expected an object, found a list").hint(hint));
        }
        serde_json::from_str(self.text).map_err(|error| {
            if !error.is_data() {
                return self.invalid_json(&error, hint);
            }
            // The path costs time in parsing, so it is looked for only after a failure.
            let field = serde_path_to_error::deserialize::<_, T>(
                &mut serde_json::Deserializer::from_str(self.text),
            );
            let field = field
                .err()
                .map(|error| error.path().to_string())
                .unwrap_or_default();
            let fields: Map<String, Value> = serde_json::from_str(self.text).unwrap_or_default();
            let pointer = field.replace('[', ".").replace(']', "").replace('.', "/");
            let read = Value::Object(fields.clone());
            let what = match data_fault(&field, &error) {
                _ if read
                    .pointer(&format!("/{pointer}"))
                    .is_some_and(has_two_values) =>
                {
                    format!("{field} has {TWO_VALUES_NAME}")
                }
                what if what.ends_with(" is missing") && field == "." && !fields.is_empty() => {
                    format!(
                        "{what}; found {}",
                        list(fields.keys().map(String::as_str), 8)
                    )
                }
                what => what,
            };
            let fault = self.fault(what).hint(hint);
            match ["case_id", "claim_id", "id"]
                .iter()
                .find_map(|key| fields.get(*key))
            {
                Some(Value::String(id)) => fault.of_case(id),
                Some(Value::Number(id)) => fault.of_case(id.to_string()),
                _ => fault,
            }
        })
    }

    /// The fault of invalid JSON, with the line in the file.
    pub(super) fn invalid_json(
        &self,
        error: &serde_json::Error,
        hint: impl Into<String>,
    ) -> InputFault {
        let message = without_position(error);
        let fault = self.fault(format!(
            "invalid JSON at column {}: {message}",
            error.column()
        ));
        let fault = fault.at_line(self.number + error.line().saturating_sub(1));
        if message.contains("surrogate") || message.contains("hex escape") {
            fault.hint("half a character (an escape like \\ud800 without its other half): take it out of the text")
        } else if message.contains("recursion limit") {
            fault.hint("JSON may have 127 lists and objects within each other")
        } else {
            fault.hint(hint)
        }
    }
}

fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message
        .rsplit_once(" at line ")
        .map_or(message.as_str(), |(what, _)| what)
        .to_owned()
}

/// What is wrong in the value of `field` (`.` for the whole value).
fn data_fault(field: &str, error: &serde_json::Error) -> String {
    let what = without_position(error);
    match (
        what.strip_prefix("missing field `")
            .and_then(|name| name.strip_suffix('`')),
        field,
    ) {
        (Some(name), "." | "") => format!("{name} is missing"),
        (Some(name), within) => format!("{within}.{name} is missing"),
        (None, "." | "") => what,
        (None, field) => format!("{field}: {what}"),
    }
}

/// Converts a JSON value to a type.
///
/// # Errors
/// What is wrong and in which field.
pub(super) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value)
        .map_err(|error| data_fault(&error.path().to_string(), error.inner()))
}

/// `expected a string, found 7`; a long value is truncated.
pub(super) fn expected(what: &str, found: &Value) -> String {
    const CHARS: usize = 30;
    let shown = match found {
        Value::Object(_) if has_two_values(found) => TWO_VALUES_NAME.to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other if is_nan(other) => "NaN".to_owned(),
        other => match other.to_string() {
            long if long.chars().count() > CHARS => {
                long.chars().take(CHARS).chain("..".chars()).collect()
            }
            short => short,
        },
    };
    format!("expected {what}, found {shown}")
}

/// An id, written as a string or a number.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Id(pub(super) String);

impl TryFrom<Value> for Id {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Ok(Self(text)),
            Value::Number(number) => Ok(Self(number.to_string())),
            other => Err(expected("an id", &other)),
        }
    }
}

/// A number, a string with a finite one, or null; a bare `NaN` is NaN.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Number(pub(super) Option<f64>);

impl TryFrom<Value> for Number {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let number = match &value {
            Value::Null => return Ok(Self(None)),
            other if is_nan(other) => Some(f64::NAN),
            Value::String(text) => text
                .trim()
                .parse()
                .ok()
                .filter(|number: &f64| number.is_finite()),
            other => other.as_f64(),
        };
        number
            .map(|number| Self(Some(number)))
            .ok_or_else(|| expected("a number", &value))
    }
}

/// The values of a text: elements of a list, of the list under `data`, of an object whose keys are the `id` of each value, or JSON
/// lines.
///
/// # Errors
/// Invalid JSON, with its line. A broken line among valid JSONL lines fails only when it is parsed.
pub(super) fn elements<'a>(text: &'a str, path: &'a Path) -> Result<Vec<JsonLine<'a>>> {
    // A truncated value ends on the line where it begins.
    let text = text.trim_end();
    // Raw values: each is parsed later into its type, with the line of the value in the message, and without
    // a tree of the whole file in memory.
    let values: Result<Vec<&RawValue>, _> = match text.trim_start().chars().next() {
        Some('[') => serde_json::from_str(text),
        _ => serde_json::Deserializer::from_str(text)
            .into_iter()
            .collect(),
    };
    let values = match values {
        Ok(values) => match values.as_slice() {
            [only] => list_under_data(only)
                .or_else(|| objects_by_id(only))
                .unwrap_or(values),
            _ => values,
        },
        // One broken line of many: line by line, the others are still checked and all faults named
        // together.
        Err(_) if is_broken_jsonl(text) => return Ok(lines(text, path)),
        Err(error) => {
            let whole = JsonLine {
                path,
                number: 1,
                index: 0,
                text,
            };
            // A file with that ending which gets here is not read as CSV.
            let csv = if is_csv(path) {
                "this file cannot be CSV"
            } else {
                "CSV files must end in .csv"
            };
            let hint =
                format!("expected a JSON list, {{\"data\": [..]}}, or one object per line; {csv}");
            return Err(whole.invalid_json(&error, hint).into());
        }
    };
    let mut elements = Vec::with_capacity(values.len());
    let mut number = 1;
    let mut counted = 0;
    for (index, raw) in values.into_iter().enumerate() {
        // A value is a slice of `text`: its address gives its line.
        let offset = (raw.get().as_ptr() as usize)
            .saturating_sub(text.as_ptr() as usize)
            .min(text.len());
        number += newlines(&text.as_bytes()[counted..offset]);
        counted = offset;
        elements.push(JsonLine {
            path,
            number,
            index,
            text: raw.get(),
        });
    }
    Ok(elements)
}

/// The text of a file of JSON; that of a CSV file as [`csv_as_jsonl`].
///
/// # Errors
/// As [`csv_as_jsonl`].
pub(super) fn rows_as_jsonl<'a>(text: &'a str, path: &Path) -> Result<Cow<'a, str>, InputFault> {
    if is_csv(path) {
        csv_as_jsonl(text, path).map(Cow::Owned)
    } else {
        Ok(Cow::Borrowed(text))
    }
}

/// The separator of cells, and its name: of comma, semicolon (spreadsheets in many languages) and tab, what splits the
/// header into most cells.
fn separator(text: &str) -> (u8, &'static str) {
    let mut best = (b',', "comma");
    // The header is parsed with each separator and not merely searched, as quoted names may hold
    // any of them.
    let mut most = header_cells(text, b',');
    for other in [(b';', "semicolon"), (b'\t', "tab")] {
        let cells = header_cells(text, other.0);
        if cells > most {
            (best, most) = (other, cells);
        }
    }
    best
}

/// The number of cells of the first row, if this byte separates them.
fn header_cells(text: &str, separator: u8) -> usize {
    let mut record = csv::StringRecord::new();
    let read = csv_reader(text, separator).read_record(&mut record);
    if read.is_ok() { record.len() } else { 0 }
}

fn csv_reader(text: &str, separator: u8) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .from_reader(text.as_bytes())
}

/// The rows of CSV as lines of JSON objects with texts, each on the line where its row begins; the header names the
/// fields.
///
/// # Errors
/// Rows of another length than the header, equal names, and quotes that are not closed or not doubled, such as those behind
/// a backslash: the parser would take them for the end of a cell and go on with the rest of it.
pub(super) fn csv_as_jsonl(text: &str, path: &Path) -> Result<String, InputFault> {
    let (separator, separator_name) = separator(text);
    let mut reader = csv_reader(text, separator);
    let mut names: Vec<String> = Vec::new();
    let mut record = csv::StringRecord::new();
    let mut jsonl = String::new();
    let mut written = 1;
    while reader
        .read_record(&mut record)
        .map_err(|error| InputFault::new(path, format!("invalid CSV: {error}")))?
    {
        let end = reader.position().byte() as usize;
        let (row, line) = row_and_line(text, &record, end);
        // An unclosed quote makes the parser swallow the following rows into one cell, without an
        // error.
        let quotes = if row.matches('"').count() % 2 == 1 {
            Some("odd number of quotes in the row")
        } else {
            (!is_of_cells(row, &record, separator))
                .then_some("a quote in a quoted cell is not doubled")
        };
        if let Some(what) = quotes {
            return Err(InputFault::new(path, what)
                .at_line(line)
                .hint("close each quoted cell, and double the quotes in it: \"a 5\"\" pipe\""));
        }
        if names.is_empty() {
            names = record.iter().map(|name| name.trim().to_owned()).collect();
            if let Some((column, name)) = repeated_name(&names) {
                let what = format!("column {column} is called {name:?}, as an earlier one is");
                return Err(InputFault::new(path, what)
                    .at_line(line)
                    .hint("give every column its own name"));
            }
            continue;
        }
        // The parser is lenient about lengths so that this message, which names the line, is given
        // in place of the parser's.
        if record.len() != names.len() {
            let what = format!(
                "expected {} cells as in the header, found {}",
                names.len(),
                record.len()
            );
            return Err(InputFault::new(path, what).at_line(line).hint(format!(
                "put quotes around a cell that holds a {separator_name}, and close every quote"
            )));
        }
        let fields: Map<String, Value> = names
            .iter()
            .cloned()
            .zip(record.iter().map(Value::from))
            .collect();
        // Blank lines stand for the further lines of a cell with line breaks, so that faults name
        // the line in the table.
        jsonl.push_str(&"\n".repeat(line - written));
        jsonl.push_str(&Value::Object(fields).to_string());
        written = line;
    }
    if jsonl.is_empty() && !names.is_empty() {
        return Err(InputFault::new(path, "the table has a header and no rows")
            .hint("add a row below the header"));
    }
    Ok(jsonl)
}

/// The text of a record that ends there, and the number of its line.
fn row_and_line<'a>(text: &'a str, record: &csv::StringRecord, end: usize) -> (&'a str, usize) {
    let (start, line) = match record.position() {
        Some(start) => (start.byte() as usize, start.line() as usize),
        None => (0, 1),
    };
    let row = text.get(start..end).unwrap_or_default();
    // A record starts before the line feed of a CRLF and before empty lines.
    let before = row.len() - row.trim_start_matches(['\r', '\n']).len();
    (row, line + newlines(&row.as_bytes()[..before]))
}

/// Whether the row is its cells, each as it is or in quotes with those in it doubled: the parser takes text behind closing quotes
/// for a part of the cell.
fn is_of_cells(row: &str, record: &csv::StringRecord, separator: u8) -> bool {
    let mut rest = row.trim_start_matches(['\r', '\n']);
    record.iter().all(|cell| {
        let quoted = format!("\"{}\"", cell.replace('"', "\"\""));
        let behind = rest.strip_prefix(&quoted).or(rest.strip_prefix(cell));
        rest = behind.unwrap_or_default();
        rest = rest.strip_prefix(char::from(separator)).unwrap_or(rest);
        behind.is_some()
    })
}

/// The first column, from 1, that is called as an earlier one.
fn repeated_name(names: &[String]) -> Option<(usize, &str)> {
    for (index, name) in names.iter().enumerate() {
        if names[..index].contains(name) {
            return Some((index + 1, name));
        }
    }
    None
}

/// Whether a file is CSV by its name.
pub(super) fn is_csv(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
}

/// The list under `data`, if the object has one.
fn list_under_data(object: &RawValue) -> Option<Vec<&RawValue>> {
    #[derive(Deserialize)]
    struct Wrapped<'a> {
        #[serde(borrow)]
        data: Vec<&'a RawValue>,
    }
    serde_json::from_str::<Wrapped<'_>>(object.get())
        .ok()
        .map(|wrapped| wrapped.data)
}

/// The values of an object whose keys are the `id` of each.
fn objects_by_id(object: &RawValue) -> Option<Vec<&RawValue>> {
    #[derive(Deserialize)]
    struct WithId {
        id: String,
    }
    let values: HashMap<String, &RawValue> = serde_json::from_str(object.get()).ok()?;
    // A map has one value for a key that is there twice.
    let settled = settled(object.get());
    let checked: HashMap<String, &RawValue> = serde_json::from_str(&settled).ok()?;
    let has_key = |(key, value): (&String, &&RawValue)| {
        serde_json::from_str::<WithId>(value.get()).is_ok_and(|value| value.id == *key)
    };
    if values.is_empty() || !checked.iter().all(has_key) {
        return None;
    }
    let mut values: Vec<&RawValue> = values.into_values().collect();
    // As in the file.
    values.sort_by_key(|value| value.get().as_ptr() as usize);
    Some(values)
}

/// Whether any line is a JSON object.
fn is_broken_jsonl(text: &str) -> bool {
    text.lines()
        .any(|line| serde_json::from_str::<Map<String, Value>>(line).is_ok())
}

fn lines<'a>(text: &'a str, path: &'a Path) -> Vec<JsonLine<'a>> {
    let lines = text
        .split('\n')
        .enumerate()
        .map(|(at, line)| (at + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty()).enumerate();
    lines
        .map(|(index, (number, text))| JsonLine {
            path,
            number,
            index,
            text,
        })
        .collect()
}

/// Whether the value replaces a bare `NaN` or infinity.
pub(super) fn is_nan(value: &Value) -> bool {
    value
        .as_f64()
        .is_some_and(|number| number == 0.0 && number.is_sign_negative())
}

/// Replaces every bare `NaN`, `Infinity` and `-Infinity` (written by Python) outside strings by a number that [`is_nan`]
/// recognizes; length and lines stay. Also returns the line of the first one.
pub(super) fn without_bare_nan(text: &str) -> (Cow<'_, str>, Option<usize>) {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return (text.into(), None);
    }
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut copied, mut in_string, mut first) = (0, 0, false, None);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'N' | b'I' | b'-' if !in_string => {
                let word = NAN_WORDS.iter().find(|word| text[at..].starts_with(**word));
                if let Some(word) = word {
                    first = first.or_else(|| Some(1 + newlines(&bytes[..at])));
                    out.push_str(&text[copied..at]);
                    out.push_str(&format!("{NAN_STANDS_AS:0$}", word.len()));
                    at += word.len() - 1;
                    copied = at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    out.push_str(&text[copied..]);
    (out.into(), first)
}

/// All results, or the faults of all failures.
///
/// # Errors
/// All faults, in order; the first error that is not an input fault.
pub fn all<T>(parts: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let (mut good, mut faults) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Ok(part) => good.push(part),
            Err(Error::Input(more)) => faults.extend(more),
            Err(other) => return Err(other),
        }
    }
    no_faults(faults).map(|()| good)
}

/// Faults as an error, if there are any.
///
/// # Errors
/// [`Error::Input`] with all of them.
pub fn no_faults(faults: Vec<InputFault>) -> Result<()> {
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Error::Input(faults))
    }
}

/// Parses every non-blank line of a file, in parallel.
///
/// # Errors
/// The faults of all lines in file order, or why the file cannot be read.
pub fn read_jsonl<T: Send>(
    path: &Path,
    read: impl Fn(&JsonLine<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    parse_jsonl(&read_bytes(path)?.0, path, read)
}

/// [`read_jsonl`] for the bytes of `path`.
///
/// # Errors
/// The faults of all lines in file order.
pub fn parse_jsonl<T: Send>(
    bytes: &[u8],
    path: &Path,
    read: impl Fn(&JsonLine<'_>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let numbered = bytes
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .enumerate();
    let lines: Vec<(usize, &[u8])> = numbered.filter(|(_, line)| !line.is_empty()).collect();
    let read: Vec<Result<T>> = lines
        .par_iter()
        .enumerate()
        .with_min_len(TASK_LINES)
        .map(|(index, (number, bytes))| {
            let number = number + 1;
            let text = str::from_utf8(bytes)
                .map_err(|error| not_utf8(bytes, error.valid_up_to(), path, number))?;
            read(&JsonLine {
                path,
                number,
                index,
                text,
            })
        })
        .collect();
    all(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Item {
        id: u32,
        name: String,
    }

    fn read(text: &str) -> Result<Vec<(usize, Item)>> {
        parse_jsonl(text.as_bytes(), Path::new("f"), |line| {
            let item = line.parse("{\"id\": 1, \"name\": \"a\"}")?;
            Ok((line.number, item))
        })
    }

    #[test]
    fn blank_lines_count_as_lines_and_every_fault_is_reported_in_order() {
        let item = |id, name: &str| Item {
            id,
            name: name.to_owned(),
        };
        let text = "\n{\"id\": 1, \"name\": \"a\"}\r\n  \n{\"name\": \"b\", \"id\": 2}";
        assert_eq!(read(text).unwrap(), [(2, item(1, "a")), (4, item(2, "b"))]);
        let text = "{\"id\": 7}\n{\"id\": \"x\", \"name\": \"\"}\n{\n[]";
        let faults = read(text).unwrap_err().to_string();
        let faults: Vec<&str> = faults.lines().collect();
        assert_eq!(
            faults[0],
            "f:1 (case 7): name is missing; found id; write one {\"id\": 1, \"name\": \"a\"} per line"
        );
        assert!(
            faults[1].starts_with(
                "f:2 (case x): id: invalid type: string \"x\", expected u32; write one"
            ),
            "{faults:?}"
        );
        assert!(
            faults[2].starts_with("f:3: invalid JSON at column 1: EOF while parsing"),
            "{faults:?}"
        );
        assert!(faults[3].starts_with("f:4: "), "{faults:?}");
    }

    #[test]
    fn one_thread_and_many_read_the_same() {
        let text: String = (0..2_000)
            .map(|id| format!("{{\"id\": {id}, \"name\": \"{}\"}}\n", id % 50))
            .collect();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| read(&text).unwrap())
        };
        assert_eq!(on(1), on(4));
        assert!(
            on(4)
                .iter()
                .enumerate()
                .all(|(at, (line, _))| *line == at + 1)
        );
    }

    #[test]
    fn a_list_a_list_under_data_and_lines_hold_the_same_elements() {
        let of = |text| {
            let lines = elements(text, Path::new("p.json")).unwrap();
            lines
                .into_iter()
                .map(|line| (line.number, line.text.to_owned()))
                .collect::<Vec<_>>()
        };
        let expected = [(1, "{\"a\":1}".to_owned()), (2, "{\"a\":2}".to_owned())];
        for text in [
            "[{\"a\":1},\n{\"a\":2}]",
            "{\"x\":0,\"data\":[{\"a\":1},\n{\"a\":2}]}",
            "{\"a\":1}\n{\"a\":2}\n",
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
        assert_eq!(of(" \n"), []);
        assert_eq!(of("{\"a\":\n1}"), [(1, "{\"a\":\n1}".to_owned())]);
    }

    #[test]
    fn an_object_whose_keys_are_the_ids_of_its_values_is_their_list() {
        let of = |text| {
            let lines = elements(text, Path::new("p.json")).unwrap().into_iter();
            lines
                .map(|line| (line.number, line.text.to_owned()))
                .collect::<Vec<_>>()
        };
        let one = "{\"id\": \"b\", \"n\": 1}";
        let two = "{\"id\": \"a\"}";
        let keyed = format!("{{\n\"b\": {one},\n\"a\": {two}\n}}");
        assert_eq!(of(&keyed), [(2, one.to_owned()), (3, two.to_owned())]);
        // Another id, or none: one object.
        let other = format!("{{\"c\": {one}}}");
        assert_eq!(of(&other), [(1, other.clone())]);
        assert_eq!(of("{}"), [(1, "{}".to_owned())]);
        let twice = format!("{{\"b\": {one}, \"b\": {{\"id\": \"b\"}}}}");
        assert_eq!(of(&twice).len(), 1);
        assert_eq!(of(&twice)[0].1, twice);
    }

    #[test]
    fn a_bare_nan_differs_from_one_in_a_text_and_from_zero() {
        let (text, line) = without_bare_nan("[\"NaN \\\" NaN\", 0,\n NaN, {\"t\": NaN}]");
        assert_eq!(line, Some(2));
        let values: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert!(is_nan(&values[2]) && is_nan(&values[3]["t"]) && !is_nan(&values[1]));
        assert_eq!(values[0], "NaN \" NaN");
    }

    #[test]
    fn broken_json_is_reported_with_its_line() {
        let fault = |text| {
            elements(text, Path::new("p.jsonl"))
                .unwrap_err()
                .to_string()
        };
        assert!(
            fault("[{\"a\": 1},\n{\"a\": }]").starts_with("p.jsonl:2: invalid JSON at column 7: ")
        );
        assert!(fault("no JSON").starts_with("p.jsonl:1: invalid JSON at column "));
        // where other lines are good the broken one is reported when it is parsed
        let text = "{\"a\": 1}\n\n{\"a\": }\n{\"a\": 2}";
        let lines = elements(text, Path::new("p.jsonl")).unwrap();
        assert_eq!(
            lines.iter().map(|line| line.number).collect::<Vec<_>>(),
            [1, 3, 4]
        );
        let fault = lines[1].parse::<Value>("x").unwrap_err().to_string();
        assert!(
            fault.starts_with("p.jsonl:3: invalid JSON at column 7: expected value"),
            "{fault}"
        );
        let deep = "{\"a\":".repeat(200) + "1" + &"}".repeat(200);
        let list = format!("[1,\n{deep}]");
        let lines = elements(&list, Path::new("p.json")).unwrap();
        let fault = lines[1].parse::<Value>("x").unwrap_err().to_string();
        assert!(
            fault.starts_with("p.json:2: invalid JSON at column 636: recursion limit exceeded"),
            "{fault}"
        );
    }

    #[test]
    fn infinities_are_read_as_nan_is() {
        let (text, line) = without_bare_nan("[\"-Infinity\", -1,\n -Infinity, {\"t\": Infinity}]");
        assert_eq!(line, Some(2));
        let values: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert!(is_nan(&values[2]) && is_nan(&values[3]["t"]) && !is_nan(&values[1]));
        assert_eq!(values[0], "-Infinity");
    }

    #[test]
    fn a_key_with_two_values_is_a_fault_where_it_is_read() {
        let of = |text: &'static str| {
            let path = Path::new("f");
            let line = JsonLine {
                path,
                number: 3,
                index: 0,
                text,
            };
            line.read::<Item>("x").map_err(|fault| fault.to_string())
        };
        let item = Item {
            id: 1,
            name: "a".to_owned(),
        };
        let unread = r#"{"id": 1, "more": 1, "name": "a", "more": 2, "name": "a"}"#;
        assert_eq!(of(unread), Ok(item));
        let fault = of(r#"{"id": 1, "name": "a", "name": "b"}"#).unwrap_err();
        assert!(
            fault.starts_with("f:3 (case 1): name has two different values"),
            "{fault}"
        );
    }

    #[test]
    fn quotes_behind_backslashes_are_a_fault_with_their_line() {
        let read = |text| csv_as_jsonl(text, Path::new("t.csv")).map_err(|fault| fault.to_string());
        let fault = read("a,b\n1,2\n\"x \\\"y\\\" z\",3\n").unwrap_err();
        assert!(
            fault.starts_with("t.csv:3: a quote in a quoted cell is not doubled; close each"),
            "{fault}"
        );
        // A backslash at the end of a cell, and one before doubled quotes, are characters.
        assert_eq!(
            read("a,b\n\"C:\\\",\"say \\\"\"hi\"\"\"\r\n")
                .unwrap()
                .trim(),
            r#"{"a":"C:\\","b":"say \\\"hi\""}"#
        );
        assert!(read("a;b\n\"1\";\"2\"").is_ok() && read("a,b\n5 \"x\" y,2").is_ok());
    }
}

//! What a JSON value of a source is: the outputs of scrapers and benchmarks. A new one is a file with its [`RecordForm`] and
//! a line in [`RECORDS`].

mod fact;
mod firecrawl;
mod inspect_log;
mod jina;
mod plain;
mod tavily;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;

use super::page::moment;
use super::sink::{Sink, SourcePlace};
pub(super) use inspect_log::read_inspect_sample;
use scholareval_core::error::Result;
use scholareval_core::text::names::list;

/// A form of record.
struct RecordForm {
    fits: fn(&Fields<'_>) -> bool,
    read: fn(&Fields<'_>, &SourcePlace, &mut Sink<'_>) -> Result<()>,
}

/// Every form; the first that fits is taken, the one with the fewest demands is last.
static RECORDS: [&RecordForm; 6] = [
    &inspect_log::INSPECT_LOG,
    &fact::FACT,
    &tavily::TAVILY,
    &firecrawl::FIRECRAWL,
    &jina::JINA,
    &plain::PLAIN,
];

/// Values within values that are looked into: a list under `data` holds records.
const DEPTH: usize = 2;

/// Reads a value.
///
/// # Errors
/// When its pages cannot be written, or too many values are broken.
pub(super) fn read(json: &str, place: &SourcePlace, sink: &mut Sink<'_>) -> Result<()> {
    read_at(json, place, sink, 0)
}

fn read_at(json: &str, place: &SourcePlace, sink: &mut Sink<'_>, depth: usize) -> Result<()> {
    let fields = match Fields::parse(json) {
        Ok(fields) => fields,
        Err(what) => return sink.broken(place.fault(what)),
    };
    if let Some(form) = RECORDS.into_iter().find(|form| (form.fits)(&fields)) {
        return (form.read)(&fields, place, sink);
    }
    let within = fields.list("data");
    if !within.is_empty() && depth < DEPTH {
        for value in within {
            read_at(value.get(), place, sink, depth + 1)?;
        }
        return Ok(());
    }
    let names: Vec<&str> = fields.0.keys().map(String::as_str).collect();
    let names_shown = match names.len() {
        0 => "nothing".to_owned(),
        _ => list(names, 8),
    };
    let fault = place.fault(format!("no page: found {names_shown}"));
    sink.broken(fault.hint("write one {\"url\": .., \"text\": ..} per line"))
}

/// The members of an object, each still as JSON: a page of 50 MB is not copied to find its address.
struct Fields<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Fields<'a> {
    fn parse(json: &'a str) -> Result<Self, String> {
        serde_json::from_str(json)
            .map(Self)
            .map_err(|error| format!("invalid JSON: {error}"))
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A string; `None` for another value.
    fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(|value| string(value))
    }

    /// The first of these that is a string which is not blank.
    fn first_text(&self, names: &[&str]) -> Option<String> {
        let mut texts = names.iter().filter_map(|name| self.text(name));
        texts.find(|text| !text.trim().is_empty())
    }

    /// A status of HTTP: a number (`403.0` in tables), or a text with one.
    fn status(&self, names: &[&str]) -> Option<u16> {
        names.iter().find_map(|name| {
            let text = self.scalar(name)?;
            text.split_whitespace().find_map(|word| {
                let number: f64 = word.parse().ok()?;
                let is_status = (100.0..600.0).contains(&number) && number.fract() == 0.0;
                is_status.then_some(number as u16)
            })
        })
    }

    /// A date; `None` if there is none.
    fn moment(&self, name: &str) -> Result<Option<DateTime<Utc>>, String> {
        let text = self.scalar(name).unwrap_or_default();
        if text.trim().is_empty() || !self.is_set(name) {
            return Ok(None);
        }
        let moment = moment(&text).map(Some);
        moment.ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            format!(
                "{name} {} is not a date; write it as 2026-10-01 or 2026-10-01T12:00:00Z",
                shown.escape_debug()
            )
        })
    }

    /// The text of a string, or the JSON of another value.
    fn scalar(&self, name: &str) -> Option<String> {
        let value = self.0.get(name)?;
        Some(string(value).unwrap_or_else(|| value.get().to_owned()))
    }

    fn object(&self, name: &str) -> Option<Fields<'a>> {
        Fields::parse(self.0.get(name)?.get()).ok()
    }

    /// The elements of a list; none for another value.
    fn list(&self, name: &str) -> Vec<&'a RawValue> {
        let value = self.0.get(name).map_or("", |value| value.get());
        serde_json::from_str(value).unwrap_or_default()
    }

    /// Whether there is a value that says something: not null, false or empty.
    fn is_set(&self, name: &str) -> bool {
        let value = self.0.get(name).map_or("null", |value| value.get());
        !matches!(value, "null" | "false" | "\"\"" | "[]" | "{}")
    }

    /// The message of an error, as a text or within an object.
    fn error(&self, name: &str) -> Option<String> {
        if !self.is_set(name) {
            return None;
        }
        let within = || {
            self.object(name)?
                .first_text(&["message", "detail", "error", "type"])
        };
        let message = self.text(name).or_else(within);
        Some(message.unwrap_or_else(|| "the fetch failed".to_owned()))
    }
}

/// The text of a JSON string; `None` for another value.
fn string(value: &RawValue) -> Option<String> {
    let json = value.get();
    if !json.starts_with('"') {
        return None;
    }
    let parsed = serde_json::from_str(json);
    parsed.or_else(|_| serde_json::from_str(&mended(json))).ok()
}

/// The JSON with U+FFFD in place of half a character (`\ud83d` without its other half): scrapers in Python cut texts
/// anywhere, and Python writes such halves.
fn mended(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let unit = unit_at(rest);
        let is_pair = matches!(unit, Some(0xd800..0xdc00))
            && rest
                .get(6..)
                .and_then(unit_at)
                .is_some_and(|next| (0xdc00..0xe000).contains(&next));
        let used = if is_pair {
            out.push_str(&rest[..12]);
            12
        } else if matches!(unit, Some(0xd800..0xe000)) {
            out.push_str("\\ufffd");
            6
        } else {
            let next = rest[1..].chars().next().map_or(0, char::len_utf8);
            out.push_str(&rest[..1 + next]);
            1 + next
        };
        rest = &rest[used..];
    }
    out.push_str(rest);
    out
}

/// The number of an escape `\u1234` with which a text begins.
fn unit_at(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_is_mended_and_whole_ones_stay() {
        let text = |json: &str| Fields::parse(json).unwrap().text("t");
        assert_eq!(
            text(r#"{"t": "a\ud83d b\udc00\\ud83d"}"#).unwrap(),
            "a\u{fffd} b\u{fffd}\\ud83d"
        );
        assert_eq!(
            text(r#"{"t": "\ud83d\ude00 \ud83d"}"#).unwrap(),
            "😀 \u{fffd}"
        );
        assert_eq!(text(r#"{"t": 1}"#), None);
    }

    #[test]
    fn statuses_are_numbers_of_every_form() {
        let status = |json: &str| {
            let json = format!("{{\"status\": {json}}}");
            Fields::parse(&json).unwrap().status(&["status"])
        };
        for json in [
            "403",
            "403.0",
            "4.03e2",
            "\"403\"",
            "\" 403.0 \"",
            "\"403 Forbidden\"",
            "\"HTTP/1.1 403\"",
        ] {
            assert_eq!(status(json), Some(403), "{json}");
        }
        for json in [
            "null", "0", "-1", "403.5", "1000", "true", "\"ok\"", "[]", "\"NaN\"",
        ] {
            assert_eq!(status(json), None, "{json}");
        }
    }

    #[test]
    fn a_date_is_read_or_a_fault_and_never_left_out() {
        let date = |json: &str| {
            let json = format!("{{\"at\": {json}}}");
            Fields::parse(&json).unwrap().moment("at")
        };
        let noon = moment("2026-10-01T12:00:00Z");
        for json in [
            "\"2026-10-01T12:00:00Z\"",
            "\"2026-10-01 12:00\"",
            "1790856000",
            "1790856000.5",
            "\"1790856000\"",
        ] {
            assert_eq!(date(json), Ok(noon), "{json}");
        }
        for json in ["null", "\"\"", "\" \""] {
            assert_eq!(date(json), Ok(None), "{json}");
        }
        for json in [
            "\"2026-10-1\"",
            "\"yesterday\"",
            "2026",
            "{\"day\": 1}",
            "true",
        ] {
            assert!(date(json).is_err(), "{json}");
        }
        assert_eq!(Fields::parse("{}").unwrap().moment("at"), Ok(None));
    }

    #[test]
    fn errors_are_texts_or_objects_and_false_is_none() {
        let error = |json: &str| Fields::parse(json).unwrap().error("error");
        assert_eq!(error(r#"{"error": "timed out"}"#).unwrap(), "timed out");
        assert_eq!(
            error(r#"{"error": {"type": "timeout", "message": "timed out"}}"#).unwrap(),
            "timed out"
        );
        assert_eq!(error(r#"{"error": true}"#).unwrap(), "the fetch failed");
        for json in [
            r#"{"error": null}"#,
            r#"{"error": ""}"#,
            r#"{"error": false}"#,
            "{}",
        ] {
            assert_eq!(error(json), None);
        }
    }
}

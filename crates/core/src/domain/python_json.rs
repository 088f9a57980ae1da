//! Parses JSON as Python's `json.loads` does.
//!
//! Replies are parsed as in the reference, in both modes: RFC 8259 plus `NaN`, `Infinity` and `-Infinity`, numbers of
//! any size, lone surrogates in escapes, and the last of equal keys, where default mode has no value if
//! they differ. `serde_json` parses; a number beyond its range is a string that begins with NUL, which [`number`] reads.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::repeated_keys::{TWO_VALUES_NAME, has_two_values, settled_with};

/// CPython's `sys.int_info.default_max_str_digits` (since 3.11).
pub(crate) const MAX_INT_DIGITS: usize = 4300;

/// Why a text could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PythonJsonFault {
    /// `json.JSONDecodeError`.
    #[error("{0}")]
    Decode(String),
    /// Another exception: an integer of more than `MAX_INT_DIGITS` digits, or nesting beyond `serde_json`'s limit of
    /// 127 (CPython's is about 990).
    #[error("a number with too many digits, or JSON nested too deep")]
    Limit,
}

/// Parses `text` as one JSON value, surrounded by white space only.
pub fn parse(text: &str) -> Result<Value, PythonJsonFault> {
    parse_prepared(text, |text| text.into())
}

/// [`parse`], but a key that occurs twice in an object with different values has one that no reader takes.
pub(crate) fn parse_distinct(text: &str) -> Result<Value, PythonJsonFault> {
    parse_prepared(text, |text| settled_with(text, "\\u0000"))
}

fn parse_prepared(text: &str, prepare: fn(&str) -> Cow<'_, str>) -> Result<Value, PythonJsonFault> {
    serde_json::from_str(&prepare(text))
        // Rewritten only where the plain parser fails: nearly all replies are standard JSON.
        .or_else(|_| serde_json::from_str(&prepare(&standard(text))))
        .map_err(|error| {
            let message = error.to_string();
            // The crate's error kinds do not distinguish these from other syntax errors.
            let is_limit = ["recursion limit", "number out of range"]
                .iter()
                .any(|limit| message.starts_with(limit));
            if is_limit {
                PythonJsonFault::Limit
            } else {
                PythonJsonFault::Decode(message)
            }
        })
}

/// The text from the first `{` to the last `}`.
pub(crate) fn outermost_braces(text: &str) -> Option<&str> {
    text.get(text.find('{')?..=text.rfind('}')?)
}

/// The value as a number; infinite beyond the range of floats.
pub fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.strip_prefix('\0')?.parse().ok(),
        _ => None,
    }
}

/// Python's `bool(value)`. NaN is truthy: it is unequal to zero.
pub(crate) fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// The type, for messages: `a string`, `an object`.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        _ if number(value).is_some() => "a number",
        Value::Number(_) | Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) if has_two_values(value) => TWO_VALUES_NAME,
        Value::Object(_) => "an object",
    }
}

/// The text with strings for the numbers that `serde_json` rejects, and U+FFFD for escaped lone surrogates, which UTF-8
/// cannot represent; that changes neither emptiness nor any key in use.
fn standard(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut in_string) = (text, false);
    while let Some(c) = rest.chars().next() {
        let is_escape = in_string && c == '\\';
        let surrogates = if is_escape { surrogates(rest) } else { 0 };
        let length = match surrogates {
            // An escaped quote does not end the string.
            0 if is_escape => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            0 if !in_string && is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            0 => c.len_utf8(),
            units => units * "\\ud800".len(),
        };
        let (part, after) = rest.split_at(length);
        in_string ^= c == '"';
        if surrogates == 1 {
            out.push(char::REPLACEMENT_CHARACTER);
        } else if !in_string && is_beyond_range(part) {
            out.push_str(&format!("\"\\u0000{part}\""));
        } else {
            out.push_str(part);
        }
        rest = after;
    }
    out
}

/// Number of surrogates escaped at the start of `text`: 2 for a pair, 1 for a lone one.
fn surrogates(text: &str) -> usize {
    let unit = |text: &str| u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    match unit(text) {
        Some(0xd800..0xdc00) if matches!(unit(&text["\\ud800".len()..]), Some(0xdc00..0xe000)) => 2,
        Some(0xd800..0xe000) => 1,
        _ => 0,
    }
}

/// Whether Python parses this word as a number and `serde_json` does not.
fn is_beyond_range(word: &str) -> bool {
    let is_integer = !word.contains(['.', 'e', 'E']);
    let is_parsed = !is_integer || word.trim_start_matches('-').len() <= MAX_INT_DIGITS;
    // serde_json only checks the grammar of a number that it skips.
    let is_number = serde_json::from_str::<IgnoredAny>(word).is_ok();
    let is_infinite = is_number && is_parsed && word.parse().is_ok_and(f64::is_infinite);
    is_infinite || matches!(word, "NaN" | "Infinity" | "-Infinity")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number_in(text: &str) -> Option<f64> {
        number(&parse(text).unwrap())
    }

    #[test]
    fn bare_words_of_python_and_huge_numbers_are_numbers() {
        assert!(number_in("NaN").unwrap().is_nan());
        assert_eq!(number_in(" Infinity "), Some(f64::INFINITY));
        assert_eq!(number_in("-Infinity"), Some(f64::NEG_INFINITY));
        assert_eq!(number_in("1e999"), Some(f64::INFINITY));
        assert_eq!(
            number_in("123456789012345678901"),
            Some(123_456_789_012_345_678_901.0)
        );
        let huge = "9".repeat(MAX_INT_DIGITS);
        assert_eq!(number_in(&huge), Some(f64::INFINITY));
        assert_eq!(parse(&format!("{huge}9")), Err(PythonJsonFault::Limit));
        assert_eq!(
            (number_in("7"), number_in("7e0"), number_in("-0")),
            (Some(7.0), Some(7.0), Some(0.0))
        );
        assert_eq!(number_in("\"7\""), None);
    }

    #[test]
    fn a_key_with_two_values_has_none_where_keys_must_be_distinct() {
        let text = r#"{"a": 1, "b": NaN, "a": 2, "c": 12345678901234567890123}"#;
        assert_eq!(parse(text).unwrap()["a"], 2);
        let distinct = parse_distinct(text).unwrap();
        assert_eq!(kind(&distinct["a"]), "two different values");
        assert!(number(&distinct["b"]).unwrap().is_nan());
        assert_eq!(
            number(&distinct["c"]),
            Some(12_345_678_901_234_567_890_123.0)
        );
    }

    #[test]
    fn what_python_refuses_is_refused() {
        let numbers = [
            "-NaN",
            "nan",
            "+1",
            "007",
            "-",
            "1.",
            ".5",
            "1e",
            "1e+",
            "1 2",
            "\u{feff}1",
            "\u{a0}1",
            "1\u{0}",
        ];
        let strings = [
            "'a'",
            "\"a\nb\"",
            "\"\u{1f}\"",
            "\"\\x41\"",
            "\"\\u12\"",
            "\"\\ud800\\u12\"",
            "\"a",
            "\"a\\",
        ];
        let others = [
            "",
            " ",
            "{",
            "}",
            "[1,]",
            "{\"a\":1,}",
            "{,}",
            "{'a':1}",
            "tru",
            "nul",
            "[1 2]",
            "{\"a\" 1}",
        ];
        for text in numbers
            .iter()
            .chain(&strings)
            .chain(&others)
            .chain(&["{\"a\":}", "{1:2}", "[1]]", "NaN NaN"])
        {
            assert!(
                matches!(parse(text), Err(PythonJsonFault::Decode(_))),
                "{text:?} gave {:?}",
                parse(text)
            );
        }
    }

    #[test]
    fn lone_surrogates_are_text_and_pairs_are_joined() {
        assert_eq!(parse("\"\\ud83d\\ude00\""), Ok("\u{1f600}".into()));
        assert_eq!(parse("\"\\ud800\""), Ok("\u{fffd}".into()));
        assert_eq!(
            parse("\"\\ud800\\u0041\\udc00 \\ud83d\\ude00\""),
            Ok("\u{fffd}A\u{fffd} \u{1f600}".into())
        );
        assert_eq!(
            parse("[\"\\\\ud800 NaN\", \"\\\"NaN\\ud800\"]"),
            Ok(serde_json::json!(["\\ud800 NaN", "\"NaN\u{fffd}"]))
        );
    }

    #[test]
    fn nesting_beyond_the_limit_is_an_error_and_no_overflow() {
        assert!(parse(&("[".repeat(127) + &"]".repeat(127))).is_ok());
        assert_eq!(parse(&"[".repeat(1_000_000)), Err(PythonJsonFault::Limit));
    }

    #[test]
    fn truth_is_pythons() {
        for text in ["true", "-1", "NaN", "\" \"", "[0]", "1e999"] {
            assert!(is_truthy(&parse(text).unwrap()), "{text}");
        }
        for text in ["null", "false", "0", "-0.0", "\"\"", "[]", "{}"] {
            assert!(!is_truthy(&parse(text).unwrap()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,200}", bits in "(\\{|\\}|\\[|\\]|,|:|\"|\"a\"|1|-|e3|NaN|\\\\ud800|\\\\|\u{e9}| ){0,20}") {
            let _ = parse(&text);
            let _ = parse(&bits);
        }
    }
}

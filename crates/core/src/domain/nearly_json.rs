//! Reads what is nearly JSON where it has exactly one reading.
//!
//! Only the form of strings, names, constants and trailing commas is mended; the strict parser reads the
//! outcome. So nothing is completed: brackets and quotes that are missing stay missing, and numbers are those of JSON.

use std::iter::successors;

use serde_json::Value;

use super::after_thinking;
use super::python_json::{outermost_braces, parse_distinct};

/// Parses JSON or nearly JSON; `None` for what has no reading, or several.
pub fn parse(text: &str) -> Option<Value> {
    parse_distinct(text)
        .or_else(|fault| parse_distinct(&mended(text).ok_or(fault)?))
        .ok()
}

/// The values as which a reply can be read: its object or list, then what is alone inside it, level by level.
pub fn values(reply: &str) -> Vec<Value> {
    let text = after_thinking(reply).unwrap_or_default();
    let mut parts = Vec::from_iter(outermost_braces(text));
    // A list that begins within an object is a part of it and not the reply.
    if let (Some(start), Some(end)) = (text.find(['[', '{']), text.rfind(']')) {
        let list = text.get(start..=end).filter(|part| part.starts_with('['));
        // An object behind the list contradicts it, or is what the reply came to.
        parts.extend(list.filter(|_| !text[end..].contains('{')));
    }
    let mut values = Vec::new();
    for part in parts {
        values.extend(successors(parse(part), wrapped));
    }
    values
}

/// The only object in a value; with a second member beside it nobody knows which one is meant. A list in an object of
/// another form may be another list than was asked for. Under a name that it has itself, an object is a wrong value of that name
/// and not wrapped.
fn wrapped(value: &Value) -> Option<Value> {
    let inner = match value {
        Value::Object(fields) if fields.len() == 1 => {
            let (name, inner) = fields.iter().next()?;
            inner.get(name).is_none().then_some(inner)
        }
        Value::Array(list) if list.len() == 1 => list.first(),
        _ => None,
    }?;
    match inner {
        Value::Array(_) => wrapped(inner),
        inner => inner.is_object().then(|| inner.clone()),
    }
}

/// The text with all that JSON writes in another way written so; `None` for a string without an end.
fn mended(text: &str) -> Option<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '+' | '-' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match first {
            '"' | '\'' | '“' => length = push_string(rest, &mut out)?,
            word if is_word(word) => {
                length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let (word, behind) = rest.split_at(length);
                push_word(word, behind.trim_start().starts_with(':'), &mut out);
            }
            '}' | ']' => push_end(first, &mut out),
            _ => out.push(first),
        }
        rest = &rest[length..];
    }
    Some(out)
}

/// Writes the string at the start of `text` as JSON does, and returns its length. A backslash that begins no escape, such
/// as those of LaTeX, is a backslash.
fn push_string(text: &str, out: &mut String) -> Option<usize> {
    let quote = text.chars().next()?;
    let end = if quote == '“' { '”' } else { quote };
    out.push('"');
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                let escaped = &text[at + 1..];
                let mut code = escaped.bytes().take(5).skip(1);
                let is_unicode = escaped.starts_with('u')
                    && code.len() == 4
                    && code.all(|byte| byte.is_ascii_hexdigit());
                // JSON has no escape for an apostrophe.
                let is_apostrophe = escaped.starts_with('\'');
                if is_unicode || escaped.starts_with(['"', '\\', '/', 'b', 'f', 'n', 'r', 't']) {
                    out.push('\\');
                } else if !is_apostrophe {
                    out.push_str("\\\\");
                    continue;
                }
                out.extend(chars.next().map(|(_, escaped)| escaped));
            }
            c if c == end => {
                out.push('"');
                return Some(at + c.len_utf8());
            }
            '"' => out.push_str("\\\""),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    None
}

/// Writes a name as a string, and Python's constants as JSON's.
fn push_word(word: &str, is_key: bool, out: &mut String) {
    let is_name =
        !word.contains(['+', '-', '.']) && !word.starts_with(|c: char| c.is_ascii_digit());
    match word {
        _ if is_key && is_name => out.push_str(&format!("\"{word}\"")),
        "True" => out.push_str("true"),
        "False" => out.push_str("false"),
        "None" => out.push_str("null"),
        _ => out.push_str(word),
    }
}

/// Writes the end of an object or a list, without a comma behind its last member.
fn push_end(end: char, out: &mut String) {
    if let Some(before) = out.trim_end().strip_suffix(',')
        && !before.trim_end().ends_with(['{', '[', ',', ':'])
    {
        out.truncate(before.len());
    }
    out.push(end);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::domain::python_json::number;

    #[test]
    fn what_is_nearly_json_has_the_value_that_json_would_give_it() {
        let cases = [
            ("{'score': 7}", json!({"score": 7})),
            (r#"{"score": 7,}"#, json!({"score": 7})),
            (
                "{score: 7, feedback_1: [1, 2,\n],}",
                json!({"score": 7, "feedback_1": [1, 2]}),
            ),
            (
                "{'a': True, 'b': False, 'c': None}",
                json!({"a": true, "b": false, "c": null}),
            ),
            (
                "{“score”: 7, “why”: “a \"b\"”}",
                json!({"score": 7, "why": "a \"b\""}),
            ),
            (
                "{\"why\": \"one\ntwo\tthree\"}",
                json!({"why": "one\ntwo\tthree"}),
            ),
            (
                "{'why': \"it's 7\", 'b': 'say \"no\"'}",
                json!({"why": "it's 7", "b": "say \"no\""}),
            ),
            (r"{'why': 'it\'s 7'}", json!({"why": "it's 7"})),
            (
                r#"{"why": "\alpha \% \_ \(x\) \upsilon \u0041"}"#,
                json!({"why": r"\alpha \% \_ \(x\) \upsilon A"}),
            ),
            // Where JSON has an escape, it keeps its meaning, as in replies that are JSON.
            (r#"{"why": "\alpha\nu"}"#, json!({"why": "\\alpha\nu"})),
            (
                r#"{"why": "see // [,] {None: 'x',}",}"#,
                json!({"why": "see // [,] {None: 'x',}"}),
            ),
            (
                "{'n': 12345678901234567890123,}",
                json!({"n": "\u{0}12345678901234567890123"}),
            ),
        ];
        for (text, value) in cases {
            assert!(parse_distinct(text).is_err(), "{text} is JSON");
            assert_eq!(parse(text), Some(value), "{text}");
        }
        assert!(number(&parse("{'n': NaN}").unwrap()["n"]).unwrap().is_nan());
    }

    #[test]
    fn what_has_no_single_reading_has_none() {
        for text in [
            "{'why': 'it's 7', 'score': 7}",
            r#"{"why": "he said "yes" twice", "score": 7}"#,
            r#"{"why": "a\", "score": 7}"#,
            r#"{"score": 7"#,
            r#"{"score": 7, "why": "abc"#,
            "{'score': 7",
            r#"{"score": 7, "why": "abc}"#,
            "{\"score\": 7 // of 10\n}",
            r#"{"score": 7 /* or 8 */}"#,
            r#"{"score": 7.}"#,
            r#"{"score": .7}"#,
            r#"{"score": +7}"#,
            r#"{"score": 07}"#,
            r#"{"score": 0x7}"#,
            r#"{"score": 7;}"#,
            r#"{"score" = 7}"#,
            r#"{"score": 7/10}"#,
            r#"{"score": seven}"#,
            r#"{"score": 7,,}"#,
            r#"{"score": 7 "why": "a"}"#,
            r#"{"score": 7} // {"score": 8}"#,
            "{'score': 7} {'score': 8}",
            "[,]",
            "{,}",
            "{'a': 'b' 'c'}",
            "score: 7",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        let deep = "[".repeat(100_000) + "1,".repeat(3).as_str() + &"]".repeat(100_000);
        assert_eq!(parse(&deep), None);
        assert!(values(&"{'a': ".repeat(100_000)).is_empty());
    }

    #[test]
    fn a_value_is_found_in_wrappers_that_hold_nothing_else() {
        let inner = json!({"score": 7});
        for text in [
            r#"{"result": {"score": 7}}"#,
            r#"[{"score": 7}]"#,
            r#"{"response": {"result": [{"score": 7}]}}"#,
            "It is:\n```\n{'answer': {'score': 7,}}\n```",
        ] {
            assert!(values(text).contains(&inner), "{text}");
        }
        for text in [
            r#"{"a": {"score": 7}, "b": {"score": 8}}"#,
            r#"{"a": {"score": 7}, "b": 3}"#,
            r#"{"a": [{"score": 7}, {"score": 8}]}"#,
            r#"[{"score": 7}, {"score": 8}]"#,
            r#"{"score": {"score": 7}}"#,
            r#"{"score": 7} {"score": 8}"#,
            r#"{"notes": [3, {"score": 7}]}"#,
        ] {
            assert!(!values(text).contains(&inner), "{text}");
        }
    }

    #[test]
    fn a_list_is_a_reply_and_never_what_a_wrapper_holds() {
        assert!(
            values("[{'fact': 'x'}, {'fact': 'y'},]")
                .contains(&json!([{"fact": "x"}, {"fact": "y"}]))
        );
        assert_eq!(values(r#"{"claims": []}"#), [json!({"claims": []})]);
        // An object behind a list is the reply, or contradicts it.
        assert_eq!(values("As [1] says: {'a': 1}"), [json!({"a": 1})]);
        assert_eq!(
            values(r#"[{"score": 3}] But then: {"score": 7}"#),
            Vec::<Value>::new()
        );
    }

    /// JSON values with texts that quoting, escapes and line breaks matter to.
    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-c'\"\\\\\n{}\\[\\],:/ ]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[a-z_' \n]{1,4}", inner, 0..3)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    /// The value as Python prints it, with raw line breaks, names without quotes or trailing commas.
    fn printed(value: &Value, form: usize) -> String {
        let quote = if form.is_multiple_of(2) { '\'' } else { '"' };
        let comma = if form.is_multiple_of(3) { "," } else { "" };
        let text = |text: &str| {
            let mut out = text.replace('\\', "\\\\");
            out = out.replace(quote, &format!("\\{quote}"));
            if !form.is_multiple_of(5) {
                out = out.replace('\n', "\\n");
            }
            format!("{quote}{out}{quote}")
        };
        match value {
            Value::Null => "None".to_owned(),
            Value::Bool(true) => "True".to_owned(),
            Value::Bool(false) => "False".to_owned(),
            Value::String(string) => text(string),
            Value::Array(list) if list.is_empty() => "[]".to_owned(),
            Value::Array(list) => {
                let list: Vec<_> = list.iter().map(|value| printed(value, form)).collect();
                format!("[{}{comma}]", list.join(", "))
            }
            Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| {
                    let is_name = key.chars().all(|c| c.is_ascii_alphabetic());
                    let key = if form.is_multiple_of(7) && is_name {
                        key.clone()
                    } else {
                        text(key)
                    };
                    format!("{key}: {}", printed(value, form))
                });
                format!("{{{}{comma}}}", fields.collect::<Vec<_>>().join(", "))
            }
            other => other.to_string(),
        }
    }

    proptest! {
        #[test]
        fn what_python_prints_is_read_as_it_was_and_no_prefix_is(value in any_json(), form in 0_usize..210) {
            let text = printed(&value, form);
            prop_assert_eq!(parse(&text), Some(value.clone()), "{}", text);
            let is_nested = value.is_object() || value.is_array();
            for (end, _) in text.char_indices().filter(|_| is_nested) {
                prop_assert_eq!(parse(&text[..end]), None, "{}", &text[..end]);
            }
        }

        #[test]
        fn json_keeps_its_value_and_no_text_panics(value in any_json(), text in "[{}\\[\\]:,'\"“”\\\\/*a1N \n]{0,40}") {
            prop_assert_eq!(parse(&value.to_string()), Some(value));
            let _ = values(&text);
        }
    }
}

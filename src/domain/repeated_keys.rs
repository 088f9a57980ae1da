//! JSON whose meaning does not depend on its parser: each key once in an object, and whole numbers with all their digits.
//!
//! Parsers take the last of equal keys and round numbers beyond 64 bits, without a word. [`settled`] rewrites such texts:
//! a key with different values gets a value that no reader takes, so that the fault is found where the key is read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The JSON of the value of a key that occurs twice in an object, with different values.
pub(crate) const TWO_VALUES: &str = r#"{"\u0000":"two different values"}"#;

/// The value of [`TWO_VALUES`] in words.
pub(crate) const TWO_VALUES_NAME: &str = "two different values";

/// How deep `serde_json` reads values within values.
const DEPTH: usize = 127;

/// Whether the value stands for [two values](TWO_VALUES) of one key.
pub(crate) fn has_two_values(value: &Value) -> bool {
    value.get("\0").is_some()
}

/// The JSON of a file with each key once in its object, and whole numbers beyond 64 bits as texts; other texts unchanged.
pub(crate) fn settled(text: &str) -> Cow<'_, str> {
    settled_with(text, "")
}

/// [`settled`], with `mark` as the beginning of the texts that stand for long numbers.
pub(crate) fn settled_with<'a>(text: &'a str, mark: &str) -> Cow<'a, str> {
    let mut out = String::with_capacity(text.len());
    match write_settled(text.trim(), mark, DEPTH, &mut out) {
        Some(true) => out.into(),
        _ => text.into(),
    }
}

/// Whether anything was changed; `None` for invalid JSON, and for values within more than `depth` others.
fn write_settled(text: &str, mark: &str, depth: usize, out: &mut String) -> Option<bool> {
    match text.as_bytes().first()? {
        b'{' => write_object(text, mark, depth.checked_sub(1)?, out),
        b'[' => {
            let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let mut is_changed = false;
            out.push('[');
            for (at, value) in list.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                is_changed |= write_settled(value.get(), mark, depth.checked_sub(1)?, out)?;
            }
            out.push(']');
            Some(is_changed)
        }
        _ if is_long_number(text) => {
            out.extend(["\"", mark, text, "\""]);
            Some(true)
        }
        _ => {
            out.push_str(text);
            Some(false)
        }
    }
}

/// Whether this is a whole number beyond 64 bits.
pub(crate) fn is_long_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_whole && text.parse::<i64>().is_err()
}

fn write_object(text: &str, mark: &str, depth: usize, out: &mut String) -> Option<bool> {
    let Members(members) = serde_json::from_str(text).ok()?;
    let mut is_changed = false;
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut values: Vec<String> = Vec::new();
    for (key, value) in &members {
        let mut own = String::new();
        is_changed |= write_settled(value.get(), mark, depth, &mut own)?;
        let place = *places.entry(key).or_insert(values.len());
        let Some(first) = values.get_mut(place) else {
            values.push(own);
            continue;
        };
        is_changed = true;
        if !are_equal(first, &own) {
            TWO_VALUES.clone_into(first);
        }
    }
    if !is_changed {
        out.push_str(text);
        return Some(false);
    }
    out.push('{');
    for (key, _) in &members {
        // Each key at its first place.
        if let Some(place) = places.remove(&**key) {
            out.push_str(if place > 0 { "," } else { "" });
            out.push_str(&Value::from(&**key).to_string());
            out.push(':');
            out.push_str(&values[place]);
        }
    }
    out.push('}');
    Some(true)
}

/// Whether two texts are the same value, 3 and 3.0 as well.
fn are_equal(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|text| serde_json::from_str(text).unwrap_or(Value::Null));
    one == other
        || one
            .as_f64()
            .is_some_and(|number| other.as_f64() == Some(number))
}

/// The members of an object, in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(InOrder).map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_of_a_key_are_one_and_different_ones_are_none() {
        let text = r#"{"a": 1, "b": [{"c": "x", "c": "y"}], "a": 1.0, "d": {"e": [1], "f": 2}, "d": {"f": 2, "e": [ 1 ]}}"#;
        let value: Value = serde_json::from_str(&settled(text)).unwrap();
        assert_eq!((&value["a"], &value["d"]["f"]), (&1.into(), &2.into()));
        assert!(has_two_values(&value["b"][0]["c"]) && !has_two_values(&value["d"]));
        let thrice: Value = serde_json::from_str(&settled(r#"{"a": 1, "a": 2, "a": 1}"#)).unwrap();
        assert!(has_two_values(&thrice["a"]));
    }

    #[test]
    fn whole_numbers_beyond_64_bits_are_their_digits_and_all_else_stays() {
        let text = "[12345678901234567890123, -9223372036854775809, 9223372036854775807]";
        assert_eq!(
            settled(text),
            "[\"12345678901234567890123\",\"-9223372036854775809\",9223372036854775807]"
        );
        for text in [
            r#" {"a" : "9223372036854775808", "b": 1e30, "c": -0 } "#,
            "{\"a\": 1,",
            "",
            "x",
            "[1] 2",
        ] {
            assert!(
                matches!(settled(text), Cow::Borrowed(same) if same == text),
                "{text}"
            );
        }
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        assert_eq!(settled(&deep), deep);
    }
}

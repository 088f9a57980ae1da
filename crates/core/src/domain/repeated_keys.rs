//! JSON whose meaning does not depend on its parser: each key once in an object, and whole numbers with all their digits.
//!
//! Parsers take the last of equal keys and round numbers beyond 64 bits, without a word. [`settled`] rewrites such texts:
//! a key with different values gets a value that no reader takes, so that the fault is found where the key is read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The JSON of the value of a key that occurs twice in an object, with different values.
pub const TWO_VALUES: &str = r#"{"\u0000":"two different values"}"#;

/// The value of [`TWO_VALUES`] in words.
pub const TWO_VALUES_NAME: &str = "two different values";

/// How deep `serde_json` reads values within values.
const DEPTH: usize = 127;

/// Whether the value stands for [two values](TWO_VALUES) of one key.
pub fn has_two_values(value: &Value) -> bool {
    value.get("\0").is_some()
}

/// The JSON of a file with each key once in its object, and whole numbers beyond 64 bits as texts; other texts unchanged.
pub fn settled(text: &str) -> Cow<'_, str> {
    settled_with(text, "")
}

/// [`settled`], with `mark` as the beginning of the texts that stand for long numbers.
pub(crate) fn settled_with<'a>(text: &'a str, mark: &str) -> Cow<'a, str> {
    match changed(text.trim(), mark, DEPTH) {
        Some(Cow::Owned(changed)) => changed.into(),
        _ => text.into(),
    }
}

/// The settled JSON, borrowed if nothing had to be changed; `None` for invalid JSON, and for values within more than `depth` others.
fn changed<'a>(text: &'a str, mark: &str, depth: usize) -> Option<Cow<'a, str>> {
    match text.as_bytes().first()? {
        b'{' => {
            let members = members(text)?;
            let count = members.len();
            let mut places: HashMap<String, usize> = HashMap::new();
            let mut fields: Vec<(String, Cow<'_, str>)> = Vec::new();
            for (key, value) in members {
                let value = changed(value.get(), mark, depth.checked_sub(1)?)?;
                let place = *places.entry(key.clone()).or_insert(fields.len());
                match fields.get_mut(place) {
                    None => fields.push((key, value)),
                    Some((_, first)) if are_equal(first, &value) => {}
                    Some((_, first)) => *first = TWO_VALUES.into(),
                }
            }
            let mut values = fields.iter();
            if fields.len() == count && values.all(|(_, value)| matches!(value, Cow::Borrowed(_))) {
                return Some(text.into());
            }
            let fields = fields.into_iter();
            let fields = fields.map(|(key, value)| format!("{}:{value}", Value::from(key)));
            Some(format!("{{{}}}", fields.collect::<Vec<_>>().join(",")).into())
        }
        b'[' => {
            let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let within = depth.checked_sub(1)?;
            let values = list.iter().map(|value| changed(value.get(), mark, within));
            let values = values.collect::<Option<Vec<_>>>()?;
            if values.iter().all(|value| matches!(value, Cow::Borrowed(_))) {
                return Some(text.into());
            }
            Some(format!("[{}]", values.join(",")).into())
        }
        _ if is_long_number(text) => Some(format!("\"{mark}{text}\"").into()),
        _ => Some(text.into()),
    }
}

/// Whether this is a whole number beyond 64 bits.
pub fn is_long_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_whole && text.parse::<i64>().is_err()
}

/// Whether two texts are the same value, 3 and 3.0 as well.
fn are_equal(first: &str, second: &str) -> bool {
    let [first, second] =
        [first, second].map(|text| serde_json::from_str(text).unwrap_or(Value::Null));
    first == second || first.is_number() && first.as_f64() == second.as_f64()
}

/// The members of an object, in their order.
fn members(text: &str) -> Option<Vec<(String, &RawValue)>> {
    struct Members;

    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            std::iter::from_fn(|| map.next_entry().transpose()).collect()
        }
    }

    let mut json = serde_json::Deserializer::from_str(text);
    let members = json.deserialize_map(Members).ok()?;
    json.end().ok().map(|()| members)
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

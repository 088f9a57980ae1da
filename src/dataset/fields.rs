//! Typed access to the fields of a JSON object, with faults that say what was expected, what was found, and where.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::InputFault;

/// Where an object stands in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) path: &'a Path,
    pub(super) line: usize,
    pub(super) case_id: Option<&'a str>,
}

impl Place<'_> {
    /// A fault at this place.
    pub(super) fn fault(&self, what: impl Into<String>) -> InputFault {
        let fault = InputFault::new(self.path, what).at_line(self.line);
        match self.case_id {
            Some(case_id) => fault.of_case(case_id),
            None => fault,
        }
    }
}

/// Faults make a file unusable; warnings are told and the run goes on (unless it is strict).
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) faults: Vec<InputFault>,
    pub(super) warnings: Vec<InputFault>,
}

/// The fields of one object. Readers that fail push a fault and give `None`.
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    /// Path of the object inside its element, with a trailing dot: `metric_config.config.`.
    within: String,
    place: Place<'a>,
}

impl<'a> Fields<'a> {
    /// The fields of `value`; a fault if it is no object. `within` names it in messages.
    pub(super) fn of(value: &'a Value, within: &str, place: Place<'a>, found: &mut Findings) -> Option<Self> {
        match value {
            Value::Object(map) => {
                let within = if within.is_empty() { String::new() } else { format!("{within}.") };
                Some(Self { map, within, place })
            }
            other => {
                let name = if within.is_empty() { "each element" } else { within };
                found.faults.push(place.fault(format!("{name}: expected an object, found {}", describe(other))));
                None
            }
        }
    }

    /// The object under `key`.
    pub(super) fn object(&self, key: &str, found: &mut Findings) -> Option<Fields<'a>> {
        let value = self.required(key, found)?;
        Fields::of(value, &format!("{}{key}", self.within), self.place, found)
    }

    /// The string under `key`.
    pub(super) fn string(&self, key: &str, found: &mut Findings) -> Option<&'a str> {
        match self.required(key, found)? {
            Value::String(text) => Some(text),
            other => self.wrong(key, "a string", other, found),
        }
    }

    /// The string under `key`; `default` where it is missing.
    pub(super) fn string_or(&self, key: &str, default: &'a str, found: &mut Findings) -> Option<&'a str> {
        if self.map.contains_key(key) { self.string(key, found) } else { Some(default) }
    }

    /// The boolean under `key`; false where it is missing.
    pub(super) fn flag(&self, key: &str, found: &mut Findings) -> Option<bool> {
        match self.map.get(key) {
            None => Some(false),
            Some(Value::Bool(flag)) => Some(*flag),
            Some(other) => self.wrong(key, "true or false", other, found),
        }
    }

    /// The whole number under `key`; `default` where it is missing.
    pub(super) fn whole_or(&self, key: &str, default: i64, found: &mut Findings) -> Option<i64> {
        let Some(value) = self.map.get(key) else { return Some(default) };
        let whole = match value {
            Value::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(whole_float)),
            Value::String(text) => {
                let whole = text.trim().parse().ok();
                self.coerced(key, text, whole.is_some(), found);
                whole
            }
            _ => None,
        };
        whole.or_else(|| self.wrong(key, "a whole number", value, found))
    }

    /// The weight under `key`: finite and not negative. `default` where it is missing, a fault if there is none.
    pub(super) fn weight(&self, key: &str, default: Option<f64>, found: &mut Findings) -> Option<f64> {
        let value = match (self.map.get(key), default) {
            (None, Some(default)) => return Some(default),
            _ => self.required(key, found)?,
        };
        let weight = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => {
                let weight: Option<f64> = text.trim().parse().ok();
                self.coerced(key, text, weight.is_some(), found);
                weight
            }
            _ => None,
        };
        weight.or_else(|| self.wrong(key, "a number", value, found))
    }

    /// The list of strings under `key`; empty where it is missing.
    pub(super) fn strings(&self, key: &str, found: &mut Findings) -> Option<Arc<[String]>> {
        let mut strings = Vec::new();
        for (index, item) in self.list(key, found)?.iter().enumerate() {
            match item {
                Value::String(text) => strings.push(text.clone()),
                other => return self.wrong(&format!("{key}[{index}]"), "a string", other, found),
            }
        }
        Some(strings.into())
    }

    /// The list under `key`; empty where it is missing.
    pub(super) fn list(&self, key: &str, found: &mut Findings) -> Option<&'a [Value]> {
        match self.map.get(key) {
            None => Some(&[]),
            Some(Value::Array(list)) => Some(list),
            Some(other) => self.wrong(key, "a list", other, found),
        }
    }

    /// The object's path with `key` appended, for messages.
    pub(super) fn path_of(&self, key: &str) -> String {
        format!("{}{key}", self.within)
    }

    fn required(&self, key: &str, found: &mut Findings) -> Option<&'a Value> {
        let value = self.map.get(key);
        if value.is_none() {
            found.faults.push(self.place.fault(format!("{} is missing", self.path_of(key))));
        }
        value
    }

    fn wrong<T>(&self, key: &str, expected: &str, value: &Value, found: &mut Findings) -> Option<T> {
        let what = format!("{}: expected {expected}, found {}", self.path_of(key), describe(value));
        found.faults.push(self.place.fault(what));
        None
    }

    fn coerced(&self, key: &str, text: &str, is_number: bool, found: &mut Findings) {
        if is_number {
            let what = format!("{} is the string \"{}\"; read as a number", self.path_of(key), shown(text));
            found.warnings.push(self.place.fault(what).hint("write it without quotes"));
        }
    }
}

fn whole_float(value: f64) -> Option<i64> {
    // Beyond 2^53 a float no longer tells whole numbers apart.
    (value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0).then_some(value as i64)
}

/// A value in a few words: `the string "x"`, `the number 3`, `a list`.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string \"{}\"", shown(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// The first characters of a text from a file, escaped.
fn shown(text: &str) -> String {
    const CHARS: usize = 30;
    let mut out: String = text.chars().take(CHARS).flat_map(char::escape_debug).collect();
    if text.chars().nth(CHARS).is_some() {
        out.push_str("..");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with<T>(value: &Value, read: impl FnOnce(&Fields<'_>, &mut Findings) -> T) -> (T, Vec<String>, Vec<String>) {
        let mut found = Findings::default();
        let place = Place { path: Path::new("t.json"), line: 3, case_id: Some("c") };
        let fields = Fields::of(value, "config", place, &mut found).unwrap();
        let read = read(&fields, &mut found);
        let texts = |faults: Vec<InputFault>| faults.iter().map(ToString::to_string).collect();
        (read, texts(found.faults), texts(found.warnings))
    }

    #[test]
    fn a_wrong_type_is_told_with_what_was_expected_and_found() {
        let (read, faults, _) = with(&json!({"weight": "x"}), |fields, found| fields.weight("weight", None, found));
        assert_eq!(read, None);
        assert_eq!(faults, ["t.json:3 (case c): config.weight: expected a number, found the string \"x\""]);
        let (_, faults, _) = with(&json!({"evidence": ["a", 1]}), |fields, found| fields.strings("evidence", found));
        assert_eq!(faults, ["t.json:3 (case c): config.evidence[1]: expected a string, found the number 1"]);
    }

    #[test]
    fn a_numeric_string_is_a_number_with_a_warning() {
        let (read, faults, warnings) = with(&json!({"w": "0.6"}), |fields, found| fields.weight("w", None, found));
        assert_eq!((read, faults.len()), (Some(0.6), 0));
        assert_eq!(
            warnings,
            ["t.json:3 (case c): config.w is the string \"0.6\"; read as a number; write it without quotes"]
        );
    }

    #[test]
    fn missing_optional_fields_have_their_defaults() {
        let (read, faults, _) = with(&json!({}), |fields, found| {
            (fields.whole_or("n", 300, found), fields.weight("w", Some(0.05), found), fields.strings("s", found))
        });
        assert_eq!((read.0, read.1, read.2.map(|s| s.len())), (Some(300), Some(0.05), Some(0)));
        assert!(faults.is_empty());
        let (_, faults, _) = with(&json!({}), |fields, found| fields.string("q", found).map(str::to_owned));
        assert_eq!(faults, ["t.json:3 (case c): config.q is missing"]);
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats_but_not_with_a_fraction() {
        let whole = |value: Value| with(&json!({"n": value}), |fields, found| fields.whole_or("n", 0, found)).0;
        assert_eq!(whole(json!(300.0)), Some(300));
        assert_eq!(whole(json!(300.5)), None);
        assert_eq!(whole(json!(true)), None);
        assert_eq!(whole(json!("7")), Some(7));
    }
}

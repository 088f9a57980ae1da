//! The fields of one row of labels; faults name file, line and field.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::dataset::elements::is_nan;
use crate::dataset::fields::describe;
use crate::error::InputFault;

/// What a file of labels holds.
pub(super) const EXPECTED: &str = "expected scores (system, case_id, item, rater, value), preferences (case_id, system_a, system_b, \
                                   rater, preference), or pairs (question, models, preference_ranking_norm, ..)";

/// One row.
pub(super) struct Row {
    pub(super) path: PathBuf,
    pub(super) line: usize,
    /// From CSV every value is a string.
    pub(super) map: Map<String, Value>,
}

impl Row {
    pub(super) fn has(&self, field: &str) -> bool {
        self.map.contains_key(field)
    }

    /// A fault of this row.
    pub(super) fn fault(&self, what: impl Into<String>) -> InputFault {
        InputFault::new(&self.path, what).at_line(self.line)
    }

    fn required(&self, field: &str) -> Result<&Value, InputFault> {
        self.map.get(field).ok_or_else(|| self.fault(format!("{field} is missing")).hint(EXPECTED))
    }

    /// A required text. Identifiers may be written as whole numbers.
    pub(super) fn text(&self, field: &str) -> Result<String, InputFault> {
        match self.required(field)? {
            Value::String(text) if !text.trim().is_empty() => Ok(text.clone()),
            Value::Number(number) if number.is_i64() || number.is_u64() => Ok(number.to_string()),
            other => Err(self.fault(format!("{field}: expected a text, found {}", describe(other)))),
        }
    }

    /// A required finite number.
    pub(super) fn number(&self, field: &str) -> Result<f64, InputFault> {
        let value = self.required(field)?;
        finite(value).ok_or_else(|| self.fault(format!("{field}: expected a number, found {}", shown(value))))
    }

    /// A required pair of finite numbers.
    pub(super) fn two_numbers(&self, field: &str) -> Result<[f64; 2], InputFault> {
        let value = self.required(field)?;
        let numbers = value.as_array().map(|list| list.iter().map(finite).collect::<Vec<_>>());
        match numbers.as_deref() {
            Some([Some(a), Some(b)]) => Ok([*a, *b]),
            _ => {
                Err(self
                    .fault(format!("{field}: expected two numbers, one for each of models, found {}", shown(value))))
            }
        }
    }
}

/// The finite number that a value is or spells.
pub(super) fn finite(value: &Value) -> Option<f64> {
    let number: Option<f64> = match value {
        Value::Number(number) if !is_nan(value) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// A value in a few words, a bare `NaN` by its name, the elements of a list one by one.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(shown).collect::<Vec<_>>().join(", ")),
        _ if is_nan(value) => "NaN".to_owned(),
        _ => describe(value),
    }
}

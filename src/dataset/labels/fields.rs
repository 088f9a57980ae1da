//! One row of labels, from CSV or JSON, and its fields with faults that name file, line and field.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::csv::Record;
use crate::dataset::elements::{Element, is_nan};
use crate::dataset::fields::describe;
use crate::error::InputFault;

/// One row.
pub(super) struct Row {
    pub(super) path: PathBuf,
    pub(super) line: usize,
    /// From CSV every value is a text.
    pub(super) map: Map<String, Value>,
}

/// Rows of CSV: the header names the fields; a cell without anything in it is a field that is not there.
///
/// # Errors
/// A header that names a column twice; a row of another length than the header.
pub(super) fn of_csv(records: Vec<Record>, path: &Path) -> Result<Vec<Row>, InputFault> {
    let mut records = records.into_iter();
    let Some(header) = records.next() else { return Ok(Vec::new()) };
    let names: Vec<String> = header.cells.iter().map(|name| name.trim().to_owned()).collect();
    if let Some((at, name)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        let what = format!("column {} is called {name:?}, as an earlier one is", at + 1);
        return Err(InputFault::new(path, what).at_line(header.line).hint("give every column a name of its own"));
    }
    let row = |record: Record| {
        if record.cells.len() != names.len() {
            let what = format!("expected {} cells as in the header, found {}", names.len(), record.cells.len());
            let fault = InputFault::new(path, what).at_line(record.line);
            return Err(fault.hint("put quotes around a cell that holds a comma"));
        }
        let filled = names.iter().cloned().zip(record.cells).filter(|(_, cell)| !cell.trim().is_empty());
        let map = filled.map(|(name, cell)| (name, Value::String(cell))).collect();
        Ok(Row { path: path.to_path_buf(), line: record.line, map })
    };
    records.map(row).collect()
}

/// An element of JSON; `null` is a field that is not there.
///
/// # Errors
/// An element that is no object.
pub(super) fn of_json(element: Element, path: &Path) -> Result<Row, InputFault> {
    let Value::Object(mut map) = element.value else {
        let what = format!("expected an object, found {}", describe(&element.value));
        return Err(InputFault::new(path, what).at_line(element.line).hint(super::EXPECTED));
    };
    map.retain(|_, value| !value.is_null());
    Ok(Row { path: path.to_path_buf(), line: element.line, map })
}

impl Row {
    pub(super) fn has(&self, field: &str) -> bool {
        self.map.contains_key(field)
    }

    /// A fault of this row.
    pub(super) fn fault(&self, what: impl Into<String>) -> InputFault {
        InputFault::new(&self.path, what).at_line(self.line)
    }

    /// The text of a field that must be there. Identifiers may be written as whole numbers.
    pub(super) fn text(&self, field: &str) -> Result<String, InputFault> {
        match self.map.get(field) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
            Some(Value::Number(number)) if number.is_i64() || number.is_u64() => Ok(number.to_string()),
            Some(other) => Err(self.fault(format!("{field}: expected a text, found {}", describe(other)))),
            None => Err(self.fault(format!("{field} is missing")).hint(super::EXPECTED)),
        }
    }

    /// The finite number of a field that must be there.
    pub(super) fn number(&self, field: &str) -> Result<f64, InputFault> {
        let value =
            self.map.get(field).ok_or_else(|| self.fault(format!("{field} is missing")).hint(super::EXPECTED))?;
        finite(value).ok_or_else(|| self.fault(format!("{field}: expected a number, found {}", shown(value))))
    }
}

/// The number that a value is or spells, unless it is not finite.
pub(super) fn finite(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(_) if is_nan(value) => None,
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number: &f64| number.is_finite())
}

/// A value in a few words, a bare `NaN` by its name.
pub(super) fn shown(value: &Value) -> String {
    if is_nan(value) { "NaN".to_owned() } else { describe(value) }
}

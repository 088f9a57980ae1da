//! Files of labels, in CSV or JSON.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::collector::{Collector, Labels};
use super::row::Row;
use super::shapes::read_row;
use crate::dataset::elements::{Element, elements};
use crate::dataset::fields::describe;
use crate::dataset::text_file::{as_text, read_bytes};
use crate::error::{Error, InputFault, Result};

/// Reads files of labels (`docs/formats.md`).
///
/// # Errors
/// [`Error::Input`] with every fault of every file; [`Error::Io`] if a file cannot be read.
pub fn load_labels(paths: &[PathBuf]) -> Result<Labels> {
    let (mut collector, mut faults) = (Collector::default(), Vec::new());
    for path in paths {
        let (bytes, _) = read_bytes(path)?;
        match as_text(&bytes, path, 1).map_err(Error::from).and_then(|text| read(text, path, &mut collector)) {
            Err(Error::Input(more)) => faults.extend(more),
            other => other?,
        }
    }
    if faults.is_empty() { Ok(collector.labels()) } else { Err(Error::Input(faults)) }
}

/// Reads the text of one file; the extension of `path` tells CSV (`.csv`) from JSON. See [`load_labels`].
///
/// ```
/// use scholareval::dataset::parse_labels;
///
/// let text = "system,case_id,rater,value\ngpt,c1,ann,0.5\n";
/// let labels = parse_labels(text, "labels.csv".as_ref())?;
/// assert_eq!((&*labels.raters[0].name, labels.raters[0].ratings[0].value), ("ann", 0.5));
/// # Ok::<(), scholareval::Error>(())
/// ```
///
/// # Errors
/// [`Error::Input`] with every fault found.
pub fn parse_labels(text: &str, path: &Path) -> Result<Labels> {
    let mut collector = Collector::default();
    read(text, path, &mut collector)?;
    Ok(collector.labels())
}

fn read(text: &str, path: &Path, collector: &mut Collector) -> Result<()> {
    let is_csv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
        || !(text.trim_start().is_empty() || text.trim_start().starts_with(['[', '{']));
    let rows: Vec<Row> = if is_csv {
        csv_rows(text, path)?
    } else {
        elements(text, path)?.into_iter().map(|element| json_row(element, path)).collect::<Result<_, _>>()?
    };
    let mut faults: Vec<InputFault> = rows.iter().filter_map(|row| read_row(row, collector).err()).collect();
    if rows.is_empty() {
        faults.push(InputFault::new(path, "no labels in the file").hint(super::row::EXPECTED));
    }
    if faults.is_empty() { Ok(()) } else { Err(Error::Input(faults)) }
}

/// Rows of CSV: the header names the fields; an empty cell is a missing field.
fn csv_rows(text: &str, path: &Path) -> Result<Vec<Row>, InputFault> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut names: Vec<String> = Vec::new();
    let (mut rows, mut line) = (Vec::new(), 1);
    for record in reader.records() {
        let record = record.map_err(|error| InputFault::new(path, format!("invalid CSV: {error}")))?;
        line = record.position().map_or(line, |position| position.line() as usize);
        let fault = |what| InputFault::new(path, what).at_line(line);
        if names.is_empty() {
            names = record.iter().map(|name| name.trim().to_owned()).collect();
            if let Some((at, name)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
                let what = format!("column {} is called {name:?}, as an earlier one is", at + 1);
                return Err(fault(what).hint("give every column its own name"));
            }
            continue;
        }
        if record.len() != names.len() {
            let what = format!("expected {} cells as in the header, found {}", names.len(), record.len());
            return Err(fault(what).hint("put quotes around a cell that holds a comma, and close every quote"));
        }
        let filled = names.iter().zip(&record).filter(|(_, cell)| !cell.trim().is_empty());
        let map = filled.map(|(name, cell)| (name.clone(), Value::from(cell))).collect();
        rows.push(Row { path: path.to_path_buf(), line, map });
    }
    // An open quote takes in the rest of the file.
    if text.matches('"').count() % 2 == 1 {
        let fault = InputFault::new(path, "a quote that is never closed").at_line(line);
        return Err(fault.hint("close it with \", and write \"\" for a quote in a cell"));
    }
    Ok(rows)
}

/// An element of JSON; `null` is a missing field.
fn json_row(element: Element, path: &Path) -> Result<Row, InputFault> {
    let Value::Object(map) = element.value else {
        let what = format!("expected an object, found {}", describe(&element.value));
        return Err(InputFault::new(path, what).at_line(element.line).hint(super::row::EXPECTED));
    };
    let map: Map<String, Value> = map.into_iter().filter(|(_, value)| !value.is_null()).collect();
    Ok(Row { path: path.to_path_buf(), line: element.line, map })
}

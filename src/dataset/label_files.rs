//! Reads the sheets and texts of `label`, and the labels that raters download from its pages.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::domain::{BlindTexts, ItemLabel, LABEL_SCHEMA, LabelFile, LabelSheet};
use crate::error::{InputFault, Result};
use crate::files::read_text;

use super::reader::all;

/// The file of a sheet in its directory.
pub const SHEET_FILE: &str = "sheet.json";
/// The file of its texts.
pub const TEXTS_FILE: &str = "texts.json";

/// Reads the sheet in a directory that `label` made.
///
/// # Errors
/// [`Error::Input`](crate::error::Error::Input) for a file that is not a sheet, is damaged or of a later version;
/// [`Error::Io`](crate::error::Error::Io) if it cannot be read.
pub fn load_label_sheet(dir: &Path) -> Result<LabelSheet> {
    let path = dir.join(SHEET_FILE);
    let sheet = read(
        &path,
        "a sheet",
        "name a directory that scholareval label made",
    )?;
    match damage(&sheet) {
        Some(what) => Err(InputFault::new(&path, what)
            .hint("keep the sheet as scholareval label made it")
            .into()),
        None => Ok(sheet),
    }
}

/// What makes a sheet unusable: an index or a probability that cannot be.
fn damage(sheet: &LabelSheet) -> Option<String> {
    for answer in &sheet.frame {
        let p = answer.probability.unwrap_or(1.0);
        if answer.run >= sheet.runs.len() || !(p > 0.0 && p <= 1.0) {
            return Some("an answer has a run or a probability that cannot be".to_owned());
        }
    }
    for item in &sheet.items {
        let places = [Some(item.answer), item.other];
        let mut places = places.into_iter().flatten();
        let is_missing = places.any(|place| place >= sheet.frame.len());
        if is_missing || item.scale >= sheet.scales.len() {
            return Some(format!(
                "item {} has no answer or no scale",
                item.id.escape_debug()
            ));
        }
    }
    None
}

/// Reads the texts in a directory that `label` made.
///
/// # Errors
/// As [`load_label_sheet`]; for texts of another sheet.
pub fn load_blind_texts(dir: &Path, sheet: &LabelSheet) -> Result<BlindTexts> {
    let path = dir.join(TEXTS_FILE);
    let hint = "keep the directory together as scholareval label made it";
    let texts: BlindTexts = read(&path, "texts of a sheet", hint)?;
    if texts.sheet != sheet.id {
        let what = format!("texts of sheet {}, not of {}", texts.sheet, sheet.id);
        return Err(InputFault::new(&path, what).hint(hint).into());
    }
    Ok(texts)
}

/// Reads files of labels, each with its path. Of several files by one rater for one sheet, each item has its latest label, and the
/// path is that of the first file.
///
/// # Errors
/// [`Error::Input`](crate::error::Error::Input) with the first fault of every file;
/// [`Error::Io`](crate::error::Error::Io) if a file cannot be read.
pub fn load_label_files(paths: &[PathBuf]) -> Result<Vec<(PathBuf, LabelFile)>> {
    let mut files: Vec<(PathBuf, LabelFile)> = Vec::new();
    let hint = "name the JSON files that raters downloaded from their pages";
    all(paths.iter().map(|path| {
        let file: LabelFile = read(path, "a file of labels", hint)?;
        match files.iter_mut().find(|(_, own)| is_same_page(own, &file)) {
            Some((_, own)) => own.labels = latest(std::mem::take(&mut own.labels), file.labels),
            None => files.push((path.clone(), file)),
        }
        Ok(())
    }))?;
    Ok(files)
}

fn is_same_page(one: &LabelFile, other: &LabelFile) -> bool {
    (one.sheet, &one.rater, one.adjudicated) == (other.sheet, &other.rater, other.adjudicated)
}

/// The labels of both lists, the later one of each item.
fn latest(mut labels: Vec<ItemLabel>, others: Vec<ItemLabel>) -> Vec<ItemLabel> {
    for other in others {
        match labels.iter_mut().find(|own| own.item == other.item) {
            // Times of pages are of one form, in UTC, so that their order is that of the texts.
            Some(own) if own.at < other.at => *own = other,
            Some(_) => {}
            None => labels.push(other),
        }
    }
    labels
}

/// The version of a file.
#[derive(Deserialize)]
struct VersionOfLabels {
    schema_version: u32,
}

/// Parses a file of this version.
fn read<T: DeserializeOwned>(path: &Path, what: &str, hint: &str) -> Result<T> {
    let (text, _) = read_text(path)?;
    let fault = |problem: String| InputFault::new(path, problem).hint(hint.to_owned());
    let version: VersionOfLabels =
        serde_json::from_str(&text).map_err(|error| fault(format!("not {what}: {error}")))?;
    if version.schema_version != LABEL_SCHEMA {
        let problem = format!(
            "{what} of version {}, which this version of scholareval does not read",
            version.schema_version
        );
        return Err(fault(problem).into());
    }
    Ok(serde_json::from_str(&text).map_err(|error| fault(format!("not {what}: {error}")))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(rater: &str, labels: &[(&str, f64, &str)]) -> String {
        let labels: Vec<serde_json::Value> = labels
            .iter()
            .map(|(item, value, at)| {
                serde_json::json!({"item": item, "label": {"value": value}, "seconds": 1.0, "at": at})
            })
            .collect();
        serde_json::json!({"schema_version": 1, "sheet": "0011223344556677", "rater": rater,
            "saved_at": "2026-01-01T00:00:00.000Z", "labels": labels})
        .to_string()
    }

    #[test]
    fn several_downloads_of_a_rater_are_one_with_the_latest_label_of_each_item() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let first = [("x", 0.0, "2026-01-01T00:00:01.000Z"), ("y", 1.0, "1")];
        let second = [("x", 1.0, "2026-01-01T00:00:02.000Z"), ("z", 0.0, "1")];
        let paths = [
            write("a.json", file("ann", &first)),
            write("b.json", file("ben", &first)),
            write("c.json", file("ann", &second)),
        ];
        let files = load_label_files(&paths).unwrap();
        assert_eq!(files.len(), 2);
        let ann = &files[0].1.labels;
        assert_eq!(ann.len(), 3);
        assert_eq!(ann[0].label, Some(crate::domain::GivenLabel::Value(1.0)));
    }

    #[test]
    fn another_file_or_version_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        for (text, says) in [
            ("[]", "not a file of labels"),
            (r#"{"schema_version": 9}"#, "of version 9"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = load_label_files(std::slice::from_ref(&path)).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(says) && error.contains("a.json"), "{error}");
        }
    }
}

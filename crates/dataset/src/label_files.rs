//! Reads the sheets and texts of `label`, and the labels that raters download from its pages.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use scholareval_core::domain::{BlindTexts, LABEL_SCHEMA, LabelFile, LabelSheet};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::read_text;

use super::reader::all;

/// The file of a sheet in its directory.
pub const SHEET_FILE: &str = "sheet.json";
/// The file of its texts.
pub const TEXTS_FILE: &str = "texts.json";

/// Reads the sheet in a directory that `label` made.
///
/// # Errors
/// [`Error::Input`](scholareval_core::error::Error::Input) for a file that is not a sheet, is damaged or of a later version;
/// [`Error::Io`](scholareval_core::error::Error::Io) if it cannot be read.
pub fn load_label_sheet(dir: &Path) -> Result<LabelSheet> {
    let path = dir.join(SHEET_FILE);
    let sheet = read(
        &path,
        "a sheet",
        "name a directory that scholareval label made",
    )?;
    match damage(&sheet) {
        Some(what) => {
            Err(InputFault::new(&path, what).refuse("keep the sheet as scholareval label made it"))
        }
        None => Ok(sheet),
    }
}

/// What makes a sheet unusable: an edit, or an index or a probability that cannot be.
fn damage(sheet: &LabelSheet) -> Option<String> {
    if sheet.hash().ok() != Some(sheet.id) {
        return Some("was edited: its id is not the hash of what it holds".to_owned());
    }
    for answer in &sheet.frame {
        let p = answer.probability.unwrap_or(1.0);
        if answer.run >= sheet.runs.len() || !(p > 0.0 && p <= 1.0) {
            return Some("an answer has a run or a probability that cannot be".to_owned());
        }
    }
    for item in &sheet.items {
        let places = [Some(item.answer), item.other];
        let mut places = places.into_iter().flatten();
        let p = item.probability.unwrap_or(1.0);
        let is_missing = places.any(|place| place >= sheet.frame.len()) || !(p > 0.0 && p <= 1.0);
        if is_missing || item.scale >= sheet.scales.len() {
            return Some(format!(
                "item {} has no answer, no scale, or a probability that cannot be",
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
        return Err(InputFault::new(&path, what).refuse(hint));
    }
    Ok(texts)
}

/// Reads files of labels, each with its path. Of several files by one rater for one sheet, each item has its latest label, and the
/// path is that of the first file.
///
/// # Errors
/// [`Error::Input`](scholareval_core::error::Error::Input) with the first fault of every file, which may be two labels of an item at one time;
/// [`Error::Io`](scholareval_core::error::Error::Io) if a file cannot be read.
pub fn load_label_files(paths: &[PathBuf]) -> Result<Vec<(PathBuf, LabelFile)>> {
    let mut files: Vec<(PathBuf, LabelFile)> = Vec::new();
    // The label of each item so far in the list of its page, and its file.
    let mut places: HashMap<(usize, String), (usize, &PathBuf)> = HashMap::new();
    let hint = "name the JSON files that raters downloaded from their pages";
    all(paths.iter().map(|path| {
        let mut file: LabelFile = read(path, "a file of labels", hint)?;
        file.rater = file.rater.trim().to_owned();
        let labels = std::mem::take(&mut file.labels);
        let known = files
            .iter()
            .position(|(_, other)| is_same_page(other, &file));
        let page = known.unwrap_or(files.len());
        if known.is_none() {
            files.push((path.clone(), file));
        }
        let LabelFile {
            rater,
            labels: labels_of_page,
            ..
        } = &mut files[page].1;
        for label in labels {
            let place = places.entry((page, label.item.clone()));
            let place = place.or_insert((labels_of_page.len(), path));
            match labels_of_page.get_mut(place.0) {
                // Times of pages are of one form, in UTC, so that their order is that of the texts.
                Some(earlier) if earlier.at < label.at => {
                    place.1 = path;
                    *earlier = label;
                }
                Some(earlier) if earlier.at == label.at && earlier.label != label.label => {
                    return Err(contradiction(rater, &label.item, [place.1, path]).into());
                }
                Some(_) => {}
                None => labels_of_page.push(label),
            }
        }
        Ok(())
    }))?;
    Ok(files)
}

/// The fault of two labels of one item at one time, in these files or in one of them.
fn contradiction(rater: &str, item: &str, [first, second]: [&Path; 2]) -> InputFault {
    let lines_of = |path: &Path| {
        let text = read_text(path).map(|(text, _)| text).unwrap_or_default();
        let lines = (1..).zip(text.lines());
        let with_item = lines.filter(|(_, line)| line.contains(&format!("{item:?}")));
        with_item.map(|(number, _)| number).collect::<Vec<usize>>()
    };
    let what = format!(
        "two labels of item {item:?} by {} at one time; the other one is at {}:{}",
        rater.escape_debug(),
        first.display(),
        lines_of(first).first().copied().unwrap_or_default()
    );
    let last = lines_of(second).last().copied().unwrap_or_default();
    let fault = InputFault::new(second, what).at_line(last);
    fault.hint("files of labels must stay as they were downloaded")
}

fn is_same_page(first: &LabelFile, second: &LabelFile) -> bool {
    (first.sheet, &first.rater, first.adjudicated)
        == (second.sheet, &second.rater, second.adjudicated)
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
        assert_eq!(
            ann[0].label,
            Some(scholareval_core::domain::GivenLabel::Value(1.0))
        );
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

    #[test]
    fn two_labels_of_an_item_at_one_time_are_an_error_with_both_places_and_spaces_make_no_other_rater()
     {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, rater: &str, labels: &[(&str, f64, &str)]| {
            let path = dir.path().join(name);
            // A label on lines 6 and 10, as pages write them.
            let value: serde_json::Value = serde_json::from_str(&file(rater, labels)).unwrap();
            std::fs::write(&path, serde_json::to_string_pretty(&value).unwrap()).unwrap();
            path
        };
        let first = write("a.json", "ann", &[("x", 0.0, "2026"), ("y", 1.0, "2026")]);
        let second = write("b.json", "ann ", &[("x", 0.0, "2026"), ("y", 0.0, "2026")]);
        let error = load_label_files(&[first.clone(), second.clone()]).unwrap_err();
        let error = error.to_string();
        let line = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).unwrap();
            1 + text
                .lines()
                .position(|line| line.contains("\"y\""))
                .unwrap()
        };
        for place in [
            format!("b.json:{}: two labels of item \"y\" by ann", line(&second)),
            format!("a.json:{};", line(&first)),
        ] {
            assert!(error.contains(&place), "{place} not in {error}");
        }
        let both = write("c.json", "ann", &[("x", 0.0, "2026"), ("x", 1.0, "2026")]);
        assert!(load_label_files(&[both]).is_err());
        let later = write("d.json", " ann", &[("y", 0.0, "2027")]);
        let files = load_label_files(&[first, later]).unwrap();
        assert_eq!((files.len(), &*files[0].1.rater), (1, "ann"));
    }
}

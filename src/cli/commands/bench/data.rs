//! Finds and reads the data file of a row.

use std::path::{Path, PathBuf};

use super::rows::{BenchData, BenchRow};
use crate::dataset::{self, AskedQuestions};
use crate::domain::Mode;
use crate::error::{Error, InputFault, Result};

/// Subdirectories that may hold the layout: a checkout has it under `data`.
const STARTS: [&str; 2] = ["", "data"];

/// The row's data file: `data` itself if it is a file, else the first that exists of the row's paths.
///
/// # Errors
/// [`Error::Input`] when none exists, with the paths, and when a directory holds several files.
pub(super) fn find(row: &BenchRow, data: &Path) -> Result<PathBuf> {
    if data.is_file() {
        return Ok(data.to_path_buf());
    }
    if !data.is_dir() {
        let fault = InputFault::new(data, "no such directory or file");
        return Err(fault.refuse("name ScholarQABench's data directory with --data DIR"));
    }
    for folder in STARTS.iter().flat_map(|start| {
        row.folders
            .iter()
            .map(move |folder| data.join(start).join(folder))
    }) {
        let file = match row.file {
            Some(file) => Some(folder.join(file)).filter(|path| path.is_file()),
            None if folder.is_dir() => only_file(row, &folder)?,
            None => None,
        };
        if let Some(file) = file {
            return Ok(file);
        }
    }
    let what = format!(
        "no data of {}: none of {} is there, nor below data/",
        row.id,
        row.places().join(", ")
    );
    Err(InputFault::new(data, what).refuse("or name the file itself: --data FILE"))
}

/// The only JSONL file of a directory, else its only JSON file; `None` if there is none.
fn only_file(row: &BenchRow, folder: &Path) -> Result<Option<PathBuf>> {
    for extension in ["jsonl", "json"] {
        let entries = std::fs::read_dir(folder).map_err(Error::io(folder, "read"))?;
        let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut files: Vec<PathBuf> = files.collect();
        files.retain(|path| {
            path.is_file() && path.extension().is_some_and(|suffix| suffix == extension)
        });
        files.sort();
        match &files[..] {
            [] => {}
            [file] => return Ok(Some(file.clone())),
            [first, ..] => {
                let what = format!(
                    "{} .{extension} files; which holds the questions of {}?",
                    files.len(),
                    row.id
                );
                let hint = format!("name it: --data {}", first.display());
                return Err(InputFault::new(folder, what).refuse(hint));
            }
        }
    }
    Ok(None)
}

/// Reads the questions of the data file.
///
/// # Errors
/// [`Error::Input`] with every fault of the file.
pub(super) fn load(row: &BenchRow, path: &Path, mode: Mode) -> Result<AskedQuestions> {
    if row.data == BenchData::TestCases {
        return Ok(AskedQuestions::of_test_cases(
            &dataset::load_test_cases(path, mode)?,
            mode,
        ));
    }
    Ok(AskedQuestions::of_predictions(
        dataset::load_predictions(path)?,
        mode,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "{}").unwrap();
        }
        dir
    }

    fn find_in(name: &str, files: &[&str]) -> std::result::Result<String, String> {
        let dir = there(files);
        let path =
            find(BenchRow::of(name).unwrap(), dir.path()).map_err(|error| error.to_string())?;
        Ok(path.strip_prefix(dir.path()).unwrap().display().to_string())
    }

    #[test]
    fn the_layouts_of_the_checkout_its_data_directory_and_flat_files_are_known() {
        for place in [
            "data/single_paper_tasks/scifact_test.jsonl",
            "single_paper_tasks/scifact_test.jsonl",
            "single_paper/scifact_test.jsonl",
            "scifact_test.jsonl",
        ] {
            assert_eq!(
                find_in("scifact", &[place, "pubmed_test.jsonl"]).unwrap(),
                place
            );
        }
        assert_eq!(
            find_in("bio", &["scholar_bio/any.jsonl"]).unwrap(),
            "scholar_bio/any.jsonl"
        );
        assert_eq!(
            find_in("neuro", &["data/scholarqa_neuro/x.json"]).unwrap(),
            "data/scholarqa_neuro/x.json"
        );
    }

    #[test]
    fn missing_data_are_named_with_their_places_and_several_files_are_not_guessed_at() {
        let error = find_in("qasa", &["scifact_test.jsonl"]).unwrap_err();
        assert!(
            error.contains(
                "no data of qasa: none of single_paper_tasks/qasa_test.jsonl, single_paper/"
            ),
            "{error}"
        );
        let error = find_in("bio", &["scholar_bio/a.jsonl", "scholar_bio/b.jsonl"]).unwrap_err();
        assert!(
            error.contains("2 .jsonl files; which holds the questions of bio?; name it: --data "),
            "{error}"
        );
        let error = find(BenchRow::of("bio").unwrap(), Path::new("/nowhere"))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("/nowhere: no such directory or file"),
            "{error}"
        );
    }

    #[test]
    fn a_file_is_taken_as_it_is() {
        let dir = there(&["mine.jsonl"]);
        let path = dir.path().join("mine.jsonl");
        assert_eq!(find(BenchRow::of("bio").unwrap(), &path).unwrap(), path);
    }
}

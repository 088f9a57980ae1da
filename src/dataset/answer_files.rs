//! Which files hold answers: one file, one system.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::domain::SystemName;
use crate::error::{Error, InputFault, Result};

use super::text_file::no_such;

/// The extension of answer files that are found in directories.
const EXTENSION: &str = "jsonl";

/// The extension that is looked for where a directory has none of those: test cases and settings are `.json` too, and
/// may lie beside answers.
const SECOND_EXTENSION: &str = "json";

/// The answer files among `paths` with their systems' names: files as given, directories by their `*.jsonl` in name
/// order. A file that is named twice counts once.
///
/// # Errors
/// Every path that does not exist, every directory without answers, and every two files of one stem.
pub(super) fn answer_files(paths: &[PathBuf]) -> Result<Vec<(SystemName, PathBuf)>> {
    files_among(paths, &[EXTENSION])
}

/// The same, and of a directory without any `*.jsonl` its `*.json`.
///
/// # Errors
/// As [`answer_files`].
pub(super) fn system_files(paths: &[PathBuf]) -> Result<Vec<(SystemName, PathBuf)>> {
    files_among(paths, &[EXTENSION, SECOND_EXTENSION])
}

fn files_among(paths: &[PathBuf], extensions: &[&str]) -> Result<Vec<(SystemName, PathBuf)>> {
    let mut faults = Vec::new();
    let mut files: Vec<(SystemName, PathBuf)> = Vec::new();
    let mut stems: HashMap<String, PathBuf> = HashMap::new();
    if paths.is_empty() {
        return Err(Error::Usage("no answers given; name JSONL files or directories of them".to_owned()));
    }
    for path in paths {
        for file in files_of(path, extensions, &mut faults)? {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            match stems.get(&stem) {
                Some(earlier) if is_same_file(earlier, &file) => {}
                Some(earlier) => {
                    let what = format!(
                        "a second file of the system \"{}\", beside {}",
                        stem.escape_debug(),
                        earlier.display()
                    );
                    faults.push(
                        InputFault::new(&file, what).hint("rename one of the two: a system is named by its file"),
                    );
                }
                None => {
                    stems.insert(stem.clone(), file.clone());
                    files.push((stem.into(), file));
                }
            }
        }
    }
    if faults.is_empty() { Ok(files) } else { Err(Error::Input(faults)) }
}

/// The file, or of a directory those with the first of the extensions that any file has.
fn files_of(path: &Path, extensions: &[&str], faults: &mut Vec<InputFault>) -> Result<Vec<PathBuf>> {
    if !path.exists() {
        faults.push(no_such(path));
        return Ok(Vec::new());
    }
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    for extension in extensions {
        let mut files = files_with(path, extension)?;
        if !files.is_empty() {
            files.sort();
            return Ok(files);
        }
    }
    let fault = InputFault::new(path, format!("no *.{EXTENSION} file in the directory"));
    faults.push(fault.hint("put one file of {case_id, answer_text} lines per system there"));
    Ok(Vec::new())
}

fn files_with(path: &Path, wanted: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(Error::io(path, "read"))? {
        let file = entry.map_err(Error::io(path, "read"))?.path();
        // Hidden files are editors' and archivers' leavings (`._claude.jsonl`).
        let is_hidden = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if file.extension().is_some_and(|extension| extension == wanted) && file.is_file() && !is_hidden {
            files.push(file);
        }
    }
    Ok(files)
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

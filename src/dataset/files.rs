//! Finds systems' files (one file per system) and detects what a file contains.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;

use crate::domain::SystemName;
use crate::error::{Error, InputFault, Result};
use crate::files::is_same_file;

use super::reader::{JsonLine, no_such};

/// Extensions of answer files in directories. Each counts only without any file of those before it, since test cases and
/// settings are `.json` too, and tables `.csv`.
const EXTENSIONS: [&str; 3] = ["jsonl", "json", "csv"];

/// The answer files in `paths` with their systems' names: files as given; of a directory its `*.jsonl`, else its
/// `*.json`, else its `*.csv`, in name order. A repeated file counts once.
///
/// # Errors
/// Every missing path, every directory without answers, and every two files with the same stem.
pub(super) fn system_files(paths: &[PathBuf]) -> Result<Vec<(SystemName, PathBuf)>> {
    if paths.is_empty() {
        return Err(Error::Usage("no answers given; name JSONL files or directories of them".to_owned()));
    }
    let mut faults = Vec::new();
    let mut files: Vec<(SystemName, PathBuf)> = Vec::new();
    for path in paths {
        for file in files_of(path, &mut faults)? {
            let system = SystemName::from(file.file_stem().unwrap_or_default().to_string_lossy().into_owned());
            match files.iter().find(|(name, _)| *name == system) {
                None => files.push((system, file)),
                Some((_, earlier)) if is_same_file(earlier, &file) => {}
                Some((name, earlier)) => {
                    let name = name.as_str().escape_debug();
                    let what = format!("a second file of the system \"{name}\", beside {}", earlier.display());
                    let fault = InputFault::new(&file, what);
                    faults.push(fault.hint("rename one of the two: a system is named by its file"));
                }
            }
        }
    }
    if faults.is_empty() { Ok(files) } else { Err(Error::Input(faults)) }
}

/// The file, or the directory's files with the first extension that occurs.
fn files_of(path: &Path, faults: &mut Vec<InputFault>) -> Result<Vec<PathBuf>> {
    if !path.exists() {
        faults.push(no_such(path));
        return Ok(Vec::new());
    }
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries: Vec<_> = std::fs::read_dir(path).and_then(Iterator::collect).map_err(Error::io(path, "read"))?;
    // Hidden files are leftovers of editors and archivers (`._claude.jsonl`).
    let names = entries.iter().filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let mut files: Vec<PathBuf> = names.map(std::fs::DirEntry::path).filter(|file| file.is_file()).collect();
    files.sort();
    for extension in EXTENSIONS {
        let found: Vec<PathBuf> =
            files.iter().filter(|file| file.extension().is_some_and(|own| own == extension)).cloned().collect();
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let fault = InputFault::new(path, format!("no *.{} file in the directory", EXTENSIONS.join(", *.")));
    faults.push(fault.hint("put one file of {case_id, answer_text} per system there"));
    Ok(Vec::new())
}

/// Content of a file, by the keys of its elements, so that a wrong file is one fault and not one per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `{initial_prompt, metric_config, ..}`.
    TestCases,
    /// `{case_id, answer_text}`.
    Answers,
    /// `{input, output, ..}`.
    Predictions,
}

impl Kind {
    /// Kind of the first element with a key of any kind.
    pub(super) fn of(elements: &[JsonLine<'_>]) -> Option<Self> {
        elements.iter().find_map(|element| {
            let keys: HashMap<String, IgnoredAny> = serde_json::from_str(element.text).ok()?;
            let has = |names: &[&str]| names.iter().any(|name| keys.contains_key(*name));
            // An answer may repeat its question under any name.
            match () {
                () if has(&["metric_config"]) => Some(Self::TestCases),
                () if has(&["answer_text"]) => Some(Self::Answers),
                () if has(&["initial_prompt"]) => Some(Self::TestCases),
                () => has(&["output", "input", "query"]).then_some(Self::Predictions),
            }
        })
    }

    /// Checks that these elements are not of another kind.
    ///
    /// # Errors
    /// What the file looks like, and which option takes it.
    pub(super) fn check(self, elements: &[JsonLine<'_>], path: &Path) -> Result<(), InputFault> {
        let Some(found) = Self::of(elements).filter(|found| *found != self) else { return Ok(()) };
        let looks = match found {
            Self::TestCases => "test cases {initial_prompt, case_id, metric_config}",
            Self::Answers => "answers {case_id, answer_text}",
            Self::Predictions => "predictions {input, output, ..}",
        };
        let hint = match self {
            Self::TestCases => "give it as ANSWERS, and a file of test cases as --tests FILE",
            Self::Answers => "give it as --tests FILE, and here what a system wrote",
            Self::Predictions => {
                "expected {input, output, ..}; score takes test cases as --tests FILE, answers as ANSWERS"
            }
        };
        Err(InputFault::new(path, format!("looks like a file of {looks}")).hint(hint))
    }
}

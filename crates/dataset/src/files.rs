//! Finds systems' files (one file per system) and detects what a file contains.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;

use scholareval_core::domain::SystemName;
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::{is_same_file, no_such};
use scholareval_core::text::names::{list, suggest};

use super::reader::{JsonLine, all, no_faults};

/// Extensions of answer files in directories. Of several, the first that occurs counts: test cases and settings are
/// `.json` too, and tables `.csv`.
const EXTENSIONS: [&str; 3] = ["jsonl", "json", "csv"];

/// Maximum number of skipped files to list in a note.
const SHOWN: usize = 5;

/// A system and its file.
pub(super) type SystemFile = (SystemName, PathBuf);

/// The answer files in `paths`: files as given; of a directory its `*.jsonl`, else its `*.json`, else its `*.csv`, in
/// name order. A repeated file counts once. With `names` only these systems (with or without
/// `.jsonl`), in this order. The
/// notes name the files that are skipped.
///
/// # Errors
/// Every missing path, every directory without answers, every two files with the same stem, and unknown names.
pub(super) fn system_files(
    paths: &[PathBuf],
    names: &[String],
) -> Result<(Vec<SystemFile>, Vec<String>)> {
    if paths.is_empty() {
        return Err(Error::Usage(
            "no answers given; name JSONL files or directories of them".to_owned(),
        ));
    }
    let mut notes = Vec::new();
    let files_of_paths = all(paths.iter().map(|path| files_of(path, &mut notes)))?;
    let mut files: Vec<SystemFile> = Vec::new();
    let mut faults = Vec::new();
    for file in files_of_paths.concat() {
        let system = SystemName::from(
            file.file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        );
        match files.iter().find(|(name, _)| *name == system) {
            None => files.push((system, file)),
            Some((_, earlier)) if is_same_file(earlier, &file) => {}
            Some((name, earlier)) => {
                let name = name.as_str().escape_debug();
                let what = format!(
                    "a second file of the system \"{name}\", beside {}",
                    earlier.display()
                );
                let fault = InputFault::new(&file, what);
                faults.push(fault.hint("rename one of the two: a system is named by its file"));
            }
        }
    }
    no_faults(faults)?;
    if names.is_empty() {
        return Ok((files, notes));
    }
    let chosen = chosen(&files, names)?;
    let skipped = files
        .iter()
        .filter(|file| !chosen.contains(file))
        .map(|(system, _)| system.as_str());
    let skipped: Vec<&str> = skipped.collect();
    if !skipped.is_empty() {
        notes.push(format!(
            "skipped, not among --systems: {}",
            list(skipped, SHOWN)
        ));
    }
    Ok((chosen, notes))
}

fn chosen(files: &[SystemFile], names: &[String]) -> Result<Vec<SystemFile>> {
    let mut chosen = Vec::new();
    let mut unknown = Vec::new();
    for name in names {
        // Match a stem that itself ends in `.jsonl` first.
        let file = by_name(files, name).or_else(|| by_name(files, name.strip_suffix(".jsonl")?));
        match file {
            Some(file) if chosen.contains(file) => {}
            Some(file) => chosen.push(file.clone()),
            None => {
                let hint = suggest(name, files.iter().map(|(system, _)| system.as_str()));
                unknown.push(format!(
                    "unknown system \"{}\"; {hint}",
                    name.escape_debug()
                ));
            }
        }
    }
    if unknown.is_empty() {
        Ok(chosen)
    } else {
        Err(Error::Settings(unknown.join("\n")))
    }
}

fn by_name<'a>(files: &'a [SystemFile], name: &str) -> Option<&'a SystemFile> {
    files.iter().find(|(system, _)| system.as_str() == name)
}

/// The file, or the directory's files with the first extension that occurs. A note names those with the others.
fn files_of(path: &Path, notes: &mut Vec<String>) -> Result<Vec<PathBuf>> {
    if !path.exists() {
        return Err(no_such(path).into());
    }
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries: Vec<_> = std::fs::read_dir(path)
        .and_then(Iterator::collect)
        .map_err(Error::io(path, "read"))?;
    // Hidden files are leftovers of editors and archivers (`._claude.jsonl`).
    let names = entries
        .iter()
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let mut files: Vec<PathBuf> = names
        .map(std::fs::DirEntry::path)
        .filter(|file| !file.is_dir())
        .collect();
    // The order of a directory differs between file systems, and the order of systems is that of
    // tables and records.
    files.sort();
    let has =
        |file: &PathBuf, extension: &str| file.extension().is_some_and(|other| other == extension);
    let Some(kind) = EXTENSIONS
        .into_iter()
        .find(|kind| files.iter().any(|file| has(file, kind)))
    else {
        let fault = InputFault::new(
            path,
            format!("no *.{} file in the directory", EXTENSIONS.join(", *.")),
        );
        return Err(fault.refuse("put one file of {case_id, answer_text} per system there"));
    };
    files.retain(|file| EXTENSIONS.iter().any(|kind| has(file, kind)));
    let (files, others): (Vec<PathBuf>, Vec<PathBuf>) =
        files.into_iter().partition(|file| has(file, kind));
    if !others.is_empty() {
        let others: Vec<_> = others
            .iter()
            .filter_map(|file| file.file_name()?.to_str())
            .collect();
        notes.push(format!(
            "skipped in {}, which has *.{kind}: {}",
            path.display(),
            list(others, SHOWN)
        ));
    }
    Ok(files)
}

/// Content of a file, by the keys of its elements, so that a wrong file is one fault and not one per line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// `{initial_prompt, metric_config, ..}`.
    TestCases,
    /// `{case_id, answer_text}`.
    Answers,
    /// `{input, output, ..}`.
    Predictions,
}

impl FileKind {
    /// Kind of the first element with a key of any kind.
    pub(super) fn of(elements: &[JsonLine<'_>]) -> Option<Self> {
        elements.iter().find_map(|element| {
            let keys: HashMap<String, IgnoredAny> = serde_json::from_str(element.text).ok()?;
            Self::of_keys(&keys)
        })
    }

    /// The kind of a file with these keys. An answer may repeat its question under any name.
    fn of_keys(keys: &HashMap<String, IgnoredAny>) -> Option<Self> {
        let has = |name: &str| keys.contains_key(name);
        if has("metric_config") {
            Some(Self::TestCases)
        } else if has("answer_text") {
            Some(Self::Answers)
        } else if has("initial_prompt") {
            Some(Self::TestCases)
        } else {
            let mut names = ["output", "input", "query"].into_iter();
            names.any(has).then_some(Self::Predictions)
        }
    }

    /// Checks that these elements are not of another kind.
    ///
    /// # Errors
    /// What the file looks like, and which option takes it.
    pub(super) fn check(self, elements: &[JsonLine<'_>], path: &Path) -> Result<(), InputFault> {
        let Some(form) = Self::of(elements).filter(|form| *form != self) else {
            return Ok(());
        };
        let looks = match form {
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

//! Finds run directories: a path is a run itself, or a directory of runs.

use std::collections::HashSet;
use std::fs::DirEntry;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, InputFault, Result};
use crate::record::{Manifest, RunStatus};

/// The directories of runs that these paths name, in order, each once, and a line about each run that was skipped: a
/// directory that has no manifest itself stands for the finished runs in it, sorted by name.
///
/// # Errors
/// When a directory is not a run and contains none, or none that is finished.
pub fn run_directories(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<String>)> {
    let mut runs: Vec<PathBuf> = Vec::new();
    let mut skipped = Vec::new();
    for path in paths {
        runs.extend(runs_within(path, &mut skipped)?);
    }
    let mut seen = HashSet::new();
    // A run that is named twice would be compared with itself, and be perfectly equal.
    runs.retain(|run| seen.insert(run.canonicalize().unwrap_or_else(|_| run.clone())));
    Ok((runs, skipped))
}

/// The path if it is a run, else the finished runs in it.
fn runs_within(path: &Path, skipped: &mut Vec<String>) -> Result<Vec<PathBuf>> {
    // A path that does not exist counts as a run, so that the error names its missing manifest.
    if is_run(path) || !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let all = runs_in(path)?;
    let mut finished = Vec::new();
    for run in &all {
        match why_unfinished(run) {
            None => finished.push(run.clone()),
            Some(why) => skipped.push(format!("skipped {}: {why}", run.display())),
        }
    }
    if !finished.is_empty() {
        return Ok(finished);
    }
    let what = if all.is_empty() {
        "neither a run (no manifest.json) nor a directory of runs"
    } else {
        "none of the runs in it is finished"
    };
    Err(InputFault::new(path, what)
        .refuse("name the directory of a run (score prints it at the end)"))
}

/// Why the run cannot stand for itself in a directory of runs; `None` if it is finished.
fn why_unfinished(run: &Path) -> Option<String> {
    match Manifest::of_run(run) {
        Ok(manifest) if manifest.status == RunStatus::Complete => damaged_file(run, &manifest),
        Ok(manifest) => Some(format!(
            "it {}; run score once more to finish it",
            end_of(manifest.status)
        )),
        Err(error) => Some(error.to_string()),
    }
}

/// A file of a finished run that is missing or has another length than when the run ended, which no command could read.
fn damaged_file(run: &Path, manifest: &Manifest) -> Option<String> {
    let mut files = manifest.files.iter();
    let (name, _) = files.find(|(name, stamp)| {
        let length = run.join(name).metadata().map(|metadata| metadata.len());
        **name != "calls.jsonl" && length.ok() != Some(stamp.bytes)
    })?;
    Some(format!("its {name} is missing or was changed"))
}

/// The runs in a directory, sorted by name, with those that cannot be read; a run itself.
pub(super) fn runs_in(directory: &Path) -> Result<Vec<PathBuf>> {
    if is_run(directory) {
        return Ok(vec![directory.to_path_buf()]);
    }
    let entries = std::fs::read_dir(directory).and_then(Iterator::collect);
    let entries: Vec<DirEntry> = entries.map_err(Error::io(directory, "read"))?;
    let mut runs = Vec::new();
    for entry in entries {
        let path = entry.path();
        if holds_record(&path) {
            runs.push(path);
        }
    }
    // The file system's order differs between machines, and with it the order of runs in a table.
    runs.sort();
    Ok(runs)
}

fn is_run(path: &Path) -> bool {
    path.join("manifest.json").is_file()
}

/// Whether this is a run or what is left of one. Without its manifest, behind a broken link or a lock it is a run that cannot be
/// read: were it no run, a gate over its directory would pass without it.
fn holds_record(path: &Path) -> bool {
    let mut names = ["manifest.json", "calls.jsonl", "scores.jsonl"].into_iter();
    let is_missing = [ErrorKind::NotFound, ErrorKind::NotADirectory];
    path.is_symlink() && !path.exists()
        || names.any(|name| match path.join(name).symlink_metadata() {
            Ok(_) => true,
            Err(error) => !is_missing.contains(&error.kind()),
        })
}

/// What happened to a run, as the predicate of a sentence.
pub(super) fn end_of(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Complete => "is complete",
        RunStatus::Stopped => "was stopped early",
        RunStatus::Running => "did not finish (or is still running)",
    }
}

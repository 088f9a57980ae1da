//! Reading the runs that a command line names.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::analysis::comparison::{Asked, RunAnswers};
use crate::cli::settings::{Slice, keys};
use crate::domain::{CaseId, SystemName};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::record::{RecordedRun, RunStatus, load_run};
use crate::text::words::word_count;

/// Reads these runs, in this order, each once; a directory that is no run but holds some stands for those, sorted by name.
/// Runs of one name are called by their paths.
///
/// # Errors
/// When a directory is no run and holds none, or a file of a run cannot be read; the error names it.
pub(in crate::cli) fn load_runs(paths: &[PathBuf]) -> Result<Vec<RecordedRun>> {
    let mut directories: Vec<PathBuf> = Vec::new();
    for path in paths {
        for directory in run_directories(path)? {
            let is_known = |known: &PathBuf| match (known.canonicalize(), directory.canonicalize()) {
                (Ok(known), Ok(new)) => known == new,
                _ => *known == directory,
            };
            if !directories.iter().any(is_known) {
                directories.push(directory);
            }
        }
    }
    let mut runs = directories.iter().map(|directory| load_run(directory)).collect::<Result<Vec<_>>>()?;
    name_apart(&mut runs);
    Ok(runs)
}

/// The path if it is a run, else the runs in it.
fn run_directories(path: &Path) -> Result<Vec<PathBuf>> {
    if is_run(path) || !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(Error::io(path, "read"))? {
        found.push(entry.map_err(Error::io(path, "read"))?.path());
    }
    found.retain(|path| is_run(path));
    found.sort();
    if found.is_empty() {
        return Err(InputFault::new(path, "neither a run (no manifest.json) nor a directory of runs")
            .hint("name the directory of a run (score tells it at the end)")
            .into());
    }
    Ok(found)
}

fn is_run(path: &Path) -> bool {
    path.join("manifest.json").is_file()
}

/// Every run gets a name of its own.
fn name_apart(runs: &mut [RecordedRun]) {
    let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    for run in runs {
        if names.iter().filter(|name| **name == run.name).count() > 1 {
            run.name = run.path.display().to_string();
        }
    }
}

/// What a comparison is made from: the scores of each run, and how many words the answers have that it holds (what their
/// systems wrote, without an appended block of references).
pub(in crate::cli) fn answers_of(runs: &[RecordedRun]) -> Vec<RunAnswers<'_>> {
    let words = |run: &RecordedRun| -> HashMap<_, _> {
        let of = |item: &crate::evaluation::Item| {
            let key = (item.answer.system.clone(), item.answer.case_id.clone());
            (key, word_count(item.answer.own_text()))
        };
        run.items.iter().map(of).collect()
    };
    runs.iter()
        .map(|run| RunAnswers { name: &run.name, scored: &run.scored, words: words(run), asked: asked(run) })
        .collect()
}

/// What the run asked: the test cases it kept, and who has no answer to which of them. `None` where it tells no test cases
/// (it had none, or is imported from results that do not name them).
fn asked(run: &RecordedRun) -> Option<Asked> {
    let manifest = &run.manifest;
    let kept: HashSet<CaseId> = manifest.kept_cases.iter().map(|case| case.as_str().into()).collect();
    if kept.is_empty() {
        return None;
    }
    // The rubric's answers are paired with the test cases, so the record lists what is missing; but of a run that stopped
    // without its inputs nobody knows what else has no score.
    let is_known = manifest.status == RunStatus::Complete || !run.items.is_empty();
    let unanswered = if manifest.scorers.iter().any(|scorer| scorer == "rubric") && is_known {
        manifest.missing.iter().map(|(system, case)| (system.as_str().into(), case.as_str().into())).collect()
    } else {
        without_a_score(run, &kept)
    };
    Some(Asked { kept, unanswered })
}

/// The kept cases, or those of its slice, that each system has no score for.
fn without_a_score(run: &RecordedRun, kept: &HashSet<CaseId>) -> HashSet<(SystemName, CaseId)> {
    let slice = run.manifest.settings.get(keys::SLICE.name).and_then(|slice| Slice::recorded(slice.as_str()?));
    let scored: HashSet<(&SystemName, &CaseId)> =
        run.scored.iter().map(|answer| (&answer.system, &answer.case.case_id)).collect();
    let systems: HashSet<&SystemName> = scored.iter().map(|(system, _)| *system).collect();
    let all = systems.into_iter().flat_map(|system| kept.iter().map(move |case| (system, case)));
    let lacks = all.filter(|pair| !scored.contains(pair) && slice.is_none_or(|slice| slice.holds(pair.0, pair.1)));
    lacks.map(|(system, case)| (system.clone(), case.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_runs_says_what_to_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let error = load_runs(&[dir.path().to_path_buf()]).expect_err("no run").to_string();
        assert!(error.contains("nor a directory of runs") && error.contains("name the directory of a run"), "{error}");
        let missing = load_runs(&[dir.path().join("missing")]).expect_err("nothing there").to_string();
        assert!(missing.contains("holds no manifest.json"), "{missing}");
    }

    #[test]
    fn a_directory_of_runs_stands_for_its_runs_by_name() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["b", "a", "no_run"] {
            std::fs::create_dir(dir.path().join(name)).expect("made");
        }
        for name in ["b", "a"] {
            std::fs::write(dir.path().join(name).join("manifest.json"), "{}").expect("written");
        }
        let found = run_directories(dir.path()).expect("runs");
        assert_eq!(found, ["a", "b"].map(|name| dir.path().join(name)));
        assert_eq!(run_directories(&found[0]).expect("a run"), found[..1]);
    }
}

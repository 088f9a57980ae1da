//! The runs in a directory at a glance. Of each run, only the manifest is read.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::directories::runs_in;
use crate::analysis::{OnUnscored, distinct};
use crate::error::{InputFault, Result};
use crate::record::{Headline, Manifest, RunStatus};

/// A run in a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ListedRun {
    /// Its directory.
    pub run: PathBuf,
    /// `complete`, `decided` (ended at a look, `--until`), `stopped`, `unfinished` (running, or killed) or `damaged`.
    pub status: &'static str,
    /// RFC 3339, UTC; of a damaged run empty, as all that follows.
    pub started_at: String,
    /// The models of its judges, and those that answered under another name; empty without a judge.
    pub judge: String,
    /// The systems.
    pub systems: Vec<String>,
    /// The cases in use.
    pub cases: usize,
    /// How unscored answers count in its scores.
    pub on_unscored: OnUnscored,
    /// The score of a complete run.
    #[serde(flatten)]
    pub headline: Option<Headline>,
    /// Why the run cannot be read.
    pub problem: Option<String>,
}

/// The runs in a directory (or the run that it is), newest first, damaged ones last.
///
/// # Errors
/// When the directory cannot be read, or is not a run and contains none.
pub fn list_runs(directory: &Path) -> Result<Vec<ListedRun>> {
    let mut runs: Vec<ListedRun> = runs_in(directory)?.into_iter().map(listed).collect();
    if runs.is_empty() {
        let fault = InputFault::new(directory, "no runs in this directory");
        return Err(fault.refuse("name the directory that holds runs: scholareval runs DIR"));
    }
    runs.sort_by(|a, b| {
        // RFC 3339 in UTC sorts as text.
        b.started_at
            .cmp(&a.started_at)
            .then_with(|| a.run.cmp(&b.run))
    });
    Ok(runs)
}

fn listed(run: PathBuf) -> ListedRun {
    let manifest = match Manifest::of_run(&run) {
        Ok(manifest) => manifest,
        Err(error) => {
            return ListedRun {
                run,
                status: "damaged",
                // A damaged run is a row, not an error: the others can still be listed.
                problem: Some(error.to_string()),
                ..ListedRun::default()
            };
        }
    };
    let labels = manifest.answered_judges().into_iter().map(|judge| {
        if judge.is_lexical {
            "lexical".to_owned()
        } else {
            judge.label()
        }
    });
    let names = distinct(labels);
    ListedRun {
        status: match manifest.status {
            RunStatus::Complete if manifest.ending_looks().is_some() => "decided",
            RunStatus::Complete => "complete",
            RunStatus::Stopped => "stopped",
            RunStatus::Running => "unfinished",
        },
        judge: names.join(" and "),
        systems: manifest.systems().map(str::to_owned).collect(),
        cases: manifest
            .asked_cases()
            .map_or(manifest.kept_cases.len(), |cases| cases.len()),
        started_at: manifest.started_at,
        on_unscored: manifest.policy.on_unscored,
        headline: manifest.headline,
        run,
        problem: None,
    }
}

//! The runs in a directory at a glance. Of each run, only the manifest and the summary are read.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::{Manifest, RunStatus};
use super::run_set::runs_in;
use super::run_settings::judged_roles;
use crate::analysis::headline;
use crate::domain::Unit;
use crate::error::{InputFault, Result};

/// A run in a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ListedRun {
    /// Its directory.
    pub run: PathBuf,
    /// `complete`, `stopped`, `unfinished` (running, or killed) or `damaged`.
    pub status: &'static str,
    /// RFC 3339, UTC; of a damaged run empty, as all that follows.
    pub started_at: String,
    /// The models of its judges; empty without a judge.
    pub judge: String,
    /// The systems.
    pub systems: Vec<String>,
    /// Cases with an answer of any system.
    pub cases: Option<u64>,
    /// The first headline metric of a run with scores.
    pub metric: Option<String>,
    /// The unit of the metric.
    pub unit: Option<Unit>,
    /// The system with the highest mean.
    pub best_system: Option<String>,
    /// Its mean.
    pub score: Option<f64>,
    /// Why the run, or its summary, cannot be read.
    pub problem: Option<String>,
}

/// The runs in a directory (or the run that it is), newest first, damaged ones last.
///
/// # Errors
/// When the directory cannot be read, or is no run and contains none.
pub fn list_runs(directory: &Path) -> Result<Vec<ListedRun>> {
    let mut runs: Vec<ListedRun> = runs_in(directory)?.into_iter().map(listed).collect();
    if runs.is_empty() {
        let fault = InputFault::new(directory, "no runs in this directory");
        return Err(fault.hint("name the directory that holds runs: scholareval runs DIR").into());
    }
    runs.sort_by(|a, b| b.started_at.cmp(&a.started_at).then_with(|| a.run.cmp(&b.run)));
    Ok(runs)
}

fn listed(run: PathBuf) -> ListedRun {
    let manifest = match Manifest::of_run(&run) {
        Ok(manifest) => manifest,
        Err(error) => {
            return ListedRun { run, status: "damaged", problem: Some(error.to_string()), ..ListedRun::default() };
        }
    };
    let mut judges: Vec<String> = Vec::new();
    for judge in judged_roles(&manifest).into_values().flat_map(|role| role.judges) {
        let name = if judge.lexical { "lexical".to_owned() } else { judge.model.unwrap_or(judge.id) };
        if !judges.contains(&name) {
            judges.push(name);
        }
    }
    let listed = ListedRun {
        status: match manifest.status {
            RunStatus::Complete => "complete",
            RunStatus::Stopped => "stopped",
            RunStatus::Running => "unfinished",
        },
        started_at: manifest.started_at.clone(),
        judge: judges.join(" and "),
        systems: manifest.systems().map(str::to_owned).collect(),
        cases: Some(manifest.kept_cases.len() as u64).filter(|cases| *cases > 0),
        run,
        ..ListedRun::default()
    };
    // The summary of a run that was continued is that of the session before.
    if manifest.status == RunStatus::Running { listed } else { with_scores(listed, &manifest) }
}

fn with_scores(listed: ListedRun, manifest: &Manifest) -> ListedRun {
    let path = listed.run.join("summary.json");
    let read = std::fs::read(&path).map_err(|error| error.to_string());
    let summary = read.and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
    let summary: Value = match summary {
        Ok(summary) => summary,
        Err(error) => {
            let problem = format!("{}: {error}; scholareval rescore writes it again", path.display());
            return ListedRun { problem: Some(problem), ..listed };
        }
    };
    let scorers = list(&summary["scorers"]).iter();
    let columns = scorers.flat_map(|scorer| list(&scorer["columns"]).iter().map(move |column| (scorer, column)));
    let columns: Vec<(&Value, &Value)> = columns.collect();
    let metrics = columns.iter().map(|(scorer, column)| {
        let unit = Unit::deserialize(&column["unit"]).unwrap_or(Unit::Count);
        (scorer["scorer"].as_str().unwrap_or_default(), column["name"].as_str().unwrap_or_default(), unit)
    });
    let metrics: Vec<(&str, &str, Unit)> = metrics.collect();
    let Some(at) = headline(manifest.row(), &metrics).first().copied() else { return listed };
    let (_, name, unit) = metrics[at];
    let mean = |row: &Value| Some((row["system"].as_str()?.to_owned(), row["metrics"][name]["estimate"].as_f64()?));
    let best = list(&columns[at].0["rows"]).iter().filter_map(mean).max_by(|a, b| a.1.total_cmp(&b.1));
    let (best_system, score) = best.unzip();
    let cases = summary["cases"].as_u64();
    ListedRun { cases, metric: Some(name.to_owned()), unit: Some(unit), best_system, score, ..listed }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

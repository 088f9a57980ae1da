//! Recorded runs side by side, for `compare` and `report`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::analysis::comparison::{
    ComparedRun, Comparison, ComparisonOptions, JudgeChange, JudgedRole, MetricComparison,
    Observations, ObservedSystem, RunAnswers, RunChange, compare, judge_changes, observe,
    run_changes,
};
use crate::analysis::{Criteria, OnUnscored, criteria};
use crate::dataset::{load_labels, with_text};
use crate::domain::{CaseId, Component, Item, ScoredAnswer, SystemName, UnscoredKind};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::Slice;
use crate::record::{
    AnsweredJudge, IMPORTED, Manifest, RecordedRun, RunStatus, load_run, setting_differences,
};
use crate::text::names::counted;
use crate::text::words::word_count;

/// Recorded runs that are comparable, or compared despite differences.
#[derive(Debug, Clone)]
pub struct RunSet {
    /// The runs, each with a unique name.
    pub runs: Vec<RecordedRun>,
    /// Run settings that affect scores and differ.
    differences: Vec<String>,
    /// Systems that are not in every run, if runs are compared system by system.
    left_out: Vec<String>,
}

impl RunSet {
    /// Reads the runs that [`run_directories`] finds. Runs with equal names are named by their paths. `anyway` allows
    /// different run settings.
    ///
    /// # Errors
    /// - As [`run_directories`], or a file of a run cannot be read.
    /// - Without `anyway`: run settings that affect scores differ (each with its values and runs).
    pub fn open(paths: &[PathBuf], anyway: bool) -> Result<Self> {
        Self::of(Self::load(paths)?, anyway, false)
    }

    /// Reads runs of the same answers by different judges; systems that are not in every run are left out.
    ///
    /// # Errors
    /// As [`RunSet::open`]; for fewer than two runs, without a common system, and if an answer is not the same in all runs.
    pub fn open_across_judges(paths: &[PathBuf], anyway: bool) -> Result<Self> {
        let mut runs = Self::load(paths)?;
        let (old, others) = first_and_others(
            &runs,
            "--across judges takes two runs: by the old judge and by the new one",
        )?;
        others
            .iter()
            .try_for_each(|new| require_same_answers(old, new))?;
        let left_out = keep_common_systems(&mut runs, "score the same answers by both judges")?;
        Ok(Self {
            left_out,
            ..Self::of(runs, anyway, true)?
        })
    }

    /// Reads runs of the same systems, such as at two dates; systems that are not in every run are left out.
    ///
    /// # Errors
    /// As [`RunSet::open`]; for fewer than two runs, and without a common system.
    pub fn open_across_runs(paths: &[PathBuf], anyway: bool) -> Result<Self> {
        let mut runs = Self::load(paths)?;
        first_and_others(
            &runs,
            "--across runs takes two runs: the earlier one and the later one",
        )?;
        let left_out = keep_common_systems(
            &mut runs,
            "the answers of a system need the same file name in both runs",
        )?;
        Ok(Self {
            left_out,
            ..Self::of(runs, anyway, false)?
        })
    }

    fn load(paths: &[PathBuf]) -> Result<Vec<RecordedRun>> {
        let (directories, _) = run_directories(paths)?;
        let mut runs = directories
            .iter()
            .map(|directory| load_run(directory))
            .collect::<Result<Vec<_>>>()?;
        let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
        for run in &mut runs {
            if names.iter().filter(|name| **name == run.name).count() > 1 {
                run.name = run.path.display().to_string();
            }
        }
        Ok(runs)
    }

    fn of(runs: Vec<RecordedRun>, anyway: bool, across_judges: bool) -> Result<Self> {
        let all: Vec<usize> = (0..runs.len()).collect();
        let differences = differences(&runs, &[all], anyway, across_judges)?;
        Ok(Self {
            differences,
            runs,
            left_out: Vec::new(),
        })
    }

    /// Checks again, but only runs that have values of one of these metrics: runs of different scorers may differ.
    ///
    /// # Errors
    /// Without `anyway`: run settings that affect scores differ.
    pub fn check_metrics(
        &mut self,
        metrics: &[MetricComparison],
        systems: &[ObservedSystem],
        anyway: bool,
    ) -> Result<()> {
        let runs_of = |metric: &MetricComparison| -> Vec<usize> {
            let with_values = metric.systems.iter().filter(|system| system.own_cases > 0);
            with_values
                .map(|system| systems[system.system].run)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect()
        };
        self.differences = differences(
            &self.runs,
            &metrics.iter().map(runs_of).collect::<Vec<_>>(),
            anyway,
            false,
        )?;
        Ok(())
    }

    /// A run whose scores are at hand.
    pub fn single(name: &str, manifest: &Manifest, scored: &[Arc<ScoredAnswer>]) -> Self {
        let (name, manifest, scored) = (name.to_owned(), manifest.clone(), scored.to_vec());
        let run = RecordedRun {
            path: PathBuf::new(),
            name,
            manifest,
            items: Vec::new(),
            scored,
        };
        Self {
            runs: vec![run],
            differences: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// The scores of these runs, with word counts and missing answers.
    ///
    /// # Errors
    /// When a text cannot be read.
    pub fn observe(&self) -> Result<Observations> {
        let word_counts = |run: &RecordedRun| {
            let words = |item: &Item| {
                let key = (item.answer.system.clone(), item.answer.case_id.clone());
                Ok((key, word_count(with_text(item)?.answer.own_text())))
            };
            run.items
                .iter()
                .map(words)
                .collect::<Result<HashMap<_, _>>>()
        };
        let answers = self.runs.iter().map(|run| {
            let RecordedRun { name, scored, .. } = run;
            Ok(RunAnswers {
                name,
                scored,
                words: word_counts(run)?,
                unanswered: missing_answers(run),
                on_unscored: run.manifest.policy.on_unscored,
            })
        });
        let answers = answers.collect::<Result<Vec<_>>>()?;
        let rows: BTreeSet<Option<&str>> = self.runs.iter().map(|run| run.manifest.row()).collect();
        let row = rows.first().copied().flatten().filter(|_| rows.len() == 1);
        Ok(Observations {
            row: row.map(str::to_owned),
            ..observe(&answers)
        })
    }

    /// Statistics of every criterion, with its agreement with the item labels in these files.
    ///
    /// # Errors
    /// When labels cannot be read, are of no criterion in the run, or are given for several runs.
    pub fn criteria(&self, labels: &[PathBuf]) -> Result<Criteria> {
        if !labels.is_empty() && self.runs.len() > 1 {
            let what =
                "--labels needs a single run: in several, a label may be of more than one answer";
            return Err(Error::Settings(what.to_owned()));
        }
        let people = load_labels(labels)?;
        let scored: Vec<&[Arc<ScoredAnswer>]> =
            self.runs.iter().map(|run| run.scored.as_slice()).collect();
        let mut criteria = criteria(&scored, &people.raters);
        if let Some(path) = labels
            .first()
            .filter(|_| criteria.criteria.iter().all(|row| row.labels == 0))
        {
            let fault = InputFault::new(path, "no label of a person is of a criterion in the run");
            return Err(fault
                .hint("write system, case_id and item (the criterion's name) as in items.csv")
                .into());
        }
        criteria.notes.extend(people.notes);
        Ok(criteria)
    }

    /// The systems of these runs compared by these observations.
    pub fn compare(&self, observations: &Observations, options: &ComparisonOptions) -> Comparison {
        let compared = |run: &RecordedRun| ComparedRun {
            name: run.name.clone(),
            unfinished: unfinished(run),
            unscored_as_zero: run.manifest.policy.on_unscored == OnUnscored::Zero
                && has_unscored(run),
            answered_by_others: answered_by_others(&run.manifest),
        };
        let manifests: Vec<_> = self
            .runs
            .iter()
            .map(|run| (run.name.as_str(), &run.manifest))
            .collect();
        Comparison {
            runs: self.runs.iter().map(compared).collect(),
            differences: self.differences.clone(),
            left_out: self.left_out.clone(),
            judged_by: judged_by(&manifests),
            ..compare(observations, options)
        }
    }

    /// What changes from the judge of the first run to that of each other one, by these observations.
    ///
    /// # Errors
    /// When no metric has values of both judges on two or more shared questions.
    pub fn compare_judges(
        &self,
        observations: Observations,
        options: &ComparisonOptions,
    ) -> Result<Comparison> {
        let run = |at: usize| (at, self.runs[at].name.as_str());
        let changes = (1..self.runs.len())
            .flat_map(|new| judge_changes(&observations, [run(0), run(new)], options));
        let judge_changes: Vec<JudgeChange> = changes.collect();
        if judge_changes.is_empty() {
            let what = "no metric has values of both judges on two or more shared questions";
            return Err(InputFault::new(&self.runs[1].path, what)
                .hint("choose another --metric")
                .into());
        }
        Ok(Comparison {
            judge_changes,
            ..self.compare(&observations.without_metrics(), options)
        })
    }

    /// What changes from the first run to each other one, by these observations.
    ///
    /// # Errors
    /// When no metric has values of both runs on two or more shared questions.
    pub fn compare_runs(
        &self,
        observations: Observations,
        options: &ComparisonOptions,
    ) -> Result<Comparison> {
        let run = |at: usize| (at, self.runs[at].name.as_str());
        let run_changes: Vec<RunChange> = (1..self.runs.len())
            .flat_map(|new| run_changes(&observations, [run(0), run(new)], options))
            .collect();
        if run_changes.is_empty() {
            let what = "no metric has values of both runs on two or more shared questions";
            return Err(InputFault::new(&self.runs[1].path, what)
                .hint("choose another --metric")
                .into());
        }
        Ok(Comparison {
            run_changes,
            ..self.compare(&observations.without_metrics(), options)
        })
    }
}

/// The first run and the others.
///
/// # Errors
/// When there are no others: `usage` says what is needed.
fn first_and_others<'a>(
    runs: &'a [RecordedRun],
    usage: &str,
) -> Result<(&'a RecordedRun, &'a [RecordedRun])> {
    runs.split_first()
        .filter(|(_, others)| !others.is_empty())
        .ok_or_else(|| Error::Usage(usage.to_owned()))
}

/// Keeps the systems that are in every run; returns the names of the others.
///
/// # Errors
/// When there is none.
fn keep_common_systems(runs: &mut [RecordedRun], hint: &str) -> Result<Vec<String>> {
    let by_run: Vec<HashSet<SystemName>> = runs
        .iter()
        .map(|run| run.systems().into_iter().collect())
        .collect();
    let all: BTreeSet<&SystemName> = by_run.iter().flatten().collect();
    let (common, others): (HashSet<&SystemName>, Vec<&SystemName>) = {
        let is_common = |system: &&SystemName| by_run.iter().all(|own| own.contains(*system));
        let (common, others): (Vec<&SystemName>, Vec<_>) = all.into_iter().partition(is_common);
        (common.into_iter().collect(), others)
    };
    if common.is_empty() {
        let what = format!("no system of {} is in this run", runs[0].name);
        let path = &runs[runs.len() - 1].path;
        return Err(InputFault::new(path, what).hint(hint).into());
    }
    for run in runs {
        run.scored.retain(|own| common.contains(&own.system));
    }
    Ok(others.into_iter().map(ToString::to_string).collect())
}

/// # Errors
/// When the answers of a run are not recorded, or one that both runs have is another one (text or sources).
fn require_same_answers(old: &RecordedRun, new: &RecordedRun) -> Result<()> {
    let answers = |run: &RecordedRun| -> BTreeMap<_, _> {
        let of = |Item { answer: own, .. }: &Item| {
            (
                (own.system.clone(), own.case_id.clone()),
                (own.text_hash(), own.prediction.clone()),
            )
        };
        run.items.iter().map(of).collect()
    };
    let (own, others) = (answers(old), answers(new));
    if let Some(run) = [old, new].into_iter().find(|run| run.items.is_empty()) {
        let fault = InputFault::new(
            &run.path,
            "the answers are not recorded, so they may be others",
        );
        return Err(fault.hint("score again without --no-inputs").into());
    }
    let is_other = |key: &&(SystemName, CaseId)| {
        others
            .get(*key)
            .is_some_and(|other| own.get(*key) != Some(other))
    };
    let differ: Vec<_> = own.keys().filter(is_other).collect();
    let Some((system, case)) = differ.first() else {
        return Ok(());
    };
    let what = format!(
        "other texts than in {}: {}, the first by {system}",
        old.name,
        counted(differ.len(), "answer")
    );
    Err(InputFault::new(&new.path, what)
        .of_case(case.as_str())
        .hint("score the same answers by both judges")
        .into())
}

/// The directories of runs that these paths name, in order, each once, and a line about each run that was skipped: a
/// directory that has no manifest itself stands for the finished runs in it, sorted by name.
///
/// # Errors
/// When a directory is not a run and contains none, or none that is finished.
pub fn run_directories(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<String>)> {
    let (mut runs, mut skipped, mut seen): (Vec<PathBuf>, Vec<String>, _) =
        (Vec::new(), Vec::new(), HashSet::new());
    for path in paths {
        runs.extend(runs_within(path, &mut skipped)?);
    }
    runs.retain(|run| seen.insert(run.canonicalize().unwrap_or_else(|_| run.clone())));
    Ok((runs, skipped))
}

/// The path if it is a run, else the finished runs in it.
fn runs_within(path: &Path, skipped: &mut Vec<String>) -> Result<Vec<PathBuf>> {
    if is_run(path) || !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut finished = Vec::new();
    let all = runs_in(path)?;
    for run in &all {
        let why = match Manifest::of_run(run) {
            Ok(manifest) if manifest.status == RunStatus::Complete => {
                finished.push(run.clone());
                continue;
            }
            Ok(manifest) => format!(
                "it {}; run score once more to finish it",
                end_of(manifest.status)
            ),
            Err(error) => error.to_string(),
        };
        skipped.push(format!("skipped {}: {why}", run.display()));
    }
    if finished.is_empty() {
        let what = match all[..] {
            [] => "neither a run (no manifest.json) nor a directory of runs",
            _ => "none of the runs in it is finished",
        };
        return Err(InputFault::new(path, what)
            .hint("name the directory of a run (score prints it at the end)")
            .into());
    }
    Ok(finished)
}

/// The runs in a directory, sorted by name; a run itself.
pub(super) fn runs_in(directory: &Path) -> Result<Vec<PathBuf>> {
    if is_run(directory) {
        return Ok(vec![directory.to_path_buf()]);
    }
    let entries =
        std::fs::read_dir(directory).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let entries = entries.map_err(Error::io(directory, "read"))?;
    let mut found: Vec<PathBuf> = entries
        .iter()
        .map(DirEntry::path)
        .filter(|path| is_run(path))
        .collect();
    found.sort();
    Ok(found)
}

fn is_run(path: &Path) -> bool {
    path.join("manifest.json").is_file()
}

/// What happened to an unfinished run.
fn end_of(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Complete => "is complete",
        RunStatus::Stopped => "was stopped early",
        RunStatus::Running => "did not finish (or is still running)",
    }
}

/// Run settings that differ within one of these groups of runs; with `across_judges` without those of the judges.
///
/// # Errors
/// Without `anyway`: one fault for each difference, at the first run that differs from those before it; the first says
/// what to do.
fn differences(
    runs: &[RecordedRun],
    groups: &[Vec<usize>],
    anyway: bool,
    across_judges: bool,
) -> Result<Vec<String>> {
    let (mut texts, mut faults) = (Vec::new(), Vec::new());
    for group in groups {
        let manifests: Vec<_> = group
            .iter()
            .map(|run| (runs[*run].name.as_str(), &runs[*run].manifest))
            .collect();
        for difference in setting_differences(&manifests, false) {
            if !(across_judges && difference.is_judge || texts.contains(&difference.text)) {
                faults.push(InputFault::new(
                    &runs[group[difference.run]].path,
                    difference.text.as_str(),
                ));
                texts.push(difference.text);
            }
        }
        if let Some((run, text)) =
            policy_difference(runs, group).filter(|(_, text)| !texts.contains(text))
        {
            faults.push(InputFault::new(&runs[run].path, text.as_str()));
            texts.push(text);
        }
    }
    let Some(first) = faults.first_mut().filter(|_| !anyway) else {
        return Ok(texts);
    };
    first.hint =
        "these runs are not comparable; --anyway compares them and flags the difference; compare --across judges \
                  shows what another judge of the same answers changes"
            .to_owned();
    Err(Error::Input(faults))
}

/// The first run of this group that counts unscored answers otherwise than one before it, and what differs. Runs without any
/// such answer have the same means by either policy.
fn policy_difference(runs: &[RecordedRun], group: &[usize]) -> Option<(usize, String)> {
    let concerned: Vec<usize> = group
        .iter()
        .copied()
        .filter(|run| has_unscored(&runs[*run]))
        .collect();
    let policy = |run: usize| runs[run].manifest.policy.on_unscored;
    let first = policy(*concerned.first()?);
    let other = concerned
        .iter()
        .copied()
        .find(|run| policy(*run) != first)?;
    let counted: Vec<String> = concerned
        .iter()
        .map(|run| match policy(*run) {
            OnUnscored::Exclude => format!("left out ({})", runs[*run].name),
            OnUnscored::Zero => format!("as the lowest value ({})", runs[*run].name),
        })
        .collect();
    let text = format!(
        "unscored answers count differently: {}; rescore --on-unscored changes it",
        counted.join(", ")
    );
    Some((other, text))
}

fn has_unscored(run: &RecordedRun) -> bool {
    run.scored.iter().any(|own| !own.score.is_complete())
}

/// The judges of each role in these runs, given by name and manifest.
pub fn judged_by(runs: &[(&str, &Manifest)]) -> Vec<JudgedRole> {
    let mut all: Vec<JudgedRole> = Vec::new();
    for (name, manifest) in runs {
        for (role, entry) in &manifest.roles {
            let judge = match entry.judges.iter().all(|judge| judge.lexical) {
                true => "the built-in lexical baseline, not an LLM".to_owned(),
                false => entry.summary(),
            };
            let differs_from_published = entry
                .differs_from_published(role)
                .filter(|_| !manifest.is_set(IMPORTED));
            let name = (*name).to_owned();
            match all
                .iter_mut()
                .find(|known| known.role == *role && known.judge == judge)
            {
                Some(known) => known.runs.push(name),
                None => all.push(JudgedRole {
                    role: role.clone(),
                    judge,
                    differs_from_published,
                    runs: vec![name],
                }),
            }
        }
    }
    let roles: Vec<String> = all.iter().map(|own| own.role.clone()).collect();
    let is_only = |role: &String| roles.iter().filter(|other| *other == role).count() == 1;
    all.iter_mut()
        .filter(|own| is_only(&own.role))
        .for_each(|own| own.runs.clear());
    all
}

/// What a reader must know of the models that answered.
fn answered_by_others(manifest: &Manifest) -> Vec<String> {
    let judges = manifest.answered_judges();
    judges.iter().filter_map(AnsweredJudge::warning).collect()
}

/// Why only some answers of a run have scores; `None` for a complete run.
fn unfinished(run: &RecordedRun) -> Option<String> {
    let (name, of) = (&run.name, run.manifest.answers);
    if run.manifest.status == RunStatus::Complete {
        let slice = run.manifest.settings.get("score.slice")?;
        return Some(format!("{name} has slice {slice} of the answers only"));
    }
    let status = end_of(run.manifest.status);
    // After rescoring, every answer has a score, even without replies.
    let count = without_score(run);
    if count == 0 {
        return Some(format!("{name} {status}; run score once more to finish it"));
    }
    let what = if run.items.is_empty() {
        "which ones is not recorded"
    } else {
        "they count as unscored"
    };
    Some(format!(
        "{name} {status}: {count} of {of} answers have no score; {what}"
    ))
}

/// Number of answers without a score in an unfinished run, for the scorer with the most of them.
fn without_score(run: &RecordedRun) -> usize {
    let was_judged = |component: &Component| {
        component
            .reason
            .as_ref()
            .is_none_or(|why| why.kind != UnscoredKind::NotAsked)
    };
    let is_unjudged = |answer: &&Arc<ScoredAnswer>| !answer.score.components.iter().any(was_judged);
    let answers = |scorer: &'static str| {
        run.scored
            .iter()
            .filter(move |answer| answer.score.scorer == scorer)
    };
    let unjudged = run
        .scorers()
        .into_iter()
        .map(|scorer| answers(scorer).filter(is_unjudged).count());
    let max_scored = run
        .scorers()
        .into_iter()
        .map(|scorer| answers(scorer).count())
        .max()
        .unwrap_or(0);
    let missing = usize::try_from(run.manifest.answers)
        .unwrap_or(usize::MAX)
        .saturating_sub(max_scored);
    unjudged.max().unwrap_or(0).max(missing)
}

/// Pairs of system and test case without an answer. `None` where no test cases are recorded (the run had none, or is
/// imported from results that do not name them).
fn missing_answers(run: &RecordedRun) -> Option<HashSet<(SystemName, CaseId)>> {
    let manifest = &run.manifest;
    let kept: HashSet<CaseId> = manifest
        .kept_cases
        .iter()
        .map(|case| case.as_str().into())
        .collect();
    if kept.is_empty() {
        return None;
    }
    let slice = manifest
        .settings
        .get("score.slice")
        .and_then(|slice| Slice::from_text(slice.as_str()?).ok());
    let (systems, scored): (HashSet<&SystemName>, HashSet<(&SystemName, &CaseId)>) = run
        .scored
        .iter()
        .map(|own| (&own.system, (&own.system, &own.case.case_id)))
        .unzip();
    // Questions outside the test cases are expected of every system once one system has answered them.
    let cases: HashSet<&CaseId> = kept
        .iter()
        .chain(scored.iter().map(|(_, case)| *case))
        .collect();
    let all = systems
        .iter()
        .flat_map(|system| cases.iter().map(move |case| (*system, *case)));
    let is_expected = |(system, case): &(&SystemName, &CaseId)| {
        slice.is_none_or(|slice| slice.holds(system, case))
    };
    let without_score = all.filter(|pair| !scored.contains(pair) && is_expected(pair));
    let listed = manifest
        .missing
        .iter()
        .map(|(system, case)| (system.as_str().into(), case.as_str().into()));
    Some(
        without_score
            .map(|(system, case)| (system.clone(), case.clone()))
            .chain(listed)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::analysis::test_support::{answer, simple_score};

    /// A run with the usual manifest, modified.
    fn run(name: &str, change: impl Fn(&mut Value)) -> RecordedRun {
        let hash = "ab".repeat(32);
        let judge = json!({
            "id": "m", "model": "m", "base_url": null, "served": null, "lexical": false, "samples": 1, "merge": "mean",
            "settings": {"temperature": 0.0},
        });
        let prompts =
            json!({"label": "p", "fingerprint": hash, "comparable_with_published": false});
        let mut manifest = json!({
            "schema_version": 2, "scholareval_version": "0.1.0", "status": "complete", "started_at": "", "finished_at": null,
            "mode": "default", "reference": null, "settings": {"score.compat": false, "score.snippets": true},
            "inputs": [{"name": "tests", "path": "t.json", "blake3": hash}, {"name": "a", "path": "a", "blake3": hash}],
            "roles": {"rubric": {"judges": [judge], "merge": "mean", "prompts": prompts}}, "scorers": ["rubric"],
            "policy": {"on_unscored": "exclude", "max_unscored": 0.01},
            "seed": 1, "answers": 0, "missing": [], "kept_cases": ["c1", "c2"], "warnings": [],
        });
        change(&mut manifest);
        let manifest = serde_json::from_value(manifest).expect("a manifest");
        RecordedRun {
            path: name.into(),
            name: name.to_owned(),
            manifest,
            items: Vec::new(),
            scored: Vec::new(),
        }
    }

    fn differences(change: impl Fn(&mut Value)) -> Vec<String> {
        RunSet::of(vec![run("one", |_| ()), run("two", change)], true, false)
            .expect("compared anyway")
            .differences
    }

    #[test]
    fn paths_systems_seeds_limits_and_labels_may_differ() {
        let other = differences(|manifest| {
            manifest["inputs"][0]["path"] = "elsewhere/t.json".into();
            manifest["inputs"][1] = json!({"name": "b", "path": "b", "blake3": "cd".repeat(32)});
            manifest["settings"]["score.systems"] = json!(["b"]);
            manifest["settings"]["score.cases"] = json!(["c1", "c2"]);
            manifest["kept_cases"] = json!(["c2", "c1"]);
            (manifest["seed"], manifest["label"]) = (7.into(), "mine".into());
            manifest["roles"]["rubric"]["judges"][0]["base_url"] = "http://elsewhere".into();
            manifest["scholareval_version"] = "0.2.0".into();
        });
        assert_eq!(other, Vec::<String>::new());
    }

    #[test]
    fn other_counts_of_unscored_answers_are_a_difference_where_there_are_any() {
        let zero = |m: &mut Value| m["policy"]["on_unscored"] = "zero".into();
        assert_eq!(differences(zero), Vec::<String>::new());
        let mut runs = vec![run("one", |_| ()), run("two", zero)];
        for own in &mut runs {
            own.scored = vec![Arc::new(answer("a", "c1", simple_score(None)))];
        }
        let found = RunSet::of(runs, true, false).expect("compared anyway");
        assert_eq!(
            found.differences,
            [
                "unscored answers count differently: left out (one), as the lowest value (two); rescore --on-unscored changes \
                 it"
            ]
        );
    }

    #[test]
    fn settings_that_affect_scores_are_named_with_both_values() {
        fn rubric(manifest: &mut Value) -> &mut Value {
            &mut manifest["roles"]["rubric"]
        }
        let judge = differences(|m| rubric(m)["judges"][0]["id"] = "n".into());
        assert_eq!(judge, ["different judge of rubric: m (one), n (two)"]);
        let temperature =
            differences(|m| rubric(m)["judges"][0]["settings"]["temperature"] = 0.5.into());
        assert_eq!(
            temperature,
            ["different temperature of the judge of rubric: 0.0 (one), 0.5 (two)"]
        );
        let samples = differences(|m| rubric(m)["judges"][0]["samples"] = 3.into());
        assert_eq!(
            samples,
            ["different samples of the judge of rubric: 1 (one), 3 (two)"]
        );
        let prompts = differences(|m| rubric(m)["prompts"]["fingerprint"] = "cd".repeat(32).into());
        assert_eq!(
            prompts,
            ["different prompts of rubric: p [abababab..] (one), p [cdcdcdcd..] (two)"]
        );
        let tests = differences(|m| m["inputs"][0]["blake3"] = "cd".repeat(32).into());
        assert_eq!(
            tests,
            ["different test cases: t.json [abababab..] (one), t.json [cdcdcdcd..] (two)"]
        );
        let tests = differences(|m| m["inputs"] = json!([]));
        assert_eq!(
            tests,
            ["different test cases: t.json [abababab..] (one), none (two)"]
        );
        let compat = differences(|m| m["settings"]["score.compat"] = true.into());
        assert_eq!(compat, ["different score.compat: false (one), true (two)"]);
        let snippets = differences(|m| m["settings"]["score.snippets"] = false.into());
        assert_eq!(
            snippets,
            ["different score.snippets: true (one), false (two)"]
        );
        assert!(
            differences(|m| m["kept_cases"] = json!(["c1"]))[0].starts_with("different cases: 2 [")
        );
        let panel = differences(|m| {
            let mut other = rubric(m)["judges"][0].clone();
            other["id"] = "n".into();
            rubric(m)["judges"]
                .as_array_mut()
                .expect("a list")
                .push(other);
        });
        assert_eq!(panel, ["different judge of rubric: m (one), m + n (two)"]);
    }

    #[test]
    fn a_role_that_one_run_does_not_have_is_no_difference() {
        let other = differences(|m| m["roles"]["aspect.coverage"] = m["roles"]["rubric"].clone());
        assert_eq!(other, Vec::<String>::new());
    }

    #[test]
    fn without_anyway_every_difference_is_a_fault_and_the_first_says_what_to_do() {
        let two = run("two", |m| {
            m["roles"]["rubric"]["judges"][0]["id"] = "n".into();
            m["settings"]["score.compat"] = true.into();
        });
        let runs = vec![run("one", |_| ()), two];
        let error = RunSet::of(runs, false, false)
            .expect_err("not comparable")
            .to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines.len(), 2, "{error}");
        assert!(
            lines.iter().all(|line| line.starts_with("two: ")) && lines[0].contains("--anyway"),
            "{error}"
        );
    }

    #[test]
    fn who_judged_is_named_once_or_with_its_runs() {
        let [one, two] = [run("one", |_| ()), run("two", |_| ())].map(|run| run.manifest);
        let same = judged_by(&[("one", &one), ("two", &two)]);
        assert_eq!(
            (same.len(), same[0].role.as_str(), same[0].judge.as_str()),
            (1, "rubric", "m; prompts p")
        );
        assert!(same[0].runs.is_empty());
        let lexical = run("two", |m| {
            m["roles"]["rubric"]["judges"][0]["lexical"] = true.into()
        })
        .manifest;
        let differ = judged_by(&[("one", &one), ("two", &lexical)]);
        assert_eq!(
            (differ[1].judge.as_str(), &differ[1].runs[..]),
            (
                "the built-in lexical baseline, not an LLM",
                &["two".to_owned()][..]
            )
        );
    }

    #[test]
    fn a_directory_without_runs_is_rejected() {
        let dir = tempfile::tempdir().expect("a directory");
        let open = |path: PathBuf| {
            RunSet::open(&[path], false)
                .expect_err("no run")
                .to_string()
        };
        let error = open(dir.path().to_path_buf());
        assert!(
            error.contains("nor a directory of runs")
                && error.contains("name the directory of a run"),
            "{error}"
        );
        let missing = open(dir.path().join("missing"));
        assert!(missing.contains("manifest.json is missing"), "{missing}");
    }

    #[test]
    fn a_directory_of_runs_stands_for_its_finished_runs_by_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let within = |name: &str| dir.path().join(name);
        std::fs::create_dir(within("no_run")).expect("made");
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(within(name)).expect("made");
            std::fs::write(within(name).join("manifest.json"), text).expect("written");
        };
        let manifest = |status: &str| {
            let mut manifest = serde_json::to_value(run(status, |_| ()).manifest).expect("JSON");
            manifest["status"] = status.into();
            manifest.to_string()
        };
        write("stopped", &manifest("stopped"));
        write("damaged", "{");
        let open = || run_directories(&[dir.path().to_path_buf()]);
        let error = open().expect_err("nothing finished").to_string();
        assert!(
            error.contains("none of the runs in it is finished"),
            "{error}"
        );
        write("b", &manifest("complete"));
        write("a", &manifest("complete"));
        let (found, skipped) = open().expect("runs");
        assert_eq!(found, ["a", "b"].map(within));
        assert!(
            skipped[0].contains("damaged: ") && skipped[0].contains("no manifest of a run"),
            "{skipped:?}"
        );
        assert!(
            skipped[1].ends_with("stopped: it was stopped early; run score once more to finish it"),
            "{skipped:?}"
        );
        // A run that is named itself is used as it is, and only once.
        let named = [within("stopped"), within("a"), dir.path().join("./a")];
        assert_eq!(
            run_directories(&named).expect("runs"),
            (named[..2].to_vec(), Vec::new())
        );
    }
}

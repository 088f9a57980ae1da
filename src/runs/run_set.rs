//! Recorded runs side by side, for `compare` and `report`.
//!
//! Directories are read into `RecordedRun`s and given unique names; settings that differ are found;
//! the observations of all runs then go into one comparison.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use super::anchors::{BasisOfRuns, old_scale_basis};
use super::boards::board_of;
use super::comparable::{
    differences, first_of_same, has_unscored, keep_common_systems, manifests, require_same_answers,
};
use super::completeness::{missing_answers, unfinished};
use super::directories::run_directories;
use crate::analysis::comparison::{
    ComparedRun, Comparison, ComparisonOptions, JudgedRole, MetricComparison, Observations,
    ObservedSystem, RunAnswers, RunFactor, anchored_scales, carried_scales, compare, judge_changes,
    judge_ranks, observe, run_changes,
};
use crate::analysis::{OnUnscored, distinct};
use crate::dataset::with_text;
use crate::domain::{CaseId, ScoredAnswer, SubjectKind, SystemName};
use crate::error::{Error, InputFault, Result};
use crate::record::{AnsweredJudge, IMPORTED, Manifest, RecordedRun, RoleEntry, load_run};
use crate::text::words::word_count;

/// Recorded runs that are comparable, or compared despite differences.
///
/// ```
/// use scholareval::analysis::comparison::ComparisonOptions;
/// use scholareval::runs::RunSet;
/// use scholareval::{Evaluation, Result};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// # let dir = std::env::temp_dir().join(format!("scholareval-run-set-{}", std::process::id()));
/// let evaluation = Evaluation::builder().tests("data/test_cases.json").answers("data/answers");
/// let run = evaluation.run(dir.join("run")).await?;
///
/// let runs = RunSet::open(&[run.dir().to_path_buf()], false)?;
/// let comparison = runs.compare(&runs.observe()?, &ComparisonOptions::seeded(1));
/// assert_eq!(comparison.systems.len(), 3);
/// assert_eq!(comparison.judged_by[0].role, "rubric");
/// # std::fs::remove_dir_all(dir).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct RunSet {
    /// The runs, each with a unique name.
    pub runs: Vec<RecordedRun>,
    /// Run settings that affect scores and differ.
    differences: Vec<String>,
    /// Systems that are not in every run, if runs are compared system by system.
    left_out: Vec<String>,
    /// What differs on purpose between runs of the same answers.
    pub(super) across: RunFactor,
}

impl RunSet {
    /// Reads the runs that [`run_directories`] finds. Runs with equal names are named by their paths. `anyway` allows
    /// different run settings.
    ///
    /// # Errors
    /// - As [`run_directories`], or a file of a run cannot be read.
    /// - Without `anyway`: run settings that affect scores differ (each with its values and runs).
    pub fn open(paths: &[PathBuf], anyway: bool) -> Result<Self> {
        Self::of(Self::load(paths)?, anyway, None)
    }

    /// Reads runs of the same answers by different judges, or with different prompts; systems that are not in every run are left
    /// out. Two runs by one judge may be compared, as at two dates.
    ///
    /// # Errors
    /// As [`RunSet::open`]; for fewer than two runs, without a common system, if an answer is not the same in all runs, and if all
    /// have the same prompts that are to differ.
    pub fn open_across(paths: &[PathBuf], across: RunFactor, anyway: bool) -> Result<Self> {
        let mut runs = Self::load(paths)?;
        let noun = across.noun();
        let usage = format!(
            "a comparison of {noun}s takes two runs or more: by the old {noun} and by the new one"
        );
        let (old, others) = first_and_others(&runs, &usage)?;
        for new in others {
            require_same_answers(old, new)?;
        }
        let hint = format!("score the same answers by both {noun}s");
        let left_out = keep_common_systems(&mut runs, &hint)?;
        let runs = Self {
            left_out,
            across,
            ..Self::of(runs, anyway, Some(across))?
        };
        if across == RunFactor::Prompts && runs.distinct().len() == 1 {
            let [first, second] = [0, 1].map(|at| &runs.runs[at]);
            let what = format!("the same prompts as in {}", first.name);
            let hint =
                "score the answers again with other ones: score RUN --prompts DIRECTORY --out OUT";
            return Err(InputFault::new(&second.path, what).hint(hint).into());
        }
        Ok(runs)
    }

    /// Reads runs of the same systems, such as at two dates; systems that are not in every run are left out.
    ///
    /// # Errors
    /// As [`RunSet::open`]; for fewer than two runs, and without a common system.
    pub fn open_across_runs(paths: &[PathBuf], anyway: bool) -> Result<Self> {
        let mut runs = Self::load(paths)?;
        let usage = "--across runs takes two runs or more: the earlier one first";
        first_and_others(&runs, usage)?;
        let left_out = keep_common_systems(
            &mut runs,
            "the answers of a system need the same file name in both runs",
        )?;
        Ok(Self {
            left_out,
            ..Self::of(runs, anyway, None)?
        })
    }

    /// Reads runs by a new judge and by an old judge, whose scale is asked for. The runs of each judge count as one, a board.
    ///
    /// # Errors
    /// As [`RunSet::open`]; if an answer is not the same in both, and if a board has a system twice or runs that are not comparable.
    pub fn open_on_old_scale(new: &[PathBuf], old: &[PathBuf], anyway: bool) -> Result<Self> {
        let (by_new, _) = run_directories(new)?;
        let mut runs = Self::load(&[new, old].concat())?;
        let by_old = runs.split_off(by_new.len());
        let mut within = Vec::new();
        for board in [&runs, &by_old] {
            let all: Vec<usize> = (0..board.len()).collect();
            within.extend(differences(board, &[all], anyway, None)?);
        }
        let (Some(new), Some(old)) = (board_of(runs)?, board_of(by_old)?) else {
            let message =
                "--corrected-by takes runs of two judges: by the new judge, and by the old judge";
            return Err(Error::Usage(message.to_owned()));
        };
        require_same_answers(&old, &new)?;
        let mut runs = Self::of(vec![new, old], anyway, Some(RunFactor::Judges))?;
        runs.differences.extend(within);
        Ok(runs)
    }

    fn load(paths: &[PathBuf]) -> Result<Vec<RecordedRun>> {
        let (directories, _) = run_directories(paths)?;
        let runs = directories.iter().map(|directory| load_run(directory));
        let mut runs = runs.collect::<Result<Vec<_>>>()?;
        let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
        for run in &mut runs {
            // Two runs of one name could not be distinguished in any table.
            if names.iter().filter(|name| **name == run.name).count() > 1 {
                run.name = run.path.display().to_string();
            }
        }
        Ok(runs)
    }

    fn of(runs: Vec<RecordedRun>, anyway: bool, across: Option<RunFactor>) -> Result<Self> {
        let all: Vec<usize> = (0..runs.len()).collect();
        let differences = differences(&runs, &[all], anyway, across)?;
        Ok(Self {
            differences,
            runs,
            ..Self::default()
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
        let mut groups = Vec::new();
        for metric in metrics {
            groups.push(runs_with_values(metric, systems));
        }
        self.differences = differences(&self.runs, &groups, anyway, None)?;
        Ok(())
    }

    /// A run whose scores are at hand.
    pub fn single(name: &str, manifest: &Manifest, scored: &[Arc<ScoredAnswer>]) -> Self {
        let run = RecordedRun {
            path: PathBuf::new(),
            name: name.to_owned(),
            manifest: manifest.clone(),
            items: Vec::new(),
            scored: scored.to_vec(),
        };
        Self {
            runs: vec![run],
            ..Self::default()
        }
    }

    /// The scores of these runs, with word counts and missing answers.
    ///
    /// # Errors
    /// When a text cannot be read; for a run of pairs beside others.
    pub fn observe(&self) -> Result<Observations> {
        self.observe_runs(&self.runs)
    }

    /// As [`RunSet::observe`], for each run alone.
    ///
    /// # Errors
    /// As [`RunSet::observe`].
    pub fn observe_each(&self) -> Result<Vec<Observations>> {
        let mut observations = Vec::with_capacity(self.runs.len());
        for run in &self.runs {
            observations.push(self.observe_runs(std::slice::from_ref(run))?);
        }
        Ok(observations)
    }

    fn observe_runs(&self, runs: &[RecordedRun]) -> Result<Observations> {
        self.check_pairs_alone()?;
        let mut answers = Vec::with_capacity(runs.len());
        for run in runs {
            answers.push(RunAnswers {
                name: &run.name,
                subject: run.manifest.subject,
                scored: &run.scored,
                words: word_counts(run)?,
                unanswered: missing_answers(run),
                on_unscored: run.manifest.policy.on_unscored,
            });
        }
        Ok(Observations {
            row: self.benchmark_row().map(str::to_owned),
            ..observe(&answers)
        })
    }

    /// The first run of pairs.
    pub(crate) fn run_of_pairs(&self) -> Option<&RecordedRun> {
        let mut runs = self.runs.iter();
        runs.find(|run| run.manifest.subject == SubjectKind::Pair)
    }

    /// # Errors
    /// Where a run of pairs is among others: their verdicts would be those of different opponents.
    fn check_pairs_alone(&self) -> Result<()> {
        let Some(run) = self.run_of_pairs().filter(|_| self.runs.len() > 1) else {
            return Ok(());
        };
        let what = "its answers were compared with each other, which is read alone and not beside other runs";
        let hint = "to add systems, run scholareval pairs with all of their answers; what is judged is in the cache";
        Err(InputFault::new(&run.path, what).hint(hint).into())
    }

    /// The row of a benchmark that all runs are of.
    fn benchmark_row(&self) -> Option<&str> {
        let rows: BTreeSet<Option<&str>> = self.runs.iter().map(|run| run.manifest.row()).collect();
        if rows.len() == 1 {
            rows.first().copied().flatten()
        } else {
            None
        }
    }

    /// The systems of these runs compared by these observations.
    pub fn compare(&self, observations: &Observations, options: &ComparisonOptions) -> Comparison {
        let runs: Vec<&RecordedRun> = self.runs.iter().collect();
        let comparison = Comparison {
            runs: self.runs.iter().map(compared_run).collect(),
            differences: self.differences.clone(),
            left_out: self.left_out.clone(),
            judged_by: judged_by(&manifests(&runs)),
            ..compare(observations, options)
        };
        self.corrected(comparison)
    }

    /// The comparison as it holds for a run that was looked at before its end: without what only one look at the end gives.
    pub fn corrected(&self, mut comparison: Comparison) -> Comparison {
        let mut runs = self.runs.iter();
        if let Some(looks) = runs.find_map(|run| run.manifest.early_looks()) {
            for metric in &mut comparison.metrics {
                looks.correct(metric);
            }
            if let Some(pairwise) = &mut comparison.pairwise {
                looks.correct_win_rates(pairwise);
            }
        }
        comparison
    }

    /// What changes from the judge, or the prompts, of each run to those of each later one, by these observations. Of more than two
    /// runs also the ranks under each judge; of runs by the same one only the first counts for these.
    ///
    /// # Errors
    /// When no metric has values of both judges on two or more shared questions.
    pub fn compare_judges(
        &self,
        observations: Observations,
        options: &ComparisonOptions,
    ) -> Result<Comparison> {
        let mut changes = Vec::new();
        for old in 0..self.runs.len() {
            for new in old + 1..self.runs.len() {
                let both = [self.numbered(old), self.numbered(new)];
                changes.extend(judge_changes(&observations, both, options));
            }
        }
        if changes.is_empty() {
            return Err(self.no_shared_questions("judges"));
        }
        let mut ranks = Vec::new();
        if self.runs.len() > 2 {
            ranks = judge_ranks(&observations, &self.distinct(), options);
        }
        let mut comparison = Comparison {
            across: self.across,
            judge_changes: changes,
            ..self.compare(&observations.without_metrics(), options)
        };
        if !ranks.is_empty() {
            self.name_same_judges(&mut comparison);
        }
        Ok(Comparison {
            judge_ranks: ranks,
            ..comparison
        })
    }

    /// The runs by different judges, or with different prompts: the first of each.
    pub(super) fn distinct(&self) -> Vec<(usize, &str)> {
        let firsts = first_of_same(&self.runs, self.across).into_iter();
        let distinct = firsts.enumerate().filter(|(run, first)| run == first);
        distinct.map(|(run, _)| self.numbered(run)).collect()
    }

    fn name_same_judges(&self, comparison: &mut Comparison) {
        for (at, first) in first_of_same(&self.runs, self.across)
            .into_iter()
            .enumerate()
        {
            if first != at {
                comparison.runs[at].same_judge_as = Some(self.runs[first].name.clone());
            }
        }
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
        let earlier = self.numbered(0);
        let mut changes = Vec::new();
        for later in 1..self.runs.len() {
            changes.extend(run_changes(
                &observations,
                [earlier, self.numbered(later)],
                options,
            ));
        }
        if changes.is_empty() {
            return Err(self.no_shared_questions("runs"));
        }
        Ok(Comparison {
            run_changes: changes,
            ..self.compare(&observations.without_metrics(), options)
        })
    }

    /// The means of the first run on the scale of the second one, an old judge's, by the observations of each. Systems of
    /// the names `without` do not count as those that both judges scored.
    ///
    /// # Errors
    /// Where the old judge's answers are neither a random draw from those of the first run nor of other systems, and when no
    /// metric has values of both.
    pub fn on_old_scale(
        &self,
        [new, old]: [Observations; 2],
        without: &[String],
        options: &ComparisonOptions,
    ) -> Result<Comparison> {
        let [new_name, old_name] = [0, 1].map(|at| self.runs[at].name.as_str());
        let scales = match old_scale_basis(&self.runs[0], &self.runs[1])? {
            BasisOfRuns::Anchors if !without.is_empty() => {
                let message = "--without leaves out systems that both judges scored, but the old judge scored a random part of the answers";
                return Err(Error::Usage(message.to_owned()));
            }
            BasisOfRuns::Anchors => anchored_scales((&new, new_name), (&old, old_name), options),
            BasisOfRuns::Systems => {
                for name in without {
                    old.system_named(name)?;
                }
                carried_scales((&new, new_name), (&old, old_name), without, options)
            }
        };
        if scales.is_empty() {
            return Err(self.no_shared_questions("judges"));
        }
        Ok(Comparison {
            old_scales: scales,
            ..self.compare(&new.without_metrics(), options)
        })
    }

    /// The index of a run with its name.
    fn numbered(&self, index: usize) -> (usize, &str) {
        (index, &self.runs[index].name)
    }

    fn no_shared_questions(&self, compared: &str) -> Error {
        let what =
            format!("no metric has values of both {compared} on two or more shared questions");
        InputFault::new(&self.runs[1].path, what)
            .hint("choose another --metric")
            .into()
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
    match runs.split_first() {
        Some((first, others)) if !others.is_empty() => Ok((first, others)),
        _ => Err(Error::Usage(usage.to_owned())),
    }
}

/// The runs with a value of this metric.
fn runs_with_values(metric: &MetricComparison, systems: &[ObservedSystem]) -> Vec<usize> {
    let mut runs = BTreeSet::new();
    for system in &metric.systems {
        // A run without a value of the metric takes no part in it: its settings do not matter.
        if system.own_cases > 0 {
            runs.insert(systems[system.system].run);
        }
    }
    runs.into_iter().collect()
}

/// The words of every recorded answer.
fn word_counts(run: &RecordedRun) -> Result<HashMap<(SystemName, CaseId), usize>> {
    let mut counts = HashMap::with_capacity(run.items.len());
    for item in &run.items {
        let key = (item.answer.system.clone(), item.answer.case_id.clone());
        // The words of the system, without the list of sources that scoring appends.
        counts.insert(key, word_count(with_text(item)?.answer.own_text()));
    }
    Ok(counts)
}

/// What a comparison says of a run.
fn compared_run(run: &RecordedRun) -> ComparedRun {
    let counts_zero = run.manifest.policy.on_unscored == OnUnscored::Zero;
    let judges = run.manifest.answered_judges();
    ComparedRun {
        name: run.name.clone(),
        same_judge_as: None,
        unfinished: unfinished(run),
        looks: run.manifest.early_looks().cloned(),
        // A policy that concerns no answer needs no note.
        unscored_as_zero: counts_zero && has_unscored(run),
        uncounted: run.manifest.uncounted.clone(),
        answered_by_others: judges.iter().filter_map(AnsweredJudge::warning).collect(),
        shared_families: run.manifest.shared_families(&run.scored),
    }
}

/// The judges of each role in these runs, given by name and manifest. Runs are named only where the judges of a role
/// differ between them.
pub fn judged_by(runs: &[(&str, &Manifest)]) -> Vec<JudgedRole> {
    let mut all: Vec<JudgedRole> = Vec::new();
    for (name, manifest) in runs {
        for (role, entry) in &manifest.roles {
            let judge = judge_of(entry);
            let check = manifest.judge_check(role);
            let known = all
                .iter_mut()
                // By what readers see, so that runs of one judge share a line.
                .find(|known| known.role == *role && known.judge == judge && known.check == check);
            if let Some(known) = known {
                known.runs.push((*name).to_owned());
                continue;
            }
            // An imported run did not send prompts of ours.
            let differs_from_published = if manifest.is_set(IMPORTED) {
                None
            } else {
                entry.differs_from_published(role)
            };
            all.push(JudgedRole {
                role: role.clone(),
                judge,
                check,
                differs_from_published,
                runs: vec![(*name).to_owned()],
            });
        }
    }
    let roles = all.iter().map(|judged_role| judged_role.role.clone());
    let roles: Vec<String> = roles.collect();
    for judged_role in &mut all {
        let same = roles.iter().filter(|role| **role == judged_role.role);
        if same.count() == 1 {
            judged_role.runs.clear();
        }
    }
    all
}

/// The judges of a run, each once.
pub(super) fn judge_names(manifest: &Manifest) -> String {
    let mut names = Vec::new();
    for entry in manifest.roles.values().flat_map(|entry| &entry.judges) {
        names.push(entry.summary());
    }
    distinct(names.into_iter()).join(", ")
}

fn judge_of(entry: &RoleEntry) -> String {
    if entry.judges.iter().all(|judge| judge.lexical) {
        "the built-in lexical baseline, not an LLM".to_owned()
    } else {
        entry.summary()
    }
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
        RunSet::of(vec![run("one", |_| ()), run("two", change)], true, None)
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
        for run in &mut runs {
            run.scored = vec![Arc::new(answer("a", "c1", simple_score(None)))];
        }
        let set = RunSet::of(runs, true, None).expect("compared anyway");
        assert_eq!(
            set.differences,
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
        let error = RunSet::of(runs, false, None)
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
        assert!(missing.contains("no such directory"), "{missing}");
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
        let (paths, skipped) = open().expect("runs");
        assert_eq!(paths, ["a", "b"].map(within));
        assert!(
            skipped[0].contains("damaged: ") && skipped[0].contains("no manifest of a run"),
            "{skipped:?}"
        );
        assert!(
            skipped[1].ends_with("stopped: it was stopped early; run score once more to finish it"),
            "{skipped:?}"
        );
        // What is left of a run is one that cannot be read, as are a run behind a broken link and one without all of its scores.
        write("left", "");
        std::fs::rename(within("left/manifest.json"), within("left/scores.jsonl")).expect("moved");
        let mut cut = serde_json::to_value(run("cut", |_| ()).manifest).expect("JSON");
        cut["files"]["scores.jsonl"] = json!({"bytes": 9, "blake3": "ab".repeat(32)});
        write("cut", &cut.to_string());
        let (_, skipped) = open().expect("runs");
        let whys = [
            "its scores.jsonl is missing",
            "damaged",
            "manifest.json is missing",
            "stopped",
        ];
        assert_eq!(skipped.len(), 4, "{skipped:?}");
        assert!(
            skipped
                .iter()
                .zip(whys)
                .all(|(line, why)| line.contains(why)),
            "{skipped:?}"
        );
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/no/such/run", within("gone")).expect("a link");
            assert_eq!(open().expect("runs").1.len(), 5);
        }
        // A run that is named itself is used as it is, and only once.
        let named = [within("stopped"), within("a"), dir.path().join("./a")];
        assert_eq!(
            run_directories(&named).expect("runs"),
            (named[..2].to_vec(), Vec::new())
        );
    }
}

//! Which runs may be compared: equal settings wherever these affect scores, and the same systems or answers.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use crate::analysis::OnUnscored;
use crate::analysis::comparison::RunFactor;
use crate::domain::{CaseId, Digest, Gold, Prediction, SystemName};
use crate::error::{Error, InputFault, Result};
use crate::record::{Manifest, RecordedRun, SettingDifference, setting_differences};
use crate::text::names::counted;

/// Differences of run settings, each once, with the fault of the first run that differs.
#[derive(Default)]
struct Differences {
    texts: Vec<String>,
    faults: Vec<InputFault>,
    /// Whether something differs that is not of the prompts.
    beyond_prompts: bool,
}

impl Differences {
    fn add(&mut self, run: &RecordedRun, text: String) {
        // One group a metric: the same difference is found in several of them.
        if self.texts.contains(&text) {
            return;
        }
        self.faults.push(InputFault::new(&run.path, text.as_str()));
        self.texts.push(text);
    }
}

/// Run settings that differ within one of these groups of runs (indices), without those of `across`, which differ on purpose.
///
/// # Errors
/// Without `anyway`: one fault for each difference, at the first run that differs from those before it; the first says
/// what to do.
pub(super) fn differences(
    runs: &[RecordedRun],
    groups: &[Vec<usize>],
    anyway: bool,
    across: Option<RunFactor>,
) -> Result<Vec<String>> {
    let mut differences = Differences::default();
    for group in groups {
        let group: Vec<&RecordedRun> = group.iter().map(|index| &runs[*index]).collect();
        for difference in setting_differences(&manifests(&group), false) {
            if across.is_some_and(|factor| is_about(&difference, factor)) {
                continue;
            }
            differences.beyond_prompts |= !difference.is_prompts;
            differences.add(group[difference.run], difference.text);
        }
        if let Some((run, text)) = policy_difference(&group) {
            differences.beyond_prompts = true;
            differences.add(run, text);
        }
    }
    let Differences {
        texts,
        mut faults,
        beyond_prompts,
    } = differences;
    let Some(first) = faults.first_mut() else {
        return Ok(texts);
    };
    if anyway {
        return Ok(texts);
    }
    let across = if beyond_prompts {
        "--across judges shows what another judge of the same answers changes"
    } else {
        "--across prompts shows what these prompts change for the same answers"
    };
    first.hint = format!(
        "these runs are not comparable; --anyway compares them and flags the difference; compare {across}"
    );
    Err(Error::Input(faults))
}

fn is_about(difference: &SettingDifference, factor: RunFactor) -> bool {
    match factor {
        RunFactor::Judges => difference.is_judge,
        RunFactor::Prompts => difference.is_prompts,
    }
}

/// For each run, the first one with the same judges, or prompts: itself where no earlier one has them.
pub(super) fn first_of_same(runs: &[RecordedRun], factor: RunFactor) -> Vec<usize> {
    let mut firsts: Vec<usize> = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let mut earlier = 0..at;
        let same = earlier.find(|other| {
            let both = manifests(&[&runs[*other], run]);
            let differences = setting_differences(&both, false);
            !differences
                .iter()
                .any(|difference| is_about(difference, factor))
        });
        firsts.push(same.unwrap_or(at));
    }
    firsts
}

/// These runs by name and manifest.
pub(super) fn manifests<'a>(runs: &[&'a RecordedRun]) -> Vec<(&'a str, &'a Manifest)> {
    runs.iter()
        .map(|run| (run.name.as_str(), &run.manifest))
        .collect()
}

/// The first run that counts unscored answers otherwise than one before it, and what differs. Runs without any such answer
/// have the same means by either policy.
fn policy_difference<'a>(group: &[&'a RecordedRun]) -> Option<(&'a RecordedRun, String)> {
    let mut concerned = group.to_vec();
    concerned.retain(|run| has_unscored(run));
    let first = concerned.first()?.manifest.policy.on_unscored;
    let other = concerned
        .iter()
        .find(|run| run.manifest.policy.on_unscored != first)?;
    let policies: Vec<String> = concerned.iter().map(|run| policy_of(run)).collect();
    let text = format!(
        "unscored answers count differently: {}; rescore --on-unscored changes it",
        policies.join(", ")
    );
    Some((other, text))
}

/// How a run counts unscored answers, with its name.
fn policy_of(run: &RecordedRun) -> String {
    match run.manifest.policy.on_unscored {
        OnUnscored::Exclude => format!("left out ({})", run.name),
        OnUnscored::Zero => format!("as the lowest value ({})", run.name),
    }
}

/// Whether an answer of the run has no whole score.
pub(super) fn has_unscored(run: &RecordedRun) -> bool {
    run.scored.iter().any(|answer| !answer.score.is_complete())
}

/// Keeps the systems that are in every run; returns the names of the others, sorted.
///
/// # Errors
/// When there is none.
pub(super) fn keep_common_systems(runs: &mut [RecordedRun], hint: &str) -> Result<Vec<String>> {
    let by_run: Vec<HashSet<SystemName>> = runs
        .iter()
        .map(|run| run.systems().into_iter().collect())
        .collect();
    let all: BTreeSet<&SystemName> = by_run.iter().flatten().collect();
    let mut common: HashSet<&SystemName> = HashSet::new();
    let mut others = Vec::new();
    for system in all {
        if by_run.iter().all(|systems| systems.contains(system)) {
            common.insert(system);
        } else {
            others.push(system.to_string());
        }
    }
    if common.is_empty() {
        let what = format!("no system of {} is in this run", runs[0].name);
        let path = &runs[runs.len() - 1].path;
        return Err(InputFault::new(path, what).hint(hint).into());
    }
    for run in runs {
        run.scored.retain(|answer| common.contains(&answer.system));
    }
    Ok(others)
}

/// What makes an answer the same in two runs: the hash of its text, and its sources and gold answers.
type AnswerIdentity = (Digest<16>, Option<Arc<Prediction>>);

/// The recorded answers of a run by system and case.
fn recorded_answers(run: &RecordedRun) -> BTreeMap<(SystemName, CaseId), AnswerIdentity> {
    let mut answers = BTreeMap::new();
    for item in &run.items {
        let answer = &item.answer;
        let key = (answer.system.clone(), answer.case_id.clone());
        // A prediction with neither holds the answer's question only.
        let prediction = answer.prediction.clone();
        let prediction = prediction.filter(|prediction| {
            !prediction.sources.is_empty() || prediction.gold != Gold::default()
        });
        answers.insert(key, (answer.text_hash(), prediction));
    }
    answers
}

/// # Errors
/// When the answers of a run are not recorded, or one that both runs have is another one (text or sources).
pub(super) fn require_same_answers(old: &RecordedRun, new: &RecordedRun) -> Result<()> {
    for run in [old, new] {
        if run.items.is_empty() {
            let what = "the answers are not recorded, so they may be others";
            return Err(InputFault::new(&run.path, what)
                .hint("score again without --no-inputs")
                .into());
        }
    }
    let others = recorded_answers(new);
    let mut differ = Vec::new();
    for (key, identity) in recorded_answers(old) {
        if others.get(&key).is_some_and(|other| *other != identity) {
            differ.push(key);
        }
    }
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
        .hint("score the same answers by both runs")
        .into())
}

//! Which answers of a run have no score: those of an unfinished run, and those that a system did not give.

use std::collections::HashSet;

use crate::domain::{CaseId, ScoredAnswer, SubjectKind, SystemName, UnscoredKind};
use crate::record::{Manifest, RecordedRun, RunStatus};

use super::directories::end_of;

/// Why only some answers of a run have scores; `None` for a complete run.
pub(super) fn unfinished(run: &RecordedRun) -> Option<String> {
    let name = &run.name;
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
    let note = if run.items.is_empty() {
        "which ones is not recorded"
    } else {
        "they count as unscored"
    };
    let answers = run.manifest.answers;
    Some(format!(
        "{name} {status}: {count} of {answers} answers have no score; {note}"
    ))
}

/// Number of answers without a score in an unfinished run, for the scorer with the most of them.
fn without_score(run: &RecordedRun) -> usize {
    let mut most_scored = 0;
    let mut most_unjudged = 0;
    for scorer in run.scorers() {
        let mut scored = 0;
        let mut unjudged = 0;
        for answer in run
            .scored
            .iter()
            .filter(|answer| answer.score.scorer == *scorer)
        {
            scored += 1;
            unjudged += usize::from(!is_judged(answer));
        }
        most_scored = most_scored.max(scored);
        most_unjudged = most_unjudged.max(unjudged);
    }
    let all = usize::try_from(run.manifest.answers).unwrap_or(usize::MAX);
    // The scorer with the most gaps: an answer counts as missing if any of its scores is.
    most_unjudged.max(all.saturating_sub(most_scored))
}

/// Whether a component of the answer was asked about.
fn is_judged(answer: &ScoredAnswer) -> bool {
    answer.score.components.iter().any(|component| {
        component
            .reason
            .as_ref()
            .is_none_or(|why| why.kind != UnscoredKind::NotAsked)
    })
}

/// Pairs of system and test case without an answer. `None` where no test cases are recorded (the run had none, or is
/// imported from results that do not name them).
pub(super) fn missing_answers(run: &RecordedRun) -> Option<HashSet<(SystemName, CaseId)>> {
    let manifest = &run.manifest;
    match manifest.subject {
        SubjectKind::Answer => missing_scores(run),
        // Which systems meet is the choice of a design: what is missing are answers, and no pairs.
        SubjectKind::Pair => Some(listed_missing(manifest).collect()),
    }
}

/// The same of a run of single answers.
fn missing_scores(run: &RecordedRun) -> Option<HashSet<(SystemName, CaseId)>> {
    let manifest = &run.manifest;
    let asked_cases = manifest.asked_cases();
    let mut kept: Vec<&str> = manifest.kept_cases.iter().map(String::as_str).collect();
    kept.retain(|case| {
        asked_cases
            .as_ref()
            .is_none_or(|asked_cases| asked_cases.contains(case))
    });
    let mut cases: HashSet<CaseId> = HashSet::new();
    cases.extend(kept.into_iter().map(CaseId::from));
    if cases.is_empty() {
        return None;
    }
    let mut systems: HashSet<&SystemName> = HashSet::new();
    let mut scored: HashSet<(&SystemName, &CaseId)> = HashSet::new();
    for answer in &run.scored {
        systems.insert(&answer.system);
        scored.insert((&answer.system, &answer.case.case_id));
    }
    // Questions outside the test cases are expected of every system once one system has answered them.
    cases.extend(scored.iter().map(|(_, case)| (*case).clone()));
    let mut missing: HashSet<(SystemName, CaseId)> = HashSet::new();
    // Pairs that are not in a slice are in others. Answers of the slice without a score are among `scored`.
    if !manifest.settings.contains_key("score.slice") {
        for system in systems {
            for case in &cases {
                if !scored.contains(&(system, case)) {
                    missing.insert((system.clone(), case.clone()));
                }
            }
        }
    }
    missing.extend(listed_missing(manifest));
    Some(missing)
}

/// The missing answers that the manifest names.
fn listed_missing(manifest: &Manifest) -> impl Iterator<Item = (SystemName, CaseId)> {
    let listed = manifest.missing_asked().into_iter();
    listed.map(|(system, case)| (system.as_str().into(), case.as_str().into()))
}

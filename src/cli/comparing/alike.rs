//! Whether runs may be compared: what makes them no equals is refused, or marked where that is wished.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::facets::{Facet, facets, role_entries};
use crate::cli::scoring::outcome::role_line;
use crate::error::{Error, InputFault, Result};
use crate::pipeline::record::{Manifest, RecordedRun, RoleEntry, RunStatus};

/// Characters of a value that are shown.
const SHOWN: usize = 80;

/// Something that is not the same in all runs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Difference {
    name: String,
    /// Each value with the runs that have it.
    values: Vec<(Facet, Vec<usize>)>,
}

/// Checks that runs are made alike: judge of each role, prompts, test cases, parser and settings that change numbers. Gives
/// what a reader must know of them: runs that did not finish, and with `anyway` every difference.
///
/// # Errors
/// When the built-in lexical judge has a role in one run that an LLM has in another, whatever `anyway` says; without it when
/// anything differs: every difference by name, with its values and runs.
pub(in crate::cli) fn comparable(runs: &[RecordedRun], anyway: bool) -> Result<Vec<String>> {
    let mixed: Vec<InputFault> = mixed_roles(runs);
    if !mixed.is_empty() {
        return Err(Error::Input(mixed));
    }
    let differences = differences(runs);
    if !differences.is_empty() && !anyway {
        return Err(Error::Input(refusal(runs, &differences)));
    }
    let unfinished = runs.iter().filter_map(unfinished);
    Ok(unfinished.chain(differences.iter().map(|difference| difference.told(runs))).collect())
}

impl Difference {
    /// `judge of rubric differs: a (run1, run2), b (run3)`.
    fn told(&self, runs: &[RecordedRun]) -> String {
        let value = |(facet, of): &(Facet, Vec<usize>)| {
            let names: Vec<&str> = of.iter().map(|run| runs[*run].name.as_str()).collect();
            format!("{} ({})", cut(&facet.shown), names.join(", "))
        };
        format!("{} differs: {}", self.name, self.values.iter().map(value).collect::<Vec<_>>().join(", "))
    }
}

/// The text, cut after [`SHOWN`] characters.
fn cut(text: &str) -> String {
    let shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() { shown + ".." } else { shown }
}

/// What is not the same in all runs that have it.
fn differences(runs: &[RecordedRun]) -> Vec<Difference> {
    let mut by_name: BTreeMap<String, Vec<(Facet, Vec<usize>)>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        for (name, facet) in facets(&run.manifest) {
            let values = by_name.entry(name).or_default();
            match values.iter_mut().find(|(known, _)| known.identity == facet.identity) {
                Some((_, of)) => of.push(at),
                None => values.push((facet, vec![at])),
            }
        }
    }
    let several = by_name.into_iter().filter(|(_, values)| values.len() > 1);
    several.map(|(name, values)| Difference { name, values }).collect()
}

/// One fault a difference, at the first run that is not as those before it; the last says what to do.
fn refusal(runs: &[RecordedRun], differences: &[Difference]) -> Vec<InputFault> {
    let fault = |difference: &Difference| {
        let other = difference.values.iter().filter_map(|(_, of)| of.first()).max().copied().unwrap_or_default();
        InputFault::new(&runs[other].path, difference.told(runs))
    };
    let mut faults: Vec<InputFault> = differences.iter().map(fault).collect();
    let mut hint =
        "runs that are made otherwise do not compare; --anyway compares them all the same and marks it".to_owned();
    if differences.iter().any(|difference| difference.name.starts_with("judge of ")) && have_equal_answers(runs) {
        hint += "; two judges of the same answers are compared by scholareval agree";
    }
    // Only so many faults are shown: what to do stands with the first.
    if let Some(first) = faults.first_mut() {
        first.hint = hint;
    }
    faults
}

/// Whether a system answers in two runs by the same file.
fn have_equal_answers(runs: &[RecordedRun]) -> bool {
    let mut seen: HashSet<(&str, String)> = HashSet::new();
    runs.iter().any(|run| {
        let systems: BTreeSet<String> = run.systems().iter().map(ToString::to_string).collect();
        let files = run.manifest.inputs.iter().filter(|input| systems.contains(&input.name));
        let own: Vec<(&str, String)> = files.map(|file| (file.name.as_str(), file.blake3.to_string())).collect();
        let is_known = own.iter().any(|file| seen.contains(file));
        seen.extend(own);
        is_known
    })
}

/// Roles that the lexical judge has in one run and an LLM in another.
fn mixed_roles(runs: &[RecordedRun]) -> Vec<InputFault> {
    let mut by_role: BTreeMap<String, [Vec<usize>; 2]> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        for (role, is_lexical) in lexical_roles(&run.manifest) {
            by_role.entry(role).or_default()[usize::from(is_lexical)].push(at);
        }
    }
    let fault = |(role, [judged, lexical]): (&String, &[Vec<usize>; 2])| {
        let (judged, lexical) = (&runs[*judged.first()?], &runs[*lexical.first()?]);
        let what = format!(
            "{role} was scored by the built-in lexical judge, in {} by an LLM: such numbers never stand side by side",
            judged.name
        );
        Some(InputFault::new(&lexical.path, what).hint("score both by the same judge"))
    };
    by_role.iter().filter_map(fault).collect()
}

/// Each role that was judged, and whether by the lexical judge.
fn lexical_roles(manifest: &Manifest) -> BTreeMap<String, bool> {
    let is_lexical = |entry: RoleEntry| entry.judges.iter().any(|judge| judge.lexical);
    role_entries(manifest).into_iter().map(|(role, entry)| (role, is_lexical(entry))).collect()
}

/// Who judged what in these runs, with which prompts; what is not so in all of them names its runs.
pub(in crate::cli) fn made_by(runs: &[RecordedRun]) -> Vec<String> {
    let mut lines: Vec<(String, Vec<&str>)> = Vec::new();
    for run in runs {
        for (role, entry) in role_entries(&run.manifest) {
            let line = if entry.judges.iter().all(|judge| judge.lexical) {
                format!("{role}: the built-in lexical judge, a baseline and no LLM")
            } else {
                role_line(&role, &entry)
            };
            match lines.iter_mut().find(|(known, _)| *known == line) {
                Some((_, of)) => of.push(&run.name),
                None => lines.push((line, vec![&run.name])),
            }
        }
    }
    let told = |(line, of): (String, Vec<&str>)| {
        if of.len() == runs.len() { line } else { format!("{line} ({})", of.join(", ")) }
    };
    lines.into_iter().map(told).collect()
}

/// What is missing from a run that did not finish, or that is a part.
fn unfinished(run: &RecordedRun) -> Option<String> {
    let status = match run.manifest.status {
        RunStatus::Complete => {
            let slice = run.manifest.settings.get(crate::cli::settings::keys::SLICE.name)?;
            return Some(format!("{} holds slice {slice} of the answers only", run.name));
        }
        RunStatus::Stopped => "was stopped early",
        RunStatus::Running => "did not finish (or still goes on)",
    };
    let mut most = 0;
    for scorer in run.scorers() {
        most = most.max(run.scored.iter().filter(|answer| answer.score.scorer == scorer).count());
    }
    let lacking = usize::try_from(run.manifest.answers).unwrap_or(usize::MAX).saturating_sub(most);
    Some(format!("{} {status}: {lacking} of {} answers have no score", run.name, run.manifest.answers))
}

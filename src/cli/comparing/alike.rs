//! Whether runs may be compared: what makes them no equals is refused, or marked where that is wished.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::facets::{Facet, facets, role_entries};
use crate::cli::scoring::outcome::role_line;
use crate::domain::{Component, ScoredAnswer, UnscoredKind};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::record::{Manifest, RecordedRun, RoleEntry, RunStatus};

/// Characters of a value that are shown.
const SHOWN: usize = 80;

/// What a reader must know of runs that stand side by side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::cli) struct Marks {
    /// Runs that did not finish, or are parts.
    pub(in crate::cli) unfinished: Vec<String>,
    /// What is not the same in all of them.
    pub(in crate::cli) differences: Vec<String>,
}

impl Marks {
    /// All of them.
    pub(in crate::cli) fn all(&self) -> Vec<String> {
        self.unfinished.iter().chain(&self.differences).cloned().collect()
    }
}

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
pub(in crate::cli) fn comparable(runs: &[RecordedRun], anyway: bool) -> Result<Marks> {
    let mixed: Vec<InputFault> = mixed_roles(runs);
    if !mixed.is_empty() {
        return Err(Error::Input(mixed));
    }
    let differences = differences(runs);
    if !differences.is_empty() && !anyway {
        return Err(Error::Input(refusal(runs, &differences)));
    }
    Ok(Marks {
        unfinished: runs.iter().filter_map(unfinished).collect(),
        differences: differences.iter().map(|difference| difference.told(runs)).collect(),
    })
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
pub(in crate::cli) fn unfinished(run: &RecordedRun) -> Option<String> {
    let status = match run.manifest.status {
        RunStatus::Complete => {
            let slice = run.manifest.settings.get(crate::cli::settings::keys::SLICE.name)?;
            return Some(format!("{} holds slice {slice} of the answers only", run.name));
        }
        RunStatus::Stopped => "was stopped early",
        RunStatus::Running => "did not finish (or still goes on)",
    };
    let (lacking, of) = (lacking(run), run.manifest.answers);
    // What was scored again from the replies has a score for everything, however little is known of it.
    if lacking == 0 {
        return Some(format!("{} {status}; run score once more to finish it", run.name));
    }
    let what = if run.items.is_empty() { "which ones is not known without inputs" } else { "they count as unscored" };
    Some(format!("{} {status}: {lacking} of {of} answers have no score; {what}", run.name))
}

/// How many answers of a run that did not finish have no score by the scorer that lacks most.
fn lacking(run: &RecordedRun) -> usize {
    let is_untouched = |answer: &&Arc<ScoredAnswer>| {
        let was_asked = |part: &Component| part.reason.as_ref().is_none_or(|why| why.kind != UnscoredKind::NotAsked);
        !answer.score.components.iter().any(was_asked)
    };
    let answers = |scorer: &'static str| run.scored.iter().filter(move |answer| answer.score.scorer == scorer);
    let untouched = run.scorers().into_iter().map(|scorer| answers(scorer).filter(is_untouched).count());
    let most = run.scorers().into_iter().map(|scorer| answers(scorer).count()).max().unwrap_or(0);
    let absent = usize::try_from(run.manifest.answers).unwrap_or(usize::MAX).saturating_sub(most);
    untouched.max().unwrap_or(0).max(absent)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A run with this manifest, over what is usual.
    fn run(name: &str, change: impl Fn(&mut Value)) -> RecordedRun {
        let hash = "ab".repeat(32);
        let judge = json!({"id": "m", "model": "m", "base_url": null, "served": null, "lexical": false});
        let mut manifest = json!({
            "schema_version": 1, "scholareval_version": "0.1.0", "status": "complete", "started_at": "", "finished_at": null,
            "mode": "default", "reference": null, "settings": {"judge.temperature": 0.0, "score.samples": 1},
            "inputs": [{"name": "tests", "path": "t.json", "blake3": hash}, {"name": "a", "path": "a", "blake3": hash}],
            "prompts": {"label": "p", "fingerprint": hash, "comparable_with_published": false}, "judge": judge,
            "seed": 1, "answers": 0, "missing": [], "kept_cases": ["c1", "c2"], "warnings": [],
        });
        change(&mut manifest);
        let manifest = serde_json::from_value(manifest).expect("a manifest");
        RecordedRun { path: name.into(), name: name.to_owned(), manifest, items: Vec::new(), scored: Vec::new() }
    }

    fn told(change: impl Fn(&mut Value)) -> Vec<String> {
        let runs = [run("one", |_| ()), run("two", change)];
        comparable(&runs, true).expect("compared anyway").all()
    }

    #[test]
    fn paths_systems_seeds_limits_and_labels_may_differ() {
        let other = told(|manifest| {
            manifest["inputs"][0]["path"] = "elsewhere/t.json".into();
            manifest["inputs"][1] = json!({"name": "b", "path": "b", "blake3": "cd".repeat(32)});
            manifest["settings"]["score.systems"] = json!(["b"]);
            manifest["settings"]["score.cases"] = json!(["c1", "c2"]);
            manifest["kept_cases"] = json!(["c2", "c1"]);
            (manifest["seed"], manifest["label"]) = (7.into(), "mine".into());
            manifest["judge"]["base_url"] = "http://elsewhere".into();
            manifest["scholareval_version"] = "0.2.0".into();
        });
        assert_eq!(other, Vec::<String>::new());
    }

    #[test]
    fn what_changes_numbers_is_told_by_name_with_both_values() {
        assert_eq!(told(|m| m["judge"]["id"] = "n".into()), ["judge of rubric differs: m (one), n (two)"]);
        let prompts = told(|m| m["prompts"]["fingerprint"] = "cd".repeat(32).into());
        assert_eq!(prompts, ["prompts of rubric differs: p [abababab..] (one), p [cdcdcdcd..] (two)"]);
        let tests = told(|m| m["inputs"][0]["blake3"] = "cd".repeat(32).into());
        assert_eq!(tests, ["input tests differs: abababababab.. (one), cdcdcdcdcdcd.. (two)"]);
        assert_eq!(
            told(|m| m["mode"] = "compat".into()),
            ["mode (parser and arithmetic) differs: default (one), compat (two)"]
        );
        assert_eq!(
            told(|m| m["settings"]["score.samples"] = 3.into())[0],
            "draws of rubric differs: [1] (one), [3] (two)"
        );
        assert_eq!(
            told(|m| m["settings"]["score.snippets"] = false.into())[0],
            "score.snippets differs: true (one), false (two)"
        );
        assert!(told(|m| m["kept_cases"] = json!(["c1"]))[0].starts_with("cases differs: 2 ["));
    }

    #[test]
    fn a_judge_by_another_name_in_the_config_is_the_same_judge() {
        let role = json!({
            "judges": [{"id": "m", "model": "m", "base_url": null, "served": null, "lexical": false}],
            "samples": [1], "merges": ["mean"], "expected": [false], "panel_merge": "mean",
            "prompts": {"label": "p", "fingerprint": "ab".repeat(32), "comparable_with_published": false},
        });
        let named = |temperature: f64| {
            let role = role.clone();
            move |manifest: &mut Value| {
                manifest["roles"] = json!({"rubric": role});
                manifest["settings"] = json!({
                    "roles.rubric": ["mine"], "judges.mine": {"temperature": temperature, "samples": 1},
                });
            }
        };
        assert_eq!(told(named(0.0)), Vec::<String>::new());
        assert_eq!(told(named(0.5)), ["temperature of the judge of rubric differs: 0.0 (one), 0.5 (two)"]);
    }

    #[test]
    fn a_role_that_one_run_lacks_is_no_difference() {
        let role = json!({
            "judges": [{"id": "g", "model": "g", "base_url": null, "served": null, "lexical": false}],
            "samples": [1], "merges": ["mean"], "expected": [false], "panel_merge": "mean", "prompts": null,
        });
        assert_eq!(told(|m| m["roles"] = json!({"aspect.coverage": role})), Vec::<String>::new());
    }

    #[test]
    fn without_anyway_every_difference_is_a_fault_and_the_first_says_what_to_do() {
        let runs = [run("one", |_| ()), run("two", |m| (m["judge"]["id"], m["mode"]) = ("n".into(), "compat".into()))];
        let error = comparable(&runs, false).expect_err("no equals").to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines.len(), 2, "{error}");
        assert!(lines.iter().all(|line| line.starts_with("two: ")) && lines[0].contains("--anyway"), "{error}");
    }

    #[test]
    fn who_judged_is_told_once_or_with_its_runs() {
        let same = made_by(&[run("one", |_| ()), run("two", |_| ())]);
        assert_eq!(same, ["rubric: judge m; prompts p, not comparable with published numbers"]);
        let two = made_by(&[run("one", |_| ()), run("two", |m| m["judge"]["lexical"] = true.into())]);
        assert_eq!(two[1], "rubric: the built-in lexical judge, a baseline and no LLM (two)");
    }
}

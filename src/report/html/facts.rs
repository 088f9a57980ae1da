//! What was run. Settings are not shown whole: they may name headers and paths.

use crate::domain::Mode;
use crate::evaluation::record::{JudgeEntry, Manifest, PromptsEntry, RoleEntry, RunStatus};

/// The facts of a run, by name.
pub fn facts(manifest: &Manifest) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| facts.push((name.to_owned(), value));
    // Of a panel `manifest.judge` is the first; its role names all.
    if !manifest.roles.contains_key("rubric") {
        manifest.judge.iter().for_each(|judge| add("judge", judge_name(judge)));
        manifest.prompts.iter().for_each(|prompts| add("prompts", prompts_name(prompts)));
    }
    for (role, entry) in &manifest.roles {
        add(&format!("{} of {role}", if entry.judges.len() == 1 { "judge" } else { "judges" }), judge_names(entry));
        if entry.samples.iter().any(|samples| *samples > 1) {
            let samples: Vec<String> = entry.samples.iter().map(ToString::to_string).collect();
            add(&format!("samples of {role}"), samples.join(", "));
        }
        entry.prompts.iter().for_each(|prompts| add(&format!("prompts of {role}"), prompts_name(prompts)));
    }
    let reference = manifest.reference.as_ref().map_or(String::new(), |pinned| format!(" ({pinned})"));
    add(
        "mode",
        match manifest.mode {
            Mode::Default => "default".to_owned(),
            Mode::Compat => format!("compat: as the reference script{reference}"),
        },
    );
    add("scorers", manifest.scorers.join(", "));
    add("answers", manifest.answers.to_string());
    if !manifest.missing.is_empty() {
        add("cases without an answer", manifest.missing.len().to_string());
    }
    if manifest.status != RunStatus::Complete {
        add("status", "did not finish".to_owned());
    }
    if !manifest.warnings.is_empty() {
        add("warnings about the input", manifest.warnings.len().to_string());
    }
    add("started", to_the_second(&manifest.started_at));
    manifest.finished_at.iter().for_each(|finished| add("finished", to_the_second(finished)));
    add("seed", manifest.seed.to_string());
    add("scholareval", manifest.scholareval_version.clone());
    for input in &manifest.inputs {
        add(&format!("input {}", input.name), format!("blake3 {}..", input.blake3.short(12)));
    }
    facts
}

fn judge_name(judge: &JudgeEntry) -> String {
    if judge.lexical {
        return "the built-in lexical baseline, not an LLM".to_owned();
    }
    judge.model.clone().unwrap_or_else(|| judge.id.clone())
}

/// Every judge; of a panel also how its verdicts are merged.
fn judge_names(entry: &RoleEntry) -> String {
    let name = |judge: &JudgeEntry| {
        let name = judge_name(judge);
        // Two judges may ask one model; their identities differ.
        let id = judge.id.split('|').next().unwrap_or_default();
        if id == name || judge.lexical { name } else { format!("{name} ({id})") }
    };
    let names: Vec<String> = entry.judges.iter().map(name).collect();
    let merge = entry.panel_merge.as_str().replace('_', " ");
    names.join(" + ") + &if names.len() > 1 { format!(", {merge}") } else { String::new() }
}

/// `2026-11-21 23:32:33 UTC` of `2026-11-21T23:32:33.447075558Z`; a time in another form stays as it is.
fn to_the_second(time: &str) -> String {
    let parts = time.strip_suffix('Z').and_then(|time| time.split_once('T'));
    let seconds = |time: &str| time.split_once('.').map_or(time.to_owned(), |(seconds, _)| seconds.to_owned());
    parts.map_or_else(|| time.to_owned(), |(day, time)| format!("{day} {} UTC", seconds(time)))
}

fn prompts_name(prompts: &PromptsEntry) -> String {
    let published = if prompts.comparable_with_published { "" } else { ", not the published wording" };
    format!("{}{published}", prompts.label)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(id: &str, model: &str) -> JudgeEntry {
        JudgeEntry {
            id: id.to_owned(),
            model: Some(model.to_owned()),
            base_url: Some("http://user:pass@host".to_owned()),
            served: None,
            lexical: false,
        }
    }

    #[test]
    fn every_judge_of_a_panel_is_named_and_no_address() {
        let entry = RoleEntry {
            judges: vec![judge("a|root=/w", "a"), judge("strict", "a")],
            samples: vec![1, 1],
            merges: Vec::new(),
            expected: Vec::new(),
            panel_merge: crate::evaluation::Merge::default(),
            prompts: None,
        };
        assert_eq!(judge_names(&entry), "a + a (strict), mean");
        let alone = RoleEntry { judges: vec![judge("a", "a")], ..entry };
        assert_eq!(judge_names(&alone), "a");
    }

    #[test]
    fn times_are_shown_to_the_second() {
        assert_eq!(to_the_second("2026-11-21T23:32:33.447075558Z"), "2026-11-21 23:32:33 UTC");
        assert_eq!(to_the_second("2026-11-21T23:32:33Z"), "2026-11-21 23:32:33 UTC");
        assert_eq!(to_the_second("yesterday"), "yesterday");
    }
}

//! What was run, as a reader of the page should know it. Settings are not told whole: they may name headers and paths.

use crate::domain::Mode;
use crate::pipeline::record::{JudgeEntry, Manifest, PromptsEntry, RunStatus};

/// The facts of a run, by name.
pub(super) fn facts(manifest: &Manifest) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| facts.push((name.to_owned(), value));
    if let Some(judge) = &manifest.judge {
        add("judge", judge_name(judge));
    }
    if let Some(prompts) = &manifest.prompts {
        add("prompts", prompts_name(prompts));
    }
    for (role, entry) in &manifest.roles {
        add(&format!("judges of {role}"), entry.judges.iter().map(judge_name).collect::<Vec<_>>().join(" + "));
        if entry.samples.iter().any(|samples| *samples > 1) {
            let draws: Vec<String> = entry.samples.iter().map(ToString::to_string).collect();
            add(&format!("draws of {role}"), draws.join(", "));
        }
        if let Some(prompts) = &entry.prompts {
            add(&format!("prompts of {role}"), prompts_name(prompts));
        }
    }
    let of_reference = manifest.reference.as_ref().map_or(String::new(), |pinned| format!(" ({pinned})"));
    add(
        "mode",
        match manifest.mode {
            Mode::Default => "default".to_owned(),
            Mode::Compat => format!("compat: as the reference script{of_reference}"),
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
    add("begun", manifest.started_at.clone());
    if let Some(finished) = &manifest.finished_at {
        add("finished", finished.clone());
    }
    add("seed of its own tables", manifest.seed.to_string());
    add("scholareval", manifest.scholareval_version.clone());
    for input in &manifest.inputs {
        add(&format!("input {}", input.name), format!("blake3 {}..", input.blake3.short(12)));
    }
    facts
}

fn judge_name(judge: &JudgeEntry) -> String {
    if judge.lexical {
        return "the built-in lexical baseline, no LLM".to_owned();
    }
    judge.model.clone().unwrap_or_else(|| judge.id.clone())
}

fn prompts_name(prompts: &PromptsEntry) -> String {
    let published = if prompts.comparable_with_published { "" } else { ", not the published wording" };
    format!("{}{published}", prompts.label)
}

//! `scholareval prompts export|import|show`.

use std::path::Path;
use std::sync::Arc;

use super::runtime;
use crate::cli::args::{PromptsCommand, ShowPromptsArgs};
use crate::cli::origin::escape_controls;
use crate::cli::terminal::{escaped_lines, path_text, write_stdout};
use crate::domain::CaseId;
use crate::error::{InputFault, Result};
use crate::prompt::PromptSet;
use crate::record::{CallRecord, Manifest, for_each_call};
use crate::runs::RunPrompts;

/// Runs the command.
///
/// # Errors
/// When a prompt set cannot be read or written.
pub(super) fn run(command: &PromptsCommand) -> Result<()> {
    let text = match command {
        PromptsCommand::Export { dir } => written(&PromptSet::builtin(), dir)?,
        PromptsCommand::Import {
            source,
            family,
            out,
        } => written(&imported(source, family.as_deref())?, out)?,
        PromptsCommand::Show(args) => {
            let set = prompt_set(args.prompts.as_deref())?;
            match &args.run {
                Some(run) => calls(run, args, set)?,
                None => summary(&set),
            }
        }
    };
    write_stdout(text.as_bytes())
}

/// The set in this directory, else the built-in one.
pub(super) fn prompt_set(dir: Option<&Path>) -> Result<PromptSet> {
    dir.map_or_else(|| Ok(PromptSet::builtin()), PromptSet::load)
}

/// The calls about a case of the run: prompt, verdict and raw reply of each.
fn calls(run: &Path, args: &ShowPromptsArgs, set: PromptSet) -> Result<String> {
    let manifest = Manifest::of_run(run)?;
    let is_chosen = |case: &CaseId| Some(case.as_str()) == args.case.as_deref();
    let systems = &args.systems;
    let mut chosen = Vec::new();
    for_each_call(run, &manifest, |call| {
        let is_of_system =
            systems.is_empty() || systems.iter().any(|system| system == call.system.as_str());
        let names = [call.item.to_string(), call.kind.to_string()];
        let is_of_item = args.item.as_ref().is_none_or(|item| names.contains(item));
        if is_chosen(&call.case_id) && is_of_system && is_of_item {
            chosen.push(call);
        }
        Ok(())
    })?;
    if chosen.is_empty() {
        let case = args.case.as_deref().unwrap_or_default();
        let what = format!("has no call about case {case:?} that --systems and --item leave in");
        let hint = "cases, systems and items are in its items.csv";
        return Err(InputFault::new(run, what).refuse(hint));
    }
    let rebuilt = RunPrompts::rebuild(run, &manifest, Arc::new(set), is_chosen);
    let prompts = runtime()?.block_on(rebuilt);
    let mut text = String::new();
    for call in &chosen {
        push_call(&mut text, call, &prompts);
    }
    Ok(escaped_lines(&text))
}

fn push_call(text: &mut String, call: &CallRecord, prompts: &RunPrompts) {
    let (system, item, kind, judge) = (&call.system, &call.item, &call.kind, &call.judge);
    let (sample, attempt) = (call.sample + 1, call.attempt + 1);
    let role = call.role.name();
    text.push_str(&format!(
        "=== {system}, {item} ({kind}), asked of {judge} as {role}, sample {sample}, attempt {attempt}\n"
    ));
    match prompts.of(call) {
        Ok(texts) => {
            let lines = prompts.lines(&call.case_id);
            for (place, ranges) in texts.iter().enumerate() {
                let name = if place + 1 == texts.len() {
                    "user"
                } else {
                    "system"
                };
                let ranges = ranges.iter();
                let parts = ranges.flat_map(|(first, count)| &lines[*first..first + count]);
                let parts: Vec<&str> = parts.map(String::as_str).collect();
                text.push_str(&format!("--- {name}\n{}\n", parts.join("\n")));
            }
        }
        Err(why) => text.push_str(&format!("--- prompt not shown: {why}\n")),
    }
    let verdict = match &call.verdict {
        Ok(verdict) => serde_json::json!(verdict).to_string(),
        Err(reason) => format!("none: {}", reason.message),
    };
    let reply = call.reply.as_ref().map_or("", |reply| &reply.content);
    text.push_str(&format!(
        "--- verdict\n{verdict}\n--- raw reply\n{reply}\n\n"
    ));
}

/// The published wording of a family, or of all of ScholarQABench.
fn imported(source: &Path, family: Option<&str>) -> Result<PromptSet> {
    match family {
        Some("fact") => PromptSet::import_fact(source),
        Some(_) => PromptSet::import_cs2(source),
        None => PromptSet::import(source),
    }
}

/// Writes the set into a directory; returns how to use it.
fn written(set: &PromptSet, dir: &Path) -> Result<String> {
    set.export(dir)?;
    let dir = path_text(dir);
    Ok(format!(
        "wrote {dir}\n{}use it with: --prompts {dir}\n",
        summary(set)
    ))
}

/// Source and fingerprint of each family, and whether its numbers are comparable with published ones.
fn summary(set: &PromptSet) -> String {
    let mut text = String::new();
    for family in set.families() {
        text.push_str(&format!(
            "{}\n  prompts:     {}\n  fingerprint: {}\n",
            family.id.as_str(),
            escape_controls(&family.label()),
            family.fingerprint()
        ));
        if let Some(note) = family.comparability_note() {
            text.push_str(&format!("  note:        {note}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::PromptFamily;

    #[test]
    fn every_family_is_shown_and_a_written_set_says_how_to_use_it() {
        let set = PromptSet::builtin();
        let text = summary(&set);
        let heads: Vec<&str> = text.lines().filter(|line| !line.starts_with(' ')).collect();
        let families: Vec<&str> = PromptFamily::all()
            .into_iter()
            .map(PromptFamily::as_str)
            .collect();
        assert_eq!(heads, families);
        let ours = text.matches("prompts:     scholareval@").count();
        assert_eq!(ours, families.len(), "{text}");
        assert!(
            text.contains("  note:        not comparable with published numbers"),
            "{text}"
        );
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my");
        assert!(
            written(&set, &path)
                .unwrap()
                .ends_with(&format!("use it with: --prompts {}\n", path.display()))
        );
    }
}

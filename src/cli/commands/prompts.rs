//! `scholareval prompts export|import|show`.

use std::path::Path;

use crate::cli::args::PromptsCommand;
use crate::cli::origin::escape_controls;
use crate::cli::terminal::{path_text, write_stdout};
use crate::error::Result;
use crate::prompt::PromptSet;

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
        PromptsCommand::Show { prompts: Some(dir) } => summary(&PromptSet::load(dir)?),
        PromptsCommand::Show { prompts: None } => summary(&PromptSet::builtin()),
    };
    write_stdout(text.as_bytes())
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

//! `scholareval prompts export|import|show`.

use std::path::Path;

use crate::cli::ExitCode;
use crate::cli::args::PromptsCommand;
use crate::cli::origin::escape_controls;
use crate::cli::terminal::write_stdout;
use crate::error::Result;
use crate::prompt::{Family, PromptSet};

/// What is told about one family of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FamilySummary {
    /// `rubric`, `aspect` or `attribution`.
    family: &'static str,
    /// `scholareval@..`, `scholarqabench@95e6fc5` or `custom@..`.
    label: String,
    /// 64 hexadecimal digits.
    fingerprint: String,
    /// What a reader must know before comparing with published numbers; empty for the published set.
    comparability: String,
}

pub(super) fn run(command: &PromptsCommand) -> Result<ExitCode> {
    let text = match command {
        PromptsCommand::Export { dir } => {
            let set = export_builtin(dir)?;
            render_written(dir, &set)
        }
        PromptsCommand::Import { checkout, out } => {
            let set = import_published(checkout, out)?;
            render_written(out, &set)
        }
        PromptsCommand::Show { prompts } => render_set(&load_set(prompts.as_deref())?),
    };
    write_stdout(text.as_bytes())?;
    Ok(ExitCode::Ok)
}

fn render_written(dir: &Path, set: &[FamilySummary]) -> String {
    let dir = escape_controls(&dir.display().to_string());
    format!("wrote {dir}\n{}use it with: --prompts {dir}\n", render_set(set))
}

fn render_set(set: &[FamilySummary]) -> String {
    let mut text = String::new();
    for FamilySummary { family, label, fingerprint, comparability } in set {
        text.push_str(&format!("{family}\n  prompts:     {}\n", escape_controls(label)));
        text.push_str(&format!("  fingerprint: {fingerprint}\n"));
        if !comparability.is_empty() {
            text.push_str(&format!("  note:        {comparability}\n"));
        }
    }
    text
}

/// Writes the built-in set into `dir`.
fn export_builtin(dir: &Path) -> Result<Vec<FamilySummary>> {
    let set = PromptSet::builtin();
    set.export(dir)?;
    Ok(summaries(&set))
}

/// Makes the published set from a checkout and writes it into `out`.
fn import_published(checkout: &Path, out: &Path) -> Result<Vec<FamilySummary>> {
    let set = PromptSet::import(checkout)?;
    set.export(out)?;
    Ok(summaries(&set))
}

/// Reads the set in `dir`, or takes the built-in one.
fn load_set(dir: Option<&Path>) -> Result<Vec<FamilySummary>> {
    let set = dir.map_or_else(|| Ok(PromptSet::builtin()), PromptSet::load)?;
    Ok(summaries(&set))
}

fn summaries(set: &PromptSet) -> Vec<FamilySummary> {
    let summary = |family: &Family| FamilySummary {
        family: family.id().as_str(),
        label: family.label(),
        fingerprint: family.fingerprint().to_string(),
        comparability: family.comparability_note().unwrap_or_default().to_owned(),
    };
    set.families().iter().map(summary).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(comparability: &str) -> Vec<FamilySummary> {
        vec![FamilySummary {
            family: "aspect",
            label: "custom@12345678".to_owned(),
            fingerprint: "ab".to_owned(),
            comparability: comparability.to_owned(),
        }]
    }

    #[test]
    fn a_set_that_is_not_the_published_one_says_so() {
        assert_eq!(
            render_set(&set("not comparable with published numbers")),
            "aspect\n  prompts:     custom@12345678\n  fingerprint: ab\n  note:        not comparable with published \
             numbers\n"
        );
        assert!(!render_set(&set("")).contains("note"));
    }

    #[test]
    fn every_family_is_told() {
        let told = render_set(&load_set(None).unwrap());
        let heads: Vec<&str> = told.lines().filter(|line| !line.starts_with(' ')).collect();
        assert_eq!(heads, ["rubric", "aspect", "attribution"]);
        assert_eq!(told.matches("prompts:     scholareval@").count(), 3, "{told}");
    }

    #[test]
    fn a_written_set_says_how_to_use_it() {
        assert!(render_written(Path::new("my"), &set("")).ends_with("use it with: --prompts my\n"));
    }
}

//! `manifest.toml`: what a prompt set consists of.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::domain::{CallKind, Fingerprint};
use crate::error::{InputFault, Result};

/// The manifest's file name.
pub(crate) const MANIFEST: &str = "manifest.toml";

/// How texts are put into templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsertMode {
    /// Between tags that the text cannot close; see [`super::fence`].
    Fenced,
    /// Byte for byte, for published wordings.
    Verbatim,
}

/// A whole manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    pub(crate) version: u32,
    pub(crate) mode: InsertMode,
    /// The model the wording was published with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// Where an imported set comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) imported: Option<Imported>,
    pub(crate) expertise: TaskEntry,
    pub(crate) property: TaskEntry,
    pub(crate) evidence: TaskEntry,
    pub(crate) citations: TaskEntry,
}

/// What a set was imported from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Imported {
    /// The commit the checkout stood at.
    pub(crate) commit: String,
    /// The set's fingerprint when it was imported: a set that was edited afterwards has another.
    pub(crate) fingerprint: Fingerprint,
}

/// The files and parameters of one task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskEntry {
    /// File of the system message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) system: Option<String>,
    /// Files of the user message, in order.
    pub(crate) user: Vec<String>,
    /// File of a fixed criterion; for `expertise` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) criterion: Option<String>,
    /// Reply limit; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<u64>,
    /// Whether JSON mode is asked for.
    #[serde(default)]
    pub(crate) json_mode: bool,
}

impl TaskEntry {
    /// The files it names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.system.iter().chain(&self.user).chain(&self.criterion).map(String::as_str)
    }
}

impl Manifest {
    /// Reads a manifest; `path` is for messages.
    pub(crate) fn parse(source: &str, path: &Path) -> Result<Self> {
        let manifest: Self = toml::from_str(source).map_err(|error| {
            let line = error.span().map(|span| 1 + source[..span.start.min(source.len())].matches('\n').count());
            let mut fault = InputFault::new(path, error.message().replace('\n', " "))
                .hint("`scholareval prompts export DIR` writes a manifest to start from");
            fault.line = line;
            fault
        })?;
        for kind in CallKind::ALL {
            let entry = manifest.entry(kind);
            if entry.user.is_empty() {
                return Err(InputFault::new(path, format!("[{kind}] has no user file"))
                    .hint("name at least one file, as in user = [\"answer.txt\"]")
                    .into());
            }
            if entry.criterion.is_some() && kind != CallKind::Expertise {
                return Err(InputFault::new(path, format!("[{kind}] has a fixed criterion"))
                    .hint("only [expertise] can have one; remove the line")
                    .into());
            }
            if let Some(name) = entry.files().find(|name| !is_plain(name)) {
                return Err(InputFault::new(path, format!("[{kind}] names the file {name:?}"))
                    .hint("use a plain file name in the directory of the manifest")
                    .into());
            }
        }
        Ok(manifest)
    }

    pub(crate) fn entry(&self, kind: CallKind) -> &TaskEntry {
        match kind {
            CallKind::Expertise => &self.expertise,
            CallKind::Property => &self.property,
            CallKind::Evidence => &self.evidence,
            CallKind::Citations | CallKind::Aspect | CallKind::Attribution => &self.citations,
        }
    }
}

/// A name that stays in its directory on every platform, and is none of the set's own files.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name != MANIFEST
        && name != super::files::README
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILTIN: &str = include_str!("../../rubrics/scholarqa_cs/manifest.toml");

    fn fault_of(source: &str) -> String {
        Manifest::parse(source, Path::new("set/manifest.toml")).unwrap_err().to_string()
    }

    #[test]
    fn our_own_manifest_is_read() {
        let manifest = Manifest::parse(BUILTIN, Path::new("m")).unwrap();
        assert_eq!(manifest.mode, InsertMode::Fenced);
        assert_eq!(manifest.citations.max_tokens, None);
        assert_eq!(manifest.evidence.user, ["answer.txt", "evidence.txt"]);
    }

    #[test]
    fn an_unknown_mode_is_an_error_naming_file_and_line() {
        let message = fault_of(&BUILTIN.replace("\"fenced\"", "\"open\""));
        assert!(message.starts_with("set/manifest.toml:4: unknown variant `open`"), "{message}");
    }

    #[test]
    fn a_file_outside_the_directory_is_refused() {
        for name in ["../secret", "/etc/passwd", "a/b.txt", "..", "c:x", "manifest.toml"] {
            let message = fault_of(&BUILTIN.replacen("system.txt", name, 1));
            assert!(message.contains("plain file name"), "{message}");
        }
    }

    #[test]
    fn a_task_without_user_files_is_an_error() {
        let message = fault_of(&BUILTIN.replace("[\"answer.txt\", \"evidence.txt\"]", "[]"));
        assert!(message.contains("[evidence] has no user file"), "{message}");
    }
}

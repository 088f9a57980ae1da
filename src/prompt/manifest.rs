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
    /// The four tasks of the rubric: all or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expertise: Option<TaskEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) property: Option<TaskEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) evidence: Option<TaskEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) citations: Option<TaskEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) aspect: Option<AspectEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attribution: Option<TaskEntry>,
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

/// The files and parameters of the grading of one aspect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AspectEntry {
    /// File of the system message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) system: Option<String>,
    /// Files of the user message, in order, where there is a reference answer.
    pub(crate) with_reference: Vec<String>,
    /// Those where there is none.
    pub(crate) without_reference: Vec<String>,
    /// Reply limit; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<u64>,
    /// Whether JSON mode is asked for.
    #[serde(default)]
    pub(crate) json_mode: bool,
    /// The variant without headers over the sections, if the set has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) without_headers: Option<AspectVariant>,
}

/// The user files of a variant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AspectVariant {
    /// Files of the user message where there is a reference answer.
    pub(crate) with_reference: Vec<String>,
    /// Those where there is none.
    pub(crate) without_reference: Vec<String>,
}

/// One list of user files of a manifest with what is beside it.
#[derive(Debug, Clone, Copy)]
pub(super) struct UserFiles<'a> {
    pub(super) kind: CallKind,
    /// How it is called in messages and in the fingerprint: `user`, `with_reference`, ..
    pub(super) part: &'static str,
    pub(super) system: Option<&'a String>,
    pub(super) user: &'a [String],
    pub(super) criterion: Option<&'a String>,
}

/// What a family's calls are sent with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parameters {
    pub(super) max_tokens: Option<u64>,
    pub(super) json_mode: bool,
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
        manifest.check_tables(path)?;
        for entry in CallKind::ALL.iter().flat_map(|kind| manifest.entries(*kind)) {
            let table = entry.table();
            if entry.user.is_empty() {
                return Err(InputFault::new(path, format!("{table} has no {} file", entry.part))
                    .hint(format!("name at least one file, as in {} = [\"answer.txt\"]", entry.key()))
                    .into());
            }
            if entry.criterion.is_some() && entry.kind != CallKind::Expertise {
                return Err(InputFault::new(path, format!("{table} has a fixed criterion"))
                    .hint("only [expertise] can have one; remove the line")
                    .into());
            }
            if let Some(name) = entry.files().find(|name| !is_plain(name)) {
                return Err(InputFault::new(path, format!("{table} names the file {name:?}"))
                    .hint("use a plain file name in the directory of the manifest")
                    .into());
            }
        }
        Ok(manifest)
    }

    /// The rubric's four tables come together, and there is a table at all.
    fn check_tables(&self, path: &Path) -> Result<()> {
        let there = CallKind::RUBRIC.map(|kind| self.rubric_entry(kind).is_some());
        if there.contains(&true)
            && let Some(at) = there.iter().position(|there| !there)
        {
            let what = format!("has no [{}], but other tables of the rubric", CallKind::RUBRIC[at]);
            return Err(InputFault::new(path, what)
                .hint("give all of [expertise], [property], [evidence] and [citations], or none of them")
                .into());
        }
        if !there.contains(&true) && self.aspect.is_none() && self.attribution.is_none() {
            return Err(InputFault::new(path, "names no prompts")
                .hint("give the four tables of the rubric, [aspect] or [attribution]")
                .into());
        }
        Ok(())
    }

    fn rubric_entry(&self, kind: CallKind) -> Option<&TaskEntry> {
        match kind {
            CallKind::Expertise => self.expertise.as_ref(),
            CallKind::Property => self.property.as_ref(),
            CallKind::Evidence => self.evidence.as_ref(),
            CallKind::Citations => self.citations.as_ref(),
            CallKind::Attribution => self.attribution.as_ref(),
            CallKind::Aspect => None,
        }
    }

    /// The lists of user files for a kind of call; none if its family is absent. Those of an aspect stand in the order
    /// with and without a reference, then the same without headers.
    pub(super) fn entries(&self, kind: CallKind) -> Vec<UserFiles<'_>> {
        if let Some(entry) = self.rubric_entry(kind) {
            let (system, criterion) = (entry.system.as_ref(), entry.criterion.as_ref());
            return vec![UserFiles { kind, part: "user", system, user: &entry.user, criterion }];
        }
        let Some(entry) = self.aspect.as_ref().filter(|_| kind == CallKind::Aspect) else { return Vec::new() };
        let mut lists =
            vec![("with_reference", &entry.with_reference), ("without_reference", &entry.without_reference)];
        if let Some(plain) = &entry.without_headers {
            lists.push(("without_headers.with_reference", &plain.with_reference));
            lists.push(("without_headers.without_reference", &plain.without_reference));
        }
        let files = |(part, user): (&'static str, _)| UserFiles {
            kind,
            part,
            system: entry.system.as_ref(),
            user,
            criterion: None,
        };
        lists.into_iter().map(|(part, user)| files((part, user.as_slice()))).collect()
    }

    /// The parameters of a kind of call; `None` if its family is absent.
    pub(super) fn parameters(&self, kind: CallKind) -> Option<Parameters> {
        let of_task = |entry: &TaskEntry| Parameters { max_tokens: entry.max_tokens, json_mode: entry.json_mode };
        let of_aspect = |entry: &AspectEntry| Parameters { max_tokens: entry.max_tokens, json_mode: entry.json_mode };
        match kind {
            CallKind::Aspect => self.aspect.as_ref().map(of_aspect),
            _ => self.rubric_entry(kind).map(of_task),
        }
    }

    /// The names of all files, some more than once.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        CallKind::ALL.into_iter().flat_map(|kind| self.entries(kind)).flat_map(|entry| entry.files())
    }
}

impl<'a> UserFiles<'a> {
    /// The files it names.
    fn files(self) -> impl Iterator<Item = &'a str> {
        self.system.into_iter().chain(self.user).chain(self.criterion).map(String::as_str)
    }

    /// The table it stands in, for messages.
    fn table(self) -> String {
        match self.part.split_once('.') {
            Some((table, _)) => format!("[{}.{table}]", self.kind),
            None => format!("[{}]", self.kind),
        }
    }

    /// The key of the list in its table.
    fn key(self) -> &'static str {
        self.part.rsplit('.').next().unwrap_or(self.part)
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
        assert_eq!(manifest.parameters(CallKind::Citations), Some(Parameters { max_tokens: None, json_mode: true }));
        assert_eq!(manifest.entries(CallKind::Evidence)[0].user, ["answer.txt", "evidence.txt"]);
        assert_eq!(manifest.parameters(CallKind::Aspect), None);
    }

    #[test]
    fn the_tables_of_the_rubric_come_together() {
        let message = fault_of(&BUILTIN.replace("[citations]", "[attribution]"));
        assert!(message.contains("has no [citations], but other tables of the rubric"), "{message}");
        let head = &BUILTIN[..BUILTIN.find("[expertise]").unwrap()];
        assert!(fault_of(head).contains("names no prompts"));
    }

    #[test]
    fn a_variant_of_an_aspect_without_files_is_an_error() {
        let aspects = include_str!("../../rubrics/aspects/manifest.toml");
        let message = fault_of(&aspects.replace("[\"aspect.plain.answer.txt\", \"aspect.plain.rubric.txt\"]", "[]"));
        assert!(
            message.contains("[aspect.without_headers] has no without_headers.without_reference file"),
            "{message}"
        );
        assert!(message.contains("as in without_reference = ["), "{message}");
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

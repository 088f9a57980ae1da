//! `manifest.toml`: contents of a prompt set.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::family::PromptFamily;
use crate::domain::{CallKind, Fingerprint};
use crate::error::{InputFault, Result};
use crate::files::{is_plain_name, parse_toml};

/// The manifest's file name.
pub(crate) const MANIFEST: &str = "manifest.toml";

/// The README of an exported set.
pub(super) const README: &str = "README.md";

/// How texts are inserted into templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsertMode {
    /// Between delimiters that the text cannot close; see [`super::delimiters`].
    Fenced,
    /// Byte for byte, for published wordings.
    Verbatim,
}

/// A whole manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) mode: InsertMode,
    /// Origin of an imported set.
    pub(crate) imported: Option<Imported>,
    /// The four tasks of the rubric: all or none.
    pub(crate) expertise: Option<TaskEntry>,
    pub(crate) property: Option<TaskEntry>,
    pub(crate) evidence: Option<TaskEntry>,
    pub(crate) citations: Option<TaskEntry>,
    pub(crate) aspect: Option<AspectEntry>,
    pub(crate) attribution: Option<TaskEntry>,
    pub(crate) criteria: Option<TaskEntry>,
    /// The two tasks of ScholarQA-CS2: both or none.
    pub(crate) precision: Option<TaskEntry>,
    pub(crate) citation_group: Option<TaskEntry>,
}

/// Origin of an imported set.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Imported {
    /// The checkout's commit.
    pub(crate) commit: String,
    /// The set's fingerprint at import, which changes with later edits.
    pub(crate) fingerprint: Fingerprint,
}

/// The files and parameters of one task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskEntry {
    /// File of the system message.
    pub(crate) system: Option<String>,
    /// Files of the user message, in order.
    pub(crate) user: Vec<String>,
    /// File of a fixed criterion for `expertise`, of the template of one criterion for `criteria`; not for others.
    pub(crate) criterion: Option<String>,
    /// Reply limit; none by default.
    pub(crate) max_tokens: Option<u64>,
    /// Whether to request JSON mode.
    #[serde(default)]
    pub(crate) json_mode: bool,
    /// JSON schema of the reply, as text, or `{name, schema}`, which is sent as it is; only for kinds whose reply is a
    /// JSON object.
    pub(crate) schema: Option<String>,
    /// Text before a title that stands for its source; only for `citation_group`, which needs it.
    pub(crate) title_marker: Option<String>,
}

/// The files and parameters of aspect grading.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AspectEntry {
    /// File of the system message.
    pub(crate) system: Option<String>,
    /// Files of the user message, in order, with a reference answer.
    pub(crate) with_reference: Vec<String>,
    /// Those without one.
    pub(crate) without_reference: Vec<String>,
    /// Reply limit; none by default.
    pub(crate) max_tokens: Option<u64>,
    /// Whether to request JSON mode.
    #[serde(default)]
    pub(crate) json_mode: bool,
}

/// The files and parameters of one task: a call kind, or an aspect with or without a reference answer.
#[derive(Debug, Clone)]
pub(super) struct NamedTask {
    pub(super) kind: CallKind,
    /// Key of the user files in the manifest and in the fingerprint: `user`, `with_reference`, ..
    pub(super) part: &'static str,
    pub(super) entry: TaskEntry,
}

impl Manifest {
    /// Parses a manifest; `path` is for messages.
    pub(crate) fn parse(source: &str, path: &Path) -> Result<Self> {
        let hint = "`scholareval prompts export DIR` writes a manifest to start from";
        let manifest: Self = parse_toml(source, path, hint)?;
        manifest.check_tables(path)?;
        CallKind::ALL
            .iter()
            .flat_map(|kind| manifest.tasks(*kind))
            .try_for_each(|task| task.check(path))?;
        Ok(manifest)
    }

    /// The tables of a family come together, and at least one table exists.
    fn check_tables(&self, path: &Path) -> Result<()> {
        let is_missing = |kind: &&CallKind| self.tasks(**kind).is_empty();
        for family in PromptFamily::ALL {
            let Some(missing) = family.kinds().iter().find(is_missing) else {
                continue;
            };
            if !family.kinds().iter().all(|kind| is_missing(&kind)) {
                let what = format!(
                    "has no [{missing}], but other tables of the family {}",
                    family.as_str()
                );
                let names: Vec<String> = family
                    .kinds()
                    .iter()
                    .map(|kind| format!("[{kind}]"))
                    .collect();
                let hint = format!("give all of {}, or none of them", names.join(", "));
                return Err(InputFault::new(path, what).hint(hint).into());
            }
        }
        if CallKind::ALL.iter().all(|kind| is_missing(&kind)) {
            return Err(InputFault::new(path, "names no prompts")
                .hint("give the four tables of the rubric, [aspect], [attribution], [criteria], or [precision] and [citation_group]")
                .into());
        }
        Ok(())
    }

    /// The tasks of a call kind; none if its table is missing. An aspect has two: with and without a reference answer.
    pub(super) fn tasks(&self, kind: CallKind) -> Vec<NamedTask> {
        let entry = match kind {
            CallKind::Expertise => &self.expertise,
            CallKind::Property => &self.property,
            CallKind::Evidence => &self.evidence,
            CallKind::Citations => &self.citations,
            CallKind::Attribution => &self.attribution,
            CallKind::Criteria => &self.criteria,
            CallKind::Precision => &self.precision,
            CallKind::CitationGroup => &self.citation_group,
            CallKind::Aspect => return self.aspect.iter().flat_map(AspectEntry::tasks).collect(),
        };
        entry
            .iter()
            .map(|entry| NamedTask {
                kind,
                part: "user",
                entry: entry.clone(),
            })
            .collect()
    }

    /// The names of all files, some more than once.
    pub(super) fn files(&self) -> Vec<String> {
        let tasks = CallKind::ALL.into_iter().flat_map(|kind| self.tasks(kind));
        tasks
            .flat_map(|task| task.files().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }
}

impl AspectEntry {
    fn tasks(&self) -> [NamedTask; 2] {
        let task = |part, user: &[String]| NamedTask {
            kind: CallKind::Aspect,
            part,
            entry: TaskEntry {
                system: self.system.clone(),
                user: user.to_vec(),
                max_tokens: self.max_tokens,
                json_mode: self.json_mode,
                ..TaskEntry::default()
            },
        };
        [
            task("with_reference", &self.with_reference),
            task("without_reference", &self.without_reference),
        ]
    }
}

impl NamedTask {
    /// The files it names.
    fn files(&self) -> impl Iterator<Item = &str> {
        let TaskEntry {
            system,
            user,
            criterion,
            ..
        } = &self.entry;
        system
            .iter()
            .chain(user)
            .chain(criterion)
            .map(String::as_str)
    }

    fn check(&self, path: &Path) -> Result<()> {
        let (kind, part) = (self.kind, self.part);
        let fault = |what: String, hint: &str| {
            Err(InputFault::new(path, format!("[{kind}] {what}"))
                .hint(hint)
                .into())
        };
        if self.entry.user.is_empty() {
            let hint = format!("name at least one file, as in {part} = [\"answer.txt\"]");
            return fault(format!("has no {part} file"), &hint);
        }
        if self.entry.criterion.is_some()
            && !matches!(kind, CallKind::Expertise | CallKind::Criteria)
        {
            return fault(
                "has a criterion".to_owned(),
                "only [expertise] and [criteria] can have one; remove the line",
            );
        }
        let has_marker = self.entry.title_marker.is_some();
        if has_marker != (kind == CallKind::CitationGroup) {
            let hint =
                "it is the text before the title of a source, in [citation_group] and nowhere else";
            return fault(
                format!("has {} title_marker", if has_marker { "a" } else { "no" }),
                hint,
            );
        }
        let is_object = |schema: &str| {
            serde_json::from_str::<Value>(schema).is_ok_and(|schema| schema.is_object())
        };
        if self
            .entry
            .schema
            .as_deref()
            .is_some_and(|schema| !is_object(schema) || kind == CallKind::Attribution)
        {
            let hint = "write a JSON schema in single quotes, such as '{\"type\": \"object\", ..}', and only where the reply is a JSON object";
            return fault("has a schema that cannot be used".to_owned(), hint);
        }
        if let Some(name) = self.files().find(|name| !is_plain(name)) {
            let hint = "use a plain file name in the directory of the manifest";
            return fault(format!("names the file {name:?}"), hint);
        }
        Ok(())
    }
}

/// True for a name that is not one of the set's own files.
fn is_plain(name: &str) -> bool {
    is_plain_name(name) && name != MANIFEST && name != README
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILTIN: &str = include_str!("../../rubrics/scholarqa_cs/manifest.toml");

    fn fault_of(source: &str) -> String {
        Manifest::parse(source, Path::new("set/manifest.toml"))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn our_own_manifest_is_read() {
        let manifest = Manifest::parse(BUILTIN, Path::new("m")).unwrap();
        assert_eq!(manifest.mode, InsertMode::Fenced);
        let citations = &manifest.tasks(CallKind::Citations)[0].entry;
        assert_eq!((citations.max_tokens, citations.json_mode), (None, true));
        assert_eq!(
            manifest.tasks(CallKind::Evidence)[0].entry.user,
            ["answer.txt", "evidence.txt"]
        );
        assert!(manifest.tasks(CallKind::Aspect).is_empty());
    }

    #[test]
    fn the_tables_of_the_rubric_come_together() {
        let message = fault_of(&BUILTIN.replace("[citations]", "[attribution]"));
        assert!(
            message.contains("has no [citations], but other tables of the family rubric"),
            "{message}"
        );
        let head = &BUILTIN[..BUILTIN.find("[expertise]").unwrap()];
        assert!(fault_of(head).contains("names no prompts"));
    }

    #[test]
    fn an_aspect_without_files_is_an_error() {
        let aspects = include_str!("../../rubrics/aspects/manifest.toml");
        let message =
            fault_of(&aspects.replace("[\"aspect.answer.txt\", \"aspect.rubric.txt\"]", "[]"));
        assert!(
            message.contains("[aspect] has no without_reference file"),
            "{message}"
        );
        assert!(message.contains("as in without_reference = ["), "{message}");
    }

    #[test]
    fn an_unknown_mode_is_an_error_naming_file_and_line() {
        let message = fault_of(&BUILTIN.replace("\"fenced\"", "\"open\""));
        assert!(
            message.starts_with("set/manifest.toml:2: unknown variant `open`"),
            "{message}"
        );
    }

    #[test]
    fn a_file_outside_the_directory_is_refused() {
        for name in [
            "../secret",
            "/etc/passwd",
            "a/b.txt",
            "..",
            "c:x",
            "manifest.toml",
        ] {
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

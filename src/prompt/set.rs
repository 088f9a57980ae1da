//! Prompt sets, and how they render tasks.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::family::{self, PromptFamily};
use super::manifest::{Imported, InsertMode, MANIFEST, Manifest};
use super::task::TaskTemplates;
use crate::domain::{CallKind, Fingerprint, JudgeTask};
use crate::error::{Error, Result};

/// Messages of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Messages {
    /// The system message, if the set has one for this task.
    pub system: Option<String>,
    /// The user message.
    pub user: String,
    /// Bytes of it that calls about the same answer begin with, so that providers can process them once; 0 if unknown.
    pub shared: usize,
}

impl Messages {
    /// Messages with these texts.
    pub fn new(system: Option<String>, user: impl Into<String>) -> Self {
        Self {
            system,
            user: user.into(),
            shared: 0,
        }
    }
}

/// Templates for every judge task, with their parameters.
///
/// A set has five [families](PromptFamily). Families missing from a directory come from the built-in set; each
/// family's [label](Family::label) names its wording.
#[derive(Debug)]
pub struct PromptSet {
    pub(super) manifest_source: String,
    pub(super) files: BTreeMap<String, String>,
    /// In the order of [`PromptFamily::ALL`].
    families: Vec<Family>,
}

impl PromptSet {
    /// Assembles a set; `dir` is for messages.
    pub(super) fn compile(
        manifest_source: String,
        files: BTreeMap<String, String>,
        dir: &Path,
    ) -> Result<Self> {
        let manifest = Manifest::parse(&manifest_source, &dir.join(MANIFEST))?;
        let family = |id: PromptFamily| {
            let own = Family::compile(&manifest, id, &files, dir)?;
            Ok::<_, Error>(own.unwrap_or_else(|| Self::shared_builtin().family_of(id).clone()))
        };
        let families = PromptFamily::ALL
            .into_iter()
            .map(family)
            .collect::<Result<_>>()?;
        Ok(Self {
            manifest_source,
            files,
            families,
        })
    }

    /// The messages for one task.
    pub fn render(&self, task: &JudgeTask) -> Messages {
        let templates = self.family(task.kind()).templates_of(task);
        let (user, shared) = templates.user(task);
        Messages {
            system: templates.system(task),
            user,
            shared,
        }
    }

    /// The family that renders this call kind.
    pub fn family(&self, kind: CallKind) -> &Family {
        self.family_of(PromptFamily::of(kind))
    }

    /// One family.
    pub fn family_of(&self, id: PromptFamily) -> &Family {
        &self.families[id as usize]
    }

    /// All families, rubric first.
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// The reply limit in tokens of this call kind; `None`: unlimited.
    pub fn max_tokens(&self, kind: CallKind) -> Option<u64> {
        self.family(kind).task(kind).named.entry.max_tokens
    }

    /// Whether this call kind requests JSON mode.
    pub fn json_mode(&self, kind: CallKind) -> bool {
        self.family(kind).task(kind).named.entry.json_mode
    }

    /// The text before the title of a source of which nothing else is known.
    pub fn title_marker(&self) -> &str {
        let kind = CallKind::CitationGroup;
        self.family(kind)
            .task(kind)
            .named
            .entry
            .title_marker
            .as_deref()
            .unwrap_or_default()
    }

    /// The JSON schema that this call kind declares for its replies.
    pub fn schema(&self, kind: CallKind) -> Option<Value> {
        let entry = &self.family(kind).task(kind).named.entry;
        entry
            .schema
            .as_deref()
            .and_then(|schema| serde_json::from_str(schema).ok())
    }
}

/// One family of a [`PromptSet`].
#[derive(Debug, Clone)]
pub struct Family {
    /// Which family this is.
    pub id: PromptFamily,
    /// How texts are inserted into the templates.
    pub mode: InsertMode,
    imported: Option<Imported>,
    /// One per rubric kind; for aspects with and without a reference answer.
    tasks: Vec<TaskTemplates>,
}

impl Family {
    /// The family in a manifest, if present; `dir` is for messages.
    pub(super) fn compile(
        manifest: &Manifest,
        id: PromptFamily,
        files: &BTreeMap<String, String>,
        dir: &Path,
    ) -> Result<Option<Self>> {
        let named = id.kinds().iter().flat_map(|kind| manifest.tasks(*kind));
        let compile = |task| TaskTemplates::compile(task, manifest.mode, files, dir);
        let tasks = named.map(compile).collect::<Result<Vec<_>>>()?;
        let family = Self {
            id,
            mode: manifest.mode,
            imported: manifest.imported.clone(),
            tasks,
        };
        Ok(Some(family).filter(|family| !family.tasks.is_empty()))
    }

    /// The templates for a task of this family.
    fn templates_of(&self, task: &JudgeTask) -> &TaskTemplates {
        match task {
            JudgeTask::Aspect { reference, .. } => &self.tasks[usize::from(reference.is_none())],
            _ => self.task(task.kind()),
        }
    }

    /// The first task of a call kind.
    fn task(&self, kind: CallKind) -> &TaskTemplates {
        &self.tasks[self
            .id
            .kinds()
            .iter()
            .position(|own| *own == kind)
            .unwrap_or_default()]
    }

    /// The texts sent to a judge, with the call kind and the part of its prompt.
    fn texts(&self) -> Vec<(CallKind, &'static str, &str)> {
        let mut texts = Vec::new();
        for task in &self.tasks {
            let kind = task.named.kind;
            for (part, text) in task.texts() {
                // An aspect's variants share one system message.
                if part != "system"
                    || !texts
                        .iter()
                        .any(|(of, part, _)| (*of, *part) == (kind, "system"))
                {
                    texts.push((kind, part, text));
                }
            }
        }
        texts
    }

    /// blake3 over the mode and, for each task in order, its system, user and criterion texts.
    ///
    /// Equal for families with equal messages: file names, the manifest's comments and, in fenced sets, line breaks at
    /// the end of a file do not count.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = blake3::Hasher::new();
        let mut field = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        field("scholareval prompt set 1");
        field(if self.mode == InsertMode::Fenced {
            "fenced"
        } else {
            "verbatim"
        });
        let texts = self.texts();
        for of_kind in texts.chunk_by(|(a, ..), (b, ..)| a == b) {
            field(of_kind[0].0.as_str());
            for (_, part, text) in of_kind {
                field(part);
                field(text);
            }
        }
        hasher.finalize().into()
    }

    /// The family's name in reports: `scholareval@<8 hex digits>` for the built-in prompts, `scholarqabench@95e6fc5`
    /// or `astabench@0.5.4` for the published wording, else `custom@<8 hex digits>`.
    pub fn label(&self) -> String {
        if self.is_published() {
            return family::LABELS[self.id as usize].to_owned();
        }
        let name = if self.is_builtin() {
            "scholareval"
        } else {
            "custom"
        };
        format!("{name}@{}", self.fingerprint().short(8))
    }

    /// Whether this family gives the same messages as the built-in one.
    pub fn is_builtin(&self) -> bool {
        let builtin = PromptSet::shared_builtin().family_of(self.id);
        self.mode == builtin.mode && self.texts() == builtin.texts()
    }

    /// Whether every text is the published one, inserted verbatim.
    ///
    /// The hashes of `expertise`, `property`, `aspect` and `attribution` come from the reference's recorded requests,
    /// those of `evidence` and `citations` from the script in its first repository. Different wordings of the latter
    /// count as published if imported from a git checkout at the published commit and not edited since.
    pub fn is_published(&self) -> bool {
        if self.mode != InsertMode::Verbatim {
            return false;
        }
        let different = self.differences_from_published();
        let of_commit =
            |own: &Imported| own.commit == family::COMMIT && own.fingerprint == self.fingerprint();
        // No recorded request proves the hashes of these texts.
        let is_unproven =
            |part: &String| part.starts_with("evidence ") || part.starts_with("citations ");
        different.is_empty()
            || (different.iter().all(is_unproven) && self.imported.as_ref().is_some_and(of_commit))
    }

    /// The texts that differ from the published ones (`evidence system`, ..); empty for the published wording.
    pub fn differences_from_published(&self) -> Vec<String> {
        let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex().to_string();
        let ours: Vec<_> = self
            .texts()
            .iter()
            .map(|(kind, part, text)| (format!("{kind} {part}"), hash(text)))
            .collect();
        family::differences(self.id, &ours)
    }

    /// Note for results made with these prompts; `None` for the published wording.
    pub fn comparability_note(&self) -> Option<&'static str> {
        (!self.is_published()).then_some("not comparable with published numbers")
    }
}

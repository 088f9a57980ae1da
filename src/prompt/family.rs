//! The prompts of one family of calls: rubric, aspects, attribution.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::compile::{CompiledTask, Source, Wording, fingerprint_of};
use super::fence::Guard;
use super::manifest::{Imported, InsertMode, Manifest, Parameters};
use super::published;
use super::set::PromptSet;
use crate::domain::{CallKind, Fingerprint, JudgeTask};
use crate::error::{Error, Result};

/// Calls whose prompts belong together; each family of a set has a fingerprint and a label of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PromptFamily {
    /// The four kinds of the ScholarQA-CS rubric.
    Rubric,
    /// Grades of aspects.
    Aspect,
    /// Whether a document bears a claim out.
    Attribution,
}

impl PromptFamily {
    /// All families.
    pub const ALL: [Self; 3] = [Self::Rubric, Self::Aspect, Self::Attribution];

    /// The family of a kind of call.
    pub fn of(kind: CallKind) -> Self {
        match kind {
            CallKind::Expertise | CallKind::Property | CallKind::Evidence | CallKind::Citations => Self::Rubric,
            CallKind::Aspect => Self::Aspect,
            CallKind::Attribution => Self::Attribution,
        }
    }

    /// The kinds of calls of the family.
    pub fn kinds(self) -> &'static [CallKind] {
        match self {
            Self::Rubric => &CallKind::RUBRIC,
            Self::Aspect => &[CallKind::Aspect],
            Self::Attribution => &[CallKind::Attribution],
        }
    }

    /// The family's name in files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rubric => "rubric",
            Self::Aspect => "aspect",
            Self::Attribution => "attribution",
        }
    }

    pub(super) fn guard(self) -> Guard {
        match self {
            Self::Rubric => Guard::Rubric,
            Self::Aspect | Self::Attribution => Guard::Graded,
        }
    }
}

impl fmt::Display for PromptFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One family of a [`PromptSet`].
#[derive(Debug, Clone)]
pub struct Family {
    id: PromptFamily,
    mode: InsertMode,
    imported: Option<Imported>,
    /// One per kind of the rubric; for aspects with and without reference, then the same without headers.
    tasks: Vec<CompiledTask>,
    parameters: Vec<Parameters>,
    wording: Vec<(CallKind, Wording)>,
    without_headers: bool,
}

impl Family {
    /// The family of a manifest, if it has it; `dir` is for messages.
    pub(super) fn compile(
        manifest: &Manifest,
        id: PromptFamily,
        files: &BTreeMap<String, String>,
        dir: &Path,
    ) -> Result<Option<Self>> {
        let source = Source { mode: manifest.mode, files, dir };
        let entries: Vec<_> = id.kinds().iter().flat_map(|kind| manifest.entries(*kind)).collect();
        if entries.is_empty() {
            return Ok(None);
        }
        let mut tasks = entries.iter().map(|entry| source.compile(*entry)).collect::<Result<Vec<_>>>()?;
        // A number that no other family uses.
        let base = 16 * PromptFamily::ALL.iter().position(|family| *family == id).unwrap_or_default();
        for i in 0..tasks.len() {
            let shared_files = |i: usize| &entries[i].user[..tasks[i].shared];
            tasks[i].prefix = base + (0..i).find(|j| shared_files(*j) == shared_files(i)).unwrap_or(i);
        }
        let wording_of = |kind: &CallKind| {
            let mut wording = Wording::new();
            for (_, task) in entries.iter().zip(&tasks).filter(|(entry, _)| entry.kind == *kind) {
                // The variants of an aspect have one system message.
                let is_new = |part: &str| part != "system" || !wording.iter().any(|(known, _)| *known == "system");
                let texts: Wording = task.wording.iter().filter(|(part, _)| is_new(part)).cloned().collect();
                wording.extend(texts);
            }
            (*kind, wording)
        };
        let wording = id.kinds().iter().map(wording_of).collect();
        let parameters = id.kinds().iter().filter_map(|kind| manifest.parameters(*kind)).collect();
        let imported = manifest.imported.clone();
        Ok(Some(Self { id, mode: manifest.mode, imported, tasks, parameters, wording, without_headers: false }))
    }

    /// The same family, sending its variant without headers over the sections.
    pub(super) fn without_headers(self) -> Result<Self> {
        if self.tasks.len() < 4 {
            let what = "the prompt set has no [aspect.without_headers]; add this table to its manifest, or leave the \
                        headers in";
            return Err(Error::Settings(what.to_owned()));
        }
        Ok(Self { without_headers: true, ..self })
    }

    /// The templates for a task of this family.
    pub(super) fn task_for(&self, task: &JudgeTask) -> &CompiledTask {
        let index = match task {
            JudgeTask::Aspect { reference, .. } => {
                usize::from(reference.is_none()) + if self.without_headers { 2 } else { 0 }
            }
            _ => self.index_of(task.kind()).unwrap_or_default(),
        };
        &self.tasks[index]
    }

    fn index_of(&self, kind: CallKind) -> Option<usize> {
        self.id.kinds().iter().position(|own| *own == kind)
    }

    pub(super) fn parameters(&self, kind: CallKind) -> Option<Parameters> {
        self.parameters.get(self.index_of(kind)?).copied()
    }

    /// Which family it is.
    pub fn id(&self) -> PromptFamily {
        self.id
    }

    /// How texts are put into the templates.
    pub fn mode(&self) -> InsertMode {
        self.mode
    }

    /// blake3 over the mode and, for each task in order, its system, user and criterion texts; and whether the headers
    /// over the sections are left out.
    ///
    /// Equal for families that give equal messages: file names, the manifest's comments and, in fenced sets, line
    /// breaks at the end of a file do not count.
    pub fn fingerprint(&self) -> Fingerprint {
        fingerprint_of(self.mode, &self.wording, self.without_headers)
    }

    /// The name under which results of this family are reported: `scholareval@<8 hex digits>` for the built-in
    /// prompts, `scholarqabench@95e6fc5` for the published wording, else `custom@<8 hex digits>`.
    pub fn label(&self) -> String {
        if self.is_published() {
            return published::LABEL.to_owned();
        }
        let name = if self.is_builtin() { "scholareval" } else { "custom" };
        format!("{name}@{}", self.fingerprint().short(8))
    }

    /// True if this family gives the same messages as the built-in one.
    pub fn is_builtin(&self) -> bool {
        let builtin = PromptSet::shared_builtin().family_of(self.id);
        self.mode == builtin.mode && self.wording == builtin.wording
    }

    /// True if every text is the published one, inserted verbatim.
    ///
    /// The texts of `expertise`, `property`, `aspect` and `attribution` are known by the hashes of the reference's
    /// recorded requests. Those of `evidence` and `citations` are known by their hashes in the script's first home;
    /// where a later script words them otherwise, they count as published if they were imported, and not edited since,
    /// from a git checkout at the published commit.
    pub fn is_published(&self) -> bool {
        if self.mode != InsertMode::Verbatim {
            return false;
        }
        let different = self.differences_from_published();
        let from_the_commit = || {
            self.imported.as_ref().is_some_and(|imported| {
                imported.commit == published::COMMIT && imported.fingerprint == self.fingerprint()
            })
        };
        different.is_empty() || (!different.iter().any(|part| published::is_proven(part)) && from_the_commit())
    }

    /// The texts that are not the published ones (`evidence system`, ..); empty for the published wording.
    pub fn differences_from_published(&self) -> Vec<String> {
        let texts = self.wording.iter().flat_map(|(kind, texts)| texts.iter().map(move |text| (kind, text)));
        let ours: Vec<_> = texts
            .map(|(kind, (part, text))| (format!("{kind} {part}"), blake3::hash(text.as_bytes()).to_hex().to_string()))
            .collect();
        published::differences(self.id, &ours)
    }

    /// What has to be said beside numbers made with these prompts; nothing for the published wording.
    pub fn comparability_note(&self) -> Option<&'static str> {
        (!self.is_published()).then_some("not comparable with published numbers")
    }
}

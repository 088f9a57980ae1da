//! A prompt set and how it renders tasks.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::Messages;
use super::compile::{CompiledTask, Source, Wording, fingerprint_of};
use super::family::PromptFamily;
use super::manifest::{Imported, InsertMode, MANIFEST, Manifest, Parameters};
use super::memo::PrefixMemo;
use super::published;
use super::values::{BETWEEN_FILES, Values};
use crate::domain::{CallKind, Fingerprint, JudgeTask};
use crate::error::{Error, Result};

/// Templates for every task of a judge, with the parameters they were written for.
///
/// A set has three [families](PromptFamily). What a directory lacks is taken from the built-in set, so a family's
/// [label](Family::label) is what tells whose words were sent.
///
/// Cheap to render with: the part of a message that the calls of one answer share is fenced once and remembered.
pub struct PromptSet {
    name: String,
    model: Option<String>,
    pub(super) manifest_source: String,
    pub(super) files: BTreeMap<String, String>,
    families: [Family; 3],
    memo: PrefixMemo,
}

impl PromptSet {
    /// Puts a set together; `dir` is for messages.
    pub(super) fn compile(manifest_source: String, files: BTreeMap<String, String>, dir: &Path) -> Result<Self> {
        let manifest = Manifest::parse(&manifest_source, &dir.join(MANIFEST))?;
        let family = |id: PromptFamily| {
            let own = Family::compile(&manifest, id, &files, dir)?;
            Ok::<_, crate::Error>(own.unwrap_or_else(|| Self::shared_builtin().family_of(id).clone()))
        };
        let [rubric, aspect, attribution] = PromptFamily::ALL;
        let families = [family(rubric)?, family(aspect)?, family(attribution)?];
        let Manifest { name, model, .. } = manifest;
        Ok(Self { name, model, manifest_source, files, families, memo: PrefixMemo::default() })
    }

    /// The same set, its aspects sent without headers over the sections (`without_header` of the published script).
    ///
    /// # Errors
    /// [`crate::Error::Settings`] if the set has no such variant.
    pub fn without_headers(self) -> Result<Self> {
        let [rubric, aspect, attribution] = self.families;
        Ok(Self { families: [rubric, aspect.without_headers()?, attribution], ..self })
    }

    /// The messages for one task.
    pub fn render(&self, task: &JudgeTask) -> Messages {
        let family = self.family(task.kind());
        let compiled = family.task_for(task);
        let values = Values::of(task, compiled, family.mode());
        let system = compiled.system.as_ref().map(|template| {
            let mut out = String::new();
            template.fill(&mut out, |out, variable| values.insert_verbatim(out, variable));
            out
        });
        match family.mode() {
            InsertMode::Verbatim => {
                let mut user = String::with_capacity(task.answer().len() + task.question().len() + 1024);
                for template in &compiled.user {
                    template.fill(&mut user, |out, variable| values.insert_verbatim(out, variable));
                }
                Messages::new(system, user)
            }
            InsertMode::Fenced => self.fenced(system, compiled, &values),
        }
    }

    fn fenced(&self, system: Option<String>, task: &CompiledTask, values: &Values<'_>) -> Messages {
        let (shared, own) = task.user.split_at(task.shared);
        if shared.is_empty() {
            return Messages::new(system, values.fenced("", own.iter()));
        }
        let prefix = self.memo.get(task.prefix, values.shared(), || values.fenced("", shared.iter()));
        let own = if own.is_empty() { String::new() } else { values.fenced(BETWEEN_FILES, own.iter()) };
        Messages::starting_with(system, prefix, own)
    }

    /// The family that renders this kind of call.
    pub fn family(&self, kind: CallKind) -> &Family {
        self.family_of(PromptFamily::of(kind))
    }

    /// One family.
    pub fn family_of(&self, id: PromptFamily) -> &Family {
        let [rubric, aspect, attribution] = &self.families;
        match id {
            PromptFamily::Rubric => rubric,
            PromptFamily::Aspect => aspect,
            PromptFamily::Attribution => attribution,
        }
    }

    /// All families, rubric first.
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    fn rubric(&self) -> &Family {
        self.family_of(PromptFamily::Rubric)
    }

    /// The rubric family's [fingerprint](Family::fingerprint).
    pub fn fingerprint(&self) -> Fingerprint {
        self.rubric().fingerprint()
    }

    /// The rubric family's [label](Family::label).
    pub fn label(&self) -> String {
        self.rubric().label()
    }

    /// True if the rubric family [is the published wording](Family::is_published).
    pub fn is_published(&self) -> bool {
        self.rubric().is_published()
    }

    /// The rubric family's [differences](Family::differences_from_published).
    pub fn differences_from_published(&self) -> Vec<String> {
        self.rubric().differences_from_published()
    }

    /// The rubric family's [note](Family::comparability_note).
    pub fn comparability_note(&self) -> Option<&'static str> {
        self.rubric().comparability_note()
    }

    /// True if every family gives the same messages as the built-in one.
    pub fn is_builtin(&self) -> bool {
        self.families.iter().all(Family::is_builtin)
    }

    /// The name the manifest gives.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How texts are put into the rubric family's templates.
    pub fn mode(&self) -> InsertMode {
        self.rubric().mode()
    }

    /// The model the rubric's wording was published with, where known.
    pub fn published_model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The reply limit in tokens that belongs to this kind of call; `None` is no limit.
    pub fn max_tokens(&self, kind: CallKind) -> Option<u64> {
        self.family(kind).parameters(kind).and_then(|parameters| parameters.max_tokens)
    }

    /// Whether this kind of call asks for JSON mode.
    pub fn json_mode(&self, kind: CallKind) -> bool {
        self.family(kind).parameters(kind).is_some_and(|parameters| parameters.json_mode)
    }
}

impl fmt::Debug for PromptSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptSet").field("label", &self.label()).field("mode", &self.mode()).finish_non_exhaustive()
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

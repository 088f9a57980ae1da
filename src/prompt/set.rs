//! A prompt set and how it renders tasks.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::Messages;
use super::compile::CompiledTask;
use super::family::{Family, PromptFamily};
use super::manifest::{InsertMode, MANIFEST, Manifest};
use super::memo::PrefixMemo;
use super::values::{BETWEEN_FILES, Values};
use crate::domain::{CallKind, Fingerprint, JudgeTask};
use crate::error::Result;

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

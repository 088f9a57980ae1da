//! Prompt sets, and how they render tasks.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::delimiters::{Marker, neutralize};
use super::family::{self, PromptFamily};
use super::manifest::{Imported, InsertMode, MANIFEST, PromptManifest, TaskTable};
use super::messages::Messages;
use super::task::{DECISION, DECISION_OF_FAULT, TaskTemplates};
use super::template::Template;
use scholareval_core::domain::Fingerprint;
use scholareval_core::error::{Error, Result};
use scholareval_core::question::{
    CITATION_GROUP, CriterionTemplate, DecisionChunk, DecisionQuestion, DecisionWording, KindInfo,
    PAIR, PairForm, Question, ReplyKind, one_line,
};

/// Templates for every judge task, with their parameters.
///
/// A set has all [families](PromptFamily). Families missing from a directory come from the built-in set; each
/// family's [label](Family::label) names its wording.
///
/// ```
/// use scholareval_judge::prompt::PromptSet;
/// use scholareval_core::question::Property;
///
/// let prompts = PromptSet::builtin();
/// let messages = prompts.render(&Property {
///     question: "Why is the sky blue?".into(),
///     answer: "Short wavelengths scatter more.".into(),
///     criterion: "The answer names Rayleigh scattering.".into(),
/// });
/// assert!(messages.user.contains("names Rayleigh scattering"));
/// ```
#[derive(Debug)]
pub struct PromptSet {
    pub(super) manifest_source: String,
    pub(super) files: BTreeMap<String, String>,
    /// In the order of [`PromptFamily::all`].
    families: Vec<Family>,
}

impl PromptSet {
    /// Assembles a set of the user's, which need not have all families: the built-in ones keep their label in the
    /// record. `dir` is for messages.
    pub(super) fn compile(
        manifest_source: String,
        files: BTreeMap<String, String>,
        dir: &Path,
    ) -> Result<Self> {
        let builtin = Self::shared_builtin();
        Self::compile_over(Some(builtin), manifest_source, files, dir)
    }

    /// Assembles a set; missing families are those of `builtin`.
    pub(super) fn compile_over(
        builtin: Option<&Self>,
        manifest_source: String,
        files: BTreeMap<String, String>,
        dir: &Path,
    ) -> Result<Self> {
        let manifest = PromptManifest::parse(&manifest_source, &dir.join(MANIFEST))?;
        let mut families = Vec::new();
        for id in PromptFamily::all() {
            let of_set = Family::compile(&manifest, id, &files, dir)?;
            let family = of_set.or_else(|| builtin?.family_of(id).cloned());
            let Some(family) = family else {
                let what = format!("no built-in prompts of the family {}", id.as_str());
                return Err(Error::Internal(what));
            };
            families.push(family);
        }
        Ok(Self {
            manifest_source,
            files,
            families,
        })
    }

    /// The messages for one question. A kind that is defined outside this crate brings its template. A decision model is sent a text
    /// and the questions about it.
    pub fn render(&self, question: &dyn Question) -> Messages {
        if let Some(chunk) = question.downcast_ref::<DecisionChunk>() {
            return Messages {
                questions: Some(chunk.questions().to_string()),
                ..Messages::new(None, self.state(question))
            };
        }
        let info = question.info();
        let Some(family) = self.family(info) else {
            let templates = TaskTemplates::of_kind(info);
            return templates.messages(question);
        };
        family.task(info, question.part()).messages(question)
    }

    /// What a decision model is shown of a question: the texts that all questions about an answer, a page or a document share.
    pub fn state(&self, question: &dyn Question) -> String {
        let info = question.info();
        match self.family(info) {
            Some(family) => family.task(info, question.part()).state(question),
            None => TaskTemplates::of_kind(info).state(question),
        }
    }

    /// The decisions that settle a question, those of each of its items; none where a decision model cannot be asked it.
    pub fn decisions(&self, question: &dyn Question) -> Vec<Vec<DecisionQuestion>> {
        let info = question.info();
        let builtin = Self::shared_builtin();
        let set = if self.has_decision(info) {
            self
        } else {
            builtin
        };
        let family = set.family(info).map(|family| family.task(info, ""));
        question.decisions(&DecisionTexts {
            info,
            statement: family.and_then(|task| task.decision.as_ref()),
            of_fault: family.and_then(|task| task.decision_of_fault.as_ref()),
        })
    }

    /// Whether this set says how a decision model is asked this kind of question; else the built-in text is sent.
    pub fn has_decision(&self, info: &KindInfo) -> bool {
        let family = self.family(info);
        family.is_some_and(|family| family.task(info, "").decision.is_some())
    }

    /// The family that renders this kind of question; `None` for kinds that are defined outside this crate.
    pub fn family(&self, info: &KindInfo) -> Option<&Family> {
        let family = self.family_of(PromptFamily::of(info))?;
        family
            .kinds_asked()
            .any(|kind| kind.name == info.name)
            .then_some(family)
    }

    /// One family.
    pub fn family_of(&self, id: PromptFamily) -> Option<&Family> {
        self.families.iter().find(|family| family.id == id)
    }

    /// All families, rubric first.
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// The files and parameters of a kind of question.
    fn table(&self, info: &KindInfo) -> Option<&TaskTable> {
        let family = self.family(info)?;
        Some(&family.task(info, "").named.table)
    }

    /// How texts are inserted into the prompts of this kind of question.
    pub fn insert_mode(&self, info: &KindInfo) -> InsertMode {
        self.family(info)
            .map_or(InsertMode::Fenced, |family| family.mode)
    }

    /// The reply limit in tokens of this kind of question: that of its table, else that of the kind; `None`: unlimited.
    pub fn max_tokens(&self, info: &KindInfo) -> Option<u64> {
        let given = self.table(info).and_then(|table| table.max_tokens);
        given.or_else(|| info.reply_limit.filter(|_| self.is_fenced(info)))
    }

    /// Whether this kind of question requests JSON mode: as its table says, else if its replies are JSON.
    pub fn json_mode(&self, info: &KindInfo) -> bool {
        let given = self.table(info).and_then(|table| table.json_mode);
        given.unwrap_or(info.reply == ReplyKind::Json && self.is_fenced(info))
    }

    /// Whether texts are fenced in the prompts of this kind of question. What their table leaves out is then as the kind says.
    /// Published wordings are sent with what their table says and nothing else, as their authors sent them.
    pub fn is_fenced(&self, info: &KindInfo) -> bool {
        self.insert_mode(info) == InsertMode::Fenced
    }

    /// The text before the title of a source of which nothing else is known.
    pub fn title_marker(&self) -> &str {
        let table = self.table(&CITATION_GROUP);
        table
            .and_then(|table| table.title_marker.as_deref())
            .unwrap_or_default()
    }

    /// The form of the verdicts on pairs of answers that these prompts ask for.
    pub fn pair_form(&self) -> PairForm {
        let table = self.table(&PAIR);
        let declared = table.and_then(|table| table.verdict.as_deref());
        declared.and_then(PairForm::named).unwrap_or_default()
    }

    /// Whether the prompts of this kind of question show this variable.
    pub fn shows(&self, info: &KindInfo, variable: &str) -> bool {
        let family = self.family(info);
        family.is_some_and(|family| family.task(info, "").shows(variable))
    }

    /// The JSON schema that this kind of question declares for its replies.
    pub fn schema(&self, info: &KindInfo) -> Option<Value> {
        let schema = self.table(info)?.schema.as_deref()?;
        serde_json::from_str(schema).ok()
    }
}

/// The texts of a kind of question for decision models.
struct DecisionTexts<'a> {
    info: &'static KindInfo,
    statement: Option<&'a Template>,
    /// The one about what counts against an answer; `None`: as others.
    of_fault: Option<&'a Template>,
}

impl DecisionWording for DecisionTexts<'_> {
    /// Words of a rubric stand on one line of the text, foreign text between delimiters.
    fn instructions(&self, decided: &str, is_fault: bool) -> String {
        let family = PromptFamily::of(self.info);
        let neutral = neutralize(decided, family);
        let shown = match self.info.decided.filter(|variable| variable.is_hostile) {
            Some(variable) => {
                let mut section = String::new();
                Marker::of(&[decided]).section(&mut section, variable.section, &neutral);
                section
            }
            None => one_line(&neutral),
        };
        let of_fault = self.of_fault.filter(|_| is_fault);
        match of_fault.or(self.statement) {
            Some(template) => template.filled_with(&|_| shown.clone()),
            None => shown,
        }
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
        manifest: &PromptManifest,
        id: PromptFamily,
        files: &BTreeMap<String, String>,
        dir: &Path,
    ) -> Result<Option<Self>> {
        let named = id.kinds().flat_map(|info| manifest.tasks(info));
        let mut tasks = Vec::new();
        for task in named {
            tasks.push(TaskTemplates::compile(task, manifest.mode, files, dir)?);
        }
        let family = Self {
            id,
            mode: manifest.mode,
            imported: manifest.imported.clone(),
            tasks,
        };
        Ok(Some(family).filter(|family| !family.tasks.is_empty()))
    }

    /// The kinds of questions that it has prompts of.
    fn kinds_asked(&self) -> impl Iterator<Item = &'static KindInfo> {
        self.tasks.iter().map(|task| task.named.info)
    }

    /// The templates of a form of the user message of this kind of question; the first form, if it has no such part.
    fn task(&self, info: &KindInfo, part: &str) -> &TaskTemplates {
        let mut of_kind = self
            .tasks
            .iter()
            .filter(|task| task.named.info.name == info.name);
        let first = of_kind.clone().next();
        let exact = of_kind.find(|task| task.named.part == part);
        // Questions whose kind has one form give no part.
        exact.or(first).unwrap_or(&self.tasks[0])
    }

    /// The texts sent to a judge, with the kind of question and the part of its prompt.
    fn texts(&self) -> Vec<(&'static str, &'static str, &str)> {
        let mut texts: Vec<(&'static str, &'static str, &str)> = Vec::new();
        for task in &self.tasks {
            let kind = task.named.info.name;
            for (part, text) in task.texts() {
                // An aspect's variants share all but the user message.
                let is_shared = ["system", DECISION, DECISION_OF_FAULT].contains(&part);
                let is_there = texts
                    .iter()
                    .any(|(of, name, _)| (*of, *name) == (kind, part));
                if !(is_shared && is_there) {
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
        // A version of the rule: if ever something else is hashed, no old fingerprint may come out
        // again.
        hash_field(&mut hasher, "scholareval prompt set 1");
        hash_field(
            &mut hasher,
            if self.mode == InsertMode::Fenced {
                "fenced"
            } else {
                "verbatim"
            },
        );
        let mut texts = self.texts();
        // Sets from before decision models have the built-in text for them, and keep their fingerprint.
        let builtin = PromptSet::shared_builtin().family_of(self.id);
        let builtin = builtin.map(Self::texts).unwrap_or_default();
        texts.retain(|text| {
            let is_decision = [DECISION, DECISION_OF_FAULT].contains(&text.1);
            !(is_decision && builtin.contains(text))
        });
        for of_kind in texts.chunk_by(|(a, ..), (b, ..)| a == b) {
            hash_field(&mut hasher, of_kind[0].0);
            for (_, part, text) in of_kind {
                hash_field(&mut hasher, part);
                hash_field(&mut hasher, text);
            }
        }
        hasher.finalize().into()
    }

    /// The family's name in reports: `scholareval@<8 hex digits>` for the built-in prompts, `scholarqabench@95e6fc5`,
    /// `astabench@0.5.4` or `deep_research_bench@214741e` for the published wording, else `custom@<8 hex digits>`.
    pub fn label(&self) -> String {
        if let Some(label) = self.id.published_label().filter(|_| self.is_published()) {
            return label.to_owned();
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
        builtin.is_some_and(|published| {
            self.mode == published.mode && self.texts() == published.texts()
        })
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
        let of_commit = |imported: &Imported| {
            imported.commit == family::COMMIT && imported.fingerprint == self.fingerprint()
        };
        // No recorded request proves the hashes of these texts.
        let is_unproven =
            |part: &String| part.starts_with("evidence ") || part.starts_with("citations ");
        different.is_empty()
            || (different.iter().all(is_unproven) && self.imported.as_ref().is_some_and(of_commit))
    }

    /// The texts that differ from the published ones (`evidence system`, ..); empty for the published wording.
    pub fn differences_from_published(&self) -> Vec<String> {
        let mut ours = Vec::new();
        for (kind, part, text) in self.texts() {
            let hash = blake3::hash(text.as_bytes());
            ours.push((format!("{kind} {part}"), hash.to_hex().to_string()));
        }
        family::differences(self.id, &ours)
    }

    /// Note for results made with these prompts; `None` for the published wording.
    pub fn comparability_note(&self) -> Option<&'static str> {
        (!self.is_published()).then_some("not comparable with published numbers")
    }
}

/// Hashes a text with its length, so that no two lists of texts have the same hash.
fn hash_field(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

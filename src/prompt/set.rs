//! A prompt set and how it renders tasks.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::Messages;
use super::compile::{CompiledTask, compile_task, fingerprint_of};
use super::fence::{Marker, neutralise, numbered_lines};
use super::manifest::{InsertMode, MANIFEST, Manifest};
use super::memo::{PrefixMemo, SharedPrefix};
use super::published;
use super::template::{Template, Variable};
use crate::domain::{CallKind, Fingerprint, JudgeTask};
use crate::error::Result;

/// Stands between the files of a user message in fenced sets.
const BETWEEN_FILES: &str = "\n\n";

/// Templates for every task of a judge, with the parameters they were written for.
///
/// Cheap to render with: the part of a message that the calls of one answer share is fenced once and remembered.
pub struct PromptSet {
    pub(crate) manifest: Manifest,
    pub(crate) manifest_source: String,
    pub(crate) files: BTreeMap<String, String>,
    tasks: [CompiledTask; 4],
    fingerprint: Fingerprint,
    memo: PrefixMemo,
}

/// What the variables of one task stand for.
struct Values<'a> {
    question: &'a Arc<str>,
    answer: &'a Arc<str>,
    criterion: &'a str,
    snippets: &'a [String],
    /// The id around question and answer; hashing them is the costly part.
    marker: OnceCell<Marker>,
}

impl PromptSet {
    /// Puts a set together; `dir` is for messages.
    pub(crate) fn compile(manifest_source: String, files: BTreeMap<String, String>, dir: &Path) -> Result<Self> {
        let manifest = Manifest::parse(&manifest_source, &dir.join(MANIFEST))?;
        let mut tasks: [CompiledTask; 4] = Default::default();
        for (task, kind) in tasks.iter_mut().zip(CallKind::RUBRIC) {
            *task = compile_task(&manifest, kind, &files, dir)?;
        }
        for i in 0..tasks.len() {
            let shared_files = |i: usize| &manifest.entry(CallKind::RUBRIC[i]).user[..tasks[i].shared];
            tasks[i].prefix = (0..i).find(|j| shared_files(*j) == shared_files(i)).unwrap_or(i);
        }
        let fingerprint = fingerprint_of(manifest.mode, &tasks);
        Ok(Self { manifest, manifest_source, files, tasks, fingerprint, memo: PrefixMemo::default() })
    }

    /// The messages for one task.
    pub fn render(&self, task: &JudgeTask) -> Messages {
        let compiled = &self.tasks[index_of(task.kind())];
        let mut values = Values {
            question: task.question(),
            answer: task.answer(),
            criterion: "",
            snippets: &[],
            marker: OnceCell::new(),
        };
        match task {
            JudgeTask::Property { criterion, .. } => values.criterion = criterion,
            JudgeTask::Evidence { snippets, .. } => values.snippets = snippets,
            JudgeTask::Expertise { .. } => values.criterion = compiled.criterion.as_deref().unwrap_or_default(),
            JudgeTask::Citations { .. } | JudgeTask::Aspect { .. } | JudgeTask::Attribution { .. } => {}
        }
        let system = compiled.system.as_ref().map(|template| {
            let mut out = String::new();
            template.fill(&mut out, |out, variable| values.insert_verbatim(out, variable));
            out
        });
        let (user, shared) = match self.manifest.mode {
            InsertMode::Verbatim => {
                let mut out = String::with_capacity(values.answer.len() + values.question.len() + 1024);
                for template in &compiled.user {
                    template.fill(&mut out, |out, variable| values.insert_verbatim(out, variable));
                }
                (out, None)
            }
            InsertMode::Fenced => self.fenced_user(compiled, &values),
        };
        Messages { system, user, shared }
    }

    fn fenced_user(&self, task: &CompiledTask, values: &Values<'_>) -> (String, Option<Arc<SharedPrefix>>) {
        let (shared, own) = task.user.split_at(task.shared);
        let mut user = String::new();
        let prefix = (!shared.is_empty())
            .then(|| self.memo.get(task.prefix, values.question, values.answer, || values.fenced(shared.iter())));
        if let Some(prefix) = &prefix {
            user.reserve(prefix.text().len() + 2048);
            user.push_str(prefix.text());
        }
        if !own.is_empty() {
            if !shared.is_empty() {
                user.push_str(BETWEEN_FILES);
            }
            user.push_str(&values.fenced(own.iter()));
        }
        (user, prefix)
    }

    /// blake3 over the mode and, for each task in order, its system, user and criterion texts.
    ///
    /// Equal for sets that give equal messages: file names, the manifest's comments and, in fenced sets, line breaks
    /// at the end of a file do not count.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The name under which results of this set are reported: `scholareval@<8 hex digits>` for the built-in set,
    /// `scholarqabench@95e6fc5` for the published wording, else `custom@<8 hex digits>`.
    pub fn label(&self) -> String {
        if self.is_published() {
            return published::LABEL.to_owned();
        }
        let name = if self.is_builtin() { "scholareval" } else { "custom" };
        format!("{name}@{}", self.fingerprint.short(8))
    }

    /// True if every text is the published one, inserted verbatim.
    ///
    /// The texts of `expertise` and `property` are known by the hashes of the reference's recorded requests. Those of
    /// `evidence` and `citations` are known by their hashes in the script's first home; where a later script words
    /// them otherwise, they count as published if they were imported, and not edited since, from a git checkout at
    /// the published commit.
    pub fn is_published(&self) -> bool {
        if self.manifest.mode != InsertMode::Verbatim {
            return false;
        }
        let different = self.differences_from_published();
        let from_the_commit = || {
            self.manifest.imported.as_ref().is_some_and(|imported| {
                imported.commit == published::COMMIT && imported.fingerprint == self.fingerprint
            })
        };
        different.is_empty() || (!different.iter().any(|part| published::is_proven(part)) && from_the_commit())
    }

    /// The texts that are not the published ones (`evidence system`, ..); empty for the published wording.
    pub fn differences_from_published(&self) -> Vec<String> {
        let ours: Vec<_> = self
            .wording()
            .map(|(kind, part, text)| (format!("{kind} {part}"), blake3::hash(text.as_bytes()).to_hex().to_string()))
            .collect();
        published::differences(&ours)
    }

    /// What has to be said beside numbers made with this set; nothing for the published wording.
    pub fn comparability_note(&self) -> Option<&'static str> {
        (!self.is_published()).then_some("not comparable with published numbers")
    }

    /// The name the manifest gives.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// How texts are put into the templates.
    pub fn mode(&self) -> InsertMode {
        self.manifest.mode
    }

    /// The model the wording was published with, where known.
    pub fn published_model(&self) -> Option<&str> {
        self.manifest.model.as_deref()
    }

    /// The reply limit in tokens that belongs to this kind of call; `None` is no limit.
    pub fn max_tokens(&self, kind: CallKind) -> Option<u64> {
        self.manifest.entry(kind).max_tokens
    }

    /// Whether this kind of call asks for JSON mode.
    pub fn json_mode(&self, kind: CallKind) -> bool {
        self.manifest.entry(kind).json_mode
    }

    fn wording(&self) -> impl Iterator<Item = (CallKind, &'static str, &str)> {
        CallKind::RUBRIC
            .into_iter()
            .zip(&self.tasks)
            .flat_map(|(kind, task)| task.wording.iter().map(move |(part, text)| (kind, *part, text.as_str())))
    }
}

impl fmt::Debug for PromptSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptSet")
            .field("label", &self.label())
            .field("mode", &self.manifest.mode)
            .finish_non_exhaustive()
    }
}

impl Values<'_> {
    fn insert_verbatim(&self, out: &mut String, variable: Variable) {
        match variable {
            Variable::Question => out.push_str(self.question),
            Variable::Response => out.push_str(self.answer),
            Variable::Criterion => out.push_str(self.criterion),
            Variable::SnippetCount => out.push_str(&self.snippets.len().to_string()),
            Variable::Snippets => {
                for (i, snippet) in self.snippets.iter().enumerate() {
                    let line_break = if i > 0 { "\n" } else { "" };
                    out.push_str(&format!("{line_break}{}. {snippet}", i + 1));
                }
            }
            Variable::OpenBraces => out.push_str("{{"),
        }
    }

    fn insert_fenced(&self, out: &mut String, variable: Variable) {
        let of_answer = || self.marker.get_or_init(|| Marker::of(&[self.question, self.answer]));
        match variable {
            Variable::Question => of_answer().section(out, "question", &neutralise(self.question)),
            Variable::Response => of_answer().section(out, "response", &neutralise(self.answer)),
            Variable::Criterion => {
                Marker::of(&[self.criterion]).section(out, "criterion", &neutralise(self.criterion));
            }
            Variable::Snippets => {
                let lines = numbered_lines(self.snippets);
                Marker::of(&[&lines]).section(out, "snippets", &neutralise(&lines));
            }
            Variable::SnippetCount | Variable::OpenBraces => self.insert_verbatim(out, variable),
        }
    }

    fn fenced<'t>(&self, templates: impl Iterator<Item = &'t Template>) -> String {
        let mut out = String::with_capacity(1024);
        for (i, template) in templates.enumerate() {
            if i > 0 {
                out.push_str(BETWEEN_FILES);
            }
            template.fill(&mut out, |out, variable| self.insert_fenced(out, variable));
        }
        out
    }
}

fn index_of(kind: CallKind) -> usize {
    CallKind::RUBRIC.iter().position(|k| *k == kind).unwrap_or_default()
}

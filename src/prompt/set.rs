//! A prompt set and how it renders tasks.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::Messages;
use super::fence::{Marker, neutralise, numbered_lines};
use super::manifest::{InsertMode, MANIFEST, Manifest};
use super::memo::PrefixMemo;
use super::published;
use super::template::{Template, Variable, list_of};
use crate::domain::{CallKind, Fingerprint, JudgeTask};
use crate::error::{Error, InputFault, Result};

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

#[derive(Debug, Clone, Default)]
struct CompiledTask {
    system: Option<Template>,
    user: Vec<Template>,
    /// How many user templates at the start depend on question and answer only (0 in verbatim sets).
    shared: usize,
    /// The same number for tasks whose shared templates are the same files.
    prefix: usize,
    criterion: Option<Arc<str>>,
    /// The texts the templates were made from, as they count for the fingerprint.
    wording: Vec<(&'static str, String)>,
}

/// What the variables of one task stand for.
struct Values<'a> {
    question: &'a Arc<str>,
    answer: &'a Arc<str>,
    criterion: &'a str,
    snippets: &'a [String],
}

impl PromptSet {
    /// Puts a set together; `dir` is for messages.
    pub(crate) fn compile(manifest_source: String, files: BTreeMap<String, String>, dir: &Path) -> Result<Self> {
        let manifest = Manifest::parse(&manifest_source, &dir.join(MANIFEST))?;
        let mut tasks: [CompiledTask; 4] = Default::default();
        for (task, kind) in tasks.iter_mut().zip(CallKind::ALL) {
            *task = compile_task(&manifest, kind, &files, dir)?;
        }
        for i in 0..tasks.len() {
            let shared_files = |i: usize| &manifest.entry(CallKind::ALL[i]).user[..tasks[i].shared];
            tasks[i].prefix = (0..i).find(|j| shared_files(*j) == shared_files(i)).unwrap_or(i);
        }
        let fingerprint = fingerprint_of(manifest.mode, &tasks);
        Ok(Self { manifest, manifest_source, files, tasks, fingerprint, memo: PrefixMemo::default() })
    }

    /// The messages for one task.
    pub fn render(&self, task: &JudgeTask) -> Messages {
        let compiled = &self.tasks[index_of(task.kind())];
        let mut values = Values { question: task.question(), answer: task.answer(), criterion: "", snippets: &[] };
        match task {
            JudgeTask::Property { criterion, .. } => values.criterion = criterion,
            JudgeTask::Evidence { snippets, .. } => values.snippets = snippets,
            JudgeTask::Expertise { .. } => values.criterion = compiled.criterion.as_deref().unwrap_or_default(),
            JudgeTask::Citations { .. } => {}
        }
        let system = compiled.system.as_ref().map(|template| {
            let mut out = String::new();
            template.fill(&mut out, |out, variable| values.insert_verbatim(out, variable));
            out
        });
        let user = match self.manifest.mode {
            InsertMode::Verbatim => {
                let mut out = String::with_capacity(values.answer.len() + values.question.len() + 1024);
                for template in &compiled.user {
                    template.fill(&mut out, |out, variable| values.insert_verbatim(out, variable));
                }
                out
            }
            InsertMode::Fenced => self.fenced_user(compiled, &values),
        };
        Messages { system, user }
    }

    fn fenced_user(&self, task: &CompiledTask, values: &Values<'_>) -> String {
        let (shared, own) = task.user.split_at(task.shared);
        let mut user = String::new();
        if !shared.is_empty() {
            let prefix = self.memo.get(task.prefix, values.question, values.answer, || values.fenced(shared.iter()));
            user.reserve(prefix.len() + 2048);
            user.push_str(&prefix);
        }
        if !own.is_empty() {
            if !shared.is_empty() {
                user.push_str(BETWEEN_FILES);
            }
            user.push_str(&values.fenced(own.iter()));
        }
        user
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
    pub fn is_published(&self) -> bool {
        self.manifest.mode == InsertMode::Verbatim && self.differences_from_published().is_empty()
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
        CallKind::ALL
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
        let of_answer = || Marker::of(&[self.question, self.answer]);
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
    CallKind::ALL.iter().position(|k| *k == kind).unwrap_or_default()
}

fn compile_task(
    manifest: &Manifest,
    kind: CallKind,
    files: &BTreeMap<String, String>,
    dir: &Path,
) -> Result<CompiledTask> {
    let entry = manifest.entry(kind);
    let text_of = |name: &String| {
        let text = files.get(name).ok_or_else(|| Error::Internal(format!("prompt file {name} was not read")))?;
        Ok::<_, Error>(match manifest.mode {
            InsertMode::Fenced => text.replace("\r\n", "\n").trim_end_matches('\n').to_owned(),
            InsertMode::Verbatim => text.clone(),
        })
    };
    let mut task = CompiledTask::default();
    if let Some(name) = &entry.criterion {
        let text = text_of(name)?;
        task.criterion = Some(text.as_str().into());
        task.wording.push(("criterion", text));
    }
    if let Some(name) = &entry.system {
        let text = text_of(name)?;
        task.system = Some(Template::parse(&text, &dir.join(name))?);
        task.wording.push(("system", text));
    }
    for name in &entry.user {
        let text = text_of(name)?;
        task.user.push(Template::parse(&text, &dir.join(name))?);
        task.wording.push(("user", text));
    }
    if manifest.mode == InsertMode::Fenced {
        let of_answer = |t: &&Template| t.variables().all(|(v, _)| v.is_of_answer() || v == Variable::OpenBraces);
        task.shared = task.user.iter().take_while(of_answer).count();
    }
    check_variables(manifest, kind, &task, dir)?;
    Ok(task)
}

/// Every variable has a value in this task, the needed ones are there, and no text is fenced twice.
fn check_variables(manifest: &Manifest, kind: CallKind, task: &CompiledTask, dir: &Path) -> Result<()> {
    use Variable::{Criterion, OpenBraces, Question, Response, SnippetCount, Snippets};
    let entry = manifest.entry(kind);
    let (needed, allowed): (&[Variable], &[Variable]) = match kind {
        CallKind::Expertise if task.criterion.is_some() => {
            (&[Response, Criterion], &[Question, Response, Criterion, OpenBraces])
        }
        CallKind::Expertise | CallKind::Citations => (&[Response], &[Question, Response, OpenBraces]),
        CallKind::Property => (&[Response, Criterion], &[Question, Response, Criterion, OpenBraces]),
        CallKind::Evidence => (&[Response, Snippets], &[Question, Response, Snippets, SnippetCount, OpenBraces]),
    };
    let fenced = manifest.mode == InsertMode::Fenced;
    let mut seen = Vec::new();
    let system = task.system.iter().zip(&entry.system).map(|(template, name)| (template, name, true));
    let user = task.user.iter().zip(&entry.user).map(|(template, name)| (template, name, false));
    for (template, name, is_system) in system.chain(user) {
        for (variable, line) in template.variables() {
            let fault = |what: &str, hint: String| {
                InputFault::new(dir.join(name), format!("{} {what}", list_of(&[variable]))).at_line(line).hint(hint)
            };
            if !allowed.contains(&variable) {
                let hint = format!("there it can use {}", list_of(allowed));
                return Err(fault(&format!("has no value in the {kind} task"), hint).into());
            }
            if fenced && is_system && variable.is_text() {
                let hint = "untrusted text belongs into a user file".to_owned();
                return Err(fault("stands in a system message", hint).into());
            }
            if fenced && variable.is_text() && seen.contains(&variable) {
                return Err(fault(&format!("stands twice in the {kind} task"), "keep one of them".to_owned()).into());
            }
            if !is_system {
                seen.push(variable);
            }
        }
    }
    if let Some(missing) = needed.iter().find(|variable| !seen.contains(variable)) {
        let last = entry.user.last().map(|name| dir.join(name)).unwrap_or_default();
        return Err(InputFault::new(last, format!("the {kind} task lacks {}", list_of(&[*missing])))
            .hint(format!("put it into one of its user files ({})", entry.user.join(", ")))
            .into());
    }
    Ok(())
}

fn fingerprint_of(mode: InsertMode, tasks: &[CompiledTask]) -> Fingerprint {
    let mut hasher = blake3::Hasher::new();
    let mut field = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    field("scholareval prompt set 1");
    field(match mode {
        InsertMode::Fenced => "fenced",
        InsertMode::Verbatim => "verbatim",
    });
    for (kind, task) in CallKind::ALL.into_iter().zip(tasks) {
        field(kind.as_str());
        for (part, text) in &task.wording {
            field(part);
            field(text);
        }
    }
    hasher.finalize().into()
}

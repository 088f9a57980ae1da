//! From files to templates: reading, checking, the fingerprint.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::manifest::{InsertMode, UserFiles};
use super::template::{Template, Variable, list_of};
use crate::domain::{CallKind, Fingerprint};
use crate::error::{Error, InputFault, Result};

/// The templates of one task.
#[derive(Debug, Clone, Default)]
pub(super) struct CompiledTask {
    pub(super) system: Option<Template>,
    pub(super) user: Vec<Template>,
    /// How many user templates at the start depend only on what many calls share (0 in verbatim sets).
    pub(super) shared: usize,
    /// The same number for tasks whose shared templates are the same files.
    pub(super) prefix: usize,
    pub(super) criterion: Option<Arc<str>>,
    /// The texts the templates were made from, as they count for the fingerprint.
    pub(super) wording: Vec<(&'static str, String)>,
}

/// Where the files of a task come from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) mode: InsertMode,
    pub(super) files: &'a BTreeMap<String, String>,
    /// The directory, for messages.
    pub(super) dir: &'a Path,
}

impl Source<'_> {
    fn text(&self, name: &str) -> Result<String> {
        let text = self.files.get(name);
        let text = text.ok_or_else(|| Error::Internal(format!("prompt file {name} was not read")))?;
        Ok(match self.mode {
            InsertMode::Fenced => text.replace("\r\n", "\n").trim_end_matches('\n').to_owned(),
            InsertMode::Verbatim => text.clone(),
        })
    }

    /// Parses and checks the files of one task.
    pub(super) fn compile(&self, entry: UserFiles<'_>) -> Result<CompiledTask> {
        let mut task = CompiledTask::default();
        if let Some(name) = entry.criterion {
            let text = self.text(name)?;
            task.criterion = Some(text.as_str().into());
            task.wording.push(("criterion", text));
        }
        if let Some(name) = entry.system {
            let text = self.text(name)?;
            task.system = Some(Template::parse(&text, &self.dir.join(name))?);
            task.wording.push(("system", text));
        }
        for name in entry.user {
            let text = self.text(name)?;
            task.user.push(Template::parse(&text, &self.dir.join(name))?);
            task.wording.push((entry.part, text));
        }
        if self.mode == InsertMode::Fenced {
            let is_shared = |t: &&Template| t.variables().all(|(v, _)| v.is_shared() || v == Variable::OpenBraces);
            task.shared = task.user.iter().take_while(is_shared).count();
        }
        self.check_variables(entry, &task)?;
        Ok(task)
    }

    /// Every variable has a value in this task, the needed ones are there, and no text is fenced twice.
    fn check_variables(&self, entry: UserFiles<'_>, task: &CompiledTask) -> Result<()> {
        let task_name = task_name(entry);
        let allowed = allowed(entry, self.mode);
        let fenced = self.mode == InsertMode::Fenced;
        let mut seen = Vec::new();
        let system = task.system.iter().zip(entry.system).map(|(template, name)| (template, name, true));
        let user = task.user.iter().zip(entry.user).map(|(template, name)| (template, name, false));
        for (template, name, is_system) in system.chain(user) {
            for (variable, line) in template.variables() {
                let fault = |what: &str, hint: String| {
                    let what = format!("{} {what}", list_of(&[variable]));
                    InputFault::new(self.dir.join(name), what).at_line(line).hint(hint)
                };
                if !allowed.contains(&variable) {
                    let hint = format!("there it can use {}", list_of(&allowed));
                    return Err(fault(&format!("has no value in the {task_name} task"), hint).into());
                }
                if fenced && is_system && variable.is_text() {
                    let hint = "untrusted text belongs into a user file".to_owned();
                    return Err(fault("stands in a system message", hint).into());
                }
                if fenced && variable.is_text() && seen.contains(&variable) {
                    let what = format!("stands twice in the {task_name} task");
                    return Err(fault(&what, "keep one of them".to_owned()).into());
                }
                if !is_system {
                    seen.push(variable);
                }
            }
        }
        if let Some(missing) = needed(entry, &seen).into_iter().find(|variable| !seen.contains(variable)) {
            let last = entry.user.last().map(|name| self.dir.join(name)).unwrap_or_default();
            return Err(InputFault::new(last, format!("the {task_name} task lacks {}", list_of(&[missing])))
                .hint(format!("put it into one of its user files ({})", entry.user.join(", ")))
                .into());
        }
        Ok(())
    }
}

/// `property`, `aspect (with_reference)`: how a task is called in messages.
fn task_name(entry: UserFiles<'_>) -> String {
    match entry.kind {
        CallKind::Aspect => format!("{} ({})", entry.kind, entry.part),
        kind => kind.to_string(),
    }
}

fn has_reference(entry: UserFiles<'_>) -> bool {
    entry.part.ends_with("with_reference")
}

/// The variables that the user files of a task must have; `seen` are those they have.
fn needed(entry: UserFiles<'_>, seen: &[Variable]) -> Vec<Variable> {
    use Variable::{Claim, Criterion, Document, Instruction, Reference, Response, ScoreRubric, Snippets};
    match entry.kind {
        CallKind::Expertise if entry.criterion.is_some() => vec![Response, Criterion],
        CallKind::Expertise | CallKind::Citations => vec![Response],
        CallKind::Property => vec![Response, Criterion],
        CallKind::Evidence => vec![Response, Snippets],
        CallKind::Attribution => vec![Document, Claim],
        CallKind::Aspect => {
            let mut needed = vec![Instruction, Response];
            needed.extend(has_reference(entry).then_some(Reference));
            if seen.iter().any(|variable| RUBRIC_PARTS.contains(variable)) {
                needed.extend(RUBRIC_PARTS);
            } else {
                needed.push(ScoreRubric);
            }
            needed
        }
    }
}

/// What `{{score_rubric}}` is made of.
const RUBRIC_PARTS: [Variable; 6] = [
    Variable::CriteriaDescription,
    Variable::ScoreDescription(1),
    Variable::ScoreDescription(2),
    Variable::ScoreDescription(3),
    Variable::ScoreDescription(4),
    Variable::ScoreDescription(5),
];

/// The variables that have a value in a task.
fn allowed(entry: UserFiles<'_>, mode: InsertMode) -> Vec<Variable> {
    use Variable::{Claim, Criterion, Document, Instruction, Question, Reference, Response, ScoreRubric};
    use Variable::{OpenBraces, SnippetCount, Snippets};
    let mut allowed = match entry.kind {
        CallKind::Expertise if entry.criterion.is_some() => vec![Question, Response, Criterion],
        CallKind::Expertise | CallKind::Citations => vec![Question, Response],
        CallKind::Property => vec![Question, Response, Criterion],
        CallKind::Evidence => vec![Question, Response, Snippets, SnippetCount],
        CallKind::Attribution => vec![Document, Claim],
        CallKind::Aspect => {
            let mut allowed = vec![Instruction, Response, ScoreRubric];
            allowed.extend(has_reference(entry).then_some(Reference));
            // Behind a fence the rubric is one section: its lines would have no meaning apart.
            allowed.extend(RUBRIC_PARTS.into_iter().filter(|_| mode == InsertMode::Verbatim));
            allowed
        }
    };
    allowed.push(OpenBraces);
    allowed
}

/// The texts of one kind of call: which part of its prompt (`system`, `user`, ..), and the text.
pub(super) type Wording = Vec<(&'static str, String)>;

/// blake3 over the mode and every text, each behind its length.
pub(super) fn fingerprint_of(mode: InsertMode, wording: &[(CallKind, Wording)], without_headers: bool) -> Fingerprint {
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
    for (kind, texts) in wording {
        field(kind.as_str());
        for (part, text) in texts {
            field(part);
            field(text);
        }
    }
    if without_headers {
        field("without headers");
    }
    hasher.finalize().into()
}

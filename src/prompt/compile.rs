//! From files to templates: reading, checking, the fingerprint.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::manifest::{InsertMode, Manifest};
use super::template::{Template, Variable, list_of};
use crate::domain::{CallKind, Fingerprint};
use crate::error::{Error, InputFault, Result};

/// The templates of one task.
#[derive(Debug, Clone, Default)]
pub(super) struct CompiledTask {
    pub(super) system: Option<Template>,
    pub(super) user: Vec<Template>,
    /// How many user templates at the start depend on question and answer only (0 in verbatim sets).
    pub(super) shared: usize,
    /// The same number for tasks whose shared templates are the same files.
    pub(super) prefix: usize,
    pub(super) criterion: Option<Arc<str>>,
    /// The texts the templates were made from, as they count for the fingerprint.
    pub(super) wording: Vec<(&'static str, String)>,
}

/// Parses and checks the files of one task; `dir` is for messages.
pub(super) fn compile_task(
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

/// The variables that the user files of a task must have, and those that have a value in it.
fn needed_and_allowed(kind: CallKind, fixed_criterion: bool) -> (&'static [Variable], &'static [Variable]) {
    use Variable::{Criterion, OpenBraces, Question, Response, SnippetCount, Snippets};
    match kind {
        CallKind::Expertise if fixed_criterion => {
            (&[Response, Criterion], &[Question, Response, Criterion, OpenBraces])
        }
        CallKind::Expertise | CallKind::Citations | CallKind::Aspect | CallKind::Attribution => {
            (&[Response], &[Question, Response, OpenBraces])
        }
        CallKind::Property => (&[Response, Criterion], &[Question, Response, Criterion, OpenBraces]),
        CallKind::Evidence => (&[Response, Snippets], &[Question, Response, Snippets, SnippetCount, OpenBraces]),
    }
}

/// Every variable has a value in this task, the needed ones are there, and no text is fenced twice.
fn check_variables(manifest: &Manifest, kind: CallKind, task: &CompiledTask, dir: &Path) -> Result<()> {
    let entry = manifest.entry(kind);
    let (needed, allowed) = needed_and_allowed(kind, task.criterion.is_some());
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

/// blake3 over the mode and every text, each behind its length.
pub(super) fn fingerprint_of(mode: InsertMode, tasks: &[CompiledTask]) -> Fingerprint {
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

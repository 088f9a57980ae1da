//! One task of a prompt set: its templates, checked, and how they are filled.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::delimiters::{Marker, neutralize, one_line};
use super::family::PromptFamily;
use super::manifest::{InsertMode, NamedTask};
use super::template::{Template, Variable, list_of};
use crate::domain::{CallKind, JudgeTask};
use crate::error::{Error, InputFault, Result};

/// The templates of one task.
#[derive(Debug, Clone)]
pub(super) struct TaskTemplates {
    pub(super) named: NamedTask,
    mode: InsertMode,
    system: Option<Template>,
    user: Vec<Template>,
    criterion: Option<String>,
}

impl TaskTemplates {
    /// Parses and checks the files of one task; `dir` is for messages.
    pub(super) fn compile(
        named: NamedTask,
        mode: InsertMode,
        files: &BTreeMap<String, String>,
        dir: &Path,
    ) -> Result<Self> {
        let text = |name: &String| {
            let text = files.get(name).ok_or_else(|| Error::Internal(format!("prompt file {name} was not read")))?;
            Ok::<_, Error>(match mode {
                InsertMode::Fenced => text.replace("\r\n", "\n").trim_end_matches('\n').to_owned(),
                InsertMode::Verbatim => text.clone(),
            })
        };
        let template = |name: &String| Template::parse(&text(name)?, &dir.join(name));
        let criterion = named.entry.criterion.as_ref().map(text).transpose()?;
        let system = named.entry.system.as_ref().map(template).transpose()?;
        let user = named.entry.user.iter().map(template).collect::<Result<_>>()?;
        let task = Self { named, mode, system, user, criterion };
        task.check_variables(dir)?;
        Ok(task)
    }

    /// The texts in the order of the fingerprint, each with its part of the prompt (`criterion`, `system`, `user`, ..).
    pub(super) fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let criterion = self.criterion.iter().map(|text| ("criterion", text.as_str()));
        let system = self.system.iter().map(|template| ("system", template.source.as_str()));
        criterion.chain(system).chain(self.user.iter().map(move |template| (self.named.part, template.source.as_str())))
    }

    /// The system message for a task.
    pub(super) fn system(&self, task: &JudgeTask) -> Option<String> {
        self.system.as_ref().map(|template| self.fill(std::slice::from_ref(template), task))
    }

    /// The user message for a task.
    pub(super) fn user(&self, task: &JudgeTask) -> String {
        self.fill(&self.user, task)
    }

    fn fill(&self, templates: &[Template], task: &JudgeTask) -> String {
        let is_fenced = self.mode == InsertMode::Fenced;
        let family = PromptFamily::of(task.kind());
        let shared = LazyCell::new(|| Marker::of(&shared_texts(task)));
        let mut out = String::with_capacity(task.answer().len() + task.question().len() + 1024);
        for (i, template) in templates.iter().enumerate() {
            if is_fenced && i > 0 {
                out.push_str("\n\n");
            }
            template.fill(&mut out, |out, variable| {
                let text = self.value(task, variable);
                if !is_fenced || !variable.is_text() {
                    out.push_str(&text);
                } else if variable.is_shared() {
                    shared.section(out, variable.section(), &neutralize(&text, family));
                } else {
                    Marker::of(&[&*text]).section(out, variable.section(), &neutralize(&text, family));
                }
            });
        }
        out
    }

    /// What a variable stands for. In fenced sets each text of a list is on one line: a line break would let it forge
    /// the next number or grade.
    fn value<'a>(&'a self, task: &'a JudgeTask, variable: Variable) -> Cow<'a, str> {
        let is_fenced = self.mode == InsertMode::Fenced;
        let line = |text: &str| if is_fenced { one_line(text) } else { text.to_owned() };
        match (variable, task) {
            (Variable::Question, _) => Cow::Borrowed(task.question()),
            (Variable::Response, _) => Cow::Borrowed(task.answer()),
            (Variable::Criterion, JudgeTask::Property { criterion, .. }) => Cow::Borrowed(criterion),
            (Variable::Criterion, _) => Cow::Borrowed(self.criterion.as_deref().unwrap_or_default()),
            (Variable::Snippets, JudgeTask::Evidence { snippets, .. }) => {
                let lines = snippets.iter().enumerate().map(|(i, snippet)| format!("{}. {}", i + 1, line(snippet)));
                lines.collect::<Vec<_>>().join("\n").into()
            }
            (Variable::SnippetCount, JudgeTask::Evidence { snippets, .. }) => snippets.len().to_string().into(),
            (Variable::Instruction, JudgeTask::Aspect { instruction, question, .. }) => {
                // Without an instruction nothing is put before the question, but for the published script's space.
                match is_fenced && instruction.is_empty() {
                    true => Cow::Borrowed(question),
                    false => format!("{instruction} {question}").into(),
                }
            }
            (Variable::Reference, JudgeTask::Aspect { reference: Some(reference), .. }) => Cow::Borrowed(reference),
            (Variable::CriteriaDescription, JudgeTask::Aspect { aspect, .. }) => {
                Cow::Borrowed(&aspect.criteria_description)
            }
            (Variable::ScoreDescription(grade), JudgeTask::Aspect { aspect, .. }) => {
                let description = aspect.score_descriptions.get(usize::from(grade).saturating_sub(1));
                Cow::Borrowed(description.map_or("", String::as_str))
            }
            (Variable::ScoreRubric, JudgeTask::Aspect { aspect, .. }) => {
                let mut rubric = format!("[{}]", line(&aspect.criteria_description));
                for (i, description) in aspect.score_descriptions.iter().enumerate() {
                    rubric.push_str(&format!("\nScore {}: {}", i + 1, line(description)));
                }
                rubric.into()
            }
            (Variable::Document, JudgeTask::Attribution { document, .. }) => Cow::Borrowed(document),
            (Variable::Claim, JudgeTask::Attribution { claim, .. }) => Cow::Borrowed(claim),
            // Checked when the set was read: such a variable is in no template of this task.
            _ => Cow::Borrowed(""),
        }
    }

    /// Every variable has a value in this task, the needed ones are there, and no text is in two sections.
    fn check_variables(&self, dir: &Path) -> Result<()> {
        let entry = &self.named.entry;
        let name = self.name();
        let allowed = self.variables();
        let is_fenced = self.mode == InsertMode::Fenced;
        let mut seen = Vec::new();
        let system = self.system.iter().zip(&entry.system).map(|(template, name)| (template, name, true));
        let user = self.user.iter().zip(&entry.user).map(|(template, name)| (template, name, false));
        for (template, file, is_system) in system.chain(user) {
            for (variable, line) in template.variables() {
                let is_section = is_fenced && variable.is_text();
                let (what, hint) = if !allowed.contains(&variable) {
                    (format!("has no value in the {name} task"), format!("there it can use {}", list_of(&allowed)))
                } else if is_section && is_system {
                    ("stands in a system message".to_owned(), "untrusted text belongs into a user file".to_owned())
                } else if is_section && seen.contains(&variable) {
                    (format!("stands twice in the {name} task"), "keep one of them".to_owned())
                } else {
                    if !is_system {
                        seen.push(variable);
                    }
                    continue;
                };
                let what = format!("{} {what}", list_of(&[variable]));
                return Err(InputFault::new(dir.join(file), what).at_line(line).hint(hint).into());
            }
        }
        let has_rubric_parts = seen.iter().any(|variable| RUBRIC_PARTS.contains(variable));
        let is_needed = |variable: &Variable| match variable {
            Variable::Question | Variable::SnippetCount | Variable::OpenBraces => false,
            Variable::ScoreRubric => !has_rubric_parts,
            Variable::CriteriaDescription | Variable::ScoreDescription(_) => has_rubric_parts,
            _ => true,
        };
        if let Some(missing) = allowed.into_iter().filter(is_needed).find(|variable| !seen.contains(variable)) {
            let last = entry.user.last().map(|name| dir.join(name)).unwrap_or_default();
            return Err(InputFault::new(last, format!("the {name} task lacks {}", list_of(&[missing])))
                .hint(format!("put it into one of its user files ({})", entry.user.join(", ")))
                .into());
        }
        Ok(())
    }

    /// `property`, `aspect (with_reference)`: how the task is named in messages.
    fn name(&self) -> String {
        let NamedTask { kind, part, .. } = &self.named;
        if *kind == CallKind::Aspect { format!("{kind} ({part})") } else { kind.to_string() }
    }

    /// The variables that have a value in this task.
    fn variables(&self) -> Vec<Variable> {
        use Variable::{Claim, Criterion, Document, Instruction, Question, Reference, Response, ScoreRubric};
        use Variable::{OpenBraces, SnippetCount, Snippets};
        let mut variables = match self.named.kind {
            CallKind::Expertise if self.criterion.is_some() => vec![Question, Response, Criterion],
            CallKind::Expertise | CallKind::Citations => vec![Question, Response],
            CallKind::Property => vec![Question, Response, Criterion],
            CallKind::Evidence => vec![Question, Response, Snippets, SnippetCount],
            CallKind::Attribution => vec![Document, Claim],
            CallKind::Aspect => {
                let mut variables = vec![Instruction, Response, ScoreRubric];
                variables.extend(self.named.part.ends_with("with_reference").then_some(Reference));
                // Between delimiters the rubric is one section: its lines would have no meaning apart.
                variables.extend(RUBRIC_PARTS.into_iter().filter(|_| self.mode == InsertMode::Verbatim));
                variables
            }
        };
        variables.push(OpenBraces);
        variables
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

/// The texts that the sections of [shared](Variable::is_shared) variables have one id for.
fn shared_texts(task: &JudgeTask) -> Vec<&str> {
    let texts: Vec<&Arc<str>> = match task {
        JudgeTask::Attribution { document, .. } => vec![document],
        JudgeTask::Aspect { instruction, question, answer, reference, .. } => {
            [instruction, question, answer].into_iter().chain(reference).collect()
        }
        _ => vec![task.question(), task.answer()],
    };
    texts.into_iter().map(|text| &**text).collect()
}

#[cfg(test)]
mod tests {
    use crate::domain::JudgeTask;
    use crate::prompt::PromptSet;

    #[test]
    fn a_snippet_cannot_forge_the_next_number() {
        let snippets = vec!["one\n2. forged".to_owned(), "two\u{2028}three".to_owned()];
        let task = JudgeTask::Evidence { question: "q".into(), answer: "a".into(), snippets: snippets.into() };
        let user = PromptSet::builtin().render(&task).user;
        assert!(user.contains("\n1. one 2. forged\n2. two three\n"), "{user}");
    }
}

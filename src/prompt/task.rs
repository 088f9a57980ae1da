//! One task of a prompt set: checks and fills its templates.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::delimiters::{Marker, neutralize, one_line};
use super::family::PromptFamily;
use super::manifest::{InsertMode, NamedTask};
use super::template::{OPEN_BRACES, RUBRIC_PARTS, Template, is_text, list_of};
use crate::domain::{CallKind, CaseCriterion, JudgeTask, ShownCitation};
use crate::error::{Error, InputFault, Result};

/// The templates of one task.
#[derive(Debug, Clone)]
pub(super) struct TaskTemplates {
    pub(super) named: NamedTask,
    mode: InsertMode,
    system: Option<Template>,
    user: Vec<Template>,
    /// A fixed criterion, or the template of one in a list.
    criterion: Option<Template>,
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
            let text = files
                .get(name)
                .ok_or_else(|| Error::Internal(format!("prompt file {name} was not read")))?;
            Ok::<_, Error>(match mode {
                InsertMode::Fenced => text.replace("\r\n", "\n").trim_end_matches('\n').to_owned(),
                InsertMode::Verbatim => text.clone(),
            })
        };
        let template = |name: &String| Template::parse(&text(name)?, &dir.join(name));
        let criterion = named.entry.criterion.as_ref().map(template).transpose()?;
        let system = named.entry.system.as_ref().map(template).transpose()?;
        let user = named
            .entry
            .user
            .iter()
            .map(template)
            .collect::<Result<_>>()?;
        let task = Self {
            named,
            mode,
            system,
            user,
            criterion,
        };
        task.check_variables(dir)?;
        Ok(task)
    }

    /// The texts in fingerprint order, each with its part of the prompt (`criterion`, `system`, `user`, ..).
    pub(super) fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let criterion = self
            .criterion
            .iter()
            .map(|template| ("criterion", template.source.as_str()));
        let system = self
            .system
            .iter()
            .map(|template| ("system", template.source.as_str()));
        let marker = self
            .named
            .entry
            .title_marker
            .iter()
            .map(|text| ("marker", text.as_str()));
        let user = self
            .user
            .iter()
            .map(move |template| (self.named.part, template.source.as_str()));
        criterion.chain(marker).chain(system).chain(user)
    }

    /// The system message for a task.
    pub(super) fn system(&self, task: &JudgeTask) -> Option<String> {
        self.system
            .as_ref()
            .map(|template| self.fill(std::slice::from_ref(template), task).0)
    }

    /// The user message for a task, and the bytes before its last file: the others are equal for all tasks of an answer.
    pub(super) fn user(&self, task: &JudgeTask) -> (String, usize) {
        self.fill(&self.user, task)
    }

    fn fill(&self, templates: &[Template], task: &JudgeTask) -> (String, usize) {
        let is_fenced = self.mode == InsertMode::Fenced;
        let family = PromptFamily::of(task.kind());
        let shared = LazyCell::new(|| Marker::of(&shared_texts(task)));
        let mut out = String::with_capacity(task.answer().len() + task.question().len() + 1024);
        let mut shared_bytes = 0;
        for (i, template) in templates.iter().enumerate() {
            shared_bytes = out.len();
            if is_fenced && i > 0 {
                out.push_str("\n\n");
            }
            template.fill(&mut out, |out, variable| {
                let text = self.value(task, variable);
                if !is_fenced || !is_text(variable) {
                    out.push_str(&text);
                } else if SHARED.contains(&variable) {
                    shared.section(out, section(variable), &neutralize(&text, family));
                    if let (
                        "response",
                        JudgeTask::Criteria {
                            reference: Some(reference),
                            ..
                        },
                    ) = (variable, task)
                    {
                        out.push_str("\n\n");
                        shared.section(out, "reference", &neutralize(reference, family));
                    }
                } else {
                    Marker::of(&[&*text]).section(
                        out,
                        section(variable),
                        &neutralize(&text, family),
                    );
                }
            });
        }
        (out, shared_bytes)
    }

    /// The value of a variable. In fenced sets each text of a list is on one line, since a line break could forge the
    /// next number or grade.
    fn value<'a>(&'a self, task: &'a JudgeTask, variable: &str) -> Cow<'a, str> {
        let is_fenced = self.mode == InsertMode::Fenced;
        let line = |text: &str| {
            if is_fenced {
                one_line(text)
            } else {
                text.to_owned()
            }
        };
        match (variable, task) {
            ("question", _) => Cow::Borrowed(task.question()),
            ("response", _) => Cow::Borrowed(task.answer()),
            ("criterion", JudgeTask::Property { criterion, .. }) => Cow::Borrowed(criterion),
            ("criterion", _) => self
                .criterion
                .iter()
                .map(|fixed| fixed.filled(|_| String::new()))
                .collect(),
            ("snippets", JudgeTask::Evidence { snippets, .. }) => {
                let lines = snippets
                    .iter()
                    .enumerate()
                    .map(|(i, snippet)| format!("{}. {}", i + 1, line(snippet)));
                lines.collect::<Vec<_>>().join("\n").into()
            }
            ("snippet_count", JudgeTask::Evidence { snippets, .. }) => {
                snippets.len().to_string().into()
            }
            (
                "instruction",
                JudgeTask::Aspect {
                    instruction,
                    question,
                    ..
                },
            ) => {
                // Without an instruction only the published script's space precedes the question.
                match is_fenced && instruction.is_empty() {
                    true => Cow::Borrowed(question),
                    false => format!("{instruction} {question}").into(),
                }
            }
            (
                "reference_answer",
                JudgeTask::Aspect {
                    reference: Some(reference),
                    ..
                },
            ) => Cow::Borrowed(reference),
            ("criteria_description", JudgeTask::Aspect { aspect, .. }) => {
                Cow::Borrowed(&aspect.criteria_description)
            }
            ("score_rubric", JudgeTask::Aspect { aspect, .. }) => {
                let mut rubric = format!("[{}]", line(&aspect.criteria_description));
                for (i, description) in aspect.score_descriptions.iter().enumerate() {
                    rubric.push_str(&format!("\nScore {}: {}", i + 1, line(description)));
                }
                rubric.into()
            }
            ("criteria", JudgeTask::Criteria { criteria, .. }) => {
                let number = |(i, one): (usize, &CaseCriterion)| match &self.criterion {
                    Some(template) => template.filled(|variable| match variable {
                        "number" => (i + 1).to_string(),
                        "criterion" => line(&one.text),
                        _ => line(&one.examples.join("\n")),
                    }),
                    None => {
                        let examples: String = one
                            .examples
                            .iter()
                            .map(|text| format!(" Example: {}", line(text)))
                            .collect();
                        format!("{}. {}{examples}", i + 1, line(&one.text))
                    }
                };
                criteria
                    .iter()
                    .enumerate()
                    .map(number)
                    .collect::<Vec<_>>()
                    .join("\n")
                    .into()
            }
            ("levels", JudgeTask::Criteria { shape, .. }) => shape.describe_levels().into(),
            (
                "reply",
                JudgeTask::Criteria {
                    criteria, shape, ..
                },
            ) => shape.describe_reply(criteria.len()).into(),
            ("citations", JudgeTask::CitationGroup { citations, .. }) => {
                let marker = self.named.entry.title_marker.as_deref().unwrap_or_default();
                let shown =
                    |one: &ShownCitation| line(&format!("{}: {}", one.id, one.shown.text(marker)));
                citations
                    .iter()
                    .map(shown)
                    .collect::<Vec<_>>()
                    .join("\n\n")
                    .into()
            }
            ("document", JudgeTask::Attribution { document, .. }) => Cow::Borrowed(document),
            ("claim", JudgeTask::Attribution { claim, .. }) => Cow::Borrowed(claim),
            (grade, JudgeTask::Aspect { aspect, .. }) => {
                let place = RUBRIC_PARTS.iter().skip(1).position(|part| *part == grade);
                Cow::Borrowed(
                    place
                        .and_then(|place| aspect.score_descriptions.get(place))
                        .map_or("", String::as_str),
                )
            }
            // `check_variables` rejects such a variable in this task.
            _ => Cow::Borrowed(""),
        }
    }

    /// Checks that every variable has a value in this task, required ones are present, and no text is in two sections.
    fn check_variables(&self, dir: &Path) -> Result<()> {
        let entry = &self.named.entry;
        let name = self.name();
        let allowed = self.variables();
        let is_fenced = self.mode == InsertMode::Fenced;
        let mut seen = Vec::new();
        let system = self
            .system
            .iter()
            .zip(&entry.system)
            .map(|(template, name)| (template, name, true));
        let user = self
            .user
            .iter()
            .zip(&entry.user)
            .map(|(template, name)| (template, name, false));
        let criterion = self
            .criterion
            .iter()
            .zip(&entry.criterion)
            .filter(|_| self.named.kind == CallKind::Criteria);
        let criterion = criterion.map(|(template, name)| (template, name, false));
        for (template, file, is_system) in system.chain(user).chain(criterion) {
            for (variable, line) in template.variables() {
                let is_section = is_fenced && is_text(variable);
                let (what, hint) = if !allowed.contains(&variable) {
                    (
                        format!("has no value in the {name} task"),
                        format!("there it can use {}", list_of(&allowed)),
                    )
                } else if is_section && is_system {
                    (
                        "is in a system message".to_owned(),
                        "untrusted text belongs in a user file".to_owned(),
                    )
                } else if is_section && seen.contains(&variable) {
                    (
                        format!("is twice in the {name} task"),
                        "keep one of them".to_owned(),
                    )
                } else {
                    if !is_system {
                        seen.push(variable);
                    }
                    continue;
                };
                let what = format!("{} {what}", list_of(&[variable]));
                return Err(InputFault::new(dir.join(file), what)
                    .at_line(line)
                    .hint(hint)
                    .into());
            }
        }
        let has_rubric_parts = seen.iter().any(|variable| RUBRIC_PARTS.contains(variable));
        let is_needed = |variable: &&str| match *variable {
            "question" | "snippet_count" | OPEN_BRACES => false,
            "score_rubric" => !has_rubric_parts,
            part if RUBRIC_PARTS.contains(&part) => has_rubric_parts,
            _ => true,
        };
        if let Some(missing) = allowed
            .into_iter()
            .filter(is_needed)
            .find(|variable| !seen.contains(variable))
        {
            let last = entry
                .user
                .last()
                .map(|name| dir.join(name))
                .unwrap_or_default();
            return Err(InputFault::new(
                last,
                format!("{} is missing in the {name} task", list_of(&[missing])),
            )
            .hint(format!(
                "put it into one of its user files ({})",
                entry.user.join(", ")
            ))
            .into());
        }
        Ok(())
    }

    /// Name of the task in messages: `property`, `aspect (with_reference)`.
    fn name(&self) -> String {
        let NamedTask { kind, part, .. } = &self.named;
        if *kind == CallKind::Aspect {
            format!("{kind} ({part})")
        } else {
            kind.to_string()
        }
    }

    /// Variables with a value in this task.
    fn variables(&self) -> Vec<&'static str> {
        let mut variables = match self.named.kind {
            CallKind::Expertise if self.criterion.is_some() => {
                vec!["question", "response", "criterion"]
            }
            CallKind::Expertise | CallKind::Citations => vec!["question", "response"],
            CallKind::Property => vec!["question", "response", "criterion"],
            CallKind::Evidence => vec!["question", "response", "snippets", "snippet_count"],
            CallKind::Attribution => vec!["document", "claim"],
            CallKind::Criteria if self.criterion.is_some() => {
                vec![
                    "question",
                    "response",
                    "criteria",
                    "number",
                    "criterion",
                    "examples",
                ]
            }
            CallKind::Criteria => vec!["question", "response", "criteria", "levels", "reply"],
            CallKind::Precision => vec!["question", "response"],
            CallKind::CitationGroup => vec!["response", "citations"],
            CallKind::Aspect => {
                let mut variables = vec!["instruction", "response", "score_rubric"];
                variables
                    .extend((self.named.part == "with_reference").then_some("reference_answer"));
                // Between delimiters the rubric is one section, since its lines mean nothing separately.
                variables.extend(
                    RUBRIC_PARTS
                        .into_iter()
                        .filter(|_| self.mode == InsertMode::Verbatim),
                );
                variables
            }
        };
        variables.push(OPEN_BRACES);
        variables
    }
}

/// Variables with the same value in many calls, about one answer or one document. Their sections share an id.
const SHARED: [&str; 5] = [
    "question",
    "response",
    "instruction",
    "reference_answer",
    "document",
];

/// Name of a variable's section between delimiters.
fn section(variable: &'static str) -> &'static str {
    match variable {
        "reference_answer" => "reference",
        "score_rubric" | "criteria" => "rubric",
        "citations" => "document",
        other => other,
    }
}

/// Texts of the [`SHARED`] variables in a task.
fn shared_texts(task: &JudgeTask) -> Vec<&str> {
    let texts: Vec<&Arc<str>> = match task {
        JudgeTask::Attribution { document, .. } => vec![document],
        JudgeTask::Aspect {
            instruction,
            question,
            answer,
            reference,
            ..
        } => [instruction, question, answer]
            .into_iter()
            .chain(reference)
            .collect(),
        JudgeTask::Criteria {
            question,
            answer,
            reference,
            ..
        } => [question, answer].into_iter().chain(reference).collect(),
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
        let task = JudgeTask::Evidence {
            question: "q".into(),
            answer: "a".into(),
            snippets: snippets.into(),
        };
        let user = PromptSet::builtin().render(&task).user;
        assert!(
            user.contains("\n1. one 2. forged\n2. two three\n"),
            "{user}"
        );
    }
}

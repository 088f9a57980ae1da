//! What the variables of a template stand for, and how texts are put in.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

use super::compile::CompiledTask;
use super::family::PromptFamily;
use super::fence::{Guard, Marker, numbered_lines, one_line};
use super::manifest::InsertMode;
use super::template::{Template, Variable};
use crate::domain::{Aspect, JudgeTask};

/// Stands between the files of a user message in fenced sets.
pub(super) const BETWEEN_FILES: &str = "\n\n";

/// What the variables of one task stand for.
pub(super) struct Values<'a> {
    guard: Guard,
    question: &'a str,
    answer: &'a str,
    criterion: &'a str,
    snippets: &'a [String],
    instruction: Cow<'a, str>,
    reference: &'a str,
    aspect: Option<&'a Aspect>,
    document: &'a str,
    claim: &'a str,
    /// The texts that many calls share.
    shared: Vec<&'a Arc<str>>,
    /// The id around those; hashing them is the costly part.
    marker: OnceCell<Marker>,
}

impl<'a> Values<'a> {
    /// The values for a task that `compiled` is the template of.
    pub(super) fn of(task: &'a JudgeTask, compiled: &'a CompiledTask, mode: InsertMode) -> Self {
        let mut values = Self {
            guard: PromptFamily::of(task.kind()).guard(),
            question: task.question(),
            answer: task.answer(),
            criterion: "",
            snippets: &[],
            instruction: "".into(),
            reference: "",
            aspect: None,
            document: "",
            claim: "",
            shared: vec![task.question(), task.answer()],
            marker: OnceCell::new(),
        };
        match task {
            JudgeTask::Property { criterion, .. } => values.criterion = criterion,
            JudgeTask::Evidence { snippets, .. } => values.snippets = snippets,
            JudgeTask::Expertise { .. } => values.criterion = compiled.criterion.as_deref().unwrap_or_default(),
            JudgeTask::Citations { .. } => {}
            JudgeTask::Aspect { aspect, instruction, question, answer, reference } => {
                values.aspect = Some(aspect);
                values.instruction = match mode {
                    // Without an instruction nothing is put before the question, but for the published script's space.
                    InsertMode::Fenced if instruction.is_empty() => Cow::Borrowed(question),
                    _ => Cow::Owned(format!("{instruction} {question}")),
                };
                values.reference = reference.as_deref().unwrap_or_default();
                values.shared = vec![instruction, question, answer];
                values.shared.extend(reference);
            }
            JudgeTask::Attribution { claim, document } => {
                (values.claim, values.document) = (claim, document);
                values.shared = vec![document];
            }
        }
        values
    }

    /// The texts that a shared prefix is made of.
    pub(super) fn shared(&self) -> &[&'a Arc<str>] {
        &self.shared
    }

    /// Appends the value of a variable byte for byte.
    pub(super) fn insert_verbatim(&self, out: &mut String, variable: Variable) {
        let aspect = |text: fn(&Aspect) -> &str| self.aspect.map(text).unwrap_or_default();
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
            Variable::Instruction => out.push_str(&self.instruction),
            Variable::Reference => out.push_str(self.reference),
            Variable::CriteriaDescription => out.push_str(aspect(|aspect| &aspect.criteria_description)),
            Variable::ScoreDescription(grade) => {
                let index = usize::from(grade).saturating_sub(1);
                let of_grade = self.aspect.and_then(|aspect| aspect.score_descriptions.get(index));
                out.push_str(of_grade.map(String::as_str).unwrap_or_default());
            }
            Variable::ScoreRubric => out.push_str(&self.score_rubric(str::to_owned)),
            Variable::Document => out.push_str(self.document),
            Variable::Claim => out.push_str(self.claim),
            Variable::OpenBraces => out.push_str("{{"),
        }
    }

    /// `[criteria]` and `Score 1: ..` to `Score 5: ..`, a line each.
    fn score_rubric(&self, text: impl Fn(&str) -> String) -> String {
        let Some(aspect) = self.aspect else { return String::new() };
        let mut rubric = format!("[{}]", text(&aspect.criteria_description));
        for (i, description) in aspect.score_descriptions.iter().enumerate() {
            rubric.push_str(&format!("\nScore {}: {}", i + 1, text(description)));
        }
        rubric
    }

    fn insert_fenced(&self, out: &mut String, variable: Variable) {
        let shared = |out: &mut String, name: &str, text: &str| {
            let texts = || self.shared.iter().map(|text| &***text).collect::<Vec<_>>();
            self.marker.get_or_init(|| Marker::of(&texts())).section(out, name, &self.guard.neutralise(text));
        };
        let own = |out: &mut String, name: &str, text: &str| {
            Marker::of(&[text]).section(out, name, &self.guard.neutralise(text));
        };
        match variable {
            Variable::Question => shared(out, "question", self.question),
            Variable::Response => shared(out, "response", self.answer),
            Variable::Instruction => shared(out, "instruction", &self.instruction),
            Variable::Reference => shared(out, "reference", self.reference),
            Variable::Document => shared(out, "document", self.document),
            Variable::Criterion => own(out, "criterion", self.criterion),
            Variable::Snippets => own(out, "snippets", &numbered_lines(self.snippets)),
            // A line break in a description would let it forge the next grade.
            Variable::ScoreRubric => own(out, "rubric", &self.score_rubric(|text| one_line(text).collect())),
            Variable::Claim => own(out, "claim", self.claim),
            Variable::SnippetCount
            | Variable::CriteriaDescription
            | Variable::ScoreDescription(_)
            | Variable::OpenBraces => self.insert_verbatim(out, variable),
        }
    }

    /// The templates one after the other behind `start`, every text behind its fence.
    pub(super) fn fenced<'t>(&self, start: &str, templates: impl Iterator<Item = &'t Template>) -> String {
        let mut out = String::with_capacity(1024);
        out.push_str(start);
        for (i, template) in templates.enumerate() {
            if i > 0 {
                out.push_str(BETWEEN_FILES);
            }
            template.fill(&mut out, |out, variable| self.insert_fenced(out, variable));
        }
        out
    }
}

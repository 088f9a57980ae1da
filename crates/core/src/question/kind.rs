//! What is known of a kind of question without an instance.
//!
//! Prompt manifests, reply limits, JSON mode, plan groups and records need to know of a kind before, or after, a question
//! of it exists.

use std::fmt;

use super::variable::Variable;
use crate::domain::ReportLanguage;

/// What is known of a kind of question without an instance.
///
/// ```
/// use scholareval_core::question::{KindInfo, ReplyKind, Variable};
///
/// static LIMITS: KindInfo = KindInfo {
///     name: "limits",
///     family: "mine",
///     variables: &[Variable::hostile("response")],
///     reply: ReplyKind::Text,
///     reply_limit: Some(10),
///     template: Some("{{response}}\n\nHow many limits does it name? Reply with the number."),
///     ..KindInfo::DEFAULT
/// };
/// assert_eq!(LIMITS.parts, ["user"]);
/// ```
#[derive(Debug)]
pub struct KindInfo {
    /// Its name in files, options and cache keys.
    pub name: &'static str,
    /// The prompt family: kinds whose prompts are replaced together and share a fingerprint and a label.
    pub family: &'static str,
    /// The forms of its user message; a question says by [`Question::part`](super::Question::part) which one it needs.
    pub parts: &'static [&'static str],
    /// Those of the forms that a prompt set may leave out: questions that need one of these then have the first form.
    pub optional_parts: &'static [&'static str],
    /// Variables of its templates.
    pub variables: &'static [Variable],
    /// Whether its prompts may have a file of a criterion: a fixed one, or the template of one in a list.
    pub has_criterion_file: bool,
    /// Whether its prompts have a text before titles that stand for their sources.
    pub has_title_marker: bool,
    /// The forms of a reply that the manifest of an imported prompt can declare; empty where there is one.
    pub forms: &'static [&'static str],
    /// The form of a reply.
    pub reply: ReplyKind,
    /// The reply limit in tokens of one unit (see [`Question::items`](super::Question::items)) where the prompts give none;
    /// `None` for lists that restate the answer, whose limit grows with it.
    pub reply_limit: Option<u64>,
    /// What stands for the thing decided in the text that asks a decision model; `None` where it cannot be asked.
    pub decided: Option<Variable>,
    /// The user message of a kind that no prompt set has, because it is defined outside this crate.
    pub template: Option<&'static str>,
}

/// The user message about a report in Chinese, for prompts that have one: those of DeepResearch Bench do.
pub(super) const CHINESE: &str = "chinese";

/// The forms of the user message of the kinds about pages: in English, and in Chinese.
pub(super) const PAGES_PARTS: &[&str] = &["user", CHINESE];

/// The form of the user message in a language.
pub(super) fn part_in(language: ReportLanguage) -> &'static str {
    match language {
        ReportLanguage::English => PAGES_PARTS[0],
        ReportLanguage::Chinese => CHINESE,
    }
}

/// The form of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// A JSON object: servers may be asked for JSON, or for a schema.
    Json,
    /// Free text. JSON mode would make a judge write anything but a grade.
    Text,
    /// A text with one of a few labels; models that write nothing else need a few tokens.
    Label,
}

impl KindInfo {
    /// A kind with one form of its user message and a JSON reply; to be completed with a name, a family and variables.
    pub const DEFAULT: Self = Self {
        name: "",
        family: "",
        parts: &["user"],
        optional_parts: &[],
        variables: &[],
        has_criterion_file: false,
        has_title_marker: false,
        forms: &[],
        reply: ReplyKind::Json,
        reply_limit: None,
        decided: None,
        template: None,
    };

    /// The variable with this name.
    pub fn variable(&self, name: &str) -> Option<&'static Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// Whether a reply is a list that restates the answer.
    pub fn is_list(&self) -> bool {
        self.reply_limit.is_none()
    }
}

impl fmt::Display for KindInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

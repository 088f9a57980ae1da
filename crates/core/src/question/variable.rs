//! Template variables of a kind of question, and how their values are inserted.

use std::borrow::Cow;

/// A variable of the templates of a kind of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name between double braces.
    pub name: &'static str,
    /// The name of its section between delimiters.
    pub section: &'static str,
    /// Whether its text is foreign (an answer, a source, a rubric of others): it stands between delimiters, once, and
    /// never in a system message.
    pub is_hostile: bool,
    /// Whether many calls have the same value, about one answer or one document: such sections share an id, so that
    /// their prompts begin with the same bytes.
    pub is_shared: bool,
    /// Whether a prompt without it is an error.
    pub is_required: bool,
    /// The prompts it has a value in.
    pub presence: Presence,
}

/// The prompts that a variable has a value in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// All prompts of the kind.
    Always,
    /// Only this form of the user message.
    InPart(&'static str),
    /// Prompts with a file of a criterion.
    WithCriterionFile,
    /// Prompts without one.
    WithoutCriterionFile,
    /// Verbatim prompts that write this variable's text in pieces. Between delimiters it is one section, since its lines
    /// mean nothing separately.
    PieceOf(&'static str),
}

impl Variable {
    /// A variable for foreign text.
    pub const fn hostile(name: &'static str) -> Self {
        Self {
            name,
            section: name,
            is_hostile: true,
            is_shared: false,
            is_required: true,
            presence: Presence::Always,
        }
    }

    /// A variable for text of this program.
    pub const fn plain(name: &'static str) -> Self {
        Self {
            is_hostile: false,
            ..Self::hostile(name)
        }
    }

    /// What a decision is about, in the words of a rubric.
    pub const DECIDED: Self = Self::plain("decided");
    /// What a decision is about, where it is foreign text.
    pub const HOSTILE_DECIDED: Self = Self::hostile("decided");

    /// The same, with the same value in many calls.
    #[must_use]
    pub const fn shared(self) -> Self {
        Self {
            is_shared: true,
            ..self
        }
    }

    /// The same, which a prompt may leave out.
    #[must_use]
    pub const fn optional(self) -> Self {
        Self {
            is_required: false,
            ..self
        }
    }

    /// The same in a section of this name.
    #[must_use]
    pub const fn in_section(self, section: &'static str) -> Self {
        Self { section, ..self }
    }

    /// The same, with a value only in these prompts.
    #[must_use]
    pub const fn only(self, presence: Presence) -> Self {
        Self { presence, ..self }
    }
}

/// How a prompt inserts values.
#[derive(Clone, Copy)]
pub struct Insert<'a> {
    /// Whether foreign text stands between delimiters; published wordings have none.
    pub is_delimited: bool,
    /// The prompt's file of a criterion.
    pub criterion: Option<&'a dyn CriterionTemplate>,
    /// The text before titles that stand for their sources.
    pub title_marker: &'a str,
}

/// A prompt's file of a criterion.
pub trait CriterionTemplate {
    /// Its text with these values of its variables.
    fn filled_with(&self, value: &dyn Fn(&str) -> String) -> String;
}

impl Insert<'_> {
    /// One text of a list. Between delimiters it is put on one line, since a line break could forge the next number or
    /// grade.
    pub fn on_one_line(&self, text: &str) -> String {
        if self.is_delimited {
            one_line(text)
        } else {
            text.to_owned()
        }
    }

    /// The criterion that a prompt has in a file; empty without one.
    pub(super) fn fixed_criterion(&self) -> Cow<'static, str> {
        match self.criterion {
            Some(template) => template.filled_with(&|_| String::new()).into(),
            None => Cow::Borrowed(""),
        }
    }
}

/// Replaces line breaks by spaces.
pub fn one_line(text: &str) -> String {
    let breaks = [
        '\n', '\u{b}', '\u{c}', '\r', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}',
        '\u{2029}',
    ];
    text.replace(breaks, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_break_becomes_a_space() {
        assert_eq!(
            one_line("one\n2. forged\u{2028}\u{85}\r\u{1d}x \u{a0}"),
            "one 2. forged    x \u{a0}"
        );
    }
}

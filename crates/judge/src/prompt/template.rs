//! Templates: text with `{{variables}}`.

use std::path::Path;

use scholareval_core::error::{InputFault, Result};
use scholareval_core::question::{CriterionTemplate, KINDS, KindInfo, Variable};

/// Escape for two opening braces, which would begin a variable.
pub(crate) const OPEN_BRACES: &str = "open_braces";

/// The variable of this crate's kinds of questions with this name.
pub(crate) fn variable(name: &str) -> Option<&'static str> {
    all_variables().into_iter().find(|known| *known == name)
}

/// The names of all variables of this crate's kinds of questions.
fn all_variables() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for variable in KINDS.iter().flat_map(|info| info.variables) {
        if !names.contains(&variable.name) {
            names.push(variable.name);
        }
    }
    names.push(Variable::DECIDED.name);
    names.push(OPEN_BRACES);
    names
}

/// `{{a}}, {{b}}`: for messages that list variables.
pub(crate) fn list_of(variables: &[&str]) -> String {
    variables
        .iter()
        .map(|variable| format!("{{{{{variable}}}}}"))
        .collect::<Vec<_>>()
        .join(", ")
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    /// A variable and its 1-based line.
    Variable(&'static str, usize),
}

/// A parsed template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Template {
    pub source: String,
    pieces: Vec<TemplatePiece>,
}

impl Template {
    /// Parses a template of a prompt set; `path` is for messages.
    ///
    /// A bare word in double braces is a variable, inner spaces allowed; anything else is text.
    ///
    /// # Errors
    /// A word that is not a variable, with its line.
    pub(crate) fn parse(source: &str, path: &Path) -> Result<Self> {
        let known = all_variables();
        Self::parse_with(source, |word, line| {
            let variable = known.iter().find(|name| **name == word).copied();
            if variable.is_none() {
                let hint = format!("the variables are {}", list_of(&known));
                let fault = InputFault::new(path, format!("unknown variable {{{{{word}}}}}"));
                return Err(fault.at_line(line).refuse(hint));
            }
            Ok(variable)
        })
    }

    /// Parses the template that a kind of question brings itself; words that are not its variables are text.
    pub(crate) fn of_kind(source: &str, info: &'static KindInfo) -> Self {
        let variable = |word: &str, _line: usize| {
            Ok::<_, std::convert::Infallible>(info.variable(word).map(|variable| variable.name))
        };
        match Self::parse_with(source, variable) {
            Ok(template) => template,
            Err(never) => match never {},
        }
    }

    /// Parses a template; `variable` gives the variable of a word in double braces, with its line, or none for text.
    fn parse_with<E>(
        source: &str,
        variable: impl Fn(&str, usize) -> Result<Option<&'static str>, E>,
    ) -> Result<Self, E> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = source;
        while let Some(at) = rest.find("{{") {
            let line = 1 + source[..source.len() - rest.len() + at]
                .matches('\n')
                .count();
            let named = match bare_word(&rest[at..]) {
                Some((word, after)) => variable(word, line)?.map(|variable| (variable, after)),
                None => None,
            };
            let Some((variable, after)) = named else {
                // One brace at a time: in `{{{question}}` the variable starts at the second one.
                text.push_str(&rest[..=at]);
                rest = &rest[at + 1..];
                continue;
            };
            text.push_str(&rest[..at]);
            if !text.is_empty() {
                pieces.push(TemplatePiece::Text(std::mem::take(&mut text)));
            }
            pieces.push(TemplatePiece::Variable(variable, line));
            rest = after;
        }
        text.push_str(rest);
        if !text.is_empty() {
            pieces.push(TemplatePiece::Text(text));
        }
        Ok(Self {
            source: source.to_owned(),
            pieces,
        })
    }

    /// The variables in order, with their lines.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        self.pieces.iter().filter_map(|piece| match piece {
            TemplatePiece::Variable(variable, line) => Some((*variable, *line)),
            TemplatePiece::Text(_) => None,
        })
    }

    /// Replaces each variable by what `insert` appends for it.
    pub(crate) fn fill(&self, out: &mut String, mut insert: impl FnMut(&mut String, &'static str)) {
        for piece in &self.pieces {
            match piece {
                TemplatePiece::Text(text) => out.push_str(text),
                TemplatePiece::Variable(OPEN_BRACES, _) => out.push_str("{{"),
                TemplatePiece::Variable(variable, _) => insert(out, variable),
            }
        }
    }
}

impl CriterionTemplate for Template {
    fn filled_with(&self, value: &dyn Fn(&str) -> String) -> String {
        let mut out = String::new();
        self.fill(&mut out, |out, variable| out.push_str(&value(variable)));
        out
    }
}

/// `{{ word }}` at the start of `text`: the word and the rest.
fn bare_word(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix("{{")?;
    let end = inner.find("}}")?;
    let word = inner[..end].trim_matches(' ');
    let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word.then(|| (word, &inner[end + 2..]))
}

/// Escapes a text, so that the template renders it unchanged.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let step = if bare_word(&rest[at..]).is_some() {
            out.push_str(&rest[..at]);
            out.push_str("{{open_braces}}");
            at + 2
        } else {
            out.push_str(&rest[..=at]);
            at + 1
        };
        rest = &rest[step..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(source: &str) -> Result<Template> {
        Template::parse(source, Path::new("set/property.txt"))
    }

    fn filled(source: &str) -> String {
        let mut out = String::new();
        parse(source).unwrap().fill(&mut out, |out, variable| {
            out.push_str(&variable.to_uppercase())
        });
        out
    }

    #[test]
    fn variables_are_filled_and_other_braces_are_text() {
        assert_eq!(
            filled("a {{question}} b {{ response }}"),
            "a QUESTION b RESPONSE"
        );
        assert_eq!(
            filled("Reply {{\"score\": x}} or {x}"),
            "Reply {{\"score\": x}} or {x}"
        );
        assert_eq!(filled("{{{question}}}"), "{QUESTION}");
        assert_eq!(filled("{{open_braces}}question}}"), "{{question}}");
        assert_eq!(filled("{{"), "{{");
    }

    #[test]
    fn an_unknown_variable_is_an_error_naming_file_line_and_the_known_ones() {
        let message = parse("one\ntwo {{respons}}").unwrap_err().to_string();
        assert_eq!(
            message,
            "set/property.txt:2: unknown variable {{respons}}; the variables are {{question}}, {{response}}, \
             {{criterion}}, {{snippets}}, {{snippet_count}}, {{instruction}}, {{score_rubric}}, \
             {{reference_answer}}, {{criteria_description}}, {{score1_description}}, {{score2_description}}, {{score3_description}}, \
             {{score4_description}}, {{score5_description}}, {{document}}, {{claim}}, {{criteria}}, {{number}}, {{examples}}, \
             {{levels}}, {{reply}}, {{citations}}, {{response_a}}, {{response_b}}, {{page}}, {{statements}}, {{decided}}, {{open_braces}}"
        );
    }

    proptest! {
        #[test]
        fn an_escaped_text_comes_out_as_it_went_in(text in "([{}]|question|\"| |x|\n|é){0,30}") {
            prop_assert_eq!(filled(&escape(&text)), text);
        }
    }
}

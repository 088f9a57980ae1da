//! Templates: text with `{{variables}}`.

use std::path::Path;

use crate::error::{InputFault, Result};

/// The template variables, but for [`RUBRIC_PARTS`].
const VARIABLES: [&str; 17] = [
    "question",
    "response",
    "criterion",
    "snippets",
    "snippet_count",
    "instruction",
    "reference_answer",
    "score_rubric",
    "document",
    "claim",
    "criteria",
    "levels",
    "reply",
    "citations",
    "number",
    "examples",
    OPEN_BRACES,
];

/// Variables that make up `{{score_rubric}}`.
pub(crate) const RUBRIC_PARTS: [&str; 6] = [
    "criteria_description",
    "score1_description",
    "score2_description",
    "score3_description",
    "score4_description",
    "score5_description",
];

/// Escape for two opening braces, which would begin a variable.
pub(crate) const OPEN_BRACES: &str = "open_braces";

/// The variable with this name.
pub(crate) fn variable(name: &str) -> Option<&'static str> {
    VARIABLES
        .into_iter()
        .chain(RUBRIC_PARTS)
        .find(|variable| *variable == name)
}

/// Whether the variable holds untrusted text.
pub(crate) fn is_text(variable: &str) -> bool {
    !matches!(
        variable,
        "snippet_count" | "levels" | "reply" | "number" | OPEN_BRACES
    )
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
enum Piece {
    Text(String),
    /// A variable and its 1-based line.
    Variable(&'static str, usize),
}

/// A parsed template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) source: String,
    pieces: Vec<Piece>,
}

impl Template {
    /// Parses a template; `path` is for messages.
    ///
    /// A bare word in double braces is a variable, inner spaces allowed; anything else is text.
    pub(crate) fn parse(source: &str, path: &Path) -> Result<Self> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = source;
        while let Some(at) = rest.find("{{") {
            let Some((word, after)) = bare_word(&rest[at..]) else {
                // One brace at a time: in `{{{question}}` the variable starts at the second one.
                text.push_str(&rest[..=at]);
                rest = &rest[at + 1..];
                continue;
            };
            text.push_str(&rest[..at]);
            let line = 1 + source[..source.len() - rest.len() + at]
                .matches('\n')
                .count();
            let Some(variable) = variable(word) else {
                let hint = format!(
                    "the variables are {}",
                    list_of(&[&VARIABLES[..], &RUBRIC_PARTS].concat())
                );
                let fault = InputFault::new(path, format!("unknown variable {{{{{word}}}}}"));
                return Err(fault.at_line(line).hint(hint).into());
            };
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(Piece::Variable(variable, line));
            rest = after;
        }
        text.push_str(rest);
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(Self {
            source: source.to_owned(),
            pieces,
        })
    }

    /// The variables in order, with their lines.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Variable(variable, line) => Some((*variable, *line)),
            Piece::Text(_) => None,
        })
    }

    /// The text with each variable replaced by its value.
    pub(crate) fn filled(&self, value: impl Fn(&str) -> String) -> String {
        let mut out = String::new();
        self.fill(&mut out, |out, variable| out.push_str(&value(variable)));
        out
    }

    /// Replaces each variable by what `insert` appends for it.
    pub(crate) fn fill(&self, out: &mut String, mut insert: impl FnMut(&mut String, &'static str)) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Variable(OPEN_BRACES, _) => out.push_str("{{"),
                Piece::Variable(variable, _) => insert(out, variable),
            }
        }
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
             {{criterion}}, {{snippets}}, {{snippet_count}}, {{instruction}}, {{reference_answer}}, \
             {{score_rubric}}, {{document}}, {{claim}}, {{criteria}}, {{levels}}, {{reply}}, {{citations}}, {{number}}, {{examples}}, {{open_braces}}, \
             {{criteria_description}}, {{score1_description}}, {{score2_description}}, {{score3_description}}, {{score4_description}}, \
             {{score5_description}}"
        );
    }

    proptest! {
        #[test]
        fn an_escaped_text_comes_out_as_it_went_in(text in "([{}]|question|\"| |x|\n|é){0,30}") {
            prop_assert_eq!(filled(&escape(&text)), text);
        }
    }
}

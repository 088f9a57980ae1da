//! Finding literals in a script: classes, functions, arguments and assignments by name.

use std::path::Path;

use super::python::{LiteralPiece, Placed, Token};
use super::template::{Variable, escape};
use crate::error::{Error, InputFault, Result};

const UNCHANGED: &str = "use an unchanged checkout of ScholarQABench";

/// A part of the script, with what is needed to speak of it.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) path: &'a Path,
    pub(super) what: &'a str,
    pub(super) line: usize,
    pub(super) body: &'a [Placed],
}

impl<'a> Scope<'a> {
    pub(super) fn fault(&self, line: usize, what: impl Into<String>) -> Error {
        InputFault::new(self.path, what).at_line(line).hint(UNCHANGED).into()
    }

    /// The class or function of that name directly or indirectly inside.
    pub(super) fn child(&self, keyword: &str, name: &'a str) -> Result<Scope<'a>> {
        let start = self
            .body
            .windows(2)
            .position(|pair| pair[0].is_name(keyword) && pair[1].is_name(name))
            .ok_or_else(|| self.fault(self.line, format!("{} has no `{keyword} {name}`", self.what)))?;
        let head = &self.body[start];
        let mut depth = 0_usize;
        let mut end = self.body.len();
        let mut last_line = head.line;
        for (i, placed) in self.body.iter().enumerate().skip(start + 1) {
            // Inside brackets indentation says nothing.
            if depth == 0 && placed.line > last_line && placed.column <= head.column {
                end = i;
                break;
            }
            match placed.token {
                Token::Operator('(' | '[' | '{') => depth += 1,
                Token::Operator(')' | ']' | '}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            last_line = placed.line;
        }
        Ok(Scope { path: self.path, what: name, line: head.line, body: &self.body[start..end] })
    }

    /// What follows `name=` as an argument or default.
    pub(super) fn argument(&self, name: &str) -> Option<&'a [Placed]> {
        let at = self
            .body
            .windows(3)
            .position(|three| three[0].is_name(name) && three[1].is_operator('=') && !three[2].is_operator('='))?;
        self.body.get(at + 2..)
    }

    /// The value of the adjacent literals at the start of `tokens`, and how many they are.
    pub(super) fn literal(&self, tokens: &[Placed]) -> Result<(Vec<LiteralPiece>, usize)> {
        let mut pieces: Vec<LiteralPiece> = Vec::new();
        let mut count = 0;
        while let Some(Token::Text(raw)) = tokens.get(count).map(|placed| &placed.token) {
            for piece in raw.value(self.path)? {
                match (pieces.last_mut(), piece) {
                    // Joined, so that braces which meet at a seam are seen together.
                    (Some(LiteralPiece::Text(text)), LiteralPiece::Text(more)) => text.push_str(&more),
                    (_, piece) => pieces.push(piece),
                }
            }
            count += 1;
        }
        Ok((pieces, count))
    }

    /// The whole number given as `name=` anywhere inside.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        match &self.argument(name)?.first()?.token {
            Token::Number(digits) => digits.replace('_', "").parse().ok(),
            _ => None,
        }
    }

    /// The text of the plain literals that `value` starts with; `what` names them in messages.
    pub(super) fn plain_text(&self, what: &str, value: &[Placed]) -> Result<String> {
        let opening = value.iter().take_while(|placed| placed.is_operator('(')).count();
        let (pieces, _) = self.literal(&value[opening..])?;
        match pieces.as_slice() {
            [LiteralPiece::Text(text)] => Ok(text.clone()),
            _ => {
                let line = value.first().map_or(self.line, |placed| placed.line);
                Err(self.fault(line, format!("{what} is not a plain string literal")))
            }
        }
    }

    /// The template source of the literal that `name` is set to, written for `str.format`: `{field}` is one of `fields`.
    pub(super) fn format_template(&self, name: &str, fields: &[(&str, Variable)]) -> Result<String> {
        let value =
            self.argument(name).ok_or_else(|| self.fault(self.line, format!("{} does not set {name}", self.what)))?;
        let line = value.first().map_or(self.line, |placed| placed.line);
        let text = self.plain_text(name, value)?;
        let pieces = format_pieces(&text).map_err(|what| self.fault(line, format!("{name} has {what}")))?;
        let mut out = String::new();
        for piece in pieces {
            match piece {
                FormatPiece::Text(text) => out.push_str(&escape(&text)),
                FormatPiece::Field(field) => {
                    let known = fields.iter().find(|(name, _)| *name == field);
                    let (_, variable) = known.ok_or_else(|| {
                        let known: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
                        self.fault(line, format!("{name} has {{{field}}}; known are {}", known.join(", ")))
                    })?;
                    out.push_str(&format!("{{{{{}}}}}", variable.name()));
                }
            }
        }
        Ok(out)
    }
}

/// A part of a format string.
#[derive(Debug, PartialEq, Eq)]
enum FormatPiece {
    Text(String),
    Field(String),
}

/// Takes a text for `str.format` apart: doubled braces are one, single ones hold a field's name.
fn format_pieces(text: &str) -> std::result::Result<Vec<FormatPiece>, &'static str> {
    let (mut pieces, mut plain) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            plain.push_str(brace);
            rest = after;
            continue;
        }
        let end = rest.find('}').filter(|_| brace == "{").ok_or("a single brace")?;
        if !plain.is_empty() {
            pieces.push(FormatPiece::Text(std::mem::take(&mut plain)));
        }
        pieces.push(FormatPiece::Field(rest[..end].to_owned()));
        rest = &rest[end + 1..];
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        pieces.push(FormatPiece::Text(plain));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_string_is_taken_apart_as_python_does() {
        let text = |text: &str| FormatPiece::Text(text.to_owned());
        let field = |name: &str| FormatPiece::Field(name.to_owned());
        assert_eq!(format_pieces("a{b}{{c}}{d}").unwrap(), [text("a"), field("b"), text("{c}"), field("d")]);
        assert_eq!(format_pieces("{{{x}}}").unwrap(), [text("{"), field("x"), text("}")]);
        assert_eq!(format_pieces("").unwrap(), []);
        assert!(format_pieces("a}b").is_err());
        assert!(format_pieces("a{b").is_err());
    }
}

//! A small reader of Python source: tokens with their places, and string literals with their values.
//!
//! Just enough to take literals out of a script: names, numbers, operators, strings of every quoting and prefix.
//! Nothing is evaluated.

use std::path::Path;

use crate::error::{InputFault, Result};

/// One token; everything that is not a name, a number or a string is one operator per character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    Name(String),
    Number(String),
    Text(RawText),
    Operator(char),
}

/// A string literal as it stands in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawText {
    prefix: String,
    body: String,
    line: usize,
}

/// A token and its place, both 1-based.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) token: Token,
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Placed {
    pub(crate) fn is_name(&self, name: &str) -> bool {
        matches!(&self.token, Token::Name(own) if own == name)
    }

    pub(crate) fn is_operator(&self, operator: char) -> bool {
        self.token == Token::Operator(operator)
    }
}

/// A part of a literal's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LiteralPiece {
    Text(String),
    /// An f-string's expression without white space, and its line.
    Expression(String, usize),
}

struct Reader<'a> {
    chars: Vec<char>,
    at: usize,
    line: usize,
    line_start: usize,
    path: &'a Path,
}

/// Splits source text into tokens; comments and white space are dropped.
///
/// # Errors
/// A string that does not end; `path` is for messages.
pub(crate) fn tokens(source: &str, path: &Path) -> Result<Vec<Placed>> {
    // Python reads every kind of line break as one line feed, inside literals too.
    let chars = source.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n").chars().collect();
    let mut reader = Reader { chars, at: 0, line: 1, line_start: 0, path };
    let mut tokens = Vec::new();
    while let Some(c) = reader.peek(0) {
        let (line, column) = (reader.line, reader.at - reader.line_start + 1);
        let token = if c == '#' {
            reader.take_while(|c| c != '\n');
            continue;
        } else if c.is_whitespace() || c == '\\' {
            reader.bump();
            continue;
        } else if c == '"' || c == '\'' {
            Token::Text(reader.text(String::new())?)
        } else if c.is_ascii_digit() {
            Token::Number(reader.take_while(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_'))
        } else if c.is_alphabetic() || c == '_' {
            let name = reader.take_while(|c| c.is_alphanumeric() || c == '_');
            let is_prefix = name.len() <= 2 && name.chars().all(|c| "rRbBuUfF".contains(c));
            match reader.peek(0) {
                Some('"' | '\'') if is_prefix => Token::Text(reader.text(name.to_ascii_lowercase())?),
                _ => Token::Name(name),
            }
        } else {
            reader.bump();
            Token::Operator(c)
        };
        tokens.push(Placed { token, line, column });
    }
    Ok(tokens)
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        if c == '\n' {
            self.line += 1;
            self.line_start = self.at;
        }
        Some(c)
    }

    fn take_while(&mut self, mut wanted: impl FnMut(char) -> bool) -> String {
        let mut out = String::new();
        while let Some(c) = self.peek(0).filter(|c| wanted(*c)) {
            out.push(c);
            self.bump();
        }
        out
    }

    /// A string from its opening quote on.
    fn text(&mut self, prefix: String) -> Result<RawText> {
        let line = self.line;
        let unended = || InputFault::new(self.path, "a string that starts here does not end").at_line(line);
        let unended = unended().hint("use an unchanged checkout");
        let Some(quote) = self.bump() else { return Err(unended.into()) };
        let triple = self.peek(0) == Some(quote) && self.peek(1) == Some(quote);
        if triple {
            self.bump();
            self.bump();
        }
        let mut body = String::new();
        loop {
            match self.bump() {
                Some('\\') => {
                    body.push('\\');
                    body.extend(self.bump());
                }
                Some(c) if c == quote && !triple => break,
                Some(c) if c == quote && self.peek(0) == Some(quote) && self.peek(1) == Some(quote) => {
                    self.bump();
                    self.bump();
                    break;
                }
                None => return Err(unended.into()),
                Some('\n') if !triple => return Err(unended.into()),
                Some(c) => body.push(c),
            }
        }
        Ok(RawText { prefix, body, line })
    }
}

impl RawText {
    /// The literal's value; an f-string has expressions in it.
    ///
    /// # Errors
    /// Bytes, a broken escape or f-string, a format specification; `path` is for messages.
    pub(crate) fn value(&self, path: &Path) -> Result<Vec<LiteralPiece>> {
        if self.prefix.contains('b') {
            return Err(self.fault(path, 0, "bytes where a text is expected"));
        }
        let (formatted, raw) = (self.prefix.contains('f'), self.prefix.contains('r'));
        let chars: Vec<char> = self.body.chars().collect();
        let (mut pieces, mut text, mut at) = (Vec::new(), String::new(), 0);
        while let Some(&c) = chars.get(at) {
            let doubled = chars.get(at + 1) == Some(&c);
            match c {
                '\\' if !raw => {
                    let (value, length) = escape(&chars[at + 1..]).map_err(|what| self.fault(path, at, what))?;
                    text.push_str(&value);
                    at += 1 + length;
                }
                '{' | '}' if formatted && doubled => {
                    text.push(c);
                    at += 2;
                }
                '{' if formatted => {
                    let (expression, length) =
                        expression(&chars[at + 1..]).map_err(|what| self.fault(path, at, what))?;
                    if !text.is_empty() {
                        pieces.push(LiteralPiece::Text(std::mem::take(&mut text)));
                    }
                    pieces.push(LiteralPiece::Expression(expression, self.line_at(at)));
                    at += 1 + length;
                }
                '}' if formatted => return Err(self.fault(path, at, "a single } in an f-string")),
                _ => {
                    text.push(c);
                    at += 1;
                }
            }
        }
        if !text.is_empty() {
            pieces.push(LiteralPiece::Text(text));
        }
        Ok(pieces)
    }

    fn line_at(&self, at: usize) -> usize {
        self.line + self.body.chars().take(at).filter(|c| *c == '\n').count()
    }

    fn fault(&self, path: &Path, at: usize, what: impl Into<String>) -> crate::Error {
        InputFault::new(path, what).at_line(self.line_at(at)).hint("use an unchanged checkout").into()
    }
}

/// What stands for an escape, and how many characters after the backslash it takes.
fn escape(rest: &[char]) -> Result<(String, usize), &'static str> {
    let Some(&c) = rest.first() else { return Ok(("\\".to_owned(), 0)) };
    let simple = match c {
        '\n' => "",
        '\\' => "\\",
        '\'' => "'",
        '"' => "\"",
        'a' => "\u{7}",
        'b' => "\u{8}",
        'f' => "\u{c}",
        'n' => "\n",
        'r' => "\r",
        't' => "\t",
        'v' => "\u{b}",
        'x' => return code(&rest[1..], 2, 16),
        'u' => return code(&rest[1..], 4, 16),
        'U' => return code(&rest[1..], 8, 16),
        'N' => return Err("a \\N{..} escape, which this reader does not know"),
        '0'..='7' => {
            let digits = rest.iter().take(3).take_while(|c| c.is_digit(8)).count();
            return code(rest, digits, 8).map(|(value, length)| (value, length - 1));
        }
        // Python keeps the backslash of an unknown escape.
        _ => return Ok(("\\".to_owned(), 0)),
    };
    Ok((simple.to_owned(), 1))
}

/// The character of a code of `digits` digits; the length counts the letter before them.
fn code(rest: &[char], digits: usize, base: u32) -> Result<(String, usize), &'static str> {
    let written: String = rest.iter().take(digits).collect();
    let value = (written.chars().count() == digits).then(|| u32::from_str_radix(&written, base).ok()).flatten();
    let character = value.and_then(char::from_u32).ok_or("a broken escape")?;
    Ok((character.to_string(), digits + 1))
}

/// An f-string's expression after its brace, without white space, and how many characters it takes, closing brace
/// included.
fn expression(rest: &[char]) -> Result<(String, usize), &'static str> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, &c) in rest.iter().enumerate() {
        match (quote, c) {
            (Some(open), _) => quote = (c != open).then_some(open),
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, '}') if depth == 0 => {
                return Ok((rest[..at].iter().filter(|c| !c.is_whitespace()).collect(), at + 1));
            }
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, '!' | ':' | '=') if depth == 0 => {
                return Err("a conversion or format in an f-string, which this reader does not know");
            }
            _ => {}
        }
    }
    Err("an f-string expression that does not end")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(value: &str) -> LiteralPiece {
        LiteralPiece::Text(value.to_owned())
    }

    fn literal(source: &str) -> Result<Vec<LiteralPiece>> {
        let tokens = tokens(source, Path::new("s.py"))?;
        match &tokens[0].token {
            Token::Text(raw) => raw.value(Path::new("s.py")),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_quoting_is_read() {
        for source in ["'ab'", "\"ab\"", "'''ab'''", "\"\"\"ab\"\"\"", "r'ab'", "u\"ab\"", "Rf'ab'"] {
            assert_eq!(literal(source).unwrap(), [text("ab")], "{source}");
        }
        assert_eq!(literal("\"\"\"a\"b\"\" \n c\"\"\"").unwrap(), [text("a\"b\"\" \n c")]);
        assert_eq!(literal("''").unwrap(), []);
    }

    #[test]
    fn escapes_are_pythons() {
        assert_eq!(literal(r#""\n\t\\\'\"\x41\u00e9\U0001F600\101\0""#).unwrap(), [text("\n\t\\'\"Aé😀A\0")]);
        assert_eq!(literal(r"'\d\ '").unwrap(), [text(r"\d\ ")]);
        assert_eq!(literal(r"r'\n\''").unwrap(), [text(r"\n\'")]);
        assert_eq!(literal("'a\\\nb'").unwrap(), [text("ab")]);
        assert!(literal(r"'\xZ1'").is_err());
    }

    #[test]
    fn doubled_braces_are_one_in_f_strings_only() {
        assert_eq!(literal("'{{x}}'").unwrap(), [text("{{x}}")]);
        assert_eq!(literal("f'{{x}}'").unwrap(), [text("{x}")]);
    }

    #[test]
    fn expressions_of_f_strings_are_kept_with_their_line() {
        let pieces = literal("f'''a\n{ len( evidence ) }b{x[\"}\"]}'''").unwrap();
        let expression = |text: &str| LiteralPiece::Expression(text.to_owned(), 2);
        assert_eq!(pieces, [text("a\n"), expression("len(evidence)"), text("b"), expression("x[\"}\"]")]);
    }

    #[test]
    fn a_format_or_a_lone_brace_is_an_error_with_its_line() {
        assert!(literal("\nf'{x!r}'").unwrap_err().to_string().starts_with("s.py:2: a conversion"));
        assert!(literal("f'}'").is_err());
        assert!(literal("f'{x'").is_err());
    }

    #[test]
    fn tokens_have_places_and_comments_none() {
        let tokens = tokens("# 'x\nif a1 >= 2.5:  # no\n\tb", Path::new("s.py")).unwrap();
        let places: Vec<_> = tokens.iter().map(|t| (t.line, t.column)).collect();
        assert_eq!(places, [(2, 1), (2, 4), (2, 7), (2, 8), (2, 10), (2, 13), (3, 2)]);
        assert!(tokens[1].is_name("a1") && tokens[3].is_operator('='));
    }

    #[test]
    fn an_open_string_names_the_line_where_it_starts() {
        assert!(tokens("a\n'b\n'", Path::new("s.py")).unwrap_err().to_string().starts_with("s.py:2: "));
    }

    proptest! {
        #[test]
        fn no_source_makes_it_panic(source in "([rf]?['\"]{1,3}|\\\\|[{}]|[a-zé0-9 \n(]){0,40}") {
            if let Ok(tokens) = tokens(&source, Path::new("s.py")) {
                for placed in tokens {
                    if let Token::Text(raw) = placed.token {
                        let _ = raw.value(Path::new("s.py"));
                    }
                }
            }
        }
    }
}

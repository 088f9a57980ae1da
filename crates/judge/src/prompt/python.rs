//! Extracts string literals from a Python script by the names around them, without running it.
//!
//! A place in the script is narrowed step by step by the names around it (a definition, an assignment,
//! a call); the literal found there is read with Python's escapes, and neighboring ones are joined.

use std::path::Path;

use super::template::{escape, variable};
use scholareval_core::error::{Error, InputFault, Result};

/// Names that differ between the scripts and our templates; attribution's document is `output`.
const RENAMED: [(&str, &str); 11] = [
    ("prop", "criterion"),
    ("len(evidence)", "snippet_count"),
    ("output", "document"),
    ("self.config.question", "question"),
    ("query", "question"),
    ("answer", "response"),
    ("i", "number"),
    ("x.criterion", "criterion"),
    ("cexamples[i-1]", "examples"),
    ("report_text", "response"),
    ("reference", "page"),
];
/// Fields without a name, in order: those of the prompt about a citation group.
const POSITIONAL: [&str; 2] = ["response", "citations"];

/// A position in a script; searches run from it to the end of its class or function.
#[derive(Clone, Copy)]
pub(super) struct ScriptPosition<'a> {
    path: &'a Path,
    source: &'a str,
    start: usize,
    end: usize,
    /// The class or function, for messages.
    within: &'a str,
}

/// A piece of a literal's value: text, or a field in braces, trimmed.
enum LiteralPiece {
    Text(String),
    Expression(String),
}

/// Python reads every kind of line break as one line feed, inside literals too.
pub(super) fn normalized(source: &str) -> String {
    source
        .trim_start_matches('\u{feff}')
        .replace("\r\n", "\n")
        .replace('\r', "\n")
}

impl<'a> ScriptPosition<'a> {
    /// The whole of a [`normalized`] script; `path` is for messages.
    pub(super) fn script(path: &'a Path, source: &'a str) -> Self {
        Self {
            path,
            source,
            start: 0,
            end: source.len(),
            within: "the script",
        }
    }

    pub(super) fn fault(&self, what: impl Into<String>) -> Error {
        let line = 1 + self.source[..self.start].matches('\n').count();
        InputFault::new(self.path, what)
            .at_line(line)
            .refuse("use the published files unchanged")
    }

    fn text(&self) -> &'a str {
        &self.source[self.start..self.end]
    }

    fn at(self, start: usize) -> Self {
        Self { start, ..self }
    }

    /// The positions right after each occurrence of `word`.
    fn behind(self, word: &'a str) -> impl Iterator<Item = Self> {
        self.text().match_indices(word).filter_map(move |(at, _)| {
            let (before, after) = (&self.text()[..at], &self.text()[at + word.len()..]);
            let is_whole = !before.ends_with(is_name_char) && !after.starts_with(is_name_char);
            is_whole.then(|| self.at(self.start + at + word.len()))
        })
    }

    /// The class or function with this name, up to the next one with the same indentation.
    fn definition(self, keyword: &'a str, name: &'a str) -> Result<Self> {
        let is_defined = |place: &Self| {
            self.source[..place.start - name.len()]
                .trim_end_matches(' ')
                .ends_with(keyword)
        };
        let mut definitions = self.behind(name).filter(is_defined);
        let place = definitions
            .next()
            .ok_or_else(|| self.fault(format!("{} has no `{keyword} {name}`", self.within)))?;
        let line = &self.source[..place.start];
        let line = &line[line.rfind('\n').map_or(0, |at| at + 1)..];
        let indent = &line[..line.len() - line.trim_start_matches(' ').len()];
        // A later definition may set the same name: the search must not run on into it.
        let next = place.text().find(&format!("\n{indent}{keyword} "));
        Ok(Self {
            end: next.map_or(place.end, |at| place.start + at),
            within: name,
            ..place
        })
    }

    /// The value of `name`: after `name=`, `name = ` or `name: type = `.
    fn value_of(self, name: &'a str) -> Result<Self> {
        let value = self.behind(name).find_map(|place| {
            let rest = place.text();
            let at = rest.find(|c: char| {
                c == '=' || c == '\n' || !(c.is_alphanumeric() || " :.[]_".contains(c))
            })?;
            let is_set = rest[at..].starts_with('=') && !rest[at..].starts_with("==");
            is_set.then(|| place.at(place.start + at + 1))
        });
        value.ok_or_else(|| self.fault(format!("{} does not set {name}", self.within)))
    }

    /// The arguments of the first call of `name`.
    fn call(self, name: &'a str) -> Option<Self> {
        let place = self
            .behind(name)
            .find(|place| place.text().starts_with('('))?;
        Some(place.at(place.start + 1))
    }

    /// The place that these steps lead to: `class A/def f/x` is the value of `x` there, `def f/g()/''` the first literal in
    /// a call.
    pub(super) fn find(self, steps: &'a str) -> Result<Self> {
        steps.split('/').try_fold(self, |place, step| {
            match (step.split_once(' '), step.strip_suffix("()")) {
                (Some((keyword, name)), _) => place.definition(keyword, name),
                (None, Some(name)) => place
                    .call(name)
                    .ok_or_else(|| place.fault(format!("{} does not call {name}", place.within))),
                (None, None) if step == "''" => place
                    .first_literal()
                    .ok_or_else(|| place.fault("the call gives no literal")),
                (None, None) => place.value_of(step),
            }
        })
    }

    /// The first literal among the arguments.
    fn first_literal(self) -> Option<Self> {
        let at = self
            .text()
            .find(['"', '\'', ')'])
            .filter(|at| !self.text()[*at..].starts_with(')'))?;
        Some(self.at(self.start + at))
    }

    /// The template source of the literals here: f-strings, or with `format` texts for `str.format`. Each `{field}` is
    /// a variable.
    pub(super) fn template(&self, name: &str, format: bool) -> Result<String> {
        let mut out = String::new();
        let mut positional = POSITIONAL.into_iter();
        for piece in self.literal(format, name)? {
            match piece {
                LiteralPiece::Text(text) => out.push_str(&escape(&text)),
                LiteralPiece::Expression(field) => {
                    let renamed = RENAMED.iter().find(|(theirs, _)| *theirs == field);
                    let unnamed = if field.is_empty() {
                        positional.next()
                    } else {
                        None
                    };
                    let ours = unnamed.or(renamed.map(|(_, ours)| *ours));
                    let variable = variable(ours.unwrap_or(&field));
                    let variable = variable
                        .ok_or_else(|| self.fault(format!("{name} has the unknown {{{field}}}")))?;
                    out.push_str(&format!("{{{{{variable}}}}}"));
                }
            }
        }
        Ok(out)
    }

    /// The adjacent literals here, joined. With `format`, plain literals are read like f-strings: doubled braces are
    /// one.
    fn literal(&self, format: bool, name: &str) -> Result<Vec<LiteralPiece>> {
        let mut pieces: Vec<LiteralPiece> = Vec::new();
        let mut rest = self
            .text()
            .trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        let mut count = 0;
        loop {
            let prefix = rest.len() - rest.trim_start_matches(['f', 'F', 'r', 'R']).len();
            // `rf"` is the longest prefix; a longer run of these letters is a name.
            let (prefix, behind) = rest.split_at(prefix.min(2));
            let Some(quote) = ["\"\"\"", "'''", "\"", "'"]
                .into_iter()
                .find(|quote| behind.starts_with(quote))
            else {
                break;
            };
            let (is_f, is_raw) = (prefix.contains(['f', 'F']), prefix.contains(['r', 'R']));
            // An f-string with `str.format` would be filled twice, which these scripts never do.
            if is_f && format {
                return Err(self.fault(format!("{name} is not a plain string literal")));
            }
            let body = &behind[quote.len()..];
            let length = body_length(body, quote)
                .ok_or_else(|| self.fault(format!("{name} has an unterminated string")))?;
            let faulty = |what| self.fault(format!("{name} has {what}"));
            push_pieces(&mut pieces, &body[..length], is_f || format, is_raw).map_err(faulty)?;
            rest = skip_blanks(&body[length + quote.len()..]);
            count += 1;
        }
        if count == 0 {
            return Err(self.fault(format!("{name} is not a string literal")));
        }
        Ok(pieces)
    }
}

/// Bytes up to the closing quote.
fn body_length(body: &str, quote: &str) -> Option<usize> {
    let mut at = 0;
    while !body.get(at..)?.starts_with(quote) {
        let c = body[at..].chars().next()?;
        at += c.len_utf8();
        if c == '\\' {
            at += body[at..].chars().next()?.len_utf8();
        }
    }
    Some(at)
}

/// Skips white space, continued lines and comments.
fn skip_blanks(text: &str) -> &str {
    let rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\\');
    match rest.strip_prefix('#') {
        Some(comment) => comment
            .find('\n')
            .map_or("", |at| skip_blanks(&comment[at..])),
        None => rest,
    }
}

/// Appends the value of a literal's body; adjacent texts are joined, so that braces across a seam are seen together.
fn push_pieces(
    pieces: &mut Vec<LiteralPiece>,
    body: &str,
    has_fields: bool,
    is_raw: bool,
) -> Result<(), &'static str> {
    let mut rest = body;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        match c {
            '\\' if !is_raw => {
                let (value, used) = unescaped(after)?;
                push_text(pieces, value.unwrap_or("\\"));
                rest = &after[used..];
            }
            '{' | '}' if has_fields && after.starts_with(c) => {
                push_text(pieces, &rest[..1]);
                rest = &after[1..];
            }
            '{' if has_fields => {
                let end = after.find('}').ok_or("a brace that does not close")?;
                let field = after[..end].split_whitespace().collect();
                pieces.push(LiteralPiece::Expression(field));
                rest = &after[end + 1..];
            }
            '}' if has_fields => return Err("a single brace"),
            _ => {
                push_text(pieces, &rest[..c.len_utf8()]);
                rest = after;
            }
        }
    }
    Ok(())
}

fn push_text(pieces: &mut Vec<LiteralPiece>, text: &str) {
    match pieces.last_mut() {
        Some(LiteralPiece::Text(last)) => last.push_str(text),
        _ => pieces.push(LiteralPiece::Text(text.to_owned())),
    }
}

/// The value of an escape and its length after the backslash. As in Python, an unknown one keeps its backslash; known
/// ones that the published scripts do not use are refused, so that no text is misread.
fn unescaped(rest: &str) -> Result<(Option<&'static str>, usize), &'static str> {
    let known = [
        ('\n', ""),
        ('\\', "\\"),
        ('\'', "'"),
        ('"', "\""),
        ('n', "\n"),
        ('t', "\t"),
    ];
    if let Some((_, value)) = known
        .into_iter()
        .find(|(escape, _)| rest.starts_with(*escape))
    {
        return Ok((Some(value), 1));
    }
    match rest.chars().next() {
        Some('a' | 'b' | 'f' | 'r' | 'v' | 'x' | 'u' | 'U' | 'N' | '0'..='7') => {
            Err("an unsupported escape")
        }
        _ => Ok((None, 0)),
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn literal(source: &str) -> Result<String> {
        ScriptPosition::script(Path::new("s.py"), source).template("it", false)
    }

    #[test]
    fn every_quoting_is_read_and_neighbors_are_joined() {
        for source in [
            "'ab'",
            "\"ab\"",
            "'''ab'''",
            "\"\"\"ab\"\"\"",
            "r'ab'",
            "( 'a' # no 'x'\n \"b\")",
            "Rf'a''b'",
        ] {
            assert_eq!(literal(source).unwrap(), "ab", "{source}");
        }
        assert_eq!(
            literal("\"\"\"a\"b\"\" \n c\"\"\"").unwrap(),
            "a\"b\"\" \n c"
        );
        assert!(literal("'a").is_err() && literal("a").is_err());
    }

    #[test]
    fn escapes_are_pythons_or_refused() {
        assert_eq!(literal(r#""\n\t\\\'\"\d\ ""#).unwrap(), "\n\t\\'\"\\d\\ ");
        assert_eq!(literal(r"r'\n\''").unwrap(), r"\n\'");
        assert_eq!(literal("'a\\\nb'").unwrap(), "ab");
        assert!(
            literal(r"'\x41'")
                .unwrap_err()
                .to_string()
                .starts_with("s.py:1: it has an unsupported escape")
        );
    }

    #[test]
    fn fields_stand_in_f_strings_and_doubled_braces_are_one_there() {
        assert_eq!(
            literal("f'a{question}{ len( evidence ) }{{y}}' '{z}'").unwrap(),
            "a{{question}}{{snippet_count}}{y}{z}"
        );
        assert!(
            literal("f'{x!r}'")
                .unwrap_err()
                .to_string()
                .contains("it has the unknown {x!r}")
        );
        assert!(literal("f'}'").is_err() && literal("f'{question'").is_err());
    }

    #[test]
    fn a_name_is_looked_for_within_its_class_or_function() {
        let source = "class A:\n    def f(x='1'):\n        y == '2'\n    def g(z: int = '3'):\n        h(5, '6')\nclass B:\n    y = '4'\n";
        let script = ScriptPosition::script(Path::new("s.py"), source);
        let text = |steps| {
            script
                .find(steps)
                .and_then(|place| place.template(steps, false))
                .ok()
        };
        assert_eq!(text("class A/z").as_deref(), Some("3"));
        assert_eq!((text("class A/y"), text("y").as_deref()), (None, Some("4")));
        assert_eq!((text("class A/def f/z"), text("def h/y")), (None, None));
        assert_eq!(
            (text("def g/h()/''").as_deref(), text("def f/h()")),
            (Some("6"), None)
        );
    }

    proptest! {
        #[test]
        fn no_source_makes_it_panic(source in "([rf]?['\"]{1,3}|\\\\|[{}]|[a-zé0-9 \n(]){0,40}") {
            let _ = literal(&source);
        }
    }
}

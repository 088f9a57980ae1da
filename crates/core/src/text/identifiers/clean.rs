//! A text without the escapes and signs that stand in identifiers in place of their own characters.

use std::borrow::Cow;

use crate::text::tables::{numbered_character, second_of};

/// The longest entity or LaTeX command, in bytes.
const NAME_BYTES: usize = 20;

/// The longest part of a DOI in full-width parentheses, in bytes.
const PARENTHESIS_BYTES: usize = 24;

/// Entities of the characters that identifiers and the texts around them have.
const ENTITIES: &str = "amp & lt < gt > quot \" apos ' lpar ( rpar ) lsqb [ rsqb ] sol / lowbar _ period . colon : \
    semi ; comma , num # percnt % hyphen - dash - ndash - mdash - minus -";

/// Commands of LaTeX for characters that identifiers have.
const COMMANDS: &str =
    "textless < textgreater > textunderscore _ textasciitilde ~ textendash - textemdash - slash /";

/// Entities and commands that stand for nothing.
const EMPTY: [&str; 3] = ["shy", "allowbreak", "backslash"];

/// A text that is cleaned, and where its characters come from.
pub(in crate::text) struct CleanText<'a> {
    text: Cow<'a, str>,
    /// The place of each byte in the raw text, and behind them its length; empty for a text that did not change.
    places: Vec<usize>,
}

/// What stands at the beginning of a text in place of other characters: its length, and these.
type Escape = Option<(usize, Cow<'static, str>)>;

impl<'a> CleanText<'a> {
    pub(in crate::text) fn of(raw: &'a str) -> Self {
        let mut clean = Self {
            text: Cow::Borrowed(raw),
            places: Vec::new(),
        };
        let has_escape = |byte: u8| !byte.is_ascii() || matches!(byte, b'&' | b'\\' | b'{' | b'$');
        if raw.bytes().any(has_escape) {
            // Publishers encode twice: `&amp;lt;`.
            for escape in [sign, entity, entity, markup] {
                clean.replace(escape);
            }
        }
        clean
    }

    pub(in crate::text) fn text(&self) -> &str {
        &self.text
    }

    /// The place in the raw text of one in the clean text.
    pub(super) fn raw_place(&self, at: usize) -> usize {
        self.places.get(at).copied().unwrap_or(at)
    }

    fn replace(&mut self, escape: fn(&str) -> Escape) {
        let mut text = String::with_capacity(self.text.len());
        let mut places = Vec::with_capacity(self.text.len() + 1);
        let mut at = 0;
        while let Some(first) = self.text[at..].chars().next() {
            let place = self.raw_place(at);
            match escape(&self.text[at..]) {
                Some((length, meant)) => {
                    text.push_str(&meant);
                    at += length;
                }
                None => {
                    text.push(first);
                    at += first.len_utf8();
                }
            }
            places.resize(text.len(), place);
        }
        places.push(self.raw_place(at));
        self.text = Cow::Owned(text);
        self.places = places;
    }
}

/// Signs of word processors and of other scripts: dashes, spaces, full-width characters, ligatures.
fn sign(text: &str) -> Escape {
    let first = text.chars().next().filter(|c| !c.is_ascii())?;
    let rest = &text[first.len_utf8()..];
    let meant = match first {
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => "",
        '\u{a0}' | '\u{202f}' => " ",
        '\u{2010}'..='\u{2015}' | '\u{2212}' => "-",
        '\u{2044}' | '\u{2215}' => "/",
        'ﬀ' => "ff",
        'ﬁ' => "fi",
        'ﬂ' => "fl",
        'ﬃ' => "ffi",
        'ﬄ' => "ffl",
        // These end a word.
        '，' | '；' | '！' | '？' => return None,
        '：' if !rest.starts_with(['/', '／']) => ": ",
        '（' if !is_part_of_word(rest) => " (",
        '\u{ff01}'..='\u{ff5e}' => {
            let ascii = char::from_u32(u32::from(first) - 0xfee0)?;
            return Some((first.len_utf8(), Cow::Owned(ascii.to_string())));
        }
        _ => return None,
    };
    Some((first.len_utf8(), Cow::Borrowed(meant)))
}

/// Whether a full-width parenthesis is one of a DOI, as in `S0001-2345（20）30123-4`: the word goes on behind it.
fn is_part_of_word(inside: &str) -> bool {
    let head = &inside[..inside.floor_char_boundary(PARENTHESIS_BYTES)];
    let Some((part, rest)) = head.split_once('）') else {
        return false;
    };
    let is_word = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word && rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-')
}

/// An entity of HTML.
fn entity(text: &str) -> Escape {
    let head = text.strip_prefix('&')?;
    let head = &head[..head.floor_char_boundary(NAME_BYTES)];
    let (name, _) = head.split_once(';')?;
    let length = name.len() + 2;
    if name.starts_with('#') {
        let c = numbered_character(name)?.to_string();
        // `&#8211;` is a dash.
        let meant = sign(&c).map_or(Cow::Owned(c), |(_, meant)| meant);
        return Some((length, meant));
    }
    Some((length, meaning(ENTITIES, name)?))
}

/// An escape of LaTeX or Markdown.
fn markup(text: &str) -> Escape {
    match text.as_bytes().first()? {
        b'\\' => command(text),
        // `{\_}`, `{-}`, `{\textless}`
        b'{' => enclosed(text, '}'),
        // `$<$`, `$\backslash$`
        b'$' => enclosed(text, '$'),
        _ => None,
    }
}

/// A character or command between two marks.
fn enclosed(text: &str, close: char) -> Escape {
    let inside = &text[1..];
    let first = inside.chars().next()?;
    let (length, meant) = match command(inside) {
        Some(read) => read,
        None if first.is_ascii_punctuation() && !matches!(first, '{' | '}' | '$' | '\\') => {
            (1, Cow::Owned(first.to_string()))
        }
        None => return None,
    };
    inside[length..]
        .starts_with(close)
        .then_some((length + 2, meant))
}

/// `\_`, `\%`, `\textless{}`.
fn command(text: &str) -> Escape {
    let rest = text.strip_prefix('\\')?;
    let first = rest.chars().next()?;
    if first.is_ascii_punctuation() {
        return Some((2, Cow::Owned(first.to_string())));
    }
    let letters = rest
        .bytes()
        .take(NAME_BYTES)
        .take_while(u8::is_ascii_alphabetic);
    let name = &rest[..letters.count()];
    let meant = meaning(COMMANDS, name)?;
    let behind = &rest[name.len()..];
    let empty = if behind.starts_with("{}") { 2 } else { 0 };
    Some((1 + name.len() + empty, meant))
}

fn meaning(table: &'static str, name: &str) -> Option<Cow<'static, str>> {
    let meant = match name {
        "nbsp" => Some(" "),
        _ if EMPTY.contains(&name) => Some(""),
        _ => second_of(table, name),
    };
    meant.map(Cow::Borrowed)
}

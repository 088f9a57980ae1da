//! Takes the markup off titles and names: LaTeX of BibTeX files, HTML of publishers.
//!
//! The letters that markup stands for are kept (`{\"u}` and `&uuml;` are ü, `$\varepsilon$` is epsilon); everything else
//! of it goes. Nothing is rendered: the text is compared and shown as plain text.

use std::borrow::Cow;

use scholareval_core::text::tables::{numbered_character, pairs, second_of};

/// The longest title or name that is looked at, in bytes: titles of more than 2,000 characters are damage.
const TEXT_BYTES: usize = 8192;

/// The longest HTML tag, in bytes.
const TAG_BYTES: usize = 200;

/// The longest entity or LaTeX command, in bytes.
const NAME_BYTES: usize = 32;

/// Elements that publishers use in titles. What begins with `<` and is none of them is text: `p<0.05`.
const ELEMENTS: [&str; 22] = [
    "i", "b", "em", "strong", "sub", "sup", "span", "p", "br", "u", "sc", "scp", "inf", "tt",
    "small", "font", "a", "div", "italic", "bold", "title", "math",
];

/// Combining accents by the command of LaTeX that puts one on the next letter.
const ACCENTS: &str = "' \u{301} ` \u{300} ^ \u{302} \" \u{308} ~ \u{303} = \u{304} . \u{307} c \u{327} v \u{30c} u \u{306} \
    H \u{30b} k \u{328} r \u{30a} d \u{323}";

/// Combining accents by the ending of an HTML entity (`eacute`).
const ENTITY_ACCENTS: &str = "acute \u{301} grave \u{300} circ \u{302} uml \u{308} tilde \u{303} cedil \u{327} ring \u{30a} \
    caron \u{30c}";

/// Letters and marks that LaTeX commands and HTML entities name.
const SIGNS: &str = "ss ß szlig ß o ø O Ø oslash ø Oslash Ø ae æ AE Æ aelig æ AElig Æ oe œ OE Œ oelig œ aa å AA Å l ł L Ł \
    i i j j dh ð eth ð th þ thorn þ dj đ ng ŋ textquotesingle ' amp & lt < gt > quot \" apos ' ndash – mdash — hyphen - \
    lsquo ‘ rsquo ’ ldquo “ rdquo ” hellip … times × textendash – textemdash — textquoteright ’ textquoteleft ‘";

/// Entities of spaces.
const SPACES: [&str; 3] = ["nbsp", "ensp", "thinsp"];

/// Greek letters as LaTeX and HTML name them, and the letter. The variants of LaTeX (`varepsilon`) are found without `var`.
pub(super) const GREEK: &str = "alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ \
    nu ν xi ξ omicron ο pi π rho ρ sigma σ tau τ upsilon υ phi φ chi χ psi ψ omega ω";

/// The text without LaTeX and HTML, on one line.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES)];
    let has_markup = text.bytes().any(|byte| {
        matches!(
            byte,
            b'\\' | b'{' | b'}' | b'$' | b'&' | b'<' | b'~' | b'\n' | b'\r' | b'\t'
        )
    });
    if !has_markup {
        return Cow::Borrowed(text.trim());
    }
    // Publishers encode twice: `&amp;lt;i&amp;gt;`.
    let once = without_entities(text);
    let text = without_entities(&once);
    let text = without_latex(&without_tags(&text));
    Cow::Owned(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The text with the characters that its entities stand for.
fn without_entities(text: &str) -> Cow<'_, str> {
    replaced(text, '&', |rest| {
        let head = &rest[1..rest.floor_char_boundary(NAME_BYTES)];
        let (name, _) = head.split_once(';')?;
        Some((name.len() + 2, entity(name)?))
    })
}

/// The text without HTML and MathML tags.
fn without_tags(text: &str) -> Cow<'_, str> {
    replaced(text, '<', |rest| Some((tag_length(rest)?, String::new())))
}

/// The text with what begins with a mark replaced: `meaning` gives its length and what it stands for, or `None` for a mark that
/// is itself.
fn replaced(
    text: &str,
    mark: char,
    meaning: impl Fn(&str) -> Option<(usize, String)>,
) -> Cow<'_, str> {
    if !text.contains(mark) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(mark) {
        out.push_str(&rest[..at]);
        let (length, meant) = meaning(&rest[at..]).unwrap_or((mark.len_utf8(), mark.to_string()));
        out.push_str(&meant);
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// What an entity stands for.
fn entity(name: &str) -> Option<String> {
    if name.starts_with('#') {
        return numbered_character(name).map(String::from);
    }
    if let Some(sign) = sign(name) {
        // `&o;` and `&l;` are commands of LaTeX only.
        return (name.len() > 1).then(|| sign.to_owned());
    }
    if let Some(letter) = greek(name) {
        return Some(letter.to_owned());
    }
    for (ending, accent) in pairs(ENTITY_ACCENTS) {
        if let Some(letter) = name.strip_suffix(ending)
            && letter.len() == 1
        {
            return Some(format!("{letter}{accent}"));
        }
    }
    None
}

/// The letter or mark of this name in LaTeX or HTML.
fn sign(name: &str) -> Option<&'static str> {
    match name {
        "shy" => Some(""),
        _ if SPACES.contains(&name) => Some(" "),
        _ => second_of(SIGNS, name),
    }
}

/// The Greek letter of this name in LaTeX or HTML.
fn greek(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix("var").unwrap_or(name);
    second_of(GREEK, &name.to_lowercase())
}

/// The length of the tag with which a text begins; `None` if it begins with none.
fn tag_length(text: &str) -> Option<usize> {
    let head = &text[..text.floor_char_boundary(TAG_BYTES)];
    let end = head.find('>')?;
    let inside = head[1..end].trim_start_matches('/');
    let name = inside.split([' ', '/']).next().unwrap_or_default();
    // `jats:italic`, `mml:math`.
    let is_prefixed = name.contains(':') && !name.contains(|c: char| c.is_whitespace());
    let is_element = ELEMENTS
        .iter()
        .any(|element| name.eq_ignore_ascii_case(element));
    (is_element || is_prefixed).then_some(end + 1)
}

/// The text without LaTeX.
fn without_latex(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match first {
            '\\' => rest = take_command(&rest[1..], &mut out),
            '{' | '}' | '$' => rest = &rest[1..],
            '~' => {
                out.push(' ');
                rest = &rest[1..];
            }
            _ => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}

/// Takes the command behind a backslash; gives what follows it.
fn take_command<'a>(text: &'a str, out: &mut String) -> &'a str {
    let letters = text
        .bytes()
        .take(NAME_BYTES)
        .take_while(u8::is_ascii_alphabetic)
        .count();
    let length = match text.chars().next() {
        _ if letters > 0 => letters,
        Some(mark) => mark.len_utf8(),
        None => return "",
    };
    let name = &text[..length];
    let rest = &text[length..];
    if let Some(accent) = second_of(ACCENTS, name)
        && let Some(rest) = take_accented(rest, accent, letters > 0, out)
    {
        return rest;
    }
    if let Some(sign) = sign(name) {
        out.push_str(sign);
        // The space behind `\o` ends the command.
        return rest.strip_prefix(' ').unwrap_or(rest);
    }
    if let Some(letter) = greek(name) {
        out.push_str(letter);
        return rest;
    }
    if letters == 0 {
        // `\&`, `\%`, `\_`: the mark itself. `\\` and `\,` are spaces.
        let mark = if matches!(name, "\\" | "," | ";" | " " | "/") {
            " "
        } else {
            name
        };
        out.push_str(mark);
        return rest;
    }
    // `\emph{..}`, `\textit ..`: what it is put around stays.
    out.push(' ');
    rest
}

/// Takes the letter behind an accent; `None` if there is none.
fn take_accented<'a>(
    text: &'a str,
    accent: &str,
    is_word: bool,
    out: &mut String,
) -> Option<&'a str> {
    let inside = text.trim_start_matches(' ');
    // `\c c` and `\c{c}` put an accent, `\cite` is another command, which was read whole.
    if is_word && inside.len() == text.len() && !text.starts_with(['{', '\\']) {
        return None;
    }
    let inside = inside.trim_start_matches('{');
    // `\'{\i}`, `\'\i`.
    let dotless = inside.strip_prefix('\\');
    let inside = dotless.unwrap_or(inside);
    let letter = inside.chars().next().filter(|c| c.is_alphabetic())?;
    out.push(letter);
    out.push_str(accent);
    let rest = &inside[letter.len_utf8()..];
    Some(match dotless {
        Some(_) => rest.strip_prefix(' ').unwrap_or(rest),
        None => rest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::folded;

    #[test]
    fn latex_and_html_are_taken_off() {
        for (marked, expected) in [
            ("K{\\\"u}bler", "kubler"),
            ("K\\\"{u}bler", "kubler"),
            ("Sm\\o rgas", "smorgas"),
            ("S{\\o}ren", "soren"),
            ("Fran\\c{c}ois", "francois"),
            ("Mart\\'{\\i}nez", "martinez"),
            ("Mart\\'\\i nez", "martinez"),
            ("{\\L}ukasz", "lukasz"),
            ("Wei\\ss", "weiss"),
            ("Flash{A}ttention", "flashattention"),
            ("\\emph{Drosophila} wings", "drosophila wings"),
            ("A $\\varepsilon$-accurate", "a epsilon accurate"),
            (
                "<i>E. coli</i> at p<0.05 &amp; n&gt;3",
                "e coli at p 0 05 n 3",
            ),
            ("CO<sub>2</sub> and CO₂", "co2 and co2"),
            ("&amp;lt;i&amp;gt;Bos&amp;lt;/i&amp;gt;", "bos"),
            ("D&apos;Hondt, d’Amore", "dhondt damore"),
            (
                "Ma&ntilde;ana &Uuml;ber &#252;ber &#xfc;ber",
                "manana uber uber uber",
            ),
            ("<jats:italic>Mus</jats:italic>", "mus"),
            ("50\\% of R\\&D", "50 of r d"),
            ("Jane~Doe", "jane doe"),
        ] {
            assert_eq!(folded(marked), expected, "{marked}");
        }
    }

    #[test]
    fn hostile_markup_ends() {
        for text in [
            "\\",
            "{",
            "&",
            "<",
            "&#x110000;",
            "\\'",
            "\\c",
            "&;",
            "<i",
            "\\\u{e9}",
        ] {
            let _ = plain(&text.repeat(3000));
        }
        assert_eq!(plain("line\n break"), "line break");
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_a_plain_form(text in "[\\\\{}$&<>;#a-z'\" é]{0,60}") {
            let _ = plain(&text);
        }
    }
}

//! The text of a page: what a reader sees, without markup, scripts and styles.
//!
//! The tokens of HTML are turned into text one after the other. No tree is built, so that a hundred thousand nested tags or
//! fifty megabytes are a matter of time only. Nothing is cut away as "boilerplate": a sentence may be supported by a table
//! or a side bar.
//!
//! Numbers are those of the page: what a browser sets apart by its place (exponents, footnotes, fractions, boxes next to each
//! other) is set apart by a sign or a space, since 10 with a raised 6 is not 106.

use std::borrow::Cow;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use super::math::OpenFormula;

/// The longest text of a page, in bytes: some 500,000 tokens, twice what a judge is ever shown of one page.
pub(super) const TEXT_BYTES: usize = 2 << 20;

/// The stroke of fractions such as 1⁄2.
const FRACTION_SLASH: char = '\u{2044}';

/// What is kept of titles, comments and text for browsers without scripts, in bytes.
const SHORT_BYTES: usize = 4096;

/// What a page shows, and what it says about itself.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PageText {
    pub(super) title: String,
    pub(super) text: String,
    /// The text for browsers without scripts.
    pub(super) noscript: String,
    /// The address that the page gives for itself.
    pub(super) canonical: Option<String>,
    /// The first comment: tools that save pages write the address there.
    pub(super) comment: String,
    /// Whether the text is longer than [`TEXT_BYTES`]; it is cut then.
    pub(super) is_too_long: bool,
}

/// Reads HTML.
pub(super) fn html_text(html: &str) -> PageText {
    let mut reader = TextReader::default();
    let mut emitter =
        CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| reader.read(event));
    emitter.naively_switch_states(true);
    // The only value comes when the text is too long; then the rest is not looked at.
    let _ = Tokenizer::new_with_emitter(html, emitter).next();
    reader.end_note();
    reader.page
}

/// White space that is due before the next word, the larger one wins.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    /// A space where two digits meet.
    Digits,
    Space,
    Cell,
    Line,
    Paragraph,
}

impl Gap {
    fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Digits | Self::Space => " ",
            Self::Cell => " | ",
            Self::Line => "\n",
            Self::Paragraph => "\n\n",
        }
    }
}

/// Where the text between tags goes.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Body,
    Title,
    Noscript,
    /// Not shown, until the end of the element of this name, of which so many are open.
    Hidden(&'static str, usize),
}

/// Elements whose text is not shown. An annotation repeats its formula in another form.
const HIDDEN: &str = "script style template svg iframe object noframes annotation annotation-xml";

/// Elements that renderers of formulas hide from screen readers next to the MathML that these read.
const DRAWN: [&str; 2] = ["span", "nobr"];

/// Hidden elements that also end where text of the page begins, since their end tags are sometimes missing.
const WITHIN_LINES: [&str; 5] = ["svg", "annotation", "annotation-xml", "span", "nobr"];

/// How the next word is set.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Script {
    #[default]
    No,
    /// At the end of a word: an exponent, an ordinal (`1st`), a footnote.
    Up,
    /// At the beginning of a word: the number of an isotope, of a footnote.
    UpFirst,
    /// A link to a footnote.
    Note,
    /// Below the line.
    Down,
}

#[derive(Debug, Default)]
struct TextReader {
    page: PageText,
    place: Place,
    gap: Gap,
    /// Whether a list item begins with the next word.
    is_item: bool,
    /// Open `pre` elements: their white space is text.
    preformatted: usize,
    /// The start tag that is being read.
    tag: StartTag,
    attribute: TagAttribute,
    raised: Script,
    /// Where the sign of the last exponent is in the text: the exponent may turn out to be a numerator.
    exponent: Option<usize>,
    /// Whether the number of a footnote is open in brackets.
    is_note: bool,
    /// Where the open link begins in the text.
    link: Option<usize>,
    formula: OpenFormula,
    /// A sign of a formula that is due before the next word.
    sign: &'static str,
    /// Where the last formula ends in the text.
    formula_end: Option<usize>,
    /// The element that is a box by its style or role.
    boxed: Option<OpenBox>,
}

/// What of a start tag matters.
#[derive(Debug, Default)]
struct StartTag {
    name: Vec<u8>,
    is_canonical: bool,
    address: String,
    /// Whether it begins a template that is shown (`shadowrootmode`).
    is_shadow_root: bool,
    is_aria_hidden: bool,
    /// The white space that its style or role makes.
    gap: Gap,
}

/// An element that is a box by its style or role: its end is as visible as its start.
#[derive(Debug)]
struct OpenBox {
    name: Vec<u8>,
    /// The open elements of this name.
    open: usize,
    gap: Gap,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TagAttribute {
    #[default]
    Other,
    /// `rel` of a link, `property` of a `meta`.
    Relation,
    /// `href` of a link, `content` of a `meta`.
    Address,
    AriaHidden,
    Role,
    Style,
}

impl TextReader {
    /// Takes an event; a value if the rest does not matter.
    fn read(&mut self, event: CallbackEvent<'_>) -> Option<()> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = StartTag {
                    name: name.to_vec(),
                    ..StartTag::default()
                };
            }
            CallbackEvent::AttributeName { name } => self.attribute(name),
            CallbackEvent::AttributeValue { value } => self.value(value),
            CallbackEvent::CloseStartTag { self_closing } => self.start(self_closing),
            CallbackEvent::EndTag { name } => self.end(name),
            CallbackEvent::String { value } => self.text(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { value } if self.page.comment.is_empty() => {
                push_short(&mut self.page.comment, &String::from_utf8_lossy(value));
            }
            _ => {}
        }
        self.page.is_too_long.then_some(())
    }

    fn attribute(&mut self, name: &[u8]) {
        self.attribute = match name {
            b"rel" | b"property" => TagAttribute::Relation,
            b"href" | b"content" => TagAttribute::Address,
            b"aria-hidden" => TagAttribute::AriaHidden,
            b"role" => TagAttribute::Role,
            b"style" => TagAttribute::Style,
            _ => TagAttribute::Other,
        };
        self.tag.is_shadow_root |= matches!(name, b"shadowrootmode" | b"shadowroot");
    }

    fn value(&mut self, value: &[u8]) {
        match self.attribute {
            TagAttribute::Relation => {
                let is_canonical = value.eq_ignore_ascii_case(b"canonical") || value == b"og:url";
                self.tag.is_canonical |= is_canonical;
            }
            TagAttribute::Address => {
                self.tag.address.clear();
                push_short(&mut self.tag.address, &String::from_utf8_lossy(value));
            }
            TagAttribute::AriaHidden => {
                self.tag.is_aria_hidden = value.eq_ignore_ascii_case(b"true");
            }
            TagAttribute::Role => self.tag.gap = self.tag.gap.max(gap_of_role(value)),
            TagAttribute::Style => self.tag.gap = self.tag.gap.max(gap_of_style(value)),
            TagAttribute::Other => {}
        }
    }

    /// Takes a start tag with its attributes.
    fn start(&mut self, is_self_closing: bool) {
        let tag = std::mem::take(&mut self.tag);
        let name = tag.name.as_slice();
        self.note_address(&tag);
        let gap = gap_of(name).max(tag.gap);
        if let Place::Hidden(hidden, open) = &mut self.place {
            let is_within_lines = WITHIN_LINES.contains(hidden);
            if is_within_lines && gap >= Gap::Cell {
                self.place = Place::Body;
            } else if name == hidden.as_bytes() && !(is_within_lines && is_self_closing) {
                *open += 1;
            }
        }
        if self.place != Place::Body {
            return;
        }
        if gap >= Gap::Cell {
            self.end_note();
            // The end of a formula may be missing; its tables are within it.
            if !matches!(name, b"mtr" | b"mtd") {
                self.formula = OpenFormula::default();
            }
        }
        self.gap = self.gap.max(gap);
        self.open_box(&tag);
        if let Some(hidden) = self.hidden_by(&tag) {
            if !(is_self_closing && WITHIN_LINES.contains(&hidden)) {
                self.place = Place::Hidden(hidden, 1);
            }
            return;
        }
        if !(is_self_closing && self.formula.is_open()) {
            let sign = self.formula.start(name);
            if !sign.is_empty() {
                self.sign = sign;
            }
        }
        match name {
            b"li" => self.is_item = true,
            b"pre" => self.preformatted += 1,
            b"title" if self.page.title.is_empty() => self.place = Place::Title,
            b"noscript" => self.place = Place::Noscript,
            b"sup" => self.raise(),
            b"sub" => self.raised = Script::Down,
            b"a" => {
                self.link = Some(self.page.text.len());
                if matches!(self.raised, Script::Up | Script::UpFirst) {
                    self.raised = Script::Note;
                }
            }
            _ => {}
        }
    }

    fn note_address(&mut self, tag: &StartTag) {
        let is_link = matches!(tag.name.as_slice(), b"link" | b"meta");
        if is_link && tag.is_canonical && !tag.address.is_empty() && self.page.canonical.is_none() {
            self.page.canonical = Some(tag.address.clone());
        }
    }

    /// Notes where a box begins, and the elements of its name within it.
    fn open_box(&mut self, tag: &StartTag) {
        match &mut self.boxed {
            Some(boxed) if boxed.name == tag.name => boxed.open += 1,
            // The ends of blocks are seen anyway, and an image has none.
            None if tag.gap > Gap::None && gap_of(&tag.name) == Gap::None => {
                self.boxed = Some(OpenBox {
                    name: tag.name.clone(),
                    open: 1,
                    gap: tag.gap,
                });
            }
            _ => {}
        }
    }

    fn close_box(&mut self, name: &[u8]) {
        let Some(boxed) = self.boxed.as_mut().filter(|boxed| boxed.name == name) else {
            return;
        };
        boxed.open -= 1;
        if boxed.open == 0 {
            self.gap = self.gap.max(boxed.gap);
            self.boxed = None;
        }
    }

    /// The name of the element, if it is not shown.
    fn hidden_by(&self, tag: &StartTag) -> Option<&'static str> {
        let name = tag.name.as_slice();
        // KaTeX draws a formula behind its MathML, MathJax before it.
        let is_behind = self.formula_end == Some(self.page.text.len());
        let is_drawn = tag.is_aria_hidden && (is_behind || name == b"nobr");
        let drawn = DRAWN.into_iter().filter(|_| is_drawn);
        let is_shown = name == b"template" && tag.is_shadow_root;
        let mut hidden = HIDDEN.split(' ').filter(|_| !is_shown).chain(drawn);
        hidden.find(|hidden| hidden.as_bytes() == name)
    }

    /// Begins something raised.
    fn raise(&mut self) {
        let is_in_word = self.gap < Gap::Space && !self.page.text.is_empty();
        self.raised = if self.link == Some(self.page.text.len()) {
            Script::Note
        } else if is_in_word {
            Script::Up
        } else {
            Script::UpFirst
        };
    }

    fn end_note(&mut self) {
        if std::mem::take(&mut self.is_note) {
            self.page.text.push(']');
        }
    }

    fn end(&mut self, name: &[u8]) {
        match &mut self.place {
            Place::Body => {}
            Place::Title if name == b"title" => self.place = Place::Body,
            Place::Noscript if name == b"noscript" => self.place = Place::Body,
            Place::Hidden(hidden, open) if name == hidden.as_bytes() => {
                *open -= 1;
                if *open == 0 {
                    self.place = Place::Body;
                }
                return;
            }
            // A formula ends its annotations.
            Place::Hidden("annotation" | "annotation-xml", _) if name == b"math" => {
                self.place = Place::Body;
            }
            _ => return,
        }
        self.gap = self.gap.max(gap_of(name));
        self.close_box(name);
        self.formula.end(name);
        match name {
            b"pre" => self.preformatted = self.preformatted.saturating_sub(1),
            b"sup" | b"sub" => {
                self.raised = Script::No;
                self.end_note();
                self.gap = self.gap.max(Gap::Digits);
            }
            b"a" => self.link = None,
            b"math" => {
                self.sign = "";
                self.formula_end = Some(self.page.text.len());
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        match self.place {
            Place::Body if self.preformatted > 0 => self.push_lines(text),
            Place::Body => self.push_words(text),
            Place::Title => push_short(&mut self.page.title, &spaced(text)),
            Place::Noscript => push_short(&mut self.page.noscript, &without_tags(text)),
            Place::Hidden(..) => {}
        }
    }

    /// Adds words, with one space in place of any white space.
    fn push_words(&mut self, text: &str) {
        // White space around what is raised, or between the elements of a formula, is not shown.
        let is_layout = self.formula.is_open() && text.trim_matches(is_blank).is_empty();
        let is_spaced = self.raised == Script::No && !is_layout;
        if text.starts_with(is_blank) && is_spaced {
            self.gap = self.gap.max(Gap::Space);
        }
        for (at, word) in text
            .split(is_blank)
            .filter(|word| !word.is_empty())
            .enumerate()
        {
            if at > 0 {
                self.gap = self.gap.max(Gap::Space);
            }
            self.push(word);
        }
        if text.ends_with(is_blank) && is_spaced {
            self.gap = self.gap.max(Gap::Space);
        }
    }

    /// Adds lines with the white space within them.
    fn push_lines(&mut self, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.gap = self.gap.max(Gap::Line);
            }
            let line = line.trim_end();
            if !line.is_empty() {
                self.push(line);
            }
        }
    }

    fn push(&mut self, text: &str) {
        let is_over = text.starts_with(FRACTION_SLASH);
        let text: Cow<'_, str> = if text.contains(FRACTION_SLASH) {
            text.replace(FRACTION_SLASH, "/").into()
        } else {
            text.into()
        };
        let sign = std::mem::take(&mut self.sign);
        let mut gap = std::mem::take(&mut self.gap);
        if matches!(sign, "^" | "_" | "/") {
            gap = Gap::None;
        }
        let raised = std::mem::take(&mut self.raised);
        let raised_mark = self.mark_of(raised, gap, &text);
        if is_over || raised == Script::Down && self.page.text.ends_with('/') {
            self.divide();
        }
        let out = &mut self.page.text;
        let mark = if raised_mark.is_empty() {
            sign
        } else {
            raised_mark
        };
        let is_gap = gap != Gap::Digits || mark.is_empty() && digits_meet(out, &text);
        if is_gap && !out.is_empty() {
            out.push_str(gap.text());
        }
        if raised_mark == "^" {
            self.exponent = Some(out.len());
        }
        self.is_note |= raised_mark.ends_with('[');
        out.push_str(mark);
        if std::mem::take(&mut self.is_item) {
            out.push_str("- ");
        }
        let room = TEXT_BYTES.saturating_sub(out.len());
        if text.len() > room {
            out.push_str(&text[..text.floor_char_boundary(room)]);
            self.page.is_too_long = true;
        } else {
            out.push_str(&text);
        }
    }

    /// What is written before a word that is raised or lowered.
    fn mark_of(&self, raised: Script, gap: Gap, text: &str) -> &'static str {
        let out = &self.page.text;
        let is_power = |c: char| c.is_alphanumeric() || matches!(c, ')' | ']' | '}');
        let is_in_word = gap < Gap::Space && !out.is_empty();
        match raised {
            Script::Down if is_in_word && digits_meet(out, text) => "_",
            Script::Up if !is_number(text) => "",
            Script::Up if is_in_word && out.ends_with(is_power) => "^",
            // Behind a stop or a quotation mark, a number is a footnote, too.
            Script::Up | Script::Note if text.starts_with(['[', '(']) => "",
            Script::Up | Script::Note if is_in_word => " [",
            Script::Up | Script::Note => "[",
            Script::No | Script::UpFirst | Script::Down => "",
        }
    }

    /// What seemed to be an exponent is the numerator of a fraction: 3 and 1/2.
    fn divide(&mut self) {
        let out = &mut self.page.text;
        let Some(sign) = self.exponent.take() else {
            return;
        };
        let behind = out[sign + 1..].trim_end_matches('/');
        if behind.chars().all(char::is_numeric) {
            out.replace_range(sign..=sign, " ");
        }
    }
}

/// White space of HTML, the spaces that pages use to lay out text, and the invisible operators of formulas.
fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace()
        || matches!(
            c,
            '\u{a0}' | '\u{200b}' | '\u{feff}' | '\u{2061}'..='\u{2064}'
        )
}

/// Whether a text would continue the number at the end of another one.
fn digits_meet(before: &str, text: &str) -> bool {
    before.ends_with(char::is_numeric) && text.starts_with(char::is_numeric)
}

/// Whether a text begins as a number.
fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-', '−', '–']);
    digits.starts_with(char::is_numeric)
}

/// The white space that the start or end of an element makes. Only elements that style letters leave two digits together.
fn gap_of(name: &[u8]) -> Gap {
    match name {
        b"p" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"ul" | b"ol" | b"dl" | b"table"
        | b"section" | b"article" | b"blockquote" | b"pre" | b"figure" | b"form" | b"header"
        | b"footer" | b"nav" | b"main" | b"aside" | b"details" | b"fieldset" => Gap::Paragraph,
        b"div" | b"li" | b"tr" | b"dt" | b"dd" | b"br" | b"hr" | b"option" | b"caption"
        | b"figcaption" | b"summary" | b"address" | b"legend" | b"center" | b"menu" | b"dialog"
        | b"mtr" => Gap::Line,
        b"td" | b"th" | b"mtd" => Gap::Cell,
        b"mspace" => Gap::Space,
        b"span" | b"b" | b"i" | b"em" | b"strong" | b"u" | b"font" | b"mark" | b"small"
        | b"big" | b"tt" | b"code" | b"var" | b"kbd" | b"samp" | b"dfn" | b"abbr" | b"bdi"
        | b"bdo" | b"nobr" | b"wbr" | b"sup" | b"sub" => Gap::None,
        _ => Gap::Digits,
    }
}

/// The white space of an element that has the role of another one.
fn gap_of_role(role: &[u8]) -> Gap {
    match role.to_ascii_lowercase().as_slice() {
        b"cell" | b"gridcell" | b"columnheader" | b"rowheader" => Gap::Cell,
        b"row" | b"listitem" | b"option" => Gap::Line,
        _ => Gap::None,
    }
}

/// The white space of an element that its style sets as a box.
fn gap_of_style(style: &[u8]) -> Gap {
    let style = String::from_utf8_lossy(style).to_ascii_lowercase();
    let mut rules = style.rsplit(';').filter_map(|rule| rule.split_once(':'));
    let display = rules.find(|(name, _)| name.trim() == "display");
    match display.map_or("", |(_, value)| value.trim()) {
        "" | "inline" | "none" | "contents" => Gap::None,
        "table-cell" => Gap::Cell,
        value if value.starts_with("inline") => Gap::Digits,
        _ => Gap::Line,
    }
}

/// Adds as much of a text as short parts may have.
fn push_short(out: &mut String, text: &str) {
    let room = SHORT_BYTES.saturating_sub(out.len());
    out.push_str(&text[..text.floor_char_boundary(room)]);
}

/// The text with one space in place of any white space.
pub(super) fn spaced(text: &str) -> String {
    let words: Vec<&str> = text
        .split(is_blank)
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

/// The text of an element that the tokenizer does not look into.
fn without_tags(html: &str) -> String {
    let mut text = String::new();
    for (at, part) in html.split('<').enumerate() {
        let shown = if at == 0 {
            part
        } else {
            part.split_once('>').map_or("", |(_, shown)| shown)
        };
        text.push_str(shown);
        text.push(' ');
    }
    spaced(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        html_text(html).text
    }

    #[test]
    fn the_text_is_what_a_reader_sees() {
        let html = "<!doctype html><!-- saved by a tool --><html><head><title>Ice &amp; \n snow</title>\
                    <link rel=canonical href=https://example.org/ice><style>p { color: red }</style></head>\
                    <body><nav><a href=/>Home</a></nav><h1>Sea  ice</h1><p>It <b>shrank</b> by\n13&nbsp;%.</p>\
                    <ul><li>one</li><li>two</ul><table><tr><th>year<th>area<tr><td>1979<td>7.2</table>\
                    <script>if (a < b) document.write('<p>no')</script><svg><title>icon</title><text>no</text></svg>\
                    <pre>a = 1\n  b = 2\n</pre><noscript><p>Turn on <b>scripts</b></p></noscript>end<template>no</template>";
        let page = html_text(html);
        assert_eq!(page.title, "Ice & snow");
        assert_eq!(page.canonical.as_deref(), Some("https://example.org/ice"));
        assert_eq!(page.comment, " saved by a tool ");
        assert_eq!(page.noscript, "Turn on scripts");
        let expected = "Home\n\nSea ice\n\nIt shrank by 13 %.\n\n- one\n- two\n\nyear | area\n1979 | 7.2\n\na = 1\n  b = 2\n\nend";
        assert_eq!(page.text, expected);
    }

    #[test]
    fn markup_without_its_end_hides_nothing_of_the_page() {
        assert_eq!(text("<svg><path d=x><p>shown"), "shown");
        assert_eq!(text("<p>a<p>b</div></div></b>c"), "a\n\nb\nc");
        assert_eq!(text("<pre>a</pre></pre> b  c"), "a\n\nb c");
        assert_eq!(
            text("a &lt;b&gt; &#x41;&eacute; &nosuch; <"),
            "a <b> Aé &nosuch; <"
        );
    }

    #[test]
    fn a_raised_number_is_an_exponent_a_footnote_or_a_numerator_and_no_digit() {
        for (html, expected) in [
            ("10<sup>6</sup> cells", "10^6 cells"),
            ("10<sup>-6</sup>, 10<sup>−6</sup>", "10^-6, 10^−6"),
            ("5 × 10<sup> 6 </sup>m<sup>2</sup>", "5 × 10^6m^2"),
            ("(a+b)<sup>2</sup>3", "(a+b)^2 3"),
            ("the 1<sup>st</sup> of x<sup>n</sup>", "the 1st of xn"),
            (
                "<sup>14</sup>C and <sup>14</sup><sub>6</sub>C",
                "14C and 14_6C",
            ),
            (
                "CO<sub>2</sub>, C<sub>6</sub>H<sub>12</sub>O<sub>6</sub>",
                "CO2, C6H12O6",
            ),
            (
                "log<sub>10</sub>100 and 101<sub>2</sub>",
                "log10 100 and 101_2",
            ),
            (
                "1,200<sup><a href=#n3>3</a></sup> people",
                "1,200 [3] people",
            ),
            (
                "1,200<a href=#n3><sup>3</sup></a> people",
                "1,200 [3] people",
            ),
            (
                "in 2016<sup id=x class=reference><a href=#y><span>[</span>1<span>]</span></a></sup>.",
                "in 2016[1].",
            ),
            ("in 2016<sup>1</sup>", "in 2016^1"),
            (
                "It rose.<sup>12</sup> It fell by 5%<sup>3</sup>",
                "It rose. [12] It fell by 5% [3]",
            ),
            (
                "7<sup><a>1</a>,<a>2</a></sup><sup><a>b</a></sup>",
                "7 [1,2] [b]",
            ),
            ("7<sup><a>1</a><p>next<sup><a>2", "7 [1]\n\nnext [2]"),
            ("<sup>1</sup>&frasl;<sub>2</sub> cup", "1/2 cup"),
            ("3<sup>1</sup>&frasl;<sub>2</sub> cups", "3 1/2 cups"),
            ("3<sup>1</sup>/<sub>2</sub> cups", "3 1/2 cups"),
            ("3 <sup>1</sup>&frasl;<sub>2</sub>5", "3 1/2 5"),
            ("10<sup>6</sup>/ml", "10^6/ml"),
            ("1&frasl;2", "1/2"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn numbers_next_to_each_other_stay_two_and_the_letters_of_one_stay_one() {
        for (html, expected) in [
            ("<td>12</td><td>34</td>", "12 | 34"),
            ("<a>12</a><a>34</a>", "12 34"),
            ("<my-cell>12</my-cell><my-cell>34</my-cell>", "12 34"),
            ("<button>12</button>34<label>56</label>", "12 34 56"),
            ("<del>100</del><ins>80</ins>", "100 80"),
            (
                "<span role=cell>12</span><span role=cell>34</span>",
                "12 | 34",
            ),
            (
                "<span style='display: inline-block'>12</span><span style='DISPLAY:inline-flex'>34</span>56",
                "12 34 56",
            ),
            (
                "<span style='color:red;display:block'>12</span>34",
                "12\n34",
            ),
            (
                "<span style='display:table-cell'>12</span><span style='display:table-cell'>a</span>",
                "12 | a",
            ),
            (
                "<span style='display:inline'>12</span><b>3</b><span>,</span>4<small>5</small>",
                "123,45",
            ),
            ("<my-x>a</my-x><my-x>b</my-x>", "ab"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn a_formula_is_read_once_and_with_its_signs() {
        let math = |inner: &str| {
            text(&format!(
                "<p>of <math><semantics>{inner}<annotation encoding='application/x-tex'>77</annotation></semantics></math>5"
            ))
        };
        for (inner, expected) in [
            ("<msup><mn>10</mn><mn>6</mn></msup>", "of 10^6 5"),
            (
                "<msup>\n <mn>10</mn>\n <mrow><mo>-</mo><mn>6</mn></mrow>\n</msup>",
                "of 10^-6 5",
            ),
            (
                "<mn>3</mn><mfrac><mn>1</mn><mn>2</mn></mfrac>",
                "of 3 1/2 5",
            ),
            (
                "<msub><mi>x</mi><mn>1</mn></msub><mo>=</mo><msqrt><mn>2</mn></msqrt>",
                "of x_1=√2 5",
            ),
            (
                "<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup>",
                "of x_1^2 5",
            ),
            ("<mn>2</mn><mo>&#x2062;</mo><mn>3</mn>", "of 2 3 5"),
            ("<mn>1</mn><mo>,</mo><mn>200</mn>", "of 1,200 5"),
            (
                "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr></mtable>",
                "of\n1 | 2\n5",
            ),
            (
                "<mn>1</mn><annotation-xml encoding=MathML-Content><apply><cn>1</cn></apply></annotation-xml>",
                "of 1 5",
            ),
        ] {
            assert_eq!(math(inner), expected, "{inner}");
        }
        let katex = "<span class=katex><span class=katex-mathml><math><msup><mn>10</mn><mn>6</mn></msup></math></span>\
                     <span class=katex-html aria-hidden=true><span>10<span>6</span></span></span></span> cells";
        assert_eq!(text(katex), "10^6 cells");
        let mathjax = "<nobr aria-hidden=true>10<span>6</span></nobr><span><math><msup><mn>10</mn><mn>6</mn></msup></math></span>";
        assert_eq!(text(mathjax), "10^6");
        assert_eq!(text("<span aria-hidden=true>shown</span>"), "shown");
        let unclosed = "<math><annotation>no<p>shown<math><annotation>no</math> too";
        assert_eq!(text(unclosed), "shown too");
        assert_eq!(text("<math><mn>1<p><b>a</b> <b>b</b>"), "1\n\na b");
        let deep = format!(
            "<math>{}1{}</math>2",
            "<mrow>".repeat(5_000),
            "</mrow>".repeat(5_000)
        );
        assert_eq!(text(&deep), "1 2");
    }

    #[test]
    fn shadow_roots_are_shown_and_other_templates_are_not() {
        let page = "<x-a><template shadowrootmode=open><p>in<template>no<template>no</template>no</template></template></x-a> out";
        assert_eq!(text(page), "in out");
        assert_eq!(
            text("a<template shadowrootmode='closed'>b</template>"),
            "ab"
        );
        assert_eq!(text("a<svg/>b<svg><svg></svg>no</svg>c"), "abc");
    }

    #[test]
    fn a_hundred_thousand_nested_tags_are_read() {
        let depth = 100_000;
        let html = format!(
            "{}deep{}",
            "<div><b>".repeat(depth),
            "</b></div>".repeat(depth)
        );
        assert_eq!(text(&html), "deep");
        let html = "<a ".repeat(depth) + "x=1>text";
        assert_eq!(text(&html), "text");
    }

    #[test]
    fn a_text_beyond_the_limit_is_cut_and_says_so() {
        let html = "<p>ééé ".repeat(TEXT_BYTES / 6);
        let page = html_text(&html);
        assert!(
            page.is_too_long && page.text.len() <= TEXT_BYTES && page.text.len() > TEXT_BYTES - 8
        );
        assert!(!html_text("<p>ééé ").is_too_long);
        let long_word = "x".repeat(3 * TEXT_BYTES);
        assert!(html_text(&long_word).is_too_long);
    }

    proptest::proptest! {
        #[test]
        fn no_markup_breaks_the_reader(html in "(<[a-z/!?-]{0,8}[ =\"'>]|&[a-z#0-9]{0,4};?|[a-zé \n<>])*") {
            let page = html_text(&html);
            proptest::prop_assert!(!page.text.starts_with('\n') && !page.text.ends_with(' '));
        }
    }
}

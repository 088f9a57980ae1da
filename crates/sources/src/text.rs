//! The text of a page: what a reader sees, without markup, scripts and styles.
//!
//! The tokens of HTML are turned into text one after the other. No tree is built, so that a hundred thousand nested tags or
//! fifty megabytes are a matter of time only. Nothing is cut away as "boilerplate": a sentence may be supported by a table
//! or a side bar.

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

/// The longest text of a page, in bytes: some 500,000 tokens, twice what a judge is ever shown of one page.
pub(super) const TEXT_BYTES: usize = 2 << 20;

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
    reader.page
}

/// White space that is due before the next word, the larger one wins.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Space,
    Cell,
    Line,
    Paragraph,
}

impl Gap {
    fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Space => " ",
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
    /// Not shown, until the end of the element of this name.
    Hidden(&'static str),
}

/// Elements whose text is not shown. Of these `svg` also ends where text of the page begins, since its end tag is
/// sometimes missing.
const HIDDEN: [&str; 7] = [
    "script", "style", "template", "svg", "iframe", "object", "noframes",
];

#[derive(Debug, Default)]
struct TextReader {
    page: PageText,
    place: Place,
    gap: Gap,
    /// Whether a list item begins with the next word.
    is_item: bool,
    /// Open `pre` elements: their white space is text.
    preformatted: usize,
    /// The start tag that is being read, if its attributes matter.
    tag: LinkTag,
    attribute: LinkAttribute,
}

/// A tag that may name the address of the page.
#[derive(Debug, Default)]
struct LinkTag {
    is_link: bool,
    is_canonical: bool,
    address: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum LinkAttribute {
    #[default]
    Other,
    /// `rel` of a link, `property` of a `meta`.
    Relation,
    /// `href` of a link, `content` of a `meta`.
    Address,
}

impl TextReader {
    /// Takes an event; a value if the rest does not matter.
    fn read(&mut self, event: CallbackEvent<'_>) -> Option<()> {
        match event {
            CallbackEvent::OpenStartTag { name } => self.start(name),
            CallbackEvent::AttributeName { name } => self.attribute = attribute(name),
            CallbackEvent::AttributeValue { value } => self.value(value),
            CallbackEvent::CloseStartTag { .. } => self.close_tag(),
            CallbackEvent::EndTag { name } => self.end(name),
            CallbackEvent::String { value } => self.text(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { value } if self.page.comment.is_empty() => {
                push_short(&mut self.page.comment, &String::from_utf8_lossy(value));
            }
            _ => {}
        }
        self.page.is_too_long.then_some(())
    }

    fn start(&mut self, name: &[u8]) {
        self.tag = LinkTag {
            is_link: matches!(name, b"link" | b"meta"),
            ..LinkTag::default()
        };
        let gap = gap_of(name);
        if self.place == Place::Hidden("svg") && gap > Gap::None {
            self.place = Place::Body;
        }
        if self.place != Place::Body {
            return;
        }
        self.gap = self.gap.max(gap);
        match name {
            b"li" => self.is_item = true,
            b"pre" => self.preformatted += 1,
            b"title" if self.page.title.is_empty() => self.place = Place::Title,
            b"noscript" => self.place = Place::Noscript,
            _ => {
                let hidden = HIDDEN.iter().find(|hidden| hidden.as_bytes() == name);
                if let Some(hidden) = hidden {
                    self.place = Place::Hidden(hidden);
                }
            }
        }
    }

    fn end(&mut self, name: &[u8]) {
        let closes = match self.place {
            Place::Body => false,
            Place::Title => name == b"title",
            Place::Noscript => name == b"noscript",
            Place::Hidden(hidden) => name == hidden.as_bytes(),
        };
        if closes {
            self.place = Place::Body;
        }
        if self.place != Place::Body {
            return;
        }
        self.gap = self.gap.max(gap_of(name));
        if name == b"pre" {
            self.preformatted = self.preformatted.saturating_sub(1);
        }
    }

    fn value(&mut self, value: &[u8]) {
        if !self.tag.is_link {
            return;
        }
        match self.attribute {
            LinkAttribute::Relation => {
                let is_canonical = value.eq_ignore_ascii_case(b"canonical") || value == b"og:url";
                self.tag.is_canonical |= is_canonical;
            }
            LinkAttribute::Address => {
                self.tag.address.clear();
                push_short(&mut self.tag.address, &String::from_utf8_lossy(value));
            }
            LinkAttribute::Other => {}
        }
    }

    fn close_tag(&mut self) {
        let tag = std::mem::take(&mut self.tag);
        if tag.is_canonical && !tag.address.is_empty() && self.page.canonical.is_none() {
            self.page.canonical = Some(tag.address);
        }
    }

    fn text(&mut self, text: &str) {
        match self.place {
            Place::Body if self.preformatted > 0 => self.push_lines(text),
            Place::Body => self.push_words(text),
            Place::Title => push_short(&mut self.page.title, &spaced(text)),
            Place::Noscript => push_short(&mut self.page.noscript, &without_tags(text)),
            Place::Hidden(_) => {}
        }
    }

    /// Adds words, with one space in place of any white space.
    fn push_words(&mut self, text: &str) {
        if text.starts_with(is_blank) {
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
        if text.ends_with(is_blank) {
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
        let out = &mut self.page.text;
        if !out.is_empty() {
            out.push_str(self.gap.text());
        }
        self.gap = Gap::None;
        if std::mem::take(&mut self.is_item) {
            out.push_str("- ");
        }
        let room = TEXT_BYTES.saturating_sub(out.len());
        if text.len() > room {
            out.push_str(&text[..text.floor_char_boundary(room)]);
            self.page.is_too_long = true;
        } else {
            out.push_str(text);
        }
    }
}

/// White space of HTML, and the spaces that pages use to lay out text.
fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || matches!(c, '\u{a0}' | '\u{200b}' | '\u{feff}')
}

fn attribute(name: &[u8]) -> LinkAttribute {
    match name {
        b"rel" | b"property" => LinkAttribute::Relation,
        b"href" | b"content" => LinkAttribute::Address,
        _ => LinkAttribute::Other,
    }
}

/// The white space that the start or end of an element makes.
fn gap_of(name: &[u8]) -> Gap {
    match name {
        b"p" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"ul" | b"ol" | b"dl" | b"table"
        | b"section" | b"article" | b"blockquote" | b"pre" | b"figure" | b"form" | b"header"
        | b"footer" | b"nav" | b"main" | b"aside" | b"details" | b"fieldset" => Gap::Paragraph,
        b"div" | b"li" | b"tr" | b"dt" | b"dd" | b"br" | b"hr" | b"option" | b"caption"
        | b"figcaption" | b"summary" | b"address" => Gap::Line,
        b"td" | b"th" => Gap::Cell,
        _ => Gap::None,
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

//! Links of Markdown, `[title](address)`, as the scripts of DeepResearch Bench's FACT find and change them.

/// How a browser's link to a passage of a page begins.
const TEXT_FRAGMENT: &str = "#:~:text=";

/// A link in a text: where it begins and ends, its title and its address.
struct MarkdownLink<'a> {
    start: usize,
    end: usize,
    title: &'a str,
    address: &'a str,
}

/// The text with addresses that end before a link to a passage (`#:~:text=`).
///
/// An address ends at the first closing parenthesis, so that one with parentheses in it keeps its fragment.
pub fn without_passages(text: &str) -> String {
    with_links(text, |link| {
        let address = link.address.split(TEXT_FRAGMENT).next();
        let address = address.unwrap_or_default();
        format!("[{}]({address})", link.title)
    })
}

/// The text without the addresses of its links: `[title](address)` becomes `[title]`.
pub fn without_addresses(text: &str) -> String {
    with_links(text, |link| format!("[{}]", link.title))
}

/// The text with each link replaced.
fn with_links(text: &str, replacement: impl Fn(&MarkdownLink<'_>) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(link) = first_link(rest) {
        out.push_str(&rest[..link.start]);
        out.push_str(&replacement(&link));
        rest = &rest[link.end..];
    }
    out.push_str(rest);
    out
}

/// The first link of a text. Its title has no `]`, its address no `)`, and neither is empty.
fn first_link(text: &str) -> Option<MarkdownLink<'_>> {
    // A title begins after the `]` before it, so that each character is looked at once, whatever the text.
    let mut begin = 0;
    while let Some(length) = text[begin..].find(']') {
        let close = begin + length;
        let open = text[begin..close].find('[').map(|at| begin + at);
        let address = text[close + 1..].strip_prefix('(');
        if let (Some(start), Some(behind)) = (open, address)
            && start + 1 < close
        {
            // Without another parenthesis there is no further link either.
            let length = behind.find(')')?;
            if length > 0 {
                return Some(MarkdownLink {
                    start,
                    end: close + 2 + length + 1,
                    title: &text[start + 1..close],
                    address: &behind[..length],
                });
            }
        }
        begin = close + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn passages_are_cut_and_other_fragments_stay() {
        let text =
            "See [a](https://a.org/p#:~:text=ice) and [b](https://b.org/#top) [](u) [c]() [d](e";
        let cut = "See [a](https://a.org/p) and [b](https://b.org/#top) [](u) [c]() [d](e";
        assert_eq!(without_passages(text), cut);
        assert_eq!(
            without_passages("[x](https://a.org/x_(y)#:~:text=ice)"),
            "[x](https://a.org/x_(y)#:~:text=ice)"
        );
    }

    #[test]
    fn a_title_may_have_an_opening_bracket_and_line_breaks() {
        assert_eq!(without_addresses("[[a\nb](u\nv) c"), "[[a\nb] c");
        assert_eq!(without_addresses("[a]] [b](c)"), "[a]] [b]");
        assert_eq!(
            without_addresses("![alt](i.png)[](x)[y](z)"),
            "![alt][](x)[y]"
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "([\\[\\]()]|#:~:text=|a|é|\n){0,24}") {
            let short = without_addresses(&text);
            prop_assert!(short.len() <= text.len());
            let _ = without_passages(&text);
        }
    }
}

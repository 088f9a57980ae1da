//! Tags that some systems leave in reports: around the titles of cited papers, and with the name of their model.
//!
//! As astabench 0.5.4 removes them (`evals/sqa/task.py`), in linear time but for runs of quotation marks.

use super::python_chars::{is_python_whitespace, is_python_word};

const PAPER: &str = "<Paper ";
const PAPER_END: &str = "</Paper>";
const TITLE: &str = "paperTitle=\"";
const MODEL: &str = "<Model name=\"Anthropic\" version=\"";

/// The text with `(T)` for each tag of a paper whose title is T (of ASCII letters, digits and `_,.;`), and without tags of
/// the model.
pub(crate) fn without_tags(text: &str) -> String {
    let papers = with_replaced_tags(text, PAPER, |tag| {
        paper(tag).map(|(title, length)| (format!("({title})"), length))
    });
    with_replaced_tags(&papers, MODEL, |tag| {
        let version = tag[MODEL.len()..].find('"').filter(|length| *length > 0)?;
        let length = MODEL.len() + version + "\">".len();
        tag.get(..length)?
            .ends_with("\">")
            .then(|| (String::new(), length))
    })
}

/// The text with a replacement for each tag that begins so; `of` gives it with the length of the tag.
fn with_replaced_tags(
    text: &str,
    start: &str,
    of: impl Fn(&str) -> Option<(String, usize)>,
) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(start) {
        let (new, length) = of(&rest[at..]).unwrap_or_else(|| (start.to_owned(), start.len()));
        out.push_str(&rest[..at]);
        out.push_str(&new);
        rest = &rest[at + length..];
    }
    out + rest
}

/// Title and length of the tag of a paper at the start of a text.
fn paper(tag: &str) -> Option<(&str, usize)> {
    let attributes = &tag[..tag.find('>')?];
    attributes
        // From the end: the reference's pattern is greedy and takes the last title of a tag.
        .rmatch_indices(TITLE)
        .find_map(|(at, _)| titled(tag, at + TITLE.len()))
}

/// Title and length of a tag whose title begins here: marks, the title, marks and a quotation mark.
fn titled(tag: &str, start: usize) -> Option<(&str, usize)> {
    let first = marks_end(tag, start);
    let last = run_end(tag, first, is_title_char);
    if last > first
        && let Some((_, end)) = last_quote(tag, last, marks_end(tag, last))
    {
        return Some((&tag[first..last], end));
    }
    // A title of marks only is the last of them.
    let (quote, end) = last_quote(tag, start, first)?;
    let (at, _) = tag[start..quote]
        .char_indices()
        .rfind(|(_, c)| is_title_char(*c))?;
    Some((&tag[start + at..=start + at], end))
}

fn is_title_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || " _,.;".contains(c)
}

/// Where the characters that begin there and are all of this kind end.
fn run_end(tag: &str, from: usize, holds: fn(char) -> bool) -> usize {
    match tag[from..].find(|c| !holds(c)) {
        Some(length) => from + length,
        None => tag.len(),
    }
}

/// Where the marks that begin there end: what Python's `\W` matches.
fn marks_end(tag: &str, from: usize) -> usize {
    run_end(tag, from, |c| !is_python_word(c))
}

/// The last quotation mark in this range at which the title of a tag can end, and the end of that tag.
fn last_quote(tag: &str, from: usize, to: usize) -> Option<(usize, usize)> {
    let quotes = tag[from..to].rmatch_indices('"');
    quotes
        .map(|(at, _)| from + at)
        .find_map(|quote| Some((quote, tag_end(tag, quote)?)))
}

/// The end of the tag if its title ends at this quotation mark.
fn tag_end(tag: &str, quote: usize) -> Option<usize> {
    let open_end = quote + tag[quote..].find('>')? + 1;
    let rest = tag[open_end..].trim_start_matches(is_python_whitespace);
    if rest.starts_with(PAPER_END) {
        Some(tag.len() - rest.len() + PAPER_END.len())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_of_a_paper_stays_and_its_tag_goes() {
        let of = |title: &str| {
            without_tags(&format!(
                "A <Paper id=\"1\" paperTitle=\"{title}\" x> </Paper> b"
            ))
        };
        assert_eq!(of("((Lee, 2020))"), "A (Lee, 2020) b");
        // The title takes what it can of the marks after it, the quotation mark is the last of the run.
        assert_eq!((&*of("Lee. \"!"), &*of("- ,!")), ("A (Lee. ) b", "A (,) b"));
        for other in ["M\u{fc}ller", "Lee (2020) b", "", "!"] {
            assert!(of(other).contains("</Paper>"), "{other}");
        }
        assert_eq!(
            without_tags(
                "<Paper <Model name=\"Anthropic\" version=\"v\">a<Model name=\"Anthropic\" version=\"\">"
            ),
            "<Paper a<Model name=\"Anthropic\" version=\"\">"
        );
    }
}

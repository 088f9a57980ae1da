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
pub fn without_tags(text: &str) -> String {
    let papers = replaced(text, PAPER, |tag| {
        paper(tag).map(|(title, length)| (format!("({title})"), length))
    });
    replaced(&papers, MODEL, |tag| {
        let version = tag[MODEL.len()..].find('"').filter(|length| *length > 0)?;
        let length = MODEL.len() + version + "\">".len();
        tag.get(..length)?
            .ends_with("\">")
            .then(|| (String::new(), length))
    })
}

/// The text with a replacement for each tag that begins so; `of` gives it with the length of the tag.
fn replaced(text: &str, start: &str, of: impl Fn(&str) -> Option<(String, usize)>) -> String {
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
    let in_title = |c: char| c.is_ascii_alphanumeric() || " _,.;".contains(c);
    let run = |from: usize, holds: &dyn Fn(char) -> bool| {
        tag[from..]
            .find(|c| !holds(c))
            .map_or(tag.len(), |length| from + length)
    };
    let marks = |from: usize| run(from, &|c| !is_python_word(c));
    // The end of the tag if its title ends at this quotation mark.
    let tag_end = |quote: usize| {
        let rest =
            tag[quote + tag[quote..].find('>')? + 1..].trim_start_matches(is_python_whitespace);
        rest.starts_with(PAPER_END)
            .then(|| tag.len() - rest.len() + PAPER_END.len())
    };
    let last_quote = |from: usize, to: usize| {
        tag[from..to]
            .rmatch_indices('"')
            .find_map(|(at, _)| Some((from + at, tag_end(from + at)?)))
    };
    let first = marks(start);
    let last = run(first, &in_title);
    if let Some((_, end)) = last_quote(last, marks(last)).filter(|_| last > first) {
        return Some((&tag[first..last], end));
    }
    // A title of marks only is the last of them.
    let (quote, end) = last_quote(start, first)?;
    let (at, _) = tag[start..quote]
        .char_indices()
        .rfind(|(_, c)| in_title(*c))?;
    Some((&tag[start + at..=start + at], end))
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

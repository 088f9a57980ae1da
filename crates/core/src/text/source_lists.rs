//! Lists of sources that a text has itself: below a title such as "References", or lines of `[1] ..` at its end.

use std::ops::Range;

use super::addresses::addresses_in;
use super::citation_markers::{marker_at, superscript_at};
use super::item_labels::{bullet, numbered};
use super::list_titles::is_list_title;

/// A list of sources in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceList {
    /// From its title, or its first entry, to the end of its last entry.
    pub range: Range<usize>,
    /// Its entries, in order.
    pub entries: Vec<ListedSource>,
}

/// An entry of a list of sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSource {
    /// The number by which the text cites it.
    pub label: Option<u64>,
    /// What stands behind the label, up to the next entry.
    pub range: Range<usize>,
    form: EntryForm,
}

/// How an entry begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryForm {
    /// `[1] ..`, `[^1]: ..`, `¹ ..`
    Bracket,
    /// `1. ..`, `- ..`, a row of a table
    Item,
    Plain,
}

/// The lists of sources of a text, in order: all below a title, else the one at its end.
///
/// ```
/// use scholareval_core::text::source_lists::source_lists;
///
/// let text = "Snow melts [2].\n\n## References\n1. Doe (2019). Ice.\n2. https://a.example\n\nThat is all.";
/// let lists = source_lists(text);
/// assert_eq!(lists[0].entries[1].label, Some(2));
/// assert_eq!(&text[lists[0].entries[1].range.clone()], "https://a.example");
/// assert!(text[lists[0].range.end..].ends_with("That is all."));
/// ```
pub fn source_lists(text: &str) -> Vec<SourceList> {
    let mut lists = Vec::new();
    let mut open: Option<OpenList> = None;
    for line in lines(text) {
        if is_list_title(&text[line.clone()]) {
            lists.extend(open.take().and_then(|list| list.closed(text)));
            open = Some(OpenList::new(text, line));
        } else if let Some(list) = &mut open
            && !list.takes(text, line)
        {
            lists.extend(open.take().and_then(|list| list.closed(text)));
        }
    }
    lists.extend(open.and_then(|list| list.closed(text)));
    if lists.is_empty() {
        lists.extend(list_at_end(text));
    }
    lists
}

/// The lines of a text, without the white space around them.
fn lines(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = end + line.len() - line.trim_start().len();
        end += line.len();
        let content = line.trim();
        if content.is_empty() {
            end..end
        } else {
            start..start + content.len()
        }
    })
}

/// A list below a title whose end is not reached.
struct OpenList {
    list: SourceList,
    /// Number of `#` of the title: headings below it part the list.
    level: usize,
    is_after_blank: bool,
}

impl OpenList {
    fn new(text: &str, title: Range<usize>) -> Self {
        Self {
            level: level(&text[title.clone()]),
            list: SourceList {
                range: title,
                entries: Vec::new(),
            },
            is_after_blank: false,
        }
    }

    /// Takes a line; false if it stands behind the list.
    fn takes(&mut self, text: &str, line: Range<usize>) -> bool {
        let content = &text[line.clone()];
        let is_after_blank = std::mem::replace(&mut self.is_after_blank, content.is_empty());
        if content.is_empty() || is_rule(content) {
            return true;
        }
        if content.starts_with('#') {
            return self.level > 0 && level(content) > self.level;
        }
        let Some(entry) = marked_entry(text, line.clone()) else {
            return self.takes_unmarked(text, line, is_after_blank);
        };
        // The head of a table.
        if !content.starts_with('|') || entry.label.is_some() || is_reference(content) {
            self.list.range.end = line.end;
            self.list.entries.push(entry);
        }
        true
    }

    fn takes_unmarked(&mut self, text: &str, line: Range<usize>, is_after_blank: bool) -> bool {
        let content = &text[line.clone()];
        let last = self.list.entries.last_mut();
        match last {
            Some(last) if last.form != EntryForm::Plain && !is_after_blank => {
                last.range.end = line.end;
            }
            // The title of a part of the list.
            _ if content.starts_with("**") && content.trim_end_matches(':').ends_with("**") => {
                return true;
            }
            Some(last) if last.form != EntryForm::Plain => return false,
            _ if !is_reference(content) || cites_itself(content) => return false,
            _ => self.list.entries.push(ListedSource {
                label: None,
                range: line.clone(),
                form: EntryForm::Plain,
            }),
        }
        self.list.range.end = line.end;
        true
    }

    /// The list; `None` if what stands below the title is not one.
    fn closed(self, text: &str) -> Option<SourceList> {
        self.list.is_plausible(text).then_some(self.list)
    }
}

impl SourceList {
    /// Whether most entries read like references. `[1] ..` below a title is an entry whatever it says.
    fn is_plausible(&self, text: &str) -> bool {
        let of_references = self.entries.iter().filter(|entry| {
            entry.form == EntryForm::Bracket || is_reference(&text[entry.range.clone()])
        });
        2 * of_references.count() >= self.entries.len().max(1)
    }
}

/// The lines of `[1] ..` at the end of a text without a title above them. One paragraph may follow.
fn list_at_end(text: &str) -> Option<SourceList> {
    let mut entries: Vec<ListedSource> = Vec::new();
    let mut start = 0;
    let mut is_after_blank = true;
    let mut paragraphs_behind = 0;
    for line in lines(text) {
        if line.is_empty() {
            is_after_blank = true;
            continue;
        }
        let is_open = !entries.is_empty() && paragraphs_behind == 0;
        let entry = marked_entry(text, line.clone());
        let entry = entry.filter(|entry| entry.form == EntryForm::Bracket);
        match entry.filter(|_| is_after_blank || is_open) {
            Some(entry) => {
                if !is_open {
                    entries.clear();
                    start = line.start;
                }
                paragraphs_behind = 0;
                entries.push(entry);
            }
            None if is_after_blank || !is_open => paragraphs_behind += usize::from(is_after_blank),
            None => {
                if let Some(last) = entries.last_mut() {
                    last.range.end = line.end;
                }
            }
        }
        is_after_blank = false;
    }
    let of_references = entries
        .iter()
        .filter(|entry| is_reference(&text[entry.range.clone()]));
    let is_list = paragraphs_behind <= 1 && 2 * of_references.count() >= entries.len();
    let end = entries.last().filter(|_| is_list)?.range.end;
    Some(SourceList {
        range: start..end,
        entries,
    })
}

/// The entry that a line begins by a number, a bullet or as a row of a table.
fn marked_entry(text: &str, line: Range<usize>) -> Option<ListedSource> {
    let content = &text[line.clone()];
    let row = content.strip_prefix('|').map(str::trim_start);
    let item = row.or_else(|| bullet(content)).unwrap_or(content);
    let inner = item.strip_prefix("**").unwrap_or(item);
    let marker = marker_at(inner, 0).or_else(|| superscript_at(inner, 0));
    let (label, rest, form) = if let Some(marker) = marker.filter(|one| one.numbers.len() == 1) {
        let rest = &inner[marker.range.end..];
        (Some(marker.numbers[0]), rest, EntryForm::Bracket)
    } else if let Some((number, rest)) = numbered(inner) {
        (number.parse().ok(), rest, EntryForm::Item)
    } else if let Some((number, rest)) = row.and_then(|row| row.split_once('|')) {
        (number.trim().parse().ok(), rest, EntryForm::Item)
    } else {
        (item.len() < content.len()).then_some((None, item, EntryForm::Item))?
    };
    let rest = rest.strip_prefix("**").unwrap_or(rest);
    let rest = rest.trim_start_matches([':', '.', '|', ' ', '\t']);
    Some(ListedSource {
        label,
        range: line.end - rest.len()..line.end,
        form,
    })
}

/// Whether a line reads like a reference: it has an address or a year.
fn is_reference(line: &str) -> bool {
    let mut numbers = line.split(|c: char| !c.is_ascii_digit());
    let has_year = numbers
        .any(|digits| digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20")));
    has_year || !addresses_in(line).is_empty()
}

/// Whether a line cites by a number in brackets, as prose does.
fn cites_itself(line: &str) -> bool {
    let mut brackets = line.match_indices('[');
    brackets.any(|(at, _)| marker_at(line, at).is_some_and(|marker| marker.numbers[0] < 1000))
}

/// Number of `#` at the beginning.
fn level(line: &str) -> usize {
    line.len() - line.trim_start_matches('#').len()
}

/// The line of dashes below the head of a table, or a line across the page.
fn is_rule(line: &str) -> bool {
    line.chars().all(|c| "|-:+*_= \t".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Labels and texts of the entries of all lists.
    fn entries(text: &str) -> Vec<(Option<u64>, &str)> {
        let lists = source_lists(text).into_iter();
        let entries = lists.flat_map(|list| list.entries);
        entries
            .map(|entry| (entry.label, &text[entry.range]))
            .collect()
    }

    #[test]
    fn entries_have_their_labels_in_every_form() {
        for (list, label) in [
            ("[3] Doe (2019). Ice.", Some(3)),
            ("[^3]: Doe (2019). Ice.", Some(3)),
            ("- [3] Doe (2019). Ice.", Some(3)),
            ("**[3]** Doe (2019). Ice.", Some(3)),
            ("3. Doe (2019). Ice.", Some(3)),
            ("³ Doe (2019). Ice.", Some(3)),
            ("<sup>3</sup> Doe (2019). Ice.", Some(3)),
            ("| # | Work |\n|---|---|\n| 3 | Doe (2019). Ice.", Some(3)),
            ("* Doe (2019). Ice.", None),
            ("Doe (2019). Ice.", None),
            ("### Papers\n- Doe (2019). Ice.", None),
        ] {
            let text = format!("Snow.\n\n## References\n\n{list}\n\nThe end.");
            assert_eq!(entries(&text), [(label, "Doe (2019). Ice.")], "{list}");
        }
    }

    #[test]
    fn prose_below_a_title_is_not_a_list() {
        assert!(entries("## Sources\nWe used three kinds of gauges [1].\nAll drift.").is_empty());
        assert!(entries("## Sources of error\n- The gauge drifts in 2019").is_empty());
        assert!(entries("Sources\n- the sun\n- the wind").is_empty());
        assert!(entries("Snow melts.\n[1] Ice stays. [2]").is_empty());
    }

    #[test]
    fn a_list_at_the_end_needs_no_title() {
        let text =
            "Snow [1].\n\n[1]: https://a.example \"A\"\n[2] Doe, 2019.\nIce.\n\nThat is all.";
        assert_eq!(
            entries(text),
            [
                (Some(1), "https://a.example \"A\""),
                (Some(2), "Doe, 2019.\nIce.")
            ]
        );
        assert_eq!(source_lists(text)[0].range, 11..text.len() - 14);
    }
}

//! Lists of references in the texts of answers: where they are, and their entries.

use super::year_in;
use crate::entry_text::names_people;
use scholareval_core::text::addresses::addresses_in;
use scholareval_core::text::identifiers::identifiers_in;
use scholareval_core::text::item_labels::{bullet, leading_number, numbered};
use scholareval_core::text::list_titles::is_list_title;

/// The longest reference, in bytes; what is longer is cut.
pub(super) const LONGEST_REFERENCE: usize = 2000;

/// Letters that a reference has at least: "see above" and rules of dashes are none.
const FEWEST_LETTERS: usize = 10;

/// The longest label of an entry, in bytes: `[S12]`.
const LABEL_BYTES: usize = 12;

/// The longest title of a group of entries, in bytes.
const GROUP_BYTES: usize = 60;

/// An entry of a list of references.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ListEntry {
    /// Its marker: `[3]`, `3.`; empty for a bullet or none.
    pub(super) marker: String,
    pub(super) text: String,
    /// White space before the marker: what is further in belongs to the entry. `None` without a marker.
    indent: Option<usize>,
    /// Whether quotes or remarks follow, which are not part of the reference.
    is_closed: bool,
}

impl ListEntry {
    /// What a text cites without a list.
    pub(super) fn inline(marker: String, text: String) -> Self {
        Self {
            marker,
            text,
            indent: None,
            is_closed: false,
        }
    }

    fn number(&self) -> Option<u32> {
        let digits = self.marker.trim_matches(['[', ']', '.']);
        digits.parse().ok()
    }

    fn has_address(&self) -> bool {
        !addresses_in(&self.text).is_empty()
    }

    /// Whether it may be a reference: lines without a number may be remarks, and paragraphs the text of a section.
    fn is_reference(&self) -> bool {
        let letters = self.text.chars().filter(|c| c.is_alphanumeric()).count();
        if letters < FEWEST_LETTERS {
            return false;
        }
        let has_address = || self.has_address() || !identifiers_in(&self.text).is_empty();
        if !self.marker.is_empty() || has_address() {
            return true;
        }
        let has_year = year_in(&self.text).is_some();
        let has_form = names_people(&self.text) || self.text.contains(['"', '“', '*', '《']);
        if self.indent.is_some() {
            return has_year || has_form;
        }
        // `World Health Organization (2024). Ice.`
        has_year && (has_form || self.text.contains(")."))
    }

    /// Adds a line to the entry.
    fn push_line(&mut self, line: &str) {
        let is_address = begins_with_address(line) && !self.has_address();
        let is_open = !self.is_closed || is_address;
        if is_open && self.text.len() < LONGEST_REFERENCE {
            self.text.push(' ');
            self.text.push_str(line.trim());
        }
    }
}

/// The entries of the lists in a text: those below a title such as "References", or else a list of `[n]` at its end.
pub(super) fn listed_entries(text: &str) -> Vec<ListEntry> {
    let mut entries = titled_lists(text);
    if entries.is_empty() {
        entries = list_at_end(text);
    }
    entries.retain(ListEntry::is_reference);
    entries
}

/// A list below a title.
struct TitledList {
    /// Index of its first entry.
    first: usize,
    /// The level of the heading of its title; 0 for a line of text.
    level: usize,
    /// Whether text follows that is not part of it. Only the next number with a bracket continues the list.
    is_paused: bool,
}

/// The entries of all lists below a title.
fn titled_lists(text: &str) -> Vec<ListEntry> {
    let mut entries: Vec<ListEntry> = Vec::new();
    let mut list: Option<TitledList> = None;
    let mut is_after_blank = false;
    // Lists in HTML may have several items on a line.
    let text = text.replace("<li>", "\n<li>");
    for line in text.lines() {
        let line = line.trim_start().strip_prefix('>').unwrap_or(line);
        let level = heading_level(line);
        if is_list_title(line) {
            list = Some(TitledList {
                first: entries.len(),
                level,
                is_paused: false,
            });
            is_after_blank = false;
            continue;
        }
        let Some(open) = &mut list else {
            continue;
        };
        if !line.contains(char::is_alphanumeric) {
            // The rule below the head of a table.
            if line.contains("|-") || line.contains("| -") || line.contains("|:") {
                entries.truncate(open.first);
            }
            is_after_blank = true;
            continue;
        }
        // A heading below that of the list is the title of a group.
        let is_group = open.level > 0 && level > open.level;
        if level == 0 {
            open.add(&mut entries, line, is_after_blank);
        } else if !is_group {
            list = None;
        }
        is_after_blank = false;
    }
    entries
}

/// The level of a heading: 2 for `## ..` and `<h2>..`; 0 for another line.
fn heading_level(line: &str) -> usize {
    let line = line.trim_start();
    let tag = line.strip_prefix("<h").and_then(|tag| tag.chars().next());
    if let Some(level) = tag.and_then(|level| level.to_digit(10)) {
        return level as usize;
    }
    line.len() - line.trim_start_matches('#').len()
}

impl TitledList {
    /// Adds a line of text below the title.
    fn add(&mut self, entries: &mut Vec<ListEntry>, line: &str, is_after_blank: bool) {
        let last = entries[self.first..].last_mut();
        if let Some(entry) = marked_entry(line) {
            let next = last
                .as_ref()
                .and_then(|last| last.number())
                .map(|number| number + 1);
            let is_bracketed = entry.marker.starts_with('[') || entry.text.starts_with('[');
            let is_next = is_bracketed && next.is_some() && entry.number() == next;
            // `2. Next section` behind the entry `[1]` of a section.
            let was_bracketed = last
                .as_ref()
                .is_some_and(|last| last.marker.starts_with('['));
            let is_other =
                was_bracketed && is_after_blank && entry.number().is_some() && !is_bracketed;
            if (self.is_paused || is_other) && !is_next {
                self.is_paused = true;
                return;
            }
            self.is_paused = false;
            match last {
                // An item within an entry: its address, or a remark.
                Some(last)
                    if entry.marker.is_empty()
                        && entry.indent > last.indent
                        && last.indent.is_some() =>
                {
                    if entry.has_address() && !last.has_address() {
                        last.push_line(&entry.text);
                    }
                }
                _ => entries.push(entry),
            }
            return;
        }
        if self.is_paused {
            return;
        }
        let indent = line.len() - line.trim_start().len();
        match last {
            Some(last) if last.indent.is_some() => {
                if is_after_blank && is_group_title(line) {
                    return;
                }
                // A paragraph behind the list is not a reference.
                self.is_paused = is_after_blank && Some(indent) <= last.indent;
                if !self.is_paused {
                    last.push_line(line);
                }
            }
            // The title and the address of a page on two lines.
            Some(last) if begins_with_address(line) && !last.has_address() => last.push_line(line),
            // A list without markers has one reference a line or a paragraph.
            _ => entries.push(ListEntry::inline(String::new(), line.trim().to_owned())),
        }
    }
}

/// Whether a line names a group of entries: `**Papers**`, `Web pages:`.
fn is_group_title(line: &str) -> bool {
    let line = line.trim();
    let is_bold = line.starts_with("**") && line.ends_with("**");
    line.len() <= GROUP_BYTES && (is_bold || line.trim_end_matches('*').ends_with([':', '：']))
}

fn begins_with_address(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['<', '(', '[']);
    let addresses = addresses_in(line);
    addresses
        .first()
        .is_some_and(|first| line.starts_with(first))
}

/// The last list of `[1] ..` in a text without a title above it. One paragraph may follow it; a single entry must have a
/// number that the text before it cites.
fn list_at_end(text: &str) -> Vec<ListEntry> {
    let lines: Vec<&str> = text.lines().collect();
    let mut entries: Vec<ListEntry> = Vec::new();
    let mut is_after_blank = true;
    let mut paragraphs_behind = 0;
    let mut first_line = 0;
    for (index, line) in lines.iter().enumerate() {
        if line.trim().is_empty() {
            is_after_blank = true;
            continue;
        }
        match marked_entry(line).filter(|entry| entry.marker.starts_with('[')) {
            Some(entry) => {
                if paragraphs_behind > 0 || entries.is_empty() {
                    entries.clear();
                    first_line = index;
                }
                paragraphs_behind = 0;
                entries.push(entry);
            }
            None if is_after_blank || paragraphs_behind > 0 => {
                paragraphs_behind += usize::from(is_after_blank);
            }
            None => {
                if let Some(last) = entries.last_mut() {
                    last.push_line(line);
                }
            }
        }
        is_after_blank = false;
    }
    let is_at_end = paragraphs_behind <= 1;
    let is_cited = |entry: &ListEntry| {
        let mut before = lines[..first_line].iter();
        before.any(|line| line.contains(&entry.marker))
    };
    let is_list = entries.len() > 1 || entries.first().is_some_and(is_cited);
    if is_at_end && is_list {
        entries
    } else {
        Vec::new()
    }
}

/// The entry that a line begins: `[3] ..`, `[^3]: ..`, `3. ..`, `(3) ..`, `- ..`, `| 3 | .. |`.
fn marked_entry(line: &str) -> Option<ListEntry> {
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    let (marker, text) = if let Some(row) = trimmed.strip_prefix('|') {
        row_parts(row)?
    } else {
        let (marker, rest) = bracketed(trimmed)
            .or_else(|| numbered(trimmed).map(|(number, rest)| (format!("{number}."), rest)))
            .or_else(|| bullet(trimmed).map(|rest| (String::new(), rest)))
            .or_else(|| {
                trimmed
                    .strip_prefix("<li>")
                    .map(|rest| (String::new(), rest))
            })?;
        // A bullet may stand before the number.
        match bracketed(rest) {
            Some((inner, rest)) if marker.is_empty() => (inner, rest.trim().to_owned()),
            _ => (marker, rest.trim().to_owned()),
        }
    };
    Some(ListEntry {
        marker,
        indent: Some(indent),
        is_closed: text.ends_with(':'),
        text,
    })
}

/// The marker and the text of a row of a table, without its first `|`.
fn row_parts(row: &str) -> Option<(String, String)> {
    let cells = row.split('|').map(str::trim);
    let mut cells: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
    let first = *cells.first()?;
    let mut marker = String::new();
    if let Some((label, _)) = bracketed(first) {
        marker = label;
    } else if first.len() <= 3 && first.bytes().all(|byte| byte.is_ascii_digit()) {
        marker = format!("[{first}]");
    }
    if !marker.is_empty() {
        cells.remove(0);
    }
    Some((marker, cells.join(" | ")))
}

/// The marker and what follows it: `[3]`, `[^3]:`, `**[3]**`, `[[3]](..)`, `【3】`, `[S3]`, `<sup>3</sup>`.
fn bracketed(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix("**").unwrap_or(text);
    let inner = text.strip_prefix("<sup>").unwrap_or(text);
    let inner = inner.trim_start_matches(['\\', '[', '【', '［', '^']);
    let (label, rest) = leading_label(inner).filter(|_| inner.len() < text.len())?;
    let behind = rest.strip_prefix("</sup>").unwrap_or(rest);
    let behind = behind.trim_start_matches(['\\', ']', '】', '］']);
    // `[GPT4](..)` is the title of a link.
    let is_link = behind.starts_with('(') && !label.bytes().all(|byte| byte.is_ascii_digit());
    if behind.len() == rest.len() || is_link {
        return None;
    }
    let behind = behind.strip_prefix("**").unwrap_or(behind);
    let behind = behind.strip_prefix([':', '.']).unwrap_or(behind);
    Some((format!("[{label}]"), behind))
}

/// A number, or letters with one: `3`, `S3`.
fn leading_label(text: &str) -> Option<(&str, &str)> {
    if let Some(number) = leading_number(text) {
        return Some(number);
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric())?;
    let label = &text[..end];
    let has_both = label.starts_with(|c: char| c.is_ascii_alphabetic())
        && label.ends_with(|c: char| c.is_ascii_digit());
    (has_both && end <= LABEL_BYTES).then(|| text.split_at(end))
}

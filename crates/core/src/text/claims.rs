//! Claims of a text with the sources that they cite: its sentences, items of lists and rows of tables.
//!
//! The text is first cut into blocks: each item of a list, each row of a table, and the prose between them. Prose and items are
//! cut into sentences, by [Punkt](super::punkt) and behind the full stops of other scripts. Markers behind a full stop then
//! go to the sentence before them, unless a lower-case word follows: `Snow melts. [1] Ice stays.` and `Snow melts. [1] finds ..`.

use std::ops::Range;

use super::citation_markers::{MarkerPlace, SEPARATORS, is_dash, removed};
use super::item_labels::{bullet, numbered};
use super::punkt::sentences;
use super::sentences::{closes, is_abbreviation, other_stop};
use super::source_lists::source_lists;

/// A claim of a text with its citations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextClaim {
    /// Its range in the text, markers included.
    pub range: Range<usize>,
    /// What it says, without markers; the cells of a row with a space between them.
    pub text: String,
    /// The markers that belong to it, by their places in the given list.
    pub markers: Range<usize>,
}

/// The claims of a text, in order (`docs/metrics/citations.md`, claims), without its lists of sources. `markers` are its
/// citations, in order. `domain::cited_claims` finds both.
pub fn text_claims(text: &str, markers: &[MarkerPlace]) -> Vec<TextClaim> {
    let marked = MarkedText { text, markers };
    let mut claims = Vec::new();
    for block in marked.blocks() {
        for range in marked.sentences(&block) {
            let first = markers.partition_point(|marker| marker.range.start < range.start);
            let behind = markers.partition_point(|marker| marker.range.end <= range.end);
            // A marker that continues in the next block belongs to none.
            let bound = first..behind.max(first);
            let mut said = removed(text, range.clone(), &markers[bound.clone()]);
            if block.kind == ClaimLineKind::Row {
                let cells = said.split('|').map(str::trim);
                let filled: Vec<&str> = cells.filter(|cell| !cell.is_empty()).collect();
                said = filled.join(" ");
            }
            claims.push(TextClaim {
                text: said,
                markers: bound,
                range,
            });
        }
    }
    claims
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClaimLineKind {
    Blank,
    /// The line of dashes below the head of a table.
    Rule,
    Row,
    /// The first line of an item, with the length of its label.
    Item(usize),
    /// A line whose marker is the label of what follows.
    Entry,
    Heading,
    /// In a list of sources.
    Listed,
    Prose,
}

impl ClaimLineKind {
    /// The kind of a line without the white space around it. `is_labeled`: whether a marker at its beginning is its label.
    fn of(line: &str, is_in_table: bool, is_labeled: bool) -> Self {
        let is_table = is_in_table || line.starts_with('|');
        let is_rule = !is_in_table && line.contains('-') && line.contains('|');
        if line.is_empty() {
            Self::Blank
        } else if is_rule && line.chars().all(|c| "|-:+ \t".contains(c)) {
            Self::Rule
        } else if is_table {
            Self::Row
        } else if let Some(item) = item_text(line) {
            Self::Item(line.len() - item.len())
        } else if line.starts_with('#') && line.trim_start_matches('#').starts_with(' ') {
            Self::Heading
        } else if is_labeled && line.contains(char::is_alphabetic) {
            Self::Entry
        } else {
            Self::Prose
        }
    }
}

/// Consecutive lines that share sentences.
struct ClaimBlock {
    range: Range<usize>,
    /// What its first line is.
    kind: ClaimLineKind,
    /// Whether a line may be added.
    is_open: bool,
}

impl ClaimBlock {
    /// Whether a line of prose continues with this block.
    fn takes(&self, line: &str, is_marked: bool) -> bool {
        let is_item = matches!(self.kind, ClaimLineKind::Item(_));
        let is_wrapped = line.starts_with([' ', '\t']) || begins_lower(line);
        self.is_open && (!is_item || is_wrapped || is_marked)
    }
}

/// A text with its markers, in order.
#[derive(Clone, Copy)]
struct MarkedText<'a> {
    text: &'a str,
    markers: &'a [MarkerPlace],
}

impl MarkedText<'_> {
    /// The marker that begins at this byte and is nothing else.
    fn marker_at(self, at: usize) -> Option<Range<usize>> {
        let place = self
            .markers
            .partition_point(|marker| marker.range.start < at);
        let marker = self.markers.get(place)?;
        (marker.range.start == at && marker.kept.is_empty()).then(|| marker.range.clone())
    }

    /// The sentences of a block, with the markers behind their full stops. A row is one.
    fn sentences(self, block: &ClaimBlock) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        if block.kind == ClaimLineKind::Row {
            let row = block.range.clone();
            ranges.extend((!row.is_empty()).then_some(row));
            return ranges;
        }
        let start = block.range.start;
        for sentence in sentences(&self.text[block.range.clone()]) {
            for part in self.parts(start + sentence.start..start + sentence.end) {
                self.add_sentence(part, &mut ranges);
            }
        }
        ranges
    }

    /// The blocks of the text, in order, without those of its lists of sources.
    fn blocks(self) -> Vec<ClaimBlock> {
        let text = self.text;
        let mut blocks: Vec<ClaimBlock> = Vec::new();
        let (mut start, mut start_before) = (0, 0);
        let (mut is_in_table, mut is_after_blank) = (false, true);
        let mut lists = source_lists(text).into_iter().peekable();
        for line in text.split_inclusive('\n') {
            let end = start + line.len();
            let content = trimmed(text, start..end, char::is_whitespace);
            while lists.next_if(|list| list.range.end <= start).is_some() {}
            let list = lists.peek().map(|list| list.range.clone());
            let is_listed = list.is_some_and(|list| list.start <= content.start);
            let last = blocks.last_mut().filter(|last| last.is_open);
            // At the beginning of a paragraph a marker does not belong to the sentence before it.
            let follows_entry = last
                .as_ref()
                .is_some_and(|last| last.kind == ClaimLineKind::Entry);
            let is_marked = self.marker_at(content.start).is_some();
            let is_labeled = is_marked && (is_after_blank || follows_entry);
            is_in_table &= line.contains('|');
            let kind = if is_listed {
                ClaimLineKind::Listed
            } else {
                ClaimLineKind::of(&text[content.clone()], is_in_table, is_labeled)
            };
            is_after_blank = matches!(kind, ClaimLineKind::Blank | ClaimLineKind::Listed);
            match (kind, last) {
                (ClaimLineKind::Blank, Some(last)) => {
                    last.is_open = last.kind == ClaimLineKind::Prose;
                }
                (ClaimLineKind::Listed, Some(last)) => last.is_open = false,
                (ClaimLineKind::Blank | ClaimLineKind::Listed, None) => {}
                (ClaimLineKind::Rule, _) => {
                    is_in_table = true;
                    drop_line(&mut blocks, start_before);
                }
                (ClaimLineKind::Prose, Some(last)) if last.takes(line, is_marked) => {
                    last.range.end = end;
                }
                _ => blocks.push(ClaimBlock {
                    range: match kind {
                        ClaimLineKind::Row => {
                            trimmed(text, content, |c| c == '|' || c.is_whitespace())
                        }
                        ClaimLineKind::Item(label) => content.start + label..end,
                        _ => content.start..end,
                    },
                    kind,
                    is_open: !matches!(kind, ClaimLineKind::Row | ClaimLineKind::Heading),
                }),
            }
            (start_before, start) = (start, end);
        }
        blocks
    }

    /// A sentence of Punkt, which knows plain Latin full stops only, cut behind those of other scripts and marked ones.
    fn parts(self, sentence: Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let (mut start, mut at) = (sentence.start, sentence.start);
        while let Some(c) = self.text[at..sentence.end].chars().next() {
            let stop = other_stop(&self.text[at..sentence.end])
                .or_else(|| self.marked_stop(start, at..sentence.end));
            match stop {
                Some(length) => {
                    at += length;
                    parts.push(start..at);
                    start = at;
                }
                None => at += c.len_utf8(),
            }
        }
        parts.push(start..sentence.end);
        parts
    }

    /// The length of a full stop at the beginning of `rest` that ends emphasis or has a marker directly behind it, with what
    /// closes there. The sentence begins at `start`.
    fn marked_stop(self, start: usize, rest: Range<usize>) -> Option<usize> {
        let behind = self.text[rest.clone()].strip_prefix(['.', '!', '?'])?;
        let mut next = behind.trim_start_matches(|c| closes(c) || c == '_');
        for tag in ["</b>", "</i>", "</em>", "</strong>"] {
            next = next.strip_prefix(tag).unwrap_or(next);
        }
        let is_emphasis = behind[..behind.len() - next.len()].contains(['_', '<']);
        let word = next.trim_start();
        let is_marked = |part: &str| self.marker_at(rest.end - part.len()).is_some();
        let is_sentence =
            word.len() < next.len() && (is_marked(word) || word.starts_with(char::is_uppercase));
        let ends = is_marked(next) || is_emphasis && is_sentence;
        let is_abbreviated = || is_abbreviation(&self.text[start..rest.start]);
        (ends && !is_abbreviated()).then(|| rest.len() - next.len())
    }

    /// The range without the end of emphasis at its beginning.
    fn behind_emphasis(self, range: Range<usize>) -> Range<usize> {
        let text = &self.text[range.clone()];
        let rest = text.trim_start_matches(['*', '_']);
        let start = range.end - rest.len();
        let begins = rest.starts_with(|c: char| !c.is_whitespace());
        if begins && self.marker_at(start).is_none() {
            range
        } else {
            start..range.end
        }
    }

    /// Adds a sentence of a block, without white space around it. Markers at its beginning go to the sentence before it.
    fn add_sentence(self, sentence: Range<usize>, ranges: &mut Vec<Range<usize>>) {
        let mut sentence = trimmed(self.text, sentence, char::is_whitespace);
        if let Some(previous) = ranges.last_mut()
            && previous.end == sentence.start
        {
            previous.end = self.behind_emphasis(sentence.clone()).start;
            sentence = trimmed(self.text, previous.end..sentence.end, char::is_whitespace);
        }
        if let Some(previous) = ranges.last_mut()
            && self.continues(previous.clone(), sentence.clone())
        {
            previous.end = sentence.end;
            return;
        }
        if let Some(previous) = ranges.last_mut()
            && let Some(end) = self.markers_behind(previous.clone(), sentence.end)
        {
            previous.end = end;
            sentence = trimmed(self.text, end..sentence.end, char::is_whitespace);
        }
        if !sentence.is_empty() {
            ranges.push(sentence);
        }
    }

    /// Whether a sentence continues one that ends within a marker, `[Lee et al. (2018)](https://..)`, or with "et al.":
    /// `Lee et al. (2018) find ..`, `Lee et al. [18] find ..`.
    fn continues(self, previous: Range<usize>, sentence: Range<usize>) -> bool {
        let is_name = self.text[previous]
            .trim_end_matches(['*', '_'])
            .ends_with("et al.");
        let next = &self.text[sentence.clone()];
        let is_marked = self.marker_at(sentence.start).is_some();
        let before = self
            .markers
            .partition_point(|marker| marker.range.start < sentence.start);
        let last = before.checked_sub(1).map(|last| &self.markers[last]);
        let is_within = last.is_some_and(|marker| marker.range.end > sentence.start);
        is_within || is_name && (is_marked || next.starts_with('(') || begins_lower(next))
    }

    /// The end of the markers behind the full stop of a sentence, as far as they belong to it; at most `end`.
    fn markers_behind(self, sentence: Range<usize>, end: usize) -> Option<usize> {
        let text = self.text;
        let closed = text[sentence.end..end].trim_start_matches(closes);
        let first = closed.trim_start();
        let lines = closed[..closed.len() - first.len()].matches('\n').count();
        let mut next = end - first.len();
        let mut behind = next;
        while let Some(marker) = self.marker_at(next).filter(|marker| marker.end <= end) {
            behind = self.behind_emphasis(marker.end..end).start;
            let rest = text[behind..end].trim_start_matches(|c: char| {
                c.is_whitespace() || is_dash(c) || SEPARATORS.contains(&c)
            });
            next = end - rest.len();
        }
        let rest = &text[behind..end];
        let is_whole = !rest.contains(char::is_alphanumeric);
        let is_alone = is_whole || rest.trim_start_matches(' ').starts_with('\n');
        let is_subject = begins_lower(rest) || rest.starts_with(':');
        if rest.len() == first.len() || lines > 1 && !is_alone || is_subject && !is_whole {
            return None;
        }
        Some(if is_whole { end } else { behind })
    }
}

/// Removes the line that begins at `start`, the head of a table, from the end of the blocks.
fn drop_line(blocks: &mut Vec<ClaimBlock>, start: usize) {
    match blocks.last_mut() {
        Some(last) if last.range.start < start => last.range.end = last.range.end.min(start),
        _ => drop(blocks.pop()),
    }
}

/// A range without the characters at its ends that `is_edge` names.
fn trimmed(text: &str, range: Range<usize>, is_edge: fn(char) -> bool) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + part.len() - part.trim_start_matches(is_edge).len();
    start..start + part.trim_matches(is_edge).len()
}

/// Whether a text begins with a word in lower case: not `mRNA`, `p53`.
fn begins_lower(text: &str) -> bool {
    let text =
        text.trim_start_matches(|c: char| c.is_whitespace() || is_dash(c) || "*_'’,".contains(c));
    let end = text
        .find(|c: char| !c.is_alphanumeric())
        .unwrap_or(text.len());
    end > 0 && text[..end].chars().all(char::is_lowercase)
}

/// What follows the label of an item: `- ..`, `3. ..`, `(3) ..`, `b) ..`, `3、..`, `③..`, `iii. ..`.
fn item_text(line: &str) -> Option<&str> {
    let numbered = numbered(line).map(|(_, rest)| rest);
    let circled = |c| matches!(c, '\u{2460}'..='\u{249b}' | '\u{2776}'..='\u{2793}');
    let numbered = numbered.or_else(|| line.strip_prefix(circled));
    numbered.or_else(|| bullet(line)).or_else(|| lettered(line))
}

/// What follows `b) `, `(b) `, `ii. ` or `(ii) `.
fn lettered(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('(').unwrap_or(line);
    let behind = inner.trim_start_matches(['i', 'v', 'x']);
    if behind.len() < inner.len()
        && let Some(rest) = behind.strip_prefix(". ").or(behind.strip_prefix(") "))
    {
        return Some(rest);
    }
    let rest = inner.strip_prefix(|c: char| c.is_ascii_alphabetic())?;
    rest.strip_prefix(") ")
}

#[cfg(test)]
mod tests;

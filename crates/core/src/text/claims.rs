//! Claims of a text with the sources that they cite: its sentences, items of lists and rows of tables.
//!
//! The text is first cut into blocks: each item of a list, each row of a table, and the prose between them. Prose and items are
//! cut into sentences, by [Punkt](super::punkt) and behind the full stops of other scripts. Markers behind a full stop then
//! go to the sentence before them, unless a lower-case word follows: `Snow melts. [1] Ice stays.` and `Snow melts. [1] finds ..`.

use std::ops::Range;

use super::citation_markers::{
    SEPARATORS, SOURCE_LISTS, citation_markers, is_dash, marker_at, removed, source_list_lines,
};
use super::punkt::sentences;
use super::sentences::{closes, is_abbreviation, other_stop};

/// A claim of a text with its citations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextClaim {
    /// Its range in the text, markers included.
    pub range: Range<usize>,
    /// What it says, without markers.
    pub text: String,
    /// The numbers of its markers in order, with repeats.
    pub numbers: Vec<u64>,
}

/// The claims of a text, in order (`docs/metrics.md`, claims).
///
/// ```
/// use scholareval_core::text::claims::text_claims;
///
/// let claims = text_claims("Snow melts.[1] Ice stays. [0-2] finds why.\n- Rain falls [3]\n- Wind blows");
/// let claims: Vec<_> = claims.iter().map(|claim| (claim.text.as_str(), claim.numbers.as_slice())).collect();
/// assert_eq!(claims, [
///     ("Snow melts.", &[1][..]), ("Ice stays.", &[]), ("finds why.", &[0, 1, 2]), ("Rain falls", &[3]), ("Wind blows", &[]),
/// ]);
/// ```
pub fn text_claims(text: &str) -> Vec<TextClaim> {
    let markers = citation_markers(text);
    let mut claims = Vec::new();
    for block in blocks(text) {
        for range in block.sentences(text) {
            let first = markers.partition_point(|marker| marker.range.start < range.start);
            let behind = markers.partition_point(|marker| marker.range.end <= range.end);
            // A marker that continues in the next block belongs to none.
            let markers = markers.get(first..behind).unwrap_or_default();
            let numbers = markers.iter().flat_map(|marker| &marker.numbers);
            claims.push(TextClaim {
                text: removed(text, range.clone(), markers),
                numbers: numbers.copied().collect(),
                range,
            });
        }
    }
    claims
}

/// The markers that are the labels of a list of sources, not citations: below a title such as `References`, or in a list at the
/// end of the text, behind which one paragraph may stand.
///
/// ```
/// use scholareval_core::text::claims::entry_labels;
///
/// let text = "Snow melts [1]. Ice stays [2].\n\n[1] Doe, Snow\n[2] Roe, Ice";
/// let labels: Vec<&str> = entry_labels(text).into_iter().map(|label| &text[label]).collect();
/// assert_eq!((labels, entry_labels(text)[0].start), (vec!["[1]", "[2]"], 33));
/// ```
pub fn entry_labels(text: &str) -> Vec<Range<usize>> {
    let mut blocks = blocks(text);
    blocks.pop_if(|last| last.kind == ClaimLineKind::Prose);
    let mut others = blocks.iter();
    let last_other = others.rposition(|block| block.kind != ClaimLineKind::Entry);
    let mut labels = Vec::new();
    for (place, block) in blocks.iter().enumerate() {
        let is_at_end = last_other.is_some_and(|other| place > other);
        if block.kind == ClaimLineKind::Entry && (block.is_source || is_at_end) {
            let label = marker_at(text, block.range.start);
            labels.extend(label.map(|marker| marker.range));
        }
    }
    labels
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
    Prose,
}

impl ClaimLineKind {
    /// The kind of a line without the white space around it. `may_be_entry`: whether a marker at its beginning is a label.
    fn of(line: &str, is_in_table: bool, may_be_entry: bool) -> Self {
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
        } else if may_be_entry && marker_at(line, 0).is_some() && line.contains(char::is_alphabetic)
        {
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
    /// Whether it stands in a list of sources with a title.
    is_source: bool,
}

impl ClaimBlock {
    /// Whether a line of prose continues with this block.
    fn takes(&self, line: &str) -> bool {
        let is_item = matches!(self.kind, ClaimLineKind::Item(_));
        let is_wrapped = line.starts_with([' ', '\t']) || begins_lower(line);
        self.is_open && (!is_item || is_wrapped || marker_at(line, 0).is_some())
    }

    /// Its sentences, with the markers behind their full stops. A row is one.
    fn sentences(&self, text: &str) -> Vec<Range<usize>> {
        let mut ranges = Vec::new();
        if self.kind == ClaimLineKind::Row {
            let row = self.range.clone();
            ranges.extend((!row.is_empty()).then_some(row));
            return ranges;
        }
        let start = self.range.start;
        for sentence in sentences(&text[self.range.clone()]) {
            for part in parts(text, start + sentence.start..start + sentence.end) {
                add_sentence(text, part, &mut ranges);
            }
        }
        ranges
    }
}

/// The blocks of a text, in order.
fn blocks(text: &str) -> Vec<ClaimBlock> {
    let mut blocks: Vec<ClaimBlock> = Vec::new();
    let (mut start, mut start_before) = (0, 0);
    let (mut is_in_table, mut is_after_blank) = (false, true);
    let in_list = source_list_lines(text, &SOURCE_LISTS);
    for (line, is_source) in text.split_inclusive('\n').zip(in_list) {
        let end = start + line.len();
        let content = trimmed(text, start..end, char::is_whitespace);
        let last = blocks.last_mut().filter(|last| last.is_open);
        // In a list of sources, and at the beginning of a paragraph, a marker does not belong to the sentence before it.
        let follows_entry = last
            .as_ref()
            .is_some_and(|last| last.kind == ClaimLineKind::Entry);
        let may_be_entry = is_source || is_after_blank || follows_entry;
        is_in_table &= line.contains('|');
        let kind = ClaimLineKind::of(&text[content.clone()], is_in_table, may_be_entry);
        is_after_blank = kind == ClaimLineKind::Blank;
        match (kind, last) {
            (ClaimLineKind::Blank, Some(last)) => last.is_open = last.kind == ClaimLineKind::Prose,
            (ClaimLineKind::Blank, None) => {}
            (ClaimLineKind::Rule, _) => {
                is_in_table = true;
                drop_line(&mut blocks, start_before);
            }
            (ClaimLineKind::Prose, Some(last)) if last.takes(line) => last.range.end = end,
            _ => blocks.push(ClaimBlock {
                range: match kind {
                    ClaimLineKind::Row => trimmed(text, content, |c| c == '|' || c.is_whitespace()),
                    ClaimLineKind::Item(label) => content.start + label..end,
                    _ => content.start..end,
                },
                kind,
                is_open: !matches!(kind, ClaimLineKind::Row | ClaimLineKind::Heading),
                is_source,
            }),
        }
        (start_before, start) = (start, end);
    }
    blocks
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

/// A sentence of Punkt, which knows plain Latin full stops only, cut behind those of other scripts and marked ones.
fn parts(text: &str, sentence: Range<usize>) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (sentence.start, sentence.start);
    while let Some(c) = text[at..sentence.end].chars().next() {
        let rest = &text[at..sentence.end];
        match other_stop(rest).or_else(|| marked_stop(&text[start..at], rest)) {
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

/// The length of a full stop that ends emphasis or has markers in superscript behind it, with what closes there.
fn marked_stop(before: &str, rest: &str) -> Option<usize> {
    let behind = rest.strip_prefix(['.', '!', '?'])?;
    let mut next = behind.trim_start_matches(|c| closes(c) || c == '_');
    for tag in ["</b>", "</i>", "</em>", "</strong>"] {
        next = next.strip_prefix(tag).unwrap_or(next);
    }
    let is_emphasis = behind[..behind.len() - next.len()].contains(['_', '<']);
    let word = next.trim_start();
    let is_sentence = word.len() < next.len()
        && (marker_at(word, 0).is_some() || word.starts_with(char::is_uppercase));
    let ends = next.starts_with("<sup>") && marker_at(next, 5).is_some();
    (ends || is_emphasis && is_sentence && !is_abbreviation(before))
        .then(|| rest.len() - next.len())
}

/// What follows the end of emphasis at the beginning of a text.
fn behind_emphasis(text: &str) -> &str {
    let rest = text.trim_start_matches(['*', '_']);
    let begins = rest.starts_with(|c: char| !c.is_whitespace()) && marker_at(rest, 0).is_none();
    if begins { text } else { rest }
}

/// Adds a sentence of a block, without white space around it. Markers at its beginning go to the sentence before it.
fn add_sentence(text: &str, sentence: Range<usize>, ranges: &mut Vec<Range<usize>>) {
    let mut sentence = trimmed(text, sentence, char::is_whitespace);
    if let Some(previous) = ranges.last_mut()
        && previous.end == sentence.start
    {
        let emphasis = &text[sentence.clone()];
        previous.end += emphasis.len() - behind_emphasis(emphasis).len();
        sentence = trimmed(text, previous.end..sentence.end, char::is_whitespace);
    }
    if let Some(previous) = ranges.last_mut()
        && let Some(end) = markers_behind(text, previous.clone(), sentence.end)
    {
        previous.end = end;
        sentence = trimmed(text, end..sentence.end, char::is_whitespace);
    }
    if !sentence.is_empty() {
        ranges.push(sentence);
    }
}

/// The end of the markers behind the full stop of a sentence, as far as they belong to it; at most `end`.
fn markers_behind(text: &str, sentence: Range<usize>, end: usize) -> Option<usize> {
    let closed = text[sentence.end..end].trim_start_matches(closes);
    let begin = closed.trim_start();
    let first = begin.strip_prefix("<sup>").unwrap_or(begin);
    let lines = closed[..closed.len() - begin.len()].matches('\n').count();
    let mut rest = first;
    let mut behind = first;
    while let Some(marker) = marker_at(rest, 0) {
        behind = &rest[marker.range.end..];
        // The address of a link.
        if let Some(link) = behind.strip_prefix('(').and_then(|link| link.find(')')) {
            behind = &behind[link + 2..];
        }
        behind = behind_emphasis(behind.strip_prefix("</sup>").unwrap_or(behind));
        rest = behind.trim_start_matches(|c: char| {
            c.is_whitespace() || is_dash(c) || SEPARATORS.contains(&c)
        });
        rest = rest.strip_prefix("<sup>").unwrap_or(rest);
    }
    let is_whole = !behind.contains(char::is_alphanumeric);
    let is_alone = is_whole || behind.trim_start_matches(' ').starts_with('\n');
    let is_name = text[sentence]
        .trim_end_matches(['*', '_'])
        .ends_with("et al.");
    let is_subject = begins_lower(behind) || behind.starts_with(':') || is_name;
    if behind.len() == first.len() || lines > 1 && !is_alone || is_subject && !is_whole {
        return None;
    }
    Some(if is_whole { end } else { end - behind.len() })
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

/// What follows a bullet: `- `, `* `, `• `, `・`.
pub fn bullet(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix(['・', '･']) {
        return Some(rest.trim_start());
    }
    let rest = text.strip_prefix(['-', '*', '+', '•', '–', '◦', '▪', '●', '·'])?;
    rest.starts_with(char::is_whitespace)
        .then(|| rest.trim_start())
}

/// The digits of a number that begins an item, and what follows: `3. `, `3) `, `(3) `, `(3)A`, `3、`, `（3）`.
pub fn numbered(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix(['(', '（']).unwrap_or(text);
    let (number, rest) = leading_number(inner)?;
    if let Some(rest) = rest.strip_prefix(['、', '）']) {
        return Some((number, rest));
    }
    let is_paired = inner.len() < text.len() && rest.starts_with(')');
    let rest = rest.strip_prefix(['.', ')'])?;
    let begins = |c: char| {
        // Scripts without spaces have none behind a number.
        c.is_whitespace() || c.is_alphabetic() && (is_paired || !c.is_ascii())
    };
    rest.starts_with(begins).then_some((number, rest))
}

/// A number of at most three digits: with four it is a year.
pub fn leading_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    (1..=3).contains(&end).then(|| text.split_at(end))
}

#[cfg(test)]
mod tests;

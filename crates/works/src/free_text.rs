//! A reference in free text: where a title may stand in it, and whether it names authors and a year.
//!
//! Nothing is parsed, since no parser reads the styles of a thousand journals. A record is known by its title, and the
//! text shows if the title is in it.

use super::entry_text::{names_people, without_remarks};
use super::names::family_words;
use super::normalize::{
    COLON, GAPS, QUOTE, STOP, STOP_AND_COLON, folded_with_stops, is_retraction, word_count,
};
use scholareval_core::domain::PersonName;
use scholareval_core::text::identifiers::{WorkIdentifier, identifiers_and_rest};

/// Titles of fewer words are found only as a whole field of the text.
pub(super) const LONG_TITLE: usize = 5;

/// Bytes of the key of a title by which it is sought in a text.
pub(super) const START_BYTES: usize = 16;

/// The longest reference, in bytes.
const REFERENCE_BYTES: usize = 4000;

/// Authors of a record that are sought: references name the first ones.
const AUTHORS_SOUGHT: usize = 3;

/// What stands between the title of a page and its site, with the mark that it is.
const BARS: [(&str, char); 9] = [
    ("|", STOP),
    ("｜", STOP),
    (" - ", COLON),
    (" – ", COLON),
    (" — ", COLON),
    (" · ", COLON),
    (" • ", COLON),
    (" » ", COLON),
    (" › ", COLON),
];

/// A reference in free text, normalized.
#[derive(Debug, Clone)]
pub(super) struct FreeText {
    /// The words, without spaces between them.
    key: String,
    /// Where each word begins in `key`, and whether a mark stands before it.
    words: Vec<TextWord>,
    identifiers: Vec<WorkIdentifier>,
    has_address: bool,
    /// Whether initials or `et al.` show that it names authors.
    names_people: bool,
}

#[derive(Debug, Clone, Copy)]
struct TextWord {
    start: usize,
    /// Behind a mark that ends a field.
    is_behind_stop: bool,
    /// Behind a colon or a question mark: a subtitle may begin.
    is_behind_colon: bool,
    /// Behind nothing but a quotation mark or a bracket.
    is_behind_quote: bool,
    /// The part between bars in which it is.
    part: usize,
}

/// Where a title stands in a text: words, the end not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TitleSpan {
    first: usize,
    end: usize,
    /// Whether marks, numbers or the ends of the text stand around it.
    pub(super) is_delimited: bool,
    /// Whether a subtitle may follow.
    pub(super) has_subtitle: bool,
    /// Whether one may follow if the quotation or bracket that ends here is part of the title.
    pub(super) has_subtitle_behind_quote: bool,
}

impl FreeText {
    pub(super) fn new(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(REFERENCE_BYTES)];
        // Years and words of an address are not those of the reference.
        let (identifiers, rest) = identifiers_and_rest(text);
        let has_address = rest != text;
        let rest = without_remarks(&rest);
        let mut key = String::with_capacity(rest.len());
        let mut words = Vec::new();
        for (part, (bar, written)) in parts(&rest).into_iter().enumerate() {
            let mut mark = bar;
            for marked in folded_with_stops(written).split_inclusive(GAPS) {
                let word = marked.trim_end_matches(GAPS);
                words.push(TextWord {
                    start: key.len(),
                    is_behind_stop: matches!(mark, STOP | STOP_AND_COLON | QUOTE),
                    is_behind_colon: matches!(mark, COLON | STOP_AND_COLON),
                    is_behind_quote: mark == QUOTE,
                    part,
                });
                key.push_str(word);
                mark = marked[word.len()..].chars().next().unwrap_or(mark);
            }
        }
        Self {
            key,
            words,
            identifiers,
            has_address,
            names_people: names_people(&rest),
        }
    }

    pub(super) fn identifiers(&self) -> &[WorkIdentifier] {
        &self.identifiers
    }

    /// The beginnings of the titles of at least [`LONG_TITLE`] words that may be in the text.
    pub(super) fn title_starts(&self) -> Vec<&str> {
        let rest = self.words.iter().map(|word| &self.key[word.start..]);
        rest.filter_map(title_start).collect()
    }

    /// The keys of the fields of the text: what stands between two marks.
    pub(super) fn fields(&self) -> Vec<&str> {
        let mut fields = Vec::new();
        let mut first = 0;
        for index in 1..=self.words.len() {
            if self.is_mark_before(index) {
                fields.push(&self.key[self.start(first)..self.start(index)]);
                first = index;
            }
        }
        fields
    }

    /// The largest share of these words that one field has.
    pub(super) fn share_in_field(&self, words: &[&str]) -> f64 {
        let mut largest = 0;
        let mut in_field = 0;
        for index in 0..self.words.len() {
            if self.is_mark_before(index) {
                in_field = 0;
            }
            in_field += usize::from(words.contains(&self.word(index)));
            largest = largest.max(in_field);
        }
        // One word is in many fields.
        if largest < 2 {
            return 0.0;
        }
        largest as f64 / words.len() as f64
    }

    /// Whether the text may have a title that is sought in it: some words without a mark between them.
    pub(super) fn has_long_field(&self) -> bool {
        let mut length = 0;
        for word in &self.words {
            let is_first = word.is_behind_stop || word.is_behind_colon;
            length = if is_first { 1 } else { length + 1 };
            if length >= LONG_TITLE {
                return true;
            }
        }
        false
    }

    /// Where a title with this key and this many words stands. A short one must be a whole field.
    pub(super) fn find_title(&self, key: &str, word_count: usize) -> Option<TitleSpan> {
        if key.is_empty() {
            return None;
        }
        let is_long = word_count >= LONG_TITLE;
        let mut span_of_title = None;
        for (first, end) in self.places_of(key) {
            let is_field = self.is_mark_before(first) && self.is_mark_before(end);
            let is_delimited = self.is_open_before(first) && self.is_open_behind(end);
            let next = self.words.get(end).filter(|_| self.year_at(end).is_none());
            let span = TitleSpan {
                first,
                end,
                is_delimited,
                has_subtitle: next.is_some_and(|word| word.is_behind_colon),
                has_subtitle_behind_quote: next.is_some_and(|word| word.is_behind_quote),
            };
            if is_field {
                return Some(span);
            }
            if is_long && span_of_title.is_none() {
                span_of_title = Some(span);
            }
        }
        span_of_title
    }

    /// Whether the text names these authors outside of the title: the first one, or half of the first three. `None` if it
    /// names nobody.
    pub(super) fn names_authors(&self, authors: &[PersonName], title: TitleSpan) -> Option<bool> {
        let mut sought = 0;
        let mut named = 0;
        for author in authors.iter().take(AUTHORS_SOUGHT) {
            let family = family_words(author).replace(' ', "");
            if family.is_empty() {
                continue;
            }
            sought += 1;
            if self.has_words(&family, title) {
                named += 1;
                if sought == 1 {
                    return Some(true);
                }
            }
        }
        if sought == 0 {
            return None;
        }
        if named * 2 >= sought {
            return Some(true);
        }
        self.names_somebody(title).then_some(false)
    }

    /// Whether the text names people who are not sought. A site, a journal or a format before or behind the title of a page
    /// is none.
    fn names_somebody(&self, title: TitleSpan) -> bool {
        if self.has_et_al(title) {
            return true;
        }
        if self.has_address && title.first == self.words.len() {
            return self.names_people;
        }
        let part = self.part_of(title.first);
        let mut before = (0..title.first).filter(|index| self.part_of(*index) == part);
        let has_words_before = before.any(|index| !self.is_number(index));
        // `Full article: Ice and snow`, but `Lin, K.: Ice and snow`.
        let is_label = title.first > 0
            && self
                .words
                .get(title.first)
                .is_some_and(|word| word.is_behind_colon)
            && self.word(title.first - 1).len() > 1;
        if has_words_before && !is_label {
            return true;
        }
        // Styles that put the title first and in quotes name the authors behind it; text with nothing before the title
        // may as well have the venue there. One field behind it may be the venue; of more, one is that of the authors.
        self.fields_behind(title) > 1 && (self.names_people || !self.has_address)
    }

    /// Whether `et al.` stands outside of the title.
    fn has_et_al(&self, title: TitleSpan) -> bool {
        let mut outside = (1..title.first).chain(title.end + 1..self.words.len());
        outside.any(|index| self.word(index) == "al" && self.word(index - 1) == "et")
    }

    fn part_of(&self, index: usize) -> usize {
        let last = self.words.last();
        let word = self.words.get(index).or(last);
        word.map_or(0, |word| word.part)
    }

    /// Whether these words stand in the text outside of the title.
    fn has_words(&self, key: &str, title: TitleSpan) -> bool {
        let mut places = self.places_of(key);
        places.any(|(first, end)| end <= title.first || first >= title.end)
    }

    /// Where the words of this key stand, the end not included.
    fn places_of(&self, key: &str) -> impl Iterator<Item = (usize, usize)> {
        let places = self.key.match_indices(key);
        places.filter_map(|(at, found)| Some((self.word_at(at)?, self.word_at(at + found.len())?)))
    }

    /// Whether a year of the text is at most this far from a recorded one. `None` if the text has no year.
    pub(super) fn names_year(&self, year: i32, tolerance: i32, title: TitleSpan) -> Option<bool> {
        let mut has_year = false;
        for index in (0..title.first).chain(title.end..self.words.len()) {
            let Some(stated) = self.year_at(index) else {
                continue;
            };
            if (stated - year).abs() <= tolerance {
                return Some(true);
            }
            has_year |= self.is_stated_year(index, stated);
        }
        has_year.then_some(false)
    }

    /// The years of the text, outside of the title.
    pub(super) fn years(&self, title: TitleSpan) -> Vec<i32> {
        (0..title.first)
            .chain(title.end..self.words.len())
            .filter_map(|index| self.year_at(index))
            .collect()
    }

    /// A span of nothing, for a record that was found without its title.
    pub(super) fn no_title(&self) -> TitleSpan {
        TitleSpan {
            first: self.words.len(),
            end: self.words.len(),
            is_delimited: false,
            has_subtitle: false,
            has_subtitle_behind_quote: false,
        }
    }

    /// Whether these words stand directly behind a title.
    pub(super) fn has_behind(&self, title: TitleSpan, key: &str) -> bool {
        let at = self.start(title.end);
        let end = self.word_at(at + key.len());
        self.key[at..].starts_with(key) && end.is_some_and(|end| self.is_open_behind(end))
    }

    /// Whether the words of a title, most of them, are in the text.
    pub(super) fn share_of_words(&self, words: &[&str]) -> f64 {
        if words.is_empty() {
            return 0.0;
        }
        let present = words
            .iter()
            .filter(|word| self.has_words(word, self.no_title()));
        present.count() as f64 / words.len() as f64
    }

    /// Whether a number that may be a year is one: at a mark, and not next to a number, as pages are.
    fn is_stated_year(&self, index: usize, year: i32) -> bool {
        let is_at_mark = self.is_stop_before(index) || self.is_stop_before(index + 1);
        let follows_number = index > 0 && !self.is_stop_before(index) && self.is_number(index - 1);
        let next = index + 1;
        let precedes_number =
            next < self.words.len() && !self.is_stop_before(next) && self.is_number(next);
        (1900..=2100).contains(&year) && is_at_mark && !follows_number && !precedes_number
    }

    /// The fields with letters behind a title and before a bar, without those of volume and pages.
    fn fields_behind(&self, title: TitleSpan) -> usize {
        let part = self.part_of(title.end.saturating_sub(1));
        (title.end..self.words.len())
            .filter(|index| self.part_of(*index) == part)
            .filter(|index| self.is_mark_before(*index) && !self.is_number(*index))
            .filter(|index| self.word(*index).len() > 2)
            .count()
    }

    fn year_at(&self, index: usize) -> Option<i32> {
        let word = self.word(index);
        // `2020a` marks the first of two works of a year.
        let digits = word.trim_end_matches(|c: char| c.is_ascii_lowercase());
        if digits.len() != 4 || word.len() > 5 {
            return None;
        }
        digits
            .parse()
            .ok()
            .filter(|year| (1500..2200).contains(year))
    }

    fn word(&self, index: usize) -> &str {
        &self.key[self.start(index)..self.start(index + 1)]
    }

    fn is_number(&self, index: usize) -> bool {
        self.word(index).bytes().all(|byte| byte.is_ascii_digit())
    }

    fn start(&self, index: usize) -> usize {
        self.words
            .get(index)
            .map_or(self.key.len(), |word| word.start)
    }

    /// The word that begins here; the number of words for the end of the text.
    fn word_at(&self, at: usize) -> Option<usize> {
        if at == self.key.len() {
            return Some(self.words.len());
        }
        self.words.binary_search_by_key(&at, |word| word.start).ok()
    }

    fn is_stop_before(&self, index: usize) -> bool {
        self.words.get(index).is_none_or(|word| word.is_behind_stop)
    }

    fn is_mark_before(&self, index: usize) -> bool {
        let is_colon = self
            .words
            .get(index)
            .is_some_and(|word| word.is_behind_colon);
        is_colon || self.is_stop_before(index)
    }

    fn is_open_before(&self, index: usize) -> bool {
        index == 0
            || self.is_mark_before(index)
            || self.is_number(index - 1)
            || self.word(index - 1) == "al"
            || self.is_notice_before(index)
    }

    /// Whether "retracted article" stands here before a title.
    fn is_notice_before(&self, index: usize) -> bool {
        let words: Vec<&str> = (index.saturating_sub(3)..index)
            .map(|index| self.word(index))
            .collect();
        (0..words.len()).any(|first| is_retraction(&words[first..].join(" ")))
    }

    fn is_open_behind(&self, index: usize) -> bool {
        self.is_mark_before(index)
            || self.is_number(index)
            || matches!(
                self.word(index),
                "arxiv" | "proceedings" | "advances" | "journal"
            )
            || is_retraction(self.word(index))
    }
}

/// The parts of a text between bars, each with the mark before it.
fn parts(text: &str) -> Vec<(char, &str)> {
    let mut parts = Vec::new();
    let mut mark = STOP;
    let mut rest = text;
    loop {
        let bars = BARS.iter();
        let next = bars.filter_map(|(bar, mark)| Some((rest.find(bar)?, *bar, *mark)));
        let Some((at, bar, next_mark)) = next.min_by_key(|(at, ..)| *at) else {
            parts.push((mark, rest));
            return parts;
        };
        parts.push((mark, &rest[..at]));
        rest = &rest[at + bar.len()..];
        mark = next_mark;
    }
}

/// The beginning of the key of a title, by which it is sought in texts; `None` of a shorter key.
pub(super) fn title_start(key: &str) -> Option<&str> {
    if key.len() < START_BYTES {
        return None;
    }
    Some(&key[..key.floor_char_boundary(START_BYTES)])
}

/// Whether a title is long enough to be sought within a text.
pub(super) fn is_long_title(folded: &str) -> bool {
    word_count(folded) >= LONG_TITLE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::parse_name;
    use crate::normalize::{folded, title_key};

    fn find(text: &str, title: &str) -> Option<TitleSpan> {
        FreeText::new(text).find_title(&title_key(title), word_count(&folded(title)))
    }

    #[test]
    fn a_title_is_found_in_every_style() {
        let title = "Attention is all you need";
        for text in [
            "Vaswani, A., Shazeer, N. (2017). Attention is all you need. In NeurIPS.",
            "[3] A. Vaswani et al., \"Attention Is All You Need,\" in Proc. NIPS, 2017, pp. 5998–6008.",
            "Vaswani A, Shazeer N. Attention is all you need. NIPS 2017;30:5998-6008.",
            "Vaswani et al 2017 Attention is all you need",
            "Vaswani 2017 Attention-is all you need NIPS",
        ] {
            assert!(find(text, title).is_some(), "{text}");
        }
        let longer = "Subakan, C. (2021). Attention is all you need in speech separation. ICASSP.";
        assert!(
            find(longer, "Attention is all you need in speech separation")
                .unwrap()
                .is_delimited
        );
        assert_eq!(
            find("LeCun, Y. Deep learning. Nature.", "Deep learning").map(|span| span.is_delimited),
            Some(true)
        );
        assert_eq!(
            find("LeCun, Y. Deep learning of X. Nature.", "Deep learning"),
            None
        );
    }

    #[test]
    fn years_and_authors_are_sought_outside_of_the_title() {
        let text = FreeText::new(
            "Doe, J. (2020). The year 1999 in review of art. Press, 12, 1998-2004. doi:10.1000/2015",
        );
        let title = text
            .find_title(&title_key("The year 1999 in review of art"), 7)
            .unwrap();
        assert_eq!(text.names_year(2021, 1, title), Some(true));
        assert_eq!(text.names_year(1999, 0, title), Some(false));
        assert_eq!(
            text.names_authors(&[parse_name("Jane Doe")], title),
            Some(true)
        );
        assert_eq!(
            text.names_authors(&[parse_name("Ann Review")], title),
            Some(false)
        );
        assert_eq!(text.identifiers()[0].key(), "doi:10.1000/2015");
    }
}

//! The keys by which references and records meet: identifiers, titles, beginnings of titles.
//!
//! A key is a hash of 64 bits, so that a hundred million of them fit on a disk and a hundred thousand references into
//! memory. Two works may share one: what is found by a key is compared before it counts.

use super::free_text::{FreeText, is_long_title, title_start};
use super::markup::plain;
use super::normalize::{
    ends_in_quotation, folded, main_title, title_key, without_notice, word_count, words,
};
use scholareval_core::domain::{Reference, WorkRecord};
use scholareval_core::text::identifiers::WorkIdentifier;

/// A hash of what identifies a work.
pub(super) type Key = u64;

/// Words of a reference by which similar titles are sought.
pub(super) const RARE_WORDS: usize = 3;

/// With what the keys of the titles of notices begin.
const NOTICES: [&str; 4] = [
    "retraction",
    "noticeofretraction",
    "statementofretraction",
    "withdrawal",
];

/// What a key is made of. The byte is in the files of indexes.
#[derive(Debug, Clone, Copy)]
enum KeyKind {
    Identifier = 1,
    Title = 2,
    Start = 3,
    /// Two words of a title. Not in files.
    Pair = 4,
}

/// FNV-1a: stable between versions, unlike the hashes of the standard library, since keys are in files.
fn key(kind: KeyKind, parts: [&str; 2]) -> Key {
    const PRIME: u64 = 0x0100_0000_01b3;
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    add(kind as u8);
    for part in parts {
        part.bytes().for_each(&mut add);
    }
    hash
}

fn identifier_key(identifier: &WorkIdentifier) -> Key {
    key(KeyKind::Identifier, [&identifier.key(), ""])
}

/// Whether this is the key of the title of a notice about a work: "Retraction: .." has the words of the work's title, too.
pub(super) fn is_of_notice(key: &str) -> bool {
    NOTICES.iter().any(|notice| key.starts_with(notice))
}

/// The title of a record, in the forms in which a reference may have it.
#[derive(Debug)]
pub(super) struct RecordTitle {
    /// Its words, without the subtitle that the source keeps apart.
    pub(super) folded: String,
    /// The key of the title.
    pub(super) key: String,
    /// The key with the subtitle.
    pub(super) whole: Option<String>,
    /// The key without the subtitle that is part of the title.
    pub(super) main: Option<String>,
    /// Whether the title without the subtitle ends in a quotation mark or a bracket.
    pub(super) is_main_quoted: bool,
}

impl RecordTitle {
    pub(super) fn of(record: &WorkRecord) -> Self {
        let title = plain(&record.title);
        let title = without_notice(&title);
        let folded = folded(title);
        let key = folded.replace(' ', "");
        let whole = record
            .subtitle
            .as_deref()
            .map(|subtitle| format!("{key}{}", title_key(subtitle)));
        let main = main_title(title);
        let before_subtitle = main.as_deref().unwrap_or(title);
        Self {
            is_main_quoted: ends_in_quotation(before_subtitle),
            main: main.map(|main| title_key(&main)),
            whole: whole.filter(|whole| *whole != key),
            folded,
            key,
        }
    }

    /// The forms that are equal to a title that is cited.
    pub(super) fn forms(&self) -> impl Iterator<Item = &str> {
        let forms = [Some(&self.key), self.whole.as_ref(), self.main.as_ref()];
        forms
            .into_iter()
            .flatten()
            .map(String::as_str)
            .filter(|form| !form.is_empty())
    }

    /// Whether a form is the title without a subtitle that is recorded.
    pub(super) fn has_subtitle_behind(&self, form: &str) -> bool {
        self.main.as_deref() == Some(form) || self.whole.is_some() && self.key == form
    }

    /// The keys of all forms, and of the beginning if the title is long enough to be sought within a text.
    pub(super) fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self
            .forms()
            .map(|form| key(KeyKind::Title, [form, ""]))
            .collect();
        if is_long_title(&self.folded)
            && let Some(start) = title_start(&self.key)
        {
            keys.push(key(KeyKind::Start, [start, ""]));
        }
        keys
    }
}

/// The key of two words of a title, in either order.
pub(super) fn pair_key(first: &str, second: &str) -> Key {
    key(KeyKind::Pair, [first.min(second), first.max(second)])
}

/// The keys of the identifiers of a record.
pub(super) fn identifiers_of_record(record: &WorkRecord) -> impl Iterator<Item = Key> {
    record
        .identifiers()
        .map(|identifier| identifier_key(&identifier))
}

/// A reference with all that it is looked up and compared by.
#[derive(Debug)]
pub(super) struct SoughtWork {
    /// With the identifiers that its text has.
    pub(super) reference: Reference,
    /// The words of the title.
    pub(super) folded: String,
    /// The key of the title.
    pub(super) key: String,
    /// The key without the subtitle.
    pub(super) main: Option<String>,
    /// The text, if the title must be sought in it.
    pub(super) text: Option<FreeText>,
}

impl SoughtWork {
    pub(super) fn new(reference: &Reference) -> Self {
        let mut reference = reference.clone();
        let title = plain(&reference.title);
        let title = without_notice(&title).to_owned();
        let folded = folded(&title);
        let mut text = None;
        if folded.is_empty()
            && let Some(written) = reference.text.clone()
        {
            let free = FreeText::new(&written);
            reference.take_read(free.identifiers().to_vec());
            text = Some(free);
        }
        Self {
            reference,
            key: folded.replace(' ', ""),
            main: main_title(&title).map(|main| title_key(&main)),
            folded,
            text,
        }
    }

    /// Whether it has an identifier that files of works hold for all of their works.
    pub(super) fn has_identifier(&self) -> bool {
        let cited = &self.reference;
        cited.doi.is_some() || cited.arxiv.is_some() || cited.pmid.is_some()
    }

    /// Whether an identifier of any system stands in it, and not only an address from which one is derived.
    pub(super) fn states_identifier(&self) -> bool {
        let mut identifiers = self.reference.identifiers();
        identifiers.any(|identifier| !identifier.is_derived)
    }

    pub(super) fn word_count(&self) -> usize {
        word_count(&self.folded)
    }

    /// The keys of its identifiers.
    pub(super) fn identifiers(&self) -> impl Iterator<Item = Key> {
        let identifiers = self.reference.identifiers();
        identifiers.map(|identifier| identifier_key(&identifier))
    }

    /// The keys of the titles that it has or, in free text, may have.
    pub(super) fn titles(&self) -> Vec<Key> {
        let (titles, starts) = match &self.text {
            Some(text) => (text.fields(), text.title_starts()),
            None => {
                let forms = [Some(&self.key), self.main.as_ref()];
                let forms = forms.into_iter().flatten().map(String::as_str);
                (forms.filter(|form| !form.is_empty()).collect(), Vec::new())
            }
        };
        let titles = titles
            .into_iter()
            .map(|title| key(KeyKind::Title, [title, ""]));
        let starts = starts
            .into_iter()
            .map(|start| key(KeyKind::Start, [start, ""]));
        let mut keys: Vec<Key> = titles.chain(starts).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// The words of the title, each once.
    pub(super) fn words(&self) -> Vec<&str> {
        let mut words = words(&self.folded);
        words.sort_unstable();
        words.dedup();
        words
    }

    /// The rarest words of the title, the rarest first; words of equal rarity by length.
    pub(super) fn rare_words(&self, occurrences: impl Fn(&str) -> u64) -> Vec<String> {
        let mut words: Vec<(u64, &str)> = self
            .words()
            .into_iter()
            .map(|word| (occurrences(word), word))
            .collect();
        words.sort_by_key(|(count, word)| (*count, std::cmp::Reverse(word.len()), *word));
        words.truncate(RARE_WORDS);
        words.into_iter().map(|(_, word)| word.to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::domain::WorkSource;

    fn record(title: &str, subtitle: Option<&str>) -> WorkRecord {
        let mut record = WorkRecord::new(WorkSource::Crossref);
        record.title = title.to_owned();
        record.subtitle = subtitle.map(str::to_owned);
        record
    }

    fn meet(cited: &SoughtWork, record: &WorkRecord) -> bool {
        let keys = RecordTitle::of(record).keys();
        cited.titles().iter().any(|key| keys.contains(key))
    }

    #[test]
    fn references_and_records_meet_in_every_form_of_a_title() {
        let mut cited = Reference::new("a", "b");
        for title in [
            "BERT",
            "BERT: Pre-training of Deep Models",
            "bert pre-training of deep models",
        ] {
            cited.title = title.to_owned();
            let cited = SoughtWork::new(&cited);
            assert!(
                meet(&cited, &record("BERT", Some("Pre-training of deep models"))),
                "{title}"
            );
        }
        cited.title = "BERT".to_owned();
        let cited = SoughtWork::new(&cited);
        assert!(meet(&cited, &record("BERT: Pre-Training", None)));
        assert!(!meet(&cited, &record("BERT and others", None)));
    }

    #[test]
    fn free_texts_meet_long_titles_anywhere_and_short_ones_as_a_field() {
        let text = "Doe 2020 A long title of words. See doi:10.1000/X";
        let cited = SoughtWork::new(&Reference::of_text("1", "a", text));
        assert!(meet(&cited, &record("A long title of words", None)));
        assert!(!meet(&cited, &record("long title", None)));
        assert_eq!(cited.reference.doi.as_deref(), Some("10.1000/x"));
        let cited = SoughtWork::new(&Reference::of_text("1", "a", "Doe J. Deep learning. 2020"));
        assert!(meet(&cited, &record("Deep learning", None)));
    }

    #[test]
    fn keys_stay_as_they_are_in_files() {
        assert_eq!(
            key(KeyKind::Identifier, ["doi:", "10.1000/x"]),
            840_722_973_364_991_065
        );
    }
}

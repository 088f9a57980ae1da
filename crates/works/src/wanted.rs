//! The references of a run by their keys: each record that is read is offered to them.
//!
//! Memory depends on the references alone. A record that shares neither a key nor rare words with any of them costs some
//! look-ups and is dropped.

use scholareval_core::domain::{CheckedReference, Reference, WorkRecord, WorkSource};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::keys::{Key, RecordTitle, SoughtWork, identifiers_of_record};
use super::matching::{Candidates, decide};
use super::normalize::words;

/// Rare words that a record shares with a reference whose title is similar. A title that differs in one word has at least
/// two of the three.
const SHARED_WORDS: usize = 2;

/// References that may share a rare word. A word of more is not rare, and each record with it would be compared with all.
const COMMON: usize = 500;

/// References, and the best records found so far.
#[derive(Debug)]
pub(super) struct WantedWorks {
    cited: Vec<SoughtWork>,
    keys: HashMap<Key, Vec<usize>>,
    words: HashMap<String, Vec<usize>>,
    candidates: Vec<Mutex<Candidates>>,
}

impl WantedWorks {
    pub(super) fn new(references: &[Reference]) -> Self {
        let cited: Vec<SoughtWork> = references.iter().map(SoughtWork::new).collect();
        let mut keys: HashMap<Key, Vec<usize>> = HashMap::new();
        let mut occurrences: HashMap<&str, u64> = HashMap::new();
        for (index, work) in cited.iter().enumerate() {
            for key in work.identifiers().chain(work.titles()) {
                keys.entry(key).or_default().push(index);
            }
            for word in work.words() {
                *occurrences.entry(word).or_default() += 1;
            }
        }
        let mut words: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, work) in cited.iter().enumerate() {
            let rare = work.rare_words(|word| occurrences.get(word).copied().unwrap_or_default());
            for word in rare {
                words.entry(word).or_default().push(index);
            }
        }
        words.retain(|_, references| references.len() <= COMMON);
        let candidates = cited.iter().map(|_| Mutex::default()).collect();
        Self {
            cited,
            keys,
            words,
            candidates,
        }
    }

    /// The number of references.
    pub(super) fn len(&self) -> usize {
        self.cited.len()
    }

    /// A reference.
    pub(super) fn sought(&self, index: usize) -> &SoughtWork {
        &self.cited[index]
    }

    /// Whether a record with the title of a reference was found.
    pub(super) fn has_title(&self, index: usize) -> bool {
        let candidates = self.candidates[index].lock();
        candidates
            .unwrap_or_else(PoisonError::into_inner)
            .has_title()
    }

    /// Gives a record to the references that may mean it.
    pub(super) fn offer(&self, record: &WorkRecord) {
        let title = RecordTitle::of(record);
        let mut takers = Vec::new();
        for key in identifiers_of_record(record).chain(title.keys()) {
            takers.extend(self.keys.get(&key).into_iter().flatten());
        }
        takers.extend(self.similar(&title));
        takers.sort_unstable();
        takers.dedup();
        for index in takers {
            self.offer_to(index, record, &title);
        }
    }

    /// Gives a record to a reference.
    pub(super) fn offer_to(&self, index: usize, record: &WorkRecord, title: &RecordTitle) {
        let mut candidates = self.candidates[index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        candidates.take(&self.cited[index], record, title);
    }

    /// The references that share enough rare words with a title.
    fn similar(&self, title: &RecordTitle) -> Vec<usize> {
        let mut words = words(&title.folded);
        words.sort_unstable();
        words.dedup();
        let mut hits: Vec<usize> = Vec::new();
        for word in words {
            hits.extend(self.words.get(word).into_iter().flatten());
        }
        if hits.len() < SHARED_WORDS {
            return Vec::new();
        }
        hits.sort_unstable();
        let mut similar: Vec<usize> = hits
            .windows(SHARED_WORDS)
            .filter(|window| window.first() == window.last())
            .map(|window| window[0])
            .collect();
        similar.dedup();
        similar
    }

    /// The decisions, in the order of the references.
    pub(super) fn decide(self, sources: &[WorkSource]) -> Vec<CheckedReference> {
        let candidates = self.candidates.into_iter().map(|of_reference| {
            of_reference
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner)
        });
        self.cited
            .iter()
            .zip(candidates)
            .map(|(cited, of_reference)| decide(cited, of_reference, sources))
            .collect()
    }
}

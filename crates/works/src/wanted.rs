//! An index of what a run cites, in memory: every record that is read is looked up in it.
//!
//! A dump gives all of its records, an index of works only those that its keys and words select. Which references a record
//! is compared with is decided here for both, and memory depends on the references alone. A record that shares neither a
//! key nor two rare words with any of them costs some look-ups and is dropped.

use scholareval_core::domain::{CheckedReference, WorkRecord, WorkSource};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use super::keys::{Key, RecordTitle, SoughtWork, identifiers_of_record, pair_key};
use super::matching::{Candidates, decide};
use super::normalize::words;

/// References that may share two rare words. Words of more are not rare, and each record with them would be compared with
/// all.
const COMMON: usize = 500;

/// References, and the best records found so far.
#[derive(Debug)]
pub(super) struct WantedWorks {
    cited: Vec<SoughtWork>,
    /// The rarest words of each title. A title that differs in one word has at least two of the three.
    rare: Vec<Vec<String>>,
    /// All of these words.
    words: HashSet<String>,
    /// The references of each identifier, title or pair of rare words.
    by_key: HashMap<Key, Vec<usize>>,
    candidates: Vec<Mutex<Candidates>>,
}

impl WantedWorks {
    /// These references; `counts` says of each word of their titles how frequent it is.
    pub(super) fn new(cited: Vec<SoughtWork>, counts: &HashMap<String, u64>) -> Self {
        let mut rare = Vec::with_capacity(cited.len());
        let mut by_key: HashMap<Key, Vec<usize>> = HashMap::new();
        let mut by_pair: HashMap<Key, Vec<usize>> = HashMap::new();
        for (index, work) in cited.iter().enumerate() {
            for key in work.identifiers().chain(work.titles()) {
                by_key.entry(key).or_default().push(index);
            }
            let rarest = work.rare_words(|word| counts.get(word).copied().unwrap_or_default());
            for [first, second] in pairs(&rarest) {
                let key = pair_key(first, second);
                by_pair.entry(key).or_default().push(index);
            }
            rare.push(rarest);
        }
        by_pair.retain(|_, references| references.len() <= COMMON);
        by_key.extend(by_pair);
        Self {
            words: rare.iter().flatten().cloned().collect(),
            candidates: cited.iter().map(|_| Mutex::default()).collect(),
            cited,
            rare,
            by_key,
        }
    }

    /// The references.
    pub(super) fn cited(&self) -> &[SoughtWork] {
        &self.cited
    }

    /// The words that select the records with a similar title, of the references whose title no record has so far: the
    /// three rarest words of a title, and each two of them.
    pub(super) fn similar_titles(&self) -> BTreeSet<Vec<&str>> {
        let mut selections = BTreeSet::new();
        for (rare, candidates) in self.rare.iter().zip(&self.candidates) {
            if lock(candidates).has_title() {
                continue;
            }
            if rare.len() > 2 {
                selections.insert(rare.iter().map(String::as_str).collect());
            }
            selections.extend(pairs(rare).map(Vec::from));
        }
        selections
    }

    /// Gives a record to the references that may mean it.
    pub(super) fn offer(&self, record: &WorkRecord) {
        let title = RecordTitle::of(record);
        let mut takers: Vec<usize> = Vec::new();
        let keys = identifiers_of_record(record).chain(title.keys());
        for key in keys.chain(self.pair_keys(&title)) {
            takers.extend(self.by_key.get(&key).into_iter().flatten());
        }
        takers.sort_unstable();
        takers.dedup();
        for index in takers {
            let cited = &self.cited[index];
            lock(&self.candidates[index]).take(cited, record, &title);
        }
    }

    /// The keys of each two words of a title that are rare in the title of a reference.
    fn pair_keys(&self, title: &RecordTitle) -> Vec<Key> {
        let mut words = words(&title.folded);
        words.retain(|word| self.words.contains(*word));
        words.sort_unstable();
        words.dedup();
        pairs(&words)
            .map(|[first, second]| pair_key(first, second))
            .collect()
    }

    /// The decisions, in the order of the references.
    pub(super) fn decide(self, sources: &[WorkSource]) -> Vec<CheckedReference> {
        let mut checked = Vec::with_capacity(self.cited.len());
        for (cited, candidates) in self.cited.iter().zip(self.candidates) {
            let candidates = candidates
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner);
            checked.push(decide(cited, candidates, sources));
        }
        checked
    }
}

/// How many of these references have each word of a title.
pub(super) fn counts_among(cited: &[SoughtWork]) -> HashMap<String, u64> {
    let mut counts = HashMap::new();
    for word in cited.iter().flat_map(SoughtWork::words) {
        *counts.entry(word.to_owned()).or_default() += 1;
    }
    counts
}

/// Each two of these words.
fn pairs<W: AsRef<str>>(words: &[W]) -> impl Iterator<Item = [&str; 2]> {
    words.iter().enumerate().flat_map(|(index, first)| {
        let behind = words[index + 1..].iter();
        behind.map(|second| [first.as_ref(), second.as_ref()])
    })
}

fn lock(candidates: &Mutex<Candidates>) -> std::sync::MutexGuard<'_, Candidates> {
    candidates.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Porter's stemmer in NLTK's extended mode, as google's `rouge_score` uses it, with a memory.

mod known;
mod porter;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use known::{Known, is_short, stem_of};

use super::tokens::{KEY_BYTES, PlainText};

/// A stemmer that remembers what it has stemmed, for words repeat.
///
/// May be shared between threads.
#[derive(Default)]
pub struct Stems {
    known: RwLock<Known>,
}

impl fmt::Debug for Stems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stems").finish_non_exhaustive()
    }
}

impl Stems {
    /// A stemmer that remembers nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The stem of a lower-cased word; words of at most three characters are their own stem.
    pub fn stem(&self, word: &str) -> Arc<str> {
        if is_short(word) {
            return word.into();
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(stem) = known.number_of(word).and_then(|number| known.stem(number)) {
            return Arc::clone(stem);
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        match known.learn(word) {
            Ok(number) => known.stem(number).map_or_else(|| stem_of(word).into(), Arc::clone),
            Err(stem) => stem.into(),
        }
    }
}

/// Numbers for the stems of a few texts that are to be compared: equal stems have equal numbers.
///
/// Most numbers are small ones; stems that the memory has no room for are numbered from `u32::MAX` down, and only
/// within one `StemNumbers`.
#[derive(Debug)]
pub struct StemNumbers<'a> {
    stems: &'a Stems,
    passing: HashMap<String, u32>,
}

impl<'a> StemNumbers<'a> {
    /// Numbers from the memory of `stems`.
    pub fn new(stems: &'a Stems) -> Self {
        Self { stems, passing: HashMap::new() }
    }

    /// Writes the number of the stem of each word of the text, in order, over what `numbers` held.
    pub fn read(&mut self, text: &PlainText, numbers: &mut Vec<u32>) {
        numbers.clear();
        let mut unknown = Vec::new();
        {
            let known = self.stems.known.read().unwrap_or_else(PoisonError::into_inner);
            for word in text.words() {
                let is_key = word.bytes.len() <= KEY_BYTES;
                let number = if is_key { known.number_of_key(word.key) } else { known.number_of(word.text()) };
                if number.is_none() {
                    unknown.push((numbers.len(), word.text()));
                }
                numbers.push(number.unwrap_or_default());
            }
        }
        if unknown.is_empty() {
            return;
        }
        let mut known = self.stems.known.write().unwrap_or_else(PoisonError::into_inner);
        for (at, word) in unknown {
            numbers[at] = known.learn(word).unwrap_or_else(|stem| {
                let next = u32::MAX - self.passing.len() as u32;
                *self.passing.entry(stem).or_insert(next)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stems_are_nltks_and_short_words_stay() {
        let stems = Stems::new();
        for (word, stem) in
            [("relational", "relat"), ("citations", "citat"), ("dying", "die"), ("was", "was"), ("ties", "tie")]
        {
            assert_eq!(&*stems.stem(word), stem);
            assert_eq!(&*stems.stem(word), stem, "from memory");
        }
    }

    #[test]
    fn words_of_any_length_are_stemmed() {
        let long = "x".repeat(100);
        assert_eq!(&*Stems::new().stem(&format!("{long}s")), long);
    }

    #[test]
    fn texts_share_the_numbers_of_equal_stems() {
        let stems = Stems::new();
        let mut numbers = StemNumbers::new(&stems);
        let (mut plain, mut one, mut other) = (PlainText::new(), Vec::new(), Vec::new());
        let long = "x".repeat(80);
        plain.read(&format!("The citations of {long}s; of internationalizations"));
        numbers.read(&plain, &mut one);
        plain.read(&format!("{long} internationalization the citation"));
        numbers.read(&plain, &mut other);
        // the, citat, of, the long one, of, internation ...; the long one is remembered by nobody.
        assert_eq!(one, [0, 1, 2, u32::MAX, 2, 3]);
        assert_eq!(other, [u32::MAX, 3, 0, 1]);
    }

    #[test]
    fn threads_share_one_memory() {
        let stems = Stems::new();
        let text: String = (0..2_000).map(|n| format!("word{n}s ")).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let (mut plain, mut all) = (PlainText::new(), Vec::new());
                    plain.read(&text);
                    StemNumbers::new(&stems).read(&plain, &mut all);
                    all.sort_unstable();
                    assert_eq!(all, (0..2_000).collect::<Vec<u32>>());
                });
            }
        });
    }

    proptest! {
        #[test]
        fn no_word_makes_it_panic(word in "\\PC{0,80}") {
            Stems::new().stem(&word);
        }
    }
}

//! The words seen so far and the numbers of their stems.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::porter;
use crate::text::tokens::KEY_BYTES;

/// So many words, and so many stems, are remembered; the language of one benchmark has about 40,000.
const REMEMBERED: usize = 200_000;
/// Stems of more bytes are no words (encoded data, addresses) and stay out of the memory.
const LONGEST: usize = 64;
/// Words of at most so many characters stay as they are.
const LONGEST_UNSTEMMED: usize = 3;

/// A place of the table; a key of 0 is an empty one.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    key: u128,
    number: u32,
}

/// Words and the numbers of their stems: equal stems have equal numbers.
///
/// Words of up to [`KEY_BYTES`] bytes, nearly all, are numbers in an open table (linear probing, at most half full);
/// its hash is seeded, so that no text can be made to fill one corner of it.
#[derive(Debug)]
pub(super) struct Known {
    slots: Vec<Slot>,
    filled: usize,
    seeds: [u64; 2],
    long: HashMap<Box<str>, u32>,
    stems: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    room: usize,
}

impl Default for Known {
    fn default() -> Self {
        Self::with_room(REMEMBERED)
    }
}

impl Known {
    /// A memory for so many words and so many stems.
    fn with_room(room: usize) -> Self {
        let random = RandomState::new();
        Self {
            slots: vec![Slot::default(); 1024],
            filled: 0,
            seeds: [random.hash_one(0), random.hash_one(1)],
            long: HashMap::new(),
            stems: Vec::new(),
            numbers: HashMap::new(),
            room,
        }
    }

    /// The number of the stem of a short word.
    #[inline]
    pub(super) fn number_of_key(&self, key: u128) -> Option<u32> {
        let slot = self.slots[self.place(key)];
        (slot.key == key).then_some(slot.number)
    }

    /// The number of the stem of any word.
    pub(super) fn number_of(&self, word: &str) -> Option<u32> {
        match key_of(word) {
            Some(key) => self.number_of_key(key),
            None => self.long.get(word).copied(),
        }
    }

    /// The stem with this number.
    pub(super) fn stem(&self, number: u32) -> Option<&Arc<str>> {
        self.stems.get(number as usize)
    }

    /// The number of the word's stem, remembered if there is room, or the stem of which this memory keeps nothing.
    ///
    /// A stem either has a number or never gets one: it is too long, or the memory is full.
    pub(super) fn learn(&mut self, word: &str) -> Result<u32, String> {
        if let Some(number) = self.number_of(word) {
            return Ok(number);
        }
        let stem = stem_of(word);
        let number = match self.numbers.get(stem.as_str()) {
            Some(number) => *number,
            None if stem.len() > LONGEST || self.stems.len() >= self.room => return Err(stem),
            None => {
                let (stem, number) = (Arc::<str>::from(stem), self.stems.len() as u32);
                self.stems.push(Arc::clone(&stem));
                self.numbers.insert(stem, number);
                number
            }
        };
        self.remember(word, number);
        Ok(number)
    }

    fn remember(&mut self, word: &str, number: u32) {
        if self.filled + self.long.len() >= self.room {
            return;
        }
        let Some(key) = key_of(word) else {
            self.long.insert(word.into(), number);
            return;
        };
        if (self.filled + 1) * 2 > self.slots.len() {
            let larger = vec![Slot::default(); self.slots.len() * 2];
            for slot in std::mem::replace(&mut self.slots, larger) {
                if slot.key != 0 {
                    let place = self.place(slot.key);
                    self.slots[place] = slot;
                }
            }
        }
        let place = self.place(key);
        self.slots[place] = Slot { key, number };
        self.filled += 1;
    }

    /// Where the key stands, or the empty place where it belongs.
    #[inline]
    fn place(&self, key: u128) -> usize {
        let [low, high] = [key as u64 ^ self.seeds[0], (key >> 64) as u64 ^ self.seeds[1]];
        let product = u128::from(low) * u128::from(high);
        // The length is a power of two, and half of the places are empty.
        let last = self.slots.len() - 1;
        let mut place = ((product >> 64) as u64 ^ product as u64) as usize & last;
        while self.slots[place].key != key && self.slots[place].key != 0 {
            place = (place + 1) & last;
        }
        place
    }
}

/// The word as a number, if it is short enough and no two words can have this number.
fn key_of(word: &str) -> Option<u128> {
    let mut bytes = [0; KEY_BYTES];
    bytes.get_mut(..word.len())?.copy_from_slice(word.as_bytes());
    (!word.is_empty() && !word.contains('\0')).then(|| u128::from_le_bytes(bytes))
}

/// The stem of a lower-cased word; words of at most three characters are their own stem.
pub(super) fn stem_of(word: &str) -> String {
    if is_short(word) { word.to_owned() } else { porter::stem(word) }
}

/// Whether the word is its own stem for its length.
pub(super) fn is_short(word: &str) -> bool {
    word.chars().nth(LONGEST_UNSTEMMED).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_words_keep_their_numbers() {
        let mut known = Known::default();
        let word = |n: u32| format!("{}{n}", ["w", "a word of many bytes, "][n as usize % 2]);
        let numbers: Vec<u32> = (0..5_000).map(|n| known.learn(&word(n)).unwrap()).collect();
        for (n, number) in (0..5_000).zip(&numbers) {
            assert_eq!(known.number_of(&word(n)), Some(*number));
            assert_eq!(known.stem(*number).unwrap().as_ref(), word(n));
        }
        assert_eq!(known.number_of("w5000"), None);
    }

    #[test]
    fn words_of_one_stem_have_one_number() {
        let mut known = Known::default();
        let number = known.learn("citations").unwrap();
        assert_eq!(known.learn("citation"), Ok(number));
        assert_eq!(known.learn("citat"), Ok(number));
        assert_ne!(known.learn("station"), Ok(number));
        assert_eq!(known.stem(number).map(|stem| &**stem), Some("citat"));
    }

    #[test]
    fn stems_of_more_than_64_bytes_are_given_back() {
        let mut known = Known::default();
        // 65 x and an s: the stem has 65 bytes; a byte less is remembered, under the word of 65 bytes.
        let word = |length: usize| "x".repeat(length) + "s";
        assert_eq!(known.learn(&word(65)), Err("x".repeat(65)));
        assert_eq!(known.learn(&word(64)), Ok(0));
        assert_eq!(known.number_of(&word(65)), None);
    }

    #[test]
    fn a_full_memory_gives_stems_back_and_keeps_what_it_has() {
        let mut known = Known::with_room(3);
        for (number, word) in ["cats", "dogs", "a longer word than a key"].into_iter().enumerate() {
            assert_eq!(known.learn(word), Ok(number as u32));
        }
        assert_eq!(known.learn("another"), Err("anoth".to_owned()));
        assert_eq!(known.learn("dogs"), Ok(1));
        // A known stem keeps its number, though there is no room for one more word that has it.
        assert_eq!((known.learn("cat"), known.number_of("cat")), (Ok(0), None));
    }

    #[test]
    fn a_zero_byte_is_a_letter_like_another() {
        let mut known = Known::default();
        assert_ne!(known.learn("ab"), known.learn("ab\0"));
        assert_eq!(key_of(""), None);
    }
}

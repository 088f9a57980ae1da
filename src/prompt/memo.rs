//! Remembers the last shared prefixes: an answer is fenced once, not once per call.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// So many prefixes are kept, 10 to 35 MB of them by the length of the answers; more than answers are worked on at a time,
/// so that none is fenced twice. With fewer than there are lanes every call would fence its own.
const KEPT: usize = 512;

/// The start that the user messages of one answer share.
#[derive(Debug, PartialEq, Eq)]
pub struct SharedPrefix {
    text: String,
}

impl SharedPrefix {
    /// That start.
    pub fn new(text: impl Into<String>) -> Self {
        // Hundreds are kept: a text that grew to its size may have taken twice the room.
        let mut text = text.into();
        text.shrink_to_fit();
        Self { text }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

struct Entry {
    prefix: usize,
    texts: Box<[Arc<str>]>,
    rendered: Arc<SharedPrefix>,
}

/// A small store of rendered prefixes, safe to share between threads.
#[derive(Default)]
pub(crate) struct PrefixMemo {
    entries: Mutex<VecDeque<Entry>>,
}

impl PrefixMemo {
    /// The prefix number `prefix` for these texts; made by `render` if it is not remembered.
    pub(crate) fn get(&self, prefix: usize, texts: &[&Arc<str>], render: impl FnOnce() -> String) -> Arc<SharedPrefix> {
        let is_it = |entry: &Entry| {
            entry.prefix == prefix
                && entry.texts.len() == texts.len()
                && entry.texts.iter().zip(texts).all(|(own, text)| same_text(own, text))
        };
        let known = |entries: &VecDeque<Entry>| entries.iter().find(|e| is_it(e)).map(|e| Arc::clone(&e.rendered));
        if let Some(rendered) = known(&self.lock()) {
            return rendered;
        }
        // Rendered outside the lock: two threads may do it twice, none waits for the other.
        let rendered = Arc::new(SharedPrefix::new(render()));
        let mut entries = self.lock();
        if entries.len() >= KEPT {
            entries.pop_back();
        }
        entries.push_front(Entry {
            prefix,
            texts: texts.iter().map(|text| Arc::clone(text)).collect(),
            rendered: Arc::clone(&rendered),
        });
        rendered
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Equal texts; nearly always the same allocation, which is the cheap answer.
fn same_text(a: &Arc<str>, b: &Arc<str>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_rendered_once_for_equal_texts_even_of_another_allocation() {
        let memo = PrefixMemo::default();
        let first = memo.get(0, &[&"q".into(), &"a".into()], || "one".to_owned());
        let second = memo.get(0, &[&"q".into(), &"a".into()], || "two".to_owned());
        assert_eq!((first.text(), second.text()), ("one", "one"));
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(memo.get(1, &[&"q".into(), &"a".into()], || "other prefix".to_owned()).text(), "other prefix");
        assert_eq!(memo.get(0, &[&"q".into(), &"b".into()], || "other answer".to_owned()).text(), "other answer");
    }

    #[test]
    fn the_oldest_prefix_makes_room() {
        let memo = PrefixMemo::default();
        for i in 0..=KEPT {
            memo.get(0, &[&"q".into(), &i.to_string().into()], || "old".to_owned());
        }
        assert_eq!(memo.lock().len(), KEPT);
        assert_eq!(memo.get(0, &[&"q".into(), &"0".into()], || "new".to_owned()).text(), "new");
    }
}

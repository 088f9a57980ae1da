//! Tables that are written as text: lists of words, pairs of words, and files of sections.

use std::collections::HashSet;
use std::sync::OnceLock;

/// Words that are looked up, written as one text with white space between them.
#[derive(Debug)]
pub struct WordList {
    text: &'static str,
    words: OnceLock<HashSet<&'static str>>,
}

impl WordList {
    /// The words of this text.
    pub const fn new(text: &'static str) -> Self {
        Self {
            text,
            words: OnceLock::new(),
        }
    }

    /// Whether the list has this word.
    pub fn contains(&self, word: &str) -> bool {
        let words = self
            .words
            .get_or_init(|| self.text.split_whitespace().collect());
        words.contains(word)
    }
}

/// The lines of a section of a file: it begins with its name and ends at an empty line. Blanks belong to the lines.
pub fn section(file: &'static str, name: &str) -> impl Iterator<Item = &'static str> {
    let lines = file
        .split("\n\n")
        .find_map(|section| section.strip_prefix(name)?.strip_prefix('\n'));
    let lines = lines.unwrap_or_default().split('\n');
    lines.filter(|line| !line.is_empty())
}

/// The pairs of a text of words with one space between them.
pub fn pairs(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut words = table.split(' ');
    std::iter::from_fn(move || words.next().zip(words.next()))
}

/// The second word of the pair that begins with this one.
pub fn second_of(table: &'static str, first: &str) -> Option<&'static str> {
    pairs(table)
        .find(|(name, _)| *name == first)
        .map(|(_, meant)| meant)
}

/// The character that an entity of HTML names by its number: `#8211` or `#x2013`.
pub fn numbered_character(entity: &str) -> Option<char> {
    let number = entity.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_by_lines_and_by_pairs() {
        let file = "one\na b\nc \n\ntwo\nd\n";
        assert_eq!(section(file, "one").collect::<Vec<_>>(), ["a b", "c "]);
        assert_eq!(section(file, "two").collect::<Vec<_>>(), ["d"]);
        assert_eq!(section(file, "three").count(), 0);
        assert_eq!(second_of("a b c d", "c"), Some("d"));
        assert_eq!(second_of("a b c d", "b"), None);
        let list = WordList::new("a b\n    c");
        assert!(list.contains("b") && list.contains("c") && !list.contains("a b"));
        assert_eq!(numbered_character("#x2013"), Some('–'));
        assert_eq!(numbered_character("#8211"), Some('–'));
        assert_eq!(numbered_character("#x110000"), None);
    }
}

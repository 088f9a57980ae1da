//! Words as labels: `yes` and `no`, or the names of the levels of a scale.

use std::collections::HashMap;
use std::sync::Arc;

/// Words that every file of labels may have.
const COMMON: [(&str, f64); 6] = [
    ("yes", 1.0),
    ("no", 0.0),
    ("true", 1.0),
    ("false", 0.0),
    ("met", 1.0),
    ("unmet", 0.0),
];

/// The words that stand for numbers in labels, whatever their case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LabelWords {
    levels: Vec<(String, f64)>,
}

impl LabelWords {
    /// The common words (yes and no, true and false, met and unmet), and the names of these levels with their values.
    pub fn with_levels(levels: Vec<(String, f64)>) -> Self {
        Self { levels }
    }

    /// The number that a word stands for. The name of a level comes before a common word; one that is given with two values is
    /// not known.
    pub(super) fn value(&self, word: &str) -> Option<f64> {
        let word = word.trim().to_lowercase();
        let mut number = None;
        for (name, value) in &self.levels {
            if name.trim().to_lowercase() == word {
                if number.is_some_and(|other| other != *value) {
                    return None;
                }
                number = Some(*value);
            }
        }
        let mut common = COMMON.iter().filter(|(name, _)| *name == word);
        number.or_else(|| common.next().map(|(_, value)| *value))
    }

    /// `yes, no, ..`, for errors.
    pub(super) fn known(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for name in self.levels.iter().map(|(name, _)| &**name) {
            if self.value(name).is_some() && name.parse::<f64>().is_err() {
                names.push(name);
            }
        }
        for (name, _) in COMMON {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }
}

/// The words and the numbers above 1 or below 0 of one file, by item, with the line of the first of each.
#[derive(Debug, Default)]
pub(super) struct MixedValues {
    words: HashMap<Option<Arc<str>>, (usize, String)>,
    beyond: HashMap<Option<Arc<str>>, (usize, f64)>,
}

impl MixedValues {
    /// Adds a value, with its word if it has one, and returns why the file has two scales for the item, if it has.
    pub(super) fn add(
        &mut self,
        line: usize,
        item: &Option<Arc<str>>,
        word: Option<&str>,
        value: f64,
    ) -> Option<String> {
        if let Some(word) = word {
            let first = (line, word.trim().to_owned());
            self.words.entry(item.clone()).or_insert(first);
        } else if !(0.0..=1.0).contains(&value) {
            self.beyond.entry(item.clone()).or_insert((line, value));
        }
        let (word_line, word) = self.words.get(item)?;
        let (number_line, number) = self.beyond.get(item)?;
        Some(format!(
            "value: words are numbers from 0 to 1 here, and line {number_line} has {number} where line {word_line} has {word:?}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_come_before_common_words_and_one_with_two_values_is_unknown() {
        let level = |(name, value): (&str, f64)| (name.to_owned(), value);
        let words = LabelWords::with_levels(
            [("Partly", 0.5), ("No", 0.25), ("full", 1.0), ("Full", 0.8)]
                .map(level)
                .to_vec(),
        );
        for (word, value) in [
            (" PARTLY ", Some(0.5)),
            ("no", Some(0.25)),
            ("Yes", Some(1.0)),
            ("full", None),
            ("maybe", None),
        ] {
            assert_eq!(words.value(word), value, "{word}");
        }
        assert_eq!(
            words.known(),
            "Partly, No, yes, no, true, false, met, unmet"
        );
    }
}

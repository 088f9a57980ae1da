//! The part of a page that is nearest to a statement: where a reader begins to check a verdict.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use scholareval_core::text::tokens::{token_ranges, tokens};

/// Words of a passage: a few sentences.
const PASSAGE_WORDS: usize = 60;
/// How far passages are apart, in words.
const STEP: usize = 20;

/// The words of a page with their places.
pub(super) struct PageWords<'a> {
    windows: &'a [Arc<str>],
    /// For each window its words, with their places.
    words: Vec<Vec<(Range<usize>, String)>>,
}

impl<'a> PageWords<'a> {
    /// The passages of a page that is read in these parts.
    pub(super) fn of(windows: &'a [Arc<str>]) -> Self {
        let words = windows
            .iter()
            .map(|text| token_ranges(text).zip(tokens(text)).collect());
        Self {
            windows,
            words: words.collect(),
        }
    }

    /// The passage with most words of the statement, the first one of several; `None` if none has any. A word counts once,
    /// and a number twice: it is rarely there by chance.
    pub(super) fn nearest(&self, statement: &str) -> Option<String> {
        let sought: HashSet<String> = tokens(statement)
            .filter(|word| word.chars().count() > 2 || is_number(word))
            .collect();
        let mut best = (0, 0..0, "");
        for (text, words) in self.windows.iter().zip(&self.words) {
            for start in (0..words.len()).step_by(STEP) {
                let passage = &words[start..words.len().min(start + PASSAGE_WORDS)];
                let count = hits(passage, &sought);
                if count > best.0
                    && let (Some(first), Some(last)) = (passage.first(), passage.last())
                {
                    best = (count, first.0.start..last.0.end, text);
                }
            }
        }
        let (count, place, text) = best;
        (count > 0).then(|| text[place].split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// For each statement the nearest passage of a text.
pub(super) fn nearest_passages(text: &str, statements: &[&str]) -> Vec<Option<String>> {
    let windows = [Arc::from(text)];
    let passages = PageWords::of(&windows);
    let nearest = statements
        .iter()
        .map(|statement| passages.nearest(statement));
    nearest.collect()
}

/// How many of the sought words a passage has.
fn hits(passage: &[(Range<usize>, String)], sought: &HashSet<String>) -> usize {
    let mut words: HashSet<&str> = HashSet::new();
    for (_, word) in passage {
        if sought.contains(word) {
            words.insert(word);
        }
    }
    words
        .iter()
        .map(|word| if is_number(word) { 2 } else { 1 })
        .sum()
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_passage_is_where_most_words_of_the_statement_are() {
        let mut text = "Other matters fill this page with many words. ".repeat(40);
        text.push_str("Arctic sea ice shrank by 13 % per\n decade since 1979.");
        text.push_str(&" Nothing of that kind follows here.".repeat(40));
        let windows: [Arc<str>; 1] = [text.into()];
        let passages = PageWords::of(&windows);
        let passage = passages
            .nearest("Sea ice shrinks by 13% each decade.")
            .unwrap();
        assert!(
            passage.contains("sea ice shrank by 13 % per decade"),
            "{passage}"
        );
        assert!(passage.split(' ').count() <= PASSAGE_WORDS + 2);
        assert_eq!(passages.nearest("Quokkas!"), None);
        assert_eq!(PageWords::of(&[]).nearest("ice"), None);
    }
}

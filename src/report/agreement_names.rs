//! Names short enough for the tables of an agreement.

use std::collections::BTreeMap;

use super::visible::{visible, without_middle};
use crate::analysis::rater_agreement::{RaterAgreement, RaterPair};

/// The widest name of a rater that stands in a table as it is.
const RATER: usize = 12;
/// Columns of a system's or an item's name; what is longer is broken once.
const PART: usize = 14;

/// What each rater is called in the tables: by its name or, where that is too long, by a letter of its own.
pub(super) struct RaterNames {
    letters: BTreeMap<String, String>,
}

impl RaterNames {
    pub(super) fn new(agreement: &RaterAgreement) -> Self {
        let taken = |letter: &str| agreement.raters.iter().any(|rater| *rater.name == *letter);
        let mut free = (0..).map(letter).filter(|letter| !taken(letter));
        let long = agreement.raters.iter().filter(|rater| visible(&rater.name).chars().count() > RATER);
        Self { letters: long.filter_map(|rater| Some((rater.name.to_string(), free.next()?))).collect() }
    }

    /// True if a rater has a letter.
    pub(super) fn has_letters(&self) -> bool {
        !self.letters.is_empty()
    }

    /// The rater's letter; nothing for one with a short name.
    pub(super) fn letter(&self, name: &str) -> &str {
        self.letters.get(name).map_or("", String::as_str)
    }

    pub(super) fn of(&self, name: &str) -> String {
        self.letters.get(name).cloned().unwrap_or_else(|| visible(name).into_owned())
    }

    /// Two raters in two lines.
    pub(super) fn below(&self, pair: &RaterPair) -> String {
        format!("{}\n– {}", self.of(&pair.first), self.of(&pair.second))
    }

    /// Two raters in one line.
    pub(super) fn beside(&self, pair: &RaterPair) -> String {
        format!("{} – {}", self.of(&pair.first), self.of(&pair.second))
    }
}

/// A to Z, then A2 to Z2 and so on.
fn letter(at: usize) -> String {
    let letter = char::from(b'A' + u8::try_from(at % 26).unwrap_or_default());
    if at < 26 { letter.to_string() } else { format!("{letter}{}", 1 + at / 26) }
}

/// The name of a system or an item in at most two lines, broken behind one of `-_./ ` or a blank where that fits; with
/// its middle left out where two lines are too few.
pub(super) fn part_name(name: &str) -> String {
    let shown: Vec<char> = middle(name, 2 * PART).chars().collect();
    if shown.len() <= PART {
        return shown.into_iter().collect();
    }
    let breaks = |at: &usize| matches!(shown[*at - 1], '-' | '_' | '.' | '/' | ' ' | '…');
    let fewest = shown.len().saturating_sub(PART).max(1);
    let at = (fewest..=PART).rev().find(breaks).unwrap_or(PART);
    let line = |part: &[char]| part.iter().collect::<String>().trim_end().to_owned();
    format!("{}\n{}", line(&shown[..at]), line(&shown[at..]))
}

/// The name, visible, with its middle left out where it is longer than `limit`: files of one set differ at the end.
pub(super) fn middle(name: &str, limit: usize) -> String {
    without_middle(&visible(name), limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_at_the_end_stay_different() {
        assert_eq!(middle("pairwise_dev_assigned_ann1", 12), "pairw…d_ann1");
        assert_eq!(middle("ann", 12), "ann");
        assert_eq!(middle("a\u{1b}b", 12), "a\\u{1b}b");
    }

    #[test]
    fn a_long_name_is_broken_where_it_has_a_joint() {
        assert_eq!(part_name("perplexity"), "perplexity");
        assert_eq!(part_name("openscholar_8b_rerank"), "openscholar_\n8b_rerank");
        assert_eq!(part_name("gpt-4o-2024-08-06"), "gpt-4o-2024-\n08-06");
        assert_eq!(part_name("abcdefghijklmnopqrst"), "abcdefghijklmn\nopqrst");
        // 14 and 14 columns are all there is
        let shown = part_name("openscholar_8b_rerank_without_feedback");
        assert!(shown.lines().all(|line| line.chars().count() <= PART) && shown.contains('…'), "{shown}");
    }

    #[test]
    fn letters_go_on_behind_z() {
        assert_eq!([0, 25, 26, 52].map(letter), ["A", "Z", "A2", "A3"]);
    }
}

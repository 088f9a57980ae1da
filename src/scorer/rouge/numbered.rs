//! What two texts of numbered tokens share: single tokens, pairs, and the longest common subsequence.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::common::Rows;
use super::{RougeScore, RougeScores};

/// Numbers up to here index a table; texts with greater ones are numbered anew before.
const LARGEST: u32 = 1 << 20;

/// The tokens that two texts share, by numbers from 0.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    /// By number of a token: 1 and its place in `counts`, 0 for what the left text has not. All 0 between texts.
    places: Vec<u32>,
    /// How often the left and the right text have each distinct token of the left one.
    counts: Vec<[u32; 2]>,
    left: Vec<u32>,
    right: Vec<u32>,
    /// The neighbours in the left text, and in the right one, of which the other text has both tokens.
    pairs: [Vec<u64>; 2],
}

impl Numbering {
    /// Takes two texts; returns how many tokens they share, each counted as often as the text that has it less often.
    pub(super) fn count(&mut self, left: &[u32], right: &[u32]) -> usize {
        let most = left.iter().chain(right).max().copied().unwrap_or_default();
        if most > LARGEST {
            let mut numbers = HashMap::new();
            let mut small = |tokens: &[u32]| -> Vec<u32> {
                let number = |token: &u32| {
                    let next = numbers.len() as u32;
                    *numbers.entry(*token).or_insert(next)
                };
                tokens.iter().map(number).collect()
            };
            let (left, right) = (small(left), small(right));
            return self.count_small(&left, &right, left.len() + right.len());
        }
        self.count_small(left, right, most as usize + 1)
    }

    fn count_small(&mut self, left: &[u32], right: &[u32], numbers: usize) -> usize {
        if self.places.len() < numbers {
            self.places.resize(numbers, 0);
        }
        self.counts.clear();
        for token in left {
            let place = &mut self.places[*token as usize];
            if *place == 0 {
                self.counts.push([0, 0]);
                *place = self.counts.len() as u32;
            }
            self.counts[*place as usize - 1][0] += 1;
        }
        self.right.clear();
        self.pairs[1].clear();
        let mut previous = 0;
        for token in right {
            let place = self.places[*token as usize];
            if place > 0 {
                self.counts[place as usize - 1][1] += 1;
                self.right.push(place - 1);
                if previous > 0 {
                    self.pairs[1].push(pair(previous, place));
                }
            }
            previous = place;
        }
        self.keep_shared_of_left(left);
        self.counts.iter().map(|[left, right]| *left.min(right) as usize).sum()
    }

    /// The left text without what the right one has not; and `places` is all 0 again.
    fn keep_shared_of_left(&mut self, left: &[u32]) {
        self.left.clear();
        self.pairs[0].clear();
        let mut previous = 0;
        for token in left {
            let mut place = self.places[*token as usize];
            if self.counts[place as usize - 1][1] == 0 {
                place = 0;
            } else {
                self.left.push(place - 1);
                if previous > 0 {
                    self.pairs[0].push(pair(previous, place));
                }
            }
            previous = place;
        }
        for token in left {
            self.places[*token as usize] = 0;
        }
    }

    /// The tokens of the left text that the right one has too.
    pub(super) fn left(&self) -> &[u32] {
        &self.left
    }

    /// The tokens of the right text that the left one has too.
    pub(super) fn right(&self) -> &[u32] {
        &self.right
    }
}

/// Two places, above 0, as one number above 0.
fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

/// Counts of pairs in an open table, linear probing, at most half full; the hash is seeded.
#[derive(Debug)]
struct PairCounts {
    /// Pair and count; a pair of 0 is an empty place.
    slots: Vec<(u64, u32)>,
    seeds: [u64; 2],
}

impl Default for PairCounts {
    fn default() -> Self {
        let random = RandomState::new();
        Self { slots: Vec::new(), seeds: [random.hash_one(0), random.hash_one(1)] }
    }
}

impl PairCounts {
    /// How many pairs two lists share, each counted as often as the list that has it less often.
    fn shared(&mut self, left: &[u64], right: &[u64]) -> usize {
        let (few, many) = if left.len() <= right.len() { (left, right) } else { (right, left) };
        if few.is_empty() {
            return 0;
        }
        self.slots.clear();
        self.slots.resize((2 * few.len()).next_power_of_two(), (0, 0));
        for pair in few {
            let (key, count) = self.slot(*pair);
            *key = *pair;
            *count += 1;
        }
        let mut shared = 0;
        for pair in many {
            let (_, count) = self.slot(*pair);
            shared += usize::from(*count > 0);
            *count = count.saturating_sub(1);
        }
        shared
    }

    /// The place of the pair, or the empty one where it belongs.
    fn slot(&mut self, pair: u64) -> &mut (u64, u32) {
        let product = u128::from(pair ^ self.seeds[0]) * u128::from(self.seeds[1] | 1);
        // The length is a power of two.
        let last = self.slots.len() - 1;
        let mut place = ((product >> 64) as u64 ^ product as u64) as usize & last;
        while self.slots[place].0 != pair && self.slots[place].0 != 0 {
            place = (place + 1) & last;
        }
        &mut self.slots[place]
    }
}

/// Memory for comparing texts, used again for the next ones.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    numbering: Numbering,
    pairs: PairCounts,
    rows: Rows,
}

impl Comparison {
    /// All three measures of two texts whose equal tokens have equal numbers.
    pub(super) fn scores(&mut self, reference: &[u32], hypothesis: &[u32]) -> RougeScores {
        let tokens = self.numbering.count(reference, hypothesis);
        let [left, right] = &self.numbering.pairs;
        let pairs = self.pairs.shared(left, right);
        let common = self.rows.common_length(self.numbering.left(), self.numbering.right());
        let (m, n) = (reference.len(), hypothesis.len());
        RougeScores {
            rouge_1: RougeScore::from_counts(tokens, m, n),
            rouge_2: RougeScore::from_counts(pairs, m.saturating_sub(1), n.saturating_sub(1)),
            rouge_l: RougeScore::from_counts(common, m, n),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{rouge_l, rouge_n};
    use super::*;

    #[test]
    fn only_shared_tokens_and_their_neighbours_are_kept() {
        let mut numbering = Numbering::default();
        // 7 twice and 8 once are shared; 9 and 5 are not. Neighbours: 7 8 on the left, 8 7 and 7 7 on the right.
        assert_eq!(numbering.count(&[7, 8, 9, 7], &[5, 8, 7, 7, 5, 7]), 3);
        assert_eq!((numbering.left(), numbering.right()), (&[0, 1, 0][..], &[1, 0, 0, 0][..]));
        assert_eq!(numbering.pairs, [vec![pair(1, 2)], vec![pair(2, 1), pair(1, 1)]]);
    }

    #[test]
    fn large_numbers_are_like_small_ones() {
        let mut comparison = Comparison::default();
        let small = comparison.scores(&[1, 2, 3, 1], &[2, 3, 4]);
        assert_eq!(comparison.scores(&[u32::MAX, 2, 3, u32::MAX], &[2, 3, u32::MAX - 1]), small);
        // 2 and 3 of 4 and of 3; the pair 2 3 of 3 and of 2.
        assert_eq!((small.rouge_1.precision, small.rouge_1.recall), (2.0 / 3.0, 0.5));
        assert_eq!((small.rouge_2.precision, small.rouge_2.recall), (0.5, 1.0 / 3.0));
    }

    proptest! {
        #[test]
        fn memory_used_before_changes_nothing(
            texts in prop::collection::vec(prop::collection::vec(0_u32..30, 0..200), 2..5)
        ) {
            let mut comparison = Comparison::default();
            for two in texts.windows(2) {
                let scores = comparison.scores(&two[0], &two[1]);
                prop_assert_eq!(scores.rouge_1, rouge_n(&two[0], &two[1], 1));
                prop_assert_eq!(scores.rouge_2, rouge_n(&two[0], &two[1], 2));
                prop_assert_eq!(scores.rouge_l, rouge_l(&two[0], &two[1]));
            }
        }
    }
}

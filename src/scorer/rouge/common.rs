//! The longest common subsequence: its length, fast; and where it lies, for people.

use super::numbered::Numbering;

/// Bits of a machine word.
const BITS: usize = 64;
/// Machine words of a row that are done together: they stay in registers.
const WORDS: usize = 4;

/// The length of a longest common subsequence of two sequences.
///
/// Bit-parallel (H. Hyyrö, *Bit-parallel LCS-length computation revisited*, 2004): with n the shorter length and m the
/// longer, about n m / 64 steps, and memory that grows with n + m. What only one sequence has is left out before.
pub fn longest_common_subsequence(left: &[u32], right: &[u32]) -> usize {
    let mut numbering = Numbering::default();
    numbering.count(left, right);
    Rows::default().common_length(numbering.left(), numbering.right())
}

/// Memory for the length of common subsequences.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// For each token the places it has in the strip at hand, as bits; all zero between strips.
    matches: Vec<[u64; WORDS]>,
    /// For each token of the longer sequence what the strip before carries over.
    carries: Vec<bool>,
}

impl Rows {
    /// The length for tokens that are small numbers. Strips of the shorter sequence one after the other, each against
    /// all of the longer one.
    pub(super) fn common_length(&mut self, left: &[u32], right: &[u32]) -> usize {
        let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
        let tokens = long.iter().max().map_or(0, |most| *most as usize + 1);
        if self.matches.len() < tokens {
            self.matches.resize(tokens, [0; WORDS]);
        }
        self.carries.clear();
        self.carries.resize(long.len(), false);
        let strips = short.chunks(BITS * WORDS);
        strips
            .map(|strip| match strip.len().div_ceil(BITS) {
                1 => self.strip::<1>(strip, long),
                2 => self.strip::<2>(strip, long),
                3 => self.strip::<3>(strip, long),
                _ => self.strip::<WORDS>(strip, long),
            })
            .sum()
    }

    /// By how much a strip of at most `N` machine words makes the common subsequence longer.
    ///
    /// For each token `row = (row + (row & matches)) | (row & !matches)`, where row and matches are one long number; a
    /// zero marks where the length grows by one.
    fn strip<const N: usize>(&mut self, strip: &[u32], long: &[u32]) -> usize {
        for (at, token) in strip.iter().enumerate() {
            // What the longer sequence has not cannot be common.
            if let Some(matches) = self.matches.get_mut(*token as usize) {
                matches[at / BITS] |= 1 << (at % BITS);
            }
        }
        let mut row = [u64::MAX; N];
        for (token, carried) in long.iter().zip(&mut self.carries) {
            let matches = &self.matches[*token as usize];
            let mut carry = *carried;
            for (word, matched) in row.iter_mut().zip(matches) {
                let (sum, over) = word.carrying_add(*word & *matched, carry);
                *word = sum | (*word & !*matched);
                carry = over;
            }
            *carried = carry;
        }
        for token in strip {
            if let Some(matches) = self.matches.get_mut(*token as usize) {
                *matches = [0; WORDS];
            }
        }
        row.iter().map(|word| word.count_zeros() as usize).sum()
    }
}

/// The pairs of positions (in `left`, in `right`) of one longest common subsequence, in order; where there are several,
/// the one whose positions come first. Takes time and memory of the product of the lengths: for explaining one item.
pub fn common_subsequence<T: PartialEq>(left: &[T], right: &[T]) -> Vec<(usize, usize)> {
    let width = right.len() + 1;
    // lengths[l * width + r]: of what is left behind l and r.
    let mut lengths = vec![0_u32; (left.len() + 1) * width];
    for l in (0..left.len()).rev() {
        for r in (0..right.len()).rev() {
            let below = (l + 1) * width + r;
            lengths[l * width + r] = if left[l] == right[r] {
                lengths[below + 1] + 1
            } else {
                lengths[below].max(lengths[l * width + r + 1])
            };
        }
    }
    let mut pairs = Vec::new();
    let (mut l, mut r) = (0, 0);
    while l < left.len() && r < right.len() {
        if left[l] == right[r] {
            pairs.push((l, r));
            l += 1;
            r += 1;
        } else if lengths[(l + 1) * width + r] > lengths[l * width + r + 1] {
            l += 1;
        } else {
            r += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_subsequence_need_not_be_contiguous() {
        // 1 2 3 4 5 and 9 1 3 9 5: 1 3 5 is common.
        assert_eq!(longest_common_subsequence(&[1, 2, 3, 4, 5], &[9, 1, 3, 9, 5]), 3);
        assert_eq!(common_subsequence(&[1, 2, 3, 4, 5], &[9, 1, 3, 9, 5]), [(0, 1), (2, 2), (4, 4)]);
        assert_eq!(longest_common_subsequence(&[], &[1]), 0);
    }

    #[test]
    fn carries_cross_machine_words() {
        let all: Vec<u32> = (0..200).collect();
        assert_eq!(longest_common_subsequence(&all, &all), 200);
        assert_eq!(longest_common_subsequence(&[7; 130], &[7; 129]), 129);
        // Every other number of 0..200 is 100 numbers.
        let even: Vec<u32> = all.iter().copied().filter(|n| n % 2 == 0).collect();
        assert_eq!(longest_common_subsequence(&all, &even), 100);
        // 0..2000 twice, and backwards once: ascending from each at most one, but 2000 of the second.
        let long: Vec<u32> = (0..2_000).chain(0..2_000).collect();
        let back: Vec<u32> = (0..2_000).rev().collect();
        assert_eq!(longest_common_subsequence(&long, &long[1_000..3_000]), 2_000);
        assert_eq!(longest_common_subsequence(&long, &back), 2);
    }

    proptest! {
        // The plain way takes the product of the lengths.
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn the_fast_length_is_that_of_the_subsequence(
            left in prop::collection::vec(0_u32..6, 0..700), right in prop::collection::vec(0_u32..8, 0..700)
        ) {
            let pairs = common_subsequence(&left, &right);
            prop_assert_eq!(longest_common_subsequence(&left, &right), pairs.len());
            prop_assert!(pairs.iter().all(|(l, r)| left[*l] == right[*r]));
            prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
        }
    }
}

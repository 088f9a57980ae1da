//! The longest common subsequence: its length, fast; and where it lies, for people.

use std::collections::HashMap;

/// Bits of a machine word.
const BITS: usize = 64;

/// The length of a longest common subsequence of two sequences.
///
/// Bit-parallel (H. Hyyrö, *Bit-parallel LCS-length computation revisited*, 2004): with n the shorter length and m the
/// longer, about n m / 64 steps, and memory that grows with n + m.
pub fn longest_common_subsequence(left: &[u32], right: &[u32]) -> usize {
    let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    let mut places: HashMap<u32, Vec<(usize, u64)>> = HashMap::with_capacity(short.len());
    for (at, token) in short.iter().enumerate() {
        let bits = places.entry(*token).or_default();
        match bits.last_mut() {
            Some((word, bits)) if *word == at / BITS => *bits |= 1 << (at % BITS),
            _ => bits.push((at / BITS, 1 << (at % BITS))),
        }
    }
    // A zero marks where the length of the common subsequence grows by one.
    let mut row = vec![u64::MAX; short.len().div_ceil(BITS)];
    let mut matches = vec![0_u64; row.len()];
    for token in long {
        let Some(bits) = places.get(token) else { continue };
        for (word, bits) in bits {
            matches[*word] = *bits;
        }
        advance(&mut row, &matches);
        for (word, _) in bits {
            matches[*word] = 0;
        }
    }
    row.iter().map(|word| word.count_zeros() as usize).sum()
}

/// One token further: `row = (row + (row & matches)) | (row & !matches)` over one long number.
fn advance(row: &mut [u64], matches: &[u64]) {
    let mut carry = false;
    for (word, matched) in row.iter_mut().zip(matches) {
        let (sum, over) = word.overflowing_add(*word & matched);
        let (sum, over_again) = sum.overflowing_add(u64::from(carry));
        carry = over || over_again;
        *word = sum | (*word & !matched);
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
    }

    proptest! {
        #[test]
        fn the_fast_length_is_that_of_the_subsequence(
            left in prop::collection::vec(0_u32..6, 0..200), right in prop::collection::vec(0_u32..6, 0..200)
        ) {
            let pairs = common_subsequence(&left, &right);
            prop_assert_eq!(longest_common_subsequence(&left, &right), pairs.len());
            prop_assert!(pairs.iter().all(|(l, r)| left[*l] == right[*r]));
            prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
        }
    }
}

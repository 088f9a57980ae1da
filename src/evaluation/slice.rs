//! Slices: fixed parts of the answers with about equally many calls, for scoring on several machines.
//!
//! Every machine computes the same slices, because they depend on the input and the options alone: not on the cache, which
//! differs between machines, and not on what a server replies.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// The I-th of N fixed parts of the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slice {
    /// 1..=`of`.
    pub number: u32,
    /// Number of parts.
    pub of: NonZeroU32,
}

impl Slice {
    /// Parses `I/N`, such as `2/5`, the form on the command line and in run records.
    ///
    /// # Errors
    /// A message with the expected form.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let message = || "not a part; write I/N with I from 1 to N, such as 2/5".to_owned();
        let (number, of) = text.trim().split_once('/').ok_or_else(message)?;
        let number = number.trim().parse::<u32>().map_err(|_| message())?;
        let of = of.trim().parse::<NonZeroU32>().map_err(|_| message())?;
        if !(1..=of.get()).contains(&number) {
            return Err(message());
        }
        Ok(Self { number, of })
    }

    /// Which of these units, each with so many calls, are in this slice.
    ///
    /// The unit with the most calls goes first, each to the slice with the fewest calls so far; of slices with equally many
    /// to the one with the fewest units, so that slices are even without any calls, too.
    pub(super) fn holds(self, calls: &[u64]) -> Vec<bool> {
        let mut order: Vec<usize> = (0..calls.len()).collect();
        order.sort_by_key(|&unit| Reverse(calls[unit]));
        // Slices beyond the number of units are empty.
        let count = self
            .of
            .get()
            .min(u32::try_from(calls.len()).unwrap_or(u32::MAX));
        let mut slices: BinaryHeap<_> = (1..=count).map(|number| Reverse((0, 0, number))).collect();
        let mut held = vec![false; calls.len()];
        for unit in order {
            let Some(Reverse((dealt, units, number))) = slices.pop() else {
                break;
            };
            held[unit] = number == self.number;
            slices.push(Reverse((
                calls[unit].saturating_add(dealt),
                units + 1,
                number,
            )));
        }
        held
    }
}

impl TryFrom<String> for Slice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::from_text(&text)
    }
}

impl From<Slice> for String {
    fn from(slice: Slice) -> Self {
        format!("{}/{}", slice.number, slice.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_begin_at_one_and_end_at_their_number() {
        assert_eq!(
            Slice::from_text("2/5").map(|slice| (slice.number, slice.of.get())),
            Ok((2, 5))
        );
        for text in ["0/5", "6/5", "2", "a/b", "1/0", "-1/3", ""] {
            assert!(
                Slice::from_text(text).unwrap_err().contains("2/5"),
                "{text}"
            );
        }
    }

    /// The calls of each slice.
    fn dealt(calls: &[u64], of: u32) -> Vec<u64> {
        let of = NonZeroU32::new(of).unwrap();
        let mut holders = vec![0; calls.len()];
        let mut sums = Vec::new();
        for number in 1..=of.get() {
            let held = Slice { number, of }.holds(calls);
            sums.push(
                (0..calls.len())
                    .filter(|&at| held[at])
                    .map(|at| calls[at])
                    .sum(),
            );
            (0..calls.len()).for_each(|at| holders[at] += u32::from(held[at]));
        }
        assert!(holders.iter().all(|count| *count == 1), "each in one slice");
        sums
    }

    #[test]
    fn every_unit_is_in_exactly_one_slice_and_slices_are_even_in_calls() {
        assert_eq!(dealt(&[4; 24], 3), [32, 32, 32]);
        // 9 | 7 | 5, then 5 to the last (10), 4 to the second (11), 2 to the first (11)
        assert_eq!(dealt(&[2, 9, 5, 7, 5, 4], 3), [11, 11, 10]);
        assert_eq!(dealt(&[3, 3], 4), [3, 3, 0, 0]);
        assert_eq!(dealt(&[], 2), [0, 0]);
    }

    #[test]
    fn units_without_calls_are_even_in_number() {
        let of = NonZeroU32::new(2).unwrap();
        let held = Slice { number: 1, of }.holds(&[0, 0, 0, 0]);
        assert_eq!(held, [true, false, true, false]);
    }
}

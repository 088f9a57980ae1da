//! Slices: fixed parts of the answers, for scoring on several machines.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::domain::{CaseId, SystemName};

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

    /// Whether the answer is in this slice. It depends on system and case alone, not on the other answers or the
    /// scorers.
    pub fn holds(&self, system: &SystemName, case_id: &CaseId) -> bool {
        let mut hasher = blake3::Hasher::new();
        for text in [system.as_str(), case_id.as_str()] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        u64::from_le_bytes(bytes) % u64::from(self.of.get()) == u64::from(self.number - 1)
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

    #[test]
    fn every_answer_is_in_exactly_one_part_and_the_parts_have_about_one_size() {
        let of = NonZeroU32::new(4).unwrap();
        let mut sizes = [0; 4];
        for case in 0..1000 {
            let (system, case_id) = ("s".into(), format!("c{case}").as_str().into());
            let holders: Vec<u32> = (1..=4)
                .filter(|number| {
                    Slice {
                        number: *number,
                        of,
                    }
                    .holds(&system, &case_id)
                })
                .collect();
            assert_eq!(holders.len(), 1);
            sizes[holders[0] as usize - 1] += 1;
        }
        // Expected: 250 with a standard deviation of sqrt(1000 * 1/4 * 3/4) = 13.7; tolerated: five of these.
        assert!(
            sizes.iter().all(|size: &i32| (size - 250).abs() < 69),
            "{sizes:?}"
        );
    }
}

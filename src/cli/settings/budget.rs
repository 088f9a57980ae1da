//! How much of the work, for how much: `--slice`, `--budget-usd`, `--budget-tokens`, `--time-limit`.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use serde_json::Value;

use super::keys;
use super::merge::Sources;
use super::value::SettingValue;
use crate::cli::args::BudgetArgs;
use crate::domain::{CaseId, SystemName};
use crate::error::Result;

/// Bounds of one run of the program. They change no score but for the slice, which changes what is scored.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BudgetSettings {
    /// Only this part of the answers.
    pub slice: Option<Slice>,
    /// US dollars that may be spent, > 0.
    pub usd: Option<f64>,
    /// Tokens that may be used, >= 1.
    pub tokens: Option<u64>,
    /// How long it may take.
    pub time_limit: Option<Duration>,
}

pub(super) fn merge_budget(sources: &mut Sources<'_>, args: &BudgetArgs) -> Result<BudgetSettings> {
    Ok(BudgetSettings {
        slice: sources.optional(&keys::SLICE, args.slice)?,
        usd: sources.optional(&keys::BUDGET_USD, args.budget_usd)?.map(|Dollars(usd)| usd),
        tokens: sources.optional(&keys::BUDGET_TOKENS, args.budget_tokens)?.map(NonZeroU64::get),
        time_limit: sources.optional(&keys::TIME_LIMIT, args.time_limit)?,
    })
}

/// The I-th of N fixed parts of the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// 1..=`of`.
    pub number: u32,
    /// How many parts there are.
    pub of: NonZeroU32,
}

impl Slice {
    /// As a run's record has it (`2/5`).
    pub fn recorded(text: &str) -> Option<Self> {
        Self::parse(text).ok()
    }

    /// True if that answer is in it. Where an answer belongs depends on system and case alone: whatever else is scored,
    /// whichever scorers run, it is in the same one of N parts.
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

impl SettingValue for Slice {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "not a part; write I/N with I from 1 to N, such as 2/5".to_owned();
        let (number, of) = text.trim().split_once('/').ok_or_else(wrong)?;
        let number = number.trim().parse::<u32>().map_err(|_| wrong())?;
        let of = of.trim().parse::<NonZeroU32>().map_err(|_| wrong())?;
        if !(1..=of.get()).contains(&number) {
            return Err(wrong());
        }
        Ok(Self { number, of })
    }

    fn to_json(&self) -> Value {
        Value::from(format!("{}/{}", self.number, self.of))
    }
}

/// An amount of US dollars, > 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dollars(pub f64);

impl SettingValue for Dollars {
    fn parse(text: &str) -> Result<Self, String> {
        let amount = text.trim().trim_start_matches('$').parse::<f64>().ok();
        let amount = amount.filter(|amount| amount.is_finite() && *amount > 0.0);
        amount.map(Self).ok_or_else(|| "not an amount of US dollars above 0; write for example 12.50".to_owned())
    }

    fn to_json(&self) -> Value {
        Value::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_begin_at_one_and_end_at_their_number() {
        assert_eq!(Slice::parse("2/5").map(|slice| (slice.number, slice.of.get())), Ok((2, 5)));
        for text in ["0/5", "6/5", "2", "a/b", "1/0", "-1/3", ""] {
            assert!(Slice::parse(text).unwrap_err().contains("2/5"), "{text}");
        }
    }

    #[test]
    fn every_answer_is_in_exactly_one_part_and_the_parts_are_alike() {
        let of = NonZeroU32::new(4).unwrap();
        let mut sizes = [0; 4];
        for case in 0..1000 {
            let (system, case_id) = ("s".into(), format!("c{case}").as_str().into());
            let holders: Vec<u32> =
                (1..=4).filter(|number| Slice { number: *number, of }.holds(&system, &case_id)).collect();
            assert_eq!(holders.len(), 1);
            sizes[holders[0] as usize - 1] += 1;
        }
        // 250 expected, standard deviation sqrt(1000 * 1/4 * 3/4) = 13.7: five of them
        assert!(sizes.iter().all(|size: &i32| (size - 250).abs() < 69), "{sizes:?}");
    }

    #[test]
    fn dollars_are_above_nothing() {
        assert_eq!(Dollars::parse("$12.50"), Ok(Dollars(12.5)));
        assert!(["0", "-1", "nan", "inf", "ten"].iter().all(|text| Dollars::parse(text).is_err()));
    }
}

//! How much of the work, for how much: `--slice`, `--budget-usd`, `--budget-tokens`, `--time-limit`.

use std::num::NonZeroU64;
use std::time::Duration;

use serde_json::Value;

use super::keys;
use super::merge::Sources;
use super::value::SettingValue;
use crate::cli::args::BudgetArgs;
use crate::error::Result;
use crate::evaluation::Slice;

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

impl SettingValue for Slice {
    fn parse(text: &str) -> Result<Self, String> {
        Self::from_text(text)
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
    fn dollars_are_above_nothing() {
        assert_eq!(Dollars::parse("$12.50"), Ok(Dollars(12.5)));
        assert!(["0", "-1", "nan", "inf", "ten"].iter().all(|text| Dollars::parse(text).is_err()));
    }
}

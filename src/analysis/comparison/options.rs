//! How systems are compared, and what is demanded of them.

use std::str::FromStr;

use clap::Args;
use serde::Serialize;

/// How systems are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Args)]
#[command(next_help_heading = "Statistics")]
pub struct ComparisonOptions {
    /// Level of the intervals
    #[arg(long, value_name = "SHARE", default_value = "0.95", value_parser = parse_share)]
    pub level: f64,
    /// Systems differ significantly below this p (corrected by Holm)
    #[arg(long, value_name = "P", default_value = "0.05", value_parser = parse_share)]
    pub alpha: f64,
    /// Resamples behind intervals and ranks
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub resamples: u32,
    /// Random sign assignments behind a p that is not exact
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub flips: u32,
    /// Seed of resamples and assignments
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// Test only the pairs with this system
    #[arg(long, value_name = "SYSTEM")]
    pub baseline: Option<String>,
    /// Report how many questions (and samples, where there are several) it takes to find this difference (0.02 is two
    /// points) [default: the observed one, with several samples only]
    #[arg(long, value_name = "D", value_parser = parse_difference)]
    pub wanted_difference: Option<f64>,
}

impl ComparisonOptions {
    /// 95% intervals, alpha 0.05, 10,000 resamples, 100,000 flips, all pairs, that seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            level: 0.95,
            alpha: 0.05,
            resamples: 10_000,
            flips: 100_000,
            seed,
            baseline: None,
            wanted_difference: None,
        }
    }
}

/// What must hold for exit code 0.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Gates")]
pub struct GateOptions {
    /// Require a mean: METRIC=VALUE or SYSTEM:METRIC=VALUE (repeatable); exit 6 if it is not reached
    #[arg(long, value_name = "WHAT=VALUE")]
    pub fail_under: Vec<Floor>,
    /// Require an order: "A>B", "A>=B" or "METRIC:A>B" (repeatable); exit 6 if it does not hold
    #[arg(long, value_name = "A>B", value_parser = parse_order)]
    pub require: Vec<String>,
    /// Check gates by the reported numbers, whatever is missing
    #[arg(long)]
    pub tolerate_missing: bool,
}

/// A mean that is demanded.
#[derive(Debug, Clone, PartialEq)]
pub struct Floor {
    /// `METRIC` or `SYSTEM:METRIC`.
    pub what: String,
    /// In natural units, 0.5 for 50%.
    pub value: f64,
}

impl FromStr for Floor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || "write METRIC=VALUE or SYSTEM:METRIC=VALUE, such as score=0.5".to_owned();
        let (what, value) = text.rsplit_once('=').ok_or_else(usage)?;
        let value: Option<f64> = value.trim().parse().ok();
        let value = value.filter(|value| value.is_finite()).ok_or_else(usage)?;
        let what = what.trim().to_owned();
        if what.is_empty() { Err(usage()) } else { Ok(Self { what, value }) }
    }
}

fn parse_order(text: &str) -> Result<String, String> {
    let has_sides = text
        .match_indices('>')
        .any(|(at, _)| !text[..at].trim().is_empty() && !text[at..].trim_matches(['>', '=', ' ']).is_empty());
    if has_sides {
        Ok(text.to_owned())
    } else {
        Err("write \"A>B\", \"A>=B\" or \"METRIC:A>B\", with quotes".to_owned())
    }
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share: Option<f64> = text.trim().parse().ok();
    share
        .filter(|share| *share > 0.0 && *share < 1.0)
        .ok_or_else(|| "not a share between 0 and 1, such as 0.95".to_owned())
}

fn parse_difference(text: &str) -> Result<f64, String> {
    let difference: Option<f64> = text.trim().parse().ok();
    let difference = difference.filter(|difference| *difference > 0.0 && difference.is_finite());
    difference.ok_or_else(|| "not a difference above 0, in the unit of files, such as 0.02 for two points".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_split_at_its_last_equals_sign() {
        let floor = |what: &str, value| Ok(Floor { what: what.to_owned(), value });
        assert_eq!("score=0.5".parse(), floor("score", 0.5));
        assert_eq!("a=b:score = 3".parse(), floor("a=b:score", 3.0));
        for wrong in ["score", "=0.5", "score=half", "score=nan", "score="] {
            assert!(wrong.parse::<Floor>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_order_needs_two_sides() {
        assert!(parse_order("a>b").is_ok() && parse_order("score: a >= b").is_ok());
        for wrong in ["a", "a>", ">b", "a>=", "score"] {
            assert!(parse_order(wrong).is_err(), "{wrong}");
        }
    }
}

//! How systems are compared.

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
    /// points)
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

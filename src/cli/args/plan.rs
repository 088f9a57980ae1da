//! Arguments of `plan`, and those of `score` that bound a run.

use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;

use super::ScoreArgs;
use crate::cli::settings::Dollars;
use crate::cli::settings::value::{SettingValue, Share};
use crate::evaluation::Slice;

/// How much of the work, for how much.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Bounds")]
pub struct BudgetArgs {
    /// Only the I-th of N fixed parts of the answers, such as 2/5; the caches of all parts can be merged
    #[arg(long, value_name = "I/N", value_parser = Slice::from_text)]
    pub slice: Option<Slice>,
    /// Stop before more than this is spent by this command (needs a price for every model) [default: no limit]
    #[arg(long, value_name = "USD", value_parser = Dollars::parse, allow_negative_numbers = true)]
    pub budget_usd: Option<Dollars>,
    /// Stop before more tokens, of prompts and replies, are used by this command [default: no limit]
    #[arg(long, value_name = "N", value_parser = NonZeroU64::parse)]
    pub budget_tokens: Option<NonZeroU64>,
    /// Stop in time to end after this long, such as 3h50m [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = Duration::parse)]
    pub time_limit: Option<Duration>,
}

/// Arguments of `plan`. They may hold secrets: no `Debug` on purpose.
#[derive(Clone, Default, Args)]
pub struct PlanArgs {
    /// How many of the questions that depend on a reply are taken to be asked [default: 0.7]
    #[arg(long, value_name = "SHARE", value_parser = Share::parse, allow_negative_numbers = true)]
    pub gate_rate: Option<Share>,
    /// What is scored, and by whom.
    #[command(flatten)]
    pub score: ScoreArgs,
}

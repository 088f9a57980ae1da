//! Arguments of `plan`.

use clap::Args;

use super::ScoreArgs;

/// Arguments of `plan`. They may hold secrets: no `Debug` on purpose.
#[derive(Clone, Default, Args)]
pub struct PlanArgs {
    /// Assumed share of the questions that depend on a reply and will be asked, 0 to 1
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, default_value_t = 0.7)]
    pub gate_rate: f64,
    /// What is scored, and by whom.
    #[command(flatten)]
    pub score: ScoreArgs,
}

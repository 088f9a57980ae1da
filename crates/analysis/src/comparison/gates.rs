//! Gates: conditions on a comparison, each met, missed or undecided.
//!
//! A [`Gate`] is parsed and its names resolved (`condition`) before anything is compared; a [`GateResult`] has its outcome
//! (`result`). A gate is decided by the interval, not by the estimate. If the interval holds the threshold, the gate is
//! *undecided*, so that asking the judge again does not turn met into missed.
//!
//! Missing data count against a gate: it must hold with every unscored component, and every missing answer, at its lowest; an
//! incomplete run meets no gate.

mod condition;
mod drift;
mod result;

pub use condition::Gate;
pub use drift::drift_gates;
pub use result::{GateOutcome, GateResult, gate_results};

use clap::Args;

/// The hint for a gate that fails only because of missing data.
pub const REMEDY: &str = "--tolerate-missing ignores missing data";

/// Conditions for exit code 0.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Gates")]
pub struct GateOptions {
    /// Require that A is at most 0.02 worse than B, "A>=B-0.02", better by 0.02, "A>=B+0.02", or significantly better, "A>B", or that
    /// means reach a value, "score>=0.5" or of one system "A:score>=0.5", in the unit of files (0.5, not 50); METRIC:A>=B-0.02 names the metric; can
    /// be repeated; exit 6 if one is missed, 8 if one is undecided
    #[arg(long, value_name = "CONDITION")]
    pub require: Vec<String>,
    /// With --across judges or prompts: require that the mean shift by the first metric, of every two runs, lies within -M and M, in the
    /// unit of files; exit 6 if its interval lies outside, 8 if it is undecided
    #[arg(long, value_name = "M", value_parser = positive, requires = "across")]
    pub margin: Option<f64>,
    /// Check gates by the reported numbers, whatever is missing
    #[arg(long)]
    pub tolerate_missing: bool,
}

/// Parses a margin.
fn positive(text: &str) -> Result<f64, String> {
    let margin = text.parse::<f64>().ok();
    let positive = margin.filter(|margin| margin.is_finite() && *margin > 0.0);
    positive.ok_or_else(|| "not a number above 0, such as 0.03".to_owned())
}

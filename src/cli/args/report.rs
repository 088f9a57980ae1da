//! Arguments of `report`.

use std::path::PathBuf;

use clap::Args;

/// Examples at the end of the help text.
pub(super) const EXAMPLES: &str = "\
Examples:
  One page with everything, to open in a browser:
    scholareval report runs/2026-11-20 --out report.html
  Two runs side by side, scores only (small enough for a mail):
    scholareval report run1 run2 --out report.html --no-answers
  Links lead to a case: report.html#case=ID&systems=a,b";

/// The runs and the page.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Run directories, or directories that hold several (unfinished ones are skipped)
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The page to write
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub out: PathBuf,
    /// Scores only: omit answers, sources and judges' replies
    #[arg(long)]
    pub no_answers: bool,
    /// Compare runs that differ in judge, prompts, tests or parser, and flag it on the page
    #[arg(long)]
    pub anyway: bool,
}

//! Arguments of `table`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::report::MetricsTableOptions;

/// Examples at the end of the help text.
pub(super) const EXAMPLES: &str = "\
Examples:
  A table for a paper, of a run by an LLM and one of the overlap with gold answers:
    scholareval table runs/1 runs/overlap --metrics score,rouge_l \\
      --names gpt=\"GPT-4o\" --names rouge_l=\"ROUGE-L\" --format latex
  With groups of columns and significance letters, as Markdown:
    scholareval table runs/1 --group \"Rubric=score,ann_score\" \\
      --group \"Parts=expertise,excerpts\" --letters --format markdown

LaTeX needs \\usepackage{booktabs,graphicx}. Means are over the cases with a value of
every system, as in compare. Systems of one name in several runs share a row, unless
both have a value of a metric: then their rows are RUN/SYSTEM.";

/// Format of the table on standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// For a terminal.
    #[default]
    Terminal,
    /// A float with booktabs rules.
    Latex,
    /// GitHub's.
    Markdown,
    /// Mean and interval of each metric in full precision.
    Csv,
}

/// Which runs are shown, and how.
#[derive(Debug, Clone, Args)]
pub struct TableArgs {
    /// Run directories, or directories that hold several (unfinished ones are skipped)
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// terminal, latex, markdown or csv
    #[arg(long, value_enum, default_value_t, hide_possible_values = true, value_name = "FORM")]
    pub format: TableFormat,
    /// The table.
    #[command(flatten)]
    pub options: MetricsTableOptions,
}

//! Arguments of the commands that read recorded runs: `compare`, `table`, `report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{DisplayOptions, ShownArgs};
use crate::analysis::comparison::{ComparisonOptions, GateOptions};
use crate::report::MetricsTableOptions;

/// What differs between compared runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Across {
    /// The judge.
    Judges,
    /// The prompts.
    Prompts,
    /// The systems, such as at two dates.
    Runs,
}

/// What an undecided gate means for the exit code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OnUndecided {
    /// A code of its own.
    #[default]
    Report,
    /// As if it were met.
    Pass,
    /// As if it were missed.
    Fail,
}

/// How gates are reported.
#[derive(Debug, Clone, Default, Args)]
pub struct GateOutput {
    /// What an undecided gate means: report, exit 8; pass or fail, as if it were met or missed
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    #[arg(hide_possible_values = true, requires = "require")]
    #[arg(help_heading = "Gates")]
    pub on_undecided: OnUndecided,
    /// Write the gates as a JUnit file, a test case for each condition
    #[arg(long, value_name = "FILE", requires = "require")]
    #[arg(help_heading = "Gates")]
    pub junit: Option<PathBuf>,
}

/// Which runs are compared, and how.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// Run directories, or directories that hold several (unfinished ones are skipped)
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Metrics to compare: names with commas between, or all [default: the headline metric of each scorer, or the benchmark's columns]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub metric: Vec<String>,
    /// Compare runs whose judge, prompts, tests or settings differ, and flag it
    #[arg(long)]
    pub anyway: bool,
    /// From one run to another: judges or prompts, what another judge of the same answers or other prompts change, of more than two
    /// runs which ranks hold under all; runs, how each system changes from the first run to each other one
    #[arg(long, value_name = "WHAT", value_enum, hide_possible_values = true)]
    #[arg(conflicts_with_all = ["baseline", "require", "tolerate_missing", "on_undecided", "junit"])]
    pub across: Option<Across>,
    /// The family of a system or a judge (OpenAI, Mistral, ..), where its name does not say it, for the self-preference of judges;
    /// may be repeated
    #[arg(long = "family", value_name = "NAME=FAMILY", value_parser = name_and_family, requires = "across")]
    pub families: Vec<(String, String)>,
    /// Estimate the means of RUN on the scale of the judge of this run, which scored a random part of the answers, drawn
    /// verdicts, or other systems (also a directory of runs); or of people by their labels of drawn verdicts
    #[arg(long, value_name = "OLD_RUN", help_heading = "Scale of an old judge")]
    #[arg(conflicts_with_all = ["across", "baseline", "require", "margin", "tolerate_missing", "on_undecided", "junit", "length_adjusted"])]
    pub corrected_by: Option<PathBuf>,
    /// Systems that do not count as those that both judges scored, such as those of a judge's own family
    #[arg(
        long,
        value_name = "SYSTEMS",
        value_delimiter = ',',
        hide_short_help = true
    )]
    #[arg(requires = "corrected_by", help_heading = "Scale of an old judge")]
    pub without: Vec<String>,
    /// Show the pairs with their length-adjusted differences
    #[arg(long, conflicts_with = "across")]
    pub length_adjusted: bool,
    /// How the comparison is shown.
    #[command(flatten)]
    pub display: DisplayOptions,
    /// What must hold for exit code 0.
    #[command(flatten)]
    pub gates: GateOptions,
    /// How gates are reported.
    #[command(flatten)]
    pub output: GateOutput,
    /// The statistics.
    #[command(flatten)]
    pub options: ComparisonOptions,
}

fn name_and_family(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((name, family)) if !name.is_empty() && !family.is_empty() => {
            Ok((name.to_owned(), family.to_owned()))
        }
        _ => Err("write NAME=FAMILY, such as mine=OpenAI".to_owned()),
    }
}

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

/// A label that LaTeX takes as it is.
fn parse_label(text: &str) -> Result<String, String> {
    let mut characters = text.chars();
    if text.is_empty() || !characters.all(is_plain) {
        return Err("write letters, digits and : - _ . /, such as tab:scores".to_owned());
    }
    Ok(text.to_owned())
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '_' | '.' | '/')
}

/// Which runs are shown, and how.
#[derive(Debug, Clone, Args)]
pub struct TableArgs {
    /// Run directories, or directories that hold several (unfinished ones are skipped)
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// terminal, latex, markdown or csv
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    #[arg(value_name = "FORM")]
    pub format: TableFormat,
    /// Caption in place of the built one; the notes follow it, unless --no-notes is given. Plain text: LaTeX commands are escaped
    #[arg(long, value_name = "TEXT")]
    pub caption: Option<String>,
    /// Label of the LaTeX table, for \ref [default: tab:results]
    #[arg(long, value_name = "NAME", value_parser = parse_label)]
    pub label: Option<String>,
    /// Leave out the notes, which then go to standard error
    #[arg(long)]
    pub no_notes: bool,
    /// How much is shown.
    #[command(flatten)]
    pub shown: ShownArgs,
    /// The table.
    #[command(flatten)]
    pub options: MetricsTableOptions,
}

/// The runs and the page.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Run directories, or directories that hold several (unfinished ones are skipped)
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The page to write
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    pub out: PathBuf,
    /// Labels of people, shown with the judge's: tables (CSV, JSON lines or a JSON list), or the directory of a sheet of label
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub labels: Vec<PathBuf>,
    /// Scores only: omit answers, sources, prompts and judges' replies
    #[arg(long)]
    pub no_answers: bool,
    /// The prompt set that judges were asked with, to show their prompts [default: built in]
    #[arg(long, value_name = "DIR", env = "SCHOLAREVAL_PROMPTS")]
    pub prompts: Option<PathBuf>,
    /// A page on runs of the same answers by several judges, or with several prompt sets: judges or prompts
    #[arg(long, value_name = "WHAT", value_enum, hide_possible_values = true)]
    #[arg(conflicts_with_all = ["labels", "no_answers", "prompts"])]
    pub across: Option<Across>,
    /// Compare runs that differ in judge, prompts, tests or parser, and flag it on the page
    #[arg(long)]
    pub anyway: bool,
}

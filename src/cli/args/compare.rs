//! Arguments of `compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// How the command is used, at the end of its help.
pub(super) const EXAMPLES: &str = "\
Columns:
  group    systems that share a letter are not told apart (p Holm, all pairs)
  % best   of the resamples of the questions, those in which the system has the highest mean
  n        cases that all systems have; no answer: cases of the run without an answer or value
  p Holm   p of the paired permutation test, corrected for all pairs of the metric; * below --alpha, ! hangs on what is missing
  W/T/L    cases where the first of the pair is better (won), equal (tied), worse (lost)
  d_z      Cohen's d of the paired differences: their mean by their standard deviation
  Intervals of pairs are not corrected for the number of pairs; stars and p Holm are.

Gates:
  --fail-under METRIC=VALUE          every system's mean is at least VALUE, in the unit of files (0.5, not 50); counts have no floor
  --fail-under SYSTEM:METRIC=VALUE   that system's
  --require \"A>B\"                    A is better than B and told apart from it (p corrected by Holm)
  --require \"A>=B\"                   B is not told apart as the better one
  --require \"METRIC:A>B\"             by that metric
  A gate that holds only if what is missing is left out is not met (exit 6), unless --tolerate-missing.

Examples:
  The systems of a run, by its main score:
    scholareval compare runs/1
  Two runs of one judge on other systems, every metric, against one of them:
    scholareval compare runs/1 runs/2 --metric all --baseline gpt
  A table for a paper:
    scholareval compare runs/1 --metric score,ann_score --format latex > comparison.tex
  A gate for CI:
    scholareval compare runs/1 --fail-under new:score=0.5 --require \"new>=old\"";

/// Form of the comparison on standard output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// For a terminal.
    #[default]
    Table,
    /// One tidy table, a row a system and a row a pair.
    Csv,
    /// Everything.
    Json,
    /// GitHub's.
    Markdown,
    /// Floats with booktabs rules.
    Latex,
}

/// A mean that is demanded.
#[derive(Debug, Clone, PartialEq)]
pub struct Floor {
    /// `METRIC` or `SYSTEM:METRIC`.
    pub what: String,
    /// In the unit of files.
    pub value: f64,
}

/// Which runs are compared, and how.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// Run directories, or directories that hold several
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// What is compared: a name, several with commas, or all [default: score, else the main metric of the first scorer]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub metric: Vec<String>,
    /// Test only the pairs with this system
    #[arg(long, value_name = "SYSTEM")]
    pub baseline: Option<String>,
    /// Compare runs whose judge, prompts, tests or settings differ, and mark it
    #[arg(long)]
    pub anyway: bool,
    /// table, csv, json, markdown or latex
    #[arg(long, value_enum, default_value_t, hide_possible_values = true, value_name = "FORM")]
    pub format: CompareFormat,
    /// No notes on standard error; errors and unmet gates only
    #[arg(long, short)]
    pub quiet: bool,
    /// Demand a mean: METRIC=VALUE or SYSTEM:METRIC=VALUE (repeatable); exit 6 if it is not reached
    #[arg(long, value_name = "WHAT=VALUE", value_parser = parse_floor, help_heading = "Gates")]
    pub fail_under: Vec<Floor>,
    /// Demand an order: "A>B", "A>=B" or "METRIC:A>B" (repeatable); exit 6 if it does not hold
    #[arg(long, value_name = "A>B", value_parser = parse_demand, help_heading = "Gates")]
    pub require: Vec<String>,
    /// Let gates look at the numbers as reported, whatever is missing
    #[arg(long, help_heading = "Gates")]
    pub tolerate_missing: bool,
    /// Level of the intervals
    #[arg(long, value_name = "SHARE", default_value = "0.95", value_parser = parse_inner_share, help_heading = "Statistics")]
    pub level: f64,
    /// Systems are told apart below this p (corrected by Holm)
    #[arg(long, value_name = "P", default_value = "0.05", value_parser = parse_inner_share, help_heading = "Statistics")]
    pub alpha: f64,
    /// Resamples behind intervals and ranks
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000), help_heading = "Statistics")]
    pub resamples: u32,
    /// Random sign assignments behind a p that is not exact
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000), help_heading = "Statistics")]
    pub flips: u32,
    /// Seed of resamples and assignments
    #[arg(long, value_name = "N", default_value_t = 42, help_heading = "Statistics")]
    pub seed: u64,
    /// Tell how many questions (and draws, where there are repeated ones) it takes to find this difference (0.02 is two
    /// points) [default: the observed one, with repeated draws alone]
    #[arg(long, value_name = "D", value_parser = parse_difference, help_heading = "Statistics")]
    pub wanted_difference: Option<f64>,
}

fn parse_floor(text: &str) -> Result<Floor, String> {
    let usage = || "write METRIC=VALUE or SYSTEM:METRIC=VALUE, such as score=0.5".to_owned();
    let (what, value) = text.rsplit_once('=').ok_or_else(usage)?;
    let value: Option<f64> = value.trim().parse().ok();
    let value = value.filter(|value| value.is_finite()).ok_or_else(usage)?;
    let what = what.trim().to_owned();
    if what.is_empty() { Err(usage()) } else { Ok(Floor { what, value }) }
}

fn parse_demand(text: &str) -> Result<String, String> {
    let has_sides = text
        .match_indices('>')
        .any(|(at, _)| !text[..at].trim().is_empty() && !text[at..].trim_matches(['>', '=', ' ']).is_empty());
    if has_sides {
        Ok(text.to_owned())
    } else {
        Err("write \"A>B\", \"A>=B\" or \"METRIC:A>B\", with quotes".to_owned())
    }
}

fn parse_inner_share(text: &str) -> Result<f64, String> {
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
        assert_eq!(parse_floor("score=0.5"), floor("score", 0.5));
        assert_eq!(parse_floor("a=b:score = 3"), floor("a=b:score", 3.0));
        for wrong in ["score", "=0.5", "score=half", "score=nan", "score="] {
            assert!(parse_floor(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_order_needs_two_sides() {
        assert!(parse_demand("a>b").is_ok() && parse_demand("score: a >= b").is_ok());
        for wrong in ["a", "a>", ">b", "a>=", "score"] {
            assert!(parse_demand(wrong).is_err(), "{wrong}");
        }
    }
}

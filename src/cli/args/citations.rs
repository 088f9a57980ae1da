//! Arguments of `citations`.

use clap::Args;
use serde::Serialize;

use super::AnswerArgs;
use crate::evaluation::options::{CaseOptions, GoldOptions, WorksOptions};
use crate::scorer::citation::MarkerOptions;
use crate::stats::FoundReferences;

/// Answers or libraries, and what their citations are checked by.
#[derive(Clone, Args, Serialize)]
pub struct CitationsArgs {
    /// How many of known real works the files of works hold, as sources coverage prints it: 480/513; with it the share of
    /// works that do not exist is estimated
    #[arg(long, value_name = "FOUND/ALL", value_parser = parse_coverage, help_heading = "Scorers")]
    #[serde(skip)]
    pub coverage: Option<WorksCoverage>,
    /// The answers.
    #[command(flatten)]
    #[serde(flatten)]
    pub answers: AnswerArgs,
    /// Which cases.
    #[command(flatten)]
    pub cases: CaseOptions,
    /// What they are checked by.
    #[command(flatten)]
    pub scorers: CitationScorers,
}

/// What citations are checked by.
#[derive(Debug, Clone, Args, Serialize)]
pub struct CitationScorers {
    /// Gold answers, which name sources.
    #[command(flatten)]
    #[serde(flatten)]
    pub gold: GoldOptions,
    /// How markers are read.
    #[command(flatten)]
    #[serde(flatten)]
    pub markers: MarkerOptions,
    /// Files of works and of retractions.
    #[command(flatten)]
    #[serde(flatten)]
    pub works: WorksOptions,
}

/// How many of known real works the files of works hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorksCoverage(pub FoundReferences);

/// Parses `480/513`.
fn parse_coverage(text: &str) -> Result<WorksCoverage, String> {
    let number = |part: &str| part.trim().replace(',', "").parse::<u64>().ok();
    let counts = text.split_once('/');
    let counts = counts.and_then(|(found, all)| Some((number(found)?, number(all)?)));
    match counts {
        Some((found, checked)) if found > 0 && found <= checked && checked <= MOST_WORKS => {
            Ok(WorksCoverage(FoundReferences { found, checked }))
        }
        _ => Err(
            "not FOUND/ALL, the works that were found and all that were sought, such as 480/513"
                .to_owned(),
        ),
    }
}

/// More works than anybody collects to measure coverage.
const MOST_WORKS: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_is_two_counts() {
        let parsed = parse_coverage("480/513").unwrap().0;
        assert_eq!((parsed.found, parsed.checked), (480, 513));
        assert!(parse_coverage("1,480/1,513").is_ok());
        for text in ["0/5", "6/5", "0.9", "5", "a/b", "1/99999999999"] {
            assert!(parse_coverage(text).is_err(), "{text}");
        }
    }
}

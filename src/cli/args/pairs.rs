//! Arguments of `pairs`.

use clap::Args;
use serde::Serialize;

use super::{AnswerArgs, JudgingArgs};
use crate::evaluation::PairChoice;
use crate::evaluation::options::{BoundOptions, CaseOptions};
use crate::scorer::citation::MarkerOptions;

/// How `pairs` is used, at the end of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  What three systems cost in both orders, then the comparison (the same command continues where it stopped):
    scholareval pairs answers/ --tests tests.json --model MODEL --out runs/pairs --dry-run
    scholareval pairs answers/ --tests tests.json --model MODEL --out runs/pairs
  A new system against the old one, each question in one order, half of the calls:
    scholareval pairs answers/ --tests tests.json --model MODEL --baseline old --orders one --out runs/pairs
  The same until it is decided, both orders only where one is not enough:
    scholareval pairs answers/ --tests tests.json --model MODEL --until \"new>=old-0.05\" --orders auto --out runs/pairs
  By the criteria of the rubric, each weighted as there:
    scholareval pairs answers/ --tests tests.json --model MODEL --by-criteria --out runs/pairs
  Gates, people's preferences, the page:
    scholareval compare runs/pairs --require \"new>=old-0.05\"
    scholareval agree runs/pairs --labels preferences.csv
    scholareval report runs/pairs --out report.html";

/// The answers of several systems, and which of them are compared. It may hold secrets: it has no `Debug` on purpose.
#[derive(Clone, Args, Serialize)]
pub struct PairsArgs {
    /// Which pairs are compared.
    #[command(flatten)]
    pub pairs: PairChoice,
    /// The answers.
    #[command(flatten)]
    #[serde(flatten)]
    pub answers: AnswerArgs,
    /// Which cases.
    #[command(flatten)]
    pub cases: CaseOptions,
    /// How many are asked about.
    #[command(flatten)]
    pub bounds: BoundOptions,
    /// How predictions are read.
    #[command(flatten)]
    pub scorers: MarkerOptions,
    /// Who judges.
    #[command(flatten)]
    #[serde(flatten)]
    pub judging: JudgingArgs,
}

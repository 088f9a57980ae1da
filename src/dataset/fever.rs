//! FEVER's files: gold, predictions, claims and teams.
//!
//! Predictions are read as a stream, some megabytes at a time, lines in parallel, and handed on in file order; only the
//! gold is kept, in one block of text a few hundred claims. [`PredictionFile::read`] joins each prediction to its gold:
//! what stands in its own line, or the gold file's by order or by id.

mod check;
mod gold;
mod lines;
mod predictions;
mod teams;
mod wire;

pub use check::{Submission, check_submission};
pub use gold::FeverGold;
pub use predictions::{Join, JoinedPrediction, PredictionFile, PredictionsRead};
pub use teams::{PublishedRow, Team, fever_2018_leaderboard, load_teams};

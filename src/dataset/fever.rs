//! FEVER's files: gold, predictions, claims and teams.
//!
//! Predictions are read as a stream, some megabytes at a time, lines in parallel, and handed on in file order; only the
//! gold is kept, in one block of text a few hundred claims. [`PredictionFile::read`] joins each prediction to its gold:
//! what stands in its own line, or the gold file's by order or by id.
//!
//! The worked example of `fever-scorer`'s README as files, once with the gold in the predictions and once blind:
//!
//! ```
//! use scholareval::dataset::fever::{FeverGold, Join, PredictionFile};
//! use scholareval::domain::Mode;
//! use scholareval::scorer::fever::{FeverScores, Tally, score_instance};
//!
//! fn score(path: &std::path::Path, gold: Option<&FeverGold>) -> Result<FeverScores, Box<dyn std::error::Error>> {
//!     let file = PredictionFile { path, gold, join: Join::Order, mode: Mode::Default };
//!     let (mut tally, mut failed) = (Tally::default(), None);
//!     file.read(
//!         |joined| score_instance(&joined.gold, &joined.prediction, Some(5)),
//!         |scored| match scored {
//!             Ok(score) => tally.add(score),
//!             Err(raised) => failed = Some(raised),
//!         },
//!     )?;
//!     Ok(failed.map_or(tally.scores(Mode::Default), Err)?)
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let gold = r#""label": "REFUTES", "evidence": [[[null, null, "page1", 1], [null, null, "page2", 2]]]"#;
//! let first = r#""predicted_label": "REFUTES", "predicted_evidence": [["page1", 1]]"#;
//! let second = r#""predicted_label": "REFUTES", "predicted_evidence": [["page1", 1], ["page2", 2], ["page3", 3]]"#;
//!
//! let dir = tempfile::tempdir()?;
//! let (with_gold, blind, apart) = (dir.path().join("a"), dir.path().join("b"), dir.path().join("gold"));
//! std::fs::write(&with_gold, format!("{{{gold}, {first}}}\n{{{gold}, {second}}}\n"))?;
//! std::fs::write(&blind, format!("{{{first}}}\n{{{second}}}\n"))?;
//! std::fs::write(&apart, format!("{{{gold}}}\n{{{gold}}}\n"))?;
//!
//! let scores = score(&with_gold, None)?;
//! assert_eq!((scores.strict_score, scores.label_accuracy, scores.recall, scores.f1), (0.5, 1.0, 0.5, 0.625));
//! assert_eq!(format!("{:.3}", scores.precision), "0.833");
//! assert_eq!(score(&blind, Some(&FeverGold::load(&apart, Mode::Default)?))?, scores);
//! # Ok(())
//! # }
//! ```

mod check;
mod gold;
mod lines;
mod predictions;
mod scan;
mod teams;
mod wire;

pub use check::{Submission, check_submission};
pub use gold::FeverGold;
pub use predictions::{Join, JoinedPrediction, PredictionFile, PredictionsRead};
pub use teams::{PublishedRow, Team, fever_2018_leaderboard, load_teams};

//! Fact verification without a judge: scores prediction files of the shared tasks FEVER and SciFact against gold labels
//! and evidence.
//!
//! [`fever`] and [`scifact`] hold the formulas as functions of one claim and of all claims; `*_files` read and check
//! their JSONL files; [`scifact_modules`] scores the outputs of SciFact's three modules. [`FeverOptions::leaderboard`]
//! and its counterparts turn files into a [`Leaderboard`].

pub mod claims;
pub mod fever;
pub(crate) mod fever_board;
pub mod fever_files;
pub mod leaderboard;
pub mod scifact;
pub(crate) mod scifact_board;
pub mod scifact_files;
pub mod scifact_modules;

pub use claims::EntryId;
pub use fever_board::FeverOptions;
pub use leaderboard::{CountedPart, Explanation, Leaderboard, Measurement, Standing};
pub use scifact_board::{ScifactFiles, ScifactLabels, ScifactOptions};

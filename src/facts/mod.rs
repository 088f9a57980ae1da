//! Fact verification without a judge: the shared tasks FEVER and SciFact, which score files of predictions against files
//! of gold labels and evidence.
//!
//! [`fever`] and [`scifact`] hold the formulas as functions of one claim and of all claims; `*_files` read and check
//! their JSONL files; [`scifact_modules`] scores the outputs of SciFact's three modules. Every score of several systems
//! is a [`Leaderboard`], made by [`FeverOptions::leaderboard`] and the like: one call from files to ranked numbers.

pub mod claims;
pub mod fever;
pub mod fever_board;
pub mod fever_files;
pub mod leaderboard;
pub mod scifact;
pub mod scifact_board;
pub mod scifact_files;
pub mod scifact_modules;

pub use claims::Id;
pub use fever_board::FeverOptions;
pub use leaderboard::{Explanation, Finding, Leaderboard, Measurement, Standing};
pub use scifact_board::{ScifactFiles, ScifactLabels, ScifactOptions};

//! Scores long-form answers to scientific questions.

pub mod aggregate;
pub mod cli;
pub mod dataset;
pub mod domain;
pub mod error;
pub mod judge;
pub mod pipeline;
pub mod prompt;
pub mod report;
pub mod scorer;
pub mod stats;
pub mod text;

pub use error::{Error, Result};

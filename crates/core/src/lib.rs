//! The vocabulary of scholareval, below its crates of judges, scorers, cited works and facts: cases, answers and scores
//! ([`domain`]), what a judge is asked ([`question`]), texts ([`text`]), files that are read or written as a whole
//! ([`files`]), and errors ([`error`]).
//!
//! ```
//! use scholareval_core::domain::Answer;
//!
//! let answer = Answer::new("mine".into(), "q1".into(), "Ice melts [1].");
//! assert_eq!(answer.system.as_str(), "mine");
//! ```

pub mod domain;
pub mod error;
#[doc(hidden)]
pub mod files;
mod named;
pub mod question;
#[doc(hidden)]
pub mod text;

pub use error::{Error, Result};

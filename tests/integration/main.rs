//! All integration tests, in one binary.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod prompts;
mod reports;

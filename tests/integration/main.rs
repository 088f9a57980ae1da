//! All integration tests: one binary, one module a subject.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod dataset;
mod python_replies;
mod rubric_golden;

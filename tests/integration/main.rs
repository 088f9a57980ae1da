//! All integration tests, in one binary.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod cache;
mod cli_settings;
mod dataset;
mod judge_http;
mod layering;
mod llama_cpp;
mod prompts;
mod python_replies;
mod readme;
mod reports;
mod resume;
mod rubric_golden;
mod score_run;
mod support;
mod text_golden;

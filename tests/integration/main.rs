//! The integration tests: one binary, one module a subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "clippy.toml spares test functions only, not the helpers beside them"
)]

mod cli_settings;

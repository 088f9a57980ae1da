//! All integration tests, as one binary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "clippy.toml allows them in test functions, this in the helpers beside them"
)]

mod cache;

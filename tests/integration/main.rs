//! All integration tests, as one binary.

mod cache;

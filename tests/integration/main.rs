//! All integration tests: one binary, one module a subject.

mod layering;

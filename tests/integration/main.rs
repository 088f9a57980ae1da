//! Integration tests: one binary, one module per subject.

mod dataset;
mod rubric_golden;

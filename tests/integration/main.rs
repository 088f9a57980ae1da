//! Integration tests: one binary, one module per subject.

mod dataset;
mod python_replies;
mod rubric_golden;

//! The built-in baseline judge.

//! Judges around a judge, one concern each.

pub mod budgeted;
pub mod cached;
pub mod collapsing;
pub mod context_limited;
pub mod rate_limited;
pub mod retrying;

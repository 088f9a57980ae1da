//! Judges around a judge, one concern each.

pub mod cached;
pub mod collapsing;
pub mod rate_limited;
pub mod retrying;

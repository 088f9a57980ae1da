//! Judges around a judge, one concern each.

mod adaptive;
mod bucket;
pub mod budgeted;
pub mod cached;
pub mod collapsing;
pub mod context_limited;
mod pause;
pub mod pool;
pub mod rate_limited;
pub mod retrying;
pub mod vouched;

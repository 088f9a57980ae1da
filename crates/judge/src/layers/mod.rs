//! Judges that wrap a judge, one concern each.
//!
//! From the outside in: cache, budget, context, retries, first calls, pool, and at each server rate limit and
//! identity. A layer passes on what is none of its concern.

pub mod budgeted;
pub mod cached;
pub mod context_limited;
pub mod identity_checked;
pub mod pool;
pub mod rate_limited;
pub mod retrying;
pub mod scouted;

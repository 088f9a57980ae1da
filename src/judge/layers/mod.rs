//! Judges that wrap a judge, one concern each.

pub mod budgeted;
pub mod cached;
pub mod context_limited;
pub mod identity_checked;
pub mod pool;
pub mod rate_limited;
pub mod retrying;

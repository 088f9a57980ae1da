//! "Did you mean".

pub use crate::text::nearest::nearest;

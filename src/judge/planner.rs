//! The judge that only counts.

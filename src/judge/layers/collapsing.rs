//! Identical calls in flight become one.

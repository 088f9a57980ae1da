//! Asks again what failed in passing.

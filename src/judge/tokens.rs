//! Estimates of token counts.

//! Requests and tokens per minute, and how many at once.

//! Answers from the cache, and stores what it did not hold.

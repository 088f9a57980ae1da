//! Scores to metrics, agreement and a summary of systems.

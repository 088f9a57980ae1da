//! What `score`, `check` and `rescore` share: loading input, setting up the judge, writing the record, the summary.

pub(super) mod inputs;
pub(super) mod outcome;
pub(super) mod results_file;
pub(super) mod setup;
pub(super) mod sinks;
pub(super) mod words;

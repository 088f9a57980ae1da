//! What `score`, `check` and `rescore` share: loading input, setting up the judge, writing the record, the summary.

pub(super) mod choice;
pub(super) mod endpoints;
pub(super) mod inputs;
pub(super) mod jobs;
mod last_served;
pub(super) mod outcome;
pub(super) mod preset;
mod renderer;
pub(super) mod results_file;
pub(super) mod roles;
mod servers;
pub(super) mod setup;
pub(super) mod sinks;
pub(super) mod spending;
pub(super) mod words;

use crate::error::{Error, Result};

/// The runtime of a command: as many threads as the machine has.
///
/// # Errors
/// When the system gives no threads.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Internal(format!("no runtime can be started: {error}")))
}

//! What `score`, `check` and `rescore` share: loading input, setting up the judge, writing the record, the summary.

pub(super) mod inputs;
pub(super) mod outcome;
pub(super) mod results_file;
pub(super) mod setup;
pub(super) mod sinks;
pub(super) mod words;

use std::sync::Arc;

use crate::domain::{Mode, RubricParts};
use crate::error::{Error, Result};
use crate::scorer::Scorer;
use crate::scorer::rubric::RubricScorer;

/// The scorer of a run, and the one that tells what the reference script makes of the same replies. The baseline has
/// none: the reference never asked it.
pub(super) fn scorers(parts: RubricParts, mode: Mode, lexical: bool) -> (Arc<dyn Scorer>, Option<Arc<dyn Scorer>>) {
    let scorer = RubricScorer::new(parts, mode);
    if lexical {
        return (Arc::new(scorer.for_lexical_judge()), None);
    }
    let reference = || -> Arc<dyn Scorer> { Arc::new(RubricScorer::new(parts, Mode::Compat)) };
    (Arc::new(scorer), (mode == Mode::Default).then(reference))
}

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

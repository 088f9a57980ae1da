//! Logs of Inspect as archives (`.eval`): the pages that tools fetched while answers were written.

use std::path::Path;

use super::{FormCandidate, SourceForm};
use crate::records;
use crate::sink::{Sink, SourcePlace};
use scholareval_core::error::{Error, Result};
use scholareval_core::files::{for_each_member, read_bytes};

pub(super) static INSPECT_ARCHIVE: SourceForm = SourceForm {
    name: "a log of Inspect (.eval)",
    fits,
    read,
};

fn fits(candidate: &FormCandidate<'_>) -> bool {
    candidate.members.iter().any(|name| is_sample(name))
}

fn is_sample(name: &str) -> bool {
    name.starts_with("samples/")
}

fn read(path: &Path, sink: &mut Sink<'_>) -> Result<()> {
    let bytes = read_bytes(path)?.0;
    let mut outcome: Result<()> = Ok(());
    for_each_member(&bytes, path, is_sample, |member, text| {
        // The reader of archives only passes faults of the input on.
        if outcome.is_ok() {
            outcome = records::read_inspect_sample(text, &SourcePlace::new(member), sink);
        }
        Ok(())
    })
    .map_err(Error::from)?;
    outcome
}

//! The calls that a run would ask now, into the request files of a batch.

use std::path::PathBuf;

use super::tally::{Collector, DeferredCall};
use crate::error::{Error, Result};
use crate::judge::batch::{BatchCall, BatchLimits, BatchManifest, BatchWriter};
use crate::judge::cache::CallLabel;
use crate::judge::kind::JudgeKind;

/// Writes the calls of a plan into a batch directory; nothing is created before the first call.
pub struct BatchExport {
    dir: PathBuf,
    limits: BatchLimits,
    chat_only: bool,
    writer: Option<BatchWriter>,
}

impl BatchExport {
    /// An export into `dir`; with `chat_only` a call over another route than chat is an error.
    pub fn new(dir: PathBuf, limits: BatchLimits, chat_only: bool) -> Self {
        Self { dir, limits, chat_only, writer: None }
    }

    /// Ends the batch; `None` if there was no call. `address` gives the address of the judge of an identity, secrets masked.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written.
    pub fn finish(self, address: impl Fn(&str) -> Option<String>) -> Result<Option<BatchManifest>> {
        self.writer.map(|writer| writer.finish(address)).transpose()
    }
}

impl Collector for BatchExport {
    fn take(&mut self, call: DeferredCall) -> Result<()> {
        let route = call.route.ok_or_else(|| Error::Internal("a call was rendered for no route".into()))?;
        if self.chat_only && route != JudgeKind::Chat {
            return Err(Error::Usage(format!(
                "--vllm: vllm run-batch takes chat only, and {} asks {} through {}; give that judge kind = \"chat\", or \
                 run its file with contrib/ray_batch.py",
                call.judge.escape_debug(),
                call.kind,
                route.path()
            )));
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(BatchWriter::create(&self.dir, self.limits)?),
        };
        let label = CallLabel {
            kind: call.kind.as_str().to_owned(),
            judge: call.judge.to_string(),
            role: call.role.name().into_owned(),
            draw: call.draw,
            attempt: call.attempt,
        };
        writer.add(&BatchCall { custom_id: call.fingerprint, label }, route, &call.body, call.prompt_tokens)
    }
}

//! `calls.jsonl`: every call of a run with its raw reply.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::Deserialize;

use super::event::{CallRecord, call_id};
use super::lines::{LineReader, Position};
use super::manifest::Manifest;
use crate::domain::{CallId, Fingerprint, JudgeReply, UnscoredKind, UnscoredReason};
use crate::error::{Error, InputFault, Result};
use crate::judge::planner::ReplySource;
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome, locked};

/// The name of the file.
const NAME: &str = "calls.jsonl";

/// Runs `each` for every call of the run in `dir`, in file order, with one call in memory at a time.
///
/// # Errors
/// When the file cannot be read, is not as the finished run left it, or a line is not a call (the error names it), and
/// any error of `each`.
pub fn for_each_call(
    dir: &Path,
    manifest: &Manifest,
    mut each: impl FnMut(CallRecord) -> Result<()>,
) -> Result<()> {
    let mut lines = lines(dir, manifest)?;
    while let Some((_, call)) = lines.read()? {
        each(call)?;
    }
    Ok(())
}

/// The lines of the file.
fn lines(dir: &Path, manifest: &Manifest) -> Result<LineReader> {
    let missing = || InputFault::new(dir.join(NAME), "is not there").into();
    LineReader::of_run(dir, NAME, manifest)?.ok_or_else(missing)
}

/// The fields of a line that a scan of the file needs.
#[derive(Deserialize)]
pub(super) struct CallHead {
    pub(super) call_id: CallId,
    #[serde(default)]
    pub(super) fingerprint: Option<Fingerprint>,
    pub(super) reply: Option<ReplyHead>,
    unscored: Option<FailureHead>,
}

/// Why a recorded call has no verdict.
#[derive(Deserialize)]
struct FailureHead {
    kind: UnscoredKind,
}

impl CallHead {
    /// How the call ended.
    pub(super) fn ending(&self) -> CallEnding {
        let failure = self.unscored.as_ref().map(|unscored| unscored.kind);
        CallEnding::of(self.reply.is_some(), failure)
    }
}

/// How a call ended. Of several lines about one call the highest counts, and of equal ones the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CallEnding {
    /// Without a reply; a later session asks again.
    Failed,
    /// The server refused the text of the call; a later session does not send it again.
    Moderated,
    /// With a reply, readable or not.
    Replied,
}

impl CallEnding {
    /// The ending of a call with a reply, or of one that failed in this way.
    pub(super) fn of(has_reply: bool, failure: Option<UnscoredKind>) -> Self {
        if has_reply {
            Self::Replied
        } else if failure == Some(UnscoredKind::Moderated) {
            Self::Moderated
        } else {
            Self::Failed
        }
    }
}

/// How a recorded reply ended.
#[derive(Deserialize)]
pub(super) struct ReplyHead {
    #[serde(default)]
    finish_reason: Option<String>,
}

impl ReplyHead {
    /// As [`JudgeReply::is_cut`].
    pub(super) fn is_cut(&self) -> bool {
        self.finish_reason.as_deref() == Some("length")
    }
}

/// The replies of a `calls.jsonl` by call id; holds their positions in memory, not the replies.
#[derive(Debug)]
pub struct RecordedReplies {
    dir: PathBuf,
    index: Mutex<CallIndex>,
    /// The reason for calls that are not recorded.
    missing: UnscoredReason,
    /// Whether texts that the server refused are sent again.
    asks_refused_again: bool,
}

/// The calls of a file; `None` if there is no file yet.
#[derive(Debug, Default)]
struct CallIndex {
    file: Option<File>,
    // Of a run with 400,000 calls the replies are hundreds of MB, the positions a few dozen.
    positions: HashMap<CallId, Position>,
}

impl RecordedReplies {
    /// The directory of the run.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Indexes the calls of the run in `dir`, to score it again. If a failed call was answered later, the answer counts.
    ///
    /// # Errors
    /// When the file cannot be read, is not as the finished run left it, or a line is not a call.
    pub fn of_run(dir: &Path, manifest: &Manifest) -> Result<Self> {
        Ok(Self::with_index(
            dir,
            CallIndex::of(dir, lines(dir, manifest)?)?,
        ))
    }

    /// Indexes the calls of the run in `dir`, to continue it. Lines that are not calls are skipped.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn to_resume(dir: &Path) -> Result<Self> {
        let replies = Self::of_new_run(dir);
        replies.reload()?;
        Ok(replies)
    }

    /// No calls yet of the run in `dir`, whatever is there.
    pub(crate) fn of_new_run(dir: &Path) -> Self {
        Self::with_index(dir, CallIndex::default())
    }

    /// Indexes the calls anew, as [`RecordedReplies::to_resume`].
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn reload(&self) -> Result<()> {
        let lines = LineReader::to_resume(&self.dir.join(NAME))?;
        let index = lines.map(|lines| CallIndex::of(&self.dir, lines));
        let index = index.transpose()?;
        *locked(&self.index) = index.unwrap_or_default();
        Ok(())
    }

    fn with_index(dir: &Path, index: CallIndex) -> Self {
        let missing = UnscoredReason::new(
            UnscoredKind::NotAsked,
            "the record of the run does not contain this call",
        );
        Self {
            dir: dir.to_path_buf(),
            index: Mutex::new(index),
            missing,
            asks_refused_again: false,
        }
    }

    /// For a run that asks again what is unscored (`--retry-unscored`): a refusal of a text does not settle its call.
    #[must_use]
    pub fn asking_refused_again(mut self, asks_refused_again: bool) -> Self {
        self.asks_refused_again = asks_refused_again;
        self
    }

    /// For rescoring in another mode: a call that is not recorded is one that only that mode makes.
    #[must_use]
    pub fn in_other_mode(mut self) -> Self {
        self.missing = UnscoredReason::new(UnscoredKind::NeedsOtherCalls, "needs other calls");
        self
    }

    /// The recorded call. If the request is rendered, the fingerprints must match, or be that of the call under another
    /// reply limit by which the reply was not cut.
    fn record(&self, request: &JudgeRequest) -> Result<Option<CallRecord>> {
        let id = call_id(
            &request.system,
            &request.case_id,
            &request.call,
            request.attempt,
        );
        let path = self.dir.join(NAME);
        let recorded = locked(&self.index).read(&id);
        let Some(bytes) = recorded.map_err(Error::io(&path, "read"))? else {
            return Ok(None);
        };
        let call: CallRecord = serde_json::from_slice(&bytes).map_err(|error| {
            InputFault::new(&path, format!("a call that cannot be read: {error}"))
        })?;
        // Rescoring renders no prompts: the id alone says which call it is.
        let Some(rendered) = &request.rendered else {
            return Ok(Some(call));
        };
        let reply = rendered.find(|key| {
            // An id says who was asked, not what: after a change of prompt or model the recorded
            // reply answers another question.
            let is_its = call.fingerprint == Some(*key);
            Ok(call.reply.clone().filter(|_| is_its))
        })?;
        let keys = [Some(rendered.fingerprint), rendered.earlier_key];
        let is_same = call.fingerprint.is_some() && keys.contains(&call.fingerprint);
        Ok((is_same || reply.is_some()).then(|| CallRecord {
            reply: reply.or_else(|| call.reply.clone()),
            ..call
        }))
    }
}

impl CallIndex {
    /// The calls in these lines of the run in `dir`.
    fn of(dir: &Path, mut lines: LineReader) -> Result<Self> {
        let mut ends: HashMap<CallId, (CallEnding, Position)> = HashMap::new();
        while let Some((position, head)) = lines.read::<CallHead>()? {
            let ending = head.ending();
            let end = ends.entry(head.call_id).or_insert((ending, position));
            // `>=`: of two whole replies the later one counts, which was asked under the higher
            // limit.
            if ending >= end.0 {
                *end = (ending, position);
            }
        }
        let ends = ends.into_iter();
        let positions = ends.map(|(call, (_, position))| (call, position)).collect();
        let path = dir.join(NAME);
        let file = File::open(&path).map_err(Error::io(&path, "read"))?;
        Ok(Self {
            file: Some(file),
            positions,
        })
    }

    /// The bytes of that call.
    fn read(&mut self, id: &CallId) -> std::io::Result<Option<Vec<u8>>> {
        let (Some(position), Some(file)) = (self.positions.get(id), &mut self.file) else {
            return Ok(None);
        };
        let mut bytes = vec![0; position.length];
        file.seek(SeekFrom::Start(position.offset))?;
        file.read_exact(&mut bytes)?;
        Ok(Some(bytes))
    }
}

/// A judge that replays a recorded run: replies are repeated, failed calls stay unscored for the same reason.
impl Judge for RecordedReplies {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let outcome = self.record(request).map(|call| match call {
            Some(CallRecord {
                reply: Some(reply), ..
            }) => Outcome::Reply(JudgeReply {
                cached: true,
                ..reply
            }),
            Some(CallRecord {
                verdict: Err(reason),
                ..
            }) => Outcome::Unscored(reason),
            _ => Outcome::Unscored(self.missing.clone()),
        });
        Box::pin(std::future::ready(outcome.map_err(AskError::Fatal)))
    }
}

impl ReplySource for RecordedReplies {
    fn find(&self, request: &JudgeRequest) -> Result<Option<JudgeReply>> {
        let reply = self.record(request)?.and_then(|call| call.reply);
        Ok(reply.map(|reply| JudgeReply {
            cached: true,
            ..reply
        }))
    }

    fn refusal(&self, request: &JudgeRequest) -> Result<Option<UnscoredReason>> {
        if self.asks_refused_again {
            return Ok(None);
        }
        let call = self.record(request)?;
        let reason = call.filter(|call| call.reply.is_none());
        let reason = reason.and_then(|call| call.verdict.err());
        Ok(reason.filter(|reason| reason.kind == UnscoredKind::Moderated))
    }
}

//! `calls.jsonl`: every call of a run with its raw reply.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;

use super::lines::{LineReader, Position};
use super::manifest::Manifest;
use crate::domain::{CallId, Fingerprint, JudgeReply, UnscoredKind, UnscoredReason};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::{CallRecord, call_id};
use crate::judge::planner::ReplySource;
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome};

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
    path: PathBuf,
    file: Mutex<File>,
    positions: HashMap<CallId, Position>,
    /// The reason for calls that are not recorded.
    missing: UnscoredReason,
}

impl RecordedReplies {
    /// Indexes the calls of the run in `dir`, to score it again. If a failed call was answered later, the answer counts.
    ///
    /// # Errors
    /// When the file cannot be read, is not as the finished run left it, or a line is not a call.
    pub fn of_run(dir: &Path, manifest: &Manifest) -> Result<Self> {
        Self::index(dir, lines(dir, manifest)?)
    }

    /// Indexes the calls of the run in `dir`, to continue it; `None` if there are none. Lines that are not calls are
    /// skipped.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn to_resume(dir: &Path) -> Result<Option<Self>> {
        LineReader::to_resume(&dir.join(NAME))?
            .map(|lines| Self::index(dir, lines))
            .transpose()
    }

    fn index(dir: &Path, mut lines: LineReader) -> Result<Self> {
        let path = dir.join(NAME);
        let mut positions = HashMap::new();
        while let Some((position, head)) = lines.read::<CallHead>()? {
            if head.reply.is_some() || !positions.contains_key(&head.call_id) {
                positions.insert(head.call_id, position);
            }
        }
        let file = Mutex::new(File::open(&path).map_err(Error::io(&path, "read"))?);
        let missing = UnscoredReason::new(
            UnscoredKind::NotAsked,
            "the record of the run does not contain this call",
        );
        Ok(Self {
            path,
            file,
            positions,
            missing,
        })
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
        let Some(position) = self.positions.get(&id) else {
            return Ok(None);
        };
        let mut bytes = vec![0; position.length];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(position.offset))
                .map_err(Error::io(&self.path, "read"))?;
            file.read_exact(&mut bytes)
                .map_err(Error::io(&self.path, "read"))?;
        }
        let call: CallRecord = serde_json::from_slice(&bytes).map_err(|error| {
            InputFault::new(&self.path, format!("a call that cannot be read: {error}"))
        })?;
        let Some(rendered) = &request.rendered else {
            return Ok(Some(call));
        };
        let reply = rendered.find(|key| {
            let is_its = call.fingerprint == Some(*key);
            Ok(call.reply.clone().filter(|_| is_its))
        })?;
        let is_same = call.fingerprint == Some(rendered.fingerprint);
        Ok((is_same || reply.is_some()).then(|| CallRecord {
            reply: reply.or_else(|| call.reply.clone()),
            ..call
        }))
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
}

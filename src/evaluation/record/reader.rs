//! Reading a run directory back.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::SCHEMA_VERSION;
use super::lines::CallLine;
use super::manifest::Manifest;
use crate::domain::{JudgeReply, UnscoredKind, UnscoredReason};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::call_id;
use crate::judge::planner::ReplySource;
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome};

/// Reads `manifest.json` of a run directory; `None` where there is none.
///
/// # Errors
/// When it cannot be read, is no manifest, or is of a newer format.
pub fn load_manifest(run_dir: &Path) -> Result<Option<Manifest>> {
    let path = run_dir.join("manifest.json");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            let what = InputFault::new(run_dir, "is a file, not the directory of a run");
            return Err(what.hint("name the run's directory, mostly the one that the file is in").into());
        }
        Err(error) => return Err(Error::io(&path, "read")(error)),
    };
    let manifest: Manifest = serde_json::from_str(&text).map_err(|error| {
        InputFault::new(&path, format!("no manifest of a run: {error}")).hint("name a run directory")
    })?;
    if manifest.schema_version > SCHEMA_VERSION {
        let what = format!("format {} is newer than this program's {SCHEMA_VERSION}", manifest.schema_version);
        return Err(InputFault::new(&path, what).hint("use the version that wrote it, or a newer one").into());
    }
    Ok(Some(manifest))
}

/// The raw replies of a `calls.jsonl`, found by call id; holds positions in memory, not replies.
#[derive(Debug)]
pub struct RecordedReplies {
    path: PathBuf,
    file: Mutex<File>,
    lines: HashMap<u128, Position>,
    replies: usize,
    /// Why a call that is not recorded has no reply.
    missing: UnscoredReason,
}

#[derive(Debug, Clone, Copy)]
struct Position {
    offset: u64,
    length: usize,
    has_reply: bool,
}

impl RecordedReplies {
    /// Indexes the file; an absent file holds nothing, a torn last line is left out.
    ///
    /// # Errors
    /// When the file cannot be read or a line that is whole is no call.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(path, "read")(error)),
        };
        let mut lines = HashMap::new();
        for_each_line(path, &file, |line| {
            let position = Position { offset: line.offset, length: line.length, has_reply: line.has_reply };
            if position.has_reply || !lines.contains_key(&line.call_id) {
                lines.insert(line.call_id, position);
            }
        })?;
        let replies = lines.values().filter(|position| position.has_reply).count();
        let missing = UnscoredReason::new(UnscoredKind::NotAsked, "the record of the run holds no such call");
        Ok(Some(Self { path: path.to_path_buf(), file: Mutex::new(file), lines, replies, missing }))
    }

    /// The same for scoring in another mode than the run's: a call that is not recorded is one that only that mode asks.
    #[must_use]
    pub fn in_other_mode(mut self) -> Self {
        self.missing = UnscoredReason::new(UnscoredKind::NeedsOtherCalls, "needs other calls");
        self
    }

    /// How many calls have a reply.
    pub fn len(&self) -> usize {
        self.replies
    }

    /// True if no call has a reply.
    pub fn is_empty(&self) -> bool {
        self.replies == 0
    }

    /// Why the recorded call has no reply, where it is recorded without one.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn reason(&self, request: &JudgeRequest) -> Result<Option<UnscoredReason>> {
        let Some(line) = self.line(request)? else { return Ok(None) };
        let kind = line.reason_kind.unwrap_or(UnscoredKind::NotAsked);
        Ok(line.reason.filter(|_| line.raw.is_none()).map(|message| UnscoredReason::new(kind, message)))
    }

    fn line(&self, request: &JudgeRequest) -> Result<Option<CallLine>> {
        let id = call_id(&request.system, &request.case_id, &request.call, request.attempt);
        self.lines.get(&call_key(&id)?).map(|position| self.read(*position)).transpose()
    }

    fn read(&self, position: Position) -> Result<CallLine> {
        let mut bytes = vec![0; position.length];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(position.offset)).map_err(Error::io(&self.path, "read"))?;
            file.read_exact(&mut bytes).map_err(Error::io(&self.path, "read"))?;
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| InputFault::new(&self.path, format!("a call that cannot be read: {error}")).into())
    }
}

/// A recorded run as a judge: what was replied is replied, what failed stays unscored for the same reason.
impl Judge for RecordedReplies {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let outcome = || -> Result<Outcome> {
            if let Some(reply) = self.find(request)? {
                return Ok(Outcome::Reply(reply));
            }
            Ok(Outcome::Unscored(self.reason(request)?.unwrap_or_else(|| self.missing.clone())))
        };
        Box::pin(std::future::ready(outcome().map_err(AskError::Fatal)))
    }
}

impl ReplySource for RecordedReplies {
    /// Where the request is rendered, a recorded call of another fingerprint is no reply to it.
    fn find(&self, request: &JudgeRequest) -> Result<Option<JudgeReply>> {
        let Some(line) = self.line(request)? else { return Ok(None) };
        let wanted = request.rendered.as_ref().map(|rendered| rendered.fingerprint.to_string());
        if wanted.is_some() && wanted != line.fingerprint {
            return Ok(None);
        }
        Ok(line.reply())
    }
}

/// A call id as a number: a map over a million calls stays small.
pub(super) fn call_key(hex: &str) -> Result<u128> {
    u128::from_str_radix(hex, 16).map_err(|_| Error::Settings(format!("no call id: {hex:?}")))
}

/// What a scan of `calls.jsonl` needs of a line.
#[derive(Debug)]
pub(super) struct ScannedLine {
    pub(super) call_id: u128,
    pub(super) has_reply: bool,
    pub(super) offset: u64,
    pub(super) length: usize,
}

#[derive(serde::Deserialize)]
struct LineHead<'a> {
    #[serde(borrow)]
    call_id: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    raw: Option<&'a serde_json::value::RawValue>,
}

/// Calls `each` for every whole line, and gives the length of the file up to the end of the last one.
pub(super) fn for_each_line(path: &Path, file: &File, mut each: impl FnMut(ScannedLine)) -> Result<u64> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    let (mut offset, mut number) = (0_u64, 0);
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line).map_err(Error::io(path, "read"))?;
        if length == 0 || line.last() != Some(&b'\n') {
            return Ok(offset);
        }
        number += 1;
        let head: LineHead = serde_json::from_slice(&line).map_err(|error| {
            InputFault::new(path, format!("no line of a run record: {error}"))
                .at_line(number)
                .hint("--overwrite begins the record anew; cached replies are not lost by it")
        })?;
        each(ScannedLine {
            call_id: call_key(&head.call_id)?,
            has_reply: head.raw.is_some_and(|raw| raw.get() != "null"),
            offset,
            length,
        });
        offset += length as u64;
    }
}

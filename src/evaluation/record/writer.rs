//! Writing a run directory, line by line as the run goes.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::lines::{CallLine, ScoreLine};
use super::manifest::{Manifest, RunStatus, differences};
use super::reader::{call_key, for_each_line, load_manifest};
use crate::domain::{EndpointUse, ScoredAnswer};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::{CallRecord, EventSink, RunEvent};

/// The files this program writes into a run directory; nothing else in it is touched.
const FILES: [&str; 7] =
    ["manifest.json", "inputs.jsonl", "calls.jsonl", "scores.jsonl", "items.csv", "summary.json", "summary.csv"];

/// A run directory that this process holds alone.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// Held, not read: its lock keeps a second process out.
    _lock: File,
}

impl RunDir {
    /// Makes and locks the directory.
    ///
    /// # Errors
    /// When it cannot be made, or another process is writing into it.
    pub fn open(path: &Path) -> Result<Self> {
        std::fs::create_dir_all(path).map_err(Error::io(path, "create"))?;
        let lock_path = path.join(".lock");
        let lock = File::create(&lock_path).map_err(Error::io(&lock_path, "create"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_path_buf(), _lock: lock }),
            Err(std::fs::TryLockError::WouldBlock) => {
                let what = "another scholareval is writing into this directory";
                Err(InputFault::new(path, what).hint("wait for it, or name another place with --out").into())
            }
            Err(std::fs::TryLockError::Error(error)) => Err(Error::io(&lock_path, "lock")(error)),
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that what is in the directory belongs to this very run; with `overwrite` it is removed instead.
    /// Gives true if a run is being resumed.
    ///
    /// # Errors
    /// When the directory holds a run of other settings, or files of ours without a manifest.
    pub fn claim(&self, manifest: &Manifest, overwrite: bool) -> Result<bool> {
        if overwrite {
            for name in FILES {
                let path = self.path.join(name);
                match std::fs::remove_file(&path) {
                    Ok(()) => {}
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    Err(error) => return Err(Error::io(&path, "remove")(error)),
                }
            }
            return Ok(false);
        }
        let Some(there) = load_manifest(&self.path)? else {
            return match self.foreign_file()? {
                None => Ok(false),
                Some(name) => {
                    Err(InputFault::new(&self.path, format!("holds {name:?} but no manifest.json: it is no run"))
                        .hint("name another place with --out, or add --overwrite")
                        .into())
                }
            };
        };
        let differ = differences(&there, manifest);
        if differ.is_empty() {
            return Ok(true);
        }
        let what = format!("holds a run of other settings ({})", differ.join("; "));
        Err(InputFault::new(&self.path, what).hint("name another place with --out, or add --overwrite").into())
    }

    /// A file in the directory that is not hidden.
    fn foreign_file(&self) -> Result<Option<String>> {
        let entries = std::fs::read_dir(&self.path).map_err(Error::io(&self.path, "read"))?;
        let mut names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
        Ok(names.find(|name| !name.starts_with('.')))
    }

    /// Writes `bytes` as the file of that name, whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_file(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.write_with(name, |out| out.write_all(bytes))
    }

    /// Writes the file of that name piece by piece, whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_with(&self, name: &str, write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
        let path = self.path.join(name);
        let partial = self.path.join(format!(".{name}.partial"));
        let mut out = BufWriter::new(File::create(&partial).map_err(Error::io(&partial, "create"))?);
        write(&mut out).and_then(|()| out.flush()).map_err(Error::io(&partial, "write"))?;
        std::fs::rename(&partial, &path).map_err(Error::io(&path, "create"))
    }
}

/// Writes `manifest.json`, `calls.jsonl` and `scores.jsonl` as events come.
#[derive(Debug)]
pub struct RunRecord {
    dir: RunDir,
    manifest: Manifest,
    calls: BufWriter<File>,
    scores: BufWriter<File>,
    /// Call id to whether its line holds a reply. The id as bytes: a number would be aligned, and a million of them take
    /// twice the room.
    written: HashMap<[u8; 16], bool>,
    superseded: bool,
    /// Without a cache the record is the only place a reply is kept: every line is handed to the system at once.
    flush_each_call: bool,
}

impl RunRecord {
    /// Opens the record of a claimed directory; lines of an earlier session stay.
    ///
    /// # Errors
    /// When a file cannot be opened, or `calls.jsonl` holds lines that are no calls.
    pub fn open(dir: RunDir, manifest: Manifest, flush_each_call: bool) -> Result<Self> {
        let calls_path = dir.path.join("calls.jsonl");
        let calls = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&calls_path)
            .map_err(Error::io(&calls_path, "open"))?;
        let mut written = HashMap::new();
        let end = for_each_line(&calls_path, &calls, |line| {
            written.insert(line.call_id.to_le_bytes(), line.has_reply);
        })?;
        let mut calls = calls;
        // A torn last line (a kill in the middle of writing) is cut off.
        calls.set_len(end).map_err(Error::io(&calls_path, "write"))?;
        calls.seek(SeekFrom::End(0)).map_err(Error::io(&calls_path, "write"))?;
        let scores_path = dir.path.join("scores.jsonl");
        let scores = File::create(&scores_path).map_err(Error::io(&scores_path, "create"))?;
        let record = Self {
            dir,
            manifest,
            calls: BufWriter::with_capacity(1 << 16, calls),
            scores: BufWriter::new(scores),
            written,
            superseded: false,
            flush_each_call,
        };
        record.write_manifest()?;
        Ok(record)
    }

    /// The directory.
    pub fn dir(&self) -> &RunDir {
        &self.dir
    }

    /// What the record says of the run.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Keeps what the endpoints did; of a session that asked nobody an earlier one's stays.
    pub fn note_endpoints(&mut self, endpoints: Vec<EndpointUse>) {
        if !endpoints.is_empty() {
            self.manifest.endpoints = endpoints;
        }
    }

    /// Ends the record: sorts scores, drops call lines that later ones replace, says how the run ended.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(&mut self, status: RunStatus, scored: &[impl AsRef<ScoredAnswer>]) -> Result<()> {
        self.calls.flush().map_err(Error::io(self.dir.path.join("calls.jsonl"), "append to"))?;
        self.scores.flush().map_err(Error::io(self.dir.path.join("scores.jsonl"), "append to"))?;
        if self.superseded {
            self.drop_superseded()?;
        }
        self.dir.write_with("scores.jsonl", |out| {
            scored.iter().try_for_each(|answer| {
                serde_json::to_writer(&mut *out, &ScoreLine::of(answer.as_ref()))?;
                out.write_all(b"\n")
            })
        })?;
        self.manifest.status = status;
        self.manifest.finished_at = Some(humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string());
        self.write_manifest()
    }

    fn write_manifest(&self) -> Result<()> {
        let mut bytes = serde_json::to_vec_pretty(&self.manifest)
            .map_err(|error| Error::Internal(format!("the manifest cannot be written: {error}")))?;
        bytes.push(b'\n');
        self.dir.write_file("manifest.json", &bytes)
    }

    fn write_call(&mut self, record: &CallRecord) -> Result<()> {
        let has_reply = record.reply.is_some();
        let call_id = call_key(&record.call_id)?.to_le_bytes();
        match self.written.get(&call_id) {
            Some(true) => return Ok(()),
            Some(false) if !has_reply => return Ok(()),
            Some(false) => self.superseded = true,
            None => {}
        }
        let mut line = Vec::with_capacity(1024);
        push_line(&mut line, &CallLine::of(record))?;
        let path = || self.dir.path.join("calls.jsonl");
        self.calls.write_all(&line).map_err(|error| Error::io(path(), "append to")(error))?;
        if self.flush_each_call {
            self.calls.flush().map_err(|error| Error::io(path(), "append to")(error))?;
        }
        self.written.insert(call_id, has_reply);
        Ok(())
    }

    /// Rewrites `calls.jsonl` without the reply-less lines that a later line with a reply replaces.
    fn drop_superseded(&mut self) -> Result<()> {
        let path = self.dir.path.join("calls.jsonl");
        let mut source = File::open(&path).map_err(Error::io(&path, "read"))?;
        let mut keep = Vec::new();
        let written = &self.written;
        for_each_line(&path, &source, |line| {
            if line.has_reply || written.get(&line.call_id.to_le_bytes()) == Some(&false) {
                keep.push((line.offset, line.length));
            }
        })?;
        let partial = self.dir.path.join(".calls.jsonl.partial");
        let mut out = BufWriter::new(File::create(&partial).map_err(Error::io(&partial, "create"))?);
        let mut line = Vec::new();
        for (offset, length) in keep {
            line.resize(length, 0);
            source.seek(SeekFrom::Start(offset)).map_err(Error::io(&path, "read"))?;
            source.read_exact(&mut line).map_err(Error::io(&path, "read"))?;
            out.write_all(&line).map_err(Error::io(&partial, "write"))?;
        }
        out.flush().map_err(Error::io(&partial, "write"))?;
        std::fs::rename(&partial, &path).map_err(Error::io(&path, "create"))?;
        self.superseded = false;
        Ok(())
    }
}

impl EventSink for RunRecord {
    fn on_event(&mut self, event: &RunEvent) -> Result<()> {
        match event {
            RunEvent::Call(record) => self.write_call(record),
            RunEvent::Scored(scored) => {
                let mut line = Vec::with_capacity(2048);
                push_line(&mut line, &ScoreLine::of(scored))?;
                let path = || self.dir.path.join("scores.jsonl");
                self.scores.write_all(&line).map_err(|error| Error::io(path(), "append to")(error))?;
                if self.flush_each_call {
                    self.scores.flush().map_err(|error| Error::io(path(), "append to")(error))?;
                }
                Ok(())
            }
            RunEvent::Started(_) | RunEvent::Stopping(_) => Ok(()),
        }
    }
}

fn push_line(bytes: &mut Vec<u8>, line: &impl serde::Serialize) -> Result<()> {
    serde_json::to_writer(&mut *bytes, line)
        .map_err(|error| Error::Internal(format!("a record line cannot be written: {error}")))?;
    bytes.push(b'\n');
    Ok(())
}

//! Writes a run directory, line by line during the run.
//!
//! A directory is claimed (`RunDir::claim`), the lines of an earlier session are read (`Session`),
//! new ones are appended as events come, and the end replaces what later lines made void and writes
//! the manifest last.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::calls::{CallEnding, CallHead, ReplyHead};
use super::event::{CallRecord, EventSink, RunEvent};
use super::lines::{LineReader, check_calls};
use super::manifest::{Headline, Manifest, RunStatus, now};
use super::settings::setting_differences;
use super::stamp::FileStamp;
use crate::analysis::comparison::{Observations, RunAnswers, RunLooks, observe};
use crate::domain::{CallId, EndingModel, EndpointUse, Fingerprint, JudgeReply, ScoredAnswer};
use crate::error::{Error, InputFault, Result};
use crate::files::{json_bytes, lock_directory, write_bytes, write_whole};

/// Settings by which two runs differ that an error names.
const MOST_DIFFERENCES: usize = 5;

/// The files that are stamped in the manifest of a finished run.
const STAMPED: [&str; 3] = ["inputs.jsonl", "calls.jsonl", "scores.jsonl"];

/// The files that this program writes into a run directory; all others are left untouched.
pub const FILES: [&str; 7] = [
    "manifest.json",
    "inputs.jsonl",
    "calls.jsonl",
    "scores.jsonl",
    "items.csv",
    "summary.json",
    "summary.csv",
];

/// A run directory that this process has locked.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    /// Its files need not outlive a power cut.
    is_temporary: bool,
    /// Held for its lock, which keeps other processes out.
    _lock: File,
}

impl RunDir {
    /// Creates and locks the directory. A new one is for its owner only; one that exists stays as it is.
    ///
    /// # Errors
    /// When it cannot be created, or another process is writing into it.
    pub fn open(path: &Path) -> Result<Self> {
        create_private(path).map_err(Error::io(path, "create"))?;
        Ok(Self {
            path: path.to_path_buf(),
            is_temporary: false,
            _lock: lock_directory(path, ", or name another place with --out")?,
        })
    }

    /// With `true` nothing waits for the disk: the directory is deleted as soon as it was read.
    #[must_use]
    pub(crate) fn temporary(self, is_temporary: bool) -> Self {
        Self {
            is_temporary,
            ..self
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that the files in the directory belong to this run, which may have other reply limits; with `overwrite` they are removed instead. Returns
    /// true if a run is being resumed. A new run gets its manifest before any other file, so that whatever a kill leaves
    /// behind is recognized as this run's.
    ///
    /// # Errors
    /// When the directory holds a run of other settings, one whose calls were changed after it ended, or files of ours
    /// without a manifest.
    pub fn claim(&self, manifest: &Manifest, overwrite: bool) -> Result<bool> {
        if overwrite {
            self.remove_files()?;
            self.write_manifest(&manifest.clone().unfinished())?;
            return Ok(false);
        }
        let what = if let Some(there) = Manifest::load(&self.path)? {
            let there = there.with_identities_of(manifest);
            let runs = [("in the run", &there), ("now", manifest)];
            let mut differences = setting_differences(&runs, true);
            // A run whose replies were cut is continued under higher limits; refusing this would
            // pay for everything again.
            differences.retain(|difference| !difference.is_reply_limit);
            let differences = differences.into_iter();
            let mut texts: Vec<String> = differences.map(|difference| difference.text).collect();
            // After a decision, another seed or condition would be a second try.
            if let (Some(before), Some(until)) = (&there.until, &manifest.until)
                && before != until
            {
                texts.push(format!(
                    "different --until: {before} (in the run), {until} (now)"
                ));
            }
            if texts.is_empty() {
                check_calls(&self.path, &there)?;
                return Ok(true);
            }
            if texts.len() > MOST_DIFFERENCES {
                let more = texts.split_off(MOST_DIFFERENCES).len();
                texts.push(format!("and {more} more"));
            }
            format!("{}; the directory holds another run", texts.join("; "))
        } else if let Some(name) = self.foreign_file()? {
            format!("holds {name:?} but no manifest.json: it is not a run")
        } else {
            self.write_manifest(&manifest.clone().unfinished())?;
            return Ok(false);
        };
        Err(InputFault::new(&self.path, what)
            .refuse("name another directory with --out, or add --overwrite to replace the run"))
    }

    /// Removes what this program writes into a run directory.
    fn remove_files(&self) -> Result<()> {
        for name in FILES {
            let path = self.path.join(name);
            if path.exists() {
                std::fs::remove_file(&path).map_err(Error::io(&path, "remove"))?;
            }
        }
        Ok(())
    }

    /// A file in the directory that is not hidden.
    fn foreign_file(&self) -> Result<Option<String>> {
        let entries = std::fs::read_dir(&self.path).map_err(Error::io(&self.path, "read"))?;
        // Any file of the user: a mistyped `--out ~` must not fill a home directory with ours.
        // Hidden ones are the lock, and what file managers leave.
        let mut names = entries
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
        Ok(names.find(|name| !name.starts_with('.')))
    }

    /// Finishes a record: writes the scores, stamps the files, and sets the status. Unless the run is temporary, all of it is
    /// on the disk before the manifest is.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(
        &self,
        manifest: &mut Manifest,
        status: RunStatus,
        scored: &[Arc<ScoredAnswer>],
    ) -> Result<()> {
        let path = self.path.join("scores.jsonl");
        write_whole(&path, |out| {
            for answer in scored {
                write_line(out, &**answer).map_err(Error::io(&path, "write"))?;
            }
            Ok(())
        })?;
        manifest.count_answers(&self.path)?;
        manifest.files.clear();
        for name in STAMPED {
            if let Some(stamp) = FileStamp::of(&self.path.join(name), !self.is_temporary)? {
                manifest.files.insert(name.to_owned(), stamp);
            }
        }
        self.sync();
        manifest.status = status;
        manifest.scores = scored.len();
        manifest.finished_at = Some(now());
        // Only part of the answers would be in it, and a list of runs has no room to say so.
        manifest.headline = if status == RunStatus::Complete {
            headline(manifest, scored)
        } else {
            None
        };
        self.write_manifest(manifest)
    }

    fn write_manifest(&self, manifest: &Manifest) -> Result<()> {
        let bytes = json_bytes(&self.path.join("manifest.json"), manifest)?;
        self.write_file("manifest.json", &bytes)?;
        self.sync();
        Ok(())
    }

    /// Writes `bytes` to the file of that name, atomically.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_file(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path.join(name);
        if !self.is_temporary {
            return write_bytes(&path, bytes);
        }
        write_whole(&path, |out| {
            out.write_all(bytes).map_err(Error::io(&path, "write"))
        })
    }

    /// Puts the names of the files on the disk, where the system can: not every file system does, and Windows opens no
    /// directories.
    fn sync(&self) {
        if cfg!(unix) && !self.is_temporary {
            // Without it, a power cut can leave files of the right content under no name.
            let _ = File::open(&self.path).and_then(|directory| directory.sync_all());
        }
    }
}

/// The score of a run in a list of runs.
fn headline(manifest: &Manifest, scored: &[Arc<ScoredAnswer>]) -> Option<Headline> {
    let answers = RunAnswers {
        subject: manifest.subject,
        scored,
        on_unscored: manifest.policy.on_unscored,
        ..RunAnswers::default()
    };
    let observations = Observations {
        row: manifest.row().map(str::to_owned),
        ..observe(&[answers])
    };
    let (metric, means) = observations.headline_range()?;
    Some(Headline {
        metric: metric.name.clone(),
        unit: metric.unit,
        lowest: means.low,
        highest: means.high,
    })
}

/// Creates a directory with mode 0700, and its parents as the umask says.
fn create_private(path: &Path) -> std::io::Result<()> {
    // Only the run's directory is private: it holds the answers and what judges wrote about them.
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// A call of an earlier session.
#[derive(Debug)]
struct Earlier {
    ending: CallEnding,
    /// Its key, if its reply was cut or its text was refused: under another key it is asked again.
    open_as: Option<Fingerprint>,
}

impl Earlier {
    /// Whether this is the end of the call in that line, which another line has.
    fn replaces(&self, line: &CallHead) -> bool {
        let ending = line.ending();
        let is_refused_otherwise = ending == CallEnding::Moderated
            && self.open_as.is_some()
            && self.open_as != line.fingerprint;
        ending < self.ending || is_refused_otherwise
    }
}

/// Writes `manifest.json`, `calls.jsonl` and `scores.jsonl` as events come.
#[derive(Debug)]
pub struct RunRecord {
    dir: RunDir,
    pub(crate) manifest: Manifest,
    session: Session,
}

/// The lines of a session.
#[derive(Debug)]
struct Session {
    calls: JsonLines,
    scores: JsonLines,
    /// The calls of earlier sessions; a session makes no call twice.
    earlier: HashMap<CallId, Earlier>,
    /// Bytes of the calls of earlier sessions.
    begun_at: u64,
    /// True if a line replaces an earlier one of the same call that has no reply, or a line is not a call.
    superseded: bool,
}

impl RunRecord {
    /// Opens the record of a claimed directory; calls of an earlier session stay. With `flush_each_line` every line is
    /// flushed at once, for runs without a cache, whose record is the only copy of the replies.
    ///
    /// # Errors
    /// When a file cannot be opened or written.
    pub fn open(dir: RunDir, manifest: Manifest, flush_each_line: bool) -> Result<Self> {
        let manifest = manifest.unfinished();
        dir.write_manifest(&manifest)?;
        let session = Session::open(&dir.path, flush_each_line)?;
        Ok(Self {
            dir,
            manifest,
            session,
        })
    }

    /// Begins the session again without its calls that were answered from the cache, where they still are, and without its
    /// scores. Its live replies stay.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub(crate) fn begin_again(&mut self) -> Result<()> {
        self.session.calls.flush()?;
        self.session.drop_cached()?;
        self.session = Session::open(&self.dir.path, self.session.calls.flush_each_line)?;
        Ok(())
    }

    /// The directory.
    pub fn dir(&self) -> &RunDir {
        &self.dir
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Records how a run that is looked at ended.
    pub(crate) fn note_looks(&mut self, looks: RunLooks) {
        self.manifest.looks = Some(looks);
    }

    /// Records what the endpoints did; a session without calls keeps the entry of an earlier one.
    pub fn note_endpoints(&mut self, endpoints: Vec<EndpointUse>) {
        if !endpoints.is_empty() {
            self.manifest.endpoints = endpoints;
        }
    }

    /// Records what services state about the end of the judges' models, by the judge's identity.
    pub fn note_ends(&mut self, endings: &BTreeMap<String, EndingModel>) {
        for (judge, ending) in endings {
            self.manifest.note_end(judge, ending.end);
        }
    }

    /// Finishes the record as [`RunDir::finish`], without call lines that later ones replace.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(&mut self, status: RunStatus, scored: &[Arc<ScoredAnswer>]) -> Result<()> {
        self.session.calls.flush()?;
        self.session.scores.flush()?;
        if self.session.superseded {
            self.session.drop_superseded()?;
        }
        self.dir.finish(&mut self.manifest, status, scored)
    }
}

impl Session {
    /// Opens the files of a run, after the calls of earlier sessions and without their scores.
    fn open(dir: &Path, flush_each_line: bool) -> Result<Self> {
        let calls_path = dir.join("calls.jsonl");
        let mut earlier = HashMap::new();
        let mut begun_at = 0;
        let mut superseded = false;
        if let Some(mut lines) = LineReader::to_resume(&calls_path)? {
            while let Some((_, head)) = lines.read::<CallHead>()? {
                let ending = head.ending();
                let was_cut = head.reply.as_ref().is_some_and(ReplyHead::is_cut);
                // Both depend on how the call was made: another limit, or another wording, may
                // bring another end.
                let is_open = was_cut || ending == CallEnding::Moderated;
                let call = Earlier {
                    ending,
                    open_as: head.fingerprint.filter(|_| is_open),
                };
                // The last line of a call is its best one: a line is added only where it improves
                // on those before.
                earlier.insert(head.call_id, call);
            }
            begun_at = lines.end;
            superseded = lines.skipped > 0;
        }
        Ok(Self {
            calls: JsonLines::append(calls_path, begun_at, flush_each_line)?,
            // Scores cost nothing and are computed again; a stale one beside a new one would count
            // twice.
            scores: JsonLines::append(dir.join("scores.jsonl"), 0, flush_each_line)?,
            earlier,
            begun_at,
            superseded,
        })
    }

    fn write_call(&mut self, call: &CallRecord) -> Result<()> {
        let failure = call.verdict.as_ref().err().map(|reason| reason.kind);
        let ending = CallEnding::of(call.reply.is_some(), failure);
        if let Some(earlier) = self.earlier.get_mut(&call.call_id) {
            let is_other = earlier.open_as.is_some() && earlier.open_as != call.fingerprint;
            // A cached reply comes with each session: a file that is continued ten times must not
            // grow ten times.
            let is_new = ending > earlier.ending || ending == earlier.ending && is_other;
            if !is_new {
                return Ok(());
            }
            // A cut reply stays in the file, since it was paid; the one under another limit follows it, and counts.
            self.superseded |= earlier.ending < CallEnding::Replied;
            let was_cut = call.reply.as_ref().is_some_and(JudgeReply::is_cut);
            let is_open = was_cut || ending == CallEnding::Moderated;
            *earlier = Earlier {
                ending,
                open_as: call.fingerprint.filter(|_| is_open),
            };
        }
        self.calls.write(call)
    }

    /// Rewrites `calls.jsonl` without lines that have no reply and are replaced by a later line, and without lines that
    /// are not calls.
    fn drop_superseded(&mut self) -> Result<()> {
        let path = self.calls.path.clone();
        let Some(mut lines) = LineReader::to_resume(&path)? else {
            return Ok(());
        };
        write_whole(&path, |out| {
            while let Some((_, head)) = lines.read::<CallHead>()? {
                let earlier = self.earlier.get(&head.call_id);
                if !earlier.is_some_and(|earlier| earlier.replaces(&head)) {
                    out.write_all(&lines.line)
                        .map_err(Error::io(&path, "write"))?;
                }
            }
            Ok(())
        })?;
        self.superseded = false;
        Ok(())
    }

    /// Rewrites `calls.jsonl` without the calls of this session that were answered from the cache.
    fn drop_cached(&self) -> Result<()> {
        let path = &self.calls.path;
        let Some(mut lines) = LineReader::to_resume(path)? else {
            return Ok(());
        };
        write_whole(path, |out| {
            while let Some((position, head)) = lines.read::<CachedHead>()? {
                let is_cached = head.reply.is_some_and(|reply| reply.cached);
                if position.offset < self.begun_at || !is_cached {
                    out.write_all(&lines.line)
                        .map_err(Error::io(path, "write"))?;
                }
            }
            Ok(())
        })
    }
}

/// The fields of a call that say whether its reply is from the cache.
#[derive(Deserialize)]
struct CachedHead {
    reply: Option<CachedReply>,
}

#[derive(Deserialize)]
struct CachedReply {
    cached: bool,
}

impl EventSink for RunRecord {
    fn on_event(&mut self, event: &RunEvent) -> Result<()> {
        match event {
            RunEvent::Call(call) => self.session.write_call(call),
            RunEvent::Scored(scored) => self.session.scores.write(&**scored),
            RunEvent::Stopping(_) => Ok(()),
        }
    }
}

/// A JSONL file that is written line by line.
#[derive(Debug)]
struct JsonLines {
    path: PathBuf,
    out: BufWriter<File>,
    flush_each_line: bool,
}

impl JsonLines {
    /// Opens the file and truncates it to its first `keep` bytes; a line that a kill tore is cut off.
    fn append(path: PathBuf, keep: u64, flush_each_line: bool) -> Result<Self> {
        let open = || {
            let mut file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)?;
            // Not opened for appending: a torn line would become the beginning of the next one.
            file.set_len(keep)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let file = open().map_err(Error::io(&path, "open"))?;
        Ok(Self {
            path,
            // A line holds a whole reply, so that the default of 8 kB would write nearly each by
            // itself.
            out: BufWriter::with_capacity(1 << 16, file),
            flush_each_line,
        })
    }

    fn write(&mut self, value: &impl Serialize) -> Result<()> {
        write_line(&mut self.out, value)
            .map_err(|error| Error::io(&self.path, "append to")(error))?;
        if self.flush_each_line {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.out
            .flush()
            .map_err(|error| Error::io(&self.path, "append to")(error))
    }
}

/// Writes the value as a line of JSON.
pub(super) fn write_line(out: &mut impl Write, value: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

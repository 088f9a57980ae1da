//! Calls into request files, split at the limits of a batch service.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::import::BatchCall;
use super::manifest::{BatchManifest, BatchPart, CALLS_FILE, refuse_link};
use crate::error::{Error, Result};
use crate::judge::kind::JudgeKind;

/// Longest part of a judge's identity in a file name.
const NAME_CHARS: usize = 48;

/// How much one request file may hold, and what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// Requests, at least 1; 50,000 at OpenAI.
    pub requests: u64,
    /// Bytes; 200 MB at OpenAI.
    pub bytes: u64,
    /// A call over another route than chat is an error: `vllm run-batch` takes no other.
    pub chat_only: bool,
}

/// Writes the request files of a batch into a directory, which is made for the first call. Nothing counts before
/// [`BatchWriter::finish`] has written the manifest.
#[derive(Debug)]
pub struct BatchWriter {
    dir: PathBuf,
    limits: BatchLimits,
    /// The list of calls, once there is one.
    calls: Option<BufWriter<File>>,
    /// Each with its file while it may still take a request: the last part of each judge and route.
    parts: Vec<(BatchPart, Option<BufWriter<File>>)>,
}

impl BatchWriter {
    /// A batch in that directory.
    pub fn new(dir: PathBuf, limits: BatchLimits) -> Self {
        Self { dir, limits, calls: None, parts: Vec::new() }
    }

    /// Writes one call: its body goes to `route` unchanged.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written, [`Error::Usage`] for a call that is too long for any file or goes to
    /// another route than the batch may have.
    pub fn add(&mut self, call: &BatchCall, route: JudgeKind, body: &[u8], prompt_tokens: u64) -> Result<()> {
        if self.limits.chat_only && route != JudgeKind::Chat {
            return Err(Error::Usage(format!(
                "--vllm: vllm run-batch takes chat only, and {} asks {} through {}; give that judge kind = \"chat\", or \
                 run its file with contrib/ray_batch.py",
                call.label.judge.escape_debug(),
                call.label.kind,
                route.path()
            )));
        }
        let line = request_line(call, route, body);
        let size = line.len() as u64;
        if size > self.limits.bytes {
            let (id, most) = (call.custom_id.short(12), self.limits.bytes);
            return Err(Error::Usage(format!(
                "--max-bytes: the request {id} alone has {size} bytes, more than the {most} of a file; give more, or \
                 score that answer without a batch"
            )));
        }
        let (part, file) = self.part(&call.label.judge, &url(route), size)?;
        part.requests += 1;
        part.bytes += size;
        part.prompt_tokens += prompt_tokens;
        let name = part.file.clone();
        file.write_all(&line).map_err(Error::io(self.dir.join(name), "write"))?;
        let mut label = serde_json::to_vec(call)
            .map_err(|error| Error::Internal(format!("cannot write a call's label as JSON: {error}")))?;
        label.push(b'\n');
        let path = self.dir.join(CALLS_FILE);
        let calls = match &mut self.calls {
            Some(calls) => calls,
            None => self.calls.insert(create(&path)?),
        };
        calls.write_all(&label).map_err(Error::io(path, "write"))
    }

    /// The part that takes a line of that size; a full one is closed.
    fn part(&mut self, judge: &str, url: &str, size: u64) -> Result<(&mut BatchPart, &mut BufWriter<File>)> {
        let BatchLimits { requests, bytes, .. } = self.limits;
        let of_judge = |part: &BatchPart| part.judge == judge && part.url == url;
        let last = self.parts.iter().rposition(|(part, _)| of_judge(part));
        let fits = |at: &usize| self.parts[*at].0.requests < requests && self.parts[*at].0.bytes + size <= bytes;
        let at = match last.filter(fits) {
            Some(at) => at,
            None => {
                if let Some((part, file)) = last.and_then(|at| self.parts.get_mut(at)) {
                    close(file.take(), &self.dir.join(&part.file))?;
                }
                let number = 1 + self.parts.iter().filter(|(part, _)| of_judge(part)).count();
                let file = format!("{}-{number:03}.jsonl", file_stem(judge, url));
                fs::create_dir_all(&self.dir).map_err(Error::io(&self.dir, "create"))?;
                let writer = create(&self.dir.join(&file))?;
                let part = BatchPart { file, judge: judge.into(), url: url.into(), ..BatchPart::default() };
                self.parts.push((part, Some(writer)));
                self.parts.len() - 1
            }
        };
        match self.parts.get_mut(at) {
            Some((part, Some(file))) => Ok((part, file)),
            _ => Err(Error::Internal("the file of a batch is closed too early".into())),
        }
    }

    /// Ends the batch: its manifest is written last. `None` if there was no call. `address` gives the address of the judge
    /// of an identity, secrets masked.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written.
    pub fn finish(self, address: impl Fn(&str) -> Option<String>) -> Result<Option<BatchManifest>> {
        if self.calls.is_none() {
            return Ok(None);
        }
        let mut parts = Vec::with_capacity(self.parts.len());
        for (part, file) in self.parts {
            close(file, &self.dir.join(&part.file))?;
            let hash = hash_of(&self.dir.join(&part.file))?;
            parts.push(BatchPart { base_url: address(&part.judge), hash, ..part });
        }
        close(self.calls, &self.dir.join(CALLS_FILE))?;
        let manifest = BatchManifest::new(&self.dir, parts);
        manifest.save()?;
        Ok(Some(manifest))
    }
}

fn hash_of(path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    let read = File::open(path).and_then(|file| hasher.update_reader(file).map(|hasher| hasher.finalize()));
    read.map(|hash| hash.to_string()).map_err(Error::io(path, "read"))
}

fn create(path: &Path) -> Result<BufWriter<File>> {
    refuse_link(path)?;
    File::create(path).map(BufWriter::new).map_err(Error::io(path, "create"))
}

fn close(file: Option<BufWriter<File>>, path: &Path) -> Result<()> {
    let Some(mut file) = file else { return Ok(()) };
    file.flush().and_then(|()| file.get_ref().sync_all()).map_err(Error::io(path, "write"))
}

/// The route as batch files name it.
fn url(route: JudgeKind) -> String {
    format!("/v1{}", route.path())
}

/// One line of a request file. The body stands there byte by byte as it would be sent.
fn request_line(call: &BatchCall, route: JudgeKind, body: &[u8]) -> Vec<u8> {
    let (id, url) = (call.custom_id, url(route));
    let head = format!(r#"{{"custom_id":"{id}","method":"POST","url":"{url}","body":"#);
    [head.as_bytes(), body, b"}\n"].concat()
}

/// A file name for a judge and a route. Identities come from servers and may hold anything: what is no letter, digit, dot
/// or underscore becomes `-`, and a hash of the whole keeps different ones apart.
fn file_stem(judge: &str, url: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' || c == '_' { c } else { '-' };
    let name: String = judge.chars().take(NAME_CHARS).map(plain).collect();
    let name = name.trim_matches(['.', '-']);
    let hash = blake3::hash(format!("{judge}\0{url}").as_bytes()).to_hex();
    format!("{}-{}", if name.is_empty() { "judge" } else { name }, &hash[..8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Fingerprint;
    use crate::judge::cache::CallLabel;

    const LIMITS: BatchLimits = BatchLimits { requests: 50_000, bytes: 200_000_000, chat_only: false };

    fn call(key: u8, judge: &str) -> BatchCall {
        BatchCall {
            custom_id: Fingerprint::from([key; 32]),
            label: CallLabel {
                kind: "property".into(),
                judge: judge.into(),
                role: "rubric".into(),
                draw: 0,
                attempt: 0,
            },
        }
    }

    fn write(limits: BatchLimits, calls: &[(u8, &str, JudgeKind)]) -> (tempfile::TempDir, BatchManifest) {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = BatchWriter::new(dir.path().to_path_buf(), limits);
        for (key, judge, route) in calls {
            writer.add(&call(*key, judge), *route, b"{\"model\":\"m\"}", 5).unwrap();
        }
        let manifest = writer.finish(|_| None).unwrap().unwrap();
        (dir, manifest)
    }

    #[test]
    fn files_are_split_by_judge_and_route_and_at_the_number_of_requests() {
        let (chat, raw) = (JudgeKind::Chat, JudgeKind::Completions);
        let limits = BatchLimits { requests: 2, ..LIMITS };
        let calls = [(1, "a", chat), (2, "b", chat), (3, "a", chat), (4, "a", chat), (5, "a", raw)];
        let (dir, manifest) = write(limits, &calls);
        let parts: Vec<(&str, &str, u64)> =
            manifest.parts.iter().map(|part| (part.judge.as_str(), part.url.as_str(), part.requests)).collect();
        let chat = "/v1/chat/completions";
        assert_eq!(parts, [("a", chat, 2), ("b", chat, 1), ("a", chat, 1), ("a", "/v1/completions", 1)]);
        for part in &manifest.parts {
            let text = fs::read_to_string(dir.path().join(&part.file)).unwrap();
            assert_eq!((text.lines().count() as u64, text.len() as u64), (part.requests, part.bytes));
        }
        assert_eq!(fs::read_to_string(dir.path().join(CALLS_FILE)).unwrap().lines().count(), 5);
        let first = fs::read_to_string(dir.path().join(&manifest.parts[0].file)).unwrap();
        let id = "01".repeat(32);
        assert_eq!(
            first.lines().next().unwrap(),
            format!(r#"{{"custom_id":"{id}","method":"POST","url":"/v1/chat/completions","body":{{"model":"m"}}}}"#)
        );
    }

    #[test]
    fn files_are_split_at_their_size_and_a_line_that_fits_nowhere_is_an_error() {
        let line = request_line(&call(1, "a"), JudgeKind::Chat, b"{\"model\":\"m\"}").len() as u64;
        let limits = BatchLimits { bytes: 2 * line, ..LIMITS };
        let chat = JudgeKind::Chat;
        let (_dir, manifest) = write(limits, &[(1, "a", chat), (2, "a", chat), (3, "a", chat)]);
        assert_eq!(manifest.parts.iter().map(|part| part.bytes).collect::<Vec<_>>(), [2 * line, line]);
        let dir = tempfile::tempdir().unwrap();
        let mut writer = BatchWriter::new(dir.path().to_path_buf(), BatchLimits { bytes: 10, ..limits });
        let error = writer.add(&call(1, "a"), chat, b"{}", 1).unwrap_err().to_string();
        assert!(error.contains("--max-bytes"), "{error}");
    }

    #[test]
    fn no_judge_leaves_the_directory_or_takes_the_files_of_another() {
        let names = ["../../etc/passwd", "a/b", "a|b", "..", "", "-rf", "\u{1b}[2J"].map(|judge| file_stem(judge, "u"));
        for name in &names {
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)), "{name}");
            assert!(!name.starts_with(['.', '-']), "{name}");
        }
        assert_ne!(names[1], names[2], "different judges, different files");
    }
}

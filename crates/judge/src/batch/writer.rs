//! Calls into request files, split at the limits of a batch service.
//!
//! Each call goes to the open file of its judge and route; a full one is closed and the next begun.
//! The manifest, written last, makes the directory a batch.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::import::BatchCall;
use super::manifest::{BatchManifest, BatchPart, CALLS_FILE, refuse_link};
use super::service::{BatchLimits, batches_of};
use crate::kind::JudgeKind;
use scholareval_core::error::{Error, Result};
use scholareval_core::files::lock_directory;

/// Longest part of a judge's identity in a file name.
const NAME_CHARS: usize = 48;

/// Writes the request files of a batch into a directory, which is created for the first call. Nothing counts before
/// [`BatchWriter::finish`] has written the manifest.
#[derive(Debug)]
pub struct BatchWriter {
    dir: PathBuf,
    limits: BatchLimits,
    /// Keeps other processes out of the directory, once it is written.
    lock: Option<File>,
    /// The list of calls, once there is one.
    calls: Option<BufWriter<File>>,
    /// Request files that are full.
    full: Vec<BatchPart>,
    /// The request file of each judge and route that takes further requests.
    open: Vec<OpenPart>,
}

/// A request file that is being written.
#[derive(Debug)]
struct OpenPart {
    part: BatchPart,
    file: BufWriter<File>,
    hash: blake3::Hasher,
}

impl BatchWriter {
    /// A batch in that directory.
    pub fn new(dir: PathBuf, limits: BatchLimits) -> Self {
        Self {
            dir,
            limits,
            lock: None,
            calls: None,
            full: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Writes one call; the request to `route` has this body, byte for byte.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written, [`Error::Usage`] for a call that is too long for any file.
    pub fn add(
        &mut self,
        call: &BatchCall,
        kind: JudgeKind,
        url: &str,
        body: &[u8],
        prompt_tokens: u64,
    ) -> Result<()> {
        let judge = &call.label.judge;
        let line = request_line(call, url, body);
        let size = line.len() as u64;
        let most = batches_of(kind).limits();
        let requests = self.limits.requests.min(most.requests);
        let bytes = self.limits.bytes.min(most.bytes);
        if size > bytes {
            let id = call.custom_id.short(12);
            return Err(Error::Usage(format!(
                "--max-bytes: the request {id} alone has {size} bytes, more than the {bytes} of a file; raise the limit \
                 (the service takes {}), or score that answer without a batch",
                most.bytes
            )));
        }
        let is_its = |open: &OpenPart| open.part.judge == *judge && open.part.url == url;
        let is_full =
            |open: &OpenPart| open.part.requests == requests || open.part.bytes + size > bytes;
        if let Some(at) = self
            .open
            .iter()
            .position(|open| is_its(open) && is_full(open))
        {
            self.full.push(self.open.remove(at).close(&self.dir)?);
        }
        let at = match self.open.iter().position(is_its) {
            Some(at) => at,
            None => {
                self.begin(judge, kind, url.to_owned())?;
                self.open.len() - 1
            }
        };
        let OpenPart { part, file, hash } = &mut self.open[at];
        file.write_all(&line)
            .map_err(Error::io(self.dir.join(&part.file), "write"))?;
        hash.update(&line);
        part.requests += 1;
        part.bytes += size;
        part.prompt_tokens += prompt_tokens;
        let mut label = serde_json::to_vec(call).map_err(|error| {
            Error::Internal(format!("cannot write a call's label as JSON: {error}"))
        })?;
        label.push(b'\n');
        let path = self.dir.join(CALLS_FILE);
        let calls = match &mut self.calls {
            Some(calls) => calls,
            None => self.calls.insert(create(&path)?),
        };
        // Labels in a separate file: the service need not know which answer a request is about,
        // and would refuse unknown members.
        calls.write_all(&label).map_err(Error::io(path, "write"))
    }

    /// Begins the next request file of a judge and route.
    fn begin(&mut self, judge: &str, kind: JudgeKind, url: String) -> Result<()> {
        let number = 1 + self
            .full
            .iter()
            .filter(|part| part.judge == judge && part.url == url)
            .count();
        let file = format!("{}-{number:03}.jsonl", file_stem(judge, &url));
        self.lock()?;
        let writer = create(&self.dir.join(&file))?;
        let part = BatchPart {
            file,
            judge: judge.to_owned(),
            kind,
            url,
            ..BatchPart::default()
        };
        self.open.push(OpenPart {
            part,
            file: writer,
            hash: blake3::Hasher::new(),
        });
        Ok(())
    }

    /// Creates and locks the directory before its first file is written.
    fn lock(&mut self) -> Result<()> {
        if self.lock.is_some() {
            return Ok(());
        }
        fs::create_dir_all(&self.dir).map_err(Error::io(&self.dir, "create"))?;
        self.lock = Some(lock_directory(
            &self.dir,
            ", or name another directory with --out",
        )?);
        // Another process may have finished a batch here since room was made.
        BatchManifest::make_room(&self.dir, false)
    }

    /// Ends the batch: its manifest is written last. `None` if there was no call. `address` gives the address of a judge
    /// by its identity, secrets masked; the results go into `cache`.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be written.
    pub fn finish(
        self,
        cache: Option<PathBuf>,
        address: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<BatchManifest>> {
        let Some(calls) = self.calls else {
            return Ok(None);
        };
        let _lock = self.lock;
        close(calls, &self.dir.join(CALLS_FILE))?;
        let mut parts = self.full;
        for open in self.open {
            parts.push(open.close(&self.dir)?);
        }
        parts
            .iter_mut()
            .for_each(|part| part.base_url = address(&part.judge));
        let manifest = BatchManifest {
            cache,
            ..BatchManifest::new(&self.dir, parts)
        };
        manifest.save()?;
        Ok(Some(manifest))
    }
}

impl OpenPart {
    fn close(self, dir: &Path) -> Result<BatchPart> {
        close(self.file, &dir.join(&self.part.file))?;
        Ok(BatchPart {
            hash: self.hash.finalize().to_string(),
            ..self.part
        })
    }
}

fn create(path: &Path) -> Result<BufWriter<File>> {
    refuse_link(path)?;
    File::create(path)
        .map(BufWriter::new)
        .map_err(Error::io(path, "create"))
}

fn close(mut file: BufWriter<File>, path: &Path) -> Result<()> {
    file.flush()
        .and_then(|()| file.get_ref().sync_all())
        .map_err(Error::io(path, "write"))
}

/// One line of a request file. The body stands there byte by byte as it would be sent.
fn request_line(call: &BatchCall, url: &str, body: &[u8]) -> Vec<u8> {
    let id = call.custom_id;
    let head = format!(r#"{{"custom_id":"{id}","method":"POST","url":"{url}","body":"#);
    // Put together as bytes: parsed and written again, the body could differ from the one that the
    // fingerprint is of.
    [head.as_bytes(), body, b"}\n"].concat()
}

/// A file name for a judge and a route. Identities come from servers and may hold anything: what is not a letter, digit, dot
/// or underscore becomes `-`, and a hash of the whole keeps different ones apart.
fn file_stem(judge: &str, url: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' || c == '_' {
            c
        } else {
            '-'
        }
    };
    let name: String = judge.chars().take(NAME_CHARS).map(plain).collect();
    let name = name.trim_matches(['.', '-']);
    let hash = blake3::hash(format!("{judge}\0{url}").as_bytes()).to_hex();
    format!(
        "{}-{}",
        if name.is_empty() { "judge" } else { name },
        &hash[..8]
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::CallLabel;
    use scholareval_core::domain::Fingerprint;

    const LIMITS: BatchLimits = BatchLimits {
        requests: 50_000,
        bytes: 200_000_000,
    };

    fn call(key: u8, judge: &str) -> BatchCall {
        BatchCall {
            custom_id: Fingerprint::from([key; 32]),
            label: CallLabel {
                kind: "property".into(),
                judge: judge.into(),
                role: "rubric".into(),
                sample: 0,
                attempt: 0,
            },
        }
    }

    fn write(
        limits: BatchLimits,
        calls: &[(u8, &str, JudgeKind)],
    ) -> (tempfile::TempDir, BatchManifest) {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = BatchWriter::new(dir.path().to_path_buf(), limits);
        for (key, judge, route) in calls {
            writer
                .add(
                    &call(*key, judge),
                    *route,
                    &route.protocol().batch_route("m"),
                    b"{\"model\":\"m\"}",
                    5,
                )
                .unwrap();
        }
        let manifest = writer.finish(None, |_| None).unwrap().unwrap();
        (dir, manifest)
    }

    #[test]
    fn files_are_split_by_judge_and_route_and_at_the_number_of_requests() {
        let (chat, raw) = (JudgeKind::Chat, JudgeKind::Completions);
        let limits = BatchLimits {
            requests: 2,
            ..LIMITS
        };
        let calls = [
            (1, "a", chat),
            (2, "b", chat),
            (3, "a", chat),
            (4, "a", chat),
            (5, "a", raw),
        ];
        let (dir, manifest) = write(limits, &calls);
        let parts: Vec<(&str, &str, u64)> = manifest
            .parts
            .iter()
            .map(|part| (part.judge.as_str(), part.url.as_str(), part.requests))
            .collect();
        let chat = "/v1/chat/completions";
        assert_eq!(
            parts,
            [
                ("a", chat, 2),
                ("b", chat, 1),
                ("a", chat, 1),
                ("a", "/v1/completions", 1)
            ]
        );
        for part in &manifest.parts {
            let text = fs::read_to_string(dir.path().join(&part.file)).unwrap();
            assert_eq!(
                (text.lines().count() as u64, text.len() as u64),
                (part.requests, part.bytes)
            );
        }
        assert_eq!(
            fs::read_to_string(dir.path().join(CALLS_FILE))
                .unwrap()
                .lines()
                .count(),
            5
        );
        let first = fs::read_to_string(dir.path().join(&manifest.parts[0].file)).unwrap();
        let id = "01".repeat(32);
        assert_eq!(
            first.lines().next().unwrap(),
            format!(
                r#"{{"custom_id":"{id}","method":"POST","url":"/v1/chat/completions","body":{{"model":"m"}}}}"#
            )
        );
    }

    #[test]
    fn files_are_split_at_their_size_and_a_line_that_fits_nowhere_is_an_error() {
        let line =
            request_line(&call(1, "a"), "/v1/chat/completions", b"{\"model\":\"m\"}").len() as u64;
        let limits = BatchLimits {
            bytes: 2 * line,
            ..LIMITS
        };
        let chat = JudgeKind::Chat;
        let (_dir, manifest) = write(limits, &[(1, "a", chat), (2, "a", chat), (3, "a", chat)]);
        assert_eq!(
            manifest
                .parts
                .iter()
                .map(|part| part.bytes)
                .collect::<Vec<_>>(),
            [2 * line, line]
        );
        let dir = tempfile::tempdir().unwrap();
        let mut writer = BatchWriter::new(
            dir.path().to_path_buf(),
            BatchLimits {
                bytes: 10,
                ..limits
            },
        );
        let error = writer
            .add(&call(1, "a"), chat, "/v1/chat/completions", b"{}", 1)
            .unwrap_err()
            .to_string();
        assert!(error.contains("--max-bytes"), "{error}");
    }

    #[test]
    fn a_file_holds_no_more_than_its_service_takes() {
        let none = BatchLimits {
            requests: u64::MAX,
            bytes: u64::MAX,
        };
        let dir = tempfile::tempdir().unwrap();
        let mut writer = BatchWriter::new(dir.path().to_path_buf(), none);
        // Two bodies of 11 MB are more than the 20 MB of a batch of Gemini, and less than the 200 MB of OpenAI.
        let body = [b"\"".as_slice(), &vec![b'x'; 11_000_000], b"\""].concat();
        for (key, kind) in [
            (1, JudgeKind::Gemini),
            (2, JudgeKind::Gemini),
            (3, JudgeKind::Chat),
            (4, JudgeKind::Chat),
        ] {
            writer
                .add(&call(key, "a"), kind, &kind.to_string(), &body, 1)
                .unwrap();
        }
        let manifest = writer.finish(None, |_| None).unwrap().unwrap();
        let parts: Vec<_> = manifest
            .parts
            .iter()
            .map(|part| (part.kind, part.requests))
            .collect();
        let (chat, gemini) = (JudgeKind::Chat, JudgeKind::Gemini);
        assert_eq!(parts, [(gemini, 1), (gemini, 1), (chat, 2)]);
    }

    #[test]
    fn no_judge_leaves_the_directory_or_takes_the_files_of_another() {
        let names = [
            "../../etc/passwd",
            "a/b",
            "a|b",
            "..",
            "",
            "-rf",
            "\u{1b}[2J",
        ]
        .map(|judge| file_stem(judge, "u"));
        for name in &names {
            assert!(
                name.chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)),
                "{name}"
            );
            assert!(!name.starts_with(['.', '-']), "{name}");
        }
        assert_ne!(names[1], names[2], "different judges, different files");
    }
}

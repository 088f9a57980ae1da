//! `batch.json`: the request files of a batch directory, and how far each of them is.
//!
//! It is written after every step that costs something (upload, creation, download), so that a
//! stopped command knows what was paid.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::kind::JudgeKind;
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::{is_plain_name, lock_directory, write_json};

/// Name of the manifest in a batch directory.
pub const MANIFEST_FILE: &str = "batch.json";
/// Name of the list of calls in a batch directory.
pub const CALLS_FILE: &str = "calls.jsonl";
/// Version of the file's form.
const SCHEMA_VERSION: u32 = 1;

/// A batch directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchManifest {
    /// The directory.
    #[serde(skip)]
    pub dir: PathBuf,
    /// Version of this form: 1.
    pub schema_version: u32,
    /// This program's version.
    pub scholareval_version: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// The reply cache that results go into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<PathBuf>,
    /// Its request files, in the order they were written.
    pub parts: Vec<BatchPart>,
}

/// One request file, and what a batch service reported of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BatchPart {
    /// Name of the request file in the directory.
    pub file: String,
    /// Identity of the judge.
    pub judge: String,
    /// The kind of judge, whose service takes the batch.
    pub kind: JudgeKind,
    /// The route of every request, such as `/v1/chat/completions`.
    pub url: String,
    /// Address of the judge, secrets masked; `None` if unknown.
    pub base_url: Option<String>,
    /// Requests in it.
    pub requests: u64,
    /// Its size.
    pub bytes: u64,
    /// BLAKE3 over it; a file that differs is not uploaded.
    pub hash: String,
    /// About how many tokens its prompts have together.
    pub prompt_tokens: u64,
    /// The service's id of the uploaded file.
    pub file_id: Option<String>,
    /// When the creation of the batch was begun, in seconds since 1970; kept if its end is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creating_since: Option<u64>,
    /// The service's id of the batch.
    pub batch_id: Option<String>,
    /// What the service reported last of the batch: `validating`, `in_progress`, `completed`, ..
    pub status: Option<String>,
    /// Requests that have a reply.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// What the service found wrong with the file, one line each.
    pub errors: Vec<String>,
    /// Names of the result files that were fetched into the directory.
    pub results: Vec<String>,
}

/// How a batch stands with its service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchState {
    /// Not submitted, or results may still come.
    Open,
    /// Every request has a result or an error.
    Completed,
    /// It ended before every request was answered; what was answered until then is paid.
    Cut,
    /// The service could not work on the file.
    Failed,
}

impl BatchPart {
    /// Its state by what the service reported last. Services differ in case, spelling and words.
    pub fn state(&self) -> BatchState {
        let status = self.status.as_deref().unwrap_or_default();
        match status
            .to_ascii_lowercase()
            .replace(['-', ' '], "_")
            .as_str()
        {
            "completed" | "complete" | "success" | "succeeded" | "finished" | "ended" | "done" => {
                BatchState::Completed
            }
            "partially_succeeded"
            | "expired"
            | "timeout_exceeded"
            | "timed_out"
            | "cancelled"
            | "canceled"
            | "aborted" => BatchState::Cut,
            "failed" | "failure" | "error" | "errored" | "rejected" | "invalid" => {
                BatchState::Failed
            }
            _ => BatchState::Open,
        }
    }

    /// Whether the service has something of it, or may have.
    fn was_begun(&self) -> bool {
        self.file_id.is_some() || self.creating_since.is_some() || self.batch_id.is_some()
    }

    /// True where nothing more will come.
    pub fn is_over(&self) -> bool {
        self.state() != BatchState::Open
    }

    /// How many results its files must have at least: one for each request of a completed batch, else one for each that
    /// the service counts.
    pub(super) fn results_expected(&self) -> u64 {
        match self.state() {
            BatchState::Completed => self.requests,
            _ => self
                .completed
                .saturating_add(self.failed)
                .min(self.requests),
        }
    }
}

impl BatchManifest {
    /// A manifest of these files of a directory, created now.
    pub fn new(dir: &Path, parts: Vec<BatchPart>) -> Self {
        Self {
            dir: dir.to_path_buf(),
            schema_version: SCHEMA_VERSION,
            scholareval_version: env!("CARGO_PKG_VERSION").to_owned(),
            created_at: scholareval_core::domain::timestamp(std::time::SystemTime::now()),
            cache: None,
            parts,
        }
    }

    /// Makes room for a batch in that directory: removes the manifest and the request files of an earlier one. A batch that
    /// was submitted is paid for: its directory is never written again.
    ///
    /// # Errors
    /// [`Error::Usage`] if there is a batch that was submitted, or one that may not be overwritten; [`Error::Io`] if a file
    /// cannot be removed.
    pub fn make_room(dir: &Path, overwrite: bool) -> Result<()> {
        let path = dir.join(MANIFEST_FILE);
        if !path.exists() {
            return Ok(());
        }
        let shown = dir.display().to_string();
        let refuse = |what: &str| Err(Error::Usage(format!("--out {shown:?}: {what}")));
        let manifest = Self::load(dir)?;
        // Its results can only be found through this manifest.
        if manifest.parts.iter().any(BatchPart::was_begun) {
            return refuse("the batch there was submitted to a service; name another directory");
        }
        if !overwrite {
            return refuse("there is a batch already; add --overwrite to replace it");
        }
        let files = manifest
            .parts
            .iter()
            .map(|part| dir.join(&part.file))
            .chain([path]);
        files
            .filter(|path| path.exists())
            .try_for_each(|path| fs::remove_file(&path).map_err(Error::io(&path, "remove")))
    }

    /// Reads the manifest of a batch directory and locks the directory until the file is dropped: two submissions of one
    /// batch would both be paid.
    ///
    /// # Errors
    /// As [`BatchManifest::load`]; [`Error::Input`] while another process has locked it.
    pub fn load_locked(dir: &Path) -> Result<(Self, File)> {
        // A directory without a batch gets no lock file.
        Self::load(dir)?;
        let lock = lock_directory(dir, "")?;
        Ok((Self::load(dir)?, lock))
    }

    /// Reads the manifest of a batch directory.
    ///
    /// # Errors
    /// [`Error::Input`] if there is none, if it is of another form or names a file outside of its directory; [`Error::Io`] if
    /// it cannot be read.
    pub fn load(dir: &Path) -> Result<Self> {
        let path = dir.join(MANIFEST_FILE);
        if !path.is_file() {
            let what = format!("is not a batch: it has no {MANIFEST_FILE}");
            let hint = "name the directory that scholareval batch export --out DIR wrote";
            return Err(InputFault::new(dir, what).refuse(hint));
        }
        refuse_link(&path)?;
        let bytes = fs::read(&path).map_err(Error::io(&path, "read"))?;
        let fault =
            |what: String| Error::from(InputFault::new(&path, what).hint("export the batch again"));
        let manifest: Self = serde_json::from_slice(&bytes)
            .map_err(|error| fault(format!("not a batch's manifest: {error}")))?;
        if manifest.schema_version != SCHEMA_VERSION {
            let version = manifest.schema_version;
            return Err(fault(format!(
                "has schema version {version}, this program reads {SCHEMA_VERSION}"
            )));
        }
        let names = manifest
            .parts
            .iter()
            .flat_map(|part| std::iter::once(&part.file).chain(&part.results));
        // A batch may come from somebody else: `../..` in it would read or overwrite any file of
        // the user.
        if let Some(name) = names.into_iter().find(|name| !is_plain_name(name)) {
            return Err(fault(format!(
                "{name:?} is not the name of a file in this directory"
            )));
        }
        Ok(Self {
            dir: dir.to_path_buf(),
            ..manifest
        })
    }

    /// Writes it into its directory; the one before is replaced as a whole.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn save(&self) -> Result<()> {
        write_json(&self.dir.join(MANIFEST_FILE), self)
    }
}

/// Refuses a symbolic link in a batch directory, which may come from somebody else: it could lead to any file of the user.
///
/// # Errors
/// [`Error::Input`] if the path is a link.
pub fn refuse_link(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => {
            let hint = "put the file itself there, or export the batch again";
            Err(
                InputFault::new(path, "is a symbolic link, which a batch must not contain")
                    .refuse(hint),
            )
        }
        _ => Ok(()),
    }
}

/// The bytes of a request file.
///
/// # Errors
/// [`Error::Input`] if it is not the file that was exported; [`Error::Io`] if it cannot be read.
pub(super) fn read_request_file(dir: &Path, part: &BatchPart) -> Result<Vec<u8>> {
    let path = dir.join(&part.file);
    refuse_link(&path)?;
    let bytes = fs::read(&path).map_err(Error::io(&path, "read"))?;
    // A request that was changed would be answered under the fingerprint of the original, and its
    // reply would enter the cache as that of another question.
    if blake3::hash(&bytes).to_string() != part.hash {
        let what =
            format!("is not the file that batch export wrote: its hash in {MANIFEST_FILE} differs");
        return Err(InputFault::new(&path, what).refuse("export the batch again"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_comes_back_as_it_was_saved() {
        let dir = tempfile::tempdir().unwrap();
        let part = BatchPart {
            file: "a-001.jsonl".into(),
            requests: 2,
            file_id: Some("f".into()),
            ..Default::default()
        };
        let manifest = BatchManifest::new(dir.path(), vec![part]);
        manifest.save().unwrap();
        assert_eq!(BatchManifest::load(dir.path()).unwrap(), manifest);
    }

    #[test]
    fn every_spelling_of_an_end_is_one() {
        let state = |status: &str| {
            let part = BatchPart {
                status: Some(status.to_owned()),
                ..BatchPart::default()
            };
            part.state()
        };
        assert_eq!(state("COMPLETED"), BatchState::Completed);
        assert_eq!(state("canceled"), BatchState::Cut);
        assert_eq!(state("timeout-exceeded"), BatchState::Cut);
        assert_eq!(state("Failed"), BatchState::Failed);
        assert_eq!(state("cancelling"), BatchState::Open);
        assert!(!BatchPart::default().is_over(), "not submitted");
    }

    #[test]
    fn a_locked_directory_is_not_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        BatchManifest::new(dir.path(), Vec::new()).save().unwrap();
        let first = BatchManifest::load_locked(dir.path()).unwrap();
        let error = BatchManifest::load_locked(dir.path())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("another scholareval is writing into this directory"),
            "{error}"
        );
        drop(first);
        BatchManifest::load_locked(dir.path()).unwrap();
    }

    #[test]
    fn names_that_leave_the_directory_are_refused() {
        for name in ["../x", "/etc/x", "", ".hidden", "a\\b", "\u{1b}[2J.jsonl"] {
            let dir = tempfile::tempdir().unwrap();
            let part = BatchPart {
                file: name.into(),
                ..Default::default()
            };
            BatchManifest::new(dir.path(), vec![part]).save().unwrap();
            let error = BatchManifest::load(dir.path()).unwrap_err().to_string();
            assert!(
                error.contains("not the name of a file in this directory"),
                "{name:?}: {error}"
            );
        }
    }
}

//! `batch.json`: what is in a batch directory, and how far each file came.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, InputFault, Result};

/// Name of the manifest in a batch directory.
pub const MANIFEST_FILE: &str = "batch.json";
/// Name of the list of calls in a batch directory.
pub const CALLS_FILE: &str = "calls.jsonl";
/// Version of the file's form.
const SCHEMA_VERSION: u32 = 1;

/// A batch directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BatchManifest {
    /// Version of this form: 1.
    pub schema_version: u32,
    /// This program's version.
    pub scholareval_version: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// Its request files, in the order they were written.
    pub parts: Vec<BatchPart>,
}

/// One request file, and what a batch service made of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchPart {
    /// Name of the request file in the directory.
    pub file: String,
    /// Identity of the judge.
    pub judge: String,
    /// The route of every request: `/v1/chat/completions` or `/v1/completions`.
    pub url: String,
    /// Where the judge lives, secrets masked; `None` where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Requests in it.
    pub requests: u64,
    /// Its size.
    pub bytes: u64,
    /// About how many tokens its prompts have together.
    pub prompt_tokens: u64,
    /// The service's id of the uploaded file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
    /// The service's id of the batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_id: Option<String>,
    /// What the service said last of the batch: `validating`, `in_progress`, `completed`, ..
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Names of the result files that were fetched into the directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<String>,
}

impl BatchManifest {
    /// A manifest of now over these files.
    pub fn new(parts: Vec<BatchPart>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            scholareval_version: env!("CARGO_PKG_VERSION").to_owned(),
            created_at: humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string(),
            parts,
        }
    }

    /// True if anything of it was handed to a service.
    pub fn is_submitted(&self) -> bool {
        self.parts.iter().any(|part| part.file_id.is_some())
    }

    /// Reads the manifest of a batch directory.
    ///
    /// # Errors
    /// [`Error::Input`] if there is none, if it is of another form or names a file outside of its directory; [`Error::Io`] if
    /// it cannot be read.
    pub fn load(dir: &Path) -> Result<Self> {
        let path = dir.join(MANIFEST_FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                let what = format!("is no batch: it holds no {MANIFEST_FILE}");
                return Err(InputFault::new(dir, what)
                    .hint("name the directory that scholareval batch export --out DIR wrote")
                    .into());
            }
            Err(error) => return Err(Error::io(&path, "read")(error)),
        };
        let fault = |what: String| Error::from(InputFault::new(&path, what).hint("export the batch again"));
        let manifest: Self =
            serde_json::from_slice(&bytes).map_err(|error| fault(format!("not a batch's manifest: {error}")))?;
        if manifest.schema_version != SCHEMA_VERSION {
            return Err(fault(format!(
                "form {} of the manifest is unknown; this program writes form {SCHEMA_VERSION}",
                manifest.schema_version
            )));
        }
        let names = manifest.parts.iter().flat_map(|part| std::iter::once(&part.file).chain(&part.results));
        for name in names {
            if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\']) {
                return Err(fault(format!("{name:?} is no name of a file in this directory")));
            }
        }
        Ok(manifest)
    }

    /// Writes it into the directory; the one before is replaced as a whole.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn save(&self, dir: &Path) -> Result<()> {
        let mut bytes = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::Internal(format!("cannot write a batch's manifest as JSON: {error}")))?;
        bytes.push(b'\n');
        write_whole(&dir.join(MANIFEST_FILE), &bytes)
    }
}

/// Writes a file beside its place and moves it there: a reader sees all of it or none.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = Path::new(&beside);
    let mut file = File::create(beside).map_err(Error::io(beside, "create"))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(Error::io(beside, "write"))?;
    fs::rename(beside, path).map_err(Error::io(path, "replace"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_comes_back_as_it_was_saved() {
        let dir = tempfile::tempdir().unwrap();
        let part =
            BatchPart { file: "a-001.jsonl".into(), requests: 2, file_id: Some("f".into()), ..Default::default() };
        let manifest = BatchManifest::new(vec![part]);
        manifest.save(dir.path()).unwrap();
        assert_eq!(BatchManifest::load(dir.path()).unwrap(), manifest);
        assert!(manifest.is_submitted());
    }

    #[test]
    fn names_that_leave_the_directory_are_refused() {
        for name in ["../x", "/etc/x", "", ".hidden", "a\\b"] {
            let dir = tempfile::tempdir().unwrap();
            let part = BatchPart { file: name.into(), ..Default::default() };
            BatchManifest::new(vec![part]).save(dir.path()).unwrap();
            let error = BatchManifest::load(dir.path()).unwrap_err().to_string();
            assert!(error.contains("no name of a file in this directory"), "{name:?}: {error}");
        }
    }
}

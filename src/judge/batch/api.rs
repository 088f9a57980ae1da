//! A batch service: OpenAI's Files and Batches routes, or a server that has the same.
//!
//! `POST /files` (multipart, purpose `batch`), `POST /batches` (completion window 24 h), `GET /batches/{id}`,
//! `GET /files/{id}/content`. Whatever was reached is written into `batch.json` before the next step, so that the same
//! command goes on after any stop. A batch whose creation was not heard of is looked for before another one is made: a
//! batch made twice is paid twice.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::manifest::{BatchManifest, BatchPart, write_whole};
use crate::error::{Error, Result};
use crate::judge::chat::transport::{Fault, Transport};
use crate::judge::chat::{error_words, key_refused, no_server};
use crate::judge::endpoint::Endpoint;

/// Files of 200 MB take their time.
const FILE_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Everything else.
const QUICK_LIMIT: Duration = Duration::from_secs(60);
/// Result files above this are refused: 50,000 long replies stay below it.
const LARGEST_RESULT: usize = 4 << 30;
/// How often a question that changes nothing is asked.
const TRIES: u32 = 5;
/// The first pause between two tries where the server asks for none, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));
/// Batches that are looked through for one whose creation was not heard of, a page at a time.
const PAGE: usize = 100;
const PAGES: usize = 20;

/// How far the service is with one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartState {
    /// Name of the request file.
    pub file: String,
    /// `not submitted`, or the service's own word.
    pub status: String,
    /// Requests that have a reply.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests of the file.
    pub total: u64,
    /// What the service found wrong with the file, one line each.
    pub errors: Vec<String>,
}

impl PartState {
    /// True where nothing more will come.
    pub fn is_over(&self) -> bool {
        is_over(&self.status)
    }
}

/// What was fetched of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FetchedPart {
    /// How far the service is.
    pub state: PartState,
    /// Result files that are in the directory.
    pub results: Vec<String>,
    /// True if some of them came now.
    pub is_new: bool,
}

/// A client of one service.
pub struct BatchApi {
    transport: Transport,
    endpoint: Arc<Endpoint>,
}

impl BatchApi {
    /// A client of the service at that endpoint.
    ///
    /// # Errors
    /// [`Error::Settings`] if no HTTP client can be set up.
    pub fn new(mut endpoint: Endpoint) -> Result<Self> {
        endpoint.max_reply_bytes = LARGEST_RESULT;
        endpoint.timeouts.total = FILE_LIMIT;
        let endpoint = Arc::new(endpoint);
        Ok(Self { transport: Transport::new(Arc::clone(&endpoint))?, endpoint })
    }

    /// Hands one request file in; what is done already is not done again. `save` is called with what was reached after
    /// every step. True if anything was handed in.
    ///
    /// # Errors
    /// For files that cannot be read and services that cannot be asked; the same command goes on.
    pub async fn submit(
        &self,
        dir: &Path,
        part: &mut BatchPart,
        mut save: impl FnMut(&BatchPart) -> Result<()>,
    ) -> Result<bool> {
        if part.batch_id.is_some() {
            return Ok(false);
        }
        let resumed = part.file_id.is_some();
        if !resumed {
            part.file_id = Some(self.upload(&dir.join(&part.file), &part.file).await?);
            save(part)?;
        }
        let file_id = part.file_id.clone().unwrap_or_default();
        let known = if resumed { self.find_batch(&file_id).await? } else { None };
        let batch = match known {
            Some(batch) => batch,
            None => self.create(&file_id, &part.url).await?,
        };
        part.batch_id = Some(id_of(&batch, "batch")?);
        part.status = text(&batch, "status");
        save(part)?;
        Ok(true)
    }

    /// Asks how far the service is with one file.
    ///
    /// # Errors
    /// For services that cannot be asked.
    pub async fn state(&self, part: &mut BatchPart) -> Result<PartState> {
        Ok(match &part.batch_id {
            None => PartState {
                file: part.file.clone(),
                status: "not submitted".into(),
                total: part.requests,
                ..PartState::default()
            },
            Some(_) => self.look(part).await?.0,
        })
    }

    /// Downloads the results of a file whose batch has ended (also one that expired or was cancelled: what was answered
    /// until then is paid). What is there already is not fetched again.
    ///
    /// # Errors
    /// For services that cannot be asked and files that cannot be written.
    pub async fn fetch(
        &self,
        dir: &Path,
        part: &mut BatchPart,
        mut save: impl FnMut(&BatchPart) -> Result<()>,
    ) -> Result<FetchedPart> {
        if part.batch_id.is_none() {
            return Ok(FetchedPart { state: self.state(part).await?, ..FetchedPart::default() });
        }
        let (state, batch) = self.look(part).await?;
        let mut is_new = false;
        let stem = part.file.trim_end_matches(".jsonl").to_owned();
        for (member, kind) in [("output_file_id", "output"), ("error_file_id", "errors")] {
            let name = format!("{stem}.{kind}.jsonl");
            let Some(id) = text(&batch, member).filter(|_| is_over(&state.status)) else { continue };
            if part.results.contains(&name) && dir.join(&name).exists() {
                continue;
            }
            let id = checked_id(id, "file")?;
            let bytes = self.get(&format!("files/{id}/content"), FILE_LIMIT).await?;
            write_whole(&dir.join(&name), &bytes)?;
            part.results.retain(|known| *known != name);
            part.results.push(name);
            is_new = true;
            save(part)?;
        }
        Ok(FetchedPart { state, results: part.results.clone(), is_new })
    }

    async fn look(&self, part: &mut BatchPart) -> Result<(PartState, Value)> {
        let id = checked_id(part.batch_id.clone().unwrap_or_default(), "batch")?;
        let batch = json_of(&self.get(&format!("batches/{id}"), QUICK_LIMIT).await?)?;
        let count = |name: &str| batch["request_counts"][name].as_u64().unwrap_or(0);
        let errors = batch["errors"]["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        let status = text(&batch, "status").unwrap_or_else(|| "unknown".to_owned());
        part.status = Some(status.clone());
        let state = PartState {
            file: part.file.clone(),
            status,
            completed: count("completed"),
            failed: count("failed"),
            total: part.requests,
            errors: errors.iter().map(line_error).collect(),
        };
        Ok((state, batch))
    }

    async fn upload(&self, path: &Path, name: &str) -> Result<String> {
        let content = std::fs::read(path).map_err(Error::io(path, "read"))?;
        // The boundary must not occur in the file: it is made from what is in it.
        let boundary = format!("scholareval-{}", &blake3::hash(&content).to_hex()[..32]);
        let head = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{boundary}\r\n\
             content-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             content-type: application/jsonl\r\n\r\n"
        );
        let tail = format!("\r\n--{boundary}--\r\n");
        let body = bytes::Bytes::from([head.as_bytes(), &content, tail.as_bytes()].concat());
        drop(content);
        let url = format!("{}/files", self.endpoint.base_url);
        let form = format!("multipart/form-data; boundary={boundary}");
        let mut tries = 0;
        loop {
            // A file that was uploaded twice costs nothing.
            match self.transport.post_as(&url, &form, body.clone(), FILE_LIMIT).await {
                Ok(answer) => return id_of(&json_of(&answer)?, "file"),
                Err(fault) => tries = self.pause_or_fail(fault, tries).await?,
            }
        }
    }

    async fn create(&self, file_id: &str, url: &str) -> Result<Value> {
        let body = json!({"input_file_id": file_id, "endpoint": url, "completion_window": "24h"}).to_string();
        let to = format!("{}/batches", self.endpoint.base_url);
        let mut tries = 0;
        loop {
            match self.transport.post(&to, body.clone().into_bytes(), QUICK_LIMIT).await {
                Ok(answer) => return json_of(&answer),
                // Only a refusal is certain to have made nothing.
                Err(fault @ (Fault::Status { status: 429, .. } | Fault::Connect(_))) => {
                    tries = self.pause_or_fail(fault, tries).await?;
                }
                Err(fault) => return Err(self.error(fault)),
            }
        }
    }

    /// The batch of that file, if the service has one.
    async fn find_batch(&self, file_id: &str) -> Result<Option<Value>> {
        let mut after = String::new();
        for _ in 0..PAGES {
            let page = json_of(&self.get(&format!("batches?limit={PAGE}{after}"), QUICK_LIMIT).await?)?;
            let batches = page["data"].as_array().map(Vec::as_slice).unwrap_or_default();
            if let Some(batch) = batches.iter().find(|batch| batch["input_file_id"] == file_id) {
                return Ok(Some(batch.clone()));
            }
            match batches.last().and_then(|batch| text(batch, "id")) {
                Some(last) if page["has_more"] == true => after = format!("&after={}", checked_id(last, "batch")?),
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    async fn get(&self, path: &str, limit: Duration) -> Result<bytes::Bytes> {
        let url = format!("{}/{path}", self.endpoint.base_url);
        let mut tries = 0;
        loop {
            match self.transport.get(&url, limit).await {
                Ok(bytes) => return Ok(bytes),
                Err(fault) => tries = self.pause_or_fail(fault, tries).await?,
            }
        }
    }

    /// Waits before the next try; the error where waiting does not help, or was done often enough.
    async fn pause_or_fail(&self, fault: Fault, tries: u32) -> Result<u32> {
        let passing = match &fault {
            Fault::Connect(_) | Fault::TimedOut(_) | Fault::NoFirstByte(_) | Fault::Broken(_) => true,
            Fault::Status { status, .. } => matches!(status, 408 | 409 | 425 | 429 | 500..),
            Fault::TooLong(_) | Fault::NotJson(_) | Fault::ErrorUnder200 { .. } => false,
        };
        if !passing || tries + 1 >= TRIES {
            return Err(self.error(fault));
        }
        let asked = if let Fault::Status { retry_after, .. } = &fault { *retry_after } else { None };
        let wait = asked.unwrap_or(PAUSE.0 * 2_u32.pow(tries)).min(PAUSE.1);
        tokio::time::sleep(wait).await;
        Ok(tries + 1)
    }

    fn error(&self, fault: Fault) -> Error {
        let url = self.endpoint.masked_url();
        let said = match &fault {
            Fault::Connect(words) => return Error::JudgeUnavailable(no_server(&url, words)),
            Fault::Status { status, body, .. } => {
                let value: Value = serde_json::from_slice(body).unwrap_or_default();
                let inner = value.get("error").filter(|error| !error.is_null()).unwrap_or(&value);
                let words = if inner.is_null() { String::new() } else { error_words(inner) };
                let words = self.endpoint.scrub(&words);
                match status {
                    401 | 403 => {
                        let quoted = format!("status {status}: {words}");
                        return Error::JudgeUnavailable(key_refused(&self.endpoint, &quoted));
                    }
                    404 | 405 => format!(
                        "status {status} {words}; it may have no batch service: vllm run-batch and \
                         contrib/ray_batch.py take the same files"
                    ),
                    _ => format!("status {status}: {words}"),
                }
            }
            _ => fault.to_string(),
        };
        Error::JudgeUnavailable(format!("the batch service at {url} failed ({said}); the same command goes on later"))
    }
}

/// True where nothing more will come.
fn is_over(status: &str) -> bool {
    matches!(status, "completed" | "expired" | "cancelled" | "failed")
}

fn line_error(error: &Value) -> String {
    match error["line"].as_u64() {
        Some(line) => format!("line {line}: {}", error_words(error)),
        None => error_words(error),
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn json_of(bytes: &[u8]) -> Result<Value> {
    serde_json::from_slice(bytes).map_err(|_| {
        Error::JudgeUnavailable("the batch service gave something else than JSON; check --base-url".to_owned())
    })
}

fn id_of(value: &Value, what: &str) -> Result<String> {
    let id = text(value, "id").ok_or_else(|| {
        Error::JudgeUnavailable(format!("the batch service gave no id of the {what}; check --base-url"))
    })?;
    checked_id(id, what)
}

/// Ids become parts of addresses: anything but letters, digits, `-`, `_` and `.` is refused.
fn checked_id(id: String, what: &str) -> Result<String> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !id.is_empty() && id.len() <= 256 && id.chars().all(good) && !id.starts_with('.') {
        return Ok(id);
    }
    Err(Error::JudgeUnavailable(format!("the batch service gave {id:?} as the id of a {what}, which is none")))
}

impl BatchManifest {
    /// Replaces a part by what became of it, and saves.
    ///
    /// # Errors
    /// [`Error::Io`] if the manifest cannot be written.
    pub fn update(&mut self, dir: &Path, index: usize, part: &BatchPart) -> Result<()> {
        if let Some(known) = self.parts.get_mut(index) {
            known.clone_from(part);
        }
        self.save(dir)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_would_change_the_address_are_refused() {
        for id in ["", "../x", "a/b", "a?b", "a b", ".."] {
            assert!(checked_id(id.to_owned(), "file").is_err(), "{id:?}");
        }
        assert_eq!(checked_id("file-Ab_1.2".to_owned(), "file").unwrap(), "file-Ab_1.2");
    }
}

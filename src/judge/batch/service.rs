//! A batch service: OpenAI's Files and Batches routes, or a server that has the same, through async-openai's client.
//!
//! Whatever was reached is written into `batch.json` before the next step, so that the same command continues after any
//! stop. A batch whose creation was interrupted is looked for before another one is created: a batch created twice is
//! paid twice.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_openai::Client;
use async_openai::config::Config;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use async_openai::traits::RequestOptionsBuilder as _;
use async_openai::types::InputSource;
use async_openai::types::files::{CreateFileRequest, FileInput, FilePurpose};
use http::HeaderMap;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};

use super::manifest::{BatchManifest, BatchPart, write_whole};
use crate::error::{Error, Result};
use crate::judge::chat::transport::{Fault, Transport, request_headers};
use crate::judge::chat::{error_text, error_words, key_refused, no_server};
use crate::judge::endpoint::Endpoint;

/// Files of 200 MB take their time.
const FILE_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Everything else.
const QUICK_LIMIT: Duration = Duration::from_secs(60);
/// How often a request that changes nothing is sent.
const TRIES: u32 = 5;
/// The first pause between two tries where the server asks for none, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));
/// Pages of a hundred batches that are looked through for one whose creation was interrupted.
const PAGES: usize = 20;

/// The members of a batch object that are used; servers leave some out, or null.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Batch {
    id: String,
    input_file_id: Option<String>,
    status: Option<String>,
    output_file_id: Option<String>,
    error_file_id: Option<String>,
    request_counts: Value,
    errors: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Page {
    data: Vec<Batch>,
    has_more: bool,
}

#[derive(Debug, Deserialize)]
struct Uploaded {
    id: String,
}

/// The endpoint as async-openai wants it: its own configuration reads variables of the environment.
struct ServiceConfig {
    endpoint: Arc<Endpoint>,
    /// The key stands in the headers.
    no_key: SecretString,
}

impl Config for ServiceConfig {
    fn headers(&self) -> HeaderMap {
        request_headers(&self.endpoint)
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.endpoint.base_url)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        self.endpoint.query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    fn api_base(&self) -> &str {
        &self.endpoint.base_url
    }

    fn api_key(&self) -> &SecretString {
        &self.no_key
    }
}

/// A client of one service.
pub struct BatchService {
    client: Client<ServiceConfig>,
    transport: Transport,
    endpoint: Arc<Endpoint>,
}

impl BatchService {
    /// A client of the service at that endpoint.
    ///
    /// # Errors
    /// [`Error::Settings`] if no HTTP client can be set up.
    pub fn new(mut endpoint: Endpoint) -> Result<Self> {
        endpoint.timeouts.total = FILE_LIMIT;
        let endpoint = Arc::new(endpoint);
        let transport = Transport::new(Arc::clone(&endpoint))?;
        // async-openai's own executor repeats requests, the creation of a batch included, and loses the status of an
        // error that has another form than OpenAI's.
        let sender = transport.clone();
        let service = tower::service_fn(move |factory: HttpRequestFactory| {
            let sender = sender.clone();
            async move {
                let request = factory.build().await?;
                sender.response(request).await.map_err(|fault| OpenAIError::Boxed(Box::new(fault)))
            }
        });
        let config = ServiceConfig { endpoint: Arc::clone(&endpoint), no_key: SecretString::from("") };
        Ok(Self { client: Client::build(transport.client(), config).with_http_service(service), transport, endpoint })
    }

    /// Hands in one request file; what is done already is not done again. True if anything was handed in.
    ///
    /// # Errors
    /// For files that cannot be read and services that cannot be reached; the same command continues.
    pub async fn submit(&self, manifest: &mut BatchManifest, part: usize) -> Result<bool> {
        if manifest.parts[part].batch_id.is_some() {
            return Ok(false);
        }
        let known = match manifest.parts[part].file_id.clone() {
            Some(file_id) => self.find_batch(&file_id).await?,
            None => {
                let file_id = self.upload(&manifest.path_of(part), &manifest.parts[part].file).await?;
                manifest.parts[part].file_id = Some(file_id);
                manifest.save()?;
                None
            }
        };
        let batch = match known {
            Some(batch) => batch,
            None => {
                let BatchPart { file_id, url, .. } = &manifest.parts[part];
                let body = json!({"input_file_id": file_id, "endpoint": url, "completion_window": "24h"});
                // Only a refusal is certain to have created nothing.
                let is_safe = |fault: &Fault| matches!(fault, Fault::Status { status: 429, .. } | Fault::Connect(_));
                let create = || async { self.client.batches().create_byot::<_, Batch>(body.clone()).await };
                self.send(QUICK_LIMIT, is_safe, create).await?
            }
        };
        let part = &mut manifest.parts[part];
        part.batch_id = Some(checked_id(batch.id, "batch")?);
        part.status = batch.status;
        manifest.save()?;
        Ok(true)
    }

    /// Asks how far the service is with one file, and writes it into the part.
    ///
    /// # Errors
    /// For services that cannot be reached.
    pub async fn refresh(&self, part: &mut BatchPart) -> Result<()> {
        self.retrieve(part).await.map(drop)
    }

    /// Asks how far the service is with one file, and downloads its results if the batch has ended (also one that expired
    /// or was cancelled: what was answered until then is paid). What is there already is not downloaded again.
    ///
    /// # Errors
    /// For services that cannot be reached and files that cannot be written.
    pub async fn fetch(&self, manifest: &mut BatchManifest, part: usize) -> Result<()> {
        let Some(batch) = self.retrieve(&mut manifest.parts[part]).await? else { return Ok(()) };
        manifest.save()?;
        if !manifest.parts[part].is_over() {
            return Ok(());
        }
        let stem = manifest.parts[part].file.trim_end_matches(".jsonl").to_owned();
        for (file_id, kind) in [(batch.output_file_id, "output"), (batch.error_file_id, "errors")] {
            let name = format!("{stem}.{kind}.jsonl");
            let Some(id) = file_id.filter(|id| !id.is_empty()) else { continue };
            let path = manifest.dir.join(&name);
            let results = &mut manifest.parts[part].results;
            if results.contains(&name) && path.exists() {
                continue;
            }
            let id = checked_id(id, "file")?;
            let bytes = self.send(FILE_LIMIT, is_passing, || async { self.client.files().content(&id).await }).await?;
            write_whole(&path, &bytes)?;
            results.retain(|known| *known != name);
            results.push(name);
            manifest.save()?;
        }
        Ok(())
    }

    /// The batch of a part; `None` if it was not handed in.
    async fn retrieve(&self, part: &mut BatchPart) -> Result<Option<Batch>> {
        let Some(id) = part.batch_id.clone() else { return Ok(None) };
        let id = checked_id(id, "batch")?;
        let retrieve = || async { self.client.batches().retrieve_byot::<_, Batch>(&id).await };
        let batch = self.send(QUICK_LIMIT, is_passing, retrieve).await?;
        let count = |name: &str| batch.request_counts[name].as_u64().unwrap_or(0);
        (part.completed, part.failed) = (count("completed"), count("failed"));
        part.status = Some(batch.status.clone().unwrap_or_else(|| "unknown".to_owned()));
        part.errors = batch.errors["data"].as_array().into_iter().flatten().map(line_error).collect();
        Ok(Some(batch))
    }

    async fn upload(&self, path: &Path, name: &str) -> Result<String> {
        let bytes = bytes::Bytes::from(std::fs::read(path).map_err(Error::io(path, "read"))?);
        let source = InputSource::Bytes { filename: name.to_owned(), bytes };
        let request =
            CreateFileRequest { file: FileInput { source }, purpose: FilePurpose::Batch, expires_after: None };
        // A file that was uploaded twice costs nothing.
        let upload = || async { self.client.files().create_byot::<_, Uploaded>(request.clone()).await };
        checked_id(self.send(FILE_LIMIT, is_passing, upload).await?.id, "file")
    }

    /// The batch of that file, if the service has one.
    async fn find_batch(&self, file_id: &str) -> Result<Option<Batch>> {
        let mut query = vec![("limit", "100".to_owned())];
        for _ in 0..PAGES {
            let list = || async { self.client.batches().query(&query)?.list_byot::<Page>().await };
            let page = self.send(QUICK_LIMIT, is_passing, list).await?;
            let next = page.data.last().filter(|_| page.has_more).map(|batch| ("after", batch.id.clone()));
            let found = page.data.into_iter().find(|batch| batch.input_file_id.as_deref() == Some(file_id));
            let (None, Some(next)) = (&found, next) else { return Ok(found) };
            query = vec![("limit", "100".to_owned()), next];
        }
        Ok(None)
    }

    /// Sends a request, again while its fault `may_be_repeated`, and waits as long as the server asks before each try.
    async fn send<T, F>(
        &self,
        limit: Duration,
        may_be_repeated: impl Fn(&Fault) -> bool,
        request: impl Fn() -> F,
    ) -> Result<T>
    where
        F: Future<Output = std::result::Result<T, OpenAIError>>,
    {
        let mut pause = PAUSE.0;
        for is_last in (1..=TRIES).map(|tries| tries == TRIES) {
            let fault = match tokio::time::timeout(limit, request()).await {
                Ok(Ok(response)) => return Ok(response),
                Ok(Err(error)) => self.fault(error, limit)?,
                Err(_) => Fault::TimedOut(limit),
            };
            if is_last || !may_be_repeated(&fault) {
                return Err(self.error(&fault));
            }
            let asked = if let Fault::Status { retry_after, .. } = &fault { *retry_after } else { None };
            tokio::time::sleep(asked.unwrap_or(pause).min(PAUSE.1)).await;
            pause *= 2;
        }
        Err(Error::Internal("a request to the batch service was never sent".to_owned()))
    }

    /// The fault behind an error of the client; the error itself where none is.
    fn fault(&self, error: OpenAIError, limit: Duration) -> Result<Fault> {
        let what = match error {
            OpenAIError::Reqwest(error) => return Ok(self.transport.fault(error, limit)),
            OpenAIError::Boxed(error) => match error.downcast::<Fault>() {
                Ok(fault) => return Ok(*fault),
                Err(error) => error.to_string(),
            },
            OpenAIError::JSONDeserialize(..) => {
                let what = "the batch service sent something else than its JSON objects; check --base-url";
                return Err(Error::JudgeUnavailable(what.to_owned()));
            }
            other => other.to_string(),
        };
        Err(Error::Internal(format!("a request to the batch service failed: {what}")))
    }

    fn error(&self, fault: &Fault) -> Error {
        let url = self.endpoint.masked_url();
        let words = |body: &[u8]| error_text(body, &self.endpoint);
        let reason = match fault {
            Fault::Connect(words) => return Error::JudgeUnavailable(no_server(&url, words)),
            Fault::Status { status: status @ (401 | 403), body, .. } => {
                let quoted = format!("status {status}: {}", words(body));
                return Error::JudgeUnavailable(key_refused(&self.endpoint, &quoted));
            }
            Fault::Status { status: status @ (404 | 405), body, .. } => format!(
                "status {status} {}; it may have no batch service: vllm run-batch and contrib/ray_batch.py take the \
                 same files",
                words(body)
            ),
            Fault::Status { status, body, .. } => format!("status {status}: {}", words(body)),
            _ => fault.to_string(),
        };
        Error::JudgeUnavailable(format!(
            "the batch service at {url} failed ({reason}); run the same command again later"
        ))
    }
}

fn is_passing(fault: &Fault) -> bool {
    match fault {
        Fault::Status { status, .. } => matches!(status, 408 | 409 | 425 | 429 | 500..),
        Fault::Connect(_) | Fault::TimedOut(_) | Fault::NoFirstByte(_) | Fault::Broken(_) => true,
        _ => false,
    }
}

fn line_error(error: &Value) -> String {
    match error["line"].as_u64() {
        Some(line) => format!("line {line}: {}", error_words(error)),
        None => error_words(error),
    }
}

/// Ids become parts of addresses: anything but letters, digits, `-`, `_` and `.` is refused.
fn checked_id(id: String, what: &str) -> Result<String> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !id.is_empty() && id.len() <= 256 && id.chars().all(is_good) && !id.starts_with('.') {
        return Ok(id);
    }
    Err(Error::JudgeUnavailable(format!("the batch service sent {id:?} as the id of a {what}, which is none")))
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

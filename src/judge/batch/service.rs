//! A batch service: OpenAI's Files and Batches routes, or a server that has the same, through async-openai's client.
//!
//! Whatever was reached is written into `batch.json` before the next step, so that the same command continues after any
//! stop. A batch whose creation was interrupted is looked for before another one is created, twice if a service may not list
//! it yet: a batch created twice is paid twice.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_openai::Client;
use async_openai::config::Config;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use async_openai::traits::RequestOptionsBuilder as _;
use async_openai::types::InputSource;
use async_openai::types::files::{CreateFileRequest, FileInput, FilePurpose};
use http::{HeaderMap, Method};
use reqwest::Response;
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::manifest::{BatchManifest, BatchPart, read_request_file, refuse_link};
use crate::error::{Error, Result};
use crate::files::{is_plain_name, write_bytes};
use crate::judge::chat::transport::{Transport, TransportFault, request_headers};
use crate::judge::chat::{error_text, error_words, key_refused, no_server};
use crate::judge::endpoint::Endpoint;

/// Time-out of uploads and downloads, of up to 200 MB.
const FILE_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Time-out of other requests.
const QUICK_LIMIT: Duration = Duration::from_secs(60);
/// Maximum number of attempts of a request.
const TRIES: u32 = 5;
/// The first pause between two tries where the server asks for none, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));
/// So long after its creation was begun, a batch must stand in the service's list.
const LISTED_AFTER: Duration = Duration::from_secs(60);
/// Pages of a hundred batches that are looked through for one whose creation was interrupted.
const PAGES: usize = 20;

/// The members of a batch, or of an uploaded file, that are used; servers leave some out, or null.
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
        self.endpoint
            .query
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
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
        let (sender, owner) = (transport.clone(), Arc::clone(&endpoint));
        let service = tower::service_fn(move |factory: HttpRequestFactory| {
            let (sender, owner) = (sender.clone(), Arc::clone(&owner));
            async move { masked(send(&sender, &factory).await?, &owner).await }
        });
        let config = ServiceConfig {
            endpoint: Arc::clone(&endpoint),
            no_key: SecretString::from(""),
        };
        let client = Client::build(transport.http.clone(), config).with_http_service(service);
        Ok(Self {
            client,
            transport,
            endpoint,
        })
    }

    /// Submits one request file; steps that were done before are skipped. True if anything was submitted. `notify` takes
    /// a sentence for the user before a pause.
    ///
    /// # Errors
    /// For files that cannot be read and services that cannot be reached; the same command continues.
    pub async fn submit(
        &self,
        manifest: &mut BatchManifest,
        part: usize,
        notify: &(dyn Fn(&str) + Sync),
    ) -> Result<bool> {
        if manifest.parts[part].batch_id.is_some() {
            return Ok(false);
        }
        let created = match manifest.parts[part].file_id.clone() {
            Some(file_id) => {
                self.find_created(&manifest.parts[part], &file_id, notify)
                    .await?
            }
            None => {
                let file_id = self.upload(&manifest.dir, &manifest.parts[part]).await?;
                manifest.parts[part].file_id = Some(file_id);
                manifest.save()?;
                None
            }
        };
        let batch = match created {
            Some(batch) => batch,
            None => {
                // Written before the request: a process that is killed now may have created the batch.
                manifest.parts[part].creating_since = Some(unix_seconds());
                manifest.save()?;
                self.create(&manifest.parts[part]).await?
            }
        };
        let part = &mut manifest.parts[part];
        part.batch_id = Some(checked_id(batch.id, "batch")?);
        part.creating_since = None;
        part.status = batch.status;
        manifest.save()?;
        Ok(true)
    }

    async fn create(&self, part: &BatchPart) -> Result<Batch> {
        let body = json!({
            "input_file_id": part.file_id, "endpoint": part.url, "completion_window": "24h",
        });
        let created = self.client.batches().create_byot::<_, Batch>(body).await;
        created.map_err(|error| self.error(error))
    }

    /// The batch whose creation was interrupted, if the service has it. A service may list a new batch late, so that one
    /// look soon after the interruption proves nothing.
    async fn find_created(
        &self,
        part: &BatchPart,
        file_id: &str,
        notify: &(dyn Fn(&str) + Sync),
    ) -> Result<Option<Batch>> {
        if let Some(batch) = self.find_batch(file_id).await? {
            return Ok(Some(batch));
        }
        let since = part.creating_since.unwrap_or_default();
        let elapsed = Duration::from_secs(unix_seconds().saturating_sub(since));
        let wait = LISTED_AFTER.saturating_sub(elapsed);
        if wait.is_zero() {
            return Ok(None);
        }
        notify(&format!(
            "the creation of a batch of {} was interrupted and the service does not list it; looking again in {} s",
            part.file,
            wait.as_secs()
        ));
        tokio::time::sleep(wait).await;
        self.find_batch(file_id).await
    }

    /// Asks how far the service is with one file. If the batch has ended (also one that expired or was cancelled: what was
    /// answered until then is paid), its results are downloaded; what is there completely already is not.
    ///
    /// # Errors
    /// For services that cannot be reached, results that are missing or incomplete, and files that cannot be written. A
    /// result file that can be had is stored even if the other one cannot.
    pub async fn fetch(&self, manifest: &mut BatchManifest, part: usize) -> Result<()> {
        let Some(batch) = self.retrieve(&mut manifest.parts[part]).await? else {
            return Ok(());
        };
        manifest.save()?;
        if !manifest.parts[part].is_over() || missing_results(manifest, part)? == Some(0) {
            return Ok(());
        }
        let output = self
            .download(manifest, part, batch.output_file_id, "output")
            .await;
        let errors = self
            .download(manifest, part, batch.error_file_id, "errors")
            .await;
        // Both are tried before either fails: what can be had is paid for.
        output.and(errors)?;
        let Some(missing @ 1..) = missing_results(manifest, part)? else {
            return Ok(());
        };
        Err(Error::JudgeUnavailable(format!(
            "{missing} of {} results are missing or cut; fetch again, or import what is there",
            manifest.parts[part].requests
        )))
    }

    /// Stores one result file of a part, if the service names one.
    async fn download(
        &self,
        manifest: &mut BatchManifest,
        part: usize,
        file_id: Option<String>,
        kind: &str,
    ) -> Result<()> {
        let Some(id) = file_id.filter(|id| !id.is_empty()) else {
            return Ok(());
        };
        let stem = manifest.parts[part].file.trim_end_matches(".jsonl");
        let name = format!("{stem}.{kind}.jsonl");
        let id = checked_id(id, "file")?;
        let content = self.client.files().content(&id).await;
        let content = content.map_err(|error| self.result_error(error, &name))?;
        let path = manifest.dir.join(&name);
        // A download that was cut again must not replace one that holds more.
        let is_shorter = path
            .metadata()
            .is_ok_and(|old| old.len() > content.len() as u64);
        if !is_shorter {
            write_bytes(&path, &content)?;
        }
        let results = &mut manifest.parts[part].results;
        results.retain(|known| *known != name);
        results.push(name);
        manifest.save()
    }

    /// The batch of a part; `None` if it was not submitted.
    async fn retrieve(&self, part: &mut BatchPart) -> Result<Option<Batch>> {
        let Some(id) = part.batch_id.clone() else {
            return Ok(None);
        };
        let id = checked_id(id, "batch")?;
        let batch = self
            .client
            .batches()
            .retrieve_byot::<_, Batch>(&id)
            .await
            .map_err(|error| self.error(error))?;
        let count = |name: &str| batch.request_counts[name].as_u64().unwrap_or(0);
        (part.completed, part.failed) = (count("completed"), count("failed"));
        part.status = Some(batch.status.clone().unwrap_or_else(|| "unknown".to_owned()));
        part.errors = batch.errors["data"]
            .as_array()
            .into_iter()
            .flatten()
            .map(line_error)
            .collect();
        Ok(Some(batch))
    }

    async fn upload(&self, dir: &Path, part: &BatchPart) -> Result<String> {
        let bytes = read_request_file(dir, part)?.into();
        let source = InputSource::Bytes {
            filename: part.file.clone(),
            bytes,
        };
        let request = CreateFileRequest {
            file: FileInput { source },
            purpose: FilePurpose::Batch,
            expires_after: None,
        };
        let uploaded = self.client.files().create_byot::<_, Batch>(request).await;
        checked_id(uploaded.map_err(|error| self.error(error))?.id, "file")
    }

    /// The batch of that file, if the service has one.
    async fn find_batch(&self, file_id: &str) -> Result<Option<Batch>> {
        let mut query = vec![("limit", "100".to_owned())];
        for _ in 0..PAGES {
            let batches = self
                .client
                .batches()
                .query(&query)
                .map_err(|error| self.error(error))?;
            let page = batches
                .list_byot::<Page>()
                .await
                .map_err(|error| self.error(error))?;
            let next = page
                .data
                .last()
                .filter(|_| page.has_more)
                .map(|batch| ("after", batch.id.clone()));
            let found = page
                .data
                .into_iter()
                .find(|batch| batch.input_file_id.as_deref() == Some(file_id));
            let (None, Some(next)) = (&found, next) else {
                return Ok(found);
            };
            query = vec![("limit", "100".to_owned()), next];
        }
        Ok(None)
    }

    /// What to do about a result file that cannot be had: the service may have lost one and still have the others.
    fn result_error(&self, error: OpenAIError, name: &str) -> Error {
        if let OpenAIError::Boxed(boxed) = &error
            && let Some(TransportFault::Status {
                status: status @ (404 | 410),
                body,
                ..
            }) = boxed.downcast_ref::<TransportFault>()
        {
            let words = error_text(body, &self.endpoint);
            return Error::JudgeUnavailable(format!(
                "the service does not have {name} (status {status}: {words}); fetch again later, or export its calls again"
            ));
        }
        self.error(error)
    }

    /// What to do about an error of the client.
    fn error(&self, error: OpenAIError) -> Error {
        match error {
            OpenAIError::Reqwest(error) => self.failed(&self.transport.fault(error, FILE_LIMIT)),
            OpenAIError::Boxed(error) => match error.downcast::<TransportFault>() {
                Ok(fault) => self.failed(&fault),
                Err(error) => {
                    Error::Internal(format!("a request to the batch service failed: {error}"))
                }
            },
            OpenAIError::JSONDeserialize(..) => {
                let what = "the batch service did not send the expected JSON; check --base-url";
                Error::JudgeUnavailable(what.to_owned())
            }
            other => Error::Internal(format!("a request to the batch service failed: {other}")),
        }
    }

    fn failed(&self, fault: &TransportFault) -> Error {
        let url = self.endpoint.masked_url();
        let words = |body: &[u8]| error_text(body, &self.endpoint);
        let reason = match fault {
            TransportFault::Connect(words) => {
                return Error::JudgeUnavailable(no_server(&url, words));
            }
            TransportFault::Status {
                status: status @ (401 | 403),
                body,
                ..
            } => {
                let quoted = format!("status {status}: {}", words(body));
                return Error::JudgeUnavailable(key_refused(&self.endpoint, &quoted));
            }
            TransportFault::Status {
                status: status @ (404 | 405),
                body,
                ..
            } => format!(
                "status {status} {}; it may have no batch service: vllm run-batch and contrib/ray_batch.py take the \
                 same files",
                words(body)
            ),
            TransportFault::Status { status, body, .. } => {
                format!("status {status}: {}", words(body))
            }
            _ => fault.to_string(),
        };
        Error::JudgeUnavailable(format!(
            "the batch service at {url} failed ({reason}); run the same command again later"
        ))
    }
}

/// Sends a request, again where its fault passes, and waits as long as the server asks before each further try. Of a
/// creation only a refusal is certain to have created nothing; a file that was uploaded twice costs nothing.
async fn send(
    transport: &Transport,
    factory: &HttpRequestFactory,
) -> Result<Response, OpenAIError> {
    let (mut tries, mut pause) = (1, PAUSE.0);
    loop {
        let request = factory.build().await?;
        let path = request.url().path();
        let is_creation = request.method() == Method::POST && path.ends_with("/batches");
        let limit = if path.contains("/files") {
            FILE_LIMIT
        } else {
            QUICK_LIMIT
        };
        let fault = match tokio::time::timeout(limit, transport.response(request)).await {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(fault)) => fault,
            Err(_) => TransportFault::TimedOut(limit),
        };
        let (passes, asked) = match &fault {
            TransportFault::Connect(_) => (true, None),
            TransportFault::TimedOut(_) | TransportFault::Broken(_) => (!is_creation, None),
            TransportFault::Status {
                status: 429,
                retry_after,
                ..
            } => (true, *retry_after),
            TransportFault::Status {
                status: 408 | 409 | 425 | 500..,
                retry_after,
                ..
            } => (!is_creation, *retry_after),
            _ => (false, None),
        };
        if !passes || tries == TRIES {
            return Err(OpenAIError::Boxed(Box::new(fault)));
        }
        tokio::time::sleep(asked.unwrap_or(pause).min(PAUSE.1)).await;
        (tries, pause) = (tries + 1, pause * 2);
    }
}

/// The response with every secret of the endpoint masked, before any of it is stored.
async fn masked(response: Response, endpoint: &Endpoint) -> Result<Response, OpenAIError> {
    let status = response.status();
    let body = response.bytes().await.map_err(OpenAIError::Reqwest)?;
    let mut masked = http::Response::new(endpoint.mask_body(body));
    *masked.status_mut() = status;
    Ok(masked.into())
}

/// Seconds since 1970 (UTC).
fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// How many results are missing from the files of a part; `None` if nothing was fetched or a file is not there. A download can be cut
/// without an error, where the service does not send its length.
fn missing_results(manifest: &BatchManifest, part: usize) -> Result<Option<u64>> {
    let part = &manifest.parts[part];
    if part.results.is_empty() {
        return Ok(None);
    }
    let mut whole = 0;
    let mut torn = 0;
    for name in &part.results {
        let path = manifest.dir.join(name);
        if !path.exists() {
            return Ok(None);
        }
        refuse_link(&path)?;
        let file = File::open(&path).map_err(Error::io(&path, "read"))?;
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(Error::io(&path, "read"))?;
            if line.trim_ascii().is_empty() {
                continue;
            }
            if serde_json::from_slice::<IgnoredAny>(&line).is_ok() {
                whole += 1;
            } else {
                torn += 1;
            }
        }
    }
    Ok(Some(
        part.results_expected().saturating_sub(whole).max(torn),
    ))
}

fn line_error(error: &Value) -> String {
    match error["line"].as_u64() {
        Some(line) => format!("line {line}: {}", error_words(error)),
        None => error_words(error),
    }
}

/// Ids become parts of addresses: anything but letters, digits, `-`, `_` and `.` is refused.
fn checked_id(id: String, what: &str) -> Result<String> {
    if is_plain_name(&id) && id.len() <= 256 {
        return Ok(id);
    }
    Err(Error::JudgeUnavailable(format!(
        "the batch service sent {id:?}, which is not the id of a {what}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_would_change_the_address_are_refused() {
        for id in ["", "../x", "a/b", "a?b", "a b", ".."] {
            assert!(checked_id(id.to_owned(), "file").is_err(), "{id:?}");
        }
        assert_eq!(
            checked_id("file-Ab_1.2".to_owned(), "file").unwrap(),
            "file-Ab_1.2"
        );
    }
}

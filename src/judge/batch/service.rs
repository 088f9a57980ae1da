//! A batch service: OpenAI's Files and Batches routes, or a server that has the same.
//!
//! Whatever was reached is written into `batch.json` before the next step, so that the same command continues after any
//! stop. A batch whose creation was interrupted is looked for before another one is created, twice if a service may not list
//! it yet: a batch created twice is paid twice.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::Method;
use http::header::CONTENT_TYPE;
use reqwest::multipart::{Form, Part};
use reqwest::{Request, Response};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::manifest::{BatchManifest, BatchPart, read_request_file, refuse_link};
use crate::error::{Error, Result};
use crate::files::{is_plain_name, write_bytes};
use crate::judge::chat::transport::{Transport, TransportFault};
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

/// A request to the service, made anew for every try.
struct ServiceRequest {
    method: Method,
    /// Behind the base URL.
    path: String,
    query: Vec<(&'static str, String)>,
    content: Content,
}

/// What a request carries.
enum Content {
    Nothing,
    Json(Value),
    /// A form with a request file of a batch. The bytes are shared between the tries: there may be 200 MB.
    RequestFile {
        name: String,
        bytes: Bytes,
    },
}

impl ServiceRequest {
    fn get(path: String) -> Self {
        Self {
            method: Method::GET,
            path,
            query: Vec::new(),
            content: Content::Nothing,
        }
    }

    fn post(path: &str, content: Content) -> Self {
        Self {
            method: Method::POST,
            path: path.to_owned(),
            query: Vec::new(),
            content,
        }
    }

    /// Whether the service makes a batch of it, which is paid for: such a request is not repeated on suspicion.
    fn is_creation(&self) -> bool {
        self.method == Method::POST && self.path.ends_with("/batches")
    }

    fn limit(&self) -> Duration {
        if self.path.starts_with("/files") {
            FILE_LIMIT
        } else {
            QUICK_LIMIT
        }
    }
}

/// A client of one service.
pub struct BatchService {
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
        Ok(Self {
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
        self.ask(&ServiceRequest::post("/batches", Content::Json(body)))
            .await
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
        let request = ServiceRequest::get(format!("/files/{id}/content"));
        let content = self.send(&request).await;
        let content = content.map_err(|fault| self.result_error(&fault, &name))?;
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
        let batch: Batch = self
            .ask(&ServiceRequest::get(format!("/batches/{id}")))
            .await?;
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
        let content = Content::RequestFile {
            name: part.file.clone(),
            bytes,
        };
        let uploaded: Batch = self.ask(&ServiceRequest::post("/files", content)).await?;
        checked_id(uploaded.id, "file")
    }

    /// The batch of that file, if the service has one.
    async fn find_batch(&self, file_id: &str) -> Result<Option<Batch>> {
        let mut request = ServiceRequest::get("/batches".to_owned());
        request.query = vec![("limit", "100".to_owned())];
        for _ in 0..PAGES {
            let page: Page = self.ask(&request).await?;
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
            request.query = vec![("limit", "100".to_owned()), next];
        }
        Ok(None)
    }

    /// Sends a request and reads the JSON of its response.
    async fn ask<T: DeserializeOwned>(&self, request: &ServiceRequest) -> Result<T> {
        let body = self.send(request).await;
        let body = body.map_err(|fault| self.failed(&fault))?;
        serde_json::from_slice(&body).map_err(|_| {
            let what = "the batch service did not send the expected JSON; check --base-url";
            Error::JudgeUnavailable(what.to_owned())
        })
    }

    /// Sends a request, again where its fault passes, and waits as long as the server asks before each further try. Of a
    /// creation only a refusal is certain to have created nothing; a file that was uploaded twice costs nothing.
    ///
    /// The body of the response has every secret of the endpoint masked, before any of it is stored.
    async fn send(&self, request: &ServiceRequest) -> Result<Bytes, TransportFault> {
        let mut tries = 1;
        let mut pause = PAUSE.0;
        loop {
            let fault = match self.attempt(request).await {
                Ok(response) => {
                    let body = response.bytes().await;
                    let body = body.map_err(|error| self.transport.fault(error, FILE_LIMIT))?;
                    return Ok(self.endpoint.mask_body(body));
                }
                Err(fault) => fault,
            };
            let Some(asked) = wait_before_retry(&fault, request.is_creation()) else {
                return Err(fault);
            };
            if tries == TRIES {
                return Err(fault);
            }
            tokio::time::sleep(asked.unwrap_or(pause).min(PAUSE.1)).await;
            tries += 1;
            pause *= 2;
        }
    }

    /// One try, up to the head of the response.
    async fn attempt(&self, request: &ServiceRequest) -> Result<Response, TransportFault> {
        let limit = request.limit();
        let built = self.build(request);
        let built = built.map_err(|error| self.transport.fault(error, limit))?;
        match tokio::time::timeout(limit, self.transport.response(built)).await {
            Ok(response) => response,
            Err(_) => Err(TransportFault::TimedOut(limit)),
        }
    }

    fn build(&self, request: &ServiceRequest) -> reqwest::Result<Request> {
        let url = format!("{}{}", self.endpoint.base_url, request.path);
        let builder = self
            .transport
            .http
            .request(request.method.clone(), url)
            .query(&self.endpoint.query)
            .query(&request.query);
        let builder = match &request.content {
            Content::Nothing => builder,
            Content::Json(body) => builder
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_string()),
            Content::RequestFile { name, bytes } => {
                let file = Part::stream(bytes.clone()).file_name(name.clone());
                builder.multipart(Form::new().part("file", file).text("purpose", "batch"))
            }
        };
        builder.build()
    }

    /// What to do about a result file that cannot be had: the service may have lost one and still have the others.
    fn result_error(&self, fault: &TransportFault, name: &str) -> Error {
        if let TransportFault::Status {
            status: status @ (404 | 410),
            body,
            ..
        } = fault
        {
            let words = error_text(body, &self.endpoint);
            return Error::JudgeUnavailable(format!(
                "the service does not have {name} (status {status}: {words}); fetch again later, or export its calls again"
            ));
        }
        self.failed(fault)
    }

    /// What to do about a fault.
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

/// Whether a request may be sent again after this fault, and how long the server asks to wait.
fn wait_before_retry(fault: &TransportFault, is_creation: bool) -> Option<Option<Duration>> {
    match fault {
        TransportFault::Connect(_) => Some(None),
        TransportFault::TimedOut(_) | TransportFault::Broken(_) if !is_creation => Some(None),
        TransportFault::Status {
            status: 429,
            retry_after,
            ..
        } => Some(*retry_after),
        TransportFault::Status {
            status: 408 | 409 | 425 | 500..,
            retry_after,
            ..
        } if !is_creation => Some(*retry_after),
        _ => None,
    }
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

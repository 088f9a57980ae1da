//! Sends what a [`BatchApi`] writes: uploads, creations, polls and downloads, each again where its fault passes.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use memchr::memmem;
use reqwest::multipart::{Form, Part};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::anthropic::ANTHROPIC_BATCHES;
use super::gemini::GEMINI_BATCHES;
use super::openai::OPENAI_BATCHES;
use super::{Batch, BatchApi, ResultPlace, checked_id};
use crate::batch::manifest::{
    BatchManifest, BatchPart, BatchState, read_request_file, refuse_link,
};
use crate::chat::transport::{Transport, TransportFault};
use crate::chat::{error_text, key_refused, no_server};
use crate::endpoint::Endpoint;
use crate::kind::JudgeKind;
use scholareval_core::error::{Error, Result};
use scholareval_core::files::write_bytes;

/// Time-out of uploads and downloads, of up to 256 MB.
const FILE_LIMIT: Duration = Duration::from_secs(30 * 60);
/// Time-out of other requests; a poll may bring the results.
const QUICK_LIMIT: Duration = Duration::from_secs(300);
/// Maximum number of attempts of a request.
const TRIES: u32 = 5;
/// The first pause between two tries where the server asks for none, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));
/// So long after its creation was begun, a batch must stand in the service's list.
const LISTED_AFTER: Duration = Duration::from_secs(60);
/// Pages of a hundred batches that are looked through for one whose creation was interrupted.
const PAGES: usize = 20;

/// What a request to a service carries.
enum Sent {
    /// Nothing: it is read.
    Nothing,
    /// JSON that creates or cancels a batch: a creation that is sent twice may be paid twice.
    Order(Bytes),
    /// A request file under this name.
    File(String, Bytes),
}

/// The batches of the service that judges of this kind ask.
pub fn batches_of(kind: JudgeKind) -> &'static dyn BatchApi {
    match kind {
        JudgeKind::Anthropic => &ANTHROPIC_BATCHES,
        JudgeKind::Gemini => &GEMINI_BATCHES,
        JudgeKind::Lexical
        | JudgeKind::Chat
        | JudgeKind::Completions
        | JudgeKind::Label
        | JudgeKind::SystemOne
        | JudgeKind::Decisions => &OPENAI_BATCHES,
    }
}

/// A client of one service.
pub struct BatchService {
    transport: Transport,
    endpoint: Arc<Endpoint>,
    api: &'static dyn BatchApi,
}

impl BatchService {
    /// A client of the service that judges of this kind ask, at that endpoint.
    ///
    /// # Errors
    /// [`Error::Settings`] if no HTTP client can be set up.
    pub fn new(mut endpoint: Endpoint, kind: JudgeKind) -> Result<Self> {
        endpoint.timeouts.total = FILE_LIMIT;
        let endpoint = Arc::new(endpoint);
        let transport = Transport::new(Arc::clone(&endpoint))?;
        Ok(Self {
            transport,
            endpoint,
            api: batches_of(kind),
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
        let known = &manifest.parts[part];
        let created = if known.file_id.is_some() || known.creating_since.is_some() {
            self.find_created(manifest, part, notify).await?
        } else {
            None
        };
        let batch = match created {
            Some(batch) => batch,
            None => self.create(manifest, part).await?,
        };
        let id = checked_id(&batch.id, "batch")?;
        let part = &mut manifest.parts[part];
        part.batch_id = Some(id);
        part.creating_since = None;
        part.status = batch.status;
        manifest.save()?;
        Ok(true)
    }

    /// Creates the batch of a request file, which is uploaded first where the service wants that.
    async fn create(&self, manifest: &mut BatchManifest, part: usize) -> Result<Batch> {
        let requests = Bytes::from(read_request_file(&manifest.dir, &manifest.parts[part])?);
        if let Some(path) = self.api.upload_path()
            && manifest.parts[part].file_id.is_none()
        {
            let content = Sent::File(manifest.parts[part].file.clone(), requests.clone());
            let uploaded = self.json(path, &[], &content, FILE_LIMIT).await?;
            let id = uploaded["id"].as_str().unwrap_or_default();
            manifest.parts[part].file_id = Some(checked_id(id, "file")?);
            manifest.save()?;
        }
        let (path, body) = self.api.creation(&manifest.parts[part], &requests)?;
        // Written before the request: a process that is killed now may have created the batch.
        manifest.parts[part].creating_since = Some(unix_seconds());
        manifest.save()?;
        let url = format!("{}{path}", self.endpoint.base_url);
        let content = Sent::Order(body.into());
        let created = self.send(&url, &[], &content, FILE_LIMIT).await;
        // A refusal has created nothing: the same command need not look for a batch.
        if let Err(
            TransportFault::Connect(_)
            | TransportFault::Status {
                status: 400..=407 | 413 | 422 | 429 | 529,
                ..
            },
        ) = &created
        {
            manifest.parts[part].creating_since = None;
            manifest.save()?;
        }
        self.api
            .batch(&self.parsed(created)?, &self.endpoint.base_url)
    }

    /// The batch whose creation was interrupted, if the service has it. A service may list a new batch late, so that one
    /// look soon after the interruption proves nothing.
    async fn find_created(
        &self,
        manifest: &BatchManifest,
        part: usize,
        notify: &(dyn Fn(&str) + Sync),
    ) -> Result<Option<Batch>> {
        if let Some(batch) = self.find_batch(manifest, part).await? {
            return Ok(Some(batch));
        }
        let known = &manifest.parts[part];
        let since = known.creating_since.unwrap_or_default();
        let elapsed = Duration::from_secs(unix_seconds().saturating_sub(since));
        let wait = LISTED_AFTER.saturating_sub(elapsed);
        if wait.is_zero() {
            return Ok(None);
        }
        notify(&format!(
            "the creation of a batch of {} was interrupted and the service does not list it; looking again in {} s",
            known.file,
            wait.as_secs()
        ));
        tokio::time::sleep(wait).await;
        self.find_batch(manifest, part).await
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
        // All are tried before one fails: what can be had is paid for.
        let mut downloaded = Ok(());
        for (kind, place) in batch.results {
            let stored = self.download(manifest, part, kind, place).await;
            downloaded = downloaded.and(stored);
        }
        downloaded?;
        let missing = match missing_results(manifest, part)? {
            Some(missing) => missing,
            None if manifest.parts[part].state() == BatchState::Completed => {
                manifest.parts[part].requests
            }
            None => 0,
        };
        if missing == 0 {
            return Ok(());
        }
        Err(Error::JudgeUnavailable(format!(
            "{missing} of {} results are missing or cut; fetch again, or import what is there",
            manifest.parts[part].requests
        )))
    }

    /// Stores one result file of a part.
    async fn download(
        &self,
        manifest: &mut BatchManifest,
        part: usize,
        kind: &str,
        place: ResultPlace,
    ) -> Result<()> {
        let stem = manifest.parts[part].file.trim_end_matches(".jsonl");
        let name = format!("{stem}.{kind}.jsonl");
        let content = match place {
            ResultPlace::Url(url) => {
                let sent = self.send(&url, &[], &Sent::Nothing, FILE_LIMIT).await;
                sent.map_err(|fault| self.result_error(&fault, &name))?
            }
            ResultPlace::Lines(lines) => lines.into(),
        };
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
        let path = format!("{}/{}", self.api.list_path(), checked_id(&id, "batch")?);
        let reported = self.json(&path, &[], &Sent::Nothing, QUICK_LIMIT).await?;
        let mut batch = self.api.batch(&reported, &self.endpoint.base_url)?;
        (part.completed, part.failed) = (batch.completed, batch.failed);
        part.status = Some(batch.status.clone().unwrap_or_else(|| "unknown".to_owned()));
        part.errors = std::mem::take(&mut batch.errors);
        Ok(Some(batch))
    }

    /// The batch of that file, if the service has one.
    async fn find_batch(&self, manifest: &BatchManifest, part: usize) -> Result<Option<Batch>> {
        let (size, beginning) = self.api.page_query();
        let mut query = vec![(size, "100".to_owned())];
        let mut pending = Vec::new();
        for _ in 0..PAGES {
            let list = self.api.list_path();
            let page = self.json(list, &query, &Sent::Nothing, QUICK_LIMIT);
            let page = page.await?;
            let (listed, next) = self.api.listed(&page);
            let mine = listed
                .iter()
                .filter(|batch| self.api.is_of(batch, &manifest.parts[part]));
            for batch in mine {
                let batch = self.api.batch(batch, &self.endpoint.base_url)?;
                if self.api.names_its_file() || self.answers(manifest, part, &batch).await? {
                    return Ok(Some(batch));
                }
                let id = Some(&batch.id);
                let is_known = manifest
                    .parts
                    .iter()
                    .any(|part| part.batch_id.as_ref() == id);
                if batch.results.is_empty() && !is_known {
                    pending.push(batch);
                }
            }
            let Some(next) = next else {
                break;
            };
            query.truncate(1);
            query.push((beginning, next.to_owned()));
        }
        if pending.len() > 1 {
            let ids: Vec<&str> = pending.iter().map(|batch| batch.id.as_str()).collect();
            return Err(Error::JudgeUnavailable(format!(
                "the creation of a batch of {} was interrupted, and each of {} may be it; run the same command again once \
                 they have ended",
                manifest.parts[part].file,
                ids.join(", ")
            )));
        }
        Ok(pending.pop())
    }

    /// Whether the results of a batch are those of the requests of a part; false for a batch without results.
    async fn answers(&self, manifest: &BatchManifest, part: usize, batch: &Batch) -> Result<bool> {
        let Some((_, ResultPlace::Url(url))) = batch.results.first() else {
            return Ok(false);
        };
        let results = match self.send(url, &[], &Sent::Nothing, FILE_LIMIT).await {
            Ok(results) => results,
            // Results of old batches are gone.
            Err(TransportFault::Status {
                status: 404 | 410, ..
            }) => return Ok(false),
            Err(fault) => return Err(self.failed(&fault)),
        };
        let first = results.split(|byte| *byte == b'\n').next();
        let first = first.and_then(|line| serde_json::from_slice::<Value>(line).ok());
        let Some(result) = first.and_then(|line| self.api.result(&line)) else {
            return Ok(false);
        };
        let requests = read_request_file(&manifest.dir, &manifest.parts[part])?;
        let id = format!("\"custom_id\":\"{}\"", result.custom_id);
        Ok(memmem::find(&requests, id.as_bytes()).is_some())
    }

    /// Cancels the batch of a part that is not over; what was answered until then is paid, and can be fetched. False if there
    /// is nothing to cancel.
    ///
    /// # Errors
    /// For services that cannot be reached.
    pub async fn cancel(&self, manifest: &mut BatchManifest, part: usize) -> Result<bool> {
        let Some(id) = manifest.parts[part].batch_id.clone() else {
            return Ok(false);
        };
        if manifest.parts[part].is_over() {
            return Ok(false);
        }
        let (list, suffix) = (self.api.list_path(), self.api.cancel_suffix());
        let path = format!("{list}/{}{suffix}", checked_id(&id, "batch")?);
        self.json(&path, &[], &Sent::Order("{}".into()), QUICK_LIMIT)
            .await?;
        self.retrieve(&mut manifest.parts[part]).await?;
        manifest.save()?;
        Ok(true)
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
            } => {
                let others = if self.api.upload_path().is_some() {
                    ": vllm run-batch and contrib/ray_batch.py take the same files"
                } else {
                    ""
                };
                let words = words(body);
                format!("status {status} {words}; it may have no batch service{others}")
            }
            TransportFault::Status { status, body, .. } => {
                format!("status {status}: {}", words(body))
            }
            _ => fault.to_string(),
        };
        Error::JudgeUnavailable(format!(
            "the batch service at {url} failed ({reason}); run the same command again later"
        ))
    }

    /// The JSON that the service answers at this path.
    async fn json(
        &self,
        path: &str,
        query: &[(&str, String)],
        content: &Sent,
        limit: Duration,
    ) -> Result<Value> {
        let url = format!("{}{path}", self.endpoint.base_url);
        self.parsed(self.send(&url, query, content, limit).await)
    }

    fn parsed(&self, sent: Result<Bytes, TransportFault>) -> Result<Value> {
        let body = sent.map_err(|fault| self.failed(&fault))?;
        serde_json::from_slice(&body).map_err(|_| {
            let what = "the batch service did not send the expected JSON; check --base-url";
            Error::JudgeUnavailable(what.to_owned())
        })
    }

    /// Sends a request, again where its fault passes, and waits as long as the server asks before each further try. Of a
    /// creation only a refusal is certain to have created nothing; a file that was uploaded twice costs nothing. Every
    /// secret of the endpoint is masked in the response, before any of it is stored.
    async fn send(
        &self,
        url: &str,
        query: &[(&str, String)],
        content: &Sent,
        limit: Duration,
    ) -> Result<Bytes, TransportFault> {
        let is_order = matches!(content, Sent::Order(_));
        let (mut tries, mut pause) = (1, PAUSE.0);
        loop {
            let attempt = self.attempt(url, query, content);
            let fault = match tokio::time::timeout(limit, attempt).await {
                Ok(Ok(body)) => return Ok(self.endpoint.mask_body(body)),
                Ok(Err(fault)) => fault,
                Err(_) => TransportFault::TimedOut(limit),
            };
            let (passes, server_pause) = match &fault {
                TransportFault::Connect(_) => (true, None),
                TransportFault::TimedOut(_) | TransportFault::Broken(_) => (!is_order, None),
                TransportFault::Status {
                    status: 429,
                    retry_after,
                    ..
                } => (true, *retry_after),
                TransportFault::Status {
                    status: 408 | 409 | 425 | 500..,
                    retry_after,
                    ..
                } => (!is_order, *retry_after),
                _ => (false, None),
            };
            if !passes || tries == TRIES {
                return Err(fault);
            }
            tokio::time::sleep(server_pause.unwrap_or(pause).min(PAUSE.1)).await;
            (tries, pause) = (tries + 1, pause * 2);
        }
    }

    /// One attempt of a request; a redirect is not followed, since it could carry the key to another host.
    async fn attempt(
        &self,
        url: &str,
        query: &[(&str, String)],
        content: &Sent,
    ) -> Result<Bytes, TransportFault> {
        let http = &self.transport.http;
        let fault = |error| self.transport.fault(error, FILE_LIMIT);
        let request = match content {
            Sent::Nothing => http.get(url),
            Sent::Order(body) => http
                .post(url)
                .header(CONTENT_TYPE, "application/json")
                .body(body.clone()),
            Sent::File(name, bytes) => {
                let file = Part::stream_with_length(bytes.clone(), bytes.len() as u64);
                let form = Form::new().text("purpose", "batch");
                http.post(url)
                    .multipart(form.part("file", file.file_name(name.clone())))
            }
        };
        let request = request.query(query).query(&self.endpoint.query).build();
        let response = self.transport.response(request.map_err(fault)?).await?;
        response.bytes().await.map_err(fault)
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

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A sample of wires; `None` where they are not there.
    fn sample(name: &str) -> Option<Value> {
        let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared"));
        let shared = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
        let path = shared.join(format!("golden/protocols/{name}.json"));
        let Ok(bytes) = std::fs::read(&path) else {
            eprintln!("skipped: {} is not there", path.display());
            return None;
        };
        Some(serde_json::from_slice(&bytes).unwrap())
    }

    /// What result lines say, as `(first digit of the id, text or words)`.
    fn outcomes<'a>(
        kind: JudgeKind,
        lines: impl IntoIterator<Item = &'a Value>,
    ) -> Vec<(String, String)> {
        let mut outcomes = Vec::new();
        for line in lines {
            let line = match line.as_str() {
                Some(text) => serde_json::from_str(text).unwrap(),
                None => line.clone(),
            };
            let result = batches_of(kind).result(&line).unwrap();
            let said = match result.body {
                Ok(body) => kind.protocol().read(body, 0).unwrap().content,
                Err(words) => words,
            };
            outcomes.push((result.custom_id[..1].to_owned(), said));
        }
        outcomes
    }

    fn expected(outcomes: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = outcomes.iter();
        owned
            .map(|(id, said)| ((*id).to_owned(), (*said).to_owned()))
            .collect()
    }

    #[test]
    fn the_samples_of_anthropic_are_read() {
        let (Some(results), Some(batch)) =
            (sample("anthropic_batch_results"), sample("anthropic_batch"))
        else {
            return;
        };
        let lines = results["lines"].as_array().unwrap();
        assert_eq!(
            outcomes(JudgeKind::Anthropic, lines),
            expected(&[
                ("a", "{\"score\":7}"),
                ("b", "`temperature` is deprecated for this model."),
                ("c", "the batch expired before it was answered"),
                ("d", "the batch was canceled before it was answered"),
            ])
        );
        let base = "https://api.anthropic.com/v1";
        let read = |reported: &Value| ANTHROPIC_BATCHES.batch(reported, base).unwrap();
        let created = read(&batch["create"]["response"]);
        assert_eq!(
            (created.status.as_deref(), created.results.len()),
            (Some("in_progress"), 0)
        );
        let ended = read(&batch["poll"]["response"]);
        assert_eq!(
            (&*ended.id, ended.completed, ended.failed),
            ("msgbatch_01H", 1, 1)
        );
        let (_, ResultPlace::Url(url)) = &ended.results[0] else {
            panic!("{ended:?}");
        };
        assert_eq!(
            *url,
            batch["poll"]["response"]["results_url"].as_str().unwrap()
        );
        let request = &batch["create"]["request"]["requests"][0];
        let (id, params) = (request["custom_id"].as_str().unwrap(), &request["params"]);
        let line = format!(
            "{{\"custom_id\":\"{id}\",\"method\":\"POST\",\"url\":\"u\",\"body\":{params}}}\n"
        );
        let (path, body) = ANTHROPIC_BATCHES
            .creation(&BatchPart::default(), line.as_bytes())
            .unwrap();
        assert_eq!(
            format!("/v1{path}"),
            batch["create"]["path"].as_str().unwrap()
        );
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body, batch["create"]["request"]);
    }

    #[test]
    fn the_samples_of_gemini_are_read() {
        let Some(sample) = sample("gemini_batch") else {
            return;
        };
        let lines = sample["result_lines"].as_array().unwrap();
        let said = expected(&[("a", "{\"score\":7}"), ("b", "..")]);
        assert_eq!(outcomes(JudgeKind::Gemini, lines), said);
        let base = "https://generativelanguage.googleapis.com/v1beta";
        let polled = &sample["poll"]["response"];
        let ended = GEMINI_BATCHES.batch(polled, base).unwrap();
        assert_eq!(
            (&*ended.id, ended.status.as_deref()),
            ("batches/abc", Some("succeeded"))
        );
        let (_, ResultPlace::Url(url)) = &ended.results[0] else {
            panic!("{ended:?}");
        };
        let path = sample["download"]["path"].as_str().unwrap();
        assert_eq!(
            *url,
            format!("https://generativelanguage.googleapis.com{path}")
        );
        let mut inlined = polled.clone();
        inlined["metadata"]["output"] = sample["inline_output"].clone();
        let inlined = GEMINI_BATCHES.batch(&inlined, base).unwrap();
        let (_, ResultPlace::Lines(lines)) = &inlined.results[0] else {
            panic!("{inlined:?}");
        };
        let lines = String::from_utf8(lines.clone()).unwrap();
        let lines: Vec<Value> = lines.lines().map(Value::from).collect();
        // The first one has no candidate: a paid and empty reply.
        let said = expected(&[("a", ""), ("b", "..")]);
        assert_eq!(outcomes(JudgeKind::Gemini, &lines), said);
        let mut part = BatchPart {
            url: "/v1beta/models/gemini-3.8-flash:generateContent".to_owned(),
            ..BatchPart::default()
        };
        let input = sample["input_line"].as_str().unwrap();
        let input: Value = serde_json::from_str(input).unwrap();
        let (id, body) = (input["key"].as_str().unwrap(), &input["request"]);
        let line = format!(
            "{{\"custom_id\":\"{id}\",\"method\":\"POST\",\"url\":\"u\",\"body\":{body}}}\n"
        );
        let (path, sent) = GEMINI_BATCHES.creation(&part, line.as_bytes()).unwrap();
        let create = &sample["create_inline"];
        assert_eq!(format!("/v1beta{path}"), create["path"].as_str().unwrap());
        let mut sent: Value = serde_json::from_slice(&sent).unwrap();
        sent["batch"]["displayName"] = "run".into();
        assert_eq!(sent, create["request"]);
        part.url = "/v1/chat/completions".to_owned();
        assert!(GEMINI_BATCHES.creation(&part, line.as_bytes()).is_err());
    }
}

//! HTTP to one endpoint: one attempt, no retries, replies read to the end and capped.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Request, RequestBuilder, Response};
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::server_error::quote;
use super::stream::{Assembly, is_event_stream};
use crate::error::{Error, Result};
use crate::judge::endpoint::Endpoint;
use crate::judge::kind::JudgeKind;
use crate::judge::server_limits::{ServerLimits, retry_after};

/// llama.cpp closes connections that were idle for 5 s: we close ours before.
const POOL_IDLE: Duration = Duration::from_secs(4);
/// The end of a body comes right behind the last event.
const END_OF_STREAM: Duration = Duration::from_secs(1);
/// The usage comes soon behind the last token.
const USAGE: Duration = Duration::from_secs(5);
/// So much of an error page is read.
const ERROR_BYTES: usize = 64 << 10;
/// A question about the server takes no longer.
pub(in crate::judge) const PROBE_LIMIT: Duration = Duration::from_secs(5);
/// How often such a question is asked when it fails in passing, and the time between.
const PROBES: u32 = 3;
const PROBE_PAUSE: Duration = Duration::from_millis(250);

/// Why there is no body to be read. Texts are cleaned and hold no secret.
#[derive(Debug, thiserror::Error)]
pub(in crate::judge) enum Fault {
    /// No connection was established.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// Nothing, or not everything, came in time.
    #[error("no whole reply within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// Not even the first byte came in time.
    #[error("no first byte within {} s", .0.as_secs_f64())]
    NoFirstByte(Duration),
    /// The connection broke, or the body was cut.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The reply has more bytes than are accepted.
    #[error("the reply is longer than {0} bytes")]
    TooLong(usize),
    /// Status 200, and not JSON.
    #[error("the reply is not JSON: {0:?}")]
    NotJson(String),
    /// Any other status than 2xx.
    #[error("status {status}")]
    Status {
        /// The HTTP status.
        status: u16,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
        /// The body, as far as it was read.
        body: Bytes,
    },
}

/// Sends requests to one endpoint.
#[derive(Clone)]
pub(in crate::judge) struct Transport {
    http: reqwest::Client,
    endpoint: Arc<Endpoint>,
    /// The limits that the responses to calls stated.
    limits: Arc<ServerLimits>,
}

impl Transport {
    /// A client with its own pool of connections.
    ///
    /// # Errors
    /// [`Error::JudgeUnavailable`] if the key cannot stand in a header (a line break at its end, mostly);
    /// [`Error::Settings`] if no HTTP client can be set up.
    pub(in crate::judge) fn new(endpoint: Arc<Endpoint>) -> Result<Self> {
        if let Some(key) = &endpoint.api_key
            && HeaderValue::try_from(key.expose_secret()).is_err()
        {
            let variable = &endpoint.api_key_env;
            return Err(Error::JudgeUnavailable(format!(
                "the key in {variable} has characters that no header can hold (a line break?); set {variable} again"
            )));
        }
        // Fails if a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("scholareval/", env!("CARGO_PKG_VERSION")))
            .default_headers(request_headers(&endpoint))
            .connect_timeout(endpoint.timeouts.connect)
            .timeout(endpoint.timeouts.total)
            .pool_idle_timeout(POOL_IDLE)
            .tcp_nodelay(true)
            // A followed redirect would repeat a paid call, and carry the key to another host.
            .redirect(reqwest::redirect::Policy::none());
        if endpoint.is_loopback() {
            builder = builder.no_proxy();
        }
        if endpoint.base_url.starts_with("http://") {
            // Without TLS there is no need for the system's certificates, which small containers do not have.
            builder = builder.tls_certs_only(std::iter::empty());
        }
        let http = builder.build().map_err(|error| {
            let why = causes(&error);
            Error::Settings(format!("the HTTP client cannot be set up ({why}); are CA certificates installed?"))
        })?;
        Ok(Self { http, endpoint, limits: Arc::default() })
    }

    /// The client behind it, for requests that others build.
    pub(in crate::judge) fn client(&self) -> reqwest::Client {
        self.http.clone()
    }

    pub(super) fn limits(&self) -> Arc<ServerLimits> {
        Arc::clone(&self.limits)
    }

    /// Posts the body of a call and reads the whole response: its body, and how long the server asks to wait.
    pub(super) async fn call(&self, kind: JudgeKind, body: Bytes) -> Result<(Bytes, Option<Duration>), Fault> {
        let request = self.http.post(format!("{}{}", self.endpoint.base_url, kind.path()));
        let request = request.header(CONTENT_TYPE, "application/json").query(&self.endpoint.query).body(body);
        let (mut response, first) = self.first_byte(request).await?;
        self.limits.note(response.headers());
        let wait = retry_after(response.headers(), SystemTime::now());
        let body = self.whole(&mut response, first, self.endpoint.timeouts.total).await?;
        Ok((body, wait))
    }

    /// A JSON document beside the judge's route (`/models`, `/props`). Transient failures are asked again: an identity
    /// that misses a part would miss the cache.
    pub(in crate::judge) async fn get_json(&self, url: &str) -> Result<Value, Fault> {
        let mut probes = 1;
        loop {
            match self.get(url, PROBE_LIMIT).await {
                Err(Fault::TimedOut(_) | Fault::Broken(_) | Fault::Status { status: 429 | 502..=504, .. })
                    if probes < PROBES =>
                {
                    probes += 1;
                    sleep(PROBE_PAUSE).await;
                }
                body => return read_json(&body?, &self.endpoint),
            }
        }
    }

    /// A GET beside the judge's route (`/models`, `/props`, `/health`), with the endpoint's headers and query.
    pub(in crate::judge) async fn get(&self, url: &str, limit: Duration) -> Result<Bytes, Fault> {
        self.beside(self.http.get(url), limit).await
    }

    /// A POST of JSON beside the judge's route (`/tokenize`), in the same way.
    pub(in crate::judge) async fn post(&self, url: &str, json: Vec<u8>, limit: Duration) -> Result<Bytes, Fault> {
        self.beside(self.http.post(url).header(CONTENT_TYPE, "application/json").body(json), limit).await
    }

    async fn beside(&self, request: RequestBuilder, limit: Duration) -> Result<Bytes, Fault> {
        let request = request.query(&self.endpoint.query).timeout(limit);
        let mut response = request.send().await.map_err(|error| self.fault(error, limit))?;
        self.whole(&mut response, None, limit).await
    }

    /// The response to a request that others built, its body not yet read; another status than 2xx is a fault.
    pub(in crate::judge) async fn response(&self, request: Request) -> Result<Response, Fault> {
        let limit = self.endpoint.timeouts.total;
        let mut response = self.http.execute(request).await.map_err(|error| self.fault(error, limit))?;
        if !response.status().is_success() {
            self.whole(&mut response, None, limit).await?;
        }
        Ok(response)
    }

    /// Sends a call and waits for the head of the response; where the first byte has a limit also for the first chunk of
    /// its body, since a server that streams sends the head before it begins to judge.
    async fn first_byte(&self, request: RequestBuilder) -> Result<(Response, Option<Bytes>), Fault> {
        let timeouts = &self.endpoint.timeouts;
        let begun = async {
            let mut response = request.send().await?;
            // Another status decides by itself.
            let waits = timeouts.first_byte.is_some() && response.status().is_success();
            let first = if waits { response.chunk().await? } else { None };
            Ok((response, first))
        };
        let begun = match timeouts.first_byte {
            None => begun.await,
            // Dropped, the request is taken back: the connection closes.
            Some(limit) => timeout(limit, begun).await.map_err(|_| Fault::NoFirstByte(limit))?,
        };
        begun.map_err(|error| self.fault(error, timeouts.total))
    }

    /// Reads a response to its end; `first` is what was read of its body already.
    async fn whole(&self, response: &mut Response, first: Option<Bytes>, limit: Duration) -> Result<Bytes, Fault> {
        let status = response.status();
        if !status.is_success() {
            let retry_after = retry_after(response.headers(), SystemTime::now());
            let target = response.headers().get(LOCATION).cloned().filter(|_| status.is_redirection());
            let body = match target {
                Some(target) => Bytes::copy_from_slice(target.as_bytes()),
                // The status alone decides; a broken body only loses its words.
                None => read_body(response, None, ERROR_BYTES).await.map(|(body, _)| body).unwrap_or_default(),
            };
            return Err(Fault::Status { status: status.as_u16(), retry_after, body });
        }
        if is_event_stream(response.headers()) {
            return self.streamed(response, first, limit).await;
        }
        let most = self.endpoint.max_reply_bytes;
        match read_body(response, first, most).await.map_err(|error| self.fault(error, limit))? {
            (body, true) => Ok(body),
            (_, false) => Err(Fault::TooLong(most)),
        }
    }

    /// Reads a reply that comes in pieces, into the body that the server would have sent whole.
    async fn streamed(&self, response: &mut Response, first: Option<Bytes>, limit: Duration) -> Result<Bytes, Fault> {
        let mut assembly = Assembly::default();
        assembly.push(&first.unwrap_or_default());
        let mut left = self.endpoint.max_reply_bytes;
        // What follows a whole reply is its usage and the end of the body, which makes the connection good for the next
        // call. A server that keeps the stream open, or breaks it now, must not cost the reply.
        let mut until: Option<Instant> = None;
        loop {
            until = match (assembly.is_done(), assembly.is_whole(), until) {
                (true, _, None) => Some(Instant::now() + END_OF_STREAM),
                (true, _, Some(until)) => Some(until.min(Instant::now() + END_OF_STREAM)),
                (false, true, None) => Some(Instant::now() + USAGE),
                (false, _, until) => until,
            };
            let chunk = match until {
                None => response.chunk().await.map_err(|error| self.fault(error, limit))?,
                Some(until) => timeout_at(until, response.chunk()).await.ok().and_then(|chunk| chunk.ok()).flatten(),
            };
            let Some(chunk) = chunk else { break };
            match left.checked_sub(chunk.len()) {
                Some(rest) => left = rest,
                None if assembly.is_whole() => break,
                None => return Err(Fault::TooLong(self.endpoint.max_reply_bytes)),
            }
            assembly.push(&chunk);
        }
        assembly.finish().ok_or_else(|| Fault::Broken("the stream ended before the reply did".to_owned()))
    }

    /// The fault behind an error of the client.
    pub(in crate::judge) fn fault(&self, error: reqwest::Error, limit: Duration) -> Fault {
        // The URL may hold secrets in its query.
        let error = error.without_url();
        // A connect time-out is both; what matters is that no server took the call.
        if error.is_connect() {
            Fault::Connect(quote(&causes(&error), &self.endpoint))
        } else if error.is_timeout() {
            Fault::TimedOut(limit)
        } else {
            Fault::Broken(quote(&causes(&error), &self.endpoint))
        }
    }
}

/// The headers of every request: the user's own come last and win.
pub(in crate::judge) fn request_headers(endpoint: &Endpoint) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(key) = &endpoint.api_key
        && let Ok(mut value) = HeaderValue::try_from(format!("Bearer {}", key.expose_secret()))
    {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    for (name, value) in &endpoint.headers {
        if let (Ok(name), Ok(mut value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    headers
}

/// Reads at most `most` bytes, those of `first` among them; the flag is true if that was all.
async fn read_body(response: &mut Response, first: Option<Bytes>, most: usize) -> reqwest::Result<(Bytes, bool)> {
    let mut body = BytesMut::new();
    let mut next = if first.is_some() { first } else { response.chunk().await? };
    while let Some(chunk) = next {
        let room = most - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((body.freeze(), false));
        }
        next = response.chunk().await?;
    }
    Ok((body.freeze(), true))
}

/// The JSON of a body, whatever its type.
pub(super) fn read_json(body: &[u8], endpoint: &Endpoint) -> Result<Value, Fault> {
    serde_json::from_slice(body).map_err(|_| {
        let start = String::from_utf8_lossy(&body[..body.len().min(4096)]);
        Fault::NotJson(quote(&start, endpoint).chars().take(120).collect())
    })
}

/// An error with its causes, the innermost last; each said once.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    #[test]
    fn a_key_that_no_header_can_hold_is_reported_without_showing_it() {
        let mut endpoint = Endpoint::new("localhost").unwrap();
        endpoint.api_key = Some(SecretString::from("secret\n"));
        let message = Transport::new(Arc::new(endpoint)).err().unwrap().to_string();
        assert!(message.contains("OPENAI_API_KEY") && !message.contains("secret"), "{message}");
    }

    #[test]
    fn idle_connections_close_before_the_server_closes_them() {
        // llama.cpp (cpp-httplib) closes after 5 s; a call on a connection that is just being closed is lost.
        assert!(POOL_IDLE < Duration::from_secs(5));
    }
}

//! Our transport: one attempt, no retries, replies read to the end and capped.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Request, RequestBuilder, Response};
use secrecy::ExposeSecret;
use tokio::time::{Instant, timeout, timeout_at};

use super::reply::error_in_place_of_reply;
use super::retry_after::retry_after;
use super::stream::{Assembly, is_event_stream};
use super::words::quote;
use crate::error::{Error, Result};
use crate::judge::endpoint::Endpoint;
use crate::judge::kind::JudgeKind;
use crate::judge::server_limits::ServerLimits;

/// llama.cpp closes connections that were idle for 5 s: we close ours before.
const POOL_IDLE: Duration = Duration::from_secs(4);
/// The end of a body comes right behind the last event.
const END_OF_STREAM: Duration = Duration::from_secs(1);
/// The usage comes soon behind the last token.
const USAGE: Duration = Duration::from_secs(5);
/// So much of an error page is read.
const ERROR_BYTES: usize = 64 << 10;

/// Why there is no body to be read. Texts are cleaned and hold no secret.
#[derive(Debug, thiserror::Error)]
pub(in crate::judge) enum Fault {
    /// No connection came about.
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
    /// The reply has more bytes than are taken.
    #[error("the reply is longer than {0} bytes")]
    TooLong(usize),
    /// Status 200, and no JSON object.
    #[error("the reply is not JSON: {0:?}")]
    NotJson(String),
    /// Status 200, an error in the place of the reply, and how long the server asks to wait.
    #[error("an error under status 200")]
    ErrorUnder200 {
        /// How long the server asks to wait.
        retry_after: Duration,
        /// The error object.
        error: serde_json::Value,
    },
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
    /// What the responses to calls said of the server's limits.
    limits: Arc<ServerLimits>,
}

impl Transport {
    pub(in crate::judge) fn new(endpoint: Arc<Endpoint>) -> Result<Self> {
        // Fails if a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("scholareval/", env!("CARGO_PKG_VERSION")))
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
            Error::Settings(format!(
                "the HTTP client cannot be set up ({}); are CA certificates installed?",
                causes(&error)
            ))
        })?;
        Ok(Self { http, endpoint, limits: Arc::default() })
    }

    pub(super) fn limits(&self) -> Arc<ServerLimits> {
        Arc::clone(&self.limits)
    }

    /// Where calls go, and what stands over them.
    ///
    /// # Errors
    /// [`Error::JudgeUnavailable`] if the key cannot stand in a header (a line break at its end, mostly);
    /// [`Error::Settings`] if the base URL is none.
    pub(super) fn routes(&self) -> Result<Routes> {
        let endpoint = &self.endpoint;
        if let Some(key) = &endpoint.api_key
            && HeaderValue::try_from(key.expose_secret()).is_err()
        {
            let variable = &endpoint.api_key_env;
            return Err(Error::JudgeUnavailable(format!(
                "the key in {variable} has characters that no header can hold (a line break?); set {variable} again"
            )));
        }
        let mut headers = request_headers(endpoint);
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        let route = |kind: JudgeKind| {
            let request = self.http.post(format!("{}{}", endpoint.base_url, kind.path())).headers(headers.clone());
            request.query(&endpoint.query).build().map_err(|error| {
                let (url, why) = (endpoint.masked_url(), causes(&error.without_url()));
                Error::Settings(format!("the base URL {url} cannot be used ({why})"))
            })
        };
        Ok(Routes { chat: route(JudgeKind::Chat)?, raw: route(JudgeKind::Completions)? })
    }

    /// Posts `body` as `route` says and reads the whole reply: one attempt, faults kept apart from replies.
    pub(super) async fn call(&self, route: &Request, body: Bytes) -> std::result::Result<Bytes, Fault> {
        // Only a body that is a stream cannot be cloned, and a route has none.
        let unclonable = || Fault::Broken("the request cannot be made".to_owned());
        let mut request = route.try_clone().ok_or_else(unclonable)?;
        *request.body_mut() = Some(body.into());
        let (mut response, first) = self.first_byte(request).await?;
        self.limits.note(response.headers());
        let asked_to_wait = retry_after(response.headers(), SystemTime::now());
        let (_, body) = self.whole(&mut response, first, self.endpoint.timeouts.total).await?;
        if !looks_like_an_object(&body) {
            let start = String::from_utf8_lossy(&body[..body.len().min(4096)]).into_owned();
            return Err(Fault::NotJson(quote(&start, &self.endpoint).chars().take(120).collect()));
        }
        // The body is all that is handed on: a wait that an error asks for would be lost with the headers.
        if let Some(retry_after) = asked_to_wait
            && let Some(error) = error_in_place_of_reply(&body)
        {
            return Err(Fault::ErrorUnder200 { retry_after, error });
        }
        Ok(body)
    }

    /// A GET beside the judge's route (`/models`, `/props`, `/health`), with the endpoint's headers and query.
    pub(in crate::judge) async fn get(&self, url: &str, limit: Duration) -> std::result::Result<Bytes, Fault> {
        self.beside(self.http.get(url), limit).await
    }

    /// A POST of JSON beside the judge's route (`/tokenize`), in the same way.
    pub(in crate::judge) async fn post(
        &self,
        url: &str,
        json: Vec<u8>,
        limit: Duration,
    ) -> std::result::Result<Bytes, Fault> {
        self.beside(self.http.post(url).header(CONTENT_TYPE, "application/json").body(json), limit).await
    }

    /// The client behind it, for requests that others build.
    pub(in crate::judge) fn client(&self) -> reqwest::Client {
        self.http.clone()
    }

    /// The response to a request that others built, its body not yet read; another status than 2xx is a fault.
    pub(in crate::judge) async fn response(&self, request: Request) -> std::result::Result<Response, Fault> {
        let limit = self.endpoint.timeouts.total;
        let mut response = self.http.execute(request).await.map_err(|error| self.fault(error, limit))?;
        if response.status().is_success() {
            return Ok(response);
        }
        self.whole(&mut response, None, limit).await.map(|_| response)
    }

    async fn beside(&self, request: RequestBuilder, limit: Duration) -> std::result::Result<Bytes, Fault> {
        let request = request.headers(request_headers(&self.endpoint)).timeout(limit);
        let request = request.query(&self.endpoint.query).build();
        let request = request.map_err(|error| Fault::Connect(causes(&error.without_url())))?;
        self.execute(request, limit).await.map(|(_, body)| body)
    }

    async fn execute(
        &self,
        request: Request,
        limit: Duration,
    ) -> std::result::Result<(http::StatusCode, Bytes), Fault> {
        let mut response = self.http.execute(request).await.map_err(|error| self.fault(error, limit))?;
        self.whole(&mut response, None, limit).await
    }

    /// Sends a call and waits for the head of the response; where the first byte has a limit also for the first chunk of
    /// its body, since a server that streams sends the head before it begins to judge.
    async fn first_byte(&self, request: Request) -> std::result::Result<(Response, Option<Bytes>), Fault> {
        let timeouts = &self.endpoint.timeouts;
        let response = self.http.execute(request);
        let begun = match timeouts.first_byte {
            None => response.await.map(|response| (response, None)),
            Some(limit) => {
                let begun = async {
                    let mut response = response.await?;
                    // Another status decides by itself.
                    let first = if response.status().is_success() { response.chunk().await? } else { None };
                    Ok((response, first))
                };
                // Dropped, the request is taken back: the connection closes.
                timeout(limit, begun).await.map_err(|_| Fault::NoFirstByte(limit))?
            }
        };
        begun.map_err(|error| self.fault(error, timeouts.total))
    }

    /// Reads a response to its end; `first` is what was read of its body already.
    async fn whole(
        &self,
        response: &mut Response,
        first: Option<Bytes>,
        limit: Duration,
    ) -> std::result::Result<(http::StatusCode, Bytes), Fault> {
        let status = response.status();
        if !status.is_success() {
            let wait = retry_after(response.headers(), SystemTime::now());
            let target = response.headers().get(LOCATION).cloned().filter(|_| status.is_redirection());
            let body = match target {
                Some(target) => Bytes::copy_from_slice(target.as_bytes()),
                // The status alone decides; a broken body only loses its words.
                None => read_body(response, None, ERROR_BYTES).await.map(|(body, _)| body).unwrap_or_default(),
            };
            return Err(Fault::Status { status: status.as_u16(), retry_after: wait, body });
        }
        let most = self.endpoint.max_reply_bytes;
        if is_event_stream(response.headers()) {
            return self.streamed(response, first, limit).await.map(|body| (status, body));
        }
        match read_body(response, first, most).await.map_err(|error| self.fault(error, limit))? {
            (body, true) => Ok((status, body)),
            (_, false) => Err(Fault::TooLong(most)),
        }
    }

    /// Reads a reply that comes in pieces, into the body that the server would have sent whole.
    async fn streamed(
        &self,
        response: &mut Response,
        mut first: Option<Bytes>,
        limit: Duration,
    ) -> std::result::Result<Bytes, Fault> {
        let mut assembly = Assembly::default();
        let mut left = self.endpoint.max_reply_bytes;
        // What follows a whole reply is its usage and the end of the body, which makes the connection good for the next
        // call. A server that keeps the stream open, or breaks it now, must not cost the reply.
        let mut until: Option<Instant> = None;
        loop {
            let chunk = match until {
                None => next_chunk(response, first.take()).await.map_err(|error| self.fault(error, limit))?,
                Some(until) => {
                    timeout_at(until, response.chunk()).await.ok().and_then(std::result::Result::ok).flatten()
                }
            };
            let Some(chunk) = chunk else { break };
            match left.checked_sub(chunk.len()) {
                Some(rest) => left = rest,
                None if assembly.is_whole() => break,
                None => return Err(Fault::TooLong(self.endpoint.max_reply_bytes)),
            }
            let was_done = assembly.is_done();
            assembly.push(&chunk);
            if assembly.is_done() && !was_done {
                until = Some(Instant::now() + END_OF_STREAM);
            } else if assembly.is_whole() && until.is_none() {
                until = Some(Instant::now() + USAGE);
            }
        }
        assembly.finish().ok_or_else(|| Fault::Broken("the stream ended before the reply did".to_owned()))
    }

    /// What went wrong on the way.
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

/// What was read already, else what comes next.
async fn next_chunk(
    response: &mut Response,
    read: Option<Bytes>,
) -> std::result::Result<Option<Bytes>, reqwest::Error> {
    if read.is_some() { Ok(read) } else { response.chunk().await }
}

/// Reads at most `most` bytes, those of `first` among them; the flag tells whether that was all.
async fn read_body(
    response: &mut Response,
    first: Option<Bytes>,
    most: usize,
) -> std::result::Result<(Bytes, bool), reqwest::Error> {
    // Most replies are one chunk, which is then passed on without a copy.
    let Some(first) = next_chunk(response, first).await? else { return Ok((Bytes::new(), true)) };
    if first.len() > most {
        return Ok((first.slice(..most), false));
    }
    let Some(second) = response.chunk().await? else { return Ok((first, true)) };
    let mut body = BytesMut::from(first);
    let mut next = Some(second);
    while let Some(chunk) = next {
        if body.len() + chunk.len() > most {
            return Ok((body.freeze(), false));
        }
        body.extend_from_slice(&chunk);
        next = response.chunk().await?;
    }
    Ok((body.freeze(), true))
}

/// Cheap look at both ends: finds HTML pages and cut bodies.
fn looks_like_an_object(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    body.starts_with(b"{") && body.ends_with(b"}")
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

/// The two requests of an endpoint without their bodies, for each form of call: made once, since a run sends a million.
pub(super) struct Routes {
    chat: Request,
    raw: Request,
}

impl Routes {
    pub(super) fn of(&self, kind: JudgeKind) -> &Request {
        if kind.is_raw() { &self.raw } else { &self.chat }
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    #[test]
    fn a_key_that_no_header_can_hold_is_told_without_showing_it() {
        let mut endpoint = Endpoint::new("localhost").unwrap();
        endpoint.api_key = Some(SecretString::from("secret\n"));
        let message = Transport::new(Arc::new(endpoint)).unwrap().routes().err().unwrap().to_string();
        assert!(message.contains("OPENAI_API_KEY") && !message.contains("secret"), "{message}");
    }

    #[test]
    fn idle_connections_close_before_the_server_closes_them() {
        // llama.cpp (cpp-httplib) closes after 5 s; a call on a connection that is just being closed is lost.
        assert!(POOL_IDLE < Duration::from_secs(5));
    }

    #[test]
    fn html_and_cut_bodies_do_not_look_like_an_object() {
        assert!(looks_like_an_object(b" {\"a\":1}\n"));
        assert!(!looks_like_an_object(b"<html>") && !looks_like_an_object(b"{\"a\":") && !looks_like_an_object(b""));
    }
}

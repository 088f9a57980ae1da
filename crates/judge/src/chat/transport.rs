//! HTTP to one endpoint: one attempt, no retries, replies read to the end and capped.
//!
//! The request is sent, its body read in pieces within the limits of time and size, and a stream
//! put together into the body that would have come whole.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Request, Response};
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout_at};

use super::server_error::quote;
use crate::Rendered;
use crate::endpoint::Endpoint;
use crate::parameter::Parameter;
use crate::protocol::events::{Assembly, is_event_stream};
use scholareval_core::error::{Error, Result};

/// llama.cpp closes connections that were idle for 5 s: we close ours before.
const POOL_IDLE: Duration = Duration::from_secs(4);
/// Maximum number of bytes read of an error page.
const ERROR_BYTES: usize = 64 << 10;
/// Maximum bytes of a reply per token of its limit: a streamed token with 20 probabilities has about 2 kB.
const BYTES_PER_TOKEN: u64 = 4 << 10;
const LEAST_REPLY_BYTES: u64 = 1 << 20;
/// Longer bodies need a share of [`LONG_BODIES`].
const SHORT_BODY: usize = 64 << 10;
const KIBIBYTES_OF_LONG_BODIES: u32 = 32 << 10;
/// Memory for the long bodies of all servers, in KiB. A body takes all that it may need at once, so that each that has
/// begun can be read to its end.
static LONG_BODIES: Semaphore = Semaphore::const_new(KIBIBYTES_OF_LONG_BODIES as usize);
/// Time-out of a probe.
pub(crate) const PROBE_LIMIT: Duration = Duration::from_secs(5);
/// The pause between two attempts of a probe that fails transiently.
const PROBE_PAUSE: Duration = Duration::from_millis(250);

/// How long to read on after the time-out, at least and at most.
const LATE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Why there is no body to be read. Texts are cleaned and contain no secrets.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TransportFault {
    /// No connection was established.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// HTTPS to a server without TLS.
    #[error("the server at {host} speaks http, not https: use --base-url http://{host}{path}")]
    PlainHttp {
        /// Its host and port.
        host: String,
        /// The path of the base URL, unless it is the default one.
        path: String,
    },
    /// Nothing, or not everything, came in time.
    #[error("no whole reply within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The judge was writing when the time was over.
    #[error("no whole reply within {} s; {tokens} tokens came in {} s", limit.as_secs(), writing.as_secs())]
    StillWriting {
        /// The time-out.
        limit: Duration,
        /// Tokens that came, as streamed.
        tokens: u64,
        /// The time since the first of them.
        writing: Duration,
    },
    /// The connection broke, or the body was cut.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The reply repeats itself, and would do so to its limit.
    #[error("the reply repeats itself, and was stopped at {0} tokens")]
    Repeating(u64),
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

/// A whole body, with its share of the memory for long ones.
pub(crate) struct ResponseBody {
    pub bytes: Bytes,
    _share: Option<SemaphorePermit<'static>>,
}

/// The time that a request has.
///
/// A process that was suspended past the time-out (by a batch system, by Ctrl-Z) finds its timer run out and the reply
/// unread. That reply is paid for: what has arrived is read first, for as long as the timer was late. The time-out of the HTTP
/// client would give the reply up.
struct Patience {
    limit: Duration,
    until: Instant,
    is_over: bool,
}

impl Patience {
    fn new(limit: Duration) -> Self {
        Self {
            limit,
            until: Instant::now() + limit,
            is_over: false,
        }
    }

    /// Waits for a step of the request.
    async fn wait<T>(&mut self, step: impl Future<Output = T>) -> Result<T, TransportFault> {
        let mut step = pin!(step);
        if let Ok(done) = timeout_at(self.until, &mut step).await {
            return Ok(done);
        }
        if !self.is_over {
            self.is_over = true;
            let late = self.until.elapsed().clamp(LATE.0, LATE.1);
            self.until = Instant::now() + late;
            if let Ok(done) = timeout_at(self.until, step).await {
                return Ok(done);
            }
        }
        Err(TransportFault::TimedOut(self.limit))
    }
}

/// Sends requests to one endpoint.
#[derive(Clone)]
pub(crate) struct Transport {
    pub http: reqwest::Client,
    pub endpoint: Arc<Endpoint>,
}

impl Transport {
    /// A client with a separate pool of connections.
    ///
    /// # Errors
    /// [`Error::JudgeUnavailable`] if the key cannot stand in a header (a line break at its end, mostly);
    /// [`Error::Settings`] if no HTTP client can be set up, or for a second authorization beside the login of the URL.
    pub(crate) fn new(endpoint: Arc<Endpoint>) -> Result<Self> {
        if let Some(key) = &endpoint.api_key
            && HeaderValue::try_from(key.expose_secret()).is_err()
        {
            let variable = &endpoint.api_key_env;
            return Err(Error::JudgeUnavailable(format!(
                "the key in {variable} has characters that are not allowed in a header (a line break?); set {variable} again"
            )));
        }
        let headers = endpoint.headers.iter().map(|(name, _)| name);
        let mut names = headers.chain(endpoint.secret_headers.iter().map(|(name, _)| name));
        let has_other = endpoint.api_key.is_some()
            || names.any(|name| name.eq_ignore_ascii_case("authorization"));
        if endpoint.login.is_some() && has_other {
            let url = endpoint.masked_url();
            return Err(Error::Settings(format!(
                "the address {url} has a user and password, and there is a key or an Authorization header, too; a server \
                 gets one of them: drop the others"
            )));
        }
        // Fails if a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("scholareval/", env!("CARGO_PKG_VERSION")))
            .default_headers(request_headers(&endpoint))
            .connect_timeout(endpoint.timeouts.connect)
            .pool_idle_timeout(POOL_IDLE)
            .tcp_nodelay(true)
            // A followed redirect would repeat a paid call, and carry the key to another host.
            .redirect(reqwest::redirect::Policy::none());
        // A proxy of the institution cannot reach a server on this machine, and gives an error
        // page in its place.
        if endpoint.is_loopback() {
            builder = builder.no_proxy();
        }
        if endpoint.base_url.starts_with("http://") {
            // Without TLS there is no need for the system's certificates, which small containers do not have.
            builder = builder.tls_certs_only(std::iter::empty());
        }
        let http = builder.build().map_err(|error| {
            let why = causes(&error);
            Error::Settings(format!(
                "the HTTP client cannot be set up ({why}); are CA certificates installed?"
            ))
        })?;
        Ok(Self { http, endpoint })
    }

    /// Posts the body of a call to `url` and reads the whole response: its body, and how long the server asks to wait. The tokens of
    /// the reply limit its bytes.
    pub(super) async fn call(
        &self,
        url: &str,
        body: Bytes,
        call: &Rendered,
    ) -> Result<(ResponseBody, Option<Duration>), TransportFault> {
        let limit = self.endpoint.timeouts.total;
        let request = self.http.post(url);
        // Compressed bodies are not decoded.
        let request = request.header(ACCEPT_ENCODING, "identity");
        let request = request
            .header(CONTENT_TYPE, "application/json")
            .query(&self.endpoint.query)
            .body(body);
        let mut patience = Patience::new(limit);
        let response = patience.wait(request.send()).await?;
        let response = response.map_err(|error| self.fault(error, limit))?;
        let wait = retry_after(response.headers(), SystemTime::now());
        // A server that ignores the limit could fill the memory with one reply; twenty alternatives
        // a token still fit.
        // A limit of 0 is that of decision models, whose replies are as long as their options.
        let longest = call.max_tokens.filter(|tokens| *tokens > 0).map(|tokens| {
            tokens
                .saturating_mul(BYTES_PER_TOKEN)
                .max(LEAST_REPLY_BYTES)
        });
        let longest = longest
            .and_then(|bytes| usize::try_from(bytes).ok())
            .unwrap_or(usize::MAX);
        // The limit is ours, and so is its end before that; a limit that the user gave lasts.
        let is_watched = call.is_deterministic && call.parameters.contains(&Parameter::ListLimit);
        let body = self.read(response, &mut patience, longest, is_watched);
        Ok((body.await?, wait))
    }

    /// A JSON document beside the judge's route (`/models`, `/props`). After transient failures it is asked for again, up to
    /// so many times.
    pub(crate) async fn get_json(&self, url: &str, tries: u32) -> Result<Value, TransportFault> {
        for _ in 1..tries {
            match self.get(url, PROBE_LIMIT).await {
                Err(
                    TransportFault::TimedOut(_)
                    | TransportFault::Broken(_)
                    | TransportFault::Status {
                        status: 429 | 502..=504,
                        ..
                    },
                ) => {
                    sleep(PROBE_PAUSE).await;
                }
                body => return read_json(&body?, &self.endpoint),
            }
        }
        read_json(&self.get(url, PROBE_LIMIT).await?, &self.endpoint)
    }

    /// A GET beside the judge's route (`/models`, `/props`, `/health`), with the endpoint's headers and query.
    pub(crate) async fn get(&self, url: &str, limit: Duration) -> Result<Bytes, TransportFault> {
        let request = self.http.get(url).query(&self.endpoint.query);
        let mut patience = Patience::new(limit);
        let response = patience.wait(request.send()).await?;
        let response = response.map_err(|error| self.fault(error, limit))?;
        let body = self.read(response, &mut patience, usize::MAX, false);
        Ok(body.await?.bytes)
    }

    /// The response to a request that others built, its body not yet read; another status than 2xx is a fault.
    pub(crate) async fn response(&self, mut request: Request) -> Result<Response, TransportFault> {
        let limit = self.endpoint.timeouts.total;
        *request.timeout_mut() = Some(limit);
        let response = self
            .http
            .execute(request)
            .await
            .map_err(|error| self.fault(error, limit))?;
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(refused(response, &mut Patience::new(limit)).await)
        }
    }

    /// Reads a response of at most `longest` bytes to its end. One that comes in pieces becomes the body that the server
    /// would have sent whole; if it is watched, it is left once it repeats itself.
    async fn read(
        &self,
        mut response: Response,
        patience: &mut Patience,
        longest: usize,
        is_watched: bool,
    ) -> Result<ResponseBody, TransportFault> {
        if !response.status().is_success() {
            return Err(refused(response, patience).await);
        }
        let response_bytes = response
            .content_length()
            .and_then(|bytes| usize::try_from(bytes).ok())
            .unwrap_or(usize::MAX);
        let mut stream = is_event_stream(response.headers())
            .then(|| Assembly::new(self.endpoint.protocol.stream()));
        let longest = self.endpoint.max_reply_bytes.min(longest);
        let (mut left, mut share) = (longest, None);
        let mut body = BytesMut::new();
        // What follows a whole reply is its usage and the end of the body, which makes the connection good for the next
        // call. A server that keeps the stream open, or breaks it now, must not cost the reply.
        let mut until: Option<Instant> = None;
        loop {
            let chunk = match until {
                None => {
                    let written = stream.as_ref().and_then(|stream| stream.written);
                    let chunk = patience.wait(response.chunk()).await;
                    let chunk = chunk.map_err(|fault| still_writing(fault, written))?;
                    chunk.map_err(|error| self.fault(error, patience.limit))?
                }
                Some(until) => timeout_at(until, response.chunk())
                    .await
                    .ok()
                    .and_then(Result::ok)
                    .flatten(),
            };
            let Some(chunk) = chunk else { break };
            match left.checked_sub(chunk.len()) {
                Some(rest) => left = rest,
                None if until.is_some() => break,
                None => return Err(TransportFault::TooLong(longest)),
            }
            // A stream lasts as long as the judge writes: it takes its share at its end.
            if share.is_none() && stream.is_none() && longest - left > SHORT_BODY {
                share = share_of(longest.min(response_bytes)).await;
            }
            match &mut stream {
                None => body.extend_from_slice(&chunk),
                Some(stream) => {
                    stream.push(&chunk);
                    if is_watched && let Some(fault) = repeated(stream) {
                        return Err(fault);
                    }
                    let rest = stream.rest().map(|rest| Instant::now() + rest);
                    until = until.into_iter().chain(rest).min();
                }
            }
        }
        let bytes = match stream {
            None => body.freeze(),
            Some(stream) => {
                let whole = stream.finish().ok_or_else(early_end)?;
                if whole.len() > SHORT_BODY {
                    share = share_of(whole.len()).await;
                }
                whole
            }
        };
        Ok(ResponseBody {
            bytes,
            _share: share,
        })
    }

    /// The fault behind an error of the client.
    pub(crate) fn fault(&self, error: reqwest::Error, limit: Duration) -> TransportFault {
        // The URL may hold secrets in its query.
        let error = error.without_url();
        // A connect time-out is both; what matters is that no server took the call.
        if error.is_connect() {
            let why = causes(&error);
            if let Some((host, path)) = self
                .endpoint
                .host_and_path()
                .filter(|_| why.contains("InvalidContentType"))
            {
                return TransportFault::PlainHttp { host, path };
            }
            // The last cause says it all: "Connection refused".
            let why = why
                .rsplit_once("(Connect): ")
                .map_or(&*why, |(_, cause)| cause);
            let why = why.split_once(" (os error").map_or(why, |(cause, _)| cause);
            TransportFault::Connect(quote(
                why.trim_start_matches("tcp connect error: "),
                &self.endpoint,
            ))
        } else if error.is_timeout() {
            TransportFault::TimedOut(limit)
        } else {
            TransportFault::Broken(quote(&causes(&error), &self.endpoint))
        }
    }
}

fn early_end() -> TransportFault {
    TransportFault::Broken("the stream ended before the reply did".to_owned())
}

/// The fault of a watched stream that repeats itself; `None` for one that goes forward.
fn repeated(stream: &Assembly) -> Option<TransportFault> {
    let tokens = stream.written.map_or(0, |(_, tokens)| tokens);
    stream
        .repeats()
        .then_some(TransportFault::Repeating(tokens))
}

/// The time-out of a stream that was being written.
fn still_writing(fault: TransportFault, written: Option<(Instant, u64)>) -> TransportFault {
    match (fault, written) {
        (TransportFault::TimedOut(limit), Some((since, tokens))) => TransportFault::StillWriting {
            limit,
            tokens,
            writing: since.elapsed(),
        },
        (fault, _) => fault,
    }
}

/// A share of the memory for long bodies; at most all of it, so that one body is always possible.
async fn share_of(bytes: usize) -> Option<SemaphorePermit<'static>> {
    let kibibytes = u32::try_from(bytes.div_ceil(1 << 10))
        .unwrap_or(u32::MAX)
        .min(KIBIBYTES_OF_LONG_BODIES);
    // Fails if the semaphore is closed, which it never is.
    LONG_BODIES.acquire_many(kibibytes).await.ok()
}

/// The headers of every request: those of the user come last and win.
pub(crate) fn request_headers(endpoint: &Endpoint) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let credentials = endpoint.credentials();
    let fixed = endpoint.protocol.headers().iter();
    let fixed = fixed.map(|(name, value)| (*name, (*value).to_owned()));
    let secret = endpoint
        .secret_headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose_secret().to_owned()));
    let from_user = endpoint
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()));
    for (name, value) in credentials
        .into_iter()
        .chain(fixed)
        .chain(from_user)
        .chain(secret)
    {
        if let (Ok(name), Ok(mut value)) =
            (HeaderName::try_from(name), HeaderValue::try_from(value))
        {
            // Not shown by debug output; and HPACK keeps it out of its tables.
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }
    headers
}

/// The fault of a response of another status than 2xx, with the start of its body. The status alone decides; a
/// broken body only loses its message.
async fn refused(mut response: Response, patience: &mut Patience) -> TransportFault {
    let status = response.status();
    let retry_after = retry_after(response.headers(), SystemTime::now());
    let mut body = BytesMut::new();
    match response
        .headers()
        .get(LOCATION)
        .filter(|_| status.is_redirection())
    {
        Some(target) => body.extend_from_slice(target.as_bytes()),
        None => {
            while body.len() < ERROR_BYTES
                && let Ok(Ok(Some(chunk))) = patience.wait(response.chunk()).await
            {
                body.extend_from_slice(&chunk);
            }
        }
    }
    body.truncate(ERROR_BYTES);
    TransportFault::Status {
        status: status.as_u16(),
        retry_after,
        body: body.freeze(),
    }
}

/// Reads `retry-after-ms` (milliseconds), else `Retry-After` (seconds, whole or not, or an HTTP date, RFC 9110 10.2.3).
///
/// A date is measured from the `Date` of the response where it has one, so that a wrong clock here does no harm; from
/// `now` otherwise. A time that has passed is zero. `None` for a missing or unreadable header.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let number = |text: &str, unit: f64| {
        let seconds = text.parse::<f64>().ok()? * unit;
        Duration::try_from_secs_f64(seconds.max(0.0)).ok()
    };
    let given = |name: &str, unit: f64| number(text(headers, name)?, unit);
    // OpenAI and Azure send both; the milliseconds are the exact ones.
    if let Some(wait) = given("retry-after-ms", 1e-3).or_else(|| given("retry-after", 1.0)) {
        return Some(wait);
    }
    let until = httpdate::parse_http_date(text(headers, "retry-after")?).ok()?;
    let from = text(headers, "date")
        .and_then(|date| httpdate::parse_http_date(date).ok())
        .unwrap_or(now);
    Some(until.duration_since(from).unwrap_or_default())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// The JSON of a body, whatever its type, secrets masked.
fn read_json(body: &[u8], endpoint: &Endpoint) -> Result<Value, TransportFault> {
    let mut value = serde_json::from_slice(body).map_err(|_| not_json(body, endpoint))?;
    endpoint.mask_reply(&mut value);
    Ok(value)
}

/// The fault of a body that is not JSON, with its first words.
pub(super) fn not_json(body: &[u8], endpoint: &Endpoint) -> TransportFault {
    // How compressed data begins (RFC 1952).
    let start = if body.starts_with(b"\x1f\x8b") {
        "gzip, which was not requested".into()
    } else {
        String::from_utf8_lossy(&body[..body.len().min(4096)])
    };
    TransportFault::NotJson(quote(&start, endpoint).chars().take(120).collect())
}

/// An error with its causes, the innermost last, each once.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |cause| cause.source()) {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
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
        let message = Transport::new(Arc::new(endpoint))
            .err()
            .unwrap()
            .to_string();
        assert!(
            message.contains("OPENAI_API_KEY") && !message.contains("secret"),
            "{message}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_there_when_the_time_is_over_is_read() {
        let mut patience = Patience::new(Duration::from_secs(7));
        // A suspended process: nothing was polled, and the time is over by 2 s.
        tokio::time::advance(Duration::from_secs(9)).await;
        let reply = sleep(Duration::from_millis(1_500));
        assert!(patience.wait(reply).await.is_ok());
        let never = patience.wait(std::future::pending::<()>()).await;
        assert!(
            matches!(never, Err(TransportFault::TimedOut(limit)) if limit == Duration::from_secs(7))
        );
    }

    const DATE: &str = "Wed, 21 Oct 2015 07:28:00 GMT";
    const LATER: &str = "Wed, 21 Oct 2015 07:28:30 GMT";

    fn wait_of(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let pairs = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        retry_after(&pairs.collect(), httpdate::parse_http_date(DATE).unwrap())
    }

    #[test]
    fn each_form_is_wait_of() {
        assert_eq!(
            wait_of(&[("retry-after", "7")]),
            Some(Duration::from_secs(7))
        );
        assert_eq!(
            wait_of(&[("retry-after", " 1.5 ")]),
            Some(Duration::from_millis(1500))
        );
        assert_eq!(
            wait_of(&[("retry-after-ms", "250")]),
            Some(Duration::from_millis(250))
        );
        assert_eq!(
            wait_of(&[("retry-after-ms", "250"), ("retry-after", "7")]),
            Some(Duration::from_millis(250))
        );
        assert_eq!(
            wait_of(&[("retry-after", LATER)]),
            Some(Duration::from_secs(30))
        );
    }

    #[test]
    fn a_date_is_measured_from_the_servers_own_clock() {
        assert_eq!(
            wait_of(&[("retry-after", LATER), ("date", LATER)]),
            Some(Duration::ZERO)
        );
    }

    #[test]
    fn what_cannot_be_waited_for_is_no_wait() {
        assert_eq!(wait_of(&[]), None);
        assert_eq!(wait_of(&[("retry-after", "soon")]), None);
        assert_eq!(wait_of(&[("retry-after", "NaN")]), Some(Duration::ZERO));
        assert_eq!(wait_of(&[("retry-after", "inf")]), None);
        assert_eq!(wait_of(&[("retry-after", "-3")]), Some(Duration::ZERO));
    }

    #[test]
    fn idle_connections_close_before_the_server_closes_them() {
        // llama.cpp (cpp-httplib) closes after 5 s; a call on a connection that is just being closed is lost.
        assert!(POOL_IDLE < Duration::from_secs(5));
    }
}

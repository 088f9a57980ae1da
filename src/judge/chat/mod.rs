//! Chat and raw completions over an OpenAI-compatible endpoint.
//!
//! [`Chat`] sends a rendered body as it is, once, and tells apart what came back: a whole reply (readable or not, it
//! is paid), a passing failure, a refusal of this call, and what must stop the run. Retries, limits and the cache are
//! layers around it.
//!
//! A body is posted as the bytes that were rendered and hashed. (It went through async-openai's client before, which checks
//! each body of 13 kB as JSON and copies it, and builds URL and headers anew for each call.)

mod classify;
mod logprobs;
mod reply;
mod retry_after;
mod stream;
pub(in crate::judge) mod transport;
mod words;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use tokio::time::Instant as TokioInstant;

use self::classify::{EqualRefusals, ErrorResponse};
use self::reply::WireReply;
use self::transport::{Fault, Routes, Transport};
use self::words::{ServerWords, quote};
use super::body::RequestOptions;
use super::endpoint::Endpoint;
use super::kind::JudgeKind;
use super::meters::Meters;
use super::server_limits::ServerLimits;
use super::{AskError, AskFuture, Judge, JudgeRequest, Outcome};
use crate::domain::{CallKind, JudgeReply, UnscoredKind};
use crate::error::{Error, Result};
use crate::prompt::Messages;

pub(in crate::judge) use self::classify::key_refused;

/// So many connections must have failed, besides the time, before no server is taken to be there.
const FEWEST_FAILED_CONNECTIONS: u32 = 3;

/// A judge behind `POST {base}/chat/completions`, or `/completions`. Shared by reference; one connection pool.
pub struct Chat {
    transport: Transport,
    routes: Routes,
    endpoint: Arc<Endpoint>,
    kind: JudgeKind,
    meters: Arc<Meters>,
    refusals: EqualRefusals,
    reach: Mutex<Reach>,
}

/// Whether the server can be reached.
#[derive(Debug, Default)]
struct Reach {
    /// It has answered at least once.
    has_answered: bool,
    /// Since when connections fail, and how many have; `None` while they come about.
    failing: Option<(TokioInstant, u32)>,
}

impl Chat {
    /// A chat judge at `endpoint`; replies and their tokens are counted in `meters`.
    ///
    /// # Errors
    /// [`Error::Settings`] if no HTTP client can be set up (no CA certificates) or the base URL is none,
    /// [`Error::JudgeUnavailable`] for a key that no header can hold.
    pub fn new(endpoint: Endpoint, meters: Arc<Meters>) -> Result<Self> {
        let endpoint = Arc::new(endpoint);
        let transport = Transport::new(Arc::clone(&endpoint))?;
        let routes = transport.routes()?;
        let kind = JudgeKind::Chat;
        let (refusals, reach) = (EqualRefusals::default(), Mutex::default());
        Ok(Self { transport, routes, endpoint, kind, meters, refusals, reach })
    }

    /// The same judge asked through the route of `kind`, for bodies that were rendered for it
    /// ([`RequestOptions::endpoint`]).
    #[must_use]
    pub fn through(self, kind: JudgeKind) -> Self {
        Self { kind, ..self }
    }

    /// Where this judge lives.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// What this server's headers say of its limits, kept up to date with each response: for
    /// [`crate::judge::layers::rate_limited::RateLimited::learning_from`].
    pub fn server_limits(&self) -> Arc<ServerLimits> {
        self.transport.limits()
    }

    /// Sends `body` (a completion request as JSON, chat or raw) once, byte by byte as it is, and reads the reply. Only
    /// with [`Endpoint::stream`] its `"stream":false` becomes a request for a stream with usage; the reply is the same.
    ///
    /// # Errors
    /// [`AskError::Transient`] for time-outs, resets, cut bodies, HTML under status 200, 408, 409, 429 and 5xx;
    /// [`AskError::Refused`] for other 4xx; [`AskError::Fatal`] for a wrong key, a spent quota, an unknown model or
    /// route, five equal 400s in a row, and a server that cannot be reached for a while.
    pub async fn send(&self, body: &Bytes) -> Result<JudgeReply, AskError> {
        let streaming = self.endpoint.stream.then(|| stream::requested(body)).flatten();
        let started = Instant::now();
        let sent = self.transport.call(self.routes.of(self.kind), streaming.unwrap_or_else(|| body.clone())).await;
        let latency_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let body = sent.map_err(|fault| self.failure(fault))?;
        let reply = self.read(&body)?;
        self.note_answer();
        if let Some(error) = reply.error() {
            return Err(self.error_response(ErrorResponse::under_200(error, None, &self.endpoint)));
        }
        if !reply.is_completion() {
            return Err(transient("the reply is JSON, but no completion (it has no choices)".to_owned()));
        }
        self.refusals.reset();
        let reply = reply.into_reply(latency_ms);
        self.meters.count_reply(&reply.usage);
        Ok(reply)
    }

    /// One tiny call with the run's own parameters: finds a wrong key, model, route or parameter before anything is
    /// paid for. `options` must be for this judge's route.
    ///
    /// # Errors
    /// [`Error::JudgeUnavailable`] with the server's words and, where a parameter is refused, the option that helps.
    pub async fn ping(&self, options: &RequestOptions) -> Result<JudgeReply> {
        let user = "Reply with this JSON object and nothing else: {\"score\": 1}".to_owned();
        let rendered = options.render(CallKind::Property, &Messages::new(None, user), 0, 0);
        self.send(&rendered.body).await.map_err(|error| match error {
            AskError::Fatal(error) => error,
            AskError::Transient { message, .. } => {
                let hint = "try again later, or give it time with --wait-server 20m";
                Error::JudgeUnavailable(format!(
                    "the judge at {} failed: {message}; {hint}",
                    self.endpoint.masked_url()
                ))
            }
            AskError::Refused { message, .. } => {
                let option = classify::helping_option(&message.to_lowercase());
                let url = self.endpoint.masked_url();
                Error::JudgeUnavailable(format!("the judge at {url} refuses calls like ours ({message}); try {option}"))
            }
        })
    }

    fn read(&self, body: &Bytes) -> Result<WireReply, AskError> {
        // Looked at as UTF-8 first: then serde_json need not look at each string again.
        let read = match str::from_utf8(body) {
            Ok(text) => serde_json::from_str(text),
            Err(_) => serde_json::from_slice(body),
        };
        // Braces at both ends and broken between them, or members of impossible types.
        read.map_err(|error| {
            self.note_answer();
            transient(format!("the reply is no completion: {}", quote(&error.to_string(), &self.endpoint)))
        })
    }

    fn failure(&self, fault: Fault) -> AskError {
        if !matches!(fault, Fault::Connect(_)) {
            self.note_answer();
        }
        match fault {
            Fault::Connect(words) => self.no_connection(&words),
            Fault::Status { status, retry_after, body } => {
                let words = ServerWords::read(&body, &self.endpoint);
                self.error_response(ErrorResponse { status, retry_after, words })
            }
            Fault::ErrorUnder200 { retry_after, error } => {
                self.error_response(ErrorResponse::under_200(&error, Some(retry_after), &self.endpoint))
            }
            Fault::TooLong(_) => {
                let message = format!("{fault}; a judge that does not stop");
                AskError::Refused { message, status: 200, kind: UnscoredKind::Refused }
            }
            // The server's own word for it is 408; either way what was asked may still be worked on.
            Fault::TimedOut(_) | Fault::NoFirstByte(_) => {
                AskError::Transient { message: fault.to_string(), status: Some(408), retry_after: None }
            }
            Fault::Broken(_) | Fault::NotJson(_) => transient(fault.to_string()),
        }
    }

    fn error_response(&self, response: ErrorResponse) -> AskError {
        self.refusals.count(response.classify(&self.endpoint, self.kind))
    }

    /// A connection that failed: passing, until it has failed for too long.
    fn no_connection(&self, words: &str) -> AskError {
        let mut reach = self.reach.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, before) = reach.failing.unwrap_or((TokioInstant::now(), 0));
        reach.failing = Some((since, before + 1));
        let timeouts = &self.endpoint.timeouts;
        let patience = if reach.has_answered { timeouts.server_gone } else { timeouts.no_server };
        if before + 1 < FEWEST_FAILED_CONNECTIONS || since.elapsed() < patience {
            return transient(format!("cannot connect: {words}"));
        }
        let url = self.endpoint.masked_url();
        AskError::Fatal(Error::JudgeUnavailable(if reach.has_answered {
            format!("the judge at {url} has gone ({words}); start it and give the same command again")
        } else {
            no_server(&url, words)
        }))
    }

    fn note_answer(&self) {
        let mut reach = self.reach.lock().unwrap_or_else(PoisonError::into_inner);
        *reach = Reach { has_answered: true, failing: None };
    }
}

/// Reads a completion that came another way: the body of a line of a batch's results.
///
/// # Errors
/// What the service said, or that the body is no completion: one line, secrets masked.
pub(in crate::judge) fn read_completion(body: &str) -> std::result::Result<JudgeReply, String> {
    let reply: WireReply = serde_json::from_str(body)
        .map_err(|error| format!("the body is no completion: {}", quote_plain(&error.to_string())))?;
    match reply.error() {
        Some(error) => Err(error_words(error)),
        None if !reply.is_completion() => Err("the body is JSON, but no completion (it has no choices)".to_owned()),
        None => Ok(reply.into_reply(0)),
    }
}

/// What an error object says: one line, whatever looks like a key masked.
pub(in crate::judge) fn error_words(error: &serde_json::Value) -> String {
    let words = ServerWords::of_value(error, &nowhere());
    if words.message.is_empty() { words.code } else { words.message }
}

fn quote_plain(text: &str) -> String {
    quote(text, &nowhere())
}

/// An endpoint without secrets, for words that came through a file.
fn nowhere() -> Endpoint {
    Endpoint::unknown()
}

/// The message for a server that never answered.
pub(in crate::judge) fn no_server(url: &str, words: &str) -> String {
    format!("no judge answers at {url} ({words}); check --base-url, or wait for it to load with --wait-server 20m")
}

fn transient(message: String) -> AskError {
    AskError::Transient { message, status: None, retry_after: None }
}

impl Judge for Chat {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(async move {
            let Some(rendered) = &request.rendered else {
                return Err(AskError::Fatal(Error::Internal(
                    "a judge behind a server was asked a call without a body".into(),
                )));
            };
            self.send(&rendered.body).await.map(Outcome::Reply)
        })
    }
}

//! The judge behind one endpoint.
//!
//! A body is sent, the reply decoded and read by the protocol; an error is classified by
//! `server_error`. What only several calls show together (a server that never answers, one that
//! refuses everything) is kept here.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use serde_json::Value;
use tokio::time::Instant as TokioInstant;

use super::server_error::{ServerError, complaint, helping_option, no_server, other_models};
use super::transport::{PROBE_LIMIT, ResponseBody, Transport, TransportFault, not_json};
use crate::endpoint::Endpoint;
use crate::meters::Meters;
use crate::parameter::Parameter;
use crate::protocol::BodyFault;
use crate::protocol::completion::{decode, with_plausible_usage};
use crate::streak::Streak;
use crate::{
    AskError, AskFuture, ENDS_THE_SAME_WAY, Judge, JudgeRequest, Outcome, Rendered, fatal, locked,
    other_efforts, refuse_ended,
};
use scholareval_core::domain::{EndingModel, Fingerprint, JudgeReply, ModelEnd, UnscoredKind};
use scholareval_core::error::{Error, Result};
use scholareval_core::question::TOO_LONG;

/// So many connections must have failed, besides the time, before no server is taken to be there.
const FEWEST_FAILED_CONNECTIONS: u32 = 3;
/// So many replies must have been no completion, and none one, besides the time, before a judge is given up.
const MOST_WITHOUT_COMPLETION: u32 = 10;

/// A judge behind a server, asked in the protocol of its endpoint. Shared by reference; one connection pool.
pub struct Chat {
    transport: Transport,
    endpoint: Arc<Endpoint>,
    meters: Arc<Meters>,
    refusals: Streak,
    reach: Mutex<Reachability>,
    /// Held by every call in flight.
    calls: Arc<()>,
}

/// Whether the server can be reached.
#[derive(Debug, Default)]
struct Reachability {
    /// It has answered at least once.
    has_answered: bool,
    /// Since when connections fail, and how many have; `None` while they succeed.
    failing: Option<(TokioInstant, u32)>,
    /// A whole reply has come.
    has_replied: bool,
    /// Since when replies with status 200 are not completions, and how many were.
    without_completion: Option<(TokioInstant, u32)>,
    /// How many calls have timed out, and how many were in flight at most when one did.
    time_outs: (usize, usize),
    /// Calls at temperature 0 that timed out without a stream.
    timed_out: HashSet<Fingerprint>,
}

impl Chat {
    /// A judge at `endpoint`; replies and their tokens are counted in `meters`.
    ///
    /// # Errors
    /// [`Error::Settings`] if no HTTP client can be set up (no CA certificates), [`Error::JudgeUnavailable`] for a key
    /// that no header can hold.
    pub fn new(endpoint: Endpoint, meters: Arc<Meters>) -> Result<Self> {
        let endpoint = Arc::new(endpoint);
        let transport = Transport::new(Arc::clone(&endpoint))?;
        let (refusals, reach, calls) = (Streak::default(), Mutex::default(), Arc::default());
        Ok(Self {
            transport,
            endpoint,
            meters,
            refusals,
            reach,
            calls,
        })
    }

    /// Sends the body of `call` once, byte by byte as it is, and reads the reply. Only with [`Endpoint::stream`] a stream
    /// is asked for, where the protocol has one; the reply is the same.
    ///
    /// # Errors
    /// [`AskError::Transient`] for time-outs, resets, cut bodies, HTML under status 200, 408, 409, 429 and 5xx;
    /// [`AskError::Unsupported`] for a parameter that the server refuses; [`AskError::Refused`] for other 4xx; [`AskError::Fatal`] for a wrong key, a spent quota, an unknown model or
    /// route, a server that cannot be reached for a while, and one that is silent: twice as many calls as were in
    /// flight have timed out, and none was ever answered. Likewise for one that never gave a completion in 10 replies.
    pub async fn send(&self, call: &Rendered) -> Result<JudgeReply, AskError> {
        let _in_flight = Arc::clone(&self.calls);
        let protocol = self.endpoint.protocol;
        let whole: &Bytes = &call.body.bytes;
        let streaming = if self.endpoint.stream {
            protocol.streaming_body(whole)
        } else {
            None
        };
        let url = self.endpoint.call_url(&call.model, streaming.is_some());
        let is_streamed = streaming.is_some();
        let body = streaming.unwrap_or_else(|| whole.clone());
        let started = Instant::now();
        let sent = self.transport.call(&url, body, call).await;
        let latency_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let read = sent.and_then(|(body, wait)| Ok((self.decoded(&body)?, wait)));
        // Any answer, even an error, shows that a server is there.
        if !matches!(read, Err(TransportFault::Connect(_))) {
            let mut reach = locked(&self.reach);
            (reach.has_answered, reach.failing) = (true, None);
        }
        let (body, wait) = match read {
            Ok(read) => read,
            Err(TransportFault::Status {
                status,
                retry_after,
                body,
            }) => {
                let error = ServerError::of_body(status, retry_after, &body, &self.endpoint);
                return self.end_of(error, call, latency_ms).await;
            }
            Err(fault) => return Err(self.failure(fault, call, is_streamed)),
        };
        let mut reply = match protocol.read(body, latency_ms) {
            Ok(reply) => reply,
            Err(BodyFault::Error(error)) => {
                let error = ServerError::under_200(&error, wait, &self.endpoint);
                return self.end_of(error, call, latency_ms).await;
            }
            Err(BodyFault::NotACompletion) => {
                let what = "the reply is JSON, but no completion (it has no choices)";
                return Err(self.no_completion(what.to_owned()));
            }
        };
        // Again, since parts of a text were masked one by one.
        for text in std::iter::once(&mut reply.content).chain(&mut reply.reasoning) {
            self.endpoint.mask_text(text);
        }
        // A path may name a user, and is not which model it is.
        reply.model = reply.answering_model().map(str::to_owned);
        let reply = self.counted(with_plausible_usage(reply, call));
        // By the service's statement the text is not by this model.
        if let Some(end) = reply.end.filter(ModelEnd::is_retired) {
            let model = call.model.clone();
            refuse_ended(&EndingModel { model, end }).map_err(AskError::Fatal)?;
        }
        Ok(reply)
    }

    /// The reply that an error stands for: a limit that went to reasoning; of a decision model that the request was too long,
    /// which is kept, since the same questions are asked in smaller requests.
    fn reply_of(&self, error: &ServerError, call: &Rendered) -> Option<JudgeReply> {
        if error.is_used_up_limit() {
            return Some(JudgeReply::of_used_up_limit(call.max_tokens.unwrap_or(0)));
        }
        let is_decision = self.endpoint.protocol.decision_shape().is_some();
        (is_decision && error.is_too_long()).then(|| JudgeReply {
            finish_reason: Some(TOO_LONG.to_owned()),
            ..JudgeReply::of_text(error.message())
        })
    }

    /// The reply that an error stands for, else the error.
    async fn end_of(
        &self,
        error: ServerError,
        call: &Rendered,
        latency_ms: u64,
    ) -> Result<JudgeReply, AskError> {
        match self.reply_of(&error, call) {
            Some(reply) => Ok(self.counted(JudgeReply {
                latency_ms,
                ..reply
            })),
            None => Err(self.classified(error, call).await),
        }
    }

    /// Counts a reply.
    fn counted(&self, reply: JudgeReply) -> JudgeReply {
        locked(&self.reach).has_replied = true;
        self.meters.count_reply(&reply.usage);
        reply
    }

    /// The JSON of a body, secrets masked.
    fn decoded(&self, body: &ResponseBody) -> Result<Value, TransportFault> {
        let json = decode(&body.bytes, self.endpoint.protocol.reply_member());
        let mut json = json.ok_or_else(|| not_json(&body.bytes, &self.endpoint))?;
        self.endpoint.mask_reply(&mut json);
        Ok(json)
    }

    fn failure(&self, fault: TransportFault, call: &Rendered, is_streamed: bool) -> AskError {
        let message = fault.to_string();
        match fault {
            TransportFault::Connect(words) => self.no_connection(&words),
            TransportFault::PlainHttp { .. } => fatal(message),
            // Refused and not retried: a model that repeats itself at temperature 0 does so again,
            // and every attempt is paid.
            TransportFault::TooLong(_) => {
                let message = format!("{message}; the judge does not stop");
                AskError::Refused {
                    message,
                    status: 200,
                    kind: UnscoredKind::Refused,
                }
            }
            // Likewise. Our limit of lists counts as reached.
            TransportFault::Repeating(_) => AskError::Refused {
                message: format!("{message}; --max-tokens KIND=N lets replies go on to that limit"),
                status: 200,
                kind: UnscoredKind::Cut,
            },
            // As after a 408 of the server, the call may still be worked on.
            TransportFault::TimedOut(_) => {
                let error = self.timed_out("is silent", message);
                // Whether it was writing shows only in a stream. A server that had a bad moment answers the next time.
                let is_first = is_streamed || self.is_first_time_out(call);
                if is_first { error } else { not_again(error) }
            }
            TransportFault::StillWriting { limit, writing, .. } => {
                let bound = call.max_tokens.map(|most| format!(", of at most {most}"));
                let message = message + &bound.unwrap_or_default();
                let error = self.timed_out("is too slow", message);
                // A call that waited for most of its time has more of it at the next attempt.
                let may_differ = !call.is_deterministic || writing < limit / 2;
                if may_differ { error } else { not_again(error) }
            }
            TransportFault::NotJson(_) => self.no_completion(message),
            TransportFault::Broken(_) | TransportFault::Status { .. } => {
                AskError::transient(message)
            }
        }
    }

    /// Notes that this call timed out. Always true for one that may get another reply at its next attempt.
    fn is_first_time_out(&self, call: &Rendered) -> bool {
        !call.is_deterministic || locked(&self.reach).timed_out.insert(call.fingerprint)
    }

    /// A status 200 without a completion: transient, until the server has given nothing else for too long.
    fn no_completion(&self, message: String) -> AskError {
        let mut reach = locked(&self.reach);
        let (since, before) = reach.without_completion.unwrap_or((TokioInstant::now(), 0));
        reach.without_completion = Some((since, before + 1));
        let is_new = before + 1 < MOST_WITHOUT_COMPLETION
            || since.elapsed() < self.endpoint.timeouts.no_server;
        // A gateway gives HTML pages under status 200 while its server restarts; only one that
        // never gave a completion has the wrong path.
        if reach.has_replied || is_new {
            return AskError::transient(message);
        }
        let url = self.endpoint.masked_url();
        fatal(format!(
            "the judge at {url} returns no completions ({message}); check the path of --base-url"
        ))
    }

    /// The server's error, or the parameter of the call that it refuses; for a model that it does not have with those that it lists.
    async fn classified(&self, error: ServerError, call: &Rendered) -> AskError {
        let protocol = self.endpoint.protocol;
        let refused = error.refused_parameter(&call.parameters, protocol);
        // Another effort would be another judge, which the user has to choose.
        if refused == Some(Parameter::Effort) {
            let (url, message) = (self.endpoint.masked_url(), error.message());
            let what = format!("the judge at {url} refuses this --reasoning-effort ({message})");
            let known = protocol.efforts(&call.model, &Value::Null);
            return fatal(other_efforts(&what, known));
        }
        if let Some(parameter) = refused {
            return AskError::Unsupported {
                parameter,
                message: error.message(),
            };
        }
        // A limit that nobody gave must not cost a call that works without it.
        if call.parameters.contains(&Parameter::Room) && error.refuses_length() {
            return AskError::Unsupported {
                parameter: Parameter::Room,
                message: error.message(),
            };
        }
        if call.parameters.contains(&Parameter::ListLimit) && error.refuses_length() {
            return AskError::Unsupported {
                parameter: Parameter::ListLimit,
                message: error.message(),
            };
        }
        let is_missing_model = error.is_missing_model();
        let sends_effort = call.parameters.iter().any(|sent| sent.is_effort());
        let error = if sends_effort {
            error.noting_effort()
        } else {
            error
        };
        let error = error.classify(&self.endpoint);
        let AskError::Fatal(Error::JudgeUnavailable(message)) = error else {
            return error;
        };
        let mut others = String::new();
        let models = self.endpoint.models_url();
        if is_missing_model && let Ok(list) = self.transport.get(&models, PROBE_LIMIT).await {
            let list: Value = serde_json::from_slice(&list).unwrap_or_default();
            others = other_models(&call.model, &protocol.models(&list));
        }
        fatal(message + &others)
    }

    /// The number of cases that the run asks about.
    fn cases_asked(&self) -> usize {
        usize::try_from(Meters::read(&self.meters.cases_asked)).unwrap_or(usize::MAX)
    }

    /// A time-out: transient, until it is clear that the server `is` of no use.
    fn timed_out(&self, is: &str, message: String) -> AskError {
        let mut reach = locked(&self.reach);
        let (count, most) = reach.time_outs;
        // One holder is the judge itself.
        reach.time_outs = (count + 1, most.max(Arc::strong_count(&self.calls) - 1));
        let (count, most) = reach.time_outs;
        // Twice the calls in flight: the first round may have waited for the model to load, the
        // second one had a loaded model.
        if reach.has_replied || count < 2 * most {
            return AskError::Transient {
                message,
                status: Some(408),
                retry_after: None,
            };
        }
        let url = self.endpoint.masked_url();
        fatal(format!(
            "the judge at {url} {is}: {count} calls timed out, none was answered ({message}); see whether it works \
             on something else, or give it more time with --timeout 30m, or fewer calls at once with --concurrency"
        ))
    }

    /// A connection that failed: transient, until it has failed for too long.
    fn no_connection(&self, words: &str) -> AskError {
        let mut reach = locked(&self.reach);
        let (since, before) = reach.failing.unwrap_or((TokioInstant::now(), 0));
        reach.failing = Some((since, before + 1));
        let timeouts = &self.endpoint.timeouts;
        let patience = if reach.has_answered {
            timeouts.server_gone
        } else {
            timeouts.no_server
        };
        // Count and time, both: a burst of calls fails at once in one moment of a restart, and a
        // lone call fails once in a minute.
        if before + 1 < FEWEST_FAILED_CONNECTIONS || since.elapsed() < patience {
            return AskError::transient(format!("cannot connect: {words}"));
        }
        let url = self.endpoint.masked_url();
        fatal(if reach.has_answered {
            format!(
                "the judge at {url} has gone ({words}); start it and give the same command again"
            )
        } else {
            no_server(&url, words)
        })
    }
}

/// The time-out of a call that would end the same way at its next attempt.
fn not_again(mut error: AskError) -> AskError {
    if let AskError::Transient { message, .. } = &mut error {
        *message = format!("{message}; {ENDS_THE_SAME_WAY}");
    }
    error
}

impl Judge for Chat {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(async move {
            let Some(rendered) = &request.rendered else {
                return Err(AskError::Fatal(Error::Internal(
                    "a judge behind a server was asked a call without a body".into(),
                )));
            };
            // One refusal is about one answer; the same one for several answers in a row is about
            // the request, and would use up the whole run.
            let begun = self.refusals.begin();
            let error = match self.send(rendered).await {
                Ok(reply) => {
                    self.refusals.end();
                    return Ok(Outcome::Reply(reply));
                }
                Err(error) => error,
            };
            // Where replies were cached the server took such requests before: what it refuses now is about an answer.
            if let Some(message) = complaint(&error)
                && Meters::read(&self.meters.cache_hits) == 0
                && let Some(extent) =
                    self.refusals
                        .fail(request, message, begun, self.cases_asked())
            {
                let option = helping_option(message);
                // Neither limits nor the tier are run settings.
                let run = if option.contains("max-tokens") || option.contains("service-tier") {
                    "which continues the run"
                } else {
                    "in a new run (--out)"
                };
                return Err(fatal(format!(
                    "the judge refused calls about {extent} in a row with {message:?}; try {option}, {run}"
                )));
            }
            Err(error)
        })
    }
}

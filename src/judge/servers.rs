//! The servers of one judge: which are reachable, and what they serve.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use tokio::time::{Instant, timeout_at};

use super::Notify;
use super::cache::Cache;
use super::capacity::Capacity;
use super::chat::Chat;
use super::endpoint::{Endpoint, OPENAI_BASE_URL, Timeouts};
use super::identity::{ServerIdentity, ServerReport, ask_server, check_same_model, wait_for_server};
use super::kind::JudgeKind;
use super::last_served::{last_said, remember};
use super::layers::identity_checked::{ExpectedIdentity, IdentityChecked};
use super::layers::pool::{Pool, Replica};
use super::layers::rate_limited::RateLimited;
use super::meters::Meters;
use super::options::{JudgeOptions, LimitOptions, NameValue, Streaming};
use crate::domain::Severity;
use crate::error::{Error, Result};

/// A judge on all of its servers, each within its own limits.
pub type Fleet = Pool<RateLimited<IdentityChecked<Chat>>>;

/// Once one server is ready, the others get at most this long: they may still join during the run.
const FOR_THE_OTHERS: Duration = Duration::from_secs(60);

/// One server of a judge.
struct Server {
    endpoint: Endpoint,
    /// Its report, or why there is none.
    report: Result<ServerReport>,
}

/// All servers of a judge, and what they serve.
pub struct Servers {
    /// The model name for requests.
    pub model: String,
    /// Its identity.
    pub served: ServerIdentity,
    each: Vec<Server>,
    /// True if the report is part of the judge's identity and must stay the same; else the user is responsible.
    must_agree: bool,
}

impl Servers {
    /// Asks every server which model it serves. Unreachable ones are left out for now, with a note; if none is
    /// reachable, the last report of one of them is used.
    ///
    /// # Errors
    /// [`Error::Settings`] if they serve different models; [`Error::JudgeUnavailable`] if none is reachable and none is
    /// known from an earlier run.
    pub(super) async fn ask(
        judge: &JudgeOptions,
        limits: &LimitOptions,
        cache: Option<&Cache>,
        notify: &Notify,
    ) -> Result<Self> {
        let endpoints = endpoints(judge, limits)?;
        if !judge.wait_server.is_zero() {
            wait(&endpoints, *judge.wait_server, notify).await?;
        }
        let model = judge.model.as_deref();
        let reports = join_all(endpoints.iter().map(|endpoint| report(endpoint, model))).await;
        let each: Vec<Server> = endpoints
            .into_iter()
            .zip(reports)
            .map(|(endpoint, report)| Ok(Server { endpoint, report: report? }))
            .collect::<Result<_>>()?;
        let must_agree = judge.cache_id.is_none();
        let there: Vec<(&Endpoint, &ServerReport)> =
            each.iter().filter_map(|server| Some((&server.endpoint, server.report.as_ref().ok()?))).collect();
        let (model, served) = match there.first() {
            Some((_, first)) => (first.model.clone(), first.identity.clone()),
            None => match last_said(judge, cache, &each.iter().map(|server| &server.endpoint).collect::<Vec<_>>())? {
                Some(last) => last,
                None => return Err(no_server(each)),
            },
        };
        if must_agree {
            check_same_model(&there)?;
        }
        if let Some(cache) = cache {
            remember(cache, judge, &there, notify)?;
        }
        let each = streaming(limits.stream, each);
        let servers = Self { model, served, each, must_agree };
        servers.note_absent(notify);
        Ok(servers)
    }

    /// Every server, unreachable ones included.
    pub fn endpoints(&self) -> impl ExactSizeIterator<Item = &Endpoint> {
        self.each.iter().map(|server| &server.endpoint)
    }

    /// Why no server can be used; `None` if one can.
    pub fn offline(&self) -> Option<String> {
        let errors = self.each.iter().map(|server| server.report.as_ref().err().map(ToString::to_string));
        errors.collect::<Option<Vec<_>>>().map(|errors| errors.join("; "))
    }

    /// The address of the first reachable server, else of the first; secrets masked.
    pub fn first_url(&self) -> Option<String> {
        let there = self.each.iter().find(|server| server.report.is_ok());
        there.or(self.each.first()).map(|server| server.endpoint.masked_url())
    }

    /// All addresses, secrets masked.
    pub fn urls(&self) -> String {
        self.endpoints().map(Endpoint::masked_url).collect::<Vec<_>>().join(",")
    }

    /// Context length and token counter of the server with the shortest context, since an answer may go to any. Unknown
    /// if none is reachable, and for OpenAI.
    pub fn capacity(&self) -> Option<(Capacity, &Endpoint)> {
        let reported = self.each.iter().filter_map(|server| {
            let capacity = server.report.as_ref().ok()?.capacity?;
            Some((capacity, &server.endpoint))
        });
        reported.min_by_key(|(capacity, _)| capacity.context_tokens)
    }

    /// A judge on all servers. Unreachable ones are probed again during the run.
    ///
    /// # Errors
    /// When no HTTP client can be set up.
    pub(super) fn fleet(&self, kind: JudgeKind, limits: &LimitOptions, meters: &Arc<Meters>) -> Result<Fleet> {
        let replica = |server: &Server| {
            let chat = Chat::new(server.endpoint.clone(), Arc::clone(meters))?.through(kind);
            // A single unreachable server is called anyway: its own error says more than a probe.
            let is_checked = self.must_agree && (self.each.len() > 1 || server.report.is_ok());
            let expected = is_checked.then(|| ExpectedIdentity {
                endpoint: server.endpoint.clone(),
                model: self.model.clone(),
                identity: self.served.clone(),
                is_known: server.report.is_ok(),
            });
            let judge = RateLimited::new(IdentityChecked::new(chat, expected), limits, Arc::clone(meters));
            Ok(Replica { name: server.endpoint.masked_url(), concurrency: limits.concurrency.get(), judge })
        };
        let mut pool = Pool::new(self.each.iter().map(replica).collect::<Result<_>>()?)?;
        if self.offline().is_none() {
            for (index, server) in self.each.iter().enumerate() {
                if let Err(error) = &server.report {
                    pool = pool.without(index, &error.to_string());
                }
            }
        }
        Ok(pool)
    }

    fn note_absent(&self, notify: &Notify) {
        if self.offline().is_some() {
            let what = "is unreachable; cached replies are used for the model that it served last";
            return notify(Severity::Info, &format!("{} {what}", self.urls()));
        }
        for server in &self.each {
            if let Err(error) = &server.report {
                let what = "the others take its answers until it reports that it serves the same model";
                notify(Severity::Warning, &format!("{} is left out ({error}); {what}", server.endpoint.masked_url()));
            }
        }
    }
}

/// The server's report; the inner error is for an unreachable server.
async fn report(endpoint: &Endpoint, model: Option<&str>) -> Result<Result<ServerReport>> {
    if !endpoint.is_openai()
        && let Err(error) = wait_for_server(endpoint, Duration::ZERO, |_, _| ()).await
    {
        return Ok(Err(error));
    }
    ask_server(endpoint, model).await.map(Ok)
}

/// The error if no server is reachable and none is known.
fn no_server(each: Vec<Server>) -> Error {
    let mut errors: Vec<Error> = each.into_iter().filter_map(|server| server.report.err()).collect();
    match errors.len() {
        1 => errors.remove(0),
        _ => Error::JudgeUnavailable(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    }
}

/// Streams replies if the server stops when its client disconnects, so that an abandoned call (a time-out, a stopped
/// run) costs it nothing. Unreachable servers are assumed to be like the others.
fn streaming(stream: Streaming, mut each: Vec<Server>) -> Vec<Server> {
    let stops = |server: &Server| server.report.as_ref().ok().map(|report| report.capacity.is_some());
    let others = each.iter().find_map(stops).unwrap_or(false);
    for server in &mut each {
        server.endpoint.stream = match stream {
            Streaming::On => true,
            Streaming::Off => false,
            Streaming::Auto => stops(server).unwrap_or(others),
        };
    }
    each
}

/// Waits for all servers concurrently; once one is ready, the others get a little longer.
async fn wait(endpoints: &[Endpoint], limit: Duration, notify: &Notify) -> Result<()> {
    let mut waits: FuturesUnordered<_> =
        endpoints.iter().map(|endpoint| wait_for_one(endpoint, limit, notify)).collect();
    let mut until: Option<Instant> = None;
    let mut failures = Vec::new();
    loop {
        let next = match until {
            None => waits.next().await,
            Some(until) => timeout_at(until, waits.next()).await.unwrap_or_default(),
        };
        match next {
            Some(Ok(())) => drop(until.get_or_insert(Instant::now() + FOR_THE_OTHERS)),
            Some(Err(error)) => failures.push(error.to_string()),
            None if until.is_some() => return Ok(()),
            None => return Err(Error::JudgeUnavailable(failures.join("; "))),
        }
    }
}

async fn wait_for_one(endpoint: &Endpoint, limit: Duration, notify: &Notify) -> Result<()> {
    let mut last = Duration::ZERO;
    let url = endpoint.masked_url();
    wait_for_server(endpoint, limit, |elapsed, state| {
        if last.is_zero() || elapsed >= last + Duration::from_secs(30) {
            last = elapsed.max(Duration::from_millis(1));
            notify(Severity::Info, &format!("waiting for {url}: {state} ({} s)", elapsed.as_secs()));
        }
    })
    .await
}

fn endpoints(judge: &JudgeOptions, limits: &LimitOptions) -> Result<Vec<Endpoint>> {
    let endpoint = |url: &String| {
        let mut endpoint = Endpoint::new(url)?;
        endpoint.api_key = judge.api_key.clone();
        endpoint.api_key_env = judge.api_key_variable().to_owned();
        let pair = |pair: &NameValue| (pair.name.clone(), pair.value.clone());
        endpoint.headers = judge.headers.iter().map(pair).collect();
        endpoint.query.extend(judge.query.iter().map(pair));
        let first_byte = limits.first_byte_timeout.map(|time| *time);
        endpoint.timeouts = Timeouts { total: *limits.timeout, first_byte, ..endpoint.timeouts };
        Ok(endpoint)
    };
    if judge.base_url.is_empty() {
        return Ok(vec![endpoint(&OPENAI_BASE_URL.to_owned())?]);
    }
    judge.base_url.iter().map(endpoint).collect()
}

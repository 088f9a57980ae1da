//! The servers of one judge: which are reachable, and what they serve.
//!
//! Every address is asked; the reports must name one model; what they say is compared with the last
//! run's and remembered; then a pool is built of them.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{join_all, select_ok};
use serde_json::Value;
use tokio::time::timeout;

use super::Notify;
use super::cache::Cache;
use super::capacity::Capacity;
use super::chat::Chat;
use super::endpoint::Endpoint;
use super::identity::{
    ServerIdentity, ServerReport, check_same_model, earlier_judge_id, judge_id, report_of,
    stated_model, wait_for_server,
};
use super::layers::identity_checked::{ExpectedIdentity, IdentityChecked};
use super::layers::pool::{Pool, Replica};
use super::layers::rate_limited::RateLimited;
use super::meters::Meters;
use super::options::{JudgeOptions, LimitOptions, Streaming};
use scholareval_core::domain::{ModelEnd, Severity};
use scholareval_core::error::{Error, Result};

/// A judge on all of its servers, each with separate limits.
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
            wait(&endpoints, judge, notify).await?;
        }
        let model = judge.model.as_deref();
        let reports = join_all(endpoints.iter().map(|endpoint| report_of(endpoint, model))).await;
        let mut each = Vec::new();
        for (endpoint, report) in endpoints.into_iter().zip(reports) {
            each.push(Server {
                endpoint,
                report: report?,
            });
        }
        let must_agree = judge.cache_id.is_none();
        let there: Vec<(&Endpoint, &ServerReport)> = each
            .iter()
            .filter_map(|server| Some((&server.endpoint, server.report.as_ref().ok()?)))
            .collect();
        let (model, served) = match there.first() {
            Some((_, first)) => (first.model.clone(), first.identity.clone()),
            None => last_report(judge, cache, &each)?
                .ok_or_else(|| Error::JudgeUnavailable(unreachable(&each).unwrap_or_default()))?,
        };
        if must_agree {
            check_same_model(&there)?;
        }
        if let Some(cache) = cache {
            remember(cache, judge, &there, notify)?;
        }
        let each = streaming(limits.stream, each);
        let servers = Self {
            model,
            served,
            each,
            must_agree,
        };
        servers.note_absent(notify);
        Ok(servers)
    }

    /// Every server, unreachable ones included.
    pub fn endpoints(&self) -> impl ExactSizeIterator<Item = &Endpoint> {
        self.each.iter().map(|server| &server.endpoint)
    }

    /// Why no server can be used; `None` if one can.
    pub fn offline(&self) -> Option<String> {
        unreachable(&self.each)
    }

    /// The address of the first reachable server, else of the first; secrets masked.
    pub fn first_url(&self) -> Option<String> {
        let there = self.each.iter().find(|server| server.report.is_ok());
        there
            .or(self.each.first())
            .map(|server| server.endpoint.masked_url())
    }

    /// All addresses, secrets masked.
    pub fn urls(&self) -> String {
        self.endpoints()
            .map(Endpoint::masked_url)
            .collect::<Vec<_>>()
            .join(",")
    }

    /// The shortest context of any server, since an answer may go to each, and that server. Unknown if none is reachable,
    /// and for public services.
    pub fn capacity(&self) -> Option<(Capacity, &Endpoint)> {
        let reported = self.each.iter().filter_map(|server| {
            let report = server.report.as_ref().ok()?;
            Some((report.capacity?, &server.endpoint))
        });
        reported.min_by_key(|(capacity, _)| capacity.context_tokens)
    }

    /// Whether all reachable servers are of llama.cpp, which keeps to a reply schema.
    pub(super) fn keep_to_schema(&self) -> bool {
        let mut reports = self.each.iter().flat_map(|server| &server.report);
        self.offline().is_none() && reports.all(|report| report.llama_cpp_slots.is_some())
    }

    /// What the model's service states about it. Lists that were read already say it; a public service is asked
    /// now, so that only a run with calls to make asks; without a key it would not answer.
    pub(super) async fn stated(&self) -> (Option<ModelEnd>, Arc<Value>) {
        let reports = self.each.iter().map(|server| server.report.as_ref());
        let mut reports = reports.flatten();
        let listed = reports.find(|report| report.end.is_some() || !report.capabilities.is_null());
        let mut endpoints = self.endpoints();
        let service =
            endpoints.find(|endpoint| endpoint.service().is_some() && endpoint.api_key.is_some());
        let report = match (listed, service) {
            (Some(report), _) => Some(report.clone()),
            (None, Some(service)) => stated_model(service, &self.model).await,
            (None, None) => None,
        };
        report.map_or_else(Default::default, |report| (report.end, report.capabilities))
    }

    /// A judge on all servers, or on the one with this index. Unreachable ones are probed again during the run.
    ///
    /// # Errors
    /// When no HTTP client can be set up.
    pub(super) fn fleet(
        &self,
        limits: &LimitOptions,
        meters: &Arc<Meters>,
        only: Option<usize>,
    ) -> Result<Fleet> {
        let mut replicas = Vec::new();
        for (at, server) in self.each.iter().enumerate() {
            if only.is_none_or(|only| only == at) {
                replicas.push(self.replica(server, limits, meters)?);
            }
        }
        Pool::new(replicas)
    }

    /// One server with its limits, checked to serve the judge's model.
    fn replica(
        &self,
        server: &Server,
        limits: &LimitOptions,
        meters: &Arc<Meters>,
    ) -> Result<Replica<RateLimited<IdentityChecked<Chat>>>> {
        let chat = Chat::new(server.endpoint.clone(), Arc::clone(meters))?;
        // A single unreachable server is called anyway: its error says more than a probe.
        let is_checked = self.must_agree && (self.each.len() > 1 || server.report.is_ok());
        let expected = is_checked.then(|| ExpectedIdentity {
            endpoint: server.endpoint.clone(),
            model: self.model.clone(),
            identity: self.served.clone(),
            is_known: server.report.is_ok(),
        });
        // If no server is reachable, all are called: none is left out for a better one.
        let unreachable = match &server.report {
            Err(error) if self.offline().is_none() => Some(error.to_string()),
            _ => None,
        };
        let report = server.report.as_ref().ok();
        let slots = report.and_then(|report| report.llama_cpp_slots);
        Ok(Replica {
            name: server.endpoint.masked_url(),
            concurrency: limits.concurrency.get(),
            judge: RateLimited::new(IdentityChecked::new(chat, expected), limits).with_slots(slots),
            unreachable,
        })
    }

    fn note_absent(&self, notify: &Notify) {
        if self.offline().is_some() {
            let what = "is unreachable; cached replies are used for the model that it served last";
            return notify(Severity::Info, &format!("{} {what}", self.urls()));
        }
        for server in &self.each {
            if let Err(error) = &server.report {
                let what = "the other servers take its answers until it reports the same model";
                notify(
                    Severity::Warning,
                    &format!(
                        "{} is left out ({error}); {what}",
                        server.endpoint.masked_url()
                    ),
                );
            }
        }
    }
}

/// Why no server can be used; `None` if one can.
fn unreachable(each: &[Server]) -> Option<String> {
    let errors = each
        .iter()
        .map(|server| server.report.as_ref().err().map(ToString::to_string));
    errors
        .collect::<Option<Vec<_>>>()
        .map(|errors| errors.join("; "))
}

/// Streams replies if the server stops when its client disconnects, so that an abandoned call (a time-out, a stopped
/// run) costs it nothing. Unreachable servers are assumed to be like the others.
fn streaming(stream: Streaming, mut each: Vec<Server>) -> Vec<Server> {
    let others = each.iter().find_map(stops_when_left).unwrap_or(false);
    for server in &mut each {
        server.endpoint.stream = match stream {
            Streaming::On => true,
            Streaming::Off => false,
            Streaming::Auto => stops_when_left(server).unwrap_or(others),
        };
    }
    each
}

/// Whether the server stops when its client disconnects, as those do that report their capacity; unknown of an unreachable one.
fn stops_when_left(server: &Server) -> Option<bool> {
    let report = server.report.as_ref().ok()?;
    Some(report.capacity.is_some())
}

/// Model and identity that a server reported.
type Reported = (String, ServerIdentity);

/// The cache's name for the report of a server.
fn place(endpoint: &Endpoint, judge: &JudgeOptions) -> String {
    format!(
        "judge {} {}",
        endpoint.masked_url(),
        judge.model.as_deref().unwrap_or("*")
    )
}

/// Reports of earlier runs by their place in the cache, the last one first: a finished run can be repeated while no server
/// is running, and a changed model is noticed.
fn earlier_reports(cache: &Cache) -> Result<Vec<(String, Reported)>> {
    let mut reports = Vec::new();
    for (place, report) in cache.servers()? {
        // A report of another version of the program is none.
        if let Ok(report) = serde_json::from_str(&report) {
            reports.push((place, report));
        }
    }
    Ok(reports)
}

/// What one of the servers reported at an earlier run; a judge with a name in the cache needs no more for its keys.
fn last_report(
    judge: &JudgeOptions,
    cache: Option<&Cache>,
    each: &[Server],
) -> Result<Option<Reported>> {
    let earlier = cache.map(earlier_reports).transpose()?.unwrap_or_default();
    for server in each {
        let place = place(&server.endpoint, judge);
        if let Some((_, report)) = earlier.iter().find(|(known, _)| *known == place) {
            return Ok(Some(report.clone()));
        }
    }
    match &judge.model {
        Some(model) if judge.cache_id.is_some() => {
            Ok(Some((model.clone(), ServerIdentity::default())))
        }
        _ => Ok(None),
    }
}

/// Compares the reports with those of earlier runs, and stores them.
fn remember(
    cache: &Cache,
    judge: &JudgeOptions,
    there: &[(&Endpoint, &ServerReport)],
    notify: &Notify,
) -> Result<()> {
    let earlier = earlier_reports(cache)?;
    // A server that reports less than at the last run, and nothing different, has a temporary problem: its replies would
    // be stored under another identity, and every cached call would be paid again.
    for (endpoint, report) in there.iter().filter(|_| judge.cache_id.is_none()) {
        let place = place(endpoint, judge);
        if let Some((_, (model, before))) = earlier.iter().find(|(known, _)| *known == place)
            && report.identity.says_less_than(before)
        {
            return Err(Error::JudgeUnavailable(format!(
                "the server reports less about its model than at the last run ({}); try again, or give the model a fixed \
                 name in the cache with --cache-id NAME",
                judge_id(model, None, before)
            )));
        }
    }
    // A model of that name at whatever address.
    if let Some((
        _,
        ServerReport {
            model, identity, ..
        },
    )) = there.first()
        && let Some((_, (_, before))) = earlier.iter().find(|(_, (known, _))| known == model)
    {
        // A report of an earlier version may miss the size: its replies are still found.
        let is_known = earlier_judge_id(model, before) == earlier_judge_id(model, identity);
        let [before, now] = [before, identity].map(|identity| judge_id(model, None, identity));
        let used = match &judge.cache_id {
            Some(id) => format!("its replies still count as those of --cache-id {id:?}"),
            None => "cached replies of the earlier model are not used".to_owned(),
        };
        if before != now && !is_known {
            let line = format!(
                "{model} is another model than at the last run: before {before}, now {now}; {used}"
            );
            notify(Severity::Warning, &line);
        }
    }
    there.iter().try_for_each(|(endpoint, report)| {
        let report =
            serde_json::to_string(&(&report.model, &report.identity)).map_err(|error| {
                Error::Internal(format!("cannot write a server's report as JSON: {error}"))
            })?;
        cache.remember_server(&place(endpoint, judge), &report)
    })
}

/// Waits for all servers concurrently; once one is ready, the others get a little longer.
async fn wait(endpoints: &[Endpoint], judge: &JudgeOptions, notify: &Notify) -> Result<()> {
    let waits = endpoints
        .iter()
        .map(|endpoint| Box::pin(wait_for_one(endpoint, judge, notify)));
    let ((), others) = select_ok(waits).await?;
    // The result does not matter: servers that are not ready are left out.
    let _ = timeout(FOR_THE_OTHERS, join_all(others)).await;
    Ok(())
}

async fn wait_for_one(endpoint: &Endpoint, judge: &JudgeOptions, notify: &Notify) -> Result<()> {
    let mut last = Duration::ZERO;
    let url = endpoint.masked_url();
    wait_for_server(
        endpoint,
        judge.model.as_deref(),
        *judge.wait_server,
        |elapsed, state| {
            if last.is_zero() || elapsed >= last + Duration::from_secs(30) {
                last = elapsed.max(Duration::from_millis(1));
                notify(
                    Severity::Info,
                    &format!("waiting for {url}: {state} ({} s)", elapsed.as_secs()),
                );
            }
        },
    )
    .await
}

fn endpoints(judge: &JudgeOptions, limits: &LimitOptions) -> Result<Vec<Endpoint>> {
    let mut endpoints = Vec::new();
    for url in judge.addresses() {
        let mut endpoint = Endpoint::of(&url, judge.kind().protocol_at(&url))?;
        // The key of a service is not sent to an address that nobody named it for.
        if !judge.withheld_from.contains(&url) {
            endpoint.api_key.clone_from(&judge.api_key);
        }
        endpoint.api_key_env = judge.api_key_variable().to_owned();
        endpoint.headers.clone_from(&judge.headers);
        endpoint.secret_headers.clone_from(&judge.secret_headers);
        endpoint.timeouts.total = *limits.timeout;
        endpoints.push(endpoint);
    }
    Ok(endpoints)
}

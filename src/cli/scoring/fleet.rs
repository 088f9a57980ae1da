//! The servers of one judge: who is there, who they say they are, and how they were asked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::json;

use crate::cli::origin::escape_controls;
use crate::cli::progress::grouped;
use crate::cli::settings::{JudgeSettings, Streaming};
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::judge::cache::Cache;
use crate::judge::capacity::Capacity;
use crate::judge::chat::Chat;
use crate::judge::endpoint::{Endpoint, Timeouts};
use crate::judge::endpoint_kind::EndpointKind;
use crate::judge::identity::{ServerIdentity, ServerReport, ask_server, judge_id, wait_for_server};
use crate::judge::layers::pool::{Pool, Replica};
use crate::judge::layers::rate_limited::{Limits, RateLimited};
use crate::judge::layers::vouched::{Vouch, Vouched};
use crate::judge::meters::Meters;
use crate::judge::same_model::{Served, check_same_model};
use crate::report::EndpointUse;

/// A judge at all of its servers, each within limits of its own.
pub(super) type Fleet = Pool<RateLimited<Vouched<Chat>>>;

/// One server of a judge.
pub(super) struct Server {
    pub(super) endpoint: Endpoint,
    /// What it told; else why it could not be asked.
    report: Result<ServerReport>,
}

/// All servers of a judge, and what they serve.
pub(super) struct Servers {
    /// The model that is asked.
    pub(super) model: String,
    /// What is behind it.
    pub(super) served: ServerIdentity,
    each: Vec<Server>,
    /// True if they were compared, and so have to go on serving the same.
    are_compared: bool,
}

impl Servers {
    /// Asks every server who it is. Those that cannot be asked are left out for now, which is told; where none can be, what
    /// one of them said the last time counts.
    ///
    /// # Errors
    /// [`Error::Settings`] where they serve different models; [`Error::JudgeUnavailable`] where none is there, and nothing is
    /// known of any from an earlier run.
    pub(super) async fn ask(judge: &JudgeSettings, cache: Option<&Cache>) -> Result<Self> {
        let endpoints = endpoints(judge)?;
        if let Some(limit) = judge.wait_server {
            wait(&endpoints, limit).await?;
        }
        let model = judge.model.as_deref();
        let reports = join_all(endpoints.iter().map(|endpoint| report(endpoint, model))).await;
        let each: Vec<Server> = endpoints
            .into_iter()
            .zip(reports)
            .map(|(endpoint, report)| Ok(Server { endpoint, report: report? }))
            .collect::<Result<_>>()?;
        let are_compared = each.len() > 1 && judge.cache_id.is_none();
        let there: Vec<(&Endpoint, &ServerReport)> =
            each.iter().filter_map(|server| Some((&server.endpoint, server.report.as_ref().ok()?))).collect();
        let (model, served) = match there.first() {
            Some((_, first)) => (first.model.clone(), first.identity.clone()),
            None => match last_said(judge, cache, &each)? {
                Some(last) => last,
                None => return Err(nobody(each)),
            },
        };
        if are_compared {
            check_all(&there)?;
        }
        if let Some(cache) = cache {
            remember(cache, judge, &there)?;
        }
        let each = streaming(judge.stream, each);
        let servers = Self { model, served, each, are_compared };
        servers.tell_absent();
        Ok(servers)
    }

    /// Every server, those that are not there among them.
    pub(super) fn endpoints(&self) -> impl ExactSizeIterator<Item = &Endpoint> {
        self.each.iter().map(|server| &server.endpoint)
    }

    /// Why no server can be asked; `None` where one can.
    pub(super) fn offline(&self) -> Option<String> {
        let words = self.each.iter().map(|server| server.report.as_ref().err().map(ToString::to_string));
        words.collect::<Option<Vec<_>>>().map(|words| words.join("; "))
    }

    /// The address of the first server that is there, else of the first; secrets masked.
    pub(super) fn first_url(&self) -> Option<String> {
        let there = self.each.iter().find(|server| server.report.is_ok());
        there.or(self.each.first()).map(|server| server.endpoint.masked_url())
    }

    /// All addresses, secrets masked.
    pub(super) fn urls(&self) -> String {
        self.endpoints().map(Endpoint::masked_url).collect::<Vec<_>>().join(",")
    }

    /// How much the model takes, and who can count tokens: of the server with the shortest context, since an answer may be
    /// asked at any. Nothing is known where none is there, and OpenAI does not say.
    pub(super) fn capacity(&self) -> (Capacity, Option<&Endpoint>) {
        let told = self.each.iter().filter_map(|server| {
            let capacity = server.report.as_ref().ok()?.capacity;
            Some((capacity.context_tokens?, capacity, &server.endpoint))
        });
        told.min_by_key(|(tokens, ..)| *tokens)
            .map_or((Capacity::default(), None), |(_, capacity, endpoint)| (capacity, Some(endpoint)))
    }

    /// A judge at all of them. Those that are not there are looked at again during the run.
    ///
    /// # Errors
    /// When no HTTP client can be set up.
    pub(super) fn fleet(&self, kind: EndpointKind, limits: Limits, meters: &Arc<Meters>) -> Result<Fleet> {
        let replica = |server: &Server| {
            let chat = Chat::new(server.endpoint.clone(), Arc::clone(meters))?.through(kind);
            let (name, heard) = (server.endpoint.masked_url(), chat.server_limits());
            let vouch = self.are_compared.then(|| Vouch {
                endpoint: server.endpoint.clone(),
                model: self.model.clone(),
                identity: self.served.clone(),
                is_known: server.report.is_ok(),
            });
            let limited = RateLimited::new(Vouched::new(chat, vouch), limits, Arc::clone(meters));
            Ok(Replica { name, judge: limited.learning_from(heard) })
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

    fn tell_absent(&self) {
        if self.offline().is_some() {
            terminal::note(&format!(
                "note: {} cannot be asked now; its replies are taken from the cache under what it last said it serves",
                self.urls()
            ));
            return;
        }
        for server in &self.each {
            if let Err(error) = &server.report {
                terminal::note(&escape_controls(&format!(
                    "warning: {} is left out ({error}); the others take its answers until it is there and says that it \
                     serves the same model",
                    server.endpoint.masked_url()
                )));
            }
        }
    }
}

/// What the server tells; the inner error is for one that cannot be asked now.
async fn report(endpoint: &Endpoint, model: Option<&str>) -> Result<Result<ServerReport>> {
    if !endpoint.is_openai()
        && let Err(error) = wait_for_server(endpoint, Duration::ZERO, |_, _| ()).await
    {
        return Ok(Err(error));
    }
    ask_server(endpoint, model).await.map(Ok)
}

fn check_all(there: &[(&Endpoint, &ServerReport)]) -> Result<()> {
    let urls: Vec<String> = there.iter().map(|(endpoint, _)| endpoint.masked_url()).collect();
    let served = there.iter().zip(&urls);
    let served =
        served.map(|((_, report), endpoint)| Served { endpoint, model: &report.model, identity: &report.identity });
    check_same_model(&served.collect::<Vec<_>>())
}

/// The error where nobody is there and nothing is known.
fn nobody(each: Vec<Server>) -> Error {
    let mut errors: Vec<Error> = each.into_iter().filter_map(|server| server.report.err()).collect();
    match errors.len() {
        1 => errors.remove(0),
        _ => Error::JudgeUnavailable(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    }
}

/// Where a server stops when nobody reads any more, its replies are read as streams: a call that is given up (a time-out, a
/// stopped run) then costs it nothing. What is not there is taken to be as the others are.
fn streaming(stream: Streaming, mut each: Vec<Server>) -> Vec<Server> {
    let stops = |server: &Server| server.report.as_ref().ok().map(|report| report.capacity.tokenizer.is_some());
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

/// Under which name the cache keeps what a server said.
fn place(endpoint: &Endpoint, judge: &JudgeSettings) -> String {
    format!("judge {} {}", endpoint.masked_url(), judge.model.as_deref().unwrap_or("*"))
}

/// What one of the servers said at an earlier run; where the judge has a name in the cache, that is all its keys need.
fn last_said(
    judge: &JudgeSettings,
    cache: Option<&Cache>,
    each: &[Server],
) -> Result<Option<(String, ServerIdentity)>> {
    for server in each {
        let kept = cache.map(|cache| cache.recall_server(&place(&server.endpoint, judge))).transpose()?.flatten();
        if let Some(last) = kept.as_deref().and_then(remembered) {
            return Ok(Some(last));
        }
    }
    Ok(match (&judge.cache_id, &judge.model) {
        (Some(_), Some(model)) => Some((model.clone(), ServerIdentity::default())),
        _ => None,
    })
}

/// Compares what the servers say with what they said at earlier runs, and keeps it.
fn remember(cache: &Cache, judge: &JudgeSettings, there: &[(&Endpoint, &ServerReport)]) -> Result<()> {
    for (endpoint, report) in there {
        refuse_silence(cache, &place(endpoint, judge), judge, &report.identity)?;
    }
    if let Some((_, report)) = there.first() {
        tell_change(cache, judge, report)?;
    }
    for (endpoint, report) in there {
        cache.remember_server(&place(endpoint, judge), &said(report))?;
    }
    Ok(())
}

/// Model and identity as they are kept in the cache.
fn said(report: &ServerReport) -> String {
    let ServerIdentity { served, root, model_path } = &report.identity;
    json!([report.model, served, root, model_path]).to_string()
}

/// Reads what [`said`] wrote.
fn remembered(identity: &str) -> Option<(String, ServerIdentity)> {
    let [model, served, root, model_path] = serde_json::from_str::<[Option<String>; 4]>(identity).ok()?;
    Some((model?, ServerIdentity { served, root, model_path }))
}

/// A server that told more about itself at the last run, and nothing else now, has a bad moment: its replies would be
/// filed under another identity, and everything that is already paid would be paid again.
fn refuse_silence(cache: &Cache, key: &str, judge: &JudgeSettings, served: &ServerIdentity) -> Result<()> {
    if judge.cache_id.is_some() {
        return Ok(());
    }
    match cache.recall_server(key)?.and_then(|identity| remembered(&identity)) {
        Some((model, before)) if served.says_less_than(&before) => Err(Error::JudgeUnavailable(format!(
            "the server says less of what it serves than at the last run ({}); try again, or give the model a fixed \
             name in the cache with --cache-id NAME",
            judge_id(&model, None, &before)
        ))),
        _ => Ok(()),
    }
}

/// Says so when a model of that name is another one than at the last run with this cache, at whatever address.
fn tell_change(cache: &Cache, judge: &JudgeSettings, report: &ServerReport) -> Result<()> {
    let ServerReport { model, identity: served, .. } = report;
    let known = cache.servers()?.into_iter().filter_map(|(_, identity)| remembered(&identity));
    let Some((_, before)) = known
        .into_iter()
        .find(|(of, _)| of == model)
        .filter(|(_, before)| judge_id(model, None, before) != judge_id(model, None, served))
    else {
        return Ok(());
    };
    let used = match &judge.cache_id {
        Some(id) => format!("its replies count as those of cache id {id:?} all the same"),
        None => "replies kept from the model before are not used".to_owned(),
    };
    let (before, now) = (judge_id(model, None, &before), judge_id(model, None, served));
    let line = format!("warning: {model} is another model than at the last run: before {before}, now {now}; {used}");
    terminal::note(&line);
    Ok(())
}

/// Waits for all of them side by side; one that is there in time is enough.
async fn wait(endpoints: &[Endpoint], limit: Duration) -> Result<()> {
    let waits = join_all(endpoints.iter().map(|endpoint| wait_for_one(endpoint, limit))).await;
    if waits.iter().any(Result::is_ok) { Ok(()) } else { waits.into_iter().collect() }
}

async fn wait_for_one(endpoint: &Endpoint, limit: Duration) -> Result<()> {
    let mut told = Duration::ZERO;
    let url = endpoint.masked_url();
    wait_for_server(endpoint, limit, |elapsed, state| {
        if told.is_zero() || elapsed >= told + Duration::from_secs(30) {
            told = elapsed.max(Duration::from_millis(1));
            terminal::note(&format!("waiting for {url}: {state} ({} s)", elapsed.as_secs()));
        }
    })
    .await
}

fn endpoints(judge: &JudgeSettings) -> Result<Vec<Endpoint>> {
    let endpoint = |url: &String| {
        let mut endpoint = Endpoint::new(url)?;
        endpoint.api_key = judge.api_key.clone();
        endpoint.api_key_env = judge.api_key_env.clone();
        endpoint.headers.clone_from(&judge.headers);
        endpoint.query.extend(judge.query.iter().cloned());
        endpoint.timeouts =
            Timeouts { total: judge.timeout, first_byte: judge.first_byte_timeout, ..endpoint.timeouts };
        Ok(endpoint)
    };
    judge.base_urls.iter().map(endpoint).collect()
}

/// The endpoints that a run asks, by the names of their judges.
#[derive(Clone, Default)]
pub(in crate::cli) struct Endpoints(Vec<(String, Arc<Fleet>)>);

impl Endpoints {
    pub(super) fn add(&mut self, judge: &str, fleet: Arc<Fleet>) {
        self.0.push((judge.to_owned(), fleet));
    }

    /// How many there are, and how many of them are down.
    pub(in crate::cli) fn down(&self) -> (usize, usize) {
        let each = self.0.iter().map(|(_, fleet)| fleet.down());
        each.fold((0, 0), |(all, down), (more, more_down)| (all + more, down + more_down))
    }

    /// What each of them did so far, of the judges that were asked at all.
    pub(in crate::cli) fn stats(&self) -> Vec<EndpointUse> {
        let of_judge = |(judge, fleet): &(String, Arc<Fleet>)| {
            let stats = fleet.stats();
            let was_asked = stats.iter().any(|stats| stats.calls > 0);
            let uses = stats.into_iter().map(|stats| EndpointUse { judge: judge.clone(), stats });
            if was_asked { uses.collect() } else { Vec::new() }
        };
        self.0.iter().flat_map(of_judge).collect()
    }
}

impl fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoints").field(&self.down()).finish()
    }
}

/// What is told of an endpoint at the end of a run.
pub(in crate::cli) fn endpoint_line(endpoint: &EndpointUse) -> String {
    let stats = &endpoint.stats;
    let mut text = format!("endpoint {} of {}: {} calls", stats.name, endpoint.judge, grouped(stats.calls));
    match (stats.errors, stats.throttled) {
        (0, _) => {}
        (errors, 0) => text.push_str(&format!(", {} errors", grouped(errors))),
        (errors, throttled) => {
            text.push_str(&format!(", {} errors ({} times 429 or 503)", grouped(errors), grouped(throttled)));
        }
    }
    if let (Some(p50), Some(p95)) = (stats.latency_p50_ms, stats.latency_p95_ms) {
        text.push_str(&format!(", latency p50 {} ms, p95 {} ms", grouped(p50 as u64), grouped(p95 as u64)));
    }
    if let Some(share) = stats.cached_share() {
        let (all, cached) = (grouped(stats.prompt_tokens), grouped(stats.cached_prompt_tokens));
        text.push_str(&format!(", {all} prompt tokens, {cached} ({:.0}%) from its prefix cache", 100.0 * share));
    }
    if stats.is_down {
        text.push_str(&format!("; down at the end: {}", stats.last_failure.as_deref().unwrap_or("it fails")));
    }
    escape_controls(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::EndpointStats;

    #[test]
    fn a_line_says_what_an_endpoint_did_and_leaves_out_what_did_not_happen() {
        let calm = EndpointStats {
            name: "http://gpu1:8000/v1".into(),
            calls: 1234,
            replies: 1234,
            latency_p50_ms: Some(812.0),
            latency_p95_ms: Some(2310.5),
            prompt_tokens: 4000,
            cached_prompt_tokens: 3000,
            ..EndpointStats::default()
        };
        let line = |stats| endpoint_line(&EndpointUse { judge: "judge".into(), stats });
        assert_eq!(
            line(calm.clone()),
            "endpoint http://gpu1:8000/v1 of judge: 1,234 calls, latency p50 812 ms, p95 2,310 ms, 4,000 prompt tokens, \
             3,000 (75%) from its prefix cache"
        );
        let down = EndpointStats {
            name: "u".into(),
            calls: 5,
            errors: 5,
            throttled: 2,
            is_down: true,
            last_failure: Some("cannot\u{1b}connect".into()),
            ..EndpointStats::default()
        };
        assert_eq!(
            line(down),
            "endpoint u of judge: 5 calls, 5 errors (2 times 429 or 503); down at the end: cannot\\u{1b}connect"
        );
    }

    #[test]
    fn what_a_server_said_is_read_back() {
        let identity = ServerIdentity { served: Some("m".into()), root: None, model_path: Some("/x|y".into()) };
        let report = ServerReport { model: "m".into(), identity: identity.clone(), ..ServerReport::default() };
        assert_eq!(remembered(&said(&report)), Some(("m".to_owned(), identity)));
    }
}

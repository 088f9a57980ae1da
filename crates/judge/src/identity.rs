//! Identity of the model on a server, and whether the server is reachable.
//!
//! The judge's identity is part of every cache key, so that another model under the same name gets other keys. It is
//! requested once, at the start, with short time-outs; a server that reports nothing is not an error.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::capacity::{Capacity, slots_of_llama_cpp};
use super::chat::transport::{PROBE_LIMIT, Transport, TransportFault};
use super::chat::{key_refused, no_server};
use super::endpoint::Endpoint;
use super::protocol::ListedModel;
use scholareval_core::domain::ModelEnd;
use scholareval_core::error::{Error, Result};
use scholareval_core::text::names::without_directories;

/// Time between two probes of a server that is loading: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Model names listed in a message.
const NAMES_SHOWN: usize = 12;

/// The server's report on itself; `None` for what it does not report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerIdentity {
    /// The id under which `GET /v1/models` lists the requested model (or its only model).
    pub served: Option<String>,
    /// vLLM: the weights behind that id (`root`).
    pub root: Option<String>,
    /// llama.cpp: the model file (`GET /props`, `model_path`).
    pub model_path: Option<String>,
    /// llama.cpp: the bytes of the model's tensors (`meta.size`).
    #[serde(default)]
    pub size: Option<u64>,
    /// llama.cpp: the number of its parameters (`meta.n_params`).
    #[serde(default)]
    pub parameters: Option<u64>,
}

impl ServerIdentity {
    /// The same without directories, which say where a model lies and not which one it is, and may name a user.
    #[must_use]
    pub fn reduced(&self) -> Self {
        let served = self.served.as_deref().map(without_directories);
        let root = self.root.as_deref().map(without_directories);
        let path = self.model_path.as_deref().map(without_directories);
        Self {
            served: served.map(str::to_owned),
            root: root.map(str::to_owned),
            model_path: path.filter(|_| path != served).map(str::to_owned),
            ..*self
        }
    }

    fn parts(&self) -> [(&'static str, Option<String>); 5] {
        [
            ("served", self.served.clone()),
            ("root", self.root.clone()),
            ("path", self.model_path.clone()),
            ("size", self.size.map(|bytes| bytes.to_string())),
            ("params", self.parameters.map(|count| count.to_string())),
        ]
    }

    /// Whether both report the same model, wherever its files lie.
    pub fn is_same_model(&self, other: &Self) -> bool {
        self.reduced() == other.reduced()
    }

    /// True if this reports the same as `before`, except for missing parts: a server with a temporary problem, not
    /// another model.
    pub fn says_less_than(&self, before: &Self) -> bool {
        let (now, before) = (self.reduced(), before.reduced());
        let mut parts = now.parts().into_iter().zip(before.parts());
        now != before && parts.all(|((_, now), (_, before))| now.is_none() || now == before)
    }
}

/// A server's report before the first call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerReport {
    /// The model name for requests.
    pub model: String,
    /// Its identity.
    pub identity: ServerIdentity,
    /// The maximum prompt length; `None` if the server does not report it.
    pub capacity: Option<Capacity>,
    /// What its list of models states about the model's end.
    pub end: Option<ModelEnd>,
    /// How many calls it works on at once; `None` unless it is a server of llama.cpp.
    pub llama_cpp_slots: Option<usize>,
    /// What its list of models states about the model's parameters; null for nothing.
    pub capabilities: Arc<Value>,
}

/// The judge's identity, part of every cache key: `cache_id` if the user gives one, else the model's name and the
/// server's report, as `smollm2|served=..|root=..|path=..|size=..|params=..`; of paths the last component, unknown and
/// redundant parts are left out.
pub fn judge_id(model: &str, cache_id: Option<&str>, server: &ServerIdentity) -> String {
    match cache_id {
        Some(cache_id) => cache_id.to_owned(),
        None => described(without_directories(model), &server.reduced()),
    }
}

/// The identity that earlier versions gave the judge: with whole paths, without the size. Its replies are still found.
pub fn earlier_judge_id(model: &str, server: &ServerIdentity) -> String {
    let mut server = server.clone();
    (server.size, server.parameters) = (None, None);
    described(model, &server)
}

fn described(model: &str, server: &ServerIdentity) -> String {
    let mut id = without_bars(model);
    for (name, value) in server.parts() {
        let is_redundant = match name {
            "served" => value.as_deref() == Some(model),
            "root" => value == server.served,
            _ => false,
        };
        if let Some(value) = value.filter(|_| !is_redundant) {
            id.push_str(&format!("|{name}={}", without_bars(&value)));
        }
    }
    id
}

/// A name that cannot forge a part of an identity.
fn without_bars(name: &str) -> String {
    name.replace('|', "%7C")
}

/// The model name for requests and the server's report on it, with one request per route. Without a name it is the only
/// listed model. Public services are not asked: their lists do not identify the model behind a name.
///
/// # Errors
/// [`Error::Settings`] if no model is named and the server lists none or several; [`Error::JudgeUnavailable`] if it
/// is not ready, or rejects the key.
pub async fn ask_server(endpoint: &Endpoint, model: Option<&str>) -> Result<ServerReport> {
    let unready =
        |state: String| Error::JudgeUnavailable(no_server(&endpoint.masked_url(), &state));
    look(endpoint, model).await?.map_err(unready)
}

/// The report of a server that answers; the inner error is for one that cannot be used now.
///
/// # Errors
/// As [`ask_server`].
pub(super) async fn report_of(
    endpoint: &Endpoint,
    model: Option<&str>,
) -> Result<Result<ServerReport>> {
    match ask_server(endpoint, model).await {
        Err(error @ Error::JudgeUnavailable(_)) => Ok(Err(error)),
        report => report.map(Ok),
    }
}

/// The server's report; the inner error is the state of one that waiting may help.
///
/// A server is ready when `GET /models` gives anything but a failed connection, 408, 429 or 5xx, and `GET /health`
/// (llama.cpp lists its models while it is still loading them) does not give 503.
async fn look(endpoint: &Endpoint, model: Option<&str>) -> Result<Result<ServerReport, String>> {
    if endpoint.service().is_some() {
        let name =
            model.ok_or_else(|| Error::Settings("no model is named; give --model NAME".into()))?;
        return Ok(Ok(ServerReport {
            model: name.to_owned(),
            ..ServerReport::default()
        }));
    }
    let transport = Transport::new(Arc::new(endpoint.clone()))?;
    let list = match transport.get_json(&endpoint.models_url(), 1).await {
        Ok(list) => list,
        Err(TransportFault::Status { status: 401, .. }) => {
            return Err(Error::JudgeUnavailable(key_refused(endpoint, "status 401")));
        }
        Err(TransportFault::Status {
            status: status @ (408 | 429 | 500..),
            ..
        }) => {
            return Ok(Err(format!("status {status}, still loading?")));
        }
        Err(TransportFault::Connect(why)) => return Ok(Err(why)),
        Err(fault @ TransportFault::PlainHttp { .. }) => {
            return Err(Error::JudgeUnavailable(fault.to_string()));
        }
        Err(fault @ (TransportFault::TimedOut(_) | TransportFault::Broken(_))) => {
            return Ok(Err(fault.to_string()));
        }
        Err(fault) if model.is_none() => {
            let url = endpoint.masked_url();
            let what = format!(
                "no model is named and {url} does not list its models ({fault}); give --model NAME"
            );
            return Err(Error::Settings(what));
        }
        // A server without the route, or with another form of list, can still judge; its identity
        // is then its name alone.
        Err(_) => Value::Null,
    };
    if let Err(TransportFault::Status { status: 503, .. }) = transport
        .get(&endpoint.beside_v1("/health"), PROBE_LIMIT)
        .await
    {
        return Ok(Err("status 503, still loading?".to_owned()));
    }
    let models = endpoint.protocol.models(&list);
    let name = match model {
        Some(name) => name.to_owned(),
        None => only_model(&models, endpoint)?,
    };
    // Again and again: an identity that misses a part would miss the cache.
    let props = transport
        .get_json(&endpoint.beside_v1("/props"), 3)
        .await
        .unwrap_or_default();
    let mut report = report(name, &models, &props);
    report.llama_cpp_slots = slots_of_llama_cpp(&list, &props);
    if report.capacity.is_none() {
        let info = transport
            .get_json(&endpoint.beside_v1("/get_server_info"), 1)
            .await
            .unwrap_or_default();
        report.capacity = Capacity::of_sglang(&info);
    }
    Ok(Ok(report))
}

/// The server's report on that model, by its entry in the list and by `GET /props`; null stands for a missing route.
fn report(model: String, models: &[ListedModel], props: &Value) -> ServerReport {
    let by_name = models.iter().find(|listed| listed.id == model);
    // llama.cpp answers under any name, so the only model in its list is the one that judges.
    let listed = by_name.or_else(|| models.first().filter(|_| models.len() == 1));
    let path = props["model_path"].as_str().filter(|path| !path.is_empty());
    let identity = ServerIdentity {
        served: listed.map(|listed| listed.id.clone()),
        root: listed.and_then(|listed| listed.root.clone()),
        model_path: path.map(str::to_owned),
        size: listed.and_then(|listed| listed.size),
        parameters: listed.and_then(|listed| listed.parameters),
    };
    let capacity = listed.and_then(|listed| listed.capacity);
    ServerReport {
        identity,
        capacity: Capacity::reported(capacity, props),
        end: listed.and_then(|listed| listed.end),
        llama_cpp_slots: None,
        capabilities: listed
            .map(|listed| Arc::clone(&listed.capabilities))
            .unwrap_or_default(),
        model,
    }
}

/// What a public service states about the model, by one request. A service that does not answer in time, or
/// something else, states nothing, which is not worth an error.
pub async fn stated_model(endpoint: &Endpoint, model: &str) -> Option<ServerReport> {
    let url = endpoint.model_url(model)?;
    let transport = Transport::new(Arc::new(endpoint.clone())).ok()?;
    let entry = transport.get_json(&url, 1).await.ok()?;
    // The entry of an alias has the name of the model behind it.
    let listed = endpoint.protocol.models(&entry);
    Some(report(model.to_owned(), &listed, &Value::Null))
}

fn only_model(models: &[ListedModel], endpoint: &Endpoint) -> Result<String> {
    let names: BTreeSet<&str> = models.iter().map(|listed| &*listed.id).collect();
    let what = match names.len() {
        0 => "lists none; give --model NAME".to_owned(),
        1 => return Ok(names.into_iter().collect()),
        count => {
            let shown: Vec<String> = names
                .iter()
                .take(NAMES_SHOWN)
                .map(|name| name.escape_debug().to_string())
                .collect();
            let more = if count > shown.len() { ", .." } else { "" };
            format!(
                "serves several: {}{more}; give --model with one of them",
                shown.join(", ")
            )
        }
    };
    Err(Error::Settings(format!(
        "no model is named and {} {what}",
        endpoint.masked_url()
    )))
}

/// Checks that all endpoints serve the same model as the first: replies are cached under one identity, which does not
/// record the endpoint. Not needed if the user names the judge (`--cache-id`).
///
/// # Errors
/// [`Error::Settings`] with the report of each endpoint.
pub fn check_same_model(endpoints: &[(&Endpoint, &ServerReport)]) -> Result<()> {
    let Some((_, first)) = endpoints.first() else {
        return Ok(());
    };
    if endpoints.iter().all(|(_, report)| {
        report.model == first.model && report.identity.is_same_model(&first.identity)
    }) {
        return Ok(());
    }
    let mut served = Vec::new();
    for (endpoint, report) in endpoints {
        served.push(what_it_serves(endpoint, report));
    }
    Err(Error::Settings(format!(
        "the endpoints serve different models: {}; name only endpoints of one model in --base-url, or if they are the \
         same model, name it with --cache-id NAME",
        served.join("; ")
    )))
}

/// `http://gpu1/v1 serves model "m", served "m", root "/w"`
fn what_it_serves(endpoint: &Endpoint, report: &ServerReport) -> String {
    let mut parts = vec![format!("model {:?}", report.model)];
    for (name, value) in report.identity.reduced().parts() {
        if let Some(value) = value {
            parts.push(format!("{name} {value:?}"));
        }
    }
    format!("{} serves {}", endpoint.masked_url(), parts.join(", "))
}

/// Waits until the server is ready, at most `limit`. `on_tick` is called before every pause with the time waited so far
/// and the server's last state.
///
/// # Errors
/// [`Error::JudgeUnavailable`] on time-out, and as [`ask_server`].
pub async fn wait_for_server(
    endpoint: &Endpoint,
    model: Option<&str>,
    limit: Duration,
    mut on_tick: impl FnMut(Duration, &str) + Send,
) -> Result<()> {
    let started = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let Err(state) = look(endpoint, model).await? else {
            return Ok(());
        };
        let elapsed = started.elapsed();
        let Some(left) = limit.checked_sub(elapsed).filter(|left| !left.is_zero()) else {
            let (url, waited) = (endpoint.masked_url(), limit.as_secs());
            return Err(Error::JudgeUnavailable(format!(
                "no judge answers at {url} after {waited} s ({state}); check its log, or wait longer with --wait-server"
            )));
        };
        on_tick(elapsed, &state);
        sleep(pause.min(left)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned()).filter(|text| !text.is_empty())
    }

    fn identity(served: &str, root: &str, path: &str) -> ServerIdentity {
        ServerIdentity {
            served: some(served),
            root: some(root),
            model_path: some(path),
            ..ServerIdentity::default()
        }
    }

    #[test]
    fn the_identity_names_what_is_behind_the_model() {
        assert_eq!(judge_id("m", None, &ServerIdentity::default()), "m");
        assert_eq!(
            judge_id("m", None, &identity("m", "/w/llama", "")),
            "m|root=llama"
        );
        assert_eq!(
            judge_id("m", None, &identity("m", "m", "/x.gguf")),
            "m|path=x.gguf"
        );
        assert_eq!(
            judge_id("m", None, &identity("other", "", "")),
            "m|served=other"
        );
        assert_eq!(
            judge_id("m", Some("mine"), &identity("m", "/w", "/x")),
            "mine"
        );
    }

    #[test]
    fn an_identity_holds_no_path_and_the_earlier_one_does() {
        let path = "/home/alice/q.gguf";
        let server = ServerIdentity {
            size: Some(270),
            parameters: Some(135),
            ..identity(path, "", path)
        };
        assert_eq!(judge_id(path, None, &server), "q.gguf|size=270|params=135");
        assert_eq!(
            earlier_judge_id(path, &server),
            "/home/alice/q.gguf|path=/home/alice/q.gguf"
        );
        let linked = ServerIdentity {
            model_path: some("/srv/q.gguf"),
            served: some("/srv/q.gguf"),
            ..server.clone()
        };
        assert!(linked.is_same_model(&server));
        let swapped = ServerIdentity {
            size: Some(271),
            ..linked
        };
        assert!(!swapped.is_same_model(&server));
        assert_eq!(
            judge_id("org/m", None, &identity("org/m", "org/m", "")),
            "org/m"
        );
    }

    #[test]
    fn a_missing_part_is_less_and_a_different_part_is_another_model() {
        let before = identity("m", "/w", "");
        assert!(ServerIdentity::default().says_less_than(&before));
        assert!(identity("m", "", "").says_less_than(&before));
        assert!(!before.says_less_than(&before));
        assert!(!identity("m", "/other", "").says_less_than(&before));
        assert!(
            !before.says_less_than(&identity("m", "", "")),
            "more than before"
        );
    }

    #[test]
    fn a_name_cannot_forge_a_part_of_the_identity() {
        let forged = judge_id("m|root=/w", None, &ServerIdentity::default());
        assert_ne!(forged, judge_id("m", None, &identity("m", "/w", "")));
    }

    #[test]
    fn the_only_listed_model_is_taken_and_several_are_named() {
        let endpoint = Endpoint::new("localhost").unwrap();
        let models = |list: Value| only_model(&endpoint.protocol.models(&list), &endpoint);
        assert_eq!(
            models(json!({"data": [{"id": "a"}, {"object": "?"}]})).unwrap(),
            "a"
        );
        let several = models(json!({"data": [{"id": "b"}, {"id": "a"}]}))
            .unwrap_err()
            .to_string();
        assert!(
            several.contains("a, b") && several.contains("--model"),
            "{several}"
        );
        assert!(
            models(json!({"data": []}))
                .unwrap_err()
                .to_string()
                .contains("lists none")
        );
        assert!(models(json!([])).is_err());
    }

    fn check(roots: &[Option<&str>]) -> Result<()> {
        let report = |(n, root): (usize, &Option<&str>)| {
            let endpoint = Endpoint::new(&format!("http://gpu{}/v1", n + 1)).unwrap();
            let identity = identity("m", root.unwrap_or_default(), "");
            (
                endpoint,
                ServerReport {
                    model: "m".into(),
                    identity,
                    ..ServerReport::default()
                },
            )
        };
        let served: Vec<(Endpoint, ServerReport)> = roots.iter().enumerate().map(report).collect();
        check_same_model(
            &served
                .iter()
                .map(|(endpoint, report)| (endpoint, report))
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn equal_identities_pass() {
        check(&[]).unwrap();
        check(&[None]).unwrap();
        check(&[Some("/w"), Some("/w"), Some("/w")]).unwrap();
    }

    #[test]
    fn different_reports_are_listed_by_endpoint() {
        let message = check(&[Some("/w"), Some("/w"), Some("/x"), None])
            .unwrap_err()
            .to_string();
        assert!(
            message.contains(r#"http://gpu1/v1 serves model "m", served "m", root "w"; "#),
            "{message}"
        );
        assert!(
            message.contains(r#"http://gpu3/v1 serves model "m", served "m", root "x"; "#),
            "{message}"
        );
        assert!(
            message.contains(r#"http://gpu4/v1 serves model "m", served "m"; "#),
            "{message}"
        );
        assert!(message.contains("--cache-id"), "{message}");
    }

    #[test]
    fn names_of_models_differ_too() {
        let endpoint = Endpoint::new("localhost").unwrap();
        let [a, b] = ["a", "b"].map(|model| ServerReport {
            model: model.into(),
            ..ServerReport::default()
        });
        let error = check_same_model(&[(&endpoint, &a), (&endpoint, &b)]).unwrap_err();
        assert!(error.to_string().contains(r#"serves model "b""#), "{error}");
    }
}

//! What the server says it serves, and whether it is there at all.
//!
//! The judge's identity goes into every cache key, so that replies of another model under the same name are not
//! taken for this one's. It is asked once, at the start, with short time-outs; a server that does not tell is no error.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::capacity::Capacity;
use super::chat::transport::{Fault, Transport};
use super::chat::{key_refused, no_server};
use super::endpoint::Endpoint;
use crate::error::{Error, Result};

/// A question about the server takes no longer.
const PROBE_LIMIT: Duration = Duration::from_secs(5);
/// Time between two looks at a server that is loading: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How often such a question is asked when it fails in passing.
const PROBES: u32 = 3;
/// Model names listed in a message.
const NAMES_SHOWN: usize = 12;

/// What the server reports about itself; `None` where it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerIdentity {
    /// The id under which `GET /v1/models` lists the model that is asked (or its only model).
    pub served: Option<String>,
    /// vLLM: the weights behind that id (`root`).
    pub root: Option<String>,
    /// llama.cpp: the model file (`GET /props`, `model_path`).
    pub model_path: Option<String>,
}

impl ServerIdentity {
    /// True if this only lacks parts of `before`: what it does tell is the same. So speaks a server that has a bad moment,
    /// and not another model.
    pub fn says_less_than(&self, before: &Self) -> bool {
        let parts =
            [(&self.served, &before.served), (&self.root, &before.root), (&self.model_path, &before.model_path)];
        self != before && parts.into_iter().all(|(now, before)| now.is_none() || now == before)
    }
}

/// Everything that a server tells before the first call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerReport {
    /// The model to ask.
    pub model: String,
    /// What is behind it.
    pub identity: ServerIdentity,
    /// How much it takes.
    pub capacity: Capacity,
}

/// The judge's identity, part of every cache key: `cache_id` where the user gives one, else the model's name and what
/// the server says is behind it, as `smollm2|served=..|root=..|path=..`; what is unknown or says nothing new is left
/// out.
pub fn judge_id(model: &str, cache_id: Option<&str>, server: &ServerIdentity) -> String {
    if let Some(cache_id) = cache_id {
        return cache_id.to_owned();
    }
    // Names cannot forge a part.
    let plain = |name: &str| name.replace('|', "%7C");
    let served = server.served.as_deref().filter(|served| *served != model);
    let root = server.root.as_deref().filter(|root| Some(*root) != server.served.as_deref());
    let parts = [("served", served), ("root", root), ("path", server.model_path.as_deref())];
    let mut id = plain(model);
    for (name, value) in parts {
        if let Some(value) = value {
            id.push_str(&format!("|{name}={}", plain(value)));
        }
    }
    id
}

/// The model to ask and what the server says is behind it: a part of [`ask_server`].
///
/// # Errors
/// As [`ask_server`].
pub async fn identify(endpoint: &Endpoint, model: Option<&str>) -> Result<(String, ServerIdentity)> {
    ask_server(endpoint, model).await.map(|report| (report.model, report.identity))
}

/// The model to ask and what the server says about it and itself, each route asked once. Without a name it is the only
/// model that the server lists. OpenAI's own service is not asked: its list says nothing about what is behind a name.
///
/// # Errors
/// [`Error::Settings`] if no model is named and the server lists none or several; [`Error::JudgeUnavailable`] if it
/// refuses the key.
pub async fn ask_server(endpoint: &Endpoint, model: Option<&str>) -> Result<ServerReport> {
    if endpoint.is_openai() {
        let name = model.ok_or_else(|| Error::Settings("no model is named; give --model NAME".into()))?;
        return Ok(ServerReport { model: name.to_owned(), ..ServerReport::default() });
    }
    let transport = Transport::new(Arc::new(endpoint.clone()))?;
    let list = match get_json(&transport, &format!("{}/models", endpoint.base_url)).await {
        Ok(list) => list,
        Err(Fault::Status { status: 401, .. }) => return Err(refused_key(endpoint)),
        Err(fault) if model.is_none() => {
            let url = endpoint.masked_url();
            let what = format!("no model is named and {url} does not list its models ({fault}); give --model NAME");
            return Err(Error::Settings(what));
        }
        Err(_) => Value::Null,
    };
    let models = listed_models(&list);
    let name = match model {
        Some(name) => name.to_owned(),
        None => only_model(&models, endpoint)?,
    };
    let own = models.iter().find(|listed| listed.id == name);
    let listed = own.or_else(|| models.first().filter(|_| models.len() == 1));
    let props = get_json(&transport, &endpoint.beside_v1("/props")).await.unwrap_or_default();
    let identity = ServerIdentity {
        served: listed.map(|listed| listed.id.clone()),
        root: listed.and_then(|listed| listed.root.clone()),
        model_path: text(&props, "model_path"),
    };
    Ok(ServerReport { capacity: Capacity::told_by(&list, &props, &name), model: name, identity })
}

/// Waits until the server answers, at most `limit` (zero: one look). `on_tick` hears before every pause how long it has
/// been and what the server said last.
///
/// A server is there when `GET /models` gives anything but a failed connection, 408, 429 or 5xx, and `GET /health`
/// (llama.cpp lists its models while it is still loading them) does not give 503.
///
/// # Errors
/// [`Error::JudgeUnavailable`] when the time is over or the key is refused.
pub async fn wait_for_server(
    endpoint: &Endpoint,
    limit: Duration,
    mut on_tick: impl FnMut(Duration, &str) + Send,
) -> Result<()> {
    let transport = Transport::new(Arc::new(endpoint.clone()))?;
    let started = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let Err(state) = look(&transport, endpoint).await? else { return Ok(()) };
        let elapsed = started.elapsed();
        let url = endpoint.masked_url();
        if limit.is_zero() {
            return Err(Error::JudgeUnavailable(no_server(&url, &state)));
        }
        let Some(left) = limit.checked_sub(elapsed).filter(|left| !left.is_zero()) else {
            let waited = limit.as_secs();
            let hint = "look at its log, or give it more time with --wait-server";
            return Err(Error::JudgeUnavailable(format!(
                "no judge answers at {url} after {waited} s ({state}); {hint}"
            )));
        };
        on_tick(elapsed, &state);
        sleep(pause.min(left)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// One look: `Ok(Ok(()))` if the server is there, `Ok(Err(state))` if waiting may help.
async fn look(transport: &Transport, endpoint: &Endpoint) -> Result<Result<(), String>> {
    match transport.get(&format!("{}/models", endpoint.base_url), PROBE_LIMIT).await {
        Err(Fault::Status { status: 401, .. }) => return Err(refused_key(endpoint)),
        Err(Fault::Status { status: status @ (408 | 429 | 500..), .. }) => return Ok(Err(loading(status))),
        Err(Fault::Connect(words)) => return Ok(Err(words)),
        Err(fault @ (Fault::TimedOut(_) | Fault::Broken(_))) => return Ok(Err(fault.to_string())),
        Ok(_) | Err(_) => {}
    }
    if endpoint.is_openai() {
        return Ok(Ok(()));
    }
    match transport.get(&endpoint.beside_v1("/health"), PROBE_LIMIT).await {
        Err(Fault::Status { status: 503, .. }) => Ok(Err(loading(503))),
        _ => Ok(Ok(())),
    }
}

fn loading(status: u16) -> String {
    format!("status {status}, still loading?")
}

fn refused_key(endpoint: &Endpoint) -> Error {
    Error::JudgeUnavailable(key_refused(endpoint, "status 401"))
}

/// One entry of `GET /models`.
#[derive(Debug, PartialEq, Eq)]
struct ListedModel {
    id: String,
    root: Option<String>,
}

fn listed_models(list: &Value) -> Vec<ListedModel> {
    let entries = list.get("data").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let model = |entry| Some(ListedModel { id: text(entry, "id")?, root: text(entry, "root") });
    entries.iter().filter_map(model).collect()
}

fn only_model(models: &[ListedModel], endpoint: &Endpoint) -> Result<String> {
    let names: BTreeSet<&str> = models.iter().map(|model| model.id.as_str()).collect();
    match names.first() {
        Some(name) if names.len() == 1 => Ok((*name).to_owned()),
        None => {
            let url = endpoint.masked_url();
            Err(Error::Settings(format!("no model is named and {url} lists none; give --model NAME")))
        }
        Some(_) => {
            let shown: Vec<String> =
                names.iter().take(NAMES_SHOWN).map(|name| name.escape_debug().to_string()).collect();
            let more = names.len().saturating_sub(NAMES_SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let url = endpoint.masked_url();
            Err(Error::Settings(format!(
                "no model is named and {url} serves several: {}{more}; give --model with one of them",
                shown.join(", ")
            )))
        }
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A JSON document. Passing failures are asked again: an identity that misses a part would miss the cache.
pub(super) async fn get_json(transport: &Transport, url: &str) -> Result<Value, Fault> {
    for _ in 1..PROBES {
        match transport.get(url, PROBE_LIMIT).await {
            Err(Fault::TimedOut(_) | Fault::Broken(_) | Fault::Status { status: 429 | 502..=504, .. }) => {
                sleep(FIRST_PAUSE).await;
            }
            Err(fault) => return Err(fault),
            Ok(body) => return read_json(&body),
        }
    }
    read_json(&transport.get(url, PROBE_LIMIT).await?)
}

fn read_json(body: &[u8]) -> Result<Value, Fault> {
    serde_json::from_slice(body).map_err(|_| Fault::NotJson("no JSON".to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn identity(served: &str, root: &str, path: &str) -> ServerIdentity {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        ServerIdentity { served: some(served), root: some(root), model_path: some(path) }
    }

    #[test]
    fn the_identity_names_what_is_behind_the_model() {
        assert_eq!(judge_id("m", None, &ServerIdentity::default()), "m");
        assert_eq!(judge_id("m", None, &identity("m", "/w/llama", "")), "m|root=/w/llama");
        assert_eq!(judge_id("m", None, &identity("m", "m", "/x.gguf")), "m|path=/x.gguf");
        assert_eq!(judge_id("m", None, &identity("other", "", "")), "m|served=other");
        assert_eq!(judge_id("m", Some("mine"), &identity("m", "/w", "/x")), "mine");
    }

    #[test]
    fn a_lost_part_is_less_and_another_part_is_another_model() {
        let before = identity("m", "/w", "");
        assert!(ServerIdentity::default().says_less_than(&before));
        assert!(identity("m", "", "").says_less_than(&before));
        assert!(!before.says_less_than(&before));
        assert!(!identity("m", "/other", "").says_less_than(&before));
        assert!(!before.says_less_than(&identity("m", "", "")), "more than before");
    }

    #[test]
    fn a_name_cannot_forge_a_part_of_the_identity() {
        let forged = judge_id("m|root=/w", None, &ServerIdentity::default());
        assert_ne!(forged, judge_id("m", None, &identity("m", "/w", "")));
    }

    #[test]
    fn the_only_listed_model_is_taken_and_several_are_named() {
        let endpoint = Endpoint::new("localhost").unwrap();
        let models = |list: Value| only_model(&listed_models(&list), &endpoint);
        assert_eq!(models(json!({"data": [{"id": "a"}, {"object": "?"}]})).unwrap(), "a");
        let several = models(json!({"data": [{"id": "b"}, {"id": "a"}]})).unwrap_err().to_string();
        assert!(several.contains("a, b") && several.contains("--model"), "{several}");
        assert!(models(json!({"data": []})).unwrap_err().to_string().contains("lists none"));
        assert!(models(json!([])).is_err());
    }
}

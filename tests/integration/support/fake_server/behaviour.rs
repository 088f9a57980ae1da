//! What the fake server is told to do, and what it notes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::forms::{FORMS, StreamForm, WireForm};
use super::gate::Gate;

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Recorded {
    pub method: String,
    /// Without the query.
    pub path: String,
    /// What stands after `?`, undecoded; empty if nothing does.
    pub query: String,
    /// In order of arrival; names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Recorded {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The wire form of a call to the judge; `None` for other requests.
    pub fn form(&self) -> Option<&'static WireForm> {
        FORMS.into_iter().find(|form| (form.is_call)(self))
    }

    /// A call to the judge, in any form.
    pub fn is_chat(&self) -> bool {
        self.form().is_some()
    }

    /// The text of the last message, or the raw prompt.
    pub fn user_message(&self) -> String {
        self.form()
            .map(|form| (form.user_message)(&self.json()))
            .unwrap_or_default()
    }

    /// A prompt that asks for claims names the member that holds them.
    pub fn asks_for_claims(&self) -> bool {
        self.text().contains("claim_text")
    }
}

/// What the server does with one chat request.
#[derive(Debug, Clone)]
pub enum Act {
    /// Judges well: see the module.
    Good,
    /// The same, and closes the connection afterwards without having announced it.
    GoodAndClosed,
    /// The same in chunks of a byte each.
    GoodInChunks,
    /// A chat completion with this content.
    Content(String),
    /// Any response; `content-length` and `connection` are added.
    Response {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// Reads the request, then resets the connection.
    ResetBefore,
    /// Sends the head and a part of a body, then resets the connection.
    ResetWithin,
    /// Announces more bytes than it sends, and closes in order.
    Cut,
    /// Sends the head, then a byte now and then, for ever.
    Endless,
    /// Sends nothing, and keeps the connection.
    Silent,
    /// Waits, then does the other thing.
    After(Duration, Box<Act>),
}

impl Act {
    /// A response of this status with this body.
    pub fn status(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::Response {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// The same with a header more.
    pub fn with_header(self, name: &str, value: &str) -> Self {
        match self {
            Self::Response {
                status,
                mut headers,
                body,
            } => {
                headers.push((name.to_owned(), value.to_owned()));
                Self::Response {
                    status,
                    headers,
                    body,
                }
            }
            other => other,
        }
    }

    /// A JSON body under status 200.
    pub fn json(body: &Value) -> Self {
        Self::status(200, body.to_string()).with_header("content-type", "application/json")
    }

    /// OpenAI's error body under `status`.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        Self::status(
            status,
            json!({"error": {"code": code, "message": message, "type": code}}).to_string(),
        )
    }
}

type Predicate = Box<dyn Fn(&Recorded) -> bool + Send + Sync>;
type Handler = Box<dyn Fn(&Recorded) -> Option<Act> + Send + Sync>;
type Content = Box<dyn Fn(&Recorded) -> String + Send + Sync>;
type Decision = Box<dyn Fn(&Recorded) -> Option<Act> + Send + Sync>;

/// How a [`FakeServer`] behaves. The first rule that fits a chat request decides; else it judges well.
pub struct Behaviour {
    decision: Option<Decision>,
    by_number: BTreeMap<usize, Act>,
    rules: Vec<(Predicate, Act)>,
    otherwise: Act,
    pub(super) good_content: Content,
    pub(super) latency: Duration,
    pub(super) gate: Option<Gate>,
    models: Act,
    loading: AtomicUsize,
    props: Act,
    health: Act,
    handlers: Vec<Handler>,
    key: Option<String>,
    is_streaming: bool,
    pub(super) is_recording: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self::good()
    }
}

impl Behaviour {
    /// A good judge that lists the one model `fake-judge`.
    pub fn good() -> Self {
        Self {
            decision: None,
            by_number: BTreeMap::new(),
            rules: Vec::new(),
            otherwise: Act::Good,
            good_content: Box::new(good_content),
            latency: Duration::ZERO,
            gate: None,
            models: Act::json(
                &json!({"object": "list", "data": [{"id": "fake-judge", "object": "model"}]}),
            ),
            loading: AtomicUsize::new(0),
            props: Act::status(404, "{}"),
            health: Act::status(404, "{}"),
            handlers: Vec::new(),
            key: None,
            is_streaming: false,
            is_recording: true,
        }
    }

    /// Does `act` with every chat request that no other rule takes.
    pub fn always(act: Act) -> Self {
        Self {
            otherwise: act,
            ..Self::good()
        }
    }

    /// Does `act` with the `number`-th chat request (0-based, in order of arrival).
    pub fn nth(mut self, number: usize, act: Act) -> Self {
        self.by_number.insert(number, act);
        self
    }

    /// Does `act` with the first `count` chat requests.
    pub fn first(mut self, count: usize, act: &Act) -> Self {
        self.by_number
            .extend((0..count).map(|number| (number, act.clone())));
        self
    }

    /// Does `act` with the chat requests that `fits`.
    pub fn when(
        mut self,
        fits: impl Fn(&Recorded) -> bool + Send + Sync + 'static,
        act: Act,
    ) -> Self {
        self.rules.push((Box::new(fits), act));
        self
    }

    /// Asks `decide` about every chat request, in order of arrival; what it leaves open the other rules decide.
    pub fn deciding(
        mut self,
        decide: impl Fn(&Recorded) -> Option<Act> + Send + Sync + 'static,
    ) -> Self {
        self.decision = Some(Box::new(decide));
        self
    }

    /// What a good judge says, instead of a score made from a hash.
    pub fn saying(mut self, content: impl Fn(&Recorded) -> String + Send + Sync + 'static) -> Self {
        self.good_content = Box::new(content);
        self
    }

    /// Every chat request takes this long at least.
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Chat requests are answered when `gate` lets them pass.
    pub fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// `GET /v1/models` answers this.
    pub fn models(mut self, act: Act) -> Self {
        self.models = act;
        self
    }

    /// The first `looks` requests of `/v1/models` get 503.
    pub fn loading(self, looks: usize) -> Self {
        self.loading.store(looks, Ordering::SeqCst);
        self
    }

    /// `GET /v1/models` lists one model, as vLLM does.
    pub fn serving(self, id: &str, root: &str) -> Self {
        self.models(Act::json(
            &json!({"object": "list", "data": [{"id": id, "root": root, "object": "model"}]}),
        ))
    }

    /// `GET /props` tells the model file, as llama.cpp does.
    pub fn model_path(mut self, path: &str) -> Self {
        self.props = Act::json(&json!({"model_path": path}));
        self
    }

    /// `GET /health` answers this.
    pub fn health(mut self, act: Act) -> Self {
        self.health = act;
        self
    }

    /// `GET /props` answers this.
    pub fn props(mut self, act: Act) -> Self {
        self.props = act;
        self
    }

    /// Does with any request what `handler` says, unless that is nothing; asked before everything else.
    pub fn handler(
        mut self,
        handler: impl Fn(&Recorded) -> Option<Act> + Send + Sync + 'static,
    ) -> Self {
        self.handlers.push(Box::new(handler));
        self
    }

    /// Chat and models want this bearer token, and answer 401 else.
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(format!("Bearer {key}"));
        self
    }

    /// Good replies come as streams of events where the request asks for them.
    pub fn streaming(mut self) -> Self {
        self.is_streaming = true;
        self
    }

    /// The stream that a good reply to this request is, if it is one.
    pub(super) fn stream_of(&self, request: &Recorded) -> Option<&'static StreamForm> {
        let stream = request.form()?.stream.as_ref()?;
        (self.is_streaming && (stream.is_asked)(request)).then_some(stream)
    }

    /// Keeps no requests (for benches).
    pub fn without_record(mut self) -> Self {
        self.is_recording = false;
        self
    }

    pub(super) fn act(&self, request: &Recorded, chats_before: impl FnOnce() -> usize) -> Act {
        if let Some(act) = self.handlers.iter().find_map(|handler| handler(request)) {
            return act;
        }
        let bearer = request
            .header("x-api-key")
            .or(request.header("x-goog-api-key"))
            .map(|key| format!("Bearer {key}"));
        let sent = request.header("authorization").or(bearer.as_deref());
        let wrong_key = self.key.as_deref().is_some_and(|key| sent != Some(key));
        if wrong_key && (request.is_chat() || request.path.ends_with("/models")) {
            return Act::error(401, "invalid_api_key", "Incorrect API key provided");
        }
        match request.path.as_str() {
            path if path.ends_with("/models") => {
                let count_down = |looks: usize| looks.checked_sub(1);
                let is_loading = self
                    .loading
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, count_down)
                    .is_ok();
                return if is_loading {
                    Act::status(503, "loading")
                } else {
                    self.models.clone()
                };
            }
            path if path.ends_with("/props") => return self.props.clone(),
            path if path.ends_with("/health") => return self.health.clone(),
            _ if !request.is_chat() => return Act::status(404, r#"{"detail":"Not Found"}"#),
            _ => {}
        }
        let number = chats_before();
        if let Some(act) = self.decision.as_ref().and_then(|decide| decide(request)) {
            return act;
        }
        if let Some(act) = self.by_number.get(&number) {
            return act.clone();
        }
        self.rules
            .iter()
            .find(|(fits, _)| fits(request))
            .map_or(&self.otherwise, |(_, act)| act)
            .clone()
    }
}

/// The score of the good judge for this user message: 0..=10.
pub fn good_score(user_message: &str) -> u64 {
    u64::from(blake3::hash(user_message.as_bytes()).as_bytes()[0]) % 11
}

/// The whole reply of the good judge to a call that came another way (in a file of a batch).
pub fn good_completion(path: &str, body: &Value) -> Value {
    let (method, path, body) = (
        "POST".to_owned(),
        path.to_owned(),
        body.to_string().into_bytes(),
    );
    let request = Recorded {
        method,
        path,
        query: String::new(),
        headers: Vec::new(),
        body,
    };
    completion(&good_content(&request), &request)
}

pub fn good_content(request: &Recorded) -> String {
    let score = good_score(&request.user_message());
    if request.text().contains("response_a") {
        let winner = ["A", "B", "tie"][score as usize % 3];
        return json!({"winner": winner}).to_string();
    }
    if !request.asks_for_claims() {
        return json!({"score": score}).to_string();
    }
    // score + 1 claims, of which every other has a citation and every fourth an excerpt
    let claims: Vec<Value> = (0..=score)
        .map(|i| {
            let excerpts = if i % 4 == 0 { json!(["an excerpt"]) } else { json!([]) };
            let cited = json!([{"citation_text": format!("[{i}]"), "excerpts": excerpts}]);
            json!({"claim_text": format!("claim {i}"), "citations": if i % 2 == 0 { cited } else { json!([]) }})
        })
        .collect();
    json!({"claims": claims}).to_string()
}

/// The chat reply of a judge that reasons for so many tokens before this text: cut where the limit of the request ends.
pub fn reasoned(request: &Recorded, reasoning: u64, content: &str) -> Value {
    let limit = limit_of(request).unwrap_or(u64::MAX);
    let text = content.len().div_ceil(4) as u64;
    let is_cut = reasoning + text > limit;
    let spoken = usize::try_from(limit.saturating_sub(reasoning))
        .unwrap()
        .saturating_mul(4);
    let (content, reason) = if is_cut {
        (content.get(..spoken).unwrap_or(content), "length")
    } else {
        (content, "stop")
    };
    json!({
        "model": "fake-judge",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": request.body.len() / 4,
            "completion_tokens": limit.min(reasoning + text),
            "completion_tokens_details": {"reasoning_tokens": limit.min(reasoning)},
        },
    })
}

/// The reply limit of a request in any protocol.
pub fn limit_of(request: &Recorded) -> Option<u64> {
    let body = request.json();
    let mut limits = [&body["max_tokens"], &body["max_completion_tokens"]].into_iter();
    let limit = limits.find_map(Value::as_u64);
    limit.or_else(|| body["generationConfig"]["maxOutputTokens"].as_u64())
}

/// A whole reply with this content, in the form of the request.
pub(super) fn completion(content: &str, request: &Recorded) -> Value {
    let prompt_tokens = request.body.len() / 4;
    let tokens = content.len().div_ceil(4);
    let message = json!({"role": "assistant", "content": content});
    let chat = json!({
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 1,
        "model": "fake-judge",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": prompt_tokens + tokens,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    });
    match request.form() {
        Some(form) => (form.of_chat)(chat),
        None => chat,
    }
}

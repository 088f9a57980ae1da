//! A fake OpenAI-compatible server on raw sockets: it can do what a real one does only by accident (break
//! connections, cut bodies, never end).
//!
//! It runs on a thread and runtime of its own, so that blocking tests of the command line can use it, and stops when
//! dropped. Without a script it is a good judge: the score is made from a hash of the user message, so that it is the
//! same in every run and differs between calls.
//!
//! ```ignore
//! let server = FakeServer::start(Behaviour::good().nth(0, Act::status(500, "no")).latency(latency));
//! let url = server.base_url();
//! ```

#![allow(dead_code, unreachable_pub, reason = "test binaries and benches include this file and use a part of it")]

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

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
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn is_chat(&self) -> bool {
        self.path.ends_with("/chat/completions")
    }

    /// The text of the last message.
    pub fn user_message(&self) -> String {
        let json = self.json();
        let last = json["messages"].as_array().and_then(|messages| messages.last());
        last.and_then(|message| message["content"].as_str()).unwrap_or_default().to_owned()
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
    /// A chat completion with this content.
    Content(String),
    /// Any response; `content-length` and `connection` are added.
    Response { status: u16, headers: Vec<(String, String)>, body: String },
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
    /// A response of this status whose body is plain text or JSON.
    pub fn status(status: u16, body: impl Into<String>) -> Self {
        Self::Response { status, headers: Vec::new(), body: body.into() }
    }

    /// The same with a header more.
    pub fn with_header(self, name: &str, value: &str) -> Self {
        match self {
            Self::Response { status, mut headers, body } => {
                headers.push((name.to_owned(), value.to_owned()));
                Self::Response { status, headers, body }
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
        Self::status(status, json!({"error": {"code": code, "message": message, "type": code}}).to_string())
    }
}

type Predicate = Box<dyn Fn(&Recorded) -> bool + Send + Sync>;
type Content = Box<dyn Fn(&Recorded) -> String + Send + Sync>;

/// How a [`FakeServer`] behaves. The first rule that fits a chat request decides; else it judges well.
pub struct Behaviour {
    by_number: BTreeMap<usize, Act>,
    rules: Vec<(Predicate, Act)>,
    otherwise: Act,
    good_content: Content,
    latency: Duration,
    models: Act,
    props: Act,
    health: Act,
    key: Option<String>,
    is_recording: bool,
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
            by_number: BTreeMap::new(),
            rules: Vec::new(),
            otherwise: Act::Good,
            good_content: Box::new(good_content),
            latency: Duration::ZERO,
            models: Act::json(&json!({"object": "list", "data": [{"id": "fake-judge", "object": "model"}]})),
            props: Act::status(404, "{}"),
            health: Act::status(404, "{}"),
            key: None,
            is_recording: true,
        }
    }

    /// Does `act` with every chat request that no other rule takes.
    pub fn always(act: Act) -> Self {
        Self { otherwise: act, ..Self::good() }
    }

    /// Does `act` with the `number`-th chat request (0-based, in order of arrival).
    pub fn nth(mut self, number: usize, act: Act) -> Self {
        self.by_number.insert(number, act);
        self
    }

    /// Does `act` with the first `count` chat requests.
    pub fn first(mut self, count: usize, act: &Act) -> Self {
        self.by_number.extend((0..count).map(|number| (number, act.clone())));
        self
    }

    /// Does `act` with the chat requests that `fits`.
    pub fn when(mut self, fits: impl Fn(&Recorded) -> bool + Send + Sync + 'static, act: Act) -> Self {
        self.rules.push((Box::new(fits), act));
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

    /// `GET /v1/models` answers this.
    pub fn models(mut self, act: Act) -> Self {
        self.models = act;
        self
    }

    /// `GET /v1/models` lists one model, as vLLM does.
    pub fn serving(self, id: &str, root: &str) -> Self {
        self.models(Act::json(&json!({"object": "list", "data": [{"id": id, "root": root, "object": "model"}]})))
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

    /// Chat and models want this bearer token, and answer 401 else.
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(format!("Bearer {key}"));
        self
    }

    /// Keeps no requests (for benches).
    pub fn without_record(mut self) -> Self {
        self.is_recording = false;
        self
    }

    fn act(&self, request: &Recorded, chats_before: impl FnOnce() -> usize) -> Act {
        let wrong_key = self.key.as_deref().is_some_and(|key| request.header("authorization") != Some(key));
        if wrong_key && (request.is_chat() || request.path.ends_with("/models")) {
            return Act::error(401, "invalid_api_key", "Incorrect API key provided");
        }
        match request.path.as_str() {
            path if path.ends_with("/models") => return self.models.clone(),
            path if path.ends_with("/props") => return self.props.clone(),
            path if path.ends_with("/health") => return self.health.clone(),
            _ if !request.is_chat() => return Act::status(404, r#"{"detail":"Not Found"}"#),
            _ => {}
        }
        if let Some(act) = self.by_number.get(&chats_before()) {
            return act.clone();
        }
        self.rules.iter().find(|(fits, _)| fits(request)).map_or(&self.otherwise, |(_, act)| act).clone()
    }
}

/// The score of the good judge for this user message: 0..=10.
pub fn good_score(user_message: &str) -> u64 {
    u64::from(blake3::hash(user_message.as_bytes()).as_bytes()[0]) % 11
}

fn good_content(request: &Recorded) -> String {
    let score = good_score(&request.user_message());
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

fn completion(content: &str, request: &Recorded) -> String {
    json!({
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 1,
        "model": "fake-judge",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": request.body.len() / 4,
            "completion_tokens": content.len().div_ceil(4),
            "total_tokens": request.body.len() / 4 + content.len().div_ceil(4),
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    })
    .to_string()
}

/// What the connections share.
struct State {
    behaviour: Behaviour,
    requests: Mutex<Vec<Recorded>>,
    chats: AtomicUsize,
    in_flight: AtomicUsize,
    max_in_flight: AtomicUsize,
    connections: AtomicUsize,
    is_closing: AtomicBool,
}

/// A running server; stops when dropped.
pub struct FakeServer {
    address: SocketAddr,
    state: Arc<State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeServer {
    /// Listens on a free port of 127.0.0.1.
    pub fn start(behaviour: Behaviour) -> Self {
        Self::start_on(behaviour, SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    /// Listens on `address`: for a server that comes back where it was.
    pub fn start_on(behaviour: Behaviour, address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).expect("a port of 127.0.0.1");
        listener.set_nonblocking(true).expect("a nonblocking listener");
        let address = listener.local_addr().expect("the listener's address");
        let state = Arc::new(State {
            behaviour,
            requests: Mutex::default(),
            chats: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            max_in_flight: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            is_closing: AtomicBool::new(false),
        });
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a tokio listener");
                tokio::select! {
                    () = accept(&listener, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address, state, stop: Some(stop), thread: Some(thread) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT/v1`
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Every request so far, in order of arrival.
    pub fn requests(&self) -> Vec<Recorded> {
        self.state.requests.lock().expect("the record").clone()
    }

    /// The chat requests so far.
    pub fn chats(&self) -> Vec<Recorded> {
        self.requests().into_iter().filter(Recorded::is_chat).collect()
    }

    /// How many chat requests came so far; also without a record.
    pub fn chat_count(&self) -> usize {
        self.state.chats.load(Ordering::SeqCst)
    }

    /// The most chat requests that were being answered at once.
    pub fn max_in_flight(&self) -> usize {
        self.state.max_in_flight.load(Ordering::SeqCst)
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.state.is_closing.store(true, Ordering::SeqCst);
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: &tokio::net::TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        state.connections.fetch_add(1, Ordering::SeqCst);
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            // A client that goes away is part of the game.
            let _ = converse(stream, &state).await;
        });
    }
}

/// Answers the requests of one connection, one after the other.
async fn converse(mut stream: TcpStream, state: &State) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer).await? {
        let is_chat = request.is_chat();
        if is_chat {
            let now = state.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
            state.max_in_flight.fetch_max(now, Ordering::SeqCst);
        }
        let counter = InFlight { counter: &state.in_flight, is_counting: is_chat };
        let act = state.behaviour.act(&request, || state.chats.fetch_add(1, Ordering::SeqCst));
        if state.behaviour.is_recording {
            state.requests.lock().expect("the record").push(request.clone());
        }
        if is_chat && !state.behaviour.latency.is_zero() {
            tokio::time::sleep(state.behaviour.latency).await;
        }
        let goes_on = perform(act, &request, &mut stream, counter, &state.behaviour).await?;
        if !goes_on || state.is_closing.load(Ordering::SeqCst) {
            return Ok(());
        }
    }
    Ok(())
}

/// Counts a chat request as long as it lives.
struct InFlight<'a> {
    counter: &'a AtomicUsize,
    is_counting: bool,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if self.is_counting {
            self.counter.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Does `act`; true if the connection can be used again. The request is no longer in flight just before the last byte
/// leaves, so that the next one, which may come at once, is not counted beside it.
async fn perform(
    mut act: Act,
    request: &Recorded,
    stream: &mut TcpStream,
    counter: InFlight<'_>,
    behaviour: &Behaviour,
) -> io::Result<bool> {
    while let Act::After(wait, then) = act {
        tokio::time::sleep(wait).await;
        act = *then;
    }
    const HALF: &[u8] =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"choices\":[{\"mess";
    match act {
        Act::Good | Act::Content(_) => {
            let content = if let Act::Content(content) = act { content } else { (behaviour.good_content)(request) };
            let headers = [("content-type".to_owned(), "application/json".to_owned())];
            let response = response(200, &headers, &completion(&content, request));
            drop(counter);
            stream.write_all(&response).await?;
            Ok(true)
        }
        Act::Response { status, headers, body } => {
            let response = response(status, &headers, &body);
            drop(counter);
            stream.write_all(&response).await?;
            Ok(true)
        }
        Act::ResetBefore => {
            stream.set_zero_linger()?;
            Ok(false)
        }
        Act::ResetWithin => {
            stream.write_all(HALF).await?;
            stream.flush().await?;
            // Give the head time to arrive: a reset overtakes what is still on its way.
            tokio::time::sleep(Duration::from_millis(50)).await;
            stream.set_zero_linger()?;
            Ok(false)
        }
        Act::Cut => {
            stream.write_all(HALF).await?;
            stream.shutdown().await?;
            Ok(false)
        }
        Act::Endless => {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
                .await?;
            loop {
                stream.write_all(b"1\r\n \r\n").await?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Act::Silent | Act::After(..) => {
            std::future::pending::<()>().await;
            Ok(false)
        }
    }
}

fn response(status: u16, headers: &[(String, String)], body: &str) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Fake\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    // One write, one packet.
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// The next request; `None` when the client has closed. `buffer` keeps what came after it.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Recorded>> {
    let head_end = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..head_end]).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut request = Recorded { method, path, query, headers, body: Vec::new() };
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    buffer.drain(..head_end);
    while buffer.len() < length {
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
    request.body = buffer.drain(..length).collect();
    Ok(Some(request))
}

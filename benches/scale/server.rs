//! A server that costs little: HTTP/1.1 with keep-alive, one reply for every call, written in one go.
//!
//! It skips bodies instead of keeping them (but for a sample, where it is asked to), so that on a machine of few cores most
//! of the time is the client's. It counts calls, calls that were answered 429, and the calls of the last minute.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A reply that is readable to every kind of call of the rubric.
const CONTENT: &str = r#"{\"score\": 7, \"claims\": [{\"claim_text\": \"c\", \"citations\": []}]}"#;
const MODELS: &str = r#"{"object":"list","data":[{"id":"fake-judge","object":"model"}]}"#;

/// How the server answers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manners {
    /// Every call takes so long.
    pub(crate) latency: Duration,
    /// A call beyond so many in the 60 s before it is answered 429.
    pub(crate) per_minute: Option<usize>,
    /// One body of so many is kept; 0 keeps none. (Long answers come first: the first ones would be no fair sample.)
    pub(crate) keeps_one_of: usize,
}

struct State {
    manners: Manners,
    calls: AtomicUsize,
    throttled: AtomicUsize,
    last_minute: Mutex<VecDeque<Instant>>,
    /// When the first call came, and the last one.
    span: Mutex<Option<(Instant, Instant)>>,
    kept: Mutex<Vec<Bytes>>,
    reply: Bytes,
}

/// A running server; its thread ends with the process.
pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
}

impl Server {
    pub(crate) fn start(manners: Manners) -> Self {
        let completion = format!(
            "{{\"id\":\"chatcmpl-fake\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"fake-judge\",\"choices\":[\
             {{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":\"{CONTENT}\"}},\"finish_reason\":\"stop\"}}],\
             \"usage\":{{\"prompt_tokens\":3000,\"completion_tokens\":20,\"total_tokens\":3020,\
             \"prompt_tokens_details\":{{\"cached_tokens\":0}}}}}}"
        );
        let state = Arc::new(State {
            manners,
            calls: AtomicUsize::new(0),
            throttled: AtomicUsize::new(0),
            last_minute: Mutex::default(),
            span: Mutex::default(),
            kept: Mutex::default(),
            reply: response(200, "", &completion),
        });
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port of 127.0.0.1");
        listener
            .set_nonblocking(true)
            .expect("a nonblocking listener");
        let address = listener.local_addr().expect("the listener's address");
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).expect("a tokio listener");
                while let Ok((stream, _)) = listener.accept().await {
                    let state = Arc::clone(&shared);
                    tokio::spawn(async move {
                        // A client that goes away is not an error.
                        let _ = converse(stream, &state).await;
                    });
                }
            });
        });
        Self { address, state }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn calls(&self) -> usize {
        self.state.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn throttled(&self) -> usize {
        self.state.throttled.load(Ordering::SeqCst)
    }

    /// When the first call came since this was asked last, and the last one.
    pub(crate) fn take_span(&self) -> Option<(Instant, Instant)> {
        self.state.span.lock().expect("the span").take()
    }

    pub(crate) fn kept(&self) -> Vec<Bytes> {
        self.state.kept.lock().expect("the bodies").clone()
    }
}

fn response(status: u16, headers: &str, body: &str) -> Bytes {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} F\r\ncontent-type: application/json\r\n{headers}content-length: {length}\r\n\r\n"
    );
    Bytes::from(head + body)
}

async fn converse(mut stream: TcpStream, state: &State) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = BytesMut::with_capacity(64 << 10);
    loop {
        let head_end = loop {
            if let Some(end) = head_end(&buffer) {
                break end;
            }
            buffer.reserve(32 << 10);
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        let is_call = buffer.starts_with(b"POST ");
        let is_models = buffer.starts_with(b"GET /v1/models");
        let mut left = content_length(&buffer[..head_end]);
        buffer.advance(head_end);
        let number = state.calls.load(Ordering::SeqCst);
        let keeps = is_call && number.checked_rem(state.manners.keeps_one_of) == Some(0);
        if keeps {
            while buffer.len() < left {
                stream.read_buf(&mut buffer).await?;
            }
            state
                .kept
                .lock()
                .expect("the bodies")
                .push(Bytes::copy_from_slice(&buffer[..left]));
        }
        loop {
            let here = left.min(buffer.len());
            buffer.advance(here);
            left -= here;
            if left == 0 {
                break;
            }
            buffer.reserve(32 << 10);
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let reply = if is_call {
            state.answer()
        } else if is_models {
            response(200, "", MODELS)
        } else {
            response(404, "", "{}")
        };
        if is_call && !state.manners.latency.is_zero() {
            tokio::time::sleep(state.manners.latency).await;
        }
        stream.write_all(&reply).await?;
    }
}

impl State {
    /// Counts a call, and says what it gets.
    fn answer(&self) -> Bytes {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let now = Instant::now();
        self.span
            .lock()
            .expect("the span")
            .get_or_insert((now, now))
            .1 = now;
        let Some(quota) = self.manners.per_minute else {
            return self.reply.clone();
        };
        let mut last = self.last_minute.lock().expect("the calls");
        while last
            .front()
            .is_some_and(|first| now.duration_since(*first) >= Duration::from_secs(60))
        {
            last.pop_front();
        }
        if last.len() >= quota {
            self.throttled.fetch_add(1, Ordering::SeqCst);
            return response(
                429,
                "retry-after: 1\r\n",
                "{\"error\":{\"message\":\"slow down\"}}",
            );
        }
        last.push_back(now);
        self.reply.clone()
    }
}

/// Where the head ends, the empty line included. Heads are short: a body is never searched.
fn head_end(buffer: &[u8]) -> Option<usize> {
    let most = buffer.len().min(4096);
    buffer[..most]
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .map(|at| at + 4)
}

fn content_length(head: &[u8]) -> usize {
    let head = std::str::from_utf8(head).unwrap_or_default();
    let named = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())
            .flatten()
    };
    head.lines().find_map(named).unwrap_or(0)
}

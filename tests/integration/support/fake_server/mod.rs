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

#![allow(
    dead_code,
    unreachable_pub,
    reason = "test binaries and benches include this file and use a part of it"
)]

mod behaviour;
mod forms;
mod gate;
mod port;
mod wire;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tokio::net::TcpStream;
use tokio::sync::oneshot;

pub use self::behaviour::{
    Act, Behaviour, Recorded, good_completion, good_content, good_score, limit_of, reasoned,
};
pub use self::forms::{CHAT, DONE, FORMS, RAW, WireForm};
pub use self::gate::Gate;
pub use self::port::Reserved;
use self::wire::{InFlight, perform, read_request};

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
    /// Keeps the address when nobody listens there any more.
    port: Option<Reserved>,
    /// Keeps the connections that wait for a server that takes over.
    listener: TcpListener,
    state: Arc<State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeServer {
    /// Listens on a free port of 127.0.0.1.
    pub fn start(behaviour: Behaviour) -> Self {
        Reserved::new().start(behaviour)
    }

    /// Answers at `listener`, which listens at `port`.
    fn start_listening(behaviour: Behaviour, listener: TcpListener, port: Reserved) -> Self {
        listener
            .set_nonblocking(true)
            .expect("a nonblocking listener");
        let kept = listener.try_clone().expect("the listener once more");
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
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let listener =
                    tokio::net::TcpListener::from_std(listener).expect("a tokio listener");
                tokio::select! {
                    () = accept(&listener, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address: port.address(),
            port: Some(port),
            listener: kept,
            state,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Stops, and starts another server at the same address; nobody can take the port in between, and who connects
    /// meanwhile is answered by the other.
    pub fn replaced_by(mut self, behaviour: Behaviour) -> Self {
        let listener = self.listener.try_clone().expect("the listener once more");
        let port = self.port.take().expect("the port");
        drop(self);
        Self::start_listening(behaviour, listener, port)
    }

    /// Stops: connections are refused from now on. As long as what this gives is kept no other test can get the port, and
    /// another server can be started there.
    pub fn gone(mut self) -> Reserved {
        let port = self.port.take().expect("the port");
        drop(self);
        port
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
        self.requests()
            .into_iter()
            .filter(Recorded::is_chat)
            .collect()
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
        let counter = InFlight {
            counter: &state.in_flight,
            is_counting: is_chat,
        };
        let mut number = None;
        let act = state.behaviour.act(&request, || {
            let counted = state.chats.fetch_add(1, Ordering::SeqCst);
            number = Some(counted);
            counted
        });
        if state.behaviour.is_recording {
            state
                .requests
                .lock()
                .expect("the record")
                .push(request.clone());
        }
        if is_chat && !state.behaviour.latency.is_zero() {
            tokio::time::sleep(state.behaviour.latency).await;
        }
        if let (Some(gate), Some(number)) = (&state.behaviour.gate, number) {
            gate.pass(number).await;
        }
        let goes_on = perform(act, &request, &mut stream, counter, &state.behaviour).await?;
        if !goes_on || state.is_closing.load(Ordering::SeqCst) {
            return Ok(());
        }
    }
    Ok(())
}

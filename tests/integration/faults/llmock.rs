//! An independent judge of our manners: llmock (PyPI) injects faults and reports how the client took them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::fake_server::Reserved;
use crate::support::workspace::{Workspace, scoring, wait_until};

use super::SYSTEMS;

/// Names the Python that has llmock; `.ci/llmock-venv` makes one.
const PYTHON: &str = "SCHOLAREVAL_LLMOCK_PYTHON";

/// A running llmock; ends when dropped.
struct Llmock {
    child: Child,
    address: String,
    /// No other test can get its port before it listens there, which asyncio's servers do at a shared address.
    _port: Reserved,
}

impl Llmock {
    fn start(python: &str) -> Self {
        // llmock takes no port 0
        let port = Reserved::new();
        let address = port.address();
        let child = Command::new(python)
            .args([
                "-c",
                "from llmock.cli import app; app()",
                "serve",
                "--port",
                &address.port().to_string(),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {python}: {error}"));
        let mut llmock = Self {
            child,
            address: address.to_string(),
            _port: port,
        };
        wait_until("llmock listens", || {
            assert!(
                llmock.child.try_wait().unwrap().is_none(),
                "llmock ended at once"
            );
            TcpStream::connect(&llmock.address).is_ok()
        });
        llmock
    }

    fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Its own routes; a body is posted.
    fn ask(&self, path: &str, body: Option<&Value>) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (method, body) = body.map_or(("GET", String::new()), |body| ("POST", body.to_string()));
        write!(
            stream,
            "{method} /_llmock/{path} HTTP/1.0\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 20"), "{response}");
        body.to_owned()
    }

    /// Queues faults for chats; each is met by the next `times` of them.
    fn behaves(&self, behaviors: &Value) {
        self.ask("scenario", Some(&json!({"behaviors": behaviors})));
    }

    fn verdict(&self) -> Value {
        serde_json::from_str(&self.ask("verdict", None)).unwrap()
    }

    /// Asserts that its verdict has no complaint, not even a warning.
    #[track_caller]
    fn is_content(&self) {
        let verdict = self.verdict();
        let findings = verdict["findings"].as_array().unwrap();
        assert!(
            findings.is_empty(),
            "{}",
            self.ask("verdict?format=text", None)
        );
    }
}

impl Drop for Llmock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_independent_peer_finds_nothing_to_complain_of() {
    let Ok(python) = std::env::var(PYTHON) else {
        return eprintln!("skipped: {PYTHON} is not set (bash .ci/llmock-venv prints its value)");
    };
    let llmock = Llmock::start(&python);
    let chats = json!({"path": "/v1/chat/completions"});
    let fail = |status: u16, retry_after: f64, times: u32| json!({"type": "fail", "status": status, "retry_after": retry_after, "times": times, "match": chats});
    // every kind of question finds its own member in it
    let reply = json!({"score": 1, "claims": [], "reason": "it is so"}).to_string();
    llmock.behaves(&json!([
        fail(429, 1.5, 2),
        fail(503, 0.3, 3),
        fail(529, 1.0, 1),
        fail(429, 0.2, 4),
        {"type": "fail", "status": 500, "times": 2, "match": chats},
        {"type": "delay", "seconds": 0.2, "times": 3, "match": chats},
        {"type": "reply", "text": reply, "times": null, "match": chats},
    ]));
    let work = Workspace::new(&SYSTEMS, 3);
    let url = llmock.base_url();
    let arguments = scoring(&url, &["--concurrency", "4"]);
    work.run(&arguments).exits_with(0);
    let scores = work.lines("out/scores.jsonl");
    assert_eq!(scores.len(), SYSTEMS.len() * 3);
    assert!(
        scores.iter().all(|score| score["score"].is_number()),
        "{scores:?}"
    );
    let verdict = llmock.verdict();
    // 2 + 3 + 1 + 4 + 2
    assert_eq!(verdict["faults_injected"], 12, "{verdict}");
    llmock.is_content();
}

#[test]
fn an_independent_peer_sees_that_hopeless_calls_are_not_repeated() {
    let Ok(python) = std::env::var(PYTHON) else {
        return eprintln!("skipped: {PYTHON} is not set (bash .ci/llmock-venv prints its value)");
    };
    let llmock = Llmock::start(&python);
    llmock.behaves(&json!([{"type": "fail", "status": 401, "times": null, "match": {"path": "/v1/chat/completions"}}]));
    let work = Workspace::new(&SYSTEMS, 3);
    let url = llmock.base_url();
    work.run(&scoring(&url, &["--concurrency", "2"]))
        .exits_with(4)
        .says(&["OPENAI_API_KEY"]);
    llmock.is_content();
}

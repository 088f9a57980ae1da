//! The real server as a child process; see `tests/support/llama_server.py`.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard};

use serde_json::Value;

/// The key its clients must send.
pub(super) const KEY: &str = "key-of-the-real-server";
/// The name under which every server of these tests shows its model.
pub(super) const ALIAS: &str = "smollm2";
/// Tokens of context of one slot.
pub(super) const CONTEXT: u32 = 2048;

/// A loaded server. It ends when this is dropped or this process ends, whichever way: its stdin closes then.
pub(super) struct LlamaServer {
    child: Child,
    address: String,
    model: PathBuf,
}

impl LlamaServer {
    /// Starts one and waits until the model is loaded; without `model`, that of the Python package. Port 0: a free one.
    fn start(python: &str, model: Option<&Path>, port: u16) -> Self {
        let log = tempfile::Builder::new()
            .prefix("llama-")
            .suffix(".log")
            .tempfile()
            .unwrap();
        let mut command = Command::new(python);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/llama_server.py"));
        command.args([
            "--alias",
            ALIAS,
            "--api-key",
            KEY,
            "--n-ctx",
            &CONTEXT.to_string(),
            "--port",
            &port.to_string(),
        ]);
        if let Some(model) = model {
            command.arg("--model").arg(model);
        }
        let stderr = File::create(log.path()).unwrap();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr);
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {python}: {error}"));
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said = || std::fs::read_to_string(log.path()).unwrap_or_default();
        let told: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("no server came up:\n{}", said()));
        let text = |name: &str| told[name].as_str().unwrap().to_owned();
        Self {
            child,
            address: text("address"),
            model: text("model_path").into(),
        }
    }

    pub(super) fn base_url(&self) -> String {
        format!("{}/v1", self.address)
    }

    /// The model file, as the server reports it.
    pub(super) fn model(&self) -> &Path {
        &self.model
    }

    fn port(&self) -> u16 {
        self.address.rsplit(':').next().unwrap().parse().unwrap()
    }

    /// Ends this server and starts one at the same address with another model file.
    pub(super) fn restarted_with(self, model: &Path) -> Self {
        let port = self.port();
        drop(self);
        Self::start(&python().unwrap(), Some(model), port)
    }

    /// The answer to `POST path` with that JSON.
    pub(super) fn post(&self, path: &str, json: &Value) -> Value {
        let (mut stream, body) = (
            TcpStream::connect(self.address.trim_start_matches("http://")).unwrap(),
            json.to_string(),
        );
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.0\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        let (head, body) = page.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {head}\n\n{body}"))
    }

    /// A counter of `GET /metrics`.
    pub(super) fn counter(&self, name: &str) -> f64 {
        let mut stream = TcpStream::connect(self.address.trim_start_matches("http://")).unwrap();
        write!(
            stream,
            "GET /metrics HTTP/1.0\r\nAuthorization: Bearer {KEY}\r\n\r\n"
        )
        .unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        let value = page.lines().find_map(|line| {
            line.strip_prefix("llamacpp:")?
                .strip_prefix(name)?
                .trim()
                .parse()
                .ok()
        });
        value.unwrap_or_else(|| panic!("no counter {name} in {page}"))
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn python() -> Option<String> {
    std::env::var("SCHOLAREVAL_LLAMA_PYTHON")
        .ok()
        .filter(|python| !python.is_empty())
}

/// The one server that these tests share, for one of them at a time: what a slot has cached is asserted on.
/// `None`, with a word why, where llama.cpp is not installed.
pub(super) fn shared() -> Option<MutexGuard<'static, LlamaServer>> {
    static SERVER: LazyLock<Option<Mutex<LlamaServer>>> =
        LazyLock::new(|| Some(Mutex::new(LlamaServer::start(&python()?, None, 0))));
    let Some(server) = SERVER.as_ref() else {
        eprintln!(
            "skipped: SCHOLAREVAL_LLAMA_PYTHON is not set; `bash .ci/run` installs llama.cpp and sets it"
        );
        return None;
    };
    // a failed test leaves the server as good as it was
    Some(
        server
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner),
    )
}

/// One more server on a port of its own, with this model file. Only while [`shared`] is held: one of two is idle then.
pub(super) fn another(model: &Path) -> LlamaServer {
    LlamaServer::start(&python().unwrap(), Some(model), 0)
}

/// The same weights in a file of another name: to a client, another model.
pub(super) fn other_weights(server: &LlamaServer, folder: &Path) -> PathBuf {
    let file = folder.join("other-weights.gguf");
    if std::fs::hard_link(server.model(), &file).is_err() {
        std::fs::copy(server.model(), &file).unwrap();
    }
    file
}

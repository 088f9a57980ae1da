//! Batches of all three services: the same faults over each of them.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer, Recorded, good_completion};
use crate::support::workspace::{Finished, KEY, NOW, Workspace};

/// The kinds of judges with a batch service each.
const KINDS: [&str; 3] = ["chat", "anthropic", "gemini"];

/// What becomes of one request.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Answered,
    Failed,
    Expired,
    Canceled,
    /// Answered with JSON that is not a completion.
    Strange,
    /// Cut within its reasoning.
    Starved,
}

/// A service in memory, of one kind.
struct Service {
    kind: &'static str,
    /// The files that were uploaded (`OpenAI`).
    files: Vec<String>,
    /// The requests of each batch, by id and body.
    batches: Vec<Vec<(String, Value)>>,
    /// The names that batches were given (Gemini), or their input files (`OpenAI`).
    names: Vec<String>,
    canceled: usize,
    /// How often a batch is looked at before it is over.
    looks: u32,
    /// The end of each batch, in the words of the service; done if it is empty.
    state: &'static str,
    /// The end of a request by its place.
    end: fn(usize) -> End,
    /// The next creation is not answered.
    drops: bool,
    /// The next download is cut.
    cuts: bool,
    /// Results are in a file (Gemini).
    in_file: bool,
}

impl Service {
    fn new(kind: &'static str) -> Self {
        Self {
            kind,
            files: Vec::new(),
            batches: Vec::new(),
            names: Vec::new(),
            canceled: 0,
            looks: 0,
            state: "",
            end: |_| End::Answered,
            drops: false,
            cuts: false,
            in_file: false,
        }
    }

    fn handle(&mut self, request: &Recorded) -> Option<Act> {
        let path = request
            .path
            .strip_prefix("/download")
            .unwrap_or(&request.path);
        let path = path.strip_prefix("/v1/")?;
        let path = path.strip_prefix("messages/").unwrap_or(path);
        let is_ours = path.starts_with("batches")
            || path.starts_with("files")
            || path.ends_with(":batchGenerateContent");
        if !is_ours {
            return None;
        }
        let (header, key) = match self.kind {
            "anthropic" => ("x-api-key", KEY.to_owned()),
            "gemini" => ("x-goog-api-key", KEY.to_owned()),
            _ => ("authorization", format!("Bearer {KEY}")),
        };
        if request.header(header) != Some(&key) {
            return Some(Act::error(401, "no", &format!("Incorrect API key: {KEY}")));
        }
        if request.method == "POST" {
            return Some(self.post(path, request));
        }
        if path == "batches" {
            return Some(self.list());
        }
        Some(self.get(path))
    }

    fn post(&mut self, path: &str, request: &Recorded) -> Act {
        if let Some(rest) = path.strip_prefix("batches/") {
            assert!(rest.ends_with("cancel"), "{rest}");
            self.canceled += 1;
            return Act::json(&json!({}));
        }
        let body = request.json();
        if path == "files" {
            let text = request.text();
            let file = text.split("filename=\"").nth(1).unwrap();
            let content = file.split_once("\r\n\r\n").unwrap().1;
            self.files
                .push(content.split_once("\r\n--").unwrap().0.to_owned());
            return Act::json(&json!({"id": format!("file-{}", self.files.len() - 1)}));
        }
        let (name, requests) = match self.kind {
            "anthropic" => {
                assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
                let list = body["requests"].as_array().unwrap();
                let read = |entry: &Value| (text(&entry["custom_id"]), entry["params"].clone());
                (String::new(), list.iter().map(read).collect())
            }
            "gemini" => {
                assert_eq!(path, "models/fake-judge:batchGenerateContent");
                let batch = &body["batch"];
                let list = batch["inputConfig"]["requests"]["requests"].as_array();
                let read =
                    |entry: &Value| (text(&entry["metadata"]["key"]), entry["request"].clone());
                let requests = list.unwrap().iter().map(read).collect();
                (text(&batch["displayName"]), requests)
            }
            _ => {
                let file = text(&body["input_file_id"]);
                let at: usize = file["file-".len()..].parse().unwrap();
                let lines = self.files[at].lines();
                let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
                let read = |line: Value| (text(&line["custom_id"]), line["body"].clone());
                (file, lines.map(read).collect())
            }
        };
        self.batches.push(requests);
        self.names.push(name);
        if std::mem::take(&mut self.drops) {
            return Act::ResetBefore;
        }
        Act::json(&self.reported(self.batches.len() - 1, false))
    }

    fn list(&self) -> Act {
        let mut batches = Vec::new();
        for at in (0..self.batches.len()).rev() {
            batches.push(self.reported(at, false));
        }
        Act::json(&json!({"data": batches, "operations": batches, "has_more": false}))
    }

    fn get(&mut self, path: &str) -> Act {
        let digits: String = path.chars().filter(char::is_ascii_digit).collect();
        let at: usize = digits.parse().unwrap();
        if path.starts_with("files/") || path.ends_with("/results") {
            let lines = self.lines(at).concat();
            let length = if std::mem::take(&mut self.cuts) {
                lines.len() * 2 / 3
            } else {
                lines.len()
            };
            return Act::status(200, lines[..length].to_owned());
        }
        let is_over = self.looks == 0;
        self.looks = self.looks.saturating_sub(1);
        Act::json(&self.reported(at, is_over))
    }

    /// What the service says of a batch.
    fn reported(&self, at: usize, is_over: bool) -> Value {
        let requests = self.batches[at].len();
        let ends = (0..requests).map(self.end);
        let answered =
            ends.filter(|end| matches!(end, End::Answered | End::Strange | End::Starved));
        let (answered, none) = (answered.count(), if is_over { 0 } else { requests });
        let failed = requests - answered;
        match self.kind {
            "anthropic" if !is_over => {
                json!({"id": format!("msgbatch_{at}"), "processing_status": "in_progress",
                "request_counts": {"processing": none, "succeeded": 0, "errored": 0}, "results_url": null})
            }
            // The address of another host, as that of a server behind a gateway.
            "anthropic" => json!({"id": format!("msgbatch_{at}"), "processing_status": "ended",
                "request_counts": {"processing": 0, "succeeded": answered, "errored": failed},
                "results_url": format!("https://evil.invalid/v1/messages/batches/msgbatch_{at}/results")}),
            "gemini" => {
                let state = match (is_over, self.state) {
                    (false, _) => "BATCH_STATE_RUNNING".to_owned(),
                    (true, "") => "BATCH_STATE_SUCCEEDED".to_owned(),
                    (true, state) => format!("JOB_STATE_{}", state.to_uppercase()),
                };
                let name = format!("batches/{at}");
                let mut batch = json!({"name": name, "metadata": {"state": state, "displayName": self.names[at]}});
                if is_over && self.state.is_empty() {
                    batch["metadata"]["batchStats"] = json!({"successfulRequestCount": answered.to_string(), "failedRequestCount": failed.to_string()});
                    batch["metadata"]["output"] = if self.in_file {
                        json!({"responsesFile": format!("files/batch-{at}")})
                    } else {
                        let lines = self.lines(at);
                        let list: Vec<Value> = lines
                            .iter()
                            .map(|line| serde_json::from_str(line).unwrap())
                            .collect();
                        json!({"inlinedResponses": {"inlinedResponses": list}})
                    };
                    batch["done"] = true.into();
                } else if is_over {
                    batch["done"] = true.into();
                    batch["error"] = json!({"code": 3, "message": "no such model"});
                }
                batch
            }
            _ => {
                let status = match (is_over, self.state) {
                    (false, _) => "in_progress",
                    (true, "") => "completed",
                    (true, state) => state,
                };
                let mut batch = json!({"id": format!("batch_{at}"), "status": status, "input_file_id": self.names[at]});
                if is_over && self.state.is_empty() {
                    batch["output_file_id"] = format!("out-{at}").into();
                    batch["request_counts"] = json!({"completed": answered, "failed": failed});
                } else if is_over {
                    batch["errors"] = json!({"data": [{"message": "no such model"}]});
                }
                batch
            }
        }
    }

    /// The lines of results, the last request first.
    fn lines(&self, at: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for (place, (id, body)) in self.batches[at].iter().enumerate().rev() {
            lines.push(format!("{}\n", self.line((self.end)(place), id, body)));
        }
        lines
    }

    fn line(&self, end: End, id: &str, body: &Value) -> Value {
        let path = match self.kind {
            "anthropic" => "/v1/messages",
            "gemini" => "/v1/models/fake-judge:generateContent",
            _ => "/v1/chat/completions",
        };
        let reply = match end {
            End::Strange => json!({"x": 1}),
            End::Starved => json!({
                "content": [{"type": "thinking", "thinking": "hm"}], "stop_reason": "max_tokens",
                "candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}],
                "usageMetadata": {"promptTokenCount": 9, "thoughtsTokenCount": 4100},
                "choices": [{"message": {"content": null}, "finish_reason": "length"}],
                "usage": {"input_tokens": 9, "output_tokens": 4100, "completion_tokens": 4100},
            }),
            _ => good_completion(path, body),
        };
        let (word, message) = match end {
            End::Expired => ("expired", "too late"),
            End::Canceled => ("canceled", "canceled"),
            _ => ("errored", "`temperature` is deprecated"),
        };
        let is_answered = matches!(end, End::Answered | End::Strange | End::Starved);
        match self.kind {
            "anthropic" => {
                let mut result = json!({"type": word});
                if is_answered {
                    result = json!({"type": "succeeded", "message": reply});
                } else if end == End::Failed {
                    result["error"] = json!({"type": "error", "request_id": null,
                        "error": {"type": "invalid_request_error", "message": message}});
                }
                json!({"custom_id": id, "result": result})
            }
            "gemini" => {
                let mut line = json!({"metadata": {"key": id}});
                if self.in_file {
                    line = json!({"key": id});
                }
                if is_answered {
                    line["response"] = reply;
                } else {
                    line["error"] =
                        json!({"code": 400, "message": message, "status": "INVALID_ARGUMENT"});
                }
                line
            }
            _ if is_answered => {
                json!({"custom_id": id, "error": null, "response": {"status_code": 200, "body": reply}})
            }
            _ => {
                json!({"custom_id": id, "response": null, "error": {"code": word, "message": message}})
            }
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A workspace with a service of a kind.
struct Bench {
    work: Workspace,
    server: FakeServer,
    service: Arc<Mutex<Service>>,
    kind: &'static str,
}

impl Bench {
    fn new(kind: &'static str, cases: usize) -> Self {
        let service = Arc::new(Mutex::new(Service::new(kind)));
        let shared = Arc::clone(&service);
        let server = FakeServer::start(
            Behaviour::good().handler(move |request| shared.lock().unwrap().handle(request)),
        );
        Self {
            work: Workspace::new(&["alpha"], cases),
            server,
            service,
            kind,
        }
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        let mut command = self.work.command(arguments);
        command
            .env("ANTHROPIC_API_KEY", KEY)
            .env("GEMINI_API_KEY", KEY);
        Finished::of(command.output().unwrap())
    }

    fn export(&self, more: &[&str]) -> Finished {
        let url = self.server.base_url();
        let arguments = [
            "batch",
            "export",
            "answers",
            "--tests",
            "tests.json",
            "--model",
            "fake-judge",
        ];
        let judge = ["--judge", self.kind, "--base-url", &url];
        self.run(&[&arguments[..], &judge, more].concat())
    }

    fn submitted(kind: &'static str) -> Self {
        let bench = Self::new(kind, 2);
        bench.export(&["--out", "b"]).exits_with(0);
        bench.run(&["batch", "submit", "b"]).exits_with(0);
        bench
    }

    fn change(&self, change: impl FnOnce(&mut Service)) {
        change(&mut self.service.lock().unwrap());
    }

    fn batches(&self) -> usize {
        self.service.lock().unwrap().batches.len()
    }

    /// The calls of a run that is scored with what the batch paid.
    fn score(&self) -> usize {
        let url = self.server.base_url();
        let arguments = [
            "score",
            "answers",
            "--tests",
            "tests.json",
            "--model",
            "fake-judge",
            "--out",
            "out",
        ];
        let judge = ["--judge", self.kind, "--base-url", &url];
        self.run(&[&arguments[..], &judge].concat()).exits_with(0);
        self.server.chat_count()
    }
}

#[test]
fn a_batch_of_each_service_pays_for_the_first_calls_of_a_run() {
    for kind in KINDS {
        let bench = Bench::new(kind, 2);
        bench.change(|service| service.looks = 2);
        let done = bench.export(&["--out", "b", "--max-requests", "5", "--price", "1000,1000"]);
        let done = done.exits_with(0);
        assert!(
            done.stdout.contains("at half of the price"),
            "{kind}: {}",
            done.stdout
        );
        let manifest = bench.work.json("b/batch.json");
        assert_eq!(manifest["parts"][0]["kind"], kind);
        bench.run(&["batch", "submit", "b"]).exits_with(0);
        assert_eq!(bench.batches(), 2, "{kind}: 8 requests, at most 5 a file");
        bench.run(&["batch", "submit", "b"]).exits_with(0);
        assert_eq!(bench.batches(), 2, "{kind}");
        bench
            .export(&["--out", "b", "--overwrite"])
            .exits_with(2)
            .says(&["submitted to a service"]);
        bench.run(&["batch", "fetch", "b"]).exits_with(7);
        bench
            .run(&["batch", "fetch", "b"])
            .exits_with(0)
            .says(&["batch import b"]);
        let done = bench.run(&["batch", "import", "b"]).exits_with(0);
        assert!(
            done.stdout.contains(&format!("{} replies added", 2 * NOW)),
            "{kind}: {}",
            done.stdout
        );
        let again = bench.run(&["batch", "import", "b"]).exits_with(0);
        assert!(
            again.stdout.contains("0 replies added"),
            "{kind}: {}",
            again.stdout
        );
        // Only the snippets, which depend on the criteria, are asked.
        let asked = bench.score();
        assert!(asked <= 4, "{kind}: {asked}");
        for (path, bytes) in bench.work.files() {
            assert!(
                !String::from_utf8_lossy(&bytes).contains(KEY),
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn a_batch_holds_what_a_call_sends() {
    for kind in KINDS {
        let bench = Bench::submitted(kind);
        bench.score();
        let sent: Vec<Value> = bench.server.chats().iter().map(Recorded::json).collect();
        for (_, body) in &bench.service.lock().unwrap().batches[0] {
            assert!(sent.contains(body), "{kind}: {body}");
        }
    }
}

#[test]
fn requests_without_a_reply_are_named_and_asked_again_and_replies_are_kept() {
    let ends: fn(usize) -> End = |at| match at {
        1 => End::Failed,
        2 => End::Expired,
        3 => End::Canceled,
        4 => End::Strange,
        _ => End::Answered,
    };
    for kind in KINDS {
        let bench = Bench::submitted(kind);
        bench.change(|service| service.end = ends);
        bench.run(&["batch", "fetch", "b"]).exits_with(0);
        let done = bench
            .run(&["batch", "import", "b"])
            .exits_with(0)
            .says(&["temperature", "without a completion"]);
        assert!(
            done.stdout.contains("4 replies added"),
            "{kind}: {}",
            done.stdout
        );
        assert!(
            done.stdout.contains("4 requests without a reply"),
            "{kind}: {}",
            done.stdout
        );
        bench.export(&["--out", "again"]).exits_with(0);
        let mut left = bench.work.lines("again/calls.jsonl");
        left.retain(|call| call["kind"] != "support");
        assert!(left.len() >= 4, "{kind}: {left:?}");
    }
}

#[test]
fn an_interrupted_creation_is_found_and_not_paid_twice() {
    for kind in KINDS {
        let bench = Bench::new(kind, 2);
        bench.change(|service| service.drops = true);
        bench
            .export(&["--out", "b", "--max-requests", "5"])
            .exits_with(0);
        bench.run(&["batch", "submit", "b"]).exits_with(4);
        bench
            .export(&["--out", "b", "--overwrite"])
            .exits_with(2)
            .says(&["submitted to a service"]);
        bench.run(&["batch", "submit", "b"]).exits_with(0);
        assert_eq!(bench.batches(), 2, "{kind}: one for each file");
        bench.run(&["batch", "fetch", "b"]).exits_with(0);
        let done = bench.run(&["batch", "import", "b"]).exits_with(0);
        assert!(
            done.stdout.contains("8 replies added"),
            "{kind}: {}",
            done.stdout
        );
    }
}

#[test]
fn of_batches_of_one_size_the_ended_one_is_known_by_its_results() {
    let bench = Bench::new("anthropic", 2);
    bench
        .export(&["--out", "b", "--max-requests", "4"])
        .exits_with(0);
    bench.run(&["batch", "submit", "b"]).exits_with(0);
    let mut manifest = bench.work.json("b/batch.json");
    let other = text(&manifest["parts"][0]["batch_id"]);
    for part in [0, 1] {
        let part = manifest["parts"][part].as_object_mut().unwrap();
        part.insert("creating_since".to_owned(), json!(1));
        part.remove("batch_id");
    }
    bench.work.write("b/batch.json", &manifest.to_string());
    // Both are in progress, of 4 requests each: neither is taken.
    bench.run(&["batch", "submit", "b"]).exits_with(4).says(&[
        "msgbatch_0",
        "msgbatch_1",
        "once they have ended",
    ]);
    assert_eq!(bench.batches(), 2);
    // `list` reports batches as running: only a poll ends them; so the parts are told apart by what is known of one.
    manifest["parts"][0]["batch_id"] = other.into();
    bench.work.write("b/batch.json", &manifest.to_string());
    let done = bench.run(&["batch", "submit", "b"]).exits_with(0);
    assert!(
        done.stdout.contains("submitted as msgbatch_1"),
        "{}",
        done.stdout
    );
    assert_eq!(bench.batches(), 2);
}

#[test]
fn a_cut_download_is_fetched_again() {
    for kind in KINDS {
        let bench = Bench::submitted(kind);
        bench.change(|service| (service.cuts, service.in_file) = (true, true));
        bench
            .run(&["batch", "fetch", "b"])
            .exits_with(4)
            .says(&["results are missing or cut"]);
        let done = bench
            .run(&["batch", "import", "b"])
            .exits_with(3)
            .says(&["its end is missing"]);
        assert!(
            !done.stdout.contains("0 replies added"),
            "{kind}: {}",
            done.stdout
        );
        bench.run(&["batch", "fetch", "b"]).exits_with(0);
        bench.run(&["batch", "import", "b"]).exits_with(0);
        assert!(bench.score() <= 4, "{kind}");
    }
}

#[test]
fn failed_expired_and_canceled_batches_are_over() {
    for kind in ["chat", "gemini"] {
        for (state, code) in [("failed", 4), ("expired", 0), ("cancelled", 0)] {
            let bench = Bench::submitted(kind);
            bench.change(|service| service.state = state);
            let done = bench.run(&["batch", "fetch", "b"]).exits_with(code);
            assert!(done.stdout.contains(state), "{kind}: {}", done.stdout);
            assert!(
                done.stdout.contains("no such model"),
                "{kind}: {}",
                done.stdout
            );
        }
    }
}

#[test]
fn a_batch_is_canceled_and_its_results_stay() {
    for kind in KINDS {
        let bench = Bench::submitted(kind);
        bench.change(|service| service.looks = 1);
        bench
            .run(&["batch", "cancel", "b"])
            .exits_with(0)
            .says(&["batch fetch b"]);
        assert_eq!(bench.service.lock().unwrap().canceled, 1, "{kind}");
        bench.change(|service| {
            service.end = |at| {
                if at == 0 {
                    End::Canceled
                } else {
                    End::Answered
                }
            }
        });
        bench.run(&["batch", "fetch", "b"]).exits_with(0);
        let done = bench.run(&["batch", "import", "b"]).exits_with(0);
        assert!(
            done.stdout.contains("7 replies added"),
            "{kind}: {}",
            done.stdout
        );
        bench.run(&["batch", "cancel", "b"]).exits_with(0);
        assert_eq!(
            bench.service.lock().unwrap().canceled,
            1,
            "{kind}: it was over"
        );
    }
}

#[test]
fn results_of_another_batch_and_unreadable_lines_are_named() {
    for kind in KINDS {
        let bench = Bench::submitted(kind);
        let service = bench.service.lock().unwrap();
        let lines = service.lines(0);
        let foreign = service.line(End::Answered, &"f".repeat(64), &json!({}));
        let unknown = service.line(End::Answered, "not-hexadecimal", &json!({}));
        drop(service);
        let mut mixed = format!("{foreign}\n{unknown}\n[1]\n{}{}", lines[0], lines[0]);
        let _ = write!(mixed, "{}", &lines[1][..40]);
        bench.work.write("mixed.jsonl", &mixed);
        let done = bench
            .run(&["batch", "import", "b", "mixed.jsonl"])
            .exits_with(3)
            .says(&[
                "mixed.jsonl:1: no calls.jsonl has the request \"ffff",
                "mixed.jsonl:2: no calls.jsonl has the request",
                "mixed.jsonl:3: not a result of a batch",
                "mixed.jsonl:6: not a result of a batch",
            ]);
        assert!(
            done.stdout.contains("1 replies added"),
            "{kind}: {}",
            done.stdout
        );
    }
}

#[test]
fn a_service_that_refuses_the_key_is_told_without_it() {
    for (kind, variable) in [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
    ] {
        let bench = Bench::new(kind, 1);
        bench.export(&["--out", "b"]).exits_with(0);
        let wrong = bench
            .work
            .command(&["batch", "submit", "b"])
            .env(variable, "another-0123456789")
            .output();
        let wrong = Finished::of(wrong.unwrap()).exits_with(4).says(&[variable]);
        assert!(
            !wrong.all_text().contains("another-01") && !wrong.all_text().contains(KEY),
            "{}",
            wrong.stderr
        );
        assert_eq!(bench.batches(), 0);
    }
}

#[test]
fn results_go_into_the_cache_of_the_export() {
    let bench = Bench::new("gemini", 1);
    bench
        .export(&["--out", "b", "--cache", "mine.sqlite"])
        .exits_with(0);
    bench.run(&["batch", "submit", "b"]).exits_with(0);
    bench.run(&["batch", "fetch", "b"]).exits_with(0);
    let done = bench.run(&["batch", "import", "b"]).exits_with(0);
    assert!(done.stdout.contains("mine.sqlite"), "{}", done.stdout);
    assert!(!bench.work.path(".scholareval/cache.sqlite").exists());
    bench
        .run(&["batch", "import", "b", "--cache", "other.sqlite"])
        .exits_with(0);
    assert!(bench.work.path("other.sqlite").exists());
    std::fs::remove_file(bench.work.path("mine.sqlite")).unwrap();
    bench
        .run(&["batch", "import", "b"])
        .exits_with(2)
        .says(&["mine.sqlite is missing", "--cache FILE"]);
}

#[test]
fn a_batch_begins_with_room_for_reasoning_and_a_starved_request_is_in_the_next_with_more() {
    /// The reply limit of a request.
    fn limit(request: &Value) -> u64 {
        let body = &request["body"];
        let names = [
            &body["max_tokens"],
            &body["max_completion_tokens"],
            &body["generationConfig"]["maxOutputTokens"],
        ];
        names.into_iter().find_map(Value::as_u64).unwrap()
    }
    for kind in KINDS {
        let bench = Bench::submitted(kind);
        bench.change(|service| {
            service.end = |at| if at == 0 { End::Starved } else { End::Answered };
        });
        let requests = |dir: &str| {
            let manifest = bench.work.json(&format!("{dir}/batch.json"));
            let file = text(&manifest["parts"][0]["file"]);
            bench.work.lines(&format!("{dir}/{file}"))
        };
        let first = requests("b");
        // A verdict has at least 100 tokens, and the first rung 4,000.
        assert!(
            first.iter().all(|request| limit(request) >= 4_100),
            "{kind}"
        );
        bench.run(&["batch", "fetch", "b"]).exits_with(0);
        let done = bench.run(&["batch", "import", "b"]).exits_with(0);
        assert!(
            done.stdout.contains("8 replies added"),
            "{kind}: {}",
            done.stdout
        );
        bench.export(&["--out", "next"]).exits_with(0);
        let most = requests("next").iter().map(limit).max().unwrap();
        assert_eq!(
            most,
            limit(&first[0]) - 4_000 + 16_000,
            "{kind}: the second rung"
        );
    }
}

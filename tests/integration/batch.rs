//! Calls as files, their results into the cache, and the batch service.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::fake_server::{
    Act, Behaviour, FakeServer, Recorded, Reserved, good_completion,
};
use crate::support::workspace::{AT_MOST, Finished, KEY, NOW, Workspace};

/// `batch export` of all answers by that server.
fn export(work: &Workspace, server: &FakeServer, more: &[&str]) -> Finished {
    let url = server.base_url();
    let mut arguments = vec![
        "batch",
        "export",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "fake-judge",
    ];
    arguments.extend(["--base-url", &url]);
    arguments.extend(more);
    work.run(&arguments)
}

/// The request files of a batch, in the order of its manifest.
fn request_files(work: &Workspace, dir: &str) -> Vec<String> {
    let manifest = work.json(&format!("{dir}/batch.json"));
    manifest["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["file"].as_str().unwrap().to_owned())
        .collect()
}

fn requests(work: &Workspace, dir: &str) -> Vec<Value> {
    request_files(work, dir)
        .iter()
        .flat_map(|file| work.lines(&format!("{dir}/{file}")))
        .collect()
}

/// What a batch service makes of a request.
fn result(request: &Value) -> Value {
    let body = good_completion(request["url"].as_str().unwrap(), &request["body"]);
    json!({
        "id": "batch_req_1", "custom_id": request["custom_id"], "error": null,
        "response": {"status_code": 200, "request_id": "r", "body": body},
    })
}

fn lines(values: impl IntoIterator<Item = Value>) -> String {
    values
        .into_iter()
        .map(|value| format!("{value}\n"))
        .collect()
}

#[test]
fn rounds_of_export_and_import_pay_for_everything_and_the_run_then_asks_nothing() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(Behaviour::good());
    let mut sizes = Vec::new();
    for round in ["one", "two", "three"] {
        let done = export(&work, &server, &["--out", round]).exits_with(0);
        if done.stdout.starts_with("nothing to export") {
            assert!(!work.path(round).exists(), "nothing is made for nothing");
            break;
        }
        let asked = requests(&work, round);
        sizes.push(asked.len());
        work.write(
            &format!("{round}/results.jsonl"),
            &lines(asked.iter().rev().map(result)),
        );
        let results = format!("{round}/results.jsonl");
        let done = work
            .run(&["batch", "import", round, &results])
            .exits_with(0);
        let expected = format!("{} replies added", asked.len());
        assert!(
            done.stdout.contains(&expected) && done.stdout.contains("scholareval plan"),
            "{}",
            done.stdout
        );
    }
    assert_eq!(sizes[0], 6 * NOW);
    assert_eq!(
        sizes.len(),
        2,
        "criteria first, snippets behind them: {sizes:?}"
    );
    let run = work
        .score(&server, &[])
        .exits_with(0)
        .says(&["plan: nothing to ask"]);
    assert_eq!(server.chat_count(), 0, "{}", run.stderr);
    // the same as by a run that asks for itself
    let asked = work
        .score(&server, &["--no-cache", "--out", "asked"])
        .exits_with(0);
    assert_eq!(server.chat_count(), sizes.iter().sum::<usize>());
    assert_eq!(
        work.read("out/scores.jsonl"),
        work.read("asked/scores.jsonl")
    );
    assert_eq!(
        run.stdout.lines().skip(1).collect::<Vec<_>>(),
        asked.stdout.lines().skip(1).collect::<Vec<_>>()
    );
}

#[test]
fn the_files_hold_byte_by_byte_what_a_run_sends_each_call_once() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(Behaviour::good());
    export(
        &work,
        &server,
        &["--out", "b", "--samples", "2", "--judge-seed", "7"],
    )
    .exits_with(0);
    let exported = requests(&work, "b");
    let ids: BTreeSet<&str> = exported
        .iter()
        .map(|request| request["custom_id"].as_str().unwrap())
        .collect();
    assert_eq!((exported.len(), ids.len()), (2 * 2 * NOW, 2 * 2 * NOW));
    for request in &exported {
        assert_eq!(
            (request["method"].as_str(), request["url"].as_str()),
            (Some("POST"), Some("/v1/chat/completions"))
        );
    }
    let files: String = request_files(&work, "b")
        .iter()
        .map(|file| work.read(&format!("b/{file}")))
        .collect();
    work.score(&server, &["--samples", "2", "--judge-seed", "7"])
        .exits_with(0);
    let sent: Vec<String> = server.chats().iter().map(Recorded::text).collect();
    let found = sent
        .iter()
        .filter(|body| files.contains(&format!("\"body\":{body}}}")))
        .count();
    assert_eq!(found, exported.len(), "of {} calls", sent.len());
    // the calls of an answer stand together, so that its prefix stays warm
    let of: Vec<bool> = exported
        .iter()
        .map(|request| request.to_string().contains("answer to c1"))
        .collect();
    assert_eq!(
        of.windows(2).filter(|pair| pair[0] != pair[1]).count(),
        1,
        "{of:?}"
    );
    // labels without a text
    let labels = work.lines("b/calls.jsonl");
    assert_eq!(labels.len(), exported.len());
    assert!(!work.read("b/calls.jsonl").contains("alpha"));
    let samples: BTreeSet<u64> = labels
        .iter()
        .map(|label| label["sample"].as_u64().unwrap())
        .collect();
    assert_eq!(samples, BTreeSet::from([0, 1]));
}

#[test]
fn files_are_split_at_the_limits_and_a_batch_is_not_written_over() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(Behaviour::good());
    export(&work, &server, &["--out", "b", "--max-requests", "3"]).exits_with(0);
    let sizes: Vec<usize> = request_files(&work, "b")
        .iter()
        .map(|file| work.lines(&format!("b/{file}")).len())
        .collect();
    assert_eq!(sizes, [3, 3, 2], "{} calls, 3 a file", 2 * NOW);
    export(&work, &server, &["--out", "b"])
        .exits_with(2)
        .says(&["there is a batch already", "--overwrite"]);
    export(
        &work,
        &server,
        &["--out", "b", "--overwrite", "--max-bytes", "9000"],
    )
    .exits_with(0);
    assert!(
        request_files(&work, "b")
            .iter()
            .all(|file| work.read(&format!("b/{file}")).len() <= 9_000)
    );
    assert_eq!(requests(&work, "b").len(), 2 * NOW);
    export(&work, &server, &[])
        .exits_with(2)
        .says(&["--out DIR"]);
    export(&work, &server, &["--out", "c", "--max-bytes", "100"])
        .exits_with(2)
        .says(&["--max-bytes"]);
    export(&work, &server, &["--out", "c", "--max-bytes", "much"])
        .exits_with(2)
        .says(&["--max-bytes", "much"]);
    export(&work, &server, &["--out", "c", "--no-cache"])
        .exits_with(2)
        .says(&["cache"]);
    assert_eq!(server.chat_count(), 0);
}

#[test]
fn errors_and_foreign_lines_are_named_and_everything_else_is_kept() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(Behaviour::good());
    export(&work, &server, &["--out", "b"]).exits_with(0);
    let asked = requests(&work, "b");
    let id = |at: usize| asked[at]["custom_id"].as_str().unwrap().to_owned();
    let expired = json!({"custom_id": id(1), "response": null, "error": {"code": "batch_expired", "message": "too late"}});
    let refused = json!({"custom_id": id(2), "response": {"status_code": 400, "body": {"error": {"message": "no \u{1b}[31m"}}}});
    let blank = json!({"custom_id": id(3), "response": {"status_code": 200, "body": {"choices": [{"message": {"content": ""}}]}}});
    work.write("empty.jsonl", "\n");
    let told = format!(
        "warning: the files contain no results of the {} exported requests",
        asked.len()
    );
    work.run(&["batch", "import", "b", "empty.jsonl"])
        .exits_with(0)
        .says(&[&told]);
    work.write(
        "results.jsonl",
        &lines([result(&asked[0]), expired, refused, blank]),
    );
    let done = work
        .run(&["batch", "import", "b", "results.jsonl"])
        .exits_with(0);
    assert!(
        done.stdout.contains("2 replies added")
            && done.stdout.contains("2 requests without a reply")
    );
    let (first, second) = (
        format!("{}: too late", id(1)),
        format!("{}: status 400: no", id(2)),
    );
    let done = done.says(&[&first, &second]);
    assert!(!done.stderr.contains('\u{1b}'), "{}", done.stderr);
    // what the blank reply answers is asked again, as attempt 1; the two without a reply as they were
    export(&work, &server, &["--out", "again"]).exits_with(0);
    let labels = work.lines("again/calls.jsonl");
    let attempts: BTreeMap<String, u64> = labels
        .iter()
        .map(|label| {
            (
                label["custom_id"].as_str().unwrap().to_owned(),
                label["attempt"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        (
            attempts.get(&id(1)),
            attempts.get(&id(2)),
            attempts.get(&id(0))
        ),
        (Some(&0), Some(&0), None)
    );
    assert_eq!(
        attempts.values().filter(|attempt| **attempt == 1).count(),
        1,
        "{attempts:?}"
    );
    // a result of another batch, and a torn end
    let foreign = json!({"custom_id": "f".repeat(64), "response": {"status_code": 200, "body": {"choices": []}}});
    work.write(
        "mixed.jsonl",
        &(lines([foreign, result(&asked[1])]) + "{\"custom_id\": \"ab"),
    );
    let done = work
        .run(&["batch", "import", "b", "mixed.jsonl"])
        .exits_with(3);
    assert!(done.stdout.contains("1 replies added"), "{}", done.stdout);
    done.says(&[
        "mixed.jsonl:1: no calls.jsonl has the request \"ffff",
        "mixed.jsonl:3: not a result",
        "its end is missing",
    ]);
}

#[test]
fn calls_over_another_route_say_so() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(Behaviour::good());
    work.write("raw.toml", "[judge]\nkind = \"completions\"\n");
    export(&work, &server, &["--out", "raw", "--config", "raw.toml"]).exits_with(0);
    assert!(
        requests(&work, "raw")
            .iter()
            .all(|request| request["url"] == "/v1/completions")
    );
}

#[test]
fn the_lexical_judge_has_nothing_to_export() {
    let work = Workspace::new(&["alpha"], 1);
    let done = work
        .run(&[
            "batch",
            "export",
            "answers",
            "--tests",
            "tests.json",
            "--out",
            "b",
        ])
        .exits_with(0);
    assert!(
        done.stdout.contains("no judge of this run has a server"),
        "{}",
        done.stdout
    );
}

#[test]
fn a_judge_with_a_name_of_its_own_is_exported_without_its_server() {
    let work = Workspace::new(&["alpha"], 1);
    let nobody = Reserved::new();
    let gone = nobody.base_url();
    let arguments = [
        "batch",
        "export",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "m",
        "--base-url",
        &gone,
    ];
    let without = [&arguments[..], &["--out", "b"]].concat();
    work.run(&without).exits_with(4);
    work.run(&[&without[..], &["--cache-id", "mine"]].concat())
        .exits_with(0);
    assert_eq!(requests(&work, "b").len(), NOW);
    assert_eq!(work.lines("b/calls.jsonl")[0]["judge"], "mine");
}

/// A batch service in memory: files, batches, and what was asked of it.
#[derive(Default)]
struct Service {
    files: BTreeMap<String, String>,
    batches: Vec<Value>,
    /// How often a batch must be looked at until it is done.
    looks: u32,
    /// How often the list of batches is empty, as that of a service that lists new ones late.
    empty_lists: u32,
    /// Result files that are gone.
    gone: BTreeSet<String>,
    /// Result files of which the next download is cut.
    cut: BTreeSet<String>,
    /// The status of batches that are over, without results; `completed` with results if it is empty.
    status: String,
}

impl Service {
    fn handle(&mut self, request: &Recorded) -> Option<Act> {
        let path = request.path.strip_prefix("/v1/")?;
        if path != "files" && !path.starts_with("batches") && !path.starts_with("files/") {
            return None;
        }
        if request.header("authorization") != Some(&format!("Bearer {KEY}")) {
            return Some(Act::error(
                401,
                "invalid_api_key",
                &format!("Incorrect API key provided: {KEY}"),
            ));
        }
        Some(match (request.method.as_str(), path) {
            ("POST", "files") => {
                let id = format!("file-{}", self.files.len());
                self.files.insert(id.clone(), uploaded(request));
                Act::json(&json!({"id": id, "purpose": "batch"}))
            }
            ("POST", "batches") => {
                let body = request.json();
                assert_eq!(body["completion_window"], "24h");
                let batch = json!({
                    "id": format!("batch_{}", self.batches.len()), "status": "validating",
                    "input_file_id": body["input_file_id"], "endpoint": body["endpoint"],
                });
                self.batches.push(batch.clone());
                Act::json(&batch)
            }
            ("GET", "batches") if self.empty_lists > 0 => {
                self.empty_lists -= 1;
                Act::json(&json!({"data": [], "has_more": false}))
            }
            ("GET", "batches") => Act::json(&json!({"data": self.batches, "has_more": false})),
            ("GET", path) => match path.strip_prefix("batches/") {
                Some(id) => self.look(id),
                None => {
                    let id = path
                        .strip_prefix("files/")
                        .and_then(|rest| rest.strip_suffix("/content"))
                        .unwrap();
                    let content = &self.files[id];
                    if self.gone.contains(id) {
                        Act::error(404, "not_found", "No such File object")
                    } else if self.cut.remove(id) {
                        Act::status(200, content[..content.len() * 2 / 3].to_owned())
                    } else {
                        Act::status(200, content.clone())
                    }
                }
            },
            _ => Act::status(405, "{}"),
        })
    }

    fn look(&mut self, id: &str) -> Act {
        let at = self
            .batches
            .iter()
            .position(|batch| batch["id"] == id)
            .unwrap();
        if self.looks > 0 {
            self.looks -= 1;
            self.batches[at]["status"] = "in_progress".into();
            return Act::json(&self.batches[at]);
        }
        if !self.status.is_empty() {
            let batch = &mut self.batches[at];
            batch["status"] = self.status.as_str().into();
            batch["errors"] = json!({"data": [{"line": 1, "message": "no such model"}]});
            return Act::json(batch);
        }
        let input = self.files[self.batches[at]["input_file_id"].as_str().unwrap()].clone();
        let asked: Vec<Value> = input
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let (good, bad) = asked.split_at(asked.len() - 1);
        let error = |request: &Value| json!({"custom_id": request["custom_id"], "response": null, "error": {"message": "flaky"}});
        self.files
            .insert(format!("out-{at}"), lines(good.iter().map(result)));
        self.files
            .insert(format!("err-{at}"), lines(bad.iter().map(error)));
        let batch = &mut self.batches[at];
        batch["status"] = "completed".into();
        batch["request_counts"] =
            json!({"total": asked.len(), "completed": good.len(), "failed": 1});
        (batch["output_file_id"], batch["error_file_id"]) =
            (format!("out-{at}").into(), format!("err-{at}").into());
        Act::json(batch)
    }
}

/// The file of a multipart form.
fn uploaded(request: &Recorded) -> String {
    let text = request.text();
    assert!(
        text.contains("name=\"purpose\"\r\n\r\nbatch\r\n"),
        "the purpose is stated"
    );
    let file = text.split("filename=\"").nth(1).unwrap();
    let content = file.split_once("\r\n\r\n").unwrap().1;
    content.split_once("\r\n--").unwrap().0.to_owned()
}

#[test]
fn a_batch_goes_through_the_service_once_whatever_is_interrupted() {
    let work = Workspace::new(&["alpha"], 2);
    let service = Arc::new(Mutex::new(Service {
        looks: 2,
        ..Service::default()
    }));
    let shared = Arc::clone(&service);
    let server = FakeServer::start(
        Behaviour::good().handler(move |request| shared.lock().unwrap().handle(request)),
    );
    export(&work, &server, &["--out", "b", "--max-requests", "5"]).exits_with(0);
    work.run(&["batch", "import", "b"])
        .exits_with(2)
        .says(&["batch fetch b"]);
    let done = work.run(&["batch", "submit", "b"]).exits_with(0);
    assert!(
        done.stdout.contains("submitted as batch_0")
            && done.stdout.contains("submitted as batch_1")
    );
    // killed between the creation of a batch and the note of its id: the batch is found again
    let mut manifest = work.json("b/batch.json");
    manifest["parts"][1]
        .as_object_mut()
        .unwrap()
        .remove("batch_id");
    work.write("b/batch.json", &manifest.to_string());
    let done = work.run(&["batch", "submit", "b"]).exits_with(0);
    assert!(
        done.stdout.contains("was submitted as batch_0")
            && done.stdout.contains("submitted as batch_1")
    );
    let held = |service: &Service| (service.batches.len(), service.files.len());
    assert_eq!(held(&service.lock().unwrap()), (2, 2));
    // what was handed in is not written over
    export(&work, &server, &["--out", "b", "--overwrite"])
        .exits_with(2)
        .says(&["submitted to a service"]);
    let done = work.run(&["batch", "fetch", "b"]).exits_with(7);
    assert!(
        done.stdout.contains("in_progress, 0 of 5 done"),
        "{}",
        done.stdout
    );
    let done = work.run(&["batch", "fetch", "b"]).exits_with(0);
    assert!(
        done.stdout.contains("completed, 4 of 5 done, 1 failed"),
        "{}",
        done.stdout
    );
    let done = work.run(&["batch", "import", "b"]).exits_with(0);
    // 5 + 3 requests, of each file the last one failed
    assert!(
        done.stdout.contains("6 replies added")
            && done.stdout.contains("2 requests without a reply")
    );
    let before = server.requests().len();
    work.run(&["batch", "fetch", "b"]).exits_with(0);
    assert_eq!(
        server.requests().len() - before,
        2,
        "only the state is asked for"
    );
    assert_eq!(server.chat_count(), 0);
    work.score(&server, &[]).exits_with(0);
    assert!(
        server.chat_count() <= 2 * AT_MOST - 6,
        "six replies came from the batch"
    );
    for (path, bytes) in work.files() {
        assert!(
            !String::from_utf8_lossy(&bytes).contains(KEY),
            "the key is in {}",
            path.display()
        );
    }
}

#[test]
fn a_fetch_that_comes_too_early_can_be_given_again() {
    let work = Workspace::new(&["alpha"], 1);
    let service = Arc::new(Mutex::new(Service {
        looks: 1,
        ..Service::default()
    }));
    let server = FakeServer::start(
        Behaviour::good().handler(move |request| service.lock().unwrap().handle(request)),
    );
    export(&work, &server, &["--out", "b"]).exits_with(0);
    work.run(&["batch", "submit", "b"]).exits_with(0);
    work.run(&["batch", "fetch", "b"])
        .exits_with(7)
        .says(&["1 file not done yet"]);
    work.run(&["batch", "fetch", "b"])
        .exits_with(0)
        .says(&["batch import b"]);
}

#[test]
fn a_service_that_refuses_or_is_none_is_told_without_the_key() {
    let work = Workspace::new(&["alpha"], 1);
    let service = Arc::new(Mutex::new(Service::default()));
    let server = FakeServer::start(
        Behaviour::good().handler(move |request| service.lock().unwrap().handle(request)),
    );
    export(&work, &server, &["--out", "b"]).exits_with(0);
    let wrong = work
        .command(&["batch", "submit", "b"])
        .env("OPENAI_API_KEY", "sk-another-0123456789")
        .output()
        .unwrap();
    let wrong = Finished::of(wrong).exits_with(4).says(&["OPENAI_API_KEY"]);
    assert!(
        !wrong.all_text().contains("sk-another") && !wrong.all_text().contains(KEY),
        "{}",
        wrong.stderr
    );
    // a server of chat alone
    let plain = FakeServer::start(Behaviour::good());
    let url = plain.base_url();
    work.run(&["batch", "submit", "b", "--base-url", &url])
        .exits_with(4)
        .says(&["404", "vllm run-batch"]);
    work.run(&["batch", "fetch", "nowhere"])
        .exits_with(3)
        .says(&[
            "nowhere: is not a batch: it has no batch.json",
            "name the directory that scholareval batch export --out DIR wrote",
        ]);
}

/// A batch of one answer in files of at most `most` requests, submitted to a service that a test can change.
fn submitted(most: &str) -> (Workspace, FakeServer, Arc<Mutex<Service>>) {
    let work = Workspace::new(&["alpha"], 2);
    let service = Arc::new(Mutex::new(Service::default()));
    let shared = Arc::clone(&service);
    let server = FakeServer::start(
        Behaviour::good().handler(move |request| shared.lock().unwrap().handle(request)),
    );
    export(&work, &server, &["--out", "b", "--max-requests", most]).exits_with(0);
    work.run(&["batch", "submit", "b"]).exits_with(0);
    (work, server, service)
}

#[test]
fn two_submissions_at_once_do_not_create_two_batches() {
    let (work, _server, service) = submitted("50");
    let lock = std::fs::File::open(work.path("b/.lock")).unwrap();
    lock.lock().unwrap();
    for command in ["submit", "fetch"] {
        work.run(&["batch", command, "b"])
            .exits_with(3)
            .says(&["another scholareval is writing into this directory"]);
    }
    assert_eq!(service.lock().unwrap().batches.len(), 1);
}

#[test]
fn an_interrupted_creation_is_looked_for_again_before_a_batch_is_created() {
    let (work, _server, service) = submitted("50");
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    // killed between the creation and its answer, and the service does not list the batch yet
    let mut manifest = work.json("b/batch.json");
    let part = manifest["parts"][0].as_object_mut().unwrap();
    part.remove("batch_id");
    part.insert("creating_since".to_owned(), json!(now - 58));
    work.write("b/batch.json", &manifest.to_string());
    service.lock().unwrap().empty_lists = 1;
    let done = work
        .run(&["batch", "submit", "b"])
        .exits_with(0)
        .says(&["was interrupted", "looking again"]);
    assert!(
        done.stdout.contains("submitted as batch_0"),
        "{}",
        done.stdout
    );
    assert_eq!(service.lock().unwrap().batches.len(), 1);
    assert!(work.json("b/batch.json")["parts"][0]["creating_since"].is_null());
}

#[test]
fn a_missing_result_file_does_not_keep_the_others() {
    let (work, _server, service) = submitted("5");
    service.lock().unwrap().gone.insert("out-0".to_owned());
    let done = work.run(&["batch", "fetch", "b"]).exits_with(4).says(&[
        "does not have",
        "-001.output.jsonl",
        "batch import b",
    ]);
    assert!(done.stdout.contains("-001.errors.jsonl"), "{}", done.stdout);
    assert!(done.stdout.contains("-002.output.jsonl"), "{}", done.stdout);
    let done = work.run(&["batch", "import", "b"]).exits_with(0);
    assert!(done.stdout.contains("2 replies added"), "{}", done.stdout);
    // the service has the file again
    service.lock().unwrap().gone.clear();
    work.run(&["batch", "fetch", "b"]).exits_with(0);
    let done = work.run(&["batch", "import", "b"]).exits_with(0);
    assert!(done.stdout.contains("4 replies added"), "{}", done.stdout);
}

#[test]
fn a_download_that_was_cut_is_fetched_again() {
    let (work, _server, service) = submitted("50");
    service.lock().unwrap().cut.insert("out-0".to_owned());
    work.run(&["batch", "fetch", "b"])
        .exits_with(4)
        .says(&["results are missing or cut", "fetch again"]);
    work.run(&["batch", "fetch", "b"])
        .exits_with(0)
        .says(&["batch import b"]);
    let done = work.run(&["batch", "import", "b"]).exits_with(0);
    assert!(done.stdout.contains("7 replies added"), "{}", done.stdout);
}

#[test]
fn a_failed_batch_is_an_error_and_a_canceled_one_is_over() {
    let (work, _server, service) = submitted("50");
    service.lock().unwrap().status = "failed".to_owned();
    let done = work.run(&["batch", "fetch", "b"]).exits_with(4).says(&[
        "the service gave up the batch (failed) without a result",
        "another directory",
    ]);
    assert!(
        done.stdout.contains("line 1: no such model"),
        "{}",
        done.stdout
    );
    assert!(!done.stderr.contains("batch import"), "{}", done.stderr);
    service.lock().unwrap().status = "canceled".to_owned();
    let done = work.run(&["batch", "fetch", "b"]).exits_with(0);
    assert!(done.stdout.contains("canceled, 0 of"), "{}", done.stdout);
}

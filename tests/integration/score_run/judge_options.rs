//! Reaching the judge, what is sent to it, and which judge it is.

use scholareval::text::model_tokens::estimate_tokens;
use serde_json::{Value, json};

use super::judging::{constant_judge, constant_reply, kind_of};
use super::workspace::{AT_MOST, KEY, NOW, Workspace, scoring};
use super::{Act, Behaviour, FakeServer, Recorded};
use crate::support::fake_server::Reserved;

#[test]
fn without_options_the_requests_carry_the_references_parameters() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    for chat in server.chats() {
        let body = chat.json();
        let limit = if kind_of(&chat) == "citations" {
            // 2,000, and three for each token of the answer
            json!(2_000 + 3 * estimate_tokens("The alpha answer to c1, in few words."))
        } else {
            json!(100)
        };
        assert_eq!(
            (&body["temperature"], &body["max_tokens"]),
            (&json!(0.0), &limit),
            "{body}"
        );
        assert_eq!(body["response_format"], json!({"type": "json_object"}));
        assert_eq!(
            (&body["stream"], &body["seed"], &body["model"]),
            (&json!(false), &Value::Null, &json!("fake-judge"))
        );
        assert_eq!(
            chat.header("authorization"),
            Some(format!("Bearer {KEY}").as_str())
        );
        assert_eq!(
            (chat.path.as_str(), chat.query.as_str()),
            ("/v1/chat/completions", "")
        );
    }
}

#[test]
fn options_for_servers_that_differ_are_seen_in_every_request() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    let more = [
        "--max-tokens",
        "property=77,citations=16000,evidence=none",
        "--no-temperature",
        "--structured",
        "off",
        "--extra-body",
        r#"{"top_k": 1, "chat_template_kwargs": {"enable_thinking": false}}"#,
        "--header",
        "X-Team: biology",
        "--header",
        "X-Run:7",
    ];
    let url = server.base_url() + "?api-version=2024-10-21";
    work.run(&scoring(&url, &more)).exits_with(0);
    assert_eq!(server.chat_count(), AT_MOST);
    for chat in server.chats() {
        let body = chat.json();
        let limit = match kind_of(&chat) {
            "property" => json!(77),
            "citations" => json!(16000),
            "evidence" => Value::Null,
            _ => json!(100),
        };
        assert_eq!(body["max_tokens"], limit, "{body}");
        for absent in ["temperature", "response_format"] {
            assert!(body.get(absent).is_none(), "{absent} in {body}");
        }
        assert_eq!(
            (
                &body["top_k"],
                &body["chat_template_kwargs"]["enable_thinking"]
            ),
            (&json!(1), &json!(false))
        );
        assert_eq!(
            (chat.header("x-team"), chat.header("x-run")),
            (Some("biology"), Some("7"))
        );
        assert_eq!(chat.query, "api-version=2024-10-21");
    }
}

#[test]
fn openai_base_url_is_used_where_a_model_is_named_and_no_key_is_needed() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    // a bare host gets /v1
    let host = server.address().to_string();
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
    let mut command = work.command(&arguments);
    let output = command
        .env("OPENAI_BASE_URL", &host)
        .env_remove("OPENAI_API_KEY")
        .output()
        .unwrap();
    super::workspace::Finished::of(output).exits_with(0);
    assert_eq!(server.chat_count(), AT_MOST);
    assert!(
        server
            .chats()
            .iter()
            .all(|chat| chat.header("authorization").is_none())
    );
    // the URL alone names no judge: the baseline scores
    let mut command = work.command(&[
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--out",
        "lexical",
    ]);
    let output = command.env("OPENAI_BASE_URL", &host).output().unwrap();
    let done = super::workspace::Finished::of(output).exits_with(0);
    assert!(
        done.stdout.contains("lexical_score") && server.chat_count() == AT_MOST,
        "{}",
        done.stdout
    );
}

#[test]
fn without_a_model_the_only_one_of_the_server_is_asked() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge().serving("the-only-one", "/weights"));
    let url = server.base_url();
    work.run(&[
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--base-url",
        &url,
        "--out",
        "out",
    ])
    .exits_with(0);
    assert!(
        server
            .chats()
            .iter()
            .all(|chat| chat.json()["model"] == "the-only-one")
    );
    let judge = work.json("out/manifest.json")["roles"]["rubric"]["judges"][0].clone();
    assert_eq!(judge["id"], "the-only-one|root=weights");
    assert_eq!(
        judge["served"],
        json!({"id": "the-only-one", "root": "weights", "model_path": null})
    );
}

#[test]
fn a_server_that_is_still_loading_is_waited_for() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge().loading(1));
    work.score(&server, &["--wait-server", "30s"])
        .exits_with(0)
        .says(&["waiting for http://127.0.0.1"]);
    assert_eq!(server.chat_count(), AT_MOST);
    // without patience it is an error
    let server = FakeServer::start(constant_judge().loading(100));
    work.score(&server, &["--out", "other"])
        .exits_with(4)
        .says(&["--wait-server"]);
    assert_eq!(server.chat_count(), 0);
}

#[test]
fn a_server_that_starts_later_is_waited_for() {
    let work = Workspace::new(&["alpha"], 1);
    let reserved = Reserved::new();
    let url = reserved.base_url();
    work.run(&scoring(&url, &[]))
        .exits_with(4)
        .says(&["no judge answers at http://127.0.0.1"]);
    let (told, hear) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            told.send(()).unwrap();
            work.run(&scoring(&url, &["--wait-server", "60s"]))
        });
        hear.recv().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(150));
        let server = reserved.start(constant_judge());
        run.join().unwrap().exits_with(0);
        assert_eq!(server.chat_count(), AT_MOST);
    });
}

#[test]
fn a_wrong_key_a_spent_quota_and_an_unknown_model_stop_the_run_with_exit_4() {
    let quota = Act::error(429, "insufficient_quota", "You exceeded your current quota");
    let unknown = Act::error(
        404,
        "model_not_found",
        "The model `fake-judge` does not exist",
    );
    for (judge, words) in [
        (
            Behaviour::good().key("sk-another-key"),
            "refused the key from OPENAI_API_KEY",
        ),
        (
            Behaviour::always(quota),
            "the quota of the judge's account is spent",
        ),
        (Behaviour::always(unknown), "does not serve the model"),
    ] {
        let work = Workspace::new(&["alpha"], 4);
        let server = FakeServer::start(judge);
        let done = work
            .score(&server, &["--concurrency", "2"])
            .exits_with(4)
            .says(&[words]);
        assert!(
            server.chat_count() <= 2,
            "{} calls after {words}",
            server.chat_count()
        );
        assert!(!done.stderr.contains(KEY), "{}", done.stderr);
    }
}

#[test]
fn a_model_that_the_server_does_not_have_is_one_error_with_the_nearest_that_it_has() {
    let vllm = json!({"object": "error", "message": "The model `fake-judge` does not exist.", "type": "NotFoundError",
        "param": null, "code": 404});
    for act in [
        Act::status(404, vllm.to_string()),
        Act::error(
            404,
            "model_not_found",
            "The model `fake-judge` does not exist",
        ),
        Act::error(400, "invalid_model", "Invalid model: fake-judge"),
    ] {
        let work = Workspace::new(&["alpha"], 4);
        let server = FakeServer::start(Behaviour::always(act).serving("fake-judge-2", ""));
        let done = work
            .score(&server, &["--concurrency", "2", "--cache-id", "x"])
            .exits_with(4);
        let errors: Vec<&str> = done
            .stderr
            .lines()
            .filter(|line| line.starts_with("error: "))
            .collect();
        assert_eq!(errors.len(), 1, "{}", done.stderr);
        assert!(
            errors[0].ends_with("check --model, did you mean \"fake-judge-2\"?"),
            "{errors:?}"
        );
        assert_eq!(
            done.stderr.matches("does not serve the model").count(),
            1,
            "{}",
            done.stderr
        );
        assert!(
            done.stdout.is_empty() && server.chat_count() <= 2,
            "{}",
            done.stdout
        );
    }
}

#[test]
fn https_to_a_server_of_plain_http_is_recognized() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // All of it: bytes that are left unread would reset the connection.
            let _ = stream.read(&mut [0; 8192]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let work = Workspace::new(&["alpha"], 1);
    let url = format!("https://{address}/v1");
    let done = work
        .run(&scoring(&url, &["--wait-server", "60s"]))
        .exits_with(4);
    let error = format!(
        "error: the server at {address} speaks http, not https: use --base-url http://{address}\n"
    );
    assert!(done.stderr.ends_with(&error), "{}", done.stderr);
}

#[test]
fn where_nothing_can_be_judged_no_table_is_printed_and_the_exit_code_says_whether_replies_came() {
    let prose = Act::Content("I find this rather good.".to_owned());
    for (act, code, start, words) in [
        (
            Act::status(500, "out of memory"),
            4,
            "warning: 5 calls without a reply, such as \"status 500: out of memory",
            "no call got a usable reply (the last one: status 500: out of memory",
        ),
        (
            prose,
            5,
            "warning: 5 unreadable property replies, such as \"I find this rather good.\"",
            "none of 24 replies can be read; the first one is",
        ),
    ] {
        let work = Workspace::new(&["alpha"], 2);
        let server = FakeServer::start(Behaviour::always(act));
        let more = ["--retries", "0", "--max-unscored", "1"];
        let done = work
            .score(&server, &more)
            .exits_with(code)
            .says(&[start, words]);
        assert!(done.stdout.is_empty(), "{}", done.stdout);
        assert_eq!(
            work.lines("out/scores.jsonl").len(),
            2,
            "the record is complete"
        );
    }
}

#[test]
fn a_quota_that_is_spent_midway_loses_nothing() {
    let work = Workspace::new(&["alpha"], 3);
    let quota = Act::error(429, "insufficient_quota", "You exceeded your current quota");
    let server = FakeServer::start(constant_judge().nth(10, quota.clone()).nth(11, quota));
    work.score(&server, &["--concurrency", "1"])
        .exits_with(4)
        .says(&["the same command continues where it stopped"]);
    assert_eq!(server.chat_count(), 11);
    assert_eq!(work.json("out/manifest.json")["status"], "stopped");
    // 10 replies: the 6 calls of one answer, and 4 of the next
    assert_eq!(
        work.lines("out/scores.jsonl").len(),
        1,
        "what was scored stays in the record"
    );
    let server = server.replaced_by(constant_judge());
    work.score(&server, &[]).exits_with(0);
    assert_eq!(
        server.chat_count(),
        3 * AT_MOST - 10,
        "what was paid is not asked again"
    );
}

#[test]
fn equal_refusals_of_three_answers_stop_the_run_with_the_option_that_helps() {
    let work = Workspace::new(&["alpha"], 3);
    let server = FakeServer::start(Behaviour::always(Act::error(
        400,
        "bad",
        "temperature must be above 0",
    )));
    let done = work.score(&server, &["--concurrency", "1"]).exits_with(4);
    done.says(&[
        "refused calls about 3 different cases in a row",
        "temperature must be above 0",
        "--no-temperature",
    ]);
    assert_eq!(
        server.chat_count(),
        2 * NOW + 1,
        "all of two answers, the first of the third"
    );
    let check = [
        "check",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "fake-judge",
        "--base-url",
    ];
    let url = server.base_url();
    work.run(&[&check[..], &[&url]].concat())
        .exits_with(4)
        .says(&["--no-temperature"]);
}

/// A judge that takes neither a temperature nor `max_tokens`, as OpenAI's reasoning models.
fn particular_judge() -> Behaviour {
    constant_judge().deciding(|request| {
        let body = request.json();
        let refused = ["max_tokens", "temperature"].into_iter().find(|name| body.get(name).is_some())?;
        let message = format!("Unsupported parameter: '{refused}' is not supported with this model.");
        let error = json!({"error": {"message": message, "param": refused, "code": "unsupported_parameter"}});
        Some(Act::status(400, error.to_string()))
    })
}

#[test]
fn refused_parameters_are_left_out_of_all_calls_once_and_for_later_runs() {
    let work = Workspace::new(&["alpha"], 3);
    let server = FakeServer::start(particular_judge());
    let note = "the judge was asked without temperature, which its server does not support";
    let first = work.score(&server, &["--concurrency", "1"]).exits_with(0);
    assert_eq!(first.stdout.matches(note).count(), 1, "{}", first.stdout);
    // The first call is made three times: with both, without max_tokens, without temperature.
    assert_eq!(server.chat_count(), 3 * AT_MOST + 2);
    let last = server.chats().pop().unwrap().json();
    assert_eq!(
        (&last["temperature"], &last["max_tokens"]),
        (&Value::Null, &Value::Null)
    );
    assert!(
        server
            .chats()
            .iter()
            .any(|chat| chat.json()["max_completion_tokens"] == 100)
    );
    let calls = work.lines("out/calls.jsonl");
    assert!(calls.iter().all(|call| call["reply"]["note"] == note));
    let again = work
        .score(&server, &["--out", "again"])
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert!(again.stdout.contains(note), "{}", again.stdout);
    work.score(&server, &["--out", "given", "--no-temperature"])
        .exits_with(0);
    assert_eq!(
        server.chat_count(),
        3 * AT_MOST + 2,
        "the cached replies are those without a temperature"
    );
    // A run that has lost its cache finds the refusals again, and its replies in its record.
    work.score(&server, &["--no-cache"]).exits_with(0);
    assert_eq!(
        server
            .chats()
            .iter()
            .filter(|chat| !chat.text().contains("temperature"))
            .count(),
        3 * AT_MOST
    );
}

#[test]
fn calls_that_are_refused_at_once_are_all_asked_again() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(particular_judge());
    work.score(&server, &["--concurrency", "8"]).exits_with(0);
    let paid = server
        .chats()
        .iter()
        .filter(|chat| !chat.text().contains("temperature"))
        .count();
    assert!(paid >= 2 * 3 * AT_MOST, "{paid}");
    assert!(
        work.lines("out/calls.jsonl")
            .iter()
            .all(|call| call["reply"].is_object()),
        "every call has its reply"
    );
}

#[test]
fn check_finds_refused_parameters_and_a_run_begins_without_them() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(particular_judge());
    let url = server.base_url();
    let check = [
        "check",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "fake-judge",
        "--base-url",
        &url,
    ];
    let checked = work.run(&check).exits_with(0);
    assert!(
        checked
            .stdout
            .contains("note: the judge was asked without temperature"),
        "{}",
        checked.stdout
    );
    assert_eq!(server.chat_count(), 3);
    work.score(&server, &[]).exits_with(0);
    assert_eq!(
        server.chat_count(),
        3 + AT_MOST - 1,
        "the reply of the check is cached"
    );
}

#[test]
fn a_schema_is_asked_for_where_it_is_wanted_and_json_mode_takes_its_place_where_it_is_refused() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--structured", "schema"])
        .exits_with(0);
    for chat in server.chats() {
        let format = &chat.json()["response_format"];
        assert_eq!(
            (&format["type"], &format["json_schema"]["strict"]),
            (&json!("json_schema"), &json!(true))
        );
        assert_eq!(format["json_schema"]["name"], kind_of(&chat));
        let required = if kind_of(&chat) == "citations" {
            "claims"
        } else {
            "score"
        };
        assert_eq!(
            format["json_schema"]["schema"]["required"],
            json!([required])
        );
    }
    let message = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.";
    let error = json!({"error": {"message": message, "param": "response_format", "code": null}});
    let refusing = |request: &Recorded| request.text().contains("json_schema");
    let judge = constant_judge().when(refusing, Act::status(400, error.to_string()));
    let server = server.replaced_by(judge);
    // One at a time: calls that start together are refused together.
    let one_at_a_time = ["--no-cache", "--concurrency", "1", "--out", "refused"];
    let arguments = [&["--structured", "schema"], &one_at_a_time[..]].concat();
    work.score(&server, &arguments).exits_with(0);
    assert_eq!(
        server.chat_count(),
        AT_MOST + 1,
        "the schema is refused once"
    );
    assert_eq!(
        server.chats()[1].json()["response_format"],
        json!({"type": "json_object"})
    );
    let note = "the judge was asked without a reply schema, which its server does not support";
    assert_eq!(work.lines("refused/calls.jsonl")[0]["reply"]["note"], note);
}

#[test]
fn a_server_that_does_not_keep_to_a_declared_schema_is_asked_without_it_from_then_on() {
    let work = Workspace::new(&["alpha"], 1);
    work.run(&["prompts", "export", "set"]).exits_with(0);
    let manifest = work.read("set/manifest.toml");
    let schema = "\nschema = '{\"type\": \"object\"}'\n";
    let of_property = manifest.replacen("[property]\n", &format!("[property]{schema}"), 1);
    assert_ne!(manifest, of_property);
    std::fs::write(work.path("set/manifest.toml"), of_property).unwrap();
    let has_schema = |request: &Recorded| request.text().contains("json_schema");
    let server = FakeServer::start(constant_judge().when(has_schema, Act::Content(String::new())));
    let first = work
        .score(&server, &["--prompts", "set", "--concurrency", "1"])
        .exits_with(0);
    let asked = |kind: &str, schema: bool| {
        let fits = |chat: &&Recorded| kind_of(chat) == kind && has_schema(chat) == schema;
        server.chats().iter().filter(fits).count()
    };
    assert_eq!(
        (asked("property", true), asked("property", false)),
        (1, 2),
        "two criteria, one of them twice"
    );
    assert_eq!((asked("evidence", true), asked("evidence", false)), (0, 2));
    let calls = work.lines("out/calls.jsonl");
    let noted = calls.iter().filter(|call| {
        call["reply"]["note"]
            .as_str()
            .is_some_and(|note| note.contains("schema"))
    });
    assert_eq!(noted.count(), 2, "both are noted");
    let note = "the judge was asked without a reply schema, which its server does not support";
    assert_eq!(first.stdout.matches(note).count(), 1, "{}", first.stdout);
    let sent = server.chat_count();
    work.score(&server, &["--prompts", "set", "--out", "again"])
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(server.chat_count(), sent);
}

#[test]
fn a_server_whose_constrained_replies_are_empty_is_asked_for_text_from_then_on() {
    let is_constrained = |request: &Recorded| request.text().contains("response_format");
    let blank = json!({
        "model": "fake-judge",
        "choices": [{"message": {"content": "\n\n \n"}, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 100},
    });
    for (empty, structured, more) in [
        (Act::Content(String::new()), "schema", 2),
        (Act::Content(String::new()), "auto", 1),
        (Act::json(&blank), "schema", 2),
    ] {
        let work = Workspace::new(&["alpha"], 1);
        let server = FakeServer::start(constant_judge().when(is_constrained, empty));
        let form = ["--structured", structured, "--concurrency", "1"];
        work.score(&server, &form).exits_with(0);
        // The schema and JSON mode are each found to fail once.
        assert_eq!(server.chat_count(), AT_MOST + more, "{structured}");
        let again = [&form[..], &["--out", "again"]].concat();
        work.score(&server, &again)
            .exits_with(0)
            .says(&["nothing to ask"]);
        work.answers("beta", [("c1", "Another answer.".to_owned())]);
        work.score(&server, &[&form[..], &["--out", "more"]].concat())
            .exits_with(0);
        assert_eq!(server.chat_count(), 2 * AT_MOST + more, "learned");
    }
}

#[test]
fn replies_in_json_mode_count_though_the_server_loses_it_later() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--out", "one"]).exits_with(0);
    let is_constrained = |request: &Recorded| request.text().contains("response_format");
    let server =
        server.replaced_by(constant_judge().when(is_constrained, Act::Content(String::new())));
    work.answers("alpha", [("c1", "Another answer.".to_owned())]);
    work.score(&server, &["--out", "two", "--concurrency", "1"])
        .exits_with(0);
    let sent = server.chat_count();
    let first = work.lines("one/inputs.jsonl");
    let answer = first.iter().find(|line| line["type"] == "answer").unwrap();
    let text = answer["answer_text"].as_str().unwrap().to_owned();
    work.answers("alpha", [("c1", text)]);
    work.score(&server, &["--out", "three"])
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(server.chat_count(), sent);
}

#[test]
fn a_refusal_after_good_replies_to_a_schema_is_the_judges_and_the_schema_stays() {
    let work = Workspace::new(&["alpha"], 2);
    work.run(&["prompts", "export", "set"]).exits_with(0);
    let schema = "[property]\nschema = '{\"type\": \"object\"}'\n";
    let manifest = work
        .read("set/manifest.toml")
        .replacen("[property]\n", schema, 1);
    std::fs::write(work.path("set/manifest.toml"), manifest).unwrap();
    let has_schema = |request: &Recorded| request.text().contains("json_schema");
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let second = move |request: &Recorded| {
        has_schema(request) && asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 1
    };
    let server =
        FakeServer::start(constant_judge().when(second, Act::Content("I cannot help.".to_owned())));
    work.score(&server, &["--prompts", "set", "--concurrency", "1"])
        .exits_with(0);
    let of = |schema: bool| {
        server
            .chats()
            .iter()
            .filter(|chat| kind_of(chat) == "property" && has_schema(chat) == schema)
            .count()
    };
    assert_eq!(
        (of(true), of(false)),
        (4, 1),
        "four criteria with a schema, one of them again without"
    );
    assert!(work.read("out/calls.jsonl").contains("I cannot help."));
}

#[test]
fn reasoning_is_kept_counted_and_given_room() {
    let work = Workspace::new(&["alpha"], 1);
    let reply = |request: &Recorded| {
        let is_short = request.json()["max_tokens"]
            .as_u64()
            .is_some_and(|limit| limit < 1000);
        let (content, reason) = if is_short {
            (String::new(), "length")
        } else {
            (constant_reply(kind_of(request)), "stop")
        };
        Some(Act::json(&json!({
            "model": "fake-judge",
            "choices": [{"message": {"content": content, "reasoning_content": "<b>hm</b>"}, "finish_reason": reason}],
            "usage": {"prompt_tokens": 50, "completion_tokens": 90, "completion_tokens_details": {"reasoning_tokens": 80}},
        })))
    };
    let server = FakeServer::start(Behaviour::good().deciding(reply));
    work.score(&server, &["--out", "short"]).exits_with(0);
    let reason = "reply cut inside its reasoning, before any verdict, at 90 tokens";
    assert!(work.read("short/calls.jsonl").contains(reason));
    work.score(&server, &["--reasoning-effort", "low"])
        .exits_with(0);
    let last = server.chats().pop().unwrap().json();
    assert_eq!(
        (&last["reasoning_effort"], &last["max_tokens"]),
        (&json!("low"), &json!(100 + 4000))
    );
    for call in work.lines("out/calls.jsonl") {
        assert_eq!(
            (
                &call["reply"]["reasoning"],
                &call["reply"]["usage"]["reasoning_tokens"]
            ),
            (&json!("<b>hm</b>"), &json!(80))
        );
    }
    work.run(&["report", "out", "--out", "page.html"])
        .exits_with(0);
    let page = work.read("page.html");
    assert!(
        page.contains("hm") && !page.contains("<b>hm</b>"),
        "reasoning is text"
    );
    let given = [
        "--reasoning-effort",
        "low",
        "--max-tokens",
        "property=77,evidence=77,expertise=77,citations=77",
        "--no-cache",
        "--out",
        "given",
    ];
    let before = server.chat_count();
    work.score(&server, &given).exits_with(0);
    let limits: std::collections::BTreeSet<u64> = server.chats()[before..]
        .iter()
        .map(|chat| chat.json()["max_tokens"].as_u64().unwrap())
        .collect();
    // A given limit is that of the visible reply: it has no room until a reply needs it.
    assert_eq!(limits, [77, 4077].into());
}

#[test]
fn flex_is_asked_for_without_other_keys() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--service-tier", "flex"])
        .exits_with(0);
    assert!(
        server
            .chats()
            .iter()
            .all(|chat| chat.json()["service_tier"] == "flex")
    );
    let sent = server.chat_count();
    work.score(&server, &["--out", "standard"])
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(
        server.chat_count(),
        sent,
        "the tier changes the price and no reply"
    );
}

#[test]
fn a_rerun_sends_nothing_also_when_the_server_is_gone() {
    let work = Workspace::new(&["alpha", "beta"], 2);
    let server = FakeServer::start(Behaviour::good());
    let first = work.score(&server, &[]).exits_with(0);
    let asked = server.chat_count();
    let second = work
        .score(&server, &[])
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(
        (server.chat_count(), &second.stdout),
        (asked, &first.stdout)
    );
    let url = server.base_url();
    let _port = server.gone();
    let third = work
        .run(&scoring(&url, &[]))
        .exits_with(0)
        .says(&["is unreachable; cached replies"]);
    assert_eq!(third.stdout, first.stdout);
    let before = work.read("out/scores.jsonl");
    work.run(&scoring(&url, &["--overwrite"])).exits_with(0);
    assert_eq!(work.read("out/scores.jsonl"), before);
    // what is not paid cannot be had
    work.answers("gamma", [("c1", "New.".to_owned())]);
    work.run(&scoring(&url, &["--out", "other"]))
        .exits_with(4)
        .says(&["4 calls or more are not in the cache"]);
}

#[test]
fn the_replies_of_another_model_under_the_same_alias_are_not_used() {
    let work = Workspace::new(&["alpha"], 1);
    let old = FakeServer::start(constant_judge().serving("fake-judge", "/weights/old"));
    work.score(&old, &[]).exits_with(0);
    let new = old.replaced_by(constant_judge().serving("fake-judge", "/weights/new"));
    let told = "warning: fake-judge is another model than at the last run";
    work.score(&new, &[]).exits_with(3).says(&[
        told,
        "different judge of rubric: fake-judge|root=old (in the run), fake-judge|root",
    ]);
    assert_eq!(new.chat_count(), 0);
    work.score(&new, &["--out", "new"]).exits_with(0);
    assert_eq!(new.chat_count(), AT_MOST, "nothing of the old one is used");
    // the old one again, under another address: its replies are found
    let old = FakeServer::start(constant_judge().serving("fake-judge", "/weights/old"));
    work.score(&old, &[])
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(old.chat_count(), 0);
    // a model file, as llama.cpp tells it
    let new = new.replaced_by(constant_judge().model_path("/models/a.gguf"));
    work.score(&new, &["--out", "llama"])
        .exits_with(0)
        .says(&[told]);
    assert_eq!(
        work.json("out/manifest.json")["roles"]["rubric"]["judges"][0]["id"],
        "fake-judge|root=old"
    );
    assert_eq!(
        work.json("llama/manifest.json")["roles"]["rubric"]["judges"][0]["id"],
        "fake-judge|path=a.gguf"
    );
}

#[test]
fn a_cache_id_of_the_users_own_stands_for_the_judge() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge().serving("fake-judge", "/a"));
    work.score(&server, &["--cache-id", "mine"]).exits_with(0);
    let server = server.replaced_by(constant_judge().serving("fake-judge", "/b"));
    work.score(&server, &["--cache-id", "mine"])
        .exits_with(0)
        .says(&["--cache-id \"mine\"", "nothing to ask"]);
    assert_eq!(server.chat_count(), 0);
}

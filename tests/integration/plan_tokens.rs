//! Prompt tokens of a plan: counted by the server or by a vocabulary that is built in, on a sample of many calls; else
//! estimated, and said so.

use serde_json::{Value, json};

use scholareval::judge::token_counter::Encoding;

use crate::support::fake_server::{Act, Behaviour, FakeServer, Recorded};
use crate::support::workspace::{NOW, Workspace};

/// A tokenizer unlike the estimate: 11 tokens of a template, a token for every vowel and every white space.
fn fake_count(text: &str) -> u64 {
    11 + text.chars().filter(|c| "aeiouAEIOU \n".contains(*c)).count() as u64
}

/// The texts of a chat, one behind the other.
fn chat_text(messages: &Value) -> String {
    let messages = messages.as_array().into_iter().flatten();
    messages.filter_map(|message| message["content"].as_str()).collect::<Vec<_>>().join("\n")
}

/// Replies that open no gate: what is asked is what is askable now.
fn closed(behaviour: Behaviour) -> Behaviour {
    behaviour.saying(|request| {
        if request.asks_for_claims() { json!({"claims": []}) } else { json!({"score": 0}) }.to_string()
    })
}

fn vllm() -> Behaviour {
    let models = json!({"data": [{"id": "fake-judge", "max_model_len": 32_000}]});
    let tokenize = |request: &Recorded| {
        let body = (request.path == "/tokenize").then(|| request.json())?;
        assert_eq!(body["model"], "fake-judge", "{body}");
        let text = body["prompt"].as_str().map_or_else(|| chat_text(&body["messages"]), str::to_owned);
        Some(Act::json(&json!({"count": fake_count(&text), "max_model_len": 32_000, "tokens": []})))
    };
    closed(Behaviour::good().models(Act::json(&models)).handler(tokenize))
}

fn llama_cpp() -> Behaviour {
    let props = json!({"default_generation_settings": {"n_ctx": 32_000}});
    let templated = |request: &Recorded| {
        let body = (request.path == "/apply-template").then(|| request.json())?;
        assert_eq!(body["chat_template_kwargs"], json!({"enable_thinking": false}), "{body}");
        Some(Act::json(&json!({"prompt": chat_text(&body["messages"])})))
    };
    let tokenize = |request: &Recorded| {
        let body = (request.path == "/tokenize").then(|| request.json())?;
        let tokens = vec![7; fake_count(body["content"].as_str().unwrap()) as usize];
        Some(Act::json(&json!({"tokens": tokens})))
    };
    closed(Behaviour::good().props(Act::json(&props)).handler(templated).handler(tokenize))
}

fn plan(work: &Workspace, url: &str, more: &[&str]) -> (Value, String) {
    let base = ["plan", "answers", "--tests", "tests.json", "--base-url", url];
    let table = work.run(&[&base[..], more].concat()).exits_with(0).stdout;
    let json = work.run(&[&base[..], more, &["--format", "json"]].concat()).exits_with(0).stdout;
    (serde_json::from_str(&json).unwrap(), table)
}

fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer} in {value}"))
}

fn requests(server: &FakeServer, path: &str) -> usize {
    server.requests().iter().filter(|request| request.path == path).count()
}

/// Answers of one system, from a few words to some hundred.
fn uneven(cases: usize) -> Workspace {
    let work = Workspace::new(&[], cases);
    let words = ["Rain", "causes", "erosion,", "1234", "photosynthesis", "(see", "[3])", "in", "the", "Sahara."];
    let text = |case: usize| {
        let at = |n: usize| words[(7 * n + 3 * case) % words.len()];
        (0..(case * 37) % 300 + 5).map(at).collect::<Vec<_>>().join(" ")
    };
    let ids: Vec<String> = (1..=cases).map(|case| format!("c{case}")).collect();
    work.answers("alpha", ids.iter().enumerate().map(|(case, id)| (id.as_str(), text(case))));
    work
}

#[test]
fn a_small_plan_counts_every_call_by_the_server() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(vllm());
    let (plan, table) = plan(&work, &server.base_url(), &["--model", "fake-judge"]);
    assert_eq!(server.chat_count(), 0, "no reply is paid for a plan");
    let counting = &plan["judges"][0];
    assert_eq!((&counting["by"], &counting["counted"], &counting["of"]), (&json!("vllm"), &json!(36), &json!(36)));
    assert_eq!(number(counting, "/error"), 0.0);
    assert!(table.contains("counted by vllm on all 36 calls, ±0.0%\n"), "{table}");
    work.score(&server, &[]).exits_with(0);
    assert_eq!(server.chat_count(), 6 * NOW, "no gate was open");
    let counted: u64 = server.chats().iter().map(|chat| fake_count(&chat_text(&chat.json()["messages"]))).sum();
    assert_eq!(number(&plan, "/total/now/prompt_tokens"), counted as f64);
}

#[test]
fn of_many_calls_a_sample_is_counted_and_scaled() {
    let work = uneven(150);
    let server = FakeServer::start(llama_cpp());
    let more = ["--model", "fake-judge", "--extra-body", r#"{"chat_template_kwargs": {"enable_thinking": false}}"#];
    let (plan, table) = plan(&work, &server.base_url(), &more);
    let counting = &plan["judges"][0];
    let (counted, of) = (number(counting, "/counted"), number(counting, "/of"));
    // 4 kinds, 128 of each; 150 answers of 6 calls at most
    assert_eq!((counted, of), (4.0 * 128.0, 900.0), "{counting}");
    assert!(requests(&server, "/tokenize") as f64 <= 2.0 * counted, "the table and the JSON have asked");
    let error = number(counting, "/error");
    assert!(error > 0.0 && error <= 0.02, "{error}");
    assert!(table.contains(&format!("counted by llama.cpp on {counted} of 900 calls")), "{table}");
    work.score(&server, &more[2..]).exits_with(0);
    assert_eq!(server.chat_count(), 150 * NOW);
    let truth: u64 = server.chats().iter().map(|chat| fake_count(&chat_text(&chat.json()["messages"]))).sum();
    let off = number(&plan, "/total/now/prompt_tokens") / truth as f64 - 1.0;
    assert!(off.abs() <= 0.02, "{off}");
    // the estimate alone is far off: this tokenizer is another one
    assert!((number(&estimated(&work, &server), "/total/now/prompt_tokens") / truth as f64 - 1.0).abs() > 0.1);
}

/// The plan of a server of the same model that counts nothing.
fn estimated(work: &Workspace, server: &FakeServer) -> Value {
    let silent = FakeServer::start(Behaviour::good());
    assert_ne!(silent.base_url(), server.base_url());
    plan(work, &silent.base_url(), &["--model", "fake-judge", "--no-cache"]).0
}

#[test]
fn raw_completions_are_counted_as_prompts() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(vllm());
    let more = ["--model", "fake-judge", "--judge", "completions"];
    let (plan, _) = plan(&work, &server.base_url(), &more);
    assert_eq!(plan["judges"][0]["by"], "vllm");
    let counted = server.requests().into_iter().filter(|request| request.path == "/tokenize");
    assert!(counted.into_iter().all(|request| request.json()["prompt"].is_string()));
}

#[test]
fn where_a_server_cannot_count_the_estimate_is_used() {
    let work = uneven(40);
    let models = json!({"data": [{"id": "fake-judge", "max_model_len": 32_000}]});
    let broken = Behaviour::good().models(Act::json(&models)).route("/tokenize", Act::status(500, "no"));
    let server = FakeServer::start(broken);
    let (plan, table) = plan(&work, &server.base_url(), &["--model", "fake-judge"]);
    let counting = &plan["judges"][0];
    assert_eq!((&counting["by"], &counting["failed"], &counting["counted"]), (&Value::Null, &json!("vllm"), &json!(0)));
    assert_eq!(number(counting, "/error"), 0.12);
    assert!(table.contains("estimated, ±12.0% (vllm could not count them)"), "{table}");
    assert!(requests(&server, "/tokenize") < 40, "it was asked on and on");
}

#[test]
fn a_plan_needs_no_server_where_the_judge_is_known() {
    let work = Workspace::new(&["alpha"], 2);
    // nobody listens on the discard port of this machine
    let more = ["--model", "some-model", "--cache-id", "mine"];
    let (plan, table) = plan(&work, "http://127.0.0.1:9/v1", &more);
    assert_eq!(plan["judges"][0]["by"], Value::Null);
    assert!(table.contains("estimated, ±12.0%\n"), "{table}");
}

#[test]
fn a_model_of_openai_is_counted_by_its_own_vocabulary() {
    let work = uneven(20);
    let server = FakeServer::start(closed(Behaviour::good()));
    let (plan, table) = plan(&work, &server.base_url(), &["--model", "gpt-4o-2024-11-20"]);
    assert_eq!(plan["judges"][0]["by"], "o200k_base");
    assert!(table.contains("counted by o200k_base on all 120 calls, ±1.0%"), "{table}");
    let url = server.base_url();
    let score = ["score", "answers", "--tests", "tests.json", "--base-url", &url, "--model", "gpt-4o-2024-11-20"];
    work.run(&score).exits_with(0);
    let counted: u64 = server.chats().iter().map(|chat| Encoding::O200k.count_body(&chat.body).unwrap()).sum();
    assert_eq!(number(&plan, "/total/now/prompt_tokens"), counted as f64);
}

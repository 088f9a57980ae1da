//! `scholareval check`: one real question of each role, and what is learned by it.

use serde_json::{Value, json};

use super::support::fake_server::{Act, Behaviour, FakeServer, limit_of, reasoned};
use super::support::judging::{constant_judge, constant_reply, kind_of};
use super::support::workspace::{Finished, Workspace, scoring};

fn check(work: &Workspace, urls: &str, more: &[&str]) -> Finished {
    let mut arguments = vec![
        "check",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "fake-judge",
    ];
    arguments.extend(["--base-url", urls]);
    arguments.extend(more);
    work.run(&arguments)
}

/// A judge whose every message is this one.
fn replying(message: Value) -> Behaviour {
    let body = json!({"model": "fake-judge", "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 40, "completion_tokens": 7}});
    Behaviour::always(Act::json(&body))
}

#[test]
fn a_check_finds_the_room_for_reasoning_with_which_the_run_begins() {
    // 100 tokens of a verdict, and the rungs for the reasoning.
    for (reasoning, asked, room) in [
        (500, &[100, 4_100][..], "4,000"),
        (9_000, &[100, 4_100, 16_100], "16,000"),
    ] {
        let work = Workspace::new(&["alpha"], 1);
        let server = FakeServer::start(Behaviour::good().deciding(move |request| {
            let content = constant_reply(kind_of(request));
            Some(Act::json(&reasoned(request, reasoning, &content)))
        }));
        let checked = check(&work, &server.base_url(), &[]).exits_with(0);
        let limits: Vec<u64> = server.chats().iter().filter_map(limit_of).collect();
        assert_eq!(limits, asked);
        let shown = format!("room: {room} tokens");
        assert!(checked.stdout.contains(&shown), "{}", checked.stdout);
        work.score(&server, &[]).exits_with(0);
        let later = server.chats().split_off(asked.len());
        assert!(later.iter().all(|chat| limit_of(chat) > Some(reasoning)));
    }
}

#[test]
fn a_check_asks_a_question_of_the_run_which_then_has_its_reply() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    let url = server.base_url();
    let checked = check(&work, &url, &[]).exits_with(0);
    assert_eq!(server.chat_count(), 1);
    let call = &server.chats()[0];
    assert!(checked.stdout.contains("(rubric: "), "{}", checked.stdout);
    assert!(call.text().contains("alpha answer"), "{}", call.text());
    // A cached reply would test nothing.
    check(&work, &url, &[]).exits_with(0);
    assert_eq!(server.chat_count(), 2);

    work.score(&server, &[]).exits_with(0);
    let asked = server.chats().split_off(2);
    assert!(
        asked.iter().all(|chat| chat.body != call.body),
        "its reply is cached"
    );
}

#[test]
fn a_reply_that_cannot_be_read_fails_the_check_and_is_not_kept_for_the_run() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(replying(json!({"content": "A fine answer, seven of ten."})));
    let checked = check(&work, &server.base_url(), &[]).exits_with(4);
    let checked = checked.says(&["A fine answer, seven of ten.", "--structured"]);
    assert!(
        checked.stdout.contains("without a verdict"),
        "{}",
        checked.stdout
    );
    let server = server.replaced_by(constant_judge());
    work.score(&server, &[]).exits_with(0);
    let scores = work.lines("out/scores.jsonl");
    assert!(!scores[0].to_string().contains("unscored"), "{}", scores[0]);
}

#[test]
fn a_verdict_in_the_reasoning_field_is_not_read_and_named() {
    for field in ["reasoning", "reasoning_content"] {
        let work = Workspace::new(&["alpha"], 1);
        let message = json!({"content": null, field: "{\"score\": 7}"});
        let server = FakeServer::start(replying(message));
        check(&work, &server.base_url(), &[])
            .exits_with(4)
            .says(&["--reasoning-parser"]);
        work.score(&server, &["--max-unscored", "1"])
            .says(&["--reasoning-parser"]);
        let scores = work.lines("out/scores.jsonl");
        assert!(
            scores
                .iter()
                .all(|score| !score.to_string().contains("\"value\":0.7")),
            "{scores:?}"
        );
        // The form of the reply is not to blame, so that JSON mode is still asked for.
        let chats = server.chats();
        assert!(
            chats
                .iter()
                .all(|chat| chat.text().contains("response_format"))
        );
    }
}

#[test]
fn each_server_is_asked_and_the_tokens_are_shown() {
    let work = Workspace::new(&["alpha"], 1);
    let servers = [
        replying(json!({"content": "{\"score\": 7}"})),
        replying(json!({"content": "?"})),
    ];
    let [good, bad] = servers.map(FakeServer::start);
    let urls = format!("{},{}", good.base_url(), bad.base_url());
    let checked = check(&work, &urls, &[])
        .exits_with(4)
        .says(&[&bad.base_url()]);
    let line = format!("endpoint: {} answers in ", good.base_url());
    assert!(checked.stdout.contains(&line), "{}", checked.stdout);
    assert!(
        checked
            .stdout
            .contains("(rubric: 40 prompt tokens, 7 reply tokens)"),
        "{}",
        checked.stdout
    );
    assert_eq!(good.chat_count(), 1);
    assert!(bad.chat_count() >= 1);
}

#[test]
fn without_answers_the_sample_data_are_asked_about() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    let url = server.base_url();
    let checked = work
        .run(&["check", "--model", "fake-judge", "--base-url", &url])
        .exits_with(0);
    assert!(
        checked.stdout.contains("no answers given"),
        "{}",
        checked.stdout
    );
    assert_eq!(server.chat_count(), 1);
    assert_eq!(kind_of(&server.chats()[0]), "expertise");
}

/// llama.cpp with a model file, and the size of its model.
fn llama_cpp(path: &str, size: u64) -> Behaviour {
    let listed = json!({"data": [{"id": path, "meta": {"size": size, "n_params": 135}}]});
    constant_judge().models(Act::json(&listed)).model_path(path)
}

/// The arguments of a run that names no model.
fn unnamed<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = scoring(url, more);
    arguments.retain(|argument| !["--model", "fake-judge"].contains(argument));
    arguments
}

#[test]
fn a_judge_is_identified_by_its_file_and_never_by_a_path() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(llama_cpp("/home/alice/models/m.gguf", 270));
    work.run(&unnamed(&server.base_url(), &[])).exits_with(0);
    let sent = &server.chats()[0].json()["model"];
    assert_eq!(*sent, "/home/alice/models/m.gguf", "as the server lists it");
    let judge = work.json("out/manifest.json")["roles"]["rubric"]["judges"][0].clone();
    assert_eq!(judge["id"], "m.gguf|size=270|params=135");
    for name in ["manifest.json", "calls.jsonl", "scores.jsonl"] {
        assert!(
            !work.read(&format!("out/{name}")).contains("alice"),
            "{name}"
        );
    }
    work.run(&["report", "out", "--out", "page.html"])
        .exits_with(0);
    assert!(!work.read("page.html").contains("alice"));

    // The same file under a link, another one in its place.
    let linked = FakeServer::start(llama_cpp("/srv/m.gguf", 270));
    work.run(&unnamed(&linked.base_url(), &["--out", "linked"]))
        .exits_with(0)
        .says(&["nothing to ask"]);
    let windows = FakeServer::start(llama_cpp("C:\\models\\m.gguf", 270));
    work.run(&unnamed(&windows.base_url(), &["--out", "windows"]))
        .exits_with(0)
        .says(&["nothing to ask"]);
    let swapped = FakeServer::start(llama_cpp("/srv/m.gguf", 271));
    work.run(&unnamed(&swapped.base_url(), &["--out", "swapped"]))
        .exits_with(0);
    assert!(swapped.chat_count() > 0);
}

#[test]
fn replies_and_runs_of_earlier_versions_are_found_by_the_whole_path() {
    let work = Workspace::new(&["alpha"], 1);
    let path = "/home/alice/models/m.gguf";
    let server = FakeServer::start(llama_cpp(path, 270));
    let url = server.base_url();
    let earlier = format!("{path}|path={path}");
    work.run(&unnamed(&url, &["--cache-id", &earlier]))
        .exits_with(0);
    let asked = server.chat_count();
    work.run(&unnamed(&url, &["--out", "now"]))
        .exits_with(0)
        .says(&["nothing to ask"]);

    // The run of the earlier version, as it is in its manifest.
    let manifest = work
        .read("now/manifest.json")
        .replace("m.gguf|size=270|params=135", &earlier);
    work.write("now/manifest.json", &manifest);
    work.run(&unnamed(&url, &["--out", "now"])).exits_with(0);
    assert_eq!(server.chat_count(), asked);
    let judge = &work.json("now/manifest.json")["roles"]["rubric"]["judges"][0]["id"];
    assert_eq!(*judge, "m.gguf|size=270|params=135");
}

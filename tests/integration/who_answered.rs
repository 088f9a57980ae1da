//! A service may answer by another model than the requested one: who answered is recorded, shown and compared, and
//! decides which cached replies count.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::fake_server::{
    Act, Behaviour, DONE, FakeServer, Gate, Recorded, good_completion, good_content,
};
use crate::support::judging::kind_of;
use crate::support::workspace::{AT_MOST, Finished, NOW, Workspace, wait_until};

/// A good reply, as that model gives it.
fn reply_of(model: &str, request: &Recorded) -> Act {
    Act::json(&json!({
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "model": model,
        "system_fingerprint": format!("fp_{model}"),
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": good_content(request)},
            "finish_reason": "stop",
        }],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
    }))
}

/// The same as a stream, whose events name the model.
fn stream_by(model: &str, request: &Recorded) -> Act {
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        let chunk = json!({"id": "chatcmpl-fake", "model": model, "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let content = chunk(json!({"content": good_content(request)}), Value::Null);
    let end = chunk(json!({}), "stop".into());
    Act::status(200, content + &end + DONE).with_header("content-type", "text/event-stream")
}

/// A server that answers its calls, counted from 0, by the model that `model` names.
fn answered_by(model: impl Fn(usize) -> &'static str + Send + Sync + 'static) -> FakeServer {
    FakeServer::start(answers(model))
}

fn answers(model: impl Fn(usize) -> &'static str + Send + Sync + 'static) -> Behaviour {
    let count = AtomicUsize::new(0);
    Behaviour::good().deciding(move |request| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        Some(reply_of(model(number), request))
    })
}

/// Calls of the judge `fake-judge` in a run by the model that answered.
fn answering_models(work: &Workspace, run: &str) -> Vec<(String, u64)> {
    let manifest = work.json(&format!("{run}/manifest.json"));
    let models = manifest["roles"]["rubric"]["judges"][0]["answered_by"].clone();
    let counted = models.as_array().cloned().unwrap_or_default();
    let counted = counted.iter().map(|model| {
        (
            model["model"].as_str().unwrap_or_default().to_owned(),
            model["calls"].as_u64().unwrap(),
        )
    });
    counted.collect()
}

fn is_said(finished: &Finished, words: &str) -> bool {
    let text = format!("{}\n{}", finished.stdout, finished.stderr);
    let on_one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    on_one_line.contains(words)
}

#[track_caller]
fn says(finished: &Finished, words: &str) {
    assert!(
        is_said(finished, words),
        "{words:?} is not in\n{finished:?}"
    );
}

const MIXED: &str = "Several models answered as judge fake-judge: fake-judge (4 calls), other (";

#[test]
fn several_models_in_a_run_are_a_warning_everywhere_and_an_error_with_strict() {
    let work = Workspace::new(&["alpha", "beta"], 1);
    let server = answered_by(|number| if number < NOW { "fake-judge" } else { "other" });
    let scored = work.score(&server, &["--concurrency", "1"]);
    assert_eq!(scored.code, Some(0), "{scored:?}");
    says(
        &scored,
        "judge: fake-judge (answered by fake-judge and other)",
    );
    says(&scored, MIXED);

    let counted = answering_models(&work, "out");
    assert_eq!(counted[0], ("fake-judge".to_owned(), 4));
    assert_eq!(counted[1].0, "other");
    let calls = work.lines("out/calls.jsonl").len() as u64;
    assert_eq!(counted[0].1 + counted[1].1, calls);

    let summary = work.json("out/summary.json");
    let answered = &summary["answered_by"][0];
    assert_eq!(answered["models"][1]["model"], "other");
    assert_eq!(
        answered["models"][1]["fingerprints"]["fp_other"],
        counted[1].1
    );
    assert!(summary["notes"].to_string().contains(MIXED));
    says(&work.run(&["rescore", "out"]), MIXED);

    says(&work.run(&["compare", "out"]), MIXED);
    says(
        &work.run(&["runs", "out"]),
        "answered by fake-judge and other",
    );
    assert_eq!(
        work.run(&["report", "out", "--out", "p.html"]).code,
        Some(0)
    );
    assert!(work.read("p.html").contains(MIXED));
    let exported = work.run(&["export", "inspect", "out", "--out", "logs"]);
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let log = std::fs::read_dir(work.path("logs"))
        .unwrap()
        .next()
        .unwrap();
    let log: Value = serde_json::from_slice(&std::fs::read(log.unwrap().path()).unwrap()).unwrap();
    let metadata = &log["eval"]["metadata"];
    assert!(metadata["warnings"][0].as_str().unwrap().contains(MIXED));
    assert_eq!(metadata["answered_by"][0]["models"][1]["model"], "other");

    // The record of the run counts, so it stays mixed.
    let strict = work.score(&server, &["--concurrency", "1", "--strict"]);
    assert_eq!(strict.code, Some(4), "{strict:?}");
    says(&strict, "error: --strict: Several models answered");
    assert_eq!(server.chat_count() as u64, calls);
}

#[test]
fn a_change_between_streams_is_seen() {
    let work = Workspace::new(&["alpha", "beta"], 1);
    let old = |request: &Recorded| kind_of(request) == "property";
    let server = FakeServer::start(Behaviour::good().deciding(move |request| {
        let model = if old(request) { "fake-judge" } else { "other" };
        Some(stream_by(model, request))
    }));
    let scored = work.score(&server, &["--stream", "on"]).exits_with(0);
    says(&scored, "Several models answered as judge fake-judge:");
    let counted: u64 = answering_models(&work, "out").iter().map(|of| of.1).sum();
    assert_eq!(counted, calls_of(&work, "out"));
}

#[test]
fn a_reply_that_is_asked_again_counts_for_the_model_that_gave_it() {
    let unreadable = |model: &str| {
        let mut body = good_completion("/v1/chat/completions", &Value::Null);
        body["model"] = model.into();
        body["choices"][0]["message"]["content"] = "no verdict".into();
        Act::json(&body)
    };
    for first in [
        Act::error(503, "overloaded", "try again"),
        unreadable("fake-judge"),
    ] {
        let work = Workspace::new(&["alpha"], 1);
        let count = AtomicUsize::new(0);
        let server = FakeServer::start(Behaviour::good().deciding(move |request| {
            let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
            Some(if is_first {
                first.clone()
            } else {
                reply_of("other", request)
            })
        }));
        let scored = work.score(&server, &["--concurrency", "1"]).exits_with(0);
        let of_other = server.chat_count() as u64 - 1;
        let counted = answering_models(&work, "out");
        assert!(
            counted.contains(&("other".to_owned(), of_other)),
            "{counted:?}"
        );
        // A failed attempt has no model; an unreadable reply has one.
        let attempts = calls_of(&work, "out") - of_other;
        assert_eq!(counted.len() as u64, 1 + attempts, "{counted:?}");
        assert_eq!(is_said(&scored, "Several models"), attempts == 1);
    }
}

#[test]
fn a_run_that_another_model_continues_after_a_kill_is_by_one_model_or_says_so() {
    let work = Workspace::new(&["alpha", "beta"], 1);
    let server = FakeServer::start(answers(|_| "fake-judge").behind(&Gate::after(AT_MOST)));
    let mut run = work.spawn_score(&server, &["--concurrency", "1"]);
    wait_until("some replies arrived", || server.chat_count() > AT_MOST);
    run.kill().unwrap();
    run.wait().unwrap();
    let server = server.replaced_by(answers(|_| "other"));
    let continued = work.score(&server, &[]).exits_with(0);
    let counted = answering_models(&work, "out");
    assert!(counted.iter().any(|of| of.0 == "other"), "{counted:?}");
    // Only answers that were recorded before the kill keep the replies of the old model.
    let is_mixed = counted.len() > 1;
    assert_eq!(is_said(&continued, "Several models answered"), is_mixed);
    let calls: u64 = counted.iter().map(|of| of.1).sum();
    assert_eq!(calls, calls_of(&work, "out"));
}

#[test]
fn another_name_throughout_is_shown_and_noted_unless_it_is_a_dated_one() {
    for (model, is_noted) in [("fake-judge-2026-01-31", false), ("other", true)] {
        let work = Workspace::new(&["alpha"], 1);
        let server = answered_by(move |_| model);
        let scored = work.score(&server, &["--strict"]);
        assert_eq!(scored.code, Some(0), "{scored:?}");
        says(&scored, &format!("judge: fake-judge (answered by {model})"));
        let note = format!("Judge fake-judge was requested, and {model} answered.");
        assert_eq!(is_said(&scored, &note), is_noted, "{scored:?}");
    }
}

#[test]
fn a_killed_run_and_one_of_an_older_version_say_who_answered() {
    let work = Workspace::new(&["alpha"], 1);
    let server = answered_by(|number| if number < NOW { "fake-judge" } else { "other" });
    work.score(&server, &["--concurrency", "1"]);
    let mut manifest = work.json("out/manifest.json");
    manifest["roles"]["rubric"]["judges"][0]
        .as_object_mut()
        .unwrap()
        .remove("answered_by");
    work.write("out/manifest.json", &manifest.to_string());
    says(&work.run(&["compare", "out"]), MIXED);
}

#[test]
fn runs_that_other_models_answered_are_by_different_judges() {
    let work = Workspace::new(&["alpha", "beta"], 2);
    for (out, model) in [("one", "fake-judge"), ("two", "other")] {
        let server = answered_by(move |_| model);
        let cache = format!("{out}.sqlite");
        let scored = work.score(&server, &["--out", out, "--cache", &cache]);
        assert_eq!(scored.code, Some(0), "{scored:?}");
    }
    let compared = work.run(&["compare", "one", "two"]);
    assert_eq!(compared.code, Some(3), "{compared:?}");
    says(
        &compared,
        "different models that answered for fake-judge as judge of rubric: fake-judge (one), other (two)",
    );
    let anyway = work.run(&["compare", "one", "two", "--anyway"]);
    says(&anyway, "Not comparable: different models that answered");
    let across = work.run(&["compare", "one", "two", "--across", "judges"]);
    assert_eq!(across.code, Some(0), "{across:?}");

    // System fingerprints are shown and not compared.
    let mut manifest = work.json("two/manifest.json");
    manifest["roles"]["rubric"]["judges"][0]["answered_by"] =
        json!([{"model": "fake-judge", "calls": 1, "fingerprints": {"fp_new": 1}}]);
    work.write("two/manifest.json", &manifest.to_string());
    assert_eq!(work.run(&["compare", "one", "two"]).code, Some(0));
}

#[test]
fn a_finished_run_keeps_its_start_when_it_is_run_again() {
    let work = Workspace::new(&["alpha"], 1);
    let server = answered_by(|_| "fake-judge");
    work.score(&server, &[]);
    let mut manifest = work.json("out/manifest.json");
    manifest["started_at"] = "2026-01-31T00:00:00Z".into();
    work.write("out/manifest.json", &manifest.to_string());
    work.score(&server, &[]);
    assert_eq!(
        work.json("out/manifest.json")["started_at"],
        "2026-01-31T00:00:00Z"
    );
    work.score(&server, &["--overwrite"]);
    assert_ne!(
        work.json("out/manifest.json")["started_at"],
        "2026-01-31T00:00:00Z"
    );
}

/// Calls of every system whose answers are scored, each to one case.
fn calls_of(work: &Workspace, run: &str) -> u64 {
    work.lines(&format!("{run}/calls.jsonl")).len() as u64
}

fn one_model(work: &Workspace, run: &str, model: &str) {
    let expected = [(model.to_owned(), calls_of(work, run))];
    assert_eq!(answering_models(work, run), expected, "{run}");
}

#[test]
fn a_first_live_reply_by_another_model_scores_again_what_came_from_the_cache() {
    let work = Workspace::new(&["alpha", "beta", "gamma"], 2);
    let old = answered_by(|_| "fake-judge");
    let first = work.score(&old, &["--systems", "alpha", "--out", "first"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let of_alpha = calls_of(&work, "first");

    let new = answered_by(|_| "other");
    let both = ["--systems", "alpha,beta", "--out", "both"];
    let second = work.score(&new, &both);
    assert_eq!(second.code, Some(0), "{second:?}");
    says(
        &second,
        "other answers as judge fake-judge now: answers that were scored by cached replies of fake-judge are",
    );
    assert!(!is_said(&second, "Several models"), "{second:?}");
    one_model(&work, "both", "other");
    let of_both = calls_of(&work, "both");
    assert_eq!(new.chat_count() as u64, of_both, "nothing is paid twice");
    assert_eq!(work.score(&new, &both).code, Some(0));
    assert_eq!(new.chat_count() as u64, of_both);
    let scored = work.json("both/summary.json")["scorers"][0]["rows"].clone();
    assert_eq!(scored.as_array().unwrap().len(), 2);

    // The cache has what answered last: the new replies count now, also for alpha alone.
    let alone = work.score(&new, &["--systems", "alpha", "--out", "alone"]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    one_model(&work, "alone", "other");
    assert_eq!(new.chat_count() as u64, of_both);

    // The old replies are still there, and count when their model answers again.
    let back = answered_by(|_| "fake-judge");
    let third = work.score(&back, &["--out", "third"]);
    assert_eq!(third.code, Some(0), "{third:?}");
    one_model(&work, "third", "fake-judge");
    let paid = back.chat_count() as u64;
    assert_eq!(paid, calls_of(&work, "third") - of_alpha);
    // The record of a run counts, whoever answered since.
    assert_eq!(work.score(&back, &both).code, Some(0));
    one_model(&work, "both", "other");
    assert_eq!(back.chat_count() as u64, paid);
}

#[test]
fn without_live_calls_cached_replies_count_as_they_are() {
    let work = Workspace::new(&["alpha", "beta"], 1);
    let old = answered_by(|_| "fake-judge");
    work.score(&old, &["--systems", "alpha", "--out", "first"]);
    let new = answered_by(|_| "other");
    work.score(&new, &["--systems", "beta", "--out", "second"]);
    let paid = new.chat_count();
    let again = work.score(&new, &["--systems", "alpha", "--out", "again"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    one_model(&work, "again", "fake-judge");
    assert_eq!(new.chat_count(), paid);

    // For both together the old ones do not count: the plan and the run say so.
    let planned = work.run(&[
        "plan",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "fake-judge",
        "--base-url",
        &new.base_url(),
    ]);
    let words = "cached replies of other models than other, which answered last, do not count";
    says(&planned, words);
    let both = work.score(&new, &[]);
    assert_eq!(both.code, Some(0), "{both:?}");
    says(&both, words);
    one_model(&work, "out", "other");
    assert_eq!(new.chat_count() as u64, calls_of(&work, "out"));
}

#[test]
fn a_mixed_run_is_made_whole_in_another_directory() {
    let work = Workspace::new(&["alpha", "beta"], 1);
    let mixed = answered_by(|number| if number < NOW { "fake-judge" } else { "other" });
    let first = work.score(&mixed, &["--concurrency", "1"]);
    says(&first, MIXED);
    let paid = mixed.chat_count();
    let whole = work.score(&mixed, &["--out", "whole"]);
    assert_eq!(whole.code, Some(0), "{whole:?}");
    assert!(!is_said(&whole, "Several models"), "{whole:?}");
    one_model(&work, "whole", "other");
    assert_eq!(mixed.chat_count(), paid + NOW);
}

#[test]
fn a_cache_of_an_older_version_counts_until_a_live_reply_contradicts_it() {
    let work = Workspace::new(&["alpha", "beta"], 1);
    let old = answered_by(|_| "fake-judge");
    work.score(&old, &["--systems", "alpha", "--out", "first"]);
    let cache = rusqlite::Connection::open(work.path(".scholareval/cache.sqlite")).unwrap();
    let removed = cache.execute("DELETE FROM servers WHERE name LIKE 'model that%'", []);
    assert_eq!(removed.unwrap(), 1);
    drop(cache);
    let new = answered_by(|_| "other");
    let alone = work.score(&new, &["--systems", "alpha", "--out", "alone"]);
    assert_eq!((alone.code, new.chat_count()), (Some(0), 0), "{alone:?}");
    let both = work.score(&new, &[]);
    assert_eq!(both.code, Some(0), "{both:?}");
    one_model(&work, "out", "other");
}

#[test]
fn a_run_that_stops_after_a_contradiction_keeps_no_answer_of_the_other_model() {
    let work = Workspace::new(&["alpha", "beta"], 1);
    let old = answered_by(|_| "fake-judge");
    work.score(&old, &["--systems", "alpha", "--out", "first"]);
    let quota = Act::error(429, "insufficient_quota", "You exceeded your current quota");
    let count = AtomicUsize::new(0);
    let failing = FakeServer::start(Behaviour::good().deciding(move |request| {
        let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
        Some(if is_first {
            reply_of("other", request)
        } else {
            quota.clone()
        })
    }));
    let stopped = work.score(&failing, &["--concurrency", "1"]);
    assert_eq!(stopped.code, Some(4), "{stopped:?}");
    assert_eq!(answering_models(&work, "out"), [("other".to_owned(), 1)]);
    let new = answered_by(|_| "other");
    let resumed = work.score(&new, &["--strict"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    one_model(&work, "out", "other");
    assert_eq!(new.chat_count() as u64, calls_of(&work, "out") - 1);
}

#[test]
fn replies_of_an_imported_batch_say_which_model_answers_now() {
    let work = Workspace::new(&["alpha", "beta"], 1);
    let old = answered_by(|_| "fake-judge");
    work.score(&old, &["--systems", "alpha", "--out", "first"]);
    let url = old.base_url();
    let export = |out: &str| {
        let judge = ["--model", "fake-judge", "--base-url", &url, "--out", out];
        let answers = ["batch", "export", "answers", "--tests", "tests.json"];
        let exported = work.run(&[&answers[..], &judge[..]].concat());
        assert_eq!(exported.code, Some(0), "{exported:?}");
    };
    // Answers the calls of a batch by the new model; how many there were.
    let answer = |batch: &str| {
        let manifest = work.json(&format!("{batch}/batch.json"));
        let file = manifest["parts"][0]["file"].as_str().unwrap();
        let mut results = String::new();
        let requests = work.lines(&format!("{batch}/{file}"));
        for request in &requests {
            let mut body = good_completion("/v1/chat/completions", &request["body"]);
            body["model"] = "other".into();
            let response = json!({"status_code": 200, "body": body});
            let id = &request["custom_id"];
            results += &json!({"custom_id": id, "response": response, "error": null}).to_string();
            results.push('\n');
        }
        let path = format!("{batch}/results.jsonl");
        work.write(&path, &results);
        let imported = work.run(&["batch", "import", batch, &path]);
        assert_eq!(imported.code, Some(0), "{imported:?}");
        says(&imported, &format!("{} replies added", requests.len()));
        requests.len()
    };
    export("one");
    assert_eq!(answer("one"), NOW, "alpha is in the cache");
    // Now the new model answers, so that the calls of alpha are asked by the next batch, too.
    export("two");
    assert!(answer("two") >= NOW);
    let server = answered_by(|_| "other");
    let scored = work.score(&server, &["--strict"]);
    assert_eq!(scored.code, Some(0), "{scored:?}");
    one_model(&work, "out", "other");
}

#[test]
fn in_a_panel_only_the_judge_that_another_model_answers_is_asked_again() {
    let work = Workspace::new(&["alpha", "beta"], 1);
    let score = |one: &FakeServer, two: &FakeServer, out: &str, systems: &str| {
        let table = |name: &str, server: &FakeServer, model: &str| {
            let url = server.base_url();
            format!("[judges.{name}]\nmodel = \"{model}\"\nbase_url = \"{url}\"\n")
        };
        let roles = "[roles]\nrubric = [\"one\", \"two\"]\n";
        let judges = [table("one", one, "fake-judge"), table("two", two, "second")];
        work.write("panel.toml", &(judges.concat() + roles));
        let run = [
            "score",
            "answers",
            "--tests",
            "tests.json",
            "--config",
            "panel.toml",
        ];
        let more = ["--out", out, "--systems", systems];
        let scored = work.run(&[&run[..], &more[..]].concat());
        assert_eq!(scored.code, Some(0), "{scored:?}");
    };
    let steady = answered_by(|_| "fake-judge");
    let old = answered_by(|_| "second");
    score(&steady, &old, "first", "alpha");
    let of_alpha = steady.chat_count();
    let new = answered_by(|_| "third");
    score(&steady, &new, "both", "alpha,beta");
    let manifest = work.json("both/manifest.json");
    let judges = &manifest["roles"]["rubric"]["judges"];
    assert_eq!(judges[0]["answered_by"][0]["calls"], steady.chat_count());
    assert_eq!(judges[1]["answered_by"].as_array().unwrap().len(), 1);
    assert_eq!(judges[1]["answered_by"][0]["model"], "third");
    assert_eq!(judges[1]["answered_by"][0]["calls"], new.chat_count());
    assert!(steady.chat_count() > of_alpha && new.chat_count() > steady.chat_count() - of_alpha);
}

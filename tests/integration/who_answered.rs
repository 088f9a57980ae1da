//! A service may answer by another model than the requested one: who answered is recorded, shown and compared, and
//! decides which cached replies count.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer, Recorded, good_content};
use crate::support::workspace::{Finished, NOW, Workspace};

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
fn another_name_throughout_is_shown_and_noted_unless_it_is_a_dated_one() {
    for (model, is_noted) in [("fake-judge-2026-01-31", false), ("other", true)] {
        let work = Workspace::new(&["alpha"], 1);
        let server = answered_by(move |_| model);
        let scored = work.score(&server, &["--strict"]);
        assert_eq!(scored.code, Some(0), "{scored:?}");
        says(&scored, &format!("judge: fake-judge (answered by {model})"));
        let note = format!("Judge fake-judge was requested, and {model} answered.");
        assert_eq!(is_said(&scored, &note), is_noted, "{scored:?}");
        let all = work.score(&server, &["--notes"]);
        says(
            &all,
            &format!("System fingerprints of {model}: fp_{model} ("),
        );
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

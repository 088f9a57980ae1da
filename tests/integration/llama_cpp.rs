//! The whole way to a real server: llama.cpp with a small model. That model judges at chance, so nothing here looks
//! at a verdict; what is looked at is the protocol, the counters, the errors and the cache.

mod decisions;
mod endpoints;
mod scorecard;
mod server;
mod streaming;
mod tokens;

use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::{Value, json};
use tempfile::TempDir;

use server::{ALIAS, CONTEXT, KEY, LlamaServer, another, other_weights, shared};

/// A hung run must not hang the suite; far beyond what a slow machine needs.
const RUN_LIMIT: Duration = Duration::from_secs(900);

/// 65 words.
const ON_YEAST: &str = "Yeast turns sugar into alcohol and carbon dioxide when oxygen is scarce. Brewers choose a \
    strain by the temperature at which it works best: ale yeast likes warm tanks, lager yeast cold ones [1]. The \
    flavour comes less from the alcohol than from esters, which a warm fermentation makes in plenty, and from hops, \
    which are boiled with the wort before any yeast is added.";
/// 50 words.
const ON_TIDES: &str = "The Moon pulls on the near side of the Earth more strongly than on its centre, and on the \
    centre more strongly than on the far side, so that the sea bulges on both sides. As the Earth turns beneath the \
    bulges, most coasts see two high tides a day.";

/// A directory with test cases and one system's answers.
struct Work {
    folder: TempDir,
}

struct Finished {
    code: Option<i32>,
    stderr: String,
    out: PathBuf,
}

impl Work {
    fn new(answers: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cases: Vec<Value> = answers
            .iter()
            .map(|(case_id, _)| test_case(case_id))
            .collect();
        std::fs::write(
            folder.path().join("tests.json"),
            Value::from(cases).to_string(),
        )
        .unwrap();
        let line = |(case_id, text): &(&str, &str)| {
            json!({"case_id": case_id, "answer_text": text}).to_string() + "\n"
        };
        let lines: String = answers.iter().map(line).collect();
        std::fs::write(folder.path().join("small.jsonl"), lines).unwrap();
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// `scholareval` in this directory, without the settings of the person who runs the tests.
    fn command(&self, key: &str) -> assert_cmd::Command {
        let mut command = cargo_bin_cmd!("scholareval");
        for (name, _) in std::env::vars_os() {
            if ["OPENAI_", "SCHOLAREVAL_", "RUST_LOG"]
                .iter()
                .any(|prefix| name.to_string_lossy().starts_with(prefix))
            {
                command.env_remove(name);
            }
        }
        command
            .current_dir(self.path())
            .env("OPENAI_API_KEY", key)
            .timeout(RUN_LIMIT);
        command
    }

    /// `scholareval score` on that server, into the directory `out`, one call after the other.
    fn score(&self, server: &LlamaServer, key: &str, out: &str, more: &[&str]) -> Finished {
        let mut command = self.command(key);
        command.args([
            "score",
            "small.jsonl",
            "--tests",
            "tests.json",
            "--cache",
            "cache.sqlite",
            "--out",
            out,
        ]);
        command.args([
            "--model",
            ALIAS,
            "--base-url",
            &server.base_url(),
            "--concurrency",
            "1",
        ]);
        // short replies, each asked for once: what they say does not matter
        command.args([
            "--max-tokens",
            "expertise=24,property=24,evidence=24,citations=40",
            "--parse-retries",
            "0",
        ]);
        let output = command.args(more).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!stderr.contains(KEY), "the key is in {stderr}");
        Finished {
            code: output.status.code(),
            stderr,
            out: self.path().join(out),
        }
    }
}

impl Finished {
    #[track_caller]
    fn exits_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stderr was:\n{}", self.stderr);
        self
    }

    /// The run ended as it should: this model may well give no readable reply.
    #[track_caller]
    fn goes_through(self) -> Self {
        assert!(
            matches!(self.code, Some(0 | 5)),
            "exit {:?}, stderr was:\n{}",
            self.code,
            self.stderr
        );
        self
    }

    fn lines(&self, file: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.out.join(file)).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn calls(&self) -> Vec<Value> {
        self.lines("calls.jsonl")
    }
}

/// A case of the released form with one criterion and one snippet.
fn test_case(case_id: &str) -> Value {
    let question = format!("What should a beginner know about {case_id}?");
    let property = json!({
        "name": "most_important_item_0",
        "criterion": format!("The answer should say what drives {case_id}."),
        "weight": 0.6,
        "evidence": [format!("Much has been written about {case_id}.")],
    });
    let config = json!({
        "question": question, "low_length": 300, "high_length": 600, "length_weight": 0.05, "expertise_weight": 0.05,
        "citations_weight": 0.2, "excerpts_weight": 0.1, "other_properties": [property],
    });
    json!({
        "initial_prompt": question, "case_id": case_id, "annotator": "Annotator 1", "agreement": false,
        "metric_config": {"name": "rubric_corpusqa_generic", "config": config},
    })
}

fn of_case<'a>(calls: &'a [Value], case_id: &str) -> Vec<&'a Value> {
    calls
        .iter()
        .filter(|call| call["case_id"] == case_id)
        .collect()
}

#[test]
fn two_cases_are_judged_with_usage_cached_prefixes_and_nothing_paid_twice() {
    let Some(server) = shared() else { return };
    let work = Work::new(&[("yeast", ON_YEAST), ("tides", ON_TIDES)]);
    let first = work.score(&server, KEY, "run", &[]).goes_through();
    let calls = first.calls();
    for (case_id, answer) in [("yeast", ON_YEAST), ("tides", ON_TIDES)] {
        let calls = of_case(&calls, case_id);
        // expertise, citations and the criterion always, the snippet where the criterion earned something
        assert!(
            (3..=4).contains(&calls.len()),
            "{} calls for {case_id}",
            calls.len()
        );
        let words = answer.split_whitespace().count() as u64;
        for (index, call) in calls.iter().enumerate() {
            assert!(
                call["reply"]["content"]
                    .as_str()
                    .is_some_and(|raw| !raw.is_empty()),
                "no raw reply: {call}"
            );
            assert!(
                ["stop", "length"].contains(&call["reply"]["finish_reason"].as_str().unwrap()),
                "not finished: {call}"
            );
            assert_eq!(call["reply"]["model"], ALIAS);
            assert_eq!(call["reply"]["cached"], false, "{call}");
            assert!(
                call["verdict"].is_null() != call["unscored"]["message"].is_null(),
                "neither read nor told why not: {call}"
            );
            let tokens = |name: &str| call["reply"]["usage"][name].as_u64().unwrap();
            assert!((1..=40).contains(&tokens("completion_tokens")), "{call}");
            // a word is a token or more
            assert!(tokens("prompt_tokens") > words, "{call}");
            // The later calls of an answer find at least the answer in the server's prefix cache. (The first call
            // finds what the chat template begins with, at most the system message: that proves nothing.)
            assert!(
                index == 0 || tokens("cached_prompt_tokens") > words,
                "the prefix was not shared: {call}"
            );
        }
    }
    let scores = first.lines("scores.jsonl");
    assert_eq!(scores.len(), 2);
    assert!(
        scores
            .iter()
            .all(|score| score["components"]["length"] == json!(1.0)),
        "under 300 words: {scores:?}"
    );

    let generated = server.counter("tokens_predicted_total");
    assert!(generated > 0.0);
    let again = work.score(&server, KEY, "again", &[]).goes_through();
    assert_eq!(
        server.counter("tokens_predicted_total"),
        generated,
        "a reply was paid twice:\n{}",
        again.stderr
    );
    let replies = |calls: &[Value]| -> Vec<(String, String)> {
        let mut pairs: Vec<_> = calls
            .iter()
            .map(|call| {
                (
                    call["call_id"].to_string(),
                    call["reply"]["content"].to_string(),
                )
            })
            .collect();
        pairs.sort();
        pairs
    };
    assert_eq!(replies(&again.calls()), replies(&calls));
    assert!(
        again
            .calls()
            .iter()
            .all(|call| call["reply"]["cached"] == true)
    );
}

#[test]
fn an_answer_beyond_the_context_is_unscored_and_not_even_sent() {
    let Some(server) = shared() else { return };
    // 3 x 1000 words are 3000 tokens at least, the context has 2048
    let work = Work::new(&[("yeast", &"yeast makes beer ".repeat(1000))]);
    let run = work.score(&server, KEY, "run", &[]).exits_with(4);
    let calls = run.calls();
    assert!(!calls.is_empty());
    for call in &calls {
        assert!(
            call["reply"]["content"].is_null() && call["verdict"].is_null(),
            "{call}"
        );
        assert_eq!(call["unscored"]["kind"], "context_overflow", "{call}");
        let words = format!("the model's context holds {CONTEXT}; it was not sent");
        assert!(
            call["unscored"]["message"]
                .as_str()
                .unwrap()
                .contains(&words),
            "{call}"
        );
    }
    let scores = run.lines("scores.jsonl");
    assert_eq!(scores.len(), 1);
    assert!(scores[0]["score"].is_null(), "{}", scores[0]);
    assert_eq!(
        scores[0]["components"]["length"],
        json!(0.0),
        "more than 600 words"
    );
    assert_eq!(
        scores[0]["details"]["expertise"]["unscored"]["kind"], "context_overflow",
        "{}",
        scores[0]
    );
}

#[test]
fn a_wrong_key_stops_the_run_and_is_not_told() {
    let Some(server) = shared() else { return };
    let work = Work::new(&[("tides", ON_TIDES)]);
    let wrong = "sk-wrong-0123456789";
    let run = work.score(&server, wrong, "run", &[]).exits_with(4);
    assert!(
        run.stderr.contains("key"),
        "it should say what was refused: {}",
        run.stderr
    );
    assert!(!run.stderr.contains(wrong), "the key is in {}", run.stderr);
}

/// The same alias, other weights: nothing of `before` may be used by `after`, and it must be said.
fn assert_swap_is_noticed(before: &Finished, after: &Finished) {
    let (old, new) = (before.calls(), after.calls());
    assert!(
        new.len() >= 3 && new.iter().all(|call| call["reply"]["cached"] == false),
        "replies of the other model: {new:?}"
    );
    assert_ne!(new[0]["judge"], old[0]["judge"]);
    assert!(new.iter().all(|new| {
        old.iter()
            .all(|old| new["fingerprint"] != old["fingerprint"])
    }));
    let told = |run: &Finished| {
        run.stderr
            .lines()
            .any(|line| line.contains(ALIAS) && line.contains("not used"))
    };
    assert!(
        told(after),
        "it should say that cached replies of {ALIAS} are not used:\n{}",
        after.stderr
    );
    assert!(
        !told(before),
        "there was nothing to tell yet:\n{}",
        before.stderr
    );
}

#[test]
fn another_model_behind_the_same_address_and_alias_is_noticed() {
    let Some(shared) = shared() else { return };
    let work = Work::new(&[("tides", ON_TIDES)]);
    let server = another(shared.model());
    let before = work.score(&server, KEY, "before", &[]).goes_through();
    let server = server.restarted_with(&other_weights(&shared, work.path()));
    let after = work.score(&server, KEY, "after", &[]).goes_through();
    assert_swap_is_noticed(&before, &after);
}

#[test]
fn another_model_under_the_same_alias_at_another_address_is_noticed() {
    let Some(server) = shared() else { return };
    let work = Work::new(&[("tides", ON_TIDES)]);
    let before = work.score(&server, KEY, "before", &[]).goes_through();
    // the address is not part of a cache key: replies would be found if the model were the same
    let other = another(&other_weights(&server, work.path()));
    let after = work.score(&other, KEY, "after", &[]).goes_through();
    assert_swap_is_noticed(&before, &after);
}

#[test]
fn criteria_are_answered_in_the_grammar_of_the_schema() {
    let Some(server) = shared() else { return };
    let work = Work::new(&[("yeast", ON_YEAST), ("tides", ON_TIDES)]);
    let case = |id: &str| json!({"case_id": id, "question": format!("What drives {id}?"), "criteria": ["Names a cause", "Gives a date"]});
    let cases = ["yeast", "tides"].map(|id| case(id).to_string()).join("\n");
    std::fs::write(work.path().join("tests.json"), cases).unwrap();
    let limit = ["--structured", "schema", "--max-tokens", "criteria=160"];
    let calls = work
        .score(&server, KEY, "run", &limit)
        .goes_through()
        .calls();
    assert!(calls.len() >= 4, "{} calls", calls.len());
    let whole = calls
        .iter()
        .filter(|call| call["reply"]["finish_reason"] == "stop");
    let replies: Vec<&str> = whole
        .map(|call| call["reply"]["content"].as_str().unwrap())
        .collect();
    for reply in &replies {
        let verdict = serde_json::from_str::<Value>(reply).unwrap()["verdict"].clone();
        assert!(
            ["met", "not met", "cannot assess"]
                .iter()
                .any(|level| verdict == *level),
            "{reply}"
        );
    }
    assert!(!replies.is_empty(), "every reply was cut: {calls:?}");
}

/// As a first-time user: without an option that a message would have to name.
#[test]
fn a_small_model_is_readable_without_an_option() {
    let Some(server) = shared() else { return };
    let work = Work::new(&[("yeast", ON_YEAST), ("tides", ON_TIDES)]);
    let url = server.base_url();
    let mut command = work.command(KEY);
    command.args(["score", "small.jsonl", "--tests", "tests.json"]);
    command.args(["--base-url", &url, "--concurrency", "1", "--out", "run"]);
    // no small model finds the end of a list
    command.args(["--max-tokens", "citations=60"]);
    let output = command.output().unwrap();
    let run = Finished {
        code: output.status.code(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        out: work.path().join("run"),
    };
    let calls = run.goes_through().calls();
    for kind in ["expertise", "property"] {
        let read = calls
            .iter()
            .filter(|call| call["kind"] == kind && !call["verdict"].is_null());
        assert_eq!(read.count(), 2, "of each answer one: {calls:?}");
    }
}

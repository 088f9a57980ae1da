//! Two real answers through an aspect and through entailment, over both kinds of endpoint, with probabilities.

use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

use super::server::{ALIAS, KEY, LlamaServer, shared};
use crate::rubric_golden;

/// What a slow machine takes for one answer; the suite's slow part.
const ANSWER_LIMIT: Duration = Duration::from_secs(600);

/// How many of the 108 answers are judged, the shortest first: 2, or what `SCHOLAREVAL_LLAMA_ANSWERS` says.
fn how_many() -> usize {
    std::env::var("SCHOLAREVAL_LLAMA_ANSWERS")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(2)
}

/// The shortest of the human answers, each with the sources it came with, their texts cut to a few sentences: the
/// server's context is small.
fn shortest(number: usize) -> Option<String> {
    let file = rubric_golden::shared()?.join("data/scholarqa_multi/human_answers.json");
    // Python writes a bare NaN where a text is missing.
    let text = std::fs::read_to_string(file)
        .unwrap()
        .replace(": NaN", ": null");
    let mut items: Vec<Value> = serde_json::from_str(&text).unwrap();
    items.sort_by_key(|item| item["output"].as_str().unwrap_or_default().len());
    items.truncate(number);
    for source in items
        .iter_mut()
        .flat_map(|item| item["ctxs"].as_array_mut().unwrap())
    {
        let short: String = source["text"]
            .as_str()
            .unwrap_or_default()
            .chars()
            .take(400)
            .collect();
        source["text"] = short.into();
    }
    Some(Value::from(items).to_string())
}

fn run(
    server: &LlamaServer,
    folder: &std::path::Path,
    kind: &str,
    more: &[&str],
) -> (Vec<Value>, Vec<Value>) {
    let mut command = cargo_bin_cmd!("scholareval");
    command
        .env_clear()
        .env("HOME", folder)
        .env("OPENAI_API_KEY", KEY)
        .current_dir(folder)
        .timeout(ANSWER_LIMIT * u32::try_from(how_many()).unwrap());
    command.args([
        "score",
        "human.json",
        "--scorers",
        "prometheus,entailment",
        "--aspects",
        "relevance",
    ]);
    command.args([
        "--no-reference",
        "--entail",
        "short",
        "--at-most",
        "1",
        "--out",
        kind,
    ]);
    command.args([
        "--model",
        ALIAS,
        "--base-url",
        &server.base_url(),
        "--judge",
        kind,
        "--logprobs",
        "5",
    ]);
    command.args([
        "--max-tokens",
        "aspect=16,attribution=8",
        "--parse-retries",
        "0",
        "--concurrency",
        "1",
    ]);
    let output = command.args(more).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 5)), "{stderr}");
    let lines = |name: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(folder.join(kind).join(name)).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    (lines("calls.jsonl"), lines("scores.jsonl"))
}

#[test]
fn two_human_answers_pass_through_aspects_and_entailment_over_both_kinds_of_endpoint() {
    let Some(server) = shared() else { return };
    let number = how_many();
    let Some(answers) = shortest(number) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("human.json"), answers).unwrap();
    for (kind, more) in [
        ("chat", &[][..]),
        ("completions", &["--conversation", "chatml"]),
    ] {
        let (calls, scores) = run(&server, folder.path(), kind, more);
        let of = |role: &str| calls.iter().filter(|call| call["role"] == role).count();
        assert_eq!(of("aspect.relevance"), number, "{kind}: {calls:?}");
        assert!((1..=number).contains(&of("citation")), "{kind}: {calls:?}");
        // Longer answers than the two shortest may be longer than the server's context.
        let fits = |call: &&Value| number <= 2 || call["unscored"]["kind"] != "context_overflow";
        for call in calls.iter().filter(fits) {
            assert_eq!(call["reply"]["cached"], false, "{kind}");
            assert!(
                call["reply"]["content"].is_string(),
                "{kind}: no reply: {call}"
            );
            assert!(
                call["verdict"].is_null() != call["unscored"]["message"].is_null(),
                "{kind}: {call}"
            );
            let tokens = call["reply"]["logprobs"]
                .as_array()
                .unwrap_or_else(|| panic!("{kind}: no probabilities: {call}"));
            assert!((1..=17).contains(&tokens.len()), "{kind}: {call}");
            assert!(
                call["reply"]["usage"]["prompt_tokens"].as_u64().unwrap() > 100,
                "{kind}: {call}"
            );
        }
        assert_eq!(scores.len(), 2 * number, "two scorers");
        for line in scores.iter().filter(|line| line["scorer"] == "prometheus") {
            let grade = &line["components"]["relevance"];
            let told = !line["details"]["relevance"]["unscored"].is_null();
            assert!(
                told != grade
                    .as_f64()
                    .is_some_and(|grade| (1.0..=5.0).contains(&grade)),
                "{kind}: {line}"
            );
        }
    }
}

//! Prompt tokens of a plan: counted by a vocabulary that is built in, on a sample of many calls; else estimated.

use serde_json::{Value, json};

use scholareval::judge::token_counter::Vocabulary;
use scholareval::judge::tokens::estimate_tokens;

use crate::prompts::shared;
use crate::support::fake_server::{Behaviour, FakeServer};
use crate::support::workspace::Workspace;

/// Replies that open no gate: what is asked is what is askable now.
fn closed(behaviour: Behaviour) -> Behaviour {
    behaviour.saying(|request| {
        if request.asks_for_claims() { json!({"claims": []}) } else { json!({"score": 0}) }.to_string()
    })
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
fn a_plan_needs_no_server_where_the_judge_is_known() {
    let work = Workspace::new(&["alpha"], 2);
    // nobody listens on the discard port of this machine
    let more = ["--model", "some-model", "--cache-id", "mine"];
    let (plan, table) = plan(&work, "http://127.0.0.1:9/v1", &more);
    assert_eq!(plan["judges"][0]["by"], Value::Null);
    assert!(table.contains("estimated, ±12.0%\n"), "{table}");
}

#[test]
fn a_model_of_openai_is_counted_by_its_own_vocabulary_on_a_sample_of_many_calls() {
    for (cases, counted, how, most_off) in [
        (20, 120.0, "counted by o200k_base on all 120 calls, ±1.0%", 0.0),
        (150, 512.0, "counted by o200k_base on 512 of 900 calls, ±1.0%", 0.01),
    ] {
        let work = uneven(cases);
        let server = FakeServer::start(closed(Behaviour::good()));
        let (plan, table) = plan(&work, &server.base_url(), &["--model", "gpt-4o-2024-11-20"]);
        assert_eq!(plan["judges"][0]["by"], "o200k_base");
        // 4 kinds, at most 128 of each
        assert_eq!(number(&plan, "/judges/0/counted"), counted);
        assert!(table.contains(how), "{table}");
        let url = server.base_url();
        let score = ["score", "answers", "--tests", "tests.json", "--base-url", &url, "--model", "gpt-4o-2024-11-20"];
        work.run(&score).exits_with(0);
        let truth: u64 = server.chats().iter().map(|chat| Vocabulary::O200k.count_body(&chat.body).unwrap()).sum();
        let off = number(&plan, "/total/now/prompt_tokens") / truth as f64 - 1.0;
        assert!(off.abs() <= most_off, "{off}");
    }
}

#[test]
fn the_estimate_is_near_the_count_of_released_answers() {
    let Some(folder) = shared().map(|shared| shared.join("data/scholarqa_cs/src_answers")) else { return };
    let mut off_by = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let (mut estimates, mut counts) = (0.0, 0.0);
        for line in std::fs::read_to_string(entry.unwrap().path()).unwrap().lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let text = row["answer_text"].as_str().unwrap();
            let (estimate, count) = (estimate_tokens(text) as f64, Vocabulary::O200k.count(text).unwrap() as f64);
            off_by.push((estimate / count - 1.0).abs());
            (estimates, counts) = (estimates + estimate, counts + count);
        }
        eprintln!("{estimates} of {counts}: {:+.4}", estimates / counts - 1.0);
        assert!((estimates / counts - 1.0_f64).abs() < 0.03, "{estimates} of {counts}");
    }
    off_by.sort_by(f64::total_cmp);
    let most = off_by[off_by.len() * 95 / 100];
    eprintln!("95% within {most}");
    assert!(most < 0.07, "{most}");
}

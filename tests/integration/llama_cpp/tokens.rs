//! What the real server reads of the prompts of one answer.

use serde_json::{Value, json};

use super::server::{ALIAS, KEY, LlamaServer, shared};
use super::{Work, of_case};

/// Texts of no other test: what a slot may hold already is only how every prompt begins.
const ON_BREAD: &str = "Bread rises because yeast breathes out carbon dioxide, which gluten holds in small bubbles. \
    Kneading lines the gluten up; salt slows the yeast and makes the dough firmer [1]. Sourdough uses wild yeast together \
    with lactic acid bacteria, whose acids keep the loaf from going stale so soon.";
const ON_GLACIERS: &str = "Glaciers form where more snow falls in winter than melts in summer. Under its own weight the \
    snow turns to ice, which flows downhill like a very stiff liquid, a few metres in a year [2]. They carve valleys in \
    the shape of a U and leave heaps of rubble where they end.";

/// A case of three criteria without snippets: no call waits for a reply to another.
fn case(id: &str) -> Value {
    let criterion = |what: &str| json!({"name": what, "criterion": format!("The answer should tell the {what} of {id}."), "weight": 0.2, "evidence": []});
    let question = format!("What should a beginner know about {id}?");
    json!({
        "initial_prompt": question, "case_id": id, "annotator": "Annotator 1", "agreement": false,
        "metric_config": {"name": "rubric_corpusqa_generic", "config": {
            "question": question, "low_length": 300, "high_length": 600, "length_weight": 0.05,
            "expertise_weight": 0.05, "citations_weight": 0.2, "excerpts_weight": 0.1,
            "other_properties": [criterion("causes"), criterion("effects"), criterion("limits")],
        }},
    })
}

fn common(a: &[u64], b: &[u64]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The tokens of a chat as the server reads it.
fn tokens(server: &LlamaServer, body: &Value) -> Vec<u64> {
    let prompt =
        server.post("/apply-template", &json!({"messages": body["messages"]}))["prompt"].clone();
    let asked = json!({"content": prompt, "add_special": true, "parse_special": true});
    let tokens = server.post("/tokenize", &asked)["tokens"].clone();
    tokens
        .as_array()
        .unwrap()
        .iter()
        .map(|token| token.as_u64().unwrap())
        .collect()
}

/// The bodies of what is askable now, by fingerprint.
fn bodies(work: &Work, server: &LlamaServer) -> Vec<(String, Value)> {
    let mut export = work.command(KEY);
    export.args([
        "batch",
        "export",
        "small.jsonl",
        "--tests",
        "tests.json",
        "--cache",
        "cache.sqlite",
    ]);
    export.args([
        "--out",
        "batch",
        "--model",
        ALIAS,
        "--base-url",
        &server.base_url(),
    ]);
    export.args([
        "--max-tokens",
        "expertise=24,property=24,evidence=24,citations=40",
    ]);
    export.assert().success();
    let files = std::fs::read_dir(work.path().join("batch"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_requests = |name: &str| name.ends_with(".jsonl") && name != "calls.jsonl";
    let requests = files.filter(|path| is_requests(path.file_name().unwrap().to_str().unwrap()));
    let text: String = requests
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|line| {
            (
                line["custom_id"].as_str().unwrap().to_owned(),
                line["body"].clone(),
            )
        })
        .collect()
}

#[test]
fn an_answer_is_read_once() {
    let Some(server) = shared() else { return };
    let ids = ["bread", "glaciers"];
    let work = Work::new(&[(ids[0], ON_BREAD), (ids[1], ON_GLACIERS)]);
    std::fs::write(
        work.path().join("tests.json"),
        json!(ids.map(case)).to_string(),
    )
    .unwrap();
    let generated = server.counter("tokens_predicted_total");
    let mut plan = work.command(KEY);
    plan.args([
        "plan",
        "small.jsonl",
        "--tests",
        "tests.json",
        "--cache",
        "cache.sqlite",
        "--format",
        "json",
    ]);
    plan.args(["--model", ALIAS, "--base-url", &server.base_url()]);
    let plan: Value = serde_json::from_slice(&plan.output().unwrap().stdout).unwrap();
    let bodies = bodies(&work, &server);
    assert_eq!(
        server.counter("tokens_predicted_total"),
        generated,
        "a plan pays for no reply"
    );

    let read_before = server.counter("prompt_tokens_total");
    let run = work.score(&server, KEY, "run", &[]).goes_through();
    let read_by_its_counter = server.counter("prompt_tokens_total") - read_before;
    let calls = run.calls();
    let sum = |name: &str| {
        calls
            .iter()
            .map(|call| call["reply"]["usage"][name].as_u64().unwrap())
            .sum::<u64>() as f64
    };
    // expertise, citations, three criteria
    assert_eq!(
        (calls.len(), plan["total"]["now"]["calls"].as_f64()),
        (10, Some(10.0))
    );

    let read = sum("prompt_tokens") - sum("cached_prompt_tokens");
    assert!(
        (read - read_by_its_counter).abs() <= 0.01 * read,
        "{read} by usage, {read_by_its_counter} by /metrics"
    );
    // One read of each answer's first prompt, and of the others what differs from the call before.
    let (mut needed, mut heads) = (0, Vec::new());
    for id in ids {
        let prompts: Vec<Vec<u64>> = of_case(&calls, id)
            .into_iter()
            .map(|call| {
                let fingerprint = call["fingerprint"].as_str().unwrap();
                let (_, body) = bodies
                    .iter()
                    .find(|(custom_id, _)| custom_id.contains(fingerprint))
                    .unwrap();
                tokens(&server, body)
            })
            .collect();
        let tails = prompts
            .windows(2)
            .map(|pair| pair[1].len() - common(&pair[0], &pair[1]))
            .sum::<usize>();
        needed += prompts[0].len() + tails;
        heads.push(prompts[0].clone());
    }
    // How every prompt begins may be in a slot from the answer before.
    let head = common(&heads[0], &heads[1]);
    let (least, most) = (0.9 * (needed - 2 * head) as f64, 1.1 * needed as f64);
    eprintln!(
        "read: {read_by_its_counter}; one read per answer and the tails: {needed}, {head} of each answer shared"
    );
    assert!(
        (least..=most).contains(&read_by_its_counter),
        "{read_by_its_counter} tokens read, {least}..{most} needed"
    );
}

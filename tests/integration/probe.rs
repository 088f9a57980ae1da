//! `probe`: a judge's scores of answers and of their perturbations.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::rubric_golden::shared;
use crate::support::fake_server::{Behaviour, FakeServer, Recorded};
use crate::support::judging::{CONSTANT_SCORE, answer_of, constant_judge, constant_reply, kind_of};
use crate::support::workspace::{Finished, KEY, Workspace, wait_until};

/// Words of the sentence that a short answer is padded with.
const FILLER_WORDS: usize = 18;

/// Points of the judge who likes long answers.
fn points(words: usize) -> f64 {
    (100.0 * (words as f64).sqrt()).round() / 100.0
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn likes_length(request: &Recorded) -> String {
    match kind_of(request) {
        kind @ ("citations" | "evidence") => constant_reply(kind),
        _ => json!({"score": points(words(&answer_of(request)))}).to_string(),
    }
}

/// Eight answers of two sentences with a citation, each of another length.
fn workspace() -> Workspace {
    let work = Workspace::new(&[], 8);
    let ids: Vec<String> = (1..=8).map(|i| format!("c{i}")).collect();
    let text = |i: usize| format!("It is known [1]. There are {}few words.", "very ".repeat(i));
    work.answers(
        "mine",
        ids.iter().enumerate().map(|(i, id)| (id.as_str(), text(i))),
    );
    work
}

fn arguments<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let all = [
        "probe",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "fake-judge",
        "--base-url",
        url,
        "--out",
        "out",
    ];
    all.iter().chain(more).copied().collect()
}

fn probe(work: &Workspace, server: &FakeServer, more: &[&str]) -> Finished {
    work.run(&arguments(&server.base_url(), more))
}

/// The comparison by the first metric of a perturbation in the JSON.
fn compared<'a>(json: &'a Value, name: &str) -> &'a Value {
    let all = json["perturbations"].as_array().unwrap();
    &all.iter().find(|own| own["perturbation"] == name).unwrap()["comparison"]["metrics"][0]
}

#[test]
fn a_judge_that_likes_length_moves_with_filler_and_not_with_the_layout() {
    let work = workspace();
    let server = FakeServer::start(Behaviour::good().saying(likes_length));
    let chosen = ["--perturb", "injected,padded,reformatted,padded"];
    let done = probe(&work, &server, &chosen).exits_with(0);
    let verdict = done.stdout.replace('\n', " ");
    assert!(
        verdict.starts_with("The judge moves by more than chance when filler is added (+"),
        "{}",
        done.stdout
    );
    assert!(
        verdict.contains(" or a verdict is planted (+"),
        "{}",
        done.stdout
    );
    assert!(
        verdict.contains("It gives every answer the same score when the layout changes."),
        "{}",
        done.stdout
    );
    let json = work.json("out/probe.json");
    let padded = &compared(&json, "padded")["pairs"][0];
    // Weights: expertise 0.05, two criteria of 0.15. Each answer has 8 words and as many more as its place.
    let gain = |i: usize| 0.35 * (points(8 + i + FILLER_WORDS) - points(8 + i)) / 10.0;
    let expected = (0..8).map(gain).sum::<f64>() / 8.0;
    assert!(
        (padded["difference"].as_f64().unwrap() - expected).abs() < 1e-12,
        "{padded}"
    );
    // Every question gains: 2 of 256 sign assignments, times three perturbations.
    assert_eq!(
        (&padded["p"], &padded["differs"], &padded["wins"]),
        (&(6.0 / 256.0).into(), &true.into(), &8.into())
    );
    assert!(padded["interval"]["low"].as_f64().unwrap() > 0.0);
    // The note is seen for what it is.
    let summary = work.json("out/summary.json");
    let rows = summary["scorers"][0]["rows"].as_array().unwrap();
    let injected: Vec<&Value> = rows.iter().filter(|row| row["injections"] != 0).collect();
    assert_eq!(
        (
            injected.len(),
            &injected[0]["system"],
            &injected[0]["injections"]
        ),
        (1, &"mine + injected".into(), &8.into())
    );
    // The perturbed answers are systems of the record, for every other command.
    let systems: BTreeSet<String> = work
        .lines("out/scores.jsonl")
        .iter()
        .map(|line| line["system"].to_string())
        .collect();
    let names = [
        "mine",
        "mine + injected",
        "mine + padded",
        "mine + reformatted",
    ]
    .map(|name| format!("{name:?}"));
    assert_eq!(systems, BTreeSet::from(names));
    let calls = server.chat_count();
    assert_eq!(
        probe(&work, &server, &chosen).exits_with(0).stdout,
        done.stdout
    );
    let again = work
        .run(&["rescore", "out", "--out", "again"])
        .exits_with(0);
    assert_eq!(
        (again.stdout, server.chat_count()),
        (done.stdout, calls),
        "the same from the record, and nothing is asked"
    );
    let compared = work
        .run(&["compare", "out", "--baseline", "mine"])
        .exits_with(0)
        .stdout
        .replace('\n', " ");
    assert!(
        compared.contains("mine + padded scores higher than mine"),
        "{compared}"
    );
    probe(&work, &server, &["--perturb", "padded"])
        .exits_with(3)
        .says(&["different probe"]);
}

#[test]
fn a_constant_judge_does_not_move() {
    let work = workspace();
    let server = FakeServer::start(constant_judge());
    let done = probe(&work, &server, &["--format", "json"]).exits_with(0);
    let json: Value = serde_json::from_str(&done.stdout).unwrap();
    for name in [
        "padded",
        "reformatted",
        "bullets",
        "uncited",
        "injected",
        "shuffled",
    ] {
        let own = compared(&json, name);
        let pair = &own["pairs"][0];
        assert_eq!(
            (&pair["difference"], &pair["ties"], &pair["p"]),
            (&0.0.into(), &8.into(), &1.0.into()),
            "{own}"
        );
        assert!(
            (own["systems"][0]["mean"].as_f64().unwrap() - CONSTANT_SCORE).abs() < 1e-12,
            "{own}"
        );
    }
    let shown = probe(&work, &server, &[])
        .exits_with(0)
        .stdout
        .replace('\n', " ");
    assert!(
        shown.starts_with(
            "The judge gives every answer the same score when filler is added, the layout changes, "
        ),
        "{shown}"
    );
    let bluffed =
        " The judge can be bluffed: naming the words of the criteria without support earns 75.5 [";
    assert!(
        shown.contains(bluffed)
            && shown.contains("] of 100 where the answers earn 75.5 (0.0, p > 0.999)."),
        "{shown}"
    );
    let csv = probe(&work, &server, &["--format", "csv"])
        .exits_with(0)
        .stdout;
    assert!(
        csv.starts_with("scorer,metric,perturbation,answers,before,after,difference,"),
        "{csv}"
    );
}

#[test]
fn a_killed_probe_continues_and_pays_no_reply_twice() {
    let (work, other) = (workspace(), workspace());
    let server = FakeServer::start(Behaviour::good());
    let whole = probe(&other, &server, &[]).exits_with(0);
    let server = FakeServer::start(Behaviour::good().latency(std::time::Duration::from_millis(10)));
    let url = server.base_url();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_scholareval"))
        .env_clear()
        .env("HOME", work.path("."))
        .env("OPENAI_API_KEY", KEY)
        .current_dir(work.path("."))
        .args(arguments(&url, &["--concurrency", "4"]))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the run has asked so much", || server.chat_count() > 40);
    child.kill().unwrap();
    child.wait().unwrap();
    let done = probe(&work, &server, &["--concurrency", "4"]).exits_with(0);
    assert_eq!(done.stdout, whole.stdout);
    let bodies: Vec<Vec<u8>> = server.chats().into_iter().map(|chat| chat.body).collect();
    let distinct: BTreeSet<&Vec<u8>> = bodies.iter().collect();
    assert!(
        bodies.len() - distinct.len() <= 4,
        "more than the calls in flight were repeated"
    );
}

#[test]
fn without_a_model_the_baseline_is_probed_and_what_cannot_be_probed_is_an_error() {
    let work = workspace();
    let done = work
        .run(&["probe", "answers", "--tests", "tests.json", "--out", "out"])
        .exits_with(0);
    assert!(
        done.stdout
            .contains("- Scored by the built-in lexical baseline, not by an LLM."),
        "{}",
        done.stdout
    );
    let server = FakeServer::start(constant_judge());
    let plan = probe(&work, &server, &["--dry-run"]).exits_with(0);
    // eight answers, six perturbations of each and a bluff, four calls at once
    assert!(
        plan.stdout.starts_with("plan: 256 calls now"),
        "{}",
        plan.stdout
    );
    work.answers("mine + padded", [("c1", "One.".to_owned())]);
    work.run(&["probe", "answers", "--tests", "tests.json"])
        .says(&["\"mine + padded\" has the name of perturbed answers"]);
    let predictions = "{\"input\": \"q\", \"output\": \"o\", \"answer\": \"o\"}";
    work.write("gold.jsonl", predictions);
    let none = work
        .run(&["probe", "gold.jsonl"])
        .exits_with(0)
        .says(&["bluffing"]);
    assert!(
        none.stdout.starts_with("Nothing is probed: "),
        "{}",
        none.stdout
    );
}

/// The first words of a bluff.
const BLUFF: &str = "This is a complete answer to the question";

#[test]
fn a_judge_that_sees_through_a_bluff_gives_it_what_no_criterion_decides() {
    let work = workspace();
    let server = FakeServer::start(Behaviour::good().saying(|request| match kind_of(request) {
        "property" | "expertise" if answer_of(request).starts_with(BLUFF) => {
            json!({"score": 0}).to_string()
        }
        kind => constant_reply(kind),
    }));
    let done = probe(&work, &server, &["--perturb", "bluffing"]).exits_with(0);
    let json = work.json("out/probe.json");
    let metric = compared(&json, "bluffing");
    let mean = |label: &str| {
        let mut systems = metric["systems"].as_array().unwrap().iter();
        let system = systems.find(|system| system["label"] == label).unwrap();
        system["mean"].as_f64().unwrap()
    };
    // 0.05 * 1 of the length, 0.2 * 0.5 of the citations and 0.1 * 1 of the excerpts.
    assert!((mean("bluffing") - 0.25).abs() < 1e-12, "{metric}");
    assert!(
        (mean("unchanged") - CONSTANT_SCORE).abs() < 1e-12,
        "{metric}"
    );
    let verdict = done.stdout.replace('\n', " ");
    // All 8 questions lose: 2 of 256 sign assignments. Equal differences have no interval.
    assert!(
        verdict.starts_with("Bluffing earns 25.0 [")
            && verdict.contains("] of 100 where the answers earn 75.5 (-50.5, p = 0.008)."),
        "{verdict}"
    );
    let inputs = work.lines("out/inputs.jsonl");
    let mut bluffs = inputs
        .iter()
        .filter(|line| line["system"] == "mine + bluffing");
    let text = bluffs.next().unwrap()["answer_text"].as_str().unwrap();
    assert_eq!(
        text,
        "This is a complete answer to the question about c1 and known. It covers c1 and causes in depth. Close attention is paid \
         to c1 and effects, which is treated from every side. Taken together, these points answer the question in full."
    );
    assert_eq!(bluffs.count(), 7);
}

#[test]
fn a_bluff_fools_the_baseline_by_what_it_names_and_needs_criteria() {
    let work = Workspace::new(&[], 0);
    let topics = [
        "glaciers",
        "monsoons",
        "volcanoes",
        "tides",
        "deserts",
        "forests",
        "rivers",
    ];
    let mut cases = String::new();
    let mut answers = String::new();
    for topic in topics.into_iter().chain(["nothing"]) {
        let criteria = if topic == "nothing" {
            json!([{"text": "It is so", "weight": 1}])
        } else {
            json!([
                {"text": format!("Names the feedback of {topic} on albedo"), "weight": 3},
                {"text": format!("Invents satellites of {topic}"), "weight": -1},
            ])
        };
        let question = format!("How do {topic} act?");
        let case = json!({"case_id": topic, "question": question, "criteria": criteria});
        let answer = json!({"case_id": topic, "answer_text": "It is cold."});
        cases += &format!("{case}\n");
        answers += &format!("{answer}\n");
    }
    work.write("tests.jsonl", &cases);
    work.write("answers/mine.jsonl", &answers);
    let arguments = [
        "probe",
        "answers",
        "--tests",
        "tests.jsonl",
        "--rubric",
        "criteria",
        "--out",
        "out",
        "--perturb",
        "bluffing",
    ];
    let done = work.run(&arguments).exits_with(0);
    // Every word of the criteria is named, and none of the faults.
    let verdict = done.stdout.replace('\n', " ");
    assert!(
        verdict.starts_with(
            "The judge can be bluffed: naming the words of the criteria without support earns 100.0 ["
        ) && verdict.contains("] of 100 where the answers earn 0.0 (+100.0, p = 0.016)."),
        "{verdict}"
    );
    assert!(
        verdict.contains("nothing in them changes: bluffing 1."),
        "{verdict}"
    );
    let inputs = work.lines("out/inputs.jsonl");
    let bluffs = inputs
        .iter()
        .filter(|line| line["system"] == "mine + bluffing");
    let texts: Vec<&str> = bluffs
        .map(|line| line["answer_text"].as_str().unwrap())
        .collect();
    assert_eq!(texts.len(), 7);
    assert!(
        texts
            .iter()
            .all(|text| text.contains("albedo") && !text.contains("satellites"))
    );

    let case = json!({"case_id": "c1", "question": "Why?", "criteria": [{"text": "It is so", "weight": 1}]});
    work.write("tests.jsonl", &case.to_string());
    work.answers("mine", [("c1", "It is cold.".to_owned())]);
    let nothing = [&arguments[..7], &["none", "--perturb", "bluffing"]].concat();
    work.run(&nothing)
        .exits_with(3)
        .says(&["--perturb bluffing changes nothing that the judge is asked"]);
}

/// The verdict of the baseline on bluffs, without line breaks.
fn bluffs_by_the_baseline(answers: &Path, tests: &Path) -> String {
    let work = Workspace::with_cases(&[]);
    let (answers, tests) = (answers.to_str().unwrap(), tests.to_str().unwrap());
    let done = work
        .run(&["probe", answers, "--tests", tests, "--perturb", "bluffing"])
        .exits_with(0);
    done.stdout.replace('\n', " ")
}

#[test]
fn a_bluff_beats_vague_answers_and_no_careful_ones_by_the_baseline() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let tests = data.join("test_cases.json");
    for (system, verdict, answers) in [
        ("careful", "Bluffing earns 33.5 [", "77.6 (-44.2 ["),
        ("vague", "The judge can be bluffed: ", "10.1 (+23.5 ["),
    ] {
        let answers_file = data.join(format!("answers/{system}.jsonl"));
        let shown = bluffs_by_the_baseline(&answers_file, &tests);
        let earnings = format!("of 100 where the answers earn {answers}");
        assert!(
            shown.starts_with(verdict) && shown.contains(&earnings),
            "{shown}"
        );
    }
    let Some(shared) = shared() else { return };
    let released = shared.canonicalize().unwrap().join("data/scholarqa_cs");
    let tests = released.join("test_configs_snippets.json");
    if tests.is_file() {
        let shown = bluffs_by_the_baseline(&released.join("src_answers"), &tests);
        let expected = "Bluffing earns 29.4 [28.7, 30.2] of 100 where the answers earn 36.2 (-6.8 [-7.7, -5.9], p < 0.001).";
        assert!(shown.starts_with(expected), "{shown}");
    }
}

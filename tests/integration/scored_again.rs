//! `score OLD_RUN --model NEW`: another judge scores exactly what a run holds, without the files that it was made of.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer};
use crate::support::workspace::{Finished, Workspace};

/// Another judge scores the answers of the run `out` into `new`.
fn again(work: &Workspace, server: &FakeServer, more: &[&str]) -> Finished {
    let url = server.base_url();
    let common = [
        "score",
        "out",
        "--model",
        "new-judge",
        "--base-url",
        &url,
        "--out",
        "new",
    ];
    work.run(&[&common[..], more].concat())
}

/// A server that serves `new-judge`.
fn new_judge() -> FakeServer {
    FakeServer::start(Behaviour::good().models(Act::json(&json!({"data": [{"id": "new-judge"}]}))))
}

/// The run `out`, after which the user's files are gone.
fn old_run(systems: &[&str], more: &[&str]) -> Workspace {
    let work = Workspace::new(systems, 3);
    let server = FakeServer::start(Behaviour::good());
    work.score(&server, more).exits_with(0);
    std::fs::remove_file(work.path("tests.json")).unwrap();
    std::fs::remove_dir_all(work.path("answers")).unwrap();
    work
}

#[test]
fn a_run_is_scored_again_from_its_record_alone() {
    let work = old_run(&["alpha", "beta", "gamma"], &[]);
    let server = new_judge();
    let planned = work
        .run(&[
            "plan",
            "out",
            "--model",
            "new-judge",
            "--base-url",
            &server.base_url(),
        ])
        .exits_with(0);
    assert!(planned.stdout.contains("plan: 36 calls now"), "{planned:?}");
    again(&work, &server, &[]).exits_with(0);
    // The judges answer alike, so that they are asked the same.
    let calls = work.lines("out/calls.jsonl").len();
    assert_eq!(server.chat_count(), calls);

    let [old, new] = ["out", "new"].map(|run| work.json(&format!("{run}/manifest.json")));
    for same in [
        "settings",
        "inputs",
        "scorers",
        "answers",
        "missing",
        "kept_cases",
        "seed",
        "policy",
    ] {
        assert_eq!(old[same], new[same], "{same}");
    }
    assert_eq!(new["roles"]["rubric"]["judges"][0]["model"], "new-judge");
    assert_eq!(
        old["roles"]["rubric"]["prompts"],
        new["roles"]["rubric"]["prompts"]
    );
    assert_eq!(
        work.read("out/inputs.jsonl"),
        work.read("new/inputs.jsonl"),
        "the new run holds the same, and can be scored again, too"
    );
    let scores = |run: &str| -> Vec<Value> {
        let lines = work.lines(&format!("{run}/scores.jsonl"));
        lines
            .into_iter()
            .map(|line| line["score"].clone())
            .collect()
    };
    assert_eq!(scores("out"), scores("new"));

    let across = ["compare", "out", "new", "--across", "judges"];
    let compared = work.run(&across).exits_with(0);
    assert!(
        compared
            .stdout
            .contains("The shift differs between systems with a standard deviation of"),
        "{compared:?}"
    );
    let compared = work.run(&[&across[..], &["--format", "json"]].concat());
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap();
    let between = &compared["judge_changes"][0]["between_systems"];
    let shifts: Vec<f64> = compared["judge_changes"][0]["systems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|system| system["shift"].as_f64().unwrap())
        .collect();
    let mean = shifts.iter().sum::<f64>() / 3.0;
    let variance = shifts
        .iter()
        .map(|shift| (shift - mean).powi(2))
        .sum::<f64>()
        / 2.0;
    assert!((between["sd"].as_f64().unwrap() - variance.sqrt()).abs() < 1e-12);
    // The judges answer alike: no system shifts, and none more than another.
    assert!(between["interval"]["high"].as_f64().unwrap() < 1e-9);

    // The same command again finds its record.
    again(&work, &server, &[]).exits_with(0);
    assert_eq!(server.chat_count(), calls);
}

#[test]
fn two_systems_show_no_deviation() {
    let work = old_run(&["alpha", "beta"], &[]);
    again(&work, &new_judge(), &[]).exits_with(0);
    let across = [
        "compare", "out", "new", "--across", "judges", "--format", "json",
    ];
    let compared = work.run(&across).exits_with(0);
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap();
    assert_eq!(compared["judge_changes"][0]["between_systems"], Value::Null);
}

#[test]
fn settings_of_the_run_hold_and_others_are_refused() {
    let work = old_run(
        &["alpha"],
        &["--limit", "2", "--only", "criteria", "--parse-retries", "0"],
    );
    let server = new_judge();
    again(&work, &server, &["--limit", "1"])
        .exits_with(2)
        .says(&["leave out what differs: limit"]);
    again(&work, &server, &["--scorers", "overlap"])
        .exits_with(2)
        .says(&["leave out what differs: scorers"]);
    assert_eq!(server.chat_count(), 0);
    // What is as in the run may be given; a file that the config names is not read.
    again(&work, &server, &["--limit", "2", "--tests", "gone.json"])
        .exits_with(0)
        .says(&["--tests is not read"]);
    let [old, new] = ["out", "new"].map(|run| work.json(&format!("{run}/manifest.json")));
    assert_eq!(old["settings"], new["settings"]);
    // Expertise, citations and two criteria, without snippets.
    assert_eq!(server.chat_count(), 2 * 4);
}

#[test]
fn texts_that_the_run_does_not_hold_cannot_be_kept() {
    let work = old_run(&["alpha"], &[]);
    let mut manifest = work.json("out/manifest.json");
    for (name, value) in [
        ("thinking", json!("removed")),
        ("keep_errors", json!(false)),
    ] {
        manifest["settings"][format!("score.{name}")] = value;
    }
    work.write("out/manifest.json", &manifest.to_string());
    for (flag, key) in [
        ("--keep-thinking", "keep_thinking"),
        ("--keep-errors", "keep_errors"),
    ] {
        again(&work, &new_judge(), &[flag])
            .exits_with(2)
            .says(&["leave out what differs", key]);
    }
}

#[test]
fn what_cannot_be_scored_again_says_what_is_missing() {
    let work = old_run(&["alpha"], &["--no-inputs"]);
    let server = new_judge();
    again(&work, &server, &[])
        .exits_with(3)
        .says(&["this run holds no answers: inputs.jsonl is missing"]);

    let work = old_run(&["alpha"], &[]);
    work.run(&["score", "out", "--model", "m", "--out", "out"])
        .exits_with(3)
        .says(&["name another directory with --out"]);
    work.run(&["score", "out", "more.jsonl", "--model", "m", "--out", "new"])
        .exits_with(2)
        .says(&["leave the other ANSWERS out"]);
    work.run(&["probe", "out", "--model", "m", "--out", "new"])
        .exits_with(2)
        .says(&["give the files of answers"]);

    let inputs = work.read("out/inputs.jsonl");
    work.write(
        "out/inputs.jsonl",
        &inputs.replace("alpha answer", "other answer"),
    );
    again(&work, &server, &[]).exits_with(3);
    assert_eq!(server.chat_count(), 0);
}

#[test]
fn the_prompts_are_those_of_the_run() {
    let work = Workspace::new(&["alpha"], 1);
    work.run(&["prompts", "export", "mine"]).exits_with(0);
    let files = work.files();
    let mut paths = files.into_iter().map(|(path, _)| path);
    let is_text = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("expertise") && name.ends_with(".txt")
    };
    let edited = paths.find(is_text).unwrap();
    let text = std::fs::read_to_string(&edited).unwrap();
    std::fs::write(&edited, text + "\nJudge strictly.").unwrap();
    let server = FakeServer::start(Behaviour::good());
    work.score(&server, &["--prompts", "mine"]).exits_with(0);
    let server = new_judge();
    let other = again(&work, &server, &[]);
    let text = other.all_text();
    assert!(
        other.code != Some(0) && text.contains("which are not those given now"),
        "{text}"
    );
    assert!(text.contains("--prompts DIR"), "{text}");
    again(&work, &server, &["--prompts", "mine"]).exits_with(0);
}

#[test]
fn a_run_of_the_baseline_is_scored_by_a_model() {
    let work = Workspace::new(&["alpha"], 1);
    let arguments = ["score", "answers", "--tests", "tests.json", "--out", "out"];
    work.run(&arguments).exits_with(0);
    again(&work, &new_judge(), &[]).exits_with(0);
    let scored = work.lines("new/scores.jsonl");
    assert_eq!(scored[0]["scorer"], "rubric");
    assert!(scored[0]["score"].is_number(), "{scored:?}");
}

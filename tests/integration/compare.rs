//! `compare` from end to end: recorded runs side by side.

mod gates;
mod judges;
mod released;
mod self_preference;
mod unlike;

use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer, Recorded};
use crate::support::judging::{answer_of, constant_judge, constant_reply, kind_of, section};
use crate::support::workspace::{Finished, Workspace};

/// The constant judge, but for alpha's answers, to which it gives 10 points in place of 8. Of a plain case
/// score = 0.05 * 1 + 0.05 * 1 + 0.2 * 0.5 + 0.1 * 1 + 0.15 * (1 + 0.5 + 1 + 1) = 0.825; beta's is 0.755.
fn partial_judge() -> Behaviour {
    Behaviour::good().saying(|request| match kind_of(request) {
        "property" | "expertise" if answer_of(request).contains("alpha") => {
            json!({"score": 10}).to_string()
        }
        kind => constant_reply(kind),
    })
}
const ALPHA: f64 = 0.825;
const BETA: f64 = 0.755;

/// The run `out` of alpha and beta on ten cases by the partial judge.
fn two_systems() -> (Workspace, FakeServer) {
    let work = Workspace::new(&["alpha", "beta"], 10);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &[]).exits_with(0);
    (work, server)
}

fn compare(work: &Workspace, more: &[&str]) -> Finished {
    work.run(&[&["compare", "--resamples", "500"], more].concat())
}

/// The text with line breaks as spaces: notes are wrapped.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn as_json(done: &Finished) -> Value {
    serde_json::from_str(&done.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", done.all_text()))
}

#[track_caller]
fn is_close(value: &Value, expected: f64) {
    assert!(
        value
            .as_f64()
            .is_some_and(|value| (value - expected).abs() < 1e-12),
        "{value} is not {expected}"
    );
}

#[test]
fn a_file_of_a_run_is_answered_with_the_runs_directory() {
    let (work, _server) = two_systems();
    compare(&work, &["out/scores.jsonl"]).exits_with(3).says(&[
        "out/scores.jsonl: is a file, not the directory of a run",
        "name the run's directory",
    ]);
}

#[test]
fn two_systems_are_compared_over_their_cases() {
    let (work, _server) = two_systems();
    let told = as_json(&compare(&work, &["out", "--format", "json"]).exits_with(0));
    assert_eq!(
        (&told["schema_version"], &told["runs"][0]["name"]),
        (&1.into(), &"out".into())
    );
    assert_eq!(
        (&told["runs"][0]["unfinished"], &told["differences"]),
        (&Value::Null, &json!([]))
    );
    let metric = &told["metrics"][0];
    assert_eq!(
        (
            &metric["metric"]["name"],
            metric["cases"].as_array().unwrap().len()
        ),
        (&"score".into(), 10)
    );
    assert_eq!(
        (
            &metric["systems"][0]["label"],
            &metric["systems"][1]["label"]
        ),
        (&"alpha".into(), &"beta".into())
    );
    is_close(&metric["systems"][0]["mean"], ALPHA);
    is_close(&metric["systems"][1]["mean"], BETA);
    let pair = &metric["pairs"][0];
    is_close(&pair["difference"], ALPHA - BETA);
    assert_eq!(
        (
            &pair["wins"],
            &pair["ties"],
            &pair["losses"],
            &metric["method"]
        ),
        (&10.into(), &0.into(), &0.into(), &"sign_flip".into())
    );
    // Of 2^10 sign assignments two are as far from 0: all plus, all minus.
    is_close(&pair["p"], 2.0 / 1024.0);
    assert!(
        told["judged_by"][0]["judge"]
            .as_str()
            .unwrap()
            .starts_with("fake-judge"),
        "{told}"
    );
    let with_pairs = compare(&work, &["out", "--notes"]).exits_with(0).stdout;
    assert!(
        with_pairs.contains("+7.0*") && with_pairs.contains("10/0/0"),
        "{with_pairs}"
    );
    let table = compare(&work, &["out"]).exits_with(0);
    let row = table
        .stdout
        .lines()
        .find(|line| line.starts_with("alpha  "))
        .unwrap();
    assert_eq!(
        row.split_whitespace().take(2).collect::<Vec<_>>(),
        ["alpha", "82.5"],
        "{row}"
    );
    assert!(!table.stdout.contains("10/0/0"), "{}", table.stdout);
    assert!(
        table
            .stdout
            .starts_with("score: alpha scores higher than beta (+7.0, p = 0.002).\n"),
        "{}",
        table.stdout
    );
    assert_eq!(table.stderr, "");
}

#[test]
fn metrics_are_chosen_by_name_and_unknown_names_get_the_list() {
    let (work, _server) = two_systems();
    let csv = compare(
        &work,
        &[
            "out",
            "--metric",
            "ann_score,rubric.expertise",
            "--format",
            "csv",
        ],
    )
    .exits_with(0);
    let names: std::collections::BTreeSet<&str> = csv
        .stdout
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).unwrap())
        .collect();
    assert_eq!(
        names.into_iter().collect::<Vec<_>>(),
        ["ann_score", "expertise"]
    );
    let all =
        as_json(&compare(&work, &["out", "--metric", "all", "--format", "json"]).exits_with(0));
    let names: Vec<&str> = all["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|metric| metric["metric"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "score",
            "ann_score",
            "length",
            "expertise",
            "citations",
            "excerpts"
        ]
    );
    compare(&work, &["out", "--metric", "scoer"])
        .exits_with(3)
        .says(&[
            "no metric is called scoer",
            "did you mean score?",
            "the runs have score, ann_score, length",
        ]);
    compare(&work, &["out", "--baseline", "bta"])
        .exits_with(3)
        .says(&["no system is called bta", "beta"]);
}

#[test]
fn with_a_baseline_only_its_pairs_are_tested() {
    let work = Workspace::new(&["alpha", "beta", "gamma"], 6);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &[]).exits_with(0);
    let told =
        as_json(&compare(&work, &["out", "--baseline", "beta", "--format", "json"]).exits_with(0));
    let metric = &told["metrics"][0];
    assert_eq!(
        (metric["pairs"].as_array().unwrap().len(), &metric["groups"]),
        (2, &json!([]))
    );
    let table = compare(&work, &["out", "--baseline", "beta", "--notes"])
        .exits_with(0)
        .stdout;
    assert!(
        table.contains("(baseline)") && !table.contains("share a letter"),
        "{table}"
    );
    compare(
        &work,
        &["out", "--baseline", "beta", "--require", "alpha>gamma"],
    )
    .exits_with(2)
    .says(&["only pairs with --baseline beta are tested"]);
}

#[test]
fn a_directory_of_runs_stands_for_its_runs() {
    let work = Workspace::new(&["alpha", "beta"], 4);
    let server = FakeServer::start(partial_judge());
    std::fs::create_dir(work.path("runs")).unwrap();
    for system in ["alpha", "beta"] {
        work.score(
            &server,
            &["--systems", system, "--out", &format!("runs/{system}")],
        )
        .exits_with(0);
    }
    let told = as_json(&compare(&work, &["runs", "runs/beta", "--format", "json"]).exits_with(0));
    // Answers and systems may differ; a run that is named twice counts once.
    assert_eq!(
        (told["runs"].as_array().unwrap().len(), &told["differences"]),
        (2, &json!([]))
    );
    assert_eq!(
        (&told["runs"][0]["name"], &told["runs"][1]["name"]),
        (&"alpha".into(), &"beta".into())
    );
    assert_eq!(told["metrics"][0]["pairs"][0]["wins"], 4);
    let mut manifest = work.json("runs/alpha/manifest.json");
    manifest["status"] = "stopped".into();
    work.write("runs/alpha/manifest.json", &manifest.to_string());
    let skipped =
        ["note: skipped runs/alpha: it was stopped early; run score once more to finish it"];
    let done = compare(&work, &["runs", "--format", "json"])
        .exits_with(0)
        .says(&skipped);
    assert_eq!(as_json(&done)["runs"][0]["name"], "beta");
    let gate = ["runs", "--require", "score>=0.1"];
    compare(&work, &gate).exits_with(6).says(&[
        "error: not met: skipped runs/alpha: it was stopped early",
        "--tolerate-missing",
    ]);
    compare(&work, &[&gate[..], &["--tolerate-missing"]].concat()).exits_with(0);
    // What cannot be read at all is no less missing: without its manifest, and without its scores.
    manifest["status"] = "complete".into();
    for (name, why) in [
        ("manifest.json", "manifest.json is missing"),
        ("scores.jsonl", "its scores.jsonl is missing"),
    ] {
        work.write("runs/alpha/manifest.json", &manifest.to_string());
        let kept = std::fs::read(work.path("runs/alpha").join(name)).unwrap();
        std::fs::remove_file(work.path("runs/alpha").join(name)).unwrap();
        compare(&work, &[&gate[..], &["--junit", "gates.xml"]].concat())
            .exits_with(6)
            .says(&["error: not met: skipped runs/alpha: ", why]);
        assert!(work.read("gates.xml").contains(why));
        compare(&work, &[&gate[..], &["--tolerate-missing"]].concat()).exits_with(0);
        std::fs::write(work.path("runs/alpha").join(name), kept).unwrap();
    }
    manifest["status"] = "stopped".into();
    work.write("runs/alpha/manifest.json", &manifest.to_string());
    work.run(&["report", "runs", "--out", "page.html"])
        .exits_with(0)
        .says(&skipped);
    work.run(&["agree", "runs"])
        .exits_with(3)
        .says(&skipped)
        .says(&["found only beta"]);
    work.write("runs/note.txt", "no run");
    compare(&work, &["answers"])
        .exits_with(3)
        .says(&["nor a directory of runs", "name the directory of a run"]);
}

#[test]
fn a_run_without_inputs_is_compared_without_lengths() {
    let work = Workspace::new(&["alpha", "beta"], 4);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &["--no-inputs"]).exits_with(0);
    let table = compare(&work, &["out", "--notes"]).exits_with(0).stdout;
    assert!(
        table.contains("82.5") && !table.contains("Length-adjusted"),
        "{table}"
    );
}

#[test]
fn several_samples_plan_a_study() {
    let work = Workspace::new(&["alpha", "beta"], 6);
    // Replies vary with the text and the seed of the call, not with the order in which calls arrive.
    let moody = Behaviour::good().saying(move |request| match kind_of(request) {
        "property" => {
            let sum: usize = request.body.iter().map(|byte| usize::from(*byte)).sum();
            json!({"score": 5 + sum % 4}).to_string()
        }
        kind => constant_reply(kind),
    });
    let server = FakeServer::start(moody);
    work.score(&server, &["--samples", "2"]).exits_with(0);
    let plan = unwrapped(
        &work
            .run(&["plan", "--power", "out", "--difference", "0.02"])
            .exits_with(0)
            .stdout,
    );
    assert!(
        plan.starts_with("To find a difference of 2.0 points in score between two of 2 systems"),
        "{plan}"
    );
    assert!(
        // Other samples need as many questions.
        plan.contains(" ask about 28 questions. ") && plan.contains("difference samples questions"),
        "{plan}"
    );
}

#[test]
fn one_system_alone_has_a_mean_and_can_be_gated() {
    let work = Workspace::new(&["alpha"], 3);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &[]).exits_with(0);
    let table = compare(&work, &["out", "--require", "score>=0.05"])
        .exits_with(0)
        .stdout;
    assert!(
        table.contains("82.5")
            && !table
                .replace("checked against people", "")
                .contains("against"),
        "{table}"
    );
}

#[test]
fn cases_that_a_run_asked_and_nobody_answered_are_absent_of_all() {
    let work = Workspace::new(&["alpha", "beta"], 5);
    let answers = |system: &str, cases: &[&'static str]| {
        work.answers(
            system,
            cases
                .iter()
                .map(|id| (*id, format!("The {system} answer to {id}, in few words."))),
        );
    };
    answers("alpha", &["c1", "c2"]);
    answers("beta", &["c2"]);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &[]).exits_with(0);
    let metric =
        as_json(&compare(&work, &["out", "--format", "json"]).exits_with(0))["metrics"][0].clone();
    let absent = |at: usize| {
        (
            metric["systems"][at]["label"].clone(),
            metric["systems"][at]["missing"].clone(),
        )
    };
    assert_eq!(
        (absent(0), absent(1)),
        (("alpha".into(), 3.into()), ("beta".into(), 4.into()))
    );
    assert_eq!(metric["cases_in_all"], 5);
    let table = compare(&work, &["out"]).exits_with(0).stdout;
    assert!(
        table.contains("1 shared case of 5") && table.contains("missing"),
        "{table}"
    );
    let report = work
        .run(&["report", "out", "--out", "page.html"])
        .exits_with(0)
        .stdout;
    assert!(report.contains("2 systems, 5 cases"), "{report}");
    assert!(work.read("page.html").contains("1 shared case of 5"));
    // What --limit leaves out was not asked.
    work.score(&server, &["--limit", "3", "--out", "limited"])
        .exits_with(0);
    let limited = as_json(&compare(&work, &["limited", "--format", "json"]).exits_with(0));
    assert_eq!(limited["metrics"][0]["systems"][0]["missing"], 1);
}

#[test]
fn several_metrics_have_a_verdict_each_and_one_table() {
    let (work, _server) = two_systems();
    let all = compare(&work, &["out", "--metric", "all"])
        .exits_with(0)
        .stdout;
    assert!(
        all.starts_with("score: alpha scores higher than beta (+7.0, p = 0.002).\n"),
        "{all}"
    );
    assert!(
        all.contains("\nNo pair differs significantly in length, ") && all.contains("\nMeans (%"),
        "{all}"
    );
    let row = all
        .lines()
        .find(|line| line.starts_with("alpha  "))
        .unwrap();
    assert_eq!(row.split_whitespace().nth(1), Some("82.5a"), "{row}");
    let one = compare(&work, &["out", "--notes"]).exits_with(0).stdout;
    assert!(
        !one.contains("Means (") && one.contains("W/T/L") && one.contains("ranks first (%)"),
        "{one}"
    );
    // Headings that are signs have a line with their meaning.
    for line in [
        "W/T/L: cases where the first system is better (win), equal (tie), worse (loss).",
        "p alone: p of this pair, not adjusted for the other pairs.",
    ] {
        assert!(unwrapped(&one).contains(line), "{line}: {one}");
    }
    assert!(
        unwrapped(&one).contains("means over 10 of 10 cases"),
        "{one}"
    );
}

#[test]
fn very_many_systems_have_means_and_a_baseline_but_not_all_pairs() {
    let names: Vec<String> = (0..101).map(|at| format!("s{at:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let work = Workspace::new(&names, 2);
    let scoring = ["score", "answers", "--tests", "tests.json", "--out", "out"];
    work.run(&scoring).exits_with(0);
    // 101 * 100 / 2 pairs.
    compare(&work, &["out"]).exits_with(3).says(&[
        "101 systems make 5,050 pairs, more than the 5,000 that are tested",
        "--baseline SYSTEM",
        "scholareval table",
    ]);
    let baseline = compare(&work, &["out", "--baseline", "s000", "--format", "json"]);
    let metric = &as_json(&baseline.exits_with(0))["metrics"][0];
    assert_eq!(metric["pairs"].as_array().unwrap().len(), 100);
    let table = work.run(&["table", "out", "--format", "csv"]).exits_with(0);
    assert_eq!(table.stdout.lines().count(), 102);
    work.run(&["report", "out", "--out", "page.html"])
        .exits_with(0)
        .says(&["5,050 pairs of systems: the page has means without tests"]);
    let page = work.read("page.html");
    assert!(page.contains("<p class=\"call-out left-out\">5,050 pairs of systems"));
    assert!(page.contains("s100") && !page.contains("Pairs <small>"));
}

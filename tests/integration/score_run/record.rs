//! The table, the files of a run, and scoring them again.

use serde_json::{Value, json};

use super::judging::{CONSTANT_ANN_SCORE, CONSTANT_SCORE, constant_judge, constant_reply};
use super::workspace::{AT_MOST, KEY, Workspace, plain_case, scoring};
use super::{Act, FakeServer, Recorded};
use crate::support::judging::kind_of;

/// What stays the same when a run is scored again.
const SCORED: [&str; 4] = ["scores.jsonl", "items.csv", "summary.json", "summary.csv"];

#[track_caller]
fn has_exactly(object: &Value, names: &str) {
    let mut found: Vec<&str> = object
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut expected: Vec<&str> = names.split_whitespace().collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
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

fn scored_files(work: &Workspace, out: &str) -> Vec<String> {
    SCORED
        .iter()
        .map(|name| work.read(&format!("{out}/{name}")))
        .collect()
}

#[test]
fn a_run_prints_the_table_and_says_where_its_record_is() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(constant_judge());
    let done = work
        .score(&server, &[])
        .exits_with(0)
        .says(&["record of the run: out"]);
    let header = done
        .stdout
        .lines()
        .find(|line| line.starts_with("system"))
        .unwrap();
    for column in ["answers", "score", "ann_score"] {
        assert!(header.contains(column), "{column} is not in {header}");
    }
    for system in ["alpha", "beta"] {
        let row = done
            .stdout
            .lines()
            .find(|line| line.starts_with(system))
            .unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        // the numbers of `constant_judge`, in percent; three equal values have an interval, too, with t = 4.30
        assert_eq!(
            cells[..7],
            [system, "75.5", "[36.8,", "93.2]", "3", "77.5", "[37.1,"]
        );
    }
    let told = done.stdout.replace("\n  ", " ");
    for note in [
        "Means per answer, 95% intervals, shares in %; judge: fake-judge",
        "score: alpha and beta do not differ significantly (0.0, p > 0.999).",
        "Not comparable with published numbers: rubric (judge fake-judge instead of gpt-4o, prompts scholareval@",
    ] {
        assert!(told.contains(note), "{note} is not in\n{told}");
    }
    assert_eq!(
        server.chat_count(),
        2 * 3 * AT_MOST,
        "every gate is open, every call is asked once"
    );
}

#[test]
fn every_file_of_the_record_has_the_documented_fields() {
    let work = Workspace::new(&["alpha", "beta"], 2);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    let manifest = work.json("out/manifest.json");
    has_exactly(
        &manifest,
        "schema_version scholareval_version status label started_at finished_at mode subject reference settings inputs scorers \
         roles seed answers kept_cases missing warnings policy endpoints files scores headline",
    );
    assert_eq!(
        (&manifest["schema_version"], &manifest["status"]),
        (&json!(2), &json!("complete"))
    );
    assert_eq!(manifest["subject"], "answer");
    assert_eq!(
        (&manifest["answers"], &manifest["kept_cases"]),
        (&json!(4), &json!(["c1", "c2"]))
    );
    let rubric = &manifest["roles"]["rubric"];
    has_exactly(rubric, "judges merge prompts");
    has_exactly(
        &rubric["judges"][0],
        "id model base_url served lexical samples merge settings answered_by",
    );
    has_exactly(
        &rubric["prompts"],
        "label fingerprint comparable_with_published",
    );
    has_exactly(&manifest["headline"], "metric unit lowest highest");
    is_close(&manifest["headline"]["highest"], CONSTANT_SCORE);
    let tests_hash = blake3::hash(work.read("tests.json").as_bytes())
        .to_hex()
        .to_string();
    let scores = std::fs::read(work.path("out/scores.jsonl")).unwrap();
    let stamp =
        json!({"bytes": scores.len(), "blake3": blake3::hash(&scores).to_hex().to_string()});
    assert_eq!(
        (&manifest["files"]["scores.jsonl"], &manifest["scores"]),
        (&stamp, &json!(4))
    );
    has_exactly(&manifest["files"], "inputs.jsonl calls.jsonl scores.jsonl");
    assert_eq!(
        manifest["inputs"][0],
        json!({"name": "tests", "path": "tests.json", "blake3": tests_hash})
    );
    let inputs = work.lines("out/inputs.jsonl");
    assert_eq!(
        inputs.iter().filter(|line| line["type"] == "case").count(),
        2,
        "every case once"
    );
    has_exactly(
        &inputs[0],
        "type case_id initial_prompt annotator agreement rubric",
    );
    let answer = inputs.iter().find(|line| line["type"] == "answer").unwrap();
    has_exactly(answer, "type system case_id line answer_text prediction");
    for score in work.lines("out/scores.jsonl") {
        has_exactly(
            &score,
            "system case_id scorer score ann_score ann_divisor components details notes injection",
        );
        is_close(&score["score"], CONSTANT_SCORE);
        is_close(&score["ann_score"], CONSTANT_ANN_SCORE);
        let names = "length expertise citations excerpts p0 p0_evidence p1 p1_evidence";
        has_exactly(&score["components"], names);
        has_exactly(&score["details"], names);
        has_exactly(&score["details"]["p0"], "kind text weight value feedback");
        assert_eq!(
            (
                &score["components"]["p0_evidence"],
                &score["details"]["p0"]["weight"]
            ),
            (&json!(0.5), &json!(0.15))
        );
    }
    let order: Vec<String> = work
        .lines("out/scores.jsonl")
        .iter()
        .map(|line| format!("{}{}", line["system"], line["case_id"]))
        .collect();
    assert_eq!(
        order,
        [
            r#""alpha""c1""#,
            r#""alpha""c2""#,
            r#""beta""c1""#,
            r#""beta""c2""#
        ]
    );
}

#[test]
fn the_record_holds_every_call_with_its_raw_reply() {
    let work = Workspace::new(&["alpha", "beta"], 2);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    let calls = work.lines("out/calls.jsonl");
    assert_eq!(calls.len(), server.chat_count());
    let bodies: std::collections::HashMap<String, usize> = server
        .chats()
        .iter()
        .map(|chat| (kind_of(chat).to_owned(), chat.body.len() / 4))
        .collect();
    for call in &calls {
        has_exactly(
            call,
            "call_id system case_id item kind role judge sample attempt fingerprint prompt reply verdict",
        );
        let kind = call["kind"].as_str().unwrap();
        assert_eq!(call["reply"]["content"], constant_reply(kind), "{call}");
        assert_eq!(
            (&call["reply"]["finish_reason"], &call["reply"]["model"]),
            (&json!("stop"), &json!("fake-judge"))
        );
        assert_eq!(
            (&call["sample"], &call["attempt"], &call["reply"]["cached"]),
            (&json!(0), &json!(0), &json!(false))
        );
        assert_eq!(
            (
                call["call_id"].as_str().unwrap().len(),
                call["fingerprint"].as_str().unwrap().len()
            ),
            (32, 64)
        );
        has_exactly(
            &call["reply"],
            "content finish_reason model usage latency_ms cached",
        );
        let verdict = match kind {
            "citations" => {
                json!({"claims": {"citations": 0.5, "excerpts": 1.0, "claim_count": 2, "citation_count": 1}})
            }
            "evidence" => json!({"count": 1.0}),
            _ => json!({"points": 8.0}),
        };
        assert_eq!(call["verdict"], verdict);
        // the fake counts a token for four bytes of the body; bodies of a kind are of one length, but for the names
        let tokens = call["reply"]["usage"]["prompt_tokens"].as_u64().unwrap();
        assert!(
            tokens.abs_diff(bodies[kind] as u64) < 20,
            "{tokens} tokens for {kind}"
        );
    }
    let ids: std::collections::HashSet<&Value> =
        calls.iter().map(|call| &call["call_id"]).collect();
    assert_eq!(ids.len(), calls.len(), "call ids are unique");
}

#[test]
fn the_tidy_and_the_summary_files_hold_the_same_numbers() {
    let work = Workspace::new(&["alpha", "beta"], 2);
    let server = FakeServer::start(constant_judge());
    let done = work.score(&server, &["--run-label", "first"]).exits_with(0);
    assert!(done.stdout.contains("75.5"));
    let items = work.read("out/items.csv");
    let rows: Vec<&str> = items.lines().collect();
    assert_eq!(
        rows[0],
        "run,system,case_id,scorer,component,kind,unit,question,text,weight,value,reason_kind,reason,feedback"
    );
    assert_eq!(
        rows.len(),
        1 + 2 * 2 * 10,
        "a header, then two sums and eight components an answer"
    );
    assert!(
        rows[3].starts_with("first,alpha,c1,rubric,length,length,share,"),
        "{}",
        rows[3]
    );
    let criterion = "first,beta,c2,rubric,p1,property,share,What is known about c2?,The answer should name the effects of c2.,\
                     0.15,0.8,,,it is so";
    assert!(rows.contains(&criterion), "{items}");
    let summary = work.json("out/summary.json");
    assert_eq!(
        (&summary["schema_version"], &summary["run"]),
        (&json!(1), &json!("first"))
    );
    for row in summary["scorers"][0]["rows"].as_array().unwrap() {
        let metrics = &row["metrics"];
        is_close(&metrics["score"]["estimate"], CONSTANT_SCORE);
        is_close(&metrics["ann_score"]["estimate"], CONSTANT_ANN_SCORE);
        is_close(&metrics["length"]["estimate"], 1.0);
        is_close(&metrics["expertise"]["estimate"], 0.8);
        is_close(&metrics["citations"]["estimate"], 0.5);
        is_close(&metrics["excerpts"]["estimate"], 1.0);
        assert_eq!(
            (&metrics["score"]["n"], &row["unscored"]),
            (&json!(2), &json!(0))
        );
    }
    let csv = work.read("out/summary.csv");
    let (header, first) = (csv.lines().next().unwrap(), csv.lines().nth(1).unwrap());
    let cell = |name: &str| {
        first
            .split(',')
            .nth(header.split(',').position(|own| own == name).unwrap())
            .unwrap()
    };
    is_close(
        &json!(cell("score").parse::<f64>().unwrap()),
        CONSTANT_SCORE,
    );
    assert_eq!(
        (
            cell("system"),
            cell("score_n"),
            cell("missing"),
            cell("rank")
        ),
        ("alpha", "2", "0", "1")
    );
}

#[test]
fn json_and_csv_on_standard_output_are_the_summary_files() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    let json = work.score(&server, &["--format", "json"]).exits_with(0);
    assert_eq!(json.stdout, work.read("out/summary.json"));
    let csv = work
        .score(&server, &["--format", "csv", "--quiet"])
        .exits_with(0);
    assert_eq!(
        (csv.stdout, csv.stderr),
        (work.read("out/summary.csv"), String::new())
    );
}

#[test]
fn formulas_in_csv_are_defused_unless_it_is_raw_and_names_stay_as_they_are() {
    let work = Workspace::with_cases(&[plain_case("=c1")]);
    work.answers("-alpha", [("=c1", "Because of rain.".to_owned())]);
    let reply = json!({"score": 8, "reason": "=HYPERLINK(1)"}).to_string();
    let judge = constant_judge().when(
        |request| kind_of(request) == "property",
        Act::Content(reply),
    );
    let server = FakeServer::start(judge);
    work.score(&server, &["--run-label", "+mine"]).exits_with(0);
    let guarded = work.read("out/items.csv");
    assert!(guarded.lines().any(|line| line.starts_with("'+mine,-alpha,=c1,") && line.ends_with(",'=HYPERLINK(1)")));
    work.run(&["rescore", "out", "--raw-csv"]).exits_with(0);
    let raw = work.read("out/items.csv");
    assert_eq!(raw, guarded.replace("'+", "+").replace("'=", "="));
    assert_ne!(raw, guarded);
    work.run(&["rescore", "out"]).exits_with(0);
    assert_eq!(work.read("out/items.csv"), guarded);
    let config = ["config", "--run-label==1+1", "--format", "csv"];
    assert!(
        work.run(&config)
            .exits_with(0)
            .stdout
            .contains("\noutput.label,'=1+1,flag --run-label\n")
    );
    let raw = [&config[..], &["--raw-csv"]].concat();
    assert!(
        work.run(&raw)
            .exits_with(0)
            .stdout
            .contains("\noutput.label,=1+1,flag --run-label\n")
    );
}

#[test]
#[cfg(unix)]
fn a_new_run_directory_is_for_its_owner_only_and_an_existing_one_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    let mode = |name: &str| {
        std::fs::metadata(work.path(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    work.write("usual", "");
    work.score(&server, &["--out", "runs/mine"]).exits_with(0);
    // the parent and the files follow the umask, as every file does
    assert_eq!((mode("runs/mine"), mode("runs")), (0o700, mode("answers")));
    assert!(
        SCORED
            .iter()
            .all(|name| mode(&format!("runs/mine/{name}")) == mode("usual"))
    );
    work.run(&["rescore", "runs/mine", "--out", "copy"])
        .exits_with(0);
    assert_eq!(mode("copy"), 0o700);
    std::fs::create_dir(work.path("shared")).unwrap();
    std::fs::set_permissions(work.path("shared"), PermissionsExt::from_mode(0o775)).unwrap();
    for _ in 0..2 {
        work.score(&server, &["--out", "shared"]).exits_with(0);
        assert_eq!(mode("shared"), 0o775);
    }
}

#[test]
fn the_results_file_has_the_shape_of_the_reference() {
    let work = Workspace::new(&["alpha", "beta"], 2);
    let server = FakeServer::start(constant_judge());
    let url = server.base_url();
    // the reference script's own command line, beside the judge
    let line = "score --qa-dir answers --test-config tests.json --src-names beta.jsonl,alpha \
                --output results.json --model fake-judge --base-url";
    let arguments: Vec<&str> = line.split_whitespace().chain([url.as_str()]).collect();
    work.run(&arguments)
        .exits_with(0)
        .says(&["record of the run: runs/"]);
    let results = work.json("results.json");
    has_exactly(&results, "alpha.jsonl beta.jsonl");
    for entry in results["alpha.jsonl"].as_array().unwrap() {
        has_exactly(entry, "scores case_id annotator agreement question");
        let names =
            "score ann_score length expertise citations excerpts p0 p0_evidence p1 p1_evidence";
        has_exactly(&entry["scores"], names);
        is_close(&entry["scores"]["score"], CONSTANT_SCORE);
    }
    assert_eq!(results["beta.jsonl"][1]["case_id"], "c2");
    assert_eq!(
        results["beta.jsonl"][1]["question"],
        "What is known about c2?"
    );
    assert_eq!(server.chat_count(), 2 * 2 * AT_MOST);
    // the same command finds its own directory and has nothing to ask
    work.run(&arguments).exits_with(0).says(&["nothing to ask"]);
    assert_eq!(
        (
            server.chat_count(),
            std::fs::read_dir(work.path("runs")).unwrap().count()
        ),
        (2 * 2 * AT_MOST, 1)
    );
}

#[test]
fn a_run_is_scored_again_byte_for_byte_without_server_cache_or_input() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(super::Behaviour::good());
    let first = work.score(&server, &[]).exits_with(0);
    let before = scored_files(&work, "out");
    drop(server);
    for gone in ["answers", ".scholareval"] {
        std::fs::remove_dir_all(work.path(gone)).unwrap();
    }
    for name in SCORED {
        std::fs::remove_file(work.path("out").join(name)).unwrap();
    }
    let again = work.run(&["rescore", "out"]).exits_with(0);
    assert_eq!(again.stdout, first.stdout, "the same table");
    assert_eq!(scored_files(&work, "out"), before);
    // elsewhere, all but the run's name is the same
    work.run(&["rescore", "out", "--out", "elsewhere", "--quiet"])
        .exits_with(0);
    assert_eq!(work.read("elsewhere/scores.jsonl"), before[0]);
    assert_eq!(work.read("elsewhere/summary.csv"), before[3]);
    work.run(&["rescore", "elsewhere"]).exits_with(0);
}

#[test]
fn compat_scores_come_from_the_same_replies_by_cache_and_by_record() {
    let work = Workspace::new(&["alpha"], 2);
    // 11 points: unreadable for us, 1.1 for the reference
    let is_first_criterion =
        |request: &Recorded| request.user_message().contains("name the causes of c1");
    let eleven = Act::Content(json!({"score": 11}).to_string());
    let server = FakeServer::start(constant_judge().when(is_first_criterion, eleven));
    work.score(&server, &["--max-unscored", "1"]).exits_with(0);
    // 2 answers of 6 calls, less the snippets behind the unscored criterion, and 2 more tries of it
    assert_eq!(server.chat_count(), 2 * AT_MOST - 1 + 2);
    let scores = work.lines("out/scores.jsonl");
    assert_eq!(
        (&scores[0]["score"], &scores[0]["components"]["p0"]),
        (&Value::Null, &Value::Null)
    );
    let asked = server.chat_count();
    let compat = work
        .score(&server, &["--compat", "--out", "compat"])
        .exits_with(0);
    let theirs = work.lines("compat/scores.jsonl");
    // 11 / 10 = 1.1, a fault of the reference; c2 has no difference
    is_close(&theirs[0]["components"]["p0"], 1.1);
    is_close(&theirs[1]["score"], CONSTANT_SCORE);
    assert!(compat.stdout.contains("Compat mode"), "{}", compat.stdout);
    let manifest = work.json("compat/manifest.json");
    assert_eq!(manifest["mode"], "compat");
    let reference = manifest["reference"]["rubric"].as_str().unwrap();
    assert!(reference.contains("95e6fc5"), "{reference}");
    // the reference would have asked the snippets of p0, which are not paid
    assert_eq!(server.chat_count(), asked + 1);
    // the default run again: nothing new
    work.score(&server, &["--max-unscored", "1"]).exits_with(0);
    assert_eq!(server.chat_count(), asked + 1);
    // the record of the compat run scores to the same, also where another run is named
    let untouched = scored_files(&work, "out");
    work.run(&["rescore", "compat", "--out", "compat2"])
        .exits_with(0);
    assert_eq!(
        work.read("compat2/scores.jsonl"),
        work.read("compat/scores.jsonl")
    );
    work.run(&["rescore", "out", "--compat"])
        .says(&["scores of another mode; add --out DIR"]);
    assert_eq!(
        scored_files(&work, "out"),
        untouched,
        "a run is not written over with scores of another mode"
    );
    // of c1 the reference asks the snippets of p0, which this run did not
    let arguments = [
        "rescore",
        "out",
        "--compat",
        "--out",
        "again",
        "--max-unscored",
        "1",
    ];
    let again = work
        .run(&arguments)
        .exits_with(0)
        .stdout
        .replace("\n  ", " ");
    assert!(
        again.contains("alpha 1 of 2 (needs other calls)"),
        "{again}"
    );
    let rescored = work.lines("again/scores.jsonl");
    let reason = json!({"kind": "needs_other_calls", "message": "needs other calls"});
    assert_eq!(
        (
            &rescored[0]["score"],
            &rescored[0]["details"]["p0_evidence"]["unscored"]
        ),
        (&Value::Null, &reason)
    );
    assert_eq!(
        rescored[0]["components"]["p0"],
        theirs[0]["components"]["p0"]
    );
    assert_eq!(rescored[1]["score"], theirs[1]["score"]);
}

#[test]
fn rescoring_keeps_the_name_that_was_given_to_the_run() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--run-label", "mine"]).exits_with(0);
    let items = work.read("out/items.csv");
    assert!(
        items.lines().skip(1).all(|line| line.starts_with("mine,")),
        "{items}"
    );
    work.run(&["rescore", "out", "--out", "copy"]).exits_with(0);
    assert_eq!(work.read("copy/items.csv"), items);
    assert_eq!(work.json("copy/summary.json")["run"], "mine");
}

#[test]
fn rescoring_removes_no_record_but_an_earlier_copy_of_the_run() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--no-cache"]).exits_with(0);
    let (calls, inputs) = (work.read("out/calls.jsonl"), work.read("out/inputs.jsonl"));
    // its own directory, named as if it were another
    work.run(&["rescore", "out", "--out", "out/../out"])
        .exits_with(0);
    work.run(&["rescore", "out", "--compat", "--out", "out"])
        .exits_with(3)
        .says(&["name another directory with --out"]);
    assert_eq!(
        (work.read("out/calls.jsonl"), work.read("out/inputs.jsonl")),
        (calls.clone(), inputs)
    );
    // a run of other settings, and one of the same settings with replies of its own
    work.score(
        &server,
        &["--no-cache", "--only", "criteria", "--out", "other"],
    )
    .exits_with(0);
    work.score(&server, &["--no-cache", "--out", "twin"])
        .exits_with(0);
    for (name, why) in [
        (
            "other",
            "different score.snippets: false (in the run), true (now)",
        ),
        ("twin", "a record of other calls"),
    ] {
        let before = work.read(&format!("{name}/calls.jsonl"));
        work.run(&["rescore", "out", "--out", name])
            .exits_with(3)
            .says(&[why, "--overwrite"]);
        assert_eq!(work.read(&format!("{name}/calls.jsonl")), before);
    }
    // a copy is made again, and what the user insists on is replaced
    for _ in 0..2 {
        work.run(&["rescore", "out", "--out", "copy"]).exits_with(0);
    }
    work.run(&["rescore", "out", "--out", "twin", "--overwrite"])
        .exits_with(0);
    for name in ["copy", "twin"] {
        assert_eq!(work.read(&format!("{name}/calls.jsonl")), calls);
    }
}

#[test]
fn from_readable_replies_compat_and_default_ask_nothing_of_each_other() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    let asked = server.chat_count();
    work.score(&server, &["--compat", "--out", "compat"])
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(server.chat_count(), asked);
    work.run(&["rescore", "out", "--compat", "--out", "compat2"])
        .exits_with(0);
    assert_eq!(
        work.read("compat2/scores.jsonl"),
        work.read("compat/scores.jsonl")
    );
}

#[test]
fn a_directory_of_other_settings_is_refused_with_what_differs() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &[]).exits_with(0);
    let asked = server.chat_count();
    let differing = ["--samples", "2", "--limit", "1"];
    work.score(&server, &differing).exits_with(3).says(&[
        "out: different samples of the judge of rubric: 1 (in the run), 2 (now); different cases: 2 [",
        "; different score.limit: none (in the run), 1 (now); the directory holds another run",
        "--overwrite",
    ]);
    assert_eq!(server.chat_count(), asked, "nothing was asked");
    work.write(
        "answers/alpha.jsonl",
        "{\"case_id\": \"c1\", \"answer_text\": \"other\"}\n",
    );
    work.score(&server, &[])
        .exits_with(3)
        .says(&["out: different answers of alpha: "]);
    work.score(&server, &["--overwrite"]).exits_with(0);
    assert_eq!(work.lines("out/scores.jsonl").len(), 1);
    assert_eq!(server.chat_count(), asked + AT_MOST, "the new answer only");
}

#[test]
fn answers_of_large_files_are_read_when_they_are_scored_and_give_the_same_calls_and_scores() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(super::Behaviour::good());
    work.score(&server, &["--out", "small"]).exits_with(0);
    let asked = server.chats().len();
    for system in ["alpha", "beta"] {
        let name = format!("answers/{system}.jsonl");
        let padded = format!("\u{feff}{}{}", work.read(&name), "\n".repeat(300 << 10));
        work.write(&name, &padded);
    }
    work.score(&server, &["--out", "large"]).exits_with(0);
    assert_eq!(server.chats().len(), asked, "every call is cached");
    for name in ["inputs.jsonl", "scores.jsonl"] {
        assert_eq!(
            work.read(&format!("large/{name}")),
            work.read(&format!("small/{name}")),
            "{name}"
        );
    }
}

#[test]
fn inputs_can_be_left_out_of_the_record() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--no-inputs"]).exits_with(0);
    assert!(!work.path("out/inputs.jsonl").exists());
    work.run(&["rescore", "out"]).exits_with(3).says(&[
        "inputs.jsonl",
        "--no-inputs",
        "run score once more",
    ]);
}

#[test]
fn no_secret_reaches_a_file_or_a_stream() {
    let work = Workspace::new(&["alpha"], 1);
    // the server quotes the key and the header when it refuses one of the calls
    let quoting = Act::error(
        422,
        "bad",
        &format!("no: {KEY} hunter2-header hunter2-query hunter2-password"),
    );
    let is_claims = |request: &Recorded| request.asks_for_claims();
    let server = FakeServer::start(constant_judge().when(is_claims, quoting));
    let url = server
        .base_url()
        .replace("http://", "http://me:hunter2-password@")
        + "?api_key=hunter2-query";
    let more = [
        "--header",
        "X-Api-Key: hunter2-header",
        "--max-unscored",
        "1",
        "-vv",
    ];
    let extra = [
        "--extra-body",
        r#"{"api_token": "hunter2-body"}"#,
        "--wait-server",
        "1s",
    ];
    let arguments = [scoring(&url, &more), extra.to_vec()].concat();
    let mut output = work.run(&arguments).exits_with(0).all_text();
    // the secrets were sent, so that this test can fail
    let chat = &server.chats()[0];
    assert_eq!(chat.header("x-api-key"), Some("hunter2-header"));
    assert!(chat.query.contains("hunter2-query") && chat.text().contains("hunter2-body"));
    assert!(server.chats().iter().any(Recorded::asks_for_claims));
    let _port = server.gone();
    output += &work.run(&arguments).all_text();
    output += &work.run(&["cache", "stats"]).all_text();
    let secrets = [KEY, "hunter2"];
    for secret in secrets {
        assert!(!output.contains(secret), "{secret} in\n{output}");
    }
    let files = work.files();
    assert!(
        files.iter().any(|(path, _)| path.ends_with("cache.sqlite")) && files.len() > 8,
        "{}",
        files.len()
    );
    for (path, bytes) in files {
        for secret in secrets {
            let found = bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} in {}", path.display());
        }
    }
}

//! Bad input, all of it found before the first call, and what is done with odd input.

use serde_json::{Value, json};

use super::FakeServer;
use super::judging::constant_judge;
use super::workspace::{AT_MOST, Finished, Workspace, plain_case, test_case};

const ANSWER: &str = "{\"case_id\": \"c1\", \"answer_text\": \"Short.\"}\n";

/// Runs `score` where one thing is wrong, and sees to it that the server was not asked at all.
#[track_caller]
fn refused(work: &Workspace, more: &[&str], code: i32, says: &[&str]) -> Finished {
    let server = FakeServer::start(constant_judge());
    let done = work.score(&server, more).exits_with(code).says(says);
    assert_eq!(
        server.requests().len(),
        0,
        "the server was asked: {}",
        done.stderr
    );
    assert!(
        !work.path("out").exists() && done.stdout.is_empty(),
        "{}",
        done.stdout
    );
    done
}

#[test]
fn bad_answers_are_refused_with_file_line_case_and_remedy() {
    for (lines, says) in [
        (
            "{\"case_id\": \"c1\", \"answer_text\": \"a\"\n",
            &["answers/bad.jsonl:1"][..],
        ),
        (
            "{\"answer_text\": \"a\"}\n",
            &[
                "answers/bad.jsonl: no field for case_id or question: the file has answer_text; looked for",
            ],
        ),
        (
            "{\"case_id\": \"c1\"}\n",
            &[
                "answers/bad.jsonl: no field for answer_text: the file has case_id; looked for answer_text, answer,",
            ],
        ),
        (
            "{\"case_id\": \"c1\", \"answer_text\": 7}\n",
            &[
                "answers/bad.jsonl:1 (case c1): answer_text",
                "expected a string",
            ],
        ),
        (
            "{\"case_id\": \"c1\", \"answer_text\": \"a\"}\n\n{\"case_id\": \"c1\", \"answer_text\": \"b\"}\n",
            &[
                "answers/bad.jsonl:3 (case c1): duplicate case_id, first on line 1",
                "keep one of the two lines",
            ],
        ),
    ] {
        let work = Workspace::new(&["alpha"], 1);
        work.write("answers/bad.jsonl", lines);
        refused(&work, &[], 3, says);
    }
}

#[test]
fn faults_of_several_files_are_told_together() {
    let work = Workspace::new(&["alpha"], 1);
    work.write("answers/one.jsonl", "{\"case_id\": \"c1\"}\n");
    work.write("answers/two.jsonl", "\n[");
    refused(
        &work,
        &[],
        3,
        &[
            "answers/one.jsonl: no field for answer_text",
            "answers/two.jsonl:2: invalid JSON at column 1",
        ],
    );
}

#[test]
fn bad_test_cases_are_refused_with_file_line_case_and_remedy() {
    let mut heavy = plain_case("c1");
    heavy["metric_config"]["config"]["length_weight"] = json!(0.15);
    let mut twice = test_case("c1", &[("Say why.", &["a"]), ("Say when.", &["b"])]);
    twice["metric_config"]["config"]["other_properties"][1]["name"] = json!("p0");
    let mut colliding = test_case("c1", &[("Say why.", &["a"])]);
    colliding["metric_config"]["config"]["other_properties"][0]["name"] = json!("length");
    for (cases, says) in [
        (vec![heavy], &["tests.json:1 (case c1)", "1.1"][..]),
        (vec![twice], &["tests.json:1 (case c1)", "p0"]),
        (vec![colliding], &["tests.json:1 (case c1)", "length"]),
        (
            vec![plain_case("c1"), plain_case("c1")],
            &["tests.json:1 (case c1)", "duplicate"],
        ),
    ] {
        let work = Workspace::with_cases(&cases);
        work.write("answers/alpha.jsonl", ANSWER);
        refused(&work, &[], 3, says);
    }
}

#[test]
fn missing_files_empty_directories_and_unknown_names_are_refused_with_what_to_type() {
    let work = Workspace::new(&["alpha", "beta"], 2);
    refused(
        &work,
        &["--systems", "alhpa"],
        3,
        &["unknown system \"alhpa\"", "alpha"],
    );
    refused(&work, &["--cases", "c9"], 3, &["c9", "c1"]);
    refused(&work, &["--prompts", "absent"], 3, &["absent"]);
    std::fs::create_dir(work.path("empty")).unwrap();
    let server = FakeServer::start(constant_judge());
    let url = server.base_url();
    for (answers, tests, says) in [
        (
            "empty",
            "tests.json",
            "empty: no *.jsonl, *.json, *.csv file in the directory",
        ),
        (
            "answer",
            "tests.json",
            "answer: no such file or directory; did you mean answers?",
        ),
        (
            "answers",
            "test.json",
            "test.json: no such file or directory; did you mean tests.json?",
        ),
    ] {
        let arguments = [
            "score",
            answers,
            "--tests",
            tests,
            "--model",
            "fake-judge",
            "--base-url",
            &url,
        ];
        work.run(&arguments).exits_with(3).says(&[says]);
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn output_places_are_tried_before_the_first_call() {
    let work = Workspace::new(&["alpha"], 1);
    let server = FakeServer::start(constant_judge());
    work.write("file", "");
    for (more, says) in [
        (&["--out", "file"][..], "file: cannot create"),
        (
            &["--output", "absent/results.json"],
            "absent/results.json: cannot write the results file",
        ),
        (&["--cache", "tests.json"], "cache tests.json: "),
        (&["--cache", "answers", "--out", "out2"], "answers: "),
    ] {
        work.score(&server, more).exits_with(3).says(&[says]);
    }
    assert_eq!(server.chat_count(), 0);
    assert!(
        work.read("tests.json").starts_with('['),
        "a foreign file is not overwritten"
    );
}

#[test]
fn odd_input_is_told_counted_and_with_strict_refused() {
    let work = Workspace::new(&["alpha"], 2);
    work.answers(
        "beta",
        [
            ("c1", "Short.".to_owned()),
            ("c7", "To nothing.".to_owned()),
        ],
    );
    let server = FakeServer::start(constant_judge());
    let done = work.score(&server, &[]).exits_with(0).says(&[
        "warning: answers/beta.jsonl:2 (case c7)",
        "warning: answers/beta.jsonl: 1 of 2 test cases have no answer: c2",
    ]);
    assert!(
        done.stdout.contains("1 answer missing: beta/c2"),
        "{}",
        done.stdout
    );
    assert_eq!(
        work.json("out/manifest.json")["missing"],
        json!([["beta", "c2"]])
    );
    let summary = work.json("out/summary.json");
    let row = summary["scorers"][0]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["system"] == "beta")
        .unwrap();
    assert_eq!(
        (
            &row["metrics"]["score"]["n"],
            &row["answers"],
            &row["missing"]
        ),
        (&json!(1), &json!(1), &json!(1))
    );
    assert_eq!(server.chat_count(), 3 * AT_MOST);
    let quiet = work.score(&server, &["--quiet"]).exits_with(0);
    assert_eq!(quiet.stderr, "");
    std::fs::remove_dir_all(work.path("out")).unwrap();
    refused(
        &work,
        &["--strict"],
        3,
        &["beta.jsonl:2 (case c7)", "1 of 2 test cases have no answer"],
    );
}

#[test]
fn unknown_fields_are_let_be() {
    let mut case = plain_case("c1");
    case["colour"] = json!("blue");
    case["metric_config"]["config"]["mood"] = json!(1);
    let work = Workspace::with_cases(&[case]);
    work.write(
        "answers/alpha.jsonl",
        "\u{feff}{\"case_id\": \"c1\", \"answer_text\": \"Short.\", \"x\": []}\n\n",
    );
    let server = FakeServer::start(constant_judge());
    let done = work.score(&server, &["--strict"]).exits_with(0);
    let row = done
        .stdout
        .lines()
        .find(|line| line.starts_with("alpha "))
        .unwrap();
    assert_eq!(row.split_whitespace().nth(2), Some("1"), "{row}");
}

/// Two annotators wrote a rubric for one question.
fn annotated_twice() -> Workspace {
    let mut cases = Vec::new();
    for question in ["q1", "q2"] {
        for annotator in ["A", "B"] {
            let mut case = plain_case(&format!("{question}{annotator}"));
            case["initial_prompt"] = json!(format!("What about {question}?"));
            case["annotator"] = json!(annotator);
            case["agreement"] = json!(true);
            cases.push(case);
        }
    }
    let work = Workspace::with_cases(&cases);
    for system in ["alpha", "beta", "gamma"] {
        let ids = ["q1A", "q1B", "q2A", "q2B"];
        work.answers(
            system,
            ids.map(|id| (id, format!("The {system} answer to {}.", &id[..2]))),
        );
    }
    work
}

#[test]
fn of_two_annotations_of_a_question_the_first_counts() {
    let work = annotated_twice();
    let server = FakeServer::start(super::Behaviour::good());
    let done = work.score(&server, &[]).exits_with(0);
    assert!(!done.stderr.contains("warning"), "{}", done.stderr);
    let ids: Vec<String> = work
        .lines("out/scores.jsonl")
        .iter()
        .map(|line| line["case_id"].to_string())
        .collect();
    assert_eq!(ids, ["\"q1A\"", "\"q2A\""].repeat(3));
    assert!(
        !done.stdout.contains("agreement") && work.json("out/summary.json")["agreement"].is_null()
    );
}

#[test]
fn agreement_scores_both_annotations_and_says_how_far_they_agree() {
    let work = annotated_twice();
    // points by system: alpha 9, beta 6, gamma 3 under every rubric but q2B, which ranks gamma before beta
    let judge = super::Behaviour::good().saying(|request| {
        let (answer, criterion) = (
            super::judging::answer_of(request),
            super::judging::section(request, "criterion"),
        );
        let points = match () {
            () if super::judging::kind_of(request) == "citations" => {
                return "{\"claims\": []}".to_owned();
            }
            () if answer.contains("alpha") => 9,
            () if answer.contains("beta") && criterion.contains("q2B") => 3,
            () if answer.contains("beta") => 6,
            () if criterion.contains("q2B") => 6,
            () => 3,
        };
        json!({"score": points}).to_string()
    });
    let server = FakeServer::start(judge);
    let done = work.score(&server, &["--agreement"]).exits_with(0);
    assert_eq!(work.lines("out/scores.jsonl").len(), 3 * 4);
    // q1: the same order, tau-b 1; q2: one of three pairs is turned round, tau-b (2 - 1) / 3; mean 2/3
    let row = done
        .stdout
        .lines()
        .find(|line| line.starts_with("Kendall's tau-b"))
        .unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>()[2..],
        ["0.667", "2"],
        "{}",
        done.stdout
    );
    let agreement = work.json("out/summary.json")["agreement"].clone();
    assert!(
        (agreement["kendall_tau_b"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-12,
        "{agreement}"
    );
    // scored again from the record
    let again = work.run(&["rescore", "out"]).exits_with(0);
    assert_eq!(again.stdout, done.stdout);
}

#[test]
fn an_answer_of_null_is_unscored_and_not_asked_about_and_the_others_are_scored() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    work.write(
        "answers/beta.jsonl",
        "{\"case_id\": \"c1\", \"answer_text\": null}\n{\"case_id\": \"c2\", \"answer_text\": \"It rains.\"}\n",
    );
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--max-unscored", "50%"])
        .exits_with(0);
    let scores = work.lines("out/scores.jsonl");
    let missing: Vec<&Value> = scores
        .iter()
        .filter(|score| score["score"].is_null())
        .collect();
    assert_eq!((scores.len(), missing.len()), (5, 1));
    let score = missing[0];
    assert_eq!(
        (&score["system"], &score["case_id"]),
        (&json!("beta"), &json!("c1"))
    );
    for (name, component) in score["details"].as_object().unwrap() {
        assert_eq!(component["unscored"]["kind"], "no_answer", "{name}");
        assert_eq!(component["value"], Value::Null, "{name}");
    }
    // four answers were asked about
    assert_eq!(server.chat_count(), 4 * AT_MOST);
    work.run(&["rescore", "out"]).exits_with(0);
    assert_eq!(work.lines("out/scores.jsonl"), scores);
    // by default 1% are tolerated
    work.score(&server, &[]).exits_with(5);
}

#[test]
fn an_error_text_of_a_failed_generation_is_no_answer_unless_errors_are_kept() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let text = "Error code: 429 - {'error': {'message': 'Rate limit reached', 'code': None}}";
    let rows = [
        ("c1", text),
        ("c2", "It rains."),
        ("c3", "Error code: 429 is a limit."),
    ]
    .map(|(id, text)| json!({"case_id": id, "answer_text": text}).to_string());
    work.write("answers/beta.jsonl", &rows.join("\n"));
    let server = FakeServer::start(constant_judge());
    let scored = work.score(&server, &["--max-unscored", "50%"]);
    let says = "beta.jsonl: 1 answer with nothing but the error text of a failed generation (unscored): c1";
    assert!(scored.stderr.contains(says), "{}", scored.stderr);
    scored.exits_with(0);
    let scores = work.lines("out/scores.jsonl");
    let missing: Vec<&Value> = scores
        .iter()
        .filter(|score| score["score"].is_null())
        .collect();
    assert_eq!((scores.len(), missing.len()), (6, 1));
    let reason = "beta has no answer: its text is only the error text of a failed generation";
    for (name, component) in missing[0]["details"].as_object().unwrap() {
        let unscored = json!({"kind": "no_answer", "message": reason});
        assert_eq!(component["unscored"], unscored, "{name}");
    }
    // Nothing is asked about the error text: five of six answers.
    assert_eq!(server.chat_count(), 5 * AT_MOST);
    work.run(&["rescore", "out"]).exits_with(0);
    assert_eq!(work.lines("out/scores.jsonl"), scores);
    // With it one of six answers is unscored, far more than the 1% that are tolerated.
    work.score(&server, &[]).exits_with(5);
    for (out, option) in [("kept", "--keep-errors"), ("compat", "--compat")] {
        let kept = work.score(&server, &[option, "--out", out]);
        assert!(
            !kept.stderr.contains("failed generation"),
            "{}",
            kept.stderr
        );
        kept.exits_with(0);
        let scores = work.lines(&format!("{out}/scores.jsonl"));
        assert!(
            scores.iter().all(|score| score["score"].is_number()),
            "{option}"
        );
    }
}

#[test]
fn a_second_annotators_cases_are_counted_by_every_command() {
    let work = Workspace::new(&[], 0);
    let mut cases = ["c1", "c2", "c3"].map(plain_case);
    cases[1]["initial_prompt"] = cases[0]["initial_prompt"].clone();
    work.write("t.json", &Value::from(cases.to_vec()).to_string());
    let rows =
        ["c1", "c2", "c3"].map(|id| json!({"case_id": id, "answer_text": "Short."}).to_string());
    work.write("s.jsonl", &rows.join("\n"));
    let says =
        "Test cases: 3 read, 2 counted: 1 question has a second annotator's case (--agreement)";
    let inputs = ["s.jsonl", "--tests", "t.json"];
    work.run(&[&["plan"], &inputs[..]].concat())
        .exits_with(0)
        .says(&[says]);
    work.run(&[&["score"], &inputs[..], &["--out", "out"]].concat())
        .exits_with(0)
        .says(&[says]);
    let compared = work.run(&["compare", "out"]).exits_with(0);
    assert!(
        (compared.stdout.clone() + &compared.stderr).contains(says),
        "{}",
        compared.stdout
    );
    work.run(&["report", "out", "--out", "page.html"])
        .exits_with(0);
    let page = std::fs::read_to_string(work.path("page.html")).unwrap();
    assert!(
        page.contains("3 read, 2 counted: 1 question has a second annotator"),
        "the page does not say it"
    );
    let both = work
        .run(&[&["score"], &inputs[..], &["--out", "both", "--agreement"]].concat())
        .exits_with(0);
    assert!(!both.stderr.contains(" read, "), "{}", both.stderr);
}

//! `import`: the reference script's results file becomes a run.

use serde_json::{Value, json};

use crate::support::fake_server::{Act, FakeServer};
use crate::support::judging::{constant_judge, section};
use crate::support::workspace::Workspace;

/// The components of a plain case as the constant judge scores them: see `constant_judge`.
fn constant_scores() -> Value {
    json!({
        "score": 0.755, "ann_score": 0.775, "length": 1.0, "expertise": 0.8, "citations": 0.5, "excerpts": 1.0,
        "p0": 0.8, "p0_evidence": 0.5, "p1": 0.8, "p1_evidence": 1.0,
    })
}

fn entry(case_id: &str, scores: &Value) -> Value {
    let question = format!("What is known about {case_id}?");
    json!({"scores": scores, "case_id": case_id, "annotator": "Annotator 1", "agreement": false, "question": question})
}

fn import<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [
        &[
            "import",
            "results.json",
            "--tests",
            "tests.json",
            "--out",
            "imported",
        ],
        more,
    ]
    .concat()
}

/// The components with one of them replaced, and the sums with it.
fn with(changes: &[(&str, Value)]) -> Value {
    let mut scores = constant_scores();
    for (name, value) in changes {
        scores[*name] = value.clone();
    }
    scores
}

#[test]
fn what_score_wrote_with_output_is_imported_as_the_same_scores() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    // the criterion about c1 cannot be read: null in the file
    let causes_of_c1 = |request: &_| section(request, "criterion").contains("causes of c1.");
    let server =
        FakeServer::start(constant_judge().when(causes_of_c1, Act::Content("eight".to_owned())));
    work.score(
        &server,
        &["--output", "results.json", "--max-unscored", "1"],
    )
    .exits_with(0);
    let done = work
        .run(&import(&["--answers", "answers"]))
        .exits_with(0)
        .says(&["record of the run: imported"]);
    assert_eq!(
        work.json("imported/summary.json")["prompts"],
        "unknown (imported)"
    );
    assert!(done.stdout.contains("75.5"), "{}", done.stdout);
    let (there, here) = (
        work.lines("out/scores.jsonl"),
        work.lines("imported/scores.jsonl"),
    );
    assert_eq!((there.len(), here.len()), (6, 6));
    for (there, here) in there.iter().zip(&here) {
        for field in [
            "system",
            "case_id",
            "scorer",
            "score",
            "ann_score",
            "components",
        ] {
            assert_eq!(there[field], here[field], "{field}");
        }
        assert_eq!(there["ann_divisor"], here["ann_divisor"]);
        for (name, there) in there["details"].as_object().unwrap() {
            for field in ["weight", "kind", "text"] {
                assert_eq!(
                    there[field], here["details"][name][field],
                    "{name}: {field}"
                );
            }
        }
    }
    assert_eq!(
        here[0]["details"]["p0"]["unscored"],
        json!({"kind": "not_asked", "message": "null in the results file"})
    );
    let summary = |run: &str| {
        work.json(&format!("{run}/summary.json"))["scorers"][0]["rows"][0]["metrics"]["score"]
            .clone()
    };
    assert_eq!(
        summary("out"),
        summary("imported"),
        "means and intervals are the same"
    );
    let answers = |run: &str| -> Vec<Value> {
        let lines = work.lines(&format!("{run}/inputs.jsonl"));
        lines
            .into_iter()
            .filter(|line| line["type"] == "answer")
            .map(|line| line["answer_text"].clone())
            .collect()
    };
    assert_eq!(answers("out"), answers("imported"));
    assert_eq!(work.read("imported/calls.jsonl"), "", "nobody was asked");
}

#[test]
fn the_manifest_says_that_nobody_here_judged_and_whose_arithmetic_it_is() {
    let work = Workspace::new(&["alpha"], 2);
    let results =
        json!({"alpha.jsonl": [entry("c1", &constant_scores()), entry("c2", &constant_scores())]});
    work.write("results.json", &results.to_string());
    work.run(&import(&[])).exits_with(0);
    let manifest = work.json("imported/manifest.json");
    let hash = blake3::hash(work.read("results.json").as_bytes())
        .to_hex()
        .to_string();
    assert_eq!(
        manifest["inputs"][1],
        json!({"name": "results", "path": "results.json", "blake3": hash})
    );
    let judge = manifest["roles"]["rubric"]["judges"][0]["id"]
        .as_str()
        .unwrap();
    assert!(
        judge.starts_with("imported:") && judge.len() == "imported:".len() + 16,
        "{judge}"
    );
    assert_eq!(
        (&manifest["mode"], &manifest["roles"]["rubric"]["prompts"]),
        (&json!("compat"), &Value::Null)
    );
    assert_eq!(
        (&manifest["status"], &manifest["answers"]),
        (&json!("complete"), &json!(2))
    );
    assert_eq!(manifest["settings"]["imported"], true);
    // the questions are known without the answers
    let cases = work.lines("imported/inputs.jsonl");
    let known = cases.iter().filter(|line| line["type"] == "case").count();
    assert!(
        known == 2 && cases.iter().all(|line| line["type"] != "answer"),
        "{cases:?}"
    );
    work.run(&import(&[
        "--judge",
        "gpt-4o",
        "--mode",
        "default",
        "--overwrite",
    ]))
    .exits_with(0);
    let manifest = work.json("imported/manifest.json");
    assert_eq!(
        (
            &manifest["roles"]["rubric"]["judges"][0]["id"],
            &manifest["mode"]
        ),
        (&json!("imported:gpt-4o"), &json!("default"))
    );
}

#[test]
fn an_imported_run_cannot_be_scored_again_and_is_not_taken_for_a_run_of_score() {
    let work = Workspace::new(&["alpha"], 1);
    work.write(
        "results.json",
        &json!({"alpha.jsonl": [entry("c1", &constant_scores())]}).to_string(),
    );
    work.run(&import(&[])).exits_with(0);
    work.run(&["rescore", "imported"])
        .exits_with(3)
        .says(&["this run was imported: it holds scores and no replies"]);
    let again = work.run(&[
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--out",
        "imported",
    ]);
    again.exits_with(3).says(&[
        "different judge of rubric: imported:",
        "the directory holds another run",
    ]);
    // the same import finds its own run again
    work.run(&import(&[])).exits_with(0);
}

#[test]
fn sums_are_taken_as_they_are_and_a_difference_is_told_with_system_and_case() {
    let work = Workspace::new(&["alpha"], 2);
    let wrong = with(&[("score", json!(0.5))]);
    let results = json!({"alpha.jsonl": [entry("c1", &wrong), entry("c2", &constant_scores())]});
    work.write("results.json", &results.to_string());
    let told = "results.json (case c1): system \"alpha\": score is 0.5, its components make 0.755";
    work.run(&import(&[])).exits_with(0).says(&[told]);
    assert_eq!(work.lines("imported/scores.jsonl")[0]["score"], 0.5);
    assert!(
        work.json("imported/manifest.json")["warnings"][0]
            .as_str()
            .unwrap()
            .contains("score is 0.5")
    );
}

#[test]
fn numbers_outside_the_unit_are_kept_with_a_warning_and_nan_is_unscored() {
    let work = Workspace::new(&["alpha"], 2);
    // 1.1 in place of 0.8: 0.755 + 0.15 * 0.3 = 0.8; 0.775 + 0.15 * 0.3 / 0.6 = 0.85
    let high = with(&[
        ("p0", json!(1.1)),
        ("score", json!(0.8)),
        ("ann_score", json!(0.85)),
    ]);
    let nan = with(&[
        ("p0", json!("NaN")),
        ("score", json!("NaN")),
        ("ann_score", json!("NaN")),
    ]);
    let results = json!({"alpha.jsonl": [entry("c1", &high), entry("c2", &nan)]}).to_string();
    // as Python writes it
    work.write("results.json", &results.replace("\"NaN\"", "NaN"));
    let done = work.run(&import(&[])).exits_with(0).says(&[
        "(case c1): system \"alpha\": component \"p0\" is 1.1, outside 0..1; taken as it is",
        "(case c2): system \"alpha\": component \"p0\" is NaN; unscored here",
    ]);
    assert!(
        !done.stderr.contains("its components make"),
        "{}",
        done.stderr
    );
    let scores = work.lines("imported/scores.jsonl");
    assert_eq!(
        (&scores[0]["components"]["p0"], &scores[0]["score"]),
        (&json!(1.1), &json!(0.8))
    );
    assert_eq!(
        (&scores[1]["components"]["p0"], &scores[1]["score"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        scores[1]["details"]["p0"]["unscored"]["message"],
        "NaN in the results file"
    );
}

#[test]
fn results_of_one_half_have_the_weights_of_that_half() {
    let work = Workspace::new(&["alpha"], 1);
    work.score_offline_halves();
    work.run(&import(&[])).exits_with(0);
    let (there, here) = (
        &work.lines("out/scores.jsonl")[0],
        &work.lines("imported/scores.jsonl")[0],
    );
    let weights = |line: &Value| -> Vec<(String, Value)> {
        let details = line["details"].as_object().unwrap();
        details
            .iter()
            .map(|(name, detail)| (name.clone(), detail["weight"].clone()))
            .collect()
    };
    assert_eq!(weights(there), weights(here));
    assert_eq!(
        here["scorer"], "lexical_rubric",
        "the baseline's numbers keep their name"
    );
    assert_eq!(
        work.json("imported/manifest.json")["settings"]["score.snippets"],
        false
    );
}

#[test]
fn what_does_not_fit_the_test_cases_is_named_with_file_system_and_case() {
    let work = Workspace::new(&["alpha"], 2);
    let mut other = constant_scores();
    other.as_object_mut().unwrap().remove("p1");
    other["p7"] = json!(1);
    work.write(
        "results.json",
        &json!({"alpha.jsonl": [entry("c1", &other)]}).to_string(),
    );
    work.run(&import(&[])).exits_with(3).says(&[
        "results.json (case c1): system \"alpha\": component \"p1\" of its rubric is missing",
        "results.json (case c1): system \"alpha\": \"p7\" is not a component of its rubric",
        "name the test cases that the answers were scored by",
    ]);
    let twice =
        json!({"a.jsonl": [entry("c1", &constant_scores()), entry("c1", &constant_scores())]});
    work.write("results.json", &twice.to_string());
    work.run(&import(&[]))
        .exits_with(3)
        .says(&["(case c1): \"a.jsonl\": an empty case_id, or that of an earlier answer"]);
    let strange =
        json!({"a.jsonl": [entry("c1", &constant_scores()), entry("zz", &constant_scores())]});
    work.write("results.json", &strange.to_string());
    let done = work.run(&import(&[])).exits_with(0);
    let done = done.says(&["results.json (case zz): no test case in tests.json has this case_id"]);
    let done = done.says(&["tests.json: 1 of 2 questions have no scores of any system; left out"]);
    let row = done
        .stdout
        .lines()
        .find(|line| line.starts_with("a "))
        .unwrap();
    assert_eq!(
        row.split_whitespace().nth(2),
        Some("1"),
        "nobody has c2: {row}"
    );
    work.write(
        "results.json",
        &json!({"a.jsonl": [entry("zz", &constant_scores())]}).to_string(),
    );
    work.run(&import(&["--overwrite"]))
        .exits_with(3)
        .says(&["no answer of any system has a test case"]);
    work.write("results.json", "{\"a.jsonl\": [}");
    work.run(&import(&["--overwrite"]))
        .exits_with(3)
        .says(&["results.json:1: invalid JSON"]);
}

#[test]
fn a_case_that_one_system_has_is_missing_for_the_other() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let of = |cases: &[&str]| -> Vec<Value> {
        cases
            .iter()
            .map(|case| entry(case, &constant_scores()))
            .collect()
    };
    work.write(
        "results.json",
        &json!({"alpha.jsonl": of(&["c1", "c2"]), "beta.jsonl": of(&["c1"])}).to_string(),
    );
    work.run(&import(&[]))
        .exits_with(0)
        .says(&["results.json: 1 of 2 test cases have no answer: c2"]);
    let manifest = work.json("imported/manifest.json");
    assert_eq!(
        (&manifest["kept_cases"], &manifest["missing"]),
        (&json!(["c1", "c2"]), &json!([["beta", "c2"]]))
    );
}

#[test]
fn results_of_some_cases_are_compared_with_their_source() {
    let work = Workspace::new(&["alpha", "beta"], 4);
    let score = [
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--limit",
        "2",
        "--out",
        "out",
        "--output",
        "results.json",
    ];
    work.run(&score).exits_with(0);
    work.run(&import(&["--mode", "default"])).exits_with(0);
    assert_eq!(
        work.json("imported/manifest.json")["kept_cases"],
        work.json("out/manifest.json")["kept_cases"]
    );
    let done = work.run(&[
        "compare",
        "out",
        "imported",
        "--anyway",
        "--resamples",
        "50",
    ]);
    assert!(
        !done.stderr.contains("cases differs") && !done.stderr.contains("parser differs"),
        "{}",
        done.stderr
    );
}

#[test]
fn answers_of_a_system_without_scores_are_left_out_with_a_warning() {
    let work = Workspace::new(&["alpha", "beta"], 1);
    work.write(
        "results.json",
        &json!({"alpha.jsonl": [entry("c1", &constant_scores())]}).to_string(),
    );
    work.run(&import(&["--answers", "answers"]))
        .exits_with(0)
        .says(&["beta.jsonl", "no scores of beta"]);
    assert!(
        !work
            .read("imported/inputs.jsonl")
            .contains("The beta answer")
    );
}

#[test]
fn a_guessed_mode_is_told_as_a_guess() {
    let work = Workspace::new(&["alpha"], 1);
    work.write(
        "results.json",
        &json!({"alpha.jsonl": [entry("c1", &constant_scores())]}).to_string(),
    );
    let told = "mode unknown, taken as compat (the reference script's); --mode default for files of scholareval";
    let done = work.run(&import(&[])).exits_with(0).says(&[told]);
    assert!(
        done.stderr.contains("warning: mode unknown"),
        "{}",
        done.stderr
    );
    assert!(
        work.json("imported/manifest.json")["warnings"][0]
            .as_str()
            .unwrap()
            .starts_with("mode unknown")
    );
    for mode in ["compat", "default"] {
        let done = work
            .run(&import(&["--mode", mode, "--overwrite"]))
            .exits_with(0);
        assert!(
            !done.all_text().contains("mode unknown"),
            "{}",
            done.all_text()
        );
    }
}

#[test]
fn several_files_become_one_run_unless_they_share_a_system() {
    let work = Workspace::new(&["alpha", "beta"], 1);
    let of = |system: &str| {
        json!({format!("{system}.jsonl"): [entry("c1", &constant_scores())]}).to_string()
    };
    work.write("results.json", &of("beta"));
    work.write("more.json", &of("alpha"));
    let both = [
        "import",
        "results.json",
        "more.json",
        "--tests",
        "tests.json",
        "--out",
        "both",
    ];
    work.run(&both).exits_with(0);
    let systems: Vec<Value> = work
        .lines("both/scores.jsonl")
        .iter()
        .map(|line| line["system"].clone())
        .collect();
    assert_eq!(systems, ["alpha", "beta"]);
    work.write("more.json", &of("beta"));
    work.run(&both)
        .exits_with(3)
        .says(&["more.json: system \"beta\" is in results.json too"]);
    let mut lexical = constant_scores();
    for name in ["score", "ann_score"] {
        let value = lexical.as_object_mut().unwrap().remove(name).unwrap();
        lexical[format!("lexical_{name}")] = value;
    }
    work.write(
        "more.json",
        &json!({"alpha.jsonl": [entry("c1", &lexical)]}).to_string(),
    );
    work.run(&both)
        .exits_with(3)
        .says(&["scores of a judge beside scores of the lexical baseline"]);
}

impl Workspace {
    /// The criteria alone, by the baseline, into `out` and `results.json`.
    fn score_offline_halves(&self) {
        let arguments = [
            "score",
            "answers",
            "--tests",
            "tests.json",
            "--only",
            "criteria",
            "--out",
            "out",
            "--output",
            "results.json",
        ];
        self.run(&arguments).exits_with(0);
    }
}

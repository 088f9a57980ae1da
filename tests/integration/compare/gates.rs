//! Demands: what must hold for exit 0.

use super::*;

fn causes_of_c1(request: &Recorded) -> bool {
    section(request, "criterion").contains("causes of c1.") && answer_of(request).contains("alpha")
}

#[test]
fn a_gate_that_is_not_met_exits_with_6_and_the_table_is_printed() {
    let (work, _server) = two_systems();
    let done = compare(
        &work,
        &[
            "out",
            "--fail-under",
            "score=0.8",
            "--fail-under",
            "beta:score=0.7",
        ],
    )
    .exits_with(6);
    assert!(done.stdout.contains("82.5"), "{}", done.stdout);
    assert_eq!(
        done.stderr,
        "error: not met: --fail-under score=0.8: beta has 0.7550, below 0.8\n"
    );
    let order = compare(
        &work,
        &[
            "out",
            "--quiet",
            "--require",
            "beta>alpha",
            "--require",
            "beta>=alpha",
        ],
    )
    .exits_with(6);
    assert_eq!(
        order
            .stderr
            .matches("alpha is better: score differs by -0.0700")
            .count(),
        2,
        "{}",
        order.stderr
    );
    // Length is 1 for both.
    compare(&work, &["out", "--require", "length:alpha>beta"])
        .exits_with(6)
        .says(&["not significantly different"]);
}

#[test]
fn gates_that_are_met_exit_with_0() {
    let (work, _server) = two_systems();
    let met = [
        "--fail-under",
        "score=0.755",
        "--require",
        "alpha>beta",
        "--require",
        "length: beta >= alpha",
    ];
    let done = compare(
        &work,
        &[&["out", "--fail-under", "ann_score=0.7"], &met[..]].concat(),
    )
    .exits_with(0);
    assert_eq!(done.stderr, "");
    // What a gate names is compared, too.
    assert!(
        done.stdout.contains("\nann_score: ")
            && done
                .stdout
                .contains("\nNo pair differs significantly in length.")
    );
}

#[test]
fn a_gate_does_not_pass_by_missing_values_unless_they_are_tolerated() {
    let work = Workspace::new(&["alpha", "beta"], 10);
    let server = FakeServer::start(
        partial_judge().when(causes_of_c1, Act::Content("eight, I think".to_owned())),
    );
    work.score(&server, &["--max-unscored", "1"]).exits_with(0);
    assert!(
        !compare(&work, &["out"])
            .exits_with(0)
            .stderr
            .contains("--on-unscored")
    );
    work.score(
        &server,
        &[
            "--max-unscored",
            "1",
            "--on-unscored",
            "zero",
            "--out",
            "zero",
        ],
    )
    .exits_with(0);
    let zero = unwrapped(&compare(&work, &["zero"]).exits_with(0).stdout);
    assert!(
        zero.contains("zero: unscored answers count as the lowest value (--on-unscored zero)."),
        "{zero}"
    );
    // Alpha's mean over 9 cases is 0.825. Of c1 0.825 - 0.15 * (1 + 0.5) = 0.6 is known: with the rest at 0 the mean is
    // (9 * 0.825 + 0.6) / 10 = 0.8025.
    let gate = ["out", "--fail-under", "alpha:score=0.81"];
    compare(&work, &gate).exits_with(6).says(&[
        "alpha has 0.8250",
        "1 unscored, 0 without an answer",
        "it could be 0.8025",
        "--tolerate-missing",
    ]);
    compare(&work, &[&gate[..], &["--tolerate-missing"]].concat()).exits_with(0);
    compare(&work, &["out", "--fail-under", "alpha:score=0.8025"]).exits_with(0);
}

#[test]
fn cases_without_an_answer_count_against_a_gate() {
    let work = Workspace::new(&["alpha"], 4);
    let three =
        ["c1", "c2", "c3"].map(|id| (id, format!("The alpha answer to {id}, in few words.")));
    work.answers("alpha", three);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &[]).exits_with(0);
    // 0.825 * 3 / 4 = 0.61875
    let fails = compare(&work, &["out", "--fail-under", "score=0.7"]).exits_with(6);
    assert!(
        fails
            .stderr
            .contains("0 unscored, 1 without an answer: it could be 0.618"),
        "{}",
        fails.stderr
    );
    compare(&work, &["out", "--fail-under", "score=0.6"]).exits_with(0);
}

#[test]
fn a_run_that_did_not_finish_meets_no_demand_unless_missing_values_are_tolerated() {
    let (work, _server) = two_systems();
    let mut manifest = work.json("out/manifest.json");
    manifest["status"] = "stopped".into();
    work.write("out/manifest.json", &manifest.to_string());
    work.edit_scores(|scores| {
        scores
            .lines()
            .filter(|line| !line.contains("\"c3\""))
            .map(|line| format!("{line}\n"))
            .collect()
    });
    for gate in [
        ["--fail-under", "score=0.1"],
        ["--fail-under", "alpha:score=0.1"],
        ["--require", "alpha>beta"],
    ] {
        let gate = [&["out"], &gate[..]].concat();
        let told = [
            "not met: --",
            "2 of 20 answers have no score",
            "--tolerate-missing",
        ];
        compare(&work, &gate).exits_with(6).says(&told);
        compare(&work, &[&gate[..], &["--tolerate-missing"]].concat()).exits_with(0);
    }
}

#[test]
fn a_system_that_answered_nothing_meets_no_demand_on_all() {
    let (work, _server) = two_systems();
    let mut manifest = work.json("out/manifest.json");
    manifest["missing"] = (1..=10)
        .map(|case| json!(["gamma", format!("c{case}")]))
        .collect();
    work.write("out/manifest.json", &manifest.to_string());
    compare(&work, &["out", "--fail-under", "score=0.1"])
        .exits_with(6)
        .says(&["gamma has no mean"]);
    compare(&work, &["out", "--fail-under", "alpha:score=0.1"]).exits_with(0);
}

#[test]
fn an_order_does_not_hold_by_the_cases_that_one_left_unanswered() {
    let work = Workspace::new(&["alpha", "beta"], 12);
    let some = |count: usize| {
        (1..=count)
            .map(|case| format!("c{case}"))
            .collect::<Vec<_>>()
    };
    let answer = |id: &String| {
        (
            id.clone(),
            format!("The alpha answer to {id}, in few words."),
        )
    };
    let (most, half) = (some(11), some(6));
    let server = FakeServer::start(partial_judge());
    let answers = |ids: &[String]| {
        let lines: Vec<(String, String)> = ids.iter().map(answer).collect();
        work.answers(
            "alpha",
            lines.iter().map(|(id, text)| (id.as_str(), text.clone())),
        );
    };
    // Better by 0.07 in 6 of 6: p = 2 / 64. The 6 others could be at 0, 0.755 below beta's.
    answers(&half);
    work.score(&server, &[]).exits_with(0);
    let gate = ["out", "--require", "alpha>beta"];
    compare(&work, &gate)
        .exits_with(6)
        .says(&["depends on missing data", "--tolerate-missing"]);
    compare(&work, &[&gate[..], &["--tolerate-missing"]].concat()).exits_with(0);
    // With 11 of 12 the sum of differences lies between 11 * 0.07 - 0.755 > 0, not told apart, and 11 * 0.07 + 0.245.
    answers(&most);
    work.score(&server, &["--out", "most"]).exits_with(0);
    compare(&work, &["most", "--require", "alpha>beta"])
        .exits_with(6)
        .says(&["depends on missing data"]);
    // That alpha is not worse holds even then.
    compare(
        &work,
        &["out", "--require", "alpha>=beta", "--tolerate-missing"],
    )
    .exits_with(0);
}

#[test]
fn gates_that_cannot_be_understood_are_refused_before_anything_is_printed() {
    let (work, _server) = two_systems();
    for (gate, code, says) in [
        (["--fail-under", "score=50"], 2, "0.5 is 50%"),
        (["--fail-under", "score"], 2, "METRIC=VALUE"),
        (["--fail-under", "alpa:score=0.5"], 3, "did you mean alpha?"),
        (["--fail-under", "scores=0.5"], 3, "did you mean score?"),
        (["--require", "alpha"], 2, "A>B"),
        (["--require", "alpha>gamma"], 3, "no system is called gamma"),
        (["--require", "alpha>alpha"], 2, "both sides are alpha"),
    ] {
        let done = compare(&work, &[&["out"], &gate[..]].concat())
            .exits_with(code)
            .says(&[says]);
        assert_eq!(done.stdout, "", "{gate:?}");
    }
}

#[test]
fn the_policy_of_a_rescored_run_holds_wherever_it_is_read() {
    let work = Workspace::new(&["alpha", "beta"], 10);
    let server = FakeServer::start(
        partial_judge().when(causes_of_c1, Act::Content("eight, I think".to_owned())),
    );
    work.score(&server, &["--max-unscored", "1"]).exits_with(0);
    let rescoring = [
        "rescore",
        "out",
        "--on-unscored",
        "zero",
        "--max-unscored",
        "0.01",
        "--out",
        "zero",
    ];
    // The advice has no option that rescore does not have.
    let done = work.run(&rescoring).exits_with(5).says(&[
        "rescore asks no judge",
        "run the score command of this run again, with --retry-unscored",
    ]);
    assert!(!done.stderr.contains("--structured"), "{}", done.stderr);
    // Of c1 alpha's 0.6 are known (see above): (9 * 0.825 + 0.6) / 10 = 0.8025 wherever the run is read.
    let mean = 0.8025;
    let rows = work.json("zero/summary.json")["scorers"][0]["rows"].clone();
    is_close(&rows[0]["metrics"]["score"]["estimate"], mean);
    is_close(
        &work.json("zero/manifest.json")["headline"]["highest"],
        mean,
    );
    let compared = as_json(&compare(&work, &["zero", "--format", "json"]).exits_with(0));
    let alpha = &compared["metrics"][0]["systems"][0];
    assert_eq!(
        (&alpha["label"], &alpha["unscored"], &alpha["own_cases"]),
        (&"alpha".into(), &1.into(), &10.into())
    );
    is_close(&alpha["mean"], mean);
    let csv = work
        .run(&["table", "zero", "--format", "csv"])
        .exits_with(0)
        .stdout;
    let cell = csv.lines().nth(1).unwrap().split(',').nth(1).unwrap();
    is_close(&cell.parse::<f64>().unwrap().into(), mean);
    let listed = as_json(&work.run(&["runs", ".", "--format", "json"]).exits_with(0));
    let zero = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|run| run["run"] == "./zero");
    is_close(&zero.unwrap()["highest"], mean);
    let listed = work.run(&["runs", "."]).exits_with(0).stdout;
    assert!(
        listed.contains("./zero: unscored answers count as the lowest value"),
        "{listed}"
    );
    // The two policies give other means, so that the runs are not comparable.
    compare(&work, &["out", "zero"])
        .exits_with(3)
        .says(&["unscored answers count differently: left out (out), as the lowest value (zero)"]);
}

#[test]
fn one_shared_case_allows_no_test_and_the_gate_says_so() {
    let work = Workspace::new(&["alpha", "beta"], 1);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &[]).exits_with(0);
    compare(&work, &["out", "--require", "alpha>=beta"])
        .exits_with(6)
        .says(&["--require alpha>=beta: 1 shared case: no test possible"]);
}

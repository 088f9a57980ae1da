//! Demands: what must hold for exit 0.

use super::*;

fn causes_of_c1(request: &Recorded) -> bool {
    section(request, "criterion").contains("causes of c1.") && answer_of(request).contains("alpha")
}

/// Alpha's answer to c2 has no causes: 0.825 - 0.15 * (1 + 0.5) = 0.6.
fn causes_of_c2(request: &Recorded) -> bool {
    section(request, "criterion").contains("causes of c2.") && answer_of(request).contains("alpha")
}

/// The partial judge, but for alpha's c2, so that its values differ.
fn varied_judge() -> Behaviour {
    partial_judge().when(causes_of_c2, Act::Content(json!({"score": 0}).to_string()))
}

#[test]
fn a_missed_gate_exits_with_6_and_the_table_is_printed() {
    let (work, _server) = two_systems();
    // Beta's ten equal values have [0.691, 0.801]; those of alpha [0.752, 0.870].
    let done = compare(&work, &["out", "--require", "score>=0.86"]).exits_with(6);
    assert!(done.stdout.contains("82.5"), "{}", done.stdout);
    let reason = "the whole interval is below 0.86";
    assert!(
        done.stdout
            .contains("\nmissed     beta:score>=0.86: beta has 0.7550 [0.690")
    );
    let mut lines = done.stderr.lines();
    let undecided = lines.next().unwrap();
    assert!(
        undecided.starts_with("undecided: alpha:score>=0.86: alpha has 0.8250 ["),
        "{undecided}"
    );
    let missed = lines.next().unwrap();
    assert!(
        missed.starts_with("error: not met: beta:score>=0.86: beta has 0.7550 [0.690"),
        "{missed}"
    );
    assert!(missed.ends_with(reason), "{missed}");
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
    let told = "score differs by -0.0700, p = 0.002: alpha is better";
    assert_eq!(order.stderr.matches(told).count(), 2, "{}", order.stderr);
}

#[test]
fn gates_that_are_met_exit_with_0() {
    let (work, _server) = two_systems();
    let met = [
        "--require",
        "score>=0.4",
        "--require",
        "ann_score>=0.3",
        "--require",
        "alpha>beta",
        "--require",
        "alpha>=beta-0.02",
        "--require",
        "length: beta >= alpha",
    ];
    let done = compare(&work, &[&["out"], &met[..]].concat()).exits_with(0);
    assert_eq!(
        unwrapped(&done.stderr),
        "note: length: beta >= alpha is met by any system that is not significantly worse; a margin, such as \"length: beta >= \
         alpha-0.02\", limits how much worse it may be"
    );
    // What a gate names is compared, too.
    assert!(
        done.stdout.contains("\nann_score: ")
            && done
                .stdout
                .contains("\nNo pair differs significantly in length.")
    );
    assert_eq!(
        done.stdout.matches("\nmet        ").count(),
        7,
        "{}",
        done.stdout
    );
}

#[test]
fn what_the_questions_cannot_tell_is_undecided() {
    let (work, _server) = two_systems();
    // Length is 1 for both.
    let order = ["out", "--require", "length:alpha>beta"];
    compare(&work, &order).exits_with(8).says(&[
        "undecided: length:alpha>beta: ",
        "not significantly different",
    ]);
    let with = |what: &str| compare(&work, &[&order[..], &["--on-undecided", what]].concat());
    assert_eq!(with("pass").exits_with(0).stderr, "");
    with("fail")
        .exits_with(6)
        .says(&["error: not met: length:alpha>beta: "]);
    // A missed gate wins over an undecided one.
    compare(&work, &[&order[..], &["--require", "beta>alpha"]].concat()).exits_with(6);
    let few = Workspace::new(&["alpha", "beta"], 4);
    let server = FakeServer::start(partial_judge());
    few.score(&server, &[]).exits_with(0);
    // Of 2^4 assignments two are as far from 0: no p below 0.125, however much worse beta is.
    compare(&few, &["out", "--require", "beta>=alpha"])
        .exits_with(8)
        .says(&["4 questions cannot give a p below 0.05"]);
}

#[test]
fn a_junit_file_has_a_test_case_for_each_condition() {
    let (work, _server) = two_systems();
    let gates = [
        "out",
        "--junit",
        "gates.xml",
        "--require",
        "alpha>=beta-0.02",
        "--require",
        "beta>alpha",
        "--require",
        "length:alpha>beta",
    ];
    let without_estimates = |xml: &str| {
        let lines = xml
            .lines()
            .filter(|line| !line.contains("name=\"estimate\""));
        lines.collect::<Vec<_>>().join("\n")
    };
    compare(&work, &gates).exits_with(6);
    insta::assert_snapshot!(without_estimates(&work.read("gates.xml")));
    compare(&work, &[&gates[..], &["--on-undecided", "fail"]].concat()).exits_with(6);
    let header = "tests=\"3\" failures=\"2\" errors=\"0\" skipped=\"0\"";
    assert!(work.read("gates.xml").contains(header));
    // A condition that cannot be read is an error of its own, and that of the command.
    let more = ["--require", "gamma>alpha", "--require", "alpha>=beta+0.01"];
    compare(&work, &[&gates[..], &more].concat())
        .exits_with(3)
        .says(&["no system is called gamma", "not met: beta>alpha"]);
    let header = "tests=\"5\" failures=\"1\" errors=\"1\"";
    let file = work.read("gates.xml");
    assert!(
        file.contains(header) && file.contains("name=\"alpha&gt;=beta+0.01\""),
        "{file}"
    );
    // A run that cannot be read is an error in the file, too, and not the result of an earlier commit.
    std::fs::remove_file(work.path("out/scores.jsonl")).unwrap();
    compare(&work, &gates).exits_with(3);
    let header = "tests=\"3\" failures=\"0\" errors=\"3\" skipped=\"0\"";
    assert!(work.read("gates.xml").contains(header));
}

#[test]
fn a_gate_does_not_pass_by_missing_values_unless_they_are_tolerated() {
    let work = Workspace::new(&["alpha", "beta"], 10);
    let server = FakeServer::start(
        varied_judge().when(causes_of_c1, Act::Content("eight, I think".to_owned())),
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
    // Alpha's mean over 9 cases is 0.8 [0.695, 0.866]. Of c1 0.825 - 0.15 * (1 + 0.5) = 0.6 is known: with the rest at 0
    // eight cases are at 0.825 and two at 0.6, with an interval from 0.677.
    let gate = ["out", "--require", "alpha:score>=0.69"];
    compare(&work, &gate).exits_with(6).says(&[
        "alpha has 0.8000 [0.695",
        "with 1 unscored and 0 without an answer it could be 0.67",
        "--tolerate-missing",
    ]);
    compare(&work, &[&gate[..], &["--tolerate-missing"]].concat()).exits_with(0);
    compare(&work, &["out", "--require", "alpha:score>=0.67"]).exits_with(0);
}

#[test]
fn cases_without_an_answer_count_against_a_gate() {
    let work = Workspace::new(&["alpha"], 12);
    let most = (1..=11).map(|case| format!("c{case}"));
    let lines: Vec<(String, String)> = most
        .map(|id| {
            (
                id.clone(),
                format!("The alpha answer to {id}, in few words."),
            )
        })
        .collect();
    work.answers(
        "alpha",
        lines.iter().map(|(id, text)| (id.as_str(), text.clone())),
    );
    let server = FakeServer::start(varied_judge());
    work.score(&server, &[]).exits_with(0);
    // Ten cases at 0.825, one at 0.6, and c12 at 0: an interval from 0.57 in place of 0.75.
    compare(&work, &["out", "--require", "score>=0.7"])
        .exits_with(6)
        .says(&["with 0 unscored and 1 without an answer it could be 0.5"]);
    compare(&work, &["out", "--require", "score>=0.55"]).exits_with(0);
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
        ["--require", "score>=0.1"],
        ["--require", "alpha:score>=0.1"],
        ["--require", "alpha>beta"],
    ] {
        let gate = [&["out"], &gate[..]].concat();
        let told = [
            "not met: ",
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
    compare(&work, &["out", "--require", "score>=0.1"])
        .exits_with(6)
        .says(&["gamma:score>=0.1: it has no mean"]);
    compare(&work, &["out", "--require", "alpha:score>=0.1"]).exits_with(0);
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
        (["--require", "score>=50"], 2, "0.5 is 50%"),
        (["--require", "score>0.5"], 2, "score>=0.5"),
        (["--require", "alpa:score>=0.5"], 3, "did you mean alpha?"),
        (["--require", "scores>=0.5"], 3, "did you mean score?"),
        (["--require", "alpha>=beta-2"], 2, "0.02 is 2 points"),
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
        .exits_with(8)
        .says(&["undecided: alpha>=beta: 1 shared case: no test possible"]);
}

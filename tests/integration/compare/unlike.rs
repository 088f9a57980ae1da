//! Runs that are not comparable.

use super::*;

/// `first` by the usual judge, `second` asked at another temperature, of the same answers.
fn two_temperatures() -> (Workspace, FakeServer) {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &["--out", "first"]).exits_with(0);
    work.score(&server, &["--out", "second", "--temperature", "0.5"])
        .exits_with(0);
    (work, server)
}

#[test]
fn runs_that_differ_are_refused_with_each_difference_its_values_and_runs() {
    let (work, _server) = two_temperatures();
    let done = compare(&work, &["first", "second"]).exits_with(3).says(&[
        "second: different temperature of the judge of rubric: 0.0 (first), 0.5 (second)",
        "--anyway compares them and flags the difference",
    ]);
    assert_eq!(done.stdout, "");
}

#[test]
fn runs_compared_anyway_are_marked_in_every_form() {
    let (work, _server) = two_temperatures();
    for format in ["table", "csv", "json"] {
        let done =
            compare(&work, &["first", "second", "--anyway", "--format", format]).exits_with(0);
        let text = unwrapped(&done.stdout);
        assert!(
            text.contains("different temperature of the judge of rubric: "),
            "{format}: {text}"
        );
        assert!(text.contains("first/alpha"), "{format}: {text}");
        // The table has it below already.
        let is_on_stderr = done
            .stderr
            .contains("warning: Not comparable: different temperature of the judge of rubric");
        assert_eq!(is_on_stderr, format != "table", "{}", done.stderr);
    }
    let error = compare(
        &work,
        &["first", "second", "--anyway", "--baseline", "alpha"],
    )
    .exits_with(3);
    assert!(
        error
            .stderr
            .contains("write one of first/alpha, second/alpha"),
        "{}",
        error.stderr
    );
}

#[test]
fn another_judge_of_the_same_answers_is_a_change_and_not_a_comparison() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(partial_judge());
    for (out, id) in [("first", "one"), ("second", "two")] {
        work.score(&server, &["--out", out, "--cache-id", id])
            .exits_with(0);
    }
    compare(&work, &["first", "second"]).exits_with(3).says(&[
        "different judge of rubric: one (first), two (second)",
        "--across judges",
    ]);
}

/// `old` by the partial judge, and `new` by one that gives alpha's answers 6 points and others 10.
fn old_and_new_judge() -> (Workspace, FakeServer) {
    let work = Workspace::new(&["alpha", "beta"], 8);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &["--out", "old", "--cache-id", "one"])
        .exits_with(0);
    let other = FakeServer::start(Behaviour::good().saying(|request| match kind_of(request) {
        "property" | "expertise" if answer_of(request).contains("alpha") => {
            json!({"score": 6}).to_string()
        }
        "property" | "expertise" => json!({"score": 10}).to_string(),
        kind => constant_reply(kind),
    }));
    work.score(&other, &["--out", "new", "--cache-id", "two"])
        .exits_with(0);
    (work, other)
}

/// The gate on the shift from `old` to `new` by this margin.
fn margin(work: &Workspace, margin: &str) -> Finished {
    compare(
        work,
        &["old", "new", "--across", "judges", "--margin", margin],
    )
}

#[test]
fn a_margin_is_met_missed_or_undecided_by_the_interval_of_the_shift() {
    // The same judge, the same scores: a shift of exactly 0.
    let work = Workspace::new(&["alpha", "beta"], 8);
    let server = FakeServer::start(partial_judge());
    for (out, cache) in [("old", "one.sqlite"), ("new", "two.sqlite")] {
        work.score(&server, &["--out", out, "--cache", cache])
            .exits_with(0);
    }
    let met = margin(&work, "0.001").exits_with(0);
    assert!(
        met.stdout
            .contains("met        score shifts by at most 0.001: "),
        "{met:?}"
    );
    margin(&work, "0").exits_with(2);
    // Points of 100: no shift would miss it.
    margin(&work, "5")
        .exits_with(2)
        .says(&["0.02 is 2 points of 100"]);
    compare(
        &work,
        &["old", "new", "--across", "runs", "--margin", "0.1"],
    )
    .exits_with(2)
    .says(&["give --across judges"]);
    compare(&work, &["old", "--margin", "0.1"]).exits_with(2);

    // In two of three cases the new judge gives two points more.
    let work = Workspace::new(&["beta"], 9);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &["--out", "old"]).exits_with(0);
    let kinder = FakeServer::start(partial_judge().deciding(|request| {
        let is_moved = !["c1", "c4", "c7"]
            .iter()
            .any(|case| answer_of(request).contains(&format!("answer to {case},")));
        let is_points = matches!(kind_of(request), "property" | "expertise");
        (is_moved && is_points).then(|| Act::Content(json!({"score": 10}).to_string()))
    }));
    work.score(&kinder, &["--out", "new", "--cache", "two.sqlite"])
        .exits_with(0);
    let told = as_json(&compare(
        &work,
        &[
            "old", "new", "--across", "judges", "--margin", "0.9", "--format", "json",
        ],
    ));
    let interval = &told["judge_changes"][0]["interval"];
    let [low, high] = ["low", "high"].map(|end| interval[end].as_f64().unwrap());
    assert!(0.0 < low && low < high, "{told}");
    assert_eq!(told["gates"][0]["outcome"], "met");
    margin(&work, &(high + 0.001).to_string()).exits_with(0);
    margin(&work, &(low - 0.001).to_string())
        .exits_with(6)
        .says(&["error: not met: score shifts by at most"]);
    margin(&work, &f64::midpoint(low, high).to_string())
        .exits_with(8)
        .says(&["undecided: score shifts by at most"]);
}

#[test]
fn a_change_of_judge_shows_shifts_ranks_and_agreement() {
    let (work, _server) = old_and_new_judge();
    let told = as_json(
        &compare(
            &work,
            &["old", "new", "--across", "judges", "--format", "json"],
        )
        .exits_with(0),
    );
    assert_eq!(
        (&told["metrics"], &told["differences"]),
        (&json!([]), &json!([]))
    );
    let change = &told["judge_changes"][0];
    assert_eq!(
        (&change["old"], &change["new"], &change["cases"]),
        (&"old".into(), &"new".into(), &8.into())
    );
    // Two points are worth 0.2 * (0.05 + 2 * 0.15) = 0.07: alpha falls by twice as much, beta rises by once.
    let systems = change["systems"].as_array().unwrap();
    assert_eq!(
        (&systems[0]["system"], &systems[1]["system"]),
        (&"alpha".into(), &"beta".into())
    );
    is_close(&systems[0]["shift"], -0.14);
    is_close(&systems[1]["shift"], 0.07);
    is_close(&systems[0]["means"][0], ALPHA);
    is_close(&systems[0]["means"][1], ALPHA - 0.14);
    assert_eq!(
        (&systems[0]["ranks"], &systems[1]["ranks"]),
        (&json!([1, 2]), &json!([2, 1]))
    );
    is_close(&change["shift"], -0.035);
    let swapped = &change["swapped"][0];
    assert_eq!(swapped["systems"], json!(["alpha", "beta"]));
    is_close(&swapped["differences"][0], ALPHA - BETA);
    is_close(&swapped["differences"][1], ALPHA - BETA - 0.21);
    // The judges prefer other answers in every question.
    is_close(
        &change["agreement"]["overall"]["comparisons"]["half_credit"]["estimate"],
        0.0,
    );
    let text = unwrapped(
        &compare(&work, &["old", "new", "--across", "judges"])
            .exits_with(0)
            .stdout,
    );
    assert!(
        text.starts_with("score: new scores 3.5 points lower than old on average (-3.5"),
        "{text}"
    );
    assert!(
        text.contains("alpha and beta change places (+7.0 by old, -14.0 by new)."),
        "{text}"
    );
    assert!(
        text.contains("tau-b of scores -") && text.contains("(%) 0.0"),
        "{text}"
    );
    let csv = compare(
        &work,
        &["old", "new", "--across", "judges", "--format", "csv"],
    )
    .exits_with(0)
    .stdout;
    assert_eq!(
        csv.lines()
            .filter(|line| line.starts_with("judge_change,rubric,score,share,"))
            .count(),
        2,
        "{csv}"
    );
}

#[test]
fn a_change_of_judge_is_measured_on_the_same_answers_tests_and_settings_only() {
    let (work, server) = old_and_new_judge();
    let across = |runs: &[&str]| compare(&work, &[runs, &["--across", "judges"]].concat());
    across(&["old"])
        .exits_with(2)
        .says(&["takes two runs or more"]);
    across(&["old", "new", "--baseline", "alpha"]).exits_with(2);
    work.score(
        &server,
        &["--out", "few", "--limit", "3", "--cache-id", "two"],
    )
    .exits_with(0);
    across(&["old", "few"])
        .exits_with(3)
        .says(&["few: different cases: 8 ["]);
    work.score(
        &server,
        &["--out", "bare", "--no-inputs", "--cache-id", "two"],
    )
    .exits_with(0);
    across(&["old", "bare"])
        .exits_with(3)
        .says(&["bare: the answers are not recorded", "--no-inputs"]);
    let ids = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];
    work.answers(
        "alpha",
        ids.map(|id| (id, format!("Another answer of alpha to {id}."))),
    );
    work.score(&server, &["--out", "other", "--cache-id", "two"])
        .exits_with(0);
    across(&["old", "other"]).exits_with(3).says(&[
        "other texts than in old: 8 answers, the first by alpha",
        "the same answers by both",
    ]);
}

#[test]
fn other_tests_and_other_cases_are_no_equals() {
    let work = Workspace::new(&["alpha", "beta"], 4);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &["--out", "all"]).exits_with(0);
    work.score(&server, &["--out", "few", "--limit", "3"])
        .exits_with(0);
    let done = compare(&work, &["all", "few"]).exits_with(3);
    assert!(
        done.stderr.contains("different cases: 4 [") && done.stderr.contains("3 ["),
        "{}",
        done.stderr
    );
    // The shared cases are what is compared.
    let told =
        as_json(&compare(&work, &["all", "few", "--anyway", "--format", "json"]).exits_with(0));
    assert_eq!(told["metrics"][0]["cases"].as_array().unwrap().len(), 3);
    let tests = work.read("tests.json").replace(
        "should name the effects of c1",
        "may name the effects of c1",
    );
    work.write("tests.json", &tests);
    work.score(&server, &["--out", "other"]).exits_with(0);
    compare(&work, &["all", "other"])
        .exits_with(3)
        .says(&["different test cases: "]);
}

#[test]
fn a_lexical_score_is_another_metric_than_a_judged_one() {
    let work = Workspace::new(&["alpha", "beta"], 2);
    let server = FakeServer::start(constant_judge());
    work.score(&server, &["--out", "judged"]).exits_with(0);
    work.run(&[
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--judge",
        "lexical",
        "--out",
        "lexical",
    ])
    .exits_with(0);
    compare(&work, &["judged", "lexical"])
        .exits_with(3)
        .says(&["different judge of rubric: fake-judge (judged), lexical"]);
    let told = as_json(
        &compare(
            &work,
            &["judged", "lexical", "--anyway", "--format", "json"],
        )
        .exits_with(0),
    );
    for metric in told["metrics"].as_array().unwrap() {
        let is_lexical = metric["metric"]["scorer"] == "lexical_rubric";
        for system in metric["systems"].as_array().unwrap() {
            let run = told["systems"][system["system"].as_u64().unwrap() as usize]["run"]
                .as_u64()
                .unwrap();
            assert!(
                system["mean"].is_null() || (run == 1) == is_lexical,
                "{metric}"
            );
        }
    }
    // A lexical score is not called score.
    compare(&work, &["lexical", "--require", "score>=0.1"])
        .exits_with(3)
        .says(&["did you mean lexical_score?"]);
}

/// Makes the run `out` one that ended with this status after so many answers.
fn cut_short(work: &Workspace, status: &str, answers: usize) {
    let mut manifest = work.json("out/manifest.json");
    manifest["status"] = status.into();
    work.write("out/manifest.json", &manifest.to_string());
    work.edit_scores(|scores| {
        scores
            .lines()
            .take(answers)
            .map(|line| format!("{line}\n"))
            .collect()
    });
}

#[test]
fn a_run_that_did_not_finish_is_compared_and_marked() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &[]).exits_with(0);
    cut_short(&work, "stopped", 5);
    let told = "out was stopped early: 1 of 6 answers have no score; they count as unscored";
    let done = compare(&work, &["out"]).exits_with(0);
    assert!(unwrapped(&done.stdout).contains(told), "{}", done.stdout);
    assert!(
        done.stdout.contains("Unfinished: out was stopped early")
            && done.stdout.contains("2 shared cases"),
        "{}",
        done.stdout
    );
    assert!(!done.stdout.contains("Not comparable"), "{}", done.stdout);
    let latex = work
        .run(&["table", "out", "--format", "latex"])
        .exits_with(0)
        .stdout;
    assert!(
        latex.contains(" Unfinished: out was stopped early") && !latex.contains("Not comparable:"),
        "{latex}"
    );
    let gate = ["out", "--require", "beta:score>=0"];
    compare(&work, &gate)
        .exits_with(6)
        .says(&["1 of 6 answers have no score"]);
    compare(&work, &[&gate[..], &["--tolerate-missing"]].concat()).exits_with(0);
    let told = as_json(&compare(&work, &["out", "--format", "json"]).exits_with(0));
    assert_eq!(told["metrics"][0]["systems"][1]["unscored"], 1);
    // The report lists it.
    work.run(&["report", "out", "--out", "page.html"])
        .exits_with(0);
    let page = work.read("page.html");
    assert!(
        page.contains("Unfinished: out was stopped early") && !page.contains("Not comparable:")
    );
    assert!(page.contains("the run did not get to it"));
}

#[test]
fn a_run_that_did_not_get_to_a_system_at_all_compares_it_as_unscored() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &[]).exits_with(0);
    cut_short(&work, "running", 3);
    compare(&work, &["out", "--require", "score>=0.1"])
        .exits_with(6)
        .says(&["beta:score>=0.1: out did not finish", "3 of 6 answers"]);
    compare(
        &work,
        &["out", "--require", "score>=0.1", "--tolerate-missing"],
    )
    .exits_with(6)
    .says(&["beta:score>=0.1: it has no mean"]);
}

#[test]
fn a_run_of_which_nothing_was_scored_is_refused_by_everything_that_reads_runs() {
    let work = Workspace::new(&["alpha"], 2);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &[]).exits_with(0);
    cut_short(&work, "running", 0);
    let readers = [
        &["compare", "out"][..],
        &["report", "out", "--out", "page.html"],
        &["export", "inspect", "out", "--out", "logs"],
    ];
    for reader in readers {
        work.run(reader).exits_with(3).says(&[
            "nothing of the run has been scored",
            "run score once more to finish",
        ]);
    }
    assert!(!work.path("page.html").exists() && !work.path("logs").exists());
}

#[test]
fn a_run_without_inputs_that_did_not_finish_passes_no_gate() {
    let work = Workspace::new(&["alpha"], 3);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &["--no-inputs"]).exits_with(0);
    cut_short(&work, "stopped", 2);
    let gate = ["out", "--require", "score>=0"];
    compare(&work, &gate)
        .exits_with(6)
        .says(&["not met: alpha:score>=0: out was stopped early: 1 of 3 answers have no score"]);
    compare(&work, &[&gate[..], &["--tolerate-missing"]].concat()).exits_with(0);
    compare(&work, &["out"]).exits_with(0);
}

#[test]
fn a_run_that_was_stopped_and_scored_again_is_not_said_to_lack_nothing() {
    let work = Workspace::new(&["alpha", "beta"], 3);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &[]).exits_with(0);
    let mut manifest = work.json("out/manifest.json");
    manifest["status"] = "stopped".into();
    work.write("out/manifest.json", &manifest.to_string());
    work.run(&["rescore", "out"]).exits_with(0);
    let done = compare(&work, &["out"]).exits_with(0);
    let text = unwrapped(&done.stdout);
    assert!(
        text.contains("out was stopped early; run score once more to finish it"),
        "{text}"
    );
    assert!(
        !done.all_text().contains("have no score"),
        "{}",
        done.all_text()
    );
}

#[test]
fn the_same_systems_in_two_runs_are_compared_system_by_system() {
    let work = Workspace::new(&["alpha", "beta"], 8);
    let server = FakeServer::start(partial_judge());
    work.score(&server, &["--out", "old"]).exits_with(0);
    // The judge gives answers that name alpha 10 points in place of 8: beta rises from 0.755 to 0.825.
    let better = |case: usize| format!("The beta answer to c{case}, much like alpha.");
    let ids: Vec<String> = (1..=8).map(|case| format!("c{case}")).collect();
    let answers = ids
        .iter()
        .zip(1..)
        .map(|(id, case)| (id.as_str(), better(case)));
    work.answers("beta", answers);
    work.answers("gamma", [("c1", "The gamma answer.".to_owned())]);
    work.score(&server, &["--out", "new"]).exits_with(0);
    let told = as_json(
        &compare(
            &work,
            &["old", "new", "--across", "runs", "--format", "json"],
        )
        .exits_with(0),
    );
    assert_eq!(
        (&told["metrics"], &told["left_out"]),
        (&json!([]), &json!(["gamma"]))
    );
    let change = &told["run_changes"][0];
    assert_eq!(
        (&change["old"], &change["new"], &change["cases"]),
        (&"old".into(), &"new".into(), &8.into())
    );
    let systems = change["systems"].as_array().unwrap();
    assert_eq!(
        (&systems[0]["system"], &systems[1]["system"]),
        (&"alpha".into(), &"beta".into())
    );
    is_close(&systems[0]["shift"], 0.0);
    is_close(&systems[1]["shift"], ALPHA - BETA);
    // Two changes are tested, not six pairs: of 2^8 assignments of signs two are as extreme.
    is_close(&systems[1]["p"], 2.0 / 256.0);
    let text = unwrapped(
        &compare(&work, &["old", "new", "--across", "runs"])
            .exits_with(0)
            .stdout,
    );
    assert!(
        text.starts_with(
            "score from old to new: beta scores 7.0 points higher (+7.0, p = 0.008); the other system does not change \
             significantly. score (%) in old (old) and new (new), change"
        ),
        "{text}"
    );
    assert!(
        text.contains("Left out, since not in every run: gamma."),
        "{text}"
    );
    let csv = compare(
        &work,
        &["old", "new", "--across", "runs", "--format", "csv"],
    )
    .exits_with(0)
    .stdout;
    let rows = csv
        .lines()
        .filter(|line| line.starts_with("run_change,rubric,score,share,"));
    assert_eq!(rows.count(), 2, "{csv}");
    compare(&work, &["old", "--across", "runs"])
        .exits_with(2)
        .says(&["--across runs takes two runs or more"]);
}

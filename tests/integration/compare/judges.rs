//! Runs of the same answers by several judges, or with several prompt sets: `compare --across judges` and `--across prompts`.

use super::*;

const SYSTEMS: [&str; 3] = ["alpha", "beta", "gamma"];

/// A judge that gives the properties of each system's answers these points, one less where the prompts ask for strict judgments. Of a
/// plain case 8 points are a score of 0.755, and each point more is 0.035 more.
fn judge_of(points: [u64; 3]) -> FakeServer {
    FakeServer::start(Behaviour::good().saying(move |request| {
        let kind = kind_of(request);
        if kind != "property" && kind != "expertise" {
            return constant_reply(kind);
        }
        let answer = answer_of(request);
        let at = SYSTEMS.iter().position(|system| answer.contains(system));
        let strict = u64::from(request.text().contains("Judge strictly."));
        json!({"score": points[at.unwrap()] - strict}).to_string()
    }))
}

/// Runs of three systems on eight cases, each by a judge of its name with these points.
fn judged(runs: &[(&str, [u64; 3])]) -> Workspace {
    let work = Workspace::new(&SYSTEMS, 8);
    for (name, points) in runs {
        work.score(&judge_of(*points), &["--out", name, "--cache-id", name])
            .exits_with(0);
    }
    work
}

fn across_judges(work: &Workspace, more: &[&str]) -> Finished {
    compare(work, &[more, &["--across", "judges"]].concat())
}

fn ranks_of(compared: &Value) -> Vec<(&str, &Value)> {
    let systems = compared["judge_ranks"][0]["systems"].as_array().unwrap();
    let systems = systems.iter();
    systems
        .map(|system| (system["system"].as_str().unwrap(), &system["ranks"]))
        .collect()
}

#[test]
fn three_judges_share_a_table_and_a_swap_by_one_of_them_breaks_an_order() {
    // The second is as severe for all; the third favors gamma.
    let work = judged(&[
        ("one", [10, 8, 6]),
        ("two", [8, 6, 4]),
        ("three", [10, 6, 8]),
    ]);
    let runs = ["one", "two", "three"];
    let json = [&runs[..], &["--format", "json"]].concat();
    let compared = as_json(&across_judges(&work, &json).exits_with(0));
    let [one, two, three] = [json!([1, 1, 1]), json!([2, 2, 3]), json!([3, 3, 2])];
    assert_eq!(
        ranks_of(&compared),
        [("alpha", &one), ("beta", &two), ("gamma", &three)]
    );
    let ranks = &compared["judge_ranks"][0];
    assert_eq!(
        (&ranks["cases"], &ranks["questions"]),
        (&8.into(), &8.into())
    );
    // Means of 0.755, 0.685 and 0.755 by the judges, 2.195 / 3 in all.
    let all = 2.195 / 3.0;
    is_close(&ranks["grand_mean"], all);
    for (judge, mean) in [0.755, 0.685, 0.755].into_iter().enumerate() {
        let offset = &ranks["judges"][judge]["offset"];
        is_close(&ranks["judges"][judge]["mean"], mean);
        is_close(&offset["shift"], mean - all);
        // Eight equal offsets: 2 / 2^8.
        is_close(&offset["p"], 2.0 / 256.0);
    }
    // gamma has 0.685, 0.615 and 0.755, a mean of 0.685: by the third judge it is 0.07 above it, and the judge's offset 0.0233.
    let gamma = &ranks["systems"][2];
    is_close(&gamma["mean"], 0.685);
    is_close(&gamma["residuals"][2]["shift"], 0.07 - (0.755 - all));
    assert_eq!(gamma["residuals"][2]["differs"], true);
    assert_eq!(gamma["interval"], Value::Null);
    // 2 / 2^8 by each judge, times three pairs.
    let pairs = ranks["pairs"].as_array().unwrap();
    for (pair, (systems, p, holds)) in pairs.iter().zip([
        (["alpha", "beta"], 6.0 / 256.0, true),
        (["alpha", "gamma"], 6.0 / 256.0, true),
        (["beta", "gamma"], 1.0, false),
    ]) {
        assert_eq!(
            (&pair["systems"], &pair["holds"]),
            (&json!(systems), &json!(holds))
        );
        is_close(&pair["p"], p);
    }
    // All against all.
    let changes = compared["judge_changes"].as_array().unwrap();
    let changes: Vec<[&str; 2]> = changes
        .iter()
        .map(|change| ["old", "new"].map(|run| change[run].as_str().unwrap()))
        .collect();
    assert_eq!(
        changes,
        [["one", "two"], ["one", "three"], ["two", "three"]]
    );

    let text = unwrapped(&across_judges(&work, &runs).exits_with(0).stdout);
    assert!(
        text.starts_with(
            "score: the order of 2 of 3 pairs of systems holds under all of these 3 judges; ranks that hold: alpha (1). Offsets \
             from the mean of all judges: one +2.3; two -4.7; three +2.3. Beyond these offsets some judges favor or disfavor a \
             system: "
        ),
        "{text}"
    );
    assert!(text.contains("gamma by three +4.7;"), "{text}");
    assert!(
        !text.contains("change places") && text.contains("alpha 80.2 1* 1* 1*"),
        "{text}"
    );
    let notes = unwrapped(&across_judges(&work, &[&runs[..], &["--notes"]].concat()).stdout);
    assert!(notes.contains("beta and gamma change places"), "{notes}");
    let csv = across_judges(&work, &[&runs[..], &["--format", "csv"]].concat()).stdout;
    let count = |kind: &str| csv.lines().filter(|line| line.starts_with(kind)).count();
    assert_eq!(
        (count("judge_rank,"), count("judge_change,")),
        (9, 9),
        "{csv}"
    );

    let plot = [
        "plot", "one", "two", "three", "--what", "judges", "--out", "x.svg",
    ];
    work.run(&plot).exits_with(0);
    let svg = work.read("x.svg");
    for name in [">one<", ">two<", ">three<"] {
        assert!(svg.contains(name), "{name} in {svg}");
    }
    // A square a system and in the legend by the second judge, and the ground; circles by the others.
    assert_eq!(svg.matches("<rect ").count(), 5);
    assert_eq!(svg.matches("<circle ").count(), 8);
}

#[test]
fn judges_that_differ_in_severity_alone_keep_every_rank_and_a_judge_counts_once() {
    let work = judged(&[
        ("one", [10, 8, 6]),
        ("two", [8, 6, 4]),
        ("three", [9, 7, 5]),
    ]);
    let all = as_json(&across_judges(
        &work,
        &["one", "two", "three", "--format", "json"],
    ));
    let systems = all["judge_ranks"][0]["systems"].as_array().unwrap();
    assert!(
        systems.iter().all(|system| system["holds"] == true),
        "{all}"
    );

    work.score(
        &judge_of([10, 8, 6]),
        &[
            "--out",
            "later",
            "--cache-id",
            "one",
            "--cache",
            "later.sqlite",
        ],
    )
    .exits_with(0);
    let with_later = ["one", "two", "later"];
    let text = unwrapped(&across_judges(&work, &with_later).exits_with(0).stdout);
    assert!(
        text.starts_with(
            "score: the order of 3 of 3 pairs of systems holds under both of these judges; ranks"
        ),
        "{text}"
    );
    assert!(
        text.contains("later has the same judge as one, which counts once in the ranks."),
        "{text}"
    );
    let compared = as_json(&across_judges(
        &work,
        &[&with_later[..], &["--format", "json"]].concat(),
    ));
    assert_eq!(
        compared["judge_ranks"][0]["judges"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(compared["runs"][2]["same_judge_as"], "one");

    // Two runs by one judge are a change with time, without ranks.
    let two = as_json(&across_judges(&work, &["one", "later", "--format", "json"]));
    assert_eq!(
        (&two["judge_ranks"], &two["across"]),
        (&Value::Null, &Value::Null)
    );
    is_close(&two["judge_changes"][0]["shift"], 0.0);

    work.run(&[
        "report",
        "one",
        "two",
        "three",
        "--across",
        "judges",
        "--out",
        "judges.html",
    ])
    .exits_with(0);
    let page = work.read("judges.html");
    assert_eq!(page.matches("<svg ").count(), 1, "{page}");
    assert!(
        page.contains("rank under each, * holds under all"),
        "{page}"
    );

    // The margin is for every two runs: two points are 0.07, one is 0.035.
    let margin = |bound: &str| across_judges(&work, &["one", "two", "three", "--margin", bound]);
    let met = margin("0.08").exits_with(0).stdout;
    assert_eq!(
        met.matches("met        score shifts by at most 0.08")
            .count(),
        3,
        "{met}"
    );
    margin("0.05")
        .exits_with(6)
        .says(&["the shift from one to two lies outside it"]);
}

/// Prompts `name` that differ from the built-in ones by this line in every template of the system's answers.
fn prompts(work: &Workspace, name: &str, line: &str) {
    work.run(&["prompts", "export", name]).exits_with(0);
    for (path, text) in work.files() {
        let is_template = path.extension().is_some_and(|extension| extension == "txt");
        if is_template && path.components().any(|part| part.as_os_str() == name) {
            std::fs::write(
                work.path("").join(&path),
                format!("{}\n{line}", String::from_utf8(text).unwrap()),
            )
            .unwrap();
        }
    }
}

#[test]
fn prompt_sets_are_compared_as_judges_are() {
    let work = judged(&[("one", [10, 8, 6]), ("other", [10, 8, 6])]);
    prompts(&work, "strict", "Judge strictly.");
    prompts(&work, "kind", "Judge kindly.");
    for set in ["strict", "kind"] {
        let options = [
            "--out",
            &format!("by-{set}"),
            "--cache-id",
            "one",
            "--prompts",
            set,
        ];
        work.score(&judge_of([10, 8, 6]), &options).exits_with(0);
    }
    let across = |runs: &[&str]| compare(&work, &[runs, &["--across", "prompts"]].concat());
    let text = unwrapped(&across(&["one", "by-strict"]).exits_with(0).stdout);
    // A point less is 0.035 less.
    assert!(
        text.starts_with("score: by-strict scores 3.5 points lower than one on average (-3.5"),
        "{text}"
    );
    assert!(
        text.contains("Agreement of the two prompt sets: "),
        "{text}"
    );
    let compared = across(&["one", "by-strict", "by-kind", "--format", "json"]).exits_with(0);
    let compared = as_json(&compared);
    assert_eq!(
        (&compared["across"], &compared["differences"]),
        (&"prompts".into(), &json!([]))
    );
    let systems = compared["judge_ranks"][0]["systems"].as_array().unwrap();
    assert!(
        systems.iter().all(|system| system["holds"] == true),
        "{compared}"
    );

    // Other judges and equal prompts are faults; another prompt set is not another judge.
    across(&["other", "by-strict"])
        .exits_with(3)
        .says(&["different judge of rubric: other (other), one (by-strict)"]);
    across(&["one", "other", "--anyway"])
        .exits_with(3)
        .says(&["other: the same prompts as in one", "--prompts DIRECTORY"]);
    across_judges(&work, &["one", "by-strict"])
        .exits_with(3)
        .says(&["different prompts of rubric"]);
    compare(&work, &["one", "by-strict"])
        .exits_with(3)
        .says(&["compare --across prompts shows"]);
    compare(&work, &["other", "by-strict"])
        .exits_with(3)
        .says(&["compare --across judges shows"]);
    work.run(&[
        "plot",
        "one",
        "by-strict",
        "--what",
        "prompts",
        "--out",
        "x.svg",
    ])
    .exits_with(0);
}

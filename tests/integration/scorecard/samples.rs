//! Several samples of one judge, and panels of several judges.

use serde_json::{Value, json};

use super::workspace::{Finished, Workspace};
use super::{
    Act, Behaviour, FakeServer, close, empty_workspace, estimate, grader, judge_table, prediction,
    write_predictions,
};

fn one_answer() -> Workspace {
    let work = empty_workspace();
    write_predictions(
        &work,
        "alpha.json",
        &[prediction("Why?", "For no reason.", json!({}))],
    );
    work
}

fn coverage(work: &Workspace, server: &FakeServer, out: &str, more: &[&str]) -> Finished {
    let url = server.base_url();
    let common = [
        "score",
        "alpha.json",
        "--scorers",
        "prometheus",
        "--aspects",
        "coverage",
        "--no-reference",
    ];
    let judge = [
        "--model",
        "fake-judge",
        "--base-url",
        &url,
        "--concurrency",
        "1",
        "--out",
        out,
    ];
    work.run(&[&common[..], &judge, more].concat())
}

fn grades(grades: &[u32]) -> Behaviour {
    let reply = |grade: &u32| Act::Content(format!("Feedback: so so. [RESULT] {grade}"));
    grades.iter().enumerate().fold(
        Behaviour::always(Act::error(500, "x", "too many")),
        |judge, (at, grade)| judge.nth(at, reply(grade)),
    )
}

#[test]
fn draws_are_merged_by_the_rule_and_each_is_paid_once() {
    let work = one_answer();
    let server = FakeServer::start(grades(&[1, 1, 4, 5, 3]));
    let sampled = ["--temperature", "0.7", "--samples"];
    coverage(&work, &server, "three", &[&sampled[..], &["3"]].concat()).exits_with(0);
    assert_eq!(server.chat_count(), 3);
    // (1 + 1 + 4) / 3
    close(
        &estimate(&work.json("three/summary.json"), "prometheus", "coverage"),
        2.0,
    );
    coverage(&work, &server, "five", &[&sampled[..], &["5"]].concat()).exits_with(0);
    assert_eq!(
        server.chat_count(),
        5,
        "the first three are in the cache under their index"
    );
    // 1, 1, 4, 5, 3: mean 14/5, median 3, most common 1
    for (rule, expected) in [("mean", 2.8), ("median", 3.0), ("most-common", 1.0)] {
        let out = format!("by-{rule}");
        let done = coverage(
            &work,
            &server,
            &out,
            &[&sampled[..], &["5", "--merge", rule]].concat(),
        )
        .exits_with(0);
        close(
            &estimate(
                &work.json(&format!("{out}/summary.json")),
                "prometheus",
                "coverage",
            ),
            expected,
        );
        let line = &work.lines(&format!("{out}/scores.jsonl"))[0];
        let member = &line["members"]["coverage"][0];
        close(&member["value"], expected);
        if rule == "most-common" {
            // The fifth could only tie with 1, the first seen; the spread is that of the first two.
            assert_eq!(member["samples"], json!([1.0, 1.0, 4.0, 5.0]), "{line}");
            assert_eq!(member["stops_early"], true);
            close(&member["spread"], 0.0);
        } else {
            assert_eq!(
                member["samples"],
                json!([1.0, 1.0, 4.0, 5.0, 3.0]),
                "{line}"
            );
            assert!(member.get("stops_early").is_none());
            // deviations from 2.8: squares 3.24, 3.24, 1.44, 4.84, 0.04 make 12.8; / (5 - 1)
            close(&member["spread"], 3.2_f64.sqrt());
        }
        assert_eq!(
            work.run(&["rescore", &out]).exits_with(0).stdout,
            done.stdout
        );
    }
    assert_eq!(server.chat_count(), 5);
}

#[test]
fn a_vote_stops_when_it_is_settled_and_its_record_can_be_resumed_and_rescored() {
    let work = one_answer();
    let server = FakeServer::start(grades(&[2, 2, 5]));
    let voted = [
        "--temperature",
        "0.7",
        "--samples",
        "3",
        "--merge",
        "most-common",
    ];
    let plan = coverage(
        &work,
        &server,
        "vote",
        &[&voted[..], &["--dry-run"]].concat(),
    )
    .exits_with(0);
    assert!(
        plan.stdout.contains("2 calls now, up to 3"),
        "{}",
        plan.stdout
    );
    let done = coverage(&work, &server, "vote", &voted).exits_with(0);
    assert_eq!(server.chat_count(), 2);
    close(
        &estimate(&work.json("vote/summary.json"), "prometheus", "coverage"),
        2.0,
    );
    // Continued, and without its cache: nothing is asked again.
    coverage(&work, &server, "vote", &voted).exits_with(0);
    coverage(
        &work,
        &server,
        "vote",
        &[&voted[..], &["--no-cache"]].concat(),
    )
    .exits_with(0);
    assert_eq!(server.chat_count(), 2);
    assert_eq!(
        work.run(&["rescore", "vote"]).exits_with(0).stdout,
        done.stdout
    );
    // The reference votes by text: of three, two equal ones decide there, too.
    let compat = work
        .run(&["rescore", "vote", "--compat", "--out", "compat"])
        .exits_with(0);
    assert!(compat.stdout.contains("2.00"), "{}", compat.stdout);
    assert_eq!(work.json("vote/summary.json")["noise"][0]["samples"], 2);
    // A mean needs the third.
    coverage(
        &work,
        &server,
        "mean",
        &["--temperature", "0.7", "--samples", "3"],
    )
    .exits_with(0);
    assert_eq!(server.chat_count(), 3);
}

#[test]
fn draws_at_temperature_zero_are_warned_about() {
    let work = one_answer();
    let server = FakeServer::start(grader(3));
    coverage(&work, &server, "out", &["--samples", "3"])
        .exits_with(0)
        .says(&["3 samples at temperature 0 repeat"]);
    coverage(
        &work,
        &server,
        "warm",
        &["--samples", "3", "--temperature", "0.7"],
    )
    .exits_with(0);
    let warm = coverage(
        &work,
        &server,
        "warm",
        &["--samples", "3", "--temperature", "0.7"],
    )
    .exits_with(0);
    assert!(!warm.stderr.contains("repeat"), "{}", warm.stderr);
}

#[test]
fn a_sample_that_cannot_be_read_is_left_out_of_the_mean_and_seen_in_the_record() {
    let work = one_answer();
    let judge = grades(&[2, 0, 5]);
    let server = FakeServer::start(judge);
    let more = [
        "--samples",
        "3",
        "--temperature",
        "0.7",
        "--parse-retries",
        "0",
    ];
    coverage(&work, &server, "out", &more).exits_with(0);
    close(
        &estimate(&work.json("out/summary.json"), "prometheus", "coverage"),
        3.5,
    );
    assert_eq!(
        work.lines("out/scores.jsonl")[0]["members"]["coverage"][0]["samples"],
        json!([2.0, null, 5.0])
    );
}

/// Coverage graded by all of these.
fn with_panel(work: &Workspace, servers: &[(&str, &FakeServer)], merge: &str) -> Finished {
    let tables: String = servers
        .iter()
        .map(|(name, server)| judge_table(name, server, &format!("cache_id = \"{name}\"")))
        .collect();
    let names: Vec<String> = servers
        .iter()
        .map(|(name, _)| format!("\"{name}\""))
        .collect();
    let roles = format!(
        "[roles]\n\"aspect.coverage\" = [{}]\nmerge = \"{merge}\"\n",
        names.join(", ")
    );
    work.write("eval.toml", &(tables + &roles));
    let out = format!("panel-{merge}-{}", servers.len());
    let arguments = [
        "score",
        "alpha.json",
        "--config",
        "eval.toml",
        "--scorers",
        "prometheus",
        "--aspects",
        "coverage",
    ];
    work.run(
        &[
            &arguments[..],
            &["--no-reference", "--max-unscored", "1", "--out", &out],
        ]
        .concat(),
    )
}

#[test]
fn a_panel_keeps_each_judges_grade_and_merges_them() {
    let work = one_answer();
    let [strict, fair, kind] = [1, 2, 5].map(|grade| FakeServer::start(grader(grade)));
    let servers = [("strict", &strict), ("fair", &fair), ("kind", &kind)];
    // (1 + 2) / 2 both ways; (1 + 2 + 5) / 3 and the middle one
    for (count, merge, expected) in [
        (2, "mean", 1.5),
        (2, "median", 1.5),
        (3, "mean", 8.0 / 3.0),
        (3, "median", 2.0),
    ] {
        let done = with_panel(&work, &servers[..count], merge).exits_with(0);
        let out = format!("panel-{merge}-{count}");
        close(
            &estimate(
                &work.json(&format!("{out}/summary.json")),
                "prometheus",
                "coverage",
            ),
            expected,
        );
        let members = work.lines(&format!("{out}/scores.jsonl"))[0]["members"]["coverage"].clone();
        let of = |member: &Value| {
            (
                member["judge"].as_str().unwrap().to_owned(),
                member["value"].as_f64().unwrap(),
            )
        };
        let own: Vec<(String, f64)> = members.as_array().unwrap().iter().map(of).collect();
        let expected = [("strict", 1.0), ("fair", 2.0), ("kind", 5.0)]
            .map(|(name, grade)| (name.to_owned(), grade));
        assert_eq!(own, expected[..count]);
        assert!(done.stdout.contains("strict and fair"), "{}", done.stdout);
        assert_eq!(
            work.run(&["rescore", &out, "--max-unscored", "1"])
                .exits_with(0)
                .stdout,
            done.stdout
        );
    }
    assert_eq!(
        [&strict, &fair, &kind].map(FakeServer::chat_count),
        [1, 1, 1]
    );
}

#[test]
fn a_panel_without_a_judges_grade_is_unscored_and_names_the_judge() {
    let work = one_answer();
    let good = FakeServer::start(grader(4));
    let refusing = FakeServer::start(Behaviour::always(Act::error(400, "bad", "no such thing")));
    let done = with_panel(&work, &[("good", &good), ("sulky", &refusing)], "mean").exits_with(0);
    let line = &work.lines("panel-mean-2/scores.jsonl")[0];
    assert_eq!(
        (&line["components"]["coverage"], &line["score"]),
        (&Value::Null, &Value::Null)
    );
    let reason = line["details"]["coverage"]["unscored"]["message"]
        .as_str()
        .unwrap();
    assert!(
        reason.starts_with("sulky: ") && reason.contains("no such thing"),
        "{reason}"
    );
    assert_eq!(
        line["members"]["coverage"][0]["value"], 4.0,
        "what the other said is kept: {line}"
    );
    assert!(line["members"]["coverage"][1]["value"].is_null());
    assert!(
        done.stdout
            .replace("\n  ", " ")
            .contains("alpha 1 of 1 (sulky: status 400: no such thing)"),
        "{}",
        done.stdout
    );
    assert_eq!(good.chat_count(), 1);
}

#[test]
fn a_panel_of_one_judge_twice_is_refused_before_it_is_asked() {
    let work = one_answer();
    let server = FakeServer::start(grader(4));
    let tables = judge_table("one", &server, "") + &judge_table("two", &server, "");
    let run = |roles: &str| {
        work.write("eval.toml", &format!("{tables}[roles]\n{roles}\n"));
        work.run(&[
            "score",
            "alpha.json",
            "--config",
            "eval.toml",
            "--out",
            "out",
        ])
    };
    run("aspect = [\"one\", \"two\"]")
        .exits_with(3)
        .says(&["one and two are one judge (fake-judge)", "cache_id"]);
    run("aspect = [\"one\", \"one\"]")
        .exits_with(3)
        .says(&["eval.toml:", "one is named twice in this panel"]);
    assert_eq!(server.chat_count(), 0);
    assert!(!work.path("out").exists());
}

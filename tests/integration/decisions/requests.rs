//! What is put into a request, and how a run continues: too long, cut by bounds, killed, out of budget.

use std::time::Duration;

use serde_json::Value;

use super::fake::{Case, Decider, SHAPES, run, score_of, workspace};
use super::{calm, out_of_order_up_to};
use crate::support::fake_server::Behaviour;
use crate::support::workspace::{Workspace, wait_until};

/// Five criteria, the fourth with 600 words.
fn with_a_long_one() -> Workspace {
    let text = |at: usize| match at {
        3 => format!("Long @p=0.9@ {}", "word ".repeat(600)),
        _ => format!("Criterion {at} @p=0.9@"),
    };
    let criteria = (0..5).map(|at| (text(at), 2)).collect();
    let cases: [Case; 1] = [("k0".to_owned(), "A question?".to_owned(), criteria)];
    workspace("healthbench", &cases)
}

/// The requests that a plan still has to make.
fn planned(decider: &Decider, work: &Workspace, judge: &str, more: &[&str]) -> Value {
    let own = decider.arguments(judge, "healthbench");
    let mut arguments = vec!["plan", "--format", "json"];
    arguments.extend(own.iter().map(String::as_str));
    arguments.extend(more);
    let done = run(work, &arguments).exits_with(0);
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn what_is_too_long_is_asked_in_halves_and_then_alone_whatever_the_server_calls_it() {
    for (judge, dialect) in [
        ("systemone", "llama"),
        ("systemone", "typesafe"),
        ("systemone", "sglang"),
        ("systemone", "cloudflare"),
        ("systemone", "sizes"),
        ("decisions", "openai"),
        ("decisions", "vllm"),
    ] {
        let options = ["--dialect", dialect, "--limit-tokens", "400"];
        let Some(decider) = Decider::start(&options) else {
            return;
        };
        let work = with_a_long_one();
        decider
            .score(&work, judge, "healthbench", &["--max-unscored", "1"])
            .exits_with(0);
        // Five; three and two; of the two each alone.
        assert_eq!(decider.requests(), 5, "{dialect}");
        let score = score_of(&work, "k0");
        for at in 1..=5 {
            let detail = &score["details"][format!("c{at}")];
            let reason = (at == 4).then_some("context_overflow");
            assert_eq!(
                detail["unscored"]["kind"].as_str(),
                reason,
                "{dialect}: {detail}"
            );
        }
        assert!(score["score"].is_null());
        let plan = planned(&decider, &work, judge, &[]);
        assert_eq!(plan["total"]["now"]["calls"], 0, "{plan}");
        decider
            .score(&work, judge, "healthbench", &["--max-unscored", "1"])
            .exits_with(0);
        run(
            &work,
            &["rescore", "out", "--out", "again", "--max-unscored", "1"],
        )
        .exits_with(0);
        assert_eq!(
            work.read("again/scores.jsonl"),
            work.read("out/scores.jsonl")
        );
        assert_eq!(decider.requests(), 5, "{dialect}: sent again");
    }
}

/// Six cases of four criteria.
fn six_cases(text: impl Fn(usize) -> String) -> Workspace {
    let criteria = || (0..4).map(|at| (text(at), 2)).collect();
    let cases: Vec<Case> = (0..6)
        .map(|at| (format!("k{at}"), "A question?".to_owned(), criteria()))
        .collect();
    workspace("healthbench", &cases)
}

#[test]
fn a_request_that_others_replace_is_not_counted_as_one_without_a_verdict() {
    let work = six_cases(|at| format!("Criterion {at} @p=0.9@"));
    let server = out_of_order_up_to("systemone", 2, Behaviour::good());
    let url = server.base_url();
    let score = ["score", "answers", "--tests", "tests.jsonl", "--out", "out"];
    let by = ["--rubric", "healthbench", "--judge", "systemone"];
    let at = ["--model", "fake-decider", "--base-url", &url];
    let done = run(&work, &[&score[..], &by, &at].concat()).exits_with(0);
    assert!(done.stderr.contains("18 calls made, in"), "{}", done.stderr);
    assert!(!done.stderr.contains("context"), "{}", done.stderr);
    // The refusals do not come from a model.
    let manifest = work.json("out/manifest.json");
    let answered = &manifest["roles"]["criteria"]["judges"][0]["answered_by"];
    assert_eq!(answered.as_array().unwrap().len(), 1, "{answered}");
    assert_eq!(answered[0]["calls"], 12, "{answered}");

    // Six replies to the first request are none; its four questions alone have answers.
    let Some(decider) = Decider::start(&["--fault", "nan::6"]) else {
        return;
    };
    let work = six_cases(|at| format!("Criterion {at} @p=0.9@"));
    let more = ["--concurrency", "1", "--parse-retries", "5"];
    let done = decider.score(&work, "systemone", "healthbench", &more);
    let done = done.exits_with(0);
    assert_eq!(decider.requests(), 6 + 4 + 5);
    for text in ["unreadable criterion", "without a verdict"] {
        assert!(!done.stderr.contains(text), "{}", done.stderr);
    }
}

#[test]
fn a_run_whose_requests_bring_no_verdict_at_all_stops_with_advice_for_decision_models() {
    // The kind of fault, the questions of an answer, and the requests to three answers: of an unreadable answer one more alone, and of
    // a reply that is none two repeats before it.
    for (fault, questions, requests) in [("empty", 4, 3), ("nan-text", 1, 6), ("nan", 1, 12)] {
        for judge in SHAPES {
            let Some(decider) = Decider::start(&["--fault", fault]) else {
                return;
            };
            let case = |at: usize| {
                let criteria = (0..questions).map(|at| (format!("No. {at}"), 2));
                (
                    format!("k{at}"),
                    "A question?".to_owned(),
                    criteria.collect(),
                )
            };
            let work = workspace("healthbench", &(0..9).map(case).collect::<Vec<Case>>());
            let one = ["--concurrency", "1"];
            let done = decider.score(&work, judge, "healthbench", &one);
            let done = done.exits_with(5);
            let done = done.says(&[
                "3 different cases",
                "scholareval check",
                "--criteria-per-call",
            ]);
            assert!(!done.stderr.contains("--structured"), "{}", done.stderr);
            assert_eq!(decider.requests(), requests, "{fault}");
        }
    }
}

#[test]
fn a_run_killed_between_requests_is_continued_by_what_is_left() {
    for judge in SHAPES {
        let options = ["--limit-tokens", "400", "--latency", "0.4"];
        let Some(decider) = Decider::start(&options) else {
            return;
        };
        let work = with_a_long_one();
        let own = decider.arguments(judge, "healthbench");
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_scholareval"))
            .env_clear()
            .env("HOME", work.path("."))
            .env("TYPESAFE_API_KEY", "sk-typesafe")
            .env("OPENAI_API_KEY", "sk-openai")
            .current_dir(work.path("."))
            .args([
                "score",
                "--out",
                "out",
                "--concurrency",
                "1",
                "--max-unscored",
                "1",
            ])
            .args(own)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // The refusal of all five comes at once; of the two halves one is under way.
        wait_until("the first half is asked", || decider.requests() == 2);
        std::thread::sleep(Duration::from_millis(150));
        child.kill().unwrap();
        child.wait().unwrap();
        let plan = planned(&decider, &work, judge, &[]);
        // Two halves, which the plan does not know to be too long; not the whole.
        assert_eq!(plan["total"]["now"]["calls"], 2, "{plan}");
        decider
            .score(&work, judge, "healthbench", &["--max-unscored", "1"])
            .exits_with(0);
        // Five requests, and the one that was lost with its reply.
        assert_eq!(decider.requests(), 6);
        let undisturbed = with_a_long_one();
        decider
            .score(&undisturbed, judge, "healthbench", &["--max-unscored", "1"])
            .exits_with(0);
        assert_eq!(
            work.read("out/scores.jsonl"),
            undisturbed.read("out/scores.jsonl")
        );
    }
}

#[test]
fn a_budget_may_end_within_an_answer() {
    let Some(decider) = Decider::start(&[]) else {
        return;
    };
    let work = calm(2);
    let one_each = ["--criteria-per-call", "1", "--concurrency", "1"];
    let short = [&one_each[..], &["--budget-tokens", "500"]].concat();
    let stopped = decider.score(&work, "systemone", "healthbench", &short);
    assert_ne!(stopped.code, Some(0), "{}", stopped.stderr);
    let before = decider.requests();
    assert!((1..6).contains(&before), "{before} requests of 6");
    let plan = planned(&decider, &work, "systemone", &one_each);
    assert_eq!(plan["total"]["now"]["calls"], 6 - before, "{plan}");
    decider
        .score(&work, "systemone", "healthbench", &one_each)
        .exits_with(0);
    assert_eq!(decider.requests(), 6);
}

#[test]
fn requests_have_as_many_questions_as_the_option_and_the_record_say() {
    let Some(decider) = Decider::start(&[]) else {
        return;
    };
    let work = calm(2);
    decider
        .score(
            &work,
            "decisions",
            "healthbench",
            &["--criteria-per-call", "2"],
        )
        .exits_with(0);
    assert_eq!(decider.requests(), 4);
    let manifest = work.read("out/manifest.json");
    assert!(
        manifest.contains("\"questions_per_request\": 2"),
        "{manifest}"
    );
    // Without the option the run is read in the requests in which it was made.
    run(&work, &["rescore", "out", "--out", "again"]).exits_with(0);
    assert_eq!(
        work.read("again/scores.jsonl"),
        work.read("out/scores.jsonl")
    );
    decider
        .score(&work, "decisions", "healthbench", &[])
        .exits_with(3)
        .says(&["questions_per_request", "2 (in the run), 64 (now)"]);
    decider
        .score(
            &work,
            "decisions",
            "healthbench",
            &["--criteria-per-call", "2"],
        )
        .exits_with(0);
    assert_eq!(decider.requests(), 4);
    // The third of each case was asked alone already.
    let plan = planned(&decider, &work, "decisions", &[]);
    let rows: Vec<(&Value, &Value)> = plan["criteria_per_call"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["size"], &row["calls"]))
        .collect();
    assert_eq!(
        rows,
        [(&1.into(), &4.into()), (&64.into(), &2.into())],
        "{plan}"
    );
}

#[test]
fn samples_and_panels_are_asked_as_of_any_judge() {
    let Some(decider) = Decider::start(&[]) else {
        return;
    };
    let work = calm(2);
    decider
        .score(&work, "systemone", "healthbench", &["--samples", "3"])
        .exits_with(0);
    assert_eq!(decider.requests(), 6);
    assert_eq!(score_of(&work, "k0")["score"], 1.0);
    run(&work, &["rescore", "out", "--out", "again"]).exits_with(0);
    assert_eq!(
        work.read("again/scores.jsonl"),
        work.read("out/scores.jsonl")
    );
}

//! The released answers of four systems, and the sample data, from end to end.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use scholareval::dataset::{PairOptions, load_answers, load_test_cases, pair};
use scholareval::domain::{JudgeReply, Mode, RubricParts};
use scholareval::scorer::rubric::RubricScorer;
use scholareval::scorer::{Scorer, Step, Subject, Verdicts};
use serde_json::Value;

use crate::rubric_golden::shared;
use crate::support::fake_server::{Behaviour, FakeServer};
use crate::support::workspace::{Finished, Workspace};

const SYSTEMS: [&str; 4] = ["claude", "gpt", "nora", "perplexity"];

struct Released {
    answers: PathBuf,
    tests: PathBuf,
}

fn released() -> Option<Released> {
    let data = shared()?.canonicalize().unwrap().join("data/scholarqa_cs");
    let (answers, tests) = (
        data.join("src_answers"),
        data.join("test_configs_snippets.json"),
    );
    if answers.is_dir() && tests.is_file() {
        return Some(Released { answers, tests });
    }
    eprintln!("skipped: no released answers at {}", data.display());
    None
}

impl Released {
    fn score(&self, work: &Workspace, more: &[&str]) -> Finished {
        let (answers, tests) = (self.answers.to_str().unwrap(), self.tests.to_str().unwrap());
        work.run(&[&["score", answers, "--tests", tests, "--out", "out"], more].concat())
    }
}

fn rows(summary: &Value) -> Vec<&Value> {
    summary["scorers"][0]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .collect()
}

#[test]
fn the_baseline_scores_the_released_answers_and_says_that_it_is_one() {
    let Some(released) = released() else { return };
    let work = Workspace::with_cases(&[]);
    let done = released.score(&work, &[]).exits_with(0);
    let header = done
        .stdout
        .lines()
        .find(|line| line.starts_with("system"))
        .unwrap();
    assert!(header.contains("lexical_score"), "{}", done.stdout);
    assert!(
        done.stdout
            .contains("Scored by the built-in lexical baseline, not by an LLM."),
        "{}",
        done.stdout
    );
    for system in SYSTEMS {
        let row = done
            .stdout
            .lines()
            .find(|line| line.starts_with(system))
            .unwrap();
        assert_eq!(row.split_whitespace().nth(4), Some("100"), "{row}");
    }
    let summary = work.json("out/summary.json");
    assert_eq!(
        (&summary["scorers"][0]["scorer"], &summary["unscored_share"]),
        (&"lexical_rubric".into(), &0.0.into())
    );
    for row in rows(&summary) {
        assert!(
            row["metrics"].get("score").is_none() && row["answers"] == 100,
            "{row}"
        );
        let score = &row["metrics"]["lexical_score"];
        let estimate = score["estimate"].as_f64().unwrap();
        let ends = ["low", "high"].map(|end| score[end].as_f64().unwrap());
        assert!(
            0.0 < ends[0] && ends[0] < estimate && estimate < ends[1] && ends[1] < 1.0,
            "{row}"
        );
    }
    let columns = work.read("out/summary.csv");
    assert!(
        !columns
            .lines()
            .next()
            .unwrap()
            .split(',')
            .any(|column| column == "score")
    );
    assert_eq!(work.lines("out/scores.jsonl").len(), 400);
    // the baseline is deterministic, and its record is scored again without it
    let before = work.read("out/scores.jsonl");
    let again = work.run(&["rescore", "out"]).exits_with(0);
    assert_eq!(
        (again.stdout, work.read("out/scores.jsonl")),
        (done.stdout, before)
    );
}

/// The scores that the pure scorer makes of the recorded replies, by system and case.
fn pure_scores(
    released: &Released,
    calls: &[Value],
) -> HashMap<(String, String), [Option<f64>; 2]> {
    let text = |call: &Value, name: &str| call[name].as_str().unwrap().to_owned();
    let raw: HashMap<[String; 3], String> = calls
        .iter()
        .map(|call| {
            (
                ["system", "case_id", "item"].map(|name| text(call, name)),
                text(&call["reply"], "content"),
            )
        })
        .collect();
    let tests = load_test_cases(&released.tests, Mode::Default).unwrap();
    let systems = load_answers(std::slice::from_ref(&released.answers), Mode::Default).unwrap();
    let scorer = RubricScorer::new(RubricParts::BOTH, Mode::Default);
    let score = |item: &scholareval::domain::Item| {
        let key = |name: &str| {
            [
                item.answer.system.to_string(),
                item.case.case_id.to_string(),
                name.to_owned(),
            ]
        };
        let mut verdicts = Verdicts::new();
        loop {
            match scorer.step(&Subject::new(&item.case, &item.answer), &verdicts) {
                Step::Done(score) => return [score.value, score.ann_score],
                Step::Ask(asked) => {
                    for call in asked {
                        let reply = plain_reply(&raw[&key(&call.item)]);
                        let reading = call.question.parse(&reply, Mode::Default).unwrap();
                        verdicts.insert(call.item, Ok(reading));
                    }
                }
            }
        }
    };
    let pairing = pair(&tests, &systems, &PairOptions::default()).unwrap();
    pairing
        .items
        .iter()
        .map(|p| {
            (
                (p.answer.system.to_string(), p.case.case_id.to_string()),
                score(p),
            )
        })
        .collect()
}

fn plain_reply(content: &str) -> JudgeReply {
    JudgeReply::of_text(content)
}

#[test]
fn a_judge_over_http_scores_the_released_answers_as_the_pure_scorer_does() {
    let Some(released) = released() else { return };
    let work = Workspace::with_cases(&[]);
    let server = FakeServer::start(Behaviour::good().without_record());
    let url = server.base_url();
    let judge = ["--model", "fake-judge", "--base-url", &url];
    let first = released.score(&work, &judge).exits_with(0);
    // 100 cases with 446 criteria, each with snippets: 2 * 100 + 446 calls a system at once, 446 behind gates; two
    // criteria of one case are the same, and identical calls are one
    first.says_plan(4 * (200 + 446 - 1), 4 * (200 + 2 * 446 - 1));
    let calls = work.lines("out/calls.jsonl");
    let earned = calls
        .iter()
        .filter(|call| call["kind"] == "property" && call["verdict"]["points"] != 0.0)
        .count();
    assert!((1..4 * 446).contains(&earned));
    assert_eq!(
        calls.len(),
        4 * (200 + 446) + earned,
        "the plan, and the gates that opened"
    );
    // a few criteria of one case have the same snippets: such calls are one
    let distinct: std::collections::HashSet<&Value> =
        calls.iter().map(|call| &call["fingerprint"]).collect();
    assert_eq!(server.chat_count(), distinct.len());
    assert!(
        calls.len() - distinct.len() < 10,
        "{} of {}",
        distinct.len(),
        calls.len()
    );
    let pure = pure_scores(&released, &calls);
    let scores = work.lines("out/scores.jsonl");
    assert_eq!((scores.len(), pure.len()), (400, 400));
    for score in &scores {
        let key = ["system", "case_id"].map(|name| score[name].as_str().unwrap().to_owned());
        let [value, ann_score] = pure[&(key[0].clone(), key[1].clone())];
        assert_eq!(
            (score["score"].as_f64(), score["ann_score"].as_f64()),
            (value, ann_score),
            "{key:?}"
        );
        assert!(value.is_some());
    }
    // every mean of the table is the mean of the pure scores
    for row in rows(&work.json("out/summary.json")) {
        let own = scores
            .iter()
            .filter(|score| score["system"] == row["system"]);
        let mean = own
            .map(|score| score["score"].as_f64().unwrap())
            .sum::<f64>()
            / 100.0;
        assert!(
            (row["metrics"]["score"]["estimate"].as_f64().unwrap() - mean).abs() < 1e-12,
            "{row}"
        );
        assert_eq!(row["metrics"]["score"]["n"], 100);
    }
    // once more from the cache, into another place: nothing is sent, and the table is the same
    let asked = server.chat_count();
    let second = released
        .score(&work, &[&judge[..], &["--overwrite"]].concat())
        .exits_with(0);
    assert_eq!((server.chat_count(), second.stdout), (asked, first.stdout));
}

impl Finished {
    #[track_caller]
    fn says_plan(&self, now: usize, at_most: usize) {
        let text = self.stderr.replace(',', "");
        let line = format!("plan: {now} calls now up to {at_most} with all follow-up questions;");
        assert!(text.contains(&line), "{line} is not in {text}");
    }
}

#[test]
fn the_sample_data_ranks_careful_before_brief_before_vague() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let (answers, tests) = (data.join("answers"), data.join("test_cases.json"));
    let work = Workspace::with_cases(&[]);
    let arguments = [
        "score",
        answers.to_str().unwrap(),
        "--tests",
        tests.to_str().unwrap(),
        "--out",
        "out",
        "--strict",
    ];
    let done = work.run(&arguments).exits_with(0);
    let summary = work.json("out/summary.json");
    let order: Vec<&str> = rows(&summary)
        .iter()
        .map(|row| row["system"].as_str().unwrap())
        .collect();
    assert_eq!(order, ["careful", "brief", "vague"]);
    let ranks: Vec<&Value> = rows(&summary).iter().map(|row| &row["rank"]).collect();
    assert_eq!(ranks, [1, 2, 3]);
    for row in rows(&summary) {
        assert_eq!(
            (&row["metrics"]["lexical_score"]["n"], &row["missing"]),
            (&8.into(), &0.into())
        );
    }
    let places: Vec<usize> = order
        .iter()
        .map(|system| done.stdout.find(&format!("\n{system}")).unwrap())
        .collect();
    assert!(places.is_sorted(), "{}", done.stdout);
}

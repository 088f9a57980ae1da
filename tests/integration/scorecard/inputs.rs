//! What is scored by default, and where it stands: without test cases, with them, beside converted answers.

use serde_json::{Value, json};

use super::judging::{self, constant_judge};
use super::workspace::{Workspace, test_case};
use super::{
    Behaviour, FakeServer, Recorded, close, csv_cell, empty_workspace, metric, prediction,
    write_predictions,
};

fn sources(texts: &[&str]) -> Value {
    let source = |text: &&str| json!({"title": "A title", "text": text});
    json!({"ctxs": texts.iter().map(source).collect::<Vec<_>>()})
}

/// `alpha` comes with gold answers, `beta` without.
fn two_systems() -> Workspace {
    let work = empty_workspace();
    let mut capital = prediction(
        "Which is the capital?",
        "Paris is the capital [0].",
        sources(&["a", "b"]),
    );
    capital["answer"] = json!("Paris");
    let mut author = prediction(
        "Who wrote Hamlet?",
        "Marlowe wrote it [0][5].",
        sources(&["a"]),
    );
    author["answer"] = json!("Shakespeare");
    write_predictions(&work, "alpha.json", &[capital, author]);
    let others = [
        prediction(
            "Which is the capital?",
            "It is Lyon [1].",
            sources(&["a", "b"]),
        ),
        prediction("Who wrote Hamlet?", "Shakespeare [0].", sources(&["a"])),
    ];
    write_predictions(&work, "beta.json", &others);
    work
}

#[test]
fn without_tests_or_judge_the_input_decides_and_what_is_left_out_is_told() {
    let work = two_systems();
    let done = work
        .run(&["score", "alpha.json", "beta.json", "--out", "out"])
        .exits_with(0)
        .says(&[
            "scorers: citation_audit, overlap; left out: rubric (no test cases), \
         prometheus (no judge), entailment (no judge)",
        ]);
    let summary = work.json("out/summary.json");
    let of = |scorer, system, column| metric(&summary, scorer, system, column);
    // of the two outputs one holds its gold; F1 of "paris is capital" and "paris": 2 (1/3) 1 / (1/3 + 1) = 0.5; 0
    close(&of("overlap", "alpha", "match")["estimate"], 0.5);
    close(&of("overlap", "alpha", "token_f1")["estimate"], 0.25);
    // [0]; [0][5], of which 5 points nowhere
    close(&of("citation_audit", "alpha", "dangling")["estimate"], 0.5);
    close(&of("citation_audit", "alpha", "valid")["estimate"], 0.75);
    close(&of("citation_audit", "beta", "dangling")["estimate"], 0.0);
    for column in [
        "match",
        "exact_match",
        "token_f1",
        "rouge_1",
        "rouge_2",
        "rouge_l",
    ] {
        let missing = of("overlap", "beta", column);
        assert_eq!(
            (&missing["estimate"], &missing["n"], &missing["unscored"]),
            (&Value::Null, &json!(0), &json!(0))
        );
        assert_eq!(csv_cell(&work, "beta", column), "");
        assert_ne!(csv_cell(&work, "alpha", column), "");
        let items = work.read("out/items.csv");
        assert!(
            items.contains(&format!(",alpha,1,overlap,{column},")),
            "{items}"
        );
        assert!(
            !items.contains(&format!(",beta,1,overlap,{column},")),
            "{items}"
        );
    }
    let lines = work.lines("out/scores.jsonl");
    let overlap = lines
        .iter()
        .find(|line| line["system"] == "beta" && line["scorer"] == "overlap")
        .unwrap();
    assert_eq!(
        overlap["components"]
            .as_object()
            .unwrap()
            .keys()
            .collect::<Vec<_>>(),
        ["words"]
    );
    let all = work
        .run(&["rescore", "out", "--notes"])
        .exits_with(0)
        .stdout;
    let row = |system: &str| {
        let of_overlap = all.split("overlap: means").nth(1).unwrap();
        of_overlap
            .lines()
            .find(|line| line.starts_with(system))
            .unwrap()
            .to_owned()
    };
    let beta = row("beta");
    // Outputs of 1 and 3 words without their markers: 2 plus and minus 12.7 standard errors of 1, and no count is below 0.
    assert_eq!(
        beta.split_whitespace().take(6).collect::<Vec<_>>(),
        ["beta", "2.0", "[0.0,", "14.7]", "-", "-"]
    );
    assert!(row("alpha").contains(" 50.0 "), "{}", row("alpha"));
    let again = work.run(&["rescore", "out"]).exits_with(0);
    assert_eq!(
        again.stdout, done.stdout,
        "a record that holds no call can be scored again"
    );
}

/// Cases `c1`, `c2` that ask what `alpha.json` answers; length is full up to 5 words and none from 15.
fn asked() -> Workspace {
    let question = |id: &str| format!("What is known about {id}?");
    let case = |id: &str| {
        let mut case = test_case(id, &[("Say why.", &["It rains."])]);
        let config = &mut case["metric_config"]["config"];
        (config["low_length"], config["high_length"]) = (json!(5), json!(15));
        case
    };
    let work = Workspace::with_cases(&[case("c1"), case("c2")]);
    let mut first = prediction(
        &question("c1"),
        "Nine words are said here and [0] they count.",
        sources(&["One text."]),
    );
    first["answer"] = json!("they count");
    let second = prediction(
        &question("c2"),
        "A second answer [1] with [0] more.",
        sources(&["One.", "Two three."]),
    );
    write_predictions(&work, "alpha.json", &[first, second]);
    work
}

#[test]
fn with_tests_rubric_overlap_and_audit_stand_in_one_table() {
    let work = asked();
    let server = FakeServer::start(constant_judge());
    let url = server.base_url();
    let model = ["--model", "fake-judge", "--base-url", &url];
    let done = work
        .run(
            &[
                &[
                    "score",
                    "alpha.json",
                    "--tests",
                    "tests.json",
                    "--out",
                    "out",
                ][..],
                &model,
            ]
            .concat(),
        )
        .exits_with(0)
        .says(&[
            "scorers: rubric, citation_audit, overlap; left out: prometheus",
            "entailment",
        ]);
    let summary = work.json("out/summary.json");
    // c1: 9 words of "[0]" and 8 others, 1 - (9 - 5) / 10 = 0.6; c2: 7 words, 0.8
    let lines = work.lines("out/scores.jsonl");
    let rubric: Vec<&Value> = lines
        .iter()
        .filter(|line| line["scorer"] == "rubric")
        .collect();
    assert_eq!((rubric.len(), lines.len()), (2, 6));
    close(&rubric[0]["components"]["length"], 0.6);
    close(&rubric[1]["components"]["length"], 0.8);
    // 0.05 (0.6 | 0.8) + 0.05 0.8 + 0.2 / 2 + 0.1 + 0.3 (0.8 + 1) = 0.81 | 0.82
    close(&rubric[0]["score"], 0.81);
    close(&rubric[1]["score"], 0.82);
    close(
        &metric(&summary, "rubric", "alpha", "score")["estimate"],
        0.815,
    );
    close(
        &metric(&summary, "overlap", "alpha", "match")["estimate"],
        1.0,
    );
    assert_eq!(
        metric(&summary, "overlap", "alpha", "match")["n"],
        1,
        "the second answer has no gold"
    );
    close(
        &metric(&summary, "citation_audit", "alpha", "markers")["estimate"],
        1.5,
    );
    for heading in ["judge: fake-judge", " score ", " valid ", " rouge_l "] {
        assert!(done.stdout.contains(heading), "{}", done.stdout);
    }
    // other scorers call an item as the rubric does
    assert!(
        lines
            .iter()
            .all(|line| ["c1", "c2"].contains(&line["case_id"].as_str().unwrap())),
        "{lines:?}"
    );
    assert_eq!(
        work.run(&["rescore", "out"]).exits_with(0).stdout,
        done.stdout
    );
}

#[test]
fn predictions_score_as_they_would_after_converting() {
    for compat in [&[][..], &["--compat"]] {
        let work = asked();
        let converted = [
            "convert",
            "alpha.json",
            "--tests",
            "tests.json",
            "--out",
            "answers/alpha.jsonl",
        ];
        work.run(&[&converted[..], compat].concat()).exits_with(0);
        let server = FakeServer::start(Behaviour::good());
        let url = server.base_url();
        let score = |input: &str, out: &str| {
            let common = [
                "score",
                input,
                "--tests",
                "tests.json",
                "--scorers",
                "rubric",
                "--out",
                out,
            ];
            let judge = ["--model", "fake-judge", "--base-url", &url];
            work.run(&[&common[..], &judge, compat].concat())
                .exits_with(0);
            work.lines(&format!("{out}/scores.jsonl"))
        };
        let direct = score("alpha.json", "direct");
        let asked = server.chat_count();
        assert!(asked >= 6, "{asked} calls");
        let after = score("answers", "after");
        assert_eq!(
            server.chat_count(),
            asked,
            "{compat:?}: the judge saw other messages"
        );
        assert_eq!(direct, after, "{compat:?}");
        // c1 has 9 words; its appended block is counted in compat only: 1 - (9 - 5) / 10, or none left
        let expected = if compat.is_empty() { 0.6 } else { 0.0 };
        close(&direct[0]["components"]["length"], expected);
        let has_block =
            |chat: &Recorded| judging::answer_of(chat).contains("[0] A title One text.");
        assert!(
            server.chats().iter().any(has_block),
            "the judge sees the block"
        );
    }
}

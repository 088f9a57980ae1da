//! The released data through the scorecard, judged by fake servers.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{
    Behaviour, FakeServer, Recorded, aspect_of, close, empty_workspace, estimate, judge_table,
    judging, metric, write_predictions,
};
use crate::rubric_golden::shared;

fn data(file: &str) -> Option<PathBuf> {
    Some(shared()?.join("data").join(file))
}

/// Grades and labels by the prompt alone, so that they differ between answers and repeat in every run.
fn opinions(request: &Recorded) -> String {
    let number = u32::from(blake3::hash(request.user_message().as_bytes()).as_bytes()[0]);
    match aspect_of(request) {
        "none" => [
            "Attributable",
            "Extrapolatory",
            "Contradictory",
            "Attributable",
        ][number as usize % 4]
            .to_owned(),
        _ => format!("Feedback: read. [RESULT] {}", 1 + number % 5),
    }
}

#[test]
fn the_108_human_answers_have_every_column() {
    let Some(file) = data("scholarqa_multi/human_answers.json") else {
        return;
    };
    let file = file.to_str().unwrap().to_owned();
    let work = empty_workspace();
    let server = FakeServer::start(Behaviour::good().saying(opinions));
    let table = judge_table(
        "mine",
        &server,
        "kind = \"completions\"\nconversation = \"mistral\"",
    );
    work.write(
        "eval.toml",
        &(table + "[roles]\naspect = \"mine\"\ncitation = \"mine\"\n"),
    );
    let done = work
        .run(&["score", &file, "--config", "eval.toml", "--out", "out"])
        .exits_with(0)
        .says(&[
            "scorers: prometheus, entailment, citation_audit; left out: rubric",
            "overlap (no gold",
        ]);
    let chats = server.chats();
    let aspects = chats
        .iter()
        .filter(|chat| aspect_of(chat) != "none")
        .count();
    assert_eq!(aspects, 3 * 108);
    let summary = work.json("out/summary.json");
    for (scorer, columns) in [
        (
            "prometheus",
            &["organization", "coverage", "relevance", "aspect_mean"][..],
        ),
        (
            "entailment",
            &[
                "citation_recall",
                "citation_precision",
                "citation_f1",
                "citation_f1_macro",
            ],
        ),
        ("citation_audit", &["words", "markers", "dangling"]),
    ] {
        for column in columns {
            let metric = metric(&summary, scorer, "human_answers", column);
            assert_eq!(
                (&metric["n"], &metric["unscored"]),
                (&json!(108), &json!(0)),
                "{scorer}.{column}"
            );
            let number = |part: &str| metric[part].as_f64().unwrap();
            assert!(
                number("low") <= number("estimate") && number("estimate") <= number("high"),
                "{metric}"
            );
        }
    }
    // The grades as they were given, put together again from the requests.
    let grade = |aspect: &str| {
        let own = chats.iter().filter(|chat| aspect_of(chat) == aspect);
        let grades: Vec<f64> = own
            .map(|chat| f64::from(opinions(chat).pop().unwrap().to_digit(10).unwrap()))
            .collect();
        grades.iter().sum::<f64>() / grades.len() as f64
    };
    for aspect in ["organization", "coverage", "relevance"] {
        close(
            &metric(&summary, "prometheus", "human_answers", aspect)["estimate"],
            grade(aspect),
        );
    }
    assert!(done.stdout.contains("108"), "{}", done.stdout);

    let entail = [
        "score",
        &file,
        "--scorers",
        "entailment,citation_audit",
        "--entail",
        "long",
        "--config",
        "eval.toml",
    ];
    let citations = work
        .run(&[&entail[..], &["--out", "same"]].concat())
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(
        server.chat_count(),
        chats.len(),
        "score has asked all of it"
    );
    let same = work.json("same/summary.json");
    for column in ["citation_recall", "citation_precision", "citation_f1"] {
        let of = |summary: &Value| {
            metric(summary, "entailment", "human_answers", column)["estimate"].clone()
        };
        assert_eq!(of(&same), of(&summary), "{column}");
    }
    assert!(citations.stdout.contains(" valid "), "{}", citations.stdout);
    // With one citation a claim there is one question a claim at most.
    work.run(&[&entail[..], &["--at-most", "1", "--out", "one"]].concat())
        .exits_with(0);
    let claims: Vec<Value> = work
        .lines("one/scores.jsonl")
        .into_iter()
        .filter(|line| line["scorer"] == "entailment")
        .collect();
    let claims = claims
        .iter()
        .flat_map(|line| line["claims"].as_array().unwrap());
    let asked = claims.filter(|claim| !claim["label"].is_null()).count();
    assert!(
        work.lines("one/calls.jsonl").len() <= asked,
        "{asked} claims have a label"
    );
    assert_eq!(
        work.run(&["rescore", "out"]).exits_with(0).stdout,
        done.stdout
    );
}

/// What a system could have said to each row: its gold answer and a marker for each of its gold documents.
fn stated_recipe(text: &str) -> Vec<Value> {
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let document = |document: &Value| {
            let text = document["text"].as_str().or(document.as_str());
            let contexts = || {
                let list = document
                    .get("contexts")
                    .or(document["text"].get("contexts"));
                list.and_then(Value::as_array).map(|list| {
                    list.iter()
                        .filter_map(Value::as_str)
                        .collect::<Vec<_>>()
                        .join(" ")
                })
            };
            let text = text
                .map(str::to_owned)
                .or_else(contexts)
                .unwrap_or_default();
            json!({"title": document["title"].as_str().unwrap_or_default(), "text": text})
        };
        let ctxs: Vec<Value> = row["gold_ctx"]
            .as_array()
            .unwrap()
            .iter()
            .map(document)
            .collect();
        let markers: String = (0..ctxs.len()).map(|at| format!(" [{at}]")).collect();
        let answer = row["answer"].as_str().unwrap();
        json!({"input": row["input"], "answer": answer, "output": format!("{answer}{markers}"), "ctxs": ctxs})
    };
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(row)
        .collect()
}

#[test]
fn single_papers_in_short_form_are_supported_and_match_their_gold() {
    for name in ["scifact_test", "pubmed_test"] {
        let Some(file) = data(&format!("single_paper/{name}.jsonl")) else {
            return;
        };
        let items = stated_recipe(&std::fs::read_to_string(file).unwrap());
        let work = empty_workspace();
        write_predictions(&work, "alpha.json", &items);
        let server = FakeServer::start(Behaviour::good().saying(|_| "Attributable".to_owned()));
        let table = judge_table("mine", &server, "kind = \"label\"");
        work.write("eval.toml", &(table + "[roles]\ncitation = \"mine\"\n"));
        let entail = [
            "score",
            "alpha.json",
            "--scorers",
            "entailment,citation_audit",
            "--entail",
            "short",
            "--config",
            "eval.toml",
        ];
        work.run(&[&entail[..], &["--out", "out"]].concat())
            .exits_with(0);
        let summary = work.json("out/summary.json");
        for column in ["citation_recall", "citation_precision", "citation_f1"] {
            close(&estimate(&summary, "entailment", column), 1.0);
        }
        let recall = metric(&summary, "entailment", "alpha", "citation_recall");
        assert_eq!(
            (&recall["n"], &recall["unscored"]),
            (&json!(items.len()), &json!(0)),
            "equal questions stay apart"
        );
        let count = items.len() as f64;
        let sources: usize = items
            .iter()
            .map(|item| item["ctxs"].as_array().unwrap().len())
            .sum();
        close(
            &estimate(&summary, "entailment", "cited_papers"),
            sources as f64 / count,
        );
        close(&estimate(&summary, "entailment", "sentences"), 1.0);
        // The claim is the question with the answer, without markers, and the document has the paper's text.
        for chat in server.chats() {
            let claim = judging::section(&chat, "claim");
            let own = |item: &&Value| {
                claim
                    == format!(
                        "{} {}",
                        item["input"].as_str().unwrap(),
                        item["answer"].as_str().unwrap()
                    )
            };
            let item = items
                .iter()
                .find(own)
                .unwrap_or_else(|| panic!("no item has the claim {claim:?}"));
            assert!(!item["ctxs"][0]["text"].as_str().unwrap().is_empty());
            assert!(
                judging::section(&chat, "document").starts_with("Title: "),
                "{}",
                chat.user_message()
            );
        }
        let asked = server.chat_count();
        work.run(&[&entail[..], &["--out", "again"]].concat())
            .exits_with(0)
            .says(&["nothing to ask"]);
        assert_eq!(server.chat_count(), asked);

        work.run(&["overlap", "alpha.json", "--out", "overlap"])
            .exits_with(0);
        let overlap = work.json("overlap/summary.json");
        close(&estimate(&overlap, "overlap", "match"), 1.0);
        // Words of the answer: markers are none.
        let words: usize = items
            .iter()
            .map(|item| item["answer"].as_str().unwrap().split_whitespace().count())
            .sum();
        close(
            &estimate(&overlap, "overlap", "words"),
            words as f64 / count,
        );
        // With a judge that sees no support every claim is unsupported.
        let server = server.replaced_by(Behaviour::good().saying(|_| "Extrapolatory".to_owned()));
        work.run(&[&entail[..], &["--out", "none", "--no-cache"]].concat())
            .exits_with(0);
        close(
            &estimate(&work.json("none/summary.json"), "entailment", "citation_f1"),
            0.0,
        );
        assert!(server.chat_count() <= items.len(), "one question an item");
    }
}

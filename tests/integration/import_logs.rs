//! `import` of Inspect's logs of ScholarQA-CS2: the verdicts in them are scored again, and compared with the logged numbers.

use std::io::{Read as _, Write as _};

use rawzip::{CompressionMethod, ZipArchiveWriter};
use serde_json::{Value, json};

use crate::support::workspace::Workspace;

/// What a scorer logs, each value under its name.
fn logged(values: &[(&str, &[Value])]) -> Value {
    let entries = |(name, values): &(&str, &[Value])| {
        let entries = values
            .iter()
            .map(|value| json!({"prompt_id": "7", "data": {*name: value}}))
            .collect::<Vec<_>>();
        ((*name).to_owned(), json!(entries))
    };
    json!({"prompt_logs": Value::Object(values.iter().map(entries).collect())})
}

fn sample(id: &str, completion: &str, rest: &Value) -> Value {
    let ingredients = json!([
        {"name": "cause", "criterion": "Names the Moon", "weight": 3, "examples": ["the Moon pulls"]},
        {"name": "period", "criterion": "Gives the period", "weight": 1, "examples": []},
    ]);
    let question = format!("What makes tides in {id}?");
    let case =
        json!({"case_id": id, "question": question, "annotator": "us", "ingredients": ingredients});
    let mut sample = json!({
        "id": id, "epoch": 1, "input": "..", "target": case.to_string(), "messages": [],
        "output": {"model": "m", "choices": [], "completion": completion}, "events": [{"event": "model"}],
    });
    sample
        .as_object_mut()
        .unwrap()
        .extend(rest.as_object().unwrap().clone());
    sample
}

fn scores(metrics: [f64; 5], metadata: &[Value]) -> Value {
    let [mean, recall, precision, citation_precision, citation_recall] = metrics;
    let value = json!({
        "global_avg": mean, "ingredient_recall": recall, "answer_precision": precision,
        "citation_precision": citation_precision, "citation_recall": citation_recall, "f1": 0.1,
    });
    json!({"scores": {"aggregate_scorer": {"value": value, "metadata": {"score_meta": metadata}}}, "error": null})
}

/// A log of three samples: a report, one whose scoring failed, and a text without a report. `shift` is added to the logged
/// answer precision of the first.
fn log(task: &str, with_verdicts: bool, shift: f64) -> Value {
    let text = "The Moon pulls [1]. Twice a day [2].\n\nFish are tasty.";
    let report = json!({"sections": [{"title": "Tides", "text": text, "citations": [
        {"id": "[1]", "title": "On tides", "snippets": ["Gravity of the Moon raises the sea."]},
        {"id": "[2]", "title": "On days", "snippets": []},
    ]}]});
    let claims = json!([
        {"text": "The Moon pulls", "supporting": ["[1]"], "non_supporting": [], "is_fully_supported": true},
        {"text": "Twice a day", "supporting": ["[2]"], "non_supporting": ["[1]"], "is_fully_supported": true},
    ]);
    let credits = json!([
        {"criteria": "Gives the period", "criteria_idx": 2, "reasoning": "..", "score": 1, "evidence": ".."},
        {"criteria": "Names the Moon", "criteria_idx": 1, "reasoning": "..", "score": 2, "evidence": ".."},
    ]);
    let verdicts = [
        logged(&[("scores", &[credits])]),
        logged(&[("irrelevant_texts", &[json!(["Fish are tasty."])])]),
        logged(&[("text", &[json!(text)]), ("claims", &[claims])]),
    ];
    // Recall (3 x 1 + 1 x 0.5) / 4; one of two paragraphs is irrelevant; of two supported claims one cites a title only:
    // (2 - 0.5) / 2; citations (1 / 1 + (1 - 0.5) / 2) / 2; the mean is 2.75 / 4.
    let metrics = [0.6875 + shift / 4.0, 0.875, 0.5 + shift, 0.625, 0.75];
    let verdicts = if with_verdicts { &verdicts[..] } else { &[] };
    let failed = json!({"scores": {}, "error": {"message": "JSONDecodeError('no JSON')", "traceback": ".."}});
    json!({
        "version": 2, "status": "success",
        "eval": {"task": task, "model": "m", "task_args": {"scorer_model": "google/judge"}},
        "samples": [
            sample("sea", &format!("Here it is: {report}"), &scores(metrics, verdicts)),
            sample("lake", &report.to_string(), &failed),
            sample("pond", "I cannot say.", &scores([0.0; 5], &[Value::Null, Value::Null, Value::Null])),
        ],
    })
}

/// The log as an archive, as Inspect writes one by deflate.
fn archive(log: &Value) -> Vec<u8> {
    let mut header = log.clone();
    let samples = header.as_object_mut().unwrap().remove("samples").unwrap();
    let member = |sample: &Value| {
        (
            format!("samples/{}_epoch_1.json", sample["id"].as_str().unwrap()),
            sample.clone(),
        )
    };
    let mut members: Vec<(String, Value)> =
        samples.as_array().unwrap().iter().map(member).collect();
    members.extend([
        ("summaries.json".to_owned(), json!([])),
        ("header.json".to_owned(), header),
    ]);
    let mut out = Vec::new();
    let mut zip = ZipArchiveWriter::new(&mut out);
    for (name, value) in members {
        let text = value.to_string();
        let (mut entry, config) = zip
            .new_file(&*name)
            .compression_method(CompressionMethod::DEFLATE)
            .start()
            .unwrap();
        let mut list = config.wrap(std::io::sink());
        list.write_all(text.as_bytes()).unwrap();
        let mut packed = Vec::new();
        flate2::read::DeflateEncoder::new(text.as_bytes(), flate2::Compression::fast())
            .read_to_end(&mut packed)
            .unwrap();
        entry.write_all(&packed).unwrap();
        entry.finish(list.finish().unwrap().1).unwrap();
    }
    zip.finish().unwrap();
    out
}

/// A log of ScholarQA-CS2 as an archive.
pub(crate) fn sample_log() -> Vec<u8> {
    archive(&log("astabench/sqa_test", true, 0.0))
}

/// A score of the run in `dir`: its value and the four metrics.
fn metrics(work: &Workspace, dir: &str, system: &str, case_id: &str) -> Value {
    let lines = work.lines(&format!("{dir}/scores.jsonl"));
    let line = lines
        .iter()
        .find(|line| line["system"] == system && line["case_id"] == case_id)
        .unwrap();
    let of = |name: &str| line["components"][name].clone();
    let names = [
        "ingredient_recall",
        "answer_precision",
        "citation_precision",
        "citation_recall",
    ];
    json!([line["score"], names.map(of)])
}

#[test]
fn verdicts_in_logs_give_the_numbers_of_the_log_and_a_run_that_can_be_rescored_and_compared() {
    let work = Workspace::with_cases(&[]);
    std::fs::write(
        work.path("alpha.eval"),
        archive(&log("astabench/sqa_dev", true, 0.0)),
    )
    .unwrap();
    work.write("beta.json", &log("sqa", true, 0.25).to_string());
    let import = ["import", "alpha.eval", "beta.json", "--out", "imported"];
    let done = work.run(&import).exits_with(0).says(&[
        "beta (case sea): answer_precision is 0.75 in the log, 0.5 by its verdicts",
        "beta (case sea): global_avg is 0.75 in the log, 0.6875 by its verdicts",
    ]);
    assert!(!done.stderr.contains("alpha (case sea)"), "{}", done.stderr);
    for system in ["alpha", "beta"] {
        assert_eq!(
            metrics(&work, "imported", system, "sea"),
            json!([0.6875, [0.875, 0.5, 0.625, 0.75]])
        );
        assert_eq!(
            metrics(&work, "imported", system, "pond"),
            json!([0.0, [0.0, 0.0, 0.0, 0.0]])
        );
        assert_eq!(metrics(&work, "imported", system, "lake")[0], Value::Null);
    }
    assert!(
        work.read("imported/scores.jsonl")
            .contains("JSONDecodeError('no JSON')")
    );
    let manifest = work.json("imported/manifest.json");
    assert_eq!(
        manifest["roles"]["criteria"]["judges"][0]["id"],
        "imported:google/judge"
    );
    work.run(&["rescore", "imported", "--out", "again"])
        .exits_with(0);
    let scores = |dir: &str| work.read(&format!("{dir}/scores.jsonl"));
    assert_eq!(scores("imported"), scores("again"));
    work.run(&["compare", "imported"]).exits_with(0);
    work.run(&["report", "imported"]).exits_with(0);
    work.run(&["table", "imported"]).exits_with(0);
}

#[test]
fn without_verdicts_the_logged_metrics_are_kept_and_said_to_be() {
    let work = Workspace::with_cases(&[]);
    work.write("gamma.json", &log("sqa_test", false, 0.25).to_string());
    work.run(&["import", "gamma.json", "--out", "imported"])
        .exits_with(0)
        .says(&["answers without verdicts that can be scored again keep the metrics of their log"]);
    assert_eq!(
        metrics(&work, "imported", "gamma", "sea"),
        json!([0.75, [0.875, 0.75, 0.625, 0.75]])
    );
    work.run(&["rescore", "imported"])
        .exits_with(3)
        .says(&["this run was imported"]);
    work.run(&["report", "imported"]).exits_with(0);
}

#[test]
fn logs_of_other_tasks_and_damaged_ones_are_refused_by_name() {
    let work = Workspace::with_cases(&[]);
    let import = |file: &str, what: &str| {
        work.run(&["import", file, "--out", "imported"])
            .exits_with(3)
            .says(&[what]);
    };
    work.write(
        "other.json",
        &log("inspect_evals/gpqa", true, 0.0).to_string(),
    );
    import(
        "other.json",
        "other.json: task gpqa, judged by google/judge; one run takes logs of the task sqa",
    );
    let bytes = archive(&log("sqa", true, 0.0));
    std::fs::write(work.path("cut.eval"), &bytes[..bytes.len() / 2]).unwrap();
    import("cut.eval", "cut.eval: a damaged or incomplete zip archive");
    let mut headless = log("sqa", true, 0.0);
    headless["samples"][1]["target"] = json!("no rubric");
    work.write("bare.json", &headless.to_string());
    import("bare.json", "bare.json:2 (case lake): ");
}

#[test]
fn incomplete_logs_need_a_flag_and_say_what_is_missing() {
    let work = Workspace::with_cases(&[]);
    let mut unfinished = log("sqa", true, 0.0);
    unfinished["status"] = json!("error");
    unfinished["results"] = json!({"total_samples": 5});
    std::fs::write(work.path("cut.eval"), archive(&unfinished)).unwrap();
    let mut epochs = log("sqa", true, 0.0);
    let mut second = epochs["samples"][0].clone();
    second["epoch"] = json!(2);
    second["output"]["completion"] = json!("another answer");
    epochs["samples"].as_array_mut().unwrap().push(second);
    work.write("twice.json", &epochs.to_string());
    let advice = "--partial-logs takes the answers that it holds, one for each case";
    for (file, what) in [
        (
            "cut.eval",
            "an incomplete log: its status is error, it holds 3 of 5 samples",
        ),
        (
            "twice.json",
            "an incomplete log: it holds 4 answers to 3 cases (epochs)",
        ),
    ] {
        let what = format!("{file}: {what}");
        work.run(&["import", file, "--out", "imported"])
            .exits_with(3)
            .says(&[&what, advice]);
        work.run(&["score", file, "--tests", file, "--out", "scored"])
            .exits_with(3)
            .says(&[&what, advice]);
        work.run(&[
            "import",
            file,
            "--out",
            file.split('.').next().unwrap(),
            "--partial-logs",
        ])
        .exits_with(0)
        .says(&[&what]);
    }
    // The first epoch counts.
    for (dir, system) in [("cut", "cut"), ("twice", "twice")] {
        let sea = metrics(&work, dir, system, "sea");
        assert_eq!(sea, json!([0.6875, [0.875, 0.5, 0.625, 0.75]]));
    }
    work.run(&[
        "score",
        "twice.json",
        "--tests",
        "twice.json",
        "--partial-logs",
        "--dry-run",
    ])
    .exits_with(0);
}

//! `export`: what other programs read of a run is what the run holds. pyarrow and inspect-ai do the reading.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::exports::{python, read_by, run};
use crate::support::workspace::Workspace;

#[test]
fn inspect_ai_reads_every_sample_with_its_scores_and_means() {
    let Some(python) = python() else { return };
    let (work, _server) = run();
    let done = work
        .run(&["export", "inspect", "out", "--out", "logs"])
        .exits_with(0);
    assert_eq!(done.stdout, "wrote 2 logs to logs\n");
    let logs = read_by(&python, "inspect", &work, "logs");
    let logs = logs.as_array().unwrap();
    assert_eq!(
        logs.iter().map(|log| &log["model"]).collect::<Vec<_>>(),
        ["alpha", "beta"]
    );
    let lines = work.lines("out/scores.jsonl");
    let answers = work.lines("out/inputs.jsonl");
    for log in logs {
        assert_eq!(
            (&log["status"], &log["version"], &log["task"]),
            (&json!("success"), &json!(2), &json!("scholareval/out"))
        );
        assert!(
            log["judges"]["rubric"]
                .as_str()
                .unwrap()
                .contains("fake-judge"),
            "{}",
            log["judges"]
        );
        let ours: Vec<&Value> = lines
            .iter()
            .filter(|line| line["system"] == log["model"])
            .collect();
        let samples = log["samples"].as_array().unwrap();
        assert_eq!((samples.len(), ours.len()), (3, 3));
        for (sample, line) in samples.iter().zip(&ours) {
            assert_eq!(sample["id"], line["case_id"]);
            let sums = json!({"score": line["score"], "ann_score": line["ann_score"]});
            assert_eq!(sample["scores"]["rubric"]["value"], sums);
            let is_it = |answer: &&Value| {
                answer["system"] == log["model"] && answer["case_id"] == line["case_id"]
            };
            let answer = answers
                .iter()
                .find(|answer| answer["type"] == "answer" && is_it(answer))
                .unwrap();
            assert_eq!(sample["completion"], answer["answer_text"]);
            let question = format!("What is known about {}?", line["case_id"].as_str().unwrap());
            assert_eq!(sample["input"], Value::from(question));
            assert!(
                sample["scores"]["rubric"]["explanation"]
                    .as_str()
                    .unwrap()
                    .contains("- p1 = 0.8: it is so")
            );
        }
        let unscored = &samples[0]["scores"]["rubric"];
        assert_eq!(
            (&unscored["value"]["score"], &unscored["reason"]),
            (&Value::Null, &json!("grader_failed"))
        );
        assert_recomputed(log);
        // c2 and c3 have 0.755 each: no spread
        let mean = &log["results"]["rubric/score"];
        assert_eq!((&mean["scored"], &mean["unscored"]), (&json!(2), &json!(1)));
        assert!(
            (mean["mean"].as_f64().unwrap() - 0.755).abs() < 1e-12
                && mean["stderr"].as_f64().unwrap() < 1e-12
        );
    }
}

/// Inspect computes the same counts and means from the samples as the log states.
#[track_caller]
fn assert_recomputed(log: &Value) {
    let written = log["results"].as_object().unwrap();
    let recomputed = log["recomputed"].as_object().unwrap();
    assert_eq!(written.len(), recomputed.len(), "{recomputed:?}");
    for (name, ours) in written {
        let theirs = &recomputed[name];
        assert_eq!(theirs["scored"], ours["scored"], "{name}");
        assert_eq!(theirs["unscored"], ours["unscored"], "{name}");
        let difference = match (theirs["mean"].as_f64(), ours["mean"].as_f64()) {
            (Some(theirs), Some(ours)) => (theirs - ours).abs(),
            // Inspect gives a mean of no values as 0.
            (_, None) => 0.0,
            (None, Some(_)) => panic!("{name}: {theirs}"),
        };
        assert!(difference < 1e-12, "{name}: {theirs}, {ours}");
    }
}

#[test]
fn the_viewer_of_inspect_ai_takes_the_logs_into_a_bundle() {
    let Some(python) = python() else { return };
    let work = Workspace::new(&["alpha", "beta"], 2);
    work.run(&[
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--out",
        "out",
        "--no-inputs",
    ])
    .exits_with(0);
    let done = work
        .run(&["export", "inspect", "out", "--out", "logs"])
        .exits_with(0);
    done.says(&["the record does not contain the answers (--no-inputs)"]);
    let program = std::path::Path::new(&python).with_file_name("inspect");
    let folder = |name: &str| work.path(name).display().to_string();
    let bundle = [
        "view",
        "bundle",
        "--log-dir",
        &folder("logs"),
        "--output-dir",
        &folder("bundle"),
    ]
    .map(String::from);
    let output = Command::new(program).args(bundle).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let listing = work.json("bundle/logs/listing.json");
    let mut models: Vec<&str> = listing
        .as_object()
        .unwrap()
        .values()
        .map(|log| log["model"].as_str().unwrap())
        .collect();
    models.sort_unstable();
    assert_eq!(models, ["alpha", "beta"]);
}

#[test]
fn other_scorers_stand_in_the_log_with_their_components() {
    let Some(python) = python() else { return };
    let work = Workspace::new(&[], 1);
    let prediction = json!({"input": "Which is the capital?", "output": "Paris is the capital [0].", "answer": "Paris",
        "ctxs": [{"title": "t", "text": "Paris."}]});
    work.write("gamma.jsonl", &(prediction.to_string() + "\n"));
    work.run(&["score", "gamma.jsonl", "--out", "out"])
        .exits_with(0);
    work.run(&["export", "inspect", "out", "--out", "logs"])
        .exits_with(0);
    let logs = read_by(&python, "inspect", &work, "logs");
    let sample = &logs[0]["samples"][0];
    assert_eq!(
        (&sample["target"], &sample["input"]),
        (&json!("Paris"), &json!("Which is the capital?"))
    );
    let lines = work.lines("out/scores.jsonl");
    let overlap = lines
        .iter()
        .find(|line| line["scorer"] == "overlap")
        .unwrap();
    assert_eq!(
        sample["scores"]["overlap"]["value"], overlap["components"],
        "no score of its own, every component"
    );
    assert_recomputed(&logs[0]);
    assert_eq!(
        logs[0]["results"]["overlap/token_f1"]["mean"],
        overlap["components"]["token_f1"]
    );
}

#[test]
fn scores_go_into_a_log_of_the_same_samples_and_unscored_ones_are_counted_there() {
    let Some(python) = python() else { return };
    let (work, _server) = run();
    work.run(&["export", "inspect", "out", "--out", "made/logs"])
        .exits_with(0);
    let done = work
        .run(&["export", "inspect-scores", "out", "--out", "made/scores"])
        .exits_with(0);
    assert_eq!(done.stdout, "wrote 2 files of scores to made/scores\n");
    let found = read_by(&python, "scores", &work, "made");
    for line in work.lines("out/scores.jsonl") {
        let system = &found[line["system"].as_str().unwrap()];
        let case = line["case_id"].as_str().unwrap();
        assert_eq!(system["values"][case], line["score"]);
        assert_eq!(
            (&system["scored"], &system["unscored"]),
            (&json!(2), &json!(1))
        );
        assert!((system["mean"].as_f64().unwrap() - 0.755).abs() < 1e-12);
    }
}

#[test]
fn evaluations_follow_the_schemas_and_unscored_answers_have_no_record() {
    let Some(python) = python() else { return };
    if std::env::var_os("SCHOLAREVAL_EEE").is_none() {
        eprintln!(
            "skipped: SCHOLAREVAL_EEE names no wheel of every-eval-ever (.ci/run downloads it)"
        );
        return;
    }
    let (work, _server) = run();
    let export = [
        "export",
        "eee",
        "out",
        "--organization",
        "Lab",
        "--collection",
        "my set",
        "--id",
        "alpha=lab/alpha-1",
        "--id",
        "beta=lab/beta-1",
        "--out",
        "made",
    ];
    let done = work.run(&export).exits_with(0);
    assert_eq!(done.stdout, "wrote 2 evaluations with 8 records to made\n");
    done.says(&["4 values without a record"]);
    let found = read_by(&python, "eee", &work, "made");
    let alpha = &found[0]["evaluation"];
    assert_eq!(alpha["model_info"]["id"], "lab/alpha-1");
    let score = &alpha["evaluation_results"][0];
    assert_eq!(score["evaluation_result_id"], "rubric/score");
    let details = &score["score_details"];
    assert!((details["score"].as_f64().unwrap() - 0.755).abs() < 1e-12);
    assert_eq!(details["details"]["unscored"], "1");
    assert_eq!(details["uncertainty"]["num_samples"], 2);
    let judged = &score["metric_config"]["llm_scoring"];
    assert_eq!(judged["judges"][0]["model_info"]["name"], "fake-judge");
    assert_eq!(judged["judges"][0]["temperature"], 0.5);
    let unscored = found[0]["records"].as_array().unwrap().iter();
    assert!(unscored.clone().all(|own| own["sample_id"] != "c1"));
    // Once more: the same files.
    work.run(&export).exits_with(0);
    assert_eq!(read_by(&python, "eee", &work, "made"), found);
    if let Ok(validator) = std::env::var("SCHOLAREVAL_EEE_VALIDATOR") {
        let mut paths: Vec<String> = Vec::new();
        for own in found.as_array().unwrap() {
            let file = own["evaluation"]["detailed_evaluation_results"]["file_path"]
                .as_str()
                .unwrap();
            paths.push(work.path("made").join(file).display().to_string());
            paths.push(
                work.path("made")
                    .join(file.replace("_samples.jsonl", ".json"))
                    .display()
                    .to_string(),
            );
        }
        let output = Command::new(validator)
            .arg("validate")
            .args(paths)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
    } else {
        eprintln!(
            "skipped: SCHOLAREVAL_EEE_VALIDATOR names no every_eval_ever, which needs Python 3.12"
        );
    }
}

/// The recipe of the guide that mentions this program.
fn recipe(program: &str) -> String {
    let guide = include_str!("../../docs/guide.md");
    let blocks = guide.split("```python\n").skip(1);
    let mut recipes = blocks.map(|block| block.split("```").next().unwrap());
    recipes
        .find(|block| block.contains(program))
        .unwrap()
        .to_owned()
}

#[test]
fn the_recipes_for_mlflow_wandb_and_the_hub_run_offline() {
    let Ok(python) = std::env::var("SCHOLAREVAL_RECIPES_PYTHON") else {
        eprintln!(
            "skipped: SCHOLAREVAL_RECIPES_PYTHON is not set (bash .ci/python-venvs makes one: recipes/bin/python)"
        );
        return;
    };
    let (work, _server) = run();
    std::fs::create_dir(work.path("runs")).unwrap();
    std::fs::rename(work.path("out"), work.path("runs/mine")).unwrap();
    for (program, more) in [
        (
            "import json, mlflow",
            "found = mlflow.search_runs(experiment_names=['scholareval'], output_format='list')\n\
             assert sorted(round(own.data.metrics['score'], 3) for own in found) == [0.755, 0.755], found\n\
             assert found[0].data.metrics['score_unscored'] == 1",
        ),
        (
            "import json, wandb",
            // A process of its own writes the log, also after the end of the run.
            "import glob, time\nfor _ in range(300):\n    \
             (log,) = glob.glob('wandb/offline-run-*/*.wandb')\n    \
             if b'alpha/rubric/score_unscored' in open(log, 'rb').read(): break\n    \
             time.sleep(0.1)\nelse: raise AssertionError(log)",
        ),
        (
            "scholareval.yaml",
            "own = json.load(open('scholareval.yaml'))[0]\nassert round(own['value'], 1) == 75.5, own",
        ),
    ] {
        let output = Command::new(&python)
            .args(["-c", &format!("{}\n{more}", recipe(program))])
            .current_dir(work.path("."))
            .env("WANDB_SILENT", "true")
            .env("HOME", work.path("."))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program}: {said}");
    }
}

#[test]
fn samples_of_lm_evaluation_harness_are_answers() {
    let work = Workspace::new(&[], 2);
    let sample = |number: usize| {
        json!({
            "doc_id": number - 1, "doc": {"id": format!("c{number}"), "question": "q"}, "target": "",
            "arguments": {"gen_args_0": {"arg_0": "a prompt"}}, "resps": [[" The raw text"]],
            "filtered_resps": [format!("The answer to c{number}")], "filter": "none", "metrics": ["bypass"], "bypass": 999
        })
        .to_string()
    };
    work.write(
        "answers/model.jsonl",
        &format!("{}\n{}\n", sample(1), sample(2)),
    );
    work.run(&["score", "answers", "--tests", "tests.json", "--out", "out"])
        .exits_with(0);
    let inputs = work.lines("out/inputs.jsonl");
    let texts: Vec<&Value> = inputs
        .iter()
        .filter(|line| line["type"] == "answer")
        .map(|line| &line["answer_text"])
        .collect();
    assert_eq!(texts, ["The answer to c1", "The answer to c2"]);
    assert_eq!(
        work.json("out/manifest.json")["settings"]["score.fields.model"],
        "answer_text=filtered_resps.0,case_id=doc.id"
    );
    work.write(
        "answers/model.jsonl",
        &format!("{}\n{}\n", sample(1), sample(1)),
    );
    work.run(&[
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--out",
        "other",
    ])
    .exits_with(3)
    .says(&["c1"]);
}

#[test]
fn what_is_no_run_is_refused_and_nothing_is_left_behind() {
    let work = Workspace::new(&["alpha"], 1);
    for form in ["inspect", "parquet", "inspect-scores"] {
        let done = work.run(&["export", form, "answers", "--out", "made"]);
        assert_eq!(done.code, Some(3), "{}", done.stderr);
        assert!(!work.path("made").exists());
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_program_without_parquet_says_how_to_build_one() {
    let work = Workspace::new(&["alpha"], 1);
    work.run(&["export", "parquet", "out", "--out", "tables"])
        .exits_with(3)
        .says(&["the cargo feature `parquet`"]);
}

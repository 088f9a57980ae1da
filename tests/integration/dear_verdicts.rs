//! Scores of a cheap judge corrected by a few verdicts of a dear one: `label --verdicts`, `score --selected`, `compare --corrected-by`,
//! `plan --verdicts`, `agree`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer, Recorded, good_content};
use crate::support::workspace::Workspace;

const QUESTIONS: usize = 20;

/// A decision server that gives the probabilities that its questions name.
struct DecisionServer {
    child: Child,
    url: String,
}

impl DecisionServer {
    fn start() -> Option<Self> {
        let Some(shared) = std::env::var_os("SCHOLAREVAL_SHARED").map(PathBuf::from) else {
            eprintln!("skipped: SCHOLAREVAL_SHARED is not set");
            return None;
        };
        let script = shared.join("tools/decisions/fake_decisions.py");
        let mut child = Command::new("python3")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let started: Value = serde_json::from_str(&line).unwrap();
        let url = format!("{}/v1", started["address"].as_str().unwrap());
        Some(Self { child, url })
    }
}

impl Drop for DecisionServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The cheap judge's probability of a criterion.
fn probability(question: usize, criterion: usize) -> f64 {
    ((question * 37 + criterion * 53) % 97) as f64 / 100.0
}

/// Whether the dear judge says that it is met: in beta's answers only where the cheap one is rather sure.
fn is_met(request: &Recorded) -> bool {
    let text = request.user_message();
    let at = text.find("@p=").unwrap() + "@p=".len();
    let p: f64 = text[at..].split(',').next().unwrap().parse().unwrap();
    p > if text.contains("The beta answer") {
        0.7
    } else {
        0.3
    }
}

fn dear_judge() -> FakeServer {
    let models = Act::json(&json!({"data": [{"id": "dear"}]}));
    FakeServer::start(Behaviour::good().models(models).saying(|request| {
        let level = if is_met(request) { "met" } else { "not met" };
        json!({"explanation": "read", "level": level, "verdict": level}).to_string()
    }))
}

/// The run `cheap` of two systems, whose criteria have the weights 3, 1, 1 and -2.
fn by_cheap_judge(server: &DecisionServer) -> Workspace {
    let case = |question: usize| {
        let criteria: Vec<Value> = [3, 1, 1, -2]
            .iter()
            .enumerate()
            .map(|(at, weight)| {
                let p = probability(question, at);
                let text = format!("No. {at} of {question} @p={p},{:.2},0@", 1.0 - p);
                json!({"text": text, "weight": weight})
            })
            .collect();
        json!({"case_id": format!("c{question}"), "question": format!("Why {question}?"), "criteria": criteria})
    };
    let cases: Vec<Value> = (0..QUESTIONS).map(case).collect();
    let work = Workspace::with_cases(&cases);
    for system in ["alpha", "beta"] {
        let ids: Vec<String> = (0..QUESTIONS).map(|at| format!("c{at}")).collect();
        work.answers(
            system,
            ids.iter()
                .map(|id| (id.as_str(), format!("The {system} answer."))),
        );
    }
    let score = [
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--judge",
        "systemone",
        "--model",
        "fake-decider",
        "--base-url",
        &server.url,
        "--out",
        "cheap",
    ];
    work.run(&score).exits_with(0);
    work
}

/// The value, weight and expected value of every component of a run.
fn components(work: &Workspace, run: &str) -> HashMap<(String, String, String), Value> {
    let mut all = HashMap::new();
    for line in work.lines(&format!("{run}/scores.jsonl")) {
        let name = |key: &str| line[key].as_str().unwrap().to_owned();
        for (item, component) in line["details"].as_object().unwrap() {
            all.insert(
                (name("system"), name("case_id"), item.clone()),
                component.clone(),
            );
        }
    }
    all
}

fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-6, "{found} {expected}");
}

/// By system the sum of z = sum of w c + w (y - c) / p over its answers, by hand; a drawn verdict without a credit counts as those with one.
fn corrected_sums(
    work: &Workspace,
    drawn: &str,
    credit: impl Fn(&(String, String, String)) -> Option<f64>,
) -> HashMap<String, f64> {
    let cheap = components(work, "cheap");
    let number = |key: &(String, String, String), field: &str| {
        cheap[key].pointer(field).unwrap().as_f64().unwrap()
    };
    let mut sums: HashMap<String, f64> = HashMap::new();
    for key in cheap.keys() {
        let value = number(key, "/weight") * number(key, "/belief/expected");
        *sums.entry(key.0.clone()).or_default() += value;
    }
    let rows: Vec<Vec<&str>> = drawn
        .lines()
        .skip(1)
        .map(|row| row.split(',').collect())
        .collect();
    let key = |row: &[&str]| (row[0].to_owned(), row[1].to_owned(), row[2].to_owned());
    let given = rows
        .iter()
        .filter(|row| credit(&key(row)).is_some())
        .count();
    for row in &rows {
        let key = key(row);
        let p = row[5].parse::<f64>().unwrap() * given as f64 / rows.len() as f64;
        if let Some(credit) = credit(&key) {
            let error = credit - number(&key, "/belief/expected");
            *sums.get_mut(&key.0).unwrap() += number(&key, "/weight") * error / p;
        }
    }
    sums
}

/// Whether the corrected means of a comparison are these sums over the questions.
fn corrects_to(comparison: &Value, sums: &HashMap<String, f64>) {
    let corrected = &comparison["metrics"][1];
    assert_eq!(corrected["metric"]["name"], "corrected");
    for row in corrected["systems"].as_array().unwrap() {
        let system = &comparison["systems"][row["system"].as_u64().unwrap() as usize];
        let sum = sums[system["system"].as_str().unwrap()];
        close(&row["mean"], sum / QUESTIONS as f64);
    }
}

fn json_of(work: &Workspace, command: &[&str]) -> Value {
    let shown = work
        .run(&[command, &["--format", "json"]].concat())
        .exits_with(0);
    serde_json::from_str(&shown.stdout).unwrap()
}

#[test]
fn a_dear_judge_is_asked_for_drawn_verdicts_only_and_corrects_the_means() {
    let Some(server) = DecisionServer::start() else {
        return;
    };
    let work = by_cheap_judge(&server);
    let draw = [
        "label",
        "cheap",
        "--verdicts",
        "50",
        "--seed",
        "4",
        "--format",
        "csv",
    ];
    let drawn = work.run(&draw).exits_with(0).stdout;
    work.write("drawn.csv", &drawn);
    let judge = dear_judge();
    let url = judge.base_url();
    let score = [
        "score",
        "cheap",
        "--selected",
        "drawn.csv",
        "--model",
        "dear",
        "--base-url",
        &url,
        "--out",
        "dear",
    ];
    work.run(&score).exits_with(0).says(&[]);
    assert_eq!(judge.chat_count(), 50, "only drawn verdicts are paid for");
    let dear = components(&work, "dear");
    let asked = dear
        .values()
        .filter(|component| !component["value"].is_null());
    assert_eq!(asked.count(), 50);
    let mut others = dear
        .values()
        .filter(|component| component["value"].is_null());
    assert!(others.all(|component| component["unscored"].to_string().contains("not asked")));

    let sums = corrected_sums(&work, &drawn, |key| dear[key]["value"].as_f64());
    let compare = ["compare", "cheap", "--corrected-by", "dear"];
    let comparison = json_of(&work, &compare);
    assert_eq!(comparison["correction"]["drawn"], 50);
    assert_eq!(comparison["correction"]["of"], 160);
    corrects_to(&comparison, &sums);
    let shown = work.run(&compare).exits_with(0);
    for text in ["corrected", "fake-decider", "dear", "50 of 160"] {
        assert!(shown.stdout.contains(text), "{text}: {shown:?}");
    }
    // The record says which verdicts were asked for.
    work.run(&["rescore", "dear", "--out", "again"])
        .exits_with(0);
    assert_eq!(components(&work, "again"), dear);
}

#[test]
fn draws_of_other_runs_and_empty_labels_are_refused_and_labels_of_people_correct() {
    let Some(server) = DecisionServer::start() else {
        return;
    };
    let work = by_cheap_judge(&server);
    let drawn = work
        .run(&["label", "cheap", "--verdicts", "30", "--format", "csv"])
        .exits_with(0)
        .stdout;
    work.write("drawn.csv", &drawn);
    let compare = ["compare", "cheap", "--corrected-by", "drawn.csv"];
    work.run(&compare)
        .exits_with(3)
        .says(&["none of the drawn verdicts"]);
    // Two of three are filled in: they stand for the others.
    let mut number = 0;
    let partly = drawn.lines().map(|line| {
        number += 1;
        let value = if number % 3 == 0 { ",ann,," } else { ",ann,1," };
        line.replace(",person,,", value) + "\n"
    });
    let partly: String = partly.collect();
    work.write("drawn.csv", &partly);
    let is_given = |key: &(String, String, String)| {
        let start = format!("{},{},{},ann,1,", key.0, key.1, key.2);
        partly.contains(&start).then_some(1.0)
    };
    let comparison = json_of(&work, &compare);
    assert_eq!(comparison["correction"]["missing"], 10);
    corrects_to(&comparison, &corrected_sums(&work, &drawn, is_given));

    let filled = drawn.replace(",person,,", ",ann,1,");
    work.write("drawn.csv", &filled);
    work.run(&compare).exits_with(0);
    let agree = ["agree", "cheap", "--labels", "drawn.csv", "--level", "item"];
    let shown = work.run(&agree).exits_with(0);
    assert!(shown.stdout.contains("Brier score"), "{shown:?}");
    // All labels are 1, each for 1 / p verdicts.
    let cheap = components(&work, "cheap");
    let (mut squares, mut weights) = (0.0, 0.0);
    for row in drawn.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let key = (
            cells[0].to_owned(),
            cells[1].to_owned(),
            cells[2].to_owned(),
        );
        let weight = 1.0 / cells[5].parse::<f64>().unwrap();
        let expected = cheap[&key]["belief"]["expected"].as_f64().unwrap();
        squares += weight * (1.0 - expected).powi(2);
        weights += weight;
    }
    let reliability = json_of(&work, &agree)["reliability"].clone();
    close(&reliability[0]["brier"], squares / weights);

    // One row less is another draw, and so is one without its columns.
    let cut: Vec<&str> = filled.lines().collect();
    work.write("drawn.csv", &(cut[..cut.len() - 1].join("\n") + "\n"));
    work.run(&compare)
        .exits_with(3)
        .says(&["were not drawn from cheap"]);
    work.write(
        "drawn.csv",
        "system,case_id,item,rater,value\nalpha,c1,c1,ann,1\n",
    );
    work.run(&compare)
        .exits_with(3)
        .says(&["not of drawn verdicts"]);

    // People label on a page, blind.
    let pages = [
        "label",
        "cheap",
        "--verdicts",
        "30",
        "--raters",
        "ann",
        "--out",
        "pages",
    ];
    work.run(&pages).exits_with(0);
    let sheet = work.json("pages/sheet.json");
    assert_eq!(sheet["verdicts"]["verdicts"], 30);
    let label = |item: &Value| json!({"item": item["id"], "label": {"value": 1.0}, "comment": "", "seconds": 1.5, "at": "2026-01-01T00:00:00.000Z"});
    let labels: Vec<Value> = sheet["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(label)
        .collect();
    assert_eq!(labels.len(), 30);
    let file = json!({"schema_version": 1, "sheet": sheet["id"], "rater": "ann", "saved_at": "", "labels": labels});
    work.write("pages/labels-ann.json", &file.to_string());
    let shown = work
        .run(&["compare", "cheap", "--corrected-by", "pages"])
        .exits_with(0);
    assert!(shown.stdout.contains("30 of 160"), "{shown:?}");
    // The same draw in another form; none of its labels is of a whole answer.
    let agree = ["agree", "cheap", "--labels", "pages"];
    work.run(&agree).exits_with(3).says(&["--level item"]);
    let agree = ["agree", "cheap", "--labels", "pages", "--level", "item"];
    assert_eq!(json_of(&work, &agree)["reliability"], reliability);

    let plan = ["plan", "--verdicts", "cheap", "--format", "json"];
    let planned: Value = serde_json::from_str(&work.run(&plan).exits_with(0).stdout).unwrap();
    let widths: Vec<f64> = planned["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["half_width"].as_f64().unwrap())
        .collect();
    assert!(
        widths.len() > 4 && widths.is_sorted_by(|a, b| a >= b),
        "{widths:?}"
    );
}

#[test]
fn a_correction_takes_one_run_and_no_option_that_it_would_ignore() {
    let work = Workspace::new(&["alpha"], 6);
    let cheap = judge_of_one_score(4);
    for out in ["cheap", "other"] {
        let more = ["--tests", "tests.json", "--out", out];
        score_by(&work, ("cheap", &cheap), "answers", &more);
    }
    let draw = ["label", "cheap", "--verdicts", "8", "--format", "csv"];
    let drawn = work.run(&draw).exits_with(0).stdout;
    work.write("drawn.csv", &drawn.replace(",person,,", ",ann,1,"));
    let compare = ["compare", "cheap", "--corrected-by", "drawn.csv"];
    work.run(&compare).exits_with(0);
    for (option, says) in [
        ("other", "one run, but 2 are named"),
        ("--require=score>0.2", "cannot be used with"),
        ("--baseline=alpha", "cannot be used with"),
        ("--junit=gates.xml", "cannot be used with"),
        ("--on-undecided=pass", "cannot be used with"),
        ("--margin=0.1", "cannot be used with"),
        ("--metric=score", "leave it out"),
        ("--without=alpha", "single verdicts"),
    ] {
        let refused = work.run(&[&compare[..], &[option]].concat());
        refused.exits_with(2).says(&[says]);
    }
    let draw = ["label", "cheap", "other", "--verdicts", "8"];
    let pages = ["--raters", "ann", "--out", "pages"];
    let refused = work.run(&[&draw[..], &pages].concat());
    refused.exits_with(2).says(&["name only one"]);
}

#[test]
fn scores_that_are_not_weighted_means_of_criteria_are_not_corrected() {
    let work = Workspace::with_cases(&[]);
    let score = |rubric: &str, answers: &str, tests: &str, out: &str| {
        let data = format!("{}/data/rubrics", env!("CARGO_MANIFEST_DIR"));
        let (answers, tests) = (
            format!("{data}/answers/{answers}"),
            format!("{data}/{tests}"),
        );
        let score = ["score", &answers, "--tests", &tests, "--rubric", rubric];
        let by = ["--judge", "lexical", "--out", out];
        work.run(&[&score[..], &by].concat()).exits_with(0);
    };
    let health = "healthbench.jsonl";
    score("healthbench", health, health, "health");
    work.run(&["rescore", "health", "--compat", "--out", "clipped"])
        .exits_with(0);
    score("race", "race.jsonl", "race.jsonl", "race");
    let cs2 = "scholarqa-cs2";
    score(cs2, "scholarqa_cs2.jsonl", "scholarqa_cs2.json", "report");
    // A draw of the run without clipping, labeled.
    let draw = ["label", "health", "--verdicts", "3", "--format", "csv"];
    let drawn = work.run(&draw).exits_with(0).stdout;
    let drawn = drawn.replace(",person,,", ",ann,1,");
    work.write("drawn.csv", &drawn);
    let compare = |run: &str| work.run(&["compare", run, "--corrected-by", "drawn.csv"]);
    compare("health").exits_with(0);
    for (run, says) in [
        ("clipped", "its means are clipped in compat mode"),
        (
            "race",
            "weights depend on what the judge says of the reference",
        ),
        ("report", "means of several metrics of a report"),
    ] {
        let says = [says, "weighted means of criteria"];
        let draw = ["label", run, "--verdicts", "2", "--format", "csv"];
        work.run(&draw).exits_with(3).says(&says);
        compare(run).exits_with(3).says(&says);
    }
}

/// A judge that gives all criteria and snippets this score.
fn judge_of_one_score(score: u64) -> FakeServer {
    let models = Act::json(&json!({"data": [{"id": "cheap"}, {"id": "dear"}]}));
    let behaviour = Behaviour::good().models(models);
    FakeServer::start(behaviour.saying(move |request| {
        if request.asks_for_claims() {
            good_content(request)
        } else {
            json!({"score": score}).to_string()
        }
    }))
}

fn score_by(work: &Workspace, judge: (&str, &FakeServer), answers: &str, more: &[&str]) {
    let (model, server) = judge;
    let url = server.base_url();
    let score = ["score", answers, "--model", model, "--base-url", &url];
    work.run(&[&score[..], more].concat()).exits_with(0);
}

#[test]
fn drawn_snippets_are_asked_for_behind_their_criterion_and_people_cannot_label_them() {
    let work = Workspace::new(&["alpha", "beta"], 6);
    let cheap = judge_of_one_score(0);
    score_by(
        &work,
        ("cheap", &cheap),
        "answers",
        &["--tests", "tests.json", "--out", "cheap"],
    );
    let draw = ["label", "cheap", "--verdicts", "30", "--format", "csv"];
    let drawn = work.run(&draw).exits_with(0).stdout;
    assert!(drawn.contains("_evidence,"), "{drawn}");
    work.write("drawn.csv", &drawn);
    let dear = judge_of_one_score(10);
    score_by(
        &work,
        ("dear", &dear),
        "cheap",
        &["--selected", "drawn.csv", "--out", "dear"],
    );
    let values = components(&work, "dear");
    for row in drawn.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let key = (
            cells[0].to_owned(),
            cells[1].to_owned(),
            cells[2].to_owned(),
        );
        assert_eq!(values[&key]["value"], 1.0, "{row}");
    }
    let compare = ["compare", "cheap", "--corrected-by", "dear"];
    assert_eq!(json_of(&work, &compare)["correction"]["missing"], 0);
    let pages = [
        "label",
        "cheap",
        "--verdicts",
        "30",
        "--raters",
        "ann",
        "--out",
        "pages",
    ];
    work.run(&pages)
        .exits_with(3)
        .says(&["people cannot label", "--format csv"]);
}

#[test]
fn a_dear_judge_of_other_answers_or_another_rubric_corrects_nothing() {
    let work = Workspace::new(&["alpha"], 6);
    let cheap = judge_of_one_score(4);
    score_by(
        &work,
        ("cheap", &cheap),
        "answers",
        &["--tests", "tests.json", "--out", "cheap"],
    );
    let draw = ["label", "cheap", "--verdicts", "8", "--format", "csv"];
    work.write("drawn.csv", &work.run(&draw).exits_with(0).stdout);
    let dear = judge_of_one_score(10);
    let compare = ["compare", "cheap", "--corrected-by", "dear"];
    let selected = ["--selected", "drawn.csv", "--out", "dear", "--overwrite"];

    let tests = work.read("tests.json");
    work.write(
        "other.json",
        &tests.replace("should name the", "may name the"),
    );
    score_by(
        &work,
        ("dear", &dear),
        "answers",
        &[&["--tests", "other.json"][..], &selected].concat(),
    );
    work.run(&compare).exits_with(3).says(&[
        "reads otherwise in this run of the dear judge",
        "the same rubric",
    ]);

    let answers = work.read("answers/alpha.jsonl");
    let changed: Vec<String> = answers
        .lines()
        .map(|line| line.replace("\"answer_text\":\"", "\"answer_text\":\"Not so: "))
        .collect();
    work.write("answers/alpha.jsonl", &(changed.join("\n") + "\n"));
    score_by(
        &work,
        ("dear", &dear),
        "answers",
        &[&["--tests", "tests.json"][..], &selected].concat(),
    );
    work.run(&compare)
        .exits_with(3)
        .says(&["other texts than in cheap"]);
}

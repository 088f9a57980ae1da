//! Scores of a cheap judge corrected by a few verdicts of a dear one: `label --verdicts`, `score --selected`, `compare --corrected-by`,
//! `plan --verdicts`, `agree`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer, Recorded};
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

    // z = sum of w c + w (y - c) / p, by hand.
    let cheap = components(&work, "cheap");
    let mut sums: HashMap<&str, f64> = HashMap::new();
    for ((system, ..), component) in &cheap {
        let weight = component["weight"].as_f64().unwrap();
        *sums.entry(system).or_default() +=
            weight * component["belief"]["expected"].as_f64().unwrap();
    }
    for row in drawn.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let key = (
            cells[0].to_owned(),
            cells[1].to_owned(),
            cells[2].to_owned(),
        );
        let p: f64 = cells[5].parse().unwrap();
        let weight = cheap[&key]["weight"].as_f64().unwrap();
        let error = dear[&key]["value"].as_f64().unwrap()
            - cheap[&key]["belief"]["expected"].as_f64().unwrap();
        *sums.get_mut(cells[0]).unwrap() += weight * error / p;
    }
    let compare = ["compare", "cheap", "--corrected-by", "dear"];
    let json = work
        .run(&[&compare[..], &["--format", "json"]].concat())
        .exits_with(0);
    let comparison: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(comparison["correction"]["drawn"], 50);
    assert_eq!(comparison["correction"]["of"], 160);
    let corrected = &comparison["metrics"][1];
    assert_eq!(corrected["metric"]["name"], "corrected");
    for row in corrected["systems"].as_array().unwrap() {
        let system = &comparison["systems"][row["system"].as_u64().unwrap() as usize];
        let sum = sums[system["system"].as_str().unwrap()];
        close(&row["mean"], sum / QUESTIONS as f64);
    }
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
    let filled = drawn.replace(",person,,", ",ann,1,");
    work.write("drawn.csv", &filled);
    work.run(&compare).exits_with(0);
    let agree = ["agree", "cheap", "--labels", "drawn.csv", "--level", "item"];
    let shown = work.run(&agree).exits_with(0);
    assert!(shown.stdout.contains("Brier score"), "{shown:?}");

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
        "10",
        "--raters",
        "ann",
        "--out",
        "pages",
    ];
    work.run(&pages).exits_with(0);
    let sheet = work.json("pages/sheet.json");
    assert_eq!(sheet["verdicts"]["verdicts"], 10);
    let label = |item: &Value| json!({"item": item["id"], "label": {"value": 1.0}, "comment": "", "seconds": 1.5, "at": "2026-01-01T00:00:00.000Z"});
    let labels: Vec<Value> = sheet["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(label)
        .collect();
    assert_eq!(labels.len(), 10);
    let file = json!({"schema_version": 1, "sheet": sheet["id"], "rater": "ann", "saved_at": "", "labels": labels});
    work.write("pages/labels-ann.json", &file.to_string());
    let shown = work
        .run(&["compare", "cheap", "--corrected-by", "pages"])
        .exits_with(0);
    assert!(shown.stdout.contains("10 of 160"), "{shown:?}");

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

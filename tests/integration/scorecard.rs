//! Issues 3 and 4 from end to end: one run of `score` with every scorer that its input
//! supports, each role with judges of its own, against fake servers.

mod context;
mod faults;
mod injection;
mod inputs;
mod intervals;
mod probabilities;
mod real_input;
mod roles;
mod samples;

use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer, Recorded};
use crate::support::judging;
use crate::support::workspace::{self, Workspace};

/// One prediction; `more` are its other fields.
fn prediction(input: &str, output: &str, more: Value) -> Value {
    let mut item = json!({"input": input, "output": output});
    item.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    item
}

/// A directory without test cases.
fn empty_workspace() -> Workspace {
    Workspace::with_cases(&[])
}

/// Writes a system's predictions as a list.
fn write_predictions(work: &Workspace, file: &str, items: &[Value]) {
    work.write(file, &Value::from(items.to_vec()).to_string());
}

/// The table of a further judge in a config file.
fn judge_table(name: &str, server: &FakeServer, keys: &str) -> String {
    format!(
        "[judges.{name}]\nbase_url = \"{}\"\nmodel = \"fake-judge\"\n{keys}\n",
        server.base_url()
    )
}

/// The number of a scorer's column in `summary.json`: the whole object with estimate, n, unscored, ..
#[track_caller]
fn metric(summary: &Value, scorer: &str, system: &str, column: &str) -> Value {
    let named = |list: &Value, key: &str, name: &str| {
        list.as_array()
            .unwrap()
            .iter()
            .find(|entry| entry[key] == name)
            .cloned()
            .unwrap_or_default()
    };
    let section = named(&summary["scorers"], "scorer", scorer);
    let metric = named(&section["rows"], "system", system)["metrics"][column].clone();
    assert!(
        metric.is_object(),
        "no {scorer}.{column} of {system} in {summary}"
    );
    metric
}

#[track_caller]
fn estimate(summary: &Value, scorer: &str, column: &str) -> Value {
    metric(summary, scorer, "alpha", column)["estimate"].clone()
}

#[track_caller]
fn close(value: &Value, expected: f64) {
    let number = value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is not a number, expected {expected}"));
    assert!(
        (number - expected).abs() < 1e-9,
        "{number}, expected {expected}"
    );
}

/// The aspect that a request is about.
fn aspect_of(request: &Recorded) -> &'static str {
    let rubric = judging::section(request, "rubric");
    ["organization", "coverage", "relevance"]
        .into_iter()
        .find(|aspect| rubric.to_lowercase().starts_with(&format!("[{aspect}:")))
        .unwrap_or("none")
}

/// A judge of aspects that always gives this grade.
fn grader(grade: u32) -> Behaviour {
    Behaviour::good().saying(move |_| format!("Feedback: it was read. [RESULT] {grade}"))
}

/// What `summary.csv` says, by system and column.
#[track_caller]
fn csv_cell(work: &Workspace, system: &str, column: &str) -> String {
    let csv = work.read("out/summary.csv");
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let at = header
        .iter()
        .position(|name| *name == column)
        .unwrap_or_else(|| panic!("no {column} in {header:?}"));
    lines
        .find(|cells| cells[0] == system)
        .unwrap_or_else(|| panic!("no {system} in {csv}"))[at]
        .to_owned()
}

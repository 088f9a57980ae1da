//! The fake server of decision models (`tools/decisions/fake_decisions.py` of the shared data) as a child process.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::workspace::{Finished, Workspace};

/// The kinds of judge, one a shape of questions.
pub(super) const SHAPES: [&str; 2] = ["systemone", "decisions"];

/// Rubrics whose criteria are asked as statements, choices and scales.
pub(super) const RUBRICS: [&str; 3] = ["healthbench", "criteria", "researchrubrics"];

/// A running server; ends when dropped.
pub(super) struct Decider {
    child: Child,
    address: String,
}

impl Decider {
    /// Starts one; `None`, with the reason printed, where shared data or Python are missing.
    pub(super) fn start(options: &[&str]) -> Option<Self> {
        Self::of(&mut command(options)?)
    }

    /// Starts another one, which prints its address, too; `None` where the program is missing.
    pub(super) fn of(command: &mut Command) -> Option<Self> {
        let mut child = spawned(command)?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let first: Value = serde_json::from_str(&line).unwrap();
        let address = first["address"].as_str().unwrap();
        let address = address.trim_start_matches("http://").to_owned();
        Some(Self { child, address })
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The counters of the server.
    pub(super) fn stats(&self) -> Value {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "GET /stats HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.address
        )
        .unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        let (_, body) = page.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap()
    }

    pub(super) fn requests(&self) -> u64 {
        self.stats()["requests"].as_u64().unwrap()
    }

    /// The arguments of a run of `work` by this judge.
    pub(super) fn arguments(&self, judge: &str, rubric: &str) -> Vec<String> {
        let arguments = [
            "answers",
            "--tests",
            "tests.jsonl",
            "--rubric",
            rubric,
            "--judge",
            judge,
            "--model",
            "fake-decider",
            "--base-url",
            &self.base_url(),
        ];
        arguments.map(str::to_owned).to_vec()
    }

    /// `score` into `out`.
    pub(super) fn score(
        &self,
        work: &Workspace,
        judge: &str,
        rubric: &str,
        more: &[&str],
    ) -> Finished {
        let own = self.arguments(judge, rubric);
        let mut arguments = vec!["score"];
        arguments.extend(own.iter().map(String::as_str));
        arguments.extend(["--out", "out"]);
        arguments.extend(more);
        run(work, &arguments)
    }
}

impl Drop for Decider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program with these options; `None` as [`Decider::start`].
fn command(options: &[&str]) -> Option<Command> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
    let script = shared.join("tools/decisions/fake_decisions.py");
    if !script.is_file() {
        eprintln!("skipped: no {}; set SCHOLAREVAL_SHARED", script.display());
        return None;
    }
    let mut command = Command::new("python3");
    command.arg(script).args(options);
    Some(command)
}

/// The program with its standard output.
fn spawned(command: &mut Command) -> Option<Child> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    match command.spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            eprintln!("skipped: no python3 ({error})");
            None
        }
    }
}

/// The kinds of faults that the server has; `None` as [`Decider::start`].
pub(super) fn fault_kinds() -> Option<Vec<String>> {
    let listed = spawned(&mut command(&["--kinds"])?)?
        .wait_with_output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let kinds = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    Some(kinds.map(str::to_owned).collect())
}

/// Runs the program with keys for both kinds of judge.
pub(super) fn run(work: &Workspace, arguments: &[&str]) -> Finished {
    let mut command = work.command(arguments);
    command.env("TYPESAFE_API_KEY", "sk-typesafe");
    Finished::of(command.output().unwrap())
}

/// An id, a question, and criteria with their weights.
pub(super) type Case = (String, String, Vec<(String, i64)>);

/// Cases in the form of a rubric, with an answer to each.
pub(super) fn workspace(rubric: &str, cases: &[Case]) -> Workspace {
    let work = Workspace::with_cases(&[]);
    let mut lines = String::new();
    for (id, question, criteria) in cases {
        let criterion = |(text, weight): &(String, i64)| match rubric {
            "healthbench" => json!({"criterion": text, "points": weight, "tags": []}),
            "researchrubrics" => json!({"criterion": text, "weight": weight, "axis": "an axis"}),
            _ => json!({"text": text, "weight": weight}),
        };
        let criteria: Vec<Value> = criteria.iter().map(criterion).collect();
        let case = match rubric {
            "healthbench" => {
                json!({"prompt_id": id, "prompt": [{"role": "user", "content": question}], "rubrics": criteria})
            }
            "researchrubrics" => json!({"sample_id": id, "prompt": question, "rubrics": criteria}),
            _ => json!({"case_id": id, "question": question, "criteria": criteria}),
        };
        lines.push_str(&format!("{case}\n"));
    }
    work.write("tests.jsonl", &lines);
    let answers = cases
        .iter()
        .map(|(id, ..)| (id.as_str(), format!("The answer to {id}.")));
    work.answers("alpha", answers);
    work
}

/// The lines of `scores.jsonl` by case.
pub(super) fn score_of(work: &Workspace, case: &str) -> Value {
    let scores = work.lines("out/scores.jsonl");
    let score = scores.into_iter().find(|score| score["case_id"] == case);
    score.unwrap_or_else(|| panic!("no score of {case}"))
}

//! A directory with test cases and answers, and the program run in it as a user would.

use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::fake_server::FakeServer;
pub(crate) use super::running::Running;

/// A hung run must not hang the suite; far beyond what a slow machine needs.
const RUN_LIMIT: Duration = Duration::from_secs(300);

/// The key that every run gets in `OPENAI_API_KEY`.
pub(crate) const KEY: &str = "sk-e2e-0123456789abcdef";

/// A test case of the released form: 0.4 of the weight on the general components, 0.6 spread evenly over
/// `properties` of `(criterion, snippets)`, which are called `p0`, `p1`, ..
pub(crate) fn test_case(case_id: &str, properties: &[(&str, &[&str])]) -> Value {
    let weight = 0.6 / properties.len() as f64;
    let property = |(i, (criterion, snippets)): (usize, &(&str, &[&str]))| json!({"name": format!("p{i}"), "criterion": criterion, "weight": weight, "evidence": snippets});
    let question = format!("What is known about {case_id}?");
    json!({
        "initial_prompt": question, "case_id": case_id, "annotator": "Annotator 1", "agreement": false,
        "metric_config": {"name": "rubric_corpusqa_generic", "config": {
            "question": question, "low_length": 300, "high_length": 600, "length_weight": 0.05,
            "expertise_weight": 0.05, "citations_weight": 0.2, "excerpts_weight": 0.1,
            "other_properties": properties.iter().enumerate().map(property).collect::<Vec<_>>(),
        }},
    })
}

/// The case most tests use: two criteria, the first with two snippets, the second with one. An answer to it takes
/// four calls at once (expertise, citations, two criteria) and at most two more (the snippets).
pub(crate) fn plain_case(case_id: &str) -> Value {
    let causes = format!("The answer should name the causes of {case_id}.");
    let effects = format!("The answer should name the effects of {case_id}.");
    let (rain, wind, dust) = (
        "Rain comes first.",
        "Wind comes second.",
        "Dust settles last.",
    );
    test_case(case_id, &[(&causes, &[rain, wind]), (&effects, &[dust])])
}

/// Calls that an answer to [`plain_case`] takes at once, and at most.
pub(crate) const NOW: usize = 4;
pub(crate) const AT_MOST: usize = 6;

/// The program's place of work: `tests.json`, `answers/*.jsonl`, and whatever a run writes beside them.
pub(crate) struct Workspace {
    folder: TempDir,
}

impl Workspace {
    /// Plain cases `c1`, `c2`, .. and an answer of every system to each of them.
    pub(crate) fn new(systems: &[&str], cases: usize) -> Self {
        let ids: Vec<String> = (1..=cases).map(|i| format!("c{i}")).collect();
        let work = Self::with_cases(&ids.iter().map(|id| plain_case(id)).collect::<Vec<_>>());
        for system in systems {
            let answers = ids.iter().map(|id| {
                (
                    id.as_str(),
                    format!("The {system} answer to {id}, in few words."),
                )
            });
            work.answers(system, answers);
        }
        work
    }

    /// These cases and no answers yet.
    pub(crate) fn with_cases(cases: &[Value]) -> Self {
        let work = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        work.write("tests.json", &Value::from(cases.to_vec()).to_string());
        std::fs::create_dir(work.path("answers")).unwrap();
        work
    }

    /// Writes a system's answers.
    pub(crate) fn answers<'a>(
        &self,
        system: &str,
        answers: impl IntoIterator<Item = (&'a str, String)>,
    ) {
        let line = |(id, text): (&str, String)| {
            json!({"case_id": id, "answer_text": text}).to_string() + "\n"
        };
        self.write(
            &format!("answers/{system}.jsonl"),
            &answers.into_iter().map(line).collect::<String>(),
        );
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    #[track_caller]
    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    #[track_caller]
    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// The lines of a JSONL file.
    #[track_caller]
    pub(crate) fn lines(&self, name: &str) -> Vec<Value> {
        self.read(name)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The log of a document of class `article` with these options and tables, which must compile; `None` without
    /// pdflatex.
    pub(crate) fn latex_log(&self, options: &str, tables: &str) -> Option<String> {
        self.latex_log_with("booktabs,graphicx", options, tables)
    }

    /// As [`Workspace::latex_log`], with these packages.
    pub(crate) fn latex_log_with(
        &self,
        packages: &str,
        options: &str,
        tables: &str,
    ) -> Option<String> {
        let (class, body) = (
            format!("\\documentclass[{options}]{{article}}"),
            format!("\\begin{{document}}\n{tables}"),
        );
        self.write(
            "paper.tex",
            &format!("{class}\n\\usepackage{{{packages}}}\n{body}\\end{{document}}\n"),
        );
        let arguments = ["-halt-on-error", "-interaction=nonstopmode", "paper.tex"];
        match std::process::Command::new("pdflatex")
            .args(arguments)
            .current_dir(self.path("."))
            .output()
        {
            Ok(done) => assert!(
                done.status.success(),
                "{}\n{tables}",
                String::from_utf8_lossy(&done.stdout)
            ),
            Err(error) => {
                eprintln!("skipped: no pdflatex ({error})");
                return None;
            }
        }
        Some(String::from_utf8_lossy(&std::fs::read(self.path("paper.log")).unwrap()).into_owned())
    }

    /// Rewrites the scores of the run `out`, and takes the stamps out of its manifest, which would refuse them.
    #[track_caller]
    pub(crate) fn edit_scores(&self, edit: impl FnOnce(&str) -> String) {
        let mut manifest = self.json("out/manifest.json");
        manifest["files"] = json!({});
        self.write("out/manifest.json", &manifest.to_string());
        self.write("out/scores.jsonl", &edit(&self.read("out/scores.jsonl")));
    }

    /// Every file below the directory of work, the cache among them, as `(path, bytes)`.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn below(dir: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    below(&path, found);
                } else {
                    found.push((path.clone(), std::fs::read(&path).unwrap()));
                }
            }
        }
        let mut found = Vec::new();
        below(self.folder.path(), &mut found);
        found
    }

    /// The program with nothing of the machine's environment: home and working directory are here.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scholareval"));
        command
            .env_clear()
            .env("HOME", self.folder.path())
            // Services at their own addresses are not reached from tests.
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .env("OPENAI_API_KEY", KEY);
        command
            .current_dir(self.folder.path())
            .args(arguments)
            .timeout(RUN_LIMIT);
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        Finished::of(self.command(arguments).output().unwrap())
    }

    /// `score` of all answers by that server into `out`, unless `more` says otherwise.
    pub(crate) fn score(&self, server: &FakeServer, more: &[&str]) -> Finished {
        self.run(&scoring(&server.base_url(), more))
    }

    /// The same, not waited for; to be killed or signalled.
    pub(crate) fn spawn_score(&self, server: &FakeServer, more: &[&str]) -> Child {
        std::process::Command::new(env!("CARGO_BIN_EXE_scholareval"))
            .env_clear()
            .env("HOME", self.folder.path())
            .env("OPENAI_API_KEY", KEY)
            .current_dir(self.folder.path())
            .args(scoring(&server.base_url(), more))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

/// The arguments of a run; `--out` is `out`, unless `more` names another.
pub(crate) fn scoring<'a>(base_url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec![
        "score",
        "answers",
        "--tests",
        "tests.json",
        "--model",
        "fake-judge",
        "--base-url",
        base_url,
    ];
    if !more.contains(&"--out") {
        arguments.extend(["--out", "out"]);
    }
    arguments.extend(more);
    arguments
}

/// What a run ended with.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    #[track_caller]
    pub(crate) fn exits_with(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stderr:\n{}\nstdout:\n{}",
            self.stderr,
            self.stdout
        );
        self
    }

    /// Asserts that standard error says all of this.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "{part:?} is not in\n{}",
                self.stderr
            );
        }
        self
    }

    /// Both streams.
    pub(crate) fn all_text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// Waits until `holds`, for as long as a slow machine may need.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("waited in vain until {what}");
}

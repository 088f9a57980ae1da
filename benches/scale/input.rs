//! Answers in numbers, made from the real ones: each copy of a case, and each copy of a system, is a case and a system of
//! its own, and every answer a text of its own.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// What is scored, and how it was multiplied.
pub(crate) struct Input {
    pub(crate) answers: PathBuf,
    pub(crate) tests: PathBuf,
    pub(crate) count: usize,
}

/// Which answers are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The 4 systems of ScholarQA-CS where they are, else the sample data.
    Real,
    /// The sample data, whose answers are short.
    Sample,
}

impl Source {
    fn files(self) -> (PathBuf, PathBuf) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let shared = std::env::var_os("SCHOLAREVAL_SHARED")
            .map_or_else(|| root.join("../shared"), PathBuf::from);
        let scholarqa = shared.join("data/scholarqa_cs");
        if self == Self::Real && scholarqa.is_dir() {
            (
                scholarqa.join("src_answers"),
                scholarqa.join("test_configs_snippets.json"),
            )
        } else {
            (root.join("data/answers"), root.join("data/test_cases.json"))
        }
    }
}

impl Input {
    /// Writes `systems` copies of every system, with `cases` copies of every case, under `dir`.
    pub(crate) fn multiplied(dir: &Path, source: Source, (systems, cases): (usize, usize)) -> Self {
        let (answers, tests) = source.files();
        let out = dir.join(format!("input-{source:?}-{systems}x{cases}"));
        let made = Self {
            answers: out.join("answers"),
            tests: out.join("tests.json"),
            count: 0,
        };
        fs::create_dir_all(&made.answers).expect("a directory for answers");
        made.write_tests(&tests, cases);
        let mut count = 0;
        let mut files: Vec<PathBuf> = fs::read_dir(&answers)
            .expect("answers")
            .map(|e| e.expect("a file").path())
            .collect();
        files.sort();
        for file in files
            .iter()
            .filter(|file| file.extension().is_some_and(|end| end == "jsonl"))
        {
            let text = fs::read_to_string(file).expect("answers of a system");
            let lines: Vec<Value> = text
                .lines()
                .map(|line| serde_json::from_str(line).expect("an answer"))
                .collect();
            let stem = file.file_stem().expect("a name").to_string_lossy();
            for system in 0..systems {
                let path = made.answers.join(format!("{stem}-{system}.jsonl"));
                let mut out = BufWriter::new(fs::File::create(path).expect("a file of answers"));
                for copy in 0..cases {
                    for line in &lines {
                        let (id, text) = (
                            line["case_id"].as_str().expect("an id"),
                            line["answer_text"].as_str(),
                        );
                        let text = format!("Version {system}.{copy}. {}", text.expect("a text"));
                        let line = json!({"case_id": format!("{id}-{copy}"), "answer_text": text});
                        writeln!(out, "{line}").expect("room for answers");
                        count += 1;
                    }
                }
            }
        }
        Self { count, ..made }
    }

    fn write_tests(&self, tests: &Path, copies: usize) {
        let cases: Vec<Value> = serde_json::from_slice(&fs::read(tests).expect("test cases"))
            .expect("a list of test cases");
        let mut out = BufWriter::new(fs::File::create(&self.tests).expect("a file of test cases"));
        let mut between = "[";
        for copy in 0..copies {
            for case in &cases {
                let mut case = case.clone();
                let id = case["case_id"].as_str().expect("an id").to_owned();
                case["case_id"] = format!("{id}-{copy}").into();
                // A question asked twice would be one case of two annotators.
                for place in ["/initial_prompt", "/metric_config/config/question"] {
                    if let Some(question) = case.pointer_mut(place) {
                        *question =
                            format!("{} (version {copy})", question.as_str().unwrap_or_default())
                                .into();
                    }
                }
                write!(out, "{between}{case}").expect("room for test cases");
                between = ",\n";
            }
        }
        writeln!(out, "]").expect("room for test cases");
    }
}

//! What `fever score` and `scifact score` cost: beside `fever-scorer` on the same input in one run, at 1,000,000 claims in
//! memory, and at 1,000 to 100,000 claims in time.
//!
//! `cargo bench --bench facts` makes a Python environment under the target directory with `benches/reference_facts.py`
//! (pip; once); `cargo bench --bench facts -- --ours` measures ours alone. The built program runs as a child process, start
//! and reading included; Linux only (reads /proc). Input: `$SCHOLAREVAL_SHARED/data/{fever,scifact}` (or `../shared`),
//! repeated; without it there is nothing to measure.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]

#[allow(dead_code, reason = "the bench uses a part of it")]
#[path = "pipeline/measured.rs"]
mod measured;

use std::path::{Path, PathBuf};
use std::process::Command;

use measured::{Measured, measure};
use serde_json::{Value, json};

/// The FEVER files are repeated so often: 199,980 instances beside the reference, 999,900 for memory.
const BESIDE: usize = 20;
const MILLION: usize = 100;
/// Claims of SciFact; the reference, which is quadratic, is measured on the first two sizes only.
const CLAIMS: [usize; 3] = [1_000, 10_000, 100_000];
const CLAIMS_BESIDE: [usize; 2] = [1_000, 4_000];
/// Runs of each; the one of the least CPU is shown.
const RUNS: usize = 3;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = std::env::var_os("SCHOLAREVAL_SHARED")
        .map_or_else(|| root.join("../shared"), PathBuf::from);
    let data = shared.join("data");
    if !data.join("fever").is_dir() || !data.join("scifact").is_dir() {
        return eprintln!(
            "skipped: no FEVER and SciFact files under {}",
            data.display()
        );
    }
    let bench = Bench {
        data,
        dir: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
        with_reference: !std::env::args().any(|argument| argument == "--ours"),
    };
    bench.fever_beside_the_reference();
    bench.fever_memory();
    bench.scifact_by_size();
    if bench.with_reference {
        bench.scifact_beside_the_reference();
    }
}

struct Bench {
    data: PathBuf,
    dir: tempfile::TempDir,
    with_reference: bool,
}

impl Bench {
    fn fever_beside_the_reference(&self) {
        let (gold, predictions) = (
            self.repeated("fever/actual.jsonl", BESIDE),
            self.repeated("fever/predictions.jsonl", BESIDE),
        );
        let instances = lines(&predictions);
        println!("FEVER, {instances} instances, gold and predictions read");
        let ours = self.least(RUNS, || self.fever(&gold, &predictions));
        told("both cores", &ours, instances);
        told(
            "one core",
            &self.least(RUNS, || one_thread(self.fever(&gold, &predictions))),
            instances,
        );
        if !self.with_reference {
            return;
        }
        let reference =
            self.reference(&json!({"fever": {"gold": gold, "predictions": predictions}}));
        let (cpu, wall) = (
            number(&reference["fever"]["cpu"]),
            number(&reference["fever"]["wall"]),
        );
        println!(
            "  {:<12} CPU {cpu:>7.2} s  wall {wall:>7.2} s  {:>7.2} us of CPU each",
            "fever-scorer",
            1e6 * cpu / instances as f64
        );
        println!(
            "  ratio        CPU {:>7.1}    wall {:>7.1}    (aim 10)",
            cpu / ours.cpu,
            wall / ours.wall
        );
        let row = &output(self.fever(&gold, &predictions))["systems"][0]["metrics"];
        let fields = [
            "fever_score",
            "label_accuracy",
            "evidence_precision",
            "evidence_recall",
            "evidence_f1",
        ];
        for (field, theirs) in fields
            .iter()
            .zip(reference["fever"]["scores"].as_array().unwrap())
        {
            // The reference adds 133,320 shares up in file order.
            assert!(
                (number(&row[field]["estimate"]) - number(theirs)).abs() < 1e-9,
                "{field}: {row} {theirs}"
            );
        }
        println!("  the five numbers are equal (1e-9)\n");
    }

    /// Peak memory of 999,900 instances beside that of a run that reads the same gold and one prediction.
    fn fever_memory(&self) {
        let (gold, predictions) = (
            self.repeated("fever/actual.jsonl", MILLION),
            self.repeated("fever/predictions.jsonl", MILLION),
        );
        let single = self.dir.path().join("single.jsonl");
        let line = json!({"label": "REFUTES", "evidence": [], "predicted_label": "REFUTES", "predicted_evidence": []});
        std::fs::write(&single, format!("{line}\n")).unwrap();
        let whole = measure(&mut self.fever(&gold, &predictions), || 1);
        let gold_alone = measure(&mut self.fever(&gold, &single), || 1);
        let megabytes = |run: &Measured| run.peak as f64 / 1024.0;
        println!("FEVER, {} instances, peak memory", lines(&predictions));
        println!(
            "  the gold alone {:.0} MB, with predictions {:.0} MB, beyond the gold {:.0} MB; wall {:.2} s, CPU {:.2} s\n",
            megabytes(&gold_alone),
            megabytes(&whole),
            megabytes(&whole) - megabytes(&gold_alone),
            whole.wall,
            whole.cpu
        );
        for path in [gold, predictions] {
            std::fs::remove_file(path).unwrap();
        }
    }

    fn scifact_by_size(&self) {
        println!("SciFact, claims_train repeated, 12 numbers with intervals (aim: linear)");
        for claims in CLAIMS {
            let (gold, predictions) = self.submission(claims);
            let ours = self.least(RUNS, || self.scifact(&gold, &predictions));
            told(&format!("{claims} claims"), &ours, claims);
        }
        println!();
    }

    fn scifact_beside_the_reference(&self) {
        println!(
            "SciFact, CPU beside a loop written after verisci's evaluator (see reference_facts.py)"
        );
        for claims in CLAIMS_BESIDE {
            let (gold, predictions) = self.submission(claims);
            let ours = self.least(RUNS, || self.scifact(&gold, &predictions));
            let reference =
                self.reference(&json!({"scifact": {"gold": gold, "predictions": predictions}}));
            let cpu = number(&reference["scifact"]["cpu"]);
            let each = |seconds: f64| 1e6 * seconds / claims as f64;
            println!(
                "  {claims} claims: {:.1} us each, the loop {:.1} us each",
                each(ours.cpu),
                each(cpu)
            );
            let metrics = &output(self.scifact(&gold, &predictions))["systems"][0]["metrics"];
            let names = [
                "abstract_label_only_f1",
                "abstract_rationalized_f1",
                "sentence_selection_f1",
                "sentence_label_f1",
            ];
            for (name, theirs) in names
                .iter()
                .zip(reference["scifact"]["f1"].as_array().unwrap())
            {
                let ours = number(&metrics[name]["estimate"]);
                assert!(
                    (ours - number(theirs)).abs() < 1e-12,
                    "{name}: {ours} {theirs}"
                );
            }
        }
        println!("  the four F1 are equal (1e-12)");
    }

    fn fever(&self, gold: &Path, predictions: &Path) -> Command {
        let mut command = self.program();
        command
            .args(["fever", "score", "--quiet", "--format", "json", "--gold"])
            .arg(gold)
            .arg(predictions);
        command
    }

    fn scifact(&self, gold: &Path, predictions: &Path) -> Command {
        let mut command = self.program();
        command
            .args(["scifact", "score", "--format", "json", "--gold"])
            .arg(gold)
            .arg(predictions);
        command
    }

    fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scholareval"));
        command.env_clear().current_dir(self.dir.path());
        command
    }

    fn least(&self, runs: usize, command: impl Fn() -> Command) -> Measured {
        Measured::least((0..runs).map(|_| measure(&mut command(), || 1)).collect())
    }

    /// A file of the data, so often one after the other.
    fn repeated(&self, name: &str, times: usize) -> PathBuf {
        let mut text = std::fs::read_to_string(self.data.join(name)).unwrap();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let path = self
            .dir
            .path()
            .join(format!("{times}-{}", name.replace('/', "-")));
        std::fs::write(&path, text.repeat(times)).unwrap();
        path
    }

    /// So many claims with ids of their own, and a submission that is right, partly right and wrong by turns.
    fn submission(&self, claims: usize) -> (PathBuf, PathBuf) {
        let train = std::fs::read_to_string(self.data.join("scifact/claims_train.jsonl")).unwrap();
        let train: Vec<Value> = train
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let (mut gold, mut predictions) = (String::new(), String::new());
        for id in 0..claims {
            let mut claim = train[id % train.len()].clone();
            claim["id"] = json!(id);
            let mut evidence = serde_json::Map::new();
            for (doc_id, rationales) in claim["evidence"].as_object().unwrap() {
                let mut sentences: Vec<Value> =
                    rationales[0]["sentences"].as_array().unwrap().clone();
                let label = if id % 5 == 1 {
                    "CONTRADICT"
                } else {
                    rationales[0]["label"].as_str().unwrap()
                };
                match id % 7 {
                    2 => sentences.truncate(1),
                    3 => sentences.push(json!(90)),
                    4 => continue,
                    _ => {}
                }
                evidence.insert(
                    doc_id.clone(),
                    json!({"label": label, "sentences": sentences}),
                );
            }
            if id % 13 == 0 {
                evidence.insert(
                    "1".to_owned(),
                    json!({"label": "SUPPORT", "sentences": [0, 1]}),
                );
            }
            gold.push_str(&format!("{claim}\n"));
            predictions.push_str(&format!("{}\n", json!({"id": id, "evidence": evidence})));
        }
        let paths = [
            format!("gold-{claims}.jsonl"),
            format!("predicted-{claims}.jsonl"),
        ]
        .map(|name| self.dir.path().join(name));
        std::fs::write(&paths[0], gold).unwrap();
        std::fs::write(&paths[1], predictions).unwrap();
        let [gold, predictions] = paths;
        (gold, predictions)
    }

    /// What `reference_facts.py` gives for these files.
    fn reference(&self, files: &Value) -> Value {
        let target = self.dir.path().join("reference.json");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/reference_facts.py");
        let status = Command::new("python3")
            .arg(script)
            .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("reference-facts-venv"))
            .arg(files.to_string())
            .arg(&target)
            .status()
            .expect("python3 runs");
        assert!(
            status.success(),
            "the reference failed; `-- --ours` measures without it"
        );
        serde_json::from_str(&std::fs::read_to_string(target).unwrap()).unwrap()
    }
}

fn one_thread(mut command: Command) -> Command {
    command.env("RAYON_NUM_THREADS", "1");
    command
}

fn told(what: &str, run: &Measured, items: usize) {
    let each = |seconds: f64| 1e6 * seconds / items as f64;
    println!(
        "  {what:<14} CPU {:>6.2} s  wall {:>6.2} s  {:>7.2} us of CPU, {:>7.2} us of wall each  {:>5.0} MB",
        run.cpu,
        run.wall,
        each(run.cpu),
        each(run.wall),
        run.peak as f64 / 1024.0
    );
}

fn output(mut command: Command) -> Value {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn lines(path: &Path) -> usize {
    std::fs::read(path)
        .unwrap()
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

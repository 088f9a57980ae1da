//! What a run costs: calls a second, CPU a call, memory, beside a bare reqwest loop that sends the same bodies.
//!
//! `cargo bench --bench pipeline` runs it whole; `cargo bench --bench pipeline -- --quick` on the sample data only, and
//! once each; with `--reasoning` the judges that reason only. What is reported, and what the aims are: `benches/README.md`.
//!
//! The program under test and the bare loop run as children of this process, which is the fake server: its CPU is in
//! nobody's figures.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]

#[path = "pipeline/bare.rs"]
mod bare;
#[allow(unused_imports, reason = "the bench uses a part of the tests' server")]
#[path = "../tests/integration/support/fake_server/mod.rs"]
mod fake_server;
#[allow(dead_code, reason = "the bench uses a part of it")]
#[path = "pipeline/measured.rs"]
mod measured;
#[path = "pipeline/reasoning.rs"]
mod reasoning;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fake_server::{Behaviour, FakeServer};
use measured::{Measured, measure};

const LATENCY: Duration = Duration::from_millis(200);
/// Calls at once where the server takes its time, and where it does not.
const WIDE: usize = 128;
const NARROW: usize = 32;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == bare::FLAG) {
        return bare::run(&arguments[1..]);
    }
    if arguments.iter().any(|argument| argument == "--reasoning") {
        return Bench::new(Input::find(true)).reasoning();
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let repeats = if quick { 1 } else { 3 };
    let bench = Bench::new(Input::find(quick));
    println!(
        "input: {} ({repeats} runs each; that of the least CPU is reported)",
        bench.input.answers.display()
    );
    let bodies = bench.collect_bodies();
    println!("\n{}", Measured::HEAD);
    for (name, latency, concurrency) in [
        ("cold, 0 ms", Duration::ZERO, NARROW),
        ("cold, 200 ms", LATENCY, WIDE),
        ("cold, 0 ms", Duration::ZERO, WIDE),
    ] {
        bench.compare(name, latency, concurrency, &bodies, repeats);
    }
    bench.measure_from_cache(repeats);
    bench.memory(repeats);
    Bench::new(Input::find(true)).reasoning();
}

/// The files that are scored.
struct Input {
    answers: PathBuf,
    tests: PathBuf,
}

impl Input {
    /// The 4 systems of ScholarQA-CS where they are, else the sample data.
    fn find(quick: bool) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let shared = std::env::var_os("SCHOLAREVAL_SHARED")
            .map_or_else(|| root.join("../shared"), PathBuf::from);
        let scholarqa = shared.join("data/scholarqa_cs");
        if !quick && scholarqa.is_dir() {
            return Self {
                answers: scholarqa.join("src_answers"),
                tests: scholarqa.join("test_configs_snippets.json"),
            };
        }
        Self {
            answers: root.join("data/answers"),
            tests: root.join("data/test_cases.json"),
        }
    }
}

/// One input, and a place for caches and records.
struct Bench {
    input: Input,
    dir: tempfile::TempDir,
}

impl Bench {
    fn new(input: Input) -> Self {
        Self {
            input,
            dir: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    fn score(&self, server: &FakeServer, concurrency: usize, name: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scholareval"));
        command.env_clear().current_dir(self.dir.path());
        command
            .arg("score")
            .arg(&self.input.answers)
            .arg("--tests")
            .arg(&self.input.tests);
        command.args([
            "--quiet",
            "--model",
            "fake-judge",
            "--base-url",
            &server.base_url(),
        ]);
        command.args(["--concurrency", &concurrency.to_string(), "--out", name]);
        command
    }

    fn remove(&self, name: &str) {
        let path = self.dir.path().join(name);
        if path.is_dir() {
            std::fs::remove_dir_all(path).expect("an old record");
        }
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(self.dir.path().join(format!("{name}.sqlite{end}")));
        }
    }

    /// A run that is only listened to: the bodies it sends, each behind its length, in one file.
    fn collect_bodies(&self) -> PathBuf {
        let server = FakeServer::start(Behaviour::good());
        let mut command = self.score(&server, NARROW, "listened");
        measure(command.arg("--no-cache"), || server.chat_count());
        let path = self.dir.path().join("bodies");
        let mean = bare::write_bodies(
            &path,
            server.chats().iter().map(|chat| chat.body.as_slice()),
        );
        println!(
            "bodies: {} of {mean} bytes in the mean",
            server.chat_count()
        );
        self.remove("listened");
        path
    }

    /// A run with an empty cache, and the bare loop with the same bodies, by turns.
    fn compare(
        &self,
        name: &str,
        latency: Duration,
        concurrency: usize,
        bodies: &Path,
        repeats: usize,
    ) {
        let server = FakeServer::start(Behaviour::good().latency(latency).without_record());
        let (mut ours, mut bare_loop) = (Vec::new(), Vec::new());
        for _ in 0..repeats {
            self.remove("cold");
            let before = server.chat_count();
            let mut command = self.score(&server, concurrency, "cold");
            ours.push(measure(command.args(["--cache", "cold.sqlite"]), || {
                server.chat_count() - before
            }));
            let before = server.chat_count();
            let mut command = bare::command(&server.base_url(), bodies, concurrency, None);
            bare_loop.push(measure(&mut command, || server.chat_count() - before));
        }
        let (ours, bare_loop) = (Measured::least(ours), Measured::least(bare_loop));
        println!(
            "{}",
            ours.row(&format!("{name}, {concurrency} at once"), "scholareval")
        );
        println!("{}", bare_loop.row("", "bare loop"));
        let ratio = ours.cpu_a_call() / bare_loop.cpu_a_call();
        print!("    CPU a call: {ratio:.2} times the bare loop's");
        if !latency.is_zero() {
            let ideal = |calls: usize| calls as f64 * latency.as_secs_f64() / concurrency as f64;
            let (own, theirs) = (
                ours.wall / ideal(ours.calls),
                bare_loop.wall / ideal(bare_loop.calls),
            );
            print!(
                "; wall: {own:.3} times the ideal {:.2} s (bare loop {theirs:.3})",
                ideal(ours.calls)
            );
        }
        println!();
    }

    /// All calls once more, every reply from the cache; into a new record, and into the finished one.
    fn measure_from_cache(&self, repeats: usize) {
        let server = FakeServer::start(Behaviour::good().without_record());
        self.remove("paid");
        let mut command = self.score(&server, NARROW, "paid");
        let paid = measure(command.args(["--cache", "paid.sqlite"]), || {
            server.chat_count()
        });
        let again = |out: &str| {
            let runs = (0..repeats).map(|_| {
                if out != "paid" {
                    self.remove(out);
                }
                let mut command = self.score(&server, NARROW, out);
                let ran = measure(command.args(["--cache", "paid.sqlite"]), || paid.calls);
                assert_eq!(
                    server.chat_count(),
                    paid.calls,
                    "a run from cache asked the server"
                );
                ran
            });
            Measured::least(runs.collect())
        };
        println!(
            "{}",
            again("anew").row("from cache, new record", "scholareval")
        );
        println!(
            "{}",
            again("paid").row("from cache, same record", "scholareval")
        );
    }

    /// The sample data by judges that reason, with default settings: calls and tokens against what was needed.
    fn reasoning(&self) {
        println!("\n{}", reasoning::HEAD);
        for median in reasoning::MEDIANS {
            let (server, spent) = reasoning::server(median);
            self.remove("reasoned");
            let mut command = self.score(&server, reasoning::CONCURRENCY, "reasoned");
            command.args(["--cache", "reasoned.sqlite", "--max-unscored", "1"]);
            measure(&mut command, || server.chat_count());
            let calls = std::fs::read_to_string(self.dir.path().join("reasoned/scores.jsonl"))
                .expect("the scores");
            let unscored = calls.lines().filter(|line| line.contains("\"unscored\""));
            let row = spent.lock().expect("a lock").row(median, unscored.count());
            println!("{row}");
        }
    }

    /// Peak memory of one sample and of four samples of every call: the inputs are the same, only the calls are more.
    fn memory(&self, repeats: usize) {
        let server = FakeServer::start(Behaviour::good().without_record());
        for samples in ["1", "4"] {
            let runs = (0..repeats.min(2)).map(|_| {
                self.remove("drawn");
                let before = server.chat_count();
                let mut command = self.score(&server, NARROW, "drawn");
                command.args(["--cache", "drawn.sqlite", "--samples", samples]);
                measure(&mut command, || server.chat_count() - before)
            });
            let drawn = Measured::least(runs.collect());
            println!(
                "{}",
                drawn.row(
                    &format!("cold, 0 ms, {samples} samples a call"),
                    "scholareval"
                )
            );
        }
    }
}

//! Judging at scale: what a call costs beside a bare loop, a million calls in bounded memory, a million from the cache,
//! wall time under a latency and under a rate limit, and what waiting costs.
//!
//! `cargo bench --bench scale` measures what takes a few minutes; `-- million samples` the rest; `-- PART ..` parts by name.
//! The parts, their aims and what they printed: `benches/README.md`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr
)]

#[path = "pipeline/bare.rs"]
mod bare;
#[path = "scale/input.rs"]
mod input;
#[allow(dead_code, reason = "the bench uses a part of it")]
#[path = "pipeline/measured.rs"]
mod measured;
#[path = "scale/server.rs"]
mod server;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use input::{Input, Source};
use measured::{Measured, cpu_of, measure};
use server::{Manners, Server};

/// Copies of systems and cases of the input of a short part: some 21,000 calls.
const SHORT: (usize, usize) = (1, 5);
/// The same of a million calls to 105,600 answers.
const MILLION: (usize, usize) = (16, 15);
/// Samples of each call that make a million of the input of a short part.
const SAMPLES: usize = 46;
const NARROW: usize = 32;
const WIDE: usize = 128;
/// One body of so many is among those that the bare loop sends over and over.
const ONE_OF: usize = 5;
/// Rounds of what is compared; the median counts.
const ROUNDS: usize = 5;
const LATENCY: Duration = Duration::from_millis(200);
const REQUESTS_PER_MINUTE: usize = 6_000;
const WAITING: usize = 20_000;
/// How long waiting calls are watched, from when they all wait.
const WATCHED: Duration = Duration::from_secs(30);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == bare::FLAG) {
        return bare::run(&arguments[1..]);
    }
    let named: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .filter(|name| !name.starts_with("--"))
        .collect();
    let parts = if named.is_empty() {
        vec!["beside", "cached", "latency", "rate", "waiting"]
    } else {
        named
    };
    let bench = Bench {
        dir: tempfile::tempdir().expect("a temporary directory"),
    };
    println!(
        "load: {}",
        std::fs::read_to_string("/proc/loadavg")
            .unwrap_or_default()
            .trim()
    );
    println!("{}", Measured::HEAD);
    for part in parts {
        match part {
            "beside" => bench.beside(),
            "cached" => bench.cached(sized(SHORT), 1, 3),
            "latency" => bench.latency(),
            "rate" => bench.rate(),
            "waiting" => bench.waiting(),
            "million" => bench.cached(sized(MILLION), 1, 1),
            "samples" => bench.cached(sized(SHORT), SAMPLES, 1),
            other => {
                panic!(
                    "no part {other:?}: beside, cached, latency, rate, waiting, million, samples"
                )
            }
        }
    }
}

/// The size of an input as `SCHOLAREVAL_BENCH_SIZE=SYSTEMSxCASES` says.
fn sized(otherwise: (usize, usize)) -> (usize, usize) {
    let Ok(size) = std::env::var("SCHOLAREVAL_BENCH_SIZE") else {
        return otherwise;
    };
    let (systems, cases) = size.split_once('x').expect("SYSTEMSxCASES");
    (
        systems.parse().expect("a number"),
        cases.parse().expect("a number"),
    )
}

struct Bench {
    dir: tempfile::TempDir,
}

/// One program under test.
struct Program {
    name: &'static str,
    path: PathBuf,
}

/// The built program; beside it the one that `SCHOLAREVAL_BENCH_BESIDE` names (the build before a change).
fn programs() -> Vec<Program> {
    let built = std::env::var_os("SCHOLAREVAL_BENCH_BIN")
        .map_or(env!("CARGO_BIN_EXE_scholareval").into(), PathBuf::from);
    let mut programs = vec![Program {
        name: "scholareval",
        path: built,
    }];
    programs.extend(
        std::env::var_os("SCHOLAREVAL_BENCH_BESIDE").map(|path| Program {
            name: "before",
            path: path.into(),
        }),
    );
    programs
}

impl Bench {
    fn input(&self, size: (usize, usize)) -> Input {
        Input::multiplied(self.dir.path(), Source::Real, size)
    }

    fn score(
        &self,
        program: &Program,
        input: &Input,
        server: &Server,
        concurrency: usize,
        name: &str,
    ) -> Command {
        let mut command = Command::new(&program.path);
        command.env_clear().current_dir(self.dir.path());
        command
            .arg("score")
            .arg(&input.answers)
            .arg("--tests")
            .arg(&input.tests);
        command.args([
            "--quiet",
            "--model",
            "fake-judge",
            "--base-url",
            &server.base_url(),
            "--scorers",
            "rubric",
        ]);
        command.args([
            "--concurrency",
            &concurrency.to_string(),
            "--out",
            name,
            "--cache",
            &format!("{name}.sqlite"),
        ]);
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

    /// A run with an empty cache.
    fn cold(
        &self,
        program: &Program,
        input: &Input,
        server: &Server,
        concurrency: usize,
    ) -> Measured {
        self.remove("cold");
        let before = server.calls();
        measure(
            &mut self.score(program, input, server, concurrency, "cold"),
            || server.calls() - before,
        )
    }

    /// Bodies of a run, one of [`ONE_OF`], for the bare loop.
    fn bodies(&self, input: &Input) -> PathBuf {
        let server = Server::start(Manners {
            keeps_one_of: ONE_OF,
            ..Manners::default()
        });
        self.cold(&programs()[0], input, &server, NARROW);
        let kept = server.kept();
        let path = self.dir.path().join("bodies");
        let mean = bare::write_bodies(&path, kept.iter().map(|body| &body[..]));
        println!(
            "bodies: {} of {mean} bytes in the mean, from {} answers",
            kept.len(),
            input.count
        );
        path
    }

    /// Calls a second and CPU a call, by turns with the bare loop.
    fn beside(&self) {
        let input = self.input(sized(SHORT));
        let bodies = self.bodies(&input);
        let server = Server::start(Manners::default());
        for concurrency in [NARROW, WIDE] {
            let programs = programs();
            let mut runs: Vec<Vec<Measured>> = programs.iter().map(|_| Vec::new()).collect();
            let mut bare_runs = Vec::new();
            for _ in 0..ROUNDS {
                for (program, runs) in programs.iter().zip(&mut runs) {
                    runs.push(self.cold(program, &input, &server, concurrency));
                }
                let calls = runs[0][0].calls;
                let mut command =
                    bare::command(&server.base_url(), &bodies, concurrency, Some(calls));
                bare_runs.push(measure(&mut command, || calls));
            }
            for (program, runs) in programs.iter().zip(&runs) {
                println!(
                    "{}",
                    median_of(runs).row(&format!("0 ms, {concurrency} at once"), program.name)
                );
                let cpu = median(
                    runs.iter()
                        .zip(&bare_runs)
                        .map(|(run, bare)| run.cpu_a_call() / bare.cpu_a_call()),
                );
                let rate = median(
                    runs.iter()
                        .zip(&bare_runs)
                        .map(|(run, bare)| run.rate() / bare.rate()),
                );
                println!(
                    "    {cpu:.2} times the CPU and {rate:.2} times the rate of the bare loop (medians of {ROUNDS})"
                );
            }
            println!("{}", median_of(&bare_runs).row("", "bare loop"));
        }
    }

    /// A cold run, and the same calls from its cache into a new record; `samples` of every call.
    fn cached(&self, size: (usize, usize), samples: usize, rounds: usize) {
        let input = self.input(size);
        let server = Server::start(Manners::default());
        let programs = programs();
        let run = |program: &Program| {
            let before = server.calls();
            let mut command = self.score(program, &input, &server, NARROW, "cold");
            measure(command.args(["--samples", &samples.to_string()]), || {
                server.calls() - before
            })
        };
        self.remove("cold");
        let cold = run(&programs[0]);
        println!(
            "{}",
            cold.row(&format!("cold, {} answers", input.count), programs[0].name)
        );
        for program in &programs {
            let mut runs = Vec::new();
            for _ in 0..rounds {
                std::fs::remove_dir_all(self.dir.path().join("cold")).expect("an old record");
                let ran = run(program);
                assert_eq!(ran.calls, 0, "a run from cache asked the server");
                runs.push(Measured {
                    calls: cold.calls,
                    ..ran
                });
            }
            println!(
                "{}",
                median_of(&runs).row("from cache, new record", program.name)
            );
        }
        self.remove("cold");
    }

    /// Wall time under a latency, beside calls x latency / concurrency.
    fn latency(&self) {
        let input = self.input(sized(SHORT));
        let server = Server::start(Manners {
            latency: LATENCY,
            ..Manners::default()
        });
        for program in programs() {
            for concurrency in [NARROW, WIDE] {
                server.take_span();
                let begin = Instant::now();
                let run = self.cold(&program, &input, &server, concurrency);
                let ideal = run.calls as f64 * LATENCY.as_secs_f64() / concurrency as f64;
                println!(
                    "{}",
                    run.row(&format!("200 ms, {concurrency} at once"), program.name)
                );
                println!(
                    "    wall: {:.3} times calls x latency / concurrency = {ideal:.2} s",
                    run.wall / ideal
                );
                let (first, last) = server.take_span().expect("calls");
                let before = first.duration_since(begin).as_secs_f64();
                let asking = (last.duration_since(first) + LATENCY).as_secs_f64();
                let after = run.wall - before - asking;
                println!(
                    "    {before:.2} s until the first call, {asking:.2} s of calls, {after:.2} s after the last reply"
                );
            }
        }
    }

    /// Wall time under a quota of requests, which the server enforces.
    fn rate(&self) {
        let input = self.input(sized(SHORT));
        let manners = Manners {
            latency: Duration::from_millis(50),
            per_minute: Some(REQUESTS_PER_MINUTE),
            keeps_one_of: 0,
        };
        for program in programs() {
            let server = Server::start(manners);
            self.remove("cold");
            let mut command = self.score(&program, &input, &server, WIDE, "cold");
            let run = measure(
                command.args(["--rpm", &REQUESTS_PER_MINUTE.to_string()]),
                || server.calls(),
            );
            let ideal = run.calls as f64 / REQUESTS_PER_MINUTE as f64 * 60.0;
            println!(
                "{}",
                run.row(&format!("{REQUESTS_PER_MINUTE} a minute"), program.name)
            );
            let throttled = server.throttled();
            println!(
                "    wall: {:.3} times calls / quota = {ideal:.1} s; {throttled} times 429",
                run.wall / ideal
            );
        }
    }

    /// CPU of a run all of whose calls wait for a quota, from when they do.
    fn waiting(&self) {
        // Each answer has a call that waits.
        let input = Input::multiplied(self.dir.path(), Source::Sample, (30, 30));
        for program in programs() {
            let server = Server::start(Manners::default());
            self.remove("cold");
            let mut command = self.score(&program, &input, &server, WAITING, "cold");
            command
                .args(["--rpm", "60"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let mut child = command.spawn().expect("a child process");
            let cpu = || cpu_of(child.id()).expect("a running child");
            // Reading and planning is over when a call has come and the CPU stands still.
            while server.calls() < 3 {
                std::thread::sleep(Duration::from_millis(100));
            }
            std::thread::sleep(Duration::from_secs(2));
            let (before, calls) = (cpu(), server.calls());
            std::thread::sleep(WATCHED);
            let (used, sent) = (cpu() - before, server.calls() - calls);
            child.kill().expect("a child to be ended");
            child.wait().expect("the child's end");
            println!(
                "{WAITING} calls wait, {sent} leave in {} s: {:.0} ms of CPU, {:.3}% of one core ({})",
                WATCHED.as_secs(),
                1e3 * used,
                100.0 * used / WATCHED.as_secs_f64(),
                program.name
            );
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The run of median CPU.
fn median_of(runs: &[Measured]) -> Measured {
    let mut runs = runs.to_vec();
    runs.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
    runs[runs.len() / 2]
}

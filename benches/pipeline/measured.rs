//! One child process, watched to its end: wall time, CPU of user and system, peak memory. Read from `/proc`, so on Linux
//! only.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Ticks a second in `/proc/PID/stat`: fixed at 100 in what Linux shows to programs.
const TICKS: f64 = 100.0;
/// Time between two looks at the child.
const LOOK: Duration = Duration::from_millis(1);

/// What a child cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) calls: usize,
    /// Seconds.
    pub(crate) wall: f64,
    /// Seconds of user and system, all threads.
    pub(crate) cpu: f64,
    /// `VmHWM` in kB.
    pub(crate) peak: u64,
}

impl Measured {
    pub(crate) const HEAD: &'static str = "what                             who             calls   calls/s    wall s     CPU s  CPU/call us  peak MB";

    pub(crate) fn cpu_a_call(&self) -> f64 {
        self.cpu / self.calls.max(1) as f64
    }

    /// Calls a second.
    pub(crate) fn rate(&self) -> f64 {
        self.calls as f64 / self.wall
    }

    /// The run that took the least CPU: noise on a shared machine only adds. Its wall and memory go with it.
    pub(crate) fn least(runs: Vec<Self>) -> Self {
        runs.into_iter()
            .min_by(|a, b| a.cpu.total_cmp(&b.cpu))
            .expect("one run at least")
    }

    pub(crate) fn row(&self, what: &str, who: &str) -> String {
        format!(
            "{what:<32} {who:<12} {:>8} {:>9.0} {:>9.3} {:>9.2} {:>12.0} {:>8.1}",
            self.calls,
            self.rate(),
            self.wall,
            self.cpu,
            1e6 * self.cpu_a_call(),
            self.peak as f64 / 1024.0,
        )
    }
}

/// Runs `command` to its end and asks `calls` then. A child that fails ends the bench with its own words.
pub(crate) fn measure(command: &mut Command, calls: impl FnOnce() -> usize) -> Measured {
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("a child process");
    let proc = format!("/proc/{}", child.id());
    let mut peak = 0;
    // A child that has ended keeps its times, but not its memory, until it is waited for.
    let (state, cpu) = loop {
        let (state, cpu) =
            state_and_cpu(&fs::read_to_string(format!("{proc}/stat")).expect("Linux's /proc"));
        if state == 'Z' {
            break (state, cpu);
        }
        let status = fs::read_to_string(format!("{proc}/status")).unwrap_or_default();
        peak = high_water_mark(&status).unwrap_or(peak).max(peak);
        std::thread::sleep(LOOK);
    };
    let wall = started.elapsed().as_secs_f64();
    let status = child.wait().expect("the child's end");
    assert!(
        status.success(),
        "the child ended with {status} (state {state}): {command:?}"
    );
    Measured {
        calls: calls(),
        wall,
        cpu,
        peak,
    }
}

/// CPU seconds of a process so far; `None` if it has gone.
pub(crate) fn cpu_of(process: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    Some(state_and_cpu(&stat).1)
}

/// The state letter, and the seconds of user and system time, of a line of `/proc/PID/stat`.
fn state_and_cpu(stat: &str) -> (char, f64) {
    // The name in brackets may hold anything; what follows its last bracket is fields 3, 4, ..
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .expect("a name in brackets")
        .1
        .split_whitespace()
        .collect();
    let ticks = |field: usize| fields[field - 3].parse::<f64>().expect("a number");
    (
        fields[0].chars().next().expect("a state"),
        (ticks(14) + ticks(15)) / TICKS,
    )
}

fn high_water_mark(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

//! Runs a target on one input after the other, and names the input that it fails on.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use super::mutation::mutated;

/// Inputs of a run without a time.
const INPUTS: u64 = 50;
/// An input that takes longer hangs; far beyond what a slow machine needs.
const HANG: Duration = Duration::from_secs(180);
/// So much memory for an input of at most 64 kB is a fault.
const MEMORY: u64 = 1 << 30;

/// What reads an input.
type Target = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Reads the corpus of `name`, then mutations of it.
#[track_caller]
pub(super) fn fuzz(name: &'static str, target: impl Fn(&[u8]) + Send + Sync + 'static) {
    let corpus = corpus(name);
    let target: Target = Arc::new(target);
    for (file, input) in &corpus {
        read(&format!("{name}, file {file}"), input, &target);
    }
    let seconds = number("SCHOLAREVAL_FUZZ_SECONDS");
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let new = || {
        SystemTime::UNIX_EPOCH
            .elapsed()
            .map_or(0, |time| time.as_nanos() as u64 >> 10)
    };
    let first = number("SCHOLAREVAL_FUZZ_SEED")
        .unwrap_or_else(|| if seconds.is_some() { new() } else { 0 });
    let mut count = 0;
    while if seconds.is_some() {
        Instant::now() < end
    } else {
        count < INPUTS
    } {
        let seed = first.wrapping_add(count);
        read(
            &format!("{name}, seed {seed}"),
            &mutated(&corpus, seed),
            &target,
        );
        count += 1;
    }
    eprintln!("{name}: {count} inputs from seed {first}");
}

fn number(variable: &str) -> Option<u64> {
    Some(
        std::env::var(variable)
            .ok()?
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is not a whole number")),
    )
}

/// The files of a target by name.
fn corpus(name: &str) -> Vec<(String, Vec<u8>)> {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let mut dirs = vec![format!("{fixtures}/fuzz/{name}")];
    if name == "prompts" {
        dirs.push(format!("{fixtures}/prompts/checkout/scripts"));
    }
    let entries = dirs
        .iter()
        .flat_map(|dir| std::fs::read_dir(dir).unwrap_or_else(|error| panic!("{dir}: {error}")));
    let files = entries.map(|entry| {
        let entry = entry.unwrap();
        (
            entry.file_name().into_string().unwrap(),
            std::fs::read(entry.path()).unwrap(),
        )
    });
    let mut files: Vec<_> = files.collect();
    files.sort();
    assert!(!files.is_empty(), "no files of {name}");
    files
}

/// Reads one input on a thread of its own, whose name a panic and an overflow of the stack print.
#[track_caller]
fn read(name: &str, input: &[u8], target: &Target) {
    let before = peak_memory();
    let (done, ended) = channel();
    let (copy, target) = (input.to_vec(), Arc::clone(target));
    let work = move || {
        target(&copy);
        let _ = done.send(());
    };
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .unwrap();
    let fault = match ended.recv_timeout(HANG) {
        Ok(()) if peak_memory().saturating_sub(before) > MEMORY => "took more than 1 GiB of memory",
        Ok(()) => return,
        Err(RecvTimeoutError::Disconnected) => "panicked",
        Err(RecvTimeoutError::Timeout) => "hangs",
    };
    panic!("{name}: {fault}; the input: b\"{}\"", input.escape_ascii());
}

/// The most memory that this process had so far, in bytes; 0 where the system does not report it.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    });
    peak.map_or(0, |kilobytes: u64| kilobytes << 10)
}

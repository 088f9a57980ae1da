//! The states in which a kill or a power cut can leave a run: prefixes of what it writes to its record and to the cache,
//! each file cut on its own, since nothing but a sync orders them. From each of them the same command comes to the same
//! scores, and pays for nothing whose reply is still in one of the two.

use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rusqlite::Connection;
use serde_json::Value;

use crate::support::fake_server::Gate;
use crate::support::workspace::wait_until;

use super::{Behaviour, CALM, CASES, FakeServer, SYSTEMS, Workspace};

const CACHE: &str = "c.sqlite";
const LOG: &str = "c.sqlite-wal";
/// Of the log of an SQLite file: its head, and a frame with a page of 4,096 bytes.
const LOG_HEAD: usize = 32;
const FRAME: usize = 24 + 4096;
/// States in the middle of a run.
const CUTS: usize = 20;

/// Files by their path in the workspace.
type Files = BTreeMap<String, Vec<u8>>;

/// What a run wrote until it was killed, and what it had written in the end.
struct History {
    work: Workspace,
    server: FakeServer,
    arguments: &'static [&'static str],
    killed: Files,
    finished: Files,
    random: ChaCha8Rng,
}

impl History {
    fn of(arguments: &'static [&'static str]) -> Self {
        let work = Workspace::new(&SYSTEMS, CASES);
        let most = CALM.calls - 6;
        let server = FakeServer::start(Behaviour::good().behind(&Gate::after(most)));
        let mut run = work.spawn_score(&server, arguments);
        wait_until("most is paid", || server.chat_count() > most);
        run.kill().unwrap();
        run.wait().unwrap();
        let killed = files(&work);
        let server = server.replaced_by(Behaviour::good());
        work.score(&server, arguments).exits_with(0);
        let finished = files(&work);
        Self {
            work,
            server,
            arguments,
            killed,
            finished,
            random: ChaCha8Rng::seed_from_u64(12),
        }
    }

    /// A prefix of a file of the finished record.
    fn prefix(&mut self, name: &str) -> Vec<u8> {
        let whole = &self.finished[&format!("out/{name}")];
        whole[..self.random.random_range(0..=whole.len())].to_vec()
    }

    /// The cache with its log up to some frame or byte, without a log, or lost.
    fn cache(&mut self) -> Files {
        let (Some(file), Some(log)) = (self.killed.get(CACHE), self.killed.get(LOG)) else {
            return Files::new();
        };
        let bytes = match self.random.random_range(0..8) {
            0 => return Files::new(),
            1 => 0,
            2 => self.random.random_range(0..=log.len()),
            _ => LOG_HEAD + FRAME * self.random.random_range(0..=(log.len() - LOG_HEAD) / FRAME),
        };
        Files::from([
            (CACHE.to_owned(), file.clone()),
            (LOG.to_owned(), log[..bytes].to_vec()),
        ])
    }

    /// Puts these files in the run's place, beside some prefix of the cache, and gives the same command again.
    #[track_caller]
    fn settles(&mut self, what: &str, record: &[(&str, Vec<u8>)]) {
        let _ = std::fs::remove_dir_all(self.work.path("out"));
        for name in [CACHE, LOG, "c.sqlite-shm"] {
            let _ = std::fs::remove_file(self.work.path(name));
        }
        std::fs::create_dir(self.work.path("out")).unwrap();
        let cache = self.cache();
        for (name, bytes) in &cache {
            std::fs::write(self.work.path(name), bytes).unwrap();
        }
        for (name, bytes) in record {
            std::fs::write(self.work.path("out").join(name), bytes).unwrap();
        }
        let sizes = |name: &str| cache.get(name).map_or(0, Vec::len);
        let what = format!(
            "{what}, cache of {} and log of {} bytes",
            sizes(CACHE),
            sizes(LOG)
        );
        let kept = kept(&self.work);
        let before = self.server.chat_count();
        let done = self.work.score(&self.server, self.arguments);
        assert_eq!(done.code, Some(0), "{what}: {}", done.stderr);
        assert_eq!(
            self.server.chat_count() - before,
            CALM.calls - kept.len(),
            "{what}: calls that were paid"
        );
        assert_eq!(self.work.read("out/scores.jsonl"), CALM.scores, "{what}");
        assert_eq!(done.stdout, CALM.stdout, "{what}");
        assert_eq!(
            self.work.lines("out/calls.jsonl").len(),
            CALM.calls,
            "{what}"
        );
        assert_eq!(
            self.work.json("out/manifest.json")["status"],
            "complete",
            "{what}"
        );
    }
}

/// The record and the cache.
fn files(work: &Workspace) -> Files {
    let root = work.path("");
    let name = |path: &std::path::Path| {
        path.strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    let all = work
        .files()
        .into_iter()
        .map(|(path, bytes)| (name(&path), bytes));
    all.filter(|(name, _)| name.starts_with("out/") || name == CACHE || name == LOG)
        .collect()
}

/// The calls whose reply is in the record or in the cache.
fn kept(work: &Workspace) -> BTreeSet<String> {
    let calls = std::fs::read(work.path("out/calls.jsonl")).unwrap_or_default();
    let lines = calls
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"));
    let calls = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let replied = calls.filter(|call| !call["reply"].is_null());
    let mut kept: BTreeSet<String> = replied
        .map(|call| call["fingerprint"].as_str().unwrap().to_owned())
        .collect();
    if work.path(CACHE).exists() {
        // a copy, so that looking changes nothing
        let copy = tempfile::tempdir().unwrap();
        for name in [CACHE, LOG] {
            std::fs::copy(work.path(name), copy.path().join(name)).unwrap();
        }
        let cache = Connection::open(copy.path().join(CACHE)).unwrap();
        let mut keys = cache
            .prepare("SELECT lower(hex(key)) FROM replies")
            .unwrap();
        kept.extend(
            keys.query_map([], |row| row.get::<_, String>(0))
                .unwrap()
                .map(Result::unwrap),
        );
    }
    kept
}

fn half(bytes: &[u8]) -> Vec<u8> {
    bytes[..bytes.len() / 2].to_vec()
}

fn every_prefix_settles(arguments: &'static [&'static str]) {
    let mut history = History::of(arguments);
    let of = |files: &Files, name: &str| files[&format!("out/{name}")].clone();
    let running = of(&history.killed, "manifest.json");
    assert!(String::from_utf8_lossy(&running).contains("\"running\""));
    let [complete, inputs, calls, scores, items] = [
        "manifest.json",
        "inputs.jsonl",
        "calls.jsonl",
        "scores.jsonl",
        "items.csv",
    ]
    .map(|name| of(&history.finished, name));
    let manifest = ("manifest.json", running.clone());

    history.settles("an empty directory", &[]);
    history.settles(
        "half of the first manifest",
        &[(".manifest.json.partial", half(&running))],
    );
    history.settles("the manifest alone", std::slice::from_ref(&manifest));
    let begun = [
        manifest.clone(),
        ("calls.jsonl", Vec::new()),
        ("scores.jsonl", Vec::new()),
    ];
    history.settles("no inputs", &begun);
    history.settles(
        "half of the inputs",
        &[&begun[..], &[(".inputs.jsonl.partial", half(&inputs))]].concat(),
    );

    let inputs = ("inputs.jsonl", inputs);
    for cut in 0..CUTS {
        let (mut calls, scores) = (
            history.prefix("calls.jsonl"),
            history.prefix("scores.jsonl"),
        );
        let what = format!(
            "cut {cut}: {} bytes of calls, {} of scores",
            calls.len(),
            scores.len()
        );
        // the length of a file was written, and some of its bytes were not
        match cut % 4 {
            0 => calls.extend([0; 64]),
            1 => calls
                .iter_mut()
                .skip(700)
                .take(64)
                .for_each(|byte| *byte = 0),
            _ => {}
        }
        let record = [
            manifest.clone(),
            inputs.clone(),
            ("calls.jsonl", calls),
            ("scores.jsonl", scores),
        ];
        history.settles(&what, &record);
    }

    let asked = [
        manifest.clone(),
        inputs.clone(),
        ("calls.jsonl", calls.clone()),
    ];
    history.settles(
        "half of the sorted calls",
        &[&asked[..], &[(".calls.jsonl.partial", half(&calls))]].concat(),
    );
    history.settles(
        "half of the scores",
        &[&asked[..], &[(".scores.jsonl.partial", half(&scores))]].concat(),
    );
    let scored = [&asked[..], &[("scores.jsonl", scores.clone())]].concat();
    history.settles("no last manifest", &scored);
    history.settles(
        "half of the last manifest",
        &[&scored[..], &[(".manifest.json.partial", half(&complete))]].concat(),
    );
    let finished = [&scored[1..], &[("manifest.json", complete)]].concat();
    history.settles("no tables", &finished);
    history.settles(
        "half of a table",
        &[&finished[..], &[(".items.csv.partial", half(&items))]].concat(),
    );
}

#[test]
fn every_prefix_of_what_a_run_writes_is_continued_and_paid_once() {
    every_prefix_settles(&["--cache", CACHE, "--concurrency", "4"]);
}

#[test]
fn every_prefix_of_what_a_run_without_a_cache_writes_is_continued_and_paid_once() {
    every_prefix_settles(&["--no-cache", "--concurrency", "4"]);
}

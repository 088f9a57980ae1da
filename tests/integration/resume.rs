//! Runs that end early, and what the same command does afterwards: kills, signals, two processes, full disks.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::fake_server::{Act, Behaviour, FakeServer, Gate};
use crate::support::workspace::{AT_MOST, Finished, Running, Workspace, scoring, wait_until};

const SYSTEMS: [&str; 2] = ["alpha", "beta"];
const CASES: usize = 4;
/// Calls in flight at once.
const PLACES: &str = "4";
const IN_FLIGHT: usize = 4;

/// A judge whose scores differ from call to call, slow enough for calls to be on their way side by side.
fn slow() -> Behaviour {
    Behaviour::good().latency(Duration::from_millis(20))
}

/// The calls and scores of a run that nobody disturbs.
struct Undisturbed {
    calls: usize,
    scores: String,
    stdout: String,
}

fn undisturbed() -> Undisturbed {
    let work = Workspace::new(&SYSTEMS, CASES);
    let server = FakeServer::start(Behaviour::good());
    let done = work.score(&server, &[]).exits_with(0);
    let calls = server.chat_count();
    assert!((SYSTEMS.len() * CASES * 4..=SYSTEMS.len() * CASES * AT_MOST).contains(&calls));
    Undisturbed {
        calls,
        scores: work.read("out/scores.jsonl"),
        stdout: done.stdout,
    }
}

/// How often each body was sent, beyond once.
fn sent_again(server: &FakeServer) -> usize {
    let mut bodies: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for chat in server.chats() {
        *bodies.entry(chat.body).or_default() += 1;
    }
    bodies.values().map(|times| times - 1).sum()
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success(), "kill {name}");
}

/// Lets a run come so far that `calls` of its requests are answered; the next ones (up to [`IN_FLIGHT`]) are sent, and get
/// no reply before `gate`, behind which the server stands, is opened.
fn begin(
    work: &Workspace,
    (server, gate): (&FakeServer, &Gate),
    calls: usize,
    more: &[&str],
) -> Child {
    let before = server.chat_count();
    gate.hold(before + calls..usize::MAX);
    let child = work.spawn_score(server, &[&["--concurrency", PLACES], more].concat());
    wait_until("the run has asked so much", || {
        server.chat_count() > before + calls
    });
    child
}

/// A slow judge behind a gate that is open.
fn gated() -> (FakeServer, Gate) {
    let gate = Gate::holding(0..0);
    (FakeServer::start(slow().behind(&gate)), gate)
}

/// Sends a signal to a run, and lets it have the replies that are on their way once it has heard it.
fn stop(child: Child, name: &str, gate: &Gate) -> Finished {
    signal(&child, name);
    let mut run = Running::of(child);
    run.comes_to_say("stopping: calls in flight may finish");
    gate.open();
    run.finish()
}

fn finish(child: Child) -> Finished {
    Finished::of(child.wait_with_output().unwrap())
}

#[test]
fn a_killed_run_finishes_and_pays_no_whole_reply_twice() {
    let expected = undisturbed();
    for (calls, more) in [
        (1, &[][..]),
        (11, &[]),
        (expected.calls - 6, &[]),
        // without a cache the record is where paid replies are found
        (1, &["--no-cache"]),
        (17, &["--no-cache"]),
        (expected.calls - 6, &["--no-cache"]),
    ] {
        let work = Workspace::new(&SYSTEMS, CASES);
        let (server, gate) = gated();
        let mut child = begin(&work, (&server, &gate), calls, more);
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().code(), None, "killed at call {calls}");
        assert_eq!(work.json("out/manifest.json")["status"], "running");
        let sent = server.chat_count();
        assert!(
            sent < expected.calls,
            "the run was over before the kill at call {calls}"
        );
        gate.open();
        let done = work.score(&server, more).exits_with(0);
        let again = sent_again(&server);
        assert!(
            again <= IN_FLIGHT,
            "{again} calls were sent twice, killed at call {calls} {more:?}"
        );
        assert_eq!(
            server.chat_count() - again,
            expected.calls,
            "killed at call {calls} {more:?}"
        );
        assert_eq!(
            work.read("out/scores.jsonl"),
            expected.scores,
            "killed at call {calls} {more:?}"
        );
        assert_eq!(done.stdout, expected.stdout);
        assert_eq!(work.lines("out/calls.jsonl").len(), expected.calls);
        assert_eq!(work.json("out/manifest.json")["status"], "complete");
    }
}

#[test]
fn a_run_that_is_killed_again_and_again_comes_to_its_end() {
    let expected = undisturbed();
    let work = Workspace::new(&SYSTEMS, CASES);
    let (server, gate) = gated();
    for _ in 0..4 {
        let mut child = begin(&work, (&server, &gate), 6, &[]);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    gate.open();
    work.score(&server, &[]).exits_with(0);
    assert!(sent_again(&server) <= 4 * IN_FLIGHT);
    assert_eq!(work.read("out/scores.jsonl"), expected.scores);
}

#[test]
fn a_torn_last_line_of_the_record_is_mended() {
    let expected = undisturbed();
    for more in [&[][..], &["--no-cache"]] {
        let work = Workspace::new(&SYSTEMS, CASES);
        let server = FakeServer::start(Behaviour::good());
        work.score(&server, more).exits_with(0);
        let calls = work.read("out/calls.jsonl");
        let torn = calls.len() - 40;
        work.write("out/calls.jsonl", &calls[..torn]);
        work.score(&server, more).exits_with(0);
        assert_eq!(work.lines("out/calls.jsonl").len(), expected.calls);
        assert_eq!(work.read("out/scores.jsonl"), expected.scores);
        assert_eq!(
            sent_again(&server),
            usize::from(!more.is_empty()),
            "without a cache the torn reply is lost"
        );
    }
}

#[test]
fn a_signal_stops_the_run_cleanly_and_the_same_command_asks_only_the_rest() {
    let expected = undisturbed();
    for (name, more) in [
        ("-TERM", &[][..]),
        ("-INT", &[]),
        ("-USR1", &[]),
        ("-TERM", &["--no-cache"]),
        ("-INT", &["--no-cache"]),
    ] {
        let work = Workspace::new(&SYSTEMS, CASES);
        let (server, gate) = gated();
        let child = begin(&work, (&server, &gate), 14, more);
        let stopped = stop(child, name, &gate).exits_with(7);
        let told = format!("stopped: SIG{}; ", &name[1..]);
        let stopped = stopped.says(&[
            &told,
            "of 8 scores are done",
            "the same command continues from there",
        ]);
        assert_eq!(stopped.stdout, "", "no table of half a run");
        assert_eq!(work.json("out/manifest.json")["status"], "stopped");
        assert!(server.chat_count() < expected.calls);
        let done = work.score(&server, more).exits_with(0);
        // what was in flight was waited for, and is kept
        assert_eq!(
            (server.chat_count(), sent_again(&server)),
            (expected.calls, 0),
            "{name} {more:?}"
        );
        assert_eq!(work.read("out/scores.jsonl"), expected.scores);
        assert_eq!(done.stdout, expected.stdout);
    }
}

#[test]
fn a_second_signal_ends_the_run_at_once() {
    let work = Workspace::new(&["alpha"], 1);
    // the first reply never comes: a clean stop would wait for it
    let server = FakeServer::start(Behaviour::always(Act::Silent));
    let child = begin(&work, (&server, &Gate::after(0)), 0, &[]);
    signal(&child, "-INT");
    // until the first one is told, a second one is the same
    let mut child = child;
    wait_until("the second signal has ended it", || {
        signal(&child, "-INT");
        std::thread::sleep(Duration::from_millis(20));
        child.try_wait().unwrap().is_some()
    });
    finish(child)
        .exits_with(7)
        .says(&["the same command continues"]);
}

/// The replies in a copy of the cache's file, without the log beside it.
fn replies_in_copy(work: &Workspace) -> usize {
    std::fs::copy(work.path("c.sqlite"), work.path("copy.sqlite")).unwrap();
    let copy = rusqlite::Connection::open(work.path("copy.sqlite")).unwrap();
    let count: i64 = copy
        .query_row("SELECT count(*) FROM replies", [], |row| row.get(0))
        .unwrap();
    usize::try_from(count).unwrap()
}

#[test]
fn however_a_run_ends_its_cache_can_be_copied() {
    let cache = ["--cache", "c.sqlite"];
    let work = Workspace::new(&SYSTEMS, CASES);
    let server = FakeServer::start(Behaviour::good());
    work.score(&server, &cache).exits_with(0);
    assert_eq!(replies_in_copy(&work), server.chat_count());

    // the key is revoked
    let work = Workspace::new(&SYSTEMS, CASES);
    let revoked = Act::error(401, "invalid_api_key", "revoked");
    let judge = (11..99).fold(Behaviour::good(), |judge, call| {
        judge.nth(call, revoked.clone())
    });
    let server = FakeServer::start(judge);
    let alone = [&cache[..], &["--concurrency", "1"]].concat();
    work.score(&server, &alone).exits_with(4);
    assert_eq!(replies_in_copy(&work), 11);

    // one signal, and the calls in flight may finish
    for name in ["-TERM", "-QUIT", "-XCPU"] {
        let work = Workspace::new(&SYSTEMS, CASES);
        let (server, gate) = gated();
        let child = begin(&work, (&server, &gate), 9, &cache);
        stop(child, name, &gate).exits_with(7);
        assert_eq!(replies_in_copy(&work), server.chat_count(), "{name}");
    }

    // two signals, and nothing is waited for
    let work = Workspace::new(&SYSTEMS, CASES);
    let (server, gate) = gated();
    let mut child = begin(&work, (&server, &gate), 9, &cache);
    wait_until("all its places wait for replies", || {
        server.chat_count() == 9 + IN_FLIGHT
    });
    wait_until("the second signal has ended it", || {
        signal(&child, "-TERM");
        std::thread::sleep(Duration::from_millis(20));
        child.try_wait().unwrap().is_some()
    });
    finish(child).exits_with(7);
    assert_eq!(replies_in_copy(&work), 9);
}

/// A scheduler may suspend a process for longer than its time-out, while the judge answers.
#[test]
fn a_suspended_run_reads_what_arrived_before_it_asks_again() {
    let expected = undisturbed();
    let work = Workspace::new(&SYSTEMS, CASES);
    let (server, gate) = gated();
    let more = ["--timeout", "2s"];
    let child = begin(&work, (&server, &gate), 9, &more);
    wait_until("all its places wait for replies", || {
        server.chat_count() == 9 + IN_FLIGHT
    });
    signal(&child, "-STOP");
    gate.open();
    std::thread::sleep(Duration::from_millis(3_500));
    signal(&child, "-CONT");
    finish(child).exits_with(0);
    assert_eq!(
        (server.chat_count(), sent_again(&server)),
        (expected.calls, 0)
    );
}

#[test]
fn a_stopped_run_can_be_scored_as_far_as_it_came() {
    let work = Workspace::new(&SYSTEMS, CASES);
    let (server, gate) = gated();
    let child = begin(&work, (&server, &gate), 20, &[]);
    stop(child, "-TERM", &gate).exits_with(7);
    let there: Vec<serde_json::Value> = work.lines("out/scores.jsonl");
    let done = work
        .run(&["rescore", "out", "--out", "half", "--max-unscored", "1"])
        .exits_with(0);
    done.says(&["warning: the run did not finish; what is missing is unscored here"]);
    let half = work.lines("half/scores.jsonl");
    assert_eq!(half.len(), SYSTEMS.len() * CASES);
    assert_eq!(
        work.json("half/manifest.json")["status"],
        "stopped",
        "scoring what is there does not finish a run"
    );
    for score in &there {
        assert!(half.contains(score), "{score}");
    }
    let unscored = half.iter().filter(|score| score["score"].is_null());
    assert!(unscored.clone().count() > 0);
    for score in unscored {
        let kinds: Vec<&serde_json::Value> = score["details"]
            .as_object()
            .unwrap()
            .values()
            .map(|detail| &detail["unscored"]["kind"])
            .collect();
        assert!(kinds.iter().any(|kind| *kind == "not_asked"), "{score}");
    }
}

#[test]
fn two_processes_with_the_same_work_on_one_cache_ask_everything_once() {
    let expected = undisturbed();
    let work = Workspace::new(&SYSTEMS, CASES);
    let server = FakeServer::start(slow());
    let runs = ["one", "two"]
        .map(|out| work.spawn_score(&server, &["--concurrency", PLACES, "--out", out]));
    let [one, two] = runs.map(|run| finish(run).exits_with(0));
    assert_eq!(
        (server.chat_count(), sent_again(&server)),
        (expected.calls, 0)
    );
    for out in ["one", "two"] {
        assert_eq!(
            work.read(&format!("{out}/scores.jsonl")),
            expected.scores,
            "{out}"
        );
        assert_eq!(
            work.lines(&format!("{out}/calls.jsonl")).len(),
            expected.calls,
            "{out}"
        );
    }
    assert_eq!(one.stdout, two.stdout);
}

#[test]
fn a_process_waits_for_the_calls_of_another_and_takes_over_when_it_dies() {
    let expected = undisturbed();
    let work = Workspace::new(&SYSTEMS, CASES);
    let (server, gate) = gated();
    let mut killed = begin(&work, (&server, &gate), 6, &["--out", "one"]);
    wait_until("all its places wait for replies", || {
        server.chat_count() == 6 + IN_FLIGHT
    });
    // those four get none, what the other process asks is answered
    gate.hold(6..6 + IN_FLIGHT);
    let other = work.spawn_score(&server, &["--concurrency", "8", "--out", "two"]);
    wait_until("both have asked", || server.chat_count() >= 14);
    let mut other = Running::of(other);
    other.comes_to_say(&format!("waiting for process {}", killed.id()));
    assert_eq!(
        sent_again(&server),
        0,
        "what one process asks the other waits for"
    );
    killed.kill().unwrap();
    killed.wait().unwrap();
    other.finish().exits_with(0);
    assert_eq!(
        sent_again(&server),
        IN_FLIGHT,
        "the calls that died with their process"
    );
    assert_eq!(work.read("two/scores.jsonl"), expected.scores);
}

/// `/dev/full` takes nothing: writing to it fails as on a full disk.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_an_output_is_an_error_and_the_record_is_whole() {
    let expected = undisturbed();
    let work = Workspace::new(&SYSTEMS, CASES);
    let server = FakeServer::start(Behaviour::good());
    let full = "No space left on device";
    let done = work
        .score(&server, &["--output", "/dev/full"])
        .exits_with(3)
        .says(&["/dev/full", full]);
    assert_eq!(done.stdout, "");
    assert_eq!(work.read("out/scores.jsonl"), expected.scores);
    let url = server.base_url();
    let to_full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_scholareval"))
        .env_clear()
        .current_dir(work.path("."))
        .args(scoring(&url, &[]))
        .stdout(Stdio::from(to_full))
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    Finished::of(output)
        .exits_with(3)
        .says(&["standard output", full]);
    assert_eq!(server.chat_count(), expected.calls, "nothing is paid twice");
}

/// Runs the program where no file may be larger than so many blocks of 1,024 bytes. The signal that goes with the limit
/// kills a process that does not handle it.
fn with_small_files(work: &Workspace, blocks: usize, arguments: &[&str]) -> Finished {
    let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let output = Command::new("bash")
        .args(["-c", &script, env!("CARGO_BIN_EXE_scholareval")])
        .args(arguments)
        .env_clear()
        .current_dir(work.path("."))
        .output()
        .unwrap();
    Finished::of(output)
}

/// 5 pages of 4 KiB are the tables, and the index of the log takes 32 KiB.
#[test]
#[cfg(target_os = "linux")]
fn a_cache_that_cannot_be_made_is_an_error_and_is_made_when_there_is_room() {
    for blocks in [1, 8, 16, 24] {
        let work = Workspace::new(&["alpha"], 1);
        let server = FakeServer::start(Behaviour::good());
        let url = server.base_url();
        with_small_files(&work, blocks, &scoring(&url, &["--cache", "c.sqlite"]))
            .exits_with(3)
            .says(&["error: cache c.sqlite: cannot", "ulimit -f"]);
        work.score(&server, &["--cache", "c.sqlite"]).exits_with(0);
    }
}

/// A limit on the size of files stands for a full disk: the cache or the record cannot grow.
#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_fills_midway_stops_the_run_and_loses_nothing_that_was_kept() {
    let expected = undisturbed();
    for (limit, more) in [(120, &[][..]), (20, &["--no-cache"])] {
        let work = Workspace::new(&SYSTEMS, CASES);
        let server = FakeServer::start(slow());
        let url = server.base_url();
        let more_of_it = [&["--concurrency", PLACES], more].concat();
        let stopped = with_small_files(&work, limit, &scoring(&url, &more_of_it)).exits_with(3);
        let sent = server.chat_count();
        assert!(
            (1..expected.calls).contains(&sent),
            "{sent} calls before the limit: {}",
            stopped.stderr
        );
        work.score(&server, more).exits_with(0);
        assert!(
            sent_again(&server) <= 2 * IN_FLIGHT,
            "{} calls were sent twice",
            sent_again(&server)
        );
        assert_eq!(work.read("out/scores.jsonl"), expected.scores);
    }
}

//! `kill -9` at random moments, and what the resumed runs pay again.

use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::support::fake_server::Gate;
use crate::support::workspace::wait_until;

use super::mixed::passing_mixture;
use super::protocol::{CHAT, RAW, STREAM};
use super::{Calm, FakeServer, Ledger, Protocol, SYSTEMS, Workspace, every_call_is_accounted_for};

const KILLS: usize = 20;
const PLACES: &str = "8";
const IN_FLIGHT: usize = 8;
/// So many calls after the one at which it is to be killed a run stands still, until it is.
const BEYOND: usize = 40;

/// Kills a run `KILLS` times, at moments drawn from `seed`, and lets the last one finish.
#[track_caller]
fn survives(protocol: Protocol, cases: usize, seed: u64, is_under_fire: bool, more: &[&str]) {
    let more = protocol.arguments(&[&["--concurrency", PLACES], more].concat());
    let (work, ledger, calm) = (
        Workspace::new(&SYSTEMS, cases),
        Ledger::over(protocol),
        Calm::over(protocol, cases),
    );
    let faults = passing_mixture("killed");
    let judge = ledger.judge(move |asked| if is_under_fire { faults(asked) } else { None });
    let gate = Gate::holding(0..0);
    let server = FakeServer::start(judge.latency(Duration::from_millis(4)).behind(&gate));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for kill in 1..=KILLS {
        // of what is left, so that the last kill still finds work
        let (before, left) = (server.chat_count(), calm.calls - ledger.bodies());
        let longest = left / (KILLS + 3 - kill);
        let goal = before + random.random_range(0..=longest);
        // however late the kill comes: each call that is left is sent once at least, and the last of them gets no reply
        gate.hold((goal + BEYOND).min(before + left - 1)..usize::MAX);
        let pause = Duration::from_micros(random.random_range(0..8_000));
        let mut run = work.spawn_score(&server, &more);
        wait_until("the run has come so far", || {
            server.chat_count() >= goal || run.try_wait().unwrap().is_some()
        });
        std::thread::sleep(pause);
        run.kill().unwrap();
        assert_eq!(
            run.wait().unwrap().code(),
            None,
            "kill {kill}: the run was over before it"
        );
        let again = ledger.paid_again();
        assert!(
            again <= kill * IN_FLIGHT,
            "{again} replies were sent twice after {kill} kills"
        );
    }
    assert!(
        ledger.bodies() < calm.calls,
        "nothing was left after the last kill"
    );
    gate.open();
    work.score(&server, &more).exits_with(0);
    let again = ledger.paid_again();
    assert!(
        again <= KILLS * IN_FLIGHT,
        "{again} replies were sent twice"
    );
    every_call_is_accounted_for(&work);
    assert_eq!(ledger.bodies(), calm.calls);
    assert_eq!(server.chat_count(), calm.calls + again + ledger.faults());
    assert_eq!(work.lines("out/calls.jsonl").len(), calm.calls);
    assert_eq!(work.read("out/scores.jsonl"), calm.scores);
    let sent = server.chat_count();
    let repeated = work
        .score(&server, &more)
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!((server.chat_count(), repeated.stdout), (sent, calm.stdout));
}

#[test]
fn twenty_kills_of_a_run_of_two_thousand_calls() {
    survives(CHAT, 200, 1, false, &[]);
}

#[test]
fn twenty_kills_of_a_run_of_raw_completions_without_a_cache() {
    survives(RAW, 60, 2, false, &["--no-cache"]);
}

#[test]
fn twenty_kills_of_a_run_of_streams_under_fire() {
    survives(STREAM, 40, 3, true, &[]);
}

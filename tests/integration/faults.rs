//! The fault matrix: everything that an endpoint, a disk or a machine does to a run, and what the run makes of it.
//!
//! Each fault comes alone and all of them come mixed, through the whole program. Afterwards every call is a verdict or
//! unscored with a reason, or the run stopped and the same command finishes it; no call whose reply arrived whole was
//! sent again; the scores are those of a run that nobody disturbed.

mod alone;
mod batches;
mod broken_cache;
mod disk;
mod kills;
mod ledger;
mod llmock;
mod mixed;
mod prefixes;
mod protocol;
mod reach;
mod stops;

use std::sync::LazyLock;

use serde_json::Value;

use crate::support::fake_server::{Act, Behaviour, FakeServer};
use crate::support::workspace::{Finished, Workspace};

use ledger::{Asked, Fault, Ledger};
use protocol::{CHAT, Protocol, RAW};

const SYSTEMS: [&str; 2] = ["alpha", "beta"];
const CASES: usize = 4;

/// A run that nobody disturbs.
struct Calm {
    calls: usize,
    scores: String,
    stdout: String,
}

impl Calm {
    fn run(cases: usize) -> Self {
        Self::over(CHAT, cases)
    }

    fn over(protocol: Protocol, cases: usize) -> Self {
        let work = Workspace::new(&SYSTEMS, cases);
        let server = FakeServer::start(protocol.judge());
        let done = work.score(&server, &protocol.arguments(&[])).exits_with(0);
        Self {
            calls: server.chat_count(),
            scores: work.read("out/scores.jsonl"),
            stdout: done.stdout,
        }
    }
}

/// Of the cases that most tests use.
static CALM: LazyLock<Calm> = LazyLock::new(|| Calm::run(CASES));

/// The same by raw completions, whose prompts differ.
static CALM_RAW: LazyLock<Calm> = LazyLock::new(|| Calm::over(RAW, CASES));

/// The values alone: `scores.jsonl` also tells what the reference would have made of the first replies, and remarks under
/// the table do so, too; unreadable first replies change that and nothing else.
fn values(scores: &str) -> Vec<Value> {
    let value = |line: &str| {
        let score: Value = serde_json::from_str(line).unwrap();
        ["system", "case_id", "score", "ann_score", "components"]
            .iter()
            .map(|member| score[*member].clone())
            .collect()
    };
    scores.lines().map(value).collect()
}

/// The lines without their notes: a body that is not a completion may be asked again with a schema, which is noted.
fn without_notes(scores: &str) -> Vec<Value> {
    let line = |line: &str| {
        let mut score: Value = serde_json::from_str(line).unwrap();
        score.as_object_mut().unwrap().remove("notes");
        score
    };
    scores.lines().map(line).collect()
}

/// The table without the remarks under it.
fn table(stdout: &str) -> &str {
    stdout
        .split_once("\n\n- ")
        .map_or(stdout, |(table, _)| table)
}

/// Every recorded call has a reply or a reason.
#[track_caller]
fn every_call_is_accounted_for(work: &Workspace) {
    for call in work.lines("out/calls.jsonl") {
        let has_reason = call["unscored"]["message"]
            .as_str()
            .is_some_and(|words| !words.is_empty());
        assert!(
            call["reply"]["content"].is_string() || has_reason,
            "neither a reply nor a reason: {call}"
        );
    }
}

/// A finished run: whole, paid once, with the scores of `calm`; and run again it asks nothing.
#[track_caller]
fn is_settled(work: &Workspace, server: &FakeServer, ledger: &Ledger, calm: &Calm, more: &[&str]) {
    every_call_is_accounted_for(work);
    assert_eq!(work.json("out/manifest.json")["status"], "complete");
    let scores = work.read("out/scores.jsonl");
    assert_eq!(values(&scores), values(&calm.scores));
    if ledger.unreadable() == 0 {
        assert_eq!(without_notes(&scores), without_notes(&calm.scores));
    }
    assert_eq!(
        ledger.paid_again(),
        0,
        "a call whose reply arrived whole was sent again"
    );
    assert_eq!(ledger.bodies(), calm.calls);
    let sent = server.chat_count();
    let again = work
        .score(server, more)
        .exits_with(0)
        .says(&["nothing to ask"]);
    assert_eq!(
        (server.chat_count(), table(&again.stdout)),
        (sent, table(&calm.stdout))
    );
}

/// One fault at a fifth of the calls, for the first time that they are sent, and a run that passes through it, in every
/// protocol.
#[track_caller]
fn passes_through(
    fault: impl Fn(&Asked<'_>) -> Fault + Clone + Send + Sync + 'static,
    more: &[&str],
) {
    passes_through_share(20, fault, more);
}

/// The same at `percent` of the calls: fewer, where each costs a wait.
#[track_caller]
fn passes_through_share(
    percent: u64,
    fault: impl Fn(&Asked<'_>) -> Fault + Clone + Send + Sync + 'static,
    more: &[&str],
) {
    let pass = |protocol: Protocol| {
        let fault = fault.clone();
        let (work, ledger, calm) = (
            Workspace::new(&SYSTEMS, CASES),
            Ledger::over(protocol),
            protocol.calm(),
        );
        let more = protocol.arguments(more);
        let judge = ledger.judge(move |asked| {
            (asked.before == 0 && asked.is_among(percent)).then(|| fault(asked))
        });
        let server = FakeServer::start(judge);
        work.score(&server, &more).exits_with(0);
        let hit = ledger.faults();
        assert!(
            hit > 0,
            "{protocol:?}: none of {} calls met the fault",
            calm.calls
        );
        assert_eq!(
            server.chat_count(),
            calm.calls + hit,
            "{protocol:?}: each failure costs one more try"
        );
        is_settled(&work, &server, &ledger, calm, &more);
    };
    // side by side, since most of the time is spent waiting
    let pass = &pass;
    std::thread::scope(|scope| {
        for protocol in Protocol::all() {
            scope.spawn(move || pass(protocol));
        }
    });
}

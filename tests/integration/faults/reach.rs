//! Servers that cannot be reached: not there yet, gone for a while, a name that nobody knows.

use crate::support::fake_server::Reserved;
use crate::support::workspace::{scoring, wait_until};

use super::{
    Act, Asked, CALM, CASES, FakeServer, Fault, Finished, Ledger, Protocol, SYSTEMS, Workspace,
    is_settled,
};

/// Patient enough for whatever a slow machine makes of a server that is gone for a moment.
const PATIENT: [&str; 4] = ["--concurrency", "2", "--retries", "30"];

/// Answers half of the calls, and breaks the connections of the others.
fn ends_midway(asked: &Asked<'_>) -> Option<Fault> {
    (asked.number >= CALM.calls / 2).then_some(Fault::Failing(Act::ResetBefore))
}

#[test]
fn a_refused_connection_stops_the_run_and_the_same_command_finishes_it() {
    let (work, ledger) = (Workspace::new(&SYSTEMS, CASES), Ledger::default());
    let nobody = Reserved::new();
    let url = nobody.base_url();
    work.run(&scoring(&url, &[]))
        .exits_with(4)
        .says(&["no judge answers at", "--wait-server 20m"]);
    let server = nobody.start(ledger.judge(|_| None));
    work.score(&server, &[]).exits_with(0);
    is_settled(&work, &server, &ledger, &CALM, &[]);
}

#[test]
fn a_server_that_goes_away_midway_and_comes_back_costs_nothing() {
    for protocol in Protocol::all() {
        let (work, ledger, calm) = (
            Workspace::new(&SYSTEMS, CASES),
            Ledger::over(protocol),
            protocol.calm(),
        );
        let more = protocol.arguments(&PATIENT);
        let server = FakeServer::start(ledger.judge(ends_midway));
        let run = work.spawn_score(&server, &more);
        wait_until("half of the calls are paid", || {
            server.chat_count() > CALM.calls / 2
        });
        // connections are refused for a while
        let port = server.gone();
        std::thread::sleep(std::time::Duration::from_millis(700));
        let server = port.start(ledger.judge(|_| None));
        Finished::of(run.wait_with_output().unwrap()).exits_with(0);
        is_settled(&work, &server, &ledger, calm, &more);
    }
}

#[test]
fn a_server_that_comes_back_with_another_model_is_not_asked() {
    let (work, ledger) = (Workspace::new(&SYSTEMS, CASES), Ledger::default());
    let server = FakeServer::start(ledger.judge(ends_midway).serving("fake-judge", "/w/a"));
    let run = work.spawn_score(&server, &PATIENT);
    wait_until("half of the calls are paid", || {
        server.chat_count() > CALM.calls / 2
    });
    let address = server.gone();
    // A server takes longer to load a model than calls take to find that it is gone.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let other = address.start(ledger.judge(|_| None).serving("fake-judge", "/w/b"));
    let stopped = Finished::of(run.wait_with_output().unwrap()).exits_with(4);
    stopped.says(&[
        "serves another model than this run uses",
        "root=b",
        "root=a",
    ]);
    assert_eq!(other.chat_count(), 0);
    // the same command goes on where the first model is again
    let server = other.replaced_by(ledger.judge(|_| None).serving("fake-judge", "/w/a"));
    work.score(&server, &PATIENT).exits_with(0);
    is_settled(&work, &server, &ledger, &CALM, &PATIENT);
}

#[test]
fn a_name_that_nobody_knows_stops_the_run_and_the_mended_address_finishes_it() {
    let (work, ledger) = (Workspace::new(&SYSTEMS, CASES), Ledger::default());
    // RFC 6761: this name exists nowhere
    let stopped = work
        .run(&scoring("http://judge.invalid:8000/v1", &[]))
        .exits_with(4);
    stopped.says(&[
        "no judge answers at http://judge.invalid:8000/v1",
        "check --base-url",
    ]);
    let server = FakeServer::start(ledger.judge(|_| None));
    work.score(&server, &[]).exits_with(0);
    is_settled(&work, &server, &ledger, &CALM, &[]);
}

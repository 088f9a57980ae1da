//! All faults at once, at a fifth of all calls, again and again for the same call, on one run and on two.

use std::time::Duration;

use serde_json::json;

use super::alone::slow_down;
use super::protocol::CHAT;
use super::{Act, Asked, Calm, FakeServer, Fault, Finished, Ledger, Protocol, SYSTEMS, Workspace};
use super::{every_call_is_accounted_for, is_settled, values};

const CASES: usize = 8;
/// Bodies that never end are cut off after this; good replies take a fraction of it, also on a machine that does nothing
/// else for seconds.
const TIMEOUT: [&str; 2] = ["--timeout", "10s"];
/// What a slow reply takes.
const SLOW: Duration = Duration::from_millis(60);
/// Far more than the three stops that the schedule below has, and than calls are given up again and again.
const MOST_RUNS: usize = 20;

/// What passes when it is asked again.
fn failures() -> Vec<Act> {
    vec![
        slow_down().with_header("retry-after-ms", "30"),
        slow_down().with_header("Retry-After", "0.05"),
        slow_down().with_header("Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"),
        slow_down().with_header("Retry-After", "1"),
        Act::status(500, "<html>oops</html>"),
        Act::status(502, ""),
        Act::status(503, "no backend"),
        Act::error(529, "overloaded_error", "busy").with_header("Retry-After", "0"),
        Act::ResetBefore,
        Act::ResetWithin,
        Act::Cut,
        Act::status(200, "<html>a proxy's page</html>"),
        Act::json(&json!({"error": {"code": 502, "message": "upstream"}})),
        Act::status(503, r#"{"error": {"code": 503, "message": "no slot"}}"#),
    ]
}

/// What is paid and says nothing.
fn unreadable() -> [Act; 4] {
    [
        Act::json(&json!({"choices": "none"})),
        Act::json(&json!({"choices": []})),
        Act::json(&json!({"choices": [{"message": {"content": null}}]})),
        Act::json(&json!({"choices": [{"message": {"content": ["x", 3]}}]})),
    ]
}

/// What ends a run, once each, at these calls.
fn stop(number: usize) -> Option<Act> {
    Some(match number {
        20 => Act::error(401, "invalid_api_key", "revoked"),
        55 => Act::error(429, "insufficient_quota", "spent"),
        90 => Act::error(
            404,
            "model_not_found",
            "The model `fake-judge` does not exist",
        ),
        _ => return None,
    })
}

/// `percent` of all sendings fail; which one, and how, depends on the call, on how often it came, and on `salt`.
fn mixture(
    salt: &'static str,
    percent: u64,
) -> impl Fn(&Asked<'_>) -> Option<Fault> + Send + Sync + 'static {
    let (failures, unreadable) = (failures(), unreadable());
    move |asked| {
        if let Some(act) = stop(asked.number) {
            return Some(Fault::Failing(act));
        }
        let dice = asked.hash(&format!("{salt} {}", asked.before));
        let (is_faulty, pick) = (dice % 100 < percent, (dice / 100) as usize);
        match pick % 20 {
            // now and then a good reply is slow, so that something is in flight when a run stops
            0..=3 if !is_faulty => Some(Fault::Harmless(Act::After(SLOW, Box::new(Act::Good)))),
            _ if !is_faulty => None,
            // seldom, because each takes the whole time limit
            0 if pick / 20 % 3 == 0 => Some(Fault::Failing(Act::Endless)),
            // more than one such reply would be an unscored call, and rightly so
            1..=4 if !asked.was_paid => Some(Fault::Unreadable(
                unreadable[pick / 20 % unreadable.len()].clone(),
            )),
            _ => Some(Fault::Failing(failures[pick / 20 % failures.len()].clone())),
        }
    }
}

/// A fifth of all sendings fails in passing; none ends a run, none takes long.
pub(super) fn passing_mixture(
    salt: &'static str,
) -> impl Fn(&Asked<'_>) -> Option<Fault> + Send + Sync + 'static {
    let failures = failures();
    move |asked| {
        let dice = asked.hash(&format!("{salt} {}", asked.before));
        (dice % 100 < 20)
            .then(|| Fault::Failing(failures[(dice / 100) as usize % failures.len()].clone()))
    }
}

#[track_caller]
fn comes_through(protocol: Protocol, salt: &'static str, percent: u64, more: &[&str]) {
    let more = protocol.arguments(&[&TIMEOUT[..], &["--concurrency", "8"], more].concat());
    let (work, ledger, calm) = (
        Workspace::new(&SYSTEMS, CASES),
        Ledger::over(protocol),
        Calm::over(protocol, CASES),
    );
    let server = FakeServer::start(ledger.judge(mixture(salt, percent)));
    let mut runs = 0;
    loop {
        runs += 1;
        let done = work.score(&server, &more);
        every_call_is_accounted_for(&work);
        // stopped, or finished with calls that were given up
        let is_expected = matches!(done.code, Some(0 | 4 | 5));
        assert!(
            is_expected && runs <= MOST_RUNS,
            "{protocol:?}, run {runs}: {:?} {}",
            done.code,
            done.stderr
        );
        assert_eq!(ledger.paid_again(), 0, "{protocol:?}, run {runs}");
        if done.code == Some(0) {
            break;
        }
    }
    assert!(
        runs > 1,
        "{protocol:?}: the faults that stop a run have stopped none"
    );
    assert!(
        ledger.faults() as u64 * 250 > calm.calls as u64 * percent,
        "{} faults in {} calls",
        ledger.faults(),
        calm.calls
    );
    is_settled(&work, &server, &ledger, &calm, &more);
}

#[test]
fn all_faults_at_a_fifth_of_the_calls_in_every_protocol() {
    // side by side, since most of the time is spent waiting
    std::thread::scope(|scope| {
        for protocol in Protocol::all() {
            scope.spawn(move || comes_through(protocol, "a", 20, &[]));
        }
    });
}

#[test]
fn all_faults_at_a_fifth_of_the_calls_without_a_cache() {
    comes_through(CHAT, "b", 20, &["--no-cache"]);
}

/// So many are given up that only one command after the other brings the run to its end.
#[test]
fn all_faults_at_half_of_the_calls_and_hardly_any_patience() {
    comes_through(CHAT, "c", 50, &["--retries", "1"]);
}

#[test]
fn two_processes_under_fire_on_one_cache_pay_every_call_once() {
    let (work, ledger, calm) = (
        Workspace::new(&SYSTEMS, CASES),
        Ledger::default(),
        Calm::run(CASES),
    );
    let server = FakeServer::start(ledger.judge(passing_mixture("two")));
    let runs =
        ["one", "two"].map(|out| work.spawn_score(&server, &["--concurrency", "8", "--out", out]));
    let [one, two] = runs.map(|run| Finished::of(run.wait_with_output().unwrap()).exits_with(0));
    assert_eq!((ledger.paid_again(), ledger.bodies()), (0, calm.calls));
    assert_eq!(one.stdout, two.stdout);
    for out in ["one", "two"] {
        assert_eq!(
            values(&work.read(&format!("{out}/scores.jsonl"))),
            values(&calm.scores),
            "{out}"
        );
    }
}

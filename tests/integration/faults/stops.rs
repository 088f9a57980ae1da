//! Faults that end a run: the key, the quota, the model. What was paid is kept, and the same command finishes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use super::protocol::CHAT;
use super::{Act, CASES, FakeServer, Fault, Ledger, Protocol, SYSTEMS, Workspace};
use super::{every_call_is_accounted_for, is_settled};

const PLACES: &str = "4";
const IN_FLIGHT: usize = 4;
/// Longer than a stopped run would wait if it did not know of them.
const LATE: Duration = Duration::from_millis(1_500);

/// From call number `from` on everything is answered with `act`, until somebody has mended it.
#[track_caller]
fn stops_and_goes_on(from: usize, act: Act, words: &[&str]) {
    let without_cache = (CHAT, &["--concurrency", PLACES, "--no-cache"][..]);
    let with_cache = Protocol::all()
        .into_iter()
        .map(|protocol| (protocol, &["--concurrency", PLACES][..]));
    for (protocol, more) in with_cache.chain([without_cache]) {
        let (work, ledger) = (Workspace::new(&SYSTEMS, CASES), Ledger::over(protocol));
        let more = &protocol.arguments(more)[..];
        let is_mended = Arc::new(AtomicBool::new(false));
        let (mended, act) = (Arc::clone(&is_mended), act.clone());
        let server = FakeServer::start(ledger.judge(move |asked| {
            let is_faulty = asked.number >= from && !mended.load(Ordering::SeqCst);
            // the last good calls are still on their way when the fault comes
            let is_late = (from.saturating_sub(IN_FLIGHT - 1)..from).contains(&asked.number);
            match (is_faulty, is_late) {
                (true, _) => Some(Fault::Failing(act.clone())),
                (false, true) => Some(Fault::Harmless(Act::After(LATE, Box::new(Act::Good)))),
                (false, false) => None,
            }
        }));
        let stopped = work.score(&server, more).exits_with(4).says(words);
        assert_eq!(stopped.stdout, "", "no table of half a run");
        assert_eq!(work.json("out/manifest.json")["status"], "stopped");
        every_call_is_accounted_for(&work);
        let sent = server.chat_count();
        assert!(
            (from + 1..=from + IN_FLIGHT).contains(&sent),
            "{sent} calls, the fault came with call {from}"
        );
        // as long as it lasts the same command fails in the same way, and asks no more than it must to find out
        work.score(&server, more).exits_with(4).says(words);
        // a place that a failed call frees may be taken once more before the run ends
        assert!(server.chat_count() <= sent + 2 * IN_FLIGHT);
        is_mended.store(true, Ordering::SeqCst);
        work.score(&server, more).exits_with(0);
        is_settled(&work, &server, &ledger, protocol.calm(), more);
    }
}

#[test]
fn a_key_that_is_revoked_midway() {
    let act = Act::error(401, "invalid_api_key", "This key has been revoked");
    stops_and_goes_on(
        17,
        act,
        &[
            "refused the key from OPENAI_API_KEY",
            "has been revoked",
            "--api-key-env",
        ],
    );
}

#[test]
fn a_quota_that_is_gone_midway() {
    let act = Act::error(429, "insufficient_quota", "You exceeded your current quota")
        .with_header("Retry-After", "1");
    stops_and_goes_on(
        23,
        act,
        &[
            "the quota of the judge's account is spent",
            "add credit",
            "the same command",
        ],
    );
    stops_and_goes_on(
        5,
        Act::status(
            402,
            r#"{"error":{"message":"Insufficient credits","code":402}}"#,
        ),
        &["quota"],
    );
}

#[test]
fn a_quota_that_is_gone_in_a_200() {
    let act = Act::json(&json!({"error": {"message": "credits are used up", "code": 402}}));
    stops_and_goes_on(11, act, &["quota", "credits are used up"]);
}

#[test]
fn a_model_that_is_not_served() {
    let act = Act::error(
        404,
        "model_not_found",
        "The model `fake-judge` does not exist",
    );
    stops_and_goes_on(0, act, &["does not serve the model", "check --model"]);
}

#[test]
fn a_model_that_is_taken_away_midway() {
    // vLLM's form: no `error` member, a numeric code
    let body = json!({"object": "error", "message": "The model `fake-judge` does not exist.", "type": "NotFoundError",
        "param": null, "code": 404});
    stops_and_goes_on(
        13,
        Act::status(404, body.to_string()),
        &["does not serve the model", "check --model"],
    );
}

#[test]
fn a_wait_that_nobody_wants_to_sit_through() {
    let act =
        Act::error(429, "rate_limit_exceeded", "daily limit").with_header("Retry-After", "7200");
    stops_and_goes_on(
        9,
        act,
        &["asks to wait 7200 s", "the same command again later"],
    );
    let never = Act::error(429, "rate_limit_exceeded", "no more")
        .with_header("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT");
    stops_and_goes_on(9, never, &["asks to wait", "the same command again later"]);
}

//! Each passing fault alone, at a fifth of the calls (fewer where each costs seconds).

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{Act, Asked, CASES, FakeServer, Fault, Ledger, Protocol, SYSTEMS, Workspace};
use super::{every_call_is_accounted_for, is_settled, passes_through, passes_through_share};

/// Long enough for every good reply, also on a machine that does nothing else for seconds.
const TIMEOUT: [&str; 2] = ["--timeout", "10s"];

/// Per cent of the calls, where each fault costs seconds.
const FEW: u64 = 8;

pub(super) fn slow_down() -> Act {
    Act::error(429, "rate_limit_exceeded", "slow down")
}

fn fails_with(act: Act) -> impl Fn(&Asked<'_>) -> Fault + Clone + Send + Sync + 'static {
    move |_| Fault::Failing(act.clone())
}

#[test]
fn a_429_that_says_nothing_of_a_wait() {
    passes_through_share(FEW, fails_with(slow_down()), &[]);
}

#[test]
fn a_429_with_retry_after_in_seconds() {
    passes_through_share(
        FEW,
        fails_with(slow_down().with_header("Retry-After", "1")),
        &[],
    );
}

#[test]
fn a_429_with_retry_after_as_a_fraction() {
    passes_through(
        fails_with(slow_down().with_header("Retry-After", "0.2")),
        &[],
    );
}

#[test]
fn a_429_with_retry_after_in_milliseconds() {
    passes_through(
        fails_with(slow_down().with_header("retry-after-ms", "150")),
        &[],
    );
}

#[test]
fn a_429_with_retry_after_as_a_date() {
    let date = |from: SystemTime| httpdate::fmt_http_date(from + Duration::from_secs(1));
    passes_through_share(
        FEW,
        move |_| Fault::Failing(slow_down().with_header("Retry-After", &date(SystemTime::now()))),
        &[],
    );
}

#[test]
fn a_429_with_a_date_of_a_server_whose_clock_is_years_behind() {
    let (now, then) = (
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:38 GMT",
    );
    passes_through_share(
        FEW,
        fails_with(
            slow_down()
                .with_header("Date", now)
                .with_header("Retry-After", then),
        ),
        &[],
    );
}

/// The year 1960 has no HTTP date, and is not a reason to wait.
#[test]
fn a_429_of_a_server_whose_clock_is_at_either_end_of_time() {
    for (now, then) in [
        (
            "Fri, 31 Dec 9999 23:59:58 GMT",
            "Fri, 31 Dec 9999 23:59:59 GMT",
        ),
        (
            "Fri, 01 Jan 1960 00:00:00 GMT",
            "Fri, 01 Jan 1960 00:00:01 GMT",
        ),
    ] {
        let act = slow_down()
            .with_header("Date", now)
            .with_header("Retry-After", then);
        passes_through_share(FEW, fails_with(act), &[]);
    }
}

#[test]
fn a_500() {
    passes_through(fails_with(Act::status(500, "<html>oops</html>")), &[]);
}

#[test]
fn a_502() {
    passes_through(fails_with(Act::status(502, "")), &[]);
}

#[test]
fn a_503() {
    passes_through(
        fails_with(Act::error(503, "unavailable", "no backend").with_header("Retry-After", "0")),
        &[],
    );
}

#[test]
fn a_529() {
    passes_through(
        fails_with(Act::error(529, "overloaded_error", "busy").with_header("retry-after-ms", "50")),
        &[],
    );
}

#[test]
fn a_reset_before_the_reply() {
    passes_through(fails_with(Act::ResetBefore), &[]);
}

#[test]
fn a_reset_within_the_body() {
    passes_through(fails_with(Act::ResetWithin), &[]);
}

#[test]
fn a_cut_body() {
    passes_through(fails_with(Act::Cut), &[]);
}

#[test]
fn a_body_that_is_cut_but_as_long_as_announced() {
    passes_through(
        fails_with(Act::status(
            200,
            r#"{"choices": [{"message": {"content": "{\"sco"#,
        )),
        &[],
    );
}

#[test]
fn a_body_that_never_ends() {
    passes_through_share(FEW, fails_with(Act::Endless), &TIMEOUT);
}

#[test]
fn a_server_that_never_begins_to_answer() {
    passes_through_share(FEW, fails_with(Act::Silent), &TIMEOUT);
}

#[test]
fn a_page_of_html_under_200() {
    passes_through(
        fails_with(Act::status(200, "<!doctype html><title>Sign in</title>")),
        &[],
    );
}

#[test]
fn an_error_in_a_200() {
    let error =
        json!({"error": {"message": "upstream failed", "type": "server_error", "code": null}});
    passes_through(fails_with(Act::json(&error)), &[]);
}

#[test]
fn an_error_code_that_is_a_number() {
    let error = json!({"error": {"message": "no slot", "type": "unavailable_error", "code": 503, "param": null}});
    passes_through(fails_with(Act::status(503, error.to_string())), &[]);
    passes_through(fails_with(Act::json(&error)), &[]);
}

/// Bodies under status 200 that are not completions.
pub(super) fn broken_bodies() -> Vec<Value> {
    vec![
        json!({"choices": "none"}),
        json!({"choices": {"0": {"message": {"content": "{\"score\": 3}"}}}}),
        json!({"choices": [{"message": "{\"score\": 3}"}]}),
        json!({"choices": ["{\"score\": 3}"]}),
        json!({"choices": 7, "model": ["fake-judge"], "usage": "much"}),
        json!({"message": {"content": "{\"score\": 3}"}}),
        json!({"choices": null}),
    ]
}

#[test]
fn members_of_wrong_types() {
    let bodies = broken_bodies();
    passes_through(
        move |asked| {
            Fault::Failing(Act::json(
                &bodies[asked.hash("type") as usize % bodies.len()],
            ))
        },
        &[],
    );
}

/// Paid and empty: asked once more, as the next attempt, and never a third time.
#[test]
fn empty_choices() {
    let empty = json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 0}});
    passes_through(move |_| Fault::Unreadable(Act::json(&empty)), &[]);
}

#[test]
fn null_content() {
    let null = json!({"choices": [{"message": {"role": "assistant", "content": null}, "finish_reason": "stop"}]});
    passes_through(move |_| Fault::Unreadable(Act::json(&null)), &[]);
}

/// Completions whose content is not text.
pub(super) fn bodies_without_text() -> Vec<Value> {
    vec![
        json!({"choices": [{"message": {"content": true}}]}),
        json!({"choices": [{"message": {"content": 7}}]}),
        json!({"choices": [{"message": null}]}),
        json!({"choices": [null]}),
        json!({"choices": [{"message": {"content": [{"type": "image"}]}, "finish_reason": 3}]}),
    ]
}

#[test]
fn content_of_a_wrong_type() {
    let bodies = bodies_without_text();
    passes_through(
        move |asked| {
            Fault::Unreadable(Act::json(
                &bodies[asked.hash("content") as usize % bodies.len()],
            ))
        },
        &[],
    );
}

/// Nothing fails here: every call is answered at the first time of asking.
#[track_caller]
fn costs_nothing(act: &Act) {
    for protocol in Protocol::all() {
        let (work, ledger) = (Workspace::new(&SYSTEMS, CASES), Ledger::over(protocol));
        let (act, more) = (act.clone(), protocol.arguments(&[]));
        let judge =
            ledger.judge(move |asked| asked.is_among(50).then(|| Fault::Harmless(act.clone())));
        let server = FakeServer::start(judge);
        work.score(&server, &more).exits_with(0);
        assert_eq!(server.chat_count(), protocol.calm().calls, "{protocol:?}");
        is_settled(&work, &server, &ledger, protocol.calm(), &more);
    }
}

#[test]
fn a_connection_that_is_closed_after_a_whole_reply() {
    costs_nothing(&Act::GoodAndClosed);
}

#[test]
fn a_whole_reply_byte_by_byte() {
    costs_nothing(&Act::GoodInChunks);
}

/// What the run does with calls that fail for good: they are unscored with the server's words, and the same command
/// asks them, and nothing else, when the fault has gone.
#[track_caller]
fn is_given_up_and_mended(
    act: impl Fn(&Asked<'_>) -> Act + Clone + Send + Sync + 'static,
    kind: &str,
    words: &str,
) {
    for protocol in Protocol::all() {
        let tolerant = protocol.arguments(&["--retries", "0", "--max-unscored", "1"]);
        let (work, ledger, act) = (
            Workspace::new(&SYSTEMS, CASES),
            Ledger::over(protocol),
            act.clone(),
        );
        let faulty =
            ledger.judge(move |asked| asked.is_among(20).then(|| Fault::Failing(act(asked))));
        let server = FakeServer::start(faulty);
        work.score(&server, &tolerant).exits_with(0);
        every_call_is_accounted_for(&work);
        let given_up: Vec<_> = work
            .lines("out/calls.jsonl")
            .into_iter()
            .filter(|call| call["reply"]["content"].is_null())
            .collect();
        assert!(!given_up.is_empty());
        for call in &given_up {
            assert_eq!(call["unscored"]["kind"], kind, "{call}");
            assert!(
                call["unscored"]["message"]
                    .as_str()
                    .unwrap()
                    .contains(words),
                "{call}"
            );
        }
        assert_eq!(given_up.len(), ledger.faults());
        let server = server.replaced_by(ledger.judge(|_| None));
        work.score(&server, &tolerant).exits_with(0);
        is_settled(&work, &server, &ledger, protocol.calm(), &tolerant);
    }
}

#[test]
fn a_server_error_that_stays_is_unscored_and_mended_by_the_same_command() {
    is_given_up_and_mended(
        |_| Act::status(500, "broken"),
        "unreachable",
        "status 500: broken",
    );
}

#[test]
fn a_400_with_a_numeric_code_is_unscored_and_mended_by_the_same_command() {
    // in letters that differ from call to call: five equal complaints in a row would be about the request itself
    let word = |asked: &Asked<'_>| -> String {
        let hash = asked.hash("word");
        (0..8)
            .map(|at| char::from(b'a' + (hash >> (8 * at)) as u8 % 26))
            .collect()
    };
    let body = move |asked: &Asked<'_>| {
        let error = json!({"message": format!("cannot take {}", word(asked)), "type": "BadRequestError", "code": 400});
        Act::status(400, json!({"error": error}).to_string())
    };
    is_given_up_and_mended(body, "refused", "status 400: cannot take ");
}

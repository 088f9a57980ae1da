//! The chat judge and its layers against a server that misbehaves in every way we know of.

mod fleet;
mod raw;
mod streaming;

use std::num::NonZeroUsize;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use futures::future::join_all;
use scholareval::Error;
use scholareval::domain::{JudgeReply, Role, UnscoredKind, Usage};
use scholareval::judge::body::RequestOptions;
use scholareval::judge::chat::Chat;
use scholareval::judge::endpoint::Endpoint;
use scholareval::judge::identity::{ask_server, judge_id, wait_for_server};
use scholareval::judge::layers::rate_limited::RateLimited;
use scholareval::judge::layers::retrying::Retrying;
use scholareval::judge::meters::Meters;
use scholareval::judge::options::LimitOptions;
use scholareval::judge::{AskError, Judge, JudgeRequest, Outcome};
use scholareval::prompt::Messages;
use scholareval::question::{Expertise, JudgeCall, PROPERTY};
use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer, Recorded, Reserved, good_score};

const SECRET: &str = "very-secret-key-123";

fn endpoint(server: &FakeServer) -> Endpoint {
    let mut endpoint = Endpoint::new(&server.base_url()).unwrap();
    endpoint.api_key = Some(SECRET.to_owned().into());
    endpoint
}

fn chat(server: &FakeServer) -> Chat {
    Chat::new(endpoint(server), Arc::default()).unwrap()
}

/// A call whose user message is `text`.
fn request(text: &str) -> JudgeRequest {
    let task = Expertise {
        question: "q".into(),
        answer: "a".into(),
    };
    let call = JudgeCall::new("expertise", Role::Rubric, task);
    let messages = Messages::new(Some("judge".into()), text);
    let options = RequestOptions::new("m");
    let rendered = Some(options.render(&PROPERTY, &options.prompt(messages, true), 0, 0));
    JudgeRequest {
        call,
        system: "s".into(),
        case_id: "c".into(),
        attempt: 0,
        rendered,
    }
}

/// Asks one call of a judge without layers.
async fn ask(act: Act) -> Result<Outcome, AskError> {
    let server = FakeServer::start(Behaviour::always(act));
    chat(&server).ask(&request("x")).await
}

async fn reply(act: Act) -> JudgeReply {
    match ask(act).await {
        Ok(Outcome::Reply(reply)) => reply,
        other => panic!("{other:?}"),
    }
}

async fn passing_failure(act: Act) -> (String, Option<u16>, Option<Duration>) {
    match ask(act).await {
        Err(AskError::Transient {
            message,
            status,
            retry_after,
        }) => (message, status, retry_after),
        other => panic!("{other:?}"),
    }
}

fn stopped(result: Result<Outcome, AskError>) -> String {
    match result {
        Err(AskError::Fatal(Error::JudgeUnavailable(message))) => message,
        other => panic!("{other:?}"),
    }
}

/// The layers as a run has them, with waits that a test can sit through.
fn stack(server: &FakeServer, concurrency: usize) -> (Retrying<RateLimited<Chat>>, Arc<Meters>) {
    stack_at(endpoint(server), concurrency)
}

fn stack_at(endpoint: Endpoint, concurrency: usize) -> (Retrying<RateLimited<Chat>>, Arc<Meters>) {
    let meters = Arc::new(Meters::default());
    let limits = LimitOptions {
        concurrency: NonZeroUsize::new(concurrency).unwrap(),
        ..LimitOptions::default()
    };
    let chat = Chat::new(endpoint, Arc::clone(&meters)).unwrap();
    let limited = RateLimited::new(chat, &limits);
    let mut judge = Retrying::new(limited, 3, Arc::clone(&meters));
    judge.first_wait = Duration::from_millis(2);
    (judge, meters)
}

#[tokio::test]
async fn a_good_reply_is_read_and_counted() {
    let server = FakeServer::start(Behaviour::good());
    let (judge, meters) = stack(&server, 1);
    let Outcome::Reply(reply) = judge.ask(&request("how good?")).await.unwrap() else {
        panic!()
    };
    assert_eq!(
        reply.content,
        json!({"score": good_score("how good?")}).to_string()
    );
    assert_eq!(
        (reply.finish_reason.as_deref(), reply.model.as_deref()),
        (Some("stop"), Some("fake-judge"))
    );
    assert_eq!(server.chat_count(), 1);
    assert_eq!(
        Meters::read(&meters.prompt_tokens),
        reply.usage.prompt_tokens
    );
}

#[tokio::test]
async fn the_bytes_that_were_hashed_are_sent() {
    let server = FakeServer::start(Behaviour::good());
    let request = request("caf\u{e9} \"quoted\"\n\u{1f600}");
    chat(&server).ask(&request).await.unwrap();
    let sent = &server.chats()[0];
    assert_eq!(sent.body, *request.rendered.unwrap().body.bytes);
    assert_eq!(
        (sent.method.as_str(), sent.path.as_str()),
        ("POST", "/v1/chat/completions")
    );
    assert_eq!(sent.json()["stream"], false);
    assert_eq!(sent.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn headers_query_and_key_are_sent() {
    let server = FakeServer::start(Behaviour::good().key(SECRET));
    let mut endpoint = endpoint(&server);
    endpoint.headers.push(("X-Team".into(), "judges".into()));
    endpoint.query.push(("api-version".into(), "2 3".into()));
    ask_server(&endpoint, None).await.unwrap();
    Chat::new(endpoint, Arc::default())
        .unwrap()
        .ask(&request("x"))
        .await
        .unwrap();
    let requests = server.requests();
    let paths: Vec<&str> = requests.iter().map(|sent| sent.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/v1/models",
            "/health",
            "/props",
            "/get_server_info",
            "/v1/chat/completions"
        ]
    );
    for sent in requests {
        assert_eq!(
            sent.header("authorization"),
            Some("Bearer very-secret-key-123")
        );
        assert_eq!(sent.header("x-team"), Some("judges"));
        assert_eq!(sent.query, "api-version=2+3");
    }
}

#[tokio::test]
async fn without_a_key_no_authorization_is_sent() {
    let server = FakeServer::start(Behaviour::good());
    let endpoint = Endpoint::new(&server.base_url()).unwrap();
    Chat::new(endpoint, Arc::default())
        .unwrap()
        .ask(&request("x"))
        .await
        .unwrap();
    assert_eq!(server.chats()[0].header("authorization"), None);
}

/// The environment of a process cannot be changed safely from within: the test runs itself in a child.
#[test]
fn no_header_comes_from_the_environment() {
    let variables = [
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "OPENAI_API_KEY",
        "OPENAI_ADMIN_KEY",
        "OPENAI_BASE_URL",
    ];
    if std::env::var("OPENAI_ORG_ID").as_deref() != Ok("leaked-value") {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "judge_http::no_header_comes_from_the_environment",
        ]);
        child.envs(variables.map(|name| (name, "leaked-value")));
        let output = child.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}"
        );
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let server = FakeServer::start(Behaviour::good());
    let endpoint = Endpoint::new(&server.base_url()).unwrap();
    runtime.block_on(async {
        Chat::new(endpoint, Arc::default())
            .unwrap()
            .ask(&request("x"))
            .await
            .unwrap()
    });
    let sent = &server.chats()[0];
    assert!(
        !sent
            .headers
            .iter()
            .any(|(_, value)| value.contains("leaked-value")),
        "{:?}",
        sent.headers
    );
    assert!(
        !sent
            .headers
            .iter()
            .any(|(name, _)| name.starts_with("openai-")),
        "{:?}",
        sent.headers
    );
}

#[tokio::test]
async fn each_form_of_retry_after_is_understood() {
    let in_30_s = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_030));
    let now = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000));
    for (act, expected) in [
        (
            Act::status(429, "slow").with_header("Retry-After", "3"),
            Some(3000),
        ),
        (
            Act::status(503, "slow").with_header("Retry-After", "0.5"),
            Some(500),
        ),
        (
            Act::status(529, "slow").with_header("retry-after-ms", "70"),
            Some(70),
        ),
        (
            Act::status(429, "slow")
                .with_header("Retry-After", &in_30_s)
                .with_header("Date", &now),
            Some(30_000),
        ),
        (Act::status(429, "slow"), None),
    ] {
        let (message, _, retry_after) = passing_failure(act).await;
        assert_eq!(
            retry_after,
            expected.map(Duration::from_millis),
            "{message}"
        );
        assert!(message.ends_with("slow"), "{message}");
    }
}

#[tokio::test]
async fn an_error_under_200_keeps_the_wait_that_it_asks_for() {
    let error = json!({"error": {"code": 429, "message": "slow"}});
    let (message, status, retry_after) =
        passing_failure(Act::json(&error).with_header("Retry-After", "3")).await;
    assert_eq!(
        (status, retry_after),
        (Some(429), Some(Duration::from_secs(3))),
        "{message}"
    );
    // a reply is a reply, whatever stands beside it
    let reply = json!({"choices": [{"message": {"content": "ok"}}], "error": {"code": 429}});
    let server = FakeServer::start(Behaviour::always(
        Act::json(&reply).with_header("Retry-After", "3"),
    ));
    assert!(
        matches!(chat(&server).ask(&request("x")).await, Ok(Outcome::Reply(reply)) if reply.content == "ok")
    );
}

#[tokio::test]
async fn a_500_is_asked_again_until_it_works() {
    let server = FakeServer::start(
        Behaviour::good()
            .nth(0, Act::status(500, "oops"))
            .nth(1, Act::status(502, "")),
    );
    let (judge, meters) = stack(&server, 1);
    assert!(matches!(
        judge.ask(&request("x")).await,
        Ok(Outcome::Reply(_))
    ));
    assert_eq!((server.chat_count(), Meters::read(&meters.retries)), (3, 2));
}

#[tokio::test]
async fn resets_and_cut_bodies_are_asked_again_and_never_taken_for_replies() {
    for act in [Act::ResetBefore, Act::ResetWithin, Act::Cut] {
        let server = FakeServer::start(Behaviour::good().nth(0, act.clone()));
        let (judge, meters) = stack(&server, 1);
        assert!(
            matches!(judge.ask(&request("x")).await, Ok(Outcome::Reply(_))),
            "{act:?}"
        );
        assert_eq!(Meters::read(&meters.retries), 1, "{act:?}");
    }
}

#[tokio::test]
async fn cut_json_of_the_right_length_is_a_passing_failure() {
    let (message, status, _) = passing_failure(Act::status(
        200,
        r#"{"choices":[{"message":{"content":"{\"sco"#,
    ))
    .await;
    assert_eq!(status, None);
    assert!(message.contains("not JSON"), "{message}");
    passing_failure(Act::status(
        200,
        r#"{"choices":[{"message":{"content":"x"}]}"#,
    ))
    .await;
    passing_failure(Act::status(200, "")).await;
}

#[tokio::test]
async fn a_server_that_gives_nothing_but_pages_is_given_up() {
    let page = Act::status(200, "<html>Welcome</html>");
    let server = FakeServer::start(Behaviour::always(page.clone()));
    let mut endpoint = endpoint(&server);
    endpoint.timeouts.no_server = Duration::ZERO;
    let chat = Chat::new(endpoint, Arc::default()).unwrap();
    for _ in 1..10 {
        assert!(matches!(
            chat.ask(&request("x")).await,
            Err(AskError::Transient { .. })
        ));
    }
    let Err(AskError::Fatal(error)) = chat.ask(&request("x")).await else {
        panic!()
    };
    assert!(
        error.to_string().contains("Welcome") && error.to_string().contains("--base-url"),
        "{error}"
    );

    let server =
        FakeServer::start((1..20).fold(Behaviour::good(), |good, at| good.nth(at, page.clone())));
    let chat = self::chat(&server);
    assert!(chat.ask(&request("x")).await.is_ok());
    for _ in 1..20 {
        assert!(matches!(
            chat.ask(&request("x")).await,
            Err(AskError::Transient { .. })
        ));
    }
}

#[tokio::test]
async fn a_slow_body_and_a_silent_server_run_into_the_time_limit() {
    for act in [
        Act::Endless,
        Act::Silent,
        Act::After(Duration::from_secs(600), Box::new(Act::Good)),
    ] {
        let server = FakeServer::start(Behaviour::always(act));
        let mut endpoint = endpoint(&server);
        endpoint.timeouts.total = Duration::from_millis(200);
        let result = Chat::new(endpoint, Arc::default())
            .unwrap()
            .ask(&request("x"))
            .await;
        let Err(AskError::Transient { message, .. }) = result else {
            panic!("{result:?}")
        };
        assert!(message.contains("no whole reply within"), "{message}");
    }
}

#[tokio::test]
async fn a_reply_without_end_is_refused_at_the_size_limit() {
    let server = FakeServer::start(Behaviour::always(Act::status(
        200,
        format!("{{{}}}", " ".repeat(100_000)),
    )));
    let mut endpoint = endpoint(&server);
    endpoint.max_reply_bytes = 50_000;
    let result = Chat::new(endpoint, Arc::default())
        .unwrap()
        .ask(&request("x"))
        .await;
    let Err(AskError::Refused { message, .. }) = result else {
        panic!("{result:?}")
    };
    assert!(message.contains("50000 bytes"), "{message}");
}

#[tokio::test]
async fn the_tokens_of_a_reply_limit_its_bytes_and_long_bodies_wait_for_each_other() {
    let server = FakeServer::start(Behaviour::always(Act::Content("7 ".repeat(1 << 20))));
    let refused = chat(&server).ask(&request("x")).await;
    let Err(AskError::Refused { message, .. }) = refused else {
        panic!("{refused:?}")
    };
    assert!(message.contains("1048576 bytes"), "{message}");
    let mut unlimited = request("x");
    unlimited.rendered.as_mut().unwrap().max_tokens = None;
    let mut endpoint = endpoint(&server);
    // Larger than all memory for long bodies: one at a time is read.
    endpoint.max_reply_bytes = 64 << 20;
    let chat = Chat::new(endpoint, Arc::default()).unwrap();
    for reply in join_all((0..20).map(|_| chat.ask(&unlimited))).await {
        let Ok(Outcome::Reply(reply)) = reply else {
            panic!("{reply:?}")
        };
        assert_eq!(reply.content.len(), 2 << 20);
    }
}

#[tokio::test]
async fn html_under_200_is_a_passing_failure_with_its_first_words() {
    let (message, ..) = passing_failure(Act::status(
        200,
        "<html><body>Gateway\n starting</body></html>",
    ))
    .await;
    assert!(message.contains("Gateway starting"), "{message}");
}

#[tokio::test]
async fn an_error_under_200_is_classified_by_its_code() {
    let error = |code: Value| Act::json(&json!({"error": {"message": "no", "code": code}}));
    assert_eq!(passing_failure(error(json!(502))).await.1, Some(502));
    assert_eq!(passing_failure(error(json!("429"))).await.1, Some(429));
    assert!(stopped(ask(error(json!("invalid_api_key"))).await).contains("OPENAI_API_KEY"));
    assert!(stopped(ask(error(json!("insufficient_quota"))).await).contains("quota"));
}

#[tokio::test]
async fn a_numeric_error_code_is_no_riddle() {
    let body = json!({"error": {"message": "bad field", "code": 400, "type": "BadRequestError", "param": null}});
    let result = ask(Act::status(400, body.to_string())).await;
    let Err(AskError::Refused {
        message,
        status: 400,
        kind: UnscoredKind::Refused,
    }) = result
    else {
        panic!("{result:?}")
    };
    assert_eq!(message, "status 400: bad field");
}

#[tokio::test]
async fn empty_choices_and_null_content_are_whole_replies() {
    let empty = reply(Act::json(
        &json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 0}}),
    ))
    .await;
    assert_eq!((empty.content.as_str(), empty.usage.prompt_tokens), ("", 9));
    let null = json!({"choices": [{"message": {"role": "assistant", "content": null}, "finish_reason": "length"}]});
    let null = reply(Act::json(&null)).await;
    assert!(null.content.is_empty() && null.is_cut());
}

#[tokio::test]
async fn json_that_is_no_completion_is_not_taken_for_a_reply() {
    let (message, ..) = passing_failure(Act::json(&json!({"status": "ok"}))).await;
    assert!(message.contains("no choices"), "{message}");
}

#[tokio::test]
async fn cached_prompt_tokens_of_llama_cpp_are_recorded() {
    let body = json!({"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 30, "completion_tokens": 2},
        "timings": {"cache_n": 20, "prompt_n": 10}});
    let expected = Usage {
        prompt_tokens: 30,
        cached_prompt_tokens: 20,
        completion_tokens: 2,
        ..Usage::default()
    };
    assert_eq!(reply(Act::json(&body)).await.usage, expected);
}

#[tokio::test]
async fn a_wrong_key_stops_the_run_without_being_shown() {
    let server = FakeServer::start(Behaviour::good().key("another"));
    let message = stopped(stack(&server, 1).0.ask(&request("x")).await);
    assert!(
        message.contains("OPENAI_API_KEY") && message.contains("--api-key-env"),
        "{message}"
    );
    let echo = Act::error(
        401,
        "invalid_api_key",
        &format!("Incorrect API key provided: {SECRET}"),
    );
    let message = stopped(ask(echo).await);
    assert!(
        message.contains("***") && !message.contains(SECRET),
        "{message}"
    );
    assert_eq!(
        server.chat_count(),
        0,
        "asked once, refused before it counts as a chat"
    );
}

#[tokio::test]
async fn a_spent_quota_stops_the_run_at_once() {
    let server = FakeServer::start(Behaviour::always(Act::error(
        429,
        "insufficient_quota",
        "You exceeded your quota",
    )));
    assert!(
        stopped(stack(&server, 1).0.ask(&request("x")).await).contains("You exceeded your quota")
    );
    assert_eq!(server.chat_count(), 1);
}

#[tokio::test]
async fn an_unknown_model_and_an_unknown_route_stop_with_different_hints() {
    let message = stopped(
        ask(Act::error(
            404,
            "model_not_found",
            "The model `m` does not exist",
        ))
        .await,
    );
    assert!(message.contains("--model"), "{message}");
    let message = stopped(ask(Act::status(404, r#"{"detail":"Not Found"}"#)).await);
    assert!(message.contains("--base-url"), "{message}");
}

#[tokio::test]
async fn a_full_context_is_unscored_with_the_servers_words() {
    let words = "request (4297 tokens) exceeds the available context size (4096 tokens)";
    let server = FakeServer::start(Behaviour::always(Act::error(
        400,
        "exceed_context_size_error",
        words,
    )));
    let (judge, _) = stack(&server, 1);
    for _ in 0..6 {
        let Ok(Outcome::Unscored(reason)) = judge.ask(&request("x")).await else {
            panic!()
        };
        assert_eq!(reason.kind, UnscoredKind::ContextOverflow);
        assert!(reason.message.contains(words), "{reason}");
    }
    assert_eq!(
        server.chat_count(),
        6,
        "each asked once, and six in a row do not stop the run"
    );
}

#[tokio::test]
async fn equal_400s_of_three_answers_in_a_row_stop_the_run() {
    let words = "temperature must be above 0";
    let server = FakeServer::start(Behaviour::always(Act::error(400, "bad", words)));
    let (judge, _) = stack(&server, 1);
    let about = |case_id: &str| JudgeRequest {
        case_id: case_id.into(),
        ..request("x")
    };
    for case_id in ["a", "a", "a", "a", "a", "a", "b", "b"] {
        assert!(matches!(
            judge.ask(&about(case_id)).await,
            Ok(Outcome::Unscored(_))
        ));
    }
    let message = stopped(judge.ask(&about("c")).await);
    assert!(
        message.contains(words) && message.contains("--no-temperature"),
        "{message}"
    );
}

#[tokio::test]
async fn refusals_with_good_replies_between_do_not_stop_the_run() {
    let refuse = Act::error(400, "bad", "no");
    let server = FakeServer::start(
        Behaviour::good().when(|request| request.text().contains("refuse"), refuse),
    );
    let (judge, _) = stack(&server, 1);
    for case_id in ["a", "b", "c", "d", "e", "f"] {
        let refused = JudgeRequest {
            case_id: case_id.into(),
            ..request("refuse")
        };
        assert!(matches!(
            judge.ask(&refused).await,
            Ok(Outcome::Unscored(_))
        ));
        assert!(matches!(
            judge.ask(&request("fine")).await,
            Ok(Outcome::Reply(_))
        ));
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let other = FakeServer::start(Behaviour::good());
    let target = format!("{}/chat/completions", other.base_url());
    let message = stopped(ask(Act::status(307, "").with_header("Location", &target)).await);
    assert!(
        message.contains("--base-url") && message.contains(&target),
        "{message}"
    );
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn failing_to_the_end_is_unscored() {
    let server = FakeServer::start(Behaviour::always(Act::status(500, "down")));
    let Ok(Outcome::Unscored(reason)) = stack(&server, 1).0.ask(&request("x")).await else {
        panic!()
    };
    assert_eq!(
        (reason.kind, server.chat_count()),
        (UnscoredKind::Unreachable, 4)
    );
    assert_eq!(reason.message, "status 500: down (after 4 attempts)");
}

#[tokio::test]
async fn in_flight_calls_never_exceed_the_concurrency() {
    let server = FakeServer::start(Behaviour::good().latency(Duration::from_millis(20)));
    let (judge, _) = stack(&server, 5);
    let requests: Vec<JudgeRequest> = (0..40).map(|i| request(&format!("call {i}"))).collect();
    let results = join_all(requests.iter().map(|request| judge.ask(request))).await;
    assert!(
        results
            .iter()
            .all(|result| matches!(result, Ok(Outcome::Reply(_))))
    );
    assert!(
        (2..=5).contains(&server.max_in_flight()),
        "{}",
        server.max_in_flight()
    );
    assert_eq!(server.chat_count(), 40);
    assert!(server.connections() < 40, "connections are used again");
}

#[tokio::test]
async fn one_retry_after_holds_every_waiting_call() {
    // The client hears of the pause after the server has closed its door, so no obedient call can come too early.
    let closed: Arc<Mutex<(Option<Instant>, usize)>> = Arc::default();
    let door = Arc::clone(&closed);
    let wait = Duration::from_millis(300);
    let is_too_early = move |_: &Recorded| {
        let mut door = door.lock().unwrap();
        let since = *door.0.get_or_insert_with(Instant::now);
        let is_first_or_early = since.elapsed() < wait;
        door.1 += usize::from(is_first_or_early);
        is_first_or_early
    };
    let slow_down = Act::status(429, "slow").with_header("retry-after-ms", "300");
    let server = FakeServer::start(Behaviour::good().when(is_too_early, slow_down));
    let (judge, _) = stack(&server, 1);
    let requests: Vec<JudgeRequest> = (0..8).map(|i| request(&format!("call {i}"))).collect();
    let results = join_all(requests.iter().map(|request| judge.ask(request))).await;
    assert!(
        results
            .iter()
            .all(|result| matches!(result, Ok(Outcome::Reply(_))))
    );
    assert_eq!(
        closed.lock().unwrap().1,
        1,
        "only the call that was told came before the door opened"
    );
    assert_eq!(server.chat_count(), 9);
}

#[tokio::test]
async fn a_server_that_never_answers_stops_the_run() {
    let nobody = Reserved::new();
    let mut endpoint = Endpoint::new(&nobody.base_url()).unwrap();
    endpoint.timeouts.no_server = Duration::ZERO;
    let meters = Arc::new(Meters::default());
    let chat = Chat::new(endpoint, Arc::clone(&meters)).unwrap();
    let mut judge = Retrying::new(chat, 7, Arc::clone(&meters));
    judge.first_wait = Duration::from_millis(1);
    let message = stopped(judge.ask(&request("x")).await);
    assert!(message.contains("--wait-server 20m"), "{message}");
    assert_eq!(
        Meters::read(&meters.retries),
        2,
        "the third failed connection is enough"
    );
}

#[tokio::test]
async fn a_server_that_comes_up_late_is_used() {
    let late = Reserved::new();
    let mut endpoint = Endpoint::new(&late.base_url()).unwrap();
    endpoint.timeouts.no_server = Duration::from_secs(600);
    let (judge, _) = stack_at(endpoint, 1);
    let Ok(Outcome::Unscored(reason)) = judge.ask(&request("x")).await else {
        panic!()
    };
    assert_eq!(reason.kind, UnscoredKind::Unreachable);
    assert!(reason.message.contains("cannot connect"), "{reason}");
    let _server = late.start(Behaviour::good());
    assert!(matches!(
        judge.ask(&request("x")).await,
        Ok(Outcome::Reply(_))
    ));
}

#[tokio::test]
async fn waiting_for_a_server_ends_when_it_has_loaded() {
    let server = FakeServer::start(Behaviour::good().loading(2));
    let looks = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&looks);
    let on_tick = move |_, state: &str| seen.lock().unwrap().push(state.to_owned());
    wait_for_server(&endpoint(&server), None, Duration::from_secs(600), on_tick)
        .await
        .unwrap();
    assert_eq!(*looks.lock().unwrap(), ["status 503, still loading?"; 2]);
}

#[tokio::test]
async fn a_server_that_lists_its_models_while_loading_them_is_waited_for() {
    let server = FakeServer::start(Behaviour::good().health(Act::status(503, "loading")));
    let error = wait_for_server(
        &endpoint(&server),
        None,
        Duration::from_millis(10),
        |_, _| {},
    )
    .await
    .unwrap_err();
    assert!(error.to_string().contains("still loading"), "{error}");
}

#[tokio::test]
async fn no_server_and_a_wrong_key_are_told_at_the_start() {
    let nobody = Reserved::new();
    let gone = Endpoint::new(&nobody.base_url()).unwrap();
    let error = ask_server(&gone, None).await.unwrap_err();
    assert!(
        matches!(&error, Error::JudgeUnavailable(message) if message.contains("--wait-server 20m")),
        "{error}"
    );
    let server = FakeServer::start(Behaviour::good().key("another"));
    let error = wait_for_server(&endpoint(&server), None, Duration::from_secs(60), |_, _| {})
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::JudgeUnavailable(message) if message.contains("OPENAI_API_KEY")),
        "{error}"
    );
    assert!(matches!(
        ask_server(&endpoint(&server), None).await,
        Err(Error::JudgeUnavailable(_))
    ));
}

#[tokio::test]
async fn a_swapped_model_under_the_same_name_has_another_identity() {
    let id = async |behaviour: Behaviour| {
        let server = FakeServer::start(behaviour);
        let report = ask_server(&endpoint(&server), Some("judge")).await.unwrap();
        judge_id(&report.model, None, &report.identity)
    };
    assert_eq!(
        id(Behaviour::good().serving("judge", "/w/llama")).await,
        "judge|root=llama"
    );
    assert_eq!(
        id(Behaviour::good().serving("judge", "/w/qwen")).await,
        "judge|root=qwen"
    );
    assert_eq!(
        id(Behaviour::good()
            .serving("judge", "judge")
            .model_path("/m.gguf"))
        .await,
        "judge|path=m.gguf"
    );
    assert_eq!(
        id(Behaviour::good().models(Act::status(404, ""))).await,
        "judge",
        "a server may say nothing"
    );
}

#[tokio::test]
async fn the_only_model_of_a_server_needs_no_name() {
    let server = FakeServer::start(Behaviour::good());
    assert_eq!(
        ask_server(&endpoint(&server), None).await.unwrap().model,
        "fake-judge"
    );
    let two = json!({"data": [{"id": "a"}, {"id": "b"}]});
    let server = FakeServer::start(Behaviour::good().models(Act::json(&two)));
    let error = ask_server(&endpoint(&server), None).await.unwrap_err();
    assert!(
        matches!(&error, Error::Settings(message) if message.contains("a, b")),
        "{error}"
    );
}

#[tokio::test]
async fn sglang_reports_its_longest_prompt() {
    let info = |request: &Recorded| {
        let info = json!({"context_length": null, "max_req_input_len": 4090, "max_total_num_tokens": 9000});
        request
            .path
            .ends_with("/get_server_info")
            .then(|| Act::json(&info))
    };
    let server = FakeServer::start(Behaviour::good().handler(info));
    let capacity = ask_server(&endpoint(&server), None)
        .await
        .unwrap()
        .capacity
        .unwrap();
    assert_eq!(capacity.prompt_room(Some(100)), 4090);
}

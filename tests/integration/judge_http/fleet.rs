//! One judge at several endpoints, over HTTP.

use std::collections::BTreeSet;

use scholareval::domain::EndpointStats;
use scholareval::judge::identity::{ServerIdentity, ServerReport, check_same_model};
use scholareval::judge::layers::identity_checked::{ExpectedIdentity, IdentityChecked};
use scholareval::judge::layers::pool::{Pool, Replica};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

type Fleet = Arc<Pool<RateLimited<Chat>>>;

/// The layers as a run has them, around a judge at these servers.
fn fleet(servers: &[&FakeServer]) -> (Retrying<Fleet>, Fleet, Arc<Meters>) {
    let meters = Arc::new(Meters::default());
    let replica = |server: &&FakeServer| {
        let name = endpoint(server).masked_url();
        let chat = Chat::new(endpoint(server), Arc::clone(&meters)).unwrap();
        // A place for every call: where none waits, none moves because the machine made one server seem slow.
        let limits = LimitOptions {
            concurrency: NonZeroUsize::new(120).unwrap(),
            ..LimitOptions::default()
        };
        let judge = RateLimited::new(chat, &limits);
        Replica {
            name,
            concurrency: 120,
            judge,
            unreachable: None,
        }
    };
    let pool = Arc::new(Pool::new(servers.iter().map(replica).collect()).unwrap());
    let mut judge = Retrying::new(Arc::clone(&pool), 5, Arc::clone(&meters));
    judge.first_wait = Duration::from_millis(2);
    (judge, pool, meters)
}

/// Calls about `answers` answers, three about each.
fn calls(answers: usize) -> Vec<JudgeRequest> {
    let call = |i: usize| JudgeRequest {
        case_id: format!("case {}", i / 3).as_str().into(),
        ..request(&format!("answer {} call {}", i / 3, i % 3))
    };
    (0..3 * answers).map(call).collect()
}

/// Which answers a server was asked about.
fn answers(server: &FakeServer) -> BTreeSet<String> {
    let words = |sent: &Recorded| {
        sent.user_message()
            .split(" call")
            .next()
            .unwrap()
            .to_owned()
    };
    server.chats().iter().map(words).collect()
}

async fn ask_all(judge: &impl Judge, calls: &[JudgeRequest]) -> usize {
    let results = join_all(calls.iter().map(|call| judge.ask(call))).await;
    results
        .iter()
        .filter(|result| matches!(result, Ok(Outcome::Reply(_))))
        .count()
}

#[tokio::test]
async fn each_answer_is_asked_at_one_of_two_servers() {
    let servers = [
        FakeServer::start(Behaviour::good()),
        FakeServer::start(Behaviour::good()),
    ];
    let (judge, pool, meters) = fleet(&[&servers[0], &servers[1]]);
    assert_eq!(ask_all(&judge, &calls(40)).await, 120);
    let [first, second] = [answers(&servers[0]), answers(&servers[1])];
    assert!(
        first.is_disjoint(&second),
        "{:?}",
        first.intersection(&second)
    );
    assert_eq!(first.len() + second.len(), 40);
    // 40 draws of 1/2 are all on one side with a probability of 2 x 2^-40
    assert!(!first.is_empty() && !second.is_empty());
    let stats = pool.stats();
    assert_eq!(stats.iter().map(|stats| stats.calls).sum::<u64>(), 120);
    assert_eq!(
        stats.iter().map(|stats| stats.prompt_tokens).sum::<u64>(),
        Meters::read(&meters.prompt_tokens)
    );
    assert!(
        stats
            .iter()
            .all(|stats| stats.name.starts_with("http://127.0.0.1:")
                && stats.latency_p95_ms.is_some())
    );
}

#[tokio::test]
async fn the_answers_of_a_server_that_dies_move_to_the_other() {
    let dying = FakeServer::start(Behaviour::good());
    let living = FakeServer::start(Behaviour::good());
    let (judge, pool, _) = fleet(&[&dying, &living]);
    let calls = calls(20);
    assert_eq!(ask_all(&judge, &calls).await, 60);
    let before = living.chat_count();
    assert!(before < 60);
    let _port = dying.gone();
    assert_eq!(
        ask_all(&judge, &calls).await,
        60,
        "every call gets its reply"
    );
    assert_eq!(living.chat_count(), before + 60);
    let down: Vec<bool> = pool.stats().iter().map(|stats| stats.is_down).collect();
    assert_eq!(down, [true, false]);
    assert!(
        pool.stats()[0]
            .last_failure
            .as_deref()
            .is_some_and(|words| words.contains("connect"))
    );
}

#[tokio::test]
async fn a_replica_with_another_key_is_left_out_and_the_run_goes_on() {
    let closed = FakeServer::start(Behaviour::good().key("another"));
    let open = FakeServer::start(Behaviour::good().key(SECRET));
    let (judge, pool, _) = fleet(&[&closed, &open]);
    assert_eq!(ask_all(&judge, &calls(20)).await, 60);
    let [first, second] = <[EndpointStats; 2]>::try_from(pool.stats()).unwrap();
    assert_eq!((first.replies, second.replies), (0, 60));
    assert!(first.last_failure.unwrap().contains("OPENAI_API_KEY"));
    let (judge, ..) = fleet(&[&closed]);
    assert!(stopped(judge.ask(&request("x")).await).contains("OPENAI_API_KEY"));
}

#[tokio::test]
async fn endpoints_of_different_models_are_told_apart_before_a_call() {
    let servers =
        ["/w/a", "/w/b"].map(|root| FakeServer::start(Behaviour::good().serving("judge", root)));
    let mut served: Vec<(Endpoint, ServerReport)> = Vec::new();
    for server in &servers {
        served.push((
            endpoint(server),
            ask_server(&endpoint(server), Some("judge")).await.unwrap(),
        ));
    }
    let served: Vec<(&Endpoint, &ServerReport)> =
        served.iter().map(|(at, report)| (at, report)).collect();
    let message = check_same_model(&served).unwrap_err().to_string();
    assert!(
        message.contains(r#"root "a""#) && message.contains(&servers[1].base_url()),
        "{message}"
    );
}

/// A judge at this endpoint that has to serve `root`, and that nobody has asked yet.
fn unchecked(endpoint: Endpoint, root: &str) -> IdentityChecked<Chat> {
    checked(endpoint, Some(root), false)
}

/// A judge at this endpoint that has to serve `root`; `is_known` if it has said so already.
fn checked(endpoint: Endpoint, root: Option<&str>, is_known: bool) -> IdentityChecked<Chat> {
    let chat = Chat::new(endpoint.clone(), Arc::default()).unwrap();
    let identity = ServerIdentity {
        served: Some("judge".into()),
        root: root.map(Into::into),
        ..ServerIdentity::default()
    };
    IdentityChecked::new(
        chat,
        Some(ExpectedIdentity {
            endpoint,
            model: "judge".into(),
            identity,
            is_known,
        }),
    )
}

#[tokio::test]
async fn a_server_that_comes_late_is_asked_once_it_has_said_that_it_serves_the_model() {
    let late = Reserved::new();
    let judge = unchecked(Endpoint::new(&late.base_url()).unwrap(), "/w/a");
    assert!(stopped(judge.ask(&request("x")).await).contains("no judge answers at"));
    let server = late.start(Behaviour::good().serving("judge", "/w/a"));
    let calls: Vec<JudgeRequest> = (0..8).map(|i| request(&i.to_string())).collect();
    assert_eq!(ask_all(&judge, &calls).await, 8);
    let looks = server
        .requests()
        .iter()
        .filter(|sent| sent.path.ends_with("/models"))
        .count();
    assert_eq!(
        (server.chat_count(), looks),
        (8, 1),
        "one look for all of them"
    );
}

#[tokio::test]
async fn a_server_with_another_model_gets_no_call() {
    let server = FakeServer::start(Behaviour::good().serving("judge", "/w/b"));
    let judge = unchecked(endpoint(&server), "/w/a");
    let words = stopped(judge.ask(&request("x")).await);
    assert!(
        words.contains("judge|root=b") && words.contains("judge|root=a"),
        "{words}"
    );
    assert_eq!(server.chat_count(), 0);
}

#[tokio::test]
async fn a_server_that_was_started_anew_with_another_model_is_found_out_before_it_is_asked() {
    let first = Behaviour::good()
        .serving("judge", "/w/a")
        .nth(1, Act::ResetBefore);
    let server = FakeServer::start(first);
    let judge = unchecked(endpoint(&server), "/w/a");
    assert!(judge.ask(&request("1")).await.is_ok());
    assert!(matches!(
        judge.ask(&request("2")).await,
        Err(AskError::Transient { status: None, .. })
    ));
    let server = server.replaced_by(Behaviour::good().serving("judge", "/w/b"));
    assert!(stopped(judge.ask(&request("3")).await).contains("another model"));
    assert_eq!(server.chat_count(), 0);
}

/// A reply whose `model` is this.
fn reply_of(model: &str) -> Act {
    let message = json!({"role": "assistant", "content": "{\"score\": 7}"});
    Act::json(
        &json!({"model": model, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}),
    )
}

#[tokio::test]
async fn a_reply_that_names_another_model_counts_only_if_the_server_still_says_that_it_serves_the_same()
 {
    let asked_twice = std::sync::atomic::AtomicUsize::new(0);
    // first the names of a gateway for one model; then, without a broken connection, another model
    let behaviour = Behaviour::good().handler(move |sent: &Recorded| {
        let replies = asked_twice.load(std::sync::atomic::Ordering::SeqCst);
        if sent.is_chat() {
            asked_twice.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            return Some(reply_of(
                ["judge", "judge-0613", "judge", "judge-b"][replies.min(3)],
            ));
        }
        let root = if replies < 4 { "/w/a" } else { "/w/b" };
        sent.path
            .ends_with("/models")
            .then(|| Act::json(&json!({"data": [{"id": "judge", "root": root}]})))
    });
    let server = FakeServer::start(behaviour);
    let judge = checked(endpoint(&server), Some("/w/a"), true);
    for call in ["1", "2", "3"] {
        assert!(
            matches!(judge.ask(&request(call)).await, Ok(Outcome::Reply(_))),
            "{call}"
        );
    }
    let looks = || {
        server
            .requests()
            .iter()
            .filter(|sent| sent.path.ends_with("/models"))
            .count()
    };
    assert_eq!(looks(), 1, "one look at the one name that was new");
    assert!(stopped(judge.ask(&request("4")).await).contains("another model"));
    assert!(stopped(judge.ask(&request("5")).await).contains("another model"));
    assert_eq!(server.chats().len(), 4, "the fifth was not sent");
}

#[tokio::test]
async fn a_server_with_a_bad_moment_is_not_taken_for_another_model() {
    let models = Behaviour::good().models(Act::status(404, "{}"));
    let server = FakeServer::start(models);
    let judge = checked(endpoint(&server), None, true);
    assert!(
        judge.ask(&request("1")).await.is_ok(),
        "known from before: not asked"
    );
    let _port = server.gone();
    assert!(matches!(
        judge.ask(&request("2")).await,
        Err(AskError::Transient { .. })
    ));
    assert!(
        matches!(
            judge.ask(&request("3")).await,
            Err(AskError::Transient { .. })
        ),
        "gone for less than a minute"
    );
}

/// A server that closes every connection after one reply and does not say so: like one whose keep-alive has just ended.
#[tokio::test]
async fn calls_on_connections_that_the_server_closes_get_their_reply_all_the_same() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let body = json!({"choices": [{"message": {"content": "ok"}}]}).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        while let Ok((mut stream, _)) = listener.accept().await {
            // One read is enough of a request that comes in one packet; the rest is thrown away with the connection.
            let _ = stream.read(&mut vec![0; 1 << 16]).await;
            let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
        }
    });
    let (judge, _) = stack_at(Endpoint::new(&url).unwrap(), 4);
    for round in 0..10 {
        let calls: Vec<JudgeRequest> = (0..4)
            .map(|i| request(&format!("round {round} call {i}")))
            .collect();
        assert_eq!(ask_all(&judge, &calls).await, 4, "round {round}");
    }
    server.abort();
}

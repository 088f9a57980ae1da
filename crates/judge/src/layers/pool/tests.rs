use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use tokio::time::{advance, sleep, timeout};

use super::*;
use crate::layers::rate_limited::RateLimited;
use crate::{Body, Rendered};
use scholareval_core::domain::{JudgeReply, Role, UnscoredKind, Usage};

use crate::layers::retrying::Retrying;
use crate::meters::Meters;
use crate::options::LimitOptions;
use scholareval_core::question::{Expertise, JudgeCall};

type Script = Box<dyn Fn() -> Result<Outcome, AskError> + Send + Sync>;

/// A server with changeable behavior; records the cases of its calls.
struct Scripted {
    script: Mutex<Script>,
    latency: Mutex<Duration>,
    asked: Mutex<Vec<String>>,
}

impl Scripted {
    fn new(script: impl Fn() -> Result<Outcome, AskError> + Send + Sync + 'static) -> Arc<Self> {
        let (latency, asked) = (Mutex::default(), Mutex::default());
        Arc::new(Self {
            script: Mutex::new(Box::new(script)),
            latency,
            asked,
        })
    }

    fn does(&self, script: impl Fn() -> Result<Outcome, AskError> + Send + Sync + 'static) {
        *self.script.lock().unwrap() = Box::new(script);
    }

    /// The cases since the last call of this.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Judge for Scripted {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(request.case_id.to_string());
            let latency = *self.latency.lock().unwrap();
            sleep(latency).await;
            let result = (self.script.lock().unwrap())();
            result.map(|outcome| match outcome {
                Outcome::Reply(reply) => {
                    let usage = Usage {
                        prompt_tokens: 10,
                        cached_prompt_tokens: 6,
                        completion_tokens: 1,
                        ..Usage::default()
                    };
                    Outcome::Reply(JudgeReply {
                        latency_ms: latency.as_millis() as u64,
                        usage,
                        ..reply
                    })
                }
                other => other,
            })
        })
    }
}

fn good() -> Result<Outcome, AskError> {
    Ok(Outcome::Reply(JudgeReply::of_text("ok")))
}

fn broken() -> Result<Outcome, AskError> {
    failing(500, None)
}

fn failing(status: u16, retry_after: Option<Duration>) -> Result<Outcome, AskError> {
    Err(AskError::Transient {
        message: format!("status {status}"),
        status: Some(status),
        retry_after,
    })
}

fn key_refused() -> Result<Outcome, AskError> {
    Err(AskError::Fatal(Error::JudgeUnavailable(
        "refused the key".into(),
    )))
}

/// A call about the answer of `case`; `n` distinguishes the calls of one answer.
fn call(case: &str, n: u8) -> JudgeRequest {
    let task = Expertise {
        question: "q".into(),
        answer: "a".into(),
    };
    let call = JudgeCall::new("expertise", Role::Rubric, task);
    let fingerprint = Fingerprint::from(*blake3::hash(format!("{case} {n}").as_bytes()).as_bytes());
    let rendered = Some(Rendered::new(fingerprint, Body::default));
    JudgeRequest {
        call,
        system: "s".into(),
        case_id: case.into(),
        attempt: 0,
        rendered,
    }
}

fn pool_of<J>(judges: &[(&str, J)], concurrency: usize) -> Pool<J>
where
    J: Clone,
{
    let replica = |(name, judge): &(&str, J)| Replica {
        name: (*name).to_owned(),
        concurrency,
        judge: judge.clone(),
        unreachable: None,
    };
    Pool::new(judges.iter().map(replica).collect()).unwrap()
}

fn fleet(names: &[&str]) -> (Vec<Arc<Scripted>>, Pool<Arc<Scripted>>) {
    let judges: Vec<Arc<Scripted>> = names.iter().map(|_| Scripted::new(good)).collect();
    let named: Vec<(&str, Arc<Scripted>)> =
        names.iter().copied().zip(judges.iter().cloned()).collect();
    let pool = pool_of(&named, 1000);
    (judges, pool)
}

/// The replica of each of 1000 cases.
fn homes(names: &[&str]) -> BTreeMap<String, String> {
    let (_, pool) = fleet(names);
    let home = |case: String| {
        let index = pool.with(|state| pool.choose(&call(&case, 0), state));
        (case, names[index].to_owned())
    };
    (0..1000).map(|i| home(format!("case {i}"))).collect()
}

/// A case of the replica `index`.
fn case_at<J: Judge>(pool: &Pool<J>, index: usize) -> String {
    (0..)
        .map(|i| format!("case {i}"))
        .find(|case| pool.with(|state| pool.choose(&call(case, 0), state)) == index)
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn all_calls_about_an_answer_go_to_one_replica_and_all_replicas_get_answers() {
    let (judges, pool) = fleet(&["a", "b", "c", "d"]);
    for n in 0..3 {
        for i in 0..400 {
            pool.ask(&call(&format!("case {i}"), n)).await.unwrap();
        }
    }
    let cases_of_judges: Vec<Vec<String>> = judges.iter().map(|judge| judge.asked()).collect();
    let cases: Vec<BTreeSet<&String>> = cases_of_judges
        .iter()
        .map(|cases_of_judges| cases_of_judges.iter().collect())
        .collect();
    assert_eq!(
        cases.iter().map(BTreeSet::len).sum::<usize>(),
        400,
        "no case is at two places"
    );
    // 400 samples of 1/4: 100, with a deviation of sqrt(400 x 1/4 x 3/4) = 8.7; six of them
    assert!(
        cases.iter().all(|cases| (48..=152).contains(&cases.len())),
        "{cases:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_replica_more_or_less_moves_its_own_answers_only() {
    let (with, without) = (homes(&["a", "b", "c"]), homes(&["a", "b"]));
    for (case, home) in &with {
        assert!(
            home == "c" || home == &without[case],
            "{case} moved from {home} to {}",
            without[case]
        );
    }
    assert_eq!(with, homes(&["c", "a", "b"]), "the order does not matter");
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_fails_three_times_in_a_row_is_left_alone_until_one_call_finds_it_back() {
    let (judges, pool) = fleet(&["a", "b"]);
    let case = case_at(&pool, 0);
    judges[0].does(broken);
    for n in 0..3 {
        assert!(pool.ask(&call(&case, n)).await.is_err());
    }
    for n in 3..10 {
        pool.ask(&call(&case, n)).await.unwrap();
    }
    assert_eq!((judges[0].asked().len(), judges[1].asked().len()), (3, 7));
    assert!(pool.stats()[0].is_down && !pool.stats()[1].is_down);
    assert_eq!(pool.stats()[0].last_failure.as_deref(), Some("status 500"));

    // Still broken after the cool-down of 5 s: one call probes, the next cool-down is 10 s.
    advance(Duration::from_secs(5)).await;
    let calls: Vec<JudgeRequest> = (10..20).map(|n| call(&case, n)).collect();
    let results = join_all(calls.iter().map(|call| pool.ask(call))).await;
    assert_eq!(results.iter().filter(|result| result.is_err()).count(), 1);
    assert_eq!((judges[0].asked().len(), judges[1].asked().len()), (1, 9));
    advance(Duration::from_millis(9900)).await;
    pool.ask(&call(&case, 20)).await.unwrap();
    assert_eq!(judges[0].asked().len(), 0);

    judges[0].does(good);
    advance(Duration::from_millis(100)).await;
    for n in 21..24 {
        pool.ask(&call(&case, n)).await.unwrap();
    }
    assert_eq!(
        (judges[0].asked().len(), pool.stats()[0].is_down),
        (3, false)
    );
}

#[tokio::test(start_paused = true)]
async fn failures_with_answers_between_take_no_replica_down() {
    let (judges, pool) = fleet(&["a", "b"]);
    let case = case_at(&pool, 0);
    let answers: [fn() -> Result<Outcome, AskError>; 3] = [
        good,
        || failing(429, None),
        || {
            Err(AskError::Refused {
                message: "no".into(),
                status: 400,
                kind: UnscoredKind::Refused,
            })
        },
    ];
    for (n, answer) in (0..12).zip(answers.into_iter().cycle()) {
        judges[0].does(if n % 2 == 0 { broken } else { answer });
        let _ = pool.ask(&call(&case, n)).await;
    }
    assert_eq!(judges[0].asked().len(), 12);
    assert!(!pool.stats()[0].is_down);
}

#[tokio::test(start_paused = true)]
async fn the_next_attempt_of_a_failed_call_goes_to_another_replica_and_other_calls_stay() {
    let (judges, pool) = fleet(&["a", "b"]);
    let case = case_at(&pool, 0);
    judges[0].does(broken);
    let meters = Arc::new(Meters::default());
    let judge = Retrying::new(pool, 7, Arc::clone(&meters));
    assert_eq!(
        judge.ask(&call(&case, 0)).await.unwrap(),
        judge.ask(&call(&case, 1)).await.unwrap()
    );
    // two calls, each at the first replica of its answer and then at the other
    assert_eq!((judges[0].asked().len(), judges[1].asked().len()), (2, 2));
    assert_eq!(Meters::read(&meters.retries), 2);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_call_is_asked_elsewhere_and_others_stay_unless_the_pause_is_long() {
    let (judges, pool) = fleet(&["a", "b"]);
    let case = case_at(&pool, 0);
    judges[0].does(|| failing(429, Some(Duration::from_secs(2))));
    assert!(pool.ask(&call(&case, 0)).await.is_err());
    pool.ask(&call(&case, 0)).await.unwrap();
    assert!(
        pool.ask(&call(&case, 1)).await.is_err(),
        "other calls stay where their prefix is"
    );
    assert_eq!(
        (
            judges[0].asked().len(),
            judges[1].asked().len(),
            pool.stats()[0].throttled
        ),
        (2, 1, 2)
    );
    judges[0].does(|| failing(429, Some(Duration::from_secs(30))));
    assert!(pool.ask(&call(&case, 2)).await.is_err());
    pool.ask(&call(&case, 3)).await.unwrap();
    assert_eq!((judges[0].asked().len(), judges[1].asked().len()), (1, 1));
    advance(Duration::from_secs(30)).await;
    judges[0].does(good);
    pool.ask(&call(&case, 3)).await.unwrap();
    assert_eq!(judges[0].asked().len(), 1, "back home after the pause");
}

#[tokio::test(start_paused = true)]
async fn a_fatal_error_stops_a_run_only_when_no_replica_is_left() {
    let (judges, pool) = fleet(&["http://a/v1", "http://b/v1"]);
    let case = case_at(&pool, 0);
    judges[0].does(key_refused);
    let Err(AskError::Transient { message, .. }) = pool.ask(&call(&case, 0)).await else {
        panic!()
    };
    assert_eq!(message, "http://a/v1: refused the key");
    for n in 0..5 {
        pool.ask(&call(&case, n)).await.unwrap();
    }
    assert_eq!((judges[0].asked().len(), judges[1].asked().len()), (1, 5));
    judges[1].does(key_refused);
    let Err(AskError::Fatal(error)) = pool.ask(&call(&case, 9)).await else {
        panic!()
    };
    let message = "no endpoint of the judge is left: http://a/v1: refused the key; http://b/v1: refused the key";
    assert!(error.to_string().contains(message), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_lost_replica_is_probed_after_a_minute() {
    let (judges, pool) = fleet(&["a", "b"]);
    let case = case_at(&pool, 0);
    judges[0].does(key_refused);
    assert!(pool.ask(&call(&case, 0)).await.is_err());
    judges[0].does(good);
    advance(Duration::from_secs(59)).await;
    pool.ask(&call(&case, 1)).await.unwrap();
    assert_eq!(judges[1].asked().len(), 1);
    advance(Duration::from_secs(1)).await;
    pool.ask(&call(&case, 2)).await.unwrap();
    assert_eq!(
        (judges[0].asked().len(), pool.stats()[0].is_down),
        (2, false)
    );
}

#[tokio::test(start_paused = true)]
async fn a_pool_of_one_passes_errors_through() {
    let (judges, pool) = fleet(&["a"]);
    judges[0].does(key_refused);
    let Err(AskError::Fatal(error)) = pool.ask(&call("c", 0)).await else {
        panic!()
    };
    assert!(
        error.to_string().ends_with("refused the key") && !error.to_string().contains("a:"),
        "{error}"
    );
    judges[0].does(broken);
    for _ in 0..9 {
        let Err(AskError::Transient { message, .. }) = pool.ask(&call("c", 0)).await else {
            panic!()
        };
        assert_eq!(message, "status 500");
    }
    judges[0].does(good);
    pool.ask(&call("c", 0)).await.unwrap();
    assert_eq!(
        judges[0].asked().len(),
        11,
        "the only replica is asked even if it is down"
    );
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_leaves_its_place_to_the_next_call() {
    let (judges, pool) = fleet(&["a", "b"]);
    let case = case_at(&pool, 0);
    judges[0].does(broken);
    for n in 0..3 {
        assert!(pool.ask(&call(&case, n)).await.is_err());
    }
    judges[0].does(good);
    advance(Duration::from_secs(5)).await;
    *judges[0].latency.lock().unwrap() = Duration::from_secs(100);
    let probe = call(&case, 3);
    assert!(
        timeout(Duration::from_secs(1), pool.ask(&probe))
            .await
            .is_err()
    );
    pool.ask(&call(&case, 4)).await.unwrap();
    assert_eq!((judges[0].asked().len(), judges[1].asked().len()), (5, 0));
}

type LimitedPool = Pool<Arc<RateLimited<Arc<Scripted>>>>;

/// Two replicas with two slots each, of which the first takes 400 ms and the second 100 ms, and a case of the first.
fn limited() -> (Vec<Arc<Scripted>>, LimitedPool, String) {
    let judges = vec![Scripted::new(good), Scripted::new(good)];
    *judges[0].latency.lock().unwrap() = Duration::from_millis(400);
    *judges[1].latency.lock().unwrap() = Duration::from_millis(100);
    let limits = LimitOptions {
        concurrency: NonZeroUsize::new(2).unwrap(),
        ..LimitOptions::default()
    };
    let limit = |judge: &Arc<Scripted>| Arc::new(RateLimited::new(Arc::clone(judge), &limits));
    let pool = pool_of(&[("a", limit(&judges[0])), ("b", limit(&judges[1]))], 2);
    let case = case_at(&pool, 0);
    (judges, pool, case)
}

#[tokio::test(start_paused = true)]
async fn calls_that_would_queue_at_a_slow_replica_go_elsewhere_and_others_stay() {
    let (judges, pool, case) = limited();
    for n in 0..6 {
        pool.ask(&call(&case, n)).await.unwrap();
    }
    assert_eq!(
        (judges[0].asked().len(), judges[1].asked().len()),
        (6, 0),
        "without a queue all stay"
    );
    let calls: Vec<JudgeRequest> = (10..20).map(|n| call(&case, n)).collect();
    join_all(calls.iter().map(|call| pool.ask(call))).await;
    // two have a slot here, two have one elsewhere; where all wait, they wait at home
    assert_eq!((judges[0].asked().len(), judges[1].asked().len()), (8, 2));
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_throttled_replica_use_the_free_slots_of_another() {
    let (judges, pool, case) = limited();
    judges[0].does(|| failing(429, Some(Duration::from_secs(3))));
    assert!(pool.ask(&call(&case, 9)).await.is_err());
    judges[0].does(good);
    judges[0].asked();
    let calls: Vec<JudgeRequest> = (10..20).map(|n| call(&case, n)).collect();
    let results = join_all(calls.iter().map(|call| pool.ask(call))).await;
    assert!(results.iter().all(Result::is_ok));
    assert_eq!((judges[0].asked().len(), judges[1].asked().len()), (8, 2));
    pool.ask(&call(&case, 20)).await.unwrap();
    assert_eq!(
        (judges[0].asked().len(), judges[1].asked().len()),
        (1, 0),
        "back home after the pause"
    );
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_is_unreachable_at_the_start_is_probed_after_a_minute() {
    let (judges, pool) = fleet(&["a", "b"]);
    let case = case_at(&pool, 0);
    let mut replicas = pool.replicas;
    replicas[0].unreachable = Some("no judge answers at a".to_owned());
    let pool = Pool::new(replicas).unwrap();
    assert_eq!(
        (
            pool.stats()[0].is_down,
            pool.stats()[0].last_failure.as_deref()
        ),
        (true, Some("no judge answers at a"))
    );
    pool.ask(&call(&case, 0)).await.unwrap();
    advance(Duration::from_secs(60)).await;
    pool.ask(&call(&case, 1)).await.unwrap();
    assert_eq!(
        (
            judges[0].asked().len(),
            judges[1].asked().len(),
            pool.stats()[0].is_down
        ),
        (1, 1, false)
    );
}

#[tokio::test(start_paused = true)]
async fn each_endpoint_has_its_own_statistics() {
    let (judges, pool) = fleet(&["a", "b"]);
    *judges[0].latency.lock().unwrap() = Duration::from_millis(40);
    let case = case_at(&pool, 0);
    for n in 0..4 {
        pool.ask(&call(&case, n)).await.unwrap();
    }
    judges[0].does(broken);
    let _ = pool.ask(&call(&case, 4)).await;
    let [a, b] = <[EndpointStats; 2]>::try_from(pool.stats()).unwrap();
    assert_eq!(
        (a.name.as_str(), a.calls, a.replies, a.errors),
        ("a", 5, 4, 1)
    );
    assert_eq!(
        (a.latency_p50_ms, a.latency_p95_ms),
        (Some(40.0), Some(40.0))
    );
    assert_eq!((a.prompt_tokens, a.cached_prompt_tokens), (40, 24));
    assert_eq!((b.calls, b.latency_p50_ms), (0, None));
}

#[test]
fn an_empty_and_a_duplicate_list_are_rejected() {
    let replica = |name: &str| Replica {
        name: name.to_owned(),
        concurrency: 2,
        judge: Scripted::new(good),
        unreachable: None,
    };
    assert!(
        Pool::<Arc<Scripted>>::new(Vec::new())
            .err()
            .unwrap()
            .to_string()
            .contains("--base-url")
    );
    let twice = Pool::new(vec![replica("http://a/v1"), replica("http://a/v1")]);
    assert!(
        twice
            .err()
            .unwrap()
            .to_string()
            .contains("http://a/v1 is given twice")
    );
}

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures::future::join_all;

use super::*;
use crate::{Body, Rendered};
use scholareval_core::domain::{Fingerprint, JudgeReply, Role};
use scholareval_core::question::{Citations, Expertise, JudgeCall};

type Script = Box<dyn Fn(usize) -> Result<Outcome, AskError> + Send + Sync>;

/// Takes `latency` for each call; records the arrivals and the largest number in flight.
struct Timed {
    latency: Duration,
    script: Script,
    arrivals: Mutex<Vec<Instant>>,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Timed {
    fn new(
        latency: Duration,
        script: impl Fn(usize) -> Result<Outcome, AskError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self {
            latency,
            script: Box::new(script),
            arrivals: Mutex::default(),
            now,
            most,
        })
    }

    fn good(latency: Duration) -> Arc<Self> {
        Self::new(latency, |_| ok())
    }

    /// Arrivals in milliseconds since the first.
    fn arrivals(&self) -> Vec<u128> {
        let arrivals = self.arrivals.lock().unwrap();
        arrivals
            .iter()
            .map(|at| (*at - arrivals[0]).as_millis())
            .collect()
    }
}

impl Judge for Timed {
    fn ask<'a>(&'a self, _: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(async move {
            let index = {
                let mut arrivals = self.arrivals.lock().unwrap();
                arrivals.push(Instant::now());
                arrivals.len() - 1
            };
            self.most.fetch_max(
                self.now.fetch_add(1, Ordering::SeqCst) + 1,
                Ordering::SeqCst,
            );
            tokio::time::sleep(self.latency).await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            (self.script)(index)
        })
    }
}

fn ok() -> Result<Outcome, AskError> {
    Ok(Outcome::Reply(JudgeReply::of_text("ok")))
}

fn busy(status: u16, retry_after: Option<u64>) -> Result<Outcome, AskError> {
    let retry_after = retry_after.map(Duration::from_secs);
    Err(AskError::Transient {
        message: "busy".into(),
        status: Some(status),
        retry_after,
    })
}

fn request(prompt_tokens: u64, max_tokens: Option<u64>) -> JudgeRequest {
    let task = Expertise {
        question: "q".into(),
        answer: "a".into(),
    };
    let call = JudgeCall::new("expertise", Role::Rubric, task);
    let fingerprint = Fingerprint::from([0; 32]);
    let body = move || Body::new(prompt_tokens, Bytes::new);
    let rendered = Some(Rendered {
        max_tokens,
        ..Rendered::new(fingerprint, body)
    });
    JudgeRequest {
        call,
        system: "s".into(),
        case_id: "c".into(),
        attempt: 0,
        rendered,
    }
}

fn limits(concurrency: usize, rpm: u32, tpm: u64) -> LimitOptions {
    let concurrency = NonZeroUsize::new(concurrency).unwrap();
    LimitOptions {
        concurrency,
        rpm: NonZeroU32::new(rpm),
        tpm: NonZeroU64::new(tpm),
        ..LimitOptions::default()
    }
}

/// Makes `calls` concurrent calls.
async fn ask_all(
    inner: &Arc<Timed>,
    limits: LimitOptions,
    calls: usize,
) -> Vec<Result<Outcome, AskError>> {
    let judge = RateLimited::new(Arc::clone(inner), &limits);
    let request = request(0, Some(0));
    join_all((0..calls).map(|_| judge.ask(&request))).await
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_than_slots_are_in_flight() {
    let inner = Timed::good(Duration::from_secs(1));
    ask_all(&inner, limits(3, 0, 0), 10).await;
    assert_eq!(inner.most.load(Ordering::SeqCst), 3);
    // 10 calls on 3 slots of 1 s: four rounds
    assert_eq!(inner.arrivals().iter().filter(|at| **at == 3000).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn lists_in_flight_are_as_many_as_the_slots_of_the_server_and_hold_up_nothing_else() {
    let inner = Timed::good(Duration::from_secs(1));
    let judge = RateLimited::new(Arc::clone(&inner), &limits(8, 0, 0)).with_slots(Some(2));
    let short = request(0, Some(0));
    let task = Citations {
        question: "q".into(),
        answer: "a".into(),
    };
    let list = JudgeRequest {
        call: JudgeCall::new("citations", Role::Rubric, task),
        ..short.clone()
    };
    join_all((0..4).map(|_| judge.ask(&list))).await;
    // four lists on two slots of 1 s: two rounds
    assert_eq!(inner.arrivals(), [0, 0, 1000, 1000]);
    let all = [&list, &list, &list, &short, &short];
    join_all(all.map(|request| judge.ask(request))).await;
    assert_eq!(inner.arrivals()[4..], [2000, 2000, 2000, 2000, 3000]);
    assert_eq!(inner.most.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn requests_per_minute_are_spread_over_the_minute() {
    let inner = Timed::good(Duration::ZERO);
    ask_all(&inner, limits(100, 60, 0), 90).await;
    let arrivals = inner.arrivals();
    // 60 a minute in bursts of 1: one a second; within the first 30 s at most 31, not all 60
    assert!(
        arrivals.iter().filter(|at| **at <= 30_000).count() <= 31,
        "{arrivals:?}"
    );
    assert!(
        (88_000..=91_000).contains(&arrivals[89]),
        "{}",
        arrivals[89]
    );
}

#[tokio::test(start_paused = true)]
async fn no_minute_holds_more_than_the_quota() {
    for quota in [1, 7, 60, 100, 600] {
        let pace = Quota::new(NonZeroU32::new(quota).unwrap());
        let start = Instant::now();
        let mut left = Vec::new();
        for _ in 0..2 * quota + 1 {
            let mut cost = 1;
            while let Some(wait) = pace.take(&mut cost) {
                sleep(wait).await;
            }
            left.push(start.elapsed());
        }
        // The call `quota` positions later is sent more than a minute later.
        let closest = left
            .windows(quota as usize + 1)
            .map(|window| window[quota as usize] - window[0])
            .min();
        assert!(
            closest.unwrap() > Duration::from_secs(60),
            "{quota}: {closest:?}"
        );
        // and two quotas take no more than 5% above two minutes
        assert!(
            left.last().unwrap().as_secs_f64() < 126.0,
            "{quota}: {:?}",
            left.last()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_above_the_burst_of_tokens_is_paid_in_parts() {
    let inner = Timed::good(Duration::ZERO);
    let judge = RateLimited::new(Arc::clone(&inner), &limits(10, 0, 600));
    // 70 + 50 tokens, and without a limit the reply counts as long as the prompt: 60 + 60
    let requests = [
        request(70, Some(50)),
        request(60, None),
        request(100, Some(20)),
    ];
    join_all(requests.iter().map(|request| judge.ask(request))).await;
    let arrivals = inner.arrivals();
    // 600 a minute in bursts of 10 leave a rate of 591 / 1.005 = 588 a minute: 120 tokens take 12.24 s
    for (i, at) in arrivals.iter().enumerate() {
        let expected = 12_244 * i as u128;
        assert!(at.abs_diff(expected) <= 200, "{arrivals:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_leave_in_the_order_they_came() {
    let inner = Timed::good(Duration::from_millis(10));
    let judge = RateLimited::new(Arc::clone(&inner), &limits(1, 6000, 0));
    let done = Mutex::new(Vec::new());
    let request = request(0, Some(0));
    let (judge, request, order) = (&judge, &request, &done);
    join_all((0..50).map(|i| async move {
        judge.ask(request).await.unwrap();
        order.lock().unwrap().push(i);
    }))
    .await;
    assert_eq!(*done.lock().unwrap(), (0..50).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn one_retry_after_holds_all_waiting_calls() {
    let inner = Timed::new(Duration::from_millis(5), |i| {
        if i == 0 { busy(429, Some(30)) } else { ok() }
    });
    let results = ask_all(&inner, limits(1, 0, 0), 6).await;
    let arrivals = inner.arrivals();
    assert!(arrivals[1..].iter().all(|at| *at >= 30_000), "{arrivals:?}");
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_429_without_retry_after_pauses_longer_each_time_and_once_for_a_flight() {
    let inner = Timed::new(Duration::from_millis(5), |i| {
        if i < 6 { busy(429, None) } else { ok() }
    });
    let judge = RateLimited::new(Arc::clone(&inner), &limits(4, 0, 0));
    let request = request(0, Some(0));
    join_all((0..4).map(|_| judge.ask(&request))).await;
    for _ in 0..3 {
        let _ = judge.ask(&request).await;
    }
    let arrivals = inner.arrivals();
    // four fail together: one pause of 1 s, not 1 + 2 + 4 + 8; then 2 s, then 4 s
    let gaps: Vec<u128> = arrivals[3..]
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .collect();
    for (gap, least) in gaps.iter().zip([1000, 2000, 4000]) {
        assert!((least..least + 600).contains(gap), "{gaps:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_hours_ends_the_run_instead() {
    let inner = Timed::new(Duration::ZERO, |_| busy(429, Some(86_400)));
    let results = ask_all(&inner, limits(1, 0, 0), 1).await;
    let Err(AskError::Fatal(error)) = &results[0] else {
        panic!("{results:?}")
    };
    assert!(error.to_string().contains("86400 s"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn other_failures_do_not_pause_calls() {
    let inner = Timed::new(
        Duration::ZERO,
        |i| if i == 0 { busy(500, None) } else { ok() },
    );
    ask_all(&inner, limits(1, 0, 0), 3).await;
    assert_eq!(inner.arrivals(), [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_releases_its_turn() {
    let inner = Timed::good(Duration::from_secs(1));
    let judge = RateLimited::new(Arc::clone(&inner), &limits(1, 0, 0));
    let request = request(0, Some(0));
    let dropped = tokio::time::timeout(Duration::from_millis(10), judge.ask(&request)).await;
    assert!(dropped.is_err());
    assert!(judge.ask(&request).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_server_gets_fewer_calls_at_once_and_more_again_later() {
    let inner = Timed::new(Duration::from_millis(100), |i| {
        if i < 10 { busy(503, None) } else { ok() }
    });
    let judge = RateLimited::new(Arc::clone(&inner), &limits(10, 0, 0));
    let request = request(0, Some(0));
    join_all((0..10).map(|_| judge.ask(&request))).await;
    assert_eq!(
        (inner.most.swap(0, Ordering::SeqCst), judge.concurrency()),
        (10, 5)
    );
    join_all((0..5).map(|_| judge.ask(&request))).await;
    // five replies are a window, and a step of 10 is 1
    assert_eq!(
        (inner.most.swap(0, Ordering::SeqCst), judge.concurrency()),
        (5, 6)
    );
    join_all((0..200).map(|_| judge.ask(&request))).await;
    assert_eq!(
        (inner.most.load(Ordering::SeqCst), judge.concurrency()),
        (10, 10),
        "never above the given number"
    );
}

#[tokio::test(start_paused = true)]
async fn time_outs_are_overload_and_other_failures_are_not() {
    for (status, left) in [(408, 5), (504, 5), (500, 10), (502, 10)] {
        let inner = Timed::new(Duration::ZERO, move |_| busy(status, None));
        let judge = RateLimited::new(Arc::clone(&inner), &limits(10, 0, 0));
        assert!(judge.ask(&request(0, Some(0))).await.is_err());
        assert_eq!(judge.concurrency(), left, "{status}");
    }
}

/// 20,000 calls wait for a pause of ten minutes, then run eight at a time. Counts polls: a waiting call costs nothing
/// until its turn.
#[tokio::test(start_paused = true)]
async fn twenty_thousand_waiting_calls_are_woken_for_their_own_turn_only() {
    const CALLS: usize = 20_000;
    let inner = Timed::new(Duration::from_millis(10), |i| {
        if i == 0 { busy(429, Some(600)) } else { ok() }
    });
    let judge = RateLimited::new(Arc::clone(&inner), &limits(8, 0, 0));
    let request = request(0, Some(0));
    let polls = AtomicUsize::new(0);
    let counted = |_| {
        let (mut ask, polls) = (judge.ask(&request), &polls);
        std::future::poll_fn(move |context| {
            polls.fetch_add(1, Ordering::Relaxed);
            ask.as_mut().poll(context)
        })
    };
    let watch = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let early = polls.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(500)).await;
        (early, polls.load(Ordering::Relaxed))
    };
    let (results, (early, late)) = tokio::join!(join_all((0..CALLS).map(counted)), watch);
    assert_eq!(
        results.iter().filter(|result| result.is_ok()).count(),
        CALLS - 1
    );
    assert_eq!(early, late, "no call was woken during the pause");
    // begin, the gate, a slot, the reply
    let all = polls.load(Ordering::Relaxed);
    assert!(all <= 4 * CALLS + 1000, "{all}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_the_users_own_limit_is_shown_with_its_option() {
    for (limits, option) in [
        (limits(8, 6, 0), "waiting for --rpm"),
        (limits(8, 0, 60), "waiting for --tpm"),
    ] {
        let judge = RateLimited::new(Timed::good(Duration::ZERO), &limits);
        let request = request(1, Some(1));
        judge.ask(&request).await.unwrap();
        let mut waiting = judge.ask(&request);
        assert!(
            tokio::time::timeout(Duration::from_millis(10), &mut waiting)
                .await
                .is_err()
        );
        assert_eq!(judge.activity().pause.map(|(_, why)| why), Some(option));
        waiting.await.unwrap();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(judge.activity().pause, None);
    }
}

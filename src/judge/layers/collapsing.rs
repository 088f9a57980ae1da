//! Merges identical calls in flight.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};

use crate::domain::Fingerprint;
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome, locked};

/// A judge that gets identical concurrent calls only once.
///
/// Overlapping calls with one fingerprint share one call of the inner judge:
///
/// - The shared call is polled by whichever caller waits for it. A dropped caller does not affect the others, and the
///   inner call is dropped only with the last caller: there is no leader, no takeover, no deadlock.
/// - All get the same outcome. The first to receive a reply gets it unchanged; the others get a copy with
///   `cached: true`, so that its tokens count once, as for any cached reply.
/// - All get the same error. Retries are up to the inner layer or the caller: the next call with that fingerprint
///   starts anew.
///
/// Requests that are not rendered have no fingerprint and pass straight through.
pub struct Collapsing<J> {
    inner: Arc<J>,
    flights: Mutex<HashMap<Fingerprint, WeakShared<SharedCall>>>,
}

type SharedCall = BoxFuture<'static, Arc<Landed>>;

/// A finished call.
struct Landed {
    result: Result<Outcome, AskError>,
    /// True once a caller received it.
    received: AtomicBool,
}

impl<J> Collapsing<J> {
    /// Collapses the calls to `inner`.
    pub fn new(inner: J) -> Self {
        Self { inner: Arc::new(inner), flights: Mutex::default() }
    }
}

/// The call, while it has callers and is not finished.
fn ongoing(flight: &WeakShared<SharedCall>) -> Option<Shared<SharedCall>> {
    flight.upgrade().filter(|flight| flight.peek().is_none())
}

impl<J: Judge + 'static> Collapsing<J> {
    /// The call in flight with that fingerprint, or a new one.
    fn join(&self, request: &JudgeRequest, key: Fingerprint) -> Shared<SharedCall> {
        let mut flights = locked(&self.flights);
        if let Some(flight) = flights.get(&key).and_then(ongoing) {
            return flight;
        }
        let (inner, request) = (Arc::clone(&self.inner), request.clone());
        let call = async move {
            let result = inner.ask(&request).await;
            Arc::new(Landed { result, received: AtomicBool::new(false) })
        };
        let flight = call.boxed().shared();
        flights.extend(flight.downgrade().map(|weak| (key, weak)));
        flight
    }
}

impl<J: Judge + 'static> Judge for Collapsing<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        let Some(rendered) = &request.rendered else { return self.inner.ask(request) };
        Box::pin(async move {
            let key = rendered.fingerprint;
            let landed = self.join(request, key).await;
            let mut flights = locked(&self.flights);
            if flights.get(&key).is_some_and(|flight| ongoing(flight).is_none()) {
                flights.remove(&key);
            }
            drop(flights);
            let is_first = !landed.received.swap(true, Ordering::Relaxed);
            let mut result = landed.result.clone();
            if let Ok(Outcome::Reply(reply)) = &mut result {
                reply.cached |= !is_first;
            }
            result
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use futures::future::join_all;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::domain::{JudgeCall, JudgeReply, JudgeTask, Role, Usage};
    use crate::error::Error;
    use crate::judge::{Body, Rendered};

    /// Answers when the test opens it; fails while `fatal` is set.
    struct Gate {
        asked: AtomicU64,
        finished: AtomicU64,
        open: Semaphore,
        fatal: AtomicBool,
    }

    impl Judge for Gate {
        fn ask<'a>(&'a self, _request: &'a JudgeRequest) -> AskFuture<'a> {
            Box::pin(async move {
                self.asked.fetch_add(1, Ordering::Relaxed);
                self.open.acquire().await.unwrap().forget();
                self.finished.fetch_add(1, Ordering::Relaxed);
                if self.fatal.load(Ordering::Relaxed) {
                    return Err(AskError::Fatal(Error::JudgeUnavailable("wrong key".into())));
                }
                let usage = Usage { prompt_tokens: 5, cached_prompt_tokens: 0, completion_tokens: 1 };
                Ok(Outcome::Reply(JudgeReply { usage, ..JudgeReply::of_text("x") }))
            })
        }
    }

    fn judge() -> (Collapsing<Arc<Gate>>, Arc<Gate>) {
        let gate = Arc::new(Gate {
            asked: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            open: Semaphore::new(0),
            fatal: AtomicBool::new(false),
        });
        (Collapsing::new(Arc::clone(&gate)), gate)
    }

    /// Number of different calls in flight.
    fn in_flight(judge: &Collapsing<Arc<Gate>>) -> usize {
        locked(&judge.flights).values().filter(|flight| ongoing(flight).is_some()).count()
    }

    fn request(key: Option<u8>) -> JudgeRequest {
        let task = JudgeTask::Expertise { question: "q".into(), answer: "a".into() };
        let rendered = key.map(|key| Rendered::new(Fingerprint::from([key; 32]), Body::default));
        let call = JudgeCall { item: "expertise".into(), role: Role::Rubric, task, draw: 0, member: 0 };
        JudgeRequest { call, system: "s".into(), case_id: "c".into(), attempt: 0, rendered }
    }

    fn replies(outcomes: Vec<Result<Outcome, AskError>>) -> Vec<JudgeReply> {
        outcomes
            .into_iter()
            .map(|outcome| match outcome {
                Ok(Outcome::Reply(reply)) => reply,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[tokio::test]
    async fn identical_calls_in_flight_become_one_and_one_of_them_pays() {
        let (judge, gate) = judge();
        let requests: Vec<_> = [1, 1, 2, 1].map(|key| request(Some(key))).into();
        // The gate opens when all calls are in flight.
        let asking = join_all(requests.iter().map(|request| judge.ask(request)));
        let (outcomes, ()) = futures::join!(asking, async { gate.open.add_permits(2) });
        let replies = replies(outcomes);
        assert_eq!(gate.asked.load(Ordering::Relaxed), 2);
        // Three callers share key 1 and one of them pays; key 2 is paid by its only caller.
        let paid: u64 = replies.iter().filter(|reply| !reply.cached).map(|reply| reply.usage.prompt_tokens).sum();
        assert_eq!(paid, 2 * 5);
        assert!(replies.iter().all(|reply| reply.content == "x" && reply.usage.prompt_tokens == 5));
        assert_eq!(in_flight(&judge), 0);
    }

    #[tokio::test]
    async fn the_first_caller_may_go_and_the_others_still_get_the_paid_reply() {
        let (judge, gate) = judge();
        let request = request(Some(1));
        let mut first = judge.ask(&request);
        let mut second = judge.ask(&request);
        let mut third = judge.ask(&request);
        assert!(futures::poll!(&mut first).is_pending());
        assert!(futures::poll!(&mut second).is_pending());
        assert!(futures::poll!(&mut third).is_pending());
        drop(first);
        gate.open.add_permits(1);
        let replies = replies(vec![third.await, second.await]);
        assert_eq!(gate.asked.load(Ordering::Relaxed), 1);
        assert_eq!(replies.iter().map(|reply| reply.cached).collect::<Vec<_>>(), [false, true]);
    }

    #[tokio::test]
    async fn a_caller_that_is_not_polled_delays_no_other() {
        let (judge, gate) = judge();
        let request = request(Some(1));
        let mut sleeping = judge.ask(&request);
        assert!(futures::poll!(&mut sleeping).is_pending());
        gate.open.add_permits(1);
        replies(vec![judge.ask(&request).await]);
        assert_eq!(gate.asked.load(Ordering::Relaxed), 1);
        assert!(replies(vec![sleeping.await])[0].cached);
    }

    #[tokio::test]
    async fn a_call_whose_callers_have_all_gone_is_dropped_and_asked_afresh() {
        let (judge, gate) = judge();
        let request = request(Some(1));
        let mut gone = judge.ask(&request);
        assert!(futures::poll!(&mut gone).is_pending());
        drop(gone);
        assert_eq!(in_flight(&judge), 0);
        gate.open.add_permits(1);
        assert!(!replies(vec![judge.ask(&request).await])[0].cached);
        assert_eq!((gate.asked.load(Ordering::Relaxed), gate.finished.load(Ordering::Relaxed)), (2, 1));
    }

    #[tokio::test]
    async fn all_get_an_error_and_the_next_call_starts_afresh() {
        let (judge, gate) = judge();
        gate.fatal.store(true, Ordering::Relaxed);
        let request = request(Some(1));
        let asking = join_all([judge.ask(&request), judge.ask(&request)]);
        let (outcomes, ()) = futures::join!(asking, async { gate.open.add_permits(1) });
        for outcome in outcomes {
            assert!(matches!(outcome, Err(AskError::Fatal(Error::JudgeUnavailable(what))) if what == "wrong key"));
        }
        assert_eq!(gate.asked.load(Ordering::Relaxed), 1);
        gate.fatal.store(false, Ordering::Relaxed);
        gate.open.add_permits(1);
        assert!(!replies(vec![judge.ask(&request).await])[0].cached);
    }

    #[tokio::test]
    async fn requests_that_are_not_rendered_are_not_collapsed() {
        let (judge, gate) = judge();
        gate.open.add_permits(2);
        let request = request(None);
        join_all([judge.ask(&request), judge.ask(&request)]).await;
        assert_eq!(gate.asked.load(Ordering::Relaxed), 2);
    }
}

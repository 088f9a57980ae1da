//! Retries transient failures.
//!
//! Inside the budget, since a failed attempt is not charged; around the pool and the limits, so that every attempt may go
//! to another server and waits for its turn like a new call.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::meters::Meters;
use crate::{AskError, AskFuture, ENDS_THE_SAME_WAY, Judge, JudgeRequest, Outcome};
use scholareval_core::domain::{UnscoredKind, UnscoredReason};

/// The ceiling of the first wait; it doubles with each further one. A server that dropped a connection is there again soon.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Longest backoff. (The server's `Retry-After` may be longer.)
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Retries `inner` while it fails transiently; every attempt passes the inner layers anew and takes new permits.
///
/// The wait is uniform from 0 to the ceiling ("full jitter"), so that calls that failed together do not return
/// together, and never shorter than the server's `Retry-After`. A failure of the last attempt or a rejected call
/// becomes [`Outcome::Unscored`]; [`AskError::Fatal`] passes.
#[derive(Debug)]
pub struct Retrying<J> {
    inner: J,
    retries: u32,
    /// The longest wait before the second attempt; doubles with each further one.
    pub first_wait: Duration,
    meters: Arc<Meters>,
}

impl<J> Retrying<J> {
    /// `inner`, asked at most `retries` times more; retries are counted in `meters`.
    pub fn new(inner: J, retries: u32, meters: Arc<Meters>) -> Self {
        Self {
            inner,
            retries,
            first_wait: FIRST_WAIT,
            meters,
        }
    }
}

impl<J: Judge> Judge for Retrying<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(async move {
            let mut retries = 0;
            let mut ceiling = self.first_wait;
            loop {
                let (message, retry_after) = match self.inner.ask(request).await {
                    Err(AskError::Transient {
                        message,
                        status,
                        retry_after,
                    }) => {
                        match status {
                            // A rate limit is a wait, which the progress shows.
                            Some(429 | 529) => {}
                            Some(408) => self.meters.timed_out(request, &message),
                            _ => self.meters.attempt_failed(&message),
                        }
                        (message, retry_after)
                    }
                    Err(AskError::Refused { message, kind, .. }) => {
                        return Ok(Outcome::Unscored(UnscoredReason::new(kind, message)));
                    }
                    settled => return settled,
                };
                // An answer without a reply is unscored and not 0; the run continues, and the
                // same command asks for it again.
                let is_vain = message.ends_with(ENDS_THE_SAME_WAY);
                if retries >= self.retries || is_vain {
                    let what = match retries {
                        0 => message,
                        _ => format!("{message} (after {} attempts)", retries + 1),
                    };
                    return Ok(Outcome::Unscored(UnscoredReason::new(
                        UnscoredKind::Unreachable,
                        what,
                    )));
                }
                let wait = ceiling.mul_f64(jitter());
                sleep(wait.max(retry_after.unwrap_or_default())).await;
                ceiling = (ceiling * 2).min(LONGEST_WAIT);
                Meters::add_one(&self.meters.retries);
                retries += 1;
            }
        })
    }
}

/// A number in 0..1 from the keys of the standard library's hashers; no reported value depends on it.
fn jitter() -> f64 {
    f64::from(RandomState::new().build_hasher().finish() as u32) / f64::from(u32::MAX).next_up()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use tokio::time::Instant;

    use super::*;
    use scholareval_core::domain::{JudgeReply, Role};
    use scholareval_core::error::Error;
    use scholareval_core::question::{Expertise, JudgeCall};

    /// Answers from a list, then with a good reply; records the times of calls.
    struct Scripted {
        script: Mutex<VecDeque<AskError>>,
        asked: Mutex<Vec<Instant>>,
    }

    impl Judge for Scripted {
        fn ask<'a>(&'a self, _: &'a JudgeRequest) -> AskFuture<'a> {
            self.asked.lock().unwrap().push(Instant::now());
            let next = self.script.lock().unwrap().pop_front();
            Box::pin(async move {
                next.map_or_else(|| Ok(Outcome::Reply(JudgeReply::of_text("ok"))), Err)
            })
        }
    }

    fn request() -> JudgeRequest {
        let task = Expertise {
            question: "q".into(),
            answer: "a".into(),
        };
        let call = JudgeCall::new("expertise", Role::Rubric, task);
        JudgeRequest {
            call,
            system: "s".into(),
            case_id: "c".into(),
            attempt: 0,
            rendered: None,
        }
    }

    fn passing(retry_after: Option<Duration>) -> AskError {
        AskError::Transient {
            message: "status 500: no".into(),
            status: Some(500),
            retry_after,
        }
    }

    async fn ask(script: Vec<AskError>) -> (Result<Outcome, AskError>, Vec<Instant>, u64) {
        let meters = Arc::new(Meters::default());
        let inner = Arc::new(Scripted {
            script: Mutex::new(script.into()),
            asked: Mutex::default(),
        });
        let judge = Retrying::new(Arc::clone(&inner), 7, Arc::clone(&meters));
        let result = judge.ask(&request()).await;
        let times = inner.asked.lock().unwrap().clone();
        (result, times, Meters::read(&meters.retries))
    }

    #[tokio::test(start_paused = true)]
    async fn passing_failures_are_asked_again_until_a_reply() {
        let (result, times, retries) = ask(vec![passing(None), passing(None)]).await;
        assert_eq!(result.unwrap(), Outcome::Reply(JudgeReply::of_text("ok")));
        assert_eq!((times.len(), retries), (3, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn no_wait_exceeds_its_ceiling() {
        let (_, times, _) = ask((0..7).map(|_| passing(None)).collect()).await;
        for (attempt, pair) in times.windows(2).enumerate() {
            // 0.5 s, 1 s, 2 s, .. 32 s, and the resolution of the timer
            let ceiling = Duration::from_millis((500 << attempt) + 1);
            assert!(
                pair[1] - pair[0] <= ceiling,
                "wait {attempt}: {:?}",
                pair[1] - pair[0]
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn retry_after_is_the_least_wait() {
        let (_, times, _) = ask(vec![passing(Some(Duration::from_secs(100)))]).await;
        assert!(times[1] - times[0] >= Duration::from_secs(100));
    }

    #[tokio::test(start_paused = true)]
    async fn a_last_failure_is_unscored_with_the_servers_message() {
        let (result, times, retries) = ask((0..20).map(|_| passing(None)).collect()).await;
        let message = "status 500: no (after 8 attempts)";
        assert_eq!(
            result.unwrap(),
            Outcome::Unscored(UnscoredReason::new(UnscoredKind::Unreachable, message))
        );
        assert_eq!((times.len(), retries), (8, 7));
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_and_fatal_errors_are_not_asked_again() {
        let kind = UnscoredKind::ContextOverflow;
        let (result, times, _) = ask(vec![AskError::Refused {
            message: "too long".into(),
            status: 400,
            kind,
        }])
        .await;
        assert_eq!(
            result.unwrap(),
            Outcome::Unscored(UnscoredReason::new(kind, "too long"))
        );
        assert_eq!(times.len(), 1);
        let (result, times, _) =
            ask(vec![AskError::Fatal(Error::JudgeUnavailable("key".into()))]).await;
        assert!(matches!(result, Err(AskError::Fatal(_))));
        assert_eq!(times.len(), 1);
    }

    #[test]
    fn shares_spread_over_the_whole_range() {
        let shares: Vec<f64> = (0..1000).map(|_| jitter()).collect();
        assert!(shares.iter().all(|share| (0.0..1.0).contains(share)));
        // 1000 even draws miss a given tenth with probability 0.9^1000 = 1.7e-46
        for tenth in 0..10 {
            assert!(
                shares.iter().any(|share| (share * 10.0) as usize == tenth),
                "{tenth}"
            );
        }
    }
}

//! Lets one call learn what a server refuses, before the others are sent.
//!
//! What a server refuses of one call (a parameter, an effort, the form of the reply) it refuses of all calls with that
//! parameter. So while a parameter has not been part of an answered call, the calls with it go one at a time: the refusal is
//! learned by the first, and the others get it without being sent.
//!
//! Inside the cache, since a cached reply needs nobody's experience, and inside the retries, so that a call that waits for its
//! next attempt holds up nobody. Around the pool: all of its servers have one model.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::{Mutex as FifoMutex, MutexGuard, Notify};
use tokio::time::timeout;

use crate::parameter::Parameter;
use crate::{AskError, AskFuture, Judge, JudgeRequest, Outcome, locked};

/// Calls wait so long for the ones before them. Refusals come at once; a slow reply should not keep a server's other slots
/// empty.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Sends calls with new parameters to `inner` one at a time.
#[derive(Debug)]
pub struct Scouted<J> {
    inner: J,
    known: Mutex<KnownParameters>,
    /// Held by the call that goes alone. The others come in the order of asking.
    turn: FifoMutex<()>,
    /// Wakes the calls that wait: what the last answer has shown may concern them.
    learned: Notify,
}

/// What answers have shown.
#[derive(Debug, Default)]
struct KnownParameters {
    /// Parameters of calls that got a reply.
    taken: BTreeSet<Parameter>,
    /// Errors that every call with a parameter gets, or that end the run.
    refusals: Vec<AskError>,
    /// The lowest limit that was refused for its room for reasoning, and the error.
    room: Option<(u64, AskError)>,
}

impl<J> Scouted<J> {
    /// Puts the experience of earlier calls before `inner`.
    pub fn new(inner: J) -> Self {
        Self {
            inner,
            known: Mutex::default(),
            turn: FifoMutex::new(()),
            learned: Notify::new(),
        }
    }
}

impl<J> Scouted<J> {
    /// The turn of a call with new parameters; `None` once it has none.
    async fn turn(&self, sent: &[Parameter]) -> Option<MutexGuard<'_, ()>> {
        loop {
            let learned = self.learned.notified();
            if !locked(&self.known).has_new(sent) {
                return None;
            }
            tokio::select! {
                turn = self.turn.lock() => return Some(turn),
                () = learned => {}
            }
        }
    }
}

impl KnownParameters {
    fn has_new(&self, sent: &[Parameter]) -> bool {
        sent.iter().any(|parameter| !self.taken.contains(parameter))
    }

    /// The error of an earlier call that a call with these parameters and this limit would get as well.
    fn refusal(&self, sent: &[Parameter], limit: u64) -> Option<AskError> {
        if let Some((refused, error)) = &self.room
            && sent.contains(&Parameter::Room)
            && limit >= *refused
        {
            return Some(error.clone());
        }
        let mut refusals = self.refusals.iter();
        let concerns = |error: &&AskError| match error {
            AskError::Unsupported { parameter, .. } => sent.contains(parameter),
            _ => true,
        };
        refusals.find(concerns).cloned()
    }

    /// Notes that this limit was refused for its room; less may be taken.
    fn note_room(&mut self, limit: u64, error: &AskError) {
        let lowest = self.room.as_ref().map(|(refused, _)| *refused);
        if lowest.is_none_or(|lowest| limit < lowest) {
            self.room = Some((limit, error.clone()));
        }
    }

    fn note(&mut self, sent: &[Parameter], limit: u64, result: &Result<Outcome, AskError>) {
        match result {
            Ok(Outcome::Reply(_)) => self.taken.extend(sent),
            Err(
                error @ AskError::Unsupported {
                    parameter: Parameter::Room,
                    ..
                },
            ) => self.note_room(limit, error),
            Err(error @ (AskError::Unsupported { .. } | AskError::Fatal(_))) => {
                self.refusals.push(error.clone());
            }
            _ => {}
        }
    }
}

impl<J: Judge> Judge for Scouted<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(async move {
            let (sent, limit) = match &request.rendered {
                Some(rendered) => (rendered.parameters.as_slice(), rendered.longest_reply()),
                None => (&[][..], 0),
            };
            let turn = timeout(LONGEST_WAIT, self.turn(sent)).await.ok().flatten();
            // Learned while this call waited: it was rendered before.
            if let Some(refusal) = locked(&self.known).refusal(sent, limit) {
                return Err(refusal);
            }
            let _alone = turn.filter(|_| locked(&self.known).has_new(sent));
            let result = self.inner.ask(request).await;
            locked(&self.known).note(sent, limit, &result);
            self.learned.notify_waiters();
            result
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::{Body, Rendered, fatal};
    use scholareval_core::domain::{Fingerprint, JudgeReply, Role};
    use scholareval_core::error::Error;
    use scholareval_core::question::{Expertise, JudgeCall};

    /// Answers after a second; refuses these parameters, and first fails so often.
    #[derive(Default)]
    struct Refusing {
        refused: Vec<Parameter>,
        failures: AtomicUsize,
        ends_run: bool,
        asked: AtomicUsize,
    }

    impl Judge for Refusing {
        fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
            Box::pin(async move {
                self.asked.fetch_add(1, Ordering::Relaxed);
                sleep(Duration::from_secs(1)).await;
                if self.ends_run {
                    return Err(fatal("no such effort".to_owned()));
                }
                let less = |left: usize| left.checked_sub(1);
                let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
                if self.failures.fetch_update(set, fetch, less).is_ok() {
                    return Err(AskError::transient("reset".to_owned()));
                }
                let sent = &request.rendered.as_ref().unwrap().parameters;
                match self.refused.iter().find(|refused| sent.contains(refused)) {
                    Some(parameter) => Err(AskError::Unsupported {
                        parameter: *parameter,
                        message: "status 400".to_owned(),
                    }),
                    None => Ok(Outcome::Reply(JudgeReply::of_text("ok"))),
                }
            })
        }
    }

    fn request(parameters: Vec<Parameter>) -> JudgeRequest {
        let task = Expertise {
            question: "q".into(),
            answer: "a".into(),
        };
        let rendered = Rendered {
            parameters,
            ..Rendered::new(Fingerprint::from([0; 32]), Body::default)
        };
        JudgeRequest {
            call: JudgeCall::new("expertise", Role::Rubric, task),
            system: "s".into(),
            case_id: "c".into(),
            attempt: 0,
            rendered: Some(rendered),
        }
    }

    /// As the pipeline does: without what was refused, and again after failures.
    async fn ask(judge: &Scouted<Arc<Refusing>>) -> Result<Outcome, AskError> {
        let mut sent = vec![
            Parameter::Temperature,
            Parameter::TopP,
            Parameter::MaxTokens,
        ];
        loop {
            match judge.ask(&request(sent.clone())).await {
                Err(AskError::Unsupported { parameter, .. }) => {
                    sent.retain(|kept| *kept != parameter);
                }
                Err(AskError::Transient { .. }) => {}
                settled => return settled,
            }
        }
    }

    /// Asks 32 calls at once; how many were sent, and how many seconds it took.
    async fn ask_all(inner: Refusing) -> (usize, u64, Vec<Result<Outcome, AskError>>) {
        let (inner, started) = (Arc::new(inner), Instant::now());
        let judge = Scouted::new(Arc::clone(&inner));
        let results = join_all((0..32).map(|_| ask(&judge))).await;
        let seconds = started.elapsed().as_secs();
        (inner.asked.load(Ordering::Relaxed), seconds, results)
    }

    #[tokio::test(start_paused = true)]
    async fn each_refused_parameter_costs_one_call() {
        let refused = vec![Parameter::Temperature, Parameter::TopP];
        let (sent, seconds, results) = ask_all(Refusing {
            refused,
            ..Refusing::default()
        })
        .await;
        assert!(results.iter().all(Result::is_ok));
        // 2 refusals and the first reply one after the other, then 31 replies at once
        assert_eq!((sent, seconds), (2 + 32, 3 + 1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_lets_the_next_call_go_first() {
        let (sent, seconds, results) = ask_all(Refusing {
            failures: AtomicUsize::new(2),
            ..Refusing::default()
        })
        .await;
        assert!(results.iter().all(Result::is_ok));
        assert_eq!((sent, seconds), (2 + 32, 3 + 1));
    }

    #[tokio::test(start_paused = true)]
    async fn what_ends_the_run_is_asked_once() {
        let (sent, _, results) = ask_all(Refusing {
            ends_run: true,
            ..Refusing::default()
        })
        .await;
        assert_eq!(sent, 1);
        let is_end = |result: &Result<Outcome, AskError>| {
            matches!(result, Err(AskError::Fatal(Error::JudgeUnavailable(_))))
        };
        assert!(results.iter().all(is_end));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_or_dropped_first_call_does_not_hold_the_others_for_ever() {
        let inner = Arc::new(Refusing::default());
        let judge = Scouted::new(Arc::clone(&inner));
        let dropped = timeout(Duration::from_millis(1), ask(&judge)).await;
        assert!(dropped.is_err());
        assert!(ask(&judge).await.is_ok());
        let slow = Scouted::new(Slow);
        let started = Instant::now();
        let call = request(vec![Parameter::Seed]);
        let (_, _) = tokio::join!(slow.ask(&call), slow.ask(&call));
        // the second one goes after 10 seconds, and takes 60
        assert_eq!(started.elapsed().as_secs(), 10 + 60);
    }

    /// Answers after a minute.
    struct Slow;

    impl Judge for Slow {
        fn ask<'a>(&'a self, _: &'a JudgeRequest) -> AskFuture<'a> {
            Box::pin(async {
                sleep(Duration::from_secs(60)).await;
                Ok(Outcome::Reply(JudgeReply::of_text("ok")))
            })
        }
    }
}

//! Reads replies from the cache, and stores new ones: the outermost layer, since a hit needs nothing of the others.
//!
//! The way of a call: look for its key without a lock; lease the key; ask the layers inside; store the reply and give the
//! lease back in one transaction; return the reply. So two identical calls, in one run or in two processes, are paid once,
//! and no reply is used that a kill could still lose.

use std::sync::Arc;

use crate::answering::Answering;
use crate::cache::{CallLabel, Entry, Leased};
use crate::meters::Meters;
use crate::{AskError, AskFuture, Judge, JudgeRequest, Outcome, Rendered};
use scholareval_core::domain::{Fingerprint, JudgeReply};
use scholareval_core::error::Result;

/// A judge behind the reply cache.
///
/// A hit returns the stored reply (`cached: true`, with the tokens and latency of the original call). A miss leases the
/// key, calls the inner judge, and returns its complete reply once it is committed, so that a reply that was returned
/// survives a kill. Everything else passes through unstored. Requests that are not rendered have no key and pass
/// straight through.
pub struct Cached<J> {
    inner: J,
    answering: Arc<Answering>,
    meters: Arc<Meters>,
}

impl<J: Judge> Cached<J> {
    /// Puts the cached replies that count before `inner`.
    pub fn new(inner: J, answering: Arc<Answering>, meters: Arc<Meters>) -> Self {
        Self {
            inner,
            answering,
            meters,
        }
    }

    fn hit(&self, reply: JudgeReply) -> Outcome {
        Meters::add_one(&self.meters.cache_hits);
        Outcome::Reply(reply)
    }

    /// The right to ask, or the reply that another process asks for. A wait for that is counted, so that the progress shows it.
    async fn lease(&self, key: &Fingerprint) -> Result<Leased> {
        // The usual case needs no question who else asks, which would be one more read for every
        // call.
        if let Some(leased) = self.answering.try_lease(key)? {
            return Ok(leased);
        }
        let process = self.answering.asked_by_other(key)?;
        let _wait = process.map(|process| self.meters.wait_for(process));
        self.answering.lease(key).await
    }

    async fn through_cache(
        &self,
        request: &JudgeRequest,
        rendered: &Rendered,
    ) -> Result<Outcome, AskError> {
        let key = &rendered.fingerprint;
        // Most calls of a re-run are hits. A read blocks no other process; a lease is a write, and writes stand in line.
        let stored = rendered.find(|key| self.answering.get(key));
        if let Some(reply) = stored.map_err(AskError::Fatal)? {
            return Ok(self.hit(reply));
        }
        let lease = match self.lease(key).await.map_err(AskError::Fatal)? {
            Leased::Cached(reply) => return Ok(self.hit(reply)),
            Leased::Granted(lease) => lease,
        };
        // However this call ends early (an error, a dropped future), the lease is dropped and released.
        let outcome = self.inner.ask(request).await?;
        let Outcome::Reply(reply) = outcome else {
            return Ok(outcome);
        };
        let label = CallLabel::of(request, self.answering.judge());
        // Stored before it is returned: a score must never rest on a reply that a re-run would have
        // to pay for again. Unreadable replies are stored as well, as the same call would give them
        // again.
        let entry = Entry::new(*key, label, reply.clone());
        self.answering.put(&entry, lease).map_err(AskError::Fatal)?;
        // An inner judge may have found it elsewhere: then it cost nothing, either.
        if reply.cached {
            return Ok(self.hit(reply));
        }
        Ok(Outcome::Reply(reply))
    }
}

impl<J: Judge> Judge for Cached<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        match &request.rendered {
            None => self.inner.ask(request),
            Some(rendered) => Box::pin(self.through_cache(request, rendered)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use futures::FutureExt;
    use tempfile::TempDir;

    use super::*;
    use crate::cache::Cache;
    use scholareval_core::domain::{Role, UnscoredKind, UnscoredReason};
    use scholareval_core::question::{Expertise, JudgeCall};

    /// Replies with an increasing number, or with the next outcome.
    #[derive(Default)]
    struct Counting {
        asked: AtomicU64,
        next: Mutex<Option<Result<Outcome, AskError>>>,
    }

    impl Judge for Counting {
        fn ask<'a>(&'a self, _request: &'a JudgeRequest) -> AskFuture<'a> {
            let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
            let next = self.next.lock().unwrap().take();
            async move {
                next.unwrap_or_else(|| Ok(Outcome::Reply(JudgeReply::of_text(number.to_string()))))
            }
            .boxed()
        }
    }

    fn request(key: Option<u8>) -> JudgeRequest {
        let task = Expertise {
            question: "q".into(),
            answer: "a".into(),
        };
        let of = |key| {
            Rendered::new(Fingerprint::from([key; 32]), || {
                panic!("the cache needs no body")
            })
        };
        let rendered = key.map(of);
        let call = JudgeCall::new("expertise", Role::Rubric, task);
        JudgeRequest {
            call,
            system: "s".into(),
            case_id: "c".into(),
            attempt: 0,
            rendered,
        }
    }

    struct Setup {
        _dir: TempDir,
        cache: Cache,
        judge: Cached<Arc<Counting>>,
        inner: Arc<Counting>,
        meters: Arc<Meters>,
    }

    fn setup() -> Setup {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("cache")).unwrap();
        let inner = Arc::new(Counting::default());
        let meters = Arc::new(Meters::default());
        let answering = Arc::new(Answering::new(cache.clone(), "gpt").unwrap());
        Setup {
            _dir: dir,
            cache,
            judge: Cached::new(Arc::clone(&inner), answering, Arc::clone(&meters)),
            inner,
            meters,
        }
    }

    async fn content(judge: &impl Judge, key: u8) -> (String, bool) {
        match judge.ask(&request(Some(key))).await.unwrap() {
            Outcome::Reply(reply) => (reply.content, reply.cached),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_call_is_asked_once_and_then_a_hit() {
        let Setup {
            cache,
            judge,
            inner,
            meters,
            _dir,
        } = setup();
        assert_eq!(content(&judge, 1).await, ("1".into(), false));
        assert_eq!(content(&judge, 1).await, ("1".into(), true));
        assert_eq!(content(&judge, 2).await, ("2".into(), false));
        assert_eq!(inner.asked.load(Ordering::Relaxed), 2);
        assert_eq!(Meters::read(&meters.cache_hits), 1);
        assert_eq!(
            cache
                .get(&Fingerprint::from([2; 32]))
                .unwrap()
                .unwrap()
                .content,
            "2"
        );
        let stats = cache.stats().unwrap();
        assert_eq!((stats.by_judge["gpt"], stats.by_kind["expertise"]), (2, 2));
    }

    #[tokio::test]
    async fn incomplete_replies_are_not_stored_and_their_lease_is_released() {
        let Setup {
            cache,
            judge,
            inner,
            _dir,
            ..
        } = setup();
        let reason = UnscoredReason::new(UnscoredKind::Refused, "no");
        let transient = AskError::Transient {
            message: "reset".into(),
            status: None,
            retry_after: None,
        };
        for outcome in [
            Ok(Outcome::Unscored(reason)),
            Ok(Outcome::Deferred),
            Err(transient),
        ] {
            let shown = format!("{outcome:?}");
            *inner.next.lock().unwrap() = Some(outcome);
            assert_eq!(format!("{:?}", judge.ask(&request(Some(1))).await), shown);
            assert_eq!(cache.get(&Fingerprint::from([1; 32])).unwrap(), None);
        }
        let other = Cache::open(cache.path()).unwrap();
        assert!(matches!(
            other.lease(&Fingerprint::from([1; 32])).await.unwrap(),
            Leased::Granted(_)
        ));
    }

    #[tokio::test]
    async fn a_dropped_call_releases_its_lease() {
        struct Never(tokio::sync::Notify);
        impl Judge for Never {
            fn ask<'a>(&'a self, _request: &'a JudgeRequest) -> AskFuture<'a> {
                self.0.notify_one();
                std::future::pending().boxed()
            }
        }
        let Setup {
            cache,
            judge,
            meters,
            _dir,
            ..
        } = setup();
        let never = Cached::new(
            Never(tokio::sync::Notify::new()),
            Arc::clone(&judge.answering),
            meters,
        );
        let request = request(Some(1));
        let mut asking = never.ask(&request).map(drop).boxed();
        tokio::select! {
            () = &mut asking => panic!("nothing answers"),
            () = never.inner.0.notified() => {}
        }
        let other = Cache::open(cache.path()).unwrap();
        assert!(
            other
                .try_lease(&Fingerprint::from([1; 32]))
                .unwrap()
                .is_none()
        );
        drop(asking);
        assert!(matches!(
            other.lease(&Fingerprint::from([1; 32])).await.unwrap(),
            Leased::Granted(_)
        ));
    }

    #[tokio::test]
    async fn a_request_that_is_not_rendered_passes_straight_through() {
        let Setup {
            cache,
            judge,
            inner,
            _dir,
            ..
        } = setup();
        for _ in 0..2 {
            judge.ask(&request(None)).await.unwrap();
        }
        assert_eq!(inner.asked.load(Ordering::Relaxed), 2);
        assert_eq!(cache.stats().unwrap().entries, 0);
    }

    #[tokio::test]
    async fn an_unreadable_reply_is_stored_like_any_other() {
        let Setup {
            judge, inner, _dir, ..
        } = setup();
        *inner.next.lock().unwrap() = Some(Ok(Outcome::Reply(JudgeReply::of_text(
            "I'd rather not say",
        ))));
        content(&judge, 1).await;
        assert_eq!(
            content(&judge, 1).await,
            ("I'd rather not say".into(), true)
        );
    }
}

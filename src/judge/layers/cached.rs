//! Answers from the cache, and stores what it did not hold.

use std::fmt;
use std::sync::Arc;

use crate::domain::{Fingerprint, JudgeReply};
use crate::error::Result;
use crate::judge::cache::{Cache, CallLabel, Claim, Entry};
use crate::judge::meters::Meters;
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome, Rendered};

/// Says which requests are asked although the cache may hold their reply.
type Bypass = Box<dyn Fn(&JudgeRequest) -> bool + Send + Sync>;

/// A judge behind the reply cache.
///
/// A hit gives the stored reply (`cached: true`, with the tokens and latency of the original call). A miss claims the
/// key, asks the judge inside, and returns its whole reply once it is committed: a reply that was seen is a reply
/// that survives a kill. Everything but a whole reply passes through unstored. Requests that are not rendered have no key
/// and pass straight through.
pub struct Cached<J> {
    inner: J,
    cache: Cache,
    judge: Arc<str>,
    meters: Arc<Meters>,
    only_cached: bool,
    bypass: Option<Bypass>,
}

impl<J> Cached<J> {
    /// Puts `cache` before `inner`; `judge` is the identity that is stored beside each reply.
    pub fn new(inner: J, cache: Cache, judge: impl Into<Arc<str>>, meters: Arc<Meters>) -> Self {
        Self { inner, cache, judge: judge.into(), meters, only_cached: false, bypass: None }
    }

    /// Never asks: what the cache does not hold is [`Outcome::Deferred`]. For planning and replay.
    #[must_use]
    pub fn only_cached(mut self) -> Self {
        self.only_cached = true;
        self
    }

    /// Asks the requests for which `predicate` holds although their reply is cached, and stores the new reply in the
    /// place of the old one.
    #[must_use]
    pub fn bypassing(mut self, predicate: impl Fn(&JudgeRequest) -> bool + Send + Sync + 'static) -> Self {
        self.bypass = Some(Box::new(predicate));
        self
    }

    /// The cached reply of that key, if there is one; counts as no hit.
    ///
    /// # Errors
    /// [`Error::Cache`](crate::Error::Cache) for a damaged entry or file.
    pub fn lookup(&self, key: &Fingerprint) -> Result<Option<JudgeReply>> {
        self.cache.get(key)
    }

    /// The cache.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    fn hit(&self, reply: JudgeReply) -> Outcome {
        Meters::add_one(&self.meters.cache_hits);
        Outcome::Reply(reply)
    }

    /// What is stored of a reply. A reply that a collapsed call shares is stored by each of the calls (the first one
    /// counts), so that each of them returns only once it is committed.
    fn entry(&self, request: &JudgeRequest, rendered: &Rendered, reply: &JudgeReply) -> Entry {
        Entry::new(rendered.fingerprint, CallLabel::of(request, &self.judge), reply.clone())
    }
}

impl<J: Judge> Cached<J> {
    async fn through_cache(&self, request: &JudgeRequest, rendered: &Rendered) -> Result<Outcome, AskError> {
        let key = &rendered.fingerprint;
        if self.bypass.as_ref().is_some_and(|bypass| bypass(request)) && !self.only_cached {
            let outcome = self.inner.ask(request).await?;
            if let Outcome::Reply(reply) = &outcome {
                self.cache.replace(self.entry(request, rendered, reply)).await.map_err(AskError::Fatal)?;
            }
            return Ok(outcome);
        }
        if let Some(reply) = self.cache.get(key).map_err(AskError::Fatal)? {
            return Ok(self.hit(reply));
        }
        if self.only_cached {
            return Ok(Outcome::Deferred);
        }
        let claim = match self.cache.claim(key).await.map_err(AskError::Fatal)? {
            Claim::Cached(reply) => return Ok(self.hit(reply)),
            Claim::Mine(guard) => Some(guard),
            // `claim` waits these out; should one come through, the call is asked without a claim.
            Claim::Theirs => None,
        };
        // Whatever ends this call early (an error, a dropped future) drops the guard and so releases the claim.
        let outcome = self.inner.ask(request).await?;
        let Outcome::Reply(reply) = outcome else { return Ok(outcome) };
        let entry = self.entry(request, rendered, &reply);
        match claim {
            Some(guard) => self.cache.put_claimed(entry, guard).await,
            None => self.cache.put(entry).await,
        }
        .map_err(AskError::Fatal)?;
        Ok(if reply.cached { self.hit(reply) } else { Outcome::Reply(reply) })
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

impl<J: fmt::Debug> fmt::Debug for Cached<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cached")
            .field("inner", &self.inner)
            .field("cache", &self.cache)
            .field("judge", &self.judge)
            .field("only_cached", &self.only_cached)
            .field("bypass", &self.bypass.is_some())
            .finish_non_exhaustive()
    }
}

//! Counters that the layers share with the progress display and the summary.

use std::sync::atomic::{AtomicU64, Ordering};

use super::latency::Histogram;
use super::{AskError, Outcome};
use crate::domain::{EndpointStats, Usage};

/// Monotonic counters of one run; cheap to update from any thread.
#[derive(Debug, Default)]
pub struct Meters {
    /// HTTP requests sent, retries included.
    pub requests: AtomicU64,
    /// Requests that were repeats after a passing failure.
    pub retries: AtomicU64,
    /// Responses that said "too many requests" (429) or "overloaded" (503, 529).
    pub throttled: AtomicU64,
    /// Replies taken from the cache.
    pub cache_hits: AtomicU64,
    /// Whole replies that arrived.
    pub replies: AtomicU64,
    /// Prompt tokens paid, as counted by the server.
    pub prompt_tokens: AtomicU64,
    /// Prompt tokens that the server took from its own prefix cache.
    pub cached_prompt_tokens: AtomicU64,
    /// Reply tokens paid.
    pub completion_tokens: AtomicU64,
}

impl Meters {
    /// Adds one to a counter of this struct.
    pub fn add_one(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads a counter of this struct.
    pub fn read(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }

    /// Counts a whole reply and its tokens.
    pub fn count_reply(&self, usage: &Usage) {
        Self::add_one(&self.replies);
        self.prompt_tokens.fetch_add(usage.prompt_tokens, Ordering::Relaxed);
        self.cached_prompt_tokens.fetch_add(usage.cached_prompt_tokens, Ordering::Relaxed);
        self.completion_tokens.fetch_add(usage.completion_tokens, Ordering::Relaxed);
    }
}

/// Counters of one endpoint out of several, beside the [`Meters`] of the run.
#[derive(Debug, Default)]
pub struct EndpointMeters {
    replies: AtomicU64,
    errors: AtomicU64,
    throttled: AtomicU64,
    prompt_tokens: AtomicU64,
    cached_prompt_tokens: AtomicU64,
    latency: Histogram,
}

impl EndpointMeters {
    /// Counts a call by how it ended. The latency of a reply is the one that it states: waiting for a permit is none of
    /// the endpoint's time.
    pub fn count(&self, result: &Result<Outcome, AskError>) {
        match result {
            Ok(Outcome::Reply(reply)) => {
                Meters::add_one(&self.replies);
                self.prompt_tokens.fetch_add(reply.usage.prompt_tokens, Ordering::Relaxed);
                self.cached_prompt_tokens.fetch_add(reply.usage.cached_prompt_tokens, Ordering::Relaxed);
                self.latency.add(reply.latency_ms);
            }
            Ok(Outcome::Unscored(_) | Outcome::Deferred) => {}
            Err(error) => {
                Meters::add_one(&self.errors);
                if matches!(error, AskError::Transient { status: Some(429 | 503 | 529), .. }) {
                    Meters::add_one(&self.throttled);
                }
            }
        }
    }

    /// What was counted so far of the endpoint `name`; whether it is down is not known here.
    pub fn stats(&self, name: &str) -> EndpointStats {
        let (replies, errors) = (Meters::read(&self.replies), Meters::read(&self.errors));
        EndpointStats {
            name: name.to_owned(),
            calls: replies + errors,
            replies,
            errors,
            throttled: Meters::read(&self.throttled),
            latency_p50_ms: self.latency.quantile(0.5),
            latency_p95_ms: self.latency.quantile(0.95),
            prompt_tokens: Meters::read(&self.prompt_tokens),
            cached_prompt_tokens: Meters::read(&self.cached_prompt_tokens),
            ..EndpointStats::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::JudgeReply;

    #[test]
    fn an_endpoint_is_known_by_its_calls_errors_and_latencies() {
        let meters = EndpointMeters::default();
        for latency_ms in 1..=20 {
            let usage = Usage { prompt_tokens: 10, cached_prompt_tokens: 5, completion_tokens: 1 };
            meters.count(&Ok(Outcome::Reply(JudgeReply { latency_ms, usage, ..JudgeReply::default() })));
        }
        for status in [None, Some(429), Some(500), Some(503)] {
            meters.count(&Err(AskError::Transient { message: "no".into(), status, retry_after: None }));
        }
        meters.count(&Ok(Outcome::Deferred));
        let stats = meters.stats("http://gpu1:8000/v1");
        assert_eq!((stats.calls, stats.replies, stats.errors, stats.throttled), (24, 20, 4, 2));
        // the 10th and the 19th of 1, 2, .. 20 ms
        assert_eq!((stats.latency_p50_ms, stats.latency_p95_ms), (Some(10.0), Some(19.0)));
        assert_eq!((stats.prompt_tokens, stats.cached_share()), (200, Some(0.5)));
    }

    #[test]
    fn replies_add_up_with_their_tokens() {
        let meters = Meters::default();
        let usage = Usage { prompt_tokens: 10, cached_prompt_tokens: 4, completion_tokens: 3 };
        meters.count_reply(&usage);
        meters.count_reply(&usage);
        let read = [&meters.replies, &meters.prompt_tokens, &meters.cached_prompt_tokens, &meters.completion_tokens];
        assert_eq!(read.map(Meters::read), [2, 20, 8, 6]);
    }
}

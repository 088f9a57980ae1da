//! Counters that the layers share with the progress display and the summary. They are shown and decide nothing: a budget
//! has a separate account, and the record separate sums.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use super::{JudgeRequest, locked};
use scholareval_core::domain::{CaseId, SystemName, Usage};
use scholareval_core::question::Kind;

/// Monotonic counters of one run; cheap to update from any thread.
#[derive(Debug, Default)]
pub struct Meters {
    /// Cases that the run has calls about; 0 if nobody counted them.
    pub cases_asked: AtomicU64,
    /// Requests that were repeats after a transient failure.
    pub retries: AtomicU64,
    /// Replies taken from the cache.
    pub cache_hits: AtomicU64,
    /// Prompt tokens paid, as counted by the server.
    pub prompt_tokens: AtomicU64,
    /// Reply tokens paid.
    pub completion_tokens: AtomicU64,
    /// Cost of judges with a price, in billionths of a US dollar: the standard library has no atomic float.
    nano_usd: AtomicU64,
    /// Attempts that failed since the last reply, and why the last one did.
    failing: Mutex<(u64, String)>,
    time_outs: Mutex<TimeOuts>,
    /// Calls that another process asks.
    waiting: Mutex<Waiting>,
}

/// Attempts that timed out, by the kind of question: how many, and the last one in words.
pub type TimeOuts = BTreeMap<Kind, (u64, String)>;

/// Calls that another process asks at this moment, and whose replies this one waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waiting {
    /// How many.
    pub calls: usize,
    /// Since when there is one.
    pub since: Option<Instant>,
    /// The process that asks the last one, in words.
    pub process: String,
}

/// A call that waits for another process, until it is dropped.
#[derive(Debug)]
pub struct Wait<'a>(&'a Meters);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let mut waiting = locked(&self.0.waiting);
        waiting.calls = waiting.calls.saturating_sub(1);
        if waiting.calls == 0 {
            waiting.since = None;
        }
    }
}

/// What the servers of a run do at this moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activity {
    /// Calls in flight.
    pub in_flight: usize,
    /// The oldest of them.
    pub oldest: Option<CallInFlight>,
    /// Until when no call is sent, and why.
    pub pause: Option<(Instant, &'static str)>,
    /// Number of servers.
    pub servers: usize,
    /// How many of them are down.
    pub down: usize,
}

/// A call that is with a server: when it was sent, and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallInFlight {
    /// When it was sent.
    pub sent: Instant,
    /// Whose answer it is about.
    pub system: SystemName,
    /// Which case it is about.
    pub case_id: CaseId,
    /// What kind of question it is.
    pub kind: Kind,
    /// The component that it asks for.
    pub item: Arc<str>,
}

impl CallInFlight {
    /// This call, sent now.
    pub fn sent_now(request: &JudgeRequest) -> Self {
        Self {
            sent: Instant::now(),
            system: request.system.clone(),
            case_id: request.case_id.clone(),
            kind: request.call.question.info().kind(),
            item: Arc::clone(&request.call.item),
        }
    }
}

impl Activity {
    /// Both together; of two pauses the longer one.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            in_flight: self.in_flight + other.in_flight,
            oldest: self
                .oldest
                .into_iter()
                .chain(other.oldest)
                .min_by_key(|call| call.sent),
            pause: self.pause.max(other.pause),
            servers: self.servers + other.servers,
            down: self.down + other.down,
        }
    }
}

impl Meters {
    /// Adds one to a counter of this struct.
    pub fn add_one(counter: &AtomicU64) {
        // Relaxed: the counters are shown, and no decision depends on the order in which threads
        // see them.
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads a counter of this struct.
    pub fn read(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }

    /// Counts the cost of a reply in USD.
    pub fn add_usd(&self, usd: f64) {
        self.nano_usd
            .fetch_add((1e9 * usd).round() as u64, Ordering::Relaxed);
    }

    /// The cost so far in USD, of judges with a price.
    pub fn usd(&self) -> f64 {
        Self::read(&self.nano_usd) as f64 / 1e9
    }

    /// Records an attempt that failed and is repeated.
    pub fn attempt_failed(&self, message: &str) {
        let mut failing = locked(&self.failing);
        failing.0 += 1;
        message.clone_into(&mut failing.1);
    }

    /// Attempts that failed since the last reply, and why the last one did.
    pub fn failing(&self) -> (u64, String) {
        locked(&self.failing).clone()
    }

    /// Counts an attempt that timed out.
    pub fn timed_out(&self, request: &JudgeRequest, message: &str) {
        let (system, case_id, item) = (&request.system, &request.case_id, &request.call.item);
        let kind = request.call.question.info().kind();
        let mut time_outs = locked(&self.time_outs);
        let (count, last) = time_outs.entry(kind.clone()).or_default();
        *count += 1;
        *last = format!("{kind} (component {item}) of {system}, case {case_id}: {message}");
    }

    /// The attempts that timed out.
    pub fn time_outs(&self) -> TimeOuts {
        locked(&self.time_outs).clone()
    }

    /// Counts a call that waits for this other process.
    pub fn wait_for(&self, process: String) -> Wait<'_> {
        let mut waiting = locked(&self.waiting);
        waiting.calls += 1;
        waiting.since.get_or_insert_with(Instant::now);
        waiting.process = process;
        Wait(self)
    }

    /// The calls that wait for another process.
    pub fn waiting(&self) -> Waiting {
        locked(&self.waiting).clone()
    }

    /// Counts a whole reply and its tokens.
    pub fn count_reply(&self, usage: &Usage) {
        locked(&self.failing).0 = 0;
        self.prompt_tokens
            .fetch_add(usage.prompt_tokens, Ordering::Relaxed);
        self.completion_tokens
            .fetch_add(usage.completion_tokens, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_wait_from_the_first_to_the_last() {
        let meters = Meters::default();
        let first = meters.wait_for("process 1".to_owned());
        let second = meters.wait_for("process 2".to_owned());
        drop(first);
        let waiting = meters.waiting();
        assert_eq!((waiting.calls, waiting.process.as_str()), (1, "process 2"));
        assert!(waiting.since.is_some());
        drop(second);
        assert_eq!((meters.waiting().calls, meters.waiting().since), (0, None));
    }

    #[test]
    fn replies_add_up_with_their_tokens() {
        let meters = Meters::default();
        let usage = Usage {
            prompt_tokens: 10,
            cached_prompt_tokens: 4,
            completion_tokens: 3,
            ..Usage::default()
        };
        meters.count_reply(&usage);
        meters.count_reply(&usage);
        assert_eq!(
            [&meters.prompt_tokens, &meters.completion_tokens].map(Meters::read),
            [20, 6]
        );
    }
}

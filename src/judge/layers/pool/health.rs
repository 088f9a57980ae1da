//! Health and statistics of a replica, from the outcomes of its calls.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{EndpointStats, JudgeReply};
use crate::error::Error;
use crate::judge::{AskError, Outcome};

/// Failures in a row that take a replica down.
const FAILURES: u32 = 3;
/// Cool-down of a replica that is down: the first, doubled after each failed probe, and the longest.
const COOL_DOWN: Duration = Duration::from_secs(5);
const LONGEST_COOL_DOWN: Duration = Duration::from_secs(5 * 60);
/// The shortest cool-down of a lost replica.
const COOL_DOWN_OF_LOST: Duration = Duration::from_secs(60);
/// Calls wait for shorter pauses, to keep their prefix; longer ones send them to another replica.
const LONG_PAUSE: Duration = Duration::from_secs(5);
/// The state of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It takes calls.
    Up,
    /// It asked for a long pause.
    Resting,
    /// Its cool-down is over: one call may probe it.
    MayBeBack,
    /// It fails.
    Down,
    /// Its error would stop a run.
    Lost,
}

/// State of one replica.
#[derive(Debug)]
pub(super) struct Health {
    /// Counters; [`Health::stats`] adds latencies and whether it is down.
    counted: EndpointStats,
    /// Of each reply, in milliseconds.
    latencies: Vec<u32>,
    /// Its current calls, waiting ones included.
    pub(super) here: usize,
    /// In a row, since the last reply.
    failures: u32,
    down: Option<Down>,
    /// Length of the next cool-down.
    cool_down: Duration,
    resting: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Down {
    until: Instant,
    is_lost: bool,
    is_probed: bool,
}

impl Health {
    pub(super) fn new(name: &str) -> Self {
        Self {
            counted: EndpointStats { name: name.to_owned(), ..EndpointStats::default() },
            latencies: Vec::new(),
            here: 0,
            failures: 0,
            down: None,
            cool_down: COOL_DOWN,
            resting: None,
        }
    }

    /// Its statistics.
    pub(super) fn stats(&self, now: Instant) -> EndpointStats {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        // Nearest rank: the smallest value that at least this share of all does not exceed.
        let rank = |share: f64| (sorted.len() as f64 * share).ceil() as usize;
        let quantile = |share| sorted.get(rank(share).saturating_sub(1)).map(|millis| f64::from(*millis));
        EndpointStats {
            calls: self.counted.replies + self.counted.errors,
            latency_p50_ms: quantile(0.5),
            latency_p95_ms: quantile(0.95),
            is_down: self.is_down(now),
            ..self.counted.clone()
        }
    }

    pub(super) fn state(&self, now: Instant) -> State {
        match self.down {
            Some(down) if down.until <= now && !down.is_probed => State::MayBeBack,
            Some(Down { is_lost: true, .. }) => State::Lost,
            Some(_) => State::Down,
            None if self.resting.is_some_and(|until| until > now) => State::Resting,
            None => State::Up,
        }
    }

    /// True while ordinary calls must avoid it.
    pub(super) fn is_down(&self, now: Instant) -> bool {
        !matches!(self.state(now), State::Up | State::Resting)
    }

    /// Its error when it last went down.
    pub(super) fn last_failure(&self) -> &str {
        self.counted.last_failure.as_deref().unwrap_or_default()
    }

    /// Counts a call; true if it is the probe.
    pub(super) fn enter(&mut self, now: Instant) -> bool {
        self.here += 1;
        let may_be_back = self.state(now) == State::MayBeBack;
        if let Some(down) = self.down.as_mut().filter(|_| may_be_back) {
            down.is_probed = true;
        }
        may_be_back
    }

    /// A call ended; `is_probe` if it was a probe without a result.
    pub(super) fn leave(&mut self, is_probe: bool) {
        self.here -= 1;
        if let Some(down) = self.down.as_mut().filter(|_| is_probe) {
            down.is_probed = false;
        }
    }

    /// Records the outcome of a call.
    pub(super) fn settle(&mut self, result: &Result<Outcome, AskError>, is_probe: bool) {
        let now = Instant::now();
        self.counted.errors += u64::from(result.is_err());
        if let Ok(Outcome::Reply(reply)) = result {
            self.count(reply);
        }
        match result {
            Ok(_) | Err(AskError::Refused { .. }) => self.answered(),
            Err(AskError::Transient { message, status, retry_after }) => {
                if let Some(wait) = retry_after.filter(|wait| *wait >= LONG_PAUSE) {
                    self.resting = Some(now + wait);
                }
                if matches!(status, Some(429 | 503 | 529)) {
                    self.counted.throttled += 1;
                }
                if status.is_none_or(|status| status == 408 || status >= 500) {
                    self.failed(message, is_probe);
                } else if is_probe {
                    // 429 and the like: it is up, and busy.
                    self.answered();
                }
            }
            Err(AskError::Fatal(Error::JudgeUnavailable(message))) => self.lose(message),
            Err(AskError::Fatal(_)) => {}
        }
    }

    /// Its error would stop a run without other replicas.
    pub(super) fn lose(&mut self, message: &str) {
        self.close(message, COOL_DOWN_OF_LOST, true);
    }

    fn answered(&mut self) {
        self.failures = 0;
        self.down = None;
        self.cool_down = COOL_DOWN;
    }

    fn failed(&mut self, message: &str, is_probe: bool) {
        self.failures += 1;
        match self.down {
            None if self.failures >= FAILURES => self.close(message, COOL_DOWN, false),
            // Results of calls from before say nothing new.
            Some(down) if is_probe => self.close(message, COOL_DOWN, down.is_lost),
            _ => {}
        }
    }

    fn close(&mut self, message: &str, least: Duration, is_lost: bool) {
        let wait = self.cool_down.max(least);
        let until = Instant::now() + wait;
        let until = self.resting.map_or(until, |rested| rested.max(until));
        self.down = Some(Down { until, is_lost, is_probed: false });
        self.cool_down = (wait * 2).min(LONGEST_COOL_DOWN);
        self.counted.last_failure = Some(message.to_owned());
    }

    fn count(&mut self, reply: &JudgeReply) {
        self.counted.replies += 1;
        self.counted.prompt_tokens += reply.usage.prompt_tokens;
        self.counted.cached_prompt_tokens += reply.usage.cached_prompt_tokens;
        self.latencies.push(u32::try_from(reply.latency_ms).unwrap_or(u32::MAX));
    }
}

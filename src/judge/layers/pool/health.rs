//! Whether a replica can be asked, as its calls tell.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::Error;
use crate::judge::{AskError, Outcome};

/// So many failures in a row, and the replica is down.
const FAILURES: u32 = 3;
/// How long it is left alone then: at first, doubled each time it still fails, and at most.
const COOL_DOWN: Duration = Duration::from_secs(5);
const LONGEST_COOL_DOWN: Duration = Duration::from_secs(5 * 60);
/// The same at the least for a replica that said what would stop a run.
const COOL_DOWN_OF_LOST: Duration = Duration::from_secs(60);
/// A shorter pause is waited for where the answer's prefix is; a longer one sends its calls elsewhere.
const LONG_PAUSE: Duration = Duration::from_secs(5);
/// A replica counts as throttled for so long after it said so, or for as long as it asked to wait.
const THROTTLED: Duration = Duration::from_secs(2);
/// The weight of the newest latency in the moving mean.
const NEWEST: f64 = 0.2;
/// Of fewer replies nothing is said.
const FEWEST_REPLIES: u32 = 8;

/// How a replica stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It can be asked.
    Up,
    /// It asked for a long pause.
    Resting,
    /// Its cool-down is over: one call may find out.
    MayBeBack,
    /// It fails.
    Down,
    /// It said what would stop a run.
    Lost,
}

/// What is known of one replica.
#[derive(Debug)]
pub(super) struct Health {
    /// In a row, since the last answer.
    failures: u32,
    down: Option<Down>,
    /// How long the next cool-down is.
    cool_down: Duration,
    resting: Option<Instant>,
    throttled: Option<Instant>,
    /// Calls that it has sent away with that since its last reply.
    sent_away: usize,
    /// Moving mean of the latencies in milliseconds, and of how many replies.
    latency: f64,
    replies: u32,
    last_failure: Option<String>,
}

#[derive(Debug, Clone, Copy)]
struct Down {
    until: Instant,
    is_lost: bool,
    is_probed: bool,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            failures: 0,
            down: None,
            cool_down: COOL_DOWN,
            resting: None,
            throttled: None,
            sent_away: 0,
            latency: 0.0,
            replies: 0,
            last_failure: None,
        }
    }
}

impl Health {
    pub(super) fn standing(&self, now: Instant) -> Standing {
        match self.down {
            Some(down) if down.until <= now && !down.is_probed => Standing::MayBeBack,
            Some(Down { is_lost: true, .. }) => Standing::Lost,
            Some(_) => Standing::Down,
            None if self.resting.is_some_and(|until| until > now) => Standing::Resting,
            None => Standing::Up,
        }
    }

    /// True while no ordinary call should come here.
    pub(super) fn is_down(&self, now: Instant) -> bool {
        !matches!(self.standing(now), Standing::Up | Standing::Resting)
    }

    /// True for a while after it said that it has too much to do.
    pub(super) fn is_throttled(&self, now: Instant) -> bool {
        self.throttled.is_some_and(|until| until > now)
    }

    /// How many calls wait elsewhere to come back to it, as long as it is throttled.
    pub(super) fn sent_away(&self, now: Instant) -> usize {
        if self.is_throttled(now) { self.sent_away } else { 0 }
    }

    /// True for what said that a run must stop, and was not heard of since.
    pub(super) fn is_lost(&self, now: Instant) -> bool {
        self.standing(now) == Standing::Lost
    }

    /// What it said when it was found down last.
    pub(super) fn last_failure(&self) -> Option<&str> {
        self.last_failure.as_deref()
    }

    /// Moving mean of the latencies in milliseconds; `None` before there are enough.
    pub(super) fn latency(&self) -> Option<f64> {
        (self.replies >= FEWEST_REPLIES).then_some(self.latency)
    }

    /// A call goes here; true if it is the one that finds out whether the replica is back.
    pub(super) fn begin_probe(&mut self, now: Instant) -> bool {
        let may_be_back = self.standing(now) == Standing::MayBeBack;
        if let Some(down) = self.down.as_mut().filter(|_| may_be_back) {
            down.is_probed = true;
        }
        may_be_back
    }

    /// The call that was to find out was dropped.
    pub(super) fn end_probe(&mut self) {
        if let Some(down) = &mut self.down {
            down.is_probed = false;
        }
    }

    /// Takes notice of how a call ended; true if the replica failed it.
    pub(super) fn settle(&mut self, result: &Result<Outcome, AskError>, is_probe: bool) -> bool {
        match result {
            Ok(outcome) => {
                self.answered();
                if let Outcome::Reply(reply) = outcome {
                    self.measure(reply.latency_ms as f64);
                }
                false
            }
            Err(AskError::Refused { .. }) => {
                self.answered();
                false
            }
            Err(AskError::Transient { message, status, retry_after }) => {
                if let Some(wait) = retry_after.filter(|wait| *wait >= LONG_PAUSE) {
                    self.resting = Some(Instant::now() + wait);
                }
                if matches!(status, Some(429 | 503 | 529)) {
                    self.sent_away += 1;
                    self.throttled = Some(Instant::now() + retry_after.unwrap_or_default().max(THROTTLED));
                }
                let is_failure = status.is_none_or(|status| status == 408 || status >= 500);
                if is_failure {
                    self.failed(message, is_probe);
                } else if is_probe {
                    // 429 and the like: it is there, and busy.
                    self.answered();
                }
                is_failure
            }
            Err(AskError::Fatal(Error::JudgeUnavailable(message))) => {
                self.lose(message);
                true
            }
            Err(AskError::Fatal(_)) => {
                self.end_probe();
                false
            }
        }
    }

    /// It said what would stop a run with no other.
    pub(super) fn lose(&mut self, message: &str) {
        self.close(message, COOL_DOWN_OF_LOST, true);
    }

    fn answered(&mut self) {
        self.sent_away = 0;
        self.failures = 0;
        self.down = None;
        self.cool_down = COOL_DOWN;
    }

    fn failed(&mut self, message: &str, is_probe: bool) {
        self.failures += 1;
        match self.down {
            None if self.failures >= FAILURES => self.close(message, COOL_DOWN, false),
            // What still comes back from before says nothing new.
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
        self.last_failure = Some(message.to_owned());
    }

    fn measure(&mut self, millis: f64) {
        self.latency += if self.replies == 0 { millis } else { NEWEST * (millis - self.latency) };
        self.replies = self.replies.saturating_add(1);
    }
}

/// The middle one, or the mean of the two in the middle; `None` of nothing.
pub(super) fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let upper = *numbers.get(numbers.len() / 2)?;
    let lower = *numbers.get((numbers.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

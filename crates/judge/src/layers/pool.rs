//! Several endpoints for one judge.
//!
//! Each answer has its replica, so that the replica's prefix cache stays warm for all calls about it. It is chosen by
//! rendezvous hashing (highest random weight; Thaler and Ravishankar 1998): every replica gets a number from a hash of
//! its name and the answer's, the highest wins. The order of the replicas does not matter, and a missing one moves only
//! the answers of that replica.
//!
//! A call goes to the next replica in the answer's order if its first one
//!
//! - is *down*: three failures in a row (connections, time-outs, broken replies, 5xx). After a cool-down one call probes
//!   whether it is back, and the others follow if so.
//! - is *lost*: it reported an error that would stop a run (wrong key, no such model, gone for a minute). Same as down,
//!   with a longer cool-down; the run stops only when all are lost.
//! - has asked for a long pause;
//! - failed or throttled this call the last time;
//! - has no free slot, and another one has.
//!
//! If none is left, the call goes to the first replica of its answer.
//!
//! The pool is inside the retries, so that each attempt chooses anew, and around the limits, which each server has for
//! itself.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::layers::rate_limited::RateLimited;
use crate::meters::Activity;
use crate::{AskError, AskFuture, Judge, JudgeRequest, Outcome, fatal, locked};
use scholareval_core::domain::{EndpointStats, Fingerprint};
use scholareval_core::error::{Error, Result};

/// Failures in a row that take a replica down. One or two happen to healthy servers (a connection closed while idle).
const FAILURES: u32 = 3;
/// Cool-down of a replica that is down: the first, doubled after each failed probe, and the longest.
const COOL_DOWN: Duration = Duration::from_secs(5);
const LONGEST_COOL_DOWN: Duration = Duration::from_secs(5 * 60);
/// The shortest cool-down of a lost replica.
const COOL_DOWN_OF_LOST: Duration = Duration::from_secs(60);
/// Calls wait for shorter pauses, to keep their prefix; longer ones send them to another replica.
const LONG_PAUSE: Duration = Duration::from_secs(5);
/// Maximum number of remembered failed calls; above it all are forgotten.
const MOST_FAILED_CALLS: usize = 10_000;

/// One endpoint of a pool: its judge within the limits of that endpoint.
#[derive(Debug)]
pub struct Replica<J> {
    /// Its address, secrets masked: its name in messages and summaries, and the input of the hash.
    pub name: String,
    /// Maximum number of its calls in flight; more calls queue.
    pub concurrency: usize,
    /// The judge at that address.
    pub judge: J,
    /// Why it was unreachable before the run: it starts as lost and is probed again.
    pub unreachable: Option<String>,
}

/// One judge at several endpoints. All must serve the same model ([`crate::identity::check_same_model`]): the
/// cache does not record which of them answered.
#[derive(Debug)]
pub struct Pool<J> {
    replicas: Vec<Replica<J>>,
    state: Mutex<PoolState>,
}

/// What the calls of a pool have learned.
#[derive(Debug)]
struct PoolState {
    /// By replica.
    health: Vec<Health>,
    /// The replica that last failed or throttled a call.
    failed: HashMap<Fingerprint, usize>,
}

impl<J> Pool<J> {
    /// A judge at these replicas.
    ///
    /// # Errors
    /// [`Error::Settings`] for an empty or duplicate list.
    pub fn new(replicas: Vec<Replica<J>>) -> Result<Self> {
        if replicas.is_empty() {
            return Err(Error::Settings(
                "the judge has no endpoint; give --base-url URL".into(),
            ));
        }
        let mut names = HashSet::new();
        for Replica { name, .. } in &replicas {
            if !names.insert(name.as_str()) {
                return Err(Error::Settings(format!(
                    "the endpoint {name} is given twice; name each once in --base-url"
                )));
            }
        }
        let health = replicas.iter().map(Health::new).collect();
        Ok(Self {
            replicas,
            state: Mutex::new(PoolState {
                health,
                failed: HashMap::new(),
            }),
        })
    }

    /// Statistics of each endpoint, in the given order.
    pub fn stats(&self) -> Vec<EndpointStats> {
        self.with(|state| state.health.iter().map(Health::stats).collect())
    }

    fn with<T>(&self, act: impl FnOnce(&mut PoolState) -> T) -> T {
        act(&mut locked(&self.state))
    }

    /// Marks a replica with a fatal error as lost; the others continue, if there are any.
    fn lost(&self, index: usize, message: String) -> AskError {
        let name = &self.replicas[index].name;
        // As a transient failure it goes through the retries, whose next attempt chooses another
        // replica.
        if self.with(|state| state.has_other_than(index)) {
            tracing::warn!(endpoint = name, %message, "the other endpoints continue without this one");
            return AskError::transient(format!("{name}: {message}"));
        }
        let reasons = self.with(|state| state.last_failures());
        fatal(format!(
            "no endpoint of the judge is left: {}",
            reasons.join("; ")
        ))
    }
}

impl PoolState {
    /// Whether a replica beside this one may still answer: it is not lost, or it is time to see whether it is back.
    fn has_other_than(&self, index: usize) -> bool {
        let now = Instant::now();
        for (at, health) in self.health.iter().enumerate() {
            let is_lost = health
                .down
                .is_some_and(|down| down.is_lost && !down.may_be_back(now));
            if at != index && !is_lost {
                return true;
            }
        }
        false
    }

    /// The number of replicas that ordinary calls avoid.
    fn count_down(&self) -> usize {
        let down = self.health.iter().filter(|health| health.down.is_some());
        down.count()
    }

    /// Each replica with its last failure, as `name: message`.
    fn last_failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for Health { counted, .. } in &self.health {
            let message = counted.last_failure.as_deref().unwrap_or_default();
            failures.push(format!("{}: {message}", counted.name));
        }
        failures
    }

    /// Remembers whether this replica failed the call, for the choice at the next attempt.
    fn note_failure(&mut self, call: Fingerprint, index: usize, has_failed: bool) {
        if !has_failed {
            self.failed.remove(&call);
            return;
        }
        // Abandoned calls stay here, so a bound is needed; forgetting costs almost nothing.
        if self.failed.len() >= MOST_FAILED_CALLS {
            self.failed.clear();
        }
        self.failed.insert(call, index);
    }
}

/// How much a replica is to be preferred for a call; the last is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fitness {
    /// Its error would stop a run.
    Lost,
    /// It failed several times in a row.
    Down,
    /// It failed or throttled this call the last time, or has asked for a long pause.
    Avoided,
    /// All its slots are taken: the call would queue there.
    Full,
    /// It can take the call at once.
    Free,
}

impl<J: Judge> Pool<J> {
    /// The replica for this call.
    fn choose(&self, request: &JudgeRequest, state: &PoolState) -> usize {
        // The usual case of a lone server needs no hash.
        if self.replicas.len() == 1 {
            return 0;
        }
        let failed = request
            .rendered
            .as_ref()
            .and_then(|call| state.failed.get(&call.fingerprint).copied());
        let now = Instant::now();
        let mut best = None;
        for (index, (replica, health)) in self.replicas.iter().zip(&state.health).enumerate() {
            let has_slot = health.here < replica.concurrency;
            let fitness = health.fitness(failed == Some(index), has_slot, now);
            // Fitness before the hash: a warm prefix saves part of a prompt, a server that is down
            // costs the whole time-out.
            let rank = (fitness, hash(&replica.name, request), index);
            best = best.max(Some(rank));
        }
        best.map_or(0, |(_, _, index)| index)
    }

    async fn ask_one(&self, request: &JudgeRequest) -> Result<Outcome, AskError> {
        let (index, is_probe) = self.with(|state| {
            let index = self.choose(request, state);
            (index, state.health[index].enter(Instant::now()))
        });
        // Leaving is a drop, since a call can be abandoned anywhere (Ctrl-C, a spent budget), and a
        // slot that is never given back would make its replica look full for ever.
        let mut stay = Stay {
            pool: self,
            index,
            is_probe,
        };
        let Replica { name, judge, .. } = &self.replicas[index];
        let result = judge.ask(request).await;
        self.with(|state| state.health[index].settle(&result, is_probe));
        stay.is_probe = false;
        // A lone server has no name in messages, and its errors are the judge's.
        if self.replicas.len() == 1 {
            return result;
        }
        if let Some(call) = &request.rendered {
            let has_failed = matches!(result, Err(AskError::Transient { .. } | AskError::Fatal(_)));
            self.with(|state| state.note_failure(call.fingerprint, index, has_failed));
        }
        match result {
            Err(AskError::Transient {
                message,
                status,
                retry_after,
            }) => Err(AskError::Transient {
                message: format!("{name}: {message}"),
                status,
                retry_after,
            }),
            Err(AskError::Fatal(Error::JudgeUnavailable(message))) => {
                Err(self.lost(index, message))
            }
            other => other,
        }
    }
}

impl<J> Pool<RateLimited<J>> {
    /// What its servers do right now. A pause counts if no server takes calls.
    pub fn activity(&self) -> Activity {
        let mut all = Activity::default();
        let mut pauses = Vec::new();
        for replica in &self.replicas {
            let activity = replica.judge.activity();
            pauses.push(activity.pause);
            all = all.plus(activity);
        }
        // The least is `None` if any server takes calls.
        all.pause = pauses.into_iter().min().flatten();
        all.down = self.with(|state| state.count_down());
        all
    }
}

impl<J: Judge> Judge for Pool<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(self.ask_one(request))
    }
}

/// A call at a replica; a probe that is dropped leaves its place to the next call.
struct Stay<'a, J> {
    pool: &'a Pool<J>,
    index: usize,
    is_probe: bool,
}

impl<J> Drop for Stay<'_, J> {
    fn drop(&mut self) {
        self.pool
            .with(|state| state.health[self.index].leave(self.is_probe));
    }
}

/// State of one replica.
#[derive(Debug, Default)]
struct Health {
    /// Counters; [`Health::stats`] adds latencies and whether it is down.
    counted: EndpointStats,
    /// Of each reply, in milliseconds.
    latencies: Vec<u32>,
    /// Its current calls, waiting ones included.
    here: usize,
    /// In a row, since the last reply.
    failures: u32,
    down: Option<Down>,
    /// Length of the next cool-down.
    cool_down: Duration,
    /// The end of the last long pause that it asked for.
    resting: Option<Instant>,
}

/// A replica that ordinary calls avoid.
#[derive(Debug, Clone, Copy)]
struct Down {
    until: Instant,
    /// Its error would stop a run.
    is_lost: bool,
    is_probed: bool,
}

impl Down {
    /// True if its cool-down is over: one call may probe it.
    fn may_be_back(self, now: Instant) -> bool {
        self.until <= now && !self.is_probed
    }
}

impl Health {
    fn new<J>(replica: &Replica<J>) -> Self {
        let mut health = Self {
            counted: EndpointStats {
                name: replica.name.clone(),
                ..EndpointStats::default()
            },
            cool_down: COOL_DOWN,
            ..Self::default()
        };
        if let Some(why) = &replica.unreachable {
            health.close(why, COOL_DOWN_OF_LOST, true);
        }
        health
    }

    /// Its statistics.
    fn stats(&self) -> EndpointStats {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        EndpointStats {
            calls: self.counted.replies + self.counted.errors,
            latency_p50_ms: quantile(&sorted, 0.5),
            latency_p95_ms: quantile(&sorted, 0.95),
            is_down: self.down.is_some(),
            ..self.counted.clone()
        }
    }

    /// How much it is to be preferred for a call that it failed the last time or not. The probe of one that is down takes
    /// no notice of slots: it is one call.
    fn fitness(&self, has_failed_call: bool, has_slot: bool, now: Instant) -> Fitness {
        if let Some(down) = self.down
            && !down.may_be_back(now)
        {
            return if down.is_lost {
                Fitness::Lost
            } else {
                Fitness::Down
            };
        }
        if has_failed_call || self.resting.is_some_and(|until| until > now) {
            Fitness::Avoided
        } else if self.down.is_none() && !has_slot {
            Fitness::Full
        } else {
            Fitness::Free
        }
    }

    /// Counts a call; true if it is the probe.
    fn enter(&mut self, now: Instant) -> bool {
        self.here += 1;
        match &mut self.down {
            Some(down) if down.may_be_back(now) => {
                down.is_probed = true;
                true
            }
            _ => false,
        }
    }

    /// A call ended; `is_probe` if it was a probe without a result.
    fn leave(&mut self, is_probe: bool) {
        self.here -= 1;
        if let Some(down) = self.down.as_mut().filter(|_| is_probe) {
            down.is_probed = false;
        }
    }

    /// Records the outcome of a call.
    fn settle(&mut self, result: &Result<Outcome, AskError>, is_probe: bool) {
        let now = Instant::now();
        self.counted.errors += u64::from(result.is_err());
        if let Ok(Outcome::Reply(reply)) = result {
            self.counted.replies += 1;
            self.counted.prompt_tokens += reply.usage.prompt_tokens;
            self.counted.cached_prompt_tokens += reply.usage.cached_prompt_tokens;
            self.latencies
                .push(u32::try_from(reply.latency_ms).unwrap_or(u32::MAX));
        }
        match result {
            Ok(_) | Err(AskError::Refused { .. } | AskError::Unsupported { .. }) => self.answered(),
            Err(AskError::Transient {
                message,
                status,
                retry_after,
            }) => {
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
            Err(AskError::Fatal(Error::JudgeUnavailable(message))) => {
                self.close(message, COOL_DOWN_OF_LOST, true)
            }
            Err(AskError::Fatal(_)) => {}
        }
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

    /// Takes it out for a while; `is_lost`: its error would stop a run without other replicas.
    fn close(&mut self, message: &str, least: Duration, is_lost: bool) {
        let wait = self.cool_down.max(least);
        let until = Instant::now() + wait;
        // A probe during a pause that the server asked for would be refused, and double the
        // cool-down for nothing.
        let until = self.resting.map_or(until, |rested| rested.max(until));
        self.down = Some(Down {
            until,
            is_lost,
            is_probed: false,
        });
        self.cool_down = (wait * 2).min(LONGEST_COOL_DOWN);
        self.counted.last_failure = Some(message.to_owned());
    }
}

/// The nearest rank: the smallest value that at least this share of all does not exceed.
fn quantile(sorted: &[u32], share: f64) -> Option<f64> {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted
        .get(rank.saturating_sub(1))
        .map(|millis| f64::from(*millis))
}

/// 64 bits of a hash: the same on every machine and in every version, so that a re-run finds its prefixes where they are.
fn hash(replica: &str, request: &JudgeRequest) -> u64 {
    let hash =
        // By answer and not by call: all calls about an answer share the beginning of their
        // prompts.
        blake3::hash(format!("{replica}\0{}\0{}", request.system, request.case_id).as_bytes());
    hash.as_bytes()
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests;

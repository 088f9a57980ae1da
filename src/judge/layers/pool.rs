//! Several endpoints for one judge.
//!
//! Each answer has its replica, so that the replica's prefix cache stays warm for all the calls about it. Which one is
//! decided by rendezvous hashing (highest random weight; Thaler and Ravishankar 1998): every replica draws a number from
//! its name and the answer's, the highest wins. The order of the replicas does not matter, and where one is missing only
//! its own answers move.
//!
//! An answer's call goes to the next replica in its order while its own one
//!
//! - is *down*: three failures in a row (connections, time-outs, broken replies, 5xx). After a cool-down one call looks
//!   whether it is back, and the others follow if so; nobody looks without a call to ask.
//! - is *lost*: it said what would stop a run (wrong key, no such model, gone for a minute). The same, with a longer
//!   cool-down; only when all are lost does the run stop.
//! - has asked for a long pause;
//! - failed this very call the last time;
//! - is *much slower* than the others while calls queue up for it;
//! - is *throttled* (429, 503, 529) while more calls queue up for it than it has to hold: whoever waits there keeps a place
//!   from which another replica could be asked.
//!
//! If nothing is left, the call goes to its own replica all the same.

mod health;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use self::health::{Health, Standing, median};
use crate::domain::{EndpointStats, Fingerprint};
use crate::error::{Error, Result};
use crate::judge::meters::EndpointMeters;
use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome};

/// So many times as slow as the median of the others is much slower,
const MUCH_SLOWER: f64 = 3.0;
/// if it is so many milliseconds slower, too: less is not worth the prefix that has to be read anew elsewhere, and among
/// servers that answer within a few milliseconds three times as long is chance.
const MUCH_SLOWER_MS: f64 = 100.0;
/// A throttled replica holds at most so much more than its even share of the calls that are on their way. (The factor of
/// consistent hashing with bounded loads; Mirrokni, Thorup and Zadimoghaddam 2018.)
const MOST_OF_SHARE: f64 = 1.25;
/// Calls are remembered by the replica that failed them; more than so many are forgotten together.
const MOST_FAILED_CALLS: usize = 10_000;

/// One endpoint of a pool: its judge within limits of its own.
#[derive(Debug)]
pub struct Replica<J> {
    /// Its address, secrets masked: names it in messages and summaries, and decides which answers are its own.
    pub name: String,
    /// Who is asked there.
    pub judge: J,
}

/// One judge at several endpoints. All must serve the same model ([`crate::judge::same_model::check_same_model`]): the
/// cache does not know which of them answered.
#[derive(Debug)]
pub struct Pool<J> {
    members: Vec<Member<J>>,
    health: Mutex<Vec<Health>>,
    /// Which replica failed a call the last time.
    failed: Mutex<HashMap<Fingerprint, usize>>,
}

#[derive(Debug)]
struct Member<J> {
    name: String,
    judge: J,
    seed: u64,
    meters: EndpointMeters,
    /// Calls that are here, waiting ones included.
    here: AtomicUsize,
}

impl<J> Pool<J> {
    /// A judge at these replicas.
    ///
    /// # Errors
    /// [`Error::Settings`] if there is none, or one twice.
    pub fn new(replicas: Vec<Replica<J>>) -> Result<Self> {
        if replicas.is_empty() {
            return Err(Error::Settings("the judge has no endpoint; give --base-url URL".into()));
        }
        let mut names = HashSet::new();
        if let Some(twice) = replicas.iter().find(|replica| !names.insert(replica.name.as_str())) {
            let what = format!("the endpoint {} is given twice; name each once in --base-url", twice.name);
            return Err(Error::Settings(what));
        }
        let members: Vec<Member<J>> = replicas
            .into_iter()
            .map(|Replica { name, judge }| Member {
                seed: hash(&[&name]),
                name,
                judge,
                meters: EndpointMeters::default(),
                here: AtomicUsize::new(0),
            })
            .collect();
        let health = Mutex::new(members.iter().map(|_| Health::default()).collect());
        Ok(Self { members, health, failed: Mutex::default() })
    }

    /// Begins without the replica `index`, which could not be asked before the run because of `why`: it counts as lost, and
    /// is looked at again like any other such.
    #[must_use]
    pub fn without(self, index: usize, why: &str) -> Self {
        self.with_health(|health| {
            if let Some(health) = health.get_mut(index) {
                health.lose(why);
            }
        });
        self
    }

    /// How many endpoints there are, and how many of them are not asked at this moment because they are down.
    pub fn down(&self) -> (usize, usize) {
        let now = Instant::now();
        (self.members.len(), self.with_health(|health| health.iter().filter(|health| health.is_down(now)).count()))
    }

    /// What each endpoint did so far, in the order they were given.
    pub fn stats(&self) -> Vec<EndpointStats> {
        let now = Instant::now();
        self.with_health(|health| {
            let of = |(member, health): (&Member<J>, &Health)| EndpointStats {
                is_down: health.is_down(now),
                last_failure: health.last_failure().map(str::to_owned),
                ..member.meters.stats(&member.name)
            };
            self.members.iter().zip(health.iter()).map(of).collect()
        })
    }

    /// How much the replica `index` draws for the answer `key`.
    fn weight(&self, index: usize, key: u64) -> u64 {
        self.members.get(index).map_or(0, |member| mixed(key ^ member.seed))
    }

    fn with_health<T>(&self, act: impl FnOnce(&mut Vec<Health>) -> T) -> T {
        act(&mut self.health.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The replica that failed this call the last time.
    fn failed_before(&self, request: &JudgeRequest) -> Option<usize> {
        let key = &request.rendered.as_ref()?.fingerprint;
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    fn note_failed(&self, request: &JudgeRequest, by: Option<usize>) {
        let Some(rendered) = &request.rendered else { return };
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match by {
            Some(index) => {
                // Calls that were given up stay here: a bound is needed, and forgetting costs next to nothing.
                if failed.len() >= MOST_FAILED_CALLS {
                    failed.clear();
                }
                failed.insert(rendered.fingerprint, index);
            }
            None => {
                failed.remove(&rendered.fingerprint);
            }
        }
    }
}

impl<J: Judge> Pool<J> {
    /// The replica for this call, and whether the call is to find out if it is back.
    fn choose(&self, request: &JudgeRequest) -> (usize, bool) {
        let key = hash(&[request.system.as_str(), request.case_id.as_str()]);
        let avoided = self.failed_before(request);
        let now = Instant::now();
        self.with_health(|health| {
            let rank = |index: usize| match health.get(index).map_or(Standing::Lost, |health| health.standing(now)) {
                Standing::Lost => 0,
                Standing::Down => 1,
                Standing::Resting => 2,
                Standing::Up | Standing::MayBeBack if avoided == Some(index) => 2,
                Standing::Up if self.is_crowded(index, health, now) => 3,
                Standing::Up if self.is_much_slower(index, health, now) => 3,
                Standing::Up | Standing::MayBeBack => 4,
            };
            let order = (0..self.members.len()).map(|index| (rank(index), self.weight(index, key), index));
            let chosen = order.max().map_or(0, |(.., index)| index);
            let is_probe = health.get_mut(chosen).is_some_and(|health| health.begin_probe(now));
            (chosen, is_probe)
        })
    }

    /// True if calls wait for this replica because it is throttled, and they are too many.
    fn is_crowded(&self, index: usize, health: &[Health], now: Instant) -> bool {
        let (Some(member), Some(own)) = (self.members.get(index), health.get(index)) else { return false };
        // Those that it has sent away come back to it after a pause.
        let load = |member: &Member<J>, health: &Health| member.here.load(Ordering::Acquire) + health.sent_away(now);
        let is_throttled = own.is_throttled(now);
        let own = load(member, own);
        if !is_throttled || own <= member.judge.asking().unwrap_or(usize::MAX) {
            return false;
        }
        let asked = self.members.iter().zip(health).filter(|(_, health)| !health.is_down(now));
        let loads: Vec<usize> = asked.map(|(member, health)| load(member, health)).collect();
        let share = loads.iter().sum::<usize>() as f64 / loads.len().max(1) as f64;
        own as f64 >= MOST_OF_SHARE * share
    }

    /// True if calls wait for this replica while the others answer three times as fast, by more than a moment.
    fn is_much_slower(&self, index: usize, health: &[Health], now: Instant) -> bool {
        let Some(own) = health.get(index).and_then(Health::latency) else { return false };
        let others = health.iter().enumerate().filter(|(other, _)| *other != index);
        let others = others.filter(|(_, health)| !health.is_down(now)).filter_map(|(_, health)| health.latency());
        let Some(median) = median(others.collect()) else { return false };
        let is_slow = own > (MUCH_SLOWER * median).max(median + MUCH_SLOWER_MS);
        let Some(member) = self.members.get(index).filter(|_| is_slow) else { return false };
        let asking = member.judge.asking().unwrap_or(usize::MAX);
        member.here.load(Ordering::Acquire) > asking
    }

    async fn ask_one(&self, request: &JudgeRequest) -> Result<Outcome, AskError> {
        let (index, is_probe) = self.choose(request);
        let Some(member) = self.members.get(index) else {
            return Err(AskError::Fatal(Error::Internal("a pool without members was asked".into())));
        };
        let mut stay = Stay::new(self, index, is_probe);
        let result = member.judge.ask(request).await;
        member.meters.count(&result);
        let is_failure = self.with_health(|health| {
            stay.is_probe = false;
            health.get_mut(index).is_some_and(|health| health.settle(&result, is_probe))
        });
        let has_others = self.members.len() > 1;
        if has_others && (is_failure || matches!(result, Ok(_) | Err(AskError::Refused { .. }))) {
            self.note_failed(request, is_failure.then_some(index));
        }
        match result {
            Err(AskError::Transient { message, status, retry_after }) if has_others => {
                Err(AskError::Transient { message: format!("{}: {message}", member.name), status, retry_after })
            }
            Err(AskError::Fatal(Error::JudgeUnavailable(message))) if has_others => Err(self.lost(index, message)),
            other => other,
        }
    }

    /// A replica said what stops a run: the others go on, if there are any.
    fn lost(&self, index: usize, message: String) -> AskError {
        let now = Instant::now();
        let all = self.with_health(|health| {
            let is_lost = |(at, health): (usize, &Health)| at == index || health.is_lost(now);
            let are_lost = health.iter().enumerate().all(is_lost);
            are_lost.then(|| health.iter().map(|health| health.last_failure().unwrap_or_default().to_owned()).collect())
        });
        let name = self.members.get(index).map_or("", |member| member.name.as_str());
        let Some(words): Option<Vec<String>> = all else {
            tracing::warn!(endpoint = name, %message, "the other endpoints go on without this one");
            return AskError::Transient { message: format!("{name}: {message}"), status: None, retry_after: None };
        };
        let each: Vec<String> =
            self.members.iter().zip(words).map(|(member, words)| format!("{}: {words}", member.name)).collect();
        AskError::Fatal(Error::JudgeUnavailable(format!("no endpoint of the judge is left: {}", each.join("; "))))
    }
}

impl<J: Judge> Judge for Pool<J> {
    fn ask<'a>(&'a self, request: &'a JudgeRequest) -> AskFuture<'a> {
        Box::pin(self.ask_one(request))
    }

    fn asking(&self) -> Option<usize> {
        self.members.iter().map(|member| member.judge.asking()).sum()
    }
}

/// A call's time at a replica; a probe that is dropped leaves its place to the next call.
struct Stay<'a, J> {
    pool: &'a Pool<J>,
    index: usize,
    is_probe: bool,
}

impl<'a, J> Stay<'a, J> {
    fn new(pool: &'a Pool<J>, index: usize, is_probe: bool) -> Self {
        if let Some(member) = pool.members.get(index) {
            member.here.fetch_add(1, Ordering::AcqRel);
        }
        Self { pool, index, is_probe }
    }
}

impl<J> Drop for Stay<'_, J> {
    fn drop(&mut self) {
        if let Some(member) = self.pool.members.get(self.index) {
            member.here.fetch_sub(1, Ordering::AcqRel);
        }
        if self.is_probe {
            self.pool.with_health(|health| {
                if let Some(health) = health.get_mut(self.index) {
                    health.end_probe();
                }
            });
        }
    }
}

/// 64 bits of the blake3 hash over each part with its length in front: the same on every machine and in every version.
fn hash(parts: &[&str]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): spreads what differs in a few bits over all.
fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests;

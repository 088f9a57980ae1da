//! Who is asking what just now, so that two processes on one cache do not pay one call twice.
//!
//! A claim is a row with an owner and a time at which it ends by itself; the claim of a process that is known to have
//! ended ([`owner`]) is free at once. The clock is the machine's; where it jumps, or
//! a process sleeps through its lease, the worst that happens is that a call is paid twice.

use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::owner;
use super::record::{self, StoredRow};
use super::writer::Job;
use crate::domain::{Fingerprint, JudgeReply};

/// The claim on a key.
pub(crate) const SELECT_CLAIM: &str = "SELECT owner, expires_at FROM claims WHERE key = ?1";

const CLAIM: &str = "INSERT INTO claims (key, owner, expires_at) VALUES (?1, ?2, ?3) \
    ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at \
    WHERE claims.expires_at <= ?4 OR claims.owner = excluded.owner";
const INHERIT: &str = "UPDATE claims SET owner = ?2, expires_at = ?3 WHERE key = ?1 AND owner = ?4";
const RELEASE: &str = "DELETE FROM claims WHERE key = ?1 AND owner = ?2";
const RELEASE_ALL: &str = "DELETE FROM claims WHERE owner = ?1";
const RENEW: &str = "UPDATE claims SET expires_at = ?3 WHERE key = ?1 AND owner = ?2";
const SWEEP: &str = "DELETE FROM claims WHERE expires_at <= ?1";

/// What came of claiming a key.
#[derive(Debug)]
pub enum Claim {
    /// Ask; hand the guard to [`Cache::put_claimed`](super::Cache::put_claimed) or drop it.
    Mine(ClaimGuard),
    /// Another process is asking.
    Theirs,
    /// The reply is there.
    Cached(JudgeReply),
}

/// The right to ask one call. Dropping it gives the claim back.
#[derive(Debug)]
pub struct ClaimGuard {
    key: Fingerprint,
    jobs: Option<Sender<Job>>,
}

impl ClaimGuard {
    pub(crate) fn new(key: Fingerprint, jobs: Sender<Job>) -> Self {
        Self { key, jobs: Some(jobs) }
    }

    /// The key that is claimed.
    pub fn key(&self) -> &Fingerprint {
        &self.key
    }

    /// Forgets the guard without a release: the put that follows releases.
    pub(crate) fn disarm(mut self) {
        self.jobs = None;
    }
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        if let Some(jobs) = self.jobs.take() {
            // A writer that has ended has released everything it held.
            let _ = jobs.send(Job::Release { key: self.key });
        }
    }
}

/// What a claim found, before it is committed.
pub(crate) enum Found {
    Free,
    Taken,
    Reply(Box<JudgeReply>),
    DamagedReply,
}

/// The claims of one open cache. Only the writer thread has it.
///
/// One key may be held several times: identical calls in one process share the claim (the collapsing layer makes one
/// request of them).
pub(crate) struct Ledger {
    owner: String,
    lease: Duration,
    held: HashMap<Fingerprint, u32>,
    /// Keys whose count changed since the last commit, with the count before.
    uncommitted: Vec<(Fingerprint, Option<u32>)>,
}

impl Ledger {
    pub(crate) fn new(lease: Duration) -> Self {
        Self { owner: owner::name(), lease, held: HashMap::new(), uncommitted: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    fn set(&mut self, key: &Fingerprint, count: u32) {
        let before = if count == 0 { self.held.remove(key) } else { self.held.insert(*key, count) };
        self.uncommitted.push((*key, before));
    }

    /// The transaction is in: the counts stand.
    pub(crate) fn committed(&mut self) {
        self.uncommitted.clear();
    }

    /// The transaction was undone: so are the counts.
    pub(crate) fn rolled_back(&mut self) {
        for (key, before) in self.uncommitted.drain(..).rev() {
            match before {
                Some(count) => self.held.insert(key, count),
                None => self.held.remove(&key),
            };
        }
    }

    /// Claims `key` at the time `now` (unix milliseconds), within a transaction.
    pub(crate) fn claim(&mut self, connection: &Connection, key: &Fingerprint, now: u64) -> rusqlite::Result<Found> {
        match record::find(connection, key)? {
            Some(StoredRow::Whole(entry)) if entry.key == *key => return Ok(Found::Reply(Box::new(entry.reply))),
            Some(_) => return Ok(Found::DamagedReply),
            None => {}
        }
        let count = self.held.get(key).copied().unwrap_or(0);
        if count == 0 {
            let values = params![key.as_bytes(), self.owner, self.end_of_lease(now), millis(now)];
            if connection.prepare_cached(CLAIM)?.execute(values)? == 0 && !self.inherit(connection, key, now)? {
                return Ok(Found::Taken);
            }
        }
        self.set(key, count.saturating_add(1));
        Ok(Found::Free)
    }

    /// Takes a claim over whose owner has ended without giving it back.
    fn inherit(&self, connection: &Connection, key: &Fingerprint, now: u64) -> rusqlite::Result<bool> {
        let owner: Option<String> =
            connection.prepare_cached(SELECT_CLAIM)?.query_row([key.as_bytes()], |row| row.get(0)).optional()?;
        let Some(dead) = owner.filter(|owner| owner::is_dead(owner)) else { return Ok(false) };
        let values = params![key.as_bytes(), self.owner, self.end_of_lease(now), dead];
        Ok(connection.prepare_cached(INHERIT)?.execute(values)? > 0)
    }

    /// Gives one holding of `key` back, and with the last one the claim; `stored` says that its reply is there.
    pub(crate) fn release(&mut self, connection: &Connection, key: &Fingerprint, stored: bool) -> rusqlite::Result<()> {
        let count = self.held.get(key).copied().unwrap_or(0).saturating_sub(1);
        self.set(key, count);
        if count == 0 || stored {
            connection.prepare_cached(RELEASE)?.execute(params![key.as_bytes(), self.owner])?;
        }
        Ok(())
    }

    /// Gives one holding back in memory only, where the file cannot be written; the row ends with its lease.
    pub(crate) fn forget(&mut self, key: &Fingerprint) {
        let count = self.held.get(key).copied().unwrap_or(0).saturating_sub(1);
        self.set(key, count);
        self.committed();
    }

    /// Prolongs all claims held, and sweeps out those whose lease has ended.
    pub(crate) fn renew(&self, connection: &mut Connection, now: u64) -> rusqlite::Result<()> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for key in self.held.keys() {
            let values = params![key.as_bytes(), self.owner, self.end_of_lease(now)];
            transaction.prepare_cached(RENEW)?.execute(values)?;
        }
        transaction.prepare_cached(SWEEP)?.execute([millis(now)])?;
        transaction.commit()
    }

    /// Gives everything back.
    pub(crate) fn release_all(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if !self.held.is_empty() {
            connection.prepare_cached(RELEASE_ALL)?.execute([&self.owner])?;
            self.held.clear();
        }
        Ok(())
    }

    fn end_of_lease(&self, now: u64) -> i64 {
        millis(now).saturating_add(i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX))
    }
}

/// True if somebody's claim on `key` still runs at `now` (unix milliseconds).
pub(crate) fn is_claimed(connection: &Connection, key: &Fingerprint, now: u64) -> rusqlite::Result<bool> {
    let claim: Option<(String, i64)> = connection
        .prepare_cached(SELECT_CLAIM)?
        .query_row([key.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(claim.is_some_and(|(owner, end)| end > millis(now) && !owner::is_dead(&owner)))
}

fn millis(now: u64) -> i64 {
    i64::try_from(now).unwrap_or(i64::MAX)
}

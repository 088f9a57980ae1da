//! The writer thread and the leases: commits what is waiting in one transaction, then answers.
//!
//! A lease is a row with an owner and an end. It keeps two processes, or two judges of one run, from asking the same
//! call at once. The lease of a process of this host that has ended is void; any other one expires. The
//! clock is the machine's: if it jumps, or a process sleeps through its lease, a call may be paid for twice.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OptionalExtension, TransactionBehavior, params};
use tokio::sync::oneshot;

use super::entry::{self, Entry, StoredEntry, now_ms};
use super::file::explain;
use crate::domain::{Fingerprint, JudgeReply};
use crate::error::Result;

/// At most this many jobs share one transaction: enough to make its fixed cost small, few enough to commit soon.
const GROUP: usize = 64;
/// How long the first job of a group waits for others: a commit costs more than all else that is done for a reply.
const GATHER: Duration = Duration::from_millis(1);

const LEASE: &str = "INSERT INTO leases (key, owner, expires_at) VALUES (?1, ?2, ?3) \
    ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at \
    WHERE leases.expires_at <= ?4 OR leases.owner = ?5";
const OWNER: &str = "SELECT owner FROM leases WHERE key = ?1";
const RELEASE: &str = "DELETE FROM leases WHERE key = ?1 AND owner = ?2";
const RELEASE_ALL: &str = "DELETE FROM leases WHERE owner = ?1";
const RENEW: &str = "UPDATE leases SET expires_at = ?2 WHERE owner = ?1";

/// The right to ask one call. Dropping it gives the lease back.
#[derive(Debug)]
pub struct Lease {
    key: Fingerprint,
    jobs: Sender<Job>,
    is_held: bool,
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.is_held {
            // A writer that has ended has released everything it held.
            let _ = self.jobs.send(Job::Release { key: self.key });
        }
    }
}

/// The outcome of a request for a lease.
#[derive(Debug)]
pub enum Leased {
    /// Ask the call; pass the lease to [`Cache::put`](super::Cache::put) or drop it.
    Granted(Lease),
    /// The reply is in the cache.
    Cached(JudgeReply),
}

/// A job of the writer thread.
#[derive(Debug)]
pub(super) enum Job {
    /// Stores a reply, and gives the lease on its key back in the same transaction.
    Put { entry: Box<Entry>, lease: Option<Lease>, done: oneshot::Sender<Result<()>> },
    /// Asks for a lease; the answer is `None` where another holds it.
    Lease { key: Fingerprint, done: oneshot::Sender<Result<Option<Leased>>> },
    /// Gives a lease back without a reply.
    Release { key: Fingerprint },
    /// Ends the thread.
    Stop,
}

/// What a job read before its commit; jobs that only write read nothing.
enum Found {
    Nothing,
    Reply(StoredEntry),
    FreeLease,
}

pub(super) struct Writer {
    pub(super) path: PathBuf,
    pub(super) connection: Connection,
    pub(super) jobs: Receiver<Job>,
    /// For the leases it grants.
    pub(super) sender: Sender<Job>,
    /// See [`owner_name`].
    pub(super) owner: String,
    /// Duration of a lease.
    pub(super) lease: Duration,
}

impl Writer {
    /// Works until [`Job::Stop`].
    pub(super) fn run(mut self) {
        let renew_every = self.lease / 3;
        let mut renewed = Instant::now();
        let mut is_open = true;
        while is_open {
            if let Ok(first) = self.jobs.recv_timeout(renew_every) {
                std::thread::sleep(GATHER);
                let mut group: Vec<Job> = std::iter::once(first).chain(self.jobs.try_iter()).take(GROUP).collect();
                if let Some(stop) = group.iter().position(|job| matches!(job, Job::Stop)) {
                    is_open = false;
                    group.truncate(stop);
                }
                self.commit(group);
            }
            if renewed.elapsed() >= renew_every {
                renewed = Instant::now();
                let renewal = self.connection.execute(RENEW, params![self.owner, self.end_of_lease()]);
                if let Err(error) = renewal {
                    tracing::debug!(%error, "could not renew the leases on the cache");
                }
            }
        }
        // What cannot be released now is free when this process has ended.
        let _ = self.connection.execute(RELEASE_ALL, [&self.owner]);
    }

    /// Commits a group and answers its jobs. If one job spoils the group, each is tried alone.
    fn commit(&mut self, group: Vec<Job>) {
        match self.try_commit(&group) {
            Ok(found) => group.into_iter().zip(found).for_each(|(job, found)| self.answer(job, found)),
            Err(error) if group.len() > 1 && error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
                group.into_iter().for_each(|job| self.commit(vec![job]));
            }
            Err(error) => group.into_iter().for_each(|job| self.refuse(job, &error)),
        }
    }

    fn try_commit(&mut self, group: &[Job]) -> rusqlite::Result<Vec<Found>> {
        let end_of_lease = self.end_of_lease();
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let write = |job: &Job| {
            match job {
                Job::Put { entry, lease, .. } => {
                    entry.insert(&transaction)?;
                    lease.iter().try_for_each(|lease| release(&transaction, &lease.key, &self.owner))?;
                }
                Job::Lease { key, .. } => return grant(&transaction, key, &self.owner, end_of_lease),
                Job::Release { key } => release(&transaction, key, &self.owner)?,
                Job::Stop => {}
            }
            Ok(Found::Nothing)
        };
        let found = group.iter().map(write).collect::<rusqlite::Result<_>>()?;
        transaction.commit()?;
        Ok(found)
    }

    /// Answers a job that is committed. The caller may have gone away: a lease that is not taken releases itself.
    fn answer(&self, job: Job, found: Found) {
        match job {
            Job::Put { lease, done, .. } => {
                lease.into_iter().for_each(|mut lease| lease.is_held = false);
                let _ = done.send(Ok(()));
            }
            Job::Lease { key, done } => {
                let lease = || Lease { key, jobs: self.sender.clone(), is_held: true };
                let _ = done.send(match found {
                    Found::FreeLease => Ok(Some(Leased::Granted(lease()))),
                    Found::Reply(StoredEntry::Whole(entry)) => Ok(Some(Leased::Cached(entry.reply))),
                    Found::Reply(StoredEntry::Damaged) => Err(super::file::damaged(&self.path, &key)),
                    Found::Nothing => Ok(None),
                });
            }
            Job::Release { .. } | Job::Stop => {}
        }
    }

    /// Answers a job that could not be committed. The lease of a reply that was not stored is dropped, and so given back.
    fn refuse(&self, job: Job, error: &rusqlite::Error) {
        match job {
            Job::Put { done, .. } => drop(done.send(Err(explain(&self.path, "store a reply", error)))),
            Job::Lease { done, .. } => drop(done.send(Err(explain(&self.path, "lease a call", error)))),
            Job::Release { .. } | Job::Stop => tracing::debug!(%error, "could not give a lease back"),
        }
    }

    fn end_of_lease(&self) -> i64 {
        to_sql(now_ms()).saturating_add(i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Finds the reply, else takes the lease unless another holds it.
fn grant(connection: &Connection, key: &Fingerprint, owner: &str, end: i64) -> rusqlite::Result<Found> {
    if let Some(found) = entry::find(connection, key)? {
        return Ok(Found::Reply(found));
    }
    let mut select = connection.prepare_cached(OWNER)?;
    let other: Option<String> = select.query_row([key.as_bytes()], |row| row.get(0)).optional()?;
    let ended = other.filter(|other| has_ended(other));
    let values = params![key.as_bytes(), owner, end, to_sql(now_ms()), ended];
    let is_granted = connection.prepare_cached(LEASE)?.execute(values)? > 0;
    Ok(if is_granted { Found::FreeLease } else { Found::Nothing })
}

fn release(connection: &Connection, key: &Fingerprint, owner: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(RELEASE)?.execute(params![key.as_bytes(), owner]).map(drop)
}

fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A name for this handle on the cache: `process|host|random`.
pub(super) fn owner_name() -> String {
    // The standard library's hasher keys are the random numbers at hand: two handles of one process differ.
    let random = RandomState::new().build_hasher().finish();
    format!("{}|{}|{random:016x}", std::process::id(), host())
}

/// True if the owner is a process of this host that has ended.
fn has_ended(owner: &str) -> bool {
    let mut parts = owner.split('|');
    let (Some(process), Some(place)) = (parts.next(), parts.next()) else { return false };
    place == host() && process.parse().is_ok_and(is_gone)
}

/// Where process ids have a meaning: the host's name and, on Linux, the namespace (a container may share the name).
#[cfg(unix)]
fn host() -> String {
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{}/{}", rustix::system::uname().nodename().to_string_lossy(), namespace.display())
}

#[cfg(unix)]
fn is_gone(process: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(process);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn host() -> String {
    String::new()
}

#[cfg(not(unix))]
fn is_gone(_process: i32) -> bool {
    false
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_this_host_can_be_known_to_have_ended() {
        assert!(!has_ended(&owner_name()));
        // beyond the largest process id of Linux, 2^22
        assert!(has_ended(&format!("99999999|{}|00", host())));
        assert!(!has_ended("99999999|another host|00"));
        assert!(!has_ended("unreadable"));
    }
}

//! The one thread that writes: takes what is waiting, commits it together, then tells everybody.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use tokio::sync::oneshot;

use super::claims::{Claim, ClaimGuard, Found, Ledger};
use super::file::{explain, fault};
use super::record::{Entry, now_ms};
use crate::domain::Fingerprint;
use crate::error::Result;

/// At most this many jobs share one transaction: enough to make its fixed cost small, few enough to commit soon.
const GROUP: usize = 64;
/// How long a reply or a claim that begins a group waits for others, when many come: a commit, and waking threads for it,
/// cost more than all of the rest that is done for a reply.
const GATHER: Duration = Duration::from_millis(1);
/// Many come if the group before had so many; where few come, nobody waits.
const MANY: usize = 4;

/// Something to write.
pub(crate) enum Job {
    /// A reply to store.
    Put {
        entry: Box<Entry>,
        /// True if a claim on its key is given back with it.
        claimed: bool,
        done: oneshot::Sender<Result<()>>,
    },
    /// A key to claim.
    Claim { key: Fingerprint, done: oneshot::Sender<Result<Claim>> },
    /// A claim given back without a reply.
    Release { key: Fingerprint },
    /// The cache is being closed.
    Stop,
}

/// What became of a job inside its transaction.
enum Applied {
    Stored,
    Claimed(Found),
    Nothing,
}

pub(crate) struct Writer {
    path: PathBuf,
    connection: Connection,
    jobs: Receiver<Job>,
    /// For the guards it gives out.
    sender: Sender<Job>,
    ledger: Ledger,
    renew_every: Duration,
    renewed: Instant,
}

impl Writer {
    pub(crate) fn new(
        path: PathBuf,
        connection: Connection,
        (sender, jobs): (Sender<Job>, Receiver<Job>),
        lease: Duration,
    ) -> Self {
        let ledger = Ledger::new(lease);
        Self { path, connection, jobs, sender, ledger, renew_every: lease / 3, renewed: Instant::now() }
    }

    /// Works until [`Job::Stop`].
    pub(crate) fn run(mut self) {
        let mut open = true;
        let mut gathers = false;
        while open {
            let first = match self.jobs.recv_timeout(self.renew_every) {
                Ok(job) => Some(job),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Job::Stop),
            };
            let mut group = Vec::new();
            let mut next = first;
            while let Some(job) = next {
                if matches!(job, Job::Stop) {
                    open = false;
                    break;
                }
                // Whoever gives a claim back must be seen to have.
                if gathers && group.is_empty() && matches!(job, Job::Put { .. } | Job::Claim { .. }) {
                    std::thread::sleep(GATHER);
                }
                group.push(job);
                next = if group.len() < GROUP { self.jobs.try_recv().ok() } else { None };
            }
            if !group.is_empty() {
                gathers = group.len() >= MANY;
                self.commit(group);
            }
            self.renew_if_due();
        }
        // What cannot be released now is free when its lease ends.
        let _ = self.ledger.release_all(&self.connection);
    }

    /// Commits a group and answers its jobs. If one job spoils the group, each is tried alone.
    fn commit(&mut self, group: Vec<Job>) {
        let result = self.try_commit(&group);
        match result {
            Ok(applied) => {
                for (job, applied) in group.into_iter().zip(applied) {
                    self.answer(job, applied);
                }
            }
            Err(error) if group.len() > 1 && error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
                for job in group {
                    self.commit(vec![job]);
                }
            }
            Err(error) => {
                for job in group {
                    self.refuse(job, &error);
                }
            }
        }
    }

    fn try_commit(&mut self, group: &[Job]) -> rusqlite::Result<Vec<Applied>> {
        let Self { connection, ledger, .. } = self;
        let result = (|| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let now = now_ms();
            let applied = group
                .iter()
                .map(|job| apply(&transaction, ledger, job, now))
                .collect::<rusqlite::Result<Vec<Applied>>>()?;
            transaction.commit()?;
            Ok(applied)
        })();
        match &result {
            Ok(_) => self.ledger.committed(),
            Err(_) => self.ledger.rolled_back(),
        }
        result
    }

    fn answer(&self, job: Job, applied: Applied) {
        // Who asked may have gone away; then nobody needs to know (a guard that is not taken releases itself).
        match (job, applied) {
            (Job::Put { done, .. }, _) => drop(done.send(Ok(()))),
            (Job::Claim { key, done }, Applied::Claimed(found)) => {
                let claim = match found {
                    Found::Free => Ok(Claim::Mine(ClaimGuard::new(key, self.sender.clone()))),
                    Found::Taken => Ok(Claim::Theirs),
                    Found::Reply(reply) => Ok(Claim::Cached(*reply)),
                    Found::DamagedReply => Err(super::store::damaged(&self.path, &key)),
                };
                drop(done.send(claim));
            }
            (Job::Claim { done, .. }, Applied::Stored | Applied::Nothing) => {
                drop(done.send(Err(fault(&self.path, "the writer lost a claim; run the same command again"))));
            }
            (Job::Release { .. } | Job::Stop, _) => {}
        }
    }

    fn refuse(&mut self, job: Job, error: &rusqlite::Error) {
        match job {
            Job::Put { entry, claimed, done, .. } => {
                if claimed {
                    // Its guard is spent: the claim must not stay in the ledger and be renewed for ever.
                    self.ledger.forget(&entry.key);
                }
                drop(done.send(Err(explain(&self.path, "store a reply", error))));
            }
            Job::Claim { done, .. } => drop(done.send(Err(explain(&self.path, "claim a call", error)))),
            Job::Release { key } => {
                // The row stays until its lease ends; no longer renewed, because the ledger forgets it.
                tracing::debug!(key = %key.short(12), %error, "could not release a claim");
                self.ledger.forget(&key);
            }
            Job::Stop => {}
        }
    }

    fn renew_if_due(&mut self) {
        if self.renewed.elapsed() < self.renew_every {
            return;
        }
        self.renewed = Instant::now();
        if self.ledger.is_empty() {
            return;
        }
        if let Err(error) = self.ledger.renew(&mut self.connection, now_ms()) {
            // The worst that can come of it is a call that two processes pay.
            tracing::debug!(%error, "could not renew the claims on the cache");
        }
    }
}

fn apply(connection: &Connection, ledger: &mut Ledger, job: &Job, now: u64) -> rusqlite::Result<Applied> {
    match job {
        Job::Put { entry, claimed, .. } => {
            entry.insert(connection)?;
            if *claimed {
                ledger.release(connection, &entry.key, true)?;
            }
            Ok(Applied::Stored)
        }
        Job::Claim { key, .. } => ledger.claim(connection, key, now).map(Applied::Claimed),
        Job::Release { key } => ledger.release(connection, key, false).map(|()| Applied::Nothing),
        Job::Stop => Ok(Applied::Nothing),
    }
}

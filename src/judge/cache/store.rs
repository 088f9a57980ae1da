//! The open cache: replies, leases, and what servers report.
//!
//! A lease is a row with an owner and an end. It keeps two processes, or two calls of one run, from asking the same call
//! at once. The lease of a process of this host that has ended is void; any other one expires. The clock is the machine's:
//! if it jumps, or a process sleeps through its lease, a call may be paid for twice.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::entry::{self, Damaged, Entry, now_ms};
use super::file::{self, damaged, failed, fault};
use super::owner::{has_ended, owner_name};
use crate::domain::{Fingerprint, JudgeReply};
use crate::error::Result;
use crate::judge::locked;

/// First and longest pause between two attempts to lease a call that somebody else asks.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// Duration of a lease; it is renewed three times as often. Others wait that long only if a killed process was on another
/// host or its id is in use again.
const LEASE: Duration = Duration::from_secs(60);

const TAKE_LEASE: &str = "INSERT INTO leases (key, owner, expires_at) VALUES (?1, ?2, ?3) \
    ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at \
    WHERE leases.expires_at <= ?4 OR leases.owner = ?5";
const OWNER: &str = "SELECT owner FROM leases WHERE key = ?1";
const RELEASE: &str = "DELETE FROM leases WHERE key = ?1 AND owner = ?2";
const RELEASE_ALL: &str = "DELETE FROM leases WHERE owner = ?1";
const RENEW: &str = "UPDATE leases SET expires_at = ?2 WHERE owner = ?1";
/// Two servers that are asked within one tick of the clock still have an order.
const REMEMBER: &str = "INSERT OR REPLACE INTO servers VALUES \
    (?1, ?2, max(unixepoch('subsec'), (SELECT coalesce(max(seen_at), 0) + 0.001 FROM servers)))";
pub(super) const SELECT_SERVERS: &str =
    "SELECT name, identity, seen_at FROM servers ORDER BY seen_at DESC";

/// An open reply cache. Clones share it; the last one to go closes the file.
#[derive(Debug, Clone)]
pub struct Cache {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    path: PathBuf,
    /// The owner of the leases of this handle.
    owner: String,
    /// Duration of a lease.
    lease: Duration,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
    /// Ends the thread that renews leases when it is dropped.
    _renewal: Sender<()>,
}

/// The right to ask one call. Dropping it gives the lease back.
#[derive(Debug)]
pub struct Lease {
    key: Fingerprint,
    cache: Weak<Inner>,
}

/// The outcome of a request for a lease.
#[derive(Debug)]
pub enum Leased {
    /// Ask the call; pass the lease to [`Cache::put`] or drop it.
    Granted(Lease),
    /// The reply is in the cache.
    Cached(JudgeReply),
}

impl Cache {
    /// Opens the cache at `path`, or creates it with its parent directories.
    ///
    /// # Errors
    /// [`Error::Cache`](crate::Error::Cache) for a damaged file, a file of something else, another schema or a network
    /// file system; the file is then as it was. [`Error::Io`](crate::Error::Io) where directories cannot be created.
    pub fn open(path: &Path) -> Result<Self> {
        Self::start(path, file::open_or_create(path)?, LEASE)
    }

    /// A cache on an open file, with the thread that renews its leases.
    pub(super) fn start(path: &Path, connection: Connection, lease: Duration) -> Result<Self> {
        let (sender, stop) = channel();
        let (path, owner) = (path.to_path_buf(), owner_name());
        let (writer, readers) = (Mutex::new(connection), Mutex::default());
        let inner = Arc::new(Inner {
            path,
            owner,
            lease,
            writer,
            readers,
            _renewal: sender,
        });
        let weak = Arc::downgrade(&inner);
        let renew = move || {
            while stop.recv_timeout(lease / 3) == Err(RecvTimeoutError::Timeout) {
                let Some(inner) = weak.upgrade() else { return };
                let renewal = inner.write("renew its leases", |connection| {
                    connection.execute(RENEW, params![inner.owner, inner.end_of_lease()])
                });
                if let Err(error) = renewal {
                    tracing::debug!(%error, "could not renew the leases on the cache");
                }
            }
        };
        std::thread::Builder::new()
            .name("cache-leases".to_owned())
            .spawn(renew)
            .map_err(|error| {
                fault(
                    &inner.path,
                    format!(
                        "cannot start the thread that renews its leases: {error}; run fewer at once"
                    ),
                )
            })?;
        Ok(Self { inner })
    }

    /// The file, as it was named.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The reply of that key, with `cached: true`; `None` if there is none.
    ///
    /// This and all else here runs on the calling thread, async or not: a hit costs around 10 microseconds, a write around
    /// 50 unless another process writes for long; handing them to a blocking thread and back would cost more.
    ///
    /// # Errors
    /// [`Error::Cache`](crate::Error::Cache) for a damaged entry or file.
    pub fn get(&self, key: &Fingerprint) -> Result<Option<JudgeReply>> {
        let found = self.read("read a reply", |connection| entry::find(connection, key))?;
        found.map(|entry| self.whole(entry, key)).transpose()
    }

    /// Stores a reply unless its key already has one, and gives its lease back in the same transaction. When this returns,
    /// the reply is committed.
    ///
    /// # Errors
    /// [`Error::Cache`](crate::Error::Cache) where the disk is full or fails; what was committed before stays whole.
    pub fn put(&self, entry: &Entry, lease: Option<Lease>) -> Result<()> {
        self.inner.write("store a reply", |connection| {
            entry.insert(connection)?;
            lease
                .iter()
                .try_for_each(|lease| release(connection, &lease.key, &self.inner.owner))
        })?;
        // It is given back.
        lease
            .into_iter()
            .for_each(|mut lease| lease.cache = Weak::new());
        Ok(())
    }

    /// The reply, or the right to ask for it; `None` while another call, here or in another process, asks.
    ///
    /// # Errors
    /// [`Error::Cache`](crate::Error::Cache) where the lease cannot be written, or the entry is damaged.
    pub fn try_lease(&self, key: &Fingerprint) -> Result<Option<Leased>> {
        let Inner { owner, .. } = &*self.inner;
        let (found, is_granted) = self.inner.write("lease a call", |connection| {
            if let Some(found) = entry::find(connection, key)? {
                return Ok((Some(found), false));
            }
            let mut select = connection.prepare_cached(OWNER)?;
            let other: Option<String> = select
                .query_row([key.as_bytes()], |row| row.get(0))
                .optional()?;
            let ended = other.filter(|other| has_ended(other));
            let values = params![
                key.as_bytes(),
                owner,
                self.inner.end_of_lease(),
                to_sql(now_ms()),
                ended
            ];
            Ok((
                None,
                connection.prepare_cached(TAKE_LEASE)?.execute(values)? > 0,
            ))
        })?;
        Ok(match found {
            Some(entry) => Some(Leased::Cached(self.whole(entry, key)?)),
            None => is_granted.then(|| {
                Leased::Granted(Lease {
                    key: *key,
                    cache: Arc::downgrade(&self.inner),
                })
            }),
        })
    }

    /// As [`Cache::try_lease`], but waits while another asks: until the reply is there, or the lease is given back or
    /// ends. Needs a tokio runtime with time.
    ///
    /// # Errors
    /// As [`Cache::try_lease`].
    pub async fn lease(&self, key: &Fingerprint) -> Result<Leased> {
        let mut pause = PAUSE.0;
        loop {
            if let Some(leased) = self.try_lease(key)? {
                return Ok(leased);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(PAUSE.1);
        }
    }

    /// Stores what the server of that name reports of itself. A run from cache with the server down needs the identity
    /// that its keys carry.
    ///
    /// # Errors
    /// [`Error::Cache`](crate::Error::Cache) where the file cannot be written.
    pub fn remember_server(&self, name: &str, identity: &str) -> Result<()> {
        let remember =
            |connection: &Connection| connection.execute(REMEMBER, [name, identity]).map(drop);
        self.inner.write("store a server's identity", remember)
    }

    /// All servers and what they last reported, the one that was asked last first.
    ///
    /// # Errors
    /// [`Error::Cache`](crate::Error::Cache) where the file cannot be read.
    pub fn servers(&self) -> Result<Vec<(String, String)>> {
        self.read("read the servers' identities", |connection| {
            let mut select = connection.prepare(SELECT_SERVERS)?;
            select
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })
    }

    fn whole(&self, entry: Result<Entry, Damaged>, key: &Fingerprint) -> Result<JudgeReply> {
        entry
            .map(|entry| entry.reply)
            .map_err(|Damaged| damaged(self.path(), key))
    }

    /// Runs `work` with a connection of the pool. A connection that failed is not used again.
    pub(super) fn read<T>(
        &self,
        doing: &str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let pooled = locked(&self.inner.readers).pop();
        let connection = pooled.map_or_else(|| file::open_reader(self.path()), Ok)?;
        let result = work(&connection).map_err(failed(self.path(), doing))?;
        locked(&self.inner.readers).push(connection);
        Ok(result)
    }
}

impl Inner {
    /// Runs `work` in one transaction: all of it, or nothing.
    pub(super) fn write<T>(
        &self,
        doing: &str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut connection = locked(&self.writer);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let committed = transaction.and_then(|transaction| {
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        });
        committed.map_err(failed(&self.path, doing))
    }

    fn end_of_lease(&self) -> i64 {
        to_sql(now_ms()).saturating_add(i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX))
    }
}

impl Drop for Inner {
    /// Gives leases back. What cannot be released now is free when this process has ended.
    fn drop(&mut self) {
        let _ = self.write("give its leases back", |connection| {
            connection.execute(RELEASE_ALL, [&self.owner])
        });
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(inner) = self.cache.upgrade() else {
            return;
        };
        let released = inner.write("give a lease back", |connection| {
            release(connection, &self.key, &inner.owner)
        });
        if let Err(error) = released {
            tracing::debug!(%error, "could not give a lease back");
        }
    }
}

fn release(connection: &Connection, key: &Fingerprint, owner: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached(RELEASE)?
        .execute(params![key.as_bytes(), owner])
        .map(drop)
}

fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

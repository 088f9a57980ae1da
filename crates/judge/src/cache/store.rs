//! The open cache: replies, leases, and what servers report.
//!
//! A lease is a row with an owner and an end. It keeps two processes, or two calls of one run, from asking the same call
//! at once. The lease of a process of this host that has ended is void; any other one expires. A process that is suspended
//! for longer than its lease loses it, and its call may be paid for twice.
//!
//! Replies are committed to SQLite's log and move into the file now and then. A cache that is closed moves all of them, so
//! that a copy of the file alone is whole; short runs leave them in the log (`Cache::leave_log`).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use super::entry::{self, Entry, Found, Models};
use super::file::{self, damaged, failed, fault};
use super::lease_clock::now_ms;
use super::owner::{has_ended, owner_name, process_of};
use super::void_leases::release_void;
use crate::locked;
use scholareval_core::domain::{Fingerprint, JudgeReply};
use scholareval_core::error::Result;
use scholareval_core::text::names::without_directories;

/// First pause between two attempts to lease a call that somebody else asks: many replies are there in no time.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// The longest: each attempt is a write, and a thousand waiting calls must not keep the others from writing.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Duration of a lease; it is renewed three times as often. Others wait that long only if a killed process was on another
/// host or its id is in use again.
const LEASE: Duration = Duration::from_secs(60);

/// Pages of 4 KB in a log that is left. The next process reads all of it before its first call, which SQLite's default of 1,000
/// pages make several milliseconds.
const LONGEST_LOG: u32 = 300;

/// No lease ends later than one that begins now: a row that does is left from before the machine's last start.
const TAKE_LEASE: &str = "INSERT INTO leases (key, owner, expires_at) VALUES (?1, ?2, ?3) \
    ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at \
    WHERE leases.expires_at <= ?4 OR leases.expires_at > ?6 OR leases.owner = ?5";
const OWNER: &str = "SELECT owner FROM leases WHERE key = ?1";
const RELEASE: &str = "DELETE FROM leases WHERE key = ?1 AND owner = ?2";
const RENEW: &str = "UPDATE leases SET expires_at = ?2 WHERE owner = ?1";
/// Two servers that are asked within one tick of the clock still have an order.
const REMEMBER: &str = "INSERT OR REPLACE INTO servers VALUES \
    (?1, ?2, max(unixepoch('subsec'), (SELECT coalesce(max(seen_at), 0) + 0.001 FROM servers)))";
const SELECT_SERVER: &str = "SELECT identity FROM servers WHERE name = ?1";
pub(super) const SELECT_SERVERS: &str =
    "SELECT name, identity, seen_at FROM servers ORDER BY seen_at DESC";

/// An open reply cache. Clones share it; the last one to go closes the file.
#[derive(Debug, Clone)]
pub struct Cache {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    writer: Arc<Writer>,
    /// Connections that are not in use; for reading only.
    readers: Mutex<Vec<Connection>>,
    renewal: Option<Renewal>,
}

/// The one connection that writes.
#[derive(Debug)]
struct Writer {
    path: PathBuf,
    /// The owner of the leases of this handle.
    owner: String,
    /// Duration of a lease.
    lease: Duration,
    connection: Mutex<Connection>,
    /// See [`Cache::leave_log`].
    leaves_log: AtomicBool,
}

/// The thread that renews leases. It ends when the sender is dropped.
#[derive(Debug)]
struct Renewal {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

/// The right to ask one call. Dropping it gives the lease back.
#[derive(Debug)]
pub struct Lease {
    key: Fingerprint,
    writer: Weak<Writer>,
}

/// What the cache has under a key.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "the large one is the usual one, and is moved once"
)]
pub enum Stored {
    /// A reply that counts.
    Reply(JudgeReply),
    /// Replies, none of which is by one of the models that count.
    OfOtherModels,
    /// Nothing.
    Nothing,
}

impl Stored {
    /// The reply that counts, if there is one.
    pub fn reply(self) -> Option<JudgeReply> {
        match self {
            Self::Reply(reply) => Some(reply),
            Self::OfOtherModels | Self::Nothing => None,
        }
    }
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
    /// [`Error::Cache`](scholareval_core::Error::Cache) for a damaged file, a file of something else, another schema or a network
    /// file system; the file is then as it was. [`Error::Io`](scholareval_core::Error::Io) where directories cannot be created.
    pub fn open(path: &Path) -> Result<Self> {
        Self::start(path, file::open_or_create(path)?, LEASE)
    }

    /// A cache on an open file, with the thread that renews its leases.
    pub(super) fn start(path: &Path, connection: Connection, lease: Duration) -> Result<Self> {
        let writer = Arc::new(Writer {
            path: path.to_path_buf(),
            owner: owner_name(),
            lease,
            connection: Mutex::new(connection),
            leaves_log: AtomicBool::new(false),
        });
        let renewal = Renewal::start(&writer).map_err(|error| {
            let what = format!(
                "cannot start the thread that renews its leases: {error}; run fewer at once"
            );
            fault(path, what)
        })?;
        let inner = Inner {
            writer,
            readers: Mutex::default(),
            renewal: Some(renewal),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Leaves the replies in the log when the cache is closed. Moving them into the file syncs both, which takes longer than
    /// a short run; SQLite moves them all the same when the log has [`LONGEST_LOG`] pages.
    ///
    /// # Errors
    /// [`Error::Cache`](scholareval_core::Error::Cache) when SQLite refuses.
    pub(crate) fn leave_log(&self) -> Result<()> {
        let writer = &self.inner.writer;
        writer.leaves_log.store(true, Ordering::Relaxed);
        let connection = locked(&writer.connection);
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
            .and_then(|_| connection.pragma_update(None, "wal_autocheckpoint", LONGEST_LOG))
            .map_err(failed(&writer.path, "keep its log"))
    }

    /// The file, as it was named.
    pub fn path(&self) -> &Path {
        &self.inner.writer.path
    }

    /// The reply of that key, with `cached: true`; `None` if there is none.
    ///
    /// This and all else here runs on the calling thread, async or not: a hit costs around 10 microseconds, a write around
    /// 50 unless another process writes for long; handing them to a blocking thread and back would cost more.
    ///
    /// # Errors
    /// [`Error::Cache`](scholareval_core::Error::Cache) for a damaged entry or file.
    pub fn get(&self, key: &Fingerprint) -> Result<Option<JudgeReply>> {
        Ok(self.get_by(key, &Models::Any)?.reply())
    }

    /// As [`Cache::get`], only replies of these models.
    ///
    /// # Errors
    /// As [`Cache::get`].
    pub fn get_by(&self, key: &Fingerprint, models: &Models) -> Result<Stored> {
        let stored = self.read("read a reply", |connection| {
            entry::find(connection, key, models)
        })?;
        match stored {
            Found::Nothing => Ok(Stored::Nothing),
            Found::OfOtherModels => Ok(Stored::OfOtherModels),
            Found::Entry(entry) => Ok(Stored::Reply(entry.reply)),
            Found::Damaged => Err(damaged(self.path(), key)),
        }
    }

    /// Stores a reply unless its key already has one of its model, and gives its lease back in the same transaction. When
    /// this returns, the reply is committed.
    ///
    /// # Errors
    /// [`Error::Cache`](scholareval_core::Error::Cache) where the disk is full or fails; what was committed before stays whole.
    pub fn put(&self, entry: &Entry, lease: Option<Lease>) -> Result<()> {
        self.store(lease, |connection| entry.insert(connection).map(drop))
    }

    /// As [`Cache::put`] for a reply that the judge has just given: its model is the one that answers for the judge now.
    ///
    /// # Errors
    /// As [`Cache::put`].
    pub fn put_live(&self, entry: &Entry, lease: Lease) -> Result<()> {
        self.store(Some(lease), |connection| {
            entry.insert(connection)?;
            remember_model(connection, entry)
        })
    }

    /// Runs `work` and gives the lease back, in one transaction.
    fn store(
        &self,
        lease: Option<Lease>,
        work: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let owner = &self.inner.writer.owner;
        self.write("store a reply", |connection| {
            work(connection)?;
            if let Some(lease) = &lease {
                release(connection, &lease.key, owner)?;
            }
            Ok(())
        })?;
        // It is given back: dropping it needs no second write.
        if let Some(mut lease) = lease {
            lease.writer = Weak::new();
        }
        Ok(())
    }

    /// The model that gave the most recent live reply of the judge with this identity, if one is known.
    ///
    /// # Errors
    /// [`Error::Cache`](scholareval_core::Error::Cache) where the file cannot be read.
    pub fn answering_model(&self, judge: &str) -> Result<Option<String>> {
        let name = name_of_model(judge);
        let stored: Option<String> = self.read("read who answered", |connection| {
            connection
                .prepare_cached(SELECT_SERVER)?
                .query_row([&name], |row| row.get(0))
                .optional()
        })?;
        let stored: Option<AnsweredBy> = stored.and_then(|json| serde_json::from_str(&json).ok());
        // An earlier version may have stored a path.
        Ok(stored.map(|stored| without_directories(&stored.answered_by).to_owned()))
    }

    /// The reply, or the right to ask for it; `None` while another call, here or in another process, asks.
    ///
    /// # Errors
    /// [`Error::Cache`](scholareval_core::Error::Cache) where the lease cannot be written, or the entry is damaged.
    pub fn try_lease(&self, key: &Fingerprint) -> Result<Option<Leased>> {
        self.try_lease_by(key, &Models::Any)
    }

    /// As [`Cache::try_lease`]; only a reply of these models is one.
    ///
    /// # Errors
    /// As [`Cache::try_lease`].
    pub fn try_lease_by(&self, key: &Fingerprint, models: &Models) -> Result<Option<Leased>> {
        let writer = &self.inner.writer;
        // One transaction: the reply may arrive between a look and a lease, and would be paid for again.
        let (stored, is_granted) = self.write("lease a call", |connection| {
            let stored = entry::find(connection, key, models)?;
            let is_missing = matches!(stored, Found::Nothing | Found::OfOtherModels);
            let is_granted = is_missing && writer.take_lease(connection, key)?;
            Ok((stored, is_granted))
        })?;
        match stored {
            Found::Entry(entry) => Ok(Some(Leased::Cached(entry.reply))),
            Found::Damaged => Err(damaged(self.path(), key)),
            Found::Nothing | Found::OfOtherModels => Ok(is_granted.then(|| {
                Leased::Granted(Lease {
                    key: *key,
                    writer: Arc::downgrade(writer),
                })
            })),
        }
    }

    /// As [`Cache::try_lease`], but waits while another asks: until the reply is there, or the lease is given back or
    /// ends. Needs a tokio runtime with time.
    ///
    /// # Errors
    /// As [`Cache::try_lease`].
    pub async fn lease(&self, key: &Fingerprint) -> Result<Leased> {
        self.lease_by(key, || Models::Any).await
    }

    /// As [`Cache::lease`]; only a reply of these models is one, which may become others during the wait.
    ///
    /// # Errors
    /// As [`Cache::try_lease`].
    pub async fn lease_by(&self, key: &Fingerprint, models: impl Fn() -> Models) -> Result<Leased> {
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(leased) = self.try_lease_by(key, &models())? {
                return Ok(leased);
            }
            // Waiting by asking again, as SQLite has no message from one process to another.
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        }
    }

    /// The process that asks this call, if that is another one; for people who wonder why theirs waits.
    ///
    /// # Errors
    /// [`Error::Cache`](scholareval_core::Error::Cache) where the file cannot be read.
    pub fn asked_by_other(&self, key: &Fingerprint) -> Result<Option<String>> {
        let owner = self.read("read a lease", |connection| owner_of(connection, key))?;
        Ok(owner.and_then(|owner| process_of(&owner)))
    }

    /// Stores what the server of that name reports of itself. A run from cache with the server down needs the identity
    /// that its keys carry.
    ///
    /// # Errors
    /// [`Error::Cache`](scholareval_core::Error::Cache) where the file cannot be written.
    pub fn remember_server(&self, name: &str, identity: &str) -> Result<()> {
        self.write("store a server's identity", |connection| {
            connection.execute(REMEMBER, [name, identity]).map(drop)
        })
    }

    /// All servers and what they last reported, the one that was asked last first.
    ///
    /// # Errors
    /// [`Error::Cache`](scholareval_core::Error::Cache) where the file cannot be read.
    pub fn servers(&self) -> Result<Vec<(String, String)>> {
        self.read("read the servers' identities", |connection| {
            let mut select = connection.prepare(SELECT_SERVERS)?;
            select
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect()
        })
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

    /// As [`Writer::write`].
    pub(super) fn write<T>(
        &self,
        doing: &str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.inner.writer.write(doing, work)
    }
}

impl Writer {
    /// Runs `work` in one transaction: all of it, or nothing.
    fn write<T>(
        &self,
        doing: &str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let mut connection = locked(&self.connection);
        // Immediate: a transaction that begins with a read and then writes can fail at once,
        // without waiting, if another process has written meanwhile.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let committed = transaction.and_then(|transaction| {
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        });
        committed.map_err(failed(&self.path, doing))
    }

    /// Takes the lease of that key; false if another owner holds it. One whose process has ended holds nothing.
    fn take_lease(&self, connection: &Connection, key: &Fingerprint) -> rusqlite::Result<bool> {
        let ended = owner_of(connection, key)?.filter(|other| has_ended(other));
        let now = now_ms();
        let end = self.end_of_lease(now);
        let values = params![key.as_bytes(), self.owner, end, now, ended, end];
        Ok(connection.prepare_cached(TAKE_LEASE)?.execute(values)? > 0)
    }

    fn renew_leases(&self) {
        let renewal = self.write("renew its leases", |connection| {
            connection.execute(RENEW, params![self.owner, self.end_of_lease(now_ms())])
        });
        if let Err(error) = renewal {
            // No error of the run: the worst that follows is that a call is paid for twice.
            tracing::debug!(%error, "could not renew the leases on the cache");
        }
    }

    /// Gives leases back and moves the log into the file. A lease that cannot be released now is free when this process has
    /// ended, and replies that stay in the log are found there.
    fn settle(&self) {
        let released = self.write("give its leases back", |connection| {
            release_void(connection, |owner| owner == self.owner)
        });
        if let Err(error) = released {
            tracing::debug!(%error, "could not give the leases on the cache back");
        }
        if self.leaves_log.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = file::empty_log(&self.path, &locked(&self.connection)) {
            tracing::warn!(%error, "the cache's log still holds replies: copy it with the file");
        }
    }

    fn end_of_lease(&self, now: i64) -> i64 {
        now.saturating_add(i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX))
    }
}

impl Renewal {
    fn start(writer: &Arc<Writer>) -> std::io::Result<Self> {
        let (stop, stopped) = channel();
        let writer = Arc::clone(writer);
        let thread = std::thread::Builder::new()
            .name("cache-leases".to_owned())
            .spawn(move || renew(&writer, &stopped))?;
        Ok(Self { stop, thread })
    }

    fn end(self) {
        drop(self.stop);
        // A panic in the thread needs no handling: its leases expire.
        let _ = self.thread.join();
    }
}

fn renew(writer: &Writer, stopped: &Receiver<()>) {
    // A third: two renewals can fail before a lease is lost.
    while stopped.recv_timeout(writer.lease / 3) == Err(RecvTimeoutError::Timeout) {
        writer.renew_leases();
    }
}

impl Drop for Inner {
    /// SQLite empties the log, too, when the last connection is closed, but not when that one is for reading only.
    fn drop(&mut self) {
        if let Some(renewal) = self.renewal.take() {
            renewal.end();
        }
        locked(&self.readers).clear();
        self.writer.settle();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(writer) = self.writer.upgrade() else {
            return;
        };
        let released = writer.write("give a lease back", |connection| {
            release(connection, &self.key, &writer.owner)
        });
        if let Err(error) = released {
            tracing::debug!(%error, "could not give a lease back");
        }
    }
}

/// The row of `servers` about the model that answers for that judge.
fn name_of_model(judge: &str) -> String {
    format!("model that answers as {judge}")
}

/// The identity in that row.
#[derive(Serialize, Deserialize)]
struct AnsweredBy {
    answered_by: String,
}

/// Stores that the model of this reply answers for its judge now, if the reply names it.
pub(super) fn remember_model(connection: &Connection, entry: &Entry) -> rusqlite::Result<()> {
    let Some(model) = entry.reply.answering_model() else {
        return Ok(());
    };
    let answered_by = model.to_owned();
    let json = serde_json::to_string(&AnsweredBy { answered_by })
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let values = [name_of_model(&entry.label.judge), json];
    connection
        .prepare_cached(REMEMBER)?
        .execute(values)
        .map(drop)
}

fn release(connection: &Connection, key: &Fingerprint, owner: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached(RELEASE)?
        .execute(params![key.as_bytes(), owner])
        .map(drop)
}

fn owner_of(connection: &Connection, key: &Fingerprint) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached(OWNER)?
        .query_row([key.as_bytes()], |row| row.get(0))
        .optional()
}

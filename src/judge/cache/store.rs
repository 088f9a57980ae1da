//! The open cache: reading inline, writing through the writer thread.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::entry::{self, Entry, StoredEntry};
use super::file::{self, damaged, failed, fault};
use super::writer::{Job, Lease, Leased, Writer, owner_name};
use crate::domain::{Fingerprint, JudgeReply};
use crate::error::{Error, Result};
use crate::judge::locked;

/// First and longest pause between two attempts to lease a call that another process asks.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// Duration of a lease; it is renewed three times as often. Others wait that long only if a killed process was on another
/// host or its id is in use again.
const LEASE: Duration = Duration::from_secs(60);

/// Two servers that are asked within one tick of the clock still have an order.
const REMEMBER: &str = "INSERT OR REPLACE INTO servers VALUES \
    (?1, ?2, max(unixepoch('subsec'), (SELECT coalesce(max(seen_at), 0) + 0.001 FROM servers)))";
pub(super) const SELECT_SERVERS: &str = "SELECT name, identity, seen_at FROM servers ORDER BY seen_at DESC";

/// An open reply cache. Clones share it; the last one to go commits what is queued and closes the file.
#[derive(Debug, Clone)]
pub struct Cache {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    jobs: Sender<Job>,
    writer: Option<JoinHandle<()>>,
    readers: Mutex<Vec<Connection>>,
}

impl Cache {
    /// Opens the cache at `path`, or creates it with its parent directories.
    ///
    /// # Errors
    /// [`Error::Cache`] for a damaged file, a file of something else, another schema or a network file system; the
    /// file is then as it was. [`Error::Io`] where directories cannot be created.
    pub fn open(path: &Path) -> Result<Self> {
        Self::start(path, file::open_or_create(path)?, LEASE)
    }

    /// Starts the writer thread on an open file.
    pub(super) fn start(path: &Path, connection: Connection, lease: Duration) -> Result<Self> {
        let (sender, jobs) = mpsc::channel();
        let (path, owner) = (path.to_path_buf(), owner_name());
        let writer = Writer { path: path.clone(), connection, jobs, sender: sender.clone(), owner, lease };
        let thread = std::thread::Builder::new()
            .name("cache-writer".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| fault(&path, format!("cannot start its writer thread: {error}; run fewer at once")))?;
        let inner = Inner { path, jobs: sender, writer: Some(thread), readers: Mutex::default() };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The file, as it was named.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The reply of that key, with `cached: true`; `None` if there is none.
    ///
    /// Runs on the calling thread, async or not: a hit costs around 10 microseconds, handing it to a blocking thread
    /// and back would cost more.
    ///
    /// # Errors
    /// [`Error::Cache`] for a damaged entry or file.
    pub fn get(&self, key: &Fingerprint) -> Result<Option<JudgeReply>> {
        match self.read("read a reply", |connection| entry::find(connection, key))? {
            None => Ok(None),
            Some(StoredEntry::Whole(entry)) => Ok(Some(entry.reply)),
            Some(StoredEntry::Damaged) => Err(damaged(self.path(), key)),
        }
    }

    /// Stores a reply unless its key already has one, and gives its lease back in the same transaction. Queued at once
    /// (before the future is first polled, and also if it is dropped); the future resolves when the reply is committed.
    ///
    /// # Errors
    /// The future gives [`Error::Cache`] where the disk is full or fails; what was committed before stays whole.
    pub fn put(&self, entry: Entry, lease: Option<Lease>) -> impl Future<Output = Result<()>> + Send + 'static {
        let (done, answer) = oneshot::channel();
        // A failed send drops `done`, which the future sees.
        let _ = self.inner.jobs.send(Job::Put { entry: Box::new(entry), lease, done });
        let path = self.inner.path.clone();
        async move { answer.await.unwrap_or_else(|_| Err(writer_gone(&path))) }
    }

    /// The reply, or the right to ask for it; `None` while another process, or another handle of this one, asks.
    ///
    /// # Errors
    /// [`Error::Cache`] where the lease cannot be written, or the entry is damaged.
    pub async fn try_lease(&self, key: &Fingerprint) -> Result<Option<Leased>> {
        let (done, answer) = oneshot::channel();
        let _ = self.inner.jobs.send(Job::Lease { key: *key, done });
        answer.await.unwrap_or_else(|_| Err(writer_gone(self.path())))
    }

    /// As [`Cache::try_lease`], but waits while another asks: until the reply is there, or the lease is given back or
    /// ends. Needs a tokio runtime with time.
    ///
    /// # Errors
    /// As [`Cache::try_lease`].
    pub async fn lease(&self, key: &Fingerprint) -> Result<Leased> {
        let mut pause = PAUSE.0;
        loop {
            if let Some(leased) = self.try_lease(key).await? {
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
    /// [`Error::Cache`] where the file cannot be written.
    pub fn remember_server(&self, name: &str, identity: &str) -> Result<()> {
        let connection = file::open_or_create(self.path())?;
        connection
            .execute(REMEMBER, [name, identity])
            .map(drop)
            .map_err(failed(self.path(), "store a server's identity"))
    }

    /// All servers and what they last reported, the one that was asked last first.
    ///
    /// # Errors
    /// [`Error::Cache`] where the file cannot be read.
    pub fn servers(&self) -> Result<Vec<(String, String)>> {
        self.read("read the servers' identities", |connection| {
            let mut select = connection.prepare(SELECT_SERVERS)?;
            select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }

    /// Runs `work` with a connection of the pool. A connection that failed is not used again.
    pub(super) fn read<T>(&self, doing: &str, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let pooled = locked(&self.inner.readers).pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => file::open_reader(self.path())?,
        };
        let result = work(&connection).map_err(failed(self.path(), doing))?;
        locked(&self.inner.readers).push(connection);
        Ok(result)
    }
}

impl Drop for Inner {
    /// Commits what is queued, gives leases back and closes the file; blocks for that long.
    fn drop(&mut self) {
        locked(&self.readers).clear();
        let _ = self.jobs.send(Job::Stop);
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn writer_gone(path: &Path) -> Error {
    fault(path, "its writer thread has ended; run the same command again")
}

//! The open cache: reading inline, writing through the writer thread.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::claims::{self, Claim, ClaimGuard};
use super::file::{self, explain, fault};
use super::record::{self, Entry, StoredRow, now_ms};
use super::writer::{Job, Writer};
use crate::domain::{Fingerprint, JudgeReply};
use crate::error::{Error, Result};

/// Idle reader connections kept; more are opened while more threads read at once.
const IDLE_READERS: usize = 16;
/// First and longest pause between two looks at a call another process is asking.
const WAIT: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));

/// How a cache is opened.
#[derive(Debug, Clone, Copy)]
pub struct CacheOptions {
    /// How long a claim lasts that is not renewed. The claims of a killed process are free after this time; a live
    /// process renews every third of it.
    pub lease: Duration,
    /// The file may not grow beyond this many bytes (rounded up to pages of 4096); storing more is an error.
    pub max_bytes: Option<u64>,
}

impl Default for CacheOptions {
    /// A lease of two minutes, no limit of size.
    fn default() -> Self {
        Self { lease: Duration::from_secs(120), max_bytes: None }
    }
}

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
    /// Opens the cache at `path`, or makes it with its parent directories.
    ///
    /// # Errors
    /// [`Error::Cache`] for a damaged file, a file of something else, a newer schema or a network file system; the
    /// file is then as it was. [`Error::Io`] where directories cannot be made.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, CacheOptions::default())
    }

    /// [`Cache::open`] with options.
    ///
    /// # Errors
    /// As [`Cache::open`].
    pub fn open_with(path: &Path, options: CacheOptions) -> Result<Self> {
        let connection = file::open_or_create(path)?;
        if let Some(bytes) = options.max_bytes {
            let pages = i64::try_from(bytes.div_ceil(4096)).unwrap_or(i64::MAX);
            connection
                .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
                .map_err(|error| explain(path, "limit its size", &error))?;
        }
        let (sender, receiver) = mpsc::channel();
        let writer = Writer::new(path.to_path_buf(), connection, (sender.clone(), receiver), options.lease);
        let thread = std::thread::Builder::new()
            .name("cache-writer".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| fault(path, format!("cannot start its writer thread: {error}; run fewer at once")))?;
        let inner =
            Inner { path: path.to_path_buf(), jobs: sender, writer: Some(thread), readers: Mutex::new(Vec::new()) };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The file, as it was named.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The reply of that key, with `cached: true`; `None` if there is none.
    ///
    /// Runs on the calling thread, async or not: a hit costs around 10 microseconds, handing it to a blocking thread
    /// and back would cost more. On a cold disk it can take the time of a few page reads.
    ///
    /// # Errors
    /// [`Error::Cache`] for a damaged entry or file.
    pub fn get(&self, key: &Fingerprint) -> Result<Option<JudgeReply>> {
        let row = self.read("read a reply", |connection| record::find(connection, key))?;
        match row {
            None => Ok(None),
            // A damaged index may lead to another key's row, which is whole by itself.
            Some(StoredRow::Whole(entry)) if entry.key == *key => Ok(Some(entry.reply)),
            Some(_) => Err(damaged(self.path(), key)),
        }
    }

    /// Stores a reply unless its key already has one. Queued at once (before the future is first polled, and also if
    /// it is dropped); the future resolves when the reply is committed.
    ///
    /// # Errors
    /// The future gives [`Error::Cache`] where the disk is full or fails; what was committed before stays whole.
    pub fn put(&self, entry: Entry) -> impl Future<Output = Result<()>> + Send + 'static {
        self.queue_put(entry, false)
    }

    /// As [`Cache::put`], and gives the claim back in the same transaction.
    ///
    /// # Errors
    /// As [`Cache::put`].
    pub fn put_claimed(&self, entry: Entry, claim: ClaimGuard) -> impl Future<Output = Result<()>> + Send + 'static {
        let claimed = *claim.key() == entry.key;
        if claimed {
            claim.disarm();
        }
        self.queue_put(entry, claimed)
    }

    fn queue_put(&self, entry: Entry, claimed: bool) -> impl Future<Output = Result<()>> + Send + 'static {
        let (done, answer) = oneshot::channel();
        // A failed send drops `done`, which the future sees.
        let _ = self.inner.jobs.send(Job::Put { entry: Box::new(entry), claimed, done });
        let path = self.inner.path.clone();
        async move { answer.await.unwrap_or_else(|_| Err(writer_gone(&path))) }
    }

    /// Claims a key for asking.
    ///
    /// # Errors
    /// [`Error::Cache`] where the claim cannot be written.
    pub async fn try_claim(&self, key: &Fingerprint) -> Result<Claim> {
        let (done, answer) = oneshot::channel();
        let _ = self.inner.jobs.send(Job::Claim { key: *key, done });
        answer.await.unwrap_or_else(|_| Err(writer_gone(self.path())))
    }

    /// Claims a key; while another process holds it, waits for the reply, the release or the end of the lease. Never
    /// gives [`Claim::Theirs`]. Needs a tokio runtime with time.
    ///
    /// # Errors
    /// As [`Cache::try_claim`] and [`Cache::get`].
    pub async fn claim(&self, key: &Fingerprint) -> Result<Claim> {
        let mut pause = WAIT.0;
        loop {
            match self.try_claim(key).await? {
                Claim::Theirs => {}
                settled => return Ok(settled),
            }
            // Looking is reading, which disturbs nobody; only when something changed is the claim tried again.
            loop {
                tokio::time::sleep(pause).await;
                pause = (pause * 3 / 2).min(WAIT.1);
                if let Some(reply) = self.get(key)? {
                    return Ok(Claim::Cached(reply));
                }
                if !self.read("look at a claim", |connection| claims::is_claimed(connection, key, now_ms()))? {
                    break;
                }
            }
        }
    }

    /// Runs `work` with a connection of the pool. A connection that failed is not used again.
    pub(super) fn read<T>(&self, doing: &str, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let pooled = self.readers().pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => file::open_reader(self.path())?,
        };
        let result = work(&connection).map_err(|error| explain(self.path(), doing, &error))?;
        let mut readers = self.readers();
        if readers.len() < IDLE_READERS {
            readers.push(connection);
        }
        Ok(result)
    }

    fn readers(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        // Nothing panics while holding it; a list of idle connections is whole in any case.
        self.inner.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    /// Commits what is queued, gives claims back and closes the file; blocks for that long.
    fn drop(&mut self) {
        self.readers.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        let _ = self.jobs.send(Job::Stop);
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// The error of an entry whose digest does not fit.
pub(super) fn damaged(path: &Path, key: &Fingerprint) -> Error {
    fault(
        path,
        format!(
            "the entry {} is damaged; take over what is whole with `scholareval cache merge {} --into NEW` and go on \
             with --cache NEW",
            key.short(12),
            path.display()
        ),
    )
}

fn writer_gone(path: &Path) -> Error {
    fault(path, "its writer thread has ended; run the same command again")
}

//! Looking at a cache and making it smaller: `scholareval cache stats` and `prune`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};

use super::file::{self, beside, explain, fault};
use super::record::{self, Entry, StoredRow, now_ms};
use super::store::Cache;
use crate::error::{Error, Result};

const GROUPS: &str = "SELECT kind, judge, count(*), sum(prompt_tokens), sum(cached_prompt_tokens), \
    sum(completion_tokens), min(created_at), max(created_at) FROM replies GROUP BY kind, judge";

const PRUNE: &str = "DELETE FROM replies WHERE (?1 IS NULL OR created_at < ?1) AND (?2 IS NULL OR judge = ?2) \
    AND (?3 IS NULL OR kind = ?3)";

/// Totals of a group of entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupStats {
    /// Replies.
    pub entries: u64,
    /// Prompt tokens as the servers counted them.
    pub prompt_tokens: u64,
    /// Prompt tokens the servers took from their prefix caches.
    pub cached_prompt_tokens: u64,
    /// Reply tokens.
    pub completion_tokens: u64,
}

impl GroupStats {
    fn add(&mut self, other: &Self) {
        self.entries += other.entries;
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.cached_prompt_tokens = self.cached_prompt_tokens.saturating_add(other.cached_prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
    }
}

/// What a cache holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// All entries.
    pub total: GroupStats,
    /// By kind of question.
    pub by_kind: BTreeMap<String, GroupStats>,
    /// By judge identity.
    pub by_judge: BTreeMap<String, GroupStats>,
    /// When the oldest entry was stored, seconds since 1970; `None` without entries.
    pub oldest: Option<u64>,
    /// When the newest entry was stored, seconds since 1970.
    pub newest: Option<u64>,
    /// Bytes on disk, the log included.
    pub bytes: u64,
}

/// Which entries to remove: those that meet every condition given.
#[derive(Default, Clone, Copy)]
pub struct PruneOptions<'a> {
    /// Stored longer ago than this.
    pub older_than: Option<Duration>,
    /// Of this judge identity.
    pub judge: Option<&'a str>,
    /// Of this kind of question.
    pub kind: Option<&'a str>,
    /// For which this is true; `cache prune --unreadable` passes the parser here.
    pub matching: Option<&'a dyn Fn(&Entry) -> bool>,
    /// Entries whose digest does not fit (`matching` cannot see them).
    pub damaged: bool,
}

impl fmt::Debug for PruneOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PruneOptions")
            .field("older_than", &self.older_than)
            .field("judge", &self.judge)
            .field("kind", &self.kind)
            .field("matching", &self.matching.is_some())
            .field("damaged", &self.damaged)
            .finish()
    }
}

impl PruneOptions<'_> {
    fn is_empty(&self) -> bool {
        self.older_than.is_none()
            && self.judge.is_none()
            && self.kind.is_none()
            && self.matching.is_none()
            && !self.damaged
    }

    /// Entries stored before this many seconds since 1970.
    fn before(&self) -> Option<u64> {
        self.older_than.map(|age| (now_ms() / 1000).saturating_sub(age.as_secs()))
    }

    fn accepts(&self, row: &StoredRow, before: Option<u64>) -> bool {
        match row {
            StoredRow::Damaged => self.damaged,
            StoredRow::Whole(entry) => {
                !self.damaged
                    && before.is_none_or(|limit| entry.created_at < limit)
                    && self.judge.is_none_or(|judge| entry.label.judge == judge)
                    && self.kind.is_none_or(|kind| entry.label.kind == kind)
                    && self.matching.is_none_or(|matches| matches(entry))
            }
        }
    }
}

/// What [`Cache::prune`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PruneReport {
    /// Entries removed.
    pub removed: u64,
    /// Bytes on disk before.
    pub bytes_before: u64,
    /// Bytes on disk after.
    pub bytes_after: u64,
}

impl Cache {
    /// Counts what the cache holds; reads every row once, but not the replies' text.
    ///
    /// # Errors
    /// [`Error::Cache`] for a damaged file.
    pub fn stats(&self) -> Result<CacheStats> {
        let mut stats = self.read("count its entries", read_groups)?;
        stats.bytes = bytes_on_disk(self.path());
        Ok(stats)
    }

    /// Removes entries and gives their space back to the disk (which needs room for a copy of what stays).
    ///
    /// # Errors
    /// [`Error::Usage`] without any condition; [`Error::Cache`] where the file cannot be written. What was removed
    /// before the space could be given back stays removed.
    pub fn prune(&self, options: PruneOptions<'_>) -> Result<PruneReport> {
        if options.is_empty() {
            let what = "nothing says what to prune; name an age, a judge, a kind, or ask for the unreadable ones";
            return Err(Error::Usage(what.to_owned()));
        }
        let path = self.path();
        let mut connection = file::open_or_create(path)?;
        let bytes_before = bytes_on_disk(path);
        let removed = if options.matching.is_some() || options.damaged {
            prune_one_by_one(path, &mut connection, &options)?
        } else {
            let before = options.before().map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
            let removed = connection
                .execute(PRUNE, params![before, options.judge, options.kind])
                .map_err(|error| explain(path, "remove entries", &error))?;
            removed as u64
        };
        if removed > 0 {
            let shrunk = connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
            shrunk.map_err(|error| {
                let what = format!("removed {removed} entries, but could not give their space back: {error}");
                fault(path, format!("{what}; run it again when no other process uses the cache and the disk has room"))
            })?;
        }
        Ok(PruneReport { removed, bytes_before, bytes_after: bytes_on_disk(path) })
    }
}

fn prune_one_by_one(path: &Path, connection: &mut Connection, options: &PruneOptions<'_>) -> Result<u64> {
    let before = options.before();
    let mut doomed: Vec<i64> = Vec::new();
    record::for_each(connection, path, |rowid, row| {
        if options.accepts(&row, before) {
            doomed.push(rowid);
        }
        Ok(())
    })?;
    remove(connection, &doomed).map_err(|error| explain(path, "remove entries", &error))?;
    Ok(doomed.len() as u64)
}

fn remove(connection: &mut Connection, rowids: &[i64]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut delete = transaction.prepare("DELETE FROM replies WHERE rowid = ?1")?;
        for rowid in rowids {
            delete.execute([rowid])?;
        }
    }
    transaction.commit()
}

fn read_groups(connection: &Connection) -> rusqlite::Result<CacheStats> {
    let mut stats = CacheStats::default();
    let mut select = connection.prepare(GROUPS)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let unsigned =
            |index: usize| -> rusqlite::Result<u64> { Ok(row.get::<_, i64>(index)?.try_into().unwrap_or(0)) };
        let group = GroupStats {
            entries: unsigned(2)?,
            prompt_tokens: unsigned(3)?,
            cached_prompt_tokens: unsigned(4)?,
            completion_tokens: unsigned(5)?,
        };
        stats.total.add(&group);
        stats.by_kind.entry(row.get(0)?).or_default().add(&group);
        stats.by_judge.entry(row.get(1)?).or_default().add(&group);
        let (oldest, newest) = (unsigned(6)?, unsigned(7)?);
        stats.oldest = Some(stats.oldest.map_or(oldest, |known| known.min(oldest)));
        stats.newest = Some(stats.newest.map_or(newest, |known| known.max(newest)));
    }
    Ok(stats)
}

/// Bytes of the file and its log.
fn bytes_on_disk(path: &Path) -> u64 {
    [path.to_path_buf(), beside(path, "-wal")]
        .iter()
        .filter_map(|file| std::fs::metadata(file).ok())
        .map(|file| file.len())
        .sum()
}

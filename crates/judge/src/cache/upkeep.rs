//! What the commands about a cache do: count and merge. Looking at entries and deleting them is left to `sqlite3`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde::Serialize;

use super::entry::{self, Damaged, Entry};
use super::file::{self, beside};
use super::store::{Cache, SELECT_SERVERS, remember_model};
use scholareval_core::error::{Error, Result};
use scholareval_core::files::is_same_file;

/// A server's report replaces one that is older.
const TAKE_SERVER: &str = "INSERT INTO servers VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE \
    SET identity = excluded.identity, seen_at = excluded.seen_at WHERE excluded.seen_at > servers.seen_at";

/// What a cache holds; damaged entries count only as such.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CacheStats {
    /// The cache file.
    pub path: PathBuf,
    /// Replies.
    pub entries: u64,
    /// Entries that cannot be read.
    pub damaged: u64,
    /// Bytes on disk, the log included.
    pub bytes: u64,
    /// Prompt tokens as the servers counted them.
    pub prompt_tokens: u64,
    /// Prompt tokens the servers took from their prefix caches.
    pub cached_prompt_tokens: u64,
    /// Reply tokens.
    pub completion_tokens: u64,
    /// Those of them that are reasoning.
    pub reasoning_tokens: u64,
    /// Replies by kind of question.
    pub by_kind: BTreeMap<String, u64>,
    /// Replies by judge identity.
    pub by_judge: BTreeMap<String, u64>,
}

impl CacheStats {
    fn add(&mut self, entry: Entry) {
        let usage = entry.reply.usage;
        self.entries += 1;
        self.prompt_tokens = self.prompt_tokens.saturating_add(usage.prompt_tokens);
        self.cached_prompt_tokens = self
            .cached_prompt_tokens
            .saturating_add(usage.cached_prompt_tokens);
        self.completion_tokens = self
            .completion_tokens
            .saturating_add(usage.completion_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(usage.reasoning_tokens);
        *self.by_kind.entry(entry.label.kind).or_default() += 1;
        *self.by_judge.entry(entry.label.judge).or_default() += 1;
    }
}

/// How entries met what was in the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Inserted {
    /// Their key was new.
    pub added: u64,
    /// Their key had the same reply.
    pub known: u64,
    /// Their key had another reply of the same model, which stays.
    pub conflicts: u64,
}

/// What [`merge`] did, over all sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeReport {
    /// Whole entries.
    pub inserted: Inserted,
    /// Entries left out because they are damaged.
    pub damaged: u64,
    /// Sources that could not be read to their end, with the reason; what came before it was copied.
    pub incomplete: Vec<(PathBuf, String)>,
    /// Sources that seem to be without replies that they should have, with what is missing.
    pub suspicious: Vec<(PathBuf, String)>,
}

impl Cache {
    /// Counts what the cache holds; reads every entry once.
    ///
    /// # Errors
    /// [`Error::Cache`] for a damaged file.
    pub fn stats(&self) -> Result<CacheStats> {
        let path = self.path();
        let mut stats = CacheStats {
            path: path.to_path_buf(),
            // The log counts, too.
            bytes: size_of(path) + size_of(&beside(path, "-wal")),
            ..CacheStats::default()
        };
        self.read("read its entries", |connection| {
            entry::for_each(connection, |entry| {
                match entry {
                    Ok(entry) => stats.add(entry),
                    Err(Damaged) => stats.damaged += 1,
                }
                Ok(())
            })?
        })?;
        Ok(stats)
    }

    /// Stores entries that a judge has just given in one transaction, all or none, and counts them; what was there stays.
    ///
    /// # Errors
    /// [`Error::Cache`] where the file cannot be written.
    pub fn insert_all(&self, entries: &[Entry], inserted: &mut Inserted) -> Result<()> {
        self.write("store entries", |connection| {
            for entry in entries {
                if inserted.insert(entry, connection)? {
                    remember_model(connection, entry)?;
                }
            }
            Ok(())
        })
    }
}

/// Bytes of a file; 0 if there is none.
fn size_of(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |file| file.len())
}

impl Inserted {
    /// Stores the entry unless its key has a reply of its model, and counts it; true if it was stored.
    fn insert(&mut self, entry: &Entry, connection: &Connection) -> rusqlite::Result<bool> {
        let is_new = entry.insert(connection)?;
        let counter = match entry.find_same_model(connection)? {
            _ if is_new => &mut self.added,
            Some(Ok(known)) if known.has_same_reply(entry) => &mut self.known,
            _ => &mut self.conflicts,
        };
        *counter += 1;
        Ok(is_new)
    }
}

/// Copies the entries and the servers' identities of `sources` into the cache `into`, which is created if it is missing.
/// Of two replies of one model with one key the first stays. Sources are opened for reading only and may lie on a network file system;
/// all are checked before the first entry is stored. Damaged entries are left out and counted.
///
/// # Errors
/// [`Error::Usage`] where a source is the target; [`Error::Cache`] for a source that is missing, damaged or something
/// else, and for a target that cannot be used.
pub fn merge(sources: &[PathBuf], into: &Path) -> Result<MergeReport> {
    let mut opened = Vec::with_capacity(sources.len());
    for source in sources {
        // By file and not by path: a link to the target would be read while it is written.
        if is_same_file(source, into) {
            let what = format!(
                "{} is a source and the target; name another file with --into",
                source.display()
            );
            return Err(Error::Usage(what));
        }
        opened.push((source, file::open_source(source)?));
    }
    let target = Cache::open(into)?;
    let mut report = MergeReport::default();
    for (path, source) in opened {
        // A source that cannot be read is reported below.
        if let Ok(Some(what)) = missing_replies(path, &source) {
            report.suspicious.push((path.clone(), what));
        }
        if let Some(error) =
            target.write("store entries", |target| copy(&source, target, &mut report))?
        {
            report.incomplete.push((
                path.clone(),
                file::explain(path, "read its entries", &error).to_string(),
            ));
        }
    }
    Ok(report)
}

/// What a source seems to be missing: everything, or its log. A file that was copied from under a running command, or after
/// `kill -9`, holds only what SQLite had moved into it by then; leases in it show that the command had not ended.
fn missing_replies(path: &Path, source: &Connection) -> rusqlite::Result<Option<String>> {
    let has_no_replies = is_empty(source, "replies")?;
    let log = beside(path, "-wal");
    // With a log, the source is read as its command sees it.
    if log.exists() {
        return Ok(has_no_replies.then(|| "holds no replies".to_owned()));
    }
    let log = log.display();
    let copy_both = format!(
        "if a command was using the cache when it was copied, the replies are in {log}, which is missing: copy both, or copy \
         the file again once the command has ended"
    );
    if has_no_replies {
        return Ok(Some(format!("holds no replies; {copy_both}")));
    }
    if is_empty(source, "leases")? {
        return Ok(None);
    }
    Ok(Some(format!(
        "a command had not finished with it, and its log {log} is missing: the last replies may not be in the file; copy \
         both, or copy the file again once the command has ended"
    )))
}

fn is_empty(connection: &Connection, table: &str) -> rusqlite::Result<bool> {
    let sql = format!("SELECT NOT EXISTS (SELECT 1 FROM {table})");
    connection.query_row(&sql, [], |row| row.get(0))
}

/// Copies what can be read of a source; gives the source's error, if it has one. A damaged source is what a merge is often
/// made for, so its error must not undo what was copied; an error of the target does.
fn copy(
    source: &Connection,
    target: &Connection,
    report: &mut MergeReport,
) -> rusqlite::Result<Option<rusqlite::Error>> {
    let read = entry::for_each(source, |entry| match entry {
        Ok(entry) => report.inserted.insert(&entry, target).map(drop),
        Err(Damaged) => {
            report.damaged += 1;
            Ok(())
        }
    });
    let servers = match read {
        Ok(of_target) => {
            of_target?;
            servers_of(source)
        }
        Err(of_source) => Err(of_source),
    };
    match servers {
        Ok(servers) => {
            for server in servers {
                target.execute(TAKE_SERVER, server)?;
            }
            Ok(None)
        }
        Err(of_source) => Ok(Some(of_source)),
    }
}

/// Name, identity and time of every server.
fn servers_of(source: &Connection) -> rusqlite::Result<Vec<(String, String, f64)>> {
    source
        .prepare(SELECT_SERVERS)?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect()
}

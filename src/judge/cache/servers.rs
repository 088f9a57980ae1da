//! What servers last said they serve, kept beside the replies that were made under it.
//!
//! A run from cache with the server down needs the identity that its keys carry; a run with the server up compares it
//! with what the server says now.

use rusqlite::{Connection, OptionalExtension};

use super::Cache;
use super::file::explain;
use crate::error::Result;

/// Made on first use, so that caches of before are read as they are.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS servers (
    name TEXT PRIMARY KEY,                 -- endpoint and model as asked for
    identity TEXT NOT NULL,                -- what it said: JSON
    seen_at REAL NOT NULL                  -- unix seconds
) WITHOUT ROWID";

/// Two that are asked within one tick of the clock still have an order.
const KEEP: &str = "INSERT OR REPLACE INTO servers VALUES \
    (?1, ?2, max(unixepoch('subsec'), (SELECT coalesce(max(seen_at), 0) + 0.001 FROM servers)))";

/// A word that is newer than the one that is there replaces it.
const TAKE: &str = "INSERT INTO servers VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE \
    SET identity = excluded.identity, seen_at = excluded.seen_at WHERE excluded.seen_at > servers.seen_at";

/// Takes over what servers said, of each the last word: without it a run from a merged cache would need its servers.
pub(super) fn take_over(source: &Connection, target: &Connection) -> rusqlite::Result<()> {
    if !has_table(source)? {
        return Ok(());
    }
    target.execute_batch(TABLE)?;
    let mut rows = source.prepare("SELECT name, identity, seen_at FROM servers")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (name, identity, seen_at): (String, String, f64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        target.execute(TAKE, rusqlite::params![name, identity, seen_at])?;
    }
    Ok(())
}

fn has_table(connection: &Connection) -> rusqlite::Result<bool> {
    let table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'servers'";
    Ok(connection.query_row(table, [], |_| Ok(())).optional()?.is_some())
}

impl Cache {
    /// Keeps what the server of that name says now.
    ///
    /// # Errors
    /// [`crate::Error::Cache`] where the file cannot be written.
    pub fn remember_server(&self, name: &str, identity: &str) -> Result<()> {
        let failed = |error: rusqlite::Error| explain(self.path(), "keep what the server said", &error);
        let connection = Connection::open(self.path()).map_err(failed)?;
        connection.busy_timeout(super::file::BUSY_TIMEOUT).map_err(failed)?;
        connection.execute_batch(TABLE).map_err(failed)?;
        connection.execute(KEEP, [name, identity]).map(drop).map_err(failed)
    }

    /// What the server of that name said when it was last asked.
    ///
    /// # Errors
    /// [`crate::Error::Cache`] where the file cannot be read.
    pub fn recall_server(&self, name: &str) -> Result<Option<String>> {
        Ok(self.servers()?.into_iter().find(|(of, _)| of == name).map(|(_, identity)| identity))
    }

    /// All servers and what they last said, the one that was asked last first.
    ///
    /// # Errors
    /// [`crate::Error::Cache`] where the file cannot be read.
    pub fn servers(&self) -> Result<Vec<(String, String)>> {
        self.read("look up what servers said", |connection| {
            if !has_table(connection)? {
                return Ok(Vec::new());
            }
            let mut all = connection.prepare("SELECT name, identity FROM servers ORDER BY seen_at DESC")?;
            all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_server_is_kept_over_sessions() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cache.sqlite");
        let cache = Cache::open(&path).unwrap();
        assert_eq!(cache.recall_server("http://a m").unwrap(), None);
        cache.remember_server("http://a m", "one").unwrap();
        cache.remember_server("http://a m", "two").unwrap();
        cache.remember_server("http://b m", "three").unwrap();
        drop(cache);
        let cache = Cache::open(&path).unwrap();
        assert_eq!(cache.recall_server("http://a m").unwrap().as_deref(), Some("two"));
        assert_eq!(cache.servers().unwrap()[0].1, "three", "the last one asked comes first");
    }

    #[test]
    fn a_merged_cache_knows_the_last_word_of_every_server() {
        let dir = tempfile::tempdir().unwrap();
        let [older, newer, merged] = ["older", "newer", "merged"].map(|name| dir.path().join(name));
        for (path, word) in [(&older, "one"), (&newer, "two")] {
            Cache::open(path).unwrap().remember_server("http://a m", word).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        super::super::merge::merge(&[newer, older], &merged).unwrap();
        assert_eq!(Cache::open(&merged).unwrap().recall_server("http://a m").unwrap().as_deref(), Some("two"));
    }
}

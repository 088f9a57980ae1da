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
        // The clock has a grain of a millisecond, and may be set back: whoever is asked later stands later all the same.
        let insert = "INSERT OR REPLACE INTO servers VALUES (?1, ?2, \
            max(unixepoch('subsec'), (SELECT ifnull(max(seen_at), 0) + 0.001 FROM servers)))";
        connection.execute(insert, [name, identity]).map(drop).map_err(failed)
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
            let table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'servers'";
            if connection.query_row(table, [], |_| Ok(())).optional()?.is_none() {
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
}

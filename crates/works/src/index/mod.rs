//! An index of works: one SQLite file with a row for each record, for repeated use.
//!
//! Records are found by the hashes of their identifiers and titles, and by the words of their titles: full text without
//! positions, which only answers which titles have all of some words. The words of a title are never joined by OR: the
//! titles with one of them are millions.

mod build;
mod lookup;

use std::path::Path;

use rusqlite::Connection;

use scholareval_core::error::Result;
use scholareval_core::files::sqlite::WORKS_INDEX;

pub use build::{WorksIndexReport, index_works};
pub(super) use lookup::{count_in_indexes, files_of_index, offer_records};

/// Records from which on a word is counted: rarer ones are tried first without knowing how rare they are.
const FREQUENT: i64 = 100;

/// The last author of a list that is cut, as in BibTeX.
const MORE_AUTHORS: &str = "others";

const TABLES: &str = "
CREATE TABLE works (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,               -- its place in the list of sources, from 0
    work TEXT NOT NULL,                    -- its id in the source
    title TEXT NOT NULL,
    subtitle TEXT,
    authors TEXT NOT NULL,                 -- JSON: [[family, given], ..]
    year INTEGER,
    venue TEXT,
    doi TEXT,                              -- NULL also if it is the id in the source
    arxiv TEXT,                            -- NULL also if it is the id in the source
    pmid TEXT,
    is_preprint INTEGER NOT NULL,
    retraction TEXT,                       -- JSON
    other_ids TEXT                         -- their keys, separated by spaces
);
CREATE TABLE identifiers (
    key INTEGER NOT NULL,                  -- 64 bits of a hash
    work INTEGER NOT NULL,
    PRIMARY KEY (key, work)
) WITHOUT ROWID;
CREATE TABLE titles (
    key INTEGER NOT NULL,                  -- 64 bits of a hash, of the title and of its beginning
    work INTEGER NOT NULL,
    PRIMARY KEY (key, work)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(
    title, content='', detail=none, columnsize=0,
    tokenize=\"unicode61 remove_diacritics 0 categories 'L* N* M* Co'\"
);
CREATE TABLE frequent_words (
    word TEXT PRIMARY KEY,
    works INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE inputs (
    hash BLOB PRIMARY KEY,                 -- of the beginning, the end and the size of a file
    path TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE sources (
    source TEXT PRIMARY KEY,
    works INTEGER NOT NULL
) WITHOUT ROWID;
";

/// Lets SQLite hold 64 MB of the file in memory: a look-up and the sort of new keys come back to the same pages.
fn with_large_cache(connection: Connection, path: &Path) -> Result<Connection> {
    connection
        .execute_batch("PRAGMA cache_size = -65536")
        .map_err(|error| WORKS_INDEX.unusable(path, "open", &error))?;
    Ok(connection)
}

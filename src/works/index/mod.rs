//! An index of works: one SQLite file with a row for each record, for repeated use.
//!
//! Records are found by the hashes of their identifiers and titles, and by the words of their titles: full text without
//! positions, which only answers which titles have all of some words. The words of a title are never joined by OR: the
//! titles with one of them are millions.

mod build;
mod lookup;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::error::{Error, InputFault, Result};
use crate::sources::WORKS_INDEX_ID;

pub use build::{WorksIndexReport, index_works};
pub(super) use lookup::look_up;

/// The beginning of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Where an SQLite file has its application id.
const APPLICATION_ID_AT: usize = 68;

/// `PRAGMA user_version` of an index: the version of its tables and of the rules for keys and words.
const INDEX_VERSION: i32 = 1;

/// Records from which on a word is counted: rarer ones are tried first without knowing how rare they are.
const FREQUENT: i64 = 100;

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
    retraction TEXT                        -- JSON
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

/// Whether a file is an index of works, of any version.
///
/// # Errors
/// When it cannot be read.
pub(super) fn is_works_index(path: &Path) -> Result<bool> {
    let mut head = Vec::new();
    let file = File::open(path).map_err(Error::io(path, "read"))?;
    file.take(100)
        .read_to_end(&mut head)
        .map_err(Error::io(path, "read"))?;
    let id = head.get(APPLICATION_ID_AT..APPLICATION_ID_AT + 4);
    Ok(head.starts_with(MAGIC) && id == Some(&WORKS_INDEX_ID.to_be_bytes()))
}

/// Opens an index to read it.
///
/// # Errors
/// When it cannot be read, or has another version.
fn open_to_read(path: &Path) -> Result<Connection> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    check_version(path, &connection)?;
    Ok(connection)
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection> {
    let opened = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX);
    let connection = opened.map_err(|error| unusable(path, "open", &error))?;
    // The file may be somebody else's. FTS5 is a virtual table of SQLite, which an untrusted schema may name.
    connection
        .execute_batch(
            "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA cache_size = -65536",
        )
        .map_err(|error| unusable(path, "open", &error))?;
    Ok(connection)
}

fn check_version(path: &Path, connection: &Connection) -> Result<()> {
    let version: i32 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(|error| unusable(path, "read", &error))?;
    if version == INDEX_VERSION {
        return Ok(());
    }
    let what = format!(
        "an index of works of version {version}; this scholareval reads version {INDEX_VERSION}"
    );
    let fault = InputFault::new(path, what);
    Err(fault
        .hint("index the sources again, into a new file")
        .into())
}

fn unusable(path: &Path, action: &str, error: &rusqlite::Error) -> Error {
    let what = format!("cannot {action} the index of works: {error}");
    InputFault::new(path, what)
        .hint("check that the file is whole and the disk has room")
        .into()
}

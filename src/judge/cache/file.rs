//! The file itself: its marks, its tables, and opening it without ever harming a file that is not ours.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::mounts;
use crate::error::{Error, Result};

/// `PRAGMA application_id` of a cache: the letters `SchE`.
pub const APPLICATION_ID: i32 = 0x5363_6845;

/// `PRAGMA user_version` of a cache: the version of its tables. Version 1 had no column `logprobs`.
pub const SCHEMA_VERSION: i32 = 2;

/// From version 1 to 2. No row is rewritten: SQLite adds an empty column to the table's description alone.
const FROM_1_TO_2: &str = "ALTER TABLE replies ADD COLUMN logprobs TEXT; PRAGMA user_version = 2";

/// The tables. `content` stands last so that reading the other columns never walks a long reply's overflow pages;
/// plain rowid tables because `WITHOUT ROWID` made this one 2.2 times bigger.
const TABLES: &str = "
CREATE TABLE replies (
    key BLOB NOT NULL UNIQUE,              -- 32 bytes, blake3 of what was asked
    kind TEXT NOT NULL,                    -- kind of the question
    judge TEXT NOT NULL,                   -- identity of the judge
    role TEXT NOT NULL,                    -- which judge of the run it was
    draw INTEGER NOT NULL,                 -- 0-based
    attempt INTEGER NOT NULL,              -- 0-based
    finish_reason TEXT,                    -- as the server said, or NULL
    model TEXT,                            -- as the server said, or NULL
    prompt_tokens INTEGER NOT NULL,
    cached_prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    latency_ms INTEGER NOT NULL,
    created_at INTEGER NOT NULL,           -- unix seconds
    digest INTEGER NOT NULL,               -- 64 bits of blake3 over the other columns
    content TEXT NOT NULL,                 -- the reply, raw
    logprobs TEXT                          -- JSON, or NULL where none were asked for
);
CREATE TABLE claims (
    key BLOB PRIMARY KEY,                  -- a call that is being asked now
    owner TEXT NOT NULL,                   -- process, see owner.rs
    expires_at INTEGER NOT NULL            -- unix milliseconds
) WITHOUT ROWID;
";

/// How long another process's write may hold us up before it is an error.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// An [`Error::Cache`] about `path`.
pub(crate) fn fault(path: &Path, what: impl Into<String>) -> Error {
    Error::Cache { path: path.to_path_buf(), what: what.into() }
}

/// Puts an SQLite error into words: what happened, and what to do.
pub(crate) fn explain(path: &Path, doing: &str, error: &rusqlite::Error) -> Error {
    let remedy = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            "the file is no SQLite database (or its beginning is damaged); it is left as it is: move it away or name \
             another with --cache"
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            // Found while it was in use, too: not every file with this fault is as it was.
            "the file is damaged: move it away or name another with --cache (`scholareval cache merge` takes over what \
             is still whole)"
        }
        Some(ErrorCode::DiskFull) => "the disk is full: free some space and run the same command again",
        Some(ErrorCode::SystemIoFailure) => "the disk failed or is full: check it and run the same command again",
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            "it cannot be written: make it writable, or name another with --cache, or use --no-cache"
        }
        Some(ErrorCode::CannotOpen) => "check that the directory and the file can be read and written",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process holds it: wait until that one is done, or name another with --cache"
        }
        _ => "name another with --cache, or use --no-cache",
    };
    fault(path, format!("cannot {doing}: {error}; {remedy}"))
}

/// Opens, or makes, the cache at `path` for reading and writing, in WAL mode.
pub(crate) fn open_or_create(path: &Path) -> Result<Connection> {
    refuse_network(path)?;
    if path.is_dir() {
        return Err(fault(path, "is a directory; name a file with --cache"));
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(Error::io(parent, "create"))?;
    }
    if is_new(path)? {
        refuse_orphaned_log(path)?;
    } else {
        check_marks(path, &open_untouching(path)?)?;
    }
    let mut connection = Connection::open_with_flags(path, flags(OpenFlags::SQLITE_OPEN_READ_WRITE, true))
        .map_err(|error| explain(path, "open it", &error))?;
    set_up(&connection).map_err(|error| explain(path, "open it", &error))?;
    // SQLite falls back to reading where it may not write; that must not come out after the first paid call.
    if connection.is_readonly("main").map_err(|error| explain(path, "open it", &error))? {
        let what = "cannot be written; make it writable, or name another with --cache, or use --no-cache";
        return Err(fault(path, what));
    }
    create_tables(path, &mut connection)?;
    use_wal(&connection).map_err(|error| explain(path, "switch it to WAL mode", &error))?;
    migrate(&mut connection).map_err(|error| explain(path, "bring its tables up to date", &error))?;
    connection
        .execute_batch("PRAGMA synchronous = NORMAL")
        .map_err(|error| explain(path, "set it to synchronous = NORMAL", &error))?;
    check_tables(path, &connection)?;
    Ok(connection)
}

/// Opens an existing cache for reading only; used by the readers of an open [`Cache`](super::Cache).
pub(crate) fn open_reader(path: &Path) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, flags(OpenFlags::SQLITE_OPEN_READ_ONLY, false))
        .map_err(|error| explain(path, "open it for reading", &error))?;
    set_up(&connection).map_err(|error| explain(path, "open it for reading", &error))?;
    Ok(connection)
}

/// Opens a cache that is somebody else's: checked, never written, and on a network file system without locks.
pub(crate) fn open_source(path: &Path) -> Result<Connection> {
    if is_new(path)? {
        return Err(fault(path, "is missing or empty; name an existing cache"));
    }
    let untouching = open_untouching(path)?;
    check_marks(path, &untouching)?;
    let has_log = std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
    let in_use = has_log || beside(path, "-shm").exists();
    if in_use && let Some(kind) = mounts::network_file_system_of(path) {
        let what =
            format!("is in use, or was left by a killed process, on {kind}; copy it and its -wal to a local disk");
        return Err(fault(path, what));
    }
    let connection = if in_use { open_reader(path)? } else { open_immutable(path)? };
    check_tables(path, &connection)?;
    Ok(connection)
}

fn flags(access: OpenFlags, create: bool) -> OpenFlags {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if create { flags | OpenFlags::SQLITE_OPEN_CREATE } else { flags }
}

fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(32);
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
}

fn refuse_network(path: &Path) -> Result<()> {
    match mounts::network_file_system_of(path) {
        None => Ok(()),
        Some(kind) => Err(fault(
            path,
            format!(
                "is on a network file system ({kind}), where SQLite can lose or damage data; put it on a local disk \
                 with --cache, and join caches of several machines with `scholareval cache merge`"
            ),
        )),
    }
}

/// True if there is no file, or one of 0 bytes.
fn is_new(path: &Path) -> Result<bool> {
    match std::fs::metadata(path) {
        Ok(file) => Ok(file.len() == 0),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Error::io(path, "read")(error)),
    }
}

/// An empty file beside a full log was emptied by somebody: SQLite would throw the log's replies away.
fn refuse_orphaned_log(path: &Path) -> Result<()> {
    let log = beside(path, "-wal");
    if std::fs::metadata(&log).is_ok_and(|file| file.len() > 0) && is_new(path)? {
        let what = format!(
            "is missing or empty, but its log {} is not; put the file back, or move the log away, or name another \
             with --cache",
            log.display()
        );
        return Err(fault(path, what));
    }
    Ok(())
}

/// `path` with `suffix` after its file name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Opens the bare file, so that its marks can be read: no lock, no log, no recovery, nothing created beside it.
///
/// Not read with `std::fs`, because closing a file descriptor drops the locks that this process's other connections
/// hold on the same file.
fn open_untouching(path: &Path) -> Result<Connection> {
    let connection = open_immutable(path)?;
    // The bare file may be shorter than its header says while its log holds the rest. This pragma of the connection
    // (nothing is written) makes SQLite read the header all the same.
    connection.execute_batch("PRAGMA writable_schema = ON").map_err(|error| explain(path, "read it", &error))?;
    Ok(connection)
}

fn open_immutable(path: &Path) -> Result<Connection> {
    let absolute = std::path::absolute(path).map_err(Error::io(path, "read"))?;
    let mut uri = String::from("file://");
    for &byte in absolute.as_os_str().as_encoded_bytes() {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags = flags(OpenFlags::SQLITE_OPEN_READ_ONLY, false) | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri, flags).map_err(|error| explain(path, "open it for reading", &error))
}

/// The number a header pragma holds.
fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

fn check_marks(path: &Path, connection: &Connection) -> Result<()> {
    let id = number(connection, "application_id").map_err(|error| explain(path, "read it", &error))?;
    if id != APPLICATION_ID {
        return Err(fault(
            path,
            "is an SQLite database of something else; it is left as it is: name another file with --cache",
        ));
    }
    let version = number(connection, "user_version").map_err(|error| explain(path, "read it", &error))?;
    if version > SCHEMA_VERSION {
        return Err(fault(
            path,
            format!(
                "has schema version {version}, this scholareval knows up to {SCHEMA_VERSION}; update scholareval, or \
                 name another file with --cache"
            ),
        ));
    }
    if version < 1 {
        return Err(fault(path, format!("has the unknown schema version {version}; name another file with --cache")));
    }
    Ok(())
}

/// Makes the tables in one transaction of the rollback journal, before WAL: the marks are in the main file from
/// its first byte on, so that a reader of the bare file always finds them.
fn create_tables(path: &Path, connection: &mut Connection) -> Result<()> {
    let explain = |error: rusqlite::Error| explain(path, "create its tables", &error);
    if number(connection, "user_version").map_err(explain)? == 0 {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(explain)?;
        // Another process may have been quicker, with a cache or with something else.
        let objects: i64 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(explain)?;
        if objects == 0 && number(&transaction, "application_id").map_err(explain)? == 0 {
            transaction.execute_batch(TABLES).map_err(explain)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(explain)?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(explain)?;
            transaction.commit().map_err(explain)?;
        }
    }
    check_marks(path, connection)
}

/// Brings a cache of an earlier version up to date, with all its entries; one transaction, so whole or not at all.
fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    if number(connection, "user_version")? >= SCHEMA_VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been quicker.
    if number(&transaction, "user_version")? == 1 {
        transaction.execute_batch(FROM_1_TO_2)?;
    }
    transaction.commit()
}

/// True for a cache of version 1 that is only read, and so stays as it is.
pub(super) fn lacks_logprobs(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(number(connection, "user_version")? < 2)
}

/// Switches to WAL; SQLite does not wait by itself where another process is just doing the same.
fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let give_up = Instant::now() + Duration::from_secs(10);
    loop {
        let mode: rusqlite::Result<String> =
            connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0));
        let busy = match &mode {
            Ok(mode) => !mode.eq_ignore_ascii_case("wal"),
            Err(error) => error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy),
        };
        if !busy {
            return mode.map(drop);
        }
        if Instant::now() > give_up {
            return mode.map(drop);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn check_tables(path: &Path, connection: &Connection) -> Result<()> {
    let older = lacks_logprobs(connection).map_err(|error| explain(path, "read it", &error))?;
    let replies = if older { super::record::SELECT_PAGE_1 } else { super::record::SELECT_ONE };
    for sql in [replies, super::claims::SELECT_CLAIM] {
        connection.prepare(sql).map_err(|error| explain(path, "find its tables", &error))?;
    }
    Ok(())
}

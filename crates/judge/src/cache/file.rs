//! The cache file: its tables, and opening it without harming a file of something else.
//!
//! `--cache FILE` may name anything, a thesis's database among it. So a file is looked at as bytes that nobody may write
//! ([`open_bare`]) until its version and its tables say that it is a cache; only then is it opened for writing, which alone
//! would already create files beside it or roll a journal back.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reqwest::Url;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::owner::is_this_process;
use super::void_leases::release_void;
use scholareval_core::domain::Fingerprint;
use scholareval_core::error::{Error, Result};
use scholareval_core::files::sqlite::{self, number};

/// `PRAGMA application_id` of a cache: the letters `SchE`.
pub const APPLICATION_ID: i32 = 0x5363_6845;

/// `PRAGMA user_version` of a cache: the version of its tables.
pub const SCHEMA_VERSION: i32 = 1;

/// The tables. `replies` has a rowid because `WITHOUT ROWID` made it 2.2 times bigger.
const TABLES: &str = "
CREATE TABLE replies (
    key BLOB NOT NULL UNIQUE,              -- 32 bytes, blake3 of what was asked
    digest INTEGER NOT NULL,               -- 64 bits of blake3 over the column entry
    entry TEXT NOT NULL                    -- the reply with its label, JSON
);
CREATE TABLE leases (
    key BLOB PRIMARY KEY,                  -- a call that is being asked now
    owner TEXT NOT NULL,                   -- who asks, see owner.rs
    expires_at INTEGER NOT NULL            -- unix milliseconds
) WITHOUT ROWID;
CREATE TABLE servers (
    name TEXT PRIMARY KEY,                 -- endpoint and model as asked for
    identity TEXT NOT NULL,                -- what the server reported: JSON
    seen_at REAL NOT NULL                  -- unix seconds
) WITHOUT ROWID;
";

/// Maximum wait for another process's write; longer is an error.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);
/// The same for the switch to WAL mode.
const WAL_TIMEOUT: Duration = Duration::from_secs(10);
/// The same for the log's move into the file, which a process makes before it ends.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_secs(5);
/// How a rollback journal begins (<https://www.sqlite.org/fileformat2.html#the_rollback_journal>).
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// An [`Error::Cache`] about `path`.
pub(super) fn fault(path: &Path, what: impl Into<String>) -> Error {
    Error::Cache {
        path: path.to_path_buf(),
        what: what.into(),
    }
}

/// Turns an SQLite error into one that says what failed and what to do; for `map_err`.
pub(super) fn failed(path: &Path, doing: &str) -> impl Fn(rusqlite::Error) -> Error {
    move |error| explain(path, doing, &error)
}

/// As [`failed`].
pub(super) fn explain(path: &Path, doing: &str, error: &rusqlite::Error) -> Error {
    let remedy = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            "the file is not an SQLite database (or its beginning is damaged); it was not changed: move it away or name \
             another with --cache"
        }
        // Found while it was in use, too: not every file with this fault is as it was.
        Some(ErrorCode::DatabaseCorrupt) => {
            "the file is damaged: move it away or name another with --cache (`scholareval cache merge` copies the \
             intact replies)"
        }
        Some(ErrorCode::DiskFull) => {
            "the disk is full: free some space and run the same command again"
        }
        Some(ErrorCode::SystemIoFailure) => {
            "the disk failed or is full, or files may not grow further (ulimit -f): check this and run the same command again"
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => NOT_WRITABLE,
        Some(ErrorCode::CannotOpen) => {
            "check that the directory and the file can be read and written"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process is using it: wait until it has finished, or name another with --cache"
        }
        _ => "name another with --cache, or use --no-cache",
    };
    fault(path, format!("cannot {doing}: {error}; {remedy}"))
}

const NOT_WRITABLE: &str =
    "it cannot be written; make it writable, or name another with --cache, or use --no-cache";

/// Opens, or creates, the cache at `path` for reading and writing, in WAL mode.
pub(super) fn open_or_create(path: &Path) -> Result<Connection> {
    // Refused and not only warned about: the damage shows days later, when the replies are paid and
    // gone.
    if let Some(kind) = network_file_system(path) {
        let what = format!(
            "is on a network file system ({kind}), where SQLite can lose or damage data; put it on a local disk with \
             --cache, and join caches of several machines with `scholareval cache merge`"
        );
        return Err(fault(path, what));
    }
    if path.is_dir() {
        return Err(fault(path, "is a directory; name a file with --cache"));
    }
    if let Some(parent) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        std::fs::create_dir_all(parent).map_err(Error::io(parent, "create"))?;
    }
    if is_new(path)? {
        refuse_orphaned_log(path)?;
    } else {
        check_version(path, &open_bare(path)?)?;
    }
    let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = connect(path, access).map_err(failed(path, "open it"))?;
    // SQLite falls back to reading where it may not write; found only after the first paid call, that would lose a reply.
    if connection
        .is_readonly("main")
        .map_err(failed(path, "open it"))?
    {
        return Err(fault(path, NOT_WRITABLE));
    }
    create_tables(&mut connection).map_err(failed(path, "create its tables"))?;
    check_version(path, &connection)?;
    use_wal(&connection).map_err(failed(path, "switch it to WAL mode"))?;
    connection
        // FULL would wait for the disk at every reply; in WAL mode NORMAL can lose the last ones in
        // a power cut, but never damage the file.
        .execute_batch("PRAGMA synchronous = NORMAL")
        .map_err(failed(path, "open it"))?;
    Ok(connection)
}

/// Opens a cache that is open already for reading.
pub(super) fn open_reader(path: &Path) -> Result<Connection> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed(path, "open it"))
}

/// Opens another's cache: checked, never written, and on a network file system without locks.
pub(super) fn open_source(path: &Path) -> Result<Connection> {
    if is_new(path)? {
        let log = beside(path, "-wal");
        return Err(fault(
            path,
            format!(
                "is missing or empty: it holds no replies; name an existing cache, or copy {} with it, if there is one",
                log.display()
            ),
        ));
    }
    check_version(path, &open_bare(path)?)?;
    // Without a log it may stand where SQLite could not make one: on a medium for reading only.
    let is_in_use = has_content(&beside(path, "-wal")) || beside(path, "-shm").exists();
    if is_in_use {
        open_reader(path)
    } else {
        open_immutable(path)
    }
}

/// Moves the replies in the cache's log into its file, as closing the cache does, for a process that ends without it. The
/// file alone can then be copied.
///
/// # Errors
/// [`Error::Cache`] where the file cannot be written, or another process uses it all the time; the log is then as good.
pub fn settle(path: &Path) -> Result<()> {
    if is_new(path)? {
        return Ok(());
    }
    let connection =
        connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed(path, "open it"))?;
    release_void(&connection, is_this_process).map_err(failed(path, "give its leases back"))?;
    empty_log(path, &connection)
}

/// Moves the log into the file, and cuts it to nothing. Other processes are waited for, but not for long.
pub(super) fn empty_log(path: &Path, connection: &Connection) -> Result<()> {
    let doing = "move its log into the file";
    connection
        .busy_timeout(CHECKPOINT_TIMEOUT)
        .map_err(failed(path, doing))?;
    let is_busy: bool = connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        .map_err(failed(path, doing))?;
    if is_busy {
        return Err(fault(
            path,
            format!("cannot {doing}: other processes use it"),
        ));
    }
    Ok(())
}

/// Opens the file of that path or URI.
fn connect(name: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = sqlite::connect(name, access)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// The type of the network file system that `path`, which need not exist, lies on. SQLite's write-ahead log needs
/// shared memory and working locks, which these do not give.
#[cfg(target_os = "linux")]
fn network_file_system(path: &Path) -> Option<&'static str> {
    let absolute = std::path::absolute(path).ok()?;
    let place = absolute
        // The file may not exist yet: its file system is that of the nearest directory that exists.
        .ancestors()
        .find_map(|ancestor| rustix::fs::statfs(ancestor).ok())?;
    network_type(u64::try_from(place.f_type).ok()?)
}

#[cfg(not(target_os = "linux"))]
fn network_file_system(_path: &Path) -> Option<&'static str> {
    None
}

/// The name of a network file system by its magic number (`man 2 statfs`, `linux/magic.h`, and the sources of those that
/// are not in the kernel).
#[cfg(target_os = "linux")]
fn network_type(magic: u64) -> Option<&'static str> {
    Some(match magic {
        0x0102_1997 => "9p",
        0x5346_414f | 0x6b41_4653 => "afs",
        0x1983_0326 => "beegfs",
        0x00c3_6400 => "ceph",
        0xff53_4d42 => "cifs",
        0x7375_7245 => "coda",
        0x4750_4653 => "gpfs",
        0x0bd0_0bd0 => "lustre",
        0x564c => "ncp",
        0x6969 => "nfs",
        0xaad7_aaea => "panfs",
        0x517b | 0xfe53_4d42 => "smb",
        _ => return None,
    })
}

/// True if there is no file, one of 0 bytes, or the beginning of one that was never finished.
fn is_new(path: &Path) -> Result<bool> {
    match std::fs::metadata(path) {
        Ok(file) => Ok(file.len() == 0 || is_unfinished(path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Error::io(path, "read")(error)),
    }
}

/// True if the first transaction on the file never ended: its journal says that the file had no pages before. A process
/// that was killed while it made the tables leaves this. Nothing is in such a file, and SQLite empties it when it is opened.
fn is_unfinished(path: &Path) -> bool {
    let mut header = [0; 20];
    let read = File::open(beside(path, "-journal"))
        .and_then(|mut journal| journal.read_exact(&mut header));
    // Magic, number of records, a nonce, and the number of pages that the file had.
    read.is_ok() && header.starts_with(&JOURNAL_MAGIC) && header.ends_with(&[0; 4])
}

fn has_content(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.len() > 0)
}

/// Beside an empty file SQLite would throw the replies of a log away.
fn refuse_orphaned_log(path: &Path) -> Result<()> {
    let log = beside(path, "-wal");
    // The second look is for another process that has just created the cache.
    if has_content(&log) && is_new(path)? {
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
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Opens the bare file to read its header: no lock, no log, no recovery, nothing created beside it.
///
/// Not read with `std::fs`, because closing a file descriptor drops the locks that this process's other connections
/// hold on the same file.
fn open_bare(path: &Path) -> Result<Connection> {
    let connection = open_immutable(path)?;
    // The bare file may be shorter than its header says while its log holds the rest. This pragma of the connection
    // (nothing is written) makes SQLite read the header regardless.
    connection
        .execute_batch("PRAGMA writable_schema = ON")
        .map_err(failed(path, "read it"))?;
    Ok(connection)
}

fn open_immutable(path: &Path) -> Result<Connection> {
    let absolute = std::path::absolute(path).map_err(Error::io(path, "read"))?;
    let url = Url::from_file_path(absolute)
        .map_err(|()| fault(path, "is not the path of a file; name one with --cache"))?;
    let access = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    connect(Path::new(&format!("{url}?immutable=1")), access).map_err(failed(path, "open it"))
}

/// Refuses a file that is not a cache of this version. Numbers alone do not decide: a file that has them, and other tables
/// or a trigger on ours, would be written into, or act on what is written.
fn check_version(path: &Path, connection: &Connection) -> Result<()> {
    let application = number(connection, "application_id").map_err(failed(path, "read it"))?;
    let version = number(connection, "user_version").map_err(failed(path, "read it"))?;
    if application != APPLICATION_ID {
        return Err(fault(
            path,
            "is an SQLite database of another program; it was not changed: name another file with --cache",
        ));
    }
    if version != SCHEMA_VERSION {
        let what = format!(
            "has schema version {version}, this scholareval uses {SCHEMA_VERSION}; update scholareval, or name another \
             file with --cache"
        );
        return Err(fault(path, what));
    }
    if schema(connection).map_err(failed(path, "read its tables"))? != expected_schema() {
        return Err(fault(
            path,
            "does not have the tables of a cache: it belongs to another program, or is damaged; it was not changed: name \
             another file with --cache",
        ));
    }
    Ok(())
}

/// What [`schema`] gives of a cache.
fn expected_schema() -> BTreeSet<String> {
    let statements = TABLES.split(';').map(bare);
    statements.filter(|sql| !sql.is_empty()).collect()
}

/// The statements that made the tables, and whatever else acts on them: views and triggers. SQLite keeps them in the
/// first page, so they are in the bare file, too.
fn schema(connection: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let statements =
        "SELECT sql FROM sqlite_schema WHERE type <> 'index' AND name NOT GLOB 'sqlite_*'";
    connection
        .prepare(statements)?
        .query_map([], |row| Ok(bare(&row.get::<_, String>(0)?)))?
        .collect()
}

/// A statement without comments and white space.
fn bare(sql: &str) -> String {
    sql.lines()
        .filter_map(|line| line.split("--").next())
        .flat_map(str::split_whitespace)
        .collect()
}

/// Creates the tables in one transaction of the rollback journal, before WAL: the version is in the main file from
/// its first byte on, so that a reader of the bare file always finds it.
fn create_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    if number(connection, "user_version")? != 0 {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been quicker, with a cache or with something else.
    let objects: i64 =
        transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if objects == 0 && number(&transaction, "application_id")? == 0 {
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    }
    transaction.commit()
}

/// Switches to WAL, again and again while another process is doing the same: SQLite does not wait here by itself.
fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let deadline = Instant::now() + WAL_TIMEOUT;
    loop {
        match connection
            .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0))
        {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Err(error) if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
                return Err(error);
            }
            busy if Instant::now() > deadline => return busy.map(drop),
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// The error of an entry whose digest does not fit.
pub(super) fn damaged(path: &Path, key: &Fingerprint) -> Error {
    let what = format!(
        "the entry {} is damaged; copy the intact replies with `scholareval cache merge {} --into NEW` and continue with \
         --cache NEW",
        key.short(12),
        path.display()
    );
    fault(path, what)
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_have_a_name_and_local_ones_none() {
        assert_eq!(
            (network_type(0x6969), network_type(0xff53_4d42)),
            (Some("nfs"), Some("cifs"))
        );
        // ext4 and tmpfs
        assert_eq!(
            (network_type(0xef53), network_type(0x0102_1994)),
            (None, None)
        );
        assert_eq!(network_file_system(Path::new("/proc/no/such/file")), None);
    }
}

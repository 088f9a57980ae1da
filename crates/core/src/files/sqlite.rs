//! SQLite files that may come from somebody else: opened with care, and recognized by their header.
//!
//! A command that writes is one transaction: when it is killed, or the disk is full, its journal stays next to the file and
//! the next command that opens the file takes the changes back.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ffi::SQLITE_IOERR_DELETE_NOENT;
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, params_from_iter};

use crate::error::{Error, InputFault, Result};

/// The beginning of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The length of the header of an SQLite file.
const HEADER_BYTES: usize = 100;

/// Where the header has the version of the tables.
const USER_VERSION_AT: usize = 60;

/// Where the header has the application id.
const APPLICATION_ID_AT: usize = 68;

/// How long a command waits for another one that writes into the same file.
const WAIT: Duration = Duration::from_secs(60);

/// The store of pages, version of its tables and of the rules for keys, texts and states. Its id is the letters `SchS`.
pub const PAGE_STORE: SqliteForm = SqliteForm {
    article: "a",
    name: "store of pages",
    application_id: 0x5363_6853,
    version: 2,
    oldest: 1,
};

/// The index of works, version of its tables and of the rules for keys and words. Its id is the letters `SchW`.
pub const WORKS_INDEX: SqliteForm = SqliteForm {
    article: "an",
    name: "index of works",
    application_id: 0x5363_6857,
    version: 1,
    oldest: 1,
};

/// A kind of file that `sources index` makes.
#[derive(Debug, Clone, Copy)]
pub struct SqliteForm {
    article: &'static str,
    name: &'static str,
    /// `PRAGMA application_id`.
    application_id: i32,
    /// `PRAGMA user_version`.
    version: i32,
    /// The oldest version that is still read.
    oldest: i32,
}

/// What the header of a file says.
enum FileHeader {
    /// Nothing yet: there is no file, or the command that makes it has not ended, or was stopped.
    Unwritten,
    /// An SQLite file.
    Sqlite { application_id: i32, version: i32 },
    /// Another file.
    Other,
}

impl FileHeader {
    /// Read as bytes: SQLite could roll back the journal of another program before it says whose file this is.
    fn of(path: &Path) -> Result<Self> {
        let mut head = Vec::new();
        let file = match File::open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::Unwritten);
            }
            opened => opened.map_err(Error::io(path, "read"))?,
        };
        file.take(HEADER_BYTES as u64)
            .read_to_end(&mut head)
            .map_err(Error::io(path, "read"))?;
        let number = |at: usize| {
            let bytes = head.get(at..at + 4)?;
            Some(i32::from_be_bytes(bytes.try_into().ok()?))
        };
        // Of a large new file, SQLite may write the first page last.
        let is_blank = head.iter().all(|byte| *byte == 0);
        if is_blank && (head.is_empty() || journal_of(path).exists()) {
            return Ok(Self::Unwritten);
        }
        Ok(match (number(APPLICATION_ID_AT), number(USER_VERSION_AT)) {
            (Some(application_id), Some(version)) if head.starts_with(MAGIC) => Self::Sqlite {
                application_id,
                version,
            },
            _ => Self::Other,
        })
    }
}

impl SqliteForm {
    /// Whether a file has this form, in any version.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_form_of(&self, path: &Path) -> Result<bool> {
        Ok(match FileHeader::of(path)? {
            FileHeader::Sqlite { application_id, .. } => application_id == self.application_id,
            FileHeader::Unwritten | FileHeader::Other => false,
        })
    }

    /// Opens a file to read it. What a command that was stopped has left in it is taken back before.
    ///
    /// # Errors
    /// When it cannot be read, has another form or another version.
    pub fn open_to_read(&self, path: &Path) -> Result<Connection> {
        self.check(path, self.oldest)?;
        match self.read_only(path) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ReadOnly) => {
                self.take_back(path)?;
                self.check(path, self.oldest)?;
                self.read_only(path)
            }
            opened => opened,
        }
        .map_err(|error| self.unusable(path, "read", &error))
    }

    fn read_only(&self, path: &Path) -> rusqlite::Result<Connection> {
        let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        number(&connection, "schema_version")?;
        Ok(connection)
    }

    /// Takes back what a command that was stopped has changed: SQLite does it when the file is opened for writing.
    fn take_back(&self, path: &Path) -> Result<()> {
        let opened = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
        let taken_back = opened.and_then(|connection| number(&connection, "schema_version"));
        taken_back.map(|_| ()).map_err(|error| {
            let what = format!(
                "a command that wrote into the {} was stopped, and what it changed cannot be taken back: {error}",
                self.name
            );
            let hint = format!(
                "make the file and its directory writable, keep {} next to it, and run this again",
                journal_of(path).display()
            );
            InputFault::new(path, what).refuse(hint)
        })
    }

    /// Opens a file to write into it, in a transaction that ends with `COMMIT`; a new file gets these tables. Another command
    /// that writes is waited for.
    ///
    /// # Errors
    /// A file of another form or version: it is not changed. When the file cannot be written, or another command writes
    /// for too long.
    pub fn begin_to_write(&self, path: &Path, tables: &str) -> Result<Connection> {
        let unwritable = |error: &rusqlite::Error| match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy) => {
                let what = format!("another command writes into the {}", self.name);
                let fault = InputFault::new(path, what);
                Error::from(fault.hint("run this again when it has ended; nothing was changed"))
            }
            _ => self.unusable(path, "write", error),
        };
        loop {
            if !matches!(FileHeader::of(path)?, FileHeader::Unwritten) {
                self.check(path, self.version)?;
            }
            let found = identity(path);
            if found.is_none() {
                let created = File::options().append(true).create(true).open(path);
                created.map_err(Error::io(path, "create"))?;
                continue;
            }
            let connection = match connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
                Err(_) if identity(path) != found => continue,
                opened => opened.map_err(|error| unwritable(&error))?,
            };
            let begun = connection
                .busy_timeout(WAIT)
                .and_then(|()| connection.execute_batch("BEGIN IMMEDIATE"));
            // A command that fails removes the file that it has made, perhaps while this one waited for it; SQLite may call
            // that an error of the disk.
            if identity(path) != found {
                continue;
            }
            begun.map_err(|error| unwritable(&error))?;
            let is_new = number(&connection, "schema_version").map(|version| version == 0);
            if is_new.map_err(|error| unwritable(&error))? {
                let created = connection.execute_batch(&format!("{} {tables}", self.header()));
                created.map_err(|error| self.unusable(path, "create", &error))?;
            } else {
                self.check_opened(path, &connection)?;
            }
            return Ok(connection);
        }
    }

    /// Ends the transaction that [`Self::begin_to_write`] began.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn commit(&self, path: &Path, connection: &Connection) -> Result<()> {
        let committed = connection.execute_batch("COMMIT");
        // A command that waits for a file which was removed takes the journal of the new one for a leftover, and deletes it. All
        // is on the disk when SQLite finds that it is gone.
        let is_written = |error: &rusqlite::Error| {
            let code = error.sqlite_error().map(|error| error.extended_code);
            code == Some(SQLITE_IOERR_DELETE_NOENT)
        };
        match committed {
            Err(error) if !is_written(&error) => Err(self.unusable(path, "write", &error)),
            _ => Ok(()),
        }
    }

    /// Removes a file into which nothing was written, unless another command is about to: an empty one would say that
    /// nothing is there.
    pub fn remove_unwritten(path: &Path) {
        let is_empty = || std::fs::metadata(path).is_ok_and(|file| file.len() == 0);
        if !is_empty() {
            return;
        }
        let Ok(connection) = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE) else {
            return;
        };
        let locked = connection
            .busy_timeout(Duration::ZERO)
            .and_then(|()| connection.execute_batch("BEGIN EXCLUSIVE"));
        if locked.is_ok() && is_empty() {
            // What cannot be removed is recognized as unwritten.
            let _ = std::fs::remove_file(path);
        }
    }

    /// The statements that give a file its form.
    fn header(&self) -> String {
        let Self {
            application_id,
            version,
            ..
        } = self;
        format!("PRAGMA application_id = {application_id}; PRAGMA user_version = {version};")
    }

    /// The error about a file that cannot be opened, read or written.
    pub fn unusable(&self, path: &Path, action: &str, error: &rusqlite::Error) -> Error {
        let what = format!("cannot {action} the {}: {error}", self.name);
        InputFault::new(path, what).refuse("check that the file is whole and the disk has room")
    }

    /// Refuses a file of another form, or of a version below the oldest one that will do.
    fn check(&self, path: &Path, oldest: i32) -> Result<()> {
        match FileHeader::of(path)? {
            FileHeader::Sqlite {
                application_id,
                version,
            } => self.check_header(path, application_id, version, oldest),
            FileHeader::Unwritten => {
                let what = format!(
                    "{} {} into which nothing was written: the command that makes it was stopped, or has not ended",
                    self.article, self.name
                );
                let fault = InputFault::new(path, what);
                Err(fault.refuse("index its sources into it again"))
            }
            FileHeader::Other => self.check_header(path, 0, 0, oldest),
        }
    }

    /// As [`Self::check`], of a file that may have changed since.
    fn check_opened(&self, path: &Path, connection: &Connection) -> Result<()> {
        let number = |pragma| {
            number(connection, pragma).map_err(|error| self.unusable(path, "read", &error))
        };
        self.check_header(
            path,
            number("application_id")?,
            number("user_version")?,
            self.version,
        )
    }

    fn check_header(&self, path: &Path, id: i32, version: i32, oldest: i32) -> Result<()> {
        let Self { article, name, .. } = self;
        if id != self.application_id {
            let others = [PAGE_STORE, WORKS_INDEX];
            let what = match others.iter().find(|other| other.application_id == id) {
                Some(other) => format!("{} {}, not", other.article, other.name),
                None => "the file is not".to_owned(),
            };
            let what = format!("{what} {article} {name}; it was not changed");
            return Err(InputFault::new(path, what).refuse("name another file"));
        }
        if (oldest..=self.version).contains(&version) {
            return Ok(());
        }
        let what = if (self.oldest..self.version).contains(&version) {
            format!("{article} {name} of version {version}, which is read but not written")
        } else {
            format!(
                "{article} {name} of version {version}; this scholareval reads version {}",
                self.version
            )
        };
        Err(InputFault::new(path, what).refuse("index the sources again, into a new file"))
    }
}

/// Which file is at a path; `None` if there is none.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let file = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Some((file.dev(), file.ino()))
    }
    // Elsewhere an open file cannot be removed.
    #[cfg(not(unix))]
    Some((0, u64::from(file.is_file())))
}

/// Where SQLite keeps what a transaction changes in a file.
fn journal_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-journal");
    PathBuf::from(name)
}

/// Opens the file of that path or URI. It may come from somebody else: its schema must not run functions, and damaged pages
/// are found when they are read.
pub fn connect(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")?;
    Ok(connection)
}

/// Inserts a row of these columns; false if the table has it.
///
/// # Errors
/// When the file cannot be written.
pub fn insert(
    connection: &Connection,
    table: &str,
    row: &[(&str, &dyn ToSql)],
) -> rusqlite::Result<bool> {
    let columns: Vec<&str> = row.iter().map(|(column, _)| *column).collect();
    let sql = format!(
        "INSERT OR IGNORE INTO {table} ({}) VALUES ({})",
        columns.join(", "),
        vec!["?"; row.len()].join(", ")
    );
    let values = row.iter().map(|(_, value)| value);
    let rows = connection
        .prepare_cached(&sql)?
        .execute(params_from_iter(values))?;
    Ok(rows > 0)
}

/// The number in a header pragma.
pub fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

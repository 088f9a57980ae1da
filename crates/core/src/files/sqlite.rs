//! SQLite files that may come from somebody else: opened with care, and recognized by their header.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{Error, InputFault, Result};

/// The beginning of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Where an SQLite file has its application id.
const APPLICATION_ID_AT: usize = 68;

/// The store of pages, version of its tables and of the rules for keys, texts and states. Its id is the letters `SchS`.
pub const PAGE_STORE: SqliteForm = SqliteForm {
    article: "a",
    name: "store of pages",
    application_id: 0x5363_6853,
    version: 1,
};

/// The index of works, version of its tables and of the rules for keys and words. Its id is the letters `SchW`.
pub const WORKS_INDEX: SqliteForm = SqliteForm {
    article: "an",
    name: "index of works",
    application_id: 0x5363_6857,
    version: 1,
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
}

impl SqliteForm {
    /// Whether a file has this form, in any version.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_form_of(&self, path: &Path) -> Result<bool> {
        let mut head = Vec::new();
        let file = File::open(path).map_err(Error::io(path, "read"))?;
        file.take(100)
            .read_to_end(&mut head)
            .map_err(Error::io(path, "read"))?;
        let id = head.get(APPLICATION_ID_AT..APPLICATION_ID_AT + 4);
        Ok(head.starts_with(MAGIC) && id == Some(&self.application_id.to_be_bytes()))
    }

    /// Opens a file to read it.
    ///
    /// # Errors
    /// When it cannot be read, has another form or another version.
    pub fn open_to_read(&self, path: &Path) -> Result<Connection> {
        let opened = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
        let connection = opened.map_err(|error| self.unusable(path, "open", &error))?;
        self.check(path, &connection)?;
        Ok(connection)
    }

    /// Opens a file to write into it; also whether it is new and has no tables yet.
    ///
    /// # Errors
    /// A file of another form or version: it is not changed. When the file cannot be written.
    pub fn open_to_write(&self, path: &Path) -> Result<(Connection, bool)> {
        let is_new = std::fs::metadata(path).map_or(true, |file| file.len() == 0);
        if !is_new {
            // Read before it is opened for writing: opening alone could roll back another program's journal.
            self.open_to_read(path)?;
        }
        let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let opened = connect(path, access);
        let connection = opened.map_err(|error| self.unusable(path, "open", &error))?;
        Ok((connection, is_new))
    }

    /// The statements that give a file its form.
    pub fn header(&self) -> String {
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
        InputFault::new(path, what)
            .hint("check that the file is whole and the disk has room")
            .into()
    }

    fn check(&self, path: &Path, connection: &Connection) -> Result<()> {
        let id = match number(connection, "application_id") {
            Ok(id) => id,
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => 0,
            Err(error) => return Err(self.unusable(path, "read", &error)),
        };
        let Self { article, name, .. } = self;
        if id != self.application_id {
            let others = [PAGE_STORE, WORKS_INDEX];
            let what = match others.iter().find(|other| other.application_id == id) {
                Some(other) => format!("{} {}, not", other.article, other.name),
                None => "the file is not".to_owned(),
            };
            let what = format!("{what} {article} {name}; it was not changed");
            return Err(InputFault::new(path, what).hint("name another file").into());
        }
        let version = number(connection, "user_version")
            .map_err(|error| self.unusable(path, "read", &error))?;
        if version != self.version {
            let what = format!(
                "{article} {name} of version {version}; this scholareval reads version {}",
                self.version
            );
            return Err(InputFault::new(path, what)
                .hint("index the sources again, into a new file")
                .into());
        }
        Ok(())
    }
}

/// Opens the file of that path or URI. It may come from somebody else: its schema must not run functions, and damaged pages
/// are found when they are read.
pub fn connect(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")?;
    Ok(connection)
}

/// The number in a header pragma.
pub fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

//! The store: one SQLite file with a row for each snapshot of a page, and each text once, by its hash.
//!
//! Journals stay off the disk between commands (no WAL): the file is copied and published as one. A store may come from
//! somebody else, so that nothing in it is trusted: texts are unpacked up to their limit and checked by their hash.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params, params_from_iter};

use super::text::TEXT_BYTES;
use scholareval_core::domain::{Fingerprint, PageKind, PageState};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::sqlite::PAGE_STORE;
use scholareval_core::text::addresses::page_key;

/// Redirects that are followed from an address.
const REDIRECTS: usize = 10;

const TABLES: &str = "
CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,                     -- the page that url means
    final_key TEXT,                        -- the page that final_url means, if it is another
    work TEXT,                             -- doi:, arxiv: or pmid:
    url TEXT NOT NULL,
    final_url TEXT,
    retrieved_at TEXT,                     -- RFC 3339, UTC
    status INTEGER,
    mime TEXT,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL,
    title TEXT NOT NULL,
    raw_hash BLOB,                         -- 32 bytes, blake3 of what came
    text_hash BLOB,                        -- 32 bytes, blake3 of the text
    digest TEXT,                           -- WARC-Payload-Digest
    source TEXT NOT NULL
);
CREATE UNIQUE INDEX snapshots ON pages(key, ifnull(retrieved_at, ''), state, ifnull(raw_hash, x''));
CREATE INDEX final_keys ON pages(final_key) WHERE final_key IS NOT NULL;
CREATE INDEX works ON pages(work) WHERE work IS NOT NULL;
CREATE INDEX digests ON pages(digest) WHERE digest IS NOT NULL;
CREATE TABLE redirects (
    key TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (key, target)
) WITHOUT ROWID;
CREATE TABLE texts (
    hash BLOB PRIMARY KEY,                 -- 32 bytes, blake3 of the text
    deflated BLOB NOT NULL
);
";

const COLUMNS: &str = "id, key, url, final_url, work, retrieved_at, status, mime, kind, state, reason, title, raw_hash, text_hash, source";

/// A snapshot of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredPage {
    id: i64,
    /// The page, as [`page_key`] gives it.
    pub key: String,
    /// The address that was asked for.
    pub url: String,
    /// The address that replied, where it is another one.
    pub final_url: Option<String>,
    /// The work, as [`work_key`](scholareval_core::text::addresses::work_key) gives it.
    pub work: Option<String>,
    /// When it was fetched (RFC 3339), if the source says so.
    pub retrieved_at: Option<String>,
    /// The HTTP status.
    pub status: Option<u16>,
    /// The type that the server gave.
    pub mime: Option<String>,
    /// How much of a work it holds.
    pub kind: PageKind,
    /// Whether a judge can read it.
    pub state: PageState,
    /// Why it has this state; empty for a readable page.
    pub reason: String,
    /// Its title.
    pub title: String,
    /// BLAKE3 of what came, before it was made text.
    pub raw_hash: Option<[u8; 32]>,
    /// BLAKE3 of its text, if it has one.
    pub text_hash: Option<[u8; 32]>,
    /// The file that it is from.
    pub source: String,
}

/// Saved pages, for reading.
#[derive(Debug)]
pub struct PageStore {
    connection: Connection,
    path: PathBuf,
}

impl PageStore {
    /// Opens a store.
    ///
    /// # Errors
    /// When there is no such file, it is not a store, or one of another version.
    pub fn open(path: &Path) -> Result<Self> {
        if !path.is_file() {
            let fault = InputFault::new(path, "there is no such store of pages");
            return Err(fault
                .hint("make one with `scholareval sources index`")
                .into());
        }
        Ok(Self {
            connection: PAGE_STORE.open_to_read(path)?,
            path: path.to_path_buf(),
        })
    }

    /// The snapshots of the page at an address, the best one first: readable ones before others, newer ones before older.
    /// Redirects in the store are followed.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn snapshots(&self, address: &str) -> Result<Vec<StoredPage>> {
        let Some(mut key) = page_key(address) else {
            return Ok(Vec::new());
        };
        for _ in 0..=REDIRECTS {
            let snapshots = self.snapshots_by("key", &key)?;
            if !snapshots.is_empty() {
                return Ok(snapshots);
            }
            let Some(target) = self.redirect_of(&key)? else {
                break;
            };
            key = target;
        }
        self.snapshots_by("final_key", &key)
    }

    fn snapshots_by(&self, column: &str, key: &str) -> Result<Vec<StoredPage>> {
        let sql = format!("SELECT {COLUMNS} FROM pages WHERE {column} = ?1");
        let mut pages = self
            .connection
            .prepare_cached(&sql)
            .and_then(|mut query| {
                query
                    .query_map([key], stored_page)?
                    .collect::<Result<Vec<_>, _>>()
            })
            .map_err(|error| self.unread(&error))?;
        // A failed attempt does not hide the page that came before or after it.
        pages.sort_by(|a, b| {
            let readable = b.state.is_readable().cmp(&a.state.is_readable());
            let newer = b.retrieved_at.cmp(&a.retrieved_at);
            readable.then(newer).then(b.id.cmp(&a.id))
        });
        Ok(pages)
    }

    /// The snapshots of all pages about a work, in the order of [`PageStore::snapshots`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn snapshots_of_work(&self, work: &str) -> Result<Vec<StoredPage>> {
        self.snapshots_by("work", work)
    }

    /// Hash of the pages up to a moment and of their texts, whatever the order in which they were added.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn content_hash(&self, as_of: Option<&str>) -> Result<Fingerprint> {
        let mut hasher = blake3::Hasher::new();
        let pages = "SELECT key, final_key, work, url, retrieved_at, kind, state, reason, hex(text_hash) FROM pages \
             WHERE ?1 IS NULL OR retrieved_at IS NULL OR retrieved_at <= ?1 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9";
        let redirects = "SELECT key, target, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM redirects ORDER BY 1, 2";
        self.hash_rows(pages, &[as_of], &mut hasher)
            .and_then(|()| self.hash_rows(redirects, &[], &mut hasher))
            .map_err(|error| self.unread(&error))?;
        Ok(hasher.finalize().into())
    }

    /// Adds rows of nine texts to a hash, each text with its length, so that no two lists of rows look the same.
    fn hash_rows(
        &self,
        sql: &str,
        parameters: &[Option<&str>],
        hasher: &mut blake3::Hasher,
    ) -> rusqlite::Result<()> {
        let mut query = self.connection.prepare(sql)?;
        let mut rows = query.query(params_from_iter(parameters))?;
        while let Some(row) = rows.next()? {
            for column in 0..9 {
                let text: Option<String> = row.get(column)?;
                let text = text.unwrap_or_default();
                hasher.update(&(text.len() as u64).to_le_bytes());
                hasher.update(text.as_bytes());
            }
        }
        Ok(())
    }

    fn redirect_of(&self, key: &str) -> Result<Option<String>> {
        self.connection
            .prepare_cached("SELECT target FROM redirects WHERE key = ?1 ORDER BY target LIMIT 1")
            .and_then(|mut query| query.query_row([key], |row| row.get(0)).optional())
            .map_err(|error| self.unread(&error))
    }

    /// The text of a snapshot; `None` if it has none.
    ///
    /// # Errors
    /// When the store cannot be read, or the text is damaged.
    pub fn text(&self, page: &StoredPage) -> Result<Option<String>> {
        page.text_hash
            .map(|hash| self.text_by_hash(hash.into()))
            .transpose()
    }

    /// The text with this hash.
    ///
    /// # Errors
    /// When the store cannot be read, or does not have the text as it was.
    pub(super) fn text_by_hash(&self, hash: Fingerprint) -> Result<String> {
        let deflated: Option<Vec<u8>> = self
            .connection
            .prepare_cached("SELECT deflated FROM texts WHERE hash = ?1")
            .and_then(|mut query| {
                query
                    .query_row([hash.as_bytes().as_slice()], |row| row.get(0))
                    .optional()
            })
            .map_err(|error| self.unread(&error))?;
        let damaged = || {
            let what = format!("the text {hash} is missing or damaged");
            InputFault::new(&self.path, what).hint("index its source again, into a new store")
        };
        let deflated = deflated.ok_or_else(damaged)?;
        let mut text = String::new();
        // One byte more than a text may have: a longer one has another hash.
        let limit = TEXT_BYTES as u64 + 1;
        let read = DeflateDecoder::new(deflated.as_slice())
            .take(limit)
            .read_to_string(&mut text);
        if read.is_err() || Fingerprint::from(blake3::hash(text.as_bytes())) != hash {
            return Err(damaged().into());
        }
        Ok(text)
    }

    fn unread(&self, error: &rusqlite::Error) -> Error {
        PAGE_STORE.unusable(&self.path, "read", error)
    }
}

fn stored_page(row: &Row<'_>) -> rusqlite::Result<StoredPage> {
    let kind: String = row.get("kind")?;
    let state: String = row.get("state")?;
    let raw_hash: Option<Vec<u8>> = row.get("raw_hash")?;
    let text_hash: Option<Vec<u8>> = row.get("text_hash")?;
    let unknown = |what: &str| rusqlite::Error::InvalidColumnName(what.to_owned());
    Ok(StoredPage {
        id: row.get("id")?,
        key: row.get("key")?,
        url: row.get("url")?,
        final_url: row.get("final_url")?,
        work: row.get("work")?,
        retrieved_at: row.get("retrieved_at")?,
        status: row.get("status")?,
        mime: row.get("mime")?,
        kind: PageKind::from_name(&kind).ok_or_else(|| unknown(&kind))?,
        state: PageState::from_name(&state).ok_or_else(|| unknown(&state))?,
        reason: row.get("reason")?,
        title: row.get("title")?,
        raw_hash: raw_hash.and_then(|hash| hash.try_into().ok()),
        text_hash: text_hash.and_then(|hash| hash.try_into().ok()),
        source: row.get("source")?,
    })
}

/// A snapshot to be written.
pub(super) struct NewPage<'a> {
    pub(super) key: &'a str,
    pub(super) final_key: Option<&'a str>,
    pub(super) work: Option<&'a str>,
    pub(super) url: &'a str,
    pub(super) final_url: Option<&'a str>,
    pub(super) retrieved_at: Option<&'a str>,
    pub(super) status: Option<u16>,
    pub(super) mime: Option<&'a str>,
    pub(super) kind: PageKind,
    pub(super) state: PageState,
    pub(super) reason: &'a str,
    pub(super) title: &'a str,
    pub(super) raw_hash: Option<[u8; 32]>,
    pub(super) digest: Option<&'a str>,
    pub(super) source: &'a str,
    pub(super) text: Option<&'a str>,
}

/// Opens a store for writing, or makes one.
///
/// # Errors
/// A file of something else, or a store of another version: it is not changed. When the file cannot be written.
pub(super) fn open_or_create(path: &Path) -> Result<Connection> {
    let (connection, is_new) = PAGE_STORE.open_to_write(path)?;
    if is_new {
        let tables = format!("BEGIN; {} {TABLES} COMMIT;", PAGE_STORE.header());
        let created = connection.execute_batch(&tables);
        created.map_err(|error| PAGE_STORE.unusable(path, "create", &error))?;
    }
    Ok(connection)
}

/// Writes into a store, in one transaction: a source that stops the command leaves nothing.
pub(super) struct StoreWriter<'a> {
    transaction: Transaction<'a>,
    path: &'a Path,
}

impl<'a> StoreWriter<'a> {
    pub(super) fn begin(connection: &'a mut Connection, path: &'a Path) -> Result<Self> {
        let transaction = connection
            .transaction()
            .map_err(|error| PAGE_STORE.unusable(path, "write", &error))?;
        Ok(Self { transaction, path })
    }

    /// Adds a snapshot; false if the store has it.
    pub(super) fn add(&self, page: &NewPage<'_>) -> Result<bool> {
        let hash = page
            .text
            .map(|text| *blake3::hash(text.as_bytes()).as_bytes());
        if let (Some(hash), Some(text)) = (&hash, page.text) {
            self.add_text(hash, text)?;
        }
        self.transaction
            .prepare_cached(
                "INSERT OR IGNORE INTO pages (key, final_key, work, url, final_url, retrieved_at, status, mime, kind, state, \
                 reason, title, raw_hash, text_hash, digest, source) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            )
            .and_then(|mut insert| {
                insert.execute(params![
                    page.key, page.final_key, page.work, page.url, page.final_url, page.retrieved_at, page.status, page.mime,
                    page.kind.name(), page.state.name(), page.reason, page.title, page.raw_hash.as_ref().map(<[u8; 32]>::as_slice),
                    hash.as_ref().map(<[u8; 32]>::as_slice), page.digest, page.source,
                ])
            })
            .map(|rows| rows > 0)
            .map_err(|error| self.unwritten(&error))
    }

    fn add_text(&self, hash: &[u8; 32], text: &str) -> Result<()> {
        let known: Option<i64> = self
            .transaction
            .prepare_cached("SELECT 1 FROM texts WHERE hash = ?1")
            .and_then(|mut query| {
                query
                    .query_row([hash.as_slice()], |row| row.get(0))
                    .optional()
            })
            .map_err(|error| self.unwritten(&error))?;
        if known.is_some() {
            return Ok(());
        }
        let deflated = deflated(text).map_err(Error::io(self.path, "write"))?;
        self.transaction
            .prepare_cached("INSERT INTO texts (hash, deflated) VALUES (?1, ?2)")
            .and_then(|mut insert| insert.execute(params![hash.as_slice(), deflated]))
            .map(|_| ())
            .map_err(|error| self.unwritten(&error))
    }

    /// Notes that an address leads to another one.
    pub(super) fn add_redirect(&self, key: &str, target: &str) -> Result<()> {
        self.transaction
            .prepare_cached("INSERT OR IGNORE INTO redirects (key, target) VALUES (?1, ?2)")
            .and_then(|mut insert| insert.execute([key, target]))
            .map(|_| ())
            .map_err(|error| self.unwritten(&error))
    }

    /// Adds the page with this digest once more, as it was found under another address or at another time: its state, and
    /// whether it is new. `None` if there is no page with the digest.
    pub(super) fn add_again(
        &self,
        digest: &str,
        page: &NewPage<'_>,
    ) -> Result<Option<(PageState, bool)>> {
        let stored: Option<(i64, String)> = self
            .transaction
            .prepare_cached("SELECT id, state FROM pages WHERE digest = ?1 ORDER BY id LIMIT 1")
            .and_then(|mut query| {
                query
                    .query_row([digest], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()
            })
            .map_err(|error| self.unwritten(&error))?;
        let Some((id, state)) = stored else {
            return Ok(None);
        };
        let rows = self
            .transaction
            .prepare_cached(
                "INSERT OR IGNORE INTO pages (key, work, url, retrieved_at, kind, source, status, mime, state, reason, title, \
                 raw_hash, text_hash) \
                 SELECT ?2, ?3, ?4, ?5, ?6, ?7, status, mime, state, reason, title, raw_hash, text_hash FROM pages WHERE id = ?1",
            )
            .and_then(|mut insert| {
                insert.execute(params![
                    id, page.key, page.work, page.url, page.retrieved_at, page.kind.name(), page.source,
                ])
            })
            .map_err(|error| self.unwritten(&error))?;
        Ok(PageState::from_name(&state).map(|state| (state, rows > 0)))
    }

    pub(super) fn commit(self) -> Result<()> {
        let path = self.path;
        self.transaction
            .commit()
            .map_err(|error| PAGE_STORE.unusable(path, "write", &error))
    }

    fn unwritten(&self, error: &rusqlite::Error) -> Error {
        PAGE_STORE.unusable(self.path, "write", error)
    }
}

fn deflated(text: &str) -> std::io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page<'a>(
        key: &'a str,
        retrieved_at: Option<&'a str>,
        state: PageState,
        text: Option<&'a str>,
    ) -> NewPage<'a> {
        NewPage {
            key,
            final_key: None,
            work: None,
            url: key,
            final_url: None,
            retrieved_at,
            status: Some(200),
            mime: None,
            kind: PageKind::Other,
            state,
            reason: "",
            title: "",
            raw_hash: text.map(|text| *blake3::hash(text.as_bytes()).as_bytes()),
            digest: None,
            source: "s",
            text,
        }
    }

    fn store(pages: &[NewPage<'_>], redirects: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sources.sqlite");
        let mut connection = open_or_create(&path).unwrap();
        let writer = StoreWriter::begin(&mut connection, &path).unwrap();
        for page in pages {
            writer.add(page).unwrap();
        }
        for (key, target) in redirects {
            writer.add_redirect(key, target).unwrap();
        }
        writer.commit().unwrap();
        (dir, path)
    }

    #[test]
    fn a_readable_snapshot_comes_before_a_newer_failure_and_the_newest_of_these_first() {
        let key = "https://example.org/a";
        let pages = [
            page(
                key,
                Some("2026-01-01T00:00:00Z"),
                PageState::Ok,
                Some("old"),
            ),
            page(
                key,
                Some("2026-02-01T00:00:00Z"),
                PageState::Ok,
                Some("new"),
            ),
            page(
                key,
                Some("2026-03-01T00:00:00Z"),
                PageState::Unreachable,
                None,
            ),
            page(key, None, PageState::Ok, Some("undated")),
        ];
        let (_dir, path) = store(&pages, &[]);
        let store = PageStore::open(&path).unwrap();
        let snapshots = store.snapshots("http://www.example.org/a/").unwrap();
        let texts: Vec<_> = snapshots
            .iter()
            .map(|page| store.text(page).unwrap())
            .collect();
        let expected = [Some("new"), Some("old"), Some("undated"), None];
        assert_eq!(
            texts.iter().map(Option::as_deref).collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn a_snapshot_is_stored_once_and_a_text_of_two_pages_once() {
        let pages = [
            page("https://example.org/a", None, PageState::Ok, Some("text")),
            page("https://example.org/a", None, PageState::Ok, Some("text")),
            page("https://example.org/b", None, PageState::Ok, Some("text")),
        ];
        let (_dir, path) = store(&pages, &[]);
        let connection = Connection::open(&path).unwrap();
        let count = |table: &str| {
            let sql = format!("SELECT count(*) FROM {table}");
            connection
                .query_row(&sql, [], |row| row.get::<_, i64>(0))
                .unwrap()
        };
        assert_eq!((count("pages"), count("texts")), (2, 1));
    }

    #[test]
    fn redirects_are_followed_and_circles_end() {
        let pages = [page(
            "https://example.org/c",
            None,
            PageState::Ok,
            Some("text"),
        )];
        let key = |name: &str| format!("https://example.org/{name}");
        let circle = [
            (key("a"), key("b")),
            (key("b"), key("c")),
            (key("x"), key("y")),
            (key("y"), key("x")),
        ];
        let redirects: Vec<(&str, &str)> = circle
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        let (_dir, path) = store(&pages, &redirects);
        let store = PageStore::open(&path).unwrap();
        assert_eq!(
            store.snapshots("https://example.org/a").unwrap()[0].key,
            key("c")
        );
        assert!(store.snapshots("https://example.org/x").unwrap().is_empty());
    }

    #[test]
    fn other_files_and_other_versions_are_refused_and_not_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("thesis.sqlite");
        Connection::open(&path)
            .unwrap()
            .execute_batch("CREATE TABLE notes (text)")
            .unwrap();
        let before = std::fs::read(&path).unwrap();
        for error in [
            open_or_create(&path).unwrap_err(),
            PageStore::open(&path).unwrap_err(),
        ] {
            assert!(
                error.to_string().contains("is not a store of pages"),
                "{error}"
            );
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
        let text = dir.path().join("text");
        std::fs::write(&text, "no database".repeat(100)).unwrap();
        assert!(
            open_or_create(&text)
                .unwrap_err()
                .to_string()
                .contains("is not a store of pages")
        );

        let (_dir, path) = store(&[], &[]);
        Connection::open(&path)
            .unwrap()
            .execute_batch("PRAGMA user_version = 2")
            .unwrap();
        let error = PageStore::open(&path).unwrap_err().to_string();
        assert!(
            error
                .contains("a store of pages of version 2; this scholareval reads version 1; index"),
            "{error}"
        );
        assert!(
            PageStore::open(Path::new("none.sqlite"))
                .unwrap_err()
                .to_string()
                .contains("sources index")
        );
    }

    #[test]
    fn a_damaged_text_is_an_error_and_never_another_text() {
        let (_dir, path) = store(
            &[page(
                "https://example.org/a",
                None,
                PageState::Ok,
                Some("text"),
            )],
            &[],
        );
        let bomb = deflated(&"x".repeat(2 * TEXT_BYTES)).unwrap();
        Connection::open(&path)
            .unwrap()
            .execute("UPDATE texts SET deflated = ?1", [bomb])
            .unwrap();
        let store = PageStore::open(&path).unwrap();
        let page = &store.snapshots("https://example.org/a").unwrap()[0];
        let error = store.text(page).unwrap_err().to_string();
        assert!(error.contains("is missing or damaged"), "{error}");
    }
}

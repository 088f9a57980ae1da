//! The store: one SQLite file with a row for each snapshot of a page, and each text once, by its hash.
//!
//! Journals stay off the disk between commands (no WAL): the file is copied and published as one. A store may come from
//! somebody else, so that nothing in it is trusted: texts are unpacked up to their limit and checked by their hash.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rusqlite::{Connection, Params, Row, ToSql, params};

use super::text::TEXT_BYTES;
use scholareval_core::domain::{Fingerprint, PageKind, PageState};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::sqlite::{PAGE_STORE, insert, number};
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
    retrieved_at TEXT NOT NULL,            -- RFC 3339, UTC; empty if the source does not say
    PRIMARY KEY (key, target, retrieved_at)
) WITHOUT ROWID;
CREATE TABLE texts (
    hash BLOB PRIMARY KEY,                 -- 32 bytes, blake3 of the text
    deflated BLOB NOT NULL
);
";

/// Revisits of an archive: pages that came again. They wait until the pages that they refer to are there.
const REVISITS: &str = "
CREATE TEMP TABLE revisits (
    digest TEXT NOT NULL,
    key TEXT NOT NULL,
    work TEXT,
    url TEXT NOT NULL,
    retrieved_at TEXT,
    kind TEXT NOT NULL,
    source TEXT NOT NULL
)";

/// The version whose redirects have no day, and in which a page that could not be read hid a redirect.
const FIRST_VERSION: i32 = 1;

const COLUMNS: &str =
    "id, url, final_url, work, retrieved_at, status, kind, state, reason, title, text_hash, source";

/// A snapshot of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredPage {
    id: i64,
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
    /// How much of a work it holds.
    pub kind: PageKind,
    /// Whether a judge can read it.
    pub state: PageState,
    /// Why it has this state; empty for a readable page.
    pub reason: String,
    /// Its title.
    pub title: String,
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
    version: i32,
}

impl PageStore {
    /// Opens a store.
    ///
    /// # Errors
    /// When there is no such file, it is not a store, or one of another version.
    pub fn open(path: &Path) -> Result<Self> {
        if !path.is_file() {
            let fault = InputFault::new(path, "there is no such store of pages");
            return Err(fault.refuse("make one with `scholareval sources index`"));
        }
        let connection = PAGE_STORE.open_to_read(path)?;
        let version = number(&connection, "user_version")
            .map_err(|error| PAGE_STORE.unusable(path, "read", &error))?;
        Ok(Self {
            connection,
            path: path.to_path_buf(),
            version,
        })
    }

    /// The snapshots of the page at an address, the best one first: readable ones before others, newer ones before older.
    /// Redirects in the store are followed where they lead to a page that can be read.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn snapshots(&self, address: &str) -> Result<Vec<StoredPage>> {
        self.snapshots_until(address, None)
    }

    /// As [`PageStore::snapshots`], of a store in which nothing is later than this moment.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn snapshots_until(
        &self,
        address: &str,
        as_of: Option<&str>,
    ) -> Result<Vec<StoredPage>> {
        let Some(key) = page_key(address) else {
            return Ok(Vec::new());
        };
        if self.version == FIRST_VERSION {
            return self.snapshots_of_first_version(&key, as_of);
        }
        let keys = self.keys_behind(key, as_of)?;
        let mut unreadable = Vec::new();
        // An address that another one led to is the page, too.
        for column in ["key", "final_key"] {
            for key in &keys {
                let snapshots = self.snapshots_by(column, key, as_of)?;
                if snapshots
                    .first()
                    .is_some_and(|page| page.state.is_readable())
                {
                    return Ok(snapshots);
                }
                if unreadable.is_empty() {
                    unreadable = snapshots;
                }
            }
        }
        Ok(unreadable)
    }

    /// A page and those that its redirects lead to, newer redirects first.
    fn keys_behind(&self, key: String, as_of: Option<&str>) -> Result<Vec<String>> {
        let mut keys = vec![key];
        let mut at = 0;
        while at < keys.len() && keys.len() <= REDIRECTS {
            for target in self.redirects_of(&keys[at], as_of)? {
                if !keys.contains(&target) && keys.len() <= REDIRECTS {
                    keys.push(target);
                }
            }
            at += 1;
        }
        Ok(keys)
    }

    fn redirects_of(&self, key: &str, as_of: Option<&str>) -> Result<Vec<String>> {
        let sql = "SELECT target FROM redirects WHERE key = ?1 AND (?2 IS NULL OR retrieved_at <= ?2) \
                   ORDER BY retrieved_at DESC, target";
        self.rows(sql, params![key, as_of], |row| row.get(0))
    }

    /// As stores of version 1 were read, so that runs over them keep their numbers: fragments are no part of a page, whatever
    /// was saved hides a redirect, and the day counts last.
    fn snapshots_of_first_version(
        &self,
        key: &str,
        as_of: Option<&str>,
    ) -> Result<Vec<StoredPage>> {
        let mut key = key.split('#').next().unwrap_or_default().to_owned();
        let mut column = "final_key";
        for _ in 0..=REDIRECTS {
            if !self.snapshots_by("key", &key, None)?.is_empty() {
                column = "key";
                break;
            }
            let Some(target) = self.first_redirect_of(&key)? else {
                break;
            };
            key = target;
        }
        let mut snapshots = self.snapshots_by(column, &key, None)?;
        snapshots.retain(|page| as_of.is_none() || page.retrieved_at.as_deref() <= as_of);
        Ok(snapshots)
    }

    fn first_redirect_of(&self, key: &str) -> Result<Option<String>> {
        let sql = "SELECT target FROM redirects WHERE key = ?1 ORDER BY target LIMIT 1";
        Ok(self.rows(sql, [key], |row| row.get(0))?.pop())
    }

    fn snapshots_by(
        &self,
        column: &str,
        key: &str,
        as_of: Option<&str>,
    ) -> Result<Vec<StoredPage>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM pages WHERE {column} = ?1 \
             AND (?2 IS NULL OR retrieved_at IS NULL OR retrieved_at <= ?2)"
        );
        let mut pages = self.rows(&sql, params![key, as_of], stored_page)?;
        // A failed attempt does not hide the page that came before or after it.
        pages.sort_by(|a, b| {
            let readable = b.state.is_readable().cmp(&a.state.is_readable());
            let newer = b.retrieved_at.cmp(&a.retrieved_at);
            readable.then(newer).then(b.id.cmp(&a.id))
        });
        Ok(pages)
    }

    /// The snapshots of all pages about a work up to a moment, in the order of [`PageStore::snapshots`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn snapshots_of_work(
        &self,
        work: &str,
        as_of: Option<&str>,
    ) -> Result<Vec<StoredPage>> {
        self.snapshots_by("work", work, as_of)
    }

    /// Hash of the pages up to a moment and of their texts, whatever the order in which they were added.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn content_hash(&self, as_of: Option<&str>) -> Result<Fingerprint> {
        let mut hasher = blake3::Hasher::new();
        let pages = "SELECT key, final_key, work, url, retrieved_at, kind, state, reason, hex(text_hash) FROM pages \
             WHERE ?1 IS NULL OR retrieved_at IS NULL OR retrieved_at <= ?1 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9";
        let redirects = if self.version == FIRST_VERSION {
            "SELECT key, target, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM redirects \
             WHERE ?1 IS NULL OR TRUE ORDER BY 1, 2"
        } else {
            "SELECT key, target, retrieved_at, NULL, NULL, NULL, NULL, NULL, NULL FROM redirects \
             WHERE ?1 IS NULL OR retrieved_at <= ?1 ORDER BY 1, 2, 3"
        };
        self.hash_rows(pages, as_of, &mut hasher)
            .and_then(|()| self.hash_rows(redirects, as_of, &mut hasher))
            .map_err(|error| self.unread(&error))?;
        Ok(hasher.finalize().into())
    }

    /// Adds rows of nine texts to a hash, each text with its length, so that no two lists of rows look the same.
    fn hash_rows(
        &self,
        sql: &str,
        as_of: Option<&str>,
        hasher: &mut blake3::Hasher,
    ) -> rusqlite::Result<()> {
        let mut query = self.connection.prepare(sql)?;
        let mut rows = query.query([as_of])?;
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
        let sql = "SELECT deflated FROM texts WHERE hash = ?1";
        let mut texts: Vec<Vec<u8>> =
            self.rows(sql, [hash.as_bytes().as_slice()], |row| row.get(0))?;
        let damaged = || {
            let what = format!("the text {hash} is missing or damaged");
            InputFault::new(&self.path, what).hint("index its source again, into a new store")
        };
        let deflated = texts.pop().ok_or_else(damaged)?;
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

    /// All rows of a query.
    fn rows<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let rows = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut query| query.query_map(values, |row| read(row))?.collect());
        rows.map_err(|error| self.unread(&error))
    }

    fn unread(&self, error: &rusqlite::Error) -> Error {
        PAGE_STORE.unusable(&self.path, "read", error)
    }
}

fn stored_page(row: &Row<'_>) -> rusqlite::Result<StoredPage> {
    let kind: String = row.get("kind")?;
    let state: String = row.get("state")?;
    let text_hash: Option<Vec<u8>> = row.get("text_hash")?;
    let unknown = |what: &str| rusqlite::Error::InvalidColumnName(what.to_owned());
    Ok(StoredPage {
        id: row.get("id")?,
        url: row.get("url")?,
        final_url: row.get("final_url")?,
        work: row.get("work")?,
        retrieved_at: row.get("retrieved_at")?,
        status: row.get("status")?,
        kind: PageKind::from_name(&kind).ok_or_else(|| unknown(&kind))?,
        state: PageState::from_name(&state).ok_or_else(|| unknown(&state))?,
        reason: row.get("reason")?,
        title: row.get("title")?,
        text_hash: text_hash.and_then(|hash| hash.try_into().ok()),
        source: row.get("source")?,
    })
}

/// Writes into a store, in one transaction: a source that stops the command leaves nothing.
pub(super) struct StoreWriter {
    connection: Connection,
    path: PathBuf,
}

impl StoreWriter {
    /// Opens a store for writing, or makes one.
    ///
    /// # Errors
    /// A file of something else, or a store of another version: it is not changed. When the file cannot be written.
    pub(super) fn begin(path: &Path) -> Result<Self> {
        let writer = Self {
            connection: PAGE_STORE.begin_to_write(path, TABLES)?,
            path: path.to_path_buf(),
        };
        let created = writer.connection.execute_batch(REVISITS);
        created.map_err(|error| writer.unwritten(&error))?;
        Ok(writer)
    }

    /// Adds a row of these columns to a table; false if the store has it.
    pub(super) fn insert(&self, table: &str, row: &[(&str, &dyn ToSql)]) -> Result<bool> {
        insert(&self.connection, table, row).map_err(|error| self.unwritten(&error))
    }

    /// Adds a text; gives its hash.
    pub(super) fn add_text(&self, text: &str) -> Result<[u8; 32]> {
        let hash = *blake3::hash(text.as_bytes()).as_bytes();
        let known = self
            .connection
            .prepare_cached("SELECT 1 FROM texts WHERE hash = ?1")
            .and_then(|mut query| query.exists([hash]));
        if !known.map_err(|error| self.unwritten(&error))? {
            let deflated = deflated(text).map_err(Error::io(&self.path, "write"))?;
            self.insert("texts", &[("hash", &hash), ("deflated", &deflated)])?;
        }
        Ok(hash)
    }

    /// Adds the pages that came again; `count` gets the state of each and whether it is new, `None` where no page has the
    /// digest.
    pub(super) fn add_revisited(&self, count: impl FnMut(Option<(PageState, bool)>)) -> Result<()> {
        let added = self.insert_revisited(count);
        added.map_err(|error| self.unwritten(&error))
    }

    fn insert_revisited(
        &self,
        mut count: impl FnMut(Option<(PageState, bool)>),
    ) -> rusqlite::Result<()> {
        // Of pages with one digest that of the same address: the digest of an empty body is that of many.
        let mut query = self.connection.prepare(
            "SELECT rowid, (SELECT id FROM pages WHERE pages.digest = revisits.digest \
             ORDER BY pages.key <> revisits.key, id LIMIT 1) FROM temp.revisits",
        )?;
        let mut insert = self.connection.prepare(
            "INSERT OR IGNORE INTO pages (key, work, url, retrieved_at, kind, source, status, mime, state, reason, title, \
             raw_hash, text_hash) \
             SELECT again.key, again.work, again.url, again.retrieved_at, again.kind, again.source, page.status, page.mime, \
             page.state, page.reason, page.title, page.raw_hash, page.text_hash \
             FROM temp.revisits AS again, pages AS page WHERE again.rowid = ?1 AND page.id = ?2",
        )?;
        let mut state_of = self
            .connection
            .prepare("SELECT state FROM pages WHERE id = ?1")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let (revisit, original): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
            let Some(original) = original else {
                count(None);
                continue;
            };
            let is_new = insert.execute([revisit, original])? > 0;
            let state: String = state_of.query_row([original], |row| row.get(0))?;
            count(PageState::from_name(&state).map(|state| (state, is_new)));
        }
        Ok(())
    }

    pub(super) fn commit(self) -> Result<()> {
        PAGE_STORE.commit(&self.path, &self.connection)
    }

    fn unwritten(&self, error: &rusqlite::Error) -> Error {
        PAGE_STORE.unusable(&self.path, "write", error)
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

    /// A snapshot to be written.
    struct NewPage<'a> {
        key: &'a str,
        final_key: Option<&'a str>,
        url: &'a str,
        final_url: Option<&'a str>,
        retrieved_at: Option<&'a str>,
        state: PageState,
        text: Option<&'a str>,
    }

    impl NewPage<'_> {
        fn add(&self, writer: &StoreWriter) {
            let text_hash = self.text.map(|text| writer.add_text(text).unwrap());
            let page: [(&str, &dyn ToSql); 12] = [
                ("key", &self.key),
                ("final_key", &self.final_key),
                ("url", &self.url),
                ("final_url", &self.final_url),
                ("retrieved_at", &self.retrieved_at),
                ("kind", &PageKind::Other.name()),
                ("state", &self.state.name()),
                ("reason", &""),
                ("title", &""),
                ("source", &"s"),
                ("raw_hash", &text_hash),
                ("text_hash", &text_hash),
            ];
            writer.insert("pages", &page).unwrap();
        }
    }

    fn page<'a>(
        key: &'a str,
        retrieved_at: Option<&'a str>,
        state: PageState,
        text: Option<&'a str>,
    ) -> NewPage<'a> {
        NewPage {
            key,
            final_key: None,
            url: key,
            final_url: None,
            retrieved_at,
            state,
            text,
        }
    }

    /// A store in which the redirects have the day of the third text, if it is not empty.
    fn store(
        pages: &[NewPage<'_>],
        redirects: &[(&str, &str, &str)],
    ) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sources.sqlite");
        let writer = StoreWriter::begin(&path).unwrap();
        for page in pages {
            page.add(&writer);
        }
        for (key, target, day) in redirects {
            let redirect: [(&str, &dyn ToSql); 3] =
                [("key", key), ("target", target), ("retrieved_at", day)];
            writer.insert("redirects", &redirect).unwrap();
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
        let redirects: Vec<(&str, &str, &str)> = circle
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str(), ""))
            .collect();
        let (_dir, path) = store(&pages, &redirects);
        let store = PageStore::open(&path).unwrap();
        assert_eq!(
            store.snapshots("https://example.org/a").unwrap()[0].url,
            key("c")
        );
        assert!(store.snapshots("https://example.org/x").unwrap().is_empty());
    }

    fn begin_error(path: &Path) -> Error {
        StoreWriter::begin(path).map(|_| ()).unwrap_err()
    }

    #[test]
    fn a_later_page_redirect_or_failure_is_not_there_on_an_earlier_day() {
        const BEFORE: Option<&str> = Some("2026-09-01T00:00:00Z");
        const AFTER: Option<&str> = Some("2026-11-01T00:00:00Z");
        let [a, b, c] = ["a", "b", "c"].map(|name| format!("https://example.org/{name}"));
        let pages = [
            page(&b, BEFORE, PageState::Ok, Some("b")),
            page(&a, AFTER, PageState::Ok, Some("a")),
            page(&c, AFTER, PageState::Ok, Some("c")),
        ];
        let redirects = [
            (a.as_str(), b.as_str(), "2026-09-01T00:00:00Z"),
            (a.as_str(), c.as_str(), "2026-11-01T00:00:00Z"),
            (c.as_str(), b.as_str(), "2026-11-01T00:00:00Z"),
        ];
        let (_dir, path) = store(&pages, &redirects);
        let store = PageStore::open(&path).unwrap();
        let found = |address: &str, as_of: &str| {
            let pages = store.snapshots_until(address, Some(as_of)).unwrap();
            pages.first().map(|page| store.text(page).unwrap().unwrap())
        };
        let day = "2026-10-01T23:59:59Z";
        assert_eq!(found(&a, day).as_deref(), Some("b"));
        assert_eq!(found(&c, day), None);
        assert_eq!(found(&a, "2026-12-01T00:00:00Z").as_deref(), Some("a"));
        let hash = store.content_hash(Some(day)).unwrap();
        let (_dir, earlier) = self::store(&pages[..1], &redirects[..1]);
        let earlier = PageStore::open(&earlier).unwrap();
        assert_eq!(earlier.content_hash(Some(day)).unwrap(), hash);
        assert_ne!(store.content_hash(None).unwrap(), hash);
    }

    #[test]
    fn a_failure_or_a_cut_page_hides_no_readable_one() {
        let day = Some("2026-09-01T00:00:00Z");
        let later = Some("2026-09-02T00:00:00Z");
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| format!("https://example.org/{name}"));
        let landed = NewPage {
            final_key: Some(&c),
            ..page(&d, day, PageState::Ok, Some("landed"))
        };
        let pages = [
            page(&a, later, PageState::Blocked, None),
            page(&b, later, PageState::Cut, Some("half")),
            page(&b, day, PageState::Ok, Some("whole")),
            page(&c, later, PageState::Cut, Some("half")),
            landed,
        ];
        let (_dir, path) = store(&pages, &[(&a, &b, "")]);
        let store = PageStore::open(&path).unwrap();
        let best = |address: &str| {
            let pages = store.snapshots(address).unwrap();
            store.text(&pages[0]).unwrap().unwrap()
        };
        assert_eq!(best(&a), "whole");
        assert_eq!(best(&b), "whole");
        assert_eq!(best(&c), "landed");
        // Where none can be read, what was found first says why.
        let (_dir, path) = self::store(&pages[..2], &[(&a, &b, "")]);
        let store = PageStore::open(&path).unwrap();
        assert_eq!(store.snapshots(&a).unwrap()[0].state, PageState::Blocked);
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
        for error in [begin_error(&path), PageStore::open(&path).unwrap_err()] {
            assert!(
                error.to_string().contains("is not a store of pages"),
                "{error}"
            );
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
        let text = dir.path().join("text");
        std::fs::write(&text, "no database".repeat(100)).unwrap();
        assert!(
            begin_error(&text)
                .to_string()
                .contains("is not a store of pages")
        );

        let (_dir, path) = store(&[], &[]);
        Connection::open(&path)
            .unwrap()
            .execute_batch("PRAGMA user_version = 3")
            .unwrap();
        let error = PageStore::open(&path).unwrap_err().to_string();
        assert!(
            error
                .contains("a store of pages of version 3; this scholareval reads version 2; index"),
            "{error}"
        );
        assert!(
            PageStore::open(Path::new("none.sqlite"))
                .unwrap_err()
                .to_string()
                .contains("sources index")
        );
    }

    /// Copies a file and its journal, as they are while a command writes: what is there after a kill.
    fn killed(path: &Path, copy: &Path) {
        std::fs::copy(path, copy).unwrap();
        let journal = |path: &Path| PathBuf::from(format!("{}-journal", path.display()));
        std::fs::copy(journal(path), journal(copy)).unwrap();
    }

    /// Writes more than the cache holds, so that the file has changed before the end of the transaction.
    fn write_much(writer: &StoreWriter) {
        writer
            .connection
            .execute_batch("PRAGMA cache_size = 1")
            .unwrap();
        for number in 0..500 {
            let key = format!("https://example.org/{number}");
            let text = blake3::hash(key.as_bytes()).to_hex().repeat(20);
            page(&key, None, PageState::Ok, Some(&text)).add(writer);
        }
    }

    #[test]
    fn what_a_killed_command_wrote_is_taken_back_by_the_next_one() {
        let key = "https://example.org/a";
        let (dir, path) = store(&[page(key, None, PageState::Ok, Some("text"))], &[]);
        let writer = StoreWriter::begin(&path).unwrap();
        write_much(&writer);
        let [to_read, to_write] = ["read.sqlite", "write.sqlite"].map(|name| dir.path().join(name));
        killed(&path, &to_read);
        killed(&path, &to_write);
        drop(writer);
        let hash = PageStore::open(&path).unwrap().content_hash(None).unwrap();
        let read = PageStore::open(&to_read).unwrap();
        assert_eq!(read.content_hash(None).unwrap(), hash);
        let writer = StoreWriter::begin(&to_write).unwrap();
        writer.commit().unwrap();
        let written = PageStore::open(&to_write).unwrap();
        assert_eq!(written.content_hash(None).unwrap(), hash);
    }

    #[test]
    fn a_store_whose_making_was_killed_is_made_by_the_next_command_and_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new.sqlite");
        let writer = StoreWriter::begin(&path).unwrap();
        write_much(&writer);
        let [to_read, to_write] = ["read.sqlite", "write.sqlite"].map(|name| dir.path().join(name));
        killed(&path, &to_read);
        killed(&path, &to_write);
        assert!(std::fs::metadata(&to_read).unwrap().len() > 0);
        let error = PageStore::open(&to_read).unwrap_err().to_string();
        assert!(error.contains("nothing was written"), "{error}");
        assert!(error.contains("index its sources into it again"), "{error}");
        let next = StoreWriter::begin(&to_write).unwrap();
        let key = "https://example.org/a";
        page(key, None, PageState::Ok, Some("text")).add(&next);
        next.commit().unwrap();
        let read = PageStore::open(&to_write).unwrap();
        assert_eq!(read.snapshots(key).unwrap().len(), 1);
        assert!(read.snapshots("https://example.org/1").unwrap().is_empty());
        // Zeros without a journal are somebody else's.
        let zeros = dir.path().join("zeros");
        std::fs::write(&zeros, [0; 4096]).unwrap();
        assert!(begin_error(&zeros).to_string().contains("is not a store"));
        assert_eq!(std::fs::read(&zeros).unwrap(), [0; 4096]);
    }

    #[test]
    fn commands_that_write_one_new_file_at_once_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("sources.sqlite");
        let source = |number: usize, text: &str| {
            let path = dir.path().join(format!("{number}.jsonl"));
            std::fs::write(&path, text).unwrap();
            path
        };
        std::thread::scope(|scope| {
            for number in 0..8 {
                let url = format!("https://example.org/{number}");
                // Every second one fails, and must not take the others' pages away.
                let good = source(
                    number,
                    &format!("{{\"url\": \"{url}\", \"text\": \"The ice of the sea grows.\"}}"),
                );
                let broken = source(number + 10, "{\"url\": \"https://example.org/\"}");
                let out = &out;
                scope.spawn(move || {
                    crate::index(&[broken], out).unwrap_err();
                    assert_eq!(crate::index(&[good], out).unwrap().added, 1);
                });
            }
        });
        let store = PageStore::open(&out).unwrap();
        for number in 0..8 {
            let url = format!("https://example.org/{number}");
            assert_eq!(store.snapshots(&url).unwrap().len(), 1, "{url}");
        }
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

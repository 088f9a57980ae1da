//! One stored reply: its columns, its digest, its row.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::file::{explain, fault, lacks_logprobs};
use crate::domain::{Fingerprint, JudgeReply, Usage};
use crate::error::Result;
use crate::judge::JudgeRequest;

/// The columns of a reply in the order [`StoredRow::read`] expects them.
macro_rules! columns {
    () => {
        concat!(columns_1!(), ", logprobs")
    };
}

/// The columns that tables of version 1 have too.
macro_rules! columns_1 {
    () => {
        "key, kind, judge, role, draw, attempt, finish_reason, model, prompt_tokens, cached_prompt_tokens, \
         completion_tokens, latency_ms, created_at, digest, content"
    };
}

/// One reply by its key.
pub(crate) const SELECT_ONE: &str = concat!("SELECT ", columns!(), " FROM replies WHERE key = ?1");
/// All replies in the order they were stored, from after a rowid on, so many.
pub(crate) const SELECT_PAGE: &str =
    concat!("SELECT ", columns!(), ", rowid FROM replies WHERE rowid > ?1 ORDER BY rowid LIMIT ?2");
/// The same of a table of version 1.
pub(crate) const SELECT_PAGE_1: &str =
    concat!("SELECT ", columns_1!(), ", NULL, rowid FROM replies WHERE rowid > ?1 ORDER BY rowid LIMIT ?2");

const INSERT_NEW: &str = concat!(
    "INSERT INTO replies (",
    columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) ON CONFLICT (key) DO NOTHING"
);

/// What a stored reply answers; for people who look into the cache, not part of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLabel {
    /// Name of the question's [`CallKind`](crate::domain::CallKind).
    pub kind: String,
    /// Identity of the judge.
    pub judge: String,
    /// Name of the [`Role`](crate::domain::Role).
    pub role: String,
    /// 0-based draw.
    pub draw: u32,
    /// 0-based attempt.
    pub attempt: u32,
}

impl CallLabel {
    /// The label of a request to the judge of that identity.
    pub fn of(request: &JudgeRequest, judge: &str) -> Self {
        Self {
            kind: request.call.task.kind().as_str().to_owned(),
            judge: judge.to_owned(),
            role: request.call.role.name().into_owned(),
            draw: request.call.draw,
            attempt: request.attempt,
        }
    }
}

/// A reply with its key and label, as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The cache key.
    pub key: Fingerprint,
    /// What it answers.
    pub label: CallLabel,
    /// The raw reply; `cached` is not stored and true when read.
    pub reply: JudgeReply,
    /// Seconds since 1970 (UTC).
    pub created_at: u64,
}

impl Entry {
    /// An entry of now.
    pub fn new(key: Fingerprint, label: CallLabel, reply: JudgeReply) -> Self {
        Self { key, label, reply, created_at: now_ms() / 1000 }
    }

    /// The tokens' probabilities as they are stored: JSON, or NULL.
    fn logprobs(&self) -> Option<String> {
        // Plain data: writing it to memory cannot fail.
        self.reply.logprobs.as_ref().and_then(|tokens| serde_json::to_string(tokens).ok())
    }

    /// 64 bits of blake3 over every stored column, texts with their lengths: finds damage that SQLite cannot see, such
    /// as a page of zeros inside a long reply. `logprobs` counts only where there are some, so that the rows of
    /// version 1 keep their digest.
    fn digest(&self, logprobs: Option<&str>) -> i64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.key.as_bytes());
        for text in [&self.label.kind, &self.label.judge, &self.label.role, &self.reply.content] {
            hash_text(&mut hasher, Some(text));
        }
        hash_text(&mut hasher, self.reply.finish_reason.as_deref());
        hash_text(&mut hasher, self.reply.model.as_deref());
        for number in self.numbers() {
            hasher.update(&number.to_le_bytes());
        }
        if logprobs.is_some() {
            hash_text(&mut hasher, logprobs);
        }
        let mut bytes = [0_u8; 8];
        for (byte, hashed) in bytes.iter_mut().zip(hasher.finalize().as_bytes()) {
            *byte = *hashed;
        }
        i64::from_le_bytes(bytes)
    }

    /// The whole-number columns: draw, attempt, prompt, cached prompt and reply tokens, latency, creation.
    fn numbers(&self) -> [i64; 7] {
        let Usage { prompt_tokens, cached_prompt_tokens, completion_tokens } = self.reply.usage;
        [
            i64::from(self.label.draw),
            i64::from(self.label.attempt),
            to_sql(prompt_tokens),
            to_sql(cached_prompt_tokens),
            to_sql(completion_tokens),
            to_sql(self.reply.latency_ms),
            to_sql(self.created_at),
        ]
    }

    /// Stores it if its key is new; true if it was.
    pub(crate) fn insert(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let [draw, attempt, prompt, cached_prompt, completion, latency, created_at] = self.numbers();
        let logprobs = self.logprobs();
        let changed = connection.prepare_cached(INSERT_NEW)?.execute(params![
            self.key.as_bytes(),
            self.label.kind,
            self.label.judge,
            self.label.role,
            draw,
            attempt,
            self.reply.finish_reason,
            self.reply.model,
            prompt,
            cached_prompt,
            completion,
            latency,
            created_at,
            self.digest(logprobs.as_deref()),
            self.reply.content,
            logprobs,
        ])?;
        Ok(changed == 1)
    }

    /// True if both say the same; when they were stored and how long they took does not count.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        self.reply.content == other.reply.content && self.reply.finish_reason == other.reply.finish_reason
    }
}

fn hash_text(hasher: &mut blake3::Hasher, text: Option<&str>) {
    match text {
        None => {
            hasher.update(&u64::MAX.to_le_bytes());
        }
        Some(text) => {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
}

/// SQLite's integers are signed; what a server claims beyond 2^63 - 1 is stored as that.
fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Milliseconds since 1970 (UTC).
pub(crate) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A row of `replies`: whole, or damaged in a way that SQLite did not notice.
pub(crate) enum StoredRow {
    /// As it was written.
    Whole(Box<Entry>),
    /// Its digest does not fit, or a column has another type.
    Damaged,
}

impl StoredRow {
    /// Reads a row that was selected with the columns of this module.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        match read_entry(row) {
            Ok((mut entry, Check { digest, logprobs })) if entry.digest(logprobs.as_deref()) == digest => {
                let Ok(tokens) = logprobs.as_deref().map(serde_json::from_str).transpose() else {
                    return Ok(Self::Damaged);
                };
                entry.reply.logprobs = tokens;
                Ok(Self::Whole(Box::new(entry)))
            }
            Err(error @ rusqlite::Error::SqliteFailure(..)) => Err(error),
            Ok(_) | Err(_) => Ok(Self::Damaged),
        }
    }
}

/// What a row is checked by before it is believed.
struct Check {
    digest: i64,
    logprobs: Option<String>,
}

fn read_entry(row: &Row<'_>) -> rusqlite::Result<(Entry, Check)> {
    let unsigned = |index: usize| -> rusqlite::Result<u64> { Ok(row.get::<_, i64>(index)?.try_into().unwrap_or(0)) };
    let label =
        CallLabel { kind: row.get(1)?, judge: row.get(2)?, role: row.get(3)?, draw: row.get(4)?, attempt: row.get(5)? };
    let usage =
        Usage { prompt_tokens: unsigned(8)?, cached_prompt_tokens: unsigned(9)?, completion_tokens: unsigned(10)? };
    let reply = JudgeReply {
        content: row.get(14)?,
        finish_reason: row.get(6)?,
        model: row.get(7)?,
        logprobs: None,
        usage,
        latency_ms: unsigned(11)?,
        note: None,
        cached: true,
    };
    let key = Fingerprint::from(row.get::<_, [u8; 32]>(0)?);
    let check = Check { digest: row.get(13)?, logprobs: row.get(15)? };
    Ok((Entry { key, label, reply, created_at: unsigned(12)? }, check))
}

/// The reply of that key.
pub(crate) fn find(connection: &Connection, key: &Fingerprint) -> rusqlite::Result<Option<StoredRow>> {
    connection.prepare_cached(SELECT_ONE)?.query_row([key.as_bytes()], StoredRow::read).optional()
}

/// Rows read at a time where all are walked: a reader that holds no transaction for long holds no log back.
const PAGE: i64 = 256;

/// Calls `visit` with every row and its rowid in the order they were stored.
pub(crate) fn for_each(
    connection: &Connection,
    path: &Path,
    mut visit: impl FnMut(i64, StoredRow) -> Result<()>,
) -> Result<()> {
    let mut last = i64::MIN;
    loop {
        let page = page_after(connection, path, last)?;
        let Some((end, _)) = page.last() else { return Ok(()) };
        last = *end;
        for (rowid, row) in page {
            visit(rowid, row)?;
        }
    }
}

/// The next rows after a rowid; none at the end.
pub(crate) fn page_after(connection: &Connection, path: &Path, after: i64) -> Result<Vec<(i64, StoredRow)>> {
    let page = read_page(connection, after).map_err(|error| explain(path, "read its entries", &error))?;
    let rowids = std::iter::once(after).chain(page.iter().map(|(rowid, _)| *rowid));
    if rowids.is_sorted_by(|a, b| a < b) {
        return Ok(page);
    }
    Err(fault(path, "its rows are out of order: the file is damaged; move it away or name another with --cache"))
}

fn read_page(connection: &Connection, after: i64) -> rusqlite::Result<Vec<(i64, StoredRow)>> {
    let sql = if lacks_logprobs(connection)? { SELECT_PAGE_1 } else { SELECT_PAGE };
    let mut select = connection.prepare_cached(sql)?;
    let rows = select.query_map([after, PAGE], |row| Ok((row.get(16)?, StoredRow::read(row)?)))?;
    rows.collect()
}

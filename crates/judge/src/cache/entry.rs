//! A stored reply: its JSON, its digest, its row.
//!
//! Entries are JSON and not columns, so that `sqlite3` and `jq` read them and a new field needs no new schema. The row's key
//! decides where an entry is found, and the key inside its JSON whether it is the right one.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use crate::JudgeRequest;
use scholareval_core::domain::{Fingerprint, JudgeReply};

const SELECT_ONE: &str = "SELECT digest, entry FROM replies WHERE key = ?1";
const SELECT_ALL: &str = "SELECT digest, entry FROM replies ORDER BY rowid";
const INSERT_NEW: &str =
    "INSERT INTO replies (key, digest, entry) VALUES (?1, ?2, ?3) ON CONFLICT (key) DO NOTHING";

/// The models whose replies may be used. A reply that names no model always may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Models {
    /// Any.
    Any,
    /// These.
    Only(BTreeSet<String>),
}

impl Models {
    /// Whether this reply may be used.
    pub fn allow(&self, reply: &JudgeReply) -> bool {
        let Self::Only(models) = self else {
            return true;
        };
        reply
            .answering_model()
            .is_none_or(|model| models.contains(model))
    }
}

/// What a stored reply answers; for people who look into the cache, not part of its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallLabel {
    /// Name of the question's [kind](scholareval_core::question::KindInfo).
    pub kind: String,
    /// Identity of the judge.
    pub judge: String,
    /// Name of the [`Role`](scholareval_core::domain::Role).
    pub role: String,
    /// 0-based sample. Caches that were filled before the first release have it as `draw`.
    #[serde(alias = "draw")]
    pub sample: u32,
    /// 0-based attempt.
    pub attempt: u32,
}

impl CallLabel {
    /// The label of a request to the judge of that identity.
    pub fn of(request: &JudgeRequest, judge: &str) -> Self {
        Self {
            kind: request.call.question.info().name.to_owned(),
            judge: judge.to_owned(),
            role: request.call.role.name().into_owned(),
            sample: request.call.sample,
            attempt: request.attempt,
        }
    }
}

/// A reply with its key and label; stored and exported as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The cache key.
    pub key: Fingerprint,
    /// What it answers.
    #[serde(flatten)]
    pub label: CallLabel,
    /// Seconds since 1970 (UTC).
    pub created_at: u64,
    /// The raw reply, with `cached: true`.
    pub reply: JudgeReply,
}

impl Entry {
    /// An entry created now.
    pub fn new(key: Fingerprint, label: CallLabel, reply: JudgeReply) -> Self {
        let created_at = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        Self {
            key,
            label,
            created_at,
            reply: JudgeReply {
                cached: true,
                ..reply
            },
        }
    }

    /// Stores it unless its key has a reply of the same model; true if it was stored.
    pub(super) fn insert(&self, connection: &Connection) -> rusqlite::Result<bool> {
        // The first reply stays: a result that was reported must be found again, even if the same
        // call would be answered differently today.
        if self.insert_at(self.key.as_bytes(), connection)? {
            return Ok(true);
        }
        let model = self.reply.answering_model();
        match find_at(connection, self.key.as_bytes(), &self.key)? {
            Some(Ok(first)) if first.reply.answering_model() != model => {
                self.insert_at(&row_of_model(&self.key, model), connection)
            }
            _ => Ok(false),
        }
    }

    /// Stores it in the row of that key if there is none; true if there was none.
    fn insert_at(&self, row: &[u8; 32], connection: &Connection) -> rusqlite::Result<bool> {
        let json = serde_json::to_string(self)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        let values = params![row, digest(&json), json];
        Ok(connection.prepare_cached(INSERT_NEW)?.execute(values)? == 1)
    }

    /// The reply of the same model that is stored under its key.
    pub(super) fn find_same_model(
        &self,
        connection: &Connection,
    ) -> rusqlite::Result<Option<Result<Self, Damaged>>> {
        let model = self.reply.answering_model();
        let first = find_at(connection, self.key.as_bytes(), &self.key)?;
        match first {
            Some(Ok(first)) if first.reply.answering_model() != model => {
                find_at(connection, &row_of_model(&self.key, model), &self.key)
            }
            first => Ok(first),
        }
    }

    /// True if both replies have the same text and end; when they came and what they cost does not count.
    pub(super) fn has_same_reply(&self, other: &Self) -> bool {
        self.reply.content == other.reply.content
            && self.reply.finish_reason == other.reply.finish_reason
    }
}

/// 64 bits of blake3: finds damage that SQLite cannot see, such as a page of zeros inside a long reply.
fn digest(json: &str) -> i64 {
    let hash = blake3::hash(json.as_bytes());
    hash.as_bytes()
        .first_chunk()
        .map_or(0, |bytes| i64::from_le_bytes(*bytes))
}

/// A row of `replies` whose digest does not fit, or a column of which has another type.
pub(super) struct Damaged;

/// Reads the columns `digest, entry`.
fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Result<Entry, Damaged>> {
    let Ok(expected) = row.get_ref(0)?.as_i64() else {
        return Ok(Err(Damaged));
    };
    let Ok(json) = row.get_ref(1)?.as_str() else {
        return Ok(Err(Damaged));
    };
    if digest(json) != expected {
        return Ok(Err(Damaged));
    }
    Ok(serde_json::from_str(json).map_err(|_| Damaged))
}

/// Where a key's reply is stored if the row of the key itself has one of another model. The model is no part of the key,
/// since it is known only when the reply is there.
fn row_of_model(key: &Fingerprint, model: Option<&str>) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(key.as_bytes());
    hasher.update(model.unwrap_or_default().as_bytes());
    *hasher.finalize().as_bytes()
}

/// What is stored under a key.
#[expect(
    clippy::large_enum_variant,
    reason = "the large one is the usual one, and is moved once"
)]
pub(super) enum Found {
    Nothing,
    /// Replies, none of which is by one of the models that count.
    OfOtherModels,
    Entry(Entry),
    Damaged,
}

impl From<Result<Entry, Damaged>> for Found {
    fn from(read: Result<Entry, Damaged>) -> Self {
        read.map_or(Self::Damaged, Self::Entry)
    }
}

/// The first entry of that key that is by one of these models.
pub(super) fn find(
    connection: &Connection,
    key: &Fingerprint,
    models: &Models,
) -> rusqlite::Result<Found> {
    let first = match find_at(connection, key.as_bytes(), key)? {
        None => return Ok(Found::Nothing),
        Some(Err(Damaged)) => return Ok(Found::Damaged),
        Some(Ok(first)) => first,
    };
    let others = match models {
        Models::Only(names) if !models.allow(&first.reply) => names,
        _ => return Ok(Found::Entry(first)),
    };
    for name in others {
        if let Some(entry) = find_at(connection, &row_of_model(key, Some(name)), key)? {
            return Ok(entry.into());
        }
    }
    // A reply that names no model always counts.
    let unnamed = find_at(connection, &row_of_model(key, None), key)?;
    Ok(unnamed.map_or(Found::OfOtherModels, Found::from))
}

/// The entry in that row, which is one of that key: one that the index found for another key is damaged.
fn find_at(
    connection: &Connection,
    row: &[u8; 32],
    key: &Fingerprint,
) -> rusqlite::Result<Option<Result<Entry, Damaged>>> {
    let stored = connection
        .prepare_cached(SELECT_ONE)?
        .query_row([row], read)
        .optional()?;
    match stored {
        Some(Ok(entry)) if entry.key != *key => Ok(Some(Err(Damaged))),
        stored => Ok(stored),
    }
}

/// Calls `visit` with every row, in the order they were stored, up to its first error, which is the inner one.
pub(super) fn for_each<E>(
    connection: &Connection,
    mut visit: impl FnMut(Result<Entry, Damaged>) -> Result<(), E>,
) -> rusqlite::Result<Result<(), E>> {
    let mut select = connection.prepare(SELECT_ALL)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        if let Err(error) = visit(read(row)?) {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}

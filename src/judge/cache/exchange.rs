//! A cache as JSON lines (`scholareval cache export`), and storing many entries at once.
//!
//! One object a line, keys in this order: `schema` (1), `key` (64 hexadecimal digits), `kind`, `judge`, `role`, `draw`,
//! `attempt`, `finish_reason` (or null), `model` (or null), `prompt_tokens`, `cached_prompt_tokens`,
//! `completion_tokens`, `latency_ms`, `created_at` (unix seconds), `content`, and `logprobs` where the reply has some:
//! `[{token, logprob, top: [[token, logprob], ..]}, ..]`.

use std::io::Write;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};
use serde::Serialize;

use super::file::{self, explain};
use super::record::{self, Entry, StoredRow};
use super::store::Cache;
use crate::domain::{Fingerprint, TokenLogprob};
use crate::error::{Error, Result};

/// Version of the lines.
const LINE_SCHEMA: u32 = 1;

/// What [`Cache::export`] wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// Lines written.
    pub entries: u64,
    /// Entries left out because they are damaged.
    pub damaged: u64,
}

/// How the entries of a source met what was there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TakenOver {
    /// Entries that were new.
    pub added: u64,
    /// Entries whose key was there with the same reply.
    pub known: u64,
    /// Entries whose key was there with another reply, which stays.
    pub conflicts: u64,
}

impl TakenOver {
    pub(super) fn count(&mut self, stored: &Stored) {
        match stored {
            Stored::Added => self.added += 1,
            Stored::Known => self.known += 1,
            Stored::Conflict => self.conflicts += 1,
        }
    }
}

/// How an entry met what was there.
pub(super) enum Stored {
    Added,
    Known,
    Conflict,
}

#[derive(Serialize)]
struct Line {
    schema: u32,
    key: Fingerprint,
    kind: String,
    judge: String,
    role: String,
    draw: u32,
    attempt: u32,
    finish_reason: Option<String>,
    model: Option<String>,
    prompt_tokens: u64,
    cached_prompt_tokens: u64,
    completion_tokens: u64,
    latency_ms: u64,
    created_at: u64,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<Vec<TokenLogprob>>,
}

impl From<Entry> for Line {
    fn from(entry: Entry) -> Self {
        let Entry { key, label, reply, created_at } = entry;
        Self {
            schema: LINE_SCHEMA,
            key,
            kind: label.kind,
            judge: label.judge,
            role: label.role,
            draw: label.draw,
            attempt: label.attempt,
            finish_reason: reply.finish_reason,
            model: reply.model,
            prompt_tokens: reply.usage.prompt_tokens,
            cached_prompt_tokens: reply.usage.cached_prompt_tokens,
            completion_tokens: reply.usage.completion_tokens,
            latency_ms: reply.latency_ms,
            created_at,
            content: reply.content,
            logprobs: reply.logprobs,
        }
    }
}

impl Cache {
    /// Writes every entry as one JSON line, in the order they were stored; `name` stands in errors of `writer`.
    ///
    /// # Errors
    /// [`Error::Cache`] for a damaged file, [`Error::Io`] where `writer` fails.
    pub fn export(&self, writer: &mut dyn Write, name: &Path) -> Result<ExportReport> {
        let connection = file::open_reader(self.path())?;
        let mut report = ExportReport::default();
        record::for_each(&connection, self.path(), |_, row| {
            match row {
                StoredRow::Damaged => report.damaged += 1,
                StoredRow::Whole(entry) => {
                    let mut line = serde_json::to_string(&Line::from(*entry))
                        .map_err(|error| Error::Internal(format!("cannot write an entry as JSON: {error}")))?;
                    line.push('\n');
                    writer.write_all(line.as_bytes()).map_err(Error::io(name, "write"))?;
                    report.entries += 1;
                }
            }
            Ok(())
        })?;
        writer.flush().map_err(Error::io(name, "write"))?;
        Ok(report)
    }
}

/// Stores entries in one transaction; what is there stays.
pub(super) fn store(connection: &mut Connection, path: &Path, entries: &[Entry], report: &mut TakenOver) -> Result<()> {
    let stored = store_all(connection, entries).map_err(|error| explain(path, "store entries", &error))?;
    stored.iter().for_each(|stored| report.count(stored));
    Ok(())
}

fn store_all(connection: &mut Connection, entries: &[Entry]) -> rusqlite::Result<Vec<Stored>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut all = Vec::with_capacity(entries.len());
    for entry in entries {
        all.push(if entry.insert(&transaction)? {
            Stored::Added
        } else {
            match record::find(&transaction, &entry.key)? {
                Some(StoredRow::Whole(known)) if known.says_the_same(entry) => Stored::Known,
                _ => Stored::Conflict,
            }
        });
    }
    transaction.commit()?;
    Ok(all)
}

//! A cache as JSON lines: `scholareval cache export`, and reading such lines again.
//!
//! One object a line, keys in this order: `schema` (1), `key` (64 hexadecimal digits), `kind`, `judge`, `role`, `draw`,
//! `attempt`, `finish_reason` (or null), `model` (or null), `prompt_tokens`, `cached_prompt_tokens`,
//! `completion_tokens`, `latency_ms`, `created_at` (unix seconds), `content`. Unknown fields are let be.

use std::io::{BufRead, Write};
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};
use serde::{Deserialize, Serialize};

use super::file::{self, explain};
use super::record::{self, CallLabel, Entry, StoredRow};
use super::store::Cache;
use crate::domain::{Fingerprint, JudgeReply, Usage};
use crate::error::{Error, InputFault, Result};

/// Version of the lines.
const LINE_SCHEMA: u32 = 1;
/// Entries per transaction when many are stored.
const BATCH: usize = 512;

/// What [`Cache::export`] wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// Lines written.
    pub entries: u64,
    /// Entries left out because they are damaged.
    pub damaged: u64,
}

/// What [`Cache::import_jsonl`] stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Entries that were new.
    pub added: u64,
    /// Entries whose key was there with the same reply.
    pub known: u64,
    /// Entries whose key was there with another reply, which stays.
    pub conflicts: u64,
}

impl ImportReport {
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

#[derive(Serialize, Deserialize)]
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
        }
    }
}

impl From<Line> for Entry {
    fn from(line: Line) -> Self {
        let usage = Usage {
            prompt_tokens: line.prompt_tokens,
            cached_prompt_tokens: line.cached_prompt_tokens,
            completion_tokens: line.completion_tokens,
        };
        let label =
            CallLabel { kind: line.kind, judge: line.judge, role: line.role, draw: line.draw, attempt: line.attempt };
        let reply = JudgeReply {
            content: line.content,
            finish_reason: line.finish_reason,
            model: line.model,
            usage,
            latency_ms: line.latency_ms,
            cached: true,
        };
        Self { key: line.key, label, reply, created_at: line.created_at }
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

    /// Stores the entries of exported lines; entries that are there stay as they are. Empty lines are passed over.
    ///
    /// # Errors
    /// [`Error::Input`] naming `name` and the line for a line of another shape; the lines before it may have been
    /// stored by then, and importing them again does no harm. [`Error::Cache`] where the cache cannot be written.
    pub fn import_jsonl(&self, reader: &mut dyn BufRead, name: &Path) -> Result<ImportReport> {
        let mut connection = file::open_or_create(self.path())?;
        let mut report = ImportReport::default();
        let mut batch = Vec::with_capacity(BATCH);
        let mut bytes = Vec::new();
        let mut number = 0;
        loop {
            bytes.clear();
            let read = reader.read_until(b'\n', &mut bytes).map_err(Error::io(name, "read"))?;
            if read > 0 {
                number += 1;
                batch.extend(parse_line(&bytes, name, number)?);
            }
            if batch.len() >= BATCH || (read == 0 && !batch.is_empty()) {
                store(&mut connection, self.path(), &batch, &mut report)?;
                batch.clear();
            }
            if read == 0 {
                return Ok(report);
            }
        }
    }
}

fn parse_line(bytes: &[u8], name: &Path, number: usize) -> Result<Option<Entry>> {
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    let hint = "remove or mend the line; entries before it need not be imported again";
    let wrong = |what: String| Error::from(InputFault::new(name, what).at_line(number).hint(hint));
    let text = std::str::from_utf8(bytes).map_err(|error| wrong(format!("the line is not UTF-8: {error}")))?;
    let line: Line = serde_json::from_str(text).map_err(|error| wrong(format!("not an exported entry: {error}")))?;
    if line.schema != LINE_SCHEMA {
        return Err(wrong(format!("schema {} is not the one known here, {LINE_SCHEMA}", line.schema)));
    }
    Ok(Some(Entry::from(line)))
}

/// Stores entries in one transaction; what is there stays.
pub(super) fn store(
    connection: &mut Connection,
    path: &Path,
    entries: &[Entry],
    report: &mut ImportReport,
) -> Result<()> {
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

//! Reads the records of an index of works that references may mean.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::{FREQUENT, MORE_AUTHORS, with_large_cache};
use crate::keys::Key;
use crate::wanted::WantedWorks;
use scholareval_core::domain::{PersonName, Retraction, WorkRecord, WorkSource};
use scholareval_core::error::Result;
use scholareval_core::files::sqlite::WORKS_INDEX;
use scholareval_core::text::identifiers::WorkIdentifier;

/// Records with one key, or with the same rare words, that are compared: "Introduction" is the title of a million works.
const COMPARED: usize = 1000;

/// Look-ups for which a connection is opened.
const CHUNK: usize = 256;

/// Offers the records that may be meant to the references; gives the records that the index holds, by source.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn offer_records(
    path: &Path,
    wanted: &WantedWorks,
) -> Result<BTreeMap<WorkSource, u64>> {
    // Each key once, however often its work is cited.
    let mut keys: Vec<(&str, Key)> = Vec::new();
    for cited in wanted.cited() {
        keys.extend(cited.identifiers().map(|key| ("identifiers", key)));
        keys.extend(cited.titles().into_iter().map(|key| ("titles", key)));
    }
    keys.sort_unstable();
    keys.dedup();
    on_all_cores(path, &keys, |index, (table, key)| {
        index.offer_by_key(table, *key, wanted)
    })?;
    let similar = Vec::from_iter(wanted.similar_titles());
    on_all_cores(path, &similar, |index, words| {
        index.offer_by_words(words, wanted)
    })?;
    WorksIndex::open(path)?.sources()
}

/// Replaces the counts of words by how many titles of these indexes have them.
///
/// # Errors
/// When one cannot be read.
pub(crate) fn count_in_indexes(paths: &[PathBuf], counts: &mut HashMap<String, u64>) -> Result<()> {
    counts.values_mut().for_each(|count| *count = 0);
    for path in paths {
        let index = WorksIndex::open(path)?;
        for (word, count) in &mut *counts {
            let titles = index.titles_with(word);
            *count += titles.map_err(|error| WORKS_INDEX.unusable(path, "read", &error))?;
        }
    }
    Ok(())
}

/// The hashes of the files that were read into an index, in their order.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn files_of_index(path: &Path) -> Result<Vec<Vec<u8>>> {
    let index = WorksIndex::open(path)?;
    index.rows("SELECT hash FROM inputs ORDER BY hash", |row| row.get(0))
}

/// Looks each of these up, on all cores.
fn on_all_cores<T: Sync>(
    path: &Path,
    sought: &[T],
    look_up: impl Fn(&WorksIndex<'_>, &T) -> rusqlite::Result<()> + Sync,
) -> Result<()> {
    sought.par_chunks(CHUNK).try_for_each(|chunk| {
        let index = WorksIndex::open(path)?;
        let mut looked_up = chunk.iter().map(|sought| look_up(&index, sought));
        let done = looked_up.try_for_each(|done| done);
        done.map_err(|error| WORKS_INDEX.unusable(path, "read", &error))
    })
}

/// An index, open for reading.
struct WorksIndex<'a> {
    connection: Connection,
    path: &'a Path,
}

impl<'a> WorksIndex<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        Ok(Self {
            connection: with_large_cache(WORKS_INDEX.open_to_read(path)?, path)?,
            path,
        })
    }

    /// The records per source.
    fn sources(&self) -> Result<BTreeMap<WorkSource, u64>> {
        let rows: Vec<(String, i64)> = self.rows("SELECT source, works FROM sources", |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        let mut sources = BTreeMap::new();
        for (name, works) in rows {
            if let Some(source) = WorkSource::from_name(&name) {
                sources.insert(source, works.unsigned_abs());
            }
        }
        Ok(sources)
    }

    /// All rows of a query.
    fn rows<T>(&self, sql: &str, read: impl Fn(&Row<'_>) -> rusqlite::Result<T>) -> Result<Vec<T>> {
        let rows = || -> rusqlite::Result<Vec<T>> {
            let mut query = self.connection.prepare(sql)?;
            query.query_map([], |row| read(row))?.collect()
        };
        rows().map_err(|error| WORKS_INDEX.unusable(self.path, "read", &error))
    }

    /// Offers the records with a key.
    fn offer_by_key(&self, table: &str, key: Key, wanted: &WantedWorks) -> rusqlite::Result<()> {
        let sql = format!(
            "SELECT works.* FROM (SELECT work FROM {table} WHERE key = ?1 LIMIT ?2) AS found \
             JOIN works ON works.id = found.work"
        );
        self.offer(&sql, &key.cast_signed(), wanted)
    }

    /// Offers the records whose titles have all of these words.
    fn offer_by_words(&self, words: &[&str], wanted: &WantedWorks) -> rusqlite::Result<()> {
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        self.offer(
            "SELECT works.* FROM (SELECT rowid FROM words WHERE words MATCH ?1 LIMIT ?2) AS found \
             JOIN works ON works.id = found.rowid",
            &quoted.join(" AND "),
            wanted,
        )
    }

    fn offer(
        &self,
        sql: &str,
        sought: &dyn rusqlite::ToSql,
        wanted: &WantedWorks,
    ) -> rusqlite::Result<()> {
        let mut query = self.connection.prepare_cached(sql)?;
        let mut rows = query.query(rusqlite::params![sought, COMPARED as i64])?;
        while let Some(row) = rows.next()? {
            wanted.offer(&record_of(row)?);
        }
        Ok(())
    }

    /// How many titles have a word. Only frequent words are counted.
    fn titles_with(&self, word: &str) -> rusqlite::Result<u64> {
        let count: Option<i64> = self
            .connection
            .prepare_cached("SELECT works FROM frequent_words WHERE word = ?1")?
            .query_row([word], |row| row.get(0))
            .optional()?;
        Ok(count.map_or(FREQUENT.unsigned_abs() - 1, i64::unsigned_abs))
    }
}

fn record_of(row: &Row<'_>) -> rusqlite::Result<WorkRecord> {
    let code: i64 = row.get("source")?;
    let source = usize::try_from(code)
        .ok()
        .and_then(|code| WorkSource::ALL.get(code).copied());
    let unknown = || rusqlite::Error::IntegralValueOutOfRange(1, code);
    let mut record = WorkRecord::new(source.ok_or_else(unknown)?);
    let authors: String = row.get("authors")?;
    let authors: Vec<(String, String)> = serde_json::from_str(&authors).unwrap_or_default();
    let retraction: Option<String> = row.get("retraction")?;
    record.id = row.get("work")?;
    record.title = row.get("title")?;
    record.subtitle = row.get("subtitle")?;
    for (family, given) in authors {
        record.authors.push(PersonName { family, given });
    }
    if record
        .authors
        .pop_if(|name| name.family == MORE_AUTHORS && name.given.is_empty())
        .is_some()
    {
        record.has_more_authors = true;
    }
    // An index of before has no such column.
    let other_ids: Option<String> = row.get("other_ids").unwrap_or_default();
    let keys = other_ids.as_deref().unwrap_or_default().split(' ');
    record.other_ids = keys.filter_map(WorkIdentifier::from_key).collect();
    record.year = row.get("year")?;
    record.venue = row.get("venue")?;
    record.doi = row.get("doi")?;
    record.arxiv = row.get("arxiv")?;
    record.pmid = row.get("pmid")?;
    record.is_preprint = row.get("is_preprint")?;
    record.retraction = retraction.and_then(|json| serde_json::from_str::<Retraction>(&json).ok());
    // Written once: the id in the source is the identifier.
    if record.source == WorkSource::Crossref && record.doi.is_none() {
        // A DOI of arXiv is the id of the paper here, too.
        let doi = record.id.clone();
        record.take_identifiers(&doi);
    }
    if record.source == WorkSource::Arxiv && record.arxiv.is_none() {
        record.arxiv = Some(record.id.clone());
    }
    Ok(record)
}

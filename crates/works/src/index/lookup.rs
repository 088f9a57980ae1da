//! Looks references up in an index of works.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::{Connection, OptionalExtension as _, Row};

use super::{FREQUENT, MORE_AUTHORS, with_large_cache};
use crate::keys::{Key, RecordTitle, SoughtWork};
use crate::wanted::WantedWorks;
use scholareval_core::domain::{PersonName, Retraction, WorkRecord, WorkSource};
use scholareval_core::error::{Error, Result};
use scholareval_core::files::sqlite::WORKS_INDEX;
use scholareval_core::text::identifiers::WorkIdentifier;

/// Records with one key, or with the same rare words, that are compared: "Introduction" is the title of a million works.
const COMPARED: usize = 1000;

/// Looks the references up on all cores; gives the records that the index holds, by source.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn look_up(path: &Path, wanted: &WantedWorks) -> Result<BTreeMap<WorkSource, u64>> {
    let next = AtomicUsize::new(0);
    let failure: Mutex<Option<Error>> = Mutex::new(None);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let index = WorksIndex::open(path)?;
    std::thread::scope(|scope| {
        for _ in 1..threads.min(wanted.len()) {
            scope.spawn(|| {
                let worked = WorksIndex::open(path).and_then(|index| index.work(wanted, &next));
                if let (Err(error), Ok(mut failure)) = (worked, failure.lock()) {
                    failure.get_or_insert(error);
                }
            });
        }
        if let (Err(error), Ok(mut failure)) = (index.work(wanted, &next), failure.lock()) {
            failure.get_or_insert(error);
        }
    });
    match failure.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => index.sources(),
    }
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

    /// Looks references up until there are none left.
    fn work(&self, wanted: &WantedWorks, next: &AtomicUsize) -> Result<()> {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= wanted.len() {
                return Ok(());
            }
            let offered = self.offer_matches(index, wanted);
            offered.map_err(|error| WORKS_INDEX.unusable(self.path, "read", &error))?;
        }
    }

    /// The records per source.
    fn sources(&self) -> Result<BTreeMap<WorkSource, u64>> {
        let read = |query: &mut rusqlite::Statement<'_>| {
            query
                .query_map([], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
                })?
                .collect::<rusqlite::Result<Vec<_>>>()
        };
        let rows = self
            .connection
            .prepare("SELECT source, works FROM sources")
            .and_then(|mut query| read(&mut query))
            .map_err(|error| WORKS_INDEX.unusable(self.path, "read", &error))?;
        let mut sources = BTreeMap::new();
        for (name, works) in rows {
            if let Some(source) = WorkSource::from_name(&name) {
                sources.insert(source, works.unsigned_abs());
            }
        }
        Ok(sources)
    }

    /// Gives a reference the records that it may mean.
    fn offer_matches(&self, index: usize, wanted: &WantedWorks) -> rusqlite::Result<()> {
        let sought = wanted.sought(index);
        for key in sought.identifiers() {
            self.offer_by_key("identifiers", key, index, wanted)?;
        }
        for key in sought.titles() {
            self.offer_by_key("titles", key, index, wanted)?;
        }
        if wanted.has_title(index) || sought.key.is_empty() {
            return Ok(());
        }
        for words in self.rare_words(sought)? {
            let query = words.join(" AND ");
            self.offer(
                "SELECT works.* FROM (SELECT rowid FROM words WHERE words MATCH ?1 LIMIT ?2) AS found \
                 JOIN works ON works.id = found.rowid",
                &query,
                index,
                wanted,
            )?;
        }
        Ok(())
    }

    fn offer_by_key(
        &self,
        table: &str,
        key: Key,
        index: usize,
        wanted: &WantedWorks,
    ) -> rusqlite::Result<()> {
        let sql = format!(
            "SELECT works.* FROM (SELECT work FROM {table} WHERE key = ?1 LIMIT ?2) AS found \
             JOIN works ON works.id = found.work"
        );
        self.offer(&sql, &key.cast_signed(), index, wanted)
    }

    fn offer(
        &self,
        sql: &str,
        sought: &dyn rusqlite::ToSql,
        index: usize,
        wanted: &WantedWorks,
    ) -> rusqlite::Result<()> {
        let mut query = self.connection.prepare_cached(sql)?;
        let mut rows = query.query(rusqlite::params![sought, COMPARED as i64])?;
        while let Some(row) = rows.next()? {
            let record = record_of(row)?;
            let title = RecordTitle::of(&record);
            wanted.offer_to(index, &record, &title);
        }
        Ok(())
    }

    /// The three rarest words of a title in quotes, and each two of them. Two words that are both frequent are left out:
    /// their titles are too many to be compared.
    fn rare_words(&self, sought: &SoughtWork) -> rusqlite::Result<Vec<Vec<String>>> {
        let mut counts = BTreeMap::new();
        for word in sought.words() {
            counts.insert(word, self.occurrences(word)?);
        }
        let rare = sought.rare_words(|word| counts.get(word).copied().unwrap_or_default());
        let quoted: Vec<String> = rare.iter().map(|word| format!("\"{word}\"")).collect();
        let mut queries = Vec::new();
        if quoted.len() > 2 {
            queries.push(quoted.clone());
        }
        for (first, word) in quoted.iter().enumerate() {
            for second in &quoted[first + 1..] {
                queries.push(vec![word.clone(), second.clone()]);
            }
        }
        Ok(queries)
    }

    /// How many titles have a word, if they are many.
    fn occurrences(&self, word: &str) -> rusqlite::Result<u64> {
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

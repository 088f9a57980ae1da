//! Makes an index of works, or adds to one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, ToSql, params};

use super::{FREQUENT, MORE_AUTHORS, TABLES, with_large_cache};
use crate::content::hash_of;
use crate::dumps::{WorksFile, files_of};
use crate::keys::{RecordTitle, identifiers_of_record};
use crate::normalize::words;
use crate::scan::{WorksDump, scan};
use scholareval_core::domain::{PersonName, WorkRecord, WorkSource};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::sqlite::{SqliteForm, WORKS_INDEX, insert};
use scholareval_core::text::identifiers::WorkIdentifier;

/// Bytes at the beginning and at the end of a file by which it is known again.
const KNOWN_BYTES: u64 = 1 << 20;

/// Authors of a record that are kept: a paper of a collaboration has thousands, and references name the first ones.
const AUTHORS_KEPT: usize = 40;

/// What the indexing of works did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorksIndexReport {
    /// Records added, by source.
    pub added: Vec<(WorkSource, u64)>,
    /// Files whose records the index had.
    pub known_files: u64,
    /// Records of the index now.
    pub total: u64,
    /// Broken records that were left out.
    pub broken: u64,
    /// The first of them.
    pub faults: Vec<InputFault>,
}

/// Reads files of works into the index at `out`, which is made if there is none. Files whose records it has are skipped.
/// All records are added, or none. `on_bytes` gets the bytes read and all bytes there are.
///
/// # Errors
/// A source of unknown form, one that is broken by more than 1%; a file at `out` that is not an index of this version, or
/// cannot be written.
pub fn index_works(
    sources: &[PathBuf],
    out: &Path,
    on_bytes: &(dyn Fn(u64, u64) + Sync),
) -> Result<WorksIndexReport> {
    let is_new = !out.exists();
    let indexed = index_into(sources, out, on_bytes);
    if is_new && indexed.is_err() {
        SqliteForm::remove_unwritten(out);
    }
    indexed
}

fn index_into(
    sources: &[PathBuf],
    out: &Path,
    on_bytes: &(dyn Fn(u64, u64) + Sync),
) -> Result<WorksIndexReport> {
    let mut dumps = Vec::new();
    for source in sources {
        dumps.push(WorksDump {
            path: source.clone(),
            files: files_of(source)?,
        });
    }
    let writer = IndexWriter::begin(out)?;
    let mut report = WorksIndexReport::default();
    for dump in &mut dumps {
        let before = dump.files.len();
        dump.files = writer.new_files(std::mem::take(&mut dump.files))?;
        report.known_files += (before - dump.files.len()) as u64;
    }
    let writer = Mutex::new(writer);
    let take = |record: WorkRecord| {
        if record.title.is_empty() && identifiers_of_record(&record).next().is_none() {
            return Ok(());
        }
        // Outside of the lock: it is half of the work.
        let row = NewWork::of(record);
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.add(&row)
    };
    let scanned = scan(&dumps, &take, on_bytes)?;
    let writer = writer.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.added = writer.added.clone().into_iter().collect();
    report.total = writer.finish()?;
    report.broken = scanned.broken;
    report.faults = scanned.faults;
    Ok(report)
}

/// A record with all that is made of it.
struct NewWork {
    record: WorkRecord,
    authors: String,
    retraction: Option<String>,
    identifiers: Vec<i64>,
    titles: Vec<i64>,
    words: String,
}

impl NewWork {
    fn of(mut record: WorkRecord) -> Self {
        record.has_more_authors |= record.authors.len() > AUTHORS_KEPT;
        record.authors.truncate(AUTHORS_KEPT);
        let title = RecordTitle::of(&record);
        let mut names: Vec<[&str; 2]> = record.authors.iter().map(name_pair).collect();
        if record.has_more_authors {
            names.push([MORE_AUTHORS, ""]);
        }
        let identifiers = identifiers_of_record(&record)
            .map(u64::cast_signed)
            .collect();
        let keys = title.keys();
        let retraction = record.retraction.as_ref();
        Self {
            // Texts are always written.
            authors: serde_json::to_string(&names).unwrap_or_default(),
            retraction: retraction.and_then(|notice| serde_json::to_string(notice).ok()),
            identifiers,
            titles: keys.into_iter().map(u64::cast_signed).collect(),
            words: words(&title.folded).join(" "),
            record,
        }
    }
}

fn name_pair(name: &PersonName) -> [&str; 2] {
    [&name.family, &name.given]
}

/// Writes an index, in one transaction.
struct IndexWriter {
    connection: Connection,
    path: PathBuf,
    last: i64,
    added: BTreeMap<WorkSource, u64>,
}

impl IndexWriter {
    fn begin(path: &Path) -> Result<Self> {
        let connection = WORKS_INDEX.begin_to_write(path, TABLES)?;
        let mut writer = Self {
            connection: with_large_cache(connection, path)?,
            path: path.to_path_buf(),
            last: 0,
            added: BTreeMap::new(),
        };
        // Keys are sorted before they are written: each of them would change another page of the tree.
        writer.run(
            "CREATE TEMP TABLE new_identifiers (key INTEGER, work INTEGER);
             CREATE TEMP TABLE new_titles (key INTEGER, work INTEGER);",
        )?;
        // An index of before has no such column.
        if writer
            .number("SELECT count(*) FROM pragma_table_info('works') WHERE name = 'other_ids'")?
            == 0
        {
            writer.run("ALTER TABLE works ADD COLUMN other_ids TEXT")?;
        }
        writer.last = writer.number("SELECT ifnull(max(id), 0) FROM works")?;
        Ok(writer)
    }

    /// The files that the index does not have; notes them.
    fn new_files(&self, files: Vec<WorksFile>) -> Result<Vec<WorksFile>> {
        let mut new = Vec::new();
        for file in files {
            // Dumps of 100 GB are not read twice for it.
            let hash = hash_of(&file, 2, KNOWN_BYTES).map_err(Error::io(&file.path, "read"))?;
            let path = file.path.display().to_string();
            let input: [(&str, &dyn ToSql); 2] = [("hash", hash.as_bytes()), ("path", &path)];
            let added = insert(&self.connection, "inputs", &input);
            if added.map_err(|error| self.unwritten(&error))? {
                new.push(file);
            }
        }
        Ok(new)
    }

    fn add(&mut self, work: &NewWork) -> Result<()> {
        self.last += 1;
        *self.added.entry(work.record.source).or_default() += 1;
        self.insert(work).map_err(|error| self.unwritten(&error))
    }

    fn insert(&self, work: &NewWork) -> rusqlite::Result<()> {
        let record = &work.record;
        let id = self.last;
        let not_id = |value: &Option<String>| value.clone().filter(|value| *value != record.id);
        let other_ids: Vec<String> = record.other_ids.iter().map(WorkIdentifier::key).collect();
        insert(
            &self.connection,
            "works",
            &[
                ("id", &id),
                ("source", &source_code(record.source)),
                ("work", &record.id),
                ("title", &record.title),
                ("subtitle", &record.subtitle),
                ("authors", &work.authors),
                ("year", &record.year),
                ("venue", &record.venue),
                ("doi", &not_id(&record.doi)),
                ("arxiv", &not_id(&record.arxiv)),
                ("pmid", &record.pmid),
                ("is_preprint", &record.is_preprint),
                ("retraction", &work.retraction),
                (
                    "other_ids",
                    &(!other_ids.is_empty()).then(|| other_ids.join(" ")),
                ),
            ],
        )?;
        for (table, keys) in [
            ("new_identifiers", &work.identifiers),
            ("new_titles", &work.titles),
        ] {
            let sql = format!("INSERT INTO temp.{table} (key, work) VALUES (?1, ?2)");
            let mut insert = self.connection.prepare_cached(&sql)?;
            for key in keys {
                insert.execute([*key, id])?;
            }
        }
        self.connection
            .prepare_cached("INSERT INTO words (rowid, title) VALUES (?1, ?2)")?
            .execute(params![id, work.words])?;
        Ok(())
    }

    /// Writes the keys and what is counted; gives the number of records.
    fn finish(self) -> Result<u64> {
        for (source, count) in &self.added {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            self.connection
                .execute(
                    "INSERT INTO sources (source, works) VALUES (?1, ?2) \
                     ON CONFLICT (source) DO UPDATE SET works = works + excluded.works",
                    params![source.name(), count],
                )
                .map_err(|error| self.unwritten(&error))?;
        }
        self.run(&format!(
            "INSERT OR IGNORE INTO identifiers SELECT key, work FROM temp.new_identifiers ORDER BY key, work;
             INSERT OR IGNORE INTO titles SELECT key, work FROM temp.new_titles ORDER BY key, work;
             CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'words', 'row');
             DELETE FROM frequent_words;
             INSERT INTO frequent_words SELECT term, doc FROM temp.vocabulary WHERE doc >= {FREQUENT};"
        ))?;
        let total = self.number("SELECT ifnull(sum(works), 0) FROM sources")?;
        if total == 0 {
            let fault = InputFault::new(&self.path, "the sources hold no work");
            return Err(fault.refuse("check that they are dumps of works"));
        }
        WORKS_INDEX.commit(&self.path, &self.connection)?;
        Ok(total.unsigned_abs())
    }

    fn run(&self, sql: &str) -> Result<()> {
        let done = self.connection.execute_batch(sql);
        done.map_err(|error| self.unwritten(&error))
    }

    fn number(&self, sql: &str) -> Result<i64> {
        let number = self.connection.query_row(sql, [], |row| row.get(0));
        number.map_err(|error| self.unwritten(&error))
    }

    fn unwritten(&self, error: &rusqlite::Error) -> Error {
        WORKS_INDEX.unusable(&self.path, "write", error)
    }
}

/// The number of a source in the table of records: its name would be a tenth of the file.
fn source_code(source: WorkSource) -> i64 {
    let place = WorkSource::ALL.iter().position(|other| *other == source);
    place.map_or(-1, |place| place as i64)
}

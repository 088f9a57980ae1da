//! Reads files of works once, on all cores, and gives each record to a taker.
//!
//! A packed file is read by one thread; a long one that is not packed is cut into ranges at line ends. Memory is one record
//! for each thread. Broken records are counted for each source that the user named; a source of which more than 1% is
//! broken is hardly what its form says.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::dumps::{WorksFile, WorksForm, form_of, open, open_plain};
use super::forms::DumpForm;
use super::items::{ListReader, RECORD_BYTES, RawRecord, RecordLayout};
use super::references::load_library;
use scholareval_core::domain::{WorkRecord, WorkSource};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::streams::read_line;
use scholareval_core::files::{HOPELESS_FAULTS, KEPT_FAULTS, newlines, too_many_broken};

/// Bytes of a file that one thread reads at a time, if the file is not packed.
const RANGE_BYTES: u64 = 64 << 20;

/// Between two reports of progress.
const TICK: Duration = Duration::from_millis(200);

/// What was read.
#[derive(Debug, Default)]
pub(super) struct ScanReport {
    /// Records by source.
    pub(super) records: BTreeMap<WorkSource, u64>,
    /// Broken records that were left out.
    pub(super) broken: u64,
    /// The first of them.
    pub(super) faults: Vec<InputFault>,
}

/// A source that the user named, with its files.
#[derive(Debug)]
pub(super) struct WorksDump {
    pub(super) path: PathBuf,
    pub(super) files: Vec<WorksFile>,
}

/// A file or a range of one.
struct ScanTask<'a> {
    dump: usize,
    path: &'a Path,
    /// First and last byte of a range; the lines that begin in it are read.
    range: Option<(u64, u64)>,
}

/// Takes records from several threads.
pub(super) type RecordTaker<'a> = &'a (dyn Fn(WorkRecord) -> Result<()> + Sync);

/// Reads the files of dumps. `on_bytes` gets the bytes read and all bytes there are.
///
/// # Errors
/// A file that cannot be read or has none of the forms; a source that is broken by more than 1%; an error of `take`.
pub(super) fn scan(
    dumps: &[WorksDump],
    take: RecordTaker<'_>,
    on_bytes: &(dyn Fn(u64, u64) + Sync),
) -> Result<ScanReport> {
    let total: u64 = dumps
        .iter()
        .flat_map(|dump| &dump.files)
        .map(|file| file.bytes)
        .sum();
    let scanner = Scanner {
        counts: dumps.iter().map(|_| DumpCounts::default()).collect(),
        dumps,
        tasks: tasks(dumps)?,
        next: AtomicUsize::new(0),
        bytes: AtomicU64::new(0),
        is_stopped: AtomicBool::new(false),
        failure: Mutex::new(None),
        take,
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (done, ended) = channel::<()>();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(scanner.tasks.len()) {
            let done = done.clone();
            scope.spawn(|| scanner.work(done));
        }
        drop(done);
        // The channel closes with the last thread.
        while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            on_bytes(scanner.bytes.load(Ordering::Relaxed).min(total), total);
        }
    });
    on_bytes(total, total);
    scanner.into_report()
}

/// The parts into which dumps are cut.
fn tasks(dumps: &[WorksDump]) -> Result<Vec<ScanTask<'_>>> {
    let mut tasks = Vec::new();
    for (dump, source) in dumps.iter().enumerate() {
        for file in &source.files {
            let path = file.path.as_path();
            if file.bytes < 2 * RANGE_BYTES || !is_lines(path)? {
                tasks.push(ScanTask {
                    dump,
                    path,
                    range: None,
                });
                continue;
            }
            let mut start = 0;
            while start < file.bytes {
                let end = (start + RANGE_BYTES).min(file.bytes);
                tasks.push(ScanTask {
                    dump,
                    path,
                    range: Some((start, end)),
                });
                start = end;
            }
        }
    }
    Ok(tasks)
}

/// Whether a file is not packed and has one record a line.
fn is_lines(path: &Path) -> Result<bool> {
    let mut magic = [0; 2];
    let mut file = File::open(path).map_err(Error::io(path, "read"))?;
    file.read_exact(&mut magic)
        .map_err(Error::io(path, "read"))?;
    let form = form_of(path)?;
    let is_lines = matches!(form, Some(WorksForm::Records(_, RecordLayout::Lines)));
    Ok(is_lines && magic != [0x1f, 0x8b])
}

/// Counts of a source.
#[derive(Default)]
struct DumpCounts {
    /// In the order of [`WorkSource::ALL`].
    records: [AtomicU64; WorkSource::ALL.len()],
    parts: AtomicU64,
    broken: AtomicU64,
    /// Broken entries of libraries.
    left_out: AtomicU64,
    faults: Mutex<Vec<InputFault>>,
}

struct Scanner<'a> {
    dumps: &'a [WorksDump],
    counts: Vec<DumpCounts>,
    tasks: Vec<ScanTask<'a>>,
    next: AtomicUsize,
    bytes: AtomicU64,
    is_stopped: AtomicBool,
    /// The first failure in the order of the tasks.
    failure: Mutex<Option<(usize, Error)>>,
    take: RecordTaker<'a>,
}

impl Scanner<'_> {
    /// Reads tasks until there are none.
    fn work(&self, _done: Sender<()>) {
        while !self.is_stopped.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.tasks.get(index) else {
                return;
            };
            if let Err(error) = self.read(task) {
                self.is_stopped.store(true, Ordering::Relaxed);
                let mut failure = lock(&self.failure);
                if failure.as_ref().is_none_or(|(other, _)| index < *other) {
                    *failure = Some((index, error));
                }
            }
        }
    }

    fn read(&self, task: &ScanTask<'_>) -> Result<()> {
        match form_of(task.path)? {
            None => Ok(()),
            Some(WorksForm::Index) => {
                let what = "an index of works, which is not a source of another one";
                let fault = InputFault::new(task.path, what);
                Err(fault.hint("name it by itself").into())
            }
            Some(WorksForm::Library) => self.read_library(task),
            Some(WorksForm::Records(form, RecordLayout::Lines)) => match task.range {
                Some((start, end)) => self.read_range(task, form, start, end),
                None => {
                    let mut reader = open(task.path, &self.bytes)?;
                    self.read_lines(task, form, &mut *reader, u64::MAX)
                }
            },
            Some(WorksForm::Records(form, layout)) => self.read_list(task, form, layout),
        }
    }

    fn read_library(&self, task: &ScanTask<'_>) -> Result<()> {
        let list = load_library(task.path)?;
        let bytes = task.path.metadata().map_or(0, |meta| meta.len());
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        // It has another rule for how many may be broken.
        let counts = &self.counts[task.dump];
        let broken = list.faults.len() as u64;
        counts.left_out.fetch_add(broken, Ordering::Relaxed);
        lock(&counts.faults).extend(list.faults);
        for reference in list.references {
            self.take(task, WorkRecord::from_reference(reference))?;
        }
        Ok(())
    }

    fn read_range(&self, task: &ScanTask<'_>, form: &DumpForm, start: u64, end: u64) -> Result<()> {
        let mut file = File::open(task.path).map_err(Error::io(task.path, "read"))?;
        // The line that begins before the range belongs to the one before, unless a line ends exactly there.
        let from = start.saturating_sub(1);
        file.seek(SeekFrom::Start(from))
            .map_err(Error::io(task.path, "read"))?;
        let mut reader = open_plain(file, &self.bytes);
        let mut length = end - start;
        if start > 0 {
            let skipped = skip_line(&mut reader).map_err(Error::io(task.path, "read"))?;
            length = (end - from).saturating_sub(skipped);
        }
        self.read_lines(task, form, &mut reader, length)
    }

    /// Reads the lines that begin within these bytes.
    fn read_lines(
        &self,
        task: &ScanTask<'_>,
        form: &DumpForm,
        reader: &mut dyn BufRead,
        length: u64,
    ) -> Result<()> {
        let mut line = Vec::new();
        let mut number = 0;
        let mut position = 0;
        while position < length && !self.is_stopped.load(Ordering::Relaxed) {
            let (read, is_too_long) =
                read_line(reader, &mut line, RECORD_BYTES).map_err(Error::io(task.path, "read"))?;
            if read == 0 {
                break;
            }
            position += read;
            number += 1;
            let record = if is_too_long {
                RawRecord::TooLong
            } else {
                RawRecord::Bytes(&line)
            };
            self.read_record(task, form, record, number)?;
        }
        Ok(())
    }

    fn read_list(&self, task: &ScanTask<'_>, form: &DumpForm, layout: RecordLayout) -> Result<()> {
        let mut reader = open(task.path, &self.bytes)?;
        let mut list =
            ListReader::new(&mut *reader, layout).map_err(Error::io(task.path, "read"))?;
        let mut number = 0;
        while !self.is_stopped.load(Ordering::Relaxed) {
            number += 1;
            match list.next().map_err(Error::io(task.path, "read"))? {
                Some(record) => self.read_record(task, form, record, number)?,
                None => break,
            }
        }
        Ok(())
    }

    fn read_record(
        &self,
        task: &ScanTask<'_>,
        form: &DumpForm,
        record: RawRecord<'_>,
        number: usize,
    ) -> Result<()> {
        let bytes = match record {
            RawRecord::Bytes(bytes) => bytes.trim_ascii(),
            RawRecord::TooLong => {
                let what = format!("a record of more than {} MB", RECORD_BYTES >> 20);
                return self.broken(task, number, what);
            }
            RawRecord::Cut => {
                return self.broken(task, number, "the file ends within a record".into());
            }
        };
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.is_empty() {
            return Ok(());
        }
        // Checked at once: this is faster than checking each string.
        let Ok(json) = str::from_utf8(bytes) else {
            return self.broken(task, number, "not UTF-8".into());
        };
        match (form.read)(json) {
            Ok(record) => self.take(task, record),
            Err(error) => {
                let what = format!("not a record of {}: {error}", form.source.name());
                self.broken(task, number, what)
            }
        }
    }

    fn take(&self, task: &ScanTask<'_>, record: WorkRecord) -> Result<()> {
        let counts = &self.counts[task.dump];
        counts.parts.fetch_add(1, Ordering::Relaxed);
        let source = WorkSource::ALL
            .iter()
            .position(|source| *source == record.source);
        if let Some(source) = source {
            counts.records[source].fetch_add(1, Ordering::Relaxed);
        }
        (self.take)(record)
    }

    fn broken(&self, task: &ScanTask<'_>, number: usize, what: String) -> Result<()> {
        let counts = &self.counts[task.dump];
        counts.parts.fetch_add(1, Ordering::Relaxed);
        let broken = counts.broken.fetch_add(1, Ordering::Relaxed) + 1;
        if lock(&counts.faults).len() < KEPT_FAULTS {
            let line = number + lines_before(task)?;
            let fault = InputFault::new(task.path, what).at_line(line);
            lock(&counts.faults).push(fault);
        }
        if broken >= HOPELESS_FAULTS {
            counts.check(&self.dumps[task.dump].path)?;
        }
        Ok(())
    }

    fn into_report(self) -> Result<ScanReport> {
        if let Some((_, error)) = self
            .failure
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
        {
            return Err(error);
        }
        let mut report = ScanReport::default();
        for (counts, dump) in self.counts.into_iter().zip(self.dumps) {
            counts.check(&dump.path)?;
            for (source, count) in WorkSource::ALL.into_iter().zip(&counts.records) {
                let count = count.load(Ordering::Relaxed);
                if count > 0 {
                    *report.records.entry(source).or_default() += count;
                }
            }
            report.broken += counts.broken.load(Ordering::Relaxed);
            report.broken += counts.left_out.load(Ordering::Relaxed);
            report.faults.append(&mut counts.sorted_faults());
        }
        report.faults.truncate(KEPT_FAULTS);
        Ok(report)
    }
}

impl DumpCounts {
    fn sorted_faults(&self) -> Vec<InputFault> {
        let mut faults = lock(&self.faults).clone();
        faults.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        faults
    }

    /// # Errors
    /// When more than 1% is broken.
    fn check(&self, path: &Path) -> Result<()> {
        let broken = self.broken.load(Ordering::Relaxed);
        let parts = self.parts.load(Ordering::Relaxed);
        if !too_many_broken(broken, parts) {
            return Ok(());
        }
        let mut faults = self.sorted_faults();
        let what = format!("{broken} of {parts} records cannot be read, above the limit of 1%");
        faults.push(InputFault::new(path, what).hint("mend the source or take these records out"));
        Err(Error::Input(faults))
    }
}

/// The lines before the range of a task. Only faults need them, so that they are counted when there is one.
fn lines_before(task: &ScanTask<'_>) -> Result<usize> {
    let Some((start, _)) = task.range.filter(|(start, _)| *start > 0) else {
        return Ok(0);
    };
    let file = File::open(task.path).map_err(Error::io(task.path, "read"))?;
    let mut rest = file.take(start);
    let mut buffer = vec![0; 1 << 20];
    let mut count = 0;
    let mut last = b'\n';
    loop {
        let read = rest
            .read(&mut buffer)
            .map_err(Error::io(task.path, "read"))?;
        if read == 0 {
            break;
        }
        count += newlines(&buffer[..read]);
        last = buffer[read - 1];
    }
    // The line that reaches into the range is counted where it begins.
    Ok(count + usize::from(last != b'\n'))
}

/// Skips the rest of a line; gives its bytes with the line feed.
fn skip_line(reader: &mut dyn BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(skipped);
        }
        let feed = memchr::memchr(b'\n', buffer);
        let used = feed.map_or(buffer.len(), |at| at + 1);
        reader.consume(used);
        skipped += used as u64;
        if feed.is_some() {
            return Ok(skipped);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dumps::files_of;

    #[test]
    fn ranges_have_every_line_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("papers.jsonl");
        let mut text = String::new();
        for id in 0..60 {
            text.push_str(&format!(
                "{{\"corpusid\": {id}, \"title\": \"{}\"}}\n",
                "x".repeat(id % 7)
            ));
        }
        text.push_str("broken");
        std::fs::write(&path, &text).unwrap();
        for length in [1, 7, 30, 64, 1000, 5000] {
            let dumps = [WorksDump {
                path: path.clone(),
                files: files_of(&path).unwrap(),
            }];
            let seen = Mutex::new(Vec::new());
            let take = |record: WorkRecord| {
                lock(&seen).push(record.id);
                Ok(())
            };
            let bytes = text.len() as u64;
            let ranges = (0..bytes).step_by(length as usize);
            let scanner = Scanner {
                dumps: &dumps,
                tasks: ranges
                    .map(|start| ScanTask {
                        dump: 0,
                        path: &path,
                        range: Some((start, (start + length).min(bytes))),
                    })
                    .collect(),
                counts: vec![DumpCounts::default()],
                next: AtomicUsize::new(0),
                bytes: AtomicU64::new(0),
                is_stopped: AtomicBool::new(false),
                failure: Mutex::new(None),
                take: &take,
            };
            let (done, _ended) = channel();
            scanner.work(done);
            let faults = scanner.counts[0].sorted_faults();
            assert_eq!(faults[0].line, Some(61), "{length}");
            let ids: Vec<String> = (0..60).map(|id| id.to_string()).collect();
            assert_eq!(*lock(&seen), ids, "{length}");
        }
    }
}

//! Reads files of works once, on all cores, and gives each record to a taker.
//!
//! A packed file is read by one thread; a long one that is not packed is cut into ranges at line ends. Memory is one record
//! for each thread. Broken records are counted for each source that the user named; a source of which more than 1% is
//! broken is hardly what its form says.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rayon::prelude::*;

use super::dumps::{WorksFile, WorksForm, form_of, open, open_plain};
use super::forms::DumpForm;
use super::items::{ListReader, RECORD_BYTES, RawRecord, RecordLayout};
use super::references::load_library;
use scholareval_core::domain::{WorkRecord, WorkSource};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::files::broken_tally::{BrokenTally, KEPT_FAULTS};
use scholareval_core::files::streams::read_line;

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
    let tasks = tasks(dumps)?;
    let scanner = Scanner::new(dumps, take);
    let (done, ended) = channel::<()>();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let _done = done;
            let read = tasks.par_iter().map(|task| scanner.read(task));
            // The first failure in the order of the tasks.
            read.collect::<Vec<_>>().into_iter().collect::<Result<()>>()
        });
        // The channel closes when all is read.
        while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            on_bytes(scanner.bytes.load(Ordering::Relaxed).min(total), total);
        }
        let lost = |_| Err(Error::Internal("a thread of the scan panicked".to_owned()));
        reading.join().unwrap_or_else(lost)
    })?;
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
    let is_lines = matches!(form, WorksForm::Records(_, RecordLayout::Lines));
    Ok(is_lines && magic != [0x1f, 0x8b])
}

/// What was read of a source that the user named.
#[derive(Default)]
struct DumpCounts {
    records: BTreeMap<WorkSource, u64>,
    tally: BrokenTally,
    /// Broken entries of libraries, which have another rule for how many may be broken.
    left_out: u64,
}

struct Scanner<'a> {
    dumps: &'a [WorksDump],
    counts: Vec<Mutex<DumpCounts>>,
    bytes: AtomicU64,
    /// Whether a task failed: then the others need not be read to their end.
    is_stopped: AtomicBool,
    take: RecordTaker<'a>,
}

impl<'a> Scanner<'a> {
    fn new(dumps: &'a [WorksDump], take: RecordTaker<'a>) -> Self {
        Self {
            dumps,
            counts: dumps.iter().map(|_| Mutex::default()).collect(),
            bytes: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            take,
        }
    }

    fn read(&self, task: &ScanTask<'_>) -> Result<()> {
        if self.is_stopped.load(Ordering::Relaxed) {
            return Ok(());
        }
        let read = self.read_file(task);
        if read.is_err() {
            self.is_stopped.store(true, Ordering::Relaxed);
        }
        read
    }

    fn read_file(&self, task: &ScanTask<'_>) -> Result<()> {
        match form_of(task.path)? {
            WorksForm::Empty => Ok(()),
            WorksForm::Index => {
                let what = "an index of works, which is not a source of another one";
                let fault = InputFault::new(task.path, what);
                Err(fault.refuse("name it by itself"))
            }
            WorksForm::Library => self.read_library(task),
            WorksForm::Records(form, RecordLayout::Lines) => match task.range {
                Some((start, end)) => self.read_range(task, form, start, end),
                None => {
                    let mut reader = open(task.path, &self.bytes)?;
                    self.read_lines(task, form, &mut *reader, u64::MAX)
                }
            },
            WorksForm::Records(form, layout) => self.read_list(task, form, layout),
        }
    }

    fn read_library(&self, task: &ScanTask<'_>) -> Result<()> {
        let list = load_library(task.path)?;
        let bytes = task.path.metadata().map_or(0, |meta| meta.len());
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        {
            let mut counts = self.counts_of(task);
            counts.left_out += list.faults.len() as u64;
            counts.tally.faults.extend(list.faults);
        }
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
            let (skipped, _) =
                read_line(&mut reader, &mut Vec::new(), 0).map_err(Error::io(task.path, "read"))?;
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
        {
            let mut counts = self.counts_of(task);
            counts.tally.parts += 1;
            *counts.records.entry(record.source).or_default() += 1;
        }
        (self.take)(record)
    }

    fn broken(&self, task: &ScanTask<'_>, number: usize, what: String) -> Result<()> {
        let tally = &mut self.counts_of(task).tally;
        let mut fault = InputFault::new(task.path, what);
        // Of one that is not kept the line is not sought.
        if tally.faults.len() < KEPT_FAULTS {
            fault = fault.at_line(number + lines_before(task)?);
        }
        tally.add(fault, &self.dumps[task.dump].path)
    }

    fn counts_of(&self, task: &ScanTask<'_>) -> MutexGuard<'_, DumpCounts> {
        let counts = self.counts[task.dump].lock();
        counts.unwrap_or_else(PoisonError::into_inner)
    }

    fn into_report(self) -> Result<ScanReport> {
        let mut report = ScanReport::default();
        for (counts, dump) in self.counts.into_iter().zip(self.dumps) {
            let counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
            counts.tally.check(&dump.path)?;
            report.faults.extend(counts.tally.sorted_faults());
            report.broken += counts.tally.broken + counts.left_out;
            for (source, count) in counts.records {
                *report.records.entry(source).or_default() += count;
            }
        }
        report.faults.truncate(KEPT_FAULTS);
        Ok(report)
    }
}

/// The lines before the range of a task. Only faults need them, so that they are counted when there is one.
fn lines_before(task: &ScanTask<'_>) -> Result<usize> {
    let Some((start, _)) = task.range.filter(|(start, _)| *start > 0) else {
        return Ok(0);
    };
    let file = File::open(task.path).map_err(Error::io(task.path, "read"))?;
    let mut reader = BufReader::new(file.take(start));
    let mut count = 0;
    loop {
        let read = read_line(&mut reader, &mut Vec::new(), 0);
        let (read, _) = read.map_err(Error::io(task.path, "read"))?;
        if read == 0 {
            return Ok(count);
        }
        // The line that reaches into the range is counted where it begins.
        count += 1;
    }
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
                seen.lock().unwrap().push(record.id);
                Ok(())
            };
            let bytes = text.len() as u64;
            let ranges = (0..bytes).step_by(length as usize);
            let scanner = Scanner::new(&dumps, &take);
            for start in ranges {
                let range = Some((start, (start + length).min(bytes)));
                let task = ScanTask {
                    dump: 0,
                    path: &path,
                    range,
                };
                scanner.read(&task).unwrap();
            }
            let faults = scanner.counts[0].lock().unwrap().tally.sorted_faults();
            assert_eq!(faults[0].line, Some(61), "{length}");
            let ids: Vec<String> = (0..60).map(|id| id.to_string()).collect();
            assert_eq!(*seen.lock().unwrap(), ids, "{length}");
        }
    }
}

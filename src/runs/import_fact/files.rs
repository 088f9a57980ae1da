//! The files of a run of FACT, in the order in which its scripts write them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::dataset::{JsonLine, no_faults, parse_jsonl};
use crate::domain::{CaseId, Fingerprint, SystemName};
use crate::error::{InputFault, Result};
use crate::files::read_bytes;

/// The last file, whose verdicts are counted.
const VALIDATED: &str = "validated.jsonl";
/// The files before it.
const EARLIER: [&str; 3] = ["extracted.jsonl", "deduplicated.jsonl", "scraped.jsonl"];
/// What the extraction writes in place of a list.
const FAILED: &str = "extraction failed";
/// How one line of the last file begins, for messages.
const EXAMPLE: &str = "{\"id\": 51, \"citations\": [..], \"citations_deduped\": {..}}";

/// The files of one system.
pub(super) struct FactRun {
    pub(super) system: SystemName,
    pub(super) files: Vec<FactFile>,
    /// In the order of the last file; those that it does not have are behind them.
    pub(super) reports: Vec<FactReport>,
}

/// A file that was read.
pub(super) struct FactFile {
    pub(super) path: PathBuf,
    pub(super) blake3: Fingerprint,
}

/// A report and what the scripts found in it.
pub(super) struct FactReport {
    pub(super) case_id: CaseId,
    /// The question; its id where the files have none.
    pub(super) question: String,
    /// The text, empty where the files have none.
    pub(super) article: Arc<str>,
    pub(super) path: PathBuf,
    pub(super) line: usize,
    /// The line of the last file, or why the report is not in it.
    pub(super) validated: Result<Map<String, Value>, String>,
}

/// Whether a path is a run of FACT: its directory, or its last file.
///
/// # Errors
/// For a directory without the last file, which nothing else can be.
pub(super) fn is_fact_run(path: &Path) -> Result<bool> {
    if !path.is_dir() {
        return Ok(path.file_name().is_some_and(|name| name == VALIDATED));
    }
    if path.join(VALIDATED).is_file() {
        return Ok(true);
    }
    let fault = InputFault::new(path, format!("has no {VALIDATED}"));
    Err(fault
        .hint("name a directory with a finished run of FACT, or results files")
        .into())
}

/// The runs at these paths, in name order.
///
/// # Errors
/// Every fault of the files; two paths with one system.
pub(super) fn read_runs(paths: &[PathBuf]) -> Result<Vec<FactRun>> {
    let mut runs: Vec<FactRun> = Vec::new();
    let mut faults: Vec<InputFault> = Vec::new();
    for path in paths {
        if !is_fact_run(path)? {
            let fault = InputFault::new(
                path,
                format!("is neither a directory with {VALIDATED} nor that file"),
            );
            faults.push(fault.hint("import runs of FACT apart from other files"));
            continue;
        }
        let run = read_run(path)?;
        if runs.iter().any(|other| other.system == run.system) {
            let what = format!("system \"{}\" is imported twice", run.system);
            faults.push(InputFault::new(path, what).hint("rename one of the directories"));
        }
        runs.push(run);
    }
    no_faults(faults)?;
    runs.sort_by(|one, other| one.system.cmp(&other.system));
    Ok(runs)
}

fn read_run(path: &Path) -> Result<FactRun> {
    let last = if path.is_dir() {
        path.join(VALIDATED)
    } else {
        path.to_path_buf()
    };
    // A relative `validated.jsonl` has its directory's name only once it is made absolute.
    let whole = last.canonicalize().unwrap_or_else(|_| last.clone());
    let dir = whole.parent().and_then(Path::file_name).unwrap_or_default();
    let mut run = FactRun {
        system: SystemName::from(dir.to_string_lossy().into_owned()),
        files: Vec::new(),
        reports: Vec::new(),
    };
    run.reports = run.read_file(&last, validated)?;
    check_ids(&run.reports)?;
    // From the last to the first: the latest file that has a report says how far it came.
    for name in EARLIER.into_iter().rev() {
        let earlier = last.with_file_name(name);
        if earlier.is_file() {
            let reports = run.read_file(&earlier, |line, fields| lost(line, fields, name))?;
            run.add_lost(reports);
        }
    }
    Ok(run)
}

impl FactRun {
    fn read_file(
        &mut self,
        path: &Path,
        read: impl Fn(&JsonLine<'_>, Map<String, Value>) -> Result<FactReport, InputFault> + Sync,
    ) -> Result<Vec<FactReport>> {
        let (bytes, blake3) = read_bytes(path)?;
        let path = path.to_path_buf();
        let reports = parse_jsonl(&bytes, &path, |line| {
            let fields: Map<String, Value> = line.parse(EXAMPLE)?;
            Ok(read(line, fields)?)
        })?;
        self.files.push(FactFile { path, blake3 });
        Ok(reports)
    }

    /// Adds the reports that no later file has. Texts that a later file left out are taken from an earlier one.
    fn add_lost(&mut self, reports: Vec<FactReport>) {
        let known = self.reports.iter().enumerate();
        let places: HashMap<CaseId, usize> =
            known.map(|(at, own)| (own.case_id.clone(), at)).collect();
        for report in reports {
            match places.get(&report.case_id) {
                Some(place) => {
                    let own = &mut self.reports[*place];
                    if own.article.is_empty() {
                        own.article = report.article;
                        own.question = report.question;
                    }
                }
                None => self.reports.push(report),
            }
        }
    }
}

/// Two lines of one report would count twice.
fn check_ids(reports: &[FactReport]) -> Result<()> {
    let mut faults: Vec<InputFault> = Vec::new();
    let mut first_lines: HashMap<&CaseId, usize> = HashMap::new();
    for report in reports {
        if let Some(first) = first_lines.insert(&report.case_id, report.line) {
            let what = format!("duplicate id, first on line {first}");
            let fault = InputFault::new(&report.path, what).at_line(report.line);
            faults.push(fault.hint("keep one of the two lines"));
        }
    }
    no_faults(faults)
}

/// A line of the last file.
fn validated(line: &JsonLine<'_>, fields: Map<String, Value>) -> Result<FactReport, InputFault> {
    for name in ["citations", "citations_deduped"] {
        if !fields.contains_key(name) {
            let hint = format!("expected the lines of FACT's validate.py: {EXAMPLE}");
            return Err(line.fault(format!("{name} is missing")).hint(hint));
        }
    }
    if let Some(other) = fields
        .get("citations_deduped")
        .filter(|pages| !pages.is_object())
    {
        let what = format!("citations_deduped is {other:.20}, not an object of pages");
        return Err(line.fault(what));
    }
    let report = report(line, &fields)?;
    Ok(FactReport {
        validated: Ok(fields),
        ..report
    })
}

/// A line of an earlier file, as that of a report which the last file does not have.
fn lost(
    line: &JsonLine<'_>,
    fields: Map<String, Value>,
    file: &str,
) -> Result<FactReport, InputFault> {
    let report = report(line, &fields)?;
    let why = if fields.get("citations").and_then(Value::as_str) == Some(FAILED) {
        FAILED.to_owned()
    } else {
        format!("the report is in {file}, but not in {VALIDATED}")
    };
    Ok(FactReport {
        validated: Err(why),
        ..report
    })
}

/// What all files say of a report.
fn report(line: &JsonLine<'_>, fields: &Map<String, Value>) -> Result<FactReport, InputFault> {
    let id = match fields.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        _ => String::new(),
    };
    if id.is_empty() {
        return Err(line.fault("id is missing: a number or a text"));
    }
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let question = match text("prompt") {
        "" => &id,
        question => question,
    };
    Ok(FactReport {
        question: question.to_owned(),
        article: text("article").into(),
        path: line.path.to_path_buf(),
        line: line.number,
        case_id: id.into(),
        validated: Err(String::new()),
    })
}

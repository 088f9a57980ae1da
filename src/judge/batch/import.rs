//! Results into the cache.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::result::parse_result;
use crate::domain::Fingerprint;
use crate::error::{Error, InputFault, Result};
use crate::judge::cache::{Cache, CallLabel, Entry, Inserted};

/// Replies that are stored in one transaction.
const GROUP: usize = 512;
/// Errors and faults that are kept for showing; all are counted.
const KEPT: usize = 20;

/// One line of `calls.jsonl`: what a request asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchCall {
    /// The fingerprint of the call, in hexadecimal digits.
    pub custom_id: Fingerprint,
    /// The label of its reply in the cache.
    #[serde(flatten)]
    pub label: CallLabel,
}

/// What an import did.
#[derive(Debug, Default)]
pub struct ImportReport {
    /// Calls that were read from `calls.jsonl`.
    pub calls: u64,
    /// Replies that are new in the cache.
    pub added: u64,
    /// Replies that were there already, word for word.
    pub known: u64,
    /// Replies that were there with other words; those stay.
    pub conflicts: u64,
    /// Prompt tokens of the new ones, as the service counted them.
    pub prompt_tokens: u64,
    /// Reply tokens of the new ones.
    pub completion_tokens: u64,
    /// Requests without a reply.
    pub errors: u64,
    /// The first of these: custom id, and the reason.
    pub first_errors: Vec<(String, String)>,
    /// Lines that are no results, or belong to no known batch.
    pub faults: u64,
    /// The first of these.
    pub first_faults: Vec<InputFault>,
}

impl ImportReport {
    /// True if the files held no line at all, neither a result nor a fault.
    pub fn is_empty(&self) -> bool {
        self.added + self.known + self.conflicts + self.errors + self.faults == 0
    }

    fn add_error(&mut self, custom_id: String, reason: String) {
        self.errors += 1;
        if self.first_errors.len() < KEPT {
            self.first_errors.push((custom_id, reason));
        }
    }

    fn add_fault(&mut self, fault: InputFault) {
        self.faults += 1;
        if self.first_faults.len() < KEPT {
            self.first_faults.push(fault);
        }
    }
}

/// Puts results into one cache.
#[derive(Debug)]
pub struct Importer<'a> {
    cache: &'a Cache,
    calls: HashMap<Fingerprint, CallLabel>,
    waiting: Vec<Entry>,
    report: ImportReport,
}

impl<'a> Importer<'a> {
    /// An importer that has no calls yet.
    pub fn new(cache: &'a Cache) -> Self {
        Self { cache, calls: HashMap::new(), waiting: Vec::new(), report: ImportReport::default() }
    }

    /// Adds the calls of a `calls.jsonl`, whose results may come.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read, [`Error::Input`] with file and line for a line of another form.
    pub fn add_calls(&mut self, path: &Path) -> Result<()> {
        for_each_line(path, |number, line| {
            let call: BatchCall = serde_json::from_slice(line).map_err(|error| {
                InputFault::new(path, format!("not a line of a batch's calls: {error}"))
                    .at_line(number)
                    .hint("export the batch again")
            })?;
            self.calls.insert(call.custom_id, call.label);
            Ok(())
        })
    }

    /// Imports the results of one file, line by line. A line that is no result is noted and the others are imported all the
    /// same: what they hold is paid.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::Cache`] if the cache cannot be written.
    pub fn import(&mut self, path: &Path) -> Result<()> {
        for_each_line(path, |number, line| {
            let fault = |what: &str, hint: &str| InputFault::new(path, what).at_line(number).hint(hint);
            let parsed = std::str::from_utf8(line).map_err(|_| "not UTF-8 text".to_owned()).and_then(parse_result);
            let result = match parsed {
                Ok(result) => result,
                Err(what) => {
                    let hint = if line.ends_with(b"\n") { "" } else { "its end is missing: fetch the file again" };
                    self.report.add_fault(fault(&what, hint));
                    return Ok(());
                }
            };
            let key = Fingerprint::from_hex(&result.custom_id);
            let Some((key, label)) = key.and_then(|key| Some((key, self.calls.get(&key)?))) else {
                let id: String = result.custom_id.chars().take(80).collect();
                let hint = "name the directory that batch export wrote with --batch DIR";
                self.report.add_fault(fault(&format!("the request {id:?} is in no calls.jsonl that was read"), hint));
                return Ok(());
            };
            match result.outcome {
                Ok(reply) => self.waiting.push(Entry::new(key, label.clone(), reply)),
                Err(reason) => self.report.add_error(result.custom_id, reason),
            }
            if self.waiting.len() >= GROUP { self.store() } else { Ok(()) }
        })?;
        self.store()
    }

    fn store(&mut self) -> Result<()> {
        let stored = self.cache.insert_all(&self.waiting)?;
        for (entry, inserted) in self.waiting.drain(..).zip(stored) {
            match inserted {
                Inserted::Known => self.report.known += 1,
                Inserted::Conflict => self.report.conflicts += 1,
                Inserted::Added => {
                    self.report.added += 1;
                    self.report.prompt_tokens += entry.reply.usage.prompt_tokens;
                    self.report.completion_tokens += entry.reply.usage.completion_tokens;
                }
            }
        }
        Ok(())
    }

    /// What was done.
    pub fn into_report(self) -> ImportReport {
        ImportReport { calls: self.calls.len() as u64, ..self.report }
    }
}

/// Calls `visit` with the number and the bytes of every line that is not blank.
fn for_each_line(path: &Path, mut visit: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
    let mut reader = BufReader::new(File::open(path).map_err(Error::io(path, "read"))?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(Error::io(path, "read"))? == 0 {
            break;
        }
        if !line.trim_ascii().is_empty() {
            visit(number, &line)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(key: u8, content: &str) -> String {
        let id = format!("{key:02x}").repeat(32);
        format!(
            "{{\"custom_id\":\"{id}\",\"response\":{{\"status_code\":200,\"body\":{{\"choices\":[{{\"message\":{{\
             \"content\":\"{content}\"}}}}],\"usage\":{{\"prompt_tokens\":10,\"completion_tokens\":2}}}}}},\"error\":null}}\n"
        )
    }

    #[test]
    fn a_line_of_another_form_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("calls.jsonl");
        std::fs::write(&path, "\n{\"custom_id\":\"xyz\"}\n").unwrap();
        let cache = Cache::open(&dir.path().join("c.sqlite")).unwrap();
        let error = Importer::new(&cache).add_calls(&path).unwrap_err().to_string();
        assert!(error.contains("calls.jsonl:2: not a line of a batch's calls"), "{error}");
    }

    #[test]
    fn replies_go_under_their_key_once_and_what_is_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let calls_path = dir.path().join("calls.jsonl");
        let calls: String = (1_u8..=3)
            .map(|key| {
                let id = format!("{key:02x}").repeat(32);
                format!("{{\"custom_id\":\"{id}\",\"kind\":\"property\",\"judge\":\"m\",\"role\":\"rubric\",\"draw\":0,\"attempt\":0}}\n")
            })
            .collect();
        std::fs::write(&calls_path, calls).unwrap();
        let cache = Cache::open(&dir.path().join("c.sqlite")).unwrap();
        let results = dir.path().join("r.jsonl");
        let error = format!(
            "{{\"custom_id\":\"{}\",\"response\":null,\"error\":{{\"message\":\"expired\"}}}}\n",
            "03".repeat(32)
        );
        let torn = &line(2, "x")[..40];
        let text = [&line(1, "a"), "\n", &line(1, "a"), &line(1, "other"), &line(2, "b"), &error, &line(9, "z"), torn]
            .concat();
        std::fs::write(&results, text).unwrap();
        let mut importer = Importer::new(&cache);
        importer.add_calls(&calls_path).unwrap();
        importer.import(&results).unwrap();
        let report = importer.into_report();
        assert_eq!((report.added, report.known, report.conflicts, report.errors, report.faults), (2, 1, 1, 1, 2));
        // two replies of 10 + 2 tokens
        assert_eq!((report.prompt_tokens, report.completion_tokens), (20, 4));
        let faults: Vec<String> = report.first_faults.iter().map(ToString::to_string).collect();
        assert!(faults[0].contains("r.jsonl:7") && faults[0].contains("--batch DIR"), "{faults:?}");
        assert!(faults[1].contains("r.jsonl:8") && faults[1].contains("its end is missing"), "{faults:?}");
        let kept = cache.get(&Fingerprint::from([1; 32])).unwrap().unwrap();
        assert_eq!((kept.content.as_str(), kept.usage.prompt_tokens), ("a", 10));
    }
}

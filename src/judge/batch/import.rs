//! Results into the cache.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use futures::future::try_join_all;

use super::calls::CallIndex;
use super::result::parse_result;
use crate::domain::{Fingerprint, JudgeReply};
use crate::error::{Error, InputFault, Result};
use crate::judge::cache::{Cache, Entry};

/// Replies that are committed together.
const GROUP: usize = 512;
/// Errors and faults that are kept for showing; all are counted.
const KEPT: usize = 20;

/// What an import did.
#[derive(Debug, Default)]
pub struct ImportReport {
    /// Replies that are new in the cache.
    pub added: u64,
    /// Replies that were there already, word for word.
    pub known: u64,
    /// Replies that were there with other words; those stay.
    pub conflicts: u64,
    /// Prompt and reply tokens of the new ones, as the service counted them.
    pub prompt_tokens: u64,
    /// Reply tokens of the new ones.
    pub completion_tokens: u64,
    /// Requests without a reply.
    pub errors: u64,
    /// The first of these: custom id, and what was said.
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
}

/// Puts results into one cache.
#[derive(Debug)]
pub struct Importer<'a> {
    cache: &'a Cache,
    calls: &'a CallIndex,
    waiting: Vec<Entry>,
    waiting_keys: HashSet<Fingerprint>,
    report: ImportReport,
}

impl<'a> Importer<'a> {
    /// An importer of results of these calls.
    pub fn new(cache: &'a Cache, calls: &'a CallIndex) -> Self {
        let report = ImportReport::default();
        Self { cache, calls, waiting: Vec::new(), waiting_keys: HashSet::new(), report }
    }

    /// Takes the results of one file, line by line. A line that is no result is noted and the others are taken all the
    /// same: what they hold is paid.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::Cache`] if the cache cannot be written.
    pub async fn take(&mut self, path: &Path) -> Result<()> {
        let mut reader = BufReader::new(File::open(path).map_err(Error::io(path, "read"))?);
        let mut bytes = Vec::new();
        let mut number = 0;
        loop {
            bytes.clear();
            if reader.read_until(b'\n', &mut bytes).map_err(Error::io(path, "read"))? == 0 {
                break;
            }
            number += 1;
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let fault = |what: &str, hint: &str| InputFault::new(path, what).at_line(number).hint(hint);
            let parsed = std::str::from_utf8(&bytes).map_err(|_| "not UTF-8 text".to_owned()).and_then(parse_result);
            let result = match parsed {
                Ok(result) => result,
                Err(what) => {
                    let cut = if bytes.ends_with(b"\n") { "" } else { "its end is missing: fetch the file again" };
                    self.note(fault(&what, cut));
                    continue;
                }
            };
            let call = Fingerprint::from_hex(&result.custom_id).and_then(|key| self.calls.get(&key));
            let Some(call) = call else {
                let id: String = result.custom_id.chars().take(80).collect();
                let hint = "name the directory that batch export wrote with --batch DIR";
                self.note(fault(&format!("the request {id:?} is in no calls.jsonl that was read"), hint));
                continue;
            };
            match result.outcome {
                Ok(reply) => {
                    let entry = Entry::new(call.custom_id, call.label(), reply);
                    self.add(entry).await?;
                }
                Err(why) => {
                    self.report.errors += 1;
                    if self.report.first_errors.len() < KEPT {
                        self.report.first_errors.push((result.custom_id, why));
                    }
                }
            }
        }
        self.flush().await
    }

    fn note(&mut self, fault: InputFault) {
        self.report.faults += 1;
        if self.report.first_faults.len() < KEPT {
            self.report.first_faults.push(fault);
        }
    }

    async fn add(&mut self, entry: Entry) -> Result<()> {
        if self.waiting_keys.contains(&entry.key) {
            self.flush().await?;
        }
        if let Some(there) = self.cache.get(&entry.key)? {
            if says_the_same(&there, &entry.reply) {
                self.report.known += 1;
            } else {
                self.report.conflicts += 1;
            }
            return Ok(());
        }
        self.report.added += 1;
        self.report.prompt_tokens += entry.reply.usage.prompt_tokens;
        self.report.completion_tokens += entry.reply.usage.completion_tokens;
        self.waiting_keys.insert(entry.key);
        self.waiting.push(entry);
        if self.waiting.len() >= GROUP {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<()> {
        self.waiting_keys.clear();
        let puts: Vec<_> = self.waiting.drain(..).map(|entry| self.cache.put(entry)).collect();
        try_join_all(puts).await.map(|_| ())
    }

    /// What was done.
    pub fn into_report(self) -> ImportReport {
        self.report
    }
}

fn says_the_same(a: &JudgeReply, b: &JudgeReply) -> bool {
    a.content == b.content && a.finish_reason == b.finish_reason
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

    #[tokio::test]
    async fn replies_go_under_their_key_once_and_what_is_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let calls_path = dir.path().join("calls.jsonl");
        let calls: String = (1_u8..=3)
            .map(|key| {
                let id = format!("{key:02x}").repeat(32);
                format!("{{\"custom_id\":\"{id}\",\"kind\":\"property\",\"judge\":\"m\",\"role\":\"rubric\",\"draw\":0,\"attempt\":0}}\n")
            })
            .collect();
        std::fs::write(&calls_path, calls).unwrap();
        let mut index = CallIndex::default();
        index.add(&calls_path).unwrap();
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
        let mut importer = Importer::new(&cache, &index);
        importer.take(&results).await.unwrap();
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

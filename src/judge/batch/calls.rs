//! What each request of a batch asks: `calls.jsonl` beside the request files.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::domain::Fingerprint;
use crate::error::{Error, InputFault, Result};
use crate::judge::cache::CallLabel;

/// One line of `calls.jsonl`: the label under which a reply is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchCall {
    /// The fingerprint of the call, in hexadecimal digits.
    pub custom_id: Fingerprint,
    /// Name of the question's kind.
    pub kind: String,
    /// Identity of the judge.
    pub judge: String,
    /// Name of the role.
    pub role: String,
    /// 0-based draw.
    pub draw: u32,
    /// 0-based attempt.
    pub attempt: u32,
}

impl BatchCall {
    /// The label in the cache.
    pub fn label(&self) -> CallLabel {
        let Self { kind, judge, role, .. } = self.clone();
        CallLabel { kind, judge, role, draw: self.draw, attempt: self.attempt }
    }
}

/// The calls of one or more batches, by their fingerprint.
#[derive(Debug, Default)]
pub struct CallIndex(HashMap<Fingerprint, BatchCall>);

impl CallIndex {
    /// Adds the lines of a `calls.jsonl`.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read, [`Error::Input`] with file and line for a line of another form.
    pub fn add(&mut self, path: &Path) -> Result<()> {
        let reader = BufReader::new(File::open(path).map_err(Error::io(path, "read"))?);
        for (at, line) in reader.lines().enumerate() {
            let line = line.map_err(Error::io(path, "read"))?;
            if line.trim().is_empty() {
                continue;
            }
            let call: BatchCall = serde_json::from_str(&line).map_err(|error| {
                InputFault::new(path, format!("not a line of a batch's calls: {error}"))
                    .at_line(at + 1)
                    .hint("export the batch again")
            })?;
            self.0.insert(call.custom_id, call);
        }
        Ok(())
    }

    /// The call of that fingerprint.
    pub fn get(&self, key: &Fingerprint) -> Option<&BatchCall> {
        self.0.get(key)
    }

    /// How many calls there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_another_form_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("calls.jsonl");
        std::fs::write(&path, "\n{\"custom_id\":\"xyz\"}\n").unwrap();
        let error = CallIndex::default().add(&path).unwrap_err().to_string();
        assert!(error.contains("calls.jsonl:2: not a line of a batch's calls"), "{error}");
    }
}

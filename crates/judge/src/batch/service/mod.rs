//! Batch services: one file each behind [`BatchApi`], which only writes and reads what is sent; [`BatchService`] sends it.
//!
//! Whatever was reached is written into `batch.json` before the next step, so that the same command continues after any
//! stop. A batch whose creation was interrupted is looked for before another one is created, twice if a service may not list
//! it yet: a batch created twice is paid twice.

mod anthropic;
mod client;
mod gemini;
mod openai;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub use client::{BatchService, batches_of};

use super::manifest::BatchPart;
use scholareval_core::error::{Error, Result};
use scholareval_core::files::is_plain_name;

/// How one service takes batches, reports on them and writes their results.
pub trait BatchApi: Send + Sync {
    /// What one batch may hold at most.
    fn limits(&self) -> BatchLimits;

    /// The hours after which the service gives up requests that it has not answered.
    fn hours(&self) -> u64 {
        24
    }

    /// The path that takes a request file, where the creation of a batch only names it.
    fn upload_path(&self) -> Option<&'static str> {
        None
    }

    /// Path and body of the request that creates the batch of a request file.
    ///
    /// # Errors
    /// For requests that are not lines of a request file.
    fn creation(&self, part: &BatchPart, requests: &[u8]) -> Result<(String, Vec<u8>)>;

    /// The path of the list of batches; that of one batch is below it.
    fn list_path(&self) -> &'static str;

    /// The names of the query parameters of a page of the list: its size, and where it begins.
    fn page_query(&self) -> (&'static str, &'static str);

    /// The end of the address that cancels a batch.
    fn cancel_suffix(&self) -> &'static str {
        "/cancel"
    }

    /// The batches on a page of the list, and where the next page begins.
    fn listed<'a>(&self, page: &'a Value) -> (&'a [Value], Option<&'a str>) {
        let batches = page["data"].as_array().map_or(&[][..], Vec::as_slice);
        let last = batches.last().filter(|_| page["has_more"] == true);
        (batches, last.and_then(|last| last["id"].as_str()))
    }

    /// Whether a listed batch is that of this request file; at least whether it may be, see [`BatchApi::names_its_file`].
    fn is_of(&self, listed: &Value, part: &BatchPart) -> bool;

    /// Whether the list shows of which request file a batch is.
    fn names_its_file(&self) -> bool {
        true
    }

    /// What the service reports of a batch; `base_url` is that of the service.
    ///
    /// # Errors
    /// For names of files that would change an address.
    fn batch(&self, reported: &Value, base_url: &str) -> Result<Batch>;

    /// A line of a result file; `None` for a line of another form.
    fn result(&self, line: &Value) -> Option<BatchResult>;
}

/// How much one request file may hold; never more than the service of its judge takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// Requests, at least 1.
    pub requests: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A batch as its service reports it.
#[derive(Debug, Default)]
pub struct Batch {
    pub id: String,
    /// `None` where the service reports none.
    pub status: Option<String>,
    /// Requests that have a reply.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// What is wrong with the requests, one line each.
    pub errors: Vec<String>,
    /// Where results are, with the part of a file name that says which.
    pub results: Vec<(&'static str, ResultPlace)>,
}

/// Where the results of a batch are.
#[derive(Debug)]
pub enum ResultPlace {
    /// At this address.
    Url(String),
    /// In the batch itself: the lines of a result file.
    Lines(Vec<u8>),
}

/// What a line of a result file says.
#[derive(Debug)]
pub struct BatchResult {
    /// The custom id of the request.
    pub custom_id: String,
    /// The body of the reply, as a call would get it, or why there is none: one line, secrets masked.
    pub body: Result<Value, String>,
}

/// A line of a request file.
#[derive(Deserialize)]
struct RequestLine<'a> {
    #[serde(borrow)]
    custom_id: &'a str,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// A JSON body between `head` and `tail` with an element for each line of a request file, which `element` makes of its id and
/// its body. The body stands there byte by byte as a call would send it.
fn requests_as_json(
    requests: &[u8],
    head: &str,
    element: impl Fn(&str, &str) -> String,
    tail: &str,
) -> Result<Vec<u8>> {
    let mut json = head.as_bytes().to_vec();
    let lines = requests.split(|byte| *byte == b'\n');
    for (at, line) in lines.filter(|line| !line.is_empty()).enumerate() {
        let line: RequestLine<'_> = serde_json::from_slice(line).map_err(|error| {
            let line = at + 1;
            Error::Usage(format!(
                "line {line} of a request file is not a request ({error}); export the batch again"
            ))
        })?;
        if at > 0 {
            json.push(b',');
        }
        json.extend_from_slice(element(line.custom_id, line.body.get()).as_bytes());
    }
    json.extend_from_slice(tail.as_bytes());
    Ok(json)
}

/// Ids become parts of addresses: anything but letters, digits, `-`, `_` and `.` is refused, save the name of Gemini's
/// collections before them.
fn checked_id(id: &str, what: &str) -> Result<String> {
    let bare = ["batches/", "files/"]
        .iter()
        .find_map(|collection| id.strip_prefix(collection))
        .unwrap_or(id);
    if is_plain_name(bare) && bare.len() <= 256 {
        return Ok(bare.to_owned());
    }
    Err(Error::JudgeUnavailable(format!(
        "the batch service sent {id:?}, which is not the id of a {what}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_would_change_the_address_are_refused() {
        for id in ["", "../x", "a/b", "a?b", "a b", "..", "batches/../x"] {
            assert!(checked_id(id, "file").is_err(), "{id:?}");
        }
        assert_eq!(checked_id("file-Ab_1.2", "file").unwrap(), "file-Ab_1.2");
        assert_eq!(checked_id("batches/abc", "batch").unwrap(), "abc");
    }
}

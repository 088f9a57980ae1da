//! Gemini's batches: `POST /models/MODEL:batchGenerateContent` with all requests in it.
//!
//! A batch is a long-running operation. Its results are in it, or in a file to be downloaded. Requests could come as an uploaded
//! file of up to 2 GB, too; several batches of up to 20 MB need no upload. Sources: the converters of google-genai 3.6.1
//! (`batches.py`), ai.google.dev, "Batch API".

use serde_json::{Value, json};

use super::openai::is_blank;
use super::{Batch, BatchApi, BatchLimits, BatchResult, ResultPlace, checked_id, requests_as_json};
use crate::batch::manifest::BatchPart;
use crate::chat::error_words;
use crate::protocol::{GEMINI, Protocol as _};
use scholareval_core::error::{Error, Result};

/// Gemini's batches.
pub(super) static GEMINI_BATCHES: GeminiBatches = GeminiBatches;

/// See the module.
#[derive(Debug)]
pub(super) struct GeminiBatches;

impl BatchApi for GeminiBatches {
    fn limits(&self) -> BatchLimits {
        BatchLimits {
            requests: u64::MAX,
            bytes: 20_000_000,
        }
    }

    fn hours(&self) -> u64 {
        48
    }

    fn creation(&self, part: &BatchPart, requests: &[u8]) -> Result<(String, Vec<u8>)> {
        let call = part.url.strip_prefix(GEMINI.address().default_path);
        let Some(model) = call.and_then(|call| call.strip_suffix(":generateContent")) else {
            let what = format!("{}: {:?} is not a route of Gemini", part.file, part.url);
            return Err(Error::Usage(format!("{what}; export the batch again")));
        };
        let name = json!(name_of(part));
        let head = format!(
            r#"{{"batch":{{"displayName":{name},"inputConfig":{{"requests":{{"requests":["#
        );
        let request =
            |id: &str, body: &str| format!(r#"{{"request":{body},"metadata":{{"key":"{id}"}}}}"#);
        let body = requests_as_json(requests, &head, request, "]}}}}")?;
        Ok((format!("{model}:batchGenerateContent"), body))
    }

    fn list_path(&self) -> &'static str {
        "/batches"
    }

    fn page_query(&self) -> (&'static str, &'static str) {
        ("pageSize", "pageToken")
    }

    fn cancel_suffix(&self) -> &'static str {
        ":cancel"
    }

    fn listed<'a>(&self, page: &'a Value) -> (&'a [Value], Option<&'a str>) {
        let batches = page["operations"].as_array().map_or(&[][..], Vec::as_slice);
        let next = page["nextPageToken"].as_str();
        (batches, next.filter(|next| !next.is_empty()))
    }

    fn is_of(&self, listed: &Value, part: &BatchPart) -> bool {
        listed["metadata"]["displayName"] == name_of(part)
    }

    fn batch(&self, reported: &Value, base_url: &str) -> Result<Batch> {
        let facts = &reported["metadata"];
        let (error, stats) = (&reported["error"], &facts["batchStats"]);
        let state = facts["state"].as_str().map(|state| {
            let bare = state.strip_prefix("BATCH_STATE_");
            let bare = bare.or_else(|| state.strip_prefix("JOB_STATE_"));
            bare.unwrap_or(state).to_ascii_lowercase()
        });
        let is_failed = reported["done"] == true && !error.is_null();
        let outputs = [&facts["output"], &reported["response"]];
        let mut results = Vec::new();
        if let Some(output) = outputs.into_iter().find(|output| output.is_object()) {
            results.extend(place(output, base_url)?.map(|place| ("output", place)));
        }
        Ok(Batch {
            id: reported["name"].as_str().unwrap_or_default().to_owned(),
            status: state.or_else(|| is_failed.then(|| "failed".to_owned())),
            completed: count(&stats["successfulRequestCount"]),
            failed: count(&stats["failedRequestCount"]),
            errors: Some(error)
                .filter(|error| !error.is_null())
                .map(error_words)
                .into_iter()
                .collect(),
            results,
        })
    }

    /// The key of a request stands beside its result in files, and in the metadata of results that are in the batch.
    fn result(&self, line: &Value) -> Option<BatchResult> {
        let mut keys = [&line["key"], &line["metadata"]["key"]].into_iter();
        let custom_id = keys.find_map(Value::as_str)?.to_owned();
        let body = match (&line["error"], &line["response"]) {
            (error, _) if !is_blank(error) => Err(error_words(error)),
            (_, Value::Null) => Err("no response and no error".to_owned()),
            (_, response) => Ok(response.clone()),
        };
        Some(BatchResult { custom_id, body })
    }
}

/// The name by which a batch is found again: that of the requests in it.
fn name_of(part: &BatchPart) -> String {
    let hash: String = part.hash.chars().take(32).collect();
    format!("scholareval-{hash}")
}

/// Where the results of an output are; `None` if it has none.
fn place(output: &Value, base_url: &str) -> Result<Option<ResultPlace>> {
    if let Some(name) = output["responsesFile"].as_str() {
        let id = checked_id(name, "file")?;
        let (root, version) = base_url.rsplit_once('/').unwrap_or((base_url, ""));
        let url = format!("{root}/download/{version}/files/{id}:download?alt=media");
        return Ok(Some(ResultPlace::Url(url)));
    }
    let inlined = &output["inlinedResponses"];
    let list = inlined["inlinedResponses"].as_array();
    let Some(list) = list.or_else(|| inlined.as_array()) else {
        return Ok(None);
    };
    let lines: String = list.iter().map(|result| format!("{result}\n")).collect();
    Ok(Some(ResultPlace::Lines(lines.into_bytes())))
}

/// A count, which protocol buffers write as a string.
fn count(value: &Value) -> u64 {
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.or_else(|| value.as_u64()).unwrap_or(0)
}

//! OpenAI's Batch API, and servers that have the same: a request file is uploaded, and a batch is created of it.
//!
//! Replies and errors come in two files. Sources: OpenAI's Batch API reference (at most 50,000 requests and 200 MB a file,
//! answered within 24 hours).

use async_openai::types::batches::{BatchCompletionWindow, BatchRequest};
use serde_json::{Value, json};

use super::{Batch, BatchApi, BatchLimits, BatchResult, ResultPlace, checked_id};
use crate::batch::manifest::BatchPart;
use crate::chat::error_words;
use crate::protocol::completion::error_in;
use scholareval_core::error::{Error, Result};

/// OpenAI's batches.
pub(super) static OPENAI_BATCHES: OpenAiBatches = OpenAiBatches;

/// See the module.
#[derive(Debug)]
pub(super) struct OpenAiBatches;

impl BatchApi for OpenAiBatches {
    fn limits(&self) -> BatchLimits {
        BatchLimits {
            requests: 50_000,
            bytes: 200_000_000,
        }
    }

    fn upload_path(&self) -> Option<&'static str> {
        Some("/files")
    }

    fn creation(&self, part: &BatchPart, _requests: &[u8]) -> Result<(String, Vec<u8>)> {
        let endpoint = serde_json::from_value(json!(part.url)).map_err(|_| {
            Error::Settings(format!(
                "{}: OpenAI has no batches of {:?}; export the batch again",
                part.file, part.url
            ))
        })?;
        let order = BatchRequest {
            input_file_id: part.file_id.clone().unwrap_or_default(),
            endpoint,
            completion_window: BatchCompletionWindow::W24H,
            metadata: None,
            output_expires_after: None,
        };
        let mut order = json!(order);
        // Servers that have the same routes need not know members that say nothing.
        if let Some(members) = order.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        Ok(("/batches".to_owned(), order.to_string().into_bytes()))
    }

    fn list_path(&self) -> &'static str {
        "/batches"
    }

    fn page_query(&self) -> (&'static str, &'static str) {
        ("limit", "after")
    }

    fn is_of(&self, listed: &Value, part: &BatchPart) -> bool {
        part.file_id.is_some() && listed["input_file_id"].as_str() == part.file_id.as_deref()
    }

    fn batch(&self, reported: &Value, base_url: &str) -> Result<Batch> {
        let count = |name: &str| reported["request_counts"][name].as_u64().unwrap_or(0);
        let errors = reported["errors"]["data"].as_array().into_iter().flatten();
        let mut results = Vec::new();
        for (kind, name) in [("output", "output_file_id"), ("errors", "error_file_id")] {
            if let Some(id) = reported[name].as_str().filter(|id| !id.is_empty()) {
                let id = checked_id(id, "file")?;
                let url = format!("{base_url}/files/{id}/content");
                results.push((kind, ResultPlace::Url(url)));
            }
        }
        Ok(Batch {
            id: reported["id"].as_str().unwrap_or_default().to_owned(),
            status: reported["status"].as_str().map(str::to_owned),
            completed: count("completed"),
            failed: count("failed"),
            errors: errors.map(line_error).collect(),
            results,
        })
    }

    /// `{custom_id, response: {status_code, body}, error}`; some services write the completion itself as the response.
    fn result(&self, line: &Value) -> Option<BatchResult> {
        let custom_id = line["custom_id"].as_str()?.to_owned();
        // Anthropic's lines have this member.
        line["result"].is_null().then(|| BatchResult {
            custom_id,
            body: body_of(&line["response"], &line["error"]),
        })
    }
}

fn body_of(response: &Value, error: &Value) -> Result<Value, String> {
    let body = if response["choices"].is_null() {
        &response["body"]
    } else {
        response
    };
    let error = if is_blank(error) {
        error_in(body).filter(|error| !is_blank(error))
    } else {
        Some(error)
    };
    let words = error.map(|error| error_words(error_in(error).unwrap_or(error)));
    match (response["status_code"].as_u64().unwrap_or(200), words) {
        (200, Some(words)) => Err(words),
        (200, None) if response.is_null() => Err("no response and no error".to_owned()),
        (200, None) => Ok(body.clone()),
        (status, Some(words)) => Err(format!("status {status}: {words}")),
        (status, None) => Err(format!("status {status}")),
    }
}

/// Whether an `error` member reports nothing: some services send `{}`, `""` or `false` next to a completion.
pub(super) fn is_blank(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

fn line_error(error: &Value) -> String {
    match error["line"].as_u64() {
        Some(line) => format!("line {line}: {}", error_words(error)),
        None => error_words(error),
    }
}

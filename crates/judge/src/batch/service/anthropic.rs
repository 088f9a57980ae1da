//! Anthropic's Message Batches: all requests are sent with the creation, results are one file in any order.
//!
//! Sources: the types of anthropic 2.14.0 (`messages/batches`); at most 100,000 requests or 256 MB, answered within 24 hours.

use serde_json::Value;

use super::{Batch, BatchApi, BatchLimits, BatchResult, ResultPlace, checked_id, requests_as_json};
use crate::batch::manifest::BatchPart;
use crate::chat::error_words;
use scholareval_core::error::Result;

/// Anthropic's batches.
pub(super) static ANTHROPIC_BATCHES: AnthropicBatches = AnthropicBatches;

const PATH: &str = "/messages/batches";

/// See the module.
#[derive(Debug)]
pub(super) struct AnthropicBatches;

impl BatchApi for AnthropicBatches {
    fn limits(&self) -> BatchLimits {
        BatchLimits {
            requests: 100_000,
            bytes: 256_000_000,
        }
    }

    fn creation(&self, _part: &BatchPart, requests: &[u8]) -> Result<(String, Vec<u8>)> {
        let request = |id: &str, body: &str| format!(r#"{{"custom_id":"{id}","params":{body}}}"#);
        let body = requests_as_json(requests, "{\"requests\":[", request, "]}")?;
        Ok((PATH.to_owned(), body))
    }

    fn list_path(&self) -> &'static str {
        PATH
    }

    fn page_query(&self) -> (&'static str, &'static str) {
        ("limit", "after_id")
    }

    /// A batch has no name of ours: its size is all that the list shows.
    fn is_of(&self, listed: &Value, part: &BatchPart) -> bool {
        let counts = listed["request_counts"].as_object().into_iter().flatten();
        counts.filter_map(|(_, count)| count.as_u64()).sum::<u64>() == part.requests
    }

    fn names_its_file(&self) -> bool {
        false
    }

    fn batch(&self, reported: &Value, base_url: &str) -> Result<Batch> {
        let id = checked_id(reported["id"].as_str().unwrap_or_default(), "batch")?;
        let status = reported["processing_status"].as_str();
        let count = |name: &str| reported["request_counts"][name].as_u64().unwrap_or(0);
        let mut results = Vec::new();
        if status == Some("ended") {
            let url = results_url(reported, &id, base_url);
            results.push(("output", ResultPlace::Url(url)));
        }
        Ok(Batch {
            status: status.map(str::to_owned),
            completed: count("succeeded"),
            failed: count("errored") + count("canceled") + count("expired"),
            errors: Vec::new(),
            results,
            id,
        })
    }

    fn result(&self, line: &Value) -> Option<BatchResult> {
        let custom_id = line["custom_id"].as_str()?.to_owned();
        let result = line.get("result").filter(|result| result.is_object())?;
        let body = match result["type"].as_str().unwrap_or_default() {
            "succeeded" => Ok(result["message"].clone()),
            "errored" => {
                // The error of a call stands within that of the batch.
                let outer = &result["error"];
                let inner = outer.get("error").filter(|inner| !inner.is_null());
                Err(error_words(inner.unwrap_or(outer)))
            }
            "canceled" => Err("the batch was canceled before it was answered".to_owned()),
            "expired" => Err("the batch expired before it was answered".to_owned()),
            _ => Err("a result of an unknown type".to_owned()),
        };
        Some(BatchResult { custom_id, body })
    }
}

/// The address of the results, at the base URL of the service only: another host must not get the key, and a gateway's
/// address is the one that the user may reach.
fn results_url(reported: &Value, id: &str, base_url: &str) -> String {
    let named = reported["results_url"].as_str().unwrap_or_default();
    match named.strip_prefix(base_url) {
        Some(path) if path.starts_with('/') => named.to_owned(),
        _ => format!("{base_url}{PATH}/{id}/results"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_are_fetched_from_the_base_url_whatever_host_is_named() {
        let url = |named: Value| {
            results_url(
                &json!({"results_url": named}),
                "b",
                "https://api.anthropic.com/v1",
            )
        };
        let usual = "https://api.anthropic.com/v1/messages/batches/b/results";
        for other in [
            json!("https://evil.example/v1/messages/batches/b/results"),
            json!("https://api.anthropic.com/v1@evil.example/x"),
            json!("https://api.anthropic.com/v1.evil.example/x"),
            json!(null),
        ] {
            assert_eq!(url(other.clone()), usual, "{other}");
        }
        let moved = "https://api.anthropic.com/v1/results/b";
        assert_eq!(url(json!(moved)), moved);
    }
}

//! Statistics of one endpoint over a run.

use serde::{Deserialize, Serialize};

/// Counts, latency and tokens of the calls to one endpoint, for the summary of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndpointStats {
    /// The endpoint's address, secrets masked; `url` in files.
    #[serde(rename = "url")]
    pub name: String,
    /// Finished calls, retries included.
    pub calls: u64,
    /// Complete replies.
    pub replies: u64,
    /// Calls without a reply: failed connections, time-outs, truncated bodies, error responses.
    pub errors: u64,
    /// Errors 429 (too many requests), 503 and 529 (overloaded).
    pub throttled: u64,
    /// Median latency of replies in milliseconds; `None` without a reply.
    pub latency_p50_ms: Option<f64>,
    /// 95th percentile of the latency in milliseconds; `None` without a reply.
    pub latency_p95_ms: Option<f64>,
    /// Prompt tokens, as counted by the server.
    pub prompt_tokens: u64,
    /// Prompt tokens from the server's prefix cache.
    pub cached_prompt_tokens: u64,
    /// Whether the endpoint was down at the end of the run.
    pub is_down: bool,
    /// The last error that marked it as down.
    pub last_failure: Option<String>,
}

/// Statistics of one endpoint of one judge.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EndpointUse {
    /// The judge's name in the config file; `judge` for the table `[judge]`.
    pub judge: String,
    /// Its address and counts.
    #[serde(flatten)]
    pub stats: EndpointStats,
}

//! What one endpoint of a judge did during a run.

use serde::{Deserialize, Serialize};

/// What became of the calls to one endpoint, for the summary of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndpointStats {
    /// The endpoint's address, secrets masked; `url` in files.
    #[serde(rename = "url")]
    pub name: String,
    /// Calls that came to an end there, retries included.
    pub calls: u64,
    /// Whole replies.
    pub replies: u64,
    /// Calls without a reply: failed connections, time-outs, cut bodies, error responses of every kind.
    pub errors: u64,
    /// Those errors that said "too many requests" (429) or "overloaded" (503, 529).
    pub throttled: u64,
    /// Half of the replies took no longer, in milliseconds; `None` without a reply.
    pub latency_p50_ms: Option<f64>,
    /// 95% of the replies took no longer, in milliseconds; `None` without a reply.
    pub latency_p95_ms: Option<f64>,
    /// Prompt tokens, as the server counted them.
    pub prompt_tokens: u64,
    /// Prompt tokens that the server took from its prefix cache.
    pub cached_prompt_tokens: u64,
    /// True if no calls were sent there at the end, because it was down.
    pub is_down: bool,
    /// What it said when it was found down last.
    pub last_failure: Option<String>,
}

/// What one endpoint of one judge did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EndpointUse {
    /// The judge's name in the config file; `judge` is the one of `[judge]`.
    pub judge: String,
    /// Its address, and what was counted of it.
    #[serde(flatten)]
    pub stats: EndpointStats,
}

impl EndpointStats {
    /// Share of the prompt tokens that came from the prefix cache, 0..=1; `None` where no tokens were counted.
    pub fn cached_share(&self) -> Option<f64> {
        (self.prompt_tokens > 0).then(|| self.cached_prompt_tokens as f64 / self.prompt_tokens as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cached_share_is_none_where_nothing_was_counted() {
        let stats = EndpointStats { prompt_tokens: 200, cached_prompt_tokens: 150, ..EndpointStats::default() };
        assert_eq!(stats.cached_share(), Some(0.75));
        assert_eq!(EndpointStats::default().cached_share(), None);
    }
}

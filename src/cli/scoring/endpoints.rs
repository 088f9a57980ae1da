//! What the endpoints of a run do, while it goes on and at its end.

use std::fmt;
use std::sync::Arc;

use super::servers::Fleet;
use crate::cli::origin::escape_controls;
use crate::cli::terminal::grouped;
use crate::domain::EndpointUse;

/// The endpoints that a run asks, by the names of their judges.
#[derive(Clone, Default)]
pub(in crate::cli) struct Endpoints(Vec<(String, Arc<Fleet>)>);

impl Endpoints {
    pub(super) fn add(&mut self, judge: &str, fleet: Arc<Fleet>) {
        self.0.push((judge.to_owned(), fleet));
    }

    /// How many there are, and how many of them are down.
    pub(in crate::cli) fn down(&self) -> (usize, usize) {
        let each = self.0.iter().map(|(_, fleet)| fleet.down());
        each.fold((0, 0), |(all, down), (more, more_down)| (all + more, down + more_down))
    }

    /// What each of them did so far, of the judges that were asked at all.
    pub(in crate::cli) fn stats(&self) -> Vec<EndpointUse> {
        let of_judge = |(judge, fleet): &(String, Arc<Fleet>)| {
            let stats = fleet.stats();
            let was_asked = stats.iter().any(|stats| stats.calls > 0);
            let uses = stats.into_iter().map(|stats| EndpointUse { judge: judge.clone(), stats });
            if was_asked { uses.collect() } else { Vec::new() }
        };
        self.0.iter().flat_map(of_judge).collect()
    }
}

impl fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoints").field(&self.down()).finish()
    }
}

/// What is told of an endpoint at the end of a run.
pub(in crate::cli) fn endpoint_line(endpoint: &EndpointUse) -> String {
    let stats = &endpoint.stats;
    let mut text = format!("endpoint {} of {}: {} calls", stats.name, endpoint.judge, grouped(stats.calls));
    match (stats.errors, stats.throttled) {
        (0, _) => {}
        (errors, 0) => text.push_str(&format!(", {} errors", grouped(errors))),
        (errors, throttled) => {
            text.push_str(&format!(", {} errors ({} times 429 or 503)", grouped(errors), grouped(throttled)));
        }
    }
    if let (Some(p50), Some(p95)) = (stats.latency_p50_ms, stats.latency_p95_ms) {
        text.push_str(&format!(", latency p50 {} ms, p95 {} ms", grouped(p50 as u64), grouped(p95 as u64)));
    }
    if let Some(share) = stats.cached_share() {
        let (all, cached) = (grouped(stats.prompt_tokens), grouped(stats.cached_prompt_tokens));
        text.push_str(&format!(", {all} prompt tokens, {cached} ({:.0}%) from its prefix cache", 100.0 * share));
    }
    if stats.is_down {
        text.push_str(&format!("; down at the end: {}", stats.last_failure.as_deref().unwrap_or("it fails")));
    }
    escape_controls(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::EndpointStats;

    #[test]
    fn a_line_says_what_an_endpoint_did_and_leaves_out_what_did_not_happen() {
        let calm = EndpointStats {
            name: "http://gpu1:8000/v1".into(),
            calls: 1234,
            replies: 1234,
            latency_p50_ms: Some(812.0),
            latency_p95_ms: Some(2310.5),
            prompt_tokens: 4000,
            cached_prompt_tokens: 3000,
            ..EndpointStats::default()
        };
        let line = |stats| endpoint_line(&EndpointUse { judge: "judge".into(), stats });
        assert_eq!(
            line(calm.clone()),
            "endpoint http://gpu1:8000/v1 of judge: 1,234 calls, latency p50 812 ms, p95 2,310 ms, 4,000 prompt tokens, \
             3,000 (75%) from its prefix cache"
        );
        let down = EndpointStats {
            name: "u".into(),
            calls: 5,
            errors: 5,
            throttled: 2,
            is_down: true,
            last_failure: Some("cannot\u{1b}connect".into()),
            ..EndpointStats::default()
        };
        assert_eq!(
            line(down),
            "endpoint u of judge: 5 calls, 5 errors (2 times 429 or 503); down at the end: cannot\\u{1b}connect"
        );
    }
}

//! What judges that reason cost by default: calls and reply tokens, against what was needed.
//!
//! The reasoning of a call is lognormal around a median, the same for every try of it. Needed is what each call would have
//! used without a limit, once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::fake_server::{Act, Behaviour, FakeServer, Recorded, good_content, reasoned};

/// Median tokens of reasoning a call.
pub(crate) const MEDIANS: [u64; 5] = [0, 150, 500, 1_200, 4_000];
/// The spread of the logarithm: of a median of 4,000 tokens, 0.8% of the calls need more than 32,000.
const SIGMA: f64 = 0.86;
/// Calls at once.
pub(crate) const CONCURRENCY: usize = 8;

pub(crate) const HEAD: &str =
    "median reasoning    needed calls    calls    needed tokens     tokens    ratio    unscored";

/// The tokens of each call.
#[derive(Default)]
pub(crate) struct Spent {
    /// Needed by each question.
    needed: HashMap<String, u64>,
    calls: u64,
    tokens: u64,
}

impl Spent {
    pub(crate) fn row(&self, median: u64, unscored: usize) -> String {
        let needed: u64 = self.needed.values().sum();
        format!(
            "{median:>16} {:>15} {:>8} {needed:>16} {:>10} {:>8.3} {unscored:>11}",
            self.needed.len(),
            self.calls,
            self.tokens,
            self.tokens as f64 / needed as f64,
        )
    }
}

/// A judge with this median, and what it counts.
pub(crate) fn server(median: u64) -> (FakeServer, Arc<Mutex<Spent>>) {
    let spent = Arc::new(Mutex::new(Spent::default()));
    let counted = Arc::clone(&spent);
    let judge = Behaviour::good().without_record().deciding(move |request| {
        let content = good_content(request);
        let reasoning = tokens(request, median);
        let reply = reasoned(request, reasoning, &content);
        let mut spent = counted.lock().expect("a lock");
        spent.calls += 1;
        spent.tokens += reply["usage"]["completion_tokens"]
            .as_u64()
            .expect("a count");
        let needed = reasoning + content.len().div_ceil(4) as u64;
        spent.needed.insert(request.user_message(), needed);
        Some(Act::json(&reply))
    });
    (FakeServer::start(judge), spent)
}

/// The tokens of a call's reasoning, by the hash of its prompt.
fn tokens(request: &Recorded, median: u64) -> u64 {
    let hash = blake3::hash(request.user_message().as_bytes());
    let part = |at: usize| {
        let bytes: [u8; 8] = hash.as_bytes()[at..at + 8].try_into().expect("eight bytes");
        (u64::from_le_bytes(bytes) as f64 + 1.0) / (u64::MAX as f64 + 2.0)
    };
    // Box and Muller: two uniform numbers give a normal one.
    let normal = (-2.0 * part(0).ln()).sqrt() * (std::f64::consts::TAU * part(8)).cos();
    (median as f64 * (SIGMA * normal).exp()).round() as u64
}

//! Probabilities of the tokens of a reply.

use serde::{Deserialize, Serialize};

/// One token of a reply as the server sampled it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TokenLogprob {
    /// The token's text.
    pub token: String,
    /// Natural logarithm of its probability.
    pub logprob: f64,
    /// Alternatives at its place with their logarithms, the token itself among them where the server lists it. Kept
    /// only for tokens that hold a digit, a score being nowhere else, and for the token behind such a one, which tells
    /// whether the number might have gone on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<(String, f64)>,
}

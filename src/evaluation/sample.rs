//! A sample of a plan's calls, to be looked at closely.
//!
//! Those with the smallest fingerprints are kept. Fingerprints are hashes, so that this is a draw without replacement in
//! which every call has the same chance; it is the same draw for the same calls, in whatever order they come and however
//! many threads plan.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::domain::Fingerprint;
use crate::judge::Rendered;

/// One call of a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampledCall {
    /// The JSON body that would be sent.
    pub body: Bytes,
    /// About how many tokens its prompt has, by the estimate that its group's sums are made of.
    pub prompt_tokens: u64,
    /// Behind so many gates; 0 is askable now.
    pub gates: usize,
}

/// The sample of one group.
#[derive(Debug, Default)]
pub(super) struct Sample(BTreeMap<[u8; 32], (Bytes, u64)>);

impl Sample {
    /// Keeps this call if it is among the `size` smallest so far.
    pub(super) fn offer(&mut self, call: &Rendered, size: usize) {
        let key = *call.fingerprint.as_bytes();
        let is_full = self.0.len() >= size;
        if is_full && self.0.last_key_value().is_none_or(|(last, _)| *last < key) {
            return;
        }
        self.0.insert(key, (call.body.clone(), call.prompt_tokens));
        if self.0.len() > size {
            self.0.pop_last();
        }
    }

    /// What was kept; `gates` tells how far each is away.
    pub(super) fn calls(&self, gates: impl Fn(&Fingerprint) -> usize) -> Vec<SampledCall> {
        let call = |(key, (body, prompt_tokens)): (&[u8; 32], &(Bytes, u64))| SampledCall {
            body: body.clone(),
            prompt_tokens: *prompt_tokens,
            gates: gates(&Fingerprint::from(*key)),
        };
        self.0.iter().map(call).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(key: u8) -> Rendered {
        let fingerprint = Fingerprint::from([key; 32]);
        Rendered {
            body: Bytes::new(),
            fingerprint,
            prompt_tokens: key.into(),
            max_tokens: None,
            note: None,
            is_unpaid: false,
        }
    }

    fn drawn(keys: impl Iterator<Item = u8>, size: usize) -> Vec<u64> {
        let mut sample = Sample::default();
        keys.for_each(|key| sample.offer(&call(key), size));
        sample.calls(|_| 0).iter().map(|call| call.prompt_tokens).collect()
    }

    #[test]
    fn the_draw_does_not_depend_on_the_order() {
        assert_eq!(drawn(0..100, 3), [0, 1, 2]);
        assert_eq!(drawn((0..100).rev(), 3), [0, 1, 2]);
        assert_eq!(drawn(0..2, 3), [0, 1], "fewer than wanted are all");
        assert_eq!(drawn(0..9, 0), [0; 0]);
    }
}

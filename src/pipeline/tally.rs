//! Counts what a run would ask; identical calls are one.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::event::Plan;
use crate::domain::Fingerprint;
use crate::judge::Rendered;

/// The calls of a plan that are not paid.
#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    by_key: HashMap<Fingerprint, Ahead>,
    /// Calls without a key (judges that answer the task itself): now, and behind a gate.
    keyless: (u64, u64),
}

#[derive(Debug, Clone, Copy)]
struct Ahead {
    gated: bool,
    prompt_tokens: u64,
}

impl Tally {
    /// Counts a call that is not paid. One that is behind a gate here and askable elsewhere is askable.
    pub(super) fn count(&self, rendered: Option<&Rendered>, gated: bool) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match rendered {
            Some(rendered) => {
                let ahead = Ahead { gated, prompt_tokens: rendered.prompt_tokens };
                counts.by_key.entry(rendered.fingerprint).and_modify(|known| known.gated &= gated).or_insert(ahead);
            }
            None if gated => counts.keyless.1 += 1,
            None => counts.keyless.0 += 1,
        }
    }

    /// Adds what was counted to `plan`.
    pub(super) fn add_to(&self, plan: &mut Plan) {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        plan.askable_now += counts.keyless.0;
        plan.at_most += counts.keyless.0 + counts.keyless.1;
        for ahead in counts.by_key.values() {
            plan.at_most += 1;
            plan.prompt_tokens_at_most += ahead.prompt_tokens;
            if !ahead.gated {
                plan.askable_now += 1;
                plan.prompt_tokens_now += ahead.prompt_tokens;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(key: u8, prompt_tokens: u64) -> Rendered {
        Rendered {
            body: bytes::Bytes::new(),
            fingerprint: Fingerprint::from([key; 32]),
            prompt_tokens,
            max_tokens: None,
            note: None,
        }
    }

    #[test]
    fn identical_calls_are_one_and_askable_if_one_of_them_is() {
        let tally = Tally::default();
        tally.count(Some(&rendered(1, 10)), false);
        tally.count(Some(&rendered(1, 10)), false);
        tally.count(Some(&rendered(2, 7)), true);
        tally.count(Some(&rendered(2, 7)), false);
        tally.count(Some(&rendered(3, 5)), true);
        tally.count(None, true);
        let mut plan = Plan::default();
        tally.add_to(&mut plan);
        // now: keys 1 and 2; at most: key 3 and the call without a key besides
        assert_eq!((plan.askable_now, plan.at_most), (2, 4));
        assert_eq!((plan.prompt_tokens_now, plan.prompt_tokens_at_most), (17, 22));
    }
}

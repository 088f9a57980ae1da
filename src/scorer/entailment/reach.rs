//! Upper bound: the questions that may still be asked, whatever the judge replies.

use std::collections::HashMap;
use std::sync::Arc;

use crate::scorer::Possible;

use super::claims::Claim;
use super::{Round, Slot};

/// Walks all claims with the known replies, and assumes that each missing reply may be yes or no.
pub(super) struct Reach<'a> {
    round: Round<'a>,
    found: Vec<Possible>,
    /// Index in `found` of each open question (claim, document).
    places: HashMap<(Arc<str>, Arc<str>), usize>,
    /// Whether the current walk found a new question or moved one nearer.
    has_news: bool,
}

impl<'a> Reach<'a> {
    /// `round` holds the known replies.
    pub(super) fn new(round: Round<'a>) -> Self {
        Self { round, found: Vec::new(), places: HashMap::new(), has_news: true }
    }

    /// Whether another walk may find more; resets the flag.
    pub(super) fn has_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// All open questions.
    pub(super) fn into_found(self) -> Vec<Possible> {
        self.found
    }

    /// With k > 1 citations at most 1 + k + k questions: all together; each alone, if together they may support the
    /// claim; the others, if that one alone may not.
    pub(super) fn claim(&mut self, claim: &Claim) {
        let Some(gates) = self.gates_if(true, claim, Slot::Together, 0) else { return };
        let count = claim.places.len();
        for at in 0..if count > 1 { count } else { 0 } {
            if let Some(gates) = self.gates_if(false, claim, Slot::Alone(at), gates) {
                self.gates_if(true, claim, Slot::Others(at), gates);
            }
        }
    }

    /// The earliest round for questions that depend on this reply being `wanted`: after `gates` earlier rounds and this
    /// reply, which another claim may request sooner. `None` if the reply is known to differ.
    fn gates_if(&mut self, wanted: bool, claim: &Claim, slot: Slot, gates: usize) -> Option<usize> {
        let document = self.round.plan.document(&slot.places(claim));
        let question = (Arc::clone(&claim.text), Arc::clone(&document));
        if let Some(known) = self.round.known.get(&question) {
            return (known.holds() == Some(wanted)).then_some(gates);
        }
        let possible = Possible { call: self.round.call(claim, &slot, document), gates };
        match self.places.get(&question).and_then(|place| self.found.get_mut(*place)) {
            Some(before) if gates >= before.gates => return Some(gates.max(before.gates + 1)),
            // Keep the key that comes up first, which is the one `step` uses.
            Some(before) => *before = possible,
            None => {
                self.places.insert(question, self.found.len());
                self.found.push(possible);
            }
        }
        self.has_news = true;
        Some(gates + 1)
    }
}

//! Which questions can still come up, whatever the judge will say.

use std::collections::HashMap;
use std::sync::Arc;

use crate::scorer::Possible;

use super::claims::Claim;
use super::{Round, Slot};

/// Walks every claim with the replies that are known, and takes the others to say both yes and no.
pub(super) struct Reach<'a> {
    round: Round<'a>,
    found: Vec<Possible>,
    /// Where each open question (claim, document) stands in `found`.
    places: HashMap<(Arc<str>, Arc<str>), usize>,
    /// True until a walk over all claims finds nothing new and nothing nearer.
    has_news: bool,
}

impl<'a> Reach<'a> {
    /// `round` knows the replies there are.
    pub(super) fn new(round: Round<'a>) -> Self {
        Self { round, found: Vec::new(), places: HashMap::new(), has_news: true }
    }

    /// Whether another walk over the claims may find more. The next walk starts from no news.
    pub(super) fn has_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// Everything that was found open.
    pub(super) fn into_found(self) -> Vec<Possible> {
        self.found
    }

    /// With k > 1 citations at most 1 + k + k questions: all together; each alone, where together they can hold; the
    /// others, where that one alone can fail.
    pub(super) fn claim(&mut self, claim: &Claim) {
        let Some(gates) = self.gates_if(true, claim, Slot::Together, 0) else { return };
        let count = claim.places.len();
        for at in 0..if count > 1 { count } else { 0 } {
            if let Some(gates) = self.gates_if(false, claim, Slot::Alone(at), gates) {
                self.gates_if(true, claim, Slot::Others(at), gates);
            }
        }
    }

    /// In which round at the earliest what hangs on this reply is asked, if it is `wanted`: behind the `gates` before, and
    /// once this question is replied to, which another claim may have asked earlier. `None` if the reply is known to be
    /// otherwise.
    fn gates_if(&mut self, wanted: bool, claim: &Claim, slot: Slot, gates: usize) -> Option<usize> {
        let document = self.round.plan.document(&slot.places(claim));
        let question = (Arc::clone(&claim.text), Arc::clone(&document));
        if let Some(known) = self.round.known.get(&question) {
            return (known.holds() == Some(wanted)).then_some(gates);
        }
        let possible = Possible { call: self.round.call(claim, &slot, document), gates };
        match self.places.get(&question).and_then(|place| self.found.get_mut(*place)) {
            Some(before) if gates >= before.gates => return Some(gates.max(before.gates + 1)),
            // Under the name nearest to being asked, which is the one that `step` gives it.
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

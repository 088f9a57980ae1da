//! Lists the questions that may still be asked, whatever the judge replies: an upper bound of the calls.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Possible;

use super::claims::AnswerClaim;
use super::{Round, Slot};

/// Visits all claims with the known replies; a missing reply may be yes or no.
pub(super) struct ReachableCalls<'a> {
    round: Round<'a>,
    /// All open questions.
    pub(super) found: Vec<Possible>,
    /// Index in `found` of each open question (claim, document).
    index_of: HashMap<(Arc<str>, Arc<str>), usize>,
    /// Whether the current pass found a new question, or an earlier round for a known one.
    has_news: bool,
}

impl<'a> ReachableCalls<'a> {
    /// `round` has the known replies.
    pub(super) fn new(round: Round<'a>) -> Self {
        Self {
            round,
            found: Vec::new(),
            index_of: HashMap::new(),
            has_news: true,
        }
    }

    /// Whether another pass may find more; resets the flag.
    pub(super) fn has_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// Adds the questions of a claim. With k > 1 citations there are at most 1 + k + k: all citations together; each
    /// one alone, if all together may support the claim; all but one, if that one alone may not support it.
    pub(super) fn claim(&mut self, claim: &AnswerClaim) {
        let Some(gates) = self.gates_after(true, claim, Slot::Together, 0) else {
            return;
        };
        let count = claim.places.len();
        for at in 0..if count > 1 { count } else { 0 } {
            if let Some(gates) = self.gates_after(false, claim, Slot::Alone(at), gates) {
                self.gates_after(true, claim, Slot::Others(at), gates);
            }
        }
    }

    /// Adds a question that can be asked after `gates` rounds, unless its reply is known. Returns the number of rounds
    /// before the questions that need `wanted` as its reply; `None` if the known reply is another.
    ///
    /// An equal question of another claim may come in an earlier round, and then its reply decides for both claims.
    fn gates_after(
        &mut self,
        wanted: bool,
        claim: &AnswerClaim,
        slot: Slot,
        gates: usize,
    ) -> Option<usize> {
        let document = self.round.plan.document(&slot.places(claim));
        let question = (Arc::clone(&claim.text), Arc::clone(&document));
        if let Some(known) = self.round.known.get(&question) {
            return (known.holds() == Some(wanted)).then_some(gates);
        }
        let possible = Possible {
            call: self.round.call(claim, &slot, document),
            gates,
        };
        match self
            .index_of
            .get(&question)
            .and_then(|index| self.found.get_mut(*index))
        {
            Some(earlier) if gates >= earlier.gates => return Some(gates.max(earlier.gates + 1)),
            // `step` asks a question once, under the key of the claim that comes to it first.
            Some(later) => *later = possible,
            None => {
                self.index_of.insert(question, self.found.len());
                self.found.push(possible);
            }
        }
        self.has_news = true;
        Some(gates + 1)
    }
}

//! What planning takes deferred calls to answer, so that it sees what is asked behind them.

use std::sync::Arc;

use crate::domain::{Attribution, CallKind, ClaimShares, MAX_GRADE, Verdict};
use crate::scorer::{Judged, Verdicts};

/// Items that were deferred, with their kind.
pub(super) type Deferred = [(Arc<str>, CallKind)];

/// Takes deferred calls to have the answers that open their gates.
pub(super) fn open(verdicts: &mut Verdicts, deferred: &Deferred) {
    for (item, kind) in deferred {
        verdicts.insert(Arc::clone(item), Judged::Verdict(open_verdict(*kind), None));
    }
}

/// Takes those whose gates open both ways to have the other answer: support by all citations together asks about each
/// alone, and no support by one alone asks about the others.
pub(super) fn turn_round(verdicts: &mut Verdicts, deferred: &Deferred) {
    for (item, _) in deferred.iter().filter(|(_, kind)| *kind == CallKind::Attribution) {
        let other = Verdict::Attribution(Attribution::Extrapolatory);
        verdicts.insert(Arc::clone(item), Judged::Verdict(other, None));
    }
}

/// The verdict that opens every gate behind it.
fn open_verdict(kind: CallKind) -> Verdict {
    match kind {
        CallKind::Expertise | CallKind::Property => Verdict::Points(10.0),
        CallKind::Evidence => Verdict::Count(1.0),
        CallKind::Citations => {
            Verdict::Claims(ClaimShares { citations: 1.0, excerpts: 1.0, claim_count: 1, citation_count: 1 })
        }
        CallKind::Aspect => Verdict::Grade(MAX_GRADE),
        CallKind::Attribution => Verdict::Attribution(Attribution::Attributable),
    }
}

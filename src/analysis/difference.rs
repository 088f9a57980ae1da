//! Why the reference script would report another number for the same replies.

use std::collections::BTreeSet;

use serde::Serialize;

use super::metric::REFERENCE_ANNOTATED_WEIGHT;
use crate::domain::{Component, ComponentKind, Score, UnscoredKind};

/// Numbers closer than this are the same number summed in another order.
const SAME: f64 = 1e-12;

/// One cause of a different number; each is a row of the table of reference faults in `docs/metrics.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceCause {
    /// `ann_score` is divided by 0.6 there, by the total weight of the criteria here.
    AnnScoreDivisor,
    /// A reply that could not be read is 0 there, unscored here.
    UnreadableAsZero,
    /// A number outside its range is taken as it is there.
    OutOfRange,
    /// A component that is unscored here for another reason has a value there.
    UnscoredHere,
    /// The script would have raised.
    ReferenceRaises,
    /// What it would have asked was not asked in this run: what it makes of the answer cannot be told.
    NeedsOtherCalls,
    /// The parts or their weights differ (scaled weights, names that collapse).
    Weights,
    /// The words of the answer are counted differently.
    Length,
    /// A reply with claims is read differently (cut JSON mended, a wrong shape taken as 0).
    Claims,
    /// Any other reply is read differently.
    ReadDifferently,
}

impl DifferenceCause {
    /// The cause as a clause about the reference, for footnotes.
    pub fn describe(self) -> &'static str {
        match self {
            Self::AnnScoreDivisor => "it divides ann_score by 0.6, not by the weight of the criteria",
            Self::UnreadableAsZero => "it counts unreadable replies as 0",
            Self::OutOfRange => "it takes numbers outside their range as they are",
            Self::UnscoredHere => "it has values for components that are unscored here",
            Self::ReferenceRaises => "it has no score where a call fails or it raises an exception",
            Self::NeedsOtherCalls => "it needs calls that this run did not ask and --compat does",
            Self::Weights => "its components or weights differ",
            Self::Length => "it counts words differently",
            Self::Claims => "it reads claims replies differently",
            Self::ReadDifferently => "it reads replies differently",
        }
    }
}

/// Every cause that makes `reference` differ from `ours`; empty if both give the same numbers.
pub(crate) fn causes(ours: &Score, reference: &Score) -> BTreeSet<DifferenceCause> {
    let mut causes = BTreeSet::new();
    let not_asked = |theirs: &Component| theirs.reason.as_ref().is_some_and(|r| r.kind == UnscoredKind::NotAsked);
    let asked_here = |theirs: &&Component| {
        ours.component(&theirs.name)
            .is_none_or(|ours| ours.reason.as_ref().is_none_or(|r| r.kind != UnscoredKind::NotAsked))
    };
    if reference.value.is_none() && reference.components.iter().filter(asked_here).any(not_asked) {
        causes.insert(DifferenceCause::NeedsOtherCalls);
        return causes;
    }
    if same(ours.value, reference.value) && same(ours.ann_score, reference.ann_score) {
        return causes;
    }
    let lost = |theirs: Option<f64>, ours: Option<f64>| theirs.is_none() && ours.is_some();
    if lost(reference.value, ours.value) || lost(reference.ann_score, ours.ann_score) {
        causes.insert(DifferenceCause::ReferenceRaises);
        return causes;
    }
    if ours.components.len() != reference.components.len() {
        causes.insert(DifferenceCause::Weights);
    }
    for component in &ours.components {
        match reference.component(&component.name) {
            Some(theirs) => causes.extend(component_cause(component, theirs)),
            None => {
                causes.insert(DifferenceCause::Weights);
            }
        }
    }
    let annotated: f64 = ours.components.iter().filter(|c| c.kind.is_annotated()).map(|c| c.weight).sum();
    if !same(ours.ann_score, reference.ann_score) && (annotated - REFERENCE_ANNOTATED_WEIGHT).abs() > SAME {
        causes.insert(DifferenceCause::AnnScoreDivisor);
    }
    if causes.is_empty() {
        causes.insert(DifferenceCause::ReadDifferently);
    }
    causes
}

fn component_cause(ours: &Component, theirs: &Component) -> Option<DifferenceCause> {
    if same(ours.value, theirs.value) {
        return ((ours.weight - theirs.weight).abs() > SAME).then_some(DifferenceCause::Weights);
    }
    let Some(their_value) = theirs.value else {
        return Some(DifferenceCause::ReferenceRaises);
    };
    if !(0.0..=1.0).contains(&their_value) {
        return Some(DifferenceCause::OutOfRange);
    }
    let unreadable = ours.reason.as_ref().is_some_and(|r| r.kind == UnscoredKind::Unreadable);
    Some(match (ours.kind, ours.value) {
        (ComponentKind::Length, _) => DifferenceCause::Length,
        (ComponentKind::Citations | ComponentKind::Excerpts, Some(_)) => DifferenceCause::Claims,
        (_, Some(_)) => DifferenceCause::ReadDifferently,
        (_, None) if unreadable && their_value == 0.0 => DifferenceCause::UnreadableAsZero,
        (ComponentKind::Citations | ComponentKind::Excerpts, None) => DifferenceCause::Claims,
        (_, None) => DifferenceCause::UnscoredHere,
    })
}

fn same(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= SAME,
        (a, b) => a.is_none() && b.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::made::{component, score, simple_score};

    fn cause_of(ours: &Score, reference: &Score) -> Vec<DifferenceCause> {
        causes(ours, reference).into_iter().collect()
    }

    #[test]
    fn equal_scores_have_no_cause() {
        assert_eq!(cause_of(&simple_score(Some(0.5)), &simple_score(Some(0.5))), []);
    }

    #[test]
    fn an_unreadable_reply_read_as_0_is_named() {
        let reference = simple_score(Some(0.0));
        assert_eq!(cause_of(&simple_score(None), &reference), [DifferenceCause::UnreadableAsZero]);
    }

    #[test]
    fn a_number_outside_its_range_is_named() {
        assert_eq!(cause_of(&simple_score(None), &simple_score(Some(1.1))), [DifferenceCause::OutOfRange]);
    }

    #[test]
    fn an_exception_is_named() {
        assert_eq!(cause_of(&simple_score(Some(0.5)), &simple_score(None)), [DifferenceCause::ReferenceRaises]);
    }

    #[test]
    fn the_constant_divisor_is_named_only_where_the_weights_differ_from_it() {
        let parts = |weight| vec![component("a", ComponentKind::Property, weight, Some(0.5))];
        let (ours, mut reference) = (score(parts(0.3)), score(parts(0.3)));
        reference.ann_score = Some(0.3 * 0.5 / 0.6);
        assert_eq!(cause_of(&ours, &reference), [DifferenceCause::AnnScoreDivisor]);
    }

    #[test]
    fn length_claims_and_weights_are_told_apart() {
        let parts = |length, citations, weight| {
            score(vec![
                component("length", ComponentKind::Length, 0.1, Some(length)),
                component("citations", ComponentKind::Citations, 0.2, Some(citations)),
                component("a", ComponentKind::Property, weight, Some(0.5)),
            ])
        };
        let ours = parts(0.5, 0.5, 0.6);
        assert_eq!(cause_of(&ours, &parts(0.4, 0.5, 0.6)), [DifferenceCause::Length]);
        assert_eq!(cause_of(&ours, &parts(0.5, 0.0, 0.6)), [DifferenceCause::Claims]);
        assert_eq!(cause_of(&ours, &parts(0.5, 0.5, 0.3)), [DifferenceCause::Weights]);
    }
}

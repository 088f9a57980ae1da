//! Whether the works that an answer cites exist, differ from what is cited, or are retracted, without a judge.
//!
//! The references were looked up before the run and come with the answer: a scorer reads no files. Shares are over the
//! references that were decided, and their bounds over all. A reference that was not found may exist all the same.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use scholareval_core::domain::{ComponentKind, Role, Score, Unit, WorkCounts};

use super::overlap::measured;
use super::{InputNeed, Scorer, ScorerInfo, ScorerReference, ScorerRoles, Step, Subject, Verdicts};
use crate::built_in::built_in_scorer;

/// The components, in this order. Shares without a reference to take them of are omitted.
pub const COMPONENTS: &[(&str, ComponentKind)] = &[
    ("references", ComponentKind::Count),
    ("found", ComponentKind::Share),
    ("found_at_least", ComponentKind::Share),
    ("found_at_most", ComponentKind::Share),
    ("differing", ComponentKind::Share),
    ("not_found", ComponentKind::Share),
    ("unchecked", ComponentKind::Share),
    ("retracted", ComponentKind::Share),
    ("retraction_unknown", ComponentKind::Share),
];

/// The scorer of cited works.
pub static WORKS: ScorerInfo = ScorerInfo {
    name: "works",
    help: "Cited works: found, differing and retracted, by files of works",
    roles: ScorerRoles::None,
    needs: InputNeed::Works,
    unit: Unit::Share,
    score_name: None,
    headline: &["found"],
    binary: &[],
    means_named: &[],
    optional: &[
        "found",
        "found_at_least",
        "found_at_most",
        "differing",
        "not_found",
        "unchecked",
        "retracted",
        "retraction_unknown",
    ],
    directions: &[
        ("differing", false),
        ("not_found", false),
        ("unchecked", false),
        ("retracted", false),
        ("retraction_unknown", false),
    ],
    reference: ScorerReference::InSettings,
    make: |_| Arc::new(WorksScorer {}),
    restore: |recorded| Ok(Arc::new(recorded.scorer::<WorksScorer>()?)),
};

/// Scores the cited works of an answer; the score is the share that was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorksScorer {}

impl Scorer for WorksScorer {
    built_in_scorer!(WORKS, []);

    fn step(&self, subject: &Subject<'_>, _verdicts: &Verdicts) -> Step {
        let works = subject.answer.works.as_deref();
        let counts = WorkCounts::of(works.into_iter().flatten());
        let share = counts.found_share();
        let all = counts.references as f64;
        let of_all = |count: u64| (count > 0 || all > 0.0).then(|| count as f64 / all);
        let value = share.and_then(|share| share.share);
        let values = [
            Some(all),
            value,
            share.map(|share| share.low),
            share.map(|share| share.high),
            counts
                .differing_share()
                .and_then(|differing| differing.share),
            counts.not_found_share().and_then(|missing| missing.share),
            of_all(counts.open),
            counts
                .retracted_share()
                .and_then(|retracted| retracted.share),
            of_all(counts.retraction_unknown),
        ];
        Step::Done(Score {
            scorer: WORKS.name.into(),
            value,
            components: measured(COMPONENTS, &values),
            ..Score::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::domain::{
        Answer, CheckedReference, CitedWork, Reference, TestCase, UncheckedReason, WorkState,
    };

    fn components(states: &[WorkState]) -> Vec<(String, f64)> {
        let mut works = Vec::new();
        for state in states {
            let mut checked = CheckedReference::unchecked(UncheckedReason::NoTitle);
            checked.state = *state;
            works.push(CitedWork {
                reference: Reference::new("k", "p"),
                checked,
            });
        }
        let case = TestCase::without_rubric("c".into(), "Why?");
        let mut answer = Answer::new("s".into(), "c".into(), "So.");
        answer.works = Some(Arc::new(works));
        let subject = Subject::new(&case, &answer);
        let Step::Done(score) = WorksScorer {}.step(&subject, &Verdicts::new()) else {
            panic!("it asks nothing");
        };
        let components = score.components.iter();
        components
            .map(|component| (component.name.clone(), component.value.unwrap()))
            .collect()
    }

    #[test]
    fn shares_are_of_decided_references_with_the_bounds_of_open_ones() {
        use WorkState::*;
        // 3 of 4 decided are found, 1 of them differs; 1 of 5 is open.
        let shares = components(&[Exists, Exists, Differs, NotInIndex, Unchecked]);
        let expected = [
            ("references", 5.0),
            ("found", 0.75),
            ("found_at_least", 0.6),
            ("found_at_most", 0.8),
            ("differing", 0.25),
            ("not_found", 0.25),
            ("unchecked", 0.2),
            // Without a source of retractions nothing is known.
            ("retraction_unknown", 1.0),
        ];
        let expected: Vec<(String, f64)> = expected
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect();
        assert_eq!(shares, expected);
    }

    #[test]
    fn an_answer_without_references_has_their_number_only() {
        assert_eq!(components(&[]), [("references".to_owned(), 0.0)]);
        let open = components(&[WorkState::Ambiguous]);
        assert!(open.iter().all(|(name, _)| name != "found"));
        assert!(open.contains(&("found_at_least".to_owned(), 0.0)));
        assert!(open.contains(&("found_at_most".to_owned(), 1.0)));
    }
}

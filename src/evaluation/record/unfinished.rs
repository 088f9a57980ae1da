//! What a run that was stopped did not get to: answers that it holds and has no score of.
//!
//! Left out they would not count at all, and a run that was stopped at the right time would pass every gate. So each
//! stands as an answer whose parts are all missing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::inputs::ItemLists;
use super::manifest::Manifest;
use crate::domain::{
    CaseId, Component, RubricParts, Score, ScoredAnswer, SystemName, TestCase, UnscoredKind, UnscoredReason,
};
use crate::evaluation::Item;
use crate::scorer::rubric::{LEXICAL, RubricScorer};

/// Why an answer has no score that was never begun.
const NOT_REACHED: &str = "the run did not get to it";

/// The scores with an unscored answer for everything that a scorer of the run lacks, in the order of the inputs.
///
/// What a rubric score consists of is told by the case. What another scorer's consists of is told by its other answers; one
/// that has scored nothing yet gets nothing.
pub(super) fn with_lacking(
    manifest: &Manifest,
    lists: &ItemLists,
    scored: Vec<Arc<ScoredAnswer>>,
) -> Vec<Arc<ScoredAnswer>> {
    let mut known: HashMap<(&'static str, SystemName, CaseId), Arc<ScoredAnswer>> = HashMap::new();
    let key = |answer: &ScoredAnswer| (answer.score.scorer, answer.system.clone(), answer.case.case_id.clone());
    for answer in &scored {
        known.entry(key(answer)).or_insert_with(|| Arc::clone(answer));
    }
    let mut all: Vec<Arc<ScoredAnswer>> = Vec::new();
    for name in &manifest.scorers {
        let rubric = (name == "rubric").then(|| rubric_of(manifest));
        let scorer = if rubric.is_some() && manifest.is_lexical() { LEXICAL } else { name };
        let own = || scored.iter().filter(|answer| answer.score.scorer == scorer);
        let items = if rubric.is_some() { &lists.rubric } else { &lists.plain };
        let unjudged = |case: &TestCase| match rubric {
            Some(rubric) => Some(rubric.unjudged(case)),
            None => empty_score(own().map(|answer| &answer.score)),
        };
        let interned = own().next().map(|answer| answer.score.scorer);
        for item in items {
            let (system, case_id) = (item.answer.system.clone(), item.case.case_id.clone());
            let there = interned.and_then(|scorer| known.get(&(scorer, system, case_id)).cloned());
            let made = || unjudged(&item.case).map(|score| Arc::new(unscored(item, score)));
            all.extend(there.or_else(made));
        }
    }
    let placed: HashSet<_> = all.iter().map(|answer| key(answer)).collect();
    all.extend(scored.into_iter().filter(|answer| !placed.contains(&key(answer))));
    all
}

fn rubric_of(manifest: &Manifest) -> RubricScorer {
    let setting = |name: &str| manifest.settings.get(name).and_then(serde_json::Value::as_bool).unwrap_or(true);
    let parts = RubricParts { rubrics: setting("score.rubrics"), snippets: setting("score.snippets") };
    RubricScorer::of_recorded(parts, manifest.mode, manifest.is_lexical())
}

/// A score of the components that any of these has.
fn empty_score<'a>(scores: impl Iterator<Item = &'a Score>) -> Option<Score> {
    let mut empty: Option<Score> = None;
    for score in scores {
        let made = empty.get_or_insert_with(|| Score { components: Vec::new(), ..score.clone() });
        for component in &score.components {
            if !made.components.iter().any(|known| known.name == component.name) {
                made.components.push(component.clone());
            }
        }
    }
    empty
}

fn unscored(item: &Item, score: Score) -> ScoredAnswer {
    let empty = |component: Component| Component {
        value: None,
        reason: Some(UnscoredReason::new(UnscoredKind::NotAsked, NOT_REACHED)),
        feedback: None,
        ..component
    };
    let components = score.components.into_iter().map(empty).collect();
    let score = Score { value: None, ann_score: None, components, claims: Vec::new(), ..score };
    ScoredAnswer {
        system: item.answer.system.clone(),
        case: Arc::clone(&item.case),
        score,
        members: Default::default(),
        steering: item.steering.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Answer, ComponentKind, Mode};
    use crate::evaluation::record::tests::manifest;

    fn item(case: &str) -> Item {
        let case = Arc::new(TestCase::without_rubric(case.into(), "why?"));
        let answer = Answer::new("s".into(), case.case_id.clone(), "because");
        Item { case, answer, steering: Vec::new() }
    }

    fn scored(scorer: &'static str, case: &str, part: &str) -> Arc<ScoredAnswer> {
        let component = Component {
            name: part.into(),
            kind: ComponentKind::Aspect,
            text: String::new(),
            weight: 0.0,
            value: Some(4.0),
            reason: None,
            feedback: None,
        };
        let score = Score { scorer, value: Some(4.0), components: vec![component], ..Score::default() };
        Arc::new(unscored_with(&item(case), score))
    }

    fn unscored_with(item: &Item, score: Score) -> ScoredAnswer {
        ScoredAnswer { score: score.clone(), ..unscored(item, score) }
    }

    #[test]
    fn what_a_scorer_did_not_get_to_stands_in_order_with_the_parts_of_its_other_answers() {
        let manifest = Manifest {
            scorers: ["rubric", "prometheus", "overlap"].map(str::to_owned).to_vec(),
            mode: Mode::Default,
            ..manifest("m")
        };
        let items = || ["c1", "c2", "c3"].map(item).to_vec();
        let lists = ItemLists { rubric: items(), plain: items() };
        let there = vec![scored("rubric", "c2", "length"), scored("prometheus", "c3", "coverage")];
        let all = with_lacking(&manifest, &lists, there);
        let told: Vec<(&str, &str, Option<f64>)> =
            all.iter().map(|of| (of.score.scorer, of.case.case_id.as_str(), of.score.value)).collect();
        // Overlap has scored nothing: nothing is known of its parts.
        assert_eq!(
            told,
            [
                ("rubric", "c1", None),
                ("rubric", "c2", Some(4.0)),
                ("rubric", "c3", None),
                ("prometheus", "c1", None),
                ("prometheus", "c2", None),
                ("prometheus", "c3", Some(4.0)),
            ]
        );
        let parts = |at: usize| all[at].score.components.iter().map(|part| part.name.as_str()).collect::<Vec<_>>();
        assert_eq!((parts(0), parts(3)), (vec!["length", "expertise", "citations", "excerpts"], vec!["coverage"]));
        let why = all[3].score.components[0].reason.as_ref().expect("a reason");
        assert_eq!((why.kind, why.message.as_str()), (UnscoredKind::NotAsked, NOT_REACHED));
    }
}

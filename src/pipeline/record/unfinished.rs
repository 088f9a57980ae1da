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
use crate::pipeline::Item;
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
        reference: None,
        members: Default::default(),
        steering: item.steering.clone(),
    }
}

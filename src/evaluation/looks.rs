//! A run that is looked at before its end (`--until`): its questions in random order, and what each look says.
//!
//! The order depends on the seed and the questions alone, and a look on the answers to the questions before it: a run that was
//! killed and is continued has the same looks and the same decisions.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::inputs::LoadedInputs;
use crate::analysis::comparison::{
    LookRule, LookSchedule, Observations, ObservedSystem, RunAnswers, RunLooks,
};
use crate::domain::{CaseId, Item, ScoredAnswer, SystemName};
use crate::error::Result;
use crate::record::Manifest;

/// The looks at a run.
pub(super) struct LookedRun {
    rule: Arc<dyn LookRule>,
    pub(super) schedule: LookSchedule,
    /// The cases of each question, in the order in which the questions are asked.
    questions: Vec<Vec<CaseId>>,
    /// Every pair of system and case with an answer.
    answered: HashSet<(SystemName, CaseId)>,
    systems: Vec<SystemName>,
}

impl LookedRun {
    pub(super) fn new(rule: Arc<dyn LookRule>, inputs: &LoadedInputs, seed: u64) -> Self {
        let questions = in_random_order(all_items(inputs), seed);
        let systems = systems(inputs);
        let mut answered = HashSet::new();
        for item in all_items(inputs) {
            for system in systems_of(item) {
                answered.insert((system.clone(), item.case.case_id.clone()));
            }
        }
        Self {
            schedule: rule.schedule(questions.len(), systems.len()),
            rule,
            questions,
            answered,
            systems,
        }
    }

    /// The cases that are asked until the look at this index.
    pub(super) fn cases_until(&self, at: usize) -> HashSet<CaseId> {
        let count = self.schedule.looks.get(at).map_or(0, |look| look.questions);
        let asked = self.questions.iter().take(count).flatten();
        asked.cloned().collect()
    }

    /// What the look at this index says; of these scores those of its questions count.
    ///
    /// # Errors
    /// For a metric that no answer has.
    pub(super) fn look(
        &self,
        at: usize,
        manifest: &Manifest,
        scored: &[Arc<ScoredAnswer>],
    ) -> Result<RunLooks> {
        let cases = self.cases_until(at);
        let mut own = scored.to_vec();
        own.retain(|answer| cases.contains(&answer.case.case_id));
        let mut unanswered = HashSet::new();
        for case in &cases {
            for system in &self.systems {
                let pair = (system.clone(), case.clone());
                if !self.answered.contains(&pair) {
                    unanswered.insert(pair);
                }
            }
        }
        let answers = RunAnswers {
            scored: &own,
            unanswered: Some(unanswered),
            on_unscored: manifest.policy.on_unscored,
            ..RunAnswers::default()
        };
        let found = self.rule.pairs(&answers, manifest.row(), &self.schedule)?;
        let mut looks = RunLooks::new(self.rule.until(), &self.schedule, at, found);
        if looks.is_early() {
            looks.cases = cases.iter().map(ToString::to_string).collect();
            looks.cases.sort_unstable();
        }
        Ok(looks)
    }
}

/// The systems of the answers, as a rule names them.
pub(super) fn observed_systems(inputs: &LoadedInputs) -> Observations {
    let mut observed = Observations::default();
    for system in systems(inputs) {
        observed.systems.push(ObservedSystem {
            label: system.to_string(),
            system,
            run: 0,
        });
    }
    observed
}

fn systems(inputs: &LoadedInputs) -> Vec<SystemName> {
    let mut systems: Vec<SystemName> = Vec::new();
    for item in all_items(inputs) {
        for system in systems_of(item) {
            if !systems.contains(system) {
                systems.push(system.clone());
            }
        }
    }
    systems
}

/// The system of an answer, or both of a pair.
fn systems_of(item: &Item) -> impl Iterator<Item = &SystemName> {
    let other = item.other.as_ref().map(|other| &other.system);
    std::iter::once(&item.answer.system).chain(other)
}

fn all_items(inputs: &LoadedInputs) -> impl Iterator<Item = &Item> {
    inputs.rubric.iter().chain(inputs.plain.iter())
}

/// The cases by question, the questions in random order. Cases with the same question stay together, since they are no
/// evidence of their own; a case without a question is one.
fn in_random_order<'a>(items: impl Iterator<Item = &'a Item>, seed: u64) -> Vec<Vec<CaseId>> {
    let mut by_text: BTreeMap<(&str, &str), Vec<CaseId>> = BTreeMap::new();
    let mut seen: HashSet<&CaseId> = HashSet::new();
    for item in items {
        let case = &item.case.case_id;
        if !seen.insert(case) {
            continue;
        }
        let text = item.case.initial_prompt.trim();
        let own = if text.is_empty() { case.as_str() } else { "" };
        by_text.entry((text, own)).or_default().push(case.clone());
    }
    let mut questions: Vec<Vec<CaseId>> = by_text.into_values().collect();
    questions.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    questions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Answer, TestCase};

    fn item(case: &str, question: &str) -> Item {
        let answer = Answer::new("s".into(), case.into(), "text");
        Item::new(
            Arc::new(TestCase::without_rubric(case.into(), question)),
            answer,
        )
    }

    #[test]
    fn the_order_of_questions_is_that_of_the_seed_whatever_that_of_the_file() {
        let items: Vec<Item> = (0..9)
            .map(|at| item(&format!("c{at}"), &format!("Why {}?", at / 2)))
            .collect();
        let forward = in_random_order(items.iter(), 42);
        assert_eq!(forward.len(), 5);
        let mut backward = in_random_order(items.iter().rev(), 42);
        backward.iter_mut().for_each(|cases| cases.sort());
        assert_eq!(forward, backward);
        assert_ne!(forward, in_random_order(items.iter(), 43));
        // Without texts each case is a question.
        let bare = [item("a", ""), item("b", " ")];
        assert_eq!(in_random_order(bare.iter(), 1).len(), 2);
    }
}

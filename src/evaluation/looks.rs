//! A run that is looked at before its end (`--until`): its questions in random order, and what each look says.
//!
//! The order depends on the seed and the questions alone, and a look on the answers to the questions before it: a run that was
//! killed and is continued has the same looks and the same decisions.
//!
//! Pairs with `--orders auto` are first shown in one order, and in the other one after all questions, where that can still matter.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::gates::assumed_score;
use super::inputs::LoadedInputs;
use super::pairs::OrderTurns;
use crate::analysis::comparison::{
    LookSchedule, Observations, ObservedSystem, RunAnswers, RunLooks, ScoreRule, observe,
};
use crate::dataset::with_text;
use crate::domain::{CaseId, Item, ScoredAnswer, SystemName};
use crate::error::Result;
use crate::record::Manifest;
use crate::scorer::Scorer;

/// The looks at a run.
pub(super) struct LookedRun {
    rule: ScoreRule,
    pub(super) schedule: LookSchedule,
    /// The cases of each question, in the order in which the questions are asked.
    questions: Vec<Vec<CaseId>>,
    /// Every pair of system and case with an answer.
    answered: HashSet<(SystemName, CaseId)>,
    systems: Vec<SystemName>,
    /// The pairs of answers in the order that is shown last; empty where all orders are shown at once.
    second_orders: Vec<SecondOrder>,
}

/// A pair of answers in the order that is shown last.
struct SecondOrder {
    systems: [SystemName; 2],
    /// Of the pair in this order.
    name: SystemName,
    case: CaseId,
}

/// What is asked until a look.
pub(super) struct Stage {
    cases: HashSet<CaseId>,
    /// Pairs of answers in the order that is not shown.
    not_shown: HashSet<(SystemName, CaseId)>,
}

impl Stage {
    /// Whether this case of a system, or of a pair by its name, is part of it.
    pub(super) fn has(&self, system: &SystemName, case: &CaseId) -> bool {
        // Most runs show everything, and need no copy of names for a look-up.
        let is_shown =
            self.not_shown.is_empty() || !self.not_shown.contains(&(system.clone(), case.clone()));
        self.cases.contains(case) && is_shown
    }
}

impl LookedRun {
    /// With `one_order_first`, the second order of each pair of answers comes after all questions.
    pub(super) fn new(
        rule: ScoreRule,
        inputs: &LoadedInputs,
        seed: u64,
        one_order_first: bool,
    ) -> Self {
        let questions = in_random_order(all_items(inputs), seed);
        let systems = systems(inputs);
        let pairs = rule.pair_count(systems.len());
        let mut schedule = LookSchedule::of(questions.len(), pairs);
        let mut second_orders = Vec::new();
        if one_order_first {
            schedule = LookSchedule::one_order_first(questions.len(), pairs);
            second_orders = second_orders_of(&inputs.plain, questions.iter().flatten());
        }
        let mut answered = HashSet::new();
        for item in all_items(inputs) {
            for answer in item.answers() {
                answered.insert((answer.system.clone(), item.case.case_id.clone()));
            }
        }
        Self {
            schedule,
            rule,
            questions,
            answered,
            systems,
            second_orders,
        }
    }

    /// What is asked until the look at this index, at most, or given what the look before it said.
    pub(super) fn stage(&self, at: usize, before: Option<&RunLooks>) -> Stage {
        let look = self.schedule.looks.get(at);
        let count = look.map_or(0, |look| look.questions);
        let until_look = self.questions.iter().take(count).flatten();
        let cases: HashSet<CaseId> = until_look.cloned().collect();
        let is_in_one_order = look.is_some_and(|look| look.one_order);
        let mut not_shown = HashSet::new();
        for pair in &self.second_orders {
            let [first, second] = &pair.systems;
            let can_matter =
                before.is_none_or(|before| before.waits_for(first.as_str(), second.as_str()));
            if cases.contains(&pair.case) && (is_in_one_order || !can_matter) {
                not_shown.insert((pair.name.clone(), pair.case.clone()));
            }
        }
        Stage { cases, not_shown }
    }

    /// What the look at this index says after its stage; of these scores those of the stage count.
    ///
    /// # Errors
    /// For a metric that no answer has.
    pub(super) fn look(
        &self,
        at: usize,
        stage: &Stage,
        before: Option<&RunLooks>,
        manifest: &Manifest,
        scored: &[Arc<ScoredAnswer>],
    ) -> Result<RunLooks> {
        let mut of_stage = scored.to_vec();
        of_stage.retain(|answer| stage.has(&answer.system, &answer.case.case_id));
        let mut unanswered = HashSet::new();
        for case in &stage.cases {
            for system in &self.systems {
                let pair = (system.clone(), case.clone());
                if !self.answered.contains(&pair) {
                    unanswered.insert(pair);
                }
            }
        }
        let answers = RunAnswers {
            subject: manifest.subject,
            scored: &of_stage,
            unanswered: Some(unanswered),
            on_unscored: manifest.policy.on_unscored,
            ..RunAnswers::default()
        };
        let pairs = self.rule.pairs(&answers, manifest.row(), &self.schedule)?;
        let mut looks = RunLooks::new(self.rule.until(), &self.schedule, at, pairs);
        if looks.is_early() {
            looks.cases = stage.cases.iter().map(ToString::to_string).collect();
            looks.cases.sort_unstable();
        } else if let Some(before) = before
            && before.is_in_one_order()
        {
            looks.keep_settled(before);
        }
        for (name, case) in &stage.not_shown {
            let cases = looks.not_shown.entry(name.to_string()).or_default();
            cases.push(case.to_string());
        }
        looks
            .not_shown
            .values_mut()
            .for_each(|cases| cases.sort_unstable());
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

/// What a run observes if every verdict is the assumed one: its metrics are known before anything is asked.
///
/// # Errors
/// When the text of an answer cannot be read.
pub(super) fn assumed_observations(
    inputs: &LoadedInputs,
    scorers: &[Arc<dyn Scorer>],
    row: Option<&str>,
) -> Result<Observations> {
    let mut scored = Vec::new();
    for scorer in scorers {
        for item in inputs.items(&**scorer).iter() {
            let score = assumed_score(&**scorer, &with_text(item)?, |_| {});
            scored.push(Arc::new(ScoredAnswer::of_item(item, score)));
        }
    }
    let answers = RunAnswers {
        subject: inputs.subject,
        scored: &scored,
        ..RunAnswers::default()
    };
    Ok(Observations {
        row: row.map(str::to_owned),
        ..observe(&[answers])
    })
}

fn systems(inputs: &LoadedInputs) -> Vec<SystemName> {
    let mut systems: Vec<SystemName> = Vec::new();
    for item in all_items(inputs) {
        for answer in item.answers() {
            if !systems.contains(&answer.system) {
                systems.push(answer.system.clone());
            }
        }
    }
    systems
}

fn all_items(inputs: &LoadedInputs) -> impl Iterator<Item = &Item> {
    inputs.rubric.iter().chain(inputs.plain.iter())
}

/// The order of each pair of answers that is shown last. By turns over the cases in the order in which they are asked, so that each
/// system is first in half of the questions before every look, or in one more or less.
fn second_orders_of<'a>(
    pairs: &[Item],
    cases: impl Iterator<Item = &'a CaseId>,
) -> Vec<SecondOrder> {
    let mut by_case: HashMap<&CaseId, Vec<[&SystemName; 2]>> = HashMap::new();
    let mut names: BTreeSet<&SystemName> = BTreeSet::new();
    for pair in pairs {
        let Some(other) = &pair.other else { continue };
        let systems = [&pair.answer.system, &other.system];
        names.extend(systems);
        by_case.entry(&pair.case.case_id).or_default().push(systems);
    }
    let place_of: HashMap<&SystemName, usize> = names.into_iter().zip(0..).collect();
    let mut turns = OrderTurns::default();
    let mut second_orders = Vec::new();
    for case in cases {
        for [first, second] in by_case.remove(case).unwrap_or_default() {
            let is_by_name = first < second;
            if !is_by_name {
                continue;
            }
            let last = if turns.exchanges([place_of[first], place_of[second]]) {
                [first, second]
            } else {
                [second, first]
            };
            second_orders.push(SecondOrder {
                systems: last.map(Clone::clone),
                name: SystemName::of_pair(last[0], last[1]),
                case: case.clone(),
            });
        }
    }
    second_orders
}

/// The cases by question, the questions in random order. Cases with the same question stay together, since they are not
/// independent evidence; a case without a question is one.
fn in_random_order<'a>(items: impl Iterator<Item = &'a Item>, seed: u64) -> Vec<Vec<CaseId>> {
    let mut by_text: BTreeMap<(&str, &str), Vec<CaseId>> = BTreeMap::new();
    let mut seen: HashSet<&CaseId> = HashSet::new();
    for item in items {
        let case = &item.case.case_id;
        if !seen.insert(case) {
            continue;
        }
        let text = item.case.initial_prompt.trim();
        let id = if text.is_empty() { case.as_str() } else { "" };
        by_text.entry((text, id)).or_default().push(case.clone());
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

    #[test]
    fn each_system_of_a_pair_is_first_in_half_of_the_questions_before_every_look() {
        let cases: Vec<CaseId> = (0..40).map(|at| format!("c{at}").into()).collect();
        let mut pairs = Vec::new();
        for case in &cases {
            let shared = Arc::new(TestCase::without_rubric(case.clone(), "Why?"));
            for [first, second] in [["a", "b"], ["b", "a"], ["a", "c"], ["c", "a"]] {
                let answer = |name: &str| Answer::new(name.into(), case.clone(), name);
                pairs.push(Item::pair(
                    Arc::clone(&shared),
                    answer(first),
                    answer(second),
                ));
            }
        }
        let orders = second_orders_of(&pairs, cases.iter());
        // One order of each pair in each case.
        assert_eq!(orders.len(), 80);
        for count in [16, 24, 40] {
            let counts = ["a vs b", "b vs a", "a vs c", "c vs a"].map(|name| {
                let before = |order: &&SecondOrder| cases[..count].contains(&order.case);
                let of_pair = orders.iter().filter(|order| order.name.as_str() == name);
                of_pair.filter(before).count()
            });
            assert_eq!(counts, [count / 2; 4]);
        }
        pairs.reverse();
        let names = |orders: &[SecondOrder]| {
            let names = orders
                .iter()
                .map(|order| (order.name.clone(), order.case.clone()));
            names.collect::<HashSet<_>>()
        };
        assert_eq!(
            names(&orders),
            names(&second_orders_of(&pairs, cases.iter()))
        );
    }
}

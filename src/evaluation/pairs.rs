//! Which answers are compared with which, and in which order a judge sees them.
//!
//! A design chooses pairs of systems question by question; each order of a pair is a separate subject. What is random follows
//! from the seed and from names alone, so that the same command asks the same, in whatever order its files are read.

use std::collections::{HashMap, HashSet};

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::domain::{Item, SystemName};
use crate::error::{Error, Result};
use crate::record::{Manifest, PAIRS_SETTING};

/// Up to so many systems every pair is compared, unless a design is chosen.
// Four systems make six pairs; the number of pairs, and so the cost, grows with the square of the systems.
const ALL_PAIRS_UP_TO: usize = 4;

/// Which pairs of systems are compared, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Pairs")]
pub struct PairChoice {
    /// Which pairs: all, those of a random circle, or those with the baseline
    ///
    /// In a circle, drawn for each question, every system meets two others: with ten systems a ninth of the calls. Default: the
    /// baseline's pairs with --baseline, else all for up to 4 systems, and circles for more.
    #[arg(long, value_name = "all|cycle|baseline", value_enum)]
    #[arg(hide_possible_values = true)]
    pub design: Option<PairDesign>,
    /// Show each pair in both orders, in one, balanced over the questions, or in the second only where it can matter
    ///
    /// Judges prefer a place: both orders cancel that within each question, one order over all of them, for half of the calls. auto
    /// is for --until: pairs that one order over all questions does not decide are then shown in the other one. Without --until
    /// all are.
    #[arg(long, value_name = "both|one|auto", value_enum, default_value_t)]
    #[arg(hide_possible_values = true)]
    pub orders: PairOrders,
    /// Compare by each criterion of the test case, weighted as in its rubric, and not as a whole
    #[arg(long)]
    pub by_criteria: bool,
}

/// Which pairs of systems are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairDesign {
    /// Every pair in every question.
    All,
    /// In each question the neighbors in a random circle of the systems.
    Cycle,
    /// The pairs with the baseline.
    Baseline,
}

/// The orders in which a judge sees a pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairOrders {
    /// Both.
    #[default]
    Both,
    /// One, each system first in half of the questions of a pair.
    One,
    /// The same at first, then the other one for pairs that are not decided; all of both in a run that asks everything.
    Auto,
}

/// How the pairs of a run were chosen, for its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenPairs {
    /// Which pairs.
    pub design: PairDesign,
    /// In which orders.
    pub orders: PairOrders,
    /// The system that the others are compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The seed of what is random; `None` where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl ChosenPairs {
    /// The orders of a recorded run, if it is one of pairs.
    pub(super) fn orders_of(manifest: &Manifest) -> Option<PairOrders> {
        let setting = manifest.settings.get(PAIRS_SETTING)?;
        let chosen = Self::deserialize(setting).ok()?;
        Some(chosen.orders)
    }
}

/// What else decides which pairs are compared.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PairTerms<'a> {
    /// The system that the others are compared with.
    pub(super) baseline: Option<&'a str>,
    /// Whether the run ends when pairs are decided, which a circle cannot say of a pair that it rarely shows.
    pub(super) has_looks: bool,
    /// The seed of what is random.
    pub(super) seed: u64,
}

impl PairChoice {
    /// The design with so many systems.
    fn chosen(&self, systems: usize, terms: PairTerms<'_>) -> ChosenPairs {
        let by_number = if systems <= ALL_PAIRS_UP_TO || terms.has_looks {
            PairDesign::All
        } else {
            PairDesign::Cycle
        };
        let by_baseline = terms.baseline.map(|_| PairDesign::Baseline);
        let design = self.design.or(by_baseline).unwrap_or(by_number);
        let is_random = design == PairDesign::Cycle || self.orders != PairOrders::Both;
        ChosenPairs {
            design,
            orders: self.orders,
            baseline: terms.baseline.map(str::to_owned),
            seed: is_random.then_some(terms.seed),
        }
    }

    /// The pairs of these answers, pair by pair and in the order of the questions, and how they were chosen.
    ///
    /// # Errors
    /// With fewer than two systems, without a question that two of them answer, for an unknown baseline, and where the answers
    /// lack what is asked about.
    pub(super) fn pairs_of(
        &self,
        answers: &[Item],
        terms: PairTerms<'_>,
    ) -> Result<(Vec<Item>, ChosenPairs)> {
        let systems = systems_of(answers);
        if systems.len() < 2 {
            let message = "pairs need the answers of two systems or more; name two files, or a directory of them";
            return Err(Error::Usage(message.to_owned()));
        }
        let seed = terms.seed;
        let chosen = self.chosen(systems.len(), terms);
        if chosen.design == PairDesign::Cycle && terms.has_looks {
            let message =
                "--until decides pairs that every question compares; leave --design cycle out";
            return Err(Error::Usage(message.to_owned()));
        }
        let baseline = baseline_in(&systems, &chosen)?;
        let mut shown: Vec<Shown<'_>> = Vec::new();
        for (case, case_answers) in by_case(answers).into_iter().enumerate() {
            for [first, second] in matches_of(&case_answers, chosen.design, baseline, seed) {
                shown.push(Shown {
                    case,
                    first,
                    second,
                });
            }
        }
        let mut shown = in_orders(shown, &chosen, seed);
        self.check(&shown)?;
        shown.sort_by_key(|pair| (pair.first.place, pair.second.place, pair.case));
        let pairs: Vec<Item> = shown.iter().map(Shown::item).collect();
        check_names(&pairs)?;
        Ok((pairs, chosen))
    }

    /// # Errors
    /// Without pairs, and where a judge would not know what is asked.
    fn check(&self, shown: &[Shown<'_>]) -> Result<()> {
        if shown.is_empty() {
            let message = "no question has answers of two systems to compare; the answers are joined by case_id, or by question";
            return Err(Error::Settings(message.to_owned()));
        }
        for pair in shown {
            let case = &pair.first.item.case;
            let id = &case.case_id;
            if case.rubric.question.trim().is_empty() {
                return Err(Error::Settings(format!(
                    "case {id} has no question to compare answers by; add --tests FILE"
                )));
            }
        }
        let has_criteria = |pair: &&Shown<'_>| {
            let case = &pair.first.item.case;
            !case.criteria.is_empty() || !case.rubric.criteria.is_empty()
        };
        if self.by_criteria
            && let Some(without) = shown.iter().find(|pair| !has_criteria(pair))
        {
            return Err(Error::Settings(format!(
                "--by-criteria: case {} has no criteria; compare as a whole, or leave it out with --cases",
                without.first.item.case.case_id
            )));
        }
        Ok(())
    }
}

/// The place of the baseline among the systems, if the design has one.
fn baseline_in(systems: &[&SystemName], chosen: &ChosenPairs) -> Result<Option<usize>> {
    if chosen.design != PairDesign::Baseline {
        return Ok(None);
    }
    let names: Vec<&str> = systems.iter().map(|system| system.as_str()).collect();
    let names = names.join(", ");
    let Some(name) = &chosen.baseline else {
        let message = format!("--design baseline needs --baseline SYSTEM, one of {names}");
        return Err(Error::Usage(message));
    };
    let name = name.strip_suffix(".jsonl").unwrap_or(name);
    let place = systems.iter().position(|system| system.as_str() == name);
    match place {
        Some(place) => Ok(Some(place)),
        None => Err(Error::Usage(format!(
            "--baseline: no system is called {name}; there are {names}"
        ))),
    }
}

/// An answer with the place of its system among all systems.
#[derive(Clone, Copy)]
struct Placed<'a> {
    place: usize,
    item: &'a Item,
}

/// Two answers to a case, in the order in which a judge sees them.
#[derive(Clone, Copy)]
struct Shown<'a> {
    case: usize,
    first: Placed<'a>,
    second: Placed<'a>,
}

impl Shown<'_> {
    fn exchanged(self) -> Self {
        Self {
            first: self.second,
            second: self.first,
            ..self
        }
    }

    fn item(&self) -> Item {
        let case = &self.first.item.case;
        Item::pair(
            case.clone(),
            self.first.item.answer.clone(),
            self.second.item.answer.clone(),
        )
    }
}

/// The systems in the order of their first answers.
fn systems_of(answers: &[Item]) -> Vec<&SystemName> {
    let mut seen = HashSet::new();
    let mut systems = Vec::new();
    for item in answers {
        if seen.insert(&item.answer.system) {
            systems.push(&item.answer.system);
        }
    }
    systems
}

/// The answers to each case, cases in the order of their first answers.
fn by_case(answers: &[Item]) -> Vec<Vec<Placed<'_>>> {
    let places: HashMap<&SystemName, usize> = systems_of(answers).into_iter().zip(0..).collect();
    let mut index_of = HashMap::new();
    let mut cases: Vec<Vec<Placed<'_>>> = Vec::new();
    for item in answers {
        let index = *index_of.entry(&item.case.case_id).or_insert(cases.len());
        if index == cases.len() {
            cases.push(Vec::new());
        }
        cases[index].push(Placed {
            place: places[&item.answer.system],
            item,
        });
    }
    for case_answers in &mut cases {
        case_answers.sort_by_key(|answer| answer.place);
    }
    cases
}

/// The pairs of a case; in a circle in the order of the circle, else the system with the first name first.
fn matches_of<'a>(
    answers: &[Placed<'a>],
    design: PairDesign,
    baseline: Option<usize>,
    seed: u64,
) -> Vec<[Placed<'a>; 2]> {
    // Two neighbors are both neighbors of each other: a circle of two is one pair.
    if design == PairDesign::Cycle && answers.len() > 2 {
        let mut circle = answers.to_vec();
        circle.sort_by_key(|answer| drawn(seed, &["circle", case_of(answer), system_of(answer)]));
        let next = circle.iter().cycle().skip(1);
        return circle
            .iter()
            .zip(next)
            .map(|(answer, next)| [*answer, *next])
            .collect();
    }
    let mut matches = Vec::new();
    for (at, first) in answers.iter().enumerate() {
        for second in &answers[at + 1..] {
            let is_asked =
                baseline.is_none_or(|baseline| baseline == first.place || baseline == second.place);
            if is_asked {
                matches.push([*first, *second]);
            }
        }
    }
    matches
}

/// The pairs in both orders, or each in one. A circle is balanced as it is: every system once first and once second.
fn in_orders<'a>(mut shown: Vec<Shown<'a>>, chosen: &ChosenPairs, seed: u64) -> Vec<Shown<'a>> {
    if chosen.orders != PairOrders::One {
        let exchanged: Vec<Shown<'a>> = shown.iter().map(|pair| pair.exchanged()).collect();
        shown.extend(exchanged);
        return shown;
    }
    if chosen.design == PairDesign::Cycle {
        return shown;
    }
    // The questions in a random order: exactly half of them, whatever the order of the file.
    shown.sort_by_key(|pair| drawn(seed, &["order", case_of(&pair.first)]));
    let mut turns = OrderTurns::default();
    for pair in &mut shown {
        if turns.exchanges([pair.first.place, pair.second.place]) {
            *pair = pair.exchanged();
        }
    }
    shown
}

/// The order of each pair of systems by turns over the questions, so that each system is first in half of the questions of a pair, or
/// in one more or less.
#[derive(Default)]
pub(super) struct OrderTurns {
    /// By the places of the systems.
    turns: HashMap<[usize; 2], usize>,
}

impl OrderTurns {
    /// Whether the second of these systems is first in the next question.
    pub(super) fn exchanges(&mut self, places: [usize; 2]) -> bool {
        // Pairs begin by turns as well, or the system with the first name would be first once more often in each.
        let turn = self.turns.entry(places).or_insert(places[0] + places[1]);
        let is_odd = *turn % 2 == 1;
        *turn += 1;
        is_odd
    }
}

fn case_of<'a>(answer: &Placed<'a>) -> &'a str {
    answer.item.case.case_id.as_str()
}

fn system_of<'a>(answer: &Placed<'a>) -> &'a str {
    answer.item.answer.system.as_str()
}

/// A random number of these names.
fn drawn(seed: u64, names: &[&str]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    for name in names {
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// # Errors
/// Where two pairs would have one name, and share their scores.
fn check_names(pairs: &[Item]) -> Result<()> {
    let mut systems: HashMap<SystemName, [&SystemName; 2]> = HashMap::new();
    for pair in pairs {
        let Some(other) = &pair.other else {
            continue;
        };
        let names = [&pair.answer.system, &other.system];
        let known = systems.entry(pair.system()).or_insert(names);
        if *known != names {
            return Err(Error::Settings(format!(
                "two pairs of systems are called {:?}; rename one of their files",
                pair.system().as_str()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::domain::{Answer, TestCase};

    fn answers(systems: usize, cases: usize) -> Vec<Item> {
        let mut items = Vec::new();
        for system in 0..systems {
            for case in 0..cases {
                let case = TestCase::without_rubric(format!("c{case}").into(), "Why?");
                let name = format!("s{system}");
                let answer = Answer::new(name.as_str().into(), case.case_id.clone(), name);
                items.push(Item::new(Arc::new(case), answer));
            }
        }
        items
    }

    fn seeded(seed: u64) -> PairTerms<'static> {
        PairTerms {
            seed,
            ..PairTerms::default()
        }
    }

    fn options(design: PairDesign, orders: PairOrders) -> PairChoice {
        PairChoice {
            design: Some(design),
            orders,
            ..PairChoice::default()
        }
    }

    /// How often each system is shown first and second in a case.
    fn places(pairs: &[Item], case: &str) -> BTreeMap<String, [usize; 2]> {
        let mut places: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        for pair in pairs
            .iter()
            .filter(|pair| pair.case.case_id.as_str() == case)
        {
            let second = pair.other.as_ref().unwrap();
            places.entry(pair.answer.system.to_string()).or_default()[0] += 1;
            places.entry(second.system.to_string()).or_default()[1] += 1;
        }
        places
    }

    #[test]
    fn every_pair_in_both_orders() {
        let (pairs, chosen) = PairChoice::default()
            .pairs_of(&answers(3, 4), seeded(1))
            .unwrap();
        // Three pairs in two orders of four questions.
        assert_eq!((pairs.len(), chosen.design), (24, PairDesign::All));
        assert_eq!(places(&pairs, "c2")["s1"], [2, 2]);
        assert_eq!(chosen.seed, None);
        // What is shown first is decided by the looks: the record needs the seed.
        let auto = options(PairDesign::All, PairOrders::Auto);
        let (same, chosen) = auto.pairs_of(&answers(3, 4), seeded(1)).unwrap();
        assert_eq!((same.len(), chosen.seed), (24, Some(1)));
    }

    #[test]
    fn one_order_is_balanced_over_the_questions_of_each_pair() {
        let one_order = options(PairDesign::All, PairOrders::One);
        let (pairs, _) = one_order.pairs_of(&answers(3, 10), seeded(7)).unwrap();
        assert_eq!(pairs.len(), 30);
        for first in ["s0 vs s1", "s1 vs s0", "s0 vs s2", "s1 vs s2", "s2 vs s1"] {
            let in_order = pairs.iter().filter(|pair| pair.system().as_str() == first);
            assert_eq!(in_order.count(), 5, "{first}");
        }
    }

    #[test]
    fn a_circle_shows_every_system_once_first_and_once_second() {
        let cycle = options(PairDesign::Cycle, PairOrders::One);
        let (pairs, _) = cycle.pairs_of(&answers(6, 5), seeded(3)).unwrap();
        assert_eq!(pairs.len(), 30);
        for case in ["c0", "c4"] {
            assert!(
                places(&pairs, case)
                    .values()
                    .all(|counts| *counts == [1, 1])
            );
        }
        let (both, _) = options(PairDesign::Cycle, PairOrders::Both)
            .pairs_of(&answers(6, 5), seeded(3))
            .unwrap();
        assert_eq!(both.len(), 60);
        let (of_two, _) = cycle.pairs_of(&answers(2, 5), seeded(3)).unwrap();
        assert_eq!(of_two.len(), 5);
    }

    #[test]
    fn the_order_of_files_changes_no_pair() {
        let cycle = options(PairDesign::Cycle, PairOrders::One);
        let mut reversed = answers(5, 6);
        reversed.reverse();
        let names = |items: &[Item]| {
            let (pairs, _) = cycle.pairs_of(items, seeded(3)).unwrap();
            let names = pairs
                .iter()
                .map(|pair| (pair.case.case_id.clone(), pair.system()));
            names.collect::<HashSet<_>>()
        };
        assert_eq!(names(&answers(5, 6)), names(&reversed));
    }

    #[test]
    fn a_baseline_meets_every_other_system() {
        let with = |baseline: &'static str| PairTerms {
            baseline: Some(baseline),
            ..PairTerms::default()
        };
        let choice = PairChoice::default();
        let (pairs, chosen) = choice.pairs_of(&answers(3, 2), with("s1.jsonl")).unwrap();
        assert_eq!(chosen.design, PairDesign::Baseline);
        assert_eq!(places(&pairs, "c0")["s1"], [2, 2]);
        assert_eq!(places(&pairs, "c0")["s0"], [1, 1]);
        let error = choice.pairs_of(&answers(3, 2), with("s9")).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("no system is called s9; there are s0, s1, s2"),
            "{error}"
        );
    }

    #[test]
    fn a_system_without_an_answer_has_no_pair_there() {
        let mut items = answers(3, 2);
        items.remove(5);
        let (pairs, _) = PairChoice::default().pairs_of(&items, seeded(1)).unwrap();
        // c0: three pairs; c1: one.
        assert_eq!(pairs.len(), 8);
        assert!(
            PairChoice::default()
                .pairs_of(&answers(1, 2), seeded(1))
                .is_err()
        );
    }
}

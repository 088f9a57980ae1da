//! Verdicts of pairwise judging: win rates, and what the order of the two answers does to them.
//!
//! A verdict has the value 1 if the answer shown first is better, 0 if the second is, 1/2 for a tie; probabilities lie between.
//! Verdicts about one question share its difficulty and both answers, so that standard errors are over questions: with verdicts
//! as the unit, intervals of 95% hold in 65 to 80% of studies in which every pair is judged in both orders.

use std::collections::BTreeMap;

use serde::Serialize;

use super::bootstrap::{BootstrapOptions, Interval};
use super::paired_difference::{PairedDifference, ends, family};
use super::paired_test::PairedFamily;

/// One verdict; systems and questions are numbers that the caller gives them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairVerdict {
    /// The question.
    pub question: usize,
    /// The system whose answer is shown first.
    pub first: usize,
    /// The other one.
    pub second: usize,
    /// 1 if the first is better, 0 if the second is, 1/2 for a tie.
    pub value: f64,
}

impl PairVerdict {
    /// The verdict with this value about a question's answers of two systems, in the order in which they are shown.
    pub fn new(question: usize, first: usize, second: usize, value: f64) -> Self {
        Self {
            question,
            first,
            second,
            value,
        }
    }

    /// The other system, the place of this one (0: shown first) and its value; `None` if it has no part in the verdict.
    fn of_system(&self, system: usize) -> Option<(usize, usize, f64)> {
        if self.first == system {
            Some((self.second, 0, self.value))
        } else {
            (self.second == system).then_some((self.first, 1, 1.0 - self.value))
        }
    }
}

/// How often a system beats another, a tie counting half.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WinRate {
    /// The mean of its means when shown first and second, so that a judge that prefers a place gives neither system an advantage;
    /// with verdicts of one order only, their mean.
    pub win_rate: f64,
    /// Standard error over questions; `None` for a single question.
    #[serde(skip)]
    pub standard_error: Option<f64>,
    /// Questions with a verdict.
    pub questions: usize,
    /// Its mean when shown first.
    pub when_first: Option<f64>,
    /// Its mean when shown second.
    pub when_second: Option<f64>,
    /// (mean when first - mean when second) / 2: what the first place is worth; `None` with one order only.
    pub position_effect: Option<f64>,
    /// Questions that one of the two wins, over all their verdicts.
    #[serde(skip)]
    pub decided: usize,
    /// The verdicts of both orders.
    pub orders: BothOrders,
}

/// Questions whose pair was judged in both orders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct BothOrders {
    /// The number of them.
    #[serde(rename = "both")]
    pub questions: usize,
    /// Both orders give the same verdict.
    pub consistent: usize,
    /// The answer shown first does better than its verdict in the other order.
    pub towards_first: usize,
    /// The answer shown second does.
    pub towards_second: usize,
}

impl BothOrders {
    /// Adds those of another pair.
    pub fn add(&mut self, other: Self) {
        self.questions += other.questions;
        self.consistent += other.consistent;
        self.towards_first += other.towards_first;
        self.towards_second += other.towards_second;
    }

    /// The share of questions in which both orders say the same.
    pub fn consistent_share(&self) -> Option<f64> {
        (self.questions > 0).then(|| self.consistent as f64 / self.questions as f64)
    }
}

/// Values of opposite orders add to 1 where both say the same; sums of weighted verdicts differ in their last digits.
const SAME: f64 = 1e-9;

impl WinRate {
    /// That of `system` against `other`; `None` if the two have no verdict.
    ///
    /// ```
    /// use scholareval_stats::{PairVerdict, WinRate};
    ///
    /// // The first place always wins: neither system is better, and the place is worth half a point.
    /// let verdicts = [(0, 0, 1), (0, 1, 0), (1, 0, 1), (1, 1, 0)]
    ///     .map(|(question, first, second)| PairVerdict::new(question, first, second, 1.0));
    /// let found = WinRate::of(0, 1, &verdicts).expect("verdicts of both");
    /// assert_eq!((found.win_rate, found.position_effect), (0.5, Some(0.5)));
    /// ```
    pub fn of(system: usize, other: usize, verdicts: &[PairVerdict]) -> Option<Self> {
        let between = verdicts_between(system, other, verdicts);
        let rate = SystemWinRate::of(system, &between)?;
        let mut orders: [ByQuestion; 2] = Default::default();
        for verdict in &between {
            let (_, place, value) = verdict.of_system(system)?;
            orders[place]
                .entry(verdict.question)
                .or_default()
                .push(value);
        }
        let [when_first, when_second] = orders.each_ref().map(|values| {
            let values: Vec<f64> = values.values().flatten().copied().collect();
            super::mean(&values)
        });
        let both = when_first.zip(when_second);
        Some(Self {
            win_rate: rate.win_rate,
            standard_error: rate.standard_error(),
            questions: rate.questions(),
            when_first,
            when_second,
            position_effect: both.map(|(first, second)| (first - second) / 2.0),
            decided: rate.decided,
            orders: both_orders(&orders[0], &orders[1]),
        })
    }

    /// One value for each of these questions, whose mean is what the win rate of `system` against `other` is above that of
    /// `other`, 2 W - 1, and whose standard error is twice that of W: what a test of paired differences takes. Both orders of a
    /// question give 2 x their mean - 1; with one order the value is adjusted for the place, or stands for itself if `by_place` is
    /// not set. A question without a verdict on the two is 0, which is no evidence for either, and the others count as much more.
    /// `None` if the two have no verdict.
    pub fn pseudo_values(
        system: usize,
        other: usize,
        verdicts: &[PairVerdict],
        questions: &[usize],
        by_place: bool,
    ) -> Option<Vec<f64>> {
        let mut between = verdicts_between(system, other, verdicts);
        for verdict in between.iter_mut().filter(|_| !by_place) {
            let (_, _, value) = verdict.of_system(system)?;
            *verdict = PairVerdict::new(verdict.question, system, other, value);
        }
        let rate = SystemWinRate::of(system, &between)?;
        let judged = rate.questions() as f64;
        let scale = questions.len() as f64 / judged;
        let mut values = Vec::with_capacity(questions.len());
        for question in questions {
            let influence = rate.influences.get(question);
            let share = influence.map_or(0.5, |influence| rate.win_rate + judged * influence);
            values.push(scale * (2.0 * share - 1.0));
        }
        Some(values)
    }

    /// Its interval, that of [`Self::family`] for this pair alone; `None` for a single question.
    pub fn interval(&self, level: f64) -> Option<Interval> {
        self.lead()?.interval(level).map(of_lead)
    }

    /// The tests of these pairs: what the win rate of the first system is above that of the second, 2 W - 1. `None` where one of them
    /// has a single question.
    pub fn family(pairs: &[Self], options: BootstrapOptions) -> Option<PairedFamily> {
        let leads: Option<Vec<PairedDifference>> = pairs.iter().map(Self::lead).collect();
        Some(family(&leads?, options))
    }

    fn lead(&self) -> Option<PairedDifference> {
        let estimate = [self.win_rate, self.standard_error?];
        Some(lead(estimate, self.questions, self.decided))
    }
}

/// 2 W - 1 of a win rate with its error, a difference within -1..1.
fn lead([win_rate, error]: [f64; 2], questions: usize, decided: usize) -> PairedDifference {
    // Equal values have an error of rounding.
    let error = if error > 1e-12 { 2.0 * error } else { 0.0 };
    let questions = [questions as f64; 2];
    PairedDifference::new([2.0 * win_rate - 1.0, error], 1.0, questions, ends(decided))
}

/// The interval of a win rate where this is that of [`lead`].
fn of_lead(interval: Interval) -> Interval {
    interval.map(|end| f64::midpoint(1.0, end))
}

fn verdicts_between(system: usize, other: usize, verdicts: &[PairVerdict]) -> Vec<PairVerdict> {
    let is_between = |verdict: &&PairVerdict| {
        verdict
            .of_system(system)
            .is_some_and(|(met, ..)| met == other)
    };
    verdicts.iter().filter(is_between).copied().collect()
}

/// How often a system beats the others that it met: the plain mean of its win rates against each of them.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemWinRate {
    /// The win rate.
    pub win_rate: f64,
    /// What each question with a verdict on the system adds to its deviation.
    influences: BTreeMap<usize, f64>,
    /// Questions whose verdicts on the system do not add to a tie.
    decided: usize,
}

impl SystemWinRate {
    /// That of `system`; `None` without a verdict on it.
    ///
    /// ```
    /// use scholareval_stats::{PairVerdict, SystemWinRate};
    ///
    /// // Against 1 it wins in one of two orders, against 2 in the only one: (1/2 + 1) / 2.
    /// let verdicts = [(0, 1), (1, 0), (0, 2)].map(|(first, second)| PairVerdict::new(0, first, second, 1.0));
    /// assert_eq!(SystemWinRate::of(0, &verdicts).map(|rate| rate.win_rate), Some(0.75));
    /// ```
    pub fn of(system: usize, verdicts: &[PairVerdict]) -> Option<Self> {
        // By opponent and place, with the question of each.
        let mut met: BTreeMap<(usize, usize), Vec<(usize, f64)>> = BTreeMap::new();
        for verdict in verdicts {
            if let Some((other, place, value)) = verdict.of_system(system) {
                let values = met.entry((other, place)).or_default();
                values.push((verdict.question, value));
            }
        }
        let mut orders: BTreeMap<usize, f64> = BTreeMap::new();
        for (other, _) in met.keys() {
            *orders.entry(*other).or_default() += 1.0;
        }
        // Deviations are from the mean of a place over all opponents: the few verdicts on one opponent are too close to their mean.
        let mut places = [(0.0, 0.0); 2];
        for ((other, place), values) in &met {
            let sum: f64 = values.iter().map(|(_, value)| value).sum();
            let (sums, weights) = &mut places[*place];
            *sums += sum / values.len() as f64 / orders[other];
            *weights += 1.0 / orders[other];
        }
        let opponents = orders.len() as f64;
        let mut influences: BTreeMap<usize, f64> = BTreeMap::new();
        let mut leads: BTreeMap<usize, f64> = BTreeMap::new();
        for ((other, place), values) in &met {
            let (sums, weights) = places[*place];
            let weight = 1.0 / (opponents * orders[other] * values.len() as f64);
            for (question, value) in values {
                *influences.entry(*question).or_default() += weight * (value - sums / weights);
                *leads.entry(*question).or_default() += value - 0.5;
            }
        }
        (opponents > 0.0).then(|| Self {
            win_rate: (places[0].0 + places[1].0) / opponents,
            influences,
            decided: leads.values().filter(|lead| lead.abs() > SAME).count(),
        })
    }

    /// Standard error over questions; `None` for a single question.
    pub fn standard_error(&self) -> Option<f64> {
        clustered_error(self.influences.values().copied())
    }

    /// Questions with a verdict on the system.
    pub fn questions(&self) -> usize {
        self.influences.len()
    }

    /// Its interval, as that of a pair's win rate; `None` for a single question.
    pub fn interval(&self, level: f64) -> Option<Interval> {
        let estimate = [self.win_rate, self.standard_error()?];
        let lead = lead(estimate, self.questions(), self.decided);
        lead.interval(level).map(of_lead)
    }

    /// A value for each of these cases, by their questions, with the win rate as mean and, over questions, its standard error. The
    /// first case of a question has all that the question adds.
    pub fn values(&self, questions: &[usize]) -> Vec<f64> {
        let mut left = self.influences.clone();
        let count = questions.len() as f64;
        let mut values = Vec::with_capacity(questions.len());
        for question in questions {
            let influence = left.remove(question).unwrap_or(0.0);
            values.push(self.win_rate + count * influence);
        }
        values
    }
}

/// A system's values in one place.
type ByQuestion = BTreeMap<usize, Vec<f64>>;

/// How the values of a system compare between its two places, question by question.
fn both_orders(first: &ByQuestion, second: &ByQuestion) -> BothOrders {
    let mut orders = BothOrders::default();
    for (question, when_first) in first {
        let when_second = second.get(question).and_then(|values| super::mean(values));
        let (Some(when_first), Some(when_second)) = (super::mean(when_first), when_second) else {
            continue;
        };
        orders.questions += 1;
        let gain = when_first - when_second;
        if gain.abs() <= SAME {
            orders.consistent += 1;
        } else if gain > 0.0 {
            orders.towards_first += 1;
        } else {
            orders.towards_second += 1;
        }
    }
    orders
}

/// The share of verdicts for the answer shown first, a tie counting half, with its standard error over questions: 1/2 for a judge
/// without a preference where each pair is shown as often in either order.
pub fn first_shown(verdicts: &[PairVerdict]) -> Option<(f64, Option<f64>)> {
    let by_place = verdicts.iter();
    let by_place = by_place.map(|verdict| PairVerdict::new(verdict.question, 0, 1, verdict.value));
    let rate = SystemWinRate::of(0, &by_place.collect::<Vec<_>>())?;
    Some((rate.win_rate, rate.standard_error()))
}

/// sqrt(Q / (Q - 1) sum of squared influences) over Q questions; `None` for fewer than two.
pub(super) fn clustered_error(influences: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let questions = influences.len() as f64;
    let squares: f64 = influences.map(|influence| influence * influence).sum();
    (questions >= 2.0).then(|| (questions / (questions - 1.0) * squares).sqrt())
}

/// Triads of systems in which every pair was decided, and those of them that are cycles: A beats B, B beats C, C beats A. Over
/// the verdicts of one question; a coin gives a quarter of cycles.
pub fn cyclic_triads(systems: usize, verdicts: &[PairVerdict]) -> (usize, usize) {
    let winner = |a: usize, b: usize| {
        let value = WinRate::of(a, b, verdicts)?.win_rate - 0.5;
        (value.abs() > SAME).then_some(value > 0.0)
    };
    let mut decided = 0;
    let mut cyclic = 0;
    for a in 0..systems {
        for b in a + 1..systems {
            for c in b + 1..systems {
                if let (Some(ab), Some(bc), Some(ca)) = (winner(a, b), winner(b, c), winner(c, a)) {
                    decided += 1;
                    cyclic += usize::from(ab == bc && bc == ca);
                }
            }
        }
    }
    (decided, cyclic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_of_one_order_have_no_position_effect() {
        let win_rate = WinRate::of(
            1,
            0,
            &[
                PairVerdict::new(0, 0, 1, 1.0),
                PairVerdict::new(1, 0, 1, 0.5),
            ],
        )
        .unwrap();
        assert_eq!((win_rate.win_rate, win_rate.when_first), (0.25, None));
        assert_eq!(
            (win_rate.when_second, win_rate.position_effect),
            (Some(0.25), None)
        );
        // Influences (0 - 0.25) / 2 and (0.5 - 0.25) / 2: sqrt(2 * 2 / 64).
        assert_eq!(win_rate.standard_error, Some(0.25));
        assert_eq!(WinRate::of(0, 2, &[PairVerdict::new(0, 0, 1, 1.0)]), None);
    }

    #[test]
    fn pseudo_values_have_the_lead_as_mean_and_twice_its_error() {
        let verdicts = [
            PairVerdict::new(0, 0, 1, 1.0),
            PairVerdict::new(0, 1, 0, 0.5),
            PairVerdict::new(1, 0, 1, 0.0),
            PairVerdict::new(1, 1, 0, 1.0),
            PairVerdict::new(2, 0, 1, 1.0),
            PairVerdict::new(2, 1, 0, 0.0),
        ];
        let values = WinRate::pseudo_values(0, 1, &verdicts, &[0, 1, 2], true).unwrap();
        // Of both orders: 2 x (1 + 1/2) / 2 - 1, 2 x 0 - 1, 2 x 1 - 1.
        for (value, expected) in values.iter().zip([0.5, -1.0, 1.0]) {
            assert!((value - expected).abs() < 1e-12, "{values:?}");
        }
        let win_rate = WinRate::of(0, 1, &verdicts).unwrap();
        let error = super::super::sd(&values).unwrap() / 3.0_f64.sqrt();
        assert!((error - 2.0 * win_rate.standard_error.unwrap()).abs() < 1e-12);
        assert_eq!(WinRate::pseudo_values(0, 2, &verdicts, &[0], true), None);
    }

    #[test]
    fn plain_values_are_what_questions_say_and_0_where_they_say_nothing() {
        let verdicts = [
            PairVerdict::new(0, 0, 1, 1.0),
            PairVerdict::new(1, 1, 0, 1.0),
            PairVerdict::new(2, 0, 1, 0.5),
        ];
        // 1, -1 and 0 of three questions, which count 4/3 times of four.
        let values = WinRate::pseudo_values(0, 1, &verdicts, &[0, 1, 2, 3], false).unwrap();
        for (value, expected) in values.iter().zip([4.0 / 3.0, -4.0 / 3.0, 0.0, 0.0]) {
            assert!((value - expected).abs() < 1e-12, "{values:?}");
        }
        // Whatever is first wins: what one order says of question 2 is not evidence for a system.
        let by_place = [(0, 0, 1), (0, 1, 0), (1, 0, 1), (1, 1, 0), (2, 0, 1)]
            .map(|(question, first, second)| PairVerdict::new(question, first, second, 1.0));
        let values = WinRate::pseudo_values(0, 1, &by_place, &[0, 1, 2], true);
        assert_eq!(values, Some(vec![0.0; 3]));
    }

    #[test]
    fn a_system_has_the_mean_of_its_win_rates_and_the_error_of_what_questions_say() {
        // Of three questions, both orders against 1 and against 2; two verdicts are missing.
        let values = [
            [Some(1.0), Some(0.0), Some(1.0), Some(1.0)],
            [Some(1.0), Some(1.0), None, Some(0.0)],
            [Some(0.0), Some(0.0), Some(1.0), None],
        ];
        let shown = [(0, 1), (1, 0), (0, 2), (2, 0)];
        let mut verdicts = Vec::new();
        for (question, values_of_question) in values.into_iter().enumerate() {
            for ((first, second), value) in shown.into_iter().zip(values_of_question) {
                let verdict = |value| PairVerdict::new(question, first, second, value);
                verdicts.extend(value.map(verdict));
            }
        }
        let win_rate = SystemWinRate::of(0, &verdicts).unwrap();
        // Against 1: (2/3 + 2/3) / 2; against 2: (2/2 + 1/2) / 2.
        let expected = f64::midpoint(2.0 / 3.0, 0.75);
        assert!((win_rate.win_rate - expected).abs() < 1e-12, "{win_rate:?}");
        // A verdict weighs 1/2 (opponents) x 1/2 (places) / verdicts: 1/12 against 1, 1/8 against 2. The mean of the first place is
        // (2/12 + 2/8) / (1/2) = 5/6, that of the second (2/12 + 1/8) / (1/2) = 7/12. So question 0 adds
        // 1/6/12 + 5/12/12 + 1/6/8 + (0 - 7/12)/8, and so on.
        let moved = [
            (1.0 / 6.0 + 5.0 / 12.0) / 12.0 + (1.0 / 6.0 - 7.0 / 12.0) / 8.0,
            (1.0 / 6.0 - 7.0 / 12.0) / 12.0 + 5.0 / 12.0 / 8.0,
            (-5.0 / 6.0 + 5.0 / 12.0) / 12.0 + 1.0 / 6.0 / 8.0,
        ];
        let squares: f64 = moved.iter().map(|deviation| deviation * deviation).sum();
        let error = win_rate.standard_error().unwrap();
        assert!(
            (error - (1.5 * squares).sqrt()).abs() < 1e-12,
            "{win_rate:?}"
        );
        // Of one opponent it is what the pair has.
        let pair = WinRate::of(0, 2, &verdicts).unwrap();
        let of_last = SystemWinRate::of(2, &verdicts).unwrap();
        assert_eq!(of_last.win_rate, 1.0 - pair.win_rate);
        assert!((of_last.standard_error().unwrap() - pair.standard_error.unwrap()).abs() < 1e-12);
        // Two cases of question 0, one of each other.
        let values = win_rate.values(&[0, 0, 1, 2]);
        let mean = super::super::mean(&values).unwrap();
        assert!((mean - win_rate.win_rate).abs() < 1e-12, "{values:?}");
        assert_eq!(SystemWinRate::of(3, &verdicts), None);
    }

    #[test]
    fn a_single_question_has_no_error() {
        let win_rate = WinRate::of(
            0,
            1,
            &[
                PairVerdict::new(0, 0, 1, 1.0),
                PairVerdict::new(0, 1, 0, 1.0),
            ],
        )
        .unwrap();
        assert_eq!((win_rate.win_rate, win_rate.standard_error), (0.5, None));
        assert_eq!(win_rate.interval(0.95), None);
        assert_eq!(win_rate.orders.towards_first, 1);
    }

    #[test]
    fn only_decided_triads_can_be_cycles() {
        let cycle = [
            PairVerdict::new(0, 0, 1, 1.0),
            PairVerdict::new(0, 1, 2, 1.0),
            PairVerdict::new(0, 2, 0, 1.0),
        ];
        assert_eq!(cyclic_triads(3, &cycle), (1, 1));
        let order = [
            PairVerdict::new(0, 0, 1, 1.0),
            PairVerdict::new(0, 1, 2, 1.0),
            PairVerdict::new(0, 0, 2, 1.0),
        ];
        assert_eq!(cyclic_triads(3, &order), (1, 0));
        let tie = [
            PairVerdict::new(0, 0, 1, 0.5),
            PairVerdict::new(0, 1, 2, 1.0),
            PairVerdict::new(0, 0, 2, 1.0),
        ];
        assert_eq!(cyclic_triads(3, &tie), (0, 0));
    }
}

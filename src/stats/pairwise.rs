//! Verdicts of pairwise judging: win rates, and what the order of the two answers does to them.
//!
//! A verdict has the value 1 if the answer shown first is better, 0 if the second is, 1/2 for a tie; probabilities lie between.
//! Verdicts about one question share its difficulty and both answers, so that standard errors are over questions: with verdicts
//! as the unit, intervals of 95% hold in 65 to 80% of studies in which every pair is judged in both orders.

use std::collections::BTreeMap;

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
}

/// How often a system beats another, a tie counting half.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WinRate {
    /// The mean of its means when shown first and second, so that a judge that prefers a place gives neither system an advantage;
    /// with verdicts of one order only, their mean.
    pub win_rate: f64,
    /// Standard error over questions; `None` for a single question.
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
    pub decided: usize,
    /// The verdicts of both orders.
    pub orders: BothOrders,
}

/// Questions whose pair was judged in both orders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BothOrders {
    /// The number of them.
    pub questions: usize,
    /// Both orders give the same verdict.
    pub consistent: usize,
    /// The answer shown first does better than its verdict in the other order.
    pub towards_first: usize,
    /// The answer shown second does.
    pub towards_second: usize,
}

/// Values of opposite orders add to 1 where both say the same; sums of weighted verdicts differ in their last digits.
const SAME: f64 = 1e-9;

impl WinRate {
    /// That of `system` against `other`; `None` if the two have no verdict.
    ///
    /// ```
    /// use scholareval::stats::{PairVerdict, WinRate};
    ///
    /// // The first place always wins: neither system is better, and the place is worth half a point.
    /// let verdicts = [(0, 0, 1), (0, 1, 0), (1, 0, 1), (1, 1, 0)]
    ///     .map(|(question, first, second)| PairVerdict::new(question, first, second, 1.0));
    /// let found = WinRate::of(0, 1, &verdicts).expect("verdicts of both");
    /// assert_eq!((found.win_rate, found.position_effect), (0.5, Some(0.5)));
    /// ```
    pub fn of(system: usize, other: usize, verdicts: &[PairVerdict]) -> Option<Self> {
        let [first, second] = orders_of(system, other, verdicts);
        let when_first = first.mean();
        let when_second = second.mean();
        let (win_rate, position_effect) = match (when_first, when_second) {
            (Some(first), Some(second)) => ((first + second) / 2.0, Some((first - second) / 2.0)),
            (Some(only), None) | (None, Some(only)) => (only, None),
            (None, None) => return None,
        };
        let influences = influences_of([&first, &second]);
        Some(Self {
            win_rate,
            standard_error: clustered_error(influences.values().copied()),
            questions: influences.len(),
            when_first,
            when_second,
            position_effect,
            decided: decided([&first, &second]),
            orders: both_orders(&first, &second),
        })
    }

    /// One value for each of these questions, whose mean is what the win rate of `system` against `other` is above that of
    /// `other`, 2 W - 1, and whose standard error is twice that of W: what a test of paired differences takes. Both orders of a
    /// question give 2 x their mean - 1; with one order the value is adjusted for the place. `None` if the two have no verdict.
    pub fn pseudo_values(
        system: usize,
        other: usize,
        verdicts: &[PairVerdict],
        questions: &[usize],
    ) -> Option<Vec<f64>> {
        let lead = 2.0 * Self::of(system, other, verdicts)?.win_rate - 1.0;
        let [first, second] = orders_of(system, other, verdicts);
        let influences = influences_of([&first, &second]);
        let count = questions.len() as f64;
        let mut values = Vec::with_capacity(questions.len());
        for question in questions {
            let influence = influences.get(question).copied().unwrap_or(0.0);
            values.push(lead + 2.0 * count * influence);
        }
        Some(values)
    }

    /// Its interval, that of [`Self::family`] for this pair alone; `None` for a single question.
    pub fn interval(&self, level: f64) -> Option<Interval> {
        let lead = self.lead()?.interval(level)?;
        Some(Interval {
            low: f64::midpoint(1.0, lead.low),
            high: f64::midpoint(1.0, lead.high),
        })
    }

    /// The tests of these pairs: what the win rate of the first system is above that of the second, 2 W - 1. `None` where one of them
    /// has a single question.
    pub fn family(pairs: &[Self], options: BootstrapOptions) -> Option<PairedFamily> {
        let leads: Option<Vec<PairedDifference>> = pairs.iter().map(Self::lead).collect();
        Some(family(&leads?, options))
    }

    /// 2 W - 1, a difference within -1..1.
    fn lead(&self) -> Option<PairedDifference> {
        let questions = self.questions as f64;
        let lead = 2.0 * self.win_rate - 1.0;
        // Equal values have an error of rounding.
        let error = self
            .standard_error
            .map(|own| if own > 1e-12 { 2.0 * own } else { 0.0 })?;
        let ends = ends(self.decided);
        Some(PairedDifference::new(
            [lead, error],
            1.0,
            [questions; 2],
            ends,
        ))
    }
}

/// The questions whose verdicts in both places do not add to a tie.
fn decided(orders: [&OneOrder; 2]) -> usize {
    let mut by_question: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for order in orders {
        for (question, values) in &order.values {
            by_question
                .entry(*question)
                .or_default()
                .extend(super::mean(values));
        }
    }
    let means = by_question.values().filter_map(|own| super::mean(own));
    means.filter(|mean| (mean - 0.5).abs() > SAME).count()
}

/// The verdicts on a pair with `system` shown first, and those with it shown second, as its values.
fn orders_of(system: usize, other: usize, verdicts: &[PairVerdict]) -> [OneOrder; 2] {
    let mut first = OneOrder::default();
    let mut second = OneOrder::default();
    for verdict in verdicts {
        if (verdict.first, verdict.second) == (system, other) {
            first.push(verdict.question, verdict.value);
        } else if (verdict.first, verdict.second) == (other, system) {
            second.push(verdict.question, 1.0 - verdict.value);
        }
    }
    [first, second]
}

/// What each question adds to the deviation of the win rate; an order without verdicts has no part in it.
fn influences_of(orders: [&OneOrder; 2]) -> BTreeMap<usize, f64> {
    let has_both = orders.iter().all(|order| !order.values.is_empty());
    let share = if has_both { 0.5 } else { 1.0 };
    let mut influences: BTreeMap<usize, f64> = BTreeMap::new();
    for order in orders {
        for (question, influence) in order.influences() {
            *influences.entry(question).or_default() += share * influence;
        }
    }
    influences
}

/// A pair's verdicts in one order, as the values of one of its systems.
#[derive(Default)]
struct OneOrder {
    /// By question.
    values: BTreeMap<usize, Vec<f64>>,
}

impl OneOrder {
    fn push(&mut self, question: usize, value: f64) {
        self.values.entry(question).or_default().push(value);
    }

    fn count(&self) -> f64 {
        self.values.values().map(Vec::len).sum::<usize>() as f64
    }

    fn mean(&self) -> Option<f64> {
        super::mean(&self.values.values().flatten().copied().collect::<Vec<_>>())
    }

    /// What each question adds to the deviation of the mean.
    fn influences(&self) -> Vec<(usize, f64)> {
        let Some(mean) = self.mean() else {
            return Vec::new();
        };
        let count = self.count();
        let mut influences = Vec::new();
        for (question, values) in &self.values {
            let deviation: f64 = values.iter().map(|value| value - mean).sum();
            influences.push((*question, deviation / count));
        }
        influences
    }
}

/// How the values of a system compare between its two places, question by question.
fn both_orders(first: &OneOrder, second: &OneOrder) -> BothOrders {
    let mut orders = BothOrders::default();
    for (question, when_first) in &first.values {
        let when_second = second.values.get(question).and_then(|own| super::mean(own));
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
    let mut all = OneOrder::default();
    for verdict in verdicts {
        all.push(verdict.question, verdict.value);
    }
    let influences = all.influences().into_iter().map(|(_, influence)| influence);
    Some((all.mean()?, clustered_error(influences)))
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
        let found = WinRate::of(
            1,
            0,
            &[
                PairVerdict::new(0, 0, 1, 1.0),
                PairVerdict::new(1, 0, 1, 0.5),
            ],
        )
        .unwrap();
        assert_eq!((found.win_rate, found.when_first), (0.25, None));
        assert_eq!(
            (found.when_second, found.position_effect),
            (Some(0.25), None)
        );
        // Influences (0 - 0.25) / 2 and (0.5 - 0.25) / 2: sqrt(2 * 2 / 64).
        assert_eq!(found.standard_error, Some(0.25));
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
        let values = WinRate::pseudo_values(0, 1, &verdicts, &[0, 1, 2]).unwrap();
        // Of both orders: 2 x (1 + 1/2) / 2 - 1, 2 x 0 - 1, 2 x 1 - 1.
        for (value, expected) in values.iter().zip([0.5, -1.0, 1.0]) {
            assert!((value - expected).abs() < 1e-12, "{values:?}");
        }
        let found = WinRate::of(0, 1, &verdicts).unwrap();
        let error = super::super::sd(&values).unwrap() / 3.0_f64.sqrt();
        assert!((error - 2.0 * found.standard_error.unwrap()).abs() < 1e-12);
        assert_eq!(WinRate::pseudo_values(0, 2, &verdicts, &[0]), None);
    }

    #[test]
    fn a_single_question_has_no_error() {
        let found = WinRate::of(
            0,
            1,
            &[
                PairVerdict::new(0, 0, 1, 1.0),
                PairVerdict::new(0, 1, 0, 1.0),
            ],
        )
        .unwrap();
        assert_eq!((found.win_rate, found.standard_error), (0.5, None));
        assert_eq!(found.interval(0.95), None);
        assert_eq!(found.orders.towards_first, 1);
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

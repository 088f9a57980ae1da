//! Looks at a run before its end: which pairs are decided, and where going on is futile.
//!
//! A run asks its questions in random order. At each look of a [`LookSchedule`] a [`ScoreRule`] gives the pairs with their
//! differences so far, and [`LookSchedule::decide`] says of each pair whether its repeated interval excludes the margin. The
//! critical values spend the level over the looks and are divided by the number of pairs, so that looking does not
//! raise the share of wrong decisions. Formulas: `docs/metrics.md`, "Looks".

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::gates::Gate;
use super::pairs::Extremes;
use super::shared::SharedCases;
use super::{
    ComparisonOptions, MetricComparison, MetricId, Observations, Pairwise, RunAnswers, SEED,
    observe, pair_count,
};
use scholareval_core::domain::Unit;
use scholareval_core::error::{Error, Result};
use scholareval_stats::{
    BootstrapOptions, Interval, LookEstimate, critical_values, predictive_probability,
};

/// Shares of the questions after which a run is looked at.
const SHARES: [f64; 4] = [0.4, 0.6, 0.8, 1.0];
/// Fewest questions of an early look.
// With fewer, t quantiles far in the tail do not hold for skewed differences.
const FEWEST: usize = 20;
/// The level of all looks and pairs together.
const ALPHA: f64 = 0.05;
/// A pair that would be decided at the end with less than this probability is futile.
// 10% saves 30% of the calls where systems are equal, 5% saves 24%; the price is one to two points of power.
const FUTILE: f64 = 0.1;
/// The critical value where there is none: nothing is decided.
const NEVER: f64 = 9.0;
/// What one order of a pair has of the information of both, however many questions there are.
// It is 0.6 to 0.87 for judges whose verdicts agree in 60 to 87% of pairs under exchange. The level holds over that range, since
// only the share spent at each look depends on it.
const ONE_ORDER: f64 = 0.8;

/// A look at a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Questions that are asked by then.
    pub questions: usize,
    /// The share of all information that they have.
    pub information: f64,
    /// The critical value of a pair's statistic.
    pub critical: f64,
    /// Whether each pair of answers was shown in one order only by then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_order: bool,
}

/// The looks at a run, the last one at its end.
///
/// ```
/// use scholareval_analysis::comparison::LookSchedule;
///
/// let schedule = LookSchedule::of(100, 1);
/// let questions: Vec<usize> = schedule.looks.iter().map(|look| look.questions).collect();
/// assert_eq!(questions, [40, 60, 80, 100]);
/// // Below 20 questions nothing is decided early.
/// assert_eq!(LookSchedule::of(24, 1).looks.len(), 2);
/// assert_eq!(LookSchedule::of(19, 1).looks.len(), 1);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LookSchedule {
    /// The looks in their order; at least one.
    pub looks: Vec<Look>,
}

impl LookSchedule {
    /// Looks after 40, 60, 80 and 100% of the questions, early ones from 20 questions on, for decisions on so many pairs.
    pub fn of(questions: usize, pairs: usize) -> Self {
        let mut steps = Vec::new();
        for count in counts(questions) {
            if count < questions {
                steps.push((count, count as f64 / questions as f64));
            }
        }
        steps.push((questions, 1.0));
        Self::with_information(&steps, pairs)
    }

    /// The same looks at pairs of answers that are shown in one order, and one more when they are also shown in the other.
    ///
    /// ```
    /// use scholareval_analysis::comparison::LookSchedule;
    ///
    /// let schedule = LookSchedule::one_order_first(100, 1);
    /// let information: Vec<f64> = schedule.looks.iter().map(|look| look.information).collect();
    /// for (actual, expected) in information.iter().zip([0.32, 0.48, 0.64, 0.8, 1.0]) {
    ///     assert!((actual - expected).abs() < 1e-12);
    /// }
    /// assert!(schedule.looks[3].one_order && !schedule.looks[4].one_order);
    /// ```
    pub fn one_order_first(questions: usize, pairs: usize) -> Self {
        let mut steps = Vec::new();
        for count in counts(questions) {
            steps.push((count, ONE_ORDER * count as f64 / questions as f64));
        }
        let before_last = steps.len();
        steps.push((questions, 1.0));
        let mut schedule = Self::with_information(&steps, pairs);
        for look in &mut schedule.looks[..before_last] {
            look.one_order = true;
        }
        schedule
    }

    /// Looks after so many questions with such shares of the information, which ascend to 1.
    pub fn with_information(steps: &[(usize, f64)], pairs: usize) -> Self {
        let fractions: Vec<f64> = steps.iter().map(|(_, information)| *information).collect();
        let critical = critical_values(&fractions, ALPHA / pairs.max(1) as f64);
        let mut looks = Vec::new();
        for (at, (questions, information)) in steps.iter().enumerate() {
            let values = critical.as_ref();
            looks.push(Look {
                questions: *questions,
                information: *information,
                critical: values.map_or(NEVER, |values| values[at]),
                one_order: false,
            });
        }
        Self { looks }
    }

    /// Whether there is no look before the end.
    pub fn is_single(&self) -> bool {
        self.looks.len() < 2
    }

    /// What the look at this index says of each pair.
    pub fn decide(&self, at: usize, pairs: &[PairAtLook]) -> Vec<PairDecision> {
        let Some((look, last)) = self.looks.get(at).zip(self.looks.last()) else {
            return Vec::new();
        };
        let mut decisions = Vec::new();
        for pair in pairs {
            let mut decision = pair.decided(look.critical);
            if decision == Decision::Undecided && at + 1 < self.looks.len() {
                let is_futile = pair.estimate.is_some_and(|estimate| {
                    let z = estimate.z(pair.margin);
                    predictive_probability(z, look.information, last.critical) < FUTILE
                });
                if is_futile {
                    decision = Decision::Futile;
                }
            }
            let estimate = pair.estimate;
            decisions.push(PairDecision {
                systems: pair.systems.clone(),
                margin: pair.margin,
                difference: estimate.map(|estimate| estimate.difference),
                interval: estimate.and_then(|estimate| estimate.interval(look.critical)),
                decision,
            });
        }
        decisions
    }
}

/// The numbers of questions after which a run of so many may be looked at.
fn counts(questions: usize) -> Vec<usize> {
    let mut counts = Vec::new();
    for share in SHARES {
        // 0.6 * 100 is a little more than 60.
        let count = (share * questions as f64 - 1e-9).ceil() as usize;
        if count >= FEWEST {
            counts.push(count);
        }
    }
    counts
}

/// A pair of systems at a look.
#[derive(Debug, Clone, PartialEq)]
pub struct PairAtLook {
    /// The systems.
    pub systems: [String; 2],
    /// How much worse the first may be than the second: the difference is compared with minus this.
    pub margin: f64,
    /// The first system minus the second; `None` for fewer than two questions.
    pub estimate: Option<LookEstimate>,
    /// The same with everything that is missing against the first system, and in favor of it; `None` if nothing is missing.
    pub extremes: Option<[Option<LookEstimate>; 2]>,
}

impl PairAtLook {
    /// The decision by the repeated interval. It must hold whatever the missing values are: a run that stops by them could not
    /// tell that its judge failed.
    fn decided(&self, critical: f64) -> Decision {
        let threshold = -self.margin;
        let interval_of = |estimate: Option<LookEstimate>| {
            estimate.and_then(|estimate| estimate.interval(critical))
        };
        let Some(interval) = interval_of(self.estimate) else {
            return Decision::Undecided;
        };
        let mut is_above = interval.low > threshold;
        let mut is_below = interval.high < threshold;
        if let Some([lowest, highest]) = self.extremes {
            is_above &= interval_of(lowest).is_some_and(|interval| interval.low > threshold);
            is_below &= interval_of(highest).is_some_and(|interval| interval.high < threshold);
        }
        if is_above {
            Decision::Above
        } else if is_below {
            Decision::Below
        } else {
            Decision::Undecided
        }
    }
}

/// What a look says of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The difference is above minus the margin.
    Above,
    /// It is below.
    Below,
    /// Neither, and the rest of the questions would hardly decide it.
    Futile,
    /// Neither.
    Undecided,
}

/// A pair with its decision, in the unit of files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairDecision {
    /// The systems.
    pub systems: [String; 2],
    /// How much worse the first may be.
    pub margin: f64,
    /// The first minus the second, over the questions that were asked.
    pub difference: Option<f64>,
    /// Its repeated interval.
    pub interval: Option<Interval>,
    /// The decision.
    pub decision: Decision,
}

impl PairDecision {
    /// Whether nothing more is asked for it.
    pub fn is_settled(&self) -> bool {
        self.decision != Decision::Undecided
    }

    /// Whether it is about these two, whichever comes first.
    fn is_between(&self, first: &str, second: &str) -> bool {
        let systems = [&*self.systems[0], &*self.systems[1]];
        systems == [first, second] || systems == [second, first]
    }
}

/// The looks at a run, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunLooks {
    /// What was to be decided, as the user wrote it.
    pub until: String,
    /// The metric; `None` if nothing has a value.
    pub metric: Option<LookedMetric>,
    /// The planned looks.
    #[serde(flatten)]
    pub schedule: LookSchedule,
    /// The look at which the run ended, from 1.
    pub look: usize,
    /// The same if every pair was decided or futile by then, else null.
    pub decided_at: Option<usize>,
    /// The pairs at that look.
    pub pairs: Vec<PairDecision>,
    /// The cases that were asked, if these are not all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<String>,
    /// The cases in which a pair of answers was not shown in this order, by the name of the pair.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_shown: BTreeMap<String, Vec<String>>,
}

impl RunLooks {
    /// The state at the look of this index.
    pub fn new(
        until: &str,
        schedule: &LookSchedule,
        at: usize,
        rule_pairs: Option<RulePairs>,
    ) -> Self {
        let mut looks = Self {
            until: until.to_owned(),
            metric: None,
            schedule: schedule.clone(),
            look: at + 1,
            decided_at: None,
            pairs: Vec::new(),
            cases: Vec::new(),
            not_shown: BTreeMap::new(),
        };
        if let Some(rule_pairs) = rule_pairs {
            looks.metric = Some(LookedMetric::of(&rule_pairs.metric));
            looks.pairs = schedule.decide(at, &rule_pairs.pairs);
            if let Some(range) = rule_pairs.metric.range() {
                let most = range.high - range.low;
                for interval in looks.pairs.iter_mut().flat_map(|pair| &mut pair.interval) {
                    interval.low = interval.low.max(-most);
                    interval.high = interval.high.min(most);
                }
            }
        }
        looks.note_decided();
        looks
    }

    fn note_decided(&mut self) {
        let is_decided = !self.pairs.is_empty() && self.pairs.iter().all(PairDecision::is_settled);
        self.decided_at = is_decided.then_some(self.look);
    }

    /// Leaves the pairs that were settled at the look before as they were then: they were shown in one order since, which is less
    /// than this look's critical value is for.
    pub fn keep_settled(&mut self, before: &Self) {
        for pair in &mut self.pairs {
            let [first, second] = &pair.systems;
            let mut settled = before.pairs.iter().filter(|pair| pair.is_settled());
            if let Some(earlier) = settled.find(|pair| pair.is_between(first, second)) {
                *pair = earlier.clone();
            }
        }
        self.note_decided();
    }

    /// Whether another order of these two systems' answers can still matter: the rule waits for them, or knows nothing yet.
    pub fn waits_for(&self, first: &str, second: &str) -> bool {
        let mut pairs = self.pairs.iter();
        self.pairs.is_empty()
            || pairs.any(|decided| !decided.is_settled() && decided.is_between(first, second))
    }

    /// Whether the run ended before its last look.
    pub fn is_early(&self) -> bool {
        self.look < self.schedule.looks.len()
    }

    /// Whether anything was left out because it could not matter.
    pub fn leaves_out(&self) -> bool {
        self.is_early() || !self.not_shown.is_empty()
    }

    /// Whether this case of a system, or of a pair by its name, was asked.
    pub fn has_asked(&self, system: &str, case: &str) -> bool {
        let has = |cases: &[String]| {
            let place = cases.binary_search_by(|other| (**other).cmp(case));
            place.is_ok()
        };
        let is_asked = !self.is_early() || has(&self.cases);
        let left_out = self.not_shown.get(system);
        is_asked && left_out.is_none_or(|cases| !has(cases))
    }

    /// Questions that were asked, and all.
    pub fn questions(&self) -> [usize; 2] {
        let last = self.schedule.looks.last();
        [self.own_look(), last].map(|look| look.map_or(0, |look| look.questions))
    }

    /// Whether each pair of answers was shown in one order only when it ended.
    pub fn is_in_one_order(&self) -> bool {
        self.own_look().is_some_and(|look| look.one_order)
    }

    /// The look at which the run ended.
    fn own_look(&self) -> Option<&Look> {
        self.schedule.looks.get(self.look.checked_sub(1)?)
    }

    /// Replaces what holds only for a number of questions that was fixed before (p, letters, plain intervals) by what holds at a
    /// look: the repeated intervals and the decisions of the pairs that it was about.
    pub fn correct(&self, metric: &mut MetricComparison) {
        metric.groups.clear();
        metric.ranks = None;
        metric.method = None;
        metric.smallest_p = None;
        for system in &mut metric.systems {
            system.letters.clear();
        }
        let is_own = self.metric == Some(LookedMetric::of(&metric.metric));
        for pair in &mut metric.pairs {
            pair.p = None;
            pair.pointwise_p = None;
            pair.pointwise = None;
            pair.interval = None;
            pair.differs = false;
            pair.detectable = None;
            pair.length = None;
            pair.is_at_look = true;
            let labels = [pair.first, pair.second].map(|rank| &*metric.systems[rank].label);
            if let Some(interval) = self.interval_of(labels).filter(|_| is_own) {
                pair.interval = Some(interval);
                pair.differs = interval.low > 0.0 || interval.high < 0.0;
            }
        }
    }

    /// Replaces the intervals of win rates, which hold only for a number of questions that was fixed before, by the repeated ones.
    pub fn correct_win_rates(&self, pairwise: &mut Pairwise) {
        for pair in &mut pairwise.pairs {
            let repeated = self.interval_of([&pair.first, &pair.second]);
            // A difference of win rates is twice what the win rate is above a half.
            pair.interval = repeated.map(|interval| interval.map(|end| f64::midpoint(1.0, end)));
            pair.at_equal_length_interval = None;
        }
    }

    /// The repeated interval of the first of these systems minus the second.
    fn interval_of(&self, labels: [&str; 2]) -> Option<Interval> {
        for pair in &self.pairs {
            let [first, second] = [&*pair.systems[0], &*pair.systems[1]];
            if [first, second] == labels {
                return pair.interval;
            }
            if [second, first] == labels {
                return pair.interval.map(Interval::negated);
            }
        }
        None
    }
}

/// The metric of the looks at a run, as it is recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LookedMetric {
    /// The id of its scorer in files.
    pub scorer: String,
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
}

impl LookedMetric {
    fn of(metric: &MetricId) -> Self {
        Self {
            scorer: metric.scorer.to_string(),
            name: metric.name.clone(),
            unit: metric.unit,
        }
    }
}

/// The pairs that a rule looks at, by one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct RulePairs {
    /// The metric.
    pub metric: MetricId,
    /// The pairs.
    pub pairs: Vec<PairAtLook>,
}

/// Decides an order of two systems, all against a baseline, or all pairs, by a metric of their scores.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreRule {
    until: String,
    wanted: Wanted,
}

/// The pairs that are to be decided.
#[derive(Debug, Clone, PartialEq)]
enum Wanted {
    /// Those of this system.
    Baseline(String),
    /// All.
    All,
    /// The two of a condition.
    Condition,
}

impl ScoreRule {
    /// Reads `baseline`, `all`, or a condition on two systems such as `new>=old-0.02`.
    ///
    /// # Errors
    /// For a condition that cannot be read or names other systems, and a baseline that is none of them.
    pub fn new(until: &str, baseline: Option<&str>, systems: &Observations) -> Result<Self> {
        let wanted = match until.trim() {
            "all" => Wanted::All,
            "baseline" => {
                let missing = "--until baseline needs --baseline SYSTEM";
                let name = baseline.ok_or_else(|| Error::Usage(missing.to_owned()))?;
                Wanted::Baseline(systems.system_named(name)?.to_owned())
            }
            condition => {
                Gate::check_order(condition, systems)?;
                Wanted::Condition
            }
        };
        if systems.systems.len() < 2 {
            let message = "--until compares systems; score two or more";
            return Err(Error::Usage(message.to_owned()));
        }
        Ok(Self {
            until: until.trim().to_owned(),
            wanted,
        })
    }

    /// Whether this names two systems and perhaps a metric.
    pub fn is_condition(until: &str) -> bool {
        !matches!(until.trim(), "all" | "baseline")
    }

    /// Checks a condition against observations with all metrics that a run is going to have.
    ///
    /// # Errors
    /// For a metric that is not among them or of which higher is not better, and a margin beyond its range.
    pub fn check_metric(condition: &str, expected: &Observations) -> Result<()> {
        if expected.metrics.is_empty() {
            return Ok(());
        }
        Gate::until(condition, expected).map(|_| ())
    }

    /// The ranks of the wanted pairs. Every system minus the baseline, of all pairs the better one first.
    fn ranks(
        &self,
        shared: &SharedCases<'_>,
        order: Option<&([String; 2], f64)>,
    ) -> Vec<(usize, usize)> {
        let all = 0..shared.order.len();
        let rank_of = |label: &str| all.clone().find(|rank| shared.label(*rank) == label);
        if let Some((labels, _)) = order {
            let pair = rank_of(&labels[0]).zip(rank_of(&labels[1]));
            return pair.into_iter().collect();
        }
        let mut pairs = Vec::new();
        match &self.wanted {
            Wanted::Baseline(name) => {
                if let Some(baseline) = rank_of(name) {
                    let others = all.clone().filter(|rank| *rank != baseline);
                    pairs.extend(others.map(|rank| (rank, baseline)));
                }
            }
            Wanted::All | Wanted::Condition => {
                for first in all.clone() {
                    pairs.extend((first + 1..shared.order.len()).map(|second| (first, second)));
                }
            }
        }
        pairs
    }

    /// What is decided, as the user wrote it.
    pub fn until(&self) -> &str {
        &self.until
    }

    /// How many pairs are decided of so many systems: the level is divided by it.
    pub fn pair_count(&self, systems: usize) -> usize {
        match self.wanted {
            Wanted::Condition => 1,
            Wanted::Baseline(_) => pair_count(systems, true),
            Wanted::All => pair_count(systems, false),
        }
    }

    /// The pairs over these answers, at the look of this index; `None` if nothing has a value yet.
    ///
    /// # Errors
    /// For a metric or a system that the answers do not have.
    pub fn pairs(
        &self,
        answers: &RunAnswers<'_>,
        row: Option<&str>,
        schedule: &LookSchedule,
    ) -> Result<Option<RulePairs>> {
        let observations = Observations {
            row: row.map(str::to_owned),
            ..observe(std::slice::from_ref(answers))
        };
        let Some(headline) = observations.headline().first().copied() else {
            return Ok(None);
        };
        let mut metric = observations.metrics[headline].metric.clone();
        let mut order = None;
        if self.wanted == Wanted::Condition {
            let gate = Gate::until(&self.until, &observations)?;
            metric = gate.metric().clone();
            order = gate.ordered_within();
        }
        let options = ComparisonOptions::seeded(SEED);
        let mut tables = observations.metrics.iter();
        let Some(table) = tables.find(|table| table.metric == metric) else {
            return Ok(None);
        };
        let shared = SharedCases::of(&observations, table, &options);
        let ranks = self.ranks(&shared, order.as_ref());
        let margin = order.map_or(0.0, |(_, margin)| margin);
        let pairs = pairs_at_look(&shared, &ranks, margin, schedule.is_single());
        Ok(Some(RulePairs { metric, pairs }))
    }
}

/// The pairs with their estimates. At the only look of a run they are tested as without looks. A pair with a system without
/// any value has no estimate, and keeps the run going.
fn pairs_at_look(
    shared: &SharedCases<'_>,
    ranks: &[(usize, usize)],
    margin: f64,
    is_only: bool,
) -> Vec<PairAtLook> {
    let has_values = |pair: &(usize, usize)| pair.0.max(pair.1) < shared.participants;
    let tested: Vec<(usize, usize)> = ranks.iter().copied().filter(has_values).collect();
    let mut estimates = estimates(shared, &tested, is_only).into_iter();
    let mut pairs = Vec::new();
    for pair in ranks {
        let mut estimate = None;
        let mut extremes = None;
        if has_values(pair) {
            estimate = estimates.next().flatten();
            if !is_only {
                extremes = extreme_estimates(shared, *pair);
                if shared.is_in_one_order(*pair) {
                    estimate = estimate.map(LookEstimate::of_two_means);
                }
            }
        }
        pairs.push(PairAtLook {
            systems: [pair.0, pair.1].map(|rank| shared.label(rank).to_owned()),
            margin,
            estimate,
            extremes,
        });
    }
    pairs
}

/// The estimate of each of these pairs. Answers that were compared with each other are decided by what was said of the two; by
/// strengths nothing is.
fn estimates(
    shared: &SharedCases<'_>,
    tested: &[(usize, usize)],
    is_only: bool,
) -> Vec<Option<LookEstimate>> {
    let sample = shared.pair_sample(tested);
    let Some(sample) = sample.filter(|sample| !sample.is_of_strengths) else {
        return Vec::new();
    };
    if !is_only {
        let values = shared.metric_values();
        let each = sample.differences.iter();
        let each = each.map(|list| LookEstimate::of(list, Some(&sample.questions), values));
        return each.collect();
    }
    let family = sample.family(BootstrapOptions::seeded(shared.options.seed));
    let mut estimates = Vec::new();
    for test in family.map_or(Vec::new(), |family| family.pairs) {
        let estimate = LookEstimate::only(test.difference, test.standard_error, test.interval);
        estimates.push(Some(estimate));
    }
    estimates
}

/// The estimates with everything that is missing against the first system, and in its favor.
fn extreme_estimates(
    shared: &SharedCases<'_>,
    (first, second): (usize, usize),
) -> Option<[Option<LookEstimate>; 2]> {
    let extremes = Extremes::of(shared, first, second)?;
    let estimate = |differences: &[f64]| {
        LookEstimate::of(differences, Some(&extremes.questions), extremes.values)
    };
    Some([estimate(&extremes.lows), estimate(&extremes.highs)])
}

#[cfg(test)]
mod tests {
    use super::super::compare_tests::table;
    use super::*;

    fn pair(differences: &[f64], margin: f64) -> PairAtLook {
        PairAtLook {
            systems: ["a".to_owned(), "b".to_owned()],
            margin,
            estimate: LookEstimate::of(differences, None, scholareval_stats::MetricValues::Any),
            extremes: None,
        }
    }

    /// 40 differences with this mean and a standard deviation of about 0.1.
    fn around(mean: f64) -> Vec<f64> {
        (0..40)
            .map(|at| mean + if at % 2 == 0 { 0.1 } else { -0.1 })
            .collect()
    }

    fn decision(at: usize, pair: &PairAtLook) -> Decision {
        LookSchedule::of(100, 1).decide(at, std::slice::from_ref(pair))[0].decision
    }

    #[test]
    fn looks_come_at_shares_of_the_questions_and_never_below_20() {
        let counts = |questions| {
            let schedule = LookSchedule::of(questions, 1);
            let looks = schedule.looks.iter().map(|look| look.questions);
            looks.collect::<Vec<_>>()
        };
        assert_eq!(counts(50), [20, 30, 40, 50]);
        assert_eq!(counts(30), [24, 30]);
        assert_eq!(counts(19), [19]);
        assert_eq!(counts(1), [1]);
        let last = |pairs| LookSchedule::of(100, pairs).looks[3].critical;
        // The published values for 4 looks at 5%, and at 1.25% for 4 pairs.
        assert!((last(1) - 2.0311).abs() < 1e-3 && (last(4) - 2.5403).abs() < 1e-3);
        let single = LookSchedule::of(19, 1).looks[0].critical;
        assert!((single - 1.96).abs() < 1e-3);
    }

    #[test]
    fn a_pair_is_decided_by_its_repeated_interval() {
        // The error is 0.1 / sqrt(39) = 0.016; at 40% the critical t with 39 degrees is 3.6.
        assert_eq!(decision(0, &pair(&around(0.07), 0.0)), Decision::Above);
        assert_eq!(decision(0, &pair(&around(-0.07), 0.0)), Decision::Below);
        assert_eq!(decision(0, &pair(&around(0.04), 0.0)), Decision::Undecided);
        assert_eq!(decision(0, &pair(&around(0.04), 0.04)), Decision::Above);
        assert_eq!(decision(3, &pair(&around(0.04), 0.0)), Decision::Above);
    }

    #[test]
    fn equal_systems_are_futile_but_for_the_last_look() {
        assert_eq!(decision(0, &pair(&around(0.0), 0.0)), Decision::Futile);
        assert_eq!(decision(3, &pair(&around(0.0), 0.0)), Decision::Undecided);
        assert_eq!(decision(0, &pair(&[0.0; 40], 0.0)), Decision::Futile);
        assert_eq!(decision(0, &pair(&[0.1], 0.0)), Decision::Undecided);
    }

    #[test]
    fn missing_values_must_not_change_a_decision() {
        let mut uncertain = pair(&around(0.07), 0.0);
        uncertain.extremes = Some([
            pair(&around(0.03), 0.0).estimate,
            pair(&around(0.09), 0.0).estimate,
        ]);
        assert_eq!(decision(0, &uncertain), Decision::Undecided);
        // Unbounded values allow no decision.
        uncertain.extremes = Some([None, None]);
        assert_eq!(decision(0, &uncertain), Decision::Undecided);
    }

    #[test]
    fn a_rule_names_systems_of_the_run() {
        let observed = table(&[("new", &[0.5]), ("old", &[0.4])]);
        let refusal = |until: &str, baseline| {
            ScoreRule::new(until, baseline, &observed)
                .unwrap_err()
                .to_string()
        };
        for right in ["new>=old-0.02", "score:new>old", "new >= old"] {
            assert!(ScoreRule::new(right, None, &observed).is_ok(), "{right}");
        }
        assert!(refusal("baseline", None).contains("--baseline SYSTEM"));
        assert!(refusal("baseline", Some("odl")).contains("no system is called odl"));
        assert!(refusal("new>=odl", None).contains("odl"));
        assert!(refusal("score>=0.5", None).contains("--until"));
        assert!(refusal("new>old-0.02", None).contains("a margin needs >="));
        let pairs = |until: &str| {
            let rule = ScoreRule::new(until, Some("old"), &observed).unwrap();
            rule.pair_count(5)
        };
        assert_eq!(["new>old", "baseline", "all"].map(pairs), [1, 4, 10]);
    }

    fn decided(systems: [&str; 2], decision: Decision) -> PairDecision {
        PairDecision {
            systems: systems.map(str::to_owned),
            margin: 0.0,
            difference: Some(0.1),
            interval: None,
            decision,
        }
    }

    #[test]
    fn both_orders_come_last_and_only_for_pairs_that_are_not_settled() {
        let counts = |questions| {
            let schedule = LookSchedule::one_order_first(questions, 1);
            let looks = schedule.looks.iter().map(|look| look.questions);
            looks.collect::<Vec<_>>()
        };
        assert_eq!(counts(50), [20, 30, 40, 50, 50]);
        assert_eq!(counts(20), [20, 20]);
        assert_eq!(counts(19), [19]);

        let schedule = LookSchedule::one_order_first(50, 3);
        let mut before = RunLooks::new("all", &schedule, 3, None);
        assert!(before.waits_for("a", "b"), "nothing has a value");
        before.pairs = vec![
            decided(["a", "b"], Decision::Above),
            decided(["a", "c"], Decision::Undecided),
            decided(["b", "c"], Decision::Futile),
        ];
        assert!(before.waits_for("c", "a") && !before.waits_for("a", "b"));
        assert!(!before.waits_for("b", "c") && before.is_in_one_order());

        let mut last = RunLooks::new("all", &schedule, 4, None);
        last.pairs = vec![
            decided(["b", "a"], Decision::Undecided),
            decided(["a", "c"], Decision::Above),
            decided(["b", "c"], Decision::Undecided),
        ];
        last.keep_settled(&before);
        assert_eq!(last.pairs[0], before.pairs[0]);
        assert_eq!(last.pairs[1].decision, Decision::Above);
        assert_eq!(last.pairs[2].decision, Decision::Futile);
        assert_eq!(last.decided_at, Some(5));
        last.not_shown
            .insert("b vs a".to_owned(), vec!["c1".to_owned()]);
        assert!(last.leaves_out() && !last.has_asked("b vs a", "c1"));
        assert!(last.has_asked("b vs a", "c2") && last.has_asked("a vs b", "c1"));
    }
}

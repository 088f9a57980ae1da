//! Looks at a run before its end: which pairs are decided, and where going on is futile.
//!
//! A run asks its questions in random order. At each look of a [`LookSchedule`] a [`LookRule`] gives the pairs with their
//! differences so far, and [`LookSchedule::decide`] says of each pair whether its repeated interval excludes the margin. The
//! critical values spend the level over the looks and are divided by the number of pairs, so that looking does not
//! raise the share of wrong decisions. Formulas: `docs/metrics.md`, "Looks".

use serde::{Deserialize, Serialize};

use super::gates::Gate;
use super::pairs::Extremes;
use super::shared::{SharedCases, slices};
use super::{
    ComparisonOptions, MetricComparison, MetricId, Observations, RunAnswers, SEED, observe,
    pair_count,
};
use crate::domain::Unit;
use crate::error::{Error, Result};
use crate::stats::{
    BootstrapOptions, Interval, LookEstimate, critical_values, paired_family,
    predictive_probability,
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

/// A look at a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Questions that are asked by then.
    pub questions: usize,
    /// The share of all information that they have.
    pub information: f64,
    /// The critical value of a pair's statistic.
    pub critical: f64,
}

/// The looks at a run, the last one at its end.
///
/// ```
/// use scholareval::analysis::comparison::LookSchedule;
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
        for share in SHARES {
            // 0.6 * 100 is a little more than 60.
            let count = (share * questions as f64 - 1e-9).ceil() as usize;
            if count >= FEWEST && count < questions {
                steps.push((count, count as f64 / questions as f64));
            }
        }
        steps.push((questions, 1.0));
        Self::with_information(&steps, pairs)
    }

    /// Looks after so many questions with such shares of the information; both ascend, the last share is 1.
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
                let z = pair.estimate.map(|own| own.z(pair.margin));
                let predicted =
                    z.map(|z| predictive_probability(z, look.information, last.critical));
                if predicted.is_some_and(|own| own < FUTILE) {
                    decision = Decision::Futile;
                }
            }
            decisions.push(PairDecision {
                systems: pair.systems.clone(),
                margin: pair.margin,
                difference: pair.estimate.map(|own| own.difference),
                interval: pair.estimate.and_then(|own| own.interval(look.critical)),
                decision,
            });
        }
        decisions
    }
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
        let interval_of = |own: Option<LookEstimate>| own.and_then(|own| own.interval(critical));
        let Some(interval) = interval_of(self.estimate) else {
            return Decision::Undecided;
        };
        let mut is_above = interval.low > threshold;
        let mut is_below = interval.high < threshold;
        if let Some([lowest, highest]) = self.extremes {
            is_above &= interval_of(lowest).is_some_and(|own| own.low > threshold);
            is_below &= interval_of(highest).is_some_and(|own| own.high < threshold);
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
#[non_exhaustive]
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
}

impl RunLooks {
    /// The state at the look of this index.
    pub fn new(until: &str, schedule: &LookSchedule, at: usize, found: Option<RulePairs>) -> Self {
        let mut looks = Self {
            until: until.to_owned(),
            metric: None,
            schedule: schedule.clone(),
            look: at + 1,
            decided_at: None,
            pairs: Vec::new(),
            cases: Vec::new(),
        };
        if let Some(found) = found {
            looks.metric = Some(LookedMetric::of(&found.metric));
            looks.pairs = schedule.decide(at, &found.pairs);
            if let Some(range) = found.metric.range() {
                let most = range.high - range.low;
                for interval in looks
                    .pairs
                    .iter_mut()
                    .filter_map(|pair| pair.interval.as_mut())
                {
                    interval.low = interval.low.max(-most);
                    interval.high = interval.high.min(most);
                }
            }
        }
        let is_settled = |pair: &PairDecision| pair.decision != Decision::Undecided;
        if !looks.pairs.is_empty() && looks.pairs.iter().all(is_settled) {
            looks.decided_at = Some(looks.look);
        }
        looks
    }

    /// Whether the run ended before all questions were asked.
    pub fn is_early(&self) -> bool {
        self.look < self.schedule.looks.len()
    }

    /// Questions that were asked, and all.
    pub fn questions(&self) -> [usize; 2] {
        let at = |index: usize| {
            self.schedule
                .looks
                .get(index)
                .map_or(0, |look| look.questions)
        };
        [at(self.look - 1), at(self.schedule.looks.len() - 1)]
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
        let own = self.metric.as_ref();
        let is_own = own.is_some_and(|own| *own == LookedMetric::of(&metric.metric));
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

/// What a run is to decide.
pub trait LookRule: Send + Sync {
    /// As the user wrote it.
    fn until(&self) -> &str;

    /// The looks at a run of so many questions and systems.
    fn schedule(&self, questions: usize, systems: usize) -> LookSchedule;

    /// The pairs over these answers, at the look of this index; `None` if nothing has a value yet.
    ///
    /// # Errors
    /// For a metric or a system that the answers do not have.
    fn pairs(
        &self,
        answers: &RunAnswers<'_>,
        row: Option<&str>,
        schedule: &LookSchedule,
    ) -> Result<Option<RulePairs>>;
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
                let name = baseline.ok_or_else(|| {
                    Error::Usage("--until baseline needs --baseline SYSTEM".to_owned())
                })?;
                Wanted::Baseline(systems.system_named(name)?.to_owned())
            }
            condition => {
                Gate::check_order(condition, systems)?;
                Wanted::Condition
            }
        };
        if systems.systems.len() < 2 {
            return Err(Error::Usage(
                "--until compares systems; score two or more".to_owned(),
            ));
        }
        Ok(Self {
            until: until.trim().to_owned(),
            wanted,
        })
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
}

impl LookRule for ScoreRule {
    fn until(&self) -> &str {
        &self.until
    }

    fn schedule(&self, questions: usize, systems: usize) -> LookSchedule {
        let pairs = match self.wanted {
            Wanted::Condition => 1,
            Wanted::Baseline(_) => pair_count(systems, true),
            Wanted::All => pair_count(systems, false),
        };
        LookSchedule::of(questions, pairs)
    }

    fn pairs(
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
    let mut differences = shared.differences(&tested);
    let mut questions = shared.questions.clone();
    // Answers that were compared with each other are decided by what was said of the two.
    if shared.table.games.is_some() {
        let sample = shared.pair_sample(&tested);
        let of_pairs = sample.filter(|sample| !sample.is_of_strengths);
        differences = of_pairs
            .as_ref()
            .map_or(Vec::new(), |own| own.differences.clone());
        questions = of_pairs.map_or(questions, |own| own.questions);
    }
    let estimates = estimates(shared, &slices(&differences), &questions, is_only);
    let mut estimates = estimates.into_iter();
    let mut pairs = Vec::new();
    for pair in ranks {
        let mut estimate = None;
        let mut extremes = None;
        if has_values(pair) {
            estimate = estimates.next().flatten();
            if !is_only {
                extremes = extreme_estimates(shared, *pair);
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

/// The estimate of each pair of these differences.
fn estimates(
    shared: &SharedCases<'_>,
    differences: &[&[f64]],
    questions: &[usize],
    is_only: bool,
) -> Vec<Option<LookEstimate>> {
    let values = shared.table.metric.values();
    let questions = Some(questions);
    if !is_only {
        let each = differences.iter();
        let each = each.map(|own| LookEstimate::of(own, questions, values));
        return each.collect();
    }
    let options = BootstrapOptions::seeded(shared.options.seed);
    let family = paired_family(differences, questions, values, options);
    let tests = family.map_or(Vec::new(), |family| family.pairs);
    let mut estimates = Vec::new();
    for test in tests {
        let error = test.standard_error;
        estimates.push(Some(LookEstimate::only(
            test.difference,
            error,
            test.interval,
        )));
    }
    estimates
}

/// The estimates with everything that is missing against the first system, and in its favor.
fn extreme_estimates(
    shared: &SharedCases<'_>,
    (first, second): (usize, usize),
) -> Option<[Option<LookEstimate>; 2]> {
    let found = Extremes::of(shared, first, second)?;
    let values = shared.table.metric.values();
    let estimate =
        |differences: &[f64]| LookEstimate::of(differences, Some(&found.questions), values);
    Some([estimate(&found.lows), estimate(&found.highs)])
}

#[cfg(test)]
mod tests {
    use super::super::compare_tests::table;
    use super::*;

    fn pair(differences: &[f64], margin: f64) -> PairAtLook {
        PairAtLook {
            systems: ["a".to_owned(), "b".to_owned()],
            margin,
            estimate: LookEstimate::of(differences, None, crate::stats::MetricValues::Any),
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
        let mut own = pair(&around(0.07), 0.0);
        own.extremes = Some([
            pair(&around(0.03), 0.0).estimate,
            pair(&around(0.09), 0.0).estimate,
        ]);
        assert_eq!(decision(0, &own), Decision::Undecided);
        // Unbounded values allow no decision.
        own.extremes = Some([None, None]);
        assert_eq!(decision(0, &own), Decision::Undecided);
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
        let schedule = |until: &str| {
            let rule = ScoreRule::new(until, Some("old"), &observed).unwrap();
            rule.schedule(100, 5).looks[3].critical
        };
        // 1, 4 and 10 pairs.
        let found = ["new>old", "baseline", "all"].map(schedule);
        assert!(found[0] < found[1] && found[1] < found[2], "{found:?}");
    }
}

//! The outcome of a gate: met, missed, undecided or unchecked, with its numbers.

use std::collections::BTreeSet;

use serde::Serialize;

use super::REMEDY;
use super::condition::{Demand, Gate, Order};
use crate::comparison::pairs::between_extremes;
use crate::comparison::shared::{SAME, SharedCases};
use crate::comparison::{
    Comparison, MetricComparison, Observation, Observations, PairComparison, SystemMean,
};
use crate::quantity::MeanValues;
use scholareval_core::text::names::counted;
use scholareval_stats::{Interval, mean, questions_for, standard_error};

/// The outcome of a gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// The condition holds.
    Met,
    /// It does not.
    Missed,
    /// These questions do not decide.
    Undecided,
    /// Data are missing, so that it counts as missed.
    #[default]
    Unchecked,
}

impl GateOutcome {
    /// Whether an interval lies between two numbers, outside of them, or neither. They are reached in spite of rounding.
    pub(crate) fn between(interval: Interval, least: f64, most: f64) -> Self {
        if interval.low >= least - SAME && interval.high <= most + SAME {
            Self::Met
        } else if interval.high < least - SAME || interval.low > most + SAME {
            Self::Missed
        } else {
            Self::Undecided
        }
    }

    /// `met`, `missed`, `undecided`, `unchecked`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Undecided => "undecided",
            Self::Unchecked => "unchecked",
        }
    }
}

/// A gate with its numbers, in the unit of files.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GateResult {
    /// The condition; one on the means of every system has a result for each.
    pub condition: String,
    /// Its outcome.
    pub outcome: GateOutcome,
    /// The numbers and the reason as a sentence.
    pub message: String,
    /// The name of the metric.
    pub metric: String,
    /// The system, or the two that are compared.
    pub systems: Vec<String>,
    /// The system's mean over all its cases, or the first system's mean minus the second's over the shared cases.
    pub estimate: Option<f64>,
    /// Its interval; of a difference the one that is adjusted for all pairs of the metric.
    pub interval: Option<Interval>,
    /// What the estimate must reach: the least mean, or the difference; -0.02 for `A>=B-0.02`, 0.02 for `A>=B+0.02`.
    pub threshold: f64,
    /// Two-sided p of the difference, adjusted for all pairs of the metric.
    pub p: Option<f64>,
    /// Questions behind the estimate.
    pub questions: usize,
    /// About how many questions would decide an undecided gate with 80% power.
    pub questions_needed: Option<usize>,
    /// About how many labels would decide an undecided gate on the agreement with people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels_needed: Option<usize>,
    /// Whether the condition is `A>=B`, without a tolerable margin.
    #[serde(skip)]
    pub is_not_worse: bool,
}

impl GateResult {
    /// `new>=old-0.02: score differs by ..`.
    pub fn line(&self) -> String {
        format!("{}: {}", self.condition, self.message)
    }
}

/// The results of the gates, in their order. With `tolerate_missing`, missing data are ignored.
pub fn gate_results(
    gates: &[Gate],
    comparison: &Comparison,
    observations: &Observations,
    tolerate_missing: bool,
) -> Vec<GateResult> {
    let checks = gates.iter().map(|gate| GateCheck {
        gate,
        comparison,
        observations,
        tolerate_missing,
    });
    checks.map(|check| check.result()).collect()
}

/// An outcome with its reason.
struct GateDecision {
    outcome: GateOutcome,
    reason: String,
    questions_needed: Option<usize>,
}

impl GateDecision {
    fn new(outcome: GateOutcome, reason: impl Into<String>) -> Self {
        Self {
            outcome,
            reason: reason.into(),
            questions_needed: None,
        }
    }
}

/// One gate and what it is checked against.
struct GateCheck<'a> {
    gate: &'a Gate,
    comparison: &'a Comparison,
    observations: &'a Observations,
    tolerate_missing: bool,
}

impl GateCheck<'_> {
    fn result(&self) -> GateResult {
        let mut result = GateResult {
            condition: self.gate.text.clone(),
            metric: self.gate.metric.name.clone(),
            systems: self.gate.systems().to_vec(),
            threshold: self.threshold(),
            is_not_worse: self.gate.order() == Some(Order::NotWorse),
            ..GateResult::default()
        };
        let mut metrics = self.comparison.metrics.iter();
        let Some(metric) = metrics.find(|metric| metric.metric == self.gate.metric) else {
            result.message = format!("{} was not compared", self.gate.metric.name);
            return result;
        };
        if let Some(unfinished) = self.unfinished_run() {
            result.message = format!("{unfinished}; {REMEDY}");
            return result;
        }
        let decision = match &self.gate.demand {
            Demand::AtLeast { system, .. } => self.mean(system, metric, &mut result),
            Demand::Order { pair, order } => self.difference(pair, *order, metric, &mut result),
        };
        result.outcome = decision.outcome;
        result.questions_needed = decision.questions_needed;
        result.message = sentence(&result, &decision.reason);
        result
    }

    /// What the estimate must reach.
    fn threshold(&self) -> f64 {
        match self.gate.demand {
            Demand::AtLeast { least, .. } => least,
            Demand::Order { order, .. } => match order {
                Order::Within(margin) => -margin,
                Order::Better | Order::NotWorse => 0.0,
            },
        }
    }

    /// Why a run with a system that the gate names is unfinished.
    fn unfinished_run(&self) -> Option<&str> {
        if self.tolerate_missing {
            return None;
        }
        let systems = &self.comparison.systems;
        let systems = systems.iter();
        let mut named = systems.filter(|system| self.gate.systems().contains(&system.label));
        named.find_map(|system| self.comparison.runs.get(system.run)?.unfinished.as_deref())
    }

    /// The metric's cases in order, with what is derived from them.
    fn shared(&self) -> Option<SharedCases<'_>> {
        let mut tables = self.observations.metrics.iter();
        let table = tables.find(|table| table.metric == self.gate.metric)?;
        let options = &self.comparison.options;
        Some(SharedCases::of(self.observations, table, options))
    }

    /// Checks the mean of a system over all its cases.
    fn mean(
        &self,
        label: &str,
        metric: &MetricComparison,
        result: &mut GateResult,
    ) -> GateDecision {
        let system = metric.systems.iter().find(|system| system.label == label);
        let own_mean = self.shared().and_then(|shared| OwnMean::of(&shared, label));
        let (Some(system), Some(own_mean)) = (system, own_mean) else {
            return GateDecision::new(GateOutcome::Unchecked, "it has no mean");
        };
        result.estimate = Some(own_mean.mean);
        result.interval = own_mean.interval;
        result.questions = own_mean.questions;
        let least = result.threshold;
        let Some(interval) = own_mean.interval else {
            let questions = counted(own_mean.questions, "question");
            let reason = format!("{questions} give no interval");
            return GateDecision::new(GateOutcome::Undecided, reason);
        };
        if interval.high < least - SAME {
            return GateDecision::new(GateOutcome::Missed, below(least));
        }
        if interval.low < least - SAME {
            let spread = GateSpread {
                errors: own_mean.errors_at(least, metric.metric.range()),
                questions: own_mean.questions,
                pairs: 1,
            };
            return self.undecided(&spread, own_mean.mean - least, "");
        }
        match own_mean.lowest_with_missing {
            Some(lowest) if !self.tolerate_missing && lowest < least - SAME => GateDecision::new(
                GateOutcome::Unchecked,
                format!(
                    "with {} unscored and {} without an answer it could be {}; {REMEDY}",
                    system.unscored,
                    system.missing,
                    possible(lowest)
                ),
            ),
            _ => GateDecision::new(GateOutcome::Met, String::new()),
        }
    }

    /// Checks the difference of two systems over the shared cases.
    fn difference(
        &self,
        labels: &[String; 2],
        order: Order,
        metric: &MetricComparison,
        result: &mut GateResult,
    ) -> GateDecision {
        result.questions = metric.questions;
        let Some(pair) = Difference::of(metric, labels) else {
            return untested(metric, labels);
        };
        result.estimate = Some(pair.estimate);
        result.interval = pair.interval;
        result.p = pair.p;
        let spread = GateSpread::of(&pair, metric);
        let decision = match order {
            Order::Within(margin) => self.within(&pair, margin, &spread),
            Order::Better => self.better(&pair, labels, &spread),
            Order::NotWorse => self.not_worse(&pair, labels, metric),
        };
        if decision.outcome != GateOutcome::Met || self.tolerate_missing {
            return decision;
        }
        let holds = match order {
            Order::Within(margin) => {
                let shared = self.shared();
                let low = shared.and_then(|shared| lowest_difference(&shared, &pair));
                low.is_none_or(|low| low > -margin)
            }
            Order::Better | Order::NotWorse => !pair.of.sensitive,
        };
        if holds {
            return decision;
        }
        let reason = format!("that depends on missing data; {REMEDY}");
        GateDecision::new(GateOutcome::Unchecked, reason)
    }

    /// At most `margin` worse, or better by more than its opposite: the interval lies above -margin.
    fn within(&self, pair: &Difference<'_>, margin: f64, spread: &GateSpread) -> GateDecision {
        // Equal differences have no interval, but a system that is better is not worse.
        let is_better = pair.of.differs && pair.estimate > 0.0 && margin >= 0.0;
        let outcome = within_margin(pair.interval, margin);
        if is_better || outcome == GateOutcome::Met {
            return GateDecision::new(GateOutcome::Met, String::new());
        }
        if outcome == GateOutcome::Missed {
            return GateDecision::new(outcome, below(-margin));
        }
        if pair.interval.is_none() {
            return GateDecision::new(outcome, "these questions give no interval");
        }
        // Planned for equal systems; where there are already that many questions, for the difference
        // that was observed.
        let has_room = margin > 0.0 && spread.needed(margin, self.alpha()).is_some();
        if has_room {
            return self.undecided(spread, margin, " if they were equal");
        }
        self.undecided(spread, pair.estimate + margin, " at this difference")
    }

    /// Significantly better.
    fn better(
        &self,
        pair: &Difference<'_>,
        [_, second]: &[String; 2],
        spread: &GateSpread,
    ) -> GateDecision {
        if !pair.of.differs {
            let mut decision = self.undecided(spread, pair.estimate, " at this difference");
            decision.reason = format!("not significantly different; {}", decision.reason);
            return decision;
        }
        if pair.estimate > 0.0 {
            GateDecision::new(GateOutcome::Met, String::new())
        } else {
            GateDecision::new(GateOutcome::Missed, format!("{second} is better"))
        }
    }

    /// Not significantly worse: says nothing where nothing could be significant.
    fn not_worse(
        &self,
        pair: &Difference<'_>,
        [_, second]: &[String; 2],
        metric: &MetricComparison,
    ) -> GateDecision {
        let alpha = self.alpha();
        if pair.of.differs && pair.estimate < 0.0 {
            return GateDecision::new(GateOutcome::Missed, format!("{second} is better"));
        }
        if !pair.of.differs && pair.of.is_at_look {
            let reason = "the run was to end at a look, where not being worse takes a margin";
            return GateDecision::new(GateOutcome::Undecided, reason);
        }
        // Differences that are all 0 give p = 1 however many questions there are: the number of
        // questions decides whether a p could have been significant.
        let smallest_p = if pair.of.wins + pair.of.losses == 0 {
            Some(0.5_f64.powi(metric.questions as i32 - 1))
        } else {
            metric.smallest_p
        };
        if !pair.of.differs && smallest_p.is_none_or(|least| least >= alpha) {
            let reason = format!(
                "{} cannot give a p below {}",
                counted(metric.questions, "question"),
                scholareval_stats::rounded(alpha)
            );
            return GateDecision::new(GateOutcome::Undecided, reason);
        }
        // A loss that was not found is not a loss that was excluded.
        let excluded_loss = pair.of.detectable.filter(|_| !pair.of.differs);
        let reason = excluded_loss.map_or(String::new(), |loss| {
            format!(
                "not significantly worse; a loss of {} would be found with 80% power",
                as_number(loss)
            )
        });
        GateDecision::new(GateOutcome::Met, reason)
    }

    fn alpha(&self) -> f64 {
        1.0 - self.comparison.options.level
    }

    /// Undecided, with the number of questions that would decide at this distance from the threshold.
    fn undecided(&self, spread: &GateSpread, distance: f64, place: &str) -> GateDecision {
        let needed = spread.needed(distance, self.alpha());
        let reason = match needed {
            Some(needed) => format!("about {} would decide{place}", counted(needed, "question")),
            None => "these questions do not decide".to_owned(),
        };
        GateDecision {
            outcome: GateOutcome::Undecided,
            reason,
            questions_needed: needed,
        }
    }
}

/// What a number of questions is planned by.
pub(super) struct GateSpread {
    /// Standard errors over these questions, where the estimate is compared with the threshold and where it is.
    pub(super) errors: Option<[f64; 2]>,
    pub(super) questions: usize,
    /// The pairs that the interval is adjusted for.
    pub(super) pairs: usize,
}

impl GateSpread {
    fn of(pair: &Difference<'_>, metric: &MetricComparison) -> Self {
        let pairs = metric.pairs.iter();
        Self {
            errors: pair.of.standard_error.map(|error| [error, error]),
            questions: metric.questions,
            pairs: pairs.filter(|pair| pair.is_tested()).count(),
        }
    }

    /// Questions that decide with 80% power at this distance from the threshold, by Bonferroni's critical value for all pairs. `None`
    /// where no more questions than these come out: values that are all equal here need not be so in others.
    pub(super) fn needed(&self, distance: f64, alpha: f64) -> Option<usize> {
        let root = (self.questions as f64).sqrt();
        let deviations = self.errors?.map(|error| error * root);
        let tail = alpha / 2.0 / self.pairs.max(1) as f64;
        let needed = questions_for(distance, deviations, tail);
        // Beyond that the number is an artifact of a distance near 0, and no advice.
        (needed > self.questions && needed < 1_000_000).then_some(needed)
    }
}

/// The mean of a system over all its cases.
struct OwnMean {
    mean: f64,
    interval: Option<Interval>,
    error: Option<f64>,
    questions: usize,
    /// The low end of the interval with all missing data at their lowest; `None` if nothing is missing.
    lowest_with_missing: Option<f64>,
}

impl OwnMean {
    fn of(shared: &SharedCases<'_>, label: &str) -> Option<Self> {
        let rank = (0..shared.order.len()).find(|rank| shared.label(*rank) == label)?;
        let unit = shared.table.metric.unit;
        let lowest = unit.range().0;
        let known = shared.known_values(rank, &shared.by_id);
        let mut all = MeanValues::default();
        for case in &shared.by_id {
            let net_range = shared.net_range(rank, *case);
            let least = match shared.observation(rank, *case) {
                // An answer that is not there counts as the lowest, or a system could pass by not
                // answering hard questions.
                Observation::Missing => Some(net_range.map_or(lowest, |range| range.low)),
                other => other.range().map(|range| range.low),
            };
            if let Some(least) = least {
                all.push(least, shared.question_of[*case], net_range);
            }
        }
        let lowest_with_missing = (all.values != known.values).then(|| {
            let interval = all.interval(unit, shared.bootstrap());
            interval.map_or(lowest, |interval| interval.low)
        });
        if let Some(win_rate) = shared.win_rate(rank) {
            return Some(Self {
                mean: win_rate.win_rate,
                interval: win_rate.interval(shared.options.level),
                error: win_rate.standard_error(),
                questions: win_rate.questions(),
                lowest_with_missing,
            });
        }
        Some(Self {
            mean: mean(&known.values)?,
            interval: known.interval(unit, shared.bootstrap()),
            error: standard_error(&known.values, Some(&known.questions)),
            questions: known.questions.iter().collect::<BTreeSet<_>>().len(),
            lowest_with_missing,
        })
    }

    /// Its standard errors were the mean at `least`, and where it is. Wilson's interval ends where the error is that of the end: of
    /// shares within a range it goes with the root of p (1 - p).
    fn errors_at(&self, least: f64, range: Option<Interval>) -> Option<[f64; 2]> {
        let error = self.error?;
        let ratio = range.map_or(1.0, |Interval { low, high }| {
            let variance = |mean: f64| (mean - low) * (high - mean);
            (variance(least) / variance(self.mean)).sqrt()
        });
        let ratio = if ratio.is_finite() { ratio } else { 1.0 };
        Some([ratio * error, error])
    }
}

/// A tested pair, in the order of the gate.
struct Difference<'a> {
    of: &'a PairComparison,
    /// Whether the pair has the gate's first system second.
    is_reversed: bool,
    estimate: f64,
    interval: Option<Interval>,
    p: Option<f64>,
}

impl<'a> Difference<'a> {
    fn of(metric: &'a MetricComparison, labels: &[String; 2]) -> Option<Self> {
        let label = |rank: usize| &metric.systems[rank].label;
        let mut pairs = metric.pairs.iter();
        let pair = pairs.find(|pair| {
            let systems = [pair.first, pair.second].map(label);
            systems == [&labels[0], &labels[1]] || systems == [&labels[1], &labels[0]]
        })?;
        let mut difference = Self {
            of: pair,
            is_reversed: *label(pair.first) != labels[0],
            estimate: pair.difference,
            interval: pair.interval,
            // A single question has no test; a run that was looked at has a repeated interval and no p.
            p: if pair.is_at_look { None } else { Some(pair.p?) },
        };
        if difference.is_reversed {
            difference.estimate = -difference.estimate;
            difference.interval = difference.interval.map(Interval::negated);
        }
        Some(difference)
    }

    /// An interval of the pair in the order of the gate.
    fn of_gate(&self, interval: Interval) -> Interval {
        if self.is_reversed {
            interval.negated()
        } else {
            interval
        }
    }
}

/// The low end of the gate's interval with all missing values against its first system; `None` if nothing is missing.
fn lowest_difference(shared: &SharedCases<'_>, pair: &Difference<'_>) -> Option<f64> {
    if pair.of.is_at_look {
        // As far below the repeated interval as what is missing could lower the difference.
        let bounds = pair.of.bounds?;
        let lowest = pair.of_gate(bounds).low;
        return Some(pair.interval?.low - (pair.estimate - lowest));
    }
    let extremes = between_extremes(shared, pair.of)?;
    Some(pair.of_gate(extremes).low)
}

/// Whether a difference with this interval is above -margin, below it, or either.
fn within_margin(interval: Option<Interval>, margin: f64) -> GateOutcome {
    match interval {
        Some(interval) if interval.low > -margin => GateOutcome::Met,
        Some(interval) if interval.high < -margin => GateOutcome::Missed,
        _ => GateOutcome::Undecided,
    }
}

/// Why two systems have no test.
fn untested(metric: &MetricComparison, labels: &[String; 2]) -> GateDecision {
    let name = &metric.metric.name;
    let has_none = |system: &&SystemMean| labels.contains(&system.label) && system.own_cases == 0;
    if let Some(system) = metric.systems.iter().find(has_none) {
        let reason = format!("{} has no value of {name}", system.label);
        return GateDecision::new(GateOutcome::Unchecked, reason);
    }
    let cases = metric.cases.len();
    if cases == 0 {
        let reason = format!("no case has {name} of every system: no test possible");
        return GateDecision::new(GateOutcome::Unchecked, reason);
    }
    let of_question = if cases > 1 { " of 1 question" } else { "" };
    let shared = counted(cases, "shared case");
    let reason = format!("{shared}{of_question}: no test possible");
    GateDecision::new(GateOutcome::Undecided, reason)
}

/// The numbers, then the reason.
fn sentence(result: &GateResult, reason: &str) -> String {
    let Some(estimate) = result.estimate else {
        return reason.to_owned();
    };
    let is_mean = result.systems.len() == 1;
    let number = if is_mean { as_number } else { with_sign };
    let mut text = if is_mean {
        format!("{} has {}", result.systems[0], number(estimate))
    } else {
        format!("{} differs by {}", result.metric, number(estimate))
    };
    if let Some(interval) = result.interval {
        text += &format!(" [{}, {}]", number(interval.low), number(interval.high));
    }
    if let Some(p) = result.p {
        text += &format!(", {}", crate::comparison::p_text(p));
    }
    if !reason.is_empty() {
        text += &format!(": {reason}");
    }
    text
}

/// A lowest possible value; net shares have no lowest one.
fn possible(lowest: f64) -> String {
    if lowest.is_finite() {
        as_number(lowest)
    } else {
        "any value".to_owned()
    }
}

fn below(threshold: f64) -> String {
    format!("the whole interval is below {threshold}")
}

fn as_number(value: f64) -> String {
    format!("{value:.4}")
}

fn with_sign(value: f64) -> String {
    format!("{value:+.4}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_holds_the_margin_decides_nothing() {
        let within =
            |low: f64, high: f64, margin: f64| within_margin(Some(Interval { low, high }), margin);
        assert_eq!(within(-0.01, 0.05, 0.02), GateOutcome::Met);
        assert_eq!(within(-0.04, -0.01, 0.05), GateOutcome::Met);
        assert_eq!(within(-0.06, -0.021, 0.02), GateOutcome::Missed);
        // A lead of 0.1 is a margin of -0.1.
        assert_eq!(within(0.11, 0.2, -0.1), GateOutcome::Met);
        assert_eq!(within(0.01, 0.09, -0.1), GateOutcome::Missed);
        assert_eq!(within(0.05, 0.2, -0.1), GateOutcome::Undecided);
        for (low, high) in [(-0.02, 0.05), (-0.06, -0.02), (-0.1, 0.1)] {
            assert_eq!(within(low, high, 0.02), GateOutcome::Undecided);
        }
        assert_eq!(within_margin(None, 0.05), GateOutcome::Undecided);
    }
}

//! Gates: conditions on a comparison for exit code 0 of `compare`.
//!
//! Missing data count against a gate: a mean must be high enough with every unscored component, and every missing
//! answer, at its lowest; a verdict must hold whatever they are; an incomplete run passes no gate.

use clap::Args;

use super::shared::SAME;
use super::{Comparison, MetricComparison, MetricId, Observations, PairComparison, SystemMean};
use crate::domain::Unit;
use crate::error::{Error, Result};
use crate::text::names::counted;

/// The hint for a gate that fails only because of missing data.
pub const REMEDY: &str = "--tolerate-missing ignores missing data";

/// Conditions for exit code 0.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Gates")]
pub struct GateOptions {
    /// Require a mean of every system, METRIC=VALUE, or of one, SYSTEM:METRIC=VALUE, in the unit of files (0.5, not 50; not for
    /// counts); exit 6 if it is not reached; can be repeated
    #[arg(long, value_name = "WHAT=VALUE")]
    pub fail_under: Vec<String>,
    /// Require that A is significantly better than B, "A>B", or B not than A, "A>=B", or so by a metric, "METRIC:A>B"; exit 6
    /// if it does not hold; can be repeated
    #[arg(long, value_name = "A>B")]
    pub require: Vec<String>,
    /// Check gates by the reported numbers, whatever is missing
    #[arg(long)]
    pub tolerate_missing: bool,
}

/// A condition on a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// As on the command line.
    text: String,
    metric: MetricId,
    /// The systems that it names; none: all.
    systems: Vec<String>,
    demand: Demand,
}

#[derive(Debug, Clone, PartialEq)]
enum Demand {
    /// The means are at least this value.
    AtLeast(f64),
    /// The first system is better than the second, or (`or_equal`) not worse.
    Order { or_equal: bool },
}

impl Gate {
    /// Parses all gates and resolves their names. `baseline` is the label of the only system whose pairs are tested.
    ///
    /// # Errors
    /// For unknown names, counts, values outside the metric's range, and untested pairs.
    pub fn all(
        options: &GateOptions,
        observations: &Observations,
        baseline: Option<&str>,
    ) -> Result<Vec<Self>> {
        let floors = options
            .fail_under
            .iter()
            .map(|floor| Self::at_least(floor, observations));
        let orders = options
            .require
            .iter()
            .map(|order| Self::order(order, observations, baseline));
        floors.chain(orders).collect()
    }

    /// `METRIC=VALUE` or `SYSTEM:METRIC=VALUE`.
    fn at_least(floor: &str, observations: &Observations) -> Result<Self> {
        let text = format!("--fail-under {floor}");
        let usage = || {
            Error::Usage(format!(
                "{text}: write METRIC=VALUE or SYSTEM:METRIC=VALUE, such as score=0.5"
            ))
        };
        let (what, least) = floor.rsplit_once('=').ok_or_else(usage)?;
        let least = least.trim().parse().ok();
        let least = least
            .filter(|number: &f64| number.is_finite())
            .ok_or_else(usage)?;
        let what = what.trim();
        let is_called = |name: &str| !observations.find_metrics(name.trim()).is_empty();
        let is_metric = is_called(what);
        let (system, name) = match split_at_name(what, is_called).filter(|_| !is_metric) {
            Some((system, name)) => (
                Some(observations.system_named(system)?.to_owned()),
                name.trim(),
            ),
            None => (None, what),
        };
        let metric = directed(one_metric(name, observations)?, &text)?;
        if !metric
            .range()
            .is_none_or(|range| range.low <= least && least <= range.high)
        {
            let hint = if metric.unit == Unit::Share {
                "between 0 and 1; 0.5 is 50%"
            } else {
                "grades from 1 to 5"
            };
            return Err(Error::Usage(format!("{text}: values of {name} are {hint}")));
        }
        Ok(Self {
            text,
            metric,
            systems: system.into_iter().collect(),
            demand: Demand::AtLeast(least),
        })
    }

    /// `A>B`, `A>=B` or `METRIC:A>B`.
    fn order(order: &str, observations: &Observations, baseline: Option<&str>) -> Result<Self> {
        let text = format!("--require {order}");
        let usage = |what: String| Error::Usage(format!("{text}: {what}"));
        let sides = order
            .split_once('>')
            .filter(|(left, right)| !left.trim().is_empty() && !right.trim().is_empty());
        let (left, right) =
            sides.ok_or_else(|| usage("write \"A>B\", \"A>=B\" or \"METRIC:A>B\"".to_owned()))?;
        let (or_equal, right) = right
            .strip_prefix('=')
            .map_or((false, right), |right| (true, right));
        let is_system = |name: &str| observations.system_named(name).is_ok();
        let main = observations.headline().first().copied().unwrap_or_default();
        let (metric, left) = match split_at_name(left, is_system).filter(|_| !is_system(left)) {
            Some((name, system)) => (one_metric(name.trim(), observations)?, system),
            None => (&observations.metrics[main].metric, left),
        };
        let pair = [
            observations.system_named(left)?.to_owned(),
            observations.system_named(right)?.to_owned(),
        ];
        if pair[0] == pair[1] {
            return Err(usage(format!("both sides are {}", pair[0])));
        }
        if let Some(baseline) =
            baseline.filter(|baseline| pair.iter().all(|system| system != baseline))
        {
            return Err(usage(format!(
                "only pairs with --baseline {baseline} are tested"
            )));
        }
        let metric = directed(metric, &text)?;
        Ok(Self {
            text,
            metric,
            systems: pair.to_vec(),
            demand: Demand::Order { or_equal },
        })
    }

    /// The gate's metric.
    pub fn metric(&self) -> &MetricId {
        &self.metric
    }

    /// Why the gate fails; empty if it passes.
    fn faults(&self, comparison: &Comparison, tolerate_missing: bool) -> Vec<String> {
        let Some(metric) = comparison
            .metrics
            .iter()
            .find(|metric| metric.metric == self.metric)
        else {
            return vec![format!("{} was not compared", self.metric.name)];
        };
        let is_named = |label: &String| self.systems.is_empty() || self.systems.contains(label);
        let mut faults: Vec<String> = Vec::new();
        for (at, run) in comparison
            .runs
            .iter()
            .enumerate()
            .filter(|_| !tolerate_missing)
        {
            let is_concerned = self.systems.is_empty()
                || comparison
                    .systems
                    .iter()
                    .any(|system| system.run == at && is_named(&system.label));
            let unfinished = run.unfinished.iter().filter(|_| is_concerned);
            faults.extend(unfinished.map(|unfinished| format!("{unfinished}; {REMEDY}")));
        }
        let systems = metric
            .systems
            .iter()
            .filter(|system| is_named(&system.label));
        match self.demand {
            Demand::AtLeast(least) => faults
                .extend(systems.filter_map(|own| too_low(own, metric, least, tolerate_missing))),
            Demand::Order { or_equal } => faults.extend(wrong_order(
                metric,
                &self.systems,
                or_equal,
                tolerate_missing,
            )),
        }
        faults
    }
}

/// One line for every reason why a gate fails. With `tolerate_missing`, missing data are ignored.
pub fn unmet_gates(gates: &[Gate], comparison: &Comparison, tolerate_missing: bool) -> Vec<String> {
    let lines = |gate: &Gate| {
        let faults = gate.faults(comparison, tolerate_missing).into_iter();
        faults
            .map(|fault| format!("{}: {fault}", gate.text))
            .collect::<Vec<_>>()
    };
    gates.iter().flat_map(lines).collect()
}

/// `A:B`, split where B is such a name, else at the last colon: names may have colons, too.
fn split_at_name(text: &str, is_name: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let mut splits = text
        .match_indices(':')
        .map(|(at, _)| (&text[..at], &text[at + 1..]));
    splits
        .find(|(_, name)| is_name(name))
        .or_else(|| text.rsplit_once(':'))
}

fn one_metric<'a>(name: &str, observations: &'a Observations) -> Result<&'a MetricId> {
    match observations.metrics_named(name)?[..] {
        [one] => Ok(&observations.metrics[one].metric),
        _ => Err(Error::Settings(format!(
            "several scorers have a metric {name}; write SCORER.{name}"
        ))),
    }
}

fn directed(metric: &MetricId, text: &str) -> Result<MetricId> {
    if metric.higher_is_better {
        return Ok(metric.clone());
    }
    Err(Error::Usage(format!(
        "{text}: {} is a count, for which higher is not better",
        metric.name
    )))
}

/// Why the mean is too low.
fn too_low(
    system: &SystemMean,
    metric: &MetricComparison,
    least: f64,
    tolerate_missing: bool,
) -> Option<String> {
    let label = &system.label;
    let Some(mean) = system.own_mean else {
        return Some(format!("{label} has no mean"));
    };
    if mean + SAME < least {
        return Some(format!("{label} has {mean:.4}, below {least}"));
    }
    if tolerate_missing || (system.unscored == 0 && system.missing == 0) {
        return None;
    }
    let worst = worst_mean(system, &metric.metric, mean);
    worst.is_none_or(|worst| worst + SAME < least).then(|| {
        let (unscored, missing) = (system.unscored, system.missing);
        let worst = worst.map_or("any value".to_owned(), |worst| format!("{worst:.4}"));
        format!(
            "{label} has {mean:.4} with {unscored} unscored, {missing} without an answer: it could be {worst}; {REMEDY}"
        )
    })
}

/// The mean with all missing data at their lowest; `None` if unbounded.
fn worst_mean(system: &SystemMean, metric: &MetricId, mean: f64) -> Option<f64> {
    let of_answered = if system.unscored == 0 {
        mean
    } else {
        system.bounds?.low
    };
    if system.missing == 0 {
        return Some(of_answered);
    }
    let (answered, missing) = (
        (system.own_cases + system.unscored) as f64,
        system.missing as f64,
    );
    Some((of_answered * answered + metric.range()?.low * missing) / (answered + missing))
}

/// Why the order does not hold.
fn wrong_order(
    metric: &MetricComparison,
    systems: &[String],
    or_equal: bool,
    tolerate_missing: bool,
) -> Option<String> {
    let [first, second] = systems else {
        return None;
    };
    let name = &metric.metric.name;
    let is_of = |pair: &&PairComparison, labels: [&String; 2]| {
        [pair.first, pair.second].map(|rank| &metric.systems[rank].label) == labels
    };
    let find = |labels: [&String; 2]| metric.pairs.iter().find(|pair| is_of(pair, labels));
    let ordered = find([first, second]);
    let Some(pair) = ordered
        .or_else(|| find([second, first]))
        .filter(|pair| pair.p.is_some())
    else {
        return Some(without_test(metric, [first, second]));
    };
    let difference = if ordered.is_some() {
        pair.difference
    } else {
        -pair.difference
    };
    let numbers = format!("{name} differs by {difference:+.4}, {}", pair.p_text());
    match (pair.differs, ordered.is_some()) {
        (true, false) => Some(format!("{second} is better: {numbers}")),
        (false, _) if !or_equal => Some(format!("not significantly different: {numbers}")),
        _ if !tolerate_missing && pair.sensitive => Some(format!(
            "the verdict depends on missing data: {numbers}; {REMEDY}"
        )),
        _ => None,
    }
}

/// Why two systems have no test.
fn without_test(metric: &MetricComparison, labels: [&String; 2]) -> String {
    let name = &metric.metric.name;
    let is_empty = |own: &&SystemMean| labels.contains(&&own.label) && own.own_cases == 0;
    if let Some(empty) = metric.systems.iter().find(is_empty) {
        return format!("{} has no value of {name}", empty.label);
    }
    let cases = metric.cases.len();
    if cases == 0 {
        return format!("no case has {name} of every system: no test possible");
    }
    let of_question = if cases > 1 { " of 1 question" } else { "" };
    format!(
        "{}{of_question}: no test possible",
        counted(cases, "shared case")
    )
}

#[cfg(test)]
mod tests {
    use super::super::compare_tests::{quick, table};
    use super::super::{Observation, compare};
    use super::*;

    #[test]
    fn a_floor_is_a_number_within_the_range_of_a_directed_metric() {
        let mut observed = table(&[("a", &[0.5])]);
        let refusal = |floor: &str, observed: &Observations| match Gate::at_least(floor, observed) {
            Err(Error::Usage(message)) => message,
            other => panic!("{floor}: {other:?}"),
        };
        assert!(
            Gate::at_least("score = 0.5", &observed).is_ok()
                && Gate::at_least("a:score=0", &observed).is_ok()
        );
        for wrong in ["score", "score=half", "score=", "score=nan"] {
            assert!(refusal(wrong, &observed).contains("METRIC=VALUE"));
        }
        assert!(refusal("score=50", &observed).contains("0.5 is 50%"));
        observed.metrics[0].metric =
            MetricId::new(&"citation_audit".into(), "dangling".into(), Unit::Count);
        assert!(refusal("dangling=0.5", &observed).contains("dangling is a count"));
    }

    #[test]
    fn an_order_needs_two_sides() {
        let observed = table(&[("a", &[0.5]), ("b", &[0.4])]);
        for order in ["a>b", "score: a >= b", "rubric.score:b>a"] {
            assert!(Gate::order(order, &observed, None).is_ok(), "{order}");
        }
        for wrong in ["a", "a>", ">b", "score", "a>a"] {
            assert!(
                matches!(Gate::order(wrong, &observed, None), Err(Error::Usage(_))),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_pair_without_a_test_says_why() {
        let fault = |observed: &Observations| {
            let gate = Gate::order("a>=b", observed, None).unwrap();
            let comparison = compare(observed, &quick());
            unmet_gates(&[gate], &comparison, true).remove(0)
        };
        let mut observed = table(&[("a", &[0.5]), ("b", &[0.4])]);
        assert_eq!(
            fault(&observed),
            "--require a>=b: 1 shared case: no test possible"
        );
        observed.metrics[0].values[1][0] = Observation::NotApplicable;
        assert_eq!(fault(&observed), "--require a>=b: b has no value of score");
        let mut observed = table(&[("a", &[0.5, 0.6]), ("b", &[0.4, 0.4])]);
        observed.metrics[0].values[0][0] = Observation::NotApplicable;
        observed.metrics[0].values[1][1] = Observation::NotApplicable;
        assert_eq!(
            fault(&observed),
            "--require a>=b: no case has score of every system: no test possible"
        );
    }

    #[test]
    fn the_f1_of_means_leads_to_the_mean_f1_and_why() {
        let mut observed = table(&[("a", &[0.5])]);
        (
            observed.metrics[0].metric.scorer,
            observed.metrics[0].metric.name,
        ) = ("entailment".into(), "citation_f1_macro".into());
        for name in ["citation_f1", "entailment.citation_f1"] {
            let message = observed
                .metrics_named(name)
                .expect_err("no metric of an answer")
                .to_string();
            assert!(
                message.contains("citation_f1_macro")
                    && message.contains("not a mean over answers"),
                "{message}"
            );
        }
        assert_eq!(observed.metrics_named("citation_f1_macro").unwrap(), [0]);
    }
}

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
        let mut gates = Vec::new();
        for floor in &options.fail_under {
            gates.push(Self::at_least(floor, observations)?);
        }
        for order in &options.require {
            gates.push(Self::order(order, observations, baseline)?);
        }
        Ok(gates)
    }

    /// `METRIC=VALUE` or `SYSTEM:METRIC=VALUE`.
    fn at_least(floor: &str, observations: &Observations) -> Result<Self> {
        let text = format!("--fail-under {floor}");
        let Some((what, least)) = parse_floor(floor) else {
            return Err(Error::Usage(format!(
                "{text}: write METRIC=VALUE or SYSTEM:METRIC=VALUE, such as score=0.5"
            )));
        };
        let mut systems = Vec::new();
        let mut name = what;
        // The name of a metric may have a colon itself.
        if !is_metric(what, observations)
            && let Some((system, metric)) =
                split_at_name(what, |name| is_metric(name, observations))
        {
            systems.push(observations.system_named(system)?.to_owned());
            name = metric.trim();
        }
        let metric = directed(one_metric(name, observations)?, &text)?;
        let range = metric.range();
        if range.is_some_and(|range| least < range.low || range.high < least) {
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
            systems,
            demand: Demand::AtLeast(least),
        })
    }

    /// `A>B`, `A>=B` or `METRIC:A>B`.
    fn order(order: &str, observations: &Observations, baseline: Option<&str>) -> Result<Self> {
        let text = format!("--require {order}");
        let Some((mut left, mut right)) = split_order(order) else {
            return Err(Error::Usage(format!(
                "{text}: write \"A>B\", \"A>=B\" or \"METRIC:A>B\""
            )));
        };
        let mut or_equal = false;
        if let Some(rest) = right.strip_prefix('=') {
            or_equal = true;
            right = rest;
        }
        let main = observations.headline().first().copied().unwrap_or_default();
        let mut metric = &observations.metrics[main].metric;
        // The name of a system may have a colon itself.
        if !is_system(left, observations)
            && let Some((name, system)) = split_at_name(left, |name| is_system(name, observations))
        {
            metric = one_metric(name.trim(), observations)?;
            left = system;
        }
        let pair = [
            observations.system_named(left)?.to_owned(),
            observations.system_named(right)?.to_owned(),
        ];
        if pair[0] == pair[1] {
            let what = format!("{text}: both sides are {}", pair[0]);
            return Err(Error::Usage(what));
        }
        if let Some(baseline) = baseline
            && !pair.iter().any(|system| system == baseline)
        {
            return Err(Error::Usage(format!(
                "{text}: only pairs with --baseline {baseline} are tested"
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
        let mut metrics = comparison.metrics.iter();
        let Some(metric) = metrics.find(|metric| metric.metric == self.metric) else {
            return vec![format!("{} was not compared", self.metric.name)];
        };
        let mut faults: Vec<String> = Vec::new();
        if !tolerate_missing {
            faults.extend(self.unfinished_runs(comparison));
        }
        match self.demand {
            Demand::AtLeast(least) => {
                for system in &metric.systems {
                    if self.concerns(&system.label) {
                        faults.extend(too_low(system, metric, least, tolerate_missing));
                    }
                }
            }
            Demand::Order { or_equal } => faults.extend(wrong_order(
                metric,
                &self.systems,
                or_equal,
                tolerate_missing,
            )),
        }
        faults
    }

    /// Whether the system is among those that the gate names.
    fn concerns(&self, label: &String) -> bool {
        self.systems.is_empty() || self.systems.contains(label)
    }

    /// The unfinished runs with a system that the gate names; without any, all unfinished runs.
    fn unfinished_runs(&self, comparison: &Comparison) -> Vec<String> {
        let mut lines = Vec::new();
        for (at, run) in comparison.runs.iter().enumerate() {
            let Some(unfinished) = &run.unfinished else {
                continue;
            };
            let mut systems = comparison.systems.iter();
            let is_concerned = self.systems.is_empty()
                || systems.any(|system| system.run == at && self.concerns(&system.label));
            if is_concerned {
                lines.push(format!("{unfinished}; {REMEDY}"));
            }
        }
        lines
    }
}

/// One line for every reason why a gate fails. With `tolerate_missing`, missing data are ignored.
pub fn unmet_gates(gates: &[Gate], comparison: &Comparison, tolerate_missing: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for gate in gates {
        for fault in gate.faults(comparison, tolerate_missing) {
            lines.push(format!("{}: {fault}", gate.text));
        }
    }
    lines
}

/// `WHAT=VALUE`; `None` if the value is not a finite number.
fn parse_floor(floor: &str) -> Option<(&str, f64)> {
    let (what, least) = floor.rsplit_once('=')?;
    let least: f64 = least.trim().parse().ok()?;
    least.is_finite().then_some((what.trim(), least))
}

/// The sides of `A>B`; `None` if one is empty.
fn split_order(order: &str) -> Option<(&str, &str)> {
    let (left, right) = order.split_once('>')?;
    let is_whole = !left.trim().is_empty() && !right.trim().is_empty();
    is_whole.then_some((left, right))
}

fn is_metric(name: &str, observations: &Observations) -> bool {
    !observations.find_metrics(name.trim()).is_empty()
}

fn is_system(name: &str, observations: &Observations) -> bool {
    observations.system_named(name).is_ok()
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
    let worst = match worst_mean(system, &metric.metric, mean) {
        Some(worst) if worst + SAME >= least => return None,
        Some(worst) => format!("{worst:.4}"),
        None => "any value".to_owned(),
    };
    Some(format!(
        "{label} has {mean:.4} with {} unscored, {} without an answer: it could be {worst}; {REMEDY}",
        system.unscored, system.missing
    ))
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
    let answered = (system.own_cases + system.unscored) as f64;
    let missing = system.missing as f64;
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
    let ordered = pair_of(metric, [first, second]);
    let pair = ordered.or_else(|| pair_of(metric, [second, first]));
    let Some(pair) = pair.filter(|pair| pair.p.is_some()) else {
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

/// The pair of these systems, in this order.
fn pair_of<'a>(metric: &'a MetricComparison, labels: [&String; 2]) -> Option<&'a PairComparison> {
    metric.pairs.iter().find(|pair| {
        let own = [pair.first, pair.second].map(|rank| &metric.systems[rank].label);
        own == labels
    })
}

/// Why two systems have no test.
fn without_test(metric: &MetricComparison, labels: [&String; 2]) -> String {
    let name = &metric.metric.name;
    for system in &metric.systems {
        if labels.contains(&&system.label) && system.own_cases == 0 {
            return format!("{} has no value of {name}", system.label);
        }
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

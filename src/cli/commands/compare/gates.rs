//! Demands on a comparison: what must hold for the command to end with 0.
//!
//! What is missing counts against a gate: a mean must be high enough with every unscored part, and every case without an
//! answer, at the lowest there is; a verdict must hold whatever the missing parts and answers are; a run that holds a part
//! of its answers only meets no demand.

use super::lacking::Lacking;
use super::selection::Selection;
use crate::analysis::comparison::{Comparison, MetricComparison, MetricId, PairComparison, SystemMean};
use crate::cli::args::{CompareArgs, Floor};
use crate::domain::{MAX_GRADE, MIN_GRADE, Unit};
use crate::error::{Error, Result};

/// Sums in another order differ by less.
const TOLERANCE: f64 = 1e-12;
/// What to add where missing values are to be left out.
const REMEDY: &str = "--tolerate-missing looks at the reported numbers alone";

/// Everything demanded.
pub(super) struct Gates {
    gates: Vec<Gate>,
}

struct Gate {
    /// As it was typed.
    text: String,
    /// Its place among the tables.
    table: usize,
    metric: MetricId,
    what: What,
}

enum What {
    /// The mean of this system, or of all, is at least this.
    AtLeast(Option<String>, f64),
    /// The first is better than the second, or (`true`) not worse.
    Order(String, String, bool),
}

impl Gates {
    /// # Errors
    /// For names that the runs do not have, and demands that can never be met or tested.
    pub(super) fn resolve(args: &CompareArgs, selection: &Selection) -> Result<Self> {
        let floors = args.fail_under.iter().map(|floor| at_least(floor, selection));
        let orders = args.require.iter().map(|text| order(text, selection));
        let gates: Vec<Gate> = floors.chain(orders).collect::<Result<_>>()?;
        let baseline = args.baseline.as_deref().map(|name| selection.system(name)).transpose()?;
        for gate in &gates {
            if let (What::Order(first, second, _), Some(baseline)) = (&gate.what, &baseline)
                && first != baseline
                && second != baseline
            {
                let what = format!("--require {}: only pairs with --baseline {baseline} are tested", gate.text);
                return Err(Error::Usage(what));
            }
        }
        Ok(Self { gates })
    }

    /// The tables that gates look at.
    pub(super) fn metrics(&self) -> impl Iterator<Item = usize> {
        self.gates.iter().map(|gate| gate.table)
    }

    /// Whether an order is demanded.
    pub(super) fn has_orders(&self) -> bool {
        self.gates.iter().any(|gate| matches!(gate.what, What::Order(..)))
    }

    /// A line for each demand that is not met.
    pub(super) fn unmet(&self, looked: &Looked<'_>, tolerant: bool) -> Vec<String> {
        let mut lines = Vec::new();
        for gate in &self.gates {
            let Some(metric) = looked.table(gate) else {
                lines.push(format!("{}: {} was not compared", gate.text, gate.metric.name));
                continue;
            };
            let option = if matches!(gate.what, What::AtLeast(..)) { "--fail-under" } else { "--require" };
            let mut faults: Vec<String> = Vec::new();
            if !tolerant {
                let runs = looked.runs_of(gate);
                let parts = looked.lacking.unfinished(runs.as_deref());
                faults.extend(parts.map(|part| format!("{part}; {REMEDY}")));
            }
            match &gate.what {
                What::AtLeast(only, least) => {
                    let concerned = |system: &&SystemMean| only.as_ref().is_none_or(|label| *label == system.label);
                    for system in metric.systems.iter().filter(concerned) {
                        let place = looked.comparison.systems.get(system.system);
                        let unanswered = place.map_or(0, |of| looked.lacking.unanswered(of.run, of.system.as_str()));
                        faults.extend(too_low(system, metric.metric.unit, *least, unanswered, tolerant));
                    }
                    if only.is_none() {
                        faults.extend(looked.silent().map(|system| format!("{system} has no mean")));
                    }
                }
                What::Order(first, second, or_equal) => {
                    let depends = looked.depends(gate, [first, second]) && !tolerant;
                    faults.extend(wrong_order(metric, [first, second], *or_equal, depends));
                }
            }
            lines.extend(faults.into_iter().map(|fault| format!("{option} {}: {fault}", gate.text)));
        }
        lines
    }
}

/// What gates look at.
pub(super) struct Looked<'a> {
    pub(super) comparison: &'a Comparison,
    /// The same with answers that are not there as unscored ones, where an order is demanded.
    pub(super) worst: Option<&'a Comparison>,
    pub(super) lacking: &'a Lacking,
}

impl Looked<'_> {
    fn table(&self, gate: &Gate) -> Option<&MetricComparison> {
        table_of(self.comparison, gate)
    }

    /// The runs that a demand is about; `None`: all.
    fn runs_of(&self, gate: &Gate) -> Option<Vec<usize>> {
        let labels = match &gate.what {
            What::AtLeast(None, _) => return None,
            What::AtLeast(Some(only), _) => vec![only],
            What::Order(first, second, _) => vec![first, second],
        };
        let systems = self.comparison.systems.iter().filter(|system| labels.contains(&&system.label));
        Some(systems.map(|system| system.run).collect())
    }

    /// Systems of a run that answered nothing, so that no table has them.
    fn silent(&self) -> impl Iterator<Item = &str> {
        let is_known = |(run, name): (usize, &str)| {
            self.comparison.systems.iter().any(|system| system.run == run && system.system.as_str() == name)
        };
        self.lacking.systems().filter(move |system| !is_known(*system)).map(|(_, name)| name)
    }

    /// Whether the verdict on two systems could be another with what is missing.
    fn depends(&self, gate: &Gate, labels: [&String; 2]) -> bool {
        let tables = [Some(self.comparison), self.worst].into_iter().flatten().filter_map(|all| table_of(all, gate));
        tables.filter_map(|table| pair_of(table, labels)).any(PairComparison::is_open_to_change)
    }
}

fn table_of<'a>(comparison: &'a Comparison, gate: &Gate) -> Option<&'a MetricComparison> {
    comparison.metrics.iter().find(|metric| metric.metric == gate.metric)
}

fn pair_of<'a>(metric: &'a MetricComparison, [first, second]: [&String; 2]) -> Option<&'a PairComparison> {
    let label = |at: usize| metric.systems.get(at).map(|system| &system.label);
    metric.pairs.iter().find(|pair| {
        let pair = [label(pair.first), label(pair.second)];
        pair == [Some(first), Some(second)] || pair == [Some(second), Some(first)]
    })
}

fn at_least(floor: &Floor, selection: &Selection) -> Result<Gate> {
    let split = floor.what.rsplit_once(':').filter(|_| !selection.is_metric(&floor.what));
    let (system, name) = split.map_or((None, floor.what.as_str()), |(system, name)| (Some(system), name.trim()));
    let table = selection.one_metric(name)?;
    let metric = selection.tables[table].metric.clone();
    let text = format!("{}={}", floor.what, floor.value);
    if !metric.higher_is_better {
        return Err(Error::Usage(format!(
            "--fail-under {text}: {name} is a count, of which more is not better: a floor and --require want a metric where \
             more is better"
        )));
    }
    let (low, high, hint) = match metric.unit {
        Unit::Share => (0.0, 1.0, "0.5 is 50 per cent"),
        Unit::Grade => (MIN_GRADE, MAX_GRADE, "grades are from 1 to 5"),
        Unit::Count => (f64::MIN, f64::MAX, ""),
    };
    if !(low..=high).contains(&floor.value) {
        return Err(Error::Usage(format!("--fail-under {text}: {name} lies between {low} and {high}; {hint}")));
    }
    let system = system.map(|system| selection.system(system)).transpose()?;
    Ok(Gate { text, table, metric, what: What::AtLeast(system, floor.value) })
}

/// `A>B`, `A>=B`, `METRIC:A>B`; names may hold these signs, so every way to read it is tried.
fn order(text: &str, selection: &Selection) -> Result<Gate> {
    let mut first_error = None;
    for (at, _) in text.match_indices('>') {
        let (left, right) = (&text[..at], &text[at + 1..]);
        let (or_equal, right) = match right.strip_prefix('=') {
            Some(rest) if !selection.is_system(right) => (true, rest),
            _ => (false, right),
        };
        let with_metric = left.split_once(':').filter(|_| !selection.is_system(left));
        let read = || -> Result<Gate> {
            let (table, left) = match with_metric {
                Some((name, system)) => (selection.one_metric(name.trim())?, system),
                None => (selection.main(), left),
            };
            let (first, second) = (selection.system(left)?, selection.system(right)?);
            let metric = selection.tables[table].metric.clone();
            if first == second {
                return Err(Error::Usage(format!("--require {text}: both sides are {first}")));
            }
            if !metric.higher_is_better {
                let what = format!("--require {text}: of {} neither more nor less is better", metric.name);
                return Err(Error::Usage(what));
            }
            Ok(Gate { text: text.to_owned(), table, metric, what: What::Order(first, second, or_equal) })
        };
        match read() {
            Ok(gate) => return Ok(gate),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| Error::Usage(format!("--require {text}: write \"A>B\" or \"A>=B\""))))
}

/// Why the mean is not high enough.
fn too_low(system: &SystemMean, unit: Unit, least: f64, unanswered: usize, tolerant: bool) -> Option<String> {
    let label = &system.label;
    let Some(mean) = system.own_mean else { return Some(format!("{label} has no mean")) };
    if mean + TOLERANCE < least {
        return Some(format!("{label} has {mean:.4}, below {least}"));
    }
    let absent = system.absent.max(unanswered);
    if tolerant || (system.unscored == 0 && absent == 0) {
        return None;
    }
    let missing = format!("{} unscored, {absent} without an answer", system.unscored);
    let Some(worst) = worst_mean(system, unit, mean, absent) else {
        return Some(format!("{label} has {mean:.4} with {missing}; {REMEDY}"));
    };
    (worst + TOLERANCE < least)
        .then(|| format!("{label} has {mean:.4} with {missing}: it could be {worst:.4}; {REMEDY}"))
}

/// The mean with everything that is missing at its lowest; `None` where there is no lowest.
fn worst_mean(system: &SystemMean, unit: Unit, mean: f64, absent: usize) -> Option<f64> {
    let lowest = match unit {
        Unit::Share => 0.0,
        Unit::Grade => MIN_GRADE,
        Unit::Count => return None,
    };
    let answered = (system.own_cases + system.unscored) as f64;
    let of_answered = match (system.unscored, system.bounds) {
        (0, _) => mean,
        (_, bounds) => bounds.map(|bounds| bounds.0).filter(|low| low.is_finite())?,
    };
    Some((of_answered * answered + lowest * absent as f64) / (answered + absent as f64))
}

/// Why the order does not hold.
fn wrong_order(
    metric: &MetricComparison,
    [first, second]: [&String; 2],
    or_equal: bool,
    depends: bool,
) -> Option<String> {
    let name = &metric.metric.name;
    let Some(pair) = pair_of(metric, [first, second]) else {
        return Some(format!("the two were not compared by {name}"));
    };
    let Some(p) = pair.p_holm else {
        return Some(format!("no case has {name} of both: nothing can be told"));
    };
    let is_first_better = metric.systems.get(pair.first).is_some_and(|system| system.label == *first);
    let difference = if is_first_better { pair.difference } else { -pair.difference };
    let numbers = format!("{name} differs by {difference:+.4}, p {p:.4} (Holm)");
    match (pair.differs, is_first_better, or_equal) {
        (true, false, _) => return Some(format!("{second} is better: {numbers}")),
        (false, _, false) => return Some(format!("not told apart: {numbers}")),
        (true, true, _) | (false, _, true) => {}
    }
    depends.then(|| format!("the verdict depends on what is missing: {numbers}; {REMEDY}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::comparison::{Observation, Observed};

    #[test]
    fn a_count_is_refused_as_a_floor() {
        let table = |name: &str, unit: Unit| Observed {
            metric: MetricId {
                scorer: "citation_audit".into(),
                name: name.into(),
                unit,
                higher_is_better: unit != Unit::Count,
            },
            systems: Vec::new(),
            cases: Vec::new(),
            values: vec![vec![Observation::Absent]],
            asked: None,
            words: None,
            draws: None,
            notes: Vec::new(),
        };
        let selection =
            Selection::of(vec![table("dangling", Unit::Count), table("f1", Unit::Share)], &[]).expect("tables");
        let floor = |what: &str| at_least(&Floor { what: what.into(), value: 0.5 }, &selection);
        assert!(floor("f1").is_ok());
        let Err(Error::Usage(told)) = floor("dangling") else { panic!("accepted") };
        assert!(told.contains("dangling is a count") && told.contains("--require"), "{told}");
    }
}

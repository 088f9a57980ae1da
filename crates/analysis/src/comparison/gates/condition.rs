//! A gate as it is written, and what its names stand for.

use crate::comparison::{MetricId, Observations};
use scholareval_core::domain::Unit;
use scholareval_core::error::{Error, Result};

/// How conditions are written, for errors.
const FORMS: &str = "\"A>=B-0.02\", \"A>=B+0.02\", \"A>=B\", \"A>B\" or \"score>=0.5\"";

/// Why `A>B-0.02` is refused.
const MARGIN_NEEDS_EQUAL: &str = "a margin needs >=, such as \"A>=B-0.02\"";

/// A condition on one system, or on two.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// As it is shown: as on the command line, with the system that a mean of every system is checked for.
    pub(super) text: String,
    pub(super) metric: MetricId,
    pub(super) demand: Demand,
}

/// What a gate demands; systems are labels.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Demand {
    /// The mean of the system is at least this value.
    AtLeast { system: String, least: f64 },
    /// The first system stands so to the second.
    Order { pair: [String; 2], order: Order },
}

/// How the first of two systems must stand to the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Order {
    /// Significantly better.
    Better,
    /// Not significantly worse.
    NotWorse,
    /// At most this much worse; a negative margin demands that it is so much better.
    Within(f64),
}

impl Gate {
    /// Parses a condition and resolves its names; one on the means of all systems gives a gate for each. `baseline` is the label of
    /// the only system whose pairs are tested.
    ///
    /// # Errors
    /// For a condition that cannot be read, unknown names, counts, values outside the metric's range, and untested pairs.
    pub fn all(condition: &str, of: &Observations, baseline: Option<&str>) -> Result<Vec<Self>> {
        let reader = ConditionReader {
            condition,
            observations: of,
            option: "--require",
        };
        reader.gates(baseline)
    }

    /// The condition of `--until` on two systems.
    ///
    /// # Errors
    /// As [`Gate::all`], and for one on a mean.
    pub(in crate::comparison) fn until(
        condition: &str,
        observations: &Observations,
    ) -> Result<Self> {
        Self::check_order(condition, observations)?;
        let reader = ConditionReader::until(condition, observations);
        let mut gates = reader.gates(None)?;
        gates
            .pop()
            .ok_or_else(|| reader.refusal("it names no systems"))
    }

    /// Checks that the condition of `--until` can be read and names two of these systems; metrics are not known before a run.
    ///
    /// # Errors
    /// For other conditions.
    pub(in crate::comparison) fn check_order(
        condition: &str,
        observations: &Observations,
    ) -> Result<()> {
        ConditionReader::until(condition, observations).check_order()
    }

    /// The two systems, with how much worse the first may be; `None` for a mean.
    pub(in crate::comparison) fn ordered_within(&self) -> Option<([String; 2], f64)> {
        match &self.demand {
            Demand::AtLeast { .. } => None,
            Demand::Order { pair, order } => {
                let margin = match order {
                    Order::Within(margin) => *margin,
                    Order::Better | Order::NotWorse => 0.0,
                };
                Some((pair.clone(), margin))
            }
        }
    }

    /// The gate's metric.
    pub fn metric(&self) -> &MetricId {
        &self.metric
    }

    /// How it orders two systems; `None` for a mean.
    pub(super) fn order(&self) -> Option<Order> {
        match self.demand {
            Demand::AtLeast { .. } => None,
            Demand::Order { order, .. } => Some(order),
        }
    }

    /// The systems that it names.
    pub(super) fn systems(&self) -> &[String] {
        match &self.demand {
            Demand::AtLeast { system, .. } => std::slice::from_ref(system),
            Demand::Order { pair, .. } => pair,
        }
    }
}

/// A condition with its names as they are written.
enum WrittenGate<'a> {
    /// Two systems and how they must stand to each other.
    Order(&'a str, &'a str, Order),
    /// The mean, the least value, and whether it may be just that.
    Mean(&'a str, f64, bool),
}

/// Reads one condition.
struct ConditionReader<'a> {
    condition: &'a str,
    observations: &'a Observations,
    /// Of the command line, for errors.
    option: &'static str,
}

impl<'a> ConditionReader<'a> {
    fn until(condition: &'a str, observations: &'a Observations) -> Self {
        Self {
            condition,
            observations,
            option: "--until",
        }
    }

    /// What stands before and after the sign, and whether it is `>=`.
    fn sides(&self) -> Result<(&'a str, &'a str, bool)> {
        let Some((left, right)) = self.condition.split_once('>') else {
            return Err(self.refusal(&format!("write {}", self.forms())));
        };
        let stripped = right.strip_prefix('=');
        let left = left.trim();
        let right_side = stripped.unwrap_or(right).trim();
        if left.is_empty() || right_side.is_empty() {
            return Err(self.refusal(&format!("write {}", self.forms())));
        }
        Ok((left, right_side, stripped.is_some()))
    }

    fn forms(&self) -> &'static str {
        if self.option == "--until" {
            "\"A>=B-0.02\", \"A>=B+0.02\", \"A>B\", baseline or all"
        } else {
            FORMS
        }
    }

    /// The condition, read but for the names in it.
    fn written(&self) -> Result<WrittenGate<'a>> {
        let (left, right, or_equal) = self.sides()?;
        // A system may be called `0.5` or `old-0.02`: a whole name comes first.
        if !self.is_system(right) {
            if let Some((system, margin)) = self.with_margin(right) {
                if !or_equal {
                    return Err(self.refusal(MARGIN_NEEDS_EQUAL));
                }
                return Ok(WrittenGate::Order(left, system, Order::Within(margin)));
            }
            if let Ok(least) = right.parse::<f64>() {
                return Ok(WrittenGate::Mean(left, least, or_equal));
            }
        }
        let order = if or_equal {
            Order::NotWorse
        } else {
            Order::Better
        };
        Ok(WrittenGate::Order(left, right, order))
    }

    /// Checks the form and the systems of an order.
    fn check_order(&self) -> Result<()> {
        match self.written()? {
            WrittenGate::Order(left, right, _) => self.named_pair(left, right).map(|_| ()),
            WrittenGate::Mean(..) => {
                Err(self.refusal(&format!("it orders two systems: write {}", self.forms())))
            }
        }
    }

    fn gates(&self, baseline: Option<&str>) -> Result<Vec<Gate>> {
        match self.written()? {
            WrittenGate::Order(left, right, order) => {
                Ok(vec![self.order(left, right, order, baseline)?])
            }
            WrittenGate::Mean(left, least, true) if least.is_finite() => self.floor(left, least),
            WrittenGate::Mean(..) => Err(self.refusal("write a mean as \"score>=0.5\"")),
        }
    }

    /// `METRIC>=VALUE` of every system, or `SYSTEM:METRIC>=VALUE`.
    fn floor(&self, subject: &str, least: f64) -> Result<Vec<Gate>> {
        let mut name = subject;
        let mut named = None;
        // The name of a metric may have a colon itself.
        if !self.is_metric(subject)
            && let Some((system, metric)) = split_at_name(subject, |name| self.is_metric(name))
        {
            named = Some(self.observations.system_named(system)?.to_owned());
            name = metric.trim();
        }
        let metric = self.directed(self.one_metric(name)?)?;
        if metric
            .range()
            .is_some_and(|range| least < range.low || range.high < least)
        {
            let values = if metric.unit == Unit::Grade {
                "grades from 1 to 5"
            } else {
                "between 0 and 1; 0.5 is 50%"
            };
            return Err(self.refusal(&format!("values of {name} are {values}")));
        }
        if let Some(system) = named {
            return Ok(vec![Gate {
                text: self.condition.to_owned(),
                metric,
                demand: Demand::AtLeast { system, least },
            }]);
        }
        let systems = self.observations.systems.iter();
        let gates = systems.map(|system| Gate {
            text: format!("{}:{}", system.label, self.condition),
            metric: metric.clone(),
            demand: Demand::AtLeast {
                system: system.label.clone(),
                least,
            },
        });
        Ok(gates.collect())
    }

    /// The two systems of an order; the first may have the name of a metric before it.
    fn named_pair(&self, left: &'a str, right: &str) -> Result<(Option<&'a str>, [String; 2])> {
        let mut metric = None;
        let mut first = left;
        // The name of a system may have a colon itself.
        if !self.is_system(left)
            && let Some((name, system)) = split_at_name(left, |name| self.is_system(name))
        {
            metric = Some(name.trim());
            first = system;
        }
        let pair = [
            self.observations.system_named(first)?.to_owned(),
            self.second_system(right)?.to_owned(),
        ];
        if pair[0] == pair[1] {
            return Err(self.refusal(&format!("both sides are {}", pair[0])));
        }
        Ok((metric, pair))
    }

    /// A demand on two systems.
    fn order(
        &self,
        left: &'a str,
        right: &str,
        order: Order,
        baseline: Option<&str>,
    ) -> Result<Gate> {
        let (name, pair) = self.named_pair(left, right)?;
        let metric = match name {
            Some(name) => self.one_metric(name)?,
            None => {
                let headline = self.observations.headline();
                let main = headline.first().copied().unwrap_or_default();
                &self.observations.metrics[main].metric
            }
        };
        if let Some(baseline) = baseline
            && !pair.iter().any(|system| system == baseline)
        {
            return Err(self.refusal(&format!("only pairs with --baseline {baseline} are tested")));
        }
        let metric = self.directed(metric)?;
        if let Order::Within(margin) = order
            && let Some(range) = metric.range()
            // `A>=B-2` is most likely meant in points of 100; taken as it stands, it could never be
            // missed.
            && margin.abs() >= range.high - range.low
        {
            return Err(self.refusal(&format!(
                "no difference of {} is as large as the margin; 0.02 is 2 points of 100",
                metric.name
            )));
        }
        Ok(Gate {
            text: self.condition.to_owned(),
            metric,
            demand: Demand::Order { pair, order },
        })
    }

    /// The system on the right side.
    ///
    /// # Errors
    /// If there is none of this name. Of `gptt-0.02` the error names `gptt`, which is near a known name.
    fn second_system(&self, right: &str) -> Result<&str> {
        self.observations.system_named(right).map_err(|error| {
            let name = right
                .rsplit_once(['-', '+'])
                .filter(|(_, margin)| margin.trim().parse::<f64>().is_ok())
                .and_then(|(name, _)| self.observations.system_named(name.trim()).err());
            name.unwrap_or(error)
        })
    }

    /// `B-M`, a system and a margin, or `B+M`, of which the margin is -M; the longest name of a system counts, since names may end
    /// in such numbers.
    fn with_margin<'t>(&self, right: &'t str) -> Option<(&'t str, f64)> {
        for (at, sign) in right.rmatch_indices(['-', '+']) {
            let system = right[..at].trim();
            let margin = right[at + 1..].trim().parse::<f64>();
            if self.is_system(system)
                && let Ok(margin) = margin
                && margin.is_finite()
                && margin >= 0.0
            {
                return Some((system, if sign == "+" { -margin } else { margin }));
            }
        }
        None
    }

    fn is_system(&self, name: &str) -> bool {
        self.observations.system_named(name).is_ok()
    }

    fn is_metric(&self, name: &str) -> bool {
        !self.observations.find_metrics(name.trim()).is_empty()
    }

    fn one_metric(&self, name: &str) -> Result<&'a MetricId> {
        match self.observations.metrics_named(name)?[..] {
            [metric] => Ok(&self.observations.metrics[metric].metric),
            _ => Err(Error::Settings(format!(
                "several scorers have a metric {name}; write SCORER.{name}"
            ))),
        }
    }

    /// The metric, if a higher value is better.
    fn directed(&self, metric: &MetricId) -> Result<MetricId> {
        if metric.higher_is_better {
            return Ok(metric.clone());
        }
        Err(self.refusal(&format!(
            "{} is a count, for which higher is not better",
            metric.name
        )))
    }

    fn refusal(&self, why: &str) -> Error {
        Error::Usage(format!("{} {}: {why}", self.option, self.condition))
    }
}

/// `A:B`, split where B is such a name, else at the last colon: names may have colons, too.
fn split_at_name(text: &str, is_name: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    for (at, _) in text.match_indices(':') {
        let name = &text[at + 1..];
        if is_name(name) {
            return Some((&text[..at], name));
        }
    }
    text.rsplit_once(':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::compare_tests::table;

    fn gate(condition: &str, observed: &Observations) -> Result<Vec<Gate>> {
        Gate::all(condition, observed, None)
    }

    fn refusal(condition: &str, observed: &Observations) -> String {
        match gate(condition, observed) {
            Err(error) => error.to_string(),
            Ok(gates) => panic!("{condition}: {gates:?}"),
        }
    }

    fn pair(first: &str, second: &str) -> [String; 2] {
        [first.to_owned(), second.to_owned()]
    }

    #[test]
    fn a_floor_is_a_number_within_the_range_of_a_directed_metric() {
        let mut observed = table(&[("a", &[0.5]), ("b", &[0.5])]);
        let of_all = gate("score >= 0.5", &observed).unwrap();
        let texts: Vec<&str> = of_all.iter().map(|gate| &*gate.text).collect();
        assert_eq!(texts, ["a:score >= 0.5", "b:score >= 0.5"]);
        assert_eq!(gate("a:score>=0", &observed).unwrap().len(), 1);
        for wrong in ["score", "score>=", ">=0.5", "score=0.5"] {
            assert!(refusal(wrong, &observed).contains("write \"A>=B-0.02\""));
        }
        assert!(refusal("score>0.5", &observed).contains("score>=0.5"));
        assert!(refusal("score>=nan", &observed).contains("score>=0.5"));
        assert!(refusal("score>=50", &observed).contains("0.5 is 50%"));
        observed.metrics[0].metric =
            MetricId::new(&"citation_audit".into(), "dangling".into(), Unit::Count);
        assert!(refusal("dangling>=0.5", &observed).contains("dangling is a count"));
    }

    #[test]
    fn an_order_has_two_systems_a_metric_and_a_margin() {
        let observed = table(&[("a", &[0.5]), ("b", &[0.4])]);
        for order in ["a>b", "score: a >= b", "rubric.score:b>a"] {
            assert!(gate(order, &observed).is_ok(), "{order}");
        }
        for wrong in ["a", "a>", ">b", "a>a"] {
            assert!(gate(wrong, &observed).is_err(), "{wrong}");
        }
        let within = |condition: &str| gate(condition, &observed).unwrap().remove(0).demand;
        let expected = Demand::Order {
            pair: pair("a", "b"),
            order: Order::Within(0.02),
        };
        assert_eq!(within("a>=b-0.02"), expected);
        assert_eq!(within("score: a >= b - 2e-2"), expected);
        let lead = Demand::Order {
            pair: pair("a", "b"),
            order: Order::Within(-0.1),
        };
        assert_eq!(within("a >= b + 0.1"), lead);
        assert!(refusal("a>=b+2", &observed).contains("0.02 is 2 points"));
        assert!(refusal("a>=bb+0.02", &observed).contains("no system is called bb"));
        assert!(refusal("a>b-0.02", &observed).contains("a margin needs >="));
        let mistyped = refusal("a>=bb-0.02", &observed);
        assert!(
            mistyped.contains("no system is called bb (did you mean b?)"),
            "{mistyped}"
        );
        assert!(refusal("a>=b-2", &observed).contains("0.02 is 2 points"));
    }

    #[test]
    fn a_whole_name_of_a_system_comes_before_a_margin_or_a_value() {
        let observed = table(&[
            ("a", &[0.5]),
            ("b", &[0.4]),
            ("b-0.02", &[0.4]),
            ("0.5", &[0.3]),
        ]);
        let demand = |condition: &str| gate(condition, &observed).unwrap().remove(0).demand;
        let named = Demand::Order {
            pair: pair("a", "b-0.02"),
            order: Order::NotWorse,
        };
        assert_eq!(demand("a>=b-0.02"), named);
        let margin = Demand::Order {
            pair: pair("a", "b-0.02"),
            order: Order::Within(0.1),
        };
        assert_eq!(demand("a>=b-0.02-0.1"), margin);
        let number = Demand::Order {
            pair: pair("a", "0.5"),
            order: Order::NotWorse,
        };
        assert_eq!(demand("a>=0.5"), number);
    }
}

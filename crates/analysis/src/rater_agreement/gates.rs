//! Gates on the agreement of a judge with people: `agree --require "kappa>=0.6"`.
//!
//! A gate is about the judge and the people together, or the only person. It is met if the 95% interval of the number lies above the
//! bound, missed if it lies below, else undecided, so that a few labels more or less do not turn met into missed.

use super::result::{Measures, RaterAgreement};
use crate::comparison::{GateOutcome, GateResult};
use crate::ratings::Estimate;
use scholareval_core::domain::RaterKind;
use scholareval_core::error::{Error, Result};
use scholareval_core::text::names::{counted, suggest};
use scholareval_stats::Interval;

/// How conditions are written, for errors.
const FORMS: &str =
    "\"kappa>=0.6\", \"JUDGE:kappa>=0.6\", \"sensitivity>=0.8\" or \"abs(shift)<=0.05\"";
/// The only number with an upper bound.
const SHIFT: &str = "abs(shift)";
/// Numbers of the levels of judge and people.
const ACCURACIES: [&str; 2] = ["sensitivity", "specificity"];
/// Other names of numbers.
const OTHER_NAMES: [(&str, &str); 2] = [("tau_b", "kendall_tau_b"), ("agreement", "raw_agreement")];
/// Numbers that are shares, 0..=1; the others are coefficients, -1..=1.
const SHARES: [&str; 6] = [
    "raw_agreement",
    "pairs_strict",
    "pairs_half_credit",
    "pairs_decided",
    "sensitivity",
    "specificity",
];
/// Bounds are reached in spite of rounding.
const ROUNDING: f64 = 1e-12;

/// The results of a condition, one for each judge that it is about; of `sensitivity` and `specificity` one for each scale with the level.
///
/// # Errors
/// [`Error::Usage`] for a condition that cannot be read, an unknown name, a bound that the number cannot reach or always reaches, and
/// without a judge or people.
pub fn agreement_gates(condition: &str, agreement: &RaterAgreement) -> Result<Vec<GateResult>> {
    let reader = AgreementCondition {
        condition,
        agreement,
    };
    reader.results()
}

/// What a number must reach.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    AtLeast(f64),
    /// Between minus this number and this number.
    Within(f64),
}

impl Bound {
    fn value(self) -> f64 {
        match self {
            Self::AtLeast(value) | Self::Within(value) => value,
        }
    }

    fn outcome(self, interval: Interval) -> GateOutcome {
        match self {
            Self::AtLeast(least) => GateOutcome::between(interval, least, f64::INFINITY),
            Self::Within(most) => GateOutcome::between(interval, -most, most),
        }
    }

    /// How far the number is from the bound.
    fn distance(self, estimate: f64) -> f64 {
        match self {
            Self::AtLeast(least) => (estimate - least).abs(),
            Self::Within(most) => (estimate.abs() - most).abs(),
        }
    }
}

/// A condition as it is written, with what its names stand for.
struct AgreementCondition<'a> {
    condition: &'a str,
    agreement: &'a RaterAgreement,
}

impl<'a> AgreementCondition<'a> {
    fn results(&self) -> Result<Vec<GateResult>> {
        let (subject, bound) = self.sides()?;
        let (named, number) = self.names(subject)?;
        self.check_range(number, bound)?;
        let judges = match named {
            Some(judge) => vec![judge],
            None => self.raters(RaterKind::Judge),
        };
        if judges.is_empty() {
            return Err(self.refusal("no judge: name a run"));
        }
        let Some(people) = self.people() else {
            return Err(self.refusal("no labels of people: add --labels FILE"));
        };
        let mut results = Vec::new();
        for judge in &judges {
            let condition = if judges.len() == 1 {
                self.condition.to_owned()
            } else {
                format!("{judge}:{}", self.condition)
            };
            for (questions, estimate) in self.estimates(judge, people, number)? {
                let raters = [*judge, people];
                let condition = condition.clone();
                results.push(result(
                    condition, number, raters, questions, &estimate, bound,
                ));
            }
        }
        Ok(results)
    }

    /// What is written before the sign, and the bound.
    fn sides(&self) -> Result<(&'a str, Bound)> {
        let is_within = self.condition.contains("<=");
        let sign = if is_within { "<=" } else { ">=" };
        let sides = self.condition.rsplit_once(sign);
        let read = sides.and_then(|(subject, bound)| {
            let value: f64 = bound.trim().parse().ok()?;
            (value.is_finite() && !subject.trim().is_empty()).then_some((subject.trim(), value))
        });
        let Some((subject, value)) = read else {
            return Err(self.refusal(&format!("write {FORMS}")));
        };
        let bound = if is_within {
            Bound::Within(value)
        } else {
            Bound::AtLeast(value)
        };
        Ok((subject, bound))
    }

    /// The judge, if it is named, and the number; the names of judges and levels may have colons.
    fn names(&self, subject: &'a str) -> Result<(Option<&'a str>, &'a str)> {
        if let Some(number) = known_number(subject) {
            return Ok((None, number));
        }
        for judge in self.raters(RaterKind::Judge) {
            let rest = subject.strip_prefix(judge);
            if let Some(rest) = rest.and_then(|rest| rest.trim_start().strip_prefix(':')) {
                let number = known_number(rest.trim());
                return match number {
                    Some(number) => Ok((Some(judge), number)),
                    None => Err(self.unknown_number(rest.trim())),
                };
            }
        }
        for (at, _) in subject.match_indices(':') {
            if known_number(subject[at + 1..].trim()).is_some() {
                let judge = subject[..at].trim();
                let hint = suggest(judge, self.raters(RaterKind::Judge));
                return Err(self.refusal(&format!("no judge is called {judge}; {hint}")));
            }
        }
        Err(self.unknown_number(subject))
    }

    fn unknown_number(&self, name: &str) -> Error {
        let known = Measures::names()
            .into_iter()
            .filter(|name| *name != "shift")
            .chain(ACCURACIES)
            .chain([SHIFT]);
        // Of `sensitvity:met` the number is misspelled, not the level.
        let number = name.split(':').next().unwrap_or(name);
        let hint = suggest(number, known);
        self.refusal(&format!("no number is called {number}; {hint}"))
    }

    fn check_range(&self, number: &str, bound: Bound) -> Result<()> {
        match bound {
            Bound::Within(most) if number == SHIFT && most > 0.0 => Ok(()),
            Bound::AtLeast(_) if number == SHIFT => {
                Err(self.refusal("a shift has an upper bound: write \"abs(shift)<=0.05\""))
            }
            Bound::Within(_) if number == SHIFT => Err(self.refusal("the bound is above 0")),
            Bound::Within(_) => {
                let why = format!("more is better: write \"{number}>=0.6\"");
                Err(self.refusal(&why))
            }
            Bound::AtLeast(least) => {
                let name = number.split(':').next().unwrap_or(number);
                let lowest = if SHARES.contains(&name) { 0 } else { -1 };
                if f64::from(lowest) <= least && least <= 1.0 {
                    return Ok(());
                }
                let why = format!("{name} lies between {lowest} and 1");
                Err(self.refusal(&why))
            }
        }
    }

    /// The estimates of a number, with their questions.
    fn estimates(&self, judge: &str, people: &str, number: &str) -> Result<Vec<(usize, Estimate)>> {
        let mut parts = number.splitn(2, ':');
        let name = parts.next().unwrap_or(number);
        if ACCURACIES.contains(&name) {
            return self.accuracies(judge, name, parts.next().map(str::trim));
        }
        let name = if name == SHIFT { "shift" } else { name };
        let mut pairs = self.agreement.pairs.iter();
        let pair = pairs.find(|pair| *pair.first == *judge && *pair.second == *people);
        let estimates = pair.map_or_else(Vec::new, |pair| pair.overall.estimates());
        let of_name = estimates.into_iter().find(|(key, ..)| *key == name);
        Ok(vec![match of_name {
            Some((_, [_, questions], estimate)) => (questions, estimate.clone()),
            None => (
                0,
                Estimate::undefined("no pair of answers was compared by both"),
            ),
        }])
    }

    /// Sensitivity or specificity of a level, by default that of scales with two.
    fn accuracies(
        &self,
        judge: &str,
        name: &str,
        level: Option<&str>,
    ) -> Result<Vec<(usize, Estimate)>> {
        let mut shares = Vec::new();
        let mut levels = Vec::new();
        for confusion in &self.agreement.confusions {
            if *confusion.judge != *judge {
                continue;
            }
            for accuracy in &confusion.accuracy {
                levels.push(format!("{name}:{}", accuracy.level));
                let is_asked = match level {
                    Some(level) => accuracy.level == level,
                    None => confusion.levels.len() == 2,
                };
                if is_asked {
                    let estimate = match name {
                        "sensitivity" => &accuracy.sensitivity,
                        _ => &accuracy.specificity,
                    };
                    shares.push((confusion.questions, estimate.clone()));
                }
            }
        }
        if !shares.is_empty() {
            return Ok(shares);
        }
        if levels.is_empty() {
            let why = format!("{name} needs labels of items on a known scale of up to five levels");
            return Err(self.refusal(&why));
        }
        let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
        let why = match level {
            Some(level) => {
                let hint = suggest(&format!("{name}:{level}"), levels);
                format!("no level is called {level}; {hint}")
            }
            None => format!("name the level: {}", levels.join(", ")),
        };
        Err(self.refusal(&why))
    }

    /// The raters of this kind, without the mean of people.
    fn raters(&self, kind: RaterKind) -> Vec<&'a str> {
        let raters = self.agreement.raters.iter();
        let of_kind = raters.filter(|rater| rater.kind == kind && rater.mean_of.is_empty());
        of_kind.map(|rater| &*rater.name).collect()
    }

    /// The people together, or the only person.
    fn people(&self) -> Option<&'a str> {
        let mut raters = self.agreement.raters.iter();
        let together = raters.find(|rater| !rater.mean_of.is_empty());
        match together {
            Some(rater) => Some(&rater.name),
            None => self.raters(RaterKind::Human).first().copied(),
        }
    }

    fn refusal(&self, why: &str) -> Error {
        Error::Usage(format!("--require {}: {why}", self.condition))
    }
}

/// The number of this name, as [`Measures::estimates`] has it; `sensitivity` and `specificity` keep their level.
fn known_number(name: &str) -> Option<&str> {
    for (other, number) in OTHER_NAMES {
        if name == other {
            return Some(number);
        }
    }
    let before_level = name.split(':').next().unwrap_or(name).trim_end();
    let is_measure = Measures::names().contains(&name) && name != "shift";
    (is_measure || name == SHIFT || ACCURACIES.contains(&before_level)).then_some(name)
}

/// The result of one gate on a number of a judge and people.
fn result(
    condition: String,
    number: &str,
    [judge, people]: [&str; 2],
    questions: usize,
    estimate: &Estimate,
    bound: Bound,
) -> GateResult {
    let number = if number == SHIFT { "shift" } else { number };
    let of = format!("{number} of {judge} with {people}");
    let interval = estimate.interval();
    let units = estimate.n.unwrap_or(0);
    let is_of_pairs = number.starts_with("pairs_") || number.starts_with("within_");
    let unit = if is_of_pairs { "pair" } else { "label" };
    let labels = counted(units, unit);
    let mut labels_needed = None;
    let (outcome, message) = match (estimate.estimate, interval) {
        (None, _) => {
            let reason = estimate.undefined.as_deref().unwrap_or("not measured");
            (
                GateOutcome::Unchecked,
                format!("{of} is undefined: {reason}"),
            )
        }
        (Some(value), None) => {
            let message = format!("{of} is {value:.3}: {labels} give no interval");
            (GateOutcome::Undecided, message)
        }
        (Some(value), Some(interval)) => {
            let outcome = bound.outcome(interval);
            let (low, high) = (interval.low, interval.high);
            let mut message = format!("{of} is {value:.3} [{low:.3}, {high:.3}] by {labels}");
            if outcome == GateOutcome::Undecided {
                labels_needed = needed(units, interval.half_width(), bound.distance(value));
            }
            if let Some(needed) = labels_needed {
                message += &format!("; about {} would decide", counted(needed, unit));
            }
            (outcome, message)
        }
    };
    GateResult {
        condition,
        outcome,
        message,
        metric: number.to_owned(),
        estimate: estimate.estimate,
        interval,
        threshold: bound.value(),
        questions,
        labels_needed,
        ..GateResult::default()
    }
}

/// About how many labels make the interval as narrow as the distance from the bound: n (half width / distance)^2, since intervals narrow
/// with the root of n. `None` at the bound.
fn needed(units: usize, half_width: f64, distance: f64) -> Option<usize> {
    let needed = units as f64 * (half_width / distance).powi(2);
    // Beyond that the number is an artifact of a distance near 0, and no advice.
    let whole = (needed * (1.0 - ROUNDING)).ceil();
    (needed < 1e6).then(|| (whole as usize).max(units + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rater_agreement::result::{Confusion, LevelAccuracy};
    use crate::rater_agreement::{AgreementOptions, Labeled, rater_agreement};
    use crate::test_support::rater;
    use scholareval_stats::Interval;

    /// 40 answers with 0 or 1, of which the judges get this many wrong.
    fn agreement(wrong: &[(&str, usize)]) -> RaterAgreement {
        let people: Vec<f64> = (0..40).map(|at| f64::from(at % 2)).collect();
        let mut raters = vec![rater("ann", RaterKind::Human, &people)];
        for (name, wrong) in wrong {
            let mut values = people.clone();
            for value in values.iter_mut().take(*wrong) {
                *value = 1.0 - *value;
            }
            raters.push(rater(name, RaterKind::Judge, &values));
        }
        let labeled = Labeled {
            raters,
            ..Labeled::default()
        };
        rater_agreement(&labeled, &AgreementOptions::seeded(1))
    }

    fn outcomes(condition: &str, agreement: &RaterAgreement) -> Vec<(String, GateOutcome)> {
        let results = agreement_gates(condition, agreement).unwrap();
        let outcomes = results.into_iter();
        outcomes
            .map(|result| (result.condition, result.outcome))
            .collect()
    }

    fn refusal(condition: &str, agreement: &RaterAgreement) -> String {
        agreement_gates(condition, agreement)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn the_interval_decides_and_the_judge_may_be_named() {
        // Kappa 1 - 2 * 4 / 40 = 0.8 and 1 - 2 * 16 / 40 = 0.2.
        let measured = agreement(&[("good:1", 4), ("poor", 16)]);
        let of_all = outcomes("kappa>=0.5", &measured);
        let named = |judge: &str| format!("{judge}:kappa>=0.5");
        assert_eq!(
            of_all,
            [
                (named("good:1"), GateOutcome::Met),
                (named("poor"), GateOutcome::Missed)
            ]
        );
        assert_eq!(
            outcomes("good:1: kappa >= 0.5", &measured),
            [("good:1: kappa >= 0.5".to_owned(), GateOutcome::Met)]
        );
        assert_eq!(
            outcomes("poor:tau_b>=0.25", &measured)[0].1,
            GateOutcome::Undecided
        );
        assert_eq!(
            outcomes("good:1:agreement>=0.6", &measured)[0].1,
            GateOutcome::Met
        );
        // Two ones are called zeros for two zeros called ones.
        assert_eq!(
            outcomes("good:1:abs(shift)<=0.3", &measured)[0].1,
            GateOutcome::Met
        );
    }

    #[test]
    fn bounds_are_met_at_the_bound_and_a_shift_lies_within_both() {
        for (bound, low, high, expected) in [
            (Bound::AtLeast(0.6), 0.6, 0.8, GateOutcome::Met),
            (Bound::AtLeast(0.6), 0.59, 0.8, GateOutcome::Undecided),
            (Bound::AtLeast(0.6), 0.4, 0.6, GateOutcome::Undecided),
            (Bound::AtLeast(0.6), 0.4, 0.59, GateOutcome::Missed),
            (Bound::Within(0.1), -0.1, 0.1, GateOutcome::Met),
            (Bound::Within(0.1), -0.2, 0.2, GateOutcome::Undecided),
            (Bound::Within(0.1), 0.05, 0.2, GateOutcome::Undecided),
            (Bound::Within(0.1), -0.3, -0.11, GateOutcome::Missed),
        ] {
            let outcome = bound.outcome(Interval { low, high });
            assert_eq!(outcome, expected, "{bound:?} {low} {high}");
        }
    }

    #[test]
    fn labels_that_decide_grow_with_the_square_of_the_distance() {
        let of = |value: f64, low: f64, high: f64, n: usize, bound: Bound| {
            let estimate = Estimate {
                n: Some(n),
                ..Estimate::new(Some(value), || Some(Interval::new(low, high)), "")
            };
            result(String::new(), "kappa", ["j", "p"], 9, &estimate, bound)
        };
        // 60 (0.1 / 0.05)^2 = 240.
        let kappa = of(0.65, 0.54, 0.74, 60, Bound::AtLeast(0.6));
        assert_eq!(kappa.labels_needed, Some(240));
        assert_eq!(
            kappa.message,
            "kappa of j with p is 0.650 [0.540, 0.740] by 60 labels; about 240 labels would decide"
        );
        // The distance of -0.08 from -0.05 is 0.03: 60 (0.06 / 0.03)^2.
        assert_eq!(
            of(-0.08, -0.14, -0.02, 60, Bound::Within(0.05)).labels_needed,
            Some(240)
        );
        let at_bound = of(0.6, 0.5, 0.7, 60, Bound::AtLeast(0.6));
        assert_eq!(at_bound.labels_needed, None);
        let few = result(
            String::new(),
            "kappa",
            ["j", "p"],
            3,
            &Estimate {
                n: Some(8),
                ..Estimate::new(Some(0.9), || None, "")
            },
            Bound::AtLeast(0.6),
        );
        assert_eq!(few.outcome, GateOutcome::Undecided);
        assert!(few.message.ends_with("8 labels give no interval"));
        let undefined = Estimate::undefined("not on one scale");
        let none = result(
            String::new(),
            "kappa",
            ["j", "p"],
            3,
            &undefined,
            Bound::AtLeast(0.6),
        );
        assert_eq!(none.outcome, GateOutcome::Unchecked);
    }

    #[test]
    fn a_rater_of_one_value_has_no_kappa_and_does_not_meet_a_bound_of_it() {
        let met = [1.0; 20];
        let raters = vec![
            rater("ann", RaterKind::Human, &met),
            rater("j", RaterKind::Judge, &met),
        ];
        let labeled = Labeled {
            raters,
            ..Labeled::default()
        };
        let agreement = rater_agreement(&labeled, &AgreementOptions::seeded(1));
        let results = agreement_gates("kappa>=0.6", &agreement).unwrap();
        assert_eq!(results[0].outcome, GateOutcome::Unchecked);
        let why = "is undefined: j gave all the same value";
        assert!(results[0].message.ends_with(why), "{results:?}");
        // Wilson's interval of 20 of 20 begins at 20 / (20 + 1.96^2) = 0.84.
        let same = &outcomes("raw_agreement>=0.6", &agreement)[0];
        assert_eq!(same.1, GateOutcome::Met);
    }

    #[test]
    fn levels_are_named_where_there_are_several() {
        let mut measured = agreement(&[("j", 4)]);
        let share = |low| Estimate {
            n: Some(30),
            ..Estimate::new(Some(0.9), || Some(Interval::new(low, 0.95)), "")
        };
        let accuracy = |level: &str, low: f64| LevelAccuracy {
            worth: [20, 20],
            level: level.to_owned(),
            sensitivity: share(low),
            specificity: share(low),
        };
        let confusion = |levels: &[&str], accuracy: Vec<LevelAccuracy>| Confusion {
            judge: "j".into(),
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
            items: 30,
            split: 0,
            questions: 10,
            counts: Vec::new(),
            shares: Vec::new(),
            accuracy,
        };
        let why = "sensitivity needs labels of items on a known scale of up to five levels";
        assert!(refusal("sensitivity>=0.8", &measured).ends_with(why));
        let of_three = ["no", "partly", "yes"];
        let accuracies = [("no", 0.7), ("partly", 0.85), ("yes", 0.7)];
        measured.confusions = vec![confusion(
            &of_three,
            accuracies.map(|(level, low)| accuracy(level, low)).to_vec(),
        )];
        assert_eq!(
            outcomes("sensitivity:partly>=0.8", &measured)[0].1,
            GateOutcome::Met
        );
        assert_eq!(
            outcomes("j:specificity:yes>=0.8", &measured)[0].1,
            GateOutcome::Undecided
        );
        assert!(
            refusal("sensitivity>=0.8", &measured)
                .ends_with("name the level: sensitivity:no, sensitivity:partly, sensitivity:yes")
        );
        assert!(
            refusal("sensitivity:party>=0.8", &measured)
                .ends_with("no level is called party; did you mean sensitivity:partly?")
        );
        measured.confusions = vec![confusion(&["no", "yes"], vec![accuracy("yes", 0.81)])];
        assert_eq!(
            outcomes("sensitivity>=0.8", &measured)[0].1,
            GateOutcome::Met
        );
    }

    #[test]
    fn conditions_that_cannot_be_checked_say_why() {
        let measured = agreement(&[("j", 4)]);
        for (condition, why) in [
            ("kappa", "write \"kappa>=0.6\", \"JUDGE:kappa>=0.6\""),
            ("kappa>0.6", "write \"kappa>=0.6\""),
            (">=0.6", "write \"kappa>=0.6\""),
            ("kappa>=nan", "write \"kappa>=0.6\""),
            ("kapa>=0.6", "no number is called kapa; did you mean kappa?"),
            (
                "j:kapa>=0.6",
                "no number is called kapa; did you mean kappa?",
            ),
            ("k:kappa>=0.6", "no judge is called k; "),
            ("kappa>=1.2", "kappa lies between -1 and 1"),
            ("raw_agreement>=-0.1", "raw_agreement lies between 0 and 1"),
            ("kappa<=0.6", "more is better: write \"kappa>=0.6\""),
            ("shift>=0", "no number is called shift; "),
            ("abs(shift)>=0.1", "a shift has an upper bound"),
            ("abs(shift)<=0", "the bound is above 0"),
        ] {
            let refusal = refusal(condition, &measured);
            let expected = format!("--require {condition}: {why}");
            assert!(refusal.contains(&expected), "{refusal}");
        }
        let mut people = measured.clone();
        people.raters.retain(|rater| rater.kind == RaterKind::Human);
        assert!(refusal("kappa>=0.6", &people).ends_with("no judge: name a run"));
        let mut judges = measured.clone();
        judges.raters.retain(|rater| rater.kind == RaterKind::Judge);
        assert!(refusal("kappa>=0.6", &judges).contains("no labels of people"));
    }
}

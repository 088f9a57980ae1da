//! Plans a study from a pilot run: the number of questions that find a difference between two systems.

use serde::Serialize;

use super::samples::sample_factors;
use super::shared::{SharedCases, slices};
use super::{ComparisonOptions, MetricId, Observations};
use scholareval_core::domain::Unit;
use scholareval_stats::{Interval, PilotSpread};

/// Version of the JSON form of a plan.
const SCHEMA_VERSION: u32 = 1;
/// Differences of shares that are planned for, unless one is given.
const DIFFERENCES: [f64; 4] = [0.01, 0.02, 0.05, 0.1];

/// Studies that find differences of some sizes with 80% power, planned from the spread of the differences in a pilot run. The
/// differences that the pilot observed have no part in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PowerPlan {
    /// Version of this format.
    pub schema_version: u32,
    /// The metric.
    pub metric: MetricId,
    /// Level of the verdict.
    pub level: f64,
    /// Systems of the pilot, and of the planned studies.
    pub systems: usize,
    /// Questions of the pilot with a value of every system.
    pub questions: usize,
    /// Cases of the pilot that are left out, since a system has no value.
    pub left_out: usize,
    /// The pair of systems that the studies are planned by: the one whose differences vary most.
    pub pair: [String; 2],
    /// Standard deviation of its differences between questions.
    pub sd: f64,
    /// The standard deviation that the studies are planned by: of two systems the limit below which the true one lies with
    /// probability 60%, if differences are normal; of more systems `sd`.
    pub upper_sd: f64,
    /// The factors of a variance, and of a number of questions, that the pilot leaves open at this level.
    pub range: Interval,
    /// The studies, by difference and samples.
    pub studies: Vec<PlannedStudy>,
    /// Studies that find the differences between these, for a figure; not in JSON.
    #[serde(skip)]
    pub curve: Vec<PlannedStudy>,
}

/// A planned study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedStudy {
    /// The difference that it finds, in the unit of files.
    pub difference: f64,
    /// Samples of each judge; `None` if the pilot has no repeated samples.
    pub samples: Option<usize>,
    /// Questions for the pair whose differences vary most.
    pub questions: usize,
    /// The fewest and the most, if the pilot's standard deviation is too large or too small by chance.
    pub interval: Interval,
}

/// Differences in the curve of a plan.
const CURVE_POINTS: usize = 41;
/// How far the curve reaches to both sides of a single difference.
const CURVE_REACH: f64 = 3.0;

/// Plans studies of the metric at this index that find `difference`, or each of several usual ones.
///
/// `None` for fewer than two systems and two shared questions, and if no pair's differences vary.
pub fn plan_power(
    all: &Observations,
    metric: usize,
    difference: Option<f64>,
    options: &ComparisonOptions,
) -> Option<PowerPlan> {
    let table = all.metrics.get(metric)?;
    let shared = SharedCases::of(all, table, options);
    let pairs = shared.pairs();
    let (differences, questions) = differences_of(&shared, &pairs);
    let pilot = PilotSpread::new(
        &slices(&differences),
        Some(&questions),
        shared.metric_values(),
        shared.bootstrap(),
    )?;
    // The pair that will differ is not known, and one that differs varies more than two that are nearly the same.
    let (at, largest) = largest(&pilot.variances)?;
    let (first, second) = pairs[at];
    let wanted = match difference {
        Some(difference) => vec![difference],
        None => usual_differences(table.metric.unit),
    };
    let designs = sample_factors(&shared).unwrap_or_else(|| vec![(None, 1.0)]);
    let study = |difference: f64, (samples, factor): (Option<usize>, f64)| {
        let questions = |variance: f64| pilot.questions_for(difference, factor * variance);
        let [low, high] = [pilot.range.low, pilot.range.high]
            .map(|variance| questions(variance * largest) as f64);
        PlannedStudy {
            difference,
            samples,
            questions: questions(pilot.upper * largest),
            interval: Interval { low, high },
        }
    };
    let studies_of = |differences: &[f64]| {
        let mut studies = Vec::new();
        for wanted in differences {
            studies.extend(designs.iter().map(|design| study(*wanted, *design)));
        }
        studies
    };
    Some(PowerPlan {
        schema_version: SCHEMA_VERSION,
        metric: table.metric.clone(),
        level: options.level,
        systems: shared.participants,
        questions: shared.distinct_questions(),
        left_out: shared.cases_in_all() - shared.cases.len(),
        pair: [first, second].map(|rank| shared.label(rank).to_owned()),
        sd: largest.sqrt(),
        upper_sd: (pilot.upper * largest).sqrt(),
        range: pilot.range,
        studies: studies_of(&wanted),
        curve: studies_of(&differences_between(&wanted)),
    })
}

/// The differences that a plan shows where none is given. They are those of a share; grades span 4 points and counts have no span,
/// so that they get larger ones that are as usual there.
fn usual_differences(unit: Unit) -> Vec<f64> {
    let scale = match unit {
        Unit::Share | Unit::Net => 1.0,
        Unit::Grade => 10.0,
        Unit::Count => 100.0,
    };
    DIFFERENCES.map(|share| scale * share).to_vec()
}

/// What each pair is tested by, with the question of each value: judged pairs by the verdicts on the two, and not by their win rates
/// against all.
fn differences_of(
    shared: &SharedCases<'_>,
    pairs: &[(usize, usize)],
) -> (Vec<Vec<f64>>, Vec<usize>) {
    let sample = shared.pair_sample(pairs);
    match sample.filter(|sample| !sample.is_of_strengths) {
        Some(sample) => (sample.differences, sample.questions),
        None => (shared.differences(pairs), shared.questions.clone()),
    }
}

/// Differences from the smallest of these to the largest, or around a single one, in steps of one factor.
fn differences_between(wanted: &[f64]) -> Vec<f64> {
    let mut low = wanted.iter().copied().fold(f64::INFINITY, f64::min);
    let mut high = wanted.iter().copied().fold(0.0, f64::max);
    if wanted.len() == 1 {
        low /= CURVE_REACH;
        high *= CURVE_REACH;
    }
    let step = (high / low).powf(1.0 / (CURVE_POINTS - 1) as f64);
    (0..CURVE_POINTS)
        .map(|at| low * step.powi(at as i32))
        .collect()
}

/// The largest of these values, with its index.
fn largest(values: &[f64]) -> Option<(usize, f64)> {
    let values = values.iter().copied().enumerate();
    values.reduce(|best, value| if value.1 > best.1 { value } else { best })
}

#[cfg(test)]
mod tests {
    use super::super::compare_tests::{assert_close, quick, table};
    use super::*;

    /// 24 questions in which the second system is behind by 0.05 and 0.15 in turn, and the third by twice as much.
    fn pilot() -> Observations {
        let behind = |factor: f64| {
            (0..24)
                .map(|at| 0.9 - factor * if at % 2 == 0 { 0.05 } else { 0.15 })
                .collect()
        };
        let rows: [Vec<f64>; 3] = [vec![0.9; 24], behind(1.0), behind(2.0)];
        table(&[("a", &rows[0]), ("b", &rows[1]), ("c", &rows[2])])
    }

    #[test]
    fn a_pilot_plans_by_the_spread_of_its_pairs_and_not_by_their_differences() {
        let plan = plan_power(&pilot(), 0, None, &quick()).unwrap();
        // Differences of a and b, and of b and c, are 0.05 from their mean, those of a and c 0.1: times sqrt(24 / 23).
        let twice = 0.1 * (24.0_f64 / 23.0).sqrt();
        assert_close(plan.sd, twice, 1e-12, "the most variable");
        assert_eq!(plan.pair, ["a", "c"]);
        assert_eq!(plan.upper_sd, plan.sd);
        assert_eq!(
            (plan.systems, plan.questions, plan.studies[0].samples),
            (3, 24, None)
        );
        let differences: Vec<f64> = plan.studies.iter().map(|study| study.difference).collect();
        assert_eq!(differences, [0.01, 0.02, 0.05, 0.1]);
        let ends = [plan.curve.first(), plan.curve.last()].map(|study| study.unwrap().questions);
        assert_eq!(ends, [plan.studies[0].questions, plan.studies[3].questions]);
        let first = &plan.studies[0];
        assert!(
            first.interval.low < first.questions as f64
                && (first.questions as f64) < first.interval.high
        );
        // Systems that are further apart vary as much.
        let mut apart = pilot();
        apart.metrics[0].values[0]
            .iter_mut()
            .for_each(|value| *value = super::super::Observation::Value(1.0));
        assert_eq!(
            plan_power(&apart, 0, None, &quick()).unwrap().studies,
            plan.studies
        );
    }

    #[test]
    fn samples_share_their_noise_and_the_questions_that_remain_do_not() {
        let mut observed = pilot();
        // Two samples per answer: those of b differ by 0.04 or -0.04, of the others not at all.
        let samples = |system: usize, at: usize, value: f64| {
            let half = if system == 1 {
                if at % 4 < 2 { 0.02 } else { -0.02 }
            } else {
                0.0
            };
            vec![vec![value - half, value + half]]
        };
        let rows = observed.metrics[0].values.clone();
        let values = |row: &Vec<super::super::Observation>| {
            row.iter()
                .filter_map(|observation| observation.value())
                .collect::<Vec<_>>()
        };
        let of = |(system, row)| {
            values(row)
                .into_iter()
                .enumerate()
                .map(|(at, v)| samples(system, at, v))
                .collect()
        };
        observed.metrics[0].samples = Some(rows.iter().enumerate().map(of).collect());
        let plan = plan_power(&observed, 0, Some(0.02), &quick()).unwrap();
        let counts: Vec<Option<usize>> = plan.studies.iter().map(|study| study.samples).collect();
        assert_eq!(counts, [Some(1), Some(2), Some(5)]);
        let questions: Vec<usize> = plan.studies.iter().map(|study| study.questions).collect();
        assert!(
            questions[0] > questions[1] && questions[1] > questions[2],
            "{questions:?}"
        );
        // With the number of samples of the pilot, as without knowing about samples.
        let plain = plan_power(&pilot(), 0, Some(0.02), &quick()).unwrap();
        assert_eq!(plain.studies[0].questions, questions[1]);
    }

    #[test]
    fn what_has_no_spread_has_no_plan() {
        let plan = |systems: &[(&str, &[f64])]| plan_power(&table(systems), 0, None, &quick());
        assert!(plan(&[("a", &[0.1, 0.5, 0.3])]).is_none());
        assert!(plan(&[("a", &[0.1, 0.5]), ("b", &[0.2, 0.6])]).is_none());
        assert!(plan(&[("a", &[0.1]), ("b", &[0.3])]).is_none());
        assert!(plan_power(&Observations::default(), 0, None, &quick()).is_none());
    }
}

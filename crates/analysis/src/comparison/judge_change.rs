//! What changes with the judge: two runs of the same answers.

use serde::Serialize;

use super::shared::{SAME, SharedCases, slices};
use super::{ComparisonOptions, MetricId, Observations};
use crate::rater_agreement::{AgreementOptions, Labeled, RaterPair, rater_agreement};
use scholareval_core::domain::{Rater, RaterKind, Rating, SystemName};
use scholareval_stats::{
    Deviation, Interval, MetricValues, PairedTest, mean, paired_family, rank_among,
};

/// The scores of one metric by an old and a new judge, over the cases with a value of every system in every run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeChange {
    /// The metric.
    pub metric: MetricId,
    /// The run by the old judge.
    pub old: String,
    /// The run by the new judge.
    pub new: String,
    /// Shared cases.
    pub cases: usize,
    /// Distinct questions among them.
    pub questions: usize,
    /// The shift over systems and cases.
    #[serde(flatten)]
    pub whole: Shift,
    /// Whether every case shifts by the same, so that the shift has no interval.
    #[serde(skip)]
    pub is_constant: bool,
    /// The systems, best by the old judge first.
    pub systems: Vec<SystemShift>,
    /// How the shift differs between systems: the standard deviation of their shifts, for three systems or more. It
    /// includes the errors of these shifts, and may be much more than these.
    pub between_systems: Option<Deviation>,
    /// Pairs of systems that the two judges order differently, the better one by the old judge first.
    pub swapped: Vec<SwappedPair>,
    /// Agreement of the two judges on these cases, the old one first.
    pub agreement: Option<RaterPair>,
}

/// A shift from the old to the new judge or run, or a judge's shift from the mean of all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shift {
    /// Mean of new minus old, or of the judge's minus that of all.
    pub shift: f64,
    /// Its interval, of systems simultaneous; `None` if it is unbounded or every case shifts by the same.
    pub interval: Option<Interval>,
    /// Two-sided p, of systems adjusted for all.
    pub p: f64,
    /// Whether it is significant: `p` below 1 - level.
    pub differs: bool,
}

/// One system by both judges, or in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemShift {
    /// The system.
    pub system: SystemName,
    /// Means, old and new.
    pub means: [f64; 2],
    /// Ranks, old and new; equal means share a rank.
    pub ranks: [usize; 2],
    /// Its shift.
    #[serde(flatten)]
    pub shift: Shift,
}

/// Two systems in another order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SwappedPair {
    /// The systems.
    pub systems: [SystemName; 2],
    /// Mean of first minus second by the old and the new judge.
    pub differences: [f64; 2],
    /// Their intervals, simultaneous over all pairs of systems.
    pub intervals: [Option<Interval>; 2],
    /// Whether they are significant: the adjusted p is below 1 - level.
    pub differs: [bool; 2],
}

impl Shift {
    pub(super) fn of(test: &PairedTest, alpha: f64) -> Self {
        Self {
            shift: test.difference,
            interval: test.interval,
            p: test.p,
            differs: test.p < alpha,
        }
    }
}

/// The systems with values in all of these runs, each by its rank in every one, best in the first run first.
pub(super) fn systems_of_all(shared: &SharedCases<'_>, runs: &[usize]) -> Vec<Vec<usize>> {
    let mut systems = Vec::new();
    for first in 0..shared.participants {
        let system = shared.system(first);
        if Some(&system.run) != runs.first() {
            continue;
        }
        let ranks = runs.iter().filter_map(|run| {
            (0..shared.participants).find(|rank| {
                let other = shared.system(*rank);
                other.run == *run && other.system == system.system
            })
        });
        let ranks: Vec<usize> = ranks.collect();
        if ranks.len() == runs.len() {
            systems.push(ranks);
        }
    }
    systems
}

/// As [`systems_of_all`], of an old and a new run.
pub(super) fn systems_of_both(shared: &SharedCases<'_>, runs: [usize; 2]) -> Vec<[usize; 2]> {
    let both = systems_of_all(shared, &runs).into_iter();
    both.map(|ranks| [ranks[0], ranks[1]]).collect()
}

/// New less old of each of these systems, by case.
fn shifts(shared: &SharedCases<'_>, both: &[[usize; 2]]) -> Vec<Vec<f64>> {
    let pairs: Vec<(usize, usize)> = both.iter().map(|[old, new]| (*new, *old)).collect();
    shared.differences(&pairs)
}

/// The mean shift over these systems, by case.
fn mean_shifts(shared: &SharedCases<'_>, both: &[[usize; 2]]) -> Vec<f64> {
    let shifts = shifts(shared, both);
    let mut by_case = Vec::new();
    for case in 0..shared.cases.len() {
        let sum = shifts.iter().map(|by_case| by_case[case]).sum::<f64>();
        by_case.push(sum / shifts.len() as f64);
    }
    by_case
}

/// The shift of each of these systems; they are one family. `None` without systems and for fewer than two questions.
pub(super) fn system_shifts(
    shared: &SharedCases<'_>,
    both: &[[usize; 2]],
) -> Option<Vec<SystemShift>> {
    let shifts = shifts(shared, both);
    let tests = paired_tests(shared, &shifts, shared.metric_values())?;
    let mean_at = |rank: usize| mean(&shared.values[rank]).unwrap_or_default();
    let means: Vec<[f64; 2]> = both.iter().map(|ranks| ranks.map(mean_at)).collect();
    let alpha = shared.bootstrap().alpha();
    let mut systems = Vec::new();
    for (at, test) in tests.iter().enumerate() {
        systems.push(SystemShift {
            system: shared.system(both[at][0]).system.clone(),
            means: means[at],
            ranks: [0, 1].map(|run| rank_among(means[at][run], means.iter().map(|both| both[run]))),
            shift: Shift::of(test, alpha),
        });
    }
    Some(systems)
}

/// The tests of these differences by case, adjusted for each other.
pub(super) fn paired_tests(
    shared: &SharedCases<'_>,
    differences: &[Vec<f64>],
    values: MetricValues,
) -> Option<Vec<PairedTest>> {
    let questions = Some(&*shared.questions);
    let family = paired_family(&slices(differences), questions, values, shared.bootstrap())?;
    Some(family.pairs)
}

/// The tests of the pairs of systems under one judge, in the order of [`index_pairs`]; they are one family. `None` for fewer than
/// two questions, empty for fewer than two systems.
pub(super) fn order_tests<R: AsRef<[usize]>>(
    shared: &SharedCases<'_>,
    ranks: &[R],
    judge: usize,
) -> Option<Vec<PairedTest>> {
    let mut pairs = Vec::new();
    for (first, second) in index_pairs(ranks.len()) {
        pairs.push((ranks[first].as_ref()[judge], ranks[second].as_ref()[judge]));
    }
    if pairs.is_empty() {
        return Some(Vec::new());
    }
    let differences = shared.differences(&pairs);
    paired_tests(shared, &differences, shared.metric_values())
}

/// All pairs of so many, each in ascending order.
pub(super) fn index_pairs(count: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for first in 0..count {
        for second in first + 1..count {
            pairs.push((first, second));
        }
    }
    pairs
}

/// The change from the first to the second of these runs (index and name), by every metric that has values of both on at least two questions.
pub fn judge_changes(
    all: &Observations,
    runs: [(usize, &str); 2],
    options: &ComparisonOptions,
) -> Vec<JudgeChange> {
    all.by_metric(options, |shared| judge_change(shared, runs))
}

fn judge_change(shared: &SharedCases<'_>, runs: [(usize, &str); 2]) -> Option<JudgeChange> {
    let ranks = systems_of_both(shared, runs.map(|(run, _)| run));
    let systems = system_shifts(shared, &ranks)?;
    // One number a case: the shifts of several systems in one case are not independent of each
    // other.
    let by_case = mean_shifts(shared, &ranks);
    let values = shared.metric_values().combined(1.0);
    let whole = paired_tests(shared, std::slice::from_ref(&by_case), values)?[0];
    let alpha = shared.bootstrap().alpha();
    Some(JudgeChange {
        metric: shared.table.metric.clone(),
        old: runs[0].1.to_owned(),
        new: runs[1].1.to_owned(),
        cases: shared.cases.len(),
        questions: shared.distinct_questions(),
        whole: Shift::of(&whole, alpha),
        is_constant: by_case
            .iter()
            .all(|shift| (shift - by_case[0]).abs() < SAME),
        between_systems: between_systems(&systems, shared.options.level),
        systems,
        swapped: swapped_pairs(shared, &ranks),
        agreement: agreement_of_judges(shared, &ranks, runs.map(|(_, name)| name)),
    })
}

fn between_systems(systems: &[SystemShift], level: f64) -> Option<Deviation> {
    let shifts: Vec<f64> = systems.iter().map(|system| system.shift.shift).collect();
    Deviation::of(&shifts, level)
}

/// The pairs of systems in another order by the new judge. The tests of a judge are one family over all pairs.
fn swapped_pairs(shared: &SharedCases<'_>, ranks: &[[usize; 2]]) -> Vec<SwappedPair> {
    let tests = [0, 1].map(|judge| order_tests(shared, ranks, judge));
    let [Some(old), Some(new)] = tests else {
        return Vec::new();
    };
    let alpha = shared.bootstrap().alpha();
    let mut swapped = Vec::new();
    let pairs = index_pairs(ranks.len()).into_iter();
    for ((first, second), (old, new)) in pairs.zip(old.iter().zip(&new)) {
        // Systems are in the order of the first run, so only this direction is a change of order.
        if old.difference > SAME && new.difference < -SAME {
            swapped.push(SwappedPair {
                systems: [first, second].map(|at| shared.system(ranks[at][0]).system.clone()),
                differences: [old.difference, new.difference],
                intervals: [old.interval, new.interval],
                differs: [old.p < alpha, new.p < alpha],
            });
        }
    }
    swapped
}

/// Agreement of the two judges, as raters of the systems in both runs.
fn agreement_of_judges(
    shared: &SharedCases<'_>,
    ranks: &[[usize; 2]],
    names: [&str; 2],
) -> Option<RaterPair> {
    let cases = shared.all.cases.iter();
    let questions = cases.map(|case| (case.case_id.clone(), case.question.clone()));
    let raters = [0, 1].map(|judge| Rater {
        ratings: ratings_by_judge(shared, ranks, judge),
        ..Rater::new(names[judge], RaterKind::Judge)
    });
    let labeled = Labeled {
        raters: raters.to_vec(),
        questions: questions.collect(),
        ..Labeled::default()
    };
    let options = AgreementOptions {
        confidence: shared.options.level,
        resamples: shared.options.resamples,
        ..AgreementOptions::seeded(shared.options.seed)
    };
    rater_agreement(&labeled, &options).pairs.pop()
}

/// One judge's values over the shared cases. Both judges' ratings carry the name from the old run, by which they pair.
fn ratings_by_judge(shared: &SharedCases<'_>, ranks: &[[usize; 2]], judge: usize) -> Vec<Rating> {
    let mut ratings = Vec::new();
    for ranks_of_system in ranks {
        let system = &shared.system(ranks_of_system[0]).system;
        let values = &shared.values[ranks_of_system[judge]];
        for (case, value) in shared.cases.iter().zip(values) {
            ratings.push(Rating {
                system: system.clone(),
                case_id: shared.all.cases[*case].case_id.clone(),
                item: None,
                value: *value,
            });
        }
    }
    ratings
}

//! What changes with the judge: two runs of the same answers.

use serde::Serialize;

use super::shared::{SAME, SharedCases, slices};
use super::{ComparisonOptions, MetricId, MetricTable, Observations};
use crate::analysis::rater_agreement::{AgreementOptions, Labeled, RaterPair, rater_agreement};
use crate::domain::{Rater, RaterKind, Rating, SystemName};
use crate::stats::{Interval, PairedTest, mean, paired_family};

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
    /// The systems, best by the old judge first.
    pub systems: Vec<SystemShift>,
    /// Pairs of systems that the two judges order differently, the better one by the old judge first.
    pub swapped: Vec<SwappedPair>,
    /// Agreement of the two judges on these cases, the old one first.
    pub agreement: Option<RaterPair>,
}

/// A shift from the old to the new judge or run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shift {
    /// Mean of new minus old.
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
    fn of(test: &PairedTest, alpha: f64) -> Self {
        Self {
            shift: test.difference,
            interval: test.interval,
            p: test.p,
            differs: test.p < alpha,
        }
    }
}

/// The systems with values in both runs, each by its ranks in the old and in the new one, best in the old run first.
pub(super) fn systems_of_both(shared: &SharedCases<'_>, runs: [usize; 2]) -> Vec<[usize; 2]> {
    let system = |rank: usize| &shared.all.systems[shared.order[rank]];
    let of_run = |run: usize| (0..shared.participants).filter(move |rank| system(*rank).run == run);
    let mut both = Vec::new();
    for old in of_run(runs[0]) {
        let new = of_run(runs[1]).find(|new| system(*new).system == system(old).system);
        both.extend(new.map(|new| [old, new]));
    }
    both
}

/// New less old of each of these systems, by case.
fn shifts(shared: &SharedCases<'_>, both: &[[usize; 2]]) -> Vec<Vec<f64>> {
    let pairs: Vec<(usize, usize)> = both.iter().map(|[old, new]| (*new, *old)).collect();
    shared.differences(&pairs)
}

/// The mean shift over these systems, by case.
fn mean_shifts(shared: &SharedCases<'_>, both: &[[usize; 2]]) -> Vec<f64> {
    let shifts = shifts(shared, both);
    let by_case =
        |case: usize| shifts.iter().map(|own| own[case]).sum::<f64>() / shifts.len() as f64;
    (0..shared.cases.len()).map(by_case).collect()
}

/// The shift of each of these systems; they are one family. `None` without systems and for fewer than two questions.
pub(super) fn system_shifts(
    shared: &SharedCases<'_>,
    both: &[[usize; 2]],
) -> Option<Vec<SystemShift>> {
    let shifts = shifts(shared, both);
    let family = paired_family(
        &slices(&shifts),
        Some(&shared.questions),
        shared.bootstrap(),
    )?;
    let means: Vec<[f64; 2]> = both
        .iter()
        .map(|own| own.map(|rank| mean(&shared.values[rank]).unwrap_or_default()))
        .collect();
    let rank = |at: usize, run: usize| {
        let is_higher = |own: &&[f64; 2]| own[run] > means[at][run] + SAME;
        1 + means.iter().filter(is_higher).count()
    };
    let alpha = shared.bootstrap().alpha();
    let systems = family
        .pairs
        .iter()
        .enumerate()
        .map(|(at, test)| SystemShift {
            system: shared.all.systems[shared.order[both[at][0]]].system.clone(),
            means: means[at],
            ranks: [rank(at, 0), rank(at, 1)],
            shift: Shift::of(test, alpha),
        });
    Some(systems.collect())
}

/// The change from the first to the second of these runs (index and name), by every metric that has values of both on at least two questions.
pub fn judge_changes(
    all: &Observations,
    runs: [(usize, &str); 2],
    options: &ComparisonOptions,
) -> Vec<JudgeChange> {
    all.metrics
        .iter()
        .filter_map(|table| judge_change(all, table, runs, options))
        .collect()
}

fn judge_change(
    all: &Observations,
    table: &MetricTable,
    runs: [(usize, &str); 2],
    options: &ComparisonOptions,
) -> Option<JudgeChange> {
    let shared = SharedCases::of(all, table, options);
    let system = |rank: usize| &all.systems[shared.order[rank]];
    let ranks = systems_of_both(&shared, runs.map(|(run, _)| run));
    let systems = system_shifts(&shared, &ranks)?;
    let family = |pairs: &[(usize, usize)]| {
        let differences = shared.differences(pairs);
        let family = paired_family(
            &slices(&differences),
            Some(&shared.questions),
            shared.bootstrap(),
        )?;
        Some(family.pairs)
    };
    let by_case = mean_shifts(&shared, &ranks);
    let whole = paired_family(&[&by_case], Some(&shared.questions), shared.bootstrap())?.pairs[0];
    let alpha = shared.bootstrap().alpha();
    let pairs: Vec<(usize, usize)> = (0..ranks.len())
        .flat_map(|a| (a + 1..ranks.len()).map(move |b| (a, b)))
        .collect();
    let by_judge = |judge: usize| {
        family(
            &pairs
                .iter()
                .map(|(a, b)| (ranks[*a][judge], ranks[*b][judge]))
                .collect::<Vec<_>>(),
        )
    };
    let mut swapped = Vec::new();
    if let (Some(old), Some(new)) = (by_judge(0), by_judge(1)) {
        for (at, (a, b)) in pairs.iter().enumerate() {
            if old[at].difference > SAME && new[at].difference < -SAME {
                swapped.push(SwappedPair {
                    systems: [*a, *b].map(|own| system(ranks[own][0]).system.clone()),
                    differences: [old[at].difference, new[at].difference],
                    intervals: [old[at].interval, new[at].interval],
                    differs: [old[at].p < alpha, new[at].p < alpha],
                });
            }
        }
    }
    let rater = |judge: usize| {
        let ratings = ranks.iter().flat_map(|own| {
            let rated = shared.cases.iter().zip(&shared.values[own[judge]]);
            let system = &system(own[0]).system;
            rated.map(|(case, value)| Rating {
                system: system.clone(),
                case_id: all.cases[*case].case_id.clone(),
                item: None,
                value: *value,
            })
        });
        Rater {
            ratings: ratings.collect(),
            ..Rater::new(runs[judge].1, RaterKind::Judge)
        }
    };
    let questions = all
        .cases
        .iter()
        .map(|case| (case.case_id.clone(), case.question.clone()))
        .collect();
    let labeled = Labeled {
        raters: [0, 1].map(rater).to_vec(),
        questions,
        ..Labeled::default()
    };
    let (confidence, resamples) = (options.level, options.resamples);
    let options = AgreementOptions {
        confidence,
        resamples,
        ..AgreementOptions::seeded(options.seed)
    };
    Some(JudgeChange {
        metric: table.metric.clone(),
        old: runs[0].1.to_owned(),
        new: runs[1].1.to_owned(),
        cases: shared.cases.len(),
        questions: shared.distinct_questions(),
        whole: Shift::of(&whole, alpha),
        systems,
        swapped,
        agreement: rater_agreement(&labeled, &options).pairs.pop(),
    })
}

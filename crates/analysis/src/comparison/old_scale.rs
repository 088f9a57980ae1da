//! Means on the scale of an old judge, of answers that it scored only in part, or not at all.

use std::collections::HashMap;

use serde::Serialize;

use super::shared::SharedCases;
use super::{ComparisonOptions, MetricId, MetricTable, Observations};
use scholareval_core::domain::{CaseId, SystemName};
use scholareval_stats::{
    AnchoredAnswer, FEWEST_ANCHOR_SYSTEMS, Interval, anchored_mean, carried_mean, fewest_differing,
    mean, sampling_half_width, sd,
};

/// How the old judge's values of other answers lead to its mean of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaleBasis {
    /// It scored a random part of the answers of each system.
    Anchors,
    /// It scored other systems, these.
    Systems(Vec<SystemName>),
}

/// One metric on the scale of an old judge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OldScale {
    /// The metric.
    pub metric: MetricId,
    /// The run by the old judge.
    pub old: String,
    /// The run by the new judge.
    pub new: String,
    /// By what it is estimated.
    pub basis: ScaleBasis,
    /// The lowest and the highest mean of the other systems by the new judge, outside which nothing is estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub systems_range: Option<Interval>,
    /// The systems, by name: estimates are not ranked.
    pub systems: Vec<OldScaleMean>,
}

/// A system's mean on the scale of the old judge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OldScaleMean {
    /// The system.
    pub system: SystemName,
    /// Its answers with a value by the new judge, over the cases with one of every system.
    pub answers: usize,
    /// Of these, the answers that the old judge scored.
    pub anchors: usize,
    /// Its mean by the new judge.
    pub new_mean: f64,
    /// The mean that the old judge is estimated to give these answers.
    pub estimate: Option<f64>,
    /// Its interval for these answers.
    pub interval: Option<Interval>,
    /// Its interval for the questions that these are a sample of.
    pub of_questions: Option<Interval>,
    /// The old judge's mean of the anchors alone.
    pub anchors_mean: Option<f64>,
    /// Its interval for these answers.
    pub anchors_interval: Option<Interval>,
    /// Why an estimate or an interval is missing.
    pub why_not: Option<String>,
}

impl OldScaleMean {
    /// The system with its mean by the new judge only.
    fn by_new(system: &SystemName, answers: usize, new_mean: f64) -> Self {
        Self {
            system: system.clone(),
            answers,
            anchors: 0,
            new_mean,
            estimate: None,
            interval: None,
            of_questions: None,
            anchors_mean: None,
            anchors_interval: None,
            why_not: None,
        }
    }
}

/// The values of one metric in the run by the old judge.
struct OldValues<'a>(HashMap<(&'a SystemName, &'a CaseId), f64>);

impl<'a> OldValues<'a> {
    fn of(old: &'a Observations, metric: &MetricId) -> Self {
        let mut values = HashMap::new();
        let table = old.metrics.iter().find(|table| table.metric == *metric);
        for (row, cells) in table
            .iter()
            .flat_map(|table| table.values.iter().enumerate())
        {
            for (at, cell) in cells.iter().enumerate() {
                if let Some(value) = cell.value() {
                    let key = (&old.systems[row].system, &old.cases[at].case_id);
                    values.insert(key, value);
                }
            }
        }
        Self(values)
    }

    /// The old judge's value of a shared case of the system at this rank.
    fn get(&self, shared: &SharedCases<'_>, rank: usize, case: usize) -> Option<f64> {
        let key = (&shared.system(rank).system, &shared.all.cases[case].case_id);
        self.0.get(&key).copied()
    }

    fn has_any(&self, system: &SystemName) -> bool {
        self.0.keys().any(|(known, _)| *known == system)
    }
}

/// The participants by name, which is not their order by score.
fn by_name(shared: &SharedCases<'_>) -> Vec<usize> {
    let mut ranks: Vec<usize> = (0..shared.participants).collect();
    ranks.sort_by_key(|rank| &shared.system(*rank).system);
    ranks
}

/// Every metric of `new` on the scale of `old`, which scored answers that were drawn at random from those of `new`. Runs are
/// given with their names.
pub fn anchored_scales(
    new: (&Observations, &str),
    old: (&Observations, &str),
    options: &ComparisonOptions,
) -> Vec<OldScale> {
    new.0.by_metric(options, |shared| {
        let values = OldValues::of(old.0, &shared.table.metric);
        if values.0.is_empty() || shared.cases.is_empty() {
            return None;
        }
        let ranks = by_name(shared).into_iter();
        let systems = ranks.map(|rank| anchored_system(shared, &values, rank));
        Some(OldScale {
            metric: shared.table.metric.clone(),
            old: old.1.to_owned(),
            new: new.1.to_owned(),
            basis: ScaleBasis::Anchors,
            systems_range: None,
            systems: systems.collect(),
        })
    })
}

fn anchored_system(shared: &SharedCases<'_>, values: &OldValues<'_>, rank: usize) -> OldScaleMean {
    let mut answers = Vec::new();
    for (at, case) in shared.cases.iter().enumerate() {
        answers.push(AnchoredAnswer {
            new: shared.values[rank][at],
            old: values.get(shared, rank, *case),
            question: shared.questions[at],
        });
    }
    let new_mean = mean(&shared.values[rank]).unwrap_or_default();
    let system = OldScaleMean::by_new(&shared.system(rank).system, answers.len(), new_mean);
    let range = shared.table.metric.range();
    let Some(anchored) = anchored_mean(&answers, range, shared.bootstrap()) else {
        return OldScaleMean {
            why_not: Some("none of its answers has a value by the old judge".to_owned()),
            ..system
        };
    };
    let why_not = anchored.interval.is_none().then(|| {
        format!(
            "needs more anchors; in at least {} the judges must differ by another amount than in most",
            fewest_differing(anchored.anchors)
        )
    });
    OldScaleMean {
        anchors: anchored.anchors,
        estimate: Some(anchored.estimate),
        interval: anchored.interval,
        of_questions: anchored.of_questions,
        anchors_mean: Some(anchored.alone),
        anchors_interval: anchored.alone_interval,
        why_not,
        ..system
    }
}

/// Every metric of `new` on the scale of `old`, for the systems that `old` does not have, by how those shift that both have.
/// Systems of these names are left out of the latter.
pub fn carried_scales(
    new: (&Observations, &str),
    old: (&Observations, &str),
    without: &[String],
    options: &ComparisonOptions,
) -> Vec<OldScale> {
    new.0.by_metric(options, |shared| {
        let values = OldValues::of(old.0, &shared.table.metric);
        let anchors = AnchorSystems::of(shared, &values, without);
        if anchors.ranks.is_empty() || anchors.cases.is_empty() {
            return None;
        }
        let mut ranks = by_name(shared);
        ranks.retain(|rank| !values.has_any(&shared.system(*rank).system));
        let systems = ranks.into_iter().map(|rank| anchors.carried(shared, rank));
        let names = anchors.ranks.iter();
        let names = names.map(|rank| shared.system(*rank).system.clone());
        Some(OldScale {
            metric: shared.table.metric.clone(),
            old: old.1.to_owned(),
            new: new.1.to_owned(),
            basis: ScaleBasis::Systems(names.collect()),
            systems_range: Some(anchors.range()),
            systems: systems.collect(),
        })
    })
}

/// Why a system has no estimate whose mean is not in [`OldScale::systems_range`].
const OUTSIDE: &str = "its mean by the new judge lies outside the range of those of the systems that both judges scored";

/// The systems that both judges scored.
struct AnchorSystems {
    ranks: Vec<usize>,
    /// Positions among the shared cases that the old judge scored for each of them.
    cases: Vec<usize>,
    /// By system the mean of old less new over these cases.
    shifts: Vec<f64>,
    /// Their means by the new judge over these cases.
    means: Vec<f64>,
}

impl AnchorSystems {
    fn of(shared: &SharedCases<'_>, values: &OldValues<'_>, without: &[String]) -> Self {
        let mut ranks = by_name(shared);
        ranks.retain(|rank| {
            let system = &shared.system(*rank).system;
            values.has_any(system) && !without.iter().any(|name| name == system.as_str())
        });
        let mut cases = Vec::new();
        for (at, case) in shared.cases.iter().enumerate() {
            let mut ranks = ranks.iter();
            if ranks.all(|rank| values.get(shared, *rank, *case).is_some()) {
                cases.push(at);
            }
        }
        let mut shifts = Vec::new();
        let mut means = Vec::new();
        for rank in &ranks {
            let mut differences = Vec::new();
            for at in &cases {
                let old = values.get(shared, *rank, shared.cases[*at]);
                differences.extend(old.map(|old| old - shared.values[*rank][*at]));
            }
            shifts.extend(mean(&differences));
            means.extend(mean_over(&shared.values[*rank], &cases));
        }
        Self {
            ranks,
            cases,
            shifts,
            means,
        }
    }

    /// The mean of another system on the old scale.
    fn carried(&self, shared: &SharedCases<'_>, rank: usize) -> OldScaleMean {
        let new_mean = mean_over(&shared.values[rank], &self.cases).unwrap_or_default();
        let name = &shared.system(rank).system;
        let system = OldScaleMean::by_new(name, self.cases.len(), new_mean);
        // Outside, judges may favor differently, and the shifts say nothing of it.
        let Interval { low, high } = self.range();
        if new_mean < low || new_mean > high {
            return OldScaleMean {
                why_not: Some(OUTSIDE.to_owned()),
                ..system
            };
        }
        let range = shared.table.metric.range();
        let Some(carried) = carried_mean(new_mean, &self.shifts, range, shared.options.level)
        else {
            return OldScaleMean {
                why_not: Some(format!(
                    "needs {FEWEST_ANCHOR_SYSTEMS} systems that both judges scored, has {}",
                    self.ranks.len()
                )),
                ..system
            };
        };
        let why_not = carried
            .interval
            .is_none()
            .then(|| "all systems that both judges scored shift by the same".to_owned());
        OldScaleMean {
            estimate: Some(carried.estimate),
            interval: carried.interval,
            why_not,
            ..system
        }
    }

    /// The lowest and the highest of their means by the new judge.
    fn range(&self) -> Interval {
        Interval::new(
            self.means.iter().copied().fold(f64::INFINITY, f64::min),
            self.means.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        )
    }
}

fn mean_over(values: &[f64], positions: &[usize]) -> Option<f64> {
    let kept: Vec<f64> = positions.iter().map(|at| values[*at]).collect();
    mean(&kept)
}

/// How exact means on the old scale are by their number of anchors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnchorPlan {
    /// The metric.
    pub metric: MetricId,
    /// Answers of each system, by the new judge.
    pub answers: usize,
    /// Answers that both judges scored.
    pub pilot: usize,
    /// Standard deviation of old less new within systems.
    pub sd: f64,
    /// Level of the intervals, 0..1.
    pub level: f64,
    /// By number of anchors a system.
    pub rows: Vec<AnchorRow>,
}

/// A number of anchors.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AnchorRow {
    /// Anchors of a system.
    pub anchors: usize,
    /// The half-width of the interval for these answers.
    pub half_width: f64,
    /// That of the old judge's mean of the anchors alone.
    pub alone: f64,
}

/// Numbers of anchors of a plan, of which those below the number of answers are shown.
const PLANNED_ANCHORS: [usize; 3] = [20, 30, 50];

/// The plan of a metric, from the answers that both runs scored; `None` if no system has two of them.
pub fn plan_anchors(
    new: &Observations,
    table: &MetricTable,
    old: &Observations,
    options: &ComparisonOptions,
) -> Option<AnchorPlan> {
    let shared = SharedCases::of(new, table, options);
    let values = OldValues::of(old, &table.metric);
    let mut differences = Spread::default();
    let mut by_old = Spread::default();
    for rank in 0..shared.participants {
        let mut old_values = Vec::new();
        let mut shifts = Vec::new();
        for (at, case) in shared.cases.iter().enumerate() {
            if let Some(value) = values.get(&shared, rank, *case) {
                old_values.push(value);
                shifts.push(value - shared.values[rank][at]);
            }
        }
        differences.add(&shifts);
        by_old.add(&old_values);
    }
    let sd = differences.sd()?;
    let sd_alone = by_old.sd()?;
    let answers = shared.cases.len();
    let mut rows = Vec::new();
    for anchors in PLANNED_ANCHORS {
        if anchors < answers {
            rows.push(AnchorRow {
                anchors,
                half_width: sampling_half_width(sd, anchors, answers, options.level)?,
                alone: sampling_half_width(sd_alone, anchors, answers, options.level)?,
            });
        }
    }
    Some(AnchorPlan {
        metric: table.metric.clone(),
        answers,
        pilot: differences.values,
        sd,
        level: options.level,
        rows,
    })
}

/// The common variance of several lists around the mean of each list.
#[derive(Default)]
struct Spread {
    squares: f64,
    degrees: f64,
    values: usize,
}

impl Spread {
    fn add(&mut self, list: &[f64]) {
        self.values += list.len();
        if let Some(deviation) = sd(list) {
            let degrees = list.len() as f64 - 1.0;
            self.squares += deviation * deviation * degrees;
            self.degrees += degrees;
        }
    }

    fn sd(&self) -> Option<f64> {
        (self.degrees > 0.0).then(|| (self.squares / self.degrees).sqrt())
    }
}

//! How a judge's levels fall on those of people: a table, and for each level sensitivity and specificity.
//!
//! Items have the weight 1 / probability with which their answer was drawn, so that the numbers are about all answers of the run
//! and not about those that were drawn more often because judges differed on them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::powered::Probabilities;
use super::result::{Confusion, LevelAccuracy};
use super::units::{Context, RatedUnit, RaterView};
use crate::analysis::ratings::{Estimate, distinct};
use crate::domain::{CaseId, SystemName};
use crate::stats::{WeightedUnit, weighted_share};

/// Scales with more levels have no table.
const MOST_LEVELS: usize = 5;

/// An item that people labeled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LabeledItem {
    /// The system.
    pub system: SystemName,
    /// The test case.
    pub case_id: CaseId,
    /// The item, as in ratings.
    pub item: Arc<str>,
}

/// A scale, and the items that were labeled on it.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemScale {
    /// The levels from the lowest to the highest, by name and value.
    pub levels: Vec<(String, f64)>,
    /// The items.
    pub items: BTreeSet<LabeledItem>,
}

/// An item by both.
struct BothLevels {
    human: usize,
    judge: usize,
    weight: f64,
    question: usize,
}

/// The confusions of a judge with the people's values, a scale each. `judge` and `human` have ratings of items.
pub(super) fn confusions(
    judge: &RaterView,
    human: &RaterView,
    scales: &[ItemScale],
    probabilities: &Probabilities,
    context: &Context<'_>,
) -> Vec<Confusion> {
    let mut all = Vec::new();
    for scale in scales {
        if scale.levels.len() <= MOST_LEVELS {
            all.extend(confusion(judge, human, scale, probabilities, context));
        }
    }
    all
}

fn confusion(
    judge: &RaterView,
    human: &RaterView,
    scale: &ItemScale,
    probabilities: &Probabilities,
    context: &Context<'_>,
) -> Option<Confusion> {
    let mut rows: Vec<BothLevels> = Vec::new();
    let mut split = 0;
    for item in &scale.items {
        let unit = RatedUnit {
            case_id: item.case_id.clone(),
            item: Some(Arc::clone(&item.item)),
            system: item.system.clone(),
        };
        let (Some(by_human), Some(by_judge)) = (human.values.get(&unit), judge.values.get(&unit))
        else {
            continue;
        };
        let levels = level_of(*by_human, scale).zip(level_of(*by_judge, scale));
        let Some((by_human, by_judge)) = levels else {
            split += 1;
            continue;
        };
        let answer = (item.system.clone(), item.case_id.clone());
        let probability = probabilities.get(&answer).copied().unwrap_or(1.0);
        rows.push(BothLevels {
            human: by_human,
            judge: by_judge,
            weight: 1.0 / probability,
            question: context.questions.number(&item.case_id),
        });
    }
    if rows.is_empty() {
        return None;
    }
    let levels = scale.levels.len();
    let total: f64 = rows.iter().map(|row| row.weight).sum();
    let mut counts = vec![vec![0; levels]; levels];
    let mut shares = vec![vec![0.0; levels]; levels];
    for row in &rows {
        counts[row.human][row.judge] += 1;
        shares[row.human][row.judge] += row.weight / total;
    }
    let questions: Vec<usize> = rows.iter().map(|row| row.question).collect();
    let first = if levels == 2 { 1 } else { 0 };
    let confidence = context.options.confidence;
    Some(Confusion {
        judge: Arc::clone(&judge.rater.name),
        levels: scale.levels.iter().map(|(name, _)| name.clone()).collect(),
        items: rows.len(),
        split,
        questions: distinct(&questions),
        counts,
        shares,
        accuracy: (first..levels)
            .map(|level| LevelAccuracy {
                level: scale.levels[level].0.clone(),
                sensitivity: share_of(&rows, |row| row.human == level, level, true, confidence),
                specificity: share_of(&rows, |row| row.human != level, level, false, confidence),
            })
            .collect(),
    })
}

/// The level next to a value; `None` for one in the middle of two.
fn level_of(value: f64, scale: &ItemScale) -> Option<usize> {
    let distance = |level: &(String, f64)| (level.1 - value).abs();
    let nearest = scale
        .levels
        .iter()
        .map(distance)
        .fold(f64::INFINITY, f64::min);
    let is_nearest = |level: &(String, f64)| distance(level) < nearest + 1e-9;
    let mut found = scale
        .levels
        .iter()
        .enumerate()
        .filter(|(_, level)| is_nearest(level));
    let first = found.next()?.0;
    if found.next().is_some() {
        return None;
    }
    Some(first)
}

/// Among the rows that are kept, the share of those that the judge puts at this level, or at another one.
fn share_of(
    rows: &[BothLevels],
    keep: impl Fn(&BothLevels) -> bool,
    level: usize,
    at_level: bool,
    confidence: f64,
) -> Estimate {
    let mut units = Vec::new();
    for row in rows.iter().filter(|row| keep(row)) {
        units.push(WeightedUnit {
            weight: row.weight,
            is_hit: (row.judge == level) == at_level,
            question: row.question,
        });
    }
    let count = units.len();
    let found = weighted_share(&units, confidence);
    let interval = found.and_then(|own| own.interval);
    let reason = "people gave no such label";
    Estimate::new(found.map(|own| own.share), || interval, reason).with_units(count)
}

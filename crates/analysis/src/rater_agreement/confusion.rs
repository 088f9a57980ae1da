//! How a judge's levels fall on those of people: a table, and for each level sensitivity and specificity.
//!
//! Items have the weight 1 / probability with which their answer, or they alone, were drawn, so that the numbers are about all answers of the run
//! and not about those that were drawn more often because judges differed on them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::result::{Confusion, LevelAccuracy};
use super::units::{Context, RatedUnit, RaterView};
use crate::ratings::{Estimate, distinct};
use scholareval_core::domain::{CaseId, DrawProbabilities, SystemName};
use scholareval_stats::{WeightedUnit, weighted_share};

/// Scales with more levels have no table.
const MOST_LEVELS: usize = 5;
/// Means of raters or samples in the middle of two levels are off it by less.
const ROUNDING: f64 = 1e-9;

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

impl BothLevels {
    fn unit(&self, is_hit: bool) -> WeightedUnit {
        WeightedUnit {
            weight: self.weight,
            is_hit,
            question: self.question,
        }
    }
}

/// The confusions of a judge with the people's values, a scale each. `judge` and `human` have ratings of items.
pub(super) fn confusions(
    judge: &RaterView,
    human: &RaterView,
    scales: &[ItemScale],
    probabilities: &DrawProbabilities,
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
    probabilities: &DrawProbabilities,
    context: &Context<'_>,
) -> Option<Confusion> {
    let (rows, split) = rows_of(judge, human, scale, probabilities, context);
    if rows.is_empty() {
        return None;
    }
    let levels = scale.levels.len();
    let total: f64 = rows.iter().map(|row| row.weight).sum();
    let mut counts = vec![vec![0; levels]; levels];
    let mut shares = vec![vec![0.0; levels]; levels];
    let mut questions = Vec::new();
    for row in &rows {
        counts[row.human][row.judge] += 1;
        shares[row.human][row.judge] += row.weight / total;
        questions.push(row.question);
    }
    // Of two levels, the lower one's numbers are those of the upper one exchanged.
    let first = if levels == 2 { 1 } else { 0 };
    let mut accuracy = Vec::new();
    for level in first..levels {
        accuracy.push(level_accuracy(&rows, level, scale, context));
    }
    Some(Confusion {
        judge: Arc::clone(&judge.rater.name),
        levels: scale.levels.iter().map(|(name, _)| name.clone()).collect(),
        items: rows.len(),
        split,
        questions: distinct(&questions),
        counts,
        shares,
        accuracy,
    })
}

/// The items of a scale that both rated, and how many of them have no level by one of the two.
fn rows_of(
    judge: &RaterView,
    human: &RaterView,
    scale: &ItemScale,
    probabilities: &DrawProbabilities,
    context: &Context<'_>,
) -> (Vec<BothLevels>, usize) {
    let mut rows = Vec::new();
    let mut split = 0;
    for item in &scale.items {
        let unit = RatedUnit {
            case_id: item.case_id.clone(),
            item: Some(Arc::clone(&item.item)),
            system: item.system.clone(),
        };
        let values = human.values.get(&unit).zip(judge.values.get(&unit));
        let Some((by_human, by_judge)) = values else {
            continue;
        };
        let levels = level_of(*by_human, scale).zip(level_of(*by_judge, scale));
        let Some((human, judge)) = levels else {
            split += 1;
            continue;
        };
        let probability = probabilities.of(&item.system, &item.case_id, Some(&item.item));
        rows.push(BothLevels {
            human,
            judge,
            weight: 1.0 / probability.unwrap_or(1.0),
            question: context.questions.number(&item.case_id),
        });
    }
    (rows, split)
}

/// The level next to a value; `None` for one in the middle of two.
fn level_of(value: f64, scale: &ItemScale) -> Option<usize> {
    let mut nearest = None;
    let mut least = f64::INFINITY;
    for (level, (_, level_value)) in scale.levels.iter().enumerate() {
        let distance = (level_value - value).abs();
        if (distance - least).abs() < ROUNDING {
            nearest = None;
        } else if distance < least {
            nearest = Some(level);
            least = distance;
        }
    }
    nearest
}

/// How well the judge recognizes a level.
fn level_accuracy(
    rows: &[BothLevels],
    level: usize,
    scale: &ItemScale,
    context: &Context<'_>,
) -> LevelAccuracy {
    let confidence = context.options.confidence;
    let mut with_level = Vec::new();
    let mut others = Vec::new();
    for row in rows {
        let is_judged = row.judge == level;
        if row.human == level {
            with_level.push(row.unit(is_judged));
        } else {
            others.push(row.unit(!is_judged));
        }
    }
    LevelAccuracy {
        level: scale.levels[level].0.clone(),
        sensitivity: share_of(&with_level, confidence),
        specificity: share_of(&others, confidence),
        worth: [effective_number(&with_level), effective_number(&others)],
    }
}

/// The number of labels of one weight that these are worth (Kish), rounded down: (sum w)^2 / sum w^2.
fn effective_number(labels: &[WeightedUnit]) -> usize {
    let sum: f64 = labels.iter().map(|label| label.weight).sum();
    let squares: f64 = labels.iter().map(|label| label.weight * label.weight).sum();
    // Of n equal weights the quotient is n but for rounding.
    let worth = (sum * sum / squares + ROUNDING).floor();
    (worth as usize).clamp(usize::from(!labels.is_empty()), labels.len())
}

fn share_of(units: &[WeightedUnit], confidence: f64) -> Estimate {
    let weighted = weighted_share(units, confidence);
    let interval = weighted.and_then(|share| share.interval);
    let reason = "people gave no such label";
    Estimate::new(weighted.map(|share| share.share), || interval, reason).with_units(units.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_nearest_level_and_none_in_the_middle_of_two() {
        let named = |(name, value): (&str, f64)| (name.to_owned(), value);
        let scale = ItemScale {
            levels: [("none", 0.0), ("half", 0.5), ("full", 1.0)]
                .map(named)
                .to_vec(),
            items: BTreeSet::new(),
        };
        let levels =
            [0.0, 0.2, 0.25, 0.5, 0.74, 0.75, 0.9, 1.0].map(|value| level_of(value, &scale));
        let expected = [
            Some(0),
            Some(0),
            None,
            Some(1),
            Some(1),
            None,
            Some(2),
            Some(2),
        ];
        assert_eq!(levels, expected);
    }
}

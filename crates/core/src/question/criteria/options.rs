//! The levels of a scale as the options of a decision.

use crate::domain::{CaseCriterion, CriterionVerdict, ReplyForm, ReplyShape, Verdict, text_of};
use crate::question::decision::{DecisionForm, DecisionOption};

/// The most levels of an ordered scale; a longer one is a choice.
const MOST_LEVELS: usize = 10;
/// The most options of a choice.
const MOST_OPTIONS: usize = 255;

/// How the levels of a criterion may be answered; `None` where a reply has two scores, or any number between two.
pub(super) fn of_criterion(
    criterion: &CaseCriterion,
    shape: &ReplyShape,
) -> Option<(DecisionForm, Vec<DecisionOption>)> {
    // A number behind a mark has decimals, which options lose.
    let is_any_number = shape.continuous && shape.form == ReplyForm::Mark;
    if !shape.second.is_empty() || is_any_number {
        return None;
    }
    if shape.continuous {
        return Some((DecisionForm::Choice, whole_numbers(criterion, shape)?));
    }
    let mut options: Vec<DecisionOption> = Vec::new();
    for (place, level) in shape.levels.iter().enumerate() {
        let option = DecisionOption::new(text_of(&level.level), verdict(shape.verdict_of(level)));
        options.push(option.meaning(criterion.means_at(place).unwrap_or(&level.means)));
    }
    if !shape.abstain.is_empty() {
        let none = CriterionVerdict::default();
        options.push(DecisionOption::new(&*shape.abstain, verdict(none)));
        return Some((DecisionForm::Choice, options));
    }
    if options.len() > MOST_LEVELS {
        return (options.len() <= MOST_OPTIONS).then_some((DecisionForm::Choice, options));
    }
    // Worst first, as a scale is counted from 0 and a statement is false or true.
    options.sort_by(|a, b| {
        a.verdict
            .number()
            .partial_cmp(&b.verdict.number())
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let form = match options.len() {
        0 | 1 => return None,
        2 => DecisionForm::Predicate,
        _ => DecisionForm::Score,
    };
    Some((form, options))
}

/// The whole numbers of a continuous scale, with the meanings of those that are levels.
fn whole_numbers(criterion: &CaseCriterion, shape: &ReplyShape) -> Option<Vec<DecisionOption>> {
    let levels: Option<Vec<i64>> = [shape.levels.first()?, shape.levels.last()?]
        .map(|level| level.level.as_f64().filter(|end| end.fract() == 0.0))
        .into_iter()
        .map(|end| end.map(|end| end as i64))
        .collect();
    let levels = levels?;
    let (low, high) = (*levels.iter().min()?, *levels.iter().max()?);
    if high.saturating_sub(low) >= MOST_OPTIONS as i64 {
        return None;
    }
    let mut options = Vec::new();
    for number in low..=high {
        let value = number as f64;
        let option = DecisionOption::new(number.to_string(), verdict(shape.verdict_at(value)));
        let mut levels = shape.levels.iter().enumerate();
        let level = levels.find(|(_, level)| level.level.as_f64() == Some(value));
        let means = level.map(|(place, level)| criterion.means_at(place).unwrap_or(&level.means));
        options.push(option.meaning(means.unwrap_or_default()));
    }
    Some(options)
}

fn verdict(of_level: CriterionVerdict) -> Verdict {
    Verdict::Criteria([of_level].into())
}

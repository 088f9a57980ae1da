//! What sheets ask of answers, and the scores of these units as ratings of items and of whole answers: by the same rule for people
//! and for judges.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::scales::scale_of;
use super::units::RunTasks;
use crate::analysis::rater_agreement::{ItemScale, LabeledItem};
use crate::domain::{
    CaseId, GivenLabel, LabelKind, LabelScale, LabelSheet, LabelUnit, Rater, RaterKind, Rating,
    ScoredAnswer, SystemName,
};
use crate::error::Result;
use crate::record::RecordedRun;
use crate::stats::mean;

/// An answer by its system and its case.
pub(super) type AnswerKey = (SystemName, CaseId);

/// The weight of each unit in the score of its answer.
pub(super) type UnitWeights = HashMap<AnswerKey, HashMap<LabelUnit, f64>>;

/// The units that sheets ask about.
#[derive(Debug, Clone, Default)]
pub(super) struct AskedUnits {
    by_answer: BTreeMap<AnswerKey, BTreeSet<LabelUnit>>,
    kinds: BTreeSet<LabelKind>,
    /// Whose units are asked about: another run may have further scorers.
    scorers: BTreeSet<(LabelKind, String)>,
    /// Names that the units of several scorers have.
    ambiguous: BTreeSet<String>,
    /// Whether single verdicts were drawn, so that nobody was asked for the whole of an answer.
    of_verdicts: bool,
}

impl AskedUnits {
    pub(super) fn of(sheets: &[LabelSheet]) -> Self {
        let mut units = Self::default();
        let mut scorer_of: BTreeMap<String, &str> = BTreeMap::new();
        for sheet in sheets {
            units.of_verdicts |= sheet.verdicts.is_some();
            for item in &sheet.items {
                let unit = &item.unit;
                let answer = &sheet.frame[item.answer];
                let key = (answer.system.clone(), answer.case_id.clone());
                units.by_answer.entry(key).or_default().insert(unit.clone());
                units.kinds.insert(unit.kind);
                units.scorers.insert((unit.kind, unit.scorer.clone()));
                let first = scorer_of.entry(plain_name(unit)).or_insert(&unit.scorer);
                if *first != unit.scorer {
                    units.ambiguous.insert(plain_name(unit));
                }
            }
        }
        units
    }

    /// The scorers whose units are asked about.
    pub(super) fn scorers(&self) -> BTreeSet<String> {
        self.scorers
            .iter()
            .map(|(_, scorer)| scorer.clone())
            .collect()
    }

    /// The name of a unit among the items of an answer: as in `items.csv`, unless two scorers use it.
    pub(super) fn item_name(&self, unit: &LabelUnit) -> String {
        let name = plain_name(unit);
        if self.ambiguous.contains(&name) {
            format!("{name} ({})", unit.scorer)
        } else {
            name
        }
    }

    /// The weights of the units in these runs; the first run with one decides.
    pub(super) fn weights(&self, runs: &[RecordedRun]) -> UnitWeights {
        let mut weights = UnitWeights::new();
        for answer in runs.iter().flat_map(|run| &run.scored) {
            let key = (answer.system.clone(), answer.case.case_id.clone());
            let of_answer = weights.entry(key).or_default();
            for component in &answer.score.components {
                // Claims have numbers for names, and no weight.
                for kind in self.kinds.iter().filter(|kind| **kind != LabelKind::Claim) {
                    let unit = LabelUnit {
                        kind: *kind,
                        scorer: answer.score.scorer.name().to_owned(),
                        name: component.name.clone(),
                    };
                    let weight = of_answer.entry(unit).or_default();
                    // A judge that cannot assess a criterion leaves it no weight; another run may have it.
                    if *weight == 0.0 {
                        *weight = component.weight;
                    }
                }
            }
        }
        weights
    }

    /// Adds the ratings of an answer's units, and that of the whole answer if every unit on the sheets has one; returns whether it
    /// has.
    pub(super) fn rate(
        &self,
        rater: &mut Rater,
        answer: &AnswerKey,
        values: &BTreeMap<&LabelUnit, f64>,
        weights: &UnitWeights,
    ) -> bool {
        let mut expected = self.by_answer.get(answer).into_iter().flatten();
        let is_complete = expected.all(|unit| values.contains_key(unit));
        self.rate_units(rater, answer, values, weights, is_complete)
    }

    /// Adds the ratings of an answer's units, and, if it is complete and answers were drawn, that of the whole answer; returns whether
    /// it has one.
    fn rate_units(
        &self,
        rater: &mut Rater,
        answer: &AnswerKey,
        values: &BTreeMap<&LabelUnit, f64>,
        weights: &UnitWeights,
        is_complete: bool,
    ) -> bool {
        for (unit, value) in values {
            if unit.kind != LabelKind::Answer {
                let name = self.item_name(unit);
                rater.ratings.push(rating(answer, Some(name), *value));
            }
        }
        let whole = if is_complete && !self.of_verdicts {
            self.whole_of(values, weights.get(answer))
        } else {
            None
        };
        rater
            .ratings
            .extend(whole.map(|value| rating(answer, None, value)));
        whole.is_some()
    }

    /// The value of a whole answer from those of its units, by the rule of scores: credits by weight over the positive weights, so
    /// that full marks are 1; without weights the mean. Of whole answers the label itself.
    fn whole_of(
        &self,
        values: &BTreeMap<&LabelUnit, f64>,
        weights: Option<&HashMap<LabelUnit, f64>>,
    ) -> Option<f64> {
        let kind = self.whole_kind()?;
        let mut plain = Vec::new();
        let mut credits = 0.0;
        let mut positive = 0.0;
        for (unit, value) in values.iter().filter(|(unit, _)| unit.kind == kind) {
            let weight = weights.and_then(|weights| weights.get(*unit).copied());
            credits += weight.unwrap_or_default() * value;
            positive += weight.unwrap_or_default().max(0.0);
            plain.push(*value);
        }
        if positive > 0.0 {
            Some(credits / positive)
        } else {
            mean(&plain)
        }
    }

    /// The kind that whole answers are valued by, the same one for all: kinds differ in their scales.
    fn whole_kind(&self) -> Option<LabelKind> {
        if self.kinds.contains(&LabelKind::Answer) {
            return Some(LabelKind::Answer);
        }
        self.kinds.first().copied()
    }

    /// A run's judge as a rater of the units that are asked about: of each answer these units, and the whole from exactly these.
    /// `None` if whole answers or pairs were labeled, which are compared with the scores of the run.
    pub(super) fn judge(&self, name: &str, run: &RecordedRun) -> Result<Option<Rater>> {
        let has_no_unit = |kind: &LabelKind| matches!(kind, LabelKind::Answer | LabelKind::Pair);
        if self.kinds.is_empty() || self.kinds.iter().any(has_no_unit) {
            return Ok(None);
        }
        let weights = self.weights(std::slice::from_ref(run));
        let tasks = RunTasks::new(run);
        let mut rater = Rater::new(name, RaterKind::Judge);
        for item in &run.items {
            let answer = (item.answer.system.clone(), item.case.case_id.clone());
            let mut units = Vec::new();
            for task in tasks.tasks(item, &self.kinds)? {
                let scorer = (task.unit.kind, task.unit.scorer.clone());
                if self.scorers.contains(&scorer) {
                    units.push(task.unit);
                }
            }
            let scores = tasks.scores(item);
            let mut values: BTreeMap<&LabelUnit, f64> = BTreeMap::new();
            for unit in &units {
                values.extend(judged_value(unit, scores).map(|value| (unit, value)));
            }
            let is_complete = units.iter().all(|unit| values.contains_key(unit));
            self.rate_units(&mut rater, &answer, &values, &weights, is_complete);
        }
        Ok(Some(rater))
    }

    /// The labeled items of each scale of numbers.
    pub(super) fn scales(&self, sheets: &[LabelSheet]) -> Vec<ItemScale> {
        let mut scales: Vec<ItemScale> = Vec::new();
        for sheet in sheets {
            for item in &sheet.items {
                let levels = levels_of(&sheet.scales[item.scale]);
                if item.unit.kind == LabelKind::Answer || levels.is_empty() {
                    continue;
                }
                let answer = &sheet.frame[item.answer];
                let labeled = LabeledItem {
                    system: answer.system.clone(),
                    case_id: answer.case_id.clone(),
                    item: self.item_name(&item.unit).into(),
                };
                match scales.iter_mut().find(|scale| scale.levels == levels) {
                    Some(scale) => {
                        scale.items.insert(labeled);
                    }
                    None => scales.push(ItemScale {
                        levels,
                        items: BTreeSet::from([labeled]),
                    }),
                }
            }
        }
        scales
    }
}

/// The levels of a run's criteria from the lowest, by name and value; `None` without criteria on a scale for people.
pub(in crate::runs) fn criteria_levels(run: &RecordedRun) -> Option<Vec<(String, f64)>> {
    let profile = run.manifest.criteria_profile()?;
    let scale = scale_of(&profile.reply).ok()?;
    Some(levels_of(&scale))
}

/// The levels that are numbers, by name and value.
fn levels_of(scale: &LabelScale) -> Vec<(String, f64)> {
    let mut levels = Vec::new();
    for level in &scale.levels {
        if let GivenLabel::Value(value) = level.label {
            levels.push((level.name.clone(), value));
        }
    }
    levels
}

/// The name of a unit in `items.csv`.
fn plain_name(unit: &LabelUnit) -> String {
    match unit.kind {
        LabelKind::Claim => format!("claim {}", unit.name),
        _ => unit.name.clone(),
    }
}

/// A rating of an item of an answer, or of the whole answer.
fn rating(answer: &AnswerKey, item: Option<String>, value: f64) -> Rating {
    Rating {
        system: answer.0.clone(),
        case_id: answer.1.clone(),
        item: item.map(Into::into),
        value,
    }
}

/// The judge's value of a unit.
fn judged_value(unit: &LabelUnit, scores: &[&ScoredAnswer]) -> Option<f64> {
    let scores = scores.iter();
    let mut of_scorer = scores.filter(|answer| answer.score.scorer.name() == unit.scorer);
    match unit.kind {
        LabelKind::Criterion | LabelKind::Aspect => {
            of_scorer.find_map(|answer| answer.score.component(&unit.name)?.value)
        }
        LabelKind::Claim => {
            let index: usize = unit.name.parse().ok()?;
            let claim = of_scorer.find_map(|answer| answer.score.claims.get(index))?;
            let is_supported = claim.supported?;
            Some(f64::from(u8::from(is_supported)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(kind: LabelKind, scorer: &str, name: &str) -> LabelUnit {
        LabelUnit {
            kind,
            scorer: scorer.to_owned(),
            name: name.to_owned(),
        }
    }

    fn asked_units(units: &[LabelUnit]) -> AskedUnits {
        let key: AnswerKey = ("s".into(), "c".into());
        AskedUnits {
            by_answer: BTreeMap::from([(key, units.iter().cloned().collect())]),
            kinds: units.iter().map(|unit| unit.kind).collect(),
            ..AskedUnits::default()
        }
    }

    fn whole(rater: &Rater) -> Option<f64> {
        let mut ratings = rater.ratings.iter();
        ratings
            .find(|rating| rating.item.is_none())
            .map(|rating| rating.value)
    }

    #[test]
    fn whole_answers_have_one_scale_when_units_have_two() {
        let criterion = unit(LabelKind::Criterion, "criteria", "c1");
        let aspect = unit(LabelKind::Aspect, "prometheus", "coverage");
        let asked_units = asked_units(&[criterion.clone(), aspect.clone()]);
        let weights = UnitWeights::new();
        let rated = |answer: AnswerKey, values: &[(&LabelUnit, f64)]| {
            let mut rater = Rater::new("ann", RaterKind::Human);
            let values = values.iter().copied().collect();
            asked_units.rate(&mut rater, &answer, &values, &weights);
            rater
        };
        let both = rated(
            ("s".into(), "c".into()),
            &[(&criterion, 0.5), (&aspect, 4.0)],
        );
        assert_eq!((whole(&both), both.ratings.len()), (Some(0.5), 3));
        // Another answer has grades alone: 4 of 5 is no credit of 0 to 1.
        let grades = rated(("t".into(), "c".into()), &[(&aspect, 4.0)]);
        assert_eq!((whole(&grades), grades.ratings.len()), (None, 1));
    }

    #[test]
    fn credits_count_by_their_weights_over_the_positive_ones() {
        let [met, fault] =
            ["met", "fault"].map(|name| unit(LabelKind::Criterion, "criteria", name));
        let asked_units = asked_units(&[met.clone(), fault.clone()]);
        let key: AnswerKey = ("s".into(), "c".into());
        let of_answer = HashMap::from([(met.clone(), 4.0), (fault.clone(), -2.0)]);
        let weights = UnitWeights::from([(key.clone(), of_answer)]);
        let mut rater = Rater::new("ann", RaterKind::Human);
        let values = BTreeMap::from([(&met, 1.0), (&fault, 0.5)]);
        assert!(asked_units.rate(&mut rater, &key, &values, &weights));
        assert_eq!(whole(&rater), Some(0.75));
        let mut partly = Rater::new("ben", RaterKind::Human);
        let values = BTreeMap::from([(&met, 1.0)]);
        assert!(!asked_units.rate(&mut partly, &key, &values, &weights));
    }

    #[test]
    fn units_of_two_scorers_keep_two_names() {
        let units = ["one", "two"].map(|scorer| unit(LabelKind::Claim, scorer, "0"));
        let mut asked_units = asked_units(&units);
        asked_units.ambiguous.insert("claim 0".to_owned());
        let names = units.map(|unit| asked_units.item_name(&unit));
        assert_eq!(names, ["claim 0 (one)", "claim 0 (two)"]);
    }
}

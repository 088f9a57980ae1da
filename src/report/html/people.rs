//! Labels of people next to the judge's values: their labels of each answer, and the cases in which they differ from the judge.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::HtmlReport;
use crate::analysis::comparison::Observation;
use crate::domain::{
    CaseId, Component, Preference, Rater, RaterKind, ScoredAnswer, SystemName, Unit,
};
use crate::runs::RunLabels;
use crate::stats::mean;

/// Judge and people differ in an item if their values are this share of the scale apart.
// One grade of five, and less than one of two levels.
pub(super) const FAR_APART: f64 = 0.25;

/// People's labels of one item of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ItemLabels {
    /// The component; empty for the whole answer.
    item: String,
    /// The raters with their labels.
    labels: Vec<(String, f64)>,
    /// The adjudicated label or the mean of the raters; `None` unless it is on the component's scale. Of a whole answer what pages
    /// of `label` give, which the script shows with the unit and the weights of the labeled components.
    together: Option<f64>,
    /// Whether that is far from the judge's value.
    differs: bool,
    /// The label that the files give for all raters together.
    #[serde(skip)]
    adjudicated: Option<f64>,
}

/// Which of two answers a person prefers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct PreferenceLabel {
    rater: String,
    /// Indices of the systems, the better one first unless it is a tie.
    systems: [usize; 2],
    is_tie: bool,
    /// Whether the judge's scores order the two the other way.
    differs: bool,
}

/// The labels by answer and by case.
#[derive(Default)]
pub(super) struct People<'a> {
    items: HashMap<&'a CaseId, BTreeMap<&'a SystemName, Vec<ItemLabels>>>,
    preferences: HashMap<&'a CaseId, Vec<PreferenceLabel>>,
    /// Cases in which whole answers are ordered otherwise.
    reordered: HashSet<&'a CaseId>,
}

impl<'a> People<'a> {
    /// The labels with the judge's values of the same items; the metric at `first` orders whole answers.
    pub(super) fn of(report: &HtmlReport<'a>, first: usize) -> Self {
        let mut people = Self::default();
        // Labels are of a single run's answers.
        let ([run], Some(labels)) = (report.runs, report.labels) else {
            return people;
        };
        let scored = by_answer(&run.scored);
        let given = given_labels(labels);
        let other_scales = other_scales(&given, &scored);
        for (answer, by_item) in &given {
            let mut items = Vec::new();
            for (item, given) in by_item {
                let judged = component_of(&scored, answer, item);
                items.push(given.next_to(item, judged, &other_scales));
            }
            let (system, case) = *answer;
            let of_case = people.items.entry(case).or_default();
            of_case.insert(system, items);
        }
        let judge = JudgeOrder::of(report, first);
        people.add_preferences(labels, &judge);
        people.find_reordered(&judge);
        people
    }

    /// People's labels of the items of an answer.
    pub(super) fn of_answer(&self, system: &SystemName, case: &CaseId) -> &[ItemLabels] {
        let items = self.items.get(case).and_then(|systems| systems.get(system));
        items.map_or(&[], Vec::as_slice)
    }

    /// Which answers people prefer in a case.
    pub(super) fn preferences(&self, case: &CaseId) -> &[PreferenceLabel] {
        self.preferences.get(case).map_or(&[], Vec::as_slice)
    }

    /// How many cases people labeled.
    pub(super) fn labeled_cases(&self) -> usize {
        let labeled = self.items.keys().chain(self.preferences.keys());
        labeled.collect::<HashSet<_>>().len()
    }

    /// The indices of the cases in which people and judge differ.
    pub(super) fn differing_cases(&self, report: &HtmlReport<'_>) -> Vec<usize> {
        let mut differing: HashSet<&CaseId> = self.reordered.clone();
        for (case, systems) in &self.items {
            if systems.values().flatten().any(|item| item.differs) {
                differing.insert(case);
            }
        }
        for (case, preferences) in &self.preferences {
            if preferences.iter().any(|preference| preference.differs) {
                differing.insert(case);
            }
        }
        let cases = report.observations.cases.iter().enumerate();
        let shown = cases.filter(|(_, case)| differing.contains(&case.case_id));
        shown.map(|(at, _)| at).collect()
    }

    fn add_preferences(&mut self, labels: &'a RunLabels, judge: &JudgeOrder<'_>) {
        for rater in people_of(&labels.raters) {
            for (pair, preference) in &rater.preferences {
                let places = [&pair.first, &pair.second].map(|name| judge.place_of(name));
                let [Some(first), Some(second)] = places else {
                    continue;
                };
                let systems = match preference {
                    Preference::First | Preference::Tie => [first, second],
                    Preference::Second => [second, first],
                };
                let is_tie = *preference == Preference::Tie;
                let of_case = self.preferences.entry(&pair.case_id).or_default();
                of_case.push(PreferenceLabel {
                    rater: rater.name.to_string(),
                    systems,
                    is_tie,
                    differs: !is_tie && judge.is_reverse(&pair.case_id, systems),
                });
            }
        }
    }

    /// Finds the cases in which labels of whole answers order two systems one way and the judge's scores the other.
    fn find_reordered(&mut self, judge: &JudgeOrder<'_>) {
        for (case, systems) in &self.items {
            let mut labeled = Vec::new();
            for (system, items) in systems {
                let of_whole = items.iter().find(|item| item.item.is_empty());
                labeled.extend(judge.place_of(system).zip(of_whole));
            }
            for (better, labels) in &labeled {
                for (worse, others) in &labeled {
                    if labels.are_above(others) && judge.is_reverse(case, [*better, *worse]) {
                        self.reordered.insert(case);
                    }
                }
            }
        }
    }
}

impl ItemLabels {
    /// Whether people put this answer above the other one: by adjudicated labels, else by the raters who labeled both. Each
    /// rater has a scale, so that labels of two raters say nothing of two answers.
    fn are_above(&self, other: &Self) -> bool {
        if let (Some(label), Some(other)) = (self.adjudicated, other.adjudicated) {
            return label > other;
        }
        let mut difference = 0.0;
        for (rater, value) in &self.labels {
            let mut others = other.labels.iter();
            if let Some((_, other)) = others.find(|(name, _)| name == rater) {
                difference += value - other;
            }
        }
        difference > 0.0
    }
}

/// An answer: its system and its case.
type AnswerKey<'a> = (&'a SystemName, &'a CaseId);

type ScoresByAnswer<'a> = HashMap<AnswerKey<'a>, Vec<&'a ScoredAnswer>>;

/// The scores of each answer.
fn by_answer(scored: &[Arc<ScoredAnswer>]) -> ScoresByAnswer<'_> {
    let mut by_answer: HashMap<_, Vec<&ScoredAnswer>> = HashMap::new();
    for scored_answer in scored {
        let answer = (&scored_answer.system, &scored_answer.case.case_id);
        by_answer.entry(answer).or_default().push(scored_answer);
    }
    by_answer
}

fn people_of(raters: &[Rater]) -> impl Iterator<Item = &Rater> {
    raters.iter().filter(|rater| rater.kind == RaterKind::Human)
}

/// The labels of an item.
#[derive(Default)]
struct GivenLabels<'a> {
    by_rater: Vec<(&'a str, f64)>,
    /// The adjudicated label, or the mean of the raters, where labels say which.
    together: Option<f64>,
}

/// Who gives labels: a rater, or all together (`None`).
type Labeler<'a> = Option<&'a str>;

impl<'a> GivenLabels<'a> {
    /// The labels that count: that of all together, else those of the raters.
    fn counted(&self) -> Vec<(Labeler<'a>, f64)> {
        if let Some(value) = self.together {
            return vec![(None, value)];
        }
        let raters = self.by_rater.iter();
        let labels = raters.map(|(rater, value)| (Some(*rater), *value));
        labels.collect()
    }

    /// The labels next to the judge's value.
    fn next_to(
        &self,
        item: &str,
        judged: Option<&Component>,
        other_scales: &HashSet<(Labeler<'a>, Unit)>,
    ) -> ItemLabels {
        let unit = judged.map(|component| component.kind.unit());
        let mut values = Vec::new();
        let mut are_comparable = true;
        for (labeler, value) in self.counted() {
            values.push(value);
            are_comparable &= unit.is_some_and(|unit| !other_scales.contains(&(labeler, unit)));
        }
        let on_scale = mean(&values).filter(|_| are_comparable);
        let raters = self.by_rater.iter();
        ItemLabels {
            item: item.to_owned(),
            labels: raters
                .map(|(rater, value)| ((*rater).to_owned(), *value))
                .collect(),
            together: on_scale.or(self.together.filter(|_| item.is_empty())),
            differs: on_scale
                .zip(judged)
                .is_some_and(|(label, judged)| is_far(judged, label)),
            adjudicated: self.together,
        }
    }
}

/// The component that an item names.
fn component_of<'a>(
    scored: &ScoresByAnswer<'a>,
    answer: &AnswerKey<'_>,
    item: &str,
) -> Option<&'a Component> {
    let scores = scored.get(answer)?;
    let mut components = scores.iter().flat_map(|scored| &scored.score.components);
    components.find(|component| component.name == item)
}

/// Who labels components of which unit on another scale: with any label outside of it. Those labels are shown and not
/// compared, also the ones that happen to be inside: 1 is the lowest of five grades and the highest share.
fn other_scales<'a>(
    given: &HashMap<AnswerKey<'a>, LabelsByItem<'a>>,
    scored: &ScoresByAnswer<'a>,
) -> HashSet<(Labeler<'a>, Unit)> {
    let mut scales = HashSet::new();
    for (answer, by_item) in given {
        for (item, labels) in by_item {
            let Some(component) = component_of(scored, answer, item) else {
                continue;
            };
            let unit = component.kind.unit();
            let (low, high) = unit.range();
            for (labeler, value) in labels.counted() {
                if !(low..=high).contains(&value) {
                    scales.insert((labeler, unit));
                }
            }
        }
    }
    scales
}

fn is_far(component: &Component, label: f64) -> bool {
    let (low, high) = component.kind.unit().range();
    let value = component.value;
    let distance = value.map(|value| (value - label).abs() / (high - low));
    // Values that were summed differ from a quarter by rounding.
    distance.is_some_and(|distance| distance >= FAR_APART - 1e-9)
}

type LabelsByItem<'a> = BTreeMap<&'a str, GivenLabels<'a>>;

/// The labels of people by answer and item.
fn given_labels(labels: &RunLabels) -> HashMap<AnswerKey<'_>, LabelsByItem<'_>> {
    let mut given: HashMap<_, LabelsByItem<'_>> = HashMap::new();
    let raters = people_of(&labels.raters).map(|rater| (rater, false));
    let together = labels.together.iter().map(|rater| (rater, true));
    for (rater, is_together) in raters.chain(together) {
        for rating in &rater.ratings {
            let answer = given.entry((&rating.system, &rating.case_id)).or_default();
            let name = rating.item.as_deref().unwrap_or_default();
            let item = answer.entry(name).or_default();
            if is_together {
                item.together = Some(rating.value);
            } else {
                item.by_rater.push((&rater.name, rating.value));
            }
        }
    }
    given
}

/// How the judge orders the answers to a question.
struct JudgeOrder<'a> {
    systems: HashMap<&'a SystemName, usize>,
    cases: HashMap<&'a CaseId, usize>,
    values: &'a [Vec<Observation>],
    higher_is_better: bool,
}

impl<'a> JudgeOrder<'a> {
    fn of(report: &HtmlReport<'a>, first: usize) -> Self {
        let systems = report.comparison.systems.iter().enumerate();
        let cases = report.observations.cases.iter().enumerate();
        let metric = report.comparison.metrics.get(first);
        let metric = metric.map(|metric| &metric.metric);
        let mut tables = report.observations.metrics.iter();
        let table = tables.find(|table| metric == Some(&table.metric));
        Self {
            systems: systems.map(|(at, system)| (&system.system, at)).collect(),
            cases: cases.map(|(at, case)| (&case.case_id, at)).collect(),
            values: table.map_or(&[], |table| &table.values),
            higher_is_better: metric.is_some_and(|metric| metric.higher_is_better),
        }
    }

    fn place_of(&self, system: &SystemName) -> Option<usize> {
        self.systems.get(system).copied()
    }

    /// Whether the judge puts the second of these answers above the first.
    fn is_reverse(&self, case: &CaseId, systems: [usize; 2]) -> bool {
        let Some(case) = self.cases.get(case) else {
            return false;
        };
        let values = systems.map(|system| self.values.get(system)?.get(*case)?.value());
        let [Some(first), Some(second)] = values else {
            return false;
        };
        if self.higher_is_better {
            first < second
        } else {
            first > second
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_support::{answer, component, score};
    use crate::domain::{ComponentKind, Rating};

    fn labels(by_rater: &[(&str, f64)], adjudicated: Option<f64>) -> ItemLabels {
        let given = GivenLabels {
            by_rater: by_rater.to_vec(),
            together: adjudicated,
        };
        given.next_to("", None, &HashSet::new())
    }

    #[test]
    fn labels_of_a_rater_with_another_scale_are_not_compared() {
        let part = |value| component("p", ComponentKind::Property, 1.0, Some(value));
        let scored = [
            Arc::new(answer("gpt", "c1", score(vec![part(0.0)]))),
            Arc::new(answer("gpt", "c2", score(vec![part(1.0)]))),
        ];
        let rated = |rater: &str, values: [f64; 2]| {
            let mut rater = Rater::new(rater, RaterKind::Human);
            for (scored_answer, value) in scored.iter().zip(values) {
                rater.ratings.push(Rating {
                    system: scored_answer.system.clone(),
                    case_id: scored_answer.case.case_id.clone(),
                    item: Some("p".into()),
                    value,
                });
            }
            rater
        };
        let compared = |raters: Vec<Rater>| {
            let labels = RunLabels {
                raters,
                ..RunLabels::default()
            };
            let scored = by_answer(&scored);
            let given = given_labels(&labels);
            let other_scales = other_scales(&given, &scored);
            ["c1", "c2"].map(|case| {
                let key = (&SystemName::from("gpt"), &CaseId::from(case));
                let judged = component_of(&scored, &key, "p");
                let labels = given[&key]["p"].next_to("p", judged, &other_scales);
                (labels.together, labels.differs)
            })
        };
        // On a scale from 1 to 5, the first 1 is the lowest label, and no share of 100%.
        let five = compared(vec![rated("ann", [1.0, 5.0])]);
        assert_eq!(five, [(None, false), (None, false)]);
        let share = compared(vec![rated("bob", [1.0, 0.9])]);
        assert_eq!(share, [(Some(1.0), true), (Some(0.9), false)]);
        let both = compared(vec![rated("ann", [1.0, 5.0]), rated("bob", [1.0, 0.9])]);
        assert_eq!(both, [(None, false), (None, false)]);
    }

    #[test]
    fn answers_are_ordered_by_raters_of_both_and_by_adjudicated_labels() {
        // ann labels from 0 to 100 and saw one answer only: with her the means are 41.5 and 4.
        let one = labels(&[("ann", 80.0), ("bob", 3.0)], None);
        let other = labels(&[("bob", 4.0)], None);
        assert!(other.are_above(&one) && !one.are_above(&other));
        let [alone, apart] = [labels(&[("ann", 9.0)], None), labels(&[("bob", 1.0)], None)];
        assert!(!alone.are_above(&apart) && !apart.are_above(&alone));
        // 1 + 1 more for the first one, until the two are adjudicated.
        let one = labels(&[("ann", 4.0), ("bob", 4.0)], Some(2.0));
        let other = labels(&[("ann", 3.0), ("bob", 3.0)], Some(3.0));
        assert!(other.are_above(&one) && !one.are_above(&other));
    }
}

//! Which criteria of a rubric discriminate: item statistics over scored answers.
//!
//! Every value counts as a share of its scale: 0 is the lowest mark, 1 full marks (grade 3 of 1 to 5 is 0.5). A criterion with
//! a negative weight is a fault: an answer without it has full marks, and its mean has a minus sign. Differences are those
//! between answers to the same question. Formulas: `docs/metrics.md`.

mod grid;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::comparison::sample_values;
use super::quantity::{Quantity, finite};
use super::questions::Questions;
use super::ratings::{Estimate, FEWEST_FOR_INTERVAL};
use scholareval_core::domain::{
    CaseId, Component, ComponentKind, Note, Rater, RaterKind, ScoredAnswer, ScorerId, SystemName,
};
use scholareval_stats::{Correlation, Judged, mean, variance_components};

pub use grid::{CriteriaGrid, CriteriaGroup, CriterionMark, CriterionRow, criteria_grid};

/// Level of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Smaller differences are rounding.
const TIE: f64 = 1e-9;

/// The statistics of all criteria, serialized by `criteria --format json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Criteria {
    /// Version of this format.
    pub schema_version: u32,
    /// Suspicious criteria first, by finding, those with most answers first; then the others, in rubric order.
    pub criteria: Vec<CriterionStatistics>,
    /// Notes on the data.
    pub notes: Vec<Note>,
}

/// The statistics of a criterion of one case, of a criterion of all cases (`length`, an aspect), or of all criteria of cases
/// that have one name but for its number (`most_important_item`). Values are shares of the scale, 0..=1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CriterionStatistics {
    /// The scorer.
    pub scorer: ScorerId,
    /// Its case; `None` over all cases.
    pub case_id: Option<CaseId>,
    /// Its name; of a group the common part.
    pub name: String,
    /// Its kind.
    pub kind: ComponentKind,
    /// Its text; empty for a group.
    pub text: String,
    /// Its tags; of a group none.
    pub tags: Vec<String>,
    /// Whether it is a fault (its weight is negative), or a group of faults.
    pub fault: bool,
    /// The number of criteria in the group; 0 for a criterion.
    pub group_of: usize,
    /// Number of values: answers, in a group those of each criterion.
    pub answers: usize,
    /// Mean value; of a fault the mean credit with a minus sign, -1..=0.
    pub mean: Option<f64>,
    /// Share of values at the lowest mark; of a fault those that meet it in full.
    pub at_lowest: Option<f64>,
    /// Share of values at full marks; of a fault those without it.
    pub at_full: Option<f64>,
    /// Variance between answers to the same question; `None` if no question has two.
    pub variance: Option<f64>,
    /// Correlation with the rest of the same answer's score.
    pub item_rest: Estimate,
    /// Share of the variance that is between systems, less what chance gives (epsilon squared); `None` for one question.
    pub system_share: Option<f64>,
    /// Standard deviation of repeated samples of one answer.
    pub noise: Option<f64>,
    /// Share of the variance between answers that is not the judge's noise.
    pub reliability: Option<f64>,
    /// Answers with a person's label.
    pub labels: usize,
    /// Kendall's tau-b with people's labels (their mean, if several).
    pub people: Estimate,
    /// How far the judge is from people's labels on average, as a share of the scale, 0..=1; `None` without labels on the scale.
    pub people_gap: Option<f64>,
    /// Why it is suspicious.
    pub finding: Option<Finding>,
}

/// Why a criterion is suspicious.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Every answer has the lowest mark.
    NeverMet,
    /// Every answer has the fault in full.
    FaultAlwaysMet,
    /// Every answer has full marks.
    AlwaysMet,
    /// No answer has the fault.
    FaultNeverMet,
    /// All answers to a question have the same value.
    OneValue,
    /// The interval of the correlation with the rest of the score is below 0.
    Reversed,
    /// The judge's noise is as large as the differences between answers, or larger.
    Noisy,
}

/// The labels of people by answer and item.
type HumanLabels<'a> = HashMap<(&'a SystemName, &'a CaseId, &'a str), Vec<f64>>;

/// What a row of the result is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key<'a> {
    scorer: &'a ScorerId,
    /// `None` over all cases.
    case: Option<&'a CaseId>,
    kind: ComponentKind,
    name: &'a str,
    is_fault: bool,
}

impl<'a> Key<'a> {
    /// The criterion itself; one that only its case has belongs to this case.
    fn of(answer: &'a ScoredAnswer, component: &'a Component, faults: &Faults<'a>) -> Self {
        Self {
            scorer: &answer.score.scorer,
            case: Some(&answer.case.case_id).filter(|_| component.kind.is_of_case()),
            kind: component.kind,
            name: &component.name,
            is_fault: faults.contains(&place(answer, component)),
        }
    }

    /// The group that pools a criterion of a case with those of other cases. Faults are a separate group: their
    /// values have the other sign.
    fn group(self, component: &'a Component) -> Option<Self> {
        self.case?;
        Some(Self {
            case: None,
            name: group_of(component),
            ..self
        })
    }
}

/// Scorer, case and name of a criterion.
type CriterionKey<'a> = (&'a ScorerId, &'a CaseId, &'a str);

/// The criteria with a negative weight in any answer: one that the judge could not assess has no weight in its answer.
type Faults<'a> = HashSet<CriterionKey<'a>>;

fn place<'a>(answer: &'a ScoredAnswer, component: &'a Component) -> CriterionKey<'a> {
    (&answer.score.scorer, &answer.case.case_id, &component.name)
}

/// One value.
#[derive(Clone, Copy)]
struct Mark<'a> {
    run: usize,
    answer: &'a ScoredAnswer,
    component: &'a Component,
    question: usize,
    value: f64,
    /// The weighted mean of the answer's other criteria; `None` if one of them has no value.
    rest: Option<f64>,
}

/// The statistics of the criteria of these runs, with the item labels of the people among these raters.
///
/// ```
/// assert!(scholareval_analysis::criteria(&[], &[]).criteria.is_empty());
/// ```
pub fn criteria(runs: &[&[Arc<ScoredAnswer>]], raters: &[Rater]) -> Criteria {
    let all = || {
        runs.iter()
            .enumerate()
            .flat_map(|(run, answers)| answers.iter().map(move |answer| (run, &**answer)))
    };
    let questions = Questions::of(all().map(|(_, answer)| answer));
    let labels = labels_of_people(raters);
    let mut faults = Faults::new();
    for (_, answer) in all() {
        let components = answer.score.components.iter();
        let negative = components.filter(|component| component.is_fault());
        faults.extend(negative.map(|component| place(answer, component)));
    }
    let mut rows: Vec<(Key<'_>, &Component, Vec<Mark<'_>>)> = Vec::new();
    let mut places = HashMap::new();
    for (run, answer) in all() {
        let question = questions.number(&answer.case.case_id);
        let others = OtherCriteria::of(answer);
        let components = answer.score.components.iter();
        for component in components.filter(|component| is_criterion(component)) {
            let mark = scaled(component).map(|value| Mark {
                run,
                answer,
                component,
                question,
                value,
                rest: others.mean_without(property_of(component)),
            });
            let key = Key::of(answer, component, &faults);
            for key in std::iter::once(key).chain(key.group(component)) {
                let at = *places.entry(key).or_insert(rows.len());
                if at == rows.len() {
                    rows.push((key, component, Vec::new()));
                }
                rows[at].2.extend(mark);
            }
        }
    }
    let rows = rows.iter();
    let rows = rows.map(|(key, component, marks)| statistics(*key, component, marks, &labels));
    let mut criteria: Vec<CriterionStatistics> = rows.filter(|row| row.group_of != 1).collect();
    criteria.sort_by_key(|row| {
        let finding = row.finding.map(|finding| (finding, Reverse(row.answers)));
        (finding.is_none(), finding)
    });
    Criteria {
        schema_version: 1,
        notes: notes(&criteria),
        criteria,
    }
}

fn labels_of_people(raters: &[Rater]) -> HumanLabels<'_> {
    let mut labels = HumanLabels::new();
    let people = raters.iter().filter(|rater| rater.kind == RaterKind::Human);
    for rating in people.flat_map(|rater| &rater.ratings) {
        let item = rating.item.as_deref().unwrap_or_default();
        let key = (&rating.system, &rating.case_id, item);
        labels.entry(key).or_default().push(rating.value);
    }
    labels
}

/// Components of a rubric, and aspects.
fn is_criterion(component: &Component) -> bool {
    component.kind.is_weighted() || component.kind == ComponentKind::Aspect
}

/// The criterion that the snippets belong to; the name of any other component.
fn property_of(component: &Component) -> &str {
    let is_evidence = component.kind == ComponentKind::Evidence;
    let criterion = component.name.strip_suffix("_evidence");
    criterion.filter(|_| is_evidence).unwrap_or(&component.name)
}

/// The name without its number.
fn group_of(component: &Component) -> &str {
    let numbered = property_of(component);
    let name = numbered.trim_end_matches(|c: char| c.is_ascii_digit());
    name.trim_end_matches('_')
}

/// The value as a share of its scale; of a fault, what is left of it.
fn scaled(component: &Component) -> Option<f64> {
    let (low, high) = component.kind.unit().range();
    let share = (finite(component.value)? - low) / (high - low);
    Some(if component.is_fault() {
        1.0 - share
    } else {
        share
    })
}

impl<'a> Mark<'a> {
    /// The criterion of a case: its values are compared with one another.
    fn block(&self) -> (&'a CaseId, &'a str) {
        (&self.answer.case.case_id, &self.component.name)
    }

    fn label(&self, labels: &HumanLabels<'_>) -> Option<f64> {
        let (case, name) = self.block();
        let label = mean(labels.get(&(&self.answer.system, case, name))?)?;
        Some(if self.component.is_fault() {
            -label
        } else {
            label
        })
    }
}

/// The sums of an answer's criteria before and behind each of them: the others of one are added, and not subtracted from all, so that
/// equal ones give the same mean to the last digit.
struct OtherCriteria<'a> {
    places: HashMap<&'a str, usize>,
    before: Vec<WeightedSum>,
    behind: Vec<WeightedSum>,
}

/// Values with their weights, added up.
#[derive(Clone, Copy, Default)]
struct WeightedSum {
    sum: f64,
    weights: f64,
    /// Values that are missing.
    missing: usize,
}

impl WeightedSum {
    fn plus(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            weights: self.weights + other.weights,
            missing: self.missing + other.missing,
        }
    }

    /// A component of an answer. What the judge cannot assess has no weight and no value.
    fn of(component: &Component) -> Self {
        let weight = if component.kind == ComponentKind::Aspect {
            1.0
        } else {
            component.weight.abs()
        };
        match scaled(component) {
            _ if weight <= 0.0 => Self::default(),
            Some(value) => Self {
                sum: weight * value,
                weights: weight,
                missing: 0,
            },
            None => Self {
                missing: 1,
                ..Self::default()
            },
        }
    }
}

impl<'a> OtherCriteria<'a> {
    fn of(answer: &'a ScoredAnswer) -> Self {
        let mut places = HashMap::new();
        let mut all: Vec<WeightedSum> = Vec::new();
        let components = answer.score.components.iter();
        for component in components.filter(|component| is_criterion(component)) {
            // Snippets of a property are judged only where it earned points, so their values hang together by construction.
            let place = *places.entry(property_of(component)).or_insert(all.len());
            if place == all.len() {
                all.push(WeightedSum::default());
            }
            all[place] = all[place].plus(WeightedSum::of(component));
        }
        let mut before = vec![WeightedSum::default()];
        for sum in &all {
            before.push(before[before.len() - 1].plus(*sum));
        }
        let mut behind = vec![WeightedSum::default()];
        for sum in all.iter().rev() {
            behind.push(behind[behind.len() - 1].plus(*sum));
        }
        behind.reverse();
        Self {
            places,
            before,
            behind,
        }
    }

    /// The weighted mean of the components that do not belong to this criterion.
    fn mean_without(&self, property: &str) -> Option<f64> {
        let place = *self.places.get(property)?;
        let others = self.before[place].plus(self.behind[place + 1]);
        (others.missing == 0 && others.weights > 0.0).then(|| others.sum / others.weights)
    }
}

/// The marks for which `of` has a value, the values of the marks, and those of `of`.
fn paired<'a, 'm>(
    marks: &'m [Mark<'a>],
    of: impl Fn(&Mark<'a>) -> Option<f64>,
) -> (Vec<&'m Mark<'a>>, Vec<f64>, Vec<f64>) {
    let marks = marks.iter();
    let pairs = marks.filter_map(|mark| Some((mark, mark.value, of(mark)?)));
    pairs.collect()
}

/// The values of these marks less the mean of their block.
fn centered(marks: &[&Mark<'_>], values: &[f64]) -> Vec<f64> {
    let mut blocks: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for (mark, value) in marks.iter().zip(values) {
        blocks.entry(mark.block()).or_default().push(*value);
    }
    let mut means = BTreeMap::new();
    for (block, block_values) in blocks {
        means.extend(mean(&block_values).map(|mean| (block, mean)));
    }
    let pairs = marks.iter().zip(values);
    let centered = pairs.map(|(mark, value)| value - means[&mark.block()]);
    centered.collect()
}

fn statistics(
    key: Key<'_>,
    component: &Component,
    marks: &[Mark<'_>],
    labels: &HumanLabels<'_>,
) -> CriterionStatistics {
    let values: Vec<f64> = marks.iter().map(|mark| mark.value).collect();
    let is_group = key.kind.is_of_case() && key.case.is_none();
    let blocks = marks.iter().map(Mark::block).collect::<BTreeSet<_>>().len();
    let (variance, system_share) = between(marks, blocks);
    let (noise, of_noise) = noise(marks).unzip();
    let (with_rest, item_values, rest) = paired(marks, |mark| mark.rest);
    let [item_values, rest] = [item_values, rest].map(|values| centered(&with_rest, &values));
    let item_rest = correlation(Correlation::Pearson, &with_rest, &item_values, &rest);
    let (labeled, labeled_values, people) = paired(marks, |mark| mark.label(labels));
    let people = correlation(Correlation::KendallTauB, &labeled, &labeled_values, &people);
    let mut name = key.name.to_owned();
    if is_group && key.kind == ComponentKind::Evidence {
        name.push_str("_evidence");
    }
    let (text, tags) = if is_group {
        (String::new(), Vec::new())
    } else {
        (component.text.clone(), component.tags.clone())
    };
    // The values of a fault are 1 - credit.
    let offset = if key.is_fault { -1.0 } else { 0.0 };
    let mut row = CriterionStatistics {
        scorer: key.scorer.clone(),
        case_id: key.case.cloned(),
        name,
        kind: key.kind,
        text,
        tags,
        fault: key.is_fault,
        group_of: if is_group { blocks } else { 0 },
        answers: values.len(),
        mean: mean(&values).map(|value| value + offset),
        at_lowest: share_of(&values, |value| value < TIE),
        at_full: share_of(&values, |value| value > 1.0 - TIE),
        variance,
        item_rest,
        system_share,
        noise,
        reliability: reliability(variance, of_noise),
        labels: labeled.len(),
        people,
        people_gap: people_gap(&labeled, labels),
        finding: None,
    };
    row.finding = finding(&row);
    row
}

/// The mean distance of the judge's credit from people's, as a share of the scale.
fn people_gap(labeled: &[&Mark<'_>], labels: &HumanLabels<'_>) -> Option<f64> {
    let mut gaps = Vec::new();
    for mark in labeled {
        let (low, high) = mark.component.kind.unit().range();
        let label = mark.label(labels)?.abs();
        // Labels of a table may be on another scale, which orders answers and measures no distance.
        if !(low..=high).contains(&label) {
            return None;
        }
        gaps.push((mark.component.value? - label).abs() / (high - low));
    }
    mean(&gaps)
}

/// The share of the values for which this holds.
fn share_of(values: &[f64], holds: fn(f64) -> bool) -> Option<f64> {
    let held = values.iter().map(|value| f64::from(holds(*value)));
    mean(&held.collect::<Vec<_>>())
}

/// The share of the variance that is not noise of samples; `None` where all values are equal.
fn reliability(variance: Option<f64>, of_noise: Option<f64>) -> Option<f64> {
    let variance = variance.filter(|variance| *variance > TIE)?;
    Some((1.0 - of_noise? / variance).max(0.0))
}

/// The first thing that is suspicious of a criterion with several answers.
fn finding(row: &CriterionStatistics) -> Option<Finding> {
    if row.answers <= 1 {
        return None;
    }
    let is_at_lowest = row.at_lowest == Some(1.0);
    let is_at_full = row.at_full == Some(1.0);
    let is_one_value = row.variance.is_some_and(|variance| variance <= TIE);
    let is_reversed = row.item_rest.high.is_some_and(|high| high < 0.0);
    let findings = [
        (is_at_lowest && row.fault, Finding::FaultAlwaysMet),
        (is_at_lowest, Finding::NeverMet),
        (is_at_full && row.fault, Finding::FaultNeverMet),
        (is_at_full, Finding::AlwaysMet),
        (is_one_value, Finding::OneValue),
        (is_reversed, Finding::Reversed),
        (row.reliability == Some(0.0), Finding::Noisy),
    ];
    let first = findings.into_iter().find(|(applies, _)| *applies);
    first.map(|(_, finding)| finding)
}

/// The variance within blocks, and the share of it that is between systems.
fn between(marks: &[Mark<'_>], blocks: usize) -> (Option<f64>, Option<f64>) {
    let (all, values, _) = paired(marks, |mark| Some(mark.value));
    let deviations = centered(&all, &values);
    let mut systems: BTreeMap<(usize, &SystemName), Vec<f64>> = BTreeMap::new();
    for (mark, deviation) in all.iter().zip(&deviations) {
        let system = (mark.run, &mark.answer.system);
        systems.entry(system).or_default().push(*deviation);
    }
    let squares = deviations.iter().map(|deviation| deviation * deviation);
    let total: f64 = squares.sum();
    let lists = systems.values();
    let sums = lists.map(|list| list.iter().sum::<f64>().powi(2) / list.len() as f64);
    let between: f64 = sums.sum();
    let free = (values.len() - blocks) as f64;
    let free_between = systems.len() as f64 - 1.0;
    // What systems without any difference would show, is taken off: with few answers it is most of
    // the share.
    let chance = free_between * (total - between) / (free - free_between);
    let has_share = free > free_between && free_between > 0.0 && total > TIE;
    let share = has_share.then(|| ((between - chance) / total).max(0.0));
    ((free > 0.0).then(|| total / free), share)
}

/// The standard deviation of one sample, and the variance that samples leave in a value; `None` without repeated ones.
fn noise(marks: &[Mark<'_>]) -> Option<(f64, f64)> {
    let mut judges = Vec::new();
    let mut judged = Vec::new();
    let mut shares = Vec::new();
    for (question, mark) in marks.iter().enumerate() {
        let (low, high) = mark.component.kind.unit().range();
        let quantity = Quantity::Component(mark.component.name.clone());
        let before = judged.len();
        let by_judge = sample_values(&quantity, mark.answer, &mut judges);
        for (judge, samples) in by_judge.into_iter().enumerate() {
            for sample in samples {
                judged.push(Judged {
                    question,
                    judge,
                    value: sample / (high - low),
                });
            }
        }
        if judged.len() > before {
            shares.push(1.0 / (judged.len() - before) as f64);
        }
    }
    let variance = variance_components(&judged)?.sample;
    Some((variance.sqrt(), variance * mean(&shares)?))
}

/// The correlation of x and y over these marks; its interval takes questions as a whole, or for a single block its answers.
fn correlation(kind: Correlation, marks: &[&Mark<'_>], x: &[f64], y: &[f64]) -> Estimate {
    if marks.len() < FEWEST_FOR_INTERVAL {
        return Estimate::undefined(format!("fewer than {FEWEST_FOR_INTERVAL} answers"));
    }
    let is_one_block = marks.iter().all(|mark| mark.block() == marks[0].block());
    let mut units: Vec<usize> = marks.iter().map(|mark| mark.question).collect();
    if is_one_block {
        units = (0..marks.len()).collect();
    }
    let interval = || kind.clustered_interval(x, y, &units, CONFIDENCE);
    let count = units.iter().collect::<BTreeSet<_>>().len();
    Estimate::new(kind.of(x, y), interval, "all values are equal").with_units(count)
}

fn notes(criteria: &[CriterionStatistics]) -> Vec<Note> {
    let mut notes = Vec::from_iter(Note::of_baseline(criteria.iter().map(|row| &row.scorer)));
    let of_cases = criteria.iter().filter(|row| row.case_id.is_some());
    let most = of_cases.map(|row| row.answers).max().unwrap_or(0);
    if (2..FEWEST_FOR_INTERVAL).contains(&most) {
        // The exact binomial bound: (1 - share)^most = 0.05.
        let bound = 100.0 * (1.0 - 0.05_f64.powf(1.0 / most as f64));
        let premise = format!("Criteria of one case rest on at most {most} answers");
        let text = format!(
            "{premise}: if these are equal, up to {bound:.0}% of other answers may still differ (95% bound)."
        );
        notes.push(Note::warning(text));
    }
    notes
}

#[cfg(test)]
mod tests;

//! What each rater said of each unit, and what two raters share.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::result::{AgreementLevel, AgreementOptions, RaterSummary};
use crate::domain::{CaseId, ComparedPair, Rater, RaterKind, Rating, SystemName};
use crate::stats::{BcaOptions, mean};

/// What is rated; in this order the answers to one case (or one item of it) stand together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Unit {
    pub(super) case_id: CaseId,
    /// `None`: the whole answer.
    pub(super) item: Option<Arc<str>>,
    pub(super) system: SystemName,
}

/// One rater as the comparison sees it.
pub(super) struct View {
    pub(super) name: Arc<str>,
    pub(super) kind: RaterKind,
    pub(super) values: BTreeMap<Unit, f64>,
    /// Comparisons made, as -1, 0 or 1.
    pub(super) said: BTreeMap<ComparedPair, f64>,
    pub(super) mean_of: Vec<Arc<str>>,
}

/// A unit that two raters rated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) unit: &'a Unit,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) question: usize,
}

impl View {
    pub(super) fn new(rater: &Rater, options: &AgreementOptions) -> Self {
        let chosen = |rating: &&Rating| match (options.level, &options.metric) {
            (AgreementLevel::Item, None) => rating.item.is_some(),
            (AgreementLevel::Item, Some(metric)) => rating.item.as_deref() == Some(metric),
            (_, Some(metric)) if rates(rater, metric) => rating.item.as_deref() == Some(metric),
            _ => rating.item.is_none(),
        };
        let keeps_item = options.level == AgreementLevel::Item;
        let unit = |rating: &Rating| Unit {
            case_id: rating.case_id.clone(),
            item: rating.item.clone().filter(|_| keeps_item),
            system: rating.system.clone(),
        };
        // Comparisons are of whole answers.
        let compares = !keeps_item && options.metric.is_none();
        Self {
            name: Arc::clone(&rater.name),
            kind: rater.kind,
            values: rater.ratings.iter().filter(chosen).map(|rating| (unit(rating), rating.value)).collect(),
            said: rater
                .preferences
                .iter()
                .filter(|_| compares)
                .map(|made| (made.pair.clone(), f64::from(made.preferred.sign())))
                .collect(),
            mean_of: Vec::new(),
        }
    }

    /// The mean of several raters: of their ratings of each unit, and the sign of the sum of their comparisons of each pair.
    pub(super) fn mean(name: &str, views: &[&Self]) -> Self {
        let mut values: BTreeMap<Unit, Vec<f64>> = BTreeMap::new();
        let mut said: BTreeMap<ComparedPair, f64> = BTreeMap::new();
        for view in views {
            view.values.iter().for_each(|(unit, value)| values.entry(unit.clone()).or_default().push(*value));
            view.said.iter().for_each(|(pair, sign)| *said.entry(pair.clone()).or_default() += sign);
        }
        said.values_mut().for_each(|sum| *sum = if *sum == 0.0 { 0.0 } else { sum.signum() });
        Self {
            name: name.into(),
            kind: RaterKind::Human,
            values: values.into_iter().filter_map(|(unit, all)| Some((unit, mean(&all)?))).collect(),
            said,
            mean_of: views.iter().map(|view| Arc::clone(&view.name)).collect(),
        }
    }

    pub(super) fn summary(&self) -> RaterSummary {
        RaterSummary {
            name: Arc::clone(&self.name),
            kind: self.kind,
            ratings: self.values.len(),
            preferences: self.said.len(),
            mean_of: self.mean_of.clone(),
        }
    }

    /// The rating of a whole answer.
    pub(super) fn value(&self, case_id: &CaseId, system: &SystemName) -> Option<f64> {
        let unit = Unit { case_id: case_id.clone(), item: None, system: system.clone() };
        self.values.get(&unit).copied()
    }

    /// What both rated.
    pub(super) fn shared<'a>(&'a self, other: &Self, frame: &Frame<'_>) -> Vec<Shared<'a>> {
        let both = self.values.iter().filter_map(|(unit, x)| {
            let y = *other.values.get(unit)?;
            Some(Shared { unit, x: *x, y, question: frame.question(&unit.case_id) })
        });
        both.collect()
    }
}

fn rates(rater: &Rater, item: &str) -> bool {
    rater.ratings.iter().any(|rating| rating.item.as_deref() == Some(item))
}

/// What every measure needs besides its numbers.
pub(super) struct Frame<'a> {
    pub(super) options: &'a AgreementOptions,
    questions: HashMap<CaseId, usize>,
}

impl<'a> Frame<'a> {
    /// Numbers the questions: cases with one question are one; a case whose question is not known is its own.
    pub(super) fn new(views: &[View], questions: &HashMap<CaseId, Arc<str>>, options: &'a AgreementOptions) -> Self {
        let rated = views.iter().flat_map(|view| view.values.keys().map(|unit| &unit.case_id));
        let compared = views.iter().flat_map(|view| view.said.keys().map(|pair| &pair.case_id));
        let cases: BTreeSet<&CaseId> = rated.chain(compared).collect();
        let text = |case: &CaseId| match questions.get(case).filter(|question| !question.is_empty()) {
            Some(question) => (true, question.to_string()),
            None => (false, case.to_string()),
        };
        let mut numbers: BTreeMap<(bool, String), usize> = BTreeMap::new();
        let mut numbered = HashMap::new();
        for case in cases {
            let next = numbers.len();
            numbered.insert(case.clone(), *numbers.entry(text(case)).or_insert(next));
        }
        Self { options, questions: numbered }
    }

    pub(super) fn question(&self, case: &CaseId) -> usize {
        // Every case of every view has a number.
        self.questions.get(case).copied().unwrap_or(usize::MAX)
    }

    pub(super) fn bca(&self) -> BcaOptions {
        BcaOptions { level: self.options.confidence, resamples: self.options.resamples, seed: self.options.seed }
    }
}

/// How many distinct questions there are.
pub(super) fn distinct(questions: impl Iterator<Item = usize>) -> usize {
    questions.collect::<BTreeSet<usize>>().len()
}

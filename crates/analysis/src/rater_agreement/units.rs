//! Ratings at the chosen level, and the units that two raters share.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::result::{AgreementLevel, AgreementOptions, RaterSummary};
use crate::quantity::unit_range;
use crate::questions::Questions;
use scholareval_core::domain::{CaseId, ComparedPair, Rater, RaterKind, SystemName, Unit};
use scholareval_stats::{BootstrapOptions, Interval, mean, rounded};

/// A rated item. Its order groups the answers to one case (or one item of it).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RatedUnit {
    pub(super) case_id: CaseId,
    /// `None`: the whole answer.
    pub(super) item: Option<Arc<str>>,
    pub(super) system: SystemName,
}

/// One rater's ratings and comparisons at the chosen level.
pub(super) struct RaterView {
    pub(super) rater: RaterSummary,
    pub(super) values: BTreeMap<RatedUnit, f64>,
    /// The lowest and the highest rating of each item (`None`: of whole answers). Of several people those of all.
    pub(super) ends: BTreeMap<Option<Arc<str>>, Interval>,
    /// Their units, where these are known.
    units: BTreeMap<Option<Arc<str>>, Unit>,
    /// Comparisons as -1, 0 or 1.
    pub(super) preferences: BTreeMap<ComparedPair, f64>,
}

impl RaterView {
    pub(super) fn new(rater: &Rater, options: &AgreementOptions) -> Self {
        let at_items = options.level == AgreementLevel::Item;
        let mut metric = options.metric.as_deref();
        // Ratings of whole answers stand for a metric that the rater has no ratings of.
        let mut ratings = rater.ratings.iter();
        if !at_items && !ratings.any(|rating| rating.item.as_deref() == metric) {
            metric = None;
        }
        let mut values = BTreeMap::new();
        for rating in &rater.ratings {
            let is_chosen = match metric {
                Some(metric) => rating.item.as_deref() == Some(metric),
                None => rating.item.is_some() == at_items,
            };
            if is_chosen {
                let unit = RatedUnit {
                    case_id: rating.case_id.clone(),
                    item: rating.item.clone().filter(|_| at_items),
                    system: rating.system.clone(),
                };
                values.insert(unit, rating.value);
            }
        }
        // Comparisons are of whole answers.
        let compares = !at_items && options.metric.is_none();
        let preferences = rater.preferences.iter().filter(|_| compares);
        let signs = preferences.map(|(pair, stated)| (pair.clone(), stated.sign().into()));
        let mut view = Self::of(&rater.name, rater.kind, values, signs.collect());
        view.units.clone_from(&rater.units);
        view
    }

    /// The mean of several people: of their ratings of each unit, and the sign of the sum of their comparisons of each
    /// pair.
    pub(super) fn mean_of(name: &str, people: &[&Self]) -> Self {
        let mut values: BTreeMap<RatedUnit, Vec<f64>> = BTreeMap::new();
        let mut preferences: BTreeMap<ComparedPair, f64> = BTreeMap::new();
        for person in people {
            for (unit, value) in &person.values {
                values.entry(unit.clone()).or_default().push(*value);
            }
            for (pair, sign) in &person.preferences {
                *preferences.entry(pair.clone()).or_default() += sign;
            }
        }
        // A majority and not a mean: two of three who prefer an answer prefer it, and a split is a tie.
        for sum in preferences.values_mut().filter(|sum| **sum != 0.0) {
            *sum = sum.signum();
        }
        let values = values.into_iter();
        let means = values.filter_map(|(unit, all)| Some((unit, mean(&all)?)));
        let means = means.collect();
        Self::of(name, RaterKind::Human, means, preferences).with_people(people)
    }

    /// The people together, as given.
    pub(super) fn together(
        name: &str,
        together: &Rater,
        people: &[&Self],
        options: &AgreementOptions,
    ) -> Self {
        let mut view = Self::new(together, options);
        view.rater.name = name.into();
        view.with_people(people)
    }

    /// These values as those of several people: their ends are what labels can be, which means seldom reach.
    fn with_people(mut self, people: &[&Self]) -> Self {
        for (item, ends_of_person) in people.iter().flat_map(|person| &person.ends) {
            widen(self.ends.entry(item.clone()), *ends_of_person);
        }
        for person in people {
            self.rater.mean_of.push(Arc::clone(&person.rater.name));
        }
        self
    }

    fn of(
        name: &str,
        kind: RaterKind,
        values: BTreeMap<RatedUnit, f64>,
        preferences: BTreeMap<ComparedPair, f64>,
    ) -> Self {
        let rater = RaterSummary {
            name: name.into(),
            kind,
            ratings: values.len(),
            preferences: preferences.len(),
            mean_of: Vec::new(),
        };
        let mut ends: BTreeMap<Option<Arc<str>>, Interval> = BTreeMap::new();
        for (unit, value) in &values {
            widen(ends.entry(unit.item.clone()), Interval::new(*value, *value));
        }
        Self {
            rater,
            values,
            ends,
            units: BTreeMap::new(),
            preferences,
        }
    }

    pub(super) fn is_human(&self) -> bool {
        self.rater.kind == RaterKind::Human
    }

    /// The ratings of both answers of a pair.
    pub(super) fn values_of(&self, pair: &ComparedPair) -> Option<[f64; 2]> {
        let first = self.value_of(&pair.case_id, &pair.first)?;
        let second = self.value_of(&pair.case_id, &pair.second)?;
        Some([first, second])
    }

    /// The rating of a whole answer.
    fn value_of(&self, case_id: &CaseId, system: &SystemName) -> Option<f64> {
        let unit = RatedUnit {
            case_id: case_id.clone(),
            item: None,
            system: system.clone(),
        };
        self.values.get(&unit).copied()
    }
}

/// Widens the ends of an item to those of another interval.
fn widen(ends: Entry<'_, Option<Arc<str>>, Interval>, other: Interval) {
    let ends = ends.or_insert(other);
    *ends = Interval::new(ends.low.min(other.low), ends.high.max(other.high));
}

/// Data shared by all measures: the options, the question of each case, and the scale of each item.
pub(super) struct Context<'a> {
    pub(super) options: &'a AgreementOptions,
    pub(super) questions: Questions<'a>,
    /// The scale of an item's question, with the first rater that knows it.
    pub(super) scales: BTreeMap<Option<Arc<str>>, (Interval, Arc<str>)>,
    /// The values that labels of an item can have: those that single people gave, and the levels of its scale. As bits.
    pub(super) label_values: BTreeMap<Option<Arc<str>>, BTreeSet<u64>>,
    /// Levels of the scale of all items, 0 if unknown.
    pub(super) levels: usize,
    /// The group of each case that has one, if they are known.
    pub(super) groups: Option<&'a HashMap<CaseId, Arc<str>>>,
}

impl<'a> Context<'a> {
    pub(super) fn new(
        views: &'a [RaterView],
        texts: &'a HashMap<CaseId, Arc<str>>,
        options: &'a AgreementOptions,
    ) -> Self {
        let rated = views.iter().flat_map(|view| view.values.keys());
        let compared = views.iter().flat_map(|view| view.preferences.keys());
        let cases = rated.map(|unit| &unit.case_id);
        let cases = cases.chain(compared.map(|pair| &pair.case_id));
        let cases = cases.map(|case| (case, texts.get(case).map_or("", |text| text)));
        let mut scales = BTreeMap::new();
        for view in views {
            for (item, unit) in &view.units {
                let Some((scale, ends)) = unit_range(*unit).zip(view.ends.get(item)) else {
                    continue;
                };
                // Compat mode reads points above 10: such numbers have no scale.
                if scale.holds(ends.low) && scale.holds(ends.high) {
                    let known = (scale, Arc::clone(&view.rater.name));
                    scales.entry(item.clone()).or_insert(known);
                }
            }
        }
        let mut label_values: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
        for view in views.iter().filter(|view| view.is_human()) {
            for (unit, value) in &view.values {
                let values = label_values.entry(unit.item.clone()).or_default();
                values.insert(rounded(*value).to_bits());
            }
        }
        Self {
            options,
            questions: Questions::of_texts(cases),
            scales,
            label_values,
            levels: 0,
            groups: None,
        }
    }

    /// The group of a case.
    pub(super) fn group(&self, case: &CaseId) -> Option<&'a Arc<str>> {
        self.groups?.get(case)
    }

    pub(super) fn bootstrap(&self) -> BootstrapOptions {
        BootstrapOptions::seeded(self.options.seed)
            .level(self.options.confidence)
            .resamples(self.options.resamples)
    }
}

/// Two raters and the units that both rated, in unit order.
pub(super) struct RatedByBoth<'a> {
    pub(super) first: &'a RaterView,
    pub(super) second: &'a RaterView,
    pub(super) context: &'a Context<'a>,
    pub(super) units: Vec<&'a RatedUnit>,
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    /// The question of each unit.
    pub(super) questions: Vec<usize>,
}

impl<'a> RatedByBoth<'a> {
    pub(super) fn new(
        first: &'a RaterView,
        second: &'a RaterView,
        context: &'a Context<'a>,
    ) -> Self {
        let mut shared = Self {
            first,
            second,
            context,
            units: vec![],
            x: vec![],
            y: vec![],
            questions: vec![],
        };
        for (unit, x) in &first.values {
            if let Some(y) = second.values.get(unit) {
                shared.push(unit, *x, *y);
            }
        }
        shared
    }

    /// The same raters, restricted to some units.
    pub(super) fn only(&self, keep: impl Fn(&RatedUnit) -> bool) -> Self {
        let mut some = Self {
            units: vec![],
            x: vec![],
            y: vec![],
            questions: vec![],
            ..*self
        };
        for (at, unit) in self.units.iter().enumerate().filter(|(_, unit)| keep(unit)) {
            some.push(unit, self.x[at], self.y[at]);
        }
        some
    }

    pub(super) fn push(&mut self, unit: &'a RatedUnit, x: f64, y: f64) {
        self.units.push(unit);
        self.x.push(x);
        self.y.push(y);
        let question = self.context.questions.number(&unit.case_id);
        self.questions.push(question);
    }
}

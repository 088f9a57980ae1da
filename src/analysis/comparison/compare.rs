//! Tables of systems and cases to a comparison.

use std::collections::BTreeMap;

use super::length::length_correlation;
use super::noise::judge_noise;
use super::pairs::compare_pairs;
use super::{Comparison, ComparisonOptions, MetricComparison, Observation, Observed, SystemMean};
use crate::stats::{
    BcaOptions, clustered_mean_intervals, group_letters, indistinguishable_groups, mean, rank_distribution,
};

/// Numbers closer than this are the same number summed in another order.
pub(super) const SAME: f64 = 1e-12;

/// Version of the form of a comparison.
const SCHEMA_VERSION: u32 = 1;

/// Compares the systems of each table over the cases they share; a metric that nobody has is left out. `runs` and `marks` of
/// the result are empty: the caller knows them.
///
/// The order of systems and cases changes no number, and neither does the number of threads. A system without any value
/// takes no part (it stands last, without a mean) and takes no case from the others.
///
/// ```
/// use scholareval::analysis::comparison::{ComparisonOptions, compare};
///
/// assert!(compare(&[], &ComparisonOptions::seeded(7)).metrics.is_empty());
/// ```
pub fn compare(observed: &[Observed], options: &ComparisonOptions) -> Comparison {
    Comparison {
        schema_version: SCHEMA_VERSION,
        runs: Vec::new(),
        systems: observed.first().map(|first| first.systems.clone()).unwrap_or_default(),
        options: options.clone(),
        metrics: observed.iter().filter_map(|table| compare_metric(table, options)).collect(),
        marks: Vec::new(),
    }
}

/// One metric made ready: the systems best first, the cases that all with a value share, ordered by id.
pub(super) struct Shared<'a> {
    pub(super) observed: &'a Observed,
    pub(super) options: &'a ComparisonOptions,
    /// Places of the systems in the table, best first; those without a value last.
    pub(super) order: Vec<usize>,
    /// How many of them have a value.
    pub(super) taking_part: usize,
    /// Every case of the table by id.
    pub(super) by_id: Vec<usize>,
    /// The question of every case of the table, as a number: ascending in the order of ids.
    pub(super) question_of: Vec<usize>,
    /// Places of the shared cases in the table, by id.
    pub(super) cases: Vec<usize>,
    /// Their questions.
    pub(super) questions: Vec<usize>,
    /// Values over the shared cases, by place in `order`, for those that take part.
    pub(super) values: Vec<Vec<f64>>,
}

impl<'a> Shared<'a> {
    fn of(observed: &'a Observed, options: &'a ComparisonOptions) -> Self {
        let mut by_id: Vec<usize> = (0..observed.cases.len()).collect();
        by_id.sort_by(|a, b| observed.cases[*a].case_id.cmp(&observed.cases[*b].case_id));
        let question_of = number_questions(observed, &by_id);
        let value = |system: usize, case: usize| value_of(observed.values[system][case]);
        let (mut order, mut without): (Vec<usize>, Vec<usize>) =
            (0..observed.systems.len()).partition(|system| by_id.iter().any(|case| value(*system, *case).is_some()));
        let is_shared = |case: &usize| order.iter().all(|system| value(*system, *case).is_some());
        let cases: Vec<usize> = by_id.iter().copied().filter(is_shared).collect();
        // Without a shared case there is nothing to rank by: own means give the order then.
        let counted = if cases.is_empty() { &by_id } else { &cases };
        let key = |system: usize| {
            let own: Vec<f64> = counted.iter().filter_map(|case| value(system, *case)).collect();
            mean(&own).unwrap_or(f64::NEG_INFINITY)
        };
        let keys: Vec<f64> = (0..observed.systems.len()).map(key).collect();
        let label = |system: usize| &observed.systems[system].label;
        order.sort_by(|a, b| keys[*b].total_cmp(&keys[*a]).then_with(|| label(*a).cmp(label(*b))));
        without.sort_by(|a, b| label(*a).cmp(label(*b)));
        let values_of = |system: &usize| cases.iter().filter_map(|case| value(*system, *case)).collect();
        let values = order.iter().map(values_of).collect();
        let questions = cases.iter().map(|case| question_of[*case]).collect();
        let taking_part = order.len();
        order.extend(without);
        Self { observed, options, order, taking_part, by_id, question_of, cases, questions, values }
    }

    pub(super) fn bca(&self) -> BcaOptions {
        BcaOptions { level: self.options.level, resamples: self.options.resamples, seed: self.options.seed }
    }

    pub(super) fn label(&self, place: usize) -> &str {
        self.observed.systems[self.order[place]].label.as_str()
    }

    /// Of a system by its place here, of a case by its place in the table.
    pub(super) fn observation(&self, place: usize, case: usize) -> Observation {
        self.observed.values[self.order[place]][case]
    }

    /// Words of an answer, likewise.
    pub(super) fn words(&self, place: usize, case: usize) -> Option<f64> {
        self.observed.words.as_ref()?[self.order[place]][case]
    }

    /// Whether any system has the metric of the case: what applies nowhere is nobody's miss.
    fn applies(&self, case: usize) -> bool {
        self.order.iter().any(|system| is_there(self.observed.values[*system][case]))
    }

    /// Whether a system, by its place in the table, has neither answer nor value where it should.
    fn lacks(&self, system: usize, case: usize) -> bool {
        let is_asked = || self.observed.asked.as_ref().map_or_else(|| self.applies(case), |asked| asked[system][case]);
        !is_there(self.observed.values[system][case]) && is_asked()
    }

    /// Cases that any system has the metric of, or should have.
    fn cases_in_all(&self) -> usize {
        let counts =
            |case: &&usize| self.applies(**case) || self.order.iter().any(|system| self.lacks(*system, **case));
        self.by_id.iter().filter(counts).count()
    }

    fn distinct_questions(&self) -> usize {
        let mut questions = self.questions.clone();
        questions.sort_unstable();
        questions.dedup();
        questions.len()
    }
}

/// A value that can be averaged: compat mode lets NaN pass.
pub(super) fn value_of(observation: Observation) -> Option<f64> {
    observation.value().filter(|value| value.is_finite())
}

/// The question of each case as a number, in the order of ids; a case without a question is one of its own.
fn number_questions(observed: &Observed, by_id: &[usize]) -> Vec<usize> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut question_of = vec![0; observed.cases.len()];
    for (fresh, case) in by_id.iter().enumerate() {
        let question = observed.cases[*case].question.trim();
        question_of[*case] = if question.is_empty() { fresh } else { *numbers.entry(question).or_insert(fresh) };
    }
    question_of
}

fn compare_metric(observed: &Observed, options: &ComparisonOptions) -> Option<MetricComparison> {
    if observed.values.iter().flatten().all(|value| *value == Observation::Absent) {
        return None;
    }
    let shared = Shared::of(observed, options);
    let mut systems = system_means(&shared);
    let pairs = compare_pairs(&shared);
    let all_pairs = options.baseline.is_none() && !pairs.is_empty();
    let groups = if all_pairs {
        let differ: Vec<(usize, usize)> = pairs.iter().filter(|p| p.differs).map(|p| (p.first, p.second)).collect();
        indistinguishable_groups(shared.taking_part, &differ)
    } else {
        Vec::new()
    };
    if all_pairs {
        let letters = group_letters(shared.taking_part, &groups);
        systems.iter_mut().zip(letters).for_each(|(system, own)| system.letters = own);
    }
    let lists: Vec<&[f64]> = shared.values.iter().map(Vec::as_slice).collect();
    // One question is every resample: its order would be told as certain.
    let ranks = (lists.len() > 1 && shared.distinct_questions() > 1)
        .then(|| rank_distribution(&lists, Some(&shared.questions), shared.bca()))
        .flatten();
    Some(MetricComparison {
        metric: observed.metric.clone(),
        cases: shared.cases.iter().map(|case| observed.cases[*case].clone()).collect(),
        questions: shared.distinct_questions(),
        cases_in_all: shared.cases_in_all(),
        notes: notes(&shared),
        noise: judge_noise(&shared),
        systems,
        pairs,
        groups,
        ranks,
    })
}

fn system_means(shared: &Shared<'_>) -> Vec<SystemMean> {
    let lists: Vec<&[f64]> = shared.values.iter().map(Vec::as_slice).collect();
    let means: Vec<Option<f64>> = lists.iter().map(|values| mean(values)).collect();
    let intervals = clustered_mean_intervals(&lists, Some(&shared.questions), shared.bca());
    let concerned: Vec<usize> = shared.by_id.iter().copied().filter(|case| shared.applies(*case)).collect();
    let mut systems = Vec::with_capacity(shared.order.len());
    for (place, system) in shared.order.iter().enumerate() {
        let own: Vec<Observation> = concerned.iter().map(|case| shared.observation(place, *case)).collect();
        let values: Vec<f64> = own.iter().filter_map(|value| value_of(*value)).collect();
        let valued = own.iter().filter(|value| is_there(**value)).count();
        let mean_here = means.get(place).copied().flatten();
        let higher = |own: f64| means.iter().flatten().filter(|other| **other > own + SAME).count();
        systems.push(SystemMean {
            system: *system,
            label: shared.label(place).to_owned(),
            rank: mean_here.map(|own| 1 + higher(own)),
            letters: String::new(),
            mean: mean_here,
            interval: intervals.get(place).copied().flatten().map(|interval| (interval.low, interval.high)),
            own_mean: mean(&values),
            own_cases: values.len(),
            unscored: valued - values.len(),
            absent: shared.by_id.iter().filter(|case| shared.lacks(*system, **case)).count(),
            bounds: bounds(&own),
            length_correlation: length_correlation(shared, place),
        });
    }
    systems
}

fn is_there(observation: Observation) -> bool {
    observation != Observation::Absent
}

/// The lowest and the highest that an observation can be; `None` where there is no answer.
pub(super) fn ends(observation: Observation) -> Option<(f64, f64)> {
    match observation {
        Observation::Value(value) if value.is_finite() => Some((value, value)),
        // What is no number has no bounds.
        Observation::Value(_) => Some((f64::NEG_INFINITY, f64::INFINITY)),
        Observation::Unscored { low, high } => Some((low, high)),
        Observation::Absent => None,
    }
}

/// The means with everything unscored at its lowest and at its highest.
fn bounds(own: &[Observation]) -> Option<(f64, f64)> {
    let is_missing = |observation: &Observation| is_there(*observation) && value_of(*observation).is_none();
    if !own.iter().any(is_missing) {
        return None;
    }
    let (lows, highs): (Vec<f64>, Vec<f64>) = own.iter().filter_map(|observation| ends(*observation)).unzip();
    // Weights sum to 1 within rounding: a bound of all ones is 1.
    let tidy = |value: f64| if (value - 1.0).abs() < SAME { 1.0 } else { value };
    Some((tidy(mean(&lows)?), tidy(mean(&highs)?)))
}

fn observed_question<'a>(shared: &Shared<'a>, case: usize) -> &'a str {
    shared.observed.cases[case].question.trim()
}

fn notes(shared: &Shared<'_>) -> Vec<String> {
    let mut notes = shared.observed.notes.clone();
    let without: Vec<&str> = (shared.taking_part..shared.order.len()).map(|place| shared.label(place)).collect();
    if !without.is_empty() {
        notes.push(format!("no value, so not compared: {}", without.join(", ")));
    }
    let questions = shared.distinct_questions();
    if shared.cases.is_empty() && shared.taking_part > 1 {
        notes.push("no case has a value for every system: only each one's own mean is known".to_owned());
    } else if questions < shared.cases.len() {
        notes.push(format!(
            "{} cases of {questions} questions: the cases of a question are drawn and flipped together",
            shared.cases.len()
        ));
    }
    if shared.cases.iter().any(|case| observed_question(shared, *case).is_empty()) {
        notes.push("the record has no questions (--no-inputs): each case counts as a question of its own".to_owned());
    }
    if let Some(baseline) = &shared.options.baseline
        && !(0..shared.taking_part).any(|place| shared.label(place) == baseline)
    {
        notes.push(format!("the baseline {baseline} has no value here: nothing is compared with it"));
    }
    if !shared.observed.metric.higher_is_better {
        notes.push("a count: systems stand in the order of their means, more is not better by itself".to_owned());
    }
    notes
}

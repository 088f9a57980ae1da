//! Compares systems metric by metric.

use std::collections::BTreeMap;

use super::pairs::compare_pairs;
use super::pairwise::pairwise;
use super::set_table::SetTable;
use super::shared::{SharedCases, ranks_of, slices};
use super::{
    Comparison, ComparisonDepth, ComparisonOptions, MetricComparison, MetricTable, Observation,
    Observations, PairComparison, SystemMean,
};
use scholareval_core::domain::{Note, SubjectKind};
use scholareval_core::text::names::counted;
use scholareval_stats::{group_letters, indistinguishable_groups, rank_distribution};

/// Version of the JSON form of a comparison.
const SCHEMA_VERSION: u32 = 1;

/// Fewest questions for probabilities of ranks: resamples of fewer make the order look certain.
// With fewer questions most resamples repeat some of them so often that the shares look more
// certain than they are.
const FEWEST_FOR_RANKS: usize = 10;

/// Compares the systems by every metric of these observations, over their shared cases. `runs`, `differences` and
/// `judged_by` of the result are empty: the observations do not contain them.
///
/// The order of systems and cases and the number of threads change no number. A system without any value is listed
/// last, without a mean, and does not reduce the shared cases.
///
/// ```
/// use scholareval_analysis::comparison::{ComparisonOptions, Observations, compare};
///
/// assert!(compare(&Observations::default(), &ComparisonOptions::seeded(7)).metrics.is_empty());
/// ```
pub fn compare(observations: &Observations, options: &ComparisonOptions) -> Comparison {
    let mut metrics = Vec::with_capacity(observations.metrics.len());
    for table in &observations.metrics {
        metrics.push(compare_metric(observations, table, options));
    }
    let pairwise = match observations.subject {
        SubjectKind::Answer => None,
        SubjectKind::Pair => {
            let win_rate = metrics.first();
            win_rate.and_then(|metric| pairwise(observations, metric, options))
        }
    };
    Comparison {
        schema_version: SCHEMA_VERSION,
        subject: observations.subject,
        systems: observations.systems.clone(),
        options: options.clone(),
        pairwise,
        metrics,
        ..Comparison::default()
    }
}

pub(super) fn compare_metric(
    all: &Observations,
    table: &MetricTable,
    options: &ComparisonOptions,
) -> MetricComparison {
    let shared = SharedCases::of(all, table, options);
    let mut systems = system_means(&shared);
    if let Some(set) = table.column_set() {
        measure_set(&shared, set, &mut systems);
    }
    let (pairs, family) = compare_pairs(&shared);
    let mut groups = Vec::new();
    // With a baseline the other pairs are not tested, and of one question none is: letters would
    // claim that they do not differ.
    if options.baseline.is_none() && family.is_some() {
        let differing = pairs.iter().filter(|pair| pair.differs);
        let differing: Vec<_> = differing.map(|pair| (pair.first, pair.second)).collect();
        groups = indistinguishable_groups(shared.participants, &differing);
        let letters = group_letters(shared.participants, &groups);
        for (system, letters) in systems.iter_mut().zip(letters) {
            system.letters = letters;
        }
    }
    let cases = shared.cases.iter();
    MetricComparison {
        metric: table.metric.clone(),
        cases: cases.map(|case| all.cases[*case].clone()).collect(),
        questions: shared.distinct_questions(),
        cases_in_all: shared.cases_in_all(),
        notes: notes(&shared, &pairs),
        systems,
        pairs,
        method: family.as_ref().map(|family| family.method),
        smallest_p: family.as_ref().map(|family| family.smallest_p),
        groups,
        ranks: ranks(&shared),
    }
}

/// The rank probabilities, if there are enough questions and they are asked for.
fn ranks(shared: &SharedCases<'_>) -> Option<Vec<Vec<f64>>> {
    let is_enough = shared.participants > 1 && shared.distinct_questions() >= FEWEST_FOR_RANKS;
    if shared.options.depth < ComparisonDepth::Full || !is_enough {
        return None;
    }
    rank_distribution(
        &slices(&shared.values),
        Some(&shared.questions),
        shared.bootstrap(),
    )
}

fn system_means(shared: &SharedCases<'_>) -> Vec<SystemMean> {
    let ranks = shared.ranks();
    let mut systems = Vec::with_capacity(shared.order.len());
    for (at, system) in shared.order.iter().enumerate() {
        let over_all = shared.metric(at);
        let win_rate = shared.win_rate(at);
        let missing = shared.table.values[*system].iter();
        let missing = missing.filter(|observation| **observation == Observation::Missing);
        systems.push(SystemMean {
            system: *system,
            label: shared.label(at).to_owned(),
            rank: ranks[at],
            letters: String::new(),
            mean: shared.mean(at),
            interval: match win_rate {
                Some(win_rate) => win_rate.interval(shared.options.level),
                None => shared.interval(at, &shared.cases),
            },
            own_mean: win_rate.map_or(over_all.estimate, |win_rate| Some(win_rate.win_rate)),
            own_cases: over_all.n,
            unscored: over_all.unscored,
            missing: missing.count(),
            bounds: over_all
                .bounds
                .map(|bounds| shared.win_rate_bounds(at).unwrap_or(bounds)),
        });
    }
    systems
}

/// Gives systems a number of their sets of answers in place of the mean over answers, with its interval and ranks.
pub(super) fn measure_set(shared: &SharedCases<'_>, set: &SetTable, systems: &mut [SystemMean]) {
    let participants = &shared.order[..shared.participants];
    let cases = (&*shared.by_id, &*shared.question_of);
    for system in systems.iter_mut().filter(|system| system.mean.is_some()) {
        let over_shared = set.measure(system.system, participants, cases, shared.bootstrap());
        let over_all = set.measure(system.system, &[], cases, shared.bootstrap());
        (system.mean, system.interval) = (over_shared.estimate, over_shared.interval);
        (system.own_mean, system.own_cases) = (over_all.estimate, over_all.n);
        system.bounds = over_all.bounds;
    }
    let means: Vec<Option<f64>> = systems.iter().map(|system| system.mean).collect();
    for (system, rank) in systems.iter_mut().zip(ranks_of(&means)) {
        system.rank = rank;
    }
}

fn notes(shared: &SharedCases<'_>, pairs: &[PairComparison]) -> Vec<Note> {
    let mut notes = Vec::new();
    let without = shared.participants..shared.order.len();
    let without: Vec<&str> = without.map(|rank| shared.label(rank)).collect();
    if !without.is_empty() {
        notes.push(Note::warning(format!(
            "No value, so not compared: {}.",
            without.join(", ")
        )));
    }
    if shared.cases.is_empty() && shared.participants > 1 {
        notes.push(Note::warning(
            "No case has a value for every system, so nothing can be compared.",
        ));
    }
    if shared.distinct_questions() == 1 && !pairs.is_empty() {
        notes.push(Note::warning(
            "No test: the systems share one question, which says nothing of others.",
        ));
    }
    notes.extend(unequal_sizes(shared));
    let mut unbounded = Vec::new();
    for pair in pairs {
        // A single question has no test, which is said elsewhere.
        if pair.interval.is_none() && pair.method.is_some() {
            let [first, second] = [pair.first, pair.second].map(|rank| shared.label(rank));
            unbounded.push(format!("{first} - {second}"));
        }
    }
    if !unbounded.is_empty() {
        let pairs = match &unbounded[..] {
            [_, _, _, _, ..] => counted(unbounded.len(), "pair"),
            few => few.join(", "),
        };
        notes.push(Note::info(format!(
            "No interval for {pairs}: too few questions, too few that differ, or equal differences."
        )));
    }
    notes
}

/// That questions with more cases count more, where their numbers differ.
fn unequal_sizes(shared: &SharedCases<'_>) -> Option<Note> {
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    for question in &shared.questions {
        *sizes.entry(*question).or_default() += 1;
    }
    let fewest = *sizes.values().min()?;
    let most = *sizes.values().max()?;
    (fewest < most).then(|| {
        Note::info(format!(
            "Means weight questions by their cases: a question has {fewest} to {most}."
        ))
    })
}

//! Builds tables of systems and cases from scored answers, one per metric.
//!
//! Answers are placed by run, system and case; each quantity of a scorer becomes one table. Then
//! empty cells are filled: the metric does not apply to the case, or the value is missing.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::games::observe_games;
use super::samples::sample_values;
use super::set_table::SetTable;
use super::{ComparedCase, MetricId, MetricTable, Observation, Observations, ObservedSystem};
use crate::OnUnscored;
use crate::quantity::{ASPECT_MEAN, Quantity, distinct, quantities};
use crate::set_number::SetNumber;
use scholareval_core::domain::{CaseId, ScoredAnswer, ScorerId, SubjectKind, SystemName, Unit};

/// The answers of one run.
#[derive(Debug, Clone, Default)]
pub struct RunAnswers<'a> {
    /// The run's name, unique among the runs; disambiguates systems.
    pub name: &'a str,
    /// What the run scored.
    pub subject: SubjectKind,
    /// Every answer by every scorer.
    pub scored: &'a [Arc<ScoredAnswer>],
    /// Words of each answer; empty if answers are not recorded.
    pub words: HashMap<(SystemName, CaseId), usize>,
    /// Pairs of system and case that were asked without an answer; `None` if not recorded: then every system counts as
    /// asked every answered case.
    pub unanswered: Option<HashSet<(SystemName, CaseId)>>,
    /// How the run counts unscored answers.
    pub on_unscored: OnUnscored,
}

/// Tabulates the runs' answers by every metric: scorers in the order of their first answer, over the cases of all runs,
/// joined by `case_id`. A system without answers has a row if its run asked it.
///
/// Pairs of answers are tabulated by who met whom; they are read alone, and not beside other runs.
///
/// A metric without any value is omitted. If a component of a metric was not judged in a system's run, the system has
/// no value of that metric: the answers that needed no judge would represent all.
///
/// ```
/// use scholareval_analysis::comparison::{RunAnswers, observe};
///
/// let run = RunAnswers { name: "mine", scored: &[], ..RunAnswers::default() };
/// assert!(observe(&[run]).metrics.is_empty());
/// ```
pub fn observe(runs: &[RunAnswers<'_>]) -> Observations {
    let Some(first) = runs.first() else {
        return Observations::default();
    };
    match first.subject {
        SubjectKind::Answer => observe_answers(runs),
        SubjectKind::Pair => observe_games(first),
    }
}

/// Tabulates runs of single answers.
fn observe_answers(runs: &[RunAnswers<'_>]) -> Observations {
    let scored = runs.iter().flat_map(|run| run.scored);
    let scorers = distinct(scored.map(|answer| &answer.score.scorer));
    let (mut observations, sets) = tabulate(runs, &scorers);
    observations.metrics.retain(MetricTable::has_answers);
    for set in sets {
        let mut tables = observations.metrics.iter_mut();
        if let Some(table) = tables.find(|table| set.is_tested_by(&table.metric)) {
            table.sets.push(set);
        }
    }
    observations
}

/// The answers by every metric of these scorers, also by those without any value, and the numbers of whole sets of answers.
pub(crate) fn tabulate(
    runs: &[RunAnswers<'_>],
    scorers: &[&ScorerId],
) -> (Observations, Vec<SetTable>) {
    let systems = systems(runs);
    let (cases, answered) = cases(runs);
    let frame = Frame::new(runs, &systems, &cases, answered);
    let mut placed: Vec<Placed<'_>> = Vec::new();
    for (run, run_answers) in runs.iter().enumerate() {
        for answer in run_answers.scored {
            if let Some(place) = frame.place(run, &answer.system, &answer.case.case_id) {
                placed.push((place, &**answer));
            }
        }
    }
    let mut metrics: Vec<MetricTable> = Vec::new();
    let mut sets: Vec<SetTable> = Vec::new();
    for scorer in scorers {
        let placed_of_scorer: Vec<Placed<'_>> = placed
            .iter()
            .copied()
            .filter(|(_, answer)| answer.score.scorer == **scorer)
            .collect();
        let answers: Vec<&ScoredAnswer> =
            placed_of_scorer.iter().map(|(_, answer)| *answer).collect();
        for (id, quantity) in metrics_of(scorer, &answers) {
            metrics.push(frame.table(id, &quantity, &placed_of_scorer));
        }
        for number in set_numbers(scorer, &answers) {
            sets.push(frame.set_table(scorer, number, &placed_of_scorer));
        }
    }
    let words = frame.words(runs);
    let observations = Observations {
        subject: SubjectKind::Answer,
        words,
        metrics,
        systems,
        cases,
        row: None,
    };
    (observations, sets)
}

/// The numbers of whole sets of a scorer's answers.
fn set_numbers(scorer: &ScorerId, answers: &[&ScoredAnswer]) -> Vec<SetNumber> {
    let columns = quantities(answers).into_iter().map(|(column, _)| column);
    SetNumber::all(scorer, &columns.collect::<Vec<_>>(), answers)
}

/// The metrics of a scorer with these answers.
pub(crate) fn metrics_of(
    scorer: &ScorerId,
    answers: &[&ScoredAnswer],
) -> Vec<(MetricId, Quantity)> {
    let all = quantities(answers);
    let mut metrics = Vec::new();
    let grades = all.iter().filter(|(column, _)| column.unit == Unit::Grade);
    let grades: Vec<String> = grades.map(|(column, _)| column.name.clone()).collect();
    for (column, quantity) in all {
        metrics.push((MetricId::new(scorer, column.name, column.unit), quantity));
    }
    if grades.len() >= 2 {
        metrics.push((
            MetricId::new(scorer, ASPECT_MEAN.to_owned(), Unit::Grade),
            Quantity::Mean(grades),
        ));
    }
    metrics
}

/// By run: systems with answers in their order, then those without.
fn systems(runs: &[RunAnswers<'_>]) -> Vec<ObservedSystem> {
    let mut names_by_run: Vec<(usize, &SystemName)> = Vec::new();
    for (run, answers) in runs.iter().enumerate() {
        let unanswered: BTreeSet<&SystemName> = answers
            .unanswered
            .iter()
            .flatten()
            .map(|pair| &pair.0)
            .collect();
        let names = answers
            .scored
            .iter()
            .map(|answer| &answer.system)
            .chain(unanswered);
        let mut seen = HashSet::new();
        names_by_run.extend(
            names
                .filter(|name| seen.insert(*name))
                .map(|name| (run, name)),
        );
    }
    let mut systems = Vec::new();
    for (run, name) in &names_by_run {
        let is_unique = names_by_run
            .iter()
            .filter(|(_, other)| other == name)
            .count()
            == 1;
        let label = if is_unique {
            name.to_string()
        } else {
            format!("{}/{name}", runs[*run].name)
        };
        systems.push(ObservedSystem {
            label,
            system: (*name).clone(),
            run: *run,
        });
    }
    systems
}

/// The cases, those with an answer first, and the number of these.
fn cases(runs: &[RunAnswers<'_>]) -> (Vec<ComparedCase>, usize) {
    let mut cases: Vec<ComparedCase> = Vec::new();
    let mut places: HashMap<&CaseId, usize> = HashMap::new();
    for answer in runs.iter().flat_map(|run| run.scored) {
        let at = *places.entry(&answer.case.case_id).or_insert_with(|| {
            cases.push(ComparedCase {
                case_id: answer.case.case_id.clone(),
                question: "".into(),
            });
            cases.len() - 1
        });
        // A run with --no-inputs has no questions; another run may have them.
        if cases[at].question.is_empty() {
            cases[at].question = answer.case.initial_prompt.trim().into();
        }
    }
    let answered = cases.len();
    let unanswered = runs
        .iter()
        .filter_map(|run| run.unanswered.as_ref())
        .flatten()
        .map(|(_, case)| case);
    // Sorted, since the list comes from a hash set and the order of cases decides that of the
    // output.
    let unanswered: BTreeSet<&CaseId> = unanswered
        .filter(|case| !places.contains_key(case))
        .collect();
    cases.extend(unanswered.into_iter().map(|case| ComparedCase {
        case_id: case.clone(),
        question: "".into(),
    }));
    (cases, answered)
}

/// Indices of system and case, and the answer.
type Placed<'a> = ((usize, usize), &'a ScoredAnswer);

/// Indices of answers, and the pairs that were asked.
struct Frame<'a> {
    systems: &'a [ObservedSystem],
    system_places: HashMap<(usize, &'a SystemName), usize>,
    case_places: HashMap<&'a CaseId, usize>,
    /// Number of cases with an answer, which come first.
    answered: usize,
    /// Whether the system was asked the case: by system, then by case.
    is_asked: Vec<Vec<bool>>,
    /// How the run of each system counts unscored answers.
    policies: Vec<OnUnscored>,
}

impl<'a> Frame<'a> {
    fn new(
        runs: &[RunAnswers<'_>],
        systems: &'a [ObservedSystem],
        cases: &'a [ComparedCase],
        answered: usize,
    ) -> Self {
        let system_places: HashMap<(usize, &SystemName), usize> = systems
            .iter()
            .enumerate()
            .map(|(at, system)| ((system.run, &system.system), at))
            .collect();
        let case_places: HashMap<&CaseId, usize> = cases
            .iter()
            .enumerate()
            .map(|(at, case)| (&case.case_id, at))
            .collect();
        let mut is_asked: Vec<Vec<bool>> = Vec::new();
        for system in systems {
            let has_list = runs[system.run].unanswered.is_some();
            is_asked.push(
                (0..cases.len())
                    .map(|case| !has_list && case < answered)
                    .collect(),
            );
        }
        let policies = systems
            .iter()
            .map(|system| runs[system.run].on_unscored)
            .collect();
        let mut frame = Self {
            systems,
            system_places,
            case_places,
            answered,
            is_asked,
            policies,
        };
        for (run, answers) in runs.iter().enumerate() {
            let answered = answers
                .scored
                .iter()
                .map(|answer| (&answer.system, &answer.case.case_id));
            let unanswered = answers
                .unanswered
                .iter()
                .flatten()
                .map(|(system, case)| (system, case));
            for (system, case) in answered.chain(unanswered) {
                if let Some((system, case)) = frame.place(run, system, case) {
                    frame.is_asked[system][case] = true;
                }
            }
        }
        frame
    }

    /// The indices of a system and a case.
    fn place(&self, run: usize, system: &SystemName, case: &CaseId) -> Option<(usize, usize)> {
        self.system_places
            .get(&(run, system))
            .copied()
            .zip(self.case_places.get(case).copied())
    }

    fn words(&self, runs: &[RunAnswers<'_>]) -> Option<Vec<Vec<Option<f64>>>> {
        if runs.iter().all(|run| run.words.is_empty()) {
            return None;
        }
        let mut words = vec![vec![None; self.case_places.len()]; self.systems.len()];
        for (run, answers) in runs.iter().enumerate() {
            for ((system, case), count) in &answers.words {
                if let Some((system, case)) = self.place(run, system, case) {
                    words[system][case] = Some(*count as f64);
                }
            }
        }
        Some(words)
    }

    /// The table of a metric.
    fn table(&self, metric: MetricId, quantity: &Quantity, placed: &[Placed<'_>]) -> MetricTable {
        let mut values =
            vec![vec![Observation::NotApplicable; self.case_places.len()]; self.systems.len()];
        let mut samples = vec![vec![Vec::new(); self.case_places.len()]; self.systems.len()];
        let mut judges = Vec::new();
        let mut net_ranges = Vec::new();
        if metric.unit == Unit::Net {
            net_ranges = vec![vec![None; self.case_places.len()]; self.systems.len()];
        }
        let mut votes = false;
        for ((system, case), answer) in placed {
            let mut members = answer.members.values().flatten();
            votes |= members.any(|member| member.stops_early);
            if let Some(range) = quantity.net_range(metric.unit, answer) {
                net_ranges[*system][*case] = Some(range);
            }
            values[*system][*case] = quantity.observe(answer).by_policy(self.policies[*system]);
            samples[*system][*case] = sample_values(quantity, answer, &mut judges);
        }
        let inapplicable = placed.iter().filter(|_| metric.is_optional());
        let inapplicable: HashSet<_> = inapplicable.map(|(place, _)| *place).collect();
        self.mark_missing(&mut values, &inapplicable);
        for by_judge in samples.iter_mut().flatten() {
            by_judge.resize(judges.len(), Vec::new());
        }
        MetricTable {
            metric,
            values,
            net_ranges,
            samples: (!judges.is_empty()).then_some(samples),
            votes,
            games: Vec::new(),
            sets: Vec::new(),
        }
    }

    /// What each answer gives to a number of its system.
    fn set_table(&self, scorer: &ScorerId, number: SetNumber, placed: &[Placed<'_>]) -> SetTable {
        let mut answers = vec![vec![None; self.case_places.len()]; self.systems.len()];
        for ((system, case), answer) in placed {
            answers[*system][*case] = Some(number.observe(answer, self.policies[*system]));
        }
        SetTable {
            metric: MetricId::new(scorer, number.name(), number.unit()),
            number,
            answers,
        }
    }

    /// A value is missing if the system was asked the case, unless other answers show that the metric does not apply to
    /// it: a case without any answer counts. So does an answer, by system and case, that has nothing which the metric is about.
    fn mark_missing(
        &self,
        values: &mut [Vec<Observation>],
        inapplicable: &HashSet<(usize, usize)>,
    ) {
        for case in 0..self.case_places.len() {
            let has_any = values
                .iter()
                .any(|row| row[case] != Observation::NotApplicable);
            // No system has a value there, so the metric does not apply to the case (no gold
            // answer): nothing is missing.
            if case < self.answered && !has_any {
                continue;
            }
            for (system, (row, is_asked)) in values.iter_mut().zip(&self.is_asked).enumerate() {
                let is_open = is_asked[case] && row[case] == Observation::NotApplicable;
                if is_open && !inapplicable.contains(&(system, case)) {
                    row[case] = Observation::Missing;
                }
            }
        }
    }
}

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

impl<'a> RunAnswers<'a> {
    /// System and case of each scored answer.
    fn answered(&self) -> impl Iterator<Item = (&'a SystemName, &'a CaseId)> {
        let scored = self.scored.iter();
        scored.map(|answer| (&answer.system, &answer.case.case_id))
    }

    /// System and case of what was asked without an answer, as far as it is recorded.
    fn unanswered(&self) -> impl Iterator<Item = (&SystemName, &CaseId)> {
        let pairs = self.unanswered.iter().flatten();
        pairs.map(|(system, case)| (system, case))
    }
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
        let mut placed_of_scorer = placed.clone();
        placed_of_scorer.retain(|(_, answer)| answer.score.scorer == **scorer);
        let answers = placed_of_scorer.iter().map(|(_, answer)| *answer);
        let answers: Vec<&ScoredAnswer> = answers.collect();
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
        // Sorted, since they come from a hash set.
        let unanswered: BTreeSet<_> = answers.unanswered().map(|(system, _)| system).collect();
        let answered = answers.answered().map(|(system, _)| system);
        let names = distinct(answered.chain(unanswered));
        names_by_run.extend(names.into_iter().map(|name| (run, name)));
    }
    let mut systems = Vec::new();
    for (run, name) in &names_by_run {
        let same = names_by_run.iter().filter(|(_, other)| other == name);
        let label = match same.count() {
            1 => name.to_string(),
            _ => format!("{}/{name}", runs[*run].name),
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
    // Sorted, since the list comes from a hash set and the order of cases decides that of the
    // output.
    let unanswered = runs.iter().flat_map(RunAnswers::unanswered);
    let mut unanswered: BTreeSet<&CaseId> = unanswered.map(|(_, case)| case).collect();
    unanswered.retain(|case| !places.contains_key(case));
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
        let mut is_asked: Vec<Vec<bool>> = Vec::new();
        for system in systems {
            let has_list = runs[system.run].unanswered.is_some();
            let by_case = (0..cases.len()).map(|case| !has_list && case < answered);
            is_asked.push(by_case.collect());
        }
        let of_systems = systems.iter().zip(0..);
        let of_cases = cases.iter().zip(0..);
        let policies = systems.iter().map(|system| runs[system.run].on_unscored);
        let mut frame = Self {
            systems,
            system_places: of_systems
                .map(|(one, at)| ((one.run, &one.system), at))
                .collect(),
            case_places: of_cases.map(|(case, at)| (&case.case_id, at)).collect(),
            answered,
            is_asked,
            policies: policies.collect(),
        };
        for (run, answers) in runs.iter().enumerate() {
            for (system, case) in answers.answered().chain(answers.unanswered()) {
                if let Some((system, case)) = frame.place(run, system, case) {
                    frame.is_asked[system][case] = true;
                }
            }
        }
        frame
    }

    /// The indices of a system and a case.
    fn place(&self, run: usize, system: &SystemName, case: &CaseId) -> Option<(usize, usize)> {
        let system = self.system_places.get(&(run, system))?;
        Some((*system, *self.case_places.get(case)?))
    }

    /// A table of these cells by system, then by case.
    fn cells<T: Clone>(&self, cell: T) -> Vec<Vec<T>> {
        vec![vec![cell; self.case_places.len()]; self.systems.len()]
    }

    fn words(&self, runs: &[RunAnswers<'_>]) -> Option<Vec<Vec<Option<f64>>>> {
        if runs.iter().all(|run| run.words.is_empty()) {
            return None;
        }
        let mut words = self.cells(None);
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
        let mut values = self.cells(Observation::NotApplicable);
        let mut samples = self.cells(Vec::new());
        let mut judges = Vec::new();
        let mut net_ranges = Vec::new();
        if metric.unit == Unit::Net {
            net_ranges = self.cells(None);
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
            drawn: Vec::new(),
            samples: (!judges.is_empty()).then_some(samples),
            votes,
            games: Vec::new(),
            sets: Vec::new(),
        }
    }

    /// What each answer gives to a number of its system.
    fn set_table(&self, scorer: &ScorerId, number: SetNumber, placed: &[Placed<'_>]) -> SetTable {
        let mut answers = self.cells(None);
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
            let mut rows = values.iter();
            let has_any = rows.any(|row| row[case] != Observation::NotApplicable);
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

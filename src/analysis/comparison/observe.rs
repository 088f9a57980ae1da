//! Scored answers to tables of systems and cases, one for each metric.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::measure::{Judges, Measure, lacks_a_judge};
use super::{ComparedCase, MetricTable, Observation, Observations, ObservedSystem};
use crate::domain::{CaseId, Note, ScoredAnswer, SystemName};

/// The answers of one run.
#[derive(Debug, Clone)]
pub struct RunAnswers<'a> {
    /// The run's name, for systems that two runs have.
    pub name: &'a str,
    /// Every answer by every scorer.
    pub scored: &'a [Arc<ScoredAnswer>],
    /// Words of each answer; empty where the answers are not recorded.
    pub words: HashMap<(SystemName, CaseId), usize>,
    /// What it asked; `None` where that is not recorded: then every system was asked every case that anyone answered.
    pub asked: Option<Asked>,
}

/// What a run asked.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The cases that the run kept.
    pub kept: HashSet<CaseId>,
    /// Systems and cases without an answer, of those that the run (or its slice) holds.
    pub unanswered: HashSet<(SystemName, CaseId)>,
}

/// The answers of these runs by every metric: scorer by scorer in the order of their first answer, over the cases of any
/// run, joined by `case_id`. A system without any answer has a row too if its run asked it.
///
/// A metric that no answer has is left out. If nobody judged a component in a system's run, the system has no value of
/// the metric: the answers that needed no judge would stand for all.
///
/// ```
/// use scholareval::analysis::comparison::{RunAnswers, observe};
///
/// let run = RunAnswers { name: "mine", scored: &[], words: Default::default(), asked: None };
/// assert!(observe(&[run]).metrics.is_empty());
/// ```
pub fn observe(runs: &[RunAnswers<'_>]) -> Observations {
    let systems = systems(runs);
    let (cases, answered) = cases(runs);
    let frame = Frame::new(runs, &systems, &cases, answered);
    let mut scorers: Vec<&'static str> = Vec::new();
    for answer in runs.iter().flat_map(|run| run.scored) {
        if !scorers.contains(&answer.score.scorer) {
            scorers.push(answer.score.scorer);
        }
    }
    let placed: HashMap<&str, Vec<Placed<'_>>> =
        scorers.iter().map(|scorer| (*scorer, frame.placed(runs, scorer))).collect();
    let mut metrics: Vec<MetricTable> = Vec::new();
    for scorer in &scorers {
        let own: Vec<&ScoredAnswer> = placed[scorer].iter().map(|placed| placed.answer).collect();
        for measure in Measure::all_of(scorer, &own, &scorers) {
            if metrics.iter().all(|table| table.metric != measure.metric) {
                let answers: Vec<&Placed<'_>> = measure.scorers.iter().flat_map(|of| &placed[of]).collect();
                metrics.extend(frame.table(measure, &answers));
            }
        }
    }
    let words = frame.words(runs);
    Observations { words, metrics, systems, cases }
}

/// Names made distinct: of equal ones the second gets ` (2)`, the third ` (3)`.
///
/// ```
/// let names = scholareval::analysis::comparison::distinct_names(&["run", "other", "run"]);
/// assert_eq!(names, ["run", "other", "run (2)"]);
/// ```
pub fn distinct_names(names: &[&str]) -> Vec<String> {
    let given: HashSet<&str> = names.iter().copied().collect();
    let mut taken: HashSet<String> = HashSet::new();
    let distinct = |name: &&str| {
        let numbered = (2_usize..).map(|n| format!("{name} ({n})"));
        let mut free = std::iter::once((*name).to_owned())
            .chain(numbered.filter(|new| !given.contains(new.as_str())))
            .filter(|new| !taken.contains(new));
        let own = free.next().unwrap_or_default();
        taken.insert(own.clone());
        own
    };
    names.iter().map(distinct).collect()
}

/// Run by run, those with answers in their order, then those without any.
fn systems(runs: &[RunAnswers<'_>]) -> Vec<ObservedSystem> {
    let mut found: Vec<(usize, &SystemName)> = Vec::new();
    for (run, answers) in runs.iter().enumerate() {
        let unanswered: BTreeSet<_> = answers.asked.iter().flat_map(|asked| &asked.unanswered).collect();
        let names = answers.scored.iter().map(|answer| &answer.system).chain(unanswered.iter().map(|pair| &pair.0));
        let mut seen = HashSet::new();
        found.extend(names.filter(|name| seen.insert(*name)).map(|name| (run, name)));
    }
    let run_names = distinct_names(&runs.iter().map(|run| run.name).collect::<Vec<_>>());
    let label = |(run, name): &(usize, &SystemName)| {
        let is_unique = found.iter().filter(|(_, other)| other == name).count() == 1;
        if is_unique { name.to_string() } else { format!("{}/{name}", run_names[*run]) }
    };
    let labels: Vec<String> = found.iter().map(label).collect();
    let labels = distinct_names(&labels.iter().map(String::as_str).collect::<Vec<_>>());
    let system = |((run, name), label): (&(usize, &SystemName), String)| ObservedSystem {
        label,
        system: (*name).clone(),
        run: *run,
    };
    found.iter().zip(labels).map(system).collect()
}

/// The cases, those with an answer first, and how many these are.
fn cases(runs: &[RunAnswers<'_>]) -> (Vec<ComparedCase>, usize) {
    let mut cases: Vec<ComparedCase> = Vec::new();
    let mut places: HashMap<&CaseId, usize> = HashMap::new();
    for answer in runs.iter().flat_map(|run| run.scored) {
        let at = *places.entry(&answer.case.case_id).or_insert_with(|| {
            cases.push(ComparedCase { case_id: answer.case.case_id.clone(), question: "".into() });
            cases.len() - 1
        });
        // A run made with --no-inputs has no question; another one may have it.
        if cases[at].question.is_empty() {
            cases[at].question = answer.case.initial_prompt.trim().into();
        }
    }
    let answered = cases.len();
    let unanswered = runs.iter().filter_map(|run| run.asked.as_ref()).flat_map(|asked| &asked.unanswered);
    let unanswered: BTreeSet<&CaseId> = unanswered.map(|(_, case)| case).collect();
    let unanswered = unanswered.into_iter().filter(|case| !places.contains_key(case));
    cases.extend(unanswered.map(|case| ComparedCase { case_id: case.clone(), question: "".into() }));
    (cases, answered)
}

/// An answer with its place in the tables.
struct Placed<'a> {
    system: usize,
    case: usize,
    answer: &'a ScoredAnswer,
}

/// Where answers belong, and which ones were asked for.
struct Frame<'a> {
    systems: &'a [ObservedSystem],
    system_places: HashMap<(usize, &'a SystemName), usize>,
    case_places: HashMap<&'a CaseId, usize>,
    /// How many cases have an answer: they stand first.
    answered: usize,
    /// Those of them that a run with a list kept.
    kept: Vec<usize>,
    /// Whether the system was asked the case: by system, then by case.
    asked: Vec<Vec<bool>>,
}

impl<'a> Frame<'a> {
    fn new(runs: &[RunAnswers<'_>], systems: &'a [ObservedSystem], cases: &'a [ComparedCase], answered: usize) -> Self {
        let is_kept = |case: &usize| {
            runs.iter().filter_map(|run| run.asked.as_ref()).any(|asked| asked.kept.contains(&cases[*case].case_id))
        };
        let mut frame = Self {
            systems,
            system_places: systems.iter().enumerate().map(|(at, own)| ((own.run, &own.system), at)).collect(),
            case_places: cases.iter().enumerate().map(|(at, case)| (&case.case_id, at)).collect(),
            answered,
            kept: (0..answered).filter(is_kept).collect(),
            asked: Vec::new(),
        };
        frame.asked = systems.iter().map(|system| frame.asked_of(system, &runs[system.run])).collect();
        frame
    }

    /// The cases that a system was asked.
    fn asked_of(&self, system: &ObservedSystem, run: &RunAnswers<'_>) -> Vec<bool> {
        let mut asked = vec![false; self.case_places.len()];
        let Some(list) = &run.asked else {
            asked[..self.answered].fill(true);
            return asked;
        };
        let unanswered = list.unanswered.iter().filter(|(name, _)| *name == system.system).map(|(_, case)| case);
        // A case outside of the list that one system of the run answered was asked of all its systems.
        let is_own =
            |answer: &&Arc<ScoredAnswer>| answer.system == system.system || !list.kept.contains(&answer.case.case_id);
        let answered = run.scored.iter().filter(is_own).map(|answer| &answer.case.case_id);
        for case in unanswered.chain(answered) {
            asked[self.case_places[case]] = true;
        }
        asked
    }

    fn words(&self, runs: &[RunAnswers<'_>]) -> Option<Vec<Vec<Option<f64>>>> {
        if runs.iter().all(|run| run.words.is_empty()) {
            return None;
        }
        let mut words = vec![vec![None; self.case_places.len()]; self.systems.len()];
        for (run, answers) in runs.iter().enumerate() {
            for ((system, case), count) in &answers.words {
                let system = self.system_places.get(&(run, system));
                if let Some((system, case)) = system.zip(self.case_places.get(case)) {
                    words[*system][*case] = Some(*count as f64);
                }
            }
        }
        Some(words)
    }

    /// The answers of a scorer; of two to one case by one system the first.
    fn placed<'r>(&self, runs: &[RunAnswers<'r>], scorer: &str) -> Vec<Placed<'r>> {
        let mut seen = HashSet::new();
        let mut placed = Vec::new();
        for (run, answers) in runs.iter().enumerate() {
            for answer in answers.scored.iter().filter(|answer| answer.score.scorer == scorer) {
                let (system, case) =
                    (self.system_places[&(run, &answer.system)], self.case_places[&answer.case.case_id]);
                if seen.insert((system, case)) {
                    placed.push(Placed { system, case, answer });
                }
            }
        }
        placed
    }

    /// The table of a metric; `None` where no answer has it.
    fn table(&self, measure: Measure, placed: &[&Placed<'_>]) -> Option<MetricTable> {
        let lacks_judge = |placed: &&&Placed<'_>| measure.parts(placed.answer).any(lacks_a_judge);
        let unjudged: BTreeSet<usize> = placed.iter().filter(lacks_judge).map(|placed| placed.system).collect();
        let mut values = vec![vec![Observation::NotApplicable; self.case_places.len()]; self.systems.len()];
        let mut samples = vec![vec![Vec::new(); self.case_places.len()]; self.systems.len()];
        let mut judges = Judges::default();
        for Placed { system, case, answer } in placed.iter().filter(|placed| !unjudged.contains(&placed.system)) {
            let value = &mut values[*system][*case];
            if *value == Observation::NotApplicable {
                *value = measure.observation(answer);
                samples[*system][*case] = measure.samples(answer, &mut judges);
            }
        }
        if values.iter().flatten().all(|value| *value == Observation::NotApplicable) {
            return None;
        }
        self.mark_missing(&mut values);
        samples.iter_mut().flatten().for_each(|by_judge| by_judge.resize(judges.count(), Vec::new()));
        let has_samples = judges.count() > 0;
        let mut notes = measure.notes.clone();
        notes.extend(measure.note_on_samples(placed.iter().map(|placed| placed.answer)).filter(|_| has_samples));
        if !unjudged.is_empty() {
            let labels: Vec<&str> = unjudged.iter().map(|place| self.systems[*place].label.as_str()).collect();
            notes.push(Note::warning(format!("nobody judged this of {}.", labels.join(", "))));
        }
        Some(MetricTable { metric: measure.metric, values, samples: has_samples.then_some(samples), notes })
    }

    /// A value is missing where the system was asked and the metric applies: to a case that somebody answered if any answer
    /// has it, to a case that nobody answered if every kept case has it.
    fn mark_missing(&self, values: &mut [Vec<Observation>]) {
        let has_any = |case: usize| values.iter().any(|row| row[case] != Observation::NotApplicable);
        let is_general = !self.kept.is_empty() && self.kept.iter().all(|case| has_any(*case));
        let cases = 0..self.case_places.len();
        let applies: Vec<bool> =
            cases.map(|case| if case < self.answered { has_any(case) } else { is_general }).collect();
        for (row, asked) in values.iter_mut().zip(&self.asked) {
            for ((value, asked), applies) in row.iter_mut().zip(asked).zip(&applies) {
                if *value == Observation::NotApplicable && *asked && *applies {
                    *value = Observation::Missing;
                }
            }
        }
    }
}

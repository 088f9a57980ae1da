//! Scored answers to tables of systems and cases, one a metric.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::asked::{Asked, Lacks};
use super::measure::{Judges, Measure, lacks_a_judge};
use super::{ComparedCase, Observation, Observed, ObservedSystem};
use crate::domain::{CaseId, ScoredAnswer, SystemName};

/// The answers of one run.
#[derive(Debug, Clone)]
pub struct RunAnswers<'a> {
    /// The run's name, for systems that two runs have.
    pub name: &'a str,
    /// Every answer by every scorer.
    pub scored: &'a [Arc<ScoredAnswer>],
    /// Words of each answer; empty where the answers are not known.
    pub words: HashMap<(SystemName, CaseId), usize>,
    /// What it asked; `None` where it does not tell: what any system answered stands for it.
    pub asked: Option<Asked>,
}

/// The tables of these runs, one a metric: scorer by scorer in the order of their first answer, all with the same systems
/// and the same cases (those of any run, joined by `case_id`).
///
/// A metric that no answer has is left out. Of a column that nobody judged in a system's run nothing is taken: the
/// answers that happened to need no judge would stand for all.
///
/// ```
/// use scholareval::analysis::comparison::{RunAnswers, observe};
///
/// let run = RunAnswers { name: "mine", scored: &[], words: Default::default(), asked: None };
/// assert!(observe(&[run]).is_empty());
/// ```
pub fn observe(runs: &[RunAnswers<'_>]) -> Vec<Observed> {
    let frame = Frame::of(runs);
    let mut scorers: Vec<&'static str> = Vec::new();
    for answer in runs.iter().flat_map(|run| run.scored) {
        if !scorers.contains(&answer.score.scorer) {
            scorers.push(answer.score.scorer);
        }
    }
    let placed: HashMap<&str, Vec<Placed<'_>>> =
        scorers.iter().map(|scorer| (*scorer, frame.placed(runs, scorer))).collect();
    let answers = |scorer: &str| placed.get(scorer).map_or(&[][..], Vec::as_slice);
    let mut tables: Vec<Observed> = Vec::new();
    for scorer in &scorers {
        let own: Vec<&ScoredAnswer> = answers(scorer).iter().map(|placed| placed.answer).collect();
        for measure in Measure::all_of(scorer, &own, &scorers) {
            let known = tables.iter().any(|table| table.metric == measure.metric);
            let from: Vec<&[Placed<'_>]> = measure.scorers.iter().map(|of| answers(of)).collect();
            tables.extend((!known).then(|| frame.table(measure, &from)).flatten());
        }
    }
    tables
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

/// An answer with its place in the tables.
struct Placed<'a> {
    system: usize,
    case: usize,
    answer: &'a ScoredAnswer,
}

/// What all tables share: systems, cases, words.
pub(super) struct Frame {
    pub(super) systems: Vec<ObservedSystem>,
    system_places: HashMap<(usize, SystemName), usize>,
    pub(super) cases: Vec<ComparedCase>,
    pub(super) case_places: HashMap<CaseId, usize>,
    words: Option<Vec<Vec<Option<f64>>>>,
    lacks: Option<Lacks>,
}

impl Frame {
    fn of(runs: &[RunAnswers<'_>]) -> Self {
        let (mut found, mut system_places) = (Vec::new(), HashMap::new());
        let (mut cases, mut case_places): (Vec<ComparedCase>, _) = (Vec::new(), HashMap::new());
        for (run, answers) in runs.iter().enumerate() {
            for answer in answers.scored {
                system_places.entry((run, answer.system.clone())).or_insert_with(|| {
                    found.push((run, answer.system.clone()));
                    found.len() - 1
                });
                let case_id = &answer.case.case_id;
                let at = *case_places.entry(case_id.clone()).or_insert_with(|| {
                    cases.push(ComparedCase { case_id: case_id.clone(), question: Arc::from("") });
                    cases.len() - 1
                });
                // A run made with --no-inputs does not tell the question; another one may.
                if cases[at].question.is_empty() {
                    cases[at].question = Arc::from(answer.case.initial_prompt.trim());
                }
            }
        }
        let mut frame =
            Self { systems: labelled(runs, found), system_places, cases, case_places, words: None, lacks: None };
        frame.lacks = Lacks::of(&mut frame, runs);
        frame.words = frame.words_of(runs);
        frame
    }

    fn words_of(&self, runs: &[RunAnswers<'_>]) -> Option<Vec<Vec<Option<f64>>>> {
        if runs.iter().all(|run| run.words.is_empty()) {
            return None;
        }
        let mut words = vec![vec![None; self.cases.len()]; self.systems.len()];
        for (run, answers) in runs.iter().enumerate() {
            for ((system, case), count) in &answers.words {
                let system = self.system_places.get(&(run, system.clone()));
                if let Some((system, case)) = system.zip(self.case_places.get(case)) {
                    words[*system][*case] = Some(*count as f64);
                }
            }
        }
        Some(words)
    }

    /// The answers of a scorer; of two to one case by one system the first.
    fn placed<'a>(&self, runs: &[RunAnswers<'a>], scorer: &str) -> Vec<Placed<'a>> {
        let mut seen = HashSet::new();
        let mut placed = Vec::new();
        for (run, answers) in runs.iter().enumerate() {
            for answer in answers.scored.iter().filter(|answer| answer.score.scorer == scorer) {
                let system = self.system_places.get(&(run, answer.system.clone()));
                let Some((system, case)) = system.zip(self.case_places.get(&answer.case.case_id)) else { continue };
                if seen.insert((*system, *case)) {
                    placed.push(Placed { system: *system, case: *case, answer });
                }
            }
        }
        placed
    }

    /// The table of a metric; `None` where no answer has it.
    fn table(&self, measure: Measure, from: &[&[Placed<'_>]]) -> Option<Observed> {
        let placed = || from.iter().copied().flatten();
        let unjudged: BTreeSet<usize> = placed()
            .filter(|placed| measure.parts(placed.answer).any(lacks_a_judge))
            .map(|placed| placed.system)
            .collect();
        let mut values = vec![vec![Observation::Absent; self.cases.len()]; self.systems.len()];
        let mut judges = Judges::default();
        let mut draws = vec![vec![Vec::new(); self.cases.len()]; self.systems.len()];
        for Placed { system, case, answer } in placed().filter(|placed| !unjudged.contains(&placed.system)) {
            let cell = &mut values[*system][*case];
            if *cell == Observation::Absent {
                *cell = measure.observation(answer);
                draws[*system][*case] = measure.draws(answer, &mut judges);
            }
        }
        if values.iter().flatten().all(|value| *value == Observation::Absent) {
            return None;
        }
        draws.iter_mut().flatten().for_each(|by_judge| by_judge.resize(judges.count(), Vec::new()));
        let has_draws = judges.count() > 0;
        let on_draws = measure.note_on_draws(placed().map(|placed| placed.answer)).filter(|_| has_draws);
        let mut notes = measure.notes;
        notes.extend(on_draws);
        if !unjudged.is_empty() {
            let labels: Vec<&str> = unjudged.iter().map(|place| self.systems[*place].label.as_str()).collect();
            notes.push(format!("nobody judged this of {}", labels.join(", ")));
        }
        Some(Observed {
            asked: self.lacks.as_ref().map(|lacks| lacks.of_table(&values)),
            metric: measure.metric,
            systems: self.systems.clone(),
            cases: self.cases.clone(),
            values,
            words: self.words.clone(),
            draws: has_draws.then_some(draws),
            notes,
        })
    }
}

fn labelled(runs: &[RunAnswers<'_>], found: Vec<(usize, SystemName)>) -> Vec<ObservedSystem> {
    let names = distinct_names(&runs.iter().map(|run| run.name).collect::<Vec<_>>());
    let mut times: HashMap<SystemName, usize> = HashMap::new();
    for (_, system) in &found {
        *times.entry(system.clone()).or_default() += 1;
    }
    let label = |(run, system): &(usize, SystemName)| match times.get(system) {
        Some(1) | None => system.to_string(),
        Some(_) => format!("{}/{system}", names.get(*run).map_or("", String::as_str)),
    };
    let labels: Vec<String> = found.iter().map(label).collect();
    let labels = distinct_names(&labels.iter().map(String::as_str).collect::<Vec<_>>());
    let systems = found.into_iter().zip(labels);
    systems.map(|((run, system), label)| ObservedSystem { label, system, run }).collect()
}

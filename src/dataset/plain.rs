//! Every answer once, under an id that equal questions of several systems share.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::domain::{Answer, CaseId, Prediction, SystemName, TestCase};
use crate::error::{Error, InputFault, Result};

use super::names::{list, suggest};
use super::prepared::{Prepared, ScorableOptions};
use super::{PairedAnswer, TestCases};

/// Missing questions that are named; the rest are counted.
const MISSING_SHOWN: usize = 5;

/// The list for scorers that need no rubric.
pub(super) struct Plain {
    pub(super) items: Vec<PairedAnswer>,
    /// The ids in it, in order of appearance.
    pub(super) cases: Vec<CaseId>,
    /// Which of them a system did not answer.
    pub(super) missing: Vec<(SystemName, CaseId)>,
    /// The same in words.
    pub(super) warnings: Vec<InputFault>,
}

/// Makes the list. With test cases a choice of cases or a limit leaves what they name; without, cases are ids and the
/// limit counts questions.
///
/// # Errors
/// [`Error::Settings`] for an unknown case without test cases; [`Error::Input`] where nothing is left.
pub(super) fn plain_items(
    systems: &[&Prepared<'_>],
    rubric: &[PairedAnswer],
    tests: Option<&TestCases>,
    options: &ScorableOptions<'_>,
) -> Result<Plain> {
    let mut names = Names::new(tests, systems);
    let mut items = Vec::new();
    for system in systems {
        let own: Vec<&PairedAnswer> =
            rubric.iter().filter(|item| item.answer.system == system.answers.system).collect();
        match (system.is_predictions(), tests) {
            (true, _) => items.extend(of_predictions(system, &own, &mut names, tests.is_some(), options)),
            (false, Some(_)) => items.extend(once_a_question(&own)),
            (false, None) => items.extend(system.answers.answers.iter().map(|answer| PairedAnswer {
                case: names.case_of(answer.case_id.clone(), ""),
                answer: answer.clone(),
            })),
        }
    }
    if tests.is_none() {
        items = chosen(items, options)?;
    }
    if items.is_empty() {
        let path = systems.first().map_or_else(Default::default, |system| system.answers.path.clone());
        return Err(InputFault::new(path, "no answers to score").hint("name files that hold some").into());
    }
    let mut seen = HashSet::new();
    let ids = items.iter().map(|item| &item.case.case_id).filter(|id| seen.insert(*id));
    let cases: Vec<CaseId> = ids.cloned().collect();
    let (missing, warnings) = missing(systems, &items, &cases, tests.is_some() && options.pairing.compat);
    Ok(Plain { items, cases, missing, warnings })
}

/// Every prediction: with the case it is paired with first, else with one of its own.
fn of_predictions(
    system: &Prepared<'_>,
    own: &[&PairedAnswer],
    names: &mut Names,
    with_tests: bool,
    options: &ScorableOptions<'_>,
) -> Vec<PairedAnswer> {
    let mut paired: HashMap<*const Prediction, &PairedAnswer> = HashMap::new();
    for item in own {
        if let Some(prediction) = &item.answer.prediction {
            paired.entry(Arc::as_ptr(prediction)).or_insert(item);
        }
    }
    let narrowed = with_tests && (options.pairing.cases.is_some() || options.pairing.limit.is_some());
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut items = Vec::with_capacity(system.written.len());
    for (index, written) in system.written.iter().enumerate() {
        let prediction = &written.prediction;
        let turn = seen.entry(prediction.input.trim()).or_default();
        *turn += 1;
        if let Some(item) = paired.get(&Arc::as_ptr(prediction)) {
            items.push((*item).clone());
        } else if !narrowed {
            let case_id = names.id_of(prediction, *turn, index + 1);
            // Where the reference's block cannot be made, nothing looks at it: there is no rubric.
            let block = written.block(options.block).ok().flatten();
            let answer = written.answer(&system.answers.system, block.as_deref());
            let case = names.case_of(case_id.clone(), &prediction.input);
            items.push(PairedAnswer { case, answer: Answer { case_id, ..answer } });
        }
    }
    items
}

/// Of answers to several annotators' cases of one question the first.
fn once_a_question(own: &[&PairedAnswer]) -> Vec<PairedAnswer> {
    let mut asked = HashSet::new();
    own.iter().filter(|item| asked.insert(item.case.initial_prompt.trim())).map(|item| (*item).clone()).collect()
}

/// The items that `cases` and `limit` leave where there are no test cases.
fn chosen(items: Vec<PairedAnswer>, options: &ScorableOptions<'_>) -> Result<Vec<PairedAnswer>> {
    let mut wanted: Option<HashSet<&str>> = None;
    if let Some(names) = &options.pairing.cases {
        let known: HashSet<&str> = items.iter().map(|item| item.case.case_id.as_str()).collect();
        let mut sorted: Vec<&str> = known.iter().copied().collect();
        sorted.sort_unstable();
        let unknown = names.iter().filter(|name| !known.contains(name.as_str()));
        let unknown: Vec<String> = unknown
            .map(|name| {
                let hint = suggest(name, sorted.iter().copied());
                format!("unknown case \"{}\" among the predictions; {hint}", name.escape_debug())
            })
            .collect();
        if !unknown.is_empty() {
            return Err(Error::Settings(unknown.join("\n")));
        }
        wanted = Some(names.iter().map(String::as_str).collect());
    }
    let limit = options.pairing.limit.unwrap_or(usize::MAX);
    let mut counted: HashSet<String> = HashSet::new();
    let mut left = Vec::new();
    for item in items {
        if wanted.as_ref().is_some_and(|wanted| !wanted.contains(item.case.case_id.as_str())) {
            continue;
        }
        // Answers without a known question count by their id.
        let asked = item.case.initial_prompt.trim();
        let key = if asked.is_empty() { item.case.case_id.as_str() } else { asked };
        if counted.contains(key) || (counted.len() < limit && counted.insert(key.to_owned())) {
            left.push(item);
        }
    }
    if left.is_empty() && limit == 0 {
        return Err(Error::Settings("no question is left to score; raise the limit".to_owned()));
    }
    Ok(left)
}

/// What each system did not answer. `by_question`: an answer to another annotation of a question will do.
fn missing(
    systems: &[&Prepared<'_>],
    items: &[PairedAnswer],
    cases: &[CaseId],
    by_question: bool,
) -> (Vec<(SystemName, CaseId)>, Vec<InputFault>) {
    let questions: HashMap<&CaseId, &str> =
        items.iter().map(|item| (&item.case.case_id, item.case.initial_prompt.trim())).collect();
    let (mut missing, mut warnings) = (Vec::new(), Vec::new());
    for system in systems {
        let name = &system.answers.system;
        let own: Vec<&PairedAnswer> = items.iter().filter(|item| &item.answer.system == name).collect();
        let ids: HashSet<&CaseId> = own.iter().map(|item| &item.case.case_id).collect();
        let asked: HashSet<&str> = own.iter().map(|item| item.case.initial_prompt.trim()).collect();
        let is_answered =
            |id: &CaseId| ids.contains(id) || (by_question && questions.get(id).is_some_and(|q| asked.contains(q)));
        let lacks: Vec<&CaseId> = cases.iter().filter(|id| !is_answered(id)).collect();
        if !lacks.is_empty() {
            let names = list(lacks.iter().map(|id| id.as_str()), MISSING_SHOWN);
            let what = format!("{} of {} questions have no answer: {names}", lacks.len(), cases.len());
            warnings.push(InputFault::new(&system.answers.path, what));
        }
        missing.extend(lacks.into_iter().map(|id| (name.clone(), id.clone())));
    }
    (missing, warnings)
}

/// Ids of questions that no test case has.
struct Names {
    /// Ids that are somebody's: of test cases, of answers whose question is not known, and those given out.
    taken: HashSet<String>,
    /// By question, and for the how-manieth time it is asked in its file.
    ids: HashMap<(String, usize), CaseId>,
    cases: HashMap<CaseId, Arc<TestCase>>,
}

impl Names {
    fn new(tests: Option<&TestCases>, systems: &[&Prepared<'_>]) -> Self {
        let of_cases = tests.iter().flat_map(|tests| &tests.cases).map(|case| &case.case_id);
        let answers = systems.iter().filter(|system| !system.is_predictions());
        let of_answers = answers.flat_map(|system| &system.answers.answers).map(|answer| &answer.case_id);
        let taken = of_cases.chain(of_answers).map(CaseId::to_string).collect();
        Self { taken, ids: HashMap::new(), cases: HashMap::new() }
    }

    /// The id of a question asked for the `turn`-th time in its file: what the first system calls it. `place` is the
    /// prediction's, from 1.
    fn id_of(&mut self, prediction: &Prediction, turn: usize, place: usize) -> CaseId {
        let key = (prediction.input.trim().to_owned(), turn);
        if let Some(id) = self.ids.get(&key) {
            return id.clone();
        }
        let mut id = if prediction.id.is_empty() { place.to_string() } else { prediction.id.clone() };
        if self.taken.contains(&id) {
            id = format!("{id}#{place}");
        }
        while self.taken.contains(&id) {
            id.push('#');
        }
        self.taken.insert(id.clone());
        let id = CaseId::from(id);
        self.ids.insert(key, id.clone());
        id
    }

    /// The one case of an id.
    fn case_of(&mut self, id: CaseId, question: &str) -> Arc<TestCase> {
        let made = || Arc::new(TestCase::without_rubric(id.clone(), question));
        Arc::clone(self.cases.entry(id.clone()).or_insert_with(made))
    }
}

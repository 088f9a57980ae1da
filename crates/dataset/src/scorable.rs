//! Items of a run: answers with everything that scorers need.
//!
//! Some scorers need a rubric, others do not. So there are two lists: answers paired with test cases, and every answer
//! once. An answer in both lists is identical in both.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use scholareval_core::domain::{
    Answer, CaseId, Fingerprint, IndexBase, Item, Mode, Prediction, SystemName, TestCase,
};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::text::names::{counted, list};

use super::answers::prediction_of;
use super::conversion::{Conversion, convert, repeated_with_ids};
use super::pairing::{check_cases, pair};
use super::reader::all;
use super::{PairOptions, References, SystemAnswers, TestCases};

/// Maximum number of cases and predictions to list; the rest are counted.
const SHOWN: usize = 5;

/// Options for building items from files.
#[derive(Clone, Default)]
pub struct ScorableOptions {
    /// Pairing options. Without test cases `cases` are ids of predictions and `limit` counts questions.
    pub pairing: PairOptions,
    /// Text appended to the outputs of predictions, as in `convert`; `None`: nothing.
    pub block: Option<IndexBase>,
}

/// An input file and the hash of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// `tests`, `references`, or the system.
    pub name: String,
    /// The path as given.
    pub path: String,
    /// blake3 of its bytes.
    pub blake3: Fingerprint,
}

impl InputFile {
    /// A file that was read.
    pub fn new(name: &str, path: &Path, blake3: Fingerprint) -> Self {
        Self {
            name: name.to_owned(),
            path: path.display().to_string(),
            blake3,
        }
    }
}

/// Items that can be scored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scorable {
    /// Answers with the test case whose rubric applies: by system, each in the order of the test cases. Empty without
    /// test cases.
    pub rubric: Vec<Item>,
    /// Every answer once, for scorers that need no rubric; case ids are distinct within a system. The case is the first
    /// test case paired with the answer, else one without a rubric and with the prediction's id; systems share the case
    /// of an equal question. Of answers with ids, an equal text of one system to an equal question counts once.
    pub plain: Vec<Item>,
    /// Test cases in use, in file order; empty without test cases.
    pub kept_cases: Vec<CaseId>,
    /// Test cases without an answer, by system.
    pub missing: Vec<(SystemName, CaseId)>,
    /// Files with items: test cases, systems, references.
    pub files: Vec<InputFile>,
    /// All warnings.
    pub warnings: Vec<String>,
    /// Notes on the joins.
    pub notes: Vec<String>,
    /// Sentences about test cases and answers that were read and do not count.
    pub uncounted: Vec<String>,
}

/// Builds the items of a run.
///
/// Predictions become answers (see [`convert`](super::convert())) and are paired like answers of `{case_id,
/// answer_text}`, so that a file of predictions scores the same as its conversion. The latter get a prediction with
/// their question. References add gold answers (by equal question, replacing the prediction's) and reference answers.
///
/// # Errors
/// [`Error::Settings`] for unknown cases; [`Error::Input`] if a question of the test cases is answered
/// twice, if reference answers cannot be joined, if nothing can be scored or no prediction's question is in the test
/// cases; if strict, for every warning.
pub fn scorable(
    tests: Option<&TestCases>,
    systems: &[SystemAnswers],
    references: Option<&References>,
    options: &ScorableOptions,
) -> Result<Scorable> {
    let mut scorable = Scorable::default();
    let (asked_cases, others) = match tests {
        Some(_) => Default::default(),
        None => first_questions(systems),
    };
    let cases = tests.map_or(&asked_cases, |tests| &tests.cases);
    let cases = cases.iter().map(|case| (&case.case_id, case)).collect();
    let systems = all(systems.iter().map(|system| {
        let mut system = system.clone();
        give_questions(&mut system, &cases, tests.is_some(), references.is_some());
        if let Some(references) = references {
            scorable.notes.extend(references.join(&mut system)?);
        }
        Ok(system)
    }))?;
    let mut warnings: Vec<InputFault> = references
        .iter()
        .flat_map(|references| references.warnings.clone())
        .collect();
    scorable
        .notes
        .extend(references.and_then(|references| references.note.clone()));
    warnings.extend(references.and_then(References::nothing));
    let how = Conversion {
        block: options.block,
        mode: Mode::of(options.pairing.compat),
    };
    warnings.extend(others);
    let (mut second, mut others) = (None, Vec::new());
    if let Some(tests) = tests {
        (second, others) = scorable.pair(tests, &systems, &how, &options.pairing)?;
    } else {
        scorable.plain = plain_items(&systems, &[], None, &how, &options.pairing);
        choose_items(&mut scorable.plain, &systems, &options.pairing)?;
        let of_files = systems.iter().flat_map(|system| &system.warnings);
        warnings.extend(of_files.cloned());
        let missing = systems.iter();
        warnings.extend(missing.filter_map(|system| unanswered(system, &scorable.plain)));
    }
    let repeated = repeated_texts(&mut scorable.plain, &systems);
    scorable.uncounted = uncounted(second, &ids_of(&others), &scorable.plain, &repeated);
    if scorable.plain.is_empty() {
        return Err(no_answers(&systems).into());
    }
    if options.pairing.strict && !warnings.is_empty() {
        return Err(Error::Input(warnings));
    }
    scorable
        .warnings
        .splice(0..0, warnings.iter().map(ToString::to_string));
    scorable.files = files(tests, &systems, references, &scorable);
    Ok(scorable)
}

impl Scorable {
    /// Adds the answers that test cases ask for. Returns how many cases count where some are further annotators' cases of a question,
    /// and the answers to these.
    fn pair(
        &mut self,
        tests: &TestCases,
        systems: &[SystemAnswers],
        how: &Conversion,
        options: &PairOptions,
    ) -> Result<(Option<String>, Vec<Item>)> {
        let by_case = all(systems
            .iter()
            .map(|system| with_case_ids(system, tests, how)))?;
        check_any_asked(tests, &by_case)?;
        let pairing = pair(tests, &by_case, options)?;
        let paired = [&pairing.items[..], &pairing.other_items].concat();
        self.plain = plain_items(systems, &paired, Some(tests), how, options);
        self.rubric = pairing.items;
        self.kept_cases = pairing.kept_cases;
        self.missing = pairing.missing;
        self.warnings = pairing.warnings;
        Ok((pairing.second_cases, pairing.other_items))
    }
}

/// The name of an answer: its system and case.
type AnswerName = (SystemName, CaseId);

/// What was read and does not count, where scorers that ask no rubric score the answers `plain`, and not the `repeated` ones.
/// `second` says how many cases count, `others` are the answers to further annotators' cases.
fn uncounted(
    second: Option<String>,
    others: &HashSet<AnswerName>,
    plain: &[Item],
    repeated: &[Item],
) -> Vec<String> {
    let mut sentences = Vec::from_iter(second);
    let scored = others.intersection(&ids_of(plain)).count();
    for sentence in sentences.iter_mut().filter(|_| scored > 0) {
        let answers = counted(scored, "answer");
        *sentence += &format!("; scorers that ask no rubric count {answers} to these");
    }
    let mut by_system: BTreeMap<&SystemName, usize> = BTreeMap::new();
    let repeated = ids_of(repeated);
    for (system, _) in repeated.difference(others) {
        *by_system.entry(system).or_default() += 1;
    }
    sentences.extend(by_system.into_iter().map(|(system, repeats)| {
        let answers = counted(repeats, "answer");
        format!(
            "{system}: {answers} with the text of another one to the same question; each text counts once, except for rubrics"
        )
    }));
    sentences
}

fn no_answers(systems: &[SystemAnswers]) -> InputFault {
    let path = match systems.first() {
        Some(system) => system.path.clone(),
        None => PathBuf::new(),
    };
    InputFault::new(path, "no answers to score").hint("name files that hold some")
}

/// A case for the first question that any file of answers with ids has for an id, and warnings about other questions.
fn first_questions(systems: &[SystemAnswers]) -> (Vec<Arc<TestCase>>, Vec<InputFault>) {
    let mut first: HashMap<&CaseId, (&str, &Path)> = HashMap::new();
    let mut warnings = Vec::new();
    for system in systems.iter().filter(|system| !system.by_question) {
        let mut others: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
        let answers = system.answers.iter();
        for answer in answers.filter(|answer| !answer.question().is_empty()) {
            let question_here = (answer.question(), system.path.as_path());
            let (question, path) = *first.entry(&answer.case_id).or_insert(question_here);
            if question != question_here.0 {
                others
                    .entry(path)
                    .or_default()
                    .push(answer.case_id.as_str());
            }
        }
        warnings.extend(others.into_iter().map(|(path, ids)| {
            let what = format!(
                "{} with another question than in {}: {}",
                counted(ids.len(), "case"),
                path.display(),
                list(ids, SHOWN)
            );
            InputFault::new(&system.path, what).hint("give each question an id of its own")
        }));
    }
    let cases = first
        .into_iter()
        .map(|(id, (question, _))| Arc::new(TestCase::without_rubric(id.clone(), question)));
    (cases.collect(), warnings)
}

/// Answers of `{case_id, answer_text}` with a test case become predictions of its question; those whose text was left in
/// the file only when it is read, unless references join them now. Without `has_tests`, the cases are those of the
/// [first questions](first_questions), which answers without a question get.
fn give_questions(
    system: &mut SystemAnswers,
    known: &HashMap<&CaseId, &Arc<TestCase>>,
    has_tests: bool,
    are_joined: bool,
) {
    if system.by_question {
        return;
    }
    for answer in &mut system.answers {
        if let Some(case) = known.get(&answer.case_id)
            && (has_tests || answer.question().is_empty())
        {
            let prediction = answer.prediction.as_ref();
            let has_sources = prediction.is_some_and(|prediction| !prediction.sources.is_empty());
            // Without test cases nothing else would know the question, and only a prediction keeps its sources.
            let is_made_now = !has_tests || are_joined || answer.left_in.is_none() || has_sources;
            // The question of the test case, also where the answer has one.
            answer.prediction = is_made_now.then(|| Arc::new(prediction_of(answer, case)));
        }
    }
}

/// The answers to pair with test cases: of predictions those whose question occurs.
fn with_case_ids(
    system: &SystemAnswers,
    tests: &TestCases,
    how: &Conversion,
) -> Result<SystemAnswers> {
    let mut with_ids = system.clone();
    if system.by_question {
        let converted = convert(system, tests, &how.of(system))?;
        if system.without_id && !converted.unasked.is_empty() {
            let hint = "answers without an id need the question of a test case; take this one out, or give each an id";
            return Err(Error::Input(
                converted
                    .unasked
                    .into_iter()
                    .map(|fault| fault.hint(hint))
                    .collect(),
            ));
        }
        with_ids.answers = converted.answers;
        with_ids.warnings.extend(converted.repeated);
        let unasked = converted.unasked.len();
        let shown = converted.unasked.into_iter().take(SHOWN);
        with_ids
            .warnings
            .extend(shown.map(|fault| fault.hint("it is not scored by a rubric")));
        if unasked > SHOWN {
            let what = format!(
                "{} more questions are asked by no test case",
                unasked - SHOWN
            );
            with_ids.warnings.push(InputFault::new(&system.path, what));
        }
    }
    Ok(with_ids)
}

/// If there are only predictions and none matches, the ids that pairing would report explain nothing.
fn check_any_asked(tests: &TestCases, systems: &[SystemAnswers]) -> Result<()> {
    let hopeless = systems
        .iter()
        .all(|system| system.by_question && system.answers.is_empty());
    let Some(first) = systems.first().filter(|_| hopeless) else {
        return Ok(());
    };
    let fault = InputFault::new(
        &first.path,
        format!("no question of it is in {}", tests.path.display()),
    );
    let hint = "input must equal the initial_prompt of a test case; without test cases all but the rubric is scored";
    Err(fault.refuse(hint))
}

/// Every answer once: with the first of the `paired` items that is about it, else with a separate case. With test cases,
/// `cases` and `limit` apply here too.
fn plain_items(
    systems: &[SystemAnswers],
    paired: &[Item],
    tests: Option<&TestCases>,
    how: &Conversion,
    options: &PairOptions,
) -> Vec<Item> {
    let narrowed = tests.is_some() && (options.cases.is_some() || options.limit.is_some());
    let mut names = Names::new(tests, systems);
    let mut items = Vec::new();
    for system in systems {
        let of_system = paired
            .iter()
            .filter(|item| item.answer.system == system.system);
        if tests.is_some() && !system.by_question {
            items.extend(of_system.cloned());
            continue;
        }
        // By address: the pairs share the prediction of their answer, while its id and question may
        // occur twice.
        let mut paired: HashMap<*const Prediction, &Item> = HashMap::new();
        for item in of_system {
            if let Some(prediction) = &item.answer.prediction {
                paired.entry(Arc::as_ptr(prediction)).or_insert(item);
            }
        }
        let mut turns: HashMap<&str, usize> = HashMap::new();
        for (index, answer) in system.answers.iter().enumerate() {
            let turn = turns.entry(answer.question()).or_default();
            *turn += 1;
            let prediction = answer.prediction.as_ref();
            if let Some(item) =
                prediction.and_then(|prediction| paired.get(&Arc::as_ptr(prediction)))
            {
                items.push((*item).clone());
            } else if !narrowed {
                let case_id = if system.by_question {
                    names.id_of(answer, *turn, index + 1)
                } else {
                    answer.case_id.clone()
                };
                // If the reference's block cannot be built, nothing needs it: there is no rubric.
                let answer = how
                    .of(system)
                    .append(answer)
                    .unwrap_or_else(|_| answer.clone());
                let case = names.case_of(&case_id, answer.question());
                items.push(Item::new(case, Answer { case_id, ..answer }));
            }
        }
    }
    items
}

/// Takes out the answers that repeat a text of their system to an equal question, and returns them. Predictions without ids stay:
/// each row of their file is an answer.
fn repeated_texts(items: &mut Vec<Item>, systems: &[SystemAnswers]) -> Vec<Item> {
    let with_ids = systems.iter().filter(|system| !system.by_question);
    let with_ids: HashSet<&SystemName> = with_ids.map(|system| &system.system).collect();
    let mut texts = HashSet::new();
    let (kept, repeated) = std::mem::take(items).into_iter().partition(|item| {
        let question = item.case.initial_prompt.trim();
        let is_known = !question.is_empty() && with_ids.contains(&item.answer.system);
        let text = (item.system(), question.to_owned(), item.answer.text_hash());
        // Two answers that are missing are not one answer.
        !is_known || item.answer.is_missing || texts.insert(text)
    });
    *items = kept;
    repeated
}

/// Names of answers.
fn ids_of(items: &[Item]) -> HashSet<AnswerName> {
    let items = items.iter();
    items
        .map(|item| (item.system(), item.case.case_id.clone()))
        .collect()
}

/// Ids for questions without a test case.
struct Names {
    /// Ids in use: of test cases, of answers without a question, and new ones.
    taken: HashSet<String>,
    /// Questions that a system answers more than once, by ids.
    repeated: HashSet<(SystemName, String)>,
    /// By question and its occurrence in the file; of a repeated question by the id of the answer, if it has one.
    ids: HashMap<(String, String), CaseId>,
    cases: HashMap<CaseId, Arc<TestCase>>,
}

impl Names {
    fn new(tests: Option<&TestCases>, systems: &[SystemAnswers]) -> Self {
        let of_cases = tests
            .iter()
            .flat_map(|tests| &tests.cases)
            .map(|case| &case.case_id);
        let answers = systems
            .iter()
            .filter(|system| !system.by_question)
            .flat_map(|system| &system.answers);
        let taken = of_cases
            .chain(answers.map(|answer| &answer.case_id))
            .map(CaseId::to_string)
            .collect();
        let mut repeated = HashSet::new();
        for system in systems.iter().filter(|system| system.by_question) {
            for question in repeated_with_ids(&system.answers) {
                repeated.insert((system.system.clone(), question.to_owned()));
            }
        }
        Self {
            taken,
            repeated,
            ids: HashMap::new(),
            cases: HashMap::new(),
        }
    }

    /// The id of a question's `turn`-th occurrence in its file, as named by the first system. `place` is the
    /// prediction's position, from 1.
    fn id_of(&mut self, answer: &Answer, turn: usize, place: usize) -> CaseId {
        // Systems are compared case by case, so an equal question must have one id in all files,
        // whatever ids the files have.
        let question = (answer.system.clone(), answer.question().to_owned());
        let occurrence = if self.repeated.contains(&question) {
            answer.case_id.to_string()
        } else {
            turn.to_string()
        };
        let key = (answer.question().to_owned(), occurrence);
        if let Some(id) = self.ids.get(&key) {
            return id.clone();
        }
        let mut id = answer.case_id.to_string();
        if id.is_empty() {
            id = place.to_string();
        }
        if self.taken.contains(&id) {
            // Positions from 1 are common ids of test cases too; without the mark, two different
            // questions would share cached judgments and rows of a table.
            id = format!("{id}#{place}");
        }
        while !self.taken.insert(id.clone()) {
            id.push('#');
        }
        let id = CaseId::from(id);
        self.ids.insert(key, id.clone());
        id
    }

    /// The shared case of an id.
    fn case_of(&mut self, id: &CaseId, question: &str) -> Arc<TestCase> {
        let entry = self.cases.entry(id.clone());
        let case =
            entry.or_insert_with(|| Arc::new(TestCase::without_rubric(id.clone(), question)));
        Arc::clone(case)
    }
}

/// Keeps the items selected by `cases` and `limit`, without test cases.
fn choose_items(
    items: &mut Vec<Item>,
    systems: &[SystemAnswers],
    options: &PairOptions,
) -> Result<()> {
    if let Some(names) = &options.cases {
        let mut known: Vec<&str> = items
            .iter()
            .map(|item| item.case.case_id.as_str())
            .collect();
        known.sort_unstable();
        known.dedup();
        check_cases(names, &known, "among the predictions")?;
        items.retain(|item| names.iter().any(|name| name == item.case.case_id.as_str()));
    }
    let limit = options.limit.unwrap_or(usize::MAX);
    if limit == 0 {
        return Err(Error::Settings(
            "no question is left to score; raise the limit".to_owned(),
        ));
    }
    let by_question = systems.iter().any(|system| system.by_question);
    let mut chosen: HashSet<String> = HashSet::new();
    items.retain(|item| {
        // With ids in all files, equal questions are different cases; some answers have no question.
        let question = item.case.initial_prompt.trim();
        let key = if by_question && !question.is_empty() {
            question
        } else {
            item.case.case_id.as_str()
        };
        // The limit counts questions over all systems and not items: each system must be left with
        // the same ones.
        chosen.contains(key) || (chosen.len() < limit && chosen.insert(key.to_owned()))
    });
    Ok(())
}

/// The warning about cases of `items` that the system did not answer.
fn unanswered(system: &SystemAnswers, items: &[Item]) -> Option<InputFault> {
    let mut seen = HashSet::new();
    let cases: Vec<&CaseId> = items
        .iter()
        .map(|item| &item.case.case_id)
        .filter(|id| seen.insert(*id))
        .collect();
    let of_system = items
        .iter()
        .filter(|item| item.answer.system == system.system);
    let present: HashSet<&CaseId> = of_system.map(|item| &item.case.case_id).collect();
    let missing: Vec<&str> = cases
        .iter()
        .filter(|id| !present.contains(*id))
        .map(|id| id.as_str())
        .collect();
    let (count, names) = (missing.len(), list(missing.iter().copied(), SHOWN));
    let what = format!(
        "{count} of {} questions have no answer: {names}",
        cases.len()
    );
    (count > 0).then(|| InputFault::new(&system.path, what))
}

fn files(
    tests: Option<&TestCases>,
    systems: &[SystemAnswers],
    references: Option<&References>,
    scorable: &Scorable,
) -> Vec<InputFile> {
    // A file of which nothing is scored does not belong to the run; a change of it must not look
    // like a change of the inputs.
    let with_items: HashSet<&SystemName> = scorable
        .rubric
        .iter()
        .chain(&scorable.plain)
        .map(|item| &item.answer.system)
        .collect();
    let systems = systems
        .iter()
        .filter(|system| with_items.contains(&system.system));
    let tests = tests
        .map(|tests| InputFile::new("tests", &tests.path, tests.blake3))
        .into_iter();
    let systems =
        systems.map(|system| InputFile::new(system.system.as_str(), &system.path, system.blake3));
    tests
        .chain(systems)
        .chain(references.map(|refs| InputFile::new("references", &refs.path, refs.blake3)))
        .collect()
}

/// Number of items with the data that scorers need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Support {
    /// Items with a rubric ([`Scorable::rubric`]).
    pub rubric: usize,
    /// Items with criteria (there, too); the other counts are over [`Scorable::plain`].
    pub criteria: usize,
    /// With a question.
    pub questions: usize,
    /// With a gold answer.
    pub gold_answer: usize,
    /// With short answers.
    pub short_answers: usize,
    /// With long reference answers.
    pub long_answers: usize,
    /// With sources, at least one of them with text.
    pub sources: usize,
    /// With ids of gold sources.
    pub gold_sources: usize,
    /// With a trace of what was retrieved.
    pub traces: usize,
    /// With references that were looked up in files of works.
    pub works: usize,
    /// Pairs of answers.
    pub pairs: usize,
}

/// Counts the available data, to select scorers.
pub fn supports(scorable: &Scorable) -> Support {
    let mut support = Support::default();
    for item in &scorable.rubric {
        support.rubric += usize::from(!item.case.rubric.is_none());
        support.criteria += usize::from(!item.case.criteria.is_empty());
    }
    for item in &scorable.plain {
        let question = item.case.rubric.question.trim();
        support.questions += usize::from(!question.is_empty());
        support.traces += usize::from(item.answer.trace.is_some());
        if let Some(prediction) = &item.answer.prediction {
            support.add(prediction);
        }
    }
    support
}

impl Support {
    fn add(&mut self, prediction: &Prediction) {
        let gold = &prediction.gold;
        let has_text = prediction
            .sources
            .iter()
            .any(|source| source.text.is_some());
        self.gold_answer += usize::from(gold.answer.is_some());
        self.short_answers += usize::from(!gold.short_answers.is_empty());
        self.long_answers += usize::from(!gold.long_answers.is_empty());
        self.sources += usize::from(has_text);
        self.gold_sources += usize::from(gold.gold_ctxs.is_some());
    }
}

#[cfg(test)]
mod tests;

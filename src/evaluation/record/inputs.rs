//! `inputs.jsonl`: the cases and answers as they were scored.

mod predictions;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::SCHEMA_VERSION;
use predictions::PredictionLine;

use crate::domain::{Answer, CaseId, Criterion, Rubric, SystemName, TestCase};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::Item;

/// A line: either a case or an answer to one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputLine {
    /// `config` is null where there is no rubric.
    Case {
        v: u32,
        case_id: CaseId,
        initial_prompt: String,
        annotator: String,
        agreement: bool,
        config: Option<ConfigLine>,
    },
    Answer(Box<AnswerLine>),
}

#[derive(Debug, Serialize, Deserialize)]
struct AnswerLine {
    v: u32,
    system: SystemName,
    case_id: CaseId,
    line: usize,
    answer_text: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own_bytes: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prediction: Option<PredictionLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reference_answer: Option<Arc<str>>,
    steering: Vec<String>,
    /// Where it stands among the items that need a rubric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rubric_place: Option<usize>,
    /// Where it stands among those that need none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plain_place: Option<usize>,
}

/// The items of a run, by what its scorers need.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ItemLists {
    /// For scorers that need a rubric.
    pub rubric: Vec<Item>,
    /// For the others.
    pub plain: Vec<Item>,
}

/// Where an item stands in each list.
#[derive(Debug, Clone, Copy, Default)]
struct Places {
    rubric: Option<usize>,
    plain: Option<usize>,
}

/// The rubric, under the names of the released test cases.
#[derive(Debug, Serialize, Deserialize)]
struct ConfigLine {
    question: Arc<str>,
    low_length: i64,
    high_length: i64,
    length_weight: f64,
    expertise_weight: f64,
    citations_weight: f64,
    excerpts_weight: f64,
    other_properties: Vec<PropertyLine>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PropertyLine {
    name: String,
    criterion: Arc<str>,
    weight: f64,
    evidence: Arc<[String]>,
}

/// Writes the file of these items: every case once, before its first answer.
///
/// # Errors
/// When the file cannot be written.
pub fn write_inputs(path: &Path, items: &[Item]) -> Result<()> {
    write_items(path, items.iter().map(|item| (item, Places::default())))
}

/// Writes the file of both lists of a run. An answer of one system to one case that is in both is written once, as the
/// first list has it.
///
/// # Errors
/// When the file cannot be written.
pub fn write_item_lists(path: &Path, lists: &ItemLists) -> Result<()> {
    let mut items: Vec<(&Item, Places)> = Vec::with_capacity(lists.rubric.len() + lists.plain.len());
    let mut at: HashMap<(&SystemName, &CaseId), usize> = HashMap::new();
    for (place, item) in lists.rubric.iter().enumerate() {
        at.insert((&item.answer.system, &item.case.case_id), items.len());
        items.push((item, Places { rubric: Some(place), plain: None }));
    }
    for (place, item) in lists.plain.iter().enumerate() {
        match at.get(&(&item.answer.system, &item.case.case_id)).and_then(|at| items.get_mut(*at)) {
            Some((_, places)) => places.plain = Some(place),
            None => items.push((item, Places { rubric: None, plain: Some(place) })),
        }
    }
    write_items(path, items.into_iter())
}

/// Writes the file of these cases, answered or not, and of the answers that are known.
///
/// # Errors
/// When the file cannot be written.
pub fn write_cases_and_items(path: &Path, cases: &[Arc<TestCase>], items: &[Item]) -> Result<()> {
    write_all(path, cases, items.iter().map(|item| (item, Places::default())))
}

fn write_items<'a>(path: &Path, items: impl Iterator<Item = (&'a Item, Places)>) -> Result<()> {
    write_all(path, &[], items)
}

fn write_all<'a>(
    path: &Path,
    cases: &'a [Arc<TestCase>],
    items: impl Iterator<Item = (&'a Item, Places)>,
) -> Result<()> {
    let partial = path.with_extension("jsonl.partial");
    let mut out = BufWriter::new(File::create(&partial).map_err(Error::io(&partial, "create"))?);
    let mut seen = std::collections::HashSet::new();
    for case in cases {
        if seen.insert(&case.case_id) {
            write_line(&mut out, &partial, &case_line(case))?;
        }
    }
    for (item, places) in items {
        if seen.insert(&item.case.case_id) {
            write_line(&mut out, &partial, &case_line(&item.case))?;
        }
        write_line(&mut out, &partial, &answer_line(item, places))?;
    }
    out.flush().map_err(Error::io(&partial, "write"))?;
    std::fs::rename(&partial, path).map_err(Error::io(path, "create"))
}

fn answer_line(item: &Item, places: Places) -> InputLine {
    let answer = &item.answer;
    let prediction = answer.prediction.as_ref();
    InputLine::Answer(Box::new(AnswerLine {
        v: SCHEMA_VERSION,
        system: answer.system.clone(),
        case_id: answer.case_id.clone(),
        line: answer.line,
        answer_text: Arc::clone(&answer.answer_text),
        own_bytes: answer.own_bytes,
        prediction: prediction.map(|prediction| PredictionLine::of(prediction, &item.case, answer)),
        reference_answer: answer.reference_answer.clone(),
        steering: item.steering.clone(),
        rubric_place: places.rubric,
        plain_place: places.plain,
    }))
}

fn write_line(out: &mut impl Write, path: &Path, line: &InputLine) -> Result<()> {
    serde_json::to_writer(&mut *out, line).map_err(|error| Error::io(path, "write")(error.into()))?;
    out.write_all(b"\n").map_err(Error::io(path, "write"))
}

fn case_line(case: &TestCase) -> InputLine {
    let rubric = &case.rubric;
    let is_absent = *rubric == Rubric::none(Arc::from(case.initial_prompt.as_str()));
    InputLine::Case {
        v: SCHEMA_VERSION,
        case_id: case.case_id.clone(),
        initial_prompt: case.initial_prompt.clone(),
        annotator: case.annotator.clone(),
        agreement: case.agreement,
        config: (!is_absent).then(|| ConfigLine {
            question: Arc::clone(&rubric.question),
            low_length: rubric.low_length,
            high_length: rubric.high_length,
            length_weight: rubric.length_weight,
            expertise_weight: rubric.expertise_weight,
            citations_weight: rubric.citations_weight,
            excerpts_weight: rubric.excerpts_weight,
            other_properties: rubric.criteria.iter().map(property_line).collect(),
        }),
    }
}

fn property_line(criterion: &Criterion) -> PropertyLine {
    PropertyLine {
        name: criterion.name.clone(),
        criterion: Arc::clone(&criterion.criterion),
        weight: criterion.weight,
        evidence: Arc::clone(&criterion.snippets),
    }
}

/// Reads the file back: every answer once.
///
/// # Errors
/// When the file is missing (the run was made with `--no-inputs`), a line is broken, or an answer has no case.
pub fn load_inputs(path: &Path) -> Result<Vec<Item>> {
    Ok(load_cases_and_items(path)?.1)
}

/// The cases of a run by id.
pub(super) type Cases = HashMap<CaseId, Arc<TestCase>>;

/// The same with every case of the file: an imported run may know cases whose answers it does not.
///
/// # Errors
/// As [`load_inputs`].
pub(super) fn load_cases_and_items(path: &Path) -> Result<(Cases, Vec<Item>)> {
    let (cases, items) = load_items(path)?;
    Ok((cases, items.into_iter().map(|(item, _)| item).collect()))
}

/// Reads both lists back. Of a record that does not tell them apart all answers are in both, those without a rubric in
/// the second alone.
///
/// # Errors
/// As [`load_inputs`].
pub fn load_item_lists(path: &Path) -> Result<ItemLists> {
    let (mut rubric, mut plain) = (Vec::new(), Vec::new());
    for (order, (item, places)) in load_items(path)?.1.into_iter().enumerate() {
        let Places { rubric: in_rubric, plain: in_plain } = match places {
            Places { rubric: None, plain: None } => {
                Places { rubric: (!item.case.rubric.is_none()).then_some(order), plain: Some(order) }
            }
            told => told,
        };
        rubric.extend(in_rubric.map(|place| (place, item.clone())));
        plain.extend(in_plain.map(|place| (place, item)));
    }
    let sorted = |mut list: Vec<(usize, Item)>| {
        list.sort_by_key(|(place, _)| *place);
        list.into_iter().map(|(_, item)| item).collect()
    };
    Ok(ItemLists { rubric: sorted(rubric), plain: sorted(plain) })
}

fn load_items(path: &Path) -> Result<(Cases, Vec<(Item, Places)>)> {
    let file = File::open(path).map_err(|error| {
        InputFault::new(path, format!("cannot read the inputs of the run: {error}"))
            .hint("a run made with --no-inputs cannot be scored again; run score once more, its replies are cached")
    })?;
    let mut cases = Cases::new();
    let mut items = Vec::new();
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(Error::io(path, "read"))?;
        let fault = |what: String| InputFault::new(path, what).at_line(index + 1);
        match serde_json::from_str(&line).map_err(|error| fault(format!("no line of a run record: {error}")))? {
            InputLine::Case { case_id, initial_prompt, annotator, agreement, config, .. } => {
                let rubric = config.map_or_else(|| Rubric::none(Arc::from(initial_prompt.as_str())), rubric_of);
                let case = TestCase { case_id: case_id.clone(), initial_prompt, annotator, agreement, rubric };
                cases.insert(case_id, Arc::new(case));
            }
            InputLine::Answer(read) => {
                let case = cases
                    .get(&read.case_id)
                    .ok_or_else(|| fault("an answer stands before its case".into()).of_case(read.case_id.as_str()))?;
                items.push(item_of(*read, case));
            }
        }
    }
    Ok((cases, items))
}

fn item_of(read: AnswerLine, case: &Arc<TestCase>) -> (Item, Places) {
    let places = Places { rubric: read.rubric_place, plain: read.plain_place };
    let mut answer = Answer {
        own_bytes: read.own_bytes,
        reference_answer: read.reference_answer,
        line: read.line,
        ..Answer::new(read.system, read.case_id, read.answer_text)
    };
    answer.prediction = read.prediction.map(|prediction| Arc::new(prediction.prediction_of(case, &answer)));
    (Item { case: Arc::clone(case), answer, steering: read.steering }, places)
}

fn rubric_of(config: ConfigLine) -> Rubric {
    Rubric {
        question: config.question,
        low_length: config.low_length,
        high_length: config.high_length,
        length_weight: config.length_weight,
        expertise_weight: config.expertise_weight,
        citations_weight: config.citations_weight,
        excerpts_weight: config.excerpts_weight,
        criteria: config
            .other_properties
            .into_iter()
            .map(|property| Criterion {
                name: property.name,
                criterion: property.criterion,
                weight: property.weight,
                snippets: property.evidence,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests;

//! FEVER's files: gold, predictions beside their gold, and the check of a submission.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::claims::{Id, no_faults};
use super::fever::{Gold, LABELS, Prediction, Sentence};
use crate::dataset::{JsonLine, read_jsonl};
use crate::domain::{Mode, Note};
use crate::error::{InputFault, Result};

const GOLD: &str =
    "{\"id\": 78526, \"label\": \"REFUTES\", \"evidence\": [[[annotation id, evidence id, \"Lorelai_Gilmore\", 3]]]}";
const PREDICTION: &str =
    "{\"id\": 78526, \"predicted_label\": \"REFUTES\", \"predicted_evidence\": [[\"Lorelai_Gilmore\", 3]]}";

/// The file name that the shared task asks for.
const SUBMISSION_NAME: &str = "predictions.jsonl";

/// How predictions find their gold in a gold file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Join {
    /// The n-th prediction belongs to the n-th claim, as in the shared task
    #[default]
    Order,
    /// By `id`
    Id,
}

/// A line of any FEVER file. `S` is a predicted sentence.
/// Annotation id, evidence id, page, line.
type GoldSentence = (IgnoredAny, IgnoredAny, Option<String>, Option<i64>);

#[derive(Debug, Deserialize)]
struct RawLine<S> {
    id: Option<Id>,
    label: Option<String>,
    evidence: Option<Vec<Vec<GoldSentence>>>,
    predicted_label: Option<String>,
    predicted_evidence: Option<Vec<S>>,
}

impl<S: DeserializeOwned> RawLine<S> {
    fn parse(line: &JsonLine<'_>, example: &str) -> Result<Self, InputFault> {
        let raw: Self = line.parse(example)?;
        Ok(Self { id: raw.id.map(normalized), ..raw })
    }

    /// The gold of the line, where it has both parts.
    fn take_gold(&mut self) -> Option<Gold> {
        let (label, groups) = self.label.take().zip(self.evidence.take())?;
        let sentence = |(_, _, page, line)| Sentence { page, line };
        Some(Gold::new(&label, groups.into_iter().map(|group| group.into_iter().map(sentence).collect()).collect()))
    }
}

/// The id with a text of digits as the number.
fn normalized(id: Id) -> Id {
    match &id {
        Id::Text(text) => match text.parse::<i64>() {
            Ok(number) if number.to_string() == *text => Id::Number(number),
            _ => id,
        },
        Id::Number(_) => id,
    }
}

/// True for 0 and the empty text, which the released test files have in place of ids.
fn is_placeholder(id: &Id) -> bool {
    match id {
        Id::Number(number) => *number == 0,
        Id::Text(text) => text.is_empty(),
    }
}

/// A fault of a line about this claim.
fn fault(line: &JsonLine<'_>, id: Option<&Id>, what: impl Into<String>) -> InputFault {
    let fault = line.fault(what);
    match id {
        Some(id) => fault.of_case(id.to_string()),
        None => fault,
    }
}

fn unknown_label(field: &str, label: &str) -> Option<String> {
    let is_known = LABELS.contains(&label);
    (!is_known).then(|| format!("{field}: expected one of {}, found {label:?}", LABELS.join(", ")))
}

/// A claim with its id, where it has one.
type Claim = (Option<Id>, Gold);

/// The gold of all claims, in file order.
#[derive(Debug)]
pub struct GoldFile {
    path: PathBuf,
    claims: Vec<Claim>,
    /// Positions in `claims`; only for [`Join::Id`].
    by_id: HashMap<Id, usize>,
}

impl GoldFile {
    /// Reads a gold file. Compat accepts any label.
    ///
    /// # Errors
    /// Every fault of the file, or why it cannot be read; for a join by id also ids that stand twice.
    pub fn load(path: &Path, join: Join, mode: Mode) -> Result<Self> {
        let claims = read_jsonl(path, |line| {
            let mut raw: RawLine<IgnoredAny> = RawLine::parse(line, GOLD).map_err(|fault| vec![fault])?;
            let id = raw.id.take();
            let refused = |what: String, hint: String| vec![fault(line, id.as_ref(), what).hint(hint)];
            let Some(gold) = raw.take_gold() else {
                let hint = format!("write one {GOLD} per line");
                return Err(refused("label or evidence is missing".to_owned(), hint));
            };
            match unknown_label("label", &gold.label).filter(|_| mode == Mode::Default) {
                Some(what) => Err(refused(what, String::new())),
                None => Ok((line.number, id, gold)),
            }
        })?;
        let (mut by_id, mut faults) = (HashMap::new(), Vec::new());
        if join == Join::Id {
            for (at, (line, id, _)) in claims.iter().enumerate() {
                let Some(id) = id.as_ref().filter(|id| !is_placeholder(id)) else { continue };
                if by_id.insert(id.clone(), at).is_some() {
                    faults.push(InputFault::new(path, format!("id {id} occurs twice")).at_line(*line));
                }
            }
        }
        no_faults(faults)?;
        let claims = claims.into_iter().map(|(_, id, gold)| (id, gold)).collect();
        Ok(Self { path: path.to_path_buf(), claims, by_id })
    }
}

/// One prediction beside its gold.
#[derive(Debug)]
pub struct Instance<'a> {
    /// 1-based line of the prediction.
    pub line: usize,
    /// The prediction's id.
    pub id: Option<Id>,
    /// The gold.
    pub gold: &'a Gold,
    /// The prediction.
    pub prediction: Prediction,
}

/// The results for a file of predictions.
#[derive(Debug, Clone)]
pub struct PredictionsRead<T> {
    /// What the predictions were mapped to, in file order.
    pub results: Vec<T>,
    /// Predictions whose id no claim has (join by id); they are left out.
    pub unknown: usize,
    /// The gold of claims that nothing was predicted for (join by id).
    pub missing: Vec<Gold>,
    /// What to know about the file.
    pub notes: Vec<Note>,
}

/// A result and where it comes from.
struct Joined<T> {
    result: T,
    line: usize,
    /// Position of the claim in the gold file; `None` where the line brings its own gold.
    claim: Option<usize>,
}

/// What a line became: a result, or the id of a claim that is not in the gold.
type Outcome<T> = Result<Joined<T>, Option<Id>>;

/// A file of predictions and what it is joined to: JSONL of `{id?, predicted_label, predicted_evidence}`, with `label` and
/// `evidence` where the gold is in the same line.
#[derive(Debug, Clone, Copy)]
pub struct Predictions<'g> {
    /// The file.
    pub path: &'g Path,
    /// The gold file, for predictions without gold of their own.
    pub gold: Option<&'g GoldFile>,
    /// How they are joined.
    pub join: Join,
    /// Compat accepts what the reference scores: unknown labels, and malformed sentences where the label is wrong.
    pub mode: Mode,
}

impl Predictions<'_> {
    /// Maps every prediction and its gold, in parallel.
    ///
    /// # Errors
    /// Every line that cannot be used: fields that are missing or of a wrong type, unknown labels, ids that differ from
    /// the gold's, a claim predicted twice, another number of lines than the gold has, no gold.
    pub fn read<T: Send>(&self, map: impl Fn(&Instance<'_>) -> T + Sync) -> Result<PredictionsRead<T>> {
        let outcomes = read_jsonl(self.path, |line| self.line(line, &map))?;
        let blind = outcomes.iter().any(|outcome| outcome.as_ref().map_or(true, |joined| joined.claim.is_some()));
        if let Some(gold) =
            self.gold.filter(|gold| self.join == Join::Order && blind && gold.claims.len() != outcomes.len())
        {
            let claims = format!("{} holds {} claims", gold.path.display(), gold.claims.len());
            let fault = InputFault::new(self.path, format!("{} predictions, but {claims}", outcomes.len()));
            return Err(fault.hint("give one line a claim in the same order, or use --join id").into());
        }
        if outcomes.iter().all(Result::is_err) {
            let what = if outcomes.is_empty() { "no prediction" } else { "no prediction has the id of a claim" };
            return Err(InputFault::new(self.path, what).into());
        }
        self.collect(outcomes)
    }

    fn line<T>(&self, line: &JsonLine<'_>, map: &impl Fn(&Instance<'_>) -> T) -> Result<Outcome<T>, Vec<InputFault>> {
        let mut raw = read_prediction(line, self.mode)?;
        let id = raw.id.take();
        let own = raw.own_gold.take();
        let (gold, claim) = match &own {
            Some(own) => (own, None),
            None => match self.partner(line, id.as_ref()).map_err(|fault| vec![fault])? {
                Some(claim) => (&claim.1.1, Some(claim.0)),
                None => return Ok(Err(id)),
            },
        };
        let unknown = unknown_label("label", &gold.label).filter(|_| self.mode == Mode::Default);
        // The reference checks the form of sentences where the label is right.
        let malformed = raw.malformed.filter(|_| self.mode == Mode::Default || raw.prediction.label == gold.label);
        let faults: Vec<InputFault> =
            unknown.into_iter().chain(malformed).map(|what| fault(line, id.as_ref(), what)).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let result = map(&Instance { line: line.number, id, gold, prediction: raw.prediction });
        Ok(Ok(Joined { result, line: line.number, claim }))
    }

    /// The gold file's entry for a prediction and its position; `None` if there is none.
    fn partner(&self, line: &JsonLine<'_>, id: Option<&Id>) -> Result<Option<(usize, &Claim)>, InputFault> {
        let Some(gold) = self.gold else {
            return Err(fault(line, id, "the line has no gold label and evidence").hint("give --gold FILE"));
        };
        let at = match (self.join, id) {
            (Join::Order, _) => Some(line.index),
            (Join::Id, Some(id)) => gold.by_id.get(id).copied(),
            (Join::Id, None) => return Err(fault(line, None, "id is missing").hint("use --join order")),
        };
        let Some((at, claim)) = at.and_then(|at| Some((at, gold.claims.get(at)?))) else { return Ok(None) };
        let known = |id: &&Id| !is_placeholder(id);
        match (id.filter(known), claim.0.as_ref().filter(known)) {
            (Some(id), Some(wanted)) if id != wanted && self.mode == Mode::Default => {
                let what = format!("claim number {} of {} has the id {wanted}", at + 1, gold.path.display());
                Err(fault(line, Some(id), what).hint("keep the order of the claims, or use --join id"))
            }
            _ => Ok(Some((at, claim))),
        }
    }

    fn collect<T>(&self, outcomes: Vec<Outcome<T>>) -> Result<PredictionsRead<T>> {
        let path = self.path.display();
        let mut read = PredictionsRead { results: Vec::new(), unknown: 0, missing: Vec::new(), notes: Vec::new() };
        let (mut own, mut first_unknown) = (0, None);
        let (mut lines, mut faults): (HashMap<usize, usize>, Vec<InputFault>) = (HashMap::new(), Vec::new());
        for outcome in outcomes {
            let Joined { result, line, claim } = match outcome {
                Ok(joined) => joined,
                Err(id) => {
                    read.unknown += 1;
                    first_unknown = first_unknown.or(id);
                    continue;
                }
            };
            own += usize::from(claim.is_none());
            read.results.push(result);
            let first = claim.filter(|_| self.join == Join::Id).and_then(|claim| lines.insert(claim, line));
            if let Some(first) = first {
                let what = format!("the claim is already predicted in line {first}");
                faults.push(InputFault::new(self.path, what).at_line(line).hint("keep one of the two lines"));
            }
        }
        no_faults(faults)?;
        if let Some(first) = first_unknown {
            let what = "predictions whose claim is not in the gold are left out; the first has id";
            read.notes.push(Note::warning(format!("{path}: {} {what} {first}.", read.unknown)));
        }
        if let Some(gold) = self.gold {
            if own > 0 {
                let what = "predictions bring their own gold, which is used instead of the gold file";
                read.notes.push(Note::info(format!("{path}: {own} {what}.")));
            }
            if self.join == Join::Id {
                let missing = gold.claims.iter().enumerate().filter(|(at, _)| !lines.contains_key(at));
                let missing: Vec<_> = missing.map(|(_, claim)| claim).collect();
                if let Some((Some(first), _)) = missing.first() {
                    let what = "claims without a prediction count as wrong; the first has id";
                    read.notes.push(Note::warning(format!("{path}: {} {what} {first}.", missing.len())));
                }
                read.missing = missing.into_iter().map(|(_, gold)| gold.clone()).collect();
            }
        }
        Ok(read)
    }
}

/// A line of predictions.
struct RawPrediction {
    id: Option<Id>,
    own_gold: Option<Gold>,
    prediction: Prediction,
    /// What is wrong with the first sentence that is not `[page, line]`.
    malformed: Option<String>,
}

/// Reads a line whose sentences are `[page, line]`; where they are not, reads them again as any JSON.
fn read_prediction(line: &JsonLine<'_>, mode: Mode) -> Result<RawPrediction, Vec<InputFault>> {
    match RawLine::<(String, i64)>::parse(line, PREDICTION) {
        Ok(raw) => checked(line, raw, mode, |(page, number)| Some(Sentence { page: Some(page), line: Some(number) })),
        Err(fault) => {
            let raw = RawLine::<Value>::parse(line, PREDICTION).map_err(|_| vec![fault])?;
            let is_bad = |value: &Value| serde_json::from_value::<(String, i64)>(value.clone()).is_err();
            let is_bad_for = |value: &&Value| is_bad(value) && !(mode == Mode::Compat && is_boolean_line(value));
            let bad = raw.predicted_evidence.iter().flatten().enumerate().find(|(_, value)| is_bad_for(value));
            let malformed = bad.map(|(at, value)| {
                let shown: String = value.to_string().chars().take(60).collect();
                format!("predicted_evidence[{at}]: expected [page, line], a string and a whole number, found {shown}")
            });
            Ok(RawPrediction { malformed, ..checked(line, raw, mode, |value| as_python_compares(&value))? })
        }
    }
}

fn checked<S>(
    line: &JsonLine<'_>,
    mut raw: RawLine<S>,
    mode: Mode,
    sentence: impl Fn(S) -> Option<Sentence>,
) -> Result<RawPrediction, Vec<InputFault>>
where
    S: DeserializeOwned,
{
    let id = raw.id.take();
    let own_gold = raw.take_gold();
    let at = |what: &str| fault(line, id.as_ref(), what);
    let Some(label) = raw.predicted_label.map(|label| label.to_uppercase()) else {
        return Err(vec![at("predicted_label is missing").hint(format!("write one of {}", LABELS.join(", ")))]);
    };
    let Some(evidence) = raw.predicted_evidence else {
        return Err(vec![at("predicted_evidence is missing").hint("write [] where there is none")]);
    };
    if let Some(what) = unknown_label("predicted_label", &label).filter(|_| mode == Mode::Default) {
        return Err(vec![at(&what)]);
    }
    let prediction = Prediction { label, evidence: evidence.into_iter().map(sentence).collect() };
    Ok(RawPrediction { id, own_gold, prediction, malformed: None })
}

/// `[page, true]`, which the reference accepts as line 1.
fn is_boolean_line(value: &Value) -> bool {
    matches!(value.as_array().map(Vec::as_slice), Some([Value::String(_), Value::Bool(_)]))
}

/// The sentence that a value is equal to in Python: `true` is 1, 1.0 is 1.
fn as_python_compares(value: &Value) -> Option<Sentence> {
    let [page, line] = value.as_array()?.as_slice() else { return None };
    let line = match line {
        Value::Bool(flag) => Some(i64::from(*flag)),
        Value::Null => None,
        Value::Number(number) => Some(
            number
                .as_i64()
                .or_else(|| number.as_f64().filter(|float| float.fract() == 0.0).map(|float| float as i64))?,
        ),
        _ => return None,
    };
    match page {
        Value::String(page) => Some(Sentence { page: Some(page.clone()), line }),
        Value::Null => Some(Sentence { page: None, line }),
        _ => None,
    }
}

/// A submission without a fault.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckedSubmission {
    /// How many predictions it holds.
    pub predictions: usize,
    /// How many predict each of the [`LABELS`].
    pub labels: [usize; 3],
    /// How many predict more sentences than the shared task counts (5).
    pub beyond_limit: usize,
    /// How many claims it was compared with; `None` without a file of claims.
    pub claims: Option<usize>,
    /// What to know before submitting it.
    pub notes: Vec<Note>,
}

/// Checks a file of predictions as the shared task requires it: each line has `id`, `predicted_label` and
/// `predicted_evidence`, labels are known, sentences are `[page, line]`, each id occurs once; with a file of claims
/// (which may be blind: `{id, claim}`), every claim is predicted and their order is kept.
///
/// # Errors
/// Every fault found, with file, line and id.
pub fn check_submission(path: &Path, claims: Option<&Path>) -> Result<CheckedSubmission> {
    let claim_ids = claims.map(load_ids).transpose()?;
    let lines = read_jsonl(path, |line| {
        let raw = read_prediction(line, Mode::Default)?;
        let what = if raw.id.is_none() { Some("id is missing".to_owned()) } else { raw.malformed };
        match (what, raw.id) {
            (None, Some(id)) => Ok((line.number, id, raw.prediction)),
            (what, id) => Err(vec![fault(line, id.as_ref(), what.unwrap_or_default())]),
        }
    })?;
    let mut checked =
        CheckedSubmission { predictions: lines.len(), claims: claim_ids.as_ref().map(Vec::len), ..Default::default() };
    let mut faults = Vec::new();
    if lines.is_empty() {
        faults.push(InputFault::new(path, "no prediction").hint(format!("write one {PREDICTION} per claim")));
    }
    let mut first_lines: HashMap<&Id, usize> = HashMap::new();
    let positions: HashMap<&Id, usize> = claim_ids.iter().flatten().enumerate().map(|(at, id)| (id, at)).collect();
    for (at, (line, id, prediction)) in lines.iter().enumerate() {
        for (count, name) in checked.labels.iter_mut().zip(LABELS) {
            *count += usize::from(prediction.label == name);
        }
        checked.beyond_limit += usize::from(prediction.evidence.len() > 5);
        let fault = |what: String| InputFault::new(path, what).at_line(*line).of_case(id.to_string());
        let first = *first_lines.entry(id).or_insert(*line);
        if first != *line {
            let what = format!("the claim is already predicted in line {first}");
            faults.push(fault(what).hint("keep one of the two lines"));
        } else if let Some(claims) = claims {
            match positions.get(id) {
                None => faults.push(fault(format!("no claim of {} has this id", claims.display()))),
                Some(position) if *position != at => {
                    let what = format!("claim number {} is prediction number {}", position + 1, at + 1);
                    faults.push(fault(what).hint("keep the order of the claims"));
                }
                Some(_) => {}
            }
        }
    }
    let missing: Vec<String> =
        claim_ids.iter().flatten().filter(|id| !first_lines.contains_key(id)).map(ToString::to_string).collect();
    if !missing.is_empty() {
        let more = if missing.len() > 5 { ", .." } else { "" };
        let what = format!(
            "claims without a prediction: {} ({}{more})",
            missing.len(),
            missing[..missing.len().min(5)].join(", ")
        );
        faults.push(InputFault::new(path, what).hint("predict every claim, in the same order"));
    }
    no_faults(faults)?;
    if path.file_name().is_none_or(|name| name != SUBMISSION_NAME) {
        checked.notes.push(Note::warning(format!("The shared task takes a file with the name {SUBMISSION_NAME}.")));
    }
    Ok(checked)
}

/// The ids of a file of claims, blind or not.
fn load_ids(path: &Path) -> Result<Vec<Id>> {
    let ids = read_jsonl(path, |line| {
        let raw: RawLine<IgnoredAny> =
            RawLine::parse(line, "{\"id\": 78526, \"claim\": \"..\"}").map_err(|fault| vec![fault])?;
        let id = raw.id.filter(|id| !is_placeholder(id));
        Ok((line.number, id.ok_or_else(|| vec![line.fault("the claim has no id (0 is a placeholder)")])?))
    })?;
    let mut seen = HashMap::new();
    let twice = ids.iter().filter_map(|(line, id)| {
        let fault = InputFault::new(path, format!("id {id} occurs twice")).at_line(*line);
        seen.insert(id, line).map(|_| fault)
    });
    no_faults(twice.collect())?;
    Ok(ids.into_iter().map(|(_, id)| id).collect())
}

//! Reads and joins FEVER files, and checks submissions.
//!
//! Gold and predictions are read line by line, joined by id or by order, and given to
//! `facts::fever` as pairs.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::claims::{
    BlindClaim, CheckedSubmission, ClaimFile, ClaimLine, EntryId, FromLine, LineFault, Whole,
    count_note,
};
use super::fever::{FeverGold, FeverPrediction, LABELS, Sentence};
use scholareval_core::domain::{Mode, Note};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::text::names::counted;
use scholareval_dataset::{all, no_faults};

/// The file name that the shared task requires.
const SUBMISSION_NAME: &str = "predictions.jsonl";

/// How predictions are joined with the claims of a gold file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Join {
    /// The n-th prediction belongs to the n-th claim, as in the shared task
    #[default]
    Order,
    /// By `id`
    Id,
}

/// Annotation id, evidence id, page, line.
type GoldSentence = (IgnoredAny, IgnoredAny, Option<String>, Option<GoldLine>);

/// The line of a gold sentence.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a whole number")]
enum GoldLine {
    Number(Whole),
    Text(String),
}

/// Predictions with the gold of their claims.
#[derive(Debug, Default)]
pub struct Joined<'a> {
    /// In the order of the predictions.
    pub pairs: Vec<(&'a ClaimLine<Predicted>, &'a FeverGold)>,
    /// Predictions whose id is not in the gold file (join by id); they are ignored.
    pub unknown: usize,
    /// Gold data of claims without a prediction (join by id).
    pub missing: Vec<&'a FeverGold>,
    /// Notes on the file.
    pub notes: Vec<Note>,
}

/// A parsed line of predictions.
#[derive(Debug)]
pub struct Predicted {
    /// The prediction.
    pub prediction: FeverPrediction,
    /// The gold data, if the line has some.
    pub gold: Option<FeverGold>,
    /// The first predicted sentence whose line is written as a text.
    pub text_line: Option<usize>,
}

/// A line of a gold file. `id` is optional: 0 and the empty string count as missing.
#[derive(Debug, Deserialize)]
pub struct RawGold {
    id: Option<EntryId>,
    label: Option<String>,
    evidence: Option<Vec<Vec<GoldSentence>>>,
}

/// A line of predictions as written in the file.
#[derive(Debug, Deserialize)]
pub struct RawPrediction {
    id: Option<EntryId>,
    label: Option<String>,
    evidence: Option<Vec<Vec<GoldSentence>>>,
    predicted_label: String,
    predicted_evidence: Vec<(String, RawLine)>,
}

/// The line of a predicted sentence; the reference reads `true` as line 1, and raises an exception at `1.0`.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected [page, line], a string and a whole number"
)]
enum RawLine {
    Number(i64),
    Flag(bool),
    Fraction(Whole),
    Text(String),
}

// The released test files have such placeholders: ids could not be compared.
const NO_ID: EntryId = EntryId::Number(0);

fn is_placeholder(id: &EntryId) -> bool {
    *id == NO_ID || *id == EntryId::Text(String::new())
}

/// The gold data of a line; `None` if label or evidence is missing.
fn gold(
    label: Option<String>,
    evidence: Option<Vec<Vec<GoldSentence>>>,
    mode: Mode,
) -> Result<Option<FeverGold>, Vec<LineFault>> {
    let Some((label, groups)) = label.zip(evidence) else {
        return Ok(None);
    };
    let mut sentences = Vec::new();
    for group in groups {
        let mut sentences_of_group = Vec::new();
        for (_, _, page, line) in group {
            let line = match line {
                // In the reference a text equals no line.
                Some(GoldLine::Text(_)) if mode == Mode::Compat => None,
                Some(GoldLine::Text(line)) => Some(line_in_text("evidence", &line)?),
                Some(GoldLine::Number(Whole(line))) => Some(line),
                None => None,
            };
            sentences_of_group.push(Sentence { page, line });
        }
        sentences.push(sentences_of_group);
    }
    let gold = FeverGold::new(&label, sentences);
    check_label("label", &gold.label, mode)?;
    Ok(Some(gold))
}

/// Compat accepts any label.
fn check_label(field: &str, label: &str, mode: Mode) -> Result<(), Vec<LineFault>> {
    if mode == Mode::Compat || LABELS.contains(&label) {
        return Ok(());
    }
    Err(vec![(
        format!(
            "{field}: expected one of {}, found {label:?}",
            LABELS.join(", ")
        ),
        String::new(),
    )])
}

impl FromLine for FeverGold {
    type Line = RawGold;
    const EXAMPLE: &str = "{\"id\": 78526, \"label\": \"REFUTES\", \"evidence\": [[[annotation id, evidence id, \"Lorelai_Gilmore\", 3]]]}";
    const IS_GOLD: bool = true;
    const MAY_REPEAT: bool = true;

    fn from_line(line: RawGold, mode: Mode) -> (EntryId, Result<Self, Vec<LineFault>>) {
        let gold = match gold(line.label, line.evidence, mode) {
            Ok(Some(gold)) => Ok(gold),
            Ok(None) => {
                let what = "label or evidence is missing".to_owned();
                Err(vec![(what, format!("write {}", Self::EXAMPLE))])
            }
            Err(faults) => Err(faults),
        };
        (line.id.unwrap_or(NO_ID), gold)
    }
}

impl FromLine for Predicted {
    type Line = RawPrediction;
    const EXAMPLE: &str = "{\"id\": 78526, \"predicted_label\": \"REFUTES\", \"predicted_evidence\": [[\"Lorelai_Gilmore\", 3]]}";
    const MAY_REPEAT: bool = true;

    fn from_line(line: RawPrediction, mode: Mode) -> (EntryId, Result<Self, Vec<LineFault>>) {
        // The reference compares labels in upper case.
        let label = line.predicted_label.to_uppercase();
        let read = check_label("predicted_label", &label, mode).and_then(|()| {
            let mut evidence = Vec::new();
            let mut lines = line.predicted_evidence.iter();
            let text_line = lines.position(|(_, line)| matches!(line, RawLine::Text(_)));
            if let (Some(at), Mode::Compat) = (text_line, mode) {
                return Err(vec![malformed(at)]);
            }
            for (page, sentence) in line.predicted_evidence {
                evidence.push(Sentence {
                    page: Some(page),
                    line: Some(line_number(sentence, mode)?),
                });
            }
            Ok(Self {
                prediction: FeverPrediction { label, evidence },
                gold: gold(line.label, line.evidence, mode)?,
                text_line,
            })
        });
        (line.id.unwrap_or(NO_ID), read)
    }
}

/// Joins every prediction with gold data: those of the same line, else those of the gold file.
///
/// # Errors
/// Every prediction that cannot be scored (no gold data, an id that differs from that of the gold file, a claim
/// predicted twice); a gold file with another number of lines; no predictions.
pub fn join<'a>(
    file: &'a ClaimFile<Predicted>,
    gold: Option<&'a ClaimFile<FeverGold>>,
    join: Join,
    mode: Mode,
) -> Result<Joined<'a>> {
    let mut pairing = ClaimPairing {
        file,
        gold,
        by_id: match gold {
            Some(gold) if join == Join::Id => gold.by_claim(),
            _ => HashMap::new(),
        },
        join,
        mode,
        joined: Joined::default(),
        own_gold: 0,
        predicted: HashSet::new(),
    };
    let lines = file.lines.iter().enumerate();
    let paired = all(lines.map(|(at, line)| pairing.add(at, line)));
    // Another number of lines explains the faults of all lines behind the first that is missing.
    pairing.require_equal_lengths()?;
    paired?;
    pairing.finish()
}

/// Predictions while they are joined with gold data.
struct ClaimPairing<'a> {
    file: &'a ClaimFile<Predicted>,
    gold: Option<&'a ClaimFile<FeverGold>>,
    /// The claims of the gold file by id; empty if they are joined by order.
    by_id: HashMap<&'a EntryId, &'a ClaimLine<FeverGold>>,
    join: Join,
    mode: Mode,
    joined: Joined<'a>,
    /// How many predictions have gold data in the same line.
    own_gold: usize,
    /// Lines of the gold file whose claim is predicted.
    predicted: HashSet<usize>,
}

impl<'a> ClaimPairing<'a> {
    /// Joins the prediction in that place (0-based).
    fn add(&mut self, at: usize, line: &'a ClaimLine<Predicted>) -> Result<()> {
        // First, as in the reference: a line with gold data is scored against these even if a gold
        // file is given.
        if let Some(gold) = &line.value.gold {
            self.own_gold += 1;
            self.joined.pairs.push((line, gold));
            return Ok(());
        }
        let Some(gold) = self.gold else {
            let fault = self
                .file
                .fault(line, "the line has no gold label and evidence");
            return Err(fault.refuse("give --gold FILE"));
        };
        let claim = match self.join {
            Join::Order => gold.lines.get(at),
            Join::Id if is_placeholder(&line.id) => {
                let fault = self.file.fault(line, "id is missing");
                return Err(fault.refuse("use --join order"));
            }
            Join::Id => self.by_id.get(&line.id).copied(),
        };
        let Some(claim) = claim else {
            self.joined.unknown += 1;
            return Ok(());
        };
        let has_ids = !is_placeholder(&line.id) && !is_placeholder(&claim.id);
        if has_ids && line.id != claim.id && self.mode == Mode::Default {
            let what = format!(
                "claim number {} of {} has the id {}",
                at + 1,
                gold.path.display(),
                claim.id
            );
            let fault = self.file.fault(line, what);
            return Err(fault.refuse("keep the order of the claims, or use --join id"));
        }
        if !self.predicted.insert(claim.line) {
            let fault = self.file.fault(line, "the claim is already predicted");
            return Err(fault.refuse("keep one of the two lines"));
        }
        self.joined.pairs.push((line, &claim.value));
        Ok(())
    }

    /// # Errors
    /// When predictions are joined by order with a gold file of another number of lines.
    fn require_equal_lengths(&self) -> Result<()> {
        let Some(gold) = self.gold else {
            return Ok(());
        };
        let lines = self.file.lines.len();
        let claims = gold.lines.len();
        // Where all lines bring their gold, the file is not used at all.
        let needs_file = self.own_gold < lines;
        if self.join != Join::Order || !needs_file || claims == lines {
            return Ok(());
        }
        let what = format!(
            "{lines} predictions, but {} holds {claims} claims",
            gold.path.display()
        );
        Err(InputFault::new(&self.file.path, what)
            .refuse("give one line a claim in the same order, or use --join id"))
    }

    /// The pairs, the claims without a prediction, and notes that count both.
    fn finish(mut self) -> Result<Joined<'a>> {
        if self.joined.pairs.is_empty() {
            let what = if self.file.lines.is_empty() {
                "no prediction"
            } else {
                "no prediction has the id of a claim"
            };
            return Err(InputFault::new(&self.file.path, what).into());
        }
        if let Some(gold) = self.gold
            && self.join == Join::Id
        {
            for claim in &gold.lines {
                if !self.predicted.contains(&claim.line) {
                    self.joined.missing.push(&claim.value);
                }
            }
        }
        let beside_file = self.gold.map_or(0, |_| self.own_gold);
        let notes = [
            count_note(
                self.joined.unknown,
                "prediction",
                "for claims that are not in the gold file: left out",
            ),
            count_note(
                self.joined.missing.len(),
                "claim",
                "without a prediction: they count as wrong",
            ),
            count_note(
                beside_file,
                "prediction",
                "with gold of their own, which is used instead of the gold file",
            ),
        ];
        self.joined.notes = notes.into_iter().flatten().collect();
        Ok(self.joined)
    }
}

/// Checks a prediction file by the rules of the shared task: known labels, sentences `[page, line]`, each id once. With
/// a file of claims (`{id, claim}` is enough), also that every claim is predicted, in the order of that file.
///
/// # Errors
/// Every fault found, with file, line and id.
pub fn check_submission(path: &Path, claims: Option<&Path>) -> Result<CheckedSubmission> {
    let file = ClaimFile::<Predicted>::load(path, Mode::Default)?;
    let without_id = file.lines.iter().filter(|line| is_placeholder(&line.id));
    let mut faults: Vec<InputFault> = without_id
        .map(|line| file.fault(line, "id is missing"))
        .collect();
    for line in &file.lines {
        let text_line = line.value.text_line.map(malformed);
        faults.extend(text_line.map(|(what, hint)| file.fault(line, what).hint(hint)));
    }
    faults.extend(file.repeated());
    if file.lines.is_empty() {
        let hint = format!("write one {} per claim", Predicted::EXAMPLE);
        faults.push(InputFault::new(path, "no prediction").hint(hint));
    }
    no_faults(faults)?;
    if let Some(claims) = claims {
        let claims = ClaimFile::<BlindClaim>::load(claims, Mode::Default)?;
        no_faults(file.unknown(&claims))?;
        no_faults(file.out_of_order(&claims).into_iter().collect())?;
    }
    let predictions = || file.lines.iter().map(|line| &line.value.prediction);
    let labels = LABELS.map(|label| {
        format!(
            "{} {label}",
            predictions().filter(|p| p.label == label).count()
        )
    });
    let mut notes = Vec::new();
    if claims.is_none() {
        notes.push(Note::warning(
            "Order and completeness are not checked: give --claims FILE.",
        ));
    }
    let too_long = predictions().filter(|prediction| prediction.evidence.len() > 5);
    let what = "with more than 5 sentences: only the first 5 count";
    notes.extend(count_note(too_long.count(), "prediction", what));
    if path.file_name().is_none_or(|name| name != SUBMISSION_NAME) {
        notes.push(Note::warning(format!(
            "The shared task requires a file with the name {SUBMISSION_NAME}."
        )));
    }
    let summary = format!(
        "{}: {}",
        counted(file.lines.len(), "prediction"),
        labels.join(", ")
    );
    Ok(CheckedSubmission { summary, notes })
}

/// The number of a predicted sentence's line, as far as the mode takes what is written there for one.
fn line_number(line: RawLine, mode: Mode) -> Result<i64, Vec<LineFault>> {
    match (line, mode) {
        (RawLine::Number(line), _) => Ok(line),
        (RawLine::Fraction(Whole(line)), Mode::Default) => Ok(line),
        (RawLine::Flag(flag), Mode::Compat) => Ok(i64::from(flag)),
        (RawLine::Text(line), _) => line_in_text("predicted_evidence", &line),
        (RawLine::Fraction(Whole(line)), Mode::Compat) => {
            let what = format!(
                "predicted_evidence: the reference raises an exception at the line {line}.0"
            );
            Err(vec![(what, format!("write {line}"))])
        }
        (RawLine::Flag(flag), Mode::Default) => {
            let what = format!("predicted_evidence: expected [page, line], found the line {flag}");
            Err(vec![(what, "write a whole number".to_owned())])
        }
    }
}

/// The number that a text is.
fn line_in_text(field: &str, line: &str) -> Result<i64, Vec<LineFault>> {
    line.trim().parse().map_err(|_| {
        let what = format!("{field}: expected [page, line], found the line {line:?}");
        vec![(what, "write a whole number".to_owned())]
    })
}

/// The fault of a predicted line that is a text, for the reference and the shared task.
fn malformed(at: usize) -> LineFault {
    let what =
        format!("predicted_evidence[{at}][1]: expected [page, line], a string and a whole number");
    (what, "write it without quotes".to_owned())
}

//! Reads and joins FEVER files, and checks submissions.

use std::collections::HashSet;
use std::path::Path;

use clap::ValueEnum;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::claims::{
    BlindClaim, Checked, ClaimFile, ClaimLine, FromLine, Id, LineFault, Whole, count_notes,
};
use super::fever::{Gold, LABELS, Prediction, Sentence};
use crate::dataset::{all, no_faults};
use crate::domain::{Mode, Note};
use crate::error::{InputFault, Result};
use crate::text::names::counted;

/// The file name that the shared task requires.
const SUBMISSION_NAME: &str = "predictions.jsonl";

/// How predictions are joined with the claims of a gold file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Join {
    /// The n-th prediction belongs to the n-th claim, as in the shared task
    #[default]
    Order,
    /// By `id`
    Id,
}

/// Annotation id, evidence id, page, line.
type GoldSentence = (IgnoredAny, IgnoredAny, Option<String>, Option<Whole>);

/// Predictions with the gold of their claims.
#[derive(Debug, Default)]
pub struct Joined<'a> {
    /// In the order of the predictions.
    pub pairs: Vec<(&'a ClaimLine<Predicted>, &'a Gold)>,
    /// Predictions whose id is not in the gold file (join by id); they are ignored.
    pub unknown: usize,
    /// Gold data of claims without a prediction (join by id).
    pub missing: Vec<&'a Gold>,
    /// Notes on the file.
    pub notes: Vec<Note>,
}

/// A parsed line of predictions.
#[derive(Debug)]
pub struct Predicted {
    /// The prediction.
    pub prediction: Prediction,
    /// The gold data, if the line has its own.
    pub gold: Option<Gold>,
}

/// A line of a gold file. `id` is optional: 0 and the empty string count as missing.
#[derive(Debug, Deserialize)]
pub struct RawGold {
    id: Option<Id>,
    label: Option<String>,
    evidence: Option<Vec<Vec<GoldSentence>>>,
}

/// A line of predictions as written in the file.
#[derive(Debug, Deserialize)]
pub struct RawPrediction {
    id: Option<Id>,
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
}

const NO_ID: Id = Id::Number(0);

fn is_placeholder(id: &Id) -> bool {
    *id == NO_ID || *id == Id::Text(String::new())
}

/// The gold data of a line; `None` if label or evidence is missing.
fn gold(
    label: Option<String>,
    evidence: Option<Vec<Vec<GoldSentence>>>,
    mode: Mode,
) -> Result<Option<Gold>, Vec<LineFault>> {
    let Some((label, groups)) = label.zip(evidence) else {
        return Ok(None);
    };
    let sentence = |(_, _, page, line): GoldSentence| Sentence {
        page,
        line: line.map(|Whole(line)| line),
    };
    let groups = groups
        .into_iter()
        .map(|group| group.into_iter().map(sentence).collect())
        .collect();
    let gold = Gold::new(&label, groups);
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

impl FromLine for Gold {
    type Line = RawGold;
    const EXAMPLE: &str = "{\"id\": 78526, \"label\": \"REFUTES\", \"evidence\": [[[annotation id, evidence id, \"Lorelai_Gilmore\", 3]]]}";
    const IS_GOLD: bool = true;
    const MAY_REPEAT: bool = true;

    fn from_line(line: RawGold, mode: Mode) -> (Id, Result<Self, Vec<LineFault>>) {
        let missing = || {
            vec![(
                "label or evidence is missing".to_owned(),
                format!("write {}", Self::EXAMPLE),
            )]
        };
        let gold = gold(line.label, line.evidence, mode).and_then(|gold| gold.ok_or_else(missing));
        (line.id.unwrap_or(NO_ID), gold)
    }
}

impl FromLine for Predicted {
    type Line = RawPrediction;
    const EXAMPLE: &str = "{\"id\": 78526, \"predicted_label\": \"REFUTES\", \"predicted_evidence\": [[\"Lorelai_Gilmore\", 3]]}";
    const MAY_REPEAT: bool = true;

    fn from_line(line: RawPrediction, mode: Mode) -> (Id, Result<Self, Vec<LineFault>>) {
        let sentence = |(page, line)| {
            let line = match (line, mode) {
                (RawLine::Number(line), _) => line,
                (RawLine::Fraction(Whole(line)), Mode::Default) => line,
                (RawLine::Flag(flag), Mode::Compat) => i64::from(flag),
                (RawLine::Fraction(Whole(line)), Mode::Compat) => {
                    let what = format!(
                        "predicted_evidence: the reference raises an exception at the line {line}.0"
                    );
                    return Err(vec![(what, format!("write {line}"))]);
                }
                (RawLine::Flag(flag), Mode::Default) => {
                    let what =
                        format!("predicted_evidence: expected [page, line], found the line {flag}");
                    return Err(vec![(what, "write a whole number".to_owned())]);
                }
            };
            Ok(Sentence {
                page: Some(page),
                line: Some(line),
            })
        };
        let label = line.predicted_label.to_uppercase();
        let read = check_label("predicted_label", &label, mode).and_then(|()| {
            let evidence = line
                .predicted_evidence
                .into_iter()
                .map(sentence)
                .collect::<Result<_, _>>()?;
            Ok(Self {
                prediction: Prediction { label, evidence },
                gold: gold(line.label, line.evidence, mode)?,
            })
        });
        (line.id.unwrap_or(NO_ID), read)
    }
}

/// Joins every prediction with gold data: those of its own line, else those of the gold file.
///
/// # Errors
/// Every prediction that cannot be scored (no gold data, an id that differs from that of the gold file, a claim
/// predicted twice); a gold file with another number of lines; no predictions.
pub fn join<'a>(
    file: &'a ClaimFile<Predicted>,
    gold: Option<&'a ClaimFile<Gold>>,
    join: Join,
    mode: Mode,
) -> Result<Joined<'a>> {
    let by_id = gold
        .filter(|_| join == Join::Id)
        .map(ClaimFile::by_claim)
        .unwrap_or_default();
    let (mut joined, mut own_gold, mut predicted) = (Joined::default(), 0, HashSet::new());
    let pair = |(at, line): (usize, &'a ClaimLine<Predicted>)| {
        if let Some(gold) = &line.value.gold {
            own_gold += 1;
            joined.pairs.push((line, gold));
            return Ok(());
        }
        let without = || {
            file.fault(line, "the line has no gold label and evidence")
                .hint("give --gold FILE")
        };
        let gold = gold.ok_or_else(without)?;
        let claim = match join {
            Join::Order => gold.lines.get(at),
            Join::Id if is_placeholder(&line.id) => {
                return Err(file
                    .fault(line, "id is missing")
                    .hint("use --join order")
                    .into());
            }
            Join::Id => by_id.get(&line.id).copied(),
        };
        let Some(claim) = claim else {
            joined.unknown += 1;
            return Ok(());
        };
        let has_ids = !is_placeholder(&line.id) && !is_placeholder(&claim.id);
        if has_ids && line.id != claim.id && mode == Mode::Default {
            let what = format!(
                "claim number {} of {} has the id {}",
                at + 1,
                gold.path.display(),
                claim.id
            );
            return Err(file
                .fault(line, what)
                .hint("keep the order of the claims, or use --join id")
                .into());
        }
        if !predicted.insert(claim.line) {
            return Err(file
                .fault(line, "the claim is already predicted")
                .hint("keep one of the two lines")
                .into());
        }
        joined.pairs.push((line, &claim.value));
        Ok(())
    };
    let paired = all(file.lines.iter().enumerate().map(pair));
    let (lines, needs_file) = (file.lines.len(), own_gold < file.lines.len());
    if let Some(gold) =
        gold.filter(|gold| join == Join::Order && needs_file && gold.lines.len() != lines)
    {
        let claims = format!("{} holds {} claims", gold.path.display(), gold.lines.len());
        let fault = InputFault::new(&file.path, format!("{lines} predictions, but {claims}"));
        return Err(fault
            .hint("give one line a claim in the same order, or use --join id")
            .into());
    }
    paired?;
    if joined.pairs.is_empty() {
        let what = if lines == 0 {
            "no prediction"
        } else {
            "no prediction has the id of a claim"
        };
        return Err(InputFault::new(&file.path, what).into());
    }
    if let Some(gold) = gold.filter(|_| join == Join::Id) {
        let missing = gold
            .lines
            .iter()
            .filter(|claim| !predicted.contains(&claim.line));
        joined.missing = missing.map(|claim| &claim.value).collect();
    }
    let own_gold = if gold.is_some() { own_gold } else { 0 };
    joined.notes = count_notes([
        (
            joined.unknown,
            "prediction",
            "for claims that are not in the gold file: left out",
        ),
        (
            joined.missing.len(),
            "claim",
            "without a prediction: they count as wrong",
        ),
        (
            own_gold,
            "prediction",
            "with gold of their own, which is used instead of the gold file",
        ),
    ]);
    Ok(joined)
}

/// Checks a prediction file by the rules of the shared task: known labels, sentences `[page, line]`, each id once. With
/// a file of claims (`{id, claim}` is enough), also that every claim is predicted, in the order of that file.
///
/// # Errors
/// Every fault found, with file, line and id.
pub fn check_submission(path: &Path, claims: Option<&Path>) -> Result<Checked> {
    let file = ClaimFile::<Predicted>::load(path, Mode::Default)?;
    let without_id = file.lines.iter().filter(|line| is_placeholder(&line.id));
    let mut faults: Vec<InputFault> = without_id
        .map(|line| file.fault(line, "id is missing"))
        .collect();
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
    let too_long = predictions()
        .filter(|prediction| prediction.evidence.len() > 5)
        .count();
    let mut notes = count_notes([(
        too_long,
        "prediction",
        "with more than 5 sentences: only the first 5 count",
    )]);
    if claims.is_none() {
        notes.insert(
            0,
            Note::warning("Order and completeness are not checked: give --claims FILE."),
        );
    }
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
    Ok(Checked { summary, notes })
}

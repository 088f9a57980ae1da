//! Reads and checks SciFact files: claims, corpus and submissions.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::claims::{
    BlindClaim, ByAbstract, ByDocument, CheckedSubmission, ClaimFile, EntryId, FromLine, LineFault,
    count_note, without_faults,
};
use super::scifact::{
    ClaimPrediction, DocId, Evidence, EvidenceLabel, GoldClaim, PredictedAbstract,
};
use scholareval_core::domain::{Mode, Note};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::text::names::counted;
use scholareval_dataset::{no_faults, read_jsonl};

/// A line of a claims file; a blind file has no `evidence`.
#[derive(Debug, Deserialize)]
pub struct RawClaim {
    id: EntryId,
    #[serde(default)]
    claim: String,
    evidence: Option<ByDocument<Vec<RawEvidence>>>,
}

/// A gold rationale, or a predicted abstract.
#[derive(Debug, Deserialize)]
pub struct RawEvidence {
    sentences: Vec<u32>,
    label: String,
}

impl FromLine for GoldClaim {
    type Line = RawClaim;
    const EXAMPLE: &str = "{\"id\": 1, \"claim\": \"..\", \"evidence\": {\"11\": [{\"sentences\": [0, 4], \"label\": \"SUPPORT\"}]}}";
    const IS_GOLD: bool = true;

    fn from_line(line: RawClaim, mode: Mode) -> (EntryId, Result<Self, Vec<LineFault>>) {
        let (mut evidence, mut faults) = (BTreeMap::new(), Vec::new());
        if line.evidence.is_none() {
            let hint = "this seems to be a blind file: give the one with the evidence";
            faults.push(("evidence is missing".to_owned(), hint.to_owned()));
        }
        for (doc_id, rationales) in line.evidence.into_iter().flat_map(|evidence| evidence.0) {
            match one_label(&doc_id, &rationales, mode) {
                Ok(label) => {
                    let rationales = rationales
                        .into_iter()
                        .map(|rationale| rationale.sentences)
                        .collect();
                    evidence.insert(doc_id, Evidence { label, rationales });
                }
                Err(fault) => faults.push(fault),
            }
        }
        let claim = Self {
            text: line.claim,
            evidence,
        };
        (line.id, without_faults(claim, faults))
    }
}

/// The label shared by all rationales of an abstract.
fn one_label(
    doc_id: &DocId,
    rationales: &[RawEvidence],
    mode: Mode,
) -> Result<EvidenceLabel, LineFault> {
    let labels: Vec<EvidenceLabel> = rationales
        .iter()
        .map(|rationale| EvidenceLabel::read(doc_id, &rationale.label, mode))
        .collect::<Result<_, _>>()?;
    // An abstract without rationale would count as relevant evidence that nobody can find.
    let Some(first) = labels.first() else {
        let what = format!("abstract {doc_id} has no rationale, so it has no label");
        return Err((what, "delete the abstract, or list a rationale".to_owned()));
    };
    match labels.iter().find(|label| *label != first) {
        None => Ok(*first),
        Some(other) => {
            let what = format!("abstract {doc_id} has two labels, {first} and {other}");
            Err((what, "give all its rationales the same label".to_owned()))
        }
    }
}

impl FromLine for ClaimPrediction {
    type Line = ByAbstract<ByDocument<RawEvidence>>;
    const EXAMPLE: &str =
        "{\"id\": 52, \"evidence\": {\"11\": {\"label\": \"SUPPORT\", \"sentences\": [1]}}}";

    fn from_line(line: Self::Line, mode: Mode) -> (EntryId, Result<Self, Vec<LineFault>>) {
        let (mut prediction, mut faults) = (Self::default(), Vec::new());
        for (doc_id, RawEvidence { sentences, label }) in line.evidence.0 {
            match EvidenceLabel::read(&doc_id, &label, mode) {
                // It says that the abstract is no evidence, so that it is not among the predicted
                // ones; counted, since the leaderboard refuses it.
                Ok(EvidenceLabel::NotEnoughInfo) => prediction.undecided += 1,
                Ok(label) => {
                    prediction
                        .evidence
                        .insert(doc_id, PredictedAbstract { label, sentences });
                }
                Err(fault) => faults.push(fault),
            }
        }
        (line.id, without_faults(prediction, faults))
    }
}

/// Number of sentences of each abstract, and whether it is structured.
#[derive(Debug, Clone, Default)]
pub struct Corpus {
    abstracts: HashMap<DocId, (usize, bool)>,
}

/// A line of a corpus.
#[derive(Deserialize)]
struct RawAbstract {
    #[serde(deserialize_with = "number_of_abstract")]
    doc_id: DocId,
    #[serde(rename = "abstract")]
    sentences: Vec<String>,
    #[serde(default)]
    structured: bool,
}

fn number_of_abstract<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DocId, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let id = DocId::deserialize(&value).ok().filter(DocId::is_number);
    id.ok_or_else(|| D::Error::custom(format!("expected the number of an abstract, found {value}")))
}

impl Corpus {
    /// Reads a corpus with one `{"doc_id": 11, "abstract": ["..", ".."], "structured": false}` per line.
    ///
    /// # Errors
    /// Every fault of the file, or why it cannot be read.
    pub fn load(path: &Path) -> Result<Self> {
        let abstracts = read_jsonl(path, |line| {
            let read: RawAbstract = line.read("{\"doc_id\": 11, \"abstract\": [\"..\"]}")?;
            Ok((read.doc_id, (read.sentences.len(), read.structured)))
        })?;
        Ok(Self {
            abstracts: abstracts.into_iter().collect(),
        })
    }

    /// Whether the abstract has headed sections; `None` if it is not in the corpus.
    pub fn is_structured(&self, doc_id: &DocId) -> Option<bool> {
        self.abstracts
            .get(doc_id)
            .map(|(_, structured)| *structured)
    }

    /// Faults for abstracts and sentences that are not in the corpus. `list` returns the abstracts of a line with their
    /// sentences.
    pub(super) fn faults<T>(
        &self,
        file: &ClaimFile<T>,
        list: impl Fn(&T) -> Vec<(DocId, Vec<u32>)>,
    ) -> Vec<InputFault> {
        let cited = file.lines.iter().flat_map(|line| {
            list(&line.value)
                .into_iter()
                .map(move |cited| (line, cited))
        });
        let faults = cited.filter_map(|(line, (doc_id, sentences))| {
            let Some((length, _)) = self.abstracts.get(&doc_id) else {
                let fault = file.fault(line, format!("abstract {doc_id} is not in the corpus"));
                return Some(fault.hint("check the id, or the corpus"));
            };
            let outside = sentences
                .into_iter()
                .find(|sentence| *sentence as usize >= *length)?;
            let hint = match length.checked_sub(1) {
                Some(last) => format!("its sentences are 0 to {last}"),
                None => "it has no sentences".to_owned(),
            };
            Some(
                file.fault(line, format!("abstract {doc_id} has no sentence {outside}"))
                    .hint(hint),
            )
        });
        faults.collect()
    }
}

/// Notes on abstracts of a submission that are allowed but cost points.
pub(super) fn costly_abstracts(file: &ClaimFile<ClaimPrediction>) -> Vec<Note> {
    let undecided: usize = file.lines.iter().map(|line| line.value.undecided).sum();
    let abstracts = file
        .lines
        .iter()
        .flat_map(|line| line.value.evidence.values());
    let long = abstracts.filter(|predicted| predicted.sentences.len() > 3);
    let refused = "with the label NOT_ENOUGH_INFO: left out here, refused by the leaderboard";
    let cut = "with more than 3 sentences: only the first ones count towards rationalized";
    let notes = [
        count_note(undecided, "abstract", refused),
        count_note(long.count(), "abstract", cut),
    ];
    notes.into_iter().flatten().collect()
}

/// Checks a submission against claims (which may be blind) and a corpus, if given.
///
/// # Errors
/// Faults of reading, unknown claims, abstracts and sentences that are not in the corpus.
pub fn check_submission(
    path: &Path,
    claims: Option<&Path>,
    corpus: Option<&Path>,
) -> Result<CheckedSubmission> {
    let predictions = ClaimFile::<ClaimPrediction>::load(path, Mode::Default)?;
    let claims = claims
        .map(|path| ClaimFile::<BlindClaim>::load(path, Mode::Default))
        .transpose()?;
    let mut faults = claims
        .as_ref()
        .map(|claims| predictions.unknown(claims))
        .unwrap_or_default();
    if let Some(corpus) = corpus {
        let cited = |line: &ClaimPrediction| {
            line.evidence
                .iter()
                .map(|(doc_id, predicted)| (doc_id.clone(), predicted.sentences.clone()))
                .collect()
        };
        faults.extend(Corpus::load(corpus)?.faults(&predictions, cited));
    }
    no_faults(faults)?;
    let mut notes = costly_abstracts(&predictions);
    match &claims {
        None => notes.push(Note::warning(
            "The claim ids are not checked: give --claims FILE.",
        )),
        Some(claims) => notes.extend(predictions.out_of_order(claims).map(|fault| {
            let what =
                "The leaderboard takes one line for each claim, in the order of the claims file";
            Note::warning(format!("{what}: {}.", fault.what))
        })),
    }
    if corpus.is_none() {
        notes.push(Note::warning(
            "The abstracts and sentence positions are not checked: give --corpus FILE.",
        ));
    }
    let abstracts = predictions
        .lines
        .iter()
        .map(|line| line.value.evidence.len())
        .sum();
    let lines = counted(predictions.lines.len(), "prediction");
    Ok(CheckedSubmission {
        summary: format!("{lines}, {}", counted(abstracts, "abstract")),
        notes,
    })
}

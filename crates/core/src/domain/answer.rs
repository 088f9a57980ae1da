//! Answers of a system, with sources and gold answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    CaseId, CitedName, CitedWork, CriteriaLayout, Digest, Mode, Report, RetrievalTrace, SystemName,
    TestCase, UnscoredKind, UnscoredReason, citations,
};
use crate::text::citation_markers::number_markers;

/// One answer of one system to one test case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The system.
    pub system: SystemName,
    /// The test case.
    pub case_id: CaseId,
    /// The answer, exactly as in the file (shared by all calls about it); empty while it is [left there](Self::left_in).
    pub answer_text: Arc<str>,
    /// Where `answer_text` is, if it was left in its file: `dataset::with_text` reads it.
    #[serde(skip)]
    pub left_in: Option<Arc<TextInFile>>,
    /// Length in bytes of what the system wrote; the rest of `answer_text` is an appended block of references, which no
    /// length counts. `None`: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_bytes: Option<usize>,
    /// The prediction behind the answer, with its sources and gold answers, for scorers of citations and overlap.
    /// `None` for `{case_id, answer_text}` without a prediction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Arc<Prediction>>,
    /// Its citations, where it is a report of sections; `answer_text` is the text of the report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Arc<Report>>,
    /// A reference answer that illustrates grade 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_answer: Option<Arc<str>>,
    /// The works that it cites, looked up in files of works before the run; `None` without such files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub works: Option<Arc<Vec<CitedWork>>>,
    /// What the system retrieved while it wrote the answer; `None` if its file does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<RetrievalTrace>>,
    /// There is no answer: its text is null, or only the error text of a failed generation. Nothing is asked about it, and no
    /// score is 0 because of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_missing: bool,
    /// 1-based line in the answer file; 0 if there is none.
    pub line: usize,
}

impl Answer {
    /// An answer with only its text.
    pub fn new(system: SystemName, case_id: CaseId, answer_text: impl Into<Arc<str>>) -> Self {
        let answer_text = answer_text.into();
        Self {
            system,
            case_id,
            answer_text,
            left_in: None,
            own_bytes: None,
            prediction: None,
            report: None,
            reference_answer: None,
            works: None,
            trace: None,
            is_missing: false,
            line: 0,
        }
    }

    /// Whether there is no answer; the reference scripts take an error text for one.
    pub fn is_missing_in(&self, mode: Mode) -> bool {
        self.is_missing && (mode == Mode::Default || self.text_bytes() == 0)
    }

    /// [`Answer::own_text`] as a shared string, without a copy if nothing was appended.
    pub fn own_text_shared(&self) -> Arc<str> {
        match self.own_bytes {
            None => Arc::clone(&self.answer_text),
            Some(_) => Arc::from(self.own_text()),
        }
    }

    /// Leaves the text in this field of a file, where the JSON object of the answer has this place.
    pub fn leave_text(&mut self, field: &Arc<FieldInFile>, offset: u64, bytes: usize) {
        if let Some(prediction) = &mut self.prediction {
            // The output is the same text: it would otherwise stay in memory.
            Arc::make_mut(prediction).output = None;
        }
        let text = std::mem::take(&mut self.answer_text);
        let (text_bytes, blake3) = (text.len(), blake3::hash(text.as_bytes()).into());
        self.left_in = Some(Arc::new(TextInFile {
            field: Arc::clone(field),
            offset,
            bytes,
            text_bytes,
            blake3,
        }));
    }

    /// Length of the text in bytes, be it in memory or in its file.
    pub fn text_bytes(&self) -> usize {
        self.left_in
            .as_ref()
            .map_or(self.answer_text.len(), |place| place.text_bytes)
    }

    /// Hash of the text, be it in memory or in its file.
    pub fn text_hash(&self) -> Digest<16> {
        self.left_in.as_ref().map_or_else(
            || blake3::hash(self.answer_text.as_bytes()).into(),
            |place| place.blake3,
        )
    }

    /// The prediction's question, trimmed; empty if unknown.
    pub fn question(&self) -> &str {
        self.prediction
            .as_ref()
            .map_or("", |prediction| prediction.input.trim())
    }

    /// What the system wrote, without an appended block of references.
    pub fn own_text(&self) -> &str {
        self.own_bytes
            .and_then(|bytes| self.answer_text.get(..bytes))
            .unwrap_or(&self.answer_text)
    }
}

/// The field of a file of answers that holds their texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldInFile {
    /// The file.
    pub path: PathBuf,
    /// The name of the field.
    pub name: String,
}

/// The place of an answer's text in a file of answers. A large run has one for each answer, so that it is kept small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextInFile {
    /// The file and the field.
    pub field: Arc<FieldInFile>,
    /// Bytes before the JSON object of the answer.
    pub offset: u64,
    /// Length of the object in bytes.
    pub bytes: usize,
    /// Length of the text in bytes, which ends the field.
    pub text_bytes: usize,
    /// Hash of the text.
    pub blake3: Digest<16>,
}

/// What a run scores one by one. It is decided where a run is prepared, and recorded in its manifest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// Each answer of a system by itself.
    #[default]
    Answer,
    /// Two answers to one case, in the order in which a judge sees them.
    Pair,
}

/// What is scored: an answer with the case it answers, or two answers to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The question and its rubric; in files the answer has its id.
    #[serde(skip, default = "no_case")]
    pub case: Arc<TestCase>,
    /// What the system wrote.
    #[serde(flatten)]
    pub answer: Answer,
    /// Of a pair the answer that a judge sees second; in files it is an answer as well.
    #[serde(skip)]
    pub other: Option<Arc<Answer>>,
    /// How the criteria of the case are asked.
    #[serde(default, skip_serializing_if = "CriteriaLayout::is_as_written")]
    pub layout: CriteriaLayout,
}

impl Item {
    /// Why nothing can be judged, where an answer is missing.
    pub fn missing_answer(&self, mode: Mode) -> Option<UnscoredReason> {
        let missing = self.answers().find(|answer| answer.is_missing_in(mode))?;
        let text = match missing.text_bytes() {
            0 => "null",
            _ => "only the error text of a failed generation",
        };
        let what = format!("{} has no answer: its text is {text}", missing.system);
        Some(UnscoredReason::new(UnscoredKind::NoAnswer, what))
    }

    /// One answer.
    pub fn new(case: Arc<TestCase>, answer: Answer) -> Self {
        Self {
            case,
            answer,
            other: None,
            layout: CriteriaLayout::AsWritten,
        }
    }

    /// The same answer with the criteria of its case laid out so.
    #[must_use]
    pub fn laid_out(mut self, layout: CriteriaLayout) -> Self {
        if layout == CriteriaLayout::Reordered {
            self.case = Arc::new(self.case.reordered());
        }
        self.layout = layout;
        self
    }

    /// Two answers to a case, in the order in which a judge sees them.
    pub fn pair(case: Arc<TestCase>, first: Answer, second: Answer) -> Self {
        Self {
            case,
            answer: first,
            other: Some(Arc::new(second)),
            layout: CriteriaLayout::AsWritten,
        }
    }

    /// The answer, or both of a pair in their order.
    pub fn answers(&self) -> impl Iterator<Item = &Answer> {
        std::iter::once(&self.answer).chain(self.other.as_deref())
    }

    /// The name of what is scored: the system, or [both of a pair](SystemName::of_pair).
    pub fn system(&self) -> SystemName {
        match &self.other {
            None => self.answer.system.clone(),
            Some(other) => SystemName::of_pair(&self.answer.system, &other.system),
        }
    }
}

/// A placeholder for the case of an answer that was read alone.
fn no_case() -> Arc<TestCase> {
    Arc::new(TestCase::without_rubric("".into(), ""))
}

/// A document that an answer may cite (`ctxs` or `docs` in files).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its title; `None` if the key is missing (an empty title counts as a title).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its text; `None` if missing or [a bare `NaN`](Self::text_is_nan).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the file has a bare `NaN` as text (the reference prints `nan`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_is_nan: bool,
    /// Its key, if the file has an object of sources `{key: [text, title]}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What the file says about the work, besides its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<SourceWork>>,
}

/// Authors, year and address of a source, as far as a file has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceWork {
    /// Names of the authors, as they are written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
    /// The year.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<i32>,
    /// Its address: a page, a DOI, an arXiv number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The id by which a marker may name it, such as that of Semantic Scholar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Whether markers count sources from 0 or 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(try_from = "u8", into = "u8")]
pub enum IndexBase {
    /// `[0]` is the first source, as in ScholarQABench's data.
    #[default]
    #[cfg_attr(feature = "clap", value(name = "0"))]
    Zero,
    /// `[1]` is the first source.
    #[cfg_attr(feature = "clap", value(name = "1"))]
    One,
}

impl TryFrom<u8> for IndexBase {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        match number {
            0 => Ok(Self::Zero),
            1 => Ok(Self::One),
            _ => Err("expected 0 or 1, the number that means the first source"),
        }
    }
}

impl From<IndexBase> for u8 {
    fn from(base: IndexBase) -> Self {
        Self::from(base == IndexBase::One)
    }
}

impl IndexBase {
    /// Index of the source with this number; `None` for 0 if counting starts at 1.
    pub fn place_of(self, number: u64) -> Option<usize> {
        let place = match self {
            Self::Zero => number,
            Self::One => number.checked_sub(1)?,
        };
        usize::try_from(place).ok()
    }

    /// The number of the source at this index.
    pub fn number_of(self, place: usize) -> usize {
        place + usize::from(self == Self::One)
    }
}

/// What an output is compared with; missing fields are empty or `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gold {
    /// The gold answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Ids of the gold sources: values of `id_mapping`, else markers such as `[0]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gold_ctxs: Option<Vec<String>>,
    /// Texts of the gold documents (`gold_ctx`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gold_texts: Vec<String>,
    /// Sets of equivalent short answers, one set per question (`qa_pairs[].short_answers`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub short_answers: Vec<Vec<String>>,
    /// Long reference answers (`annotations[].long_answer`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub long_answers: Vec<String>,
}

/// One line of a prediction file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prediction {
    /// `id` or `case_id` in the file, else the position in the file, from 1.
    pub id: String,
    /// The question (`input` or `query`).
    pub input: String,
    /// The system's output; `None` in a file of gold answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Arc<str>>,
    /// The sources it could cite, in the order of their numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Number of `ctxs` if `docs` replaces them: the reference checks citation numbers against it (compat).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_ctxs: Option<usize>,
    /// The passages that a pipeline selected last (`final_passages`), as one text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_passages: Option<String>,
    /// Maps a marker's number to a source id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_mapping: Option<BTreeMap<String, String>>,
    /// The gold data.
    pub gold: Gold,
    /// 1-based line in the file.
    pub line: usize,
}

impl Prediction {
    /// The output, empty if missing.
    pub fn output(&self) -> &str {
        self.output.as_deref().unwrap_or_default()
    }

    /// The cited numbers in order, with repeats; in compat mode those of the markers that the reference knows.
    pub fn cited_numbers(&self, base: IndexBase, mode: Mode) -> Vec<u64> {
        match mode {
            Mode::Default => {
                let found = citations(self.output(), Some(self), u8::from(base).into());
                let names = found.iter().flat_map(|citation| &citation.names);
                names.filter_map(CitedName::number).collect()
            }
            Mode::Compat => {
                let markers = number_markers(self.output()).into_iter();
                markers.flat_map(|marker| marker.numbers).collect()
            }
        }
    }

    /// Indices (from 0) of the cited sources, in source order. Numbers without a source are ignored. In compat mode only
    /// the markers that the reference knows count.
    pub fn cited_sources(&self, base: IndexBase, mode: Mode) -> Vec<usize> {
        let numbers = self.cited_numbers(base, mode).into_iter();
        // A set: a source that is cited ten times is listed once, in the order of the sources.
        let places: BTreeSet<usize> = numbers.filter_map(|number| base.place_of(number)).collect();
        places
            .into_iter()
            .filter(|place| *place < self.sources.len())
            .collect()
    }
}

//! Claims of an answer with their citations and documents.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::{Answer, Mode, Source, TestCase};
use crate::scorer::predicted::{prediction_of, question_of};
use crate::text::citation_markers::{
    citation_ids, first_numbers, number_markers, without_citations,
};
use crate::text::punkt::sentences;
use crate::text::python_chars::is_python_whitespace;

use super::{EntailmentScorer, Form};

/// Minimum length of a sentence that is a claim, in characters with markers.
// The reference's threshold, which it applies before markers are removed.
const SHORTEST_SENTENCE: usize = 50;

/// A claim and its citations.
pub(super) struct AnswerClaim {
    /// Number of its sentence in the answer, from 1.
    pub(super) number: usize,
    /// The sentence without markers.
    pub(super) text: Arc<str>,
    /// The citation numbers that count, as written.
    pub(super) citations: Vec<u64>,
    /// Source indices, from 0; one per citation, or none if no judge is needed.
    pub(super) places: Vec<usize>,
    /// Whether the numbers come from an earlier sentence.
    pub(super) inherited: bool,
    /// Whether the sentence is too short for a claim.
    pub(super) skipped: bool,
    /// Why no judge is needed.
    pub(super) why: Option<String>,
}

impl AnswerClaim {
    /// Whether a judge decides.
    pub(super) fn is_asked(&self) -> bool {
        self.why.is_none()
    }
}

/// A source as the judge reads it.
struct Document {
    /// `Title: {title}`, a line feed and the text; only the text if the title is missing. An empty title is kept.
    text: String,
    /// Whether the text is `nan`, as the reference prints a bare `NaN`.
    is_nan: bool,
    /// Whether the reference fails on it, since it has no text.
    is_refused: bool,
}

impl Document {
    fn new(source: &Source, mode: Mode) -> Self {
        let is_compat = mode == Mode::Compat;
        let is_nan = is_compat && source.text.is_none() && source.text_is_nan;
        let text = source
            .text
            .as_deref()
            .unwrap_or(if is_nan { "nan" } else { "" });
        let text = source
            .title
            .as_ref()
            .map_or(text.to_owned(), |title| format!("Title: {title}\n{text}"));
        Self {
            text,
            is_nan,
            is_refused: is_compat && source.text.is_none() && !is_nan,
        }
    }
}

/// The reference has no score for an answer that cites a source without text.
pub(super) struct Refused;

/// Everything about an answer that needs no judge.
pub(super) struct ClaimPlan {
    pub(super) claims: Vec<AnswerClaim>,
    documents: Vec<Document>,
    /// Distinct numbers in the answer's markers.
    pub(super) cited_papers: usize,
    /// Whether the answer is empty.
    pub(super) is_empty: bool,
}

impl ClaimPlan {
    pub(super) fn new(
        scorer: &EntailmentScorer,
        case: &TestCase,
        answer: &Answer,
    ) -> Result<Self, Refused> {
        let prediction = prediction_of(answer);
        let documents: Vec<Document> = prediction
            .sources
            .iter()
            .map(|source| Document::new(source, scorer.mode))
            .collect();
        let replaced_ctxs = prediction
            .replaced_ctxs
            .filter(|_| scorer.mode == Mode::Compat);
        // The reference checks numbers against `ctxs` even where `docs` replaced them.
        let source_count = replaced_ctxs.unwrap_or(documents.len());
        let mut last_valid = None;
        let texts = texts(scorer, question_of(case, &prediction), prediction.output());
        let claims: Vec<AnswerClaim> = texts
            .into_iter()
            .map(|text| claim(scorer, text, source_count, &mut last_valid))
            .collect();
        if scorer.mode == Mode::Compat && cites_refused(&claims, &documents) {
            return Err(Refused);
        }
        let cited_papers = citation_ids(prediction.output())
            .into_iter()
            .collect::<BTreeSet<_>>()
            .len();
        let is_empty = sentences(prediction.output()).is_empty();
        Ok(Self {
            claims,
            documents,
            cited_papers,
            is_empty,
        })
    }

    fn documents(&self, places: &[usize]) -> impl Iterator<Item = &Document> {
        places.iter().filter_map(|place| self.documents.get(*place))
    }

    /// The sources at these indices as one document, joined by line feeds in citation order.
    pub(super) fn document(&self, places: &[usize]) -> Arc<str> {
        self.documents(places)
            .map(|document| document.text.as_str())
            .collect::<Vec<_>>()
            .join("\n")
            .into()
    }

    /// Whether the text of one of these sources is `nan`.
    pub(super) fn shows_nan(&self, places: &[usize]) -> bool {
        self.documents(places).any(|document| document.is_nan)
    }
}

/// Whether a claim cites a document on which the reference fails.
fn cites_refused(claims: &[AnswerClaim], documents: &[Document]) -> bool {
    let mut places = claims.iter().flat_map(|claim| &claim.places);
    places.any(|place| {
        let document = documents.get(*place);
        document.is_none_or(|document| document.is_refused)
    })
}

/// A text that may be a claim.
struct ClaimCandidate {
    number: usize,
    claim: String,
    numbers: Vec<u64>,
    skipped: bool,
}

fn texts(scorer: &EntailmentScorer, question: &str, output: &str) -> Vec<ClaimCandidate> {
    match scorer.form {
        Form::Long => sentences(output)
            .into_iter()
            .zip(1..)
            .map(|(range, number)| {
                let sentence = &output[range];
                let skipped = sentence.chars().count() < SHORTEST_SENTENCE;
                ClaimCandidate {
                    number,
                    claim: trimmed(sentence),
                    numbers: numbers(sentence, scorer.mode),
                    skipped,
                }
            })
            .collect(),
        Form::Short => {
            let mut cited = numbers(output, scorer.mode);
            if scorer.mode == Mode::Compat {
                // The reference looks for markers in question and answer put together.
                cited.splice(0..0, numbers(question, scorer.mode));
            }
            let claim = format!("{question} {}", trimmed(output));
            vec![ClaimCandidate {
                number: 1,
                claim,
                numbers: cited,
                skipped: false,
            }]
        }
    }
}

/// A text as a claim: without markers, and without white space around it.
fn trimmed(text: &str) -> String {
    let text = without_citations(text);
    text.trim_matches(is_python_whitespace).to_owned()
}

/// The numbers that a text cites, in order: those of its markers, each once; in compat mode the digits after every
/// opening bracket, with repeats.
fn numbers(text: &str, mode: Mode) -> Vec<u64> {
    match mode {
        // A number too large for the type is out of range anyway.
        Mode::Compat => first_numbers(text)
            .iter()
            .map(|digits| digits.parse().unwrap_or(u64::MAX))
            .collect(),
        Mode::Default => {
            let mut seen = BTreeSet::new();
            let all = number_markers(text)
                .into_iter()
                .flat_map(|marker| marker.numbers);
            all.filter(|number| seen.insert(*number)).collect()
        }
    }
}

/// The claim of a text. A claim without numbers inherits `last_valid`: all numbers of the latest claim whose numbers
/// are within the `source_count` sources.
fn claim(
    scorer: &EntailmentScorer,
    text: ClaimCandidate,
    source_count: usize,
    last_valid: &mut Option<Vec<u64>>,
) -> AnswerClaim {
    let ClaimCandidate {
        number,
        claim,
        numbers,
        skipped,
    } = text;
    let inherited = !skipped && numbers.is_empty() && last_valid.is_some();
    let numbers = last_valid.clone().filter(|_| inherited).unwrap_or(numbers);
    let why = if skipped {
        Some(format!("skipped: under {SHORTEST_SENTENCE} characters"))
    } else if numbers.is_empty() {
        Some("no citation".to_owned())
    } else {
        let invalid = numbers
            .iter()
            .find(|number| place(scorer, **number, source_count).is_none());
        invalid.map(|invalid| format!("[{invalid}] is out of range"))
    };
    let limit = if skipped {
        numbers.len()
    } else {
        scorer.at_most.max(1)
    };
    let citations: Vec<u64> = numbers.iter().copied().take(limit).collect();
    let mut places = Vec::new();
    if why.is_none() {
        places = citations
            .iter()
            .filter_map(|number| place(scorer, *number, source_count))
            .collect();
        *last_valid = Some(numbers);
    }
    AnswerClaim {
        number,
        text: claim.into(),
        citations,
        places,
        inherited: inherited && why.is_none(),
        skipped,
        why,
    }
}

/// The index of the source that a number cites; `None` out of range.
fn place(scorer: &EntailmentScorer, number: u64, source_count: usize) -> Option<usize> {
    let place = scorer.index_base.place_of(number)?;
    (place < source_count).then_some(place)
}

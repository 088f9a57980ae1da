//! Claims of an answer with their citations and documents.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::citation::cited_ids;
use crate::predicted::{prediction_of, question_of};
use scholareval_core::domain::{
    Answer, CitedName, CitedSentence, Mode, Prediction, Source, TestCase, citations, cited_claims,
    without_citations_of,
};
use scholareval_core::text::citation_markers::{first_numbers, without_citations};
use scholareval_core::text::punkt::sentences;
use scholareval_core::text::tokens::is_han_or_kana;

use super::{EntailmentScorer, Form};

/// Minimum length of a sentence that is a claim, in characters with markers.
// The reference's threshold, which it applies before markers are removed.
const SHORTEST_SENTENCE: usize = 50;

/// How many characters one of Chinese or Japanese stands for: its texts are about a third as long as those in English.
const HAN_LENGTH: usize = 3;

/// A claim and its citations.
pub(super) struct AnswerClaim {
    /// Its name in items of calls: `s` and the number of the sentence (Punkt) that it is, from 1; `c` and the claim's number
    /// if it is none, so that recorded verdicts of a sentence are not taken for one that reads differently.
    pub(super) name: String,
    /// The claim without markers.
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
        let texts = texts(scorer, question_of(case, &prediction), &prediction);
        let claims: Vec<AnswerClaim> = texts
            .into_iter()
            .map(|text| claim(scorer, text, source_count, &mut last_valid))
            .collect();
        if scorer.mode == Mode::Compat && cites_refused(&claims, &documents) {
            return Err(Refused);
        }
        let cited_papers = cited_ids(&prediction, scorer.index_base, scorer.mode).len();
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
    name: String,
    claim: String,
    numbers: Vec<u64>,
    skipped: bool,
}

fn texts(
    scorer: &EntailmentScorer,
    question: &str,
    prediction: &Prediction,
) -> Vec<ClaimCandidate> {
    let output = prediction.output();
    let base = u8::from(scorer.index_base).into();
    match (scorer.form, scorer.mode) {
        (Form::Long, Mode::Default) => claims(prediction, base),
        (Form::Long, Mode::Compat) => reference_claims(output),
        (Form::Short, Mode::Default) => {
            let found = citations(output, Some(prediction), base);
            let text = without_citations_of(output, &found);
            let is_as_in_reference = text == without_citations(output);
            let names = found.iter().flat_map(|citation| &citation.names);
            vec![ClaimCandidate {
                name: if is_as_in_reference { "s1" } else { "c1" }.to_owned(),
                claim: format!("{question} {text}"),
                numbers: distinct(names),
                skipped: false,
            }]
        }
        (Form::Short, Mode::Compat) => {
            // The reference looks for markers in question and answer put together.
            let cited = [numbers(question), numbers(output)].concat();
            vec![ClaimCandidate {
                name: "s1".to_owned(),
                claim: format!("{question} {}", without_citations(output)),
                numbers: cited,
                skipped: false,
            }]
        }
    }
}

/// The claims of an output.
fn claims(prediction: &Prediction, base: u64) -> Vec<ClaimCandidate> {
    let output = prediction.output();
    let sentences = sentences(output);
    let mut candidates = Vec::new();
    for (claim, number) in cited_claims(output, Some(prediction), base)
        .into_iter()
        .zip(1..)
    {
        let place = sentences.partition_point(|sentence| sentence.end <= claim.range.start);
        let sentence = sentences.get(place).map(|range| &output[range.clone()]);
        let is_sentence = sentence.is_some_and(|text| without_citations(text) == claim.text);
        candidates.push(ClaimCandidate {
            name: if is_sentence {
                format!("s{}", place + 1)
            } else {
                format!("c{number}")
            },
            skipped: is_short(output, &claim),
            numbers: distinct(claim.names()),
            claim: claim.text,
        });
    }
    candidates
}

/// Whether a claim is too short, with its markers but without the addresses of links; or nothing is left without markers.
fn is_short(output: &str, claim: &CitedSentence) -> bool {
    let mut addresses = 0;
    for citation in &claim.citations {
        let written = &output[citation.place.range.clone()];
        if written.contains("://") {
            let kept = &output[citation.place.kept.clone()];
            addresses += written.chars().count() - kept.chars().count();
        }
    }
    let all = length(&output[claim.range.clone()]);
    all.saturating_sub(addresses) < SHORTEST_SENTENCE || !claim.text.contains(char::is_alphanumeric)
}

/// The sentences of an output, as the reference reads them.
fn reference_claims(output: &str) -> Vec<ClaimCandidate> {
    let mut candidates = Vec::new();
    for (range, number) in sentences(output).into_iter().zip(1..) {
        let sentence = &output[range];
        candidates.push(ClaimCandidate {
            name: format!("s{number}"),
            claim: without_citations(sentence),
            numbers: numbers(sentence),
            skipped: sentence.chars().count() < SHORTEST_SENTENCE,
        });
    }
    candidates
}

/// The length of a text in characters, as long as its English translation may be.
fn length(text: &str) -> usize {
    let wide = text.chars().filter(|c| is_han_or_kana(*c)).count();
    text.chars().count() + wide * (HAN_LENGTH - 1)
}

/// The numbers that a text cites to the reference, in order, with repeats: the digits after every opening bracket.
fn numbers(text: &str) -> Vec<u64> {
    // A number too large for the type is out of range anyway.
    let numbers = first_numbers(text).into_iter();
    numbers
        .map(|digits| digits.parse().unwrap_or(u64::MAX))
        .collect()
}

/// The cited numbers in their order, each once.
fn distinct<'a>(names: impl Iterator<Item = &'a CitedName>) -> Vec<u64> {
    let mut seen = BTreeSet::new();
    let numbers = names.filter_map(CitedName::number);
    numbers.filter(|number| seen.insert(*number)).collect()
}

/// The claim of a text. A claim without numbers inherits `last_valid`: all numbers of the latest claim whose numbers
/// are within the `source_count` sources.
fn claim(
    scorer: &EntailmentScorer,
    candidate: ClaimCandidate,
    source_count: usize,
    last_valid: &mut Option<Vec<u64>>,
) -> AnswerClaim {
    let (skipped, numbers) = (candidate.skipped, candidate.numbers);
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
        name: candidate.name,
        text: candidate.claim.into(),
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

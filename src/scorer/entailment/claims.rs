//! The claims of an answer with what they cite.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::{Answer, Mode, Prediction, TestCase};
use crate::scorer::predicted::{prediction_of, question_of};
use crate::text::citation_markers::{citation_ids, first_numbers, number_markers, without_citations};
use crate::text::punkt::sentences;
use crate::text::python_chars::is_python_whitespace;

use super::sources::Sources;
use super::{EntailmentScorer, Form};

/// Shorter sentences, markers included, are no claims.
const SHORTEST_SENTENCE: usize = 50;

/// One claim.
pub(super) struct Claim {
    /// Its sentence, counted from 1, skipped ones included.
    pub(super) number: usize,
    /// The sentence without markers.
    pub(super) text: Arc<str>,
    /// The numbers that count, as written.
    pub(super) citations: Vec<u64>,
    /// The places of their sources, from 0; as many as `citations`, or none where nothing is asked.
    pub(super) places: Vec<usize>,
    /// Whether the numbers are those of an earlier sentence.
    pub(super) inherited: bool,
    /// Whether it is not counted at all.
    pub(super) skipped: bool,
    /// Why nothing is asked about it.
    pub(super) why: Option<String>,
}

impl Claim {
    /// True if a judge decides.
    pub(super) fn is_asked(&self) -> bool {
        self.why.is_none()
    }
}

/// All that can be told of an answer before the judge speaks.
pub(super) struct ClaimPlan<'a> {
    pub(super) claims: Vec<Claim>,
    pub(super) sources: Sources<'a>,
    /// Distinct numbers in the markers of the answer.
    pub(super) cited_papers: usize,
    /// True if the answer has no text at all.
    pub(super) is_empty: bool,
}

impl<'a> ClaimPlan<'a> {
    /// # Errors
    /// In compat mode the name of the exception that the reference raises.
    pub(super) fn new(scorer: &EntailmentScorer, case: &'a TestCase, answer: &'a Answer) -> Result<Self, &'static str> {
        let prediction = prediction_of(answer);
        let texts = texts(scorer, question_of(case, &prediction), prediction.output());
        let cited_papers = citation_ids(prediction.output()).into_iter().collect::<BTreeSet<_>>().len();
        let is_empty = sentences(prediction.output()).is_empty();
        let replaced_ctxs = prediction.replaced_ctxs.filter(|_| scorer.mode == Mode::Compat);
        let sources = match prediction {
            Cow::Borrowed(prediction) => Cow::Borrowed(prediction.sources.as_slice()),
            Cow::Owned(Prediction { sources, .. }) => Cow::Owned(sources),
        };
        let sources = Sources::new(sources, scorer.mode);
        let in_range = replaced_ctxs.unwrap_or(sources.len());
        let mut reader = Reader { scorer, sources: &sources, in_range, last: None };
        let claims = texts.into_iter().map(|text| reader.claim(text)).collect::<Result<_, _>>()?;
        Ok(Self { claims, sources, cited_papers, is_empty })
    }
}

/// A text that may be a claim.
struct Text {
    number: usize,
    claim: String,
    numbers: Vec<u64>,
    skipped: bool,
}

fn texts(scorer: &EntailmentScorer, question: &str, output: &str) -> Vec<Text> {
    let trimmed = |text: &str| without_citations(text).trim_matches(is_python_whitespace).to_owned();
    match scorer.form {
        Form::Long => sentences(output)
            .into_iter()
            .zip(1..)
            .map(|(range, number)| {
                let sentence = &output[range];
                let skipped = sentence.chars().count() < SHORTEST_SENTENCE;
                Text { number, claim: trimmed(sentence), numbers: numbers(sentence, scorer.mode), skipped }
            })
            .collect(),
        Form::Short => {
            let mut cited = numbers(output, scorer.mode);
            if scorer.mode == Mode::Compat {
                cited.splice(0..0, numbers(question, scorer.mode));
            }
            let claim = format!("{question} {}", trimmed(output));
            vec![Text { number: 1, claim, numbers: cited, skipped: false }]
        }
    }
}

/// The numbers that a text cites, in order: of its markers, each once; in compat mode the digits behind every bracket,
/// as often as they stand there.
fn numbers(text: &str, mode: Mode) -> Vec<u64> {
    match mode {
        // What is too large for the type is out of every range.
        Mode::Compat => first_numbers(text).iter().map(|digits| digits.parse().unwrap_or(u64::MAX)).collect(),
        Mode::Default => {
            let mut seen = BTreeSet::new();
            let all = number_markers(text).into_iter().flat_map(|marker| marker.numbers);
            all.filter(|number| seen.insert(*number)).collect()
        }
    }
}

struct Reader<'a> {
    scorer: &'a EntailmentScorer,
    sources: &'a Sources<'a>,
    /// Places below this can be cited.
    in_range: usize,
    /// The numbers of the last sentence that had valid ones, uncut.
    last: Option<Vec<u64>>,
}

impl Reader<'_> {
    fn claim(&mut self, text: Text) -> Result<Claim, &'static str> {
        let Text { number, claim, numbers, skipped } = text;
        let blank = |citations, skipped, why: String| Claim {
            number,
            text: claim.as_str().into(),
            citations,
            places: Vec::new(),
            inherited: false,
            skipped,
            why: Some(why),
        };
        if skipped {
            return Ok(blank(numbers, true, format!("skipped: under {SHORTEST_SENTENCE} characters")));
        }
        let inherited = numbers.is_empty() && self.last.is_some();
        let numbers = if inherited { self.last.clone().unwrap_or_default() } else { numbers };
        if numbers.is_empty() {
            return Ok(blank(numbers, false, "no citation".to_owned()));
        }
        let at_most = self.scorer.at_most.max(1);
        let place = |number: &u64| self.scorer.index_base.place_of(*number).filter(|place| *place < self.in_range);
        let outside = numbers.iter().find(|number| place(number).is_none()).copied();
        if let Some(outside) = outside {
            let counted = numbers.into_iter().take(at_most).collect();
            return Ok(blank(counted, false, format!("[{outside}] is out of range")));
        }
        let places: Vec<usize> = numbers.iter().filter_map(place).take(at_most).collect();
        if self.scorer.mode == Mode::Compat {
            // In the order in which the reference writes the documents: the first it cannot write ends it.
            let fault = |place: &usize| match *place < self.sources.len() {
                false => Some("IndexError"),
                true => self.sources.lacks_text(*place).then_some("KeyError"),
            };
            if let Some(exception) = places.iter().find_map(fault) {
                return Err(exception);
            }
        }
        let citations = numbers.iter().copied().take(at_most).collect();
        self.last = Some(numbers);
        Ok(Claim { number, text: claim.into(), citations, places, inherited, skipped: false, why: None })
    }
}

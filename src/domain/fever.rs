//! The nouns of FEVER (Fact Extraction and VERification): labels, sentences, evidence groups, gold and predictions.
//!
//! Source of the shapes: the shared task of 2018 (<https://fever.ai/2018/task.html>) and `fever-scorer`
//! (`src/fever/scorer.py`, commit 4801615). A gold claim holds evidence groups, each of which is sufficient by itself:
//! a list of `[annotation id, evidence id, page, line]`. A prediction holds a label and sentences `[page, line]`, best
//! first.

use std::borrow::Cow;
use std::fmt;

/// What a claim is, given the evidence.
///
/// Labels are read without case, as Python's `str.upper` sees it; white space counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Label<'a> {
    /// `SUPPORTS`.
    Supports,
    /// `REFUTES`.
    Refutes,
    /// `NOT ENOUGH INFO`: no evidence is asked for.
    NotEnoughInfo,
    /// None of the three, in capitals. It equals itself only.
    Other(Cow<'a, str>),
}

impl<'a> Label<'a> {
    /// The three labels of the task, as files write them.
    pub const NAMES: [&'static str; 3] = ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"];

    /// The label that a text means.
    pub fn read(text: &str) -> Self {
        Self::known(text).unwrap_or_else(|| {
            let upper = text.to_uppercase();
            Self::known(&upper).unwrap_or(Self::Other(Cow::Owned(upper)))
        })
    }

    /// One of the three labels of the task; `None` for [`Label::Other`].
    fn known(text: &str) -> Option<Self> {
        let [supports, refutes, not_enough] = Self::NAMES;
        match text {
            _ if text.eq_ignore_ascii_case(supports) => Some(Self::Supports),
            _ if text.eq_ignore_ascii_case(refutes) => Some(Self::Refutes),
            _ if text.eq_ignore_ascii_case(not_enough) => Some(Self::NotEnoughInfo),
            _ => None,
        }
    }

    /// The label as files write it.
    pub fn name(&self) -> &str {
        match self {
            Self::Supports => Self::NAMES[0],
            Self::Refutes => Self::NAMES[1],
            Self::NotEnoughInfo => Self::NAMES[2],
            Self::Other(text) => text,
        }
    }

    /// True if evidence counts for a claim of this gold label.
    pub fn is_verifiable(&self) -> bool {
        *self != Self::NotEnoughInfo
    }

    /// The same label that borrows nothing.
    pub fn into_owned(self) -> Label<'static> {
        match self {
            Self::Supports => Label::Supports,
            Self::Refutes => Label::Refutes,
            Self::NotEnoughInfo => Label::NotEnoughInfo,
            Self::Other(text) => Label::Other(Cow::Owned(text.into_owned())),
        }
    }
}

/// A sentence of Wikipedia: page name and line, 0-based. Gold of unverifiable claims has nulls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence<'a> {
    /// The page's name in the corpus, such as `Oliver_Reed`.
    pub page: Option<Cow<'a, str>>,
    /// The line on the page.
    pub line: Option<i64>,
}

impl<'a> Sentence<'a> {
    /// The sentence on that line of that page.
    pub fn new(page: impl Into<Cow<'a, str>>, line: i64) -> Self {
        Self { page: Some(page.into()), line: Some(line) }
    }
}

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let page = self.page.as_deref().unwrap_or("null");
        match self.line {
            Some(line) => write!(f, "{page}:{line}"),
            None => write!(f, "{page}:null"),
        }
    }
}

/// One sufficient set of sentences: it counts only if all of them are predicted. An empty one always counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvidenceGroup<'g, 'a>(pub &'g [Sentence<'a>]);

/// The gold of a claim: its label and its evidence groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gold<'a> {
    /// The gold label.
    pub label: Label<'a>,
    /// The sentences of all groups, one group after the other.
    sentences: Vec<Sentence<'a>>,
    /// Where each group ends in `sentences`.
    ends: Vec<usize>,
}

impl<'a> Gold<'a> {
    /// A claim with these groups.
    pub fn new(label: Label<'a>, groups: impl IntoIterator<Item = Vec<Sentence<'a>>>) -> Self {
        let (mut sentences, mut ends) = (Vec::new(), Vec::new());
        for group in groups {
            sentences.extend(group);
            ends.push(sentences.len());
        }
        Self { label, sentences, ends }
    }

    /// A claim whose groups stand one after the other in `sentences` and end at `ends`; ends beyond are cut.
    pub fn from_flat(label: Label<'a>, sentences: Vec<Sentence<'a>>, ends: Vec<usize>) -> Self {
        Self { label, sentences, ends }
    }

    /// The groups, in file order.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = EvidenceGroup<'_, 'a>> {
        self.ends.iter().enumerate().map(|(index, end)| {
            let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
            EvidenceGroup(self.sentences.get(start..*end).unwrap_or_default())
        })
    }

    /// The sentences of all groups.
    pub fn sentences(&self) -> &[Sentence<'a>] {
        &self.sentences
    }
}

/// How a predicted sentence is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `[page, line]`, a string and a whole number.
    Good,
    /// The line is `true` or `false`, which Python takes for 1 and 0.
    Boolean,
    /// Anything else: the reference refuses it where the label is right.
    Bad,
}

/// One predicted sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredictedSentence<'a> {
    /// What it equals; `None` where it can equal no gold sentence.
    pub sentence: Option<Sentence<'a>>,
    /// How it is written.
    pub form: Form,
}

impl<'a> PredictedSentence<'a> {
    /// A well-formed one.
    pub fn new(page: impl Into<Cow<'a, str>>, line: i64) -> Self {
        Self { sentence: Some(Sentence::new(page, line)), form: Form::Good }
    }
}

/// What a system predicts for a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prediction<'a> {
    /// The predicted label, or what the reference raises when it looks at it.
    pub label: Result<Label<'a>, Raised>,
    /// The predicted sentences, best first; `None` where the field is missing.
    pub evidence: Option<Vec<PredictedSentence<'a>>>,
}

impl<'a> Prediction<'a> {
    /// A prediction without faults.
    pub fn new(label: Label<'a>, evidence: impl IntoIterator<Item = (&'a str, i64)>) -> Self {
        let evidence = evidence.into_iter().map(|(page, line)| PredictedSentence::new(page, line)).collect();
        Self { label: Ok(label), evidence: Some(evidence) }
    }
}

/// An exception that the reference raises, by its Python name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{}", self.name())]
pub enum Raised {
    /// A field is missing or has a form that is refused; or predictions and gold differ in number.
    Assertion,
    /// A key is missing.
    Key,
    /// A label is no string.
    Attribute,
    /// Precision and recall are both 0, or there is no prediction.
    ZeroDivision,
}

impl Raised {
    /// The exception's name in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assertion => "AssertionError",
            Self::Key => "KeyError",
            Self::Attribute => "AttributeError",
            Self::ZeroDivision => "ZeroDivisionError",
        }
    }
}

/// The id of a claim, a number or a text. A text of digits is the number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClaimId<'a> {
    /// As the released files have it.
    Number(i64),
    /// Anything else.
    Text(Cow<'a, str>),
}

impl<'a> ClaimId<'a> {
    /// The id that a text means.
    pub fn read(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        match text.parse::<i64>() {
            Ok(number) if number.to_string() == *text => Self::Number(number),
            _ => Self::Text(text),
        }
    }

    /// True for 0 and the empty text, which the released test files carry in place of ids.
    pub fn is_placeholder(&self) -> bool {
        match self {
            Self::Number(number) => *number == 0,
            Self::Text(text) => text.is_empty(),
        }
    }

    /// The same id that borrows nothing.
    pub fn into_owned(self) -> ClaimId<'static> {
        match self {
            Self::Number(number) => ClaimId::Number(number),
            Self::Text(text) => ClaimId::Text(Cow::Owned(text.into_owned())),
        }
    }
}

impl fmt::Display for ClaimId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_without_case_but_with_white_space() {
        assert_eq!(Label::read("not Enough info"), Label::NotEnoughInfo);
        assert_eq!(Label::read("ſupports"), Label::Supports); // Python: "ſ".upper() is "S"
        assert_eq!(Label::read("refutes "), Label::Other("REFUTES ".into()));
        assert_ne!(Label::read("refutes "), Label::Refutes);
    }

    #[test]
    fn an_id_of_digits_is_a_number() {
        assert_eq!(ClaimId::read("75397"), ClaimId::Number(75397));
        assert_eq!(ClaimId::read("007"), ClaimId::Text("007".into()));
        assert!(ClaimId::read("0").is_placeholder() && ClaimId::read("").is_placeholder());
    }

    #[test]
    fn groups_are_cut_where_they_end() {
        let [a, b, c] = [Sentence::new("p", 0), Sentence::new("p", 1), Sentence::new("q", 0)];
        let gold = Gold::new(Label::Supports, [vec![a.clone()], vec![], vec![b.clone(), c.clone()]]);
        let groups: Vec<_> = gold.groups().map(|group| group.0.to_vec()).collect();
        assert_eq!(groups, [vec![a], vec![], vec![b, c]]);
    }
}

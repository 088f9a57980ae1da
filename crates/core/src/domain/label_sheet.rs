//! What people label: the sheet of a draw of answers, and the labels that one rater gave.
//!
//! `scholareval label` draws answers, writes a [`LabelSheet`] and makes a page for each rater. A page has opaque ids in place of
//! systems, cases and criteria; the sheet has the key to them and stays with whoever made it. A rater downloads a [`LabelFile`].
//! With the sheet its labels are those of answers again:
//!
//! 1. the file names its sheet, and each label an item of it ([`LabelSheet::item`]);
//! 2. the item names an answer of the [frame](LabelSheet::frame), what of it was labeled ([`LabelUnit`]), and the hash of the
//!    text that the rater read; the answer has the hash of its text: labels are valid for a run whose texts have these
//!    hashes, whatever its name, directory and judge;
//! 3. a [value](GivenLabel::Value) is in the unit of the component that the unit names; a [preference](GivenLabel::Preference)
//!    is left or right of the page, which [`PageItem::preferred`] turns into the first or the second answer of the item.
//!
//! Answers were drawn, not their units: all labeled units of an answer have the answer's [probability](FrameAnswer::probability).
//! Only of [single verdicts](LabelDraw::Verdicts) each item has [its own](SheetItem::probability), and no whole answer is labeled.
//! The frame has the probability of every answer that could be drawn, so that rounds that were drawn independently can be
//! joined. Which of the drawn answers a rater got, and in which order, is random and independent of everything else.

use serde::{Deserialize, Serialize};

use super::{CaseId, Digest, Preference, SystemName, VerdictDraw};

/// The version of `sheet.json` and of files of labels.
pub const LABEL_SCHEMA: u32 = 1;

/// The rater of the page of items on which raters differ. No rater of a sheet has this name.
pub const ADJUDICATOR: &str = "adjudication";

/// `sheet.json`: what was drawn to be labeled, by whom. It is written once and never changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelSheet {
    /// The version of the format.
    pub schema_version: u32,
    /// Identifies the sheet: a hash of all other fields.
    pub id: Digest<8>,
    /// The seed of the draw, of the order and of the sides.
    pub seed: u64,
    /// How answers were drawn.
    pub draw: LabelDraw,
    /// The metric whose values an answer needs in order to be drawn, and whose spread decides its probability; `None` for
    /// pairs, which are drawn by their texts alone.
    pub metric: Option<String>,
    /// The names of the runs.
    pub runs: Vec<String>,
    /// Every answer that could be drawn, once, drawn or not: an answer that is in several runs has the first one's index.
    pub frame: Vec<FrameAnswer>,
    /// Of pairs: how many the frame has, and the probability of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<PairFrame>,
    /// Of single verdicts: the draw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<VerdictDraw>,
    /// The scales of the items.
    pub scales: Vec<LabelScale>,
    /// What is labeled, by answer.
    pub items: Vec<SheetItem>,
    /// Who labels what.
    pub raters: Vec<RaterPage>,
}

/// How the answers of a sheet were drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelDraw {
    /// Half of the sample spread evenly, half in proportion to how much judges and samples differ about an answer.
    Spread,
    /// All answers with the same probability.
    Random,
    /// Two answers to one question, all pairs with the same probability.
    Pairs,
    /// Single verdicts of a judge, half by their weight, half by weight and doubt.
    Verdicts,
}

/// An answer that could be drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameAnswer {
    /// The run, by its index in the sheet.
    pub run: usize,
    /// The system.
    pub system: SystemName,
    /// The test case.
    pub case_id: CaseId,
    /// Hash of the answer's text.
    pub text: Digest<16>,
    /// The probability with which it was drawn, above 0, at most 1; `None` if pairs or verdicts were drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Whether it was drawn; of pairs and verdicts, whether one of its was.
    pub drawn: bool,
}

/// The pairs that could be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PairFrame {
    /// Pairs of two answers to one question by two systems.
    pub of: usize,
    /// The probability of each.
    pub probability: f64,
}

/// What of an answer is labeled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum LabelKind {
    /// Its level on a criterion: the value of a component, 0..=1.
    Criterion,
    /// Its grade in an aspect: the value of a component, 1..=5.
    Aspect,
    /// Whether its sources support a claim: 1 or 0.
    Claim,
    /// The whole answer, 1..=5; no component of a run has this scale.
    Answer,
    /// Which of two answers is better.
    #[cfg_attr(feature = "clap", value(skip))]
    Pair,
}

/// The part of an answer that is labeled, as a run names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LabelUnit {
    /// Its kind.
    pub kind: LabelKind,
    /// The scorer of the component or claim, without `lexical_`; empty for whole answers and pairs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scorer: String,
    /// The name of the component; of a claim its index in the `claims` of the score, from 0; empty for whole answers and
    /// pairs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// One item to label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SheetItem {
    /// Its id on every page and in every file of labels; it says nothing about the item.
    pub id: String,
    /// The answer, by its index in the frame; of a pair the first one.
    pub answer: usize,
    /// Of a pair, the second answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<usize>,
    /// What of the answer is labeled.
    pub unit: LabelUnit,
    /// The probability with which it was drawn, above 0, at most 1; `None` if answers or pairs were drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// Hash of what the rater reads with the answer: question, criterion, levels, sources.
    pub shown: Digest<16>,
    /// The scale, by its index in the sheet.
    pub scale: usize,
    /// Whether all raters have it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

/// A scale: the labels that can be given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelScale {
    /// From the lowest to the highest; of a preference from left to right.
    pub levels: Vec<LabelLevel>,
}

/// A label that can be given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelLevel {
    /// The key that gives it: `0` to `9`, or `+`.
    pub key: char,
    /// Its name, as in the rubric.
    pub name: String,
    /// When it applies; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub means: String,
    /// The label.
    pub label: GivenLabel,
}

/// The items of one rater.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaterPage {
    /// The rater's name, as given.
    pub rater: String,
    /// The file of the page, in the directory of the sheet.
    pub page: String,
    /// The items in the order in which the page shows them.
    pub items: Vec<PageItem>,
}

/// An item on a rater's page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageItem {
    /// Its id.
    pub item: String,
    /// Of a pair: whether the second answer is on the left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub swapped: bool,
}

/// A label.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenLabel {
    /// A level, in the unit of the run's component.
    Value(f64),
    /// The better one of two answers, by their sides of the page.
    Preference(Preference),
    /// The rater looked and cannot decide by what is on the page.
    CannotAssess,
}

/// What a rater downloads: the labels so far, of one sheet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LabelFile {
    /// The version of the format.
    pub schema_version: u32,
    /// The id of the sheet.
    pub sheet: Digest<8>,
    /// The rater, as in the sheet; of an adjudication [`ADJUDICATOR`].
    pub rater: String,
    /// Whether the labels settle items on which raters differ: they replace these in the human value, and are not among the
    /// labels whose agreement is measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adjudicated: bool,
    /// When the file was made (RFC 3339, UTC).
    pub saved_at: String,
    /// The items that the rater has labeled or commented on, each once.
    pub labels: Vec<ItemLabel>,
}

/// What a rater says about an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemLabel {
    /// The item's id.
    pub item: String,
    /// The label; `None` for a comment without one, and for a label that was undone.
    pub label: Option<GivenLabel>,
    /// The rater's comment; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
    /// Seconds for which the item was in view before its last change, while the page was visible.
    pub seconds: f64,
    /// When the label or the comment last changed (RFC 3339, UTC).
    pub at: String,
    /// Labels that were changed, the first one first; undone ones are null.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierLabel>,
}

/// A label that the rater changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EarlierLabel {
    /// The label.
    pub label: Option<GivenLabel>,
    /// When it was given, or when its comment last changed.
    pub at: String,
}

impl LabelSheet {
    /// The hash that is its id: of all other fields.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn hash(&self) -> serde_json::Result<Digest<8>> {
        let mut bare = self.clone();
        bare.id = Digest::from([0; 8]);
        Ok(blake3::hash(&serde_json::to_vec(&bare)?).into())
    }

    /// The item with this id.
    pub fn item(&self, id: &str) -> Option<&SheetItem> {
        self.items.iter().find(|item| item.id == id)
    }

    /// The item on this rater's page. The adjudicator sees every pair in the order of the item.
    pub fn on_page(&self, rater: &str, id: &str) -> Option<PageItem> {
        if rater == ADJUDICATOR {
            return self.item(id).map(|item| PageItem {
                item: item.id.clone(),
                swapped: false,
            });
        }
        let page = self.raters.iter().find(|page| page.rater == rater)?;
        page.items.iter().find(|item| item.item == id).cloned()
    }
}

impl PageItem {
    /// The preference between the first and the second answer of the item, by that between the left and the right of the page.
    pub fn preferred(&self, on_page: Preference) -> Preference {
        on_page.exchanged_if(self.swapped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_the_first_or_the_second_answer_by_what_the_rater_saw() {
        let seen = |swapped| PageItem {
            item: "a".to_owned(),
            swapped,
        };
        let left = Preference::First;
        assert_eq!(seen(false).preferred(left), Preference::First);
        assert_eq!(seen(true).preferred(left), Preference::Second);
        assert_eq!(seen(true).preferred(Preference::Tie), Preference::Tie);
    }

    #[test]
    fn labels_have_the_form_that_a_page_writes() {
        let text = r#"{"schema_version":1,"sheet":"0011223344556677","rater":"ann","saved_at":"2026-01-01T00:00:00.000Z",
            "labels":[{"item":"x","label":{"value":0.5},"seconds":3.2,"at":"..","earlier":[{"label":null,"at":".."}]},
            {"item":"y","label":"cannot_assess","comment":"no sources","seconds":1,"at":".."},
            {"item":"z","label":{"preference":"left"},"seconds":1,"at":".."}]}"#;
        let file: LabelFile = serde_json::from_str(text).unwrap();
        let labels: Vec<Option<GivenLabel>> = file.labels.iter().map(|item| item.label).collect();
        let expected = [
            GivenLabel::Value(0.5),
            GivenLabel::CannotAssess,
            GivenLabel::Preference(Preference::First),
        ];
        assert_eq!(labels, expected.map(Some));
        assert!(!file.adjudicated && file.labels[0].earlier[0].label.is_none());
    }
}

//! The page on which a rater labels, as one file: made of the texts of a sheet, which say nothing about whose they are.
//!
//! Everything is JSON for the script (`label.js`): one block with the items in the rater's order and the scales, and one per answer,
//! parsed when it is shown. Answers are numbered in the order of the page.

use serde_json::{Value, json};

use super::data::utf16;
use super::frame::{ended, head, joined, push_data, script};
use super::safety::embedded;
use crate::domain::{
    ADJUDICATOR, BlindAnswer, BlindTask, BlindTexts, LabelSheet, PageItem, RaterPage, SheetItem,
};
use crate::error::{Error, Result};
use crate::runs::{Dispute, DisputedLabel, plain_name};

/// The parts of the page that the script fills.
const BODY: &str = include_str!("label.html");
const STYLE: &str = joined!("theme.css", "answer.css", "label.css");
const SCRIPT: &str = script!("elements.js", "markdown.js", "answer.js", "label.js");

/// The page of a rater as UTF-8.
///
/// # Errors
/// [`Error::Internal`] for texts that are not those of the sheet.
pub(crate) fn label_page(
    sheet: &LabelSheet,
    texts: &BlindTexts,
    rater: &RaterPage,
) -> Result<Vec<u8>> {
    let mut page = PageBuilder::new(sheet, texts);
    for on_page in &rater.items {
        page.add(on_page, &[])?;
    }
    page.finish(&rater.rater, false)
}

/// The page of the items on which raters differ, with what they said.
///
/// # Errors
/// As [`label_page`].
pub(crate) fn adjudication_page(
    sheet: &LabelSheet,
    texts: &BlindTexts,
    disputes: &[Dispute],
) -> Result<Vec<u8>> {
    let mut page = PageBuilder::new(sheet, texts);
    for dispute in disputes {
        let on_page = PageItem {
            item: dispute.item.clone(),
            swapped: false,
        };
        page.add(&on_page, &dispute.labels)?;
    }
    page.finish(ADJUDICATOR, true)
}

/// Collects the items of a page and the answers that they are about.
struct PageBuilder<'a> {
    sheet: &'a LabelSheet,
    texts: &'a BlindTexts,
    items: Vec<Value>,
    /// The answers by their index in the frame, in the order of the page.
    answers: Vec<usize>,
}

impl<'a> PageBuilder<'a> {
    fn new(sheet: &'a LabelSheet, texts: &'a BlindTexts) -> Self {
        Self {
            sheet,
            texts,
            items: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Adds an item with what was said of it.
    fn add(&mut self, on_page: &PageItem, said: &[DisputedLabel]) -> Result<()> {
        let missing = || Error::Internal(format!("item {} has no text", on_page.item));
        let item: &SheetItem = self.sheet.item(&on_page.item).ok_or_else(missing)?;
        let task: &BlindTask = self.texts.tasks.get(&item.id).ok_or_else(missing)?;
        let mut answers: Vec<usize> = Vec::new();
        for place in [Some(item.answer), item.other].into_iter().flatten() {
            answers.push(self.number_of(place));
        }
        if on_page.swapped {
            answers.reverse();
        }
        let said: Vec<Value> = said
            .iter()
            .map(|label| json!({"label": label.label, "comment": label.comment}))
            .collect();
        self.items.push(json!({
            "id": item.id,
            "answers": answers,
            "asks": task.asks,
            "text": task.text,
            "snippets": task.snippets,
            "place": task.is_about_place,
            "sources": task.sources,
            "scale": item.scale,
            "said": said,
        }));
        Ok(())
    }

    /// The number of an answer on the page.
    fn number_of(&mut self, place: usize) -> usize {
        let known = self.answers.iter().position(|answer| *answer == place);
        known.unwrap_or_else(|| {
            self.answers.push(place);
            self.answers.len() - 1
        })
    }

    /// The whole page.
    fn finish(self, rater: &str, adjudicated: bool) -> Result<Vec<u8>> {
        let core = json!({
            "sheet": self.sheet.id,
            "rater": rater,
            "adjudicated": adjudicated,
            "file": format!("labels-{}-{}.json", plain_name(rater), self.sheet.id),
            "scales": self.sheet.scales,
            "items": self.items,
        });
        let mut page = head("Labels", SCRIPT, STYLE);
        page.push_str(BODY);
        push_data(&mut page, "core", &embedded(&core)?);
        for (number, place) in self.answers.iter().enumerate() {
            let missing = || Error::Internal(format!("answer {place} has no text"));
            let answer = self.texts.answers.get(place).ok_or_else(missing)?;
            let id = format!("answer-{number}");
            push_data(&mut page, &id, &embedded(&answer_entry(answer))?);
        }
        Ok(ended(page, SCRIPT))
    }
}

/// The answer as `answer.js` reads it: offsets in the units of scripts.
fn answer_entry(answer: &BlindAnswer) -> Value {
    let text = answer.text.as_str();
    let mut cites = Vec::new();
    for citation in &answer.citations {
        let start = utf16(text, citation.start);
        let end = utf16(text, citation.end);
        cites.push(json!([start, end, citation.sources, citation.dangling]));
    }
    json!({
        "question": answer.question,
        "text": text,
        "own": answer.own_bytes.map(|start| utf16(text, start)),
        "cites": cites,
        "sources": answer.sources,
    })
}

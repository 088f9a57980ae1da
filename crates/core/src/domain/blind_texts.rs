//! The texts that raters read, without anything that says whose they are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Digest, LabelScale};

/// `texts.json`: what the pages of a sheet show. A page is made of nothing else, so that a name that is not in these texts cannot
/// be on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlindTexts {
    /// The version of the format.
    pub schema_version: u32,
    /// The id of the sheet.
    pub sheet: Digest<8>,
    /// The drawn answers, by their index in the frame.
    pub answers: BTreeMap<usize, BlindAnswer>,
    /// What is asked about an answer, by the id of the item.
    pub tasks: BTreeMap<String, BlindTask>,
}

/// An answer with its question and sources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlindAnswer {
    /// The question.
    pub question: String,
    /// The text.
    pub text: String,
    /// Length in bytes of what the system wrote, where references were appended to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_bytes: Option<usize>,
    /// The citations in the text, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<BlindCitation>,
    /// Its sources; those that are not cited have no text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<BlindSource>,
}

/// A citation in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlindCitation {
    /// Its first byte.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
    /// The cited sources, by index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<usize>,
    /// Numbers without a source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dangling: Vec<u64>,
}

/// A source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlindSource {
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What a rater is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlindTask {
    /// What is decided, in a few words: `Criterion`.
    pub asks: String,
    /// The criterion, aspect or claim.
    pub text: String,
    /// Texts that are highlighted where the answer has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snippets: Vec<String>,
    /// Whether they are highlighted at once, not on demand: the task is about this place of the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_about_place: bool,
    /// Sources of the answer, by index, that belong to the task and are shown with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<usize>,
}

impl BlindTask {
    /// Hash of what a rater reads with the answer: labels given to one text are not labels of another one. The text of the
    /// answer has its hash in the frame.
    pub fn shown(&self, answer: &BlindAnswer, scale: &LabelScale) -> Digest<16> {
        let mut texts = vec![answer.question.as_str(), &self.asks, &self.text];
        texts.extend(self.snippets.iter().map(String::as_str));
        for place in &self.sources {
            if let Some(source) = answer.sources.get(*place) {
                texts.push(source.title.as_deref().unwrap_or_default());
                texts.push(source.text.as_deref().unwrap_or_default());
            }
        }
        for level in &scale.levels {
            texts.extend([level.name.as_str(), &level.means]);
        }
        let mut hasher = blake3::Hasher::new();
        for text in texts {
            // With its length, so that a word cannot move from one text to the next.
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_of_every_text_that_is_shown_and_of_its_place() {
        let answer = BlindAnswer {
            question: "why?".to_owned(),
            sources: vec![BlindSource {
                title: None,
                text: Some("source".to_owned()),
            }],
            ..BlindAnswer::default()
        };
        let scale = LabelScale { levels: Vec::new() };
        let task = |asks: &str, text: &str, sources: &[usize]| BlindTask {
            asks: asks.to_owned(),
            text: text.to_owned(),
            sources: sources.to_vec(),
            ..BlindTask::default()
        };
        let shown = |task: BlindTask| task.shown(&answer, &scale);
        assert_eq!(shown(task("a", "bc", &[])), shown(task("a", "bc", &[])));
        assert_ne!(shown(task("a", "bc", &[])), shown(task("ab", "c", &[])));
        assert_ne!(shown(task("a", "bc", &[])), shown(task("a", "bc", &[0])));
    }
}

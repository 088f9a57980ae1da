//! Answers of a run, or single verdicts on them, that were chosen to be scored or labeled.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CaseId, Digest, Fingerprint, SystemName};

/// A draw in which every answer of a run had the same probability. The same run, seed and number of answers give the same
/// ones again, so that a draw can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RandomDraw {
    /// Answers of the run that they were drawn from.
    pub of: usize,
    /// The seed.
    pub seed: u64,
}

/// A draw of single verdicts of a run, each a component of an answer, with known probabilities: the same run, seed and number of
/// verdicts give the same ones again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictDraw {
    /// Verdicts drawn.
    pub verdicts: usize,
    /// Verdicts of the run that they were drawn from.
    pub of: usize,
    /// The seed.
    pub seed: u64,
    /// Hash of these verdicts with their probabilities.
    pub frame: Digest<8>,
}

/// The probabilities, above 0, at most 1, with which answers, or single items of them, were drawn to be labeled.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DrawProbabilities {
    /// By system and case: of the answer with all of its items.
    pub answers: HashMap<(SystemName, CaseId), f64>,
    /// By system, case and item: of this item alone.
    pub items: HashMap<(SystemName, CaseId, Arc<str>), f64>,
}

impl DrawProbabilities {
    /// The probability of a label: of the item, else of the answer; `None` if it is not known.
    pub fn of(&self, system: &SystemName, case: &CaseId, item: Option<&Arc<str>>) -> Option<f64> {
        let item = item.map(|item| (system.clone(), case.clone(), Arc::clone(item)));
        item.and_then(|item| self.items.get(&item))
            .or_else(|| self.answers.get(&(system.clone(), case.clone())))
            .copied()
    }
}

/// The answers that a run scored of those that it was given (`score --selected FILE`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerSelection {
    /// blake3 of the file that names them.
    pub blake3: Fingerprint,
    /// Their number.
    pub answers: usize,
    /// How they were drawn; `None` if not at random.
    pub drawn: Option<RandomDraw>,
    /// The draw of single verdicts, the only ones that the judge was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<VerdictDraw>,
}

impl AnswerSelection {
    /// `30 selected answers, drawn at random from 100`
    pub fn sentence(&self) -> String {
        if let Some(draw) = self.verdicts {
            return format!(
                "{} verdicts on {} answers, drawn from {}; no answer has a whole score",
                draw.verdicts, self.answers, draw.of
            );
        }
        let how = match self.drawn {
            Some(drawn) => format!("drawn at random from {}", drawn.of),
            None => "not drawn at random".to_owned(),
        };
        format!("{} selected answers, {how}", self.answers)
    }
}

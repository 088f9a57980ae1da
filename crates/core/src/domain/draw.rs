//! Answers of a run, or single verdicts on them, that were chosen to be scored or labeled.

use serde::{Deserialize, Serialize};

use super::{Digest, Fingerprint};

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

//! Answers of a run that were chosen to be scored or labeled.

use serde::{Deserialize, Serialize};

use super::Fingerprint;

/// A draw in which every answer of a run had the same probability. The same run, seed and number of answers give the same
/// ones again, so that a draw can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RandomDraw {
    /// Answers of the run that they were drawn from.
    pub of: usize,
    /// The seed.
    pub seed: u64,
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
}

impl AnswerSelection {
    /// `30 selected answers, drawn at random from 100`
    pub fn sentence(&self) -> String {
        let how = match self.drawn {
            Some(drawn) => format!("drawn at random from {}", drawn.of),
            None => "not drawn at random".to_owned(),
        };
        format!("{} selected answers, {how}", self.answers)
    }
}

//! Whole answers, alone or two side by side: what remains where a run has no parts that people can label.

use super::LabelTask;
use crate::domain::{BlindTask, LabelKind, LabelScale, LabelUnit};
use crate::runs::label::scales::{numbered, preference};

const LEVELS: [(&str, &str); 5] = [
    ("1", "useless or misleading"),
    ("2", "weak: little of what the asker needs"),
    ("3", "fair: helps, with large gaps or errors"),
    ("4", "good: small gaps or errors"),
    ("5", "excellent: all that the asker needs, and right"),
];

/// How good an answer is.
pub(super) fn answer() -> LabelTask {
    let text = "How good is this answer to the question?";
    task(
        LabelKind::Answer,
        "Whole answer",
        text,
        numbered(1, &LEVELS),
    )
}

/// Which of two answers to a question is better.
pub(crate) fn pair() -> LabelTask {
    let text = "Which answer serves the asker of the question better?";
    task(LabelKind::Pair, "Two answers", text, preference())
}

fn task(kind: LabelKind, asks: &str, text: &str, scale: LabelScale) -> LabelTask {
    LabelTask {
        unit: LabelUnit {
            kind,
            scorer: String::new(),
            name: String::new(),
        },
        task: BlindTask {
            asks: asks.to_owned(),
            text: text.to_owned(),
            ..BlindTask::default()
        },
        scale,
    }
}

//! The prediction that an answer comes from.

use std::borrow::Cow;

use crate::domain::{Answer, Prediction, TestCase};

/// The prediction of an answer: its own, else one that is nothing but what the system wrote (an appended block of
/// references left out), without sources and golds.
pub(super) fn prediction_of(answer: &Answer) -> Cow<'_, Prediction> {
    match answer.prediction.as_deref() {
        Some(prediction) if prediction.output.is_some() => Cow::Borrowed(prediction),
        Some(golds) => Cow::Owned(Prediction { output: Some(answer.own_text_shared()), ..golds.clone() }),
        None => {
            Cow::Owned(Prediction { output: Some(answer.own_text_shared()), line: answer.line, ..Default::default() })
        }
    }
}

/// The question that was answered: the prediction's, else the test case's.
pub(super) fn question_of<'a>(case: &'a TestCase, prediction: &'a Prediction) -> &'a str {
    if prediction.input.is_empty() { &case.initial_prompt } else { &prediction.input }
}

//! The prediction that an answer comes from.

use std::borrow::Cow;

use scholareval_core::domain::{Answer, Prediction, TestCase};

/// The answer's prediction, else one made from the text that the system wrote (without appended references), without
/// sources and gold answers.
pub(super) fn prediction_of(answer: &Answer) -> Cow<'_, Prediction> {
    match answer.prediction.as_deref() {
        Some(prediction) if prediction.output.is_some() => Cow::Borrowed(prediction),
        Some(golds) => Cow::Owned(Prediction {
            output: Some(answer.own_text_shared()),
            ..golds.clone()
        }),
        None => Cow::Owned(Prediction {
            output: Some(answer.own_text_shared()),
            line: answer.line,
            ..Default::default()
        }),
    }
}

/// The question: the prediction's, else the test case's.
pub(super) fn question_of<'a>(case: &'a TestCase, prediction: &'a Prediction) -> &'a str {
    if prediction.input.is_empty() {
        &case.initial_prompt
    } else {
        &prediction.input
    }
}

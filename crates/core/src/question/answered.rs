//! Questions about one answer to a question: what most kinds share.
//!
//! Such a kind is a struct with the fields `question` and `answer`, and perhaps others. Its variables begin with
//! [`QUESTION`] and [`ANSWER`], [`value`] returns their values, and [`about_answer`] writes the methods that only return
//! or replace the two texts.

use std::borrow::Cow;
use std::sync::Arc;

use super::variable::Variable;

/// The question; a prompt may leave it out.
pub(super) const QUESTION: Variable = Variable::hostile("question").shared().optional();

/// The judged answer.
pub(super) const ANSWER: Variable = Variable::hostile("response").shared();

/// The value of [`QUESTION`] or [`ANSWER`]; empty for other variables.
pub(super) fn value<'a>(
    variable: &str,
    question: &'a Arc<str>,
    answer: &'a Arc<str>,
) -> Cow<'a, str> {
    match variable {
        "question" => Cow::Borrowed(question),
        "response" => Cow::Borrowed(answer),
        _ => Cow::Borrowed(""),
    }
}

/// The methods of [`Question`](super::Question) by which this field is the judged text, and is replaced by another one.
macro_rules! judged_text {
    ($field:ident) => {
        fn judged(&self) -> &Arc<str> {
            &self.$field
        }

        fn with_judged(&self, $field: Arc<str>) -> Arc<dyn Question> {
            Arc::new(Self {
                $field,
                ..self.clone()
            })
        }
    };
}

/// [`judged_text`], for a kind whose shared texts are the question and the answer.
macro_rules! about_answer {
    () => {
        $crate::question::answered::judged_text!(answer);

        fn shared_texts(&self) -> Vec<&str> {
            vec![&*self.question, &*self.answer]
        }
    };
}

pub(super) use {about_answer, judged_text};

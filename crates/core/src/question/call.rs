//! A question to a judge, with what it is asked for.

use std::sync::Arc;

use super::interface::Question;
use crate::domain::Role;

/// One judge call of a scorer.
///
/// ```
/// use scholareval_core::domain::{JudgeReply, Mode, Role, Verdict};
/// use scholareval_core::question::{JudgeCall, Property};
///
/// let question = Property {
///     question: "Why is the sky blue?".into(),
///     answer: "Short wavelengths scatter more.".into(),
///     criterion: "The answer names Rayleigh scattering.".into(),
/// };
/// let call = JudgeCall::new("scattering", Role::Rubric, question);
/// assert_eq!((call.question.info().name, call.sample), ("property", 0));
///
/// // Whoever makes the call, the question reads the reply.
/// let reading = call.question.parse(&JudgeReply::of_text(r#"{"score": 4}"#), Mode::Default);
/// assert_eq!(reading.map(|reading| reading.verdict), Ok(Verdict::Points(4.0)));
/// ```
#[derive(Debug, Clone)]
pub struct JudgeCall {
    /// The component that the verdict is for (`expertise`, `citations`, `<name>`, `<name>_evidence`), or the first and
    /// the last criterion of several (`c1..c8`).
    pub item: Arc<str>,
    /// The judge's role.
    pub role: Role,
    /// The question.
    pub question: Arc<dyn Question>,
    /// Index of the sample, 0-based (`--samples K` asks for samples 0..K).
    pub sample: u32,
    /// Index of the judge in the role's panel, 0-based.
    pub member: u32,
    /// The item that is asked for only behind this one's verdict: whoever wants it has to ask this call first.
    pub opens: Option<Arc<str>>,
}

impl JudgeCall {
    /// The first sample of a question, from the first judge of the role: what a scorer asks for.
    pub fn new(item: impl Into<Arc<str>>, role: Role, question: impl Question) -> Self {
        Self {
            item: item.into(),
            role,
            question: Arc::new(question),
            sample: 0,
            member: 0,
            opens: None,
        }
    }

    /// The same call, behind whose verdict another item is asked for.
    #[must_use]
    pub fn opening(self, item: Option<&str>) -> Self {
        Self {
            opens: item.map(Into::into),
            ..self
        }
    }

    /// The names of the items that a reply is about: that of the call, or one for each item of a batch.
    pub fn items(&self) -> Vec<Arc<str>> {
        let items = self.question.items();
        if items.is_empty() {
            vec![Arc::clone(&self.item)]
        } else {
            items
        }
    }
}

impl PartialEq for JudgeCall {
    fn eq(&self, other: &Self) -> bool {
        self.item == other.item
            && self.role == other.role
            && self.sample == other.sample
            && self.member == other.member
            && *self.question == *other.question
    }
}

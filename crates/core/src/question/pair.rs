//! Which of two answers is better, as a whole or by one criterion?

mod form;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use super::decision::{DecisionForm, DecisionOption, DecisionQuestion, DecisionWording};
use super::interface::Question;
use super::kind::KindInfo;
use super::merging::{Sample, merge_readable, numbers_needed};
use super::reading::{Unreadable, object_schema};
use super::variable::{Insert, Variable};
use super::words::Words;
use crate::domain::{
    AnswerPreference, GradeMerge, JudgeReply, Judgment, Mode, Preference, Reading, UnscoredReason,
    Verdict,
};

pub use form::PairForm;

/// A comparison of two answers.
pub static PAIR: KindInfo = KindInfo {
    name: "pair",
    family: "pairs",
    variables: &[
        Variable::hostile("question").shared().optional(),
        Variable::hostile("response_a").shared(),
        Variable::hostile("response_b").shared(),
        // Imported prompts compare as a whole and have no place for it.
        Variable::hostile("criterion").optional(),
    ],
    // A name and a sentence.
    reply_limit: Some(300),
    forms: PairForm::NAMES,
    decided: Some(Variable::DECIDED),
    ..KindInfo::DEFAULT
};

/// What is compared where no criterion is given.
const AS_A_WHOLE: &str = "The answer as a whole: it is correct, it answers the question, and what it says is useful to the \
                          asker.";

/// Values closer than this are ties of the built-in baseline.
const BASELINE_TIE: f64 = 0.05;

/// Compares two answers to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct BetterAnswer {
    /// The question.
    pub question: Arc<str>,
    /// The answer shown first.
    pub first: Arc<str>,
    /// The answer shown second.
    pub second: Arc<str>,
    /// What is compared; `None`: the answers as a whole.
    pub criterion: Option<Arc<str>>,
    /// How the reply names the better one.
    pub form: PairForm,
}

impl Question for BetterAnswer {
    fn info(&self) -> &'static KindInfo {
        &PAIR
    }

    fn value<'a>(&'a self, variable: &str, _insert: &Insert<'_>) -> Cow<'a, str> {
        Cow::Borrowed(match variable {
            "question" => &*self.question,
            "response_a" => &*self.first,
            "response_b" => &*self.second,
            "criterion" => self.criterion.as_deref().unwrap_or(AS_A_WHOLE),
            _ => "",
        })
    }

    fn shared_texts(&self) -> Vec<&str> {
        vec![&*self.question, &*self.first, &*self.second]
    }

    /// The longer answer, which is the one to cut where both do not fit.
    fn judged(&self) -> &Arc<str> {
        if self.second.len() > self.first.len() {
            &self.second
        } else {
            &self.first
        }
    }

    fn with_judged(&self, text: Arc<str>) -> Arc<dyn Question> {
        let mut cut = self.clone();
        if self.second.len() > self.first.len() {
            cut.second = text;
        } else {
            cut.first = text;
        }
        Arc::new(cut)
    }

    fn judged_name(&self) -> &'static str {
        "longer answer"
    }

    fn schema(&self) -> Option<Value> {
        (self.form == PairForm::Winner).then(|| {
            object_schema(&json!({
                "feedback": {"type": "string"},
                "winner": {"type": "string", "enum": ["A", "B", "tie"]},
            }))
        })
    }

    fn replies_in_json(&self) -> bool {
        self.form == PairForm::Winner
    }

    fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        self.form.read(reply, mode)
    }

    fn merge(&self, samples: &[Sample], rule: GradeMerge, _mode: Mode) -> Judgment {
        merge_readable(samples, |verdicts| merged(verdicts, rule))
    }

    fn samples_needed(
        &self,
        samples: &[Sample],
        left: usize,
        rule: GradeMerge,
        _mode: Mode,
    ) -> usize {
        numbers_needed(samples, left, rule)
    }

    fn decisions(&self, wording: &dyn DecisionWording) -> Vec<Vec<DecisionQuestion>> {
        let preferences = [Preference::First, Preference::Second, Preference::Tie];
        let options = preferences.map(|preference| {
            DecisionOption::new(preference.name(), Verdict::Preference(preference.into()))
        });
        let criterion = self.criterion.as_deref().unwrap_or(AS_A_WHOLE);
        vec![vec![DecisionQuestion {
            instructions: wording.instructions(criterion, false),
            form: DecisionForm::Choice,
            options: options.into(),
            is_fault: false,
        }]]
    }

    /// Nothing is behind it.
    fn opening(&self) -> Verdict {
        Verdict::Preference(Preference::Tie.into())
    }

    /// The answer that covers more of the criterion, or of the question.
    fn baseline(&self, words: &dyn Words) -> Option<String> {
        let looked_for = self.criterion.as_ref().unwrap_or(&self.question);
        let lead =
            words.coverage(looked_for, &self.first) - words.coverage(looked_for, &self.second);
        let preference = Preference::of_difference(lead, BASELINE_TIE);
        Some(json!({"winner": preference.name()}).to_string())
    }
}

/// The merged value of two or more verdicts; strong if the first verdict with this value is.
fn merged(verdicts: &[&Verdict], rule: GradeMerge) -> Option<Verdict> {
    let mut preferences = Vec::with_capacity(verdicts.len());
    for verdict in verdicts {
        let Verdict::Preference(preference) = verdict else {
            return None;
        };
        preferences.push(*preference);
    }
    let values: Vec<f64> = preferences
        .iter()
        .map(|preference| preference.value)
        .collect();
    let value = rule.of(&values)?;
    // Of the first: later samples may not be asked for, where they cannot change the vote.
    let first = preferences
        .iter()
        .find(|preference| preference.value == value);
    let is_strong = first.is_some_and(|preference| preference.is_strong);
    Some(Verdict::Preference(AnswerPreference { value, is_strong }))
}

/// The value of a reading for the answer shown first.
///
/// # Errors
/// For a verdict of another kind.
pub fn preference(reading: &Reading) -> Result<AnswerPreference, UnscoredReason> {
    match &reading.verdict {
        Verdict::Preference(preference) => Ok(*preference),
        _ => Err(UnscoredReason::other_kind()),
    }
}

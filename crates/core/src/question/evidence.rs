//! How many of a criterion's snippets does the answer contain?
//!
//! The second question about a criterion of ScholarQA-CS: it is asked only when the criterion itself earned something
//! (see the scorer `rubric`). The judge is shown the numbered snippets and replies with a count.
//!
//! ```
//! use scholareval_core::domain::{JudgeReply, Mode};
//! use scholareval_core::question::{Question, SnippetEvidence};
//!
//! let question = SnippetEvidence {
//!     question: "Why is the sky blue?".into(),
//!     answer: "Rayleigh scattering ..".into(),
//!     snippets: ["a".to_owned(), "b".to_owned()].into(),
//! };
//! let reading = question.read(&JudgeReply::of_text(r#"{"score": 1}"#), Mode::Default)?;
//! assert_eq!(reading.verdict.number(), Some(1.0));
//! # Ok::<(), scholareval_core::domain::UnscoredReason>(())
//! ```

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::{Value, json};

use super::answered::{self, ANSWER, QUESTION, about_answer};
use super::compat;
use super::decision::{DecisionForm, DecisionOption, DecisionQuestion, DecisionWording};
use super::interface::Question;
use super::kind::KindInfo;
use super::merging::{Sample, merge_numbers, numbers_needed};
use super::reading::{self, Unreadable};
use super::variable::{Insert, Variable};
use super::words::Words;
use crate::domain::{
    Belief, GradeMerge, JudgeReply, Judgment, Mode, Reading, ScoreLocation, Verdict,
};

/// Counts of snippets.
pub static EVIDENCE: KindInfo = KindInfo {
    name: "evidence",
    family: "rubric",
    variables: &[
        QUESTION,
        ANSWER,
        Variable::hostile("snippets"),
        Variable::plain("snippet_count").optional(),
    ],
    reply_limit: Some(100),
    decided: Some(Variable::DECIDED),
    ..KindInfo::DEFAULT
};

/// Counts the snippets that are partly or wholly present in the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct SnippetEvidence {
    /// The question.
    pub question: Arc<str>,
    /// The answer.
    pub answer: Arc<str>,
    /// The snippets, in file order; never empty.
    pub snippets: Arc<[String]>,
}

impl Question for SnippetEvidence {
    about_answer!();

    fn info(&self) -> &'static KindInfo {
        &EVIDENCE
    }

    fn value<'a>(&'a self, variable: &str, insert: &Insert<'_>) -> Cow<'a, str> {
        match variable {
            "snippets" => Cow::Owned(self.numbered_snippets(insert)),
            "snippet_count" => Cow::Owned(self.snippets.len().to_string()),
            _ => answered::value(variable, &self.question, &self.answer),
        }
    }

    fn schema(&self) -> Option<Value> {
        let score = json!({"score": {"type": "integer"}});
        Some(reading::object_schema(&score))
    }

    /// Reads the count.
    ///
    /// A count above the number of snippets is capped here, before samples are merged: otherwise one sample's overcount
    /// could make up for a snippet that another sample missed.
    fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        if mode == Mode::Compat {
            // The script divides before it caps, so that a count that overflows the division raises there.
            let count = compat::score(&reply.content, self.snippets.len() as f64)?;
            return Ok(self.counted(count));
        }
        let object = reading::object(reply)?;
        let count = non_negative(reading::score(&object)?)?;
        Ok(self
            .counted(count)
            .with_feedback(reading::feedback(&object)))
    }

    fn merge(&self, samples: &[Sample], rule: GradeMerge, _mode: Mode) -> Judgment {
        merge_numbers(samples, rule, Verdict::Count)
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

    fn expected(&self) -> Option<(ScoreLocation, RangeInclusive<u32>)> {
        let all = u32::try_from(self.snippets.len()).unwrap_or(u32::MAX);
        Some((ScoreLocation::JsonScore, 0..=all))
    }

    /// A statement a snippet.
    fn decisions(&self, wording: &dyn DecisionWording) -> Vec<Vec<DecisionQuestion>> {
        let mut decisions = Vec::new();
        for snippet in &*self.snippets {
            decisions.push(DecisionQuestion {
                instructions: wording.instructions(snippet, false),
                form: DecisionForm::Predicate,
                options: vec![
                    DecisionOption::new("absent", Verdict::Count(0.0)),
                    DecisionOption::new("present", Verdict::Count(1.0)),
                ],
                is_fault: false,
            });
        }
        vec![decisions]
    }

    /// The number of snippets that are present. Without a verdict on one of them there is none.
    fn decided(&self, parts: Vec<Judgment>) -> Judgment {
        let mut count = 0.0;
        let mut beliefs = Vec::new();
        for part in parts {
            let reading = part?;
            count += reading.verdict.number().unwrap_or_default();
            beliefs.push(reading.belief);
        }
        let beliefs: Option<Vec<Belief>> = beliefs.into_iter().collect();
        Ok(Reading {
            belief: beliefs.map(Belief::of_sum),
            ..Reading::new(Verdict::Count(count))
        })
    }

    fn opening(&self) -> Verdict {
        Verdict::Count(1.0)
    }

    fn baseline(&self, words: &dyn Words) -> Option<String> {
        let present = self
            .snippets
            .iter()
            .filter(|snippet| words.has_snippet(snippet, &self.answer));
        Some(format!("{{\"score\": {}}}", present.count()))
    }
}

impl SnippetEvidence {
    /// The verdict for this count, which is at most the number of snippets.
    fn counted(&self, count: f64) -> Reading {
        let all = self.snippets.len() as f64;
        // Not `count.min(all)`: NaN, which compat mode passes on, would become `all`.
        let capped = if count > all { all } else { count };
        Reading::new(Verdict::Count(capped))
    }

    /// The snippets as a numbered list, from 1.
    fn numbered_snippets(&self, insert: &Insert<'_>) -> String {
        let mut list = String::new();
        for (number, snippet) in (1..).zip(&*self.snippets) {
            if number > 1 {
                list.push('\n');
            }
            // Writing to a String cannot fail.
            let _ = write!(list, "{number}. {}", insert.on_one_line(snippet));
        }
        list
    }
}

fn non_negative(count: f64) -> Result<f64, Unreadable> {
    if count < 0.0 {
        return Err(Unreadable::new(format!("count {count} is negative")));
    }
    if count.is_infinite() {
        return Err(Unreadable::new("count is infinite"));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, mode: Mode) -> Result<Verdict, String> {
        let question = SnippetEvidence {
            question: "q".into(),
            answer: "a".into(),
            snippets: ["s", "t", "u"].map(str::to_owned).into(),
        };
        match question.read(&JudgeReply::of_text(text), mode) {
            Ok(reading) => Ok(reading.verdict),
            Err(unreadable) => Err(unreadable.what),
        }
    }

    #[test]
    fn a_count_above_the_snippets_counts_as_all_of_them() {
        for (count, expected) in [("0", 0.0), ("1.5", 1.5), ("3", 3.0), ("4", 3.0)] {
            let reply = format!("{{\"score\": {count}}}");
            let verdict = read(&reply, Mode::Default);
            assert_eq!(verdict, Ok(Verdict::Count(expected)), "{count}");
        }
    }

    #[test]
    fn no_count_is_negative_or_infinite_but_the_reference_takes_it() {
        for (count, what) in [
            ("-1", "count -1 is negative"),
            ("-Infinity", "count -inf is negative"),
            ("Infinity", "count is infinite"),
        ] {
            let reply = format!("{{\"score\": {count}}}");
            assert_eq!(read(&reply, Mode::Default), Err(what.to_owned()));
        }
        let compat = read("{\"score\": -3}", Mode::Compat);
        assert_eq!(compat, Ok(Verdict::Count(-3.0)));
    }
}

//! Does a source support a claim? A label (AttrScore, AutoAIS).
//!
//! Source of compat: the comparison with the literal label in ScholarQABench's `citation_correctness_eval.py` (95e6fc5).

use std::borrow::Cow;
use std::sync::Arc;

use super::answered::judged_text;
use super::decision::{DecisionForm, DecisionOption, DecisionQuestion, DecisionWording};
use super::interface::Question;
use super::kind::{KindInfo, ReplyKind};
use super::merging::{Sample, counts_needed, merge_readable, readable_verdicts};
use super::reading::{Unreadable, quoted};
use super::variable::{Insert, Variable};
use crate::domain::{
    Attribution, GradeMerge, JudgeReply, Judgment, Mode, Reading, Verdict, after_thinking,
};

/// Labels of support.
pub static ATTRIBUTION: KindInfo = KindInfo {
    name: "attribution",
    family: "attribution",
    variables: &[
        Variable::hostile("document").shared(),
        Variable::hostile("claim"),
    ],
    reply: ReplyKind::Label,
    reply_limit: Some(100),
    decided: Some(Variable::HOSTILE_DECIDED.in_section("claim")),
    ..KindInfo::DEFAULT
};

/// Words that negate the label after them.
const NEGATIONS: [&str; 9] = [
    "not", "no", "never", "neither", "nor", "cannot", "hardly", "isn't", "isn’t",
];

/// Decides whether a document supports a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceSupport {
    /// The claim.
    pub claim: Arc<str>,
    /// The document, or several joined by line feeds.
    pub document: Arc<str>,
}

impl Question for SourceSupport {
    fn info(&self) -> &'static KindInfo {
        &ATTRIBUTION
    }

    fn value<'a>(&'a self, variable: &str, _insert: &Insert<'_>) -> Cow<'a, str> {
        match variable {
            "document" => Cow::Borrowed(&self.document),
            "claim" => Cow::Borrowed(&self.claim),
            _ => Cow::Borrowed(""),
        }
    }

    fn shared_texts(&self) -> Vec<&str> {
        vec![&self.document]
    }

    // The claim stays whole.
    judged_text!(document);

    fn judged_name(&self) -> &'static str {
        "document"
    }

    /// Reads a label.
    ///
    /// Default: the whole reply is a label (any case, quotes and punctuation around it), else the last line with exactly
    /// one label as a whole word decides, unless negated there. The rest is feedback. A reply cut at the token limit is not
    /// parsed. Compat: only the literal `Attributable` is support; anything but a literal label counts as `Extrapolatory`,
    /// which is all the reference checks.
    fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        if mode == Mode::Compat {
            let literal = Attribution::ALL
                .into_iter()
                .find(|label| label.as_str() == reply.content);
            let label = literal.unwrap_or(Attribution::Extrapolatory);
            return Ok(Reading::new(Verdict::Attribution(label)));
        }
        if reply.is_cut() {
            return Err(Unreadable::cut(reply));
        }
        let text = after_thinking(&reply.content).map_err(Unreadable::new)?;
        let bare = text.trim_matches(is_edge_of_label);
        match label_of(bare) {
            Some(label) => Ok(Reading::new(Verdict::Attribution(label))),
            None => label_in_a_line(text),
        }
    }

    /// The most common label; on a tie, one that is not support.
    fn merge(&self, samples: &[Sample], _rule: GradeMerge, _mode: Mode) -> Judgment {
        merge_readable(samples, |verdicts| {
            most_common_label(verdicts).map(Verdict::Attribution)
        })
    }

    fn samples_needed(
        &self,
        samples: &[Sample],
        left: usize,
        _rule: GradeMerge,
        _mode: Mode,
    ) -> usize {
        let verdicts = readable_verdicts(samples);
        counts_needed(&BY_PRECEDENCE.map(|label| count(label, &verdicts)), left)
    }

    fn decisions(&self, wording: &dyn DecisionWording) -> Vec<Vec<DecisionQuestion>> {
        let labels = Attribution::ALL.into_iter();
        let options =
            labels.map(|label| DecisionOption::new(label.as_str(), Verdict::Attribution(label)));
        vec![vec![DecisionQuestion {
            instructions: wording.instructions(&self.claim, false),
            form: DecisionForm::Choice,
            options: options.collect(),
            is_fault: false,
        }]]
    }

    fn opening(&self) -> Verdict {
        Verdict::Attribution(Attribution::Attributable)
    }
}

/// Which of equally common labels counts, first to last. A tie does not count as support: the majority of samples must give it.
const BY_PRECEDENCE: [Attribution; 3] = [
    Attribution::Extrapolatory,
    Attribution::Contradictory,
    Attribution::Attributable,
];

fn most_common_label(verdicts: &[&Verdict]) -> Option<Attribution> {
    // `max_by_key` returns the last of equals, so the order is reversed.
    BY_PRECEDENCE
        .into_iter()
        .rev()
        .max_by_key(|label| count(*label, verdicts))
}

fn count(label: Attribution, verdicts: &[&Verdict]) -> usize {
    let verdict_of_label = Verdict::Attribution(label);
    verdicts
        .iter()
        .filter(|verdict| ***verdict == verdict_of_label)
        .count()
}

/// What may stand around a label: white space, quotes and punctuation.
fn is_edge_of_label(c: char) -> bool {
    c.is_whitespace() || c.is_ascii_punctuation() || "“”‘’«»。".contains(c)
}

/// The label of the last line with exactly one.
fn label_in_a_line(text: &str) -> Result<Reading, Unreadable> {
    let mut end = text.len();
    for line in text.rsplit('\n') {
        let start = end - line.len();
        if let Some((label, negated)) = only_label(line) {
            if negated {
                return Err(Unreadable::new(format!(
                    "\"{}\" denies a label instead of giving one",
                    quoted(line.trim())
                )));
            }
            // The text around the label: of a one-line reply all of it, else the other lines.
            let others = format!("{}\n{}", text[..start].trim(), text[end..].trim());
            let others = if others.trim().is_empty() {
                line
            } else {
                &others
            };
            let feedback = Some(others.trim().to_owned());
            return Ok(Reading::new(Verdict::Attribution(label)).with_feedback(feedback));
        }
        end = start.saturating_sub(1);
    }
    Err(Unreadable::new(format!(
        "\"{}\" contains no label (Attributable, Extrapolatory, Contradictory)",
        quoted(text)
    )))
}

fn label_of(word: &str) -> Option<Attribution> {
    Attribution::ALL
        .into_iter()
        .find(|label| label.as_str().eq_ignore_ascii_case(word))
}

/// What separates words: hyphens and apostrophes do not, so that `non-attributable` is not a label.
fn is_between_words(c: char) -> bool {
    !(c.is_alphanumeric() || matches!(c, '-' | '\'' | '’'))
}

/// The label of a line with exactly one, and whether the word before negates it.
fn only_label(line: &str) -> Option<(Attribution, bool)> {
    let words: Vec<&str> = line
        .split(is_between_words)
        .map(|word| word.trim_matches(['-', '\'', '’']))
        .filter(|word| !word.is_empty())
        .collect();
    let mut labels = words
        .iter()
        .enumerate()
        .filter_map(|(at, word)| Some((at, label_of(word)?)));
    let (at, label) = labels.next()?;
    // A line with several labels weighs them; which one it means is not said.
    if labels.next().is_some() {
        return None;
    }
    let before = at.checked_sub(1).and_then(|before| words.get(before));
    Some((
        label,
        before.is_some_and(|word| {
            NEGATIONS
                .iter()
                .any(|negation| word.eq_ignore_ascii_case(negation))
        }),
    ))
}

#[cfg(test)]
mod tests;

//! How good is the answer in one aspect? A grade 1-5 with feedback (Prometheus).
//!
//! A reply ends in the grade: `Feedback: .. [RESULT] n`. Source of compat: `get_grading_dict` and `extract_score` of
//! ScholarQABench's `prometheus_eval.py` (95e6fc5).

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::answered::judged_text;
use super::decision::{DecisionForm, DecisionOption, DecisionQuestion, DecisionWording};
use super::interface::Question;
use super::kind::{KindInfo, ReplyKind};
use super::merging::{Sample, merge_numbers, numbers_needed, values_needed};
use super::reading::{Unreadable, quoted};
use super::variable::{Insert, Presence, Variable};
use crate::domain::python_json::MAX_INT_DIGITS;
use crate::domain::{
    Aspect, GradeMerge, JudgeReply, Judgment, MAX_GRADE, Mode, RESULT, Reading, ScoreLocation,
    UnscoredKind, UnscoredReason, Verdict, after_thinking, last_result,
};
use crate::text::citation_markers::is_dash;
use crate::text::python_chars::{decimal_digit, is_python_whitespace};

/// The form with a reference answer.
const WITH_REFERENCE: &str = "with_reference";
/// The form without one.
const WITHOUT_REFERENCE: &str = "without_reference";
/// The whole rubric of an aspect, which verbatim prompts may write in pieces.
const RUBRIC: &str = "score_rubric";

/// Grades in one aspect.
pub static ASPECT: KindInfo = KindInfo {
    name: "aspect",
    family: "aspect",
    parts: &[WITH_REFERENCE, WITHOUT_REFERENCE],
    variables: &[
        Variable::hostile("instruction").shared(),
        Variable::hostile("response").shared(),
        Variable::hostile(RUBRIC).in_section("rubric"),
        Variable::hostile("reference_answer")
            .shared()
            .in_section("reference")
            .only(Presence::InPart(WITH_REFERENCE)),
        Variable::hostile("criteria_description").only(Presence::PieceOf(RUBRIC)),
        Variable::hostile(GRADE_VARIABLES[0]).only(Presence::PieceOf(RUBRIC)),
        Variable::hostile(GRADE_VARIABLES[1]).only(Presence::PieceOf(RUBRIC)),
        Variable::hostile(GRADE_VARIABLES[2]).only(Presence::PieceOf(RUBRIC)),
        Variable::hostile(GRADE_VARIABLES[3]).only(Presence::PieceOf(RUBRIC)),
        Variable::hostile(GRADE_VARIABLES[4]).only(Presence::PieceOf(RUBRIC)),
    ],
    reply: ReplyKind::Text,
    // As published for Prometheus (ScholarQABench, `prometheus_eval.py`).
    reply_limit: Some(512),
    decided: Some(Variable::DECIDED),
    ..KindInfo::DEFAULT
};

/// The descriptions of the grades 1 to 5.
const GRADE_VARIABLES: [&str; 5] = [
    "score1_description",
    "score2_description",
    "score3_description",
    "score4_description",
    "score5_description",
];

/// The reference's marker.
const REFERENCE_MARKER: &str = "[RESULT] ";
/// Where the reference starts without a marker: its search gives -1, to which it adds the marker's length.
const WITHOUT_MARKER: usize = REFERENCE_MARKER.len() - 1;

/// Grades the answer 1-5 in one aspect.
#[derive(Debug, Clone, PartialEq)]
pub struct AspectGrade {
    /// The aspect with its five descriptions.
    pub aspect: Arc<Aspect>,
    /// Text before the question (`--instruction`); may be empty.
    pub instruction: Arc<str>,
    /// The question.
    pub question: Arc<str>,
    /// The answer, with the titles or texts of its sources appended if the aspect needs them.
    pub answer: Arc<str>,
    /// An answer of grade 5, if available.
    pub reference: Option<Arc<str>>,
}

impl Question for AspectGrade {
    judged_text!(answer);

    fn info(&self) -> &'static KindInfo {
        &ASPECT
    }

    fn part(&self) -> &'static str {
        if self.reference.is_some() {
            WITH_REFERENCE
        } else {
            WITHOUT_REFERENCE
        }
    }

    fn value<'a>(&'a self, variable: &str, insert: &Insert<'_>) -> Cow<'a, str> {
        match variable {
            "instruction" => self.instructed_question(insert),
            "response" => Cow::Borrowed(&self.answer),
            RUBRIC => Cow::Owned(self.rubric(insert)),
            "reference_answer" => Cow::Borrowed(self.reference.as_deref().unwrap_or_default()),
            "criteria_description" => Cow::Borrowed(&self.aspect.criteria_description),
            grade => Cow::Borrowed(self.description(grade)),
        }
    }

    fn shared_texts(&self) -> Vec<&str> {
        let mut texts: Vec<&str> = vec![&self.instruction, &self.question, &self.answer];
        texts.extend(self.reference.as_deref());
        texts
    }

    /// Reads a grade, 1..=5.
    ///
    /// Default: after the last `[RESULT]` (any case), perhaps the scale in brackets as in `(1-5):`, and `(` or `[`, one digit
    /// 1-5 that no other number of its line belongs to. The text before is the feedback. In a reply cut at the token limit,
    /// a grade counts only if more text follows: `1` may be the beginning of `10`. Compat: as in [`reference_score`],
    /// feedback included; what it drops is unreadable and not asked again.
    fn read(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        if mode == Mode::Compat {
            let read = reference_score(&reply.content);
            let Some(grade) = grade_of(&read.text) else {
                return Err(Unreadable {
                    what: format!("the reference drops \"{}\"", quoted(&read.text)),
                    ask_again: false,
                    kind: UnscoredKind::Unreadable,
                });
            };
            let feedback = Some(read.feedback.to_owned());
            return Ok(Reading::new(Verdict::Grade(grade)).with_feedback(feedback));
        }
        let found = found(&reply.content);
        // `4 or` may go on with another number.
        let rest = found.as_ref().map_or("", |(_, _, rest)| rest);
        if reply.is_cut() && rest.chars().filter(|c| c.is_alphabetic()).count() < 3 {
            return Err(Unreadable::cut(reply));
        }
        let (grade, feedback, _) = found.map_err(Unreadable::new)?;
        Ok(Reading::new(Verdict::Grade(grade)).with_feedback(feedback))
    }

    /// The reference merges the stored texts of the grades.
    fn merges_texts(&self, mode: Mode) -> bool {
        mode == Mode::Compat
    }

    fn merge(&self, samples: &[Sample], rule: GradeMerge, mode: Mode) -> Judgment {
        if self.merges_texts(mode) && samples.len() > 1 {
            return merge_texts(samples, rule);
        }
        merge_numbers(samples, rule, Verdict::Grade)
    }

    fn samples_needed(
        &self,
        samples: &[Sample],
        left: usize,
        rule: GradeMerge,
        mode: Mode,
    ) -> usize {
        if self.merges_texts(mode) {
            // The only rule of the reference, which votes by text whatever can be read.
            return values_needed(&reference_texts(samples), left);
        }
        numbers_needed(samples, left, rule)
    }

    fn expected(&self) -> Option<(ScoreLocation, RangeInclusive<u32>)> {
        Some((ScoreLocation::AfterResult, 1..=5))
    }

    /// A scale of the five descriptions.
    fn decisions(&self, wording: &dyn DecisionWording) -> Vec<Vec<DecisionQuestion>> {
        let mut options = Vec::new();
        for (grade, description) in (1_u32..).zip(&self.aspect.score_descriptions) {
            let option = DecisionOption::new(grade.to_string(), Verdict::Grade(grade.into()));
            options.push(option.meaning(description));
        }
        vec![vec![DecisionQuestion {
            instructions: wording.instructions(&self.aspect.criteria_description, false),
            form: DecisionForm::Score,
            options,
            is_fault: false,
        }]]
    }

    fn opening(&self) -> Verdict {
        Verdict::Grade(MAX_GRADE)
    }
}

impl AspectGrade {
    /// The question behind its instruction. Without an instruction only the published script's space precedes it.
    fn instructed_question(&self, insert: &Insert<'_>) -> Cow<'_, str> {
        if insert.is_delimited && self.instruction.is_empty() {
            return Cow::Borrowed(&self.question);
        }
        Cow::Owned(format!("{} {}", self.instruction, self.question))
    }

    /// The aspect and the descriptions of its grades, a line each.
    fn rubric(&self, insert: &Insert<'_>) -> String {
        let aspect = &self.aspect;
        let mut rubric = format!("[{}]", insert.on_one_line(&aspect.criteria_description));
        for (grade, description) in (1..).zip(&aspect.score_descriptions) {
            let description = insert.on_one_line(description);
            rubric.push_str(&format!("\nScore {grade}: {description}"));
        }
        rubric
    }

    /// The description of the grade with this variable; empty for other variables.
    fn description(&self, variable: &str) -> &str {
        let grades = GRADE_VARIABLES.iter().zip(&self.aspect.score_descriptions);
        for (name, description) in grades {
            if *name == variable {
                return description;
            }
        }
        ""
    }
}

/// The grade that the reference computes from several replies to one question (its self-consistency).
fn merge_texts(samples: &[Sample], rule: GradeMerge) -> Judgment {
    if rule != GradeMerge::MostCommon {
        let what = "the reference script merges samples by the most common text only";
        return Err(UnscoredReason::new(UnscoredKind::Exception, what));
    }
    // A run in default mode may have stopped before the texts decide; without the rest there is no vote by text.
    let reasons = samples
        .iter()
        .filter_map(|sample| sample.judgment.as_ref().err());
    for reason in reasons {
        if reason.kind == UnscoredKind::NeedsOtherCalls {
            return Err(reason.clone());
        }
    }
    match grade_by_texts(&reference_texts(samples)) {
        Some(grade) => Ok(Reading::new(Verdict::Grade(grade))),
        None => Err(UnscoredReason::new(
            UnscoredKind::Unreadable,
            "no grade of 1 to 5",
        )),
    }
}

/// The grade, the feedback before it, and the text after it.
fn found(content: &str) -> Result<(f64, Option<String>, &str), String> {
    let text = after_thinking(content)?;
    let Some((at, behind)) = last_result(text) else {
        return Err(format!("no {RESULT} in the reply"));
    };
    let Some((grade, rest)) = leading_grade(behind) else {
        let start = quoted(behind.trim_end());
        return Err(format!(
            "behind {RESULT} stands \"{start}\", not a grade 1 to 5"
        ));
    };
    Ok((grade, feedback(&text[..at]), rest))
}

/// The grade that a text begins with, and the text after it. `12`, `1.5` and `3-4` are not grades.
fn leading_grade(text: &str) -> Option<(f64, &str)> {
    let digit = text.chars().next().filter(|c| matches!(c, '1'..='5'))?;
    let rest = &text[digit.len_utf8()..];
    if names_another(rest) {
        return None;
    }
    let grade = f64::from(digit.to_digit(10)?);
    Some((grade, rest))
}

/// The grades as words.
const NUMBERS: [&str; 5] = ["one", "two", "three", "four", "five"];

/// Whether the line goes on behind a digit so that another number belongs to it, as in `12`, `1.5`, `3-4`, `4 or 5` and `4,5`,
/// or so that it is none of the scale, as in `4/10`. A full stop may end a sentence, and `4/5` names the scale.
fn names_another(rest: &str) -> bool {
    let (line, below) = rest.split_once('\n').unwrap_or((rest, ""));
    if line.trim_start_matches('.').starts_with(char::is_numeric) {
        return true;
    }
    let mut bare = line.to_ascii_lowercase();
    // Behind `4,` a line with a number only.
    let next = below.trim_start().lines().next().unwrap_or_default();
    if line.trim_end().ends_with(is_between_numbers) && !next.contains(char::is_alphabetic) {
        bare.push_str(next);
    }
    bare.retain(|c| !c.is_whitespace() && !"()[]*_`\"'“”‘’".contains(c));
    let mut behind: &str = &bare;
    for scale in ["/5", "outof5", "of5"] {
        behind = behind.strip_prefix(scale).unwrap_or(behind);
    }
    behind = behind.trim_start_matches(is_between_numbers);
    for word in ["or", "to", "through"] {
        let number = behind.strip_prefix(word);
        if number.is_some_and(|number| NUMBERS.iter().any(|name| number.starts_with(name))) {
            return true;
        }
        behind = number.unwrap_or(behind);
    }
    for word in ["and", "outof", "of"] {
        behind = behind.strip_prefix(word).unwrap_or(behind);
    }
    behind.starts_with(char::is_numeric)
}

/// Whether the character stands between two numbers: every dash, an arrow, a tilde, a comma, a semicolon, a slash.
fn is_between_numbers(c: char) -> bool {
    is_dash(c) || "﹘﹣〜～>→~…,，、;；&/".contains(c)
}

/// The judge's text before its grade, without the heading; `None` if empty.
fn feedback(before: &str) -> Option<String> {
    const HEADING: &str = "feedback:";
    let text = before.trim().trim_start_matches('#').trim_start();
    let headed = text
        .get(..HEADING.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(HEADING));
    let text = if headed {
        text[HEADING.len()..].trim_start()
    } else {
        before.trim()
    };
    (!text.is_empty()).then(|| text.to_owned())
}

/// The reference's parse of an aspect judge's reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceScore<'a> {
    /// The stored score: any text.
    pub text: String,
    /// The stored feedback.
    pub feedback: &'a str,
}

/// Reads a reply as `get_grading_dict` does: the line after the *first* `[RESULT] `, or, without one, after the
/// first 8 characters; if that is not an integer, the number of `the overall score is (\d+)` in the feedback, which is
/// what follows the first `Feedback: ` or, without one, everything.
///
/// ```
/// use scholareval_core::question::reference_score;
/// assert_eq!(reference_score("Feedback: Good. [RESULT] 3\nMore").text, "3");
/// assert_eq!(reference_score("Rating: 4").text, "4");
/// ```
pub fn reference_score(content: &str) -> ReferenceScore<'_> {
    const HEADING: &str = "Feedback: ";
    let behind = match content.find(REFERENCE_MARKER) {
        Some(at) => &content[at + REFERENCE_MARKER.len()..],
        None => content
            .char_indices()
            .nth(WITHOUT_MARKER)
            .map_or("", |(at, _)| &content[at..]),
    };
    let line = behind.split('\n').next().unwrap_or_default();
    let feedback = content
        .find(HEADING)
        .map_or(content, |at| &content[at + HEADING.len()..]);
    let text = match python_int(line) {
        Some(_) => line,
        None => overall_score(feedback).unwrap_or(line),
    };
    ReferenceScore {
        text: text.to_owned(),
        feedback,
    }
}

/// The digits of the first `the overall score is (\d+)`.
fn overall_score(feedback: &str) -> Option<&str> {
    const PHRASE: &str = "the overall score is ";
    feedback.match_indices(PHRASE).find_map(|(at, phrase)| {
        let behind = &feedback[at + phrase.len()..];
        let digits = &behind[..behind
            .find(|c| decimal_digit(c).is_none())
            .unwrap_or(behind.len())];
        (!digits.is_empty()).then_some(digits)
    })
}

/// Python's `int(text)`: surrounding white space, a sign, digits of any script with single underscores between them.
fn python_int(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_python_whitespace);
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut value = String::with_capacity(digits.len());
    for part in digits.split('_') {
        let before = value.len();
        for c in part.chars() {
            value.push(char::from(b'0' + decimal_digit(c)?));
        }
        if value.len() == before {
            return None;
        }
    }
    if value.len() > MAX_INT_DIGITS {
        None
    } else {
        value.parse().ok().map(|value: f64| sign * value)
    }
}

/// The grade that `extract_score` reads from a stored score: only an exact digit 1-5 counts.
fn grade_of(text: &str) -> Option<f64> {
    match text.as_bytes() {
        [digit @ b'1'..=b'5'] => Some(f64::from(digit - b'0')),
        _ => None,
    }
}

/// Merges the replies of several samples as the reference's self-consistency does: by the most common *text* (ties take
/// the first seen), of which only 1..5 is a grade. Its merge by mean raises an exception, so that there is no number to
/// compare with.
pub fn merge_as_reference(replies: &[&str]) -> Option<f64> {
    let texts: Vec<String> = replies
        .iter()
        .map(|reply| reference_score(reply).text)
        .collect();
    grade_by_texts(&texts)
}

/// The texts that the reference takes for grades, of the samples with a reply.
fn reference_texts(samples: &[Sample]) -> Vec<String> {
    let replies = samples.iter().filter_map(|sample| sample.text.as_deref());
    replies.map(|reply| reference_score(reply).text).collect()
}

/// The grade that the most common text is.
fn grade_by_texts(texts: &[String]) -> Option<f64> {
    // `max_by_key` returns the last of equals, so the order is reversed.
    let most_common = texts
        .iter()
        .rev()
        .max_by_key(|text| texts.iter().filter(|other| other == text).count())?;
    grade_of(most_common)
}

#[cfg(test)]
mod tests;

//! Parses replies that end in a grade (`Feedback: .. [RESULT] n`, Prometheus) or are a label (AttrScore).
//!
//! Source of compat: `get_grading_dict` and `extract_score` of ScholarQABench's `prometheus_eval.py`, and the
//! comparison with the literal label in its `citation_correctness_eval.py` (95e6fc5).

use super::judge_reply::{after_thinking, quoted};
use super::python_json::MAX_INT_DIGITS;
use super::{Attribution, JudgeReply, Mode, Reading, Unreadable, UnscoredKind, Verdict};
use crate::text::python_chars::{decimal_digit, is_python_whitespace};

/// Marker before a grade.
const MARKER: &str = "[RESULT]";
/// The reference's marker.
const REFERENCE_MARKER: &str = "[RESULT] ";
/// Where the reference starts without a marker: its search gives -1, to which it adds the marker's length.
const WITHOUT_MARKER: usize = REFERENCE_MARKER.len() - 1;
/// Words that negate the label after them.
const NEGATIONS: [&str; 9] = [
    "not", "no", "never", "neither", "nor", "cannot", "hardly", "isn't", "isn’t",
];

/// Parses a grade, 1..=5.
///
/// Default: after the last `[RESULT]` (any case), optional white space and `(` or `[`, then one digit 1-5 not followed
/// by a digit or by a full stop and a digit. The text before is the feedback. In a reply cut at the token limit, a
/// grade counts only if more text follows: `1` may be the beginning of `10`. Compat: as in [`reference_score`],
/// feedback included; what it drops is unreadable and not asked again.
pub(super) fn grade(reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
    if mode == Mode::Compat {
        let read = reference_score(&reply.content);
        return match grade_of(&read.text) {
            Some(grade) => Ok(Reading {
                verdict: Verdict::Grade(grade),
                feedback: Some(read.feedback.to_owned()),
            }),
            None => Err(Unreadable {
                what: format!("the reference drops \"{}\"", quoted(&read.text)),
                ask_again: false,
                kind: UnscoredKind::Unreadable,
            }),
        };
    }
    match found(&reply.content) {
        Ok((_, _, "" | ".")) | Err(_) if reply.is_cut() => Err(Unreadable::cut(reply)),
        Ok((grade, feedback, _)) => Ok(Reading {
            verdict: Verdict::Grade(grade),
            feedback,
        }),
        Err(what) => Err(Unreadable::new(what)),
    }
}

/// The grade, the feedback before it, and the text after it.
fn found(content: &str) -> Result<(f64, Option<String>, &str), String> {
    let text = after_thinking(content)?;
    let Some(at) = last_marker(text) else {
        return Err(format!("no {MARKER} in the reply"));
    };
    let behind = text[at + MARKER.len()..].trim_start();
    let inner = behind.strip_prefix(['(', '[']).unwrap_or(behind);
    let no_grade = || {
        format!(
            "behind {MARKER} stands \"{}\", not a grade 1 to 5",
            quoted(behind.trim_end())
        )
    };
    let digit = inner
        .chars()
        .next()
        .filter(|c| matches!(c, '1'..='5'))
        .ok_or_else(no_grade)?;
    let rest = &inner[digit.len_utf8()..];
    if rest
        .strip_prefix('.')
        .unwrap_or(rest)
        .starts_with(|c: char| c.is_ascii_digit())
    {
        return Err(no_grade());
    }
    let grade = f64::from(digit.to_digit(10).unwrap_or_default());
    Ok((grade, feedback(&text[..at]), rest))
}

/// Start of the last marker, in any case.
fn last_marker(text: &str) -> Option<usize> {
    let is_marker = |at: &usize| {
        text.as_bytes()[*at..]
            .get(..MARKER.len())
            .is_some_and(|b| b.eq_ignore_ascii_case(MARKER.as_bytes()))
    };
    // A marker is ASCII, so it starts at a character boundary.
    text.rmatch_indices('[').map(|(at, _)| at).find(is_marker)
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
/// use scholareval::domain::reference_score;
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
    let count = |text: &String| texts.iter().filter(|other| *other == text).count();
    // `max_by_key` returns the last of equals, so the order is reversed.
    texts
        .iter()
        .rev()
        .max_by_key(|text| count(text))
        .and_then(|text| grade_of(text))
}

/// Parses a label.
///
/// Default: the whole reply is a label (any case, quotes and punctuation around it), else the last line with exactly
/// one label as a whole word decides, unless negated there. The rest is feedback. A reply cut at the token limit is not
/// parsed. Compat: only the literal `Attributable` is support; anything but a literal label counts as `Extrapolatory`,
/// which is all the reference checks.
pub(super) fn label(reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
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
    let bare = text.trim_matches(|c: char| {
        c.is_whitespace() || (c.is_ascii_punctuation() || "“”‘’«»。".contains(c))
    });
    if let Some(label) = label_of(bare) {
        return Ok(Reading::new(Verdict::Attribution(label)));
    }
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

/// The label of a line with exactly one, and whether the word before negates it.
fn only_label(line: &str) -> Option<(Attribution, bool)> {
    let is_edge = |c: char| !(c.is_alphanumeric() || matches!(c, '-' | '\'' | '’'));
    let words: Vec<&str> = line
        .split(is_edge)
        .map(|word| word.trim_matches(['-', '\'', '’']))
        .filter(|word| !word.is_empty())
        .collect();
    let mut labels = words
        .iter()
        .enumerate()
        .filter_map(|(at, word)| Some((at, label_of(word)?)));
    let (at, label) = labels.next()?;
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

//! Parses a judge's reply into a verdict. This module handles the rubric's questions in default mode: a reply counts
//! only if it says exactly what was asked; anything else is unreadable, with a reason, and never a silent zero.

use serde_json::Value;

use super::judge_reply::{feedback, list_of, outermost_object, quoted};
use super::python_json::{self, kind};
use super::{
    ClaimShares, JudgeReply, JudgeTask, Mode, Reading, Unreadable, UnscoredKind, Verdict,
    reading_compat, reading_criteria, reading_cs2, reading_graded,
};

/// Maximum points.
const MAX_POINTS: f64 = 10.0;

impl JudgeTask {
    /// Parses a reply to this task.
    ///
    /// Default mode: the text is a JSON object, or holds one as its outermost `{..}` after a leading `<think>..</think>`.
    /// `score` must be a number, 0..=10 for points and not negative for counts; `claims` a list of objects, each with a
    /// list `citations` of objects, each with a list `excerpts`. With the verdict comes the judge's `feedback` (or
    /// `reason`, `explanation`), where it is a string. Aspects end in a grade, attribution is a label,
    /// criteria have a level each; see `reading_cs2` for the two questions of ScholarQA-CS2.
    ///
    /// Compat mode: as the reference reads the text, in range or not, without feedback.
    ///
    /// In both modes a count above the number of snippets is capped at it before samples or judges are merged.
    /// Otherwise one overcount could offset a missing one.
    ///
    /// # Errors
    /// [`Unreadable`], with the reason and whether a retry may help: not for a reply cut at the token limit or stopped
    /// by a content filter (default mode only; compat parses both), nor for a refusal or a tool call in place of text,
    /// nor if the reference would have raised (compat).
    pub fn parse(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        if let Some(unusable) = unusable(reply, mode) {
            return Err(unusable);
        }
        let reading = match (self, mode) {
            (Self::Aspect { .. }, _) => return reading_graded::grade(reply, mode),
            (Self::Attribution { .. }, _) => return reading_graded::label(reply, mode),
            (
                Self::Criteria {
                    criteria, shape, ..
                },
                _,
            ) => {
                return reading_criteria::verdicts(reply, shape, criteria, mode);
            }
            (Self::Precision { .. }, _) => return reading_cs2::irrelevant(reply, mode),
            (Self::CitationGroup { .. }, _) => return reading_cs2::cited_claims(reply, mode),
            (_, Mode::Compat) => Reading::new(reading_compat::read(self, &reply.content)?),
            (_, Mode::Default) => read(self, reply)?,
        };
        Ok(Reading {
            verdict: self.capped(reading.verdict),
            feedback: reading.feedback,
        })
    }

    /// Caps a count at the number of snippets; NaN stays NaN.
    fn capped(&self, verdict: Verdict) -> Verdict {
        match (self, verdict) {
            (Self::Evidence { snippets, .. }, Verdict::Count(count))
                if count > snippets.len() as f64 =>
            {
                Verdict::Count(snippets.len() as f64)
            }
            (_, verdict) => verdict,
        }
    }
}

/// Why a reply contains no verdict, whatever was asked; `None` if it may.
fn unusable(reply: &JudgeReply, mode: Mode) -> Option<Unreadable> {
    let what = match reply.finish_reason.as_deref()? {
        "refusal" => format!("the judge refused: \"{}\"", quoted(&reply.content)),
        "tool_calls" if reply.content.trim().is_empty() => {
            "the judge called a tool and gave no text".to_owned()
        }
        "content_filter" if mode == Mode::Default => {
            "the reply was stopped by a content_filter".to_owned()
        }
        "undecodable" => return Some(Unreadable::new("the reply is not valid JSON")),
        _ => return None,
    };
    Some(Unreadable {
        what,
        ask_again: false,
        kind: UnscoredKind::Refused,
    })
}

/// Verdict and feedback for one of the rubric's questions in default mode.
fn read(task: &JudgeTask, reply: &JudgeReply) -> Result<Reading, Unreadable> {
    if reply.is_cut() {
        return Err(Unreadable::cut(reply));
    }
    let object = outermost_object(&reply.content).map_err(Unreadable::new)?;
    let verdict = match task {
        JudgeTask::Expertise { .. } | JudgeTask::Property { .. } => {
            points(&object).map(Verdict::Points)
        }
        JudgeTask::Evidence { .. } => count(&object).map(Verdict::Count),
        _ => claim_shares(&object).map(Verdict::Claims),
    };
    Ok(Reading {
        verdict: verdict.map_err(Unreadable::new)?,
        feedback: feedback(&object),
    })
}

/// The number under `score`; infinite beyond the range of floats, which no range allows.
fn number(object: &Value) -> Result<f64, String> {
    let score = object
        .get("score")
        .ok_or("no \"score\" in the reply's object")?;
    match (python_json::number(score), score) {
        (Some(number), _) if number.is_nan() => Err("score is NaN".to_owned()),
        (Some(number), _) => Ok(number),
        (None, Value::String(text)) => Err(format!(
            "score is the string \"{}\", not a number",
            quoted(text)
        )),
        (None, other) => Err(format!("score is {}, not a number", kind(other))),
    }
}

fn points(object: &Value) -> Result<f64, String> {
    let points = number(object)?;
    if (0.0..=MAX_POINTS).contains(&points) {
        Ok(points)
    } else {
        Err(format!("score {points} is outside 0..10"))
    }
}

fn count(object: &Value) -> Result<f64, String> {
    let count = number(object)?;
    if count < 0.0 {
        Err(format!("count {count} is negative"))
    } else if count.is_infinite() {
        Err("count is infinite".to_owned())
    } else {
        Ok(count)
    }
}

fn claim_shares(object: &Value) -> Result<ClaimShares, String> {
    let claims = list_of(object, "claims", "")?;
    let (mut cited, mut citations, mut quoted) = (0, 0, 0);
    for (i, claim) in claims.iter().enumerate() {
        let list = list_of(claim, "citations", &format!("claims[{i}]."))?;
        cited += usize::from(!list.is_empty());
        citations += list.len();
        for (j, citation) in list.iter().enumerate() {
            quoted += usize::from(
                !list_of(
                    citation,
                    "excerpts",
                    &format!("claims[{i}].citations[{j}]."),
                )?
                .is_empty(),
            );
        }
    }
    Ok(ClaimShares::of_counts(
        (cited, claims.len()),
        (quoted, citations),
    ))
}

#[cfg(test)]
mod tests;

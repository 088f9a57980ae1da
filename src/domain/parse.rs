//! From a judge's raw reply to a verdict.

use super::reading::{self, Reading};
use super::{JudgeReply, JudgeTask, Mode, Unreadable, Verdict, reading_compat, reading_graded};

impl JudgeTask {
    /// Reads a reply to this task.
    ///
    /// Default mode: the text is a JSON object, or holds one as its outermost `{..}` after a leading `<think>..</think>`.
    /// `score` must be a number, 0..=10 for points and not negative for counts; `claims` a list of objects, each with a
    /// list `citations` of objects, each with a list `excerpts`. With the verdict comes the judge's `feedback` (or
    /// `reason`, `explanation`), where it is a string. Aspects end in a grade, attribution is a label.
    ///
    /// Compat mode: what the reference makes of the text, in range or not, and never feedback.
    ///
    /// A count above the number of snippets is that number, in both modes: before samples or judges are merged, or one
    /// that counts too many would make up for one that finds none.
    ///
    /// # Errors
    /// [`Unreadable`], which says what was wrong and whether asking again may help: not for a reply cut at the token
    /// limit (default mode only; compat reads it as it is), nor where the reference would have raised (compat).
    pub fn parse(&self, reply: &JudgeReply, mode: Mode) -> Result<Reading, Unreadable> {
        let (verdict, feedback) = match (self, mode) {
            (Self::Aspect { .. }, _) => return reading_graded::grade(reply, mode),
            (Self::Attribution { .. }, _) => return reading_graded::label(reply, mode),
            (_, Mode::Compat) => (reading_compat::read(self, &reply.content)?, None),
            (_, Mode::Default) => reading::read(self, reply)?,
        };
        Ok((self.capped(verdict), feedback))
    }

    /// A count that is at most the number of snippets; NaN stays NaN.
    fn capped(&self, verdict: Verdict) -> Verdict {
        match (self, verdict) {
            (Self::Evidence { snippets, .. }, Verdict::Count(count)) if count > snippets.len() as f64 => {
                Verdict::Count(snippets.len() as f64)
            }
            (_, verdict) => verdict,
        }
    }
}

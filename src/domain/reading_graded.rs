//! Replies that end in a grade (`Feedback: .. [RESULT] n`) or are a label (AttrScore).

use super::reading::{Reading, cut, unreadable};
use super::{JudgeReply, Mode, Unreadable};

/// Reads a grade.
pub(super) fn grade(reply: &JudgeReply, _mode: Mode) -> Result<Reading, Unreadable> {
    Err(if reply.is_cut() { cut(reply.usage.completion_tokens) } else { unreadable("no [RESULT] in the reply".into()) })
}

/// Reads a label.
pub(super) fn label(_reply: &JudgeReply, _mode: Mode) -> Result<Reading, Unreadable> {
    Err(unreadable("no label in the reply".into()))
}

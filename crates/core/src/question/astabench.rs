//! What the questions of ScholarQA-CS2 have in common in reading replies.
//!
//! In compat mode as astabench 0.5.4 does (`evals/sqa`, with pydantic's conversions): what it asks again for is unreadable,
//! what raises an exception at once is not asked again.

use serde_json::Value;

use super::reading::{self, Unreadable};
use crate::domain::python_json::{self, outermost_braces};
use crate::domain::{JudgeReply, Mode};

/// The JSON object of a reply; in compat mode the outermost braces, whatever stands around them.
pub(super) fn object(reply: &JudgeReply, mode: Mode) -> Result<Value, Unreadable> {
    if mode == Mode::Default {
        return reading::object(reply);
    }
    let object = outermost_braces(&reply.content)
        .ok_or_else(|| Unreadable::new("no JSON object in the reply"))?;
    python_json::parse(object)
        .map_err(|fault| Unreadable::new(format!("no JSON object in the reply: {fault}")))
}

/// A number without a fraction, true as 1, false as 0.
pub(super) fn whole_number(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or_else(|| value.as_bool().map(|is_true| f64::from(u8::from(is_true))))
        .filter(|number| number.fract() == 0.0)
}

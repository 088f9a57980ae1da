//! A run as logs of inspect-ai, one for each system: its viewer (`inspect view`) opens them.
//!
//! The format is version 2 of `EvalLog` in JSON, as inspect-ai 0.3 documents it ("Eval Logs", and `inspect log schema`).
//! The model under test is the system; judges stand in `model_roles` and in the metadata.
//!
//! A sample is a case. The rubric gives two numbers (`rubric` and `rubric.ann_score`), every other scorer one object with
//! a number a component. What is unscored is a bare `NaN`, as inspect-ai writes it (a null inside an object), with the
//! reason beside it; metrics leave it out.

mod log;
mod means;
mod sample;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter};

use crate::domain::{ScoredAnswer, SystemName, TestCase};
use crate::error::{Error, Result};

/// What all logs of a run say.
#[derive(Debug, Clone, PartialEq)]
pub struct InspectRun {
    /// The run's name.
    pub run: String,
    /// An identifier of the run, letters and digits.
    pub run_id: String,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339; `None` where the run did not finish.
    pub completed_at: Option<String>,
    /// True if every answer has been through its scorer.
    pub complete: bool,
    /// The file of the test cases, where there is one.
    pub dataset: Option<String>,
    /// Judge and address by role; addresses with secrets masked.
    pub judges: Vec<InspectJudge>,
    /// What else is to be known: settings, prompts, mode.
    pub metadata: Value,
}

/// Who judged in one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectJudge {
    /// `rubric`, `aspect.coverage`, `citation`; of a panel the members after the first have a number behind it.
    pub role: String,
    /// The judge's identity.
    pub judge: String,
    /// Where it was asked, secrets masked.
    pub base_url: Option<String>,
}

/// One case of a system.
#[derive(Debug, Clone, PartialEq)]
pub struct InspectSample<'a> {
    /// The question.
    pub case: &'a TestCase,
    /// The answer's text; `None` where the record does not hold it.
    pub answer: Option<&'a str>,
    /// A gold or reference answer, where there is one.
    pub target: Option<&'a str>,
    /// Its score by each scorer.
    pub scored: Vec<&'a ScoredAnswer>,
}

/// The log of one system, as JSON.
///
/// # Errors
/// [`Error::Internal`] if it cannot be serialised.
pub fn render_inspect_log(run: &InspectRun, system: &SystemName, samples: &[InspectSample<'_>]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut bytes, NanFormatter(PrettyFormatter::new()));
    log::log(run, system, samples)
        .serialize(&mut writer)
        .map_err(|error| Error::Internal(format!("log for inspect-ai: {error}")))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Stands for NaN in a [`Value`], which cannot hold one: a number that is no score, count or seed.
const NAN: i64 = i64::MIN;

/// A number as inspect-ai writes it: NaN where there is none.
fn or_nan(number: Option<f64>) -> Value {
    number.filter(|number| number.is_finite()).map_or_else(|| NAN.into(), Value::from)
}

/// Writes [`NAN`] as the bare word.
struct NanFormatter<'a>(PrettyFormatter<'a>);

impl Formatter for NanFormatter<'_> {
    fn write_i64<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, value: i64) -> std::io::Result<()> {
        if value == NAN { writer.write_all(b"NaN") } else { self.0.write_i64(writer, value) }
    }

    fn begin_array<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests;

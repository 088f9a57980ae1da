//! Statements about a page that say the same, by a judge: for comparison with the rule that only equal words are one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::cited::AskedPage;
use super::support::part_verdict;
use crate::Verdicts;
use scholareval_core::domain::{ReportLanguage, Role, UnscoredReason, Verdict};
use scholareval_core::question::{DistinctStatements, JudgeCall};

/// Which statements about a page count as one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Dedup {
    /// Those with the same words.
    #[default]
    Words,
    /// Those of which a judge says so.
    Judge,
}

/// Item of the call about the statements of a page.
fn item(number: usize) -> String {
    format!("d{number}")
}

/// The calls that still say which statements of a page repeat others, of the pages that a judge reads.
pub(super) fn open_calls(
    pages: &[AskedPage],
    language: ReportLanguage,
    verdicts: &Verdicts,
) -> Vec<JudgeCall> {
    let mut calls = Vec::new();
    for (number, page) in (1..).zip(pages) {
        if !page.windows.is_empty() {
            calls.extend(call(number, &page.statements, language, verdicts));
        }
    }
    calls
}

/// Leaves out the statements that repeat others.
///
/// # Errors
/// When a judge was not reached.
pub(super) fn keep(pages: &mut [AskedPage], verdicts: &Verdicts) -> Result<(), UnscoredReason> {
    for (number, page) in (1..).zip(pages) {
        let statements = std::mem::take(&mut page.statements);
        page.statements = kept(number, statements, verdicts)?;
    }
    Ok(())
}

/// The call that still says which statements of a page repeat others; `None` for a single statement.
pub(super) fn call(
    number: usize,
    statements: &[Arc<str>],
    language: ReportLanguage,
    verdicts: &Verdicts,
) -> Option<JudgeCall> {
    let item = item(number);
    if statements.len() < 2 || verdicts.contains_key(item.as_str()) {
        return None;
    }
    let question = DistinctStatements::new(statements, language);
    Some(JudgeCall::new(item, Role::Page, question))
}

/// The statements that the judge keeps: all, if it was not asked or its reply cannot be used.
///
/// # Errors
/// Where the reference ends, or a judge was not reached.
pub(super) fn kept(
    number: usize,
    statements: Vec<Arc<str>>,
    verdicts: &Verdicts,
) -> Result<Vec<Arc<str>>, UnscoredReason> {
    let places = match verdicts.get(item(number).as_str()) {
        None => return Ok(statements),
        Some(Ok(reading)) => match &reading.verdict {
            Verdict::Kept(places) => places,
            _ => return Err(UnscoredReason::other_kind()),
        },
        unusable => return part_verdict(unusable).map(|_| statements),
    };
    let mut kept = Vec::with_capacity(places.len());
    for place in &**places {
        let statement = statements.get(*place);
        kept.push(Arc::clone(
            statement.ok_or_else(UnscoredReason::other_kind)?,
        ));
    }
    Ok(kept)
}

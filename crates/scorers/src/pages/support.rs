//! What a judge says about the statements of a page.

use std::sync::Arc;

use super::cited::AskedPage;
use crate::Verdicts;
use crate::values::not_asked;
use scholareval_core::domain::{
    Judgment, OpenReason, PageVerdict, ReportLanguage, Role, StatementSupport, SupportState,
    UnscoredKind, UnscoredReason, Verdict,
};
use scholareval_core::question::{JudgeCall, NamedStatement, PageSupport};

/// The calls that still say whether pages support statements. A reply that leaves statements of its call open is followed
/// by one call for each of them.
pub(super) fn open_calls(
    pages: &[AskedPage],
    language: ReportLanguage,
    verdicts: &Verdicts,
) -> Vec<JudgeCall> {
    let mut calls = Vec::new();
    for (number, page) in (1..).zip(pages) {
        for window in 0..page.windows.len() {
            let items = Items {
                number,
                page,
                window,
            };
            let open = items.open(verdicts);
            if open.is_empty() {
                continue;
            }
            match verdicts.get(items.call().as_str()) {
                None => calls.push(items.ask(&items.statements(), language)),
                Some(Err(reason)) if may_help(reason.kind) => {
                    for statement in open {
                        calls.push(items.ask(std::slice::from_ref(&statement), language));
                    }
                }
                Some(_) => {}
            }
        }
    }
    calls
}

/// Whether a judge may say about one statement what it did not say about several.
fn may_help(kind: UnscoredKind) -> bool {
    matches!(kind, UnscoredKind::Unreadable | UnscoredKind::Cut)
}

/// The names of the items about a part of a page: `p3` is the call about the third page, `p3.2` its second part, and
/// `p3s1` a statement. A call about a single statement has the statement's name.
#[derive(Clone, Copy)]
struct Items<'a> {
    /// The number of the page in the answer, from 1.
    number: usize,
    page: &'a AskedPage,
    /// The part, from 0.
    window: usize,
}

impl Items<'_> {
    fn part(self) -> String {
        if self.window == 0 {
            format!("p{}", self.number)
        } else {
            format!("p{}.{}", self.number, self.window + 1)
        }
    }

    fn call(self) -> String {
        if self.page.statements.len() == 1 {
            self.statement(0)
        } else {
            self.part()
        }
    }

    fn statement(self, place: usize) -> String {
        format!("{}s{}", self.part(), place + 1)
    }

    fn statements(self) -> Vec<NamedStatement> {
        let mut statements = Vec::new();
        for (place, text) in self.page.statements.iter().enumerate() {
            statements.push(NamedStatement {
                item: self.statement(place).into(),
                text: Arc::clone(text),
            });
        }
        statements
    }

    /// The statements without a verdict.
    fn open(self, verdicts: &Verdicts) -> Vec<NamedStatement> {
        let mut statements = self.statements();
        statements.retain(|statement| !verdicts.contains_key(&statement.item));
        statements
    }

    fn ask(self, statements: &[NamedStatement], language: ReportLanguage) -> JudgeCall {
        let question = PageSupport {
            page: Arc::clone(&self.page.windows[self.window]),
            statements: statements.into(),
            language,
        };
        let item = match statements {
            [only] => Arc::clone(&only.item),
            _ => self.call().into(),
        };
        JudgeCall::new(item, Role::Page, question)
    }

    /// What the judge says about a statement: alone, else together with the others.
    fn judgment(self, place: usize, verdicts: &Verdicts) -> Option<&Judgment> {
        let judgment = verdicts.get(self.statement(place).as_str());
        judgment.or_else(|| verdicts.get(self.call().as_str()))
    }
}

/// Whether a page supports a statement, with the judge's explanation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StatementVerdict {
    pub(super) state: SupportState,
    pub(super) open: Option<OpenReason>,
    pub(super) feedback: Option<String>,
}

impl StatementVerdict {
    pub(super) fn open(reason: OpenReason, feedback: Option<String>) -> Self {
        Self {
            state: SupportState::Open,
            open: Some(reason),
            feedback,
        }
    }

    /// Whether what was read is not the text of a page.
    fn is_of_empty_page(&self) -> bool {
        self.open == Some(OpenReason::PageEmpty)
    }

    fn judged(state: SupportState, feedback: Option<String>) -> Self {
        Self {
            state,
            open: None,
            feedback,
        }
    }
}

/// What all parts of a page say about a statement: one part that supports it suffices, and only if a judge read every part
/// does none support it.
///
/// # Errors
/// When the judge was not asked, or could not be reached.
pub(super) fn pair_verdict(
    number: usize,
    page: &AskedPage,
    place: usize,
    verdicts: &Verdicts,
) -> Result<StatementVerdict, UnscoredReason> {
    if let Some(reason) = page.open {
        return Ok(StatementVerdict::open(reason, None));
    }
    let mut unsupported = None;
    let mut open = None;
    let mut unscored = None;
    for window in 0..page.windows.len() {
        let items = Items {
            number,
            page,
            window,
        };
        match part_verdict(items.judgment(place, verdicts)) {
            Ok(verdict) if verdict.state == SupportState::Supported => return Ok(verdict),
            Ok(verdict) if verdict.state == SupportState::Unsupported => {
                unsupported.get_or_insert(verdict);
            }
            Ok(verdict) => {
                // A part without content, such as a list of links, leaves the decision to the others.
                if open.is_none() || !verdict.is_of_empty_page() {
                    open = Some(verdict);
                }
            }
            Err(reason) => {
                unscored.get_or_insert(reason);
            }
        }
    }
    if let Some(reason) = unscored {
        return Err(reason);
    }
    match (unsupported, open) {
        (Some(verdict), None) => Ok(verdict),
        (Some(verdict), Some(open)) if open.is_of_empty_page() => Ok(verdict),
        (_, Some(open)) => Ok(open),
        (None, None) => Err(UnscoredReason::other_kind()),
    }
}

/// What a part of a page says about a statement.
pub(super) fn part_verdict(
    judgment: Option<&Judgment>,
) -> Result<StatementVerdict, UnscoredReason> {
    let reading = match judgment {
        Some(Ok(reading)) => reading,
        Some(Err(reason)) => return open_or_unscored(reason),
        None => return Err(not_asked()),
    };
    let Verdict::Support(of_one) = &reading.verdict else {
        return Err(UnscoredReason::other_kind());
    };
    let StatementSupport { verdict, feedback } =
        of_one.first().ok_or_else(UnscoredReason::other_kind)?;
    let feedback = feedback.clone();
    Ok(match verdict {
        PageVerdict::Supported => StatementVerdict::judged(SupportState::Supported, feedback),
        PageVerdict::Unsupported => StatementVerdict::judged(SupportState::Unsupported, feedback),
        PageVerdict::NoContent => StatementVerdict::open(OpenReason::PageEmpty, feedback),
        PageVerdict::Unreadable => StatementVerdict::open(OpenReason::Unreadable, feedback),
    })
}

/// A reply that nobody can use leaves the pair open. A judge that was not asked, or not reached, may still say something:
/// then the answer has no score yet.
fn open_or_unscored(reason: &UnscoredReason) -> Result<StatementVerdict, UnscoredReason> {
    let open = match reason.kind {
        UnscoredKind::ContextOverflow => OpenReason::PageTooLong,
        UnscoredKind::Unreadable
        | UnscoredKind::Missing
        | UnscoredKind::Cut
        | UnscoredKind::Refused
        | UnscoredKind::Moderated
        | UnscoredKind::Abstained => OpenReason::Unreadable,
        _ => return Err(reason.clone()),
    };
    Ok(StatementVerdict::open(open, Some(reason.message.clone())))
}

//! The steps of FACT's scripts (DeepResearch Bench 214741e), faults included.
//!
//! Each address, as it is written, is a page. A judge says which statements about a page repeat others. Then it is asked
//! about every page, also about one that could not be fetched or that is empty. A report without citations has no numbers.

use std::sync::Arc;

use serde_json::Value;

use super::passage::nearest_passages;
use super::support::{StatementVerdict, part_verdict};
use super::{PageScorer, distinct, fold};
use crate::{Step, Subject, Verdicts};
use scholareval_core::domain::{
    Answer, CaseId, CitedPage, CitedStatement, JudgedStatement, Judgment, Mode, OpenReason,
    ReadPage, ReportLanguage, Role, Score, SupportState, UnscoredKind, UnscoredReason, Verdict,
};
use scholareval_core::error::Result;
use scholareval_core::question::fact;
use scholareval_core::question::{CitedStatements, JudgeCall, NamedStatement, PageSupport};
use scholareval_core::text::addresses::page_key;
use scholareval_core::text::markdown_links::without_passages;

/// Item of the call about the report.
const STATEMENTS: &str = "statements";

/// Systems whose names have this word cite pages with links to passages, which the scripts cut off.
const WITH_PASSAGES: &str = "openai";

/// A page with the statements that cite it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FactPage {
    /// The address as it is written.
    pub(super) url: String,
    /// The statements, in the order of the report.
    pub(super) statements: Vec<Arc<str>>,
}

/// A page with what a judge reads of it.
struct FetchedPage {
    page: FactPage,
    read: Option<ReadPage>,
    /// `None` where nothing was saved, which is the only page that is not judged.
    content: Option<Arc<str>>,
}

/// The next step of an answer.
pub(super) fn step(scorer: &PageScorer, subject: &Subject<'_>, verdicts: &Verdicts) -> Step {
    if !is_asked(&subject.answer.case_id) {
        return Step::Done(fold::left_out_score(scorer.is_baseline));
    }
    match steps(scorer, subject, verdicts) {
        Ok(step) => step,
        Err(reason) => Step::Done(fold::unscored(scorer, &reason)),
    }
}

/// Whether the scripts ask about a report: an id of 0 counts as none. The language is always one of theirs here.
fn is_asked(case_id: &CaseId) -> bool {
    let id = case_id.as_str();
    let id = id
        .parse::<i64>()
        .map_or_else(|_| Value::from(id), Value::from);
    fact::is_asked(&id, Some("en"))
}

fn steps(
    scorer: &PageScorer,
    subject: &Subject<'_>,
    verdicts: &Verdicts,
) -> Result<Step, UnscoredReason> {
    let report = &subject.answer.answer_text;
    let language = ReportLanguage::of_report(&subject.case.initial_prompt, report);
    let statements = match verdicts.get(STATEMENTS) {
        None => {
            let report = article(subject.answer);
            let question = CitedStatements { report, language };
            return Ok(ask(vec![JudgeCall::new(STATEMENTS, Role::Page, question)]));
        }
        Some(Ok(reading)) => match &reading.verdict {
            Verdict::Statements(statements) => statements,
            _ => return Err(UnscoredReason::other_kind()),
        },
        Some(Err(reason)) => return Err(reason.clone()),
    };
    if statements.is_empty() {
        return Ok(Step::Done(fold::left_out_score(scorer.is_baseline)));
    }
    let pages = grouped(statements);
    let mut calls = Vec::new();
    for (number, page) in (1..).zip(&pages) {
        calls.extend(distinct::call(number, &page.statements, language, verdicts));
    }
    if !calls.is_empty() {
        return Ok(ask(calls));
    }
    let mut fetched = Vec::with_capacity(pages.len());
    for (number, mut page) in (1..).zip(pages) {
        page.statements = distinct::kept(number, page.statements, verdicts)?;
        fetched.push(fetch(page, scorer).map_err(unread)?);
    }
    let calls = support_calls(&fetched, language, verdicts);
    if !calls.is_empty() {
        return Ok(ask(calls));
    }
    score(scorer, fetched, verdicts).map(Step::Done)
}

fn ask(calls: Vec<JudgeCall>) -> Step {
    Step::Ask(calls)
}

/// A store that cannot be read says nothing about an answer.
fn unread(error: scholareval_core::error::Error) -> UnscoredReason {
    UnscoredReason::new(UnscoredKind::Exception, error.to_string())
}

/// The report as the scripts show it.
fn article(answer: &Answer) -> Arc<str> {
    if answer.system.as_str().contains(WITH_PASSAGES) {
        without_passages(&answer.answer_text).into()
    } else {
        Arc::clone(&answer.answer_text)
    }
}

/// The statements by the address that each cites, in the order of the first mention.
pub(super) fn grouped(statements: &[CitedStatement]) -> Vec<FactPage> {
    let mut pages: Vec<FactPage> = Vec::new();
    for statement in statements {
        for url in &statement.urls {
            let text: Arc<str> = statement.text.as_str().into();
            match pages.iter_mut().find(|page| page.url == *url) {
                Some(page) => page.statements.push(text),
                None => pages.push(FactPage {
                    url: url.clone(),
                    statements: vec![text],
                }),
            }
        }
    }
    pages
}

/// Looks the page up. The text of one that was not fetched is the message of the failure.
fn fetch(page: FactPage, scorer: &PageScorer) -> Result<FetchedPage> {
    let read = match &scorer.pages {
        Some(pages) => pages.page(&page.url)?,
        None => None,
    };
    let content = match (&scorer.pages, &read) {
        (Some(pages), Some(read)) if read.text_hash.is_some() => Some(pages.text(read)?),
        (_, Some(read)) => Some(fact::failed_content(&read.reason).into()),
        (_, None) => None,
    };
    Ok(FetchedPage {
        page,
        read,
        content,
    })
}

/// The names of the items of a page: those of its call and of its statements, as in default mode.
fn item(number: usize, place: usize) -> String {
    format!("p{number}s{}", place + 1)
}

fn call_item(number: usize, page: &FactPage) -> String {
    if page.statements.len() == 1 {
        item(number, 0)
    } else {
        format!("p{number}")
    }
}

/// The calls that still say whether pages support their statements.
fn support_calls(
    pages: &[FetchedPage],
    language: ReportLanguage,
    verdicts: &Verdicts,
) -> Vec<JudgeCall> {
    let mut calls = Vec::new();
    for (number, fetched) in (1..).zip(pages) {
        let page = &fetched.page;
        let Some(content) = &fetched.content else {
            continue;
        };
        let call = call_item(number, page);
        if judgment(number, page, 0, verdicts).is_some() {
            continue;
        }
        let mut statements = Vec::with_capacity(page.statements.len());
        for (place, text) in page.statements.iter().enumerate() {
            statements.push(NamedStatement {
                item: item(number, place).into(),
                text: Arc::clone(text),
            });
        }
        let question = PageSupport {
            page: Arc::clone(content),
            statements: statements.into(),
            language,
        };
        calls.push(JudgeCall::new(call, Role::Page, question));
    }
    calls
}

fn judgment<'a>(
    number: usize,
    page: &FactPage,
    place: usize,
    verdicts: &'a Verdicts,
) -> Option<&'a Judgment> {
    let judgment = verdicts.get(item(number, place).as_str());
    judgment.or_else(|| verdicts.get(call_item(number, page).as_str()))
}

/// The score, once everything was asked.
fn score(
    scorer: &PageScorer,
    pages: Vec<FetchedPage>,
    verdicts: &Verdicts,
) -> Result<Score, UnscoredReason> {
    let mut judged = Vec::with_capacity(pages.len());
    for (number, fetched) in (1..).zip(pages) {
        let mut statements = Vec::new();
        let content = fetched.content.as_deref().unwrap_or_default();
        let texts: Vec<&str> = fetched
            .page
            .statements
            .iter()
            .map(|statement| &**statement)
            .collect();
        let mut passages = nearest_passages(content, &texts);
        for (place, text) in texts.into_iter().enumerate() {
            let verdict = match &fetched.content {
                Some(_) => part_verdict(judgment(number, &fetched.page, place, verdicts))?,
                None => StatementVerdict::open(OpenReason::PageMissing, None),
            };
            let passage = passages[place].take();
            statements.push(JudgedStatement {
                text: text.to_string(),
                verdict: verdict.state,
                open: verdict.open,
                feedback: verdict.feedback,
                passage: passage.filter(|_| verdict.state != SupportState::Open),
            });
        }
        judged.push(CitedPage {
            key: page_key(&fetched.page.url),
            url: fetched.page.url,
            read: fetched.read,
            statements,
        });
    }
    Ok(fold::score_of_pages(
        scorer.is_baseline,
        Mode::Compat,
        judged,
    ))
}

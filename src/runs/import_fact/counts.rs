//! What the verdicts of `validated.jsonl` count: as `stat.py` counts them, and by our rules.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::files::FactReport;
use crate::domain::python_json::is_truthy;
use crate::domain::{
    CitedPage, JudgedStatement, OpenReason, PageVerdict, ReadPage, SupportCounts, SupportState,
};
use crate::question::fact::{self, PythonException};
use crate::scorer::pages::nearest_passages;
use crate::sources::{kind_of, state_of_text};
use crate::text::addresses::page_key;
use crate::text::tokens::tokens;

/// What the address null becomes as a key of the file.
const NULL: &str = "null";

/// The three numbers of `stat.py`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FactStat {
    pub(super) total_citations: f64,
    pub(super) total_valid_citations: f64,
    pub(super) valid_rate: f64,
}

/// The numbers of the reference script over the reports of its last file.
///
/// # Errors
/// Where the script raises an exception.
pub(super) fn stat(reports: &[FactReport]) -> Result<FactStat, PythonException> {
    let mut sums = SupportCounts::default();
    let mut cited: u64 = 0;
    for report in reports
        .iter()
        .filter_map(|report| report.validated.as_ref().ok())
    {
        if let Some(pages) = reference_pages(report)? {
            sums += SupportCounts::of(&pages);
            cited += 1;
        }
    }
    if cited == 0 || sums.judged() == 0 {
        return Err(PythonException::division());
    }
    Ok(FactStat {
        total_citations: sums.judged() as f64 / cited as f64,
        total_valid_citations: sums.supported as f64 / cited as f64,
        valid_rate: sums.supported as f64 / sums.judged() as f64,
    })
}

/// The pages of a report as the reference counts them: one for each address as it is written, with a statement for each
/// verdict, whatever its number. `None` for a report without citations, which the reference leaves out.
///
/// # Errors
/// Where the script raises an exception.
pub(super) fn reference_pages(
    report: &Map<String, Value>,
) -> Result<Option<Vec<CitedPage>>, PythonException> {
    let citations = report
        .get("citations")
        .ok_or_else(|| PythonException::key("citations"))?;
    if !is_truthy(citations) {
        return Ok(None);
    }
    let pages = report
        .get("citations_deduped")
        .ok_or_else(|| PythonException::key("citations_deduped"))?;
    let mut cited = Vec::new();
    for (url, page) in pages.as_object().into_iter().flatten() {
        let page = ValidatedPage::of(page);
        let statements = page.reference_statements()?;
        cited.push(CitedPage {
            url: url.clone(),
            key: page_key(url),
            read: page.read(url),
            statements,
        });
    }
    Ok(Some(cited))
}

/// The pages of a report by our rules: one for each page, with every statement once.
pub(super) fn own_pages(report: &Map<String, Value>) -> Vec<CitedPage> {
    let mut pages: Vec<CitedPage> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let cited = report.get("citations_deduped").and_then(Value::as_object);
    for (url, page) in cited.into_iter().flatten() {
        let page = ValidatedPage::of(page);
        let has_address = !matches!(url.trim(), "" | NULL);
        let url = if has_address { url.as_str() } else { "" };
        let key = page_key(url);
        let own = CitedPage {
            url: url.to_owned(),
            read: if has_address { page.read(url) } else { None },
            statements: page.own_statements(url, has_address),
            key: key.clone(),
        };
        // Whatever was fetched is a page, also under a text that is not an address.
        let identity = key.unwrap_or_else(|| url.trim().to_owned());
        match places.get(&identity) {
            Some(place) => merge(&mut pages[*place], own),
            None => {
                places.insert(identity, pages.len());
                pages.push(with_each_once(own));
            }
        }
    }
    pages
}

/// The page without repeated statements.
fn with_each_once(page: CitedPage) -> CitedPage {
    let mut once = CitedPage {
        statements: Vec::new(),
        ..page.clone()
    };
    merge(&mut once, page);
    once
}

/// Adds the statements of the same page under another address. Equal ones are one claim: the first verdict counts.
fn merge(page: &mut CitedPage, other: CitedPage) {
    let is_readable = |read: &ReadPage| read.state.is_readable();
    if !page.read.as_ref().is_some_and(is_readable) && other.read.is_some() {
        page.read = other.read;
    }
    for statement in other.statements {
        let words = words(&statement.text);
        // Statements without a word say nothing about each other.
        let same = page
            .statements
            .iter_mut()
            .find(|own| !words.is_empty() && self::words(&own.text) == words);
        match same {
            Some(own) if own.verdict == SupportState::Open => *own = statement,
            Some(_) => {}
            None => page.statements.push(statement),
        }
    }
}

fn words(text: &str) -> String {
    tokens(text).collect::<Vec<_>>().join(" ")
}

/// A page in a line of the last file.
struct ValidatedPage<'a> {
    fields: Option<&'a Map<String, Value>>,
    statements: Vec<&'a str>,
    content: Option<&'a str>,
    verdicts: &'a [Value],
}

impl<'a> ValidatedPage<'a> {
    fn of(page: &'a Value) -> Self {
        let list = |name: &str| page.get(name).and_then(Value::as_array);
        let statements = list("facts").into_iter().flatten();
        Self {
            fields: page.as_object(),
            statements: statements
                .map(|fact| fact.as_str().unwrap_or_default())
                .collect(),
            content: page.get("url_content").and_then(Value::as_str),
            verdicts: list("validate_res").map_or(&[], Vec::as_slice),
        }
    }

    /// The saved page; `None` where nothing was fetched.
    fn read(&self, url: &str) -> Option<ReadPage> {
        let content = self.content?;
        let (state, reason) = state_of_text(url, content);
        Some(ReadPage {
            read_url: None,
            text_hash: Some(blake3::hash(content.as_bytes()).into()),
            retrieved_at: None,
            page_kind: kind_of(url, false),
            state,
            reason,
        })
    }

    /// A statement for each verdict that the reference counts; for an open page, its own.
    fn reference_statements(&self) -> Result<Vec<JudgedStatement>, PythonException> {
        let fields = self
            .fields
            .ok_or_else(|| PythonException::wrong_type("a page is not an object"))?;
        let error = fields
            .get("validate_error")
            .ok_or_else(|| PythonException::key("validate_error"))?;
        if !error.is_null() {
            let feedback = error.as_str().filter(|error| !error.is_empty());
            let open = |text: &&str| JudgedStatement {
                feedback: feedback.map(str::to_owned),
                ..statement(text, SupportState::Open, Some(OpenReason::Unreadable))
            };
            return Ok(self.statements.iter().map(open).collect());
        }
        if !fields.contains_key("validate_res") {
            return Err(PythonException::key("validate_res"));
        }
        let mut statements = Vec::new();
        for (place, verdict) in self.verdicts.iter().enumerate() {
            let label = verdict
                .get("result")
                .ok_or_else(|| PythonException::key("result"))?;
            let text = self.statements.get(place).copied().unwrap_or_default();
            let (state, open) = counted(fact::counted_as(label));
            statements.push(statement(text, state, open));
        }
        Ok(self.with_passages(statements))
    }

    /// The statements by our rules.
    fn own_statements(&self, url: &str, has_address: bool) -> Vec<JudgedStatement> {
        let of_page = if has_address {
            self.open_as_a_whole(url)
        } else {
            Some(OpenReason::NoUrl)
        };
        let verdicts = if of_page.is_none() {
            self.own_verdicts()
        } else {
            None
        };
        let mut statements = Vec::new();
        for (place, text) in self.statements.iter().enumerate() {
            let (state, open) = match &verdicts {
                Some(verdicts) => counted(verdicts[place]),
                None => (SupportState::Open, of_page.or(Some(OpenReason::Unreadable))),
            };
            statements.push(statement(text, state, open));
        }
        self.with_passages(statements)
    }

    /// Why no verdict on the page counts, whatever the file says.
    fn open_as_a_whole(&self, url: &str) -> Option<OpenReason> {
        match self.content {
            None => Some(OpenReason::PageMissing),
            Some(content) => OpenReason::of_state(state_of_text(url, content).0),
        }
    }

    /// One verdict for each statement; `None` if the file does not have exactly one valid label for each. That the page has
    /// no content is said of all or of none.
    fn own_verdicts(&self) -> Option<Vec<PageVerdict>> {
        let error = self.fields?.get("validate_error");
        if error.is_some_and(|error| !error.is_null()) {
            return None;
        }
        let mut verdicts: Vec<Option<PageVerdict>> = vec![None; self.statements.len()];
        if self.verdicts.len() != verdicts.len() {
            return None;
        }
        for verdict in self.verdicts {
            let place = usize::try_from(verdict.get("idx")?.as_u64()?).ok()?;
            let label = PageVerdict::named(verdict.get("result")?.as_str()?);
            let own = verdicts.get_mut(place)?;
            if own.is_some() || label == PageVerdict::Unreadable {
                return None;
            }
            *own = Some(label);
        }
        let mut verdicts: Vec<PageVerdict> = verdicts.into_iter().collect::<Option<_>>()?;
        if verdicts.iter().any(|own| *own != PageVerdict::NoContent) {
            for own in &mut verdicts {
                if *own == PageVerdict::NoContent {
                    *own = PageVerdict::Unreadable;
                }
            }
        }
        Some(verdicts)
    }

    /// The statements with the passages of the page behind their verdicts.
    fn with_passages(&self, mut statements: Vec<JudgedStatement>) -> Vec<JudgedStatement> {
        let Some(content) = self.content else {
            return statements;
        };
        let texts: Vec<&str> = statements.iter().map(|own| own.text.as_str()).collect();
        let passages = nearest_passages(content, &texts);
        for (own, passage) in statements.iter_mut().zip(passages) {
            own.passage = passage.filter(|_| own.verdict != SupportState::Open);
        }
        statements
    }
}

fn statement(text: &str, verdict: SupportState, open: Option<OpenReason>) -> JudgedStatement {
    JudgedStatement {
        text: text.to_owned(),
        verdict,
        open,
        feedback: None,
        passage: None,
    }
}

fn counted(verdict: PageVerdict) -> (SupportState, Option<OpenReason>) {
    match verdict {
        PageVerdict::Supported => (SupportState::Supported, None),
        PageVerdict::Unsupported => (SupportState::Unsupported, None),
        PageVerdict::NoContent => (SupportState::Open, Some(OpenReason::PageEmpty)),
        PageVerdict::Unreadable => (SupportState::Open, Some(OpenReason::Unreadable)),
    }
}

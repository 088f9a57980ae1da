//! The pages that statements cite, each with its statements.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::PageScorer;
use super::windows::windows;
use scholareval_core::domain::{CitedStatement, Fingerprint, OpenReason, ReadPage, SavedPages};
use scholareval_core::error::Result;
use scholareval_core::text::addresses::page_key;

/// A cited page, before and while a judge is asked about it.
#[derive(Debug)]
pub(super) struct AskedPage {
    /// The address, as the answer first writes it; empty if the citation has none.
    pub(super) url: String,
    /// The page that the address means.
    pub(super) key: Option<String>,
    /// The saved page that is read.
    pub(super) read: Option<ReadPage>,
    /// The text in the parts that a judge reads one by one; none if the page is not read.
    pub(super) windows: Vec<Arc<str>>,
    /// Why the statements are open, if no judge is asked.
    pub(super) open: Option<OpenReason>,
    /// The statements that cite it, each once.
    pub(super) statements: Vec<Arc<str>>,
}

/// The pages that these statements cite, in the order of their first mention. Statements without an address have an entry
/// at the place of the first of them.
///
/// # Errors
/// When saved pages cannot be read.
pub(super) fn pages(scorer: &PageScorer, statements: &[CitedStatement]) -> Result<Vec<AskedPage>> {
    let mut pages = grouped(statements);
    for page in &mut pages {
        if page.open.is_none() {
            read(page, scorer)?;
        }
    }
    Ok(joined(pages))
}

/// Puts addresses together that lead to one text: a DOI and the address behind it, an abstract and the paper that is read in
/// its place.
fn joined(pages: Vec<AskedPage>) -> Vec<AskedPage> {
    let mut joined: Vec<AskedPage> = Vec::with_capacity(pages.len());
    let mut places: HashMap<Fingerprint, usize> = HashMap::new();
    for page in pages {
        let is_read = page.open.is_none();
        let text = page.read.as_ref().and_then(|read| read.text_hash);
        let known = text.filter(|_| is_read).map(|text| places.entry(text));
        match known {
            Some(Entry::Occupied(place)) => joined[*place.get()].add(page.statements),
            Some(Entry::Vacant(place)) => {
                place.insert(joined.len());
                joined.push(page);
            }
            None => joined.push(page),
        }
    }
    joined
}

impl AskedPage {
    /// Adds the statements that are not there yet. Equal ones count once: they are one claim about one page, and asking twice
    /// could give two verdicts.
    fn add(&mut self, statements: impl IntoIterator<Item = Arc<str>>) {
        for statement in statements {
            let new = compared(&statement);
            if self.statements.iter().all(|known| compared(known) != new) {
                self.statements.push(statement);
            }
        }
    }
}

/// A statement without differences of case, spaces and its last stop. Signs within it count: `-3` is not `3`.
fn compared(statement: &str) -> String {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let text = words.join(" ").to_lowercase();
    text.trim_end_matches(['.', '!', '?', ';', ',', '。'])
        .to_owned()
}

/// Puts the statements of each page together.
pub(super) fn grouped(statements: &[CitedStatement]) -> Vec<AskedPage> {
    let mut pages: Vec<AskedPage> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for statement in statements {
        for (url, key) in addresses(statement) {
            // A text that is not an address stands for no other one.
            let identity = key.clone().unwrap_or_else(|| url.to_owned());
            let place = *places.entry(identity).or_insert_with(|| {
                pages.push(unread(url, key));
                pages.len() - 1
            });
            pages[place].add([statement.text.as_str().into()]);
        }
    }
    pages
}

/// The addresses of a statement, each with its page. Without any, one that means no page.
fn addresses(statement: &CitedStatement) -> Vec<(&str, Option<String>)> {
    let mut addresses = Vec::new();
    for url in &statement.urls {
        addresses.push((url.trim(), page_key(url)));
    }
    if addresses.is_empty() {
        addresses.push(("", None));
    }
    addresses
}

fn unread(url: &str, key: Option<String>) -> AskedPage {
    let open = key.is_none().then_some(OpenReason::NoUrl);
    AskedPage {
        url: url.to_owned(),
        key,
        read: None,
        windows: Vec::new(),
        open,
        statements: Vec::new(),
    }
}

/// Looks the page up, and divides its text where a judge can read it.
fn read(page: &mut AskedPage, scorer: &PageScorer) -> Result<()> {
    let pages: Option<&dyn SavedPages> = scorer.pages.as_deref();
    let read = match pages {
        Some(pages) => pages.page(&page.url)?,
        None => None,
    };
    let (Some(pages), Some(read)) = (pages, read) else {
        page.open = Some(OpenReason::PageMissing);
        return Ok(());
    };
    page.open = OpenReason::of_state(read.state);
    if page.open.is_none() {
        match windows(&pages.text(&read)?, scorer.page_tokens) {
            Some(windows) => page.windows = windows,
            None => page.open = Some(OpenReason::PageTooLong),
        }
    }
    page.read = Some(read);
    Ok(())
}

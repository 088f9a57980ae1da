//! Pages that an answer cites, and what they say about its statements.

use std::ops::AddAssign;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Fingerprint;
use crate::error::Result;
use crate::named_enum;

named_enum! {
    /// Whether a judge can read a saved page, decided by rules.
    pub enum PageState {
        /// The page.
        Ok = "ok",
        /// Only the beginning of the page, whose rest is for subscribers or was cut by a tool; a judge may read it.
        Teaser = "teaser",
        /// A page that did not come to its end: what it says behind that nobody knows.
        Cut = "cut",
        /// Nothing to read: scripts only, a PDF without text, no words.
        Empty = "empty",
        /// A wall in place of the page: a login, a CAPTCHA, a refusal.
        Blocked = "blocked",
        /// No such page, or no reply.
        Unreachable = "unreachable",
        /// More than a judge could read.
        TooLong = "too_long",
    }
}

impl PageState {
    /// Whether there is a text that a judge may read.
    pub fn is_readable(self) -> bool {
        matches!(self, Self::Ok | Self::Teaser)
    }
}

named_enum! {
    /// How much of a work a page holds, by its address and type.
    pub enum PageKind {
        /// The abstract of a paper.
        Abstract = "abstract",
        /// A paper.
        FullText = "full_text",
        /// Everything else.
        Other = "other",
    }
}

/// A page that an answer cites, with the statements that cite it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedPage {
    /// The address, as the answer first writes it; empty for statements whose citation has none.
    pub url: String,
    /// The page that the address means; `None` where it means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The saved page that was read; `None` where none is saved.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub read: Option<ReadPage>,
    /// The statements that cite it, each once, in the order of the answer.
    pub statements: Vec<JudgedStatement>,
}

/// The saved page that stands for a cited one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadPage {
    /// Its address, where it is another one: the full text of the same work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_url: Option<String>,
    /// BLAKE3 of its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_hash: Option<Fingerprint>,
    /// When it was fetched (RFC 3339), if its source says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved_at: Option<String>,
    /// How much of a work it holds.
    pub page_kind: PageKind,
    /// Whether a judge can read it.
    pub state: PageState,
    /// Why it has this state; empty for a readable page.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A statement and what the page says about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedStatement {
    /// What the answer says.
    pub text: String,
    /// Whether the page supports it.
    pub verdict: SupportState,
    /// Why it is open, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenReason>,
    /// The judge's explanation, or what is wrong with its reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// The part of the page that has most words of the statement, where a judge read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passage: Option<String>,
}

/// Whether a page supports a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SupportState {
    /// The page says it.
    Supported,
    /// It does not.
    Unsupported,
    /// Nobody can say: it is neither for nor against the answer.
    Open,
}

named_enum! {
    /// Why nobody can say whether a page supports a statement.
    pub enum OpenReason {
        /// The store does not have the page.
        PageMissing = "page_missing",
        /// There was no such page, or no reply.
        PageUnreachable = "page_unreachable",
        /// A wall was saved in place of the page.
        PageBlocked = "page_blocked",
        /// The page has nothing to read.
        PageEmpty = "page_empty",
        /// The page did not come to its end.
        PageCut = "page_cut",
        /// The page is longer than a judge reads.
        PageTooLong = "page_too_long",
        /// The citation has no address.
        NoUrl = "no_url",
        /// The judge gave no single verdict, asked alone as well.
        Unreadable = "unreadable",
    }
}

impl OpenReason {
    /// Why the statements of a page in this state are open; `None` for a readable one.
    pub fn of_state(state: PageState) -> Option<Self> {
        match state {
            PageState::Ok | PageState::Teaser => None,
            PageState::Cut => Some(Self::PageCut),
            PageState::Empty => Some(Self::PageEmpty),
            PageState::Blocked => Some(Self::PageBlocked),
            PageState::Unreachable => Some(Self::PageUnreachable),
            PageState::TooLong => Some(Self::PageTooLong),
        }
    }
}

/// Saved pages, by the addresses in answers.
pub trait SavedPages: Send + Sync {
    /// What scores depend on besides the statements: which pages there are, and which snapshot is chosen.
    fn settings(&self) -> Value;

    /// Hash of the pages.
    fn hash(&self) -> Fingerprint;

    /// The page that stands for an address; `None` if none is saved.
    ///
    /// # Errors
    /// When the pages cannot be read.
    fn page(&self, url: &str) -> Result<Option<ReadPage>>;

    /// The text of a page; empty if it has none.
    ///
    /// # Errors
    /// When the pages cannot be read.
    fn text(&self, page: &ReadPage) -> Result<Arc<str>>;
}

/// How many pairs of a statement and a page have each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SupportCounts {
    /// Supported.
    pub supported: u64,
    /// Unsupported.
    pub unsupported: u64,
    /// Open.
    pub open: u64,
}

impl SupportCounts {
    /// The counts over these pages.
    pub fn of<'a>(pages: impl IntoIterator<Item = &'a CitedPage>) -> Self {
        let mut counts = Self::default();
        for statement in pages.into_iter().flat_map(|page| &page.statements) {
            match statement.verdict {
                SupportState::Supported => counts.supported += 1,
                SupportState::Unsupported => counts.unsupported += 1,
                SupportState::Open => counts.open += 1,
            }
        }
        counts
    }

    /// Pairs that a judge decided.
    pub fn judged(self) -> u64 {
        self.supported + self.unsupported
    }

    /// Every pair.
    pub fn all(self) -> u64 {
        self.judged() + self.open
    }
}

impl AddAssign for SupportCounts {
    fn add_assign(&mut self, other: Self) {
        self.supported += other.supported;
        self.unsupported += other.unsupported;
        self.open += other.open;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_states_and_kinds_lead_back() {
        for state in PageState::ALL {
            assert_eq!(PageState::from_name(state.name()), Some(state));
        }
        for kind in PageKind::ALL {
            assert_eq!(PageKind::from_name(kind.name()), Some(kind));
        }
    }

    #[test]
    fn a_page_that_is_not_saved_has_no_state_and_is_read_back() {
        let statement = JudgedStatement {
            text: "Ice shrinks.".to_owned(),
            verdict: SupportState::Open,
            open: Some(OpenReason::PageMissing),
            feedback: None,
            passage: None,
        };
        let missing = CitedPage {
            url: "http://example.org".to_owned(),
            key: Some("https://example.org".to_owned()),
            read: None,
            statements: vec![statement],
        };
        let saved = CitedPage {
            read: Some(ReadPage {
                read_url: None,
                text_hash: Some([7; 32].into()),
                retrieved_at: None,
                page_kind: PageKind::Other,
                state: PageState::Ok,
                reason: String::new(),
            }),
            ..missing.clone()
        };
        for page in [missing, saved] {
            let text = serde_json::to_string(&page).unwrap();
            assert_eq!(serde_json::from_str::<CitedPage>(&text).unwrap(), page);
        }
    }
}

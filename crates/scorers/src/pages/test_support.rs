//! Saved pages for tests, also for those of other crates of the project (feature `testing`).

use std::collections::HashMap;
use std::sync::Arc;

use scholareval_core::domain::{Fingerprint, PageKind, PageState, ReadPage};
use scholareval_core::error::Result;
use serde_json::Value;

use super::SavedPages;

/// Pages by address, in memory.
#[derive(Default)]
pub struct Pages {
    pages: HashMap<String, (ReadPage, String)>,
}

impl Pages {
    /// With the text of the page at this address.
    #[must_use]
    pub fn with(mut self, url: &str, state: PageState, text: &str) -> Self {
        let page = ReadPage {
            read_url: None,
            text_hash: Some(Fingerprint::from(blake3::hash(text.as_bytes()))),
            retrieved_at: None,
            page_kind: PageKind::Other,
            state,
            reason: String::new(),
        };
        self.pages.insert(url.to_owned(), (page, text.to_owned()));
        self
    }
}

impl SavedPages for Pages {
    fn settings(&self) -> Value {
        Value::Null
    }

    fn hash(&self) -> Fingerprint {
        [0; 32].into()
    }

    fn page(&self, url: &str) -> Result<Option<ReadPage>> {
        Ok(self.pages.get(url).map(|(page, _)| page.clone()))
    }

    fn text(&self, page: &ReadPage) -> Result<Arc<str>> {
        let mut pages = self.pages.values();
        let entry = pages.find(|(key, _)| key == page);
        Ok(entry.map_or("", |(_, text)| text).into())
    }
}

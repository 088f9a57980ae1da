//! Which pages answers cite, and which of them the store has.

use std::collections::{BTreeMap, HashSet};

use scholareval_core::domain::{PageState, SavedPages};
use scholareval_core::error::Result;
use scholareval_core::text::addresses::{addresses_in, page_key};

/// The pages that answers cite, each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CitedPages {
    /// Addresses of which the store has neither the page nor the full text of the work, in the order of the answers.
    pub missing: Vec<String>,
    /// Pages in the store by their state.
    pub stored: BTreeMap<PageState, u64>,
    seen: HashSet<String>,
}

impl CitedPages {
    /// Adds the addresses in the text of an answer; without a store, all of them are missing.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn add(&mut self, text: &str, pages: Option<&dyn SavedPages>) -> Result<()> {
        for address in addresses_in(text) {
            let Some(key) = page_key(address).filter(|key| !self.seen.contains(key)) else {
                continue;
            };
            let page = match pages {
                Some(pages) => pages.page(address)?,
                None => None,
            };
            match page {
                Some(page) => *self.stored.entry(page.state).or_default() += 1,
                // A fetcher needs a URL: `doi:` and `arXiv:` are written as one.
                None if address.to_ascii_lowercase().starts_with("http") => {
                    self.missing.push(address.to_owned());
                }
                None => self.missing.push(key.clone()),
            }
            self.seen.insert(key);
        }
        Ok(())
    }
}

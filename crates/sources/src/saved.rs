//! Saved pages as a scorer sees them: one page for each address, chosen among snapshots.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::page::moment_text;
use super::store::{PageStore, StoredPage};
use scholareval_core::domain::{Fingerprint, PageKind, ReadPage, SavedPages};
use scholareval_core::error::Result;
use scholareval_core::text::addresses::work_key;

/// Bytes of texts that are kept for the next look at them.
const KEPT_BYTES: usize = 64 << 20;

/// The pages of a store.
///
/// Of several snapshots of a page the newest readable one is read; with a moment, those that are later do not exist. In place of an
/// abstract, or of a page that cannot be read, the full text of the same work is read, if it is stored.
#[derive(Debug)]
pub struct StoredPages {
    store: Mutex<PageStore>,
    hash: Fingerprint,
    as_of: Option<DateTime<Utc>>,
    texts: Mutex<KeptTexts>,
}

/// Texts by their hash: an answer is looked at several times while a judge is asked about it.
#[derive(Debug, Default)]
struct KeptTexts {
    texts: HashMap<Fingerprint, Arc<str>>,
    bytes: usize,
}

impl StoredPages {
    /// Opens a store; with `as_of`, as it was at this moment. Snapshots without a date count as old.
    ///
    /// # Errors
    /// As [`PageStore::open`].
    pub fn open(path: &Path, as_of: Option<DateTime<Utc>>) -> Result<Self> {
        let store = PageStore::open(path)?;
        Ok(Self {
            hash: store.content_hash(as_of.map(moment_text).as_deref())?,
            store: Mutex::new(store),
            as_of,
            texts: Mutex::default(),
        })
    }
}

impl SavedPages for StoredPages {
    fn settings(&self) -> Value {
        json!({"store": self.hash, "as_of": self.as_of.map(moment_text)})
    }

    fn hash(&self) -> Fingerprint {
        self.hash
    }

    fn page(&self, url: &str) -> Result<Option<ReadPage>> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let as_of = self.as_of.map(moment_text);
        let as_of = as_of.as_deref();
        let cited = store.snapshots_until(url, as_of)?.into_iter().next();
        let is_whole = cited
            .as_ref()
            .is_some_and(|page| page.state.is_readable() && page.kind != PageKind::Abstract);
        if is_whole {
            return Ok(cited.map(|page| read_page(&page, None)));
        }
        let of_page = cited.as_ref().and_then(|page| page.work.clone());
        let Some(work) = of_page.or_else(|| work_key(url)) else {
            return Ok(cited.map(|page| read_page(&page, None)));
        };
        let full_texts = store.snapshots_of_work(&work, as_of)?;
        let is_full =
            |page: &StoredPage| page.kind == PageKind::FullText && page.state.is_readable();
        Ok(match full_texts.into_iter().find(is_full) {
            Some(full) => Some(read_page(&full, Some(full.url.clone()))),
            None => cited.map(|page| read_page(&page, None)),
        })
    }

    fn text(&self, page: &ReadPage) -> Result<Arc<str>> {
        let Some(hash) = page.text_hash else {
            return Ok("".into());
        };
        let mut kept = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = kept.texts.get(&hash) {
            return Ok(Arc::clone(text));
        }
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let text: Arc<str> = store.text_by_hash(hash)?.into();
        if kept.bytes + text.len() > KEPT_BYTES {
            *kept = KeptTexts::default();
        }
        kept.bytes += text.len();
        kept.texts.insert(hash, Arc::clone(&text));
        Ok(text)
    }
}

fn read_page(page: &StoredPage, read_url: Option<String>) -> ReadPage {
    ReadPage {
        read_url,
        text_hash: page.text_hash.map(Fingerprint::from),
        retrieved_at: page.retrieved_at.clone(),
        page_kind: page.kind,
        state: page.state,
        reason: page.reason.clone(),
    }
}

//! A saved page, as a source gives it and as the store describes it.

use chrono::{DateTime, NaiveDateTime, SecondsFormat, Utc};

use scholareval_core::domain::PageKind;
use scholareval_core::text::addresses::page_key;

/// The kind of the page at an address. What is not known to be a paper is something else.
pub(super) fn kind_of(address: &str, is_pdf: bool) -> PageKind {
    let key = page_key(address).unwrap_or_default();
    let key = key.strip_prefix("https://").unwrap_or(&key);
    let (host, path) = key.split_once('/').unwrap_or((key, ""));
    let path = path.split('?').next().unwrap_or_default();
    let is_full = is_pdf
        || path.ends_with(".pdf")
        || path.ends_with(".full")
        || path.starts_with("doi/full/")
        || path.starts_with("doi/pdf/")
        || host.starts_with("ar5iv.")
        || host == "arxiv.org" && !path.starts_with("abs/")
        || path.contains("articles/PMC");
    if is_full {
        return PageKind::FullText;
    }
    let is_abstract = host == "arxiv.org"
        || host == "pubmed.ncbi.nlm.nih.gov"
        || host == "semanticscholar.org"
        || path.starts_with("doi/abs/")
        || path.contains("/abs/")
        || path.ends_with(".abstract");
    if is_abstract {
        PageKind::Abstract
    } else {
        PageKind::Other
    }
}

/// A page as a source gives it.
#[derive(Debug, Default)]
pub(super) struct SavedPage {
    /// The address that was asked for.
    pub(super) url: String,
    /// The address that replied, where it is another one.
    pub(super) final_url: Option<String>,
    /// When the page was fetched, if the source says so.
    pub(super) retrieved_at: Option<DateTime<Utc>>,
    /// The HTTP status.
    pub(super) status: Option<u16>,
    /// The type that the server gave.
    pub(super) mime: Option<String>,
    /// The title that the source gives.
    pub(super) title: Option<String>,
    /// What came.
    pub(super) body: PageBody,
    /// The digest by which other records of an archive refer to this one.
    pub(super) digest: Option<String>,
    /// Why this is only the beginning of the page, if it is.
    pub(super) cut_by: Option<String>,
}

impl SavedPage {
    /// A page of this address and content.
    pub(super) fn new(url: impl Into<String>, body: PageBody) -> Self {
        Self {
            url: url.into(),
            body,
            ..Self::default()
        }
    }
}

/// What came from an address.
#[derive(Debug, Default)]
pub(super) enum PageBody {
    /// Nothing.
    #[default]
    Nothing,
    /// The bytes of a page.
    Bytes(Vec<u8>),
    /// HTML.
    Html(String),
    /// Text that a scraper made of the page.
    Text(String),
    /// The message of a fetch that failed.
    Failed(String),
    /// Bytes that were not read, because they are too many.
    TooLong,
}

/// A moment as sources write it: RFC 3339, the same without a zone (then UTC), the date of HTTP, or a day.
pub fn moment(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    if let Ok(moment) = DateTime::parse_from_rfc3339(text) {
        return Some(moment.to_utc());
    }
    for form in [
        "%Y-%m-%dT%H:%M:%S%.f",
        "%Y-%m-%d %H:%M:%S%.f",
        "%Y%m%d%H%M%S",
    ] {
        if let Ok(moment) = NaiveDateTime::parse_from_str(text, form) {
            return Some(moment.and_utc());
        }
    }
    if let Ok(day) = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return day.and_hms_opt(0, 0, 0).map(|moment| moment.and_utc());
    }
    httpdate::parse_http_date(text).ok().map(DateTime::from)
}

/// A moment as the store writes it, so that its order is that of the text.
pub(super) fn moment_text(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_all_sources_are_one_form() {
        for text in [
            "2026-10-01T12:00:00Z",
            "2026-10-01T14:00:00.123+02:00",
            "2026-10-01T12:00:00",
            "20261001120000",
            "Thu, 01 Oct 2026 12:00:00 GMT",
        ] {
            let moment = moment(text).map(moment_text);
            assert_eq!(moment.as_deref(), Some("2026-10-01T12:00:00Z"), "{text}");
        }
        assert_eq!(
            moment("2026-10-01").map(moment_text).unwrap(),
            "2026-10-01T00:00:00Z"
        );
        assert_eq!(moment("last week"), None);
    }

    #[test]
    fn papers_are_known_by_their_address_or_type() {
        let kind = |address: &str| kind_of(address, false);
        assert_eq!(
            kind("https://arxiv.org/abs/2101.00001v2"),
            PageKind::Abstract
        );
        assert_eq!(
            kind("https://arxiv.org/pdf/2101.00001v2"),
            PageKind::FullText
        );
        assert_eq!(
            kind("https://arxiv.org/html/2101.00001"),
            PageKind::FullText
        );
        assert_eq!(
            kind("https://pubmed.ncbi.nlm.nih.gov/1/"),
            PageKind::Abstract
        );
        assert_eq!(
            kind("https://pmc.ncbi.nlm.nih.gov/articles/PMC123/"),
            PageKind::FullText
        );
        assert_eq!(
            kind("https://publisher.example/doi/abs/10.1000/x"),
            PageKind::Abstract
        );
        assert_eq!(kind("https://example.org/news"), PageKind::Other);
        assert_eq!(
            kind_of("https://example.org/news", true),
            PageKind::FullText
        );
    }
}

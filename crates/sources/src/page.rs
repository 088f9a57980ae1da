//! A saved page, as a source gives it and as the store describes it.

use chrono::{
    DateTime, Datelike as _, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat, TimeDelta, Utc,
};

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
    /// Why this is only the beginning of the page, if it is: a tool showed no more of it.
    pub(super) cut_by: Option<String>,
    /// What shows that the page did not come to its end, if it did not.
    pub(super) cut: Option<&'static str>,
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

    /// Sets the status, with the `Content-Range` of the reply: one of 206 may hold the whole page.
    pub(super) fn set_status(&mut self, status: Option<u16>, range: &str) {
        self.status = status;
        if status == Some(PARTIAL) && !is_full_range(range) {
            self.cut = Some("a reply with a part of the page (206)");
        }
    }
}

/// The status of a reply with a part of what was asked for.
const PARTIAL: u16 = 206;

/// Whether a `Content-Range` is that of all bytes: `bytes 0-999/1000`.
fn is_full_range(range: &str) -> bool {
    let bytes = range.trim().split_once(' ').map(|(_, bytes)| bytes.trim());
    let Some((range, length)) = bytes.and_then(|bytes| bytes.split_once('/')) else {
        return false;
    };
    let last = range
        .trim()
        .strip_prefix("0-")
        .and_then(|last| last.parse::<u64>().ok());
    last.and_then(|last| last.checked_add(1))
        .is_some_and(|bytes| length.trim().parse() == Ok(bytes))
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

/// Years that a date of a saved page may have.
const YEARS: std::ops::RangeInclusive<i32> = 1970..=9999;

/// How sources write the time and the zone behind a day. Without a zone it is UTC.
const TIMES: [&str; 2] = ["T%H:%M:%S%.f", "T%H:%M"];

/// A moment as sources write it: ISO 8601 and RFC 3339 (without a zone it is UTC), a day, the dates of HTTP and of mail, the
/// 14 digits of archives, or seconds, milliseconds or microseconds since 1970. `None` for other forms, also for days that
/// may be read in two ways.
pub fn moment(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    let moment = if text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        moment_of_digits(text)?
    } else if let Some((day, time)) = day_and_rest(text) {
        moment_of_day(day, time)?
    } else if let Ok(moment) = DateTime::parse_from_rfc2822(text) {
        moment.to_utc()
    } else {
        httpdate::parse_http_date(text).ok().map(DateTime::from)?
    };
    YEARS.contains(&moment.year()).then_some(moment)
}

/// The last moment that a user means who names a day (`2026-10-01`) or a moment (RFC 3339); `None` for other forms.
pub fn last_moment(text: &str) -> Option<DateTime<Utc>> {
    let text = text.trim();
    let (_, rest) = day_and_rest(text)?;
    let moment = moment(text)?;
    Some(if rest.is_empty() {
        moment + TimeDelta::days(1) - TimeDelta::seconds(1)
    } else {
        moment
    })
}

/// A text that begins with a day of four, two and two digits, and what follows the day.
fn day_and_rest(text: &str) -> Option<(NaiveDate, &str)> {
    let (day, rest) = text.split_at_checked(10)?;
    let is_day = day.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == day.as_bytes()[4] && matches!(byte, b'-' | b'/'),
        _ => byte.is_ascii_digit(),
    });
    let day = NaiveDate::parse_from_str(&day.replace('/', "-"), "%Y-%m-%d");
    Some((day.ok().filter(|_| is_day)?, rest))
}

fn moment_of_day(day: NaiveDate, rest: &str) -> Option<DateTime<Utc>> {
    if rest.is_empty() {
        return Some(day.and_time(NaiveTime::MIN).and_utc());
    }
    let time = rest.strip_prefix(['T', 't', ' '])?;
    let time = time.to_ascii_uppercase();
    let (time, zone) = match ["UTC", "GMT"]
        .iter()
        .find_map(|zone| time.strip_suffix(zone))
    {
        Some(time) => (time.trim_end(), "Z"),
        None => (time.as_str(), ""),
    };
    let text = format!("{day}T{time}{zone}");
    TIMES.iter().find_map(|form| {
        let local = NaiveDateTime::parse_from_str(&text, &format!("%Y-%m-%d{form}"));
        let zoned = || DateTime::parse_from_str(&text, &format!("%Y-%m-%d{form} %#z"));
        let local = local.map(|moment| moment.and_utc());
        local
            .or_else(|_| zoned().map(|moment| moment.to_utc()))
            .ok()
    })
}

/// A moment of digits alone, by how many there are.
fn moment_of_digits(text: &str) -> Option<DateTime<Utc>> {
    let whole = text.split('.').next().unwrap_or_default();
    match (whole.len(), whole == text) {
        (8, true) => {
            let day = NaiveDate::parse_from_str(text, "%Y%m%d").ok()?;
            moment_of_day(day, "")
        }
        (14, true) => {
            let moment = NaiveDateTime::parse_from_str(text, "%Y%m%d%H%M%S");
            moment.ok().map(|moment| moment.and_utc())
        }
        (9 | 10, _) => DateTime::from_timestamp(whole.parse().ok()?, 0),
        (13, _) => DateTime::from_timestamp_millis(whole.parse().ok()?),
        (16, _) => DateTime::from_timestamp_micros(whole.parse().ok()?),
        _ => None,
    }
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
            "2026-10-01t12:00z",
            "2026-10-01 12:00",
            "2026-10-01 12:00:00.5 UTC",
            "2026-10-01 14:00:00 +0200",
            "2026-10-01T14:00:00+02",
            "2026/10/01 12:00:00",
            "20261001120000",
            "Thu, 01 Oct 2026 12:00:00 GMT",
            "Thu, 1 Oct 2026 14:00:00 +0200",
            "1790856000",
            "1790856000.25",
            "1790856000000",
        ] {
            let moment = moment(text).map(moment_text);
            assert_eq!(moment.as_deref(), Some("2026-10-01T12:00:00Z"), "{text}");
        }
        for day in ["2026-10-01", "20261001", "2026/10/01"] {
            let moment = moment(day).map(moment_text);
            assert_eq!(moment.as_deref(), Some("2026-10-01T00:00:00Z"), "{day}");
        }
        for text in [
            "last week",
            "",
            "2026",
            "2026-10",
            "2026-10-1",
            "26-10-01",
            "0026-10-01",
            "2026-13-01",
            "2026-02-30",
            "01/10/2026",
            "10.01.2026",
            "2026-10-01T25:00:00Z",
            "2026-10-01 noon",
            "+2026-10-01",
            "2026- 1- 1",
            "1790",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    #[test]
    fn a_day_that_a_user_names_ends_with_its_last_second() {
        let last = |text: &str| last_moment(text).map(moment_text).unwrap_or_default();
        assert_eq!(last("2026-10-01"), "2026-10-01T23:59:59Z");
        assert_eq!(last("2026-10-01T12:00:00+02:00"), "2026-10-01T10:00:00Z");
        for text in ["2026-10-1", "26-10-01", "20261001", "1790856000", "today"] {
            assert_eq!(last(text), "", "{text}");
        }
    }

    #[test]
    fn a_partial_reply_is_whole_only_if_its_range_is() {
        let cut = |status, range: &str| {
            let mut page = SavedPage::default();
            page.set_status(Some(status), range);
            page.cut.is_some()
        };
        assert!(!cut(200, "") && !cut(206, "bytes 0-999/1000") && !cut(206, "Bytes  0-0/1 "));
        for range in [
            "",
            "bytes 0-998/1000",
            "bytes 1-999/1000",
            "bytes 0-999/*",
            "bytes */1000",
            "0-999/1000",
            "bytes 0-18446744073709551615/0",
        ] {
            assert!(cut(206, range), "{range}");
        }
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

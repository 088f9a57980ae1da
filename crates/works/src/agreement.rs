//! In what a record agrees with a reference.

use super::free_text::{FreeText, LONG_TITLE};
use super::keys::{RecordTitle, SoughtWork, is_of_notice};
use super::names::shares_authors;
use super::normalize::{ratio, title_key, word_count, words};
use scholareval_core::domain::WorkRecord;

/// Titles with a smaller ratio are those of other works.
pub(super) const SIMILAR: f64 = 0.80;

/// The share of the words of a title in a field of a text, from which on the field is that title, altered.
const FIELD_SHARE: f64 = 0.5;

/// Years between a reference and a record of one work: online first, or in print.
const YEARS: i32 = 1;

/// Years between a preprint and what is cited.
const PREPRINT_YEARS: i32 = 2;

/// How a title that is cited and one that is recorded agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TitleAgreement {
    /// Equal after normalizing.
    Equal,
    /// Equal but for a subtitle that one of them does not have.
    Shortened,
    /// Their ratio is at least [`SIMILAR`].
    Similar(f64),
    /// Different titles.
    Other,
    /// The reference or the record gives no title.
    NotGiven,
}

impl TitleAgreement {
    /// Whether this is the same title.
    pub(super) fn is_equal(self) -> bool {
        matches!(self, Self::Equal | Self::Shortened)
    }
}

/// In what a record agrees with a reference; `None` where one of them has no value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RecordAgreement {
    pub(super) title: TitleAgreement,
    pub(super) authors: Option<bool>,
    pub(super) year: Option<bool>,
    /// Whether they share an identifier.
    pub(super) has_identifier: bool,
}

impl RecordAgreement {
    pub(super) fn of(cited: &SoughtWork, record: &WorkRecord, title: &RecordTitle) -> Self {
        let mut agreement = match &cited.text {
            Some(text) => Self::of_text(cited, text, record, title),
            None => Self::of_fields(cited, record, title),
        };
        // Works share titles: by other authors in another year it is another work, unless an identifier says that it is meant.
        let is_of_another =
            agreement.title.is_equal() && agreement.is_contradicted() && !cited.states_identifier();
        let is_similar = matches!(agreement.title, TitleAgreement::Similar(_));
        let is_of_notice = is_of_notice(&title.key) && !is_of_notice(&cited.key);
        if is_of_another || is_similar && is_of_notice {
            agreement.title = TitleAgreement::Other;
        }
        // A derived identifier counts where nothing contradicts it.
        agreement.has_identifier |= agreement.is_whole() && shares_derived(cited, record);
        agreement
    }

    fn of_fields(cited: &SoughtWork, record: &WorkRecord, title: &RecordTitle) -> Self {
        let authors = shares_authors(&cited.reference.authors, &record.authors);
        // Whoever is not in a list that is cut may be behind its end.
        let authors = authors.filter(|shared| *shared || !record.has_more_authors);
        let years = cited.reference.year.zip(record.year);
        Self {
            title: title_agreement(cited, title, authors),
            authors,
            year: years.map(|(cited, year)| (cited - year).abs() <= tolerance(record)),
            has_identifier: shares_identifier(cited, record),
        }
    }

    fn of_text(
        cited: &SoughtWork,
        text: &FreeText,
        record: &WorkRecord,
        title: &RecordTitle,
    ) -> Self {
        // The longest form first: a title may begin another one.
        let mut forms: Vec<&str> = title.forms().collect();
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        let words_of_title = word_count(&title.folded);
        let venue = title_key(record.venue.as_deref().unwrap_or_default());
        let has_venue = !venue.is_empty();
        let span = forms.into_iter().find_map(|form| {
            // A title without its subtitle has fewer words than five more often than not.
            let count = if Some(form) == title.main.as_deref() {
                words_of_title.min(LONG_TITLE - 1)
            } else {
                words_of_title
            };
            let span = text.find_title(form, count)?;
            // Another subtitle is another title.
            let is_other = title.has_subtitle_behind(form)
                && (span.has_subtitle || title.is_main_quoted && span.has_subtitle_behind_quote)
                && !(has_venue && text.has_behind(span, &venue));
            (!is_other).then_some((span, form, count))
        });
        let has_identifier = shares_identifier(cited, record);
        let place = span.map_or_else(|| text.no_title(), |(span, _, _)| span);
        let authors = text.names_authors(&record.authors, place);
        let year = record
            .year
            .and_then(|year| text.names_year(year, tolerance(record), place));
        let agrees = authors == Some(true) && year == Some(true);
        let is_meant = agrees || has_identifier;
        let title = match span {
            None => title_without_span(text, title),
            // A word directly before or behind makes another title of it, however well the names agree.
            Some((span, ..)) if !span.is_delimited && is_meant => TitleAgreement::Similar(SIMILAR),
            Some((span, ..)) if !span.is_delimited => TitleAgreement::Other,
            Some((_, _, count)) if !is_meant && count < LONG_TITLE => TitleAgreement::Other,
            Some((_, form, _)) if title.main.as_deref() == Some(form) => TitleAgreement::Shortened,
            Some(_) => TitleAgreement::Equal,
        };
        Self {
            title,
            authors,
            year,
            has_identifier,
        }
    }

    /// Whether the record is the work that is meant, whatever may differ.
    pub(super) fn is_the_work(&self) -> bool {
        match self.title {
            TitleAgreement::Equal | TitleAgreement::Shortened => true,
            TitleAgreement::NotGiven => self.has_identifier,
            TitleAgreement::Similar(ratio) => {
                let is_near = match self.authors {
                    Some(shared) => shared,
                    // Of 825 real titles none was confused with another one at .95.
                    None => ratio >= 0.95,
                };
                self.has_identifier || is_near && self.year != Some(false)
            }
            TitleAgreement::Other => self.has_identifier && self.authors == Some(true),
        }
    }

    /// Whether the identifier of the reference leads to this record, which is another work.
    pub(super) fn is_misled(&self) -> bool {
        self.has_identifier && !self.is_the_work()
    }

    /// Whether both the authors and the year are those of another work.
    fn is_contradicted(&self) -> bool {
        self.authors == Some(false) && self.year == Some(false)
    }

    /// Whether nothing differs.
    pub(super) fn is_whole(&self) -> bool {
        let is_title = self.title.is_equal() || self.title == TitleAgreement::NotGiven;
        is_title && self.authors != Some(false) && self.year != Some(false)
    }

    /// How much agrees: the record with the highest rank is compared. The title counts most, since works share authors
    /// and years, then the authors.
    pub(super) fn rank(&self) -> u32 {
        let title = match self.title {
            TitleAgreement::Equal => 800,
            TitleAgreement::Shortened => 700,
            TitleAgreement::Similar(ratio) => 300 + (ratio * 100.0) as u32,
            TitleAgreement::NotGiven => 300,
            TitleAgreement::Other => 0,
        };
        let part = |agrees: Option<bool>, weight: u32| match agrees {
            Some(true) => weight,
            // Unknown is better than different.
            None => weight / 2,
            Some(false) => 0,
        };
        title
            + part(self.authors, 400)
            + part(self.year, 100)
            + if self.has_identifier { 50 } else { 0 }
    }
}

/// How a text agrees with a title that is not in it: a field has half of its words, or the text most of them; or the text
/// has no title.
fn title_without_span(text: &FreeText, title: &RecordTitle) -> TitleAgreement {
    let fields = text.fields();
    let words = words(&title.folded);
    let is_similar = fields
        .iter()
        .any(|field| ratio(field, &title.key) >= SIMILAR);
    let has_field = text.share_in_field(&words) >= FIELD_SHARE;
    if is_similar || has_field || text.share_of_words(&words) >= SIMILAR {
        TitleAgreement::Similar(SIMILAR)
    } else if text.has_long_field() {
        TitleAgreement::Other
    } else {
        TitleAgreement::NotGiven
    }
}

fn title_agreement(
    cited: &SoughtWork,
    title: &RecordTitle,
    authors: Option<bool>,
) -> TitleAgreement {
    if cited.key.is_empty() || title.key.is_empty() {
        return TitleAgreement::NotGiven;
    }
    let whole = title.whole.as_deref().unwrap_or(&title.key);
    let has_no_subtitle = title.whole.is_none() && title.main.is_none();
    if cited.key == whole {
        return TitleAgreement::Equal;
    }
    let is_shorter = cited.key == title.key || title.main.as_deref() == Some(&cited.key);
    let is_longer = has_no_subtitle && cited.main.as_deref() == Some(&title.key);
    // Many works begin alike: without authors only a title of some length says which one is meant.
    let is_clear = match authors {
        Some(shared) => shared,
        None => word_count(&title.folded).min(cited.word_count()) >= LONG_TITLE,
    };
    if (is_shorter || is_longer) && is_clear {
        return TitleAgreement::Shortened;
    }
    let ratio = ratio(&cited.key, whole).max(ratio(&cited.key, &title.key));
    if ratio >= SIMILAR {
        TitleAgreement::Similar(ratio)
    } else {
        TitleAgreement::Other
    }
}

fn shares_identifier(cited: &SoughtWork, record: &WorkRecord) -> bool {
    let mut cited = cited.reference.identifiers();
    cited.any(|identifier| record.identifiers().any(|recorded| recorded == identifier))
}

/// Whether the reference may mean the record by an identifier that is only derived from an address.
fn shares_derived(cited: &SoughtWork, record: &WorkRecord) -> bool {
    let cited = cited.reference.other_ids.iter();
    let mut derived = cited.filter(|identifier| identifier.is_derived);
    derived.any(|identifier| {
        record
            .identifiers()
            .any(|recorded| recorded.key() == identifier.key())
    })
}

fn tolerance(record: &WorkRecord) -> i32 {
    if record.is_preprint {
        PREPRINT_YEARS
    } else {
        YEARS
    }
}

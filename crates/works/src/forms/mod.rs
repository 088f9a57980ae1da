//! The forms of files of works. A new one of records in JSON is a file with its [`DumpForm`] and a line in [`FORMS`].
//!
//! A form is a struct of the members that are read, each a [`lenient::Text`], a [`lenient::List`] or a struct of these, and
//! a function that makes a record of them. All members are optional. Texts borrow from the record (`'de: 'a`): copies would
//! cost more than the look-up.

mod arxiv;
mod crossref;
mod lenient;
mod openalex;
mod semantic_scholar;

use scholareval_core::domain::{WorkRecord, WorkSource};
use serde_json::{Map, Value};

/// A form of records: one JSON object for each work.
pub(super) struct DumpForm {
    /// What a user calls it.
    pub(super) name: &'static str,
    /// How its records are written, for a user with a file of another form.
    pub(super) layout: &'static str,
    /// Who makes such records.
    pub(super) source: WorkSource,
    /// Whether this is a record of the form.
    fits: fn(&Map<String, Value>) -> bool,
    /// Reads a record.
    pub(super) read: fn(&str) -> serde_json::Result<WorkRecord>,
}

/// Every form of records.
pub(super) static FORMS: [&DumpForm; 4] = [
    &crossref::CROSSREF,
    &openalex::OPENALEX,
    &semantic_scholar::SEMANTIC_SCHOLAR,
    &arxiv::ARXIV,
];

/// The form of a record.
pub(super) fn form_of_record(record: &Map<String, Value>) -> Option<&'static DumpForm> {
    FORMS.into_iter().find(|form| (form.fits)(record))
}

/// The names of the forms of records in JSON, as docs/formats/works.md has them.
pub fn dump_form_names() -> impl Iterator<Item = &'static str> {
    FORMS.iter().map(|form| form.name)
}

fn has_members(record: &Map<String, Value>, names: &[&str]) -> bool {
    names.iter().all(|name| record.contains_key(*name))
}

/// The year with which a date begins, if there is one.
fn year_of(text: &str) -> Option<i32> {
    let digits = text.trim().get(..4)?;
    let is_whole = text.trim()[4..]
        .chars()
        .next()
        .is_none_or(|c| !c.is_ascii_digit());
    let year = digits
        .parse()
        .ok()
        .filter(|year| (1000..3000).contains(year));
    year.filter(|_| is_whole)
}

//! Retractions, from a list that the user has. A new list is a file with its [`RetractionList`] and a line in [`LISTS`].
//!
//! A row of a list is a notice about one or several works, named by DOI, PMID and title. [`Retractions::apply`] joins the notices to a
//! checked reference. The identifiers of the record that was found come first: they are of the work that is meant, also where
//! the citation has none.

mod cells;
mod retraction_watch;

use std::collections::HashMap;
use std::path::Path;

use csv::ByteRecord;

use crate::normalize::{folded, title_key, without_notice, word_count};
use scholareval_core::domain::{
    CheckedReference, Fingerprint, Reference, Retraction, RetractionKind, RetractionStatus,
    WorkField, WorkRecord, WorkState,
};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::broken_tally::BrokenTally;
use scholareval_core::files::read_bytes;
use scholareval_core::text::identifiers::WorkIdentifier;
use scholareval_core::text::names::nearest;

/// A list of retractions as CSV with a header.
struct RetractionList {
    /// What a user calls it.
    name: &'static str,
    /// The columns that are read. The header of a file says which list it is.
    columns: &'static [&'static str],
    /// Reads the cells of these columns; the error says what is wrong with them.
    read: fn(&[String]) -> Result<RetractionRow, String>,
}

impl RetractionList {
    /// What is expected of a file, for errors.
    fn form(&self) -> String {
        let columns = self.columns.join(", ");
        format!("the CSV of {}, with the columns {columns}", self.name)
    }
}

/// Every list that is read.
static LISTS: &[&RetractionList] = &[&retraction_watch::RETRACTION_WATCH];

/// The names of the lists of retractions, as docs/formats/works.md has them.
pub fn retraction_list_names() -> impl Iterator<Item = &'static str> {
    LISTS.iter().map(|list| list.name)
}

/// What a row of a list says.
#[derive(Debug)]
struct RetractionRow {
    title: String,
    /// `doi:..`, `arxiv:..` and `pmid:..` of the works that the notice is about.
    works: Vec<String>,
    notice: Retraction,
}

/// Where the columns of a list are in a file.
struct Columns {
    list: &'static RetractionList,
    places: Vec<usize>,
    cells: usize,
}

/// A title needs this many words: "Editorial" and "Retracted article" are the titles of many works.
const TITLE_WORDS: usize = 5;

/// The notices of a file.
#[derive(Debug, Default)]
pub struct Retractions {
    notices: Vec<Retraction>,
    /// Indices of notices by `doi:..`, `arxiv:..` and `pmid:..` of the works that they are about.
    by_work: HashMap<String, Vec<usize>>,
    /// Indices of notices by the key of the title of the work.
    by_title: HashMap<String, Vec<usize>>,
    rows: BrokenTally,
}

impl Retractions {
    /// Reads a file in the form of one of the lists; also gives the hash of its bytes.
    ///
    /// # Errors
    /// A file that cannot be read or has not the columns; more than 1% broken rows.
    pub fn load(path: &Path) -> Result<(Self, Fingerprint)> {
        let (bytes, blake3) = read_bytes(path)?;
        Ok((Self::parse(&bytes, path)?, blake3))
    }

    /// Parses the bytes of a file; `path` is for messages.
    ///
    /// # Errors
    /// As [`Retractions::load`].
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(bytes);
        let mut record = ByteRecord::new();
        let mut retractions = Self::default();
        let mut columns = None;
        while reader
            .read_byte_record(&mut record)
            .map_err(|error| InputFault::new(path, format!("invalid CSV: {error}")))?
        {
            let Some(columns) = &columns else {
                columns = Some(Columns::of(&record, path)?);
                continue;
            };
            let line = record.position().map_or(0, |start| start.line());
            // A quote that is not closed swallows the rows behind it: they are broken, too.
            let lines = (reader.position().line() - line).max(1);
            match columns.row(&record) {
                Ok(row) => retractions.add(row),
                Err(what) => {
                    let fault = InputFault::new(path, what).at_line(line as usize);
                    retractions.rows.add(fault, path)?;
                    retractions.rows.parts += lines - 1;
                    retractions.rows.broken += lines - 1;
                }
            }
        }
        if columns.is_none() {
            return Err(InputFault::new(path, "an empty file").into());
        }
        retractions.rows.check(path)?;
        Ok(retractions)
    }

    /// The number of notices.
    pub fn len(&self) -> usize {
        self.notices.len()
    }

    /// Whether there are no notices.
    pub fn is_empty(&self) -> bool {
        self.notices.is_empty()
    }

    /// The number of rows that could not be read, and the first of them.
    pub fn broken(&self) -> (u64, &[InputFault]) {
        (self.rows.broken, &self.rows.faults)
    }

    /// Adds a notice under everything that names its works.
    fn add(&mut self, row: RetractionRow) {
        self.rows.parts += 1;
        let index = self.notices.len();
        for key in row.works {
            self.by_work.entry(key).or_default().push(index);
        }
        if let Some(title) = long_title_key(&row.title) {
            self.by_title.entry(title).or_default().push(index);
        }
        self.notices.push(row.notice);
    }

    /// Joins the notices about the work to what is known about it already.
    ///
    /// A work without a notice gets [`RetractionStatus::NoNotice`] only if it was looked up by an identifier: titles are not
    /// unique, so that one that was not found says nothing.
    pub fn apply(&self, reference: &Reference, checked: &mut CheckedReference) {
        let keys = keys_of(reference, checked);
        let mut indices: Vec<usize> = Vec::new();
        for key in &keys {
            indices.extend(self.by_work.get(key).into_iter().flatten());
        }
        indices.sort_unstable();
        indices.dedup();
        if indices.is_empty() {
            self.apply_by_title(reference, checked, !keys.is_empty());
            return;
        }
        let mut notices: Vec<Retraction> = Vec::new();
        if let RetractionStatus::Notice(recorded) = &checked.retraction {
            notices.push(recorded.clone());
        }
        notices.extend(indices.iter().map(|index| self.notices[*index].clone()));
        checked.retraction = deciding(notices).map_or(RetractionStatus::NoNotice, |notice| {
            RetractionStatus::Notice(notice)
        });
    }

    /// A notice about a work of this title is possible, and not counted. What a record says stays.
    fn apply_by_title(
        &self,
        reference: &Reference,
        checked: &mut CheckedReference,
        has_identifier: bool,
    ) {
        if matches!(checked.retraction, RetractionStatus::Notice(_)) {
            return;
        }
        let record = record_of_work(checked);
        let title = record.map_or(reference.title.as_str(), |record| &record.title);
        let indices = long_title_key(title).and_then(|title| self.by_title.get(&title));
        let notices = indices.into_iter().flatten();
        let possible = deciding(notices.map(|index| self.notices[*index].clone()).collect());
        if let Some(mut possible) = possible {
            possible.is_possible = true;
            checked.retraction = RetractionStatus::Notice(possible);
        } else if has_identifier {
            checked.retraction = RetractionStatus::NoNotice;
        }
    }
}

/// The record of the work that is cited. That of a work that was not found is the one to which a wrong identifier leads, and
/// that of an ambiguous title one of several.
fn record_of_work(checked: &CheckedReference) -> Option<&WorkRecord> {
    let is_the_work = checked.state.is_found() || checked.state == WorkState::SourcesDisagree;
    checked.record.as_ref().filter(|_| is_the_work)
}

/// What names the work of a reference: the identifiers of its record, and those that are cited unless they lead elsewhere.
fn keys_of(reference: &Reference, checked: &CheckedReference) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    let mut push = |identifier: WorkIdentifier| {
        if !identifier.is_derived {
            keys.push(identifier.key());
        }
    };
    if let Some(record) = record_of_work(checked) {
        record.identifiers().for_each(&mut push);
    }
    // A wrong DOI may be that of a retracted work, which is not the one that is cited.
    let leads_elsewhere = checked
        .fields
        .iter()
        .any(|field| field.field == WorkField::Identifier);
    if !leads_elsewhere {
        reference.identifiers().for_each(&mut push);
    }
    keys
}

/// The notice that decides, with the others behind it, the latest first; `None` without notices.
///
/// The latest notice decides, but a retracted work stays retracted until it is reinstated: the correction of a notice does not
/// take it back.
fn deciding(mut notices: Vec<Retraction>) -> Option<Retraction> {
    // Notices of one day: a reinstatement follows a retraction. One without a date comes first.
    notices
        .sort_by(|first, second| (&first.date, first.status).cmp(&(&second.date, second.status)));
    let reinstated = notices
        .iter()
        .rposition(|notice| notice.status == RetractionKind::Reinstated);
    let retracted = notices
        .iter()
        .rposition(|notice| notice.status == RetractionKind::Retracted);
    let decides = match retracted {
        Some(retracted) if reinstated.is_none_or(|reinstated| reinstated < retracted) => retracted,
        _ => notices.len().checked_sub(1)?,
    };
    let mut notice = notices.remove(decides);
    notices.reverse();
    notice.earlier = notices;
    Some(notice)
}

impl Columns {
    /// Finds the columns of the list that the header is of.
    fn of(header: &ByteRecord, path: &Path) -> Result<Self> {
        let names: Vec<String> = header.iter().map(text_of).collect();
        let Some(list) = list_of(&names) else {
            return Err(no_list(path).into());
        };
        let mut places = Vec::new();
        for column in list.columns {
            match place_of(column, &names) {
                Some(place) => places.push(place),
                None => return Err(missing_column(list, column, &names, path).into()),
            }
        }
        Ok(Self {
            list,
            places,
            cells: names.len(),
        })
    }

    /// Reads a row.
    ///
    /// # Errors
    /// What is wrong with it.
    fn row(&self, record: &ByteRecord) -> Result<RetractionRow, String> {
        if record.len() != self.cells {
            return Err(format!(
                "expected {} cells as in the header, found {}",
                self.cells,
                record.len()
            ));
        }
        let cells = self.places.iter();
        let cells: Vec<String> = cells.map(|place| text_of(&record[*place])).collect();
        (self.list.read)(&cells)
    }
}

/// The list of which a header has the most columns; `None` if it has no column of any.
///
/// The fewest missing columns would not do: a list of few columns would be chosen for a damaged file of a list of many.
fn list_of(names: &[String]) -> Option<&'static RetractionList> {
    let mut chosen = None;
    let mut most = 0;
    for list in LISTS {
        let columns = list.columns.iter();
        let count = columns
            .filter(|column| place_of(column, names).is_some())
            .count();
        if count > most {
            most = count;
            chosen = Some(*list);
        }
    }
    chosen
}

/// Where a column is in a header.
fn place_of(column: &str, names: &[String]) -> Option<usize> {
    names
        .iter()
        .position(|name| name.eq_ignore_ascii_case(column))
}

/// The error about a file without any column of a list.
fn no_list(path: &Path) -> InputFault {
    let forms: Vec<String> = LISTS.iter().map(|list| list.form()).collect();
    InputFault::new(path, "not a list of retractions")
        .at_line(1)
        .hint(format!("expected {}", forms.join(", or ")))
}

/// The error about a column that is missing or has another name.
fn missing_column(
    list: &RetractionList,
    column: &str,
    names: &[String],
    path: &Path,
) -> InputFault {
    let fault = InputFault::new(path, format!("no column {column}")).at_line(1);
    match nearest(column, names.iter().map(String::as_str)) {
        Some(near) => fault.hint(format!("is it {near:?}? rename it to {column}")),
        None => fault.hint(format!("expected {}", list.form())),
    }
}

/// A cell as text. Names and titles in the file are broken UTF-8 at some places, which must not cost the row its DOI.
fn text_of(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell).trim().to_owned()
}

/// The key of a title; `None` for a title of few words.
fn long_title_key(title: &str) -> Option<String> {
    let title = without_notice(title);
    (word_count(&folded(title)) >= TITLE_WORDS).then(|| title_key(title))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::domain::{UncheckedReason, WorkSource};

    const HEADER: &str = "Record ID,Title,Subject,Institution,Journal,Publisher,Country,Author,URLS,ArticleType,RetractionDate,RetractionDOI,RetractionPubMedID,OriginalPaperDate,OriginalPaperDOI,OriginalPaperPubMedID,RetractionNature,Reason,Paywalled,Notes\n";

    /// A row with these cells, the others as in the wild.
    fn row(title: &str, date: &str, dois: &str, pmids: &str, nature: &str) -> String {
        format!(
            "1,\"{title}\",(B/T) Data Science;,Uni;,Journal,Publisher,China,A B;C D,,Article;,{date},10.1/notice,0,1/2/2020 0:00,{dois},{pmids},{nature},+Error;,No,\n"
        )
    }

    fn parse(rows: &str) -> Retractions {
        Retractions::parse(format!("{HEADER}{rows}").as_bytes(), "rw.csv".as_ref()).unwrap()
    }

    fn cited(doi: &str) -> Reference {
        let mut reference = Reference::new("k", "f");
        reference.take_identifiers(doi);
        reference
    }

    fn status(retractions: &Retractions, reference: &Reference) -> RetractionStatus {
        let mut checked = CheckedReference::unchecked(UncheckedReason::NotCovered);
        retractions.apply(reference, &mut checked);
        checked.retraction
    }

    fn notice(status: RetractionStatus) -> Retraction {
        match status {
            RetractionStatus::Notice(notice) => notice,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_work_is_found_by_any_of_its_dois_and_pmids() {
        let rows = row(
            "A title of a work that is long",
            "5/14/2021 0:00",
            "10.1234/ABC;10.1234/second",
            "33",
            "Retraction",
        );
        let retractions = parse(&rows);
        for doi in ["10.1234/abc", "https://doi.org/10.1234/SECOND"] {
            let retraction = notice(status(&retractions, &cited(doi)));
            assert_eq!(retraction.status, RetractionKind::Retracted);
            assert_eq!(retraction.date.as_deref(), Some("2021-05-14"));
            assert_eq!(retraction.source, "retraction_watch");
            assert!(!retraction.is_possible);
        }
        let mut reference = Reference::new("k", "f");
        reference.pmid = Some("33".to_owned());
        assert!(matches!(
            status(&retractions, &reference),
            RetractionStatus::Notice(_)
        ));
        assert_eq!(
            status(&retractions, &cited("10.1234/other")),
            RetractionStatus::NoNotice
        );
        // Nothing to look up by: not known to be clean.
        let mut titled = Reference::new("k", "f");
        titled.title = "Something else".to_owned();
        assert_eq!(status(&retractions, &titled), RetractionStatus::Unknown);
    }

    #[test]
    fn unavailable_dois_and_pmid_0_name_no_work() {
        let retractions = parse(&row(
            "Some title of five words",
            "1/2/2019",
            "unavailable",
            "0",
            "Retraction",
        ));
        assert!(retractions.by_work.is_empty());
        let mut reference = Reference::new("k", "f");
        reference.pmid = Some("0".to_owned());
        assert_eq!(status(&retractions, &reference), RetractionStatus::NoNotice);
    }

    #[test]
    fn by_title_only_a_notice_is_possible() {
        let retractions = parse(&row(
            "Ice and its Many Uses: A Study",
            "1/2/2019",
            "10.1234/x",
            "0",
            "Retraction",
        ));
        let mut reference = Reference::new("k", "f");
        reference.title = "Ice and Its Many Uses - a study".to_owned();
        assert!(notice(status(&retractions, &reference)).is_possible);
        let short = parse(&row(
            "Editorial",
            "1/2/2019",
            "10.1234/x",
            "0",
            "Retraction",
        ));
        reference.title = "Editorial".to_owned();
        assert_eq!(status(&short, &reference), RetractionStatus::Unknown);
    }

    #[test]
    fn the_latest_notice_decides_and_a_retraction_stays_until_it_is_taken_back() {
        let of = |notices: &[(&str, &str)]| {
            let mut rows = String::new();
            for (date, nature) in notices {
                rows.push_str(&row("T", date, "10.1234/x", "0", nature));
            }
            notice(status(&parse(&rows), &cited("10.1234/x")))
        };
        let retraction = of(&[
            ("3/1/2020", "Retraction"),
            ("1/1/2020", "Expression of concern"),
        ]);
        assert_eq!(retraction.status, RetractionKind::Retracted);
        assert_eq!(retraction.earlier.len(), 1);
        assert_eq!(retraction.earlier[0].status, RetractionKind::Concern);
        let retraction = of(&[("3/1/2020", "Retraction"), ("1/1/2021", "Reinstatement")]);
        assert_eq!(retraction.status, RetractionKind::Reinstated);
        let retraction = of(&[("3/1/2020", "Retraction"), ("1/1/2021", "Correction")]);
        assert_eq!(retraction.status, RetractionKind::Retracted);
        let retraction = of(&[
            ("3/1/2020", "Expression of concern"),
            ("1/1/2021", "Correction"),
        ]);
        assert_eq!(retraction.status, RetractionKind::Corrected);
        // As text 12/1/2019 would come behind 2/1/2020.
        let retraction = of(&[("2/1/2020", "Reinstatement"), ("12/1/2019", "Retraction")]);
        assert_eq!(retraction.status, RetractionKind::Reinstated);
    }

    #[test]
    fn a_doi_that_leads_to_another_work_retracts_nothing() {
        let retractions = parse(&row("T", "1/2/2019", "10.1234/x", "0", "Retraction"));
        let mut checked = CheckedReference::unchecked(UncheckedReason::NotCovered);
        checked.state = WorkState::Differs;
        let mut record = WorkRecord::new(WorkSource::Crossref);
        record.doi = Some("10.1234/right".to_owned());
        checked.record = Some(record);
        let field = r#"{"field": "identifier", "cited": "10.1234/x", "recorded": ""}"#;
        checked.fields = vec![serde_json::from_str(field).unwrap()];
        retractions.apply(&cited("10.1234/x"), &mut checked);
        assert_eq!(checked.retraction, RetractionStatus::NoNotice);
    }

    #[test]
    fn broken_utf_8_costs_no_row() {
        let mut bytes = HEADER.as_bytes().to_vec();
        bytes.extend(
            b"1,Caf\xe9 of five more words,,,,,,,,,1/2/2019,,0,,10.1234/x,0,Retraction,,,\n",
        );
        let retractions = Retractions::parse(&bytes, "rw.csv".as_ref()).unwrap();
        assert_eq!(retractions.len(), 1);
        assert!(matches!(
            status(&retractions, &cited("10.1234/x")),
            RetractionStatus::Notice(_)
        ));
    }

    #[test]
    fn a_missing_or_renamed_column_is_one_error_with_its_name() {
        let error = |header: &str| {
            Retractions::parse(header.as_bytes(), "rw.csv".as_ref())
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            error(&HEADER.replace("OriginalPaperDOI", "OriginalPaperDOIs")),
            "rw.csv:1: no column OriginalPaperDOI; is it \"OriginalPaperDOIs\"? rename it to OriginalPaperDOI"
        );
        let error_without_columns = error("a,b\n");
        assert!(
            error_without_columns
                .starts_with("rw.csv:1: not a list of retractions; expected the CSV"),
            "{error_without_columns}"
        );
        assert_eq!(error(""), "rw.csv: an empty file");
    }

    #[test]
    fn more_than_one_broken_row_in_a_hundred_stops_and_fewer_are_counted() {
        let good = row("T", "1/2/2019", "10.1234/x", "0", "Retraction");
        let broken = row("T", "1/2/2019", "10.1234/x", "0", "Nonsense");
        let retractions = parse(&format!("{broken}{}", good.repeat(99)));
        assert_eq!(retractions.broken().0, 1);
        let shown = retractions.broken().1[0].to_string();
        assert_eq!(
            shown,
            "rw.csv:2: RetractionNature is \"Nonsense\", not a kind of notice"
        );
        let text = format!("{HEADER}{broken}{}", good.repeat(98));
        let error = Retractions::parse(text.as_bytes(), "rw.csv".as_ref()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("rw.csv: 1 of 99 parts cannot be read, above the limit of 1%"),
            "{error}"
        );
        // A quote that nobody closes swallows the rest, which must not pass for one broken row.
        let open = "2,\"An open quote,,,,\n";
        let unquoted = good.replace('"', "");
        let text = format!("{HEADER}{}{open}{}", good.repeat(500), unquoted.repeat(9));
        let error = Retractions::parse(text.as_bytes(), "rw.csv".as_ref()).unwrap_err();
        assert!(error.to_string().starts_with("rw.csv:502: "), "{error}");
    }
}

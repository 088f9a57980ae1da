//! Retraction Watch: the CSV file that Crossref publishes.

use chrono::{Datelike as _, NaiveDate};
use scholareval_core::domain::{Retraction, RetractionKind};
use scholareval_core::text::identifiers::{WorkIdentifier, identifiers_in};

use super::{RetractionList, RetractionRow};

pub(super) static RETRACTION_WATCH: RetractionList = RetractionList {
    name: "Retraction Watch",
    columns: &[
        "Title",
        "RetractionDate",
        "RetractionDOI",
        "RetractionPubMedID",
        "OriginalPaperDOI",
        "OriginalPaperPubMedID",
        "RetractionNature",
    ],
    read,
};

fn read(cells: &[String]) -> Result<RetractionRow, String> {
    let [
        title,
        date,
        notice_dois,
        notice_pmids,
        work_dois,
        work_pmids,
        nature,
    ] = cells
    else {
        return Err("not a row of Retraction Watch".to_owned());
    };
    let status = kind_of(nature)
        .ok_or_else(|| format!("RetractionNature is {nature:?}, not a kind of notice"))?;
    let mut works = dois_of(work_dois);
    works.extend(pmids_of(work_pmids));
    let mut notice = Retraction::new(status, "retraction_watch");
    notice.date = date_of(date);
    let mut named = dois_of(notice_dois);
    named.extend(pmids_of(notice_pmids));
    notice.notice = named.into_iter().next();
    Ok(RetractionRow {
        title: title.clone(),
        works,
        notice,
    })
}

fn kind_of(nature: &str) -> Option<RetractionKind> {
    match nature.to_ascii_lowercase().as_str() {
        "retraction" => Some(RetractionKind::Retracted),
        "expression of concern" => Some(RetractionKind::Concern),
        "correction" => Some(RetractionKind::Corrected),
        "reinstatement" => Some(RetractionKind::Reinstated),
        _ => None,
    }
}

/// The DOIs of a cell as `doi:..`; "unavailable" is none.
fn dois_of(cell: &str) -> Vec<String> {
    identifiers_in(cell)
        .iter()
        .map(WorkIdentifier::key)
        .collect()
}

/// The PMIDs of a cell as `pmid:..`; 0 is none.
fn pmids_of(cell: &str) -> Vec<String> {
    let parts = cell.split(';').map(|part| format!("PMID: {}", part.trim()));
    parts.flat_map(|part| dois_of(&part)).collect()
}

/// `5/14/2021 0:00` as `2021-05-14`; `None` for what is not such a date.
fn date_of(cell: &str) -> Option<String> {
    let date = cell.split_whitespace().next()?;
    let forms = ["%m/%d/%Y", "%Y-%m-%d"];
    let date = forms
        .iter()
        .find_map(|form| NaiveDate::parse_from_str(date, form).ok())?;
    (1000..=9999)
        .contains(&date.year())
        .then(|| date.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dois_with_semicolons_and_dates_in_every_form() {
        assert_eq!(
            dois_of("10.1002/(SICI)1097-0142(19990101)85:1<1::AID-CNCR1>3.0.CO;2-K"),
            ["doi:10.1002/(sici)1097-0142(19990101)85:1<1::aid-cncr1>3.0.co;2-k"]
        );
        assert_eq!(dois_of("Unavailable"), Vec::<String>::new());
        assert_eq!(
            dois_of("10.1234/a; 10.48550/arXiv.2101.00001"),
            ["doi:10.1234/a", "arxiv:2101.00001"]
        );
        for (cell, date) in [
            ("5/14/2021", Some("2021-05-14")),
            ("5/14/2021 0:00", Some("2021-05-14")),
            ("2021-05-14", Some("2021-05-14")),
            ("14/5/2021", None),
            ("5/14/21", None),
            ("", None),
            ("unknown", None),
        ] {
            assert_eq!(date_of(cell).as_deref(), date, "{cell}");
        }
    }
}
